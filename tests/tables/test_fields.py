"""Members of records' fields: generated functions write what walking the fields does, of whatever the fields hold."""

import importlib
from collections.abc import Iterator
from decimal import Decimal
from math import inf, nan
from random import Random
from types import ModuleType
from typing import Any
from uuid import UUID

import pytest

from amqp_sansio._classic.codec.table import RABBIT, Table, encode_table
from amqp_sansio.amqp_0_10 import Map, SequenceSet
from amqp_sansio.amqp_1_0 import Accepted, Error, Modified, Released, Symbol, Timestamp
from amqp_sansio.amqp_1_0.spec import Received
from amqp_sansio.recorded import _fields_0_9_1, _fields_0_10, _fields_1_0, _fields_classic, _json
from tools.codegen import field_writers

ROOMS: dict[str, ModuleType] = {
    "_classic.codec.methods": _fields_classic,
    "_classic.codec.methods_0_9_1": _fields_0_9_1,
    "_classic.codec.methods_0_8": _fields_classic,
    "amqp_0_10.codec.records": _fields_0_10,
    "amqp_1_0.codec.performatives": _fields_1_0,
}
INSIDE: dict[str, Any] = {
    "a": {"b": [1, nan, -inf, {"c": [None, True]}, b"\xff"]},
    "security_token": "token",
    "é\udcff": Decimal("1e-40"),
    "": 2**64,
}
NUMBERS = (0, 1, 0xFF, 0xFFFF, 2**31, 2**64 - 1, -(2**63))
TEXTS = ("", "a", "é€", '\x00\u202e"\\', "caf\udce9", "x" * 300)
OTHERS: tuple[Any, ...] = (
    *((), (1,), (Symbol("a"), "b"), [], [True], [None] * 20, {}, INSIDE, Map({"a": [1, "b"]})),
    *(True, False, 1.5, nan, inf, -inf, UUID(int=5), Decimal("NaN"), Decimal("1.50"), Timestamp(-5), Symbol("s")),
    *(b"", b"\xff\x00", *TEXTS, *NUMBERS),
    *(Accepted(), Released(), Received(1, 2), Modified(True), Error("a:b", "é", INSIDE)),
    *(SequenceSet(), SequenceSet([(1, 5), (7, 7)])),
    *(Table.from_wire(encode_table({"a": {"b": [1, -2]}}, RABBIT)[4:], RABBIT), Table.from_wire(b"\x05a", RABBIT)),
)


def kinds_of(name: str) -> Iterator[Any]:
    """Every class of records of a module that has fields."""
    module = importlib.import_module(f"amqp_sansio.{name}")
    for kind in vars(module).values():
        if isinstance(kind, type) and kind.__module__ == module.__name__ and vars(kind).get("FIELDS"):
            yield kind


KINDS = [(name, kind) for name in ROOMS for kind in kinds_of(name)]


def values_of(wire: str) -> tuple[Any, ...]:
    """What a field of a type may hold."""
    if wire in field_writers.BITS:
        return (False, True)
    if wire in field_writers.NUMBERS:
        return NUMBERS
    if wire in field_writers.TEXTS:
        return TEXTS
    if wire in field_writers.SYMBOLS:
        return tuple([*map(Symbol, TEXTS), *TEXTS])
    if wire.endswith("*"):
        return ((), (Symbol("a"),), (Symbol(""), Symbol("b")))
    return (b"", b"\xff\x00") if wire in field_writers.OCTETS else OTHERS


def records_of(kind: Any, random: Random) -> Iterator[Any]:
    """Records of a class: each value of each field, and unset where that may be; then any beside each other."""
    fields = {name: values_of(wire) for name, wire in kind.FIELDS}
    if not _json._is_method(kind):  # pyright: ignore[reportPrivateUsage]
        fields = {name: (None, *values) for name, values in fields.items()}
    for chosen in range(max(map(len, fields.values())) + 20):
        record = object.__new__(kind)
        for name, values in fields.items():
            setattr(record, name, values[chosen % len(values)] if chosen < len(values) else random.choice(values))
        yield record


def members(write: Any, record: Any, encode: Any) -> str:
    """The members, or what is raised instead."""
    try:
        return str(write(record, _json.Texts(_json.encode), encode))
    except Exception as error:
        return repr(error)


@pytest.mark.parametrize(("room", "kind"), KINDS, ids=[f"{name}.{kind.__name__}" for name, kind in KINDS])
def test_what_is_generated_writes_what_walking_the_fields_does(room: str, kind: Any) -> None:
    random = Random(kind.__name__)
    for secrets, encode in _json._ENCODERS.items():  # pyright: ignore[reportPrivateUsage]
        write = _json._writer(kind, secrets)  # pyright: ignore[reportPrivateUsage]
        for record in records_of(kind, random):
            walked = _json._field_by_field(not secrets, record, None, encode)  # pyright: ignore[reportPrivateUsage]
            assert members(write, record, encode) == walked, record


def test_every_class_with_fields_has_a_function_or_a_reason() -> None:
    walked = {kind for name, kind in KINDS if kind not in ROOMS[name].WRITERS and not name.endswith("_0_8")}
    assert {
        kind.NAME for kind in walked if not kind.SECRETS and not kind.NAME.startswith(("file.", "stream."))
    } == set()
    assert {kind.__name__ for kind in walked if kind.SECRETS} == {
        "ConnectionStartOk",
        "ConnectionSecureOk",
        "ConnectionSecure",
        "ConnectionUpdateSecret",
        "SaslInit",
        "SaslResponse",
    }


def test_members_that_stand_around_numbers_are_those_of_the_record() -> None:
    fields = _json.FieldWriter("size", secrets=False)
    record = Modified(delivery_failed=True, undeliverable_here=False, message_annotations={"a": 1})
    before, after = fields.around(record, ("undeliverable_here", "undeliverable_here"))
    assert before == ',"delivery_failed":true'
    assert after == ',"message_annotations":{"a":1}'
