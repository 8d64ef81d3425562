"""The report of how a channel, session, link or connection ended (public in `amqp_sansio.events`)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import Enum

from .._checking import TYPE_CHECKING, Any
from ..printing import printable
from .record import record

if TYPE_CHECKING:
    from typing import Final


class By(Enum):
    """The side that ended something."""

    __module__ = "amqp_sansio.events"

    LOCAL = "local"
    REMOTE = "remote"
    TRANSPORT = "transport"


class Info(Mapping[str, Any]):
    """What a peer said beside an error's code and text, by name; read-only and hashable."""

    __module__ = "amqp_sansio.events"
    __slots__ = ("_values",)

    def __init__(self, values: Mapping[str, Any] | None = None) -> None:
        # The peer's own fields; never changed, since its hash is made of them.
        self._values: dict[str, Any] = {} if values is None else dict(values)

    def __getitem__(self, key: str) -> Any:
        return self._values[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __eq__(self, other: object) -> bool:
        return self._values == (other._values if isinstance(other, Info) else other)

    def __hash__(self) -> int:
        return hash(frozenset(self._values))

    def __repr__(self) -> str:
        return repr(self._values)

    def __str__(self) -> str:
        return ", ".join([f"{name} {value}" for name, value in self._values.items()])

    def __reduce__(self) -> tuple[Any, ...]:
        return Info, (self._values,)


NO_INFO: Final = Info()
_SHOWN: Final = 300
"""Characters of an info that the text of a report has; the whole is in `info`."""


@record
class CloseReport:
    """Why a channel or connection ended, and its unfinished work.

    `code` and `text` are those of the close, as the peer wrote them (`str` of the report is `printing.printable`),
    `class_id`/`method_id` the method that the closing side blames or 0. `unsettled` are the delivery tags received (or,
    on a server, sent) and not yet settled, `unconfirmed` the unconfirmed publish numbers, `hint` a sentence on the
    likely cause if the pattern is known, else "". 1.0 has `condition`, the error's symbol ("amqp:not-found"), instead
    of codes, and delivery-ids in `unsettled`. `method` is the name of the method or command that the closing side
    blames ("queue.declare"), "" for none. `info` is what else the peer said: in 1.0 the error's info ("network-host"
    and "port" of a redirect, tracking ids), in 0-10 the fields of the exception, of a redirect "host" and
    "known-hosts".
    """

    __module__ = "amqp_sansio.events"
    __record_texts__ = ("hint",)

    by: By
    code: int = 0
    text: str = ""
    class_id: int = 0
    method_id: int = 0
    unsettled: tuple[int, ...] = ()
    unconfirmed: tuple[int, ...] = ()
    hint: str = ""
    rule: str | None = None
    condition: str = ""
    method: str = ""
    info: Mapping[str, Any] = NO_INFO

    def but(self, **changes: Any) -> CloseReport:
        """Return the report with changed fields. Raises TypeError for unknown fields."""
        fields: dict[str, Any] = {name: getattr(self, name) for name in self.__match_args__}
        return CloseReport(**{**fields, **changes})

    def __str__(self) -> str:
        who = {By.LOCAL: "closed by this side", By.REMOTE: "closed by the peer", By.TRANSPORT: "transport lost"}
        parts = [who[self.by]]
        if self.code:
            parts.append(f"{self.code}")
        if self.condition:
            parts.append(self.condition)
        if self.text:
            parts.append(self.text)
        text = f"{parts[0]}: {' '.join(parts[1:])}" if len(parts) > 1 else parts[0]
        if self.method and self.by is By.REMOTE:
            text += f", in answer to {self.method}"
        if self.info:
            said = str(self.info)
            text += f" [{said[:_SHOWN]}{'...' if len(said) > _SHOWN else ''}]"
        return printable(f"{text} ({self.hint})" if self.hint else text)
