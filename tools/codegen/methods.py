"""Emits method records: constructor, straight-line encoder and straight-line decoder."""

from __future__ import annotations

from .model import Field, Method
from .module import WIDTH, Module, assign, call, docstring, quoted
from .words import field_words, method_words

FIXED = {"octet": "B", "short": "H", "long": "I", "longlong": "Q", "timestamp": "Q"}
SIZES = {"B": 1, "H": 2, "I": 4, "Q": 8}
ANNOTATIONS = {
    "octet": "int",
    "short": "int",
    "long": "int",
    "longlong": "int",
    "timestamp": "int",
    "bit": "bool",
    "shortstr": "str",
    "longstr": "bytes",
    "table": "FieldTable",
    "optional-table": "FieldTable | None",
}
DEFAULTS = {
    "octet": "0",
    "short": "0",
    "long": "0",
    "longlong": "0",
    "timestamp": "0",
    "bit": "False",
    "shortstr": '""',
    "longstr": 'b""',
    "table": "EMPTY",
    "optional-table": "None",
}
TRAILING = ("ticket",)
"""Fields that come first on the wire and last in the constructor: 0-9-1 reserves them."""
RESERVED = ("ticket", "capabilities", "insist", "known_hosts", "out_of_band", "cluster_id")
"""Fields of 0-8 that 0-9-1 reserves."""
SECRETS = {
    "connection.start-ok": ("response",),
    "connection.secure": ("challenge",),
    "connection.secure-ok": ("response",),
    "connection.update-secret": ("new_secret",),
}
SIDES = {frozenset({"client"}): "CLIENT", frozenset({"server"}): "SERVER", frozenset({"client", "server"}): "BOTH"}
SAID = {"CLIENT": "the client", "SERVER": "the server", "BOTH": "either side"}


def python_class(name: str) -> str:
    """Return the class of a method: `basic.get-ok` is BasicGetOk."""
    return "".join([part.capitalize() for part in name.replace(".", "-").split("-")])


def emit_methods(out: Module, methods: dict[str, Method]) -> None:
    """Emit a class for each method, every answer before its request."""
    answers = {reply for method in methods.values() for reply in method.replies}
    answers |= {name for name in methods if name.endswith("-ok")}
    done: set[str] = set()

    def emit(name: str) -> None:
        if name in done or name not in methods:
            return
        done.add(name)
        for reply in methods[name].replies:
            emit(reply)
        _emit(out, methods[name], name in answers)

    for name in sorted(methods, key=lambda name: methods[name].id):
        emit(name)


def _emit(out: Module, method: Method, is_reply: bool) -> None:
    name = python_class(method.name)
    out.public.append(name)
    order = [item for item in method.fields if item.name and item.name not in TRAILING]
    order += [item for item in method.fields if item.name in TRAILING]
    replies = [python_class(reply) for reply in method.replies]
    base = f"Request[{' | '.join(replies)}]" if replies else "Method"
    sides = SIDES[method.sides]
    out.need("method", base.split("[")[0], sides)
    pairs = [f'("{item.name}", "{item.type}")' for item in order]
    wire = [f'("{item.name}", "{item.type}")' for item in method.fields]
    body = docstring(_sentence(method, sides), _told(method, order))
    body += ["", *assign("__match_args__", quoted([item.name for item in order]))]
    body += ["__slots__ = __match_args__", "", f"ID = 0x{method.id:08X}", f'NAME = "{method.name}"']
    body += [f"CLASS_ID = {method.class_id}", f"METHOD_ID = {method.method_id}"]
    body.append(f"SENT_BY = {sides}")
    if method.synchronous:
        body.append("SYNCHRONOUS = True")
    if replies:
        body += assign("REPLIES", replies)
    if method.content:
        body.append("HAS_CONTENT = True")
    if is_reply:
        body.append("IS_REPLY = True")
    if any(item.name == "no_wait" for item in order):
        body.append("HAS_NO_WAIT = True")
    if pairs:
        body += assign("FIELDS", pairs)
    if wire:
        body += ["WIRE = FIELDS"] if wire == pairs else assign("WIRE", wire)
    reserved = [item.name for item in order if item.name in RESERVED]
    if reserved:
        body += assign("RESERVED", quoted(reserved))
    if method.name in SECRETS:
        body += assign("SECRETS", quoted(SECRETS[method.name]))
    if any("table" in item.type for item in order):
        out.tables()
        out.need("table", "EMPTY")
    if order:
        out.typing("Final")
        body += ["", "def __init__(", "    self,"]
        for item in order:
            body.append(f"    {item.name}: {ANNOTATIONS[item.type]} = {DEFAULTS[item.type]},")
        body.append(") -> None:")
        body += [f"    self.{item.name}: Final = {item.name}" for item in order]
        body.append("    self.spare = None")
    out.lines += ["", "", f"class {name}({base}):"]
    out.block(4, body)
    out.block(4, ["", "def encode(self, tables: TableRules) -> bytes:"])
    out.block(8, _Writer(out, method).lines)
    head = f"def decode(buf: bytes, pos: int, end: int, tables: TableRules) -> {name}:"
    heads = [head]
    if len(head) + 4 > WIDTH:
        arguments = "    buf: bytes, pos: int, end: int, tables: TableRules"
        heads = ["def decode(", arguments, f") -> {name}:"]
    out.block(4, ["", "@staticmethod", *heads])
    out.block(8, _Reader(out, method).lines)


def _sentence(method: Method, sides: str) -> str:
    content = ", with content" if method.content else ""
    number = f"{method.class_id}/{method.method_id}"
    return f"{method_words(method.name)}: {method.name} ({number}), by {SAID[sides]}{content}."


def _told(method: Method, order: list[Field]) -> list[str]:
    special = method.name
    if method.name == "basic.consume" and method.fields[-1].type == "table":
        special += " 0-9-1"
    told: list[str] = []
    for item in order:
        text = field_words(special, item.name)
        told.append(f"`{item.name}` {text}" if text else f"`{item.name}`")
    return told


def bits_name(number: int) -> str:
    """Return the variable for an octet of bits, counted from 1."""
    return "bits" if number == 1 else f"bits_{number}"


class _Writer:
    """The body of one encoder."""

    def __init__(self, out: Module, method: Method) -> None:
        octets = "".join([f"\\x{octet:02x}" for octet in method.id.to_bytes(4, "big")])
        self._out = out
        self._constant = f'b"{octets}"'
        self._pieces: list[str] = []
        self._setup: list[str] = []
        self._run = [("I", f"0x{method.id:08X}")]
        self._octets = 0
        self.lines = ["if self.spare is not None:", f"    return {self._constant} + self.spare"]
        fields = method.fields
        if not fields:
            self.lines.append(f"return {self._constant}")
            return
        out.need("method", "encode_slowly")
        if any(item.type == "optional-table" for item in fields):
            self.lines.append("return encode_slowly(self, tables)")
            return
        out.need("method", "WRITE_FAULTS")
        self._fields(fields)
        self.lines += ["try:", *["    " + line for line in self._setup]]
        line = f"    return {' + '.join(self._pieces)}"
        if len(line) + 8 <= WIDTH:
            self.lines.append(line)
        else:
            self.lines.append("    return (")
            for place, piece in enumerate(self._pieces):
                self.lines += ["        " + line for line in call(piece, 16, "+ " if place else "")]
            self.lines.append("    )")
        self.lines += ["except WRITE_FAULTS:", "    return encode_slowly(self, tables)"]

    def _fields(self, fields: tuple[Field, ...]) -> None:
        index = 0
        while index < len(fields):
            item = fields[index]
            if item.type == "bit":
                index = self._bits(fields, index)
                continue
            index += 1
            if item.type in FIXED:
                self._run.append((FIXED[item.type], f"self.{item.name}" if item.name else "0"))
            elif not item.name:
                self._run.append(("B" if item.type == "shortstr" else "I", "0"))
            elif item.type == "table":
                self._out.need("table", "encode_table")
                self._flush()
                self._pieces.append(f"encode_table(self.{item.name}, tables)")
            else:
                short = item.type == "shortstr"
                self._setup.append(f"{item.name} = self.{item.name}{'.encode()' if short else ''}")
                self._run.append(("B" if short else "I", f"len({item.name})"))
                self._flush()
                self._pieces.append(item.name)
        self._flush()

    def _bits(self, fields: tuple[Field, ...], index: int) -> int:
        tests: list[str] = []
        for place, item in enumerate(fields[index : index + 8]):
            if item.type != "bit":
                break
            index += 1
            if item.name:
                tests.append(f"({1 << place} if self.{item.name} else 0)")
        if len(tests) <= 1:
            self._run.append(("B", tests[0][1:-1] if tests else "0"))
            return index
        self._octets += 1
        bits = bits_name(self._octets)
        line = f"{bits} = {' | '.join(tests)}"
        if len(line) + 12 <= WIDTH:
            self._setup.append(line)
        else:
            self._setup.append(f"{bits} = (")
            self._setup += [f"    {'| ' if n else ''}{test}" for n, test in enumerate(tests)]
            self._setup.append(")")
        self._run.append(("B", bits))
        return index

    def _flush(self) -> None:
        run = self._run
        self._run = []
        if run and run[0][1].startswith("0x") and all([code == "B" for code, _ in run[1:]]):
            self._pieces.append(self._constant)
            run = run[1:]
            if len(run) > 1:
                form = "B" * len(run)
                values = ", ".join([value for _, value in run])
                self._pieces.append(f"{self._out.packer(form)}({values})")
                return
        if not run:
            return
        if len(run) == 1 and run[0][0] == "B":
            self._out.need("method", "OCTET")
            self._pieces.append(f"OCTET[{run[0][1]}]")
            return
        form = "".join([code for code, _ in run])
        self._pieces.append(f"{self._out.packer(form)}({', '.join([value for _, value in run])})")


class _Reader:
    """The body of one decoder."""

    def __init__(self, out: Module, method: Method) -> None:
        self._out = out
        self._run: list[tuple[str, str]] = []
        self._base = "pos"
        self._offset = 0
        self._marks = iter("abcdefgh")
        self._zeros = 0
        self._octets = 0
        self._steps: list[str] = []
        self._conditions: list[str] = []
        self._flags: list[str] = []
        name = python_class(method.name)
        slow = f"return decode_slowly({name}, buf, pos, end, tables)"
        out.need("method", "decode_slowly")
        fields = method.fields
        if any(item.type == "optional-table" for item in fields):
            self.lines = [slow]
            return
        if not fields:
            self.lines = ["if pos != end:", f"    {slow}", f"return {name}()"]
            return
        out.need("method", "READ_FAULTS")
        out.typing("Any")
        self._fields(fields)
        self.lines = [f"method = {out.new()}({name})", "slot: Any = method"]
        if any(line.endswith("+ size") for line in self._steps):
            self.lines.append("size: int")
        self.lines += ["try:", *["    " + line for line in self._steps]]
        self.lines += ["except READ_FAULTS:", f"    {slow}"]
        conditions = [f"{self._here()} == end", *self._conditions]
        self.lines.append(f"if {' and '.join(conditions)}:")
        self.lines += ["    " + line for line in self._flags]
        self.lines += ["    slot.spare = None", "    return method", slow]

    def _here(self) -> str:
        return f"{self._base} + {self._offset}" if self._offset else self._base

    def _fields(self, fields: tuple[Field, ...]) -> None:
        index = 0
        while index < len(fields):
            item = fields[index]
            if item.type == "bit":
                index = self._bits(fields, index)
                continue
            index += 1
            if item.type in FIXED:
                target = f"slot.{item.name}" if item.name else self._zero()
                self._run.append((FIXED[item.type], target))
            elif not item.name:
                self._run.append(("B" if item.type == "shortstr" else "I", self._zero()))
            else:
                self._variable(item)
        self._flush()

    def _zero(self) -> str:
        # Reserved fields should be empty; if one isn't, the general decoder keeps it.
        self._zeros += 1
        name = f"reserved_{self._zeros}"
        self._conditions.append(f"not {name}")
        return name

    def _bits(self, fields: tuple[Field, ...], index: int) -> int:
        names: list[str] = []
        while index < len(fields) and fields[index].type == "bit" and len(names) < 8:
            names.append(fields[index].name)
            index += 1
        self._octets += 1
        bits = bits_name(self._octets)
        self._run.append(("B", bits))
        highest = max([place + 1 for place, name in enumerate(names) if name], default=0)
        if highest < 8:
            self._conditions.append(f"{bits} < {1 << highest}")
        for place, name in enumerate(names):
            if name:
                test = f"{bits} == 1" if highest == 1 else f"{bits} & {1 << place} != 0"
                self._flags.append(f"slot.{name} = {test}")
        return index

    def _variable(self, item: Field) -> None:
        size = "size"
        if not self._run and item.type == "shortstr":
            size = f"buf[{self._here()}]"
            self._offset += 1
        else:
            self._run.append(("B" if item.type == "shortstr" else "I", size))
            self._flush()
        mark = next(self._marks)
        start = self._here()
        self._steps.append(f"{mark} = {start} + {size}")
        value = f"buf[{start} : {mark}]" if self._offset else f"buf[{start}:{mark}]"
        if item.type == "shortstr":
            value += ".decode()"
        elif item.type == "table":
            self._out.need("table", "EMPTY")
            value = f"{self._out.table()}({value}, tables) if size else EMPTY"
        self._steps.append(f"slot.{item.name} = {value}")
        self._base = mark
        self._offset = 0

    def _flush(self) -> None:
        if not self._run:
            return
        form = "".join([code for code, _ in self._run])
        targets = ", ".join([target for _, target in self._run])
        if form == "B":
            value = f"buf[{self._here()}]"
        else:
            value = f"{self._out.reader(form)}(buf, {self._here()})"
            if len(form) == 1:
                value += "[0]"
        line = f"{targets} = {value}"
        if len(line) + 12 > WIDTH:
            self._steps += ["(", *[f"    {target}," for _, target in self._run], f") = {value}"]
        else:
            self._steps.append(line)
        self._offset += sum([SIZES[code] for code in form])
        self._run = []
