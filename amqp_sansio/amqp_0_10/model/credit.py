"""Balance: how many messages and octets may be sent to one destination (class 4, message.set-flow-mode and flow).

Both ends keep it: the sender of the messages so as not to send more, their recipient so as to see who does.
`AgedCredit` is the most that the sender may have, for whoever sees both sides and can't know what has arrived.

This module owns the credit of a session; nothing outside `model` assigns any of it. Each call stands for a command that
is executed (`grant`, `zero`, `set_mode`), sent (`take`), or for a message that passes (`spend`) or is completed
(`restore`). What is left is never negative, and `behind` is there just while `taking` isn't empty.
"""

from __future__ import annotations

from collections.abc import Iterable

from ..._checking import TYPE_CHECKING
from ..._ground.brevity import trim
from ..codec.choices import BYTE, CREDIT, INFINITE, MESSAGE, WINDOW
from ..codec.violation import Violation, exception
from .execution import ILLEGAL_ARGUMENT, ILLEGAL_STATE, NOT_FOUND, RESOURCE_LIMIT_EXCEEDED
from .open_ids import OpenIds

if TYPE_CHECKING:
    from typing import Final

    from ..codec.sequence_set import SequenceSet

NO_CREDIT: Final = "message.subscribe/zero-credit"
_MOST_CREDITS: Final = 16


class Balance:
    """The credit for one destination, nothing in the beginning.

    >>> balance = Balance()
    >>> balance.grant(MESSAGE, 2), balance.grant(BYTE, 100), balance.holds(100), balance.holds(101)
    (None, None, True, False)
    """

    __slots__ = (
        "behind",
        "bodies",
        "counts",
        "flow_mode",
        "granted",
        "lenient",
        "messages",
        "octets",
        "stale",
        "taking",
    )

    def __init__(self, *, lenient: bool = False, stale: Iterable[int] = ()) -> None:
        # Whether octets count only if any were granted since the balance was zero. So it is at both ends for what
        # clients publish: there are brokers that stop a publisher, and let it go on with messages alone.
        self.lenient = lenient
        # Whether octets count.
        self.counts = not lenient
        # WINDOW until told otherwise (rule default-flow-mode): then the completion of a transfer gives back what it
        # took.
        self.flow_mode = WINDOW
        # Messages, and octets of header and body, that may still be sent; None without limit.
        self.messages: int | None = 0
        self.octets: int | None = None if lenient else 0
        # The octets when headers don't count: there are brokers that count so, and send more than `octets` allows.
        self.bodies = self.octets
        # Messages that were granted in all since the balance was zero, None without limit.
        self.granted: int | None = 0
        # The commands under way that take all credit (message.stop, message.flush), and what was granted behind them;
        # None while there are none.
        self.taking: set[int] = set()
        self.behind: Balance | None = None
        # The transfers that took of a credit that has been taken since: their completion gives nothing back.
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
        value = None if value == INFINITE else value
        if unit == MESSAGE:
            self.messages = _sum(self.messages, value)
            self.granted = _sum(self.granted, value)
        else:
            if not self.counts:
                self.octets = 0
                self.bodies = 0
                self.counts = True
            self.octets = _sum(self.octets, value)
            self.bodies = _sum(self.bodies, value)
        if self.behind is not None:
            self.behind.grant(unit, value)

    def admits(self, body: int) -> bool:
        """Whether the peer may have sent a message with a body of so many octets, however it counts."""
        bodies = self.bodies
        return self.messages != 0 and (bodies is None or (bodies >= body and bodies > 0))

    def spend(self, size: int, body: int = 0, messages: int = 1) -> None:
        """A message whose header and body have `size` octets was sent; what isn't there isn't spent.

        `messages` is 0 for the octets of one that was spent when it began.
        """
        if self.messages is not None:
            self.messages = max(0, self.messages - messages)
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
        self.bodies = _least(self.bodies, behind.bodies) if behind.counts else None
        self.granted = behind.granted
        self.counts = behind.counts

    def overrun(self, destination: str, size: int) -> Violation:
        """A message of so many octets was sent that the credit didn't allow."""
        takes = f"{self.messages} messages and {self.octets} octets"
        return overrun(destination, size, takes, messages=self.messages != 0)

    def set_mode(self, mode: int) -> None:
        """Completions give credit back from now on (WINDOW), or don't."""
        self.flow_mode = mode

    def check_mode(self, mode: int, destination: str) -> None:
        """Raise Violation when there's credit, with which the mode can't be changed (rule mode-switching)."""
        if mode != self.flow_mode and not self.is_zero:
            raise mode_switched(destination)


class _Age:
    """The credit of one age, which begins with a command that zeroes the credit before it."""

    __slots__ = ("granted", "messages", "most", "name", "number", "octets", "window")

    def __init__(self, name: str, number: int | None, window: bool) -> None:
        # The name and the id of that command.
        self.name = name
        self.number = number
        # Whether completions may give credit back.
        self.window = window
        # Whether message.flow gave any.
        self.granted = False
        # The messages that might be sent at once when message.flow gave the last ones; None without limit.
        self.most: int | None = 0
        # Messages, and octets of header and body, that may still be sent; None without limit.
        self.messages: int | None = 0
        self.octets: int | None = 0

    def add(self, messages: int | None, octets: int | None) -> None:
        """More credit, None without limit."""
        self.messages = _sum(self.messages, messages)
        self.octets = _sum(self.octets, octets)

    def holds(self, octets: int) -> bool:
        """Whether a message of so many octets may be sent."""
        return self.messages != 0 and (self.octets is None or self.octets >= octets)

    def spend(self, octets: int) -> None:
        """Such a message was sent."""
        if self.messages is not None:
            self.messages -= 1
        if self.octets is not None:
            self.octets -= octets


class _Destination:
    """A subscription, or what is left of one."""

    __slots__ = ("credits", "live")

    def __init__(self) -> None:
        # Whether it is subscribed, and not cancelled since.
        self.live = False
        # The credits that the server may still have, oldest first: of all but the last it isn't known to have executed
        # what zeroes them. At most `_MOST_CREDITS`.
        self.credits: list[_Age] = []

    def zero(self, name: str, number: int | None) -> None:
        """A command is sent that zeroes the credit when the server executes it."""
        self.credits.append(_Age(name, number, not self.credits or self.credits[-1].window))
        if len(self.credits) > _MOST_CREDITS:
            oldest, second = self.credits[:2]
            second.add(oldest.messages, oldest.octets)
            second.granted = second.granted or oldest.granted
            second.window = second.window or oldest.window
            del self.credits[0]

    def zeroed(self, number: int) -> None:
        """The server has executed such a command: what it had before is gone."""
        for place, credit in enumerate(self.credits):
            if credit.number == number:
                del self.credits[:place]
                break


class AgedCredit:
    """The most that the server may send to each destination of a client, as whoever sees both sides knows it.

    Credit counts from the moment the client sends its grant; credit that the client takes back counts until the server
    says that it's done.
    """

    __slots__ = ("destinations", "known", "most", "restored", "zeroing")

    def __init__(self, most: int) -> None:
        # The most commands in `zeroing`.
        self.most = most
        # Whether all of the client's destinations are known; else nothing is said of any.
        self.known = True
        # These, by name; none unless `known`.
        self.destinations: dict[str, _Destination] = {}
        # The destination whose credit a command zeroes, by the id of the command, until the server has executed it.
        self.zeroing: OpenIds[str] = OpenIds()
        # The destinations that completions have given credit back, until somebody asks for them.
        self.restored: dict[str, None] = {}

    def room_of(self, name: str) -> tuple[int | None, int | None]:
        """The messages that a subscription has credit for, and those when it was granted last.

        None: without limit, or not known.
        """
        destination = self._live(name)
        if destination is None:
            return None, None
        credit = destination.credits[-1]
        return credit.messages, credit.most

    def take_restored(self) -> Iterable[str]:
        """The destinations that completions have given credit since the last call."""
        restored = self.restored
        if restored:
            self.restored = {}
        return restored

    def forget(self) -> None:
        """Not all destinations are known any more."""
        self.known = False
        self.restored.clear()
        self.destinations.clear()
        self.zeroing.clear()

    def subscribe(self, name: str, number: int, limit: int) -> None:
        """The client subscribes with the command `number`."""
        if not self.known:
            return
        destination = self.destinations.get(name)
        if destination is None:
            destination = self.destinations[name] = _Destination()
        elif not destination.live:
            # Credit of the subscription before it is for its own messages, which may still be on their way.
            self.zeroing[number] = name
        destination.live = True
        destination.zero("message.subscribe", number)
        destination.credits[-1].window = True
        if len(self.destinations) > limit:
            self.forget()

    def _live(self, name: str) -> _Destination | None:
        destination = self.destinations.get(name)
        return destination if destination is not None and destination.live else None

    def zero(self, name: str, by: str, number: int) -> None:
        """The client sends message.stop, flush or cancel: credit is gone once the server has executed it."""
        destination = self._live(name)
        if destination is None:
            return
        destination.zero(by, number)
        if by == "message.cancel":
            destination.live = False
        self.zeroing[number] = name
        # The completion of the oldest won't be noticed: its credit counts as long as a later one isn't completed.
        trim(self.zeroing, self.most)

    def grant(self, name: str, unit: int | None, value: int | None) -> None:
        """The client sends message.flow."""
        destination = self._live(name)
        if destination is None:
            return
        value = None if value == INFINITE else value
        credit = destination.credits[-1]
        credit.granted = credit.granted or value != 0
        credit.add(0 if unit == BYTE else value, 0 if unit == MESSAGE else value)
        if unit == MESSAGE:
            # With the window mode, what the client hasn't completed is part of it.
            credit.most = _sum(credit.most, value) if credit.window else credit.messages

    def set_mode(self, name: str, mode: int | None) -> Violation | None:
        """The client sends message.set-flow-mode; the rule that it breaks."""
        destination = self._live(name)
        if destination is None:
            return None
        credit = destination.credits[-1]
        left = credit.messages != 0 or credit.octets != 0
        broken = None
        if len(destination.credits) == 1 and credit.granted and left:
            broken = mode_switched(name)
        # With credit of the window mode left, completions may still give some back.
        credit.window = mode == WINDOW or (credit.window and credit.granted)
        return broken

    def spend(self, name: str, octets: int) -> Violation | None:
        """The server sends a message with so many octets in header and body; the rule that it breaks."""
        if not self.known:
            return None
        destination = self.destinations.get(name)
        if destination is None:
            return no_subscription(name)
        for credit in destination.credits:
            if credit.holds(octets):
                credit.spend(octets)
                return None
        text = f"message.transfer to {name!r}"
        last = destination.credits[-1].name
        if not any([credit.granted for credit in destination.credits]):
            if last in ("message.stop", "message.flush"):
                text += f" behind the completion of {last}"
                return exception(RESOURCE_LIMIT_EXCEEDED, text, f"{last}/zero")
            return exception(RESOURCE_LIMIT_EXCEEDED, f"{text}, which has no credit yet", NO_CREDIT)
        messages = any([credit.messages != 0 for credit in destination.credits])
        return overrun(name, octets, "no credit of that size", messages=messages)

    def restore(self, name: str, octets: int) -> None:
        """The client has completed such a message."""
        destination = self.destinations.get(name)
        if destination is not None and any([credit.window for credit in destination.credits]):
            destination.credits[-1].add(1, octets)
            self.restored[name] = None

    def completed(self, commands: SequenceSet) -> None:
        """The server has executed commands of the client."""
        for number in self.zeroing.named(commands):
            name = self.zeroing.pop(number)
            destination = self.destinations.get(name)
            if destination is None:
                continue
            destination.zeroed(number)
            if not destination.live and len(destination.credits) == 1:
                del self.destinations[name]
                self.restored.pop(name, None)


def no_subscription(name: str) -> Violation:
    """A message for a destination that the client hasn't subscribed, so that it has no credit (rule initial-credit)."""
    return exception(NOT_FOUND, f"message.transfer to {name!r}, which is no subscription of this session", NO_CREDIT)


def overrun(name: str, octets: int, takes: str, *, messages: bool) -> Violation:
    """A message of so many octets for a destination without credit for it; `messages`: for messages it has some."""
    text = f"message.transfer of {octets} octets to {name!r}, which takes {takes}"
    return exception(RESOURCE_LIMIT_EXCEEDED, text, "message.set-flow-mode/byte-accounting" if messages else NO_CREDIT)


def mode_switched(name: str) -> Violation:
    """message.set-flow-mode for a destination that still has credit (rule mode-switching)."""
    text = f"message.set-flow-mode for {name!r}, which still has credit; "
    text += "wait for the completion of message.stop"
    return exception(ILLEGAL_STATE, text, "message.set-flow-mode/mode-switching")


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
