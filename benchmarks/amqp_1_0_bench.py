"""AMQP 1.0: decoding and encoding frames with messages against azure's pyamqp and proton, an engine pair against
proton's, the observer against the engine, and cost by the size of the chunks.

azure's codec runs at its best: the caller finds the frames and passes views of them. Its strings and symbols stay
octets; ours are str. Ours is the frame reader, the performative's record and the message, with limits and checks
enabled.
"""

# The codec of frames is private to the engine; these cases measure it alone.
# pyright: reportPrivateUsage=false
from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from functools import partial
from struct import Struct
from typing import Any

import azure.servicebus._pyamqp._decode as _azure_decode  # pyright: ignore[reportMissingTypeStubs]
import proton  # pyright: ignore[reportMissingTypeStubs]

from amqp_sansio import Observer, Signal
from amqp_sansio._ground.receive_buffer import ReceiveBuffer
from amqp_sansio.amqp_1_0 import Message
from amqp_sansio.amqp_1_0.codec.frames import AMQP, amqp_frame, next_frame
from amqp_sansio.amqp_1_0.codec.performatives import decode_frame_body
from amqp_sansio.amqp_1_0.endpoint.connection import Connection
from amqp_sansio.amqp_1_0.endpoint.events import Delivery
from amqp_sansio.amqp_1_0.spec import Transfer
from benchmarks.amqp_1_0_engine import Pair, engine_case, make_message, make_proton_message
from benchmarks.codec_bench import chunks
from benchmarks.measure import Case, case_of, compare, cpu_seconds
from benchmarks.observer_bench import before_cases

peer_decode: Any = _azure_decode
_SIZE = Struct(">I").unpack_from
_MAX_FRAME = 1 << 20


def transfers(count: int, size: int) -> bytes:
    """Return `count` single-frame transfers, with messages as proton writes them: header, properties, three application
    properties and `size` octets of data."""
    payload = bytes(make_proton_message(b"x" * size).encode())
    out: list[bytes] = []
    for number in range(count):
        transfer = Transfer(
            handle=0,
            delivery_id=number,
            delivery_tag=number.to_bytes(4, "big"),
            message_format=0,
            settled=False,
            more=False,
        )
        out.append(amqp_frame(1, transfer.encode(), payload))
    return b"".join(out)


def decode_ours(parts: list[bytes], count: int, eager: bool) -> None:
    """Decode every frame's transfer, and its message: all of it, or only the octets of its sections."""
    buffer = ReceiveBuffer()
    read, seen = decode_frame_body, 0
    for part in parts:
        buffer.append(part)
        while (frame := next_frame(buffer, AMQP, _MAX_FRAME)) is not None:
            _, data, start, stop = frame
            transfer, at = read(data, start, stop)
            message = Message.from_wire(data[at:stop])
            seen += 1
            if eager:
                read_message(transfer, message)
    assert seen == count, (seen, count)


def read_message(transfer: Any, message: Message) -> None:
    """Read everything in a message."""
    _ = (transfer.handle, transfer.delivery_id, transfer.delivery_tag, transfer.message_format)
    _ = (transfer.settled, transfer.more)
    header = message.header
    assert header is not None
    _ = (header.durable, header.priority, header.ttl, header.first_acquirer, header.delivery_count)
    properties = message.properties
    assert properties is not None
    _ = (properties.message_id, properties.to, properties.subject, properties.correlation_id)
    _ = (properties.content_type, properties.creation_time)
    _ = message.application_properties.items()
    _ = message.body


def frames(parts: list[bytes]) -> Iterator[memoryview]:
    """Yield whole frames, without their header, of a chunked stream, as views."""
    rest = b""
    for part in parts:
        data = rest + part if rest else part
        view = memoryview(data)
        pos, end = 0, len(data)
        while end - pos >= 4:
            size = _SIZE(data, pos)[0]
            if end - pos < size:
                break
            yield view[pos + 8 : pos + size]
            pos += size
        rest = data[pos:]


def decode_azure(parts: list[bytes], count: int) -> None:
    """Decode with azure, which is always eager."""
    frame_of, message_of = peer_decode.decode_frame, peer_decode.decode_payload
    seen = 0
    for view in frames(parts):
        _, fields = frame_of(view)
        message_of(fields[11])
        seen += 1
    assert seen == count


def encode_ours(count: int, size: int) -> None:
    """Make and encode a message for each transfer, with its frame."""
    body = b"x" * size
    for number in range(count):
        payload = make_message(body).encode()
        transfer = Transfer(
            handle=0, delivery_id=number, delivery_tag=number.to_bytes(4, "big"), message_format=0, settled=False
        )
        amqp_frame(1, transfer.encode(), payload)


def encode_proton(count: int, size: int) -> None:
    """Make and encode a message; proton's engine makes the frame, which isn't counted."""
    body = b"x" * size
    for _ in range(count):
        make_proton_message(body).encode()


def check_contenders() -> None:
    """Check that all three read and write the same message."""
    data = transfers(1, 128)
    view = next(frames([data]))
    _, fields = peer_decode.decode_frame(view)
    theirs = peer_decode.decode_payload(fields[11])
    ours = Message.from_wire(bytes(fields[11]))
    assert theirs.data == [ours.body] == [b"x" * 128]
    assert theirs.properties.message_id.decode() == ours.message_id
    assert theirs.properties.creation_time == ours.creation_time
    found = {key.decode(): value for key, value in theirs.application_properties.items()}
    assert {**found, "x-trace": found["x-trace"].decode()} == ours.application_properties
    again = proton.Message()
    again.decode(make_message(b"x" * 128).encode())
    whole = make_proton_message(b"x" * 128)
    for name in ("id", "address", "subject", "content_type", "creation_time", "durable", "properties", "body"):
        assert getattr(again, name) == getattr(whole, name), name


def chunk_cases(count: int) -> list[Case]:
    """Return the nanoseconds for an octet through the engine, in chunks of other sizes; `peer` is 64 KiB, for chunks of
    16 octets the same in frames of 4 KiB."""
    stream = Stream(10 * count, 128)
    cost = {size: stream.cost(size) for size in (65536, 4096, 1460, 4 << 20)}
    large, small = Stream(max(4, count // 160), 65_000).cost(16), Stream(max(40, count // 10), 4000).cost(16)
    return [
        linear("linear in chunk size, megabytes vs 64 KiB", cost[4 << 20], cost[65536]),
        linear("linear in chunk size, 4 KiB vs 64 KiB", cost[4096], cost[65536]),
        linear("linear in chunk size, 1460 vs 64 KiB", cost[1460], cost[65536]),
        linear("linear in chunk size, 16: 64 KiB vs 4 KiB frames", large, small),
    ]


def linear(case: str, ours: float, peer: float) -> Case:
    """Return a case whose cost per octet should equal the other's, up to a fifth."""
    return case_of(case, [(ours, peer)], "ns/octet", 0.83)


class Stream:
    """A client's octets on one link, and a server ready to take them; `opening` has the octets sent before."""

    def __init__(self, count: int, size: int) -> None:
        pair = Pair(credit=count, snd_settle_mode=1)
        message = make_message(b"x" * size)
        for _ in range(count):
            pair.sender.send(message)
        self.octets = pair.client.data_to_send(0.0)
        self.count = count
        self.opening = pair.opening
        self.server = pickle.dumps(pair.server)

    def cost(self, chunk: int, rounds: int = 5) -> float:
        """Return the nanoseconds of CPU for an octet, the least of some rounds."""
        parts = chunks(self.octets, chunk)
        return min(self.spent(parts) for _ in range(rounds)) / len(self.octets) * 1e9

    def spent(self, parts: list[bytes]) -> float:
        """Return the seconds of CPU that a server takes for it."""
        server: Connection = pickle.loads(self.server)
        return cpu_seconds(partial(self._take, server, parts))

    def _take(self, server: Connection, parts: list[bytes]) -> None:
        take = server.next_event
        seen = 0
        for part in parts:
            server.receive_data(part, 0.0)
            while not isinstance(event := take(), Signal):
                seen += type(event) is Delivery
        assert seen == self.count, (seen, self.count)

    def observed(self, parts: list[bytes]) -> float:
        """Return the seconds of CPU that an observer takes for it."""
        observer = Observer(client="client")
        for sender, octets in self.opening:
            observer.receive_data(octets, sender, 0)
        return cpu_seconds(partial(self._observe, observer, parts))

    def _observe(self, observer: Observer, parts: list[bytes]) -> None:
        take = observer.next_event
        seen = 0
        for part in parts:
            observer.receive_data(part, "client", 1)
            while not isinstance(event := take(), Signal):
                seen += getattr(event, "event", "") == "transfer"
        assert seen == self.count, (seen, self.count)


def observer_case(count: int) -> Case:
    """Compare the observer with a server that takes the same messages; `peer` is the server. No goal is set."""
    stream = Stream(count, 128)
    parts = chunks(stream.octets)
    ours = min(stream.observed(parts) for _ in range(5)) / count * 1e6
    peer = min(stream.spent(parts) for _ in range(5)) / count * 1e6
    return case_of("1.0 observer vs own server, 128 B transfers", [(ours, peer)], "us CPU", None)


def settled_traffic(count: int) -> list[tuple[str, bytes]]:
    """Messages that are accepted one by one, in chunks of 20."""
    pair = Pair(credit=2 * count)
    for _ in range(0, count, 20):
        for _ in range(20):
            pair.sender.send(make_message(bytes(128)))
        octets = pair.client.data_to_send(0.0)
        pair.opening.append(("client", octets))
        pair.server.receive_data(octets, 0.0)
        while not isinstance(event := pair.server.next_event(), Signal):
            if type(event) is Delivery:
                pair.receiver.accept(event)
                pair.opening.append(("server", pair.server.data_to_send(0.0)))
                pair.client.receive_data(pair.opening[-1][1], 0.0)
    return pair.opening


def cases(scale: float = 1.0) -> list[Case]:
    """Return every case of 1.0's codec and engine."""
    check_contenders()
    count = max(200, int(10_000 * scale))
    parts = chunks(transfers(count, 128))
    results: list[Case] = []
    for label, eager, goal in (
        ("1.0 decode eager vs azure pyamqp", True, 1.5),
        ("1.0 decode lazy vs azure pyamqp", False, 4.5),
    ):
        ours: Callable[[], object] = partial(decode_ours, parts, count, eager)
        results.append(compare(label, ours, partial(decode_azure, parts, count), count=count, goal=goal))
    results.append(
        compare(
            "1.0 encode vs proton",
            partial(encode_ours, count, 128),
            partial(encode_proton, count, 128),
            count=count,
            goal=3.5,
        )
    )
    results.append(engine_case(count // 5))
    results.append(observer_case(count))
    results += before_cases("1.0", settled_traffic(count), count)
    return results + chunk_cases(max(40, count // 5))
