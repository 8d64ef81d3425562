"""The books of an observed channel: its open messages, and what will settle them (0-9-1 sections 1.8 and 1.9)."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from ...lifecycle import MessageRecord
    from ...observer import Observed

NORMAL: Final = "normal"
CONFIRM: Final = "confirm"
TRANSACTED: Final = "tx"
UNKNOWN: Final = "unknown"


class Transaction:
    """What one transaction holds back: publishes, and settlements of deliveries as (message, outcome, unit)."""

    __slots__ = ("publishes", "settled")

    def __init__(self) -> None:
        self.publishes: list[MessageRecord] = []
        self.settled: list[tuple[MessageRecord, str, Any]] = []


class ChannelHistory:
    """The open messages of one channel. `sure` says that publishes can be counted, as confirms number them.

    `ordered` says that the tags in `deliveries` grow, `dead` that the server has closed the channel.
    """

    __slots__ = (
        "consumers", "consumes", "count", "dead", "deliveries", "ending", "gets", "held", "last_tag", "mode",
        "ordered", "publishes", "queue", "returnable", "staged", "staging", "sure", "transaction",
    )  # fmt: skip

    def __init__(self, known: bool) -> None:
        self.mode = NORMAL if known else UNKNOWN
        self.sure = True
        self.dead = False
        self.count = 0
        self.queue = ""
        self.publishes: dict[int, MessageRecord] = {}
        self.held: dict[int, MessageRecord] = {}
        self.returnable: dict[tuple[object, ...], deque[MessageRecord]] = {}
        self.deliveries: dict[int, MessageRecord] = {}
        self.last_tag = 0
        self.ordered = True
        self.transaction = Transaction()
        self.ending: deque[tuple[bool, Transaction]] = deque()
        self.consumers: dict[str, tuple[str, bool]] = {}
        self.consumes: dict[int, tuple[str, bool]] = {}
        self.gets: dict[int, tuple[str, bool]] = {}
        self.staging: dict[bool, str] = {}
        self.staged: dict[tuple[bool, str], Observed] = {}


def open_messages(transaction: Transaction) -> list[MessageRecord]:
    settled = [message for message, _, _ in transaction.settled]
    return [message for message in (*transaction.publishes, *settled) if message.outcome is None]


def flush(channel: ChannelHistory) -> list[MessageRecord]:
    """Nothing settles the channel's messages any more."""
    for message in channel.held.values():
        if channel.mode != CONFIRM:
            message.settle("settled")
    done = [*channel.held.values(), *channel.publishes.values()]
    for _, transaction in channel.ending:
        done += open_messages(transaction)
    done += open_messages(channel.transaction)
    done += channel.deliveries.values()
    done.sort(key=_order)
    channel.held = {}
    channel.publishes = {}
    channel.returnable = {}
    channel.deliveries = {}
    channel.ending.clear()
    channel.transaction = Transaction()
    return done


def _order(message: MessageRecord) -> int:
    return message.seq


def return_key(message: MessageRecord) -> tuple[object, ...]:
    return message.exchange, message.routing_key, message.body_size, message.body_sha256


def forget_return(channel: ChannelHistory, message: MessageRecord) -> None:
    """A publish is settled: nothing returns it any more."""
    if message.mandatory:
        key = return_key(message)
        waiting = channel.returnable.get(key)
        if waiting is not None:
            if waiting[0] is message:
                waiting.popleft()
            elif message in waiting:
                waiting.remove(message)
            if not waiting:
                del channel.returnable[key]
