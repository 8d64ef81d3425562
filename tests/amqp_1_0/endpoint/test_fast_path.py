"""Fast path: with the shortcuts and without them, the same octets and calls have the same events, octets and state."""

# pyright: reportPrivateUsage=false
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amqp_sansio import Limits, Signal
from amqp_sansio.amqp_1_0 import Accepted, Message, Modified, Properties, Released
from amqp_sansio.amqp_1_0.codec.violation import Violation
from amqp_sansio.amqp_1_0.endpoint.events import Delivery
from amqp_sansio.amqp_1_0.endpoint.fastpath import FastPath
from amqp_sansio.amqp_1_0.endpoint.receiver import Receiver
from amqp_sansio.amqp_1_0.endpoint.sender import Sender
from amqp_sansio.amqp_1_0.spec import Disposition, Received, Transfer
from amqp_sansio.endpoint import Side
from amqp_sansio.errors import AmqpError
from tests.kit.applications import Accepting
from tests.kit.octets_1_0 import octets_of
from tests.kit.pair import SIDES, pieces, structure, told
from tests.kit.pair_1_0 import Pair, client_config, server_config

BASES = (0, 100, 255, 70_000, 0xFFFF_FFFE)
"""Where delivery-ids begin: every length of their octets, and where they wrap around."""
Step = tuple[str, int, int]
NAMES = (
    *("send", "send", "send many", "plain", "settled", "tagged", "long", "parts", "bare", "abort"),
    *("accept", "accept", "accept all", "foreign", "reject", "modify", "received", "settle", "update"),
    *("flow", "drain", "drained", "detach", "close", "reopen", "end", "resume"),
)
STEPS = st.lists(st.tuples(st.sampled_from(NAMES), st.integers(0, 3), st.integers(0, 9)), max_size=30)
MODES = st.tuples(st.integers(0, 2), st.integers(0, 1))
SIZES = st.lists(st.integers(1, 40) | st.integers(1, 5000), min_size=1, max_size=8)
LIMITS = Limits(unsettled=12, backlog_high=3000, backlog_low=1000, bodies=2000)


def _nothing(*arguments: object) -> None:
    """What the shortcuts say of everything that isn't the common case."""


@contextmanager
def without_shortcuts() -> Generator[None]:
    """Switch them off."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(FastPath, "event", _nothing)
        patch.setattr(Sender, "_send_fast", _nothing)
        patch.setattr(Receiver, "_accept_fast", _nothing)
        yield


class World:
    """Two ends with two links each way, and an application at each end that only does what it's told to."""

    def __init__(
        self, modes: tuple[int, int], base: int, sizes: list[int] | None, *, window: int = 20, validate: bool = True
    ) -> None:
        self.modes = modes
        applications: Any = {side: Accepting(deliveries=False, credit=5) for side in SIDES}
        self.pair = Pair(
            client=client_config(max_frame_size=512, limits=LIMITS, validate_content=validate),
            server=server_config(max_frame_size=700, limits=LIMITS, incoming_window=window, validate_content=validate),
            applications=applications,
            chunks=pieces(*sizes) if sizes else None,
        ).open()
        self.session = self.pair.session()
        other: Any = self.pair.server.session(self.session.channel)
        for session in (self.session, other):
            session.next_delivery_id = base
        self.links: list[Any] = []
        self.raised: list[str] = []
        for number in range(4):
            self.open(number)

    def open(self, number: int) -> None:
        """Link `number` anew: two that the client sends on, two that it receives on."""
        snd, rcv = self.modes if number % 2 else (2, 0)
        name = f"link {number} {len(self.links)}"
        options: Any = {"name": name, "snd_settle_mode": snd, "rcv_settle_mode": rcv}
        if number < 2:
            link = self.session.open_sender("q", auto_settle=not number, **options)
        else:
            link = self.session.open_receiver("q", credit=5, **options)
        if number < len(self.links):
            self.links[number] = link
        else:
            self.links.append(link)
        self.pair.pump()

    def ends(self, number: int) -> tuple[Any, Any]:
        """The sender and the receiver of a link."""
        mine = self.links[number]
        theirs = self.pair.peer(mine)
        return (theirs, mine) if mine.ROLE else (mine, theirs)

    def apply(self, step: Step) -> None:
        """Do one thing, whatever comes of it; then mostly let both sides come to rest."""
        try:
            self._do(*step)
        except (AmqpError, Violation, ValueError, AssertionError) as error:
            self.raised.append(f"{type(error).__name__} {error}")
        if step[2] % 3:
            self.pair.pump()

    def _do(self, name: str, number: int, value: int) -> None:
        if name == "reopen":
            self.links[number].close()
            self.pair.pump()
            self.open(number)
            return
        if name == "end":
            if value == 0:
                self.session.close()
            return
        sender, receiver = self.ends(number)
        match name:
            case "send":
                sender.send(self.message(40 * value))
            case "send many":
                for _ in range(value):
                    sender.send(self.message(value))
            case "plain":
                sender.send(b"\x00Sw\x45" if value else b"no message at all")
            case "settled":
                sender.send(self.message(value), settled=True)
            case "tagged":
                sender.send(self.message(3), delivery_tag=bytes(4 * value))
            case "long":
                sender.send(self.message(300 * value))
            case "parts":
                sender.begin(self.message(10).encode()[:4])
                sender.continue_delivery(self.message(10).encode()[4:], more=value == 0)
            case "abort":
                sender.begin(b"")
                sender.abort()
            case "bare":
                tag, delivery_id = bytes([value]), sender.session.next_delivery_id
                sender.session.next_delivery_id = (delivery_id + 1) & 0xFFFF_FFFF
                frame = Transfer(sender.handle, delivery_id, tag, value // 2, batchable=value > 5)
                transport = sender.session.transport
                transport.model.transfer(transport.side, sender.session.channel, frame, 4)
                transport.queue(sender.session.channel, frame.encode(), b"\x00Sw\x45")
            case "flow":
                receiver.flow(value)
            case "drain":
                receiver.drain()
            case "drained":
                sender.drained()
            case "detach":
                self.links[number].detach()
            case "close":
                self.links[number].close()
            case "resume":
                self.resume(number)
            case "settle" | "update":
                self.from_sender(name, sender, value)
            case _:
                self.from_receiver(name, receiver, value)

    def message(self, size: int) -> Message:
        """A message with properties."""
        return Message(bytes(size), properties=Properties(subject="s"))

    def resume(self, number: int) -> None:
        """Suspend a link and resume it."""
        link = self.links[number]
        link.detach()
        self.pair.pump()
        options: Any = {"state": link.saved_state()}
        if link.ROLE:
            self.links[number] = self.session.open_receiver("q", credit=5, **options)
        else:
            self.links[number] = self.session.open_sender("q", **options)

    def from_sender(self, name: str, sender: Any, value: int) -> None:
        """What a sender says of what it has sent."""
        tags = list(sender.unsettled)
        tag = tags[value % len(tags)] if tags else b"none"
        if name == "settle":
            sender.settle(tag)
        else:
            sender.update(tag, Modified(True))

    def from_receiver(self, name: str, receiver: Any, value: int) -> None:
        """What a receiver says of what it got."""
        side = receiver.session.connection.role
        found = [each for each in self.pair.events[side] if isinstance(each, Delivery) and each.link == receiver.handle]
        one = found[-1 - value % len(found)] if found else 77
        match name:
            case "accept":
                receiver.accept(one if value % 2 or isinstance(one, int) else one.delivery_id)
            case "accept all":
                receiver.accept(*found[-value:])
            case "foreign":
                session = receiver.session
                others = [each for each in session.links if each.ROLE and each is not receiver]
                if others:
                    others[0].accept(one)
            case "reject":
                receiver.reject(one)
            case "modify":
                receiver.modify(one, delivery_failed=True)
            case _:
                receiver.update([one], Received(0, value))

    def trace(self) -> Iterator[object]:
        """What is to be seen from outside, and both ends' state."""
        yield self.raised
        for side in SIDES:
            yield [told(event) for event in self.pair.events[side]]
            yield bytes(self.pair.sent[side])
            yield structure(self.pair.ends[side])


@given(MODES, st.sampled_from(BASES), STEPS, SIZES | st.none())
def test_the_shortcuts_make_no_difference(
    modes: tuple[int, int], base: int, steps: list[Step], sizes: list[int] | None
) -> None:
    fast_one = World(modes, base, sizes)
    with without_shortcuts():
        slow_one = World(modes, base, sizes)
    for step in steps:
        fast_one.apply(step)
        with without_shortcuts():
            slow_one.apply(step)
        assert slow_one.raised == fast_one.raised
    assert list(slow_one.trace()) == list(fast_one.trace())


SCRIPTS: dict[str, list[Step]] = {
    "a drain that ends with the last credit": [("flow", 0, 1), ("drain", 0, 0), ("send", 0, 1)],
    "a drain that goes on": [("flow", 0, 5), ("drain", 0, 0), ("send", 0, 1), ("drained", 0, 1)],
    "all credit": [("flow", 0, 2), ("send many", 0, 3), ("accept all", 0, 8), ("send", 0, 1)],
    "as many unsettled as there may be": [
        *[("flow", 0, 9), ("send many", 0, 8), ("flow", 0, 9), ("send many", 0, 8)],
        *[("accept all", 0, 4), ("send", 0, 1)],
    ],
    "a tag twice": [("tagged", 0, 1), ("send", 0, 1), ("accept all", 0, 9), ("send", 0, 1)],
    "a state before the outcome": [("send", 0, 1), ("received", 0, 1), ("accept", 0, 1)],
    "the sender's word before the outcome": [("send", 0, 1), ("update", 0, 1), ("accept", 0, 1)],
    "the outcome twice": [("send", 0, 1), ("accept", 0, 0), ("accept", 0, 0), ("accept", 0, 1)],
    "a link that is left": [("send", 0, 0), ("detach", 0, 0), ("send", 0, 1), ("accept", 0, 1)],
    "a link that is resumed": [("send", 0, 1), ("resume", 0, 1), ("send", 0, 1), ("accept all", 0, 9)],
    "a session that ends": [("send", 0, 0), ("end", 0, 0), ("send", 0, 0), ("accept", 0, 1)],
    "a message that is begun": [("parts", 0, 0), ("send", 0, 1), ("accept", 0, 1)],
    "another link's delivery": [("send", 0, 1), ("foreign", 0, 1), ("accept", 0, 1)],
    "all of the window": [("flow", 0, 8), ("send many", 0, 9), ("flow", 0, 8), ("send", 0, 1)],
    "all octets that are kept": [("flow", 0, 8), *[("send", 0, 9)] * 4, ("send", 0, 7)],
}


def assert_no_difference_at_the_bounds(base: int, steps: list[Step]) -> None:
    """Take the steps on links of all modes, with the shortcuts and without them."""
    for modes in ((2, 0), (0, 1), (1, 0)):
        fast_one = World(modes, base, None, window=6)
        with without_shortcuts():
            slow_one = World(modes, base, None, window=6)
        for step in steps:
            fast_one.apply(step)
            # The second link has the modes of the test.
            fast_one.apply((step[0], step[1] ^ 1, step[2]))
            with without_shortcuts():
                slow_one.apply(step)
                slow_one.apply((step[0], step[1] ^ 1, step[2]))
            assert list(slow_one.trace()) == list(fast_one.trace())


@pytest.mark.parametrize(
    ("base", "steps"),
    [pytest.param(BASES[at % len(BASES)], steps, id=name) for at, (name, steps) in enumerate(SCRIPTS.items())],
)
def test_the_shortcuts_make_no_difference_at_the_bounds(base: int, steps: list[Step]) -> None:
    assert_no_difference_at_the_bounds(base, steps)


@cache
def recorded(receiver: Side) -> tuple[bytes, int]:
    """Octets that `receiver` gets of messages and outcomes, and how many were sent before."""
    world = World((2, 0), 250, None)
    before = len(world.pair.sent[receiver.other])
    for value in range(1, 10):
        for number in range(4):
            world.apply(("send", number, value))
            world.apply(("accept", number, 1))
            world.apply(("flow", number, 5))
    return bytes(world.pair.sent[receiver.other]), before


@pytest.mark.parametrize("side", SIDES, ids=lambda side: side.value)
@given(sizes=SIZES, at=st.integers(0, 3000), octet=st.integers(0, 255))
def test_damaged_frames_make_no_difference(side: Side, sizes: list[int], at: int, octet: int) -> None:
    octets, before = recorded(side)
    damaged = bytearray(octets[before:])
    damaged[at % len(damaged)] = octet
    found = _fed(side, bytes(damaged), sizes)
    with without_shortcuts():
        assert _fed(side, bytes(damaged), sizes) == found


def _fed(side: Side, octets: bytes, sizes: list[int]) -> list[object]:
    """The events and states of an end that waits for messages, has sent some, and gets these octets."""
    world = World((2, 0), 250, None)
    end = world.pair.ends[side]
    for number in range(4):
        sender, receiver = world.ends(number)
        if sender.session.connection is end:
            for _ in range(5):
                sender.send(b"\x00Sw\x45")
        else:
            receiver.flow(50)
    found: list[object] = [end.data_to_send(0.0)]
    for piece in pieces(*sizes, 3000)(octets):
        if not end.receive_budget:
            break
        end.receive_data(piece, 0.0)
        while not isinstance(event := end.next_event(), Signal):
            found.append(told(event))
    return [*found, end.data_to_send(0.0), structure(end)]


def changed(plain: Transfer, changes: dict[str, Any]) -> Transfer:
    """A transfer with something in it that isn't plain."""
    return plain.replace(**changes)


IDS = st.sampled_from((250, 251, 252, 253, 254, 255, 256, 300))
TAGS = st.sampled_from([number.to_bytes(4, "big") for number in range(6)] + [b"", bytes(32)])
PLAIN = st.builds(
    Transfer,
    handle=st.sampled_from((0, 0, 0, 1)),
    delivery_id=IDS,
    delivery_tag=TAGS,
    message_format=st.just(0),
    settled=st.sampled_from((None, None, False, True)),
    batchable=st.booleans(),
)
CHANGES: st.SearchStrategy[dict[str, Any]] = st.sampled_from(
    [
        *[{}] * 14,
        {"handle": 2},
        {"handle": 9},
        {"delivery_id": None},
        {"delivery_tag": None},
        {"message_format": 1},
        {"message_format": None},
        {"more": True},
        {"more": True},
        {"rcv_settle_mode": 0},
        {"rcv_settle_mode": 1},
        {"state": Accepted()},
        {"resume": True},
        {"aborted": True},
    ]
)
TRANSFERS = st.builds(changed, PLAIN, CHANGES)
OUTCOMES = st.sampled_from((*[Accepted()] * 5, Released(), Received(0, 1), None))
PAYLOADS = st.sampled_from((*[b"\x00Sw\x45"] * 12, b"", b"no message", bytes(600)))
DISPOSITIONS = st.builds(
    Disposition,
    role=st.sampled_from((*[True] * 9, False)),
    first=st.sampled_from((250, 250, 251, 252)),
    last=IDS | st.none() | st.none(),
    settled=st.sampled_from((True, True, True, False)),
    state=OUTCOMES,
    batchable=st.booleans(),
)
ANSWERS = st.tuples(
    st.sampled_from(("accept", "accept all", "received", "drain", "flow", "update", "close", "send")),
    st.integers(0, 3),
    st.integers(0, 9),
)
FRAMES = st.lists(st.tuples(TRANSFERS | DISPOSITIONS, PAYLOADS) | ANSWERS, max_size=12)


@pytest.mark.parametrize("side", SIDES, ids=lambda side: side.value)
@given(modes=MODES, frames=FRAMES, sizes=SIZES | st.none())
def test_any_frames_make_no_difference(
    side: Side, modes: tuple[int, int], frames: list[Any], sizes: list[int] | None
) -> None:
    found = _taken(side, modes, frames, sizes)
    with without_shortcuts():
        assert _taken(side, modes, frames, sizes) == found


def _taken(
    side: Side, modes: tuple[int, int], frames: list[Any], sizes: list[int] | None, **options: Any
) -> list[object]:
    """What an end makes of frames that its peer wouldn't send, and of the commands between them."""
    world = World(modes, 250, sizes, **options)
    end = world.pair.ends[side]
    for number in range(4):
        sender, receiver = world.ends(number)
        if sender.session.connection is end:
            for _ in range(2):
                sender.send(b"\x00Sw\x45")
        else:
            receiver.flow(3)
    found: list[object] = [end.data_to_send(0.0)]
    for frame in frames:
        if len(frame) == 3:
            world.apply((*frame[:2], 3 * frame[2]))
        else:
            record, payload = frame
            more = b"" if isinstance(record, Disposition) else payload
            for piece in pieces(*sizes or [3000])(octets_of(record, world.session.channel, more)):
                end.receive_data(piece, 0.0)
        world.pair.drain(side)
    found += [told(event) for event in world.pair.events[side]]
    return [*found, world.raised, end.data_to_send(0.0), structure(end)]


def several(count: int, **changes: Any) -> list[Any]:
    """Plain transfers of link 0, one after the other."""
    return [(Transfer(0, 250 + n, bytes([n]), 0).replace(**changes), b"\x00Sw\x45") for n in range(count)]


FAULTS: dict[str, tuple[list[Any], str]] = {
    "beyond the credit": (several(20, settled=True), "transfer-limit-exceeded"),
    "too many unsettled": ([("flow", 0, 9), *several(13)], "resource-limit-exceeded"),
    "an id twice": (several(2, delivery_id=250), "not-allowed"),
    "a tag twice": (several(2, delivery_tag=b"tag"), "not-allowed"),
    "a message within another": ([*several(1, more=True), *several(2)[1:]], "invalid-field"),
    "settled where nothing is": ([*several(1, handle=1, settled=True)], "not-allowed"),
}


@pytest.mark.parametrize(("frames", "condition"), FAULTS.values(), ids=FAULTS)
def test_faults_are_no_common_case(frames: list[Any], condition: str) -> None:
    found = _taken(Side.SERVER, (0, 0), frames, None)
    assert condition in str(found)
    with without_shortcuts():
        assert _taken(Side.SERVER, (0, 0), frames, None) == found


def test_nothing_is_sent_where_there_is_no_window() -> None:
    found = _taken(Side.SERVER, (2, 0), several(1), None, window=0)
    assert "window-violation" in str(found)
    with without_shortcuts():
        assert _taken(Side.SERVER, (2, 0), several(1), None, window=0) == found


def test_a_list_ends_where_it_says() -> None:
    """An octet of the payload that could be the message-format is none."""
    body = bytes.fromhex("005314c00903" + "43" + "43" + "a00400000000")
    frames = [(body, b"\x43\x00\x53\x77\x45")]
    found = _taken(Side.SERVER, (2, 0), frames, None, validate=False)
    # What is left out counts as 0, and the octet belongs to the payload.
    (delivery,) = [str(each) for each in found if str(each).startswith("Delivery(")]
    assert "message_format=0" in delivery
    assert "payload=b'C\\x00SwE'" in delivery
    with without_shortcuts():
        assert _taken(Side.SERVER, (2, 0), frames, None, validate=False) == found


SETTLEMENTS: dict[str, list[Any]] = {
    "of what isn't all sent": [("parts", 0, 0), (Disposition(True, 254, settled=True, state=Accepted()), b"")],
    "after another outcome": [
        (Disposition(True, 252, state=Released()), b""),
        (Disposition(True, 252, settled=True, state=Accepted()), b""),
    ],
    "of some that are settled": [
        (Disposition(True, 251, settled=True, state=Accepted()), b""),
        (Disposition(True, 250, 253, settled=True, state=Accepted()), b""),
    ],
}


@pytest.mark.parametrize("frames", SETTLEMENTS.values(), ids=SETTLEMENTS)
def test_settlement_makes_no_difference(frames: list[Any]) -> None:
    found = _taken(Side.CLIENT, (2, 0), frames, None)
    with without_shortcuts():
        assert _taken(Side.CLIENT, (2, 0), frames, None) == found
