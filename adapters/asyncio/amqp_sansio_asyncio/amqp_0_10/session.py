"""Sessions of a 0-10 client: where commands are sent, messages published and received (0-10 part 1
section 3, classes 2 to 6).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, Literal, TypeVar, overload

from amqp_sansio.amqp_0_10 import (
    EXPLICIT,
    PRE_ACQUIRED,
    WINDOW,
    CommandReceived,
    DtxRecover,
    DtxSelect,
    ExecutionError,
    Message,
    MessageBegun,
    MessageReceived,
    MessageSubscribe,
    TxSelect,
)
from amqp_sansio.errors import (
    AmqpError,
    EndpointClosed,
    LimitExceeded,
    LocalProtocolError,
    SessionEnded,
)
from amqp_sansio.events import CloseReport, Event

from ..feed import EventStream, Feed, Streams
from ..opening import Opening
from .ends import again, session_ended
from .publishing import Publisher, SentMessage, id_of, is_outcome, routed
from .subscription import ReceivedMessage, Subscription, open_subscription
from .transaction import Branch, ZeroTenTransaction

if TYPE_CHECKING:
    from amqp_sansio.amqp_0_10 import (
        Acquired,
        Command,
        Resumed,
        SequenceSet,
        SessionClosed,
        SessionState,
        Struct,
        Xid,
    )
    from amqp_sansio.amqp_0_10 import Session as CoreSession
    from amqp_sansio.events import Handle

    from .driver import ZeroTenDriver

_R = TypeVar("_R")
_E = TypeVar("_E", bound=Event)

_NOT_IMPLEMENTED: Final = 540


class ZeroTenSession:
    """One session, made by `connection.open_session()` or `resume_session()`. `close` it, or leave
    its context; its subscriptions end with it.

    When the server can't execute a command it ends the session: who waits gets SessionEnded, with
    the `code` and `condition` of execution.exception. When the connection is lost and the session
    has a `timeout`, SessionEnded is `resumable`.
    """

    def __init__(
        self, driver: ZeroTenDriver, core: CoreSession, state: SessionState | None = None
    ) -> None:
        self.driver: Final = driver
        self.core: Final = core
        self.subscriptions: Final[dict[str, Subscription]] = {}
        self.streams: Final[Streams] = []
        self.publisher: Final = Publisher(self)
        self.transaction_open = False
        self._accepted: dict[int, None] = {}
        self._selected = ""
        self._selecting = asyncio.Lock()
        self._leaving = False
        self._error: SessionEnded | None = None
        if state is not None:
            self._selected = state.selected
            for name in state.subscriptions:
                balance = state.granted.get(name)
                mode = WINDOW if balance is None else balance.flow_mode
                self.subscriptions[name] = Subscription(self, name, mode, 0, None)

    @property
    def name(self) -> bytes:
        """Its name, by which the user's sessions are told apart."""
        return self.core.name

    @property
    def channel(self) -> int:
        """The channel that it is attached to."""
        return self.core.channel

    @property
    def is_open(self) -> bool:
        """Whether commands can be sent on it."""
        return self.core.is_attached and not self._leaving

    @property
    def timeout(self) -> int | None:
        """For how many seconds both ends keep it when it's detached; None: for ever, 0: not."""
        return self.core.timeout

    @property
    def report(self) -> CloseReport | None:
        """Why it ended, once it has."""
        return self.core.report

    @property
    def pending(self) -> Mapping[int, SentMessage]:
        """The publishes and other commands that wait for an outcome or answer, by their numbers;
        after `resume_session` also those of earlier attachments.
        """
        found: dict[int, Handle[Any]] = {}
        for handle in self.core.pending:
            # A message that waits for its outcome may be executed already; the outcome says more.
            if is_outcome(handle) or id_of(handle) not in found:
                found[id_of(handle)] = handle
        return {number: SentMessage(self, handle, True) for number, handle in found.items()}

    @property
    def unsettled(self) -> tuple[int, ...]:
        """The numbers of the messages that were taken here, also before the session was resumed, and
        wait for `accept`, `reject` or `release`.
        """
        aside = {*self._accepted, *self.core.incomplete}
        return tuple([each for each in self.core.unsettled if each not in aside])

    # Commands.

    async def call(self, command: Command[_R], message: Message | None = None) -> _R:
        """Send a command and return its result once the server has executed it; None for those
        without one.

        `message` is what file.stage, stream.publish and others carry. Raises SessionEnded when the
        server can't execute it, LocalProtocolError for what isn't legal now, LimitExceeded,
        CodecError.

        >>> from amqp_sansio.amqp_0_10 import QueueDeclare, QueueQuery
        >>> async def example(session: ZeroTenSession) -> int | None:
        ...     await session.call(QueueDeclare("jobs", durable=True))
        ...     return (await session.call(QueueQuery("jobs"))).message_count
        """
        if message is not None:
            await self.publisher.pace()
        return await self.driver.wait(self.send(command, message))

    async def sync(self) -> None:
        """Wait until the server has executed all that was sent before (execution.sync). Raises
        SessionEnded.
        """
        self._begin()
        await self.driver.wait(self.publisher.sync())

    @overload
    async def publish(
        self,
        message: Message | bytes,
        exchange: str = "",
        routing_key: str | None = None,
        *,
        accept_mode: int = EXPLICIT,
        wait: Literal[True] = True,
    ) -> Any: ...
    @overload
    async def publish(
        self,
        message: Message | bytes,
        exchange: str = "",
        routing_key: str | None = None,
        *,
        accept_mode: int = EXPLICIT,
        wait: Literal[False],
    ) -> SentMessage: ...
    async def publish(
        self,
        message: Message | bytes,
        exchange: str = "",
        routing_key: str | None = None,
        *,
        accept_mode: int = EXPLICIT,
        wait: bool = True,
    ) -> Any:
        """Send a message to an exchange ("": the default one, whose routing keys are queues) and
        return its outcome: Accepted, Rejected or Released (message.transfer).

        `bytes` are the body of a message without properties. `routing_key` takes the place of the
        message's own, None leaves it. With the accept-mode NONE it waits for the execution only,
        and returns None. It waits where the server reads too slowly or gives no credit; with
        `wait=False` not for the outcome: the result is a `SentMessage` to await later. A publish
        that is cancelled may have been sent. Raises SessionEnded when the session ends,
        LocalProtocolError and CodecError for what can't be sent.

        >>> async def example(session: ZeroTenSession) -> None:
        ...     outcome = await session.publish(b"hello", routing_key="jobs")
        ...     later = [await session.publish(b"more", "", "jobs", wait=False) for _ in range(9)]
        ...     outcomes = [await sent for sent in later]
        """
        whole = routed(message, routing_key)
        self.check_open()
        handle = await self.publisher.send(whole, exchange, accept_mode, wait)
        if not wait:
            return SentMessage(self, handle, True)
        return await self.driver.wait(handle)

    def subscribe(
        self,
        queue: str,
        *,
        destination: str | None = None,
        accept_mode: int = EXPLICIT,
        acquire_mode: int = PRE_ACQUIRED,
        credit: int = 100,
        octets: int | None = None,
        flow_mode: int = WINDOW,
        exclusive: bool = False,
        arguments: Mapping[str, Any] | None = None,
    ) -> Opening[Subscription]:
        """Subscribe to a queue: `await` it, or use it as an async context that cancels the
        subscription (message.subscribe).

        `destination` is its name in this session; None takes one that is free. With the
        accept-mode NONE nothing is to be accepted, with the acquire-mode NOT_ACQUIRED messages stay
        in the queue until they are acquired. At most `credit` messages of `octets` octets (None:
        any number) wait here; 0 leaves the credit to you. In the flow mode WINDOW taking a message
        gives its credit back, in CREDIT new credit is given when half is used. Raises SessionEnded
        when the server refuses.

        >>> async def example(session: ZeroTenSession) -> None:
        ...     async with session.subscribe("jobs", credit=10) as subscription:
        ...         async for received in subscription:
        ...             await received.accept()
        """

        def command(name: str) -> MessageSubscribe:
            return MessageSubscribe(
                queue, name, accept_mode, acquire_mode, exclusive, None, None, arguments
            )

        return Opening(
            lambda: open_subscription(self, destination, command, flow_mode, credit, octets)
        )

    async def accept(self, *messages: ReceivedMessage | int) -> None:
        """Accept messages, or those with these numbers, in one command (message.accept).

        >>> async def example(session: ZeroTenSession, subscription: Subscription) -> None:
        ...     found = [await subscription.fetch(timeout=0.01) for _ in range(10)]
        ...     await session.accept(*[each for each in found if each is not None])
        """
        if messages:
            self._begin()
            self._guarded(lambda: self.core.accept(*_ids(messages)))

    async def reject(self, *messages: ReceivedMessage | int, code: int = 0, text: str = "") -> None:
        """Refuse messages for good (message.reject); see `ReceivedMessage.reject`."""
        if messages:
            self._begin()
            self._guarded(lambda: self.core.reject(*_ids(messages), code=code, text=text or None))

    async def release(
        self, *messages: ReceivedMessage | int, set_redelivered: bool = False
    ) -> None:
        """Give messages back, to be delivered again (message.release)."""
        if messages:
            self._begin()
            ids = _ids(messages)
            self._guarded(lambda: self.core.release(*ids, set_redelivered=set_redelivered))

    async def acquire(self, *messages: ReceivedMessage | int) -> SequenceSet | tuple[()]:
        """Take messages that came without being acquired; the numbers of those that were still
        there (message.acquire).
        """
        if not messages:
            return ()
        self._begin()
        result: Acquired = await self.driver.wait(
            self._guarded(lambda: self.core.acquire(*_ids(messages)))
        )
        return result.transfers or ()

    # Transactions.

    def transaction(self) -> ZeroTenTransaction:
        """A transaction, as an async context: it's committed at the end, and rolled back when an
        exception leaves it (class tx).

        It holds all that is published and accepted on the session, which is selected for
        transactions the first time: from then on also what is done outside of such a context counts
        only when the next one commits.

        >>> async def example(session: ZeroTenSession, subscription: Subscription) -> None:
        ...     async with session.transaction():
        ...         received = await subscription.fetch()
        ...         if received is not None:
        ...             await session.publish(received.message, "answers")
        ...             await received.accept()
        """
        return ZeroTenTransaction(self)

    def branch(self, xid: Xid, *, join: bool = False, resume: bool = False) -> Branch:
        """A branch of a distributed transaction (class dtx): as an async context the session works
        for it; its other methods can be called on any session of the server.

        >>> async def example(session: ZeroTenSession, xid: Xid) -> None:
        ...     async with session.branch(xid) as branch:
        ...         await session.publish(b"hello", routing_key="jobs")
        ...     await branch.prepare()
        ...     await branch.commit()
        """
        return Branch(self, xid, join=join, resume=resume)

    async def recover(self) -> list[Xid]:
        """The branches that are prepared, or completed heuristically (dtx.recover)."""
        return list((await self.call(DtxRecover())).in_doubt or ())

    # Commands of the server.

    @overload
    def events(self, *, limit: int = 1000) -> EventStream[Event]: ...
    @overload
    def events(self, *kinds: type[_E], limit: int = 1000) -> EventStream[_E]: ...
    def events(self, *kinds: type[Any], limit: int = 1000) -> EventStream[Any]:
        """What else happens on the session: CreditChanged, CommandReceived and MessageBegun (answer
        them with `complete` or `fail`) and so on; only `kinds`, when given.

        While nobody reads CommandReceived or MessageBegun, such commands are refused, which ends
        the session.
        """
        feed: Feed[Any] = Feed(self.driver, limit, True)
        if self._error is not None:
            feed.end(again(self._error))
        self.streams.append((kinds or (Event,), feed))
        return EventStream(feed, self.streams)

    def complete(self, command_id: int, result: Struct | None = None) -> None:
        """Say that a command of the server is executed. Raises LocalProtocolError for one that
        doesn't wait for it, SessionEnded.
        """
        self._guarded(lambda: self.core.complete(command_id, result))

    def fail(self, error: ExecutionError, command_id: int | None = None) -> None:
        """Refuse a command of the server, which ends the session (execution.exception)."""
        self._guarded(lambda: self.core.fail(error, command_id))

    # Its end.

    async def request_timeout(self, seconds: int | None) -> int | None:
        """Ask for the session to be kept for so long when it's detached, None: for ever; what is
        granted (session.request-timeout).
        """
        self._begin()
        return await self.driver.wait(self._guarded(lambda: self.core.request_timeout(seconds)))

    async def detach(self) -> SessionState:
        """Leave the channel without ending the session, and return the state to go on with:
        `connection.resume_session(state)`. Who waits gets SessionEnded.

        Raises LocalProtocolError for a session without `timeout`, of which nothing would be kept.

        >>> async def example(session: ZeroTenSession, state: SessionState) -> None:
        ...     if session.timeout != 0:
        ...         state = await session.detach()
        """
        self.check_open()
        if self.timeout == 0:
            raise LocalProtocolError("a session with the timeout 0 can't be resumed; close it")
        self._begin()
        self._leaving = True
        self._guarded(self.core.detach)
        await self._wait_ended()
        return self.detached_state()

    def detached_state(self) -> SessionState:
        """What this end knows of the session once it's detached, or its connection is lost. It
        pickles; give it to `resume_session`, once.

        Raises LocalProtocolError while it's attached, EndpointClosed when it ended for good.
        """
        return self.core.detached_state()

    async def close(self) -> CloseReport:
        """End the session for good, once the server has executed what was sent, or after
        `close_timeout` seconds; says how it ended. On a session that has ended it does nothing.
        """
        try:
            if self.is_open and self._error is None:
                # Whatever becomes of that, the session is left.
                with suppress(EndpointClosed, LimitExceeded, TimeoutError):
                    async with asyncio.timeout(self.driver.core.config.close_timeout):
                        await self.sync()
        finally:
            self.start_closing()
        await self._wait_ended()
        report = self.report
        assert report is not None
        return report

    async def wait_closed(self) -> CloseReport:
        """Wait until the session is detached, by whom ever."""
        await self._wait_ended()
        report = self.report
        assert report is not None
        return report

    async def __aenter__(self) -> ZeroTenSession:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def __repr__(self) -> str:
        name = self.name.decode("utf-8", "backslashreplace")
        state = "open" if self.is_open else f"closed: {self.report}" if self.report else "opening"
        return f"<ZeroTenSession {name!r} on channel {self.channel}, {state}>"

    # What the driver and the parts of the session use.

    def send(self, command: Command[_R], message: Message | None = None) -> Handle[_R]:
        """Send a command; what `call` does before it waits."""
        self._begin()
        handle = self._guarded(lambda: self.core.call(command, message))
        if isinstance(command, (TxSelect, DtxSelect)):
            self._selected = "tx" if isinstance(command, TxSelect) else "dtx"
        self.driver.schedule_flush()
        return handle

    async def call_then(self, command: Command[_R], late: Callable[[_R], None]) -> _R:
        """As `call`; `late` gets the result when the caller was cancelled before."""
        return await self.driver.wait(self.send(command), late)

    async def select(self, command: TxSelect | DtxSelect) -> None:
        """Select the session for transactions, once."""
        self.check_open()
        async with self._selecting:
            if self._selected != ("tx" if isinstance(command, TxSelect) else "dtx"):
                await self.call(command)

    def accept_later(self, event: MessageReceived) -> bool:
        """Accept a message together with others, when octets go out next: one command says it for
        all. False where that can't be done.
        """
        number = event.command_id
        if (
            self._selected
            or self._leaving
            or self._error is not None
            or number in self._accepted
            or not event.acquired
            or not self.driver.core.is_open
            or not self.core.is_unsettled(number)
        ):
            return False
        if not self._accepted:
            self.driver.accepting.append(self)
        self._accepted[number] = None
        self.flush()
        return True

    def say_accepted(self) -> None:
        """Queue what `accept_later` kept."""
        accepted = tuple(self._accepted)
        self._accepted.clear()
        if not accepted or self.core.report is not None:
            return
        try:
            self.core.accept(*accepted)
        except LimitExceeded:
            # It's said as soon as there is room.
            self._accepted = dict.fromkeys(accepted)
            self.driver.accepting.append(self)

    def flush(self) -> None:
        """Write what was queued when this turn of the event loop is over."""
        if not self.driver.flush_scheduled:
            self.driver.schedule_flush()

    def give_back(self, event: MessageReceived) -> None:
        """Release a message that nobody takes; one that can't be released is just taken."""
        number = event.command_id
        if self.core.is_unsettled(number):
            self.core.release(number)
        else:
            self.core.complete(number)
        self.flush()

    def check_open(self) -> None:
        """Raise what the session ended with."""
        if self._error is not None:
            raise again(self._error)

    def start_closing(self) -> None:
        """What `close` does before it waits."""
        if not self._leaving:
            self._leaving = True
            self.say_accepted()
            with suppress(EndpointClosed):  # Then it ends with its connection.
                self.core.close()
            self.driver.schedule_flush()

    def message_received(self, event: MessageReceived) -> None:
        """A message has come."""
        subscription = self.subscriptions.get(event.destination)
        if subscription is not None:
            subscription.arrived(event)
        elif self.core.report is None and not self._leaving:
            self.give_back(event)

    def command_received(self, event: CommandReceived | MessageBegun) -> None:
        """The server wants something executed."""
        if not self.driver.offer(self.streams, event) and self.core.report is None:
            text = "nobody here takes commands of the server"
            self.core.fail(ExecutionError(_NOT_IMPLEMENTED, text), event.command_id)

    def resumed(self, event: Resumed) -> None:
        """The session goes on; what wasn't taken before comes again."""
        for each in event.incomplete:
            if isinstance(each, MessageReceived):
                self.message_received(each)
            elif isinstance(each, (CommandReceived, MessageBegun)):
                self.command_received(each)

    def failed(self, report: CloseReport, cause: AmqpError) -> bool:
        """An error ends the session; that it is detached is told later. Whether it's resumable."""
        try:
            self.core.detached_state()
        except (EndpointClosed, LocalProtocolError):
            resumable = False
        else:
            resumable = True  # Only this attachment has failed.
        self._end(session_ended(self.name, report, resumable), cause)
        return resumable

    def closed(self, event: SessionClosed, cause: AmqpError | None) -> None:
        """The session isn't attached any more."""
        error = session_ended(self.name, event.report, event.resumable)
        self._end(error, cause)
        # What may be answered on another connection isn't on this one.
        self.driver.give_up(self.core.pending, error)
        self.driver.ended(self)

    # Inside.

    def _begin(self) -> None:
        """Before a command: what was accepted before goes first."""
        self.check_open()
        if self._accepted:
            self.say_accepted()

    def _guarded(self, step: Callable[[], _R]) -> _R:
        """Do something with the core; whose session has ended is told why."""
        try:
            result = step()
        except EndpointClosed:
            self.check_open()
            raise
        self.flush()
        return result

    def _end(self, error: SessionEnded, cause: AmqpError | None) -> None:
        """Nobody waits any longer."""
        if self._error is not None:
            return
        error.__cause__ = cause
        self._error = error
        for subscription in list(self.subscriptions.values()):
            subscription.ended(error)
        self.publisher.ended()
        self.driver.end_streams(self.streams, error, cause)

    async def _wait_ended(self) -> None:
        driver = self.driver
        if driver.sessions.get(self.channel) is self:
            driver.schedule_flush()
            await driver.wait_for_end(self)


def _ids(messages: tuple[ReceivedMessage | int, ...]) -> list[int]:
    return [each if isinstance(each, int) else each.command_id for each in messages]


__all__ = ["ZeroTenSession"]
