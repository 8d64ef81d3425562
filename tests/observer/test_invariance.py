"""The events are a function of the octets and their order, in every version: cuts and pickles do nothing."""

import pickle
import random
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amqp_sansio import AMQP_0_8, AMQP_0_9_1, NEED_DATA, Version
from amqp_sansio.observer import Identified, Observed, Observer, ObserverEvent, Skipped, Violation
from tests.kit.captures import everywhere
from tests.kit.driving import OPERATIONS, Operation
from tests.kit.driving_classic import VERSIONS
from tests.kit.observing import CLIENT, Recorder, Talk, arrive, driven, recorded, take, unrecorded, watch
from tests.kit.pair import structure
from tests.kit.talk_1_0 import Talk10, transfer
from tests.observer.arrivals import Arrivals, cut

SIZES = (1, 2, 7, 60, 1000)

CLASSIC = (
    *("o08_amqplib_rabbit_basic", "o08_amqplib_brokerj_errors", "o091_pika_connection_errors"),
    *("o091_pika_mid_connection", "o091_amqpstorm_mid_connection", "o091d_channels_gaps_nosyn"),
    *("o091d_exchange_snap200", "o091_pika_rst_midframe", "o091_raw_wrong_headers"),
    *("o091_aiopika_channels_interleaved", "o091_pika_confirms", "o10_proton_rabbit_basic"),
)
OF_1_0 = (
    *("o10_proton_proton_types", "o10_proton_brokerj_tx", "o10_proton_rabbit_sessions"),
    *("o10d_types_gap", "o10d_types_gaps_nosyn", "o10d_types_snap200", "o10_proton_brokerj_250k"),
    *("o10_amqp10node_rabbit_notfound", "o10_proton_brokerj_authfail"),
)
OF_0_10 = everywhere("o010_*.pcap")


def named(*stems: str) -> list[Any]:
    """Parameters: the captures of these names that are there."""
    params = [param for param in everywhere("*.pcap") if str(param.id).removesuffix(".pcap") in stems]
    return params or [pytest.param(Path(), marks=pytest.mark.skip(reason="no capture is there"))]


each_capture = pytest.mark.parametrize("path", [*named(*CLASSIC, *OF_1_0), *OF_0_10])


def _cuts(arrivals: Arrivals, at_large: bool) -> tuple[tuple[int, ...], ...]:
    """Sizes to cut into: one octet at a time too, where that isn't for ever."""
    small = sum([len(what) for _, what, _ in arrivals if isinstance(what, bytes)]) < (100_000 if at_large else 10_000)
    return ((1,), (1, 5), SIZES) if small else ((50, 3000), (7, 60, 1000))


@each_capture
def test_where_arrivals_are_cut_makes_no_difference(path: Path, at_large: bool) -> None:
    bodies = ("all",) if path.stem.startswith("o0") else ("all", "size")
    for connection in recorded(path):
        for body in bodies:
            whole = connection.watch(body=body)
            for seed, sizes in enumerate(_cuts(connection.arrivals, at_large)):
                assert watch(connection.observer(body=body), cut(connection.arrivals, seed, sizes)) == whole


@pytest.mark.parametrize("path", everywhere("*.pcap"))
def test_without_records_the_events_are_the_same_but_for_what_records_need(path: Path) -> None:
    for connection in recorded(path):
        found = connection.watch(body="size", records=False)
        assert found == [unrecorded(event) for event in connection.watch(body="size")]


@pytest.mark.parametrize("path", named(*OF_1_0))
def test_the_shortcut_leaves_the_books_as_the_general_step_does(path: Path, at_large: bool) -> None:
    for connection in recorded(path):
        whole, small = connection.observer(), connection.observer()
        for arrival in connection.arrivals[: None if at_large else 40]:
            books: list[object] = []
            for observer, pieces in ((whole, [arrival]), (small, cut([arrival], 1, (1, 5)))):
                for piece in pieces:
                    arrive(observer, *piece)
                    take(observer)
                machine: Any = observer._machine  # pyright: ignore[reportPrivateUsage]
                books.append(machine and structure(machine.model))
            assert books[0] == books[1]


@pytest.mark.parametrize("path", [*named(*OF_1_0), *OF_0_10])
def test_a_connection_seen_from_anywhere_cut_anywhere(path: Path, at_large: bool) -> None:
    """The observer is told nothing, and begins in the middle of a frame."""
    for connection in recorded(path):
        choose = random.Random(7)
        sent = {_told(event) for event in connection.watch() if isinstance(event, Observed)}
        times = 20 if path.stem.startswith("o010") else 4
        for _ in range(times if at_large else times // 4):
            begin = choose.randrange(len(connection.arrivals))
            late = connection.arrivals[begin:]
            sender, what, at_ns = late[0]
            if isinstance(what, bytes):
                late[0] = (sender, what[choose.randrange(len(what)) :], at_ns)
            whole = watch(Observer(body="all"), late)
            for seed, sizes in enumerate(_cuts(late, at_large)[-2:]):
                assert watch(Observer(body="all"), cut(late, seed, sizes)) == whole
            if path.stem.startswith("o010"):
                _assert_nothing_invented(whole, sent)


def _told(event: Observed) -> tuple[object, ...]:
    return event.sender, event.event, repr(event.content), event.size


def _assert_nothing_invented(events: list[ObserverEvent], sent: set[tuple[object, ...]]) -> None:
    assert not [event for event in events if isinstance(event, Violation)]
    identified = [event for event in events if isinstance(event, Identified)][-1]
    if identified.by != "guess":
        assert {
            _told(event) for event in events if isinstance(event, Observed) and event.unit in ("method", "content")
        } <= sent


@each_capture
def test_a_pickled_copy_goes_on_alike(path: Path, at_large: bool) -> None:
    """In 0-10 the first arrivals, one behind each, for its messages are large."""
    amqp_0_10 = path.stem.startswith("o010")
    most = 300 if amqp_0_10 else sys.maxsize
    copies = most if at_large else 60
    for connection in recorded(path):
        whole = connection.watch()
        observer = connection.observer()
        events: list[ObserverEvent] = []
        pieces = cut(connection.arrivals, 5, (30, 9000) if amqp_0_10 else (3, 50, 3000))
        for number, piece in enumerate(pieces):
            arrive(observer, *piece)
            if number < copies:
                observer = pickle.loads(pickle.dumps(observer))
            while (event := observer.next_event()) is not NEED_DATA:
                assert isinstance(event, Observed | Violation | Skipped | Identified)
                events.append(event)
                if not amqp_0_10 and number < copies:
                    observer = pickle.loads(pickle.dumps(observer))
        observer.finish(connection.arrivals[-1][2] if connection.arrivals else 0)
        events += take(observer)
        assert events == whole
        assert pickle.loads(pickle.dumps(events)) == events


@given(VERSIONS, OPERATIONS, st.integers(0, 3))
def test_the_traffic_of_two_classic_endpoints_cut_anywhere(
    version: Version, operations: list[Operation], seed: int
) -> None:
    recorder = Recorder()
    driven(version, operations, recorder)
    whole = watch(Observer(client=CLIENT, body="all"), recorder.arrivals)
    pieces = cut(recorder.arrivals, seed, SIZES if seed else (1,))
    assert watch(Observer(client=CLIENT, body="all"), pieces) == whole


def _classic_talk(version: Version) -> Talk:
    talk = Talk(version, late=True).server(Talk(version).deliver(1, b"x")).login().channel()
    return talk.client(talk.publish(b"x")).finish()


def _talk_1_0() -> Talk10:
    talk = Talk10(late=True).login().open().session().sender().receiver()
    return talk.client(transfer(0, b"\0Su\xa0\1x")).finish()


@pytest.mark.parametrize(
    "talk", [_classic_talk(AMQP_0_9_1), _classic_talk(AMQP_0_8), _talk_1_0()], ids=["0-9-1", "0-8", "1.0"]
)
def test_taking_events_early_or_late_makes_no_difference(talk: Talk | Talk10) -> None:
    observer = Observer()
    for number, (sender, what) in enumerate(talk.arrivals, 1):
        arrive(observer, sender, what, number * 1_000_000_000)
    observer.finish(talk.now)
    assert take(observer) == talk.events
