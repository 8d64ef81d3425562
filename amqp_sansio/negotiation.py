"""The protocol header: the version that a client asks for, and the Acceptor that creates the matching connection.

0-9-1 section 4.2.2, 0-8 section 4.2.2, 0-10 section 4.3, 1.0 part 2 section 2.2.
"""

from __future__ import annotations

from collections.abc import Mapping

from ._checking import TYPE_CHECKING
from ._ground.record import record
from .errors import LimitExceeded
from .events import NEED_DATA, Signal
from .versions import AMQP_0_8, AMQP_0_9_1, AMQP_0_10, AMQP_1_0, HEADER_SIZE, Version
from .versions import version_of as version_of

if TYPE_CHECKING:
    from typing import Any, Final

    from typing_extensions import Buffer

    from .endpoint import Endpoint

_TLS_LAYER: Final = b"AMQP\x02\x01\x00\x00"
"""1.0 part 5 section 5.2: TLS begins after this header, in the same stream."""

_PROTOCOL_IDS: Final = (0, 2, 3)
_NUMBERS: Final[Mapping[Version, tuple[int, ...]]] = {
    AMQP_0_8: (0, 8, 0),
    AMQP_0_9_1: (0, 9, 1),
    AMQP_0_10: (0, 10, 0),
    AMQP_1_0: (1, 0, 0),
}


@record
class Accepted:
    """The client's version is supported; `connection` has received all octets so far."""

    version: Version
    connection: Endpoint


@record
class Refused:
    """The client's version isn't supported: send `reply` (a supported protocol header), then close the transport."""

    reply: bytes
    received: bytes


class Acceptor:
    """Detects the version of a new client: octets in, then an `Accepted` connection or a `Refused` header.

    `configs` has a server configuration for each supported version, the preferred one first. A client that asks for TLS
    inside of 1.0 is refused unless the configuration for 1.0 has `tls`. Only the requested version is looked up in the
    mapping, and its engine is loaded then.

    >>> from amqp_sansio.amqp_0_9_1 import Config
    >>> acceptor = Acceptor({AMQP_0_9_1: Config()})
    >>> acceptor.receive_data(b"AMQP\\x00\\x00\\x09\\x01", 0.0)
    >>> acceptor.result().version.label
    '0-9-1'
    """

    __slots__ = ("_configs", "_data", "_now", "_result")

    def __init__(self, configs: Mapping[Version, Any]) -> None:
        if not configs:
            raise ValueError("Acceptor needs a configuration for at least one version")
        self._configs = configs
        self._data = b""
        self._now = 0.0
        self._result: Accepted | Refused | None = None

    def receive_data(self, data: Buffer, now: float) -> None:
        """Take octets that arrived at `now` (seconds). Raises LimitExceeded after the result: give further octets to
        the connection."""
        if self._result is not None:
            raise LimitExceeded("the acceptor has its result; give further octets to the connection")
        self._data += bytes(data)
        self._now = now
        # A client that doesn't begin with these four octets is refused without waiting for more.
        if len(self._data) >= (HEADER_SIZE if self._data.startswith(b"AMQP") else 4):
            self._decide()

    def result(self) -> Accepted | Refused | Signal:
        """Return Accepted, Refused, or NEED_DATA before 8 octets have arrived."""
        return NEED_DATA if self._result is None else self._result

    def _decide(self) -> None:
        header = self._data[:HEADER_SIZE]
        version = version_of(header)
        config = self._configs.get(version) if version is not None else None
        if version is None or config is None or (header == _TLS_LAYER and not config.tls):
            self._result = Refused(self._offer(self._best(header)), self._data)
        else:
            connection = _server_of(version)(config)
            connection.receive_data(self._data, self._now)
            self._result = Accepted(version, connection)
        self._data = b""

    def _best(self, header: bytes) -> Version:
        """Return, for a header in 1.0's format, the highest version not above the one asked for, else the highest (1.0
        part 2 section 2.2); the preferred one for any other octets."""
        if not header.startswith(b"AMQP") or header[4] not in _PROTOCOL_IDS:
            return next(iter(self._configs))
        asked = tuple(header[5:])
        lower = [version for version in self._configs if _NUMBERS[version] <= asked]
        return max(lower or self._configs, key=_NUMBERS.__getitem__)

    def _offer(self, version: Version) -> bytes:
        """Return a header for `version` that is accepted here."""
        if version is AMQP_1_0:
            from .amqp_1_0.endpoint.handshake import accepted_headers

            return accepted_headers(self._configs[AMQP_1_0], self._configs[AMQP_1_0].tls)[0]
        return version.header


def _server_of(version: Version) -> Any:
    """Return a version's constructor of server connections; the version is imported on first use."""
    if version is AMQP_0_9_1:
        from .amqp_0_9_1 import Connection

        return Connection.server
    if version is AMQP_0_8:
        from .amqp_0_8 import Connection as Connection08

        return Connection08.server
    if version is AMQP_1_0:
        from .amqp_1_0.endpoint.connection import Connection as Connection10

        return Connection10.server
    from .amqp_0_10.endpoint.connection import Connection as Connection010

    return Connection010.server


__all__ = ["Accepted", "Acceptor", "Refused"]
