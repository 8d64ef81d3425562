"""Octets of 0-10: frames written by hand with `struct`, and what an endpoint sent, taken apart the same way."""

from struct import Struct, pack
from typing import Any

from amqp_sansio.amqp_0_10 import Headers
from amqp_sansio.amqp_0_10.codec.record import decode_command, decode_control

HEADER = b"AMQP\x01\x01\x00\x0a"
_FRAME = Struct(">BBHBBHI")


# Frames.


def frame(
    payload: bytes = b"",
    kind: int = 0,
    *,
    flags: int = 0x0F,
    channel: int = 0,
    track: int | None = None,
    size: int | None = None,
    spare: int = 0,
    tail: int = 0,
) -> bytes:
    """A frame, right or wrong: type 0 is a control, 1 a command, 2 a header, 3 a body."""
    track = int(kind != 0) if track is None else track
    size = 12 + len(payload) if size is None else size
    return _FRAME.pack(flags, kind, size, spare, track, channel, tail) + payload


def fields(*values: bytes | bool | None) -> bytes:
    """Two octets of packing flags, the first field lowest in the first, then the fields that are there.

    A bit is True or False, a field that isn't there None.
    """
    flags = sum([1 << n for n, value in enumerate(values) if value is not None and value is not False])
    return pack("<H", flags) + b"".join([value for value in values if isinstance(value, bytes)])


def control(code: int, *values: bytes | bool | None, channel: int = 0) -> bytes:
    """A control in one frame; `code` is its class and number."""
    return frame(pack(">H", code) + fields(*values), channel=channel)


def segment(code: int, *values: bytes | bool | None, sync: bool = False) -> bytes:
    """The segment of a command: code, session.header, fields."""
    return pack(">HBB", code, 1, sync) + fields(*values)


def command(code: int, *values: bytes | bool | None, sync: bool = False, channel: int = 0) -> bytes:
    return frame(segment(code, *values, sync=sync), 1, channel=channel)


def content(octets: bytes, header: bytes = b"", body: bytes = b"", *, channel: int = 0) -> bytes:
    """A command with header and body: one frame for each segment that isn't empty."""
    parts = [(kind, each) for kind, each in ((1, octets), (2, header), (3, body)) if each or kind == 1]
    last = len(parts) - 1
    frames = [
        frame(each, kind, flags=3 | (0 if n else 8) | (4 if n == last else 0), channel=channel)
        for n, (kind, each) in enumerate(parts)
    ]
    return b"".join(frames)


# Values.


def u8(value: int) -> bytes:
    return pack(">B", value)


def u16(value: int) -> bytes:
    return pack(">H", value)


def u32(value: int) -> bytes:
    return pack(">I", value)


def u64(value: int) -> bytes:
    return pack(">Q", value)


def str8(text: str) -> bytes:
    return u8(len(text.encode())) + text.encode()


def str16(text: str) -> bytes:
    return u16(len(text.encode())) + text.encode()


def vbin16(octets: bytes) -> bytes:
    return u16(len(octets)) + octets


def vbin32(octets: bytes) -> bytes:
    return u32(len(octets)) + octets


def ids(*ranges: int | tuple[int, int]) -> bytes:
    """A sequence-set: its size in octets, then the lower and upper end of each range."""
    pairs = [each if isinstance(each, tuple) else (each, each) for each in ranges]
    return u16(8 * len(pairs)) + b"".join([pack(">II", *pair) for pair in pairs])


def strings(*names: str) -> bytes:
    """An array of str16; an empty one is of void."""
    octets = (b"\x95" if names else b"\xf0") + u32(len(names)) + b"".join([str16(name) for name in names])
    return u32(len(octets)) + octets


def table(**values: str) -> bytes:
    """A map of str16."""
    octets = u32(len(values)) + b"".join([str8(k) + b"\x95" + str16(v) for k, v in values.items()])
    return u32(len(octets)) + octets


def struct32(code: int, *values: bytes | bool | None) -> bytes:
    """A coded struct, as in header segments and results."""
    octets = u16(code) + fields(*values)
    return u32(len(octets)) + octets


def routed(key: str = "key") -> bytes:
    """A header segment: delivery-properties with a routing key."""
    return struct32(0x0401, *[None] * 9, str8(key))


def user_id(name: bytes) -> bytes:
    """A header segment: message-properties with a user-id."""
    return struct32(0x0403, *[None] * 6, vbin16(name))


# Controls.


def start(*mechanisms: str, locales: tuple[str, ...] = ("en_US",)) -> bytes:
    return control(0x0101, table(product="peer"), strings(*(mechanisms or ("PLAIN",))), strings(*locales))


def start_ok(mechanism: str = "PLAIN", response: bytes = b"\0ann\0pw", locale: str | None = "en_US") -> bytes:
    last = None if locale is None else str8(locale)
    return control(0x0102, table(product="peer"), str8(mechanism), vbin32(response), last)


def tune(
    channel_max: int | None = 16,
    max_frame_size: int | None = 65_535,
    heartbeat_min: int | None = None,
    heartbeat_max: int | None = None,
) -> bytes:
    given = (channel_max, max_frame_size, heartbeat_min, heartbeat_max)
    return control(0x0105, *[None if each is None else u16(each) for each in given])


def tune_ok(channel_max: int | None = 16, max_frame_size: int | None = 65_535, heartbeat: int | None = None) -> bytes:
    given = (channel_max, max_frame_size, heartbeat)
    return control(0x0106, *[None if each is None else u16(each) for each in given])


def open_(vhost: str = "/", *, insist: bool = False) -> bytes:
    return control(0x0107, str8(vhost), None, insist)


def open_ok(*known_hosts: str) -> bytes:
    return control(0x0108, strings(*known_hosts) if known_hosts else None)


HEARTBEAT = control(0x010A)
CLOSE_OK = control(0x010C)


def close(code: int = 200, text: str = "", *, channel: int = 0) -> bytes:
    return control(0x010B, u16(code), str8(text), channel=channel)


def attach(name: bytes = b"s", *, force: bool = False, channel: int = 0) -> bytes:
    return control(0x0201, vbin16(name), force, channel=channel)


def attached(name: bytes = b"s", *, channel: int = 0) -> bytes:
    return control(0x0202, vbin16(name), channel=channel)


def detach(name: bytes = b"s", *, channel: int = 0) -> bytes:
    return control(0x0203, vbin16(name), channel=channel)


def detached(name: bytes = b"s", code: int = 0, *, channel: int = 0) -> bytes:
    return control(0x0204, vbin16(name), u8(code), channel=channel)


def request_timeout(seconds: int | None, *, channel: int = 0) -> bytes:
    return control(0x0205, None if seconds is None else u32(seconds), channel=channel)


def timeout(seconds: int | None, *, channel: int = 0) -> bytes:
    return control(0x0206, None if seconds is None else u32(seconds), channel=channel)


def command_point(number: int = 0, offset: int = 0, *, channel: int = 0) -> bytes:
    return control(0x0207, u32(number), u64(offset), channel=channel)


def expected(*ranges: int | tuple[int, int], channel: int = 0) -> bytes:
    return control(0x0208, ids(*ranges), channel=channel)


def confirmed(*ranges: int | tuple[int, int], channel: int = 0) -> bytes:
    return control(0x0209, ids(*ranges), channel=channel)


def completed(*ranges: int | tuple[int, int], timely: bool = False, channel: int = 0) -> bytes:
    return control(0x020A, ids(*ranges), timely, channel=channel)


def known_completed(*ranges: int | tuple[int, int], channel: int = 0) -> bytes:
    return control(0x020B, ids(*ranges), channel=channel)


def flush(*what: str, channel: int = 0) -> bytes:
    """session.flush; `what` are "expected", "confirmed", "completed"."""
    return control(0x020C, *[each in what for each in ("expected", "confirmed", "completed")], channel=channel)


def gap(*ranges: int | tuple[int, int], channel: int = 0) -> bytes:
    return control(0x020D, ids(*ranges), channel=channel)


# Commands.


def sync(*, channel: int = 0) -> bytes:
    return command(0x0301, channel=channel)


def result(number: int, value: bytes | None = None) -> bytes:
    return command(0x0302, u32(number), value)


def exception(
    code: int,
    number: int | None = None,
    class_code: int | None = None,
    command_code: int | None = None,
    field: int | None = None,
    text: str | None = None,
) -> bytes:
    return command(
        0x0303,
        u16(code),
        None if number is None else u32(number),
        None if class_code is None else u8(class_code),
        None if command_code is None else u8(command_code),
        None if field is None else u8(field),
        None if text is None else str16(text),
    )


def transfer(
    destination: str | None = "",
    body: bytes = b"",
    *,
    accept_mode: int | None = None,
    acquire_mode: int | None = None,
    header: bytes = b"",
    sync: bool = False,
    channel: int = 0,
) -> bytes:
    """message.transfer with its message, one frame for each segment."""
    octets = segment(
        0x0401,
        None if destination is None else str8(destination),
        None if accept_mode is None else u8(accept_mode),
        None if acquire_mode is None else u8(acquire_mode),
        sync=sync,
    )
    return content(octets, header, body, channel=channel)


def accept(*ranges: int | tuple[int, int], sync: bool = False) -> bytes:
    return command(0x0402, ids(*ranges), sync=sync)


def reject(*ranges: int | tuple[int, int], code: int = 0, text: str = "") -> bytes:
    return command(0x0403, ids(*ranges), u16(code), str8(text))


def release(*ranges: int | tuple[int, int], set_redelivered: bool = False) -> bytes:
    return command(0x0404, ids(*ranges), set_redelivered)


def acquire(*ranges: int | tuple[int, int]) -> bytes:
    return command(0x0405, ids(*ranges))


def resume(destination: str, resume_id: str) -> bytes:
    return command(0x0406, str8(destination), str16(resume_id))


def subscribe(destination: str = "d", queue: str = "q", accept_mode: int = 0, acquire_mode: int = 0) -> bytes:
    return command(0x0407, str8(queue), str8(destination), u8(accept_mode), u8(acquire_mode))


def cancel(destination: str = "d") -> bytes:
    return command(0x0408, str8(destination))


def set_flow_mode(destination: str, mode: int) -> bytes:
    return command(0x0409, str8(destination), u8(mode))


def flow(destination: str, unit: int, value: int | None) -> bytes:
    return command(0x040A, str8(destination), u8(unit), None if value is None else u32(value))


def flush_messages(destination: str = "d") -> bytes:
    return command(0x040B, str8(destination))


def stop(destination: str = "d") -> bytes:
    return command(0x040C, str8(destination))


TX_SELECT, TX_COMMIT, TX_ROLLBACK = command(0x0501), command(0x0502), command(0x0503)
PURGE = command(0x0803, str8("q"))
"""A command that the application executes, and that has no result."""
QUERY = command(0x0804, str8("q"))
"""A command that has a result."""


# What an endpoint sent.


class Sent:
    """A protocol header, or a control or command with all of its frames; `sizes` are those of its frames."""

    def __init__(self, header: bytes, channel: int, kind: int) -> None:
        self.protocol_header = header
        self.channel = channel
        self.kind = kind
        self.segments: dict[int, bytes] = {}
        self.sizes: list[int] = []
        self.octets = header
        self.record: Any = None
        self.sync = False

    @property
    def name(self) -> str:
        """The name of the control or command."""
        return "header" if self.protocol_header else str(self.record.NAME)

    @property
    def body(self) -> bytes:
        return self.segments.get(3, b"")

    @property
    def headers(self) -> Headers:
        return Headers(self.segments.get(2, b""))

    def finish(self) -> None:
        """Decode it, now that all of it is there."""
        octets = self.segments[self.kind]
        if self.kind:
            self.record, self.sync = decode_command(octets, 0, len(octets))
        else:
            self.record = decode_control(octets, 0, len(octets))


def parse(octets: bytes) -> list[Sent]:
    """What is in `octets`, which must be whole, in the order in which it ended."""
    found: list[Sent] = []
    open_: dict[tuple[int, int], Sent] = {}
    while octets:
        if octets[:4] == b"AMQP":
            found.append(Sent(octets[:8], 0, 0))
            octets = octets[8:]
            continue
        flags, kind, size, spare, track, channel, tail = _FRAME.unpack_from(octets)
        assert (spare, tail, flags & 0xF0, track) == (0, 0, 0, int(kind != 0)), octets[:12]
        assert 12 <= size <= len(octets)
        if flags & 10 == 10:
            open_[channel, track] = Sent(b"", channel, kind)
        each = open_[channel, track]
        each.segments[kind] = each.segments.get(kind, b"") + octets[12:size]
        each.sizes.append(size)
        each.octets += octets[:size]
        if flags & 5 == 5:
            open_.pop((channel, track)).finish()
            found.append(each)
        octets = octets[size:]
    assert not open_
    return found


def read_close(sent: Sent) -> int:
    """The code of a connection.close, which says why."""
    assert (sent.name, sent.channel) == ("connection.close", 0)
    assert sent.record.reply_text
    code: int = sent.record.reply_code
    return code
