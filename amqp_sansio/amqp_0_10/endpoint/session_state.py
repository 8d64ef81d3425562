"""SessionState: all that one end knows of a session, whether it's attached or not (0-10 part 1 sections 3.1 and 3.5.2).

It survives the connection: detached, it's a value that pickles, and `connection.resume_session` goes on from it.

This module owns what an end remembers of the commands of both directions, with the octets to send again, and the calls
and events of its application; no other module assigns any of it. What a session may do is judged by `model`.

An endpoint numbers its own commands with `send` and hears of them by `answered`; of the peer's commands it begins each
by `receiving.arrive`, hands the ones that the application executes to `execute`, and ends them by `retire`. All that
needs a session that is attached and has had its command-point (section 3.5.1). `take_usual_transfer` and
`complete_message` are the same for what a busy session has nearly nothing but: whole messages that come, and their
completion.

Between two calls:

- `calls` has each own command that isn't completed or whose result is due, and `sending.replay` each that isn't
  confirmed: `octets` is the sum of `Call.octets` over the first;
- `executing` has the peer's commands that the application hasn't completed, in the order of their ids, all of which
  `receiving.known` has; `weight` is the sum of the octets of their bodies that came whole;
- `untold` is how many commands of `receiving.done` the peer hasn't been told of;
- what `Limits` bounds is within them, and `streamed` has sizes of commands that are being executed only.
"""

from __future__ import annotations

from ..._checking import TYPE_CHECKING
from ..._core.snapshot import Laid
from ..._ground.invariants import ensure
from ..._ground.layouts import SESSION_0_10
from ..._ground.serial import distance
from ..._watching.ends import failed
from ...endpoint import Side
from ...errors import EndpointClosed
from ..codec.violation import exception
from ..model.command_ids import ReceiveState, SendState
from ..model.credit import Balance
from ..model.execution import RESOURCE_LIMIT_EXCEEDED
from ..model.file_rules import FileRules
from ..model.open_ids import OpenIds
from ..model.session_model import Mode, SessionHalf
from ..model.transfers import Transfers
from .events import CommandReceived, MessageBegun, MessageReceived

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Final

    from ...events import CloseReport, Event, Pending
    from ...limits import Limits
    from ..codec.record import Command
    from ..codec.sequence_set import SequenceSet

TELL_EVERY: Final = 64
"""So many completions are told together when nobody waits for them."""

Segments = tuple[tuple[int, bytes], ...]
"""The segments of a command as they go on the wire: type and octets."""

_LAST: Final = 4096
"""Octets by which the last call may go beyond `Limits.replay_octets`."""
_RANGES: Final = 70_000
"""Most ranges that the ids of received commands can be in: each of them costs a command that is open."""


class Call:
    """A command that this end has sent: what is still to come of it."""

    __slots__ = ("command", "completed", "destination", "octets", "pending", "result", "size", "value")

    def __init__(
        self, command: Command[object], pending: Pending[object] | None, octets: int, destination: str | None, size: int
    ) -> None:
        # What was sent.
        self.command = command
        # It ends when the peer has executed the command, and its result has come where it has one; None for those that
        # nobody waits for.
        self.pending = pending
        # The name of the struct that is to come as its result; "" for none, and when it has come.
        self.result: str = command.RESULT
        # The result, once it has come.
        self.value: object = None
        # Whether the peer has executed it.
        self.completed = False
        # Octets of its segments that count in `SessionState.octets`; 0 once it's completed.
        self.octets = octets
        # Of a message, the destination whose credit it took, else None.
        self.destination = destination
        # Of a message, the octets of its header and body, which its completion gives back.
        self.size = size

    def take_result(self, value: object) -> None:
        """The result has come."""
        self.result = ""
        self.value = value


class SessionState(Laid):
    """What one end knows of a session; see the module's docstring.

    `pending` are the own calls that aren't answered, `incomplete` the events of the peer's commands that the
    application hasn't completed yet.
    """

    _LAYOUT = SESSION_0_10
    _WHAT = "a detached session"

    __slots__ = (
        "asked",
        "balances",
        "calls",
        "executing",
        "files",
        "granted",
        "incoming",
        "lasts",
        "name",
        "octets",
        "opened",
        "outgoing",
        "own",
        "paced",
        "paces",
        "peer",
        "receiving",
        "sending",
        "side",
        "side_name",
        "streamed",
        "syncs",
        "tell_at",
        "timeout",
        "untold",
        "weight",
    )

    def __init__(self, name: bytes, side: Side, limits: Limits) -> None:
        # The modes, subscriptions and transactions of this end.
        self.own = SessionHalf(side, limits.consumers)
        # The same of the other end.
        self.peer = SessionHalf(side.other, limits.consumers)
        # Rules of class file, which both ends follow.
        self.files = FileRules(limits.consumers)
        # Its name, by which it's attached again.
        self.name = name
        # This end.
        self.side = side
        # Its name, as keys of pendings have it.
        self.side_name: str = side.value
        # Seconds for which both ends keep this while the session is detached (session.timeout); None: for ever.
        self.timeout: int | None = 0
        # Whether this end has sent a command-point, since the session was first attached.
        self.opened = False
        # Whether both ends keep this: this end has sent a command-point, or the peer has confirmed the timeout.
        self.lasts = False
        # Ids and segments of this end's commands.
        self.sending: SendState[Segments] = SendState(limit=limits.replay)
        # Ids of the peer's commands.
        self.receiving = ReceiveState()
        # The own commands of which something is still to come, by id.
        self.calls: OpenIds[Call] = OpenIds()
        # Octets of those that aren't completed (`Limits.replay_octets`).
        self.octets = 0
        # The events of the peer's commands that the application has to complete, by id.
        self.executing: dict[int, Event] = {}
        # Octets of their bodies (`Limits.bodies`).
        self.weight = 0
        # Octets of header and body of those messages that came in parts and are whole, by id.
        self.streamed: dict[int, int] = {}
        # Ids of the peer's execution.sync that wait until all before them is executed, in their order.
        self.syncs: list[int] = []
        # Commands that were executed since the peer was last told (session.completed).
        self.untold = 0
        # So many are told at the latest; `pace` keeps it below what the windows of this end need.
        self.tell_at = TELL_EVERY
        # By destination, how many completions are told together at most, if fewer than usual; None: all as usual.
        self.paces: dict[str, int] | None = None
        # How many destinations have each of these.
        self.paced: dict[int, int] | None = None
        # Whether the peer is asked for what it has completed (session.flush), and hasn't said.
        self.asked = False
        # The messages that this end has sent and that aren't settled.
        self.outgoing = Transfers(limits.unsettled)
        # Those that it has got.
        self.incoming = Transfers(limits.unsettled)
        # By destination, the credit that the peer has given this end.
        self.balances: dict[str, Balance] = {}
        # And the one that this end has given the peer.
        self.granted: dict[str, Balance] = {}

    # The usual message.

    def take_usual_transfer(self, event: MessageReceived, size: int, body: int) -> bool:
        """The peer's message.transfer that `event` tells of, all there: as `arrive`, `admit` and `execute` in turn.

        Header and body have `size` octets together, and the body `body`. It isn't taken unless it is the next new
        command, for a destination with credit, within the limits; then nothing changes.
        """
        number = event.command_id
        transfer = event.transfer
        incoming = self.incoming
        executing = self.executing
        keeps = not transfer.accept_mode or transfer.acquire_mode
        balance = self.granted.get(transfer.destination or "")
        if (
            balance is None
            or len(executing) >= incoming.limit
            or (keeps and len(incoming.unsettled) + incoming.put >= incoming.limit)
        ):
            return False
        bounded = balance.messages is not None or balance.octets is not None
        if (bounded and not balance.admits(body)) or not self.receiving.take_next(number):
            return False
        if bounded:
            balance.spend(size, body)
        if keeps:
            incoming.transfer(number, transfer)
        executing[number] = event
        self.weight += body
        return True

    def complete_message(self, number: int, event: MessageReceived) -> None:
        """The application has executed a message that came whole: as `retire` and `executed`."""
        del self.executing[number]
        body = len(event.body)
        self.weight -= body
        balance = self.granted.get(event.transfer.destination or "")
        if balance is not None and (balance.flow_mode or balance.stale):
            balance.restore(number, event.size, body)
        # As `executed`, without a call.
        self.receiving.complete(number)
        self.untold += 1

    # The peer's commands.

    def execute(self, number: int, event: Event, octets: int) -> None:
        """The application is to execute a command, whose body has so many octets."""
        self.executing[number] = event
        self.weight += octets

    def executed(self, number: int) -> None:
        """A command of the peer is executed, and the peer is to be told."""
        self.receiving.complete(number)
        self.untold += 1

    def take_completed(self) -> SequenceSet:
        """All that is executed and the peer may not know, which it is told now."""
        self.untold = 0
        return self.receiving.completed

    def renew(self, events: Iterable[Event]) -> None:
        """The session is attached to another channel: the events of what is being executed, in the same order."""
        self.executing = dict(zip(self.executing, events, strict=True))

    def came_in_parts(self, number: int, size: int) -> None:
        """A message that was told to begin is whole: octets of its header and body."""
        self.streamed[number] = size

    def wait_for_all(self, number: int) -> None:
        """An execution.sync waits until all before it is executed."""
        self.syncs.append(number)

    def end_syncs(self) -> bool:
        """Complete every execution.sync before which all is executed; whether there were any."""
        found = False
        while self.syncs and self.is_behind_all(self.syncs[0]):
            self.receiving.complete(self.syncs.pop(0))
            found = True
        return found

    # Credit.

    def credit_of(self, destination: str) -> Balance:
        """The credit that the peer has given for a destination. Raises Violation when there are too many."""
        balance = self.balances.get(destination)
        if balance is None:
            if len(self.balances) >= self.peer.limit:
                text = f"{len(self.balances)} destinations, Limits.consumers allows no more"
                raise exception(RESOURCE_LIMIT_EXCEEDED, text)
            balance = Balance(lenient=self.side is Side.CLIENT)
            self.balances[destination] = balance
        return balance

    def peer_subscribes(self, destination: str) -> None:
        """The peer's new subscription has no credit; what is under way to an older one gives none back."""
        self.balances[destination] = Balance(stale=self.under_way(destination))

    def peer_cancels(self, destination: str) -> None:
        """The peer's subscription is over."""
        self.balances.pop(destination, None)

    def grant_to(self, destination: str) -> Balance:
        """The credit that this end gives for a destination."""
        balance = self.granted.get(destination)
        if balance is None:
            balance = Balance(lenient=self.side is Side.SERVER)
            self.granted[destination] = balance
        return balance

    def subscribes(self, destination: str) -> None:
        """This end's new subscription has no credit; what has come to an older one gives none back."""
        self.granted[destination] = Balance(stale=self.arrived(destination))

    def cancels(self, destination: str) -> None:
        """This end's subscription is over."""
        self.granted.pop(destination, None)

    # This end's commands.

    def send(self, call: Call, segments: Segments) -> int:
        """This end sends a command: its id. Raises LimitExceeded."""
        number = self.sending.send(segments)
        self.calls[number] = call
        self.octets += call.octets
        return number

    def answered(self, number: int) -> Call:
        """The peer has executed an own command, of which a result may still be due."""
        call = self.calls[number]
        call.completed = True
        self.octets -= call.octets
        call.octets = 0
        return call

    def forget_call(self, number: int) -> None:
        """Nothing more is to come of an own command."""
        del self.calls[number]

    def give_up(self, number: int) -> Call | None:
        """An own command won't be sent again (session.gap); what waits for it, if anything does."""
        del self.sending.replay[number]
        for balance in self.granted.values():
            balance.taking.discard(number)
        call = self.calls.pop(number, None)
        if call is not None:
            self.octets -= call.octets
        return call

    def ask_completed(self) -> None:
        """The peer is asked for what it has completed (session.flush)."""
        self.asked = True

    def told_completed(self, ids: SequenceSet) -> SequenceSet:
        """The peer says what it has completed; those that are news."""
        self.asked = False
        return self.sending.told_completed(ids)

    # Its life.

    def attached(self) -> None:
        """The session goes on: this end has sent its command-point."""
        self.opened = True
        self.lasts = True

    def keep_for(self, timeout: int | None) -> None:
        """Both ends keep this for so many seconds, once it's detached."""
        self.timeout = timeout

    def confirm_timeout(self) -> None:
        """The peer has confirmed the timeout."""
        self.lasts = True

    def step(self, side: Side, command: object, body_size: int) -> None:
        """`side` sends a command with a body of so many octets. Raises Violation."""
        (self.own if side is self.side else self.peer).step(command)
        self.files.step(side, command, body_size)

    @property
    def pending(self) -> tuple[Pending[object], ...]:
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
        self.own.limit = limits.consumers
        self.peer.limit = self.own.limit
        self.outgoing.limit = limits.unsettled
        self.incoming.limit = self.outgoing.limit

    def abandon(self, report: CloseReport) -> tuple[Pending[object], ...]:
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

    def pace(self, destination: str) -> None:
        """The credit of a destination has changed: tell fewer completions together than half of the smallest window
        that they keep open."""
        balance = self.granted.get(destination)
        pace = TELL_EVERY
        if balance is not None and balance.granted != 0:
            if balance.octets is not None:
                pace = 1
            elif balance.granted is not None:
                pace = min(TELL_EVERY, max(1, balance.granted // 2))
        paces, paced = self.paces, self.paced
        if paces is None or paced is None:
            if pace == TELL_EVERY:
                return
            paces, paced = {}, {}
            self.paces, self.paced = paces, paced
        before = paces.pop(destination, TELL_EVERY)
        if before < TELL_EVERY:
            paced[before] -= 1
            if not paced[before]:
                del paced[before]
        if pace < TELL_EVERY:
            paces[destination] = pace
            paced[pace] = paced.get(pace, 0) + 1
        self.tell_at = min(paced, default=TELL_EVERY)

    def is_behind_all(self, number: int) -> bool:
        """Whether every command before `number` is executed."""
        first = next(iter(self.executing), None)
        return first is None or distance(number, first) > 0

    def check(self, limits: Limits) -> None:
        """Check that all that is kept is bounded by the limits, and that its octets are counted right. For tests;
        raises AssertionError."""
        where = repr(self)
        self.sending.check()
        self.receiving.check()
        waiting = len(self.executing) + len(self.syncs)
        most = max(limits.requests, limits.unsettled) + 1
        ensure(waiting <= most, where, "`Limits.requests` and `unsettled` bound commands to execute", waiting)
        sizes = set(self.streamed) <= set(self.executing)
        ensure(sizes, where, "`streamed` has sizes of commands to execute", set(self.streamed))
        ensure(len(self.calls) <= limits.calls + 1, where, "`Limits.calls` bounds own commands", len(self.calls))
        replay = len(self.sending.replay)
        ensure(replay <= limits.replay + 1, where, "`Limits.replay` bounds the commands to send again", replay)
        octets = sum([each.octets for each in self.calls.values()])
        ensure(self.octets == octets, where, "`octets` counts those of own commands", self.octets, octets)
        ensure(octets <= limits.replay_octets + _LAST, where, "`Limits.replay_octets` bounds `octets`", octets)
        for books in (self.outgoing, self.incoming):
            unsettled = len(books.unsettled) + sum([len(each) for each in books.aside.values()])
            ensure(unsettled <= limits.unsettled, where, "`Limits.unsettled` bounds transfers", unsettled)
        for balances in (self.balances, self.granted):
            count = len(balances)
            ensure(count <= 2 * limits.consumers + 1, where, "`Limits.consumers` bounds destinations", count)
            stale = max([len(each.stale) for each in balances.values()], default=0)
            ensure(stale <= limits.calls + limits.unsettled, where, "few transfers are older than a credit", stale)
        ranges = max(len(self.receiving.known.ranges), len(self.receiving.done.ranges))
        ensure(ranges <= _RANGES, where, "ids are in few ranges", ranges)
        weight = sum([len(getattr(each, "body", b"")) for each in self.executing.values()])
        ensure(self.weight == weight, where, "`weight` counts the octets of bodies", self.weight, weight)

    def __repr__(self) -> str:
        return (
            f"<SessionState {self.name!r}, {len(self.sending.replay)} commands to be confirmed, "
            f"{len(self.executing)} being executed>"
        )
