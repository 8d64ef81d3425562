"""FAST_PATHS: every fast path of 1.0. Tests switch each off and compare; docs/fast-paths.md shows them."""

from __future__ import annotations

from typing import Final

from .._ground.fast_paths import Entry
from .endpoint.events import Delivery
from .endpoint.fastpath import FastPath
from .endpoint.receiver import IncomingDelivery, Receiver
from .endpoint.sender import OutgoingDelivery, Sender
from .observer import fastpath as observer_fastpath
from .observer.lane import ObserverLane
from .observer.outcomes import ObservedDelivery

FAST_PATHS: Final[tuple[Entry, ...]] = (
    Entry(
        "transfer received",
        FastPath,
        "_transfer",
        "a delivery in one transfer frame of plain fields, on an attached link with credit, within window and limits",
        "`Delivery`; unless it is settled an unsettled delivery; credit and window advance",
        "`Session` and `Receiver` for the performative",
        (Delivery, IncomingDelivery),
    ),
    Entry(
        "disposition received",
        FastPath,
        "_disposition",
        "disposition of a receiver that settles deliveries, all known and whole, as accepted",
        "`Settled`; the deliveries are forgotten and their pendings completed",
        "`Session` for the performative",
    ),
    Entry(
        "message sent",
        Sender,
        "_send_fast",
        "a message that fits one frame, sent unsettled, with credit and window",
        "the transfer frame; an unsettled delivery; credit and window advance",
        "`Sender._start`",
        (OutgoingDelivery,),
    ),
    Entry(
        "delivery accepted",
        Receiver,
        "_accept_fast",
        "one whole delivery of the link accepted on an attached link whose receiver settles first",
        "the disposition frame; the delivery is forgotten and its pending completed",
        "`Receiver.update`",
    ),
    Entry(
        "observed transfer",
        observer_fastpath,
        "_transfer",
        "a delivery in one transfer frame, in full knowledge of link and session",
        "`Observed` with the message; unless it is settled an unsettled delivery; credit and window advance",
        "`Observer.unit` for the performative",
        (ObservedDelivery,),
    ),
    Entry(
        "observed disposition",
        observer_fastpath,
        "_disposition",
        "disposition that settles one delivery as accepted, in full knowledge of the session",
        "`Observed` with what it settles; the delivery is forgotten",
        "`Observer.unit` for the performative",
    ),
    Entry(
        "lane transfer",
        ObserverLane,
        "transferred",
        "a delivery in one transfer of plain fields, on a known link, where only events are wanted, without bodies",
        "its row in `events`; the session and link are in use",
        "`Observer.unit` for the performative, and the row of its event",
    ),
    Entry(
        "lane disposition",
        ObserverLane,
        "disposed",
        "disposition of plain fields on a known session, where only events are wanted, without bodies",
        "its row in `events`; the session is in use",
        "`Observer.unit` for the performative, and the row of its event",
    ),
)
