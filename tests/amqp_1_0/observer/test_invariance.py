"""1.0: the events are a function of the octets and their order: cuts, pickles and hash seeds make no difference."""

from __future__ import annotations

import os
import pickle
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amqp_sansio import NEED_DATA
from amqp_sansio.observer import Observer, ObserverEvent
from tests.kit.captures import everywhere
from tests.kit.observing import CLIENT, recorded, take, watch
from tests.kit.pair import structure
from tests.kit.talk_1_0 import Talk10, transfer

ROOT = Path(__file__).resolve().parents[3]
Arrivals = list[tuple[str, bytes | int, int]]

_SOME = (
    *("o10_proton_proton_types", "o10_proton_brokerj_tx", "o10_proton_rabbit_sessions"),
    *("o10d_types_gap", "o10d_types_gaps_nosyn", "o10d_types_snap200", "o10_proton_brokerj_250k"),
    *("o10_amqp10node_rabbit_notfound", "o10_proton_brokerj_authfail"),
)


def _captures() -> list[object]:
    params = [param for param in everywhere("*.pcap") if str(param.id).removesuffix(".pcap") in _SOME]
    return params or [pytest.param(Path(), marks=pytest.mark.skip(reason="no capture is there"))]


def _cut(arrivals: Arrivals, seed: int, sizes: tuple[int, ...] = (1, 2, 7, 60, 1000)) -> Arrivals:
    """The same octets at the same times, cut differently."""
    choose = random.Random(seed)
    pieces: Arrivals = []
    for sender, what, at_ns in arrivals:
        if isinstance(what, int):
            pieces.append((sender, what, at_ns))
            continue
        begin = 0
        while begin < len(what):
            end = begin + choose.choice(sizes)
            pieces.append((sender, what[begin:end], at_ns))
            begin = end
    return pieces


@pytest.mark.parametrize("path", _captures())
def test_where_arrivals_are_cut_makes_no_difference(path: Path) -> None:
    """One octet at a time never meets the shortcut, so this proves too that it equals the general step."""
    for connection in recorded(path):
        small = sum([len(what) for _, what, _ in connection.arrivals if isinstance(what, bytes)])
        for body in ("all", "size"):
            whole = connection.watch(body=body)
            for seed in range(3):
                sizes = (1,) if not seed and small < 100_000 else (1, 2, 7, 60, 1000)
                cut = _cut(connection.arrivals, seed, sizes)
                assert watch(connection.observer(body=body), cut) == whole


@pytest.mark.parametrize("path", _captures())
def test_the_shortcut_leaves_the_books_as_the_general_step_does(path: Path) -> None:
    for connection in recorded(path):
        whole, cut = connection.observer(), connection.observer()
        for arrival in connection.arrivals:
            books: list[object] = []
            for observer, pieces in ((whole, [arrival]), (cut, _cut([arrival], 1, (1, 5)))):
                for sender, what, at_ns in pieces:
                    if isinstance(what, int):
                        observer.receive_gap(sender, what, at_ns)
                    else:
                        observer.receive_data(what, sender, at_ns)
                    take(observer)
                machine: Any = observer._machine  # pyright: ignore[reportPrivateUsage]
                books.append(machine and structure(machine.model))
            assert books[0] == books[1]


@pytest.mark.parametrize("path", _captures())
def test_a_connection_seen_from_anywhere_cut_anywhere(path: Path) -> None:
    """The observer is told nothing, and begins in the middle of a frame."""
    for connection in recorded(path):
        choose = random.Random(7)
        for _ in range(4):
            begin = choose.randrange(len(connection.arrivals))
            late = connection.arrivals[begin:]
            sender, what, at_ns = late[0]
            if isinstance(what, bytes):
                late[0] = (sender, what[choose.randrange(len(what)) :], at_ns)
            whole = watch(Observer(body="all"), late)
            for seed in range(2):
                sizes = (1, 5) if not seed and len(late) < 50 else (1, 2, 7, 60, 1000)
                assert watch(Observer(body="all"), _cut(late, seed, sizes)) == whole


@pytest.mark.parametrize("path", _captures())
def test_a_pickled_copy_goes_on_alike(path: Path) -> None:
    for connection in recorded(path):
        whole = connection.watch()
        observer = connection.observer()
        events: list[ObserverEvent] = []
        at_ns = 0
        for sender, what, at_ns in _cut(connection.arrivals, 5, (3, 50, 3000)):
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


_PIECES = st.lists(
    st.tuples(
        st.sampled_from(("client", "server")),
        st.integers(0, 3),
        st.binary(max_size=40),
        st.booleans(),
        st.sampled_from((None, True, False)),
    ),
    max_size=12,
)


@given(_PIECES, st.integers(0, 1000), st.booleans())
def test_deliveries_in_parts_cut_anywhere(
    pieces: list[tuple[str, int, bytes, bool, bool | None]], seed: int, told: bool
) -> None:
    """Deliveries whose parts interleave, are aborted or never end, with and without a known beginning."""
    talk = Talk10().open().session()
    for handle in (0, 1):
        talk.sender(f"out{handle}", handle=handle).receiver(f"in{handle}", handle=handle + 2)
    for number, (side, handle, payload, more, aborted) in enumerate(pieces):
        octets = transfer(number if handle else None, payload, handle=handle, more=more, aborted=bool(aborted))
        talk.send(side, octets)
    arrivals: Arrivals = [(sender, what, at) for at, (sender, what) in enumerate(talk.arrivals)]
    client = CLIENT if told else None
    whole = watch(Observer(client=client, body="all"), arrivals)
    assert watch(Observer(client=client, body="all"), _cut(arrivals, seed)) == whole


def test_taking_events_early_or_late_makes_no_difference() -> None:
    talk = Talk10(late=True).login().open().session().sender().receiver()
    talk.client(transfer(0, b"\0Su\xa0\1x")).finish()
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
