"""ObservedModel: what both sides of an observed connection have said, and which rules that breaks (0-10 part 1).

It judges by what the sender itself did, or by what it must have known: never by what is still under way to it. What
wasn't seen is unknown, and nothing is held against it.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any, Final

from ..._core.serial import MASK, add
from ..codec.frames import LARGEST_FRAME, MIN_MAX_FRAME_SIZE
from ..codec.records import COMMANDS, CONTROLS
from ..model.open_ids import covered
from .classes import CLASS_JUDGES
from .session_state import ObservedSide
from .transactions import TRANSACTION_JUDGES
from .transfers import MESSAGE_JUDGES, Sizes, completes, never_sent

if TYPE_CHECKING:
    from ...limits import Limits
    from ..codec.sequence_set import SequenceSet

SERVER: Final = 0
CLIENT: Final = 1

_UNKNOWN: Final = -1
_ATTACHING: Final = ("session.attach", "session.attached", "session.detach", "session.detached")
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
"""What a control or command may answer."""
_JUDGES: Final = {**MESSAGE_JUDGES, **TRANSACTION_JUDGES, **CLASS_JUDGES}
"""Who judges a command, by its name."""
_NO_MESSAGE: Final = (0, 0)


class Sent:
    """A command whose completion isn't known: the unit it is, and whether a result is due."""

    __slots__ = ("due", "seq")

    def __init__(self, seq: int, due: bool) -> None:
        self.seq = seq
        self.due = due


class Half:
    """What one side did on a channel. `attached` is None where that isn't known, as is `next_id`.

    `pointed` says that its session.command-point came, `offset` what the next frame of a command must fit (None:
    nothing); `told` that the other side has ended the attachment. `flushed` says that it has asked what is expected,
    `wanted` the timeout it asked for. `sent` are its commands by their ids, `asked` those that wait for another one by
    name, `subscribed` the destinations in use. `books` are what it has begun on a session that is new, None elsewhere.
    """

    __slots__ = (
        "asked", "attached", "books", "flushed", "name", "next_id", "offset", "pointed", "sent", "subscribed", "told",
        "wanted",
    )  # fmt: skip

    def __init__(self, known: bool) -> None:
        self.sent: dict[int, Sent] = {}
        self.asked: dict[str, deque[int]] = {}
        self.subscribed: set[str] = set()
        self.told = False
        self.books: ObservedSide | None = None
        self.reset(known)

    def reset(self, known: bool) -> None:
        """Nothing was said yet; unless `known`, it may have been."""
        self.attached: bool | None = False if known else None
        self.name: bytes | None = None
        self.next_id: int | None = None
        self.pointed = not known
        self.offset: int | None = None
        self.flushed = not known
        self.wanted: int | None = _UNKNOWN
        self.sent = {}
        self.asked = {}
        self.subscribed = set()
        self.forget()

    def forget(self) -> None:
        """What it has begun isn't known any more."""
        books, self.books = self.books, None
        if books is not None and books.peer is not None:
            books.peer.peer = None

    def attach(self, name: bytes | None) -> None:
        """A new attachment begins."""
        self.reset(True)
        self.told = False
        self.attached = True
        self.name = name


class ObservedModel:
    """Steps controls and commands. `faults` are the broken rules of the last one, as (rule, text, severity).

    `names` are those of the sessions that were attached: under one of them a session may go on that isn't new.
    """

    __slots__ = (
        "asked", "channel_max", "channels", "faults", "frame_max", "insist", "known", "limits", "locales",
        "mechanisms", "names", "tune",
    )  # fmt: skip

    def __init__(self, limits: Limits, known: bool) -> None:
        self.limits = limits
        self.known = [known, known]
        self.channels: dict[int, tuple[Half, Half]] = {}
        self.asked: tuple[dict[tuple[int, str], deque[int]], dict[tuple[int, str], deque[int]]] = (
            {},
            {},
        )
        self.mechanisms: list[Any] | None = None
        self.locales: list[Any] | None = None
        self.tune: Any = None
        self.insist = False
        self.channel_max: int | None = None
        self.frame_max: int | None = None
        self.faults: list[tuple[str, str, str]] = []
        self.names: set[bytes] = set()

    def half(self, side: int, channel: int) -> Half:
        """The half of a side on a channel."""
        halves = self.channels.get(channel)
        if halves is None:
            server, client = self.known
            halves = self.channels[channel] = (Half(server), Half(client))
            if len(self.channels) > self.limits.channels:
                self._forget()
        return halves[side]

    def _forget(self) -> None:
        """More channels are in use than anybody needs: the oldest one is forgotten, and so are all that come."""
        oldest = next(iter(self.channels))
        del self.channels[oldest]
        self.known = [False, False]
        for asked in self.asked:
            for key in [key for key in asked if key[0] == oldest]:
                del asked[key]

    def missed(self, side: int) -> None:
        """Something that a side sent wasn't seen."""
        self.known[side] = False
        self.asked[side].clear()
        for halves in self.channels.values():
            halves[side].reset(False)
            other = halves[1 - side]
            other.told = True
            other.asked.clear()
            for sent in other.sent.values():
                sent.due = False

    def blame(self, rule: str, text: str, severity: str = "error") -> None:
        """A broken rule."""
        self.faults.append((rule, text, severity))

    # Frames.

    def is_pointed(self, side: int, channel: int) -> bool:
        """Whether session.command-point came, and no frame of a command behind it."""
        return self.half(side, channel).offset is not None

    def take_first(self, side: int, channel: int, begins: bool) -> bool:
        """A frame on the track of commands, where none is under way; whether one that begins nothing is explained."""
        half = self.half(side, channel)
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
        answers = None
        for request in _REQUESTS.get(name, ()):
            waiting = self.asked[1 - side].get((place, request))
            if waiting:
                answers = waiting.popleft()
                break
        if control.RESPONSES:
            self._ask(side, place, name, seq)
        if place != _OPENING:
            self._session(side, channel, name, control)
        else:
            step = getattr(self, "_" + name.partition(".")[2].replace("-", "_"), None)
            if step is not None:
                step(control)
        return answers

    def _ask(self, side: int, place: int, name: str, seq: int) -> None:
        waiting = self.asked[side].get((place, name))
        if waiting is None:
            waiting = self.asked[side][place, name] = deque(maxlen=max(1, self.limits.requests))
        waiting.append(seq)

    def _start(self, start: Any) -> None:
        self.mechanisms = start.mechanisms
        self.locales = start.locales

    def _start_ok(self, start_ok: Any) -> None:
        offered = self.mechanisms
        if offered and start_ok.mechanism is not None and start_ok.mechanism not in offered:
            text = f"connection.start-ok chooses {start_ok.mechanism}, which wasn't offered"
            self.blame("connection.start-ok/validity", text)
        locale = start_ok.locale
        if self.locales and locale and locale not in self.locales:
            text = f"connection.start-ok chooses the locale {locale}, which wasn't offered"
            self.blame("connection.start-ok/locale-offered", text, "warning")

    def _tune(self, tune: Any) -> None:
        self.tune = tune
        most = tune.max_frame_size
        if most is not None and most < MIN_MAX_FRAME_SIZE:
            text = f"connection.tune with max-frame-size {most}, at least {MIN_MAX_FRAME_SIZE} are taken"
            self.blame("connection.tune/minimum", text)
        least, longest = tune.heartbeat_min, tune.heartbeat_max
        if longest is not None and least is None:
            text = "connection.tune with heartbeat-max and without heartbeat-min"
            self.blame("connection.tune/no-heartbeat-min", text)
        elif longest is not None and longest < least:
            text = f"connection.tune with heartbeats between {least} and {longest} seconds"
            self.blame("connection.tune/permitted-range", text)

    def _tune_ok(self, tune_ok: Any) -> None:
        self.channel_max = tune_ok.channel_max
        size = self.frame_max = tune_ok.max_frame_size
        if size is not None and size < MIN_MAX_FRAME_SIZE:
            text = f"connection.tune-ok with max-frame-size {size}, below {MIN_MAX_FRAME_SIZE}"
            self.blame("connection.tune-ok/minimum", text)
        tune = self.tune
        if tune is None:
            return
        for name, mine, theirs in (
            ("channel", tune_ok.channel_max, tune.channel_max),
            ("frame", size, tune.max_frame_size),
        ):
            if mine is not None and theirs and mine > theirs:
                text = f"connection.tune-ok asks for {mine}, {theirs} were offered"
                self.blame(f"connection.tune-ok/{name}-upper-limit", text)
        beat = tune_ok.heartbeat
        if not beat:
            return
        if tune.heartbeat_min is None:
            text = f"connection.tune-ok with heartbeats of {beat} seconds, none were offered"
            self.blame("connection.tune-ok/no-heartbeat-min", text)
        elif not tune.heartbeat_min <= beat <= (tune.heartbeat_max or LARGEST_FRAME):
            text = f"connection.tune-ok with heartbeats of {beat} seconds, offered were "
            text += f"{tune.heartbeat_min} to {tune.heartbeat_max}"
            self.blame("connection.tune-ok/heartbeat-range", text)

    def _open(self, control: Any) -> None:
        self.insist = control.insist

    def _redirect(self, redirect: Any) -> None:
        if self.insist:
            text = "connection.redirect to a client that insists on this server"
            self.blame("connection.open/insist", text)

    # Sessions.

    def _session(self, side: int, channel: int, name: str, control: Any) -> None:
        half, other = self.half(side, channel), self.half(1 - side, channel)
        if name == "session.attach":
            most = self.channel_max
            if most and channel >= most:
                text = f"session.attach on channel {channel}, {most} channels were agreed"
                self.blame("connection.tune-ok/available-channels", text, "warning")
            if half.attached and not half.told and half.name != control.name:
                text = f"session.attach on channel {channel}, where a session is attached"
                self.blame("session.attach/one-session", text)
            if not half.attached or half.name != control.name:
                half.attach(control.name)
                if self._is_new(control):
                    half.books = ObservedSide(side == CLIENT, self.limits.calls)
        elif name == "session.attached":
            if not half.attached or half.name != control.name:
                half.attach(control.name)
                asked = other.books if other.name == control.name else None
                if asked is not None:
                    half.books = ObservedSide(side == CLIENT, self.limits.calls)
                    half.books.peer, asked.peer = asked, half.books
        elif name in _ATTACHING:
            half.attached = False
            half.sent.clear()
            half.forget()
            other.told = True
        else:
            self._attached(half, channel, name)
            step = getattr(self, "_" + name.partition(".")[2].replace("-", "_"), None)
            if step is not None:
                step(half, other, control)

    def _is_new(self, attach: Any) -> bool:
        """Whether nothing speaks against it that the session begins now."""
        name: bytes | None = attach.name
        if name is None or name in self.names or len(self.names) >= self.limits.channels:
            return False
        self.names.add(name)
        return not attach.force

    def _attached(self, half: Half, channel: int, name: str) -> None:
        if half.attached is False:
            text = f"{name} on channel {channel}, where no session is attached"
            self.blame("session/attachment", text)

    def _command_point(self, half: Half, other: Half, control: Any) -> None:
        # A session that goes on, or sends again what it has sent, begins elsewhere.
        expected = half.next_id if half.pointed else 0
        if control.command_id != expected or control.command_offset:
            half.forget()
        half.pointed = True
        half.next_id = control.command_id
        half.offset = control.command_offset or 0

    def _flush(self, half: Half, other: Half, control: Any) -> None:
        half.flushed = half.flushed or control.expected

    def _gap(self, half: Half, other: Half, control: Any) -> None:
        half.forget()

    def _confirmed(self, half: Half, other: Half, control: Any) -> None:
        if control.commands and not other.pointed:
            other.forget()

    def _expected(self, half: Half, other: Half, control: Any) -> None:
        self._confirmed(half, other, control)
        if not other.flushed:
            text = "session.expected, which nobody has asked for"
            self.blame("session.expected/only-on-flush", text, "warning")

    def _request_timeout(self, half: Half, other: Half, control: Any) -> None:
        wanted = control.timeout
        if half.wanted != _UNKNOWN and wanted is not None:
            # The answers to both come in order.
            wanted = None if half.wanted is None else max(wanted, half.wanted)
        half.wanted = wanted

    def _timeout(self, half: Half, other: Half, control: Any) -> None:
        wanted, granted = other.wanted, control.timeout
        other.wanted = _UNKNOWN
        if wanted is None or wanted == _UNKNOWN:
            return
        if granted is None or granted > wanted:
            text = f"session.timeout of {granted} seconds, {wanted} were asked for"
            self.blame("session.request-timeout/granted", text)

    def _completed(self, half: Half, other: Half, control: Any) -> None:
        commands: SequenceSet | None = control.commands
        if not commands:
            return
        self._confirmed(half, other, control)
        if half.books is not None:
            never = never_sent(half.books, commands)
            if never is not None:
                text = f"session.completed of the command {never}, which wasn't sent"
                self.blame("session/exactly-once", text)
            completes(half.books, commands)
        for number in covered(other.sent, commands):
            if other.sent.pop(number).due:
                text = f"session.completed says that command {number} is done, whose result wasn't sent"
                self.blame("execution.result/always", text)

    # Commands.

    def take_command(
        self, side: int, channel: int, command: Any, seq: int, sizes: Sizes = _NO_MESSAGE
    ) -> tuple[int | None, int | None]:
        """A command with its message, or its octets when it can't be read: its id, and the unit that it answers."""
        half, other = self.half(side, channel), self.half(1 - side, channel)
        name = getattr(command, "NAME", "a command")
        self._attached(half, channel, name)
        if half.attached and not half.pointed:
            text = f"{name} behind session.attach, without session.command-point"
            self.blame("session.command-point/newly-attached", text)
        answers = None
        number = half.next_id
        if name in ("execution.result", "execution.exception"):
            asked = other.sent.get(command.command_id)
            if asked is not None:
                answers, asked.due = asked.seq, False
        elif name == "message.subscribe":
            self._subscribe(half, command.destination)
        elif name == "message.cancel":
            half.subscribed.discard(command.destination)
        elif name in _REQUESTS or _RESPONSES.get(name):
            answers = self._correlate(half, other, name, command, seq)
        if half.books is not None:
            self._judge(half, half.books, name, command, sizes)
        if number is not None:
            half.next_id = add(number, 1)
            half.sent[number & MASK] = Sent(seq, bool(getattr(command, "RESULT", "")))
            if len(half.sent) > self.limits.calls:
                del half.sent[next(iter(half.sent))]
        return number, answers

    def _correlate(self, half: Half, other: Half, name: str, command: Any, seq: int) -> int | None:
        """A command of the file or stream class that asks for another one, or is such an answer."""
        answers = None
        for request in _REQUESTS.get(name, ()):
            waiting = other.asked.get(request)
            if waiting:
                answers = waiting.popleft()
                break
        if _RESPONSES[name] and not getattr(command, "nowait", False):
            asked = half.asked.setdefault(name, deque(maxlen=max(1, self.limits.requests)))
            asked.append(seq)
        return answers

    def _judge(self, half: Half, books: ObservedSide, name: str, command: Any, sizes: Sizes) -> None:
        """What a command does on a session that is known from its begin."""
        number = half.next_id
        if number is None or command.__class__ is bytes:
            half.forget()
            return
        judge = _JUDGES.get(name)
        if judge is not None:
            judge(self, books, command, number, sizes)
        books.next_id = add(number, 1)

    def lost_command(self, side: int, channel: int) -> None:
        """A command came that nothing is known of: from now on ids can't be counted."""
        half = self.half(side, channel)
        half.next_id = None
        half.forget()

    def skip_command(self, side: int, channel: int) -> None:
        """The rest of a command whose begin came earlier has come."""
        half = self.half(side, channel)
        half.offset = None
        half.forget()
        if half.next_id is not None:
            half.next_id = add(half.next_id, 1)

    def _subscribe(self, half: Half, destination: str | None) -> None:
        if destination is None:
            return
        if destination in half.subscribed and not half.told:
            text = f"message.subscribe with the destination {destination!r}, which is in use"
            self.blame("message.subscribe/unique-destination", text)
        if len(half.subscribed) < self.limits.consumers:
            half.subscribed.add(destination)
