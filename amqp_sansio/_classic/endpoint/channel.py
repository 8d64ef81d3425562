"""Channel: one channel of a 0-8 or 0-9-1 connection, from its opening to its end (0-9-1 sections 1.3 to 1.9).

A channel of an endpoint is its model (`ChannelState`) with commands: each command encodes its method, steps the model,
which may refuse, and queues the octets. What arrives steps the same model; the connection does that, and calls `answer`
and the `take_...` methods here.

Between two calls these hold:

- A refused command has changed nothing, neither the model nor the octets to send.
- While this end sends content in pieces, nothing else goes out on the channel (4.2.6): answers wait in `deferred`.
- A channel that has ended has no calls, no content and no opening under way; `report` says why it ended.
"""

from __future__ import annotations

from operator import attrgetter
from struct import Struct
from zlib import crc32

from ..._checking import TYPE_CHECKING, Protocol, TypeVar, overload
from ..._core.connection import ERROR
from ..._watching.ends import failed, tell_abandoned
from ...endpoint import Side
from ...errors import CodecError, EndpointClosed, LimitExceeded, LocalProtocolError, Scope
from ...events import By, Closed, CloseReport, Failed, Pending, Settled
from ..codec.content_reader import ACK_ID, BASIC, BODY_FOLLOWS
from ..codec.frames import OVERHEAD, body_frames, header_frame, method_frame
from ..codec.methods import BasicDeliver, BasicProperties, BasicPublish
from ..codec.violation import RESOURCE_ERROR, Violation
from ..model.channel_state import UNUSUAL, ChannelState
from ..model.returnable import Returnable
from ..model.states import CHANNEL_INPUTS, CONNECTION_INPUTS, Mode
from ..model.states import Channel as State
from ..model.states import Connection as ConnectionState
from .config import announces
from .events import ContentAborted
from .outgoing import method_ids

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any, Final

    from ...events import Accepted, Rejected, Released
    from ..codec.method import Method
    from ..codec.method import Request as RequestMethod
    from ..codec.methods import BasicGet, BasicGetEmpty, BasicGetOk
    from ..codec.properties import Properties
    from ..codec.table import Table
    from ..model.channel_state import ContentState, Outcome
    from ..model.returnable import Key
    from .events import Message, Returned
    from .outgoing import Outgoing

_R = TypeVar("_R", bound="Method")

_BODY_BEGIN: Final = Struct(">II").pack
_ACK: Final = Struct(">BHIIQBB").pack
_HEADER_REST: Final = Struct(">IIQ").pack
_TAG: Final = Struct(">QB").pack
_TYPE_AND_CHANNEL: Final = Struct(">BH").pack
_CACHED_PUBLISHES: Final = 256
_CHANGING: Final = BasicProperties()
"""Stands for properties whose octets have to be made for each publish."""
_NO_PUBLISH: Final = b"", _CHANGING, b""
"""Nothing is known of a publish unlike all before."""
# A member of an enumeration takes longer to get from its class than all else that a check of it does.
_OPEN, _CONNECTION_OPEN = State.OPEN, ConnectionState.OPEN
_CLIENT, _SERVER = Side.CLIENT, Side.SERVER
_CONFIRM = Mode.CONFIRM
_ANNOUNCED: Final = {
    "basic.cancel": ("consumer_cancel_notify", "rabbitmq/basic.cancel.capability"),
    "connection.blocked": ("connection.blocked", "rabbitmq/connection.blocked"),
}
"""Methods that a server sends only to clients that announced a capability."""


LIVE: Final = frozenset({State.OPENING, State.OPEN})


class Owner(Protocol):
    """The connection of a channel, as far as its channels need it."""

    @property
    def peer_properties(self) -> Table: ...
    @property
    def is_open(self) -> bool: ...
    def check_open(self) -> None: ...


class Returns:
    """The publishes that may come back before they are confirmed (mandatory or immediate), and how those came that did.

    The server routes the publishes of a channel in their order and returns before it confirms, so what comes back is
    in the order of the publishes; others may be confirmed between.
    """

    __slots__ = ("_open", "_outcomes", "_passed")

    def __init__(self) -> None:
        # Publishes that may still come back, by what a return repeats of them: exchange, routing key, size and
        # checksum.
        self._open = Returnable()
        # Those that came back and aren't confirmed yet, by publish number.
        self._outcomes: dict[int, Returned] = {}
        # The number of the publish that came back last: no older one does any more.
        self._passed = 0

    def expect(self, number: int, key: Key) -> None:
        """Publish `number` may come back."""
        self._open.add(number, key)

    def came_back(self, key: Key, outcome: Returned) -> int:
        """The number of the publish that came back: the next one like it; 0 when there is none."""
        number = self._open.take(key, self._passed)
        if number is None:
            return 0
        self._passed = number
        self._outcomes[number] = outcome
        return number

    def settle(self, number: int) -> Returned | None:
        """Publish `number` was confirmed: how it came back, if it did."""
        self._open.forget(number)
        return self._outcomes.pop(number, None)


class Channel(ChannelState):
    """One channel of an endpoint. Every command either happens as a whole or raises and changes nothing.

    Commands raise LocalProtocolError for misuse, LimitExceeded at a bound, EndpointClosed when the channel or
    connection is gone.
    """

    __slots__ = ("_outgoing", "connection", "deferred", "opening", "report", "returns", "streaming")

    def __init__(self, connection: Owner, outgoing: Outgoing, number: int) -> None:
        # Channel 0 is the connection's own: it needs no opening.
        ChannelState.__init__(self, number, State.CLOSED if number else State.OPEN)
        if outgoing.role is Side.SERVER:
            self._pay_for_rollbacks()
        # Whose channel it is: what the peer announced, and whether commands may be given.
        self.connection = connection
        # The way of its methods and contents out; all channels share it.
        self._outgoing = outgoing
        # The pending of channel.open, from the request until the answer.
        self.opening: Pending[object] | None = None
        # Why it ended or is closing; None while it is open, and again when its number is opened anew.
        self.report: CloseReport | None = None
        # Made with the first publish that may come back in confirm mode (mandatory or immediate).
        self.returns: Returns | None = None
        # Answers that wait for the end of the content that this end sends; None while there is none.
        self.deferred: list[Method] | None = None
        # Whether the content that is arriving is told in pieces (`Config.stream_above`).
        self.streaming = False

    @property
    def is_open(self) -> bool:
        """Whether content and methods can be sent now."""
        return self.state is State.OPEN and self.connection.is_open

    @overload
    def call(  # type: ignore[overload-overlap]
        self,
        method: BasicGet,  # pyright: ignore[reportOverlappingOverload]
    ) -> Pending[Message[BasicGetOk] | BasicGetEmpty]: ...
    @overload
    def call(
        self, method: RequestMethod[_R], properties: Properties | None = None, body: bytes | None = None
    ) -> Pending[_R]: ...
    @overload
    def call(
        self, method: Method, properties: Properties | None = None, body: bytes | None = None
    ) -> Pending[object]: ...
    def call(self, method: Method, properties: Properties | None = None, body: bytes | None = None) -> Pending[object]:
        """Send a request; the pending ends with `Replied` and the reply as its result.

        A reply with content ends it with a `Message`. With `no_wait` the pending is done at once, its result None.
        Content (`properties`, `body`) belongs to the requests that carry it.
        """
        if not self._outgoing.model.dialect.replies.get(method.ID):
            raise self._misuse(f"{method.NAME} has no reply; use send", "method/sync-reply")
        outgoing = self._outgoing
        pending: Pending[object] = Pending((self.number, outgoing.calls + 1))
        self._transmit(method, pending, properties, body)
        outgoing.calls += 1
        if method.HAS_NO_WAIT and method.no_wait:  # type: ignore[attr-defined]
            pending.complete(None)
        return pending

    def send(self, method: Method, properties: Properties | None = None, body: bytes | None = None) -> None:
        """Send a method that has no reply, such as BasicAck, with its content if it carries one."""
        if self._outgoing.model.dialect.replies.get(method.ID) and not method.IS_REPLY:
            raise self._misuse(f"{method.NAME} has a reply; use call", "method/sync-reply")
        self._transmit(method, None, properties, body)

    def reply(self, method: Method, properties: Properties | None = None, body: bytes | None = None) -> None:
        """Answer the oldest request of the peer that waits, with content if the reply carries one."""
        if not method.IS_REPLY:
            raise LocalProtocolError(f"{method.NAME} is not a reply; use send or call")
        calls = self.calls(self._outgoing.role is Side.SERVER)
        if calls and type(method) not in self._outgoing.model.dialect.replies[calls.oldest.request.ID]:
            oldest = f"{calls.oldest.request.NAME} on channel {self.number}"
            raise self._misuse(f"{oldest} is to be answered before what {method.NAME} answers", "method/sync-reply")
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
    ) -> Pending[Accepted | Rejected | Returned] | None:
        """Queue one whole message: method, header and body frames with nothing between (section 4.2.6).

        `ticket` is the access ticket of 0-8.
        In confirm mode the pending ends with `Settled`: Accepted, Rejected, or Returned. Else there is none.
        Raises LocalProtocolError also while the peer has stopped the flow (channel.flow).
        """
        outgoing = self._outgoing
        out = outgoing.buffer
        # All that may forbid it, in one condition: `_refuse_publish` says which it was.
        if (
            self.state is not _OPEN
            or outgoing.model.state is not _CONNECTION_OPEN
            or outgoing.role is not _CLIENT
            or self.client_content is not None
            or self.client_stopped
            or out.closed
        ):
            self._refuse_publish()
        number = self.number
        if type(body) is not bytes:
            body = bytes(memoryview(body))
        size = len(body)
        try:
            key = (number, exchange, routing_key, mandatory, immediate, ticket)
            cache = outgoing.publishes
            # The method's frame and the head of the next one are the same octets for publishes that are alike.
            start, known, raw = cache.get(key) or _NO_PUBLISH
            if known is not properties:
                raw = properties.encode(outgoing.tables) if properties is not None else b"\x00\x00"
                if not start:
                    method = BasicPublish(exchange, routing_key, mandatory, immediate, ticket)
                    if outgoing.model.dialect.strict:
                        self._transmit(method, None, properties, body)
                        return None
                    start = method_frame(number, method.encode(outgoing.tables)) + _TYPE_AND_CHANNEL(2, number)
                    if len(cache) >= _CACHED_PUBLISHES:
                        cache.clear()
                # Only a table can have changed when they are sent again.
                is_fixed = properties is None or (type(properties) is BasicProperties and properties.headers is None)
                cache[key] = start, properties if is_fixed else _CHANGING, raw
        except CodecError as error:
            raise self._misuse(str(error), error.rule) from error
        # What can't be cut has to fit one frame: the method's, which is `start` without the 3 octets that begin the
        # next one, and the header's, of 20 octets beside the properties.
        frame_max = outgoing.frame_max
        if frame_max and (len(start) - 3 > frame_max or len(raw) + 20 > frame_max):
            raise outgoing.too_large(max(len(start) - 3, len(raw) + 20))
        if out.size + size > out.hard:
            outgoing.buffer.check_room(size)
        pending: Pending[Accepted | Rejected | Returned] | None = None
        if self.mode is _CONFIRM:
            waiting = len(self.unconfirmed)
            if waiting >= outgoing.limits.unconfirmed:
                raise LimitExceeded(f"{waiting} publishes wait for a confirm, Limits.unconfirmed allows no more")
            calls = outgoing.calls + 1
            outgoing.calls = calls
            pending = Pending((number, calls))
            self.add_publish(pending)
            if mandatory or immediate:
                self._expect_return(exchange, routing_key, size, crc32(body))
        header = _HEADER_REST(12 + len(raw), BASIC, size)
        if not size:
            out.queue(b"".join((start, header, raw, b"\xce")))
        elif not frame_max or size <= frame_max - OVERHEAD:
            out.add((start, header, raw, _BODY_BEGIN(BODY_FOLLOWS | number, size), body, b"\xce"), size)
        else:
            out.append(b"".join((start, header, raw, b"\xce")))
            for part in body_frames(number, body, frame_max):
                out.append(part)
            if out.size > out.high:
                out.pause()
        return pending

    def deliver(
        self,
        body: bytes,
        *,
        consumer_tag: str,
        exchange: str = "",
        routing_key: str = "",
        redelivered: bool = False,
        properties: BasicProperties | None = None,
    ) -> Pending[Accepted | Rejected | Released]:
        """Server: send a message to a consumer under the channel's next delivery tag.

        The pending ends with `Settled`: Accepted, Rejected or Released by the client, at once for a consumer
        without acknowledgement.
        """
        outgoing = self._outgoing
        tag = self.last_tag + 1
        pending: Pending[Accepted | Rejected | Released] = Pending((self.number, outgoing.calls + 1))
        method = BasicDeliver(consumer_tag, tag, redelivered, exchange, routing_key)
        self._transmit(method, pending, properties or BasicProperties(), body)
        outgoing.calls += 1
        if tag not in self.unsettled:
            pending.complete(None)
        return pending

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

        As `deliver`, without a pending: what the client does with it is told by `MethodReceived` alone.
        """
        outgoing = self._outgoing
        frame_max = outgoing.frame_max
        size = len(body)
        out = outgoing.buffer
        number = self.number
        key = (number, consumer_tag, exchange, routing_key)
        found = outgoing.delivers.get(key)
        properties_size = len(raw_properties)
        tag = self.last_tag + 1
        if (
            found is None
            or outgoing.model.state is not _CONNECTION_OPEN
            or self.server_stopped
            or out.closed
            or outgoing.role is not _SERVER
            or (frame_max and (size > frame_max - OVERHEAD or properties_size > frame_max - 20))
            or out.size + size > out.hard
            or not self.take_usual_delivery(tag, consumer_tag, None, outgoing.limits.unsettled)
        ):
            # The general step refuses what can't stand in a deliver, once for all that are alike.
            self._forward(body, raw_properties, consumer_tag, exchange, routing_key, redelivered)
            if found is None:
                self._remember_delivery(key)
            return tag
        begin, end = found
        header = _HEADER_REST(12 + properties_size, BASIC, size)
        given = _TAG(tag, redelivered)
        if size:
            follows = _BODY_BEGIN(BODY_FOLLOWS | number, size)
            out.add((begin, given, end, header, raw_properties, follows, body, b"\xce"), size)
        else:
            out.queue(b"".join((begin, given, end, header, raw_properties, b"\xce")))
        return tag

    def name_consumer(self, tag: str) -> None:
        """Server: the tag that was made up for a consumer whose client named none and wanted no reply."""
        self._rename_consumer(tag)

    def begin(self, method: Method, properties: Properties, size: int) -> Pending[object] | None:
        """Begin content of `size` octets that `continue_body` supplies.

        Nothing else may go out on the channel until it is complete. The pending is what `call`, `publish` or
        `deliver` would give for `method`.
        """
        outgoing = self._outgoing
        self._check()
        self._check_kind(method)
        self._check_content(method)
        if not 0 <= size < 1 << 64:
            raise LocalProtocolError(f"content of {size} octets; the size is a number of 64 bits without sign")
        raw = outgoing.encode(properties)
        payload = outgoing.encode(method)
        outgoing.check_frame(max(len(payload) + OVERHEAD, len(raw) + 20))
        outgoing.buffer.check_room(len(payload) + len(raw))
        model = outgoing.model
        pending: Pending[object] | None = None
        if (
            method.NAME == "basic.deliver"
            or model.dialect.replies[method.ID]
            or (method.NAME == "basic.publish" and self.mode is Mode.CONFIRM)
        ):
            pending = Pending((self.number, outgoing.calls + 1))
        role = outgoing.role
        outgoing.locally(model.step, role, self.number, method, pending, False, size)
        outgoing.locally(model.header, role, self.number, method.CLASS_ID, 0, size, raw, True)
        if pending is not None:
            outgoing.calls += 1
            if method.NAME == "basic.deliver" and self.last_tag not in self.unsettled:
                pending.complete(None)
        frames = method_frame(self.number, payload) + header_frame(self.number, method.CLASS_ID, size, raw)
        outgoing.buffer.queue(frames)
        if not size:
            self._content_sent(method, 0, 0)
        return pending

    def continue_body(self, data: bytes) -> None:
        """Send the next octets of the content that `begin` announced."""
        outgoing = self._outgoing
        self._check()
        octets = data if type(data) is bytes else bytes(memoryview(data))
        if not octets:
            return
        outgoing.buffer.check_room(len(octets))
        content = outgoing.locally(outgoing.model.body, outgoing.role, self.number, len(octets))
        outgoing.buffer.queue(b"".join(body_frames(self.number, octets, outgoing.frame_max)))
        if content is None:
            return
        content.checksum(octets)
        if content.received == content.size:
            self._content_sent(content.method, content.size, content.crc)

    def accept(self, delivery_tag: int, multiple: bool = False) -> None:
        """Acknowledge one delivery, or all up to it (section 1.8.3.13).

        Tag 0 with `multiple` stands for all that have come so far; those on the way aren't meant.
        """
        outgoing = self._outgoing
        out = outgoing.buffer
        if (
            multiple
            or self.client_calls is not None
            or outgoing.model.state is not _CONNECTION_OPEN
            or outgoing.role is not _CLIENT
            or out.closed
            or self.take_usual_ack(delivery_tag) is UNUSUAL
        ):
            self._accept(delivery_tag, multiple)
            return
        out.append(_ACK(1, self.number, 13, ACK_ID, delivery_tag, 0, 0xCE))

    def _accept(self, delivery_tag: int, multiple: bool = False) -> None:
        if multiple and not delivery_tag and self._outgoing.role is Side.CLIENT:
            self._check()
            if not self.unsettled:
                return
            delivery_tag = max(self.unsettled)
        self._settle("basic.ack", delivery_tag, multiple)

    def reject(self, delivery_tag: int) -> None:
        """Refuse a delivery for good: it is dropped or dead-lettered (section 1.8.3.14)."""
        self._settle("basic.reject", delivery_tag, False)

    def release(self, delivery_tag: int) -> None:
        """Give a delivery back to its queue, to be delivered again (section 1.8.3.14)."""
        self._settle("basic.reject", delivery_tag, True)

    def confirm(self, number: int, multiple: bool = False, accepted: bool = True) -> None:
        """Server: confirm a publish by its number, or all up to it; `accepted` false is a nack."""
        outgoing = self._outgoing
        if (
            multiple
            or not accepted
            or outgoing.role is not _SERVER
            or outgoing.model.state is not _CONNECTION_OPEN
            or outgoing.buffer.closed
            or self.take_usual_confirm(number) is UNUSUAL
        ):
            self._confirm(number, multiple, accepted)
            return
        outgoing.buffer.queue(_ACK(1, self.number, 13, ACK_ID, number, 0, 0xCE))

    def _confirm(self, number: int, multiple: bool = False, accepted: bool = True) -> None:
        outgoing = self._outgoing
        if outgoing.role is not _SERVER:
            raise LocalProtocolError("only a server confirms publishes")
        name = "basic.ack" if accepted else "basic.nack"
        dialect = outgoing.model.dialect
        if name not in dialect.named:
            raise LocalProtocolError(f"{dialect.name} has no {name}")
        self._transmit(dialect.named[name](number, multiple), None, None, None)

    def close(self, code: int = 200, text: str = "Normal shutdown", cause: Method | None = None) -> None:
        """Close the channel with a handshake; `Closed` is its last event. A second call does nothing.

        `cause` is the method blamed in an error close: on a server that refuses a request, the request.
        """
        outgoing = self._outgoing
        open_ = outgoing.model.state is ConnectionState.OPEN and not outgoing.buffer.closed
        if open_ and self.state in LIVE:
            self.send_close(CloseReport(By.LOCAL, code, text, *method_ids(cause)))

    # Inside.

    @property
    def own_content(self) -> ContentState | None:
        """The content that this end has under way, between `begin` and the last `continue_body`."""
        return self.content(self._outgoing.role is Side.CLIENT)

    def _check(self) -> None:
        if self.state is State.CLOSED:
            raise EndpointClosed(f"channel {self.number} is closed: {self.report}", self.report)
        self.connection.check_open()
        if self.state not in LIVE:
            raise EndpointClosed(f"channel {self.number} is closing: {self.report}", self.report)

    def _check_kind(self, method: Method) -> None:
        dialect = self._outgoing.model.dialect
        if type(method) is not dialect.methods.get(method.ID):
            raise LocalProtocolError(f"{type(method).__name__} is not a method of {dialect.name}")

    def _check_content(self, method: Method) -> None:
        """Whether content can begin now; a stopped flow leaves out replies (basic.get-ok)."""
        client = self._outgoing.role is Side.CLIENT
        if not method.HAS_CONTENT:
            raise LocalProtocolError(f"{method.NAME} carries no content")
        if (self.client_stopped if client else self.server_stopped) and not method.IS_REPLY:
            text = f"the peer stopped the flow on channel {self.number}; wait for FlowChanged"
            raise self._misuse(text, "channel.flow/react")

    def _settle(self, name: str, delivery_tag: int, option: bool) -> None:
        if self._outgoing.role is not Side.CLIENT:
            raise LocalProtocolError("only a client settles deliveries; a server confirms publishes")
        recover = self._outgoing.model.dialect.named["basic.recover"]
        if self.client_calls is not None and self.client_calls.has_method(recover.ID):
            self._check()
            raise LocalProtocolError("basic.recover is under way, the deliveries come again; wait for its end")
        method = self._outgoing.model.dialect.named[name](delivery_tag, option)
        self._transmit(method, None, None, None)

    def _content_sent(self, method: Method, size: int, crc: int) -> None:
        """Content that was sent in pieces is complete: what had to wait for that goes out."""
        if isinstance(method, BasicPublish) and (method.mandatory or method.immediate) and self.mode is Mode.CONFIRM:
            self._expect_return(method.exchange, method.routing_key, size, crc)
        deferred, self.deferred = self.deferred, None
        for answer in deferred or ():
            self._outgoing.answer_anyway(self.number, answer)

    def _forward(
        self, body: bytes, raw: bytes, consumer_tag: str, exchange: str, routing_key: str, redelivered: bool
    ) -> int:
        """The general step of `forward`."""
        tag = self.last_tag + 1
        method = BasicDeliver(consumer_tag, tag, redelivered, exchange, routing_key)
        self._transmit(method, None, BasicProperties.from_wire(raw, self._outgoing.tables), body)
        return tag

    def _remember_delivery(self, key: tuple[int, str, str, str]) -> None:
        """Keep what stands around tag and flag in a delivery's method frame, up to the size of the header frame."""
        number, consumer_tag, exchange, routing_key = key
        outgoing = self._outgoing
        method = BasicDeliver(consumer_tag, 0, False, exchange, routing_key)
        frame = method_frame(number, method.encode(outgoing.tables))
        # Class and method, the size of the consumer tag, and the tag itself.
        at = 7 + 5 + frame[11]
        cache = outgoing.delivers
        if len(cache) >= _CACHED_PUBLISHES:
            cache.clear()
        cache[key] = frame[:at], frame[at + 9 :] + _TYPE_AND_CHANNEL(2, number)

    def _refuse_publish(self) -> None:
        self._check()
        if self._outgoing.role is not Side.CLIENT:
            raise LocalProtocolError("only a client publishes; a server delivers")
        if self.client_stopped:
            self._check_content(BasicPublish())
        if self.client_content is not None:
            content = f"content of {self.client_content.method.NAME}"
            text = f"{content} is under way on channel {self.number}; finish it first"
            raise self._misuse(text, "wire/content-sequential")

    def _expect_return(self, exchange: str, routing_key: str, size: int, crc: int) -> None:
        """Remember the last publish, which may come back, by what its return will repeat."""
        if self.returns is None:
            self.returns = Returns()
        self.returns.expect(self.publish_count, (exchange, routing_key, size, crc))

    def _misuse(self, text: str, rule: str | None) -> LocalProtocolError:
        return self._outgoing.misuse(text, rule)

    def _transmit(self, method: Method, token: object, properties: Properties | None, body: bytes | None) -> None:
        outgoing = self._outgoing
        self._check()
        self._check_kind(method)
        needed = _ANNOUNCED.get(method.NAME)
        if (
            needed is not None
            and Side.SERVER in self._outgoing.model.dialect.senders.get(method.ID, ())
            and outgoing.role is Side.SERVER
            and not announces(self.connection.peer_properties, needed[0])
        ):
            text = f"the client didn't announce the capability {needed[0]!r} that {method.NAME} needs"
            raise self._misuse(text, needed[1])
        if method.NAME in CONNECTION_INPUTS or method.NAME in CHANNEL_INPUTS:
            text = f"{method.NAME} isn't sent as such; use open_channel, close, or what answers the event"
            raise LocalProtocolError(text)
        if not method.HAS_CONTENT:
            if properties is not None or body is not None:
                raise LocalProtocolError(f"{method.NAME} carries no content")
            outgoing.send(self.number, method, token)
            return
        self._check_content(method)
        if properties is None:
            properties = self._outgoing.model.dialect.properties[method.CLASS_ID]()
        body = bytes(memoryview(body)) if body else b""
        raw = outgoing.encode(properties)
        outgoing.check_frame(len(raw) + 20)
        outgoing.buffer.check_room(len(body))
        header = header_frame(self.number, method.CLASS_ID, len(body), raw)
        content = b"".join((header, *body_frames(self.number, body, outgoing.frame_max)))
        outgoing.send(self.number, method, token, content, len(body))

    # The end.

    def send_close(self, report: CloseReport, text: str = "") -> None:
        """Queue channel.close, which tells the peer `text`; "" for the report's. Raises LocalProtocolError."""
        self._outgoing.close("channel.close", self.number, report, text)
        self._outgoing.model.drop_contents(self)
        self.report = report

    def end(self, report: CloseReport, *, with_connection: bool = False) -> None:
        """Queue the last events: calls that failed or are abandoned, and `Closed`.

        The error of a whole connection is told once, not again `with_connection` for each of its channels.
        """
        report = self._with_open_work(report)
        error = EndpointClosed(f"channel {self.number}: {report}", report)
        pendings = self._open_pendings()
        events = self._outgoing.events
        if self.streaming:
            events.append(ContentAborted(self.number))
        if report.by is By.REMOTE and report.code >= ERROR and not with_connection:
            blamed = failed(self._take_blamed(pendings, report), error)
            events.append(Failed(Scope.CHANNEL, self.number, error, By.REMOTE, blamed))
        self._abandon(pendings, error, report)
        self.report = report
        events.append(Closed(Scope.CHANNEL, self.number, report))

    def abandon(self, report: CloseReport) -> None:
        """End every call: this end has closed the channel, and waits only for the answer to that."""
        error = EndpointClosed(f"channel {self.number}: {report}", report)
        tell_abandoned(self._outgoing.events, self._open_pendings(), error, self._with_open_work(report))

    def settle_confirms(self, settled: Iterable[tuple[int, Any]], outcome: Outcome) -> None:
        """Publishes were confirmed: one event for those that went well, one for each that came back first."""
        plain: list[Pending[object]] = []
        events = self._outgoing.events
        returns = self.returns
        for count, pending in settled:
            came_back = returns.settle(count) if returns is not None else None
            if pending is None:
                continue
            if came_back is not None:
                pending.complete(came_back)
                events.append(Settled((pending,), came_back))
            else:
                pending.complete(outcome)
                plain.append(pending)
        if plain:
            events.append(Settled(tuple(plain), outcome))

    def answer(self, answer: Method) -> None:
        """Answer at once, or behind the content that this end has under way (section 4.2.6). Raises Violation."""
        deferred = self.deferred
        if deferred is None:
            if self.own_content is None:
                self._outgoing.answer(self.number, answer)
                return
            deferred = []
            self.deferred = deferred
        deferred.append(answer)
        most = self._outgoing.limits.requests
        if len(deferred) > most:
            waiting = f"{len(deferred)} answers wait behind content on channel {self.number}"
            raise Violation(RESOURCE_ERROR, f"{waiting}, Limits.requests allows {most}", scope=Scope.CHANNEL)

    def _with_open_work(self, report: CloseReport) -> CloseReport:
        """A report with the work that is open; what a transaction would have settled is open still."""
        unsettled = tuple(sorted({*self.unsettled, *(self.tx_settled or ())}))
        return report.but(unsettled=unsettled, unconfirmed=tuple(self.unconfirmed))

    def _open_pendings(self) -> list[Pending[object]]:
        """Every pending that waits, in the order the calls were made."""
        tokens: list[Any] = [self.opening]
        for calls in (self.client_calls, self.server_calls):
            tokens += [call.token for call in calls or ()]
        for content in (self.client_content, self.server_content):
            if content is not None and content.answered is not None:
                tokens.append(content.answered.token)
        tokens += self.unconfirmed.values()
        tokens += self.unsettled.values()
        tokens += [token for token, _ in (self.tx_settled or {}).values()]
        pendings: list[Pending[object]] = [token for token in tokens if token is not None and not token.done]
        return sorted(pendings, key=attrgetter("key"))

    def _take_blamed(self, pendings: list[Pending[object]], report: CloseReport) -> list[Pending[object]]:
        """The oldest open call of the method that the peer blames, taken out of `pendings`."""
        blamed = report.class_id << 16 | report.method_id
        opening = self._outgoing.model.dialect.named["channel.open"].ID, self.opening
        calls = [*(self.client_calls or ()), *(self.server_calls or ())]
        for method_id, pending in [opening, *[(call.request.ID, call.token) for call in calls]]:
            if method_id == blamed and pending is not None and pending in pendings:
                pendings.remove(pending)
                return [pending]
        return []

    def _abandon(self, pendings: list[Pending[object]], error: EndpointClosed, report: CloseReport) -> None:
        """End what is left of the calls, and let go of the state: the object only says why it is closed."""
        tell_abandoned(self._outgoing.events, pendings, error, report)
        self.forget()
        self.streaming = False
        self.opening = None
        self.returns = None
        self.deferred = None


class ChannelZero(Channel):
    """The connection's own methods, on channel 0."""

    __slots__ = ()

    def __init__(self, connection: Owner, outgoing: Outgoing) -> None:
        Channel.__init__(self, connection, outgoing, 0)

    def close(self, code: int = 200, text: str = "Normal shutdown", cause: Method | None = None) -> None:
        """Raise LocalProtocolError: only the connection closes this one."""
        raise LocalProtocolError("channel 0 is the connection; close that")

    def end(self, report: CloseReport, *, with_connection: bool = False) -> None:
        """End every call on the connection itself."""
        error = EndpointClosed(f"the connection is closed: {report}", report)
        self._abandon(self._open_pendings(), error, report)

    def _check(self) -> None:
        self.connection.check_open()
