"""Memory: what an idle connection and a channel, session or link cost, that buffers give back, and that work grows with
the octets only."""

# pyright: reportPrivateUsage=false
import gc
import sys
import tracemalloc
from collections import deque
from collections.abc import Callable
from functools import partial
from types import FrameType
from typing import Any, Final, Protocol

import pytest

from amqp_sansio import AMQP_0_8, AMQP_0_9_1, Limits, Side, Signal, Version
from amqp_sansio._core.send_buffer import SendBuffer
from amqp_sansio._ground.receive_buffer import ReceiveBuffer
from amqp_sansio.amqp_0_10 import DeliveryProperties, MessageReceived
from amqp_sansio.amqp_0_10.codec.record import encode_headers
from amqp_sansio.amqp_0_10.spec import NONE, MessageSubscribe
from amqp_sansio.amqp_1_0 import Accepted, Message
from amqp_sansio.amqp_1_0.spec import Begin, Disposition
from tests.kit import facing_0_10, facing_1_0, facing_classic, pair_0_10, pair_1_0, pair_classic
from tests.kit.applications import Accepting
from tests.kit.facing import BOTH_SIDES, CLIENT, SERVER
from tests.kit.facing_classic import BOTH_VERSIONS
from tests.kit.octets_0_10 import completed, frame, segment, transfer
from tests.kit.octets_1_0 import octets_of
from tests.kit.octets_classic import body, header
from tools.steps import peak_of, uncollected

Work = Callable[[], object]


def cost(make: Callable[[], object], count: int = 10) -> float:
    """Octets that one of `count` objects takes."""
    make()
    gc.collect()
    # Only whole collections empty the interpreter's free lists; what other tests hold is left out of the next one.
    gc.freeze()
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        kept = [make() for _ in range(count)]
        gc.collect()
        after, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    return (after - before) / len(kept)


def calls_of(work: Work) -> int:
    """How many functions were called, of Python and of C."""
    count = 0

    def seen(frame: FrameType, event: str, argument: object) -> None:
        nonlocal count
        if event in ("call", "c_call"):
            count += 1

    with uncollected():
        sys.setprofile(seen)
        try:
            work()
        finally:
            sys.setprofile(None)
    return count


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


def feed(end: Any, octets: bytes, chunk: int, application: Callable[[Any, Any], object] | None = None) -> None:
    """Let octets arrive in chunks, and take all events."""
    for at in range(0, len(octets), chunk):
        end.receive_data(octets[at : at + chunk], 0.0)
        while not isinstance(event := end.next_event(), Signal):
            if application is not None:
                application(end, event)
        end.data_to_send(0.0)


class Uses(Protocol):
    """How a version's connections are used here."""

    connection: int
    """Octets that an idle connection may take."""
    child: int
    """Octets that each idle channel, session or link on it may take."""

    def idle(self, side: Side, children: int) -> object:
        """One end of an open connection with so many channels, sessions or links."""
        ...

    def used(self, side: Side) -> object:
        """One end of an open connection over which large messages went."""
        ...

    def receiver(self) -> tuple[Any, Callable[[Any, Any], object] | None]:
        """An end that gets messages, and the application that hears of them."""
        ...

    def messages(self, count: int, size: int) -> bytes:
        """So many messages for `receiver`, each with a body of this size."""
        ...

    def replace_buffer(self, end: Any, buffer: Any) -> None:
        """Let an end keep the octets that arrive in `buffer`."""
        ...


class Classic:
    """Connections of 0-8 and 0-9-1, with channels."""

    connection, child = 4096, 1536
    config: Final[dict[str, Any]] = {"client": pair_classic.client_config(), "server": pair_classic.server_config()}

    def __init__(self, version: Version) -> None:
        self.version = version

    def open(self) -> pair_classic.Pair:
        """Both ends of an open connection."""
        return pair_classic.Pair(self.version, **self.config).open()

    def idle(self, side: Side, children: int) -> object:
        ends = self.open()
        for _ in range(children):
            ends.client.open_channel()
        ends.pump()
        return ends.ends[side]

    def used(self, side: Side) -> object:
        ends = self.open()
        channel = ends.channel()
        for _ in range(3):
            channel.publish(bytes(300_000), routing_key="r")
            ends.pump()
        return ends.ends[side]

    def receiver(self) -> tuple[Any, None]:
        return facing_classic.Facing.opened(self.version, SERVER).end, None

    def messages(self, count: int, size: int) -> bytes:
        return facing_classic.Facing.opened(self.version, SERVER).message("basic.publish", bytes(size)) * count

    def replace_buffer(self, end: Any, buffer: Any) -> None:
        end._buffer = buffer
        end._fast_path._buffer = buffer


class Uses_0_10:
    """Connections of 0-10, with sessions."""

    connection, child = 8192, 8192
    config: Final[dict[str, Any]] = {"client": pair_0_10.client_config(), "server": pair_0_10.server_config()}
    header = encode_headers((DeliveryProperties(routing_key="key"),))

    def idle(self, side: Side, children: int) -> object:
        ends = pair_0_10.Pair(**self.config).open()
        for number in range(children):
            ends.sessions(f"s{number}")
        return ends.ends[side]

    def used(self, side: Side) -> object:
        """Nothing is kept for a replay either."""
        ends = pair_0_10.Pair(**self.config).open()
        session, other = ends.sessions()
        session.call(MessageSubscribe("q", "d", NONE, 0))
        session.top_up("d", 10)
        ends.pump()
        for _ in range(3):
            session.transfer("", bytes(300_000), accept_mode=NONE)
            other.transfer("d", bytes(300_000), accept_mode=NONE)
            ends.pump()
        for each in (session, other):
            for number in each.incomplete:
                each.complete(number)
        for each in (session, other):
            each.flush()
        ends.pump()
        assert not session.pending
        assert not other.pending
        return ends.ends[side]

    def receiver(self) -> tuple[Any, Callable[[Any, Any], object]]:
        attached = facing_0_10.Facing.attached(SERVER)

        def complete(end: Any, event: object) -> None:
            if isinstance(event, MessageReceived):
                attached.session.complete(event.command_id)

        return attached.end, complete

    def messages(self, count: int, size: int) -> bytes:
        return transfer("x", bytes(size), accept_mode=1, header=self.header) * count

    def replace_buffer(self, end: Any, buffer: Any) -> None:
        end._buffer = buffer
        end._transport.buffer = buffer
        end._frames._buffer = buffer


class Uses_1_0:
    """Connections of 1.0, with a session and links: senders, or senders and receivers in turn."""

    connection, child = 8192, 3072
    config: Final[dict[str, Any]] = {"client": pair_1_0.client_config(), "server": pair_1_0.server_config()}

    def __init__(self, *, receivers: bool = True) -> None:
        self.receivers = receivers

    def idle(self, side: Side, children: int) -> object:
        ends = pair_1_0.Pair(**self.config).open()
        session = ends.session()
        for number in range(children):
            if self.receivers and number % 2 == 0:
                session.open_receiver("q", credit=10)
            else:
                session.open_sender("q")
        ends.pump()
        return ends.ends[side]

    def used(self, side: Side) -> object:
        ends = pair_1_0.Pair(**self.config).open()
        sender = ends.session().open_sender("q")
        ends.pump()
        for _ in range(3):
            sender.send(Message(bytes(300_000)))
            ends.pump()
        assert not sender.unsettled
        return ends.ends[side]

    def receiver(self) -> tuple[Any, Callable[[Any, Any], object]]:
        """It grants credit as it goes."""
        ends = pair_1_0.Pair(**self.config).open()
        sender = ends.session().open_sender("q")
        ends.pump()
        assert sender.credit
        return ends.server, Accepting()

    def messages(self, count: int, size: int) -> bytes:
        """Deliveries that their sender has settled, as a client sends them."""
        ends, sender = _sent_1_0(0, credit=10_000, snd_settle_mode=1)
        message = Message(bytes(size)).encode()
        for _ in range(count):
            sender.send(message)
        return ends.client.data_to_send(0.0)

    def replace_buffer(self, end: Any, buffer: Any) -> None:
        end._buffer = buffer


USES: Final[dict[str, Uses]] = {
    "0-8": Classic(AMQP_0_8),
    "0-9-1": Classic(AMQP_0_9_1),
    "0-10": Uses_0_10(),
    "1.0": Uses_1_0(),
}
OF_VERSIONS = pytest.mark.parametrize("uses", [pytest.param(uses, id=version) for version, uses in USES.items()])


@BOTH_SIDES
@pytest.mark.parametrize("version", [*USES, "1.0, senders only"])
def test_an_idle_connection_is_small(version: str, side: Side) -> None:
    uses = USES[version] if version in USES else Uses_1_0(receivers=False)
    alone = cost(lambda: uses.idle(side, 0))
    assert alone <= uses.connection
    with_one = cost(lambda: uses.idle(side, 1))
    assert with_one <= uses.connection + uses.child
    with_many = cost(lambda: uses.idle(side, 21), 5)
    assert (with_many - alone) / 21 <= uses.child
    assert (with_many - with_one) / 20 <= uses.child


@BOTH_SIDES
@OF_VERSIONS
def test_a_used_connection_is_small_again(uses: Uses, side: Side) -> None:
    """No octets of what was read or written stay alive."""
    assert cost(lambda: uses.used(side), 5) <= uses.connection + uses.child + 2048


@OF_VERSIONS
@pytest.mark.parametrize("chunk", [1, 7, 100, 1460, 65_536])
@pytest.mark.parametrize("size", [100, 5000, 60_000, 120_000])
def test_octets_are_put_together_once(uses: Uses, chunk: int, size: int) -> None:
    if isinstance(uses, Uses_0_10):
        size = min(size, 65_000)  # its messages come in one frame each
    end, application = uses.receiver()
    buffer: Any = Counting()
    uses.replace_buffer(end, buffer)
    octets = uses.messages(max(2, 240_000 // size), size)[: 240_000 if chunk >= 100 else 24_000]
    feed(end, octets, chunk, application)
    assert end.is_open
    assert buffer.copied <= 2 * len(octets) + 10_000


@OF_VERSIONS
@pytest.mark.parametrize("chunk", [1, 1000, 8_000_000])
def test_work_grows_with_the_octets(uses: Uses, chunk: int, at_large: bool) -> None:
    """Four times the octets are four times the calls, in whatever pieces they come."""

    def work(messages: int) -> int:
        end, application = uses.receiver()
        octets = uses.messages(messages, 30)
        calls = calls_of(lambda: feed(end, octets, chunk, application))
        assert end.is_open
        return calls

    work(1)
    count = 100 if at_large else 40
    few, many = work(count), work(4 * count)
    assert few > 100
    assert many <= 4.2 * few


# Some of many.


def _acknowledging(version: Version, outstanding: int) -> Work:
    end = facing_classic.Facing.opened(version, SERVER)
    end.feed(end.method("basic.consume", queue="q", consumer_tag="c", no_wait=True))
    for _ in range(outstanding):
        end.channel.deliver(b"", consumer_tag="c")
    end.settle()
    acks = [end.method("basic.ack", delivery_tag=tag, multiple=True) for tag in range(10, 60, 10)]
    return lambda: end.feed(*acks)


def _completing(outstanding: int) -> Work:
    server = pair_0_10.server_config(limits=Limits(requests=10_000))
    ends = pair_0_10.Pair(client=Uses_0_10.config["client"], server=server).open()
    session, other = ends.sessions()
    for _ in range(outstanding):
        session.transfer("", b"x")
    ends.pump()
    for number in range(10, 60, 10):
        other.complete(number)
    session.flush()
    return ends.pump


def _sent_1_0(outstanding: int, *, credit: int = 5000, **modes: Any) -> tuple[pair_1_0.Pair, Any]:
    """A pair and a sender that has sent so much, which nobody settled yet."""
    ends = pair_1_0.Pair(
        client=pair_1_0.client_config(incoming_window=10_000),
        server=pair_1_0.server_config(incoming_window=10_000),
        applications={SERVER: Accepting(deliveries=False, credit=credit)},
    ).open()
    sender = ends.session().open_sender("q", **modes)
    ends.pump()
    for _ in range(outstanding):
        sender.send(b"")
    return ends, sender


def _accepting(outstanding: int) -> Work:
    ends, sender = _sent_1_0(outstanding)
    ends.pump()
    ends.peer(sender).accept(*range(10, 60, 10))
    return ends.pump


def _hearing_of_ranges(outstanding: int) -> Work:
    ends, _ = _sent_1_0(outstanding)
    ends.client.data_to_send(0.0)
    ranges = [Disposition(True, first, first + 9, True, Accepted()) for first in range(10, 60, 10)]
    octets = b"".join([octets_of(each) for each in ranges])
    return lambda: feed(ends.client, octets, 1000)


@pytest.mark.parametrize(
    "settling",
    [
        pytest.param(partial(_acknowledging, AMQP_0_8), id="0-8"),
        pytest.param(partial(_acknowledging, AMQP_0_9_1), id="0-9-1"),
        pytest.param(_completing, id="0-10"),
        pytest.param(_accepting, id="1.0"),
        pytest.param(_hearing_of_ranges, id="1.0, the sender's side"),
    ],
)
def test_work_does_not_grow_with_what_is_open(settling: Callable[[int], Work]) -> None:
    """Settling a few of many deliveries costs what the few cost."""
    calls_of(settling(100))
    assert calls_of(settling(1900)) <= 1.2 * calls_of(settling(100))


def _channels(version: Version) -> tuple[Any, Callable[[], Any]]:
    ends = Classic(version).open()
    return ends, ends.client.open_channel


def _sessions_1_0() -> tuple[Any, Callable[[], Any]]:
    ends = pair_1_0.Pair(**Uses_1_0.config).open()
    return ends, ends.client.open_session


def _links_1_0() -> tuple[Any, Callable[[], Any]]:
    ends = pair_1_0.Pair(client=Uses_1_0.config["client"], server=pair_1_0.server_config(incoming_window=10_000)).open()
    session = ends.session()
    return ends, lambda: session.open_sender("q")


@pytest.mark.parametrize(
    ("begin", "few"),
    [
        pytest.param(lambda: _channels(AMQP_0_8), 200, id="channels of 0-8"),
        pytest.param(lambda: _channels(AMQP_0_9_1), 200, id="channels of 0-9-1"),
        pytest.param(_sessions_1_0, 200, id="sessions of 1.0"),
        pytest.param(_links_1_0, 50, id="links of 1.0"),
    ],
)
def test_many_open_and_close_without_a_search(
    begin: Callable[[], tuple[Any, Callable[[], Any]]], few: int, at_large: bool
) -> None:
    def work(count: int) -> int:
        ends, make = begin()

        def use() -> None:
            found = [make() for _ in range(count)]
            ends.pump()
            for each in found:
                each.close()
            ends.pump()

        return calls_of(use)

    work(10)
    count = few if at_large else few // 4
    assert work(4 * count) <= 4.2 * work(count)


def test_many_returns_cost_what_they_are() -> None:
    """Every one of many unroutable publishes comes back."""

    def work(count: int) -> int:
        end = facing_classic.Facing.opened(AMQP_0_9_1, CLIENT)
        end.channel.call(end.make("confirm.select", no_wait=True))
        for number in range(count):
            end.channel.publish(b"x", routing_key=f"key-{number}", mandatory=True)
        end.settle()
        returns = [end.message("basic.return", b"x", routing_key=f"key-{number}") for number in range(count)]
        return calls_of(lambda: end.feed(*returns))

    work(10)
    assert work(800) <= 4.2 * work(200)


def test_completions_that_are_told_in_order_cost_the_same_all_the_time() -> None:
    """Also to an end of 0-10 that keeps many commands for a replay."""

    def work(count: int) -> int:
        end = facing_0_10.Facing.attached(SERVER)
        end.feed(transfer("", b"x"))

        def use() -> None:
            for number in range(count):
                end.session.sync()
                end.settle()
                end.feed(completed((0, number)))

        return calls_of(use)

    work(1)
    assert work(800) <= 4.2 * work(200)


# Buffers.


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
    end = facing_classic.Facing.opened(version, SERVER, stream_above=10_000)
    end.feed(end.method("basic.publish"), header(1, 60, 3_000_000))

    def stream() -> None:
        for _ in range(30):
            end.feed(body(1, bytes(100_000)))
            end.events.clear()

    assert peak_of(stream) < 1_000_000


def test_small_pieces_of_a_message_cost_what_is_in_them() -> None:
    """Each frame of 0-10 holds two octets; an object for each would be twenty times as large."""
    end = facing_0_10.Facing.attached(SERVER)
    octets = segment(0x0401, b"\x01x", b"\x01", b"\x00")
    end.feed(frame(octets, 1, flags=0x0B))
    end.feed(frame(b"ab", 3, flags=0x06))
    piece = frame(b"cd", 3, flags=0x04)
    assert peak_of(lambda: [end.feed(piece * 1000) for _ in range(20)]) <= 3 * 40_000
    assert end.end._transport.bodies >= 40_000


def test_a_large_frame_in_small_pieces_is_joined_once() -> None:
    """Its pieces, the frame of 1.0, its record and the map in it; never one more for each piece."""
    end = facing_1_0.Facing.opened(SERVER, pair_1_0.server_config(max_frame_size=2_000_000))
    begin = Begin(next_outgoing_id=0, incoming_window=1, outgoing_window=1)
    octets = octets_of(begin.replace(properties={"long": bytes(1_000_000)}))
    pieces = [octets[at : at + 10_000] for at in range(0, len(octets), 10_000)]
    peak = peak_of(lambda: [end.feed(piece) for piece in pieces])
    assert end.events
    assert peak < 5 * len(octets)


def test_a_message_in_parts_is_held_once() -> None:
    """Frames of 1 KiB of a message of 1 MB: no more than its octets twice, once in parts and once joined."""
    server = pair_1_0.server_config(max_frame_size=1024)
    ends = pair_1_0.Pair(client=pair_1_0.client_config(), server=server, applications={}).open()
    sender = ends.session().open_sender("q", snd_settle_mode=1)
    ends.pump()
    sender.send(Message(bytes(1_000_000)).encode())
    frames = ends.client.data_to_send(0.0)
    assert peak_of(lambda: feed(ends.server, frames, 65_536)) < 3_000_000
