"""The structs, controls and commands of 0-10.

Generated: edit the generator (tools/codegen/amqp_0_10.py) instead.
"""

# ruff: noqa: RUF023
from __future__ import annotations

from struct import Struct as _Struct

from ..._checking import TYPE_CHECKING
from .field_types import (
    BITS,
    OCTETS,
    pack_array,
    pack_byte_ranges,
    pack_map,
    pack_sequence_set,
    pack_str8,
    pack_str16,
    pack_struct32,
    pack_vbin8,
    pack_vbin16,
    pack_vbin32,
    read_array,
    read_byte_ranges,
    read_sequence_set,
    read_struct32,
    read_uuid,
    read_xid,
)
from .record import COMMANDS, CONTROLS, UNPACKERS, Command, Control
from .structs import STRUCTS, Struct
from .types import Map
from .values import Datetime

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any, ClassVar, Self
    from uuid import UUID

    from .sequence_set import ByteRanges, SequenceSet

_new = object.__new__
_map = Map.from_wire
_pack_B = _Struct(">B").pack
_read_B = _Struct(">B").unpack_from
_pack_H = _Struct(">H").pack
_read_H = _Struct(">H").unpack_from
_pack_I = _Struct(">I").pack
_read_I = _Struct(">I").unpack_from
_pack_Q = _Struct(">Q").pack
_read_Q = _Struct(">Q").unpack_from
_pack_q = _Struct(">q").pack
_read_q = _Struct(">q").unpack_from


class SessionHeader(Struct):
    """session.header (0-10 struct, code 0x0000)."""

    __slots__ = ("sync",)

    NAME: ClassVar[str] = "session.header"
    CODE: ClassVar[int] = 0x0000
    SIZE: ClassVar[int] = 1
    PACK: ClassVar[int] = 1
    FIELDS: ClassVar[tuple[tuple[str, str], ...]] = (
        ("sync", "bit"),
    )
    __match_args__: ClassVar[tuple[str, ...]] = ("sync",)

    sync: bool

    def __init__(
        self,
        sync: bool = False,
    ) -> None:
        self.wire = None
        self.sync = sync

    def pack_fields(self) -> bytes:
        flags = 0
        parts = [b""]
        if self.sync:
            flags |= 0x1
        parts[0] = _pack_B(flags)
        return b"".join(parts)

    @classmethod
    def unpack_fields(cls, data: bytes, pos: int, end: int) -> tuple[Self, int]:
        found = _new(cls)
        flags = _read_B(data, pos)[0]
        pos += 1
        found.sync = flags & 0x1 != 0
        return found, pos


class CommandFragment(Struct):
    """session.command-fragment (0-10 struct, code 0x0000)."""

    __slots__ = ("command_id", "byte_ranges")

    NAME: ClassVar[str] = "session.command-fragment"
    CODE: ClassVar[int] = 0x0000
    SIZE: ClassVar[int] = 0
    PACK: ClassVar[int] = 0
    FIELDS: ClassVar[tuple[tuple[str, str], ...]] = (
        ("command_id", "sequence-no"),
        ("byte_ranges", "byte-ranges"),
    )
    __match_args__: ClassVar[tuple[str, ...]] = ("command_id", "byte_ranges")
    REQUIRED: ClassVar[tuple[str, ...]] = ("command_id", "byte_ranges")
    MANDATORY: ClassVar[tuple[str, ...]] = ("command_id", "byte_ranges")

    command_id: int | None
    byte_ranges: ByteRanges | None

    def __init__(
        self,
        command_id: int | None = None,
        byte_ranges: ByteRanges | None = None,
    ) -> None:
        self.wire = None
        self.command_id = command_id
        self.byte_ranges = byte_ranges

    def pack_fields(self) -> bytes:
        parts: list[bytes] = []
        command_id = self.command_id
        if command_id is not None:
            parts.append(_pack_I(command_id))
        byte_ranges = self.byte_ranges
        if byte_ranges is not None:
            parts.append(pack_byte_ranges(byte_ranges))
        return b"".join(parts)

    @classmethod
    def unpack_fields(cls, data: bytes, pos: int, end: int) -> tuple[Self, int]:
        found = _new(cls)
        found.command_id = _read_I(data, pos)[0]
        pos += 4
        found.byte_ranges, pos = read_byte_ranges(data, pos)
        return found, pos


class DeliveryProperties(Struct):
    """message.delivery-properties (0-10 struct, code 0x0401)."""

    __slots__ = (
        "discard_unroutable",
        "immediate",
        "redelivered",
        "priority",
        "delivery_mode",
        "ttl",
        "timestamp",
        "expiration",
        "exchange",
        "routing_key",
        "resume_id",
        "resume_ttl",
    )

    NAME: ClassVar[str] = "message.delivery-properties"
    CODE: ClassVar[int] = 0x0401
    SIZE: ClassVar[int] = 4
    PACK: ClassVar[int] = 2
    FIELDS: ClassVar[tuple[tuple[str, str], ...]] = (
        ("discard_unroutable", "bit"),
        ("immediate", "bit"),
        ("redelivered", "bit"),
        ("priority", "uint8"),
        ("delivery_mode", "uint8"),
        ("ttl", "uint64"),
        ("timestamp", "datetime"),
        ("expiration", "datetime"),
        ("exchange", "str8"),
        ("routing_key", "str8"),
        ("resume_id", "str16"),
        ("resume_ttl", "uint64"),
    )
    __match_args__: ClassVar[tuple[str, ...]] = (
        "discard_unroutable",
        "immediate",
        "redelivered",
        "priority",
        "delivery_mode",
        "ttl",
        "timestamp",
        "expiration",
        "exchange",
        "routing_key",
        "resume_id",
        "resume_ttl",
    )
    REQUIRED: ClassVar[tuple[str, ...]] = ("priority", "delivery_mode")

    discard_unroutable: bool
    immediate: bool
    redelivered: bool
    priority: int | None
    delivery_mode: int | None
    ttl: int | None
    timestamp: int | None
    expiration: int | None
    exchange: str | None
    routing_key: str | None
    resume_id: str | None
    resume_ttl: int | None

    def __init__(
        self,
        discard_unroutable: bool = False,
        immediate: bool = False,
        redelivered: bool = False,
        priority: int | None = None,
        delivery_mode: int | None = None,
        ttl: int | None = None,
        timestamp: int | None = None,
        expiration: int | None = None,
        exchange: str | None = None,
        routing_key: str | None = None,
        resume_id: str | None = None,
        resume_ttl: int | None = None,
    ) -> None:
        self.wire = None
        self.discard_unroutable = discard_unroutable
        self.immediate = immediate
        self.redelivered = redelivered
        self.priority = priority
        self.delivery_mode = delivery_mode
        self.ttl = ttl
        self.timestamp = timestamp
        self.expiration = expiration
        self.exchange = exchange
        self.routing_key = routing_key
        self.resume_id = resume_id
        self.resume_ttl = resume_ttl

    def pack_fields(self) -> bytes:
        flags = 0
        parts = [b""]
        if self.discard_unroutable:
            flags |= 0x100
        if self.immediate:
            flags |= 0x200
        if self.redelivered:
            flags |= 0x400
        priority = self.priority
        if priority is not None:
            flags |= 0x800
            parts.append(_pack_B(priority))
        delivery_mode = self.delivery_mode
        if delivery_mode is not None:
            flags |= 0x1000
            parts.append(_pack_B(delivery_mode))
        ttl = self.ttl
        if ttl is not None:
            flags |= 0x2000
            parts.append(_pack_Q(ttl))
        timestamp = self.timestamp
        if timestamp is not None:
            flags |= 0x4000
            parts.append(_pack_q(timestamp))
        expiration = self.expiration
        if expiration is not None:
            flags |= 0x8000
            parts.append(_pack_q(expiration))
        exchange = self.exchange
        if exchange is not None:
            flags |= 0x1
            octets = exchange.encode("utf-8", "surrogateescape")
            size = len(octets)
            parts += (OCTETS[size], octets) if size < 256 else (pack_str8(exchange),)
        routing_key = self.routing_key
        if routing_key is not None:
            flags |= 0x2
            octets = routing_key.encode("utf-8", "surrogateescape")
            size = len(octets)
            parts += (OCTETS[size], octets) if size < 256 else (pack_str8(routing_key),)
        resume_id = self.resume_id
        if resume_id is not None:
            flags |= 0x4
            parts.append(pack_str16(resume_id))
        resume_ttl = self.resume_ttl
        if resume_ttl is not None:
            flags |= 0x8
            parts.append(_pack_Q(resume_ttl))
        parts[0] = _pack_H(flags)
        return b"".join(parts)

    @classmethod
    def unpack_fields(cls, data: bytes, pos: int, end: int) -> tuple[Self, int]:
        found = _new(cls)
        (
            discard_unroutable,
            immediate,
            redelivered,
            priority,
            delivery_mode,
            ttl,
            timestamp,
            expiration,
        ) = BITS[data[pos]]
        (
            exchange,
            routing_key,
            resume_id,
            resume_ttl,
            _,
            _,
            _,
            _,
        ) = BITS[data[pos + 1]]
        pos += 2
        found.discard_unroutable = discard_unroutable
        found.immediate = immediate
        found.redelivered = redelivered
        if priority:
            found.priority = data[pos]
            pos += 1
        else:
            found.priority = None
        if delivery_mode:
            found.delivery_mode = data[pos]
            pos += 1
        else:
            found.delivery_mode = None
        if ttl:
            found.ttl = _read_Q(data, pos)[0]
            pos += 8
        else:
            found.ttl = None
        if timestamp:
            found.timestamp = Datetime(_read_q(data, pos)[0])
            pos += 8
        else:
            found.timestamp = None
        if expiration:
            found.expiration = Datetime(_read_q(data, pos)[0])
            pos += 8
        else:
            found.expiration = None
        if exchange:
            start = pos + 1
            pos = start + data[pos]
            found.exchange = data[start:pos].decode("utf-8", "surrogateescape")
        else:
            found.exchange = None
        if routing_key:
            start = pos + 1
            pos = start + data[pos]
            found.routing_key = data[start:pos].decode("utf-8", "surrogateescape")
        else:
            found.routing_key = None
        if resume_id:
            start = pos + 2
            pos = start + _read_H(data, pos)[0]
            found.resume_id = data[start:pos].decode("utf-8", "surrogateescape")
        else:
            found.resume_id = None
        if resume_ttl:
            found.resume_ttl = _read_Q(data, pos)[0]
            pos += 8
        else:
            found.resume_ttl = None
        return found, pos


class FragmentProperties(Struct):
    """message.fragment-properties (0-10 struct, code 0x0402)."""

    __slots__ = ("first", "last", "fragment_size")

    NAME: ClassVar[str] = "message.fragment-properties"
    CODE: ClassVar[int] = 0x0402
    SIZE: ClassVar[int] = 4
    PACK: ClassVar[int] = 2
    FIELDS: ClassVar[tuple[tuple[str, str], ...]] = (
        ("first", "bit"),
        ("last", "bit"),
        ("fragment_size", "uint64"),
    )
    __match_args__: ClassVar[tuple[str, ...]] = ("first", "last", "fragment_size")

    first: bool
    last: bool
    fragment_size: int | None

    def __init__(
        self,
        first: bool = False,
        last: bool = False,
        fragment_size: int | None = None,
    ) -> None:
        self.wire = None
        self.first = first
        self.last = last
        self.fragment_size = fragment_size

    def pack_fields(self) -> bytes:
        flags = 0
        parts = [b""]
        if self.first:
            flags |= 0x100
        if self.last:
            flags |= 0x200
        fragment_size = self.fragment_size
        if fragment_size is not None:
            flags |= 0x400
            parts.append(_pack_Q(fragment_size))
        parts[0] = _pack_H(flags)
        return b"".join(parts)

    @classmethod
    def unpack_fields(cls, data: bytes, pos: int, end: int) -> tuple[Self, int]:
        found = _new(cls)
        flags = _read_H(data, pos)[0]
        pos += 2
        if flags & 0x300:
            found.first = flags & 0x100 != 0
            found.last = flags & 0x200 != 0
        else:
            found.first = False
            found.last = False
        if flags & 0x400:
            found.fragment_size = _read_Q(data, pos)[0]
            pos += 8
        else:
            found.fragment_size = None
        return found, pos


class ReplyTo(Struct):
    """message.reply-to (0-10 struct, code 0x0000)."""

    __slots__ = ("exchange", "routing_key")

    NAME: ClassVar[str] = "message.reply-to"
    CODE: ClassVar[int] = 0x0000
    SIZE: ClassVar[int] = 2
    PACK: ClassVar[int] = 2
    FIELDS: ClassVar[tuple[tuple[str, str], ...]] = (
        ("exchange", "str8"),
        ("routing_key", "str8"),
    )
    __match_args__: ClassVar[tuple[str, ...]] = ("exchange", "routing_key")

    exchange: str | None
    routing_key: str | None

    def __init__(
        self,
        exchange: str | None = None,
        routing_key: str | None = None,
    ) -> None:
        self.wire = None
        self.exchange = exchange
        self.routing_key = routing_key

    def pack_fields(self) -> bytes:
        flags = 0
        parts = [b""]
        exchange = self.exchange
        if exchange is not None:
            flags |= 0x100
            octets = exchange.encode("utf-8", "surrogateescape")
            size = len(octets)
            parts += (OCTETS[size], octets) if size < 256 else (pack_str8(exchange),)
        routing_key = self.routing_key
        if routing_key is not None:
            flags |= 0x200
            octets = routing_key.encode("utf-8", "surrogateescape")
            size = len(octets)
            parts += (OCTETS[size], octets) if size < 256 else (pack_str8(routing_key),)
        parts[0] = _pack_H(flags)
        return b"".join(parts)

    @classmethod
    def unpack_fields(cls, data: bytes, pos: int, end: int) -> tuple[Self, int]:
        found = _new(cls)
        flags = _read_H(data, pos)[0]
        pos += 2
        if flags & 0x100:
            start = pos + 1
            pos = start + data[pos]
            found.exchange = data[start:pos].decode("utf-8", "surrogateescape")
        else:
            found.exchange = None
        if flags & 0x200:
            start = pos + 1
            pos = start + data[pos]
            found.routing_key = data[start:pos].decode("utf-8", "surrogateescape")
        else:
            found.routing_key = None
        return found, pos


class MessageProperties(Struct):
    """message.message-properties (0-10 struct, code 0x0403)."""

    __slots__ = (
        "content_length",
        "message_id",
        "correlation_id",
        "reply_to",
        "content_type",
        "content_encoding",
        "user_id",
        "app_id",
        "application_headers",
    )

    NAME: ClassVar[str] = "message.message-properties"
    CODE: ClassVar[int] = 0x0403
    SIZE: ClassVar[int] = 4
    PACK: ClassVar[int] = 2
    FIELDS: ClassVar[tuple[tuple[str, str], ...]] = (
        ("content_length", "uint64"),
        ("message_id", "uuid"),
        ("correlation_id", "vbin16"),
        ("reply_to", "message.reply-to"),
        ("content_type", "str8"),
        ("content_encoding", "str8"),
        ("user_id", "vbin16"),
        ("app_id", "vbin16"),
        ("application_headers", "map"),
    )
    __match_args__: ClassVar[tuple[str, ...]] = (
        "content_length",
        "message_id",
        "correlation_id",
        "reply_to",
        "content_type",
        "content_encoding",
        "user_id",
        "app_id",
        "application_headers",
    )

    content_length: int | None
    message_id: UUID | None
    correlation_id: bytes | None
    reply_to: ReplyTo | None
    content_type: str | None
    content_encoding: str | None
    user_id: bytes | None
    app_id: bytes | None
    application_headers: Mapping[str, Any] | None

    def __init__(
        self,
        content_length: int | None = None,
        message_id: UUID | None = None,
        correlation_id: bytes | None = None,
        reply_to: ReplyTo | None = None,
        content_type: str | None = None,
        content_encoding: str | None = None,
        user_id: bytes | None = None,
        app_id: bytes | None = None,
        application_headers: Mapping[str, Any] | None = None,
    ) -> None:
        self.wire = None
        self.content_length = content_length
        self.message_id = message_id
        self.correlation_id = correlation_id
        self.reply_to = reply_to
        self.content_type = content_type
        self.content_encoding = content_encoding
        self.user_id = user_id
        self.app_id = app_id
        self.application_headers = application_headers

    def pack_fields(self) -> bytes:
        flags = 0
        parts = [b""]
        content_length = self.content_length
        if content_length is not None:
            flags |= 0x100
            parts.append(_pack_Q(content_length))
        message_id = self.message_id
        if message_id is not None:
            flags |= 0x200
            parts.append(message_id.bytes)
        correlation_id = self.correlation_id
        if correlation_id is not None:
            flags |= 0x400
            parts.append(pack_vbin16(correlation_id))
        reply_to = self.reply_to
        if reply_to is not None:
            flags |= 0x800
            parts.append(reply_to.encode_sized())
        content_type = self.content_type
        if content_type is not None:
            flags |= 0x1000
            octets = content_type.encode("utf-8", "surrogateescape")
            size = len(octets)
            parts += (OCTETS[size], octets) if size < 256 else (pack_str8(content_type),)
        content_encoding = self.content_encoding
        if content_encoding is not None:
            flags |= 0x2000
            octets = content_encoding.encode("utf-8", "surrogateescape")
            size = len(octets)
            parts += (OCTETS[size], octets) if size < 256 else (pack_str8(content_encoding),)
        user_id = self.user_id
        if user_id is not None:
            flags |= 0x4000
            parts.append(pack_vbin16(user_id))
        app_id = self.app_id
        if app_id is not None:
            flags |= 0x8000
            parts.append(pack_vbin16(app_id))
        application_headers = self.application_headers
        if application_headers is not None:
            flags |= 0x1
            parts.append(pack_map(application_headers))
        parts[0] = _pack_H(flags)
        return b"".join(parts)

    @classmethod
    def unpack_fields(cls, data: bytes, pos: int, end: int) -> tuple[Self, int]:
        found = _new(cls)
        (
            content_length,
            message_id,
            correlation_id,
            reply_to,
            content_type,
            content_encoding,
            user_id,
            app_id,
        ) = BITS[data[pos]]
        (
            application_headers,
            _,
            _,
            _,
            _,
            _,
            _,
            _,
        ) = BITS[data[pos + 1]]
        pos += 2
        if content_length:
            found.content_length = _read_Q(data, pos)[0]
            pos += 8
        else:
            found.content_length = None
        if message_id:
            found.message_id, pos = read_uuid(data, pos)
        else:
            found.message_id = None
        if correlation_id:
            start = pos + 2
            pos = start + _read_H(data, pos)[0]
            found.correlation_id = data[start:pos]
        else:
            found.correlation_id = None
        if reply_to:
            stop = pos + 2 + _read_H(data, pos)[0]
            found.reply_to = ReplyTo.decode(data, pos + 2, stop)
            pos = stop
        else:
            found.reply_to = None
        if content_type:
            start = pos + 1
            pos = start + data[pos]
            found.content_type = data[start:pos].decode("utf-8", "surrogateescape")
        else:
            found.content_type = None
        if content_encoding:
            start = pos + 1
            pos = start + data[pos]
            found.content_encoding = data[start:pos].decode("utf-8", "surrogateescape")
        else:
            found.content_encoding = None
        if user_id:
            start = pos + 2
            pos = start + _read_H(data, pos)[0]
            found.user_id = data[start:pos]
        else:
            found.user_id = None
        if app_id:
            start = pos + 2
            pos = start + _read_H(data, pos)[0]
            found.app_id = data[start:pos]
        else:
            found.app_id = None
        if application_headers:
            start = pos + 4
            pos = start + _read_I(data, pos)[0]
            found.application_headers = _map(data[start:pos])
        else:
            found.application_headers = None
        return found, pos


class Acquired(Struct):
    """message.acquired (0-10 struct, code 0x0404)."""

    __slots__ = ("transfers",)

    NAME: ClassVar[str] = "message.acquired"
    CODE: ClassVar[int] = 0x0404
    SIZE: ClassVar[int] = 4
    PACK: ClassVar[int] = 2
    FIELDS: ClassVar[tuple[tuple[str, str], ...]] = (
        ("transfers", "sequence-set"),
    )
    __match_args__: ClassVar[tuple[str, ...]] = ("transfers",)
    REQUIRED: ClassVar[tuple[str, ...]] = ("transfers",)
    MANDATORY: ClassVar[tuple[str, ...]] = ("transfers",)

    transfers: SequenceSet | None

    def __init__(
        self,
        transfers: SequenceSet | None = None,
    ) -> None:
        self.wire = None
        self.transfers = transfers

    def pack_fields(self) -> bytes:
        flags = 0
        parts = [b""]
        transfers = self.transfers
        if transfers is not None:
            flags |= 0x100
            parts.append(pack_sequence_set(transfers))
        parts[0] = _pack_H(flags)
        return b"".join(parts)

    @classmethod
    def unpack_fields(cls, data: bytes, pos: int, end: int) -> tuple[Self, int]:
        found = _new(cls)
        flags = _read_H(data, pos)[0]
        pos += 2
        if flags & 0x100:
            found.transfers, pos = read_sequence_set(data, pos)
        else:
            found.transfers = None
        return found, pos


class MessageResumeResult(Struct):
    """message.message-resume-result (0-10 struct, code 0x0405)."""

    __slots__ = ("offset",)

    NAME: ClassVar[str] = "message.message-resume-result"
    CODE: ClassVar[int] = 0x0405
    SIZE: ClassVar[int] = 4
    PACK: ClassVar[int] = 2
    FIELDS: ClassVar[tuple[tuple[str, str], ...]] = (
        ("offset", "uint64"),
    )
    __match_args__: ClassVar[tuple[str, ...]] = ("offset",)

    offset: int | None

    def __init__(
        self,
        offset: int | None = None,
    ) -> None:
        self.wire = None
        self.offset = offset

    def pack_fields(self) -> bytes:
        flags = 0
        parts = [b""]
        offset = self.offset
        if offset is not None:
            flags |= 0x100
            parts.append(_pack_Q(offset))
        parts[0] = _pack_H(flags)
        return b"".join(parts)

    @classmethod
    def unpack_fields(cls, data: bytes, pos: int, end: int) -> tuple[Self, int]:
        found = _new(cls)
        flags = _read_H(data, pos)[0]
        pos += 2
        if flags & 0x100:
            found.offset = _read_Q(data, pos)[0]
            pos += 8
        else:
            found.offset = None
        return found, pos


class XaResult(Struct):
    """dtx.xa-result (0-10 struct, code 0x0601)."""

    __slots__ = ("status",)

    NAME: ClassVar[str] = "dtx.xa-result"
    CODE: ClassVar[int] = 0x0601
    SIZE: ClassVar[int] = 4
    PACK: ClassVar[int] = 2
    FIELDS: ClassVar[tuple[tuple[str, str], ...]] = (
        ("status", "uint16"),
    )
    __match_args__: ClassVar[tuple[str, ...]] = ("status",)
    REQUIRED: ClassVar[tuple[str, ...]] = ("status",)
    MANDATORY: ClassVar[tuple[str, ...]] = ("status",)

    status: int | None

    def __init__(
        self,
        status: int | None = None,
    ) -> None:
        self.wire = None
        self.status = status

    def pack_fields(self) -> bytes:
        flags = 0
        parts = [b""]
        status = self.status
        if status is not None:
            flags |= 0x100
            parts.append(_pack_H(status))
        parts[0] = _pack_H(flags)
        return b"".join(parts)

    @classmethod
    def unpack_fields(cls, data: bytes, pos: int, end: int) -> tuple[Self, int]:
        found = _new(cls)
        flags = _read_H(data, pos)[0]
        pos += 2
        if flags & 0x100:
            found.status = _read_H(data, pos)[0]
            pos += 2
        else:
            found.status = None
        return found, pos


class Xid(Struct):
    """dtx.xid (0-10 struct, code 0x0604)."""

    __slots__ = ("format", "global_id", "branch_id")

    NAME: ClassVar[str] = "dtx.xid"
    CODE: ClassVar[int] = 0x0604
    SIZE: ClassVar[int] = 4
    PACK: ClassVar[int] = 2
    FIELDS: ClassVar[tuple[tuple[str, str], ...]] = (
        ("format", "uint32"),
        ("global_id", "vbin8"),
        ("branch_id", "vbin8"),
    )
    __match_args__: ClassVar[tuple[str, ...]] = ("format", "global_id", "branch_id")
    REQUIRED: ClassVar[tuple[str, ...]] = ("format", "global_id", "branch_id")
    MANDATORY: ClassVar[tuple[str, ...]] = ("format", "global_id", "branch_id")

    format: int | None
    global_id: bytes | None
    branch_id: bytes | None

    def __init__(
        self,
        format: int | None = None,
        global_id: bytes | None = None,
        branch_id: bytes | None = None,
    ) -> None:
        self.wire = None
        self.format = format
        self.global_id = global_id
        self.branch_id = branch_id

    def pack_fields(self) -> bytes:
        flags = 0
        parts = [b""]
        format = self.format
        if format is not None:
            flags |= 0x100
            parts.append(_pack_I(format))
        global_id = self.global_id
        if global_id is not None:
            flags |= 0x200
            parts.append(pack_vbin8(global_id))
        branch_id = self.branch_id
        if branch_id is not None:
            flags |= 0x400
            parts.append(pack_vbin8(branch_id))
        parts[0] = _pack_H(flags)
        return b"".join(parts)

    @classmethod
    def unpack_fields(cls, data: bytes, pos: int, end: int) -> tuple[Self, int]:
        found = _new(cls)
        flags = _read_H(data, pos)[0]
        pos += 2
        if flags & 0x100:
            found.format = _read_I(data, pos)[0]
            pos += 4
        else:
            found.format = None
        if flags & 0x200:
            start = pos + 1
            pos = start + data[pos]
            found.global_id = data[start:pos]
        else:
            found.global_id = None
        if flags & 0x400:
            start = pos + 1
            pos = start + data[pos]
            found.branch_id = data[start:pos]
        else:
            found.branch_id = None
        return found, pos


class GetTimeoutResult(Struct):
    """dtx.get-timeout-result (0-10 struct, code 0x0602)."""

    __slots__ = ("timeout",)

    NAME: ClassVar[str] = "dtx.get-timeout-result"
    CODE: ClassVar[int] = 0x0602
    SIZE: ClassVar[int] = 4
    PACK: ClassVar[int] = 2
    FIELDS: ClassVar[tuple[tuple[str, str], ...]] = (
        ("timeout", "uint32"),
    )
    __match_args__: ClassVar[tuple[str, ...]] = ("timeout",)
    REQUIRED: ClassVar[tuple[str, ...]] = ("timeout",)
    MANDATORY: ClassVar[tuple[str, ...]] = ("timeout",)

    timeout: int | None

    def __init__(
        self,
        timeout: int | None = None,
    ) -> None:
        self.wire = None
        self.timeout = timeout

    def pack_fields(self) -> bytes:
        flags = 0
        parts = [b""]
        timeout = self.timeout
        if timeout is not None:
            flags |= 0x100
            parts.append(_pack_I(timeout))
        parts[0] = _pack_H(flags)
        return b"".join(parts)

    @classmethod
    def unpack_fields(cls, data: bytes, pos: int, end: int) -> tuple[Self, int]:
        found = _new(cls)
        flags = _read_H(data, pos)[0]
        pos += 2
        if flags & 0x100:
            found.timeout = _read_I(data, pos)[0]
            pos += 4
        else:
            found.timeout = None
        return found, pos


class RecoverResult(Struct):
    """dtx.recover-result (0-10 struct, code 0x0603)."""

    __slots__ = ("in_doubt",)

    NAME: ClassVar[str] = "dtx.recover-result"
    CODE: ClassVar[int] = 0x0603
    SIZE: ClassVar[int] = 4
    PACK: ClassVar[int] = 2
    FIELDS: ClassVar[tuple[tuple[str, str], ...]] = (
        ("in_doubt", "array"),
    )
    __match_args__: ClassVar[tuple[str, ...]] = ("in_doubt",)
    REQUIRED: ClassVar[tuple[str, ...]] = ("in_doubt",)
    MANDATORY: ClassVar[tuple[str, ...]] = ("in_doubt",)

    in_doubt: Sequence[Any] | None

    def __init__(
        self,
        in_doubt: Sequence[Any] | None = None,
    ) -> None:
        self.wire = None
        self.in_doubt = in_doubt

    def pack_fields(self) -> bytes:
        flags = 0
        parts = [b""]
        in_doubt = self.in_doubt
        if in_doubt is not None:
            flags |= 0x100
            parts.append(pack_array(in_doubt))
        parts[0] = _pack_H(flags)
        return b"".join(parts)

    @classmethod
    def unpack_fields(cls, data: bytes, pos: int, end: int) -> tuple[Self, int]:
        found = _new(cls)
        flags = _read_H(data, pos)[0]
        pos += 2
        if flags & 0x100:
            found.in_doubt, pos = read_array(data, pos)
        else:
            found.in_doubt = None
        return found, pos


class ExchangeQueryResult(Struct):
    """exchange.exchange-query-result (0-10 struct, code 0x0701)."""

    __slots__ = ("type", "durable", "not_found", "arguments")

    NAME: ClassVar[str] = "exchange.exchange-query-result"
    CODE: ClassVar[int] = 0x0701
    SIZE: ClassVar[int] = 4
    PACK: ClassVar[int] = 2
    FIELDS: ClassVar[tuple[tuple[str, str], ...]] = (
        ("type", "str8"),
        ("durable", "bit"),
        ("not_found", "bit"),
        ("arguments", "map"),
    )
    __match_args__: ClassVar[tuple[str, ...]] = ("type", "durable", "not_found", "arguments")

    type: str | None
    durable: bool
    not_found: bool
    arguments: Mapping[str, Any] | None

    def __init__(
        self,
        type: str | None = None,
        durable: bool = False,
        not_found: bool = False,
        arguments: Mapping[str, Any] | None = None,
    ) -> None:
        self.wire = None
        self.type = type
        self.durable = durable
        self.not_found = not_found
        self.arguments = arguments

    def pack_fields(self) -> bytes:
        flags = 0
        parts = [b""]
        type = self.type
        if type is not None:
            flags |= 0x100
            octets = type.encode("utf-8", "surrogateescape")
            size = len(octets)
            parts += (OCTETS[size], octets) if size < 256 else (pack_str8(type),)
        if self.durable:
            flags |= 0x200
        if self.not_found:
            flags |= 0x400
        arguments = self.arguments
        if arguments is not None:
            flags |= 0x800
            parts.append(pack_map(arguments))
        parts[0] = _pack_H(flags)
        return b"".join(parts)

    @classmethod
    def unpack_fields(cls, data: bytes, pos: int, end: int) -> tuple[Self, int]:
        found = _new(cls)
        flags = _read_H(data, pos)[0]
        pos += 2
        if flags & 0x100:
            start = pos + 1
            pos = start + data[pos]
            found.type = data[start:pos].decode("utf-8", "surrogateescape")
        else:
            found.type = None
        if flags & 0x600:
            found.durable = flags & 0x200 != 0
            found.not_found = flags & 0x400 != 0
        else:
            found.durable = False
            found.not_found = False
        if flags & 0x800:
            start = pos + 4
            pos = start + _read_I(data, pos)[0]
            found.arguments = _map(data[start:pos])
        else:
            found.arguments = None
        return found, pos


class ExchangeBoundResult(Struct):
    """exchange.exchange-bound-result (0-10 struct, code 0x0702)."""

    __slots__ = (
        "exchange_not_found",
        "queue_not_found",
        "queue_not_matched",
        "key_not_matched",
        "args_not_matched",
    )

    NAME: ClassVar[str] = "exchange.exchange-bound-result"
    CODE: ClassVar[int] = 0x0702
    SIZE: ClassVar[int] = 4
    PACK: ClassVar[int] = 2
    FIELDS: ClassVar[tuple[tuple[str, str], ...]] = (
        ("exchange_not_found", "bit"),
        ("queue_not_found", "bit"),
        ("queue_not_matched", "bit"),
        ("key_not_matched", "bit"),
        ("args_not_matched", "bit"),
    )
    __match_args__: ClassVar[tuple[str, ...]] = (
        "exchange_not_found",
        "queue_not_found",
        "queue_not_matched",
        "key_not_matched",
        "args_not_matched",
    )

    exchange_not_found: bool
    queue_not_found: bool
    queue_not_matched: bool
    key_not_matched: bool
    args_not_matched: bool

    def __init__(
        self,
        exchange_not_found: bool = False,
        queue_not_found: bool = False,
        queue_not_matched: bool = False,
        key_not_matched: bool = False,
        args_not_matched: bool = False,
    ) -> None:
        self.wire = None
        self.exchange_not_found = exchange_not_found
        self.queue_not_found = queue_not_found
        self.queue_not_matched = queue_not_matched
        self.key_not_matched = key_not_matched
        self.args_not_matched = args_not_matched

    def pack_fields(self) -> bytes:
        flags = 0
        parts = [b""]
        if self.exchange_not_found:
            flags |= 0x100
        if self.queue_not_found:
            flags |= 0x200
        if self.queue_not_matched:
            flags |= 0x400
        if self.key_not_matched:
            flags |= 0x800
        if self.args_not_matched:
            flags |= 0x1000
        parts[0] = _pack_H(flags)
        return b"".join(parts)

    @classmethod
    def unpack_fields(cls, data: bytes, pos: int, end: int) -> tuple[Self, int]:
        found = _new(cls)
        flags = _read_H(data, pos)[0]
        pos += 2
        if flags & 0x1F00:
            found.exchange_not_found = flags & 0x100 != 0
            found.queue_not_found = flags & 0x200 != 0
            found.queue_not_matched = flags & 0x400 != 0
            found.key_not_matched = flags & 0x800 != 0
            found.args_not_matched = flags & 0x1000 != 0
        else:
            found.exchange_not_found = False
            found.queue_not_found = False
            found.queue_not_matched = False
            found.key_not_matched = False
            found.args_not_matched = False
        return found, pos


class QueueQueryResult(Struct):
    """queue.queue-query-result (0-10 struct, code 0x0801)."""

    __slots__ = (
        "queue",
        "alternate_exchange",
        "durable",
        "exclusive",
        "auto_delete",
        "arguments",
        "message_count",
        "subscriber_count",
    )

    NAME: ClassVar[str] = "queue.queue-query-result"
    CODE: ClassVar[int] = 0x0801
    SIZE: ClassVar[int] = 4
    PACK: ClassVar[int] = 2
    FIELDS: ClassVar[tuple[tuple[str, str], ...]] = (
        ("queue", "str8"),
        ("alternate_exchange", "str8"),
        ("durable", "bit"),
        ("exclusive", "bit"),
        ("auto_delete", "bit"),
        ("arguments", "map"),
        ("message_count", "uint32"),
        ("subscriber_count", "uint32"),
    )
    __match_args__: ClassVar[tuple[str, ...]] = (
        "queue",
        "alternate_exchange",
        "durable",
        "exclusive",
        "auto_delete",
        "arguments",
        "message_count",
        "subscriber_count",
    )
    REQUIRED: ClassVar[tuple[str, ...]] = ("queue", "message_count", "subscriber_count")

    queue: str | None
    alternate_exchange: str | None
    durable: bool
    exclusive: bool
    auto_delete: bool
    arguments: Mapping[str, Any] | None
    message_count: int | None
    subscriber_count: int | None

    def __init__(
        self,
        queue: str | None = None,
        alternate_exchange: str | None = None,
        durable: bool = False,
        exclusive: bool = False,
        auto_delete: bool = False,
        arguments: Mapping[str, Any] | None = None,
        message_count: int | None = None,
        subscriber_count: int | None = None,
    ) -> None:
        self.wire = None
        self.queue = queue
        self.alternate_exchange = alternate_exchange
        self.durable = durable
        self.exclusive = exclusive
        self.auto_delete = auto_delete
        self.arguments = arguments
        self.message_count = message_count
        self.subscriber_count = subscriber_count

    def pack_fields(self) -> bytes:
        flags = 0
        parts = [b""]
        queue = self.queue
        if queue is not None:
            flags |= 0x100
            octets = queue.encode("utf-8", "surrogateescape")
            size = len(octets)
            parts += (OCTETS[size], octets) if size < 256 else (pack_str8(queue),)
        alternate_exchange = self.alternate_exchange
        if alternate_exchange is not None:
            flags |= 0x200
            octets = alternate_exchange.encode("utf-8", "surrogateescape")
            size = len(octets)
            parts += (OCTETS[size], octets) if size < 256 else (pack_str8(alternate_exchange),)
        if self.durable:
            flags |= 0x400
        if self.exclusive:
            flags |= 0x800
        if self.auto_delete:
            flags |= 0x1000
        arguments = self.arguments
        if arguments is not None:
            flags |= 0x2000
            parts.append(pack_map(arguments))
        message_count = self.message_count
        if message_count is not None:
            flags |= 0x4000
            parts.append(_pack_I(message_count))
        subscriber_count = self.subscriber_count
        if subscriber_count is not None:
            flags |= 0x8000
            parts.append(_pack_I(subscriber_count))
        parts[0] = _pack_H(flags)
        return b"".join(parts)

    @classmethod
    def unpack_fields(cls, data: bytes, pos: int, end: int) -> tuple[Self, int]:
        found = _new(cls)
        flags = _read_H(data, pos)[0]
        pos += 2
        if flags & 0x100:
            start = pos + 1
            pos = start + data[pos]
            found.queue = data[start:pos].decode("utf-8", "surrogateescape")
        else:
            found.queue = None
        if flags & 0x200:
            start = pos + 1
            pos = start + data[pos]
            found.alternate_exchange = data[start:pos].decode("utf-8", "surrogateescape")
        else:
            found.alternate_exchange = None
        if flags & 0x1C00:
            found.durable = flags & 0x400 != 0
            found.exclusive = flags & 0x800 != 0
            found.auto_delete = flags & 0x1000 != 0
        else:
            found.durable = False
            found.exclusive = False
            found.auto_delete = False
        if flags & 0x2000:
            start = pos + 4
            pos = start + _read_I(data, pos)[0]
            found.arguments = _map(data[start:pos])
        else:
            found.arguments = None
        if flags & 0x4000:
            found.message_count = _read_I(data, pos)[0]
            pos += 4
        else:
            found.message_count = None
        if flags & 0x8000:
            found.subscriber_count = _read_I(data, pos)[0]
            pos += 4
        else:
            found.subscriber_count = None
        return found, pos


class FileProperties(Struct):
    """file.file-properties (0-10 struct, code 0x0901)."""

    __slots__ = (
        "content_type",
        "content_encoding",
        "headers",
        "priority",
        "reply_to",
        "message_id",
        "filename",
        "timestamp",
        "cluster_id",
    )

    NAME: ClassVar[str] = "file.file-properties"
    CODE: ClassVar[int] = 0x0901
    SIZE: ClassVar[int] = 4
    PACK: ClassVar[int] = 2
    FIELDS: ClassVar[tuple[tuple[str, str], ...]] = (
        ("content_type", "str8"),
        ("content_encoding", "str8"),
        ("headers", "map"),
        ("priority", "uint8"),
        ("reply_to", "str8"),
        ("message_id", "str8"),
        ("filename", "str8"),
        ("timestamp", "datetime"),
        ("cluster_id", "str8"),
    )
    __match_args__: ClassVar[tuple[str, ...]] = (
        "content_type",
        "content_encoding",
        "headers",
        "priority",
        "reply_to",
        "message_id",
        "filename",
        "timestamp",
        "cluster_id",
    )

    content_type: str | None
    content_encoding: str | None
    headers: Mapping[str, Any] | None
    priority: int | None
    reply_to: str | None
    message_id: str | None
    filename: str | None
    timestamp: int | None
    cluster_id: str | None

    def __init__(
        self,
        content_type: str | None = None,
        content_encoding: str | None = None,
        headers: Mapping[str, Any] | None = None,
        priority: int | None = None,
        reply_to: str | None = None,
        message_id: str | None = None,
        filename: str | None = None,
        timestamp: int | None = None,
        cluster_id: str | None = None,
    ) -> None:
        self.wire = None
        self.content_type = content_type
        self.content_encoding = content_encoding
        self.headers = headers
        self.priority = priority
        self.reply_to = reply_to
        self.message_id = message_id
        self.filename = filename
        self.timestamp = timestamp
        self.cluster_id = cluster_id

    def pack_fields(self) -> bytes:
        flags = 0
        parts = [b""]
        content_type = self.content_type
        if content_type is not None:
            flags |= 0x100
            octets = content_type.encode("utf-8", "surrogateescape")
            size = len(octets)
            parts += (OCTETS[size], octets) if size < 256 else (pack_str8(content_type),)
        content_encoding = self.content_encoding
        if content_encoding is not None:
            flags |= 0x200
            octets = content_encoding.encode("utf-8", "surrogateescape")
            size = len(octets)
            parts += (OCTETS[size], octets) if size < 256 else (pack_str8(content_encoding),)
        headers = self.headers
        if headers is not None:
            flags |= 0x400
            parts.append(pack_map(headers))
        priority = self.priority
        if priority is not None:
            flags |= 0x800
            parts.append(_pack_B(priority))
        reply_to = self.reply_to
        if reply_to is not None:
            flags |= 0x1000
            octets = reply_to.encode("utf-8", "surrogateescape")
            size = len(octets)
            parts += (OCTETS[size], octets) if size < 256 else (pack_str8(reply_to),)
        message_id = self.message_id
        if message_id is not None:
            flags |= 0x2000
            octets = message_id.encode("utf-8", "surrogateescape")
            size = len(octets)
            parts += (OCTETS[size], octets) if size < 256 else (pack_str8(message_id),)
        filename = self.filename
        if filename is not None:
            flags |= 0x4000
            octets = filename.encode("utf-8", "surrogateescape")
            size = len(octets)
            parts += (OCTETS[size], octets) if size < 256 else (pack_str8(filename),)
        timestamp = self.timestamp
        if timestamp is not None:
            flags |= 0x8000
            parts.append(_pack_q(timestamp))
        cluster_id = self.cluster_id
        if cluster_id is not None:
            flags |= 0x1
            octets = cluster_id.encode("utf-8", "surrogateescape")
            size = len(octets)
            parts += (OCTETS[size], octets) if size < 256 else (pack_str8(cluster_id),)
        parts[0] = _pack_H(flags)
        return b"".join(parts)

    @classmethod
    def unpack_fields(cls, data: bytes, pos: int, end: int) -> tuple[Self, int]:
        found = _new(cls)
        (
            content_type,
            content_encoding,
            headers,
            priority,
            reply_to,
            message_id,
            filename,
            timestamp,
        ) = BITS[data[pos]]
        (
            cluster_id,
            _,
            _,
            _,
            _,
            _,
            _,
            _,
        ) = BITS[data[pos + 1]]
        pos += 2
        if content_type:
            start = pos + 1
            pos = start + data[pos]
            found.content_type = data[start:pos].decode("utf-8", "surrogateescape")
        else:
            found.content_type = None
        if content_encoding:
            start = pos + 1
            pos = start + data[pos]
            found.content_encoding = data[start:pos].decode("utf-8", "surrogateescape")
        else:
            found.content_encoding = None
        if headers:
            start = pos + 4
            pos = start + _read_I(data, pos)[0]
            found.headers = _map(data[start:pos])
        else:
            found.headers = None
        if priority:
            found.priority = data[pos]
            pos += 1
        else:
            found.priority = None
        if reply_to:
            start = pos + 1
            pos = start + data[pos]
            found.reply_to = data[start:pos].decode("utf-8", "surrogateescape")
        else:
            found.reply_to = None
        if message_id:
            start = pos + 1
            pos = start + data[pos]
            found.message_id = data[start:pos].decode("utf-8", "surrogateescape")
        else:
            found.message_id = None
        if filename:
            start = pos + 1
            pos = start + data[pos]
            found.filename = data[start:pos].decode("utf-8", "surrogateescape")
        else:
            found.filename = None
        if timestamp:
            found.timestamp = Datetime(_read_q(data, pos)[0])
            pos += 8
        else:
            found.timestamp = None
        if cluster_id:
            start = pos + 1
            pos = start + data[pos]
            found.cluster_id = data[start:pos].decode("utf-8", "surrogateescape")
        else:
            found.cluster_id = None
        return found, pos


class StreamProperties(Struct):
    """stream.stream-properties (0-10 struct, code 0x0a01)."""

    __slots__ = ("content_type", "content_encoding", "headers", "priority", "timestamp")

    NAME: ClassVar[str] = "stream.stream-properties"
    CODE: ClassVar[int] = 0x0A01
    SIZE: ClassVar[int] = 4
    PACK: ClassVar[int] = 2
    FIELDS: ClassVar[tuple[tuple[str, str], ...]] = (
        ("content_type", "str8"),
        ("content_encoding", "str8"),
        ("headers", "map"),
        ("priority", "uint8"),
        ("timestamp", "datetime"),
    )
    __match_args__: ClassVar[tuple[str, ...]] = (
        "content_type",
        "content_encoding",
        "headers",
        "priority",
        "timestamp",
    )

    content_type: str | None
    content_encoding: str | None
    headers: Mapping[str, Any] | None
    priority: int | None
    timestamp: int | None

    def __init__(
        self,
        content_type: str | None = None,
        content_encoding: str | None = None,
        headers: Mapping[str, Any] | None = None,
        priority: int | None = None,
        timestamp: int | None = None,
    ) -> None:
        self.wire = None
        self.content_type = content_type
        self.content_encoding = content_encoding
        self.headers = headers
        self.priority = priority
        self.timestamp = timestamp

    def pack_fields(self) -> bytes:
        flags = 0
        parts = [b""]
        content_type = self.content_type
        if content_type is not None:
            flags |= 0x100
            octets = content_type.encode("utf-8", "surrogateescape")
            size = len(octets)
            parts += (OCTETS[size], octets) if size < 256 else (pack_str8(content_type),)
        content_encoding = self.content_encoding
        if content_encoding is not None:
            flags |= 0x200
            octets = content_encoding.encode("utf-8", "surrogateescape")
            size = len(octets)
            parts += (OCTETS[size], octets) if size < 256 else (pack_str8(content_encoding),)
        headers = self.headers
        if headers is not None:
            flags |= 0x400
            parts.append(pack_map(headers))
        priority = self.priority
        if priority is not None:
            flags |= 0x800
            parts.append(_pack_B(priority))
        timestamp = self.timestamp
        if timestamp is not None:
            flags |= 0x1000
            parts.append(_pack_q(timestamp))
        parts[0] = _pack_H(flags)
        return b"".join(parts)

    @classmethod
    def unpack_fields(cls, data: bytes, pos: int, end: int) -> tuple[Self, int]:
        found = _new(cls)
        flags = _read_H(data, pos)[0]
        pos += 2
        if flags & 0x100:
            start = pos + 1
            pos = start + data[pos]
            found.content_type = data[start:pos].decode("utf-8", "surrogateescape")
        else:
            found.content_type = None
        if flags & 0x200:
            start = pos + 1
            pos = start + data[pos]
            found.content_encoding = data[start:pos].decode("utf-8", "surrogateescape")
        else:
            found.content_encoding = None
        if flags & 0x400:
            start = pos + 4
            pos = start + _read_I(data, pos)[0]
            found.headers = _map(data[start:pos])
        else:
            found.headers = None
        if flags & 0x800:
            found.priority = data[pos]
            pos += 1
        else:
            found.priority = None
        if flags & 0x1000:
            found.timestamp = Datetime(_read_q(data, pos)[0])
            pos += 8
        else:
            found.timestamp = None
        return found, pos


class ConnectionStart(Control):
    """connection.start (0-10 control, code 0x0101)."""

    __slots__ = ("server_properties", "mechanisms", "locales")

    NAME: ClassVar[str] = "connection.start"
    CODE: ClassVar[int] = 0x0101
    FIELDS: ClassVar[tuple[tuple[str, str], ...]] = (
        ("server_properties", "map"),
        ("mechanisms", "array"),
        ("locales", "array"),
    )
    __match_args__: ClassVar[tuple[str, ...]] = ("server_properties", "mechanisms", "locales")
    REQUIRED: ClassVar[tuple[str, ...]] = ("mechanisms", "locales")
    MANDATORY: ClassVar[tuple[str, ...]] = ("mechanisms", "locales")
    HANDLERS: ClassVar[tuple[str, ...]] = ("client",)
    RESPONSES: ClassVar[tuple[str, ...]] = ("connection.start-ok",)

    server_properties: Mapping[str, Any] | None
    mechanisms: Sequence[Any] | None
    locales: Sequence[Any] | None

    def __init__(
        self,
        server_properties: Mapping[str, Any] | None = None,
        mechanisms: Sequence[Any] | None = None,
        locales: Sequence[Any] | None = None,
    ) -> None:
        self.wire = None
        self.server_properties = server_properties
        self.mechanisms = mechanisms
        self.locales = locales

    def pack_fields(self) -> bytes:
        flags = 0
        parts = [b""]
        server_properties = self.server_properties
        if server_properties is not None:
            flags |= 0x100
            parts.append(pack_map(server_properties))
        mechanisms = self.mechanisms
        if mechanisms is not None:
            flags |= 0x200
            parts.append(pack_array(mechanisms))
        locales = self.locales
        if locales is not None:
            flags |= 0x400
            parts.append(pack_array(locales))
        parts[0] = _pack_H(flags)
        return b"".join(parts)

    @classmethod
    def unpack_fields(cls, data: bytes, pos: int, end: int) -> tuple[Self, int]:
        found = _new(cls)
        flags = _read_H(data, pos)[0]
        pos += 2
        if flags & 0x100:
            start = pos + 4
            pos = start + _read_I(data, pos)[0]
            found.server_properties = _map(data[start:pos])
        else:
            found.server_properties = None
        if flags & 0x200:
            found.mechanisms, pos = read_array(data, pos)
        else:
            found.mechanisms = None
        if flags & 0x400:
            found.locales, pos = read_array(data, pos)
        else:
            found.locales = None
        return found, pos


class ConnectionStartOk(Control):
    """connection.start-ok (0-10 control, code 0x0102)."""

    __slots__ = ("client_properties", "mechanism", "response", "locale")

    NAME: ClassVar[str] = "connection.start-ok"
    CODE: ClassVar[int] = 0x0102
    FIELDS: ClassVar[tuple[tuple[str, str], ...]] = (
        ("client_properties", "map"),
        ("mechanism", "str8"),
        ("response", "vbin32"),
        ("locale", "str8"),
    )
    __match_args__: ClassVar[tuple[str, ...]] = (
        "client_properties",
        "mechanism",
        "response",
        "locale",
    )
    REQUIRED: ClassVar[tuple[str, ...]] = ("mechanism", "response", "locale")
    MANDATORY: ClassVar[tuple[str, ...]] = ("mechanism", "response")
    SECRETS: ClassVar[tuple[str, ...]] = ("response",)
    HANDLERS: ClassVar[tuple[str, ...]] = ("server",)

    client_properties: Mapping[str, Any] | None
    mechanism: str | None
    response: bytes | None
    locale: str | None

    def __init__(
        self,
        client_properties: Mapping[str, Any] | None = None,
        mechanism: str | None = None,
        response: bytes | None = None,
        locale: str | None = None,
    ) -> None:
        self.wire = None
        self.client_properties = client_properties
        self.mechanism = mechanism
        self.response = response
        self.locale = locale

    def pack_fields(self) -> bytes:
        flags = 0
        parts = [b""]
        client_properties = self.client_properties
        if client_properties is not None:
            flags |= 0x100
            parts.append(pack_map(client_properties))
        mechanism = self.mechanism
        if mechanism is not None:
            flags |= 0x200
            octets = mechanism.encode("utf-8", "surrogateescape")
            size = len(octets)
            parts += (OCTETS[size], octets) if size < 256 else (pack_str8(mechanism),)
        response = self.response
        if response is not None:
            flags |= 0x400
            parts.append(pack_vbin32(response))
        locale = self.locale
        if locale is not None:
            flags |= 0x800
            octets = locale.encode("utf-8", "surrogateescape")
            size = len(octets)
            parts += (OCTETS[size], octets) if size < 256 else (pack_str8(locale),)
        parts[0] = _pack_H(flags)
        return b"".join(parts)

    @classmethod
    def unpack_fields(cls, data: bytes, pos: int, end: int) -> tuple[Self, int]:
        found = _new(cls)
        flags = _read_H(data, pos)[0]
        pos += 2
        if flags & 0x100:
            start = pos + 4
            pos = start + _read_I(data, pos)[0]
            found.client_properties = _map(data[start:pos])
        else:
            found.client_properties = None
        if flags & 0x200:
            start = pos + 1
            pos = start + data[pos]
            found.mechanism = data[start:pos].decode("utf-8", "surrogateescape")
        else:
            found.mechanism = None
        if flags & 0x400:
            start = pos + 4
            pos = start + _read_I(data, pos)[0]
            found.response = data[start:pos]
        else:
            found.response = None
        if flags & 0x800:
            start = pos + 1
            pos = start + data[pos]
            found.locale = data[start:pos].decode("utf-8", "surrogateescape")
        else:
            found.locale = None
        return found, pos


class ConnectionSecure(Control):
    """connection.secure (0-10 control, code 0x0103)."""

    __slots__ = ("challenge",)

    NAME: ClassVar[str] = "connection.secure"
    CODE: ClassVar[int] = 0x0103
    FIELDS: ClassVar[tuple[tuple[str, str], ...]] = (
        ("challenge", "vbin32"),
    )
    __match_args__: ClassVar[tuple[str, ...]] = ("challenge",)
    REQUIRED: ClassVar[tuple[str, ...]] = ("challenge",)
    MANDATORY: ClassVar[tuple[str, ...]] = ("challenge",)
    HANDLERS: ClassVar[tuple[str, ...]] = ("client",)
    RESPONSES: ClassVar[tuple[str, ...]] = ("connection.secure-ok",)

    challenge: bytes | None

    def __init__(
        self,
        challenge: bytes | None = None,
    ) -> None:
        self.wire = None
        self.challenge = challenge

    def pack_fields(self) -> bytes:
        flags = 0
        parts = [b""]
        challenge = self.challenge
        if challenge is not None:
            flags |= 0x100
            parts.append(pack_vbin32(challenge))
        parts[0] = _pack_H(flags)
        return b"".join(parts)

    @classmethod
    def unpack_fields(cls, data: bytes, pos: int, end: int) -> tuple[Self, int]:
        found = _new(cls)
        flags = _read_H(data, pos)[0]
        pos += 2
        if flags & 0x100:
            start = pos + 4
            pos = start + _read_I(data, pos)[0]
            found.challenge = data[start:pos]
        else:
            found.challenge = None
        return found, pos


class ConnectionSecureOk(Control):
    """connection.secure-ok (0-10 control, code 0x0104)."""

    __slots__ = ("response",)

    NAME: ClassVar[str] = "connection.secure-ok"
    CODE: ClassVar[int] = 0x0104
    FIELDS: ClassVar[tuple[tuple[str, str], ...]] = (
        ("response", "vbin32"),
    )
    __match_args__: ClassVar[tuple[str, ...]] = ("response",)
    REQUIRED: ClassVar[tuple[str, ...]] = ("response",)
    MANDATORY: ClassVar[tuple[str, ...]] = ("response",)
    SECRETS: ClassVar[tuple[str, ...]] = ("response",)
    HANDLERS: ClassVar[tuple[str, ...]] = ("server",)

    response: bytes | None

    def __init__(
        self,
        response: bytes | None = None,
    ) -> None:
        self.wire = None
        self.response = response

    def pack_fields(self) -> bytes:
        flags = 0
        parts = [b""]
        response = self.response
        if response is not None:
            flags |= 0x100
            parts.append(pack_vbin32(response))
        parts[0] = _pack_H(flags)
        return b"".join(parts)

    @classmethod
    def unpack_fields(cls, data: bytes, pos: int, end: int) -> tuple[Self, int]:
        found = _new(cls)
        flags = _read_H(data, pos)[0]
        pos += 2
        if flags & 0x100:
            start = pos + 4
            pos = start + _read_I(data, pos)[0]
            found.response = data[start:pos]
        else:
            found.response = None
        return found, pos


class ConnectionTune(Control):
    """connection.tune (0-10 control, code 0x0105)."""

    __slots__ = ("channel_max", "max_frame_size", "heartbeat_min", "heartbeat_max")

    NAME: ClassVar[str] = "connection.tune"
    CODE: ClassVar[int] = 0x0105
    FIELDS: ClassVar[tuple[tuple[str, str], ...]] = (
        ("channel_max", "uint16"),
        ("max_frame_size", "uint16"),
        ("heartbeat_min", "uint16"),
        ("heartbeat_max", "uint16"),
    )
    __match_args__: ClassVar[tuple[str, ...]] = (
        "channel_max",
        "max_frame_size",
        "heartbeat_min",
        "heartbeat_max",
    )
    HANDLERS: ClassVar[tuple[str, ...]] = ("client",)
    RESPONSES: ClassVar[tuple[str, ...]] = ("connection.tune-ok",)

    channel_max: int | None
    max_frame_size: int | None
    heartbeat_min: int | None
    heartbeat_max: int | None

    def __init__(
        self,
        channel_max: int | None = None,
        max_frame_size: int | None = None,
        heartbeat_min: int | None = None,
        heartbeat_max: int | None = None,
    ) -> None:
        self.wire = None
        self.channel_max = channel_max
        self.max_frame_size = max_frame_size
        self.heartbeat_min = heartbeat_min
        self.heartbeat_max = heartbeat_max

    def pack_fields(self) -> bytes:
        flags = 0
        parts = [b""]
        channel_max = self.channel_max
        if channel_max is not None:
            flags |= 0x100
            parts.append(_pack_H(channel_max))
        max_frame_size = self.max_frame_size
        if max_frame_size is not None:
            flags |= 0x200
            parts.append(_pack_H(max_frame_size))
        heartbeat_min = self.heartbeat_min
        if heartbeat_min is not None:
            flags |= 0x400
            parts.append(_pack_H(heartbeat_min))
        heartbeat_max = self.heartbeat_max
        if heartbeat_max is not None:
            flags |= 0x800
            parts.append(_pack_H(heartbeat_max))
        parts[0] = _pack_H(flags)
        return b"".join(parts)

    @classmethod
    def unpack_fields(cls, data: bytes, pos: int, end: int) -> tuple[Self, int]:
        found = _new(cls)
        flags = _read_H(data, pos)[0]
        pos += 2
        if flags & 0x100:
            found.channel_max = _read_H(data, pos)[0]
            pos += 2
        else:
            found.channel_max = None
        if flags & 0x200:
            found.max_frame_size = _read_H(data, pos)[0]
            pos += 2
        else:
            found.max_frame_size = None
        if flags & 0x400:
            found.heartbeat_min = _read_H(data, pos)[0]
            pos += 2
        else:
            found.heartbeat_min = None
        if flags & 0x800:
            found.heartbeat_max = _read_H(data, pos)[0]
            pos += 2
        else:
            found.heartbeat_max = None
        return found, pos


class ConnectionTuneOk(Control):
    """connection.tune-ok (0-10 control, code 0x0106)."""

    __slots__ = ("channel_max", "max_frame_size", "heartbeat")

    NAME: ClassVar[str] = "connection.tune-ok"
    CODE: ClassVar[int] = 0x0106
    FIELDS: ClassVar[tuple[tuple[str, str], ...]] = (
        ("channel_max", "uint16"),
        ("max_frame_size", "uint16"),
        ("heartbeat", "uint16"),
    )
    __match_args__: ClassVar[tuple[str, ...]] = ("channel_max", "max_frame_size", "heartbeat")
    REQUIRED: ClassVar[tuple[str, ...]] = ("channel_max",)
    MANDATORY: ClassVar[tuple[str, ...]] = ("channel_max",)
    HANDLERS: ClassVar[tuple[str, ...]] = ("server",)

    channel_max: int | None
    max_frame_size: int | None
    heartbeat: int | None

    def __init__(
        self,
        channel_max: int | None = None,
        max_frame_size: int | None = None,
        heartbeat: int | None = None,
    ) -> None:
        self.wire = None
        self.channel_max = channel_max
        self.max_frame_size = max_frame_size
        self.heartbeat = heartbeat

    def pack_fields(self) -> bytes:
        flags = 0
        parts = [b""]
        channel_max = self.channel_max
        if channel_max is not None:
            flags |= 0x100
            parts.append(_pack_H(channel_max))
        max_frame_size = self.max_frame_size
        if max_frame_size is not None:
            flags |= 0x200
            parts.append(_pack_H(max_frame_size))
        heartbeat = self.heartbeat
        if heartbeat is not None:
            flags |= 0x400
            parts.append(_pack_H(heartbeat))
        parts[0] = _pack_H(flags)
        return b"".join(parts)

    @classmethod
    def unpack_fields(cls, data: bytes, pos: int, end: int) -> tuple[Self, int]:
        found = _new(cls)
        flags = _read_H(data, pos)[0]
        pos += 2
        if flags & 0x100:
            found.channel_max = _read_H(data, pos)[0]
            pos += 2
        else:
            found.channel_max = None
        if flags & 0x200:
            found.max_frame_size = _read_H(data, pos)[0]
            pos += 2
        else:
            found.max_frame_size = None
        if flags & 0x400:
            found.heartbeat = _read_H(data, pos)[0]
            pos += 2
        else:
            found.heartbeat = None
        return found, pos


class ConnectionOpen(Control):
    """connection.open (0-10 control, code 0x0107)."""

    __slots__ = ("virtual_host", "capabilities", "insist")

    NAME: ClassVar[str] = "connection.open"
    CODE: ClassVar[int] = 0x0107
    FIELDS: ClassVar[tuple[tuple[str, str], ...]] = (
        ("virtual_host", "str8"),
        ("capabilities", "array"),
        ("insist", "bit"),
    )
    __match_args__: ClassVar[tuple[str, ...]] = ("virtual_host", "capabilities", "insist")
    REQUIRED: ClassVar[tuple[str, ...]] = ("virtual_host",)
    HANDLERS: ClassVar[tuple[str, ...]] = ("server",)
    RESPONSES: ClassVar[tuple[str, ...]] = ("connection.open-ok", "connection.redirect")

    virtual_host: str | None
    capabilities: Sequence[Any] | None
    insist: bool

    def __init__(
        self,
        virtual_host: str | None = None,
        capabilities: Sequence[Any] | None = None,
        insist: bool = False,
    ) -> None:
        self.wire = None
        self.virtual_host = virtual_host
        self.capabilities = capabilities
        self.insist = insist

    def pack_fields(self) -> bytes:
        flags = 0
        parts = [b""]
        virtual_host = self.virtual_host
        if virtual_host is not None:
            flags |= 0x100
            octets = virtual_host.encode("utf-8", "surrogateescape")
            size = len(octets)
            parts += (OCTETS[size], octets) if size < 256 else (pack_str8(virtual_host),)
        capabilities = self.capabilities
        if capabilities is not None:
            flags |= 0x200
            parts.append(pack_array(capabilities))
        if self.insist:
            flags |= 0x400
        parts[0] = _pack_H(flags)
        return b"".join(parts)

    @classmethod
    def unpack_fields(cls, data: bytes, pos: int, end: int) -> tuple[Self, int]:
        found = _new(cls)
        flags = _read_H(data, pos)[0]
        pos += 2
        if flags & 0x100:
            start = pos + 1
            pos = start + data[pos]
            found.virtual_host = data[start:pos].decode("utf-8", "surrogateescape")
        else:
            found.virtual_host = None
        if flags & 0x200:
            found.capabilities, pos = read_array(data, pos)
        else:
            found.capabilities = None
        found.insist = flags & 0x400 != 0
        return found, pos


class ConnectionOpenOk(Control):
    """connection.open-ok (0-10 control, code 0x0108)."""

    __slots__ = ("known_hosts",)

    NAME: ClassVar[str] = "connection.open-ok"
    CODE: ClassVar[int] = 0x0108
    FIELDS: ClassVar[tuple[tuple[str, str], ...]] = (
        ("known_hosts", "array"),
    )
    __match_args__: ClassVar[tuple[str, ...]] = ("known_hosts",)
    HANDLERS: ClassVar[tuple[str, ...]] = ("client",)

    known_hosts: Sequence[Any] | None

    def __init__(
        self,
        known_hosts: Sequence[Any] | None = None,
    ) -> None:
        self.wire = None
        self.known_hosts = known_hosts

    def pack_fields(self) -> bytes:
        flags = 0
        parts = [b""]
        known_hosts = self.known_hosts
        if known_hosts is not None:
            flags |= 0x100
            parts.append(pack_array(known_hosts))
        parts[0] = _pack_H(flags)
        return b"".join(parts)

    @classmethod
    def unpack_fields(cls, data: bytes, pos: int, end: int) -> tuple[Self, int]:
        found = _new(cls)
        flags = _read_H(data, pos)[0]
        pos += 2
        if flags & 0x100:
            found.known_hosts, pos = read_array(data, pos)
        else:
            found.known_hosts = None
        return found, pos


class ConnectionRedirect(Control):
    """connection.redirect (0-10 control, code 0x0109)."""

    __slots__ = ("host", "known_hosts")

    NAME: ClassVar[str] = "connection.redirect"
    CODE: ClassVar[int] = 0x0109
    FIELDS: ClassVar[tuple[tuple[str, str], ...]] = (
        ("host", "str16"),
        ("known_hosts", "array"),
    )
    __match_args__: ClassVar[tuple[str, ...]] = ("host", "known_hosts")
    REQUIRED: ClassVar[tuple[str, ...]] = ("host",)
    MANDATORY: ClassVar[tuple[str, ...]] = ("host",)
    HANDLERS: ClassVar[tuple[str, ...]] = ("client",)

    host: str | None
    known_hosts: Sequence[Any] | None

    def __init__(
        self,
        host: str | None = None,
        known_hosts: Sequence[Any] | None = None,
    ) -> None:
        self.wire = None
        self.host = host
        self.known_hosts = known_hosts

    def pack_fields(self) -> bytes:
        flags = 0
        parts = [b""]
        host = self.host
        if host is not None:
            flags |= 0x100
            parts.append(pack_str16(host))
        known_hosts = self.known_hosts
        if known_hosts is not None:
            flags |= 0x200
            parts.append(pack_array(known_hosts))
        parts[0] = _pack_H(flags)
        return b"".join(parts)

    @classmethod
    def unpack_fields(cls, data: bytes, pos: int, end: int) -> tuple[Self, int]:
        found = _new(cls)
        flags = _read_H(data, pos)[0]
        pos += 2
        if flags & 0x100:
            start = pos + 2
            pos = start + _read_H(data, pos)[0]
            found.host = data[start:pos].decode("utf-8", "surrogateescape")
        else:
            found.host = None
        if flags & 0x200:
            found.known_hosts, pos = read_array(data, pos)
        else:
            found.known_hosts = None
        return found, pos


class ConnectionHeartbeat(Control):
    """connection.heartbeat (0-10 control, code 0x010a)."""

    __slots__ = ()

    NAME: ClassVar[str] = "connection.heartbeat"
    CODE: ClassVar[int] = 0x010A
    HANDLERS: ClassVar[tuple[str, ...]] = ("client", "server")

    @classmethod
    def unpack_fields(cls, data: bytes, pos: int, end: int) -> tuple[Self, int]:
        return cls(), pos + cls.PACK


class ConnectionClose(Control):
    """connection.close (0-10 control, code 0x010b)."""

    __slots__ = ("reply_code", "reply_text")

    NAME: ClassVar[str] = "connection.close"
    CODE: ClassVar[int] = 0x010B
    FIELDS: ClassVar[tuple[tuple[str, str], ...]] = (
        ("reply_code", "uint16"),
        ("reply_text", "str8"),
    )
    __match_args__: ClassVar[tuple[str, ...]] = ("reply_code", "reply_text")
    REQUIRED: ClassVar[tuple[str, ...]] = ("reply_code",)
    MANDATORY: ClassVar[tuple[str, ...]] = ("reply_code",)
    HANDLERS: ClassVar[tuple[str, ...]] = ("client", "server")
    RESPONSES: ClassVar[tuple[str, ...]] = ("connection.close-ok",)

    reply_code: int | None
    reply_text: str | None

    def __init__(
        self,
        reply_code: int | None = None,
        reply_text: str | None = None,
    ) -> None:
        self.wire = None
        self.reply_code = reply_code
        self.reply_text = reply_text

    def pack_fields(self) -> bytes:
        flags = 0
        parts = [b""]
        reply_code = self.reply_code
        if reply_code is not None:
            flags |= 0x100
            parts.append(_pack_H(reply_code))
        reply_text = self.reply_text
        if reply_text is not None:
            flags |= 0x200
            octets = reply_text.encode("utf-8", "surrogateescape")
            size = len(octets)
            parts += (OCTETS[size], octets) if size < 256 else (pack_str8(reply_text),)
        parts[0] = _pack_H(flags)
        return b"".join(parts)

    @classmethod
    def unpack_fields(cls, data: bytes, pos: int, end: int) -> tuple[Self, int]:
        found = _new(cls)
        flags = _read_H(data, pos)[0]
        pos += 2
        if flags & 0x100:
            found.reply_code = _read_H(data, pos)[0]
            pos += 2
        else:
            found.reply_code = None
        if flags & 0x200:
            start = pos + 1
            pos = start + data[pos]
            found.reply_text = data[start:pos].decode("utf-8", "surrogateescape")
        else:
            found.reply_text = None
        return found, pos


class ConnectionCloseOk(Control):
    """connection.close-ok (0-10 control, code 0x010c)."""

    __slots__ = ()

    NAME: ClassVar[str] = "connection.close-ok"
    CODE: ClassVar[int] = 0x010C
    HANDLERS: ClassVar[tuple[str, ...]] = ("client", "server")

    @classmethod
    def unpack_fields(cls, data: bytes, pos: int, end: int) -> tuple[Self, int]:
        return cls(), pos + cls.PACK


class SessionAttach(Control):
    """session.attach (0-10 control, code 0x0201)."""

    __slots__ = ("name", "force")

    NAME: ClassVar[str] = "session.attach"
    CODE: ClassVar[int] = 0x0201
    FIELDS: ClassVar[tuple[tuple[str, str], ...]] = (
        ("name", "vbin16"),
        ("force", "bit"),
    )
    __match_args__: ClassVar[tuple[str, ...]] = ("name", "force")
    REQUIRED: ClassVar[tuple[str, ...]] = ("name",)
    MANDATORY: ClassVar[tuple[str, ...]] = ("name",)
    HANDLERS: ClassVar[tuple[str, ...]] = ("client", "server")
    RESPONSES: ClassVar[tuple[str, ...]] = ("session.attached", "session.detached")

    name: bytes | None
    force: bool

    def __init__(
        self,
        name: bytes | None = None,
        force: bool = False,
    ) -> None:
        self.wire = None
        self.name = name
        self.force = force

    def pack_fields(self) -> bytes:
        flags = 0
        parts = [b""]
        name = self.name
        if name is not None:
            flags |= 0x100
            parts.append(pack_vbin16(name))
        if self.force:
            flags |= 0x200
        parts[0] = _pack_H(flags)
        return b"".join(parts)

    @classmethod
    def unpack_fields(cls, data: bytes, pos: int, end: int) -> tuple[Self, int]:
        found = _new(cls)
        flags = _read_H(data, pos)[0]
        pos += 2
        if flags & 0x100:
            start = pos + 2
            pos = start + _read_H(data, pos)[0]
            found.name = data[start:pos]
        else:
            found.name = None
        found.force = flags & 0x200 != 0
        return found, pos


class SessionAttached(Control):
    """session.attached (0-10 control, code 0x0202)."""

    __slots__ = ("name",)

    NAME: ClassVar[str] = "session.attached"
    CODE: ClassVar[int] = 0x0202
    FIELDS: ClassVar[tuple[tuple[str, str], ...]] = (
        ("name", "vbin16"),
    )
    __match_args__: ClassVar[tuple[str, ...]] = ("name",)
    REQUIRED: ClassVar[tuple[str, ...]] = ("name",)
    MANDATORY: ClassVar[tuple[str, ...]] = ("name",)
    HANDLERS: ClassVar[tuple[str, ...]] = ("client", "server")

    name: bytes | None

    def __init__(
        self,
        name: bytes | None = None,
    ) -> None:
        self.wire = None
        self.name = name

    def pack_fields(self) -> bytes:
        flags = 0
        parts = [b""]
        name = self.name
        if name is not None:
            flags |= 0x100
            parts.append(pack_vbin16(name))
        parts[0] = _pack_H(flags)
        return b"".join(parts)

    @classmethod
    def unpack_fields(cls, data: bytes, pos: int, end: int) -> tuple[Self, int]:
        found = _new(cls)
        flags = _read_H(data, pos)[0]
        pos += 2
        if flags & 0x100:
            start = pos + 2
            pos = start + _read_H(data, pos)[0]
            found.name = data[start:pos]
        else:
            found.name = None
        return found, pos


class SessionDetach(Control):
    """session.detach (0-10 control, code 0x0203)."""

    __slots__ = ("name",)

    NAME: ClassVar[str] = "session.detach"
    CODE: ClassVar[int] = 0x0203
    FIELDS: ClassVar[tuple[tuple[str, str], ...]] = (
        ("name", "vbin16"),
    )
    __match_args__: ClassVar[tuple[str, ...]] = ("name",)
    REQUIRED: ClassVar[tuple[str, ...]] = ("name",)
    MANDATORY: ClassVar[tuple[str, ...]] = ("name",)
    HANDLERS: ClassVar[tuple[str, ...]] = ("client", "server")
    RESPONSES: ClassVar[tuple[str, ...]] = ("session.detached",)

    name: bytes | None

    def __init__(
        self,
        name: bytes | None = None,
    ) -> None:
        self.wire = None
        self.name = name

    def pack_fields(self) -> bytes:
        flags = 0
        parts = [b""]
        name = self.name
        if name is not None:
            flags |= 0x100
            parts.append(pack_vbin16(name))
        parts[0] = _pack_H(flags)
        return b"".join(parts)

    @classmethod
    def unpack_fields(cls, data: bytes, pos: int, end: int) -> tuple[Self, int]:
        found = _new(cls)
        flags = _read_H(data, pos)[0]
        pos += 2
        if flags & 0x100:
            start = pos + 2
            pos = start + _read_H(data, pos)[0]
            found.name = data[start:pos]
        else:
            found.name = None
        return found, pos


class SessionDetached(Control):
    """session.detached (0-10 control, code 0x0204)."""

    __slots__ = ("name", "code")

    NAME: ClassVar[str] = "session.detached"
    CODE: ClassVar[int] = 0x0204
    FIELDS: ClassVar[tuple[tuple[str, str], ...]] = (
        ("name", "vbin16"),
        ("code", "uint8"),
    )
    __match_args__: ClassVar[tuple[str, ...]] = ("name", "code")
    REQUIRED: ClassVar[tuple[str, ...]] = ("name", "code")
    MANDATORY: ClassVar[tuple[str, ...]] = ("name", "code")
    HANDLERS: ClassVar[tuple[str, ...]] = ("client", "server")

    name: bytes | None
    code: int | None

    def __init__(
        self,
        name: bytes | None = None,
        code: int | None = None,
    ) -> None:
        self.wire = None
        self.name = name
        self.code = code

    def pack_fields(self) -> bytes:
        flags = 0
        parts = [b""]
        name = self.name
        if name is not None:
            flags |= 0x100
            parts.append(pack_vbin16(name))
        code = self.code
        if code is not None:
            flags |= 0x200
            parts.append(_pack_B(code))
        parts[0] = _pack_H(flags)
        return b"".join(parts)

    @classmethod
    def unpack_fields(cls, data: bytes, pos: int, end: int) -> tuple[Self, int]:
        found = _new(cls)
        flags = _read_H(data, pos)[0]
        pos += 2
        if flags & 0x100:
            start = pos + 2
            pos = start + _read_H(data, pos)[0]
            found.name = data[start:pos]
        else:
            found.name = None
        if flags & 0x200:
            found.code = data[pos]
            pos += 1
        else:
            found.code = None
        return found, pos


class SessionRequestTimeout(Control):
    """session.request-timeout (0-10 control, code 0x0205)."""

    __slots__ = ("timeout",)

    NAME: ClassVar[str] = "session.request-timeout"
    CODE: ClassVar[int] = 0x0205
    FIELDS: ClassVar[tuple[tuple[str, str], ...]] = (
        ("timeout", "uint32"),
    )
    __match_args__: ClassVar[tuple[str, ...]] = ("timeout",)
    HANDLERS: ClassVar[tuple[str, ...]] = ("client", "server")
    RESPONSES: ClassVar[tuple[str, ...]] = ("session.timeout",)

    timeout: int | None

    def __init__(
        self,
        timeout: int | None = None,
    ) -> None:
        self.wire = None
        self.timeout = timeout

    def pack_fields(self) -> bytes:
        flags = 0
        parts = [b""]
        timeout = self.timeout
        if timeout is not None:
            flags |= 0x100
            parts.append(_pack_I(timeout))
        parts[0] = _pack_H(flags)
        return b"".join(parts)

    @classmethod
    def unpack_fields(cls, data: bytes, pos: int, end: int) -> tuple[Self, int]:
        found = _new(cls)
        flags = _read_H(data, pos)[0]
        pos += 2
        if flags & 0x100:
            found.timeout = _read_I(data, pos)[0]
            pos += 4
        else:
            found.timeout = None
        return found, pos


class SessionTimeout(Control):
    """session.timeout (0-10 control, code 0x0206)."""

    __slots__ = ("timeout",)

    NAME: ClassVar[str] = "session.timeout"
    CODE: ClassVar[int] = 0x0206
    FIELDS: ClassVar[tuple[tuple[str, str], ...]] = (
        ("timeout", "uint32"),
    )
    __match_args__: ClassVar[tuple[str, ...]] = ("timeout",)
    HANDLERS: ClassVar[tuple[str, ...]] = ("client", "server")

    timeout: int | None

    def __init__(
        self,
        timeout: int | None = None,
    ) -> None:
        self.wire = None
        self.timeout = timeout

    def pack_fields(self) -> bytes:
        flags = 0
        parts = [b""]
        timeout = self.timeout
        if timeout is not None:
            flags |= 0x100
            parts.append(_pack_I(timeout))
        parts[0] = _pack_H(flags)
        return b"".join(parts)

    @classmethod
    def unpack_fields(cls, data: bytes, pos: int, end: int) -> tuple[Self, int]:
        found = _new(cls)
        flags = _read_H(data, pos)[0]
        pos += 2
        if flags & 0x100:
            found.timeout = _read_I(data, pos)[0]
            pos += 4
        else:
            found.timeout = None
        return found, pos


class SessionCommandPoint(Control):
    """session.command-point (0-10 control, code 0x0207)."""

    __slots__ = ("command_id", "command_offset")

    NAME: ClassVar[str] = "session.command-point"
    CODE: ClassVar[int] = 0x0207
    FIELDS: ClassVar[tuple[tuple[str, str], ...]] = (
        ("command_id", "sequence-no"),
        ("command_offset", "uint64"),
    )
    __match_args__: ClassVar[tuple[str, ...]] = ("command_id", "command_offset")
    REQUIRED: ClassVar[tuple[str, ...]] = ("command_id", "command_offset")
    MANDATORY: ClassVar[tuple[str, ...]] = ("command_id", "command_offset")
    HANDLERS: ClassVar[tuple[str, ...]] = ("client", "server")

    command_id: int | None
    command_offset: int | None

    def __init__(
        self,
        command_id: int | None = None,
        command_offset: int | None = None,
    ) -> None:
        self.wire = None
        self.command_id = command_id
        self.command_offset = command_offset

    def pack_fields(self) -> bytes:
        flags = 0
        parts = [b""]
        command_id = self.command_id
        if command_id is not None:
            flags |= 0x100
            parts.append(_pack_I(command_id))
        command_offset = self.command_offset
        if command_offset is not None:
            flags |= 0x200
            parts.append(_pack_Q(command_offset))
        parts[0] = _pack_H(flags)
        return b"".join(parts)

    @classmethod
    def unpack_fields(cls, data: bytes, pos: int, end: int) -> tuple[Self, int]:
        found = _new(cls)
        flags = _read_H(data, pos)[0]
        pos += 2
        if flags & 0x100:
            found.command_id = _read_I(data, pos)[0]
            pos += 4
        else:
            found.command_id = None
        if flags & 0x200:
            found.command_offset = _read_Q(data, pos)[0]
            pos += 8
        else:
            found.command_offset = None
        return found, pos


class SessionExpected(Control):
    """session.expected (0-10 control, code 0x0208)."""

    __slots__ = ("commands", "fragments")

    NAME: ClassVar[str] = "session.expected"
    CODE: ClassVar[int] = 0x0208
    FIELDS: ClassVar[tuple[tuple[str, str], ...]] = (
        ("commands", "sequence-set"),
        ("fragments", "fragments"),
    )
    __match_args__: ClassVar[tuple[str, ...]] = ("commands", "fragments")
    REQUIRED: ClassVar[tuple[str, ...]] = ("commands",)
    MANDATORY: ClassVar[tuple[str, ...]] = ("commands",)
    HANDLERS: ClassVar[tuple[str, ...]] = ("client", "server")

    commands: SequenceSet | None
    fragments: bytes | None

    def __init__(
        self,
        commands: SequenceSet | None = None,
        fragments: bytes | None = None,
    ) -> None:
        self.wire = None
        self.commands = commands
        self.fragments = fragments

    def pack_fields(self) -> bytes:
        flags = 0
        parts = [b""]
        commands = self.commands
        if commands is not None:
            flags |= 0x100
            parts.append(pack_sequence_set(commands))
        fragments = self.fragments
        if fragments is not None:
            flags |= 0x200
            parts.append(pack_vbin32(fragments))
        parts[0] = _pack_H(flags)
        return b"".join(parts)

    @classmethod
    def unpack_fields(cls, data: bytes, pos: int, end: int) -> tuple[Self, int]:
        found = _new(cls)
        flags = _read_H(data, pos)[0]
        pos += 2
        if flags & 0x100:
            found.commands, pos = read_sequence_set(data, pos)
        else:
            found.commands = None
        if flags & 0x200:
            start = pos + 4
            pos = start + _read_I(data, pos)[0]
            found.fragments = data[start:pos]
        else:
            found.fragments = None
        return found, pos


class SessionConfirmed(Control):
    """session.confirmed (0-10 control, code 0x0209)."""

    __slots__ = ("commands", "fragments")

    NAME: ClassVar[str] = "session.confirmed"
    CODE: ClassVar[int] = 0x0209
    FIELDS: ClassVar[tuple[tuple[str, str], ...]] = (
        ("commands", "sequence-set"),
        ("fragments", "fragments"),
    )
    __match_args__: ClassVar[tuple[str, ...]] = ("commands", "fragments")
    HANDLERS: ClassVar[tuple[str, ...]] = ("client", "server")

    commands: SequenceSet | None
    fragments: bytes | None

    def __init__(
        self,
        commands: SequenceSet | None = None,
        fragments: bytes | None = None,
    ) -> None:
        self.wire = None
        self.commands = commands
        self.fragments = fragments

    def pack_fields(self) -> bytes:
        flags = 0
        parts = [b""]
        commands = self.commands
        if commands is not None:
            flags |= 0x100
            parts.append(pack_sequence_set(commands))
        fragments = self.fragments
        if fragments is not None:
            flags |= 0x200
            parts.append(pack_vbin32(fragments))
        parts[0] = _pack_H(flags)
        return b"".join(parts)

    @classmethod
    def unpack_fields(cls, data: bytes, pos: int, end: int) -> tuple[Self, int]:
        found = _new(cls)
        flags = _read_H(data, pos)[0]
        pos += 2
        if flags & 0x100:
            found.commands, pos = read_sequence_set(data, pos)
        else:
            found.commands = None
        if flags & 0x200:
            start = pos + 4
            pos = start + _read_I(data, pos)[0]
            found.fragments = data[start:pos]
        else:
            found.fragments = None
        return found, pos


class SessionCompleted(Control):
    """session.completed (0-10 control, code 0x020a)."""

    __slots__ = ("commands", "timely_reply")

    NAME: ClassVar[str] = "session.completed"
    CODE: ClassVar[int] = 0x020A
    FIELDS: ClassVar[tuple[tuple[str, str], ...]] = (
        ("commands", "sequence-set"),
        ("timely_reply", "bit"),
    )
    __match_args__: ClassVar[tuple[str, ...]] = ("commands", "timely_reply")
    HANDLERS: ClassVar[tuple[str, ...]] = ("client", "server")

    commands: SequenceSet | None
    timely_reply: bool

    def __init__(
        self,
        commands: SequenceSet | None = None,
        timely_reply: bool = False,
    ) -> None:
        self.wire = None
        self.commands = commands
        self.timely_reply = timely_reply

    def pack_fields(self) -> bytes:
        flags = 0
        parts = [b""]
        commands = self.commands
        if commands is not None:
            flags |= 0x100
            parts.append(pack_sequence_set(commands))
        if self.timely_reply:
            flags |= 0x200
        parts[0] = _pack_H(flags)
        return b"".join(parts)

    @classmethod
    def unpack_fields(cls, data: bytes, pos: int, end: int) -> tuple[Self, int]:
        found = _new(cls)
        flags = _read_H(data, pos)[0]
        pos += 2
        if flags & 0x100:
            found.commands, pos = read_sequence_set(data, pos)
        else:
            found.commands = None
        found.timely_reply = flags & 0x200 != 0
        return found, pos


class SessionKnownCompleted(Control):
    """session.known-completed (0-10 control, code 0x020b)."""

    __slots__ = ("commands",)

    NAME: ClassVar[str] = "session.known-completed"
    CODE: ClassVar[int] = 0x020B
    FIELDS: ClassVar[tuple[tuple[str, str], ...]] = (
        ("commands", "sequence-set"),
    )
    __match_args__: ClassVar[tuple[str, ...]] = ("commands",)
    HANDLERS: ClassVar[tuple[str, ...]] = ("client", "server")

    commands: SequenceSet | None

    def __init__(
        self,
        commands: SequenceSet | None = None,
    ) -> None:
        self.wire = None
        self.commands = commands

    def pack_fields(self) -> bytes:
        flags = 0
        parts = [b""]
        commands = self.commands
        if commands is not None:
            flags |= 0x100
            parts.append(pack_sequence_set(commands))
        parts[0] = _pack_H(flags)
        return b"".join(parts)

    @classmethod
    def unpack_fields(cls, data: bytes, pos: int, end: int) -> tuple[Self, int]:
        found = _new(cls)
        flags = _read_H(data, pos)[0]
        pos += 2
        if flags & 0x100:
            found.commands, pos = read_sequence_set(data, pos)
        else:
            found.commands = None
        return found, pos


class SessionFlush(Control):
    """session.flush (0-10 control, code 0x020c)."""

    __slots__ = ("expected", "confirmed", "completed")

    NAME: ClassVar[str] = "session.flush"
    CODE: ClassVar[int] = 0x020C
    FIELDS: ClassVar[tuple[tuple[str, str], ...]] = (
        ("expected", "bit"),
        ("confirmed", "bit"),
        ("completed", "bit"),
    )
    __match_args__: ClassVar[tuple[str, ...]] = ("expected", "confirmed", "completed")
    HANDLERS: ClassVar[tuple[str, ...]] = ("client", "server")

    expected: bool
    confirmed: bool
    completed: bool

    def __init__(
        self,
        expected: bool = False,
        confirmed: bool = False,
        completed: bool = False,
    ) -> None:
        self.wire = None
        self.expected = expected
        self.confirmed = confirmed
        self.completed = completed

    def pack_fields(self) -> bytes:
        flags = 0
        parts = [b""]
        if self.expected:
            flags |= 0x100
        if self.confirmed:
            flags |= 0x200
        if self.completed:
            flags |= 0x400
        parts[0] = _pack_H(flags)
        return b"".join(parts)

    @classmethod
    def unpack_fields(cls, data: bytes, pos: int, end: int) -> tuple[Self, int]:
        found = _new(cls)
        flags = _read_H(data, pos)[0]
        pos += 2
        if flags & 0x700:
            found.expected = flags & 0x100 != 0
            found.confirmed = flags & 0x200 != 0
            found.completed = flags & 0x400 != 0
        else:
            found.expected = False
            found.confirmed = False
            found.completed = False
        return found, pos


class SessionGap(Control):
    """session.gap (0-10 control, code 0x020d)."""

    __slots__ = ("commands",)

    NAME: ClassVar[str] = "session.gap"
    CODE: ClassVar[int] = 0x020D
    FIELDS: ClassVar[tuple[tuple[str, str], ...]] = (
        ("commands", "sequence-set"),
    )
    __match_args__: ClassVar[tuple[str, ...]] = ("commands",)
    HANDLERS: ClassVar[tuple[str, ...]] = ("client", "server")

    commands: SequenceSet | None

    def __init__(
        self,
        commands: SequenceSet | None = None,
    ) -> None:
        self.wire = None
        self.commands = commands

    def pack_fields(self) -> bytes:
        flags = 0
        parts = [b""]
        commands = self.commands
        if commands is not None:
            flags |= 0x100
            parts.append(pack_sequence_set(commands))
        parts[0] = _pack_H(flags)
        return b"".join(parts)

    @classmethod
    def unpack_fields(cls, data: bytes, pos: int, end: int) -> tuple[Self, int]:
        found = _new(cls)
        flags = _read_H(data, pos)[0]
        pos += 2
        if flags & 0x100:
            found.commands, pos = read_sequence_set(data, pos)
        else:
            found.commands = None
        return found, pos


class ExecutionSync(Command[None]):
    """execution.sync (0-10 command, code 0x0301)."""

    __slots__ = ()

    NAME: ClassVar[str] = "execution.sync"
    CODE: ClassVar[int] = 0x0301
    HANDLERS: ClassVar[tuple[str, ...]] = ("client", "server")

    @classmethod
    def unpack_fields(cls, data: bytes, pos: int, end: int) -> tuple[Self, int]:
        return cls(), pos + cls.PACK


class ExecutionResult(Command[None]):
    """execution.result (0-10 command, code 0x0302)."""

    __slots__ = ("command_id", "value")

    NAME: ClassVar[str] = "execution.result"
    CODE: ClassVar[int] = 0x0302
    FIELDS: ClassVar[tuple[tuple[str, str], ...]] = (
        ("command_id", "sequence-no"),
        ("value", "struct32"),
    )
    __match_args__: ClassVar[tuple[str, ...]] = ("command_id", "value")
    REQUIRED: ClassVar[tuple[str, ...]] = ("command_id",)
    MANDATORY: ClassVar[tuple[str, ...]] = ("command_id",)
    HANDLERS: ClassVar[tuple[str, ...]] = ("client", "server")

    command_id: int | None
    value: Any

    def __init__(
        self,
        command_id: int | None = None,
        value: Any = None,
    ) -> None:
        self.wire = None
        self.command_id = command_id
        self.value = value

    def pack_fields(self) -> bytes:
        flags = 0
        parts = [b""]
        command_id = self.command_id
        if command_id is not None:
            flags |= 0x100
            parts.append(_pack_I(command_id))
        value = self.value
        if value is not None:
            flags |= 0x200
            parts.append(pack_struct32(value))
        parts[0] = _pack_H(flags)
        return b"".join(parts)

    @classmethod
    def unpack_fields(cls, data: bytes, pos: int, end: int) -> tuple[Self, int]:
        found = _new(cls)
        flags = _read_H(data, pos)[0]
        pos += 2
        if flags & 0x100:
            found.command_id = _read_I(data, pos)[0]
            pos += 4
        else:
            found.command_id = None
        if flags & 0x200:
            found.value, pos = read_struct32(data, pos)
        else:
            found.value = None
        return found, pos


class ExecutionException(Command[None]):
    """execution.exception (0-10 command, code 0x0303)."""

    __slots__ = (
        "error_code",
        "command_id",
        "class_code",
        "command_code",
        "field_index",
        "description",
        "error_info",
    )

    NAME: ClassVar[str] = "execution.exception"
    CODE: ClassVar[int] = 0x0303
    FIELDS: ClassVar[tuple[tuple[str, str], ...]] = (
        ("error_code", "uint16"),
        ("command_id", "sequence-no"),
        ("class_code", "uint8"),
        ("command_code", "uint8"),
        ("field_index", "uint8"),
        ("description", "str16"),
        ("error_info", "map"),
    )
    __match_args__: ClassVar[tuple[str, ...]] = (
        "error_code",
        "command_id",
        "class_code",
        "command_code",
        "field_index",
        "description",
        "error_info",
    )
    REQUIRED: ClassVar[tuple[str, ...]] = ("error_code",)
    MANDATORY: ClassVar[tuple[str, ...]] = ("error_code",)
    HANDLERS: ClassVar[tuple[str, ...]] = ("client", "server")

    error_code: int | None
    command_id: int | None
    class_code: int | None
    command_code: int | None
    field_index: int | None
    description: str | None
    error_info: Mapping[str, Any] | None

    def __init__(
        self,
        error_code: int | None = None,
        command_id: int | None = None,
        class_code: int | None = None,
        command_code: int | None = None,
        field_index: int | None = None,
        description: str | None = None,
        error_info: Mapping[str, Any] | None = None,
    ) -> None:
        self.wire = None
        self.error_code = error_code
        self.command_id = command_id
        self.class_code = class_code
        self.command_code = command_code
        self.field_index = field_index
        self.description = description
        self.error_info = error_info

    def pack_fields(self) -> bytes:
        flags = 0
        parts = [b""]
        error_code = self.error_code
        if error_code is not None:
            flags |= 0x100
            parts.append(_pack_H(error_code))
        command_id = self.command_id
        if command_id is not None:
            flags |= 0x200
            parts.append(_pack_I(command_id))
        class_code = self.class_code
        if class_code is not None:
            flags |= 0x400
            parts.append(_pack_B(class_code))
        command_code = self.command_code
        if command_code is not None:
            flags |= 0x800
            parts.append(_pack_B(command_code))
        field_index = self.field_index
        if field_index is not None:
            flags |= 0x1000
            parts.append(_pack_B(field_index))
        description = self.description
        if description is not None:
            flags |= 0x2000
            parts.append(pack_str16(description))
        error_info = self.error_info
        if error_info is not None:
            flags |= 0x4000
            parts.append(pack_map(error_info))
        parts[0] = _pack_H(flags)
        return b"".join(parts)

    @classmethod
    def unpack_fields(cls, data: bytes, pos: int, end: int) -> tuple[Self, int]:
        found = _new(cls)
        flags = _read_H(data, pos)[0]
        pos += 2
        if flags & 0x100:
            found.error_code = _read_H(data, pos)[0]
            pos += 2
        else:
            found.error_code = None
        if flags & 0x200:
            found.command_id = _read_I(data, pos)[0]
            pos += 4
        else:
            found.command_id = None
        if flags & 0x400:
            found.class_code = data[pos]
            pos += 1
        else:
            found.class_code = None
        if flags & 0x800:
            found.command_code = data[pos]
            pos += 1
        else:
            found.command_code = None
        if flags & 0x1000:
            found.field_index = data[pos]
            pos += 1
        else:
            found.field_index = None
        if flags & 0x2000:
            start = pos + 2
            pos = start + _read_H(data, pos)[0]
            found.description = data[start:pos].decode("utf-8", "surrogateescape")
        else:
            found.description = None
        if flags & 0x4000:
            start = pos + 4
            pos = start + _read_I(data, pos)[0]
            found.error_info = _map(data[start:pos])
        else:
            found.error_info = None
        return found, pos


class MessageTransfer(Command[None]):
    """message.transfer (0-10 command, code 0x0401)."""

    __slots__ = ("destination", "accept_mode", "acquire_mode")

    NAME: ClassVar[str] = "message.transfer"
    CODE: ClassVar[int] = 0x0401
    FIELDS: ClassVar[tuple[tuple[str, str], ...]] = (
        ("destination", "str8"),
        ("accept_mode", "uint8"),
        ("acquire_mode", "uint8"),
    )
    __match_args__: ClassVar[tuple[str, ...]] = ("destination", "accept_mode", "acquire_mode")
    REQUIRED: ClassVar[tuple[str, ...]] = ("accept_mode", "acquire_mode")
    HANDLERS: ClassVar[tuple[str, ...]] = ("client", "server")
    HEADERS: ClassVar[tuple[str, ...]] = (
        "message.delivery-properties",
        "message.fragment-properties",
        "message.message-properties",
    )
    HAS_BODY: ClassVar[bool] = True

    destination: str | None
    accept_mode: int | None
    acquire_mode: int | None

    def __init__(
        self,
        destination: str | None = None,
        accept_mode: int | None = None,
        acquire_mode: int | None = None,
    ) -> None:
        self.wire = None
        self.destination = destination
        self.accept_mode = accept_mode
        self.acquire_mode = acquire_mode

    def pack_fields(self) -> bytes:
        flags = 0
        parts = [b""]
        destination = self.destination
        if destination is not None:
            flags |= 0x100
            octets = destination.encode("utf-8", "surrogateescape")
            size = len(octets)
            parts += (OCTETS[size], octets) if size < 256 else (pack_str8(destination),)
        accept_mode = self.accept_mode
        if accept_mode is not None:
            flags |= 0x200
            parts.append(_pack_B(accept_mode))
        acquire_mode = self.acquire_mode
        if acquire_mode is not None:
            flags |= 0x400
            parts.append(_pack_B(acquire_mode))
        parts[0] = _pack_H(flags)
        return b"".join(parts)

    @classmethod
    def unpack_fields(cls, data: bytes, pos: int, end: int) -> tuple[Self, int]:
        found = _new(cls)
        flags = _read_H(data, pos)[0]
        pos += 2
        if flags & 0x100:
            start = pos + 1
            pos = start + data[pos]
            found.destination = data[start:pos].decode("utf-8", "surrogateescape")
        else:
            found.destination = None
        if flags & 0x200:
            found.accept_mode = data[pos]
            pos += 1
        else:
            found.accept_mode = None
        if flags & 0x400:
            found.acquire_mode = data[pos]
            pos += 1
        else:
            found.acquire_mode = None
        return found, pos


class MessageAccept(Command[None]):
    """message.accept (0-10 command, code 0x0402)."""

    __slots__ = ("transfers",)

    NAME: ClassVar[str] = "message.accept"
    CODE: ClassVar[int] = 0x0402
    FIELDS: ClassVar[tuple[tuple[str, str], ...]] = (
        ("transfers", "sequence-set"),
    )
    __match_args__: ClassVar[tuple[str, ...]] = ("transfers",)
    REQUIRED: ClassVar[tuple[str, ...]] = ("transfers",)
    MANDATORY: ClassVar[tuple[str, ...]] = ("transfers",)
    HANDLERS: ClassVar[tuple[str, ...]] = ("client", "server")

    transfers: SequenceSet | None

    def __init__(
        self,
        transfers: SequenceSet | None = None,
    ) -> None:
        self.wire = None
        self.transfers = transfers

    def pack_fields(self) -> bytes:
        flags = 0
        parts = [b""]
        transfers = self.transfers
        if transfers is not None:
            flags |= 0x100
            parts.append(pack_sequence_set(transfers))
        parts[0] = _pack_H(flags)
        return b"".join(parts)

    @classmethod
    def unpack_fields(cls, data: bytes, pos: int, end: int) -> tuple[Self, int]:
        found = _new(cls)
        flags = _read_H(data, pos)[0]
        pos += 2
        if flags & 0x100:
            found.transfers, pos = read_sequence_set(data, pos)
        else:
            found.transfers = None
        return found, pos


class MessageReject(Command[None]):
    """message.reject (0-10 command, code 0x0403)."""

    __slots__ = ("transfers", "code", "text")

    NAME: ClassVar[str] = "message.reject"
    CODE: ClassVar[int] = 0x0403
    FIELDS: ClassVar[tuple[tuple[str, str], ...]] = (
        ("transfers", "sequence-set"),
        ("code", "uint16"),
        ("text", "str8"),
    )
    __match_args__: ClassVar[tuple[str, ...]] = ("transfers", "code", "text")
    REQUIRED: ClassVar[tuple[str, ...]] = ("transfers", "code")
    MANDATORY: ClassVar[tuple[str, ...]] = ("transfers",)
    HANDLERS: ClassVar[tuple[str, ...]] = ("client", "server")

    transfers: SequenceSet | None
    code: int | None
    text: str | None

    def __init__(
        self,
        transfers: SequenceSet | None = None,
        code: int | None = None,
        text: str | None = None,
    ) -> None:
        self.wire = None
        self.transfers = transfers
        self.code = code
        self.text = text

    def pack_fields(self) -> bytes:
        flags = 0
        parts = [b""]
        transfers = self.transfers
        if transfers is not None:
            flags |= 0x100
            parts.append(pack_sequence_set(transfers))
        code = self.code
        if code is not None:
            flags |= 0x200
            parts.append(_pack_H(code))
        text = self.text
        if text is not None:
            flags |= 0x400
            octets = text.encode("utf-8", "surrogateescape")
            size = len(octets)
            parts += (OCTETS[size], octets) if size < 256 else (pack_str8(text),)
        parts[0] = _pack_H(flags)
        return b"".join(parts)

    @classmethod
    def unpack_fields(cls, data: bytes, pos: int, end: int) -> tuple[Self, int]:
        found = _new(cls)
        flags = _read_H(data, pos)[0]
        pos += 2
        if flags & 0x100:
            found.transfers, pos = read_sequence_set(data, pos)
        else:
            found.transfers = None
        if flags & 0x200:
            found.code = _read_H(data, pos)[0]
            pos += 2
        else:
            found.code = None
        if flags & 0x400:
            start = pos + 1
            pos = start + data[pos]
            found.text = data[start:pos].decode("utf-8", "surrogateescape")
        else:
            found.text = None
        return found, pos


class MessageRelease(Command[None]):
    """message.release (0-10 command, code 0x0404)."""

    __slots__ = ("transfers", "set_redelivered")

    NAME: ClassVar[str] = "message.release"
    CODE: ClassVar[int] = 0x0404
    FIELDS: ClassVar[tuple[tuple[str, str], ...]] = (
        ("transfers", "sequence-set"),
        ("set_redelivered", "bit"),
    )
    __match_args__: ClassVar[tuple[str, ...]] = ("transfers", "set_redelivered")
    REQUIRED: ClassVar[tuple[str, ...]] = ("transfers",)
    MANDATORY: ClassVar[tuple[str, ...]] = ("transfers",)
    HANDLERS: ClassVar[tuple[str, ...]] = ("client", "server")

    transfers: SequenceSet | None
    set_redelivered: bool

    def __init__(
        self,
        transfers: SequenceSet | None = None,
        set_redelivered: bool = False,
    ) -> None:
        self.wire = None
        self.transfers = transfers
        self.set_redelivered = set_redelivered

    def pack_fields(self) -> bytes:
        flags = 0
        parts = [b""]
        transfers = self.transfers
        if transfers is not None:
            flags |= 0x100
            parts.append(pack_sequence_set(transfers))
        if self.set_redelivered:
            flags |= 0x200
        parts[0] = _pack_H(flags)
        return b"".join(parts)

    @classmethod
    def unpack_fields(cls, data: bytes, pos: int, end: int) -> tuple[Self, int]:
        found = _new(cls)
        flags = _read_H(data, pos)[0]
        pos += 2
        if flags & 0x100:
            found.transfers, pos = read_sequence_set(data, pos)
        else:
            found.transfers = None
        found.set_redelivered = flags & 0x200 != 0
        return found, pos


class MessageAcquire(Command[Acquired]):
    """message.acquire (0-10 command, code 0x0405)."""

    __slots__ = ("transfers",)

    NAME: ClassVar[str] = "message.acquire"
    CODE: ClassVar[int] = 0x0405
    FIELDS: ClassVar[tuple[tuple[str, str], ...]] = (
        ("transfers", "sequence-set"),
    )
    __match_args__: ClassVar[tuple[str, ...]] = ("transfers",)
    REQUIRED: ClassVar[tuple[str, ...]] = ("transfers",)
    MANDATORY: ClassVar[tuple[str, ...]] = ("transfers",)
    HANDLERS: ClassVar[tuple[str, ...]] = ("server",)
    RESULT: ClassVar[str] = "message.acquired"

    transfers: SequenceSet | None

    def __init__(
        self,
        transfers: SequenceSet | None = None,
    ) -> None:
        self.wire = None
        self.transfers = transfers

    def pack_fields(self) -> bytes:
        flags = 0
        parts = [b""]
        transfers = self.transfers
        if transfers is not None:
            flags |= 0x100
            parts.append(pack_sequence_set(transfers))
        parts[0] = _pack_H(flags)
        return b"".join(parts)

    @classmethod
    def unpack_fields(cls, data: bytes, pos: int, end: int) -> tuple[Self, int]:
        found = _new(cls)
        flags = _read_H(data, pos)[0]
        pos += 2
        if flags & 0x100:
            found.transfers, pos = read_sequence_set(data, pos)
        else:
            found.transfers = None
        return found, pos


class MessageResume(Command[MessageResumeResult]):
    """message.resume (0-10 command, code 0x0406)."""

    __slots__ = ("destination", "resume_id")

    NAME: ClassVar[str] = "message.resume"
    CODE: ClassVar[int] = 0x0406
    FIELDS: ClassVar[tuple[tuple[str, str], ...]] = (
        ("destination", "str8"),
        ("resume_id", "str16"),
    )
    __match_args__: ClassVar[tuple[str, ...]] = ("destination", "resume_id")
    REQUIRED: ClassVar[tuple[str, ...]] = ("resume_id",)
    MANDATORY: ClassVar[tuple[str, ...]] = ("resume_id",)
    HANDLERS: ClassVar[tuple[str, ...]] = ("client", "server")
    RESULT: ClassVar[str] = "message.message-resume-result"

    destination: str | None
    resume_id: str | None

    def __init__(
        self,
        destination: str | None = None,
        resume_id: str | None = None,
    ) -> None:
        self.wire = None
        self.destination = destination
        self.resume_id = resume_id

    def pack_fields(self) -> bytes:
        flags = 0
        parts = [b""]
        destination = self.destination
        if destination is not None:
            flags |= 0x100
            octets = destination.encode("utf-8", "surrogateescape")
            size = len(octets)
            parts += (OCTETS[size], octets) if size < 256 else (pack_str8(destination),)
        resume_id = self.resume_id
        if resume_id is not None:
            flags |= 0x200
            parts.append(pack_str16(resume_id))
        parts[0] = _pack_H(flags)
        return b"".join(parts)

    @classmethod
    def unpack_fields(cls, data: bytes, pos: int, end: int) -> tuple[Self, int]:
        found = _new(cls)
        flags = _read_H(data, pos)[0]
        pos += 2
        if flags & 0x100:
            start = pos + 1
            pos = start + data[pos]
            found.destination = data[start:pos].decode("utf-8", "surrogateescape")
        else:
            found.destination = None
        if flags & 0x200:
            start = pos + 2
            pos = start + _read_H(data, pos)[0]
            found.resume_id = data[start:pos].decode("utf-8", "surrogateescape")
        else:
            found.resume_id = None
        return found, pos


class MessageSubscribe(Command[None]):
    """message.subscribe (0-10 command, code 0x0407)."""

    __slots__ = (
        "queue",
        "destination",
        "accept_mode",
        "acquire_mode",
        "exclusive",
        "resume_id",
        "resume_ttl",
        "arguments",
    )

    NAME: ClassVar[str] = "message.subscribe"
    CODE: ClassVar[int] = 0x0407
    FIELDS: ClassVar[tuple[tuple[str, str], ...]] = (
        ("queue", "str8"),
        ("destination", "str8"),
        ("accept_mode", "uint8"),
        ("acquire_mode", "uint8"),
        ("exclusive", "bit"),
        ("resume_id", "str16"),
        ("resume_ttl", "uint64"),
        ("arguments", "map"),
    )
    __match_args__: ClassVar[tuple[str, ...]] = (
        "queue",
        "destination",
        "accept_mode",
        "acquire_mode",
        "exclusive",
        "resume_id",
        "resume_ttl",
        "arguments",
    )
    REQUIRED: ClassVar[tuple[str, ...]] = ("queue", "accept_mode", "acquire_mode")
    MANDATORY: ClassVar[tuple[str, ...]] = ("queue",)
    HANDLERS: ClassVar[tuple[str, ...]] = ("server",)

    queue: str | None
    destination: str | None
    accept_mode: int | None
    acquire_mode: int | None
    exclusive: bool
    resume_id: str | None
    resume_ttl: int | None
    arguments: Mapping[str, Any] | None

    def __init__(
        self,
        queue: str | None = None,
        destination: str | None = None,
        accept_mode: int | None = None,
        acquire_mode: int | None = None,
        exclusive: bool = False,
        resume_id: str | None = None,
        resume_ttl: int | None = None,
        arguments: Mapping[str, Any] | None = None,
    ) -> None:
        self.wire = None
        self.queue = queue
        self.destination = destination
        self.accept_mode = accept_mode
        self.acquire_mode = acquire_mode
        self.exclusive = exclusive
        self.resume_id = resume_id
        self.resume_ttl = resume_ttl
        self.arguments = arguments

    def pack_fields(self) -> bytes:
        flags = 0
        parts = [b""]
        queue = self.queue
        if queue is not None:
            flags |= 0x100
            octets = queue.encode("utf-8", "surrogateescape")
            size = len(octets)
            parts += (OCTETS[size], octets) if size < 256 else (pack_str8(queue),)
        destination = self.destination
        if destination is not None:
            flags |= 0x200
            octets = destination.encode("utf-8", "surrogateescape")
            size = len(octets)
            parts += (OCTETS[size], octets) if size < 256 else (pack_str8(destination),)
        accept_mode = self.accept_mode
        if accept_mode is not None:
            flags |= 0x400
            parts.append(_pack_B(accept_mode))
        acquire_mode = self.acquire_mode
        if acquire_mode is not None:
            flags |= 0x800
            parts.append(_pack_B(acquire_mode))
        if self.exclusive:
            flags |= 0x1000
        resume_id = self.resume_id
        if resume_id is not None:
            flags |= 0x2000
            parts.append(pack_str16(resume_id))
        resume_ttl = self.resume_ttl
        if resume_ttl is not None:
            flags |= 0x4000
            parts.append(_pack_Q(resume_ttl))
        arguments = self.arguments
        if arguments is not None:
            flags |= 0x8000
            parts.append(pack_map(arguments))
        parts[0] = _pack_H(flags)
        return b"".join(parts)

    @classmethod
    def unpack_fields(cls, data: bytes, pos: int, end: int) -> tuple[Self, int]:
        found = _new(cls)
        flags = _read_H(data, pos)[0]
        pos += 2
        if flags & 0x100:
            start = pos + 1
            pos = start + data[pos]
            found.queue = data[start:pos].decode("utf-8", "surrogateescape")
        else:
            found.queue = None
        if flags & 0x200:
            start = pos + 1
            pos = start + data[pos]
            found.destination = data[start:pos].decode("utf-8", "surrogateescape")
        else:
            found.destination = None
        if flags & 0x400:
            found.accept_mode = data[pos]
            pos += 1
        else:
            found.accept_mode = None
        if flags & 0x800:
            found.acquire_mode = data[pos]
            pos += 1
        else:
            found.acquire_mode = None
        found.exclusive = flags & 0x1000 != 0
        if flags & 0x2000:
            start = pos + 2
            pos = start + _read_H(data, pos)[0]
            found.resume_id = data[start:pos].decode("utf-8", "surrogateescape")
        else:
            found.resume_id = None
        if flags & 0x4000:
            found.resume_ttl = _read_Q(data, pos)[0]
            pos += 8
        else:
            found.resume_ttl = None
        if flags & 0x8000:
            start = pos + 4
            pos = start + _read_I(data, pos)[0]
            found.arguments = _map(data[start:pos])
        else:
            found.arguments = None
        return found, pos


class MessageCancel(Command[None]):
    """message.cancel (0-10 command, code 0x0408)."""

    __slots__ = ("destination",)

    NAME: ClassVar[str] = "message.cancel"
    CODE: ClassVar[int] = 0x0408
    FIELDS: ClassVar[tuple[tuple[str, str], ...]] = (
        ("destination", "str8"),
    )
    __match_args__: ClassVar[tuple[str, ...]] = ("destination",)
    REQUIRED: ClassVar[tuple[str, ...]] = ("destination",)
    MANDATORY: ClassVar[tuple[str, ...]] = ("destination",)
    HANDLERS: ClassVar[tuple[str, ...]] = ("server",)

    destination: str | None

    def __init__(
        self,
        destination: str | None = None,
    ) -> None:
        self.wire = None
        self.destination = destination

    def pack_fields(self) -> bytes:
        flags = 0
        parts = [b""]
        destination = self.destination
        if destination is not None:
            flags |= 0x100
            octets = destination.encode("utf-8", "surrogateescape")
            size = len(octets)
            parts += (OCTETS[size], octets) if size < 256 else (pack_str8(destination),)
        parts[0] = _pack_H(flags)
        return b"".join(parts)

    @classmethod
    def unpack_fields(cls, data: bytes, pos: int, end: int) -> tuple[Self, int]:
        found = _new(cls)
        flags = _read_H(data, pos)[0]
        pos += 2
        if flags & 0x100:
            start = pos + 1
            pos = start + data[pos]
            found.destination = data[start:pos].decode("utf-8", "surrogateescape")
        else:
            found.destination = None
        return found, pos


class MessageSetFlowMode(Command[None]):
    """message.set-flow-mode (0-10 command, code 0x0409)."""

    __slots__ = ("destination", "flow_mode")

    NAME: ClassVar[str] = "message.set-flow-mode"
    CODE: ClassVar[int] = 0x0409
    FIELDS: ClassVar[tuple[tuple[str, str], ...]] = (
        ("destination", "str8"),
        ("flow_mode", "uint8"),
    )
    __match_args__: ClassVar[tuple[str, ...]] = ("destination", "flow_mode")
    REQUIRED: ClassVar[tuple[str, ...]] = ("flow_mode",)
    MANDATORY: ClassVar[tuple[str, ...]] = ("flow_mode",)
    HANDLERS: ClassVar[tuple[str, ...]] = ("client", "server")

    destination: str | None
    flow_mode: int | None

    def __init__(
        self,
        destination: str | None = None,
        flow_mode: int | None = None,
    ) -> None:
        self.wire = None
        self.destination = destination
        self.flow_mode = flow_mode

    def pack_fields(self) -> bytes:
        flags = 0
        parts = [b""]
        destination = self.destination
        if destination is not None:
            flags |= 0x100
            octets = destination.encode("utf-8", "surrogateescape")
            size = len(octets)
            parts += (OCTETS[size], octets) if size < 256 else (pack_str8(destination),)
        flow_mode = self.flow_mode
        if flow_mode is not None:
            flags |= 0x200
            parts.append(_pack_B(flow_mode))
        parts[0] = _pack_H(flags)
        return b"".join(parts)

    @classmethod
    def unpack_fields(cls, data: bytes, pos: int, end: int) -> tuple[Self, int]:
        found = _new(cls)
        flags = _read_H(data, pos)[0]
        pos += 2
        if flags & 0x100:
            start = pos + 1
            pos = start + data[pos]
            found.destination = data[start:pos].decode("utf-8", "surrogateescape")
        else:
            found.destination = None
        if flags & 0x200:
            found.flow_mode = data[pos]
            pos += 1
        else:
            found.flow_mode = None
        return found, pos


class MessageFlow(Command[None]):
    """message.flow (0-10 command, code 0x040a)."""

    __slots__ = ("destination", "unit", "value")

    NAME: ClassVar[str] = "message.flow"
    CODE: ClassVar[int] = 0x040A
    FIELDS: ClassVar[tuple[tuple[str, str], ...]] = (
        ("destination", "str8"),
        ("unit", "uint8"),
        ("value", "uint32"),
    )
    __match_args__: ClassVar[tuple[str, ...]] = ("destination", "unit", "value")
    REQUIRED: ClassVar[tuple[str, ...]] = ("unit",)
    MANDATORY: ClassVar[tuple[str, ...]] = ("unit",)
    HANDLERS: ClassVar[tuple[str, ...]] = ("client", "server")

    destination: str | None
    unit: int | None
    value: int | None

    def __init__(
        self,
        destination: str | None = None,
        unit: int | None = None,
        value: int | None = None,
    ) -> None:
        self.wire = None
        self.destination = destination
        self.unit = unit
        self.value = value

    def pack_fields(self) -> bytes:
        flags = 0
        parts = [b""]
        destination = self.destination
        if destination is not None:
            flags |= 0x100
            octets = destination.encode("utf-8", "surrogateescape")
            size = len(octets)
            parts += (OCTETS[size], octets) if size < 256 else (pack_str8(destination),)
        unit = self.unit
        if unit is not None:
            flags |= 0x200
            parts.append(_pack_B(unit))
        value = self.value
        if value is not None:
            flags |= 0x400
            parts.append(_pack_I(value))
        parts[0] = _pack_H(flags)
        return b"".join(parts)

    @classmethod
    def unpack_fields(cls, data: bytes, pos: int, end: int) -> tuple[Self, int]:
        found = _new(cls)
        flags = _read_H(data, pos)[0]
        pos += 2
        if flags & 0x100:
            start = pos + 1
            pos = start + data[pos]
            found.destination = data[start:pos].decode("utf-8", "surrogateescape")
        else:
            found.destination = None
        if flags & 0x200:
            found.unit = data[pos]
            pos += 1
        else:
            found.unit = None
        if flags & 0x400:
            found.value = _read_I(data, pos)[0]
            pos += 4
        else:
            found.value = None
        return found, pos


class MessageFlush(Command[None]):
    """message.flush (0-10 command, code 0x040b)."""

    __slots__ = ("destination",)

    NAME: ClassVar[str] = "message.flush"
    CODE: ClassVar[int] = 0x040B
    FIELDS: ClassVar[tuple[tuple[str, str], ...]] = (
        ("destination", "str8"),
    )
    __match_args__: ClassVar[tuple[str, ...]] = ("destination",)
    HANDLERS: ClassVar[tuple[str, ...]] = ("server",)

    destination: str | None

    def __init__(
        self,
        destination: str | None = None,
    ) -> None:
        self.wire = None
        self.destination = destination

    def pack_fields(self) -> bytes:
        flags = 0
        parts = [b""]
        destination = self.destination
        if destination is not None:
            flags |= 0x100
            octets = destination.encode("utf-8", "surrogateescape")
            size = len(octets)
            parts += (OCTETS[size], octets) if size < 256 else (pack_str8(destination),)
        parts[0] = _pack_H(flags)
        return b"".join(parts)

    @classmethod
    def unpack_fields(cls, data: bytes, pos: int, end: int) -> tuple[Self, int]:
        found = _new(cls)
        flags = _read_H(data, pos)[0]
        pos += 2
        if flags & 0x100:
            start = pos + 1
            pos = start + data[pos]
            found.destination = data[start:pos].decode("utf-8", "surrogateescape")
        else:
            found.destination = None
        return found, pos


class MessageStop(Command[None]):
    """message.stop (0-10 command, code 0x040c)."""

    __slots__ = ("destination",)

    NAME: ClassVar[str] = "message.stop"
    CODE: ClassVar[int] = 0x040C
    FIELDS: ClassVar[tuple[tuple[str, str], ...]] = (
        ("destination", "str8"),
    )
    __match_args__: ClassVar[tuple[str, ...]] = ("destination",)
    HANDLERS: ClassVar[tuple[str, ...]] = ("client", "server")

    destination: str | None

    def __init__(
        self,
        destination: str | None = None,
    ) -> None:
        self.wire = None
        self.destination = destination

    def pack_fields(self) -> bytes:
        flags = 0
        parts = [b""]
        destination = self.destination
        if destination is not None:
            flags |= 0x100
            octets = destination.encode("utf-8", "surrogateescape")
            size = len(octets)
            parts += (OCTETS[size], octets) if size < 256 else (pack_str8(destination),)
        parts[0] = _pack_H(flags)
        return b"".join(parts)

    @classmethod
    def unpack_fields(cls, data: bytes, pos: int, end: int) -> tuple[Self, int]:
        found = _new(cls)
        flags = _read_H(data, pos)[0]
        pos += 2
        if flags & 0x100:
            start = pos + 1
            pos = start + data[pos]
            found.destination = data[start:pos].decode("utf-8", "surrogateescape")
        else:
            found.destination = None
        return found, pos


class TxSelect(Command[None]):
    """tx.select (0-10 command, code 0x0501)."""

    __slots__ = ()

    NAME: ClassVar[str] = "tx.select"
    CODE: ClassVar[int] = 0x0501
    HANDLERS: ClassVar[tuple[str, ...]] = ("server",)

    @classmethod
    def unpack_fields(cls, data: bytes, pos: int, end: int) -> tuple[Self, int]:
        return cls(), pos + cls.PACK


class TxCommit(Command[None]):
    """tx.commit (0-10 command, code 0x0502)."""

    __slots__ = ()

    NAME: ClassVar[str] = "tx.commit"
    CODE: ClassVar[int] = 0x0502
    HANDLERS: ClassVar[tuple[str, ...]] = ("server",)

    @classmethod
    def unpack_fields(cls, data: bytes, pos: int, end: int) -> tuple[Self, int]:
        return cls(), pos + cls.PACK


class TxRollback(Command[None]):
    """tx.rollback (0-10 command, code 0x0503)."""

    __slots__ = ()

    NAME: ClassVar[str] = "tx.rollback"
    CODE: ClassVar[int] = 0x0503
    HANDLERS: ClassVar[tuple[str, ...]] = ("server",)

    @classmethod
    def unpack_fields(cls, data: bytes, pos: int, end: int) -> tuple[Self, int]:
        return cls(), pos + cls.PACK


class DtxSelect(Command[None]):
    """dtx.select (0-10 command, code 0x0601)."""

    __slots__ = ()

    NAME: ClassVar[str] = "dtx.select"
    CODE: ClassVar[int] = 0x0601
    HANDLERS: ClassVar[tuple[str, ...]] = ("server",)

    @classmethod
    def unpack_fields(cls, data: bytes, pos: int, end: int) -> tuple[Self, int]:
        return cls(), pos + cls.PACK


class DtxStart(Command[XaResult]):
    """dtx.start (0-10 command, code 0x0602)."""

    __slots__ = ("xid", "join", "resume")

    NAME: ClassVar[str] = "dtx.start"
    CODE: ClassVar[int] = 0x0602
    FIELDS: ClassVar[tuple[tuple[str, str], ...]] = (
        ("xid", "dtx.xid"),
        ("join", "bit"),
        ("resume", "bit"),
    )
    __match_args__: ClassVar[tuple[str, ...]] = ("xid", "join", "resume")
    REQUIRED: ClassVar[tuple[str, ...]] = ("xid",)
    MANDATORY: ClassVar[tuple[str, ...]] = ("xid",)
    HANDLERS: ClassVar[tuple[str, ...]] = ("server",)
    RESULT: ClassVar[str] = "dtx.xa-result"

    xid: Xid | None
    join: bool
    resume: bool

    def __init__(
        self,
        xid: Xid | None = None,
        join: bool = False,
        resume: bool = False,
    ) -> None:
        self.wire = None
        self.xid = xid
        self.join = join
        self.resume = resume

    def pack_fields(self) -> bytes:
        flags = 0
        parts = [b""]
        xid = self.xid
        if xid is not None:
            flags |= 0x100
            parts.append(xid.encode_sized())
        if self.join:
            flags |= 0x200
        if self.resume:
            flags |= 0x400
        parts[0] = _pack_H(flags)
        return b"".join(parts)

    @classmethod
    def unpack_fields(cls, data: bytes, pos: int, end: int) -> tuple[Self, int]:
        found = _new(cls)
        flags = _read_H(data, pos)[0]
        pos += 2
        if flags & 0x100:
            found.xid, pos = read_xid(data, pos, end)
        else:
            found.xid = None
        if flags & 0x600:
            found.join = flags & 0x200 != 0
            found.resume = flags & 0x400 != 0
        else:
            found.join = False
            found.resume = False
        return found, pos


class DtxEnd(Command[XaResult]):
    """dtx.end (0-10 command, code 0x0603)."""

    __slots__ = ("xid", "fail", "suspend")

    NAME: ClassVar[str] = "dtx.end"
    CODE: ClassVar[int] = 0x0603
    FIELDS: ClassVar[tuple[tuple[str, str], ...]] = (
        ("xid", "dtx.xid"),
        ("fail", "bit"),
        ("suspend", "bit"),
    )
    __match_args__: ClassVar[tuple[str, ...]] = ("xid", "fail", "suspend")
    REQUIRED: ClassVar[tuple[str, ...]] = ("xid",)
    MANDATORY: ClassVar[tuple[str, ...]] = ("xid",)
    HANDLERS: ClassVar[tuple[str, ...]] = ("server",)
    RESULT: ClassVar[str] = "dtx.xa-result"

    xid: Xid | None
    fail: bool
    suspend: bool

    def __init__(
        self,
        xid: Xid | None = None,
        fail: bool = False,
        suspend: bool = False,
    ) -> None:
        self.wire = None
        self.xid = xid
        self.fail = fail
        self.suspend = suspend

    def pack_fields(self) -> bytes:
        flags = 0
        parts = [b""]
        xid = self.xid
        if xid is not None:
            flags |= 0x100
            parts.append(xid.encode_sized())
        if self.fail:
            flags |= 0x200
        if self.suspend:
            flags |= 0x400
        parts[0] = _pack_H(flags)
        return b"".join(parts)

    @classmethod
    def unpack_fields(cls, data: bytes, pos: int, end: int) -> tuple[Self, int]:
        found = _new(cls)
        flags = _read_H(data, pos)[0]
        pos += 2
        if flags & 0x100:
            found.xid, pos = read_xid(data, pos, end)
        else:
            found.xid = None
        if flags & 0x600:
            found.fail = flags & 0x200 != 0
            found.suspend = flags & 0x400 != 0
        else:
            found.fail = False
            found.suspend = False
        return found, pos


class DtxCommit(Command[XaResult]):
    """dtx.commit (0-10 command, code 0x0604)."""

    __slots__ = ("xid", "one_phase")

    NAME: ClassVar[str] = "dtx.commit"
    CODE: ClassVar[int] = 0x0604
    FIELDS: ClassVar[tuple[tuple[str, str], ...]] = (
        ("xid", "dtx.xid"),
        ("one_phase", "bit"),
    )
    __match_args__: ClassVar[tuple[str, ...]] = ("xid", "one_phase")
    REQUIRED: ClassVar[tuple[str, ...]] = ("xid",)
    MANDATORY: ClassVar[tuple[str, ...]] = ("xid",)
    HANDLERS: ClassVar[tuple[str, ...]] = ("server",)
    RESULT: ClassVar[str] = "dtx.xa-result"

    xid: Xid | None
    one_phase: bool

    def __init__(
        self,
        xid: Xid | None = None,
        one_phase: bool = False,
    ) -> None:
        self.wire = None
        self.xid = xid
        self.one_phase = one_phase

    def pack_fields(self) -> bytes:
        flags = 0
        parts = [b""]
        xid = self.xid
        if xid is not None:
            flags |= 0x100
            parts.append(xid.encode_sized())
        if self.one_phase:
            flags |= 0x200
        parts[0] = _pack_H(flags)
        return b"".join(parts)

    @classmethod
    def unpack_fields(cls, data: bytes, pos: int, end: int) -> tuple[Self, int]:
        found = _new(cls)
        flags = _read_H(data, pos)[0]
        pos += 2
        if flags & 0x100:
            found.xid, pos = read_xid(data, pos, end)
        else:
            found.xid = None
        found.one_phase = flags & 0x200 != 0
        return found, pos


class DtxForget(Command[None]):
    """dtx.forget (0-10 command, code 0x0605)."""

    __slots__ = ("xid",)

    NAME: ClassVar[str] = "dtx.forget"
    CODE: ClassVar[int] = 0x0605
    FIELDS: ClassVar[tuple[tuple[str, str], ...]] = (
        ("xid", "dtx.xid"),
    )
    __match_args__: ClassVar[tuple[str, ...]] = ("xid",)
    REQUIRED: ClassVar[tuple[str, ...]] = ("xid",)
    MANDATORY: ClassVar[tuple[str, ...]] = ("xid",)
    HANDLERS: ClassVar[tuple[str, ...]] = ("server",)

    xid: Xid | None

    def __init__(
        self,
        xid: Xid | None = None,
    ) -> None:
        self.wire = None
        self.xid = xid

    def pack_fields(self) -> bytes:
        flags = 0
        parts = [b""]
        xid = self.xid
        if xid is not None:
            flags |= 0x100
            parts.append(xid.encode_sized())
        parts[0] = _pack_H(flags)
        return b"".join(parts)

    @classmethod
    def unpack_fields(cls, data: bytes, pos: int, end: int) -> tuple[Self, int]:
        found = _new(cls)
        flags = _read_H(data, pos)[0]
        pos += 2
        if flags & 0x100:
            found.xid, pos = read_xid(data, pos, end)
        else:
            found.xid = None
        return found, pos


class DtxGetTimeout(Command[GetTimeoutResult]):
    """dtx.get-timeout (0-10 command, code 0x0606)."""

    __slots__ = ("xid",)

    NAME: ClassVar[str] = "dtx.get-timeout"
    CODE: ClassVar[int] = 0x0606
    FIELDS: ClassVar[tuple[tuple[str, str], ...]] = (
        ("xid", "dtx.xid"),
    )
    __match_args__: ClassVar[tuple[str, ...]] = ("xid",)
    REQUIRED: ClassVar[tuple[str, ...]] = ("xid",)
    MANDATORY: ClassVar[tuple[str, ...]] = ("xid",)
    HANDLERS: ClassVar[tuple[str, ...]] = ("server",)
    RESULT: ClassVar[str] = "dtx.get-timeout-result"

    xid: Xid | None

    def __init__(
        self,
        xid: Xid | None = None,
    ) -> None:
        self.wire = None
        self.xid = xid

    def pack_fields(self) -> bytes:
        flags = 0
        parts = [b""]
        xid = self.xid
        if xid is not None:
            flags |= 0x100
            parts.append(xid.encode_sized())
        parts[0] = _pack_H(flags)
        return b"".join(parts)

    @classmethod
    def unpack_fields(cls, data: bytes, pos: int, end: int) -> tuple[Self, int]:
        found = _new(cls)
        flags = _read_H(data, pos)[0]
        pos += 2
        if flags & 0x100:
            found.xid, pos = read_xid(data, pos, end)
        else:
            found.xid = None
        return found, pos


class DtxPrepare(Command[XaResult]):
    """dtx.prepare (0-10 command, code 0x0607)."""

    __slots__ = ("xid",)

    NAME: ClassVar[str] = "dtx.prepare"
    CODE: ClassVar[int] = 0x0607
    FIELDS: ClassVar[tuple[tuple[str, str], ...]] = (
        ("xid", "dtx.xid"),
    )
    __match_args__: ClassVar[tuple[str, ...]] = ("xid",)
    REQUIRED: ClassVar[tuple[str, ...]] = ("xid",)
    MANDATORY: ClassVar[tuple[str, ...]] = ("xid",)
    HANDLERS: ClassVar[tuple[str, ...]] = ("server",)
    RESULT: ClassVar[str] = "dtx.xa-result"

    xid: Xid | None

    def __init__(
        self,
        xid: Xid | None = None,
    ) -> None:
        self.wire = None
        self.xid = xid

    def pack_fields(self) -> bytes:
        flags = 0
        parts = [b""]
        xid = self.xid
        if xid is not None:
            flags |= 0x100
            parts.append(xid.encode_sized())
        parts[0] = _pack_H(flags)
        return b"".join(parts)

    @classmethod
    def unpack_fields(cls, data: bytes, pos: int, end: int) -> tuple[Self, int]:
        found = _new(cls)
        flags = _read_H(data, pos)[0]
        pos += 2
        if flags & 0x100:
            found.xid, pos = read_xid(data, pos, end)
        else:
            found.xid = None
        return found, pos


class DtxRecover(Command[RecoverResult]):
    """dtx.recover (0-10 command, code 0x0608)."""

    __slots__ = ()

    NAME: ClassVar[str] = "dtx.recover"
    CODE: ClassVar[int] = 0x0608
    HANDLERS: ClassVar[tuple[str, ...]] = ("server",)
    RESULT: ClassVar[str] = "dtx.recover-result"

    @classmethod
    def unpack_fields(cls, data: bytes, pos: int, end: int) -> tuple[Self, int]:
        return cls(), pos + cls.PACK


class DtxRollback(Command[XaResult]):
    """dtx.rollback (0-10 command, code 0x0609)."""

    __slots__ = ("xid",)

    NAME: ClassVar[str] = "dtx.rollback"
    CODE: ClassVar[int] = 0x0609
    FIELDS: ClassVar[tuple[tuple[str, str], ...]] = (
        ("xid", "dtx.xid"),
    )
    __match_args__: ClassVar[tuple[str, ...]] = ("xid",)
    REQUIRED: ClassVar[tuple[str, ...]] = ("xid",)
    MANDATORY: ClassVar[tuple[str, ...]] = ("xid",)
    HANDLERS: ClassVar[tuple[str, ...]] = ("server",)
    RESULT: ClassVar[str] = "dtx.xa-result"

    xid: Xid | None

    def __init__(
        self,
        xid: Xid | None = None,
    ) -> None:
        self.wire = None
        self.xid = xid

    def pack_fields(self) -> bytes:
        flags = 0
        parts = [b""]
        xid = self.xid
        if xid is not None:
            flags |= 0x100
            parts.append(xid.encode_sized())
        parts[0] = _pack_H(flags)
        return b"".join(parts)

    @classmethod
    def unpack_fields(cls, data: bytes, pos: int, end: int) -> tuple[Self, int]:
        found = _new(cls)
        flags = _read_H(data, pos)[0]
        pos += 2
        if flags & 0x100:
            found.xid, pos = read_xid(data, pos, end)
        else:
            found.xid = None
        return found, pos


class DtxSetTimeout(Command[None]):
    """dtx.set-timeout (0-10 command, code 0x060a)."""

    __slots__ = ("xid", "timeout")

    NAME: ClassVar[str] = "dtx.set-timeout"
    CODE: ClassVar[int] = 0x060A
    FIELDS: ClassVar[tuple[tuple[str, str], ...]] = (
        ("xid", "dtx.xid"),
        ("timeout", "uint32"),
    )
    __match_args__: ClassVar[tuple[str, ...]] = ("xid", "timeout")
    REQUIRED: ClassVar[tuple[str, ...]] = ("xid", "timeout")
    MANDATORY: ClassVar[tuple[str, ...]] = ("xid", "timeout")
    HANDLERS: ClassVar[tuple[str, ...]] = ("server",)

    xid: Xid | None
    timeout: int | None

    def __init__(
        self,
        xid: Xid | None = None,
        timeout: int | None = None,
    ) -> None:
        self.wire = None
        self.xid = xid
        self.timeout = timeout

    def pack_fields(self) -> bytes:
        flags = 0
        parts = [b""]
        xid = self.xid
        if xid is not None:
            flags |= 0x100
            parts.append(xid.encode_sized())
        timeout = self.timeout
        if timeout is not None:
            flags |= 0x200
            parts.append(_pack_I(timeout))
        parts[0] = _pack_H(flags)
        return b"".join(parts)

    @classmethod
    def unpack_fields(cls, data: bytes, pos: int, end: int) -> tuple[Self, int]:
        found = _new(cls)
        flags = _read_H(data, pos)[0]
        pos += 2
        if flags & 0x100:
            found.xid, pos = read_xid(data, pos, end)
        else:
            found.xid = None
        if flags & 0x200:
            found.timeout = _read_I(data, pos)[0]
            pos += 4
        else:
            found.timeout = None
        return found, pos


class ExchangeDeclare(Command[None]):
    """exchange.declare (0-10 command, code 0x0701)."""

    __slots__ = (
        "exchange",
        "type",
        "alternate_exchange",
        "passive",
        "durable",
        "auto_delete",
        "arguments",
    )

    NAME: ClassVar[str] = "exchange.declare"
    CODE: ClassVar[int] = 0x0701
    FIELDS: ClassVar[tuple[tuple[str, str], ...]] = (
        ("exchange", "str8"),
        ("type", "str8"),
        ("alternate_exchange", "str8"),
        ("passive", "bit"),
        ("durable", "bit"),
        ("auto_delete", "bit"),
        ("arguments", "map"),
    )
    __match_args__: ClassVar[tuple[str, ...]] = (
        "exchange",
        "type",
        "alternate_exchange",
        "passive",
        "durable",
        "auto_delete",
        "arguments",
    )
    REQUIRED: ClassVar[tuple[str, ...]] = ("exchange", "type")
    MANDATORY: ClassVar[tuple[str, ...]] = ("exchange", "type")
    HANDLERS: ClassVar[tuple[str, ...]] = ("server",)

    exchange: str | None
    type: str | None
    alternate_exchange: str | None
    passive: bool
    durable: bool
    auto_delete: bool
    arguments: Mapping[str, Any] | None

    def __init__(
        self,
        exchange: str | None = None,
        type: str | None = None,
        alternate_exchange: str | None = None,
        passive: bool = False,
        durable: bool = False,
        auto_delete: bool = False,
        arguments: Mapping[str, Any] | None = None,
    ) -> None:
        self.wire = None
        self.exchange = exchange
        self.type = type
        self.alternate_exchange = alternate_exchange
        self.passive = passive
        self.durable = durable
        self.auto_delete = auto_delete
        self.arguments = arguments

    def pack_fields(self) -> bytes:
        flags = 0
        parts = [b""]
        exchange = self.exchange
        if exchange is not None:
            flags |= 0x100
            octets = exchange.encode("utf-8", "surrogateescape")
            size = len(octets)
            parts += (OCTETS[size], octets) if size < 256 else (pack_str8(exchange),)
        type = self.type
        if type is not None:
            flags |= 0x200
            octets = type.encode("utf-8", "surrogateescape")
            size = len(octets)
            parts += (OCTETS[size], octets) if size < 256 else (pack_str8(type),)
        alternate_exchange = self.alternate_exchange
        if alternate_exchange is not None:
            flags |= 0x400
            octets = alternate_exchange.encode("utf-8", "surrogateescape")
            size = len(octets)
            parts += (OCTETS[size], octets) if size < 256 else (pack_str8(alternate_exchange),)
        if self.passive:
            flags |= 0x800
        if self.durable:
            flags |= 0x1000
        if self.auto_delete:
            flags |= 0x2000
        arguments = self.arguments
        if arguments is not None:
            flags |= 0x4000
            parts.append(pack_map(arguments))
        parts[0] = _pack_H(flags)
        return b"".join(parts)

    @classmethod
    def unpack_fields(cls, data: bytes, pos: int, end: int) -> tuple[Self, int]:
        found = _new(cls)
        flags = _read_H(data, pos)[0]
        pos += 2
        if flags & 0x100:
            start = pos + 1
            pos = start + data[pos]
            found.exchange = data[start:pos].decode("utf-8", "surrogateescape")
        else:
            found.exchange = None
        if flags & 0x200:
            start = pos + 1
            pos = start + data[pos]
            found.type = data[start:pos].decode("utf-8", "surrogateescape")
        else:
            found.type = None
        if flags & 0x400:
            start = pos + 1
            pos = start + data[pos]
            found.alternate_exchange = data[start:pos].decode("utf-8", "surrogateescape")
        else:
            found.alternate_exchange = None
        if flags & 0x3800:
            found.passive = flags & 0x800 != 0
            found.durable = flags & 0x1000 != 0
            found.auto_delete = flags & 0x2000 != 0
        else:
            found.passive = False
            found.durable = False
            found.auto_delete = False
        if flags & 0x4000:
            start = pos + 4
            pos = start + _read_I(data, pos)[0]
            found.arguments = _map(data[start:pos])
        else:
            found.arguments = None
        return found, pos


class ExchangeDelete(Command[None]):
    """exchange.delete (0-10 command, code 0x0702)."""

    __slots__ = ("exchange", "if_unused")

    NAME: ClassVar[str] = "exchange.delete"
    CODE: ClassVar[int] = 0x0702
    FIELDS: ClassVar[tuple[tuple[str, str], ...]] = (
        ("exchange", "str8"),
        ("if_unused", "bit"),
    )
    __match_args__: ClassVar[tuple[str, ...]] = ("exchange", "if_unused")
    REQUIRED: ClassVar[tuple[str, ...]] = ("exchange",)
    MANDATORY: ClassVar[tuple[str, ...]] = ("exchange",)
    HANDLERS: ClassVar[tuple[str, ...]] = ("server",)

    exchange: str | None
    if_unused: bool

    def __init__(
        self,
        exchange: str | None = None,
        if_unused: bool = False,
    ) -> None:
        self.wire = None
        self.exchange = exchange
        self.if_unused = if_unused

    def pack_fields(self) -> bytes:
        flags = 0
        parts = [b""]
        exchange = self.exchange
        if exchange is not None:
            flags |= 0x100
            octets = exchange.encode("utf-8", "surrogateescape")
            size = len(octets)
            parts += (OCTETS[size], octets) if size < 256 else (pack_str8(exchange),)
        if self.if_unused:
            flags |= 0x200
        parts[0] = _pack_H(flags)
        return b"".join(parts)

    @classmethod
    def unpack_fields(cls, data: bytes, pos: int, end: int) -> tuple[Self, int]:
        found = _new(cls)
        flags = _read_H(data, pos)[0]
        pos += 2
        if flags & 0x100:
            start = pos + 1
            pos = start + data[pos]
            found.exchange = data[start:pos].decode("utf-8", "surrogateescape")
        else:
            found.exchange = None
        found.if_unused = flags & 0x200 != 0
        return found, pos


class ExchangeQuery(Command[ExchangeQueryResult]):
    """exchange.query (0-10 command, code 0x0703)."""

    __slots__ = ("name",)

    NAME: ClassVar[str] = "exchange.query"
    CODE: ClassVar[int] = 0x0703
    FIELDS: ClassVar[tuple[tuple[str, str], ...]] = (
        ("name", "str8"),
    )
    __match_args__: ClassVar[tuple[str, ...]] = ("name",)
    HANDLERS: ClassVar[tuple[str, ...]] = ("server",)
    RESULT: ClassVar[str] = "exchange.exchange-query-result"

    name: str | None

    def __init__(
        self,
        name: str | None = None,
    ) -> None:
        self.wire = None
        self.name = name

    def pack_fields(self) -> bytes:
        flags = 0
        parts = [b""]
        name = self.name
        if name is not None:
            flags |= 0x100
            octets = name.encode("utf-8", "surrogateescape")
            size = len(octets)
            parts += (OCTETS[size], octets) if size < 256 else (pack_str8(name),)
        parts[0] = _pack_H(flags)
        return b"".join(parts)

    @classmethod
    def unpack_fields(cls, data: bytes, pos: int, end: int) -> tuple[Self, int]:
        found = _new(cls)
        flags = _read_H(data, pos)[0]
        pos += 2
        if flags & 0x100:
            start = pos + 1
            pos = start + data[pos]
            found.name = data[start:pos].decode("utf-8", "surrogateescape")
        else:
            found.name = None
        return found, pos


class ExchangeBind(Command[None]):
    """exchange.bind (0-10 command, code 0x0704)."""

    __slots__ = ("queue", "exchange", "binding_key", "arguments")

    NAME: ClassVar[str] = "exchange.bind"
    CODE: ClassVar[int] = 0x0704
    FIELDS: ClassVar[tuple[tuple[str, str], ...]] = (
        ("queue", "str8"),
        ("exchange", "str8"),
        ("binding_key", "str8"),
        ("arguments", "map"),
    )
    __match_args__: ClassVar[tuple[str, ...]] = ("queue", "exchange", "binding_key", "arguments")
    REQUIRED: ClassVar[tuple[str, ...]] = ("queue", "exchange", "binding_key")
    MANDATORY: ClassVar[tuple[str, ...]] = ("queue", "exchange", "binding_key")
    HANDLERS: ClassVar[tuple[str, ...]] = ("server",)

    queue: str | None
    exchange: str | None
    binding_key: str | None
    arguments: Mapping[str, Any] | None

    def __init__(
        self,
        queue: str | None = None,
        exchange: str | None = None,
        binding_key: str | None = None,
        arguments: Mapping[str, Any] | None = None,
    ) -> None:
        self.wire = None
        self.queue = queue
        self.exchange = exchange
        self.binding_key = binding_key
        self.arguments = arguments

    def pack_fields(self) -> bytes:
        flags = 0
        parts = [b""]
        queue = self.queue
        if queue is not None:
            flags |= 0x100
            octets = queue.encode("utf-8", "surrogateescape")
            size = len(octets)
            parts += (OCTETS[size], octets) if size < 256 else (pack_str8(queue),)
        exchange = self.exchange
        if exchange is not None:
            flags |= 0x200
            octets = exchange.encode("utf-8", "surrogateescape")
            size = len(octets)
            parts += (OCTETS[size], octets) if size < 256 else (pack_str8(exchange),)
        binding_key = self.binding_key
        if binding_key is not None:
            flags |= 0x400
            octets = binding_key.encode("utf-8", "surrogateescape")
            size = len(octets)
            parts += (OCTETS[size], octets) if size < 256 else (pack_str8(binding_key),)
        arguments = self.arguments
        if arguments is not None:
            flags |= 0x800
            parts.append(pack_map(arguments))
        parts[0] = _pack_H(flags)
        return b"".join(parts)

    @classmethod
    def unpack_fields(cls, data: bytes, pos: int, end: int) -> tuple[Self, int]:
        found = _new(cls)
        flags = _read_H(data, pos)[0]
        pos += 2
        if flags & 0x100:
            start = pos + 1
            pos = start + data[pos]
            found.queue = data[start:pos].decode("utf-8", "surrogateescape")
        else:
            found.queue = None
        if flags & 0x200:
            start = pos + 1
            pos = start + data[pos]
            found.exchange = data[start:pos].decode("utf-8", "surrogateescape")
        else:
            found.exchange = None
        if flags & 0x400:
            start = pos + 1
            pos = start + data[pos]
            found.binding_key = data[start:pos].decode("utf-8", "surrogateescape")
        else:
            found.binding_key = None
        if flags & 0x800:
            start = pos + 4
            pos = start + _read_I(data, pos)[0]
            found.arguments = _map(data[start:pos])
        else:
            found.arguments = None
        return found, pos


class ExchangeUnbind(Command[None]):
    """exchange.unbind (0-10 command, code 0x0705)."""

    __slots__ = ("queue", "exchange", "binding_key")

    NAME: ClassVar[str] = "exchange.unbind"
    CODE: ClassVar[int] = 0x0705
    FIELDS: ClassVar[tuple[tuple[str, str], ...]] = (
        ("queue", "str8"),
        ("exchange", "str8"),
        ("binding_key", "str8"),
    )
    __match_args__: ClassVar[tuple[str, ...]] = ("queue", "exchange", "binding_key")
    REQUIRED: ClassVar[tuple[str, ...]] = ("queue", "exchange", "binding_key")
    MANDATORY: ClassVar[tuple[str, ...]] = ("queue", "exchange", "binding_key")
    HANDLERS: ClassVar[tuple[str, ...]] = ("server",)

    queue: str | None
    exchange: str | None
    binding_key: str | None

    def __init__(
        self,
        queue: str | None = None,
        exchange: str | None = None,
        binding_key: str | None = None,
    ) -> None:
        self.wire = None
        self.queue = queue
        self.exchange = exchange
        self.binding_key = binding_key

    def pack_fields(self) -> bytes:
        flags = 0
        parts = [b""]
        queue = self.queue
        if queue is not None:
            flags |= 0x100
            octets = queue.encode("utf-8", "surrogateescape")
            size = len(octets)
            parts += (OCTETS[size], octets) if size < 256 else (pack_str8(queue),)
        exchange = self.exchange
        if exchange is not None:
            flags |= 0x200
            octets = exchange.encode("utf-8", "surrogateescape")
            size = len(octets)
            parts += (OCTETS[size], octets) if size < 256 else (pack_str8(exchange),)
        binding_key = self.binding_key
        if binding_key is not None:
            flags |= 0x400
            octets = binding_key.encode("utf-8", "surrogateescape")
            size = len(octets)
            parts += (OCTETS[size], octets) if size < 256 else (pack_str8(binding_key),)
        parts[0] = _pack_H(flags)
        return b"".join(parts)

    @classmethod
    def unpack_fields(cls, data: bytes, pos: int, end: int) -> tuple[Self, int]:
        found = _new(cls)
        flags = _read_H(data, pos)[0]
        pos += 2
        if flags & 0x100:
            start = pos + 1
            pos = start + data[pos]
            found.queue = data[start:pos].decode("utf-8", "surrogateescape")
        else:
            found.queue = None
        if flags & 0x200:
            start = pos + 1
            pos = start + data[pos]
            found.exchange = data[start:pos].decode("utf-8", "surrogateescape")
        else:
            found.exchange = None
        if flags & 0x400:
            start = pos + 1
            pos = start + data[pos]
            found.binding_key = data[start:pos].decode("utf-8", "surrogateescape")
        else:
            found.binding_key = None
        return found, pos


class ExchangeBound(Command[ExchangeBoundResult]):
    """exchange.bound (0-10 command, code 0x0706)."""

    __slots__ = ("exchange", "queue", "binding_key", "arguments")

    NAME: ClassVar[str] = "exchange.bound"
    CODE: ClassVar[int] = 0x0706
    FIELDS: ClassVar[tuple[tuple[str, str], ...]] = (
        ("exchange", "str8"),
        ("queue", "str8"),
        ("binding_key", "str8"),
        ("arguments", "map"),
    )
    __match_args__: ClassVar[tuple[str, ...]] = ("exchange", "queue", "binding_key", "arguments")
    REQUIRED: ClassVar[tuple[str, ...]] = ("queue",)
    HANDLERS: ClassVar[tuple[str, ...]] = ("server",)
    RESULT: ClassVar[str] = "exchange.exchange-bound-result"

    exchange: str | None
    queue: str | None
    binding_key: str | None
    arguments: Mapping[str, Any] | None

    def __init__(
        self,
        exchange: str | None = None,
        queue: str | None = None,
        binding_key: str | None = None,
        arguments: Mapping[str, Any] | None = None,
    ) -> None:
        self.wire = None
        self.exchange = exchange
        self.queue = queue
        self.binding_key = binding_key
        self.arguments = arguments

    def pack_fields(self) -> bytes:
        flags = 0
        parts = [b""]
        exchange = self.exchange
        if exchange is not None:
            flags |= 0x100
            octets = exchange.encode("utf-8", "surrogateescape")
            size = len(octets)
            parts += (OCTETS[size], octets) if size < 256 else (pack_str8(exchange),)
        queue = self.queue
        if queue is not None:
            flags |= 0x200
            octets = queue.encode("utf-8", "surrogateescape")
            size = len(octets)
            parts += (OCTETS[size], octets) if size < 256 else (pack_str8(queue),)
        binding_key = self.binding_key
        if binding_key is not None:
            flags |= 0x400
            octets = binding_key.encode("utf-8", "surrogateescape")
            size = len(octets)
            parts += (OCTETS[size], octets) if size < 256 else (pack_str8(binding_key),)
        arguments = self.arguments
        if arguments is not None:
            flags |= 0x800
            parts.append(pack_map(arguments))
        parts[0] = _pack_H(flags)
        return b"".join(parts)

    @classmethod
    def unpack_fields(cls, data: bytes, pos: int, end: int) -> tuple[Self, int]:
        found = _new(cls)
        flags = _read_H(data, pos)[0]
        pos += 2
        if flags & 0x100:
            start = pos + 1
            pos = start + data[pos]
            found.exchange = data[start:pos].decode("utf-8", "surrogateescape")
        else:
            found.exchange = None
        if flags & 0x200:
            start = pos + 1
            pos = start + data[pos]
            found.queue = data[start:pos].decode("utf-8", "surrogateescape")
        else:
            found.queue = None
        if flags & 0x400:
            start = pos + 1
            pos = start + data[pos]
            found.binding_key = data[start:pos].decode("utf-8", "surrogateescape")
        else:
            found.binding_key = None
        if flags & 0x800:
            start = pos + 4
            pos = start + _read_I(data, pos)[0]
            found.arguments = _map(data[start:pos])
        else:
            found.arguments = None
        return found, pos


class QueueDeclare(Command[None]):
    """queue.declare (0-10 command, code 0x0801)."""

    __slots__ = (
        "queue",
        "alternate_exchange",
        "passive",
        "durable",
        "exclusive",
        "auto_delete",
        "arguments",
    )

    NAME: ClassVar[str] = "queue.declare"
    CODE: ClassVar[int] = 0x0801
    FIELDS: ClassVar[tuple[tuple[str, str], ...]] = (
        ("queue", "str8"),
        ("alternate_exchange", "str8"),
        ("passive", "bit"),
        ("durable", "bit"),
        ("exclusive", "bit"),
        ("auto_delete", "bit"),
        ("arguments", "map"),
    )
    __match_args__: ClassVar[tuple[str, ...]] = (
        "queue",
        "alternate_exchange",
        "passive",
        "durable",
        "exclusive",
        "auto_delete",
        "arguments",
    )
    REQUIRED: ClassVar[tuple[str, ...]] = ("queue",)
    MANDATORY: ClassVar[tuple[str, ...]] = ("queue",)
    HANDLERS: ClassVar[tuple[str, ...]] = ("server",)

    queue: str | None
    alternate_exchange: str | None
    passive: bool
    durable: bool
    exclusive: bool
    auto_delete: bool
    arguments: Mapping[str, Any] | None

    def __init__(
        self,
        queue: str | None = None,
        alternate_exchange: str | None = None,
        passive: bool = False,
        durable: bool = False,
        exclusive: bool = False,
        auto_delete: bool = False,
        arguments: Mapping[str, Any] | None = None,
    ) -> None:
        self.wire = None
        self.queue = queue
        self.alternate_exchange = alternate_exchange
        self.passive = passive
        self.durable = durable
        self.exclusive = exclusive
        self.auto_delete = auto_delete
        self.arguments = arguments

    def pack_fields(self) -> bytes:
        flags = 0
        parts = [b""]
        queue = self.queue
        if queue is not None:
            flags |= 0x100
            octets = queue.encode("utf-8", "surrogateescape")
            size = len(octets)
            parts += (OCTETS[size], octets) if size < 256 else (pack_str8(queue),)
        alternate_exchange = self.alternate_exchange
        if alternate_exchange is not None:
            flags |= 0x200
            octets = alternate_exchange.encode("utf-8", "surrogateescape")
            size = len(octets)
            parts += (OCTETS[size], octets) if size < 256 else (pack_str8(alternate_exchange),)
        if self.passive:
            flags |= 0x400
        if self.durable:
            flags |= 0x800
        if self.exclusive:
            flags |= 0x1000
        if self.auto_delete:
            flags |= 0x2000
        arguments = self.arguments
        if arguments is not None:
            flags |= 0x4000
            parts.append(pack_map(arguments))
        parts[0] = _pack_H(flags)
        return b"".join(parts)

    @classmethod
    def unpack_fields(cls, data: bytes, pos: int, end: int) -> tuple[Self, int]:
        found = _new(cls)
        flags = _read_H(data, pos)[0]
        pos += 2
        if flags & 0x100:
            start = pos + 1
            pos = start + data[pos]
            found.queue = data[start:pos].decode("utf-8", "surrogateescape")
        else:
            found.queue = None
        if flags & 0x200:
            start = pos + 1
            pos = start + data[pos]
            found.alternate_exchange = data[start:pos].decode("utf-8", "surrogateescape")
        else:
            found.alternate_exchange = None
        if flags & 0x3C00:
            found.passive = flags & 0x400 != 0
            found.durable = flags & 0x800 != 0
            found.exclusive = flags & 0x1000 != 0
            found.auto_delete = flags & 0x2000 != 0
        else:
            found.passive = False
            found.durable = False
            found.exclusive = False
            found.auto_delete = False
        if flags & 0x4000:
            start = pos + 4
            pos = start + _read_I(data, pos)[0]
            found.arguments = _map(data[start:pos])
        else:
            found.arguments = None
        return found, pos


class QueueDelete(Command[None]):
    """queue.delete (0-10 command, code 0x0802)."""

    __slots__ = ("queue", "if_unused", "if_empty")

    NAME: ClassVar[str] = "queue.delete"
    CODE: ClassVar[int] = 0x0802
    FIELDS: ClassVar[tuple[tuple[str, str], ...]] = (
        ("queue", "str8"),
        ("if_unused", "bit"),
        ("if_empty", "bit"),
    )
    __match_args__: ClassVar[tuple[str, ...]] = ("queue", "if_unused", "if_empty")
    REQUIRED: ClassVar[tuple[str, ...]] = ("queue",)
    MANDATORY: ClassVar[tuple[str, ...]] = ("queue",)
    HANDLERS: ClassVar[tuple[str, ...]] = ("server",)

    queue: str | None
    if_unused: bool
    if_empty: bool

    def __init__(
        self,
        queue: str | None = None,
        if_unused: bool = False,
        if_empty: bool = False,
    ) -> None:
        self.wire = None
        self.queue = queue
        self.if_unused = if_unused
        self.if_empty = if_empty

    def pack_fields(self) -> bytes:
        flags = 0
        parts = [b""]
        queue = self.queue
        if queue is not None:
            flags |= 0x100
            octets = queue.encode("utf-8", "surrogateescape")
            size = len(octets)
            parts += (OCTETS[size], octets) if size < 256 else (pack_str8(queue),)
        if self.if_unused:
            flags |= 0x200
        if self.if_empty:
            flags |= 0x400
        parts[0] = _pack_H(flags)
        return b"".join(parts)

    @classmethod
    def unpack_fields(cls, data: bytes, pos: int, end: int) -> tuple[Self, int]:
        found = _new(cls)
        flags = _read_H(data, pos)[0]
        pos += 2
        if flags & 0x100:
            start = pos + 1
            pos = start + data[pos]
            found.queue = data[start:pos].decode("utf-8", "surrogateescape")
        else:
            found.queue = None
        if flags & 0x600:
            found.if_unused = flags & 0x200 != 0
            found.if_empty = flags & 0x400 != 0
        else:
            found.if_unused = False
            found.if_empty = False
        return found, pos


class QueuePurge(Command[None]):
    """queue.purge (0-10 command, code 0x0803)."""

    __slots__ = ("queue",)

    NAME: ClassVar[str] = "queue.purge"
    CODE: ClassVar[int] = 0x0803
    FIELDS: ClassVar[tuple[tuple[str, str], ...]] = (
        ("queue", "str8"),
    )
    __match_args__: ClassVar[tuple[str, ...]] = ("queue",)
    REQUIRED: ClassVar[tuple[str, ...]] = ("queue",)
    MANDATORY: ClassVar[tuple[str, ...]] = ("queue",)
    HANDLERS: ClassVar[tuple[str, ...]] = ("server",)

    queue: str | None

    def __init__(
        self,
        queue: str | None = None,
    ) -> None:
        self.wire = None
        self.queue = queue

    def pack_fields(self) -> bytes:
        flags = 0
        parts = [b""]
        queue = self.queue
        if queue is not None:
            flags |= 0x100
            octets = queue.encode("utf-8", "surrogateescape")
            size = len(octets)
            parts += (OCTETS[size], octets) if size < 256 else (pack_str8(queue),)
        parts[0] = _pack_H(flags)
        return b"".join(parts)

    @classmethod
    def unpack_fields(cls, data: bytes, pos: int, end: int) -> tuple[Self, int]:
        found = _new(cls)
        flags = _read_H(data, pos)[0]
        pos += 2
        if flags & 0x100:
            start = pos + 1
            pos = start + data[pos]
            found.queue = data[start:pos].decode("utf-8", "surrogateescape")
        else:
            found.queue = None
        return found, pos


class QueueQuery(Command[QueueQueryResult]):
    """queue.query (0-10 command, code 0x0804)."""

    __slots__ = ("queue",)

    NAME: ClassVar[str] = "queue.query"
    CODE: ClassVar[int] = 0x0804
    FIELDS: ClassVar[tuple[tuple[str, str], ...]] = (
        ("queue", "str8"),
    )
    __match_args__: ClassVar[tuple[str, ...]] = ("queue",)
    REQUIRED: ClassVar[tuple[str, ...]] = ("queue",)
    MANDATORY: ClassVar[tuple[str, ...]] = ("queue",)
    HANDLERS: ClassVar[tuple[str, ...]] = ("server",)
    RESULT: ClassVar[str] = "queue.queue-query-result"

    queue: str | None

    def __init__(
        self,
        queue: str | None = None,
    ) -> None:
        self.wire = None
        self.queue = queue

    def pack_fields(self) -> bytes:
        flags = 0
        parts = [b""]
        queue = self.queue
        if queue is not None:
            flags |= 0x100
            octets = queue.encode("utf-8", "surrogateescape")
            size = len(octets)
            parts += (OCTETS[size], octets) if size < 256 else (pack_str8(queue),)
        parts[0] = _pack_H(flags)
        return b"".join(parts)

    @classmethod
    def unpack_fields(cls, data: bytes, pos: int, end: int) -> tuple[Self, int]:
        found = _new(cls)
        flags = _read_H(data, pos)[0]
        pos += 2
        if flags & 0x100:
            start = pos + 1
            pos = start + data[pos]
            found.queue = data[start:pos].decode("utf-8", "surrogateescape")
        else:
            found.queue = None
        return found, pos


class FileQos(Command[None]):
    """file.qos (0-10 command, code 0x0901)."""

    __slots__ = ("prefetch_size", "prefetch_count", "global_")

    NAME: ClassVar[str] = "file.qos"
    CODE: ClassVar[int] = 0x0901
    FIELDS: ClassVar[tuple[tuple[str, str], ...]] = (
        ("prefetch_size", "uint32"),
        ("prefetch_count", "uint16"),
        ("global_", "bit"),
    )
    __match_args__: ClassVar[tuple[str, ...]] = ("prefetch_size", "prefetch_count", "global_")
    HANDLERS: ClassVar[tuple[str, ...]] = ("server",)
    RESPONSES: ClassVar[tuple[str, ...]] = ("file.qos-ok",)

    prefetch_size: int | None
    prefetch_count: int | None
    global_: bool

    def __init__(
        self,
        prefetch_size: int | None = None,
        prefetch_count: int | None = None,
        global_: bool = False,
    ) -> None:
        self.wire = None
        self.prefetch_size = prefetch_size
        self.prefetch_count = prefetch_count
        self.global_ = global_

    def pack_fields(self) -> bytes:
        flags = 0
        parts = [b""]
        prefetch_size = self.prefetch_size
        if prefetch_size is not None:
            flags |= 0x100
            parts.append(_pack_I(prefetch_size))
        prefetch_count = self.prefetch_count
        if prefetch_count is not None:
            flags |= 0x200
            parts.append(_pack_H(prefetch_count))
        if self.global_:
            flags |= 0x400
        parts[0] = _pack_H(flags)
        return b"".join(parts)

    @classmethod
    def unpack_fields(cls, data: bytes, pos: int, end: int) -> tuple[Self, int]:
        found = _new(cls)
        flags = _read_H(data, pos)[0]
        pos += 2
        if flags & 0x100:
            found.prefetch_size = _read_I(data, pos)[0]
            pos += 4
        else:
            found.prefetch_size = None
        if flags & 0x200:
            found.prefetch_count = _read_H(data, pos)[0]
            pos += 2
        else:
            found.prefetch_count = None
        found.global_ = flags & 0x400 != 0
        return found, pos


class FileQosOk(Command[None]):
    """file.qos-ok (0-10 command, code 0x0902)."""

    __slots__ = ()

    NAME: ClassVar[str] = "file.qos-ok"
    CODE: ClassVar[int] = 0x0902
    HANDLERS: ClassVar[tuple[str, ...]] = ("client",)

    @classmethod
    def unpack_fields(cls, data: bytes, pos: int, end: int) -> tuple[Self, int]:
        return cls(), pos + cls.PACK


class FileConsume(Command[None]):
    """file.consume (0-10 command, code 0x0903)."""

    __slots__ = ("queue", "consumer_tag", "no_local", "no_ack", "exclusive", "nowait", "arguments")

    NAME: ClassVar[str] = "file.consume"
    CODE: ClassVar[int] = 0x0903
    FIELDS: ClassVar[tuple[tuple[str, str], ...]] = (
        ("queue", "str8"),
        ("consumer_tag", "str8"),
        ("no_local", "bit"),
        ("no_ack", "bit"),
        ("exclusive", "bit"),
        ("nowait", "bit"),
        ("arguments", "map"),
    )
    __match_args__: ClassVar[tuple[str, ...]] = (
        "queue",
        "consumer_tag",
        "no_local",
        "no_ack",
        "exclusive",
        "nowait",
        "arguments",
    )
    HANDLERS: ClassVar[tuple[str, ...]] = ("server",)
    RESPONSES: ClassVar[tuple[str, ...]] = ("file.consume-ok",)

    queue: str | None
    consumer_tag: str | None
    no_local: bool
    no_ack: bool
    exclusive: bool
    nowait: bool
    arguments: Mapping[str, Any] | None

    def __init__(
        self,
        queue: str | None = None,
        consumer_tag: str | None = None,
        no_local: bool = False,
        no_ack: bool = False,
        exclusive: bool = False,
        nowait: bool = False,
        arguments: Mapping[str, Any] | None = None,
    ) -> None:
        self.wire = None
        self.queue = queue
        self.consumer_tag = consumer_tag
        self.no_local = no_local
        self.no_ack = no_ack
        self.exclusive = exclusive
        self.nowait = nowait
        self.arguments = arguments

    def pack_fields(self) -> bytes:
        flags = 0
        parts = [b""]
        queue = self.queue
        if queue is not None:
            flags |= 0x100
            octets = queue.encode("utf-8", "surrogateescape")
            size = len(octets)
            parts += (OCTETS[size], octets) if size < 256 else (pack_str8(queue),)
        consumer_tag = self.consumer_tag
        if consumer_tag is not None:
            flags |= 0x200
            octets = consumer_tag.encode("utf-8", "surrogateescape")
            size = len(octets)
            parts += (OCTETS[size], octets) if size < 256 else (pack_str8(consumer_tag),)
        if self.no_local:
            flags |= 0x400
        if self.no_ack:
            flags |= 0x800
        if self.exclusive:
            flags |= 0x1000
        if self.nowait:
            flags |= 0x2000
        arguments = self.arguments
        if arguments is not None:
            flags |= 0x4000
            parts.append(pack_map(arguments))
        parts[0] = _pack_H(flags)
        return b"".join(parts)

    @classmethod
    def unpack_fields(cls, data: bytes, pos: int, end: int) -> tuple[Self, int]:
        found = _new(cls)
        flags = _read_H(data, pos)[0]
        pos += 2
        if flags & 0x100:
            start = pos + 1
            pos = start + data[pos]
            found.queue = data[start:pos].decode("utf-8", "surrogateescape")
        else:
            found.queue = None
        if flags & 0x200:
            start = pos + 1
            pos = start + data[pos]
            found.consumer_tag = data[start:pos].decode("utf-8", "surrogateescape")
        else:
            found.consumer_tag = None
        if flags & 0x3C00:
            found.no_local = flags & 0x400 != 0
            found.no_ack = flags & 0x800 != 0
            found.exclusive = flags & 0x1000 != 0
            found.nowait = flags & 0x2000 != 0
        else:
            found.no_local = False
            found.no_ack = False
            found.exclusive = False
            found.nowait = False
        if flags & 0x4000:
            start = pos + 4
            pos = start + _read_I(data, pos)[0]
            found.arguments = _map(data[start:pos])
        else:
            found.arguments = None
        return found, pos


class FileConsumeOk(Command[None]):
    """file.consume-ok (0-10 command, code 0x0904)."""

    __slots__ = ("consumer_tag",)

    NAME: ClassVar[str] = "file.consume-ok"
    CODE: ClassVar[int] = 0x0904
    FIELDS: ClassVar[tuple[tuple[str, str], ...]] = (
        ("consumer_tag", "str8"),
    )
    __match_args__: ClassVar[tuple[str, ...]] = ("consumer_tag",)
    HANDLERS: ClassVar[tuple[str, ...]] = ("client",)

    consumer_tag: str | None

    def __init__(
        self,
        consumer_tag: str | None = None,
    ) -> None:
        self.wire = None
        self.consumer_tag = consumer_tag

    def pack_fields(self) -> bytes:
        flags = 0
        parts = [b""]
        consumer_tag = self.consumer_tag
        if consumer_tag is not None:
            flags |= 0x100
            octets = consumer_tag.encode("utf-8", "surrogateescape")
            size = len(octets)
            parts += (OCTETS[size], octets) if size < 256 else (pack_str8(consumer_tag),)
        parts[0] = _pack_H(flags)
        return b"".join(parts)

    @classmethod
    def unpack_fields(cls, data: bytes, pos: int, end: int) -> tuple[Self, int]:
        found = _new(cls)
        flags = _read_H(data, pos)[0]
        pos += 2
        if flags & 0x100:
            start = pos + 1
            pos = start + data[pos]
            found.consumer_tag = data[start:pos].decode("utf-8", "surrogateescape")
        else:
            found.consumer_tag = None
        return found, pos


class FileCancel(Command[None]):
    """file.cancel (0-10 command, code 0x0905)."""

    __slots__ = ("consumer_tag",)

    NAME: ClassVar[str] = "file.cancel"
    CODE: ClassVar[int] = 0x0905
    FIELDS: ClassVar[tuple[tuple[str, str], ...]] = (
        ("consumer_tag", "str8"),
    )
    __match_args__: ClassVar[tuple[str, ...]] = ("consumer_tag",)
    HANDLERS: ClassVar[tuple[str, ...]] = ("server",)

    consumer_tag: str | None

    def __init__(
        self,
        consumer_tag: str | None = None,
    ) -> None:
        self.wire = None
        self.consumer_tag = consumer_tag

    def pack_fields(self) -> bytes:
        flags = 0
        parts = [b""]
        consumer_tag = self.consumer_tag
        if consumer_tag is not None:
            flags |= 0x100
            octets = consumer_tag.encode("utf-8", "surrogateescape")
            size = len(octets)
            parts += (OCTETS[size], octets) if size < 256 else (pack_str8(consumer_tag),)
        parts[0] = _pack_H(flags)
        return b"".join(parts)

    @classmethod
    def unpack_fields(cls, data: bytes, pos: int, end: int) -> tuple[Self, int]:
        found = _new(cls)
        flags = _read_H(data, pos)[0]
        pos += 2
        if flags & 0x100:
            start = pos + 1
            pos = start + data[pos]
            found.consumer_tag = data[start:pos].decode("utf-8", "surrogateescape")
        else:
            found.consumer_tag = None
        return found, pos


class FileOpen(Command[None]):
    """file.open (0-10 command, code 0x0906)."""

    __slots__ = ("identifier", "content_size")

    NAME: ClassVar[str] = "file.open"
    CODE: ClassVar[int] = 0x0906
    FIELDS: ClassVar[tuple[tuple[str, str], ...]] = (
        ("identifier", "str8"),
        ("content_size", "uint64"),
    )
    __match_args__: ClassVar[tuple[str, ...]] = ("identifier", "content_size")
    HANDLERS: ClassVar[tuple[str, ...]] = ("client", "server")
    RESPONSES: ClassVar[tuple[str, ...]] = ("file.open-ok",)

    identifier: str | None
    content_size: int | None

    def __init__(
        self,
        identifier: str | None = None,
        content_size: int | None = None,
    ) -> None:
        self.wire = None
        self.identifier = identifier
        self.content_size = content_size

    def pack_fields(self) -> bytes:
        flags = 0
        parts = [b""]
        identifier = self.identifier
        if identifier is not None:
            flags |= 0x100
            octets = identifier.encode("utf-8", "surrogateescape")
            size = len(octets)
            parts += (OCTETS[size], octets) if size < 256 else (pack_str8(identifier),)
        content_size = self.content_size
        if content_size is not None:
            flags |= 0x200
            parts.append(_pack_Q(content_size))
        parts[0] = _pack_H(flags)
        return b"".join(parts)

    @classmethod
    def unpack_fields(cls, data: bytes, pos: int, end: int) -> tuple[Self, int]:
        found = _new(cls)
        flags = _read_H(data, pos)[0]
        pos += 2
        if flags & 0x100:
            start = pos + 1
            pos = start + data[pos]
            found.identifier = data[start:pos].decode("utf-8", "surrogateescape")
        else:
            found.identifier = None
        if flags & 0x200:
            found.content_size = _read_Q(data, pos)[0]
            pos += 8
        else:
            found.content_size = None
        return found, pos


class FileOpenOk(Command[None]):
    """file.open-ok (0-10 command, code 0x0907)."""

    __slots__ = ("staged_size",)

    NAME: ClassVar[str] = "file.open-ok"
    CODE: ClassVar[int] = 0x0907
    FIELDS: ClassVar[tuple[tuple[str, str], ...]] = (
        ("staged_size", "uint64"),
    )
    __match_args__: ClassVar[tuple[str, ...]] = ("staged_size",)
    HANDLERS: ClassVar[tuple[str, ...]] = ("client", "server")
    RESPONSES: ClassVar[tuple[str, ...]] = ("file.stage",)

    staged_size: int | None

    def __init__(
        self,
        staged_size: int | None = None,
    ) -> None:
        self.wire = None
        self.staged_size = staged_size

    def pack_fields(self) -> bytes:
        flags = 0
        parts = [b""]
        staged_size = self.staged_size
        if staged_size is not None:
            flags |= 0x100
            parts.append(_pack_Q(staged_size))
        parts[0] = _pack_H(flags)
        return b"".join(parts)

    @classmethod
    def unpack_fields(cls, data: bytes, pos: int, end: int) -> tuple[Self, int]:
        found = _new(cls)
        flags = _read_H(data, pos)[0]
        pos += 2
        if flags & 0x100:
            found.staged_size = _read_Q(data, pos)[0]
            pos += 8
        else:
            found.staged_size = None
        return found, pos


class FileStage(Command[None]):
    """file.stage (0-10 command, code 0x0908)."""

    __slots__ = ()

    NAME: ClassVar[str] = "file.stage"
    CODE: ClassVar[int] = 0x0908
    HANDLERS: ClassVar[tuple[str, ...]] = ("client", "server")
    HEADERS: ClassVar[tuple[str, ...]] = ("file.file-properties",)
    HAS_BODY: ClassVar[bool] = True

    @classmethod
    def unpack_fields(cls, data: bytes, pos: int, end: int) -> tuple[Self, int]:
        return cls(), pos + cls.PACK


class FilePublish(Command[None]):
    """file.publish (0-10 command, code 0x0909)."""

    __slots__ = ("exchange", "routing_key", "mandatory", "immediate", "identifier")

    NAME: ClassVar[str] = "file.publish"
    CODE: ClassVar[int] = 0x0909
    FIELDS: ClassVar[tuple[tuple[str, str], ...]] = (
        ("exchange", "str8"),
        ("routing_key", "str8"),
        ("mandatory", "bit"),
        ("immediate", "bit"),
        ("identifier", "str8"),
    )
    __match_args__: ClassVar[tuple[str, ...]] = (
        "exchange",
        "routing_key",
        "mandatory",
        "immediate",
        "identifier",
    )
    HANDLERS: ClassVar[tuple[str, ...]] = ("server",)

    exchange: str | None
    routing_key: str | None
    mandatory: bool
    immediate: bool
    identifier: str | None

    def __init__(
        self,
        exchange: str | None = None,
        routing_key: str | None = None,
        mandatory: bool = False,
        immediate: bool = False,
        identifier: str | None = None,
    ) -> None:
        self.wire = None
        self.exchange = exchange
        self.routing_key = routing_key
        self.mandatory = mandatory
        self.immediate = immediate
        self.identifier = identifier

    def pack_fields(self) -> bytes:
        flags = 0
        parts = [b""]
        exchange = self.exchange
        if exchange is not None:
            flags |= 0x100
            octets = exchange.encode("utf-8", "surrogateescape")
            size = len(octets)
            parts += (OCTETS[size], octets) if size < 256 else (pack_str8(exchange),)
        routing_key = self.routing_key
        if routing_key is not None:
            flags |= 0x200
            octets = routing_key.encode("utf-8", "surrogateescape")
            size = len(octets)
            parts += (OCTETS[size], octets) if size < 256 else (pack_str8(routing_key),)
        if self.mandatory:
            flags |= 0x400
        if self.immediate:
            flags |= 0x800
        identifier = self.identifier
        if identifier is not None:
            flags |= 0x1000
            octets = identifier.encode("utf-8", "surrogateescape")
            size = len(octets)
            parts += (OCTETS[size], octets) if size < 256 else (pack_str8(identifier),)
        parts[0] = _pack_H(flags)
        return b"".join(parts)

    @classmethod
    def unpack_fields(cls, data: bytes, pos: int, end: int) -> tuple[Self, int]:
        found = _new(cls)
        flags = _read_H(data, pos)[0]
        pos += 2
        if flags & 0x100:
            start = pos + 1
            pos = start + data[pos]
            found.exchange = data[start:pos].decode("utf-8", "surrogateescape")
        else:
            found.exchange = None
        if flags & 0x200:
            start = pos + 1
            pos = start + data[pos]
            found.routing_key = data[start:pos].decode("utf-8", "surrogateescape")
        else:
            found.routing_key = None
        if flags & 0xC00:
            found.mandatory = flags & 0x400 != 0
            found.immediate = flags & 0x800 != 0
        else:
            found.mandatory = False
            found.immediate = False
        if flags & 0x1000:
            start = pos + 1
            pos = start + data[pos]
            found.identifier = data[start:pos].decode("utf-8", "surrogateescape")
        else:
            found.identifier = None
        return found, pos


class FileReturn(Command[None]):
    """file.return (0-10 command, code 0x090a)."""

    __slots__ = ("reply_code", "reply_text", "exchange", "routing_key")

    NAME: ClassVar[str] = "file.return"
    CODE: ClassVar[int] = 0x090A
    FIELDS: ClassVar[tuple[tuple[str, str], ...]] = (
        ("reply_code", "uint16"),
        ("reply_text", "str8"),
        ("exchange", "str8"),
        ("routing_key", "str8"),
    )
    __match_args__: ClassVar[tuple[str, ...]] = (
        "reply_code",
        "reply_text",
        "exchange",
        "routing_key",
    )
    HANDLERS: ClassVar[tuple[str, ...]] = ("client",)
    HEADERS: ClassVar[tuple[str, ...]] = ("file.file-properties",)
    HAS_BODY: ClassVar[bool] = True

    reply_code: int | None
    reply_text: str | None
    exchange: str | None
    routing_key: str | None

    def __init__(
        self,
        reply_code: int | None = None,
        reply_text: str | None = None,
        exchange: str | None = None,
        routing_key: str | None = None,
    ) -> None:
        self.wire = None
        self.reply_code = reply_code
        self.reply_text = reply_text
        self.exchange = exchange
        self.routing_key = routing_key

    def pack_fields(self) -> bytes:
        flags = 0
        parts = [b""]
        reply_code = self.reply_code
        if reply_code is not None:
            flags |= 0x100
            parts.append(_pack_H(reply_code))
        reply_text = self.reply_text
        if reply_text is not None:
            flags |= 0x200
            octets = reply_text.encode("utf-8", "surrogateescape")
            size = len(octets)
            parts += (OCTETS[size], octets) if size < 256 else (pack_str8(reply_text),)
        exchange = self.exchange
        if exchange is not None:
            flags |= 0x400
            octets = exchange.encode("utf-8", "surrogateescape")
            size = len(octets)
            parts += (OCTETS[size], octets) if size < 256 else (pack_str8(exchange),)
        routing_key = self.routing_key
        if routing_key is not None:
            flags |= 0x800
            octets = routing_key.encode("utf-8", "surrogateescape")
            size = len(octets)
            parts += (OCTETS[size], octets) if size < 256 else (pack_str8(routing_key),)
        parts[0] = _pack_H(flags)
        return b"".join(parts)

    @classmethod
    def unpack_fields(cls, data: bytes, pos: int, end: int) -> tuple[Self, int]:
        found = _new(cls)
        flags = _read_H(data, pos)[0]
        pos += 2
        if flags & 0x100:
            found.reply_code = _read_H(data, pos)[0]
            pos += 2
        else:
            found.reply_code = None
        if flags & 0x200:
            start = pos + 1
            pos = start + data[pos]
            found.reply_text = data[start:pos].decode("utf-8", "surrogateescape")
        else:
            found.reply_text = None
        if flags & 0x400:
            start = pos + 1
            pos = start + data[pos]
            found.exchange = data[start:pos].decode("utf-8", "surrogateescape")
        else:
            found.exchange = None
        if flags & 0x800:
            start = pos + 1
            pos = start + data[pos]
            found.routing_key = data[start:pos].decode("utf-8", "surrogateescape")
        else:
            found.routing_key = None
        return found, pos


class FileDeliver(Command[None]):
    """file.deliver (0-10 command, code 0x090b)."""

    __slots__ = (
        "consumer_tag",
        "delivery_tag",
        "redelivered",
        "exchange",
        "routing_key",
        "identifier",
    )

    NAME: ClassVar[str] = "file.deliver"
    CODE: ClassVar[int] = 0x090B
    FIELDS: ClassVar[tuple[tuple[str, str], ...]] = (
        ("consumer_tag", "str8"),
        ("delivery_tag", "uint64"),
        ("redelivered", "bit"),
        ("exchange", "str8"),
        ("routing_key", "str8"),
        ("identifier", "str8"),
    )
    __match_args__: ClassVar[tuple[str, ...]] = (
        "consumer_tag",
        "delivery_tag",
        "redelivered",
        "exchange",
        "routing_key",
        "identifier",
    )
    HANDLERS: ClassVar[tuple[str, ...]] = ("client",)

    consumer_tag: str | None
    delivery_tag: int | None
    redelivered: bool
    exchange: str | None
    routing_key: str | None
    identifier: str | None

    def __init__(
        self,
        consumer_tag: str | None = None,
        delivery_tag: int | None = None,
        redelivered: bool = False,
        exchange: str | None = None,
        routing_key: str | None = None,
        identifier: str | None = None,
    ) -> None:
        self.wire = None
        self.consumer_tag = consumer_tag
        self.delivery_tag = delivery_tag
        self.redelivered = redelivered
        self.exchange = exchange
        self.routing_key = routing_key
        self.identifier = identifier

    def pack_fields(self) -> bytes:
        flags = 0
        parts = [b""]
        consumer_tag = self.consumer_tag
        if consumer_tag is not None:
            flags |= 0x100
            octets = consumer_tag.encode("utf-8", "surrogateescape")
            size = len(octets)
            parts += (OCTETS[size], octets) if size < 256 else (pack_str8(consumer_tag),)
        delivery_tag = self.delivery_tag
        if delivery_tag is not None:
            flags |= 0x200
            parts.append(_pack_Q(delivery_tag))
        if self.redelivered:
            flags |= 0x400
        exchange = self.exchange
        if exchange is not None:
            flags |= 0x800
            octets = exchange.encode("utf-8", "surrogateescape")
            size = len(octets)
            parts += (OCTETS[size], octets) if size < 256 else (pack_str8(exchange),)
        routing_key = self.routing_key
        if routing_key is not None:
            flags |= 0x1000
            octets = routing_key.encode("utf-8", "surrogateescape")
            size = len(octets)
            parts += (OCTETS[size], octets) if size < 256 else (pack_str8(routing_key),)
        identifier = self.identifier
        if identifier is not None:
            flags |= 0x2000
            octets = identifier.encode("utf-8", "surrogateescape")
            size = len(octets)
            parts += (OCTETS[size], octets) if size < 256 else (pack_str8(identifier),)
        parts[0] = _pack_H(flags)
        return b"".join(parts)

    @classmethod
    def unpack_fields(cls, data: bytes, pos: int, end: int) -> tuple[Self, int]:
        found = _new(cls)
        flags = _read_H(data, pos)[0]
        pos += 2
        if flags & 0x100:
            start = pos + 1
            pos = start + data[pos]
            found.consumer_tag = data[start:pos].decode("utf-8", "surrogateescape")
        else:
            found.consumer_tag = None
        if flags & 0x200:
            found.delivery_tag = _read_Q(data, pos)[0]
            pos += 8
        else:
            found.delivery_tag = None
        found.redelivered = flags & 0x400 != 0
        if flags & 0x800:
            start = pos + 1
            pos = start + data[pos]
            found.exchange = data[start:pos].decode("utf-8", "surrogateescape")
        else:
            found.exchange = None
        if flags & 0x1000:
            start = pos + 1
            pos = start + data[pos]
            found.routing_key = data[start:pos].decode("utf-8", "surrogateescape")
        else:
            found.routing_key = None
        if flags & 0x2000:
            start = pos + 1
            pos = start + data[pos]
            found.identifier = data[start:pos].decode("utf-8", "surrogateescape")
        else:
            found.identifier = None
        return found, pos


class FileAck(Command[None]):
    """file.ack (0-10 command, code 0x090c)."""

    __slots__ = ("delivery_tag", "multiple")

    NAME: ClassVar[str] = "file.ack"
    CODE: ClassVar[int] = 0x090C
    FIELDS: ClassVar[tuple[tuple[str, str], ...]] = (
        ("delivery_tag", "uint64"),
        ("multiple", "bit"),
    )
    __match_args__: ClassVar[tuple[str, ...]] = ("delivery_tag", "multiple")
    HANDLERS: ClassVar[tuple[str, ...]] = ("server",)

    delivery_tag: int | None
    multiple: bool

    def __init__(
        self,
        delivery_tag: int | None = None,
        multiple: bool = False,
    ) -> None:
        self.wire = None
        self.delivery_tag = delivery_tag
        self.multiple = multiple

    def pack_fields(self) -> bytes:
        flags = 0
        parts = [b""]
        delivery_tag = self.delivery_tag
        if delivery_tag is not None:
            flags |= 0x100
            parts.append(_pack_Q(delivery_tag))
        if self.multiple:
            flags |= 0x200
        parts[0] = _pack_H(flags)
        return b"".join(parts)

    @classmethod
    def unpack_fields(cls, data: bytes, pos: int, end: int) -> tuple[Self, int]:
        found = _new(cls)
        flags = _read_H(data, pos)[0]
        pos += 2
        if flags & 0x100:
            found.delivery_tag = _read_Q(data, pos)[0]
            pos += 8
        else:
            found.delivery_tag = None
        found.multiple = flags & 0x200 != 0
        return found, pos


class FileReject(Command[None]):
    """file.reject (0-10 command, code 0x090d)."""

    __slots__ = ("delivery_tag", "requeue")

    NAME: ClassVar[str] = "file.reject"
    CODE: ClassVar[int] = 0x090D
    FIELDS: ClassVar[tuple[tuple[str, str], ...]] = (
        ("delivery_tag", "uint64"),
        ("requeue", "bit"),
    )
    __match_args__: ClassVar[tuple[str, ...]] = ("delivery_tag", "requeue")
    HANDLERS: ClassVar[tuple[str, ...]] = ("server",)

    delivery_tag: int | None
    requeue: bool

    def __init__(
        self,
        delivery_tag: int | None = None,
        requeue: bool = False,
    ) -> None:
        self.wire = None
        self.delivery_tag = delivery_tag
        self.requeue = requeue

    def pack_fields(self) -> bytes:
        flags = 0
        parts = [b""]
        delivery_tag = self.delivery_tag
        if delivery_tag is not None:
            flags |= 0x100
            parts.append(_pack_Q(delivery_tag))
        if self.requeue:
            flags |= 0x200
        parts[0] = _pack_H(flags)
        return b"".join(parts)

    @classmethod
    def unpack_fields(cls, data: bytes, pos: int, end: int) -> tuple[Self, int]:
        found = _new(cls)
        flags = _read_H(data, pos)[0]
        pos += 2
        if flags & 0x100:
            found.delivery_tag = _read_Q(data, pos)[0]
            pos += 8
        else:
            found.delivery_tag = None
        found.requeue = flags & 0x200 != 0
        return found, pos


class StreamQos(Command[None]):
    """stream.qos (0-10 command, code 0x0a01)."""

    __slots__ = ("prefetch_size", "prefetch_count", "consume_rate", "global_")

    NAME: ClassVar[str] = "stream.qos"
    CODE: ClassVar[int] = 0x0A01
    FIELDS: ClassVar[tuple[tuple[str, str], ...]] = (
        ("prefetch_size", "uint32"),
        ("prefetch_count", "uint16"),
        ("consume_rate", "uint32"),
        ("global_", "bit"),
    )
    __match_args__: ClassVar[tuple[str, ...]] = (
        "prefetch_size",
        "prefetch_count",
        "consume_rate",
        "global_",
    )
    HANDLERS: ClassVar[tuple[str, ...]] = ("server",)
    RESPONSES: ClassVar[tuple[str, ...]] = ("stream.qos-ok",)

    prefetch_size: int | None
    prefetch_count: int | None
    consume_rate: int | None
    global_: bool

    def __init__(
        self,
        prefetch_size: int | None = None,
        prefetch_count: int | None = None,
        consume_rate: int | None = None,
        global_: bool = False,
    ) -> None:
        self.wire = None
        self.prefetch_size = prefetch_size
        self.prefetch_count = prefetch_count
        self.consume_rate = consume_rate
        self.global_ = global_

    def pack_fields(self) -> bytes:
        flags = 0
        parts = [b""]
        prefetch_size = self.prefetch_size
        if prefetch_size is not None:
            flags |= 0x100
            parts.append(_pack_I(prefetch_size))
        prefetch_count = self.prefetch_count
        if prefetch_count is not None:
            flags |= 0x200
            parts.append(_pack_H(prefetch_count))
        consume_rate = self.consume_rate
        if consume_rate is not None:
            flags |= 0x400
            parts.append(_pack_I(consume_rate))
        if self.global_:
            flags |= 0x800
        parts[0] = _pack_H(flags)
        return b"".join(parts)

    @classmethod
    def unpack_fields(cls, data: bytes, pos: int, end: int) -> tuple[Self, int]:
        found = _new(cls)
        flags = _read_H(data, pos)[0]
        pos += 2
        if flags & 0x100:
            found.prefetch_size = _read_I(data, pos)[0]
            pos += 4
        else:
            found.prefetch_size = None
        if flags & 0x200:
            found.prefetch_count = _read_H(data, pos)[0]
            pos += 2
        else:
            found.prefetch_count = None
        if flags & 0x400:
            found.consume_rate = _read_I(data, pos)[0]
            pos += 4
        else:
            found.consume_rate = None
        found.global_ = flags & 0x800 != 0
        return found, pos


class StreamQosOk(Command[None]):
    """stream.qos-ok (0-10 command, code 0x0a02)."""

    __slots__ = ()

    NAME: ClassVar[str] = "stream.qos-ok"
    CODE: ClassVar[int] = 0x0A02
    HANDLERS: ClassVar[tuple[str, ...]] = ("client",)

    @classmethod
    def unpack_fields(cls, data: bytes, pos: int, end: int) -> tuple[Self, int]:
        return cls(), pos + cls.PACK


class StreamConsume(Command[None]):
    """stream.consume (0-10 command, code 0x0a03)."""

    __slots__ = ("queue", "consumer_tag", "no_local", "exclusive", "nowait", "arguments")

    NAME: ClassVar[str] = "stream.consume"
    CODE: ClassVar[int] = 0x0A03
    FIELDS: ClassVar[tuple[tuple[str, str], ...]] = (
        ("queue", "str8"),
        ("consumer_tag", "str8"),
        ("no_local", "bit"),
        ("exclusive", "bit"),
        ("nowait", "bit"),
        ("arguments", "map"),
    )
    __match_args__: ClassVar[tuple[str, ...]] = (
        "queue",
        "consumer_tag",
        "no_local",
        "exclusive",
        "nowait",
        "arguments",
    )
    HANDLERS: ClassVar[tuple[str, ...]] = ("server",)
    RESPONSES: ClassVar[tuple[str, ...]] = ("stream.consume-ok",)

    queue: str | None
    consumer_tag: str | None
    no_local: bool
    exclusive: bool
    nowait: bool
    arguments: Mapping[str, Any] | None

    def __init__(
        self,
        queue: str | None = None,
        consumer_tag: str | None = None,
        no_local: bool = False,
        exclusive: bool = False,
        nowait: bool = False,
        arguments: Mapping[str, Any] | None = None,
    ) -> None:
        self.wire = None
        self.queue = queue
        self.consumer_tag = consumer_tag
        self.no_local = no_local
        self.exclusive = exclusive
        self.nowait = nowait
        self.arguments = arguments

    def pack_fields(self) -> bytes:
        flags = 0
        parts = [b""]
        queue = self.queue
        if queue is not None:
            flags |= 0x100
            octets = queue.encode("utf-8", "surrogateescape")
            size = len(octets)
            parts += (OCTETS[size], octets) if size < 256 else (pack_str8(queue),)
        consumer_tag = self.consumer_tag
        if consumer_tag is not None:
            flags |= 0x200
            octets = consumer_tag.encode("utf-8", "surrogateescape")
            size = len(octets)
            parts += (OCTETS[size], octets) if size < 256 else (pack_str8(consumer_tag),)
        if self.no_local:
            flags |= 0x400
        if self.exclusive:
            flags |= 0x800
        if self.nowait:
            flags |= 0x1000
        arguments = self.arguments
        if arguments is not None:
            flags |= 0x2000
            parts.append(pack_map(arguments))
        parts[0] = _pack_H(flags)
        return b"".join(parts)

    @classmethod
    def unpack_fields(cls, data: bytes, pos: int, end: int) -> tuple[Self, int]:
        found = _new(cls)
        flags = _read_H(data, pos)[0]
        pos += 2
        if flags & 0x100:
            start = pos + 1
            pos = start + data[pos]
            found.queue = data[start:pos].decode("utf-8", "surrogateescape")
        else:
            found.queue = None
        if flags & 0x200:
            start = pos + 1
            pos = start + data[pos]
            found.consumer_tag = data[start:pos].decode("utf-8", "surrogateescape")
        else:
            found.consumer_tag = None
        if flags & 0x1C00:
            found.no_local = flags & 0x400 != 0
            found.exclusive = flags & 0x800 != 0
            found.nowait = flags & 0x1000 != 0
        else:
            found.no_local = False
            found.exclusive = False
            found.nowait = False
        if flags & 0x2000:
            start = pos + 4
            pos = start + _read_I(data, pos)[0]
            found.arguments = _map(data[start:pos])
        else:
            found.arguments = None
        return found, pos


class StreamConsumeOk(Command[None]):
    """stream.consume-ok (0-10 command, code 0x0a04)."""

    __slots__ = ("consumer_tag",)

    NAME: ClassVar[str] = "stream.consume-ok"
    CODE: ClassVar[int] = 0x0A04
    FIELDS: ClassVar[tuple[tuple[str, str], ...]] = (
        ("consumer_tag", "str8"),
    )
    __match_args__: ClassVar[tuple[str, ...]] = ("consumer_tag",)
    HANDLERS: ClassVar[tuple[str, ...]] = ("client",)

    consumer_tag: str | None

    def __init__(
        self,
        consumer_tag: str | None = None,
    ) -> None:
        self.wire = None
        self.consumer_tag = consumer_tag

    def pack_fields(self) -> bytes:
        flags = 0
        parts = [b""]
        consumer_tag = self.consumer_tag
        if consumer_tag is not None:
            flags |= 0x100
            octets = consumer_tag.encode("utf-8", "surrogateescape")
            size = len(octets)
            parts += (OCTETS[size], octets) if size < 256 else (pack_str8(consumer_tag),)
        parts[0] = _pack_H(flags)
        return b"".join(parts)

    @classmethod
    def unpack_fields(cls, data: bytes, pos: int, end: int) -> tuple[Self, int]:
        found = _new(cls)
        flags = _read_H(data, pos)[0]
        pos += 2
        if flags & 0x100:
            start = pos + 1
            pos = start + data[pos]
            found.consumer_tag = data[start:pos].decode("utf-8", "surrogateescape")
        else:
            found.consumer_tag = None
        return found, pos


class StreamCancel(Command[None]):
    """stream.cancel (0-10 command, code 0x0a05)."""

    __slots__ = ("consumer_tag",)

    NAME: ClassVar[str] = "stream.cancel"
    CODE: ClassVar[int] = 0x0A05
    FIELDS: ClassVar[tuple[tuple[str, str], ...]] = (
        ("consumer_tag", "str8"),
    )
    __match_args__: ClassVar[tuple[str, ...]] = ("consumer_tag",)
    HANDLERS: ClassVar[tuple[str, ...]] = ("server",)

    consumer_tag: str | None

    def __init__(
        self,
        consumer_tag: str | None = None,
    ) -> None:
        self.wire = None
        self.consumer_tag = consumer_tag

    def pack_fields(self) -> bytes:
        flags = 0
        parts = [b""]
        consumer_tag = self.consumer_tag
        if consumer_tag is not None:
            flags |= 0x100
            octets = consumer_tag.encode("utf-8", "surrogateescape")
            size = len(octets)
            parts += (OCTETS[size], octets) if size < 256 else (pack_str8(consumer_tag),)
        parts[0] = _pack_H(flags)
        return b"".join(parts)

    @classmethod
    def unpack_fields(cls, data: bytes, pos: int, end: int) -> tuple[Self, int]:
        found = _new(cls)
        flags = _read_H(data, pos)[0]
        pos += 2
        if flags & 0x100:
            start = pos + 1
            pos = start + data[pos]
            found.consumer_tag = data[start:pos].decode("utf-8", "surrogateescape")
        else:
            found.consumer_tag = None
        return found, pos


class StreamPublish(Command[None]):
    """stream.publish (0-10 command, code 0x0a06)."""

    __slots__ = ("exchange", "routing_key", "mandatory", "immediate")

    NAME: ClassVar[str] = "stream.publish"
    CODE: ClassVar[int] = 0x0A06
    FIELDS: ClassVar[tuple[tuple[str, str], ...]] = (
        ("exchange", "str8"),
        ("routing_key", "str8"),
        ("mandatory", "bit"),
        ("immediate", "bit"),
    )
    __match_args__: ClassVar[tuple[str, ...]] = (
        "exchange",
        "routing_key",
        "mandatory",
        "immediate",
    )
    HANDLERS: ClassVar[tuple[str, ...]] = ("server",)
    HEADERS: ClassVar[tuple[str, ...]] = ("stream.stream-properties",)
    HAS_BODY: ClassVar[bool] = True

    exchange: str | None
    routing_key: str | None
    mandatory: bool
    immediate: bool

    def __init__(
        self,
        exchange: str | None = None,
        routing_key: str | None = None,
        mandatory: bool = False,
        immediate: bool = False,
    ) -> None:
        self.wire = None
        self.exchange = exchange
        self.routing_key = routing_key
        self.mandatory = mandatory
        self.immediate = immediate

    def pack_fields(self) -> bytes:
        flags = 0
        parts = [b""]
        exchange = self.exchange
        if exchange is not None:
            flags |= 0x100
            octets = exchange.encode("utf-8", "surrogateescape")
            size = len(octets)
            parts += (OCTETS[size], octets) if size < 256 else (pack_str8(exchange),)
        routing_key = self.routing_key
        if routing_key is not None:
            flags |= 0x200
            octets = routing_key.encode("utf-8", "surrogateescape")
            size = len(octets)
            parts += (OCTETS[size], octets) if size < 256 else (pack_str8(routing_key),)
        if self.mandatory:
            flags |= 0x400
        if self.immediate:
            flags |= 0x800
        parts[0] = _pack_H(flags)
        return b"".join(parts)

    @classmethod
    def unpack_fields(cls, data: bytes, pos: int, end: int) -> tuple[Self, int]:
        found = _new(cls)
        flags = _read_H(data, pos)[0]
        pos += 2
        if flags & 0x100:
            start = pos + 1
            pos = start + data[pos]
            found.exchange = data[start:pos].decode("utf-8", "surrogateescape")
        else:
            found.exchange = None
        if flags & 0x200:
            start = pos + 1
            pos = start + data[pos]
            found.routing_key = data[start:pos].decode("utf-8", "surrogateescape")
        else:
            found.routing_key = None
        if flags & 0xC00:
            found.mandatory = flags & 0x400 != 0
            found.immediate = flags & 0x800 != 0
        else:
            found.mandatory = False
            found.immediate = False
        return found, pos


class StreamReturn(Command[None]):
    """stream.return (0-10 command, code 0x0a07)."""

    __slots__ = ("reply_code", "reply_text", "exchange", "routing_key")

    NAME: ClassVar[str] = "stream.return"
    CODE: ClassVar[int] = 0x0A07
    FIELDS: ClassVar[tuple[tuple[str, str], ...]] = (
        ("reply_code", "uint16"),
        ("reply_text", "str8"),
        ("exchange", "str8"),
        ("routing_key", "str8"),
    )
    __match_args__: ClassVar[tuple[str, ...]] = (
        "reply_code",
        "reply_text",
        "exchange",
        "routing_key",
    )
    HANDLERS: ClassVar[tuple[str, ...]] = ("client",)
    HEADERS: ClassVar[tuple[str, ...]] = ("stream.stream-properties",)
    HAS_BODY: ClassVar[bool] = True

    reply_code: int | None
    reply_text: str | None
    exchange: str | None
    routing_key: str | None

    def __init__(
        self,
        reply_code: int | None = None,
        reply_text: str | None = None,
        exchange: str | None = None,
        routing_key: str | None = None,
    ) -> None:
        self.wire = None
        self.reply_code = reply_code
        self.reply_text = reply_text
        self.exchange = exchange
        self.routing_key = routing_key

    def pack_fields(self) -> bytes:
        flags = 0
        parts = [b""]
        reply_code = self.reply_code
        if reply_code is not None:
            flags |= 0x100
            parts.append(_pack_H(reply_code))
        reply_text = self.reply_text
        if reply_text is not None:
            flags |= 0x200
            octets = reply_text.encode("utf-8", "surrogateescape")
            size = len(octets)
            parts += (OCTETS[size], octets) if size < 256 else (pack_str8(reply_text),)
        exchange = self.exchange
        if exchange is not None:
            flags |= 0x400
            octets = exchange.encode("utf-8", "surrogateescape")
            size = len(octets)
            parts += (OCTETS[size], octets) if size < 256 else (pack_str8(exchange),)
        routing_key = self.routing_key
        if routing_key is not None:
            flags |= 0x800
            octets = routing_key.encode("utf-8", "surrogateescape")
            size = len(octets)
            parts += (OCTETS[size], octets) if size < 256 else (pack_str8(routing_key),)
        parts[0] = _pack_H(flags)
        return b"".join(parts)

    @classmethod
    def unpack_fields(cls, data: bytes, pos: int, end: int) -> tuple[Self, int]:
        found = _new(cls)
        flags = _read_H(data, pos)[0]
        pos += 2
        if flags & 0x100:
            found.reply_code = _read_H(data, pos)[0]
            pos += 2
        else:
            found.reply_code = None
        if flags & 0x200:
            start = pos + 1
            pos = start + data[pos]
            found.reply_text = data[start:pos].decode("utf-8", "surrogateescape")
        else:
            found.reply_text = None
        if flags & 0x400:
            start = pos + 1
            pos = start + data[pos]
            found.exchange = data[start:pos].decode("utf-8", "surrogateescape")
        else:
            found.exchange = None
        if flags & 0x800:
            start = pos + 1
            pos = start + data[pos]
            found.routing_key = data[start:pos].decode("utf-8", "surrogateescape")
        else:
            found.routing_key = None
        return found, pos


class StreamDeliver(Command[None]):
    """stream.deliver (0-10 command, code 0x0a08)."""

    __slots__ = ("consumer_tag", "delivery_tag", "exchange", "queue")

    NAME: ClassVar[str] = "stream.deliver"
    CODE: ClassVar[int] = 0x0A08
    FIELDS: ClassVar[tuple[tuple[str, str], ...]] = (
        ("consumer_tag", "str8"),
        ("delivery_tag", "uint64"),
        ("exchange", "str8"),
        ("queue", "str8"),
    )
    __match_args__: ClassVar[tuple[str, ...]] = (
        "consumer_tag",
        "delivery_tag",
        "exchange",
        "queue",
    )
    REQUIRED: ClassVar[tuple[str, ...]] = ("queue",)
    MANDATORY: ClassVar[tuple[str, ...]] = ("queue",)
    HANDLERS: ClassVar[tuple[str, ...]] = ("client",)
    HEADERS: ClassVar[tuple[str, ...]] = ("stream.stream-properties",)
    HAS_BODY: ClassVar[bool] = True

    consumer_tag: str | None
    delivery_tag: int | None
    exchange: str | None
    queue: str | None

    def __init__(
        self,
        consumer_tag: str | None = None,
        delivery_tag: int | None = None,
        exchange: str | None = None,
        queue: str | None = None,
    ) -> None:
        self.wire = None
        self.consumer_tag = consumer_tag
        self.delivery_tag = delivery_tag
        self.exchange = exchange
        self.queue = queue

    def pack_fields(self) -> bytes:
        flags = 0
        parts = [b""]
        consumer_tag = self.consumer_tag
        if consumer_tag is not None:
            flags |= 0x100
            octets = consumer_tag.encode("utf-8", "surrogateescape")
            size = len(octets)
            parts += (OCTETS[size], octets) if size < 256 else (pack_str8(consumer_tag),)
        delivery_tag = self.delivery_tag
        if delivery_tag is not None:
            flags |= 0x200
            parts.append(_pack_Q(delivery_tag))
        exchange = self.exchange
        if exchange is not None:
            flags |= 0x400
            octets = exchange.encode("utf-8", "surrogateescape")
            size = len(octets)
            parts += (OCTETS[size], octets) if size < 256 else (pack_str8(exchange),)
        queue = self.queue
        if queue is not None:
            flags |= 0x800
            octets = queue.encode("utf-8", "surrogateescape")
            size = len(octets)
            parts += (OCTETS[size], octets) if size < 256 else (pack_str8(queue),)
        parts[0] = _pack_H(flags)
        return b"".join(parts)

    @classmethod
    def unpack_fields(cls, data: bytes, pos: int, end: int) -> tuple[Self, int]:
        found = _new(cls)
        flags = _read_H(data, pos)[0]
        pos += 2
        if flags & 0x100:
            start = pos + 1
            pos = start + data[pos]
            found.consumer_tag = data[start:pos].decode("utf-8", "surrogateescape")
        else:
            found.consumer_tag = None
        if flags & 0x200:
            found.delivery_tag = _read_Q(data, pos)[0]
            pos += 8
        else:
            found.delivery_tag = None
        if flags & 0x400:
            start = pos + 1
            pos = start + data[pos]
            found.exchange = data[start:pos].decode("utf-8", "surrogateescape")
        else:
            found.exchange = None
        if flags & 0x800:
            start = pos + 1
            pos = start + data[pos]
            found.queue = data[start:pos].decode("utf-8", "surrogateescape")
        else:
            found.queue = None
        return found, pos


STRUCTS.update({
    0x0401: DeliveryProperties,
    0x0402: FragmentProperties,
    0x0403: MessageProperties,
    0x0404: Acquired,
    0x0405: MessageResumeResult,
    0x0601: XaResult,
    0x0604: Xid,
    0x0602: GetTimeoutResult,
    0x0603: RecoverResult,
    0x0701: ExchangeQueryResult,
    0x0702: ExchangeBoundResult,
    0x0801: QueueQueryResult,
    0x0901: FileProperties,
    0x0A01: StreamProperties,
})
CONTROLS.update({
    0x0101: ConnectionStart,
    0x0102: ConnectionStartOk,
    0x0103: ConnectionSecure,
    0x0104: ConnectionSecureOk,
    0x0105: ConnectionTune,
    0x0106: ConnectionTuneOk,
    0x0107: ConnectionOpen,
    0x0108: ConnectionOpenOk,
    0x0109: ConnectionRedirect,
    0x010A: ConnectionHeartbeat,
    0x010B: ConnectionClose,
    0x010C: ConnectionCloseOk,
    0x0201: SessionAttach,
    0x0202: SessionAttached,
    0x0203: SessionDetach,
    0x0204: SessionDetached,
    0x0205: SessionRequestTimeout,
    0x0206: SessionTimeout,
    0x0207: SessionCommandPoint,
    0x0208: SessionExpected,
    0x0209: SessionConfirmed,
    0x020A: SessionCompleted,
    0x020B: SessionKnownCompleted,
    0x020C: SessionFlush,
    0x020D: SessionGap,
})
COMMANDS.update({
    0x0301: ExecutionSync,
    0x0302: ExecutionResult,
    0x0303: ExecutionException,
    0x0401: MessageTransfer,
    0x0402: MessageAccept,
    0x0403: MessageReject,
    0x0404: MessageRelease,
    0x0405: MessageAcquire,
    0x0406: MessageResume,
    0x0407: MessageSubscribe,
    0x0408: MessageCancel,
    0x0409: MessageSetFlowMode,
    0x040A: MessageFlow,
    0x040B: MessageFlush,
    0x040C: MessageStop,
    0x0501: TxSelect,
    0x0502: TxCommit,
    0x0503: TxRollback,
    0x0601: DtxSelect,
    0x0602: DtxStart,
    0x0603: DtxEnd,
    0x0604: DtxCommit,
    0x0605: DtxForget,
    0x0606: DtxGetTimeout,
    0x0607: DtxPrepare,
    0x0608: DtxRecover,
    0x0609: DtxRollback,
    0x060A: DtxSetTimeout,
    0x0701: ExchangeDeclare,
    0x0702: ExchangeDelete,
    0x0703: ExchangeQuery,
    0x0704: ExchangeBind,
    0x0705: ExchangeUnbind,
    0x0706: ExchangeBound,
    0x0801: QueueDeclare,
    0x0802: QueueDelete,
    0x0803: QueuePurge,
    0x0804: QueueQuery,
    0x0901: FileQos,
    0x0902: FileQosOk,
    0x0903: FileConsume,
    0x0904: FileConsumeOk,
    0x0905: FileCancel,
    0x0906: FileOpen,
    0x0907: FileOpenOk,
    0x0908: FileStage,
    0x0909: FilePublish,
    0x090A: FileReturn,
    0x090B: FileDeliver,
    0x090C: FileAck,
    0x090D: FileReject,
    0x0A01: StreamQos,
    0x0A02: StreamQosOk,
    0x0A03: StreamConsume,
    0x0A04: StreamConsumeOk,
    0x0A05: StreamCancel,
    0x0A06: StreamPublish,
    0x0A07: StreamReturn,
    0x0A08: StreamDeliver,
})
UNPACKERS.update({
    code: kind.unpack_fields
    for code, kind in STRUCTS.items()
})

__all__ = [
    "COMMANDS",
    "CONTROLS",
    "STRUCTS",
    "Acquired",
    "CommandFragment",
    "ConnectionClose",
    "ConnectionCloseOk",
    "ConnectionHeartbeat",
    "ConnectionOpen",
    "ConnectionOpenOk",
    "ConnectionRedirect",
    "ConnectionSecure",
    "ConnectionSecureOk",
    "ConnectionStart",
    "ConnectionStartOk",
    "ConnectionTune",
    "ConnectionTuneOk",
    "DeliveryProperties",
    "DtxCommit",
    "DtxEnd",
    "DtxForget",
    "DtxGetTimeout",
    "DtxPrepare",
    "DtxRecover",
    "DtxRollback",
    "DtxSelect",
    "DtxSetTimeout",
    "DtxStart",
    "ExchangeBind",
    "ExchangeBound",
    "ExchangeBoundResult",
    "ExchangeDeclare",
    "ExchangeDelete",
    "ExchangeQuery",
    "ExchangeQueryResult",
    "ExchangeUnbind",
    "ExecutionException",
    "ExecutionResult",
    "ExecutionSync",
    "FileAck",
    "FileCancel",
    "FileConsume",
    "FileConsumeOk",
    "FileDeliver",
    "FileOpen",
    "FileOpenOk",
    "FileProperties",
    "FilePublish",
    "FileQos",
    "FileQosOk",
    "FileReject",
    "FileReturn",
    "FileStage",
    "FragmentProperties",
    "GetTimeoutResult",
    "MessageAccept",
    "MessageAcquire",
    "MessageCancel",
    "MessageFlow",
    "MessageFlush",
    "MessageProperties",
    "MessageReject",
    "MessageRelease",
    "MessageResume",
    "MessageResumeResult",
    "MessageSetFlowMode",
    "MessageStop",
    "MessageSubscribe",
    "MessageTransfer",
    "QueueDeclare",
    "QueueDelete",
    "QueuePurge",
    "QueueQuery",
    "QueueQueryResult",
    "RecoverResult",
    "ReplyTo",
    "SessionAttach",
    "SessionAttached",
    "SessionCommandPoint",
    "SessionCompleted",
    "SessionConfirmed",
    "SessionDetach",
    "SessionDetached",
    "SessionExpected",
    "SessionFlush",
    "SessionGap",
    "SessionHeader",
    "SessionKnownCompleted",
    "SessionRequestTimeout",
    "SessionTimeout",
    "StreamCancel",
    "StreamConsume",
    "StreamConsumeOk",
    "StreamDeliver",
    "StreamProperties",
    "StreamPublish",
    "StreamQos",
    "StreamQosOk",
    "StreamReturn",
    "TxCommit",
    "TxRollback",
    "TxSelect",
    "XaResult",
    "Xid",
]
