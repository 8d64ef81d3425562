"""The way of a delivery from octets to event, without fast paths: few modules, and few borders between them."""

import sys
from collections.abc import Callable
from contextlib import ExitStack
from types import FrameType
from typing import Any, Final

import pytest

from amqp_sansio import AMQP_0_9_1
from amqp_sansio.amqp_0_10 import BYTE, MESSAGE, DeliveryProperties, Message, MessageFlow, MessageSubscribe
from tests.amqp_0_10.endpoint.test_fast_path import open_pair, settle
from tests.kit import pair_1_0, pair_classic
from tests.test_fast_paths import TABLES, without

MOST: Final = 15
"""Pairs of modules of which one calls the other."""


def classic() -> tuple[Any, bytes]:
    """A client with a consumer, and the octets of a delivery."""
    ends = pair_classic.Pair(AMQP_0_9_1).open()
    channel = ends.channel()
    channel.call(ends.method("basic.consume", queue="q", consumer_tag="c"))
    ends.pump()
    ends.peer(channel).deliver(b"hello", consumer_tag="c", routing_key="k")
    return ends.client, ends.server.data_to_send(0.0)


def zero_ten() -> tuple[Any, bytes]:
    """A client with a subscription, and the octets of a message."""
    client, server = open_pair({})
    session = client.session(0)
    session.call(MessageSubscribe("q", "a"))
    for unit in (MESSAGE, BYTE):
        session.call(MessageFlow("a", unit, None))
    settle(client, server)
    server.session(0).transfer("a", Message(b"hello", delivery_properties=DeliveryProperties(routing_key="k")))
    return client, server.data_to_send(0.0)


def one_zero() -> tuple[Any, bytes]:
    """A client with a receiver, and the octets of a transfer."""
    ends = pair_1_0.Pair().open()
    receiver = ends.session().open_receiver("q")
    ends.pump()
    receiver.flow(10)
    ends.pump()
    ends.peer(receiver).send(b"hello")
    return ends.client, ends.server.data_to_send(0.0)


WAYS: Final[dict[str, tuple[Callable[[], tuple[Any, bytes]], str]]] = {
    "0-8, 0-9-1": (classic, "Delivery"),
    "0-10": (zero_ten, "MessageReceived"),
    "1.0": (one_zero, "Delivery"),
}


@pytest.mark.parametrize("version", WAYS)
def test_a_delivery_crosses_few_borders_between_modules(version: str) -> None:
    make, expected = WAYS[version]
    client, octets = make()
    crossed: set[tuple[str, str]] = set()

    def note(frame: FrameType, what: str, _: object) -> None:
        caller = frame.f_back
        if what == "call" and caller is not None:
            border = str(caller.f_globals.get("__name__")), str(frame.f_globals.get("__name__"))
            if border[0] != border[1] and all(name.startswith("amqp_sansio.") for name in border):
                crossed.add(border)

    with ExitStack() as stack:
        for entry in TABLES[version]:
            stack.enter_context(without(entry))
        before = sys.getprofile()
        sys.setprofile(note)
        try:
            client.receive_data(octets, 0.0)
            event = client.next_event()
        finally:
            sys.setprofile(before)
    assert type(event).__name__ == expected
    assert 5 < len(crossed) <= MOST, "\n".join(map(" -> ".join, sorted(crossed)))
