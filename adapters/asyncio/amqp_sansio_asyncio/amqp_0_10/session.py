"""Sessions of a 0-10 client: commands, publishing and subscribing (0-10 part 1 section 3, classes 2 to 6)."""

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
    from amqp_sansio.events import Pending

    from .driver import ZeroTenDriver

_R = TypeVar("_R")
_E = TypeVar("_E", bound=Event)

_NOT_IMPLEMENTED: Final = 540


class ZeroTenSession:
    """One session, returned by `connection.open_session()` or `resume_session()`. `close` it, or leave its context; its
    subscriptions end with it.

    If the server can't execute a command it ends the session: waiting callers get SessionEnded, with the `code` and
    `condition` of execution.exception. If the connection is lost and the session has a `timeout`, SessionEnded is
    `resumable`.
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
        """Its name, unique among the user's sessions."""
        return self.core.name

    @property
    def channel(self) -> int:
        """The channel it is attached to."""
        return self.core.channel

    @property
    def is_open(self) -> bool:
        """Whether it takes commands."""
        return self.core.is_attached and not self._leaving

    @property
    def timeout(self) -> int | None:
        """Seconds for which both ends keep it when it is detached; None: forever, 0: not."""
        return self.core.timeout

    @property
    def report(self) -> CloseReport | None:
        """Why it ended, once it has."""
        return self.core.report

    @property
    def pending(self) -> Mapping[int, SentMessage]:
        """Publishes and other commands that wait for an outcome or answer, by number; after `resume_session` including
        those of earlier attachments.
        """
        found: dict[int, Pending[Any]] = {}
        for handle in self.core.pending:
            # A message without an outcome may be executed already; the outcome says more.
            if is_outcome(handle) or id_of(handle) not in found:
                found[id_of(handle)] = handle
        return {number: SentMessage(self, handle, True) for number, handle in found.items()}

    @property
    def unsettled(self) -> tuple[int, ...]:
        """The numbers of the messages taken here, including before the session was resumed, that wait for `accept`,
        `reject` or `release`.
        """
        aside = {*self._accepted, *self.core.incomplete}
        return tuple([each for each in self.core.unsettled if each not in aside])

    # Commands.

    async def call(self, command: Command[_R], message: Message | None = None) -> _R:
        """Send a command and return its result once the server has executed it; None for those without one.

        `message` is the content of file.stage, stream.publish and others. Raises SessionEnded if the server can't
        execute it, LocalProtocolError for an illegal command, LimitExceeded, CodecError.

        >>> from amqp_sansio.amqp_0_10 import QueueDeclare, QueueQuery
        >>> async def example(session: ZeroTenSession) -> int | None:
        ...     await session.call(QueueDeclare("jobs", durable=True))
        ...     return (await session.call(QueueQuery("jobs"))).message_count
        """
        if message is not None:
            await self.publisher.pace()
        return await self.driver.wait(self.send(command, message))

    async def sync(self) -> None:
        """Wait until the server has executed everything sent before (execution.sync). Raises SessionEnded."""
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
        """Send a message to an exchange ("": the default one, whose routing keys are queues) and return its outcome:
        Accepted, Rejected or Released (message.transfer).

        `bytes` are the body of a message without properties. `routing_key` replaces the message's own, None leaves it.
        With the accept-mode NONE it waits only for the execution, and returns None. It waits while the server reads too
        slowly or gives no credit; with `wait=False` not for the outcome: the result is a `SentMessage` to await later.
        A cancelled publish may have been sent. Raises SessionEnded if the session ends, LocalProtocolError and
        CodecError for a message that can't be sent.

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
        """Subscribe to a queue: `await` it, or use it as an async context that cancels the subscription
        (message.subscribe).

        `destination` is its name in this session; None generates one. With the accept-mode NONE messages need no
        acceptance, with the acquire-mode NOT_ACQUIRED they stay in the queue until they are acquired. At most `credit`
        messages of `octets` octets (None: any number) wait here; with 0 you manage the credit. In the flow mode WINDOW,
        taking a message returns its credit; in CREDIT, new credit is granted when half is used. Raises SessionEnded if
        the server refuses.

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
        """Accept messages, given as such or by number, in one command (message.accept).

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
        """Return messages, to be delivered again (message.release)."""
        if messages:
            self._begin()
            ids = _ids(messages)
            self._guarded(lambda: self.core.release(*ids, set_redelivered=set_redelivered))

    async def acquire(self, *messages: ReceivedMessage | int) -> SequenceSet | tuple[()]:
        """Acquire messages that came unacquired; return the numbers of those still available (message.acquire)."""
        if not messages:
            return ()
        self._begin()
        result: Acquired = await self.driver.wait(
            self._guarded(lambda: self.core.acquire(*_ids(messages)))
        )
        return result.transfers or ()

    # Transactions.

    def transaction(self) -> ZeroTenTransaction:
        """Return a transaction, as an async context: it commits at the end, and rolls back if an exception leaves it
        (class tx).

        It covers everything published and accepted on the session, which is selected for transactions the first time:
        from then on, operations outside of such a context take effect only when the next one commits.

        >>> async def example(session: ZeroTenSession, subscription: Subscription) -> None:
        ...     async with session.transaction():
        ...         received = await subscription.fetch()
        ...         if received is not None:
        ...             await session.publish(received.message, "answers")
        ...             await received.accept()
        """
        return ZeroTenTransaction(self)

    def branch(self, xid: Xid, *, join: bool = False, resume: bool = False) -> Branch:
        """Return a branch of a distributed transaction (class dtx): within its async context the session works for it;
        its other methods can be called on any session of the server.

        >>> async def example(session: ZeroTenSession, xid: Xid) -> None:
        ...     async with session.branch(xid) as branch:
        ...         await session.publish(b"hello", routing_key="jobs")
        ...     await branch.prepare()
        ...     await branch.commit()
        """
        return Branch(self, xid, join=join, resume=resume)

    async def recover(self) -> list[Xid]:
        """Return the branches that are prepared, or completed heuristically (dtx.recover)."""
        return list((await self.call(DtxRecover())).in_doubt or ())

    # Commands of the server.

    @overload
    def events(self, *, limit: int = 1000) -> EventStream[Event]: ...
    @overload
    def events(self, *kinds: type[_E], limit: int = 1000) -> EventStream[_E]: ...
    def events(self, *kinds: type[Any], limit: int = 1000) -> EventStream[Any]:
        """Return the session's other events: CreditChanged, CommandReceived and MessageBegun (answer them with
        `complete` or `fail`) and so on; only `kinds`, if given.

        Without a reader for CommandReceived or MessageBegun, such commands are refused, which ends the session.
        """
        feed: Feed[Any] = Feed(self.driver, limit, True)
        if self._error is not None:
            feed.end(again(self._error))
        self.streams.append((kinds or (Event,), feed))
        return EventStream(feed, self.streams)

    def complete(self, command_id: int, result: Struct | None = None) -> None:
        """Complete a command of the server. Raises LocalProtocolError if it doesn't wait for that, SessionEnded."""
        self._guarded(lambda: self.core.complete(command_id, result))

    def fail(self, error: ExecutionError, command_id: int | None = None) -> None:
        """Refuse a command of the server, which ends the session (execution.exception)."""
        self._guarded(lambda: self.core.fail(error, command_id))

    # Its end.

    async def request_timeout(self, seconds: int | None) -> int | None:
        """Ask for the session to be kept that long when it is detached, None: forever; return the granted time
        (session.request-timeout).
        """
        self._begin()
        return await self.driver.wait(self._guarded(lambda: self.core.request_timeout(seconds)))

    async def detach(self) -> SessionState:
        """Leave the channel without ending the session, and return the state to continue with:
        `connection.resume_session(state)`. Waiting callers get SessionEnded.

        Raises LocalProtocolError for a session without `timeout`, which isn't kept.

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
        """Return this end's state of the session once it is detached, or its connection is lost. It pickles; give it to
        `resume_session`, once.

        Raises LocalProtocolError while it is attached, EndpointClosed if it ended for good.
        """
        return self.core.detached_state()

    async def close(self) -> CloseReport:
        """End the session for good, once the server has executed everything sent, or after `close_timeout` seconds;
        return how it ended. On an ended session this does nothing.
        """
        try:
            if self.is_open and self._error is None:
                # The session is left in any case.
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
        """Wait until the session is detached, by either side."""
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

    # For the driver and the parts of the session.

    def send(self, command: Command[_R], message: Message | None = None) -> Pending[_R]:
        """Send a command, the first half of `call`."""
        self._begin()
        handle = self._guarded(lambda: self.core.call(command, message))
        if isinstance(command, (TxSelect, DtxSelect)):
            self._selected = "tx" if isinstance(command, TxSelect) else "dtx"
        self.driver.schedule_flush()
        return handle

    async def call_then(self, command: Command[_R], late: Callable[[_R], None]) -> _R:
        """Do the same as `call`; `late` gets the result if the caller was cancelled before."""
        return await self.driver.wait(self.send(command), late)

    async def select(self, command: TxSelect | DtxSelect) -> None:
        """Select the session for transactions, once."""
        self.check_open()
        async with self._selecting:
            if self._selected != ("tx" if isinstance(command, TxSelect) else "dtx"):
                await self.call(command)

    def accept_later(self, event: MessageReceived) -> bool:
        """Accept a message together with others, before the next octets are sent, in a single command. Return False if
        that is impossible.
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
        """Queue the acceptances collected by `accept_later`."""
        accepted = tuple(self._accepted)
        self._accepted.clear()
        if not accepted or self.core.report is not None:
            return
        try:
            self.core.accept(*accepted)
        except LimitExceeded:
            # Accept them as soon as there is room.
            self._accepted = dict.fromkeys(accepted)
            self.driver.accepting.append(self)

    def flush(self) -> None:
        """Write queued octets at the end of this turn of the event loop."""
        if not self.driver.flush_scheduled:
            self.driver.schedule_flush()

    def give_back(self, event: MessageReceived) -> None:
        """Release a message that nobody takes; one that can't be released is completed instead."""
        number = event.command_id
        if self.core.is_unsettled(number):
            self.core.release(number)
        else:
            self.core.complete(number)
        self.flush()

    def check_open(self) -> None:
        """Raise the session's error if it has ended."""
        if self._error is not None:
            raise again(self._error)

    def start_closing(self) -> None:
        """Do the part of `close` before the wait."""
        if not self._leaving:
            self._leaving = True
            self.say_accepted()
            with suppress(EndpointClosed):  # It ends with its connection.
                self.core.close()
            self.driver.schedule_flush()

    def message_received(self, event: MessageReceived) -> None:
        """Handle a message."""
        subscription = self.subscriptions.get(event.destination)
        if subscription is not None:
            subscription.arrived(event)
        elif self.core.report is None and not self._leaving:
            self.give_back(event)

    def command_received(self, event: CommandReceived | MessageBegun) -> None:
        """Handle a command of the server."""
        if not self.driver.offer(self.streams, event) and self.core.report is None:
            text = "nobody here takes commands of the server"
            self.core.fail(ExecutionError(_NOT_IMPLEMENTED, text), event.command_id)

    def resumed(self, event: Resumed) -> None:
        """Continue the session; untaken messages and commands come again."""
        for each in event.incomplete:
            if isinstance(each, MessageReceived):
                self.message_received(each)
            elif isinstance(each, (CommandReceived, MessageBegun)):
                self.command_received(each)

    def failed(self, report: CloseReport, cause: AmqpError) -> bool:
        """Handle an error of the session, whose detach follows; return whether it is resumable."""
        try:
            self.core.detached_state()
        except (EndpointClosed, LocalProtocolError):
            resumable = False
        else:
            resumable = True  # Only this attachment has failed.
        self._end(session_ended(self.name, report, resumable), cause)
        return resumable

    def closed(self, event: SessionClosed, cause: AmqpError | None) -> None:
        """Handle the detach of the session."""
        error = session_ended(self.name, event.report, event.resumable)
        self._end(error, cause)
        # Answers may come on another connection, but not on this one.
        self.driver.give_up(self.core.pending, error)
        self.driver.ended(self)

    # Internals.

    def _begin(self) -> None:
        """Prepare a command: earlier acceptances go first."""
        self.check_open()
        if self._accepted:
            self.say_accepted()

    def _guarded(self, step: Callable[[], _R]) -> _R:
        """Call the core; if the session has ended, raise its reason."""
        try:
            result = step()
        except EndpointClosed:
            self.check_open()
            raise
        self.flush()
        return result

    def _end(self, error: SessionEnded, cause: AmqpError | None) -> None:
        """Fail everybody who waits."""
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
