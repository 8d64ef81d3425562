"""The module in C beside the pure text (`peer`): two processes take turns, each with its own.

`python -m benchmarks.compiled_bench` shows the cases whose names have one of the words that it is given.
"""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Final

from amqp_sansio import COMPILED
from amqp_sansio.amqp_0_9_1 import Table
from amqp_sansio.amqp_1_0 import Message, Properties
from amqp_sansio.capture import Segment, read_segments
from amqp_sansio.recorded.tables import replay_segments
from benchmarks import amqp_1_0_bench, codec_bench, observer_bench
from benchmarks.generate import generate
from benchmarks.measure import Case, case_of, show
from tools.compiled import NotBuilt, package_with

ROOT: Final = Path(__file__).resolve().parents[1]
COUNT: Final = 10_000
"""Messages of a case."""
ROUNDS: Final = 11
GOAL: Final = 1.2
"""The least gain of a function that is kept."""

Work = Callable[[], object]


def _decode(eager: bool) -> Work:
    parts = codec_bench.chunks(codec_bench.deliveries(COUNT, 128))
    return partial(codec_bench.decode_ours, codec_bench.consumer(), parts, COUNT, eager)


def _table() -> Work:
    encoded = Table(codec_bench.table_of_twenty())
    raw, rules = encoded.raw, encoded.rules

    def decode() -> None:
        for _ in range(COUNT):
            Table.from_wire(raw, rules).items()

    return decode


def _observe() -> Work:
    parts = codec_bench.chunks(codec_bench.deliveries(COUNT, 128))
    return partial(observer_bench.observe, observer_bench.record_opening(), parts, COUNT)


def _messages(eager: bool) -> Work:
    """Transfers of 1.0 with their messages."""
    parts = codec_bench.chunks(amqp_1_0_bench.transfers(COUNT, 128))
    return partial(amqp_1_0_bench.decode_ours, parts, COUNT, eager)


def _properties() -> Work:
    octets = Properties("id-1", to="queue", subject="greeting", content_type="text/plain", creation_time=1).encode()
    read, size = Properties.fast, len(octets)

    def decode() -> None:
        for _ in range(COUNT):
            read(octets, 3, size, 0)

    return decode


def _map() -> Work:
    """Reading application properties; the message's own octets aren't read again."""
    octets = Message(b"", application_properties={"kind": "order", "attempt": 2, "urgent": True}).encode()
    messages = [[Message.from_wire(octets) for _ in range(COUNT)] for _ in range(ROUNDS + 2)]

    def decode() -> None:
        for message in messages.pop():
            message.application_properties.items()

    return decode


def _replay(version: str) -> Work:
    with tempfile.TemporaryDirectory() as folder:
        (capture, *_) = generate(Path(folder), 3_000_000, versions=(version,), sizes=(128,))
        octets = capture.read_bytes()
    segments = [each for each in read_segments(octets, file="c") if isinstance(each, Segment)]
    return lambda: sum(1 for _ in replay_segments(segments, tables=("events",), lines=True))


def _fast(name: str) -> Work:
    """The case of a fast path, on fresh copies."""
    from benchmarks import fast_paths_bench

    scene = fast_paths_bench.SCENES[name]
    made = [scene.make(COUNT) for _ in range(ROUNDS + 2)]
    return lambda: scene.run(made.pop())


WORKS: Final[dict[str, Callable[[], Work]]] = {
    "0-9-1 decode lazy 128 B": partial(_decode, False),
    "0-9-1 decode eager 128 B": partial(_decode, True),
    "0-9-1 table of 20 entries": _table,
    "0-9-1 observe 128 B deliveries": _observe,
    "0-9-1 replay of events alone, a connection of 3 MB": partial(_replay, "0-9-1"),
    "1.0 replay of events alone, a connection of 3 MB": partial(_replay, "1.0"),
    "1.0 decode lazy 128 B": partial(_messages, False),
    "1.0 decode eager 128 B": partial(_messages, True),
    "1.0 properties of 5 fields": _properties,
    "1.0 application properties of 3 entries": _map,
    **{
        f"fast path, {name}": partial(_fast, name)
        for name in (
            "0-9-1 client deliveries",
            "0-9-1 client confirm",
            "0-9-1 server publish",
            "0-9-1 server ack",
            "0-9-1 observed publish",
            "0-9-1 observed ack",
            "0-9-1 lane delivery",
            "0-9-1 lane publish",
            "0-9-1 lane ack",
            "1.0 transfer received",
            "1.0 disposition received",
            "1.0 observed transfer",
            "1.0 observed disposition",
            "1.0 lane transfer",
            "1.0 lane disposition",
        )
    },
}


def serve() -> None:
    """Say which text runs; then run the case that a line of standard input names, and print its CPU seconds."""
    print(COMPILED, flush=True)
    works: dict[str, Work] = {}
    for line in sys.stdin:
        name = line.rstrip("\n")
        if name not in works:
            works.clear()
            works[name] = WORKS[name]()
        gc.collect()
        gc.disable()
        start = time.process_time()
        works[name]()
        print(time.process_time() - start, flush=True)
        gc.enable()


def cases(wanted: Iterable[str] = ("",)) -> list[Case]:
    """Every case with the module and without; none without a compiler, which standard error then says."""
    found: list[Case] = []
    with tempfile.TemporaryDirectory() as folder:
        try:
            package_with(Path(folder))
        except NotBuilt as error:
            print(f"no case of the module in C: {error}", file=sys.stderr)
            return []
        workers: list[subprocess.Popen[str]] = []
        for pure in ("0", "1"):
            # The folder in which it starts isn't the project's, whose own package has no module.
            path = os.pathsep.join([folder, str(ROOT), *[str(each) for each in (ROOT / "adapters").iterdir()]])
            environment = {**os.environ, "PYTHONPATH": path, "AMQP_SANSIO_PURE": pure}
            command = [sys.executable, "-c", "from benchmarks.compiled_bench import serve; serve()"]
            pipe = subprocess.PIPE
            workers.append(subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, cwd=folder, env=environment))
        assert [_line(worker) for worker in workers] == ["True", "False"]
        for name in WORKS:
            if not any(word in name for word in wanted):
                continue
            seconds: list[list[float]] = []
            for _ in range(ROUNDS + 1):
                seconds.append([float(_line(worker, name)) for worker in workers])
            found.append(case_of(f"compiled, {name}, vs pure", seconds[1:], "us CPU", GOAL, 1e6 / COUNT))
        for worker in workers:
            worker.communicate()
    return found


def _line(worker: subprocess.Popen[str], given: str = "") -> str:
    """An answer of a worker that is given a case."""
    assert worker.stdin is not None and worker.stdout is not None
    if given:
        worker.stdin.write(f"{given}\n")
        worker.stdin.flush()
    return worker.stdout.readline().rstrip("\n")


if __name__ == "__main__":
    print(show(cases(sys.argv[1:] or [""])))
