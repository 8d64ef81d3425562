"""Memory of AMQP 1.0: what an idle connection, session and link cost, that buffers give back, and that work grows
with the octets only."""

# pyright: reportPrivateUsage=false
from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Callable
from typing import Any

import pytest

from amqp_sansio import Signal
from amqp_sansio._core.receive_buffer import ReceiveBuffer
from amqp_sansio.amqp_1_0 import Begin, Message, Transfer
from amqp_sansio.endpoint import Side
from tests.classic.endpoint.test_memory import calls_of
from tests.kit.facing_1_0 import BOTH_SIDES, SERVER, Facing, octets_of
from tests.kit.pair_1_0 import Accepting, Pair, client_config, listen, server_config

CONNECTION_OCTETS = 8192
LINK_OCTETS = 3072
CLIENT, SERVING = client_config(), server_config()


def cost(make: Callable[[], object], count: int = 40) -> float:
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


def idle(side: Side, links: int) -> object:
    """One end of an open connection with a session and so many links."""
    pair = Pair(client=CLIENT, server=SERVING).open()
    session = pair.session()
    for number in range(links):
        session.open_sender("q") if number % 2 else session.open_receiver("q", credit=10)
    pair.pump()
    return pair.ends[side]


@BOTH_SIDES
def test_an_idle_connection_is_small(side: Side) -> None:
    alone = cost(lambda: idle(side, 0))
    assert alone <= CONNECTION_OCTETS
    assert (cost(lambda: idle(side, 20)) - alone) / 20 <= LINK_OCTETS


@BOTH_SIDES
def test_a_used_connection_is_small_again(side: Side) -> None:
    """No octets of what was read or written stay alive."""

    def used() -> object:
        pair = Pair(client=CLIENT, server=SERVING).open()
        sender = pair.session().open_sender("q")
        pair.pump()
        for _ in range(3):
            sender.send(Message(bytes(300_000)))
            pair.pump()
        assert not sender.unsettled
        return pair.ends[side]

    assert cost(used, 20) <= CONNECTION_OCTETS + LINK_OCTETS + 2048


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


def receiving() -> Facing:
    """A server with an attached receiver that grants credit as it goes."""
    pair = Pair(client=CLIENT, server=SERVING).open()
    sender = pair.session().open_sender("q")
    pair.pump()
    assert sender.credit
    facing = Facing.__new__(Facing)
    facing.side = SERVER
    facing.end = pair.server
    facing.now = pair.now
    facing.fed = len(pair.sent[Side.CLIENT])
    facing.events = []
    facing.out = b""
    facing.application = Accepting()
    return facing


def transfers(count: int, size: int) -> bytes:
    """So many whole deliveries, settled by their sender."""
    payload = Message(bytes(size)).encode()
    return b"".join(
        [
            octets_of(
                Transfer(0, number, number.to_bytes(4, "big"), 0, settled=True), 0, payload
            )
            for number in range(count)
        ]
    )


def feed(end: Any, octets: bytes, chunk: int, application: Any = listen) -> None:
    """Let octets arrive in chunks, and take all events."""
    for at in range(0, len(octets), chunk):
        end.receive_data(octets[at : at + chunk], 0.0)
        while not isinstance(event := end.next_event(), Signal):
            application(end, event)
        end.data_to_send(0.0)


@pytest.mark.parametrize("chunk", [1, 7, 100, 1460, 65_536])
@pytest.mark.parametrize("size", [100, 5000, 60_000])
def test_octets_are_put_together_once(chunk: int, size: int) -> None:
    facing = receiving()
    buffer: Any = Counting()
    facing.end._buffer = buffer
    octets = transfers(max(2, 240_000 // size), size)
    octets = octets[: 240_000 if chunk >= 100 else 24_000]
    feed(facing.end, octets, chunk, Accepting())
    assert facing.end.is_open
    assert buffer.copied <= 2 * len(octets) + 10_000


@pytest.mark.parametrize("chunk", [1, 1000, 8_000_000])
def test_work_grows_with_the_octets(chunk: int) -> None:
    """Four times the octets are four times the calls, in whatever pieces they come."""

    def work(messages: int) -> int:
        facing = receiving()
        octets = transfers(messages, 30)
        calls = calls_of(lambda: feed(facing.end, octets, chunk, Accepting()))
        assert facing.end.is_open
        return calls

    work(1)
    few, many = work(100), work(400)
    assert few > 100
    assert many <= 4.2 * few


def test_work_does_not_grow_with_what_is_open() -> None:
    """Settling a few of many deliveries costs what the few cost."""

    def work(outstanding: int) -> int:
        pair = Pair(
            client=client_config(incoming_window=10_000),
            server=server_config(incoming_window=10_000),
            applications={SERVER: Accepting(deliveries=False, credit=5000)},
        ).open()
        sender = pair.session().open_sender("q")
        pair.pump()
        for _ in range(outstanding):
            sender.send(b"")
        pair.pump()
        receiver = pair.peer(sender)
        receiver.accept(*range(10, 60, 10))
        return calls_of(pair.pump)

    work(100)
    assert work(2000) <= 1.2 * work(100)


def test_many_sessions_begin_and_end_without_a_search() -> None:
    def work(count: int) -> int:
        pair = Pair(client=CLIENT, server=SERVING).open()

        def use() -> None:
            sessions = [pair.client.open_session() for _ in range(count)]
            pair.pump()
            for session in sessions:
                session.close()
            pair.pump()

        return calls_of(use)

    work(10)
    assert work(800) <= 4.2 * work(200)


def test_a_large_frame_in_small_pieces_is_joined_once() -> None:
    """Its pieces, the frame, its record and the map in it; never one more for each piece."""
    facing = Facing.opened(SERVER, server_config(max_frame_size=2_000_000))
    begin = Begin(next_outgoing_id=0, incoming_window=1, outgoing_window=1)
    octets = octets_of(begin.replace(properties={"long": bytes(1_000_000)}))
    tracemalloc.start()
    try:
        for at in range(0, len(octets), 10_000):
            facing.feed(octets[at : at + 10_000])
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert facing.events
    assert peak < 5 * len(octets)
