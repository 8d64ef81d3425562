"""Frontend_0_10: one 0-10 connection, from login to end (0-10 classes 1 and 2)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Final

from ....amqp_0_10 import spec
from ....amqp_0_10.codec.records import MessageFlush
from ....amqp_0_10.endpoint.connection import Connection
from ....amqp_0_10.endpoint.events import (
    CommandReceived,
    CreditChanged,
    MessageReceived,
    Resumed,
    SessionClosed,
    SessionRequested,
)
from ....amqp_0_10.model.execution import ILLEGAL_ARGUMENT, NOT_IMPLEMENTED, ExecutionError
from ....endpoint import CloseHint
from ....errors import CodecError, EndpointClosed, LimitExceeded, Scope
from ....events import AuthenticationRequested, Failed, Opened, OpenRequested, ScramKeysRequested, Settled, Signal
from ...contents.amqp_0_10 import check_values
from ...model.commands import OpenOwner, SetWindow
from ...model.effects import Cancelled, Deliver
from ...model.faults import Fault, Postponed
from . import declaring, publishing, staging, subscribing, transacting
from .errors import error_of
from .sessions import Answer, ServedSession, SessionFrontend

if TYPE_CHECKING:
    from ....amqp_0_10.codec.record import Command
    from ....amqp_0_10.endpoint.session import Session
    from ....amqp_0_10.endpoint.session_state import SessionState
    from ...model.effects import Effect
    from ..frontend import ClientContext, HubContext
    from .sessions import Execute, Key

FORCED: Final = 320
INVALID_PATH: Final = 402
_MANY: Final = 256
"""Most publishes accepted by one command."""


class Frontend_0_10(SessionFrontend):
    """Serves a 0-10 client from the model."""

    __slots__ = ("client", "vhost")

    def __init__(self, hub: HubContext, number: int, connection: Connection, client: ClientContext) -> None:
        super().__init__(hub, number, connection)
        self.client = client
        self.vhost = ""

    def take_events(self) -> None:
        """Take the engine's events until there are none, and carry each out."""
        next_event, handlers = self.next_event, self._HANDLERS
        if self.attached and self.client.close_hint is CloseHint.CLOSE_NOW:
            # These sessions can't use deliveries any more; leave them to others, in order.
            for session in self.attached.values():
                self.hub.apply(SetWindow(session.gate, 0))
        while True:
            event = next_event()
            if isinstance(event, Signal):
                return
            handler = handlers.get(type(event))
            if handler is not None:
                self.ledger.room -= 1
                try:
                    handler(self, event)
                except Postponed:
                    self.postpone(event)
                    self.hub.settle()
                    return
                except LimitExceeded as error:
                    # The client sends requests without reading the answers.
                    self.client.connection_lost(f"the client reads too little: {error}", self.hub.now)
            self.hub.settle()

    def perform(self, effect: Effect) -> None:
        """Send a delivery; end a session whose queue is gone."""
        if isinstance(effect, Deliver):
            session = self.owned.get(effect.consumer.owner.number)
            if session is not None:
                subscribing.deliver(self, session, effect.consumer, effect.entry)
        elif isinstance(effect, Cancelled):
            session = self.owned.get(effect.consumer.owner.number)
            if session is not None:
                subscribing.cancelled(self, session, effect)

    def block(self, reason: str) -> None:
        """Stop the publishers of all sessions, because the broker is full."""
        for session in list(self.attached.values()):
            publishing.hold(self, session)

    def unblock(self) -> None:
        """Let them continue."""
        for session in list(self.held.values()):
            publishing.let_publish(self, session)

    def node_deleted(self, kind: str, name: str) -> None:
        """Do nothing: a command that names the node next gets not-found."""

    def caught_up(self) -> None:
        """Complete each message.flush that waited for the client to read."""
        for session in list(self.full.values()):
            subscribing.reopen(self, session)
        self.hub.settle()
        for session in list(self.attached.values()):
            subscribing.end_flushes(self, session)
        self.hub.settle()

    def shut_down(self, text: str) -> None:
        """Close the connection, because the broker ends."""
        self.connection.close(FORCED, text)

    def describe(self) -> tuple[str, str]:
        """Return the user and virtual host, "" before they are known."""
        return self.user, self.vhost

    # The connection.

    def _authenticate(self, event: AuthenticationRequested) -> None:
        client = self.client
        verdict = self.hub.settings.authenticate(
            event.credentials, is_secure=client.is_secure, peer_name=client.peer_name
        )
        if verdict.user:
            self.user = verdict.user
            self.connection.accept_authentication()
        else:
            self.connection.refuse_authentication()

    def _give_keys(self, event: ScramKeysRequested) -> None:
        self.connection.provide_scram_keys(self.hub.settings.scram_keys(event.mechanism, event.user))

    def _open(self, event: OpenRequested) -> None:
        settings = self.hub.settings
        name = event.vhost
        if not name and name not in settings.vhosts:
            # Clients that name none mean the one that always exists.
            name = "/"
        answer = settings.may_open(self.user, name)
        if answer == "unknown":
            self.connection.refuse_open(INVALID_PATH, f"there is no virtual host {event.vhost!r}")
        elif answer == "refused":
            text = f"user {self.user!r} may not open virtual host {event.vhost!r}"
            self.connection.refuse_open(FORCED, text)
        elif self.hub.is_closing:
            self.connection.refuse_open(FORCED, "the broker is shutting down")
        else:
            self.vhost = name
            self.connection.accept_open()

    # Sessions.

    def _attach(self, event: SessionRequested) -> None:
        key: Key = (self.vhost, self.user, event.name)
        register = self.register
        session = register.known.get(key)
        if session is not None and session.front is not None:
            if not event.force:
                self.connection.refuse_session(event.channel)
                return
            self._take_over(session)
            session = register.known.get(key)
        try:
            core = self.connection.accept_session(event.channel, None if session is None else session.state)
        except EndpointClosed:
            # The client is gone.
            return
        if session is None:
            session = ServedSession(key, self.hub.apply(OpenOwner(self.vhost, self.user)))
            register.known[key] = session
        register.attach(session, self, core)

    def _take_over(self, session: ServedSession) -> None:
        """Detach a session from its connection, which may be this one (session.attach, force).

        A session that isn't kept when detached ends.
        """
        front, core = session.front, session.core
        assert front is not None
        assert core is not None
        front.accept_of(session)
        core.let_go()
        self.register.detach(session, _kept(core))
        self.hub.touch(front.number)

    def _opened(self, event: Opened) -> None:
        if event.scope is Scope.SESSION:
            session = self.attached.get(event.channel)
            if session is not None:
                self.hub.apply(SetWindow(session.gate, None))

    def _resumed(self, event: Resumed) -> None:
        session = self.attached.get(event.channel)
        if session is None:
            return
        core = session.core
        assert core is not None
        for xid, committed in session.decisions:
            core.decide(xid, committed=committed)
        session.decisions.clear()
        self.accept_of(session)
        waiting = dict.fromkeys(core.incomplete)
        for each in event.incomplete:
            number: int | None = getattr(each, "command_id", None)
            if number is None or number not in waiting:
                continue
            if number in session.late:
                self.complete(session, number, session.late.pop(number))
            elif number in session.refused:
                code, text = session.refused.pop(number)
                publishing.reject(self, session, number, code, text)
            else:
                self._HANDLERS[type(each)](self, each)
            if session.is_over:
                return
        if any([each.consumer.is_cancelled for each in session.subscriptions.values()]):
            subscribing.queue_gone(self, session, "while the session was detached")
            return
        publishing.resume(self, session)
        subscribing.reopen(self, session)

    def _session_closed(self, event: SessionClosed) -> None:
        session = self.attached.get(event.channel)
        if session is not None and session.core is not None:
            self.register.detach(session, _kept(session.core) if event.resumable else None)

    def _failed(self, event: Failed) -> None:
        """A session broke a rule, or its client sent an exception."""
        session = self.attached.get(event.channel) if event.scope is Scope.SESSION else None
        if session is not None and session.core is not None and _kept(session.core) is None:
            self.register.end(session)

    # Events of sessions.

    def _settled(self, event: Settled) -> None:
        """After a completion there may be room again, and a message.stop or an accept may be complete."""
        for session in self.attached.values():
            self.accept_next(session)
        full = list(self.full.values())
        for session in full:
            subscribing.reopen(self, session)
        if full:
            self.hub.settle()
            for session in full:
                subscribing.end_flushes(self, session)
        for session in list(self.held.values()):
            publishing.let_publish(self, session)

    def _credit(self, event: CreditChanged) -> None:
        session = self.attached.get(event.channel)
        if session is not None:
            subscribing.credit_changed(self, session, event.destination)

    def _message(self, event: MessageReceived) -> None:
        session = self.attached.get(event.channel)
        if session is None:
            return
        self.publishes = True
        self._execute(session, event.transfer, event.command_id, publishing.transfer, event)
        if event.sync or len(session.taken) >= _MANY:
            self.accept_of(session)
        else:
            self.accept_next(session)

    def _command(self, event: CommandReceived) -> None:
        session = self.attached.get(event.channel)
        if session is None:
            return
        self.accept_of(session)
        if session.owner.number in self.full:
            subscribing.ask(session)
        command = event.command
        number = event.command_id
        run = _COMMANDS.get(type(command))
        if run is None:
            error = ExecutionError(NOT_IMPLEMENTED, f"{command.NAME} isn't for a broker")
            self.fail(session, error, number)
            return
        self._execute(session, command, number, run, event)

    def _execute(self, session: ServedSession, command: Command[Any], number: int, run: Execute, event: Any) -> None:
        try:
            # Maps are decoded on access: check them before anything is done.
            check_values(getattr(command, "arguments", None))
            result = run(self, session, command, event)
        except Fault as fault:
            error, field = error_of(command, fault)
            self.fail(session, error, number, field)
        except CodecError as error:
            text = f"{command.NAME}: its octets can't be decoded: {error}"
            self.fail(session, ExecutionError(ILLEGAL_ARGUMENT, text), number)
        except ExecutionError as error:
            self.fail(session, error, number)
        else:
            if isinstance(result, Answer):
                return
            self.complete(session, number, result)
            if isinstance(command, MessageFlush):
                # The completion takes the remaining credit.
                subscribing.credit_changed(self, session, command.destination or "")

    _HANDLERS: ClassVar[Mapping[type[Any], Callable[[Any, Any], None]]] = {
        AuthenticationRequested: _authenticate,
        ScramKeysRequested: _give_keys,
        OpenRequested: _open,
        SessionRequested: _attach,
        Opened: _opened,
        Resumed: _resumed,
        SessionClosed: _session_closed,
        Failed: _failed,
        Settled: _settled,
        CreditChanged: _credit,
        MessageReceived: _message,
        CommandReceived: _command,
    }


def _kept(core: Session) -> SessionState | None:
    """Return the state of a session that has been detached; None if it isn't kept."""
    try:
        return core.detached_state()
    except EndpointClosed:
        return None


_COMMANDS: Final[Mapping[type[Any], Execute]] = {
    spec.MessageAccept: subscribing.accept,
    spec.MessageReject: subscribing.reject,
    spec.MessageRelease: subscribing.release,
    spec.MessageAcquire: subscribing.acquire,
    spec.MessageResume: subscribing.resume,
    spec.MessageSubscribe: subscribing.subscribe,
    spec.MessageCancel: subscribing.cancel,
    spec.MessageFlush: subscribing.flush,
    spec.TxSelect: transacting.tx_select,
    spec.TxCommit: transacting.tx_commit,
    spec.TxRollback: transacting.tx_rollback,
    spec.DtxSelect: transacting.dtx,
    spec.DtxStart: transacting.dtx,
    spec.DtxEnd: transacting.dtx,
    spec.DtxPrepare: transacting.dtx,
    spec.DtxCommit: transacting.dtx,
    spec.DtxRollback: transacting.dtx,
    spec.DtxForget: transacting.dtx,
    spec.DtxRecover: transacting.dtx,
    spec.DtxGetTimeout: transacting.dtx,
    spec.DtxSetTimeout: transacting.dtx,
    spec.ExchangeDeclare: declaring.declare_exchange,
    spec.ExchangeDelete: declaring.delete_exchange,
    spec.ExchangeQuery: declaring.query_exchange,
    spec.ExchangeBind: declaring.bind,
    spec.ExchangeUnbind: declaring.unbind,
    spec.ExchangeBound: declaring.bound,
    spec.QueueDeclare: declaring.declare_queue,
    spec.QueueDelete: declaring.delete_queue,
    spec.QueuePurge: declaring.purge_queue,
    spec.QueueQuery: declaring.query_queue,
    spec.FileQos: staging.qos,
    spec.FileConsume: staging.consume_files,
    spec.FileCancel: staging.cancel_files,
    spec.FileOpen: staging.open_file,
    spec.FileOpenOk: staging.take_open_ok,
    spec.FileStage: staging.stage,
    spec.FilePublish: staging.publish_file,
    spec.FileAck: staging.ack,
    spec.FileReject: staging.reject,
    spec.StreamQos: staging.stream_qos,
    spec.StreamConsume: staging.consume_stream,
    spec.StreamCancel: staging.cancel_stream,
    spec.StreamPublish: staging.publish_stream,
}
"""All commands that the engine doesn't execute itself, except message.transfer, which has its own event."""
