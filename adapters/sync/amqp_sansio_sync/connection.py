"""Connection: one blocking connection of 0-8 or 0-9-1 and its channels; dispatches the engine's events."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeVar, overload

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

from .base import BaseConnection
from .channel import Channel
from .feed import publicise

if TYPE_CHECKING:
    from amqp_sansio import amqp_0_8, amqp_0_9_1
    from amqp_sansio.amqp_0_9_1 import RequestMethod
    from amqp_sansio.uri import AmqpUri

    from .transport import Transport

_R = TypeVar("_R", bound=Method)

Core: TypeAlias = "amqp_0_9_1.Connection | amqp_0_8.Connection"
"""The engine of a connection."""

_IN_HANDLES: Final = frozenset({Settled, SendPaused, SendResumed})
"""Events that the handles cover, or that matter only to writes, which check for them."""


class Connection(BaseConnection["Core"]):
    """A connection to a broker, returned by `connect`. Every method may be called from any thread.

    While no thread waits on it, a daemon thread sends heartbeats and checks the server's. `close` it, or leave its
    context, which also raises a failure of the connection or a channel that no call has raised and no `report` has
    shown.
    """

    __slots__ = ("_blocked", "_channels", "_failed")

    def __init__(self, core: Core, transport: Transport, uri: AmqpUri) -> None:
        super().__init__(core, transport, uri)
        self._channels: dict[int, Channel] = {}
        self._blocked: str | None = None
        self._failed: set[int] = set()

    @property
    def peer_properties(self) -> Table:
        """The server's properties: product, version, capabilities."""
        return self.wire.core.peer_properties

    @property
    def blocked(self) -> str | None:
        """Why the server accepts no publishes at the moment (RabbitMQ's connection.blocked), or None if it does."""
        return self._blocked

    def open_channel(self, *, confirm: bool = False, timeout: float | None = None) -> Channel:
        """Open a channel; with `confirm` each publish is confirmed.

        Raises LimitExceeded at the negotiated channel-max, LocalProtocolError if the version has no confirms,
        TimeoutError after `timeout` seconds.
        """
        select = self.wire.core.dialect.named.get("confirm.select") if confirm else None
        if confirm and select is None:
            raise LocalProtocolError(f"{self.wire.core.dialect.name} has no confirms")

        def begin() -> tuple[Channel, Handle[Any]]:
            core = self.wire.core.open_channel()
            channel = self._channels[core.number] = Channel(self, core)
            opening = core.opening
            assert opening is not None
            return channel, core.call(select()) if select is not None else opening

        channel, handle = self.wire.run(begin)
        self.finish(handle, timeout, "channel.open", lambda _: channel.core.close())
        channel.confirms = confirm
        return channel

    @overload
    def call(self, method: RequestMethod[_R], *, timeout: float | None = None) -> _R: ...
    @overload
    def call(self, method: Method, *, timeout: float | None = None) -> Any: ...
    def call(self, method: Method, *, timeout: float | None = None) -> Any:
        """Send a request of the connection class, such as ConnectionUpdateSecret, and wait for its reply."""
        handle = self.wire.run(lambda: self.wire.core.call(method))
        return self.finish(handle, timeout, method.NAME)

    def close(
        self, code: int = 200, text: str = "Normal shutdown", *, timeout: float | None = None
    ) -> CloseReport:
        """Close with a handshake of at most `timeout` seconds (None: `close_timeout`); return how it ended.

        On a closed connection this does nothing.
        """
        return self._close(lambda: self.wire.core.close(code, text), "connection.close", timeout)

    # Internals.

    def _interval(self) -> float:
        return self.wire.core.heartbeat / 2

    def _dispatch(self, event: Event) -> None:
        if type(event) is Delivery:
            channel = self._channels.get(event.channel)
            if channel is not None and not self._closing:
                channel.deliver(event)
        elif type(event) in _IN_HANDLES:
            return
        elif isinstance(event, (Failed, Abandoned)):
            self._unanswered(event)
            if isinstance(event, Failed) and not self._gives_up(event):
                self._fails(event)
        elif isinstance(event, (Replied, Opened)):
            self._answered(event)
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

    def _fails(self, event: Failed) -> None:
        """Record a failure, for a caller or for leaving the connection's context."""
        number = event.channel
        channel = self._channels.get(number) if event.by is By.LOCAL else None
        if channel is None or channel.core.report is None:
            self._failed.add(number)
            return
        # The server's answer to this end's close changes nothing.
        report = channel.core.report
        self.wire.unseen[number] = error = EndpointClosed(
            f"channel {number} is closed: {report}", report
        )
        channel.no_more(error)

    def _ended(self, event: Closed) -> None:
        number, report = event.channel, event.report
        if event.scope is not Scope.CHANNEL:
            error = self._all_over(report)
        else:
            error = EndpointClosed(f"channel {number} is closed: {report}", report)
            channel = self._channels.pop(number, None)
            if channel is not None:
                channel.end(error)
        if number in self._failed:
            self._failed.discard(number)
            self.wire.unseen[number] = error


__all__ = ["Connection", "Core"]
