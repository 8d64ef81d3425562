"""Memory of AMQP 0-10: what an idle connection and session cost, that buffers give back, and that work grows with the
octets only."""

# pyright: reportPrivateUsage=false
from __future__ import annotations

import tracemalloc
from typing import Any

import pytest

from amqp_sansio import Limits, Side, Signal
from amqp_sansio.amqp_0_10 import (
    NONE,
    DeliveryProperties,
    MessageReceived,
    MessageSubscribe,
    encode_headers,
)
from tests.amqp_1_0.endpoint.test_memory import Counting, cost
from tests.classic.endpoint.test_memory import calls_of
from tests.kit.octets_0_10 import completed, frame, segment, transfer
from tests.kit.pair_0_10 import Pair, client_config, server_config
from tests.kit.wire_0_10 import BOTH_SIDES, SERVER, Facing

CONNECTION_OCTETS = 8192
SESSION_OCTETS = 8192
HEADER = encode_headers((DeliveryProperties(routing_key="key"),))
CLIENT, SERVING = client_config(), server_config()


def idle(side: Side, sessions: int) -> object:
    """One end of an open connection with so many sessions."""
    pair = Pair(client=CLIENT, server=SERVING).open()
    for number in range(sessions):
        pair.sessions(f"s{number}")
    return pair.ends[side]


@BOTH_SIDES
def test_an_idle_connection_is_small(side: Side) -> None:
    alone = cost(lambda: idle(side, 0), 20)
    assert alone <= CONNECTION_OCTETS
    assert (cost(lambda: idle(side, 10), 8) - alone) / 10 <= SESSION_OCTETS


@BOTH_SIDES
def test_a_used_connection_is_small_again(side: Side) -> None:
    """No octets of what was read, written or kept for a replay stay alive."""

    def used() -> object:
        pair = Pair(client=CLIENT, server=SERVING).open()
        session, other = pair.sessions()
        session.call(MessageSubscribe("q", "d", NONE, 0))
        session.top_up("d", 10)
        pair.pump()
        for _ in range(3):
            session.transfer("", bytes(300_000), accept_mode=NONE)
            other.transfer("d", bytes(300_000), accept_mode=NONE)
            pair.pump()
        for each in (session, other):
            for number in each.incomplete:
                each.complete(number)
        for each in (session, other):
            each.flush()
        pair.pump()
        assert not session.pending
        assert not other.pending
        return pair.ends[side]

    assert cost(used, 10) <= CONNECTION_OCTETS + SESSION_OCTETS + 2048


def feed(facing: Facing, octets: bytes, chunk: int) -> None:
    """Let octets arrive in chunks, and complete each message."""
    end = facing.end
    for at in range(0, len(octets), chunk):
        end.receive_data(octets[at : at + chunk], 0.0)
        while not isinstance(event := end.next_event(), Signal):
            if isinstance(event, MessageReceived):
                facing.session.complete(event.command_id)
        end.data_to_send(0.0)


def transfers(count: int, size: int) -> bytes:
    """So many messages without accept."""
    return transfer("x", bytes(size), accept_mode=1, header=HEADER) * count


@pytest.mark.parametrize("chunk", [1, 7, 100, 1460, 65_536])
@pytest.mark.parametrize("size", [100, 5000, 60_000])
def test_octets_are_put_together_once(chunk: int, size: int) -> None:
    facing = Facing.attached(SERVER)
    buffer: Any = Counting()
    end = facing.end
    end._buffer = end._transport.buffer = end._frames._buffer = buffer
    octets = transfers(max(2, 240_000 // size), size)
    octets = octets[: 240_000 if chunk >= 100 else 24_000]
    feed(facing, octets, chunk)
    assert facing.end.is_open
    assert buffer.copied <= 2 * len(octets) + 10_000


@pytest.mark.parametrize("chunk", [1, 1000, 8_000_000])
def test_work_grows_with_the_octets(chunk: int) -> None:
    """Four times the octets are four times the calls, in whatever pieces they come."""

    def work(messages: int) -> int:
        facing = Facing.attached(SERVER)
        octets = transfers(messages, 30)
        calls = calls_of(lambda: feed(facing, octets, chunk))
        assert facing.end.is_open
        return calls

    work(1)
    few, many = work(100), work(400)
    assert few > 100
    assert many <= 4.2 * few


def test_work_does_not_grow_with_what_is_open() -> None:
    """Completing a few of many commands costs what the few cost."""

    def work(outstanding: int) -> int:
        pair = Pair(client=CLIENT, server=server_config(limits=Limits(requests=10_000))).open()
        session, other = pair.sessions()
        for _ in range(outstanding):
            session.transfer("", b"x")
        pair.pump()
        for number in range(10, 60, 10):
            other.complete(number)
        session.flush()
        return calls_of(pair.pump)

    work(100)
    assert work(2000) <= 1.2 * work(100)


def test_completions_that_are_told_in_order_cost_the_same_all_the_time() -> None:
    """Also to an end that keeps many commands for a replay."""

    def work(count: int) -> int:
        facing = Facing.attached(SERVER)
        facing.feed(transfer("", b"x"))

        def use() -> None:
            for number in range(count):
                facing.session.sync()
                facing.settle()
                facing.feed(completed((0, number)))

        return calls_of(use)

    work(1)
    assert work(800) <= 4.2 * work(200)


def test_small_pieces_of_a_message_cost_what_is_in_them() -> None:
    """Each frame holds two octets; an object for each would be twenty times as large."""
    facing = Facing.attached(SERVER)
    octets = segment(0x0401, b"\x01x", b"\x01", b"\x00")
    facing.feed(frame(octets, 1, flags=0x0B))
    facing.feed(frame(b"ab", 3, flags=0x06))
    piece = frame(b"cd", 3, flags=0x04)
    tracemalloc.start()
    try:
        for _ in range(20):
            facing.feed(piece * 1000)
        held, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert facing.end._transport.bodies >= 40_000
    assert held <= 3 * 40_000
