"""Names of protocols other than AMQP, by the first octets of a connection: for a count of what was passed over."""

from __future__ import annotations

from typing import Final

FIRST: Final = 16
"""Octets of a connection that tell its protocol."""
UNKNOWN: Final = "unknown"
_BEGINS: Final = (
    (b"SSH-", "SSH"),
    (b"\x16\x03", "TLS"),
    (b"* OK", "IMAP"),
    (b"+OK", "POP3"),
    (b"220", "SMTP or FTP"),
    (b"EHLO", "SMTP or FTP"),
    (b"HTTP/", "HTTP"),
    (b"PRI * HTTP/2", "HTTP"),
    (b"CONNECT\n", "STOMP"),
    (b"STOMP\n", "STOMP"),
    (b"INFO {", "NATS"),
    (b"\x83bplist", "Erlang"),
)
_METHODS: Final = (b"GET ", b"POST ", b"PUT ", b"HEAD ", b"DELETE ", b"OPTIONS ", b"PATCH ", b"CONNECT ")
_EPMD: Final = frozenset(b"nxzysk")
_KAFKA_KEYS: Final = 100
_KAFKA_VERSIONS: Final = 20


def name_of(first: bytes) -> str:
    """Return the protocol whose connections begin so; `UNKNOWN` for others.

    >>> name_of(b"SSH-2.0-OpenSSH_9"), name_of(b"GET / HTTP/1.1\\r\\n"), name_of(b"\\x00\\x01n"), name_of(b"hello")
    ('SSH', 'HTTP', 'epmd', 'unknown')
    """
    for begin, name in _BEGINS:
        if first.startswith(begin):
            return name
    if first.startswith(_METHODS):
        return "HTTP"
    if first[:1] == b"*" and first[1:2].isdigit() and b"\r\n" in first:
        return "Redis"
    if first[:1] == b"\x10" and b"MQ" in first:
        return "MQTT"
    size = int.from_bytes(first[:2], "big")
    if len(first) > 2 and first[2] in _EPMD and 0 < size < 4096 and (size > 1 or first[2] in b"nk"):
        return "epmd"
    if first[4:8] in (b"\0\x03\0\0", b"\x04\xd2\x16\x2f"):
        return "PostgreSQL"
    size, key, version = (int.from_bytes(first[at:end], "big") for at, end in ((0, 4), (4, 6), (6, 8)))
    if len(first) > 11 and 8 <= size < 1 << 24 and key < _KAFKA_KEYS and version < _KAFKA_VERSIONS:
        return "Kafka"
    return UNKNOWN


__all__ = ["FIRST", "UNKNOWN", "name_of"]
