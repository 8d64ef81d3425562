"""EventLane: writes usual units straight to rows of `events`, or to their lines, for a replay of that table alone."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final

from .._compiled import COMPILED
from ..endpoint import Side
from ..printing import json_string
from ..versions import AMQP_0_8, AMQP_0_9_1, AMQP_1_0
from ._json import Texts, encode
from ._rows import NAMES, maker_of
from ._units import AMQP_1_0 as UNITS_1_0
from ._units import BEGIN, CLASSIC, CLIENT, EITHER, LABEL, PROTOCOL, SERVER, UNITS
from .json_lines import Moments

if TYPE_CHECKING:
    from collections.abc import Callable

    from .._watching.lane import Plan
    from ..versions import Version
    from ._json import FieldWriter

_MOST: Final = 256
_LONGEST: Final = 256
"""Most properties whose texts are kept, and most octets of each; four times as many characters of its text."""


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
        "make",
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
        # Makes a row of the values of all columns.
        self.make = maker_of("events", names)
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
            self._use(CLASSIC)
        elif version is AMQP_1_0:
            self._use(UNITS_1_0)

    def _use(self, units: tuple[str, ...]) -> None:
        """Take the units of a version."""
        self._tell(units)
        if COMPILED:
            self.plans = self._plan(units, False), self._plan(units, True)

    def _tell(self, units: tuple[str, ...]) -> None:
        """Have the methods of these units, which append their rows or their lines."""
        from ._tellers import LINES, ROWS

        body = self._fields.body
        for name in units:
            teller: Callable[..., None]
            if not self._wants(name):
                teller = _pass_over
            elif self._lines:
                teller = partial(LINES[name, body], self)
            else:
                teller = partial(ROWS[name, body if "fields" in self._names else None], self)
            setattr(self, name, teller)

    def _wants(self, unit: str) -> bool:
        """Whether rows of a unit are wanted."""
        return self._wanted is None or UNITS[unit].event in self._wanted

    def _plan(self, units: tuple[str, ...], client: bool) -> Plan | None:
        """Return how the module in C makes the rows of one side's units; None where it can't."""
        from ._plans import form_of

        sender = self.client if client else self.server
        known = {BEGIN: self.begin, LABEL: self.label, PROTOCOL: self.protocol, EITHER: sender}
        known[CLIENT if client else SERVER] = sender
        names = None if self._lines else self._names
        forms: list[tuple[Any, ...] | None] = []
        for name in units:
            unit = UNITS[name]
            if unit.sender not in known:
                forms.append(None)
            elif not self._wants(name):
                forms.append(())
            else:
                form = form_of(unit, self._fields.body, names, known)
                if form is None:
                    return None
                forms.append(form)
        # 1.0 has two.
        first, second, *others = forms
        third = others[0] if others else None
        return first, second, third, self.make if names == NAMES["events"] else None, self.texts, self.short, "events"

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


__all__ = ["EventLane"]
