"""Partitions of Event Hubs by themselves: keys, positions, what a log keeps, and where a receiver begins."""

from __future__ import annotations

import pickle
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from amqp_sansio import amqp_1_0 as amqp
from amqp_sansio.broker.nodes import Refusal
from amqp_sansio_azure.conditions import ARGUMENT_ERROR
from amqp_sansio_azure.eventhubs import EventHub, Partition, Retention
from amqp_sansio_azure.eventhubs.events import BATCH, OVERHEAD, Arrival, arrivals_of
from amqp_sansio_azure.eventhubs.partition_keys import hash_of, lookup3, partition_of
from amqp_sansio_azure.eventhubs.partitions import NEVER
from amqp_sansio_azure.eventhubs.positions import Position, PositionError, parse_position
from tests.kit.azure_hubs import batch, event

OFFSET = "amqp.annotation.x-opt-offset"
SEQUENCE = "amqp.annotation.x-opt-sequence-number"
TIME = "amqp.annotation.x-opt-enqueued-time"


def arrival(body: bytes = b"hello") -> Arrival:
    return Arrival(event(body).encode())


def log(*times: int, retention: Retention | None = None) -> Partition:
    """A partition with an event for each time."""
    made = Partition("0", retention or Retention(seconds=1e9))
    for each in times:
        made.append(arrival(str(each).encode()), each)
    return made


# Partition keys.


@pytest.mark.parametrize(
    "data,words", [(b"", (0xDEADBEEF, 0xDEADBEEF)), (b"Four score and seven years ago", (0x17770551, 0xCE7226E6))]
)
def test_the_hash_is_lookup3(data: bytes, words: tuple[int, int]) -> None:
    """The vectors that Bob Jenkins' lookup3.c prints."""
    assert lookup3(data) == words


@pytest.mark.parametrize(
    "key,partitions,partition",
    [("alphabet", 3, 0), ("alphabet", 11, 4), ("TheBestParitionEver", 4, 2), ("TheWorstParitionEver", 15, 1)],
)
def test_keys_have_the_partitions_that_the_sdks_expect(key: str, partitions: int, partition: int) -> None:
    """The values that the JavaScript SDK's tests have from the service's implementation."""
    assert partition_of(key, partitions) == partition


@given(key=st.text(max_size=40), partitions=st.integers(1, 1024))
@settings(max_examples=100, deadline=None)
def test_every_key_has_one_partition_of_those_that_there_are(key: str, partitions: int) -> None:
    assert -0x8000 <= hash_of(key) <= 0x7FFF
    assert 0 <= partition_of(key, partitions) < partitions
    assert partition_of(key, partitions) == partition_of(key, partitions)


def test_keys_spread_over_the_partitions() -> None:
    found = [partition_of(f"key-{number}", 4) for number in range(400)]
    assert all(found.count(each) > 60 for each in range(4))


# Positions.


@pytest.mark.parametrize(
    "expression,position",
    [
        (f"{OFFSET} > '123'", Position("offset", "123")),
        (f"{OFFSET} >= '123'", Position("offset", "123", True)),
        (f"{OFFSET} > '-1'", Position("offset", "-1")),
        (f"{OFFSET} > '@latest'", Position("offset", "@latest")),
        (f"{OFFSET} > @latest", Position("offset", "@latest")),
        (f"{OFFSET} > 123", Position("offset", "123")),
        (f"{SEQUENCE} > '5'", Position("sequence-number", "5")),
        (f"{SEQUENCE} >= '-1'", Position("sequence-number", "-1", True)),
        (f" {TIME}>='1700000000000' ", Position("enqueued-time", "1700000000000", True)),
        (f"{TIME} > 1700000000000", Position("enqueued-time", "1700000000000")),
    ],
)
def test_the_sdks_expressions_are_positions(expression: str, position: Position) -> None:
    assert parse_position(expression) == position


@pytest.mark.parametrize(
    "expression",
    [
        "",
        "offset > '1'",
        f"{OFFSET} < '1'",
        f"{OFFSET} = '1'",
        f"{OFFSET} > '1",
        f"{OFFSET} > 'one'",
        f"{OFFSET} > ''",
        f"{OFFSET} > '1:2:3'",
        f"{SEQUENCE} > '@latest'",
        f"{TIME} > '1.5'",
        f"{TIME} > '{'9' * 20}'",
        f"{OFFSET} > '1' AND {SEQUENCE} > '1'",
        f"{OFFSET} > '{'1' * 2000}'",
    ],
)
def test_other_expressions_are_no_positions(expression: str) -> None:
    with pytest.raises(PositionError, match="invalid"):
        parse_position(expression)


@given(st.text(max_size=60))
@settings(max_examples=100, deadline=None)
def test_a_text_is_a_position_or_an_error(text: str) -> None:
    try:
        found = parse_position(text)
    except PositionError:
        return
    assert found.kind in text and found.value in text


# What a log keeps.


def test_numbers_offsets_and_times_only_grow() -> None:
    partition = log(10, 30, 20)
    events = [partition.at(number) for number in range(3)]
    assert [each.sequence for each in events if each] == [0, 1, 2]
    assert [each.enqueued for each in events if each] == [10, 30, 30]
    offsets = [each.offset for each in events if each]
    assert offsets[0] == 0 and offsets == sorted(set(offsets))
    assert partition.last_sequence == 2
    assert partition.last_offset == str(offsets[2])
    assert partition.last_time == 30


def test_an_empty_log_has_the_numbers_before_the_first() -> None:
    partition = log()
    assert (partition.last_sequence, partition.last_offset, partition.last_time) == (-1, "-1", NEVER)
    assert (partition.first_sequence, len(partition), partition.octets) == (0, 0, 0)
    assert partition.at(0) is None


def test_a_log_forgets_what_is_too_old() -> None:
    partition = log(0, 1000, 2000, retention=Retention(seconds=2))
    assert partition.first_sequence == 1  # At 2,000 the first one was two seconds old.
    partition.trim(3999)
    assert (partition.first_sequence, len(partition)) == (2, 1)
    partition.trim(4000)
    assert (partition.first_sequence, len(partition), partition.octets) == (3, 0, 0)
    assert (partition.last_sequence, partition.last_time) == (2, 2000)
    partition.append(arrival(), 5000)
    event = partition.at(0)
    assert event is not None and event.sequence == 3


def test_a_log_forgets_the_oldest_above_its_size() -> None:
    one = log(0).octets
    partition = log(*range(10), retention=Retention(octets=3 * one + 40))
    assert (len(partition), partition.first_sequence) == (3, 7)
    assert partition.octets <= 3 * one + 40
    large = arrival(b"x" * 4 * one)
    partition.append(large, 10)
    assert (len(partition), partition.octets) == (0, 0)
    assert partition.last_sequence == 10


def test_what_was_forgotten_takes_no_room() -> None:
    partition = log(*range(5000), retention=Retention(octets=10 * (log(0).octets + 3)))
    assert len(partition) <= 10
    assert len(pickle.dumps(partition)) < 500_000


@given(
    times=st.lists(st.integers(0, 50), max_size=40),
    kept=st.integers(1, 30),
    size=st.integers(1, 4000),
    sequence=st.integers(-3, 60),
)
@settings(max_examples=100, deadline=None)
def test_a_log_agrees_with_a_list(times: list[int], kept: int, size: int, sequence: int) -> None:
    partition = Partition("0", Retention(kept / 1000, size))
    naive: list[tuple[int, int, int]] = []
    now = 0
    for number, passed in enumerate(times):
        now += passed
        event = partition.append(arrival(b"x" * passed), now)
        naive.append((number, now, event.octets))
        while naive and (naive[0][1] <= now - kept or sum([each[2] for each in naive]) > size):
            naive.pop(0)
        assert len(partition) == len(naive)
        assert partition.octets == sum([each[2] for each in naive])
    found = partition.at(sequence)
    later = [each for each in naive if each[0] >= sequence]
    assert (None if found is None else found.sequence) == (later[0][0] if later else None)


# Where a receiver begins.


@pytest.mark.parametrize(
    "expression,start",
    [
        (f"{OFFSET} > '-1'", 0),
        (f"{OFFSET} >= '-1'", 0),
        (f"{OFFSET} > '@latest'", 4),
        (f"{OFFSET} >= '@latest'", 4),
        (f"{SEQUENCE} > '-1'", 0),
        (f"{SEQUENCE} >= '0'", 0),
        (f"{SEQUENCE} > '0'", 1),
        (f"{SEQUENCE} >= '3'", 3),
        (f"{SEQUENCE} > '3'", 4),
        (f"{TIME} > '0'", 0),
        (f"{TIME} >= '100'", 0),
        (f"{TIME} > '100'", 1),
        (f"{TIME} >= '200'", 1),
        (f"{TIME} > '200'", 3),
        (f"{TIME} >= '201'", 3),
        (f"{TIME} > '300'", 4),
        (f"{TIME} >= '301'", 4),
    ],
)
def test_a_position_is_a_place_in_the_log(expression: str, start: int) -> None:
    assert log(100, 200, 200, 300).start(parse_position(expression)) == start


def test_each_offset_is_the_place_of_its_event() -> None:
    partition = log(*range(5))
    for number in range(5):
        event = partition.at(number)
        assert event is not None
        assert partition.start(Position("offset", str(event.offset), True)) == number
        assert partition.start(Position("offset", str(event.offset))) == number + 1
        if number:
            # Between two events.
            assert partition.start(Position("offset", str(event.offset - 1))) == number


def test_a_position_before_the_oldest_event_is_the_oldest() -> None:
    partition = log(*range(5), retention=Retention(octets=2 * log(0).octets + 40))
    assert partition.first_sequence == 3
    for expression in (f"{OFFSET} > '0'", f"{OFFSET} > '-1'", f"{SEQUENCE} >= '1'", f"{TIME} > '0'"):
        assert partition.start(parse_position(expression)) == 3


@pytest.mark.parametrize(
    "expression,said",
    [
        (f"{OFFSET} > '100000'", "The supplied offset '100000' is invalid. The last offset in the system is '{}'"),
        (
            f"{SEQUENCE} > '7'",
            "The supplied sequence number '7' is invalid. The last sequence number in the system is '1'",
        ),
    ],
)
def test_a_position_after_the_last_event_is_refused(expression: str, said: str) -> None:
    partition = log(1, 2)
    with pytest.raises(Refusal) as refused:
        partition.start(parse_position(expression))
    assert refused.value.condition == ARGUMENT_ERROR
    assert refused.value.text == said.format(partition.last_offset)


# Messages.


def test_a_batch_is_split_into_its_events() -> None:
    found = arrivals_of(batch(b"one", b"two", keys=("a", "b")).encode(), BATCH)
    assert [each.key for each in found] == ["a", "b"]
    found = arrivals_of(batch(b"one", b"two", keys=("a", "b"), key="all").encode(), BATCH)
    assert [each.key for each in found] == ["all", "all"]


@pytest.mark.parametrize(
    "payload,message_format",
    [
        (b"", 0),
        (b"\0Sp", 0),
        (event(b"x").encode()[:-1], 0),
        (b"\x00\x53\x75\xa0\x05ab", 0),
        (amqp.Message(amqp.AmqpValue("text")).encode(), BATCH),
        (amqp.Message(amqp.Data()).encode(), BATCH),
        (amqp.Message(amqp.Data(b"no message")).encode(), BATCH),
        (batch(b"one").encode()[:-1], BATCH),
    ],
)
def test_what_cannot_be_read_is_refused(payload: bytes, message_format: int) -> None:
    with pytest.raises(Refusal) as refused:
        arrivals_of(payload, message_format)
    assert refused.value.condition == "amqp:decode-error"


def test_an_event_keeps_what_its_sender_wrote_and_has_the_service_annotations() -> None:
    sent = amqp.Message(
        b"body",
        header=amqp.Header(durable=True, ttl=5),
        properties=amqp.Properties(message_id="7", subject="s"),
        application_properties={"k": 1},
        message_annotations={
            amqp.Symbol("mine"): "x",
            amqp.Symbol("x-opt-sequence-number"): 99,
            amqp.Symbol("x-opt-publisher"): "forged",
        },
    )
    partition = log(1)
    found = partition.append(Arrival(sent.encode()), 50, "key").message
    assert (found.body, found.message_id, found.subject) == (b"body", "7", "s")
    assert (found.durable, found.ttl, dict(found.application_properties)) == (True, 5, {"k": 1})
    assert dict(found.message_annotations) == {
        "mine": "x",
        "x-opt-sequence-number": 1,
        "x-opt-offset": partition.last_offset,
        "x-opt-enqueued-time": 50,
        "x-opt-partition-key": "key",
    }


@pytest.mark.parametrize("body", [amqp.AmqpValue({"a": 1}), amqp.AmqpSequence([1, 2]), amqp.Data(b"1", b"2")])
def test_bodies_of_every_kind_pass(body: Any) -> None:
    partition = log()
    found = partition.append(Arrival(amqp.Message(body).encode()), 1)
    assert found.message.typed_body == body
    assert found.octets == len(found.payload()) + OVERHEAD


# Hubs.


@pytest.mark.parametrize(
    "name,partitions,groups",
    [("", 1, ()), ("a/b", 1, ()), (" a", 1, ()), ("x" * 257, 1, ()), ("a", 0, ()), ("a", 1025, ()), ("a", 1, ("b/c",))],
)
def test_a_hub_has_a_name_and_partitions(name: str, partitions: int, groups: tuple[str, ...]) -> None:
    with pytest.raises(ValueError, match=r"event hub|consumer group"):
        EventHub(name, partitions, consumer_groups=groups)


def test_partitions_have_their_numbers_as_ids() -> None:
    hub = EventHub("clicks", 12)
    assert [hub.partition(str(number)) for number in range(12)] == list(hub.partitions)
    for id in ("12", "-1", "01", "", "a", "٣", "1.0", "99999", "0 "):
        assert hub.partition(id) is None, id


def test_events_without_a_key_take_turns() -> None:
    hub = EventHub("clicks", 3)
    assert [hub.choose("").id for _ in range(5)] == ["0", "1", "2", "0", "1"]
    assert hub.choose("alphabet").id == "0"
    assert hub.choose("").id == "2"
