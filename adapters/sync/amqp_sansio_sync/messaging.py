"""`connect` for one API over all versions: by a URL, with neutral messages (see `amqp_sansio.messaging`)."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from typing import Any

from amqp_sansio.errors import EndpointClosed
from amqp_sansio.messaging import Addresses, Offer
from amqp_sansio.uri import AmqpUri
from amqp_sansio.versions import Version

from .blocking import inner_of
from .connect import connect as connect_version
from .neutral import Connection, Delivery, Receiver, Sender, Sending, Transaction


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
            native = connect_version(offer.uris, version=offer.version, **offer.options(options))
        except (EndpointClosed, TimeoutError) as error:
            offer.refused(error)
        else:
            return Connection(native, offer.neutral(inner_of(native), lambda _: nullcontext()))


__all__ = ["Connection", "Delivery", "Receiver", "Sender", "Sending", "Transaction", "connect"]
