"""Sending messages and other commands to a server of 0-10, and waiting for their results (0-10 part 1 section 3.2,
class 4).
"""

from __future__ import annotations

import asyncio
import copy
from collections import deque
from collections.abc import Generator
from typing import TYPE_CHECKING, Any, Final

from amqp_sansio.amqp_0_10 import (
    DeliveryProperties,
    Headers,
    Message,
    NoCredit,
    encode_headers,
)
from amqp_sansio.errors import EndpointClosed, LocalProtocolError

if TYPE_CHECKING:
    from amqp_sansio.events import Pending

    from .session import ZeroTenSession

_SHARE: Final = 4
"""Publishes with `wait=False` wait too when this fraction (1 / 4) of a session's unconfirmed limit is used."""
_IDS: Final = 1 << 32


class SentMessage:
    """A message in transit, or another command that waits for its answer: `await` it for its outcome or result, any
    number of times.

    A message has the outcome Accepted, Rejected or Released; with accept-mode none the result is None, once it is
    executed. Cancelling the wait doesn't take it back. Raises SessionEnded; if that is `resumable`, the resumed session
    has it in `pending`.
    """

    __slots__ = ("_handle", "_prompt", "_session")

    def __init__(self, session: ZeroTenSession, handle: Pending[Any], prompt: bool) -> None:
        self._session = session
        self._handle = handle
        self._prompt = prompt

    @property
    def command_id(self) -> int:
        """Its number in the session, which survives connections."""
        return id_of(self._handle)

    @property
    def done(self) -> bool:
        """Whether its result is known."""
        return self._handle.done

    def __await__(self) -> Generator[Any, None, Any]:
        return self._wait().__await__()

    async def _wait(self) -> Any:
        handle, session = self._handle, self._session
        if not handle.done:
            session.check_open()
            if self._prompt:
                session.publisher.prompt(self.command_id)
            return await session.driver.wait_with_others(handle)
        if handle.error is not None:
            session.check_open()
            raise copy.copy(handle.error)
        return handle.result

    def __repr__(self) -> str:
        state = "pending" if not self.done else "failed" if self._handle.error else "done"
        return f"<SentMessage {self.command_id}, {state}>"


class Publisher:
    """Sends a session's messages in turn: waits for credit, and for room among the commands that the peer hasn't
    confirmed.
    """

    def __init__(self, session: ZeroTenSession) -> None:
        self._session: Final = session
        limits = session.driver.core.config.limits
        self._most = max(1, limits.replay // _SHARE)
        self._most_octets = max(1, limits.replay_octets // _SHARE)
        self._count = self._octets = 0
        self._sync: Pending[None] | None = None
        self._waiters: dict[str, deque[asyncio.Future[None]]] = {}

    async def send(
        self, message: Message, exchange: str, accept_mode: int, wait: bool
    ) -> Pending[Any]:
        """Transfer a message; return the handle of its outcome."""
        session, driver = self._session, self._session.driver
        core = session.core
        first = await self._may_send(exchange)
        while True:
            try:
                sent = core.transfer(exchange, message, accept_mode=accept_mode, sync=wait)
                break
            except NoCredit:
                await self._wait_credit(exchange, first)
                first = True
            except LocalProtocolError:
                self._wake_one(exchange)  # Pass the turn on.
                raise
            except EndpointClosed:
                session.check_open()
                raise
        if self._waiters:
            self._wake_one(exchange)
        self._count += 1
        self._octets += len(message.headers.raw) + len(message.body)
        if not driver.flush_scheduled:
            driver.schedule_flush()
        return sent.completion if sent.outcome is None else sent.outcome

    async def pace(self) -> None:
        """Wait while the peer reads too slowly."""
        driver = self._session.driver
        if driver.gated:
            await driver.wait_gate()
        elif driver.core.send_backlog >= driver.flush_octets:
            await driver.pace()
        else:
            return
        self._session.check_open()

    def prompt(self, command_id: int) -> None:
        """Ask the peer for immediate confirmation of this command: a single execution.sync for all commands so far."""
        sync = self._sync
        if sync is None or (id_of(sync) - command_id) % _IDS >= _IDS // 2:
            self.sync()

    def sync(self) -> Pending[None]:
        """Request the execution of everything sent so far."""
        self._count = self._octets = 0
        sync = self._sync = self._session.core.sync()
        self._session.driver.schedule_flush()
        return sync

    def credit_changed(self, exchange: str) -> None:
        """Handle new credit for an exchange; credit for "" counts for others too."""
        for each in list(self._waiters) if exchange == "" else (exchange,):
            self._wake_one(each)

    def ended(self) -> None:
        """Wake all waiting callers, because the session has ended."""
        for exchange in list(self._waiters):
            for waiter in self._waiters.pop(exchange):
                if not waiter.done():
                    waiter.set_result(None)

    # Internals.

    async def _may_send(self, exchange: str) -> bool:
        """Wait until the connection and the session accept more; return whether that was a wait for credit."""
        driver = self._session.driver
        await self.pace()
        while self._count >= self._most or self._octets >= self._most_octets:
            sync = self._sync
            if sync is None or sync.done:
                sync = self.sync()
            await driver.wait_with_others(sync)
        if not self._waiters.get(exchange):
            return False
        await self._wait_credit(exchange, False)
        return True

    async def _wait_credit(self, exchange: str, first: bool) -> None:
        """Wait for a turn to try; raise the session's error if it has ended."""
        session, driver = self._session, self._session.driver
        session.check_open()
        waiter: asyncio.Future[None] = driver.loop.create_future()
        waiters = self._waiters.setdefault(exchange, deque())
        if first:
            waiters.appendleft(waiter)
        else:
            waiters.append(waiter)
        # Credit is an answer: the connection must be read while somebody waits for it.
        driver.waiting[waiter] = waiter
        if driver.reading_paused:
            driver.update_reading()
        try:
            await waiter
        except asyncio.CancelledError:
            if waiter in waiters:
                waiters.remove(waiter)
            else:
                self._wake_one(exchange)
            raise
        finally:
            driver.waiting.pop(waiter, None)
        session.check_open()

    def _wake_one(self, exchange: str) -> None:
        """Let the first in the queue try, if possible; it wakes the next one after sending."""
        waiters = self._waiters.get(exchange)
        if waiters is None:
            return
        messages, octets = self._session.core.credit(exchange)
        if messages == 0 or octets == 0:
            return
        while waiters:
            waiter = waiters.popleft()
            if not waiter.done():
                waiter.set_result(None)
                break
        if not waiters:
            self._waiters.pop(exchange, None)


def routed(message: Message | bytes, routing_key: str | None) -> Message:
    """Return the message with that routing key; None leaves it unchanged.

    Only the delivery-properties are rewritten: all other structs of the header segment stay the same, octet by octet.
    """
    if not isinstance(message, Message):
        return Message(message, routing_key=routing_key)
    if routing_key is None:
        return message
    properties = message.headers.delivery_properties
    if properties is None:
        fresh = encode_headers((DeliveryProperties(routing_key=routing_key),))
        return Message(message.body, headers=Headers(fresh + message.headers.raw))
    if properties.routing_key == routing_key:
        return message
    values = {name: getattr(properties, name) for name in properties.__match_args__}
    values["routing_key"] = routing_key
    octets = encode_headers((DeliveryProperties(**values),))
    raw = message.headers.raw
    parts: list[bytes] = []
    position = 0
    while position < len(raw):
        # A struct32: its size in four octets, then its code and its fields.
        end = position + 4 + int.from_bytes(raw[position : position + 4], "big")
        code = int.from_bytes(raw[position + 4 : position + 6], "big")
        parts.append(octets if code == DeliveryProperties.CODE else raw[position:end])
        position = end
    return Message(message.body, headers=Headers(b"".join(parts)))


def id_of(handle: Pending[Any]) -> int:
    """Return the number of a handle's command."""
    number = handle.key[2]
    assert isinstance(number, int)
    return number


def is_outcome(handle: Pending[Any]) -> bool:
    """Whether a handle is for a message's outcome, rather than for a command's completion."""
    return len(handle.key) > 3


__all__ = ["Publisher", "SentMessage", "id_of", "is_outcome", "routed"]
