"""A proxy that records all octets, as a pcapng file that Wireshark opens.

Run it with `python examples/recording_proxy.py LISTEN_PORT UPSTREAM_HOST:PORT FILE.pcapng` and point clients at it.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from pathlib import Path

from amqp_sansio_asyncio import RecordedConnection, Recorder, on_stop

READ_SIZE = 65536


class Proxy:
    """Forwards each connection to `host`, `port`, and records both directions."""

    def __init__(self, recorder: Recorder, host: str, port: int) -> None:
        self.recorder = recorder
        self.host = host
        self.port = port

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Forward one connection; a callback for `asyncio.start_server`."""
        client, server = writer.get_extra_info("peername"), writer.get_extra_info("sockname")
        record = self.recorder.open(client, server)
        try:
            up_reader, up_writer = await asyncio.open_connection(self.host, self.port)
        except OSError as error:
            print(f"no connection to {self.host}:{self.port}: {error}", file=sys.stderr)
            record.close("server", reset=True)
            writer.close()
            return
        first: list[str] = []
        await asyncio.gather(
            forward(reader, up_writer, record.client_sent, lambda: first.append("client")),
            forward(up_reader, writer, record.server_sent, lambda: first.append("server")),
        )
        close(record, first[0])


async def forward(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, note: Callable[[bytes], None], ended: Callable[[], None]
) -> None:
    """Copy one direction until its end, at the receiver's pace."""
    try:
        while data := await reader.read(READ_SIZE):
            note(data)
            writer.write(data)
            await writer.drain()
    except ConnectionError:
        pass  # A reset ends a direction just as an end of the stream does.
    finally:
        ended()
        writer.close()


def close(record: RecordedConnection, by: str) -> None:
    """Record which side closed first."""
    record.close("client" if by == "client" else "server")


async def main(listen_port: int, upstream: str, path: Path) -> None:
    """Serve until the program is told to stop; open connections end with it."""
    host, _, port = upstream.rpartition(":")
    with Recorder(path) as recorder:
        proxy = Proxy(recorder, host, int(port))
        server = await asyncio.start_server(proxy.handle, "127.0.0.1", listen_port)
        print(f"listening on 127.0.0.1:{server.sockets[0].getsockname()[1]}", flush=True)
        stop = asyncio.Event()
        with on_stop(stop.set):
            await stop.wait()
        server.close()
    print("recorded", path)


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]), sys.argv[2], Path(sys.argv[3])))
