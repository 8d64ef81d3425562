"""The state at an instant is what the rows of the whole capture say of it, and what the peers were made to do."""

from __future__ import annotations

from typing import Any

import pytest

from amqp_sansio import AMQP_0_8, AMQP_0_9_1, AMQP_0_10, AMQP_1_0, Version
from amqp_sansio.amqp_0_9_1.spec import BasicConsume, BasicQos, QueueDeclare
from amqp_sansio.broker import Settings
from amqp_sansio.capture import Segment, read_segments
from amqp_sansio.messaging import Message
from amqp_sansio.recorded.instants import State, states
from amqp_sansio.testing.simulate import Process
from amqp_sansio_report import gather_segments
from tests.kit.captures import named
from tests.kit.recorded_world import START, RecordedWorld
from tests.report.making import rows_in

NAMES = (
    *("o091_pika_nack_reject_requeue", "o091_pika_confirms", "o091_concurrent_4_clients", "o08_amqplib_rabbit_tx"),
    *("o010_messaging_release_reject", "o010_messaging_tx", "o10_proton_brokerj_dispositions", "o_mixed_4_protocols"),
)


@pytest.mark.parametrize("name", NAMES)
def test_open_messages_are_those_of_the_rows(name: str) -> None:
    path = named(f"{name}.pcap")
    found = [each for each in read_segments(path.read_bytes(), file=path.name) if isinstance(each, Segment)]
    messages = [
        each
        for each in rows_in(found)["messages"]
        if each["kind"] != "return"
        and (each["settled_ns"] is not None or each["outcome"] is None)
        and each["outcome"] != "returned"
    ]
    times = sorted({each.ts_ns for each in found})
    instants = times[:: max(1, len(times) // 40)]
    seen = 0
    for at_ns, rows in zip(instants, states(found, instants), strict=True):
        wanted = {
            (each["connection"], each["seq"], each["ts_ns"])
            for each in messages
            if each["ts_ns"] <= at_ns < (each["settled_ns"] or each["ended_ns"] or 1 << 63)
        }
        told = {(row.connection, row.seq, row.since_ns) for row in rows if row.kind in ("delivery", "publish")}
        assert told == wanted
        seen += len(told)
    assert seen or name == "o_mixed_4_protocols"


def one(rows: list[State], kind: str, **wanted: object) -> State:
    (row,) = [each for each in rows if each.kind == kind and all(getattr(each, n) == v for n, v in wanted.items())]
    return row


@pytest.mark.parametrize("version", [AMQP_0_8, AMQP_0_9_1, AMQP_0_10, AMQP_1_0], ids=lambda each: each.label)
def test_who_holds_what_with_how_much_room(version: Version) -> None:
    async def consumer(process: Process) -> None:
        async with (
            process.messaging("amqp://broker/", version=version, connection_name="worker") as connection,
            connection.receiver("/queues/jobs", credit=3) as receiver,
        ):
            async for _ in receiver:
                await process.sleep(1000)

    async def publisher(process: Process) -> None:
        async with (
            process.messaging("amqp://broker/", version=version, connection_name="shop") as connection,
            connection.sender("/queues/jobs") as sender,
        ):
            for number in range(2):
                await process.sleep(10)
                await sender.send(Message(b"x" * number))
            await process.sleep(5)
            (_, line) = world.lines
            line.up.held_until = 100.0
            await sender.send(Message(b"late"))

    world = RecordedWorld(settings=Settings(seed=b"broker", heartbeat=0, auto_create=True))
    world.declare("jobs")
    with world:
        for program in (consumer, publisher):
            world.start(program, restarts=False)
        world.pass_time(60)
    seconds = (5, 15, 30)
    early, later, last = states(world.segments(), [START + each * 1_000_000_000 for each in seconds])
    kind = "link" if version is AMQP_1_0 else "consumer"
    of_consumer: dict[str, Any] = {"side": "server"} if version is AMQP_1_0 else {}
    for rows, held in ((early, 0), (later, 1), (last, 2)):
        assert {row.name.split("-")[0] for row in rows if row.kind == "connection"} == {"worker", "shop"}
        row = one(rows, kind, **of_consumer)
        # In 0-10 the window opens again when a delivery is completed, before it is accepted.
        assert (row.held, row.most) == (held, 3)
        assert row.room in (2, 3) if version is AMQP_0_10 else row.room == 3 - held
        assert row.queue in ("jobs", "/queues/jobs") and row.since_ns == START
        assert len([each for each in rows if each.kind == "delivery"]) == held
    delivery = next(each for each in later if each.kind == "delivery")
    assert (delivery.since_ns, delivery.consumer) == (START + 10 * 10**9, one(later, kind, **of_consumer).name)
    sessions = [row for row in last if row.kind == ("channel" if version in (AMQP_0_8, AMQP_0_9_1) else "session")]
    assert len(sessions) == 2 and {row.since_ns for row in sessions} == {START}


def test_the_state_and_the_report_read_a_prefetch_alike() -> None:
    """basic.qos with global is the channel's, for consumers before it too; without acknowledgement there is none."""

    async def consumer(process: Process) -> None:
        async with process.connect() as connection, connection.open_channel() as channel:
            for name in "abcd":
                await channel.call(QueueDeclare(queue=name, durable=True))
                for _ in range(3):
                    await channel.publish(b"x", routing_key=name)
            await channel.call(BasicQos(prefetch_count=5))
            await channel.call(BasicConsume(queue="a", consumer_tag="A"))
            await process.sleep(10)
            await channel.call(BasicQos(prefetch_count=4, global_=True))
            await channel.call(BasicConsume(queue="b", consumer_tag="B"))
            await channel.call(BasicConsume(queue="c", consumer_tag="C", no_ack=True))
            await channel.call(BasicQos(prefetch_count=2))
            await channel.call(BasicConsume(queue="d", consumer_tag="D"))
            await process.sleep(10)

    # From 4.3 on RabbitMQ has no prefetch of a whole channel.
    world = RecordedWorld(settings=Settings(seed=b"broker", heartbeat=0, rabbitmq="4.2"))
    with world:
        world.start(consumer, restarts=False)
        world.pass_time(30)
    early, late = states(world.segments(), [START + each * 1_000_000_000 for each in (5, 15)])
    row = one(early, "consumer")
    assert (row.held, row.most, row.room) == (3, 5, 2)
    rows = {row.name: (row.held, row.most, row.room) for row in late if row.kind == "consumer"}
    assert rows == {"A": (3, 4, 0), "B": (1, 4, 0), "C": (0, None, None), "D": (0, 2, 0)}
    gather = gather_segments(world.segments())
    holders = {holder.name: holder for holder in gather.holders}
    # D has got nothing, so it holds nothing to be shown.
    assert {name: (each.peak, each.limit, each.could) for name, each in holders.items()} == {
        "A": (3, "prefetch", 4),
        "B": (1, "prefetch", 4),
        "C": (0, "", 0),
    }
    # Both have no room from the time on at which the channel's four are with them, to the end.
    assert [round(holders[name].full_ns / 1e9) for name in "AB"] == [10, 10]
