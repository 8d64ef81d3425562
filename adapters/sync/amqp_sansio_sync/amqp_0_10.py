"""Connections of 0-10, blocking: sessions that outlive their connection, subscriptions, transactions.

Generated; edit the generator, tools/codegen/blocking.py, or amqp_sansio.client.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal, TypeVar, overload

from amqp_sansio.amqp_0_10 import MessageReceived
from amqp_sansio.amqp_0_10.spec import EXPLICIT, PRE_ACQUIRED, WINDOW
from amqp_sansio.client.amqp_0_10 import connection as connections
from amqp_sansio.client.amqp_0_10 import publishing
from amqp_sansio.client.amqp_0_10 import session as sessions
from amqp_sansio.client.amqp_0_10 import subscription as subscriptions
from amqp_sansio.client.amqp_0_10 import transaction as transactions
from amqp_sansio.client.amqp_0_10.publishing import Outcome
from amqp_sansio.client.amqp_0_10.settings import ConfigOptions
from amqp_sansio.errors import SessionEnded
from amqp_sansio.events import CloseReport, Event

from .blocking import BaseConnection, Blocking, EventStream, Timed, inners_of, opened
from .processing import Processed

if TYPE_CHECKING:
    from amqp_sansio.amqp_0_10 import Connection as CoreConnection
    from amqp_sansio.amqp_0_10 import (
        DeliveryProperties,
        ExecutionError,
        Headers,
        Map,
        Message,
        MessageProperties,
        SequenceSet,
        SessionState,
    )
    from amqp_sansio.amqp_0_10 import Session as CoreSession
    from amqp_sansio.amqp_0_10.spec import Command, QueueQueryResult, Struct, Xid

    from .driver import Driver

_R = TypeVar("_R")
_E = TypeVar("_E", bound=Event)


class Transaction(Timed[transactions.Transaction]):
    """A transaction of one session, returned by `session.transaction()`.

    As a context it commits at the end, and rolls back if an exception leaves it. After a rollback the messages it
    accepted are unsettled again (tx.rollback). Raises LocalProtocolError while another one of the session is open,
    SessionEnded if the session ends: then everything uncommitted is rolled back. On a connection that recovers, it
    raises TransactionFailed if the connection was lost since it began.
    """

    __slots__ = ()
    _END = "the commit or rollback"

    @property
    def ended(self) -> bool:
        """Whether it was committed or rolled back, successfully or not."""
        return self._inner.ended

    def begin(self, timeout: float | None = None) -> None:
        """Begin it; entering the context does."""
        self._driver.run(self._inner.begin(), self._seconds(timeout), "begin")

    def commit(self, timeout: float | None = None) -> None:
        """Make everything done in it effective (tx.commit)."""
        self._driver.run(self._inner.commit(), self._seconds(timeout), "the commit")

    def rollback(self, timeout: float | None = None) -> None:
        """Undo everything done in it (tx.rollback)."""
        self._driver.run(self._inner.rollback(), self._seconds(timeout), "the rollback")


class Branch(Timed[transactions.Branch]):
    """A branch of a distributed transaction, returned by `session.branch(xid)`.

    As a context the session works for it from `start` to `end`, which fails it if an exception leaves the context.
    Afterwards `prepare`, `commit` and `rollback` settle it, also on a `branch` of the same xid of another session.
    Raises TransactionFailed, whose `error` is the XaResult, if the server has rolled it back, or decided on it itself;
    SessionEnded for an illegal command, such as with an unknown xid.
    """

    __slots__ = ()

    @property
    def xid(self) -> Xid:
        """The name of the distributed transaction's branch."""
        return self._inner.xid

    def start(self, timeout: float | None = None) -> None:
        """Let the session work for the branch (dtx.start): a new one, with `join` one that another session has started,
        with `resume` one that this session has suspended.
        """
        self._driver.run(self._inner.start(), self._seconds(timeout), "start")

    def end(self, *, fail: bool = False, suspend: bool = False, timeout: float | None = None) -> None:
        """End the session's work for the branch (dtx.end): with `fail` it can only be rolled back, with `suspend` the
        same session will resume it.
        """
        self._driver.run(self._inner.end(fail=fail, suspend=suspend), self._seconds(timeout), "end")

    def prepare(self, timeout: float | None = None) -> bool:
        """Make sure that it can be committed (dtx.prepare); False if it did nothing, and needs no commit."""
        return self._driver.run(self._inner.prepare(), self._seconds(timeout), "prepare")

    def commit(self, *, one_phase: bool = False, timeout: float | None = None) -> None:
        """Make its work effective (dtx.commit); with `one_phase` without `prepare` before."""
        self._driver.run(self._inner.commit(one_phase=one_phase), self._seconds(timeout), "the commit")

    def rollback(self, timeout: float | None = None) -> None:
        """Undo its work (dtx.rollback)."""
        self._driver.run(self._inner.rollback(), self._seconds(timeout), "the rollback")

    def forget(self, timeout: float | None = None) -> None:
        """Let the server forget a branch that it decided on its own (dtx.forget)."""
        self._driver.run(self._inner.forget(), self._seconds(timeout), "forget")

    def get_timeout(self, timeout: float | None = None) -> int:
        """Return the seconds until the server rolls it back, unless it is prepared (dtx.get-timeout)."""
        return self._driver.run(self._inner.get_timeout(), self._seconds(timeout), "get_timeout")

    def set_timeout(self, seconds: int, *, timeout: float | None = None) -> None:
        """Set that time (dtx.set-timeout)."""
        self._driver.run(self._inner.set_timeout(seconds), self._seconds(timeout), "set_timeout")


class SentMessage(Blocking[publishing.SentMessage]):
    """A message in transit, or another command that waits for its answer: ask `result` for its outcome or result, any
    number of times.

    A message has the outcome Accepted, Rejected or Released; with accept-mode none the result is None, once it is
    executed. Interrupting the wait doesn't take it back. Raises SessionEnded; if that is `resumable`, the resumed
    session has it in `pending`.
    """

    __slots__ = ()

    @property
    def command_id(self) -> int:
        """Its number in the session, which survives connections."""
        return self._inner.command_id

    @property
    def done(self) -> bool:
        """Whether its result is known."""
        return self._inner.done

    def result(self, timeout: float | None = None) -> Any:
        """Wait for its outcome or result, and return it."""
        return self._driver.run(self._inner.result(), timeout, "the outcome")


class ReceivedMessage(Processed, Blocking[subscriptions.ReceivedMessage]):
    """A received message. Settle it once with `accept`, `reject` or `release`, unless its sender doesn't wait for that
    (accept-mode none).

    These return when the command is queued; `session.sync` waits for its execution. They raise LocalProtocolError for a
    message that doesn't wait for it, SessionEnded if the session is gone: then `release` or `accept` of a resumed
    session take the message too.

    >>> def example(subscription: Subscription) -> None:
    ...     received = subscription.fetch(timeout=5)
    ...     if received is not None and received.redelivered:
    ...         received.reject(text="not again")
    ...     elif received is not None:
    ...         received.accept()
    """

    __slots__ = ("session",)

    def __init__(self, driver: Driver, inner: subscriptions.ReceivedMessage, session: Session) -> None:
        super().__init__(driver, inner)
        self.session = session

    @property
    def context(self) -> Any:
        """The value that the hook `on_deliver` returned for it; there is none without the hook."""
        return self._inner.context

    @property
    def event(self) -> MessageReceived:
        """The core's event."""
        return self._inner.event

    @property
    def body(self) -> bytes:
        """The message's body."""
        return self._inner.body

    @property
    def headers(self) -> Headers:
        """All properties, decoded on access, which may raise CodecError."""
        return self._inner.headers

    @property
    def message(self) -> Message:
        """The message, suitable for sending it on unchanged."""
        return self._inner.message

    @property
    def delivery_properties(self) -> DeliveryProperties:
        """Exchange, routing key, priority and so on; empty if there are none."""
        return self._inner.delivery_properties

    @property
    def message_properties(self) -> MessageProperties:
        """Message-id, content type, application headers and so on; empty if there are none."""
        return self._inner.message_properties

    @property
    def exchange(self) -> str:
        """The exchange it was published to; empty for the default exchange."""
        return self._inner.exchange

    @property
    def routing_key(self) -> str:
        """The routing key it was published with."""
        return self._inner.routing_key

    @property
    def application_headers(self) -> dict[str, Any]:
        """The application's own fields as a plain dict, with plain dicts and lists within; empty without any."""
        return self._inner.application_headers

    @property
    def text(self) -> str:
        """The body as text in UTF-8. Raises UnicodeDecodeError."""
        return self._inner.text

    def json(self) -> Any:
        """Return the body's JSON value. Raises ValueError if it has none."""
        return self._driver.do(self._inner.json)

    @property
    def redelivered(self) -> bool:
        """Whether it may have been delivered before."""
        return self._inner.redelivered

    @property
    def command_id(self) -> int:
        """The number of its transfer in the session, which survives connections."""
        return self._inner.command_id

    @property
    def destination(self) -> str:
        """The name of its subscription."""
        return self._inner.destination

    @property
    def accepts(self) -> bool:
        """Whether its sender waits for it to be accepted, rejected or released."""
        return self._inner.accepts

    @property
    def acquired(self) -> bool:
        """Whether it came acquired; otherwise it must be acquired before it can be accepted."""
        return self._inner.acquired

    def accept(self, timeout: float | None = None) -> None:
        """Accept it (message.accept)."""
        self._driver.run(self._inner.accept(), timeout, "accept")

    def reject(self, code: int = 0, text: str = "", *, timeout: float | None = None) -> None:
        """Reject it for good; its queue's alternate exchange gets it (message.reject). `code` 0: unspecified, 1:
        unroutable, 2: immediate.
        """
        self._driver.run(self._inner.reject(code, text), timeout, "reject")

    def release(self, *, set_redelivered: bool = False, timeout: float | None = None) -> None:
        """Return it, to be delivered again (message.release)."""
        self._driver.run(self._inner.release(set_redelivered=set_redelivered), timeout, "release")

    def acquire(self, timeout: float | None = None) -> bool:
        """Acquire a message that came unacquired; return whether it was still available (message.acquire)."""
        return self._driver.run(self._inner.acquire(), timeout, "acquire")

    def check_current(self) -> None:
        """Raise StaleDelivery if its session was lost since, and couldn't be resumed."""
        self._driver.do(self._inner.check_current)


class Subscription(Blocking[subscriptions.Subscription]):
    """Messages of one queue, from `session.subscribe()`: an iterator of `ReceivedMessage`. `close` it, or leave its
    context.

    With `credit` above 0 at most that many messages wait here, and with `octets` at most that many octets: taking
    messages grants credit for more. With 0 you `grant` it. The iteration ends after `close`, and raises SessionEnded
    when the session ends.
    """

    __slots__ = ("session", "timeout")
    _END = "the end of the subscription"

    def __init__(
        self, driver: Driver, inner: subscriptions.Subscription, session: Session, timeout: float | None
    ) -> None:
        super().__init__(driver, inner)
        self.session = session
        self.timeout = timeout

    def __iter__(self) -> Subscription:
        return self

    def __next__(self) -> ReceivedMessage:
        try:
            found = self._driver.run(self._inner.__anext__(), self.timeout, f"a message of {self.destination!r}")
        except StopAsyncIteration:
            raise StopIteration from None
        return ReceivedMessage(self._driver, found, self.session)

    @property
    def destination(self) -> str:
        """Its name in the session."""
        return self._inner.destination

    @property
    def is_open(self) -> bool:
        """Whether messages may still come."""
        return self._inner.is_open

    @property
    def granted(self) -> tuple[int | None, int | None]:
        """The messages and octets that the peer may still send; None: any number."""
        return self._inner.granted

    def fetch(self, timeout: float | None = None) -> ReceivedMessage | None:
        """Return the next message; None if there is none within `timeout` seconds (None: wait).

        Without credit it grants credit for one message, and takes it back after the timeout; such a subscription should
        have the flow mode CREDIT, so that taking a message grants nothing. Raises SessionEnded.

        >>> def example(subscription: Subscription) -> None:
        ...     received = subscription.fetch(timeout=5)
        ...     if received is not None:
        ...         received.accept()
        """
        found = self._driver.run(self._inner.fetch(timeout), None, "fetch")
        return None if found is None else ReceivedMessage(self._driver, found, self.session)

    def grant(self, messages: int | None, octets: int | None = None, *, timeout: float | None = None) -> None:
        """Let the peer send `messages` more messages of `octets` more octets (None: any number, until `stop`). For
        subscriptions with `credit=0`. In window mode each message taken returns its credit.

        >>> def example(subscription: Subscription) -> None:
        ...     subscription.grant(100)
        ...     subscription.flush()
        ...     print(subscription.granted, "is what may still come")
        """
        self._driver.run(self._inner.grant(messages, octets), timeout, "grant")

    def flush(self, timeout: float | None = None) -> None:
        """Let the peer send its available messages within the credit, and discard the rest of the credit
        (message.flush). Received messages are iterated as usual. Raises SessionEnded.
        """
        self._driver.run(self._inner.flush(), timeout, "flush")

    def stop(self, timeout: float | None = None) -> None:
        """Take all credit back (message.stop); `grant` grants new credit. Raises SessionEnded."""
        self._driver.run(self._inner.stop(), timeout, "stop")

    def close(self, timeout: float | None = None) -> None:
        """Cancel the subscription and wait for the peer's answer, after which no message comes. Untaken messages are
        returned. On an ended subscription this does nothing. Raises AnswerTimeout after `close_timeout` seconds: the
        subscription is given up.
        """
        return self._driver.end(lambda: self._inner.close(), timeout, "close")


class Session(Blocking[sessions.Session]):
    """One session, returned by `connection.open_session()` or `resume_session()`. `close` it, or leave its context; its
    subscriptions end with it.

    If the server can't execute a command it ends the session: waiting callers get SessionEnded, with the `code` and
    `condition` of execution.exception. If the connection is lost and the session has a `timeout`, SessionEnded is
    `resumable`. A command that isn't answered within `answer_timeout` seconds raises AnswerTimeout.
    """

    __slots__ = ()
    _END = "the end of the session"

    @property
    def core(self) -> CoreSession:
        """The session of the core, for its properties, such as `credit`. Don't call its commands."""
        return self._inner.core

    @property
    def subscriptions(self) -> dict[str, Subscription]:
        """Its subscriptions that aren't closed, by destination; after `resume_session` those of earlier attachments."""
        with self._driver.lock:
            found = self._inner.subscriptions
        return {key: Subscription(self._driver, each, self, None) for key, each in found.items()}

    @property
    def name(self) -> bytes:
        """Its name, unique among the user's sessions."""
        return self._inner.name

    @property
    def channel(self) -> int:
        """The channel it is attached to."""
        return self._inner.channel

    @property
    def is_open(self) -> bool:
        """Whether it takes commands."""
        return self._inner.is_open

    @property
    def timeout(self) -> int | None:
        """Seconds for which both ends keep it when it is detached; None: forever, 0: not."""
        return self._inner.timeout

    @property
    def report(self) -> CloseReport | None:
        """Why it ended, once it has."""
        return self._inner.report

    @property
    def pending(self) -> Mapping[int, SentMessage]:
        """Publishes and other commands that wait for an outcome or answer, by number; after `resume_session` including
        those of earlier attachments.
        """
        with self._driver.lock:
            found = self._inner.pending
        return {key: SentMessage(self._driver, each) for key, each in found.items()}

    @property
    def unsettled(self) -> tuple[int, ...]:
        """The numbers of the messages taken here, including before the session was resumed, that wait for `accept`,
        `reject` or `release`.
        """
        with self._driver.lock:
            return self._inner.unsettled

    def call(self, command: Command[_R], message: Message | None = None, *, timeout: float | None = None) -> _R:
        """Send a command and return its result once the server has executed it; None for those without one.

        `message` is the content of file.stage, stream.publish and others. Raises SessionEnded if the server can't
        execute it, LocalProtocolError for an illegal command, LimitExceeded, CodecError.

        >>> from amqp_sansio.amqp_0_10.spec import QueueDeclare, QueueQuery
        >>> def example(session: Session) -> int | None:
        ...     session.call(QueueDeclare("jobs", durable=True))
        ...     return (session.call(QueueQuery("jobs"))).message_count
        """
        return self._driver.run(self._inner.call(command, message), timeout, command.NAME)

    def sync(self, timeout: float | None = None) -> None:
        """Wait until the server has executed everything sent before (execution.sync). Raises SessionEnded."""
        self._driver.run(self._inner.sync(), timeout, "execution.sync")

    @overload
    def publish(
        self,
        message: Message | bytes,
        exchange: str = "",
        routing_key: str | None = None,
        *,
        accept_mode: int = EXPLICIT,
        wait: Literal[True] = True,
        timeout: float | None = None,
    ) -> Any: ...
    @overload
    def publish(
        self,
        message: Message | bytes,
        exchange: str = "",
        routing_key: str | None = None,
        *,
        accept_mode: int = EXPLICIT,
        wait: Literal[False],
        timeout: float | None = None,
    ) -> SentMessage: ...
    @overload
    def publish(
        self,
        message: Message | bytes,
        exchange: str = "",
        routing_key: str | None = None,
        *,
        accept_mode: int = EXPLICIT,
        wait: bool,
        timeout: float | None = None,
    ) -> Any: ...
    def publish(
        self,
        message: Message | bytes,
        exchange: str = "",
        routing_key: str | None = None,
        *,
        accept_mode: int = EXPLICIT,
        wait: bool = True,
        timeout: float | None = None,
    ) -> Any:
        """Send a message to an exchange ("": the default one, whose routing keys are queues) and return its outcome:
        Accepted, Rejected or Released (message.transfer).

        `bytes` are the body of a message without properties. `routing_key` replaces the message's own, None leaves it.
        With the accept-mode NONE it waits only for the execution, and returns None. It waits while the server reads too
        slowly or gives no credit; with `wait=False` not for the outcome: the result is a `SentMessage` to ask later. A
        publish that is interrupted may have been sent. Raises SessionEnded if the session ends, LocalProtocolError and
        CodecError for a message that can't be sent.

        >>> def example(session: Session) -> None:
        ...     outcome = session.publish(b"hello", routing_key="jobs")
        ...     later = [session.publish(b"more", "", "jobs", wait=False) for _ in range(9)]
        ...     outcomes = [sent.result() for sent in later]
        """
        operation = self._inner.publish(message, exchange, routing_key, accept_mode=accept_mode, wait=wait)
        found = self._driver.run(operation, timeout, "the outcome", True)
        return SentMessage(self._driver, found) if isinstance(found, publishing.SentMessage) else found

    def publish_text(
        self,
        text: str,
        exchange: str = "",
        routing_key: str | None = None,
        *,
        headers: Mapping[str, Any] | None = None,
        accept_mode: int = EXPLICIT,
        timeout: float | None = None,
    ) -> Any:
        """Publish text in UTF-8, with the content type text/plain and application `headers`; see `publish`."""
        operation = self._inner.publish_text(text, exchange, routing_key, headers=headers, accept_mode=accept_mode)
        return self._driver.run(operation, timeout, "publish_text", True)

    def publish_json(
        self,
        value: Any,
        exchange: str = "",
        routing_key: str | None = None,
        *,
        headers: Mapping[str, Any] | None = None,
        accept_mode: int = EXPLICIT,
        timeout: float | None = None,
    ) -> Any:
        """Publish a value as JSON, with the content type application/json and application `headers`; see `publish`.

        Raises TypeError for a value that JSON hasn't.
        """
        operation = self._inner.publish_json(value, exchange, routing_key, headers=headers, accept_mode=accept_mode)
        return self._driver.run(operation, timeout, "publish_json", True)

    def request(
        self,
        message: Message | bytes,
        exchange: str = "",
        routing_key: str | None = None,
        *,
        timeout: float | None = None,
    ) -> ReceivedMessage:
        """Publish a request and return its reply, a message with the same correlation-id on a queue for replies.

        It sets reply-to, and a correlation-id where there is none. The queue is an exclusive one of this session;
        replies need no settlement. Any number of threads may call at once. Give it a `timeout`: a reply that comes too
        late is dropped. Raises NotAccepted for a request that no queue took, SessionEnded.
        """
        found = self._driver.run(self._inner.request(message, exchange, routing_key), timeout, "request")
        return ReceivedMessage(self._driver, found, self)

    def declare_queue(
        self,
        queue: str = "",
        *,
        passive: bool = False,
        durable: bool = False,
        exclusive: bool = False,
        auto_delete: bool = False,
        alternate_exchange: str | None = None,
        arguments: Mapping[str, Any] | None = None,
        timeout: float | None = None,
    ) -> QueueQueryResult:
        """Declare a queue, or with `passive` only look whether it is there (queue.declare, queue.query).

        Return its name, which is a unique one for "", and how many messages and subscribers it has. Raises
        SessionEnded if the server refuses.
        """
        operation = self._inner.declare_queue(
            queue,
            passive=passive,
            durable=durable,
            exclusive=exclusive,
            auto_delete=auto_delete,
            alternate_exchange=alternate_exchange,
            arguments=arguments,
        )
        return self._driver.run(operation, timeout, "declare_queue")

    def delete_queue(
        self, queue: str, *, if_unused: bool = False, if_empty: bool = False, timeout: float | None = None
    ) -> None:
        """Delete a queue (queue.delete)."""
        operation = self._inner.delete_queue(queue, if_unused=if_unused, if_empty=if_empty)
        self._driver.run(operation, timeout, "delete_queue")

    def purge_queue(self, queue: str, *, timeout: float | None = None) -> None:
        """Drop a queue's messages that aren't acquired (queue.purge)."""
        self._driver.run(self._inner.purge_queue(queue), timeout, "purge_queue")

    def bind_queue(
        self,
        queue: str,
        exchange: str,
        routing_key: str = "",
        *,
        arguments: Mapping[str, Any] | None = None,
        timeout: float | None = None,
    ) -> None:
        """Let an exchange send messages to a queue; the routing key is the binding's name too (exchange.bind)."""
        operation = self._inner.bind_queue(queue, exchange, routing_key, arguments=arguments)
        self._driver.run(operation, timeout, "bind_queue")

    def unbind_queue(self, queue: str, exchange: str, routing_key: str = "", *, timeout: float | None = None) -> None:
        """Undo `bind_queue` with the same routing key (exchange.unbind)."""
        self._driver.run(self._inner.unbind_queue(queue, exchange, routing_key), timeout, "unbind_queue")

    def declare_exchange(
        self,
        exchange: str,
        type: str = "direct",
        *,
        passive: bool = False,
        durable: bool = False,
        auto_delete: bool = False,
        alternate_exchange: str | None = None,
        arguments: Mapping[str, Any] | None = None,
        timeout: float | None = None,
    ) -> None:
        """Declare an exchange: direct, fanout, topic, headers, or another type of the server (exchange.declare)."""
        operation = self._inner.declare_exchange(
            exchange,
            type,
            passive=passive,
            durable=durable,
            auto_delete=auto_delete,
            alternate_exchange=alternate_exchange,
            arguments=arguments,
        )
        self._driver.run(operation, timeout, "declare_exchange")

    def delete_exchange(self, exchange: str, *, if_unused: bool = False, timeout: float | None = None) -> None:
        """Delete an exchange (exchange.delete)."""
        self._driver.run(self._inner.delete_exchange(exchange, if_unused=if_unused), timeout, "delete_exchange")

    def get(self, queue: str, *, timeout: float | None = None) -> ReceivedMessage | None:
        """Fetch one message, or None if the queue has none to give: subscribes with credit for one, and cancels.

        >>> def example(session: Session) -> None:
        ...     received = session.get("jobs")
        ...     if received is not None:
        ...         received.accept()
        """
        found = self._driver.run(self._inner.get(queue), timeout, "basic.get")
        return None if found is None else ReceivedMessage(self._driver, found, self)

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
        """Subscribe to a queue: use it as a context that cancels the subscription (message.subscribe).

        `destination` is its name in this session; None generates one. With the accept-mode NONE messages need no
        acceptance, with the acquire-mode NOT_ACQUIRED they stay in the queue until they are acquired. At most `credit`
        messages of `octets` octets (None: any number) wait here; with 0 you manage the credit. In the flow mode WINDOW,
        taking a message returns its credit; in CREDIT, new credit is granted when half is used. Raises SessionEnded if
        the server refuses.

        >>> def example(session: Session) -> None:
        ...     with session.subscribe("jobs", credit=10) as subscription:
        ...         for received in subscription:
        ...             received.accept()
        """
        operation = self._inner.subscribe(
            queue,
            destination=destination,
            accept_mode=accept_mode,
            acquire_mode=acquire_mode,
            credit=credit,
            octets=octets,
            flow_mode=flow_mode,
            exclusive=exclusive,
            arguments=arguments,
        )
        found = self._driver.run(opened(operation), timeout, "message.subscribe")
        return Subscription(self._driver, found, self, timeout)

    def accept(self, *messages: ReceivedMessage | int, timeout: float | None = None) -> None:
        """Accept messages, given as such or by number, in one command (message.accept).

        >>> def example(session: Session, subscription: Subscription) -> None:
        ...     found = [subscription.fetch(timeout=0.01) for _ in range(10)]
        ...     session.accept(*[each for each in found if each is not None])
        """
        self._driver.run(self._inner.accept(*inners_of(messages)), timeout, "accept")

    def reject(
        self, *messages: ReceivedMessage | int, code: int = 0, text: str = "", timeout: float | None = None
    ) -> None:
        """Refuse messages for good (message.reject); see `ReceivedMessage.reject`."""
        self._driver.run(self._inner.reject(*inners_of(messages), code=code, text=text), timeout, "reject")

    def release(
        self, *messages: ReceivedMessage | int, set_redelivered: bool = False, timeout: float | None = None
    ) -> None:
        """Return messages, to be delivered again (message.release)."""
        self._driver.run(self._inner.release(*inners_of(messages), set_redelivered=set_redelivered), timeout, "release")

    def acquire(self, *messages: ReceivedMessage | int, timeout: float | None = None) -> SequenceSet | tuple[()]:
        """Acquire messages that came unacquired; return the numbers of those still available (message.acquire)."""
        return self._driver.run(self._inner.acquire(*inners_of(messages)), timeout, "acquire")

    def transaction(self, timeout: float | None = None) -> Transaction:
        """Return a transaction, as a context: it commits at the end, and rolls back if an exception leaves it (class
        tx).

        It covers everything published and accepted on the session, which is selected for transactions the first time:
        from then on, operations outside of such a context take effect only when the next one commits.

        >>> def example(session: Session, subscription: Subscription) -> None:
        ...     with session.transaction():
        ...         received = subscription.fetch()
        ...         if received is not None:
        ...             session.publish(received.message, "answers")
        ...             received.accept()
        """
        return Transaction(self._driver, self._inner.transaction(), timeout)

    def branch(self, xid: Xid, *, join: bool = False, resume: bool = False, timeout: float | None = None) -> Branch:
        """Return a branch of a distributed transaction (class dtx): within its context the session works for it; its
        other methods can be called on any session of the server.

        >>> def example(session: Session, xid: Xid) -> None:
        ...     with session.branch(xid) as branch:
        ...         session.publish(b"hello", routing_key="jobs")
        ...     branch.prepare()
        ...     branch.commit()
        """
        return Branch(self._driver, self._inner.branch(xid, join=join, resume=resume), timeout)

    def recover(self, timeout: float | None = None) -> list[Xid]:
        """Return the branches that are prepared, or completed heuristically (dtx.recover)."""
        return self._driver.run(self._inner.recover(), timeout, "recover")

    @overload
    def events(self, *, limit: int = 1000, timeout: float | None = None) -> EventStream[Event]: ...
    @overload
    def events(self, *kinds: type[_E], limit: int = 1000, timeout: float | None = None) -> EventStream[_E]: ...
    def events(self, *kinds: type[Any], limit: int = 1000, timeout: float | None = None) -> EventStream[Any]:
        """Return the session's other events: CreditChanged, CommandReceived and MessageBegun (answer them with
        `complete` or `fail`) and so on; only `kinds`, if given.

        Without a reader for CommandReceived or MessageBegun, such commands are refused, which ends the session.
        """
        return EventStream(self._driver, self._inner.events(*kinds, limit=limit), timeout)

    def complete(self, command_id: int, result: Struct | None = None) -> None:
        """Complete a command of the server. Raises LocalProtocolError if it doesn't wait for that, SessionEnded."""
        self._driver.do(self._inner.complete, command_id, result)

    def fail(self, error: ExecutionError, command_id: int | None = None) -> None:
        """Refuse a command of the server, which ends the session (execution.exception)."""
        self._driver.do(self._inner.fail, error, command_id)

    def request_timeout(self, seconds: int | None, *, timeout: float | None = None) -> int | None:
        """Ask for the session to be kept that long when it is detached, None: forever; return the granted time
        (session.request-timeout).
        """
        return self._driver.run(self._inner.request_timeout(seconds), timeout, "request_timeout")

    def detach(self, timeout: float | None = None) -> SessionState:
        """Leave the channel without ending the session, and return the state to continue with:
        `connection.resume_session(state)`. Waiting callers get SessionEnded. Raises AnswerTimeout after `close_timeout`
        seconds: the session is given up, and has no state to continue with before its connection has ended.

        Raises LocalProtocolError for a session without `timeout`, which isn't kept.

        >>> def example(session: Session, state: SessionState) -> None:
        ...     if session.timeout != 0:
        ...         state = session.detach()
        """
        return self._driver.run(self._inner.detach(), timeout, "detach")

    def detached_state(self) -> SessionState:
        """Return this end's state of the session once it is detached, or its connection is lost. It pickles; give it to
        `resume_session`, once.

        Raises LocalProtocolError while it is attached, EndpointClosed if it ended for good.
        """
        return self._driver.read(lambda: self._inner.detached_state())

    def close(self, timeout: float | None = None) -> CloseReport:
        """End the session for good, once the server has executed everything sent, or after half of `close_timeout`;
        return how it ended. On an ended session this does nothing. Raises AnswerTimeout after `close_timeout` seconds:
        the session is given up.
        """
        return self._driver.end(lambda: self._inner.close(), timeout, "the end of the session")

    def wait_closed(self, timeout: float | None = None) -> CloseReport:
        """Wait until the session is detached, by either side; return how it ended."""
        return self._driver.run(self._inner.wait_closed(), timeout, "the end of the session")


class Connection(BaseConnection[connections.Connection]):
    """A 0-10 connection, returned by `connect(url, version=AMQP_0_10)`. `close` it, or leave its context.

    Leaving the context without an exception raises a failure of the connection or of a session that no call has raised
    and no `report` has shown.

    >>> def example(connection: Connection) -> None:
    ...     session = connection.open_session("orders", timeout=300)
    ...     session.publish(b"hello", routing_key="jobs")
    """

    __slots__ = ()

    @property
    def core(self) -> CoreConnection:
        """The connection of the core, for its properties: negotiated limits, state. Don't call its commands."""
        return self._inner.core

    @property
    def peer_properties(self) -> Map:
        """The server's properties."""
        return self._inner.peer_properties

    @property
    def known_hosts(self) -> tuple[str, ...]:
        """Other addresses of the server, as it named them."""
        return self._inner.known_hosts

    def open_session(
        self,
        name: str | bytes | None = None,
        *,
        timeout: int | None = 0,
        force: bool = False,
        open_timeout: float | None = None,
    ) -> Session:
        """Attach a new session: use it as a context that closes the session.

        `name` must be unused by this user; None generates a unique one. `timeout` is the number of seconds for which
        both ends keep the session when it is detached, None: forever, 0: not at all; `session.timeout` is the value
        that the peer grants. `force` takes the name from another connection. Raises LimitExceeded if all channels are
        in use, SessionEnded with the reason if the peer refuses.

        >>> def example(connection: Connection) -> None:
        ...     with connection.open_session() as session:
        ...         session.publish(b"hello", routing_key="jobs")
        """
        operation = self._inner.open_session(name, timeout=timeout, force=force)
        found = self._driver.run(opened(operation), open_timeout, "the begin")
        return Session(self._driver, found)

    def resume_session(self, state: SessionState, *, force: bool = True, open_timeout: float | None = None) -> Session:
        """Attach a session again, on this connection or another: `state` is its `detached_state()`.

        Once it is open, both ends know what the other has received, and everything in doubt is sent again: nothing is
        lost, and nothing executed twice. `session.pending` are the calls and publishes that still wait for an answer,
        `session.subscriptions` the subscriptions, with untaken messages. `force` takes the session from a connection
        that the peer still considers alive. Raises SessionEnded; if it is `resumable`, you may try again.

        >>> def example(connection: Connection, state: SessionState) -> None:
        ...     session = connection.resume_session(state)
        ...     for sent in session.pending.values():
        ...         print(sent.result())
        """
        found = self._driver.run(opened(self._inner.resume_session(state, force=force)), open_timeout, "the attach")
        return Session(self._driver, found)

    def close(self, code: int = 200, text: str = "", *, timeout: float | None = None) -> CloseReport:
        """Close with a handshake of at most `close_timeout` seconds; return how the connection ended. Sessions with a
        timeout can be resumed. On a closed connection this does nothing.
        """
        return self._close(lambda: self._inner.close(code, text), timeout)


__all__ = [
    "Branch",
    "ConfigOptions",
    "Connection",
    "Outcome",
    "ReceivedMessage",
    "SentMessage",
    "Session",
    "SessionEnded",
    "Subscription",
    "Transaction",
]
