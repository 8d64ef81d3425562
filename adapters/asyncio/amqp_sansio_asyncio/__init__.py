"""AMQP for asyncio: `connect` to a broker, or `serve` as one, on the cores of amqp_sansio.

The classes here are those of 0-9-1 and 0-8. `amqp_sansio_asyncio.amqp_0_10` and `amqp_sansio_asyncio.amqp_1_0` have
those of the other versions, `amqp_sansio_asyncio.messaging` the client of all.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from amqp_sansio.client.hooks import Hooks
from amqp_sansio.client.inbox import EventStream
from amqp_sansio.client.recovery import Recovered, Recovering, RecoveryPolicy
from amqp_sansio.errors import ConsumerEnded, LinkEnded, NotAccepted, SessionEnded, TransactionFailed

from .client import connect
from .recording import RecordedConnection, Recorder, RecordTarget

if TYPE_CHECKING:
    from amqp_sansio.client.classic.channel import Channel as Channel
    from amqp_sansio.client.classic.channel import PublishOutcome as PublishOutcome
    from amqp_sansio.client.classic.connection import Connection as Connection
    from amqp_sansio.client.classic.consumer import Consumer as Consumer
    from amqp_sansio.client.classic.consumer import Delivery as Delivery
    from amqp_sansio.client.classic.settings import ConfigOptions as ConfigOptions

    from .broker import BrokerServer as BrokerServer
    from .broker import serve_broker as serve_broker
    from .server import Server as Server
    from .server import serve as serve
    from .server_connection import ServerConnection as ServerConnection
    from .stopping import on_stop as on_stop

_CLASSIC = "amqp_sansio.client.classic."
_LATER = {
    "BrokerServer": ".broker",
    "Channel": _CLASSIC + "channel",
    "ConfigOptions": _CLASSIC + "settings",
    "Connection": _CLASSIC + "connection",
    "Consumer": _CLASSIC + "consumer",
    "Delivery": _CLASSIC + "consumer",
    "PublishOutcome": _CLASSIC + "channel",
    "Server": ".server",
    "ServerConnection": ".server_connection",
    "on_stop": ".stopping",
    "serve": ".server",
    "serve_broker": ".broker",
}
"""Names of one version, of servers, the broker and processes, by module; who doesn't use them doesn't load them."""


def __getattr__(name: str) -> object:
    if name in _LATER:
        # From now on it is there as an imported name is.
        found = globals()[name] = getattr(import_module(_LATER[name], __name__), name)
        return found
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__all__ = [
    "BrokerServer",
    "Channel",
    "ConfigOptions",
    "Connection",
    "Consumer",
    "ConsumerEnded",
    "Delivery",
    "EventStream",
    "Hooks",
    "LinkEnded",
    "NotAccepted",
    "PublishOutcome",
    "RecordTarget",
    "RecordedConnection",
    "Recorder",
    "Recovered",
    "Recovering",
    "RecoveryPolicy",
    "Server",
    "ServerConnection",
    "SessionEnded",
    "TransactionFailed",
    "connect",
    "on_stop",
    "serve",
    "serve_broker",
]
