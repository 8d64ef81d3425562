"""The pure client of 0-10 in a simulated world: it waits, ends with its reason, and is held up at each wait."""

from __future__ import annotations

from typing import Any

import pytest

from amqp_sansio import AMQP_0_10, By, Limits, Pending
from amqp_sansio.amqp_0_10 import CommandReceived, DeliveryProperties, ExecutionError, Message, MessageProperties
from amqp_sansio.amqp_0_10 import Session as CoreSession
from amqp_sansio.amqp_0_10.spec import (
    CREDIT,
    MESSAGE,
    FragmentProperties,
    MessageFlow,
    MessageResume,
    MessageSetFlowMode,
    QueueDeclare,
    QueueDelete,
    Struct32,
    Xid,
)
from amqp_sansio.client.amqp_0_10.connection import Connection
from amqp_sansio.client.amqp_0_10.publishing import routed
from amqp_sansio.client.amqp_0_10.session import Session
from amqp_sansio.client.amqp_0_10.subscription import Subscription
from amqp_sansio.errors import EndpointClosed, SessionEnded
from amqp_sansio.events import Accepted
from amqp_sansio.testing.simulate.tasks import Cancelled
from tests.kit.served_0_10 import Server
from tests.kit.user import Call, User, opened, world_of


def to_hub(pieces: str = "whole") -> tuple[User, Connection]:
    """A client of a broker, whose connection is open."""
    user = User(world_of(pieces), version=AMQP_0_10, session_prefix="s-")
    return user, user.connection


def to_server() -> tuple[User, Connection, Server]:
    """A client of a server core, whose connection is open."""
    world = world_of()
    server = Server(world)
    user = User(world, "amqp://server/", version=AMQP_0_10, session_prefix="s-")
    return user, user.connection, server


def session_of(user: User, connection: Connection, **options: Any) -> Session:
    """A session that is open, and has the queue "jobs"."""
    session: Session = user.run(opened(connection.open_session(**options)))
    user.run(session.call(QueueDeclare("jobs")))
    return session


def at_rest(client: Any) -> list[object]:
    """Everything that interrupted calls have left behind in a client: nothing, if all is well."""
    return [
        *client._waiting.values(),
        *client._late,
        *client.collected,
        *client._gate,
        *[each for _, each in client._starting if not each.done],
        *[each for _, _, each in client._deadlines if not each.done],
    ]


# A message's way.


def test_acceptances_of_one_turn_are_one_command() -> None:
    user, connection = to_hub()
    session = session_of(user, connection)
    for number in range(5):
        sent = user.run(session.publish(b"%d" % number, "", "jobs", wait=False))
        assert user.run(sent.result()) == Accepted()
    subscription: Subscription = user.run(opened(session.subscribe("jobs", credit=5)))

    async def take() -> None:
        for _ in range(5):
            await (await subscription.__anext__()).accept()
        assert len(user.client.collected) == 1

    user.run(take())
    assert user.client.collected == []
    assert session.unsettled == ()


@pytest.mark.parametrize("rounds", [1, 2, 5])
@pytest.mark.parametrize("count", [1, 3])
def test_a_publish_whose_outcome_is_asked_for_later_is_asked_about_once(
    count: int, rounds: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One sync behind several asks about all of them; one that went before a publish doesn't ask about that."""
    user, connection, _ = to_server()
    session: Session = user.run(opened(connection.open_session()))
    syncs: list[int] = []
    sync = CoreSession.sync

    def counted(core: CoreSession) -> Pending[None]:
        syncs.append(1)
        return sync(core)

    monkeypatch.setattr(CoreSession, "sync", counted)
    user.hold()
    results: list[Call[Any]] = []
    for _ in range(rounds):
        sent = [user.run(session.publish(b"", "x", "k", wait=False)) for _ in range(count)]
        results += [user.begin(each.result()) for each in sent]
    assert len(syncs) == rounds
    user.release()
    assert [each.result for each in results] == [Accepted()] * (rounds * count)


@pytest.mark.parametrize("replay", [4, 40, 400])
def test_publishes_that_nobody_waits_for_are_sent_up_to_a_share_of_what_may_be_kept(replay: int) -> None:
    """The next one waits until the peer has confirmed them."""
    world = world_of()
    Server(world)
    user = User(world, "amqp://server/", version=AMQP_0_10, session_prefix="s-", limits=Limits(replay=replay))
    session: Session = user.run(opened(user.connection.open_session()))
    user.hold()
    sent: list[object] = []

    async def send() -> None:
        for _ in range(replay):
            sent.append(await session.publish(b"", "x", "k", wait=False))

    sending = user.begin(send())
    assert len(sent) == replay // 4
    user.release()
    assert sending.done


@pytest.mark.parametrize("credit", [0, 1, 500, 501, 2000])
def test_a_subscription_is_full_at_twice_its_credit(credit: int) -> None:
    """And not below a thousand messages: nobody takes them, and the connection isn't read any more."""
    user, connection = to_hub()
    session = session_of(user, connection)
    subscription: Subscription = user.run(opened(session.subscribe("jobs", credit=credit, flow_mode=CREDIT)))
    user.run(subscription.grant(10_000))
    inbox = subscription._inbox  # pyright: ignore[reportPrivateUsage]
    most = max(1000, 2 * credit)
    user.run(session.publish(b"", "", "jobs"))
    (message,) = inbox.items
    for count in range(2, most + 1):
        assert not user.client.full, count
        inbox.put(message)
    assert user.client.full == 1


# Waits.


def test_a_publisher_waits_for_credit() -> None:
    user, connection, server = to_server()
    session: Session = user.run(opened(connection.open_session()))
    served = server.core.session(0)
    served.call(MessageSetFlowMode("", CREDIT))
    served.call(MessageFlow("", MESSAGE, 2))
    server.pump()
    user.turn()
    calls = [user.begin(session.publish(b"%d" % number, "x", "k")) for number in range(5)]
    assert server.bodies == [b"0", b"1"]
    served.call(MessageFlow("", MESSAGE, 1))
    server.pump()
    user.turn()
    assert server.bodies == [b"0", b"1", b"2"]
    # One that gives up passes its turn on.
    calls[3].cancel()
    served.call(MessageFlow("", MESSAGE, 5))
    server.pump()
    user.turn()
    assert server.bodies == [b"0", b"1", b"2", b"4"]
    assert [each.result for each in calls if each is not calls[3]] == [Accepted()] * 4
    with pytest.raises(Cancelled):
        assert calls[3].result
    assert at_rest(user.client) == []


def test_who_is_woken_and_interrupted_wakes_the_next() -> None:
    user, connection, server = to_server()
    session: Session = user.run(opened(connection.open_session()))
    served = server.core.session(0)
    served.call(MessageFlow("", MESSAGE, 0))
    server.pump()
    user.turn()
    first, second = [user.begin(session.publish(b"%d" % number, "x", "k")) for number in range(2)]
    served.call(MessageFlow("", MESSAGE, 1))
    # The grant wakes the first; before that can go on, it is interrupted.
    server.pump()
    user.world.run(lambda: first.is_due)
    assert not first.done
    first.cancel()
    user.turn()
    assert second.result == Accepted()
    assert server.bodies == [b"1"]


@pytest.mark.parametrize("credit", [0, 1, 10])
def test_fetches_are_served_in_their_order(credit: int) -> None:
    """One message at a time, whoever asks for it."""
    user, connection = to_hub()
    session = session_of(user, connection)
    subscription: Subscription = user.run(opened(session.subscribe("jobs", credit=credit, flow_mode=CREDIT)))
    fetches = [user.begin(subscription.fetch()) for _ in range(4)]
    for number in range(4):
        user.run(session.publish(b"%d" % number, "", "jobs"))
        assert [each.done for each in fetches] == [True] * (number + 1) + [False] * (3 - number)
    assert [each.result.body for each in fetches] == [b"0", b"1", b"2", b"3"]


def test_a_fetch_ends_with_its_time() -> None:
    user, connection = to_hub()
    session = session_of(user, connection)
    subscription: Subscription = user.run(opened(session.subscribe("jobs", credit=0, flow_mode=CREDIT)))
    fetching = user.begin(subscription.fetch(5.0))
    assert subscription.granted[0] == 1
    assert user.client.next_deadline is not None
    user.turn(4.0)
    assert not fetching.done
    user.turn(1.0)
    assert fetching.result is None
    assert subscription.granted == (0, 0)
    assert at_rest(user.client) == []
    waiting = user.begin(subscription.fetch(5.0))
    user.run(session.publish(b"1", "", "jobs"))
    assert waiting.result is not None and waiting.result.body == b"1"
    assert at_rest(user.client) == []


def test_timers_that_are_not_needed_are_forgotten() -> None:
    user, connection = to_hub()
    session = session_of(user, connection)
    subscription: Subscription = user.run(opened(session.subscribe("jobs", credit=0, flow_mode=CREDIT)))
    for _ in range(500):
        fetching = user.begin(subscription.fetch(3600.0))
        fetching.cancel()
        user.turn()
    assert len(user.client._deadlines) < 200
    assert at_rest(user.client) == []


def test_the_close_of_a_session_waits_no_longer_than_the_time_for_it() -> None:
    user, connection, server = to_server()
    session: Session = user.run(opened(connection.open_session()))
    server.is_lazy = True
    user.run(session.publish(b"1", "x", "k", wait=False))
    closing = user.begin(session.close())
    user.turn(connection.core.config.close_timeout / 2 - 0.1)
    assert not closing.done
    user.turn(0.1)
    assert closing.result.by is By.LOCAL
    assert at_rest(user.client) == []


def test_only_one_selects_a_session_for_transactions() -> None:
    user, connection = to_hub()
    session = session_of(user, connection)
    user.line.down.hold()

    async def work(number: int) -> None:
        async with session.branch(Xid(1, b"%d" % number, b"")):
            pass

    first, second, third = [user.begin(work(number)) for number in range(3)]
    second.cancel()
    user.release()
    assert first.done and third.done and first.error is None
    assert isinstance(second.error, Cancelled)
    # A session works for one branch at a time.
    assert third.error is None or "on a session that works for" in str(third.error)
    assert at_rest(user.client) == []


# The end.


def test_leaving_the_connection_raises_a_failure_that_nobody_has_seen() -> None:
    user, connection = to_hub()
    session = session_of(user, connection)

    async def use() -> None:
        async with connection:
            session.core.call(QueueDelete("nix"))
            other: Session = await connection.open_session()
            await other.sync()

    with pytest.raises(SessionEnded, match="nix"):
        user.run(use())


def test_a_session_that_its_user_fails_is_no_failure_that_nobody_has_seen() -> None:
    user, connection, server = to_server()
    session: Session = user.run(opened(connection.open_session()))
    user.run(opened(session.subscribe("jobs", destination="d")))
    events = session.events(CommandReceived)
    server.core.session(0).call(MessageResume("d", "some-id"))
    server.pump()
    command = user.run(events.__anext__())
    session.fail(ExecutionError(540, "not here"), command.command_id)
    user.turn()
    assert not session.is_open
    user.run(connection.__aexit__(None, None, None))


def test_iterations_end_quietly_with_the_own_close() -> None:
    user, connection = to_hub()
    session = session_of(user, connection)
    subscription: Subscription = user.run(opened(session.subscribe("jobs")))
    taking, reading = user.begin(subscription.__anext__()), user.begin(session.events().__anext__())
    publishing = user.begin(connection.events().__anext__())
    user.run(session.close())
    for each in (taking, reading):
        assert isinstance(each.error, StopAsyncIteration)
    with pytest.raises(SessionEnded, match="closed by this side"):
        user.run(subscription.fetch())
    user.begin(connection.close())
    assert isinstance(publishing.error, StopAsyncIteration)


@pytest.mark.parametrize("looks", [False, True])
def test_leaving_a_lost_connection_raises_that_unless_the_user_has_looked(looks: bool) -> None:
    user, connection = to_hub()
    session_of(user, connection)
    user.cut("cut")
    if looks:
        assert user.run(connection.wait_closed()).by is By.TRANSPORT
        user.run(connection.__aexit__(None, None, None))
    else:
        with pytest.raises(EndpointClosed, match="cut"):
            user.run(connection.__aexit__(None, None, None))


# Interruptions.


async def everything(connection: Connection) -> None:
    """Something of everything, on sessions of its own."""
    async with connection.open_session() as session:
        await session.publish(b"1", "", "jobs")
        sent = await session.publish(b"2", "", "jobs", wait=False)
        await sent
        await session.sync()
        async with session.subscribe("jobs", credit=2) as subscription:
            received = await subscription.__anext__()
            await received.release()
        async with session.subscribe("jobs", credit=0, flow_mode=CREDIT) as subscription:
            taken = await subscription.fetch(5)
            assert taken is not None
            await taken.release()
            await subscription.grant(10)
            await subscription.flush()
        async with session.transaction():
            await session.publish(b"3", "", "jobs")
    async with connection.open_session(timeout=60) as other:
        async with other.branch(Xid(1, b"g", b"")) as branch:
            await other.publish(b"4", "", "jobs")
        await branch.rollback()


def test_everybody_is_told_when_the_transport_is_lost_at_each_wait() -> None:
    number, finished = 0, False
    while not finished:
        number += 1
        user, connection = to_hub()
        session_of(user, connection)
        call = user.begin(everything(connection), number)
        finished = call.done
        heard = call.is_due
        user.cut("cut")
        call.go_on()
        user.turn()
        assert call.done, number
        assert isinstance(call.error, EndpointClosed) or (call.error is None and (finished or heard)), call.error
        assert at_rest(user.client) == [], number
    assert number > 10


def test_a_caller_that_is_interrupted_after_its_answer_came_hears_nothing_of_a_close() -> None:
    """The session that it doesn't want any more needs no close of its own, for the connection is being closed."""
    user, connection = to_hub()
    opening = user.begin(opened(connection.open_session()), last=1)
    user.line.down.hold()
    user.begin(connection.close())
    opening.cancel()
    assert isinstance(opening.error, Cancelled)


def test_a_routing_key_is_merged_into_the_properties_and_touches_nothing_else() -> None:
    odd = Struct32(0x7777, b"\1\2\3")
    message = Message(
        b"body",
        delivery_properties=DeliveryProperties(routing_key="old", priority=7),
        message_properties=MessageProperties(content_type="text/plain"),
        others=(odd, FragmentProperties(first=True)),
    )
    changed = routed(message, "jobs")
    assert changed.delivery_properties == DeliveryProperties(routing_key="jobs", priority=7)
    assert changed.message_properties == message.message_properties
    assert changed.headers.others == message.headers.others
    old, new = message.headers.raw, changed.headers.raw
    assert old.replace(b"\x03old", b"\x04jobs")[4:] == new[4:]
    assert routed(message, None) is message
    assert routed(message, "old") is message
    bare = Message(b"x", message_properties=MessageProperties(content_type="a"))
    assert routed(bare, "jobs").headers.raw.endswith(bare.headers.raw)
    assert routed(bare, "jobs").delivery_properties.routing_key == "jobs"
    assert routed(b"x", None).headers.raw == b""
    assert routed(b"x", "k") == Message(b"x", routing_key="k")


def test_an_exception_of_the_server_says_which_command_and_which_field() -> None:
    user, connection = to_hub()
    session = session_of(user, connection)
    with pytest.raises(SessionEnded) as caught:
        user.run(opened(session.subscribe("nix")))
    report = caught.value.report
    assert report is not None
    assert (report.code, report.condition, report.method) == (404, "not-found", "message.subscribe")
    assert report.info["field"] == "queue"
    assert report.info["command-id"] >= 0
    assert "in answer to message.subscribe" in str(caught.value)
