"""Memory and work of AMQP 1.0: what an idle connection and link cost, that buffers give back, and that work grows with
the octets only."""

# pyright: reportPrivateUsage=false
from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from typing import Any

import pytest

from amqp_sansio import Signal
from amqp_sansio.amqp_1_0 import Accepted, Disposition, Message
from amqp_sansio.endpoint import Side
from tests.classic.endpoint.test_memory import Counting, calls_of, cost
from tests.kit.facing_1_0 import BOTH_SIDES, octets_of
from tests.kit.pair_1_0 import Accepting, Pair, client_config, server_config

CONNECTION_OCTETS = 8192
"""A connection with one session."""
LINK_OCTETS = 3072
CLIENT, SERVER = client_config(), server_config(incoming_window=10_000)


def pair_of(application: Accepting | None = None) -> Pair:
    """An open connection whose server accepts what `application` accepts."""
    applications: Any = {} if application is None else {Side.SERVER: application}
    return Pair(client=CLIENT, server=SERVER, applications=applications).open()


def idle(side: Side, links: int) -> object:
    """One end of an open connection with a session of so many links."""
    pair = pair_of()
    session = pair.session()
    for _ in range(links):
        session.open_sender("q")
    pair.pump()
    return pair.ends[side]


@BOTH_SIDES
def test_an_idle_connection_is_small(side: Side) -> None:
    """With one session and one link it takes 8 + 3 KiB at most, and each further link 3 KiB."""
    assert cost(lambda: idle(side, 0)) <= CONNECTION_OCTETS
    with_one = cost(lambda: idle(side, 1))
    assert with_one <= CONNECTION_OCTETS + LINK_OCTETS
    assert (cost(lambda: idle(side, 21), 20) - with_one) / 20 <= LINK_OCTETS


@BOTH_SIDES
def test_a_used_connection_is_small_again(side: Side) -> None:
    """No octets of what was read or written stay alive once all is settled."""

    def used() -> object:
        pair = pair_of()
        sender = pair.session().open_sender("q")
        pair.pump()
        for _ in range(3):
            sender.send(Message(bytes(300_000)))
            pair.pump()
        assert not sender.unsettled
        return pair.ends[side]

    assert cost(used, 20) <= CONNECTION_OCTETS + LINK_OCTETS + 2048


class Receiving:
    """A server with one link that takes everything, and what its client sends."""

    def __init__(self, credit: int) -> None:
        self.pair = pair_of(Accepting(deliveries=False, credit=credit))
        self.sender = self.pair.session().open_sender("q", snd_settle_mode=1)
        self.pair.pump()
        self.end = self.pair.server

    def octets(self, count: int, size: int) -> bytes:
        """The frames of `count` settled messages with `size` octets of data."""
        message = Message(bytes(size)).encode()
        for _ in range(count):
            self.sender.send(message)
        return self.pair.client.data_to_send(0.0)


def feed(end: Any, octets: bytes, chunk: int) -> None:
    """Let the octets arrive in pieces; take every event."""
    for at in range(0, len(octets), chunk):
        end.receive_data(octets[at : at + chunk], 0.0)
        while not isinstance(end.next_event(), Signal):
            pass


@pytest.mark.parametrize("chunk", [1, 7, 100, 1460, 65_536])
@pytest.mark.parametrize("size", [100, 5000, 120_000])
def test_octets_are_put_together_once(chunk: int, size: int) -> None:
    receiving = Receiving(10_000)
    octets = receiving.octets(max(2, 240_000 // size), size)
    buffer: Any = Counting()
    receiving.end._buffer = buffer
    feed(receiving.end, octets[: 240_000 if chunk >= 100 else 24_000], chunk)
    assert buffer.copied <= 2 * len(octets) + 10_000


@pytest.mark.parametrize("chunk", [1, 1000, 8_000_000])
def test_work_grows_with_the_octets(chunk: int) -> None:
    """Four times the octets are four times the calls, in whatever pieces they come."""

    def work(messages: int) -> int:
        receiving = Receiving(10_000)
        octets = receiving.octets(messages, 30)
        return calls_of(lambda: feed(receiving.end, octets, chunk))

    work(1)
    few, many = work(100), work(400)
    assert few > 100
    assert many <= 4.2 * few


def test_work_does_not_grow_with_what_is_unsettled() -> None:
    """Settling a few of many deliveries costs what the few cost."""

    def work(unsettled: int) -> int:
        pair = pair_of(Accepting(deliveries=False, credit=5000))
        sender = pair.session().open_sender("q")
        pair.pump()
        for _ in range(unsettled):
            sender.send(b"")
        pair.client.data_to_send(0.0)
        frames = [
            octets_of(Disposition(True, first, first + 9, settled=True, state=Accepted()))
            for first in range(10, 60, 10)
        ]
        return calls_of(lambda: feed(pair.client, b"".join(frames), 1000))

    work(100)
    assert work(1900) <= 1.2 * work(100)


def test_many_links_and_sessions_open_and_close_without_a_search() -> None:
    def links(count: int) -> Callable[[], object]:
        pair = pair_of()
        session = pair.session()

        def use() -> None:
            found = [session.open_sender("q") for _ in range(count)]
            pair.pump()
            for each in found:
                each.close()
            pair.pump()

        return use

    def sessions(count: int) -> Callable[[], object]:
        pair = pair_of()

        def use() -> None:
            found = [pair.client.open_session() for _ in range(count)]
            pair.pump()
            for each in found:
                each.close()
            pair.pump()

        return use

    for make in (links, sessions):
        calls_of(make(10))
        few, many = calls_of(make(50)), calls_of(make(200))
        assert many <= 4.2 * few


def test_a_message_in_parts_is_held_once() -> None:
    """Frames of 1 KiB of a message of 1 MB: no more than its octets twice, once in parts and once joined."""
    pair = Pair(
        client=client_config(), server=server_config(max_frame_size=1024), applications={}
    ).open()
    sender = pair.session().open_sender("q", snd_settle_mode=1)
    pair.pump()
    message = Message(bytes(1_000_000)).encode()
    sender.send(message)
    frames = pair.client.data_to_send(0.0)
    tracemalloc.start()
    try:
        feed(pair.server, frames, 65_536)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 3_000_000
