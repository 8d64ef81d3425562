"""Gaps, garbage and beginnings in every version: offsets go on, no octet is lost silently, nothing is invented."""

from collections.abc import Callable
from typing import Any, Final, NamedTuple

import pytest

from amqp_sansio import AMQP_0_8, AMQP_0_9_1, AMQP_0_10, AMQP_1_0, Limits, Side, Version
from amqp_sansio.amqp_0_10.spec import ConnectionOpenOk
from amqp_sansio.amqp_1_0 import Message
from amqp_sansio.amqp_1_0.spec import SaslOutcome
from amqp_sansio.observer import Identified, Observed, Observer, Skipped
from tests.kit import talk_0_10, talk_1_0
from tests.kit.observing import CLIENT, Conversation, Talk, take, watch


class Sample(NamedTuple):
    """What a version's conversations are made of."""

    opened: Callable[[], Conversation]
    """A connection on which messages may go."""
    late: Callable[[], Conversation]
    """One that is seen from the middle."""
    message: Callable[[int, bytes], bytes]
    """The frames of a client's message: number, body."""
    garbage: bytes
    """Octets that are no frame, and begin none."""
    proof: bytes
    """A unit that only one side may send."""
    hardly: bytes
    """Octets that never prove the version."""


def _classic(version: Version) -> Sample:
    def publish(number: int, body: bytes) -> bytes:
        return Talk(version).publish(body, routing_key=f"key {number}")

    proof, hardly = Talk(version).deliver(1, b"z"), b"\x01\x02\x03\x08" * 250
    return Sample(
        lambda: Talk(version).login().channel().consumer(),
        lambda: Talk(version, late=True),
        publish,
        b"???",
        proof,
        hardly,
    )


def _transfer_0_10(number: int, body: bytes) -> bytes:
    return talk_0_10.transfer(f"d{number}", body)


def _transfer_1_0(number: int, body: bytes) -> bytes:
    return talk_1_0.transfer(number, Message(body))


SAMPLES: Final = {
    AMQP_0_8: _classic(AMQP_0_8),
    AMQP_0_9_1: _classic(AMQP_0_9_1),
    AMQP_0_10: Sample(
        lambda: talk_0_10.Talk010().open().session(),
        lambda: talk_0_10.Talk010(late=True),
        _transfer_0_10,
        b"???",
        talk_0_10.frames(ConnectionOpenOk()),
        b"\x0f\x00\x00\x40\x00\x00\x00\x00\x00\x00\x00\x07" * 100,
    ),
    AMQP_1_0: Sample(
        talk_1_0.opened,
        lambda: talk_1_0.Talk10(late=True),
        _transfer_1_0,
        b"\0\0\0\0????",
        talk_1_0.frame(SaslOutcome(0)),
        b"\0\0\0\x40\x02\0\0\0\0\x53\x14" * 100,
    ),
}
each_version: Final = pytest.mark.parametrize("version", SAMPLES, ids=lambda version: version.label)


def _bodies(talk: Conversation) -> list[Any]:
    return [unit.body for unit in talk.observed if unit.unit in ("content", "partial")]


def _skipped(talk: Conversation) -> list[tuple[Side, int, int, str]]:
    skipped = [event for event in talk.events if isinstance(event, Skipped)]
    return [(event.sender, event.offset, event.octets, event.reason) for event in skipped]


@each_version
def test_offsets_go_on_behind_a_gap(version: Version) -> None:
    talk = SAMPLES[version].opened()
    before = sum([len(what) for sender, what in talk.arrivals if sender == CLIENT and isinstance(what, bytes)])
    talk.gap(CLIENT, 100).client(SAMPLES[version].message(5, b"x")).finish()
    assert _skipped(talk) == [(Side.CLIENT, before, 100, "gap")]
    assert (talk.observed[-1].body, talk.observed[-1].offset) == (b"x", before + 100)


@each_version
def test_frames_in_the_rest_of_a_body_are_not_taken_for_frames(version: Version) -> None:
    """A message that carries a recording: behind the hole its body goes on, and looks like frames."""
    talk, message = SAMPLES[version].opened(), SAMPLES[version].message
    carried = b"".join([message(number, b"carried") for number in range(90, 99)])
    lost = message(1, bytes(100) + carried)
    talk.client(lost[:120]).gap(CLIENT, 20).client(lost[140:] + message(2, b"next")).finish()
    first, second = _bodies(talk)
    assert (first or None, second) == (None, b"next")
    assert not talk.violations


@each_version
def test_skipped_octets_of_both_sides_are_told_apart(version: Version) -> None:
    garbage = SAMPLES[version].garbage
    talk = SAMPLES[version].opened().client(garbage).server(garbage + b"?").finish()
    assert [(sender, octets) for sender, _, octets, _ in _skipped(talk)] == [
        (Side.CLIENT, len(garbage)),
        (Side.SERVER, len(garbage) + 1),
    ]


@each_version
def test_the_rest_of_a_frame_is_skipped(version: Version) -> None:
    message = SAMPLES[version].message
    whole = message(0, b"0123456789" * 50)
    talk = SAMPLES[version].late().client(whole[100:]).client(message(1, b"next")).finish()
    assert _skipped(talk) == [(Side.CLIENT, 0, len(whole) - 100, "resync")]
    assert _bodies(talk) == [b"next"]


@each_version
def test_octets_that_are_never_recognised_are_not_held_for_ever(version: Version) -> None:
    limits = Limits(unparsed=10_000)
    observer = Observer(limits=limits)
    for _ in range(30):
        observer.receive_data(SAMPLES[version].hardly, "x", 1)
        take(observer)
        assert observer.held <= limits.unparsed + len(SAMPLES[version].hardly)


@each_version
def test_gaps_before_anything_is_known(version: Version) -> None:
    arrivals: list[tuple[str, bytes | int, int]] = [("y", 10, 1), ("x", 5, 2), ("y", SAMPLES[version].proof, 3)]
    assert [type(event) for event in watch(Observer(), arrivals)] == [Identified, Skipped, Skipped, Observed]


@each_version
def test_nothing_is_parsed_before_an_event_is_taken(version: Version) -> None:
    observer = Observer(client="a")
    observer.receive_data(bytearray(version.header + b"\0"), "a", 5)
    assert observer.held == 9
    assert isinstance(observer.next_event(), Identified)
    assert isinstance(observer.next_event(), Observed)
    assert not isinstance(observer.next_event(), Observed)
    assert observer.held == 1


@each_version
@pytest.mark.parametrize("lost", [0, 500], ids=["end", "gap"])
def test_a_message_that_breaks_off_has_the_time_of_its_last_octet(version: Version, lost: int) -> None:
    """What came behind that, of a frame that isn't whole, is no part of it, in whatever piece it came."""
    message = SAMPLES[version].message(1, bytes(40))
    before = [(sender, what) for sender, what in SAMPLES[version].opened().arrivals if isinstance(what, bytes)]
    begin = sum([len(what) for sender, what in before if sender == CLIENT])
    seen = 0
    for end in range(1, len(message), 3):
        for place in {end // 3, end - 9, end - 1} & {*range(1, end)}:
            observer = Observer(client=CLIENT)
            for sender, octets in before:
                observer.receive_data(octets, sender, 1)
            take(observer)
            arrivals: list[tuple[str, bytes | int, int]] = [
                (CLIENT, message[:place], 2),
                (CLIENT, message[place:end], 3),
            ]
            for unit in watch(observer, [*arrivals, *([(CLIENT, lost, 4)] if lost else [])]):
                if isinstance(unit, Observed):
                    seen += 1
                    assert unit.at_ns == (2 if unit.offset + unit.size <= begin + place else 3), (place, end)
    assert seen
