"""FAST_PATHS: every fast path of 0-10. Tests switch each off and compare; docs/fast-paths.md shows them."""

from __future__ import annotations

from typing import Final

from .._ground.fast_paths import Entry
from .endpoint.incoming import Incoming
from .endpoint.outgoing import Outgoing
from .observer.connection import Observer

FAST_PATHS: Final[tuple[Entry, ...]] = (
    Entry(
        "message received",
        Incoming,
        "fast_event",
        "message.transfer octet by octet as the one before, with one header frame or none and one body frame",
        "`MessageReceived`; the command id received and executing; credit spent; the transfer among the unsettled ones",
        "`FrameReader` and `Incoming` frame by frame",
    ),
    Entry(
        "message sent",
        Outgoing,
        "_send_whole",
        "a transfer whose segments take one frame each, on an attached session whose command-point is sent",
        "the frames; the command id, its replay and its call",
        "`Outgoing._send`",
    ),
    Entry(
        "message completed",
        Incoming,
        "complete",
        "a message without a result on an attached session, while no execution.sync waits",
        "the command completed; credit restored; session.completed when it is due",
        "`Incoming._done` and `Incoming._apply`",
        stand_in="_complete",
    ),
    Entry(
        "observed assembly",
        Observer,
        "fastpath",
        "a control, or a command with its message, each of whose segments is one frame",
        "`Observed` or `ObservedCommand`, and the broken rules behind it; the model is stepped as by the general way",
        "`Observer.frame` frame by frame",
    ),
)
