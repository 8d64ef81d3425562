"""What the test suites of other projects' clients found out about how the broker's transports end."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from amqp_sansio import (
    AMQP_0_8,
    AMQP_0_9_1,
    AMQP_0_10,
    AMQP_1_0,
    CloseHint,
    Limits,
    Signal,
    Version,
    amqp_0_8,
    amqp_0_10,
    amqp_1_0,
)
from amqp_sansio.amqp_0_9_1 import Config, Connection
from amqp_sansio.broker import Settings
from amqp_sansio.events import By, CloseReport
from amqp_sansio.sasl import Plain
from amqp_sansio_asyncio import serve_broker
from tests.kit.asyncio_broker import until
from tests.kit.asyncio_loops import run

HEARTBEAT = b"\x08\x00\x00\x00\x00\x00\x00\xce"
AFTER_THE_CLOSE = HEARTBEAT * 500_000
"""More than the buffers of two sockets hold."""


async def carry(core: Any, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
    """Send what there is and read once; whether there was anything."""
    now = asyncio.get_running_loop().time()
    writer.write(core.data_to_send(now))
    data = await asyncio.wait_for(reader.read(65_536), 10)
    if data:
        core.receive_data(data, now)
    else:
        core.receive_eof(now)
    while not isinstance(core.next_event(), Signal):
        pass
    return bool(data)


def test_a_client_that_goes_on_after_its_close_reads_the_close_ok() -> None:
    """amqplib does: its close overtakes what is queued on channels."""

    async def main() -> CloseReport | None:
        async with serve_broker() as broker:
            reader, writer = await asyncio.open_connection(broker.host, broker.port)
            core = Connection.client(Config(sasl=Plain("guest", "guest")))
            while not core.is_open:
                assert await carry(core, reader, writer)
            core.close()
            writer.write(core.data_to_send(asyncio.get_running_loop().time()))
            writer.write(AFTER_THE_CLOSE)
            await asyncio.wait_for(writer.drain(), 10)
            while await carry(core, reader, writer):
                pass
            writer.close()
            await writer.wait_closed()
            await until(lambda: not broker.connections)
            return core.report

    report = run(main())
    assert report is not None and report.by is By.LOCAL and "without close-ok" not in report.hint


def test_who_never_hangs_up_is_hung_up_on() -> None:
    async def main() -> None:
        settings = Settings(configs={AMQP_0_9_1: Config(close_timeout=0.2)})
        async with serve_broker(settings) as broker:
            reader, writer = await asyncio.open_connection(broker.host, broker.port)
            core = Connection.client(Config(sasl=Plain("guest", "guest")))
            while not core.is_open:
                assert await carry(core, reader, writer)
            core.close()
            while await carry(core, reader, writer):
                pass
            assert core.report is not None
            await until(lambda: not broker.connections)
            writer.close()

    run(main())


def test_who_asked_for_the_end_hangs_up_first() -> None:
    """amqp091-go takes an end of the stream that comes with the close-ok for a lost connection."""

    async def main() -> None:
        async with serve_broker() as broker:
            reader, writer = await asyncio.open_connection(broker.host, broker.port)
            core = Connection.client(Config(sasl=Plain("guest", "guest")))
            while not core.is_open:
                assert await carry(core, reader, writer)
            core.close()
            while core.close_hint is CloseHint.KEEP:
                assert await carry(core, reader, writer)
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(reader.read(), 0.3)
            assert broker.connections == 1
            writer.close()
            await writer.wait_closed()
            await until(lambda: not broker.connections)

    run(main())


CORES: dict[Version, tuple[Any, Any]] = {
    AMQP_0_8: (amqp_0_8.Connection, amqp_0_8.Config),
    AMQP_0_9_1: (Connection, Config),
    AMQP_0_10: (amqp_0_10.Connection, amqp_0_10.Config),
    AMQP_1_0: (amqp_1_0.Connection, amqp_1_0.Config),
}


@pytest.mark.parametrize("version", CORES, ids=str)
def test_who_sends_on_behind_its_close_is_read_for_one_message(version: Version) -> None:
    """However fast: the server waits for the client's end of the transport for `close_timeout` seconds."""
    connection, config = CORES[version]

    async def main() -> None:
        limits = Limits(message=1_000_000)
        settings = Settings(connection_limits=limits)
        async with serve_broker(settings) as broker:
            reader, writer = await asyncio.open_connection(broker.host, broker.port)
            core = connection.client(config(sasl=Plain("guest", "guest")))
            while not core.is_open:
                assert await carry(core, reader, writer)
            core.close()
            while core.close_hint is CloseHint.KEEP:
                assert await carry(core, reader, writer)
            sent = 0
            with pytest.raises(ConnectionError):
                while sent < 100_000_000:
                    writer.write(bytes(50_000))
                    await asyncio.wait_for(writer.drain(), 10)
                    sent += 50_000
            assert sent >= limits.message // 2
            await until(lambda: not broker.connections)
            writer.close()

    run(main())
