"""Emits content properties: constructor, encoder, and a decoder that reads them all at once."""

from __future__ import annotations

from .methods import ANNOTATIONS, FIXED, SIZES
from .model import Field
from .module import Module, assign, docstring, quoted
from .words import field_words

KINDS = {"shortstr": "s", "table": "F", "octet": "B", "timestamp": "T"}
"""What `scan_properties` calls the types."""


def emit_properties(out: Module, prefix: str, number: int, fields: tuple[Field, ...]) -> None:
    """Emit the class of the properties of one content class."""
    name = f"{prefix.capitalize()}Properties"
    out.public.append(name)
    out.need("properties", "Properties")
    told = [f"`{item.name}` {field_words(f'{prefix} properties', item.name)}" for item in fields]
    body = docstring(f"The properties of content of class {prefix} ({number}).", told)
    body += ["", *assign("__match_args__", quoted([item.name for item in fields]))]
    body += ['__slots__ = ("_raw", "_rules", *__match_args__)', "", f"CLASS_ID = {number}"]
    if fields:
        out.typing("Any", "Final")
        out.need("properties", "lazily")
        body += assign("FIELDS", [f'("{item.name}", "{item.type}")' for item in fields])
        body += ["", "def __init__(", "    self,"]
        body += [f"    {item.name}: {ANNOTATIONS[item.type]} | None = None," for item in fields]
        body += [") -> None:", "    self._raw = None"]
        body += [f"    self.{item.name}: Final = {item.name}" for item in fields]
    else:
        body += ["", "def __init__(self) -> None:", "    self._raw = None"]
    out.lines += ["", "", f"class {name}(Properties):"]
    out.block(4, body)
    made = f"_Unread{name}()" if fields else f"{out.new()}({name})"
    out.block(4, ["", "@staticmethod", f"def from_wire(raw: bytes, tables: TableRules) -> {name}:"])
    out.block(8, [f"properties = {made}", "properties._raw = raw", "properties._rules = tables", "return properties"])
    if not fields:
        return
    out.block(4, ["", "def encode(self, tables: TableRules) -> bytes:"])
    out.block(8, _encoder(out, fields))
    # Nobody reads the properties of other classes often.
    scanned = prefix == "basic"
    out.block(4, ["", f"def {'_read' if scanned else '_load'}(self) -> None:"])
    out.block(8, _loader(out, name, fields))
    if scanned:
        out.scans("maker", "scan_properties")
        letters = "".join([KINDS[item.type] for item in fields])
        out.block(4, ["", "def _scan(self) -> None:", "    slot: Any = self", "    rules = slot._rules"])
        out.block(8, [f'if scan_properties(slot._raw, b"{letters}", _TABLES, rules, self, _{name.upper()}):'])
        out.block(8, [f"    slot.__class__ = {name}", "else:", "    self._read()"])
        out.block(4, ["", "_load = _scan if COMPILED else _read"])
    if any(item.type == "table" for item in fields):
        out.tables()
    for item in fields:
        # Code of its own for each name, so that the interpreter specializes it.
        out.lines += ["", "", f"def _{prefix}_{item.name}(self: Any) -> Any:"]
        out.lines += ["    self._load()", f"    return self.{item.name}"]
    out.lines += ["", "", f"_Unread{name}: Final = lazily("]
    out.lines += [f"    {each}," for each in (name, *[f"_{prefix}_{item.name}" for item in fields])]
    out.lines.append(")")
    if scanned:
        out.lines += ["", "if TYPE_CHECKING or COMPILED:"]
        out.lines.append('    _TABLES: Final = maker(Table, ("_raw", "_rules", "_values"), (None,))')
        out.lines.append(f"    _{name.upper()}: Final = maker({name}, {name}.__match_args__, ())")


def _encoder(out: Module, fields: tuple[Field, ...]) -> list[str]:
    out.need("method", "WRITE_FAULTS")
    out.need("properties", "encode_slowly as encode_properties_slowly")
    lines = [
        "raw = self._raw",
        "if raw is not None and (self._rules is tables or self._as_is(tables)):",
        "    return raw",
        "flags = 0",
        'parts = [b""]',
        "try:",
    ]
    for place, item in enumerate(fields):
        lines.append(f"    if ({item.name} := self.{item.name}) is not None:")
        lines.append(f"        flags |= 0x{0x8000 >> place:04X}")
        if item.type == "shortstr":
            out.need("method", "OCTET")
            lines.append(f"        text = {item.name}.encode()")
            lines.append("        parts += OCTET[len(text)], text")
        elif item.type == "table":
            out.need("table", "encode_table")
            lines.append(f"        parts.append(encode_table({item.name}, tables))")
        else:
            pack = out.packer(FIXED[item.type])
            lines.append(f"        parts.append({pack}({item.name}))")
    return [
        *lines,
        "except WRITE_FAULTS:",
        "    return encode_properties_slowly(self, tables)",
        f"parts[0] = {out.packer('H')}(flags)",
        'return b"".join(parts)',
    ]


def _loader(out: Module, name: str, fields: tuple[Field, ...]) -> list[str]:
    out.need("method", "BITS", "READ_FAULTS")
    out.need("properties", "load_slowly")
    names = [item.name for item in fields] + ["_"] * (16 - len(fields))
    lines = [
        "slot: Any = self",
        "raw: bytes = slot._raw",
        f"slot.__class__ = {name}",
        "try:",
        "    flags = raw[0]",
        "    more = raw[1]",
    ]
    # One look-up takes less time than two tests.
    for octet, place in (("flags", 0), ("more", 8)):
        if place < len(fields):
            rows = [", ".join(names[at : at + 4]) for at in (place, place + 4)]
            lines += ["    (", *[f"        {row}," for row in rows], f"    ) = BITS[{octet}]"]
    lines.append("    pos = 2")
    for item in fields:
        lines += [f"    if {item.name}:", *[f"        {line}" for line in _read(out, item)]]
        lines += ["    else:", f"        slot.{item.name} = None"]
    unknown = 0xFFFF >> len(fields)
    wrong = f"more & 0x{unknown & 0xFF:02X}" + (f" and not flags & 0x{unknown >> 8:02X}" if unknown >> 8 else "")
    return [
        *lines,
        "except READ_FAULTS:",
        "    pass",
        "else:",
        f"    if pos == len(raw) and not {wrong}:",
        "        return",
        f"slot.__class__ = _Unread{name}",
        f"load_slowly(self, raw, self._rules, {name})",
    ]


def _read(out: Module, item: Field) -> list[str]:
    if item.type == "shortstr":
        return ["start = pos + 1", "pos = start + raw[pos]", f"slot.{item.name} = raw[start:pos].decode()"]
    if item.type == "table":
        return [
            "start = pos + 4",
            f"pos = start + {out.reader('I')}(raw, pos)[0]",
            f"slot.{item.name} = {out.table()}(raw[start:pos], slot._rules)",
        ]
    code = FIXED[item.type]
    if code == "B":
        return [f"slot.{item.name} = raw[pos]", "pos += 1"]
    return [f"slot.{item.name} = {out.reader(code)}(raw, pos)[0]", f"pos += {SIZES[code]}"]
