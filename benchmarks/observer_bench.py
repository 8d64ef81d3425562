"""The observer against the client's own decoding of the same deliveries (`peer` is the client), and against itself as
it was before the usual message was judged in the model (`peer` is that commit).
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
from amqp_sansio.amqp_0_9_1 import Config, Connection, Request
from amqp_sansio.amqp_0_9_1.spec import BasicConsume, BasicConsumeOk, ConfirmSelect, ConfirmSelectOk
from amqp_sansio.amqp_0_10.spec import BYTE, EXPLICIT, MESSAGE, NONE, MessageFlow, MessageSubscribe
from amqp_sansio.sasl import Plain
from benchmarks import amqp_0_10_bench
from benchmarks.codec_bench import CONSUMER, chunks, consumer, decode_ours, deliveries
from benchmarks.measure import Case, case_of, compare

ROOT = Path(__file__).resolve().parent.parent
BEFORE = "11bc60aac34a6b21574660acf3a85d4e1a547e04"
"""The last commit whose fast paths judged by themselves."""
_WORKER = """
import gc, pickle, sys, time
sys.path.insert(0, sys.argv[1])
from amqp_sansio import NEED_DATA, Observer
try:
    from amqp_sansio.recorded.lifecycle import Lifecycle
except ImportError:
    from amqp_sansio.lifecycle import Lifecycle

arrivals = pickle.load(sys.stdin.buffer)
records = sys.argv[2] == "messages"

def nothing(event):
    return ()

def work():
    observer, lifecycle = Observer(client="client"), Lifecycle()
    take, record = observer.next_event, lifecycle.observe if records else nothing
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


def before_cases(version: str, traffic: list[tuple[str, bytes]], count: int) -> list[Case]:
    """Return observing alone, and with message records, beside the commit before; nothing where it isn't there."""
    archive = subprocess.run(["git", "archive", BEFORE, "amqp_sansio"], cwd=ROOT, capture_output=True, check=False)
    if archive.returncode:
        return []
    octets = pickle.dumps(traffic)
    with tempfile.TemporaryDirectory() as folder:
        with tarfile.open(fileobj=io.BytesIO(archive.stdout)) as tar:
            tar.extractall(folder, filter="data")
        trees = str(ROOT), folder
        alone = _in_turn(trees, "nothing", octets)
        records = _in_turn(trees, "messages", octets)
    return [
        case_of(f"observing {version} with no table wanted, vs before", alone, "us CPU", 1.0, 1e6 / count),
        case_of(f"observing {version} with message records, vs before", records, "us CPU", 1.0, 1e6 / count),
    ]


def _in_turn(trees: tuple[str, str], wanted: str, octets: bytes, rounds: int = 15) -> list[list[float]]:
    """CPU seconds of the same traffic in two processes, one for each tree, that take turns."""
    workers = [
        subprocess.Popen([sys.executable, "-c", _WORKER, tree, wanted], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        for tree in trees
    ]
    for worker in workers:
        _ask(worker, octets)
    seconds = [[float(_ask(worker, b"\n")) for worker in workers] for _ in range(rounds)]
    for worker in workers:
        worker.communicate()
    return seconds


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
        *before_cases("0-9-1", settled_traffic(count), count),
        *before_cases("0-10", transferred(count), count),
    ]
