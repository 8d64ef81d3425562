"""ObservedModel: what both sides of an observed connection have said, and which rules that breaks (0-10 part 1).

It judges by what the sender itself did, or by what it must have known: never by what is still under way to it. An
unseen command is unknown, and no later one is judged by it.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeVar

from ..._ground.brevity import KEPT, short, trim
from ..._ground.invariants import ensure
from ..._ground.serial import MASK, add
from ..._watching.holders import all_open
from ...endpoint import Side
from ..codec import records
from ..codec.records import COMMANDS, CONTROLS
from ..codec.violation import Violation
from ..model import opening_rules
from ..model.open_ids import OpenIds
from ..model.session_model import Asked, SessionHalf, WholeHalf
from .holders import Holders
from .open_messages import OpenMessages, Step, Unrecorded

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ..._watching.holders import Holder
    from ..._watching.settlements import Settlements
    from ...limits import Limits
    from ..codec.sequence_set import SequenceSet
    from .open_messages import Content, Context

_K = TypeVar("_K")
Telling: TypeAlias = "records.SessionConfirmed | records.SessionExpected | records.SessionCompleted"
"""The controls that name commands which came or are done."""

SERVER: Final = 0
CLIENT: Final = 1

_CONNECTION: Final = "connection."
_OPENING: Final = -1
"""Where requests of the connection class wait: it's one for all channels."""

_RESPONSES: Final[dict[str, tuple[str, ...]]] = {
    kind.NAME: getattr(kind, "RESPONSES", ()) for kind in (*CONTROLS.values(), *COMMANDS.values())
}
_REQUESTS: Final = {
    answer: tuple([name for name, answers in _RESPONSES.items() if answer in answers])
    for answers in _RESPONSES.values()
    for answer in answers
}
"""The requests that each control or command may answer."""
_CORRELATED: Final = frozenset({kind for kind in COMMANDS.values() if _RESPONSES[kind.NAME] or kind.NAME in _REQUESTS})
"""Commands that another one answers, or that answer one."""
_WITH_RESULT: Final = frozenset({kind for kind in COMMANDS.values() if kind.RESULT})
"""Commands that the other side answers with a result."""
_ENDING: Final = (records.ExecutionResult, records.ExecutionException)
_SIDES: Final = (Side.SERVER, Side.CLIENT)
_IN_USE: Final = "message.subscribe/unique-destination"


class Half:
    """The controls and commands of one side on a channel. `attached` is None where that isn't known, as is `next_id`.

    `pointed` says that its session.command-point came, `offset` what the next frame of a command must fit (None:
    nothing); `told` that the other side has ended the attachment. `sent` are the units of its commands, by their ids,
    until they are completed, `due` those of them whose result hasn't come; `asked` are the units that wait for another
    command by name, `wants` is what its controls ask for. `begun` is what it has begun with its commands, `whole` the
    same on a session that is new; elsewhere it's only what has been subscribed since it's seen.
    """

    __slots__ = (
        "asked",
        "attached",
        "begun",
        "due",
        "limit",
        "name",
        "next_id",
        "offset",
        "pointed",
        "sent",
        "side",
        "told",
        "wants",
        "whole",
    )

    def __init__(self, side: Side, limit: int, known: bool) -> None:
        self.side = side
        self.limit = limit
        self.sent: OpenIds[int] = OpenIds()
        self.due: dict[int, int] = {}
        self.asked: dict[str, deque[int]] = {}
        self.told = False
        self.begun = SessionHalf(side, limit)
        self.whole: WholeHalf | None = None
        self.reset(known)

    def reset(self, known: bool) -> None:
        """Nothing was said yet; unless `known`, it may have been."""
        self.attached: bool | None = False if known else None
        self.name: bytes | None = None
        self.next_id: int | None = None
        self.pointed = not known
        self.offset: int | None = None
        self.wants = Asked(known)
        self.complete_all()
        self.asked = {}
        self.forget()
        self.begun.forget_subscriptions()

    def complete_all(self) -> None:
        """Nothing more is known of its commands."""
        self.sent.clear()
        self.due = {}

    def keep(self, number: int, unit: int, due: bool, most: int) -> None:
        """A command isn't completed; at most `most` are kept."""
        sent = self.sent
        sent.add(number, unit)
        if due:
            self.due[number] = unit
        elif self.due:
            self.due.pop(number, None)
        if len(sent) > most:
            for oldest in trim(sent, most):
                self.due.pop(oldest, None)

    def check(self, where: str, most: int) -> None:
        """Check what is kept of its commands, at most `most` of them. Raises AssertionError."""
        ensure(len(self.sent) <= most, where, "`Limits.calls` bounds the commands that are kept", len(self.sent))
        lost = [number for number in self.due if number not in self.sent]
        ensure(not lost, where, "a result is due of commands that are kept", lost)
        ensure(self.whole in (None, self.begun), where, "what is known as a whole is what has begun")

    def begin(self, whole: WholeHalf) -> None:
        """A new session begins, all of which is known."""
        self.begun = whole
        self.whole = whole

    def forget(self) -> None:
        """Not all that it has begun is known any more."""
        whole, self.whole = self.whole, None
        if whole is not None:
            whole.missed()
            self.begun = SessionHalf(self.side, self.limit)
            self.begun.share_subscriptions(whole)

    def attach(self, name: bytes | None) -> None:
        """A new attachment begins."""
        self.reset(True)
        self.told = False
        self.attached = True
        self.name = name


class ObservedModel:
    """Steps controls and commands. `faults` are the broken rules of the last one, as (rule, text, severity). `blind`
    says that what one side sends can't be read at the moment.

    `names` are those of the sessions that were attached: under one of them a session may go on that isn't new.
    `messages` says which unit settles which message, where that is `recorded`, and `account` who holds them where
    there are `accounts`.
    """

    __slots__ = (
        "account",
        "asked",
        "blind",
        "channel_max",
        "channels",
        "faults",
        "frame_max",
        "insist",
        "known",
        "limits",
        "locales",
        "mechanisms",
        "messages",
        "names",
        "tune",
    )

    def __init__(self, limits: Limits, known: bool, recorded: bool, accounts: bool = False) -> None:
        self.limits = limits
        self.blind = False
        self.known = [known, known]
        self.channels: dict[int, tuple[Half, Half]] = {}
        self.asked: tuple[dict[tuple[int, str], deque[int]], dict[tuple[int, str], deque[int]]] = ({}, {})
        self.mechanisms: Sequence[object] | None = None
        self.locales: Sequence[object] | None = None
        self.tune: records.ConnectionTune | None = None
        self.insist = False
        self.channel_max: int | None = None
        self.frame_max: int | None = None
        self.faults: list[tuple[str, str, str]] = []
        self.names: set[bytes] = set()
        self.messages = OpenMessages(limits) if recorded else Unrecorded()
        self.account = Holders(self, limits) if accounts else None

    def holders(self) -> Iterable[Holder]:
        """The subscriptions and consumers that are open, if there are `accounts`; each event steps them."""
        return all_open(self.account)

    def session_on(self, channel: int) -> object:
        """The messages of the session that a channel has now."""
        return self.messages.session_on(channel)

    def room_of(self, channel: int, destination: str) -> tuple[int | None, int | None]:
        """The messages that the server may still send to a destination, and those that it might when credit was granted
        last; None: without limit, or not known."""
        halves = self.channels.get(channel)
        whole = None if halves is None else halves[CLIENT].whole
        return (None, None) if whole is None else whole.credit.room_of(destination)

    def take_restored(self, channel: int) -> Iterable[str]:
        """The destinations whose credit completions have restored since the last call."""
        halves = self.channels.get(channel)
        whole = None if halves is None else halves[CLIENT].whole
        return () if whole is None else whole.credit.take_restored()

    def halves(self, channel: int) -> tuple[Half, Half]:
        """The halves of the server and of the client on a channel."""
        halves = self.channels.get(channel)
        if halves is None:
            server, client = self.known
            most = self.limits.consumers
            halves = Half(Side.SERVER, most, server), Half(Side.CLIENT, most, client)
            self.channels[channel] = halves
            if forgotten := trim(self.channels, self.limits.channels):
                # More channels are in use than anybody needs: the oldest are forgotten, and so are all that come.
                self.known = [False, False]
                for asked in self.asked:
                    for key in [key for key in asked if key[0] in forgotten]:
                        del asked[key]
        return halves

    def check(self) -> None:
        """Check that what is kept is bounded and fits together, but no rule of the protocol. Raises AssertionError."""
        where = "the observed channels"
        channels, limits = self.channels, self.limits
        ensure(len(channels) <= limits.channels, where, "`Limits.channels` bounds channels", len(channels))
        ensure(len(self.names) <= limits.channels, where, "`Limits.channels` bounds names", len(self.names))
        for number, halves in channels.items():
            for half in halves:
                half.check(f"the {half.side.value}'s half of channel {number}", limits.calls)
        known = {*channels, _OPENING}
        lost = [key for asked in self.asked for key in asked if key[0] not in known]
        ensure(not lost, where, "requests wait on channels that are kept", lost)
        ensure(not self.faults, where, "broken rules are told with their unit", self.faults)
        self.messages.check()
        if self.account is not None:
            self.account.check()

    def lost(self, client: bool) -> Settlements:
        """Octets of a side became no unit."""
        return self.messages.lost(client)

    def missed(self, side: int) -> None:
        """Something that a side sent wasn't seen."""
        self.known[side] = False
        self.asked[side].clear()
        for halves in self.channels.values():
            halves[side].reset(False)
            other = halves[1 - side]
            other.told = True
            other.asked.clear()
            other.due = {}

    def blame(self, rule: str, text: str, severity: str = "error") -> None:
        """A broken rule."""
        self.faults.append((rule, text, severity))

    def _report(self, *broken: Violation | None) -> None:
        """Rules that the model finds broken."""
        for each in broken:
            if each is not None and each.rule is not None:
                self.blame(each.rule, str(each), "warning" if each.harmless else "error")

    # Frames.

    def is_pointed(self, side: int, channel: int) -> bool:
        """Whether session.command-point came, and no frame of a command behind it."""
        halves = self.channels.get(channel)
        return halves is not None and halves[side].offset is not None

    def take_first(self, side: int, channel: int, begins: bool) -> bool:
        """A frame on the track of commands, where none is under way; whether one that begins nothing is explained."""
        half = self.halves(channel)[side]
        offset = half.offset
        if offset is None:
            return False
        if not begins:
            half.forget()
        if begins or not offset:
            half.offset = None
        if begins and offset:
            text = f"a command begins behind session.command-point with offset {offset}"
            self.blame("session.command-point/nonzero-offset", text)
        elif not begins and not offset:
            text = "a frame in the middle of a command behind session.command-point with offset 0"
            self.blame("session.command-point/zero-offset", text)
        return True

    # Controls.

    def take_control(self, side: int, channel: int, control: Any, seq: int) -> int | None:
        """A control; the unit that it answers."""
        name: str = control.NAME
        place = _OPENING if name.startswith(_CONNECTION) else channel
        answers = _answered(self.asked[1 - side], [(place, request) for request in _REQUESTS.get(name, ())])
        if control.RESPONSES:
            self._ask(self.asked[side], (place, name), seq)
        if place != _OPENING:
            self._session(side, channel, name, control)
        else:
            step = getattr(self, "_" + name.partition(".")[2].replace("-", "_"), None)
            if step is not None:
                step(control)
        return answers

    def _ask(self, asked: dict[_K, deque[int]], key: _K, seq: int) -> None:
        waiting = asked.get(key)
        if waiting is None:
            waiting = asked[key] = deque(maxlen=max(1, self.limits.requests))
        waiting.append(seq)

    def _start(self, start: records.ConnectionStart) -> None:
        # Of lists that are too long, nothing is held against the client.
        lists = (start.mechanisms, start.locales)
        known = sum([len(str(each)) for each in lists]) <= KEPT
        self.mechanisms, self.locales = lists if known else (None, None)

    def _start_ok(self, start_ok: records.ConnectionStartOk) -> None:
        if self.mechanisms and start_ok.mechanism is not None:
            self._report(opening_rules.check_mechanism(start_ok, self.mechanisms))
        if self.locales:
            self._report(opening_rules.check_locale(start_ok, self.locales))

    def _tune(self, tune: records.ConnectionTune) -> None:
        self.tune = tune
        self._report(opening_rules.check_tune(tune), opening_rules.check_heartbeats(tune))

    def _tune_ok(self, tune_ok: records.ConnectionTuneOk) -> None:
        self.channel_max = tune_ok.channel_max
        self.frame_max = tune_ok.max_frame_size
        # An unseen tune may have been any offer that allows it.
        offered = self.tune or records.ConnectionTune(None, None, tune_ok.heartbeat)
        self._report(*opening_rules.check_tune_ok(tune_ok, offered))

    def _open(self, control: records.ConnectionOpen) -> None:
        self.insist = control.insist

    def _redirect(self, redirect: records.ConnectionRedirect) -> None:
        self._report(opening_rules.check_redirect(self.insist))

    # Sessions.

    def _session(self, side: int, channel: int, name: str, control: Any) -> None:
        halves = self.halves(channel)
        half, other = halves[side], halves[1 - side]
        session = None if getattr(control, "name", None) is None else short(control.name)
        if name in ("session.attach", "session.attached"):
            self.messages.attach(channel, session)
            asks = name == "session.attach"
            if asks:
                self._check_attach(half, channel, session)
            if not half.attached or half.name != session:
                half.attach(session)
                asked = None if asks or other.name != session else other.whole
                if asked is not None or (isinstance(control, records.SessionAttach) and self._is_new(session, control)):
                    whole = WholeHalf(_SIDES[side], self.limits.consumers, self.limits.calls)
                    if asked is not None:
                        whole.join(asked)
                    half.begin(whole)
        elif name in ("session.detach", "session.detached"):
            if name == "session.detached":
                self.messages.detached(channel)
            half.attached = False
            half.complete_all()
            half.forget()
            other.told = True
        else:
            if name == "session.completed" and control.commands:
                self.messages.completed(channel, side == CLIENT, control.commands)
            self._attached(half, channel, name)
            step = getattr(self, "_" + name.partition(".")[2].replace("-", "_"), None)
            if step is not None:
                step(half, other, control)

    def _check_attach(self, half: Half, channel: int, name: bytes | None) -> None:
        most = self.channel_max
        if most and channel >= most:
            text = f"session.attach on channel {channel}, {most} channels were agreed"
            self.blame("connection.tune-ok/available-channels", text, "warning")
        if half.attached and not half.told and half.name != name:
            text = f"session.attach on channel {channel}, where a session is attached"
            self.blame("session.attach/one-session", text)

    def _is_new(self, name: bytes | None, attach: records.SessionAttach) -> bool:
        """Whether nothing speaks against it that the session begins now."""
        if name is None or name in self.names or len(self.names) >= self.limits.channels:
            return False
        self.names.add(name)
        return not attach.force

    def _attached(self, half: Half, channel: int, name: str) -> None:
        if half.attached is False:
            text = f"{name} on channel {channel}, where no session is attached"
            self.blame("session/attachment", text)

    def _command_point(self, half: Half, other: Half, control: records.SessionCommandPoint) -> None:
        # A session that goes on, or sends again what it has sent, begins elsewhere.
        expected = half.next_id if half.pointed else 0
        if control.command_id != expected or control.command_offset:
            half.forget()
        half.pointed = True
        half.next_id = control.command_id
        half.offset = control.command_offset or 0

    def _flush(self, half: Half, other: Half, control: records.SessionFlush) -> None:
        half.wants.flush(control.expected)

    def _gap(self, half: Half, other: Half, control: object) -> None:
        half.forget()

    def _confirmed(self, half: Half, other: Half, control: Telling) -> None:
        if control.commands and not other.pointed:
            other.forget()

    def _expected(self, half: Half, other: Half, control: records.SessionExpected) -> None:
        self._confirmed(half, other, control)
        self._report(other.wants.check_expected())

    def _request_timeout(self, half: Half, other: Half, control: records.SessionRequestTimeout) -> None:
        half.wants.request_timeout(control.timeout)

    def _timeout(self, half: Half, other: Half, control: records.SessionTimeout) -> None:
        self._report(other.wants.check_timeout(control.timeout))

    def _completed(self, half: Half, other: Half, control: records.SessionCompleted) -> None:
        commands: SequenceSet | None = control.commands
        if not commands:
            return
        self._confirmed(half, other, control)
        if half.whole is not None:
            self._report(half.whole.completes(commands))
        for number in other.sent.named(commands):
            del other.sent[number]
            if other.due.pop(number, None) is not None:
                text = f"session.completed says that command {number} is done, whose result wasn't sent"
                self.blame("execution.result/always", text)

    # Commands.

    def take_command(
        self, side: int, channel: int, command: Any, seq: int, content: Content
    ) -> tuple[int | None, int | None, Context | None]:
        """A command with its message, or its octets when it can't be read.

        Returns its id, the unit that it answers, and the context of its message.
        """
        halves = self.channels.get(channel) or self.halves(channel)
        half, other = halves[side], halves[1 - side]
        kind = command.__class__
        name = getattr(command, "NAME", "a command")
        self._attached(half, channel, name)
        if half.attached and not half.pointed:
            text = f"{name} behind session.attach, without session.command-point"
            self.blame("session.command-point/newly-attached", text)
        answers = None
        number = half.next_id
        if kind in _ENDING:
            answers = other.sent.get(command.command_id)
            other.due.pop(command.command_id, None)
        elif kind in _CORRELATED:
            answers = self._correlate(half, other, name, command, seq)
        whole = half.whole
        if whole is None or number is None or kind is bytes:
            self._judge_alone(half, command)
        else:
            properties, octets, _ = content
            broken = whole.take(number, command, (0 if properties is None else len(properties.raw), octets))
            if broken:
                self._report(*[each for each in broken if not half.told or each.rule != _IN_USE])
        if number is not None:
            half.next_id = (number + 1) & MASK
            half.keep(number, seq, kind in _WITH_RESULT and not self.blind, self.limits.calls)
        context = None
        if self.messages.concerns(name):
            context = self.messages.take(channel, Step(seq, side == CLIENT, command, number, answers, content))
        return number, answers, context

    def _correlate(self, half: Half, other: Half, name: str, command: object, seq: int) -> int | None:
        """A command of the file or stream class that asks for another one, or is such an answer."""
        answers = _answered(other.asked, _REQUESTS.get(name, ()))
        if _RESPONSES[name] and not getattr(command, "nowait", False):
            self._ask(half.asked, name, seq)
        return answers

    def _judge_alone(self, half: Half, command: object) -> None:
        """Step the model for a command on a session of which not all is known, or no more from now on; report the rule
        that it breaks."""
        if half.whole is not None:
            half.forget()
        elif isinstance(command, (records.MessageSubscribe, records.MessageCancel)):
            try:
                half.begun.step(command)
            except Violation as broken:
                # Its earlier subscriptions aren't known.
                if broken.rule == _IN_USE and not half.told:
                    self._report(broken)

    def lost_command(self, side: int, channel: int) -> None:
        """A command came that nothing is known of: from now on ids can't be counted."""
        half = self.halves(channel)[side]
        half.next_id = None
        half.forget()

    def skip_command(self, side: int, channel: int) -> None:
        """The rest of a command whose begin came earlier has come."""
        half = self.halves(channel)[side]
        half.offset = None
        half.forget()
        if half.next_id is not None:
            half.next_id = add(half.next_id, 1)


def _answered(asked: dict[_K, deque[int]], requests: Iterable[_K]) -> int | None:
    """The unit of the first request that waits for its answer."""
    for request in requests:
        waiting = asked.get(request)
        if waiting:
            return waiting.popleft()
    return None
