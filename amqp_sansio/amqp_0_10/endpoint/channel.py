"""Transport and Channel: what sessions use of their connection, and where one of them stands on its channel."""

from __future__ import annotations

from ..._checking import TYPE_CHECKING, Protocol
from ...endpoint import Side
from ...errors import EndpointClosed
from ..codec.frames import COMMAND, CONTROL, FRAME, FRAME_HEADER_SIZE, MIN_MAX_FRAME_SIZE, WHOLE, encode_assembly
from ..model.states import ATTACHMENT, Attachment, AttachmentInput

if TYPE_CHECKING:
    from collections import deque
    from collections.abc import Callable
    from typing import Final

    from ..._core.send_buffer import SendBuffer
    from ..._ground.receive_buffer import ReceiveBuffer
    from ...events import CloseReport, Event
    from ..codec.record import Control
    from ..codec.records import MessageTransfer
    from .config import Config
    from .session_state import Segments

_MORE_FRAMES: Final = 12
"""More than those of the segments, of a flush, a result and session.completed, with what is in the latter."""
_RANGE: Final = 8
"""The octets of a range of ids."""
_ATTACHED: Final = Attachment.ATTACHED
_TAKES_COMMANDS: Final = (Attachment.ATTACHING, Attachment.ATTACHED)

_INPUTS: Final = {(each.value[0] == "I", each.value[2:]): each for each in AttachmentInput}
"""The inputs of the attachment's table by whether the initiator sends them, and what."""


class Owner(Protocol):
    """The connection, as its sessions see it."""

    channel_max: int
    user: str
    mechanism: str

    @property
    def max_frame_size(self) -> int: ...


class Taking(Protocol):
    """The incoming half of a session, as its connection sees it."""

    @property
    def is_crowded(self) -> bool: ...

    def fast_event(self) -> Event | None: ...


Route = tuple[Taking, bytes, int, "MessageTransfer", bool]
"""The session that the last message.transfer came to, the frame of its command, its length, the command, its sync."""


class Transport:
    """The connection as its sessions use it: its settings, and the ways out of it for events and octets."""

    __slots__ = (
        "_serial",
        "bodies",
        "buffer",
        "check_open",
        "config",
        "crowded",
        "events",
        "fast_body",
        "is_open",
        "limits",
        "out",
        "owner",
        "queue",
        "role",
        "route",
        "unit_offset",
        "validates",
        "wait",
    )

    def __init__(
        self,
        owner: Owner,
        role: Side,
        config: Config,
        events: deque[Event],
        buffer: ReceiveBuffer,
        out: SendBuffer,
        *,
        queue: Callable[[bytes], None],
        check_open: Callable[[], None],
        wait: Callable[[str | None], None],
        unit_offset: Callable[[], int],
    ) -> None:
        # The connection, for what the opening has agreed on and who has logged in.
        self.owner = owner
        # The side that this end is.
        self.role = role
        # As it was given to the connection.
        self.config = config
        limits = config.limits
        # The configuration's bounds.
        self.limits = limits
        # The connection's, which sessions add theirs to.
        self.events = events
        # What arrived; the shortcut for messages reads bodies from it.
        self.buffer = buffer
        # What is queued to be sent, for its size and bounds.
        self.out = out
        # Queues octets as they are.
        self.queue = queue
        # Raises when the connection isn't open; each command of a session calls it first.
        self.check_open = check_open
        # Says which decision the application is asked for, so that nothing more is parsed; None: it has decided.
        self.wait = wait
        # Where the frame at hand began in the stream, for reports.
        self.unit_offset = unit_offset
        # Whether sessions may send: from the connection's Opened until its close.
        self.is_open = False
        # Octets of the commands that are arriving on all channels; `Limits.bodies` bounds them.
        self.bodies = 0
        # The last number of a pending that no command-id names.
        self._serial = 0
        # A session that takes no more until the application has completed some commands; nothing is parsed meanwhile.
        # The next look clears it when there is room.
        self.crowded: Taking | None = None
        # What the last whole transfer looked like: one that begins with the same octets takes the shortcut. None: none
        # may.
        self.route: Route | None = None
        above = limits.message if config.stream_above is None else config.stream_above
        # The largest body for the shortcut, in octets: what no limit and no streaming concerns.
        self.fast_body = min(above, limits.message, limits.bodies, limits.header)
        validates = config.validate_content
        # Whether the headers of arriving messages are decoded at once.
        self.validates = role is Side.SERVER if validates is None else validates

    def takes_more(self) -> bool:
        """Whether the session that was crowded takes commands again."""
        crowded = self.crowded
        if crowded is not None and crowded.is_crowded:
            return False
        self.crowded = None
        return True

    def new_serial(self) -> int:
        """Return a number that this connection hasn't used, for keys and names."""
        self._serial += 1
        return self._serial

    @property
    def next_serial(self) -> int:
        """The number that `new_serial` returns next."""
        return self._serial + 1

    def send(self, channel: int, control: Control) -> None:
        """Queue a control on a channel. Raises CodecError, LimitExceeded."""
        segments = [(CONTROL, control.encode_assembly())]
        octets = encode_assembly(channel, segments, self.owner.max_frame_size)
        self.out.check_room(len(octets))
        self.queue(octets)

    def __getstate__(self) -> tuple[None, dict[str, object]]:
        return None, {**{name: getattr(self, name) for name in self.__slots__}, "route": None}


class Channel:
    """The channel that a session is attached to (0-10 part 1 section 3.4.1.3)."""

    __slots__ = (
        "_is_initiator",
        "goes_by",
        "max_frame",
        "name",
        "number",
        "ready",
        "report",
        "resuming",
        "state",
        "transport",
    )

    def __init__(self, transport: Transport, number: int, name: bytes, *, initiator: bool) -> None:
        # The connection's, shared by all its channels.
        self.transport = transport
        # Its number in frames; both sides use the same.
        self.number = number
        # The session's, which survives the channel.
        self.name = name
        # The largest frame on it, in octets, with its header.
        self.max_frame = transport.owner.max_frame_size
        # A row of the table ATTACHMENT, moved by session controls of both sides.
        self.state = Attachment.DETACHED if initiator else Attachment.ATTACHING
        # Whether commands go out: this end has sent its command-point.
        self.ready = False
        # Whether the session was attached before, so that both ends first find out what the other knows.
        self.resuming = False
        # Why the session has ended here; None before.
        self.report: CloseReport | None = None
        # Whether the peer's commands go by, as if they hadn't come: one broke a rule while this end waited for the
        # answer to its detach. There's no way to say so then, and what is taken has no bound any more.
        self.goes_by = False
        # Whether this end sent session.attach: the table names the two sides by that.
        self._is_initiator = initiator

    @property
    def is_leaving(self) -> bool:
        """Whether this end has sent session.detach, and the peer hasn't answered: it says nothing more."""
        own = Attachment.INITIATOR_DETACHING if self._is_initiator else Attachment.ACCEPTOR_DETACHING
        return self.state is own or (self._is_initiator and self.state is Attachment.LEAVING)

    def send_step(self, control: Control) -> None:
        """Queue a control of the attachment, and step its table. Raises CodecError, LimitExceeded."""
        self.send(control)
        self._step(self._is_initiator, control.NAME.partition(".")[2])

    def came(self, name: str) -> bool:
        """Step the table for a control that the peer has sent; False when it isn't legal now."""
        return self._step(not self._is_initiator, name)

    def _step(self, by_initiator: bool, name: str) -> bool:
        given = _INPUTS.get((by_initiator, name))
        after = None if given is None else ATTACHMENT[self.state].get(given)
        if after is None:
            return False
        self.state = after
        return True

    def ignore(self) -> None:
        """Take no more commands of the peer on this attachment."""
        self.goes_by = True

    def check(self) -> None:
        """Raise EndpointClosed when the session or its connection has ended."""
        self.transport.check_open()
        if self.report is not None:
            raise EndpointClosed(f"session {self.name!r} has ended: {self.report}", self.report)
        if self.state not in _TAKES_COMMANDS:
            raise EndpointClosed(f"session {self.name!r} is being detached", self.report)

    def check_backlog(self, octets: int, ranges: int) -> None:
        """Raise LimitExceeded when so many octets in commands, and the controls that go with them, can't be queued.

        `ranges` are those of the ids that are completed.
        """
        frames = octets // (MIN_MAX_FRAME_SIZE - FRAME_HEADER_SIZE) + _MORE_FRAMES
        self.transport.out.check_room(octets + FRAME_HEADER_SIZE * frames + _RANGE * (ranges + 1))

    def send(self, control: Control) -> None:
        """Queue a control. Raises CodecError, LimitExceeded."""
        self.transport.send(self.number, control)

    def answer(self, control: Control) -> None:
        """Queue a control, unless this end has left the channel."""
        if self.state is _ATTACHED:
            self.send(control)

    def write(self, segments: Segments) -> None:
        """Queue the frames of a command."""
        size = len(segments[0][1]) + FRAME_HEADER_SIZE
        if len(segments) == 1 and size <= self.max_frame:
            octets = segments[0][1]
            self.transport.queue(FRAME.pack(WHOLE, COMMAND, size, 0, 1, self.number, 0) + octets)
        else:
            self.transport.queue(encode_assembly(self.number, segments, self.max_frame))
