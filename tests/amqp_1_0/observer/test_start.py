"""Where an observation of 1.0 begins: protocol headers, the SASL and TLS layers, connections seen from the middle."""

import pickle
import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amqp_sansio import AMQP_0_9_1, AMQP_1_0, Side
from amqp_sansio import amqp_1_0 as amqp
from amqp_sansio._versions import Scouts
from amqp_sansio.amqp_1_0 import spec
from amqp_sansio.observer import Identified, Observed, Observer, Skipped
from tests.kit.observing import CLIENT, SERVER, Talk, take, watch
from tests.kit.observing import frame as classic_frame
from tests.kit.talk_1_0 import AMQP, SASL, Talk10, begin, credit, frame, settle, transfer

TLS = b"AMQP\x02\x01\x00\x00"
EMPTY = b"\0\0\0\x08\x02\0\0\0"
RECORDS = b"\x16\x03\x01\x02\x00" + bytes(range(100))


def _identified(talk: Talk10) -> list[Identified]:
    return [event for event in talk.events if isinstance(event, Identified)]


def _skipped(talk: Talk10) -> list[tuple[Side, int, int, str]]:
    return [
        (event.sender, event.offset, event.octets, event.reason) for event in talk.events if isinstance(event, Skipped)
    ]


@pytest.mark.parametrize("header", [AMQP, SASL, TLS])
@pytest.mark.rule("1.0/transport/version/client-first", "1.0/security/sasl/header", "1.0/security/tls/header")
def test_the_header_says_version_and_sides(header: bytes) -> None:
    for late in (False, True):
        talk = Talk10(late=late).client(header).server(header).finish()
        (event,) = _identified(talk)
        assert (event.version, event.client) == (AMQP_1_0, CLIENT)
        assert event.by == ("header" if late else "told")
        assert [(unit.sender, unit.unit, unit.event, unit.content) for unit in talk.observed] == [
            (side, "header", "protocol-header", header) for side in (Side.CLIENT, Side.SERVER)
        ]
        assert not talk.rules


@pytest.mark.rule("1.0/transport/version/protocol-id", "1.0/transport/version/unsupported")
@pytest.mark.rule("1.0/transport/version/supported")
@pytest.mark.parametrize("answer", [SASL, TLS, b"AMQP\0\0\x09\x01", b"AMQP\0\2\0\0"])
def test_a_server_may_answer_with_another_header_and_leave(answer: bytes) -> None:
    talk = Talk10().client(AMQP, spec.Open("c")).server(answer).finish()
    assert not talk.rules
    assert [unit.event for unit in talk.observed] == ["protocol-header", "open", "protocol-header"]
    assert talk.lifecycle.connection.closed_by == "server"


@pytest.mark.rule("1.0/security/sasl/outcome", "1.0/security/layer/nested")
def test_the_layers_follow_each_other() -> None:
    talk = Talk10().login().open().finish()
    assert not talk.rules
    assert [(unit.event, unit.answers) for unit in talk.observed] == [
        ("protocol-header", None),
        ("protocol-header", None),
        ("sasl-mechanisms", None),
        ("sasl-init", 2),
        ("sasl-outcome", 3),
        ("protocol-header", None),
        ("open", None),
        ("protocol-header", None),
        ("open", 6),
    ]


def test_everything_may_be_pipelined() -> None:
    """A client that waits for nothing, in one arrival (part 2 section 2.4.4)."""
    talk = Talk10().client(SASL, spec.SaslInit(amqp.Symbol("ANONYMOUS")), AMQP, spec.Open("c"), begin(), spec.Close())
    talk.server(SASL, spec.SaslMechanisms((amqp.Symbol("ANONYMOUS"),)), spec.SaslOutcome(0), AMQP, spec.Open("s"))
    talk.server(begin(0), spec.Close()).finish()
    # But the server offers its mechanisms first (part 5 section 5.3.2).
    assert talk.rules == ["1.0/security/sasl/mechanisms-first"]


@pytest.mark.rule("1.0/security/tls/header", "1.0/security/tls/inner-header")
def test_what_tls_hides_is_counted() -> None:
    talk = Talk10().client(TLS).server(TLS).client(RECORDS).server(RECORDS[:50])
    talk.gap(SERVER, 100).server(b"ijk").client(RECORDS).finish()
    assert not talk.rules
    assert len(talk.observed) == 2
    assert _skipped(talk) == [
        (Side.SERVER, 8, 50, "undecoded"),
        (Side.SERVER, 58, 100, "gap"),
        (Side.CLIENT, 8, 210, "undecoded"),
        (Side.SERVER, 158, 3, "undecoded"),
    ]


def test_tls_of_any_length_is_not_held() -> None:
    talk = Talk10().client(TLS).server(TLS)
    for _ in range(100):
        talk.client(bytes(10_000)).server(bytes(10_000))
        assert talk.observer.held == 0
    assert len(pickle.dumps(talk.observer)) < 5000


def test_a_server_without_a_header() -> None:
    talk = Talk10().client(AMQP).server(b"HTTP/1.1 400 Bad Request\r\n").finish()
    assert talk.rules == ["1.0/transport/version/header-first"]
    assert _skipped(talk) == [(Side.SERVER, 0, 26, "resync")]


# From the middle.


def _middle(late: bool = True) -> Talk10:
    return Talk10(late=late)


@pytest.mark.parametrize(
    ("record", "side"),
    [
        (spec.SaslMechanisms((amqp.Symbol("PLAIN"),)), Side.SERVER),
        (spec.SaslOutcome(0), Side.SERVER),
        (spec.SaslInit(amqp.Symbol("PLAIN"), b"\0a\0b"), Side.CLIENT),
    ],
)
def test_the_first_unit_that_only_one_side_may_send_tells_the_sides(record: Any, side: Side) -> None:
    talk = _middle().send("x", frame(record)).send("y", AMQP + frame(spec.Open("y"))).finish()
    (event,) = _identified(talk)
    assert (event.version, event.by) == (AMQP_1_0, "frame")
    assert [(unit.sender, unit.event) for unit in talk.observed] == [
        (side, record.NAME),
        (side.other, "protocol-header"),
        (side.other, "open"),
    ]
    assert not talk.rules


def test_the_header_of_the_server_is_not_taken_for_the_client_s() -> None:
    talk = _middle().gap("x", 8).send("y", AMQP).send("x", frame(spec.Open("x"))).send("y", frame(spec.Open("y")))
    talk.finish()
    (event,) = _identified(talk)
    assert (event.client, event.by) == ("x", "guess")
    assert [(unit.sender, unit.event) for unit in talk.observed] == [
        (Side.SERVER, "protocol-header"),
        (Side.CLIENT, "open"),
        (Side.SERVER, "open"),
    ]
    assert not talk.rules


def test_a_lost_header_is_a_late_start() -> None:
    talk = Talk10().client(b"AM").gap(CLIENT, 6).server(AMQP, spec.Open("s")).client(spec.Open("c")).finish()
    (event,) = _identified(talk)
    assert (event.version, event.by) == (AMQP_1_0, "told")
    assert [unit.event for unit in talk.observed] == ["protocol-header", "open", "open"]
    assert [(octets, reason) for _, _, octets, reason in _skipped(talk)] == [(2, "resync"), (6, "gap")]
    assert not talk.rules


def test_without_such_a_unit_the_first_sender_is_taken_for_the_client() -> None:
    talk = _middle().send("x", frame(spec.Flow(1, 1, 1, 1))).send("y", transfer(0, b"\0Su\xa0\1x"))
    assert not talk.events
    talk.send("y", frame(spec.Flow(1, 1, 1, 1)))
    (event,) = _identified(talk)
    assert (event.version, event.client, event.by) == (AMQP_1_0, "x", "guess")
    talk.finish()
    assert [(unit.sender, unit.event) for unit in talk.observed] == [
        (Side.CLIENT, "flow"),
        (Side.SERVER, "transfer"),
        (Side.SERVER, "flow"),
    ]
    assert [unit.at_ns for unit in talk.observed] == [1_000_000_000, 2_000_000_000, 3_000_000_000]


def test_one_side_alone_is_recognised_at_the_end() -> None:
    talk = _middle().send("x", frame(spec.Flow(1, 1, 1, 1))).send("x", transfer(0, b"\0Su\xa0\1x"))
    assert not talk.events
    talk.finish()
    assert [unit.event for unit in talk.observed] == ["flow", "transfer"]
    assert _identified(talk)[0].by == "guess"


def test_a_client_that_is_told_needs_one_proven_frame() -> None:
    observer = Observer(client="x", from_start=False)
    observer.receive_data(b"\0\0rest of a frame" + frame(spec.Flow(1, 1, 1, 1)), "y", 1)
    events = take(observer)
    assert [type(event) for event in events] == [Identified, Skipped, Observed]
    assert isinstance(events[2], Observed)
    assert events[2].sender is Side.SERVER


def test_empty_frames_alone_say_the_version() -> None:
    talk = _middle().send("x", EMPTY * 2).send("y", EMPTY * 2).finish()
    (event,) = _identified(talk)
    assert event.version is AMQP_1_0
    assert [unit.event for unit in talk.observed] == ["heartbeat"] * 4


def test_what_was_opened_before_is_no_fault() -> None:
    """Sessions, links, deliveries, credit and transactions of before the observation."""
    talk = _middle()
    talk.server(credit(3)).client(settle(12, amqp.Accepted()), transfer(7, b"\0Su\xa0\1x", handle=3))
    talk.client(frame(spec.Flow(4, 1, 2, 3, 9, 8, 7), channel=12), transfer(1, b"\0Su\xa0\1x", channel=40))
    talk.server(spec.Attach("l", 0, True, source=amqp.Source(), target=amqp.Target()), begin(99), channel=6)
    talk.client(transfer(None, b"rest", handle=77)).server(spec.Close()).client(spec.Close()).finish()
    assert not talk.rules
    assert not _skipped(talk)


def test_a_delivery_whose_first_part_was_sent_before_is_partial() -> None:
    payload = amqp.Message(b"0123456789").encode()
    talk = _middle().client(transfer(None, payload[4:8], more=True), transfer(None, payload[8:]))
    talk.client(transfer(1, amqp.Message(b"next").encode())).finish()
    assert [(unit.unit, unit.body, unit.missing) for unit in talk.observed] == [
        ("part", None, 0),
        ("partial", None, None),
        ("content", b"next", 0),
    ]
    assert not talk.rules


# Which version.


def test_classic_frames_within_a_message_do_not_make_it_classic() -> None:
    """A message that carries a recording of 0-9-1, and the other way round, in arrivals of any size."""
    talk = Talk(AMQP_0_9_1)
    recorded = talk.deliver(1, b"x") + classic_frame(8, 0, b"") * 2
    amqp_1_0 = transfer(0, amqp.Message(recorded * 3).encode()) + frame(spec.SaslOutcome(0))
    classic = talk.deliver(1, (frame(spec.Flow(1, 1, 1, 1)) + frame(spec.SaslOutcome(0))) * 3)
    for octets, version in ((amqp_1_0, AMQP_1_0), (classic * 2, AMQP_0_9_1)):
        for size in (1, 13, 5000):
            pieces = [octets[at : at + size] for at in range(0, len(octets), size)]
            events = watch(Observer(), [("x", piece, 1) for piece in pieces])
            (event,) = [event for event in events if isinstance(event, Identified)]
            assert event.version is version


def test_the_version_of_what_was_cut_is_that_of_the_first_frame_found() -> None:
    """Both kinds of frames in one arrival: where it is cut makes no difference."""
    talk = Talk(AMQP_0_9_1)
    for first, second, version in (
        (talk.deliver(1, b"x"), frame(spec.SaslOutcome(0)), AMQP_0_9_1),
        (frame(spec.SaslOutcome(0)), talk.deliver(1, b"x"), AMQP_1_0),
    ):
        octets = b"?" + first + second
        for size in (1, 3, 40, 1000):
            observer = Observer()
            for at in range(0, len(octets), size):
                observer.receive_data(octets[at : at + size], "x", 1)
                take_identified(observer, version)


def take_identified(observer: Observer, version: object) -> None:
    """If the observer has recognised a version by now, it's this one."""
    for event in take(observer):
        if isinstance(event, Identified):
            assert event.version is version


_PARTS: tuple[bytes | None, ...] = (
    Talk(AMQP_0_9_1).deliver(1, b"x"),
    classic_frame(8, 0, b""),
    classic_frame(3, 1, b"abc"),
    b"?",
    bytes(3),
    frame(spec.SaslOutcome(0)),
    frame(spec.Flow(1, 1, 1, 1)),
    EMPTY,
    AMQP,
    transfer(0, Talk(AMQP_0_9_1).deliver(1, b"y") * 2),
    Talk(AMQP_0_9_1).deliver(1, frame(spec.Flow(1, 1, 1, 1)) * 2),
    frame(spec.Open("x"))[:9],
    Talk(AMQP_0_9_1).deliver(2, b"z")[:20],
    None,
)


@given(st.lists(st.sampled_from(_PARTS), max_size=8), st.integers(0, 99), st.booleans())
def test_what_scouts_find_out_depends_on_no_cut(parts: list[bytes | None], seed: int, ended: bool) -> None:
    streams: list[bytes | None] = []
    for part in parts:
        if part is not None and streams and streams[-1] is not None:
            streams[-1] += part
        else:
            streams.append(part)
    found: set[object] = set()
    for most in (1, 9, 60, 100_000):
        scouts = Scouts()
        choose = random.Random(seed)
        for stream in streams:
            at = 0
            if stream is None:
                scouts.gap()
            while stream is not None and at < len(stream):
                size = choose.randint(1, most) if most < 100_000 else most
                scouts.receive(stream[at : at + size])
                at += size
        if ended:
            scouts.finish()
        found.add((scouts.version, scouts.side, scouts.is_equal))
    assert len(found) == 1
