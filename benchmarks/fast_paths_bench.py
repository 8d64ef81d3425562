"""Each fast path of the engines, with it (`ours`) and without (`peer`), on the case that takes it.

A fast path that gains less than 5 % is not worth its lines: the goal of each ratio is 1.05. The octets and commands of
a case are the same both ways. `python -m benchmarks.fast_paths_bench [PART OF A NAME...]` prints some of them alone.
"""

from __future__ import annotations

import gc
import pickle
import sys
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any, Final, NamedTuple

from amqp_sansio import Observer, Signal
from amqp_sansio import amqp_0_9_1 as nine
from amqp_sansio import amqp_0_10 as ten
from amqp_sansio._classic.fast_paths import FAST_PATHS as CLASSIC
from amqp_sansio._ground.fast_paths import Entry
from amqp_sansio.amqp_0_10 import spec
from amqp_sansio.amqp_0_10.fast_paths import FAST_PATHS as AMQP_0_10
from amqp_sansio.amqp_1_0.fast_paths import FAST_PATHS as AMQP_1_0
from amqp_sansio.observer import Identified
from amqp_sansio.recorded._json import FieldWriter
from amqp_sansio.recorded._lane import EventLane
from amqp_sansio.recorded._rows import NAMES
from benchmarks import amqp_0_10_bench, amqp_1_0_engine, codec_bench, observer_bench
from benchmarks.measure import Case, case_of, show

GOAL: Final = 1.05
SIZE: Final = 128
"""Octets of a body."""
LONG: Final = 20_000
"""Octets of a body that doesn't arrive at once."""
ARRIVAL: Final = 16_384
"""Octets that arrive at a time."""
CONSUMER: Final = codec_bench.CONSUMER
RAW: Final = b"\0\0"
"""Properties of which none is set."""

Sent = list[tuple[str, bytes]]


class Scene(NamedTuple):
    """A case: what is made once, and what is done with a copy of that."""

    make: Callable[[int], Any]
    run: Callable[[Any], None]


def _take(end: Any, octets: bytes) -> None:
    """Give octets to an end as they arrive, and take every event."""
    take = end.next_event
    for at in range(0, len(octets), ARRIVAL):
        end.receive_data(octets[at : at + ARRIVAL], 0.0)
        while not isinstance(take(), Signal):
            pass


def _received(given: tuple[Any, bytes]) -> None:
    _take(*given)


def _in_runs(given: tuple[Any, bytes]) -> None:
    """As a client does that has its consumer's inbox at hand."""
    end, octets = given
    take = end.next_event
    for at in range(0, len(octets), ARRIVAL):
        end.receive_data(octets[at : at + ARRIVAL], 0.0)
        while not isinstance(event := take(), Signal):
            end.next_deliveries(event)


def _confirmed_in_runs(given: tuple[Any, bytes]) -> None:
    """As a client does that wakes all whose publishes are confirmed."""
    end, octets = given
    take = end.next_event
    for at in range(0, len(octets), ARRIVAL):
        end.receive_data(octets[at : at + ARRIVAL], 0.0)
        while not isinstance(take(), Signal):
            end.next_confirms()


def _acked_in_runs(given: tuple[Any, bytes]) -> None:
    """As a broker does that settles them together."""
    end, octets = given
    take = end.next_event
    for at in range(0, len(octets), ARRIVAL):
        end.receive_data(octets[at : at + ARRIVAL], 0.0)
        while not isinstance(event := take(), Signal):
            end.next_acks(event.channel, len(octets))


def _watched(given: tuple[Observer, str, bytes]) -> None:
    observer, sender, octets = given
    take = observer.next_event
    for at in range(0, len(octets), ARRIVAL):
        observer.receive_data(octets[at : at + ARRIVAL], sender, 1)
        while not isinstance(take(), Signal):
            pass


def _observer(sent: Sent, lane: EventLane | None = None) -> Observer:
    """An observer of everything that was sent, with a lane one that a replay of events alone has."""
    observer = Observer(client="client", records=lane is None, body="keep" if lane is None else "size", lane=lane)
    for sender, octets in sent:
        observer.receive_data(octets, sender, 0)
        while not isinstance(event := observer.next_event(), Signal):
            if isinstance(event, Identified) and lane is not None:
                lane.identify(event.version, True)
    return observer


def _lane() -> EventLane:
    """A lane that writes lines, as the command does."""
    return EventLane("c", FieldWriter("size", False), NAMES["events"], True, None)


# 0-8 and 0-9-1.


def _consuming() -> tuple[observer_bench.Pair, nine.Channel, nine.Channel]:
    """A pair, a consumer's channel on the client, and the same on the server."""
    pair = observer_bench.Pair()
    channel = pair.client.open_channel()
    pair.settle()
    channel.call(nine.spec.BasicConsume("q", consumer_tag=CONSUMER))
    pair.settle()
    return pair, channel, pair.server.channel(channel.number)


def _publishing() -> tuple[observer_bench.Pair, nine.Channel, nine.Channel]:
    pair = observer_bench.Pair()
    channel = pair.client.open_channel()
    pair.settle()
    channel.call(nine.spec.ConfirmSelect())
    pair.settle()
    return pair, channel, pair.server.channel(channel.number)


def _deliver(count: int, size: int = SIZE) -> tuple[observer_bench.Pair, nine.Channel, bytes]:
    pair, channel, served = _consuming()
    for _ in range(count):
        served.forward(bytes(size), RAW, CONSUMER, "ex", "key")
    return pair, channel, pair.server.data_to_send(0.0)


def _client_delivery(count: int) -> tuple[Any, bytes]:
    pair, _, octets = _deliver(count)
    return pair.client, octets


def _client_body(count: int) -> tuple[Any, bytes]:
    pair, _, octets = _deliver(count, LONG)
    return pair.client, octets


def _publish(count: int) -> tuple[observer_bench.Pair, nine.Channel, bytes]:
    pair, channel, served = _publishing()
    for _ in range(count):
        channel.publish(bytes(SIZE), exchange="ex", routing_key="key")
    return pair, served, pair.client.data_to_send(0.0)


def _server_publish(count: int) -> tuple[Any, bytes]:
    pair, _, octets = _publish(count)
    return pair.server, octets


def _client_confirm(count: int) -> tuple[Any, bytes]:
    pair, served, octets = _publish(count)
    _take(pair.server, octets)
    for number in range(1, count + 1):
        served.confirm(number)
    return pair.client, pair.server.data_to_send(0.0)


def _server_ack(count: int) -> tuple[Any, bytes]:
    pair, channel, octets = _deliver(count)
    _take(pair.client, octets)
    for tag in range(1, count + 1):
        channel.accept(tag)
    return pair.server, pair.client.data_to_send(0.0)


def _server_forward(count: int) -> tuple[nine.Channel, int]:
    return _consuming()[2], count


def _forward(given: tuple[nine.Channel, int]) -> None:
    channel, count = given
    body = bytes(SIZE)
    for _ in range(count):
        channel.forward(body, RAW, CONSUMER, "ex", "key", False)


def _server_confirm(count: int) -> tuple[nine.Channel, int]:
    pair, served, octets = _publish(count)
    _take(pair.server, octets)
    return served, count


def _confirm(given: tuple[nine.Channel, int]) -> None:
    channel, count = given
    for number in range(1, count + 1):
        channel.confirm(number)


def _client_accept(count: int) -> tuple[nine.Channel, int]:
    pair, channel, octets = _deliver(count)
    _take(pair.client, octets)
    return channel, count


def _accept(given: tuple[nine.Channel, int]) -> None:
    channel, count = given
    for tag in range(1, count + 1):
        channel.accept(tag)


def _observed_delivery(count: int) -> tuple[Observer, str, bytes]:
    pair, _, octets = _deliver(count)
    return _observer(pair.sent), "server", octets


def _observed_publish(count: int) -> tuple[Observer, str, bytes]:
    pair, _, octets = _publish(count)
    return _observer(pair.sent), "client", octets


def _observed_ack(count: int) -> tuple[Observer, str, bytes]:
    pair, channel, octets = _deliver(count)
    observer = _observer(pair.sent)
    _watched((observer, "server", octets))
    _take(pair.client, octets)
    for tag in range(1, count + 1):
        channel.accept(tag)
    return observer, "client", pair.client.data_to_send(0.0)


def _lane_delivery(count: int) -> tuple[Observer, str, bytes]:
    pair, _, octets = _deliver(count)
    return _observer(pair.sent, _lane()), "server", octets


def _lane_publish(count: int) -> tuple[Observer, str, bytes]:
    pair, _, octets = _publish(count)
    return _observer(pair.sent, _lane()), "client", octets


def _lane_ack(count: int) -> tuple[Observer, str, bytes]:
    pair, channel, octets = _deliver(count)
    _take(pair.client, octets)
    for tag in range(1, count + 1):
        channel.accept(tag)
    return _observer(pair.sent, _lane()), "client", pair.client.data_to_send(0.0)


# 0-10.


def _subscribed(sent: Sent, accept: int = spec.EXPLICIT) -> tuple[Any, Any, Callable[[], None]]:
    client, server, settle = amqp_0_10_bench.open_pair(sent)
    session = client.open_session("bench")
    session.call(ten.spec.MessageSubscribe("q", CONSUMER, accept, 0))
    session.call(ten.spec.MessageFlow(CONSUMER, spec.MESSAGE, None))
    session.call(ten.spec.MessageFlow(CONSUMER, spec.BYTE, None))
    settle()
    return client, server, settle


def _transfers(sent: Sent, count: int) -> tuple[Any, Any, bytes]:
    client, server, _ = _subscribed(sent)
    message = amqp_0_10_bench.make_message(SIZE)
    for _ in range(count):
        server.session(0).transfer(CONSUMER, message)
    return client, server, server.data_to_send(0.0)


def _message_received(count: int) -> tuple[Any, bytes]:
    client, _, octets = _transfers([], count)
    return client, octets


def _message_sent(count: int) -> tuple[Any, int]:
    _, server, _ = _subscribed([])
    return server, count


def _transfer(given: tuple[Any, int]) -> None:
    server, count = given
    session = server.session(0)
    message = amqp_0_10_bench.make_message(SIZE)
    for _ in range(count):
        session.transfer(CONSUMER, message)


def _message_completed(count: int) -> tuple[Any, int]:
    client, _, octets = _transfers([], count)
    _take(client, octets)
    return client, count


def _complete(given: tuple[Any, int]) -> None:
    client, count = given
    session = client.session(0)
    for number in range(count):
        session.complete(number)


def _observed_assembly(count: int) -> tuple[Observer, str, bytes]:
    sent: Sent = []
    _, _, octets = _transfers(sent, count)
    return _observer(sent), "server", octets


# 1.0.


def _sent(count: int) -> tuple[amqp_1_0_engine.Pair, bytes]:
    pair = amqp_1_0_engine.Pair(credit=2 * count)
    octets = amqp_1_0_engine.make_message(bytes(SIZE)).encode()
    for _ in range(count):
        pair.sender.send(octets)
    return pair, pair.client.data_to_send(0.0)


def _transfer_received(count: int) -> tuple[Any, bytes]:
    pair, octets = _sent(count)
    return pair.server, octets


def _settled(count: int) -> tuple[amqp_1_0_engine.Pair, bytes, bytes]:
    """A pair, its transfers, and the dispositions of those, which haven't arrived."""
    pair, octets = _sent(count)
    _take(pair.server, octets)
    for number in range(count):
        pair.receiver.accept(number)
    return pair, octets, pair.server.data_to_send(0.0)


def _disposition_received(count: int) -> tuple[Any, bytes]:
    pair, _, octets = _settled(count)
    return pair.client, octets


def _one_sent(count: int) -> tuple[Any, int]:
    return amqp_1_0_engine.Pair(credit=2 * count).sender, count


def _send(given: tuple[Any, int]) -> None:
    sender, count = given
    octets = amqp_1_0_engine.make_message(bytes(SIZE)).encode()
    for _ in range(count):
        sender.send(octets)


def _delivery_accepted(count: int) -> tuple[Any, int]:
    pair, octets = _sent(count)
    _take(pair.server, octets)
    return pair.receiver, count


def _accept_each(given: tuple[Any, int]) -> None:
    receiver, count = given
    for number in range(count):
        receiver.accept(number)


def _observed_transfer(count: int) -> tuple[Observer, str, bytes]:
    pair, octets = _sent(count)
    return _observer(pair.opening), "client", octets


def _observed_disposition(count: int) -> tuple[Observer, str, bytes]:
    pair, transfers, octets = _settled(count)
    observer = _observer(pair.opening)
    _watched((observer, "client", transfers))
    return observer, "server", octets


def _lane_transfer(count: int) -> tuple[Observer, str, bytes]:
    pair, octets = _sent(count)
    return _observer(pair.opening, _lane()), "client", octets


def _lane_disposition(count: int) -> tuple[Observer, str, bytes]:
    pair, transfers, octets = _settled(count)
    observer = _observer(pair.opening, _lane())
    _watched((observer, "client", transfers))
    return observer, "server", octets


SCENES: Final = {
    "0-9-1 client delivery": Scene(_client_delivery, _received),
    "0-9-1 client deliveries": Scene(_client_delivery, _in_runs),
    "0-9-1 client body": Scene(_client_body, _received),
    "0-9-1 client confirm": Scene(_client_confirm, _received),
    "0-9-1 client confirms": Scene(_client_confirm, _confirmed_in_runs),
    "0-9-1 server publish": Scene(_server_publish, _received),
    "0-9-1 server ack": Scene(_server_ack, _received),
    "0-9-1 server acks": Scene(_server_ack, _acked_in_runs),
    "0-9-1 server forward": Scene(_server_forward, _forward),
    "0-9-1 server confirm": Scene(_server_confirm, _confirm),
    "0-9-1 client accept": Scene(_client_accept, _accept),
    "0-9-1 observed delivery": Scene(_observed_delivery, _watched),
    "0-9-1 observed publish": Scene(_observed_publish, _watched),
    "0-9-1 observed begin": Scene(_observed_delivery, _watched),
    "0-9-1 observed ack": Scene(_observed_ack, _watched),
    "0-9-1 lane delivery": Scene(_lane_delivery, _watched),
    "0-9-1 lane publish": Scene(_lane_publish, _watched),
    "0-9-1 lane ack": Scene(_lane_ack, _watched),
    "0-10 message received": Scene(_message_received, _received),
    "0-10 message sent": Scene(_message_sent, _transfer),
    "0-10 message completed": Scene(_message_completed, _complete),
    "0-10 observed assembly": Scene(_observed_assembly, _watched),
    "1.0 transfer received": Scene(_transfer_received, _received),
    "1.0 disposition received": Scene(_disposition_received, _received),
    "1.0 message sent": Scene(_one_sent, _send),
    "1.0 delivery accepted": Scene(_delivery_accepted, _accept_each),
    "1.0 observed transfer": Scene(_observed_transfer, _watched),
    "1.0 observed disposition": Scene(_observed_disposition, _watched),
    "1.0 lane transfer": Scene(_lane_transfer, _watched),
    "1.0 lane disposition": Scene(_lane_disposition, _watched),
}
"""What takes each fast path, by version and name."""
ROWS: Final = {
    f"{version} {row.name}": row
    for version, rows in (("0-9-1", CLASSIC), ("0-10", AMQP_0_10), ("1.0", AMQP_1_0))
    for row in rows
}


def _nothing(*arguments: object, **named: object) -> None:
    """A fast path that is never taken."""


@contextmanager
def without(entry: Entry) -> Generator[None]:
    """Switch a fast path off."""
    fast = getattr(entry.owner, entry.method)
    setattr(entry.owner, entry.method, _nothing if entry.stand_in is None else getattr(entry.owner, entry.stand_in))
    try:
        yield
    finally:
        setattr(entry.owner, entry.method, fast)


def _seconds(scene: Scene, made: bytes) -> float:
    """CPU seconds of a scene with a fresh copy of what it needs, without the garbage collector."""
    given = pickle.loads(made)
    gc.collect()
    gc.disable()
    try:
        start = time.process_time()
        scene.run(given)
        return time.process_time() - start
    finally:
        gc.enable()


def measured(name: str, count: int, rounds: int) -> Case:
    """Run a case with its fast path and without, in turn, and drop the first round."""
    scene, entry = SCENES[name], ROWS[name]
    made = pickle.dumps(scene.make(count))
    pairs: list[tuple[float, float]] = []
    for _ in range(rounds + 1):
        fast = _seconds(scene, made)
        with without(entry):
            pairs.append((fast, _seconds(scene, made)))
    return case_of(f"fast path, {name}", pairs[1:], "us CPU", GOAL, 1e6 / count)


def cases(count: int = 2000, rounds: int = 11) -> list[Case]:
    """Every fast path that the engines have."""
    return [measured(name, count, rounds) for name in ROWS]


if __name__ == "__main__":
    wanted = sys.argv[1:] or [""]
    print(show([measured(name, 2000, 11) for name in ROWS if any(part in name for part in wanted)]))
