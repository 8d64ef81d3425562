"""The spine of a connection, which all versions share: what is open, and snapshots of other releases."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

from amqp_sansio import (
    By,
    EndpointClosed,
    Opened,
    Signal,
    amqp_0_8,
    amqp_0_9_1,
    amqp_0_10,
    amqp_1_0,
)
from amqp_sansio.endpoint import Side
from tests.support import pair, pair_0_10, pair_1_0


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
