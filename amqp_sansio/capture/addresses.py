"""IP addresses as octets and as text: RFC 5952 for IPv6, RFC 3986 section 3.2.2 for endpoints."""

from __future__ import annotations

from struct import Struct
from typing import Final

_GROUPS: Final = Struct(">8H")
_MAPPED: Final = bytes(10) + b"\xff\xff"
_HEX: Final = frozenset("0123456789abcdefABCDEF")


def ipv4_text(raw: bytes) -> str:
    """Return the dotted form of 4 octets."""
    return f"{raw[0]}.{raw[1]}.{raw[2]}.{raw[3]}"


def ipv6_text(raw: bytes) -> str:
    """Return the canonical form of 16 octets."""
    if raw[:12] == _MAPPED:
        return "::ffff:" + ipv4_text(raw[12:])
    groups = _GROUPS.unpack(raw)
    best, length, at = 0, 1, 0
    while at < 8:
        run = at
        while run < 8 and not groups[run]:
            run += 1
        if run - at > length:
            best, length = at, run - at
        at = max(run, at + 1)
    words = [f"{group:x}" for group in groups]
    if length == 1:
        return ":".join(words)
    return ":".join(words[:best]) + "::" + ":".join(words[best + length :])


def parse_endpoint(text: str) -> tuple[bytes, int]:
    """Return the address (4 or 16 octets) and the port of `127.0.0.1:5672` or `[::1]:5672`.

    Raises ValueError for anything else. An IPv6 zone is dropped: no packet carries it.
    """
    host, colon, digits = text.rpartition(":")
    if not colon or not digits.isascii() or not digits.isdigit() or int(digits) > 0xFFFF:
        raise ValueError(f"{text!r} is no endpoint: it must end in a colon and a port")
    bracketed = host.startswith("[") and host.endswith("]")
    raw = _ipv6(host[1:-1].partition("%")[0]) if bracketed else _ipv4(host)
    if raw is None:
        raise ValueError(f"{text!r} is no endpoint: write 127.0.0.1:5672 or [::1]:5672")
    return raw, int(digits)


def map_to_ipv6(raw: bytes) -> bytes:
    """Return the IPv6 form of an IPv4 address (RFC 4291 section 2.5.5.2); an IPv6 address stays unchanged."""
    return _MAPPED + raw if len(raw) == 4 else raw


def _ipv4(text: str) -> bytes | None:
    parts = text.split(".")
    if len(parts) != 4 or not all(part.isascii() and part.isdigit() for part in parts):
        return None
    numbers = [int(part) for part in parts]
    return bytes(numbers) if max(numbers) <= 0xFF else None


def _ipv6(text: str) -> bytes | None:
    if "." in text:
        start, _, dotted = text.rpartition(":")
        last = _ipv4(dotted)
        if last is None:
            return None
        text = f"{start}:{last[0]:02x}{last[1]:02x}:{last[2]:02x}{last[3]:02x}"
    head, gap, tail = text.partition("::")
    before, after = _words(head), _words(tail)
    if before is None or after is None:
        return None
    left = 8 - len(before) - len(after)
    if left < 0 or (gap and left < 1) or (not gap and left):
        return None
    return _GROUPS.pack(*before, *[0] * left, *after)


def _words(text: str) -> list[int] | None:
    if not text:
        return []
    parts = text.split(":")
    if not all(0 < len(part) <= 4 and _HEX.issuperset(part) for part in parts):
        return None
    return [int(part, 16) for part in parts]
