"""`connect` for one API over all versions: by a URL, with neutral messages (see `amqp_sansio.messaging`)."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from amqp_sansio.client.opening import Opening
from amqp_sansio.messaging import Addresses, Connection, Offer
from amqp_sansio.uri import AmqpUri
from amqp_sansio.versions import Version

from . import client


def connect(
    url: str | AmqpUri | Sequence[str | AmqpUri],
    *,
    version: Version | str | None = None,
    addresses: Addresses | None = None,
    **options: Any,
) -> Opening[Connection]:
    """Connect to a broker of any version: `async with connect(url) as connection`, or await it and close it later.

    `version`, or `?version=1.0` in the URL, is the version to speak; without it 1.0 is offered, then what the server
    offers in its refusal. `addresses`, or `?addresses=qpid`, is the form in which a broker of 1.0 takes addresses:
    "rabbitmq4", "rabbitmq3" or "qpid"; None: as they are given. `options` are those of `amqp_sansio_asyncio.connect`.
    Raises VersionRefused if no version is common to both, otherwise as `amqp_sansio_asyncio.connect` does.
    """
    return Opening(lambda: Offer(url, version, addresses).connect(client.connect, options, asyncio.timeout))


__all__ = ["connect"]
