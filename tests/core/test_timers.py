"""Heartbeats of 0-8, 0-9-1 and 0-10: sent in time, counted by any octet, and twice the time of silence. Deadlines of
openings and closes. Of all versions: whatever the time is that the caller brings.

1.0's idle time-out, which each side has for itself, is in tests/amqp_1_0/endpoint/test_idle.py.
"""

import math
from collections.abc import Callable
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amqp_sansio import (
    AMQP_0_8,
    AMQP_0_9_1,
    AMQP_0_10,
    AMQP_1_0,
    By,
    Closed,
    CloseHint,
    Failed,
    Limits,
    Side,
    Signal,
    Version,
)
from tests.kit.facing import BOTH_SIDES, CLIENT, Facing
from tests.kit.facing_classic import both_rules
from tests.kit.octets_0_10 import detach, sync
from tests.kit.octets_classic import METHOD, frame
from tests.kit.pair import Pair, structure
from tests.kit.versions import EVERY, KITS

BEATS: Final = (AMQP_0_8, AMQP_0_9_1, AMQP_0_10)
"""The versions that have heartbeats."""
CHANNEL_OPEN: Final = b"\0\x14\0\x0a\0"
OF_VERSIONS: Final = pytest.mark.parametrize("version", BEATS, ids=lambda version: version.label)


def beating(version: Version, side: Side, seconds: int = 10, **changes: Any) -> Facing[Any]:
    """An endpoint of an open connection whose agreed heartbeat is ten seconds."""
    return Facing(KITS[version], side, pair=joined(version, seconds, **changes).open())


@OF_VERSIONS
@BOTH_SIDES
@pytest.mark.rule("0-9-1/wire/heartbeat-format", "0-9-1/wire/heartbeat-interval")
def test_an_idle_end_sends_a_heartbeat_every_half_interval(version: Version, side: Side) -> None:
    end = beating(version, side)
    assert (end.end.heartbeat, end.end.next_deadline) == (10, 5.0)
    end.wait(4.9)
    assert end.out == b""
    end.wait(0.2)
    assert end.out == KITS[version].beat
    assert end.end.next_deadline == 10.0
    end.wait(4.9)
    for _ in range(10):
        end.feed(KITS[version].beat)
        end.wait(5.0)
    assert end.out == KITS[version].beat * 12
    assert end.end.is_open


@OF_VERSIONS
@BOTH_SIDES
@pytest.mark.rule("0-9-1/wire/heartbeat-interval")
def test_whatever_is_sent_is_a_sign_of_life(version: Version, side: Side) -> None:
    end = beating(version, side)
    for number in range(1, 11):
        end.wait(4.0)
        if version is AMQP_0_10:
            end.feed(detach(b"t", channel=2))
        elif side is CLIENT:
            end.end.open_channel()
            end.feed(KITS[version].beat)
        else:
            end.feed(frame(METHOD, number, CHANNEL_OPEN))
        assert end.end.next_deadline == 4.0 * number + 5.0
    assert KITS[version].beat not in end.out


@OF_VERSIONS
@BOTH_SIDES
@pytest.mark.rule("0-9-1/wire/heartbeat-timeout", "0-10/connection.heartbeat/2x")
def test_two_silent_intervals_close_the_socket_without_handshake(version: Version, side: Side) -> None:
    end = beating(version, side)
    end.feed(KITS[version].beat)
    end.wait(19.9)
    assert end.end.is_open
    assert end.events == []
    end.wait(0.2)
    (closed,) = end.events
    assert isinstance(closed, Closed)
    assert closed.report.by is By.TRANSPORT
    assert closed.report.text == "nothing arrived for 20 seconds, twice the heartbeat"
    if version is not AMQP_0_10:
        assert closed.report.rule == KITS[version].rule("wire/heartbeat-timeout")
    assert end.hint() is CloseHint.CLOSE_NOW
    assert "connection.close" not in end.names()
    assert end.end.next_deadline is None


@OF_VERSIONS
@BOTH_SIDES
@pytest.mark.rule("0-9-1/wire/heartbeat-any-octet", "0-10/connection.heartbeat/2x")
def test_any_octet_of_the_peer_is_a_sign_of_life(version: Version, side: Side) -> None:
    end, beat = beating(version, side), KITS[version].beat
    octets = [beat[at : at + 1] for at in range(len(beat))]
    for piece in (*octets, beat, *([sync()] if version is AMQP_0_10 else [])):
        end.feed(piece)
        end.wait(19.0)
        assert end.end.is_open
    end.wait(1.1)
    assert [type(event) for event in end.events] == [Closed]


@OF_VERSIONS
@BOTH_SIDES
@both_rules("wire/heartbeat-unsupported")
def test_without_an_agreed_heartbeat_nobody_waits(version: Version, side: Side) -> None:
    end = beating(version, side, 0)
    assert end.end.heartbeat == 0
    assert end.end.next_deadline is None
    assert end.feed(KITS[version].beat * 3) == []
    end.wait(1e6)
    assert end.end.is_open
    assert (end.events, end.out) == ([], b"")


@OF_VERSIONS
@BOTH_SIDES
def test_an_opening_that_does_not_finish_ends(version: Version, side: Side) -> None:
    kit = KITS[version]
    end = Facing(kit, side, kit.config(side, handshake_timeout=3.0))
    assert end.end.next_deadline == 3.0
    end.wait(2.9)
    assert end.end.report is None
    end.wait(0.1)
    report = end.end.report
    assert report is not None
    assert report.by is By.LOCAL
    state = "header sent" if side is CLIENT else "start"
    assert report.text == f"the opening did not finish, it is {state}"
    assert end.hint() is CloseHint.CLOSE_NOW


@EVERY
@BOTH_SIDES
@pytest.mark.rule("0-10/connection.close-ok/reporting", "1.0/transport/connection/close-timeout")
def test_a_close_without_an_answer_ends(version: Version, side: Side) -> None:
    code: Any = "amqp:internal-error" if version is AMQP_1_0 else 320
    end = beating(version, side, 0, close_timeout=4.0)
    end.now = 50.0
    end.end.close(code, "stopping")
    assert end.end.next_deadline is None
    end.settle()
    assert end.end.next_deadline == 54.0
    end.wait(3.9)
    assert end.events == []
    end.wait(0.1)
    (closed,) = end.events
    assert isinstance(closed, Closed)
    assert (closed.report.by, closed.report.text) == (By.LOCAL, "stopping")
    assert code in (closed.report.code, closed.report.condition)
    missing = "without the peer's close-ok: " if version is AMQP_0_10 else ""
    assert closed.report.hint == f"{missing}the peer did not answer the close"
    assert end.hint() is CloseHint.CLOSE_NOW


# Time, which the caller brings.


def joined(version: Version, seconds: int = 10, *, only: Side | None = None, **changes: Any) -> Pair[Any]:
    """Two ends that want a sign of life every so many seconds, or `only` one where each says so; not yet open."""
    kit = KITS[version]
    beat = "idle_time_out" if version is AMQP_1_0 else "heartbeat"
    of = {side: {beat: seconds if version is not AMQP_1_0 or only in (None, side) else 0, **changes} for side in Side}
    return Pair(kit, client=kit.client_config(**of[CLIENT]), server=kit.server_config(**of[Side.SERVER]))


def silence(version: Version) -> int:
    """How many seconds of silence those ends bear: 1.0 announces half of it."""
    return 10 if version is AMQP_1_0 else 20


def ended(end: Any) -> bool:
    """Whether the next event says that the peer was silent for too long."""
    return isinstance(end.next_event(), Closed | Failed)


@EVERY
@BOTH_SIDES
def test_silence_does_not_count_while_nothing_is_read(version: Version, side: Side) -> None:
    """Who can't take more octets can't say that the peer is silent."""
    end = joined(version, only=side, limits=Limits(unparsed=70_000)).open().ends[side]
    beats = KITS[version].beat * 9000
    end.receive_data(beats[: end.receive_budget], 1.0)
    assert end.receive_budget == 0
    for moment in (6.0, 30.0, 100.0):
        end.handle_timeout(moment)
        end.data_to_send(moment)
    while not isinstance(event := end.next_event(), Signal):
        assert not isinstance(event, Closed | Failed)
    assert end.receive_budget > 0
    end.data_to_send(101.0)
    end.handle_timeout(100.9 + silence(version))
    assert end.next_event() is Signal.NEED_DATA
    end.handle_timeout(101.0 + silence(version))
    assert ended(end)


@EVERY
def test_empty_data_says_that_the_adapter_looked(version: Version) -> None:
    end, borne = joined(version, only=CLIENT).open().client, silence(version)
    end.receive_data(b"", 0.75 * borne)
    end.handle_timeout(1.5 * borne)
    assert end.next_event() is Signal.NEED_DATA
    end.handle_timeout(1.75 * borne)
    assert ended(end)


@EVERY
@BOTH_SIDES
def test_what_is_open_is_not_timed_without_signs_of_life(version: Version, side: Side) -> None:
    ends = joined(version, 0).open()
    assert ends.ends[side].next_deadline is None
    ends.advance(1e6)
    assert ends.ends[side].is_open


@EVERY
def test_a_close_is_timed_from_when_it_has_left(version: Version) -> None:
    end = joined(version, 0, close_timeout=4.0).open().client
    end.close()
    for moment in (1.0, 2.0, 3.0):
        assert len(end.data_to_send(moment, max_bytes=2)) == 2
        assert end.next_deadline == moment + 4.0
    end.data_to_send(5.0)
    assert end.next_deadline == 7.0


@EVERY
@BOTH_SIDES
@given(parts=st.lists(st.floats(0.0, 0.98), max_size=6))
def test_spurious_calls_change_nothing(version: Version, side: Side, parts: list[float]) -> None:
    end = joined(version).open().ends[side]
    end.data_to_send(0.0)
    deadline = end.next_deadline
    for part in sorted(parts):
        end.handle_timeout(part * deadline)
        assert end.next_event() is Signal.NEED_DATA
        assert (end.next_deadline, end.send_backlog) == (deadline, 0)


@EVERY
@BOTH_SIDES
def test_timeouts_after_the_end_change_nothing(version: Version, side: Side) -> None:
    ends = joined(version).open()
    ends.client.close()
    ends.pump()
    end = ends.ends[side]
    before = structure(end.report)
    end.handle_timeout(1_000_000.0)
    assert end.next_deadline is None
    assert end.next_event() is Signal.NEED_DATA
    assert structure(end.report) == before


@EVERY
@BOTH_SIDES
def test_last_octets_that_nobody_takes_are_given_up(version: Version, side: Side) -> None:
    ends = joined(version).open()
    end = ends.ends[side]
    ends.ends[side.other].close()
    ends.write(side.other)
    ends.arrive(side)
    due = ends.now + end.config.close_timeout
    assert (end.close_hint, end.next_deadline) == (CloseHint.CLOSE_WHEN_SENT, due)
    end.handle_timeout(due - 0.1)
    assert end.close_hint is CloseHint.CLOSE_WHEN_SENT
    end.handle_timeout(due)
    assert (end.close_hint, end.next_deadline, end.send_backlog) == (CloseHint.CLOSE_NOW, None, 0)
    assert end.next_event() is Signal.NEED_DATA


@EVERY
@BOTH_SIDES
@pytest.mark.parametrize("now", [math.nan, math.inf, -math.inf, 4.0])
def test_time_that_is_no_time_or_runs_backwards_is_refused(version: Version, side: Side, now: float) -> None:
    end = joined(version).ends[side]
    end.data_to_send(5.0)
    before = structure(end)
    doors: tuple[Callable[[], object], ...] = (
        lambda: end.receive_data(b"AMQP", now),
        lambda: end.receive_eof(now),
        lambda: end.connection_lost("gone", now),
        lambda: end.data_to_send(now),
        lambda: end.handle_timeout(now),
    )
    for door in doors:
        with pytest.raises(ValueError, match="now"):
            door()
        assert structure(end) == before


@EVERY
def test_any_origin_will_do(version: Version) -> None:
    ends = joined(version)
    ends.now = -1_000_000.0
    ends.open()
    assert ends.deadline == ends.now + (2.5 if version is AMQP_1_0 else 5.0)
