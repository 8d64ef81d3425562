"""The spine of a connection, which all versions share: what is open, and snapshots of other releases."""

import pickle
from typing import Any

import pytest

from amqp_sansio import AMQP_0_9_1, AMQP_1_0, By, Closed, CloseHint, EndpointClosed, Limits, Opened, Signal, Version
from amqp_sansio.endpoint import Side
from tests.core.test_timers import joined
from tests.kit.facing import BOTH_SIDES
from tests.kit.pair import Pair
from tests.kit.versions import EVERY, KITS


@EVERY
def test_a_connection_that_opens_with_the_last_octets_of_a_lost_transport_is_closed(version: Version) -> None:
    both = Pair(KITS[version])
    octets = b""
    for _ in range(20):
        both.turn(Side.CLIENT)
        both.turn(Side.SERVER)
        both.write(Side.SERVER)
        octets = bytes(both.flying[Side.SERVER])
        probe = pickle.loads(pickle.dumps(both.client))
        probe.receive_data(octets, both.now)
        if any([isinstance(each, Opened) for each in _events(probe)]):
            break
    client = both.client
    client.receive_data(octets, both.now)
    client.connection_lost("reset", both.now)
    assert isinstance(client.next_event(), Opened)
    assert not client.is_open
    with pytest.raises(EndpointClosed, match="transport lost: reset") as caught:
        client.check_open()
    assert caught.value.report is not None
    assert caught.value.report.by is By.TRANSPORT


def _events(end: Any) -> list[Any]:
    found: list[Any] = []
    while not isinstance(event := end.next_event(), Signal):
        found.append(event)
    return found


ENDINGS = pytest.mark.parametrize("ending", ["receive_eof", "connection_lost"])
MESSAGE = 5000


def end_stream(end: Any, ending: str, now: float = 0.0) -> None:
    getattr(end, ending)(*(("reset",) if ending == "connection_lost" else ()), now)


@EVERY
@BOTH_SIDES
@ENDINGS
def test_octets_before_the_end_of_the_stream_count(version: Version, side: Side, ending: str) -> None:
    """An unread close is seen, although the transport has gone."""
    both = joined(version, 0).open()
    end, other = both.ends[side], both.ends[side.other]
    error: Any = "amqp:connection:forced" if version is AMQP_1_0 else 320
    other.close(error, "maintenance")
    end.receive_data(other.data_to_send(0.0), 0.0)
    end_stream(end, ending)
    _events(end)
    assert end.report is not None
    assert end.report.by is By.REMOTE
    assert error in (end.report.code, end.report.condition)
    assert (end.data_to_send(0.0) == b"") is (ending == "connection_lost")
    assert end.close_hint is (CloseHint.CLOSE_NOW if ending == "connection_lost" else CloseHint.CLOSE_WHEN_SENT)


@EVERY
@BOTH_SIDES
@ENDINGS
@pytest.mark.parametrize("closes", [False, True])
def test_a_stream_that_ends_without_a_close(version: Version, side: Side, ending: str, closes: bool) -> None:
    end = joined(version, 0).open().ends[side]
    if closes:
        end.close()
        end.data_to_send(0.0)
    end_stream(end, ending)
    assert [type(event) for event in _events(end)] == [Closed]
    assert end.report is not None
    assert end.report.by is (By.LOCAL if closes else By.TRANSPORT)
    assert end.report.hint or not closes
    assert end.close_hint is (CloseHint.CLOSE_NOW if ending == "connection_lost" else CloseHint.CLOSE_WHEN_SENT)
    # Nothing comes twice, and no octet counts any more.
    for _ in range(2):
        assert end.receive_budget == 0
        end.receive_data(KITS[version].beat + b"\xff" * 20, 1.0)
        for again in ("receive_eof", "connection_lost"):
            end_stream(end, again, 1.0)
    assert (_events(end), end.data_to_send(1.0)) == ([], b"")


def closing(version: Version, side: Side) -> Any:
    """An end that has sent its close, and waits for the peer's."""
    both = joined(version, 0, limits=Limits(message=MESSAGE)).open()
    end = both.ends[side]
    end.close()
    assert end.data_to_send(both.now)
    return end


def flood(end: Any, octets: bytes, size: int) -> int:
    """How many octets an end takes of a peer that doesn't stop."""
    taken = 0
    for at in range(0, len(octets), size):
        piece = octets[at : at + size]
        if end.receive_budget < len(piece):
            break
        taken += len(piece)
        end.receive_data(piece, 1000.0)
        _events(end)
    return taken


@EVERY
@BOTH_SIDES
def test_a_peer_that_goes_on_instead_of_answering_a_close_is_read_for_one_message(version: Version, side: Side) -> None:
    octets = KITS[version].beat * 2000
    reports: set[str] = set()
    for size in (1, 7, 1000, MESSAGE):
        end = closing(version, side)
        assert flood(end, octets, size) < MESSAGE + 2 * size
        assert end.close_hint is CloseHint.CLOSE_NOW
        reports.add(str(end.report))
    (report,) = reports
    assert f"{MESSAGE} octets" in report


@pytest.mark.parametrize("size", [1, 8, 1000])
def test_what_fits_before_the_answer_to_a_close_is_read(size: int) -> None:
    close_ok = b"\1\0\0\0\0\0\4\0\x0a\0\x33\xce"
    for many, hint in ((-1, CloseHint.CLOSE_WHEN_SENT), (0, CloseHint.CLOSE_NOW)):
        end = closing(AMQP_0_9_1, Side.SERVER)
        frames = KITS[AMQP_0_9_1].beat * ((MESSAGE - len(close_ok)) // 8 + 1 + many)
        flood(end, frames + close_ok, size)
        assert end.close_hint is hint
