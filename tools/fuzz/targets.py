"""The attacked parts. A target takes one input and returns its result as lines of text.

An input is octets; for an observer they hold the pieces of both sides (`pieces_of`). A target that is fed piece by
piece gives the same lines for all cuts. `CodecError`, `SelectorError` and `NotACapture` are normal results.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from struct import pack, unpack_from
from typing import Any, Final

from amqp_sansio import AMQP_0_8, CodecError, Version, amqp_1_0
from amqp_sansio._classic.codec.dialect import DIALECTS, get_dialect
from amqp_sansio._classic.codec.table import decode_table
from amqp_sansio.amqp_0_10.codec.record import decode_command, decode_control, decode_headers
from amqp_sansio.amqp_0_10.codec.structs import decode_struct
from amqp_sansio.amqp_0_10.codec.types import decode_value
from amqp_sansio.amqp_1_0 import spec
from amqp_sansio.amqp_1_0.codec.composite import decode_frame_body
from amqp_sansio.amqp_1_0.codec.message import check_message
from amqp_sansio.amqp_1_0.codec.values import decode as decode_one
from amqp_sansio.broker.contents.amqp_1_0 import Content_1_0
from amqp_sansio.broker.frontends.amqp_1_0.selecting import Selector
from amqp_sansio.broker.frontends.amqp_1_0.selector import SelectorError
from amqp_sansio.broker.model.content import Message
from amqp_sansio.capture import NotACapture, read_segments
from amqp_sansio.recorded._json import encode as to_json
from amqp_sansio.recorded.tables import replay_segments

from .ends import LIMITS, VERSIONS, End, HubEnd, Lines, ObserverEnd, client, server

Run = Callable[[Sequence[bytes]], Lines]
Kept = tuple[object, int]
Pieces = list[tuple[int, bytes]]


@dataclass(frozen=True)
class Target:
    """One part to attack. `run` takes an input in pieces; `cuts` says where it may be cut, None: nowhere.

    `keep` takes an input and returns what is kept of it while more may come, and how many octets it holds unread.
    """

    name: str
    run: Run
    cuts: bool
    keep: Callable[[bytes], Kept] | None = None


def pieces_of(octets: bytes) -> Pieces:
    """Return the pieces in an observer's input: a kind of one octet, a length of four, and the octets."""
    pieces: Pieces = []
    at = 0
    while at + 5 <= len(octets):
        kind, size = unpack_from(">BI", octets, at)
        pieces.append((kind & 3, octets[at + 5 : at + 5 + size]))
        at += 5 + size
    return pieces


def packed(pieces: Iterable[tuple[int, bytes]]) -> bytes:
    """Return pieces as an observer's input."""
    return b"".join([pack(">BI", kind, len(octets)) + octets for kind, octets in pieces])


def _value(decode: Callable[[bytes], Any], pieces: Sequence[bytes]) -> Lines:
    try:
        value = decode(b"".join(pieces))
        return [repr(value), to_json(value)]
    except CodecError as error:
        return [f"refused: {error}"]


def _performative(octets: bytes) -> Any:
    record, end = decode_frame_body(octets)
    if isinstance(record, spec.Transfer):
        check_message(octets[end:])
    return record


def _selector(pieces: Sequence[bytes]) -> Lines:
    text = b"".join(pieces).decode("utf-8", "replace")
    try:
        selector = Selector(text)
    except SelectorError as error:
        return [f"refused: {error}"]
    return [repr(selector.accepts(message)) for message in _MESSAGES]


_MESSAGES: Final = tuple(
    Message(Content_1_0(amqp_1_0.Message(b"", application_properties=values).encode()), "", "", 1)
    for values in (
        {},
        {"a": 1, "b": "blue", "c": True, "d": 2.5, "e": None, "f": "x" * 50, "s": "100%_a"},
        {"a": spec.Decimal64(b"\x7e" + bytes(7)), "b": b"octets", "c": amqp_1_0.Symbol("s"), "d": -0.0},
        {"a": float("nan"), "b": float("inf"), "c": 1 << 62, "d": spec.UByte(0)},
    )
)


def _capture(pieces: Sequence[bytes]) -> Lines:
    try:
        segments = list(read_segments(iter(pieces)))
    except NotACapture as error:
        return [f"refused: {error}"]
    lines = [repr(segment) for segment in segments]
    return lines + [repr(row) for row in replay_segments(segments, body="base64", limits=LIMITS)]


def _end(make: Callable[[], Any], pieces: Sequence[bytes]) -> Lines:
    end = make()
    for piece in pieces:
        end.feed(piece)
    end.finish()
    lines: Lines = end.trace()
    return lines


def _observer(pieces: Sequence[bytes]) -> Lines:
    """Observe the pieces, each of which is one record of an input, or a part of one."""
    end = ObserverEnd()
    for piece in pieces:
        end.feed(pieces_of(piece))
    end.finish()
    return end.lines


def _kept_observer(octets: bytes) -> Kept:
    end = ObserverEnd()
    end.feed(pieces_of(octets))
    return end.observer, end.observer.held


def _kept_end(make: Callable[[], End], octets: bytes) -> Kept:
    end = make()
    end.feed(octets)
    core = end.endpoint
    return core, 0 if core.is_ending else LIMITS.unparsed - core.receive_budget


def _kept_hub(octets: bytes) -> Kept:
    end = HubEnd(history=0)
    end.feed(octets)
    return end.hub, 0


def _decoders() -> dict[str, Callable[[bytes], Any]]:
    found: dict[str, Callable[[bytes], Any]] = {
        "value-0-10": lambda octets: decode_value(octets)[0],
        "struct-0-10": lambda octets: decode_struct(octets, 0, len(octets)),
        "headers-0-10": lambda octets: list(decode_headers(octets, 0, len(octets))),
        "control-0-10": lambda octets: decode_control(octets, 0, len(octets)),
        "command-0-10": lambda octets: decode_command(octets, 0, len(octets))[0],
        "value-1.0": lambda octets: decode_one(octets)[0],
        "performative-1.0": _performative,
    }
    for name in DIALECTS:
        found[f"table-{name}"] = partial(_table, name)
    return found


def _table(dialect: str, octets: bytes) -> Any:
    return decode_table(pack(">I", len(octets)) + octets, get_dialect(dialect).tables)


def _all() -> list[Target]:
    found = [Target(name, partial(_value, decode), False) for name, decode in _decoders().items()]
    found.append(Target("selector", _selector, False))
    found.append(Target("capture", _capture, True))
    for version in VERSIONS:
        label = version.label
        for name, make in (("client", partial(client, version)), ("server", partial(server, version))):
            keep = partial(_kept_end, make)
            found.append(Target(f"{name}-{label}", partial(_end, make), True, keep))
    for version in VERSIONS:
        found.append(Target(f"hub-{version.label}", partial(_end, HubEnd), True, _kept_hub))
    for version in VERSIONS:
        found.append(Target(f"observer-{version.label}", _observer, True, _kept_observer))
    return found


TARGETS: Final = {target.name: target for target in _all()}
"""Every target by name. The hub and the observer take any version: their names have the version of their input."""


def version_of(name: str) -> Version:
    """Return the version in a target's name; a dialect belongs to its version."""
    found = [version for version in VERSIONS if f"-{version.label}" in name]
    return found[0] if found else AMQP_0_8


__all__ = ["TARGETS", "Lines", "Pieces", "Target", "packed", "pieces_of", "version_of"]
