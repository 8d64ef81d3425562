"""The client of 0-10 without any event loop: octets are moved by hand, and its coroutines stepped by hand."""

from __future__ import annotations

from typing import Any, TypeVar

import pytest

from amqp_sansio import By, Signal
from amqp_sansio.amqp_0_10 import (
    CREDIT,
    MESSAGE,
    CommandReceived,
    Config,
    DeliveryProperties,
    ExecutionError,
    FragmentProperties,
    Message,
    MessageFlow,
    MessageProperties,
    MessageReceived,
    MessageResume,
    MessageSetFlowMode,
    QueueDeclare,
    QueueDelete,
    Struct32,
    Xid,
)
from amqp_sansio.amqp_0_10 import Connection as Core
from amqp_sansio.broker import Hub, Settings
from amqp_sansio.client.amqp_0_10.client import Client
from amqp_sansio.client.amqp_0_10.connection import Connection
from amqp_sansio.client.amqp_0_10.publishing import routed
from amqp_sansio.client.amqp_0_10.session import Session
from amqp_sansio.client.amqp_0_10.subscription import Subscription
from amqp_sansio.client.opening import Opening
from amqp_sansio.errors import EndpointClosed, SessionEnded
from amqp_sansio.events import Accepted
from amqp_sansio.sasl import Plain
from amqp_sansio.testing.simulate import Cancelled
from amqp_sansio.uri import parse
from tests.kit.ends_0_10 import Ends
from tests.kit.hand_driven_0_10 import World, at_rest

T = TypeVar("T")


async def opened(opening: Opening[Any]) -> Any:
    """Wait until something is open."""
    return await opening


def to_hub(hub: Hub, prefix: str = "s-", **options: Any) -> tuple[World, Connection]:
    """A client of a hub, whose connection is open."""
    theirs = hub.connect()

    def answer(octets: bytes, now: float) -> bytes:
        if octets:
            theirs.receive_data(octets, now)
        theirs.next_event()
        return theirs.data_to_send(now)

    client = Client(Core.client(Config(sasl=Plain("guest", "guest"), session_prefix=prefix, **options)))
    world = World(client, answer)
    assert client.opened.done and client.is_open
    return world, Connection(client, parse("amqp://localhost"))


class Server(Ends):
    """The server of a client: its application completes and settles nothing while it is `lazy`."""

    def __init__(self) -> None:
        self.server = Core.server()
        self.told = {self.server: []}
        self.lazy = False

    def take(self, octets: bytes, now: float) -> bytes:
        """Octets of the client; the server's."""
        if octets:
            self.server.receive_data(octets, now)
        while not isinstance(event := self.server.next_event(), Signal):
            self.told[self.server].append(event)
            if not self.lazy or not isinstance(event, MessageReceived):
                self.answer(self.server, event)
        return self.server.data_to_send(now)

    @property
    def bodies(self) -> list[bytes]:
        """The bodies of the messages that came."""
        return [each.body for each in self.told[self.server] if isinstance(each, MessageReceived)]


def to_server() -> tuple[World, Connection, Server]:
    """A client of a server core, whose connection is open."""
    server = Server()
    client = Client(Core.client(Config(sasl=Plain("guest", "guest"), session_prefix="s-")))
    world = World(client, server.take)
    return world, Connection(client, parse("amqp://localhost")), server


def session_of(world: World, connection: Connection, **options: Any) -> Session:
    """A session that is open, and has the queue "jobs"."""
    session: Session = world.run(opened(connection.open_session(**options)))
    world.run(session.call(QueueDeclare("jobs")))
    return session


def hub() -> Hub:
    """A broker."""
    return Hub(Settings())


# A message's way.


def test_acceptances_of_one_turn_are_one_command() -> None:
    world, connection = to_hub(hub())
    session = session_of(world, connection)
    for number in range(5):
        sent = world.run(session.publish(b"%d" % number, "", "jobs", wait=False))
        assert world.run(sent.result()) == Accepted()
    subscription: Subscription = world.run(opened(session.subscribe("jobs", credit=5)))

    async def take() -> None:
        for _ in range(5):
            await (await subscription.__anext__()).accept()
        assert len(world.client.collected) == 1

    world.run(take())
    assert world.client.collected == []
    assert session.unsettled == ()


# Waits.


def test_a_publisher_waits_for_credit() -> None:
    world, connection, server = to_server()
    session: Session = world.run(opened(connection.open_session()))
    served = server.server.session(0)
    served.call(MessageSetFlowMode("", CREDIT))
    served.call(MessageFlow("", MESSAGE, 2))
    world.move()
    calls = [world.begin(session.publish(b"%d" % number, "x", "k")) for number in range(5)]
    assert server.bodies == [b"0", b"1"]
    served.call(MessageFlow("", MESSAGE, 1))
    world.move()
    assert server.bodies == [b"0", b"1", b"2"]
    # One that gives up passes its turn on.
    calls[3].interrupt()
    served.call(MessageFlow("", MESSAGE, 5))
    world.move()
    assert server.bodies == [b"0", b"1", b"2", b"4"]
    assert [each.result for each in calls if each is not calls[3]] == [Accepted()] * 4
    with pytest.raises(Cancelled):
        assert calls[3].result
    assert at_rest(world.client) == []


def test_who_is_woken_and_interrupted_wakes_the_next() -> None:
    world, connection, server = to_server()
    session: Session = world.run(opened(connection.open_session()))
    served = server.server.session(0)
    served.call(MessageFlow("", MESSAGE, 0))
    world.move()
    first, second = [world.begin(session.publish(b"%d" % number, "x", "k")) for number in range(2)]
    served.call(MessageFlow("", MESSAGE, 1))
    # The grant wakes the first; before that can go on, it is interrupted.
    world.client.receive_data(server.take(b"", 0.0), 0.0)
    assert isinstance(world.client.next_event(), Signal)
    assert first.is_answered and not first.done
    first.interrupt()
    world.move()
    assert second.result == Accepted()
    assert server.bodies == [b"1"]


def test_a_fetch_ends_with_its_time() -> None:
    world, connection = to_hub(hub())
    session = session_of(world, connection)
    subscription: Subscription = world.run(opened(session.subscribe("jobs", credit=0, flow_mode=CREDIT)))
    fetching = world.begin(subscription.fetch(5.0))
    assert subscription.granted[0] == 1
    assert world.client.next_deadline is not None
    world.advance(4.0)
    assert not fetching.done
    world.advance(1.0)
    assert fetching.result is None
    assert subscription.granted == (0, 0)
    assert at_rest(world.client) == []
    waiting = world.begin(subscription.fetch(5.0))
    world.run(session.publish(b"1", "", "jobs"))
    assert waiting.result is not None and waiting.result.body == b"1"
    assert at_rest(world.client) == []


def test_timers_that_are_not_needed_are_forgotten() -> None:
    world, connection = to_hub(hub())
    session = session_of(world, connection)
    subscription: Subscription = world.run(opened(session.subscribe("jobs", credit=0, flow_mode=CREDIT)))
    for _ in range(500):
        fetching = world.begin(subscription.fetch(3600.0))
        fetching.interrupt()
        world.move()
    assert len(world.client._deadlines) < 200
    assert at_rest(world.client) == []


def test_the_close_of_a_session_waits_no_longer_than_the_time_for_it() -> None:
    world, connection, server = to_server()
    session: Session = world.run(opened(connection.open_session()))
    server.lazy = True
    world.run(session.publish(b"1", "x", "k", wait=False))
    closing = world.begin(session.close())
    world.advance(connection.core.config.close_timeout - 0.1)
    assert not closing.done
    world.advance(0.1)
    assert closing.result.by is By.LOCAL
    assert at_rest(world.client) == []


def test_only_one_selects_a_session_for_transactions() -> None:
    world, connection = to_hub(hub())
    session = session_of(world, connection)
    world.reads = False

    async def work(number: int) -> None:
        async with session.branch(Xid(1, b"%d" % number, b"")):
            pass

    first, second, third = [world.begin(work(number)) for number in range(3)]
    second.interrupt()
    world.reads = True
    world.move()
    assert first.done and third.done and first.error is None
    assert isinstance(second.error, Cancelled)
    # A session works for one branch at a time.
    assert third.error is None or "on a session that works for" in str(third.error)
    assert at_rest(world.client) == []


# The end.


def test_leaving_the_connection_raises_a_failure_that_nobody_has_seen() -> None:
    world, connection = to_hub(hub())
    session = session_of(world, connection)

    async def use() -> None:
        async with connection:
            session.core.call(QueueDelete("nix"))
            other: Session = await connection.open_session()
            await other.sync()

    with pytest.raises(SessionEnded, match="nix"):
        world.run(use())


def test_a_session_that_its_user_fails_is_no_failure_that_nobody_has_seen() -> None:
    world, connection, server = to_server()
    session: Session = world.run(opened(connection.open_session()))
    world.run(opened(session.subscribe("jobs", destination="d")))
    events = session.events(CommandReceived)
    server.server.session(0).call(MessageResume("d", "some-id"))
    command = world.run(events.__anext__())
    session.fail(ExecutionError(540, "not here"), command.command_id)
    world.move()
    assert not session.is_open
    world.run(connection.__aexit__(None, None, None))


def test_iterations_end_quietly_with_the_own_close() -> None:
    world, connection = to_hub(hub())
    session = session_of(world, connection)
    subscription: Subscription = world.run(opened(session.subscribe("jobs")))
    taking, reading = world.begin(subscription.__anext__()), world.begin(session.events().__anext__())
    publishing = world.begin(connection.events().__anext__())
    world.run(session.close())
    for each in (taking, reading):
        assert isinstance(each.error, StopAsyncIteration)
    with pytest.raises(SessionEnded, match="closed by this side"):
        world.run(subscription.fetch())
    world.begin(connection.close())
    assert isinstance(publishing.error, StopAsyncIteration)


@pytest.mark.parametrize("looks", [False, True])
def test_leaving_a_lost_connection_raises_that_unless_the_user_has_looked(looks: bool) -> None:
    world, connection = to_hub(hub())
    session_of(world, connection)
    world.lose("cut")
    if looks:
        assert world.run(connection.wait_closed()).by is By.TRANSPORT
        world.run(connection.__aexit__(None, None, None))
    else:
        with pytest.raises(EndpointClosed, match="cut"):
            world.run(connection.__aexit__(None, None, None))


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
        world, connection = to_hub(hub())
        session_of(world, connection)
        call = world.begin(everything(connection), number)
        finished = call.done
        heard = call.is_answered
        call.last = 0
        world.lose("cut")
        assert call.done, number
        assert isinstance(call.error, EndpointClosed) or (call.error is None and (finished or heard)), call.error
        assert at_rest(world.client) == [], number
    assert number > 10


def test_a_caller_that_is_interrupted_after_its_answer_came_hears_nothing_of_a_close() -> None:
    """The session that it doesn't want any more needs no close of its own, for the connection is being closed."""
    world, connection = to_hub(Hub(Settings(seed=b"1")))
    opening = world.begin(opened(connection.open_session()), last=1)
    world.reads = False
    world.begin(connection.close())
    opening.interrupt()
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
