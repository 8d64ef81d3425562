"""The routes of a client's sessions and subscriptions of 0-10: where their events go, and who waits."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, TypeVar

from ...amqp_0_10 import (
    WINDOW,
    CommandReceived,
    Connection,
    DtxSelect,
    ExecutionError,
    MessageBegun,
    MessageCancel,
    MessageReceived,
    Resumed,
    TxSelect,
)
from ...errors import AmqpError, ConsumerEnded, EndpointClosed, LimitExceeded, LocalProtocolError, SessionEnded
from ...events import By, CloseReport, Pending
from ..driving import BaseClient, end_streams, is_own_close, offer
from ..inbox import Inbox, Streams

if TYPE_CHECKING:
    from ...amqp_0_10 import Command, Message, SessionState, Struct
    from ...amqp_0_10 import Session as CoreSession

_R = TypeVar("_R")

_NOT_IMPLEMENTED: Final = 540
_LEAST_LIMIT: Final = 1000


class RoutesClient(BaseClient[Connection]):
    """A client of 0-10, as its sessions see it.

    `collected` are the sessions with messages to accept before octets are sent.
    """

    def __init__(self, core: Connection) -> None:
        super().__init__(core)
        self.sessions: dict[int, SessionRoutes] = {}
        self.collected: list[SessionRoutes] = []


class SubscriptionInbox(Inbox[MessageReceived]):
    """The messages of one subscription that came and nobody has taken, and what became of it.

    It keeps `credit` messages of `most_octets` octets coming (None: any number of octets); with 0 its user grants
    credit. `closing`: it is cancelled. `failure` is why it ended otherwise. `shown_as` is the user's object for it.
    """

    __slots__ = ("closing", "credit", "destination", "failure", "flow_mode", "most_octets", "session", "shown_as")

    def __init__(
        self, session: SessionRoutes, destination: str, flow_mode: int, credit: int, most_octets: int | None
    ) -> None:
        super().__init__(session.client, max(_LEAST_LIMIT, 2 * credit))
        self.session = session
        self.destination = destination
        self.flow_mode = flow_mode
        self.credit = credit
        self.most_octets = most_octets
        self.closing = False
        self.failure: EndpointClosed | None = None
        self.shown_as: Any = None

    @property
    def is_open(self) -> bool:
        """Whether messages may still come."""
        return not self.closing and self.failure is None

    def check_open(self) -> None:
        """Raise the subscription's error if it has ended."""
        session = self.session
        if self.failure is not None:
            raise session.client.for_caller(self.failure)
        if self.closing:
            text = f"subscription {self.destination!r} is closed"
            raise SessionEnded(text, session.core.report, session.core.name)
        session.check_open()

    def overrun(self) -> None:
        text = f"it fell behind, {len(self.items)} messages wait; take them faster, or grant less credit"
        self.failure = ConsumerEnded(
            f"subscription {self.destination!r}: {text}", CloseReport(By.LOCAL, 0, text), self.destination
        )
        with suppress(LimitExceeded):  # Messages that come for it are given back all the same.
            self._cancel()
        self.end(self.failure)
        self.session.client.driver.flush_soon()

    def close(self) -> Pending[None] | None:
        """Cancel it and return what nobody took; the answer is that of the cancellation, None without one."""
        if not self.is_open:
            return None
        self.closing = True
        items = self.clear()
        self.end(None)
        cancelling = self._cancel()
        if cancelling is not None:
            with suppress(EndpointClosed):  # They come back with the end of their session.
                for event in items:
                    self.session.give_back(event)
            self.session.client.driver.flush_soon()
        return cancelling

    def session_ended(self, error: SessionEnded, last: SessionEnded | None) -> None:
        """End with the session; `last` is what an iteration raises.

        Messages that wait come again if the session is resumed. If it isn't, only those that need no acceptance are
        still useful.
        """
        if self.is_open:
            self.failure = error
            items = self.clear()
            if not error.resumable:
                self.items.extend([each for each in items if not each.accepts])
            self.end(last)

    def top_up(self) -> None:
        """In credit mode, grant new credit when half of it is used."""
        core, items = self.session.core, self.items
        messages, octets = core.granted(self.destination)
        waiting = sum([len(each.body) + len(each.headers.raw) for each in items])
        most = self.most_octets
        few = messages is not None and 2 * (messages + len(items)) <= self.credit
        small = most is not None and octets is not None and 2 * (octets + waiting) <= most
        if self.closing or not (few or small) or core.is_stopping(self.destination):
            return
        core.top_up(self.destination, self.credit - len(items), None if most is None else max(0, most - waiting))
        self.session.client.driver.flush_soon()

    def _cancel(self) -> Pending[None] | None:
        session = self.session
        session.subscriptions.pop(self.destination, None)
        try:
            return session.core.call(MessageCancel(self.destination))
        except EndpointClosed:
            return None  # It ends with its session.


class Turns:
    """Callers of one session that wait for credit to send, in order, by exchange (message.flow)."""

    __slots__ = ("_client", "_core", "waiting")

    def __init__(self, client: RoutesClient, core: CoreSession) -> None:
        self._client = client
        self._core = core
        self.waiting: dict[str, deque[Pending[None]]] = {}

    async def wait(self, exchange: str, first: bool) -> None:
        """Wait for a turn to try, before all others or behind them."""
        client = self._client
        pending: Pending[None] = client.pending()
        waiting = self.waiting.setdefault(exchange, deque())
        if first:
            waiting.appendleft(pending)
        else:
            waiting.append(pending)
        try:
            # Credit is an answer: the connection must be read while somebody waits for it.
            await client.wait(pending)
        except BaseException:
            if pending in waiting:
                waiting.remove(pending)
                if not waiting and self.waiting.get(exchange) is waiting:
                    del self.waiting[exchange]
                client.complete(pending)
            else:
                self.next(exchange)
            client.nudge()
            raise

    def next(self, exchange: str) -> None:
        """Let the first in the queue try, if possible; it calls this again after sending."""
        waiting = self.waiting.get(exchange)
        if waiting is None:
            return
        messages, octets = self._core.credit(exchange)
        if messages == 0 or octets == 0:
            return
        pending = waiting.popleft()
        if not waiting:
            del self.waiting[exchange]
        self._client.complete(pending)
        self._client.nudge()

    def credit_changed(self, exchange: str) -> None:
        """Let somebody try after new credit for an exchange; credit for "" counts for others too."""
        for each in list(self.waiting) if exchange == "" else (exchange,):
            self.next(each)

    def end(self) -> None:
        """Wake everybody: the session has ended."""
        waiting, self.waiting = self.waiting, {}
        for queue in waiting.values():
            for pending in queue:
                self._client.complete(pending)


class SessionRoutes:
    """A session's routes: where its events go, and what its user's objects share.

    `subscriptions` are the inboxes by destination. `accepted` are messages to accept before the next octets are sent.
    `selected` is "tx" or "dtx" if the session works in transactions; `selecting` ends when somebody has selected it.
    `named` counts the subscriptions that got a name here. `leaving`: this end leaves the session. `closed` ends
    when it is detached, and `error` says why then.
    """

    __slots__ = (
        *("accepted", "client", "closed", "core", "error", "leaving", "named", "selected", "selecting"),
        *("streams", "subscriptions", "transaction_open", "turns"),
    )

    def __init__(self, client: RoutesClient, core: CoreSession, state: SessionState | None = None) -> None:
        self.client = client
        self.core = core
        self.subscriptions: dict[str, SubscriptionInbox] = {}
        self.streams: Streams = []
        self.turns = Turns(client, core)
        self.accepted: dict[int, None] = {}
        self.selected = ""
        self.selecting: Pending[None] | None = None
        self.transaction_open = False
        self.named = 0 if state is None else state.sending.next_id
        self.leaving = False
        self.closed: Pending[None] = client.pending()
        self.error: SessionEnded | None = None
        if state is not None:
            self.selected = state.selected
            for name in state.subscriptions:
                balance = state.granted.get(name)
                mode = WINDOW if balance is None else balance.flow_mode
                self.subscriptions[name] = SubscriptionInbox(self, name, mode, 0, None)

    # Calls.

    def check_open(self) -> None:
        """Raise the session's error if it has ended."""
        if self.error is not None:
            raise self.client.for_caller(self.error)

    def begin(self) -> None:
        """Prepare a command: earlier acceptances go first. Raises the session's error."""
        if self.error is not None:
            raise self.client.for_caller(self.error)
        if self.accepted:
            self.say_accepted()

    def guarded(self, step: Callable[..., _R], *args: Any, **fields: Any) -> _R:
        """Call the core; if the session has ended, raise its reason."""
        try:
            result = step(*args, **fields)
        except EndpointClosed:
            self.check_open()
            raise
        self.client.driver.flush_soon()
        return result

    def send(self, command: Command[_R], message: Message | None = None) -> Pending[_R]:
        """Send a command."""
        self.begin()
        try:
            handle = self.core.call(command, message)
        except EndpointClosed:
            self.check_open()
            raise
        if isinstance(command, (TxSelect, DtxSelect)):
            self.selected = _kind(command)
        self.client.driver.flush_soon()
        return handle

    def awaiting(self, handle: Pending[Any]) -> Pending[None]:
        """Return a pending that is done when a call has its answer, or when none will come on this connection.

        The call itself may be answered after the session is resumed. Give the pending back to `forget` when the wait is
        interrupted.
        """
        pending: Pending[None] = self.client.pending()
        if handle.waiters is None:
            handle.waiters = [pending]
        else:
            handle.waiters.append(pending)
        return pending

    def forget(self, handle: Pending[Any], pending: Pending[None]) -> None:
        """End a wait for a call that was interrupted."""
        if not pending.done:
            if handle.waiters is not None:
                handle.waiters.remove(pending)
            self.client.complete(pending)
            self.client.nudge()

    async def wait(self, handle: Pending[Any], seconds: float | None = None) -> None:
        """Wait until a call has its answer, or none will come on this connection; for `seconds` at most."""
        client = self.client
        pending = self.awaiting(handle)
        timer = None if seconds is None else client.after(seconds)
        if timer is not None:
            client.bound(timer, pending)
        try:
            await client.wait(pending)
        except BaseException:
            self.forget(handle, pending)
            raise
        finally:
            if timer is not None:
                client.stop(timer)

    def answer(self, handle: Pending[_R]) -> _R:
        """Return the answer of a call that was waited for. Raises its error, or that of the session."""
        if handle.done and handle.error is None:
            return handle.result
        if self.error is not None:
            raise self.client.for_caller(self.error)
        raise self.client.error_of(handle) if handle.done else self.client.closed_error()

    async def result(self, handle: Pending[_R], late: Callable[[_R], object] | None = None) -> _R:
        """Wait for a call's answer and return it. `late` gets it if the caller is interrupted before."""
        self.client.driver.flush_soon()
        if not handle.done:
            try:
                await self.wait(handle)
            except BaseException:
                if late is not None:
                    self.client.abandon(handle, late)
                raise
        return self.answer(handle)

    async def select(self, command: TxSelect | DtxSelect) -> None:
        """Select the session for transactions, once."""
        client = self.client
        self.check_open()
        while self.selecting is not None:
            await client.wait(self.selecting)
            self.check_open()
        if self.selected == _kind(command):
            return
        mine = self.selecting = client.pending()
        try:
            await self.result(self.send(command))
        finally:
            self.selecting = None
            client.complete(mine)
            client.nudge()

    def complete(self, command_id: int, result: Struct | None = None) -> None:
        """Complete a command of the server."""
        try:
            self.core.complete(command_id, result)
        except EndpointClosed:
            self.check_open()
            raise
        self.client.driver.flush_soon()

    # Settling.

    def accept_later(self, event: MessageReceived) -> bool:
        """Accept a message together with others, before the next octets are sent, in a single command. Return False if
        that is impossible.
        """
        number = event.command_id
        accepted, client = self.accepted, self.client
        if (
            self.selected
            or self.leaving
            or self.error is not None
            or number in accepted
            or not event.acquired
            or not client.core.is_open
            or not self.core.is_unsettled(number)
        ):
            return False
        if not accepted:
            client.collected.append(self)
        accepted[number] = None
        client.driver.flush_soon()
        return True

    def say_accepted(self) -> None:
        """Queue the acceptances collected by `accept_later`."""
        accepted = tuple(self.accepted)
        self.accepted.clear()
        if not accepted or self.core.report is not None:
            return
        try:
            self.core.accept(*accepted)
        except LimitExceeded:
            # Accept them as soon as there is room.
            self.accepted = dict.fromkeys(accepted)
            self.client.collected.append(self)

    def give_back(self, event: MessageReceived) -> None:
        """Release a message that nobody takes; one that can't be released is completed instead."""
        number = event.command_id
        if self.core.is_unsettled(number):
            self.core.release(number)
        else:
            self.core.complete(number)
        self.client.driver.flush_soon()

    # Events.

    def message_received(self, event: MessageReceived) -> None:
        """Take a message."""
        inbox = self.subscriptions.get(event.destination)
        if inbox is not None:
            inbox.put(event)
        elif self.core.report is None and not self.leaving:
            self.give_back(event)

    def command_received(self, event: CommandReceived | MessageBegun) -> None:
        """Take a command of the server."""
        if not offer(self.streams, event) and self.core.report is None:
            text = "nobody here takes commands of the server"
            self.core.fail(ExecutionError(_NOT_IMPLEMENTED, text), event.command_id)

    def resumed(self, event: Resumed) -> None:
        """Continue the session; messages and commands that nobody took come again."""
        for each in event.incomplete:
            if isinstance(each, MessageReceived):
                self.message_received(each)
            elif isinstance(each, (CommandReceived, MessageBegun)):
                self.command_received(each)

    # The end.

    def leave(self) -> None:
        """End the session for good."""
        if not self.leaving:
            self.leaving = True
            self.say_accepted()
            with suppress(EndpointClosed):  # It ends with its connection.
                self.core.close()
            self.client.driver.flush_soon()

    async def wait_closed(self) -> CloseReport:
        """Wait until the session is detached; return how it ended."""
        await self.wait_detached()
        report = self.core.report
        assert report is not None
        self.client.seen(report)
        return report

    async def wait_detached(self) -> None:
        """Do the same, for somebody who doesn't look how it ended."""
        client = self.client
        if not self.closed.done and client.sessions.get(self.core.channel) is self:
            client.driver.flush_soon()
            await client.wait(self.closed)

    def failed(self, report: CloseReport, cause: AmqpError) -> None:
        """Take an error of the session, whose detach follows."""
        try:
            self.core.detached_state()
        except (EndpointClosed, LocalProtocolError):
            resumable = False
        else:
            resumable = True  # Only this attachment has failed.
        self.end(session_ended(self.core.name, report, resumable), cause)

    def end(self, error: SessionEnded, cause: AmqpError | None) -> None:
        """End everything of the session; `cause` is the cause of the error."""
        if self.error is not None:
            return
        error.__cause__ = cause
        self.error = error
        if cause is not None:
            self.client.unseen[self.core.name] = error
        report = error.report
        quiet = cause is None and not error.resumable and report is not None and is_own_close(report)
        last = None if quiet else error
        for inbox in list(self.subscriptions.values()):
            inbox.session_ended(error, last)
        self.turns.end()
        end_streams(self.streams, last)


def session_ended(name: bytes, report: CloseReport, resumable: bool = False) -> SessionEnded:
    """Return the exception for the use of a session after its end (0-10 part 1 section 3.6)."""
    text = f"session {name.decode('utf-8', 'backslashreplace')!r}: {report}"
    if resumable:
        text += "; it can be resumed, see session.detached_state()"
    return SessionEnded(text, report, name, resumable)


def _kind(command: TxSelect | DtxSelect) -> str:
    return "tx" if isinstance(command, TxSelect) else "dtx"


__all__ = ["RoutesClient", "SessionRoutes", "SubscriptionInbox", "Turns", "session_ended"]
