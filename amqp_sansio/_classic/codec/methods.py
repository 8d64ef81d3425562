"""Methods and properties that 0-8 and 0-9-1 have alike on the wire."""

# Generated; edit the generator (tools/codegen).

from __future__ import annotations

from struct import Struct

from ..._checking import TYPE_CHECKING
from ..._compiled import COMPILED
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
from .properties import Properties, lazily, load_slowly
from .properties import encode_slowly as encode_properties_slowly
from .table import EMPTY, Table, encode_table

if TYPE_CHECKING or COMPILED:
    from ..._compiled import maker, scan_properties

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
_pack_IH: Final = Struct(">IH").pack
_pack_IHB: Final = Struct(">IHB").pack
_pack_IHIH: Final = Struct(">IHIH").pack
_pack_II: Final = Struct(">II").pack
_pack_IIHB: Final = Struct(">IIHB").pack
_pack_IQB: Final = Struct(">IQB").pack
_pack_IQBB: Final = Struct(">IQBB").pack
_pack_Q: Final = Struct(">Q").pack
_pack_QBB: Final = Struct(">QBB").pack
_read_BBI: Final = Struct(">BBI").unpack_from
_read_BI: Final = Struct(">BI").unpack_from
_read_H: Final = Struct(">H").unpack_from
_read_HB: Final = Struct(">HB").unpack_from
_read_HH: Final = Struct(">HH").unpack_from
_read_HIH: Final = Struct(">HIH").unpack_from
_read_I: Final = Struct(">I").unpack_from
_read_IHB: Final = Struct(">IHB").unpack_from
_read_II: Final = Struct(">II").unpack_from
_read_Q: Final = Struct(">Q").unpack_from
_read_QB: Final = Struct(">QB").unpack_from
_read_QBB: Final = Struct(">QBB").unpack_from
_table: Final = Table.from_wire


class ConnectionStartOk(Method):
    """Choose mechanism and locale, begin authentication: connection.start-ok (10/11), by the
    client.

    `client_properties` who the client is, and its capabilities; `mechanism` the SASL mechanism
    chosen; `response` octets of the mechanism; `locale` the message locale.
    """

    __match_args__ = ("client_properties", "mechanism", "response", "locale")
    __slots__ = __match_args__

    ID = 0x000A000B
    NAME = "connection.start-ok"
    CLASS_ID = 10
    METHOD_ID = 11
    SENT_BY = CLIENT
    SYNCHRONOUS = True
    IS_REPLY = True
    FIELDS = (
        ("client_properties", "table"),
        ("mechanism", "shortstr"),
        ("response", "longstr"),
        ("locale", "shortstr"),
    )
    WIRE = FIELDS
    SECRETS = ("response",)

    def __init__(
        self,
        client_properties: FieldTable = EMPTY,
        mechanism: str = "",
        response: bytes = b"",
        locale: str = "",
    ) -> None:
        self.client_properties: Final = client_properties
        self.mechanism: Final = mechanism
        self.response: Final = response
        self.locale: Final = locale
        self.spare = None

    def encode(self, tables: TableRules) -> bytes:
        if self.spare is not None:
            return b"\x00\x0a\x00\x0b" + self.spare
        try:
            mechanism = self.mechanism.encode()
            response = self.response
            locale = self.locale.encode()
            return (
                b"\x00\x0a\x00\x0b"
                + encode_table(self.client_properties, tables)
                + OCTET[len(mechanism)]
                + mechanism
                + _pack_I(len(response))
                + response
                + OCTET[len(locale)]
                + locale
            )
        except WRITE_FAULTS:
            return encode_slowly(self, tables)

    @staticmethod
    def decode(buf: bytes, pos: int, end: int, tables: TableRules) -> ConnectionStartOk:
        method = _new(ConnectionStartOk)
        slot: Any = method
        size: int
        try:
            size = _read_I(buf, pos)[0]
            a = pos + 4 + size
            slot.client_properties = _table(buf[pos + 4 : a], tables) if size else EMPTY
            b = a + 1 + buf[a]
            slot.mechanism = buf[a + 1 : b].decode()
            size = _read_I(buf, b)[0]
            c = b + 4 + size
            slot.response = buf[b + 4 : c]
            d = c + 1 + buf[c]
            slot.locale = buf[c + 1 : d].decode()
        except READ_FAULTS:
            return decode_slowly(ConnectionStartOk, buf, pos, end, tables)
        if d == end:
            slot.spare = None
            return method
        return decode_slowly(ConnectionStartOk, buf, pos, end, tables)


class ConnectionStart(Request[ConnectionStartOk]):
    """Begin: version, properties and mechanisms of the server: connection.start (10/10), by the
    server.

    `version_major` major protocol version; `version_minor` minor protocol version;
    `server_properties` who the server is, and its capabilities; `mechanisms` SASL mechanisms,
    separated by spaces; `locales` message locales, separated by spaces.
    """

    __match_args__ = (
        "version_major",
        "version_minor",
        "server_properties",
        "mechanisms",
        "locales",
    )
    __slots__ = __match_args__

    ID = 0x000A000A
    NAME = "connection.start"
    CLASS_ID = 10
    METHOD_ID = 10
    SENT_BY = SERVER
    SYNCHRONOUS = True
    REPLIES = (ConnectionStartOk,)
    FIELDS = (
        ("version_major", "octet"),
        ("version_minor", "octet"),
        ("server_properties", "table"),
        ("mechanisms", "longstr"),
        ("locales", "longstr"),
    )
    WIRE = FIELDS

    def __init__(
        self,
        version_major: int = 0,
        version_minor: int = 0,
        server_properties: FieldTable = EMPTY,
        mechanisms: bytes = b"",
        locales: bytes = b"",
    ) -> None:
        self.version_major: Final = version_major
        self.version_minor: Final = version_minor
        self.server_properties: Final = server_properties
        self.mechanisms: Final = mechanisms
        self.locales: Final = locales
        self.spare = None

    def encode(self, tables: TableRules) -> bytes:
        if self.spare is not None:
            return b"\x00\x0a\x00\x0a" + self.spare
        try:
            mechanisms = self.mechanisms
            locales = self.locales
            return (
                b"\x00\x0a\x00\x0a"
                + _pack_BB(self.version_major, self.version_minor)
                + encode_table(self.server_properties, tables)
                + _pack_I(len(mechanisms))
                + mechanisms
                + _pack_I(len(locales))
                + locales
            )
        except WRITE_FAULTS:
            return encode_slowly(self, tables)

    @staticmethod
    def decode(buf: bytes, pos: int, end: int, tables: TableRules) -> ConnectionStart:
        method = _new(ConnectionStart)
        slot: Any = method
        size: int
        try:
            slot.version_major, slot.version_minor, size = _read_BBI(buf, pos)
            a = pos + 6 + size
            slot.server_properties = _table(buf[pos + 6 : a], tables) if size else EMPTY
            size = _read_I(buf, a)[0]
            b = a + 4 + size
            slot.mechanisms = buf[a + 4 : b]
            size = _read_I(buf, b)[0]
            c = b + 4 + size
            slot.locales = buf[b + 4 : c]
        except READ_FAULTS:
            return decode_slowly(ConnectionStart, buf, pos, end, tables)
        if c == end:
            slot.spare = None
            return method
        return decode_slowly(ConnectionStart, buf, pos, end, tables)


class ConnectionSecureOk(Method):
    """Answer a challenge: connection.secure-ok (10/21), by the client.

    `response` octets of the mechanism.
    """

    __match_args__ = ("response",)
    __slots__ = __match_args__

    ID = 0x000A0015
    NAME = "connection.secure-ok"
    CLASS_ID = 10
    METHOD_ID = 21
    SENT_BY = CLIENT
    SYNCHRONOUS = True
    IS_REPLY = True
    FIELDS = (("response", "longstr"),)
    WIRE = FIELDS
    SECRETS = ("response",)

    def __init__(
        self,
        response: bytes = b"",
    ) -> None:
        self.response: Final = response
        self.spare = None

    def encode(self, tables: TableRules) -> bytes:
        if self.spare is not None:
            return b"\x00\x0a\x00\x15" + self.spare
        try:
            response = self.response
            return _pack_II(0x000A0015, len(response)) + response
        except WRITE_FAULTS:
            return encode_slowly(self, tables)

    @staticmethod
    def decode(buf: bytes, pos: int, end: int, tables: TableRules) -> ConnectionSecureOk:
        method = _new(ConnectionSecureOk)
        slot: Any = method
        size: int
        try:
            size = _read_I(buf, pos)[0]
            a = pos + 4 + size
            slot.response = buf[pos + 4 : a]
        except READ_FAULTS:
            return decode_slowly(ConnectionSecureOk, buf, pos, end, tables)
        if a == end:
            slot.spare = None
            return method
        return decode_slowly(ConnectionSecureOk, buf, pos, end, tables)


class ConnectionSecure(Request[ConnectionSecureOk]):
    """Challenge the client in authentication: connection.secure (10/20), by the server.

    `challenge` octets of the mechanism.
    """

    __match_args__ = ("challenge",)
    __slots__ = __match_args__

    ID = 0x000A0014
    NAME = "connection.secure"
    CLASS_ID = 10
    METHOD_ID = 20
    SENT_BY = SERVER
    SYNCHRONOUS = True
    REPLIES = (ConnectionSecureOk,)
    FIELDS = (("challenge", "longstr"),)
    WIRE = FIELDS
    SECRETS = ("challenge",)

    def __init__(
        self,
        challenge: bytes = b"",
    ) -> None:
        self.challenge: Final = challenge
        self.spare = None

    def encode(self, tables: TableRules) -> bytes:
        if self.spare is not None:
            return b"\x00\x0a\x00\x14" + self.spare
        try:
            challenge = self.challenge
            return _pack_II(0x000A0014, len(challenge)) + challenge
        except WRITE_FAULTS:
            return encode_slowly(self, tables)

    @staticmethod
    def decode(buf: bytes, pos: int, end: int, tables: TableRules) -> ConnectionSecure:
        method = _new(ConnectionSecure)
        slot: Any = method
        size: int
        try:
            size = _read_I(buf, pos)[0]
            a = pos + 4 + size
            slot.challenge = buf[pos + 4 : a]
        except READ_FAULTS:
            return decode_slowly(ConnectionSecure, buf, pos, end, tables)
        if a == end:
            slot.spare = None
            return method
        return decode_slowly(ConnectionSecure, buf, pos, end, tables)


class ConnectionTuneOk(Method):
    """Settle the bounds of the connection: connection.tune-ok (10/31), by the client.

    `channel_max` the highest channel number, 0: no limit; `frame_max` octets of the largest
    frame, 0: no limit; `heartbeat` seconds between signs of life, 0: none.
    """

    __match_args__ = ("channel_max", "frame_max", "heartbeat")
    __slots__ = __match_args__

    ID = 0x000A001F
    NAME = "connection.tune-ok"
    CLASS_ID = 10
    METHOD_ID = 31
    SENT_BY = CLIENT
    SYNCHRONOUS = True
    IS_REPLY = True
    FIELDS = (("channel_max", "short"), ("frame_max", "long"), ("heartbeat", "short"))
    WIRE = FIELDS

    def __init__(
        self,
        channel_max: int = 0,
        frame_max: int = 0,
        heartbeat: int = 0,
    ) -> None:
        self.channel_max: Final = channel_max
        self.frame_max: Final = frame_max
        self.heartbeat: Final = heartbeat
        self.spare = None

    def encode(self, tables: TableRules) -> bytes:
        if self.spare is not None:
            return b"\x00\x0a\x00\x1f" + self.spare
        try:
            return _pack_IHIH(0x000A001F, self.channel_max, self.frame_max, self.heartbeat)
        except WRITE_FAULTS:
            return encode_slowly(self, tables)

    @staticmethod
    def decode(buf: bytes, pos: int, end: int, tables: TableRules) -> ConnectionTuneOk:
        method = _new(ConnectionTuneOk)
        slot: Any = method
        try:
            slot.channel_max, slot.frame_max, slot.heartbeat = _read_HIH(buf, pos)
        except READ_FAULTS:
            return decode_slowly(ConnectionTuneOk, buf, pos, end, tables)
        if pos + 8 == end:
            slot.spare = None
            return method
        return decode_slowly(ConnectionTuneOk, buf, pos, end, tables)


class ConnectionTune(Request[ConnectionTuneOk]):
    """Offer bounds for the connection: connection.tune (10/30), by the server.

    `channel_max` the highest channel number, 0: no limit; `frame_max` octets of the largest
    frame, 0: no limit; `heartbeat` seconds between signs of life, 0: none.
    """

    __match_args__ = ("channel_max", "frame_max", "heartbeat")
    __slots__ = __match_args__

    ID = 0x000A001E
    NAME = "connection.tune"
    CLASS_ID = 10
    METHOD_ID = 30
    SENT_BY = SERVER
    SYNCHRONOUS = True
    REPLIES = (ConnectionTuneOk,)
    FIELDS = (("channel_max", "short"), ("frame_max", "long"), ("heartbeat", "short"))
    WIRE = FIELDS

    def __init__(
        self,
        channel_max: int = 0,
        frame_max: int = 0,
        heartbeat: int = 0,
    ) -> None:
        self.channel_max: Final = channel_max
        self.frame_max: Final = frame_max
        self.heartbeat: Final = heartbeat
        self.spare = None

    def encode(self, tables: TableRules) -> bytes:
        if self.spare is not None:
            return b"\x00\x0a\x00\x1e" + self.spare
        try:
            return _pack_IHIH(0x000A001E, self.channel_max, self.frame_max, self.heartbeat)
        except WRITE_FAULTS:
            return encode_slowly(self, tables)

    @staticmethod
    def decode(buf: bytes, pos: int, end: int, tables: TableRules) -> ConnectionTune:
        method = _new(ConnectionTune)
        slot: Any = method
        try:
            slot.channel_max, slot.frame_max, slot.heartbeat = _read_HIH(buf, pos)
        except READ_FAULTS:
            return decode_slowly(ConnectionTune, buf, pos, end, tables)
        if pos + 8 == end:
            slot.spare = None
            return method
        return decode_slowly(ConnectionTune, buf, pos, end, tables)


class ConnectionOpenOk(Method):
    """Confirm an open virtual host: connection.open-ok (10/41), by the server.

    `known_hosts` other hosts, separated by commas.
    """

    __match_args__ = ("known_hosts",)
    __slots__ = __match_args__

    ID = 0x000A0029
    NAME = "connection.open-ok"
    CLASS_ID = 10
    METHOD_ID = 41
    SENT_BY = SERVER
    SYNCHRONOUS = True
    IS_REPLY = True
    FIELDS = (("known_hosts", "shortstr"),)
    WIRE = FIELDS
    RESERVED = ("known_hosts",)

    def __init__(
        self,
        known_hosts: str = "",
    ) -> None:
        self.known_hosts: Final = known_hosts
        self.spare = None

    def encode(self, tables: TableRules) -> bytes:
        if self.spare is not None:
            return b"\x00\x0a\x00\x29" + self.spare
        try:
            known_hosts = self.known_hosts.encode()
            return b"\x00\x0a\x00\x29" + OCTET[len(known_hosts)] + known_hosts
        except WRITE_FAULTS:
            return encode_slowly(self, tables)

    @staticmethod
    def decode(buf: bytes, pos: int, end: int, tables: TableRules) -> ConnectionOpenOk:
        method = _new(ConnectionOpenOk)
        slot: Any = method
        try:
            a = pos + 1 + buf[pos]
            slot.known_hosts = buf[pos + 1 : a].decode()
        except READ_FAULTS:
            return decode_slowly(ConnectionOpenOk, buf, pos, end, tables)
        if a == end:
            slot.spare = None
            return method
        return decode_slowly(ConnectionOpenOk, buf, pos, end, tables)


class ChannelFlowOk(Method):
    """Confirm a change of flow: channel.flow-ok (20/21), by either side.

    `active` whether content may flow.
    """

    __match_args__ = ("active",)
    __slots__ = __match_args__

    ID = 0x00140015
    NAME = "channel.flow-ok"
    CLASS_ID = 20
    METHOD_ID = 21
    SENT_BY = BOTH
    IS_REPLY = True
    FIELDS = (("active", "bit"),)
    WIRE = FIELDS

    def __init__(
        self,
        active: bool = False,
    ) -> None:
        self.active: Final = active
        self.spare = None

    def encode(self, tables: TableRules) -> bytes:
        if self.spare is not None:
            return b"\x00\x14\x00\x15" + self.spare
        try:
            return b"\x00\x14\x00\x15" + OCTET[1 if self.active else 0]
        except WRITE_FAULTS:
            return encode_slowly(self, tables)

    @staticmethod
    def decode(buf: bytes, pos: int, end: int, tables: TableRules) -> ChannelFlowOk:
        method = _new(ChannelFlowOk)
        slot: Any = method
        try:
            bits = buf[pos]
        except READ_FAULTS:
            return decode_slowly(ChannelFlowOk, buf, pos, end, tables)
        if pos + 1 == end and bits < 2:
            slot.active = bits == 1
            slot.spare = None
            return method
        return decode_slowly(ChannelFlowOk, buf, pos, end, tables)


class ChannelFlow(Request[ChannelFlowOk]):
    """Stop or restart the peer's content on a channel: channel.flow (20/20), by either side.

    `active` whether content may flow.
    """

    __match_args__ = ("active",)
    __slots__ = __match_args__

    ID = 0x00140014
    NAME = "channel.flow"
    CLASS_ID = 20
    METHOD_ID = 20
    SENT_BY = BOTH
    SYNCHRONOUS = True
    REPLIES = (ChannelFlowOk,)
    FIELDS = (("active", "bit"),)
    WIRE = FIELDS

    def __init__(
        self,
        active: bool = False,
    ) -> None:
        self.active: Final = active
        self.spare = None

    def encode(self, tables: TableRules) -> bytes:
        if self.spare is not None:
            return b"\x00\x14\x00\x14" + self.spare
        try:
            return b"\x00\x14\x00\x14" + OCTET[1 if self.active else 0]
        except WRITE_FAULTS:
            return encode_slowly(self, tables)

    @staticmethod
    def decode(buf: bytes, pos: int, end: int, tables: TableRules) -> ChannelFlow:
        method = _new(ChannelFlow)
        slot: Any = method
        try:
            bits = buf[pos]
        except READ_FAULTS:
            return decode_slowly(ChannelFlow, buf, pos, end, tables)
        if pos + 1 == end and bits < 2:
            slot.active = bits == 1
            slot.spare = None
            return method
        return decode_slowly(ChannelFlow, buf, pos, end, tables)


class ChannelCloseOk(Method):
    """Confirm the end of a channel: channel.close-ok (20/41), by either side."""

    __match_args__ = ()
    __slots__ = __match_args__

    ID = 0x00140029
    NAME = "channel.close-ok"
    CLASS_ID = 20
    METHOD_ID = 41
    SENT_BY = BOTH
    SYNCHRONOUS = True
    IS_REPLY = True

    def encode(self, tables: TableRules) -> bytes:
        if self.spare is not None:
            return b"\x00\x14\x00\x29" + self.spare
        return b"\x00\x14\x00\x29"

    @staticmethod
    def decode(buf: bytes, pos: int, end: int, tables: TableRules) -> ChannelCloseOk:
        if pos != end:
            return decode_slowly(ChannelCloseOk, buf, pos, end, tables)
        return ChannelCloseOk()


class ChannelClose(Request[ChannelCloseOk]):
    """End a channel: channel.close (20/40), by either side.

    `reply_code` a code of the specification; `reply_text` what happened, for people; `class_id`
    the class at fault, or 0; `method_id` the method at fault, or 0.
    """

    __match_args__ = ("reply_code", "reply_text", "class_id", "method_id")
    __slots__ = __match_args__

    ID = 0x00140028
    NAME = "channel.close"
    CLASS_ID = 20
    METHOD_ID = 40
    SENT_BY = BOTH
    SYNCHRONOUS = True
    REPLIES = (ChannelCloseOk,)
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
            return b"\x00\x14\x00\x28" + self.spare
        try:
            reply_text = self.reply_text.encode()
            return (
                _pack_IHB(0x00140028, self.reply_code, len(reply_text))
                + reply_text
                + _pack_HH(self.class_id, self.method_id)
            )
        except WRITE_FAULTS:
            return encode_slowly(self, tables)

    @staticmethod
    def decode(buf: bytes, pos: int, end: int, tables: TableRules) -> ChannelClose:
        method = _new(ChannelClose)
        slot: Any = method
        size: int
        try:
            slot.reply_code, size = _read_HB(buf, pos)
            a = pos + 3 + size
            slot.reply_text = buf[pos + 3 : a].decode()
            slot.class_id, slot.method_id = _read_HH(buf, a)
        except READ_FAULTS:
            return decode_slowly(ChannelClose, buf, pos, end, tables)
        if a + 4 == end:
            slot.spare = None
            return method
        return decode_slowly(ChannelClose, buf, pos, end, tables)


class AccessRequestOk(Method):
    """Grant access; the ticket goes into later methods: access.request-ok (30/11), by the server.

    `ticket` the access ticket of 0-8; 0-9-1 reserves it, 0.
    """

    __match_args__ = ("ticket",)
    __slots__ = __match_args__

    ID = 0x001E000B
    NAME = "access.request-ok"
    CLASS_ID = 30
    METHOD_ID = 11
    SENT_BY = SERVER
    SYNCHRONOUS = True
    IS_REPLY = True
    FIELDS = (("ticket", "short"),)
    WIRE = FIELDS
    RESERVED = ("ticket",)

    def __init__(
        self,
        ticket: int = 0,
    ) -> None:
        self.ticket: Final = ticket
        self.spare = None

    def encode(self, tables: TableRules) -> bytes:
        if self.spare is not None:
            return b"\x00\x1e\x00\x0b" + self.spare
        try:
            return _pack_IH(0x001E000B, self.ticket)
        except WRITE_FAULTS:
            return encode_slowly(self, tables)

    @staticmethod
    def decode(buf: bytes, pos: int, end: int, tables: TableRules) -> AccessRequestOk:
        method = _new(AccessRequestOk)
        slot: Any = method
        try:
            slot.ticket = _read_H(buf, pos)[0]
        except READ_FAULTS:
            return decode_slowly(AccessRequestOk, buf, pos, end, tables)
        if pos + 2 == end:
            slot.spare = None
            return method
        return decode_slowly(AccessRequestOk, buf, pos, end, tables)


class AccessRequest(Request[AccessRequestOk]):
    """Ask for access to a realm: access.request (30/10), by the client.

    `realm` name of the realm; `exclusive` for this connection or consumer alone; `passive`
    wants passive access; `active` wants active access; `write` wants to write; `read` wants to
    read.
    """

    __match_args__ = ("realm", "exclusive", "passive", "active", "write", "read")
    __slots__ = __match_args__

    ID = 0x001E000A
    NAME = "access.request"
    CLASS_ID = 30
    METHOD_ID = 10
    SENT_BY = CLIENT
    SYNCHRONOUS = True
    REPLIES = (AccessRequestOk,)
    FIELDS = (
        ("realm", "shortstr"),
        ("exclusive", "bit"),
        ("passive", "bit"),
        ("active", "bit"),
        ("write", "bit"),
        ("read", "bit"),
    )
    WIRE = FIELDS

    def __init__(
        self,
        realm: str = "",
        exclusive: bool = False,
        passive: bool = False,
        active: bool = False,
        write: bool = False,
        read: bool = False,
    ) -> None:
        self.realm: Final = realm
        self.exclusive: Final = exclusive
        self.passive: Final = passive
        self.active: Final = active
        self.write: Final = write
        self.read: Final = read
        self.spare = None

    def encode(self, tables: TableRules) -> bytes:
        if self.spare is not None:
            return b"\x00\x1e\x00\x0a" + self.spare
        try:
            realm = self.realm.encode()
            bits = (
                (1 if self.exclusive else 0)
                | (2 if self.passive else 0)
                | (4 if self.active else 0)
                | (8 if self.write else 0)
                | (16 if self.read else 0)
            )
            return b"\x00\x1e\x00\x0a" + OCTET[len(realm)] + realm + OCTET[bits]
        except WRITE_FAULTS:
            return encode_slowly(self, tables)

    @staticmethod
    def decode(buf: bytes, pos: int, end: int, tables: TableRules) -> AccessRequest:
        method = _new(AccessRequest)
        slot: Any = method
        try:
            a = pos + 1 + buf[pos]
            slot.realm = buf[pos + 1 : a].decode()
            bits = buf[a]
        except READ_FAULTS:
            return decode_slowly(AccessRequest, buf, pos, end, tables)
        if a + 1 == end and bits < 32:
            slot.exclusive = bits & 1 != 0
            slot.passive = bits & 2 != 0
            slot.active = bits & 4 != 0
            slot.write = bits & 8 != 0
            slot.read = bits & 16 != 0
            slot.spare = None
            return method
        return decode_slowly(AccessRequest, buf, pos, end, tables)


class ExchangeDeclareOk(Method):
    """Confirm an exchange: exchange.declare-ok (40/11), by the server."""

    __match_args__ = ()
    __slots__ = __match_args__

    ID = 0x0028000B
    NAME = "exchange.declare-ok"
    CLASS_ID = 40
    METHOD_ID = 11
    SENT_BY = SERVER
    SYNCHRONOUS = True
    IS_REPLY = True

    def encode(self, tables: TableRules) -> bytes:
        if self.spare is not None:
            return b"\x00\x28\x00\x0b" + self.spare
        return b"\x00\x28\x00\x0b"

    @staticmethod
    def decode(buf: bytes, pos: int, end: int, tables: TableRules) -> ExchangeDeclareOk:
        if pos != end:
            return decode_slowly(ExchangeDeclareOk, buf, pos, end, tables)
        return ExchangeDeclareOk()


class ExchangeDeclare(Request[ExchangeDeclareOk]):
    """Create an exchange, or check one: exchange.declare (40/10), by the client.

    `exchange` name of the exchange; empty: the default one; `type` type of the exchange;
    `passive` only check that it exists; `durable` survives a restart; `auto_delete` deleted
    after its last use; `internal` no client may publish to it; `no_wait` no answer is wanted;
    `arguments` what else the broker is told; `ticket` the access ticket of 0-8; 0-9-1 reserves
    it, 0.
    """

    __match_args__ = (
        "exchange",
        "type",
        "passive",
        "durable",
        "auto_delete",
        "internal",
        "no_wait",
        "arguments",
        "ticket",
    )
    __slots__ = __match_args__

    ID = 0x0028000A
    NAME = "exchange.declare"
    CLASS_ID = 40
    METHOD_ID = 10
    SENT_BY = CLIENT
    SYNCHRONOUS = True
    REPLIES = (ExchangeDeclareOk,)
    HAS_NO_WAIT = True
    FIELDS = (
        ("exchange", "shortstr"),
        ("type", "shortstr"),
        ("passive", "bit"),
        ("durable", "bit"),
        ("auto_delete", "bit"),
        ("internal", "bit"),
        ("no_wait", "bit"),
        ("arguments", "table"),
        ("ticket", "short"),
    )
    WIRE = (
        ("ticket", "short"),
        ("exchange", "shortstr"),
        ("type", "shortstr"),
        ("passive", "bit"),
        ("durable", "bit"),
        ("auto_delete", "bit"),
        ("internal", "bit"),
        ("no_wait", "bit"),
        ("arguments", "table"),
    )
    RESERVED = ("ticket",)

    def __init__(
        self,
        exchange: str = "",
        type: str = "",
        passive: bool = False,
        durable: bool = False,
        auto_delete: bool = False,
        internal: bool = False,
        no_wait: bool = False,
        arguments: FieldTable = EMPTY,
        ticket: int = 0,
    ) -> None:
        self.exchange: Final = exchange
        self.type: Final = type
        self.passive: Final = passive
        self.durable: Final = durable
        self.auto_delete: Final = auto_delete
        self.internal: Final = internal
        self.no_wait: Final = no_wait
        self.arguments: Final = arguments
        self.ticket: Final = ticket
        self.spare = None

    def encode(self, tables: TableRules) -> bytes:
        if self.spare is not None:
            return b"\x00\x28\x00\x0a" + self.spare
        try:
            exchange = self.exchange.encode()
            type = self.type.encode()
            bits = (
                (1 if self.passive else 0)
                | (2 if self.durable else 0)
                | (4 if self.auto_delete else 0)
                | (8 if self.internal else 0)
                | (16 if self.no_wait else 0)
            )
            return (
                _pack_IHB(0x0028000A, self.ticket, len(exchange))
                + exchange
                + OCTET[len(type)]
                + type
                + OCTET[bits]
                + encode_table(self.arguments, tables)
            )
        except WRITE_FAULTS:
            return encode_slowly(self, tables)

    @staticmethod
    def decode(buf: bytes, pos: int, end: int, tables: TableRules) -> ExchangeDeclare:
        method = _new(ExchangeDeclare)
        slot: Any = method
        size: int
        try:
            slot.ticket, size = _read_HB(buf, pos)
            a = pos + 3 + size
            slot.exchange = buf[pos + 3 : a].decode()
            b = a + 1 + buf[a]
            slot.type = buf[a + 1 : b].decode()
            bits, size = _read_BI(buf, b)
            c = b + 5 + size
            slot.arguments = _table(buf[b + 5 : c], tables) if size else EMPTY
        except READ_FAULTS:
            return decode_slowly(ExchangeDeclare, buf, pos, end, tables)
        if c == end and bits < 32:
            slot.passive = bits & 1 != 0
            slot.durable = bits & 2 != 0
            slot.auto_delete = bits & 4 != 0
            slot.internal = bits & 8 != 0
            slot.no_wait = bits & 16 != 0
            slot.spare = None
            return method
        return decode_slowly(ExchangeDeclare, buf, pos, end, tables)


class ExchangeDeleteOk(Method):
    """Confirm the deletion of an exchange: exchange.delete-ok (40/21), by the server."""

    __match_args__ = ()
    __slots__ = __match_args__

    ID = 0x00280015
    NAME = "exchange.delete-ok"
    CLASS_ID = 40
    METHOD_ID = 21
    SENT_BY = SERVER
    SYNCHRONOUS = True
    IS_REPLY = True

    def encode(self, tables: TableRules) -> bytes:
        if self.spare is not None:
            return b"\x00\x28\x00\x15" + self.spare
        return b"\x00\x28\x00\x15"

    @staticmethod
    def decode(buf: bytes, pos: int, end: int, tables: TableRules) -> ExchangeDeleteOk:
        if pos != end:
            return decode_slowly(ExchangeDeleteOk, buf, pos, end, tables)
        return ExchangeDeleteOk()


class ExchangeDelete(Request[ExchangeDeleteOk]):
    """Delete an exchange: exchange.delete (40/20), by the client.

    `exchange` name of the exchange; empty: the default one; `if_unused` only when nothing uses
    it; `no_wait` no answer is wanted; `ticket` the access ticket of 0-8; 0-9-1 reserves it, 0.
    """

    __match_args__ = ("exchange", "if_unused", "no_wait", "ticket")
    __slots__ = __match_args__

    ID = 0x00280014
    NAME = "exchange.delete"
    CLASS_ID = 40
    METHOD_ID = 20
    SENT_BY = CLIENT
    SYNCHRONOUS = True
    REPLIES = (ExchangeDeleteOk,)
    HAS_NO_WAIT = True
    FIELDS = (
        ("exchange", "shortstr"),
        ("if_unused", "bit"),
        ("no_wait", "bit"),
        ("ticket", "short"),
    )
    WIRE = (("ticket", "short"), ("exchange", "shortstr"), ("if_unused", "bit"), ("no_wait", "bit"))
    RESERVED = ("ticket",)

    def __init__(
        self,
        exchange: str = "",
        if_unused: bool = False,
        no_wait: bool = False,
        ticket: int = 0,
    ) -> None:
        self.exchange: Final = exchange
        self.if_unused: Final = if_unused
        self.no_wait: Final = no_wait
        self.ticket: Final = ticket
        self.spare = None

    def encode(self, tables: TableRules) -> bytes:
        if self.spare is not None:
            return b"\x00\x28\x00\x14" + self.spare
        try:
            exchange = self.exchange.encode()
            bits = (1 if self.if_unused else 0) | (2 if self.no_wait else 0)
            return _pack_IHB(0x00280014, self.ticket, len(exchange)) + exchange + OCTET[bits]
        except WRITE_FAULTS:
            return encode_slowly(self, tables)

    @staticmethod
    def decode(buf: bytes, pos: int, end: int, tables: TableRules) -> ExchangeDelete:
        method = _new(ExchangeDelete)
        slot: Any = method
        size: int
        try:
            slot.ticket, size = _read_HB(buf, pos)
            a = pos + 3 + size
            slot.exchange = buf[pos + 3 : a].decode()
            bits = buf[a]
        except READ_FAULTS:
            return decode_slowly(ExchangeDelete, buf, pos, end, tables)
        if a + 1 == end and bits < 4:
            slot.if_unused = bits & 1 != 0
            slot.no_wait = bits & 2 != 0
            slot.spare = None
            return method
        return decode_slowly(ExchangeDelete, buf, pos, end, tables)


class ExchangeBoundOk(Method):
    """Tell whether a binding exists: exchange.bound-ok (40/23), by the server.

    `reply_code` 0: the binding exists; else what is missing; `reply_text` what happened, for
    people.
    """

    __match_args__ = ("reply_code", "reply_text")
    __slots__ = __match_args__

    ID = 0x00280017
    NAME = "exchange.bound-ok"
    CLASS_ID = 40
    METHOD_ID = 23
    SENT_BY = SERVER
    SYNCHRONOUS = True
    IS_REPLY = True
    FIELDS = (("reply_code", "short"), ("reply_text", "shortstr"))
    WIRE = FIELDS

    def __init__(
        self,
        reply_code: int = 0,
        reply_text: str = "",
    ) -> None:
        self.reply_code: Final = reply_code
        self.reply_text: Final = reply_text
        self.spare = None

    def encode(self, tables: TableRules) -> bytes:
        if self.spare is not None:
            return b"\x00\x28\x00\x17" + self.spare
        try:
            reply_text = self.reply_text.encode()
            return _pack_IHB(0x00280017, self.reply_code, len(reply_text)) + reply_text
        except WRITE_FAULTS:
            return encode_slowly(self, tables)

    @staticmethod
    def decode(buf: bytes, pos: int, end: int, tables: TableRules) -> ExchangeBoundOk:
        method = _new(ExchangeBoundOk)
        slot: Any = method
        size: int
        try:
            slot.reply_code, size = _read_HB(buf, pos)
            a = pos + 3 + size
            slot.reply_text = buf[pos + 3 : a].decode()
        except READ_FAULTS:
            return decode_slowly(ExchangeBoundOk, buf, pos, end, tables)
        if a == end:
            slot.spare = None
            return method
        return decode_slowly(ExchangeBoundOk, buf, pos, end, tables)


class ExchangeBound(Request[ExchangeBoundOk]):
    """Ask whether a binding exists (extension of Qpid): exchange.bound (40/22), by the client.

    `exchange` name of the exchange; empty: the default one; `routing_key` what the exchange
    routes by; `queue` name of the queue; empty: see the specification.
    """

    __match_args__ = ("exchange", "routing_key", "queue")
    __slots__ = __match_args__

    ID = 0x00280016
    NAME = "exchange.bound"
    CLASS_ID = 40
    METHOD_ID = 22
    SENT_BY = CLIENT
    SYNCHRONOUS = True
    REPLIES = (ExchangeBoundOk,)
    FIELDS = (("exchange", "shortstr"), ("routing_key", "shortstr"), ("queue", "shortstr"))
    WIRE = FIELDS

    def __init__(
        self,
        exchange: str = "",
        routing_key: str = "",
        queue: str = "",
    ) -> None:
        self.exchange: Final = exchange
        self.routing_key: Final = routing_key
        self.queue: Final = queue
        self.spare = None

    def encode(self, tables: TableRules) -> bytes:
        if self.spare is not None:
            return b"\x00\x28\x00\x16" + self.spare
        try:
            exchange = self.exchange.encode()
            routing_key = self.routing_key.encode()
            queue = self.queue.encode()
            return (
                b"\x00\x28\x00\x16"
                + OCTET[len(exchange)]
                + exchange
                + OCTET[len(routing_key)]
                + routing_key
                + OCTET[len(queue)]
                + queue
            )
        except WRITE_FAULTS:
            return encode_slowly(self, tables)

    @staticmethod
    def decode(buf: bytes, pos: int, end: int, tables: TableRules) -> ExchangeBound:
        method = _new(ExchangeBound)
        slot: Any = method
        try:
            a = pos + 1 + buf[pos]
            slot.exchange = buf[pos + 1 : a].decode()
            b = a + 1 + buf[a]
            slot.routing_key = buf[a + 1 : b].decode()
            c = b + 1 + buf[b]
            slot.queue = buf[b + 1 : c].decode()
        except READ_FAULTS:
            return decode_slowly(ExchangeBound, buf, pos, end, tables)
        if c == end:
            slot.spare = None
            return method
        return decode_slowly(ExchangeBound, buf, pos, end, tables)


class QueueDeclareOk(Method):
    """Confirm a queue, with its counts: queue.declare-ok (50/11), by the server.

    `queue` name of the queue; empty: see the specification; `message_count` messages in the
    queue or removed from it; `consumer_count` consumers of the queue.
    """

    __match_args__ = ("queue", "message_count", "consumer_count")
    __slots__ = __match_args__

    ID = 0x0032000B
    NAME = "queue.declare-ok"
    CLASS_ID = 50
    METHOD_ID = 11
    SENT_BY = SERVER
    SYNCHRONOUS = True
    IS_REPLY = True
    FIELDS = (("queue", "shortstr"), ("message_count", "long"), ("consumer_count", "long"))
    WIRE = FIELDS

    def __init__(
        self,
        queue: str = "",
        message_count: int = 0,
        consumer_count: int = 0,
    ) -> None:
        self.queue: Final = queue
        self.message_count: Final = message_count
        self.consumer_count: Final = consumer_count
        self.spare = None

    def encode(self, tables: TableRules) -> bytes:
        if self.spare is not None:
            return b"\x00\x32\x00\x0b" + self.spare
        try:
            queue = self.queue.encode()
            return (
                b"\x00\x32\x00\x0b"
                + OCTET[len(queue)]
                + queue
                + _pack_II(self.message_count, self.consumer_count)
            )
        except WRITE_FAULTS:
            return encode_slowly(self, tables)

    @staticmethod
    def decode(buf: bytes, pos: int, end: int, tables: TableRules) -> QueueDeclareOk:
        method = _new(QueueDeclareOk)
        slot: Any = method
        try:
            a = pos + 1 + buf[pos]
            slot.queue = buf[pos + 1 : a].decode()
            slot.message_count, slot.consumer_count = _read_II(buf, a)
        except READ_FAULTS:
            return decode_slowly(QueueDeclareOk, buf, pos, end, tables)
        if a + 8 == end:
            slot.spare = None
            return method
        return decode_slowly(QueueDeclareOk, buf, pos, end, tables)


class QueueDeclare(Request[QueueDeclareOk]):
    """Create a queue, or check one: queue.declare (50/10), by the client.

    `queue` name of the queue; empty: see the specification; `passive` only check that it
    exists; `durable` survives a restart; `exclusive` for this connection or consumer alone;
    `auto_delete` deleted after its last use; `no_wait` no answer is wanted; `arguments` what
    else the broker is told; `ticket` the access ticket of 0-8; 0-9-1 reserves it, 0.
    """

    __match_args__ = (
        "queue",
        "passive",
        "durable",
        "exclusive",
        "auto_delete",
        "no_wait",
        "arguments",
        "ticket",
    )
    __slots__ = __match_args__

    ID = 0x0032000A
    NAME = "queue.declare"
    CLASS_ID = 50
    METHOD_ID = 10
    SENT_BY = CLIENT
    SYNCHRONOUS = True
    REPLIES = (QueueDeclareOk,)
    HAS_NO_WAIT = True
    FIELDS = (
        ("queue", "shortstr"),
        ("passive", "bit"),
        ("durable", "bit"),
        ("exclusive", "bit"),
        ("auto_delete", "bit"),
        ("no_wait", "bit"),
        ("arguments", "table"),
        ("ticket", "short"),
    )
    WIRE = (
        ("ticket", "short"),
        ("queue", "shortstr"),
        ("passive", "bit"),
        ("durable", "bit"),
        ("exclusive", "bit"),
        ("auto_delete", "bit"),
        ("no_wait", "bit"),
        ("arguments", "table"),
    )
    RESERVED = ("ticket",)

    def __init__(
        self,
        queue: str = "",
        passive: bool = False,
        durable: bool = False,
        exclusive: bool = False,
        auto_delete: bool = False,
        no_wait: bool = False,
        arguments: FieldTable = EMPTY,
        ticket: int = 0,
    ) -> None:
        self.queue: Final = queue
        self.passive: Final = passive
        self.durable: Final = durable
        self.exclusive: Final = exclusive
        self.auto_delete: Final = auto_delete
        self.no_wait: Final = no_wait
        self.arguments: Final = arguments
        self.ticket: Final = ticket
        self.spare = None

    def encode(self, tables: TableRules) -> bytes:
        if self.spare is not None:
            return b"\x00\x32\x00\x0a" + self.spare
        try:
            queue = self.queue.encode()
            bits = (
                (1 if self.passive else 0)
                | (2 if self.durable else 0)
                | (4 if self.exclusive else 0)
                | (8 if self.auto_delete else 0)
                | (16 if self.no_wait else 0)
            )
            return (
                _pack_IHB(0x0032000A, self.ticket, len(queue))
                + queue
                + OCTET[bits]
                + encode_table(self.arguments, tables)
            )
        except WRITE_FAULTS:
            return encode_slowly(self, tables)

    @staticmethod
    def decode(buf: bytes, pos: int, end: int, tables: TableRules) -> QueueDeclare:
        method = _new(QueueDeclare)
        slot: Any = method
        size: int
        try:
            slot.ticket, size = _read_HB(buf, pos)
            a = pos + 3 + size
            slot.queue = buf[pos + 3 : a].decode()
            bits, size = _read_BI(buf, a)
            b = a + 5 + size
            slot.arguments = _table(buf[a + 5 : b], tables) if size else EMPTY
        except READ_FAULTS:
            return decode_slowly(QueueDeclare, buf, pos, end, tables)
        if b == end and bits < 32:
            slot.passive = bits & 1 != 0
            slot.durable = bits & 2 != 0
            slot.exclusive = bits & 4 != 0
            slot.auto_delete = bits & 8 != 0
            slot.no_wait = bits & 16 != 0
            slot.spare = None
            return method
        return decode_slowly(QueueDeclare, buf, pos, end, tables)


class QueueBindOk(Method):
    """Confirm a binding: queue.bind-ok (50/21), by the server."""

    __match_args__ = ()
    __slots__ = __match_args__

    ID = 0x00320015
    NAME = "queue.bind-ok"
    CLASS_ID = 50
    METHOD_ID = 21
    SENT_BY = SERVER
    SYNCHRONOUS = True
    IS_REPLY = True

    def encode(self, tables: TableRules) -> bytes:
        if self.spare is not None:
            return b"\x00\x32\x00\x15" + self.spare
        return b"\x00\x32\x00\x15"

    @staticmethod
    def decode(buf: bytes, pos: int, end: int, tables: TableRules) -> QueueBindOk:
        if pos != end:
            return decode_slowly(QueueBindOk, buf, pos, end, tables)
        return QueueBindOk()


class QueueBind(Request[QueueBindOk]):
    """Bind a queue to an exchange: queue.bind (50/20), by the client.

    `queue` name of the queue; empty: see the specification; `exchange` name of the exchange;
    empty: the default one; `routing_key` what the exchange routes by; `no_wait` no answer is
    wanted; `arguments` what else the broker is told; `ticket` the access ticket of 0-8; 0-9-1
    reserves it, 0.
    """

    __match_args__ = ("queue", "exchange", "routing_key", "no_wait", "arguments", "ticket")
    __slots__ = __match_args__

    ID = 0x00320014
    NAME = "queue.bind"
    CLASS_ID = 50
    METHOD_ID = 20
    SENT_BY = CLIENT
    SYNCHRONOUS = True
    REPLIES = (QueueBindOk,)
    HAS_NO_WAIT = True
    FIELDS = (
        ("queue", "shortstr"),
        ("exchange", "shortstr"),
        ("routing_key", "shortstr"),
        ("no_wait", "bit"),
        ("arguments", "table"),
        ("ticket", "short"),
    )
    WIRE = (
        ("ticket", "short"),
        ("queue", "shortstr"),
        ("exchange", "shortstr"),
        ("routing_key", "shortstr"),
        ("no_wait", "bit"),
        ("arguments", "table"),
    )
    RESERVED = ("ticket",)

    def __init__(
        self,
        queue: str = "",
        exchange: str = "",
        routing_key: str = "",
        no_wait: bool = False,
        arguments: FieldTable = EMPTY,
        ticket: int = 0,
    ) -> None:
        self.queue: Final = queue
        self.exchange: Final = exchange
        self.routing_key: Final = routing_key
        self.no_wait: Final = no_wait
        self.arguments: Final = arguments
        self.ticket: Final = ticket
        self.spare = None

    def encode(self, tables: TableRules) -> bytes:
        if self.spare is not None:
            return b"\x00\x32\x00\x14" + self.spare
        try:
            queue = self.queue.encode()
            exchange = self.exchange.encode()
            routing_key = self.routing_key.encode()
            return (
                _pack_IHB(0x00320014, self.ticket, len(queue))
                + queue
                + OCTET[len(exchange)]
                + exchange
                + OCTET[len(routing_key)]
                + routing_key
                + OCTET[1 if self.no_wait else 0]
                + encode_table(self.arguments, tables)
            )
        except WRITE_FAULTS:
            return encode_slowly(self, tables)

    @staticmethod
    def decode(buf: bytes, pos: int, end: int, tables: TableRules) -> QueueBind:
        method = _new(QueueBind)
        slot: Any = method
        size: int
        try:
            slot.ticket, size = _read_HB(buf, pos)
            a = pos + 3 + size
            slot.queue = buf[pos + 3 : a].decode()
            b = a + 1 + buf[a]
            slot.exchange = buf[a + 1 : b].decode()
            c = b + 1 + buf[b]
            slot.routing_key = buf[b + 1 : c].decode()
            bits, size = _read_BI(buf, c)
            d = c + 5 + size
            slot.arguments = _table(buf[c + 5 : d], tables) if size else EMPTY
        except READ_FAULTS:
            return decode_slowly(QueueBind, buf, pos, end, tables)
        if d == end and bits < 2:
            slot.no_wait = bits == 1
            slot.spare = None
            return method
        return decode_slowly(QueueBind, buf, pos, end, tables)


class QueuePurgeOk(Method):
    """Confirm an emptied queue: queue.purge-ok (50/31), by the server.

    `message_count` messages in the queue or removed from it.
    """

    __match_args__ = ("message_count",)
    __slots__ = __match_args__

    ID = 0x0032001F
    NAME = "queue.purge-ok"
    CLASS_ID = 50
    METHOD_ID = 31
    SENT_BY = SERVER
    SYNCHRONOUS = True
    IS_REPLY = True
    FIELDS = (("message_count", "long"),)
    WIRE = FIELDS

    def __init__(
        self,
        message_count: int = 0,
    ) -> None:
        self.message_count: Final = message_count
        self.spare = None

    def encode(self, tables: TableRules) -> bytes:
        if self.spare is not None:
            return b"\x00\x32\x00\x1f" + self.spare
        try:
            return _pack_II(0x0032001F, self.message_count)
        except WRITE_FAULTS:
            return encode_slowly(self, tables)

    @staticmethod
    def decode(buf: bytes, pos: int, end: int, tables: TableRules) -> QueuePurgeOk:
        method = _new(QueuePurgeOk)
        slot: Any = method
        try:
            slot.message_count = _read_I(buf, pos)[0]
        except READ_FAULTS:
            return decode_slowly(QueuePurgeOk, buf, pos, end, tables)
        if pos + 4 == end:
            slot.spare = None
            return method
        return decode_slowly(QueuePurgeOk, buf, pos, end, tables)


class QueuePurge(Request[QueuePurgeOk]):
    """Empty a queue: queue.purge (50/30), by the client.

    `queue` name of the queue; empty: see the specification; `no_wait` no answer is wanted;
    `ticket` the access ticket of 0-8; 0-9-1 reserves it, 0.
    """

    __match_args__ = ("queue", "no_wait", "ticket")
    __slots__ = __match_args__

    ID = 0x0032001E
    NAME = "queue.purge"
    CLASS_ID = 50
    METHOD_ID = 30
    SENT_BY = CLIENT
    SYNCHRONOUS = True
    REPLIES = (QueuePurgeOk,)
    HAS_NO_WAIT = True
    FIELDS = (("queue", "shortstr"), ("no_wait", "bit"), ("ticket", "short"))
    WIRE = (("ticket", "short"), ("queue", "shortstr"), ("no_wait", "bit"))
    RESERVED = ("ticket",)

    def __init__(
        self,
        queue: str = "",
        no_wait: bool = False,
        ticket: int = 0,
    ) -> None:
        self.queue: Final = queue
        self.no_wait: Final = no_wait
        self.ticket: Final = ticket
        self.spare = None

    def encode(self, tables: TableRules) -> bytes:
        if self.spare is not None:
            return b"\x00\x32\x00\x1e" + self.spare
        try:
            queue = self.queue.encode()
            return (
                _pack_IHB(0x0032001E, self.ticket, len(queue))
                + queue
                + OCTET[1 if self.no_wait else 0]
            )
        except WRITE_FAULTS:
            return encode_slowly(self, tables)

    @staticmethod
    def decode(buf: bytes, pos: int, end: int, tables: TableRules) -> QueuePurge:
        method = _new(QueuePurge)
        slot: Any = method
        size: int
        try:
            slot.ticket, size = _read_HB(buf, pos)
            a = pos + 3 + size
            slot.queue = buf[pos + 3 : a].decode()
            bits = buf[a]
        except READ_FAULTS:
            return decode_slowly(QueuePurge, buf, pos, end, tables)
        if a + 1 == end and bits < 2:
            slot.no_wait = bits == 1
            slot.spare = None
            return method
        return decode_slowly(QueuePurge, buf, pos, end, tables)


class QueueDeleteOk(Method):
    """Confirm the deletion of a queue: queue.delete-ok (50/41), by the server.

    `message_count` messages in the queue or removed from it.
    """

    __match_args__ = ("message_count",)
    __slots__ = __match_args__

    ID = 0x00320029
    NAME = "queue.delete-ok"
    CLASS_ID = 50
    METHOD_ID = 41
    SENT_BY = SERVER
    SYNCHRONOUS = True
    IS_REPLY = True
    FIELDS = (("message_count", "long"),)
    WIRE = FIELDS

    def __init__(
        self,
        message_count: int = 0,
    ) -> None:
        self.message_count: Final = message_count
        self.spare = None

    def encode(self, tables: TableRules) -> bytes:
        if self.spare is not None:
            return b"\x00\x32\x00\x29" + self.spare
        try:
            return _pack_II(0x00320029, self.message_count)
        except WRITE_FAULTS:
            return encode_slowly(self, tables)

    @staticmethod
    def decode(buf: bytes, pos: int, end: int, tables: TableRules) -> QueueDeleteOk:
        method = _new(QueueDeleteOk)
        slot: Any = method
        try:
            slot.message_count = _read_I(buf, pos)[0]
        except READ_FAULTS:
            return decode_slowly(QueueDeleteOk, buf, pos, end, tables)
        if pos + 4 == end:
            slot.spare = None
            return method
        return decode_slowly(QueueDeleteOk, buf, pos, end, tables)


class QueueDelete(Request[QueueDeleteOk]):
    """Delete a queue: queue.delete (50/40), by the client.

    `queue` name of the queue; empty: see the specification; `if_unused` only when nothing uses
    it; `if_empty` only when it holds no message; `no_wait` no answer is wanted; `ticket` the
    access ticket of 0-8; 0-9-1 reserves it, 0.
    """

    __match_args__ = ("queue", "if_unused", "if_empty", "no_wait", "ticket")
    __slots__ = __match_args__

    ID = 0x00320028
    NAME = "queue.delete"
    CLASS_ID = 50
    METHOD_ID = 40
    SENT_BY = CLIENT
    SYNCHRONOUS = True
    REPLIES = (QueueDeleteOk,)
    HAS_NO_WAIT = True
    FIELDS = (
        ("queue", "shortstr"),
        ("if_unused", "bit"),
        ("if_empty", "bit"),
        ("no_wait", "bit"),
        ("ticket", "short"),
    )
    WIRE = (
        ("ticket", "short"),
        ("queue", "shortstr"),
        ("if_unused", "bit"),
        ("if_empty", "bit"),
        ("no_wait", "bit"),
    )
    RESERVED = ("ticket",)

    def __init__(
        self,
        queue: str = "",
        if_unused: bool = False,
        if_empty: bool = False,
        no_wait: bool = False,
        ticket: int = 0,
    ) -> None:
        self.queue: Final = queue
        self.if_unused: Final = if_unused
        self.if_empty: Final = if_empty
        self.no_wait: Final = no_wait
        self.ticket: Final = ticket
        self.spare = None

    def encode(self, tables: TableRules) -> bytes:
        if self.spare is not None:
            return b"\x00\x32\x00\x28" + self.spare
        try:
            queue = self.queue.encode()
            bits = (
                (1 if self.if_unused else 0)
                | (2 if self.if_empty else 0)
                | (4 if self.no_wait else 0)
            )
            return _pack_IHB(0x00320028, self.ticket, len(queue)) + queue + OCTET[bits]
        except WRITE_FAULTS:
            return encode_slowly(self, tables)

    @staticmethod
    def decode(buf: bytes, pos: int, end: int, tables: TableRules) -> QueueDelete:
        method = _new(QueueDelete)
        slot: Any = method
        size: int
        try:
            slot.ticket, size = _read_HB(buf, pos)
            a = pos + 3 + size
            slot.queue = buf[pos + 3 : a].decode()
            bits = buf[a]
        except READ_FAULTS:
            return decode_slowly(QueueDelete, buf, pos, end, tables)
        if a + 1 == end and bits < 8:
            slot.if_unused = bits & 1 != 0
            slot.if_empty = bits & 2 != 0
            slot.no_wait = bits & 4 != 0
            slot.spare = None
            return method
        return decode_slowly(QueueDelete, buf, pos, end, tables)


class QueueUnbindOk(Method):
    """Confirm the removal of a binding: queue.unbind-ok (50/51), by the server."""

    __match_args__ = ()
    __slots__ = __match_args__

    ID = 0x00320033
    NAME = "queue.unbind-ok"
    CLASS_ID = 50
    METHOD_ID = 51
    SENT_BY = SERVER
    SYNCHRONOUS = True
    IS_REPLY = True

    def encode(self, tables: TableRules) -> bytes:
        if self.spare is not None:
            return b"\x00\x32\x00\x33" + self.spare
        return b"\x00\x32\x00\x33"

    @staticmethod
    def decode(buf: bytes, pos: int, end: int, tables: TableRules) -> QueueUnbindOk:
        if pos != end:
            return decode_slowly(QueueUnbindOk, buf, pos, end, tables)
        return QueueUnbindOk()


class QueueUnbind(Request[QueueUnbindOk]):
    """Remove a binding of a queue: queue.unbind (50/50), by the client.

    `queue` name of the queue; empty: see the specification; `exchange` name of the exchange;
    empty: the default one; `routing_key` what the exchange routes by; `arguments` what else the
    broker is told; `ticket` the access ticket of 0-8; 0-9-1 reserves it, 0.
    """

    __match_args__ = ("queue", "exchange", "routing_key", "arguments", "ticket")
    __slots__ = __match_args__

    ID = 0x00320032
    NAME = "queue.unbind"
    CLASS_ID = 50
    METHOD_ID = 50
    SENT_BY = CLIENT
    SYNCHRONOUS = True
    REPLIES = (QueueUnbindOk,)
    FIELDS = (
        ("queue", "shortstr"),
        ("exchange", "shortstr"),
        ("routing_key", "shortstr"),
        ("arguments", "table"),
        ("ticket", "short"),
    )
    WIRE = (
        ("ticket", "short"),
        ("queue", "shortstr"),
        ("exchange", "shortstr"),
        ("routing_key", "shortstr"),
        ("arguments", "table"),
    )
    RESERVED = ("ticket",)

    def __init__(
        self,
        queue: str = "",
        exchange: str = "",
        routing_key: str = "",
        arguments: FieldTable = EMPTY,
        ticket: int = 0,
    ) -> None:
        self.queue: Final = queue
        self.exchange: Final = exchange
        self.routing_key: Final = routing_key
        self.arguments: Final = arguments
        self.ticket: Final = ticket
        self.spare = None

    def encode(self, tables: TableRules) -> bytes:
        if self.spare is not None:
            return b"\x00\x32\x00\x32" + self.spare
        try:
            queue = self.queue.encode()
            exchange = self.exchange.encode()
            routing_key = self.routing_key.encode()
            return (
                _pack_IHB(0x00320032, self.ticket, len(queue))
                + queue
                + OCTET[len(exchange)]
                + exchange
                + OCTET[len(routing_key)]
                + routing_key
                + encode_table(self.arguments, tables)
            )
        except WRITE_FAULTS:
            return encode_slowly(self, tables)

    @staticmethod
    def decode(buf: bytes, pos: int, end: int, tables: TableRules) -> QueueUnbind:
        method = _new(QueueUnbind)
        slot: Any = method
        size: int
        try:
            slot.ticket, size = _read_HB(buf, pos)
            a = pos + 3 + size
            slot.queue = buf[pos + 3 : a].decode()
            b = a + 1 + buf[a]
            slot.exchange = buf[a + 1 : b].decode()
            c = b + 1 + buf[b]
            slot.routing_key = buf[b + 1 : c].decode()
            size = _read_I(buf, c)[0]
            d = c + 4 + size
            slot.arguments = _table(buf[c + 4 : d], tables) if size else EMPTY
        except READ_FAULTS:
            return decode_slowly(QueueUnbind, buf, pos, end, tables)
        if d == end:
            slot.spare = None
            return method
        return decode_slowly(QueueUnbind, buf, pos, end, tables)


class BasicQosOk(Method):
    """Confirm the limits: basic.qos-ok (60/11), by the server."""

    __match_args__ = ()
    __slots__ = __match_args__

    ID = 0x003C000B
    NAME = "basic.qos-ok"
    CLASS_ID = 60
    METHOD_ID = 11
    SENT_BY = SERVER
    SYNCHRONOUS = True
    IS_REPLY = True

    def encode(self, tables: TableRules) -> bytes:
        if self.spare is not None:
            return b"\x00\x3c\x00\x0b" + self.spare
        return b"\x00\x3c\x00\x0b"

    @staticmethod
    def decode(buf: bytes, pos: int, end: int, tables: TableRules) -> BasicQosOk:
        if pos != end:
            return decode_slowly(BasicQosOk, buf, pos, end, tables)
        return BasicQosOk()


class BasicQos(Request[BasicQosOk]):
    """Limit what is delivered ahead of settlement: basic.qos (60/10), by the client.

    `prefetch_size` octets, 0: no limit; `prefetch_count` deliveries, 0: no limit; `global_` for
    the whole connection (RabbitMQ: the whole channel).
    """

    __match_args__ = ("prefetch_size", "prefetch_count", "global_")
    __slots__ = __match_args__

    ID = 0x003C000A
    NAME = "basic.qos"
    CLASS_ID = 60
    METHOD_ID = 10
    SENT_BY = CLIENT
    SYNCHRONOUS = True
    REPLIES = (BasicQosOk,)
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
            return b"\x00\x3c\x00\x0a" + self.spare
        try:
            return (
                _pack_IIHB(
                    0x003C000A,
                    self.prefetch_size,
                    self.prefetch_count,
                    1 if self.global_ else 0,
                )
            )
        except WRITE_FAULTS:
            return encode_slowly(self, tables)

    @staticmethod
    def decode(buf: bytes, pos: int, end: int, tables: TableRules) -> BasicQos:
        method = _new(BasicQos)
        slot: Any = method
        try:
            slot.prefetch_size, slot.prefetch_count, bits = _read_IHB(buf, pos)
        except READ_FAULTS:
            return decode_slowly(BasicQos, buf, pos, end, tables)
        if pos + 7 == end and bits < 2:
            slot.global_ = bits == 1
            slot.spare = None
            return method
        return decode_slowly(BasicQos, buf, pos, end, tables)


class BasicConsumeOk(Method):
    """Confirm a consumer, with its tag: basic.consume-ok (60/21), by the server.

    `consumer_tag` names the consumer on its channel; empty: the server names it.
    """

    __match_args__ = ("consumer_tag",)
    __slots__ = __match_args__

    ID = 0x003C0015
    NAME = "basic.consume-ok"
    CLASS_ID = 60
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
            return b"\x00\x3c\x00\x15" + self.spare
        try:
            consumer_tag = self.consumer_tag.encode()
            return b"\x00\x3c\x00\x15" + OCTET[len(consumer_tag)] + consumer_tag
        except WRITE_FAULTS:
            return encode_slowly(self, tables)

    @staticmethod
    def decode(buf: bytes, pos: int, end: int, tables: TableRules) -> BasicConsumeOk:
        method = _new(BasicConsumeOk)
        slot: Any = method
        try:
            a = pos + 1 + buf[pos]
            slot.consumer_tag = buf[pos + 1 : a].decode()
        except READ_FAULTS:
            return decode_slowly(BasicConsumeOk, buf, pos, end, tables)
        if a == end:
            slot.spare = None
            return method
        return decode_slowly(BasicConsumeOk, buf, pos, end, tables)


class BasicCancelOk(Method):
    """Confirm that a consumer has ended: basic.cancel-ok (60/31), by either side.

    `consumer_tag` names the consumer on its channel; empty: the server names it.
    """

    __match_args__ = ("consumer_tag",)
    __slots__ = __match_args__

    ID = 0x003C001F
    NAME = "basic.cancel-ok"
    CLASS_ID = 60
    METHOD_ID = 31
    SENT_BY = BOTH
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
            return b"\x00\x3c\x00\x1f" + self.spare
        try:
            consumer_tag = self.consumer_tag.encode()
            return b"\x00\x3c\x00\x1f" + OCTET[len(consumer_tag)] + consumer_tag
        except WRITE_FAULTS:
            return encode_slowly(self, tables)

    @staticmethod
    def decode(buf: bytes, pos: int, end: int, tables: TableRules) -> BasicCancelOk:
        method = _new(BasicCancelOk)
        slot: Any = method
        try:
            a = pos + 1 + buf[pos]
            slot.consumer_tag = buf[pos + 1 : a].decode()
        except READ_FAULTS:
            return decode_slowly(BasicCancelOk, buf, pos, end, tables)
        if a == end:
            slot.spare = None
            return method
        return decode_slowly(BasicCancelOk, buf, pos, end, tables)


class BasicCancel(Request[BasicCancelOk]):
    """End a consumer; from the server: its queue is gone: basic.cancel (60/30), by either side.

    `consumer_tag` names the consumer on its channel; empty: the server names it; `no_wait` no
    answer is wanted.
    """

    __match_args__ = ("consumer_tag", "no_wait")
    __slots__ = __match_args__

    ID = 0x003C001E
    NAME = "basic.cancel"
    CLASS_ID = 60
    METHOD_ID = 30
    SENT_BY = BOTH
    SYNCHRONOUS = True
    REPLIES = (BasicCancelOk,)
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
            return b"\x00\x3c\x00\x1e" + self.spare
        try:
            consumer_tag = self.consumer_tag.encode()
            return (
                b"\x00\x3c\x00\x1e"
                + OCTET[len(consumer_tag)]
                + consumer_tag
                + OCTET[1 if self.no_wait else 0]
            )
        except WRITE_FAULTS:
            return encode_slowly(self, tables)

    @staticmethod
    def decode(buf: bytes, pos: int, end: int, tables: TableRules) -> BasicCancel:
        method = _new(BasicCancel)
        slot: Any = method
        try:
            a = pos + 1 + buf[pos]
            slot.consumer_tag = buf[pos + 1 : a].decode()
            bits = buf[a]
        except READ_FAULTS:
            return decode_slowly(BasicCancel, buf, pos, end, tables)
        if a + 1 == end and bits < 2:
            slot.no_wait = bits == 1
            slot.spare = None
            return method
        return decode_slowly(BasicCancel, buf, pos, end, tables)


class BasicPublish(Method):
    """Publish a message to an exchange: basic.publish (60/40), by the client, with content.

    `exchange` name of the exchange; empty: the default one; `routing_key` what the exchange
    routes by; `mandatory` return it when no queue gets it; `immediate` return it when no
    consumer takes it at once; `ticket` the access ticket of 0-8; 0-9-1 reserves it, 0.
    """

    __match_args__ = ("exchange", "routing_key", "mandatory", "immediate", "ticket")
    __slots__ = __match_args__

    ID = 0x003C0028
    NAME = "basic.publish"
    CLASS_ID = 60
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
            return b"\x00\x3c\x00\x28" + self.spare
        try:
            exchange = self.exchange.encode()
            routing_key = self.routing_key.encode()
            bits = (1 if self.mandatory else 0) | (2 if self.immediate else 0)
            return (
                _pack_IHB(0x003C0028, self.ticket, len(exchange))
                + exchange
                + OCTET[len(routing_key)]
                + routing_key
                + OCTET[bits]
            )
        except WRITE_FAULTS:
            return encode_slowly(self, tables)

    @staticmethod
    def decode(buf: bytes, pos: int, end: int, tables: TableRules) -> BasicPublish:
        method = _new(BasicPublish)
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
            return decode_slowly(BasicPublish, buf, pos, end, tables)
        if b + 1 == end and bits < 4:
            slot.mandatory = bits & 1 != 0
            slot.immediate = bits & 2 != 0
            slot.spare = None
            return method
        return decode_slowly(BasicPublish, buf, pos, end, tables)


class BasicReturn(Method):
    """Give back a message that couldn't be routed or delivered: basic.return (60/50), by the
    server, with content.

    `reply_code` a code of the specification; `reply_text` what happened, for people; `exchange`
    name of the exchange; empty: the default one; `routing_key` what the exchange routes by.
    """

    __match_args__ = ("reply_code", "reply_text", "exchange", "routing_key")
    __slots__ = __match_args__

    ID = 0x003C0032
    NAME = "basic.return"
    CLASS_ID = 60
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
            return b"\x00\x3c\x00\x32" + self.spare
        try:
            reply_text = self.reply_text.encode()
            exchange = self.exchange.encode()
            routing_key = self.routing_key.encode()
            return (
                _pack_IHB(0x003C0032, self.reply_code, len(reply_text))
                + reply_text
                + OCTET[len(exchange)]
                + exchange
                + OCTET[len(routing_key)]
                + routing_key
            )
        except WRITE_FAULTS:
            return encode_slowly(self, tables)

    @staticmethod
    def decode(buf: bytes, pos: int, end: int, tables: TableRules) -> BasicReturn:
        method = _new(BasicReturn)
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
            return decode_slowly(BasicReturn, buf, pos, end, tables)
        if c == end:
            slot.spare = None
            return method
        return decode_slowly(BasicReturn, buf, pos, end, tables)


class BasicDeliver(Method):
    """Hand a message to a consumer: basic.deliver (60/60), by the server, with content.

    `consumer_tag` names the consumer on its channel; empty: the server names it; `delivery_tag`
    counts deliveries on a channel from 1; `redelivered` may have been delivered before;
    `exchange` name of the exchange; empty: the default one; `routing_key` what the exchange
    routes by.
    """

    __match_args__ = ("consumer_tag", "delivery_tag", "redelivered", "exchange", "routing_key")
    __slots__ = __match_args__

    ID = 0x003C003C
    NAME = "basic.deliver"
    CLASS_ID = 60
    METHOD_ID = 60
    SENT_BY = SERVER
    HAS_CONTENT = True
    FIELDS = (
        ("consumer_tag", "shortstr"),
        ("delivery_tag", "longlong"),
        ("redelivered", "bit"),
        ("exchange", "shortstr"),
        ("routing_key", "shortstr"),
    )
    WIRE = FIELDS

    def __init__(
        self,
        consumer_tag: str = "",
        delivery_tag: int = 0,
        redelivered: bool = False,
        exchange: str = "",
        routing_key: str = "",
    ) -> None:
        self.consumer_tag: Final = consumer_tag
        self.delivery_tag: Final = delivery_tag
        self.redelivered: Final = redelivered
        self.exchange: Final = exchange
        self.routing_key: Final = routing_key
        self.spare = None

    def encode(self, tables: TableRules) -> bytes:
        if self.spare is not None:
            return b"\x00\x3c\x00\x3c" + self.spare
        try:
            consumer_tag = self.consumer_tag.encode()
            exchange = self.exchange.encode()
            routing_key = self.routing_key.encode()
            return (
                b"\x00\x3c\x00\x3c"
                + OCTET[len(consumer_tag)]
                + consumer_tag
                + _pack_QBB(self.delivery_tag, 1 if self.redelivered else 0, len(exchange))
                + exchange
                + OCTET[len(routing_key)]
                + routing_key
            )
        except WRITE_FAULTS:
            return encode_slowly(self, tables)

    @staticmethod
    def decode(buf: bytes, pos: int, end: int, tables: TableRules) -> BasicDeliver:
        method = _new(BasicDeliver)
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
        except READ_FAULTS:
            return decode_slowly(BasicDeliver, buf, pos, end, tables)
        if c == end and bits < 2:
            slot.redelivered = bits == 1
            slot.spare = None
            return method
        return decode_slowly(BasicDeliver, buf, pos, end, tables)


class BasicGetOk(Method):
    """Hand over the fetched message: basic.get-ok (60/71), by the server, with content.

    `delivery_tag` counts deliveries on a channel from 1; `redelivered` may have been delivered
    before; `exchange` name of the exchange; empty: the default one; `routing_key` what the
    exchange routes by; `message_count` messages in the queue or removed from it.
    """

    __match_args__ = ("delivery_tag", "redelivered", "exchange", "routing_key", "message_count")
    __slots__ = __match_args__

    ID = 0x003C0047
    NAME = "basic.get-ok"
    CLASS_ID = 60
    METHOD_ID = 71
    SENT_BY = SERVER
    SYNCHRONOUS = True
    HAS_CONTENT = True
    IS_REPLY = True
    FIELDS = (
        ("delivery_tag", "longlong"),
        ("redelivered", "bit"),
        ("exchange", "shortstr"),
        ("routing_key", "shortstr"),
        ("message_count", "long"),
    )
    WIRE = FIELDS

    def __init__(
        self,
        delivery_tag: int = 0,
        redelivered: bool = False,
        exchange: str = "",
        routing_key: str = "",
        message_count: int = 0,
    ) -> None:
        self.delivery_tag: Final = delivery_tag
        self.redelivered: Final = redelivered
        self.exchange: Final = exchange
        self.routing_key: Final = routing_key
        self.message_count: Final = message_count
        self.spare = None

    def encode(self, tables: TableRules) -> bytes:
        if self.spare is not None:
            return b"\x00\x3c\x00\x47" + self.spare
        try:
            exchange = self.exchange.encode()
            routing_key = self.routing_key.encode()
            return (
                _pack_IQBB(
                    0x003C0047,
                    self.delivery_tag,
                    1 if self.redelivered else 0,
                    len(exchange),
                )
                + exchange
                + OCTET[len(routing_key)]
                + routing_key
                + _pack_I(self.message_count)
            )
        except WRITE_FAULTS:
            return encode_slowly(self, tables)

    @staticmethod
    def decode(buf: bytes, pos: int, end: int, tables: TableRules) -> BasicGetOk:
        method = _new(BasicGetOk)
        slot: Any = method
        size: int
        try:
            slot.delivery_tag, bits, size = _read_QBB(buf, pos)
            a = pos + 10 + size
            slot.exchange = buf[pos + 10 : a].decode()
            b = a + 1 + buf[a]
            slot.routing_key = buf[a + 1 : b].decode()
            slot.message_count = _read_I(buf, b)[0]
        except READ_FAULTS:
            return decode_slowly(BasicGetOk, buf, pos, end, tables)
        if b + 4 == end and bits < 2:
            slot.redelivered = bits == 1
            slot.spare = None
            return method
        return decode_slowly(BasicGetOk, buf, pos, end, tables)


class BasicGetEmpty(Method):
    """Tell that the queue has no message: basic.get-empty (60/72), by the server.

    `cluster_id` the cluster; reserved in 0-9-1.
    """

    __match_args__ = ("cluster_id",)
    __slots__ = __match_args__

    ID = 0x003C0048
    NAME = "basic.get-empty"
    CLASS_ID = 60
    METHOD_ID = 72
    SENT_BY = SERVER
    SYNCHRONOUS = True
    IS_REPLY = True
    FIELDS = (("cluster_id", "shortstr"),)
    WIRE = FIELDS
    RESERVED = ("cluster_id",)

    def __init__(
        self,
        cluster_id: str = "",
    ) -> None:
        self.cluster_id: Final = cluster_id
        self.spare = None

    def encode(self, tables: TableRules) -> bytes:
        if self.spare is not None:
            return b"\x00\x3c\x00\x48" + self.spare
        try:
            cluster_id = self.cluster_id.encode()
            return b"\x00\x3c\x00\x48" + OCTET[len(cluster_id)] + cluster_id
        except WRITE_FAULTS:
            return encode_slowly(self, tables)

    @staticmethod
    def decode(buf: bytes, pos: int, end: int, tables: TableRules) -> BasicGetEmpty:
        method = _new(BasicGetEmpty)
        slot: Any = method
        try:
            a = pos + 1 + buf[pos]
            slot.cluster_id = buf[pos + 1 : a].decode()
        except READ_FAULTS:
            return decode_slowly(BasicGetEmpty, buf, pos, end, tables)
        if a == end:
            slot.spare = None
            return method
        return decode_slowly(BasicGetEmpty, buf, pos, end, tables)


class BasicGet(Request[BasicGetOk | BasicGetEmpty]):
    """Fetch one message from a queue: basic.get (60/70), by the client.

    `queue` name of the queue; empty: see the specification; `no_ack` settled as soon as sent;
    `ticket` the access ticket of 0-8; 0-9-1 reserves it, 0.
    """

    __match_args__ = ("queue", "no_ack", "ticket")
    __slots__ = __match_args__

    ID = 0x003C0046
    NAME = "basic.get"
    CLASS_ID = 60
    METHOD_ID = 70
    SENT_BY = CLIENT
    SYNCHRONOUS = True
    REPLIES = (BasicGetOk, BasicGetEmpty)
    FIELDS = (("queue", "shortstr"), ("no_ack", "bit"), ("ticket", "short"))
    WIRE = (("ticket", "short"), ("queue", "shortstr"), ("no_ack", "bit"))
    RESERVED = ("ticket",)

    def __init__(
        self,
        queue: str = "",
        no_ack: bool = False,
        ticket: int = 0,
    ) -> None:
        self.queue: Final = queue
        self.no_ack: Final = no_ack
        self.ticket: Final = ticket
        self.spare = None

    def encode(self, tables: TableRules) -> bytes:
        if self.spare is not None:
            return b"\x00\x3c\x00\x46" + self.spare
        try:
            queue = self.queue.encode()
            return (
                _pack_IHB(0x003C0046, self.ticket, len(queue))
                + queue
                + OCTET[1 if self.no_ack else 0]
            )
        except WRITE_FAULTS:
            return encode_slowly(self, tables)

    @staticmethod
    def decode(buf: bytes, pos: int, end: int, tables: TableRules) -> BasicGet:
        method = _new(BasicGet)
        slot: Any = method
        size: int
        try:
            slot.ticket, size = _read_HB(buf, pos)
            a = pos + 3 + size
            slot.queue = buf[pos + 3 : a].decode()
            bits = buf[a]
        except READ_FAULTS:
            return decode_slowly(BasicGet, buf, pos, end, tables)
        if a + 1 == end and bits < 2:
            slot.no_ack = bits == 1
            slot.spare = None
            return method
        return decode_slowly(BasicGet, buf, pos, end, tables)


class BasicAck(Method):
    """Settle one delivery or all up to it; from the server: confirm publishes: basic.ack (60/80),
    by either side.

    `delivery_tag` counts deliveries on a channel from 1; `multiple` all up to this tag.
    """

    __match_args__ = ("delivery_tag", "multiple")
    __slots__ = __match_args__

    ID = 0x003C0050
    NAME = "basic.ack"
    CLASS_ID = 60
    METHOD_ID = 80
    SENT_BY = BOTH
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
            return b"\x00\x3c\x00\x50" + self.spare
        try:
            return _pack_IQB(0x003C0050, self.delivery_tag, 1 if self.multiple else 0)
        except WRITE_FAULTS:
            return encode_slowly(self, tables)

    @staticmethod
    def decode(buf: bytes, pos: int, end: int, tables: TableRules) -> BasicAck:
        method = _new(BasicAck)
        slot: Any = method
        try:
            slot.delivery_tag, bits = _read_QB(buf, pos)
        except READ_FAULTS:
            return decode_slowly(BasicAck, buf, pos, end, tables)
        if pos + 9 == end and bits < 2:
            slot.multiple = bits == 1
            slot.spare = None
            return method
        return decode_slowly(BasicAck, buf, pos, end, tables)


class BasicReject(Method):
    """Refuse one delivery: basic.reject (60/90), by the client.

    `delivery_tag` counts deliveries on a channel from 1; `requeue` may be delivered again.
    """

    __match_args__ = ("delivery_tag", "requeue")
    __slots__ = __match_args__

    ID = 0x003C005A
    NAME = "basic.reject"
    CLASS_ID = 60
    METHOD_ID = 90
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
            return b"\x00\x3c\x00\x5a" + self.spare
        try:
            return _pack_IQB(0x003C005A, self.delivery_tag, 1 if self.requeue else 0)
        except WRITE_FAULTS:
            return encode_slowly(self, tables)

    @staticmethod
    def decode(buf: bytes, pos: int, end: int, tables: TableRules) -> BasicReject:
        method = _new(BasicReject)
        slot: Any = method
        try:
            slot.delivery_tag, bits = _read_QB(buf, pos)
        except READ_FAULTS:
            return decode_slowly(BasicReject, buf, pos, end, tables)
        if pos + 9 == end and bits < 2:
            slot.requeue = bits == 1
            slot.spare = None
            return method
        return decode_slowly(BasicReject, buf, pos, end, tables)


class TxSelectOk(Method):
    """Confirm transactions: tx.select-ok (90/11), by the server."""

    __match_args__ = ()
    __slots__ = __match_args__

    ID = 0x005A000B
    NAME = "tx.select-ok"
    CLASS_ID = 90
    METHOD_ID = 11
    SENT_BY = SERVER
    SYNCHRONOUS = True
    IS_REPLY = True

    def encode(self, tables: TableRules) -> bytes:
        if self.spare is not None:
            return b"\x00\x5a\x00\x0b" + self.spare
        return b"\x00\x5a\x00\x0b"

    @staticmethod
    def decode(buf: bytes, pos: int, end: int, tables: TableRules) -> TxSelectOk:
        if pos != end:
            return decode_slowly(TxSelectOk, buf, pos, end, tables)
        return TxSelectOk()


class TxSelect(Request[TxSelectOk]):
    """Put the channel into transactions: tx.select (90/10), by the client."""

    __match_args__ = ()
    __slots__ = __match_args__

    ID = 0x005A000A
    NAME = "tx.select"
    CLASS_ID = 90
    METHOD_ID = 10
    SENT_BY = CLIENT
    SYNCHRONOUS = True
    REPLIES = (TxSelectOk,)

    def encode(self, tables: TableRules) -> bytes:
        if self.spare is not None:
            return b"\x00\x5a\x00\x0a" + self.spare
        return b"\x00\x5a\x00\x0a"

    @staticmethod
    def decode(buf: bytes, pos: int, end: int, tables: TableRules) -> TxSelect:
        if pos != end:
            return decode_slowly(TxSelect, buf, pos, end, tables)
        return TxSelect()


class TxCommitOk(Method):
    """Confirm the commit: tx.commit-ok (90/21), by the server."""

    __match_args__ = ()
    __slots__ = __match_args__

    ID = 0x005A0015
    NAME = "tx.commit-ok"
    CLASS_ID = 90
    METHOD_ID = 21
    SENT_BY = SERVER
    SYNCHRONOUS = True
    IS_REPLY = True

    def encode(self, tables: TableRules) -> bytes:
        if self.spare is not None:
            return b"\x00\x5a\x00\x15" + self.spare
        return b"\x00\x5a\x00\x15"

    @staticmethod
    def decode(buf: bytes, pos: int, end: int, tables: TableRules) -> TxCommitOk:
        if pos != end:
            return decode_slowly(TxCommitOk, buf, pos, end, tables)
        return TxCommitOk()


class TxCommit(Request[TxCommitOk]):
    """Commit the transaction: tx.commit (90/20), by the client."""

    __match_args__ = ()
    __slots__ = __match_args__

    ID = 0x005A0014
    NAME = "tx.commit"
    CLASS_ID = 90
    METHOD_ID = 20
    SENT_BY = CLIENT
    SYNCHRONOUS = True
    REPLIES = (TxCommitOk,)

    def encode(self, tables: TableRules) -> bytes:
        if self.spare is not None:
            return b"\x00\x5a\x00\x14" + self.spare
        return b"\x00\x5a\x00\x14"

    @staticmethod
    def decode(buf: bytes, pos: int, end: int, tables: TableRules) -> TxCommit:
        if pos != end:
            return decode_slowly(TxCommit, buf, pos, end, tables)
        return TxCommit()


class TxRollbackOk(Method):
    """Confirm the rollback: tx.rollback-ok (90/31), by the server."""

    __match_args__ = ()
    __slots__ = __match_args__

    ID = 0x005A001F
    NAME = "tx.rollback-ok"
    CLASS_ID = 90
    METHOD_ID = 31
    SENT_BY = SERVER
    SYNCHRONOUS = True
    IS_REPLY = True

    def encode(self, tables: TableRules) -> bytes:
        if self.spare is not None:
            return b"\x00\x5a\x00\x1f" + self.spare
        return b"\x00\x5a\x00\x1f"

    @staticmethod
    def decode(buf: bytes, pos: int, end: int, tables: TableRules) -> TxRollbackOk:
        if pos != end:
            return decode_slowly(TxRollbackOk, buf, pos, end, tables)
        return TxRollbackOk()


class TxRollback(Request[TxRollbackOk]):
    """Abandon the transaction: tx.rollback (90/30), by the client."""

    __match_args__ = ()
    __slots__ = __match_args__

    ID = 0x005A001E
    NAME = "tx.rollback"
    CLASS_ID = 90
    METHOD_ID = 30
    SENT_BY = CLIENT
    SYNCHRONOUS = True
    REPLIES = (TxRollbackOk,)

    def encode(self, tables: TableRules) -> bytes:
        if self.spare is not None:
            return b"\x00\x5a\x00\x1e" + self.spare
        return b"\x00\x5a\x00\x1e"

    @staticmethod
    def decode(buf: bytes, pos: int, end: int, tables: TableRules) -> TxRollback:
        if pos != end:
            return decode_slowly(TxRollback, buf, pos, end, tables)
        return TxRollback()


class BasicProperties(Properties):
    """The properties of content of class basic (60).

    `content_type` MIME content type; `content_encoding` MIME content encoding; `headers` the
    application's own fields; `delivery_mode` 1 transient, 2 persistent; `priority` 0 to 9;
    `correlation_id` the message it answers; `reply_to` where answers go; `expiration`
    milliseconds to live, as text; `message_id` the application's name for the message;
    `timestamp` POSIX seconds; `type` the application's type of the message; `user_id` the user
    that sent it; `app_id` the application that sent it; `cluster_id` the cluster; reserved in
    0-9-1.
    """

    __match_args__ = (
        "content_type",
        "content_encoding",
        "headers",
        "delivery_mode",
        "priority",
        "correlation_id",
        "reply_to",
        "expiration",
        "message_id",
        "timestamp",
        "type",
        "user_id",
        "app_id",
        "cluster_id",
    )
    __slots__ = ("_raw", "_rules", *__match_args__)

    CLASS_ID = 60
    FIELDS = (
        ("content_type", "shortstr"),
        ("content_encoding", "shortstr"),
        ("headers", "table"),
        ("delivery_mode", "octet"),
        ("priority", "octet"),
        ("correlation_id", "shortstr"),
        ("reply_to", "shortstr"),
        ("expiration", "shortstr"),
        ("message_id", "shortstr"),
        ("timestamp", "timestamp"),
        ("type", "shortstr"),
        ("user_id", "shortstr"),
        ("app_id", "shortstr"),
        ("cluster_id", "shortstr"),
    )

    def __init__(
        self,
        content_type: str | None = None,
        content_encoding: str | None = None,
        headers: FieldTable | None = None,
        delivery_mode: int | None = None,
        priority: int | None = None,
        correlation_id: str | None = None,
        reply_to: str | None = None,
        expiration: str | None = None,
        message_id: str | None = None,
        timestamp: int | None = None,
        type: str | None = None,
        user_id: str | None = None,
        app_id: str | None = None,
        cluster_id: str | None = None,
    ) -> None:
        self._raw = None
        self.content_type: Final = content_type
        self.content_encoding: Final = content_encoding
        self.headers: Final = headers
        self.delivery_mode: Final = delivery_mode
        self.priority: Final = priority
        self.correlation_id: Final = correlation_id
        self.reply_to: Final = reply_to
        self.expiration: Final = expiration
        self.message_id: Final = message_id
        self.timestamp: Final = timestamp
        self.type: Final = type
        self.user_id: Final = user_id
        self.app_id: Final = app_id
        self.cluster_id: Final = cluster_id

    @staticmethod
    def from_wire(raw: bytes, tables: TableRules) -> BasicProperties:
        properties = _UnreadBasicProperties()
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
            if (delivery_mode := self.delivery_mode) is not None:
                flags |= 0x1000
                parts.append(_pack_B(delivery_mode))
            if (priority := self.priority) is not None:
                flags |= 0x0800
                parts.append(_pack_B(priority))
            if (correlation_id := self.correlation_id) is not None:
                flags |= 0x0400
                text = correlation_id.encode()
                parts += OCTET[len(text)], text
            if (reply_to := self.reply_to) is not None:
                flags |= 0x0200
                text = reply_to.encode()
                parts += OCTET[len(text)], text
            if (expiration := self.expiration) is not None:
                flags |= 0x0100
                text = expiration.encode()
                parts += OCTET[len(text)], text
            if (message_id := self.message_id) is not None:
                flags |= 0x0080
                text = message_id.encode()
                parts += OCTET[len(text)], text
            if (timestamp := self.timestamp) is not None:
                flags |= 0x0040
                parts.append(_pack_Q(timestamp))
            if (type := self.type) is not None:
                flags |= 0x0020
                text = type.encode()
                parts += OCTET[len(text)], text
            if (user_id := self.user_id) is not None:
                flags |= 0x0010
                text = user_id.encode()
                parts += OCTET[len(text)], text
            if (app_id := self.app_id) is not None:
                flags |= 0x0008
                text = app_id.encode()
                parts += OCTET[len(text)], text
            if (cluster_id := self.cluster_id) is not None:
                flags |= 0x0004
                text = cluster_id.encode()
                parts += OCTET[len(text)], text
        except WRITE_FAULTS:
            return encode_properties_slowly(self, tables)
        parts[0] = _pack_H(flags)
        return b"".join(parts)

    def _read(self) -> None:
        slot: Any = self
        raw: bytes = slot._raw
        slot.__class__ = BasicProperties
        try:
            flags = raw[0]
            more = raw[1]
            (
                content_type, content_encoding, headers, delivery_mode,
                priority, correlation_id, reply_to, expiration,
            ) = BITS[flags]
            (
                message_id, timestamp, type, user_id,
                app_id, cluster_id, _, _,
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
            if delivery_mode:
                slot.delivery_mode = raw[pos]
                pos += 1
            else:
                slot.delivery_mode = None
            if priority:
                slot.priority = raw[pos]
                pos += 1
            else:
                slot.priority = None
            if correlation_id:
                start = pos + 1
                pos = start + raw[pos]
                slot.correlation_id = raw[start:pos].decode()
            else:
                slot.correlation_id = None
            if reply_to:
                start = pos + 1
                pos = start + raw[pos]
                slot.reply_to = raw[start:pos].decode()
            else:
                slot.reply_to = None
            if expiration:
                start = pos + 1
                pos = start + raw[pos]
                slot.expiration = raw[start:pos].decode()
            else:
                slot.expiration = None
            if message_id:
                start = pos + 1
                pos = start + raw[pos]
                slot.message_id = raw[start:pos].decode()
            else:
                slot.message_id = None
            if timestamp:
                slot.timestamp = _read_Q(raw, pos)[0]
                pos += 8
            else:
                slot.timestamp = None
            if type:
                start = pos + 1
                pos = start + raw[pos]
                slot.type = raw[start:pos].decode()
            else:
                slot.type = None
            if user_id:
                start = pos + 1
                pos = start + raw[pos]
                slot.user_id = raw[start:pos].decode()
            else:
                slot.user_id = None
            if app_id:
                start = pos + 1
                pos = start + raw[pos]
                slot.app_id = raw[start:pos].decode()
            else:
                slot.app_id = None
            if cluster_id:
                start = pos + 1
                pos = start + raw[pos]
                slot.cluster_id = raw[start:pos].decode()
            else:
                slot.cluster_id = None
        except READ_FAULTS:
            pass
        else:
            if pos == len(raw) and not more & 0x03:
                return
        slot.__class__ = _UnreadBasicProperties
        load_slowly(self, raw, self._rules, BasicProperties)

    def _scan(self) -> None:
        slot: Any = self
        rules = slot._rules
        if scan_properties(slot._raw, b"ssFBBssssTssss", _TABLES, rules, self, _BASICPROPERTIES):
            slot.__class__ = BasicProperties
        else:
            self._read()

    _load = _scan if COMPILED else _read


def _basic_content_type(self: Any) -> Any:
    self._load()
    return self.content_type


def _basic_content_encoding(self: Any) -> Any:
    self._load()
    return self.content_encoding


def _basic_headers(self: Any) -> Any:
    self._load()
    return self.headers


def _basic_delivery_mode(self: Any) -> Any:
    self._load()
    return self.delivery_mode


def _basic_priority(self: Any) -> Any:
    self._load()
    return self.priority


def _basic_correlation_id(self: Any) -> Any:
    self._load()
    return self.correlation_id


def _basic_reply_to(self: Any) -> Any:
    self._load()
    return self.reply_to


def _basic_expiration(self: Any) -> Any:
    self._load()
    return self.expiration


def _basic_message_id(self: Any) -> Any:
    self._load()
    return self.message_id


def _basic_timestamp(self: Any) -> Any:
    self._load()
    return self.timestamp


def _basic_type(self: Any) -> Any:
    self._load()
    return self.type


def _basic_user_id(self: Any) -> Any:
    self._load()
    return self.user_id


def _basic_app_id(self: Any) -> Any:
    self._load()
    return self.app_id


def _basic_cluster_id(self: Any) -> Any:
    self._load()
    return self.cluster_id


_UnreadBasicProperties: Final = lazily(
    BasicProperties,
    _basic_content_type,
    _basic_content_encoding,
    _basic_headers,
    _basic_delivery_mode,
    _basic_priority,
    _basic_correlation_id,
    _basic_reply_to,
    _basic_expiration,
    _basic_message_id,
    _basic_timestamp,
    _basic_type,
    _basic_user_id,
    _basic_app_id,
    _basic_cluster_id,
)

if TYPE_CHECKING or COMPILED:
    _TABLES: Final = maker(Table, ("_raw", "_rules", "_values"), (None,))
    _BASICPROPERTIES: Final = maker(BasicProperties, BasicProperties.__match_args__, ())


__all__ = [
    "AccessRequest",
    "AccessRequestOk",
    "BasicAck",
    "BasicCancel",
    "BasicCancelOk",
    "BasicConsumeOk",
    "BasicDeliver",
    "BasicGet",
    "BasicGetEmpty",
    "BasicGetOk",
    "BasicProperties",
    "BasicPublish",
    "BasicQos",
    "BasicQosOk",
    "BasicReject",
    "BasicReturn",
    "ChannelClose",
    "ChannelCloseOk",
    "ChannelFlow",
    "ChannelFlowOk",
    "ConnectionOpenOk",
    "ConnectionSecure",
    "ConnectionSecureOk",
    "ConnectionStart",
    "ConnectionStartOk",
    "ConnectionTune",
    "ConnectionTuneOk",
    "ExchangeBound",
    "ExchangeBoundOk",
    "ExchangeDeclare",
    "ExchangeDeclareOk",
    "ExchangeDelete",
    "ExchangeDeleteOk",
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
