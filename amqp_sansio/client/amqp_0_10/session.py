"""Sessions of a 0-10 client: commands, publishing and subscribing (0-10 part 1 section 3, classes 2 to 6)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, TypeVar, overload

from ...amqp_0_10 import ExecutionError, Message
from ...amqp_0_10.codec.choices import CREDIT, EXPLICIT, PRE_ACQUIRED, WINDOW
from ...amqp_0_10.codec.records import (
    DtxRecover,
    ExchangeBind,
    ExchangeDeclare,
    ExchangeDelete,
    ExchangeUnbind,
    MessageSubscribe,
    QueueDeclare,
    QueueDelete,
    QueuePurge,
    QueueQuery,
    QueueQueryResult,
)
from ...errors import EndpointClosed, LimitExceeded, LocalProtocolError
from ...events import CloseReport, Event
from ..bodies import JSON, TEXT, json_octets
from ..connection import open_stream
from ..inbox import EventStream
from ..opening import Opening
from .publishing import Publisher, SentMessage, hooked, id_of, is_outcome, routed
from .requests import Requests
from .routes import SessionRoutes
from .subscription import ReceivedMessage, Subscription, inbox_of, open_subscription, shown, told
from .transaction import Branch, Transaction

if TYPE_CHECKING:
    from ...amqp_0_10 import SequenceSet, SessionState
    from ...amqp_0_10 import Session as CoreSession
    from ...amqp_0_10.codec.record import Command
    from ...amqp_0_10.codec.records import Acquired, Xid
    from ...amqp_0_10.codec.structs import Struct
    from ...events import Pending

_R = TypeVar("_R")
_E = TypeVar("_E", bound=Event)


class Session:
    """One session, returned by `connection.open_session()` or `resume_session()`. `close` it, or leave its context; its
    subscriptions end with it.

    If the server can't execute a command it ends the session: waiting callers get SessionEnded, with the `code` and
    `condition` of execution.exception. If the connection is lost and the session has a `timeout`, SessionEnded is
    `resumable`. A command that isn't answered within `answer_timeout` seconds raises AnswerTimeout.
    """

    __slots__ = ("_client", "_names", "_publisher", "_requests", "_state")

    def __init__(self, state: SessionRoutes) -> None:
        # The routes, which go on through recovery.
        self._state = state
        # Whose session it is, for waits and hooks.
        self._client = state.client
        # Sends its messages in turn.
        self._publisher = Publisher(state)
        # Made with the first `request`.
        self._requests: Requests | None = None
        # The last number of a queue that got its name here.
        self._names = 0

    @property
    def core(self) -> CoreSession:
        """The session of the core, for its properties, such as `credit`. Don't call its commands."""
        return self._state.core

    @property
    def subscriptions(self) -> dict[str, Subscription]:
        """Its subscriptions that aren't closed, by destination; after `resume_session` those of earlier attachments."""
        return {name: shown(self, inbox) for name, inbox in self._state.subscriptions.items()}

    @property
    def name(self) -> bytes:
        """Its name, unique among the user's sessions."""
        return self._state.core.name

    @property
    def channel(self) -> int:
        """The channel it is attached to."""
        return self._state.core.channel

    @property
    def is_open(self) -> bool:
        """Whether it takes commands."""
        return self._state.core.is_attached and not self._state.leaving

    @property
    def timeout(self) -> int | None:
        """Seconds for which both ends keep it when it is detached; None: forever, 0: not."""
        return self._state.core.timeout

    @property
    def report(self) -> CloseReport | None:
        """Why it ended, once it has."""
        report = self._state.report
        self._client.seen(report)
        return report

    @property
    def pending(self) -> Mapping[int, SentMessage]:
        """Publishes and other commands that wait for an outcome or answer, by number; after `resume_session` including
        those of earlier attachments.
        """
        found: dict[int, Pending[Any]] = {}
        for pending in self._state.core.pending:
            # A message without an outcome may be executed already; the outcome says more.
            if is_outcome(pending) or id_of(pending) not in found:
                found[id_of(pending)] = pending
        return {number: SentMessage(self._publisher, pending) for number, pending in found.items()}

    @property
    def unsettled(self) -> tuple[int, ...]:
        """The numbers of the messages taken here, including before the session was resumed, that wait for `accept`,
        `reject` or `release`.
        """
        core = self._state.core
        aside = {*self._state.accepted, *core.incomplete}
        return tuple([each for each in core.unsettled if each not in aside])

    # Commands.

    async def call(self, command: Command[_R], message: Message | None = None) -> _R:
        """Send a command and return its result once the server has executed it; None for those without one.

        `message` is the content of file.stage, stream.publish and others. Raises SessionEnded if the server can't
        execute it, LocalProtocolError for an illegal command, LimitExceeded, CodecError.

        >>> from amqp_sansio.amqp_0_10.spec import QueueDeclare, QueueQuery
        >>> async def example(session: Session) -> int | None:
        ...     await session.call(QueueDeclare("jobs", durable=True))
        ...     return (await session.call(QueueQuery("jobs"))).message_count
        """
        if message is not None:
            await self._publisher.room()
        await self._client.until_restored()
        return await self._state.result(self._state.send(command, message), None, command.NAME)

    async def sync(self) -> None:
        """Wait until the server has executed everything sent before (execution.sync). Raises SessionEnded."""
        await self._publisher.executed()

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
    @overload
    async def publish(
        self,
        message: Message | bytes,
        exchange: str = "",
        routing_key: str | None = None,
        *,
        accept_mode: int = EXPLICIT,
        wait: bool,
    ) -> Any: ...
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

        >>> async def example(session: Session) -> None:
        ...     outcome = await session.publish(b"hello", routing_key="jobs")
        ...     later = [await session.publish(b"more", "", "jobs", wait=False) for _ in range(9)]
        ...     outcomes = [await sent for sent in later]
        """
        whole = routed(message, routing_key)
        if self._client.hooks is not None:
            whole = hooked(self._client.hooks, whole, exchange)
        state, publisher = self._state, self._publisher
        if state.error is not None:
            raise state.client.for_caller(state.error)
        sent = publisher.try_send(whole, exchange, accept_mode, wait)
        if sent is None:
            sent = await publisher.send(whole, exchange, accept_mode, wait)
        if not wait:
            return SentMessage(publisher, sent)
        if not sent.done:
            await state.decided(sent)
        return state.answer(sent)

    async def publish_text(
        self,
        text: str,
        exchange: str = "",
        routing_key: str | None = None,
        *,
        headers: Mapping[str, Any] | None = None,
        accept_mode: int = EXPLICIT,
    ) -> Any:
        """Publish text in UTF-8, with the content type text/plain and application `headers`; see `publish`."""
        message = Message(text.encode(), content_type=TEXT, application_headers=headers)
        return await self.publish(message, exchange, routing_key, accept_mode=accept_mode)

    async def publish_json(
        self,
        value: Any,
        exchange: str = "",
        routing_key: str | None = None,
        *,
        headers: Mapping[str, Any] | None = None,
        accept_mode: int = EXPLICIT,
    ) -> Any:
        """Publish a value as JSON, with the content type application/json and application `headers`; see `publish`.

        Raises TypeError for a value that JSON hasn't.
        """
        message = Message(json_octets(value), content_type=JSON, application_headers=headers)
        return await self.publish(message, exchange, routing_key, accept_mode=accept_mode)

    async def request(
        self, message: Message | bytes, exchange: str = "", routing_key: str | None = None
    ) -> ReceivedMessage:
        """Publish a request and return its reply, a message with the same correlation-id on a queue for replies.

        It sets reply-to, and a correlation-id where there is none. The queue is an exclusive one of this session;
        replies need no settlement. Any number of tasks may call at once. Limit it by time: a reply that comes too late
        is dropped. Raises NotAccepted for a request that no queue took, SessionEnded.
        """
        if self._requests is None:
            self._requests = Requests(self._state, self._publisher)
        whole = routed(message, routing_key)
        if self._client.hooks is not None:
            whole = hooked(self._client.hooks, whole, exchange)
        reply = await self._requests.call(whole, exchange, EXPLICIT)
        return told(self._client.hooks, ReceivedMessage(self, self._state, reply))

    # Queues and exchanges.

    async def declare_queue(
        self,
        queue: str = "",
        *,
        passive: bool = False,
        durable: bool = False,
        exclusive: bool = False,
        auto_delete: bool = False,
        alternate_exchange: str | None = None,
        arguments: Mapping[str, Any] | None = None,
    ) -> QueueQueryResult:
        """Declare a queue, or with `passive` only look whether it is there (queue.declare, queue.query).

        Return its name, which is a unique one for "", and how many messages and subscribers it has. Raises
        SessionEnded if the server refuses.
        """
        await self._client.until_restored()
        if not queue:
            self._names += 1
            queue = f"{self.name.decode('utf-8', 'backslashreplace')}.{self._names}"
        state = self._state
        # The query says how the declaration ended, too: a refusal ends the session.
        state.send(QueueDeclare(queue, alternate_exchange, passive, durable, exclusive, auto_delete, arguments))
        found: QueueQueryResult = await state.result(state.send(QueueQuery(queue)), None, "queue.query")
        return found

    async def delete_queue(self, queue: str, *, if_unused: bool = False, if_empty: bool = False) -> None:
        """Delete a queue (queue.delete)."""
        await self.call(QueueDelete(queue, if_unused, if_empty))

    async def purge_queue(self, queue: str) -> None:
        """Drop a queue's messages that aren't acquired (queue.purge)."""
        await self.call(QueuePurge(queue))

    async def bind_queue(
        self, queue: str, exchange: str, routing_key: str = "", *, arguments: Mapping[str, Any] | None = None
    ) -> None:
        """Let an exchange send messages to a queue; the routing key is the binding's name too (exchange.bind)."""
        await self.call(ExchangeBind(queue, exchange, routing_key, arguments))

    async def unbind_queue(self, queue: str, exchange: str, routing_key: str = "") -> None:
        """Undo `bind_queue` with the same routing key (exchange.unbind)."""
        await self.call(ExchangeUnbind(queue, exchange, routing_key))

    async def declare_exchange(
        self,
        exchange: str,
        type: str = "direct",
        *,
        passive: bool = False,
        durable: bool = False,
        auto_delete: bool = False,
        alternate_exchange: str | None = None,
        arguments: Mapping[str, Any] | None = None,
    ) -> None:
        """Declare an exchange: direct, fanout, topic, headers, or another type of the server (exchange.declare)."""
        await self.call(ExchangeDeclare(exchange, type, alternate_exchange, passive, durable, auto_delete, arguments))

    async def delete_exchange(self, exchange: str, *, if_unused: bool = False) -> None:
        """Delete an exchange (exchange.delete)."""
        await self.call(ExchangeDelete(exchange, if_unused))

    # Receiving.

    async def get(self, queue: str) -> ReceivedMessage | None:
        """Fetch one message, or None if the queue has none to give: subscribes with credit for one, and cancels.

        >>> async def example(session: Session) -> None:
        ...     received = await session.get("jobs")
        ...     if received is not None:
        ...         await received.accept()
        """
        async with self.subscribe(queue, credit=0, flow_mode=CREDIT) as subscription:
            await subscription.grant(1)
            await subscription.flush()
            return await subscription.fetch() if inbox_of(subscription).items else None

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

        >>> async def example(session: Session) -> None:
        ...     async with session.subscribe("jobs", credit=10) as subscription:
        ...         async for received in subscription:
        ...             await received.accept()
        """
        if flow_mode not in (WINDOW, CREDIT):
            raise ValueError(f"there is no flow mode {flow_mode}: give WINDOW or CREDIT")
        if credit < 0:
            raise ValueError(f"credit {credit} is below 0")

        def command(name: str) -> MessageSubscribe:
            return MessageSubscribe(queue, name, accept_mode, acquire_mode, exclusive, None, None, arguments)

        return Opening(lambda: open_subscription(self, self._state, destination, command, flow_mode, credit, octets))

    async def accept(self, *messages: ReceivedMessage | int) -> None:
        """Accept messages, given as such or by number, in one command (message.accept).

        >>> async def example(session: Session, subscription: Subscription) -> None:
        ...     found = [await subscription.fetch(timeout=0.01) for _ in range(10)]
        ...     await session.accept(*[each for each in found if each is not None])
        """
        if messages:
            ids = await self._ids(messages)
            self._settle(self._state.core.accept, ids)
            self._told("accepted", messages)

    async def reject(self, *messages: ReceivedMessage | int, code: int = 0, text: str = "") -> None:
        """Refuse messages for good (message.reject); see `ReceivedMessage.reject`."""
        if messages:
            ids = await self._ids(messages)
            self._settle(self._state.core.reject, ids, code=code, text=text or None)
            self._told("rejected", messages)

    async def release(self, *messages: ReceivedMessage | int, set_redelivered: bool = False) -> None:
        """Return messages, to be delivered again (message.release)."""
        if messages:
            ids = await self._ids(messages)
            self._settle(self._state.core.release, ids, set_redelivered=set_redelivered)
            self._told("released", messages)

    async def acquire(self, *messages: ReceivedMessage | int) -> SequenceSet | tuple[()]:
        """Acquire messages that came unacquired; return the numbers of those still available (message.acquire)."""
        if not messages:
            return ()
        ids = await self._ids(messages)
        result: Acquired = await self._state.result(
            self._settle(self._state.core.acquire, ids), None, "message.acquire"
        )
        return result.transfers or ()

    # Transactions.

    def transaction(self) -> Transaction:
        """Return a transaction, as an async context: it commits at the end, and rolls back if an exception leaves it
        (class tx).

        It covers everything published and accepted on the session, which is selected for transactions the first time:
        from then on, operations outside of such a context take effect only when the next one commits.

        >>> async def example(session: Session, subscription: Subscription) -> None:
        ...     async with session.transaction():
        ...         received = await subscription.fetch()
        ...         if received is not None:
        ...             await session.publish(received.message, "answers")
        ...             await received.accept()
        """
        return Transaction(self, self._state)

    def branch(self, xid: Xid, *, join: bool = False, resume: bool = False) -> Branch:
        """Return a branch of a distributed transaction (class dtx): within its async context the session works for it;
        its other methods can be called on any session of the server.

        >>> async def example(session: Session, xid: Xid) -> None:
        ...     async with session.branch(xid) as branch:
        ...         await session.publish(b"hello", routing_key="jobs")
        ...     await branch.prepare()
        ...     await branch.commit()
        """
        return Branch(self, self._state, xid, join=join, resume=resume)

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
        state = self._state
        ended = None if state.error is None else state.client.for_caller(state.error)
        return open_stream(self._client, state.streams, kinds, limit, ended)

    def complete(self, command_id: int, result: Struct | None = None) -> None:
        """Complete a command of the server. Raises LocalProtocolError if it doesn't wait for that, SessionEnded."""
        self._state.complete(command_id, result)

    def fail(self, error: ExecutionError, command_id: int | None = None) -> None:
        """Refuse a command of the server, which ends the session (execution.exception)."""
        self._state.guarded(self._state.core.fail, error, command_id)

    # Its end.

    async def request_timeout(self, seconds: int | None) -> int | None:
        """Ask for the session to be kept that long when it is detached, None: forever; return the granted time
        (session.request-timeout).
        """
        state = self._state
        await state.client.until_restored()
        asked = state.guarded(state.core.request_timeout, seconds)
        granted = await state.result(asked, None, "session.request-timeout")
        if state.asked is not None:
            state.asked = state.asked[0], seconds
        return granted

    async def detach(self) -> SessionState:
        """Leave the channel without ending the session, and return the state to continue with:
        `connection.resume_session(state)`. Waiting callers get SessionEnded. Raises AnswerTimeout after `close_timeout`
        seconds: the session is given up, and has no state to continue with before its connection has ended.

        Raises LocalProtocolError for a session without `timeout`, which isn't kept.

        >>> async def example(session: Session, state: SessionState) -> None:
        ...     if session.timeout != 0:
        ...         state = await session.detach()
        """
        state = self._state
        await state.client.until_restored()
        state.check_open()
        if self.timeout == 0:
            raise LocalProtocolError("a session with the timeout 0 can't be resumed; close it")
        state.begin()

        async def end() -> None:
            state.leaving = True
            state.guarded(state.core.detach)
            await state.wait_closed()

        await self._client.leave(state, f"session.detach of {self.name!r}", end)
        return self.detached_state()

    def detached_state(self) -> SessionState:
        """Return this end's state of the session once it is detached, or its connection is lost. It pickles; give it to
        `resume_session`, once.

        Raises LocalProtocolError while it is attached, EndpointClosed if it ended for good.
        """
        return self._state.core.detached_state()

    async def close(self) -> CloseReport:
        """End the session for good, once the server has executed everything sent, or after half of `close_timeout`;
        return how it ended. On an ended session this does nothing. Raises AnswerTimeout after `close_timeout` seconds:
        the session is given up.
        """
        await self._leave(None)
        return await self._state.wait_closed()

    async def wait_closed(self) -> CloseReport:
        """Wait until the session is detached, by either side; return how it ended."""
        return await self._state.wait_closed()

    async def __aenter__(self) -> Session:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        # A caller that only leaves the context hasn't seen why the session had ended before.
        await self._leave(error)

    def __repr__(self) -> str:
        name = self.name.decode("utf-8", "backslashreplace")
        report = self._state.report
        state = "open" if self.is_open else f"closed: {report}" if report else "opening"
        return f"<Session {name!r} on channel {self.channel}, {state}>"

    # Internals.

    async def _leave(self, error: BaseException | None) -> None:
        await self._client.leave(self._state, f"session.detach of {self.name!r}", self._end, error)

    async def _end(self) -> None:
        """End the session, and wait for that."""
        state = self._state
        try:
            if self.is_open and state.error is None:
                # The session is left in any case.
                with suppress(EndpointClosed, LimitExceeded):
                    await self._publisher.executed(self._client.end_limit / 2)
        finally:
            state.leave()
        await state.wait_detached()

    def _settle(self, step: Callable[..., Pending[_R]], ids: list[int], **fields: Any) -> Pending[_R]:
        """Send a command about messages, behind earlier acceptances."""
        self._state.begin()
        return self._state.guarded(step, *ids, **fields)

    def _told(self, outcome: str, messages: tuple[ReceivedMessage | int, ...]) -> None:
        self._client.metrics.settled(outcome, len(messages))
        if self._client.hooks is not None:
            self._client.hooks.settled(outcome, messages)

    async def _ids(self, messages: tuple[ReceivedMessage | int, ...]) -> list[int]:
        """Return the messages' numbers once the session is attached. Raises StaleDelivery."""
        await self._client.until_restored()
        for each in messages:
            if not isinstance(each, int):
                each.check_current()
        return [each if isinstance(each, int) else each.command_id for each in messages]


__all__ = ["Session"]
