"""The generator of 0-10's records: structs, controls and commands, with straight-line packing and unpacking.

A dtx.xid of a command is read in either of its two forms.
"""

from __future__ import annotations

from itertools import groupby
from keyword import iskeyword
from pathlib import Path
from typing import Any, Final, NamedTuple

from .facts import FACTS, read_rows

_TARGET = "amqp_sansio/amqp_0_10/codec/records.py"

_FIXED = {
    "uint8": ("B", 1),
    "uint16": ("H", 2),
    "uint32": ("I", 4),
    "sequence-no": ("I", 4),
    "uint64": ("Q", 8),
    "datetime": ("q", 8),
}
_SIZED = {"str8": 1, "vbin8": 1, "str16": 2, "vbin16": 2, "vbin32": 4, "fragments": 4}
_PYTHON = {
    "bit": "bool",
    "uint8": "int",
    "uint16": "int",
    "uint32": "int",
    "uint64": "int",
    "sequence-no": "int",
    "datetime": "int",
    "str8": "str",
    "str16": "str",
    "vbin8": "bytes",
    "vbin16": "bytes",
    "vbin32": "bytes",
    "uuid": "UUID",
    "map": "Mapping[str, Any]",
    "array": "Sequence[Any]",
    "struct32": "Any",
    "sequence-set": "SequenceSet",
    "byte-ranges": "ByteRanges",
    "fragments": "bytes",
}
_HELPERS = (
    "BITS",
    "OCTETS",
    "pack_array",
    "pack_byte_ranges",
    "pack_map",
    "pack_sequence_set",
    "pack_str8",
    "pack_str16",
    "pack_struct32",
    "pack_vbin8",
    "pack_vbin16",
    "pack_vbin32",
    "read_array",
    "read_byte_ranges",
    "read_sequence_set",
    "read_struct32",
    "read_uuid",
    "read_xid",
)
_BASES = ("struct", "control", "command")
_EXEMPT = {
    # If senders leave it out, it means zero: explicit, pre-acquired.
    "message.transfer": ("accept_mode", "acquire_mode"),
    "message.subscribe": ("accept_mode", "acquire_mode"),
    # If senders leave it out: en_US, the only locale; the virtual host without a name; no reason, which is code 0.
    "connection.start-ok": ("locale",),
    "connection.open": ("virtual_host",),
    "message.reject": ("code",),
    # If senders leave it out: priority 4, non-persistent.
    "message.delivery-properties": ("priority", "delivery_mode"),
    # The result for an unknown queue has nothing to say about it.
    "queue.queue-query-result": ("queue", "message_count", "subscriber_count"),
    # A query without a queue is as meaningful as one without an exchange.
    "exchange.bound": ("queue",),
}
"""Fields marked as required, whose absence nevertheless has a clear meaning."""

_SECRET = {("connection.start-ok", "response"), ("connection.secure-ok", "response")}


class Field(NamedTuple):
    """A field: its Python name, its type with domains resolved, whether it is required, its position."""

    name: str
    kind: str
    required: bool
    place: int


class Record(NamedTuple):
    """A struct, control or command."""

    base: str
    name: str
    code: int
    size: int
    pack: int
    fields: tuple[Field, ...]
    responses: tuple[str, ...]
    result: str
    headers: tuple[str, ...]
    body: bool
    handlers: tuple[str, ...]

    @property
    def mandatory(self) -> tuple[str, ...]:
        """The required fields that can be absent: a bit is always present."""
        exempt = _EXEMPT.get(self.name, ())
        return tuple(
            [field.name for field in self.fields if field.required and field.kind != "bit" and field.name not in exempt]
        )


def generate(folder: Path = FACTS) -> dict[str, str]:
    """Return the module's path and text."""
    records = [_record(row) for row in read_rows("0-10", folder)]
    records.sort(key=lambda record: _BASES.index(record.base))
    return {_TARGET: _module(records)}


def _record(row: dict[str, Any]) -> Record:
    base = next(each for each in _BASES if each in row)
    fields = [
        Field(_field_name(name), kind, required, place) for place, (name, kind, required) in enumerate(row["fields"])
    ]
    return Record(
        base,
        row[base],
        row["code"],
        row.get("size", 0),
        row.get("pack", 2),
        tuple(fields),
        tuple(row.get("responses", ())),
        row.get("result", ""),
        tuple(row.get("headers", ())),
        row.get("body", False),
        tuple(row.get("handlers", ())),
    )


def _field_name(name: str) -> str:
    plain = name.replace("-", "_")
    return f"{plain}_" if iskeyword(plain) else plain


def class_name(name: str) -> str:
    """Return a record's class: message.set-flow-mode is MessageSetFlowMode; fully qualified structs lose the class."""
    owner, _, rest = name.partition(".")
    words = rest.split("-")
    title = "".join([word.capitalize() for word in words])
    bare = (
        "delivery",
        "message",
        "fragment",
        "file",
        "stream",
        "exchange",
        "queue",
        "reply",
        "xid",
        "xa",
        "get",
        "recover",
        "acquired",
        "command",
    )
    if (words[0] in bare and (words[-1] in ("properties", "result", "to", "fragment") or len(words) == 1)) and (
        rest not in ("recover", "query")
    ):
        return title
    return owner.capitalize() + title


def _module(records: list[Record]) -> str:
    lines = [
        '"""The structs, controls and commands of 0-10.',
        "",
        "Generated: edit the generator (tools/codegen/amqp_0_10.py) instead.",
        '"""',
        "",
        "# ruff: noqa: RUF023",
        "from __future__ import annotations",
        "",
        "from struct import Struct as _Struct",
        "",
        "from ..._checking import TYPE_CHECKING",
        "from .field_types import (",
        *[f"    {name}," for name in _HELPERS],
        ")",
        "from .record import COMMANDS, CONTROLS, UNPACKERS, Command, Control",
        "from .structs import STRUCTS, Struct",
        "from .types import Map",
        "from .values import Datetime",
        "",
        "if TYPE_CHECKING:",
        "    from collections.abc import Mapping, Sequence",
        "    from typing import Any, ClassVar, Self",
        "    from uuid import UUID",
        "",
        "    from .sequence_set import ByteRanges, SequenceSet",
        "",
        "_new = object.__new__",
        "_map = Map.from_wire",
    ]
    for form in "BHIQq":
        lines += [f'_pack_{form} = _Struct(">{form}").pack', f'_read_{form} = _Struct(">{form}").unpack_from']
    for record in records:
        lines += ["", "", *_class(record)]
    lines += ["", ""]
    for base, title in (("struct", "STRUCTS"), ("control", "CONTROLS"), ("command", "COMMANDS")):
        lines.append(f"{title}.update({{")
        lines += [
            f"    0x{record.code:04X}: {class_name(record.name)},"
            for record in records
            if record.base == base and record.code
        ]
        lines.append("})")
    lines += ["UNPACKERS.update({", "    code: kind.unpack_fields", "    for code, kind in STRUCTS.items()", "})"]
    names = ["COMMANDS", "CONTROLS", "STRUCTS", *sorted([class_name(record.name) for record in records])]
    lines += ["", "__all__ = [", *[f'    "{name}",' for name in names], "]"]
    return "\n".join(lines) + "\n"


def _class(record: Record) -> list[str]:
    base = record.base.capitalize()
    generic = base
    if record.base == "command":
        generic = f"Command[{class_name(record.result)}]" if record.result else "Command[None]"
    names = [field.name for field in record.fields]
    lines = [
        f"class {class_name(record.name)}({generic}):",
        f'    """{record.name} (0-10 {base.lower()}, code 0x{record.code:04x})."""',
        "",
    ]
    lines += _names("__slots__", names)
    lines += ["", f'    NAME: ClassVar[str] = "{record.name}"', f"    CODE: ClassVar[int] = 0x{record.code:04X}"]
    if record.base == "struct":
        lines += [f"    SIZE: ClassVar[int] = {record.size}", f"    PACK: ClassVar[int] = {record.pack}"]
    if names:
        lines.append("    FIELDS: ClassVar[tuple[tuple[str, str], ...]] = (")
        lines += [f'        ("{field.name}", "{field.kind.removeprefix("struct:")}"),' for field in record.fields]
        lines.append("    )")
        lines += _names("__match_args__: ClassVar[tuple[str, ...]]", names)
    required = [field.name for field in record.fields if field.required]
    if required:
        lines.append(f"    REQUIRED: ClassVar[tuple[str, ...]] = ({_tuple(required)})")
    if record.mandatory:
        lines.append(f"    MANDATORY: ClassVar[tuple[str, ...]] = ({_tuple(list(record.mandatory))})")
    secrets = [name for name in names if (record.name, name) in _SECRET]
    if secrets:
        lines.append(f"    SECRETS: ClassVar[tuple[str, ...]] = ({_tuple(secrets)})")
    if record.handlers:
        lines.append(f"    HANDLERS: ClassVar[tuple[str, ...]] = ({_tuple(list(record.handlers))})")
    if record.responses:
        lines.append(f"    RESPONSES: ClassVar[tuple[str, ...]] = ({_tuple(list(record.responses))})")
    if record.result:
        lines.append(f'    RESULT: ClassVar[str] = "{record.result}"')
    if record.headers:
        lines += _names("HEADERS: ClassVar[tuple[str, ...]]", list(record.headers))
    if record.body:
        lines.append("    HAS_BODY: ClassVar[bool] = True")
    if not names:
        return [*lines, "", *_empty()]
    lines.append("")
    lines += [f"    {field.name}: {_annotation(field)}" for field in record.fields]
    lines += ["", "    def __init__(", "        self,"]
    for field in record.fields:
        default = "False" if field.kind == "bit" else "None"
        lines.append(f"        {field.name}: {_annotation(field)} = {default},")
    lines += ["    ) -> None:", "        self.wire = None"]
    lines += [f"        self.{name} = {name}" for name in names]
    return [*lines, "", *_packing(record), "", *_unpacking(record)]


def _empty() -> list[str]:
    return [
        "    @classmethod",
        "    def unpack_fields(cls, data: bytes, pos: int, end: int) -> tuple[Self, int]:",
        "        return cls(), pos + cls.PACK",
    ]


def _tuple(names: list[str]) -> str:
    quoted = [f'"{name}"' for name in names]
    return ", ".join(quoted) + ("," if len(quoted) == 1 else "")


def _names(target: str, names: list[str]) -> list[str]:
    """Return a tuple of names, on one line if it fits."""
    line = f"    {target} = ({_tuple(names)})"
    if len(line) <= 100:
        return [line]
    return [f"    {target} = (", *[f'        "{name}",' for name in names], "    )"]


def _annotation(field: Field) -> str:
    if field.kind == "bit":
        return "bool"
    if field.kind.startswith("struct:"):
        return f"{class_name(field.kind.removeprefix('struct:'))} | None"
    return "Any" if field.kind == "struct32" else f"{_PYTHON[field.kind]} | None"


def _flag(field: Field, pack: int) -> int:
    """Return the field's bit in the packing flags read as one number: the first field is 0x01 of the first octet."""
    octet, bit = divmod(field.place, 8)
    return 1 << (8 * (pack - 1 - octet) + bit)


def _packing(record: Record) -> list[str]:
    lines = ["    def pack_fields(self) -> bytes:", "        parts: list[bytes] = []"]
    if record.pack:
        # A place for the flags, which are known only after all fields.
        lines = ["    def pack_fields(self) -> bytes:", "        flags = 0", '        parts = [b""]']
    for field in record.fields:
        if field.kind == "bit":
            lines += [f"        if self.{field.name}:", f"            flags |= 0x{_flag(field, record.pack):X}"]
            continue
        lines.append(f"        {field.name} = self.{field.name}")
        lines.append(f"        if {field.name} is not None:")
        if record.pack:
            lines.append(f"            flags |= 0x{_flag(field, record.pack):X}")
        if field.kind == "str8":
            lines += [
                f'            octets = {field.name}.encode("utf-8", "surrogateescape")',
                "            size = len(octets)",
                f"            parts += (OCTETS[size], octets) if size < 256 else (pack_str8({field.name}),)",
            ]
            continue
        lines.append(f"            parts.append({_written(field)})")
    if record.pack:
        form = {1: "B", 2: "H", 4: "I"}[record.pack]
        lines.append(f"        parts[0] = _pack_{form}(flags)")
    return [*lines, '        return b"".join(parts)']


def _written(field: Field) -> str:
    kind, name = field.kind, field.name
    if kind in _FIXED:
        return f"_pack_{_FIXED[kind][0]}({name})"
    if kind in _SIZED:
        return f"pack_{'vbin32' if kind == 'fragments' else kind}({name})"
    if kind.startswith("struct:"):
        return f"{name}.encode_sized()"
    return {
        "uuid": f"{name}.bytes",
        "map": f"pack_map({name})",
        "array": f"pack_array({name})",
        "struct32": f"pack_struct32({name})",
        "sequence-set": f"pack_sequence_set({name})",
        "byte-ranges": f"pack_byte_ranges({name})",
    }[kind]


def _unpacking(record: Record) -> list[str]:
    lines = [
        "    @classmethod",
        "    def unpack_fields(cls, data: bytes, pos: int, end: int) -> tuple[Self, int]:",
        "        found = _new(cls)",
    ]
    if _wide(record):
        lines += _spread(record)
    elif record.pack:
        form = {1: "B", 2: "H", 4: "I"}[record.pack]
        lines += [f"        flags = _read_{form}(data, pos)[0]", f"        pos += {record.pack}"]
    for bits, group in groupby(record.fields, key=lambda field: field.kind == "bit"):
        run = list(group)
        lines += _read_bits(run, record) if bits else _read_fields(run, record)
    return [*lines, "        return found, pos"]


def _wide(record: Record) -> bool:
    """Whether the packing flags of a record are taken apart at once: for a few fields a test of each takes less."""
    return record.pack == 2 and len(record.fields) > _FEW


_FEW: Final = 8


def _spread(record: Record) -> list[str]:
    """Return code that names the packing flags after their fields, octet by octet."""
    lines: list[str] = []
    for octet in range(record.pack):
        names = ["_"] * 8
        for field in record.fields:
            if field.place // 8 == octet:
                names[field.place % 8] = field.name
        at = f"pos + {octet}" if octet else "pos"
        lines += ["        (", *[f"            {name}," for name in names], f"        ) = BITS[data[{at}]]"]
    return [*lines, f"        pos += {record.pack}"]


def _there(field: Field, record: Record) -> str:
    """Return the test of a field's packing flag."""
    return field.name if _wide(record) else f"flags & 0x{_flag(field, record.pack):X}"


def _read_bits(fields: list[Field], record: Record) -> list[str]:
    """Return code for consecutive bits: usually none is set, which one test shows for all."""
    if _wide(record):
        return [f"        found.{field.name} = {field.name}" for field in fields]
    read = [f"found.{field.name} = {_there(field, record)} != 0" for field in fields]
    if len(fields) == 1:
        return [f"        {read[0]}"]
    every = sum([_flag(field, record.pack) for field in fields])
    return [
        f"        if flags & 0x{every:X}:",
        *[f"            {line}" for line in read],
        "        else:",
        *[f"            found.{field.name} = False" for field in fields],
    ]


def _read_fields(fields: list[Field], record: Record) -> list[str]:
    lines: list[str] = []
    for field in fields:
        indent = ""
        if record.pack:
            lines.append(f"        if {_there(field, record)}:")
            indent = "    "
        lines += [f"        {indent}{line}" for line in _read_field(field)]
        if record.pack:
            lines += ["        else:", f"            found.{field.name} = None"]
    return lines


def _read_field(field: Field) -> list[str]:
    kind, name = field.kind, field.name
    if kind in _FIXED:
        form, width = _FIXED[kind]
        value = "data[pos]" if form == "B" else f"_read_{form}(data, pos)[0]"
        if kind == "datetime":
            value = f"Datetime({value})"
        return [f"found.{name} = {value}", f"pos += {width}"]
    if kind in _SIZED:
        width = _SIZED[kind]
        size = "data[pos]" if width == 1 else f"_read_{'H' if width == 2 else 'I'}(data, pos)[0]"
        octets = "data[start:pos]"
        if kind.startswith("str"):
            octets += '.decode("utf-8", "surrogateescape")'
        return [f"start = pos + {width}", f"pos = start + {size}", f"found.{name} = {octets}"]
    if kind == "struct:dtx.xid":
        return [f"found.{name}, pos = read_xid(data, pos, end)"]
    if kind.startswith("struct:"):
        # A message.reply-to; two octets of size precede it, as in an xid only.
        inner = class_name(kind.removeprefix("struct:"))
        return [
            "stop = pos + 2 + _read_H(data, pos)[0]",
            f"found.{name} = {inner}.decode(data, pos + 2, stop)",
            "pos = stop",
        ]
    if kind == "map":
        return ["start = pos + 4", "pos = start + _read_I(data, pos)[0]", f"found.{name} = _map(data[start:pos])"]
    reader = {
        "uuid": "read_uuid",
        "array": "read_array",
        "struct32": "read_struct32",
        "sequence-set": "read_sequence_set",
        "byte-ranges": "read_byte_ranges",
    }[kind]
    return [f"found.{name}, pos = {reader}(data, pos)"]


__all__ = ["generate"]
