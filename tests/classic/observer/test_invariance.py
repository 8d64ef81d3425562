"""The events are a function of the octets and their order: cuts, pickles and hash seeds make no difference."""

from __future__ import annotations

import os
import pickle
import random
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amqp_sansio import AMQP_0_8, AMQP_0_9_1, NEED_DATA, Version
from amqp_sansio.observer import Observer, ObserverEvent
from tests.kit.captures import everywhere
from tests.kit.driving import OPERATIONS, VERSIONS, Operation
from tests.kit.observing import CLIENT, Talk, driven, recorded, take, watch

ROOT = Path(__file__).resolve().parents[3]
Arrivals = list[tuple[str, bytes | int, int]]

_SOME = (
    *("o08_amqplib_rabbit_basic", "o08_amqplib_brokerj_errors", "o091_pika_connection_errors"),
    *("o091_pika_mid_connection", "o091_amqpstorm_mid_connection", "o091d_channels_gaps_nosyn"),
    *("o091d_exchange_snap200", "o091_pika_rst_midframe", "o091_raw_wrong_headers"),
    *("o091_aiopika_channels_interleaved", "o091_pika_confirms", "o10_proton_rabbit_basic"),
)


def _captures() -> list[object]:
    params = [param for param in everywhere("*.pcap") if str(param.id).removesuffix(".pcap") in _SOME]
    return params or [pytest.param(Path(), marks=pytest.mark.skip(reason="no capture is there"))]


def _cut(arrivals: Arrivals, seed: int) -> Arrivals:
    """The same octets at the same times, cut differently."""
    choose = random.Random(seed)
    pieces: Arrivals = []
    for sender, what, at_ns in arrivals:
        if isinstance(what, int):
            pieces.append((sender, what, at_ns))
            continue
        begin = 0
        while begin < len(what):
            end = begin + (1 if not seed else choose.choice((1, 2, 7, 60, 1000)))
            pieces.append((sender, what[begin:end], at_ns))
            begin = end
    return pieces


@pytest.mark.parametrize("path", _captures())
def test_where_arrivals_are_cut_makes_no_difference(path: Path) -> None:
    """One octet at a time never meets the shortcut, so this proves too that it equals the general step."""
    for connection in recorded(path):
        whole = connection.watch(body="all")
        for seed in range(3):
            assert watch(connection.observer(body="all"), _cut(connection.arrivals, seed)) == whole


@pytest.mark.parametrize("path", _captures())
def test_a_pickled_copy_goes_on_alike(path: Path) -> None:
    for connection in recorded(path):
        whole = connection.watch()
        observer = connection.observer()
        events: list[ObserverEvent] = []
        at_ns = 0
        for sender, what, at_ns in _cut(connection.arrivals, 5):
            if isinstance(what, int):
                observer.receive_gap(sender, what, at_ns)
            else:
                observer.receive_data(what, sender, at_ns)
            observer = pickle.loads(pickle.dumps(observer))
            while (event := observer.next_event()) is not NEED_DATA:
                assert not isinstance(event, type(NEED_DATA))
                events.append(event)
                observer = pickle.loads(pickle.dumps(observer))
        observer.finish(at_ns)
        assert events + take(observer) == whole


@given(VERSIONS, OPERATIONS, st.integers(0, 3))
def test_the_traffic_of_two_endpoints_cut_anywhere(version: Version, operations: list[Operation], seed: int) -> None:
    arrivals = _driven(version, operations)
    whole = watch(Observer(client=CLIENT, body="all"), arrivals)
    assert watch(Observer(client=CLIENT, body="all"), _cut(arrivals, seed)) == whole


def _driven(version: Version, operations: list[Operation]) -> Arrivals:
    recorder = _Recorder()
    driven(version, operations, recorder)
    return recorder.arrivals


class _Recorder:
    """Keeps what a Pair exchanges."""

    def __init__(self) -> None:
        self.arrivals: Arrivals = []

    def receive_data(self, data: bytes, sender: str, at_ns: int) -> None:
        self.arrivals.append((sender, data, at_ns))


@pytest.mark.parametrize("version", (AMQP_0_9_1, AMQP_0_8), ids=lambda version: version.label)
def test_taking_events_early_or_late_makes_no_difference(version: Version) -> None:
    talk = Talk(version, late=True).server(Talk(version).deliver(1, b"x")).login().channel()
    talk.client(talk.publish(b"x")).finish()
    observer = Observer()
    for number, (sender, what) in enumerate(talk.arrivals, 1):
        assert isinstance(what, bytes)
        observer.receive_data(what, sender, number * 1_000_000_000)
    observer.finish(talk.now)
    assert take(observer) == talk.events


@pytest.mark.parametrize("path", _captures()[:2])
def test_hash_seeds_make_no_difference(path: Path) -> None:
    code = (
        "import sys, pathlib; sys.path.insert(0, '.');"
        "from tests.kit.observing import recorded;"
        f"print([each.watch() for each in recorded(pathlib.Path({str(path)!r}))])"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", code],
            cwd=ROOT,
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("0", "1", "777")
    }
    assert len(outputs) == 1
