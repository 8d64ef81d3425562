"""Driver: random but reproducible use of a pair of any version; operations that octets give."""

import pickle
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, Final, Generic, TypeVar

from hypothesis import strategies as st

from amqp_sansio import EndpointClosed, LocalProtocolError, Pending, Side
from tests.kit.pair import SIDES, told
from tests.kit.pair import Pair as Pair

P = TypeVar("P", bound=Pair[Any])

Operation = tuple[int, int, int]
"""Which operation, and two numbers that say what it does."""


def operations_of(octets: bytes) -> list[Operation]:
    """One of every three octets."""
    return [(octets[at], octets[at + 1], octets[at + 2]) for at in range(0, len(octets) - 2, 3)]


OCTETS: Final = st.binary(min_size=120, max_size=300)
OPERATIONS: Final = OCTETS.map(operations_of)
"""40 to 100 operations: shorter lists, which hypothesis prefers, hardly get beyond the opening."""


class Driver(ABC, Generic[P]):
    """A pair whose applications are the operations; `refused` counts the commands that raised.

    The operations are one of `acts` each, with `damage` of `damages` too. It begins with `prepare`, unless it is to
    begin before the connection is open. With `check_misuse`, a command that raises must leave the pickle as it was.
    `checked` is off where the traffic is wanted, which the same operations give elsewhere with every invariant checked.
    `handles` are those that commands gave.
    """

    places = 256
    """The first number of an operation is used modulo this."""

    acts: Sequence[Callable[..., Any]]
    damages: Sequence[Callable[..., Any]]

    def __init__(
        self, pair: P, *, opened: bool = True, check_misuse: bool = False, damage: bool = False, checked: bool = True
    ) -> None:
        self.pair = pair
        self.possible = (*self.acts, *self.damages) if damage else self.acts
        self.handles: dict[Side, list[Pending[Any]]] = {side: [] for side in SIDES}
        self.check_misuse = check_misuse
        self.checked = checked
        self.done = 0
        self.refused = 0
        self._seen = {side: (0, 0) for side in SIDES}
        if opened:
            self.prepare()

    def apply(self, operation: Operation) -> None:
        """Do one operation."""
        code, first, second = operation
        first %= self.places
        act = self.possible[code % len(self.possible)]
        side = self.side_of(act, first)
        before = pickle.dumps(self.pair.ends[side]) if self.check_misuse else b""
        try:
            self.act(act, side, first, second)
            self.done += 1
        except (LocalProtocolError, EndpointClosed):
            self.refused += 1
            if self.check_misuse:
                assert pickle.dumps(self.pair.ends[side]) == before, (act.__name__, operation)
        if self.checked:
            for each in SIDES:
                self.pair.ends[each].check()

    @abstractmethod
    def prepare(self) -> None:
        """Open the connection, and begin with something on it."""

    @abstractmethod
    def side_of(self, act: Callable[..., Any], first: int) -> Side:
        """The side whose command an act is."""

    @abstractmethod
    def act(self, act: Callable[..., Any], side: Side, first: int, second: int) -> None:
        """Let it act, and keep the handles that it gives."""

    @abstractmethod
    def finish(self) -> None:
        """Answer what waits, close, and let both sides come to an end."""

    @abstractmethod
    def children(self, end: Any) -> list[str]:
        """What an end shows of its channels, or sessions and links."""

    def trace(self) -> list[str]:
        """Everything that can be seen from outside since the last trace, as text."""
        pair = self.pair
        lines: list[str] = []
        for side in SIDES:
            end = pair.ends[side]
            events, octets = self._seen[side]
            self._seen[side] = len(pair.events[side]), len(pair.sent[side])
            lines += [f"{side.value} {told(event)}" for event in pair.events[side][events:]]
            lines.append(f"{side.value} sent {bytes(pair.sent[side][octets:])!r}")
            lines.append(
                f"{side.value} {end.next_deadline} {end.receive_budget} {end.close_hint} {end.send_backlog} {end.state}"
            )
            lines += [f"{side.value} {line}" for line in self.children(end)]
        return lines


# What happens to the pair of any version, or between its ends: an operation with a side.


def turn(pair: Pair[Any], side: Side, first: int, second: int) -> None:
    pair.turn(side)


def pump(pair: Pair[Any], side: Side, first: int, second: int) -> None:
    pair.pump()


def some(pair: Pair[Any], side: Side, first: int, second: int) -> None:
    """A few octets of one side are written, and a few arrive."""
    pair.write(side, second)
    pair.arrive(side.other, second)


def pass_time(pair: Pair[Any], side: Side, first: int, second: int) -> None:
    pair.now += second / 100
    for each in SIDES:
        pair.ends[each].handle_timeout(pair.now)


def damage(pair: Pair[Any], side: Side, first: int, second: int) -> None:
    """One bit on its way is another one."""
    pipe = pair.flying[side]
    if pipe:
        pipe[second * 7 % len(pipe)] ^= 1 << first % 8


WORLD: Final = (turn, pump, some, pass_time, damage)
