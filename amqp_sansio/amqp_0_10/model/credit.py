"""Balance: how many messages and octets may be sent to one destination (class 4, message.set-flow-mode and flow).

Both ends keep it: the sender of the messages so as not to send more, their recipient so as to see who does.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from ..codec.violation import exception
from .execution import ILLEGAL_ARGUMENT, ILLEGAL_STATE

CREDIT: Final = 0
WINDOW: Final = 1
MESSAGE: Final = 0
BYTE: Final = 1
INFINITE: Final = 0xFFFFFFFF


class Balance:
    """The credit for one destination: `messages` and `octets`, None without limit; nothing in the beginning.

    `flow_mode` is WINDOW until told otherwise (rule default-flow-mode): then the completion of a transfer gives back
    what it took. `bodies` are the octets when headers don't count: there are brokers that count so, and send more than
    what `octets` allows. `granted` are the messages that were granted in all since the balance was zero, None without
    limit.

    `taking` are the commands under way that take all credit (message.stop, message.flush), `behind` what was granted
    behind them. `stale` are the transfers that took of a credit that has been taken since: their completion gives
    nothing back.

    `lenient`: octets count only if the peer has granted any since the balance was zero. So it is for what clients
    publish: there are brokers that stop a publisher, and let it go on with messages alone.

    >>> balance = Balance()
    >>> balance.grant(MESSAGE, 2), balance.grant(BYTE, 100), balance.holds(100), balance.holds(101)
    (None, None, True, False)
    """

    __slots__ = (
        "behind", "bodies", "counts", "flow_mode", "granted", "lenient", "messages", "octets", "stale", "taking",
    )  # fmt: skip

    def __init__(self, *, lenient: bool = False, stale: Iterable[int] = ()) -> None:
        self.lenient = lenient
        self.counts = not lenient
        self.flow_mode = WINDOW
        self.messages: int | None = 0
        self.octets: int | None = None if lenient else 0
        self.bodies: int | None = 0
        self.granted: int | None = 0
        self.taking: set[int] = set()
        self.behind: Balance | None = None
        self.stale = set(stale)

    @property
    def is_zero(self) -> bool:
        """Whether neither unit has any credit left."""
        return self.messages == 0 and (self.octets == 0 or not self.counts)

    def holds(self, size: int) -> bool:
        """Whether a message may be sent whose header and body have `size` octets together."""
        octets = self.octets
        return self.messages != 0 and (octets is None or (octets >= size and octets > 0))

    def grant(self, unit: int, value: int | None) -> None:
        """Add credit (message.flow): an infinite one until `zero`."""
        if value is None or value == INFINITE:
            value = None
        if unit == MESSAGE:
            self.messages = _sum(self.messages, value)
            self.granted = _sum(self.granted, value)
        else:
            self.octets = _sum(self.octets, value) if self.counts else value
            self.bodies = _sum(self.bodies, value)
            self.counts = True
        if self.behind is not None:
            self.behind.grant(unit, value)

    def admits(self, body: int) -> bool:
        """Whether the peer may have sent a message with a body of so many octets, however it counts."""
        bodies = self.bodies
        return self.messages != 0 and (bodies is None or (bodies >= body and bodies > 0))

    def spend(self, size: int, body: int = 0) -> None:
        """A message whose header and body have `size` octets was sent; what isn't there isn't spent."""
        if self.messages is not None:
            self.messages = max(0, self.messages - 1)
        self.spend_octets(size, body)

    def spend_octets(self, size: int, body: int) -> None:
        """The octets of such a message."""
        if self.octets is not None:
            self.octets = max(0, self.octets - size)
        if self.bodies is not None:
            self.bodies = max(0, self.bodies - body)

    def unspend(self, number: int) -> None:
        """The transfer `number` didn't come as a whole: it will come again, and take of the credit then."""
        if number not in self.stale:
            self.messages = _sum(self.messages, 1)

    def restore(self, number: int, size: int, body: int = 0) -> bool:
        """The transfer `number` of such a message is completed; whether that gave credit back."""
        if number in self.stale:
            self.stale.remove(number)
            return False
        if self.flow_mode != WINDOW:
            return False
        self.messages = _sum(self.messages, 1)
        self.octets = _sum(self.octets, size)
        self.bodies = _sum(self.bodies, body)
        return True

    def take(self, number: int) -> None:
        """The command `number` takes all credit when it's completed; what is granted behind it stays."""
        self.taking.add(number)
        self.behind = Balance(lenient=self.lenient)

    def zero(self, number: int, outstanding: Iterable[int]) -> None:
        """The command `number` takes all credit, also an infinite one (message.stop, and the end of message.flush).

        `outstanding` are the transfers that aren't completed.
        """
        behind = self.behind or Balance(lenient=self.lenient)
        self.taking.discard(number)
        if not self.taking:
            self.behind = None
        if behind.is_zero:
            self.stale.update(outstanding)
        self.messages = _least(self.messages, behind.messages)
        self.octets = _least(self.octets, behind.octets) if behind.counts else None
        self.bodies = _least(self.bodies, behind.bodies)
        self.granted = behind.granted
        self.counts = behind.counts

    def check_mode(self, mode: int, destination: str) -> None:
        """Raise Violation when there's credit, with which the mode can't be changed (rule mode-switching)."""
        if mode != self.flow_mode and not self.is_zero:
            raise exception(
                ILLEGAL_STATE,
                f"message.set-flow-mode for {destination!r}, which still has credit; "
                "wait for the completion of message.stop",
                "message.set-flow-mode/mode-switching",
            )


def check_unit(unit: int | None) -> int:
    """The unit of message.flow. Raises Violation for one that isn't defined."""
    if unit not in (None, MESSAGE, BYTE):
        raise exception(ILLEGAL_ARGUMENT, f"message.flow with the unit {unit}")
    return unit or MESSAGE


def check_flow_mode(mode: int | None) -> int:
    """The mode of message.set-flow-mode. Raises Violation for one that isn't defined."""
    if mode not in (None, CREDIT, WINDOW):
        raise exception(ILLEGAL_ARGUMENT, f"message.set-flow-mode with the mode {mode}")
    return mode or CREDIT


def _least(one: int | None, other: int | None) -> int | None:
    if one is None or other is None:
        return other if one is None else one
    return min(one, other)


def _sum(one: int | None, other: int | None) -> int | None:
    return None if one is None or other is None else one + other
