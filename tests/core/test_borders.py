"""The way of a delivery from octets to event, without fast paths: few calls, few modules, few borders between them."""

import sys
from collections.abc import Callable
from contextlib import ExitStack
from types import FrameType
from typing import Any, Final

import pytest

from amqp_sansio import AMQP_0_9_1, NEED_DATA
from amqp_sansio.amqp_0_10 import DeliveryProperties, Message
from amqp_sansio.amqp_0_10.spec import BYTE, MESSAGE, MessageFlow, MessageSubscribe
from tests.amqp_0_10.endpoint.test_fast_path import open_pair, settle
from tests.kit import pair_1_0, pair_classic
from tests.test_fast_paths import TABLES, without

BORDERS: Final = 15
"""Pairs of modules of which one calls the other."""
CALLS: Final = {"0-8, 0-9-1": (38, 12), "0-10": (39, 15), "1.0": (29, 14)}
"""Calls of functions on the way, and the modules that these are in: both may only fall."""


def classic() -> tuple[Any, Callable[[], bytes]]:
    """A client with a consumer, and what gives the octets of a delivery."""
    ends = pair_classic.Pair(AMQP_0_9_1).open()
    channel = ends.channel()
    channel.call(ends.method("basic.consume", queue="q", consumer_tag="c"))
    ends.pump()

    def octets() -> bytes:
        ends.peer(channel).deliver(b"hello", consumer_tag="c", routing_key="k")
        return ends.server.data_to_send(0.0)

    return ends.client, octets


def zero_ten() -> tuple[Any, Callable[[], bytes]]:
    """A client with a subscription, and what gives the octets of a message."""
    client, server = open_pair({})
    session = client.session(0)
    session.call(MessageSubscribe("q", "a"))
    for unit in (MESSAGE, BYTE):
        session.call(MessageFlow("a", unit, None))
    settle(client, server)

    def octets() -> bytes:
        server.session(0).transfer("a", Message(b"hello", delivery_properties=DeliveryProperties(routing_key="k")))
        return server.data_to_send(0.0)

    return client, octets


def one_zero() -> tuple[Any, Callable[[], bytes]]:
    """A client with a receiver, and what gives the octets of a transfer."""
    ends = pair_1_0.Pair().open()
    receiver = ends.session().open_receiver("q")
    ends.pump()
    receiver.flow(10)
    ends.pump()

    def octets() -> bytes:
        ends.peer(receiver).send(b"hello")
        return ends.server.data_to_send(0.0)

    return ends.client, octets


WAYS: Final[dict[str, tuple[Callable[[], tuple[Any, Callable[[], bytes]]], str]]] = {
    "0-8, 0-9-1": (classic, "Delivery"),
    "0-10": (zero_ten, "MessageReceived"),
    "1.0": (one_zero, "Delivery"),
}


@pytest.mark.parametrize("version", WAYS)
def test_a_delivery_takes_few_calls_in_few_modules(version: str) -> None:
    make, expected = WAYS[version]
    client, deliver = make()
    crossed: set[tuple[str, str]] = set()
    called: list[str] = []

    def note(frame: FrameType, what: str, _: object) -> None:
        caller = frame.f_back
        if what == "call" and caller is not None:
            border = str(caller.f_globals.get("__name__")), str(frame.f_globals.get("__name__"))
            if border[1].startswith("amqp_sansio."):
                called.append(border[1])
            if border[0] != border[1] and all(name.startswith("amqp_sansio.") for name in border):
                crossed.add(border)

    with ExitStack() as stack:
        for entry in TABLES[version]:
            stack.enter_context(without(entry))
        # What is learnt once, from the first one, isn't the way of every delivery.
        client.receive_data(deliver(), 0.0)
        assert type(client.next_event()).__name__ == expected
        assert client.next_event() is NEED_DATA
        octets = deliver()
        before = sys.getprofile()
        sys.setprofile(note)
        try:
            client.receive_data(octets, 0.0)
            event = client.next_event()
        finally:
            sys.setprofile(before)
    assert type(event).__name__ == expected
    assert 5 < len(crossed) <= BORDERS, "\n".join(map(" -> ".join, sorted(crossed)))
    calls, modules = CALLS[version]
    assert len(called) <= calls, called
    assert len({*called}) <= modules, sorted({*called})
