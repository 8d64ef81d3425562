"""Lifecycle: turns an observer's events of one connection into records of its messages and of the connection itself.

Each version has its own rules for settlement (0-9-1 sections 1.8 and 1.9); the records are the same for all.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from ._core.observation import Identified, Observed, Skipped
from ._core.outcomes import ConnectionRecord, MessageRecord, OutcomeLedger, Records, refused_version
from .endpoint import Side
from .errors import LocalProtocolError
from .limits import Limits
from .versions import AMQP_0_8, AMQP_0_9_1, AMQP_0_10, AMQP_1_0, Version, version_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from ._core.observation import ObserverEvent

_SCHEMA: Final = 5


def _classic(version: Version) -> Records:
    from ._classic.observer import records

    return records.Records(version)


def _amqp_0_10(version: Version) -> Records:
    from .amqp_0_10.observer import records

    return records.Records(version)


def _amqp_1_0(version: Version) -> Records:
    from .amqp_1_0.observer import records

    return records.Records(version)


_RECORDS: Final[Mapping[Version, Callable[[Version], Records]]] = {
    AMQP_0_8: _classic,
    AMQP_0_9_1: _classic,
    AMQP_0_10: _amqp_0_10,
    AMQP_1_0: _amqp_1_0,
}
_NONE: Final[Sequence[MessageRecord]] = ()


class Lifecycle:
    """The messages of one connection, from its observer's events, in order.

    A message comes out once, when its outcome is known; those still open come out of `finish`. For a channel, at most
    `limits` messages of each kind are held; beyond it the oldest comes out without outcome. With `messages` False they
    are only counted. The observer must make its events for `records`. Picklable.

    >>> from amqp_sansio import NEED_DATA, Observer
    >>> observer, lifecycle = Observer(client="c"), Lifecycle()
    >>> observer.receive_data(b"AMQP\\x00\\x00\\x09\\x01", "c", 1_000)
    >>> while (event := observer.next_event()) is not NEED_DATA:
    ...     messages = lifecycle.observe(event)
    >>> lifecycle.connection.version
    <Version.AMQP_0_9_1: '0-9-1'>
    """

    __slots__ = ("_identified", "_ledger", "_records", "_refused", "limits", "messages")

    def __init__(self, limits: Limits | None = None, *, messages: bool = True) -> None:
        self.limits = limits or Limits()
        self.messages = messages
        self._identified: Identified | None = None
        self._records: Records | None = None
        self._ledger = OutcomeLedger(self.limits)
        self._refused: bytes | None = None

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
                self._take_answer(event.content)
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
        return _NONE

    def _take_answer(self, header: bytes) -> None:
        """Note a server's header that differs from the client's, a refusal (0-9-1 section 4.2.2, 0-10 section 4.3)."""
        asked = self._identified.version if self._identified is not None else None
        if asked is None or version_of(header) is not asked:
            self._refused = header

    def finish(self) -> Sequence[MessageRecord]:
        """Return the messages that are still open."""
        if self._records is not None:
            self._records.finish()
        return self._ledger.finish()

    @property
    def open_messages(self) -> Sequence[MessageRecord]:
        """The messages whose outcome isn't known yet, oldest first."""
        return self._ledger.open_messages

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
            facts.update(refused_version(self._refused))
        event = self._identified
        if event is not None:
            facts.update(
                version=event.version, dialect=event.dialect, client=event.client, server=event.server,
                identified_by=event.by,
            )  # fmt: skip
        return ConnectionRecord(**facts)

    def __getstate__(self) -> tuple[object, ...]:
        return (_SCHEMA, *[getattr(self, name) for name in self.__slots__])

    def __setstate__(self, state: tuple[object, ...]) -> None:
        if state[0] != _SCHEMA:
            raise LocalProtocolError(f"the state of a lifecycle has schema {state[0]}, this release reads {_SCHEMA}")
        for name, value in zip(self.__slots__, state[1:], strict=True):
            setattr(self, name, value)


__all__ = ["ConnectionRecord", "Lifecycle", "MessageRecord"]
