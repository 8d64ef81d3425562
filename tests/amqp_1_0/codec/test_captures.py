"""The codec on recorded traffic of real peers: every frame is read, counted as tshark counts it, and written again."""

from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

from amqp_sansio.amqp_1_0.codec.message import Message, check_message
from amqp_sansio.amqp_1_0.codec.performatives import Performative, SaslFrame, Transfer, decode_frame_body
from amqp_sansio.amqp_1_0.codec.values import decode, encode
from amqp_sansio.capture import Segment, StreamData, read_segments, reassemble, sort_key
from tests.kit.captures import everywhere, oracle

DAMAGED = ("o10d_types_gap", "o10d_types_snap200")


def whole(path: Path) -> bool:
    """Whether nothing is missing in the capture."""
    return not path.stem.startswith(DAMAGED)


PARAMETERS = [item for item in everywhere("o10*.pcap") if whole(Path(str(item.id)))]


def streams_of(path: Path) -> dict[tuple[str, str], bytes]:
    """The octets of each direction by connection and sender."""
    found: dict[tuple[str, str], bytearray] = defaultdict(bytearray)
    rows = [row for row in read_segments(path.read_bytes(), file=path.name) if isinstance(row, Segment)]
    for item in reassemble(sorted(rows, key=sort_key)):
        if isinstance(item, StreamData):
            found[item.connection, item.sender] += item.data
    return {key: bytes(octets) for key, octets in found.items()}


def frames_of(data: bytes) -> Iterator[tuple[int, int]]:
    """Where each frame's body begins and ends; a protocol header has none and gives itself."""
    pos = 0
    while pos + 8 <= len(data):
        if data[pos : pos + 4] == b"AMQP":
            yield pos, pos
            pos += 8
            continue
        stop = pos + int.from_bytes(data[pos : pos + 4], "big")
        if stop > len(data) or stop < pos + 8:
            return
        yield pos + 4 * data[pos + 4], stop
        pos = stop


def decoded(data: bytes, records: list[Performative | SaslFrame], payloads: list[bytes]) -> None:
    """Put the records and the messages of a direction into the lists."""
    parts: dict[int, list[bytes]] = defaultdict(list)
    for at, stop in frames_of(data):
        if at == stop:
            continue
        record, pos = decode_frame_body(data, at, stop)
        assert record.encode() == data[at:pos]
        assert isinstance(record, Transfer) or pos == stop
        records.append(record)
        if isinstance(record, Transfer):
            channel = int.from_bytes(data[at - 2 : at], "big") << 32 | record.handle
            parts[channel].append(data[pos:stop])
            if not record.more and not record.aborted:
                payloads.append(b"".join(parts.pop(channel)))


@pytest.mark.rule("1.0/transport/frame/performative")
@pytest.mark.parametrize("path", PARAMETERS)
def test_every_frame_of_a_capture_is_read_and_written_again(path: Path) -> None:
    records: list[Performative | SaslFrame] = []
    payloads: list[bytes] = []
    for data in streams_of(path).values():
        decoded(data, records, payloads)
    counts = [direction["counts"] for stream in oracle(path)["frames"].values() for direction in stream.values()]
    assert len(records) == sum(
        [n for each in counts for name, n in each.items() if name != "empty" and "header" not in name]
    )
    for record in records:
        again = record.replace()
        octets = again.encode()
        assert decode_frame_body(octets) == (record, len(octets))
        assert decode(record.encode()) == (record, len(record.encode()))
    for payload in payloads:
        check_message(payload)
        message = Message.from_wire(payload)
        properties = message.properties
        if properties is not None and message.body_kind != "data":
            # One peer names an encoding for a body that has none, which is received but not sent.
            properties = properties.replace(content_encoding=None)
            message = message.replace(properties=properties)
        rebuilt = Message(
            message.typed_body,
            header=message.header and message.header.replace(),
            delivery_annotations=message.delivery_annotations,
            message_annotations=message.message_annotations,
            properties=properties and properties.replace(),
            application_properties=dict(message.application_properties),
            footer=message.footer,
        )
        if message.body_kind == "none":
            # Real peers send these; a message that is made always has a body.
            assert rebuilt.body is None
            assert rebuilt.properties == message.properties
        else:
            assert Message.from_wire(rebuilt.encode()) == message
        if message.body_kind == "value":
            assert decode(encode(message.body))[0] == message.body
