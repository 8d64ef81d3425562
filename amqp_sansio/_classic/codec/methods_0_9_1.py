"""The methods, properties and dialects of AMQP 0-9-1."""

# Generated; edit the generator (tools/codegen).

from __future__ import annotations

from struct import Struct

from ..._checking import TYPE_CHECKING
from ...versions import AMQP_0_9_1
from .dialect_record import Dialect
from .method import (
    BOTH,
    CLIENT,
    OCTET,
    READ_FAULTS,
    SERVER,
    WRITE_FAULTS,
    Method,
    Request,
    decode_slowly,
    encode_slowly,
)
from .methods import (
    AccessRequest,
    AccessRequestOk,
    BasicAck,
    BasicCancel,
    BasicCancelOk,
    BasicConsumeOk,
    BasicDeliver,
    BasicGet,
    BasicGetEmpty,
    BasicGetOk,
    BasicProperties,
    BasicPublish,
    BasicQos,
    BasicQosOk,
    BasicReject,
    BasicReturn,
    ChannelClose,
    ChannelCloseOk,
    ChannelFlow,
    ChannelFlowOk,
    ConnectionOpenOk,
    ConnectionSecure,
    ConnectionSecureOk,
    ConnectionStart,
    ConnectionStartOk,
    ConnectionTune,
    ConnectionTuneOk,
    ExchangeBound,
    ExchangeBoundOk,
    ExchangeDeclare,
    ExchangeDeclareOk,
    ExchangeDelete,
    ExchangeDeleteOk,
    QueueBind,
    QueueBindOk,
    QueueDeclare,
    QueueDeclareOk,
    QueueDelete,
    QueueDeleteOk,
    QueuePurge,
    QueuePurgeOk,
    QueueUnbind,
    QueueUnbindOk,
    TxCommit,
    TxCommitOk,
    TxRollback,
    TxRollbackOk,
    TxSelect,
    TxSelectOk,
)
from .properties import Properties
from .table import EMPTY, Table, encode_table
from .table import QPID as QPID_TABLES
from .table import RABBIT as RABBIT_TABLES
from .table import SPEC_0_9_1 as SPEC_0_9_1_TABLES

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, Final

    from .table import FieldValue, TableRules

    FieldTable = Mapping[str, FieldValue]

_new: Final = object.__new__
_pack_BB: Final = Struct(">BB").pack
_pack_HH: Final = Struct(">HH").pack
_pack_I: Final = Struct(">I").pack
_pack_IB: Final = Struct(">IB").pack
_pack_IHB: Final = Struct(">IHB").pack
_pack_II: Final = Struct(">II").pack
_pack_IQB: Final = Struct(">IQB").pack
_read_BB: Final = Struct(">BB").unpack_from
_read_BI: Final = Struct(">BI").unpack_from
_read_HB: Final = Struct(">HB").unpack_from
_read_HH: Final = Struct(">HH").unpack_from
_read_I: Final = Struct(">I").unpack_from
_read_IB: Final = Struct(">IB").unpack_from
_read_QB: Final = Struct(">QB").unpack_from
_table: Final = Table.from_wire


class ConnectionOpen(Request[ConnectionOpenOk]):
    """Open a virtual host: connection.open (10/40), by the client.

    `virtual_host` name of the virtual host.
    """

    __match_args__ = ("virtual_host",)
    __slots__ = __match_args__

    ID = 0x000A0028
    NAME = "connection.open"
    CLASS_ID = 10
    METHOD_ID = 40
    SENT_BY = CLIENT
    SYNCHRONOUS = True
    REPLIES = (ConnectionOpenOk,)
    FIELDS = (("virtual_host", "shortstr"),)
    WIRE = (("virtual_host", "shortstr"), ("", "shortstr"), ("", "bit"))

    def __init__(
        self,
        virtual_host: str = "",
    ) -> None:
        self.virtual_host: Final = virtual_host
        self.spare = None

    def encode(self, tables: TableRules) -> bytes:
        if self.spare is not None:
            return b"\x00\x0a\x00\x28" + self.spare
        try:
            virtual_host = self.virtual_host.encode()
            return b"\x00\x0a\x00\x28" + OCTET[len(virtual_host)] + virtual_host + _pack_BB(0, 0)
        except WRITE_FAULTS:
            return encode_slowly(self, tables)

    @staticmethod
    def decode(buf: bytes, pos: int, end: int, tables: TableRules) -> ConnectionOpen:
        method = _new(ConnectionOpen)
        slot: Any = method
        try:
            a = pos + 1 + buf[pos]
            slot.virtual_host = buf[pos + 1 : a].decode()
            reserved_1, bits = _read_BB(buf, a)
        except READ_FAULTS:
            return decode_slowly(ConnectionOpen, buf, pos, end, tables)
        if a + 2 == end and not reserved_1 and bits < 1:
            slot.spare = None
            return method
        return decode_slowly(ConnectionOpen, buf, pos, end, tables)


class ConnectionCloseOk(Method):
    """Confirm the end of the connection: connection.close-ok (10/51), by either side."""

    __match_args__ = ()
    __slots__ = __match_args__

    ID = 0x000A0033
    NAME = "connection.close-ok"
    CLASS_ID = 10
    METHOD_ID = 51
    SENT_BY = BOTH
    SYNCHRONOUS = True
    IS_REPLY = True

    def encode(self, tables: TableRules) -> bytes:
        if self.spare is not None:
            return b"\x00\x0a\x00\x33" + self.spare
        return b"\x00\x0a\x00\x33"

    @staticmethod
    def decode(buf: bytes, pos: int, end: int, tables: TableRules) -> ConnectionCloseOk:
        if pos != end:
            return decode_slowly(ConnectionCloseOk, buf, pos, end, tables)
        return ConnectionCloseOk()


class ConnectionClose(Request[ConnectionCloseOk]):
    """End the connection: connection.close (10/50), by either side.

    `reply_code` a code of the specification; `reply_text` what happened, for people; `class_id`
    the class at fault, or 0; `method_id` the method at fault, or 0.
    """

    __match_args__ = ("reply_code", "reply_text", "class_id", "method_id")
    __slots__ = __match_args__

    ID = 0x000A0032
    NAME = "connection.close"
    CLASS_ID = 10
    METHOD_ID = 50
    SENT_BY = BOTH
    SYNCHRONOUS = True
    REPLIES = (ConnectionCloseOk,)
    FIELDS = (
        ("reply_code", "short"),
        ("reply_text", "shortstr"),
        ("class_id", "short"),
        ("method_id", "short"),
    )
    WIRE = FIELDS

    def __init__(
        self,
        reply_code: int = 0,
        reply_text: str = "",
        class_id: int = 0,
        method_id: int = 0,
    ) -> None:
        self.reply_code: Final = reply_code
        self.reply_text: Final = reply_text
        self.class_id: Final = class_id
        self.method_id: Final = method_id
        self.spare = None

    def encode(self, tables: TableRules) -> bytes:
        if self.spare is not None:
            return b"\x00\x0a\x00\x32" + self.spare
        try:
            reply_text = self.reply_text.encode()
            return (
                _pack_IHB(0x000A0032, self.reply_code, len(reply_text))
                + reply_text
                + _pack_HH(self.class_id, self.method_id)
            )
        except WRITE_FAULTS:
            return encode_slowly(self, tables)

    @staticmethod
    def decode(buf: bytes, pos: int, end: int, tables: TableRules) -> ConnectionClose:
        method = _new(ConnectionClose)
        slot: Any = method
        size: int
        try:
            slot.reply_code, size = _read_HB(buf, pos)
            a = pos + 3 + size
            slot.reply_text = buf[pos + 3 : a].decode()
            slot.class_id, slot.method_id = _read_HH(buf, a)
        except READ_FAULTS:
            return decode_slowly(ConnectionClose, buf, pos, end, tables)
        if a + 4 == end:
            slot.spare = None
            return method
        return decode_slowly(ConnectionClose, buf, pos, end, tables)


class ConnectionBlocked(Method):
    """Tell that publishes aren't taken at present (extension of RabbitMQ): connection.blocked
    (10/60), by either side.

    `reason` why, for people.
    """

    __match_args__ = ("reason",)
    __slots__ = __match_args__

    ID = 0x000A003C
    NAME = "connection.blocked"
    CLASS_ID = 10
    METHOD_ID = 60
    SENT_BY = BOTH
    FIELDS = (("reason", "shortstr"),)
    WIRE = FIELDS

    def __init__(
        self,
        reason: str = "",
    ) -> None:
        self.reason: Final = reason
        self.spare = None

    def encode(self, tables: TableRules) -> bytes:
        if self.spare is not None:
            return b"\x00\x0a\x00\x3c" + self.spare
        try:
            reason = self.reason.encode()
            return b"\x00\x0a\x00\x3c" + OCTET[len(reason)] + reason
        except WRITE_FAULTS:
            return encode_slowly(self, tables)

    @staticmethod
    def decode(buf: bytes, pos: int, end: int, tables: TableRules) -> ConnectionBlocked:
        method = _new(ConnectionBlocked)
        slot: Any = method
        try:
            a = pos + 1 + buf[pos]
            slot.reason = buf[pos + 1 : a].decode()
        except READ_FAULTS:
            return decode_slowly(ConnectionBlocked, buf, pos, end, tables)
        if a == end:
            slot.spare = None
            return method
        return decode_slowly(ConnectionBlocked, buf, pos, end, tables)


class ConnectionUnblocked(Method):
    """Tell that publishes are taken again (extension of RabbitMQ): connection.unblocked (10/61),
    by either side.
    """

    __match_args__ = ()
    __slots__ = __match_args__

    ID = 0x000A003D
    NAME = "connection.unblocked"
    CLASS_ID = 10
    METHOD_ID = 61
    SENT_BY = BOTH

    def encode(self, tables: TableRules) -> bytes:
        if self.spare is not None:
            return b"\x00\x0a\x00\x3d" + self.spare
        return b"\x00\x0a\x00\x3d"

    @staticmethod
    def decode(buf: bytes, pos: int, end: int, tables: TableRules) -> ConnectionUnblocked:
        if pos != end:
            return decode_slowly(ConnectionUnblocked, buf, pos, end, tables)
        return ConnectionUnblocked()


class ConnectionUpdateSecretOk(Method):
    """Confirm the new secret: connection.update-secret-ok (10/71), by the server."""

    __match_args__ = ()
    __slots__ = __match_args__

    ID = 0x000A0047
    NAME = "connection.update-secret-ok"
    CLASS_ID = 10
    METHOD_ID = 71
    SENT_BY = SERVER
    SYNCHRONOUS = True
    IS_REPLY = True

    def encode(self, tables: TableRules) -> bytes:
        if self.spare is not None:
            return b"\x00\x0a\x00\x47" + self.spare
        return b"\x00\x0a\x00\x47"

    @staticmethod
    def decode(buf: bytes, pos: int, end: int, tables: TableRules) -> ConnectionUpdateSecretOk:
        if pos != end:
            return decode_slowly(ConnectionUpdateSecretOk, buf, pos, end, tables)
        return ConnectionUpdateSecretOk()


class ConnectionUpdateSecret(Request[ConnectionUpdateSecretOk]):
    """Replace the secret of the connection (extension of RabbitMQ): connection.update-secret
    (10/70), by the client.

    `new_secret` the new secret; `reason` why, for people.
    """

    __match_args__ = ("new_secret", "reason")
    __slots__ = __match_args__

    ID = 0x000A0046
    NAME = "connection.update-secret"
    CLASS_ID = 10
    METHOD_ID = 70
    SENT_BY = CLIENT
    SYNCHRONOUS = True
    REPLIES = (ConnectionUpdateSecretOk,)
    FIELDS = (("new_secret", "longstr"), ("reason", "shortstr"))
    WIRE = FIELDS
    SECRETS = ("new_secret",)

    def __init__(
        self,
        new_secret: bytes = b"",
        reason: str = "",
    ) -> None:
        self.new_secret: Final = new_secret
        self.reason: Final = reason
        self.spare = None

    def encode(self, tables: TableRules) -> bytes:
        if self.spare is not None:
            return b"\x00\x0a\x00\x46" + self.spare
        try:
            new_secret = self.new_secret
            reason = self.reason.encode()
            return _pack_II(0x000A0046, len(new_secret)) + new_secret + OCTET[len(reason)] + reason
        except WRITE_FAULTS:
            return encode_slowly(self, tables)

    @staticmethod
    def decode(buf: bytes, pos: int, end: int, tables: TableRules) -> ConnectionUpdateSecret:
        method = _new(ConnectionUpdateSecret)
        slot: Any = method
        size: int
        try:
            size = _read_I(buf, pos)[0]
            a = pos + 4 + size
            slot.new_secret = buf[pos + 4 : a]
            b = a + 1 + buf[a]
            slot.reason = buf[a + 1 : b].decode()
        except READ_FAULTS:
            return decode_slowly(ConnectionUpdateSecret, buf, pos, end, tables)
        if b == end:
            slot.spare = None
            return method
        return decode_slowly(ConnectionUpdateSecret, buf, pos, end, tables)


class ChannelOpenOk(Method):
    """Confirm an open channel: channel.open-ok (20/11), by the server."""

    __match_args__ = ()
    __slots__ = __match_args__

    ID = 0x0014000B
    NAME = "channel.open-ok"
    CLASS_ID = 20
    METHOD_ID = 11
    SENT_BY = SERVER
    SYNCHRONOUS = True
    IS_REPLY = True
    WIRE = (("", "longstr"),)

    def encode(self, tables: TableRules) -> bytes:
        if self.spare is not None:
            return b"\x00\x14\x00\x0b" + self.spare
        try:
            return _pack_II(0x0014000B, 0)
        except WRITE_FAULTS:
            return encode_slowly(self, tables)

    @staticmethod
    def decode(buf: bytes, pos: int, end: int, tables: TableRules) -> ChannelOpenOk:
        method = _new(ChannelOpenOk)
        slot: Any = method
        try:
            reserved_1 = _read_I(buf, pos)[0]
        except READ_FAULTS:
            return decode_slowly(ChannelOpenOk, buf, pos, end, tables)
        if pos + 4 == end and not reserved_1:
            slot.spare = None
            return method
        return decode_slowly(ChannelOpenOk, buf, pos, end, tables)


class ChannelOpen(Request[ChannelOpenOk]):
    """Open a channel: channel.open (20/10), by the client."""

    __match_args__ = ()
    __slots__ = __match_args__

    ID = 0x0014000A
    NAME = "channel.open"
    CLASS_ID = 20
    METHOD_ID = 10
    SENT_BY = CLIENT
    SYNCHRONOUS = True
    REPLIES = (ChannelOpenOk,)
    WIRE = (("", "shortstr"),)

    def encode(self, tables: TableRules) -> bytes:
        if self.spare is not None:
            return b"\x00\x14\x00\x0a" + self.spare
        try:
            return b"\x00\x14\x00\x0a" + OCTET[0]
        except WRITE_FAULTS:
            return encode_slowly(self, tables)

    @staticmethod
    def decode(buf: bytes, pos: int, end: int, tables: TableRules) -> ChannelOpen:
        method = _new(ChannelOpen)
        slot: Any = method
        try:
            reserved_1 = buf[pos]
        except READ_FAULTS:
            return decode_slowly(ChannelOpen, buf, pos, end, tables)
        if pos + 1 == end and not reserved_1:
            slot.spare = None
            return method
        return decode_slowly(ChannelOpen, buf, pos, end, tables)


class ExchangeBindOk(Method):
    """Confirm a binding: exchange.bind-ok (40/31), by the server."""

    __match_args__ = ()
    __slots__ = __match_args__

    ID = 0x0028001F
    NAME = "exchange.bind-ok"
    CLASS_ID = 40
    METHOD_ID = 31
    SENT_BY = SERVER
    SYNCHRONOUS = True
    IS_REPLY = True

    def encode(self, tables: TableRules) -> bytes:
        if self.spare is not None:
            return b"\x00\x28\x00\x1f" + self.spare
        return b"\x00\x28\x00\x1f"

    @staticmethod
    def decode(buf: bytes, pos: int, end: int, tables: TableRules) -> ExchangeBindOk:
        if pos != end:
            return decode_slowly(ExchangeBindOk, buf, pos, end, tables)
        return ExchangeBindOk()


class ExchangeBind(Request[ExchangeBindOk]):
    """Bind an exchange to an exchange (extension of RabbitMQ): exchange.bind (40/30), by the
    client.

    `destination` exchange that gets the messages; `source` exchange that the messages come
    from; `routing_key` what the exchange routes by; `no_wait` no answer is wanted; `arguments`
    what else the broker is told.
    """

    __match_args__ = ("destination", "source", "routing_key", "no_wait", "arguments")
    __slots__ = __match_args__

    ID = 0x0028001E
    NAME = "exchange.bind"
    CLASS_ID = 40
    METHOD_ID = 30
    SENT_BY = CLIENT
    SYNCHRONOUS = True
    REPLIES = (ExchangeBindOk,)
    HAS_NO_WAIT = True
    FIELDS = (
        ("destination", "shortstr"),
        ("source", "shortstr"),
        ("routing_key", "shortstr"),
        ("no_wait", "bit"),
        ("arguments", "table"),
    )
    WIRE = (
        ("", "short"),
        ("destination", "shortstr"),
        ("source", "shortstr"),
        ("routing_key", "shortstr"),
        ("no_wait", "bit"),
        ("arguments", "table"),
    )

    def __init__(
        self,
        destination: str = "",
        source: str = "",
        routing_key: str = "",
        no_wait: bool = False,
        arguments: FieldTable = EMPTY,
    ) -> None:
        self.destination: Final = destination
        self.source: Final = source
        self.routing_key: Final = routing_key
        self.no_wait: Final = no_wait
        self.arguments: Final = arguments
        self.spare = None

    def encode(self, tables: TableRules) -> bytes:
        if self.spare is not None:
            return b"\x00\x28\x00\x1e" + self.spare
        try:
            destination = self.destination.encode()
            source = self.source.encode()
            routing_key = self.routing_key.encode()
            return (
                _pack_IHB(0x0028001E, 0, len(destination))
                + destination
                + OCTET[len(source)]
                + source
                + OCTET[len(routing_key)]
                + routing_key
                + OCTET[1 if self.no_wait else 0]
                + encode_table(self.arguments, tables)
            )
        except WRITE_FAULTS:
            return encode_slowly(self, tables)

    @staticmethod
    def decode(buf: bytes, pos: int, end: int, tables: TableRules) -> ExchangeBind:
        method = _new(ExchangeBind)
        slot: Any = method
        size: int
        try:
            reserved_1, size = _read_HB(buf, pos)
            a = pos + 3 + size
            slot.destination = buf[pos + 3 : a].decode()
            b = a + 1 + buf[a]
            slot.source = buf[a + 1 : b].decode()
            c = b + 1 + buf[b]
            slot.routing_key = buf[b + 1 : c].decode()
            bits, size = _read_BI(buf, c)
            d = c + 5 + size
            slot.arguments = _table(buf[c + 5 : d], tables) if size else EMPTY
        except READ_FAULTS:
            return decode_slowly(ExchangeBind, buf, pos, end, tables)
        if d == end and not reserved_1 and bits < 2:
            slot.no_wait = bits == 1
            slot.spare = None
            return method
        return decode_slowly(ExchangeBind, buf, pos, end, tables)


class ExchangeUnbindOk(Method):
    """Confirm the removal of a binding: exchange.unbind-ok (40/51), by the server."""

    __match_args__ = ()
    __slots__ = __match_args__

    ID = 0x00280033
    NAME = "exchange.unbind-ok"
    CLASS_ID = 40
    METHOD_ID = 51
    SENT_BY = SERVER
    SYNCHRONOUS = True
    IS_REPLY = True

    def encode(self, tables: TableRules) -> bytes:
        if self.spare is not None:
            return b"\x00\x28\x00\x33" + self.spare
        return b"\x00\x28\x00\x33"

    @staticmethod
    def decode(buf: bytes, pos: int, end: int, tables: TableRules) -> ExchangeUnbindOk:
        if pos != end:
            return decode_slowly(ExchangeUnbindOk, buf, pos, end, tables)
        return ExchangeUnbindOk()


class ExchangeUnbind(Request[ExchangeUnbindOk]):
    """Remove a binding between exchanges (extension of RabbitMQ): exchange.unbind (40/40), by the
    client.

    `destination` exchange that gets the messages; `source` exchange that the messages come
    from; `routing_key` what the exchange routes by; `no_wait` no answer is wanted; `arguments`
    what else the broker is told.
    """

    __match_args__ = ("destination", "source", "routing_key", "no_wait", "arguments")
    __slots__ = __match_args__

    ID = 0x00280028
    NAME = "exchange.unbind"
    CLASS_ID = 40
    METHOD_ID = 40
    SENT_BY = CLIENT
    SYNCHRONOUS = True
    REPLIES = (ExchangeUnbindOk,)
    HAS_NO_WAIT = True
    FIELDS = (
        ("destination", "shortstr"),
        ("source", "shortstr"),
        ("routing_key", "shortstr"),
        ("no_wait", "bit"),
        ("arguments", "table"),
    )
    WIRE = (
        ("", "short"),
        ("destination", "shortstr"),
        ("source", "shortstr"),
        ("routing_key", "shortstr"),
        ("no_wait", "bit"),
        ("arguments", "table"),
    )

    def __init__(
        self,
        destination: str = "",
        source: str = "",
        routing_key: str = "",
        no_wait: bool = False,
        arguments: FieldTable = EMPTY,
    ) -> None:
        self.destination: Final = destination
        self.source: Final = source
        self.routing_key: Final = routing_key
        self.no_wait: Final = no_wait
        self.arguments: Final = arguments
        self.spare = None

    def encode(self, tables: TableRules) -> bytes:
        if self.spare is not None:
            return b"\x00\x28\x00\x28" + self.spare
        try:
            destination = self.destination.encode()
            source = self.source.encode()
            routing_key = self.routing_key.encode()
            return (
                _pack_IHB(0x00280028, 0, len(destination))
                + destination
                + OCTET[len(source)]
                + source
                + OCTET[len(routing_key)]
                + routing_key
                + OCTET[1 if self.no_wait else 0]
                + encode_table(self.arguments, tables)
            )
        except WRITE_FAULTS:
            return encode_slowly(self, tables)

    @staticmethod
    def decode(buf: bytes, pos: int, end: int, tables: TableRules) -> ExchangeUnbind:
        method = _new(ExchangeUnbind)
        slot: Any = method
        size: int
        try:
            reserved_1, size = _read_HB(buf, pos)
            a = pos + 3 + size
            slot.destination = buf[pos + 3 : a].decode()
            b = a + 1 + buf[a]
            slot.source = buf[a + 1 : b].decode()
            c = b + 1 + buf[b]
            slot.routing_key = buf[b + 1 : c].decode()
            bits, size = _read_BI(buf, c)
            d = c + 5 + size
            slot.arguments = _table(buf[c + 5 : d], tables) if size else EMPTY
        except READ_FAULTS:
            return decode_slowly(ExchangeUnbind, buf, pos, end, tables)
        if d == end and not reserved_1 and bits < 2:
            slot.no_wait = bits == 1
            slot.spare = None
            return method
        return decode_slowly(ExchangeUnbind, buf, pos, end, tables)


class BasicConsume(Request[BasicConsumeOk]):
    """Start a consumer on a queue: basic.consume (60/20), by the client.

    `queue` name of the queue; empty: see the specification; `consumer_tag` names the consumer
    on its channel; empty: the server names it; `no_local` nothing that this connection
    published; `no_ack` settled as soon as sent; `exclusive` for this connection or consumer
    alone; `no_wait` no answer is wanted; `arguments` what else the broker is told.
    """

    __match_args__ = (
        "queue",
        "consumer_tag",
        "no_local",
        "no_ack",
        "exclusive",
        "no_wait",
        "arguments",
    )
    __slots__ = __match_args__

    ID = 0x003C0014
    NAME = "basic.consume"
    CLASS_ID = 60
    METHOD_ID = 20
    SENT_BY = CLIENT
    SYNCHRONOUS = True
    REPLIES = (BasicConsumeOk,)
    HAS_NO_WAIT = True
    FIELDS = (
        ("queue", "shortstr"),
        ("consumer_tag", "shortstr"),
        ("no_local", "bit"),
        ("no_ack", "bit"),
        ("exclusive", "bit"),
        ("no_wait", "bit"),
        ("arguments", "table"),
    )
    WIRE = (
        ("", "short"),
        ("queue", "shortstr"),
        ("consumer_tag", "shortstr"),
        ("no_local", "bit"),
        ("no_ack", "bit"),
        ("exclusive", "bit"),
        ("no_wait", "bit"),
        ("arguments", "table"),
    )

    def __init__(
        self,
        queue: str = "",
        consumer_tag: str = "",
        no_local: bool = False,
        no_ack: bool = False,
        exclusive: bool = False,
        no_wait: bool = False,
        arguments: FieldTable = EMPTY,
    ) -> None:
        self.queue: Final = queue
        self.consumer_tag: Final = consumer_tag
        self.no_local: Final = no_local
        self.no_ack: Final = no_ack
        self.exclusive: Final = exclusive
        self.no_wait: Final = no_wait
        self.arguments: Final = arguments
        self.spare = None

    def encode(self, tables: TableRules) -> bytes:
        if self.spare is not None:
            return b"\x00\x3c\x00\x14" + self.spare
        try:
            queue = self.queue.encode()
            consumer_tag = self.consumer_tag.encode()
            bits = (
                (1 if self.no_local else 0)
                | (2 if self.no_ack else 0)
                | (4 if self.exclusive else 0)
                | (8 if self.no_wait else 0)
            )
            return (
                _pack_IHB(0x003C0014, 0, len(queue))
                + queue
                + OCTET[len(consumer_tag)]
                + consumer_tag
                + OCTET[bits]
                + encode_table(self.arguments, tables)
            )
        except WRITE_FAULTS:
            return encode_slowly(self, tables)

    @staticmethod
    def decode(buf: bytes, pos: int, end: int, tables: TableRules) -> BasicConsume:
        method = _new(BasicConsume)
        slot: Any = method
        size: int
        try:
            reserved_1, size = _read_HB(buf, pos)
            a = pos + 3 + size
            slot.queue = buf[pos + 3 : a].decode()
            b = a + 1 + buf[a]
            slot.consumer_tag = buf[a + 1 : b].decode()
            bits, size = _read_BI(buf, b)
            c = b + 5 + size
            slot.arguments = _table(buf[b + 5 : c], tables) if size else EMPTY
        except READ_FAULTS:
            return decode_slowly(BasicConsume, buf, pos, end, tables)
        if c == end and not reserved_1 and bits < 16:
            slot.no_local = bits & 1 != 0
            slot.no_ack = bits & 2 != 0
            slot.exclusive = bits & 4 != 0
            slot.no_wait = bits & 8 != 0
            slot.spare = None
            return method
        return decode_slowly(BasicConsume, buf, pos, end, tables)


class BasicRecoverAsync(Method):
    """Have unsettled deliveries delivered again, without an answer: basic.recover-async (60/100),
    by the client.

    `requeue` may be delivered again.
    """

    __match_args__ = ("requeue",)
    __slots__ = __match_args__

    ID = 0x003C0064
    NAME = "basic.recover-async"
    CLASS_ID = 60
    METHOD_ID = 100
    SENT_BY = CLIENT
    FIELDS = (("requeue", "bit"),)
    WIRE = FIELDS

    def __init__(
        self,
        requeue: bool = False,
    ) -> None:
        self.requeue: Final = requeue
        self.spare = None

    def encode(self, tables: TableRules) -> bytes:
        if self.spare is not None:
            return b"\x00\x3c\x00\x64" + self.spare
        try:
            return b"\x00\x3c\x00\x64" + OCTET[1 if self.requeue else 0]
        except WRITE_FAULTS:
            return encode_slowly(self, tables)

    @staticmethod
    def decode(buf: bytes, pos: int, end: int, tables: TableRules) -> BasicRecoverAsync:
        method = _new(BasicRecoverAsync)
        slot: Any = method
        try:
            bits = buf[pos]
        except READ_FAULTS:
            return decode_slowly(BasicRecoverAsync, buf, pos, end, tables)
        if pos + 1 == end and bits < 2:
            slot.requeue = bits == 1
            slot.spare = None
            return method
        return decode_slowly(BasicRecoverAsync, buf, pos, end, tables)


class BasicRecoverOk(Method):
    """Confirm recovery: basic.recover-ok (60/111), by the server."""

    __match_args__ = ()
    __slots__ = __match_args__

    ID = 0x003C006F
    NAME = "basic.recover-ok"
    CLASS_ID = 60
    METHOD_ID = 111
    SENT_BY = SERVER
    SYNCHRONOUS = True
    IS_REPLY = True

    def encode(self, tables: TableRules) -> bytes:
        if self.spare is not None:
            return b"\x00\x3c\x00\x6f" + self.spare
        return b"\x00\x3c\x00\x6f"

    @staticmethod
    def decode(buf: bytes, pos: int, end: int, tables: TableRules) -> BasicRecoverOk:
        if pos != end:
            return decode_slowly(BasicRecoverOk, buf, pos, end, tables)
        return BasicRecoverOk()


class BasicRecover(Request[BasicRecoverOk]):
    """Have unsettled deliveries delivered again: basic.recover (60/110), by the client.

    `requeue` may be delivered again.
    """

    __match_args__ = ("requeue",)
    __slots__ = __match_args__

    ID = 0x003C006E
    NAME = "basic.recover"
    CLASS_ID = 60
    METHOD_ID = 110
    SENT_BY = CLIENT
    SYNCHRONOUS = True
    REPLIES = (BasicRecoverOk,)
    FIELDS = (("requeue", "bit"),)
    WIRE = FIELDS

    def __init__(
        self,
        requeue: bool = False,
    ) -> None:
        self.requeue: Final = requeue
        self.spare = None

    def encode(self, tables: TableRules) -> bytes:
        if self.spare is not None:
            return b"\x00\x3c\x00\x6e" + self.spare
        try:
            return b"\x00\x3c\x00\x6e" + OCTET[1 if self.requeue else 0]
        except WRITE_FAULTS:
            return encode_slowly(self, tables)

    @staticmethod
    def decode(buf: bytes, pos: int, end: int, tables: TableRules) -> BasicRecover:
        method = _new(BasicRecover)
        slot: Any = method
        try:
            bits = buf[pos]
        except READ_FAULTS:
            return decode_slowly(BasicRecover, buf, pos, end, tables)
        if pos + 1 == end and bits < 2:
            slot.requeue = bits == 1
            slot.spare = None
            return method
        return decode_slowly(BasicRecover, buf, pos, end, tables)


class BasicNack(Method):
    """Refuse one delivery or all up to it; from the server: refuse publishes (extension of
    RabbitMQ): basic.nack (60/120), by either side.

    `delivery_tag` counts deliveries on a channel from 1; `multiple` all up to this tag;
    `requeue` may be delivered again.
    """

    __match_args__ = ("delivery_tag", "multiple", "requeue")
    __slots__ = __match_args__

    ID = 0x003C0078
    NAME = "basic.nack"
    CLASS_ID = 60
    METHOD_ID = 120
    SENT_BY = BOTH
    FIELDS = (("delivery_tag", "longlong"), ("multiple", "bit"), ("requeue", "bit"))
    WIRE = FIELDS

    def __init__(
        self,
        delivery_tag: int = 0,
        multiple: bool = False,
        requeue: bool = False,
    ) -> None:
        self.delivery_tag: Final = delivery_tag
        self.multiple: Final = multiple
        self.requeue: Final = requeue
        self.spare = None

    def encode(self, tables: TableRules) -> bytes:
        if self.spare is not None:
            return b"\x00\x3c\x00\x78" + self.spare
        try:
            bits = (1 if self.multiple else 0) | (2 if self.requeue else 0)
            return _pack_IQB(0x003C0078, self.delivery_tag, bits)
        except WRITE_FAULTS:
            return encode_slowly(self, tables)

    @staticmethod
    def decode(buf: bytes, pos: int, end: int, tables: TableRules) -> BasicNack:
        method = _new(BasicNack)
        slot: Any = method
        try:
            slot.delivery_tag, bits = _read_QB(buf, pos)
        except READ_FAULTS:
            return decode_slowly(BasicNack, buf, pos, end, tables)
        if pos + 9 == end and bits < 4:
            slot.multiple = bits & 1 != 0
            slot.requeue = bits & 2 != 0
            slot.spare = None
            return method
        return decode_slowly(BasicNack, buf, pos, end, tables)


class BasicCreditOk(Method):
    """Confirm credit (extension of RabbitMQ): basic.credit-ok (60/201), by the server.

    `available` messages ready beyond the credit.
    """

    __match_args__ = ("available",)
    __slots__ = __match_args__

    ID = 0x003C00C9
    NAME = "basic.credit-ok"
    CLASS_ID = 60
    METHOD_ID = 201
    SENT_BY = SERVER
    SYNCHRONOUS = True
    IS_REPLY = True
    FIELDS = (("available", "long"),)
    WIRE = FIELDS

    def __init__(
        self,
        available: int = 0,
    ) -> None:
        self.available: Final = available
        self.spare = None

    def encode(self, tables: TableRules) -> bytes:
        if self.spare is not None:
            return b"\x00\x3c\x00\xc9" + self.spare
        try:
            return _pack_II(0x003C00C9, self.available)
        except WRITE_FAULTS:
            return encode_slowly(self, tables)

    @staticmethod
    def decode(buf: bytes, pos: int, end: int, tables: TableRules) -> BasicCreditOk:
        method = _new(BasicCreditOk)
        slot: Any = method
        try:
            slot.available = _read_I(buf, pos)[0]
        except READ_FAULTS:
            return decode_slowly(BasicCreditOk, buf, pos, end, tables)
        if pos + 4 == end:
            slot.spare = None
            return method
        return decode_slowly(BasicCreditOk, buf, pos, end, tables)


class BasicCredit(Request[BasicCreditOk]):
    """Give a consumer credit (extension of RabbitMQ): basic.credit (60/200), by the client.

    `consumer_tag` names the consumer on its channel; empty: the server names it; `credit`
    deliveries allowed; `drain` use up the credit at once.
    """

    __match_args__ = ("consumer_tag", "credit", "drain")
    __slots__ = __match_args__

    ID = 0x003C00C8
    NAME = "basic.credit"
    CLASS_ID = 60
    METHOD_ID = 200
    SENT_BY = CLIENT
    SYNCHRONOUS = True
    REPLIES = (BasicCreditOk,)
    FIELDS = (("consumer_tag", "shortstr"), ("credit", "long"), ("drain", "bit"))
    WIRE = FIELDS

    def __init__(
        self,
        consumer_tag: str = "",
        credit: int = 0,
        drain: bool = False,
    ) -> None:
        self.consumer_tag: Final = consumer_tag
        self.credit: Final = credit
        self.drain: Final = drain
        self.spare = None

    def encode(self, tables: TableRules) -> bytes:
        if self.spare is not None:
            return b"\x00\x3c\x00\xc8" + self.spare
        try:
            consumer_tag = self.consumer_tag.encode()
            return (
                b"\x00\x3c\x00\xc8"
                + OCTET[len(consumer_tag)]
                + consumer_tag
                + _pack_IB(self.credit, 1 if self.drain else 0)
            )
        except WRITE_FAULTS:
            return encode_slowly(self, tables)

    @staticmethod
    def decode(buf: bytes, pos: int, end: int, tables: TableRules) -> BasicCredit:
        method = _new(BasicCredit)
        slot: Any = method
        try:
            a = pos + 1 + buf[pos]
            slot.consumer_tag = buf[pos + 1 : a].decode()
            slot.credit, bits = _read_IB(buf, a)
        except READ_FAULTS:
            return decode_slowly(BasicCredit, buf, pos, end, tables)
        if a + 5 == end and bits < 2:
            slot.drain = bits == 1
            slot.spare = None
            return method
        return decode_slowly(BasicCredit, buf, pos, end, tables)


class BasicCreditDrained(Method):
    """Tell that draining used up the credit (extension of RabbitMQ): basic.credit-drained
    (60/202), by the server.

    `consumer_tag` names the consumer on its channel; empty: the server names it;
    `credit_drained` credit that was used up.
    """

    __match_args__ = ("consumer_tag", "credit_drained")
    __slots__ = __match_args__

    ID = 0x003C00CA
    NAME = "basic.credit-drained"
    CLASS_ID = 60
    METHOD_ID = 202
    SENT_BY = SERVER
    FIELDS = (("consumer_tag", "shortstr"), ("credit_drained", "long"))
    WIRE = FIELDS

    def __init__(
        self,
        consumer_tag: str = "",
        credit_drained: int = 0,
    ) -> None:
        self.consumer_tag: Final = consumer_tag
        self.credit_drained: Final = credit_drained
        self.spare = None

    def encode(self, tables: TableRules) -> bytes:
        if self.spare is not None:
            return b"\x00\x3c\x00\xca" + self.spare
        try:
            consumer_tag = self.consumer_tag.encode()
            return (
                b"\x00\x3c\x00\xca"
                + OCTET[len(consumer_tag)]
                + consumer_tag
                + _pack_I(self.credit_drained)
            )
        except WRITE_FAULTS:
            return encode_slowly(self, tables)

    @staticmethod
    def decode(buf: bytes, pos: int, end: int, tables: TableRules) -> BasicCreditDrained:
        method = _new(BasicCreditDrained)
        slot: Any = method
        try:
            a = pos + 1 + buf[pos]
            slot.consumer_tag = buf[pos + 1 : a].decode()
            slot.credit_drained = _read_I(buf, a)[0]
        except READ_FAULTS:
            return decode_slowly(BasicCreditDrained, buf, pos, end, tables)
        if a + 4 == end:
            slot.spare = None
            return method
        return decode_slowly(BasicCreditDrained, buf, pos, end, tables)


class ConfirmSelectOk(Method):
    """Confirm that publishes will be confirmed: confirm.select-ok (85/11), by the server."""

    __match_args__ = ()
    __slots__ = __match_args__

    ID = 0x0055000B
    NAME = "confirm.select-ok"
    CLASS_ID = 85
    METHOD_ID = 11
    SENT_BY = SERVER
    SYNCHRONOUS = True
    IS_REPLY = True

    def encode(self, tables: TableRules) -> bytes:
        if self.spare is not None:
            return b"\x00\x55\x00\x0b" + self.spare
        return b"\x00\x55\x00\x0b"

    @staticmethod
    def decode(buf: bytes, pos: int, end: int, tables: TableRules) -> ConfirmSelectOk:
        if pos != end:
            return decode_slowly(ConfirmSelectOk, buf, pos, end, tables)
        return ConfirmSelectOk()


class ConfirmSelect(Request[ConfirmSelectOk]):
    """Have publishes on the channel confirmed (extension of RabbitMQ): confirm.select (85/10), by
    the client.

    `no_wait` no answer is wanted.
    """

    __match_args__ = ("no_wait",)
    __slots__ = __match_args__

    ID = 0x0055000A
    NAME = "confirm.select"
    CLASS_ID = 85
    METHOD_ID = 10
    SENT_BY = CLIENT
    SYNCHRONOUS = True
    REPLIES = (ConfirmSelectOk,)
    HAS_NO_WAIT = True
    FIELDS = (("no_wait", "bit"),)
    WIRE = FIELDS

    def __init__(
        self,
        no_wait: bool = False,
    ) -> None:
        self.no_wait: Final = no_wait
        self.spare = None

    def encode(self, tables: TableRules) -> bytes:
        if self.spare is not None:
            return b"\x00\x55\x00\x0a" + self.spare
        try:
            return b"\x00\x55\x00\x0a" + OCTET[1 if self.no_wait else 0]
        except WRITE_FAULTS:
            return encode_slowly(self, tables)

    @staticmethod
    def decode(buf: bytes, pos: int, end: int, tables: TableRules) -> ConfirmSelect:
        method = _new(ConfirmSelect)
        slot: Any = method
        try:
            bits = buf[pos]
        except READ_FAULTS:
            return decode_slowly(ConfirmSelect, buf, pos, end, tables)
        if pos + 1 == end and bits < 2:
            slot.no_wait = bits == 1
            slot.spare = None
            return method
        return decode_slowly(ConfirmSelect, buf, pos, end, tables)


_EVERYWHERE: Final[tuple[type[Method], ...]] = (
    ConnectionStart,
    ConnectionStartOk,
    ConnectionSecure,
    ConnectionSecureOk,
    ConnectionTune,
    ConnectionTuneOk,
    ConnectionOpen,
    ConnectionOpenOk,
    ConnectionClose,
    ConnectionCloseOk,
    ChannelOpen,
    ChannelOpenOk,
    ChannelFlow,
    ChannelFlowOk,
    ChannelClose,
    ChannelCloseOk,
    ExchangeDeclare,
    ExchangeDeclareOk,
    ExchangeDelete,
    ExchangeDeleteOk,
    QueueDeclare,
    QueueDeclareOk,
    QueueBind,
    QueueBindOk,
    QueuePurge,
    QueuePurgeOk,
    QueueDelete,
    QueueDeleteOk,
    QueueUnbind,
    QueueUnbindOk,
    BasicQos,
    BasicQosOk,
    BasicConsume,
    BasicConsumeOk,
    BasicCancel,
    BasicCancelOk,
    BasicPublish,
    BasicReturn,
    BasicDeliver,
    BasicGet,
    BasicGetOk,
    BasicGetEmpty,
    BasicAck,
    BasicReject,
    BasicRecoverAsync,
    BasicRecover,
    BasicRecoverOk,
    TxSelect,
    TxSelectOk,
    TxCommit,
    TxCommitOk,
    TxRollback,
    TxRollbackOk,
)
_PROPERTIES: Final[tuple[type[Properties], ...]] = (
    BasicProperties,
)


def dialect_named(name: str) -> Dialect:
    """The dialect of AMQP 0-9-1 with that name."""
    return DIALECTS[name]


SPEC: Final = Dialect(
    "0-9-1",
    AMQP_0_9_1,
    _EVERYWHERE,
    _PROPERTIES,
    SPEC_0_9_1_TABLES,
    {
        311: ("content-too-large", False),
        313: ("no-consumers", False),
        320: ("connection-forced", True),
        402: ("invalid-path", True),
        403: ("access-refused", False),
        404: ("not-found", False),
        405: ("resource-locked", False),
        406: ("precondition-failed", False),
        501: ("frame-error", True),
        502: ("syntax-error", True),
        503: ("command-invalid", True),
        504: ("channel-error", True),
        505: ("unexpected-frame", True),
        506: ("resource-error", True),
        530: ("not-allowed", True),
        540: ("not-implemented", True),
        541: ("internal-error", True),
    },
    {
        BasicCancel.ID: CLIENT,
        BasicCancelOk.ID: SERVER,
        BasicAck.ID: CLIENT,
    },
    {
    },
    dialect_named,
)
"""The dialect 0-9-1."""

RABBIT: Final = Dialect(
    "0-9-1-rabbit",
    AMQP_0_9_1,
    (
        *_EVERYWHERE,
        ConnectionBlocked,
        ConnectionUnblocked,
        ConnectionUpdateSecret,
        ConnectionUpdateSecretOk,
        AccessRequest,
        AccessRequestOk,
        ExchangeBind,
        ExchangeBindOk,
        ExchangeUnbind,
        ExchangeUnbindOk,
        BasicNack,
        BasicCredit,
        BasicCreditOk,
        BasicCreditDrained,
        ConfirmSelect,
        ConfirmSelectOk,
    ),
    _PROPERTIES,
    RABBIT_TABLES,
    {
        311: ("content-too-large", False),
        312: ("no-route", False),
        313: ("no-consumers", False),
        320: ("connection-forced", True),
        402: ("invalid-path", True),
        403: ("access-refused", False),
        404: ("not-found", False),
        405: ("resource-locked", False),
        406: ("precondition-failed", False),
        501: ("frame-error", True),
        502: ("syntax-error", True),
        503: ("command-invalid", True),
        504: ("channel-error", True),
        505: ("unexpected-frame", True),
        506: ("resource-error", True),
        530: ("not-allowed", True),
        540: ("not-implemented", True),
        541: ("internal-error", True),
    },
    {
    },
    {
    },
    dialect_named,
)
"""The dialect 0-9-1-rabbit."""

QPID: Final = Dialect(
    "0-9-1-qpid",
    AMQP_0_9_1,
    (
        *_EVERYWHERE,
        ExchangeBound,
        ExchangeBoundOk,
        BasicNack,
        ConfirmSelect,
        ConfirmSelectOk,
    ),
    _PROPERTIES,
    QPID_TABLES,
    {
        311: ("content-too-large", False),
        313: ("no-consumers", False),
        320: ("connection-forced", True),
        402: ("invalid-path", True),
        403: ("access-refused", False),
        404: ("not-found", False),
        405: ("resource-locked", False),
        406: ("precondition-failed", False),
        501: ("frame-error", True),
        502: ("syntax-error", True),
        503: ("command-invalid", True),
        504: ("channel-error", True),
        505: ("unexpected-frame", True),
        506: ("resource-error", True),
        530: ("not-allowed", True),
        540: ("not-implemented", True),
        541: ("internal-error", True),
    },
    {
        BasicCancel.ID: CLIENT,
        BasicCancelOk.ID: SERVER,
    },
    {
    },
    dialect_named,
)
"""The dialect 0-9-1-qpid."""

DIALECTS: Final[Mapping[str, Dialect]] = {
    "0-9-1": SPEC,
    "0-9-1-rabbit": RABBIT,
    "0-9-1-qpid": QPID,
}
"""The dialects of AMQP 0-9-1, by name."""


__all__ = [
    "DIALECTS",
    "QPID",
    "RABBIT",
    "SPEC",
    "AccessRequest",
    "AccessRequestOk",
    "BasicAck",
    "BasicCancel",
    "BasicCancelOk",
    "BasicConsume",
    "BasicConsumeOk",
    "BasicCredit",
    "BasicCreditDrained",
    "BasicCreditOk",
    "BasicDeliver",
    "BasicGet",
    "BasicGetEmpty",
    "BasicGetOk",
    "BasicNack",
    "BasicProperties",
    "BasicPublish",
    "BasicQos",
    "BasicQosOk",
    "BasicRecover",
    "BasicRecoverAsync",
    "BasicRecoverOk",
    "BasicReject",
    "BasicReturn",
    "ChannelClose",
    "ChannelCloseOk",
    "ChannelFlow",
    "ChannelFlowOk",
    "ChannelOpen",
    "ChannelOpenOk",
    "ConfirmSelect",
    "ConfirmSelectOk",
    "ConnectionBlocked",
    "ConnectionClose",
    "ConnectionCloseOk",
    "ConnectionOpen",
    "ConnectionOpenOk",
    "ConnectionSecure",
    "ConnectionSecureOk",
    "ConnectionStart",
    "ConnectionStartOk",
    "ConnectionTune",
    "ConnectionTuneOk",
    "ConnectionUnblocked",
    "ConnectionUpdateSecret",
    "ConnectionUpdateSecretOk",
    "ExchangeBind",
    "ExchangeBindOk",
    "ExchangeBound",
    "ExchangeBoundOk",
    "ExchangeDeclare",
    "ExchangeDeclareOk",
    "ExchangeDelete",
    "ExchangeDeleteOk",
    "ExchangeUnbind",
    "ExchangeUnbindOk",
    "QueueBind",
    "QueueBindOk",
    "QueueDeclare",
    "QueueDeclareOk",
    "QueueDelete",
    "QueueDeleteOk",
    "QueuePurge",
    "QueuePurgeOk",
    "QueueUnbind",
    "QueueUnbindOk",
    "TxCommit",
    "TxCommitOk",
    "TxRollback",
    "TxRollbackOk",
    "TxSelect",
    "TxSelectOk",
]
