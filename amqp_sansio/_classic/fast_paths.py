"""FAST_PATHS: every fast path of 0-8 and 0-9-1. Tests switch each off and compare; docs/fast-paths.md shows them."""

from __future__ import annotations

from typing import Final

from .._compiled import COMPILED
from .._ground.fast_paths import Entry
from .endpoint.channel import Channel
from .endpoint.events import Delivery, MethodReceived, Published
from .endpoint.fastpath import ClientFastPath, ServerFastPath
from .observer.connection import ClassicObserver
from .observer.fastpath import ObserverFastPath
from .observer.lane import ObserverLane

_DELIVERED: Final = "read" if COMPILED else "delivered"
"""With the module in C what reads a delivery takes it at once."""

FAST_PATHS: Final[tuple[Entry, ...]] = (
    Entry(
        "client delivery",
        ClientFastPath,
        _DELIVERED,
        "basic.deliver with its header and at most one body frame on an open channel, within all limits",
        "`Delivery`; the tag among the unsettled ones; a body of more than 1024 octets that is missing is waited for",
        "`ConnectionModel` frame by frame",
        (Delivery,),
    ),
    Entry(
        "client deliveries",
        ClientFastPath,
        "following",
        "whole deliveries to the consumer of the one before, while no event waits; `Connection.next_deliveries` asks",
        "each `Delivery` as `client delivery` does",
        "`Connection.next_event` for each",
        (Delivery,),
    ),
    Entry(
        "client body",
        ClientFastPath,
        "continued",
        "the body frame that completes a delivery",
        "`Delivery`; the content under way ends",
        "`ConnectionModel` frame by frame",
    ),
    Entry(
        "client confirm",
        ClientFastPath,
        "acknowledged",
        "basic.ack of publishes on an open channel in confirm mode",
        "`Settled`; the pendings are completed and no longer unconfirmed",
        "`ConnectionModel` for the method",
    ),
    Entry(
        "client confirms",
        ClientFastPath,
        "confirms",
        "each basic.ack of one publish on one channel, while no event waits; `Connection.next_confirms` asks",
        "the pendings are completed and no longer unconfirmed",
        "`Connection.next_event` for each",
    ),
    Entry(
        "server publish",
        ServerFastPath,
        "published",
        "basic.publish with its header and at most one body frame on an open channel, within all limits",
        "`Published`; in confirm mode the next number among the unconfirmed ones",
        "`ConnectionModel` frame by frame",
        (Published,),
    ),
    Entry(
        "server ack",
        ServerFastPath,
        "acknowledged",
        "basic.ack of deliveries that are unsettled, outside transactions",
        "`MethodReceived`, and `Settled` where pendings wait; the tags are no longer unsettled",
        "`ConnectionModel` for the method",
        (MethodReceived,),
    ),
    Entry(
        "server acks",
        ServerFastPath,
        "acks",
        "each basic.ack of one delivery without a pending, on the channel of the one before, while no event waits; "
        "`Connection.next_acks` asks",
        "the tags are no longer unsettled",
        "`Connection.next_event` for each",
    ),
    Entry(
        "server forward",
        Channel,
        "forward",
        "a message that fits one body frame for a consumer of an open channel, alike one sent before",
        "method, header and body frames; the next delivery tag",
        "`Channel.deliver`'s way",
        stand_in="_forward",
    ),
    Entry(
        "server confirm",
        Channel,
        "confirm",
        "basic.ack of one unconfirmed publish on an open channel",
        "the method frame; the number is no longer unconfirmed",
        "`Channel._transmit` for the method",
        stand_in="_confirm",
    ),
    Entry(
        "client accept",
        Channel,
        "accept",
        "basic.ack of one unsettled delivery on an open channel where no call waits, outside transactions",
        "the method frame; the tag is no longer unsettled",
        "`Channel._settle`",
        stand_in="_accept",
    ),
    Entry(
        "observed delivery",
        ObserverFastPath,
        _DELIVERED,
        "basic.deliver with its header and at most one body frame, in full knowledge of an open channel",
        "`Observed` with the message; its tag among the unsettled ones",
        "`ClassicObserver.unit` frame by frame",
    ),
    Entry(
        "observed publish",
        ObserverFastPath,
        "published",
        "basic.publish with its header and at most one body frame, in full knowledge of an open channel",
        "`Observed` with the message; in confirm mode its number among the unconfirmed ones",
        "`ClassicObserver.unit` frame by frame",
    ),
    Entry(
        "observed begin",
        ClassicObserver,
        "lacks_content",
        "basic.deliver or publish, at most 16 KiB with its content, whose end hasn't come, on an open channel",
        "nothing: its frames wait for the rest, or for whatever else comes before that",
        "`ClassicObserver.frame` for the method",
    ),
    Entry(
        "observed ack",
        ObserverFastPath,
        "acknowledged",
        "basic.ack of one delivery or one publish, in full knowledge of an open channel, outside transactions",
        "`Observed` with what it settles",
        "`ClassicObserver.unit` for the method",
    ),
    Entry(
        "lane delivery",
        ObserverLane,
        "delivered",
        "basic.deliver with its header and at most one body frame on an open channel, where only events are wanted",
        "its row in `events`; nothing of the model",
        "`ClassicObserver.unit` frame by frame, and the row of its event",
    ),
    Entry(
        "lane publish",
        ObserverLane,
        "published",
        "basic.publish with its header and at most one body frame on an open channel, where only events are wanted",
        "its row in `events`; nothing of the model",
        "`ClassicObserver.unit` frame by frame, and the row of its event",
    ),
    Entry(
        "lane ack",
        ObserverLane,
        "acknowledged",
        "basic.ack on an open channel, where only events are wanted",
        "its row in `events`; nothing of the model",
        "`ClassicObserver.unit` for the method, and the row of its event",
    ),
)
