"""Transport and Channel: what sessions use of their connection, and where one of them stands on its channel."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol

from ...endpoint import Side
from ...errors import EndpointClosed
from ..codec.frames import COMMAND, CONTROL, FRAME, FRAME_HEADER_SIZE, MIN_MAX_FRAME_SIZE, WHOLE, encode_assembly
from ..model.states import ATTACHMENT, Attachment, AttachmentInput

if TYPE_CHECKING:
    from collections import deque
    from collections.abc import Callable

    from ..._core.receive_buffer import ReceiveBuffer
    from ..._core.send_buffer import SendBuffer
    from ...events import CloseReport, Event
    from ..codec.record import Control
    from ..codec.records import MessageTransfer
    from ..model.session_state import Segments
    from .config import Config

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


Route = tuple[Taking, bytes, int, "MessageTransfer", str, bool, bool]
"""The session that the last message.transfer came to, the frame of its command, its length, and what was in it."""


class Transport:
    """The connection as its sessions use it: its settings, and the ways out of it for events and octets.

    `is_open`: sessions can be used. `queue` queues octets, `check_open` raises when the connection isn't open, `wait`
    says what the application is asked for before anything else is parsed, `unit_offset` where the unit at hand began.
    `out` is what is queued. `bodies` are the octets of the commands that are arriving on all channels. `crowded` is a
    session that takes no more until the application has completed some commands. `route` is what the shortcut for
    messages follows, whose bodies have at most `fast_body` octets; they're read from `buffer`.
    """

    __slots__ = (
        "_serial", "bodies", "buffer", "check_open", "config", "crowded", "events", "fast_body", "is_open", "limits",
        "out", "owner", "queue", "role", "route", "unit_offset", "validates", "wait",
    )  # fmt: skip

    def __init__(
        self, owner: Owner, role: Side, config: Config, events: deque[Event], buffer: ReceiveBuffer, out: SendBuffer,
        *, queue: Callable[[bytes], None], check_open: Callable[[], None], wait: Callable[[str | None], None],
        unit_offset: Callable[[], int],
    ) -> None:  # fmt: skip
        self.owner = owner
        self.role = role
        self.config = config
        self.limits = limits = config.limits
        self.events = events
        self.buffer = buffer
        self.out = out
        self.queue = queue
        self.check_open = check_open
        self.wait = wait
        self.unit_offset = unit_offset
        self.is_open = False
        self.bodies = self._serial = 0
        self.crowded: Taking | None = None
        self.route: Route | None = None
        above = limits.message if config.stream_above is None else config.stream_above
        self.fast_body = min(above, limits.message, limits.bodies, limits.header)
        validates = config.validate_content
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
    """The channel `number` that the session `name` is attached to.

    `state` is that of the attachment. `ready`: this end has sent its command-point, so commands go out. `resuming`: the
    session was attached before, and both ends are finding out what the other one knows. `report` says why the session
    has ended. `max_frame` is the size of the largest frame.
    """

    __slots__ = (
        "_is_initiator", "max_frame", "name", "number", "ready", "report", "resuming", "state", "transport",
    )  # fmt: skip

    def __init__(self, transport: Transport, number: int, name: bytes, *, initiator: bool) -> None:
        self.transport = transport
        self.number = number
        self.name = name
        self.max_frame = transport.owner.max_frame_size
        self.state = Attachment.DETACHED if initiator else Attachment.ATTACHING
        self.ready = self.resuming = False
        self.report: CloseReport | None = None
        self._is_initiator = initiator

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
