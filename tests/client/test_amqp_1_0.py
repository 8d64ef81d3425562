"""The pure client of 1.0 without an event loop: it waits, ends with its reason, and is cancelled at each wait."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import nullcontext
from typing import Any

import pytest

from amqp_sansio import Event, Pending, Signal
from amqp_sansio.amqp_1_0 import CreditChanged, Delivery, LinkRequested, Message, Source, Symbol
from amqp_sansio.amqp_1_0.codec.conditions import INTERNAL_ERROR, NOT_FOUND
from amqp_sansio.client.amqp_1_0.connection import Connection
from amqp_sansio.client.amqp_1_0.receiver import Receiver
from amqp_sansio.client.amqp_1_0.sender import Sender
from amqp_sansio.client.amqp_1_0.session import Session
from amqp_sansio.client.waits import STOPPED_TIMERS
from amqp_sansio.errors import EndpointClosed, LinkEnded
from amqp_sansio.events import OpenRequested
from amqp_sansio.testing.simulate import World
from tests.kit.asyncio_broker import left_in
from tests.kit.served_1_0 import Server, brokered, served
from tests.kit.user import opened


async def links_of(connection: Connection, credit: int = 0) -> tuple[Session, Sender, Receiver]:
    session = await connection.open_session()
    return session, await session.open_sender("q"), await session.open_receiver("q", credit=credit)


@pytest.fixture
def world() -> Iterator[World]:
    with World() as world:
        yield world


def far_link(server: Server, role: str = "receiver") -> Any:
    """The server's end of the only link of which it has that role."""
    (link,) = [each for each in server.core.session(0).links if each.role == role]
    return link


def test_credit_in_pieces_keeps_the_order(world: World) -> None:
    """More credit comes before those who were woken have sent."""
    user, server = served(world)
    sender = user.run(_sender(user.run(_session(user.connection))))
    sends = [user.begin(sender.send(Message(number), wait=False)) for number in range(6)]
    link = far_link(server)
    for _ in range(3):
        link.flow(2)
        server.pump()
    user.turn()
    assert [each.done for each in sends] == [True] * 2 + [False] * 4
    for count in range(3, 7):
        link.flow(1)
        server.pump()
        user.turn()
        assert [each.done for each in sends] == [True] * count + [False] * (6 - count)
    assert [each.body for each in server.events if isinstance(each, Delivery)] == list(range(6))


@pytest.mark.parametrize("credit", [1, 2, 3, 7])
@pytest.mark.parametrize("waiting", [1, 2, 5])
def test_as_many_try_at_once_as_there_is_credit(world: World, waiting: int, credit: int) -> None:
    """Before any of them has gone on: each of them may be held up for another reason."""
    user, server = served(world)
    sender = user.run(_sender(user.run(_session(user.connection))))
    sends = [user.begin(sender.send(Message(number), wait=False)) for number in range(waiting)]
    far_link(server).flow(credit)
    user.client.receive_data(server.core.data_to_send(world.now), world.now)
    assert isinstance(user.client.next_event(), Signal)
    assert sender._state.woken == min(waiting, credit)  # pyright: ignore[reportPrivateUsage]
    user.turn()
    assert len([each for each in sends if each.done]) == min(waiting, credit)


@pytest.mark.parametrize("credit", [0, 1, 10])
def test_fetches_are_served_in_their_order(world: World, credit: int) -> None:
    """One message at a time, whoever asks for it."""
    user = brokered(world)
    _, sender, receiver = user.run(links_of(user.connection, credit))
    fetches = [user.begin(receiver.fetch()) for _ in range(4)]
    for number in range(4):
        user.run(sender.send(b"%d" % number))
        assert [each.done for each in fetches] == [True] * (number + 1) + [False] * (3 - number)
    assert [each.result.body for each in fetches] == [b"0", b"1", b"2", b"3"]


@pytest.mark.parametrize("credit", [1, 2, 10])
def test_a_receiver_that_is_closing_asks_for_no_more(world: World, credit: int) -> None:
    """Whoever takes meanwhile what came together with the end of the credit."""
    user, server = served(world)
    _, _, receiver = user.run(links_of(user.connection, credit))
    link = far_link(server, "sender")
    readers = [user.begin(receiver.__anext__()) for _ in range(credit)]
    closing = user.begin(receiver.close())
    server.events.clear()
    for number in range(credit):
        link.send(Message(number), settled=True)
    server.pump()
    user.turn()
    assert [each.result.body for each in readers] == [*range(credit)]
    assert not [each for each in server.events if isinstance(each, CreditChanged)]
    assert closing.done


def test_a_drain_is_answered_behind_those_who_send(world: World) -> None:
    user, server = served(world)
    sender = user.run(_sender(user.run(_session(user.connection))))
    sends = [user.begin(sender.send(Message(number))) for number in range(2)]
    link = far_link(server)
    link.flow(5, drain=True)
    server.pump()
    user.turn()
    assert len([each for each in server.events if isinstance(each, Delivery)]) == 2
    assert link.credit == 0
    assert sender.credit == 0
    for each in sends:
        each.cancel()


async def _session(connection: Connection) -> Session:
    return await connection.open_session()


async def _sender(session: Session) -> Sender:
    return await session.open_sender("q")


def test_a_fetch_ends_with_its_time(world: World) -> None:
    user = brokered(world)
    _, sender, receiver = user.run(links_of(user.connection))
    fetch = user.begin(receiver.fetch(5))
    assert receiver.credit == 1
    world.pass_time(4)
    assert not fetch.done
    world.pass_time(2)
    assert fetch.result is None
    assert receiver.credit == 0
    fetch = user.begin(receiver.fetch(5))
    user.run(sender.send(b"late"))
    late = fetch.result
    assert late is not None
    assert late.body == b"late"
    assert left_in(user.client)[:-1] == []


def test_a_sender_that_answers_no_drain_loses_its_credit(world: World) -> None:
    user, server = served(world)
    _, _, receiver = user.run(links_of(user.connection))
    fetch = user.begin(receiver.fetch(5))
    world.pass_time(5)
    assert not fetch.done
    assert far_link(server, "sender").credit == 1
    world.pass_time(1)
    assert fetch.result is None
    assert receiver.credit == far_link(server, "sender").credit == 0


def test_stopped_timers_leave_nothing_behind(world: World) -> None:
    user = brokered(world)
    client = user.client
    first = client.after(50.0)
    for _ in range(1000):
        timer = client.after(60.0)
        client.data_to_send(0.0)
        client.stop(timer)
    assert len(client._deadlines) <= 2 * STOPPED_TIMERS + 2  # pyright: ignore[reportPrivateUsage]
    pending: Pending[object] = client.pending()
    client.bound(first, pending)
    client.handle_timeout(49.0)
    assert not pending.done
    client.handle_timeout(50.0)
    assert pending.done
    assert first.done
    assert client.next_deadline == client.core.next_deadline


REFUSED = Symbol("amqp:connection-establishment-failed")


@pytest.mark.parametrize("properties", [{REFUSED: True}, {REFUSED: False}, {Symbol("product"): "x"}, {}, None])
def test_an_open_that_announces_its_close_opens_nothing(world: World, properties: dict[Symbol, Any] | None) -> None:
    """Whatever the property's value: the close says why."""

    def answers(server: Server, event: Event) -> bool:
        if isinstance(event, OpenRequested):
            server.core.accept_open(properties=properties)
        return isinstance(event, OpenRequested)

    user, server = served(world, answers=answers)
    refused = properties is not None and REFUSED in properties
    assert user.connecting.done is not refused
    server.core.close(condition=NOT_FOUND, description="no such host")
    server.pump()
    user.turn()
    if refused:
        with pytest.raises(EndpointClosed, match="no such host"):
            assert user.connection
    else:
        assert not user.connection.is_open


@pytest.mark.parametrize("role", ["sender", "receiver"])
def test_a_requester_is_open_as_long_as_both_its_links_are(world: World, role: str) -> None:
    def answers(server: Server, event: Event) -> bool:
        if not isinstance(event, LinkRequested):
            return False
        link: Any = server.core.session(event.channel).link(event.link)
        link.accept_attach(source=Source(address="replies") if link.role == "sender" else None)
        return True

    user, server = served(world, answers=answers)
    requester = user.run(opened(user.run(_session(user.connection)).open_requester("q")))
    assert requester.is_open
    far_link(server, role).close()
    server.pump()
    user.turn()
    assert not requester.is_open


@pytest.mark.parametrize("look", [False, True], ids=["nobody looks", "the program looks"])
def test_leaving_the_context_raises_what_nobody_has_seen(world: World, look: bool) -> None:
    user, server = served(world, credit=10)
    connection = user.connection

    async def use() -> None:
        async with connection, connection.open_session() as session:
            sender = await session.open_sender("q")
            await sender.send(b"settled", settled=True)
            link = far_link(server)
            link.close(NOT_FOUND, "the node is gone")
            await session.open_sender("other")
            assert not sender.is_open
            if look:
                assert sender.report is not None

    with nullcontext() if look else pytest.raises(LinkEnded, match="the node is gone"):
        user.run(use())


@pytest.mark.parametrize("part", ["link", "session", "connection"])
def test_iterations_end_quietly_with_ones_own_close(world: World, part: str) -> None:
    user = brokered(world)
    connection = user.connection
    session, _, receiver = user.run(links_of(user.connection, 5))
    iterators: tuple[AsyncIterator[object], ...] = (receiver, session.events(), connection.events())
    iterations = [user.begin(_all_of(each)) for each in iterators]
    own: dict[str, Receiver | Session | Connection] = {"link": receiver, "session": session, "connection": connection}
    user.run(own[part].close())
    ended = {"link": 1, "session": 2, "connection": 3}[part]
    assert [each.done for each in iterations] == [True] * ended + [False] * (3 - ended)
    for each in iterations[:ended]:
        assert isinstance(each.result, int)
    user.run(connection.close())
    with pytest.raises(LinkEnded, match="closed by this side"):
        user.run(receiver.fetch())


def test_a_link_that_ones_own_error_closes_ends_quietly_too(world: World) -> None:
    user = brokered(world)
    _, _, receiver = user.run(links_of(user.connection, 5))
    reading = user.begin(_all_of(receiver))
    assert user.run(receiver.close(INTERNAL_ERROR, "enough")).condition == INTERNAL_ERROR
    assert reading.result == 0


def test_a_close_that_nobody_asked_for_is_no_quiet_end(world: World) -> None:
    """This end notices that it has been silent for too long: its own close, but an error."""
    user, _ = served(world, idle_time_out=10.0)
    connection = user.connection
    _, _, receiver = user.run(links_of(user.connection, 5))

    async def stay() -> None:
        async with connection:
            await user.client.wait(user.client.lost)

    staying, reading = user.begin(stay()), user.begin(_all_of(receiver))
    world.now = 100.0
    user.turn()
    for each in (staying, reading):
        with pytest.raises(EndpointClosed, match="this end sent nothing"):
            each.result  # noqa: B018


async def _all_of(items: AsyncIterator[object]) -> int:
    return len([each async for each in items])


def test_a_close_right_behind_the_open_is_a_refusal(world: World) -> None:
    def answers(server: Server, event: Event) -> bool:
        if isinstance(event, OpenRequested):
            server.core.accept_open()
            server.core.close(NOT_FOUND, "no such host")
            return True
        return False

    user, _ = served(world, 0, answers)
    with pytest.raises(EndpointClosed, match="no such host"):
        user.connection  # noqa: B018
    assert not user.client.is_open
