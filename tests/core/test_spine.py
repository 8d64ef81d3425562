"""The spine of a connection, which all versions share: what is open, and snapshots of other releases."""

import pickle
from typing import Any

import pytest

from amqp_sansio import (
    AMQP_0_8,
    AMQP_0_9_1,
    By,
    CloseHint,
    EndpointClosed,
    Limits,
    Opened,
    Signal,
    Version,
    amqp_0_8,
    amqp_0_9_1,
    amqp_0_10,
    amqp_1_0,
)
from amqp_sansio.endpoint import Side
from tests.kit import pair, pair_0_10, pair_1_0


@pytest.mark.parametrize("version", [amqp_0_8, amqp_0_9_1, amqp_0_10, amqp_1_0])
def test_a_snapshot_of_an_earlier_release_is_refused_before_its_content(version: Any) -> None:
    kind = version.Connection
    name = f"{kind.__module__}\n{kind.__qualname__}\n".encode()
    # A new object of the class, and its state: an object of a class that is gone.
    snapshot = b"\x80\x02c" + name + b")\x81camqp_sansio.gone\nClosing\n)\x81b."
    with pytest.raises(ValueError, match="layout of an earlier release"):
        pickle.loads(snapshot)


@pytest.mark.parametrize("support", [pair, pair_0_10, pair_1_0])
def test_a_connection_that_opens_with_the_last_octets_of_a_lost_transport_is_closed(support: Any) -> None:
    both = support.Pair()
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


FRAMES = {
    "0-8": b"\x08\0\0\0\0\0\0\xce",
    "0-9-1": b"\x08\0\0\0\0\0\0\xce",
    "0-10": b"\x0f\0\0\x12\0\0\0\0\0\0\0\0\1\x0a\0\0\0\0",
    "1.0": b"\0\0\0\x08\2\0\0\0",
}
"""A frame that a peer may send at any time, of each version."""
MESSAGE = 5000


def closing(version: str, side: Side) -> Any:
    """An end that has sent its close, and waits for the peer's."""
    support, module = {"0-10": (pair_0_10, amqp_0_10), "1.0": (pair_1_0, amqp_1_0)}.get(
        version, (pair, amqp_0_8 if version == "0-8" else amqp_0_9_1)
    )
    limits = Limits(message=MESSAGE)
    config = support.Pair().ends[side].config
    config = module.Config(**{name: getattr(config, name) for name in config.__match_args__} | {"limits": limits})
    options: dict[str, Any] = {side.value: config}
    both = support.Pair(version_of(version), **options) if support is pair else support.Pair(**options)
    both.open()
    end = both.ends[side]
    end.close()
    assert end.data_to_send(both.now)
    return end


def version_of(label: str) -> Version:
    return AMQP_0_8 if label == "0-8" else AMQP_0_9_1


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


@pytest.mark.parametrize("side", Side, ids=str)
@pytest.mark.parametrize("version", FRAMES)
def test_a_peer_that_goes_on_instead_of_answering_a_close_is_read_for_one_message(version: str, side: Side) -> None:
    octets = FRAMES[version] * 2000
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
        end = closing("0-9-1", Side.SERVER)
        frames = FRAMES["0-9-1"] * ((MESSAGE - len(close_ok)) // 8 + 1 + many)
        flood(end, frames + close_ok, size)
        assert end.close_hint is hint
