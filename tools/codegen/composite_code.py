"""The straight-line code of AMQP 1.0's composite types: reading the frequent ones, writing all of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .composites import Item, Type

FAST = ("flow", "transfer", "disposition", "header", "properties")
"""The types with generated code; the others are read and written field by field."""

SCANNED = ("flow", "transfer", "disposition", "properties")
"""The types that the module in C may read."""

SPLIT = {"transfer": 6}
"""The number of fields before those that are rarely present."""

LIKELY = ("message_id", "to", "subject", "content_type", "creation_time", "priority")
"""Fields that are usually present."""

GROUPS = {
    "reply_to": (
        3,
        "word, code, size = READ_U16_TWO_U8(buf, pos)",
        "word == 0x4040 and code == 0xA3",
        [
            *("at = pos + 4", "pos = at + size", "found.reply_to = None", "found.correlation_id = None"),
            *("raw = buf[at:pos]", 'found.content_type = SYMBOLS.get(raw) or Symbol(raw, "ascii")'),
        ],
    ),
    "content_encoding": (
        3,
        "word, code, moment = READ_U16_U8_I64(buf, pos)",
        "word == 0x4040 and code == 0x83",
        [
            *("found.content_encoding = None", "found.absolute_expiry_time = None"),
            *("found.creation_time = INT(Timestamp, moment)", "pos += 11"),
        ],
    ),
}
"""Consecutive fields, some of them null in most messages, that are read at once: the first of them, their number, how
they are read, the usual encoding, and its values."""

INTEGERS = {
    "handle": "uint",
    "seconds": "uint",
    "milliseconds": "uint",
    "sequence-no": "uint",
    "delivery-number": "uint",
    "transfer-number": "uint",
    "message-format": "uint",
    "uint": "uint",
    "ubyte": "ubyte",
    "receiver-settle-mode": "ubyte",
}
BOOLEANS = ("boolean", "role")

_FIELDS = (
    "def NAME(buf: bytes, pos: int, stop: int, count: int, start: int) -> CLASS:",
    '    """Read `count` fields up to `stop`; raises one of READ_FAULTS for whatever is out of the ordinary."""',
)
_LIST = (
    "def NAME(buf: bytes, pos: int, end: int, start: int) -> tuple[CLASS, int]:",
    '    """Read the list at `pos`; raises one of READ_FAULTS for whatever is out of the ordinary."""',
    "    code = buf[pos]",
    "    if code == 0xC0:",
    "        stop = pos + 2 + buf[pos + 1]",
    "        count = buf[pos + 2]",
    "        pos += 3",
    "    elif code == 0xD0:",
    "        size, count = READ_TWO_U32(buf, pos + 1)",
    "        stop = pos + 5 + size",
    "        pos += 9",
    "    else:",
    "        raise ValueError",
)


def emit_reader(found: Type) -> list[str]:
    """Return the static method `fast`, or `fast_fields` for the body of a frame, or nothing."""
    if found.name not in FAST:
        return []
    # The begin of a frame's list is read together with its descriptor.
    test, head, result = (
        ("stop > end or ", _LIST, "found, stop") if found.base == "Composite" else ("", _FIELDS, "found")
    )
    public = "fast" if found.base == "Composite" else "fast_fields"
    name = "_read" if found.name in SCANNED else public
    lines = ["", "@staticmethod"]
    lines += [line.replace("CLASS", found.python_name).replace("NAME", name) for line in head]
    lines += [f"    if {test}count > {len(found.items)}:", "        raise ValueError"]
    lines += [f"    found: {found.python_name} = NEW({found.python_name})"]
    lines += ["    " + line for line in _read(found.items, 0)]
    lines += [
        "    if pos != stop:",
        "        raise ValueError",
        "    found.wire = buf[start:stop]",
        f"    return {result}",
    ]
    if found.name in SCANNED:
        lines += _scanned(found, head, public)
    return ["    " + line if line else "" for line in lines]


def _scanned(found: Type, head: tuple[str, ...], public: str) -> list[str]:
    """Return the static method that has the module in C read the list, and the choice between the two."""
    name = found.python_name
    lines = ["", "@staticmethod", head[0].replace("CLASS", name).replace("NAME", "_scan")]
    if public == "fast":
        lines += [f"    found = scan_list(buf, start, pos, end, {plan_name(found)}, {maker_name(found)})"]
        lines += ["    if found is not None:", "        return found", f"    return {name}._read(buf, pos, end, start)"]
    else:
        # The frame's list begins behind its descriptor of three octets.
        lines += [f"    found = scan_list(buf, start, start + 3, stop, {plan_name(found)}, {maker_name(found)})"]
        lines += ["    if found is not None and found[1] == stop:", "        return found[0]"]
        lines += [f"    return {name}._read(buf, pos, stop, count, start)"]
    return [*lines, "", f"{public} = _scan if COMPILED else _read", head[1].strip()]


def maker_name(found: Type) -> str:
    """Return the name of what makes the records of a type, where the module in C is built."""
    return f"_MAKE_{found.name.upper()}"


def plan_name(found: Type) -> str:
    """Return the name of what the module in C is told about a type."""
    return f"_{found.name.upper()}"


def plan(found: Type) -> str:
    """Return the letters of a type's fields, which `scan_list` explains."""
    return "".join([_letter(item) for item in found.items])


def _letter(item: Item) -> str:
    kind = INTEGERS.get(item.kind, item.kind)
    if kind == "ubyte":
        return "m"
    if kind == "uint":
        return "U" if item.mandatory else "u"
    if kind in BOOLEANS:
        return "B" if item.mandatory else "f" if item.default == "False" else "b"
    return _LETTERS.get(kind, "n")


_LETTERS = {
    "delivery-tag": "d",
    "delivery-state": "a",
    "binary": "o",
    "string": "s",
    "address": "s",
    "symbol": "y",
    "timestamp": "t",
    "message-id": "i",
}


def _read(items: tuple[Item, ...], index: int) -> list[str]:
    """Return code for the fields from `index` on: all are present, or all absent, which mandatory ones forbid."""
    item = items[index]
    size = 1
    if item.name in GROUPS:
        size, reading, test, body = GROUPS[item.name]
        lines = [reading, f"if {test} and count > {index + size - 1}:", *["    " + line for line in body], "else:"]
        for place in range(index, index + size):
            member = ["code = buf[pos]", *_value(items[place])]
            if place > index:
                member = [f"if count > {place}:", *["    " + line for line in member], "else:"]
                member += [f"    found.{items[place].name} = {items[place].default}"]
            lines += ["    " + line for line in member]
    else:
        lines = ["code = buf[pos]", *_value(item)]
    if index + size < len(items):
        lines += _read(items, index + size)
    rest = items[index:]
    if any(later.mandatory for later in rest):
        absent = ["raise ValueError"]
    else:
        absent = [f"found.{later.name} = {later.default}" for later in rest]
    there = f"if count > {index}:" if index else "if count:"
    if absent == ["raise ValueError"] and not index:
        return ["if not count:", *["    " + line for line in absent], *lines]
    return [there, *["    " + line for line in lines], "else:", *["    " + line for line in absent]]


def _value(item: Item) -> list[str]:
    cases = _cases(item)
    if not item.mandatory:
        null = [f"found.{item.name} = {item.default}", "pos += 1"]
        alike = [case for case in cases if case[1] == null]
        if alike:
            place = cases.index(alike[0])
            cases[place] = (alike[0][0] + " or code == 0x40", null)
        else:
            first = item.kind not in BOOLEANS and item.owner != "transfer"
            place = 1 if item.name in LIKELY else 0 if first else min(2, len(cases))
            cases.insert(place, ("0x40", null))
    lines: list[str] = []
    for number, (code, body) in enumerate(cases):
        lines += [f"{'el' if number else ''}if code == {code}:", *["    " + line for line in body]]
    return [*lines, "else:", "    raise ValueError"]


def _cases(item: Item) -> list[tuple[str, list[str]]]:
    name = f"found.{item.name}"
    kind = INTEGERS.get(item.kind, item.kind)
    if kind == "uint":
        zero = ("0x43", [f"{name} = 0", "pos += 1"])
        small = ("0x52", [f"{name} = buf[pos + 1]", "pos += 2"])
        full = ("0x70", [f"{name} = READ_U32(buf, pos + 1)[0]", "pos += 5"])
        if item.kind in ("handle", "message-format"):
            return [zero, small, full]
        return [full, small, zero] if item.kind == "delivery-number" else [small, full, zero]
    if kind == "ubyte":
        check = ["if buf[pos + 1] > 1:", "    raise ValueError"] if "mode" in item.kind else []
        return [("0x50", [*check, f"{name} = buf[pos + 1]", "pos += 2"])]
    if kind in BOOLEANS:
        return [
            ("0x41", [f"{name} = True", "pos += 1"]),
            ("0x42", [f"{name} = False", "pos += 1"]),
            ("0x56 and buf[pos + 1] < 2", [f"{name} = buf[pos + 1] == 1", "pos += 2"]),
        ]
    if kind == "delivery-tag":
        check = ["size = buf[pos + 1]", "if size > 32:", "    raise ValueError"]
        return [("0xA0", [*check, "at = pos + 2", "pos = at + size", f"{name} = buf[at:pos]"])]
    if kind == "delivery-state":
        accepted = "code == 0x00 and buf[pos : pos + 4] == ACCEPTED_OCTETS"
        return [(accepted.removeprefix("code == "), [f"{name} = ACCEPTED", "pos += 4"])]
    if kind == "timestamp":
        read = ["(moment,) = READ_I64(buf, pos + 1)", f"{name} = INT(Timestamp, moment)"]
        return [("0x83", [*read, "pos += 9"])]
    if kind == "message-id":
        return [
            ("0xA1", _sized(name, "{}.decode()", 1)),
            ("0x98", ["at = pos + 1", "pos = at + 16", f"{name} = read_uuid(buf, at)"]),
            ("0x53", [f"{name} = buf[pos + 1]", "pos += 2"]),
            ("0x80", [f"{name} = READ_U64(buf, pos + 1)[0]", "pos += 9"]),
            ("0xA0", _sized(name, "{}", 1)),
        ]
    reading = {"symbol": 'SYMBOLS.get(raw) or Symbol(raw, "ascii")', "binary": "{}"}.get(kind, "{}.decode()")
    code = {"symbol": 0xA3, "binary": 0xA0, "string": 0xA1, "address": 0xA1}.get(kind)
    if code is None:
        return []
    return [(f"0x{code:02X}", _sized(name, reading, 1)), (f"0x{code + 16:02X}", _sized(name, reading, 4))]


def _sized(name: str, reading: str, width: int) -> list[str]:
    size = "buf[pos + 1]" if width == 1 else "READ_U32(buf, pos + 1)[0]"
    lines = [f"at = pos + {width + 1}", f"pos = at + {size}"]
    if "raw" in reading:
        return [*lines, "raw = buf[at:pos]", f"{name} = {reading}"]
    return [*lines, f"{name} = {reading.format('buf[at:pos]')}"]


def emit_writer(found: Type) -> list[str]:
    """Return the method `encode`: straight-line code, with the general encoder for special values; or nothing."""
    if found.name not in FAST:
        return []
    split = SPLIT.get(found.name, len(found.items))
    head, tail = found.items[:split], found.items[split:]
    letters = [f"item{number}" for number in range(len(found.items))]
    body: list[str] = []
    for item, letter in zip(head, letters, strict=False):
        body += _written(item, letter)
    if tail:
        tests = [f"self.{item.name} is {item.default}" for item in tail]
        rest: list[str] = []
        for item, letter in zip(tail, letters[split:], strict=True):
            rest += _written(item, letter)
        body += ["if (", f"    {tests[0]}", *[f"    and {test}" for test in tests[1:]], "):"]
        body += ["    " + line for line in _join(head, letters)]
        body += ["else:", *["    " + line for line in rest + _join(found.items, letters)]]
    else:
        body += _join(head, letters)
    lead = f"\\x00\\x53\\x{found.code:02x}"
    body += [f'return b"{lead}\\xc0%c%c%b" % (len(octets) + 1, count, octets)']
    lines = ["", "def encode(self) -> bytes:"]
    lines += ["    if self.wire is not None:", "        return self.wire", "    try:"]
    lines += ["        " + line for line in body]
    lines += ["    except WRITE_FAULTS:", "        pass", f'    return b"{lead}" + write_slowly(self)']
    lines = [line.replace("EMPTY_LIST", f'b"{lead}\\x45"') for line in lines]
    return ["    " + line if line else "" for line in lines]


def _written(item: Item, letter: str) -> list[str]:
    kind = INTEGERS.get(item.kind, item.kind)
    name = item.name
    null = f"{name} is None"
    if kind in BOOLEANS:
        if item.default == "False" and not item.mandatory:
            null = f"{name} is False"
        choices = [f"BOOLEANS[{name}]"]
    else:
        if item.default != "None":
            null = f"{name} == {item.default}"
        choices = _octets(item, kind)
    if not item.mandatory:
        choices = ["NULL", null, *choices]
    lines = [f"{name} = self.{name}"]
    ternary = f"{letter} = {choices[0]}"
    for test, octets in zip(choices[1::2], choices[2::2], strict=True):
        ternary += f" if {test} else {octets}"
    if len(ternary) <= 106 and len(choices) < 4:
        return [*lines, ternary]
    for number in range(0, len(choices) - 1, 2):
        lines += [f"{'el' if number else ''}if {choices[number + 1]}:", f"    {letter} = {choices[number]}"]
    return [*lines, "else:", f"    {letter} = {choices[-1]}"]


def _octets(item: Item, kind: str) -> list[str]:
    # Octets, their condition, other octets, and so on; the last ones have no condition.
    name = item.name
    string = f"STRING[len(raw := {name}.encode())] + raw"
    slow = f'write_field(self.NAME, "{name}", "{item.kind}", False, False, {name})'
    choices = {
        "message-id": [string, f"isinstance({name}, str)", slow],
        "address": [string, f"isinstance({name}, str)", slow],
        "delivery-state": [f"{name}.encode()", f"isinstance({name}, DeliveryState)", slow],
        "receiver-settle-mode": [f"MODES[{name}]"],
    }
    plain = {
        "uint": [f"UINTS[{name}]", f"0 <= {name} < 256", f"PACK_U32(0x70, {name})"],
        "ubyte": [f"UBYTES[{name}]", f"{name} >= 0", f"raising({name})"],
        "string": [string],
        "symbol": [f'SYMBOL[len(raw := {name}.encode("ascii"))] + raw'],
        "binary": [f"BINARY[len({name})] + {name}"],
        "delivery-tag": [f"TAG[len({name})] + {name}"],
        "timestamp": [f"PACK_I64(0x83, {name})"],
    }
    return choices.get(item.kind) or plain.get(kind) or [slow]


def _join(items: tuple[Item, ...], letters: list[str]) -> list[str]:
    lines: list[str] = []
    for number in range(len(items), 0, -1):
        item = items[number - 1]
        test = f"if {letters[number - 1]} is not NULL:"
        if item.mandatory:
            test = "else:" if lines else ""
        elif lines:
            test = "el" + test
        chosen = ", ".join(letters[:number]) + ("," if number == 1 else "")
        body = [f"octets = JOIN(({chosen}))", f"count = {number}"]
        if len(body[0]) > 80:
            body = ["octets = JOIN(", f"    ({chosen})", ")", body[1]]
        lines += [test, *["    " + line for line in body]] if test else body
        if item.mandatory:
            break
    else:
        lines += ["else:", "    return EMPTY_LIST"]
    return lines


__all__ = ["emit_reader", "emit_writer", "maker_name", "plan", "plan_name"]
