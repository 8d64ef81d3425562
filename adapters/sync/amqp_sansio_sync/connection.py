"""Connection: one blocking connection, its channels, and where each event of the engine goes."""

from __future__ import annotations

import copy
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, TypeVar, overload

from amqp_sansio import (
    Abandoned,
    By,
    Closed,
    CloseReport,
    EndpointClosed,
    Event,
    Failed,
    Handle,
    LocalProtocolError,
    Opened,
    Replied,
    Scope,
    SendPaused,
    SendResumed,
    Settled,
)
from amqp_sansio.amqp_0_9_1 import Blocked, Delivery, Method, Table, Unblocked

from .channel import Channel
from .feed import EventStream, Feed, Streams, publicise
from .link import Link

if TYPE_CHECKING:
    from types import TracebackType

    from amqp_sansio.amqp_0_9_1 import RequestMethod
    from amqp_sansio.uri import AmqpUri

    from .link import Core
    from .transport import Transport

_R = TypeVar("_R", bound=Method)
_E = TypeVar("_E", bound=Event)

_IN_HANDLES: Final = frozenset({Settled, SendPaused, SendResumed})
"""Events whose news is in the handles, or seen when something is written."""


class Connection:
    """A connection to a broker, made by `connect`. Every method may be called from any thread.

    While no thread waits on it, a daemon thread sends the heartbeats and watches the server's. `close` it, or
    leave its context, which also raises the failure of the connection or a channel that no call has raised and
    no `report` has shown.
    """

    __slots__ = (
        "__weakref__",
        "_blocked",
        "_channels",
        "_closing",
        "_failed",
        "hooks",
        "link",
        "streams",
        "uri",
    )

    def __init__(self, core: Core, transport: Transport, uri: AmqpUri) -> None:
        self.link = Link(core, transport, self._dispatch)
        self.uri = uri
        self.hooks: dict[Handle[Any], Callable[[Any], object]] = {}
        self.streams: Streams = []
        self._channels: dict[int, Channel] = {}
        self._blocked: str | None = None
        self._closing = False
        self._failed: set[int] = set()

    @property
    def core(self) -> Core:
        """The connection of the core, for what it knows: agreed limits, state. Its commands aren't for use here."""
        return self.link.core

    @property
    def is_open(self) -> bool:
        """Whether it can be used, as far as is known."""
        return self.link.core.is_open and not self.link.ended

    @property
    def report(self) -> CloseReport | None:
        """Why it ended, once it has."""
        report = self.link.core.report
        if report is not None:
            self.link.seen(report)
        return report

    @property
    def peer_properties(self) -> Table:
        """What the server says of itself: product, version, capabilities."""
        return self.link.core.peer_properties

    @property
    def blocked(self) -> str | None:
        """Why the server takes no publishes at the moment (RabbitMQ's connection.blocked), or None when it does."""
        return self._blocked

    def open_channel(self, *, confirm: bool = False, timeout: float | None = None) -> Channel:
        """Open a channel; with `confirm` each publish is confirmed.

        Raises LimitExceeded when the agreed channel-max is reached, LocalProtocolError where the version has no
        confirms, TimeoutError after `timeout` seconds.
        """
        select = self.link.core.dialect.named.get("confirm.select") if confirm else None
        if confirm and select is None:
            raise LocalProtocolError(f"{self.link.core.dialect.name} has no confirms")

        def begin() -> tuple[Channel, Handle[Any]]:
            core = self.link.core.open_channel()
            channel = self._channels[core.number] = Channel(self, core)
            opening = core.opening
            assert opening is not None
            return channel, core.call(select()) if select is not None else opening

        channel, handle = self.link.run(begin)
        self.finish(handle, timeout, "channel.open", lambda _: channel.core.close())
        channel.confirms = confirm
        return channel

    @overload
    def call(self, method: RequestMethod[_R], *, timeout: float | None = None) -> _R: ...
    @overload
    def call(self, method: Method, *, timeout: float | None = None) -> Any: ...
    def call(self, method: Method, *, timeout: float | None = None) -> Any:
        """Send a request of the connection class, such as ConnectionUpdateSecret, and wait for its reply."""
        handle = self.link.run(lambda: self.link.core.call(method))
        return self.finish(handle, timeout, method.NAME)

    @overload
    def events(self, *, limit: int = 1000, timeout: float | None = None) -> EventStream[Event]: ...
    @overload
    def events(
        self, *kinds: type[_E], limit: int = 1000, timeout: float | None = None
    ) -> EventStream[_E]: ...
    def events(
        self, *kinds: type[Any], limit: int = 1000, timeout: float | None = None
    ) -> EventStream[Any]:
        """What happens to the connection as a whole: Blocked, Unblocked; only `kinds`, when given."""
        feed: Feed[Any] = Feed(self.link, limit, True)
        with self.link.lock:
            if self.link.ended:
                feed.finish(self.link.closed())
            self.streams.append((kinds or (Event,), feed))
        return EventStream(feed, self.streams, timeout)

    def close(
        self, code: int = 200, text: str = "Normal shutdown", *, timeout: float | None = None
    ) -> CloseReport:
        """Close with a handshake that takes `timeout` seconds at most (None: `close_timeout`); says how it ended.

        It may be closed already.
        """
        link = self.link
        seconds = link.core.config.close_timeout if timeout is None else timeout
        # From here on nobody takes deliveries, and they don't hold up the close.
        self._closing = True
        try:
            # Either the connection has ended by itself meanwhile, or the server is too slow: what is left is to stop.
            with suppress(EndpointClosed, TimeoutError):
                if not link.ended:
                    link.run(lambda: link.core.close(code, text))
                    link.wait(lambda: link.ended, seconds, "connection.close")
        finally:
            link.stop("the close was not answered in time")
        report = link.core.report
        if report is None:
            return CloseReport(By.LOCAL, 0, str(link.closed()))
        return report

    def __enter__(self) -> Connection:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
        unseen, self.link.unseen = list(self.link.unseen.values()), {}
        if unseen and error is None:
            raise unseen[0]

    def __repr__(self) -> str:
        report = self.link.core.report
        state = "open" if self.is_open else f"closed: {report}" if report else "closing"
        return f"<Connection to {self.uri}, {state}>"

    # For channels.

    def finish(
        self,
        handle: Handle[Any],
        timeout: float | None,
        what: str,
        late: Callable[[Any], object] | None = None,
    ) -> Any:
        """Wait for a handle and return its result. `late` takes a result that nobody waits for any more."""
        if not handle.done:
            try:
                self.link.wait(lambda: handle.done, timeout, what)
            except BaseException:
                if late is not None and not self.link.ended:
                    self.link.run(lambda: self._when_late(handle, late))
                raise
        error = handle.error
        if error is not None:
            if isinstance(error, EndpointClosed):
                self.link.seen(error.report)
            raise copy.copy(error)
        return handle.result

    # Inside.

    def _when_late(self, handle: Handle[Any], late: Callable[[Any], object]) -> None:
        if not handle.done:
            self.hooks[handle] = late
        elif handle.error is None:
            late(handle.result)

    def _dispatch(self, event: Event) -> None:
        """Put an event where somebody looks for it; the lock is held."""
        if type(event) is Delivery:
            channel = self._channels.get(event.channel)
            if channel is not None and not self._closing:
                channel.deliver(event)
        elif type(event) in _IN_HANDLES:
            return
        elif isinstance(event, (Failed, Abandoned)):
            for handle in event.handles if self.hooks else ():
                self.hooks.pop(handle, None)
            if isinstance(event, Failed):
                self._failed.add(event.channel)
        elif isinstance(event, (Replied, Opened)):
            hook = self.hooks.pop(event.handle, None) if self.hooks and event.handle else None
            if hook is not None and event.handle is not None and event.handle.error is None:
                # When the channel is gone, what was to be done there is done.
                with suppress(EndpointClosed):
                    hook(event.handle.result)
        elif isinstance(event, Closed):
            self._ended(event)
        else:
            if isinstance(event, Blocked):
                self._blocked = event.reason
            elif isinstance(event, Unblocked):
                self._blocked = None
            channel = self._channels.get(getattr(event, "channel", 0))
            if channel is not None:
                channel.take(event)
            else:
                publicise(self.streams, event)

    def _ended(self, event: Closed) -> None:
        number, report = event.channel, event.report
        what = f"channel {number}" if number else "the connection"
        error = EndpointClosed(f"{what} is closed: {report}", report)
        if number in self._failed or (not number and report.by is By.TRANSPORT):
            self._failed.discard(number)
            self.link.unseen[number] = error
        if event.scope is Scope.CHANNEL:
            channel = self._channels.pop(number, None)
            if channel is not None:
                channel.end(error)
            return
        for _, stream in self.streams:
            stream.finish(copy.copy(error))
        self.hooks.clear()


__all__ = ["Connection"]
