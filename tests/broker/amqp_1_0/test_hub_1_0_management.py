"""The management node at /management: HTTP over AMQP 1.0."""

from typing import Any

import pytest

from amqp_sansio.amqp_1_0 import Accepted, Message, Properties, Source, Symbol, Target
from amqp_sansio.amqp_1_0.spec import UInt, ULong
from amqp_sansio.broker.model.commands import DeclareQueue, OpenOwner
from tests.kit.hub_1_0 import User, World

PAIRED = {Symbol("paired"): True}


class Managing:
    """A user with a pair of management links."""

    def __init__(self, world: World, credit: int = 100) -> None:
        self.world = world
        self.user: User = world.connect()
        session = self.user.session()
        name = "management-link-pair"
        address = "/management"
        self.receiver = self.user.receiver(
            Source(address), session, name=name, target=Target(address), properties=PAIRED, credit=credit
        )
        self.sender = self.user.sender(
            Target(address), session, name=name, source=Source(address), properties=PAIRED, snd_settle_mode=1
        )
        self.count = 0

    def ask(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        """A request; the status and body of its response."""
        self.count += 1
        properties = Properties(message_id=ULong(self.count), to=path, subject=method, reply_to="$me")
        self.sender.send(Message(body, properties=properties))
        (response,) = self.user.take(self.receiver)
        self.receiver.accept(response)
        told = response.message
        assert told.correlation_id == self.count
        assert told.to == "$me"
        assert told.application_properties["http:response"] == "1.1"
        return int(str(told.subject)), told.body


@pytest.fixture
def managing() -> Managing:
    return Managing(World())


def queue_body(**changes: Any) -> dict[str, Any]:
    """What a client says of a queue."""
    return {"durable": True, "exclusive": False, "auto_delete": False, "arguments": {}, **changes}


def test_a_queue_is_declared_shown_purged_and_deleted(managing: Managing) -> None:
    status, told = managing.ask("PUT", "/queues/a%2Fb", queue_body(arguments={"x-max-length": ULong(2)}))
    assert status == 201
    assert (told["name"], told["durable"], told["vhost"]) == ("a/b", True, "/")
    assert told["arguments"] == {"x-max-length": 2}
    managing.world.put("a/b", b"1", b"2", b"3")
    status, told = managing.ask("GET", "/queues/a%2Fb")
    assert (status, told["message_count"], told["consumer_count"]) == (200, ULong(2), UInt(0))
    assert managing.ask("PUT", "/queues/a%2Fb", queue_body(arguments={"x-max-length": 2}))[0] == 200
    assert managing.ask("PUT", "/queues/a%2Fb", queue_body())[0] == 409
    assert managing.ask("DELETE", "/queues/a%2Fb/messages") == (200, {"message_count": ULong(2)})
    managing.world.put("a/b", b"1")
    assert managing.ask("DELETE", "/queues/a%2Fb") == (200, {"message_count": ULong(1)})
    assert managing.ask("DELETE", "/queues/a%2Fb") == (200, {"message_count": ULong(0)})
    assert managing.ask("GET", "/queues/a%2Fb")[0] == 404
    assert managing.ask("DELETE", "/queues/a%2Fb/messages")[0] == 404


def test_what_a_queue_is_when_nothing_is_said_of_it(managing: Managing) -> None:
    status, told = managing.ask("PUT", "/queues/plain", {})
    assert (status, told["durable"], told["exclusive"], told["auto_delete"]) == (201, True, False, False)


def test_an_exclusive_queue_is_the_connections(managing: Managing) -> None:
    assert managing.ask("PUT", "/queues/mine", queue_body(exclusive=True, durable=False))[0] == 201
    receiver = managing.user.receiver("/queues/mine", credit=1)
    managing.user.send(managing.user.sender("/queues/mine"), b"it")
    assert managing.user.bodies(receiver) == [b"it"]
    other = Managing(managing.world)
    assert other.ask("GET", "/queues/mine")[0] == 403
    managing.user.cut()
    assert other.ask("GET", "/queues/mine")[0] == 404


def test_exchanges_and_bindings(managing: Managing) -> None:
    exchange: dict[str, Any] = {"type": "topic", "durable": True, "auto_delete": False, "internal": False}
    for other, status in (({}, 204), ({}, 204), ({"type": "fanout"}, 409), ({"internal": True}, 409)):
        assert managing.ask("PUT", "/exchanges/e%2F1", {**exchange, **other})[0] == status
    assert managing.ask("PUT", "/exchanges/e2", {"type": "fanout"}) == (204, None)
    managing.ask("PUT", "/queues/q", queue_body())
    to_queue: dict[str, Any] = {"source": "e/1", "destination_queue": "q", "binding_key": "a.#", "arguments": {}}
    assert managing.ask("POST", "/bindings", to_queue) == (204, None)
    assert managing.ask("POST", "/bindings", {**to_queue, "arguments": {"n": UInt(1)}}) == (204, None)
    to_exchange: dict[str, Any] = {"source": "e2", "destination_exchange": "e/1", "binding_key": "", "arguments": {}}
    assert managing.ask("POST", "/bindings", to_exchange) == (204, None)
    status, found = managing.ask("GET", "/bindings?src=e%2F1&dstq=q&key=a.%23")
    assert status == 200
    assert [(each["source"], each["destination_queue"], each["binding_key"]) for each in found] == [
        ("e/1", "q", "a.#")
    ] * 2
    plain, other = sorted(found, key=lambda each: len(each["arguments"]))
    assert (plain["arguments"], other["arguments"]) == ({}, {"n": 1})
    assert plain["location"] == "/bindings/src=e%2F1;dstq=q;key=a.%23;args="
    assert managing.ask("DELETE", other["location"]) == (204, None)
    assert [each["arguments"] for each in managing.ask("GET", "/bindings?src=e%2F1&dstq=q")[1]] == [{}]
    assert managing.ask("DELETE", plain["location"]) == (204, None)
    assert managing.ask("GET", "/bindings?src=e%2F1&dstq=q&key=a.%23") == (200, [])
    assert len(managing.ask("GET", "/bindings?src=e2&dste=e%2F1")[1]) == 1
    assert managing.ask("DELETE", "/bindings/src=e2;dste=e%2F1;key=;args=") == (204, None)
    assert managing.ask("DELETE", "/exchanges/e%2F1") == (204, None)
    assert managing.ask("DELETE", "/exchanges/e%2F1") == (204, None)


@pytest.mark.parametrize(
    ("method", "path", "body", "status"),
    [
        ("PUT", "/queues/amq.mine", {}, 403),
        ("PUT", "/queues/x", "text", 400),
        ("PUT", "/queues/x", {"durable": 1}, 400),
        ("PUT", "/queues/x", {"arguments": 1}, 400),
        ("PUT", "/queues/x", {"arguments": {"x-max-length": "many"}}, 400),
        ("POST", "/queues/x", {}, 405),
        ("PUT", "/queues/x/messages", {}, 405),
        ("DELETE", "/queues/x/others", None, 404),
        ("PUT", "/queues/%zz", {}, 400),
        ("PUT", "/exchanges/x", {"type": "nothing"}, 400),
        ("PUT", "/exchanges/x", {"type": 1}, 400),
        ("PUT", "/exchanges/amq.mine", {"type": "direct"}, 403),
        ("DELETE", "/exchanges/amq.direct", None, 403),
        ("DELETE", "/exchanges/", None, 403),
        ("GET", "/exchanges/amq.direct", None, 405),
        ("POST", "/bindings", {"source": "none", "destination_queue": "x", "binding_key": ""}, 404),
        ("POST", "/bindings", {"source": 1, "destination_queue": "x", "binding_key": ""}, 400),
        ("GET", "/bindings", None, 400),
        ("GET", "/bindings?src=none&dstq=x&key=", None, 404),
        ("DELETE", "/bindings", None, 405),
        ("DELETE", "/bindings/src=amq.direct;key=", None, 400),
        ("PUT", "/bindings/src=amq.direct;dstq=q;key=;args=", None, 405),
        ("GET", "/nothing", None, 404),
        ("GET", "", None, 404),
        ("PUT", "/auth/tokens", b"guest", 204),
        ("POST", "/auth/tokens", b"guest", 204),
        ("PUT", "/auth/tokens", b"wrong", 401),
        ("PUT", "/auth/tokens", None, 400),
        ("GET", "/auth/tokens", None, 405),
        ("PUT", "/auth/others", b"x", 404),
    ],
)
def test_what_is_wrong_has_a_code(managing: Managing, method: str, path: str, body: Any, status: int) -> None:
    found, text = managing.ask(method, path, body)
    assert found == status
    if status >= 400:
        assert isinstance(text, str)
        assert text
    assert managing.user.end.is_open


def test_an_empty_body_in_front_is_taken(managing: Managing) -> None:
    properties = Properties(message_id="a", to="/queues/none", subject="GET", reply_to="$me")
    managing.sender.send(b"\x00Sw@" + properties.encode())
    (response,) = managing.user.take(managing.receiver)
    assert (response.message.subject, response.message.correlation_id) == ("404", "a")
    managing.sender.send(b"\x00Sw")
    assert managing.user.refused(managing.sender) == "amqp:invalid-field"


@pytest.mark.rule("1.0/transport/attach/settle-modes", "1.0/transport/transfer/rcv-first")
def test_nothing_waits_for_the_other_end_to_settle_whatever_is_asked_for(world: World, user: User) -> None:
    session = user.session()
    there: dict[str, Any] = {"name": "pair", "properties": PAIRED, "rcv_settle_mode": 1}
    receiver = user.receiver(Source("/management"), session, target=Target("/management"), credit=10, **there)
    sender = user.sender(Target("/management"), session, source=Source("/management"), auto_settle=False, **there)
    assert sender.rcv_settle_mode == 0
    assert receiver.remote is not None
    assert receiver.remote.rcv_settle_mode == 0
    properties = Properties(message_id="a", to="/queues/none", subject="GET", reply_to="$me")
    (handle,) = user.send(sender, Message(None, properties=properties))
    assert handle == Accepted()
    (response,) = user.take(receiver)
    (settling,) = receiver.update([response], Accepted(), settled=True)
    assert settling.done
    world.pump()
    assert receiver.is_open
    assert not user.client.front.connection.session(0).own.deliveries  # type: ignore[union-attr]


def test_requests_wait_for_credit_of_the_responses() -> None:
    managing = Managing(World(), credit=0)
    for number in range(150):
        properties = Properties(message_id=ULong(number), to="/queues/q", subject="GET", reply_to="$me")
        if managing.sender.credit:
            managing.sender.send(Message(None, properties=properties))
        managing.world.pump()
    assert not managing.user.take(managing.receiver)
    assert not managing.sender.credit
    managing.receiver.flow(1000)
    assert len(managing.user.take(managing.receiver)) >= 100
    assert managing.sender.credit


def test_links_come_in_pairs_and_requests_are_whole(world: World) -> None:
    managing = Managing(world)
    session = managing.user.session()
    assert managing.user.refused(session.open_sender("/management")) == "amqp:not-allowed"
    assert managing.user.refused(session.open_receiver("/management")) == "amqp:not-allowed"
    managing.sender.send(Message(None, properties=Properties(to="/queues/q", subject="GET", reply_to="$me")))
    assert managing.user.refused(managing.sender) == "amqp:invalid-field"
    managing = Managing(world)
    managing.sender.send(Message(None, properties=Properties(message_id="a", to="/queues/q", reply_to="me")))
    assert managing.user.refused(managing.sender) == "amqp:invalid-field"


def test_a_queue_that_is_another_owners_is_forbidden(managing: Managing) -> None:
    world = managing.world
    other = world.hub.apply(OpenOwner("/", "other"))
    world.hub.apply(DeclareQueue(other, "theirs", exclusive_to=other))
    assert managing.ask("DELETE", "/queues/theirs")[0] == 403


def test_queues_by_qpids_arguments(managing: Managing) -> None:
    arguments = {"qpid.last_value_queue_key": "k", "qpid.max_count": "2"}
    assert managing.ask("PUT", "/queues/q", queue_body(arguments=arguments))[0] == 201
    sender = managing.user.sender("/queues/q")
    for number, value in enumerate("aba"):
        managing.user.send(sender, Message(b"%d" % number, application_properties={"k": value}))
    status, told = managing.ask("GET", "/queues/q")
    assert (status, told["message_count"]) == (200, 2)
