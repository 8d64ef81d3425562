"""The protocol versions and their 8-octet protocol headers (0-9-1 section 4.2.2, 1.0 part 2 section 2.2)."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum

from ._checking import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Final


class Version(Enum):
    """An AMQP version. `value` and `label` are its usual name, as in the `protocol` column of every table."""

    AMQP_0_8 = "0-8"
    AMQP_0_9_1 = "0-9-1"
    AMQP_0_10 = "0-10"
    AMQP_1_0 = "1.0"

    @property
    def label(self) -> str:
        """The version's usual name: "0-8", "0-9-1", "0-10" or "1.0"."""
        return self.value

    @property
    def header(self) -> bytes:
        """The 8 octets with which a client asks for this version."""
        return _HEADERS[self]


AMQP_0_8: Final = Version.AMQP_0_8
AMQP_0_9_1: Final = Version.AMQP_0_9_1
AMQP_0_10: Final = Version.AMQP_0_10
AMQP_1_0: Final = Version.AMQP_1_0

_HEADERS: Final = {
    AMQP_0_8: b"AMQP\x01\x01\x08\x00",
    AMQP_0_9_1: b"AMQP\x00\x00\x09\x01",
    AMQP_0_10: b"AMQP\x01\x01\x00\x0a",
    AMQP_1_0: b"AMQP\x00\x01\x00\x00",
}
_VERSIONS: Final[Mapping[bytes, Version]] = {
    **{header: version for version, header in _HEADERS.items()},
    b"AMQP\x01\x01\x09\x01": AMQP_0_8,
    b"AMQP\x01\x01\x00\x09": AMQP_0_9_1,
    # The layers of 1.0 in the same stream: TLS (part 5 section 5.2), SASL (section 5.3).
    b"AMQP\x02\x01\x00\x00": AMQP_1_0,
    b"AMQP\x03\x01\x00\x00": AMQP_1_0,
}
HEADER_SIZE: Final = 8
"""Octets of a protocol header."""
HEADER_BEGIN: Final = b"AMQP"
"""The first octets of a protocol header of any version."""


def version_of(header: bytes) -> Version | None:
    """The version that 8 octets of protocol header ask for, or None.

    1-1-9-1, which py-amqplib sends and the printed 0-8 specification has, is 0-8 framing; 1-1-0-9 is 0-9, which
    RabbitMQ and everybody else take as 0-9-1.

    >>> version_of(b"AMQP\\x00\\x00\\x09\\x01").label
    '0-9-1'
    """
    return _VERSIONS.get(header)


__all__ = ["AMQP_0_8", "AMQP_0_9_1", "AMQP_0_10", "AMQP_1_0", "Version", "version_of"]
