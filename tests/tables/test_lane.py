"""The rows of `events` alone are those that there are beside other tables: the lane leaves nothing out."""

from base64 import b64encode
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any
from zlib import crc32

import pytest

from amqp_sansio import AMQP_0_9_1, Version
from amqp_sansio._classic.observer.lane import ObserverLane as ClassicLane
from amqp_sansio.amqp_0_9_1 import BasicPublish
from amqp_sansio.amqp_1_0.observer.lane import ObserverLane
from amqp_sansio.capture import Segment
from tests.kit.captures import sampled
from tests.kit.conversations import CONVERSATIONS, packets_of
from tests.kit.lanes import NAMES, VERSIONS, events_of, options_of, traffic_of
from tests.kit.less import parts
from tests.kit.observing import Talk
from tests.kit.repeats import talk_1_0_at_random
from tests.kit.tables import segments_of

METHODS = {
    "0-9-1": (ClassicLane, ("delivered", "published", "acknowledged")),
    "0-8": (ClassicLane, ("delivered", "published", "acknowledged")),
    "1.0": (ObserverLane, ("transferred", "disposed")),
}
PLAIN: dict[str, Any] = {"columns": NAMES, "lines": True, "body": "size", "secrets": False, "events": None}


@contextmanager
def _taken(version: Version) -> Generator[dict[str, int]]:
    """Count the units that the lane takes, by its methods."""
    owner, names = METHODS[version.label]
    counts = dict.fromkeys(names, 0)

    def counting(name: str, method: Any) -> Any:
        def call(*arguments: Any) -> Any:
            found = method(*arguments)
            counts[name] += found is not None
            return found

        return call

    with pytest.MonkeyPatch.context() as patch:
        for name in names:
            patch.setattr(owner, name, counting(name, getattr(owner, name)))
        yield counts


def _check(segments: list[Segment], random: Random) -> None:
    options = options_of(random)
    beside = events_of(segments, options, alone=False)
    assert events_of(segments, options, alone=True) == beside
    assert events_of(segments, options, alone=True, often=0.2) == beside


@pytest.mark.parametrize("path", sampled())
def test_a_capture_has_the_same_events_alone(path: Path, at_large: bool) -> None:
    random = Random(crc32(path.name.encode()))
    segments = [each for each in segments_of([path]) if isinstance(each, Segment)]
    for _ in range(4 if at_large else 1):
        _check(segments, random)


@pytest.mark.parametrize("version", VERSIONS, ids=lambda version: version.label)
def test_traffic_that_repeats_wraps_and_lies_has_the_same_events_alone(version: Version, at_large: bool) -> None:
    with _taken(version) as counts:
        for seed in range(500 if at_large else 10):
            random = Random(seed)
            _check(traffic_of(version, random), random)
    assert all(counts.values()), counts


@pytest.mark.parametrize("version", VERSIONS, ids=lambda version: version.label)
def test_traffic_with_less_in_it_has_the_same_events_alone(version: Version, at_large: bool) -> None:
    random = Random(7)
    for seed in range(60 if at_large else 1):
        chosen = [part for _, part in parts(packets_of(CONVERSATIONS[version](seed)), seed)]
        for part in chosen if at_large else random.sample(chosen, 4):
            _check(part, random)


def test_what_other_columns_say_is_left_out() -> None:
    """A row has the values of its columns, in their order."""
    segments = packets_of([*talk_1_0_at_random(Random(1)).arrivals])
    options = {**PLAIN, "lines": False, "columns": ("unit", "seq", "event")}
    rows = [values for _, values in events_of(segments, options, alone=True)]
    assert [seq for _, seq, _ in rows] == [*range(len(rows))]
    assert {"content", "method"} <= {unit for unit, _, _ in rows}


def test_a_header_of_a_request_for_tokens_hides_no_body_of_0_9_1() -> None:
    talk = Talk().login().channel()
    for _ in range(2):
        method = BasicPublish(routing_key="key")
        talk.client(talk.message(method, b"shown", headers={"operation": "put-token"}))
    segments = packets_of([*talk.arrivals])
    options = {**PLAIN, "body": "base64"}
    with _taken(AMQP_0_9_1) as counts:
        found = events_of(segments, options, alone=True)
    assert counts["published"] == 2
    assert found == events_of(segments, options, alone=False)
    assert str(found).count(b64encode(b"shown").decode()) == 2
