"""Channel: what an application does on one channel of a 0-8 or 0-9-1 connection (0-9-1 sections 1.3 to 1.9)."""

# The modules of this package share one engine; its private state is theirs, not the caller's.
# pyright: reportPrivateUsage=false
from __future__ import annotations

from struct import Struct
from typing import TYPE_CHECKING, Any, Final, TypeVar, overload
from zlib import crc32

from ...endpoint import Side
from ...errors import CodecError, EndpointClosed, LimitExceeded, LocalProtocolError
from ...events import Handle
from ..codec.frames import OVERHEAD, body_frames, header_frame, method_frame
from ..codec.methods import BasicDeliver, BasicProperties, BasicPublish
from ..codec.violation import misuse
from ..model.channel_state import ChannelState
from ..model.states import CHANNEL_INPUTS, CONNECTION_INPUTS, Mode
from ..model.states import Channel as State
from ..model.states import Connection as ConnectionState
from . import closing
from .config import announces
from .returns import Returns
from .sending import backlog, check_backlog, check_frame, encode, locally, send_frames, too_large

if TYPE_CHECKING:
    from ...events import CloseReport
    from ..codec.method import Method
    from ..codec.method import Request as RequestMethod
    from ..codec.methods import BasicGet, BasicGetEmpty, BasicGetOk
    from ..codec.properties import Properties
    from ..model.channel_state import ContentState
    from .connection import Connection
    from .events import Message

_R = TypeVar("_R", bound="Method")

_HEADER_START: Final = Struct(">BHIHHQ").pack
_BODY_START: Final = Struct(">cBHI").pack
_ACK: Final = Struct(">BHIIQBB").pack
_HEADER_REST: Final = Struct(">IIQ").pack
_TAG: Final = Struct(">QB").pack
_TYPE_AND_CHANNEL: Final = Struct(">BH").pack
_BASIC: Final = 60 << 16
"""Class 60 and weight 0, as a content header has them."""
_ACK_ID: Final = 60 << 16 | 80
_CACHED_PUBLISHES: Final = 256
_ANNOUNCED: Final = {
    "basic.cancel": ("consumer_cancel_notify", "rabbitmq/basic.cancel.capability"),
    "connection.blocked": ("connection.blocked", "rabbitmq/connection.blocked"),
}
"""What a server sends only to clients that announced a capability: by the method's name."""


class Channel(ChannelState):
    """One channel of an endpoint. Every command either happens as a whole or raises and changes nothing.

    Commands raise LocalProtocolError for misuse, LimitExceeded at a bound, EndpointClosed when the channel or
    connection is gone.
    """

    __slots__ = ("connection", "deferred", "opening", "report", "returns", "streaming")

    def __init__(self, connection: Connection, number: int) -> None:
        ChannelState.__init__(self, number)
        self.connection = connection
        self.opening: Handle[object] | None = None
        self.report: CloseReport | None = None
        self.returns: Returns | None = None
        self.deferred: list[Method] | None = None
        self.streaming = False

    @property
    def is_open(self) -> bool:
        """Whether content and methods can be sent now."""
        return self.state is State.OPEN and self.connection.is_open

    @overload
    def call(  # type: ignore[overload-overlap]
        self, method: BasicGet  # pyright: ignore[reportOverlappingOverload]
    ) -> Handle[Message[BasicGetOk] | BasicGetEmpty]: ...
    @overload
    def call(
        self,
        method: RequestMethod[_R],
        properties: Properties | None = None,
        body: bytes | None = None,
    ) -> Handle[_R]: ...
    @overload
    def call(
        self, method: Method, properties: Properties | None = None, body: bytes | None = None
    ) -> Handle[Any]: ...
    def call(
        self, method: Method, properties: Properties | None = None, body: bytes | None = None
    ) -> Handle[Any]:
        """Send a request; the handle ends with `Replied` and the reply as its result.

        A reply with content ends it with a `Message`. With `no_wait` the handle is done at once, its result None.
        Content (`properties`, `body`) belongs to the requests that carry it.
        """
        if not self.connection.dialect.replies.get(method.ID):
            raise self._misuse(f"{method.NAME} has no reply; use send", "method/sync-reply")
        connection = self.connection
        handle: Handle[Any] = Handle((self.number, connection._calls + 1))
        self._transmit(method, handle, properties, body)
        connection._calls += 1
        if method.HAS_NO_WAIT and method.no_wait:  # type: ignore[attr-defined]
            handle._complete(None)
        return handle

    def send(
        self, method: Method, properties: Properties | None = None, body: bytes | None = None
    ) -> None:
        """Send a method that has no reply, such as BasicAck, with its content if it carries one."""
        if self.connection.dialect.replies.get(method.ID) and not method.IS_REPLY:
            raise self._misuse(f"{method.NAME} has a reply; use call", "method/sync-reply")
        self._transmit(method, None, properties, body)

    def reply(
        self, method: Method, properties: Properties | None = None, body: bytes | None = None
    ) -> None:
        """Answer the oldest request of the peer that waits, with content if the reply carries one."""
        if not method.IS_REPLY:
            raise LocalProtocolError(f"{method.NAME} is not a reply; use send or call")
        calls = self.calls(self.connection.role is Side.SERVER)
        if calls and type(method) not in self.connection.dialect.replies[calls[0].request.ID]:
            raise self._misuse(
                f"{calls[0].request.NAME} on channel {self.number} is to be answered before what {method.NAME} answers",
                "method/sync-reply",
            )
        self._transmit(method, None, properties, body)

    def publish(
        self,
        body: bytes,
        *,
        exchange: str = "",
        routing_key: str = "",
        mandatory: bool = False,
        immediate: bool = False,
        properties: BasicProperties | None = None,
        ticket: int = 0,
    ) -> Handle[Any] | None:
        """Queue one whole message: method, header and body frames with nothing between (section 4.2.6).

        `ticket` is the access ticket of 0-8.
        In confirm mode the handle ends with `Settled`: Accepted, Rejected, or Returned. Else there is none.
        Raises LocalProtocolError also while the peer has stopped the flow (channel.flow).
        """
        connection = self.connection
        if (
            self.state is not State.OPEN
            or connection._joint.state is not ConnectionState.OPEN
            or connection.role is not Side.CLIENT
            or self.client_content is not None
            or self.client_stopped
            or connection._lost
        ):
            self._refuse_publish()
        number = self.number
        if type(body) is not bytes:
            body = bytes(memoryview(body))
        size = len(body)
        try:
            raw = properties.encode(connection._tables) if properties is not None else b"\x00\x00"
            key = (number, exchange, routing_key, mandatory, immediate, ticket)
            cache = connection._publish_cache
            start = cache.get(key)
            if start is None:
                method = BasicPublish(exchange, routing_key, mandatory, immediate, ticket)
                if connection.dialect.strict:
                    self._transmit(method, None, properties, body)
                    return None
                start = method_frame(number, method.encode(connection._tables))
                if len(cache) >= _CACHED_PUBLISHES:
                    cache.clear()
                cache[key] = start
        except CodecError as error:
            raise self._misuse(str(error), error.rule) from error
        frame_max = connection._frame_max
        if frame_max and (len(start) > frame_max or len(raw) + 20 > frame_max):
            raise too_large(connection, max(len(start), len(raw) + 20))
        out = connection._out
        if out.size + size > connection.config.limits.backlog_hard:
            raise backlog(out.size + size, connection)
        handle: Handle[Any] | None = None
        if self.mode is Mode.CONFIRM:
            handle = self._expect_confirm()
            if mandatory or immediate:
                self._expect_return(exchange, routing_key, size, crc32(body))
        header = _HEADER_START(2, number, 12 + len(raw), 60, 0, size)
        if not size:
            piece = b"".join((start, header, raw, b"\xce"))
            out.parts.append(piece)
            out.size += len(piece)
        elif not frame_max or size <= frame_max - OVERHEAD:
            if size > 8192:
                head = b"".join((start, header, raw, _BODY_START(b"\xce", 3, number, size)))
                out.parts += (head, body, b"\xce")
                out.size += len(head) + size + 1
            else:
                piece = b"".join(
                    (start, header, raw, _BODY_START(b"\xce", 3, number, size), body, b"\xce")
                )
                out.parts.append(piece)
                out.size += len(piece)
        else:
            out.append(b"".join((start, header, raw, b"\xce")))
            for part in body_frames(number, body, frame_max):
                out.append(part)
        if out.size > connection.config.limits.backlog_high and not connection._paused_sending:
            connection._pause_sending()
        return handle

    def deliver(
        self,
        body: bytes,
        *,
        consumer_tag: str,
        exchange: str = "",
        routing_key: str = "",
        redelivered: bool = False,
        properties: BasicProperties | None = None,
    ) -> Handle[Any]:
        """Server: send a message to a consumer under the channel's next delivery tag.

        The handle ends with `Settled`: Accepted, Rejected or Released by the client, at once for a consumer
        without acknowledgement.
        """
        connection = self.connection
        tag = self.last_tag + 1
        handle: Handle[Any] = Handle((self.number, connection._calls + 1))
        method = BasicDeliver(consumer_tag, tag, redelivered, exchange, routing_key)
        self._transmit(method, handle, properties or BasicProperties(), body)
        connection._calls += 1
        if tag not in self.unsettled:
            handle._complete(None)
        return handle

    def forward(
        self,
        body: bytes,
        raw_properties: bytes,
        consumer_tag: str,
        exchange: str = "",
        routing_key: str = "",
        redelivered: bool = False,
    ) -> int:
        """Server: send a message on to a consumer, its properties octet by octet; returns the delivery tag.

        As `deliver`, without a handle: what the client does with it is told by `MethodReceived` alone.
        """
        connection = self.connection
        frame_max = connection._frame_max
        size = len(body)
        out = connection._out
        limits = connection.config.limits
        no_ack = self.consumers.get(consumer_tag)
        unsettled = self.unsettled
        if (
            no_ack is None
            or self.state is not State.OPEN
            or connection._joint.state is not ConnectionState.OPEN
            or self.server_content is not None
            or self.server_stopped
            or connection._lost
            or connection.role is not Side.SERVER
            or (size > frame_max - OVERHEAD and frame_max)
            or out.size + size > limits.backlog_hard
            or (not no_ack and len(unsettled) >= limits.unsettled)
        ):
            return self._forward(body, raw_properties, consumer_tag, exchange, routing_key, redelivered)
        number = self.number
        key = (number, consumer_tag, exchange, routing_key)
        found = connection._deliver_cache.get(key)
        if found is None:
            # The general step refuses what can't stand in a deliver, once for all that are alike.
            tag = self._forward(body, raw_properties, consumer_tag, exchange, routing_key, redelivered)
            self._remember_delivery(key)
            return tag
        begin, end = found
        properties_size = len(raw_properties)
        if properties_size + 20 > frame_max and frame_max:
            raise too_large(connection, properties_size + 20)
        self.last_tag = tag = self.last_tag + 1
        if not no_ack:
            unsettled[tag] = None
        header = _HEADER_REST(12 + properties_size, _BASIC, size)
        head = begin, _TAG(tag, redelivered), end, header, raw_properties
        if size > 8192:
            piece = b"".join((*head, _BODY_START(b"\xce", 3, number, size)))
            out.parts += (piece, body, b"\xce")
            out.size += len(piece) + size + 1
        else:
            if size:
                piece = b"".join((*head, _BODY_START(b"\xce", 3, number, size), body, b"\xce"))
            else:
                piece = b"".join((*head, b"\xce"))
            out.parts.append(piece)
            out.size += len(piece)
        if out.size > limits.backlog_high and not connection._paused_sending:
            connection._pause_sending()
        return tag

    def name_consumer(self, tag: str) -> None:
        """Server: the tag that was made up for a consumer whose client named none and wanted no reply."""
        if "" in self.consumers:
            self.consumers[tag] = self.consumers.pop("")

    def begin(self, method: Method, properties: Properties, size: int) -> Handle[Any] | None:
        """Begin content of `size` octets that `continue_body` supplies.

        Nothing else may go out on the channel until it is complete. The handle is what `call`, `publish` or
        `deliver` would give for `method`.
        """
        connection = self.connection
        self._check()
        self._check_kind(method)
        self._check_content(method)
        if not 0 <= size < 1 << 64:
            raise LocalProtocolError(f"content of {size} octets; the size is a number of 64 bits without sign")
        raw = self._encode_properties(properties)
        payload = encode(method, connection)
        check_frame(connection, max(len(payload) + OVERHEAD, len(raw) + 20))
        check_backlog(connection, len(payload) + len(raw))
        handle: Handle[Any] | None = None
        if method.NAME == "basic.deliver" or connection.dialect.replies[method.ID] or (
            method.NAME == "basic.publish" and self.mode is Mode.CONFIRM
        ):
            handle = Handle((self.number, connection._calls + 1))
        joint = connection._joint
        locally(connection, joint.step, connection.role, self.number, method, handle, False, size)
        locally(connection, joint.header, connection.role, self.number, method.CLASS_ID, 0, size, True)
        if handle is not None:
            connection._calls += 1
            if method.NAME == "basic.deliver" and self.last_tag not in self.unsettled:
                handle._complete(None)
        frames = method_frame(self.number, payload) + header_frame(self.number, method.CLASS_ID, size, raw)
        connection._queue_octets(frames)
        if not size:
            self._content_sent(method, 0, 0)
        return handle

    def continue_body(self, data: bytes) -> None:
        """Send the next octets of the content that `begin` announced."""
        connection = self.connection
        self._check()
        octets = data if type(data) is bytes else bytes(memoryview(data))
        if not octets:
            return
        check_backlog(connection, len(octets))
        content: ContentState = locally(connection, connection._joint.body, connection.role, self.number, len(octets))
        connection._queue_octets(b"".join(body_frames(self.number, octets, connection._frame_max)))
        content.crc = crc32(octets, content.crc)
        if content.received == content.size:
            self._content_sent(content.method, content.size, content.crc)

    def accept(self, delivery_tag: int, multiple: bool = False) -> None:
        """Acknowledge one delivery, or all up to it (section 1.8.3.13).

        Tag 0 with `multiple` stands for all that have come so far; those on the way aren't meant.
        """
        unsettled = self.unsettled
        if (
            multiple
            or delivery_tag not in unsettled
            or self.client_calls is not None
            or self.state is not State.OPEN
            or self.connection._joint.state is not ConnectionState.OPEN
            or self.connection.role is not Side.CLIENT
            or self.mode is Mode.TRANSACTED
            or self.client_content is not None
            or self.connection._lost
        ):
            if multiple and not delivery_tag and self.connection.role is Side.CLIENT:
                self._check()
                if not unsettled:
                    return
                delivery_tag = next(reversed(unsettled))
            self._settle("basic.ack", delivery_tag, multiple)
            return
        del unsettled[delivery_tag]
        out = self.connection._out
        out.parts.append(_ACK(1, self.number, 13, _ACK_ID, delivery_tag, 0, 0xCE))
        out.size += 21

    def reject(self, delivery_tag: int) -> None:
        """Refuse a delivery for good: it is dropped or dead-lettered (section 1.8.3.14)."""
        self._settle("basic.reject", delivery_tag, False)

    def release(self, delivery_tag: int) -> None:
        """Give a delivery back to its queue, to be delivered again (section 1.8.3.14)."""
        self._settle("basic.reject", delivery_tag, True)

    def confirm(self, number: int, multiple: bool = False, accepted: bool = True) -> None:
        """Server: confirm a publish by its number, or all up to it; `accepted` false is a nack."""
        connection = self.connection
        if connection.role is not Side.SERVER:
            raise LocalProtocolError("only a server confirms publishes")
        if (
            accepted
            and not multiple
            and number in self.unconfirmed
            and self.state is State.OPEN
            and connection._joint.state is ConnectionState.OPEN
            and self.server_content is None
            and not connection._lost
        ):
            del self.unconfirmed[number]
            connection._queue_octets(_ACK(1, self.number, 13, _ACK_ID, number, 0, 0xCE))
            return
        name = "basic.ack" if accepted else "basic.nack"
        if name not in connection.dialect.named:
            raise LocalProtocolError(f"{connection.dialect.name} has no {name}")
        self._transmit(connection.dialect.named[name](number, multiple), None, None, None)

    def close(self, code: int = 200, text: str = "Normal shutdown", cause: Method | None = None) -> None:
        """Close the channel with a handshake; `Closed` is its last event. A second call does nothing.

        `cause` is the method blamed in an error close: on a server that refuses a request, the request.
        """
        closing.close_channel(self, code, text, cause)

    # Inside.

    @property
    def own_content(self) -> ContentState | None:
        """What this end has under way, between `begin` and the last `continue_body`."""
        return self.client_content if self.connection.role is Side.CLIENT else self.server_content

    def _check(self) -> None:
        connection = self.connection
        if connection._channels.get(self.number) is not self:
            report = self.report or connection._report
            raise EndpointClosed(f"channel {self.number} is closed: {report}", report)
        connection._check_open()
        if self.state not in (State.OPEN, State.OPENING):
            raise EndpointClosed(f"channel {self.number} is closing: {self.report}", self.report)

    def _check_kind(self, method: Method) -> None:
        dialect = self.connection.dialect
        if type(method) is not dialect.methods.get(method.ID):
            raise LocalProtocolError(f"{type(method).__name__} is not a method of {dialect.name}")

    def _check_content(self, method: Method) -> None:
        """Whether content can begin now; a stopped flow leaves out replies (basic.get-ok)."""
        client = self.connection.role is Side.CLIENT
        if not method.HAS_CONTENT:
            raise LocalProtocolError(f"{method.NAME} carries no content")
        if (self.client_stopped if client else self.server_stopped) and not method.IS_REPLY:
            raise self._misuse(
                f"the peer stopped the flow on channel {self.number}; wait for FlowChanged",
                "channel.flow/react",
            )

    def _settle(self, name: str, delivery_tag: int, option: bool) -> None:
        if self.connection.role is not Side.CLIENT:
            raise LocalProtocolError("only a client settles deliveries; a server confirms publishes")
        if any([call.request.NAME == "basic.recover" for call in self.client_calls or ()]):
            self._check()
            raise LocalProtocolError("basic.recover is under way, the deliveries come again; wait for its end")
        method = self.connection.dialect.named[name](delivery_tag, option)
        self._transmit(method, None, None, None)

    def _content_sent(self, method: Any, size: int, crc: int) -> None:
        """Content that was sent in pieces is complete: what had to wait for that goes out."""
        if method.NAME == "basic.publish" and (method.mandatory or method.immediate) and self.mode is Mode.CONFIRM:
            self._expect_return(method.exchange, method.routing_key, size, crc)
        deferred, self.deferred = self.deferred, None
        for answer in deferred or ():
            closing.answer_anyway(self.connection, self.number, answer)

    def _forward(
        self, body: bytes, raw: bytes, consumer_tag: str, exchange: str, routing_key: str, redelivered: bool
    ) -> int:
        """The general step of `forward`."""
        tag = self.last_tag + 1
        method = BasicDeliver(consumer_tag, tag, redelivered, exchange, routing_key)
        self._transmit(method, None, BasicProperties.from_wire(raw, self.connection._tables), body)
        return tag

    def _remember_delivery(self, key: tuple[int, str, str, str]) -> None:
        """Keep what stands around tag and flag in a delivery's method frame, up to the size of the header frame."""
        number, consumer_tag, exchange, routing_key = key
        connection = self.connection
        frame = method_frame(
            number, BasicDeliver(consumer_tag, 0, False, exchange, routing_key).encode(connection._tables)
        )
        # Class and method, the size of the consumer tag, and the tag itself.
        at = 7 + 5 + frame[11]
        cache = connection._deliver_cache
        if len(cache) >= _CACHED_PUBLISHES:
            cache.clear()
        cache[key] = frame[:at], frame[at + 9 :] + _TYPE_AND_CHANNEL(2, number)

    def _refuse_publish(self) -> None:
        self._check()
        if self.connection.role is not Side.CLIENT:
            raise LocalProtocolError("only a client publishes; a server delivers")
        if self.client_stopped:
            self._check_content(BasicPublish())
        if self.client_content is not None:
            raise self._misuse(
                f"content of {self.client_content.method.NAME} is under way on channel {self.number}; finish it first",
                "wire/content-sequential",
            )

    def _expect_confirm(self) -> Handle[Any]:
        """Count a publish in confirm mode."""
        connection = self.connection
        if len(self.unconfirmed) >= connection.config.limits.unconfirmed:
            raise LimitExceeded(
                f"{len(self.unconfirmed)} publishes wait for a confirm, Limits.unconfirmed allows no more"
            )
        connection._calls += 1
        handle: Handle[Any] = Handle((self.number, connection._calls))
        self.publish_count = count = self.publish_count + 1
        self.unconfirmed[count] = handle
        return handle

    def _expect_return(self, exchange: str, routing_key: str, size: int, crc: int) -> None:
        """Remember the last publish, which may come back, by what its return will repeat."""
        if self.returns is None:
            self.returns = Returns()
        self.returns.expect(self.publish_count, (exchange, routing_key, size, crc))

    def _check_announced(self, method: Method, capability: str, rule: str) -> None:
        """RabbitMQ's extensions go only to clients that announced that they take them."""
        if self.connection.role is not Side.SERVER:
            return
        if not announces(self.connection.peer_properties, capability):
            raise self._misuse(
                f"the client didn't announce the capability {capability!r} that {method.NAME} needs", rule
            )

    def _misuse(self, text: str, rule: str | None) -> LocalProtocolError:
        return misuse(self.connection.dialect.version, text, rule)

    def _encode_properties(self, properties: Properties) -> bytes:
        try:
            return properties.encode(self.connection._tables)
        except CodecError as error:
            raise self._misuse(str(error), error.rule) from error

    def _transmit(
        self, method: Method, token: object, properties: Properties | None, body: bytes | None
    ) -> None:
        self._check()
        self._check_kind(method)
        needed = _ANNOUNCED.get(method.NAME)
        if needed is not None and Side.SERVER in self.connection.dialect.senders.get(method.ID, ()):
            self._check_announced(method, *needed)
        if method.NAME in CONNECTION_INPUTS or method.NAME in CHANNEL_INPUTS:
            raise LocalProtocolError(
                f"{method.NAME} isn't sent as such; use open_channel, close, or what answers the event"
            )
        if not method.HAS_CONTENT:
            if properties is not None or body is not None:
                raise LocalProtocolError(f"{method.NAME} carries no content")
            send_frames(self.connection, self.number, method, token, None)
            return
        self._check_content(method)
        if properties is None:
            properties = self.connection.dialect.properties[method.CLASS_ID]()
        body = bytes(memoryview(body)) if body else b""
        raw = self._encode_properties(properties)
        connection = self.connection
        check_frame(connection, len(raw) + 20)
        check_backlog(connection, len(body))
        content = b"".join(
            (
                header_frame(self.number, method.CLASS_ID, len(body), raw),
                *body_frames(self.number, body, connection._frame_max),
            )
        )
        send_frames(connection, self.number, method, token, content, len(body))


class ChannelZero(Channel):
    """The connection's own methods, on channel 0."""

    __slots__ = ()

    def __init__(self, connection: Connection) -> None:
        Channel.__init__(self, connection, 0)
        self.state = State.OPEN

    def _check(self) -> None:
        self.connection._check_open()
