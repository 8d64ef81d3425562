"""Cost as work grows: `ours` is the cost of a unit at the large size, `peer` at the small one, so a ratio of 1 is flat.

GROWTH_OCTETS is the size of the large capture (default 256m).
"""

from __future__ import annotations

import os
import random
import statistics
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Final, cast

from amqp_sansio import AMQP_0_9_1, Limits, Observer, Signal
from amqp_sansio.amqp_0_9_1 import BasicProperties, get_dialect
from amqp_sansio.amqp_0_9_1.spec import BasicConsume, BasicReturn, ConfirmSelect, QueueDeclare, QueueDeclareOk
from amqp_sansio.amqp_1_0 import Delivery, Receiver
from amqp_sansio.broker import Broker
from amqp_sansio.broker.contents.classic import ClassicContent
from amqp_sansio.broker.model import commands
from amqp_sansio.broker.model.consumer import Window
from amqp_sansio.broker.model.effects import Deliver
from benchmarks import amqp_1_0_engine
from benchmarks.codec_bench import CONSUMER
from benchmarks.generate import generate, octets_of
from benchmarks.measure import Case, case_of, cost_of, cpu_seconds
from benchmarks.observer_bench import Pair, settled_traffic

LARGE: Final = octets_of(os.environ.get("GROWTH_OCTETS", "256m"))
SMALL: Final = 8 << 20
ROUNDS: Final = 3
GOAL: Final = 0.6
"""Where nothing fits the processor's caches any more, a unit may cost two thirds more."""
RABBIT: Final = get_dialect("0-9-1-rabbit").tables


def growth(name: str, work: Callable[[int], float], large: int, small: int) -> Case:
    """Compare the CPU seconds that `work` returns for a unit of either size; the small one is done ten times."""
    pairs = [(work(large), statistics.mean([work(small) for _ in range(10)])) for _ in range(ROUNDS)]
    return _case(name, pairs, "us CPU", 1e6)


def observing(connections: int) -> float:
    """Observe that many connections side by side; the unit is an event."""
    traffic = settled_traffic(40)
    observers = [Observer(client="client") for _ in range(connections)]
    events = 0

    def work() -> None:
        nonlocal events
        for at_ns, (sender, octets) in enumerate(traffic):
            for observer in observers:
                observer.receive_data(octets, sender, at_ns)
                while not isinstance(observer.next_event(), Signal):
                    events += 1

    return cpu_seconds(work) / events


def accepting(deliveries: int) -> float:
    """Accept deliveries in no order, one by one, while that many are unsettled; the unit is one of them."""
    pair = Pair()
    channel = pair.client.open_channel()
    pair.settle()
    channel.call(BasicConsume("q"))
    pair.settle()
    delivering = pair.server.channel(channel.number)
    for _ in range(deliveries):
        delivering.deliver(b"", consumer_tag=CONSUMER, exchange="", routing_key="q")
        pair.client.receive_data(pair.server.data_to_send(0.0), 0.0)
        pair.client.next_event()
    tags = list(range(1, deliveries + 1))
    random.Random(7).shuffle(tags)

    def work() -> None:
        for tag in tags:
            channel.accept(tag)
            pair.client.data_to_send(0.0)

    return cpu_seconds(work) / deliveries


def queueing(messages: int) -> float:
    """Publish messages into a queue of the broker, then get each; the unit is a message."""
    broker = Broker()
    owner = broker.apply(commands.OpenOwner("/", "guest"), 0.0)
    broker.apply(commands.DeclareQueue(owner, "q"), 0.0)
    content = ClassicContent(AMQP_0_9_1, bytes(2), RABBIT, bytes(128))

    def work() -> None:
        for _ in range(messages):
            broker.apply(commands.Publish(owner, "", "q", content), 0.0)
            broker.effects.clear()
        for _ in range(messages):
            broker.apply(commands.Get(owner, "q", settles=True), 0.0)
            broker.effects.clear()

    return cpu_seconds(work) / messages


def routing(exchange: str, bindings: int, count: int = 2_000) -> float:
    """Publish through an exchange with that many bindings, one of which matches; the unit is a message."""
    broker = Broker()
    owner = broker.apply(commands.OpenOwner("/", "guest"), 0.0)
    broker.apply(commands.DeclareQueue(owner, "q", arguments={"x-max-length": 1}), 0.0)
    by_headers, pattern = exchange == "amq.headers", ".*" if exchange == "amq.topic" else ""
    for number in range(bindings):
        arguments = {"number": number} if by_headers else {}
        broker.apply(commands.Bind(owner, "q", exchange, f"{number}{pattern}", arguments=arguments), 0.0)
    key = f"{bindings // 2}{'.x' if pattern else ''}"
    content = ClassicContent(
        AMQP_0_9_1, BasicProperties(headers={"number": bindings // 2}).encode(RABBIT), RABBIT, bytes(128)
    )

    def work() -> None:
        for _ in range(count):
            broker.apply(commands.Publish(owner, exchange, key, content), 0.0)
            broker.effects.clear()

    return cpu_seconds(work) / count


def serving(consumers: int, count: int = 10_000) -> float:
    """Publish into a queue that has that many consumers, each with room for one, and settle; the unit is a message."""
    broker = Broker()
    owner = broker.apply(commands.OpenOwner("/", "guest"), 0.0)
    broker.apply(commands.DeclareQueue(owner, "q"), 0.0)
    for number in range(consumers):
        broker.apply(commands.Subscribe(owner, "q", number, (Window(1, refills=True),)), 0.0)
    broker.effects.clear()
    content = ClassicContent(AMQP_0_9_1, bytes(2), RABBIT, bytes(128))

    def work() -> None:
        for _ in range(count):
            broker.apply(commands.Publish(owner, "", "q", content), 0.0)
            (given,) = [each for each in broker.effects if isinstance(each, Deliver)]
            broker.effects.clear()
            broker.apply(commands.Settle(owner, (given.entry,), commands.Outcome.ACCEPT), 0.0)
            broker.effects.clear()

    return cpu_seconds(work) / count


def answering(calls: int) -> float:
    """Answer that many calls that are open on a channel, in their order; the unit is a call."""
    pair = Pair(Limits(requests=calls))
    channel = pair.client.open_channel()
    pair.settle()
    served = pair.server.channel(channel.number)
    client, server = pair.client, pair.server
    asked = [channel.call(QueueDeclare(queue=f"q{number}")) for number in range(calls)]
    server.receive_data(client.data_to_send(0.0), 0.0)
    while not isinstance(server.next_event(), Signal):
        pass

    def work() -> None:
        for number in range(calls):
            served.reply(QueueDeclareOk(f"q{number}", 0, 0))
            client.receive_data(server.data_to_send(0.0), 0.0)
            while not isinstance(client.next_event(), Signal):
                pass

    seconds = cpu_seconds(work)
    assert all([each.done for each in asked])
    return seconds / calls


def returning(publishes: int) -> float:
    """Return that many publishes that wait for their confirms, each before its confirm; the unit is a publish."""
    pair = Pair()
    channel = pair.client.open_channel()
    pair.settle()
    channel.call(ConfirmSelect())
    pair.settle()
    served = pair.server.channel(channel.number)
    client, server = pair.client, pair.server
    sent = [
        channel.publish(b"%d" % number, exchange="ex", routing_key=f"k{number}", mandatory=True)
        for number in range(publishes)
    ]
    server.receive_data(client.data_to_send(0.0), 0.0)
    while not isinstance(server.next_event(), Signal):
        pass

    def work() -> None:
        for number in range(publishes):
            served.send(BasicReturn(312, "NO_ROUTE", "ex", f"k{number}"), BasicProperties(), b"%d" % number)
            served.confirm(number + 1)
            client.receive_data(server.data_to_send(0.0), 0.0)
            while not isinstance(client.next_event(), Signal):
                pass

    seconds = cpu_seconds(work)
    assert all([each is not None and each.done for each in sent])
    return seconds / publishes


def side_by_side(sessions: int) -> float:
    """Send and accept one message on each of that many sessions of a connection of 1.0; the unit is a message."""
    limits = Limits(channels=sessions + 1)
    pair = amqp_1_0_engine.Pair(limits=limits)
    client, server = pair.client, pair.server
    opened = [client.open_session() for _ in range(sessions - 1)]
    pair.settle()
    senders = [pair.sender, *[session.open_sender(f"q{number}") for number, session in enumerate(opened)]]
    pair.settle()
    octets = amqp_1_0_engine.make_message(bytes(128)).encode()

    def work() -> None:
        for sender in senders:
            sender.send(octets)
            server.receive_data(client.data_to_send(0.0), 0.0)
            while not isinstance(event := server.next_event(), Signal):
                if isinstance(event, Delivery):
                    cast(Receiver, server.session(event.channel).link(event.link)).accept(event.delivery_id)
            client.receive_data(server.data_to_send(0.0), 0.0)
            while not isinstance(client.next_event(), Signal):
                pass

    return cpu_seconds(work) / sessions


def capture_cases() -> list[Case]:
    """Return time and memory of the command for a large and a small capture."""
    with tempfile.TemporaryDirectory() as folder:
        many, few = [generate(Path(folder) / str(size), size)[0] for size in (LARGE, SMALL)]
        command = [sys.executable, "-m", "amqp_sansio_cli", "replay", "-"]
        pairs = [(cost_of(command, many), cost_of(command, few)) for _ in range(ROUNDS)]
    sizes = f"{LARGE >> 20:,} MiB vs {SMALL >> 20} MiB"
    return [
        _case(
            f"replay of a pipe, {sizes}",
            [(most[0] / LARGE, few[0] / SMALL) for most, few in pairs],
            "ns CPU/octet",
            1e9,
        ),
        _case(f"memory of replay, {sizes}", [(most[1], few[1]) for most, few in pairs], "MiB", 1.0),
    ]


def _case(name: str, pairs: list[tuple[float, float]], unit: str, scale: float) -> Case:
    return case_of(name, pairs, unit, GOAL, scale)


def cases() -> list[Case]:
    """Return all cases."""
    return [
        growth("observing 10,000 connections vs 100", observing, 10_000, 100),
        growth("accepting among 1,000,000 unsettled vs 1,000", accepting, 1_000_000, 1_000),
        growth("broker queue of 1,000,000 vs 1,000", queueing, 1_000_000, 1_000),
        growth("direct routing, 10,000 vs 100 bindings", lambda size: routing("amq.direct", size), 10_000, 100),
        growth("headers routing, 10,000 vs 100 bindings", lambda size: routing("amq.headers", size), 10_000, 100),
        growth("topic routing, 10,000 vs 100 patterns", lambda size: routing("amq.topic", size), 10_000, 100),
        growth("a queue with 10,000 consumers vs 100", serving, 10_000, 100),
        growth("10,000 open calls vs 100", answering, 10_000, 100),
        growth("10,000 returned publishes vs 100", returning, 10_000, 100),
        growth("10,000 sessions of 1.0 vs 100", side_by_side, 10_000, 100),
        *capture_cases(),
    ]
