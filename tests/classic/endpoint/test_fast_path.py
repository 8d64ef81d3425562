"""Fast path: with the shortcut and without it, the same events, octets and state come of the same octets."""

# pyright: reportPrivateUsage=false
from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amqp_sansio import Failed, Limits, Signal, Version
from amqp_sansio._classic.endpoint.fastpath import FastPath
from amqp_sansio.amqp_0_9_1 import BasicProperties, Delivery
from amqp_sansio.endpoint import Side
from tests.kit.driving import VERSIONS
from tests.kit.facing import Facing, body, header
from tests.kit.pair import SIDES, Pair, client_config, pieces, server_config, structure, told

SIZES = st.lists(st.integers(1, 40) | st.integers(1, 5000), min_size=1, max_size=8)


def _general_step_only(fast_path: FastPath, buffer: object, source: None) -> None:
    """What `FastPath.read` says of everything that isn't the common case: nothing."""


@contextmanager
def without_shortcut() -> Generator[None]:
    """Switch the shortcut off."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(FastPath, "read", _general_step_only)
        yield


def recorded(version: Version, receiver: Side) -> bytes:
    """Octets that `receiver` gets: deliveries, publishes and confirms of every size around the bounds."""
    pair = Pair(version).open()
    channel = pair.channel()
    channel.call(pair.method("basic.consume", queue="q", consumer_tag="c"))
    channel.call(pair.method("basic.consume", queue="q", consumer_tag="free", no_ack=True))
    if pair.has("confirm.select"):
        channel.call(pair.method("confirm.select"))
    pair.pump()
    before = len(pair.sent[receiver.other])
    for size in (0, 1, 1016, 1024, 1025, 4096, 9000, 131_064, 131_065, 140_000):
        for tag in ("c", "free"):
            pair.peer(channel).deliver(
                bytes(size), consumer_tag=tag, routing_key="r", properties=BasicProperties(priority=1)
            )
        channel.publish(bytes(size), routing_key="r", mandatory=size == 1)
        pair.pump()
    return bytes(pair.sent[receiver.other][before:])


@pytest.mark.parametrize("side", SIDES, ids=lambda side: side.value)
@given(version=VERSIONS, sizes=SIZES, at=st.integers(0, 10_000), flip=st.integers(0, 255))
def test_damaged_messages_make_no_difference(
    side: Side, version: Version, sizes: list[int], at: int, flip: int
) -> None:
    octets = bytearray(recorded(version, side))
    octets[at % min(len(octets), 6000)] ^= flip
    fast_events, fast_state = _fed(version, side, bytes(octets), sizes)
    with without_shortcut():
        assert _fed(version, side, bytes(octets), sizes) == (fast_events, fast_state)


def _fed(version: Version, side: Side, octets: bytes, sizes: list[int]) -> tuple[list[str], list[object]]:
    """The events and states of an endpoint that waits for messages and gets these octets."""
    limits = Limits(unparsed=200_000, bodies=200_000, message=200_000)
    pair = Pair(version, client=client_config(limits=limits), server=server_config(limits=limits)).open()
    channel = pair.channel()
    channel.call(pair.method("basic.consume", queue="q", consumer_tag="c"))
    channel.call(pair.method("basic.consume", queue="q", consumer_tag="free", no_ack=True))
    if pair.has("confirm.select"):
        channel.call(pair.method("confirm.select"))
        for _ in range(12):
            channel.publish(b"", routing_key="r", mandatory=True)
    pair.pump()
    end = pair.ends[side]
    events: list[str] = []
    states: list[object] = []
    for piece in pieces(*sizes, 30_000)(octets):
        end.receive_data(piece, 0.0)
        while not isinstance(event := end.next_event(), Signal):
            events.append(told(event))
            states.append(structure(end))
    return events, [*states, end.data_to_send(0.0), structure(end)]


@pytest.mark.parametrize("shortcut", [True, False])
def test_bodies_under_way_count_for_both(version: Version, shortcut: bool) -> None:
    limits = Limits(unparsed=100_000, bodies=100_000, message=100_000)
    facing = Facing.opened(version, Side.CLIENT, 2, limits=limits)
    for number in (1, 2):
        method = facing.make("basic.consume", queue="q", consumer_tag="c", no_wait=True)
        facing.end.channel(number).call(method)
    facing.feed(facing.method("basic.deliver", consumer_tag="c", delivery_tag=1))
    facing.feed(header(1, 60, 60_000), body(1, bytes(30_000)))
    second = facing.message("basic.deliver", bytes(50_000), 2, consumer_tag="c", delivery_tag=1)
    if shortcut:
        facing.feed(second)
    else:
        with without_shortcut():
            facing.feed(second)
    (failed,) = facing.of(Failed)
    assert (failed.channel, failed.error.code) == (2, 311)


@pytest.mark.parametrize("shortcut", [True, False])
def test_a_method_above_the_limit_is_refused_by_both(version: Version, shortcut: bool) -> None:
    facing = Facing.opened(version, Side.CLIENT, limits=Limits(header=700))
    long = "t" * 255
    facing.channel.call(facing.make("basic.consume", queue="q", consumer_tag=long, no_wait=True))
    deliver = facing.message(
        "basic.deliver", b"x", consumer_tag=long, delivery_tag=1, exchange="e" * 255, routing_key="r" * 255
    )
    if shortcut:
        facing.feed(deliver)
    else:
        with without_shortcut():
            facing.feed(deliver)
    (failed,) = facing.of(Failed)
    assert failed.error.code == 501


@pytest.mark.parametrize("shortcut", [True, False])
def test_the_header_of_another_channel_is_not_taken_for_the_next_one(version: Version, shortcut: bool) -> None:
    """Content of two channels may be mixed, and their routes be the same."""
    facing = Facing.opened(version, Side.CLIENT, 2)
    for number in (1, 2):
        method = facing.make("basic.consume", queue="q", consumer_tag="c", no_wait=True)
        facing.end.channel(number).call(method)

    def deliver(number: int, tag: int) -> bytes:
        return facing.method("basic.deliver", number, consumer_tag="c", delivery_tag=tag, routing_key="r")

    # The first is the one whose route is remembered.
    arrivals = (deliver(1, 1) + header(1, 60, 0) + deliver(1, 2), deliver(2, 1) + header(1, 60, 0) + header(2, 60, 0))
    if shortcut:
        facing.feed(*arrivals)
    else:
        with without_shortcut():
            facing.feed(*arrivals)
    assert [(each.channel, each.delivery_tag) for each in facing.of(Delivery)] == [(1, 1), (1, 2), (2, 1)]
