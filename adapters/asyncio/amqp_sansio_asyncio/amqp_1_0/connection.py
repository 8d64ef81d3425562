"""`connect` in 1.0."""

from __future__ import annotations

import ssl as ssl_module

from amqp_sansio.amqp_1_0 import Connection as CoreConnection
from amqp_sansio.client.amqp_1_0.client import Client
from amqp_sansio.client.amqp_1_0.connection import Connection
from amqp_sansio.uri import AmqpUri, parse

from ..client_driver import ClientDriver
from ..connector import Connector, establish
from ..recording import RecordTarget
from .settings import ConfigOptions, client_config, random_name


async def connect_amqp_1_0(
    url: str | AmqpUri,
    ssl: ssl_module.SSLContext | None,
    record: tuple[RecordTarget | None, bool],
    connector: Connector | None,
    options: ConfigOptions,
) -> Connection:
    """Connect for `connect` in 1.0."""
    uri = parse(url) if isinstance(url, str) else url
    client = Client(CoreConnection.client(client_config(uri, options)), random_name())
    await establish(uri, client, ClientDriver, ssl, record, connector)
    return Connection(client, uri)


__all__ = ["connect_amqp_1_0"]
