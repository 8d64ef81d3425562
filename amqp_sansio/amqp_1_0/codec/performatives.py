"""The composite types of AMQP 1.0: frame bodies, delivery states, termini, header and properties."""

# Generated; edit the generator (tools/codegen).

from __future__ import annotations

from ..._checking import TYPE_CHECKING
from ..._compiled import COMPILED
from .composite import (
    FAST,
    MISSING,
    Composite,
    DeliveryState,
    Performative,
    SaslFrame,
    decode_frame_body,
    raising,
    require,
    to_symbol,
    to_symbols,
    to_timestamp,
    write_field,
    write_slowly,
)
from .decode import COMPOSITES, read_uuid
from .faults import WRITE_FAULTS
from .octets import (
    ACCEPTED_OCTETS,
    BINARY,
    BOOLEANS,
    INT,
    JOIN,
    MODES,
    NEW,
    NULL,
    PACK_I64,
    PACK_U32,
    READ_I64,
    READ_TWO_U32,
    READ_U16_TWO_U8,
    READ_U16_U8_I64,
    READ_U32,
    READ_U64,
    STRING,
    SYMBOL,
    SYMBOLS,
    TAG,
    TIMESTAMP,
    UBYTES,
    UINTS,
)
from .types import Symbol, Timestamp

if TYPE_CHECKING or COMPILED:
    from ..._compiled import maker, scan_list

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime
    from typing import Any, ClassVar, Final
    from uuid import UUID

    from .types import AmqpMap, Described

SESSION_END: Final = Symbol("session-end")


class Open(Performative):
    """open (1.0 part 2, amqp:open:list, 0x10).

    `idle_time_out`: milliseconds.
    """

    __slots__ = (
        "channel_max",
        "container_id",
        "desired_capabilities",
        "hostname",
        "idle_time_out",
        "incoming_locales",
        "max_frame_size",
        "offered_capabilities",
        "outgoing_locales",
        "properties",
    )

    NAME: ClassVar[str] = "open"
    CODE: ClassVar[int] = 0x10
    SYMBOL: ClassVar[Symbol] = Symbol("amqp:open:list")
    FIELDS: ClassVar[tuple[tuple[str, str], ...]] = (
        ("container_id", "string"),
        ("hostname", "string"),
        ("max_frame_size", "uint"),
        ("channel_max", "ushort"),
        ("idle_time_out", "milliseconds"),
        ("outgoing_locales", "ietf-language-tag*"),
        ("incoming_locales", "ietf-language-tag*"),
        ("offered_capabilities", "symbol*"),
        ("desired_capabilities", "symbol*"),
        ("properties", "fields"),
    )
    WIRE: ClassVar[tuple[tuple[str, str, object, bool, bool], ...]] = (
        ("container_id", "string", None, True, False),
        ("hostname", "string", None, False, False),
        ("max_frame_size", "uint", 4294967295, False, False),
        ("channel_max", "ushort", 65535, False, False),
        ("idle_time_out", "milliseconds", None, False, False),
        ("outgoing_locales", "ietf-language-tag", (), False, True),
        ("incoming_locales", "ietf-language-tag", (), False, True),
        ("offered_capabilities", "symbol", (), False, True),
        ("desired_capabilities", "symbol", (), False, True),
        ("properties", "fields", None, False, False),
    )
    __match_args__ = (
        "container_id",
        "hostname",
        "max_frame_size",
        "channel_max",
        "idle_time_out",
        "outgoing_locales",
        "incoming_locales",
        "offered_capabilities",
        "desired_capabilities",
        "properties",
    )

    container_id: str
    hostname: str | None
    max_frame_size: int
    channel_max: int
    idle_time_out: int | None
    outgoing_locales: tuple[Symbol, ...]
    incoming_locales: tuple[Symbol, ...]
    offered_capabilities: tuple[Symbol, ...]
    desired_capabilities: tuple[Symbol, ...]
    properties: AmqpMap | None

    def __init__(
        self,
        container_id: str,
        hostname: str | None = None,
        max_frame_size: int = 4294967295,
        channel_max: int = 65535,
        idle_time_out: int | None = None,
        outgoing_locales: Sequence[Symbol | str] = (),
        incoming_locales: Sequence[Symbol | str] = (),
        offered_capabilities: Sequence[Symbol | str] = (),
        desired_capabilities: Sequence[Symbol | str] = (),
        properties: AmqpMap | None = None,
    ) -> None:
        self.container_id = container_id
        self.hostname = hostname
        self.max_frame_size = max_frame_size
        self.channel_max = channel_max
        self.idle_time_out = idle_time_out
        self.outgoing_locales = to_symbols(outgoing_locales)
        self.incoming_locales = to_symbols(incoming_locales)
        self.offered_capabilities = to_symbols(offered_capabilities)
        self.desired_capabilities = to_symbols(desired_capabilities)
        self.properties = properties
        self.wire = None


class Begin(Performative):
    """begin (1.0 part 2, amqp:begin:list, 0x11).

    `next_outgoing_id`: a serial number of 32 bits.
    """

    __slots__ = (
        "desired_capabilities",
        "handle_max",
        "incoming_window",
        "next_outgoing_id",
        "offered_capabilities",
        "outgoing_window",
        "properties",
        "remote_channel",
    )

    NAME: ClassVar[str] = "begin"
    CODE: ClassVar[int] = 0x11
    SYMBOL: ClassVar[Symbol] = Symbol("amqp:begin:list")
    FIELDS: ClassVar[tuple[tuple[str, str], ...]] = (
        ("remote_channel", "ushort"),
        ("next_outgoing_id", "transfer-number"),
        ("incoming_window", "uint"),
        ("outgoing_window", "uint"),
        ("handle_max", "handle"),
        ("offered_capabilities", "symbol*"),
        ("desired_capabilities", "symbol*"),
        ("properties", "fields"),
    )
    WIRE: ClassVar[tuple[tuple[str, str, object, bool, bool], ...]] = (
        ("remote_channel", "ushort", None, False, False),
        ("next_outgoing_id", "transfer-number", None, True, False),
        ("incoming_window", "uint", None, True, False),
        ("outgoing_window", "uint", None, True, False),
        ("handle_max", "handle", 4294967295, False, False),
        ("offered_capabilities", "symbol", (), False, True),
        ("desired_capabilities", "symbol", (), False, True),
        ("properties", "fields", None, False, False),
    )
    __match_args__ = (
        "remote_channel",
        "next_outgoing_id",
        "incoming_window",
        "outgoing_window",
        "handle_max",
        "offered_capabilities",
        "desired_capabilities",
        "properties",
    )

    remote_channel: int | None
    next_outgoing_id: int
    incoming_window: int
    outgoing_window: int
    handle_max: int
    offered_capabilities: tuple[Symbol, ...]
    desired_capabilities: tuple[Symbol, ...]
    properties: AmqpMap | None

    def __init__(
        self,
        remote_channel: int | None = None,
        next_outgoing_id: int = MISSING,
        incoming_window: int = MISSING,
        outgoing_window: int = MISSING,
        handle_max: int = 4294967295,
        offered_capabilities: Sequence[Symbol | str] = (),
        desired_capabilities: Sequence[Symbol | str] = (),
        properties: AmqpMap | None = None,
    ) -> None:
        require(self, next_outgoing_id, incoming_window, outgoing_window)
        self.remote_channel = remote_channel
        self.next_outgoing_id = next_outgoing_id
        self.incoming_window = incoming_window
        self.outgoing_window = outgoing_window
        self.handle_max = handle_max
        self.offered_capabilities = to_symbols(offered_capabilities)
        self.desired_capabilities = to_symbols(desired_capabilities)
        self.properties = properties
        self.wire = None


class Attach(Performative):
    """attach (1.0 part 2, amqp:attach:list, 0x12).

    `role`: True for a receiver; `snd_settle_mode`: 0 unsettled, 1 settled, 2 mixed;
    `rcv_settle_mode`: 0 first, 1 second; `initial_delivery_count`: a serial number of 32 bits.
    """

    __slots__ = (
        "desired_capabilities",
        "handle",
        "incomplete_unsettled",
        "initial_delivery_count",
        "max_message_size",
        "name",
        "offered_capabilities",
        "properties",
        "rcv_settle_mode",
        "role",
        "snd_settle_mode",
        "source",
        "target",
        "unsettled",
    )

    NAME: ClassVar[str] = "attach"
    CODE: ClassVar[int] = 0x12
    SYMBOL: ClassVar[Symbol] = Symbol("amqp:attach:list")
    FIELDS: ClassVar[tuple[tuple[str, str], ...]] = (
        ("name", "string"),
        ("handle", "handle"),
        ("role", "role"),
        ("snd_settle_mode", "sender-settle-mode"),
        ("rcv_settle_mode", "receiver-settle-mode"),
        ("source", "source"),
        ("target", "target"),
        ("unsettled", "map"),
        ("incomplete_unsettled", "boolean"),
        ("initial_delivery_count", "sequence-no"),
        ("max_message_size", "ulong"),
        ("offered_capabilities", "symbol*"),
        ("desired_capabilities", "symbol*"),
        ("properties", "fields"),
    )
    WIRE: ClassVar[tuple[tuple[str, str, object, bool, bool], ...]] = (
        ("name", "string", None, True, False),
        ("handle", "handle", None, True, False),
        ("role", "role", None, True, False),
        ("snd_settle_mode", "sender-settle-mode", 2, False, False),
        ("rcv_settle_mode", "receiver-settle-mode", 0, False, False),
        ("source", "source", None, False, False),
        ("target", "target", None, False, False),
        ("unsettled", "unsettled", None, False, False),
        ("incomplete_unsettled", "boolean", False, False, False),
        ("initial_delivery_count", "sequence-no", None, False, False),
        ("max_message_size", "ulong", None, False, False),
        ("offered_capabilities", "symbol", (), False, True),
        ("desired_capabilities", "symbol", (), False, True),
        ("properties", "fields", None, False, False),
    )
    __match_args__ = (
        "name",
        "handle",
        "role",
        "snd_settle_mode",
        "rcv_settle_mode",
        "source",
        "target",
        "unsettled",
        "incomplete_unsettled",
        "initial_delivery_count",
        "max_message_size",
        "offered_capabilities",
        "desired_capabilities",
        "properties",
    )

    name: str
    handle: int
    role: bool
    snd_settle_mode: int
    rcv_settle_mode: int
    source: Source | Described | None
    target: Target | Coordinator | Described | None
    unsettled: AmqpMap | None
    incomplete_unsettled: bool
    initial_delivery_count: int | None
    max_message_size: int | None
    offered_capabilities: tuple[Symbol, ...]
    desired_capabilities: tuple[Symbol, ...]
    properties: AmqpMap | None

    def __init__(
        self,
        name: str,
        handle: int,
        role: bool,
        snd_settle_mode: int = 2,
        rcv_settle_mode: int = 0,
        source: Source | Described | None = None,
        target: Target | Coordinator | Described | None = None,
        unsettled: AmqpMap | None = None,
        incomplete_unsettled: bool = False,
        initial_delivery_count: int | None = None,
        max_message_size: int | None = None,
        offered_capabilities: Sequence[Symbol | str] = (),
        desired_capabilities: Sequence[Symbol | str] = (),
        properties: AmqpMap | None = None,
    ) -> None:
        self.name = name
        self.handle = handle
        self.role = role
        self.snd_settle_mode = snd_settle_mode
        self.rcv_settle_mode = rcv_settle_mode
        self.source = source
        self.target = target
        self.unsettled = unsettled
        self.incomplete_unsettled = incomplete_unsettled
        self.initial_delivery_count = initial_delivery_count
        self.max_message_size = max_message_size
        self.offered_capabilities = to_symbols(offered_capabilities)
        self.desired_capabilities = to_symbols(desired_capabilities)
        self.properties = properties
        self.wire = None


class Flow(Performative):
    """flow (1.0 part 2, amqp:flow:list, 0x13).

    `next_incoming_id`: a serial number of 32 bits; `next_outgoing_id`: a serial number of 32
    bits; `delivery_count`: a serial number of 32 bits.
    """

    __slots__ = (
        "available",
        "delivery_count",
        "drain",
        "echo",
        "handle",
        "incoming_window",
        "link_credit",
        "next_incoming_id",
        "next_outgoing_id",
        "outgoing_window",
        "properties",
    )

    NAME: ClassVar[str] = "flow"
    CODE: ClassVar[int] = 0x13
    SYMBOL: ClassVar[Symbol] = Symbol("amqp:flow:list")
    FIELDS: ClassVar[tuple[tuple[str, str], ...]] = (
        ("next_incoming_id", "transfer-number"),
        ("incoming_window", "uint"),
        ("next_outgoing_id", "transfer-number"),
        ("outgoing_window", "uint"),
        ("handle", "handle"),
        ("delivery_count", "sequence-no"),
        ("link_credit", "uint"),
        ("available", "uint"),
        ("drain", "boolean"),
        ("echo", "boolean"),
        ("properties", "fields"),
    )
    WIRE: ClassVar[tuple[tuple[str, str, object, bool, bool], ...]] = (
        ("next_incoming_id", "transfer-number", None, False, False),
        ("incoming_window", "uint", None, True, False),
        ("next_outgoing_id", "transfer-number", None, True, False),
        ("outgoing_window", "uint", None, True, False),
        ("handle", "handle", None, False, False),
        ("delivery_count", "sequence-no", None, False, False),
        ("link_credit", "uint", None, False, False),
        ("available", "uint", None, False, False),
        ("drain", "boolean", False, False, False),
        ("echo", "boolean", False, False, False),
        ("properties", "fields", None, False, False),
    )
    __match_args__ = (
        "next_incoming_id",
        "incoming_window",
        "next_outgoing_id",
        "outgoing_window",
        "handle",
        "delivery_count",
        "link_credit",
        "available",
        "drain",
        "echo",
        "properties",
    )

    next_incoming_id: int | None
    incoming_window: int
    next_outgoing_id: int
    outgoing_window: int
    handle: int | None
    delivery_count: int | None
    link_credit: int | None
    available: int | None
    drain: bool
    echo: bool
    properties: AmqpMap | None

    def __init__(
        self,
        next_incoming_id: int | None = None,
        incoming_window: int = MISSING,
        next_outgoing_id: int = MISSING,
        outgoing_window: int = MISSING,
        handle: int | None = None,
        delivery_count: int | None = None,
        link_credit: int | None = None,
        available: int | None = None,
        drain: bool = False,
        echo: bool = False,
        properties: AmqpMap | None = None,
    ) -> None:
        require(self, incoming_window, next_outgoing_id, outgoing_window)
        self.next_incoming_id = next_incoming_id
        self.incoming_window = incoming_window
        self.next_outgoing_id = next_outgoing_id
        self.outgoing_window = outgoing_window
        self.handle = handle
        self.delivery_count = delivery_count
        self.link_credit = link_credit
        self.available = available
        self.drain = drain
        self.echo = echo
        self.properties = properties
        self.wire = None

    @staticmethod
    def _read(buf: bytes, pos: int, stop: int, count: int, start: int) -> Flow:
        """Read `count` fields up to `stop`; raises one of READ_FAULTS for whatever is out of the ordinary."""
        if count > 11:
            raise ValueError
        found: Flow = NEW(Flow)
        if not count:
            raise ValueError
        code = buf[pos]
        if code == 0x40:
            found.next_incoming_id = None
            pos += 1
        elif code == 0x52:
            found.next_incoming_id = buf[pos + 1]
            pos += 2
        elif code == 0x70:
            found.next_incoming_id = READ_U32(buf, pos + 1)[0]
            pos += 5
        elif code == 0x43:
            found.next_incoming_id = 0
            pos += 1
        else:
            raise ValueError
        if count > 1:
            code = buf[pos]
            if code == 0x52:
                found.incoming_window = buf[pos + 1]
                pos += 2
            elif code == 0x70:
                found.incoming_window = READ_U32(buf, pos + 1)[0]
                pos += 5
            elif code == 0x43:
                found.incoming_window = 0
                pos += 1
            else:
                raise ValueError
            if count > 2:
                code = buf[pos]
                if code == 0x52:
                    found.next_outgoing_id = buf[pos + 1]
                    pos += 2
                elif code == 0x70:
                    found.next_outgoing_id = READ_U32(buf, pos + 1)[0]
                    pos += 5
                elif code == 0x43:
                    found.next_outgoing_id = 0
                    pos += 1
                else:
                    raise ValueError
                if count > 3:
                    code = buf[pos]
                    if code == 0x52:
                        found.outgoing_window = buf[pos + 1]
                        pos += 2
                    elif code == 0x70:
                        found.outgoing_window = READ_U32(buf, pos + 1)[0]
                        pos += 5
                    elif code == 0x43:
                        found.outgoing_window = 0
                        pos += 1
                    else:
                        raise ValueError
                    if count > 4:
                        code = buf[pos]
                        if code == 0x40:
                            found.handle = None
                            pos += 1
                        elif code == 0x43:
                            found.handle = 0
                            pos += 1
                        elif code == 0x52:
                            found.handle = buf[pos + 1]
                            pos += 2
                        elif code == 0x70:
                            found.handle = READ_U32(buf, pos + 1)[0]
                            pos += 5
                        else:
                            raise ValueError
                        if count > 5:
                            code = buf[pos]
                            if code == 0x40:
                                found.delivery_count = None
                                pos += 1
                            elif code == 0x52:
                                found.delivery_count = buf[pos + 1]
                                pos += 2
                            elif code == 0x70:
                                found.delivery_count = READ_U32(buf, pos + 1)[0]
                                pos += 5
                            elif code == 0x43:
                                found.delivery_count = 0
                                pos += 1
                            else:
                                raise ValueError
                            if count > 6:
                                code = buf[pos]
                                if code == 0x40:
                                    found.link_credit = None
                                    pos += 1
                                elif code == 0x52:
                                    found.link_credit = buf[pos + 1]
                                    pos += 2
                                elif code == 0x70:
                                    found.link_credit = READ_U32(buf, pos + 1)[0]
                                    pos += 5
                                elif code == 0x43:
                                    found.link_credit = 0
                                    pos += 1
                                else:
                                    raise ValueError
                                if count > 7:
                                    code = buf[pos]
                                    if code == 0x40:
                                        found.available = None
                                        pos += 1
                                    elif code == 0x52:
                                        found.available = buf[pos + 1]
                                        pos += 2
                                    elif code == 0x70:
                                        found.available = READ_U32(buf, pos + 1)[0]
                                        pos += 5
                                    elif code == 0x43:
                                        found.available = 0
                                        pos += 1
                                    else:
                                        raise ValueError
                                    if count > 8:
                                        code = buf[pos]
                                        if code == 0x41:
                                            found.drain = True
                                            pos += 1
                                        elif code == 0x42 or code == 0x40:
                                            found.drain = False
                                            pos += 1
                                        elif code == 0x56 and buf[pos + 1] < 2:
                                            found.drain = buf[pos + 1] == 1
                                            pos += 2
                                        else:
                                            raise ValueError
                                        if count > 9:
                                            code = buf[pos]
                                            if code == 0x41:
                                                found.echo = True
                                                pos += 1
                                            elif code == 0x42 or code == 0x40:
                                                found.echo = False
                                                pos += 1
                                            elif code == 0x56 and buf[pos + 1] < 2:
                                                found.echo = buf[pos + 1] == 1
                                                pos += 2
                                            else:
                                                raise ValueError
                                            if count > 10:
                                                code = buf[pos]
                                                if code == 0x40:
                                                    found.properties = None
                                                    pos += 1
                                                else:
                                                    raise ValueError
                                            else:
                                                found.properties = None
                                        else:
                                            found.echo = False
                                            found.properties = None
                                    else:
                                        found.drain = False
                                        found.echo = False
                                        found.properties = None
                                else:
                                    found.available = None
                                    found.drain = False
                                    found.echo = False
                                    found.properties = None
                            else:
                                found.link_credit = None
                                found.available = None
                                found.drain = False
                                found.echo = False
                                found.properties = None
                        else:
                            found.delivery_count = None
                            found.link_credit = None
                            found.available = None
                            found.drain = False
                            found.echo = False
                            found.properties = None
                    else:
                        found.handle = None
                        found.delivery_count = None
                        found.link_credit = None
                        found.available = None
                        found.drain = False
                        found.echo = False
                        found.properties = None
                else:
                    raise ValueError
            else:
                raise ValueError
        else:
            raise ValueError
        if pos != stop:
            raise ValueError
        found.wire = buf[start:stop]
        return found

    @staticmethod
    def _scan(buf: bytes, pos: int, stop: int, count: int, start: int) -> Flow:
        found = scan_list(buf, start, start + 3, stop, _FLOW, _MAKE_FLOW)
        if found is not None and found[1] == stop:
            return found[0]
        return Flow._read(buf, pos, stop, count, start)

    fast_fields = _scan if COMPILED else _read
    """Read `count` fields up to `stop`; raises one of READ_FAULTS for whatever is out of the ordinary."""

    def encode(self) -> bytes:
        if self.wire is not None:
            return self.wire
        try:
            next_incoming_id = self.next_incoming_id
            if next_incoming_id is None:
                item0 = NULL
            elif 0 <= next_incoming_id < 256:
                item0 = UINTS[next_incoming_id]
            else:
                item0 = PACK_U32(0x70, next_incoming_id)
            incoming_window = self.incoming_window
            item1 = UINTS[incoming_window] if 0 <= incoming_window < 256 else PACK_U32(0x70, incoming_window)
            next_outgoing_id = self.next_outgoing_id
            item2 = UINTS[next_outgoing_id] if 0 <= next_outgoing_id < 256 else PACK_U32(0x70, next_outgoing_id)
            outgoing_window = self.outgoing_window
            item3 = UINTS[outgoing_window] if 0 <= outgoing_window < 256 else PACK_U32(0x70, outgoing_window)
            handle = self.handle
            if handle is None:
                item4 = NULL
            elif 0 <= handle < 256:
                item4 = UINTS[handle]
            else:
                item4 = PACK_U32(0x70, handle)
            delivery_count = self.delivery_count
            if delivery_count is None:
                item5 = NULL
            elif 0 <= delivery_count < 256:
                item5 = UINTS[delivery_count]
            else:
                item5 = PACK_U32(0x70, delivery_count)
            link_credit = self.link_credit
            if link_credit is None:
                item6 = NULL
            elif 0 <= link_credit < 256:
                item6 = UINTS[link_credit]
            else:
                item6 = PACK_U32(0x70, link_credit)
            available = self.available
            if available is None:
                item7 = NULL
            elif 0 <= available < 256:
                item7 = UINTS[available]
            else:
                item7 = PACK_U32(0x70, available)
            drain = self.drain
            item8 = NULL if drain is False else BOOLEANS[drain]
            echo = self.echo
            item9 = NULL if echo is False else BOOLEANS[echo]
            properties = self.properties
            if properties is None:
                item10 = NULL
            else:
                item10 = write_field(self.NAME, "properties", "fields", False, False, properties)
            if item10 is not NULL:
                octets = JOIN(
                    (item0, item1, item2, item3, item4, item5, item6, item7, item8, item9, item10)
                )
                count = 11
            elif item9 is not NULL:
                octets = JOIN(
                    (item0, item1, item2, item3, item4, item5, item6, item7, item8, item9)
                )
                count = 10
            elif item8 is not NULL:
                octets = JOIN((item0, item1, item2, item3, item4, item5, item6, item7, item8))
                count = 9
            elif item7 is not NULL:
                octets = JOIN((item0, item1, item2, item3, item4, item5, item6, item7))
                count = 8
            elif item6 is not NULL:
                octets = JOIN((item0, item1, item2, item3, item4, item5, item6))
                count = 7
            elif item5 is not NULL:
                octets = JOIN((item0, item1, item2, item3, item4, item5))
                count = 6
            elif item4 is not NULL:
                octets = JOIN((item0, item1, item2, item3, item4))
                count = 5
            else:
                octets = JOIN((item0, item1, item2, item3))
                count = 4
            return b"\x00\x53\x13\xc0%c%c%b" % (len(octets) + 1, count, octets)
        except WRITE_FAULTS:
            pass
        return b"\x00\x53\x13" + write_slowly(self)


class Transfer(Performative):
    """transfer (1.0 part 2, amqp:transfer:list, 0x14).

    `delivery_id`: a serial number of 32 bits; `delivery_tag`: at most 32 octets;
    `rcv_settle_mode`: 0 first, 1 second.
    """

    __slots__ = (
        "aborted",
        "batchable",
        "delivery_id",
        "delivery_tag",
        "handle",
        "message_format",
        "more",
        "rcv_settle_mode",
        "resume",
        "settled",
        "state",
    )

    NAME: ClassVar[str] = "transfer"
    CODE: ClassVar[int] = 0x14
    SYMBOL: ClassVar[Symbol] = Symbol("amqp:transfer:list")
    FIELDS: ClassVar[tuple[tuple[str, str], ...]] = (
        ("handle", "handle"),
        ("delivery_id", "delivery-number"),
        ("delivery_tag", "delivery-tag"),
        ("message_format", "message-format"),
        ("settled", "boolean"),
        ("more", "boolean"),
        ("rcv_settle_mode", "receiver-settle-mode"),
        ("state", "delivery-state"),
        ("resume", "boolean"),
        ("aborted", "boolean"),
        ("batchable", "boolean"),
    )
    WIRE: ClassVar[tuple[tuple[str, str, object, bool, bool], ...]] = (
        ("handle", "handle", None, True, False),
        ("delivery_id", "delivery-number", None, False, False),
        ("delivery_tag", "delivery-tag", None, False, False),
        ("message_format", "message-format", None, False, False),
        ("settled", "boolean", None, False, False),
        ("more", "boolean", False, False, False),
        ("rcv_settle_mode", "receiver-settle-mode", None, False, False),
        ("state", "delivery-state", None, False, False),
        ("resume", "boolean", False, False, False),
        ("aborted", "boolean", False, False, False),
        ("batchable", "boolean", False, False, False),
    )
    __match_args__ = (
        "handle",
        "delivery_id",
        "delivery_tag",
        "message_format",
        "settled",
        "more",
        "rcv_settle_mode",
        "state",
        "resume",
        "aborted",
        "batchable",
    )

    handle: int
    delivery_id: int | None
    delivery_tag: bytes | None
    message_format: int | None
    settled: bool | None
    more: bool
    rcv_settle_mode: int | None
    state: DeliveryState | Described | None
    resume: bool
    aborted: bool
    batchable: bool

    def __init__(
        self,
        handle: int,
        delivery_id: int | None = None,
        delivery_tag: bytes | None = None,
        message_format: int | None = None,
        settled: bool | None = None,
        more: bool = False,
        rcv_settle_mode: int | None = None,
        state: DeliveryState | Described | None = None,
        resume: bool = False,
        aborted: bool = False,
        batchable: bool = False,
    ) -> None:
        self.handle = handle
        self.delivery_id = delivery_id
        self.delivery_tag = delivery_tag
        self.message_format = message_format
        self.settled = settled
        self.more = more
        self.rcv_settle_mode = rcv_settle_mode
        self.state = state
        self.resume = resume
        self.aborted = aborted
        self.batchable = batchable
        self.wire = None

    @staticmethod
    def _read(buf: bytes, pos: int, stop: int, count: int, start: int) -> Transfer:
        """Read `count` fields up to `stop`; raises one of READ_FAULTS for whatever is out of the ordinary."""
        if count > 11:
            raise ValueError
        found: Transfer = NEW(Transfer)
        if not count:
            raise ValueError
        code = buf[pos]
        if code == 0x43:
            found.handle = 0
            pos += 1
        elif code == 0x52:
            found.handle = buf[pos + 1]
            pos += 2
        elif code == 0x70:
            found.handle = READ_U32(buf, pos + 1)[0]
            pos += 5
        else:
            raise ValueError
        if count > 1:
            code = buf[pos]
            if code == 0x70:
                found.delivery_id = READ_U32(buf, pos + 1)[0]
                pos += 5
            elif code == 0x52:
                found.delivery_id = buf[pos + 1]
                pos += 2
            elif code == 0x40:
                found.delivery_id = None
                pos += 1
            elif code == 0x43:
                found.delivery_id = 0
                pos += 1
            else:
                raise ValueError
            if count > 2:
                code = buf[pos]
                if code == 0xA0:
                    size = buf[pos + 1]
                    if size > 32:
                        raise ValueError
                    at = pos + 2
                    pos = at + size
                    found.delivery_tag = buf[at:pos]
                elif code == 0x40:
                    found.delivery_tag = None
                    pos += 1
                else:
                    raise ValueError
                if count > 3:
                    code = buf[pos]
                    if code == 0x43:
                        found.message_format = 0
                        pos += 1
                    elif code == 0x52:
                        found.message_format = buf[pos + 1]
                        pos += 2
                    elif code == 0x40:
                        found.message_format = None
                        pos += 1
                    elif code == 0x70:
                        found.message_format = READ_U32(buf, pos + 1)[0]
                        pos += 5
                    else:
                        raise ValueError
                    if count > 4:
                        code = buf[pos]
                        if code == 0x41:
                            found.settled = True
                            pos += 1
                        elif code == 0x42:
                            found.settled = False
                            pos += 1
                        elif code == 0x40:
                            found.settled = None
                            pos += 1
                        elif code == 0x56 and buf[pos + 1] < 2:
                            found.settled = buf[pos + 1] == 1
                            pos += 2
                        else:
                            raise ValueError
                        if count > 5:
                            code = buf[pos]
                            if code == 0x41:
                                found.more = True
                                pos += 1
                            elif code == 0x42 or code == 0x40:
                                found.more = False
                                pos += 1
                            elif code == 0x56 and buf[pos + 1] < 2:
                                found.more = buf[pos + 1] == 1
                                pos += 2
                            else:
                                raise ValueError
                            if count > 6:
                                code = buf[pos]
                                if code == 0x50:
                                    if buf[pos + 1] > 1:
                                        raise ValueError
                                    found.rcv_settle_mode = buf[pos + 1]
                                    pos += 2
                                elif code == 0x40:
                                    found.rcv_settle_mode = None
                                    pos += 1
                                else:
                                    raise ValueError
                                if count > 7:
                                    code = buf[pos]
                                    if code == 0x00 and buf[pos : pos + 4] == ACCEPTED_OCTETS:
                                        found.state = ACCEPTED
                                        pos += 4
                                    elif code == 0x40:
                                        found.state = None
                                        pos += 1
                                    else:
                                        raise ValueError
                                    if count > 8:
                                        code = buf[pos]
                                        if code == 0x41:
                                            found.resume = True
                                            pos += 1
                                        elif code == 0x42 or code == 0x40:
                                            found.resume = False
                                            pos += 1
                                        elif code == 0x56 and buf[pos + 1] < 2:
                                            found.resume = buf[pos + 1] == 1
                                            pos += 2
                                        else:
                                            raise ValueError
                                        if count > 9:
                                            code = buf[pos]
                                            if code == 0x41:
                                                found.aborted = True
                                                pos += 1
                                            elif code == 0x42 or code == 0x40:
                                                found.aborted = False
                                                pos += 1
                                            elif code == 0x56 and buf[pos + 1] < 2:
                                                found.aborted = buf[pos + 1] == 1
                                                pos += 2
                                            else:
                                                raise ValueError
                                            if count > 10:
                                                code = buf[pos]
                                                if code == 0x41:
                                                    found.batchable = True
                                                    pos += 1
                                                elif code == 0x42 or code == 0x40:
                                                    found.batchable = False
                                                    pos += 1
                                                elif code == 0x56 and buf[pos + 1] < 2:
                                                    found.batchable = buf[pos + 1] == 1
                                                    pos += 2
                                                else:
                                                    raise ValueError
                                            else:
                                                found.batchable = False
                                        else:
                                            found.aborted = False
                                            found.batchable = False
                                    else:
                                        found.resume = False
                                        found.aborted = False
                                        found.batchable = False
                                else:
                                    found.state = None
                                    found.resume = False
                                    found.aborted = False
                                    found.batchable = False
                            else:
                                found.rcv_settle_mode = None
                                found.state = None
                                found.resume = False
                                found.aborted = False
                                found.batchable = False
                        else:
                            found.more = False
                            found.rcv_settle_mode = None
                            found.state = None
                            found.resume = False
                            found.aborted = False
                            found.batchable = False
                    else:
                        found.settled = None
                        found.more = False
                        found.rcv_settle_mode = None
                        found.state = None
                        found.resume = False
                        found.aborted = False
                        found.batchable = False
                else:
                    found.message_format = None
                    found.settled = None
                    found.more = False
                    found.rcv_settle_mode = None
                    found.state = None
                    found.resume = False
                    found.aborted = False
                    found.batchable = False
            else:
                found.delivery_tag = None
                found.message_format = None
                found.settled = None
                found.more = False
                found.rcv_settle_mode = None
                found.state = None
                found.resume = False
                found.aborted = False
                found.batchable = False
        else:
            found.delivery_id = None
            found.delivery_tag = None
            found.message_format = None
            found.settled = None
            found.more = False
            found.rcv_settle_mode = None
            found.state = None
            found.resume = False
            found.aborted = False
            found.batchable = False
        if pos != stop:
            raise ValueError
        found.wire = buf[start:stop]
        return found

    @staticmethod
    def _scan(buf: bytes, pos: int, stop: int, count: int, start: int) -> Transfer:
        found = scan_list(buf, start, start + 3, stop, _TRANSFER, _MAKE_TRANSFER)
        if found is not None and found[1] == stop:
            return found[0]
        return Transfer._read(buf, pos, stop, count, start)

    fast_fields = _scan if COMPILED else _read
    """Read `count` fields up to `stop`; raises one of READ_FAULTS for whatever is out of the ordinary."""

    def encode(self) -> bytes:
        if self.wire is not None:
            return self.wire
        try:
            handle = self.handle
            item0 = UINTS[handle] if 0 <= handle < 256 else PACK_U32(0x70, handle)
            delivery_id = self.delivery_id
            if delivery_id is None:
                item1 = NULL
            elif 0 <= delivery_id < 256:
                item1 = UINTS[delivery_id]
            else:
                item1 = PACK_U32(0x70, delivery_id)
            delivery_tag = self.delivery_tag
            item2 = NULL if delivery_tag is None else TAG[len(delivery_tag)] + delivery_tag
            message_format = self.message_format
            if message_format is None:
                item3 = NULL
            elif 0 <= message_format < 256:
                item3 = UINTS[message_format]
            else:
                item3 = PACK_U32(0x70, message_format)
            settled = self.settled
            item4 = NULL if settled is None else BOOLEANS[settled]
            more = self.more
            item5 = NULL if more is False else BOOLEANS[more]
            if (
                self.rcv_settle_mode is None
                and self.state is None
                and self.resume is False
                and self.aborted is False
                and self.batchable is False
            ):
                if item5 is not NULL:
                    octets = JOIN((item0, item1, item2, item3, item4, item5))
                    count = 6
                elif item4 is not NULL:
                    octets = JOIN((item0, item1, item2, item3, item4))
                    count = 5
                elif item3 is not NULL:
                    octets = JOIN((item0, item1, item2, item3))
                    count = 4
                elif item2 is not NULL:
                    octets = JOIN((item0, item1, item2))
                    count = 3
                elif item1 is not NULL:
                    octets = JOIN((item0, item1))
                    count = 2
                else:
                    octets = JOIN((item0,))
                    count = 1
            else:
                rcv_settle_mode = self.rcv_settle_mode
                item6 = NULL if rcv_settle_mode is None else MODES[rcv_settle_mode]
                state = self.state
                if state is None:
                    item7 = NULL
                elif isinstance(state, DeliveryState):
                    item7 = state.encode()
                else:
                    item7 = write_field(self.NAME, "state", "delivery-state", False, False, state)
                resume = self.resume
                item8 = NULL if resume is False else BOOLEANS[resume]
                aborted = self.aborted
                item9 = NULL if aborted is False else BOOLEANS[aborted]
                batchable = self.batchable
                item10 = NULL if batchable is False else BOOLEANS[batchable]
                if item10 is not NULL:
                    octets = JOIN(
                        (item0, item1, item2, item3, item4, item5, item6, item7, item8, item9, item10)
                    )
                    count = 11
                elif item9 is not NULL:
                    octets = JOIN(
                        (item0, item1, item2, item3, item4, item5, item6, item7, item8, item9)
                    )
                    count = 10
                elif item8 is not NULL:
                    octets = JOIN((item0, item1, item2, item3, item4, item5, item6, item7, item8))
                    count = 9
                elif item7 is not NULL:
                    octets = JOIN((item0, item1, item2, item3, item4, item5, item6, item7))
                    count = 8
                elif item6 is not NULL:
                    octets = JOIN((item0, item1, item2, item3, item4, item5, item6))
                    count = 7
                elif item5 is not NULL:
                    octets = JOIN((item0, item1, item2, item3, item4, item5))
                    count = 6
                elif item4 is not NULL:
                    octets = JOIN((item0, item1, item2, item3, item4))
                    count = 5
                elif item3 is not NULL:
                    octets = JOIN((item0, item1, item2, item3))
                    count = 4
                elif item2 is not NULL:
                    octets = JOIN((item0, item1, item2))
                    count = 3
                elif item1 is not NULL:
                    octets = JOIN((item0, item1))
                    count = 2
                else:
                    octets = JOIN((item0,))
                    count = 1
            return b"\x00\x53\x14\xc0%c%c%b" % (len(octets) + 1, count, octets)
        except WRITE_FAULTS:
            pass
        return b"\x00\x53\x14" + write_slowly(self)


class Disposition(Performative):
    """disposition (1.0 part 2, amqp:disposition:list, 0x15).

    `role`: True for a receiver; `first`: a serial number of 32 bits; `last`: a serial number of
    32 bits.
    """

    __slots__ = ("batchable", "first", "last", "role", "settled", "state")

    NAME: ClassVar[str] = "disposition"
    CODE: ClassVar[int] = 0x15
    SYMBOL: ClassVar[Symbol] = Symbol("amqp:disposition:list")
    FIELDS: ClassVar[tuple[tuple[str, str], ...]] = (
        ("role", "role"),
        ("first", "delivery-number"),
        ("last", "delivery-number"),
        ("settled", "boolean"),
        ("state", "delivery-state"),
        ("batchable", "boolean"),
    )
    WIRE: ClassVar[tuple[tuple[str, str, object, bool, bool], ...]] = (
        ("role", "role", None, True, False),
        ("first", "delivery-number", None, True, False),
        ("last", "delivery-number", None, False, False),
        ("settled", "boolean", False, False, False),
        ("state", "delivery-state", None, False, False),
        ("batchable", "boolean", False, False, False),
    )
    __match_args__ = ("role", "first", "last", "settled", "state", "batchable")

    role: bool
    first: int
    last: int | None
    settled: bool
    state: DeliveryState | Described | None
    batchable: bool

    def __init__(
        self,
        role: bool,
        first: int,
        last: int | None = None,
        settled: bool = False,
        state: DeliveryState | Described | None = None,
        batchable: bool = False,
    ) -> None:
        self.role = role
        self.first = first
        self.last = last
        self.settled = settled
        self.state = state
        self.batchable = batchable
        self.wire = None

    @staticmethod
    def _read(buf: bytes, pos: int, stop: int, count: int, start: int) -> Disposition:
        """Read `count` fields up to `stop`; raises one of READ_FAULTS for whatever is out of the ordinary."""
        if count > 6:
            raise ValueError
        found: Disposition = NEW(Disposition)
        if not count:
            raise ValueError
        code = buf[pos]
        if code == 0x41:
            found.role = True
            pos += 1
        elif code == 0x42:
            found.role = False
            pos += 1
        elif code == 0x56 and buf[pos + 1] < 2:
            found.role = buf[pos + 1] == 1
            pos += 2
        else:
            raise ValueError
        if count > 1:
            code = buf[pos]
            if code == 0x70:
                found.first = READ_U32(buf, pos + 1)[0]
                pos += 5
            elif code == 0x52:
                found.first = buf[pos + 1]
                pos += 2
            elif code == 0x43:
                found.first = 0
                pos += 1
            else:
                raise ValueError
            if count > 2:
                code = buf[pos]
                if code == 0x40:
                    found.last = None
                    pos += 1
                elif code == 0x70:
                    found.last = READ_U32(buf, pos + 1)[0]
                    pos += 5
                elif code == 0x52:
                    found.last = buf[pos + 1]
                    pos += 2
                elif code == 0x43:
                    found.last = 0
                    pos += 1
                else:
                    raise ValueError
                if count > 3:
                    code = buf[pos]
                    if code == 0x41:
                        found.settled = True
                        pos += 1
                    elif code == 0x42 or code == 0x40:
                        found.settled = False
                        pos += 1
                    elif code == 0x56 and buf[pos + 1] < 2:
                        found.settled = buf[pos + 1] == 1
                        pos += 2
                    else:
                        raise ValueError
                    if count > 4:
                        code = buf[pos]
                        if code == 0x40:
                            found.state = None
                            pos += 1
                        elif code == 0x00 and buf[pos : pos + 4] == ACCEPTED_OCTETS:
                            found.state = ACCEPTED
                            pos += 4
                        else:
                            raise ValueError
                        if count > 5:
                            code = buf[pos]
                            if code == 0x41:
                                found.batchable = True
                                pos += 1
                            elif code == 0x42 or code == 0x40:
                                found.batchable = False
                                pos += 1
                            elif code == 0x56 and buf[pos + 1] < 2:
                                found.batchable = buf[pos + 1] == 1
                                pos += 2
                            else:
                                raise ValueError
                        else:
                            found.batchable = False
                    else:
                        found.state = None
                        found.batchable = False
                else:
                    found.settled = False
                    found.state = None
                    found.batchable = False
            else:
                found.last = None
                found.settled = False
                found.state = None
                found.batchable = False
        else:
            raise ValueError
        if pos != stop:
            raise ValueError
        found.wire = buf[start:stop]
        return found

    @staticmethod
    def _scan(buf: bytes, pos: int, stop: int, count: int, start: int) -> Disposition:
        found = scan_list(buf, start, start + 3, stop, _DISPOSITION, _MAKE_DISPOSITION)
        if found is not None and found[1] == stop:
            return found[0]
        return Disposition._read(buf, pos, stop, count, start)

    fast_fields = _scan if COMPILED else _read
    """Read `count` fields up to `stop`; raises one of READ_FAULTS for whatever is out of the ordinary."""

    def encode(self) -> bytes:
        if self.wire is not None:
            return self.wire
        try:
            role = self.role
            item0 = BOOLEANS[role]
            first = self.first
            item1 = UINTS[first] if 0 <= first < 256 else PACK_U32(0x70, first)
            last = self.last
            if last is None:
                item2 = NULL
            elif 0 <= last < 256:
                item2 = UINTS[last]
            else:
                item2 = PACK_U32(0x70, last)
            settled = self.settled
            item3 = NULL if settled is False else BOOLEANS[settled]
            state = self.state
            if state is None:
                item4 = NULL
            elif isinstance(state, DeliveryState):
                item4 = state.encode()
            else:
                item4 = write_field(self.NAME, "state", "delivery-state", False, False, state)
            batchable = self.batchable
            item5 = NULL if batchable is False else BOOLEANS[batchable]
            if item5 is not NULL:
                octets = JOIN((item0, item1, item2, item3, item4, item5))
                count = 6
            elif item4 is not NULL:
                octets = JOIN((item0, item1, item2, item3, item4))
                count = 5
            elif item3 is not NULL:
                octets = JOIN((item0, item1, item2, item3))
                count = 4
            elif item2 is not NULL:
                octets = JOIN((item0, item1, item2))
                count = 3
            else:
                octets = JOIN((item0, item1))
                count = 2
            return b"\x00\x53\x15\xc0%c%c%b" % (len(octets) + 1, count, octets)
        except WRITE_FAULTS:
            pass
        return b"\x00\x53\x15" + write_slowly(self)


class Detach(Performative):
    """detach (1.0 part 2, amqp:detach:list, 0x16)."""

    __slots__ = ("closed", "error", "handle")

    NAME: ClassVar[str] = "detach"
    CODE: ClassVar[int] = 0x16
    SYMBOL: ClassVar[Symbol] = Symbol("amqp:detach:list")
    FIELDS: ClassVar[tuple[tuple[str, str], ...]] = (
        ("handle", "handle"),
        ("closed", "boolean"),
        ("error", "error"),
    )
    WIRE: ClassVar[tuple[tuple[str, str, object, bool, bool], ...]] = (
        ("handle", "handle", None, True, False),
        ("closed", "boolean", False, False, False),
        ("error", "error", None, False, False),
    )
    __match_args__ = ("handle", "closed", "error")

    handle: int
    closed: bool
    error: Error | None

    def __init__(
        self,
        handle: int,
        closed: bool = False,
        error: Error | None = None,
    ) -> None:
        self.handle = handle
        self.closed = closed
        self.error = error
        self.wire = None


class End(Performative):
    """end (1.0 part 2, amqp:end:list, 0x17)."""

    __slots__ = ("error",)

    NAME: ClassVar[str] = "end"
    CODE: ClassVar[int] = 0x17
    SYMBOL: ClassVar[Symbol] = Symbol("amqp:end:list")
    FIELDS: ClassVar[tuple[tuple[str, str], ...]] = (
        ("error", "error"),
    )
    WIRE: ClassVar[tuple[tuple[str, str, object, bool, bool], ...]] = (
        ("error", "error", None, False, False),
    )
    __match_args__ = ("error",)

    error: Error | None

    def __init__(
        self,
        error: Error | None = None,
    ) -> None:
        self.error = error
        self.wire = None


class Close(Performative):
    """close (1.0 part 2, amqp:close:list, 0x18)."""

    __slots__ = ("error",)

    NAME: ClassVar[str] = "close"
    CODE: ClassVar[int] = 0x18
    SYMBOL: ClassVar[Symbol] = Symbol("amqp:close:list")
    FIELDS: ClassVar[tuple[tuple[str, str], ...]] = (
        ("error", "error"),
    )
    WIRE: ClassVar[tuple[tuple[str, str, object, bool, bool], ...]] = (
        ("error", "error", None, False, False),
    )
    __match_args__ = ("error",)

    error: Error | None

    def __init__(
        self,
        error: Error | None = None,
    ) -> None:
        self.error = error
        self.wire = None


class Error(Composite):
    """error (1.0 part 2, amqp:error:list, 0x1d)."""

    __slots__ = ("condition", "description", "info")

    NAME: ClassVar[str] = "error"
    CODE: ClassVar[int] = 0x1D
    SYMBOL: ClassVar[Symbol] = Symbol("amqp:error:list")
    FIELDS: ClassVar[tuple[tuple[str, str], ...]] = (
        ("condition", "error-condition"),
        ("description", "string"),
        ("info", "fields"),
    )
    WIRE: ClassVar[tuple[tuple[str, str, object, bool, bool], ...]] = (
        ("condition", "error-condition", None, True, False),
        ("description", "string", None, False, False),
        ("info", "error-info", None, False, False),
    )
    __match_args__ = ("condition", "description", "info")

    condition: Symbol
    description: str | None
    info: AmqpMap | None

    def __init__(
        self,
        condition: Symbol | str,
        description: str | None = None,
        info: AmqpMap | None = None,
    ) -> None:
        self.condition = to_symbol(condition)
        self.description = description
        self.info = info
        self.wire = None


class Received(DeliveryState):
    """received (1.0 part 3, amqp:received:list, 0x23)."""

    __slots__ = ("section_number", "section_offset")

    NAME: ClassVar[str] = "received"
    CODE: ClassVar[int] = 0x23
    SYMBOL: ClassVar[Symbol] = Symbol("amqp:received:list")
    FIELDS: ClassVar[tuple[tuple[str, str], ...]] = (
        ("section_number", "uint"),
        ("section_offset", "ulong"),
    )
    WIRE: ClassVar[tuple[tuple[str, str, object, bool, bool], ...]] = (
        ("section_number", "uint", None, True, False),
        ("section_offset", "ulong", None, True, False),
    )
    __match_args__ = ("section_number", "section_offset")

    section_number: int
    section_offset: int

    def __init__(
        self,
        section_number: int,
        section_offset: int,
    ) -> None:
        self.section_number = section_number
        self.section_offset = section_offset
        self.wire = None


class Accepted(DeliveryState):
    """accepted (1.0 part 3, amqp:accepted:list, 0x24)."""

    __slots__ = ()

    NAME: ClassVar[str] = "accepted"
    CODE: ClassVar[int] = 0x24
    SYMBOL: ClassVar[Symbol] = Symbol("amqp:accepted:list")
    OUTCOME: ClassVar[bool] = True

    def __init__(self) -> None:
        self.wire = None


class Rejected(DeliveryState):
    """rejected (1.0 part 3, amqp:rejected:list, 0x25)."""

    __slots__ = ("error",)

    NAME: ClassVar[str] = "rejected"
    CODE: ClassVar[int] = 0x25
    SYMBOL: ClassVar[Symbol] = Symbol("amqp:rejected:list")
    OUTCOME: ClassVar[bool] = True
    FIELDS: ClassVar[tuple[tuple[str, str], ...]] = (
        ("error", "error"),
    )
    WIRE: ClassVar[tuple[tuple[str, str, object, bool, bool], ...]] = (
        ("error", "error", None, False, False),
    )
    __match_args__ = ("error",)

    error: Error | None

    def __init__(
        self,
        error: Error | None = None,
    ) -> None:
        self.error = error
        self.wire = None


class Released(DeliveryState):
    """released (1.0 part 3, amqp:released:list, 0x26)."""

    __slots__ = ()

    NAME: ClassVar[str] = "released"
    CODE: ClassVar[int] = 0x26
    SYMBOL: ClassVar[Symbol] = Symbol("amqp:released:list")
    OUTCOME: ClassVar[bool] = True

    def __init__(self) -> None:
        self.wire = None


class Modified(DeliveryState):
    """modified (1.0 part 3, amqp:modified:list, 0x27)."""

    __slots__ = ("delivery_failed", "message_annotations", "undeliverable_here")

    NAME: ClassVar[str] = "modified"
    CODE: ClassVar[int] = 0x27
    SYMBOL: ClassVar[Symbol] = Symbol("amqp:modified:list")
    OUTCOME: ClassVar[bool] = True
    FIELDS: ClassVar[tuple[tuple[str, str], ...]] = (
        ("delivery_failed", "boolean"),
        ("undeliverable_here", "boolean"),
        ("message_annotations", "fields"),
    )
    WIRE: ClassVar[tuple[tuple[str, str, object, bool, bool], ...]] = (
        ("delivery_failed", "boolean", None, False, False),
        ("undeliverable_here", "boolean", None, False, False),
        ("message_annotations", "state-annotations", None, False, False),
    )
    __match_args__ = ("delivery_failed", "undeliverable_here", "message_annotations")

    delivery_failed: bool | None
    undeliverable_here: bool | None
    message_annotations: AmqpMap | None

    def __init__(
        self,
        delivery_failed: bool | None = None,
        undeliverable_here: bool | None = None,
        message_annotations: AmqpMap | None = None,
    ) -> None:
        self.delivery_failed = delivery_failed
        self.undeliverable_here = undeliverable_here
        self.message_annotations = message_annotations
        self.wire = None


class Source(Composite):
    """source (1.0 part 3, amqp:source:list, 0x28).

    `durable`: 0 none, 1 configuration, 2 unsettled state; `timeout`: seconds.
    """

    __slots__ = (
        "address",
        "capabilities",
        "default_outcome",
        "distribution_mode",
        "durable",
        "dynamic",
        "dynamic_node_properties",
        "expiry_policy",
        "filter",
        "outcomes",
        "timeout",
    )

    NAME: ClassVar[str] = "source"
    CODE: ClassVar[int] = 0x28
    SYMBOL: ClassVar[Symbol] = Symbol("amqp:source:list")
    FIELDS: ClassVar[tuple[tuple[str, str], ...]] = (
        ("address", "address"),
        ("durable", "terminus-durability"),
        ("expiry_policy", "terminus-expiry-policy"),
        ("timeout", "seconds"),
        ("dynamic", "boolean"),
        ("dynamic_node_properties", "node-properties"),
        ("distribution_mode", "distribution-mode"),
        ("filter", "filter-set"),
        ("default_outcome", "outcome"),
        ("outcomes", "symbol*"),
        ("capabilities", "symbol*"),
    )
    WIRE: ClassVar[tuple[tuple[str, str, object, bool, bool], ...]] = (
        ("address", "address", None, False, False),
        ("durable", "terminus-durability", 0, False, False),
        ("expiry_policy", "terminus-expiry-policy", SESSION_END, False, False),
        ("timeout", "seconds", 0, False, False),
        ("dynamic", "boolean", False, False, False),
        ("dynamic_node_properties", "node-properties", None, False, False),
        ("distribution_mode", "distribution-mode", None, False, False),
        ("filter", "filter-set", None, False, False),
        ("default_outcome", "outcome", None, False, False),
        ("outcomes", "outcome-symbol", (), False, True),
        ("capabilities", "symbol", (), False, True),
    )
    __match_args__ = (
        "address",
        "durable",
        "expiry_policy",
        "timeout",
        "dynamic",
        "dynamic_node_properties",
        "distribution_mode",
        "filter",
        "default_outcome",
        "outcomes",
        "capabilities",
    )

    address: str | Described | None
    durable: int
    expiry_policy: Symbol
    timeout: int
    dynamic: bool
    dynamic_node_properties: AmqpMap | None
    distribution_mode: Symbol | None
    filter: AmqpMap | None
    default_outcome: DeliveryState | Described | None
    outcomes: tuple[Symbol, ...]
    capabilities: tuple[Symbol, ...]

    def __init__(
        self,
        address: str | Described | None = None,
        durable: int = 0,
        expiry_policy: Symbol | str = SESSION_END,
        timeout: int = 0,
        dynamic: bool = False,
        dynamic_node_properties: AmqpMap | None = None,
        distribution_mode: Symbol | str | None = None,
        filter: AmqpMap | None = None,
        default_outcome: DeliveryState | Described | None = None,
        outcomes: Sequence[Symbol | str] = (),
        capabilities: Sequence[Symbol | str] = (),
    ) -> None:
        self.address = address
        self.durable = durable
        self.expiry_policy = to_symbol(expiry_policy)
        self.timeout = timeout
        self.dynamic = dynamic
        self.dynamic_node_properties = dynamic_node_properties
        self.distribution_mode = None if distribution_mode is None else to_symbol(distribution_mode)
        self.filter = filter
        self.default_outcome = default_outcome
        self.outcomes = to_symbols(outcomes)
        self.capabilities = to_symbols(capabilities)
        self.wire = None


class Target(Composite):
    """target (1.0 part 3, amqp:target:list, 0x29).

    `durable`: 0 none, 1 configuration, 2 unsettled state; `timeout`: seconds.
    """

    __slots__ = (
        "address",
        "capabilities",
        "durable",
        "dynamic",
        "dynamic_node_properties",
        "expiry_policy",
        "timeout",
    )

    NAME: ClassVar[str] = "target"
    CODE: ClassVar[int] = 0x29
    SYMBOL: ClassVar[Symbol] = Symbol("amqp:target:list")
    FIELDS: ClassVar[tuple[tuple[str, str], ...]] = (
        ("address", "address"),
        ("durable", "terminus-durability"),
        ("expiry_policy", "terminus-expiry-policy"),
        ("timeout", "seconds"),
        ("dynamic", "boolean"),
        ("dynamic_node_properties", "node-properties"),
        ("capabilities", "symbol*"),
    )
    WIRE: ClassVar[tuple[tuple[str, str, object, bool, bool], ...]] = (
        ("address", "address", None, False, False),
        ("durable", "terminus-durability", 0, False, False),
        ("expiry_policy", "terminus-expiry-policy", SESSION_END, False, False),
        ("timeout", "seconds", 0, False, False),
        ("dynamic", "boolean", False, False, False),
        ("dynamic_node_properties", "node-properties", None, False, False),
        ("capabilities", "symbol", (), False, True),
    )
    __match_args__ = (
        "address",
        "durable",
        "expiry_policy",
        "timeout",
        "dynamic",
        "dynamic_node_properties",
        "capabilities",
    )

    address: str | Described | None
    durable: int
    expiry_policy: Symbol
    timeout: int
    dynamic: bool
    dynamic_node_properties: AmqpMap | None
    capabilities: tuple[Symbol, ...]

    def __init__(
        self,
        address: str | Described | None = None,
        durable: int = 0,
        expiry_policy: Symbol | str = SESSION_END,
        timeout: int = 0,
        dynamic: bool = False,
        dynamic_node_properties: AmqpMap | None = None,
        capabilities: Sequence[Symbol | str] = (),
    ) -> None:
        self.address = address
        self.durable = durable
        self.expiry_policy = to_symbol(expiry_policy)
        self.timeout = timeout
        self.dynamic = dynamic
        self.dynamic_node_properties = dynamic_node_properties
        self.capabilities = to_symbols(capabilities)
        self.wire = None


class DeleteOnClose(Composite):
    """delete-on-close (1.0 part 3, amqp:delete-on-close:list, 0x2b)."""

    __slots__ = ()

    NAME: ClassVar[str] = "delete-on-close"
    CODE: ClassVar[int] = 0x2B
    SYMBOL: ClassVar[Symbol] = Symbol("amqp:delete-on-close:list")

    def __init__(self) -> None:
        self.wire = None


class DeleteOnNoLinks(Composite):
    """delete-on-no-links (1.0 part 3, amqp:delete-on-no-links:list, 0x2c)."""

    __slots__ = ()

    NAME: ClassVar[str] = "delete-on-no-links"
    CODE: ClassVar[int] = 0x2C
    SYMBOL: ClassVar[Symbol] = Symbol("amqp:delete-on-no-links:list")

    def __init__(self) -> None:
        self.wire = None


class DeleteOnNoMessages(Composite):
    """delete-on-no-messages (1.0 part 3, amqp:delete-on-no-messages:list, 0x2d)."""

    __slots__ = ()

    NAME: ClassVar[str] = "delete-on-no-messages"
    CODE: ClassVar[int] = 0x2D
    SYMBOL: ClassVar[Symbol] = Symbol("amqp:delete-on-no-messages:list")

    def __init__(self) -> None:
        self.wire = None


class DeleteOnNoLinksOrMessages(Composite):
    """delete-on-no-links-or-messages (1.0 part 3, amqp:delete-on-no-links-or-messages:list, 0x2e).
    """

    __slots__ = ()

    NAME: ClassVar[str] = "delete-on-no-links-or-messages"
    CODE: ClassVar[int] = 0x2E
    SYMBOL: ClassVar[Symbol] = Symbol("amqp:delete-on-no-links-or-messages:list")

    def __init__(self) -> None:
        self.wire = None


class Coordinator(Composite):
    """coordinator (1.0 part 4, amqp:coordinator:list, 0x30)."""

    __slots__ = ("capabilities",)

    NAME: ClassVar[str] = "coordinator"
    CODE: ClassVar[int] = 0x30
    SYMBOL: ClassVar[Symbol] = Symbol("amqp:coordinator:list")
    FIELDS: ClassVar[tuple[tuple[str, str], ...]] = (
        ("capabilities", "txn-capability*"),
    )
    WIRE: ClassVar[tuple[tuple[str, str, object, bool, bool], ...]] = (
        ("capabilities", "txn-capability", (), False, True),
    )
    __match_args__ = ("capabilities",)

    capabilities: tuple[Symbol, ...]

    def __init__(
        self,
        capabilities: Sequence[Symbol | str] = (),
    ) -> None:
        self.capabilities = to_symbols(capabilities)
        self.wire = None


class Declare(Composite):
    """declare (1.0 part 4, amqp:declare:list, 0x31)."""

    __slots__ = ("global_id",)

    NAME: ClassVar[str] = "declare"
    CODE: ClassVar[int] = 0x31
    SYMBOL: ClassVar[Symbol] = Symbol("amqp:declare:list")
    FIELDS: ClassVar[tuple[tuple[str, str], ...]] = (
        ("global_id", "global-tx-id"),
    )
    WIRE: ClassVar[tuple[tuple[str, str, object, bool, bool], ...]] = (
        ("global_id", "global-tx-id", None, False, False),
    )
    __match_args__ = ("global_id",)

    global_id: Any

    def __init__(
        self,
        global_id: Any = None,
    ) -> None:
        self.global_id = global_id
        self.wire = None


class Discharge(Composite):
    """discharge (1.0 part 4, amqp:discharge:list, 0x32)."""

    __slots__ = ("fail", "txn_id")

    NAME: ClassVar[str] = "discharge"
    CODE: ClassVar[int] = 0x32
    SYMBOL: ClassVar[Symbol] = Symbol("amqp:discharge:list")
    FIELDS: ClassVar[tuple[tuple[str, str], ...]] = (
        ("txn_id", "txn-id"),
        ("fail", "boolean"),
    )
    WIRE: ClassVar[tuple[tuple[str, str, object, bool, bool], ...]] = (
        ("txn_id", "txn-id", None, True, False),
        ("fail", "boolean", None, False, False),
    )
    __match_args__ = ("txn_id", "fail")

    txn_id: bytes | Described
    fail: bool | None

    def __init__(
        self,
        txn_id: bytes | Described,
        fail: bool | None = None,
    ) -> None:
        self.txn_id = txn_id
        self.fail = fail
        self.wire = None


class Declared(DeliveryState):
    """declared (1.0 part 4, amqp:declared:list, 0x33)."""

    __slots__ = ("txn_id",)

    NAME: ClassVar[str] = "declared"
    CODE: ClassVar[int] = 0x33
    SYMBOL: ClassVar[Symbol] = Symbol("amqp:declared:list")
    OUTCOME: ClassVar[bool] = True
    FIELDS: ClassVar[tuple[tuple[str, str], ...]] = (
        ("txn_id", "txn-id"),
    )
    WIRE: ClassVar[tuple[tuple[str, str, object, bool, bool], ...]] = (
        ("txn_id", "txn-id", None, True, False),
    )
    __match_args__ = ("txn_id",)

    txn_id: bytes | Described

    def __init__(
        self,
        txn_id: bytes | Described,
    ) -> None:
        self.txn_id = txn_id
        self.wire = None


class TransactionalState(DeliveryState):
    """transactional-state (1.0 part 4, amqp:transactional-state:list, 0x34)."""

    __slots__ = ("outcome", "txn_id")

    NAME: ClassVar[str] = "transactional-state"
    CODE: ClassVar[int] = 0x34
    SYMBOL: ClassVar[Symbol] = Symbol("amqp:transactional-state:list")
    FIELDS: ClassVar[tuple[tuple[str, str], ...]] = (
        ("txn_id", "txn-id"),
        ("outcome", "outcome"),
    )
    WIRE: ClassVar[tuple[tuple[str, str, object, bool, bool], ...]] = (
        ("txn_id", "txn-id", None, True, False),
        ("outcome", "outcome", None, False, False),
    )
    __match_args__ = ("txn_id", "outcome")

    txn_id: bytes | Described
    outcome: DeliveryState | Described | None

    def __init__(
        self,
        txn_id: bytes | Described,
        outcome: DeliveryState | Described | None = None,
    ) -> None:
        self.txn_id = txn_id
        self.outcome = outcome
        self.wire = None


class SaslMechanisms(SaslFrame):
    """sasl-mechanisms (1.0 part 5, amqp:sasl-mechanisms:list, 0x40)."""

    __slots__ = ("sasl_server_mechanisms",)

    NAME: ClassVar[str] = "sasl-mechanisms"
    CODE: ClassVar[int] = 0x40
    SYMBOL: ClassVar[Symbol] = Symbol("amqp:sasl-mechanisms:list")
    FIELDS: ClassVar[tuple[tuple[str, str], ...]] = (
        ("sasl_server_mechanisms", "symbol*"),
    )
    WIRE: ClassVar[tuple[tuple[str, str, object, bool, bool], ...]] = (
        ("sasl_server_mechanisms", "symbol", (), True, True),
    )
    __match_args__ = ("sasl_server_mechanisms",)

    sasl_server_mechanisms: tuple[Symbol, ...]

    def __init__(
        self,
        sasl_server_mechanisms: Sequence[Symbol | str],
    ) -> None:
        self.sasl_server_mechanisms = to_symbols(sasl_server_mechanisms)
        self.wire = None


class SaslInit(SaslFrame):
    """sasl-init (1.0 part 5, amqp:sasl-init:list, 0x41)."""

    __slots__ = ("hostname", "initial_response", "mechanism")

    NAME: ClassVar[str] = "sasl-init"
    CODE: ClassVar[int] = 0x41
    SYMBOL: ClassVar[Symbol] = Symbol("amqp:sasl-init:list")
    SECRETS: ClassVar[tuple[str, ...]] = ("initial_response",)
    FIELDS: ClassVar[tuple[tuple[str, str], ...]] = (
        ("mechanism", "symbol"),
        ("initial_response", "binary"),
        ("hostname", "string"),
    )
    WIRE: ClassVar[tuple[tuple[str, str, object, bool, bool], ...]] = (
        ("mechanism", "symbol", None, True, False),
        ("initial_response", "binary", None, False, False),
        ("hostname", "string", None, False, False),
    )
    __match_args__ = ("mechanism", "initial_response", "hostname")

    mechanism: Symbol
    initial_response: bytes | None
    hostname: str | None

    def __init__(
        self,
        mechanism: Symbol | str,
        initial_response: bytes | None = None,
        hostname: str | None = None,
    ) -> None:
        self.mechanism = to_symbol(mechanism)
        self.initial_response = initial_response
        self.hostname = hostname
        self.wire = None


class SaslChallenge(SaslFrame):
    """sasl-challenge (1.0 part 5, amqp:sasl-challenge:list, 0x42)."""

    __slots__ = ("challenge",)

    NAME: ClassVar[str] = "sasl-challenge"
    CODE: ClassVar[int] = 0x42
    SYMBOL: ClassVar[Symbol] = Symbol("amqp:sasl-challenge:list")
    FIELDS: ClassVar[tuple[tuple[str, str], ...]] = (
        ("challenge", "binary"),
    )
    WIRE: ClassVar[tuple[tuple[str, str, object, bool, bool], ...]] = (
        ("challenge", "binary", None, True, False),
    )
    __match_args__ = ("challenge",)

    challenge: bytes

    def __init__(
        self,
        challenge: bytes,
    ) -> None:
        self.challenge = challenge
        self.wire = None


class SaslResponse(SaslFrame):
    """sasl-response (1.0 part 5, amqp:sasl-response:list, 0x43)."""

    __slots__ = ("response",)

    NAME: ClassVar[str] = "sasl-response"
    CODE: ClassVar[int] = 0x43
    SYMBOL: ClassVar[Symbol] = Symbol("amqp:sasl-response:list")
    SECRETS: ClassVar[tuple[str, ...]] = ("response",)
    FIELDS: ClassVar[tuple[tuple[str, str], ...]] = (
        ("response", "binary"),
    )
    WIRE: ClassVar[tuple[tuple[str, str, object, bool, bool], ...]] = (
        ("response", "binary", None, True, False),
    )
    __match_args__ = ("response",)

    response: bytes

    def __init__(
        self,
        response: bytes,
    ) -> None:
        self.response = response
        self.wire = None


class SaslOutcome(SaslFrame):
    """sasl-outcome (1.0 part 5, amqp:sasl-outcome:list, 0x44).

    `code`: 0 ok, 1 wrong credentials, 2 system error, 3 for good, 4 for a while.
    """

    __slots__ = ("additional_data", "code")

    NAME: ClassVar[str] = "sasl-outcome"
    CODE: ClassVar[int] = 0x44
    SYMBOL: ClassVar[Symbol] = Symbol("amqp:sasl-outcome:list")
    FIELDS: ClassVar[tuple[tuple[str, str], ...]] = (
        ("code", "sasl-code"),
        ("additional_data", "binary"),
    )
    WIRE: ClassVar[tuple[tuple[str, str, object, bool, bool], ...]] = (
        ("code", "sasl-code", None, True, False),
        ("additional_data", "binary", None, False, False),
    )
    __match_args__ = ("code", "additional_data")

    code: int
    additional_data: bytes | None

    def __init__(
        self,
        code: int,
        additional_data: bytes | None = None,
    ) -> None:
        self.code = code
        self.additional_data = additional_data
        self.wire = None


class Header(Composite):
    """header (1.0 part 3, amqp:header:list, 0x70).

    `ttl`: milliseconds.
    """

    __slots__ = ("delivery_count", "durable", "first_acquirer", "priority", "ttl")

    NAME: ClassVar[str] = "header"
    CODE: ClassVar[int] = 0x70
    SYMBOL: ClassVar[Symbol] = Symbol("amqp:header:list")
    FIELDS: ClassVar[tuple[tuple[str, str], ...]] = (
        ("durable", "boolean"),
        ("priority", "ubyte"),
        ("ttl", "milliseconds"),
        ("first_acquirer", "boolean"),
        ("delivery_count", "uint"),
    )
    WIRE: ClassVar[tuple[tuple[str, str, object, bool, bool], ...]] = (
        ("durable", "boolean", False, False, False),
        ("priority", "ubyte", 4, False, False),
        ("ttl", "milliseconds", None, False, False),
        ("first_acquirer", "boolean", False, False, False),
        ("delivery_count", "uint", 0, False, False),
    )
    __match_args__ = ("durable", "priority", "ttl", "first_acquirer", "delivery_count")

    durable: bool
    priority: int
    ttl: int | None
    first_acquirer: bool
    delivery_count: int

    def __init__(
        self,
        durable: bool = False,
        priority: int = 4,
        ttl: int | None = None,
        first_acquirer: bool = False,
        delivery_count: int = 0,
    ) -> None:
        self.durable = durable
        self.priority = priority
        self.ttl = ttl
        self.first_acquirer = first_acquirer
        self.delivery_count = delivery_count
        self.wire = None

    @staticmethod
    def fast(buf: bytes, pos: int, end: int, start: int) -> tuple[Header, int]:
        """Read the list at `pos`; raises one of READ_FAULTS for whatever is out of the ordinary."""
        code = buf[pos]
        if code == 0xC0:
            stop = pos + 2 + buf[pos + 1]
            count = buf[pos + 2]
            pos += 3
        elif code == 0xD0:
            size, count = READ_TWO_U32(buf, pos + 1)
            stop = pos + 5 + size
            pos += 9
        else:
            raise ValueError
        if stop > end or count > 5:
            raise ValueError
        found: Header = NEW(Header)
        if count:
            code = buf[pos]
            if code == 0x41:
                found.durable = True
                pos += 1
            elif code == 0x42 or code == 0x40:
                found.durable = False
                pos += 1
            elif code == 0x56 and buf[pos + 1] < 2:
                found.durable = buf[pos + 1] == 1
                pos += 2
            else:
                raise ValueError
            if count > 1:
                code = buf[pos]
                if code == 0x50:
                    found.priority = buf[pos + 1]
                    pos += 2
                elif code == 0x40:
                    found.priority = 4
                    pos += 1
                else:
                    raise ValueError
                if count > 2:
                    code = buf[pos]
                    if code == 0x40:
                        found.ttl = None
                        pos += 1
                    elif code == 0x52:
                        found.ttl = buf[pos + 1]
                        pos += 2
                    elif code == 0x70:
                        found.ttl = READ_U32(buf, pos + 1)[0]
                        pos += 5
                    elif code == 0x43:
                        found.ttl = 0
                        pos += 1
                    else:
                        raise ValueError
                    if count > 3:
                        code = buf[pos]
                        if code == 0x41:
                            found.first_acquirer = True
                            pos += 1
                        elif code == 0x42 or code == 0x40:
                            found.first_acquirer = False
                            pos += 1
                        elif code == 0x56 and buf[pos + 1] < 2:
                            found.first_acquirer = buf[pos + 1] == 1
                            pos += 2
                        else:
                            raise ValueError
                        if count > 4:
                            code = buf[pos]
                            if code == 0x52:
                                found.delivery_count = buf[pos + 1]
                                pos += 2
                            elif code == 0x70:
                                found.delivery_count = READ_U32(buf, pos + 1)[0]
                                pos += 5
                            elif code == 0x43 or code == 0x40:
                                found.delivery_count = 0
                                pos += 1
                            else:
                                raise ValueError
                        else:
                            found.delivery_count = 0
                    else:
                        found.first_acquirer = False
                        found.delivery_count = 0
                else:
                    found.ttl = None
                    found.first_acquirer = False
                    found.delivery_count = 0
            else:
                found.priority = 4
                found.ttl = None
                found.first_acquirer = False
                found.delivery_count = 0
        else:
            found.durable = False
            found.priority = 4
            found.ttl = None
            found.first_acquirer = False
            found.delivery_count = 0
        if pos != stop:
            raise ValueError
        found.wire = buf[start:stop]
        return found, stop

    def encode(self) -> bytes:
        if self.wire is not None:
            return self.wire
        try:
            durable = self.durable
            item0 = NULL if durable is False else BOOLEANS[durable]
            priority = self.priority
            if priority == 4:
                item1 = NULL
            elif priority >= 0:
                item1 = UBYTES[priority]
            else:
                item1 = raising(priority)
            ttl = self.ttl
            if ttl is None:
                item2 = NULL
            elif 0 <= ttl < 256:
                item2 = UINTS[ttl]
            else:
                item2 = PACK_U32(0x70, ttl)
            first_acquirer = self.first_acquirer
            item3 = NULL if first_acquirer is False else BOOLEANS[first_acquirer]
            delivery_count = self.delivery_count
            if delivery_count == 0:
                item4 = NULL
            elif 0 <= delivery_count < 256:
                item4 = UINTS[delivery_count]
            else:
                item4 = PACK_U32(0x70, delivery_count)
            if item4 is not NULL:
                octets = JOIN((item0, item1, item2, item3, item4))
                count = 5
            elif item3 is not NULL:
                octets = JOIN((item0, item1, item2, item3))
                count = 4
            elif item2 is not NULL:
                octets = JOIN((item0, item1, item2))
                count = 3
            elif item1 is not NULL:
                octets = JOIN((item0, item1))
                count = 2
            elif item0 is not NULL:
                octets = JOIN((item0,))
                count = 1
            else:
                return b"\x00\x53\x70\x45"
            return b"\x00\x53\x70\xc0%c%c%b" % (len(octets) + 1, count, octets)
        except WRITE_FAULTS:
            pass
        return b"\x00\x53\x70" + write_slowly(self)


class Properties(Composite):
    """properties (1.0 part 3, amqp:properties:list, 0x73).

    `absolute_expiry_time`: milliseconds since 1970 UTC; `creation_time`: milliseconds since
    1970 UTC; `group_sequence`: a serial number of 32 bits.
    """

    __slots__ = (
        "absolute_expiry_time",
        "content_encoding",
        "content_type",
        "correlation_id",
        "creation_time",
        "group_id",
        "group_sequence",
        "message_id",
        "reply_to",
        "reply_to_group_id",
        "subject",
        "to",
        "user_id",
    )

    NAME: ClassVar[str] = "properties"
    CODE: ClassVar[int] = 0x73
    SYMBOL: ClassVar[Symbol] = Symbol("amqp:properties:list")
    FIELDS: ClassVar[tuple[tuple[str, str], ...]] = (
        ("message_id", "message-id"),
        ("user_id", "binary"),
        ("to", "address"),
        ("subject", "string"),
        ("reply_to", "address"),
        ("correlation_id", "message-id"),
        ("content_type", "symbol"),
        ("content_encoding", "symbol"),
        ("absolute_expiry_time", "timestamp"),
        ("creation_time", "timestamp"),
        ("group_id", "string"),
        ("group_sequence", "sequence-no"),
        ("reply_to_group_id", "string"),
    )
    WIRE: ClassVar[tuple[tuple[str, str, object, bool, bool], ...]] = (
        ("message_id", "message-id", None, False, False),
        ("user_id", "binary", None, False, False),
        ("to", "address", None, False, False),
        ("subject", "string", None, False, False),
        ("reply_to", "address", None, False, False),
        ("correlation_id", "message-id", None, False, False),
        ("content_type", "symbol", None, False, False),
        ("content_encoding", "symbol", None, False, False),
        ("absolute_expiry_time", "timestamp", None, False, False),
        ("creation_time", "timestamp", None, False, False),
        ("group_id", "string", None, False, False),
        ("group_sequence", "sequence-no", None, False, False),
        ("reply_to_group_id", "string", None, False, False),
    )
    __match_args__ = (
        "message_id",
        "user_id",
        "to",
        "subject",
        "reply_to",
        "correlation_id",
        "content_type",
        "content_encoding",
        "absolute_expiry_time",
        "creation_time",
        "group_id",
        "group_sequence",
        "reply_to_group_id",
    )

    message_id: int | UUID | bytes | str | None
    user_id: bytes | None
    to: str | Described | None
    subject: str | None
    reply_to: str | Described | None
    correlation_id: int | UUID | bytes | str | None
    content_type: Symbol | None
    content_encoding: Symbol | None
    absolute_expiry_time: Timestamp | None
    creation_time: Timestamp | None
    group_id: str | None
    group_sequence: int | None
    reply_to_group_id: str | None

    def __init__(
        self,
        message_id: int | UUID | bytes | str | None = None,
        user_id: bytes | None = None,
        to: str | Described | None = None,
        subject: str | None = None,
        reply_to: str | Described | None = None,
        correlation_id: int | UUID | bytes | str | None = None,
        content_type: Symbol | str | None = None,
        content_encoding: Symbol | str | None = None,
        absolute_expiry_time: Timestamp | datetime | int | None = None,
        creation_time: Timestamp | datetime | int | None = None,
        group_id: str | None = None,
        group_sequence: int | None = None,
        reply_to_group_id: str | None = None,
    ) -> None:
        self.message_id = message_id
        self.user_id = user_id
        self.to = to
        self.subject = subject
        self.reply_to = reply_to
        self.correlation_id = correlation_id
        self.content_type = None if content_type is None else to_symbol(content_type)
        self.content_encoding = None if content_encoding is None else to_symbol(content_encoding)
        self.absolute_expiry_time = None if absolute_expiry_time is None else to_timestamp(absolute_expiry_time)
        self.creation_time = None if creation_time is None else to_timestamp(creation_time)
        self.group_id = group_id
        self.group_sequence = group_sequence
        self.reply_to_group_id = reply_to_group_id
        self.wire = None

    @staticmethod
    def _read(buf: bytes, pos: int, end: int, start: int) -> tuple[Properties, int]:
        """Read the list at `pos`; raises one of READ_FAULTS for whatever is out of the ordinary."""
        code = buf[pos]
        if code == 0xC0:
            stop = pos + 2 + buf[pos + 1]
            count = buf[pos + 2]
            pos += 3
        elif code == 0xD0:
            size, count = READ_TWO_U32(buf, pos + 1)
            stop = pos + 5 + size
            pos += 9
        else:
            raise ValueError
        if stop > end or count > 13:
            raise ValueError
        found: Properties = NEW(Properties)
        if count:
            code = buf[pos]
            if code == 0xA1:
                at = pos + 2
                pos = at + buf[pos + 1]
                found.message_id = buf[at:pos].decode()
            elif code == 0x40:
                found.message_id = None
                pos += 1
            elif code == 0x98:
                at = pos + 1
                pos = at + 16
                found.message_id = read_uuid(buf, at)
            elif code == 0x53:
                found.message_id = buf[pos + 1]
                pos += 2
            elif code == 0x80:
                found.message_id = READ_U64(buf, pos + 1)[0]
                pos += 9
            elif code == 0xA0:
                at = pos + 2
                pos = at + buf[pos + 1]
                found.message_id = buf[at:pos]
            else:
                raise ValueError
            if count > 1:
                code = buf[pos]
                if code == 0x40:
                    found.user_id = None
                    pos += 1
                elif code == 0xA0:
                    at = pos + 2
                    pos = at + buf[pos + 1]
                    found.user_id = buf[at:pos]
                elif code == 0xB0:
                    at = pos + 5
                    pos = at + READ_U32(buf, pos + 1)[0]
                    found.user_id = buf[at:pos]
                else:
                    raise ValueError
                if count > 2:
                    code = buf[pos]
                    if code == 0xA1:
                        at = pos + 2
                        pos = at + buf[pos + 1]
                        found.to = buf[at:pos].decode()
                    elif code == 0x40:
                        found.to = None
                        pos += 1
                    elif code == 0xB1:
                        at = pos + 5
                        pos = at + READ_U32(buf, pos + 1)[0]
                        found.to = buf[at:pos].decode()
                    else:
                        raise ValueError
                    if count > 3:
                        code = buf[pos]
                        if code == 0xA1:
                            at = pos + 2
                            pos = at + buf[pos + 1]
                            found.subject = buf[at:pos].decode()
                        elif code == 0x40:
                            found.subject = None
                            pos += 1
                        elif code == 0xB1:
                            at = pos + 5
                            pos = at + READ_U32(buf, pos + 1)[0]
                            found.subject = buf[at:pos].decode()
                        else:
                            raise ValueError
                        if count > 4:
                            word, code, size = READ_U16_TWO_U8(buf, pos)
                            if word == 0x4040 and code == 0xA3 and count > 6:
                                at = pos + 4
                                pos = at + size
                                found.reply_to = None
                                found.correlation_id = None
                                raw = buf[at:pos]
                                found.content_type = SYMBOLS.get(raw) or Symbol(raw, "ascii")
                            else:
                                code = buf[pos]
                                if code == 0x40:
                                    found.reply_to = None
                                    pos += 1
                                elif code == 0xA1:
                                    at = pos + 2
                                    pos = at + buf[pos + 1]
                                    found.reply_to = buf[at:pos].decode()
                                elif code == 0xB1:
                                    at = pos + 5
                                    pos = at + READ_U32(buf, pos + 1)[0]
                                    found.reply_to = buf[at:pos].decode()
                                else:
                                    raise ValueError
                                if count > 5:
                                    code = buf[pos]
                                    if code == 0x40:
                                        found.correlation_id = None
                                        pos += 1
                                    elif code == 0xA1:
                                        at = pos + 2
                                        pos = at + buf[pos + 1]
                                        found.correlation_id = buf[at:pos].decode()
                                    elif code == 0x98:
                                        at = pos + 1
                                        pos = at + 16
                                        found.correlation_id = read_uuid(buf, at)
                                    elif code == 0x53:
                                        found.correlation_id = buf[pos + 1]
                                        pos += 2
                                    elif code == 0x80:
                                        found.correlation_id = READ_U64(buf, pos + 1)[0]
                                        pos += 9
                                    elif code == 0xA0:
                                        at = pos + 2
                                        pos = at + buf[pos + 1]
                                        found.correlation_id = buf[at:pos]
                                    else:
                                        raise ValueError
                                else:
                                    found.correlation_id = None
                                if count > 6:
                                    code = buf[pos]
                                    if code == 0xA3:
                                        at = pos + 2
                                        pos = at + buf[pos + 1]
                                        raw = buf[at:pos]
                                        found.content_type = SYMBOLS.get(raw) or Symbol(raw, "ascii")
                                    elif code == 0x40:
                                        found.content_type = None
                                        pos += 1
                                    elif code == 0xB3:
                                        at = pos + 5
                                        pos = at + READ_U32(buf, pos + 1)[0]
                                        raw = buf[at:pos]
                                        found.content_type = SYMBOLS.get(raw) or Symbol(raw, "ascii")
                                    else:
                                        raise ValueError
                                else:
                                    found.content_type = None
                            if count > 7:
                                word, code, moment = READ_U16_U8_I64(buf, pos)
                                if word == 0x4040 and code == 0x83 and count > 9:
                                    found.content_encoding = None
                                    found.absolute_expiry_time = None
                                    found.creation_time = INT(Timestamp, moment)
                                    pos += 11
                                else:
                                    code = buf[pos]
                                    if code == 0x40:
                                        found.content_encoding = None
                                        pos += 1
                                    elif code == 0xA3:
                                        at = pos + 2
                                        pos = at + buf[pos + 1]
                                        raw = buf[at:pos]
                                        found.content_encoding = SYMBOLS.get(raw) or Symbol(raw, "ascii")
                                    elif code == 0xB3:
                                        at = pos + 5
                                        pos = at + READ_U32(buf, pos + 1)[0]
                                        raw = buf[at:pos]
                                        found.content_encoding = SYMBOLS.get(raw) or Symbol(raw, "ascii")
                                    else:
                                        raise ValueError
                                    if count > 8:
                                        code = buf[pos]
                                        if code == 0x40:
                                            found.absolute_expiry_time = None
                                            pos += 1
                                        elif code == 0x83:
                                            (moment,) = READ_I64(buf, pos + 1)
                                            found.absolute_expiry_time = INT(Timestamp, moment)
                                            pos += 9
                                        else:
                                            raise ValueError
                                    else:
                                        found.absolute_expiry_time = None
                                    if count > 9:
                                        code = buf[pos]
                                        if code == 0x83:
                                            (moment,) = READ_I64(buf, pos + 1)
                                            found.creation_time = INT(Timestamp, moment)
                                            pos += 9
                                        elif code == 0x40:
                                            found.creation_time = None
                                            pos += 1
                                        else:
                                            raise ValueError
                                    else:
                                        found.creation_time = None
                                if count > 10:
                                    code = buf[pos]
                                    if code == 0x40:
                                        found.group_id = None
                                        pos += 1
                                    elif code == 0xA1:
                                        at = pos + 2
                                        pos = at + buf[pos + 1]
                                        found.group_id = buf[at:pos].decode()
                                    elif code == 0xB1:
                                        at = pos + 5
                                        pos = at + READ_U32(buf, pos + 1)[0]
                                        found.group_id = buf[at:pos].decode()
                                    else:
                                        raise ValueError
                                    if count > 11:
                                        code = buf[pos]
                                        if code == 0x40:
                                            found.group_sequence = None
                                            pos += 1
                                        elif code == 0x52:
                                            found.group_sequence = buf[pos + 1]
                                            pos += 2
                                        elif code == 0x70:
                                            found.group_sequence = READ_U32(buf, pos + 1)[0]
                                            pos += 5
                                        elif code == 0x43:
                                            found.group_sequence = 0
                                            pos += 1
                                        else:
                                            raise ValueError
                                        if count > 12:
                                            code = buf[pos]
                                            if code == 0x40:
                                                found.reply_to_group_id = None
                                                pos += 1
                                            elif code == 0xA1:
                                                at = pos + 2
                                                pos = at + buf[pos + 1]
                                                found.reply_to_group_id = buf[at:pos].decode()
                                            elif code == 0xB1:
                                                at = pos + 5
                                                pos = at + READ_U32(buf, pos + 1)[0]
                                                found.reply_to_group_id = buf[at:pos].decode()
                                            else:
                                                raise ValueError
                                        else:
                                            found.reply_to_group_id = None
                                    else:
                                        found.group_sequence = None
                                        found.reply_to_group_id = None
                                else:
                                    found.group_id = None
                                    found.group_sequence = None
                                    found.reply_to_group_id = None
                            else:
                                found.content_encoding = None
                                found.absolute_expiry_time = None
                                found.creation_time = None
                                found.group_id = None
                                found.group_sequence = None
                                found.reply_to_group_id = None
                        else:
                            found.reply_to = None
                            found.correlation_id = None
                            found.content_type = None
                            found.content_encoding = None
                            found.absolute_expiry_time = None
                            found.creation_time = None
                            found.group_id = None
                            found.group_sequence = None
                            found.reply_to_group_id = None
                    else:
                        found.subject = None
                        found.reply_to = None
                        found.correlation_id = None
                        found.content_type = None
                        found.content_encoding = None
                        found.absolute_expiry_time = None
                        found.creation_time = None
                        found.group_id = None
                        found.group_sequence = None
                        found.reply_to_group_id = None
                else:
                    found.to = None
                    found.subject = None
                    found.reply_to = None
                    found.correlation_id = None
                    found.content_type = None
                    found.content_encoding = None
                    found.absolute_expiry_time = None
                    found.creation_time = None
                    found.group_id = None
                    found.group_sequence = None
                    found.reply_to_group_id = None
            else:
                found.user_id = None
                found.to = None
                found.subject = None
                found.reply_to = None
                found.correlation_id = None
                found.content_type = None
                found.content_encoding = None
                found.absolute_expiry_time = None
                found.creation_time = None
                found.group_id = None
                found.group_sequence = None
                found.reply_to_group_id = None
        else:
            found.message_id = None
            found.user_id = None
            found.to = None
            found.subject = None
            found.reply_to = None
            found.correlation_id = None
            found.content_type = None
            found.content_encoding = None
            found.absolute_expiry_time = None
            found.creation_time = None
            found.group_id = None
            found.group_sequence = None
            found.reply_to_group_id = None
        if pos != stop:
            raise ValueError
        found.wire = buf[start:stop]
        return found, stop

    @staticmethod
    def _scan(buf: bytes, pos: int, end: int, start: int) -> tuple[Properties, int]:
        found = scan_list(buf, start, pos, end, _PROPERTIES, _MAKE_PROPERTIES)
        if found is not None:
            return found
        return Properties._read(buf, pos, end, start)

    fast = _scan if COMPILED else _read
    """Read the list at `pos`; raises one of READ_FAULTS for whatever is out of the ordinary."""

    def encode(self) -> bytes:
        if self.wire is not None:
            return self.wire
        try:
            message_id = self.message_id
            if message_id is None:
                item0 = NULL
            elif isinstance(message_id, str):
                item0 = STRING[len(raw := message_id.encode())] + raw
            else:
                item0 = write_field(self.NAME, "message_id", "message-id", False, False, message_id)
            user_id = self.user_id
            item1 = NULL if user_id is None else BINARY[len(user_id)] + user_id
            to = self.to
            if to is None:
                item2 = NULL
            elif isinstance(to, str):
                item2 = STRING[len(raw := to.encode())] + raw
            else:
                item2 = write_field(self.NAME, "to", "address", False, False, to)
            subject = self.subject
            item3 = NULL if subject is None else STRING[len(raw := subject.encode())] + raw
            reply_to = self.reply_to
            if reply_to is None:
                item4 = NULL
            elif isinstance(reply_to, str):
                item4 = STRING[len(raw := reply_to.encode())] + raw
            else:
                item4 = write_field(self.NAME, "reply_to", "address", False, False, reply_to)
            correlation_id = self.correlation_id
            if correlation_id is None:
                item5 = NULL
            elif isinstance(correlation_id, str):
                item5 = STRING[len(raw := correlation_id.encode())] + raw
            else:
                item5 = write_field(self.NAME, "correlation_id", "message-id", False, False, correlation_id)
            content_type = self.content_type
            item6 = NULL if content_type is None else SYMBOL[len(raw := content_type.encode("ascii"))] + raw
            content_encoding = self.content_encoding
            item7 = NULL if content_encoding is None else SYMBOL[len(raw := content_encoding.encode("ascii"))] + raw
            absolute_expiry_time = self.absolute_expiry_time
            item8 = NULL if absolute_expiry_time is None else PACK_I64(0x83, absolute_expiry_time)
            creation_time = self.creation_time
            item9 = NULL if creation_time is None else PACK_I64(0x83, creation_time)
            group_id = self.group_id
            item10 = NULL if group_id is None else STRING[len(raw := group_id.encode())] + raw
            group_sequence = self.group_sequence
            if group_sequence is None:
                item11 = NULL
            elif 0 <= group_sequence < 256:
                item11 = UINTS[group_sequence]
            else:
                item11 = PACK_U32(0x70, group_sequence)
            reply_to_group_id = self.reply_to_group_id
            item12 = NULL if reply_to_group_id is None else STRING[len(raw := reply_to_group_id.encode())] + raw
            if item12 is not NULL:
                octets = JOIN(
                    (item0, item1, item2, item3, item4, item5, item6, item7, item8, item9, item10, item11, item12)
                )
                count = 13
            elif item11 is not NULL:
                octets = JOIN(
                    (item0, item1, item2, item3, item4, item5, item6, item7, item8, item9, item10, item11)
                )
                count = 12
            elif item10 is not NULL:
                octets = JOIN(
                    (item0, item1, item2, item3, item4, item5, item6, item7, item8, item9, item10)
                )
                count = 11
            elif item9 is not NULL:
                octets = JOIN(
                    (item0, item1, item2, item3, item4, item5, item6, item7, item8, item9)
                )
                count = 10
            elif item8 is not NULL:
                octets = JOIN((item0, item1, item2, item3, item4, item5, item6, item7, item8))
                count = 9
            elif item7 is not NULL:
                octets = JOIN((item0, item1, item2, item3, item4, item5, item6, item7))
                count = 8
            elif item6 is not NULL:
                octets = JOIN((item0, item1, item2, item3, item4, item5, item6))
                count = 7
            elif item5 is not NULL:
                octets = JOIN((item0, item1, item2, item3, item4, item5))
                count = 6
            elif item4 is not NULL:
                octets = JOIN((item0, item1, item2, item3, item4))
                count = 5
            elif item3 is not NULL:
                octets = JOIN((item0, item1, item2, item3))
                count = 4
            elif item2 is not NULL:
                octets = JOIN((item0, item1, item2))
                count = 3
            elif item1 is not NULL:
                octets = JOIN((item0, item1))
                count = 2
            elif item0 is not NULL:
                octets = JOIN((item0,))
                count = 1
            else:
                return b"\x00\x53\x73\x45"
            return b"\x00\x53\x73\xc0%c%c%b" % (len(octets) + 1, count, octets)
        except WRITE_FAULTS:
            pass
        return b"\x00\x53\x73" + write_slowly(self)


ACCEPTED: Final = Accepted()
"""The accepted state, as it comes in the octets that everybody sends it in."""
ACCEPTED.wire = ACCEPTED_OCTETS

_FLOW: Final = (b"uUUUuuuuffn", SYMBOLS, Symbol, TIMESTAMP, ACCEPTED)
_TRANSFER: Final = (b"Uudubfmafff", SYMBOLS, Symbol, TIMESTAMP, ACCEPTED)
_DISPOSITION: Final = (b"BUufaf", SYMBOLS, Symbol, TIMESTAMP, ACCEPTED)
_PROPERTIES: Final = (b"iosssiyyttsus", SYMBOLS, Symbol, TIMESTAMP, ACCEPTED)
"""The plan of each type for `scan_list`: its fields, and how their values are made."""

if TYPE_CHECKING or COMPILED:
    _MAKE_FLOW: Final = maker(Flow, (*Flow.__match_args__, "wire"), ())
    _MAKE_TRANSFER: Final = maker(Transfer, (*Transfer.__match_args__, "wire"), ())
    _MAKE_DISPOSITION: Final = maker(Disposition, (*Disposition.__match_args__, "wire"), ())
    _MAKE_PROPERTIES: Final = maker(Properties, (*Properties.__match_args__, "wire"), ())

FAST.update(
    {
        0x0053_13C0: Flow.fast_fields,
        0x0053_13D0: Flow.fast_fields,
        0x0053_14C0: Transfer.fast_fields,
        0x0053_14D0: Transfer.fast_fields,
        0x0053_15C0: Disposition.fast_fields,
        0x0053_15D0: Disposition.fast_fields,
    }
)
COMPOSITES.update(
    {
        0x10: Open,
        "amqp:open:list": Open,
        0x11: Begin,
        "amqp:begin:list": Begin,
        0x12: Attach,
        "amqp:attach:list": Attach,
        0x13: Flow,
        "amqp:flow:list": Flow,
        0x14: Transfer,
        "amqp:transfer:list": Transfer,
        0x15: Disposition,
        "amqp:disposition:list": Disposition,
        0x16: Detach,
        "amqp:detach:list": Detach,
        0x17: End,
        "amqp:end:list": End,
        0x18: Close,
        "amqp:close:list": Close,
        0x1D: Error,
        "amqp:error:list": Error,
        0x23: Received,
        "amqp:received:list": Received,
        0x24: Accepted,
        "amqp:accepted:list": Accepted,
        0x25: Rejected,
        "amqp:rejected:list": Rejected,
        0x26: Released,
        "amqp:released:list": Released,
        0x27: Modified,
        "amqp:modified:list": Modified,
        0x28: Source,
        "amqp:source:list": Source,
        0x29: Target,
        "amqp:target:list": Target,
        0x2B: DeleteOnClose,
        "amqp:delete-on-close:list": DeleteOnClose,
        0x2C: DeleteOnNoLinks,
        "amqp:delete-on-no-links:list": DeleteOnNoLinks,
        0x2D: DeleteOnNoMessages,
        "amqp:delete-on-no-messages:list": DeleteOnNoMessages,
        0x2E: DeleteOnNoLinksOrMessages,
        "amqp:delete-on-no-links-or-messages:list": DeleteOnNoLinksOrMessages,
        0x30: Coordinator,
        "amqp:coordinator:list": Coordinator,
        0x31: Declare,
        "amqp:declare:list": Declare,
        0x32: Discharge,
        "amqp:discharge:list": Discharge,
        0x33: Declared,
        "amqp:declared:list": Declared,
        0x34: TransactionalState,
        "amqp:transactional-state:list": TransactionalState,
        0x40: SaslMechanisms,
        "amqp:sasl-mechanisms:list": SaslMechanisms,
        0x41: SaslInit,
        "amqp:sasl-init:list": SaslInit,
        0x42: SaslChallenge,
        "amqp:sasl-challenge:list": SaslChallenge,
        0x43: SaslResponse,
        "amqp:sasl-response:list": SaslResponse,
        0x44: SaslOutcome,
        "amqp:sasl-outcome:list": SaslOutcome,
        0x70: Header,
        "amqp:header:list": Header,
        0x73: Properties,
        "amqp:properties:list": Properties,
    }
)


__all__ = [
    "ACCEPTED",
    "Accepted",
    "Attach",
    "Begin",
    "Close",
    "Composite",
    "Coordinator",
    "Declare",
    "Declared",
    "DeleteOnClose",
    "DeleteOnNoLinks",
    "DeleteOnNoLinksOrMessages",
    "DeleteOnNoMessages",
    "DeliveryState",
    "Detach",
    "Discharge",
    "Disposition",
    "End",
    "Error",
    "Flow",
    "Header",
    "Modified",
    "Open",
    "Performative",
    "Properties",
    "Received",
    "Rejected",
    "Released",
    "SaslChallenge",
    "SaslFrame",
    "SaslInit",
    "SaslMechanisms",
    "SaslOutcome",
    "SaslResponse",
    "Source",
    "Target",
    "TransactionalState",
    "Transfer",
    "decode_frame_body",
]
