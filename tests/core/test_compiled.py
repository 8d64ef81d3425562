"""The module in C against the pure text of the same steps: results, types, exceptions, events, state and pickles.

It isn't built for the default suite, so that this runs the pure text: `make test-compiled` builds it.
"""

# pyright: reportPrivateUsage=false
from __future__ import annotations

import pickle
from base64 import b64encode
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from functools import cache
from random import Random
from struct import Struct
from struct import error as StructError
from types import MemberDescriptorType
from typing import TYPE_CHECKING, Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amqp_sansio import AMQP_0_8, AMQP_0_9_1, COMPILED, Side, Signal
from amqp_sansio._classic.codec import methods
from amqp_sansio._classic.codec.content_reader import ContentReader
from amqp_sansio._classic.codec.method import Method
from amqp_sansio._classic.codec.table import RABBIT as RABBIT_TABLES
from amqp_sansio._classic.codec.table import SPEC_0_8, SPEC_0_9_1, Table, TableRules
from amqp_sansio._classic.endpoint.fastpath import ClientFastPath
from amqp_sansio._classic.observer import lane
from amqp_sansio._classic.observer.fastpath import ObserverFastPath
from amqp_sansio._ground.receive_buffer import ReceiveBuffer
from amqp_sansio._watching.observation import Observed
from amqp_sansio.amqp_0_9_1 import BasicProperties, Delivery
from amqp_sansio.amqp_0_9_1.spec import RABBIT, BasicAck, BasicDeliver, BasicPublish
from amqp_sansio.amqp_1_0 import Accepted, Header, Properties, Symbol
from amqp_sansio.amqp_1_0.codec import composite, decode, fastpath, message, performatives
from amqp_sansio.amqp_1_0.codec.faults import READ_FAULTS
from amqp_sansio.amqp_1_0.observer import lane as ten_lane
from amqp_sansio.amqp_1_0.spec import Disposition, Flow, Transfer
from amqp_sansio.testing.amqp_1_0 import records
from tests.classic.endpoint.test_fast_path import receiving
from tests.classic.endpoint.test_fast_path import recorded as octets_for
from tests.kit.captures import carried
from tests.kit.classic_values import table_values
from tests.kit.conversations import packets_of
from tests.kit.damage import BEHIND, FRONT, content, damaged, outcome, spoilt
from tests.kit.lanes import NAMES, events_of
from tests.kit.observing import Talk, recorded, take
from tests.kit.octets_classic import METHOD, body, frame, header
from tests.kit.pair import structure, told
from tests.test_fast_paths import TRAFFIC

if TYPE_CHECKING or COMPILED:
    from amqp_sansio._classic.codec.makers import ACKS, DELIVERS, PUBLISHES, UNREAD
    from amqp_sansio._classic.endpoint.fastpath import MAKERS as OF_DELIVERIES
    from amqp_sansio._classic.observer.fastpath import MAKERS as OF_METHODS
    from amqp_sansio._compiled import (
        maker,
        scan_content,
        scan_frames,
        scan_list,
        scan_map,
        scan_properties,
        scan_rows,
        scan_table,
    )
    from amqp_sansio._watching.observation import OBSERVED

if not COMPILED:
    pytest.skip("the module in C isn't built: make test-compiled builds and tests it", allow_module_level=True)

STANDING_IN: Final[tuple[tuple[Any, str, str], ...]] = (
    (ContentReader, "read", "_read"),
    (ClientFastPath, "read", "_read"),
    (ObserverFastPath, "read", "_read"),
    (ClientFastPath, "following", "_known_following"),
    (BasicProperties, "_load", "_read"),
    (lane.ObserverLane, "run", "_run"),
    (Table, "_load", "_read"),
    (Flow, "fast_fields", "_read"),
    (Transfer, "fast_fields", "_read"),
    (Disposition, "fast_fields", "_read"),
    (Properties, "fast", "_read"),
)
"""Methods that call the module, and the pure text of each."""
FRAMES: Final[dict[int, Any]] = {
    word: kind
    for kind in (Flow, Transfer, Disposition)
    for word in (0x0053_00C0 | kind.CODE << 8, 0x0053_00D0 | kind.CODE << 8)
}
"""Where a frame's body finds its reader."""


def _scans_nothing(*_: object) -> None:
    """The module is asked for no rows."""


@contextmanager
def pure() -> Generator[None]:
    """Run the pure text."""
    with pytest.MonkeyPatch.context() as patch:
        for owner, name, text in STANDING_IN:
            patch.setattr(owner, name, getattr(owner, text))
        for word, kind in FRAMES.items():
            patch.setitem(composite.FAST, word, kind._read)
        patch.setattr(ten_lane.ObserverLane, "_scan", _scans_nothing)
        patch.setattr(message, "_read_properties", Properties._read)
        for module in (message, decode):
            patch.setattr(module, "read_properties", fastpath._read_properties)
            patch.setattr(module, "read_symbols", fastpath._read_symbols)
        yield


class Noting(ContentReader[None, list[object]]):
    """A reader whose methods return what they are given."""

    __slots__ = ()

    def delivered(
        self,
        source: None,
        number: int,
        consumer_tag: str,
        tag: int,
        redelivered: bool,
        exchange: str,
        routing_key: str,
        raw: bytes,
        body: bytes | None,
        size: int,
        end: int,
    ) -> list[object]:
        names = consumer_tag, exchange, routing_key
        return ["delivered", source, number, names, tag, redelivered, raw, body, size, end]

    def published(self, source: None, number: int, route: Any, raw: bytes, body: bytes, end: int) -> list[object]:
        return ["published", source, number, route, raw, body, end]

    def acknowledged(self, source: None, number: int, tag: int, multiple: bool, end: int) -> list[object]:
        return ["acknowledged", source, number, tag, multiple, end]

    def continued(self, source: None, number: int, size: int) -> list[object]:
        return ["continued", source, number, size]


def typed(value: Any) -> tuple[str, object]:
    """A value with the types of all that is in it."""
    kind: str = type(value).__qualname__
    return kind, [typed(each) for each in value] if kind in ("list", "tuple") else value


def slots(record: Any) -> tuple[object, ...]:
    """The class of a record, and what is in all of its slots, as long as nothing has read it."""
    found: list[object] = []
    for kind in type(record).__mro__:
        for name, slot in kind.__dict__.items():
            if isinstance(slot, MemberDescriptorType):
                try:
                    value = slot.__get__(record)
                except AttributeError:
                    value = "unset"
                found.append(
                    (name, slots(value) if isinstance(value, (BasicProperties, Method, Table)) else typed(value))
                )
    return record.__class__, found


def with_records(unit: Any, makers: Any) -> Any:
    """What `scan_content` is to give with makers, where it gives `unit` without; records are made by their classes."""
    if unit is None or unit[0] not in (40, 60) or (unit[0] == 60 and unit[5] is None):
        return unit
    if unit[0] == 60:
        _, names, tag, redelivered, raw, body, size, end = unit
        properties = BasicProperties.from_wire(raw, RABBIT_TABLES)
        channel, consumer_tag, *route = names
        fields: list[Any] = [consumer_tag, tag, redelivered, *route]
        if makers is OF_DELIVERIES:
            delivery: Any = Delivery
            return 61, names, tag, size, end, delivery(channel, *fields, body, raw, RABBIT_TABLES)
        return 61, names, tag, size, end, BasicDeliver(*fields), properties, raw, body
    if makers is OF_DELIVERIES:
        return unit
    return 41, *unit[1:], BasicPublish(*unit[2]), BasicProperties.from_wire(unit[3], RABBIT_TABLES)


def _told_unit(unit: tuple[Any, ...] | None) -> object:
    records = (BasicProperties, Method, Delivery)
    return unit and [slots(each) if isinstance(each, records) else typed(each) for each in unit]


def read(octets: bytes, pos: int = 0, body_max: int = 131_064, other_max: int = 131_064) -> list[object] | None:
    """Return the unit that both texts read, which is the same; a reader that knows another unit reads it too."""
    buffer = ReceiveBuffer()
    buffer.data = octets
    buffer.pos = pos
    found = Noting(body_max, other_max)._read(buffer, None)
    scanning = Noting(body_max, other_max)
    for _ in range(2):
        assert typed(scanning._scan(buffer, None)) == typed(found)
    for other in UNITS:
        before = ReceiveBuffer()
        before.data = other
        scanning._scan(before, None)
        assert typed(scanning._scan(buffer, None)) == typed(found)
    scan: Any = scan_content
    unit = scan(octets, pos, body_max, other_max, None)
    for makers in (OF_DELIVERIES, OF_METHODS):
        made = scan(octets, pos, body_max, other_max, None, RABBIT_TABLES, makers)
        assert _told_unit(made) == _told_unit(with_records(unit, makers))
    return found


def _method(record: Any, channel: int) -> bytes:
    return frame(METHOD, channel, record.encode(RABBIT))


def _units() -> Iterator[bytes]:
    for channel, properties, octets in (
        (1, b"\0\0", b"hello"),
        (0x1234, b"\x10\0\x02", b""),
        (1, b"\0\0", bytes(1025)),
    ):
        content = header(channel, 60, len(octets), properties) + (body(channel, octets) if octets else b"")
        yield _method(BasicDeliver("tag", 5, True, "", "key"), channel) + content
        yield _method(BasicPublish("e", "k\u00fc", mandatory=True), channel) + content
    yield _method(BasicDeliver("", 2**64 - 1, False, "e" * 255, "\u20ac"), 1) + header(1, 60, 70_000)
    yield _method(BasicAck(2**63, True), 7)
    yield body(3, b"as it comes")
    yield _method(BasicPublish("", ""), 1) + header(1, 60, 2**64 - 1)


UNITS: Final = tuple(_units())


@pytest.mark.parametrize("unit", range(len(UNITS)))
def test_damaged_units_are_read_alike(unit: int) -> None:
    octets = UNITS[unit]
    kinds = [octets] if len(octets) > 1000 else [*damaged(octets)]
    names = {found[0] for each in kinds if (found := read(each)) is not None}
    for each in kinds[:: 1 + len(kinds) // 300]:
        read(FRONT + each + BEHIND, len(FRONT))
    # One of them is whole, but for the last one: nobody waits for a publish.
    assert names or unit == len(UNITS) - 1


@pytest.mark.parametrize("bound", [-8, 0, 1, 13, 14, 15, 24, 1024, 2**31, 2**32, 2**63, 2**70])
def test_bounds_of_any_size_are_kept_alike(bound: int) -> None:
    for octets in UNITS:
        read(octets, 0, bound, 131_064)
        read(octets, 0, 131_064, bound)


@pytest.mark.parametrize("size", [0, 1, 12, 13, 2**31 - 1, 2**31, 2**32 - 1])
def test_lengths_that_lie_are_read_alike(size: int) -> None:
    """Those of each frame and of the body, up to the largest that their fields hold."""
    for octets in UNITS:
        at = 0
        while at + 7 < len(octets):
            spoilt = octets[: at + 3] + size.to_bytes(4, "big") + octets[at + 7 :]
            read(spoilt)
            read(spoilt + BEHIND)
            at += 8 + int.from_bytes(octets[at + 3 : at + 7], "big")
    whole = Struct(">Q")
    start = _method(BasicDeliver("t", 1, False, "", "k"), 1) + header(1, 60, 0)
    for large in (size, size << 31, size << 32 | size):
        read(start[:-11] + whole.pack(large) + start[-3:] + body(1, b"x"))


@pytest.mark.parametrize(
    "method", [BasicDeliver("t", 1, False, "", "k"), BasicPublish("", "k")], ids=lambda it: it.NAME
)
@pytest.mark.parametrize("size", range(5))
def test_properties_that_are_too_short_are_read_alike(method: Any, size: int) -> None:
    for octets in (b"", b"x"):
        content = header(1, 60, len(octets), bytes(size)) + (body(1, octets) if octets else b"")
        assert (read(_method(method, 1) + content) is None) is (size < 2)


@pytest.mark.parametrize("change", ["channel", "tag", "exchange", "key", "nothing"])
def test_a_delivery_keeps_nothing_else_of_the_one_before(change: str) -> None:
    def delivery(channel: int, tag: str, exchange: str, key: str) -> bytes:
        return _method(BasicDeliver(tag, 1, False, exchange, key), channel) + header(channel, 60, 0)

    fields: dict[str, Any] = {"channel": 1, "tag": "same", "exchange": "same", "key": "same"}
    first: Any = scan_content(delivery(**fields), 0, 2000, 2000, None)
    if change != "nothing":
        fields[change] = 2 if change == "channel" else "else"
    second: Any = scan_content(delivery(**fields), 0, 2000, 2000, first[1])
    assert second[1] == tuple(fields.values())
    assert (second[1] is first[1]) is (change == "nothing")


@pytest.mark.parametrize("version", [AMQP_0_8, AMQP_0_9_1], ids=str)
@pytest.mark.parametrize("side", [Side.CLIENT, Side.SERVER], ids=lambda side: side.value)
def test_every_place_of_a_stream_is_read_alike(version: Any, side: Side) -> None:
    """Octets that no sender meant as the begin of a frame."""
    octets = octets_for(version, side)
    for pos in (*range(4000), *range(4000, len(octets), 997), len(octets) - 1, len(octets), len(octets) + 1):
        read(octets, pos)


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ((bytearray(40), 0, 1, 1, None), TypeError),
        ((b"", "0", 1, 1, None), TypeError),
        ((b"", 0, 1.0, 1, None), TypeError),
        ((b"", 0, 1, None, None), TypeError),
        ((b"", 0, 1, 1), TypeError),
        ((b"", -1, 1, 1, None), ValueError),
        ((b"", 2**70, 1, 1, None), OverflowError),
        ((UNITS[0], 0, 2000, 2000, (1, "\ud800", "", "")), UnicodeEncodeError),
    ],
)
def test_other_arguments_are_refused(arguments: tuple[Any, ...], error: type[Exception]) -> None:
    with pytest.raises(error):
        scan_content(*arguments)


@pytest.mark.parametrize(
    "names", [(), (1, 2, 3, 4), ("a", "b", "c", "d"), (1, "a", "b"), "abcd", 7, (None, "", "", "")]
)
def test_names_of_another_shape_are_none(names: Any) -> None:
    for octets in UNITS:
        assert scan_content(octets, 0, 2000, 2000, names) == scan_content(octets, 0, 2000, 2000, None)


def test_what_two_units_have_in_common_is_one_object() -> None:
    scan: Any = scan_content
    first = scan(UNITS[0], 0, 2000, 2000, None)[1]
    assert scan(UNITS[0], 0, 2000, 2000, first)[1] is first
    route = scan(UNITS[1], 0, 2000, 2000, first)[2]
    assert scan(UNITS[1], 0, 2000, 2000, route)[2] is route


def test_makers_make_what_the_class_makes() -> None:
    assert slots(DELIVERS("c", 1, True, "e", "k")) == slots(BasicDeliver("c", 1, True, "e", "k"))
    assert slots(PUBLISHES("e", "k", True, False)) == slots(BasicPublish("e", "k", True, False))
    assert slots(ACKS(1, True)) == slots(BasicAck(1, True))
    assert slots(UNREAD(b"\0\0", RABBIT_TABLES)) == slots(BasicProperties.from_wire(b"\0\0", RABBIT_TABLES))
    fields: dict[str, Any] = {name: name for name in Observed.__match_args__ if name not in ("answers", "missing")}
    assert slots(OBSERVED(*fields.values())) == slots(Observed(**fields))
    known = pickle.loads(pickle.dumps(DELIVERS("c", 1, True, "e", "k")))
    assert known == BasicDeliver("c", 1, True, "e", "k")


class Slotted:
    __slots__ = ("a", "b")
    a: object
    b: object
    shared = 1

    def __init__(self) -> None:
        raise AssertionError


class Within(Slotted):
    __slots__ = ("c",)
    c: object


def test_makers_leave_other_slots_empty_and_share_the_last_values() -> None:
    last = object()
    make: Any = maker(Within, ("c", "a"), (last,))
    made = make(5)
    assert type(made) is Within and made.c == 5 and made.a is last
    assert not hasattr(made, "b")
    made.b = made.a = 7
    assert (made.a, made.b) == (7, 7)
    assert isinstance(maker(Slotted, (), ())(), Slotted)


class ADict(dict[str, str]):
    __slots__ = ("a",)


REFUSED_MAKERS: Final[tuple[tuple[tuple[Any, ...], type[Exception]], ...]] = (
    ((Slotted, ("a",)), TypeError),
    ((5, ("a",), ()), TypeError),
    ((Slotted, ["a"], ()), TypeError),
    ((Slotted, ("a",), []), TypeError),
    ((Slotted, ("a",), (1, 2)), TypeError),
    ((Slotted, ("c",), ()), AttributeError),
    ((Slotted, ("shared",), ()), TypeError),
    ((Slotted, ("__init__",), ()), TypeError),
    ((Slotted, (5,), ()), TypeError),
    ((Slotted, ("a",) * 33, ()), TypeError),
    ((ADict, ("a",), ()), TypeError),
    ((dict, (), ()), TypeError),
    ((type("Other", (), {"stolen": Slotted.__dict__["a"]}), ("stolen",), ()), TypeError),
)


@pytest.mark.parametrize(("arguments", "error"), REFUSED_MAKERS)
def test_makers_of_other_things_are_refused(arguments: tuple[Any, ...], error: type[Exception]) -> None:
    with pytest.raises(error):
        maker(*arguments)


def test_makers_refuse_other_values_and_are_never_made_otherwise() -> None:
    made: Any = maker(Slotted, ("a", "b"), (1,))
    scan: Any = scan_content
    for others, named in (((), {}), ((1, 2), {}), ((), {"a": 1}), ((1,), {"b": 1})):
        with pytest.raises(TypeError):
            made(*others, **named)
    with pytest.raises(TypeError):
        type(made)()
    wrong: tuple[Any, ...] = (None, (UNREAD,) * 4, (None, DELIVERS, None, None), (UNREAD, DELIVERS, DELIVERS, None))
    for makers in (*wrong, (UNREAD, None, None), (UNREAD, BasicDeliver, None, None), (DELIVERS, None, None, None)):
        with pytest.raises(TypeError):
            scan(UNITS[0], 0, 2000, 2000, None, RABBIT_TABLES, makers)
    with pytest.raises(TypeError):
        scan(UNITS[0], 0, 2000, 2000, None, RABBIT_TABLES)


TEXTS: Final = {b"\0\0": "plain", b"\x10\0\x02": "kept \u20ac"}
"""Of properties."""
INSTANT: Final = (5_000, 5, "now")
LINE: Final = ("<", 0, ",", 1, ",", 2, ",", 3, ",", 10)
"""The begin of the lines of all units."""
FORMS: Final[tuple[Any, ...]] = (
    (*range(15), None, "text", (*LINE, 4, 6, 11, "\u00e9", 12, 13, 14, 5, ">")),
    ((*LINE, 6, 7, ";", 12, 13, 14, 5),),
    ((*LINE, 4, 6), 8, 9, ()),
)
"""All values in columns and in lines; those of a deliver are wider than one octet a character."""


def _shown(item: Any, values: dict[int, Any]) -> Any:
    """Return the value or the text that an item of a form makes of a unit with these values."""
    if type(item) is int:
        return values[item]
    if type(item) is not tuple:
        return item
    items: list[Any] = [*item]
    parts = [each if isinstance(each, str) else values[each] for each in items]
    return "".join([str(each).lower() if isinstance(each, bool) else str(each) for each in parts])


def _row_by_row(octets: bytes, pos: int, bounds: Any, base: int, stop: int, seq: int, channels: Any, plan: Any) -> Any:
    """Make rows one by one, of what `scan_content` reads, as `scan_rows` is to make them."""
    forms, (make, texts, names, table) = plan[:3], plan[3:]
    rows: list[Any] = []
    while (unit := scan_content(octets, pos, bounds[0], bounds[1], None)) is not None:
        end = unit[-1]
        values: dict[int, Any] = {0: seq, 2: end - pos, 3: base + pos, 8: INSTANT[0], 9: INSTANT[1], 10: INSTANT[2]}
        named: tuple[str, ...] = ()
        raw: bytes = b""
        body: bytes | None = b""
        form = None
        if unit[0] == 60:
            form = forms[0]
            (values[1], *rest), values[4], values[6], raw, body = unit[1:6]
            named = tuple(rest)
            # The method has no such field.
            values[7] = False
        elif unit[0] == 40:
            form = forms[1]
            _, values[1], route, raw, body, _ = unit
            named, (values[6], values[7]) = route[:2], route[2:]
        elif unit[0] == 80:
            form = forms[2]
            _, values[1], values[4], values[6], _ = unit
        if form is None or body is None or len(body) > bounds[2] or values[1] not in channels:
            break
        if base + end > stop:
            return rows, (pos, seq, base + end)
        values[5] = len(body)
        if raw:
            values[14] = texts.get(raw)
            if values[14] is None:
                break
        values |= dict(zip((13, 12, 11), [names[name] for name in reversed(named)], strict=False))
        if form:
            row = tuple([_shown(item, values) for item in form])
            rows.append((table, row if make is None else make(row)))
        pos, seq = end, seq + 1
    return rows, (pos, seq, 0)


class Named(dict[str, str]):
    """Texts that are made when they are asked for."""

    def __missing__(self, name: str) -> str:
        return f"[{name}]"


def rows_of(
    octets: bytes,
    pos: int = 0,
    *,
    bounds: tuple[int, int, int] = (131_064, 131_064, 131_064),
    base: int = 70,
    stop: int = 1 << 40,
    channels: Any = frozenset((1, 7, 0x1234)),
    forms: tuple[Any, ...] = FORMS,
    make: Any = None,
) -> list[Any]:
    """Return the rows of octets, which are those made one by one."""
    plan: Any = (*forms, make, TEXTS, Named(), "events")
    found: list[Any] = []
    end = scan_rows(octets, pos, *bounds, base, stop, 3, channels, INSTANT, plan, found)
    one_by_one, ended = _row_by_row(octets, pos, bounds, base, stop, 3, channels, plan)
    assert typed(found) == typed(one_by_one)
    assert typed(end) == typed(ended)
    return found


USUAL: Final = tuple([each for each in UNITS if len(each) < 1000 and each[0] == METHOD and rows_of(each)])


def test_rows_of_many_units_are_those_made_one_by_one() -> None:
    assert {unit[10] for unit in USUAL} == {40, 60, 80}
    whole = b"".join(USUAL * 3)
    assert len(rows_of(whole)) == 3 * len(USUAL)
    assert len(rows_of(FRONT + whole + BEHIND, len(FRONT))) == 3 * len(USUAL)
    # Each unit behind each other one, and in front of octets that are none.
    for first in UNITS:
        for second in UNITS:
            rows_of(first + second + BEHIND)


@pytest.mark.parametrize("unit", range(len(USUAL)))
def test_rows_of_damaged_units_are_those_made_one_by_one(unit: int) -> None:
    """Between units that are whole."""
    kinds = [*damaged(USUAL[unit])]
    for each in kinds[:: 1 + len(kinds) // 500]:
        assert rows_of(USUAL[0] + each + USUAL[-1])


def test_rows_end_at_every_time_and_bound() -> None:
    whole = b"".join(USUAL)
    counts: set[int] = set()
    for stop in range(70, 72 + len(whole)):
        counts.add(len(rows_of(whole, stop=stop)))
    assert counts == {*range(len(USUAL) + 1)}
    for bound in (-1, 0, 2, 4, 5, 2**31, 2**63, 2**70):
        for place in range(3):
            bounds = [131_064] * 3
            bounds[place] = bound
            rows_of(whole, bounds=(bounds[0], bounds[1], bounds[2]))
    for channels in (set[int](), {1}, {7, 0x1234}, frozenset((1,))):
        for unit in USUAL:
            rows_of(unit + USUAL[0] + unit, channels=channels)
    for place in (2**32, 2**63 - 1):
        rows_of(whole, base=place, stop=2**64 - 1)


def test_rows_are_what_the_forms_say() -> None:
    whole = b"".join(USUAL * 2)
    for place in range(3):
        for other in (None, ()):
            forms = [*FORMS]
            forms[place] = other
            assert len(rows_of(whole, forms=tuple(forms))) < 2 * len(USUAL)
    assert {type(row) for _, row in rows_of(whole, make=list)} == {list}
    for text in ("", "a", "\xff", "\u20ac", "\U0001f600"):
        for row in rows_of(
            whole, forms=tuple([((text, 0, 4 if form is not FORMS[1] else 6, text),) for form in FORMS])
        ):
            assert row[1][0].startswith(text) and row[1][0].endswith(text)


@pytest.mark.parametrize("column", [-1, 15, 2**70, (True,) * 65, (15,), (8,), (None,), (b"",)])
def test_columns_of_other_forms_are_refused(column: Any) -> None:
    for unit in USUAL:
        with pytest.raises(TypeError):
            rows_of(unit, forms=((column,),) * 3)


OTHERS: Final[tuple[Any, ...]] = (
    *((place, "", TypeError) for place in range(12)),
    *((place, 2**70, OverflowError) for place in (1, 5, 6, 7)),
    *((place, -1, OverflowError) for place in (5, 6, 7)),
    (1, -1, ValueError),
    (9, (1, 2), TypeError),
    (10, ((), (), (), None, {}, {}), TypeError),
    (10, ((), 5, (), None, {}, {}, ""), TypeError),
    (10, ((), (), (), None, (), {}, ""), TypeError),
    (10, (((11,),), (), (), None, TEXTS, {"tag": 1, "": 2, "key": 3}, ""), TypeError),
    (10, (((11,),), (), (), None, TEXTS, {}, ""), KeyError),
    (10, (((11,),), (), (), None, {b"\0\0": b""}, Named(), ""), TypeError),
    (10, (((11,),), (), (), 5, TEXTS, Named(), ""), TypeError),
)
"""A place among the arguments of `scan_rows`, what stands there, and what it raises."""


@pytest.mark.parametrize(("place", "value", "error"), OTHERS)
def test_other_arguments_of_rows_are_refused(place: int, value: Any, error: type[Exception]) -> None:
    plan = (*FORMS, None, TEXTS, Named(), "events")
    arguments: list[Any] = [UNITS[0], 0, 2000, 2000, 2000, 0, 9999, 0, {1}, INSTANT, plan, []]
    scan_rows(*arguments)
    assert arguments[-1]
    arguments[place] = value
    with pytest.raises(error):
        scan_rows(*arguments)
    with pytest.raises(TypeError):
        scan_rows(*arguments[:-1])


@pytest.mark.parametrize("lines", [True, False], ids=["lines", "columns"])
@pytest.mark.parametrize("version", [AMQP_0_8, AMQP_0_9_1], ids=str)
def test_most_rows_of_a_replay_of_events_are_made_at_once(
    version: Any, lines: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    talk = Talk(version).login().channel().consumer()
    begin, units = [*talk.arrivals], 20
    for tag in range(1, units + 1):
        talk.client(talk.message(talk.named("basic.publish", exchange="e", routing_key="k"), b"body"))
        talk.client(talk.named("basic.ack", delivery_tag=tag), channel=1)
        deliver = talk.named("basic.deliver", consumer_tag="c", delivery_tag=tag, exchange="e", routing_key="k")
        talk.server(talk.message(deliver, b"body"))
    together = {"client": b"", "server": b""}
    for sender, octets in talk.arrivals[len(begin) :]:
        together[sender] += octets if isinstance(octets, bytes) else b""
    sent = [("server", together["server"]), ("client", together["client"])]
    segments = packets_of([*begin, *sent], most=60_000)
    at_once: list[int] = []

    def counting(*arguments: Any) -> tuple[int, int, int]:
        found = scan_rows(*arguments)
        at_once.append(found[1] - arguments[7])
        return found

    monkeypatch.setattr(lane, "scan_rows", counting)
    options = {"columns": NAMES, "lines": lines}
    found = events_of(segments, options, alone=True)
    # The first of each side tells that the channel is open.
    assert sum(at_once) == 3 * units - 2
    assert found == events_of(segments, options, alone=False)


class Around:
    """What a lane says of the fields around the numbers."""

    plans = (None, None)

    def around(self, record: Any, names: tuple[str, ...]) -> tuple[str, str]:
        shown = [f"{name}={getattr(record, name)}" for name in record.__match_args__ if name not in names]
        return shown[0], "".join(shown[1:])


def frame_1_0(channel: int, record: Any, payload: bytes = b"") -> bytes:
    octets: bytes = record.encode() + payload
    return (len(octets) + 8).to_bytes(4, "big") + b"\2\0" + channel.to_bytes(2, "big") + octets


HEAD: Final = Header(durable=True).encode() + Properties("id", to="q").encode()
"""Sections before the data."""
WIDE_HEAD: Final = b"\0\x53\x72\xd1" + (4).to_bytes(4, "big") + bytes(4)
SECTIONS: Final = {b"": "none", HEAD: "kept \u20ac", WIDE_HEAD: "wide", b"\0\x53\x73\x45": "empty"}
"""Texts of sections."""
DATA: Final = b"\0\x53\x75\xa0\5hello"
WIDE_DATA: Final = b"\0\x53\x75\xb0\0\0\1\0" + bytes(256)
FRAMES_1_0: Final = (
    frame_1_0(1, Transfer(0, 7, b"tag", 0, True), DATA),
    frame_1_0(1, Transfer(0, 70_000, b"", None, False), HEAD + DATA),
    frame_1_0(
        2, Transfer(300, 2**32 - 1, bytes(range(223, 255)), 0), WIDE_HEAD + b"\0\x53\x75\xb0\0\0\1\0" + bytes(256)
    ),
    frame_1_0(1, Transfer(0, 8, b"\xff", 0, state=Accepted(), settled=True), b"\0\x53\x73\x45" + DATA),
    frame_1_0(1, Disposition(True, 5, 70_000, True, Accepted())),
    frame_1_0(2, Disposition(False, 300)),
    frame_1_0(1, Disposition(True, 300, 9, False, Accepted())),
)
OTHER_FRAMES: Final = (
    frame_1_0(1, Transfer(0, 9, b"tag", 0, more=True), DATA),
    frame_1_0(1, Transfer(0, 7, b"tag", 0, True), DATA + DATA),
    frame_1_0(1, Transfer(0, 7, b"tag", 0, True), b"\0\x53\x77\xa1\1v"),
    frame_1_0(1, Transfer(0, 7, b"tag", 0, True), Header(priority=7).encode() + DATA),
    frame_1_0(3, Transfer(0, 7, b"tag", 0, True), DATA),
    frame_1_0(3, Disposition(True, 5, 70_000, True, Accepted())),
    frame_1_0(1, Flow(0, 1, 2, 3)),
    bytes(8),
)
"""What isn't usual, or isn't known."""
OPENED: Final = frozenset(((1, 0), (1, -1), (2, 300), (2, -1)))
FORMS_1_0: Final[tuple[Any, ...]] = (
    (*(n for n in range(18) if n not in (6, 7, 11, 12, 13)), None, (*LINE, 4, ";", 15, 17, 16, 14, 5, ">")),
    ((*LINE, 15, 4, 18, 16), 18, 8),
)


@cache
def layouts_1_0() -> dict[bytes, Any]:
    lane: Any = ten_lane.ObserverLane(Around())  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    for each in FRAMES_1_0:
        assert lane._learn(each, 0) is not None
    return dict(lane._layouts)


def _data_of(payload: bytes) -> tuple[int, int] | None:
    """Where the data of a message begins that is all behind its sections, and its size."""
    at = 0
    while payload[at : at + 2] == b"\0\x53" and len(payload) - at >= 5:
        section, code = payload[at + 2 : at + 4]
        left = len(payload) - at
        wide = code in (0xB0, 0xD0, 0xD1)
        begin = 8 if wide else 5
        size = int.from_bytes(payload[at + 4 : at + begin], "big") + begin
        if section == 0x75:
            return (at, size - begin) if code in (0xA0, 0xB0) and size == left else None
        if not 0x70 <= section <= 0x74 or code not in (0x45, 0xC0, 0xC1, 0xD0, 0xD1):
            return None
        size = 4 if code == 0x45 else size
        if size > left:
            return None
        at += size
    return None


def _frame_by_frame(octets: bytes, pos: int, most: int, room: int, layouts: Any, stop: int, plan: Any) -> Any:
    """Make rows one by one, with the layouts' own structs, as `scan_frames` is to make them."""
    forms, (make, texts, _, table) = plan[:2], plan[3:]
    rows: list[Any] = []
    base, seq = 70, 3
    while (layout := layouts.get(octets[pos + 8 : pos + 16])) is not None:
        try:
            found = layout.unpack(octets, pos)
        except StructError:
            break
        (size, plain, channel, head, first, between), tail = found[:6], found[-1]
        end, is_transfer = pos + size, layout.handle >= 0
        form = forms[0 if is_transfer else 1]
        if (head, between, tail) != (layout.head, layout.between, layout.tail) or plain != 0x200 or size > most:
            break
        payload = octets[pos + layout.start : end]
        if end > len(octets) or size < layout.start or form is None:
            break
        data = _data_of(payload) if is_transfer else None
        if (payload and (data is None or len(payload) > room)) or (is_transfer and not payload):
            break
        if (channel, layout.handle) not in OPENED:
            break
        if base + end > stop:
            return rows, (pos, seq, base + end)
        last = found[6] if not is_transfer and len(found) == 8 else None
        values: dict[int, Any] = {0: seq, 1: channel, 2: size, 3: base + pos, 4: first, 5: data[1] if data else 0}
        values |= {8: INSTANT[0], 9: INSTANT[1], 10: INSTANT[2], 15: layout.before, 16: layout.after}
        values[18] = "" if last is None else f',"last":{last}'
        if data is not None:
            values[17] = f'{{"base64":"{b64encode(found[6]).decode()}"}}'
            values[14] = texts.get(payload[: data[0]])
            if values[14] is None:
                break
        if form:
            row = tuple([_shown(item, values) for item in form])
            rows.append((table, row if make is None else make(row)))
        pos, seq = end, seq + 1
    return rows, (pos, seq, 0)


def frames_of(
    octets: bytes,
    pos: int = 0,
    *,
    most: int = 131_072,
    room: int = 131_072,
    layouts: Any = None,
    stop: int = 1 << 40,
    forms: tuple[Any, ...] = FORMS_1_0,
    make: Any = None,
) -> list[Any]:
    """Return the rows of octets of 1.0, which are those made one by one."""
    plan: Any = (*forms, None, make, SECTIONS, Named(), "events")
    layouts = layouts_1_0() if layouts is None else layouts
    found: list[Any] = []
    end = scan_frames(octets, pos, most, room, layouts, 70, stop, 3, {*OPENED}, INSTANT, plan, found)
    one_by_one, ended = _frame_by_frame(octets, pos, most, room, layouts, stop, plan)
    assert typed(found) == typed(one_by_one)
    assert typed(end) == typed(ended)
    return found


def test_rows_of_many_frames_are_those_made_one_by_one() -> None:
    whole = b"".join(FRAMES_1_0 * 2)
    assert len(frames_of(whole)) == 2 * len(FRAMES_1_0)
    assert len(frames_of(FRONT + whole + BEHIND, len(FRONT))) == 2 * len(FRAMES_1_0)
    for first in (*FRAMES_1_0, *OTHER_FRAMES):
        for second in (*FRAMES_1_0, *OTHER_FRAMES):
            frames_of(first + second + BEHIND)
    for other in OTHER_FRAMES:
        assert len(frames_of(FRAMES_1_0[0] + other + whole)) == 1
    assert not frames_of(whole, layouts={})


@pytest.mark.parametrize("place", range(len(FRAMES_1_0)))
def test_rows_of_damaged_frames_are_those_made_one_by_one(place: int) -> None:
    kinds = [*damaged(FRAMES_1_0[place])]
    for each in kinds[:: 1 + len(kinds) // 500]:
        assert frames_of(FRAMES_1_0[0] + each + FRAMES_1_0[-1])
        frames_of(each)


def test_rows_of_frames_end_at_every_time_and_bound() -> None:
    whole = b"".join(FRAMES_1_0)
    counts = {len(frames_of(whole, stop=stop)) for stop in range(70, 72 + len(whole))}
    assert counts == {*range(len(FRAMES_1_0) + 1)}
    for bound in (-(2**70), -1, 0, 9, 10, 30, 264, 2**31, 2**63, 2**70):
        frames_of(whole, most=bound)
        frames_of(whole, room=bound)


def test_rows_of_frames_are_what_the_forms_say() -> None:
    whole = b"".join(FRAMES_1_0)
    for place in range(2):
        for other in (None, ()):
            forms = [*FORMS_1_0]
            forms[place] = other
            assert len(frames_of(whole, forms=tuple(forms))) < len(FRAMES_1_0)
    assert {type(row) for _, row in frames_of(whole, make=list)} == {list}
    for form in ((6, 11), (18,), (13,)):
        with pytest.raises(TypeError):
            frames_of(FRAMES_1_0[0], forms=((form,), None))


LIES: Final[tuple[tuple[int, Any], ...]] = (
    *((place, value) for place in (1, 2, 3) for value in (b"", b"\x52", b"\x70", b"\xa0\xff", bytes(300))),
    *((4, value) for value in (-1, 0, 300, -(2**62), 2**62)),
    *((5, value) for value in (-(2**62), -1, 0, 7, 8, 14, 20, 21, 22, 400, 2**62)),
)


@pytest.mark.parametrize(("place", "value"), LIES)
def test_layouts_that_lie_are_read_within_their_octets(place: int, value: Any) -> None:
    whole = b"".join(FRAMES_1_0)
    for key, layout in layouts_1_0().items():
        lying = [*layout]
        lying[place] = value
        rows: list[Any] = []
        plan: Any = (*FORMS_1_0, None, None, SECTIONS, Named(), "events")
        given: Any = {**layouts_1_0(), key: tuple(lying)}
        arguments = (99_999, 99_999, given, 0, 1 << 40, 0, {*OPENED}, INSTANT, plan, rows)
        for octets in (whole, *FRAMES_1_0):
            try:
                scan_frames(octets, 0, *arguments)
            except TypeError as error:
                assert place == 1 and "layout" in str(error)


OTHERS_1_0: Final[tuple[Any, ...]] = (
    *((place, "", TypeError) for place in range(12)),
    *((place, 2**70, OverflowError) for place in (1, 5, 6, 7)),
    (1, -1, ValueError),
    (4, {FRAMES_1_0[0][8:16]: (1, 2)}, TypeError),
    (4, {FRAMES_1_0[0][8:16]: (0, b"a", b"", b"", 2**70, 0, "", "")}, OverflowError),
    (4, {FRAMES_1_0[0][8:16]: (0, b"a", b"", b"", 0, 2**70, "", "")}, OverflowError),
    (9, (1, 2), TypeError),
    (10, (*FORMS_1_0, None, 5, SECTIONS, {}, ""), TypeError),
    (10, (5, 5, None, None, SECTIONS, {}, ""), TypeError),
    (10, (*FORMS_1_0, None, None, {b"": 5}, {}, ""), TypeError),
)


@pytest.mark.parametrize(("place", "value", "error"), OTHERS_1_0)
def test_other_arguments_of_frames_are_refused(place: int, value: Any, error: type[Exception]) -> None:
    plan = (*FORMS_1_0, None, None, SECTIONS, Named(), "events")
    arguments: list[Any] = [FRAMES_1_0[0], 0, 999, 999, layouts_1_0(), 0, 9999, 0, {*OPENED}, INSTANT, plan, []]
    scan_frames(*arguments)
    assert arguments[-1]
    arguments[place] = value
    with pytest.raises(error):
        scan_frames(*arguments)
    with pytest.raises(TypeError):
        scan_frames(*arguments[:-1])


def told_values(value: Any) -> object:
    """Decoded values with their types, in their order, and the octets and rules of tables; equal for equal NaNs."""
    if isinstance(value, Table):
        return "Table", value.raw, id(value.rules), told_values(dict(value.items()))
    kind: str = type(value).__qualname__
    if kind == "dict":
        return [(name, told_values(each)) for name, each in value.items()]
    return [told_values(each) for each in value] if kind == "list" else (kind, repr(value))


def loaded(raw: bytes, rules: TableRules) -> Any:
    """Return the values of a table's octets in both texts, which are the same."""
    found = outcome(lambda: told_values(Table.from_wire(raw, rules)._read()))
    assert outcome(lambda: told_values(Table.from_wire(raw, rules)._scan())) == found
    return found


def field(name: str, tag: str, octets: bytes) -> bytes:
    """An entry of a table."""
    encoded = name.encode()
    return bytes((len(encoded),)) + encoded + tag.encode() + octets


def sized(octets: bytes) -> bytes:
    """Octets with their count in four octets in front."""
    return len(octets).to_bytes(4, "big") + octets


VALUES: Final = (
    *((tag, b"\x80") for tag in "tbB"),
    *((tag, b"\x80\x01") for tag in "Uu"),
    *((tag, b"\xff\xff\xff\xfe") for tag in "Iif"),
    *((tag, b"\x80\0\0\0\0\0\0\1") for tag in "lLdT"),
    *(("t", b"\0"), ("b", b"\x7f"), ("f", b"\x7f\xc0\0\1"), ("d", b"\x3f\xf8\0\0\0\0\0\0"), ("V", b"")),
    *(("D", b"\2\0\0\1\0"), ("s", b"\1k"), ("s", b"\2\xff\xfe"), ("x", sized(b"\xff\0"))),
    *(
        ("S", sized(b"text")),
        ("S", sized("\u20ac\U0001f600".encode())),
        ("S", sized(b"\xff no text")),
        ("S", sized(b"")),
    ),
    *(("F", sized(b"")), ("A", sized(b"")), ("F", sized(field("k", "t", b"\1") + field("k", "T", bytes(8))))),
    ("A", sized(b"t\1S" + sized(b"a") + b"F" + sized(field("", "V", b"")) + b"A" + sized(b"I\0\0\0\1"))),
)
"""Tags with octets of values: every type, and their ends."""
RULES: Final = (RABBIT_TABLES, SPEC_0_9_1, SPEC_0_8, RABBIT_TABLES.limited(2, 40))


@pytest.mark.parametrize("rules", RULES, ids=lambda rules: f"{rules.name}-{rules.depth}")
def test_damaged_tables_are_read_alike(rules: TableRules) -> None:
    read: set[str] = set()
    for tag, octets in VALUES:
        # The same name before it: which of the two counts depends on the rules.
        raw = field("k", "I", bytes(4)) + field("k", tag, octets) + field("end\u00e9", "t", b"\1")
        read.update(str(loaded(each, rules)[0]) for each in damaged(raw))
    assert read == {"read", "error"}


@pytest.mark.parametrize("levels", [1, 2, 31, 32, 33, 127, 128, 129, 200])
@pytest.mark.parametrize("tag", ["F", "A"])
def test_tables_of_any_depth_are_read_alike(tag: str, levels: int) -> None:
    raw = b""
    for _ in range(levels - 1):
        raw = field("", "F", sized(raw)) if tag == "F" else b"A" + sized(raw)
    raw = field("a", tag, sized(raw))
    for depth in (1, 32, 128):
        assert (loaded(raw, RABBIT_TABLES.limited(depth, 65_536))[0] == "read") is (levels + 1 <= depth)


def test_tables_of_any_size_are_read_alike() -> None:
    for entries in (0, 1, 7, 8, 9, 100):
        for count in (0, 1, 2, 20):
            raw = b"".join(field(f"{number:02}", "t", b"\1") for number in range(count))
            loaded(raw, RABBIT_TABLES.limited(32, entries))
            loaded(field("a", "A", sized(b"t\1" * count)), RABBIT_TABLES.limited(32, entries))


def test_tables_at_their_bounds_need_no_help() -> None:
    raw = field("f", "F", sized(field("t", "t", b"\1")))
    arguments: list[Any] = [raw, False, False, False, len(raw), 2, RABBIT_TABLES, "{}{}{}".format, int]
    assert scan_table(*arguments) is not None
    for place in (4, 5):
        fewer = [*arguments]
        fewer[place] -= 1
        assert scan_table(*fewer) is None


@given(data=st.data(), rules=st.sampled_from(RULES[:3]))
def test_tables_of_any_values_are_read_alike(data: st.DataObject, rules: TableRules) -> None:
    raw = Table(data.draw(table_values(rules)), rules=rules).raw
    assert loaded(raw, rules)[0] == "read"
    loaded(spoilt(data, raw), rules)


@pytest.mark.parametrize(
    ("place", "value", "error"),
    [(0, bytearray(2), TypeError), (4, None, TypeError), (5, 1.5, TypeError), (7, 3, TypeError), (8, None, TypeError)],
)
def test_other_arguments_of_tables_are_refused(place: int, value: Any, error: type[Exception]) -> None:
    raw = field("f", "F", sized(field("t", "T", bytes(8))))
    arguments: list[Any] = [raw, False, False, False, 1000, 32, RABBIT_TABLES, "{}{}{}".format, int]
    assert list(scan_table(*arguments) or ()) == ["f"]
    arguments[place] = value
    with pytest.raises(error):
        scan_table(*arguments)
    with pytest.raises(TypeError):
        scan_table(*arguments[:-1])


def test_what_a_maker_raises_comes_through() -> None:
    def refuse(*_: object) -> None:
        raise LookupError

    for raw in (field("f", "F", sized(b"")), field("t", "T", bytes(8))):
        with pytest.raises(LookupError):
            scan_table(raw, False, False, False, 1000, 32, None, refuse, refuse)


PROPERTIES: Final = (
    BasicProperties(),
    BasicProperties("text/plain", "gzip", {"a": 1}, 2, 9, "c", "r", "60", "id", 2**64 - 1, "t", "u", "app", "cluster"),
    BasicProperties("\u20ac" * 20, headers={"b": {"c": True}}, delivery_mode=1, timestamp=0),
    BasicProperties(priority=255, correlation_id="", app_id="\u00fc"),
)
KINDS: Final = b"ssFBBssssTssss"


def told_properties(raw: bytes, rules: TableRules = RABBIT_TABLES) -> bool:
    """Read properties with both texts, which give the same. Return whether the module reads them."""

    def read(load: Any) -> object:
        properties = BasicProperties.from_wire(raw, rules)
        load(properties)
        return slots(properties)

    found = outcome(lambda: read(BasicProperties._read))
    assert outcome(lambda: read(BasicProperties._scan)) == found
    properties = BasicProperties.from_wire(raw, rules)
    before = slots(properties)
    is_read = scan_properties(raw, KINDS, methods._TABLES, rules, properties, methods._BASICPROPERTIES)
    # The careful text also reads text that isn't UTF-8, and flags that go on in a second word.
    assert found[0] == "read" if is_read else slots(properties) == before
    return is_read


@pytest.mark.parametrize("place", range(len(PROPERTIES)))
def test_damaged_properties_are_read_alike(place: int) -> None:
    raw = PROPERTIES[place].encode(RABBIT_TABLES)
    kinds = [*damaged(raw)]
    read = {told_properties(each) for each in kinds[:: 1 + len(kinds) // 900]}
    assert read == {True, False}
    told_properties(raw, SPEC_0_8)


def test_all_flags_of_properties_are_read_alike() -> None:
    for flags in range(0, 65536, 23):
        told_properties(flags.to_bytes(2, "big"))
        told_properties(flags.to_bytes(2, "big") + bytes(flags.bit_count()))
    for flag in range(16):
        for octets in (b"\1", b"\1\xff", b"\0\0\0\0", b"\xff\xff\xff\xff", bytes(8), b"\0\0\0\1x", b"\2\xc3\xa9"):
            told_properties((1 << flag).to_bytes(2, "big") + octets)


@given(data=st.data())
def test_properties_of_any_octets_are_read_alike(data: st.DataObject) -> None:
    raw = data.draw(st.sampled_from(PROPERTIES)).encode(RABBIT_TABLES)
    told_properties(spoilt(data, raw))


OTHERS_OF_PROPERTIES: Final[tuple[tuple[int, Any], ...]] = (
    *((place, 5) for place in (0, 1, 2, 4, 5)),
    *((place, None) for place in (0, 1, 2, 4, 5)),
    (0, bytearray(2)),
    (1, KINDS[:-1]),
    (1, KINDS + b"s"),
    (4, BasicAck(1, False)),
)


@pytest.mark.parametrize(("place", "value"), OTHERS_OF_PROPERTIES)
def test_other_arguments_of_properties_are_refused(place: int, value: Any) -> None:
    properties = BasicProperties.from_wire(b"\0\0", RABBIT_TABLES)
    arguments: list[Any] = [b"\0\0", KINDS, methods._TABLES, RABBIT_TABLES, properties, methods._BASICPROPERTIES]
    assert scan_properties(*arguments)
    with pytest.raises(TypeError):
        scan_properties(*arguments[:-1])
    arguments[place] = value
    with pytest.raises(TypeError):
        scan_properties(*arguments)


LISTS: Final[tuple[Any, ...]] = (
    Flow(1, 2, 300, 70_000, 0, 5, 6, 7, True, True),
    Flow(None, 0, 0, 0),
    Transfer(1, 2, b"tag", 0, True, True, 1, Accepted(), True, True, True),
    Transfer(0, 70_000, bytes(32), None, False),
    Disposition(True, 1, 300, True, Accepted(), True),
    Disposition(False, 0),
    Properties("id", b"me", "to", "subject", "reply", 9, Symbol("text/plain"), Symbol("x"), 1, 2, "g", 3, "r"),
    Properties(2**64 - 1, b"", "\u20ac", "s" * 300, None, b"c", None, "gzip", -1, -(2**63), "", 70_000),
    Properties(),
)
PLANS: Final[dict[type[Any], Any]] = {
    kind: getattr(performatives, f"_{kind.__name__.upper()}") for kind in (Flow, Transfer, Disposition, Properties)
}


MAKERS_1_0: Final[dict[type[Any], Any]] = {
    kind: getattr(performatives, f"_MAKE_{kind.__name__.upper()}") for kind in PLANS
}


def told_list(record: Any, stop: int) -> list[object]:
    """A record's class, its fields with their types, its octets and its end."""
    return [record.__class__, *[content(getattr(record, name)) for name in record.__match_args__], record.wire, stop]


def listed(kind: Any, value: bytes, *, front: bytes = FRONT, behind: bytes = BEHIND) -> bool:
    """Read a record whose list, without descriptor, is `value`, with both texts, which give the same; where the pure
    text leaves it to the careful one, the module may read what that reads. Return whether the module reads it."""
    octets = b"\0\x53" + bytes((kind.CODE,)) + value
    buf = front + octets + behind
    start, end = len(front), len(front) + len(octets)

    def whole(read: Any) -> tuple[object, ...]:
        try:
            if kind is Properties:
                return ("read", told_list(*read(buf, start + 3, end, start)))
            wide = value[:1] == b"\xd0"
            size = int.from_bytes(value[1:5] if wide else value[1:2])
            stop = start + (8 if wide else 5) + size
            count = int.from_bytes(value[5:9] if wide else value[2:3])
            return ("read", told_list(read(buf, start + (12 if wide else 6), stop, count, start), stop))
        except READ_FAULTS as error:
            return ("fault", type(error), str(error))

    careful = outcome(lambda: told_list(*kind.read(buf, start + 3, end, 31, 65_536, start)))
    values = scan_list(buf, start, start + 3, end, PLANS[kind])
    made: Any = scan_list(buf, start, start + 3, end, PLANS[kind], MAKERS_1_0[kind])
    assert (made is None) is (values is None)
    assert made is None or ("read", told_list(*made)) == careful
    found, text = whole(kind._scan), whole(kind._read)
    if values is None:
        assert found == text
        return False
    assert found == careful
    assert text[0] == "fault" or text == found
    names = kind.__match_args__
    assert [kind, *map(content, values[: len(names)]), *values[len(names) :]] == careful[1]
    return True


@pytest.mark.parametrize("record", LISTS, ids=lambda record: record.NAME)
def test_damaged_lists_are_read_alike(record: Any) -> None:
    value = record.encode()[3:]
    if value == b"\x45":
        assert not listed(type(record), value)
        value = b"\xc0\x01\x00"
    assert listed(type(record), value)
    assert listed(type(record), value, front=b"", behind=b"")
    kinds = [*damaged(value)] if len(value) < 200 else [*damaged(value)][::11]
    read = {listed(type(record), each) for each in kinds}
    assert read == {True, False}
    wide = (len(value) + 1).to_bytes(4, "big") + value[2:3].rjust(4, b"\0") + value[3:]
    if value[0] == 0xC0:
        assert listed(type(record), b"\xd0" + wide)


TAKEN: Final = {
    "u": {0x40, 0x43, 0x52, 0x70},
    "U": {0x43, 0x52, 0x70},
    "b": {0x40, 0x41, 0x42, 0x56},
    "B": {0x41, 0x42, 0x56},
    "f": {0x40, 0x41, 0x42, 0x56},
    "m": {0x40, 0x50},
    "d": {0x40, 0xA0},
    "a": {0x40, 0x00},
    "o": {0x40, 0xA0, 0xB0},
    "s": {0x40, 0xA1, 0xB1},
    "y": {0x40, 0xA3, 0xB3},
    "t": {0x40, 0x83},
    "i": {0x40, 0x53, 0x80, 0xA0, 0xA1},
    "n": {0x40},
}
"""The constructors that the module reads, by the letter of the field."""
CONSTRUCTORS: Final = tuple(
    bytes((code,)) + octets
    for code in range(256)
    for octets in (
        *(b"", b"\0" * 16, b"\1" * 16, b"\xff" * 16, b"\0\0\0\2\xc3\xa9", b"\2\xc3\xa9"),
        *(b"\2ab", b"\0\0\0\2ab", b"\x53\x24\x45"),
    )
)


@pytest.mark.parametrize("kind", PLANS, ids=lambda kind: kind.NAME)
def test_every_constructor_in_every_field_is_read_alike(kind: Any) -> None:
    """With as many octets as it takes, as far as these go, and as the last one with those that come, and cut."""
    usual = {"U": b"\x43", "B": b"\x41"}
    letters = PLANS[kind][0].decode()
    places = {letter: place for place, letter in enumerate(letters)}
    read: set[tuple[str, int]] = set()
    for letter, place in places.items():
        before = b"".join([usual.get(each, b"\x40") for each in letters[:place]])
        after = b"".join([usual.get(each, b"") for each in letters[place + 1 :]])
        count = place + 1 + len(after)
        for octets in CONSTRUCTORS:
            width = 1 + {4: 0, 5: 1, 6: 2, 7: 4, 8: 8, 9: 16}.get(octets[0] >> 4, len(octets))
            items = before + octets[:width] + after
            if listed(kind, bytes((0xC0, len(items) + 1, count)) + items):
                read.add((letter, octets[0]))
    assert read == {(letter, code) for letter in places for code in TAKEN[letter]}


@pytest.mark.parametrize("size", [0, 1, 2, 3, 4, 5, 255, 2**16, 2**31 - 1, 2**31, 2**32 - 1])
def test_lists_whose_sizes_and_counts_lie_are_read_alike(size: int) -> None:
    number = size.to_bytes(4, "big")
    for record in LISTS:
        kind = record.__class__
        octets: bytes = record.encode()
        items = octets[12:] if octets[3] == 0xD0 else octets[6:]
        right = (len(items) + 4).to_bytes(4, "big")
        for head in (number + number, right + number, number + bytes((0, 0, 0, len(kind.FIELDS)))):
            listed(kind, b"\xd0" + head + items)
            listed(kind, b"\xd0" + head + items, behind=b"")
        if size < 256:
            listed(kind, bytes((0xC0, size, len(kind.FIELDS))) + items)
            listed(kind, bytes((0xC0, min(len(items) + 1, 255), size)) + items, behind=b"")
    for code in (0xB0, 0xB1, 0xB3):
        items = b"\x40" * (6 if code == 0xB3 else code == 0xB0) + bytes((code,)) + number + b"text"
        listed(Properties, bytes((0xC0, len(items) + 1, items.index(code) + 1)) + items)


@pytest.mark.parametrize("kind", PLANS, ids=lambda kind: kind.NAME)
@given(data=st.data())
def test_lists_of_any_values_are_read_alike(kind: Any, data: st.DataObject) -> None:
    value = data.draw(records(kind)).encode()[3:]
    listed(kind, value)
    listed(kind, spoilt(data, value))


@pytest.mark.parametrize("size", [0, 1, 31, 32, 33, 255])
def test_delivery_tags_have_at_most_32_octets(size: int) -> None:
    items = b"\x43\x43\xa0" + bytes((size,)) + bytes(size)
    assert listed(Transfer, b"\xd0" + (len(items) + 4).to_bytes(4, "big") + b"\0\0\0\3" + items) is (size <= 32)


@pytest.mark.parametrize("wide", [False, True])
def test_lists_at_any_place_are_inside_of_their_octets(wide: bool) -> None:
    octets: bytes = LISTS[2].encode()
    if wide:
        octets = octets[:3] + b"\xd0" + (len(octets) - 2).to_bytes(4, "big") + b"\0\0\0" + octets[5:]
    plan, size = PLANS[Transfer], len(octets)
    whole = scan_list(octets, 0, 3, size, plan)
    assert whole is not None
    assert whole[-2:] == (octets, size)
    for start, pos, end in (
        *((-1, 3, size), (0, -3, size), (4, 3, size), (0, 3, 2), (0, 3, -1), (0, 3, size + 1), (0, size, size)),
        *((0, size + 5, size + 9), (0, 3, size - 1), (0, 3, 3), (2**62, 2**62, 2**62), (0, 2**62, 2**62)),
    ):
        assert scan_list(octets, start, pos, end, plan) is None
    for end in range(3, size):
        assert scan_list(octets[:end], 0, 3, end, plan) is None


def test_octets_that_are_no_bytes_are_left_to_the_pure_text() -> None:
    for record in LISTS[:6]:
        octets = bytearray(record.encode())
        found = outcome(lambda octets=octets: told_list(*composite.decode_frame_body(octets)))  # type: ignore[misc]
        with pure():
            assert outcome(lambda octets=octets: told_list(*composite.decode_frame_body(octets))) == found  # type: ignore[misc]
        assert scan_list(octets, 0, 3, len(octets), PLANS[type(record)]) is None  # type: ignore[call-overload]


REFUSED: Final[tuple[tuple[int, Any, type[Exception]], ...]] = (
    *((place, None, TypeError) for place in (1, 2, 3, 4)),
    *((place, 2**70, OverflowError) for place in (1, 2, 3)),
    (4, (), TypeError),
    (4, ("u", {}, str, int, 1), TypeError),
    (4, (b"u", None, str, int, 1), TypeError),
    (4, [b"u", {}, str, int, 1], TypeError),
    (5, BasicAck, TypeError),
)


@pytest.mark.parametrize(("place", "value", "error"), REFUSED)
def test_other_arguments_of_lists_are_refused(place: int, value: Any, error: type[Exception]) -> None:
    arguments: list[Any] = [b"\xc0\x01\0", 0, 0, 3, (b"u", {}, str, int, 1)]
    assert scan_list(*arguments) == (None, b"\xc0\x01\0", 3)
    with pytest.raises(TypeError):
        scan_list(*arguments[:-1])
    arguments.append(maker(Slotted, ("a", "b"), ()))
    scan: Any = scan_list
    record, stop = scan(*arguments)
    assert (record.a, record.b, stop) == (None, b"\xc0\x01\0", 3)
    arguments[place] = value
    with pytest.raises(error):
        scan_list(*arguments)


def test_what_makes_the_values_of_a_list_is_called_for_them_alone() -> None:
    def refuse(_: object) -> None:
        raise LookupError

    known = object()
    for letter, octets in ((b"y", b"\xa3\1k"), (b"t", b"\x83" + bytes(8))):
        value = bytes((0xC0, len(octets) + 1, 1)) + octets
        with pytest.raises(LookupError):
            scan_list(value, 0, 0, len(value), (letter, {}, refuse, refuse, None))
        found = scan_list(value, 0, 0, len(value), (letter, {b"k": known}, refuse, int, None))
        assert found is not None
        assert found[0] is known if letter == b"y" else found[0] == 0
    assert scan_list(b"\xc0\4\1\xa3\1\x80", 0, 0, 6, (b"y", {}, refuse, refuse, None)) is None
    # A letter that stands for nothing takes null alone.
    assert scan_list(b"\xc0\2\1\x41", 0, 0, 4, (b"?", {}, refuse, refuse, None)) is None


ENTRIES: Final = (
    *(bytes((code,)) + bytes(8)[: 0 if code < 0x50 else 1 if code < 0x60 else 8] for code in range(0x40, 0x90)),
    *(bytes((code,)) + b"\x80" + bytes((255,) * 7) for code in (0x52, 0x53, 0x54, 0x55, 0x81, 0x82, 0x83)),
    *(bytes((code, 2)) + octets for code in range(0xA0, 0xC0) for octets in (b"ab", "\u00e9".encode(), b"\xff\xfe")),
    *(b"\xb1\0\0\0\1a", b"\xc1\1\0", b"\xc0\1\0", b"\x45", b"\0\x53\x24\x45"),
)
"""Values with every format code of up to eight octets."""
KEYS: Final = {
    0xA1: (fastpath._read_properties, fastpath._scan_properties),
    0xA3: (fastpath._read_symbols, fastpath._scan_symbols),
}
"""The pure text and the other one, by what all keys are."""


def mapped(key: int, octets: bytes, *, front: bytes = FRONT, behind: bytes = BEHIND) -> bool:
    """Read a map with both texts, which give the same. Return whether the module reads it."""
    buf, start = front + octets + behind, len(front)

    def whole(read: Any) -> tuple[object, ...]:
        try:
            values, stop = read(buf, start, start + len(octets))
        except READ_FAULTS as error:
            return ("fault", type(error), str(error))
        return ("read", [(content(name), content(value)) for name, value in values.items()], stop)

    text, scan = KEYS[key]
    found = whole(text)
    assert whole(scan) == found
    is_read = scan_map(buf, start, start + len(octets), key, fastpath._MAKERS) is not None
    # The module reads all that the pure text reads.
    assert is_read is (found[0] == "read")
    return is_read


def _map(key: int, *values: bytes, wide: bool = False) -> bytes:
    """A map with such values under keys of their own."""
    octets = b"".join([bytes((key, 1, 0x61 + number % 26)) + value for number, value in enumerate(values)])
    count = 2 * len(values)
    if wide:
        return b"\xd1" + (len(octets) + 4).to_bytes(4, "big") + count.to_bytes(4, "big") + octets
    return bytes((0xC1, len(octets) + 1, count)) + octets


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("wide", [False, True], ids=["short", "long"])
def test_maps_of_any_values_are_read_alike(key: int, wide: bool) -> None:
    read = [mapped(key, _map(key, b"\x41", value, b"\x55\x80", wide=wide)) for value in ENTRIES]
    assert any(read) and not all(read)
    assert mapped(key, _map(key, wide=wide))
    # The other kind of keys, and keys that come twice.
    assert not mapped(key, _map(0xA1 + 0xA3 - key, b"\x41", wide=wide))
    assert not mapped(key, _map(key, *[b"\x41"] * 27, wide=wide))


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("wide", [False, True], ids=["short", "long"])
def test_damaged_maps_are_read_alike(key: int, wide: bool) -> None:
    octets = _map(key, b"\xa1\2\xc3\xa9", b"\xa3\1k", b"\x55\xff", b"\x83" + bytes(8), b"\xa0\1\xff", wide=wide)
    assert {mapped(key, each) for each in damaged(octets)} == {True, False}
    for each in damaged(octets):
        mapped(key, each, front=b"", behind=b"")
    for size in (0, 1, 3, 4, 2**31, 2**32 - 1):
        for count in (0, 1, 2, 10, 2**31, 2**32 - 1):
            mapped(key, b"\xd1" + size.to_bytes(4, "big") + count.to_bytes(4, "big") + octets[9:])


def test_maps_at_the_bound_of_entries_are_read_alike() -> None:
    for count in (65_536, 65_538):
        keys = [b"\xa1\3" + bytes((number >> 14, number >> 7 & 127, number & 127)) for number in range(count // 2)]
        octets = b"\x41".join([*keys, b""])
        head = (len(octets) + 4).to_bytes(4, "big") + count.to_bytes(4, "big")
        assert mapped(0xA1, b"\xd1" + head + octets) is (count == 65_536)


@pytest.mark.parametrize(
    ("place", "value", "error"),
    [
        *((place, "", TypeError) for place in range(1, 5)),
        *((place, 2**70, OverflowError) for place in range(1, 4)),
        (4, fastpath._MAKERS[:4], TypeError),
        (4, (None,) * 5, TypeError),
    ],
)
def test_other_arguments_of_maps_are_refused(place: int, value: Any, error: type[Exception]) -> None:
    octets = _map(0xA1, b"\xa3\1k")
    arguments: list[Any] = [octets, 0, len(octets), 0xA1, fastpath._MAKERS]
    assert scan_map(*arguments) == ({"a": Symbol("k")}, len(octets))
    for at, other in ((0, bytearray(octets)), (1, -1), (2, len(octets) + 1), (2, -1), (3, 0xA2)):
        others = [*arguments]
        others[at] = other
        assert scan_map(*others) is None
    arguments[place] = value
    with pytest.raises(error):
        scan_map(*arguments)
    with pytest.raises(TypeError):
        scan_map(*arguments[:-1])


def test_what_makes_the_values_of_a_map_may_raise() -> None:
    def refuse(_: object) -> None:
        raise LookupError

    makers = refuse, refuse, refuse, refuse, refuse
    for value in (b"\xa3\1k", b"\x83" + bytes(8), b"\x52\1", b"\x53\1", b"\x54\1"):
        octets = _map(0xA1, b"\x41", value)
        with pytest.raises(LookupError):
            scan_map(octets, 0, len(octets), 0xA1, makers)


SEEDS: Final = (1, 2)


@cache
def _outcome(room: str, seed: int) -> list[object]:
    return TRAFFIC[room](Random(seed))


@pytest.mark.parametrize("room", TRAFFIC)
@pytest.mark.parametrize("seed", SEEDS)
def test_traffic_gives_the_same_events_octets_and_state(room: str, seed: int) -> None:
    with pure():
        found = TRAFFIC[room](Random(seed))
    assert found == _outcome(room, seed)


@contextmanager
def compiled() -> Generator[None]:
    """Run what the module stands in."""
    yield


WAYS: Final = {"pure": pure, "compiled": compiled}
Way = Callable[[], Any]


@pytest.mark.parametrize("reader", WAYS)
@pytest.mark.parametrize("writer", WAYS)
@pytest.mark.parametrize("side", [Side.CLIENT, Side.SERVER], ids=lambda side: side.value)
def test_an_end_that_one_text_pickles_goes_on_with_the_other(side: Side, writer: str, reader: str) -> None:
    octets = octets_for(AMQP_0_9_1, side)
    cut = Random(writer + reader).randrange(len(octets) // 2)
    with pure():
        wanted = _continued(receiving(AMQP_0_9_1, side), octets, cut, pure, pure)
    assert _continued(receiving(AMQP_0_9_1, side), octets, cut, WAYS[writer], WAYS[reader]) == wanted


def _continued(end: Any, octets: bytes, cut: int, writer: Way, reader: Way) -> list[object]:
    """The events of an end that is pickled in the middle of its octets, and its state."""
    found: list[object] = []

    def fed(piece: bytes) -> None:
        for at in range(0, len(piece), 5000):
            end.receive_data(piece[at : at + 5000], 0.0)
            while not isinstance(event := end.next_event(), Signal):
                found.append(told(event))

    with writer():
        fed(octets[:cut])
        snapshot = pickle.dumps(end)
    with reader():
        end = pickle.loads(snapshot)
        fed(octets[cut:])
    return [*found, structure(end)]


@pytest.mark.parametrize("reader", WAYS)
@pytest.mark.parametrize("writer", WAYS)
def test_an_observer_that_one_text_pickles_goes_on_with_the_other(writer: str, reader: str) -> None:
    chosen = Random(writer + reader)
    for path in [*chosen.sample(carried("o09*.pcap"), 4), *chosen.sample(carried("o10_*.pcap"), 4)]:
        for connection in recorded(path):
            with pure():
                wanted = _watched(connection, pure, pure)
            assert _watched(connection, WAYS[writer], WAYS[reader]) == wanted


def _watched(connection: Any, writer: Way, reader: Way) -> list[object]:
    observer: Any = connection.observer()
    found: list[object] = []

    def arrive(arrivals: Any) -> None:
        for sender, what, at_ns in arrivals:
            if isinstance(what, int):
                observer.receive_gap(sender, what, at_ns)
            else:
                observer.receive_data(what, sender, at_ns)
            found.extend(take(observer))

    half = len(connection.arrivals) // 2
    with writer():
        arrive(connection.arrivals[:half])
        snapshot = pickle.dumps(observer)
    with reader():
        observer = pickle.loads(snapshot)
        arrive(connection.arrivals[half:])
    return [*found, structure(observer)]
