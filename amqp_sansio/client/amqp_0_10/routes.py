"""The routes of a client's sessions and subscriptions of 0-10: where their events go, and who waits.

On a client that recovers they outlive their connection. A session that has a timeout is resumed by its name, where the
peer still has it: every command is executed once (0-10 part 1 section 3.5). Any other begins anew: what it has declared
is declared again, its subscriptions are made again, and its calls and messages in doubt are made again, or reported.
`Restoring` says when.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, TypeVar

from ...amqp_0_10 import CommandReceived, Connection, ExecutionError, MessageBegun, MessageReceived, Resumed
from ...amqp_0_10.codec.choices import BYTE, CREDIT, INFINITE, MESSAGE, WINDOW
from ...amqp_0_10.codec.records import DtxSelect, MessageCancel, MessageFlow, MessageSetFlowMode, TxRollback, TxSelect
from ...errors import (
    AmqpError,
    AnswerTimeout,
    ConsumerEnded,
    EndpointClosed,
    LimitExceeded,
    LocalProtocolError,
    SessionEnded,
    StaleDelivery,
    TransactionFailed,
)
from ...events import Again, By, CloseReport, Pending
from ..driving import BaseClient, end_streams, is_own_close, offer
from ..inbox import Inbox, Streams
from ..recovery import InDoubt, Repeated, Steps, in_doubt

if TYPE_CHECKING:
    from ...amqp_0_10 import Message, SessionState
    from ...amqp_0_10 import Session as CoreSession
    from ...amqp_0_10.codec.record import Command
    from ...amqp_0_10.codec.structs import Struct


_R = TypeVar("_R")

_NOT_IMPLEMENTED: Final = 540
OUTCOME: Final = "outcome of a message.transfer"
"""What a publisher waits for, for the error of one that has waited too long."""
_LEAST_LIMIT: Final = 1000
WHILE_LOST: Final = CloseReport(By.LOCAL, 200, "closed while the connection was lost")
_OVER: Final = frozenset({"message.flush", "message.stop", "message.cancel", "message.subscribe", "tx.rollback"})
"""Commands that nobody makes again: the new session has made them, or the end of the old one."""
_NOT_AGAIN: Final = ("tx.", "dtx.")
"""The classes of commands that end with their session: nobody knows whether they were executed."""
_DECLARING: Final = ("exchange.declare", "queue.declare", "exchange.bind")


class Recall(Repeated["SessionRoutes"]):
    """A command that is made again if its session is lost; `original` is the caller's pending then."""

    __slots__ = ("command", "message")

    def __init__(self, state: SessionRoutes, command: Command[Any], message: Message | None = None) -> None:
        super().__init__(state)
        # The one that was sent.
        self.command = command
        # The content of a command that isn't a transfer; None for most.
        self.message = message

    def answered(self, pending: Pending[Any]) -> None:
        """Note what was declared, and tell the caller."""
        self.state.note(self.command)
        self.complete(pending.result)

    def lost(self, pending: Pending[Any]) -> bool:
        """Wait for the next connection, unless only the caller knows what to do."""
        name, client = self.command.NAME, self.state.client
        if name not in _OVER and name.startswith(_NOT_AGAIN):
            return False
        self.adopt(pending)
        client.redo.append(self)
        return True

    def redo(self) -> None:
        """Make the call in the session of today."""
        if self.command.NAME in _OVER:
            self.complete(None)
            return
        pending = self.state.core.call(self.command, self.message)
        pending.again = self


class RoutesClient(BaseClient[Connection]):
    """A client of 0-10, as its sessions see it."""

    def __init__(self, core: Connection) -> None:
        super().__init__(core)
        # By channel: those that are attached, or being attached.
        self.sessions: dict[int, SessionRoutes] = {}
        # Sessions with messages to accept before octets are sent.
        self.collected: list[SessionRoutes] = []
        # Those of the lost connection, to attach again.
        self.lost_sessions: list[SessionRoutes] = []
        # Messages to be reported as in doubt once all is restored.
        self.doubts: list[InDoubt] = []
        # How many messages were sent again.
        self.resent = 0

    def end_session(self, state: SessionRoutes, error: SessionEnded, cause: AmqpError | None) -> None:
        """End everything of a session that isn't attached any more."""
        state.end(error, cause)
        # Answers may come on another connection, but not on this one.
        for pending in state.core.pending:
            self._late.pop(pending, None)
            self.done(pending)
        self.complete(state.closed)


class SubscriptionInbox(Inbox[MessageReceived]):
    """The messages of one subscription that came and nobody has taken, and what became of it."""

    __slots__ = (
        *("aside", "closing", "command", "credit", "destination", "failure", "flow_mode", "granted", "most_octets"),
        *("old", "session", "shown_as"),
    )

    def __init__(
        self,
        session: SessionRoutes,
        destination: str,
        flow_mode: int,
        credit: int,
        most_octets: int | None,
        command: Command[None] | None = None,
    ) -> None:
        super().__init__(session.client, max(_LEAST_LIMIT, 2 * credit))
        # The routes that its messages come through.
        self.session = session
        # Its name, which the peer's transfers have.
        self.destination = destination
        # CREDIT or WINDOW (message.set-flow-mode).
        self.flow_mode = flow_mode
        # Messages that are kept coming; 0: the user grants credit.
        self.credit = credit
        # The octets of these; None: any number.
        self.most_octets = most_octets
        # Whether this end cancels it.
        self.closing = False
        # Why it ended otherwise.
        self.failure: EndpointClosed | None = None
        # The user's object for it, which `Session.subscriptions` gives out.
        self.shown_as: Any = None
        # The message.subscribe that made it: a session that begins anew sends it again.
        self.command = command
        # While its session is lost: the messages that nobody has taken, which a resumed session still has.
        self.aside: list[MessageReceived] = []
        # While its session is lost: the credit that was left, messages and octets.
        self.granted: tuple[int | None, int | None] = (0, 0)
        # How many of the first items are from a session that is gone: they can't be completed.
        self.old = 0

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

    def complete(self, event: MessageReceived) -> None:
        """Complete a message that its user takes; in window mode this returns the credit."""
        if self.old:
            self.old -= 1
        else:
            self.session.complete(event.command_id)

    def lost(self) -> None:
        """Note that the connection is lost: the session may bring the messages again that nobody has taken."""
        self.aside += self.clear()
        self.old = 0
        if not self.session.is_lost:
            self.granted = self.session.core.granted(self.destination)

    def resumed(self) -> None:
        """Forget the messages that come again with the resumed session."""
        self.aside.clear()

    def replaced(self) -> None:
        """Keep only the messages that needn't be accepted: all others will be delivered again."""
        aside, self.aside = self.aside, []
        kept = [each for each in aside if not each.accepts]
        self.old = len(kept)
        for each in kept:
            self.put(each)

    def start(self) -> Pending[None]:
        """Subscribe in a new session, and grant the credit that there was; return the call. Raises AmqpError."""
        core, name = self.session.core, self.destination
        assert self.command is not None
        starting = core.call(self.command)
        if self.flow_mode == CREDIT:
            core.call(MessageSetFlowMode(name, CREDIT), sync=False)
        if self.credit:
            core.top_up(name, self.credit, self.most_octets)
        elif self.granted[0] != 0:
            for unit, value in zip((MESSAGE, BYTE), self.granted, strict=True):
                if value != 0:
                    core.call(MessageFlow(name, unit, INFINITE if value is None else value), sync=False)
        return starting

    def missing(self, text: str) -> None:
        """End it, because the peer refuses to make it again."""
        name = self.destination
        self.session.subscriptions.pop(name, None)
        self.session.left_by(self)
        self.failure = ConsumerEnded(f"subscription {name!r}: {text}", CloseReport(By.REMOTE, 0, text), name)
        self.end(self.failure)

    def _cancel(self) -> Pending[None] | None:
        session = self.session
        session.subscriptions.pop(self.destination, None)
        session.left_by(self)
        if session.is_lost:
            return None
        try:
            return session.core.call(MessageCancel(self.destination))
        except EndpointClosed:
            return None  # It ends with its session.


class Resending(Steps):
    """The turn of the messages to an exchange that are sent again: before all callers."""

    def __init__(self, turns: Turns, exchange: str) -> None:
        # The session's, in which this is one.
        self.turns = turns
        # Where the messages go.
        self.exchange = exchange

    def answered(self, pending: Pending[Any]) -> None:
        """Send as many as there is credit for, or end them with their session."""
        self.turns.resend(self.exchange)


class Turns:
    """Callers of one session that wait for credit to send, in order, by exchange (message.flow)."""

    __slots__ = ("_client", "_session", "resending", "waiting")

    def __init__(self, session: SessionRoutes) -> None:
        # Makes and ends what they wait for.
        self._client = session.client
        # Whose credit it is.
        self._session = session
        # By exchange: the first one has its turn when there is credit.
        self.waiting: dict[str, deque[Pending[None]]] = {}
        # By exchange: messages to send again as soon as there is credit, in one turn before all callers.
        self.resending: dict[str, deque[Again]] = {}

    def resend_later(self, exchange: str, again: Again) -> None:
        """Send a message again when there is credit."""
        if exchange not in self.resending:
            self.resending[exchange] = deque()
            turn: Pending[None] = self._client.pending()
            turn.again = Resending(self, exchange)
            self.waiting.setdefault(exchange, deque()).appendleft(turn)
        self.resending[exchange].append(again)

    def resend(self, exchange: str) -> None:
        """Send the messages in their turn: what has no credit even now waits for the next."""
        left, error = self.resending.pop(exchange, deque()), self._session.error
        while left and exchange not in self.resending:
            again = left.popleft()
            if error is None:
                self._client.redo_call(again)
            else:
                again.give_up(error)
        if left:
            self.resending[exchange] += left
        self.next(exchange)

    def withdraw(self) -> list[Again]:
        """Take what waits to be sent again."""
        resending, self.resending = self.resending, {}
        return [again for each in resending.values() for again in each]

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
            await client.within(client.outcome_limit, pending, f"credit for exchange {exchange!r}")
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
        messages, octets = self._session.core.credit(exchange)
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

    With recovery it lives on when its connection is lost, with another session of the core.
    """

    __slots__ = (
        *("accepted", "asked", "branches", "broken", "client", "closed", "core", "declared", "epoch", "error"),
        *("first_opening", "given_up", "is_lost", "leaving", "named", "opening", "selected", "selecting"),
        *("starting", "streams", "subscriptions", "transaction_open", "turns"),
    )

    def __init__(
        self,
        client: RoutesClient,
        core: CoreSession,
        state: SessionState | None = None,
        asked: tuple[str | bytes | None, int | None] | None = None,
    ) -> None:
        # Whose session it is.
        self.client = client
        # The session of this connection; recovery puts another in its place.
        self.core = core
        # The inboxes by destination.
        self.subscriptions: dict[str, SubscriptionInbox] = {}
        # The inboxes of users that read its events.
        self.streams: Streams = []
        # Who waits for credit to send.
        self.turns = Turns(self)
        # Messages to accept before the next octets are sent, by command-id; a dict for its order.
        self.accepted: dict[int, None] = {}
        # "tx" or "dtx" if the session works in transactions, else "".
        self.selected = ""
        # Ends when somebody has selected it; None while nobody does.
        self.selecting: Pending[None] | None = None
        # Whether a tx transaction is open: a session has one at a time.
        self.transaction_open = False
        # How many subscriptions got a name here; a resumed session begins where no name repeats.
        self.named = 0 if state is None else state.sending.next_id
        # Whether this end leaves the session.
        self.leaving = False
        # Whether this end took it as over before the peer had answered its detach.
        self.given_up = False
        # Ends when it is detached for good.
        self.closed: Pending[None] = client.pending()
        # Why it ended, once it has.
        self.error: SessionEnded | None = None
        # Name and timeout to attach it again with; None: it isn't.
        self.asked = None if client.recovery is None else asked
        # The commands that made what is declared now, by what they declare: a session that begins anew sends them
        # again.
        self.declared: dict[tuple[object, ...], Command[Any]] = {}
        # Counts the peer's sessions: what came in an earlier one can't be settled.
        self.epoch = 0
        # How many branches of distributed transactions are started.
        self.branches = 0
        # Whether its connection is lost, and it isn't attached again.
        self.is_lost = False
        # Whether it begins anew, and not all is declared again.
        self.starting = False
        # Whether a transaction was under way when the connection was lost: it fails at its end.
        self.broken = False
        # The caller who waits for its first attachment, through a loss.
        self.opening: Pending[Any] | None = None
        # The pending of that attachment in the core.
        self.first_opening = core.opening
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
        if self.broken:
            raise TransactionFailed(
                "the connection was lost, and the transaction with it; leave its context, and repeat"
            )
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
        self._check_room(command)
        try:
            pending = self.core.call(command, message)
        except EndpointClosed:
            self.check_open()
            raise
        if self.asked is not None:
            pending.again = Recall(self, command, message)
        if isinstance(command, (TxSelect, DtxSelect)):
            self.selected = _kind(command)
        self.client.driver.flush_soon()
        return pending

    def awaiting(self, call: Pending[Any]) -> Pending[None]:
        """Return a pending that is done when a call has its answer, or when none will come on this connection.

        The call itself may be answered after the session is resumed. Give the pending back to `forget` when the wait is
        interrupted.
        """
        pending: Pending[None] = self.client.pending()
        if call.waiters is None:
            call.waiters = [pending]
        else:
            call.waiters.append(pending)
        return pending

    def forget(self, call: Pending[Any], pending: Pending[None]) -> None:
        """End a wait for a call that was interrupted."""
        if not pending.done:
            if call.waiters is not None:
                call.waiters.remove(pending)
            self.client.complete(pending)
            self.client.nudge()

    async def wait(self, call: Pending[Any], seconds: float | None = None) -> bool:
        """Wait until a call has its answer, or none will come on this connection; for `seconds` at most. Return whether
        they are over.
        """
        client = self.client
        pending = self.awaiting(call)
        timer = None if seconds is None else client.after(seconds)
        if timer is not None:
            client.bound(timer, pending)
        try:
            await client.wait(pending)
        except BaseException:
            self.forget(call, pending)
            raise
        finally:
            is_over = timer is not None and timer.done
            if timer is not None:
                client.stop(timer)
        return is_over and not call.done

    async def within(self, seconds: float | None, call: Pending[Any], what: str) -> None:
        """Do the same; the time begins anew with each connection. Raises AnswerTimeout, which says `what` wasn't
        answered.
        """
        client = self.client
        while True:
            core = client.core
            if not await self.wait(call, seconds) or self.error is not None:
                return
            if client.restored is None and client.core is core:
                assert seconds is not None
                raise client.unanswered(what, seconds)

    async def decided(self, sent: Pending[Any]) -> None:
        """Wait until it is known what becomes of a message that was sent, as `BaseClient.decided` does."""
        limit = self.client.outcome_limit
        if limit is None:
            pending = self.awaiting(sent)
            try:
                await self.client.wait(pending)
            except BaseException:
                self.forget(sent, pending)
                raise
            return
        try:
            await self.within(limit, sent, OUTCOME)
        except AnswerTimeout as error:
            raise in_doubt(sent, error) from None

    def answer(self, pending: Pending[_R]) -> _R:
        """Return the answer of a call that was waited for. Raises its error, or that of the session."""
        if pending.done and pending.error is None:
            return pending.result
        if self.error is not None:
            raise self.client.for_caller(self.error)
        raise self.client.error_of(pending) if pending.done else self.client.closed_error()

    async def result(
        self,
        pending: Pending[_R],
        late: Callable[[_R], object] | None = None,
        what: str = "the command",
        seconds: float | None = None,
    ) -> _R:
        """Wait for a call's answer and return it. `late` gets it if the caller is interrupted before.

        Raises AnswerTimeout after `seconds`, or else `answer_timeout`, which says `what` wasn't answered.
        """
        self.client.driver.flush_soon()
        if not pending.done:
            try:
                await self.within(self.client.answer_limit if seconds is None else seconds, pending, what)
            except BaseException:
                if late is not None:
                    self.client.abandon(pending, late)
                raise
        return self.answer(pending)

    async def select(self, command: TxSelect | DtxSelect) -> None:
        """Select the session for transactions, once."""
        client = self.client
        self.check_open()
        while self.selecting is not None:
            await client.within(client.answer_limit, self.selecting, f"{command.NAME} of another task")
            self.check_open()
        if self.selected == _kind(command):
            return
        mine = client.pending()
        self.selecting = mine
        try:
            await self.result(self.send(command), None, command.NAME)
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
            or self.broken
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
        if self.core.report is not None and self.asked is not None:
            return  # They are accepted when the session is resumed.
        self.accepted.clear()
        if not accepted or self.core.report is not None:
            return
        try:
            self.core.accept(*accepted)
        except LimitExceeded:
            # Accept them as soon as there is room.
            self.accepted = dict.fromkeys(accepted)
            self.client.collected.append(self)
        except EndpointClosed:
            if self.asked is not None:
                self.accepted = dict.fromkeys(accepted)

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
        for inbox in self.subscriptions.values():
            inbox.resumed()
        for each in event.incomplete:
            if isinstance(each, MessageReceived):
                self.message_received(each)
            elif isinstance(each, (CommandReceived, MessageBegun)):
                self.command_received(each)

    # The end.

    @property
    def is_overdue(self) -> bool:
        """Whether it was given up, and the peer still owes its detach."""
        return self.given_up and self.client.sessions.get(self.core.channel) is self

    def give_up(self, report: CloseReport) -> None:
        """Take it as over although the peer hasn't answered; it is ended for the peer too."""
        self.leave()
        self.given_up = True
        self.client.end_session(self, session_ended(self.core.name, report), None)

    def leave(self) -> None:
        """End the session for good."""
        if self.is_lost and self.core.report is not None and self.error is None:
            self.client.end_session(self, session_ended(self.core.name, WHILE_LOST), None)
        elif not self.leaving:
            self.leaving = True
            self.say_accepted()
            with suppress(EndpointClosed):  # It ends with its connection.
                self.core.close()
            self.client.driver.flush_soon()

    async def wait_closed(self) -> CloseReport:
        """Wait until the session is detached; return how it ended."""
        await self.wait_detached()
        report = self.report
        assert report is not None
        self.client.seen(report)
        return report

    async def wait_detached(self) -> None:
        """Do the same, for somebody who doesn't look how it ended."""
        client = self.client
        if not self.closed.done and (client.sessions.get(self.core.channel) is self or self.is_lost):
            client.driver.flush_soon()
            await client.until(self.closed)

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
        opening, self.opening = self.opening, None
        if opening is not None:
            self.client.fail(opening, error)

    # Recovery.

    @property
    def report(self) -> CloseReport | None:
        """Why it ended, once it has."""
        if self.error is not None:
            return self.error.report
        return None if self.client.restored is not None else self.core.report

    def note(self, command: Any) -> None:
        """Note what a command that was executed has declared, or deleted."""
        name, declared = command.NAME, self.declared
        if name in ("queue.declare", "exchange.declare"):
            if not command.passive:
                declared[name, getattr(command, name.partition(".")[0])] = command
        elif name == "exchange.bind":
            declared[name, command.queue, command.exchange, command.binding_key] = command
        elif name == "exchange.unbind":
            declared.pop(("exchange.bind", command.queue, command.exchange, command.binding_key), None)
        elif name in ("queue.delete", "exchange.delete"):
            kind = name.partition(".")[0]
            self._forget(kind, getattr(command, kind))

    def left_by(self, inbox: SubscriptionInbox) -> None:
        """Note that a subscription has ended: an auto-delete queue ends with the last one."""
        queue = getattr(inbox.command, "queue", None)
        sessions = self.client.sessions.values()
        if any(_queue_of(each) == queue for session in sessions for each in session.subscriptions.values()):
            return
        for session in {*sessions, self}:
            declared = session.declared.get(("queue.declare", queue))
            if getattr(declared, "auto_delete", False):
                session._forget("queue", queue)

    def _forget(self, kind: str, gone: object) -> None:
        """Forget a queue or exchange, and its bindings."""
        self.declared.pop((f"{kind}.declare", gone), None)
        place = 1 if kind == "queue" else 2
        for key in [each for each in self.declared if each[0] == "exchange.bind" and each[place] == gone]:
            del self.declared[key]

    def stale(self) -> StaleDelivery:
        """Return the error for a message of an earlier session that can't be settled any more."""
        text = "the message came in a session that was lost since; it will come again"
        return StaleDelivery(f"session {self.core.name!r}: {text}", self.core.report)

    def lost(self) -> bool:
        """Note that the connection is lost, and will be opened again; return whether the session is attached again."""
        core = self.core
        if self.asked is None or self.leaving or self.error is not None:
            report = WHILE_LOST if self.leaving else core.report or self.client.core.failure
            assert report is not None
            self.client.end_session(self, session_ended(core.name, report), None)
            return False
        opening = self.first_opening
        if opening is not None and opening.error is not None and not self.is_lost:
            self.client.reopen(opening)
            self.opening = opening
        if not self.is_lost:
            self.broken = self.broken or self.transaction_open or self.branches > 0
        for inbox in self.subscriptions.values():
            inbox.lost()
        # Those that wait for credit are behind those that are in doubt once more.
        self.client.redo += self.turns.withdraw()
        self.is_lost = True
        return True

    def restored(self) -> None:
        """Note that it is as it was."""
        self.is_lost = False
        self.starting = False

    def attach(self, resume: bool) -> Pending[Any]:
        """Attach it again, as it was or as a new one of that name; return the call. Raises AmqpError."""
        assert self.asked is not None
        core = self.client.core
        if resume and not self.starting:
            self.core = core.resume_session(self.core.detached_state(), force=True)
        else:
            self.core = core.open_session(self.asked[0], force=True)
            self.starting = True
        self.client.sessions[self.core.channel] = self
        opening = self.core.opening
        assert opening is not None
        return opening

    def go_on(self, resumed: bool) -> None:
        """Go on in the session that is attached again; a transaction under way is lost in any case."""
        assert self.asked is not None
        left = [each for each in self.accepted if resumed and self.core.is_unsettled(each)]
        self.accepted.clear()
        if left and not self.broken:
            self.core.accept(*left)
        if resumed:
            if self.broken and self.selected == "tx":
                self.core.call(TxRollback())
        else:
            self.epoch += 1
            self.selected = ""
            for inbox in self.subscriptions.values():
                inbox.replaced()
            if self.asked[1] != 0:
                self.core.request_timeout(self.asked[1])
        opening, self.opening = self.opening, None
        if opening is not None:
            self.client.answer(opening, self.core)

    def _check_room(self, command: Any) -> None:
        """Forget what is likeliest to be gone, or else the oldest, if there is no room for a declaration."""
        recovery = self.client.recovery
        if recovery is None or command.NAME not in _DECLARING or self.asked is None:
            return
        count, most = sum(len(each.declared) for each in self.client.sessions.values()), recovery.policy.declared
        if count < most or not self.declared:
            return
        used = {_queue_of(each) for each in self.subscriptions.values()}
        fleeting = (key for key, each in self.declared.items() if _is_fleeting(each) and key[1] not in used)
        key = next(fleeting, None) or next(iter(self.declared))
        text = f"{most} exchanges, queues and bindings are kept for recovery: {key[1]!r} is forgotten"
        self.client.note(f"{text}, and not declared again after a loss; see RecoveryPolicy.declared", warns=True)
        if key[0] == "exchange.bind":
            del self.declared[key]
        else:
            self._forget(str(key[0]).partition(".")[0], key[1])


def _queue_of(inbox: SubscriptionInbox) -> object:
    return getattr(inbox.command, "queue", None)


def _is_fleeting(command: Any) -> bool:
    """Whether a command declares a queue that the server ends by itself."""
    arguments: Any = getattr(command, "arguments", None) or ()
    is_queue = command.NAME == "queue.declare"
    return is_queue and bool(command.auto_delete or command.exclusive or "x-expires" in arguments)


def session_ended(name: bytes, report: CloseReport, resumable: bool = False) -> SessionEnded:
    """Return the exception for the use of a session after its end (0-10 part 1 section 3.6)."""
    text = f"session {name.decode('utf-8', 'backslashreplace')!r}: {report}"
    if resumable:
        text += "; it can be resumed, see session.detached_state()"
    return SessionEnded(text, report, name, resumable)


def _kind(command: TxSelect | DtxSelect) -> str:
    return "tx" if isinstance(command, TxSelect) else "dtx"


__all__ = [
    "OUTCOME",
    "WHILE_LOST",
    "Recall",
    "RoutesClient",
    "SessionRoutes",
    "SubscriptionInbox",
    "Turns",
    "session_ended",
]
