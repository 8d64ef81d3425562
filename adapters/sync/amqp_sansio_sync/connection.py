"""Connection: one blocking connection, its channels, and where each event of the engine goes."""

from __future__ import annotations

import copy
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar, overload

from amqp_sansio import (
    Abandoned,
    AmqpError,
    By,
    Closed,
    CloseReport,
    EndpointClosed,
    Event,
    Failed,
    Handle,
    LimitExceeded,
    Opened,
    Replied,
    Scope,
    SendPaused,
    SendResumed,
    Settled,
)
from amqp_sansio.amqp_0_9_1 import Blocked, Delivery, HeartbeatReceived, Redirected, Unblocked

from .channel import Channel
from .link import Link

if TYPE_CHECKING:
    from types import TracebackType

    from typing_extensions import Self

    from amqp_sansio.amqp_0_9_1 import Method, RequestMethod, Table

    from .link import Core
    from .transport import Transport

_R = TypeVar("_R")

_NO_NEWS = (Settled, Abandoned, Opened, SendPaused, SendResumed, HeartbeatReceived, Redirected)
"""Events whose news is in the handles, or elsewhere in the engine."""


class Connection:
    """An open connection, made by `connect`. Every method may be called from any thread.

    While no thread waits on it, a daemon thread sends the heartbeats and watches the server's. Leaving the `with` block
    closes it.
    """

    __slots__ = ("__weakref__", "_blocked", "_channels", "_closing", "_late", "link")

    def __init__(self, core: Core, transport: Transport, buffer: int) -> None:
        self.link = Link(core, transport, buffer, self._dispatch)
        self._channels: dict[int, Channel] = {}
        self._late: dict[Handle[Any], Callable[[Any], None]] = {}
        self._blocked: str | None = None
        self._closing = False

    @property
    def is_open(self) -> bool:
        """Whether it can be used, as far as is known."""
        return self.link.core.is_open and not self.link.ended

    @property
    def report(self) -> CloseReport | None:
        """Why the connection ended, once it has."""
        return self.link.core.report

    @property
    def blocked(self) -> str | None:
        """Why the server takes no publishes at present (RabbitMQ's connection.blocked); None: it takes them."""
        return self._blocked

    @property
    def heartbeat(self) -> float:
        """The agreed heartbeat interval in seconds; 0: none."""
        return self.link.core.heartbeat

    @property
    def frame_max(self) -> int:
        """The agreed largest frame in octets; 0: no limit."""
        return self.link.core.frame_max

    @property
    def channel_max(self) -> int:
        """The agreed highest channel number."""
        return self.link.core.channel_max

    @property
    def server_properties(self) -> Table:
        """What the server says of itself."""
        return self.link.core.peer_properties

    def open_channel(self, *, confirm: bool = False, timeout: float | None = None) -> Channel:
        """Open a channel, with `confirm` in confirm mode (RabbitMQ's confirm.select).

        Raises LimitExceeded when all are open, EndpointClosed, and TimeoutError after `timeout` seconds.
        """

        def begin() -> Channel:
            channel = Channel(self, self.link.core.open_channel())
            self._channels[channel.number] = channel
            return channel

        channel = self.link.run(begin)
        opening = channel.core.opening
        if opening is not None:
            self.finish(opening, timeout, "channel.open", lambda _: channel.core.close())
        if confirm:
            select = self.link.core.dialect.named.get("confirm.select")
            if select is None:
                channel.close()
                raise AmqpError(f"{self.link.core.dialect.name} has no confirm mode")
            channel.call(select(), timeout=timeout)
        return channel

    @overload
    def call(self, method: RequestMethod[_R], *, timeout: float | None = None) -> _R: ...
    @overload
    def call(self, method: Method, *, timeout: float | None = None) -> Any: ...
    def call(self, method: Method, *, timeout: float | None = None) -> Any:
        """Send a request of the connection class, such as ConnectionUpdateSecret, and wait for its reply."""
        handle = self.link.run(lambda: self.link.core.call(method))
        return self.finish(handle, timeout, method.NAME)

    def close(self, code: int = 200, text: str = "Normal shutdown", *, timeout: float | None = None) -> None:
        """Close the connection and all its channels; a second call does nothing.

        A server that doesn't answer within `timeout` seconds (None: `close_timeout` of the configuration) is left without
        a word. Raises the failure that ended the connection or a channel before and that no call has raised yet.
        """
        self._close(code, text, timeout)
        unseen, self.link.unseen = self.link.unseen, None
        if unseen is not None:
            raise unseen

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            self.close()
        else:
            self._close(200, "Normal shutdown", None)

    def __repr__(self) -> str:
        return f"<Connection {self.link.core!r}>"

    # For channels.

    def finish(
        self, handle: Handle[Any], timeout: float | None, what: str, late: Callable[[Any], None] | None = None
    ) -> Any:
        """Wait for the end of a handle and return its result. `late` takes a result that nobody waits for any more."""
        if not handle.done:
            try:
                self.link.wait(lambda: handle.done, timeout, what)
            except BaseException:
                if late is not None and not self.link.ended:
                    self.link.run(lambda: self._when_late(handle, late))
                raise
        if handle.error is not None:
            self.link.unseen = None
            raise copy.copy(handle.error)
        return handle.result

    # Inside.

    def _close(self, code: int, text: str, timeout: float | None) -> None:
        link = self.link
        self._closing = True
        seconds = link.core.config.close_timeout if timeout is None else timeout
        try:
            if not link.ended:
                link.run(lambda: link.core.close(code, text))
                link.wait(lambda: link.ended, seconds, "connection.close")
        except (EndpointClosed, LimitExceeded, TimeoutError):
            pass
        finally:
            link.stop("the close was not answered in time")

    def _when_late(self, handle: Handle[Any], late: Callable[[Any], None]) -> None:
        if not handle.done:
            self._late[handle] = late
        elif handle.error is None:
            late(handle.result)

    def _dispatch(self, event: Event) -> None:
        """Put an event where somebody looks for it; the lock is held."""
        kind = type(event)
        if kind is Delivery:
            channel = self._channels.get(event.channel)
            if channel is not None:
                channel.deliver(event)
        elif kind in _NO_NEWS:
            return
        elif isinstance(event, Replied):
            late = self._late.pop(event.handle, None) if self._late else None
            if late is not None and event.handle.error is None:
                late(event.handle.result)
        elif isinstance(event, Failed):
            self.link.unseen = event.error
        elif isinstance(event, Closed):
            self._ended(event)
        elif isinstance(event, Blocked):
            self._blocked = event.reason
        elif isinstance(event, Unblocked):
            self._blocked = None
        else:
            channel = self._channels.get(getattr(event, "channel", 0))
            if channel is not None:
                channel.take(event)
