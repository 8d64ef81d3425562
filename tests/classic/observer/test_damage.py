"""Gaps and garbage: nothing raises, nothing is invented, no octet is lost silently, and reading goes on."""

from hashlib import sha256
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amqp_sansio import AMQP_0_8, AMQP_0_9_1, Limits, Version
from amqp_sansio._classic.codec.dialect import DIALECTS, get_dialect
from amqp_sansio.observer import Identified, Observer
from tests.kit.observing import CLIENT, SERVER, Talk, frame, header, watch
from tests.observer.arrivals import Arrivals, assert_accounted

VERSIONS = (AMQP_0_9_1, AMQP_0_8)


def _open(version: Version = AMQP_0_9_1) -> Talk:
    return Talk(version).login().channel().consumer()


# Gaps.


def test_a_gap_within_a_frame_and_the_rest_of_the_frame() -> None:
    talk = _open()
    lost = talk.deliver(1, b"0123456789" * 20)
    talk.server(lost[:90]).gap(SERVER, 50).server(lost[140:] + talk.deliver(2, b"next")).finish()
    assert [unit.body for unit in talk.observed[-2:]] == [None, b"next"]
    assert talk.observed[-2].unit == "partial"
    reasons = [each.reason for each in talk.skipped]
    assert reasons == ["incomplete", "gap", "resync"]
    assert not talk.violations


def test_where_the_capture_cut_a_body_its_message_is_known_all_the_same() -> None:
    talk = _open()
    cut = talk.deliver(1, b"0123456789" * 20)
    talk.server(cut[:90]).gap(SERVER, len(cut) - 90).server(talk.deliver(2, b"next")).finish()
    first, second = talk.observed[-2:]
    assert (first.unit, first.body_size, first.body) == ("content", 200, None)
    assert first.missing == len(cut) - 91
    assert first.size == 90
    assert second.body == b"next"
    assert [each.reason for each in talk.skipped] == ["gap"]


def test_a_gap_that_begins_behind_a_body_takes_only_the_end_octet() -> None:
    talk = _open()
    whole = talk.deliver(1, b"0123456789")
    talk.server(whole[:-1]).gap(SERVER, 1).server(talk.deliver(2, b"next")).finish()
    assert [(unit.unit, unit.missing, unit.body) for unit in talk.observed[-2:]] == [
        ("content", 0, b"0123456789"),
        ("content", 0, b"next"),
    ]


def test_a_message_that_lost_a_frame_is_never_put_together_with_another() -> None:
    talk = _open()
    first, second = talk.deliver(1, b"A" * 100), talk.deliver(2, b"B" * 100)
    split = frame(3, 1, b"A" * 50)
    method = first[: -(100 + 8)]
    rest = second[-(100 + 8) :]
    talk.server(method + split).gap(SERVER, len(split) + len(second) - len(rest)).server(rest).finish()
    bodies = [unit.body for unit in talk.observed if unit.event == "basic.deliver"]
    assert bodies == [None]
    assert (talk.last.unit, talk.last.event) == ("frame", "content-body")


def test_replies_and_requests_in_a_gap_are_no_fault() -> None:
    talk = _open().gap(CLIENT, 30).server(Talk().named("queue.declare-ok", "q"), channel=1)
    talk.gap(SERVER, 30).client(talk.named("channel.close-ok"), channel=1)
    talk.client(talk.publish(b"x", 77)).server(talk.deliver(3, b"x", 55))
    talk.client(talk.named("connection.close-ok")).finish()
    assert not talk.violations


@pytest.mark.parametrize("version", VERSIONS, ids=lambda version: version.label)
def test_an_opening_of_which_anything_is_missing(version: Version) -> None:
    whole = Talk(version).login().channel().arrivals
    for index in range(1, len(whole)):
        talk = Talk(version)
        for number, (sender, what) in enumerate(whole):
            assert isinstance(what, bytes)
            if number == index:
                talk.gap(sender, len(what))
            else:
                talk.send(sender, what)
        talk.client(talk.named("connection.close", 200)).server(talk.named("connection.close-ok")).finish()
        assert not talk.violations, (index, talk.violations)
        assert len(talk.observed) == len(whole) + 1


# Garbage.


def test_a_lone_body_frame_needs_what_follows_it() -> None:
    talk = _open().server(b"?" + frame(3, 1, b"abc"))
    assert talk.last.event == "basic.consume-ok"
    talk.server(b"\x08\0\0\0\0\0\0")
    assert talk.last.event == "basic.consume-ok"
    talk.server(b"\xce").finish()
    assert [unit.event for unit in talk.observed[-2:]] == ["content-body", "heartbeat"]


def test_a_frame_that_can_not_be_proven_is_not_made_of_what_looks_like_one() -> None:
    talk = _open().server(b"?" + frame(3, 1, b"abc") + b"?" + frame(1, 1, b"\0\x3c\0\x99")).finish()
    assert talk.last.event == "basic.consume-ok"
    assert sum([each.octets for each in talk.skipped]) == 25


def test_a_body_frame_at_the_end_of_all_octets_is_proven() -> None:
    talk = _open().server(b"?" + frame(3, 1, b"abc"))
    assert talk.last.event == "basic.consume-ok"
    talk.finish()
    assert talk.last.event == "content-body"


@pytest.mark.parametrize("size", [0x0080_0001, 0xFFFF_FFFF])
def test_a_size_that_nobody_means_is_not_waited_for(size: int) -> None:
    broken = b"\x03\0\x01" + size.to_bytes(4, "big")
    talk = _open().server(broken + Talk().deliver(1, b"x"))
    assert talk.rules == ["0-9-1/wire/frame-oversize-send"]
    assert talk.last.body == b"x"


# Whatever comes.


@given(st.lists(st.tuples(st.sampled_from((CLIENT, SERVER)), st.binary(max_size=200)), max_size=20))
def test_octets_of_any_kind(pieces: list[tuple[str, bytes]]) -> None:
    for client in (CLIENT, None):
        arrivals: Arrivals = [(sender, octets, 1) for sender, octets in pieces]
        events = watch(Observer(client=client), arrivals)
        assert len([event for event in events if isinstance(event, Identified)]) <= 1


_FRAMES: Final = st.lists(
    st.tuples(
        st.sampled_from((CLIENT, SERVER)), st.integers(0, 2), st.integers(0, 300), st.booleans(), st.integers(0, 3)
    ),
    max_size=80,
)


_KINDS: Final = [
    *{kind: None for name in DIALECTS for kind in get_dialect(name).methods.values()},
    *[get_dialect(DIALECTS[0]).named["connection.start"]] * 15,
]


@given(st.sampled_from(VERSIONS), _FRAMES, st.booleans())
def test_any_methods_in_any_order(
    version: Version, frames: list[tuple[str, int, int, bool, int]], opened: bool
) -> None:
    """Every method of any dialect from either side on any channel, with and without its message."""
    talk = _open(version) if opened else Talk(version).header()
    for sender, channel, which, whole, number in frames:
        kind: Any = _KINDS[which % len(_KINDS)]
        fields: dict[str, Any] = {"delivery_tag": number} if "delivery_tag" in kind.__match_args__ else {}
        if kind.NAME == "connection.start":
            # What the server says it is may change the dialect at any time.
            fields = {"version_major": number % 2 * 8, "server_properties": {"qpid." * (number // 2) + "x": ""}}
        octets = talk.octets(kind(**fields), channel)
        if whole and kind.HAS_CONTENT:
            octets += header(channel, number, class_id=kind.CLASS_ID)
            octets += frame(3, channel, bytes(number)) if number else b""
        elif whole:
            octets += frame(number + 1, channel, bytes(14))
        talk.send(sender, octets)
    talk.finish()
    assert_accounted(talk.events, [(sender, what, 1) for sender, what in talk.arrivals])


@pytest.mark.parametrize(
    ("body", "is_kept", "is_hashed"), [("keep", True, False), ("hash", False, True), ("all", True, True)]
)
def test_a_body_above_the_limit_is_counted_and_not_kept(body: str, is_kept: bool, is_hashed: bool) -> None:
    talk = Talk(limits=Limits(message=10), body=body).login().channel()
    talk.client(talk.publish(b"0123456789"), talk.publish(b"01234567890")).finish()
    within, above = talk.observed[-2:]
    assert (within.body is not None) is is_kept
    assert (within.body_sha256 is not None) is is_hashed
    assert above.body is None
    assert above.body_sha256 is None
    assert above.body_size == 11
    assert above.missing == 0


def test_bodies_beyond_the_limit_of_all_are_counted_and_not_kept() -> None:
    # Two content headers of 14 octets, and 10 octets of bodies.
    talk = Talk(limits=Limits(bodies=38)).login().channel().channel(2)
    begun = talk.octets(talk.named("basic.publish"), 2) + header(2, 8) + frame(3, 2, b"1234")
    talk.client(begun, talk.octets(talk.named("basic.publish"), 1) + header(1, 8))
    talk.client(frame(3, 1, b"12345678"), frame(3, 2, b"5678")).client(talk.publish(b"12345678"))
    talk.finish()
    assert [unit.body for unit in talk.observed[-3:]] == [None, b"12345678", b"12345678"]


def test_a_delivery_counts_when_its_method_is_there_wherever_its_content_is_cut() -> None:
    whole = _open().deliver(1, b"12345678")
    method = whole.index(b"\xce") + 1
    for cut in range(method, len(whole)):
        first, ended, beside = _open().server(whole[:cut]), _open().server(whole[:cut]).finish(), _open()
        first.client(first.named("basic.ack", 1), channel=1).server(whole[cut:]).finish()
        assert [unit.event for unit in first.observed[-2:]] == ["basic.ack", "basic.deliver"]
        assert [ended.last.event, ended.last.unit] == ["basic.deliver", "partial"]
        beside.server(whole[:method] + frame(8, 0, b"") + whole[method:cut])
        assert beside.last.event == "heartbeat"
        assert not first.violations + ended.violations + beside.violations


def test_the_hash_is_that_of_the_body() -> None:
    talk = Talk(body="hash").login().channel()
    method = talk.octets(talk.named("basic.publish"), 1)
    talk.client(talk.publish(b"whole")).client(method, header(1, 6), frame(3, 1, b"two")).client(frame(3, 1, b"two"))
    talk.finish()
    assert [unit.body_sha256 for unit in talk.observed[-2:]] == [
        sha256(b"whole").hexdigest(),
        sha256(b"twotwo").hexdigest(),
    ]
