"""ObservedModel: the joint of an endpoint, for somebody who sees both ends and must not stop at a broken rule.

It never discards (what one side ignores was sent all the same), and where something may be missing (after a gap, a late
start, or a violation that was reported) it takes what comes as told. Sections of 0-9-1: 2.2.4, 2.3.7, 4.2.6.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from ...endpoint import Side
from ...limits import Limits
from ..codec.violation import Violation
from ..model.channel_state import Pending
from ..model.connection import CHANNEL_MAX, ConnectionModel
from ..model.states import CHANNEL, CONNECTION, Channel, ChannelInput, Connection, ConnectionInput

if TYPE_CHECKING:
    from ..codec.dialect import Dialect
    from ..codec.method import Method
    from ..model.channel_state import ChannelState, Step

_UNBOUNDED: Final = 1 << 62

_CONNECTION_AFTER: Final[dict[ConnectionInput, Connection]] = {
    ConnectionInput.C_HEADER: Connection.HEADER_SENT,
    ConnectionInput.S_HEADER: Connection.END,
    ConnectionInput.S_START: Connection.STARTED,
    ConnectionInput.C_START_OK: Connection.AUTHENTICATING,
    ConnectionInput.S_SECURE: Connection.CHALLENGED,
    ConnectionInput.C_SECURE_OK: Connection.AUTHENTICATING,
    ConnectionInput.S_TUNE: Connection.TUNING,
    ConnectionInput.C_TUNE_OK: Connection.TUNED,
    ConnectionInput.C_OPEN: Connection.OPENING,
    ConnectionInput.S_OPEN_OK: Connection.OPEN,
    ConnectionInput.S_REDIRECT: Connection.END,
    ConnectionInput.C_OTHER: Connection.OPEN,
    ConnectionInput.S_OTHER: Connection.OPEN,
    ConnectionInput.C_CLOSE: Connection.CLIENT_CLOSING,
    ConnectionInput.S_CLOSE: Connection.SERVER_CLOSING,
    ConnectionInput.C_CLOSE_OK: Connection.END,
    ConnectionInput.S_CLOSE_OK: Connection.END,
}
"""Where a connection must be after an input, whatever was missed before."""
_CHANNEL_AFTER: Final[dict[ChannelInput, Channel]] = {
    ChannelInput.C_OPEN: Channel.OPENING,
    ChannelInput.S_OPEN_OK: Channel.OPEN,
    ChannelInput.C_OTHER: Channel.OPEN,
    ChannelInput.S_OTHER: Channel.OPEN,
    ChannelInput.C_CLOSE: Channel.CLIENT_CLOSING,
    ChannelInput.S_CLOSE: Channel.SERVER_CLOSING,
    ChannelInput.C_CLOSE_OK: Channel.CLOSED,
    ChannelInput.S_CLOSE_OK: Channel.CLOSED,
}
"""Where a channel must be after an input, whatever was missed before."""


class ObservedModel(ConnectionModel):
    """Both ends of a connection, as far as they are known. `assumed` says that something was missed for sure."""

    __slots__ = ("bounds", "doubtful")

    def __init__(self, dialect: Dialect, limits: Limits) -> None:
        # What an endpoint must refuse is no broken rule here; `forget` bounds what is kept.
        unbounded = Limits(
            message=_UNBOUNDED, bodies=_UNBOUNDED, channels=CHANNEL_MAX, calls=_UNBOUNDED,
            unsettled=_UNBOUNDED, unconfirmed=_UNBOUNDED, consumers=_UNBOUNDED,
        )  # fmt: skip
        super().__init__(dialect, unbounded)
        self.bounds = limits
        self.doubtful: dict[int, int] = {}

    def discards(self, channel: ChannelState | None, client: bool) -> bool:
        """Never: what the other side ignores still counts for who sent it."""
        return False

    def step(
        self,
        side: Side,
        number: int,
        method: Method,
        token: Any = None,
        whole: bool = True,
        size: int | None = None,
    ) -> Step | None:
        """As the base's; a channel that was only assumed to be open begins anew with channel.open."""
        if method.NAME == "channel.open":
            known = self.channels.get(number)
            if known is not None and known.assumed:
                del self.channels[number]
        elif _settles_all(side, method) and number in self.channels:
            self.doubtful[number] = self.channels[number].last_tag
        step = super().step(side, number, method, token, whole, size)
        if step is not None:
            self._bound(step.channel)
        if number not in self.channels:
            self.doubtful.pop(number, None)
        elif len(self.channels) > self.bounds.channels:
            self._forget_oldest(number)
        return step

    def _forget_oldest(self, present: int) -> None:
        """More channels are open than anybody needs: the oldest is taken for one that was open before it was seen."""
        number = next(iter(self.channels))
        channel = self.channels.pop(number)
        if number == present or channel.client_content or channel.server_content:
            # It's in use: another one goes when the next method comes.
            self.channels[number] = channel
            return
        self.doubtful.pop(number, None)
        self.assumed = True

    def step_anyway(self, side: Side, number: int, method: Method, token: Any) -> Step | None:
        """Take a method whose violation has been reported as if it were right, as far as that can be."""
        channel = self.channels.get(number) if number else self.zero
        assumed = self.assumed
        if method.NAME == "channel.open" and number in self.channels:
            del self.channels[number]
        was = channel is not None and channel.assumed
        self.assumed = True
        if channel is not None:
            channel.assumed = True
        try:
            return self.step(side, number, method, token, False)
        except Violation:
            if channel is not None and self.dialect.replies[method.ID]:
                channel.add_call(side is Side.CLIENT, Pending(method, token))
            return None
        finally:
            self.assumed = assumed
            if channel is not None:
                channel.assumed = was

    def missed(self, client: bool) -> None:
        """Something of what one side sent wasn't seen: from now on hardly anything is sure."""
        self.assumed = True
        self.zero.assumed = True
        for channel in self.channels.values():
            channel.assumed = True
            if client:
                channel.client_content = None
            else:
                channel.server_content = None

    def drop_content(self, client: bool, number: int) -> None:
        """Forget the content that one side has under way on a channel."""
        channel = self.channels.get(number)
        if channel is not None:
            self._drop_content(channel, client)

    def is_race(self, side: Side, number: int, method: Any, violation: Violation) -> bool:
        """Whether the sender may not have known better: a state that it could have known allows what it did."""
        # Deliveries that were on their way when all were settled at once: the client may not have known of them.
        return (
            violation.rule == "basic.ack/unknown-tag"
            and side is Side.CLIENT
            and method.delivery_tag <= self.doubtful.get(number, 0)
        )

    def _next(self, given: ConnectionInput, what: str) -> Connection:
        if self.assumed:
            return CONNECTION[self.state].get(given) or _CONNECTION_AFTER[given]
        return super()._next(given, what)

    def _channel_after(self, channel: ChannelState, given: ChannelInput, method: Method) -> Channel:
        if channel.assumed:
            return CHANNEL[channel.state].get(given) or _CHANNEL_AFTER[given]
        return super()._channel_after(channel, given, method)

    def _bound(self, channel: ChannelState) -> None:
        """Forget the oldest entry of what is above its limit; the channel isn't fully known from then on."""
        bounds = self.bounds
        for calls in (channel.client_calls, channel.server_calls):
            if calls is not None and len(calls) > bounds.calls:
                calls.popleft()
                channel.assumed = True
        for entries, bound in (
            (channel.unsettled, bounds.unsettled),
            (channel.unconfirmed, bounds.unconfirmed),
            (channel.consumers, bounds.consumers),
        ):
            if len(entries) > bound:
                del entries[next(iter(entries))]  # type: ignore[arg-type]
                channel.assumed = True
        if channel.tx_settled and len(channel.tx_settled) > bounds.unsettled:
            channel.tx_settled = None
            channel.assumed = True


def _settles_all(side: Side, method: Any) -> bool:
    """Whether a method settles whatever the server has delivered so far, by recover or as "all up to now"."""
    if side is Side.SERVER:
        return bool(method.NAME == "basic.recover-ok")
    if method.NAME in ("basic.ack", "basic.nack"):
        return bool(method.multiple and not method.delivery_tag)
    return method.NAME in ("basic.recover", "basic.recover-async")
