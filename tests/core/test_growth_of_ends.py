"""Growth: however many channels, sessions, links or commands two ends have had, the next one costs both the same.

Generated over what an application of each version asks of its end, kept open or ended, the first ones or the last.
Steps are counted (`tests.kit.steps`), not time.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Final

import pytest

from amqp_sansio import AMQP_0_8, AMQP_0_9_1, AMQP_0_10, AMQP_1_0, Limits, Side, Version
from amqp_sansio import amqp_0_10 as ten
from amqp_sansio.amqp_0_10 import spec
from tests.kit import pair_0_10, pair_1_0, pair_classic
from tests.kit.steps import count_steps
from tests.kit.versions import KITS

FEW: Final = 30
MANY: Final = 300
MEASURED: Final = 6
"""How many are counted at each of the two numbers."""
ROOM: Final = 60
"""Steps by which the later ones may be dearer for other reasons, each: an id of more digits, a list that is moved."""
WIDE: Final = Limits(channels=65_535, consumers=65_535, requests=65_535, calls=65_535)
Act = Callable[[int], object]


def configs(version: Version, **changes: Any) -> dict[str, Any]:
    """Both ends' configurations, with room for all."""
    kit = KITS[version]
    return {
        "client": kit.client_config(limits=WIDE, channel_max=65_535, **changes),
        "server": kit.server_config(limits=WIDE, channel_max=65_535, **changes),
    }


def of(make: Callable[[], Any], pump: Callable[[], object], end: str) -> Act:
    """Open one each time, and end it, or one that was opened before: the first one of all, or the last."""
    kept: list[Any] = []

    def act(number: int) -> None:
        kept.append(make())
        pump()
        if end == "closed":
            kept.pop().close()
        elif end == "first closed" and number % 2:
            kept.pop(0).close()
        pump()

    return act


def channels(version: Version, end: str) -> Act:
    pair = pair_classic.Pair(version, **configs(version)).open()
    return of(pair.client.open_channel, pair.pump, end)


def sessions_1_0(end: str) -> Act:
    pair = pair_1_0.Pair(**configs(AMQP_1_0)).open()
    return of(pair.client.open_session, pair.pump, end)


def links_1_0(end: str, *, receives: bool = False) -> Act:
    pair = pair_1_0.Pair(**configs(AMQP_1_0, incoming_window=100_000)).open()
    session = pair.session()
    names = iter(range(100_000))

    def attach() -> Any:
        return session.open_receiver(f"q{next(names)}") if receives else session.open_sender(f"q{next(names)}")

    return of(attach, pair.pump, end)


class Ten:
    """Two ends of 0-10, with a session."""

    def __init__(self) -> None:
        self.pair = pair_0_10.Pair(**configs(AMQP_0_10)).open()
        self.names = iter(range(100_000))

    def session(self) -> Any:
        session = self.pair.client.open_session(f"s{next(self.names)}")
        self.pair.pump()
        self.pair.server.accept_session(session.channel)
        return session


def sessions_0_10(end: str) -> Act:
    both = Ten()
    return of(both.session, both.pair.pump, end)


def credit_0_10(end: str) -> Act:
    """One more subscription with credit, each: what it pays to tell together isn't looked for in all."""
    both = Ten()
    session = both.session()
    both.pair.pump()
    other: Any = both.pair.server.session(session.channel)

    def act(number: int) -> None:
        name = f"d{number}"
        session.call(spec.MessageSubscribe("q", name, 0, 0))
        session.call(spec.MessageFlow(name, 0, 10 + number))
        if end == "closed":
            session.call(spec.MessageStop(name))
        both.pair.pump()
        for event in both.pair.take(Side.SERVER, ten.CommandReceived):
            other.complete(event.command_id)
        both.pair.pump()

    return act


ACTS: Final[dict[str, Callable[[str], Act]]] = {
    "channels of 0-8": partial(channels, AMQP_0_8),
    "channels of 0-9-1": partial(channels, AMQP_0_9_1),
    "sessions of 0-10": sessions_0_10,
    "credit of 0-10": credit_0_10,
    "sessions of 1.0": sessions_1_0,
    "senders of 1.0": links_1_0,
    "receivers of 1.0": partial(links_1_0, receives=True),
}


@pytest.mark.parametrize("end", ["open", "closed", "first closed"])
@pytest.mark.parametrize("name", ACTS)
def test_the_next_one_costs_the_same_however_many_came_before(name: str, end: str) -> None:
    few, many = [measured(ACTS[name](end), count) for count in (FEW, MANY)]
    assert many <= 1.15 * few + ROOM, f"after {FEW} one takes {few} steps, after {MANY} {many}"


def measured(act: Act, count: int) -> int:
    """Act that often, and return the steps of each of the next ones."""
    for number in range(count):
        act(number)
    steps = [count_steps(partial(act, number), 1_000_000) for number in range(count, count + MEASURED)]
    return sum(steps) // MEASURED
