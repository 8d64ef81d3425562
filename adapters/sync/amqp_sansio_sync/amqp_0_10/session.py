"""ZeroTenSession: calls, publishing, subscriptions and transactions of one session (0-10 part 1 section 3)."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from time import monotonic
from typing import TYPE_CHECKING, Any, Final, Literal, TypeVar, overload

from amqp_sansio import CloseReport, EndpointClosed, LimitExceeded, LocalProtocolError, Pending
from amqp_sansio.amqp_0_10 import (
    CREDIT,
    EXPLICIT,
    PRE_ACQUIRED,
    WINDOW,
    Command,
    DtxRecover,
    DtxSelect,
    Message,
    MessageAcquire,
    MessageCancel,
    MessageSetFlowMode,
    MessageSubscribe,
    NoCredit,
    SequenceSet,
    SessionState,
    Xid,
)
from amqp_sansio.amqp_0_10 import Session as CoreSession

from ..handlers import aside, interrupts_itself
from .attachment import Attachment
from .feed import SubscriptionFeed
from .publishing import SentMessage, ZeroTenOutcome, addressed, number_of
from .received import ReceivedMessage
from .subscription import Subscription
from .transaction import Branch, ZeroTenTransaction

if TYPE_CHECKING:
    from types import TracebackType

    from typing_extensions import Buffer

    from .connection import ZeroTenConnection

_R = TypeVar("_R")

_SHARE: Final = 4
"""Number of times that the server is asked for completions before a session's limit of unconfirmed commands."""
_SYNC_EVERY: Final = 256
"""Publishes with `wait=False` after which the server is asked for its completions, at the latest."""


class ZeroTenSession(Attachment):
    """One session, returned by `connection.open_session()` or `resume_session()`. Any thread may call every method.

    A command that the server refuses raises SessionEnded, with the server's reason, and ends the session; `report`
    keeps it. A wait raises TimeoutError after `timeout` seconds (None: never) and can be interrupted: the session stays
    usable, a late answer is dropped. If the connection is lost, a session whose `timeout` isn't 0 continues from its
    `detached_state()` on another one; the error says so.
    """

    __slots__ = (*("_asked", "_destinations", "_octets", "_published", "_synced", "_work", "selected_dtx"),)

    def __init__(self, connection: ZeroTenConnection, core: CoreSession) -> None:
        super().__init__(connection, core)
        self.selected_dtx = False
        self._destinations = 0
        self._published = self._asked = self._octets = 0
        self._synced = -1
        self._work: ZeroTenTransaction | Branch | None = None

    @property
    def pending(self) -> Mapping[int, SentMessage]:
        """The calls and publishes without an answer, by command id; including those from before it was resumed."""
        with self.wire.lock:
            found = self.core.pending
            # A publish's outcome comes after its completion, and is the result for its caller.
            return {number_of(each): SentMessage(self, each, self._published) for each in found}

    @property
    def unsettled(self) -> tuple[int, ...]:
        """The command ids of messages waiting to be accepted, rejected or released."""
        with self.wire.lock:
            return self.core.unsettled

    # Commands.

    def call(self, command: Command[_R], message: Message | bytes | None = None, *, timeout: float | None = None) -> _R:
        """Send a command and wait until the server has executed it; return its result, None if it has none.

        `message` is the content of stream.publish, file.stage and others. Raises SessionEnded with the server's
        execution.exception (`code`, `condition`, `report.text`), LocalProtocolError for an illegal command,
        LimitExceeded, CodecError, TimeoutError.

        >>> def example(session: ZeroTenSession) -> int | None:
        ...     session.call(QueueDeclare(queue="jobs"))
        ...     return session.call(QueueQuery(queue="jobs")).message_count
        """
        carried = Message(message) if isinstance(message, bytes) else message

        def begin() -> Pending[_R]:
            handle = self.core.call(command, carried)
            if isinstance(command, MessageCancel):
                self.expect_cancel(handle, command.destination or "")
            elif isinstance(command, DtxSelect):
                self.selected_dtx = True
            return handle

        result: _R = self.finish(self.post(begin), timeout, command.NAME)
        return result

    @overload
    def publish(
        self,
        message: Message | Buffer,
        exchange: str = "",
        routing_key: str | None = None,
        *,
        accept_mode: Literal[0] = 0,
        timeout: float | None = None,
        wait: Literal[True] = True,
    ) -> ZeroTenOutcome: ...
    @overload
    def publish(
        self,
        message: Message | Buffer,
        exchange: str = "",
        routing_key: str | None = None,
        *,
        accept_mode: int,
        timeout: float | None = None,
        wait: Literal[True] = True,
    ) -> ZeroTenOutcome | None: ...
    @overload
    def publish(
        self,
        message: Message | Buffer,
        exchange: str = "",
        routing_key: str | None = None,
        *,
        accept_mode: int = EXPLICIT,
        timeout: float | None = None,
        wait: Literal[False],
    ) -> SentMessage: ...
    def publish(
        self,
        message: Message | Buffer,
        exchange: str = "",
        routing_key: str | None = None,
        *,
        accept_mode: int = EXPLICIT,
        timeout: float | None = None,
        wait: bool = True,
    ) -> ZeroTenOutcome | SentMessage | None:
        """Publish one message to an exchange ("": the default one, whose routing keys are queues) and return its
        outcome: Accepted, Rejected or Released (message.transfer).

        Octets are the body of a message without properties. `routing_key` replaces the message's own, None leaves it.
        With the accept-mode NONE it waits only for the execution, and returns None. It waits while the server reads too
        slowly, gives no credit, or has `Limits.replay` commands or `replay_octets` to confirm first; with `wait=False`
        not for the outcome: the result is a SentMessage, so that many can be in transit. After a TimeoutError the
        message may still be sent: it is in `pending` then. Raises SessionEnded (with `wait=False` only if it was not
        sent), LimitExceeded for a message larger than `replay_octets`, LocalProtocolError and CodecError for one that
        can't be sent.

        >>> def example(session: ZeroTenSession, bodies: list[bytes]) -> int:
        ...     outcome = session.publish(b"hello", "amq.direct", "jobs")
        ...     later = [session.publish(body, routing_key="jobs", wait=False) for body in bodies]
        ...     return [outcome, *[each.result() for each in later]].count(Accepted())
        """
        deadline = None if timeout is None else monotonic() + timeout
        made = addressed(message, routing_key)
        handle, serial = self._transfer(made, exchange, accept_mode, deadline, wait)
        if not wait:
            return SentMessage(self, handle, serial)
        outcome: ZeroTenOutcome | None = self.finish(handle, _left(deadline), "the outcome")
        return outcome

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
        timeout: float | None = None,
    ) -> Subscription:
        """Subscribe to a queue; iterate over the result for its deliveries.

        At most `credit` messages of `octets` together (None: any size) are in transit or wait here; taking deliveries
        renews the credit. With `credit` 0 nothing comes before `fetch` or `grant` asks for it. `destination` is the
        subscription's name in the session, None generates one. `timeout` applies to the start and then to each delivery
        of the iteration (message.subscribe, set-flow-mode, flow). Raises ValueError for an invalid flow mode or credit.

        >>> def example(session: ZeroTenSession) -> list[bytes]:
        ...     bodies = []
        ...     with session.subscribe("jobs") as subscription:
        ...         while (delivery := subscription.fetch(timeout=0.5)) is not None:
        ...             bodies.append(delivery.body)
        ...             delivery.accept()
        ...     return bodies
        """

        if flow_mode not in (CREDIT, WINDOW) or credit < 0 or (octets is not None and octets < 0):
            raise ValueError(f"flow mode {flow_mode}, credit {credit}, octets {octets}")

        def begin() -> tuple[SubscriptionFeed, Pending[None]]:
            name = self._new_destination() if destination is None else destination
            handle = self.core.call(
                MessageSubscribe(queue, name, accept_mode, acquire_mode, exclusive, arguments=arguments)
            )
            feed = self._feeds[name] = SubscriptionFeed(self, name)
            feed.credit, feed.window = credit, octets
            if flow_mode == CREDIT:
                self.core.call(MessageSetFlowMode(name, flow_mode), sync=False)
            if credit:
                self.core.top_up(name, credit, octets)
            return feed, handle

        feed, handle = self.post(begin)
        self.finish(handle, timeout, "message.subscribe", lambda _: feed.drop())
        return Subscription(self, feed, timeout)

    def subscription(
        self, destination: str, *, credit: int = 100, octets: int | None = None, timeout: float | None = None
    ) -> Subscription:
        """Continue a subscription that the session has: from before it was resumed, or made by a call.

        Received messages that weren't completed are delivered first. `credit` and the rest are as for `subscribe`.
        Raises LocalProtocolError if there is no such subscription.

        >>> def example(connection: ZeroTenConnection, state: SessionState) -> bytes:
        ...     session = connection.resume_session(state)
        ...     with session.subscription("jobs", timeout=5) as subscription:
        ...         return next(subscription).body
        """

        def begin() -> SubscriptionFeed:
            # This grants nothing; it only checks that the subscription exists.
            self.core.top_up(destination, 0, 0)
            feed = self._feed(destination)
            feed.credit, feed.window = credit, octets
            feed.top_up()
            return feed

        return Subscription(self, self.post(begin), timeout)

    def accept(self, *deliveries: ReceivedMessage | int) -> None:
        """Accept many deliveries at once, also those of the session that this one continues, or ids (message.accept).

        >>> def example(session: ZeroTenSession, subscription: Subscription) -> None:
        ...     session.accept(*[next(subscription) for _ in range(2)])
        """
        if deliveries:
            self.post(self.core.accept, *_ids(deliveries))

    def reject(self, *deliveries: ReceivedMessage | int, code: int = 0, text: str = "") -> None:
        """Reject many deliveries at once (message.reject).

        >>> def example(session: ZeroTenSession, subscription: Subscription) -> None:
        ...     session.reject(next(subscription), next(subscription), text="too old")
        """
        if deliveries:
            self.post(lambda: self.core.reject(*_ids(deliveries), code=code, text=text or None))

    def release(self, *deliveries: ReceivedMessage | int, set_redelivered: bool = False) -> None:
        """Return many deliveries at once (message.release).

        >>> def example(session: ZeroTenSession) -> None:
        ...     session.release(*session.unsettled)
        """
        if deliveries:
            self.post(lambda: self.core.release(*_ids(deliveries), set_redelivered=set_redelivered))

    def acquire(self, *deliveries: ReceivedMessage | int, timeout: float | None = None) -> SequenceSet:
        """Acquire messages with acquire-mode not-acquired; return the ids of those still available (message.acquire).

        >>> def example(session: ZeroTenSession, subscription: Subscription) -> int:
        ...     return len(session.acquire(*[next(subscription) for _ in range(2)]))
        """
        ids = SequenceSet.of(*_ids(deliveries))
        acquired = self.call(MessageAcquire(ids), timeout=timeout)
        return acquired.transfers or SequenceSet()

    def sync(self, timeout: float | None = None) -> None:
        """Wait until the server has executed everything sent before (execution.sync).

        >>> def example(session: ZeroTenSession, subscription: Subscription) -> None:
        ...     next(subscription).accept()
        ...     session.sync()
        """
        self.finish(self.post(self._sync), timeout, "execution.sync")

    def transaction(self, *, timeout: float | None = None) -> ZeroTenTransaction:
        """Return a transaction: begun on entering, committed on leaving, rolled back if an exception leaves it.

        `timeout` applies to each step. From then on the session is transactional: operations outside of a context
        belong to the next one, and every subscription needs accept-mode explicit (class 5).

        >>> def example(session: ZeroTenSession, subscription: Subscription) -> None:
        ...     with session.transaction():
        ...         delivery = next(subscription)
        ...         session.publish(delivery.message, routing_key="done")
        ...         delivery.accept()
        """
        return ZeroTenTransaction(self, timeout)

    def branch(self, xid: Xid, *, join: bool = False, resume: bool = False, timeout: float | None = None) -> Branch:
        """Return a branch of a distributed transaction: started on entering, ended on leaving, then to be committed.

        `join`: another session has started it, `resume`: this one has suspended it. `timeout` applies to each step
        (class 6).

        >>> def example(session: ZeroTenSession, xid: Xid) -> None:
        ...     with session.branch(xid) as branch:
        ...         session.publish(b"hello", routing_key="jobs")
        ...     if branch.prepare():
        ...         branch.commit()
        """
        return Branch(self, xid, join, resume, timeout)

    def recover(self, timeout: float | None = None) -> list[Xid]:
        """Return the branches that are prepared, or that the server has decided on its own (dtx.recover).

        >>> def example(session: ZeroTenSession) -> list[Xid]:
        ...     return session.recover()
        """
        return list(self.call(DtxRecover(), timeout=timeout).in_doubt or ())

    # Its end.

    def request_timeout(self, seconds: int | None, timeout: float | None = None) -> int | None:
        """Ask the server to keep the session that long when it is detached, None: forever; return the granted time.

        >>> def example(session: ZeroTenSession) -> int | None:
        ...     return session.request_timeout(300)
        """
        handle = self.post(self.core.request_timeout, seconds)
        granted: int | None = self.finish(handle, timeout, "session.request-timeout")
        return granted

    def detach(self, *, timeout: float | None = None) -> SessionState:
        """Leave the channel without ending the session; the result resumes it. Waiting callers get SessionEnded.

        Raises LocalProtocolError for a session with `timeout` 0, which isn't kept.

        >>> def example(session: ZeroTenSession, other: ZeroTenConnection) -> ZeroTenSession:
        ...     return other.resume_session(session.detach())
        """
        if self.core.timeout == 0:
            raise LocalProtocolError("a session with the timeout 0 can't be resumed; close it")
        if not self.ended:
            self.post(self.core.detach)
            self.wire.wait(lambda: self.ended, timeout, "session.detach")
        return self.detached_state()

    def detached_state(self) -> SessionState:
        """Return this end's state of the session once it is detached, or its connection is lost; picklable.

        Raises LocalProtocolError while it is attached, EndpointClosed if it can't be resumed.

        >>> def example(session: ZeroTenSession, other: ZeroTenConnection) -> ZeroTenSession:
        ...     try:
        ...         session.publish(b"hello", routing_key="jobs")
        ...     except SessionEnded:
        ...         session = other.resume_session(session.detached_state())
        ...     return session
        """
        with self.wire.lock:
            if self.wire.failure is not None:
                raise self.wire.closed()
            return self.core.detached_state()

    def close(self, *, timeout: float | None = None) -> CloseReport:
        """End the session for good once the server has executed everything sent; return how it ended.

        On an ended session this does nothing. After a TimeoutError the end is in progress. A signal handler that
        interrupts a call of this package may call it, and doesn't wait then.

        >>> def example(session: ZeroTenSession) -> bool:
        ...     return session.close().by is By.LOCAL
        """
        if interrupts_itself():
            return aside("session.detach", lambda: self.close(timeout=timeout))
        self._leave(timeout)
        report = self.report
        if report is None:
            raise self.wire.closed()
        return report

    def wait_closed(self, timeout: float | None = None) -> CloseReport:
        """Wait until the session is detached, by either side; return how.

        >>> def example(session: ZeroTenSession) -> CloseReport:
        ...     return session.wait_closed()
        """
        self.wire.wait(lambda: self.ended, timeout, "the end of the session")
        report = self.report
        assert report is not None
        return report

    def __enter__(self) -> ZeroTenSession:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.ended or self.wire.ended:
            return
        seconds = self.wire.core.config.close_timeout
        if error is None:
            self._leave(seconds)
            return
        # The first error is the better reason.
        with suppress(EndpointClosed, TimeoutError):
            self._leave(seconds)

    def __repr__(self) -> str:
        state = "open" if self.is_open else f"ended: {self.core.report}"
        return f"<ZeroTenSession {self._shown}, {state}>"

    # For the other parts of the adapter.

    def answer_to(self, handle: Pending[Any], serial: int, timeout: float | None) -> Any:
        """Return the answer of a command that nobody has waited for yet; asks the server for its completions."""
        deadline = None if timeout is None else monotonic() + timeout
        while not handle.done and serial > self._synced and self.is_open:
            try:
                self.post(self._sync)
            except LimitExceeded:
                self._wait_for_room(deadline, "the answer")
        return self.finish(handle, _left(deadline), "the answer")

    def begin_work(self, work: ZeroTenTransaction | Branch) -> None:
        """Record the start of a transaction. Raises LocalProtocolError for a second one."""
        with self.wire.lock:
            if self._work is not None:
                raise LocalProtocolError("another transaction is in progress on this session")
            self._work = work

    def end_work(self, work: ZeroTenTransaction | Branch) -> None:
        """Record the end of a transaction."""
        with self.wire.lock:
            if self._work is work:
                self._work = None

    # Internals.

    def _new_destination(self) -> str:
        while True:
            self._destinations += 1
            name = f"s{self._destinations}"
            try:
                self.core.top_up(name, 0, 0)
            except LocalProtocolError:
                return name  # The name is unused.

    def _leave(self, timeout: float | None) -> None:
        """End the session. An earlier refusal of the server is in the report, or raised by the connection's context."""
        if self.ended:
            return
        deadline = None if timeout is None else monotonic() + timeout
        wire = self.wire
        with suppress(EndpointClosed, LimitExceeded):  # It has ended meanwhile; or the peer is far behind.
            handle = wire.post(False, self._sync)
            try:
                wire.wait(lambda: handle.done or self.ended, timeout, "execution.sync")
            finally:
                if not self.ended and not wire.ended:
                    wire.post(False, self.core.close)
        wire.wait(lambda: self.ended, _left(deadline), "the end of the session")

    def _sync(self) -> Pending[None]:
        handle = self.core.sync()
        self._synced = self._published
        return handle

    def _transfer(
        self, message: Message, exchange: str, accept_mode: int, deadline: float | None, wait: bool
    ) -> tuple[Pending[Any], int]:
        """Send a message when the server takes it; return the handle of its outcome, or of its completion if it has
        none, and its number among those of this session."""
        size = len(message.headers.raw) + len(message.body)

        made: list[tuple[Pending[Any], int]] = []

        def send() -> None:
            limits = self.wire.core.config.limits
            sync = (
                wait
                or self._published - self._asked >= min(_SYNC_EVERY, limits.replay // _SHARE) - 1
                or self._octets + size >= limits.replay_octets // _SHARE
            )
            sent = self.core.transfer(exchange, message, accept_mode=accept_mode, sync=sync)
            self._published += 1
            self._octets += size
            if sync:
                self._asked, self._octets = self._published, 0
            made.append((sent.completion if sent.outcome is None else sent.outcome, self._published))

        def may_send() -> bool:
            over = self.ended or self.core.report is not None
            return over or (not self.wire.unsent and self._has_credit(exchange, size))

        while not made:
            if not may_send():
                self.wire.wait(may_send, _left(deadline), "the publish")
            try:
                self.post(send)
            except NoCredit:
                continue  # Another thread was faster.
            except LimitExceeded:
                if not self._wait_for_room(deadline, "the publish"):
                    raise
            except EndpointClosed:
                if not made:
                    raise
        if self.wire.unsent:
            self.wire.wait(lambda: not self.wire.unsent or self.ended, _left(deadline), "the publish")
        return made[0]

    def _wait_for_room(self, deadline: float | None, what: str) -> bool:
        """Wait until the server has executed the oldest unconfirmed command; False if there is none."""
        with self.wire.lock:
            oldest = next(iter(self.core.pending), None)
        if oldest is None:
            return False
        self.wire.wait(lambda: self.ended or oldest.done, _left(deadline), what)
        return True

    def _has_credit(self, exchange: str, size: int) -> bool:
        messages, octets = self.core.credit(exchange)
        return messages != 0 and (octets is None or octets >= max(1, size))


def _ids(deliveries: tuple[ReceivedMessage | int, ...]) -> list[int]:
    return [each if isinstance(each, int) else each.command_id for each in deliveries]


def _left(deadline: float | None) -> float | None:
    return None if deadline is None else max(0.0, deadline - monotonic())


__all__ = ["ZeroTenSession"]
