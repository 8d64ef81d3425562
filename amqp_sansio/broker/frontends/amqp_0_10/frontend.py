"""ZeroTenFrontend: one 0-10 connection, from its login to its end (0-10 classes 1 and 2)."""

# The table at the end names the handlers, which are nobody else's.
# pyright: reportPrivateUsage=false
from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

from ....amqp_0_10.codec.records import MessageFlush
from ....amqp_0_10.endpoint.connection import Connection
from ....amqp_0_10.model.events import (
    CommandReceived,
    CreditChanged,
    MessageReceived,
    Resumed,
    SessionClosed,
    SessionRequested,
)
from ....amqp_0_10.model.execution import (
    ILLEGAL_ARGUMENT,
    NOT_IMPLEMENTED,
    UNAUTHORIZED_ACCESS,
    ExecutionError,
)
from ....endpoint import CloseHint
from ....errors import CodecError, EndpointClosed, LimitExceeded, Scope
from ....events import (
    AuthenticationRequested,
    Failed,
    Opened,
    OpenRequested,
    ScramKeysRequested,
    Settled,
    Signal,
)
from ...contents.amqp_0_10 import check_values
from ...model.commands import OpenOwner, SetWindow
from ...model.effects import Cancelled, Deliver
from ...model.faults import Fault
from ..frontend import Frontend
from . import delivering, dispatching, publishing, throttling
from .answers import Answer
from .errors import error_of
from .sessions import ServedSession, register_of

if TYPE_CHECKING:
    from ....amqp_0_10.codec.record import Command, Struct
    from ....amqp_0_10.endpoint.session import Session
    from ....amqp_0_10.model.session_state import SessionState
    from ...client import Client
    from ...hub import Hub
    from ...model.effects import Effect
    from .answers import Result
    from .sessions import Key, Register

FORCED: Final = 320
INVALID_PATH: Final = 402
_MANY: Final = 256
"""Publishes that are accepted by one command at most."""
_UNTOLD: Final = 128
"""Messages that the engine has to have room for: more than clients complete without telling."""
_UNSURE: Final = ("EXTERNAL",)
"""Mechanisms whose user the engine doesn't know: a certificate says who it is."""


class ZeroTenFrontend(Frontend):
    """What a 0-10 client asks of the model.

    `attached` are its sessions by their channels, `owned` by the numbers of their owners in the model; `full` are those
    of them whose engine takes no more deliveries at the moment, `held` those that were told to stop publishing.
    """

    __slots__ = ("attached", "client", "full", "held", "large", "owned", "register", "user", "vhost")

    connection: Connection

    def __init__(self, hub: Hub, number: int, connection: Connection, client: Client) -> None:
        super().__init__(hub, number, connection)
        self.client = client
        self.register: Register = register_of(hub)
        self.user = self.vhost = ""
        self.attached: dict[int, ServedSession] = {}
        self.owned: dict[int, ServedSession] = {}
        self.full: dict[int, ServedSession] = {}
        self.held: dict[int, ServedSession] = {}
        limits = connection.config.limits
        few = min(limits.replay, limits.calls) < 2 * _UNTOLD
        self.large = 0 if few else limits.replay_octets // _UNTOLD
        """Octets above which the client is to say of every single message that it's completed."""

    def take_events(self) -> None:
        """Take the engine's events until there is none, and do what each asks for."""
        next_event = self.next_event
        if self.attached and self.client.close_hint is CloseHint.CLOSE_NOW:
            # What is executed now can bring it nothing any more: that is for others, in its order.
            for session in self.attached.values():
                self.hub.apply(SetWindow(session.gate, 0))
        while True:
            event = next_event()
            if isinstance(event, Signal):
                # What waits to be accepted may be all that holds the engine up.
                if not self.accept_taken():
                    return
                continue
            handler = _HANDLERS.get(type(event))
            if handler is not None:
                try:
                    handler(self, event)
                except LimitExceeded as error:
                    # It asks, and doesn't read what it's answered.
                    self.client.connection_lost(f"the client reads too little: {error}", self.hub.now)
            self.hub.settle()

    def perform(self, effect: Effect) -> None:
        """Send a delivery; end a session whose queue is gone."""
        if isinstance(effect, Deliver):
            session = self.owned.get(effect.consumer.owner.number)
            if session is not None:
                delivering.deliver(self, session, effect.consumer, effect.entry)
        elif isinstance(effect, Cancelled):
            session = self.owned.get(effect.consumer.owner.number)
            if session is not None:
                delivering.cancelled(self, session, effect)

    def block(self, reason: str) -> None:
        """The broker is full: its sessions stop publishing."""
        for session in list(self.attached.values()):
            throttling.hold(self, session)

    def unblock(self) -> None:
        """They may go on."""
        for session in list(self.held.values()):
            throttling.let_publish(self, session)

    def node_deleted(self, kind: str, name: str) -> None:
        """Nothing is said: a command that names it next gets not-found."""

    def caught_up(self) -> None:
        """The client has read: a message.flush that waited for it may be done."""
        for session in list(self.full.values()):
            delivering.reopen(self, session)
        self.hub.settle()
        for session in list(self.attached.values()):
            delivering.end_flushes(self, session)
        self.hub.settle()

    def shut_down(self, text: str) -> None:
        """The broker ends."""
        self.connection.close(FORCED, text)

    def describe(self) -> tuple[str, str]:
        """The user and virtual host, "" before they are known."""
        return self.user, self.vhost

    # Answers.

    def complete(self, session: ServedSession, number: int, result: Struct | None = None) -> None:
        """A command is executed; who can't be told any more is when the session goes on."""
        core = session.core
        if session.is_over or core is None:
            return
        try:
            core.complete(number, result)
        except EndpointClosed:
            session.late[number] = result

    def fail(
        self,
        session: ServedSession,
        error: ExecutionError,
        number: int | None = None,
        field: str | None = None,
    ) -> None:
        """A session ends with an exception, and all that it has in the model with it."""
        core = session.core
        if session.is_over:
            return
        self.accept_of(session)
        self.register.end(session)
        if core is not None:
            try:
                core.fail(error, number, field=field)
            except EndpointClosed:
                # With the connection gone there is nobody to hear of it.
                return

    def accept_taken(self) -> bool:
        """Accept what was published; whether there was anything."""
        found = False
        for session in list(self.attached.values()):
            if session.taken and self.accept_of(session):
                found = True
        return found

    def accept_of(self, session: ServedSession) -> bool:
        """Accept what was published on one session; whether that could be said."""
        core = session.core
        if not session.taken or core is None:
            return False
        try:
            core.accept(*session.taken)
        except EndpointClosed:
            return False
        except LimitExceeded:
            # Being completed says as much, and nothing is kept of it for a replay.
            for number in session.taken:
                core.complete(number)
        session.taken.clear()
        return True

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
            # Clients that name none mean the one that is always there.
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
            # Nobody is there any more to have it.
            return
        if session is None:
            session = ServedSession(key, self.hub.apply(OpenOwner(self.vhost, self.user)))
            register.known[key] = session
        register.attach(session, self, core)

    def _take_over(self, session: ServedSession) -> None:
        """Take a session from where it's attached, which may be this connection (session.attach, force).

        One that isn't kept when it's detached is over by that.
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
                _HANDLERS[type(each)](self, each)
            if session.is_over:
                return
        if any([each.consumer.is_cancelled for each in session.subscriptions.values()]):
            delivering.queue_gone(self, session, "while the session was detached")
            return
        throttling.resume(self, session)
        delivering.reopen(self, session)

    def _session_closed(self, event: SessionClosed) -> None:
        session = self.attached.get(event.channel)
        if session is not None and session.core is not None:
            self.register.detach(session, _kept(session.core) if event.resumable else None)

    def _failed(self, event: Failed) -> None:
        """The engine has found that a session breaks a rule, or its client has sent an exception."""
        session = self.attached.get(event.channel) if event.scope is Scope.SESSION else None
        if session is not None and session.core is not None and _kept(session.core) is None:
            self.register.end(session)

    # What comes on sessions.

    def _settled(self, event: Settled) -> None:
        """The client has completed something: there may be room again, and a message.stop may be done."""
        full = list(self.full.values())
        for session in full:
            delivering.reopen(self, session)
        if full:
            self.hub.settle()
            for session in full:
                delivering.end_flushes(self, session)
        for session in list(self.held.values()):
            throttling.let_publish(self, session)

    def _credit(self, event: CreditChanged) -> None:
        session = self.attached.get(event.channel)
        if session is not None:
            delivering.credit_changed(self, session, event.destination)

    def _message(self, event: MessageReceived) -> None:
        session = self.attached.get(event.channel)
        if session is None:
            return
        self.publishes = True
        self._execute(session, event.transfer, event.command_id, publishing.transfer, event)
        if event.sync or len(session.taken) >= _MANY:
            self.accept_of(session)

    def _command(self, event: CommandReceived) -> None:
        session = self.attached.get(event.channel)
        if session is None:
            return
        self.accept_of(session)
        if session.owner.number in self.full:
            delivering.ask(session)
        command = event.command
        number = event.command_id
        run = dispatching.COMMANDS.get(type(command))
        if run is None:
            error = ExecutionError(NOT_IMPLEMENTED, f"{command.NAME} isn't for a broker")
            self.fail(session, error, number)
            return
        self._execute(session, command, number, run, event)

    def _execute(
        self,
        session: ServedSession,
        command: Command[Any],
        number: int,
        run: Callable[[ZeroTenFrontend, ServedSession, Any, Any], Result],
        event: Any,
    ) -> None:
        try:
            # Maps are decoded when they're read: now, before anything is done.
            check_values(getattr(command, "arguments", None))
            result = run(self, session, command, event)
        except Fault as fault:
            error, field = error_of(command, fault)
            self.fail(session, error, number, field)
        except CodecError as error:
            text = f"{command.NAME}: its octets say nothing: {error}"
            self.fail(session, ExecutionError(ILLEGAL_ARGUMENT, text), number)
        except ExecutionError as error:
            self.fail(session, error, number)
        else:
            if isinstance(result, Answer):
                return
            self.complete(session, number, result)
            if isinstance(command, MessageFlush):
                # Its completion takes what is left of the credit.
                delivering.credit_changed(self, session, command.destination or "")

    def check_user(self, user_id: bytes | None) -> None:
        """A user-id is that of who is logged in, where only the broker knows who that is. Raises ExecutionError."""
        if user_id is not None and self.connection.mechanism in _UNSURE and user_id != self.user.encode():
            raise ExecutionError(
                UNAUTHORIZED_ACCESS,
                f"message.transfer with the user-id {user_id!r}, logged in is {self.user!r}",
                rule="0-10/message.message-properties/user-id",
            )


def _kept(core: Session) -> SessionState | None:
    """What is known of a session that isn't attached any more; None when nothing is kept of it."""
    try:
        return core.detached_state()
    except EndpointClosed:
        return None


_HANDLERS: Final[Mapping[type[Any], Callable[[ZeroTenFrontend, Any], None]]] = {
    AuthenticationRequested: ZeroTenFrontend._authenticate,
    ScramKeysRequested: ZeroTenFrontend._give_keys,
    OpenRequested: ZeroTenFrontend._open,
    SessionRequested: ZeroTenFrontend._attach,
    Opened: ZeroTenFrontend._opened,
    Resumed: ZeroTenFrontend._resumed,
    SessionClosed: ZeroTenFrontend._session_closed,
    Failed: ZeroTenFrontend._failed,
    Settled: ZeroTenFrontend._settled,
    CreditChanged: ZeroTenFrontend._credit,
    MessageReceived: ZeroTenFrontend._message,
    CommandReceived: ZeroTenFrontend._command,
}
