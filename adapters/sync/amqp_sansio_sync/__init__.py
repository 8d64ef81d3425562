"""AMQP with blocking calls: `connect` to a broker; a thread sends heartbeats while your code works.

The classes here are those of 0-9-1 and 0-8. `amqp_sansio_sync.amqp_0_10` and `amqp_sansio_sync.amqp_1_0` have those of
the other versions, `amqp_sansio_sync.messaging` the client of all.
"""

from __future__ import annotations

from amqp_sansio.client.classic.channel import PublishOutcome
from amqp_sansio.client.recovery import Recovered, Recovering, RecoveryPolicy
from amqp_sansio.errors import ConsumerEnded, LinkEnded, NotAccepted, SessionEnded, TransactionFailed

from .blocking import EventStream
from .classic import Channel, Connection
from .connect import ConfigOptions, connect
from .messages import Confirmation, Consumer, Delivery
from .recording import Recorder, RecordTarget

__all__ = [
    "Channel",
    "ConfigOptions",
    "Confirmation",
    "Connection",
    "Consumer",
    "ConsumerEnded",
    "Delivery",
    "EventStream",
    "LinkEnded",
    "NotAccepted",
    "PublishOutcome",
    "RecordTarget",
    "Recorder",
    "Recovered",
    "Recovering",
    "RecoveryPolicy",
    "SessionEnded",
    "TransactionFailed",
    "connect",
]
