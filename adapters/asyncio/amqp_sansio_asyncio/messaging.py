"""`connect` for one API over all versions: by a URL, with neutral messages (see `amqp_sansio.messaging`)."""

from __future__ import annotations

import asyncio
import ssl as ssl_module
from typing import TYPE_CHECKING, Any, TypedDict

from amqp_sansio.client.opening import Opening
from amqp_sansio.errors import EndpointClosed
from amqp_sansio.messaging import Addresses, Connection, Offer, neutral

from .client import connect as connect_version

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from amqp_sansio.limits import Limits
    from amqp_sansio.sasl import ClientMechanism
    from amqp_sansio.uri import AmqpUri
    from amqp_sansio.versions import Version

    from .connector import Connector
    from .recording import RecordTarget


class MessagingOptions(TypedDict, total=False):
    """The options of `connect` that every version has; they override the URL."""

    ssl: ssl_module.SSLContext | None
    record: RecordTarget | None
    record_secrets: bool
    connector: Connector | None
    connection_name: str
    sasl: ClientMechanism | tuple[ClientMechanism, ...]
    limits: Limits
    handshake_timeout: float
    close_timeout: float


def connect(
    url: str | AmqpUri,
    *,
    version: Version | str | None = None,
    addresses: Addresses | None = None,
    **options: Unpack[MessagingOptions],
) -> Opening[Connection]:
    """Connect to a broker of any version: `async with connect(url) as connection`, or await it and close it later.

    `version`, or `?version=1.0` in the URL, is the version to speak. Without it the newest is offered, and if the
    server refuses it, the one that it offers instead. `addresses`, or `?addresses=qpid` in the URL, is the form in
    which a broker of 1.0 takes addresses: "rabbitmq4", "rabbitmq3" or "qpid"; None: as they are given. `options` are
    those of `amqp_sansio_asyncio.connect` that every version has.

    Raises VersionRefused if no version is common to both, otherwise as `amqp_sansio_asyncio.connect` does.

    >>> from amqp_sansio.messaging import Message
    >>> async def example(url: str) -> None:
    ...     async with connect(url) as connection, connection.sender("/queues/jobs") as sender:
    ...         outcome = await sender.send(Message(b"hello", durable=True))
    """
    return Opening(lambda: _connect(Offer(url, version, addresses), options))


async def _connect(offer: Offer, options: MessagingOptions) -> Connection:
    while True:
        try:
            given: dict[str, Any] = {**options}
            native = await connect_version(offer.uri, version=offer.version, **given)
        except EndpointClosed as error:
            offer.refused(error)
        else:
            return neutral(native, offer.version, offer.addresses, asyncio.timeout)


__all__ = ["MessagingOptions", "connect"]
