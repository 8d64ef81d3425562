"""Sending messages and other commands to a server of 0-10, and waiting for their results (0-10 part 1 section 3.2,
class 4).
"""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from ...amqp_0_10 import DeliveryProperties, Headers, Message, MessageProperties, NoCredit
from ...amqp_0_10.codec.record import encode_headers
from ...amqp_0_10.codec.records import ExecutionSync
from ...errors import AmqpError, EndpointClosed
from ...events import Accepted, Rejected, Released
from ..bodies import wrong_body
from ..recovery import TRIES, InDoubt, Repeated
from .routes import OUTCOME, Recall

if TYPE_CHECKING:
    from ...events import Pending
    from ..hooks import Hooks
    from .routes import SessionRoutes

_SHARE: Final = 4
"""Publishes with `wait=False` wait too when this fraction (1 / 4) of a session's unconfirmed limit is used."""
_IDS: Final = 1 << 32

Outcome: TypeAlias = Accepted | Rejected | Released
"""The outcome of a message."""

Published: TypeAlias = "tuple[Message, str, int, SessionRoutes, bool]"
"""A publish whose outcome is under way: message, exchange, accept-mode, session, and whether it may be sent again.

It stands for its `Republish` as `pending.again`, since most are never needed.
"""


class Republish(Repeated["SessionRoutes"]):
    """A publish in doubt, which is made again if its session is lost, or reported."""

    __slots__ = ("accept_mode", "exchange", "message", "repeats", "tries")

    def __init__(self, published: Published) -> None:
        # Kept until its outcome is known: `kept` of the client counts its octets.
        self.message, self.exchange, self.accept_mode, state, self.repeats = published
        super().__init__(state)
        # How often it was sent; the policy bounds that.
        self.tries = 1

    def answered(self, pending: Pending[Any]) -> None:
        """Tell the caller its outcome."""
        self.complete(pending.result)

    def lost(self, pending: Pending[Any]) -> bool:
        """Wait for the next session, or report the message."""
        client = self.state.client
        assert client.recovery is not None
        if not self.repeats:
            return False
        if self.is_doubtful(client.recovery.policy, pending, self.tries):
            key = self.message.delivery_properties.routing_key or ""
            client.doubts.append(InDoubt((self.exchange, key), self.message.body, self.message))
            return False
        self.adopt(pending)
        client.redo.append(self)
        return True

    def redo(self) -> None:
        """Publish it once more, with a header that counts, as soon as there is credit."""
        turns, tries = self.state.turns, self.tries + 1
        if self.exchange in turns.resending:
            turns.resend_later(self.exchange, self)
            return
        given = self.message.message_properties.application_headers
        again = rewritten(self.message, MessageProperties, application_headers={**(given or {}), TRIES: tries})
        try:
            sent = self.state.core.transfer(self.exchange, again, accept_mode=self.accept_mode, sync=True)
        except NoCredit:
            turns.resend_later(self.exchange, self)
            return
        self.tries = tries
        pending: Pending[Any] = sent.completion if sent.outcome is None else sent.outcome
        pending.again = self
        self.state.client.metrics.sent += 1
        self.state.client.resent += 1

    def release(self) -> None:
        self.state.client.kept -= len(self.message.body)


class SentMessage:
    """A message in transit, or another command that waits for its answer: `await` it for its outcome or result, any
    number of times.

    A message has the outcome Accepted, Rejected or Released; with accept-mode none the result is None, once it is
    executed. Cancelling the wait doesn't take it back. Raises SessionEnded; if that is `resumable`, the resumed session
    has it in `pending`.
    """

    __slots__ = ("_pending", "_publisher")

    def __init__(self, publisher: Publisher, pending: Pending[Any]) -> None:
        # Of its session, which brings the outcome about by asking for it.
        self._publisher = publisher
        # Of its transfer, or of the command.
        self._pending = pending

    @property
    def command_id(self) -> int:
        """Its number in the session, which survives connections."""
        return id_of(self._pending)

    @property
    def done(self) -> bool:
        """Whether its result is known."""
        return self._pending.done

    async def result(self) -> Any:
        """Wait for its outcome or result, and return it."""
        return await self._publisher.result(self._pending)

    def __await__(self) -> Generator[Any, None, Any]:
        return self._publisher.result(self._pending).__await__()

    def __repr__(self) -> str:
        state = "pending" if not self.done else "failed" if self._pending.error else "done"
        return f"<SentMessage {self.command_id}, {state}>"


class Publisher:
    """Sends a session's messages in turn: waits for credit, and for room among the commands that the peer hasn't
    confirmed.
    """

    __slots__ = ("_count", "_epoch", "_most", "_most_octets", "_octets", "_state", "_sync")

    def __init__(self, state: SessionRoutes) -> None:
        # The session's routes: credit, turns, its client.
        self._state = state
        limits = state.client.config.limits
        # Commands without an answer from which on the next one waits: a share of `Limits.replay`.
        self._most = max(1, limits.replay // _SHARE)
        # The same in octets, a share of `Limits.replay_octets`.
        self._most_octets = max(1, limits.replay_octets // _SHARE)
        # Messages since the last execution.sync that was asked for.
        self._count = 0
        # Of headers and bodies of these.
        self._octets = 0
        # The session of the peer that these were sent in: another one begins the counts anew.
        self._epoch = 0
        # The execution.sync under way: its end confirms all before it.
        self._sync: Pending[None] | None = None

    def try_send(self, message: Message, exchange: str, accept_mode: int, wait: bool) -> Pending[Any] | None:
        """Transfer a message at once; return the pending of its outcome, None if `send` has to wait before."""
        state, client = self._state, self._state.client
        if (
            self._count >= self._most
            or self._octets >= self._most_octets
            or client.driver.congested
            or client.core.send_backlog >= client.flush_octets
            or client.kept >= client.kept_high
            or client.restored is not None
            or state.turns.waiting
        ):
            return None
        try:
            return self.send_now(message, exchange, accept_mode, wait)
        except NoCredit:
            return None

    def send_now(
        self, message: Message, exchange: str, accept_mode: int, wait: bool, repeats: bool = True
    ) -> Pending[Any]:
        """Transfer a message; return the pending of its outcome. Raises NoCredit."""
        state = self._state
        if state.broken:
            state.begin()
        try:
            sent = state.core.transfer(exchange, message, accept_mode=accept_mode, sync=wait)
        except EndpointClosed:
            state.check_open()
            raise
        state.client.metrics.sent += 1
        self._count += 1
        self._octets += len(message.headers.raw) + len(message.body)
        driver = state.client.driver
        (driver.flush_soon if wait else driver.flush_later)()
        pending: Pending[Any] = sent.completion if sent.outcome is None else sent.outcome
        if state.asked is not None:
            # A transaction's messages end with it.
            pending.again = message, exchange, accept_mode, state, repeats and not state.selected
            state.client.kept += len(message.body)
        return pending

    async def send(
        self, message: Message, exchange: str, accept_mode: int, wait: bool, repeats: bool = True
    ) -> Pending[Any]:
        """Transfer a message once that is possible; return the pending of its outcome."""
        state, turns = self._state, self._state.turns
        await self._until_restored()
        first = await self._may_send(exchange)
        while True:
            try:
                pending = self.send_now(message, exchange, accept_mode, wait, repeats)
                break
            except EndpointClosed:
                if state.client.restored is None:
                    turns.next(exchange)
                    raise
                await self._until_restored()
            except NoCredit:
                await turns.wait(exchange, first)
                state.check_open()
                first = True
            except AmqpError:
                turns.next(exchange)  # Pass the turn on.
                raise
        turns.next(exchange)
        return pending

    async def _until_restored(self) -> None:
        """Wait while the connection is lost, or raise if publishes don't wait."""
        client = self._state.client
        if client.restored is not None and not client.waits_to_publish:
            raise client.closed_error()
        await client.until_restored()

    async def room(self) -> None:
        """Wait while the peer reads too slowly."""
        state, client = self._state, self._state.client
        while state.error is None:
            if client.driver.congested:
                await client.driver.pace()
            elif client.core.send_backlog >= client.flush_octets:
                await client.room()
                break
            else:
                return
        state.check_open()

    def prompt(self, command_id: int) -> None:
        """Ask the peer for immediate confirmation of this command: a single execution.sync for all commands so far."""
        sync = self._sync
        if self._epoch != self._state.epoch:
            sync = None  # It had its number in a session that is gone.
        if sync is None or (id_of(sync) - command_id) % _IDS >= _IDS // 2:
            self.sync()

    def sync(self) -> Pending[None]:
        """Request the execution of everything sent so far."""
        self._count = 0
        self._octets = 0
        state = self._state
        self._epoch = state.epoch
        sync = state.core.sync()
        self._sync = sync
        if state.asked is not None:
            sync.again = Recall(state, ExecutionSync())
        self._state.client.driver.flush_soon()
        return sync

    async def executed(self, seconds: float | None = None) -> None:
        """Wait until the server has executed everything sent before; for `seconds` at most."""
        state = self._state
        if seconds is None:
            await state.client.until_restored()
        state.begin()
        pending = self.sync()
        if seconds is not None:
            await state.wait(pending, seconds)
            return
        await state.within(state.client.answer_limit, pending, "execution.sync")
        state.answer(pending)

    async def result(self, pending: Pending[Any]) -> Any:
        """Wait for the outcome or result of something sent, and return it."""
        state = self._state
        if not pending.done:
            await state.client.until_restored()
        if not pending.done:
            state.check_open()
            self.prompt(id_of(pending))
            client = state.client
            if is_outcome(pending):
                await state.decided(pending)
            else:
                await state.within(client.answer_limit, pending, f"command {id_of(pending)}")
        return state.answer(pending)

    async def _may_send(self, exchange: str) -> bool:
        """Wait until the connection and the session accept more; return whether that was a wait for credit."""
        state = self._state
        await self.room()
        client = state.client
        while client.kept >= client.kept_high and state.core.pending:
            await state.within(client.outcome_limit, state.core.pending[0], OUTCOME)
        while self._count >= self._most or self._octets >= self._most_octets:
            sync = self._sync
            if sync is None or sync.done:
                sync = self.sync()
            await state.result(sync, None, "execution.sync")
        if exchange not in state.turns.waiting:
            return False
        await state.turns.wait(exchange, False)
        state.check_open()
        return True


def routed(message: Message | bytes, routing_key: str | None) -> Message:
    """Return the message with that routing key; None leaves it unchanged. Raises TypeError for another body."""
    if not isinstance(message, Message):
        try:
            return Message(message, routing_key=routing_key)
        except TypeError as error:
            raise wrong_body(message) or error from None
    return message if routing_key is None else rewritten(message, DeliveryProperties, routing_key=routing_key)


def rewritten(message: Message, kind: type[DeliveryProperties] | type[MessageProperties], **changes: Any) -> Message:
    """Return the message with changed delivery-properties or message-properties.

    Only this struct is rewritten: all others of the header segment stay the same, octet by octet.
    """
    is_delivery = kind is DeliveryProperties
    headers = message.headers
    properties: Any = headers.delivery_properties if is_delivery else headers.message_properties
    if properties is None:
        fresh = encode_headers((kind(**changes),))
        raw = fresh + headers.raw if is_delivery else headers.raw + fresh
        return Message(message.body, headers=Headers(raw), has_body=message.has_body)
    values = {name: getattr(properties, name) for name in properties.__match_args__}
    if all(values[name] == value for name, value in changes.items()):
        return message
    octets = encode_headers((kind(**{**values, **changes}),))
    raw = headers.raw
    parts: list[bytes] = []
    position = 0
    while position < len(raw):
        # A struct32: its size in four octets, then its code and its fields.
        end = position + 4 + int.from_bytes(raw[position : position + 4], "big")
        code = int.from_bytes(raw[position + 4 : position + 6], "big")
        parts.append(octets if code == kind.CODE else raw[position:end])
        position = end
    return Message(message.body, headers=Headers(b"".join(parts)), has_body=message.has_body)


def hooked(hooks: Hooks, message: Message, exchange: str) -> Message:
    """Return the message with the headers that a hook adds."""
    properties = message.headers.message_properties
    given = None if properties is None else properties.application_headers
    routing_key = message.delivery_properties.routing_key or ""
    headers = hooks.published(exchange, routing_key, given, len(message.body))
    return message if headers is None else rewritten(message, MessageProperties, application_headers=headers)


def id_of(pending: Pending[Any]) -> int:
    """Return the number of a pending's command."""
    number = pending.key[2]
    assert isinstance(number, int)
    return number


def is_outcome(pending: Pending[Any]) -> bool:
    """Whether a pending is for a message's outcome, rather than for a command's completion."""
    return len(pending.key) > 3


__all__ = [
    "Outcome",
    "Published",
    "Publisher",
    "Republish",
    "SentMessage",
    "hooked",
    "id_of",
    "is_outcome",
    "rewritten",
    "routed",
]
