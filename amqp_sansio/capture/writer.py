"""Writes connections as a pcapng recording that any analyser opens (draft-ietf-opsawg-pcapng)."""

from __future__ import annotations

from struct import Struct
from typing import TYPE_CHECKING, Final, Literal
from zlib import crc32

from ..endpoint import Side
from ..errors import LocalProtocolError
from .addresses import map_to_ipv6, parse_endpoint
from .link import RAW
from .records import ACK, FIN, PSH, RST, SYN

if TYPE_CHECKING:
    from typing_extensions import Buffer

_MASK: Final = 0xFFFF_FFFF
_BLOCK: Final = Struct("<II")
_WORD: Final = Struct("<I")
_OPTION: Final = Struct("<HH")
_SECTION_BODY: Final = Struct("<IHHq")
_INTERFACE_BODY: Final = Struct("<HHI")
_PACKET_BODY: Final = Struct("<IIIII")
_IPV4: Final = Struct(">BBHHHBBH4s4s")
_IPV6: Final = Struct(">IHBB16s16s")
_TCP: Final = Struct(">HHIIBBHHH")

_MAX_PAYLOAD: Final = 65_495
"""Payload of an IPv4 packet of 65,535 octets, without both headers."""
# Maximum segment size, and a window scale of 14, so that a long unanswered stream stays within the window.
_SYN_OPTIONS: Final = b"\x02\x04" + _MAX_PAYLOAD.to_bytes(2, "big") + b"\x01\x03\x03\x0e"


class _Side:
    """One end of a recorded connection."""

    __slots__ = ("address", "is_finished", "next", "port")

    def __init__(self, address: bytes, port: int, number: int) -> None:
        self.address = address
        self.port = port
        self.next = number  # sequence number of its next octet
        self.is_finished = False  # its FIN is written


class _Recorded:
    __slots__ = ("client", "server", "ts_ns")

    def __init__(self, client: _Side, server: _Side) -> None:
        self.client = client
        self.server = server
        self.ts_ns = 0


class PcapngWriter:
    """Turns the octets of connections into those of a pcapng file; picklable, no I/O.

    Write the result of `header` first, also when you append to an existing recording, and then every result in order.
    The file can be read at any time, also when it was cut off inside of a packet. Times are nanoseconds since 1970;
    within a connection they never decrease: an earlier time is written as the last one.
    """

    __slots__ = ("_application", "_comment", "_connections", "_count", "_ident")

    def __init__(self, *, application: str = "amqp-sansio", comment: str = "") -> None:
        self._application = application
        self._comment = comment
        self._connections: dict[int, _Recorded] = {}
        self._count = 0
        self._ident = 0

    def header(self) -> bytes:
        """Return a section header and the description of the only interface, of link type RAW."""
        options = _option(4, self._application.encode())
        if self._comment:
            options = _option(1, self._comment.encode()) + options
        section = _SECTION_BODY.pack(0x1A2B3C4D, 1, 0, -1) + options + _option(0, b"")
        interface = _INTERFACE_BODY.pack(RAW, 0, 0) + _option(2, b"amqp")
        interface += _option(9, b"\x09") + _option(0, b"")  # times in nanoseconds
        return _block(0x0A0D0D0A, section) + _block(1, interface)

    def open(self, client: str, server: str, ts_ns: int) -> tuple[int, bytes]:
        """Begin a connection between two endpoints ("127.0.0.1:40000", "[::1]:5672").

        Returns its number, for the other methods, and the octets of the handshake. Raises ValueError for an invalid
        endpoint.
        """
        (one, one_port), (two, two_port) = parse_endpoint(client), parse_endpoint(server)
        if len(one) != len(two):
            one, two = map_to_ipv6(one), map_to_ipv6(two)
        number = self._count
        # Different for successive connections on the same endpoints.
        seed = crc32(f"{client} {server} {ts_ns} {number}".encode())
        recorded = _Recorded(_Side(one, one_port, seed), _Side(two, two_port, crc32(b"server", seed)))
        self._count += 1
        self._connections[number] = recorded
        ours, theirs = recorded.client, recorded.server
        packets = [
            self._packet(recorded, ours, theirs, SYN, b"", ts_ns),
            self._packet(recorded, theirs, ours, SYN | ACK, b"", ts_ns),
            self._packet(recorded, ours, theirs, ACK, b"", ts_ns),
        ]
        return number, b"".join(packets)

    def data(self, connection: int, sender: Side | Literal["client", "server"], data: Buffer, ts_ns: int) -> bytes:
        """Return the octets from `sender` as packets of at most 65,535 octets.

        Raises LocalProtocolError if the connection isn't open.
        """
        recorded = self._recorded(connection)
        ours, theirs = _sides(recorded, sender)
        view = memoryview(data).cast("B")
        return b"".join(
            [
                self._packet(recorded, ours, theirs, PSH | ACK, bytes(view[start : start + _MAX_PAYLOAD]), ts_ns)
                for start in range(0, len(view), _MAX_PAYLOAD)
            ]
        )

    def finish(self, connection: int, by: Side | Literal["client", "server"], ts_ns: int) -> bytes:
        """Return the FIN of one side, which sends nothing more; the other may go on until `close`.

        Raises LocalProtocolError if the connection isn't open. A second FIN of a side isn't written.
        """
        recorded = self._recorded(connection)
        ours, theirs = _sides(recorded, by)
        if ours.is_finished:
            return b""
        ours.is_finished = True
        return self._packet(recorded, ours, theirs, FIN | ACK, b"", ts_ns)

    def close(
        self, connection: int, by: Side | Literal["client", "server"] | None, ts_ns: int, reset: bool = False
    ) -> bytes:
        """End a connection, by a FIN of `by` that the other end answers, or by a RST with `reset`.

        A FIN that `finish` has written isn't written again. With None nothing is written: it is unknown how it ended.
        Raises LocalProtocolError if it isn't open.
        """
        recorded = self._recorded(connection)
        del self._connections[connection]
        if by is None:
            return b""
        ours, theirs = _sides(recorded, by)
        if reset:
            return self._packet(recorded, ours, theirs, RST | ACK, b"", ts_ns)
        packets = [
            self._packet(recorded, one, other, FIN | ACK, b"", ts_ns)
            for one, other in ((ours, theirs), (theirs, ours))
            if not one.is_finished
        ]
        return b"".join([*packets, self._packet(recorded, ours, theirs, ACK, b"", ts_ns)])

    def _recorded(self, connection: int) -> _Recorded:
        recorded = self._connections.get(connection)
        if recorded is None:
            raise LocalProtocolError(f"connection {connection} of this recording isn't open")
        return recorded

    def _packet(self, recorded: _Recorded, ours: _Side, theirs: _Side, flags: int, data: bytes, ts_ns: int) -> bytes:
        ts_ns = max(recorded.ts_ns, ts_ns)
        recorded.ts_ns = ts_ns
        options = _SYN_OPTIONS if flags & SYN else b""
        ack = theirs.next if flags & ACK else 0
        size = 20 + len(options) + len(data)
        offset = (20 + len(options)) << 2
        header = (ours.port, theirs.port, ours.next, ack, offset, flags, 0xFFFF)
        pseudo = ours.address + theirs.address + size.to_bytes(4, "big") + b"\0\0\0\x06"
        tail = options + data
        checksum = _checksum(pseudo + _TCP.pack(*header, 0, 0) + tail)
        segment = _TCP.pack(*header, checksum, 0) + tail
        ours.next = (ours.next + len(data) + bool(flags & (SYN | FIN))) & _MASK
        if len(ours.address) == 4:
            self._ident = (self._ident + 1) & 0xFFFF
            fields = (0x45, 0, size + 20, self._ident, 0x4000, 64, 6)
            addresses = (ours.address, theirs.address)
            checksum = _checksum(_IPV4.pack(*fields, 0, *addresses))
            packet = _IPV4.pack(*fields, checksum, *addresses) + segment
        else:
            packet = _IPV6.pack(6 << 28, size, 6, 64, ours.address, theirs.address) + segment
        captured = len(packet)
        body = _PACKET_BODY.pack(0, ts_ns >> 32 & _MASK, ts_ns & _MASK, captured, captured)
        return _block(6, body + packet)


def _sides(recorded: _Recorded, sender: Side | Literal["client", "server"]) -> tuple[_Side, _Side]:
    if Side(sender) is Side.CLIENT:
        return recorded.client, recorded.server
    return recorded.server, recorded.client


def _block(kind: int, body: bytes) -> bytes:
    body += bytes(-len(body) & 3)
    length = len(body) + 12
    return _BLOCK.pack(kind, length) + body + _WORD.pack(length)


def _option(code: int, value: bytes) -> bytes:
    return _OPTION.pack(code, len(value)) + value + bytes(-len(value) & 3)


def _checksum(octets: bytes) -> int:
    """Return the Internet checksum (RFC 1071): the sum of 16-bit words modulo 65535, complemented."""
    words = int.from_bytes(octets + bytes(len(octets) & 1), "big")
    return 0xFFFF - (words % 0xFFFF or 0xFFFF)
