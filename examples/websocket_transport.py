"""AMQP over WebSocket (RFC 6455): a custom transport for the asyncio client, as an example of one.

A URL `amqp+ws://HOST/PATH` needs none of it: with the extra `websocket` both clients and the servers speak it.

`connector` is for `connect(url, connector=...)`; `relay` is the other end, a WebSocket server in front of a broker. Run
it with `python examples/websocket_transport.py [HOST [PORT]]` next to a broker: it starts the relay, connects through
it, and sends itself a message.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import os
import sys
from collections.abc import Awaitable, Callable

from amqp_sansio.amqp_0_9_1.spec import QueueDeclare
from amqp_sansio_asyncio import connect

BINARY, CLOSE, PING, PONG = 2, 8, 9, 10
HIGH_WATER = 64 * 1024
MAX_FRAME = 16 * 1024 * 1024
_GUID = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"


def frame(kind: int, data: bytes, mask: bytes = b"") -> bytes:
    """Return one whole frame (section 5.2); a client's is masked."""
    size = len(data)
    flag = 0x80 if mask else 0
    if size < 126:
        head = bytes((0x80 | kind, flag | size))
    elif size < 65536:
        head = bytes((0x80 | kind, flag | 126)) + size.to_bytes(2)
    else:
        head = bytes((0x80 | kind, flag | 127)) + size.to_bytes(8)
    return head + mask + (masked(data, mask) if mask else data)


def masked(data: bytes, mask: bytes) -> bytes:
    """Apply the mask to octets (section 5.3); applying it twice restores them."""
    key = (mask * (len(data) // 4 + 1))[: len(data)]
    return (int.from_bytes(data) ^ int.from_bytes(key)).to_bytes(len(data))


async def read_frame(reader: asyncio.StreamReader) -> tuple[int, bytes]:
    """Return the next frame's kind and octets. Raises IncompleteReadError at the end."""
    first, second = await reader.readexactly(2)
    size = second & 0x7F
    if size > 125:
        size = int.from_bytes(await reader.readexactly(2 if size == 126 else 8))
    if size > MAX_FRAME:
        raise ConnectionError(f"a WebSocket frame of {size} octets")
    mask = await reader.readexactly(4) if second & 0x80 else b""
    data = await reader.readexactly(size)
    return first & 0x0F, masked(data, mask) if mask else data


def accept_key(key: bytes) -> bytes:
    """Return a server's answer to a client's key (section 4.2.2)."""
    return base64.b64encode(hashlib.sha1(key + _GUID).digest())


class WebSocketTransport(asyncio.Transport):
    """An asyncio transport whose octets travel in binary frames."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, protocol: asyncio.Protocol) -> None:
        super().__init__()
        self._reader = reader
        self._writer = writer
        self._protocol = protocol
        self._may_read = asyncio.Event()
        self._may_read.set()
        self._draining: asyncio.Task[None] | None = None
        self._closing = False
        protocol.connection_made(self)
        self._task = asyncio.create_task(self._run())

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self._writer.write(frame(BINARY, bytes(data), os.urandom(4)))
        if self._draining is None and self._writer.transport.get_write_buffer_size() > HIGH_WATER:
            self._protocol.pause_writing()
            self._draining = asyncio.create_task(self._drain())

    def close(self) -> None:
        if not self._closing:
            self._closing = True
            self._writer.write(frame(CLOSE, b"", os.urandom(4)))
            self._writer.close()

    def abort(self) -> None:
        self._closing = True
        self._writer.transport.abort()

    def is_closing(self) -> bool:
        return self._closing

    def pause_reading(self) -> None:
        self._may_read.clear()

    def resume_reading(self) -> None:
        self._may_read.set()

    def get_extra_info(self, name: str, default: object = None) -> object:
        return self._writer.get_extra_info(name, default)

    async def _run(self) -> None:
        error: Exception | None = None
        try:
            while True:
                kind, data = await read_frame(self._reader)
                await self._may_read.wait()
                if kind == CLOSE:
                    break
                if kind == PING:
                    self._writer.write(frame(PONG, data, os.urandom(4)))
                elif kind != PONG and data:
                    self._protocol.data_received(data)
        except asyncio.IncompleteReadError:
            pass
        except Exception as caught:
            error = caught
        if not self._closing:
            self._protocol.eof_received()
            self.close()
        self._protocol.connection_lost(error)

    async def _drain(self) -> None:
        try:
            await self._writer.drain()
        except ConnectionError:
            return  # The reading side reports it.
        self._draining = None
        self._protocol.resume_writing()


def connector(host: str, port: int, path: str = "/") -> Callable[[Callable[[], asyncio.Protocol]], Awaitable[None]]:
    """Return a connector for `connect(url, connector=...)` that opens a WebSocket to `host`, `port`."""

    async def open_websocket(factory: Callable[[], asyncio.Protocol]) -> None:
        reader, writer = await asyncio.open_connection(host, port)
        key = base64.b64encode(os.urandom(16))
        lines = [
            f"GET {path} HTTP/1.1",
            f"Host: {host}:{port}",
            "Upgrade: websocket",
            "Connection: Upgrade",
            f"Sec-WebSocket-Key: {key.decode()}",
            "Sec-WebSocket-Version: 13",
            "Sec-WebSocket-Protocol: amqp",
        ]
        writer.write("\r\n".join([*lines, "", ""]).encode())
        try:
            answer = await reader.readuntil(b"\r\n\r\n")
        except asyncio.IncompleteReadError as error:
            answer = error.partial
        if not answer.startswith(b"HTTP/1.1 101") or accept_key(key) not in answer:
            writer.close()
            raise ConnectionError(f"no WebSocket at {host}:{port}{path}: {answer[:60]!r}")
        WebSocketTransport(reader, writer, factory())

    return open_websocket


async def relay(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, host: str, port: int) -> None:
    """Serve one WebSocket: forward it to the broker at `host`, `port`."""
    request = await reader.readuntil(b"\r\n\r\n")
    fields = dict(line.split(b": ", 1) for line in request.split(b"\r\n") if b": " in line)
    lines = [
        b"HTTP/1.1 101 Switching Protocols",
        b"Upgrade: websocket",
        b"Connection: Upgrade",
        b"Sec-WebSocket-Accept: " + accept_key(fields[b"Sec-WebSocket-Key"]),
        b"Sec-WebSocket-Protocol: amqp",
    ]
    writer.write(b"\r\n".join([*lines, b"", b""]))
    up_reader, up_writer = await asyncio.open_connection(host, port)

    async def downwards() -> None:
        while data := await up_reader.read(HIGH_WATER):
            writer.write(frame(BINARY, data))
            await writer.drain()
        writer.write(frame(CLOSE, b""))
        writer.close()

    async def upwards() -> None:
        try:
            while (received := await read_frame(reader))[0] != CLOSE:
                up_writer.write(received[1])
                await up_writer.drain()
        except asyncio.IncompleteReadError:
            pass
        finally:
            up_writer.close()

    await asyncio.gather(downwards(), upwards())


async def main(host: str = "localhost", port: int = 5672) -> bytes:
    """Send a message through a relay, and fetch it."""
    relayed = asyncio.Event()

    async def serve_one(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await relay(reader, writer, host, port)
        relayed.set()

    async with await asyncio.start_server(serve_one, "127.0.0.1", 0) as server:
        through = connector("127.0.0.1", server.sockets[0].getsockname()[1])
        async with connect("amqp://guest:guest@localhost", connector=through) as connection:
            channel = await connection.open_channel(confirm=True)
            queue = (await channel.call(QueueDeclare(exclusive=True))).queue
            await channel.publish(b"through a WebSocket", routing_key=queue)
            delivery = await channel.get(queue, no_ack=True)
        await relayed.wait()
    assert delivery is not None
    print(delivery.body.decode())
    return delivery.body


if __name__ == "__main__":
    name = sys.argv[1] if sys.argv[1:] else "localhost"
    asyncio.run(main(name, int(sys.argv[2]) if sys.argv[2:] else 5672))
