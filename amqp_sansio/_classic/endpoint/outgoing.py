"""Outgoing: the way of every method and content out of a connection of 0-8 or 0-9-1."""

from __future__ import annotations

from ..._checking import TYPE_CHECKING, TypeVar
from ..._core.connection import ERROR
from ...errors import CodecError, LimitExceeded, LocalProtocolError
from ...events import CloseReport, Settled
from ..codec.frames import OVERHEAD, method_frame
from ..codec.violation import RESOURCE_ERROR, Violation, misuse

if TYPE_CHECKING:
    from collections import deque
    from collections.abc import Callable

    from ..._core.send_buffer import SendBuffer
    from ...endpoint import Side
    from ...events import Event, Pending
    from ...limits import Limits
    from ..codec.method import Method
    from ..codec.properties import Properties
    from ..codec.table_rules import TableRules
    from ..model.channel_state import Outcome, Step
    from ..model.connection import ConnectionModel

_T = TypeVar("_T")


class Outgoing:
    """The way out, which all channels share: each method is checked, steps the model and is queued."""

    __slots__ = ("buffer", "calls", "delivers", "events", "frame_max", "limits", "model", "publishes", "role", "tables")

    def __init__(
        self, role: Side, model: ConnectionModel, buffer: SendBuffer, events: deque[Event], tables: TableRules
    ) -> None:
        # The side that sends.
        self.role = role
        # The connection's, which refuses what may not be sent now.
        self.model = model
        # Takes the frames; it refuses what doesn't fit (`Limits.backlog_hard`).
        self.buffer = buffer
        # Takes what a command brings about at once, such as confirms of publishes.
        self.events = events
        # How field tables are written: the dialect's types, within the limits.
        self.tables = tables
        # Bounds of answers and calls that wait.
        self.limits: Limits = model.limits
        # Pendings that were given out so far; their keys are numbered by it.
        self.calls = 0
        # The largest frame that the peer takes, in octets, once agreed; 0: no limit.
        self.frame_max = 0
        # The encoded beginnings of publishes by channel, exchange, routing key and flags, each with the properties that
        # it was sent with last and their octets: those that repeat are copied. The handshake empties it when encoding
        # changes.
        self.publishes: dict[tuple[object, ...], tuple[bytes, Properties | None, bytes]] = {}
        # The same of deliveries, by channel, consumer tag, exchange and routing key.
        self.delivers: dict[tuple[int, str, str, str], tuple[bytes, bytes]] = {}

    def send(
        self, number: int, method: Method, token: object = None, content: bytes | None = None, size: int | None = None
    ) -> None:
        """Step the model with one whole method, queue it and its encoded content of `size` octets; all or nothing."""
        payload = self.encode(method)
        self.check_frame(len(payload) + OVERHEAD)
        self.buffer.check_room(len(payload))
        step = self.locally(self.model.step, self.role, number, method, token, True, size)
        frame = method_frame(number, payload)
        self.buffer.queue(frame + content if content is not None else frame)
        if step is not None:
            self.settle(step)

    def close(self, name: str, number: int, report: CloseReport, text: str = "") -> None:
        """Send a close of a channel or of the connection. Raises LocalProtocolError.

        `text` is told to the peer; "" for the report's.
        """
        dialect = self.model.dialect
        if not report.code:
            raise self.misuse(f"{name} needs a reply code", "domain/reply-code.notnull")
        text = text or report.text or dialect.codes.get(report.code, ("closed", True))[0]
        close: Method = dialect.named[name](report.code, _shorten(text), report.class_id, report.method_id)
        payload = self.encode(close)
        self.model.step(self.role, number, close)
        self.buffer.queue(method_frame(number, payload))

    def answer(self, number: int, method: Method) -> None:
        """Queue a method that this end sends by itself. Raises Violation when a peer that doesn't read lets those pile
        up."""
        size, hard = self.buffer.size, self.buffer.hard
        if size > hard:
            text = f"{size} octets wait to be sent, Limits.backlog_hard allows {hard}; read what is sent"
            raise Violation(RESOURCE_ERROR, text)
        self.answer_anyway(number, method)

    def answer_anyway(self, number: int, method: Method) -> None:
        """Queue a method that this end sends by itself, whatever waits already."""
        payload = method.encode(self.tables)
        self.model.step(self.role, number, method)
        self.buffer.queue(method_frame(number, payload))

    def settle(self, step: Step) -> None:
        """Tell of the deliveries that a method settled: one event for each outcome."""
        if not step.settled and not step.committed:
            return
        settled: dict[Outcome, list[Pending[object]]] = {}
        for _, token in step.settled:
            if token is not None:
                settled.setdefault(step.outcome, []).append(token)
        for _, token, outcome in step.committed:
            if token is not None:
                settled.setdefault(outcome, []).append(token)
        for outcome, pendings in settled.items():
            for pending in pendings:
                pending.complete(outcome)
            self.events.append(Settled(tuple(pendings), outcome))

    # Checks.

    def encode(self, content: Method | Properties) -> bytes:
        """The octets of a method or of properties; a value that can't be said is the caller's."""
        try:
            return content.encode(self.tables)
        except CodecError as error:
            raise self.misuse(str(error), error.rule) from error

    def locally(self, step: Callable[..., _T], *arguments: object) -> _T:
        """Step the model with what this end sends; a violation is the caller's."""
        try:
            return step(*arguments)
        except Violation as violation:
            kind = LimitExceeded if violation.code == RESOURCE_ERROR else LocalProtocolError
            raise misuse(self.model.dialect.version, violation.text, violation.rule, kind) from None

    def check_frame(self, size: int) -> None:
        """Refuse a frame of so many octets if that is more than was agreed."""
        if self.frame_max and size > self.frame_max:
            raise self.too_large(size)

    def too_large(self, size: int) -> LocalProtocolError:
        """The error of a caller whose frame is too large."""
        return self.misuse(
            f"a frame of {size} octets, {self.frame_max} are agreed; "
            "methods and properties can't be cut, make them smaller",
            "wire/frame-oversize-send",
        )

    def misuse(self, text: str, rule: str | None) -> LocalProtocolError:
        """The error of a caller who breaks `rule`."""
        return misuse(self.model.dialect.version, text, rule)

    def __getstate__(self) -> tuple[None, dict[str, object]]:
        # Octets that are kept to be sent again are encoded anew.
        return None, {**{name: getattr(self, name) for name in self.__slots__}, "publishes": {}, "delivers": {}}


def method_ids(cause: type[Method] | Method | None) -> tuple[int, int]:
    """The numbers of the method that a close blames."""
    return (cause.CLASS_ID, cause.METHOD_ID) if cause is not None else (0, 0)


def merged_report(own: CloseReport | None, theirs: CloseReport) -> CloseReport:
    """The report of a peer's close, or when both sides closed, the one that tells of an error."""
    return own if own is not None and (own.code >= ERROR or theirs.code < ERROR) else theirs


def _shorten(text: str) -> str:
    """Cut a reply text to the 255 octets of a short string."""
    octets = text.encode("utf-8", "backslashreplace")
    short = octets if len(octets) <= 255 else octets[:252] + b"..."
    return short.decode("utf-8", "ignore")
