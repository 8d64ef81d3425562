"""Timers: heartbeats and the peer's silence, the opening's and the closing's deadline, and who brings the time."""

import pytest

from amqp_sansio import Closed, Limits, Signal, Version
from amqp_sansio._core.timers import Clock, Timers
from amqp_sansio.endpoint import Side
from tests.kit.facing import Facing
from tests.kit.pair import SIDES, Pair, Server, client_config, server_config

HEARTBEAT = b"\x08\x00\x00\x00\x00\x00\x00\xce"


def beating(version: Version, client: float = 10.0, server: float = 10.0) -> Pair:
    """An open pair with heartbeats."""
    return Pair(version, client=client_config(heartbeat=client), server=server_config(heartbeat=server)).open()


@pytest.mark.parametrize(
    ("client", "server", "agreed"), [(0.0, 10.0, 0.0), (10.0, 0.0, 10.0), (0.0, 0.0, 0.0), (30.0, 7.0, 7.0)]
)
def test_the_smaller_interval_holds_and_none_where_the_client_wants_none(
    version: Version, client: float, server: float, agreed: float
) -> None:
    pair = beating(version, client, server)
    assert pair.client.heartbeat == pair.server.heartbeat == agreed
    assert (pair.deadline is None) == (agreed == 0)


def test_silence_does_not_count_while_nothing_is_read(version: Version, side: Side) -> None:
    """Who can't take more octets can't say that the peer is silent."""
    changes = {"heartbeat": 10.0, "limits": Limits(unparsed=5000), "frame_max": 4096}
    pair = Pair(version, client=client_config(**changes), server=server_config(**changes))
    end = pair.open().ends[side]
    end.receive_data(_frames_of_size(end.receive_budget), 1.0)
    assert end.receive_budget == 0
    for moment in (6.0, 30.0, 100.0):
        end.handle_timeout(moment)
        assert end.data_to_send(moment) in (b"", HEARTBEAT)
    assert not isinstance(end.next_event(), Closed)
    while not isinstance(end.next_event(), Signal):
        pass
    assert end.receive_budget > 0
    end.data_to_send(101.0)
    deadline = end.next_deadline
    assert deadline is not None
    end.handle_timeout(120.9)
    assert end.next_event() is Signal.NEED_DATA
    end.handle_timeout(121.0)
    assert isinstance(end.next_event(), Closed)


def _frames_of_size(size: int) -> bytes:
    beats = HEARTBEAT * (size // 8)
    return beats + b"\x08\x00\x00\x00\x00\x00\x00\xce"[: size - len(beats)]


def test_empty_data_says_that_the_adapter_looked(version: Version) -> None:
    pair = beating(version)
    pair.client.receive_data(b"", 15.0)
    pair.client.handle_timeout(30.0)
    assert pair.client.next_event() is Signal.NEED_DATA
    pair.client.handle_timeout(35.0)
    assert isinstance(pair.client.next_event(), Closed)


def test_a_server_that_never_decides_is_timed_out_too(version: Version) -> None:
    pair = Pair(version, applications={Side.SERVER: Server(vhost=False)})
    pair.drive()
    for side in SIDES:
        report = pair.ends[side].report
        assert report is not None
        assert pair.ends[side].next_deadline is None


def test_the_opening_is_not_timed_once_it_is_open(pair: Pair, side: Side) -> None:
    assert pair.ends[side].next_deadline is None
    pair.advance(1000.0)
    assert pair.ends[side].is_open


def test_a_close_is_timed_from_when_it_has_left(version: Version) -> None:
    facing = Facing.opened(version, Side.CLIENT, close_timeout=4.0)
    facing.channel.publish(bytes(1000))
    facing.end.close()
    for moment in (1.0, 2.0, 3.0):
        facing.end.data_to_send(moment, max_bytes=100)
        assert facing.end.next_deadline == moment + 4.0
    facing.end.data_to_send(5.0)
    assert facing.end.next_deadline == 7.0


def test_timers_fire_in_their_order_and_once() -> None:
    timers = Timers(("first", "second", "third"))
    timers.set("third", 3.0)
    timers.set("first", 3.0)
    timers.set("second", 9.0)
    assert timers.next == 3.0
    assert timers.due(2.9) == []
    assert timers.due(1e300) == ["first", "second", "third"]
    assert timers.due(1e300) == []
    assert timers.next is None


def test_a_clock_takes_equal_times() -> None:
    clock = Clock()
    clock.advance(1.0)
    clock.advance(1.0)
    assert clock.now == 1.0
