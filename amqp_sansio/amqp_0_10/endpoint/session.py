"""Session and Sessions: one end of a session while it's attached to a channel, and all sessions of a connection.

0-10 part 1 section 3, classes 2 to 4.
"""

from __future__ import annotations

from ..._checking import TYPE_CHECKING, TypeVar
from ..._ground.free_numbers import FreeNumbers
from ..._ground.invariants import ensure
from ...endpoint import Side
from ...errors import LimitExceeded, LocalProtocolError
from ..codec import records
from ..codec.assembly import begins
from ..codec.choices import BYTE, EXPLICIT, INFINITE, MESSAGE, PRE_ACQUIRED
from ..codec.dialect import missing
from ..codec.message import Message
from ..codec.sequence_set import SequenceSet
from ..codec.violation import DetachCode, framing_error, misuse
from ..model.states import Attachment
from .channel import Channel
from .events import SessionRequested
from .outgoing import Transferred
from .session_controls import Controls
from .session_state import SessionState

if TYPE_CHECKING:
    from typing import Final

    from ...events import CloseReport, Pending
    from ..codec.record import Command, Control
    from ..codec.structs import Struct
    from ..model.execution import ExecutionError
    from .channel import Transport

_R = TypeVar("_R")

_LARGEST_GRANT: Final = 0xFFFFFFFE
_MOST_GRANTS: Final = 16
_GRANT: Final = 300
"""More octets than a message.flow has."""
_NOT_ATTACHED: Final = records.SessionDetached(b"", DetachCode.NOT_ATTACHED.value)


class Session:
    """Commands may be sent at once: what can't go out before both ends are in step is kept until they are."""

    __slots__ = ("_channel", "_controls", "_incoming", "_outgoing", "_state", "channel")

    def __init__(self, controls: Controls) -> None:
        # How it attaches, resumes and ends.
        self._controls = controls
        # Where it is attached; after its end, where it was.
        self._channel = controls.channel
        # What survives its channel: ids, replay, credit, subscriptions.
        self._state = controls.state
        # The peer's commands, which the application completes.
        self._incoming = controls.incoming
        # This end's commands.
        self._outgoing = controls.outgoing
        # The number of its channel.
        self.channel = controls.channel.number

    # State.

    @property
    def opening(self) -> Pending[object] | None:
        """The pending that `Opened` or `Resumed` ends; None once it's done."""
        return self._controls.opening

    @property
    def name(self) -> bytes:
        """The session's name, chosen by who attached it first."""
        return self._state.name

    @property
    def is_attached(self) -> bool:
        """Whether commands can be sent, and go out at once."""
        return self._channel.ready and self._channel.report is None

    @property
    def timeout(self) -> int | None:
        """For how many seconds both ends keep the session when it's detached; None: for ever."""
        return self._state.timeout

    @property
    def report(self) -> CloseReport | None:
        """Why it ended, once it has."""
        return self._channel.report

    @property
    def pending(self) -> tuple[Pending[object], ...]:
        """The pendings of this end's calls and transfers that aren't done."""
        return self._state.pending

    @property
    def unsettled(self) -> tuple[int, ...]:
        """The ids of the transfers received that wait for accept, reject or release."""
        return tuple(self._state.incoming.unsettled)

    def is_unsettled(self, command_id: int) -> bool:
        """Whether a transfer received waits for accept, reject or release."""
        return command_id in self._state.incoming.unsettled

    @property
    def incomplete(self) -> tuple[int, ...]:
        """The ids of the peer's commands that wait for `complete`."""
        return tuple(self._state.executing)

    def is_incomplete(self, command_id: int) -> bool:
        """Whether a command of the peer waits for `complete`."""
        return command_id in self._state.executing

    def credit(self, destination: str) -> tuple[int | None, int | None]:
        """The messages and octets that may be sent to `destination` now; None without limit (class 4, message.flow).

        A server's grant for "" counts for every exchange that has no grant of its own.
        """
        balances = self._state.balances
        balance = balances.get(destination)
        if self._state.side is Side.SERVER:
            return (0, 0) if balance is None else (balance.messages, balance.octets)
        balance = balance or balances.get("")
        return (None, None) if balance is None else (balance.messages, balance.octets)

    def granted(self, destination: str) -> tuple[int | None, int | None]:
        """The messages and octets that the peer may still send to `destination`, as far as this end knows."""
        balance = self._state.granted.get(destination)
        return (0, 0) if balance is None else (balance.messages, balance.octets)

    def is_stopping(self, destination: str) -> bool:
        """Whether a message.stop or message.flush of this end isn't completed: until then no credit can be granted."""
        balance = self._state.granted.get(destination)
        return balance is not None and bool(balance.taking)

    # Commands of this end.

    def call(self, command: Command[_R], message: Message | None = None, *, sync: bool = True) -> Pending[_R]:
        """Send a command; its pending ends when the peer has executed it, with its result where it has one.

        `message` is what file.stage, stream.publish and others carry. Without `sync` the peer may take its time to say
        that it's done; a later `sync()` or call makes it. Raises LocalProtocolError for a command that isn't legal now,
        LimitExceeded, CodecError, EndpointClosed, with nothing changed.
        """
        if isinstance(command, records.MessageTransfer):
            raise LocalProtocolError("send messages with Session.transfer")
        return self._outgoing.call(command, message, sync)

    def transfer(
        self,
        destination: str,
        message: Message | bytes,
        *,
        accept_mode: int = EXPLICIT,
        acquire_mode: int = PRE_ACQUIRED,
        sync: bool = False,
    ) -> Transferred:
        """Send a message: a client to an exchange ("": the default one), a server to a subscription (message.transfer).

        Raises NoCredit when the recipient takes nothing at the moment, and as `call`.
        """
        if not isinstance(message, Message):
            message = Message(message)
        return self._outgoing.transfer(destination, message, accept_mode, acquire_mode, sync)

    def sync(self) -> Pending[None]:
        """Ask for all that was sent before to be executed; the pending ends when it is (execution.sync)."""
        return self._outgoing.call(records.ExecutionSync(), None, True)

    def accept(self, *command_ids: int, sync: bool = False) -> Pending[None]:
        """Accept messages that came with these ids, which are completed too (message.accept)."""
        ids = _ids(command_ids)
        return self._settle(ids, records.MessageAccept(ids), sync)

    def reject(self, *command_ids: int, code: int = 0, text: str | None = None, sync: bool = False) -> Pending[None]:
        """Refuse messages for good: their queue's alternate exchange gets them, if it has one (message.reject)."""
        ids = _ids(command_ids)
        return self._settle(ids, records.MessageReject(ids, code, text), sync)

    def release(self, *command_ids: int, set_redelivered: bool = False, sync: bool = False) -> Pending[None]:
        """Give messages back, to be delivered again (message.release)."""
        ids = _ids(command_ids)
        return self._settle(ids, records.MessageRelease(ids, set_redelivered), sync)

    def _settle(self, ids: SequenceSet, command: Command[None], sync: bool) -> Pending[None]:
        """Settle messages; those that aren't completed yet are now."""
        self._incoming.check_whole(ids)
        pending: Pending[None] = self._outgoing.call(command, None, sync)
        self._incoming.complete_transfers(ids)
        return pending

    def acquire(self, *command_ids: int) -> Pending[records.Acquired]:
        """Acquire messages that came with acquire-mode not-acquired; the result names those that were there."""
        return self.call(records.MessageAcquire(_ids(command_ids)))

    def top_up(self, destination: str, messages: int, octets: int | None = None) -> None:
        """Grant credit so that the peer may send `messages` and `octets` (None: any number); what it has left counts.

        With a window nothing is to be topped up as messages are completed. Raises as `call`,
        also while a message.stop or flush is under way.
        """
        balance = self._state.granted.get(destination)
        if balance is None:
            raise LocalProtocolError(f"{destination!r} is no subscription of this session")
        grants: list[records.MessageFlow] = []
        left = balance.messages
        if left is not None and messages > left:
            grants += _grants(destination, MESSAGE, messages - left)
        # Octets that don't count yet do for a client that goes by the letter of the specification.
        left = balance.octets if balance.counts else 0
        if left is not None and (octets is None or octets > left):
            grants += _grants(destination, BYTE, None if octets is None else octets - left)
        if len(grants) > 1:
            self._channel.check()
            self._outgoing.check_room(_GRANT * len(grants), len(grants))
        for each in grants:
            self.call(each, sync=False)

    # Commands of the peer.

    def complete(self, command_id: int, result: Struct | None = None) -> None:
        """A command of the peer is executed; `result` is the struct that its kind has as result.

        Raises LocalProtocolError for an id that doesn't wait for it, and for a result that the command doesn't have.
        """
        self._incoming.complete(command_id, result)

    def fail(self, error: ExecutionError, command_id: int | None = None, *, field: str | None = None) -> None:
        """Refuse a command: execution.exception, which ends the session with all that is known of it.

        `field` names the argument at fault. A second call, and one behind the session's end, does nothing.
        """
        self._controls.refuse(error, command_id, field)

    def decide(self, xid: records.Xid, *, committed: bool) -> None:
        """A distributed transaction has ended elsewhere: what it accepted here is settled, or as it was before."""
        self._incoming.decide(xid, committed=committed)

    # The session itself.

    def flush(self, *, expected: bool = False, confirmed: bool = False, completed: bool = True) -> None:
        """Ask the peer at once for the ids that it expects, has confirmed, has completed (session.flush)."""
        self._channel.check()
        self._channel.send(records.SessionFlush(expected, confirmed, completed))

    def gap(self, *command_ids: int) -> None:
        """Give up commands that the peer may not have got: they'll never be sent again (session.gap).

        Their pendings fail. Raises LocalProtocolError for ids that wait for no confirmation.
        """
        self._controls.gap(command_ids)

    def request_timeout(self, seconds: int | None) -> Pending[int | None]:
        """Ask for the session to be kept so long when it's detached, None: for ever; the result is what is granted."""
        self._channel.check()
        return self._controls.request_timeout(seconds)

    def detach(self) -> None:
        """Leave the channel; `SessionClosed` follows. With a `timeout`, `detached_state()` can be attached again."""
        self._controls.detach()

    def let_go(self, code: DetachCode = DetachCode.SESSION_BUSY) -> None:
        """Leave the channel at once, without the peer's answer: the session goes on elsewhere (session.attach, force).

        `SessionClosed` follows; `detached_state()` has what is known already.
        """
        self._controls.let_go(code)

    def close(self) -> None:
        """Leave the session for good, and the peer too: nothing of it is kept (part 1 section 3.6.4).

        Calls that aren't answered are abandoned: take `sync()`'s answer before.
        """
        self._controls.close()

    def detached_state(self) -> SessionState:
        """This end's knowledge of the session, to keep and give to `resume_session` or `accept_session`.

        Raises LocalProtocolError while it's attached, EndpointClosed when it ended for good.
        """
        return self._controls.detached_state()

    def __repr__(self) -> str:
        return f"<AMQP 0-10 session {self.name!r} on channel {self.channel}, {self._channel.state.value}>"


_ATTACHING: Final = (records.SessionAttach, records.SessionAttached, records.SessionDetach, records.SessionDetached)
"""The controls that a channel without a session takes; any other one is discarded (class 2, rule attachment)."""


def _ids(command_ids: tuple[int, ...]) -> SequenceSet:
    """The set of what a command names. Raises TypeError for what is no id, such as a list of them."""
    try:
        return SequenceSet.of(*command_ids)
    except TypeError:
        text = f"command ids are given one by one, as in accept(*command_ids); got {command_ids!r}"
        raise TypeError(text) from None


def _grants(destination: str, unit: int, value: int | None) -> list[records.MessageFlow]:
    """The commands that grant so much; one can't grant more than there are numbers."""
    found: list[records.MessageFlow] = []
    if value is not None and value > _MOST_GRANTS * _LARGEST_GRANT:
        raise LocalProtocolError(f"a credit of {value} takes too many commands; None grants any number")
    while value is not None and value > _LARGEST_GRANT:
        found.append(records.MessageFlow(destination, unit, _LARGEST_GRANT))
        value -= _LARGEST_GRANT
    # Broker-J takes an absent value for none at all.
    return [*found, records.MessageFlow(destination, unit, INFINITE if value is None else value)]


class Sessions:
    """The sessions of one connection, by their channels."""

    __slots__ = ("_free", "_named", "_requested", "_transport", "attached")

    def __init__(self, transport: Transport) -> None:
        # What all of them use of the connection.
        self._transport = transport
        # By channel number: those that haven't left it. The connection finds here what a frame is for.
        self.attached: dict[int, Controls] = {}
        # Numbers of channels for new ones, the lowest first.
        self._free = FreeNumbers()
        self._named: dict[bytes, Controls] = {}
        """The last attached of each name: those before it have left."""
        # The peer's session.attach that the application hasn't answered; nothing is parsed meanwhile.
        self._requested: SessionRequested | None = None

    @property
    def channels(self) -> tuple[int, ...]:
        """The channels that have sessions."""
        return tuple(self.attached)

    def get(self, channel: int) -> Session | None:
        """The session on a channel."""
        found = self.attached.get(channel)
        return None if found is None else found.session

    def end(self, report: CloseReport) -> None:
        """The connection is over: so are the attachments of its sessions, and what isn't kept longer."""
        for controls in list(self.attached.values()):
            controls.end(controls.channel.report or report)
        self.attached.clear()
        self._named.clear()
        self._requested = None

    def check(self) -> None:
        """Check the sessions, and that each is here by its channel and name. For tests; raises AssertionError."""
        transport, limits = self._transport, self._transport.limits
        where = f"sessions of a {transport.role.value}"
        held = 0
        for number, controls in self.attached.items():
            channel = controls.channel
            ensure(channel.number == number, where, "each session is kept under its channel", number, channel.number)
            attached = channel.state is not Attachment.DETACHED
            ensure(attached, where, "no session is kept that has left its channel", number)
            controls.state.check(limits)
            held += controls.incoming.check()
        count = len(self.attached)
        ensure(count <= limits.channels, where, "`Limits.channels` bounds sessions", count)
        here = set(self.attached.values())
        lost = [name for name, each in self._named.items() if each not in here or each.state.name != name]
        ensure(not lost, where, "what has a name is a session of that name", lost)
        ensure(transport.bodies == held, where, "`bodies` counts what arrives", transport.bodies, held)
        ensure(held <= limits.bodies + limits.header, where, "`Limits.bodies` bounds what arrives", held)

    # This end's sessions.

    def open(self, name: bytes | str | None, timeout: int | None, *, force: bool) -> Session:
        """Attach a new session on the lowest free channel; None takes `Config.session_prefix` and a number."""
        transport = self._transport
        config = transport.config
        if name is None:
            if not config.session_prefix:
                raise LocalProtocolError("a session needs a name, or Config.session_prefix")
            transport.check_open()
            name = f"{config.session_prefix}{transport.next_serial}"
        octets = name.encode() if isinstance(name, str) else bytes(name)
        state = SessionState(octets, transport.role, config.limits)
        state.keep_for(timeout)
        return self._attach(state, force=force)

    def resume(self, state: SessionState, *, force: bool) -> Session:
        """Attach a session that was attached before."""
        role = self._transport.role
        if state.side is not role:
            raise LocalProtocolError(f"session {state.name!r} is that of a {state.side.value}, this is a {role.value}")
        state.receiving.detached()
        return self._attach(state, force=force)

    def _attach(self, state: SessionState, *, force: bool) -> Session:
        self._transport.check_open()
        if self._knows(state.name):
            raise misuse(f"session {state.name!r} is attached on this connection", "session.attach/one-transport")
        controls = self._new(self._free_channel(), state, initiator=True)
        controls.attach(force=force)
        return self._keep(controls)

    def _new(self, channel: int, state: SessionState, *, initiator: bool) -> Controls:
        place = Channel(self._transport, channel, state.name, initiator=initiator)
        controls = Controls(place, state, self._forget)
        controls.session = Session(controls)
        return controls

    def _keep(self, controls: Controls) -> Session:
        session: Session = controls.session
        self.attached[session.channel] = controls
        self._named[controls.state.name] = controls
        return session

    def _free_channel(self) -> int:
        most, asked = self._transport.owner.channel_max, self._requested
        number = self._free.lowest(lambda each: each in self.attached or (asked is not None and asked.channel == each))
        if number < most:
            return number
        text = f"all {most} channels that were agreed are in use"
        raise LimitExceeded(text, rule="0-10/connection.tune-ok/available-channels")

    def _knows(self, name: bytes) -> bool:
        """Whether a session of that name is attached here."""
        found = self._named.get(name)
        return found is not None and found.channel.report is None

    def _forget(self, controls: Controls) -> None:
        """A session has left its channel."""
        channel = controls.channel.number
        if self.attached.get(channel) is controls:
            del self.attached[channel]
            self._free.give_back(channel)
            if self._named.get(controls.state.name) is controls:
                del self._named[controls.state.name]

    # The peer's.

    def accept(self, channel: int, state: SessionState | None) -> Session:
        """Answer `SessionRequested` with attached: a new session, or one that was attached before."""
        transport = self._transport
        role = transport.role
        name = self._wanted(channel).name
        if self._knows(name):
            text = f"session {name!r} is attached on another channel: detach it there, or refuse"
            raise misuse(text, "session.attach/one-transport")
        if state is None:
            state = SessionState(name, role, transport.limits)
        elif state.name != name:
            raise LocalProtocolError(f"the state is that of session {state.name!r}, asked is {name!r}")
        elif state.side is not role:
            raise LocalProtocolError(f"the state is that of a {state.side.value}")
        controls = self._new(channel, state, initiator=False)
        controls.accept()
        state.receiving.detached()
        state.adopt(transport.limits)
        session = self._keep(controls)
        self._answered()
        controls.begin()
        return session

    def refuse(self, channel: int, code: DetachCode) -> None:
        """Answer `SessionRequested` with detached."""
        name = self._wanted(channel).name
        self._transport.send(channel, records.SessionDetached(name, code.value))
        self._answered()

    def _wanted(self, channel: int) -> SessionRequested:
        self._transport.check_open()
        request = self._requested
        if request is None or request.channel != channel:
            raise LocalProtocolError(f"no session waits on channel {channel} to be attached")
        return request

    def _answered(self) -> None:
        self._requested = None
        self._transport.wait(None)

    # Frames that arrive.

    def is_leaving(self, channel: int) -> bool:
        """Whether a session has sent its detach on a channel: what it can't take any more goes by."""
        controls = self.attached.get(channel)
        return controls is not None and controls.channel.is_leaving

    def receive_unattached(self, channel: int, flags: int) -> None:
        """Take a frame of a command on a channel without a session. Raises Violation."""
        self._check_agreed(channel, "a command")
        if begins(flags):
            self._transport.send(channel, _NOT_ATTACHED)

    def _check_agreed(self, channel: int, what: str) -> None:
        most = self._transport.owner.channel_max
        if channel >= most:
            text = f"{what} on channel {channel}, {most} channels were agreed"
            raise framing_error(text, "connection.tune-ok/available-channels")

    def receive_control(self, channel: int, control: Control) -> None:
        """Take a control of the session class. Raises Violation."""
        transport = self._transport
        self._check_agreed(channel, control.NAME)
        controls = self.attached.get(channel)
        name = missing(control, transport.config.dialect)
        if name and (controls is not None or isinstance(control, _ATTACHING)):
            raise framing_error(f"{control.NAME} without {name.replace('_', '-')}", "wire/struct-required")
        if isinstance(control, records.SessionAttach):
            self._attach_wanted(channel, controls, control)
        elif isinstance(control, records.SessionDetached):
            if controls is not None:
                controls.detached(control)
        elif isinstance(control, records.SessionDetach):
            left = control.name or b""
            if controls is None or (left and left != controls.state.name):
                code = DetachCode.NOT_ATTACHED.value
                transport.send(channel, records.SessionDetached(left, code))
            else:
                controls.left()
        elif controls is None:
            transport.send(channel, _NOT_ATTACHED)
        elif isinstance(control, records.SessionAttached):
            controls.attached(control)
        else:
            controls.receive(control)

    def _attach_wanted(self, channel: int, controls: Controls | None, control: records.SessionAttach) -> None:
        transport, name = self._transport, control.name or b""
        code: DetachCode | None = None
        if controls is not None:
            if controls.state.name == name and controls.attach_again():
                return
            code = DetachCode.TRANSPORT_BUSY
        elif transport.role is Side.CLIENT:
            # Attaching to a client is for peers that have agreed on it (class 2, attach: a client may handle it).
            code = DetachCode.SESSION_BUSY
        elif not control.force and self._knows(name):
            code = DetachCode.SESSION_BUSY
        if code is not None:
            transport.send(channel, records.SessionDetached(name, code.value))
            return
        self._requested = SessionRequested(channel, name, control.force)
        transport.wait("session")
        transport.events.append(self._requested)
