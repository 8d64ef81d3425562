"""Whatever a client makes a broker keep beside messages counts in the topology, and no more when it has gone."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final

import pytest

from amqp_sansio import RemoteProtocolError, amqp_1_0
from amqp_sansio.amqp_0_10 import spec
from amqp_sansio.broker import BrokerLimits, Settings
from tests.broker.amqp_1_0.test_hub_1_0_filters import SELECTOR, filtered
from tests.kit import hub_0_10, hub_1_0, hub_classic

OCTETS: Final = 5000
LONG: Final = {"key": "x" * OCTETS}
LIMITS: Final = BrokerLimits(topology=3_000_000)


def classic(name: str, undo: str, **fields: Any) -> tuple[Any, Callable[[], object], Callable[[], object]]:
    """A world of 0-9-1, a call in it, and the one that undoes it."""
    world = hub_classic.World("0-9-1-rabbit", limits=LIMITS)
    channel = world.channel()
    channel.declare("q")
    channel.call("exchange.declare", exchange="x", type="fanout")
    taken = {key: value for key, value in fields.items() if key != "arguments" or "bind" in undo}
    without = {key: value for key, value in taken.items() if key not in ("type", "durable")}
    return world, lambda: channel.call(name, **fields), lambda: channel.call(undo, **without)


def ten(make: Any, undo: Any) -> tuple[Any, Callable[[], object], Callable[[], object]]:
    """A world of 0-10, a command in it, and the one that undoes it."""
    world = hub_0_10.World(Settings(limits=LIMITS))
    peer = world.connect()
    session = peer.session()
    peer.queue(session, "q")
    return world, lambda: peer.call(session, make), lambda: peer.call(session, undo)


def dynamic() -> tuple[Any, Callable[[], object], Callable[[], object]]:
    """A dynamic node of 1.0, which goes with its link."""
    world = hub_1_0.World(limits=LIMITS)
    user = world.connect()
    links: list[Any] = []
    return world, lambda: links.append(user.receiver(amqp_1_0.Source(dynamic=True))), lambda: links.pop().close()


def link_filter() -> tuple[Any, Callable[[], object], Callable[[], object]]:
    """A link of 1.0 with a long selector."""
    world = hub_1_0.World(limits=LIMITS)
    world.queue("jobs")
    user = world.connect()
    links: list[Any] = []
    text = " OR ".join(["a = 1"] * (OCTETS // 9))
    return world, lambda: links.append(filtered(user, "jobs", SELECTOR, text)), lambda: links.pop().close()


Row = Callable[[], tuple[Any, Callable[[], object], Callable[[], object]]]
ROWS: Final[dict[str, tuple[int, Row]]] = {
    "0-9-1 exchange": (
        OCTETS,
        lambda: classic("exchange.declare", "exchange.delete", exchange="y", type="fanout", arguments=LONG),
    ),
    "0-9-1 binding": (
        OCTETS,
        lambda: classic("queue.bind", "queue.unbind", queue="q", exchange="amq.fanout", arguments=LONG),
    ),
    "0-9-1 binding of exchanges": (
        OCTETS,
        lambda: classic("exchange.bind", "exchange.unbind", destination="x", source="amq.fanout", arguments=LONG),
    ),
    "0-9-1 queue": (
        0,
        lambda: classic("queue.declare", "queue.delete", queue="y", durable=True, arguments={"x-max-length": 7}),
    ),
    "0-10 exchange": (0, lambda: ten(spec.ExchangeDeclare("y", "fanout"), spec.ExchangeDelete("y"))),
    "0-10 binding": (
        OCTETS,
        lambda: ten(
            spec.ExchangeBind("q", "amq.match", "k", {"x-match": "all", **LONG}),
            spec.ExchangeUnbind("q", "amq.match", "k"),
        ),
    ),
    "0-10 subscription": (
        0,
        lambda: ten(spec.MessageSubscribe("q", "d", 0, 0, arguments={"key": "x" * 3}), spec.MessageCancel("d")),
    ),
    "1.0 dynamic node": (0, dynamic),
    "1.0 filter of a link": (OCTETS - 20, link_filter),
}


@pytest.mark.parametrize("name", ROWS)
def test_it_counts_while_it_is_there(name: str) -> None:
    octets, row = ROWS[name]
    world, make, undo = row()
    world.pump()
    before = world.hub.model.ledger.topology
    make()
    world.pump()
    assert world.hub.model.ledger.topology > before + octets
    undo()
    world.pump()
    assert world.hub.model.ledger.topology == before


@pytest.mark.parametrize("name", [name for name, (octets, _) in ROWS.items() if octets])
def test_what_is_refused_for_lack_of_room_leaves_nothing(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    _, row = ROWS[name]
    world, make, _ = row()
    world.pump()
    ledger = world.hub.model.ledger
    before = ledger.topology
    monkeypatch.setattr(ledger, "limits", BrokerLimits(topology=before + 1000))
    # A kit raises where its own call is refused, or where its channel, session or link has ended.
    with suppress(AssertionError, RemoteProtocolError):
        make()
    world.pump()
    assert ledger.topology <= before
