"""The content classes of 0-10: a queue takes all of them, and each has its own consumers (rule queue/any-content)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Final, Protocol

from ....amqp_0_10.codec.message import Headers
from ....amqp_0_10.codec.record import encode_headers
from ....amqp_0_10.codec.records import FileProperties, StreamProperties
from ....amqp_0_10.codec.types import Map
from ....amqp_0_10.codec.values import Datetime
from ....errors import CodecError
from ...contents.amqp_0_10 import Content_0_10, check_values
from ...contents.deaths import DEATH, write_deaths
from ...conversion import as_0_10
from ...model.content import NO_HEADERS, Filter, Measure
from .segments import outgoing

if TYPE_CHECKING:
    from ...model.content import Death, Message

NO_RESUMING: Final[Mapping[str, Any]] = {}


class FileContent(Content_0_10):
    """A file (class 9): file-properties and a body. It counts as persistent (rule file/storage)."""

    __slots__ = ()

    KIND: Final = "file"
    PROPERTIES: ClassVar[type[FileProperties | StreamProperties]] = FileProperties

    @property
    def own_properties(self) -> FileProperties | StreamProperties | None:
        """The properties of its class."""
        for struct in self.structs:
            if isinstance(struct, (FileProperties, StreamProperties)):
                return struct
        return None

    @property
    def priority(self) -> int:
        """The priority in its properties; 0 if there is none."""
        properties = self.own_properties
        return 0 if properties is None else properties.priority or 0

    @property
    def persistent(self) -> bool:
        """True for files, false for stream packets."""
        return True

    @property
    def headers(self) -> Mapping[str, Any]:
        """The headers in its properties."""
        properties = self.own_properties
        found: Mapping[str, Any] | None = None if properties is None else properties.headers
        if found is None:
            return NO_HEADERS
        try:
            check_values(found)
        except CodecError:
            return NO_HEADERS
        return found

    def with_deaths(self, deaths: tuple[Death, ...]) -> Content_0_10:
        """Return the same content with these deaths in the headers of its properties, which it replaces if they are
        unreadable."""
        structs = self.structs
        old = self.own_properties
        if old is None:
            old = self.PROPERTIES()
            structs = (*structs, old)
        entries = [{**each, "time": Datetime(each["time"])} for each in write_deaths(deaths, {})]
        headers = Map({**self.headers, DEATH: entries})
        values: dict[str, Any] = {name: getattr(old, name) for name in old.__match_args__}
        values["headers"] = headers
        new = type(old)(**values)
        changed = tuple([new if each is old else each for each in structs])
        return type(self)(Headers(encode_headers(changed)), self.body)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.header_segment, self.body)


class StreamContent(FileContent):
    """A packet of a stream (class 10): stream-properties and a body."""

    __slots__ = ()

    PROPERTIES = StreamProperties

    @property
    def persistent(self) -> bool:
        """False."""
        return False


def kind_of(content: object) -> str:
    """Return the content's class: "file", "stream" or "message"."""
    if isinstance(content, StreamContent):
        return "stream"
    return "file" if isinstance(content, FileContent) else "message"


class Publishers(Protocol):
    """Tells the publishers of one connection: a `ServedSession`."""

    def is_local(self, publisher: int) -> bool: ...


class KindFilter(Filter):
    """Skips content of other classes; with `avoided` also messages published by that connection."""

    __slots__ = ("avoided", "kind")

    def __init__(self, kind: str, avoided: Publishers | None = None) -> None:
        self.kind = kind
        self.avoided = avoided

    def accepts(self, message: Message) -> bool:
        """Whether it is of the consumer's class, and not from the avoided connection."""
        if kind_of(message.content) != self.kind:
            return False
        session = self.avoided
        return session is None or not session.is_local(message.publisher)


MESSAGES: Final = KindFilter("message")


class TransferMeasure(Measure):
    """Computes a message's octets of byte credit: header and body segments (class 4, message.set-flow-mode)."""

    __slots__ = ("_last", "resume")

    def __init__(self, resume: Mapping[str, Any] = NO_RESUMING) -> None:
        self.resume = resume
        self._last: tuple[Message, Content_0_10] | None = None

    def octets_of(self, message: Message) -> int:
        """Return the octets of header and body, as sent."""
        content = self.content(message)
        return len(outgoing(content.header_segment.raw, False, self.resume)) + content.size

    def content(self, message: Message) -> Content_0_10:
        """Return the message in 0-10's encoding; the last result is cached."""
        last = self._last
        if last is not None and last[0] is message:
            return last[1]
        content: Content_0_10 = as_0_10(message)
        self._last = message, content
        return content

    def headers(self, message: Message, redelivered: bool) -> Headers:
        """Return the header segment to send; the original one if nothing needs to be changed."""
        headers = self.content(message).header_segment
        raw = outgoing(headers.raw, redelivered, self.resume)
        return headers if raw is headers.raw else Headers(raw)
