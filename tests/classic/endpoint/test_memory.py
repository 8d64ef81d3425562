"""Memory: what an idle connection and channel cost, that buffers give back, and that work grows with the
octets only."""

# pyright: reportPrivateUsage=false
from __future__ import annotations

import gc
import sys
import tracemalloc
from collections import deque
from collections.abc import Callable
from types import FrameType
from typing import Any

import pytest

from amqp_sansio import AMQP_0_9_1, Limits, Signal, Version
from amqp_sansio._core.receive_buffer import ReceiveBuffer
from amqp_sansio._core.send_buffer import SendBuffer
from amqp_sansio.endpoint import Side
from tests.kit.facing import BOTH_SIDES, BOTH_VERSIONS, Facing, body, header
from tests.kit.pair import Pair, client_config, server_config

CONNECTION_OCTETS = 4096
CHANNEL_OCTETS = 1536
CLIENT, SERVER = client_config(), server_config()


def cost(make: Callable[[], object], count: int = 60) -> float:
    """Octets that one of `count` objects takes."""
    make()
    gc.collect()
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        kept = [make() for _ in range(count)]
        gc.collect()
        after, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    return (after - before) / len(kept)


def idle(version: Version, side: Side, channels: int) -> object:
    """One end of an open connection with so many channels."""
    pair = Pair(version, client=CLIENT, server=SERVER).open()
    for _ in range(channels):
        pair.client.open_channel()
    pair.pump()
    return pair.ends[side]


@BOTH_VERSIONS
@BOTH_SIDES
def test_an_idle_connection_is_small(version: Version, side: Side) -> None:
    alone = cost(lambda: idle(version, side, 0))
    assert alone <= CONNECTION_OCTETS
    assert (cost(lambda: idle(version, side, 20)) - alone) / 20 <= CHANNEL_OCTETS


@BOTH_VERSIONS
@BOTH_SIDES
def test_a_used_connection_is_small_again(version: Version, side: Side) -> None:
    """No octets of what was read or written stay alive."""

    def used() -> object:
        pair = Pair(version, client=CLIENT, server=SERVER).open()
        channel = pair.channel()
        for _ in range(3):
            channel.publish(bytes(300_000), routing_key="r")
            pair.pump()
        return pair.ends[side]

    assert cost(used, 20) <= CONNECTION_OCTETS + CHANNEL_OCTETS + 2048


class Counting(ReceiveBuffer):
    """A buffer that counts the octets it puts together anew."""

    copied = 0

    def want(self, count: int) -> bool:
        """As the buffer's, counting what was joined."""
        before = self.data
        found = super().want(count)
        if self.data is not before:
            self.copied += len(self.data)
        return found

    def gather(self, skip: int, count: int) -> bytes:
        """As the buffer's, counting what was taken together."""
        self.copied += count
        return super().gather(skip, count)


@BOTH_VERSIONS
@pytest.mark.parametrize("chunk", [1, 7, 100, 1460, 65_536])
@pytest.mark.parametrize("size", [100, 5000, 120_000])
def test_octets_are_put_together_once(version: Version, chunk: int, size: int) -> None:
    facing = Facing.opened(version, Side.SERVER)
    buffer: Any = Counting()
    facing.end._buffer = facing.end._fast_path._buffer = buffer
    octets = facing.message("basic.publish", bytes(size)) * max(2, 240_000 // size)
    _feed(facing.end, octets[: 240_000 if chunk >= 100 else 24_000], chunk)
    assert buffer.copied <= 2 * len(octets) + 10_000


def _feed(end: Any, octets: bytes, chunk: int) -> None:
    for at in range(0, len(octets), chunk):
        end.receive_data(octets[at : at + chunk], 0.0)
        while not isinstance(end.next_event(), Signal):
            pass


def calls_of(work: Callable[[], object]) -> int:
    """How many functions were called, of Python and of C."""
    count = 0

    def seen(frame: FrameType, event: str, argument: object) -> None:
        nonlocal count
        if event in ("call", "c_call"):
            count += 1

    sys.setprofile(seen)
    try:
        work()
    finally:
        sys.setprofile(None)
    return count


@BOTH_VERSIONS
@pytest.mark.parametrize("chunk", [1, 1000, 8_000_000])
def test_work_grows_with_the_octets(version: Version, chunk: int) -> None:
    """Four times the octets are four times the calls, in whatever pieces they come."""

    def work(messages: int) -> int:
        facing = Facing.opened(version, Side.SERVER)
        octets = facing.message("basic.publish", bytes(30)) * messages
        return calls_of(lambda: _feed(facing.end, octets, chunk))

    work(1)
    few, many = work(100), work(400)
    assert few > 100
    assert many <= 4.2 * few


@BOTH_VERSIONS
def test_work_does_not_grow_with_what_is_open(version: Version) -> None:
    """Settling a few of many deliveries costs what the few cost."""

    def work(outstanding: int) -> int:
        facing = Facing.opened(version, Side.SERVER)
        facing.feed(facing.method("basic.consume", queue="q", consumer_tag="c", no_wait=True))
        for _ in range(outstanding):
            facing.channel.deliver(b"", consumer_tag="c")
        facing.settle()
        acks = [
            facing.method("basic.ack", delivery_tag=tag, multiple=True) for tag in range(10, 60, 10)
        ]
        return calls_of(lambda: facing.feed(*acks))

    work(100)
    assert work(2000) <= 1.2 * work(100)


def test_many_returns_cost_what_they_are() -> None:
    """Every one of many unroutable publishes comes back."""

    def work(count: int) -> int:
        facing = Facing.opened(AMQP_0_9_1, Side.CLIENT)
        channel = facing.channel
        channel.call(facing.make("confirm.select", no_wait=True))
        for number in range(count):
            channel.publish(b"x", routing_key=f"key-{number}", mandatory=True)
        facing.settle()
        returns = [
            facing.message("basic.return", b"x", routing_key=f"key-{number}")
            for number in range(count)
        ]
        return calls_of(lambda: facing.feed(*returns))

    work(10)
    assert work(800) <= 4.2 * work(200)


@BOTH_VERSIONS
def test_many_channels_open_and_close_without_a_search(version: Version) -> None:
    def work(count: int) -> int:
        pair = Pair(version, client=CLIENT, server=SERVER).open()

        def use() -> None:
            channels = [pair.client.open_channel() for _ in range(count)]
            pair.pump()
            for channel in channels:
                channel.close()
            pair.pump()

        return calls_of(use)

    work(10)
    assert work(800) <= 4.2 * work(200)


@pytest.mark.parametrize("size", [1, 10, 1000])
def test_a_backlog_is_taken_in_pieces_without_copying_the_rest(size: int) -> None:
    out = SendBuffer(deque(), Limits(backlog_high=1_000_000, backlog_low=0))
    for number in range(2000):
        out.append(bytes([number % 256]) * 10)
    taken: list[bytes] = []
    calls = calls_of(lambda: taken.extend(iter(lambda: out.take(size), b"")))
    assert b"".join(taken) == b"".join([bytes([n % 256]) * 10 for n in range(2000)])
    assert all([len(piece) == size for piece in taken[:-1]])
    assert calls < 20 * (2000 + len(taken))
    assert (out.size, out.parts) == (0, [])


def test_a_gathered_body_leaves_what_follows_alone() -> None:
    buffer = ReceiveBuffer()
    follows = bytes(100_000)
    buffer.append(b"0123456")
    buffer.append(bytes(5000))
    buffer.append(follows)
    assert buffer.gather(7, 5000) == bytes(5000)
    assert buffer.data is follows
    assert (len(buffer), buffer.offset) == (100_000, 5007)


@BOTH_VERSIONS
def test_a_message_in_streaming_mode_is_never_held(version: Version) -> None:
    facing = Facing.opened(version, Side.SERVER, stream_above=10_000)
    facing.feed(facing.method("basic.publish"), header(1, 60, 3_000_000))
    tracemalloc.start()
    try:
        for _ in range(30):
            facing.feed(body(1, bytes(100_000)))
            facing.events.clear()
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 1_000_000
