"""Writes the blocking classes of adapters/sync from those of `amqp_sansio.client`, which are coroutines.

A class of the client and its blocking form have the same methods, parameters, results and texts, but for `await` and
`timeout`: a method that waits takes the seconds that it may take. Classes of single messages aren't made here: they
are written by hand, since each of their calls counts.
"""

from __future__ import annotations

import ast
import re
import textwrap
from pathlib import Path
from typing import Final, NamedTuple

ROOT: Final = Path(__file__).resolve().parents[2]
CLIENT: Final = ROOT / "amqp_sansio" / "client"
SYNC: Final = "adapters/sync/amqp_sansio_sync"
WIDTH: Final = 120
NOTE: Final = "Generated; edit the generator, tools/codegen/blocking.py, or amqp_sansio.client."

BY_HAND: Final = {"publish", "may_publish"}
"""Methods whose blocking form is in `messages.py`, as are the classes of messages: each of their calls counts."""
ENDS: Final = {"close", "cancel"}
"""Methods that a signal handler may call: they don't wait there."""


WAITS: Final = {
    "get": "basic.get",
    "open_channel": "channel.open",
    "close": "channel.close",
    "wait_for_confirms": "the confirms",
}
"""The wait's name in a TimeoutError, where the method's own doesn't say it."""


class Part(NamedTuple):
    """A module to write: its name, its docstring, its imports, and the classes it has, by the modules of the client."""

    name: str
    doc: str
    imports: str
    sources: tuple[tuple[str, tuple[str, ...]], ...]


PARTS: Final = (
    Part(
        "classic.py",
        "Connections and channels of 0-8 and 0-9-1, blocking.",
        """\
from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar, overload

from amqp_sansio.amqp_0_9_1 import BasicGet, BasicGetOk, BasicProperties, Message, Method
from amqp_sansio.client.classic import connection as connections
from amqp_sansio.client.classic.channel import PublishOutcome
from amqp_sansio.client.classic.channel import Table as Arguments
from amqp_sansio.events import CloseReport, Event

from .blocking import BaseConnection, EventStream, entered, opened
from .messages import Consumer, Delivery, PublishingChannel

if TYPE_CHECKING:
    from typing_extensions import Buffer

    from amqp_sansio.amqp_0_9_1 import (
        BasicGetEmpty,
        ExchangeBindOk,
        ExchangeDeclareOk,
        ExchangeDeleteOk,
        ExchangeUnbindOk,
        Properties,
        QueueBindOk,
        QueueDeclareOk,
        QueueDeleteOk,
        QueuePurgeOk,
        QueueUnbindOk,
        RequestMethod,
        Table,
    )
    from amqp_sansio.amqp_0_9_1 import Channel as CoreChannel

_R = TypeVar("_R", bound=Method)
_E = TypeVar("_E", bound=Event)
""",
        (("classic/channel.py", ("Channel",)), ("classic/connection.py", ("Connection",))),
    ),
)

_TEXTS: Final = (
    (r"\basync (with|for|def)\b", r"\1"),
    (r"`await` it, any number of times", "ask for its `result`, any number of times"),
    (r"`await` it, or use it as an async context", "use it as a context"),
    (r": `await` it\b", ": ask for its `result`"),
    (r" to await later", " to ask later"),
    (r"\[await each for each in", "[each.result() for each in"),
    (r"\bawait ", ""),
    (r"an async (iterator|context)", r"an \1"),
    (r"Every wait can be cancelled", "Every wait can be interrupted"),
    (r"A (publish|send) cancelled while it waits", r"A \1 that is interrupted while it waits"),
    (r"Any number of tasks", "Any number of threads"),
    (r"Limit it by time: a reply", "Give it a `timeout`: a reply"),
    (r"AsyncGenerator", "Generator"),
    (r"\ban context", "a context"),
)


def generate() -> dict[str, str]:
    """Return the text of each module, by its path."""
    return {f"{SYNC}/{part.name}": _module(part) for part in PARTS}


def _module(part: Part) -> str:
    classes: list[str] = []
    names: list[str] = []
    for source, wanted in part.sources:
        text = (CLIENT / source).read_text(encoding="utf-8")
        tree = ast.parse(text)
        found = {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}
        for name in wanted:
            classes.append(_class(found[name]))
            names.append(name)
    shown = "\n".join(f'    "{name}",' for name in sorted(names))
    body = "\n\n".join(classes)
    return f'"""{part.doc}\n\n{NOTE}\n"""\n\n{part.imports}\n\n{body}\n\n__all__ = [\n{shown}\n]\n'


def _class(node: ast.ClassDef) -> str:
    name = node.name
    base = {"Connection": "BaseConnection[connections.Connection]", "Channel": "PublishingChannel"}[name]
    lines = [f"class {name}({base}):", _doc(node, "    "), "", "    __slots__ = ()"]
    for item in node.body:
        if isinstance(item, (ast.FunctionDef, ast.AsyncFunctionDef)) and not _is_left_out(item.name):
            text = _method(item, name == "Connection" and item.name == "close")
            lines += [text] if _is_later_overload(item, node) else ["", text]
    lines += ["", ""]
    return "\n".join(lines).rstrip() + "\n"


def _is_left_out(name: str) -> bool:
    return name.startswith("_") or name in BY_HAND


def _decorators(item: ast.FunctionDef | ast.AsyncFunctionDef) -> list[str]:
    return [ast.unparse(each) for each in item.decorator_list]


def _is_later_overload(item: ast.AST, node: ast.ClassDef) -> bool:
    place = node.body.index(item)  # type: ignore[arg-type]
    before = node.body[place - 1]
    return isinstance(before, (ast.FunctionDef, ast.AsyncFunctionDef)) and "overload" in _decorators(before)


def _method(item: ast.FunctionDef | ast.AsyncFunctionDef, ends_connection: bool) -> str:
    marks = _decorators(item) + ["connections"] * ends_connection
    returns = ast.unparse(item.returns) if item.returns is not None else "Any"
    call = f"self._inner.{item.name}({_arguments(item)})"
    if "property" in marks:
        head = f"    @property\n    def {item.name}(self) -> {_result(returns)}:\n"
        return f"{head}{_doc(item, '        ')}\n        return self._inner.{item.name}"
    opening = re.fullmatch(r"Opening\[(\w+)\]", returns)
    waits = isinstance(item, ast.AsyncFunctionDef) or opening is not None
    timed = waits or returns.startswith(("EventStream", "Consumer"))
    text = [f"    @{mark}" for mark in marks if mark == "overload"]
    if "asynccontextmanager" in marks:
        text = ["    @contextmanager"]
        returns = "Generator[None]"
    shown = opening[1] if opening else _result(returns)
    ignore = ""
    if "overload" in marks and "BasicGet\n" in ast.unparse(item.args) + "\n" and "None" not in ast.unparse(item.args):
        ignore = "  # type: ignore[overload-overlap]  # pyright: ignore[reportOverlappingOverload]"
    text.append(_signature(item, shown, timed, "overload" in marks, ignore))
    if "overload" in marks:
        return "\n".join(text)
    doc = _doc(item, "        ")
    if doc:
        text.append(doc)
    text.append(_body(item, call, returns, opening[1] if opening else None, marks))
    return "\n".join(text)


def _body(
    item: ast.FunctionDef | ast.AsyncFunctionDef, call: str, returns: str, opening: str | None, marks: list[str]
) -> str:
    pad = "        "
    what = "method.NAME" if item.name == "call" else f'"{WAITS.get(item.name, item.name)}"'
    if "asynccontextmanager" in marks:
        return f"{pad}with entered(self._driver, {call}, timeout):\n{pad}    yield"
    if opening is not None:
        return (
            f"{pad}found = self._driver.run(opened({call}), timeout, {what})\n"
            f"{pad}return {opening}(self._driver, found)"
        )
    if returns.startswith("EventStream"):
        return f"{pad}return EventStream(self._driver, {call}, timeout)"
    if returns == "Consumer":
        inner = _named(call, pad).replace("operation =", "inner =", 1)
        return f"{inner}\n{pad}return Consumer(self._driver, inner, inner.inbox, timeout)"
    if "connections" in marks:
        return f"{pad}return self._close(lambda: {call}, timeout)"
    if item.name in ENDS:
        return f"{pad}return self._driver.end(lambda: {call}, timeout, {what})"
    made = None
    if "Delivery" in returns:
        made = "Delivery(self._driver, self.core, found.event, (), found.message_count)"
    if made is None:
        start = "" if returns == "None" else "return "
        line = f"{pad}{start}self._driver.run({call}, timeout, {what})"
        if len(line) <= WIDTH:
            return line
        return f"{_named(call, pad)}\n{pad}{start}self._driver.run(operation, timeout, {what})"
    line = f"{pad}found = self._driver.run({call}, timeout, {what})"
    if len(line) > WIDTH:
        line = f"{_named(call, pad)}\n{pad}found = self._driver.run(operation, timeout, {what})"
    if returns.endswith("| None"):
        return f"{line}\n{pad}return None if found is None else {made}"
    return f"{line}\n{pad}return {made}"


def _named(call: str, pad: str) -> str:
    """Return the statement that names a call too long for one line."""
    line = f"{pad}operation = {call}"
    if len(line) <= WIDTH:
        return line
    start, _, rest = call.partition("(")
    rows = textwrap.wrap(rest[:-1], WIDTH - len(pad) - 4, break_long_words=False)
    inside = "\n".join(f"{pad}    {row}" for row in rows)
    return f"{pad}operation = {start}(\n{inside}\n{pad})"


def _result(returns: str) -> str:
    return returns.replace("AsyncGenerator", "Generator")


def _arguments(item: ast.FunctionDef | ast.AsyncFunctionDef) -> str:
    given = [each.arg for each in item.args.args if each.arg != "self"]
    if item.args.vararg is not None:
        given.append(f"*{item.args.vararg.arg}")
    given += [f"{each.arg}={each.arg}" for each in item.args.kwonlyargs]
    return ", ".join(given)


def _signature(
    item: ast.FunctionDef | ast.AsyncFunctionDef, returns: str, timed: bool, is_overload: bool, ignore: str
) -> str:
    parts: list[str] = []
    arguments = item.args
    defaults = [None] * (len(arguments.args) - len(arguments.defaults)) + list(arguments.defaults)
    for each, default in zip(arguments.args, defaults, strict=True):
        parts.append(_parameter(each, default))
    if arguments.vararg is not None:
        parts.append("*" + _parameter(arguments.vararg, None))
    elif arguments.kwonlyargs or (timed and len(arguments.args) > 1):
        parts.append("*")
    for each, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
        parts.append(_parameter(each, default))
    if timed:
        parts.append("timeout: float | None = None")
    end = " ..." if is_overload else ""
    line = f"    def {item.name}({', '.join(parts)}) -> {returns}:{end}{ignore}"
    if len(line) <= WIDTH:
        return line
    inside = ", ".join(parts)
    if len(inside) + 8 <= WIDTH and not ignore:
        return f"    def {item.name}(\n        {inside}\n    ) -> {returns}:{end}"
    rows = "\n".join(f"        {part}," for part in parts)
    return f"    def {item.name}({ignore}\n{rows}\n    ) -> {returns}:{end}"


def _parameter(each: ast.arg, default: ast.expr | None) -> str:
    note = "" if each.annotation is None else ast.unparse(each.annotation)
    note = "Arguments" if note == "Table" else note
    text = f"{each.arg}: {note}" if note else each.arg
    if default is None:
        return text
    value = ast.unparse(default).replace("'", '"')
    return f"{text} = {value}" if note else f"{text}={value}"


def _doc(node: ast.AST, pad: str) -> str:
    doc = ast.get_docstring(node, clean=True)  # type: ignore[arg-type]
    if not doc:
        return ""
    pieces: list[str] = []
    for number, piece in enumerate(doc.split("\n\n")):
        changed = piece
        for pattern, text in _TEXTS:
            changed = re.sub(pattern, text, changed)
        if changed != piece and not changed.startswith(">>>"):
            first = " " * 3 if not number else ""
            wrapped = textwrap.wrap(first + " ".join(changed.split()), WIDTH - len(pad), break_on_hyphens=False)
            changed = "\n".join(wrapped).removeprefix(first)
        pieces.append(changed)
    lines = "\n\n".join(pieces).split("\n")
    lines[0] = f'"""{lines[0]}'
    if len(lines) == 1 and len(pad) + len(lines[0]) + 3 <= WIDTH:
        return f'{pad}{lines[0]}"""'
    return "\n".join([f"{pad}{line}" if line else "" for line in lines] + [f'{pad}"""'])
