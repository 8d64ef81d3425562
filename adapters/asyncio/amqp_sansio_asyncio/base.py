"""BaseConnection: the common part of client connections of every version."""

from __future__ import annotations

from typing import Any, Final, Generic, Self, TypeVar, overload

from amqp_sansio.errors import EndpointClosed
from amqp_sansio.events import CloseReport, Event
from amqp_sansio.uri import AmqpUri

from .feed import EventStream, Feed
from .waiting import WaitingDriver

_E = TypeVar("_E", bound=Event)
_D = TypeVar("_D", bound=WaitingDriver[Any])
_C = TypeVar("_C")


class BaseConnection(Generic[_D, _C]):
    """A connection of a client. `close` it, or leave its context."""

    def __init__(self, driver: _D, uri: AmqpUri) -> None:
        self._driver: Final = driver
        self.uri: Final = uri

    @property
    def core(self) -> _C:
        """The connection of the core, for its properties: negotiated limits, state. Don't call its commands."""
        core: _C = self._driver.core
        return core

    @property
    def is_open(self) -> bool:
        """Whether it is usable."""
        is_open: bool = self._driver.core.is_open
        return is_open

    @property
    def report(self) -> CloseReport | None:
        """Why it ended, once it has."""
        report: CloseReport | None = self._driver.core.report
        return report

    @overload
    def events(self, *, limit: int = 1000) -> EventStream[Event]: ...
    @overload
    def events(self, *kinds: type[_E], limit: int = 1000) -> EventStream[_E]: ...
    def events(self, *kinds: type[Any], limit: int = 1000) -> EventStream[Any]:
        """Return events of the connection as a whole, such as Blocked and Unblocked of 0-9-1, or SessionRequested of
        1.0 (answer it with `accept_session`); only `kinds`, if given.
        """
        feed: Feed[Any] = Feed(self._driver, limit, True)
        report = self.report
        if report is not None:
            feed.end(EndpointClosed(f"the connection is closed: {report}", report))
        self._driver.streams.append((kinds or (Event,), feed))
        return EventStream(feed, self._driver.streams)

    async def close(self) -> CloseReport:
        """Close with a handshake; return how the connection ended."""
        raise NotImplementedError

    async def wait_closed(self) -> CloseReport:
        """Wait until the connection has ended, by either side, and its transport is closed."""
        await self._driver.wait_lost()
        report = self.report
        assert report is not None
        return report

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def __repr__(self) -> str:
        state = "open" if self.is_open else f"closed: {self.report}" if self.report else "closing"
        return f"<{type(self).__name__} to {self.uri}, {state}>"


__all__ = ["BaseConnection"]
