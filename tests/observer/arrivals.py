"""What arrives at an observer: cut elsewhere, damaged, and counted by the sides that the observer named."""

import random
from collections.abc import Sequence
from typing import Any, Final

from hypothesis import strategies as st

from amqp_sansio import Side
from amqp_sansio.observer import Identified, Observed, Observer, ObserverEvent
from tests.kit.observing import accounted, arrive, take

Arrivals = list[tuple[str, bytes | int, int]]
Damage = Sequence[tuple[str, int, int, bytes]]

DAMAGE: Final = st.lists(
    st.tuples(
        st.sampled_from(("gap", "cut", "garbage", "zeros", "flip")),
        st.integers(0, 10_000),
        st.integers(0, 10_000),
        st.binary(min_size=1, max_size=60),
    ),
    min_size=1,
    max_size=4,
)
"""Kinds of damage, each with an arrival, a place in it and octets."""


def cut(arrivals: Arrivals, seed: int, sizes: Sequence[int] = (1, 2, 7, 60, 1000)) -> Arrivals:
    """The same octets at the same times, cut differently."""
    choose = random.Random(seed)
    pieces: Arrivals = []
    for sender, what, at_ns in arrivals:
        if isinstance(what, int):
            pieces.append((sender, what, at_ns))
            continue
        begin = 0
        while begin < len(what):
            end = begin + choose.choice(sizes)
            pieces.append((sender, what[begin:end], at_ns))
            begin = end
    return pieces


def damaged(traffic: Sequence[tuple[str, bytes]], damage: Damage) -> Arrivals:
    arrivals: Arrivals = [(sender, what, at) for at, (sender, what) in enumerate(traffic)]
    for kind, which, where, octets in damage:
        index = which % len(arrivals)
        sender, what, at_ns = arrivals[index]
        if isinstance(what, int) or not what:
            continue
        begin = where % len(what)
        end = min(len(what), begin + len(octets))
        before, after = what[:begin], what[begin:]
        if kind == "gap":
            parts: list[bytes | int] = [before, end - begin, what[end:]]
            arrivals[index : index + 1] = [(sender, part, at_ns) for part in parts if part]
            continue
        if kind == "cut":
            changed = before + what[end:]
        elif kind == "garbage":
            changed = before + octets + after
        elif kind == "zeros":
            changed = before + bytes(len(octets)) + after
        else:
            changed = before + bytes([after[0] ^ (octets[0] or 1)]) + after[1:]
        arrivals[index] = (sender, changed, at_ns)
    return arrivals


def take_held(observer: Observer, arrivals: Arrivals, most: int) -> None:
    """Let all arrive; the observer never holds more than `most` octets."""
    for arrival in arrivals:
        arrive(observer, *arrival)
        take(observer)
        assert observer.held <= most
        observer.check()


def last_identified(events: Sequence[ObserverEvent]) -> Identified:
    """The version and the sides that the observer settled on."""
    return [event for event in events if isinstance(event, Identified)][-1]


def side_of(events: Sequence[ObserverEvent], sender: str) -> Side:
    """The side that the observer took a sender for."""
    known = last_identified(events)
    # A server is recognised before its client has sent anything.
    is_client = sender != known.server if known.client is None else sender == known.client
    return Side.CLIENT if is_client else Side.SERVER


def assert_accounted(events: Sequence[ObserverEvent], arrivals: Arrivals) -> None:
    """Each octet of either side became part of a unit, or was skipped."""
    octets = {side: 0 for side in Side}
    for sender, what, _ in arrivals:
        octets[side_of(events, sender)] += what if isinstance(what, int) else len(what)
    assert {side: accounted(events, side) for side in Side} == octets


def units(events: Sequence[ObserverEvent]) -> list[Observed]:
    return [event for event in events if isinstance(event, Observed)]


def told(event: Observed) -> tuple[Any, ...]:
    """Sender, channel, name and content of a unit."""
    return event.sender, event.channel, event.event, repr(event.content)
