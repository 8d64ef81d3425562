"""EventLane: writes usual units straight to rows of `events`, or to their lines, for a replay of that table alone."""

from __future__ import annotations

from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from .._compiled import COMPILED
from ..endpoint import Side
from ..printing import json_string
from ..versions import AMQP_0_8, AMQP_0_9_1, AMQP_1_0
from ._json import Texts, compiled, encode
from ._rows import NAMES, ROWS
from .json_lines import Moments

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

    from .._watching.lane import Plan
    from ..versions import Version
    from ._json import FieldWriter

_MOST: Final = 256
_LONGEST: Final = 256
"""Most properties whose texts are kept, and most octets of each; four times as many characters of its text."""
_HEAD: Final = "w, seq, at_ns, channel, size, offset, "
_MESSAGE: Final = "message, body, body_size"
_SENDERS: Final = ("w.server", "w.client")
_EITHER: Final = "(w.client if client else w.server)"


class _Form(NamedTuple):
    """A method of `Lane`: its event, its parameters, who sends it, whether it has a message, and what it writes.

    0-8 and 0-9-1 have the class of its record instead of that, whose fields the parameters are.
    """

    event: str
    parameters: str
    sender: str
    has_message: bool
    record: str = ""
    members: str = ""


_CLASSIC: Final = {
    "deliver": _Form(
        "basic.deliver",
        "consumer_tag, delivery_tag, redelivered, exchange, routing_key, ",
        "w.server",
        True,
        "BasicDeliver",
    ),
    "publish": _Form(
        "basic.publish", "exchange, routing_key, mandatory, immediate, ", "w.client", True, "BasicPublish"
    ),
    "ack": _Form("basic.ack", "client, delivery_tag, multiple", _EITHER, False, "BasicAck"),
}
_AMQP_1_0: Final = {
    "transfer": _Form(
        "transfer",
        "client, before, delivery_id, delivery_tag, after, ",
        _EITHER,
        True,
        members='{before},"delivery_id":{delivery_id},"delivery_tag":{{"base64":"{B(delivery_tag)}"}}{after}',
    ),
    "disposition": _Form(
        "disposition",
        "client, before, first, last, after",
        _EITHER,
        False,
        members='{before},"first":{first}{L(last)}{after}',
    ),
}


class EventLane:
    """A `Lane` that appends to `rows` what `FlowReplay` gives for the events of one connection.

    `names` are the columns, `lines` says that each row is its line instead, `wanted` the names of the events whose rows
    are wanted (None: all). Texts that are kept are no part of the state.
    """

    __slots__ = (
        "_fields",
        "_lines",
        "_moments",
        "_names",
        "_roles",
        "_version",
        "_wanted",
        "ack",
        "at_ns",
        "begin",
        "client",
        "deliver",
        "disposition",
        "label",
        "moment",
        "plans",
        "protocol",
        "publish",
        "rows",
        "server",
        "short",
        "texts",
        "transfer",
    )

    deliver: Callable[..., None]
    publish: Callable[..., None]
    ack: Callable[..., None]
    transfer: Callable[..., None]
    disposition: Callable[..., None]

    def __init__(
        self,
        connection: str,
        fields: FieldWriter,
        names: tuple[str, ...],
        lines: bool,
        wanted: frozenset[str] | None,
        version: Version | None = None,
        roles: bool = True,
    ) -> None:
        self.label = connection
        self._fields = fields
        self._names = names
        self._lines = lines
        self._wanted = wanted
        self._moments = Moments()
        self.rows: list[tuple[str, tuple[Any, ...]]] = []
        # The begin of each line, and of the last one's time.
        self.begin = f'{{"connection":{json_string(connection)},"seq":'
        self.at_ns = -1
        self.moment = ""
        self.identify(version, roles)

    def identify(self, version: Version | None, roles: bool) -> None:
        """Note the connection's version, and whether it is known which side is the client; forget all texts."""
        self._version = version
        self._roles = roles
        self.texts: dict[bytes, str] = {}
        # Strings as JSON.
        self.short = Texts(encode)
        self.protocol = None if version is None else version.label
        names = [side.value if roles else None for side in (Side.CLIENT, Side.SERVER)]
        # The sender as it stands in a row; in a line with the columns behind it, up to the channel.
        self.client: str | None
        self.server: str | None
        self.client, self.server = names
        if self._lines:
            self.client, self.server = [
                f',"sender":{encode(name)},"protocol":{encode(self.protocol)},"channel":' for name in names
            ]
        self.plans: tuple[Plan | None, Plan | None] = (None, None)
        if version is AMQP_0_9_1 or version is AMQP_0_8:
            from .._classic.codec import methods

            for name, form in _CLASSIC.items():
                setattr(self, name, self._teller(form, self._members(form, methods)))
            if COMPILED:
                self.plans = self._plan(False), self._plan(True)
        elif version is AMQP_1_0:
            for name, form in _AMQP_1_0.items():
                setattr(self, name, self._teller(form, self._members(form, None)))

    def _members(self, form: _Form, methods: ModuleType | None) -> str:
        """Return the part of a format string that makes the members of `fields`."""
        members = self._fields.usual(getattr(methods, form.record)) if form.record else form.members
        return (members + self._fields.usual_message if form.has_message else members).removeprefix(",")

    def _teller(self, form: _Form, members: str) -> Callable[..., None]:
        """Return the method that takes units of a form."""
        if self._wanted is not None and form.event not in self._wanted:
            return _pass_over
        return partial(_teller(form, members, None if self._lines else self._names), self)

    def _plan(self, client: bool) -> Plan | None:
        """Return how the module in C makes the rows of one side's units; None where it can't."""
        from .._classic.codec import methods
        from ._plans import columns_of

        known: dict[str, str | None] = {"w.begin": self.begin, "w.label": self.label, "w.protocol": self.protocol}
        known["None"] = None
        known |= dict.fromkeys((_EITHER, _SENDERS[client]), self.client if client else self.server)
        names = None if self._lines else self._names
        plan: list[tuple[Any, ...] | None] = []
        for form in _CLASSIC.values():
            if form.sender not in known:
                plan.append(None)
            elif self._wanted is not None and form.event not in self._wanted:
                plan.append(())
            else:
                columns = columns_of(_expressions(form, self._members(form, methods), names), known)
                if columns is None:
                    return None
                plan.append(columns)
        deliver, publish, ack = plan
        whole = names == NAMES["events"]
        return deliver, publish, ack, _row if whole else None, self.texts, self.short, "events"

    def message(self, octets: bytes, properties: Any) -> str:
        """Return what properties say, and keep it."""
        text = self._fields.properties(properties)
        if len(octets) <= _LONGEST and len(text) <= 4 * _LONGEST:
            if len(self.texts) >= _MOST:
                self.texts.clear()
            self.texts[octets] = text
        return text

    def around(self, record: Any, names: tuple[str, ...]) -> tuple[str, str]:
        """Return what the fields of a performative say that stand before those with these names, and behind them."""
        before, after = self._fields.around(record, names)
        return before.removeprefix(","), after

    def turn(self, at_ns: int) -> None:
        """The units that follow have another time."""
        self.at_ns = at_ns
        self.moment = f',"ts":{self._moments(at_ns // 1000)},"ts_ns":{at_ns}'

    def instant(self, at_ns: int) -> tuple[int, int, str]:
        """Return what `plans` need of a time."""
        if self._lines and at_ns != self.at_ns:
            self.turn(at_ns)
        return at_ns, at_ns // 1000, self.moment

    def __reduce__(self) -> tuple[type[EventLane], tuple[Any, ...]]:
        values = self.label, self._fields, self._names, self._lines, self._wanted, self._version, self._roles
        return EventLane, values


def _pass_over(*_: object) -> None:
    """Nobody wants the rows of these units."""


def _last(last: int | None) -> str:
    """The member of a disposition that says which delivery is the last, where it says so."""
    return "" if last is None else f',"last":{last}'


@lru_cache(maxsize=64)
def _teller(form: _Form, members: str, names: tuple[str, ...] | None) -> Callable[..., None]:
    """Return the function that makes a unit's row, or without `names` its line; to make one takes a millisecond."""
    signature = _HEAD + form.parameters + (_MESSAGE if form.has_message else "")
    row = f"({', '.join(_expressions(form, members, names))},)"
    whole = f"M(W, {row})" if names == NAMES["events"] else row
    turn = " if at_ns != w.at_ns: w.turn(at_ns)\n" if names is None else ""
    source = f"{turn} T = w.short\n w.rows.append(('events', {whole}))"
    made: Callable[..., None] = compiled(signature, source, M=_tuple.__new__, W=ROWS["events"], L=_last)
    return made


def _expressions(form: _Form, members: str, names: tuple[str, ...] | None) -> list[str]:
    """Return the expressions for the columns of a unit's row, or without `names` that for its line."""
    unit = "content" if form.has_message else "method"
    if names is None:
        line = (
            f'{{w.begin}}{{seq}}{{w.moment}}{{{form.sender}}}{{channel}},"event":"{form.event}","size":{{size}},'
            f'"offset":{{offset}},"fields":{{{{{members}}}}},"answers":null,"unit":"{unit}"}}}}'
        )
        return [f"f'{line}'"]
    values = {name: name for name in NAMES["events"]} | {
        "connection": "w.label",
        "ts": "at_ns // 1000",
        "ts_ns": "at_ns",
        "sender": form.sender,
        "protocol": "w.protocol",
        "event": repr(form.event),
        "fields": f"f'{{{{{members}}}}}'",
        "answers": "None",
        "unit": repr(unit),
    }
    return [values[name] for name in names]


_tuple: Any = tuple
_row: Final = partial(_tuple.__new__, ROWS["events"])

__all__ = ["EventLane"]
