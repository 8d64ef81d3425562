"""The report of how a channel, session, link or connection ended (public in `amqp_sansio.events`)."""

from __future__ import annotations

from enum import Enum
from typing import Any

from ..printing import printable
from .record import record


class By(Enum):
    """The side that ended something."""

    __module__ = "amqp_sansio.events"

    LOCAL = "local"
    REMOTE = "remote"
    TRANSPORT = "transport"


@record
class CloseReport:
    """Why a channel or connection ended, and its unfinished work.

    `code` and `text` are those of the close, as the peer wrote them (`str` of the report is `printing.printable`),
    `class_id`/`method_id` the method that the closing side blames or 0. `unsettled` are the delivery tags received (or,
    on a server, sent) and not yet settled, `unconfirmed` the unconfirmed publish numbers, `hint` a sentence on the
    likely cause if the pattern is known, else "". 1.0 has `condition`, the error's symbol ("amqp:not-found"), instead
    of codes, and delivery-ids in `unsettled`.
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
        return printable(f"{text} ({self.hint})" if self.hint else text)
