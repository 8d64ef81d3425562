"""Recordings: pcapng files that read back as what went over the connection, without the secrets."""

from __future__ import annotations

import asyncio
import gc
import io
import json
import logging
import ssl
import threading
from collections import defaultdict
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from amqp_sansio import AMQP_0_10, Version
from amqp_sansio.amqp_0_9_1.spec import QueueDeclare
from amqp_sansio.capture import (
    CaptureDamage,
    ConnectionEnd,
    ConnectionStart,
    Item,
    Reassembler,
    Segment,
    StreamData,
    read_segments,
)
from amqp_sansio_asyncio import BrokerServer, Recorder, connect, serve_broker
from amqp_sansio_asyncio.recording import STRANGER_OCTETS
from amqp_sansio_cli.main import main as cli
from tests.asyncio.test_broker_service import make_queue, pass_a_message
from tests.asyncio.test_servers import Accepting, accepts, each_version
from tests.asyncio.test_servers import serve as serving
from tests.kit.asyncio_broker import broker, until, url_of
from tests.kit.asyncio_loops import run_real as run
from tests.kit.certificates import make_certificates

if TYPE_CHECKING:
    from typing_extensions import Buffer

SECRET = "open sesame"


def items_of(octets: bytes) -> list[Item]:
    """What a recording has, flow by flow."""
    flows: dict[str, Reassembler] = {}
    items: list[Item] = []
    for segment in read_segments(octets):
        assert isinstance(segment, Segment), segment
        assert not isinstance(segment, CaptureDamage)
        items += flows.setdefault(segment.flow, Reassembler()).push(segment)
    for reassembler in flows.values():
        items += reassembler.finish()
    return items


def streams_of(octets: bytes) -> list[tuple[bytes, bytes, ConnectionEnd]]:
    """What each recorded connection's client and server sent, and how it ended."""
    data: dict[str, dict[str, bytes]] = defaultdict(lambda: defaultdict(bytes))
    clients: dict[str, str] = {}
    ends: dict[str, ConnectionEnd] = {}
    for item in items_of(octets):
        if isinstance(item, ConnectionStart):
            assert item.client is not None
            clients[item.connection] = item.client
        elif isinstance(item, StreamData):
            data[item.connection][item.sender] += item.data
        elif isinstance(item, ConnectionEnd):
            ends[item.connection] = item
    return [
        (data[name][client], b"".join([sent for sender, sent in data[name].items() if sender != client]), ends[name])
        for name, client in clients.items()
    ]


def test_a_client_records_what_it_sends_and_receives(tmp_path: Path) -> None:
    path = tmp_path / "session.pcapng"

    async def main() -> None:
        async with broker(authenticate={"guest": SECRET}) as (server, _):
            url = url_of(server, user="guest:open%20sesame@")
            async with connect(url, record=path) as connection:
                ch = await connection.open_channel(confirm=True)
                await ch.call(QueueDeclare(queue="jobs", durable=True))
                await ch.publish(bytes(300_000), routing_key="jobs")
                await ch.get("jobs", no_ack=True)

    run(main())
    ((client, server, end),) = streams_of(path.read_bytes())
    assert client.startswith(b"AMQP\0\0\x09\x01")
    assert SECRET.encode() not in client
    assert b"*" * (len(SECRET) + 7) in client
    assert len(client) > 300_000
    assert b"jobs" in client
    assert len(server) > 300_000
    assert end.how == "fin"
    assert end.complete


def test_secrets_only_when_asked_for(tmp_path: Path) -> None:
    file = io.BytesIO()

    async def main() -> None:
        async with broker(authenticate={"guest": SECRET}) as (server, _):
            url = url_of(server, user="guest:open%20sesame@")
            async with connect(url, record=file, record_secrets=True):
                pass

    run(main())
    ((client, _, _),) = streams_of(file.getvalue())
    assert b"\0guest\0open sesame" in client


def test_a_server_records_all_its_connections(tmp_path: Path) -> None:
    path = tmp_path / "server.pcapng"

    async def main() -> None:
        async with broker(record=path) as (server, _):
            async with connect(url_of(server)) as one, connect(url_of(server)) as two:
                await one.open_channel()
                await two.open_channel()
            reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
            writer.write(b"AMQP\0\1\0\0")
            assert await reader.read() == b"AMQP\0\0\x09\x01"
            writer.close()
            await until(lambda: not server.connections)

    run(main())
    streams = streams_of(path.read_bytes())
    assert len(streams) == 3
    for client, server, _ in streams[:2]:
        assert client.startswith(b"AMQP\0\0\x09\x01\x01")
        assert b"guest\0guest" not in client
        assert b"amqp_sansio" in server
    assert streams[2][:2] == (b"AMQP\0\1\0\0", b"AMQP\0\0\x09\x01")


def test_recordings_are_appended_to_and_shared(tmp_path: Path) -> None:
    path = tmp_path / "many.pcapng"

    async def main() -> None:
        async with broker() as (server, _):
            async with connect(url_of(server), record=str(path)):
                pass
            with Recorder(path) as recorder:
                for _ in range(2):
                    async with connect(url_of(server), record=recorder):
                        pass

    run(main())
    assert len(streams_of(path.read_bytes())) == 3


def test_what_is_inside_of_tls_is_recorded(tmp_path: Path) -> None:
    path = tmp_path / "tls.pcapng"
    certificates = make_certificates(tmp_path)

    async def main() -> None:
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(certificates.server, certificates.server_key)
        async with broker(ssl=context) as (server, _):
            url = f"amqps://localhost:{server.port}/?cacertfile={certificates.ca}"
            async with connect(url, record=path):
                pass

    run(main())
    ((client, server, _),) = streams_of(path.read_bytes())
    assert client.startswith(b"AMQP")
    assert server[:1] == b"\x01"


def test_a_lost_connection_ends_with_a_reset_or_fin(tmp_path: Path) -> None:
    path = tmp_path / "lost.pcapng"

    async def main() -> None:
        async def hang_up(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.readexactly(8)
            writer.transport.abort()

        listener = await asyncio.start_server(hang_up, "127.0.0.1", 0)
        async with listener:
            port = listener.sockets[0].getsockname()[1]
            with pytest.raises(Exception, match="hung up"):
                await connect(f"amqp://127.0.0.1:{port}", record=path)

    run(main())
    ((client, _, end),) = streams_of(path.read_bytes())
    assert client == b"AMQP\0\0\x09\x01"
    assert end.how in ("rst", "fin")


@pytest.mark.parametrize("by", ["client", "server"])
def test_a_broker_records_who_ended_a_connection_first(tmp_path: Path, by: str) -> None:
    path = tmp_path / "ended.pcapng"

    async def main() -> None:
        async with serve_broker(record=path) as server:
            reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
            # The broker hangs up on what isn't AMQP; the client leaves during the login.
            writer.write(b"AMQP\0\0\x09\x01" if by == "client" else b"GET / HTTP/1.1\r\n\r\n")
            await reader.readexactly(8)
            if by == "server":
                await reader.read()
            writer.close()
            await writer.wait_closed()
            # Whoever is answered came behind that end.
            async with connect(server.url):
                pass

    run(main())
    items = items_of(path.read_bytes())
    start = items[0]
    assert isinstance(start, ConnectionStart)
    (end,) = [each for each in items if isinstance(each, ConnectionEnd) and each.connection == start.connection]
    assert end.by is not None and end.by == (start.client if by == "client" else start.server)


def test_a_connection_that_does_not_come_about_closes_its_file(tmp_path: Path) -> None:
    async def main() -> None:
        with pytest.raises(OSError, match=r"refused|Connect call failed"):
            await connect("amqp://127.0.0.1:1", record=tmp_path / "none.pcapng")

    run(main())
    assert streams_of((tmp_path / "none.pcapng").read_bytes()) == []


def test_a_full_disk_ends_the_recording_and_not_the_connection(caplog: pytest.LogCaptureFixture) -> None:
    full = Path("/dev/full")
    if not full.exists():
        pytest.skip("there is no /dev/full here")

    async def main() -> None:
        async with broker() as (server, _), connect(url_of(server), record=full) as connection:
            ch = await connection.open_channel()
            await ch.publish(bytes(100_000), routing_key="q")
            assert (await ch.call(QueueDeclare(queue="q", durable=True))).queue == "q"

    with caplog.at_level(logging.ERROR, "amqp_sansio_asyncio"):
        run(main())
    assert "the recording ends here" in caplog.text


def test_a_file_that_can_not_be_opened(tmp_path: Path) -> None:
    async def main() -> None:
        with pytest.raises(IsADirectoryError):
            await connect("amqp://localhost", record=tmp_path)

    run(main())


async def flood(broker: BrokerServer, first: bytes, more: bytes) -> None:
    """Send `first`, and a million octets of `more` as long as anybody reads them."""
    reader, writer = await asyncio.open_connection("127.0.0.1", broker.port)
    writer.write(first)
    await reader.read(1)
    with suppress(OSError):
        for _ in range(16):
            writer.write(more * (65_536 // len(more)))
            await writer.drain()
            await asyncio.sleep(0)
    writer.close()
    with suppress(OSError):
        await writer.wait_closed()
    await until(lambda: not broker.connections)


@pytest.mark.parametrize(
    ("first", "more", "most"),
    [
        (b"AMQP\0\0\x09\x01" + b"\xff" * 8, b"\0\0\0", 0),
        (b"GET / HTTP/1.1", b"x", 0),
        (b"AMQP\0\0\x09\x01", b"\x08\0\0\0\0\0\0\xce", STRANGER_OCTETS),
    ],
    ids=["refused", "no AMQP", "heartbeats"],
)
def test_little_is_recorded_of_a_client_that_is_not_logged_in(first: bytes, more: bytes, most: int) -> None:
    file = io.BytesIO()

    async def main() -> None:
        async with serve_broker(record=file) as broker:
            await flood(broker, first, more)
            async with connect(broker.url) as connection:
                await (await connection.open_channel()).call(QueueDeclare(queue="jobs", durable=True))
        # The broker may read the flood late, so only the whole has a bound: a stranger's octets, and one connection's.
        assert len(file.getvalue()) < most + 12_288

    run(main())
    flooded, client = streams_of(file.getvalue())
    assert len(flooded[0]) <= max(most, len(first))
    assert b"jobs" in client[0]


def test_a_client_that_logs_in_late_enough_is_recorded_no_more(caplog: pytest.LogCaptureFixture) -> None:
    file = io.BytesIO()
    with Recorder(file, record_secrets=True) as recorder:
        connection = recorder.open(("127.0.0.1", 40000), ("127.0.0.1", 5672))
        with caplog.at_level(logging.INFO, "amqp_sansio_asyncio"):
            connection.client_sent(b"a" * STRANGER_OCTETS, is_known=False)
            assert not caplog.records
            connection.client_sent(b"bc", is_known=False)
        connection.server_sent(b"d")
        connection.client_sent(b"password")
        connection.close("client")
    assert "40000" in caplog.text
    ((client, server, end),) = streams_of(file.getvalue())
    assert (client, server, end.how) == (b"a" * STRANGER_OCTETS, b"", "end-of-capture")


class SlowFile(io.BytesIO):
    """A file on a disk that takes nothing until `go` is set."""

    def __init__(self) -> None:
        super().__init__()
        self.go = threading.Event()

    def write(self, data: Buffer) -> int:
        assert self.go.wait(30)
        return super().write(data)


def test_a_disk_that_stalls_holds_up_no_connection() -> None:
    file = SlowFile()

    async def main() -> None:
        async with serve_broker(record=file) as broker:
            async with connect(broker.url) as connection:
                ch = await connection.open_channel(confirm=True)
                await ch.call(QueueDeclare(queue="jobs", durable=True))
                await ch.publish(b"while nothing can be written", routing_key="jobs")
            assert not file.getvalue()
            file.go.set()

    run(main())
    ((client, _, end),) = streams_of(file.getvalue())
    assert b"while nothing can be written" in client
    assert end.how == "fin"


def test_a_recording_waits_for_the_disk_when_much_is_to_be_written(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("amqp_sansio_asyncio.recording.UNWRITTEN", 1000)
    file = SlowFile()
    with Recorder(file) as recorder:
        connection = recorder.open(("127.0.0.1", 40000), ("127.0.0.1", 5672))
        connection.server_sent(b"a" * 400)
        timer = threading.Timer(0.1, file.go.set)
        timer.start()
        connection.server_sent(b"b" * 400)
        assert file.go.is_set()
        connection.close("server")
    timer.join()
    ((_, server, _),) = streams_of(file.getvalue())
    assert server == b"a" * 400 + b"b" * 400


def test_a_recorder_that_nobody_closes_writes_what_it_has(tmp_path: Path) -> None:
    path = tmp_path / "left.pcapng"
    recorder = Recorder(path)
    recorder.open(("127.0.0.1", 40000), ("127.0.0.1", 5672)).server_sent(b"the last words")
    del recorder
    gc.collect()
    ((_, server, _),) = streams_of(path.read_bytes())
    assert server == b"the last words"


def test_a_port_in_use(tmp_path: Path) -> None:
    async def main() -> None:
        async with serve_broker() as taken:
            with pytest.raises(OSError, match="in use"):
                await serve_broker(port=taken.port, record=tmp_path / "r.pcapng")

    run(main())


def test_a_recording_of_every_version(tmp_path: Path) -> None:
    path = tmp_path / "recorded.pcapng"

    async def main() -> None:
        async with serve_broker(record=path) as broker:
            await make_queue(broker)
            for version in Version:
                await pass_a_message(broker.url, version)

    run(main())
    segments = list(read_segments(path.read_bytes(), file=path.name))
    assert len(segments) > 50
    assert b"guest\0guest" not in path.read_bytes()


@each_version
def test_recordings_are_replayed_and_hold_no_secrets(
    version: Version, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    mine, theirs = tmp_path / "client", tmp_path / "server"

    async def main() -> None:
        users = {"guest": "open sesame"}
        async with serving(Accepting().handle, version=version, authenticate=users, record=theirs) as server:
            url = url_of(server, user="guest:open%20sesame@")
            async with connect(url, version=version, record=mine) as client:
                assert await accepts(client, version, b"the message")

    run(main())
    for path in (mine, theirs):
        for client, _, end in streams_of(path.read_bytes()):
            assert client.startswith(b"AMQP\1\1\0\x0a" if version is AMQP_0_10 else b"AMQP\3\1\0\0")
            assert b"open sesame" not in client
            assert b"the message" in client
            assert end.how == "fin"
        assert cli(["lint", str(path)]) == 0
        capsys.readouterr()
        assert cli(["replay", str(path), "--table", "messages"]) == 0
        (row,) = [json.loads(each) for each in capsys.readouterr().out.splitlines()]
        assert (row["protocol"], row["kind"], row["outcome"]) == (version.label, "publish", "accepted")
