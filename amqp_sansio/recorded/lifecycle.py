"""Lifecycle: turns an observer's events of one connection into records of its messages and of the connection itself.

Each version has its own rules for settlement (0-9-1 sections 1.8 and 1.9); the records are the same for all.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from .._core.snapshot import Laid
from .._ground.layouts import LIFECYCLE
from .._watching.end import End, Transport, end_of_connection
from .._watching.observation import Identified, Observed, Skipped, Violation
from .._watching.outcomes import ConnectionRecord, MessageRecord, OutcomeLedger, Records, refused_version
from ..endpoint import Side
from ..limits import Limits
from ..versions import AMQP_0_8, AMQP_0_9_1, AMQP_0_10, AMQP_1_0, Version, version_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from .._watching.observation import ObserverEvent


def _classic(version: Version) -> Records:
    from .._classic.observer import records

    return records.Records(version)


def _amqp_0_10(version: Version) -> Records:
    from ..amqp_0_10.observer import records

    return records.Records(version)


def _amqp_1_0(version: Version) -> Records:
    from ..amqp_1_0.observer import records

    return records.Records(version)


_RECORDS: Final[Mapping[Version, Callable[[Version], Records]]] = {
    AMQP_0_8: _classic,
    AMQP_0_9_1: _classic,
    AMQP_0_10: _amqp_0_10,
    AMQP_1_0: _amqp_1_0,
}
_NONE: Final[Sequence[MessageRecord]] = ()


class Lifecycle(Laid):
    """The messages of one connection, from its observer's events, in order.

    A message comes out once, when its outcome is known; those still open come out of `finish`. For a channel, at most
    `limits` messages of each kind are held; beyond it the oldest comes out without outcome. With `messages` False they
    are only counted. The observer must make its events for `records`. Picklable.

    >>> from amqp_sansio import NEED_DATA, Observer
    >>> observer, lifecycle = Observer(client="c"), Lifecycle()
    >>> observer.receive_data(b"AMQP\\x00\\x00\\x09\\x01", "c", 1_000)
    True
    >>> while (event := observer.next_event()) is not NEED_DATA:
    ...     messages = lifecycle.observe(event)
    >>> lifecycle.connection.version
    <Version.AMQP_0_9_1: '0-9-1'>
    """

    _LAYOUT = LIFECYCLE
    _WHAT = "a lifecycle"

    __slots__ = ("_broken", "_identified", "_ledger", "_records", "_refused", "_transport", "limits", "messages")

    def __init__(self, limits: Limits | None = None, *, messages: bool = True) -> None:
        self.limits = limits or Limits()
        self.messages = messages
        self._identified: Identified | None = None
        self._records: Records | None = None
        self._ledger = OutcomeLedger(self.limits)
        self._refused: tuple[bytes, int] | None = None
        self._transport: Transport | None = None
        self._broken: dict[str, str] = {}

    def observe(self, event: ObserverEvent) -> Sequence[MessageRecord]:
        """Take the next event; return the messages whose outcome is known now."""
        records = self._records
        if records is not None and isinstance(event, Observed):
            if self.messages:
                return self._ledger.take(event, records)
            records.take(event)
            return _NONE
        if isinstance(event, Observed):
            if event.unit == "header" and event.sender is Side.SERVER:
                self._take_answer(event)
        elif isinstance(event, Identified):
            self._identified = event
            version = event.version
            if version is None:
                return _NONE
            if records is None:
                self._records = _RECORDS[version](version)
            else:
                records.version = version
        elif isinstance(event, Skipped) and records is not None:
            return self._ledger.lose(event)
        elif isinstance(event, Violation) and event.severity == "error":
            self._broken.setdefault(event.sender.value, event.text)
        return _NONE

    def _take_answer(self, event: Observed) -> None:
        """Note a server's header that differs from the client's, a refusal (0-9-1 section 4.2.2, 0-10 section 4.3)."""
        asked = self._identified.version if self._identified is not None else None
        if asked is None or version_of(event.content) is not asked:
            self._refused = event.content, event.at_ns

    def finish(self, transport: Transport | None = None) -> Sequence[MessageRecord]:
        """Return the messages that are still open; `transport` is how the connection's transport ended, if known."""
        self._transport = transport
        return self._ledger.finish()

    @property
    def end(self) -> End:
        """How the connection ended, as far as it is known: who ended it first, and the usual cause."""
        transport = self._transport or Transport("end-of-capture", None, 0)
        hint = ""
        if self._records is not None and transport.by is not None:
            hint = self._records.hint_of_loss(transport.by)
        return end_of_connection(self.connection, transport, self._broken, hint)

    @property
    def open_messages(self) -> Sequence[MessageRecord]:
        """The messages whose outcome isn't known yet, oldest first."""
        return self._ledger.open_messages

    @property
    def is_closed(self) -> bool:
        """Whether a side has closed the connection, or refused it, at little cost."""
        return self._refused is not None or (self._records is not None and "closed_by" in self._records.facts)

    @property
    def counted(self) -> int:
        """Messages so far, whether their outcome is known or not."""
        return 0 if self._records is None else self._records.counted

    @property
    def vhost(self) -> str | None:
        """The virtual host as in `connection`, at little cost."""
        known = self._records
        return None if known is None else known.facts.get("vhost")

    @property
    def connection(self) -> ConnectionRecord:
        """The connection, as known so far."""
        facts: dict[str, Any] = {}
        known = self._records
        if known is not None:
            facts.update(known.facts)
        if self._refused is not None:
            facts.update(refused_version(*self._refused))
        event = self._identified
        if event is not None:
            facts.update(
                version=event.version,
                dialect=event.dialect,
                client=event.client,
                server=event.server,
                identified_by=event.by,
            )
        return ConnectionRecord(**facts)


__all__ = ["ConnectionRecord", "Lifecycle", "MessageRecord"]
