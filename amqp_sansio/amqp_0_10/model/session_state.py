"""SessionState: all that one end knows of a session, whether it's attached or not (0-10 part 1 sections 3.1 and 3.5.2).

It survives the connection: detached, it's a value that pickles, and `connection.resume_session` goes on from it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from ..._core.ends import failed
from ..._core.serial import distance
from ...endpoint import Side
from ...errors import EndpointClosed
from .command_ids import ReceiveState, SendState
from .credit import Balance
from .events import CommandReceived, MessageBegun, MessageReceived
from .file_rules import FileRules
from .open_ids import OpenIds
from .session_model import Mode, SessionHalf
from .transfers import Transfers

if TYPE_CHECKING:
    from ...events import CloseReport, Event, Pending
    from ...limits import Limits

TELL_EVERY: Final = 64
"""So many completions are told together when nobody waits for them."""

Segments = tuple[tuple[int, bytes], ...]
"""The segments of a command as they go on the wire: type and octets."""


class Call:
    """A command that this end has sent: what is still to come of it.

    `pending` ends when the peer has executed it, and its result has come where it has one; None for those that nobody
    waits for. `result` is the struct's name while it's due, `destination` and `size` those of a message.
    """

    __slots__ = (
        "command", "completed", "destination", "octets", "pending", "result", "size", "value",
    )  # fmt: skip

    def __init__(
        self, command: Any, pending: Pending[Any] | None, octets: int, destination: str | None, size: int
    ) -> None:
        self.command = command
        self.pending = pending
        self.result: str = command.RESULT
        self.value: Any = None
        self.completed = False
        self.octets = octets
        self.destination = destination
        self.size = size


class SessionState:
    """`name`, and what is known of the commands of both ends: `own` is this end's half, `peer` the other one's.

    `timeout` is for how many seconds both ends keep this while the session is detached; None: for ever. `opened`: this
    end has sent a command-point. `lasts`: it has, or the peer has confirmed the timeout, so that both ends keep this.
    `pending` are the own calls that aren't answered, `incomplete` the events of the peer's commands that the
    application hasn't completed yet.
    """

    SCHEMA = 5

    __slots__ = (
        "asked", "balances", "calls", "executing", "files", "granted", "incoming", "lasts", "name", "octets", "opened",
        "outgoing", "own", "peer", "receiving", "sending", "side", "side_name", "streamed", "syncs", "tell_at",
        "timeout", "untold", "weight",
    )  # fmt: skip

    def __init__(self, name: bytes, side: Side, limits: Limits) -> None:
        self.own = SessionHalf(side, limits.consumers)
        self.peer = SessionHalf(side.other, limits.consumers)
        self.files = FileRules(limits.consumers)
        self.name = name
        self.side = side
        self.side_name: str = side.value
        self.timeout: int | None = 0
        self.opened = self.lasts = False
        self.sending: SendState[Segments] = SendState(limit=limits.replay)
        self.receiving = ReceiveState()
        self.calls: OpenIds[Call] = OpenIds()
        self.octets = 0
        self.executing: dict[int, Event] = {}
        self.weight = 0
        self.streamed: dict[int, int] = {}
        self.syncs: list[int] = []
        self.untold = 0
        self.tell_at = TELL_EVERY
        self.asked = False
        self.outgoing = Transfers(limits.unsettled)
        self.incoming = Transfers(limits.unsettled)
        self.balances: dict[str, Balance] = {}
        self.granted: dict[str, Balance] = {}

    def step(self, side: Side, command: Any, body_size: int) -> None:
        """`side` sends a command with a body of so many octets. Raises Violation."""
        (self.own if side is self.side else self.peer).step(command)
        self.files.step(side, command, body_size)

    @property
    def pending(self) -> tuple[Pending[Any], ...]:
        """The pendings that aren't done: of commands, then of transfers that wait for their outcome."""
        calls = [call.pending for call in self.calls.values() if call.pending is not None]
        return tuple([each for each in (*calls, *self.outgoing.pendings()) if not each.done])

    @property
    def incomplete(self) -> tuple[Event, ...]:
        """The commands that the peer wants executed, and hasn't been told completed."""
        return tuple(self.executing.values())

    @property
    def subscriptions(self) -> tuple[str, ...]:
        """The destinations of this end's subscriptions."""
        return tuple(self.own.subscriptions)

    @property
    def selected(self) -> str:
        """The transactions that this end has selected: "tx", "dtx", or "" (tx.select, dtx.select)."""
        mode = self.own.mode
        return "" if mode is Mode.NORMAL else "tx" if mode is Mode.TX else "dtx"

    @property
    def waiting(self) -> int:
        """How many commands of the peer wait for their completion."""
        return len(self.executing) + len(self.syncs)

    def adopt(self, limits: Limits) -> None:
        """Use the limits of the connection that the session goes on with."""
        self.sending.limit = limits.replay
        self.own.limit = self.peer.limit = limits.consumers
        self.outgoing.limit = self.incoming.limit = limits.unsettled

    def abandon(self, report: CloseReport) -> tuple[Pending[Any], ...]:
        """End all pendings: the session won't be attached again."""
        return failed(self.pending, EndpointClosed(f"no answer will come: {report}", report))

    def arrived(self, destination: str) -> list[int]:
        """The transfers to one destination of this end that aren't completed."""
        return [
            number
            for number, event in self.executing.items()
            if isinstance(event, (MessageReceived, MessageBegun)) and (event.transfer.destination or "") == destination
        ]

    def under_way(self, destination: str) -> list[int]:
        """The own transfers to one destination that the peer hasn't completed."""
        return [number for number, call in self.calls.items() if call.destination == destination]

    def retire(self, number: int, *, completed: bool) -> None:
        """A command of the peer isn't executed any more; a window opens again by a completed message."""
        event = self.executing.pop(number)
        size = self.streamed.pop(number, 0)
        if isinstance(event, (MessageReceived, CommandReceived)):
            self.weight -= len(event.body)
        if isinstance(event, MessageReceived):
            size = event.size
        if isinstance(event, (MessageReceived, MessageBegun)):
            balance = self.granted.get(event.transfer.destination or "")
            if balance is not None and completed:
                balance.restore(number, size, size - len(event.headers.raw))
            elif balance is not None:
                # The message takes its credit again when it comes again.
                balance.unspend(number)

    def pace(self) -> None:
        """Tell fewer completions together than half of the smallest window that they keep open."""
        least = TELL_EVERY
        for balance in self.granted.values():
            granted = balance.granted
            if granted == 0:
                continue
            if balance.octets is not None:
                least = 1
                break
            if granted is not None and granted < 2 * least:
                least = max(1, granted // 2)
        self.tell_at = least

    def is_behind_all(self, number: int) -> bool:
        """Whether every command before `number` is executed."""
        first = next(iter(self.executing), None)
        return first is None or distance(number, first) > 0

    def __getstate__(self) -> tuple[int, dict[str, object]]:
        return self.SCHEMA, {name: getattr(self, name) for name in self.__slots__}

    def __setstate__(self, state: tuple[int, dict[str, object]]) -> None:
        schema, values = state
        if schema != self.SCHEMA:
            raise ValueError(f"this session has layout {schema}, this release reads {self.SCHEMA}")
        for name, value in values.items():
            setattr(self, name, value)

    def __repr__(self) -> str:
        return (
            f"<SessionState {self.name!r}, {len(self.sending.replay)} commands to be confirmed, "
            f"{len(self.executing)} being executed>"
        )
