"""Reads and writes the headers of 0-8, 0-9-1 and 0-10 that carry more than the application's own: see `common`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ...amqp_1_0.codec.decode import Map
from ...amqp_1_0.codec.sections import MESSAGE_ANNOTATIONS, check_map
from ...errors import CodecError
from ..contents.deaths import DEATH, FIRST, LAST
from . import amqp_1_0_values, bodies
from .common import (
    ANNOTATION_PREFIX,
    ANNOTATIONS,
    APPLICATION_PROPERTIES,
    BODY,
    FOOTER,
    HEADER_PREFIX,
    TAKEN,
    Common,
    carried,
    take_carried,
)
from .values import Entries, Value, octets_of

if TYPE_CHECKING:
    from collections.abc import Callable, Container

_OPTIONAL: Final = "x-opt-"
_SPECIAL: Final = (BODY, ANNOTATIONS, APPLICATION_PROPERTIES, FOOTER)


_NAMES: Final = {HEADER_PREFIX + name: name for name in (*TAKEN, *_SPECIAL)}
"""Header names of everything carried."""


def take_headers(common: Common, entries: Entries, fit: Callable[[str], str] = str) -> None:
    """Set what headers contain: deaths, 1.0's sections and body, carried properties, and the application's own.

    `fit` returns a name in the form of the dialect's tables.
    """
    names = _NAMES if fit is str else {fit(known): name for known, name in _NAMES.items()}
    special: dict[str, Value] = {}
    native = common.properties.get("content-type")
    for name, value in entries:
        known = names.get(name)
        if known in _SPECIAL:
            special[known] = value
        elif (known is not None and take_carried(common, known, value)) or (
            common.deaths and name.startswith((fit(DEATH), fit(FIRST), fit(LAST)))
        ):
            continue
        elif name.startswith(_OPTIONAL) and name.isascii() and not name.startswith(ANNOTATION_PREFIX):
            common.annotations.append((("symbol", name), value))
        else:
            common.headers.append((name, value))
    _take_maps(common, special, fit)
    said = special.get(BODY)
    own = native is not None and fit(HEADER_PREFIX + "content-type") in [name for name, _ in entries]
    bodies.take_marker(common, str(said[1]) if said is not None and said[0] == "text" else None, own)


def _take_maps(common: Common, special: dict[str, Value], fit: Callable[[str], str]) -> None:
    for key, value in read_pairs(special.get(ANNOTATIONS)):
        common.annotations.append((key, value))
    for key, value in read_pairs(special.get(APPLICATION_PROPERTIES)):
        if key[0] == "text":
            _override(common.headers, key[1], fit(key[1]), value)
    footer = special.get(FOOTER)
    if footer is not None and _is_annotations(octets := _octets(footer)):
        common.footer = octets


def _override(entries: Entries, name: str, fit: str, value: Value) -> None:
    for place, (known, _) in enumerate(entries):
        if known in (name, fit):
            entries[place] = (name, value)
            return
    entries.append((name, value))


def _octets(value: Value) -> bytes:
    kind, content = value
    if kind == "text":
        # From a dialect whose tables have no byte array.
        return octets_of(content)
    return content if kind == "binary" else b""


def _is_annotations(octets: bytes) -> bool:
    try:
        check_map(octets, 0, len(octets), MESSAGE_ANNOTATIONS)
        return len(Map.from_wire(octets)) >= 0
    except (CodecError, IndexError):
        return False


def read_pairs(value: Value | None) -> list[tuple[Value, Value]]:
    """Return the pairs of a map carried as 1.0's octets; none for damaged ones."""
    if value is None:
        return []
    try:
        pairs = Map.from_wire(_octets(value)).pairs()
        return [(amqp_1_0_values.read(key), amqp_1_0_values.read(each)) for key, each in pairs]
    except (CodecError, IndexError):
        return []


def written_headers(
    common: Common, kept: Container[str], holds: Callable[[Value], bool], fits: Callable[[str], bool]
) -> Entries:
    """Return all headers but those of deaths: the application's, annotations of 1.0, and carried ones.

    `kept` are the properties that have a place elsewhere. `holds` and `fits` tell whether the version expresses a value
    or a name exactly: if not, it is written as well as possible, and carried in 1.0's form.
    """
    found: dict[str, Value] = {}
    inexact: list[tuple[Value, Value]] = []
    for name, value in common.headers:
        found[name] = value
        if not holds(value) or not fits(name):
            inexact.append((("text", name), value))
    rest: list[tuple[Value, Value]] = []
    for key, value in common.annotations:
        if key[0] == "symbol" and _is_optional(key[1]) and key[1] not in found and holds(value) and fits(key[1]):
            found[key[1]] = value
        else:
            rest.append((key, value))
    for name, value in common.properties.items():
        if name in TAKEN and name not in kept:
            found[HEADER_PREFIX + name] = carried(value)
    for name, pairs in ((APPLICATION_PROPERTIES, inexact), (ANNOTATIONS, rest)):
        octets = amqp_1_0_values.write_pairs(pairs)
        if octets:
            found[HEADER_PREFIX + name] = ("binary", octets)
    if common.footer:
        found[HEADER_PREFIX + FOOTER] = ("binary", common.footer)
    said = bodies.marker(common)
    if said is not None:
        found[HEADER_PREFIX + BODY] = ("text", said)
    return list(found.items())


def _is_optional(name: str) -> bool:
    return name.startswith(_OPTIONAL) and not name.startswith(ANNOTATION_PREFIX)


__all__ = ["read_pairs", "take_headers", "written_headers"]
