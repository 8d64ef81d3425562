"""Sessions of 0-10 that outlive their connections: what was in doubt is executed once, whatever was cut."""

from __future__ import annotations

import asyncio
import pickle
import random
from collections import deque

import pytest

from amqp_sansio import AMQP_0_10, By
from amqp_sansio.amqp_0_10 import (
    CREDIT,
    CommandReceived,
    MessageReceived,
    QueueQuery,
    Resumed,
    SessionRequested,
    SessionState,
    TxSelect,
)
from amqp_sansio.client.amqp_0_10.subscription import inbox_of
from amqp_sansio.errors import EndpointClosed, LocalProtocolError
from amqp_sansio.events import Accepted
from amqp_sansio_asyncio import Server, SessionEnded, SessionKeeper, connect, serve
from amqp_sansio_asyncio.amqp_0_10 import Connection, ServerConnection, Session
from tests.kit.asyncio_broker import driver_of, until, url_of
from tests.kit.asyncio_loops import Problems, run
from tests.kit.asyncio_node_0_10 import Node, node


async def attached(server: Server, state: SessionState) -> tuple[Connection, Session]:
    """A new connection, and the session on it."""
    connection = await connect(url_of(server), version=AMQP_0_10)
    return connection, await connection.resume_session(pickle.loads(pickle.dumps(state)))


@pytest.mark.rule("0-10/session/exactly-once", "0-10/session/state-kept")
def test_publishes_in_doubt_are_executed_once() -> None:
    async def main() -> None:
        problems = Problems()
        problems.watch()
        async with node() as (server, made):
            connection = await connect(url_of(server), version=AMQP_0_10)
            session = await connection.open_session("orders", timeout=300)
            first = [await session.publish(b"%d" % n, "", "jobs", wait=False) for n in range(3)]
            await until(lambda: len(made.executed) == 3)
            made.hold = True
            waiting = asyncio.ensure_future(session.publish(b"3", "", "jobs"))
            calling = asyncio.ensure_future(session.call(QueueQuery("jobs")))
            syncing = asyncio.ensure_future(session.sync())
            reading = await session.subscribe("jobs", credit=0)
            taking = asyncio.ensure_future(reading.__anext__())
            await until(lambda: len(made.held) == 1)
            made.cut()
            for task in (waiting, syncing, taking):
                with pytest.raises(SessionEnded, match="can be resumed") as caught:
                    await task
                assert caught.value.resumable
                assert caught.value.session == b"orders"
            assert (await calling).message_count == 3
            assert await first[0] == Accepted()
            with pytest.raises(SessionEnded, match="can be resumed"):
                await session.publish(b"no")
            assert (await session.close()).by is By.TRANSPORT
            assert (await connection.wait_closed()).by is By.TRANSPORT
            state = session.detached_state()
            assert state.name == b"orders"
            made.hold = False
            other, again = await attached(server, state)
            assert again.name == b"orders"
            assert again.timeout == 300
            for sent in again.pending.values():
                await sent
            await again.sync()
            assert not again.pending
            assert made.executed == [b"0", b"1", b"2", b"3"]
            assert await again.publish(b"4", "", "jobs") == Accepted()
            assert made.bodies("jobs") == [b"0", b"1", b"2", b"3", b"4"]
            await other.close()
        assert not problems.contexts

    run(main())


def test_messages_that_nobody_took_come_again_and_the_others_do_not() -> None:
    async def main() -> None:
        async with node() as (server, made):
            for number in range(8):
                made.put("jobs", b"%d" % number)
            connection = await connect(url_of(server), version=AMQP_0_10)
            session = await connection.open_session("orders", timeout=300)
            subscription = await session.subscribe("jobs", destination="inbox", credit=4)
            one = await subscription.__anext__()
            two = await subscription.__anext__()
            await one.accept()  # It isn't written yet.
            await until(lambda: len(inbox_of(subscription).items) >= 2)
            made.cut()
            await session.wait_closed()
            with pytest.raises(SessionEnded, match="can be resumed"):
                await subscription.__anext__()
            with pytest.raises(SessionEnded):
                await two.accept()
            assert not subscription.is_open
            other, again = await attached(server, session.detached_state())
            assert again.unsettled == (two.command_id,)
            await again.accept(*again.unsettled)
            inbox = again.subscriptions["inbox"]
            bodies: list[bytes] = []
            async for received in inbox:
                bodies.append(received.body)
                await received.accept()
                if len(bodies) == 6:
                    break
            assert bodies == [b"%d" % number for number in range(2, 8)]
            await again.sync()
            assert not made.sent and not made.bodies("jobs")
            await other.close()

    run(main())


def test_detaching_and_going_on() -> None:
    async def main() -> None:
        async with node() as (server, made), connect(url_of(server), version=AMQP_0_10) as connection:
            session = await connection.open_session("orders", timeout=300)
            made.hold = True
            sent = await session.publish(b"1", "", "jobs", wait=False)
            waiting = asyncio.ensure_future(_outcome(sent))
            await session.subscribe("jobs", destination="d", flow_mode=CREDIT, credit=2)
            with pytest.raises(LocalProtocolError):
                session.detached_state()
            state = await session.detach()
            with pytest.raises(SessionEnded, match=r"closed by this side.*can be resumed"):
                await waiting
            with pytest.raises(SessionEnded, match="can be resumed"):
                await sent
            assert connection.is_open
            made.hold = False
            async with connection.resume_session(state) as again:
                # The same process: the publish itself knows its outcome, too.
                for each in again.pending.values():
                    await each
                assert await sent == Accepted()
                subscription = again.subscriptions["d"]
                received = await subscription.fetch(5)
                assert received is not None and received.body == b"1"
                await received.accept()
                await subscription.grant(5)
                await again.publish(b"2", "", "jobs")
                assert (await subscription.fetch(5)) is not None
                # New subscriptions get names of their own.
                async with again.subscribe("jobs"):
                    assert len(again.subscriptions) == 2
            with pytest.raises(EndpointClosed):
                again.detached_state()
            short = await connection.open_session()
            with pytest.raises(LocalProtocolError, match="timeout 0"):
                await short.detach()
            assert short.is_open

    run(main())


async def _outcome(sent: object) -> object:
    return await sent  # type: ignore[misc]


def test_a_session_without_a_timeout_is_over_with_its_connection() -> None:
    async def main() -> None:
        async with node() as (server, made):
            made.put("jobs", b"1")
            connection = await connect(url_of(server), version=AMQP_0_10)
            session = await connection.open_session()
            subscription = await session.subscribe("jobs")
            await until(lambda: len(inbox_of(subscription).items) == 1)
            made.hold = True
            waiting = asyncio.ensure_future(session.publish(b"2", "", "jobs"))
            await until(lambda: len(made.held) == 1)
            made.cut()
            with pytest.raises(SessionEnded, match="transport lost") as caught:
                await waiting
            assert not caught.value.resumable
            with pytest.raises(EndpointClosed):
                session.detached_state()
            with pytest.raises(SessionEnded):
                await subscription.__anext__()
            # The server gives its message to others.
            await until(lambda: made.bodies("jobs") == [b"1"])

    run(main())


@pytest.mark.rule("0-10/session.attach/force")
def test_a_session_is_taken_from_a_connection_that_is_still_there() -> None:
    async def main() -> None:
        async with (
            node() as (server, _),
            connect(url_of(server), version=AMQP_0_10) as one,
            connect(url_of(server), version=AMQP_0_10) as two,
        ):
            session = await one.open_session("orders", timeout=300)
            bystander = await one.open_session()
            await session.publish(b"1", "", "jobs", wait=False)
            copied = await one.open_session("copied", timeout=300)
            state = await copied.detach()
            with pytest.raises(SessionEnded, match="another connection has it"):
                await two.open_session("orders")
            # A state can be tried again when the session was busy.
            again = await one.resume_session(state)
            with pytest.raises(SessionEnded) as caught:
                await two.resume_session(pickle.loads(pickle.dumps(state)), force=False)
            assert caught.value.condition == "session-busy"
            assert caught.value.resumable
            assert again.is_open
            moved = await two.resume_session(pickle.loads(pickle.dumps(state)))
            assert moved.is_open
            with pytest.raises(SessionEnded):
                await again.sync()
            assert bystander.is_open and session.is_open

    run(main())


def test_a_server_that_has_forgotten() -> None:
    async def main() -> None:
        async with node() as (server, made):
            connection = await connect(url_of(server), version=AMQP_0_10)
            session = await connection.open_session("orders", timeout=1)
            made.hold = True
            await session.publish(b"1", "", "jobs", wait=False)
            await until(lambda: len(made.held) == 1)
            made.cut()
            await session.wait_closed()
            await until(lambda: len(made.expired) == 1)
            assert made.expired[0].name == b"orders"
            async with connect(url_of(server), version=AMQP_0_10) as other:
                with pytest.raises(SessionEnded, match="forgotten") as caught:
                    await other.resume_session(session.detached_state())
                assert not caught.value.resumable
                # Somebody who has lost the state can't go on either, but take the name.
                made.hold = False
                fresh = await other.open_session("orders", timeout=300)
                await fresh.sync()
                made.cut()
                await fresh.wait_closed()
            async with connect(url_of(server), version=AMQP_0_10) as third:
                with pytest.raises(SessionEnded, match="already knows"):
                    await third.open_session("orders", force=True)
                async with third.open_session("orders") as free:
                    assert await free.publish(b"2", "", "jobs") == Accepted()

    run(main())


def test_a_resumed_session_is_still_one_of_transactions() -> None:
    async def main() -> None:
        async with node() as (server, made):
            connection = await connect(url_of(server), version=AMQP_0_10)
            session = await connection.open_session("orders", timeout=300)
            async with session.transaction():
                await session.publish(b"1", "", "jobs")
            await session.publish(b"2", "", "jobs")
            made.cut()
            await session.wait_closed()
            other, again = await attached(server, session.detached_state())
            assert made.bodies("jobs") == [b"1"]
            async with again.transaction():
                await again.publish(b"3", "", "jobs")
            assert made.bodies("jobs") == [b"1", b"2", b"3"]
            selects = [
                each for each in made.seen if isinstance(each, CommandReceived) and isinstance(each.command, TxSelect)
            ]
            assert len(selects) == 1
            await other.close()

    run(main())


class Cutting:
    """Serves by a node, and loses each transport after a number of octets."""

    def __init__(self, made: Node, seed: int) -> None:
        self.made = made
        self.random = random.Random(seed)
        self.cuts = 0

    async def handle(self, connection: ServerConnection) -> None:
        driver = connection._driver  # pyright: ignore[reportPrivateUsage]
        transport = driver.transport
        assert transport is not None
        loop = asyncio.get_running_loop()
        if self.cuts < 12:
            self.cuts += 1
            loop.call_later(self.random.uniform(0.0, 0.015), transport.abort)
        await self.made.handle(connection)


@pytest.mark.rule("0-10/session/exactly-once")
@pytest.mark.parametrize("seed", range(6))
def test_nothing_is_lost_and_nothing_comes_twice(seed: int) -> None:
    """The transport is cut again and again, in the middle of publishes and deliveries both ways."""
    count = 1000

    async def main() -> None:
        made = Node()
        made.queues["jobs"] = deque()
        cutting = Cutting(made, seed)
        taken: list[int] = []
        published = 0
        state: SessionState | None = None
        subscribed = False
        async with serve(cutting.handle, version=AMQP_0_10, sessions=made.keeper) as server:
            url = url_of(server)

            async def publish(session: Session) -> None:
                nonlocal published
                while published < count:
                    # Once this returns it's in the session's books, whatever happens then.
                    await session.publish(b"%d" % published, "", "jobs", wait=False)
                    published += 1
                    if published % 10 == 0:
                        await asyncio.sleep(0)

            async def receive(session: Session) -> None:
                nonlocal subscribed
                if not subscribed:
                    if "in" not in session.subscriptions:
                        await session.subscribe("jobs", destination="in", credit=7)
                    subscribed = True
                # What was taken from a connection that was lost before it could be accepted.
                await session.accept(*session.unsettled)
                async for received in session.subscriptions["in"]:
                    taken.append(int(received.body))
                    await received.accept()
                    if len(taken) % 5 == 0:
                        await asyncio.sleep(0)
                    if len(taken) == count:
                        return

            while len(taken) < count:
                try:
                    async with connect(url, version=AMQP_0_10) as connection:
                        if state is None:
                            session = await connection.open_session("work", timeout=None)
                        else:
                            session = await connection.resume_session(state)
                        if "in" in session.subscriptions:
                            subscribed = True
                        try:
                            await asyncio.gather(publish(session), receive(session))
                            await session.sync()
                        except SessionEnded as error:
                            assert error.resumable
                            await session.wait_closed()
                        state = await session.detach() if session.is_open else session.detached_state()
                        state = pickle.loads(pickle.dumps(state))
                except (EndpointClosed, OSError):
                    continue
            assert cutting.cuts > 4
            assert sorted(taken) == list(range(count))
            assert [int(each) for each in made.executed] == list(range(count))
            # All accepts arrive.
            async with connect(url, version=AMQP_0_10) as connection:
                assert state is not None
                session = await connection.resume_session(state)
                await session.sync()
                assert not made.sent
                assert not session.unsettled
                await session.close()
            delivered = [each for each in made.seen if isinstance(each, MessageReceived)]
            assert len(delivered) >= count

    run(main(), 20)


def test_the_clock_of_the_keeper_stops_with_the_server() -> None:
    async def main() -> None:
        expired: list[str] = []
        keeper = SessionKeeper(expired=lambda user, _: expired.append(user))
        made = Node()
        server = await serve(made.handle, version=AMQP_0_10, sessions=keeper)
        connection = await connect(url_of(server), version=AMQP_0_10)
        await connection.open_session("short", timeout=1)
        await connection.close()
        await until(lambda: len(keeper.sessions) == 1)
        await until(lambda: expired == ["guest"])
        connection = await connect(url_of(server), version=AMQP_0_10)
        await connection.open_session("long", timeout=100)
        await connection.close()
        await until(lambda: len(keeper.sessions) == 1)
        await server.close()
        assert expired == ["guest"]

    run(main())


def test_what_the_handler_had_not_taken_is_shown_once() -> None:
    """A handler that was busy when the transport was lost doesn't get what its successor gets."""

    async def main() -> None:
        gate = asyncio.Event()
        taken: list[tuple[int, bytes]] = []
        connections: list[ServerConnection] = []

        async def handle(connection: ServerConnection) -> None:
            number = len(connections)
            connections.append(connection)
            async for event in connection:
                if isinstance(event, SessionRequested):
                    await connection.accept_session(event)
                    continue
                again = event.incomplete if isinstance(event, Resumed) else (event,)
                for each in again:
                    if isinstance(each, MessageReceived):
                        taken.append((number, each.body))
                        connection.session(each.channel).complete(each.command_id)
                        if each.body == b"busy":
                            connection.flush()
                            await gate.wait()

        async with serve(handle, version=AMQP_0_10) as server:
            connection = await connect(url_of(server), version=AMQP_0_10)
            session = await connection.open_session("orders", timeout=300)
            await session.publish(b"busy")
            for number in range(3):
                await session.publish(b"%d" % number, wait=False)
            await asyncio.sleep(0.02)
            transport = driver_of(session).transport
            assert transport is not None
            transport.close()
            await session.wait_closed()
            # The session isn't free before the first handler has seen its end.
            resuming = asyncio.ensure_future(attached(server, session.detached_state()))
            await asyncio.sleep(0.05)
            assert not resuming.done()
            gate.set()
            other, again = await resuming
            await again.sync()
            assert taken == [(0, b"busy"), (1, b"0"), (1, b"1"), (1, b"2")]
            await other.close()

    run(main())
