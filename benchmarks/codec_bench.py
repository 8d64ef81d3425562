"""Decoding and encoding 0-9-1 through the whole engine, against pika's codec and py-amqp's tables.

pika runs at its best: the caller finds the frame boundaries and passes exact slices. Ours is the engine with its
events, state and limits; nothing is disabled.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from struct import Struct
from typing import Any

import amqp.serialization  # pyright: ignore[reportMissingTypeStubs]
import pika.connection
import pika.frame
import pika.spec

from amqp_sansio import AuthenticationRequested, OpenRequested, Signal
from amqp_sansio.amqp_0_9_1 import BasicProperties, Channel, Config, Connection, Delivery, Request, Table
from amqp_sansio.amqp_0_9_1.spec import BasicConsume, BasicConsumeOk, ConfirmSelectOk
from amqp_sansio.sasl import Plain
from benchmarks.measure import Case, case_of, compare, cpu_seconds

CHUNK = 65536
CONSUMER = "ctag1.0123456789abcdef"
HEADERS: dict[str, Any] = {"x-trace": "0123456789abcdef", "attempt": 3, "ok": True}
_SIZE = Struct(">I").unpack_from


def open_pair() -> tuple[Connection, Connection, Callable[[], None]]:
    """Return a client and a server in memory, and a function that moves octets between them until both are at rest."""
    client = Connection.client(Config(sasl=Plain("guest", "guest"), heartbeat=0))
    server = Connection.server(Config(heartbeat=0))

    def settle() -> None:
        moved = True
        while moved:
            moved = False
            for here, there in ((client, server), (server, client)):
                while not isinstance(event := here.next_event(), Signal):
                    moved = True
                    if isinstance(event, AuthenticationRequested):
                        here.accept_authentication()
                    elif isinstance(event, OpenRequested):
                        here.accept_open()
                    elif isinstance(event, Request):
                        channel = here.channel(event.channel)
                        if event.method.NAME == "basic.consume":
                            channel.reply(BasicConsumeOk(CONSUMER))
                        elif event.method.NAME == "confirm.select":
                            channel.reply(ConfirmSelectOk())
                octets = here.data_to_send(0.0)
                if octets:
                    there.receive_data(octets, 0.0)
                    moved = True

    settle()
    return client, server, settle


def consumer() -> Connection:
    """Return a client with one consumer without acknowledgement on channel 1."""
    client, _, settle = open_pair()
    channel = client.open_channel()
    settle()
    channel.call(BasicConsume("q", no_ack=True))
    settle()
    return client


def deliveries(count: int, size: int) -> bytes:
    """Return `count` deliveries with five properties and a body of `size` octets, as RabbitMQ writes them."""
    properties = pika.spec.BasicProperties(
        content_type="application/json",
        delivery_mode=2,
        headers=HEADERS,
        message_id="b6f2a2f0-7d4b-4c2e-9d4e-0123456789ab",
        timestamp=1_700_000_000,
    )
    body = b"x" * size
    out: list[bytes] = []
    for tag in range(1, count + 1):
        method = pika.spec.Basic.Deliver(CONSUMER, tag, False, "orders.topic", "orders.created.eu")
        out.append(pika.frame.Method(1, method).marshal())
        out.append(pika.frame.Header(1, size, properties).marshal())
        if size:
            out.append(pika.frame.Body(1, body).marshal())
    return b"".join(out)


def chunks(data: bytes, size: int = CHUNK) -> list[bytes]:
    """Return the stream in the chunks of a transport."""
    return [data[start : start + size] for start in range(0, len(data), size)]


def decode_ours(client: Connection, parts: list[bytes], count: int, eager: bool) -> None:
    """Decode everything with receive_data and next_event of an open client; eager reads all properties and headers."""
    take = client.next_event
    seen = 0
    for part in parts:
        client.receive_data(part, 1.0)
        while True:
            event = take()
            if type(event) is Delivery:
                seen += 1
                _ = event.body
                _ = event.consumer_tag
                _ = event.delivery_tag
                _ = event.redelivered
                _ = event.exchange
                _ = event.routing_key
                if eager:
                    properties = event.properties
                    _ = properties.content_type
                    _ = properties.delivery_mode
                    _ = properties.message_id
                    _ = properties.timestamp
                    headers = properties.headers
                    assert headers is not None
                    headers.items()
            elif isinstance(event, Signal):
                break
    assert seen == count, (seen, count)


def exact_frames(parts: list[bytes]) -> Iterator[bytes]:
    """Yield whole frames of a chunked stream, copying each octet once to join and once to cut."""
    data = b""
    pending: list[bytes] = []
    need = 7
    held = 0
    for part in parts:
        pending.append(part)
        held += len(part)
        if held < need:
            continue
        data = b"".join(pending)
        pos = 0
        end = len(data)
        while end - pos >= 7:
            size = _SIZE(data, pos + 3)[0] + 8
            if end - pos < size:
                need = size
                break
            yield data[pos : pos + size]
            pos += size
        else:
            need = 7
        pending = [data[pos:]] if pos < end else []
        held = end - pos


def decode_pika(parts: list[bytes], count: int) -> None:
    """Decode with pika, which is always eager."""
    decode = pika.frame.decode_frame
    seen = 0
    for octets in exact_frames(parts):
        _, frame = decode(octets)
        if type(frame) is pika.frame.Method:
            seen += 1
    assert seen == count


class _Sink:
    """The part of pika's connection needed to encode without a socket."""

    def __init__(self) -> None:
        self.params = pika.ConnectionParameters(frame_max=131072)
        self.out: list[bytes] = []
        self.bytes_sent = 0
        self.frames_sent = 0

    def _output_marshaled_frames(self, marshaled_frames: list[bytes]) -> None:
        self.out += marshaled_frames


def encode_pika(count: int, size: int) -> None:
    """Publish by pika's own path, with properties built for each message."""
    sink: Any = _Sink()
    connection: Any = pika.connection.Connection
    sink._body_max_length = 131072 - 8
    body = b"x" * size
    for _ in range(count):
        properties = pika.spec.BasicProperties(
            content_type="application/json",
            delivery_mode=2,
            headers=HEADERS,
            message_id="b6f2a2f0-7d4b-4c2e-9d4e-0123456789ab",
            timestamp=1_700_000_000,
        )
        publish = pika.spec.Basic.Publish(exchange="orders.topic", routing_key="orders.created.eu")
        connection._send_message(sink, 1, publish, (properties, body))
        if len(sink.out) > 300:
            b"".join(sink.out)
            sink.out.clear()


def encode_ours(count: int, size: int) -> None:
    """Publish on an open channel, with properties built for each message."""
    client, _, settle = open_pair()
    channel: Channel = client.open_channel()
    settle()
    body = b"x" * size
    for index in range(count):
        channel.publish(
            body,
            exchange="orders.topic",
            routing_key="orders.created.eu",
            properties=BasicProperties(
                content_type="application/json",
                delivery_mode=2,
                headers=HEADERS,
                message_id="b6f2a2f0-7d4b-4c2e-9d4e-0123456789ab",
                timestamp=1_700_000_000,
            ),
        )
        if index % 100 == 99:
            client.data_to_send(0.0)


def table_of_twenty() -> dict[str, Any]:
    """Return twenty entries of the usual types with two nested tables and an array, about 600 octets."""
    table: dict[str, Any] = {f"x-name-{index}": f"value of entry {index}" for index in range(7)}
    table.update({f"x-number-{index}": index * 1000 for index in range(5)})
    table.update({"flag": True, "off": False, "big": 1 << 40, "ratio": 1.5})
    table["content"] = "text/plain; charset=utf-8"
    table["nested"] = {"a": 1, "b": "two", "c": False, "inner text": "x" * 60, "number": 5}
    table["other"] = {"list": "of things", "count": 7, "more": "of the same text"}
    table["array"] = ["one", 2, True, "four", 5]
    return table


def cases(scale: float = 1.0) -> list[Case]:
    """Return every codec case of the issue, and those that check for linear cost."""
    results: list[Case] = []
    for label, size, eager, goal in (
        ("0-9-1 decode eager 128 B vs pika", 128, True, 2.0),
        ("0-9-1 decode lazy 128 B vs pika", 128, False, 4.0),
        ("0-9-1 decode eager 4 KiB vs pika", 4096, True, 1.9),
        ("0-9-1 decode 64 KiB vs pika", 65536, False, 1.7),
    ):
        count = max(200, int((20_000 if size < 65536 else 2_000) * scale))
        parts = chunks(deliveries(count, size))
        ours = partial(decode_ours, consumer(), parts, count, eager)
        results.append(compare(label, ours, partial(decode_pika, parts, count), count=count, goal=goal))
    count = max(200, int(20_000 * scale))
    results.append(
        compare(
            "0-9-1 encode 128 B vs pika",
            lambda: encode_ours(count, 128),
            lambda: encode_pika(count, 128),
            count=count,
            goal=1.9,
        )
    )
    results += table_cases(count // 4)
    results += chunk_cases(max(200, int(4_000 * scale)))
    return results


def table_cases(count: int) -> list[Case]:
    """Decode a field table of 20 entries, with every value of it and of the nested ones, against py-amqp."""
    table = table_of_twenty()
    encoded = Table(table)
    raw = encoded.raw
    peer: Any = amqp.serialization
    theirs = peer.dumps("F", [table])

    def encode() -> None:
        for _ in range(count):
            Table(table)

    def encode_theirs() -> None:
        for _ in range(count):
            peer.dumps("F", [table])

    def decode() -> None:
        for _ in range(count):
            Table.from_wire(raw, encoded.rules).items()

    def decode_theirs() -> None:
        for _ in range(count):
            peer.loads("F", theirs, 0)

    return [
        compare("table encode vs py-amqp", encode, encode_theirs, count=count, goal=1.4),
        compare("table decode vs py-amqp", decode, decode_theirs, count=count, goal=1.7),
    ]


def chunk_cases(count: int) -> list[Case]:
    """Return the cost of other chunk sizes: `peer` is the stream in chunks of 64 KiB (or 4 KiB frames in 16 octets)."""
    client = consumer()
    data = deliveries(count, 128)
    whole = [data[start : start + 4 << 20] for start in range(0, len(data), 4 << 20)]
    parts = chunks(data)
    few = max(20, count // 100)
    big = deliveries(max(1, few // 16), 65536)
    small = deliveries(few, 4096)
    big_16, small_16 = chunks(big, 16), chunks(small, 16)
    big_cost = min(cpu_seconds(lambda: decode_ours(client, big_16, max(1, few // 16), False)) for _ in range(5))
    small_cost = min(cpu_seconds(lambda: decode_ours(client, small_16, few, False)) for _ in range(5))
    ours, peer = big_cost / len(big) * 1e9, small_cost / len(small) * 1e9
    return [
        compare(
            "0-9-1 decode fed megabytes vs 64 KiB chunks",
            lambda: decode_ours(client, whole, count, False),
            lambda: decode_ours(client, parts, count, False),
            count=count,
            goal=0.83,
        ),
        case_of("16-octet chunks, 64 KiB frame vs 4 KiB frame", [(ours, peer)], "ns/octet", 0.83),
    ]
