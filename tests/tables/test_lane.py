"""The rows of `events` alone are those that there are beside other tables: the lane leaves nothing out."""

from base64 import b64encode
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any
from zlib import crc32

import pytest

from amqp_sansio import AMQP_0_9_1, AMQP_1_0, Version
from amqp_sansio._classic.observer.lane import ObserverLane as ClassicLane
from amqp_sansio.amqp_0_9_1.spec import BasicAck, BasicDeliver, BasicPublish
from amqp_sansio.amqp_1_0.observer.lane import ObserverLane
from amqp_sansio.capture import Segment
from amqp_sansio.recorded._columns import BODIES
from amqp_sansio.recorded._json import FieldWriter, encode
from amqp_sansio.recorded._lane import EventLane
from amqp_sansio.recorded._plans import form_of
from amqp_sansio.recorded._units import BEGIN, CLASSIC, EITHER, LABEL, PROTOCOL, SERVER, UNITS
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
    for _ in range(2 if at_large else 1):
        _check(segments, random)


@pytest.mark.parametrize("version", VERSIONS, ids=lambda version: version.label)
def test_traffic_that_repeats_wraps_and_lies_has_the_same_events_alone(version: Version, at_large: bool) -> None:
    with _taken(version) as counts:
        for seed in range(50 if at_large else 10):
            random = Random(seed)
            _check(traffic_of(version, random), random)
    assert all(counts.values()), counts


@pytest.mark.parametrize("version", VERSIONS, ids=lambda version: version.label)
def test_traffic_with_less_in_it_has_the_same_events_alone(version: Version, at_large: bool) -> None:
    random = Random(7)
    for seed in range(8 if at_large else 1):
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


SAID: dict[str, Any] = {
    **{"seq": 1, "at_ns": 1_500_000_001_234_567, "channel": 2, "size": 300, "offset": 4000, "client": True},
    **{"consumer_tag": "tag", "delivery_tag": 2**63, "redelivered": True, "exchange": "", "routing_key": "caf\udce9"},
    **{"mandatory": False, "immediate": True, "multiple": True, "body": b"octets", "body_size": 6},
    **{"message": ',"properties":{}', "before": '"role":true', "after": "", "delivery_id": 5, "first": 6, "last": None},
}


def _told(parts: tuple[Any, ...] | str | int | None, values: dict[int, Any], names: dict[int, str]) -> Any:
    """What a column of a form for the module in C makes of a unit's values."""
    if not isinstance(parts, tuple):
        return values[parts] if isinstance(parts, int) else parts
    found = ""
    for part in parts:
        value = values[part] if isinstance(part, int) else part
        found += names.get(part, str(value).lower() if isinstance(value, bool) else str(value))
    return found


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("body", BODIES)
@pytest.mark.parametrize("columns", [None, NAMES, NAMES[::-2], ("seq", "sender")])
def test_forms_for_the_module_in_c_make_what_the_tellers_tell(
    unit: str, body: str, columns: tuple[str, ...] | None
) -> None:
    is_classic = unit in CLASSIC
    fields = FieldWriter(body, secrets=False)
    lane = EventLane("c", fields, columns or NAMES, columns is None, None, AMQP_0_9_1 if is_classic else AMQP_1_0)
    said: dict[str, Any] = {**SAID, "delivery_tag": SAID["delivery_tag"] if is_classic else b"\xff"}
    declared = UNITS[unit]
    names = ["seq", "at_ns", "channel", "size", "offset", *(["client"] if declared.sender is EITHER else [])]
    names += [value.expression for _, value in declared.members]
    names += ["message", "body", "body_size"] if declared.has_message else []
    getattr(lane, unit)(*[said[name] for name in names])
    sender = lane.server if declared.sender is SERVER else lane.client
    known = {BEGIN: lane.begin, LABEL: lane.label, PROTOCOL: lane.protocol, declared.sender: sender}
    form = form_of(declared, body, columns, known)
    if form is None:
        assert body == "base64" and declared.has_message
        return
    at_ns, at_us, moment = lane.instant(said["at_ns"])
    values = {0: 1, 1: 2, 2: 300, 3: 4000, 5: 6, 8: at_ns, 9: at_us, 10: moment, 14: said["message"]}
    of_unit = {value.number: said[value.expression] for _, value in declared.members if value.number is not None}
    texts = {number: encode(value) for number, value in of_unit.items() if number > 10 and number not in (15, 16, 18)}
    texts[18] = ""
    made = tuple([_told(column, values | of_unit, texts) for column in form])
    assert lane.rows == [("events", made)]
    assert form_of(declared, body, columns, {}) is None


@pytest.mark.parametrize(("unit", "kind"), [("deliver", BasicDeliver), ("publish", BasicPublish), ("ack", BasicAck)])
def test_a_unit_says_the_fields_of_its_method(unit: str, kind: Any) -> None:
    fields = [name for name in kind.__match_args__ if name not in kind.RESERVED]
    assert [name for name, _ in UNITS[unit].members] == fields
    assert UNITS[unit].event == kind.NAME
