"""AnyConnection: the part of a user's connection that every version has."""

from __future__ import annotations

from types import TracebackType
from typing import TYPE_CHECKING, Any, Generic, TypeVar, overload

from ..errors import EndpointClosed
from ..events import CloseReport, Event
from .driving import BaseClient
from .inbox import EventStream, Inbox, Streams

if TYPE_CHECKING:
    from typing import Self

    from ..uri import AmqpUri
    from .metrics import Metrics

_E = TypeVar("_E", bound=Event)
_C = TypeVar("_C", bound="BaseClient[Any]")


class AnyConnection(Generic[_C]):
    """A client's connection. `close` it, or leave its context.

    Leaving the context without an exception raises a failure of the connection, or of a part of it, that no call has
    raised and no `report` has shown.
    """

    def __init__(self, client: _C, uri: AmqpUri) -> None:
        # The machine below, which the driver moves.
        self._client = client
        # Where it first connected to; recovery may be elsewhere.
        self.uri = uri
        client.where = f"{uri.host}:{uri.port}"

    @property
    def core(self) -> Any:
        """The connection of the core, for its properties: negotiated limits, state. Don't call its commands."""
        return self._client.core

    @property
    def is_open(self) -> bool:
        """Whether it is usable, as far as is known."""
        return self._client.is_open

    @property
    def metrics(self) -> Metrics:
        """Its counters and gauges, which live on when it recovers, and can be read after its end."""
        return self._client.metrics

    @property
    def report(self) -> CloseReport | None:
        """Why it ended, once it has; while a lost connection is opened again, why it was lost, and the `hint` says what
        recovery does.
        """
        report = self._client.report
        self._client.seen(report)
        return report if report is not None else self._client.loss

    @overload
    def events(self, *, limit: int = 1000) -> EventStream[Event]: ...
    @overload
    def events(self, *kinds: type[_E], limit: int = 1000) -> EventStream[_E]: ...
    def events(self, *kinds: type[Any], limit: int = 1000) -> EventStream[Any]:
        """Return events of the connection as a whole, such as Blocked of 0-9-1; only `kinds`, if given."""
        client = self._client
        ended = client.report or client.failure
        return open_stream(client, client.streams, kinds, limit, client.closed_error() if ended else None)

    async def close(self) -> CloseReport:
        """Close with a handshake; return how the connection ended. On a closed connection this does nothing."""
        raise NotImplementedError

    async def wait_closed(self) -> CloseReport:
        """Wait until the connection has ended, by either side, and its transport is closed; return how it ended."""
        client = self._client
        if not client.lost.done:
            await client.until(client.lost)
        report = self.report
        assert report is not None
        return report

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        client = self._client
        before = dict(client.unseen)
        await self.close()
        unseen = client.take_unseen(before)
        if unseen is not None and error is None:
            raise unseen

    def __repr__(self) -> str:
        report = self._client.report
        state = "open" if self.is_open else f"closed: {report}" if report else self._client.recovering or "closing"
        return f"<{type(self).__name__} to {self.uri}, {state}>"


def open_stream(
    client: BaseClient[Any], streams: Streams, kinds: tuple[type[Any], ...], limit: int, ended: EndpointClosed | None
) -> EventStream[Any]:
    """Add a stream of `kinds` of events to `streams`; with the error `ended` it is at its end."""
    inbox: Inbox[Any] = Inbox(client, limit)
    if ended is not None:
        inbox.end(ended)
    streams.append((kinds or (Event,), inbox))
    return EventStream(inbox, streams)


__all__ = ["AnyConnection", "open_stream"]
