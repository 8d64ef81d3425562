"""Hints that hold in every version: how a stream of something else begins."""

from __future__ import annotations

from typing import Final

_TLS_RECORDS: Final = (0x15, 0x16)


def of_first_octets(first: bytes) -> str:
    """The usual cause of a stream that begins with `first`."""
    if first[:4] == b"AMQP":
        return f"the peer speaks protocol {'-'.join(str(octet) for octet in first[4:8])}"
    return of_foreign(first, b"HTTP/")


def of_foreign(first: bytes, http: bytes = b"HTTP") -> str:
    """Name a stream that begins with `first` and isn't AMQP; "" if it is unknown. `http` is how HTTP answers begin.

    >>> of_foreign(b"GET / HT")
    'this is HTTP, perhaps the management port'
    """
    if len(first) >= 2 and first[0] in _TLS_RECORDS and first[1] == 3:
        return "these are TLS records on a connection without TLS; use amqps, or the other port"
    if first.startswith((http, b"GET ", b"POST", b"HEAD", b"PUT ")):
        return "this is HTTP, perhaps the management port"
    return ""
