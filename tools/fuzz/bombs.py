"""Bombs: inputs of any size that cost a careless reader more than their size.

Each is a function of a number, whose octets grow with it, or stay the same. `check_cost` compares two sizes.
"""

from __future__ import annotations

import gzip
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from struct import pack
from typing import Any, Final

from amqp_sansio import AMQP_0_8, AMQP_0_9_1, AMQP_0_10, AMQP_1_0, Version, amqp_0_10, amqp_1_0
from amqp_sansio._classic.codec.dialect import default_dialect
from amqp_sansio.amqp_0_10.codec.frames import COMMAND, CONTROL, ENDS, FRAME_HEADER_SIZE, HEADER, encode_assembly
from amqp_sansio.amqp_0_10.codec.record import encode_headers
from amqp_sansio.capture import PcapngWriter

from .ends import VERSIONS
from .seeds import Seeds, recorded
from .targets import packed


@dataclass(frozen=True)
class Bomb:
    """`make(size)` returns the octets; it is tried with `size` and twice that.

    `bounded`: already with `size`, all limits are reached, so that no more is kept of more.
    """

    name: str
    target: str
    make: Callable[[int], bytes]
    size: int = 200
    bounded: bool = False


# 1.0.


def _list(values: Iterable[bytes]) -> bytes:
    items = list(values)
    inside = b"".join(items)
    return b"\xd0" + pack(">II", len(inside) + 4, len(items)) + inside


def _map(pairs: Iterable[tuple[bytes, bytes]]) -> bytes:
    return b"\xd1" + _list([each for pair in pairs for each in pair])[1:]


def _array(code: int, count: int, inside: bytes = b"") -> bytes:
    return b"\xf0" + pack(">II", len(inside) + 5, count) + bytes([code]) + inside


def _colliding(number: int) -> bytes:
    """Return a list of -1 and -2, which have the same hash in Python."""
    return _list([b"\x55\xff" if number >> bit & 1 else b"\x55\xfe" for bit in range(12)])


def _alike(number: int) -> bytes:
    """Return a name of eleven parts, each an octet that isn't UTF-8, or the text that represents it."""
    return b"".join([b"\x80" if number >> bit & 1 else b"\\x80" for bit in range(11)])


def _nested(count: int) -> bytes:
    value = b"\x40"
    for _ in range(count):
        value = _list([value])
    return value


def _one_values() -> Iterator[tuple[str, Callable[[int], bytes]]]:
    yield "map with keys of one hash", lambda n: _map([(_colliding(k), b"\x40") for k in range(n)])
    yield "map with one key again and again", lambda n: _map([(b"\xa1\x01a", b"\x40")] * n)
    yield (
        "map with keys that are lists",
        lambda n: _map([(_list([b"\x70" + pack(">I", k)]), b"\x40") for k in range(n)]),
    )
    yield (
        "map with keys that look alike",
        lambda n: _map(
            [
                (pack(">BB", 0xA3, 4) + b"%04x" % (k // 2), b"\x40")
                if k & 1
                else (pack(">BB", 0xA1, 4) + b"%04x" % (k // 2), b"\x40")
                for k in range(n)
            ]
        ),
    )
    yield (
        "map with maps as keys",
        lambda n: _map([(_map([(b"\x71" + pack(">I", k), b"\x40")]), b"\x54\x01") for k in range(n)]),
    )
    yield "array of nothing, of any count", lambda n: _array(0x40, n * 1000)
    yield "array of empty lists, of any count", lambda n: _array(0x45, n * 1000)
    yield "list of arrays of nothing", lambda n: _list([_array(0x41, 60_000)] * n)
    yield ("array of described nothing", lambda n: _list([b"\xf0" + pack(">II", 8, 60_000) + b"\x00\x53\x24\x45"] * n))
    yield "list of nulls", lambda n: _list([b"\x40"] * n)
    yield "list in list", _nested
    yield "descriptors of descriptors", lambda n: b"\x00" * n + b"\x40" * n
    yield "list of binaries", lambda n: _list([b"\xa0\x02ab"] * n)
    yield "list of decimals", lambda n: _list([b"\x94" + b"\x5f\xff" + b"\xff" * 14] * n)
    yield "text of escapes", lambda n: b"\xb1" + pack(">I", 3 * n) + b"\xe2\x80\xae" * n


def _one_performatives() -> Iterator[tuple[str, Callable[[int], bytes]]]:
    def attach(n: int) -> bytes:
        unsettled = _map([(b"\xa0\x04" + pack(">I", k), b"\x00\x53\x24\x45") for k in range(n)])
        source = b"\x00\x53\x28\x45"
        return b"\x00\x53\x12" + _list(
            [b"\xa1\x01l", b"\x43", b"\x41", b"\x40", b"\x40", source, b"\x00\x53\x29\x45", unsettled]
        )

    yield "attach with unsettled deliveries", attach
    yield (
        "open with capabilities",
        lambda n: b"\x00\x53\x10" + _list([b"\xa1\x01c", *[b"\x40"] * 6, _array(0xA3, n, b"\x01a" * n)]),
    )
    yield (
        "begin with properties of one key",
        lambda n: (
            b"\x00\x53\x11"
            + _list([b"\x40", b"\x43", b"\x43", b"\x43", *[b"\x40"] * 3, _map([(b"\xa3\x01a", b"\x40")] * n)])
        ),
    )
    yield ("transfer with sections", lambda n: b"\x00\x53\x14\xc0\x03\x02\x43\x43" + b"\x00\x53\x75\xa0\x01x" * n)
    yield (
        "transfer with values",
        lambda n: b"\x00\x53\x14\xc0\x03\x02\x43\x43" + b"\x00\x53\x76" + _list([b"\x40"] * n),
    )


# 0-10.


def _ten_map(entries: list[bytes]) -> bytes:
    inside = pack(">I", len(entries)) + b"".join(entries)
    return b"\xa8" + pack(">I", len(inside)) + inside


def _ten_list(count: int, inside: bytes) -> bytes:
    return b"\xa9" + pack(">II", len(inside) + 4, count) + inside


def _ten_values() -> Iterator[tuple[str, Callable[[int], bytes]]]:
    yield "map with one key again and again", lambda n: _ten_map([b"\x01a\xf0"] * n)
    yield (
        "map of keys that look alike",
        lambda n: _ten_map([bytes([len(_alike(k))]) + _alike(k) + b"\xf0" for k in range(n)]),
    )
    yield "list of nothing", lambda n: _ten_list(n, b"\xf0" * n)
    yield "array of nothing, of any count", lambda n: b"\xaa" + pack(">IBI", 5, 0xF0, n * 1000)
    yield ("list of arrays of nothing", lambda n: _ten_list(n, (b"\xaa" + pack(">IBI", 5, 0xF1, 60_000)) * n))
    yield "array of octets", lambda n: b"\xaa" + pack(">IBI", 5 + n, 0x02, n) + bytes(n)


def _sets(count: int) -> bytes:
    inside = b"".join([pack(">II", 4 * k, 4 * k + 1) for k in range(count)])
    return pack(">H", len(inside)) + inside


def _ten_commands() -> Iterator[tuple[str, Callable[[int], bytes]]]:
    yield "message.accept of many ranges", lambda n: b"\x04\x02\x00\x00\x01\x00" + _sets(n)
    yield (
        "message.accept of one range, again and again",
        lambda n: b"\x04\x02\x00\x00\x01\x00" + pack(">H", 8 * n) + pack(">II", 0, 0x7FFFFFFF) * n,
    )
    yield (
        "message.accept of falling ranges",
        lambda n: (
            b"\x04\x02\x00\x00\x01\x00"
            + pack(">H", 8 * n)
            + b"".join([pack(">II", 9 * k, 9 * k + 1) for k in range(n, 0, -1)])
        ),
    )


def _ten_headers() -> Iterator[tuple[str, Callable[[int], bytes]]]:
    yield ("structs that nobody knows", lambda n: b"".join([pack(">IH", 2, 0x6000 + k) for k in range(n)]))
    yield (
        "application headers of one key",
        lambda n: _struct(0x0403, b"\x00\x01" + _ten_map([b"\x01a\xf0"] * n)[1:], 0x01),
    )


def _struct(code: int, inside: bytes, flags: int) -> bytes:
    return pack(">IHH", len(inside) + 4, code, flags) + inside


# 0-8 and 0-9-1.


def _tables() -> Iterator[tuple[str, Callable[[int], bytes]]]:
    yield "one name again and again", lambda n: b"\x01aV" * n
    yield ("names that look alike", lambda n: b"".join([bytes([len(_alike(k))]) + _alike(k) + b"V" for k in range(n)]))
    yield "array of nothing", lambda n: b"\x01aA" + pack(">I", n) + b"V" * n
    yield "tables in an array", lambda n: b"\x01aA" + pack(">I", 5 * n) + b"F\0\0\0\0" * n
    yield "decimals", lambda n: b"\x01aA" + pack(">I", 6 * n) + b"D\xff\x7f\xff\xff\xff" * n
    yield "tables in tables", _table_in_table


def _table_in_table(count: int) -> bytes:
    table = b""
    for _ in range(min(count, 3000)):
        table = b"\x01aF" + pack(">I", len(table)) + table
    return table


# Selectors.


def _selectors() -> Iterator[tuple[str, Callable[[int], bytes]]]:
    texts: dict[str, Callable[[int], str]] = {
        "AND": lambda n: " AND ".join(["a=1"] * n),
        "OR": lambda n: " OR ".join(["a=2"] * n),
        "NOT": lambda n: "NOT " * n + "c",
        "parentheses": lambda n: "(" * n + "a=1" + ")" * n,
        "sums": lambda n: "a" + "+1" * n + " = 5",
        "signs": lambda n: "a = " + "- " * n + "1",
        "IN": lambda n: "b IN (" + ",".join(["'red'"] * n) + ")",
        "LIKE with wildcards": lambda n: "t LIKE '" + "%x" * n + "y'",
        "LIKE with one wildcard": lambda n: "t LIKE '%" + "x" * n + "y%'",
        "LIKE again and again": lambda n: " OR ".join(["f LIKE '%x%y'"] * n),
        "quotes": lambda n: "b = '" + "''" * n + "'",
        "digits": lambda n: "a = " + "9" * (3 * n),
        "names": lambda n: "a" * n + " = 1",
    }
    for name, text in texts.items():
        yield name, _Text(text)


@dataclass(frozen=True)
class _Text:
    text: Callable[[int], str]

    def __call__(self, count: int) -> bytes:
        return self.text(count).encode()


# Captures.


def _pcap(packets: Iterable[bytes]) -> bytes:
    head = pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 101)
    return head + b"".join([pack("<IIII", 1, n, len(octets), len(octets)) + octets for n, octets in enumerate(packets)])


def _tcp(sequence: int, data: bytes, *, flags: int = 0x10, port: int = 40000, at: int = 0, more: bool = False) -> bytes:
    tcp = pack(">HHIIBBHHH", port, 5672, sequence & 0xFFFFFFFF, 0, 0x50, flags, 1000, 0, 0) + data
    parts = at | (0x2000 if more else 0)
    return pack(">BBHHHBBH4s4s", 0x45, 0, 20 + len(tcp), 1, parts, 64, 6, 0, b"\x0a\0\0\1", b"\x0a\0\0\2") + tcp


def _captures() -> Iterator[tuple[str, Callable[[int], bytes]]]:
    yield "records of nothing", lambda n: _pcap([b""] * n)
    yield ("segments in reverse", lambda n: _pcap([_tcp(1 + 4 * k, b"AMQP") for k in range(n, 0, -1)]))
    yield "segments with holes", lambda n: _pcap([_tcp(1 + 8 * k, b"AMQP") for k in range(n)])
    yield "one segment again and again", lambda n: _pcap([_tcp(1, b"AMQP")] * n)
    yield "segments that overlap", lambda n: _pcap([_tcp(1 + k, b"AMQPAMQP") for k in range(n)])
    yield "connections that begin", lambda n: _pcap([_tcp(9 * k, b"", flags=2) for k in range(n)])
    yield ("flows that begin", lambda n: _pcap([_tcp(0, b"", flags=2, port=1024 + k) for k in range(n)]))
    yield ("fragments", lambda n: _pcap([_tcp(1, b"AMQPAMQP", at=1 + 2 * k, more=True) for k in range(n)]))
    yield ("gzip members of nothing", lambda n: gzip.compress(_pcap([]), mtime=0) + gzip.compress(b"", mtime=0) * n)
    yield ("interfaces of pcapng", lambda n: PcapngWriter().header() + pack("<IIHHII", 1, 20, 101, 0, 0, 20) * n)


# Streams: a recording, followed by many copies of one frame.


def _frames(version: Version) -> Iterator[tuple[str, bytes]]:
    if version is AMQP_1_0:
        body = {
            "empty frames": b"",
            "dispositions of all there is": b"\x00\x53\x15"
            + _list([b"\x41", b"\x43", b"\x70\xff\xff\xff\xff", b"\x41"]),
            "flows": amqp_1_0.spec.Flow(
                next_incoming_id=0, incoming_window=9, next_outgoing_id=0, outgoing_window=9
            ).encode(),
            "begins": amqp_1_0.spec.Begin(next_outgoing_id=0, incoming_window=9, outgoing_window=9).encode(),
            "transfers of nothing": b"\x00\x53\x14"
            + _list([b"\x43", b"\x43", b"\xa0\x01t", b"\x43", b"\x42", b"\x41"]),
        }
        for name, octets in body.items():
            yield name, pack(">IBBH", len(octets) + 8, 2, 0, 0) + octets
        return
    if version is AMQP_0_10:
        yield "heartbeats", b"\x0f\x00\x00\x0e\0\0\0\0\0\0\0\0\x01\x0a"
        yield "starts without an end", b"\x0c\x01\x00\x0d\0\1\0\0\0\0\0\0\x05"
        completed = b"\x02\x05\x01\x00" + pack(">H", 8) + pack(">II", 0, 0x7FFFFFFF) + b""
        yield ("session.completed", pack(">BBHBBHI", 0x0F, 0, 12 + len(completed), 0, 0, 0, 0) + completed)
        return
    yield "heartbeats", b"\x08\0\0\0\0\0\0\xce"
    yield "bodies of nobody", b"\x03\0\1\0\0\0\1x\xce"
    yield "acks of all there is", b"\x01\0\2\0\0\0\x0d\x00\x3c\x00\x50" + bytes(8) + b"\x01\xce"
    declare = default_dialect(version).named["confirm.select" if version is AMQP_0_9_1 else "tx.select"]()
    octets = pack(">I", declare.ID) + (b"\0" if version is AMQP_0_9_1 else b"")
    yield "selects", pack(">BHI", 1, 1, len(octets)) + octets + b"\xce"


# Entries: a recording, followed by frames of which each makes something else that stays.


def _text(number: int) -> str:
    """Return another long text for each number."""
    return f"{number} " * 600


def _classic_entries(version: Version, side: int) -> Iterator[tuple[str, Callable[[int], bytes]]]:
    dialect = default_dialect(version)

    def method(name: str, channel: int, **fields: Any) -> bytes:
        octets: bytes = dialect.named[name](**fields).encode(dialect.tables)
        return pack(">BHI", 1, channel, len(octets)) + octets + b"\xce"

    def header(channel: int, size: int) -> bytes:
        value = b"\1xS" + pack(">I", 2000) + b"y" * 2000
        octets = pack(">HHQ", 60, 0, size) + b"\x20\x00" + pack(">I", len(value)) + value
        return pack(">BHI", 2, channel, len(octets)) + octets + b"\xce"

    if side:
        deliver = partial(method, "basic.deliver", 1, consumer_tag="t", routing_key="k")
        yield "deliveries", lambda n: deliver(delivery_tag=n + 100) + header(1, 0)
        return
    yield "channels", lambda n: method("channel.open", n + 3)
    yield ("requests", lambda n: method("queue.declare", 1, queue=f"q{n}", arguments={"x": _text(n)}))
    yield "consumers", lambda n: method("basic.consume", 1, queue="q", consumer_tag=f"t{n}", no_wait=True)
    yield ("messages", lambda n: method("basic.publish", 1, routing_key=f"k{n}", mandatory=True) + header(1, 0))
    yield (
        "messages without an end",
        lambda n: method("channel.open", n + 3) + method("basic.publish", n + 3) + header(n + 3, 9),
    )


def _ten_entries(version: Version, side: int) -> Iterator[tuple[str, Callable[[int], bytes]]]:
    def command(channel: int, *segments: tuple[int, bytes]) -> bytes:
        return encode_assembly(channel, segments)

    def attach(channel: int, number: int = 0) -> bytes:
        records = amqp_0_10.spec.SessionAttach(_text(number).encode()), amqp_0_10.spec.SessionCommandPoint(0, 0)
        return b"".join([command(channel, (CONTROL, each.encode_assembly())) for each in records])

    def transfer(channel: int, destination: str) -> tuple[int, bytes]:
        return COMMAND, amqp_0_10.spec.MessageTransfer(destination, accept_mode=0).encode_segment()

    headers = encode_headers((amqp_0_10.MessageProperties(user_id=b"y" * 2000),))
    first = {0: attach(9)}
    yield ("messages", lambda n: first.get(n, b"") + command(9, transfer(9, f"d{n}"), (HEADER, headers)))
    whole = command(9, transfer(9, "d"), (HEADER, headers))
    # Without the bits that say that a segment and a frame are the last ones.
    at = len(whole) - len(headers) - FRAME_HEADER_SIZE
    cut = whole[:at] + bytes((whole[at] & ~ENDS,)) + whole[at + 1 :]
    yield "messages without an end", lambda n: cut.replace(b"\0\1\0\x09", pack(">HH", 1, n))
    if side:
        return
    yield "sessions", lambda n: attach(n, n)
    query = amqp_0_10.spec.QueueDeclare
    yield (
        "commands",
        lambda n: first.get(n, b"") + command(9, (COMMAND, query(f"q{n}", arguments={"x": _text(n)}).encode_segment())),
    )
    subscribe = amqp_0_10.spec.MessageSubscribe
    yield (
        "subscriptions",
        lambda n: first.get(n, b"") + command(9, (COMMAND, subscribe("q", f"d{n}", 0, 0).encode_segment())),
    )


def _one_entries(version: Version, side: int) -> Iterator[tuple[str, Callable[[int], bytes]]]:
    def frame(record: amqp_1_0.spec.Performative, channel: int = 9, payload: bytes = b"") -> bytes:
        octets = record.encode() + payload
        return pack(">IBBH", len(octets) + 8, 2, 0, channel) + octets

    def begin(channel: int = 9) -> bytes:
        properties = {amqp_1_0.Symbol("x"): _text(channel)}
        window = 1 << 20
        return frame(amqp_1_0.spec.Begin(None, 0, window, window, properties=properties), channel)

    def attach(number: int) -> bytes:
        source = amqp_1_0.Source(_text(number))
        return frame(
            amqp_1_0.spec.Attach(
                _text(number), number, False, source=source, target=amqp_1_0.Target(), initial_delivery_count=0
            )
        )

    def transfer(number: int, handle: int = 0, **fields: Any) -> bytes:
        tag = pack(">I", number)
        return frame(
            amqp_1_0.spec.Transfer(handle, delivery_id=number, delivery_tag=tag, message_format=0, **fields),
            payload=b"\0\x53\x75\xa0\1x",
        )

    error = amqp_1_0.Error(amqp_1_0.Symbol("amqp:not-found"), _text(1))
    first = {0: begin()}
    linked = {0: begin() + attach(0)}
    yield "sessions", lambda n: begin(n + 9)
    yield "links", lambda n: first.get(n, b"") + attach(n)
    yield ("links that end", lambda n: first.get(n, b"") + attach(n) + frame(amqp_1_0.spec.Detach(n, closed=True)))
    yield "deliveries", lambda n: linked.get(n, b"") + transfer(n)
    yield "deliveries without an end", lambda n: linked.get(n, b"") + transfer(0, more=True)
    yield (
        "deliveries without an end, of many links",
        lambda n: first.get(n, b"") + attach(n) + transfer(n, n, more=True),
    )
    yield ("states of deliveries", lambda n: linked.get(n, b"") + transfer(n, state=amqp_1_0.Rejected(error)))


_ENTRIES: Final = {AMQP_0_8: _classic_entries, AMQP_0_9_1: _classic_entries, AMQP_0_10: _ten_entries}


def _entries() -> Iterator[Bomb]:
    for version in VERSIONS:
        for side in (0, 1):
            for name, frame in _ENTRIES.get(version, _one_entries)(version, side):
                kinds = ("client",) if side else ("hub", "server")
                for kind in (*kinds, "observer"):
                    make = partial(_numbered, version, side, frame, kind == "observer")
                    # A hub keeps the messages that its clients publish.
                    yield Bomb(name, f"{kind}-{version.label}", make, 21, kind != "hub")


def _numbered(version: Version, side: int, frame: Callable[[int], bytes], observed: bool, count: int) -> bytes:
    octets = b"".join([frame(number) for number in range(count)])
    return (_observed if observed else _stream)(version, side, octets, 1)


def _stream(version: Version, side: int, frame: bytes, count: int) -> bytes:
    sent, received, _ = recorded(version)
    return (received if side else sent) + frame * count


def _observed(version: Version, side: int, frame: bytes, count: int) -> bytes:
    return packed([*recorded(version)[2], (side, frame * count)])


def _streams(seeds: Seeds | None) -> Iterator[Bomb]:
    for version in VERSIONS:
        label = version.label
        named = list(_frames(version))
        for side, who in enumerate(("client", "server")):
            drawn = [] if seeds is None else seeds.of(f"frames-{label}-{who}")
            numbered = [(f"frame {number} of the {who}'s", octets) for number, octets in enumerate(drawn)]
            for name, frame in named + [pair for pair in numbered if len(pair[1]) < 400]:
                whom = ("hub", "server") if side == 0 else ("client",)
                for kind in whom:
                    yield Bomb(name, f"{kind}-{label}", _Repeated(_stream, version, side, frame), 60)
                yield Bomb(name, f"observer-{label}", _Repeated(_observed, version, side, frame), 60)
    for text in ("single octets", "octets of no protocol"):
        frame = b"x" if text.startswith("single") else b"\xce" * 9
        for version in VERSIONS:
            yield Bomb(text, f"observer-{version.label}", _Repeated(_one_by_one, version, 0, frame), 80)


def _one_by_one(version: Version, side: int, frame: bytes, count: int) -> bytes:
    return packed([*recorded(version)[2], *[(side, frame)] * count])


@dataclass(frozen=True)
class _Repeated:
    make: Callable[[Version, int, bytes, int], bytes]
    version: Version
    side: int
    frame: bytes

    def __call__(self, count: int) -> bytes:
        return self.make(self.version, self.side, self.frame, count)


def bombs(seeds: Seeds | None = None) -> list[Bomb]:
    """Return all bombs; with `seeds` also one for each of their frames."""
    named = {
        "value-1.0": _one_values(),
        "performative-1.0": _one_performatives(),
        "value-0-10": _ten_values(),
        "command-0-10": _ten_commands(),
        "headers-0-10": _ten_headers(),
        "table-0-9-1-rabbit": _tables(),
        "table-0-8": _tables(),
        "selector": _selectors(),
        "capture": _captures(),
    }
    found = [
        Bomb(name, target, make, 70 if target == "capture" else 120)
        for target, makers in named.items()
        for name, make in makers
    ]
    return [*found, *_entries(), *_streams(seeds)]


__all__ = ["Bomb", "bombs"]
