"""Session: one end of a session while it's attached to a channel (0-10 part 1 section 3, classes 2 to 4)."""

# The modules of this package share one engine; its private state is theirs, not the caller's.
# pyright: reportPrivateUsage=false
from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any, Final, TypeVar

from ..._core.record import record
from ...endpoint import Side
from ...errors import EndpointClosed, LimitExceeded, LocalProtocolError
from ...events import Handle
from ..codec.frames import FRAME_HEADER_SIZE, MIN_MAX_FRAME_SIZE
from ..codec.message import Message
from ..codec.records import (
    ExecutionSync,
    MessageAccept,
    MessageAcquire,
    MessageFlow,
    MessageReject,
    MessageRelease,
    MessageTransfer,
    SessionDetach,
    SessionFlush,
    SessionGap,
    SessionRequestTimeout,
)
from ..codec.sequence_set import SequenceSet
from ..codec.violation import DetachCode
from ..model.credit import BYTE, INFINITE, MESSAGE
from ..model.execution import INTERNAL_ERROR, ExecutionError
from ..model.states import Attachment
from . import incoming, outgoing, session_controls, session_end

if TYPE_CHECKING:
    from ...events import CloseReport
    from ..codec.record import Command, Struct
    from ..codec.records import Acquired, Xid
    from ..model.session_state import SessionState
    from .connection import Connection
    from .outgoing import Lead
    from .receiving import Arriving

_R = TypeVar("_R")

EXPLICIT: Final = 0
NONE: Final = 1
PRE_ACQUIRED: Final = 0
NOT_ACQUIRED: Final = 1
_LARGEST_GRANT: Final = 0xFFFFFFFE
_MOST_GRANTS: Final = 16
_GRANT: Final = 300
"""More octets than a message.flow has."""
_RANGE: Final = 8
"""The octets of a range of ids."""
_MORE_FRAMES: Final = 12
"""More than those of the segments, of a flush, a result and session.completed, with what is in the latter."""


@record
class Transferred:
    """A message that this end has sent: `completion` ends when the peer has executed the transfer, `outcome` when it's
    accepted, rejected or released; None with accept-mode none.

    A server that executes a transfer has taken it: on a client, completion without another word settles `outcome` as
    accepted.
    """

    command_id: int
    completion: Handle[None]
    outcome: Handle[Any] | None = None


class Session:
    """Commands may be sent at once: what can't go out before both ends are in step is kept, in order, until they are.

    `channel` is its number, `name` its name, `opening` the handle that `Opened` or `Resumed` ends.
    """

    __slots__ = (
        "_arriving", "_asked", "_attachment", "_closing", "_connection", "_initiator", "_lead", "_ready", "_report",
        "_resumes", "_resuming", "_state", "_timeouts", "channel", "opening",
    )  # fmt: skip

    def __init__(
        self, connection: Connection, channel: int, state: SessionState, *, initiator: bool
    ) -> None:
        self._connection = connection
        self._state = state
        self._initiator = initiator
        self._attachment = Attachment.DETACHED
        self._ready = self._asked = self._closing = self._resumes = self._resuming = False
        self._timeouts: deque[Handle[int | None]] = deque()
        self._arriving: Arriving | None = None
        self._report: CloseReport | None = None
        self._lead: Lead | None = None
        self.channel = channel
        self.opening: Handle[Any] | None = None

    # State.

    @property
    def name(self) -> bytes:
        """The session's name, chosen by who attached it first."""
        return self._state.name

    @property
    def is_attached(self) -> bool:
        """Whether commands can be sent, and go out at once."""
        return self._ready and self._report is None

    @property
    def timeout(self) -> int | None:
        """For how many seconds both ends keep the session when it's detached; None: for ever."""
        return self._state.timeout

    @property
    def report(self) -> CloseReport | None:
        """Why it ended, once it has."""
        return self._report

    @property
    def pending(self) -> tuple[Handle[Any], ...]:
        """The handles of this end's calls and transfers that aren't done."""
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

    def credit(self, destination: str) -> tuple[int | None, int | None]:
        """The messages and octets that may be sent to `destination` now; None without limit (class 4, message.flow).

        What a server says of "" counts for every exchange that it says nothing else of.
        """
        balances = self._state.balances
        balance = balances.get(destination)
        if self._connection.role is Side.SERVER:
            return (0, 0) if balance is None else (balance.messages, balance.octets)
        balance = balance or balances.get("")
        if balance is None:
            return None, None
        return balance.messages, balance.octets

    def granted(self, destination: str) -> tuple[int | None, int | None]:
        """The messages and octets that the peer may still send to `destination`, as far as this end knows."""
        balance = self._state.granted.get(destination)
        return (0, 0) if balance is None else (balance.messages, balance.octets)

    def is_stopping(self, destination: str) -> bool:
        """Whether a message.stop or message.flush of this end isn't completed: until then no credit can be granted."""
        balance = self._state.granted.get(destination)
        return balance is not None and bool(balance.taking)

    # Commands of this end.

    def call(
        self, command: Command[_R], message: Message | None = None, *, sync: bool = True
    ) -> Handle[_R]:
        """Send a command; its handle ends when the peer has executed it, with its result where it has one.

        `message` is what file.stage, stream.publish and others carry. Without `sync` the peer may take its time to say
        that it's done; a later `sync()` or call makes it. Raises LocalProtocolError for a command that isn't legal now,
        LimitExceeded, CodecError, EndpointClosed, with nothing changed.
        """
        if isinstance(command, MessageTransfer):
            raise LocalProtocolError("send messages with Session.transfer")
        return outgoing.call(self, command, message, sync)

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
        return outgoing.transfer(
            self, destination, message, accept_mode, acquire_mode, sync
        )

    def sync(self) -> Handle[None]:
        """Ask for all that was sent before to be executed; the handle ends when it is (execution.sync)."""
        return outgoing.call(self, ExecutionSync(), None, True)

    def accept(self, *command_ids: int, sync: bool = False) -> Handle[None]:
        """Accept messages that came with these ids, which are completed too (message.accept)."""
        return outgoing.settle(self, MessageAccept(SequenceSet.of(*command_ids)), sync)

    def reject(
        self, *command_ids: int, code: int = 0, text: str | None = None, sync: bool = False
    ) -> Handle[None]:
        """Refuse messages for good: their queue's alternate exchange gets them, if it has one (message.reject)."""
        return outgoing.settle(
            self, MessageReject(SequenceSet.of(*command_ids), code, text), sync
        )

    def release(
        self, *command_ids: int, set_redelivered: bool = False, sync: bool = False
    ) -> Handle[None]:
        """Give messages back, to be delivered again (message.release)."""
        return outgoing.settle(
            self, MessageRelease(SequenceSet.of(*command_ids), set_redelivered), sync
        )

    def acquire(self, *command_ids: int) -> Handle[Acquired]:
        """Acquire messages that came with acquire-mode not-acquired; the result names those that were there."""
        return self.call(MessageAcquire(SequenceSet.of(*command_ids)))

    def top_up(self, destination: str, messages: int, octets: int | None = None) -> None:
        """Grant credit so that the peer may send `messages` and `octets` (None: any number); what it has left counts.

        With a window nothing is to be topped up as messages are completed. Raises as `call`,
        also while a message.stop or flush is under way.
        """
        balance = self._state.granted.get(destination)
        if balance is None:
            raise LocalProtocolError(f"{destination!r} is no subscription of this session")
        grants: list[MessageFlow] = []
        left = balance.messages
        if left is not None and messages > left:
            grants += _grants(destination, MESSAGE, messages - left)
        if balance.octets is not None and (octets is None or octets > balance.octets):
            grants += _grants(destination, BYTE, None if octets is None else octets - balance.octets)
        if len(grants) > 1:
            self._check()
            self._check_room(_GRANT * len(grants), len(grants))
        for each in grants:
            self.call(each, sync=False)

    # Commands of the peer.

    def complete(self, command_id: int, result: Struct | None = None) -> None:
        """A command of the peer is executed; `result` is the struct that its kind has as result.

        Raises LocalProtocolError for an id that doesn't wait for it, and for a result that the command doesn't have.
        """
        incoming.complete(self, command_id, result)

    def fail(
        self,
        error: ExecutionError,
        command_id: int | None = None,
        *,
        field: str | None = None,
    ) -> None:
        """Refuse a command: execution.exception, which ends the session with all that is known of it.

        `field` names the argument at fault. A second call, and one behind the session's end, does nothing.
        """
        session_end.fail_here(self, error, command_id, field)

    def decide(self, xid: Xid, *, committed: bool) -> None:
        """A distributed transaction has ended elsewhere: what it accepted here is settled, or as it was before."""
        incoming.decide(self, xid, committed=committed)

    # The session itself.

    def flush(
        self, *, expected: bool = False, confirmed: bool = False, completed: bool = True
    ) -> None:
        """Ask the peer at once for the ids that it expects, has confirmed, has completed (session.flush)."""
        self._check()
        session_controls.send(self, SessionFlush(expected, confirmed, completed))

    def gap(self, *command_ids: int) -> None:
        """Give up commands that the peer may not have got: they'll never be sent again (session.gap).

        Their handles fail. Raises LocalProtocolError for ids that wait for no confirmation.
        """
        self._check()
        control = SessionGap(SequenceSet.of(*command_ids))
        self._check_backlog(len(control.encode()))
        outgoing.give_up(self, command_ids)
        session_controls.send(self, control)

    def request_timeout(self, seconds: int | None) -> Handle[int | None]:
        """Ask for the session to be kept so long when it's detached, None: for ever; the result is what is granted."""
        self._check()
        return session_controls.request_timeout(self, seconds)

    def detach(self) -> None:
        """Leave the channel; `SessionClosed` follows. With a `timeout`, `detached_state()` can be attached again."""
        if self._report is not None or self._attachment not in (
            Attachment.ATTACHING,
            Attachment.ATTACHED,
        ):
            return
        self._check()
        session_controls.send(self, SessionDetach(self.name))
        session_controls.step_own(self, "detach")

    def let_go(self, code: DetachCode = DetachCode.SESSION_BUSY) -> None:
        """Leave the channel at once, without the peer's answer: the session goes on elsewhere (session.attach, force).

        `SessionClosed` follows; `detached_state()` has what is known already.
        """
        session_end.let_go(self, code)

    def close(self) -> None:
        """Leave the session for good, and the peer too: nothing of it is kept (part 1 section 3.6.4).

        Calls that aren't answered are abandoned: take `sync()`'s answer before.
        """
        if self._closing or self._report is not None:
            return
        self._check()
        if self._attachment is Attachment.ATTACHED:
            session_controls.send(self, SessionRequestTimeout(0))
        else:
            self.detach()
        self._closing = True

    def detached_state(self) -> SessionState:
        """What this end knows of the session, to be kept and given to `resume_session` or `accept_session`.

        Raises LocalProtocolError while it's attached, EndpointClosed when it ended for good.
        """
        return session_end.detached_state(self)

    # Inside.

    def _check(self) -> None:
        """Raises EndpointClosed when the session or its connection has ended."""
        self._connection._check_open()
        if self._report is not None:
            raise EndpointClosed(f"session {self.name!r} has ended: {self._report}", self._report)
        if self._attachment not in (Attachment.ATTACHING, Attachment.ATTACHED):
            raise EndpointClosed(f"session {self.name!r} is being detached", self._report)

    def _check_room(self, octets: int, commands: int = 1) -> None:
        """Raises LimitExceeded when a command of so many octets can't be kept or queued."""
        limits = self._connection.config.limits
        state = self._state
        if len(state.calls) + commands > limits.calls:
            raise LimitExceeded(
                f"{len(state.calls)} commands aren't answered, Limits.calls allows {limits.calls}; wait for sync()"
            )
        if (
            len(state.sending.replay) + commands > limits.replay
            or state.octets + octets > limits.replay_octets
        ):
            raise LimitExceeded(
                f"{len(state.sending.replay)} commands of {state.octets} octets wait to be confirmed, "
                f"Limits.replay allows {limits.replay}, Limits.replay_octets {limits.replay_octets}; "
                "wait for sync()"
            )
        self._check_backlog(octets)

    def _check_backlog(self, octets: int) -> None:
        """Raises LimitExceeded when so many octets in commands, and the controls that go with them, can't be queued."""
        frames = octets // (MIN_MAX_FRAME_SIZE - FRAME_HEADER_SIZE) + _MORE_FRAMES
        ranges = len(self._state.receiving.done.ranges) + 1
        self._connection._check_backlog(octets + FRAME_HEADER_SIZE * frames + _RANGE * ranges)

    def __repr__(self) -> str:
        return f"<AMQP 0-10 session {self.name!r} on channel {self.channel}, {self._attachment.value}>"


def _grants(destination: str, unit: int, value: int | None) -> list[MessageFlow]:
    """The commands that grant so much; one can't grant more than there are numbers."""
    found: list[MessageFlow] = []
    if value is not None and value > _MOST_GRANTS * _LARGEST_GRANT:
        raise LocalProtocolError(f"a credit of {value} takes too many commands; None grants any number")
    while value is not None and value > _LARGEST_GRANT:
        found.append(MessageFlow(destination, unit, _LARGEST_GRANT))
        value -= _LARGEST_GRANT
    # Broker-J takes an absent value for none at all.
    return [*found, MessageFlow(destination, unit, INFINITE if value is None else value)]


__all__ = [
    "EXPLICIT",
    "INTERNAL_ERROR",
    "NONE",
    "NOT_ACQUIRED",
    "PRE_ACQUIRED",
    "Session",
    "Transferred",
]
