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
from typing import Final, NamedTuple, TypeAlias

ROOT: Final = Path(__file__).resolve().parents[2]
CLIENT: Final = ROOT / "amqp_sansio" / "client"
SYNC: Final = "adapters/sync/amqp_sansio_sync"
WIDTH: Final = 120
NOTE: Final = "Generated; edit the generator, tools/codegen/blocking.py, or amqp_sansio.client."

BY_HAND: Final = {"Channel": {"publish"}}
"""Methods whose blocking form is in `messages.py`, as are the classes of messages: each of their calls counts."""
ENDS: Final = {"close", "cancel"}
"""Methods that a signal handler may call: they don't wait there."""
TIMED: Final = {"Branch", "Consumer", "Receiver", "Subscription", "Transaction"}
"""Classes whose objects have a `timeout`, in seconds: of `next`, or of entering and leaving a context."""
SENDS: Final = {"send", "send_text", "send_json", "publish", "publish_text", "publish_json"}
"""Methods that return when the socket has taken the message, at the earliest."""
BOUNDED: Final = {"request"}
"""Methods whose own `timeout` is the driver's here."""
LOCKED: Final = {"detached_state", "pending", "saved_state", "state", "subscriptions", "unsettled"}
"""What is read, in more than one step, while nothing else happens."""

WAITS: Final = {
    "get": "basic.get",
    "open_channel": "channel.open",
    "Channel.close": "channel.close",
    "wait_for_confirms": "the confirms",
    "open_session": "the begin",
    "Session.close": "the end of the session",
    "Session.wait_closed": "the end of the session",
    "Sender.wait_closed": "the end of the link",
    "open_sender": "the attach",
    "open_receiver": "the attach",
    "open_requester": "the attach",
    "Link.close": "the end of the link",
    "Link.detach": "the end of the link",
    "Link.wait_closed": "the end of the link",
    "send": "the outcome",
    "wait_credit": "credit",
    "SentDelivery.result": "the outcome",
    "ReceivedDelivery.accept": "the sender's settlement",
    "ReceivedDelivery.reject": "the sender's settlement",
    "ReceivedDelivery.release": "the sender's settlement",
    "ReceivedDelivery.modify": "the sender's settlement",
    "Receiver.accept": "the sender's settlement",
    "settle": "the sender's settlement",
    "drain": "the drain",
    "Receiver.cancel": "the drain",
    "declare": "the declaration of the transaction",
    "commit": "the commit",
    "rollback": "the rollback",
    "Requester.call": "the reply",
    "SentMessage.result": "the outcome",
    "publish": "the outcome",
    "subscribe": "message.subscribe",
    "sync": "execution.sync",
    "resume_session": "the attach",
}
"""The wait's name in a TimeoutError, where the method's own doesn't say it; "" ends a context."""


MESSAGING: Final = "../messaging/connection.py"
"""The module with all classes of the neutral client."""


class Shape(NamedTuple):
    """A class to write: its module of the client, its name and base, the waits of `next` and of its context.

    `owner` is the attribute with the object that it came from, which has this name in lower case. `without` are members
    that it hasn't.
    """

    source: str
    name: str
    base: str
    item: str = ""
    end: str = ""
    owner: str = ""
    start: str = ""
    without: tuple[str, ...] = ()


class Part(NamedTuple):
    """A module to write: its name, its docstring, its imports, and the classes it has, by the modules of the client."""

    name: str
    doc: str
    imports: str
    shapes: tuple[Shape, ...]
    names: tuple[str, ...] = ()
    """Other names that it shows."""


PARTS: Final = (
    Part(
        "classic.py",
        "Connections and channels of 0-8 and 0-9-1, blocking.",
        """\
from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar, overload

from amqp_sansio.amqp_0_9_1 import BasicProperties, Message
from amqp_sansio.amqp_0_9_1.spec import BasicGet, BasicGetOk, Method
from amqp_sansio.client.classic import connection as connections
from amqp_sansio.client.classic.channel import PublishOutcome
from amqp_sansio.client.classic.channel import Table as Arguments
from amqp_sansio.events import CloseReport, Event

from .blocking import BaseConnection, EventStream, entered, opened
from .messages import Consumer, Delivery, PublishingChannel, taken

if TYPE_CHECKING:
    from typing_extensions import Buffer

    from amqp_sansio.amqp_0_9_1 import Channel as CoreChannel
    from amqp_sansio.amqp_0_9_1 import Table
    from amqp_sansio.amqp_0_9_1.spec import (
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
    )

_R = TypeVar("_R", bound=Method)
_E = TypeVar("_E", bound=Event)
""",
        (
            Shape("classic/channel.py", "Channel", "PublishingChannel", end="channel.close"),
            Shape("classic/connection.py", "Connection", "BaseConnection[connections.Connection]"),
        ),
    ),
    Part(
        "amqp_0_10.py",
        "Connections of 0-10, blocking: sessions that outlive their connection, subscriptions, transactions.",
        """\
from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal, TypeVar, overload

from amqp_sansio.amqp_0_10 import MessageReceived
from amqp_sansio.amqp_0_10.spec import EXPLICIT, PRE_ACQUIRED, WINDOW
from amqp_sansio.client.amqp_0_10 import connection as connections
from amqp_sansio.client.amqp_0_10 import publishing
from amqp_sansio.client.amqp_0_10 import session as sessions
from amqp_sansio.client.amqp_0_10 import subscription as subscriptions
from amqp_sansio.client.amqp_0_10 import transaction as transactions
from amqp_sansio.client.amqp_0_10.publishing import Outcome
from amqp_sansio.client.amqp_0_10.settings import ConfigOptions
from amqp_sansio.errors import SessionEnded
from amqp_sansio.events import CloseReport, Event

from .blocking import BaseConnection, Blocking, EventStream, Timed, inners_of, opened
from .processing import Processed

if TYPE_CHECKING:
    from amqp_sansio.amqp_0_10 import Connection as CoreConnection
    from amqp_sansio.amqp_0_10 import (
        DeliveryProperties,
        ExecutionError,
        Headers,
        Map,
        Message,
        MessageProperties,
        SequenceSet,
        SessionState,
    )
    from amqp_sansio.amqp_0_10 import Session as CoreSession
    from amqp_sansio.amqp_0_10.spec import Command, QueueQueryResult, Struct, Xid

    from .driver import Driver

_R = TypeVar("_R")
_E = TypeVar("_E", bound=Event)
""",
        (
            Shape(
                "amqp_0_10/transaction.py",
                "Transaction",
                "Timed[transactions.Transaction]",
                end="the commit or rollback",
            ),
            Shape("amqp_0_10/transaction.py", "Branch", "Timed[transactions.Branch]"),
            Shape("amqp_0_10/publishing.py", "SentMessage", "Blocking[publishing.SentMessage]"),
            Shape(
                "amqp_0_10/subscription.py",
                "ReceivedMessage",
                "Processed, Blocking[subscriptions.ReceivedMessage]",
                owner="session",
            ),
            Shape(
                "amqp_0_10/subscription.py",
                "Subscription",
                "Blocking[subscriptions.Subscription]",
                "a message of {self.destination!r}",
                "the end of the subscription",
                owner="session",
            ),
            Shape("amqp_0_10/session.py", "Session", "Blocking[sessions.Session]", end="the end of the session"),
            Shape("amqp_0_10/connection.py", "Connection", "BaseConnection[connections.Connection]"),
        ),
        ("ConfigOptions", "Outcome", "SessionEnded"),
    ),
    Part(
        "amqp_1_0.py",
        "Connections of 1.0, blocking: sessions, senders, receivers, transactions, requests.",
        """\
from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Literal, TypeVar, overload

from amqp_sansio.amqp_1_0 import LinkRequested, SessionRequested, Source, Target
from amqp_sansio.client.amqp_1_0 import connection as connections
from amqp_sansio.client.amqp_1_0 import link as links
from amqp_sansio.client.amqp_1_0 import receiver as receivers
from amqp_sansio.client.amqp_1_0 import requester as requesters
from amqp_sansio.client.amqp_1_0 import sender as senders
from amqp_sansio.client.amqp_1_0 import session as sessions
from amqp_sansio.client.amqp_1_0 import transaction as transactions
from amqp_sansio.client.amqp_1_0.settings import ConfigOptions
from amqp_sansio.events import CloseReport, Event

from .blocking import BaseConnection, Blocking, EventStream, Timed, inner_of, inners_of, opened
from .processing import Processed

if TYPE_CHECKING:
    from amqp_sansio.amqp_1_0 import Delivery, DeliveryState, Described, Error, LinkState, Message, Properties
    from amqp_sansio.amqp_1_0 import Receiver as CoreReceiver
    from amqp_sansio.amqp_1_0 import Sender as CoreSender
    from amqp_sansio.amqp_1_0 import Session as CoreSession
    from amqp_sansio.amqp_1_0.spec import Attach, Coordinator, Open, TransactionalState

    from .driver import Driver

_E = TypeVar("_E", bound=Event)
_L = TypeVar("_L", bound="links.Link[Any]")
""",
        (
            Shape(
                "amqp_1_0/transaction.py",
                "Transaction",
                "Timed[transactions.Transaction]",
                start="the declaration of the transaction",
            ),
            Shape("amqp_1_0/link.py", "Link", "Blocking[_L]", end="the end of the link"),
            Shape("amqp_1_0/sender.py", "SentDelivery", "Blocking[senders.SentDelivery]"),
            Shape("amqp_1_0/sender.py", "Sender", "Link[senders.Sender]"),
            Shape(
                "amqp_1_0/receiver.py",
                "ReceivedDelivery",
                "Processed, Blocking[receivers.ReceivedDelivery]",
                owner="receiver",
            ),
            Shape("amqp_1_0/receiver.py", "Receiver", "Link[receivers.Receiver]", "a delivery from {self.address!r}"),
            Shape("amqp_1_0/requester.py", "Requester", "Blocking[requesters.Requester]", end="the end of the link"),
            Shape("amqp_1_0/session.py", "Session", "Blocking[sessions.Session]", end="the end of the session"),
            Shape("amqp_1_0/connection.py", "Connection", "BaseConnection[connections.Connection]"),
        ),
        ("ConfigOptions",),
    ),
    Part(
        "neutral.py",
        "The neutral client of all versions, blocking: senders, receivers, requests, transactions.",
        """\
from __future__ import annotations

from typing import TYPE_CHECKING, Literal, overload

from amqp_sansio.events import CloseReport
from amqp_sansio.messaging import Message, Outcome
from amqp_sansio.messaging import connection as neutral

from .blocking import Blocking, NeutralConnection, Timed, opened
from .processing import Processed

if TYPE_CHECKING:
    from amqp_sansio.amqp_1_0 import LinkState
    from amqp_sansio.client.metrics import Metrics
    from amqp_sansio.uri import AmqpUri
    from amqp_sansio.versions import Version

    from .driver import Driver
""",
        (
            Shape(MESSAGING, "Sending", "Blocking[neutral.Sending]"),
            Shape(MESSAGING, "Sender", "Blocking[neutral.Sender]", end="the end of the sender", without=("native",)),
            Shape(MESSAGING, "Delivery", "Processed, Blocking[neutral.Delivery]", without=("native",)),
            Shape(
                MESSAGING,
                "Receiver",
                "Blocking[neutral.Receiver]",
                "a delivery from {self.address!r}",
                "the end of the receiver",
                without=("native",),
            ),
            Shape(MESSAGING, "Transaction", "Timed[neutral.Transaction]", end="the commit"),
            Shape(MESSAGING, "Connection", "NeutralConnection", without=("native",)),
        ),
    ),
)
"""The modules, each with its classes in an order in which each stands behind what it inherits."""

_TEXTS: Final = (
    (r"\basync (with|for|def)\b", r"\1"),
    (r"`await` it, any number of times", "ask for its `result`, any number of times"),
    (r": `await` it for its outcome", ": ask `result` for its outcome"),
    (r"`await` it, or use it as an async context", "use it as a context"),
    (r": `await` it\b", ": ask for its `result`"),
    (r" to await later", " to ask later"),
    (r"\bawait (each|sent)\b(?!\.|\()", r"\1.result()"),
    (r"\bawait ", ""),
    (r"an async (iterator|context)", r"an \1"),
    (r"\basync (context)", r"\1"),
    (r"Every wait can be cancelled", "Every wait can be interrupted"),
    (r"A (publish|send) cancelled while it waits", r"A \1 that is interrupted while it waits"),
    (r"A cancelled (publish|send)", r"A \1 that is interrupted"),
    (r"Cancelling the wait", "Interrupting the wait"),
    (r"Any number of tasks", "Any number of threads"),
    (r"Limit it by time: a reply", "Give it a `timeout`: a reply"),
    (r"AsyncGenerator", "Generator"),
    (r"\ban context", "a context"),
)


def generate() -> dict[str, str]:
    """Return the text of each module, by its path."""
    return {f"{SYNC}/{part.name}": _module(part) for part in PARTS}


def _module(part: Part) -> str:
    known = {shape.name for shape in part.shapes}
    classes: list[str] = []
    for shape in part.shapes:
        tree = ast.parse((CLIENT / shape.source).read_text(encoding="utf-8"))
        node = next(each for each in tree.body if isinstance(each, ast.ClassDef) and each.name == shape.name)
        classes.append(_Writer(shape, node, known).text())
    shown = "\n".join(f'    "{name}",' for name in sorted([*known, *part.names]))
    body = "\n\n".join(classes)
    return f'"""{part.doc}\n\n{NOTE}\n"""\n\n{part.imports}\n\n{body}\n\n__all__ = [\n{shown}\n]\n'


Function: TypeAlias = "ast.FunctionDef | ast.AsyncFunctionDef"


def _functions(node: ast.ClassDef) -> list[Function]:
    return [each for each in node.body if isinstance(each, (ast.FunctionDef, ast.AsyncFunctionDef))]


def _attributes(node: ast.ClassDef) -> list[Function]:
    """Return the attributes that a class describes, as the properties that they are in the blocking class."""
    found: list[Function] = []
    for line, following in zip(node.body, node.body[1:], strict=False):
        if isinstance(line, ast.AnnAssign) and isinstance(following, ast.Expr):
            head = f"def {ast.unparse(line.target)}(self) -> {ast.unparse(line.annotation)}:"
            (made,) = ast.parse(f"@property\n{head}\n    {ast.unparse(following)}").body
            assert isinstance(made, ast.FunctionDef)
            found.append(made)
    return found


def _decorators(item: Function) -> list[str]:
    return [ast.unparse(each) for each in item.decorator_list]


class _Writer:
    """Writes one class. `known` are the blocking classes of its module, which stand for the client's of these names."""

    def __init__(self, shape: Shape, node: ast.ClassDef, known: set[str]) -> None:
        self._shape = shape
        self._node = node
        self._known = known
        self._names = {each.name for each in _functions(node)}

    def text(self) -> str:
        shape = self._shape
        lines = [f"class {shape.name}({shape.base}):", _doc(self._node, "    "), ""]
        slots = [each for each in (shape.owner, "timeout" * bool(shape.item)) if each]
        lines.append(
            f"    __slots__ = ({', '.join(f'{chr(34)}{each}{chr(34)}' for each in slots)}{',' * (len(slots) == 1)})"
        )
        if shape.start:
            lines.append(f'    _START = "{shape.start}"')
        if shape.end:
            lines.append(f'    _END = "{shape.end}"')
        if slots:
            lines += ["", self._making(slots)]
        if shape.item:
            lines += ["", self._iteration()]
        before: Function | None = None
        for item in [*_attributes(self._node), *_functions(self._node)]:
            if self._is_written(item):
                follows = before is not None and before.name == item.name
                lines += [self._method(item)] if follows else ["", self._method(item)]
                before = item
        return "\n".join(lines).rstrip() + "\n"

    def _is_written(self, item: Function) -> bool:
        has_text = ast.get_docstring(item) is not None or "overload" in _decorators(item)
        left_out = (*BY_HAND.get(self._shape.name, ()), *self._shape.without)
        return not item.name.startswith("_") and has_text and item.name not in left_out

    def _making(self, slots: list[str]) -> str:
        inner = re.sub(r".*\[(.*)\]", r"\1", self._shape.base)
        kinds = [f"{each}: {'float | None' if each == 'timeout' else each.title()}" for each in slots]
        head = f"    def __init__(self, driver: Driver, inner: {inner}, {', '.join(kinds)}) -> None:"
        rows = [head if len(head) <= WIDTH else head.replace("(", "(\n        ", 1).replace(") ->", "\n    ) ->")]
        rows.append("        super().__init__(driver, inner)")
        return "\n".join(rows + [f"        self.{each} = {each}" for each in slots])

    def _iteration(self) -> str:
        following = next(each for each in _functions(self._node) if each.name == "__anext__")
        result = ast.unparse(following.returns) if following.returns is not None else ""
        what = f'f"{self._shape.item}"'
        found = _assigned("found", "self._driver.run", "self._inner.__anext__()", "self.timeout", what)
        return f"""\
    def __iter__(self) -> {self._shape.name}:
        return self

    def __next__(self) -> {result}:
        try:
    {found}
        except StopAsyncIteration:
            raise StopIteration from None
        return {self._made(result)}"""

    def _method(self, item: Function) -> str:
        marks = _decorators(item)
        returns = ast.unparse(item.returns) if item.returns is not None else "Any"
        if "property" in marks:
            head = f"    @property\n    def {item.name}(self) -> {_result(returns)}:\n{_doc(item, '        ')}\n"
            return head + self._property(item.name, returns)
        opening = re.fullmatch(r"Opening\[(\w+)\]", returns)
        text = [f"    @{mark}" for mark in marks if mark == "overload"]
        if "asynccontextmanager" in marks:
            text = ["    @contextmanager"]
            returns = "Generator[None]"
        shown = opening[1] if opening else _result(returns)
        ignore = ""
        if (
            "overload" in marks
            and "BasicGet\n" in ast.unparse(item.args) + "\n"
            and "None" not in ast.unparse(item.args)
        ):
            ignore = "  # type: ignore[overload-overlap]  # pyright: ignore[reportOverlappingOverload]"
        limit = self._limit(item, returns)
        text.append(_signature(item, shown, limit, "overload" in marks, ignore))
        if "overload" in marks:
            return "\n".join(text)
        text += [_doc(item, "        "), self._body(item, returns, opening[1] if opening else "", limit)]
        return "\n".join(text)

    def _limit(self, item: Function, returns: str) -> str:
        """Return the name of the parameter for the seconds that a method may take, "" if it waits for nothing."""
        given = {each.arg for each in [*item.args.args, *item.args.kwonlyargs]}
        waits = isinstance(item, ast.AsyncFunctionDef) or returns.startswith(("Opening", "EventStream", "Consumer"))
        waits = waits or returns in TIMED
        if not waits or item.name == "fetch" or self._is_bounded(item):
            return ""
        return "open_timeout" if "timeout" in given or item.name == "resume_session" else "timeout"

    def _is_bounded(self, item: Function) -> bool:
        return item.name in BOUNDED and "timeout" in [each.arg for each in item.args.kwonlyargs]

    def _property(self, name: str, returns: str) -> str:
        pad = "        "
        mapped = re.fullmatch(r"(?:Mapping|dict)\[\w+, (\w+)\]", returns)
        if mapped is not None and mapped[1] in self._known:
            return (
                f"{pad}with self._driver.lock:\n"
                f"{pad}    found = self._inner.{name}\n"
                f"{pad}return {{key: {self._made(mapped[1], 'each')} for key, each in found.items()}}"
            )
        if name in LOCKED:
            return f"{pad}with self._driver.lock:\n{pad}    return self._inner.{name}"
        if returns in self._known:
            return f"{pad}found = self._inner.{name}\n{pad}return {self._made(returns)}"
        return f"{pad}return self._inner.{name}"

    def _made(self, name: str, found: str = "found", timeout: str = "None") -> str:
        """Return the expression for a blocking object that has `found` inside."""
        owner = next((each.owner for each in _shapes() if each.name == name and each.owner), "")
        owned = f", {'self' if owner == self._shape.name.lower() else f'self.{owner}'}" if owner else ""
        timed = f", {timeout}" if name in TIMED else ""
        return f"{name}(self._driver, {found}{owned}{timed})"

    def _body(self, item: Function, returns: str, opening: str, limit: str) -> str:
        pad = "        "
        call = f"self._inner.{item.name}({self._arguments(item)})"
        what = f'"{WAITS.get(f"{self._shape.name}.{item.name}") or WAITS.get(item.name) or item.name}"'
        what += ", True" if item.name in SENDS else ""
        if (self._shape.name, item.name) in (("Channel", "call"), ("Session", "call")):
            what = f"{item.args.args[1].arg}.NAME"
        seconds = "timeout" if self._is_bounded(item) else limit or "None"
        if self._shape.base.startswith("Timed"):
            seconds = "self._seconds(timeout)"
        if "asynccontextmanager" in _decorators(item):
            return f"{pad}with entered(self._driver, {call}, timeout):\n{pad}    yield"
        if opening:
            found = _assigned("found", "self._driver.run", call, seconds, what, "opened({})")
            return f"{found}\n{pad}return {self._made(opening, timeout=seconds)}"
        if returns.startswith("EventStream"):
            return f"{pad}return EventStream(self._driver, {call}, timeout)"
        if returns == "Consumer":
            return f"{_named('inner', call)}\n{pad}return Consumer(self._driver, inner, timeout)"
        if isinstance(item, ast.FunctionDef):
            return self._plain(item, call, returns)
        if self._shape.name == "Connection" and item.name == "close":
            return f"{pad}return self._close(lambda: {call}, timeout)"
        if item.name in ENDS:
            return f"{pad}return self._driver.end(lambda: {call}, timeout, {what})"
        if returns == "None":
            return _assigned("", "self._driver.run", call, seconds, what)
        # What a publish returns at once stands in its overloads.
        several = [each for each in _functions(self._node) if each.name == item.name and each.returns is not None]
        found_in = " ".join(ast.unparse(each.returns) for each in several if each.returns is not None)
        made = next((each for each in sorted(self._known | {"Delivery"}) if re.search(rf"\b{each}\b", found_in)), "")
        if not made or (self._shape.name, made) == ("Transaction", made):
            return _assigned("return", "self._driver.run", call, seconds, what)
        found = _assigned("found", "self._driver.run", call, seconds, what)
        is_by_hand = made == "Delivery" and made not in self._known
        value = "taken(self._driver, found)" if is_by_hand else self._made(made)
        if "wait" in [each.arg for each in item.args.kwonlyargs]:
            kind = re.sub(r".*\[(.*)\]", r"\1", next(each.base for each in _shapes() if each.name == made))
            return f"{found}\n{pad}return {value} if isinstance(found, {kind}) else found"
        if returns.endswith("| None"):
            return f"{found}\n{pad}return None if found is None else {value}"
        return f"{found}\n{pad}return {value}"

    def _plain(self, item: Function, call: str, returns: str) -> str:
        """Return the body of a method that waits for nothing."""
        pad = "        "
        if returns in TIMED:
            return f"{pad}return {returns}(self._driver, {call}, timeout)"
        if item.name in LOCKED:
            return f"{pad}return self._driver.read(lambda: {call})"
        arguments = ", ".join(part for part in (f"self._inner.{item.name}", self._arguments(item)) if part)
        done = f"self._driver.do({arguments})"
        if " | " in returns and all(each in self._known for each in returns.split(" | ")):
            first, second = returns.split(" | ")
            kind = re.sub(r".*\[(.*)\]", r"\1", next(each for each in _shapes() if each.name == first).base)
            return (
                f"{pad}found = {done}\n{pad}if isinstance(found, {kind}):\n{pad}    return {self._made(first)}\n"
                f"{pad}return {self._made(second)}"
            )
        if returns in self._known:
            return f"{pad}found = {done}\n{pad}return {self._made(returns)}"
        return f"{pad}{'' if returns == 'None' else 'return '}{done}"

    def _arguments(self, item: Function) -> str:
        given = [self._argument(each, each.arg) for each in item.args.args if each.arg != "self"]
        if item.args.vararg is not None:
            name = item.args.vararg.arg
            is_known = self._is_known(item.args.vararg)
            given.append(f"*inners_of({name})" if is_known else f"*{name}")
        named = [each for each in item.args.kwonlyargs if each.arg != "timeout" or not self._is_bounded(item)]
        given += [f"{each.arg}={self._argument(each, each.arg)}" for each in named]
        return ", ".join(given)

    def _argument(self, each: ast.arg, name: str) -> str:
        return f"inner_of({name})" if self._is_known(each) else name

    def _is_known(self, each: ast.arg) -> bool:
        names = re.findall(r"\w+", ast.unparse(each.annotation)) if each.annotation is not None else []
        return bool(self._known & set(names))


def _shapes() -> list[Shape]:
    return [shape for part in PARTS for shape in part.shapes]


def _assigned(target: str, run: str, call: str, seconds: str, what: str, form: str = "{}") -> str:
    """Return the statement that runs an operation, in `form`; in two statements if it is long."""
    pad = "        "
    start = {"": "", "return": "return "}.get(target, f"{target} = ")
    line = f"{pad}{start}{run}({form.format(call)}, {seconds}, {what})"
    if len(line) <= WIDTH:
        return line
    return f"{_named('operation', call)}\n{pad}{start}{run}({form.format('operation')}, {seconds}, {what})"


def _named(name: str, call: str) -> str:
    """Return the statement that names a call too long for one line."""
    pad = "        "
    line = f"{pad}{name} = {call}"
    if len(line) <= WIDTH:
        return line
    start, _, rest = call.partition("(")
    inside = rest[:-1]
    if len(inside) + 12 <= WIDTH:
        return f"{pad}{name} = {start}(\n{pad}    {inside}\n{pad})"
    parts = re.split(r", (?![^(]*\))", inside)
    rows = "".join(f"{pad}    {part},\n" for part in parts)
    return f"{pad}{name} = {start}(\n{rows}{pad})"


def _result(returns: str) -> str:
    return returns.replace("AsyncGenerator", "Generator")


def _signature(item: Function, returns: str, limit: str, is_overload: bool, ignore: str) -> str:
    parts: list[str] = []
    arguments = item.args
    defaults = [None] * (len(arguments.args) - len(arguments.defaults)) + list(arguments.defaults)
    for each, default in zip(arguments.args, defaults, strict=True):
        parts.append(_parameter(each, default))
    if arguments.vararg is not None:
        parts.append("*" + _parameter(arguments.vararg, None))
    elif arguments.kwonlyargs or (limit and len(arguments.args) > 1):
        parts.append("*")
    for each, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
        parts.append(_parameter(each, default))
    if limit:
        parts.append(f"{limit}: float | None = None")
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
