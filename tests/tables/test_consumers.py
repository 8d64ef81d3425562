"""Who holds what: the account of holders is what the broker's own books say at any instant, and its rows, that of each
consumer at its end, agree with those of messages.
"""

from __future__ import annotations

import pickle
from collections import Counter
from contextlib import suppress
from random import Random
from typing import Any, Final

import pytest

from amqp_sansio import AMQP_0_8, AMQP_0_9_1, AMQP_0_10, AMQP_1_0, NEED_DATA, Observer, Version
from amqp_sansio.amqp_0_9_1.spec import BasicAck, BasicCancel, BasicConsume, BasicNack, BasicQos, QueueDeclare
from amqp_sansio.broker import Settings
from amqp_sansio.capture import Segment, sort_key
from amqp_sansio.messaging import Delivery, Message, Receiver
from amqp_sansio.observer import Consumer, Holder
from amqp_sansio.recorded.tables import FlowReplay, Row, replay_segments
from amqp_sansio.testing.simulate import Process
from tests.kit.captures import CARRIED
from tests.kit.recorded_world import START, RecordedWorld
from tests.report.making import rows_in, segments_in

VERSIONS: Final = (AMQP_0_8, AMQP_0_9_1, AMQP_0_10, AMQP_1_0)
OUTCOMES: Final = ("accepted", "rejected", "released", "modified", "settled", "unsettled")
QUEUES: Final = ("a", "b", "c")
SECOND: Final = 1_000_000_000


Books = list[tuple[int, dict[str, tuple[int, int | None]]]]


def holders_of(segments: list[Segment], instants: list[int]) -> list[dict[str, Holder]]:
    """The holders of a capture with one connection at each of the instants, by their queues' last names."""
    found: list[dict[str, Holder]] = []
    ordered = sorted(segments, key=sort_key)
    observer = Observer(client=f"{ordered[0].src}:{ordered[0].sport}", accounts=True)
    for at_ns in instants:
        while ordered and ordered[0].ts_ns <= at_ns:
            segment = ordered.pop(0)
            if segment.payload:
                observer.receive_data(segment.payload, f"{segment.src}:{segment.sport}", segment.ts_ns)
        while observer.next_event() is not NEED_DATA:
            pass
        observer = pickle.loads(pickle.dumps(observer))
        found.append({(each.queue or "").rpartition("/")[2]: each for each in observer.holders()})
    return found


def random_use(seed: int, version: Version) -> tuple[RecordedWorld, Books]:
    """A program that receives, settles, stops and begins anew at random; and what the broker's books say each second:
    of each queue that has a consumer, the deliveries that are out, and the room that is left.
    """
    random = Random(seed)

    async def program(process: Process) -> None:
        async with process.messaging("amqp://broker/", version=version) as connection:
            receivers: dict[str, Receiver] = {}
            waiting: list[tuple[str, Delivery]] = []
            for _ in range(30):
                queue = random.choice(QUEUES)
                step = random.randrange(6)
                if queue not in receivers:
                    receivers[queue] = await connection.receiver(f"/queues/{queue}", credit=random.choice((1, 2, 5)))
                elif step == 0:
                    await receivers.pop(queue).close()
                    waiting = [each for each in waiting if each[0] != queue]
                elif step < 3:
                    async with connection.sender(f"/queues/{queue}") as sender:
                        for number in range(random.randrange(4)):
                            await sender.send(Message(b"x" * number))
                elif step == 3:
                    with suppress(TimeoutError):
                        async with process.timeout(0.1):
                            waiting.append((queue, await anext(receivers[queue])))
                elif waiting:
                    _, delivery = waiting.pop(random.randrange(len(waiting)))
                    await random.choice((delivery.accept, delivery.reject, delivery.release))()
                await process.sleep(1)

    world = RecordedWorld(settings=Settings(seed=b"broker", heartbeat=0, auto_create=True))
    for queue in QUEUES:
        world.declare(queue)
    books: Books = []
    with world:
        world.start(program, restarts=False)
        for _ in range(60):
            world.pass_time(0.5)
            found: dict[str, tuple[int, int | None]] = {}
            for name, known in world.hub().model.vhosts["/"].queues.items():
                for consumer in known.consumers.values():
                    rooms = [window.messages for window in consumer.windows if window.messages is not None]
                    found[name] = known.unsettled, max(0, min(rooms)) if rooms else None
            books.append((world.now_ns, found))
    return world, books


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("version", VERSIONS, ids=lambda each: each.label)
def test_holders_are_those_of_the_brokers_own_books(version: Version, seed: int) -> None:
    world, books = random_use(seed, version)
    seen = 0
    for (at_ns, wanted), found in zip(books, holders_of(world.segments(), [at for at, _ in books]), strict=True):
        held = {queue: each.held for queue, each in found.items()}
        assert held == {queue: each for queue, (each, _) in wanted.items()}, (at_ns - START) / SECOND
        rooms = {queue: each.room for queue, each in found.items()}
        assert rooms == {queue: each for queue, (_, each) in wanted.items()}, (at_ns - START) / SECOND
        seen += sum(held.values())
    assert seen


def totals(rows: list[dict[str, Any]]) -> dict[tuple[str, str], Counter[str]]:
    """What the rows of consumers count, by connection and name."""
    found: dict[tuple[str, str], Counter[str]] = {}
    for row in rows:
        counts = Counter({name: row[name] for name in ("deliveries", *OUTCOMES)})
        assert row["deliveries"] == sum([row[name] for name in OUTCOMES])
        found[row["connection"], row["consumer"]] = found.get((row["connection"], row["consumer"]), Counter()) + counts
    return {key: counts for key, counts in found.items() if counts}


def of_messages(rows: list[dict[str, Any]]) -> dict[tuple[str, str], Counter[str]]:
    """The same, by the rows of messages."""
    found: dict[tuple[str, str], Counter[str]] = {}
    for row in rows:
        if row["kind"] == "deliver":
            name = row["consumer_tag"] if row["consumer_tag"] is not None else row["link"] or ""
            counts = found.setdefault((row["connection"], name), Counter())
            counts["deliveries"] += 1
            counts[row["outcome"] or "unsettled"] += 1
    return found


@pytest.mark.parametrize("path", sorted(CARRIED.glob("*.pcap*")), ids=lambda each: each.name)
def test_rows_of_consumers_agree_with_those_of_messages(path: Any) -> None:
    tables = rows_in(segments_in([path]))
    assert totals(tables["consumers"]) == of_messages(tables["messages"])
    longest = {row["connection"]: 0 for row in tables["messages"]}
    for row in tables["messages"]:
        if row["kind"] == "deliver" and row["latency_ns"] is not None:
            longest[row["connection"]] = max(longest[row["connection"]], row["latency_ns"])
    for row in tables["consumers"]:
        if not row["unsettled"]:
            assert row["longest_hold_ns"] <= longest.get(row["connection"], 0)
        assert row["most_held"] <= row["deliveries"]
        assert row["no_room_ns"] >= 0
        if row["opened_ns"] is not None and row["closed_ns"] is not None:
            assert row["no_room_ns"] <= row["closed_ns"] - row["opened_ns"]


def facts(observer: Observer, segments: list[Segment], size: int) -> list[tuple[object, ...]]:
    """What an observer says of consumers that have ended, when the octets come in pieces of this size."""
    ended: list[Consumer] = []
    for segment in segments:
        for at in range(0, len(segment.payload), size):
            piece = segment.payload[at : at + size]
            observer.receive_data(piece, f"{segment.src}:{segment.sport}", segment.ts_ns)
            while observer.next_event() is not NEED_DATA:
                ended += observer.take_consumers()
    end_ns = segments[-1].ts_ns
    observer.finish(end_ns)
    while observer.next_event() is not NEED_DATA:
        ended += observer.take_consumers()
    return [
        (
            *(each.channel, each.name, each.handle, each.queue, each.no_ack, each.most, each.opened_ns),
            *(each.closed_ns, each.deliveries, tuple(each.outcomes.values()), each.unsettled, each.peak),
            *(each.full_ns(0), each.longest_ns),
        )
        for each in [*ended, *observer.last_consumers(end_ns, closed=True)]
    ]


@pytest.mark.parametrize("version", VERSIONS, ids=lambda each: each.label)
def test_it_does_not_matter_how_octets_are_cut(version: Version) -> None:
    world, _ = random_use(11, version)
    segments = sorted(world.segments(), key=sort_key)
    client = f"{segments[0].src}:{segments[0].sport}"
    whole = facts(Observer(client=client, accounts=True), segments, 1 << 20)
    assert whole
    for size in (1, 7):
        assert facts(Observer(client=client, accounts=True), segments, size) == whole


@pytest.mark.parametrize("version", VERSIONS, ids=lambda each: each.label)
def test_a_replay_that_is_pickled_all_the_time_has_the_same_rows(version: Version) -> None:
    world, _ = random_use(12, version)
    segments = sorted(world.segments(), key=sort_key)
    wanted = [row for row in replay_segments(segments) if row[0] == "consumers"]
    replay = FlowReplay(segments[0].flow, tables=("consumers",))
    found: list[Row] = []
    for segment in segments:
        found += replay.push(segment)
        replay = pickle.loads(pickle.dumps(replay))
    assert [*found, *replay.finish()] == wanted


def recorded(program: Any, seconds: int = 30, **settings: Any) -> RecordedWorld:
    world = RecordedWorld(settings=Settings(seed=b"broker", heartbeat=0, **settings))
    with world:
        world.start(program, restarts=False)
        world.pass_time(seconds)
    return world


def test_equal_tags_on_three_channels_are_three_consumers() -> None:
    async def program(process: Process) -> None:
        async with process.connect() as connection:
            for number in range(3):
                channel = await connection.open_channel()
                await channel.call(QueueDeclare(queue=f"q{number}", durable=True))
                for _ in range(number + 1):
                    await channel.publish(b"x", routing_key=f"q{number}")
                await channel.call(BasicConsume(queue=f"q{number}", consumer_tag="same"))
            await process.sleep(10)

    world = recorded(program)
    (found,) = holders_of(world.segments(), [START + 5 * SECOND])
    assert {queue: (each.name, each.held) for queue, each in found.items()} == {
        "q0": ("same", 1),
        "q1": ("same", 2),
        "q2": ("same", 3),
    }
    rows = rows_in(world.segments())["consumers"]
    assert sorted((row["channel"], row["queue"], row["deliveries"], row["most_held"]) for row in rows) == [
        (1, "q0", 1, 1),
        (2, "q1", 2, 2),
        (3, "q2", 3, 3),
    ]


def test_prefetch_of_a_consumer_and_of_its_channel() -> None:
    """basic.qos with global is the channel's, for consumers before it too; without acknowledgement there is none."""

    async def program(process: Process) -> None:
        async with process.connect() as connection, connection.open_channel() as channel:
            for name in "abc":
                await channel.call(QueueDeclare(queue=name, durable=True))
                for _ in range(3):
                    await channel.publish(b"x", routing_key=name)
            await channel.call(BasicQos(prefetch_count=100))
            await channel.call(BasicConsume(queue="a", consumer_tag="A"))
            await process.sleep(10)
            await channel.call(BasicQos(prefetch_count=4, global_=True))
            await channel.call(BasicConsume(queue="b", consumer_tag="B"))
            await channel.call(BasicConsume(queue="c", consumer_tag="C", no_ack=True))
            await process.sleep(4)
            await channel.send(BasicAck(delivery_tag=1))
            await process.sleep(1)
            await channel.call(BasicCancel(consumer_tag="A"))
            await channel.send(BasicNack(delivery_tag=0, multiple=True, requeue=True))
            await process.sleep(5)

    # From 4.3 on RabbitMQ has no prefetch of a whole channel.
    world = recorded(program, rabbitmq="4.2")
    early, late = holders_of(world.segments(), [START + 5 * SECOND, START + 12 * SECOND])
    assert {name: (each.held, each.most, each.room) for name, each in early.items()} == {"a": (3, 100, 97)}
    assert {name: (each.held, each.most, each.room) for name, each in late.items()} == {
        "a": (3, 4, 0),
        "b": (1, 4, 0),
        "c": (0, None, None),
    }
    rows = {row["consumer"]: row for row in rows_in(world.segments())["consumers"]}
    # A is cancelled after 15 seconds; from 10 to 14 the channel's four were out, and then again.
    assert [rows["A"][name] for name in ("accepted", "released", "most_held", "most")] == [1, 2, 3, 4]
    assert (rows["A"]["opened_ns"] - START, rows["A"]["closed_ns"] - START) == (0, 15 * SECOND)
    assert round(rows["A"]["no_room_ns"] / SECOND) == 5
    assert [rows["C"][name] for name in ("settled", "most_held", "most", "no_room_ns", "no_ack")] == [
        3,
        0,
        None,
        0,
        True,
    ]
