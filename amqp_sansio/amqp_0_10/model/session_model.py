"""SessionHalf: what one side of a session has begun with its commands, and which are legal then.

Classes 4 to 6, 9 and 10. Endpoints step both halves, in `SessionState`, for what they send and receive, and keep exact
books beside them: `credit`, `transfers`, `command_ids`. Observers step halves that know as much as can be seen
(`WholeHalf`), one by one, since one of them may be known and the other not.
A command that isn't legal raises `Violation`, with nothing changed. `tolerate` gets each broken rule that does no
harm, or not for sure: endpoints ignore it, observers report it.

This module owns what a side has selected, subscribed and begun; nothing outside `model` assigns any of it. `step` takes
each command once, in the order in which it was sent, and `answered` the result of one that is executed. Between two
calls a branch is `current` only in mode DTX, but for halves that go on behind a broken rule.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ..._checking import TYPE_CHECKING
from ..._ground.brevity import trim
from ..._ground.serial import MASK
from ..._ground.state_table import Table, TableEnum
from ...endpoint import Side
from ..codec import records
from ..codec.choices import NONE
from ..codec.violation import Violation, exception
from . import execution
from .command_ids import never_sent
from .credit import AgedCredit
from .file_rules import SeenFiles
from .open_ids import OpenIds
from .transfers import WORK, SeenTransfers

if TYPE_CHECKING:
    from typing import Any, ClassVar, Final, TypeAlias

    from ..codec.record import Command
    from ..codec.sequence_set import SequenceSet
    from .transfers import Settling


class Mode(TableEnum):
    """The mode that a session was selected for."""

    NORMAL = "normal"
    TX = "standard transactions"
    DTX = "distributed transactions"


class Select(TableEnum):
    """Inputs of the mode's table; C: only clients send them."""

    TX_SELECT = "C:tx.select"
    TX_COMMIT = "C:tx.commit"
    TX_ROLLBACK = "C:tx.rollback"
    DTX_SELECT = "C:dtx.select"
    DTX_START = "C:dtx.start"
    DTX_END = "C:dtx.end"


MODE: Final[Table[Mode, Select]] = {
    Mode.NORMAL: {Select.TX_SELECT: Mode.TX, Select.DTX_SELECT: Mode.DTX},
    Mode.TX: {Select.TX_COMMIT: Mode.TX, Select.TX_ROLLBACK: Mode.TX},
    Mode.DTX: {
        # At least once: selecting again does nothing (class 6, dtx.select).
        Select.DTX_SELECT: Mode.DTX,
        Select.DTX_START: Mode.DTX,
        Select.DTX_END: Mode.DTX,
    },
}

_INPUTS: Final[Mapping[type, Select]] = {
    kind: given for kind in records.COMMANDS.values() for given in Select if given.value == f"C:{kind.NAME}"
}
_MODE_RULES: Final[Mapping[Select, str]] = {
    Select.TX_SELECT: "tx.select/exactly-once",
    Select.TX_COMMIT: "tx.commit/select-required",
    Select.TX_ROLLBACK: "tx.rollback/select-required",
    Select.DTX_START: "dtx.select/required",
    Select.DTX_END: "dtx.select/required",
}
OF_DESTINATION: Final = (records.MessageFlow, records.MessageStop, records.MessageFlush, records.MessageSetFlowMode)
"""The commands about the credit of a destination."""
Crediting: TypeAlias = "records.MessageFlow | records.MessageStop | records.MessageFlush | records.MessageSetFlowMode"
"""The same as a type."""
OfDestination: TypeAlias = "Crediting | records.MessageCancel"
"""These, and the one that ends a subscription."""
Deciding: TypeAlias = "records.DtxPrepare | records.DtxCommit | records.DtxRollback | records.DtxForget"
"""The commands about a branch that no session works for any more."""


class SessionHalf:
    """The selections, subscriptions and transactions that one side has begun on a session."""

    __slots__ = ("current", "limit", "mode", "side", "subscriptions", "suspended")

    def __init__(self, side: Side, limit: int) -> None:
        # Whose half it is.
        self.side = side
        # The most subscriptions, and suspended branches; a session that goes on takes over its connection's.
        self.limit = limit
        # What the side has selected (tx.select, dtx.select).
        self.mode = Mode.NORMAL
        # The transaction branch that its work belongs to (dtx.start), None outside of one.
        self.current: records.Xid | None = None
        # The branches that it's to resume, the latest ones.
        self.suspended: dict[records.Xid, None] = {}
        # The accept-mode of its subscriptions, by their destination.
        self.subscriptions: dict[str, int] = {}

    def step(self, command: object) -> None:
        """Take a command. Raises Violation for one that isn't legal now, with nothing changed."""
        rule = self._RULES.get(command.__class__)
        if rule is not None:
            rule(self, command)

    def forget_subscriptions(self) -> None:
        """Nobody knows which there are; whoever shares them keeps its own."""
        self.subscriptions = {}

    def share_subscriptions(self, known: SessionHalf) -> None:
        """Go on with the subscriptions of a half that knew more."""
        self.subscriptions = known.subscriptions

    def tolerate(self, violation: Violation | None) -> None:
        """A rule is broken, if any, and it does no harm here."""

    @property
    def work(self) -> object:
        """The name of the transaction that accepts belong to now; None without one."""
        return WORK if self.mode is Mode.TX else self.current

    # Transactions.

    def _select(self, command: Command[object]) -> None:
        given = _INPUTS[command.__class__]
        mode = MODE[self.mode].get(given)
        if mode is None:
            rule = _MODE_RULES.get(given)
            if given is Select.TX_SELECT and self.mode is Mode.DTX:
                rule = "tx.select/no-dtx"
            text = f"{command.NAME} on a session that is selected for {self.mode.value}"
            raise exception(execution.ILLEGAL_STATE, text, rule)
        if mode is Mode.TX and NONE in self.subscriptions.values():
            text = f"{command.NAME} on a session with a subscription whose accept-mode is none"
            raise exception(execution.NOT_ALLOWED, text, "tx.select/explicit-accepts")
        if isinstance(command, records.DtxStart):
            self._start(command)
        elif isinstance(command, records.DtxEnd):
            self._end(command)
        self.mode = mode

    def _start(self, command: records.DtxStart) -> None:
        """The session begins to work for a branch (class 6)."""
        xid = command.xid
        if command.join and command.resume:
            raise exception(execution.NOT_ALLOWED, "dtx.start with join and resume", "dtx.start/join-and-resume")
        if self.current is not None:
            text = f"dtx.start on a session that works for {self.current}"
            raise exception(execution.ILLEGAL_STATE, text, "dtx.start/illegal-state")
        if xid in self.suspended and not command.resume:
            # It may have ended meanwhile, which the server knows.
            text = f"dtx.start without resume of {xid}, which the session has suspended"
            self.tolerate(exception(execution.NOT_ALLOWED, text, "dtx.end/suspend"))
        self._work_for(xid)

    def _work_for(self, xid: records.Xid | None) -> None:
        self.current = xid
        if xid is not None:
            self.suspended.pop(xid, None)

    def _end(self, command: records.DtxEnd) -> None:
        """It doesn't any more."""
        if command.suspend and command.fail:
            raise exception(execution.NOT_ALLOWED, "dtx.end with suspend and fail", "dtx.end/suspend-and-fail")
        if not self.is_associated(command.xid):
            text = f"dtx.end of {command.xid}, the session works for {self.current or 'none'}"
            raise exception(execution.ILLEGAL_STATE, text, "dtx.end/not-associated")
        self._leave(command)

    def _leave(self, command: records.DtxEnd) -> None:
        if command.suspend and command.xid is not None:
            self.suspended[command.xid] = None
            trim(self.suspended, self.limit)
        if command.xid == self.current:
            self.current = None

    def is_associated(self, xid: records.Xid | None) -> bool:
        """Whether the session works for a branch, so that it may end that."""
        return self.current is not None and xid == self.current

    def answered(self, command: object, result: object) -> None:
        """The result of a command is known: dtx.start that isn't xa-ok hasn't associated the session."""
        failed = isinstance(result, records.XaResult) and result.status
        if failed and isinstance(command, records.DtxStart) and command.xid == self.current:
            self.current = None

    # Subscriptions.

    def _subscribe(self, command: records.MessageSubscribe) -> None:
        destination = command.destination or ""
        if destination in self.subscriptions:
            text = f"message.subscribe with the destination {destination!r}, which is in use on this session"
            raise exception(execution.NOT_ALLOWED, text, "message.subscribe/unique-destination")
        if self.mode is Mode.TX and command.accept_mode == NONE:
            text = "message.subscribe with accept-mode none on a session with standard transactions"
            raise exception(execution.NOT_ALLOWED, text, "tx.select/explicit-accepts")
        self._check_room(len(self.subscriptions))
        self.subscriptions[destination] = command.accept_mode or 0

    def _cancel(self, command: records.MessageCancel) -> None:
        self._of_destination(command)
        self.subscriptions.pop(command.destination or "", None)

    def _of_destination(self, command: OfDestination) -> None:
        """A server throttles publishing: its destinations are exchanges (class 4, rule throttling)."""
        destination = command.destination or ""
        if self.side is Side.CLIENT and destination not in self.subscriptions:
            text = f"{command.NAME} for {destination!r}, which is no subscription of this session"
            raise exception(execution.NOT_FOUND, text, "message.cancel/not-found")

    def _check_room(self, count: int) -> None:
        if count >= self.limit:
            text = f"{count} subscriptions, Limits.consumers allows no more"
            raise exception(execution.RESOURCE_LIMIT_EXCEEDED, text)

    _RULES: ClassVar[Mapping[type, Callable[..., None]]] = {
        **dict.fromkeys(_INPUTS, _select),
        records.MessageSubscribe: _subscribe,
        records.MessageCancel: _cancel,
        **dict.fromkeys(OF_DESTINATION, _of_destination),
    }


class Asked:
    """The open requests of one side with the controls of a session (class 2)."""

    __slots__ = ("flushed", "wanted")

    def __init__(self, known: bool) -> None:
        # Whether it asked which command the other side expects; also where that isn't known.
        self.flushed = not known
        # The longest timeout among those that weren't answered, in seconds; None: for ever, -1: none was asked for.
        self.wanted: int | None = -1

    def flush(self, expected: bool) -> None:
        """It asks which command the other side expects (session.flush)."""
        self.flushed = self.flushed or expected

    def check_expected(self) -> Violation | None:
        """The other side says which one it expects."""
        if self.flushed:
            return None
        text = "session.expected, which nobody has asked for"
        rule = "session.expected/only-on-flush"
        return exception(execution.ILLEGAL_STATE, text, rule, harmless=True)

    def request_timeout(self, seconds: int | None) -> None:
        """It asks for the session to be kept (session.request-timeout)."""
        if self.wanted != -1 and seconds is not None:
            # The answers to both come in order.
            seconds = None if self.wanted is None else max(seconds, self.wanted)
        self.wanted = seconds

    def check_timeout(self, granted: int | None) -> Violation | None:
        """The other side grants a timeout (session.timeout)."""
        wanted, self.wanted = self.wanted, -1
        if wanted is None or wanted == -1 or (granted is not None and granted <= wanted):
            return None
        text = f"session.timeout of {granted} seconds, {wanted} were asked for"
        return exception(execution.ILLEGAL_STATE, text, "session.request-timeout/granted")


class WholeHalf(SessionHalf):
    """A half of a session that was seen from its first command on.

    It knows what its side has done, and takes what the other side may not have heard of as not done yet. Everything in
    it is bounded; what was forgotten is held against nobody.
    """

    __slots__ = (
        "broken",
        "credit",
        "files",
        "left",
        "mixed",
        "most",
        "next_id",
        "peer",
        "prepared",
        "sent",
        "starting",
        "transit",
    )

    def __init__(self, side: Side, limit: int, most: int) -> None:
        super().__init__(side, limit)
        # The most entries of each kind that are kept.
        self.most = most
        # The other half; None while it isn't known, or was missed.
        self.peer: WholeHalf | None = None
        # Rules of class file; both halves share it once they know each other.
        self.files = SeenFiles(limit, most)
        # What the other side may send to this side's subscriptions.
        self.credit = AgedCredit(most)
        # The id of the next command.
        self.next_id = 0
        # The messages that this side has transferred and nobody has settled.
        self.sent = SeenTransfers(most)
        # Destination and octets of those that the other side hasn't completed, by id: what gives credit back.
        self.transit: OpenIds[tuple[str, int]] = OpenIds()
        # Whether the side has selected both kinds of transactions, or done as if it had.
        self.mixed = False
        # The branches that it may be associated with for all that is known; None: any.
        self.left: dict[records.Xid, None] | None = {}
        # The dtx.start whose results aren't there, by id.
        self.starting: dict[int, records.DtxStart] = {}
        # The branches that it has prepared.
        self.prepared: dict[records.Xid, None] = {}
        # The rules that the command at hand breaks; empty between two calls of `take`.
        self.broken: list[Violation] = []

    def join(self, peer: WholeHalf) -> None:
        """The other side has attached the session too."""
        self.peer = peer
        peer.peer = self
        self.files = peer.files

    def missed(self) -> None:
        """Not all that this side has sent was seen: the other half goes on alone."""
        if self.peer is not None:
            self.peer.peer = None

    def take(self, number: int, command: Any, sizes: tuple[int, int]) -> list[Violation]:
        """Take the command `number`, with the octets of its header and body; the rules that it breaks."""
        broken = self.broken
        try:
            self.step(command)
        except Violation as violation:
            self._broken(violation, command)
        kind = command.__class__
        if kind.CODE >= _FILE and (self.peer is not None or kind not in _OF_BOTH):
            try:
                self.files.step(self.side, command, sizes[1])
            except Violation as violation:
                broken.append(violation)
        seen = self._SEEN.get(kind)
        if seen is not None:
            seen(self, number, command, sizes)
        self.next_id = (number + 1) & MASK
        if not broken:
            return broken
        self.broken = []
        return [each for each in broken if each.rule is not None]

    def tolerate(self, violation: Violation | None) -> None:
        """A rule is broken, if any."""
        if violation is not None:
            self.broken.append(violation)

    def _broken(self, violation: Violation, command: object) -> None:
        """A command isn't legal: go on as its sender does, who took it for legal."""
        given = _INPUTS.get(command.__class__)
        illegal = given is not None and given not in MODE[self.mode]
        if not (illegal and self.mixed):
            self.broken.append(violation)
        if given is not None:
            self.mixed = self.mixed or (illegal and self.mode is not Mode.NORMAL)
            if illegal or self.mode is Mode.NORMAL:
                self.mode = Mode.DTX if given.value.startswith("C:dtx") else Mode.TX
            if isinstance(command, records.DtxStart):
                self._work_for(command.xid)
            elif isinstance(command, records.DtxEnd):
                self._leave(command)
        elif isinstance(command, records.MessageSubscribe) and violation.rule is not None:
            if len(self.subscriptions) < self.limit:
                self.subscriptions[command.destination or ""] = command.accept_mode or 0
            else:
                self.credit.forget()

    @property
    def _in_transaction(self) -> bool:
        return self.mode is Mode.TX or self.mixed

    # Transfers and what settles them.

    def _transfer(self, number: int, command: records.MessageTransfer, sizes: tuple[int, int]) -> None:
        self.sent.transfer(number, command)
        client = self.peer
        if self.side is Side.CLIENT or client is None or not client.credit.known:
            return
        # Only the payloads of header and body frames count (rule byte-accounting).
        octets = sum(sizes)
        name = command.destination or ""
        self.transit[number] = (name, octets)
        if len(self.transit) > self.most:
            for gone in trim(self.transit, self.most).values():
                client.credit.restore(*gone)
        self.tolerate(client.credit.spend(name, octets))

    def _settle(self, number: int, command: Settling, sizes: tuple[int, int]) -> None:
        """message.accept, reject or release: of messages that the other side has transferred, and once."""
        peer = self.peer
        if peer is None or not command.transfers:
            return
        aside = isinstance(command, records.MessageAccept) and self._in_transaction
        self.tolerate(peer.sent.settle(command, peer.next_id, aside=aside))

    def _acquire(self, number: int, command: records.MessageAcquire, sizes: tuple[int, int]) -> None:
        if self.peer is not None:
            self.peer.sent.acquire(command, self.peer.next_id)

    # Subscriptions and their credit.

    def _check_room(self, count: int) -> None:
        if count >= self.limit:
            self.credit.forget()
            super()._check_room(count)

    def _of_destination(self, command: OfDestination) -> None:
        if self.credit.known:
            super()._of_destination(command)

    def _credit(self, number: int, command: OfDestination | records.MessageSubscribe, sizes: tuple[int, int]) -> None:
        name = command.destination or ""
        if isinstance(command, records.MessageSubscribe):
            self.credit.subscribe(name, number, self.limit)
        elif isinstance(command, records.MessageFlow):
            self.credit.grant(name, command.unit, command.value)
        elif isinstance(command, records.MessageSetFlowMode):
            self.tolerate(self.credit.set_mode(name, command.flow_mode))
        else:
            self.credit.zero(name, command.NAME, number)

    # Transactions.

    def _tx_ended(self, number: int, command: object, sizes: tuple[int, int]) -> None:
        if self.peer is not None:
            committed = isinstance(command, records.TxCommit)
            self.peer.sent.end_work(self.peer.next_id, committed=committed)

    def _work_for(self, xid: records.Xid | None) -> None:
        if self.current is not None and self.left is not None and self.current != xid:
            # It may have been left by an end whose start didn't go well.
            self._leaves(self.current)
        super()._work_for(xid)
        if self.left is not None and xid is not None:
            self.left.pop(xid, None)

    def is_associated(self, xid: records.Xid | None) -> bool:
        """Whether the session may work for a branch."""
        return super().is_associated(xid) or self.left is None or xid in self.left

    def _leave(self, command: records.DtxEnd) -> None:
        super()._leave(command)
        if self.left and command.xid is not None:
            self.left.pop(command.xid, None)

    def _leaves(self, xid: records.Xid) -> None:
        if self.left is not None:
            self.left[xid] = None
            if len(self.left) > self.most:
                self.left = None

    def _started(self, number: int, command: records.DtxStart, sizes: tuple[int, int]) -> None:
        if command.xid is None:
            return
        self.prepared.pop(command.xid, None)
        self.starting[number] = command
        trim(self.starting, self.most)

    def _result(self, number: int, command: records.ExecutionResult, sizes: tuple[int, int]) -> None:
        """A dtx.start that didn't go well may leave the session without a branch; to end it is right all the same."""
        peer = self.peer
        start = None if peer is None else peer.starting.pop(command.command_id or 0, None)
        if peer is None or start is None or start.xid is None:
            return
        if getattr(command.value, "status", None) != _OK and peer.current == start.xid:
            peer.current = None
            peer._leaves(start.xid)

    def _outcome(self, number: int, command: Deciding, sizes: tuple[int, int]) -> None:
        """dtx.prepare, commit, rollback and forget."""
        xid: records.Xid | None = command.xid
        if xid is None:
            return
        self.suspended.pop(xid, None)
        if self.current == xid:
            text = f"{command.NAME} of a branch that the session is still associated with"
            rule = f"{command.NAME}/not-disassociated"
            self.broken.append(exception(execution.ILLEGAL_STATE, text, rule))
        if isinstance(command, records.DtxPrepare):
            self.prepared[xid] = None
            trim(self.prepared, self.most)
            return
        if isinstance(command, records.DtxCommit) and command.one_phase and xid in self.prepared:
            text = "dtx.commit with one-phase of a branch that was prepared"
            self.broken.append(exception(execution.ILLEGAL_STATE, text, "dtx.commit/two-phase"))
        self.prepared.pop(xid, None)

    _SEEN: ClassVar[Mapping[type, Callable[..., None]]] = {
        records.MessageTransfer: _transfer,
        records.MessageAccept: _settle,
        records.MessageReject: _settle,
        records.MessageRelease: _settle,
        records.MessageAcquire: _acquire,
        **dict.fromkeys((*OF_DESTINATION, records.MessageSubscribe, records.MessageCancel), _credit),
        records.TxCommit: _tx_ended,
        records.TxRollback: _tx_ended,
        records.DtxStart: _started,
        records.DtxPrepare: _outcome,
        records.DtxCommit: _outcome,
        records.DtxRollback: _outcome,
        records.DtxForget: _outcome,
        records.ExecutionResult: _result,
    }

    # Completion.

    def completes(self, commands: SequenceSet) -> Violation | None:
        """This side has executed commands of the other one; the rule that this breaks."""
        peer = self.peer
        if peer is None:
            return None
        broken = never_sent(commands, peer.next_id)
        for number in peer.transit.named(commands):
            self.credit.restore(*peer.transit.pop(number))
        peer.credit.completed(commands)
        return broken


_OK: Final = 0
_FILE: Final = 0x900
"""The first code of the file class; that of streams is the last one."""
_OF_BOTH: Final = frozenset({records.FileAck, records.FileReject, records.FileOpenOk, records.FileStage})
"""Commands that are judged by what the other side has sent."""
