"""The server's side: what a handler sees, who may come in, and how it ends."""

from __future__ import annotations

import asyncio
import logging
from typing import Any, cast

import pytest

from amqp_sansio import (
    AMQP_0_8,
    AMQP_0_9_1,
    AMQP_0_10,
    AMQP_1_0,
    By,
    CloseReport,
    EndpointClosed,
    LinkEnded,
    SessionEnded,
)
from amqp_sansio.amqp_0_9_1 import Config, Published, Request
from amqp_sansio.amqp_0_9_1.spec import BasicPublish, QueueDeclare, QueueDeclareOk
from amqp_sansio.amqp_1_0 import Config as Config10
from amqp_sansio.events import Closed, Event, Opened
from amqp_sansio.limits import Limits
from amqp_sansio_asyncio import ServerConnection, connect, serve
from tests.kit.asyncio_broker import broker, driver_of, until, url_of
from tests.kit.asyncio_loops import run


async def ignore(connection: ServerConnection) -> None:
    """Take every event and answer none."""
    async for _ in connection:
        pass


def test_a_handler_gets_events_in_order_and_closed_last() -> None:
    async def main() -> None:
        events: list[Event] = []
        seen: list[ServerConnection] = []

        async def handle(connection: ServerConnection) -> None:
            seen.append(connection)
            assert connection.is_open
            assert connection.user == "guest"
            assert connection.vhost == "/"
            assert isinstance(connection.peername, tuple)
            assert connection.peer_certificate is None
            assert connection.peer_properties["product"] == "amqp_sansio"
            async for event in connection:
                events.append(event)
                if isinstance(event, Request):
                    connection.channel(event.channel).reply(QueueDeclareOk("q", 1, 2))

        async with serve(handle) as server:
            async with connect(url_of(server)) as connection:
                ch = await connection.open_channel()
                assert await ch.call(QueueDeclare(queue="q")) == QueueDeclareOk("q", 1, 2)
                await ch.publish(b"x")
            await until(lambda: not server.connections)
        assert [type(event).__name__ for event in events] == ["Opened", "Request", "Published", "Closed", "Closed"]
        assert isinstance(events[0], Opened)
        last = events[-1]
        assert isinstance(last, Closed)
        assert last.channel == 0
        assert seen[0].report == last.report
        assert not seen[0].is_open
        assert "closed" in repr(seen[0])

    run(main())


def test_a_handler_that_returns_closes_the_connection() -> None:
    async def main() -> None:
        async def handle(connection: ServerConnection) -> None:
            await anext(connection)

        async with serve(handle) as server:
            connection = await connect(url_of(server))
            with pytest.raises(EndpointClosed):
                ch = await connection.open_channel()
                await ch.call(QueueDeclare(queue="q"))
            assert (await connection.wait_closed()).code == 320

    run(main())


def test_closing_the_server_says_goodbye_with_320() -> None:
    async def main() -> None:
        finished: list[bool] = []

        async def handle(connection: ServerConnection) -> None:
            await ignore(connection)
            finished.append(True)

        server = await serve(handle)
        port = server.port
        connections = [await connect(url_of(server)) for _ in range(3)]
        waiting = [asyncio.ensure_future(each.wait_closed()) for each in connections]
        assert server.connections == 3
        await server.close()
        for task in waiting:
            assert (await task).code == 320
        assert finished == [True] * 3
        assert server.connections == 0
        assert server.sockets == ()
        with pytest.raises(RuntimeError, match="closed"):
            assert server.port
        await server.close()
        await server.serve_forever()
        with pytest.raises(OSError, match=r"refused|Connect call failed"):
            await connect(f"amqp://127.0.0.1:{port}")

    run(main())


def test_a_handler_that_does_not_end_is_cancelled() -> None:
    async def main() -> None:
        ended: list[str] = []

        async def stubborn(connection: ServerConnection) -> None:
            try:
                await asyncio.get_running_loop().create_future()
            except asyncio.CancelledError:
                ended.append("cancelled")
                raise

        server = await serve(stubborn)
        connection = await connect(url_of(server))
        await server.close(timeout=0.05)
        assert ended == ["cancelled"]
        assert (await connection.wait_closed()).code == 320

    run(main())


def test_the_server_closes_when_a_client_never_answers() -> None:
    async def main() -> None:
        config = Config(close_timeout=2.0)
        async with broker(config=config) as (server, _):
            reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
            from amqp_sansio.amqp_0_9_1 import Connection
            from amqp_sansio.sasl import Plain

            core = Connection.client(Config(sasl=Plain("guest", "guest")))
            while not core.is_open:
                core.next_event()
                writer.write(core.data_to_send(0.0))
                if not core.is_open:
                    core.receive_data(await reader.read(4096), 0.0)
                    while not core.is_open and type(core.next_event()).__name__ != "Signal":
                        pass
            await server.close()
            assert b"CONNECTION_FORCED" in await reader.read()
            writer.close()

    run(main())


def test_a_client_that_says_nothing_or_rubbish_is_dropped() -> None:
    async def main() -> None:
        async with broker(config=Config(handshake_timeout=2.0)) as (server, _):
            for octets in (b"", b"AMQP", b"AMQP\0\0\x09\x01", b"GET / HTTP/1.1\r\n\r\n"):
                reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
                writer.write(octets)
                answer = await reader.read()
                if octets[:1] == b"G":
                    assert answer == b"AMQP\0\0\x09\x01"
                writer.close()
            await until(lambda: not server.connections, 30)

    run(main())


def test_versions_and_what_is_offered_instead() -> None:
    async def main() -> None:
        configs = {AMQP_0_8: Config(), AMQP_0_9_1: Config()}
        async with broker(configs=configs) as (server, _):
            for version in (AMQP_0_8, AMQP_0_9_1):
                async with connect(url_of(server), version=version) as connection:
                    assert connection.core.dialect.version is version
            for asked, offered in ((b"AMQP\0\1\0\0", b"AMQP\x00\x00\x09\x01"), (b"GOT ", b"AMQP\x01\x01\x08\x00")):
                reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
                for octet in asked:
                    writer.write(bytes((octet,)))
                    await asyncio.sleep(0)
                assert await reader.read() == offered
                writer.close()

    run(main())


def test_any_virtual_host() -> None:
    async def main() -> None:
        async with broker(vhosts=None) as (server, _), connect(url_of(server, "/any")) as one:
            assert one.is_open

    run(main())


def test_what_can_not_be_meant() -> None:
    with pytest.raises(ValueError, match="not both"):
        serve(ignore, config=Config(), configs={AMQP_0_9_1: Config()})
    with pytest.raises(ValueError, match="at least one"):
        serve(ignore, configs={})


def test_a_port_that_is_taken() -> None:
    async def main() -> None:
        async with serve(ignore) as server:
            with pytest.raises(OSError, match="in use"):
                await serve(ignore, port=server.port)

    run(main())


def test_one_iterator_at_a_time() -> None:
    async def main() -> None:
        refused: list[RuntimeError] = []

        async def handle(connection: ServerConnection) -> None:
            await anext(connection)
            first = asyncio.ensure_future(anext(connection))
            await asyncio.sleep(0)
            try:
                await anext(connection)
            except RuntimeError as error:
                refused.append(error)
            first.cancel()
            await asyncio.wait([first])
            await ignore(connection)

        async with serve(handle) as server, connect(url_of(server)) as connection:
            await connection.open_channel()
            await until(lambda: refused)
            assert "two tasks" in str(refused[0])

    run(main())


def test_what_is_not_taken_stays_unread() -> None:
    """A handler that is busy: the client's publishes fill the core's buffer, then the sockets."""

    async def main() -> None:
        limits = Limits(unparsed=64 * 1024)
        busy = asyncio.Event()
        held: list[int] = []
        counted = 0

        async def handle(connection: ServerConnection) -> None:
            nonlocal counted
            driver = driver_of(connection)
            await anext(connection)
            await until(lambda: driver.reading_paused)
            held.append(connection.core.receive_budget)
            busy.set()
            async for event in connection:
                counted += isinstance(event, Published)

        async with serve(handle, config=Config(limits=limits)) as server, connect(url_of(server)) as connection:
            ch = await connection.open_channel()
            for _ in range(1000):
                await ch.publish(bytes(1000))
            await busy.wait()
            assert held == [0]
            await until(lambda: counted == 1000)

    run(main())


def test_a_handler_that_waits_for_the_end() -> None:
    async def main() -> None:
        reports: list[CloseReport] = []

        async def handle(connection: ServerConnection) -> None:
            reports.append(await connection.wait_closed())

        async with serve(handle) as server:
            connection = await connect(url_of(server), close_timeout=0.05)
            await connection.close()
            await until(lambda: reports)
        assert reports[0].by in (By.REMOTE, By.TRANSPORT)

    run(main())


def test_other_connections_get_their_turn_while_one_floods() -> None:
    async def main() -> None:
        async def handle(connection: ServerConnection) -> None:
            async for event in connection:
                if isinstance(event, Request):
                    connection.channel(event.channel).reply(QueueDeclareOk("q", 0, 0))

        async with serve(handle) as server, connect(url_of(server)) as flooding, connect(url_of(server)) as other:
            one, two = await flooding.open_channel(), await other.open_channel()

            async def flood() -> None:
                for _ in range(20_000):
                    await one.publish(b"x")
                await one.call(QueueDeclare(queue="q"))

            task = asyncio.ensure_future(flood())
            calls = 0
            while not task.done():
                await two.call(QueueDeclare(queue="q"))
                calls += 1
            assert calls > 10

    run(main())


def test_an_answer_to_a_client_that_has_left_is_no_error(caplog: pytest.LogCaptureFixture) -> None:
    async def main() -> None:
        async def handle(connection: ServerConnection) -> None:
            async for event in connection:
                if isinstance(event, Request):
                    await asyncio.sleep(0.05)
                    connection.channel(event.channel).reply(QueueDeclareOk("q", 0, 0))

        async with serve(handle) as server:
            connection = await connect(url_of(server), close_timeout=0.01)
            ch = await connection.open_channel()
            call = asyncio.ensure_future(ch.call(QueueDeclare(queue="q")))
            await asyncio.sleep(0.01)
            await connection.close()
            with pytest.raises(EndpointClosed):
                await call
            await until(lambda: not server.connections)

    with caplog.at_level(logging.ERROR, "amqp_sansio_asyncio"):
        run(main())
    assert caplog.text == ""


def test_the_handlers_connection_sends_and_replies() -> None:
    """A method of the connection goes out at once; another side's method is refused."""

    async def main() -> None:
        async def handle(connection: ServerConnection) -> None:
            await anext(connection)
            with pytest.raises(Exception, match="not for the server to send"):
                connection.channel(1).send(BasicPublish())
            await ignore(connection)

        async with serve(handle) as server, connect(url_of(server)) as connection:
            ch = await connection.open_channel()
            assert ch.is_open

    run(main())


# Requests that a handler doesn't answer.


def test_a_request_that_the_handler_passes_over_ends_the_connection_with_540(caplog: pytest.LogCaptureFixture) -> None:
    events: list[Event] = []

    async def handle(connection: ServerConnection) -> None:
        async for event in connection:
            events.append(event)

    async def main() -> None:
        async with serve(handle) as server, connect(url_of(server)) as connection:
            ch = await connection.open_channel()
            with pytest.raises(EndpointClosed, match="540 NOT_IMPLEMENTED"):
                await ch.call(QueueDeclare(queue="q"))
            report = await connection.wait_closed()
            assert (report.code, report.class_id, report.method_id) == (540, 50, 10)

    run(main())
    assert isinstance(events[-1], Closed)
    assert caplog.text.count("queue.declare on channel 1 isn't answered by the handler") == 1


def test_a_handler_may_answer_with_a_close_of_the_channel() -> None:
    async def handle(connection: ServerConnection) -> None:
        async for event in connection:
            if isinstance(event, Request):
                connection.channel(event.channel).close(404, "NOT_FOUND - no queue", event.method)

    async def main() -> None:
        async with serve(handle) as server, connect(url_of(server)) as connection:
            for _ in range(2):
                ch = await connection.open_channel()
                with pytest.raises(EndpointClosed, match="404"):
                    await ch.call(QueueDeclare(queue="q"))
            assert connection.is_open

    run(main())


def test_a_handler_may_answer_later() -> None:
    async def handle(connection: ServerConnection) -> None:
        asked: list[Request] = []
        async for event in connection:
            if isinstance(event, Request):
                connection.later(event)
                asked.append(event)
            elif isinstance(event, Published):
                for each in asked:
                    connection.channel(each.channel).reply(QueueDeclareOk("q", 0, 0))

    async def main() -> None:
        async with serve(handle) as server, connect(url_of(server)) as connection:
            ch = await connection.open_channel()
            calls = [asyncio.ensure_future(ch.call(QueueDeclare(queue="q"))) for _ in range(2)]
            await asyncio.sleep(0)
            await ch.publish(b"now")
            assert await asyncio.gather(*calls) == [QueueDeclareOk("q", 0, 0)] * 2

    run(main())


@pytest.mark.parametrize("version", [AMQP_0_10, AMQP_1_0], ids=lambda version: version.label)
def test_a_request_of_the_other_versions_is_refused_too(version: Any, caplog: pytest.LogCaptureFixture) -> None:
    from amqp_sansio.amqp_0_10 import SessionRequested as SessionOf010
    from amqp_sansio.amqp_1_0 import SessionRequested as SessionOf10

    async def handle(connection: Any) -> None:
        async for event in connection:
            if isinstance(event, SessionOf010):
                await connection.accept_session(event)
            elif isinstance(event, SessionOf10):
                connection.session(event.channel).accept()

    async def main() -> None:
        async with serve(handle, version=version) as server:
            opening = cast("Any", connect)(url_of(server), version=version)
            async with await opening as connection:
                session = await connection.open_session()
                with pytest.raises((SessionEnded, LinkEnded, EndpointClosed), match="this server has no answer to"):
                    if version is AMQP_1_0:
                        await session.open_sender("q")
                    else:
                        await session.declare_queue("q")

    run(main())
    assert "isn't answered by the handler" in caplog.text


@pytest.mark.parametrize("configs", [{}, {"configs": {AMQP_1_0: Config10()}}], ids=["default", "configured"])
def test_users_log_in_to_1_0_whatever_its_configuration_says_of_the_rest(configs: dict[str, Any]) -> None:
    async def handle(connection: Any) -> None:
        async for _ in connection:
            pass

    async def main() -> None:
        options = configs or {"version": AMQP_1_0}
        async with serve(handle, authenticate={"ann": "pw"}, **options) as server:
            async with connect(url_of(server, user="ann:pw@"), version=AMQP_1_0) as connection:
                assert connection.is_open
            for user in ("ann:wrong@", ""):
                with pytest.raises(EndpointClosed):
                    await connect(url_of(server, user=user), version=AMQP_1_0)

    run(main())
