"""The methods, properties and dialects of AMQP 0-8."""

# Generated; edit the generator (tools/codegen).

from __future__ import annotations

from struct import Struct

from ..._checking import TYPE_CHECKING
from ...versions import AMQP_0_8
from .dialect_record import Dialect
from .method import (
    BITS,
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
from .properties import Properties, lazily, load_slowly
from .properties import encode_slowly as encode_properties_slowly
from .table import EMPTY, Table, encode_table
from .table import QPID_0_8 as QPID_0_8_TABLES
from .table import RABBIT_0_8 as RABBIT_0_8_TABLES
from .table import SPEC_0_8 as SPEC_0_8_TABLES

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, Final

    from .table import FieldValue, TableRules

    FieldTable = Mapping[str, FieldValue]

_new: Final = object.__new__
_pack_B: Final = Struct(">B").pack
_pack_BB: Final = Struct(">BB").pack
_pack_H: Final = Struct(">H").pack
_pack_HH: Final = Struct(">HH").pack
_pack_I: Final = Struct(">I").pack
_pack_IBHIQB: Final = Struct(">IBHIQB").pack
_pack_IHB: Final = Struct(">IHB").pack
_pack_II: Final = Struct(">II").pack
_pack_IIHB: Final = Struct(">IIHB").pack
_pack_IIHIB: Final = Struct(">IIHIB").pack
_pack_IQ: Final = Struct(">IQ").pack
_pack_IQB: Final = Struct(">IQB").pack
_pack_IQI: Final = Struct(">IQI").pack
_pack_Q: Final = Struct(">Q").pack
_pack_QB: Final = Struct(">QB").pack
_pack_QBB: Final = Struct(">QBB").pack
_read_BB: Final = Struct(">BB").unpack_from
_read_BHIQB: Final = Struct(">BHIQB").unpack_from
_read_HB: Final = Struct(">HB").unpack_from
_read_HH: Final = Struct(">HH").unpack_from
_read_I: Final = Struct(">I").unpack_from
_read_IHB: Final = Struct(">IHB").unpack_from
_read_IHIB: Final = Struct(">IHIB").unpack_from
_read_Q: Final = Struct(">Q").unpack_from
_read_QB: Final = Struct(">QB").unpack_from
_read_QBB: Final = Struct(">QBB").unpack_from
_read_QI: Final = Struct(">QI").unpack_from
_table: Final = Table.from_wire


class ConnectionRedirect(Method):
    """Send the client to another host: connection.redirect (10/50), by the server.

    `host` where to go; `known_hosts` other hosts, separated by commas.
    """

    __match_args__ = ("host", "known_hosts")
    __slots__ = __match_args__

    ID = 0x000A0032
    NAME = "connection.redirect"
    CLASS_ID = 10
    METHOD_ID = 50
    SENT_BY = SERVER
    SYNCHRONOUS = True
    IS_REPLY = True
    FIELDS = (("host", "shortstr"), ("known_hosts", "shortstr"))
    WIRE = FIELDS
    RESERVED = ("known_hosts",)

    def __init__(
        self,
        host: str = "",
        known_hosts: str = "",
    ) -> None:
        self.host: Final = host
        self.known_hosts: Final = known_hosts
        self.spare = None

    def encode(self, tables: TableRules) -> bytes:
        if self.spare is not None:
            return b"\x00\x0a\x00\x32" + self.spare
        try:
            host = self.host.encode()
            known_hosts = self.known_hosts.encode()
            return (
                b"\x00\x0a\x00\x32"
                + OCTET[len(host)]
                + host
                + OCTET[len(known_hosts)]
                + known_hosts
            )
        except WRITE_FAULTS:
            return encode_slowly(self, tables)

    @staticmethod
    def decode(buf: bytes, pos: int, end: int, tables: TableRules) -> ConnectionRedirect:
        method = _new(ConnectionRedirect)
        slot: Any = method
        try:
            a = pos + 1 + buf[pos]
            slot.host = buf[pos + 1 : a].decode()
            b = a + 1 + buf[a]
            slot.known_hosts = buf[a + 1 : b].decode()
        except READ_FAULTS:
            return decode_slowly(ConnectionRedirect, buf, pos, end, tables)
        if b == end:
            slot.spare = None
            return method
        return decode_slowly(ConnectionRedirect, buf, pos, end, tables)


class ConnectionOpen(Request[ConnectionOpenOk | ConnectionRedirect]):
    """Open a virtual host: connection.open (10/40), by the client.

    `virtual_host` name of the virtual host; `capabilities` what the client wants; `insist`
    refuse to be redirected.
    """

    __match_args__ = ("virtual_host", "capabilities", "insist")
    __slots__ = __match_args__

    ID = 0x000A0028
    NAME = "connection.open"
    CLASS_ID = 10
    METHOD_ID = 40
    SENT_BY = CLIENT
    SYNCHRONOUS = True
    REPLIES = (ConnectionOpenOk, ConnectionRedirect)
    FIELDS = (("virtual_host", "shortstr"), ("capabilities", "shortstr"), ("insist", "bit"))
    WIRE = FIELDS
    RESERVED = ("capabilities", "insist")

    def __init__(
        self,
        virtual_host: str = "",
        capabilities: str = "",
        insist: bool = False,
    ) -> None:
        self.virtual_host: Final = virtual_host
        self.capabilities: Final = capabilities
        self.insist: Final = insist
        self.spare = None

    def encode(self, tables: TableRules) -> bytes:
        if self.spare is not None:
            return b"\x00\x0a\x00\x28" + self.spare
        try:
            virtual_host = self.virtual_host.encode()
            capabilities = self.capabilities.encode()
            return (
                b"\x00\x0a\x00\x28"
                + OCTET[len(virtual_host)]
                + virtual_host
                + OCTET[len(capabilities)]
                + capabilities
                + OCTET[1 if self.insist else 0]
            )
        except WRITE_FAULTS:
            return encode_slowly(self, tables)

    @staticmethod
    def decode(buf: bytes, pos: int, end: int, tables: TableRules) -> ConnectionOpen:
        method = _new(ConnectionOpen)
        slot: Any = method
        try:
            a = pos + 1 + buf[pos]
            slot.virtual_host = buf[pos + 1 : a].decode()
            b = a + 1 + buf[a]
            slot.capabilities = buf[a + 1 : b].decode()
            bits = buf[b]
        except READ_FAULTS:
            return decode_slowly(ConnectionOpen, buf, pos, end, tables)
        if b + 1 == end and bits < 2:
            slot.insist = bits == 1
            slot.spare = None
            return method
        return decode_slowly(ConnectionOpen, buf, pos, end, tables)


class ConnectionCloseOk(Method):
    """Confirm the end of the connection: connection.close-ok (10/61), by either side."""

    __match_args__ = ()
    __slots__ = __match_args__

    ID = 0x000A003D
    NAME = "connection.close-ok"
    CLASS_ID = 10
    METHOD_ID = 61
    SENT_BY = BOTH
    SYNCHRONOUS = True
    IS_REPLY = True

    def encode(self, tables: TableRules) -> bytes:
        if self.spare is not None:
            return b"\x00\x0a\x00\x3d" + self.spare
        return b"\x00\x0a\x00\x3d"

    @staticmethod
    def decode(buf: bytes, pos: int, end: int, tables: TableRules) -> ConnectionCloseOk:
        if pos != end:
            return decode_slowly(ConnectionCloseOk, buf, pos, end, tables)
        return ConnectionCloseOk()


class ConnectionClose(Request[ConnectionCloseOk]):
    """End the connection: connection.close (10/60), by either side.

    `reply_code` a code of the specification; `reply_text` what happened, for people; `class_id`
    the class at fault, or 0; `method_id` the method at fault, or 0.
    """

    __match_args__ = ("reply_code", "reply_text", "class_id", "method_id")
    __slots__ = __match_args__

    ID = 0x000A003C
    NAME = "connection.close"
    CLASS_ID = 10
    METHOD_ID = 60
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
            return b"\x00\x0a\x00\x3c" + self.spare
        try:
            reply_text = self.reply_text.encode()
            return (
                _pack_IHB(0x000A003C, self.reply_code, len(reply_text))
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

    def encode(self, tables: TableRules) -> bytes:
        if self.spare is not None:
            return b"\x00\x14\x00\x0b" + self.spare
        return b"\x00\x14\x00\x0b"

    @staticmethod
    def decode(buf: bytes, pos: int, end: int, tables: TableRules) -> ChannelOpenOk:
        if pos != end:
            return decode_slowly(ChannelOpenOk, buf, pos, end, tables)
        return ChannelOpenOk()


class ChannelOpen(Request[ChannelOpenOk]):
    """Open a channel: channel.open (20/10), by the client.

    `out_of_band` must be empty.
    """

    __match_args__ = ("out_of_band",)
    __slots__ = __match_args__

    ID = 0x0014000A
    NAME = "channel.open"
    CLASS_ID = 20
    METHOD_ID = 10
    SENT_BY = CLIENT
    SYNCHRONOUS = True
    REPLIES = (ChannelOpenOk,)
    FIELDS = (("out_of_band", "shortstr"),)
    WIRE = FIELDS
    RESERVED = ("out_of_band",)

    def __init__(
        self,
        out_of_band: str = "",
    ) -> None:
        self.out_of_band: Final = out_of_band
        self.spare = None

    def encode(self, tables: TableRules) -> bytes:
        if self.spare is not None:
            return b"\x00\x14\x00\x0a" + self.spare
        try:
            out_of_band = self.out_of_band.encode()
            return b"\x00\x14\x00\x0a" + OCTET[len(out_of_band)] + out_of_band
        except WRITE_FAULTS:
            return encode_slowly(self, tables)

    @staticmethod
    def decode(buf: bytes, pos: int, end: int, tables: TableRules) -> ChannelOpen:
        method = _new(ChannelOpen)
        slot: Any = method
        try:
            a = pos + 1 + buf[pos]
            slot.out_of_band = buf[pos + 1 : a].decode()
        except READ_FAULTS:
            return decode_slowly(ChannelOpen, buf, pos, end, tables)
        if a == end:
            slot.spare = None
            return method
        return decode_slowly(ChannelOpen, buf, pos, end, tables)


class ChannelAlert(Method):
    """Warn of what is no error: channel.alert (20/30), by the server.

    `reply_code` a code of the specification; `reply_text` what happened, for people; `details`
    more of the warning.
    """

    __match_args__ = ("reply_code", "reply_text", "details")
    __slots__ = __match_args__

    ID = 0x0014001E
    NAME = "channel.alert"
    CLASS_ID = 20
    METHOD_ID = 30
    SENT_BY = SERVER
    FIELDS = (("reply_code", "short"), ("reply_text", "shortstr"), ("details", "table"))
    WIRE = FIELDS

    def __init__(
        self,
        reply_code: int = 0,
        reply_text: str = "",
        details: FieldTable = EMPTY,
    ) -> None:
        self.reply_code: Final = reply_code
        self.reply_text: Final = reply_text
        self.details: Final = details
        self.spare = None

    def encode(self, tables: TableRules) -> bytes:
        if self.spare is not None:
            return b"\x00\x14\x00\x1e" + self.spare
        try:
            reply_text = self.reply_text.encode()
            return (
                _pack_IHB(0x0014001E, self.reply_code, len(reply_text))
                + reply_text
                + encode_table(self.details, tables)
            )
        except WRITE_FAULTS:
            return encode_slowly(self, tables)

    @staticmethod
    def decode(buf: bytes, pos: int, end: int, tables: TableRules) -> ChannelAlert:
        method = _new(ChannelAlert)
        slot: Any = method
        size: int
        try:
            slot.reply_code, size = _read_HB(buf, pos)
            a = pos + 3 + size
            slot.reply_text = buf[pos + 3 : a].decode()
            size = _read_I(buf, a)[0]
            b = a + 4 + size
            slot.details = _table(buf[a + 4 : b], tables) if size else EMPTY
        except READ_FAULTS:
            return decode_slowly(ChannelAlert, buf, pos, end, tables)
        if b == end:
            slot.spare = None
            return method
        return decode_slowly(ChannelAlert, buf, pos, end, tables)


class BasicConsume(Request[BasicConsumeOk]):
    """Start a consumer on a queue: basic.consume (60/20), by the client.

    `queue` name of the queue; empty: see the specification; `consumer_tag` names the consumer
    on its channel; empty: the server names it; `no_local` nothing that this connection
    published; `no_ack` settled as soon as sent; `exclusive` for this connection or consumer
    alone; `no_wait` no answer is wanted; `arguments` None: no table on the wire, but an empty
    one in the dialect 0-8-qpid, the only one where a table may be given; `ticket` the access
    ticket of 0-8; 0-9-1 reserves it, 0.
    """

    __match_args__ = (
        "queue",
        "consumer_tag",
        "no_local",
        "no_ack",
        "exclusive",
        "no_wait",
        "arguments",
        "ticket",
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
        ("arguments", "optional-table"),
        ("ticket", "short"),
    )
    WIRE = (
        ("ticket", "short"),
        ("queue", "shortstr"),
        ("consumer_tag", "shortstr"),
        ("no_local", "bit"),
        ("no_ack", "bit"),
        ("exclusive", "bit"),
        ("no_wait", "bit"),
        ("arguments", "optional-table"),
    )
    RESERVED = ("ticket",)

    def __init__(
        self,
        queue: str = "",
        consumer_tag: str = "",
        no_local: bool = False,
        no_ack: bool = False,
        exclusive: bool = False,
        no_wait: bool = False,
        arguments: FieldTable | None = None,
        ticket: int = 0,
    ) -> None:
        self.queue: Final = queue
        self.consumer_tag: Final = consumer_tag
        self.no_local: Final = no_local
        self.no_ack: Final = no_ack
        self.exclusive: Final = exclusive
        self.no_wait: Final = no_wait
        self.arguments: Final = arguments
        self.ticket: Final = ticket
        self.spare = None

    def encode(self, tables: TableRules) -> bytes:
        if self.spare is not None:
            return b"\x00\x3c\x00\x14" + self.spare
        return encode_slowly(self, tables)

    @staticmethod
    def decode(buf: bytes, pos: int, end: int, tables: TableRules) -> BasicConsume:
        return decode_slowly(BasicConsume, buf, pos, end, tables)


class BasicRecover(Method):
    """Have unsettled deliveries delivered again: basic.recover (60/100), by the client.

    `requeue` may be delivered again.
    """

    __match_args__ = ("requeue",)
    __slots__ = __match_args__

    ID = 0x003C0064
    NAME = "basic.recover"
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


class BasicRecoverOk(Method):
    """Confirm recovery: basic.recover-ok (60/101), by the server."""

    __match_args__ = ()
    __slots__ = __match_args__

    ID = 0x003C0065
    NAME = "basic.recover-ok"
    CLASS_ID = 60
    METHOD_ID = 101
    SENT_BY = SERVER
    SYNCHRONOUS = True
    IS_REPLY = True

    def encode(self, tables: TableRules) -> bytes:
        if self.spare is not None:
            return b"\x00\x3c\x00\x65" + self.spare
        return b"\x00\x3c\x00\x65"

    @staticmethod
    def decode(buf: bytes, pos: int, end: int, tables: TableRules) -> BasicRecoverOk:
        if pos != end:
            return decode_slowly(BasicRecoverOk, buf, pos, end, tables)
        return BasicRecoverOk()


class BasicRecoverSyncOk(Method):
    """Confirm recovery: basic.recover-sync-ok (60/111), by the server."""

    __match_args__ = ()
    __slots__ = __match_args__

    ID = 0x003C006F
    NAME = "basic.recover-sync-ok"
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
    def decode(buf: bytes, pos: int, end: int, tables: TableRules) -> BasicRecoverSyncOk:
        if pos != end:
            return decode_slowly(BasicRecoverSyncOk, buf, pos, end, tables)
        return BasicRecoverSyncOk()


class BasicRecoverSync(Request[BasicRecoverSyncOk]):
    """Have unsettled deliveries delivered again, with an answer: basic.recover-sync (60/110), by
    the client.

    `requeue` may be delivered again.
    """

    __match_args__ = ("requeue",)
    __slots__ = __match_args__

    ID = 0x003C006E
    NAME = "basic.recover-sync"
    CLASS_ID = 60
    METHOD_ID = 110
    SENT_BY = CLIENT
    SYNCHRONOUS = True
    REPLIES = (BasicRecoverSyncOk,)
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
    def decode(buf: bytes, pos: int, end: int, tables: TableRules) -> BasicRecoverSync:
        method = _new(BasicRecoverSync)
        slot: Any = method
        try:
            bits = buf[pos]
        except READ_FAULTS:
            return decode_slowly(BasicRecoverSync, buf, pos, end, tables)
        if pos + 1 == end and bits < 2:
            slot.requeue = bits == 1
            slot.spare = None
            return method
        return decode_slowly(BasicRecoverSync, buf, pos, end, tables)


class FileQosOk(Method):
    """Confirm the limits: file.qos-ok (70/11), by the server."""

    __match_args__ = ()
    __slots__ = __match_args__

    ID = 0x0046000B
    NAME = "file.qos-ok"
    CLASS_ID = 70
    METHOD_ID = 11
    SENT_BY = SERVER
    SYNCHRONOUS = True
    IS_REPLY = True

    def encode(self, tables: TableRules) -> bytes:
        if self.spare is not None:
            return b"\x00\x46\x00\x0b" + self.spare
        return b"\x00\x46\x00\x0b"

    @staticmethod
    def decode(buf: bytes, pos: int, end: int, tables: TableRules) -> FileQosOk:
        if pos != end:
            return decode_slowly(FileQosOk, buf, pos, end, tables)
        return FileQosOk()


class FileQos(Request[FileQosOk]):
    """Limit what is delivered ahead of settlement: file.qos (70/10), by the client.

    `prefetch_size` octets, 0: no limit; `prefetch_count` deliveries, 0: no limit; `global_` for
    the whole connection (RabbitMQ: the whole channel).
    """

    __match_args__ = ("prefetch_size", "prefetch_count", "global_")
    __slots__ = __match_args__

    ID = 0x0046000A
    NAME = "file.qos"
    CLASS_ID = 70
    METHOD_ID = 10
    SENT_BY = CLIENT
    SYNCHRONOUS = True
    REPLIES = (FileQosOk,)
    FIELDS = (("prefetch_size", "long"), ("prefetch_count", "short"), ("global_", "bit"))
    WIRE = FIELDS

    def __init__(
        self,
        prefetch_size: int = 0,
        prefetch_count: int = 0,
        global_: bool = False,
    ) -> None:
        self.prefetch_size: Final = prefetch_size
        self.prefetch_count: Final = prefetch_count
        self.global_: Final = global_
        self.spare = None

    def encode(self, tables: TableRules) -> bytes:
        if self.spare is not None:
            return b"\x00\x46\x00\x0a" + self.spare
        try:
            return (
                _pack_IIHB(
                    0x0046000A,
                    self.prefetch_size,
                    self.prefetch_count,
                    1 if self.global_ else 0,
                )
            )
        except WRITE_FAULTS:
            return encode_slowly(self, tables)

    @staticmethod
    def decode(buf: bytes, pos: int, end: int, tables: TableRules) -> FileQos:
        method = _new(FileQos)
        slot: Any = method
        try:
            slot.prefetch_size, slot.prefetch_count, bits = _read_IHB(buf, pos)
        except READ_FAULTS:
            return decode_slowly(FileQos, buf, pos, end, tables)
        if pos + 7 == end and bits < 2:
            slot.global_ = bits == 1
            slot.spare = None
            return method
        return decode_slowly(FileQos, buf, pos, end, tables)


class FileConsumeOk(Method):
    """Confirm a consumer of files, with its tag: file.consume-ok (70/21), by the server.

    `consumer_tag` names the consumer on its channel; empty: the server names it.
    """

    __match_args__ = ("consumer_tag",)
    __slots__ = __match_args__

    ID = 0x00460015
    NAME = "file.consume-ok"
    CLASS_ID = 70
    METHOD_ID = 21
    SENT_BY = SERVER
    SYNCHRONOUS = True
    IS_REPLY = True
    FIELDS = (("consumer_tag", "shortstr"),)
    WIRE = FIELDS

    def __init__(
        self,
        consumer_tag: str = "",
    ) -> None:
        self.consumer_tag: Final = consumer_tag
        self.spare = None

    def encode(self, tables: TableRules) -> bytes:
        if self.spare is not None:
            return b"\x00\x46\x00\x15" + self.spare
        try:
            consumer_tag = self.consumer_tag.encode()
            return b"\x00\x46\x00\x15" + OCTET[len(consumer_tag)] + consumer_tag
        except WRITE_FAULTS:
            return encode_slowly(self, tables)

    @staticmethod
    def decode(buf: bytes, pos: int, end: int, tables: TableRules) -> FileConsumeOk:
        method = _new(FileConsumeOk)
        slot: Any = method
        try:
            a = pos + 1 + buf[pos]
            slot.consumer_tag = buf[pos + 1 : a].decode()
        except READ_FAULTS:
            return decode_slowly(FileConsumeOk, buf, pos, end, tables)
        if a == end:
            slot.spare = None
            return method
        return decode_slowly(FileConsumeOk, buf, pos, end, tables)


class FileConsume(Request[FileConsumeOk]):
    """Start a consumer of files: file.consume (70/20), by the client.

    `queue` name of the queue; empty: see the specification; `consumer_tag` names the consumer
    on its channel; empty: the server names it; `no_local` nothing that this connection
    published; `no_ack` settled as soon as sent; `exclusive` for this connection or consumer
    alone; `no_wait` no answer is wanted; `ticket` the access ticket of 0-8; 0-9-1 reserves it,
    0.
    """

    __match_args__ = (
        "queue",
        "consumer_tag",
        "no_local",
        "no_ack",
        "exclusive",
        "no_wait",
        "ticket",
    )
    __slots__ = __match_args__

    ID = 0x00460014
    NAME = "file.consume"
    CLASS_ID = 70
    METHOD_ID = 20
    SENT_BY = CLIENT
    SYNCHRONOUS = True
    REPLIES = (FileConsumeOk,)
    HAS_NO_WAIT = True
    FIELDS = (
        ("queue", "shortstr"),
        ("consumer_tag", "shortstr"),
        ("no_local", "bit"),
        ("no_ack", "bit"),
        ("exclusive", "bit"),
        ("no_wait", "bit"),
        ("ticket", "short"),
    )
    WIRE = (
        ("ticket", "short"),
        ("queue", "shortstr"),
        ("consumer_tag", "shortstr"),
        ("no_local", "bit"),
        ("no_ack", "bit"),
        ("exclusive", "bit"),
        ("no_wait", "bit"),
    )
    RESERVED = ("ticket",)

    def __init__(
        self,
        queue: str = "",
        consumer_tag: str = "",
        no_local: bool = False,
        no_ack: bool = False,
        exclusive: bool = False,
        no_wait: bool = False,
        ticket: int = 0,
    ) -> None:
        self.queue: Final = queue
        self.consumer_tag: Final = consumer_tag
        self.no_local: Final = no_local
        self.no_ack: Final = no_ack
        self.exclusive: Final = exclusive
        self.no_wait: Final = no_wait
        self.ticket: Final = ticket
        self.spare = None

    def encode(self, tables: TableRules) -> bytes:
        if self.spare is not None:
            return b"\x00\x46\x00\x14" + self.spare
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
                _pack_IHB(0x00460014, self.ticket, len(queue))
                + queue
                + OCTET[len(consumer_tag)]
                + consumer_tag
                + OCTET[bits]
            )
        except WRITE_FAULTS:
            return encode_slowly(self, tables)

    @staticmethod
    def decode(buf: bytes, pos: int, end: int, tables: TableRules) -> FileConsume:
        method = _new(FileConsume)
        slot: Any = method
        size: int
        try:
            slot.ticket, size = _read_HB(buf, pos)
            a = pos + 3 + size
            slot.queue = buf[pos + 3 : a].decode()
            b = a + 1 + buf[a]
            slot.consumer_tag = buf[a + 1 : b].decode()
            bits = buf[b]
        except READ_FAULTS:
            return decode_slowly(FileConsume, buf, pos, end, tables)
        if b + 1 == end and bits < 16:
            slot.no_local = bits & 1 != 0
            slot.no_ack = bits & 2 != 0
            slot.exclusive = bits & 4 != 0
            slot.no_wait = bits & 8 != 0
            slot.spare = None
            return method
        return decode_slowly(FileConsume, buf, pos, end, tables)


class FileCancelOk(Method):
    """Confirm that a consumer of files has ended: file.cancel-ok (70/31), by the server.

    `consumer_tag` names the consumer on its channel; empty: the server names it.
    """

    __match_args__ = ("consumer_tag",)
    __slots__ = __match_args__

    ID = 0x0046001F
    NAME = "file.cancel-ok"
    CLASS_ID = 70
    METHOD_ID = 31
    SENT_BY = SERVER
    SYNCHRONOUS = True
    IS_REPLY = True
    FIELDS = (("consumer_tag", "shortstr"),)
    WIRE = FIELDS

    def __init__(
        self,
        consumer_tag: str = "",
    ) -> None:
        self.consumer_tag: Final = consumer_tag
        self.spare = None

    def encode(self, tables: TableRules) -> bytes:
        if self.spare is not None:
            return b"\x00\x46\x00\x1f" + self.spare
        try:
            consumer_tag = self.consumer_tag.encode()
            return b"\x00\x46\x00\x1f" + OCTET[len(consumer_tag)] + consumer_tag
        except WRITE_FAULTS:
            return encode_slowly(self, tables)

    @staticmethod
    def decode(buf: bytes, pos: int, end: int, tables: TableRules) -> FileCancelOk:
        method = _new(FileCancelOk)
        slot: Any = method
        try:
            a = pos + 1 + buf[pos]
            slot.consumer_tag = buf[pos + 1 : a].decode()
        except READ_FAULTS:
            return decode_slowly(FileCancelOk, buf, pos, end, tables)
        if a == end:
            slot.spare = None
            return method
        return decode_slowly(FileCancelOk, buf, pos, end, tables)


class FileCancel(Request[FileCancelOk]):
    """End a consumer of files: file.cancel (70/30), by the client.

    `consumer_tag` names the consumer on its channel; empty: the server names it; `no_wait` no
    answer is wanted.
    """

    __match_args__ = ("consumer_tag", "no_wait")
    __slots__ = __match_args__

    ID = 0x0046001E
    NAME = "file.cancel"
    CLASS_ID = 70
    METHOD_ID = 30
    SENT_BY = CLIENT
    SYNCHRONOUS = True
    REPLIES = (FileCancelOk,)
    HAS_NO_WAIT = True
    FIELDS = (("consumer_tag", "shortstr"), ("no_wait", "bit"))
    WIRE = FIELDS

    def __init__(
        self,
        consumer_tag: str = "",
        no_wait: bool = False,
    ) -> None:
        self.consumer_tag: Final = consumer_tag
        self.no_wait: Final = no_wait
        self.spare = None

    def encode(self, tables: TableRules) -> bytes:
        if self.spare is not None:
            return b"\x00\x46\x00\x1e" + self.spare
        try:
            consumer_tag = self.consumer_tag.encode()
            return (
                b"\x00\x46\x00\x1e"
                + OCTET[len(consumer_tag)]
                + consumer_tag
                + OCTET[1 if self.no_wait else 0]
            )
        except WRITE_FAULTS:
            return encode_slowly(self, tables)

    @staticmethod
    def decode(buf: bytes, pos: int, end: int, tables: TableRules) -> FileCancel:
        method = _new(FileCancel)
        slot: Any = method
        try:
            a = pos + 1 + buf[pos]
            slot.consumer_tag = buf[pos + 1 : a].decode()
            bits = buf[a]
        except READ_FAULTS:
            return decode_slowly(FileCancel, buf, pos, end, tables)
        if a + 1 == end and bits < 2:
            slot.no_wait = bits == 1
            slot.spare = None
            return method
        return decode_slowly(FileCancel, buf, pos, end, tables)


class FileStage(Method):
    """Transfer the rest of a file: file.stage (70/50), by either side, with content."""

    __match_args__ = ()
    __slots__ = __match_args__

    ID = 0x00460032
    NAME = "file.stage"
    CLASS_ID = 70
    METHOD_ID = 50
    SENT_BY = BOTH
    HAS_CONTENT = True
    IS_REPLY = True

    def encode(self, tables: TableRules) -> bytes:
        if self.spare is not None:
            return b"\x00\x46\x00\x32" + self.spare
        return b"\x00\x46\x00\x32"

    @staticmethod
    def decode(buf: bytes, pos: int, end: int, tables: TableRules) -> FileStage:
        if pos != end:
            return decode_slowly(FileStage, buf, pos, end, tables)
        return FileStage()


class FileOpenOk(Request[FileStage]):
    """Tell how much of the file is staged already: file.open-ok (70/41), by either side.

    `staged_size` octets that are there already.
    """

    __match_args__ = ("staged_size",)
    __slots__ = __match_args__

    ID = 0x00460029
    NAME = "file.open-ok"
    CLASS_ID = 70
    METHOD_ID = 41
    SENT_BY = BOTH
    SYNCHRONOUS = True
    REPLIES = (FileStage,)
    IS_REPLY = True
    FIELDS = (("staged_size", "longlong"),)
    WIRE = FIELDS

    def __init__(
        self,
        staged_size: int = 0,
    ) -> None:
        self.staged_size: Final = staged_size
        self.spare = None

    def encode(self, tables: TableRules) -> bytes:
        if self.spare is not None:
            return b"\x00\x46\x00\x29" + self.spare
        try:
            return _pack_IQ(0x00460029, self.staged_size)
        except WRITE_FAULTS:
            return encode_slowly(self, tables)

    @staticmethod
    def decode(buf: bytes, pos: int, end: int, tables: TableRules) -> FileOpenOk:
        method = _new(FileOpenOk)
        slot: Any = method
        try:
            slot.staged_size = _read_Q(buf, pos)[0]
        except READ_FAULTS:
            return decode_slowly(FileOpenOk, buf, pos, end, tables)
        if pos + 8 == end:
            slot.spare = None
            return method
        return decode_slowly(FileOpenOk, buf, pos, end, tables)


class FileOpen(Request[FileOpenOk]):
    """Begin to stage a file: file.open (70/40), by either side.

    `identifier` names the staged file; `content_size` octets of the whole file.
    """

    __match_args__ = ("identifier", "content_size")
    __slots__ = __match_args__

    ID = 0x00460028
    NAME = "file.open"
    CLASS_ID = 70
    METHOD_ID = 40
    SENT_BY = BOTH
    SYNCHRONOUS = True
    REPLIES = (FileOpenOk,)
    FIELDS = (("identifier", "shortstr"), ("content_size", "longlong"))
    WIRE = FIELDS

    def __init__(
        self,
        identifier: str = "",
        content_size: int = 0,
    ) -> None:
        self.identifier: Final = identifier
        self.content_size: Final = content_size
        self.spare = None

    def encode(self, tables: TableRules) -> bytes:
        if self.spare is not None:
            return b"\x00\x46\x00\x28" + self.spare
        try:
            identifier = self.identifier.encode()
            return (
                b"\x00\x46\x00\x28"
                + OCTET[len(identifier)]
                + identifier
                + _pack_Q(self.content_size)
            )
        except WRITE_FAULTS:
            return encode_slowly(self, tables)

    @staticmethod
    def decode(buf: bytes, pos: int, end: int, tables: TableRules) -> FileOpen:
        method = _new(FileOpen)
        slot: Any = method
        try:
            a = pos + 1 + buf[pos]
            slot.identifier = buf[pos + 1 : a].decode()
            slot.content_size = _read_Q(buf, a)[0]
        except READ_FAULTS:
            return decode_slowly(FileOpen, buf, pos, end, tables)
        if a + 8 == end:
            slot.spare = None
            return method
        return decode_slowly(FileOpen, buf, pos, end, tables)


class FilePublish(Method):
    """Publish a staged file: file.publish (70/60), by the client.

    `exchange` name of the exchange; empty: the default one; `routing_key` what the exchange
    routes by; `mandatory` return it when no queue gets it; `immediate` return it when no
    consumer takes it at once; `identifier` names the staged file; `ticket` the access ticket of
    0-8; 0-9-1 reserves it, 0.
    """

    __match_args__ = ("exchange", "routing_key", "mandatory", "immediate", "identifier", "ticket")
    __slots__ = __match_args__

    ID = 0x0046003C
    NAME = "file.publish"
    CLASS_ID = 70
    METHOD_ID = 60
    SENT_BY = CLIENT
    FIELDS = (
        ("exchange", "shortstr"),
        ("routing_key", "shortstr"),
        ("mandatory", "bit"),
        ("immediate", "bit"),
        ("identifier", "shortstr"),
        ("ticket", "short"),
    )
    WIRE = (
        ("ticket", "short"),
        ("exchange", "shortstr"),
        ("routing_key", "shortstr"),
        ("mandatory", "bit"),
        ("immediate", "bit"),
        ("identifier", "shortstr"),
    )
    RESERVED = ("ticket",)

    def __init__(
        self,
        exchange: str = "",
        routing_key: str = "",
        mandatory: bool = False,
        immediate: bool = False,
        identifier: str = "",
        ticket: int = 0,
    ) -> None:
        self.exchange: Final = exchange
        self.routing_key: Final = routing_key
        self.mandatory: Final = mandatory
        self.immediate: Final = immediate
        self.identifier: Final = identifier
        self.ticket: Final = ticket
        self.spare = None

    def encode(self, tables: TableRules) -> bytes:
        if self.spare is not None:
            return b"\x00\x46\x00\x3c" + self.spare
        try:
            exchange = self.exchange.encode()
            routing_key = self.routing_key.encode()
            bits = (1 if self.mandatory else 0) | (2 if self.immediate else 0)
            identifier = self.identifier.encode()
            return (
                _pack_IHB(0x0046003C, self.ticket, len(exchange))
                + exchange
                + OCTET[len(routing_key)]
                + routing_key
                + _pack_BB(bits, len(identifier))
                + identifier
            )
        except WRITE_FAULTS:
            return encode_slowly(self, tables)

    @staticmethod
    def decode(buf: bytes, pos: int, end: int, tables: TableRules) -> FilePublish:
        method = _new(FilePublish)
        slot: Any = method
        size: int
        try:
            slot.ticket, size = _read_HB(buf, pos)
            a = pos + 3 + size
            slot.exchange = buf[pos + 3 : a].decode()
            b = a + 1 + buf[a]
            slot.routing_key = buf[a + 1 : b].decode()
            bits, size = _read_BB(buf, b)
            c = b + 2 + size
            slot.identifier = buf[b + 2 : c].decode()
        except READ_FAULTS:
            return decode_slowly(FilePublish, buf, pos, end, tables)
        if c == end and bits < 4:
            slot.mandatory = bits & 1 != 0
            slot.immediate = bits & 2 != 0
            slot.spare = None
            return method
        return decode_slowly(FilePublish, buf, pos, end, tables)


class FileReturn(Method):
    """Give back a file that couldn't be routed or delivered: file.return (70/70), by the server,
    with content.

    `reply_code` a code of the specification; `reply_text` what happened, for people; `exchange`
    name of the exchange; empty: the default one; `routing_key` what the exchange routes by.
    """

    __match_args__ = ("reply_code", "reply_text", "exchange", "routing_key")
    __slots__ = __match_args__

    ID = 0x00460046
    NAME = "file.return"
    CLASS_ID = 70
    METHOD_ID = 70
    SENT_BY = SERVER
    HAS_CONTENT = True
    FIELDS = (
        ("reply_code", "short"),
        ("reply_text", "shortstr"),
        ("exchange", "shortstr"),
        ("routing_key", "shortstr"),
    )
    WIRE = FIELDS

    def __init__(
        self,
        reply_code: int = 0,
        reply_text: str = "",
        exchange: str = "",
        routing_key: str = "",
    ) -> None:
        self.reply_code: Final = reply_code
        self.reply_text: Final = reply_text
        self.exchange: Final = exchange
        self.routing_key: Final = routing_key
        self.spare = None

    def encode(self, tables: TableRules) -> bytes:
        if self.spare is not None:
            return b"\x00\x46\x00\x46" + self.spare
        try:
            reply_text = self.reply_text.encode()
            exchange = self.exchange.encode()
            routing_key = self.routing_key.encode()
            return (
                _pack_IHB(0x00460046, self.reply_code, len(reply_text))
                + reply_text
                + OCTET[len(exchange)]
                + exchange
                + OCTET[len(routing_key)]
                + routing_key
            )
        except WRITE_FAULTS:
            return encode_slowly(self, tables)

    @staticmethod
    def decode(buf: bytes, pos: int, end: int, tables: TableRules) -> FileReturn:
        method = _new(FileReturn)
        slot: Any = method
        size: int
        try:
            slot.reply_code, size = _read_HB(buf, pos)
            a = pos + 3 + size
            slot.reply_text = buf[pos + 3 : a].decode()
            b = a + 1 + buf[a]
            slot.exchange = buf[a + 1 : b].decode()
            c = b + 1 + buf[b]
            slot.routing_key = buf[b + 1 : c].decode()
        except READ_FAULTS:
            return decode_slowly(FileReturn, buf, pos, end, tables)
        if c == end:
            slot.spare = None
            return method
        return decode_slowly(FileReturn, buf, pos, end, tables)


class FileDeliver(Method):
    """Tell a consumer that a staged file is its: file.deliver (70/80), by the server.

    `consumer_tag` names the consumer on its channel; empty: the server names it; `delivery_tag`
    counts deliveries on a channel from 1; `redelivered` may have been delivered before;
    `exchange` name of the exchange; empty: the default one; `routing_key` what the exchange
    routes by; `identifier` names the staged file.
    """

    __match_args__ = (
        "consumer_tag",
        "delivery_tag",
        "redelivered",
        "exchange",
        "routing_key",
        "identifier",
    )
    __slots__ = __match_args__

    ID = 0x00460050
    NAME = "file.deliver"
    CLASS_ID = 70
    METHOD_ID = 80
    SENT_BY = SERVER
    FIELDS = (
        ("consumer_tag", "shortstr"),
        ("delivery_tag", "longlong"),
        ("redelivered", "bit"),
        ("exchange", "shortstr"),
        ("routing_key", "shortstr"),
        ("identifier", "shortstr"),
    )
    WIRE = FIELDS

    def __init__(
        self,
        consumer_tag: str = "",
        delivery_tag: int = 0,
        redelivered: bool = False,
        exchange: str = "",
        routing_key: str = "",
        identifier: str = "",
    ) -> None:
        self.consumer_tag: Final = consumer_tag
        self.delivery_tag: Final = delivery_tag
        self.redelivered: Final = redelivered
        self.exchange: Final = exchange
        self.routing_key: Final = routing_key
        self.identifier: Final = identifier
        self.spare = None

    def encode(self, tables: TableRules) -> bytes:
        if self.spare is not None:
            return b"\x00\x46\x00\x50" + self.spare
        try:
            consumer_tag = self.consumer_tag.encode()
            exchange = self.exchange.encode()
            routing_key = self.routing_key.encode()
            identifier = self.identifier.encode()
            return (
                b"\x00\x46\x00\x50"
                + OCTET[len(consumer_tag)]
                + consumer_tag
                + _pack_QBB(self.delivery_tag, 1 if self.redelivered else 0, len(exchange))
                + exchange
                + OCTET[len(routing_key)]
                + routing_key
                + OCTET[len(identifier)]
                + identifier
            )
        except WRITE_FAULTS:
            return encode_slowly(self, tables)

    @staticmethod
    def decode(buf: bytes, pos: int, end: int, tables: TableRules) -> FileDeliver:
        method = _new(FileDeliver)
        slot: Any = method
        size: int
        try:
            a = pos + 1 + buf[pos]
            slot.consumer_tag = buf[pos + 1 : a].decode()
            slot.delivery_tag, bits, size = _read_QBB(buf, a)
            b = a + 10 + size
            slot.exchange = buf[a + 10 : b].decode()
            c = b + 1 + buf[b]
            slot.routing_key = buf[b + 1 : c].decode()
            d = c + 1 + buf[c]
            slot.identifier = buf[c + 1 : d].decode()
        except READ_FAULTS:
            return decode_slowly(FileDeliver, buf, pos, end, tables)
        if d == end and bits < 2:
            slot.redelivered = bits == 1
            slot.spare = None
            return method
        return decode_slowly(FileDeliver, buf, pos, end, tables)


class FileAck(Method):
    """Settle file deliveries: file.ack (70/90), by the client.

    `delivery_tag` counts deliveries on a channel from 1; `multiple` all up to this tag.
    """

    __match_args__ = ("delivery_tag", "multiple")
    __slots__ = __match_args__

    ID = 0x0046005A
    NAME = "file.ack"
    CLASS_ID = 70
    METHOD_ID = 90
    SENT_BY = CLIENT
    FIELDS = (("delivery_tag", "longlong"), ("multiple", "bit"))
    WIRE = FIELDS

    def __init__(
        self,
        delivery_tag: int = 0,
        multiple: bool = False,
    ) -> None:
        self.delivery_tag: Final = delivery_tag
        self.multiple: Final = multiple
        self.spare = None

    def encode(self, tables: TableRules) -> bytes:
        if self.spare is not None:
            return b"\x00\x46\x00\x5a" + self.spare
        try:
            return _pack_IQB(0x0046005A, self.delivery_tag, 1 if self.multiple else 0)
        except WRITE_FAULTS:
            return encode_slowly(self, tables)

    @staticmethod
    def decode(buf: bytes, pos: int, end: int, tables: TableRules) -> FileAck:
        method = _new(FileAck)
        slot: Any = method
        try:
            slot.delivery_tag, bits = _read_QB(buf, pos)
        except READ_FAULTS:
            return decode_slowly(FileAck, buf, pos, end, tables)
        if pos + 9 == end and bits < 2:
            slot.multiple = bits == 1
            slot.spare = None
            return method
        return decode_slowly(FileAck, buf, pos, end, tables)


class FileReject(Method):
    """Refuse a file: file.reject (70/100), by the client.

    `delivery_tag` counts deliveries on a channel from 1; `requeue` may be delivered again.
    """

    __match_args__ = ("delivery_tag", "requeue")
    __slots__ = __match_args__

    ID = 0x00460064
    NAME = "file.reject"
    CLASS_ID = 70
    METHOD_ID = 100
    SENT_BY = CLIENT
    FIELDS = (("delivery_tag", "longlong"), ("requeue", "bit"))
    WIRE = FIELDS

    def __init__(
        self,
        delivery_tag: int = 0,
        requeue: bool = False,
    ) -> None:
        self.delivery_tag: Final = delivery_tag
        self.requeue: Final = requeue
        self.spare = None

    def encode(self, tables: TableRules) -> bytes:
        if self.spare is not None:
            return b"\x00\x46\x00\x64" + self.spare
        try:
            return _pack_IQB(0x00460064, self.delivery_tag, 1 if self.requeue else 0)
        except WRITE_FAULTS:
            return encode_slowly(self, tables)

    @staticmethod
    def decode(buf: bytes, pos: int, end: int, tables: TableRules) -> FileReject:
        method = _new(FileReject)
        slot: Any = method
        try:
            slot.delivery_tag, bits = _read_QB(buf, pos)
        except READ_FAULTS:
            return decode_slowly(FileReject, buf, pos, end, tables)
        if pos + 9 == end and bits < 2:
            slot.requeue = bits == 1
            slot.spare = None
            return method
        return decode_slowly(FileReject, buf, pos, end, tables)


class StreamQosOk(Method):
    """Confirm the limits: stream.qos-ok (80/11), by the server."""

    __match_args__ = ()
    __slots__ = __match_args__

    ID = 0x0050000B
    NAME = "stream.qos-ok"
    CLASS_ID = 80
    METHOD_ID = 11
    SENT_BY = SERVER
    SYNCHRONOUS = True
    IS_REPLY = True

    def encode(self, tables: TableRules) -> bytes:
        if self.spare is not None:
            return b"\x00\x50\x00\x0b" + self.spare
        return b"\x00\x50\x00\x0b"

    @staticmethod
    def decode(buf: bytes, pos: int, end: int, tables: TableRules) -> StreamQosOk:
        if pos != end:
            return decode_slowly(StreamQosOk, buf, pos, end, tables)
        return StreamQosOk()


class StreamQos(Request[StreamQosOk]):
    """Limit what is delivered, and how fast: stream.qos (80/10), by the client.

    `prefetch_size` octets, 0: no limit; `prefetch_count` deliveries, 0: no limit;
    `consume_rate` octets per second, 0: no limit; `global_` for the whole connection (RabbitMQ:
    the whole channel).
    """

    __match_args__ = ("prefetch_size", "prefetch_count", "consume_rate", "global_")
    __slots__ = __match_args__

    ID = 0x0050000A
    NAME = "stream.qos"
    CLASS_ID = 80
    METHOD_ID = 10
    SENT_BY = CLIENT
    SYNCHRONOUS = True
    REPLIES = (StreamQosOk,)
    FIELDS = (
        ("prefetch_size", "long"),
        ("prefetch_count", "short"),
        ("consume_rate", "long"),
        ("global_", "bit"),
    )
    WIRE = FIELDS

    def __init__(
        self,
        prefetch_size: int = 0,
        prefetch_count: int = 0,
        consume_rate: int = 0,
        global_: bool = False,
    ) -> None:
        self.prefetch_size: Final = prefetch_size
        self.prefetch_count: Final = prefetch_count
        self.consume_rate: Final = consume_rate
        self.global_: Final = global_
        self.spare = None

    def encode(self, tables: TableRules) -> bytes:
        if self.spare is not None:
            return b"\x00\x50\x00\x0a" + self.spare
        try:
            return (
                _pack_IIHIB(
                    0x0050000A,
                    self.prefetch_size,
                    self.prefetch_count,
                    self.consume_rate,
                    1 if self.global_ else 0,
                )
            )
        except WRITE_FAULTS:
            return encode_slowly(self, tables)

    @staticmethod
    def decode(buf: bytes, pos: int, end: int, tables: TableRules) -> StreamQos:
        method = _new(StreamQos)
        slot: Any = method
        try:
            slot.prefetch_size, slot.prefetch_count, slot.consume_rate, bits = _read_IHIB(buf, pos)
        except READ_FAULTS:
            return decode_slowly(StreamQos, buf, pos, end, tables)
        if pos + 11 == end and bits < 2:
            slot.global_ = bits == 1
            slot.spare = None
            return method
        return decode_slowly(StreamQos, buf, pos, end, tables)


class StreamConsumeOk(Method):
    """Confirm a consumer of a stream, with its tag: stream.consume-ok (80/21), by the server.

    `consumer_tag` names the consumer on its channel; empty: the server names it.
    """

    __match_args__ = ("consumer_tag",)
    __slots__ = __match_args__

    ID = 0x00500015
    NAME = "stream.consume-ok"
    CLASS_ID = 80
    METHOD_ID = 21
    SENT_BY = SERVER
    SYNCHRONOUS = True
    IS_REPLY = True
    FIELDS = (("consumer_tag", "shortstr"),)
    WIRE = FIELDS

    def __init__(
        self,
        consumer_tag: str = "",
    ) -> None:
        self.consumer_tag: Final = consumer_tag
        self.spare = None

    def encode(self, tables: TableRules) -> bytes:
        if self.spare is not None:
            return b"\x00\x50\x00\x15" + self.spare
        try:
            consumer_tag = self.consumer_tag.encode()
            return b"\x00\x50\x00\x15" + OCTET[len(consumer_tag)] + consumer_tag
        except WRITE_FAULTS:
            return encode_slowly(self, tables)

    @staticmethod
    def decode(buf: bytes, pos: int, end: int, tables: TableRules) -> StreamConsumeOk:
        method = _new(StreamConsumeOk)
        slot: Any = method
        try:
            a = pos + 1 + buf[pos]
            slot.consumer_tag = buf[pos + 1 : a].decode()
        except READ_FAULTS:
            return decode_slowly(StreamConsumeOk, buf, pos, end, tables)
        if a == end:
            slot.spare = None
            return method
        return decode_slowly(StreamConsumeOk, buf, pos, end, tables)


class StreamConsume(Request[StreamConsumeOk]):
    """Start a consumer of a stream: stream.consume (80/20), by the client.

    `queue` name of the queue; empty: see the specification; `consumer_tag` names the consumer
    on its channel; empty: the server names it; `no_local` nothing that this connection
    published; `exclusive` for this connection or consumer alone; `no_wait` no answer is wanted;
    `ticket` the access ticket of 0-8; 0-9-1 reserves it, 0.
    """

    __match_args__ = ("queue", "consumer_tag", "no_local", "exclusive", "no_wait", "ticket")
    __slots__ = __match_args__

    ID = 0x00500014
    NAME = "stream.consume"
    CLASS_ID = 80
    METHOD_ID = 20
    SENT_BY = CLIENT
    SYNCHRONOUS = True
    REPLIES = (StreamConsumeOk,)
    HAS_NO_WAIT = True
    FIELDS = (
        ("queue", "shortstr"),
        ("consumer_tag", "shortstr"),
        ("no_local", "bit"),
        ("exclusive", "bit"),
        ("no_wait", "bit"),
        ("ticket", "short"),
    )
    WIRE = (
        ("ticket", "short"),
        ("queue", "shortstr"),
        ("consumer_tag", "shortstr"),
        ("no_local", "bit"),
        ("exclusive", "bit"),
        ("no_wait", "bit"),
    )
    RESERVED = ("ticket",)

    def __init__(
        self,
        queue: str = "",
        consumer_tag: str = "",
        no_local: bool = False,
        exclusive: bool = False,
        no_wait: bool = False,
        ticket: int = 0,
    ) -> None:
        self.queue: Final = queue
        self.consumer_tag: Final = consumer_tag
        self.no_local: Final = no_local
        self.exclusive: Final = exclusive
        self.no_wait: Final = no_wait
        self.ticket: Final = ticket
        self.spare = None

    def encode(self, tables: TableRules) -> bytes:
        if self.spare is not None:
            return b"\x00\x50\x00\x14" + self.spare
        try:
            queue = self.queue.encode()
            consumer_tag = self.consumer_tag.encode()
            bits = (
                (1 if self.no_local else 0)
                | (2 if self.exclusive else 0)
                | (4 if self.no_wait else 0)
            )
            return (
                _pack_IHB(0x00500014, self.ticket, len(queue))
                + queue
                + OCTET[len(consumer_tag)]
                + consumer_tag
                + OCTET[bits]
            )
        except WRITE_FAULTS:
            return encode_slowly(self, tables)

    @staticmethod
    def decode(buf: bytes, pos: int, end: int, tables: TableRules) -> StreamConsume:
        method = _new(StreamConsume)
        slot: Any = method
        size: int
        try:
            slot.ticket, size = _read_HB(buf, pos)
            a = pos + 3 + size
            slot.queue = buf[pos + 3 : a].decode()
            b = a + 1 + buf[a]
            slot.consumer_tag = buf[a + 1 : b].decode()
            bits = buf[b]
        except READ_FAULTS:
            return decode_slowly(StreamConsume, buf, pos, end, tables)
        if b + 1 == end and bits < 8:
            slot.no_local = bits & 1 != 0
            slot.exclusive = bits & 2 != 0
            slot.no_wait = bits & 4 != 0
            slot.spare = None
            return method
        return decode_slowly(StreamConsume, buf, pos, end, tables)


class StreamCancelOk(Method):
    """Confirm that a consumer of a stream has ended: stream.cancel-ok (80/31), by the server.

    `consumer_tag` names the consumer on its channel; empty: the server names it.
    """

    __match_args__ = ("consumer_tag",)
    __slots__ = __match_args__

    ID = 0x0050001F
    NAME = "stream.cancel-ok"
    CLASS_ID = 80
    METHOD_ID = 31
    SENT_BY = SERVER
    SYNCHRONOUS = True
    IS_REPLY = True
    FIELDS = (("consumer_tag", "shortstr"),)
    WIRE = FIELDS

    def __init__(
        self,
        consumer_tag: str = "",
    ) -> None:
        self.consumer_tag: Final = consumer_tag
        self.spare = None

    def encode(self, tables: TableRules) -> bytes:
        if self.spare is not None:
            return b"\x00\x50\x00\x1f" + self.spare
        try:
            consumer_tag = self.consumer_tag.encode()
            return b"\x00\x50\x00\x1f" + OCTET[len(consumer_tag)] + consumer_tag
        except WRITE_FAULTS:
            return encode_slowly(self, tables)

    @staticmethod
    def decode(buf: bytes, pos: int, end: int, tables: TableRules) -> StreamCancelOk:
        method = _new(StreamCancelOk)
        slot: Any = method
        try:
            a = pos + 1 + buf[pos]
            slot.consumer_tag = buf[pos + 1 : a].decode()
        except READ_FAULTS:
            return decode_slowly(StreamCancelOk, buf, pos, end, tables)
        if a == end:
            slot.spare = None
            return method
        return decode_slowly(StreamCancelOk, buf, pos, end, tables)


class StreamCancel(Request[StreamCancelOk]):
    """End a consumer of a stream: stream.cancel (80/30), by the client.

    `consumer_tag` names the consumer on its channel; empty: the server names it; `no_wait` no
    answer is wanted.
    """

    __match_args__ = ("consumer_tag", "no_wait")
    __slots__ = __match_args__

    ID = 0x0050001E
    NAME = "stream.cancel"
    CLASS_ID = 80
    METHOD_ID = 30
    SENT_BY = CLIENT
    SYNCHRONOUS = True
    REPLIES = (StreamCancelOk,)
    HAS_NO_WAIT = True
    FIELDS = (("consumer_tag", "shortstr"), ("no_wait", "bit"))
    WIRE = FIELDS

    def __init__(
        self,
        consumer_tag: str = "",
        no_wait: bool = False,
    ) -> None:
        self.consumer_tag: Final = consumer_tag
        self.no_wait: Final = no_wait
        self.spare = None

    def encode(self, tables: TableRules) -> bytes:
        if self.spare is not None:
            return b"\x00\x50\x00\x1e" + self.spare
        try:
            consumer_tag = self.consumer_tag.encode()
            return (
                b"\x00\x50\x00\x1e"
                + OCTET[len(consumer_tag)]
                + consumer_tag
                + OCTET[1 if self.no_wait else 0]
            )
        except WRITE_FAULTS:
            return encode_slowly(self, tables)

    @staticmethod
    def decode(buf: bytes, pos: int, end: int, tables: TableRules) -> StreamCancel:
        method = _new(StreamCancel)
        slot: Any = method
        try:
            a = pos + 1 + buf[pos]
            slot.consumer_tag = buf[pos + 1 : a].decode()
            bits = buf[a]
        except READ_FAULTS:
            return decode_slowly(StreamCancel, buf, pos, end, tables)
        if a + 1 == end and bits < 2:
            slot.no_wait = bits == 1
            slot.spare = None
            return method
        return decode_slowly(StreamCancel, buf, pos, end, tables)


class StreamPublish(Method):
    """Publish a message to a stream: stream.publish (80/40), by the client, with content.

    `exchange` name of the exchange; empty: the default one; `routing_key` what the exchange
    routes by; `mandatory` return it when no queue gets it; `immediate` return it when no
    consumer takes it at once; `ticket` the access ticket of 0-8; 0-9-1 reserves it, 0.
    """

    __match_args__ = ("exchange", "routing_key", "mandatory", "immediate", "ticket")
    __slots__ = __match_args__

    ID = 0x00500028
    NAME = "stream.publish"
    CLASS_ID = 80
    METHOD_ID = 40
    SENT_BY = CLIENT
    HAS_CONTENT = True
    FIELDS = (
        ("exchange", "shortstr"),
        ("routing_key", "shortstr"),
        ("mandatory", "bit"),
        ("immediate", "bit"),
        ("ticket", "short"),
    )
    WIRE = (
        ("ticket", "short"),
        ("exchange", "shortstr"),
        ("routing_key", "shortstr"),
        ("mandatory", "bit"),
        ("immediate", "bit"),
    )
    RESERVED = ("ticket",)

    def __init__(
        self,
        exchange: str = "",
        routing_key: str = "",
        mandatory: bool = False,
        immediate: bool = False,
        ticket: int = 0,
    ) -> None:
        self.exchange: Final = exchange
        self.routing_key: Final = routing_key
        self.mandatory: Final = mandatory
        self.immediate: Final = immediate
        self.ticket: Final = ticket
        self.spare = None

    def encode(self, tables: TableRules) -> bytes:
        if self.spare is not None:
            return b"\x00\x50\x00\x28" + self.spare
        try:
            exchange = self.exchange.encode()
            routing_key = self.routing_key.encode()
            bits = (1 if self.mandatory else 0) | (2 if self.immediate else 0)
            return (
                _pack_IHB(0x00500028, self.ticket, len(exchange))
                + exchange
                + OCTET[len(routing_key)]
                + routing_key
                + OCTET[bits]
            )
        except WRITE_FAULTS:
            return encode_slowly(self, tables)

    @staticmethod
    def decode(buf: bytes, pos: int, end: int, tables: TableRules) -> StreamPublish:
        method = _new(StreamPublish)
        slot: Any = method
        size: int
        try:
            slot.ticket, size = _read_HB(buf, pos)
            a = pos + 3 + size
            slot.exchange = buf[pos + 3 : a].decode()
            b = a + 1 + buf[a]
            slot.routing_key = buf[a + 1 : b].decode()
            bits = buf[b]
        except READ_FAULTS:
            return decode_slowly(StreamPublish, buf, pos, end, tables)
        if b + 1 == end and bits < 4:
            slot.mandatory = bits & 1 != 0
            slot.immediate = bits & 2 != 0
            slot.spare = None
            return method
        return decode_slowly(StreamPublish, buf, pos, end, tables)


class StreamReturn(Method):
    """Give back a message of a stream: stream.return (80/50), by the server, with content.

    `reply_code` a code of the specification; `reply_text` what happened, for people; `exchange`
    name of the exchange; empty: the default one; `routing_key` what the exchange routes by.
    """

    __match_args__ = ("reply_code", "reply_text", "exchange", "routing_key")
    __slots__ = __match_args__

    ID = 0x00500032
    NAME = "stream.return"
    CLASS_ID = 80
    METHOD_ID = 50
    SENT_BY = SERVER
    HAS_CONTENT = True
    FIELDS = (
        ("reply_code", "short"),
        ("reply_text", "shortstr"),
        ("exchange", "shortstr"),
        ("routing_key", "shortstr"),
    )
    WIRE = FIELDS

    def __init__(
        self,
        reply_code: int = 0,
        reply_text: str = "",
        exchange: str = "",
        routing_key: str = "",
    ) -> None:
        self.reply_code: Final = reply_code
        self.reply_text: Final = reply_text
        self.exchange: Final = exchange
        self.routing_key: Final = routing_key
        self.spare = None

    def encode(self, tables: TableRules) -> bytes:
        if self.spare is not None:
            return b"\x00\x50\x00\x32" + self.spare
        try:
            reply_text = self.reply_text.encode()
            exchange = self.exchange.encode()
            routing_key = self.routing_key.encode()
            return (
                _pack_IHB(0x00500032, self.reply_code, len(reply_text))
                + reply_text
                + OCTET[len(exchange)]
                + exchange
                + OCTET[len(routing_key)]
                + routing_key
            )
        except WRITE_FAULTS:
            return encode_slowly(self, tables)

    @staticmethod
    def decode(buf: bytes, pos: int, end: int, tables: TableRules) -> StreamReturn:
        method = _new(StreamReturn)
        slot: Any = method
        size: int
        try:
            slot.reply_code, size = _read_HB(buf, pos)
            a = pos + 3 + size
            slot.reply_text = buf[pos + 3 : a].decode()
            b = a + 1 + buf[a]
            slot.exchange = buf[a + 1 : b].decode()
            c = b + 1 + buf[b]
            slot.routing_key = buf[b + 1 : c].decode()
        except READ_FAULTS:
            return decode_slowly(StreamReturn, buf, pos, end, tables)
        if c == end:
            slot.spare = None
            return method
        return decode_slowly(StreamReturn, buf, pos, end, tables)


class StreamDeliver(Method):
    """Hand a message of a stream to a consumer: stream.deliver (80/60), by the server, with
    content.

    `consumer_tag` names the consumer on its channel; empty: the server names it; `delivery_tag`
    counts deliveries on a channel from 1; `exchange` name of the exchange; empty: the default
    one; `queue` name of the queue; empty: see the specification.
    """

    __match_args__ = ("consumer_tag", "delivery_tag", "exchange", "queue")
    __slots__ = __match_args__

    ID = 0x0050003C
    NAME = "stream.deliver"
    CLASS_ID = 80
    METHOD_ID = 60
    SENT_BY = SERVER
    HAS_CONTENT = True
    FIELDS = (
        ("consumer_tag", "shortstr"),
        ("delivery_tag", "longlong"),
        ("exchange", "shortstr"),
        ("queue", "shortstr"),
    )
    WIRE = FIELDS

    def __init__(
        self,
        consumer_tag: str = "",
        delivery_tag: int = 0,
        exchange: str = "",
        queue: str = "",
    ) -> None:
        self.consumer_tag: Final = consumer_tag
        self.delivery_tag: Final = delivery_tag
        self.exchange: Final = exchange
        self.queue: Final = queue
        self.spare = None

    def encode(self, tables: TableRules) -> bytes:
        if self.spare is not None:
            return b"\x00\x50\x00\x3c" + self.spare
        try:
            consumer_tag = self.consumer_tag.encode()
            exchange = self.exchange.encode()
            queue = self.queue.encode()
            return (
                b"\x00\x50\x00\x3c"
                + OCTET[len(consumer_tag)]
                + consumer_tag
                + _pack_QB(self.delivery_tag, len(exchange))
                + exchange
                + OCTET[len(queue)]
                + queue
            )
        except WRITE_FAULTS:
            return encode_slowly(self, tables)

    @staticmethod
    def decode(buf: bytes, pos: int, end: int, tables: TableRules) -> StreamDeliver:
        method = _new(StreamDeliver)
        slot: Any = method
        size: int
        try:
            a = pos + 1 + buf[pos]
            slot.consumer_tag = buf[pos + 1 : a].decode()
            slot.delivery_tag, size = _read_QB(buf, a)
            b = a + 9 + size
            slot.exchange = buf[a + 9 : b].decode()
            c = b + 1 + buf[b]
            slot.queue = buf[b + 1 : c].decode()
        except READ_FAULTS:
            return decode_slowly(StreamDeliver, buf, pos, end, tables)
        if c == end:
            slot.spare = None
            return method
        return decode_slowly(StreamDeliver, buf, pos, end, tables)


class DtxSelectOk(Method):
    """Confirm distributed transactions: dtx.select-ok (100/11), by the server."""

    __match_args__ = ()
    __slots__ = __match_args__

    ID = 0x0064000B
    NAME = "dtx.select-ok"
    CLASS_ID = 100
    METHOD_ID = 11
    SENT_BY = SERVER
    SYNCHRONOUS = True
    IS_REPLY = True

    def encode(self, tables: TableRules) -> bytes:
        if self.spare is not None:
            return b"\x00\x64\x00\x0b" + self.spare
        return b"\x00\x64\x00\x0b"

    @staticmethod
    def decode(buf: bytes, pos: int, end: int, tables: TableRules) -> DtxSelectOk:
        if pos != end:
            return decode_slowly(DtxSelectOk, buf, pos, end, tables)
        return DtxSelectOk()


class DtxSelect(Request[DtxSelectOk]):
    """Put the channel into distributed transactions: dtx.select (100/10), by the client."""

    __match_args__ = ()
    __slots__ = __match_args__

    ID = 0x0064000A
    NAME = "dtx.select"
    CLASS_ID = 100
    METHOD_ID = 10
    SENT_BY = CLIENT
    SYNCHRONOUS = True
    REPLIES = (DtxSelectOk,)

    def encode(self, tables: TableRules) -> bytes:
        if self.spare is not None:
            return b"\x00\x64\x00\x0a" + self.spare
        return b"\x00\x64\x00\x0a"

    @staticmethod
    def decode(buf: bytes, pos: int, end: int, tables: TableRules) -> DtxSelect:
        if pos != end:
            return decode_slowly(DtxSelect, buf, pos, end, tables)
        return DtxSelect()


class DtxStartOk(Method):
    """Confirm the beginning of a distributed transaction: dtx.start-ok (100/21), by the server."""

    __match_args__ = ()
    __slots__ = __match_args__

    ID = 0x00640015
    NAME = "dtx.start-ok"
    CLASS_ID = 100
    METHOD_ID = 21
    SENT_BY = SERVER
    SYNCHRONOUS = True
    IS_REPLY = True

    def encode(self, tables: TableRules) -> bytes:
        if self.spare is not None:
            return b"\x00\x64\x00\x15" + self.spare
        return b"\x00\x64\x00\x15"

    @staticmethod
    def decode(buf: bytes, pos: int, end: int, tables: TableRules) -> DtxStartOk:
        if pos != end:
            return decode_slowly(DtxStartOk, buf, pos, end, tables)
        return DtxStartOk()


class DtxStart(Request[DtxStartOk]):
    """Begin a distributed transaction: dtx.start (100/20), by the client.

    `dtx_identifier` names the transaction.
    """

    __match_args__ = ("dtx_identifier",)
    __slots__ = __match_args__

    ID = 0x00640014
    NAME = "dtx.start"
    CLASS_ID = 100
    METHOD_ID = 20
    SENT_BY = CLIENT
    SYNCHRONOUS = True
    REPLIES = (DtxStartOk,)
    FIELDS = (("dtx_identifier", "shortstr"),)
    WIRE = FIELDS

    def __init__(
        self,
        dtx_identifier: str = "",
    ) -> None:
        self.dtx_identifier: Final = dtx_identifier
        self.spare = None

    def encode(self, tables: TableRules) -> bytes:
        if self.spare is not None:
            return b"\x00\x64\x00\x14" + self.spare
        try:
            dtx_identifier = self.dtx_identifier.encode()
            return b"\x00\x64\x00\x14" + OCTET[len(dtx_identifier)] + dtx_identifier
        except WRITE_FAULTS:
            return encode_slowly(self, tables)

    @staticmethod
    def decode(buf: bytes, pos: int, end: int, tables: TableRules) -> DtxStart:
        method = _new(DtxStart)
        slot: Any = method
        try:
            a = pos + 1 + buf[pos]
            slot.dtx_identifier = buf[pos + 1 : a].decode()
        except READ_FAULTS:
            return decode_slowly(DtxStart, buf, pos, end, tables)
        if a == end:
            slot.spare = None
            return method
        return decode_slowly(DtxStart, buf, pos, end, tables)


class TunnelRequest(Method):
    """Pass content of a foreign protocol on: tunnel.request (110/10), by either side, with
    content.

    `meta_data` fields of the foreign protocol.
    """

    __match_args__ = ("meta_data",)
    __slots__ = __match_args__

    ID = 0x006E000A
    NAME = "tunnel.request"
    CLASS_ID = 110
    METHOD_ID = 10
    SENT_BY = BOTH
    HAS_CONTENT = True
    FIELDS = (("meta_data", "table"),)
    WIRE = FIELDS

    def __init__(
        self,
        meta_data: FieldTable = EMPTY,
    ) -> None:
        self.meta_data: Final = meta_data
        self.spare = None

    def encode(self, tables: TableRules) -> bytes:
        if self.spare is not None:
            return b"\x00\x6e\x00\x0a" + self.spare
        try:
            return b"\x00\x6e\x00\x0a" + encode_table(self.meta_data, tables)
        except WRITE_FAULTS:
            return encode_slowly(self, tables)

    @staticmethod
    def decode(buf: bytes, pos: int, end: int, tables: TableRules) -> TunnelRequest:
        method = _new(TunnelRequest)
        slot: Any = method
        size: int
        try:
            size = _read_I(buf, pos)[0]
            a = pos + 4 + size
            slot.meta_data = _table(buf[pos + 4 : a], tables) if size else EMPTY
        except READ_FAULTS:
            return decode_slowly(TunnelRequest, buf, pos, end, tables)
        if a == end:
            slot.spare = None
            return method
        return decode_slowly(TunnelRequest, buf, pos, end, tables)


class TestIntegerOk(Method):
    """Answer with the result: test.integer-ok (120/11), by either side.

    `result`.
    """

    __match_args__ = ("result",)
    __slots__ = __match_args__

    ID = 0x0078000B
    NAME = "test.integer-ok"
    CLASS_ID = 120
    METHOD_ID = 11
    SENT_BY = BOTH
    SYNCHRONOUS = True
    IS_REPLY = True
    FIELDS = (("result", "longlong"),)
    WIRE = FIELDS

    def __init__(
        self,
        result: int = 0,
    ) -> None:
        self.result: Final = result
        self.spare = None

    def encode(self, tables: TableRules) -> bytes:
        if self.spare is not None:
            return b"\x00\x78\x00\x0b" + self.spare
        try:
            return _pack_IQ(0x0078000B, self.result)
        except WRITE_FAULTS:
            return encode_slowly(self, tables)

    @staticmethod
    def decode(buf: bytes, pos: int, end: int, tables: TableRules) -> TestIntegerOk:
        method = _new(TestIntegerOk)
        slot: Any = method
        try:
            slot.result = _read_Q(buf, pos)[0]
        except READ_FAULTS:
            return decode_slowly(TestIntegerOk, buf, pos, end, tables)
        if pos + 8 == end:
            slot.spare = None
            return method
        return decode_slowly(TestIntegerOk, buf, pos, end, tables)


class TestInteger(Request[TestIntegerOk]):
    """Send integers for the peer to combine: test.integer (120/10), by either side.

    `integer_1`; `integer_2`; `integer_3`; `integer_4`; `operation` 0 add, 1 minimum, 2 maximum
    (the specification has names only).
    """

    __match_args__ = ("integer_1", "integer_2", "integer_3", "integer_4", "operation")
    __slots__ = __match_args__

    ID = 0x0078000A
    NAME = "test.integer"
    CLASS_ID = 120
    METHOD_ID = 10
    SENT_BY = BOTH
    SYNCHRONOUS = True
    REPLIES = (TestIntegerOk,)
    FIELDS = (
        ("integer_1", "octet"),
        ("integer_2", "short"),
        ("integer_3", "long"),
        ("integer_4", "longlong"),
        ("operation", "octet"),
    )
    WIRE = FIELDS

    def __init__(
        self,
        integer_1: int = 0,
        integer_2: int = 0,
        integer_3: int = 0,
        integer_4: int = 0,
        operation: int = 0,
    ) -> None:
        self.integer_1: Final = integer_1
        self.integer_2: Final = integer_2
        self.integer_3: Final = integer_3
        self.integer_4: Final = integer_4
        self.operation: Final = operation
        self.spare = None

    def encode(self, tables: TableRules) -> bytes:
        if self.spare is not None:
            return b"\x00\x78\x00\x0a" + self.spare
        try:
            return (
                _pack_IBHIQB(
                    0x0078000A,
                    self.integer_1,
                    self.integer_2,
                    self.integer_3,
                    self.integer_4,
                    self.operation,
                )
            )
        except WRITE_FAULTS:
            return encode_slowly(self, tables)

    @staticmethod
    def decode(buf: bytes, pos: int, end: int, tables: TableRules) -> TestInteger:
        method = _new(TestInteger)
        slot: Any = method
        try:
            (
                slot.integer_1,
                slot.integer_2,
                slot.integer_3,
                slot.integer_4,
                slot.operation,
            ) = _read_BHIQB(buf, pos)
        except READ_FAULTS:
            return decode_slowly(TestInteger, buf, pos, end, tables)
        if pos + 16 == end:
            slot.spare = None
            return method
        return decode_slowly(TestInteger, buf, pos, end, tables)


class TestStringOk(Method):
    """Answer with the result: test.string-ok (120/21), by either side.

    `result`.
    """

    __match_args__ = ("result",)
    __slots__ = __match_args__

    ID = 0x00780015
    NAME = "test.string-ok"
    CLASS_ID = 120
    METHOD_ID = 21
    SENT_BY = BOTH
    SYNCHRONOUS = True
    IS_REPLY = True
    FIELDS = (("result", "longstr"),)
    WIRE = FIELDS

    def __init__(
        self,
        result: bytes = b"",
    ) -> None:
        self.result: Final = result
        self.spare = None

    def encode(self, tables: TableRules) -> bytes:
        if self.spare is not None:
            return b"\x00\x78\x00\x15" + self.spare
        try:
            result = self.result
            return _pack_II(0x00780015, len(result)) + result
        except WRITE_FAULTS:
            return encode_slowly(self, tables)

    @staticmethod
    def decode(buf: bytes, pos: int, end: int, tables: TableRules) -> TestStringOk:
        method = _new(TestStringOk)
        slot: Any = method
        size: int
        try:
            size = _read_I(buf, pos)[0]
            a = pos + 4 + size
            slot.result = buf[pos + 4 : a]
        except READ_FAULTS:
            return decode_slowly(TestStringOk, buf, pos, end, tables)
        if a == end:
            slot.spare = None
            return method
        return decode_slowly(TestStringOk, buf, pos, end, tables)


class TestString(Request[TestStringOk]):
    """Send strings for the peer to combine: test.string (120/20), by either side.

    `string_1`; `string_2`; `operation` 0 add, 1 minimum, 2 maximum (the specification has names
    only).
    """

    __match_args__ = ("string_1", "string_2", "operation")
    __slots__ = __match_args__

    ID = 0x00780014
    NAME = "test.string"
    CLASS_ID = 120
    METHOD_ID = 20
    SENT_BY = BOTH
    SYNCHRONOUS = True
    REPLIES = (TestStringOk,)
    FIELDS = (("string_1", "shortstr"), ("string_2", "longstr"), ("operation", "octet"))
    WIRE = FIELDS

    def __init__(
        self,
        string_1: str = "",
        string_2: bytes = b"",
        operation: int = 0,
    ) -> None:
        self.string_1: Final = string_1
        self.string_2: Final = string_2
        self.operation: Final = operation
        self.spare = None

    def encode(self, tables: TableRules) -> bytes:
        if self.spare is not None:
            return b"\x00\x78\x00\x14" + self.spare
        try:
            string_1 = self.string_1.encode()
            string_2 = self.string_2
            return (
                b"\x00\x78\x00\x14"
                + OCTET[len(string_1)]
                + string_1
                + _pack_I(len(string_2))
                + string_2
                + OCTET[self.operation]
            )
        except WRITE_FAULTS:
            return encode_slowly(self, tables)

    @staticmethod
    def decode(buf: bytes, pos: int, end: int, tables: TableRules) -> TestString:
        method = _new(TestString)
        slot: Any = method
        size: int
        try:
            a = pos + 1 + buf[pos]
            slot.string_1 = buf[pos + 1 : a].decode()
            size = _read_I(buf, a)[0]
            b = a + 4 + size
            slot.string_2 = buf[a + 4 : b]
            slot.operation = buf[b]
        except READ_FAULTS:
            return decode_slowly(TestString, buf, pos, end, tables)
        if b + 1 == end:
            slot.spare = None
            return method
        return decode_slowly(TestString, buf, pos, end, tables)


class TestTableOk(Method):
    """Answer with the results: test.table-ok (120/31), by either side.

    `integer_result`; `string_result`.
    """

    __match_args__ = ("integer_result", "string_result")
    __slots__ = __match_args__

    ID = 0x0078001F
    NAME = "test.table-ok"
    CLASS_ID = 120
    METHOD_ID = 31
    SENT_BY = BOTH
    SYNCHRONOUS = True
    IS_REPLY = True
    FIELDS = (("integer_result", "longlong"), ("string_result", "longstr"))
    WIRE = FIELDS

    def __init__(
        self,
        integer_result: int = 0,
        string_result: bytes = b"",
    ) -> None:
        self.integer_result: Final = integer_result
        self.string_result: Final = string_result
        self.spare = None

    def encode(self, tables: TableRules) -> bytes:
        if self.spare is not None:
            return b"\x00\x78\x00\x1f" + self.spare
        try:
            string_result = self.string_result
            return _pack_IQI(0x0078001F, self.integer_result, len(string_result)) + string_result
        except WRITE_FAULTS:
            return encode_slowly(self, tables)

    @staticmethod
    def decode(buf: bytes, pos: int, end: int, tables: TableRules) -> TestTableOk:
        method = _new(TestTableOk)
        slot: Any = method
        size: int
        try:
            slot.integer_result, size = _read_QI(buf, pos)
            a = pos + 12 + size
            slot.string_result = buf[pos + 12 : a]
        except READ_FAULTS:
            return decode_slowly(TestTableOk, buf, pos, end, tables)
        if a == end:
            slot.spare = None
            return method
        return decode_slowly(TestTableOk, buf, pos, end, tables)


class TestTable(Request[TestTableOk]):
    """Send a table for the peer to combine: test.table (120/30), by either side.

    `table`; `integer_op` 0 add, 1 minimum, 2 maximum (the specification has names only);
    `string_op` 0 add, 1 minimum, 2 maximum (the specification has names only).
    """

    __match_args__ = ("table", "integer_op", "string_op")
    __slots__ = __match_args__

    ID = 0x0078001E
    NAME = "test.table"
    CLASS_ID = 120
    METHOD_ID = 30
    SENT_BY = BOTH
    SYNCHRONOUS = True
    REPLIES = (TestTableOk,)
    FIELDS = (("table", "table"), ("integer_op", "octet"), ("string_op", "octet"))
    WIRE = FIELDS

    def __init__(
        self,
        table: FieldTable = EMPTY,
        integer_op: int = 0,
        string_op: int = 0,
    ) -> None:
        self.table: Final = table
        self.integer_op: Final = integer_op
        self.string_op: Final = string_op
        self.spare = None

    def encode(self, tables: TableRules) -> bytes:
        if self.spare is not None:
            return b"\x00\x78\x00\x1e" + self.spare
        try:
            return (
                b"\x00\x78\x00\x1e"
                + encode_table(self.table, tables)
                + _pack_BB(self.integer_op, self.string_op)
            )
        except WRITE_FAULTS:
            return encode_slowly(self, tables)

    @staticmethod
    def decode(buf: bytes, pos: int, end: int, tables: TableRules) -> TestTable:
        method = _new(TestTable)
        slot: Any = method
        size: int
        try:
            size = _read_I(buf, pos)[0]
            a = pos + 4 + size
            slot.table = _table(buf[pos + 4 : a], tables) if size else EMPTY
            slot.integer_op, slot.string_op = _read_BB(buf, a)
        except READ_FAULTS:
            return decode_slowly(TestTable, buf, pos, end, tables)
        if a + 2 == end:
            slot.spare = None
            return method
        return decode_slowly(TestTable, buf, pos, end, tables)


class TestContentOk(Method):
    """Answer with the sum of the content's octets, and the content: test.content-ok (120/41), by
    either side, with content.

    `content_checksum` sum of the octets, 32 bits.
    """

    __match_args__ = ("content_checksum",)
    __slots__ = __match_args__

    ID = 0x00780029
    NAME = "test.content-ok"
    CLASS_ID = 120
    METHOD_ID = 41
    SENT_BY = BOTH
    SYNCHRONOUS = True
    HAS_CONTENT = True
    IS_REPLY = True
    FIELDS = (("content_checksum", "long"),)
    WIRE = FIELDS

    def __init__(
        self,
        content_checksum: int = 0,
    ) -> None:
        self.content_checksum: Final = content_checksum
        self.spare = None

    def encode(self, tables: TableRules) -> bytes:
        if self.spare is not None:
            return b"\x00\x78\x00\x29" + self.spare
        try:
            return _pack_II(0x00780029, self.content_checksum)
        except WRITE_FAULTS:
            return encode_slowly(self, tables)

    @staticmethod
    def decode(buf: bytes, pos: int, end: int, tables: TableRules) -> TestContentOk:
        method = _new(TestContentOk)
        slot: Any = method
        try:
            slot.content_checksum = _read_I(buf, pos)[0]
        except READ_FAULTS:
            return decode_slowly(TestContentOk, buf, pos, end, tables)
        if pos + 4 == end:
            slot.spare = None
            return method
        return decode_slowly(TestContentOk, buf, pos, end, tables)


class TestContent(Request[TestContentOk]):
    """Send content for the peer to sum up: test.content (120/40), by either side, with content."""

    __match_args__ = ()
    __slots__ = __match_args__

    ID = 0x00780028
    NAME = "test.content"
    CLASS_ID = 120
    METHOD_ID = 40
    SENT_BY = BOTH
    SYNCHRONOUS = True
    REPLIES = (TestContentOk,)
    HAS_CONTENT = True

    def encode(self, tables: TableRules) -> bytes:
        if self.spare is not None:
            return b"\x00\x78\x00\x28" + self.spare
        return b"\x00\x78\x00\x28"

    @staticmethod
    def decode(buf: bytes, pos: int, end: int, tables: TableRules) -> TestContent:
        if pos != end:
            return decode_slowly(TestContent, buf, pos, end, tables)
        return TestContent()


class FileProperties(Properties):
    """The properties of content of class file (70).

    `content_type` MIME content type; `content_encoding` MIME content encoding; `headers` the
    application's own fields; `priority` 0 to 9; `reply_to` where answers go; `message_id` the
    application's name for the message; `filename` name of the file; `timestamp` POSIX seconds;
    `cluster_id` the cluster; reserved in 0-9-1.
    """

    __match_args__ = (
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
    __slots__ = ("_raw", "_rules", *__match_args__)

    CLASS_ID = 70
    FIELDS = (
        ("content_type", "shortstr"),
        ("content_encoding", "shortstr"),
        ("headers", "table"),
        ("priority", "octet"),
        ("reply_to", "shortstr"),
        ("message_id", "shortstr"),
        ("filename", "shortstr"),
        ("timestamp", "timestamp"),
        ("cluster_id", "shortstr"),
    )

    def __init__(
        self,
        content_type: str | None = None,
        content_encoding: str | None = None,
        headers: FieldTable | None = None,
        priority: int | None = None,
        reply_to: str | None = None,
        message_id: str | None = None,
        filename: str | None = None,
        timestamp: int | None = None,
        cluster_id: str | None = None,
    ) -> None:
        self._raw = None
        self.content_type: Final = content_type
        self.content_encoding: Final = content_encoding
        self.headers: Final = headers
        self.priority: Final = priority
        self.reply_to: Final = reply_to
        self.message_id: Final = message_id
        self.filename: Final = filename
        self.timestamp: Final = timestamp
        self.cluster_id: Final = cluster_id

    @staticmethod
    def from_wire(raw: bytes, tables: TableRules) -> FileProperties:
        properties = _UnreadFileProperties()
        properties._raw = raw
        properties._rules = tables
        return properties

    def encode(self, tables: TableRules) -> bytes:
        raw = self._raw
        if raw is not None and (self._rules is tables or self._as_is(tables)):
            return raw
        flags = 0
        parts = [b""]
        try:
            if (content_type := self.content_type) is not None:
                flags |= 0x8000
                text = content_type.encode()
                parts += OCTET[len(text)], text
            if (content_encoding := self.content_encoding) is not None:
                flags |= 0x4000
                text = content_encoding.encode()
                parts += OCTET[len(text)], text
            if (headers := self.headers) is not None:
                flags |= 0x2000
                parts.append(encode_table(headers, tables))
            if (priority := self.priority) is not None:
                flags |= 0x1000
                parts.append(_pack_B(priority))
            if (reply_to := self.reply_to) is not None:
                flags |= 0x0800
                text = reply_to.encode()
                parts += OCTET[len(text)], text
            if (message_id := self.message_id) is not None:
                flags |= 0x0400
                text = message_id.encode()
                parts += OCTET[len(text)], text
            if (filename := self.filename) is not None:
                flags |= 0x0200
                text = filename.encode()
                parts += OCTET[len(text)], text
            if (timestamp := self.timestamp) is not None:
                flags |= 0x0100
                parts.append(_pack_Q(timestamp))
            if (cluster_id := self.cluster_id) is not None:
                flags |= 0x0080
                text = cluster_id.encode()
                parts += OCTET[len(text)], text
        except WRITE_FAULTS:
            return encode_properties_slowly(self, tables)
        parts[0] = _pack_H(flags)
        return b"".join(parts)

    def _load(self) -> None:
        slot: Any = self
        raw: bytes = slot._raw
        slot.__class__ = FileProperties
        try:
            flags = raw[0]
            more = raw[1]
            (
                content_type, content_encoding, headers, priority,
                reply_to, message_id, filename, timestamp,
            ) = BITS[flags]
            (
                cluster_id, _, _, _,
                _, _, _, _,
            ) = BITS[more]
            pos = 2
            if content_type:
                start = pos + 1
                pos = start + raw[pos]
                slot.content_type = raw[start:pos].decode()
            else:
                slot.content_type = None
            if content_encoding:
                start = pos + 1
                pos = start + raw[pos]
                slot.content_encoding = raw[start:pos].decode()
            else:
                slot.content_encoding = None
            if headers:
                start = pos + 4
                pos = start + _read_I(raw, pos)[0]
                slot.headers = _table(raw[start:pos], slot._rules)
            else:
                slot.headers = None
            if priority:
                slot.priority = raw[pos]
                pos += 1
            else:
                slot.priority = None
            if reply_to:
                start = pos + 1
                pos = start + raw[pos]
                slot.reply_to = raw[start:pos].decode()
            else:
                slot.reply_to = None
            if message_id:
                start = pos + 1
                pos = start + raw[pos]
                slot.message_id = raw[start:pos].decode()
            else:
                slot.message_id = None
            if filename:
                start = pos + 1
                pos = start + raw[pos]
                slot.filename = raw[start:pos].decode()
            else:
                slot.filename = None
            if timestamp:
                slot.timestamp = _read_Q(raw, pos)[0]
                pos += 8
            else:
                slot.timestamp = None
            if cluster_id:
                start = pos + 1
                pos = start + raw[pos]
                slot.cluster_id = raw[start:pos].decode()
            else:
                slot.cluster_id = None
        except READ_FAULTS:
            pass
        else:
            if pos == len(raw) and not more & 0x7F:
                return
        slot.__class__ = _UnreadFileProperties
        load_slowly(self, raw, self._rules, FileProperties)


def _file_content_type(self: Any) -> Any:
    self._load()
    return self.content_type


def _file_content_encoding(self: Any) -> Any:
    self._load()
    return self.content_encoding


def _file_headers(self: Any) -> Any:
    self._load()
    return self.headers


def _file_priority(self: Any) -> Any:
    self._load()
    return self.priority


def _file_reply_to(self: Any) -> Any:
    self._load()
    return self.reply_to


def _file_message_id(self: Any) -> Any:
    self._load()
    return self.message_id


def _file_filename(self: Any) -> Any:
    self._load()
    return self.filename


def _file_timestamp(self: Any) -> Any:
    self._load()
    return self.timestamp


def _file_cluster_id(self: Any) -> Any:
    self._load()
    return self.cluster_id


_UnreadFileProperties: Final = lazily(
    FileProperties,
    _file_content_type,
    _file_content_encoding,
    _file_headers,
    _file_priority,
    _file_reply_to,
    _file_message_id,
    _file_filename,
    _file_timestamp,
    _file_cluster_id,
)


class StreamProperties(Properties):
    """The properties of content of class stream (80).

    `content_type` MIME content type; `content_encoding` MIME content encoding; `headers` the
    application's own fields; `priority` 0 to 9; `timestamp` POSIX seconds.
    """

    __match_args__ = ("content_type", "content_encoding", "headers", "priority", "timestamp")
    __slots__ = ("_raw", "_rules", *__match_args__)

    CLASS_ID = 80
    FIELDS = (
        ("content_type", "shortstr"),
        ("content_encoding", "shortstr"),
        ("headers", "table"),
        ("priority", "octet"),
        ("timestamp", "timestamp"),
    )

    def __init__(
        self,
        content_type: str | None = None,
        content_encoding: str | None = None,
        headers: FieldTable | None = None,
        priority: int | None = None,
        timestamp: int | None = None,
    ) -> None:
        self._raw = None
        self.content_type: Final = content_type
        self.content_encoding: Final = content_encoding
        self.headers: Final = headers
        self.priority: Final = priority
        self.timestamp: Final = timestamp

    @staticmethod
    def from_wire(raw: bytes, tables: TableRules) -> StreamProperties:
        properties = _UnreadStreamProperties()
        properties._raw = raw
        properties._rules = tables
        return properties

    def encode(self, tables: TableRules) -> bytes:
        raw = self._raw
        if raw is not None and (self._rules is tables or self._as_is(tables)):
            return raw
        flags = 0
        parts = [b""]
        try:
            if (content_type := self.content_type) is not None:
                flags |= 0x8000
                text = content_type.encode()
                parts += OCTET[len(text)], text
            if (content_encoding := self.content_encoding) is not None:
                flags |= 0x4000
                text = content_encoding.encode()
                parts += OCTET[len(text)], text
            if (headers := self.headers) is not None:
                flags |= 0x2000
                parts.append(encode_table(headers, tables))
            if (priority := self.priority) is not None:
                flags |= 0x1000
                parts.append(_pack_B(priority))
            if (timestamp := self.timestamp) is not None:
                flags |= 0x0800
                parts.append(_pack_Q(timestamp))
        except WRITE_FAULTS:
            return encode_properties_slowly(self, tables)
        parts[0] = _pack_H(flags)
        return b"".join(parts)

    def _load(self) -> None:
        slot: Any = self
        raw: bytes = slot._raw
        slot.__class__ = StreamProperties
        try:
            flags = raw[0]
            more = raw[1]
            (
                content_type, content_encoding, headers, priority,
                timestamp, _, _, _,
            ) = BITS[flags]
            pos = 2
            if content_type:
                start = pos + 1
                pos = start + raw[pos]
                slot.content_type = raw[start:pos].decode()
            else:
                slot.content_type = None
            if content_encoding:
                start = pos + 1
                pos = start + raw[pos]
                slot.content_encoding = raw[start:pos].decode()
            else:
                slot.content_encoding = None
            if headers:
                start = pos + 4
                pos = start + _read_I(raw, pos)[0]
                slot.headers = _table(raw[start:pos], slot._rules)
            else:
                slot.headers = None
            if priority:
                slot.priority = raw[pos]
                pos += 1
            else:
                slot.priority = None
            if timestamp:
                slot.timestamp = _read_Q(raw, pos)[0]
                pos += 8
            else:
                slot.timestamp = None
        except READ_FAULTS:
            pass
        else:
            if pos == len(raw) and not more & 0xFF and not flags & 0x07:
                return
        slot.__class__ = _UnreadStreamProperties
        load_slowly(self, raw, self._rules, StreamProperties)


def _stream_content_type(self: Any) -> Any:
    self._load()
    return self.content_type


def _stream_content_encoding(self: Any) -> Any:
    self._load()
    return self.content_encoding


def _stream_headers(self: Any) -> Any:
    self._load()
    return self.headers


def _stream_priority(self: Any) -> Any:
    self._load()
    return self.priority


def _stream_timestamp(self: Any) -> Any:
    self._load()
    return self.timestamp


_UnreadStreamProperties: Final = lazily(
    StreamProperties,
    _stream_content_type,
    _stream_content_encoding,
    _stream_headers,
    _stream_priority,
    _stream_timestamp,
)


class TunnelProperties(Properties):
    """The properties of content of class tunnel (110).

    `headers` the application's own fields; `proxy_name` the proxy to use; `data_name` name of
    the data; `durable` whether it survives a restart; `broadcast` whether it goes to all.
    """

    __match_args__ = ("headers", "proxy_name", "data_name", "durable", "broadcast")
    __slots__ = ("_raw", "_rules", *__match_args__)

    CLASS_ID = 110
    FIELDS = (
        ("headers", "table"),
        ("proxy_name", "shortstr"),
        ("data_name", "shortstr"),
        ("durable", "octet"),
        ("broadcast", "octet"),
    )

    def __init__(
        self,
        headers: FieldTable | None = None,
        proxy_name: str | None = None,
        data_name: str | None = None,
        durable: int | None = None,
        broadcast: int | None = None,
    ) -> None:
        self._raw = None
        self.headers: Final = headers
        self.proxy_name: Final = proxy_name
        self.data_name: Final = data_name
        self.durable: Final = durable
        self.broadcast: Final = broadcast

    @staticmethod
    def from_wire(raw: bytes, tables: TableRules) -> TunnelProperties:
        properties = _UnreadTunnelProperties()
        properties._raw = raw
        properties._rules = tables
        return properties

    def encode(self, tables: TableRules) -> bytes:
        raw = self._raw
        if raw is not None and (self._rules is tables or self._as_is(tables)):
            return raw
        flags = 0
        parts = [b""]
        try:
            if (headers := self.headers) is not None:
                flags |= 0x8000
                parts.append(encode_table(headers, tables))
            if (proxy_name := self.proxy_name) is not None:
                flags |= 0x4000
                text = proxy_name.encode()
                parts += OCTET[len(text)], text
            if (data_name := self.data_name) is not None:
                flags |= 0x2000
                text = data_name.encode()
                parts += OCTET[len(text)], text
            if (durable := self.durable) is not None:
                flags |= 0x1000
                parts.append(_pack_B(durable))
            if (broadcast := self.broadcast) is not None:
                flags |= 0x0800
                parts.append(_pack_B(broadcast))
        except WRITE_FAULTS:
            return encode_properties_slowly(self, tables)
        parts[0] = _pack_H(flags)
        return b"".join(parts)

    def _load(self) -> None:
        slot: Any = self
        raw: bytes = slot._raw
        slot.__class__ = TunnelProperties
        try:
            flags = raw[0]
            more = raw[1]
            (
                headers, proxy_name, data_name, durable,
                broadcast, _, _, _,
            ) = BITS[flags]
            pos = 2
            if headers:
                start = pos + 4
                pos = start + _read_I(raw, pos)[0]
                slot.headers = _table(raw[start:pos], slot._rules)
            else:
                slot.headers = None
            if proxy_name:
                start = pos + 1
                pos = start + raw[pos]
                slot.proxy_name = raw[start:pos].decode()
            else:
                slot.proxy_name = None
            if data_name:
                start = pos + 1
                pos = start + raw[pos]
                slot.data_name = raw[start:pos].decode()
            else:
                slot.data_name = None
            if durable:
                slot.durable = raw[pos]
                pos += 1
            else:
                slot.durable = None
            if broadcast:
                slot.broadcast = raw[pos]
                pos += 1
            else:
                slot.broadcast = None
        except READ_FAULTS:
            pass
        else:
            if pos == len(raw) and not more & 0xFF and not flags & 0x07:
                return
        slot.__class__ = _UnreadTunnelProperties
        load_slowly(self, raw, self._rules, TunnelProperties)


def _tunnel_headers(self: Any) -> Any:
    self._load()
    return self.headers


def _tunnel_proxy_name(self: Any) -> Any:
    self._load()
    return self.proxy_name


def _tunnel_data_name(self: Any) -> Any:
    self._load()
    return self.data_name


def _tunnel_durable(self: Any) -> Any:
    self._load()
    return self.durable


def _tunnel_broadcast(self: Any) -> Any:
    self._load()
    return self.broadcast


_UnreadTunnelProperties: Final = lazily(
    TunnelProperties,
    _tunnel_headers,
    _tunnel_proxy_name,
    _tunnel_data_name,
    _tunnel_durable,
    _tunnel_broadcast,
)


class TestProperties(Properties):
    """The properties of content of class test (120)."""

    __match_args__ = ()
    __slots__ = ("_raw", "_rules", *__match_args__)

    CLASS_ID = 120

    def __init__(self) -> None:
        self._raw = None

    @staticmethod
    def from_wire(raw: bytes, tables: TableRules) -> TestProperties:
        properties = _new(TestProperties)
        properties._raw = raw
        properties._rules = tables
        return properties


_EVERYWHERE: Final[tuple[type[Method], ...]] = (
    ConnectionStart,
    ConnectionStartOk,
    ConnectionSecure,
    ConnectionSecureOk,
    ConnectionTune,
    ConnectionTuneOk,
    ConnectionOpen,
    ConnectionOpenOk,
    ConnectionRedirect,
    ConnectionClose,
    ConnectionCloseOk,
    ChannelOpen,
    ChannelOpenOk,
    ChannelFlow,
    ChannelFlowOk,
    ChannelAlert,
    ChannelClose,
    ChannelCloseOk,
    AccessRequest,
    AccessRequestOk,
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
    BasicRecover,
    FileQos,
    FileQosOk,
    FileConsume,
    FileConsumeOk,
    FileCancel,
    FileCancelOk,
    FileOpen,
    FileOpenOk,
    FileStage,
    FilePublish,
    FileReturn,
    FileDeliver,
    FileAck,
    FileReject,
    StreamQos,
    StreamQosOk,
    StreamConsume,
    StreamConsumeOk,
    StreamCancel,
    StreamCancelOk,
    StreamPublish,
    StreamReturn,
    StreamDeliver,
    TxSelect,
    TxSelectOk,
    TxCommit,
    TxCommitOk,
    TxRollback,
    TxRollbackOk,
    DtxSelect,
    DtxSelectOk,
    DtxStart,
    DtxStartOk,
    TunnelRequest,
    TestInteger,
    TestIntegerOk,
    TestString,
    TestStringOk,
    TestTable,
    TestTableOk,
    TestContent,
    TestContentOk,
)
_PROPERTIES: Final[tuple[type[Properties], ...]] = (
    BasicProperties,
    FileProperties,
    StreamProperties,
    TestProperties,
    TunnelProperties,
)


def dialect_named(name: str) -> Dialect:
    """The dialect of AMQP 0-8 with that name."""
    return DIALECTS[name]


SPEC: Final = Dialect(
    "0-8",
    AMQP_0_8,
    _EVERYWHERE,
    _PROPERTIES,
    SPEC_0_8_TABLES,
    {
        310: ("not-delivered", False),
        311: ("content-too-large", False),
        320: ("connection-forced", True),
        402: ("invalid-path", True),
        403: ("access-refused", False),
        404: ("not-found", False),
        405: ("resource-locked", False),
        501: ("frame-error", True),
        502: ("syntax-error", True),
        503: ("command-invalid", True),
        504: ("channel-error", True),
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
"""The dialect 0-8."""

RABBIT: Final = Dialect(
    "0-8-rabbit",
    AMQP_0_8,
    (
        *_EVERYWHERE,
        QueueUnbind,
        QueueUnbindOk,
        BasicRecoverSync,
        BasicRecoverSyncOk,
    ),
    _PROPERTIES,
    RABBIT_0_8_TABLES,
    {
        310: ("not-delivered", False),
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
        BasicCancel.ID: CLIENT,
        BasicCancelOk.ID: SERVER,
        BasicAck.ID: CLIENT,
    },
    {
    },
    dialect_named,
)
"""The dialect 0-8-rabbit."""

QPID: Final = Dialect(
    "0-8-qpid",
    AMQP_0_8,
    (
        *_EVERYWHERE,
        ExchangeBound,
        ExchangeBoundOk,
        BasicRecoverOk,
    ),
    _PROPERTIES,
    QPID_0_8_TABLES,
    {
        310: ("not-delivered", False),
        311: ("content-too-large", False),
        320: ("connection-forced", True),
        402: ("invalid-path", True),
        403: ("access-refused", False),
        404: ("not-found", False),
        405: ("resource-locked", False),
        501: ("frame-error", True),
        502: ("syntax-error", True),
        503: ("command-invalid", True),
        504: ("channel-error", True),
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
        BasicRecover.ID: (BasicRecoverOk,),
    },
    dialect_named,
)
"""The dialect 0-8-qpid."""

DIALECTS: Final[Mapping[str, Dialect]] = {
    "0-8": SPEC,
    "0-8-rabbit": RABBIT,
    "0-8-qpid": QPID,
}
"""The dialects of AMQP 0-8, by name."""


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
    "BasicDeliver",
    "BasicGet",
    "BasicGetEmpty",
    "BasicGetOk",
    "BasicProperties",
    "BasicPublish",
    "BasicQos",
    "BasicQosOk",
    "BasicRecover",
    "BasicRecoverOk",
    "BasicRecoverSync",
    "BasicRecoverSyncOk",
    "BasicReject",
    "BasicReturn",
    "ChannelAlert",
    "ChannelClose",
    "ChannelCloseOk",
    "ChannelFlow",
    "ChannelFlowOk",
    "ChannelOpen",
    "ChannelOpenOk",
    "ConnectionClose",
    "ConnectionCloseOk",
    "ConnectionOpen",
    "ConnectionOpenOk",
    "ConnectionRedirect",
    "ConnectionSecure",
    "ConnectionSecureOk",
    "ConnectionStart",
    "ConnectionStartOk",
    "ConnectionTune",
    "ConnectionTuneOk",
    "DtxSelect",
    "DtxSelectOk",
    "DtxStart",
    "DtxStartOk",
    "ExchangeBound",
    "ExchangeBoundOk",
    "ExchangeDeclare",
    "ExchangeDeclareOk",
    "ExchangeDelete",
    "ExchangeDeleteOk",
    "FileAck",
    "FileCancel",
    "FileCancelOk",
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
    "StreamCancel",
    "StreamCancelOk",
    "StreamConsume",
    "StreamConsumeOk",
    "StreamDeliver",
    "StreamProperties",
    "StreamPublish",
    "StreamQos",
    "StreamQosOk",
    "StreamReturn",
    "TestContent",
    "TestContentOk",
    "TestInteger",
    "TestIntegerOk",
    "TestProperties",
    "TestString",
    "TestStringOk",
    "TestTable",
    "TestTableOk",
    "TunnelProperties",
    "TunnelRequest",
    "TxCommit",
    "TxCommitOk",
    "TxRollback",
    "TxRollbackOk",
    "TxSelect",
    "TxSelectOk",
]
