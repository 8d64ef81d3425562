"""tests/data/forms-1.0.csv: every field of 1.0 in every form that real peers send, and what may end by it.

A row has the type that the field is of ("attach"), the field, the form, and for each kind of end the most that may end:
"none", "message", "link", "session" or "connection"; for an observer "none", or "frame" where it can't tell what the
frame did. `python -m tools.docs.forms` writes it from the model's judgement, to be read as code is; a test sends each
form to real endpoints, and another compares the file.
"""

from __future__ import annotations

import csv
import io
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from amqp_sansio.amqp_1_0.codec.composite import Composite
from amqp_sansio.amqp_1_0.codec.decode import COMPOSITES, ENTRIES, NESTING, decode
from amqp_sansio.amqp_1_0.codec.encode import encode, encode_items
from amqp_sansio.amqp_1_0.codec.message import odd_fields
from amqp_sansio.amqp_1_0.codec.odd import OddRecord
from amqp_sansio.amqp_1_0.codec.restricted import SOURCES
from amqp_sansio.amqp_1_0.codec.types import Array, Described, Symbol, UInt, ULong, UShort
from amqp_sansio.amqp_1_0.model.harm import Harm, harm_of, worst
from amqp_sansio.amqp_1_0.spec import Begin, Open

if TYPE_CHECKING:
    from collections.abc import Iterator


PATH: Final = Path("tests/data/forms-1.0.csv")
HEADER: Final = ("type", "field", "form", "client", "server", "observer")

_NULL: Final = b"\x40"
_ERROR: Final = b"\x00\x53\x1d\xc0\x0d\x02\xa3\x06amqp:x\xa1\x02no"
_SOURCE: Final = b"\x00\x53\x28\xc0\x04\x01\xa1\x01q"
_TARGET: Final = b"\x00\x53\x29\xc0\x04\x01\xa1\x01q"
_ACCEPTED: Final = b"\x00\x53\x24\x45"

BASES: Final[dict[str, dict[str, bytes]]] = {
    "open": {"container_id": b"\xa1\x01p", "idle_time_out": b"\x70\0\0\x75\x30"},
    "begin": {"next_outgoing_id": b"\x43", "incoming_window": b"\x52\x64", "outgoing_window": b"\x52\x64"},
    "attach": {
        **{"name": b"\xa1\x01n", "handle": b"\x52\x05", "role": b"\x42", "source": _SOURCE, "target": _TARGET},
        "initial_delivery_count": b"\x43",
    },
    "flow": {
        **{"next_incoming_id": b"\x43", "incoming_window": b"\x52\x64", "next_outgoing_id": b"\x43"},
        **{
            "outgoing_window": b"\x52\x64",
            "handle": b"\x52\x01",
            "delivery_count": b"\x43",
            "link_credit": b"\x52\x0a",
        },
    },
    "transfer": {
        "handle": b"\x43",
        "delivery_id": b"\x43",
        "delivery_tag": b"\xa0\x01t",
        "message_format": b"\x43",
        "rcv_settle_mode": b"\x50\x00",
    },
    "disposition": {"role": b"\x41", "first": b"\x43", "settled": b"\x41", "state": _ACCEPTED},
    "detach": {"handle": b"\x43", "closed": b"\x41"},
    "end": {},
    "close": {},
    "error": {"condition": b"\xa3\x06amqp:x"},
    "source": {"address": b"\xa1\x01q"},
    "target": {"address": b"\xa1\x01q"},
    "coordinator": {},
    "received": {"section_number": b"\x43", "section_offset": b"\x44"},
    "accepted": {},
    "rejected": {},
    "released": {},
    "modified": {},
    "declared": {"txn_id": b"\xa0\x01x"},
    "transactional-state": {"txn_id": b"\xa0\x01x"},
    "declare": {},
    "discharge": {"txn_id": b"\xa0\x01x"},
    "header": {},
    "properties": {},
    "sasl-mechanisms": {"sasl_server_mechanisms": b"\xa3\x05PLAIN"},
    "sasl-init": {"mechanism": b"\xa3\x05PLAIN", "initial_response": b"\xa0\x04\0u\0p"},
    "sasl-challenge": {"challenge": b"\xa0\x00"},
    "sasl-response": {"response": b"\xa0\x04\0u\0p"},
    "sasl-outcome": {"code": b"\x50\x00"},
}
"""The types, and the octets of fields that make each of them one that fits where a test sends it; others are null."""

SECTIONS: Final = {
    "delivery-annotations": 0x71,
    "message-annotations": 0x72,
    "application-properties": 0x74,
    "footer": 0x78,
}
"""The sections that are maps."""
_BODY: Final = b"\x00\x53\x77\x41"

RULES: Final = {
    **dict.fromkeys([("attach", "initial_delivery_count", form) for form in ("absent", "null")], Harm.SESSION),
    **dict.fromkeys([("attach", "unsettled", f"keys are {keys}") for keys in ("strings", "numbers")], Harm.SESSION),
    **dict.fromkeys([("flow", field, "null") for field in ("next_incoming_id", "handle")], Harm.SESSION),
    **dict.fromkeys([("transfer", field, "null") for field in ("delivery_id", "delivery_tag")], Harm.LINK),
}
"""What ends by the rules of the model, where the field's type is as it must be: without these a link has no count, a
flow no link, a delivery no name."""
_MAPS: Final = {
    "keys are strings": encode({"x": 1}),
    "keys are numbers": encode({7: 1}),
    "list": encode([1]),
    "string": encode("x"),
}
_DESCRIBED: Final = {
    "not described": encode([None]),
    "of an unknown type": encode(Described(Symbol("x:y:list"), [1])),
    "string": encode("x"),
    "number": encode(7),
}
_ONLY: Final = {
    "sasl-mechanisms": "client",
    "sasl-challenge": "client",
    "sasl-outcome": "client",
    "sasl-init": "server",
}
_ONLY_SERVERS: Final = ("sasl-response", "coordinator", "declare", "discharge", "header", "properties", *SECTIONS)
"""Types that one kind of end receives, or looks into, only."""


@dataclass(frozen=True)
class Form:
    """One form of a field: the octets of the whole value of its type, and who may get it."""

    type: str
    field: str
    form: str
    octets: bytes

    @property
    def ends(self) -> tuple[str, ...]:
        """The kinds of endpoints that receive it."""
        if self.type in _ONLY:
            return (_ONLY[self.type],)
        return ("server",) if self.type in _ONLY_SERVERS else ("client", "server")

    @property
    def harm(self) -> Harm:
        """The most that may end by it."""
        if (self.type, self.field, self.form) in RULES:
            return RULES[self.type, self.field, self.form]
        try:
            if self.type in SECTIONS:
                return max([harm_of(each) for each in odd_fields(self.octets)], key=_by_value, default=Harm.NONE)
            octets = self.octets
            kind(self.type).read(octets, 3, len(octets), NESTING, ENTRIES, 0)
        except OddRecord as odd:
            return worst(odd.odds)[0]
        return Harm.NONE

    @property
    def observed(self) -> str:
        """What an observer loses."""
        frame = kind(self.type) if self.type not in SECTIONS else None
        if (self.type, self.field, self.form) in RULES:
            return "none"
        lost = self.harm is Harm.CONNECTION or (self.harm is Harm.SESSION and frame is not Begin)
        return "frame" if lost and frame is not Open else "none"

    @property
    def row(self) -> tuple[str, ...]:
        """Its row."""
        harm = self.harm.name.lower()
        ends = [harm if end in self.ends else "" for end in ("client", "server")]
        return (self.type, self.field.replace("_", "-"), self.form, *ends, self.observed)


def _by_value(harm: Harm) -> int:
    return harm.value


def kind(name: str) -> type[Composite]:
    """The composite type of this name."""
    return next(each for each in COMPOSITES.values() if issubclass(each, Composite) and name == each.NAME)


def variants(base: str, usual: Any, *, multiple: bool) -> dict[str, bytes]:
    """The octets of another type than `base` that real peers send, or that none does, by what they are; `usual` is a
    value that fits the field."""
    name = SOURCES.get(base, base)
    text = usual.decode() if isinstance(usual, bytes) else usual if isinstance(usual, str) else "x"
    if multiple:
        lists = {"list": encode([Symbol(text)]), "array of strings": encode(Array([text, text]))}
        return {**lists, "string": encode(text), "number": encode(7)}
    if name in ("ubyte", "ushort", "uint", "ulong"):
        same = usual if isinstance(usual, int) else 1
        wide: dict[str, Any] = {"long": int(same), "uint": UInt(same), "ulong": ULong(same), "ushort": UShort(same)}
        return {
            **{each: encode(value) for each, value in wide.items() if each != name},
            "below 0": encode(-1),
            **_text(),
        }
    if name == "timestamp":
        return {"long": encode(7), "ulong": encode(ULong(7)), **_text()}
    if name == "boolean":
        return {"number": encode(1), **_text()}
    if name == "map":
        bare = {"not described": encode({Symbol("com.microsoft:session-filter"): "A"})} if base == "filter-set" else {}
        return {**_MAPS, **bare}
    if name in ("string", "symbol", "binary"):
        octets = {"string": encode(text), "symbol": encode(Symbol(text)), "binary": encode(text.encode())}
        return {**{each: found for each, found in octets.items() if each != name}, "number": encode(7)}
    if name == "message-id":
        return {"uint": encode(UInt(7)), "symbol": encode(Symbol("7")), "list": encode([1])}
    if name == "address":
        return {"symbol": encode(Symbol("q")), "number": encode(7)}
    if name == "txn-id":
        return {"string": encode("x"), "number": encode(7)}
    return _DESCRIBED


def _text() -> dict[str, bytes]:
    return {"string": encode("1")}


def _whole(name: str, fields: list[bytes], more: int = 0) -> bytes:
    items = fields + [_NULL] * more
    return b"\x00\x53" + bytes((kind(name).CODE,)) + encode_items(0xC0, len(items), b"".join(items))


def forms() -> Iterator[Form]:
    """Every form of every field, in the order of the types' numbers and of their fields."""
    for name, base in BASES.items():
        wire = kind(name).WIRE
        fields = [base.get(field, _NULL) for field, *_ in wire]
        yield Form(name, "", "one field too many", _whole(name, fields, 1))
        for index, (field, of, _, _, multiple) in enumerate(wire):
            before, after = fields[:index], fields[index + 1 :]
            if all([each == _NULL for each in after]):
                yield Form(name, field, "absent", _whole(name, before))
            yield Form(name, field, "null", _whole(name, [*before, _NULL, *after]))
            usual, _ = decode(fields[index])
            for form, octets in variants(of, usual, multiple=multiple).items():
                yield Form(name, field, form, _whole(name, [*before, octets, *after]))
            cut = b"\xa1\x01\xff" if SOURCES.get(of, of) != "map" else b"\xc1\x03\x02\x40\x4f"
            yield Form(name, field, "damaged", _whole(name, [*before, cut, *after]))
    for name, code in SECTIONS.items():
        lead = b"\x00\x53" + bytes((code,))
        keys = {"keys are strings": {"x": 1}, "keys are symbols": {Symbol("x"): 1}, "keys are numbers": {7: 1}}
        cases: dict[str, Any] = {**keys, "values are lists": {"x": [1]}, "values are maps": {"x": {"y": 1}}}
        for form, value in cases.items():
            section = lead + encode(value)
            yield Form(name, "", form, _BODY + section if code == 0x78 else section + _BODY)


def table() -> str:
    """The whole file."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(HEADER)
    writer.writerows([form.row for form in forms()])
    return out.getvalue()


if __name__ == "__main__":
    PATH.write_text(table(), encoding="utf-8")
    print(f"{PATH}: {len(table().splitlines()) - 1} forms", file=sys.stderr)
