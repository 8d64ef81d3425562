"""Connection: a client's connection of 0-8 or 0-9-1, as its user sees it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar, overload

from ...amqp_0_9_1 import Table
from ...amqp_0_9_1.spec import Method
from ...errors import LocalProtocolError
from ...events import CloseReport
from ..connection import AnyConnection
from ..opening import Opening
from .channel import Channel
from .client import ChannelState, ClassicClient
from .restoring import Recall

if TYPE_CHECKING:
    from ...amqp_0_9_1.spec import RequestMethod

_R = TypeVar("_R", bound=Method)


class Connection(AnyConnection[ClassicClient]):
    """A connection to a broker, returned by `connect`. `close` it, or leave its context.

    Leaving the context without an exception raises a failure of the connection or of a channel that no call has raised
    and no `report` has shown.
    """

    @property
    def peer_properties(self) -> Table:
        """The server's properties: product, version, capabilities."""
        return self._client.core.peer_properties

    @property
    def blocked(self) -> str | None:
        """Why the server accepts no publishes at the moment (RabbitMQ's connection.blocked), or None if it does."""
        return self._client.blocked

    def open_channel(self, *, confirm: bool = False) -> Opening[Channel]:
        """Open a channel: `await` it, or use it as an async context that closes the channel. With `confirm` each
        publish is confirmed.

        Raises LimitExceeded at the negotiated channel-max, LocalProtocolError if the version has no confirms.
        """
        return Opening(lambda: self._open_channel(confirm))

    @overload
    async def call(self, method: RequestMethod[_R]) -> _R: ...
    @overload
    async def call(self, method: Method) -> Any: ...
    async def call(self, method: Method) -> Any:
        """Send a request of the connection class, such as ConnectionUpdateSecret, and return its reply."""
        await self._client.until_restored()
        return await self._client.result(self._client.core.call(method), what=method.NAME)

    async def close(self, code: int = 200, text: str = "Normal shutdown") -> CloseReport:
        """Close with a handshake of at most `close_timeout` seconds; return how the connection ended. On a closed
        connection this does nothing.
        """
        self._client.stop_recovery()
        self._client.core.close(code, text)
        await self._client.end_connection()
        return await self.wait_closed()

    async def _open_channel(self, confirm: bool) -> Channel:
        client = self._client
        dialect = client.core.dialect
        if confirm and "confirm.select" not in dialect.named:
            raise LocalProtocolError(f"{dialect.name} has no confirms")
        await client.until_restored()
        core = client.core.open_channel()
        state = client.channels[core.number] = ChannelState(client, core)
        opening = core.opening
        assert opening is not None
        if client.recovery is not None:
            opening.again = Recall(state, dialect.named["channel.open"]())
        pending = state.call(dialect.named["confirm.select"]()) if confirm else opening
        # A caller that is gone has no channel to close.
        what = f"{'confirm.select' if confirm else 'channel.open'} of channel {core.number}"
        await client.result(pending, lambda _: state.core.close(), what)
        return Channel(state)


__all__ = ["Connection"]
