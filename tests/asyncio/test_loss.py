"""Connections that break: lost mid-call, silent peers, heartbeats, closes that nobody answers."""

from __future__ import annotations

import asyncio
import gc
import logging
from typing import Any

import pytest

from amqp_sansio import AMQP_0_10, AMQP_1_0, By, EndpointClosed, Scope, Version
from amqp_sansio.amqp_0_9_1 import Config, HeartbeatReceived
from amqp_sansio.amqp_0_9_1 import Connection as CoreConnection
from amqp_sansio.amqp_0_9_1.spec import QueueDeclare
from amqp_sansio.amqp_0_10 import MessageReceived
from amqp_sansio.amqp_0_10.spec import Xid
from amqp_sansio.amqp_1_0 import Delivery
from amqp_sansio.client.classic.client import ClassicClient
from amqp_sansio.events import Closed, CloseReport, Event, Signal
from amqp_sansio.sasl import Plain
from amqp_sansio.uri import parse
from amqp_sansio_asyncio import Connection, ServerConnection, connect, serve
from amqp_sansio_asyncio.client_driver import ClientDriver
from tests.kit.asyncio_broker import asks, broker, client, driver_of, scripted, until, url_of
from tests.kit.asyncio_loops import Problems, run
from tests.kit.world_broker import WorldBroker


def abort(connection: ServerConnection) -> None:
    """Cut the connection without a word."""
    transport = driver_of(connection).transport
    assert transport is not None
    transport.abort()


@pytest.mark.rule("0-9-1/connection.close-ok/log")
def test_a_socket_lost_without_close_ok_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    def answer(connection: ServerConnection, event: Event) -> None:
        if asks(event, QueueDeclare):
            transport = driver_of(connection).transport
            assert transport is not None
            transport.pause_reading()
            asyncio.get_running_loop().call_later(0.05, abort, connection)

    async def main() -> None:
        async with client(scripted(answer)) as connection:
            ch = await connection.open_channel()
            call = asyncio.ensure_future(ch.call(QueueDeclare(queue="q")))
            await asyncio.sleep(0.02)
            report = await connection.close()
            assert report.by is By.LOCAL
            with pytest.raises(EndpointClosed):
                await call

    with caplog.at_level(logging.INFO, "amqp_sansio_asyncio"):
        run(main())
    assert "ended without its closing handshake: closed by this side: 200" in caplog.text


@pytest.mark.rule("0-9-1/wire/heartbeat-interval")
def test_idle_connections_stay_alive_by_heartbeats() -> None:
    async def main() -> None:
        beats = 0
        seen: list[ServerConnection] = []

        async def handle(connection: ServerConnection) -> None:
            nonlocal beats
            seen.append(connection)
            async for event in connection:
                beats += isinstance(event, HeartbeatReceived)

        config = Config(heartbeat=1, report_heartbeats=True)
        async with serve(handle, config=config) as server, connect(url_of(server), heartbeat=1) as connection:
            await asyncio.sleep(4.5)
            assert connection.is_open
            assert seen[0].is_open
            assert beats >= 4
        assert connection.report is not None
        assert connection.report.code == 200

    run(main())


class Silent:
    """A relay that forwards until it is told to be silent towards `silent`, "client" or "server"; it keeps the
    connections open."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.silent = ""
        self.tasks: list[asyncio.Task[None]] = []

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        up_reader, up_writer = await asyncio.open_connection("127.0.0.1", self.port)
        self.tasks += [
            asyncio.create_task(self.copy(reader, up_writer, "server")),
            asyncio.create_task(self.copy(up_reader, writer, "client")),
        ]

    async def copy(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, to: str) -> None:
        try:
            while data := await reader.read(65536):
                if self.silent != to:
                    writer.write(data)
        except OSError:
            pass
        finally:
            writer.close()


async def silent_relay(port: int) -> tuple[Silent, asyncio.Server, str]:
    relay = Silent(port)
    server = await asyncio.start_server(relay.serve, "127.0.0.1", 0)
    return relay, server, f"amqp://127.0.0.1:{server.sockets[0].getsockname()[1]}"


@pytest.mark.rule("0-9-1/wire/heartbeat-timeout")
@pytest.mark.parametrize("deaf", ["client", "server"])
def test_a_peer_that_goes_silent_is_noticed(caplog: pytest.LogCaptureFixture, deaf: str) -> None:
    """The other end is heard all the time, so only one can notice it."""

    async def main() -> None:
        loop = asyncio.get_running_loop()
        ended: list[CloseReport] = []

        async def handle(connection: ServerConnection) -> None:
            async for event in connection:
                connection.later(event)
                if isinstance(event, Closed) and event.scope is Scope.CONNECTION:
                    ended.append(event.report)

        async with serve(handle) as server:
            relay, listener, url = await silent_relay(server.port)
            async with listener:
                connection = await connect(url, heartbeat=2)
                ch = await connection.open_channel()
                consuming = asyncio.ensure_future(anext(ch.consume("q")))
                await asyncio.sleep(3)
                relay.silent = deaf
                started = loop.time()
                with pytest.raises(EndpointClosed):
                    await consuming
                # Two intervals from the last octets, of which the last were sent an interval ago at most.
                assert 2 <= loop.time() - started <= 4
                await until(lambda: not server.connections)
                for task in relay.tasks:
                    task.cancel()
                await asyncio.wait(relay.tasks)
                reports = {"client": await connection.wait_closed(), "server": ended[-1]}
        noticed = reports.pop(deaf)
        assert "nothing arrived for 4 seconds" in str(noticed)
        assert noticed.rule is not None
        assert noticed.rule.endswith("wire/heartbeat-timeout")
        assert [each.rule for each in reports.values()] == [None]

    with caplog.at_level(logging.INFO, "amqp_sansio_asyncio"):
        run(main())
    assert "nothing arrived for 4 seconds" in caplog.text


def test_a_farewell_that_does_not_get_through_ends_in_time() -> None:
    """The server closes and reads nothing more: the answer stays behind what is unsent."""

    async def main() -> None:
        async def deaf(connection: ServerConnection) -> None:
            await anext(connection)
            transport = driver_of(connection).transport
            assert transport is not None
            transport.pause_reading()
            await full.wait()
            connection.core.close(320, "going down")
            connection.flush()
            await ended.wait()
            transport.abort()

        full, ended = asyncio.Event(), asyncio.Event()
        async with serve(deaf) as server:
            connection = await connect(url_of(server), heartbeat=0, close_timeout=2.0)
            ch = await connection.open_channel()

            async def publish() -> None:
                while True:
                    await ch.publish(bytes(100_000), routing_key="q")

            publishing = asyncio.ensure_future(publish())
            await until(lambda: driver_of(connection).write_paused, 60)
            full.set()
            report = await asyncio.wait_for(connection.wait_closed(), 20)
            assert (report.by, report.code) == (By.REMOTE, 320)
            with pytest.raises(EndpointClosed, match="320"):
                await publishing
            ended.set()

    run(main())


class Faulty(CoreConnection):
    """A core with a bug: it raises where it must not."""

    __slots__ = ()

    def next_event(self) -> Event | Signal:
        if self.channels:
            raise ZeroDivisionError("a bug")
        return super().next_event()


def test_a_bug_in_the_core_leaves_nobody_waiting() -> None:
    async def main() -> None:
        problems = Problems()
        problems.watch()
        loop = asyncio.get_running_loop()
        async with broker() as (server, _):
            core = Faulty.client(Config(sasl=Plain("guest", "guest")))
            client = ClassicClient(core)
            driver = ClientDriver(loop, client)
            await loop.create_connection(lambda: driver, "127.0.0.1", server.port)
            await driver.opened
            connection = Connection(client, parse(url_of(server)))
            with pytest.raises(EndpointClosed, match="the transport was lost: a bug"):
                await connection.open_channel()
            await driver.wait_lost()
        assert "ZeroDivisionError" in str(problems.contexts)

    run(main())


@pytest.mark.parametrize("version", [AMQP_0_10, AMQP_1_0], ids=lambda each: each.label)
@pytest.mark.parametrize("closes", [False, True])
def test_errors_that_nobody_awaits_are_not_reported(version: Version, closes: bool) -> None:
    """Everybody who waits is told, and of what nobody waits for nobody hears."""

    async def main(broker: WorldBroker) -> None:
        problems = Problems()
        problems.watch()
        connection: Any = await connect(broker.url, version=version)
        session = await connection.open_session()
        broker.script = lambda peer, event: isinstance(event, (Delivery, MessageReceived))
        if version is AMQP_1_0:
            sender, receiver = await session.open_sender("jobs"), await session.open_receiver("jobs", credit=0)
            forgotten = [await sender.send(b"x", wait=False) for _ in range(2)]
            waits = [sender.send(b"unsettled"), receiver.fetch(), receiver.drain()]
            waits.append(session.open_sender("late").__aenter__())
        else:
            subscription = await session.subscribe("jobs")
            forgotten = [await session.publish(b"x", "", "jobs", wait=False) for _ in range(2)]
            waits = [session.publish(b"y", "", "jobs"), session.sync(), subscription.fetch()]
            waits.append(session.branch(Xid(1, b"g", b"")).start())
        waits.append(connection.open_session().__aenter__())
        tasks = [asyncio.ensure_future(each) for each in waits]
        await asyncio.sleep(0)
        if closes:
            await connection.close()
        else:
            broker.peer.cut()
        results = await asyncio.gather(*tasks, return_exceptions=True)
        assert all(isinstance(each, EndpointClosed) for each in results if each is not None), results
        report = await connection.wait_closed()
        assert report.by is (By.LOCAL if closes else By.TRANSPORT)
        assert (await session.close()).by is report.by
        assert all(each.done for each in forgotten)
        del forgotten, tasks, results
        gc.collect()
        await asyncio.sleep(0)
        assert not problems.contexts

    with WorldBroker() as broker:
        broker.fill("jobs")
        broker.fill("late")
        run(main(broker), world=broker.world)


@pytest.mark.parametrize("version", [AMQP_0_10, AMQP_1_0], ids=lambda each: each.label)
def test_a_fetch_ends_in_time_although_nothing_can_be_written(version: Version) -> None:
    async def main(broker: WorldBroker) -> None:
        async with connect(broker.url, version=version) as connection, connection.open_session() as session:
            one: Any = session
            consumer = await (one.open_receiver("jobs", credit=0) if version is AMQP_1_0 else one.subscribe("jobs"))
            driver = driver_of(connection)
            driver.pause_writing()
            async with asyncio.timeout(10):
                assert await consumer.fetch(0.01) is None
            driver.resume_writing()
            broker.publish(b"1", routing_key="jobs")
            delivery = await consumer.fetch()
            assert delivery.body == b"1"

    with WorldBroker() as broker:
        broker.fill("jobs")
        run(main(broker), world=broker.world)
