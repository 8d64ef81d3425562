"""The observer against the client's own decoding of the same deliveries (`peer` is the client), and against itself as
it was before units said what becomes of messages (`peer` is that commit).
"""

from __future__ import annotations

import io
import pickle
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

from amqp_sansio import AuthenticationRequested, Limits, Observer, OpenRequested, Signal
from amqp_sansio.amqp_0_9_1 import (
    BasicConsume,
    BasicConsumeOk,
    Config,
    ConfirmSelect,
    ConfirmSelectOk,
    Connection,
    Request,
)
from amqp_sansio.amqp_0_10 import BYTE, EXPLICIT, MESSAGE, NONE, MessageFlow, MessageSubscribe
from amqp_sansio.sasl import Plain
from benchmarks import amqp_0_10_bench
from benchmarks.codec_bench import CONSUMER, chunks, consumer, decode_ours, deliveries
from benchmarks.measure import Case, case_of, compare

ROOT = Path(__file__).resolve().parent.parent
BEFORE = "5039b78d4cd9ad7503a6906f052af7445445cabd"
"""The last commit that had a history beside the observer's model."""
_WORKER = """
import gc, pickle, sys, time
sys.path.insert(0, sys.argv[1])
from amqp_sansio import NEED_DATA, Observer
from amqp_sansio.recorded.lifecycle import Lifecycle

arrivals = pickle.load(sys.stdin.buffer)

def work():
    observer, lifecycle = Observer(client="client"), Lifecycle()
    take, record = observer.next_event, lifecycle.observe
    messages = 0
    for at_ns, (sender, octets) in enumerate(arrivals):
        observer.receive_data(octets, sender, at_ns)
        while (event := take()) is not NEED_DATA:
            messages += len(record(event))
    return messages

print(work(), flush=True)
for _ in sys.stdin.buffer:
    gc.collect()
    gc.disable()
    start = time.process_time()
    work()
    print(time.process_time() - start, flush=True)
    gc.enable()
"""
"""Observes what standard input brings, each line once more, with the package in the folder that it's told."""


class Pair:
    """A client and a server that are open, and everything that they have sent."""

    def __init__(self, limits: Limits | None = None) -> None:
        limits = limits or Limits()
        self.client = Connection.client(Config(sasl=Plain("guest", "guest"), heartbeat=0, limits=limits))
        self.server = Connection.server(Config(heartbeat=0, limits=limits))
        self.sent: list[tuple[str, bytes]] = []
        self.settle()

    def settle(self) -> None:
        """Hand on octets and answer requests, until nothing moves."""
        client, server = self.client, self.server
        moved = True
        while moved:
            moved = False
            for name, here, there in (("client", client, server), ("server", server, client)):
                while not isinstance(event := here.next_event(), Signal):
                    moved = True
                    if isinstance(event, AuthenticationRequested):
                        here.accept_authentication()
                    elif isinstance(event, OpenRequested):
                        here.accept_open()
                    elif isinstance(event, Request):
                        consumes = isinstance(event.method, BasicConsume)
                        answer = BasicConsumeOk(CONSUMER) if consumes else ConfirmSelectOk()
                        here.channel(event.channel).reply(answer)
                octets = here.data_to_send(0.0)
                if octets:
                    self.sent.append((name, octets))
                    there.receive_data(octets, 0.0)
                    moved = True


def record_opening() -> list[tuple[str, bytes]]:
    """Open a pair and consume, keeping everything that was sent."""
    pair = Pair()
    channel = pair.client.open_channel()
    pair.settle()
    channel.call(BasicConsume("q", no_ack=True))
    pair.settle()
    return pair.sent


def observe(opening: list[tuple[str, bytes]], parts: list[bytes], count: int) -> None:
    """Give everything to an observer, and take every event."""
    observer = Observer(client="client")
    take = observer.next_event
    for sender, octets in opening:
        observer.receive_data(octets, sender, 0)
    seen = 0
    for part in parts:
        observer.receive_data(part, "server", 1)
        while not isinstance(event := take(), Signal):
            seen += getattr(event, "event", "") == "basic.deliver"
    assert seen == count, (seen, count)


def settled_traffic(count: int) -> list[tuple[str, bytes]]:
    """Deliveries that are acknowledged and publishes that are confirmed, one by one, in chunks of 20."""
    pair = Pair()
    settle = pair.settle
    consuming, publishing = pair.client.open_channel(), pair.client.open_channel()
    settle()
    consuming.call(BasicConsume("q"))
    publishing.call(ConfirmSelect())
    settle()
    delivering = pair.server.channel(consuming.number)
    confirming = pair.server.channel(publishing.number)
    for first in range(1, count // 2, 20):
        tags = range(first, first + 20)
        for _ in tags:
            delivering.deliver(bytes(128), consumer_tag=CONSUMER, exchange="ex", routing_key="key")
        settle()
        for tag in tags:
            consuming.accept(tag)
        settle()
        for _ in tags:
            publishing.publish(bytes(128), exchange="ex", routing_key="key")
        settle()
        for tag in tags:
            confirming.confirm(tag)
        settle()
    return pair.sent


def transferred(count: int) -> list[tuple[str, bytes]]:
    """The same in 0-10: transfers that are accepted one by one, and publishes that are completed."""
    sent: list[tuple[str, bytes]] = []
    client, server, settle = amqp_0_10_bench.open_pair(sent)
    session = client.open_session("bench")
    session.call(MessageSubscribe("q", CONSUMER, EXPLICIT, 0))
    session.call(MessageFlow(CONSUMER, MESSAGE, None))
    session.call(MessageFlow(CONSUMER, BYTE, None))
    settle()
    delivering = server.session(0)
    message = amqp_0_10_bench.make_message(128)
    for _ in range(0, count // 2, 20):
        numbers = [delivering.transfer(CONSUMER, message).command_id for _ in range(20)]
        settle()
        for number in numbers:
            session.accept(number)
        settle()
        for _ in range(20):
            session.transfer("ex", message, accept_mode=NONE)
        settle()
    return sent


def recording_case(label: str, traffic: list[tuple[str, bytes]], count: int, rounds: int = 15) -> list[Case]:
    """Observing with message records, in pairs of processes; nothing where the commit isn't there."""
    archive = subprocess.run(["git", "archive", BEFORE, "amqp_sansio"], cwd=ROOT, capture_output=True, check=False)
    if archive.returncode:
        return []
    octets = pickle.dumps(traffic)
    with tempfile.TemporaryDirectory() as folder:
        with tarfile.open(fileobj=io.BytesIO(archive.stdout)) as tar:
            tar.extractall(folder, filter="data")
        workers = [
            subprocess.Popen([sys.executable, "-c", _WORKER, str(tree)], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            for tree in (ROOT, folder)
        ]
        seconds: list[list[float]] = []
        for worker in workers:
            _ask(worker, octets)
        for _ in range(rounds):
            seconds.append([float(_ask(worker, b"\n")) for worker in workers])
        for worker in workers:
            worker.communicate()
    return [case_of(label, seconds, "us CPU", 1.25, 1e6 / count)]


def _ask(worker: subprocess.Popen[bytes], octets: bytes) -> bytes:
    assert worker.stdin is not None and worker.stdout is not None
    worker.stdin.write(octets)
    worker.stdin.flush()
    return worker.stdout.readline()


def cases(count: int = 20_000) -> list[Case]:
    """Return the cases, with at most twice the client's CPU: a ratio of at least 0.5."""
    parts = chunks(deliveries(count, 128))
    opening = record_opening()
    client = consumer()
    return [
        compare(
            "observer vs own client, 128 B deliveries",
            lambda: observe(opening, parts, count),
            lambda: decode_ours(client, parts, count, False),
            count=count,
            goal=0.5,
        ),
        *recording_case("observe and record messages vs before", settled_traffic(count), count),
        *recording_case("0-10 observe and record messages vs before", transferred(count), count),
    ]
