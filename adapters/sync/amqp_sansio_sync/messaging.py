"""`connect` for one API over all versions: by a URL, with neutral messages (see `amqp_sansio.messaging`)."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from contextlib import nullcontext
from typing import Any

from amqp_sansio.client.connecting import new_connection
from amqp_sansio.errors import EndpointClosed
from amqp_sansio.events import CloseReport
from amqp_sansio.messaging import Addresses, Offer
from amqp_sansio.uri import AmqpUri
from amqp_sansio.versions import AMQP_0_10, Version

from .blocking import BaseConnection, inner_of
from .connect import connect as connect_version
from .driver import Driver
from .neutral import Connection, Delivery, Receiver, Sender, Sending, Transaction
from .opening import Prepared, open_connection
from .tls import tls
from .transport import Transport

_OPENING = frozenset({"ssl", "timeout", "record", "record_secrets"})


def connect(
    url: str | AmqpUri | Sequence[str | AmqpUri],
    *,
    version: Version | str | None = None,
    addresses: Addresses | None = None,
    **options: Any,
) -> Connection:
    """Connect to a broker of any version: `with connect(url) as connection`, or close the connection later.

    `version`, or `?version=1.0` in the URL, is the version to speak. Without it 1.0 is offered, and if the server
    refuses that, the version that it offers instead. `addresses`, or `?addresses=qpid` in the URL, is the form in which
    a broker of 1.0 takes addresses: "rabbitmq4", "rabbitmq3" or "qpid"; None: as they are given. `options` are those of
    `amqp_sansio_sync.connect` that the version has, such as `ssl`, `record` and `timeout`.

    Raises VersionRefused if no version is common to both, otherwise as `amqp_sansio_sync.connect` does.
    """
    offer = Offer(url, version, addresses)
    while True:
        try:
            native = _connect(offer, options)
        except (EndpointClosed, TimeoutError) as error:
            offer.refused(error)
        else:
            return Connection(native, offer.neutral(inner_of(native), lambda _: nullcontext()))


class _Connection_0_10(BaseConnection[Any]):
    __slots__ = ()

    def close(self, timeout: float | None = None) -> CloseReport:
        return self._close(lambda: self._inner.close(), timeout)


def _connect(offer: Offer, options: dict[str, Any]) -> Any:
    """Connect by the version that is offered now. The client of 0-10 has no blocking form of its own here."""
    if offer.version is not AMQP_0_10:
        return connect_version(offer.uris, version=offer.version, **options)
    own = {name: options[name] for name in options.keys() - _OPENING}
    client, inner = new_connection(AMQP_0_10, offer.uris[0], own, secrets.token_urlsafe)

    def make(transport: Transport) -> tuple[Driver, _Connection_0_10]:
        driver = Driver(client, transport)
        return driver, _Connection_0_10(driver, inner)

    return open_connection(
        Prepared(client.config.handshake_timeout, make),
        offer.uris[0],
        tls(offer.uris[0], options.get("ssl")),
        options.get("timeout"),
        options.get("record"),
        options.get("record_secrets", False),
    )


__all__ = ["Connection", "Delivery", "Receiver", "Sender", "Sending", "Transaction", "connect"]
