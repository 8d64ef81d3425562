"""Replays of `events` alone, whose usual units go by the lane, and the same rows of a replay that wants more."""

from __future__ import annotations

import pickle
from collections.abc import Iterable
from random import Random
from typing import Any, Final

from amqp_sansio import AMQP_0_8, AMQP_0_9_1, AMQP_1_0, Limits, Version
from amqp_sansio.capture import Segment
from amqp_sansio.recorded.tables import COLUMNS, FlowReplay, Row
from tests.kit.conversations import CONVERSATIONS, packets_of
from tests.kit.repeats import talk_1_0_at_random, talk_classic

NAMES: Final = tuple(name for name, _ in COLUMNS["events"])
USUAL: Final = ("basic.deliver", "basic.publish", "basic.ack", "transfer", "disposition", "channel.open-ok", "flow")
NARROW: Final = Limits(
    channels=2, consumers=2, calls=2, unsettled=3, unconfirmed=3, message=500, bodies=800, unparsed=20_000, header=5000
)
"""Limits that some of the traffic reaches."""
VERSIONS: Final = (AMQP_0_9_1, AMQP_0_8, AMQP_1_0)
"""The versions that have a lane."""


def options_of(random: Random) -> dict[str, Any]:
    """Options of `FlowReplay` that a row of `events` depends on."""
    columns = NAMES if random.random() < 0.5 else random.sample(NAMES, random.randrange(1, len(NAMES)))
    return {
        "columns": columns,
        "lines": random.random() < 0.5,
        "body": random.choice(("size", "size", "none", "base64")),
        "secrets": random.random() < 0.5,
        "events": random.sample(USUAL, 4) if random.random() < 0.2 else None,
        "limits": NARROW if random.random() < 0.3 else None,
    }


def events_of(segments: Iterable[Segment], options: dict[str, Any], *, alone: bool, often: float = 0.0) -> list[Row]:
    """The rows of `events`, wanted alone or beside those of `violations`.

    The replay is pickled behind a segment with the probability `often`.
    """
    random = Random(1)
    given = dict(options)
    given["tables"] = {"events": given.pop("columns")} | ({} if alone else {"violations": ["rule"]})
    flows: dict[str, FlowReplay] = {}
    found: list[Row] = []
    for segment in segments:
        replay = flows.get(segment.flow)
        if replay is None:
            replay = flows[segment.flow] = FlowReplay(segment.flow, **given)
        found += replay.push(segment)
        if often and random.random() < often:
            flows[segment.flow] = pickle.loads(pickle.dumps(replay))
    for replay in flows.values():
        found += replay.finish()
    return [row for row in found if row[0] == "events"]


def traffic_of(version: Version, random: Random) -> list[Segment]:
    """A conversation in which the usual units have any place and neighbour, and numbers that repeat, wrap and lie."""
    way = random.randrange(3)
    if way == 0:
        return packets_of(CONVERSATIONS[version](random.randrange(1 << 30)), syn=random.random() < 0.8)
    talk = talk_1_0_at_random(random) if version is AMQP_1_0 else talk_classic(random)
    arrivals = [*talk.arrivals]
    if way == 2:
        arrivals = spoilt(arrivals, random)
    syn = random.random() < 0.8 or version is AMQP_0_8
    return packets_of(arrivals, syn=syn, most=random.choice((1400, 40, 7)))


def spoilt(arrivals: list[tuple[str, bytes | int]], random: Random) -> list[tuple[str, bytes | int]]:
    """The same with pieces that come twice, from the wrong side, in another order, or with another octet."""
    found: list[tuple[str, bytes | int]] = []
    for sender, what in arrivals:
        chance = random.random()
        if isinstance(what, int) or len(found) < 8 or chance > 0.2:
            found.append((sender, what))
        elif chance < 0.05:
            found += [(sender, what)] * 2
        elif chance < 0.1:
            found.append((random.choice(arrivals)[0], what))
        elif chance < 0.15:
            found.insert(-1, (sender, what))
        else:
            at = random.randrange(len(what)) if what else 0
            found.append((sender, what[:at] + random.randbytes(1) + what[at + 1 :]))
    return found
