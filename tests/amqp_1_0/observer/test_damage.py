"""Gaps and garbage in 1.0: nothing raises, nothing is invented, no octet is lost silently, and reading goes on."""

from collections.abc import Callable
from itertools import product
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amqp_sansio import amqp_1_0 as amqp
from amqp_sansio.amqp_1_0 import spec
from amqp_sansio.observer import Observer, Skipped
from tests.kit.observing import CLIENT, SERVER, watch
from tests.kit.talk_1_0 import AMQP, SASL, Talk10, begin, credit, frame, opened, settle, transfer
from tests.observer.arrivals import Arrivals, assert_accounted, told

EMPTY: Final = b"\0\0\0\x08\x02\0\0\0"


def _skipped(talk: Talk10) -> list[Skipped]:
    return [event for event in talk.events if isinstance(event, Skipped)]


def _told(talk: Talk10) -> list[tuple[int, str]]:
    return [(each.octets, each.reason) for each in _skipped(talk)]


def _body(octets: bytes) -> bytes:
    return amqp.Message(octets).encode()


# Gaps.


def test_a_gap_within_a_transfer_and_the_rest_of_it() -> None:
    talk = opened()
    lost = transfer(0, _body(b"0123456789" * 20))
    talk.client(lost[:90]).gap(CLIENT, 50).client(lost[140:] + transfer(1, _body(b"next"))).finish()
    first, second = talk.observed[-2:]
    assert (first.unit, first.body, first.size) == ("partial", None, 90)
    assert second.body == b"next"
    assert _told(talk) == [(50, "gap"), (len(lost) - 140, "resync")]
    assert not talk.rules


def test_a_gap_within_a_performative() -> None:
    talk = opened()
    lost = transfer(0, _body(b"0123456789" * 20))
    talk.client(lost[:12]).gap(CLIENT, 50).client(lost[62:] + transfer(1, _body(b"next"))).finish()
    assert [unit.body for unit in talk.observed if unit.event == "transfer"] == [b"next"]
    assert _told(talk) == [(12, "incomplete"), (50, "gap"), (len(lost) - 62, "resync")]


def test_where_the_capture_cut_a_transfer_its_message_is_known_all_the_same() -> None:
    talk = opened()
    message = amqp.Message(b"0123456789" * 20, properties=amqp.Properties(message_id="m")).encode()
    cut = transfer(0, message)
    talk.client(cut[:90]).gap(CLIENT, len(cut) - 90).client(transfer(1, _body(b"next"))).finish()
    first, second = talk.observed[-2:]
    assert (first.unit, first.body_size, first.body) == ("content", 200, None)
    assert (first.missing, first.size) == (len(cut) - 90, 90)
    assert first.properties.message_id == "m"
    assert second.body == b"next"
    assert _told(talk) == [(len(cut) - 90, "gap")]


def test_nothing_is_in_doubt_when_only_the_rest_of_a_transfer_is_missing() -> None:
    talk = opened()
    cut = transfer(0, _body(b"0123456789"))
    talk.client(cut[:-1]).gap(CLIENT, 1).client(transfer(None, _body(b"next"))).finish()
    units = [unit for unit in talk.observed if unit.event == "transfer"]
    assert (units[0].unit, units[0].missing) == ("content", 1)
    assert talk.rules == ["1.0/transport/transfer/delivery-id"]


def test_parts_that_were_cut_count_too() -> None:
    talk = opened()
    first = transfer(0, _body(b"A" * 50)[:40], more=True)
    last = transfer(None, b"A" * 15)
    talk.client(first[:-10]).gap(CLIENT, 10).client(last).finish()
    part, content = [unit for unit in talk.observed if unit.event == "transfer"]
    assert (part.unit, content.unit) == ("part", "content")
    assert (content.body, content.body_size, content.missing) == (None, 50, 10)


def test_a_delivery_that_lost_a_frame_is_never_put_together_with_another() -> None:
    talk = opened()
    first = transfer(0, _body(b"A" * 100)[:50], more=True)
    talk.client(first).gap(CLIENT, 200).client(transfer(None, b"B" * 50)).finish()
    part, rest = [unit for unit in talk.observed if unit.event == "transfer"]
    assert (part.unit, rest.unit) == ("part", "partial")
    assert (rest.body, rest.missing) == (None, None)
    assert not talk.rules


def test_what_was_opened_closed_or_given_in_a_gap_is_no_fault() -> None:
    talk = opened().gap(CLIENT, 30).gap(SERVER, 30)
    talk.client(transfer(17, _body(b"x"), handle=7)).server(transfer(3, _body(b"x"), handle=8))
    talk.client(transfer(1, _body(b"x"), channel=5), credit(9), settle(12)).server(spec.Detach(44, True))
    talk.server(begin(13), channel=6).server(spec.End(), channel=77).client(begin(), channel=0)
    talk.client(spec.Attach("x", 0, True, source=amqp.Source(), target=amqp.Target()))
    talk.gap(CLIENT, 5).client(spec.Attach("y", 0, True, source=amqp.Source(), target=amqp.Target()))
    talk.client(spec.Close()).server(spec.Close()).finish()
    assert not talk.rules


def test_credit_and_windows_that_were_given_in_a_gap_are_no_fault() -> None:
    talk = Talk10().open()
    narrow = spec.Begin(next_outgoing_id=0, incoming_window=1, outgoing_window=1)
    talk.client(narrow).server(narrow.replace(remote_channel=0)).sender()
    talk.gap(SERVER, 60)
    for number in range(5):
        talk.client(transfer(number, _body(b"x")))
    talk.finish()
    assert not talk.rules


def test_a_session_that_begins_behind_a_gap_is_known_again() -> None:
    talk = opened().gap(CLIENT, 100).session(3)
    talk.client(transfer(0, _body(b"x"), handle=5, channel=3)).finish()
    assert talk.rules == ["1.0/transport/link/unattached-handle"]


def test_a_session_whose_begin_was_lost_is_none_that_the_other_side_begins_on_that_number() -> None:
    """The client's channel 3 is a session that was there before; the server's channel 3 begins another one."""
    talk = opened().gap(CLIENT, 100).gap(SERVER, 100).session(9)
    talk.server(begin(), channel=3)
    talk.client(spec.Flow(incoming_window=9, next_outgoing_id=0, outgoing_window=9), channel=3)
    talk.server(spec.Flow(incoming_window=9, next_outgoing_id=0, outgoing_window=9), channel=3)
    talk.client(begin(3), channel=4).finish()
    assert not talk.rules
    assert talk.last().answers == talk.observed[-4].seq


def test_a_begin_that_answers_tells_the_channel_of_the_other_side() -> None:
    """The server's channel 2 answers the client's channel 1; the client's channel 2 is another session's."""
    talk = opened().gap(CLIENT, 100)
    talk.server(begin(1), channel=2).client(spec.End(), channel=2).client(spec.End(), channel=1).server(
        spec.End(), channel=2
    )
    talk.finish()
    assert not talk.rules
    assert [unit.answers for unit in talk.observed[-3:]] == [None, None, talk.observed[-2].seq]


@pytest.mark.parametrize("what", [spec.Detach, spec.End])
@pytest.mark.parametrize("leaves", [CLIENT, SERVER])
@pytest.mark.parametrize("length", range(4))
def test_a_number_is_anothers_when_its_side_was_not_heard_behind_its_own_last_gap(
    length: int, leaves: str, what: type[spec.Performative]
) -> None:
    """One side detaches a link or ends a session. The other one may have left it too, in a gap of its own octets; what
    it has sent on it since then says that it hasn't, however often octets of its peer were lost meanwhile."""
    other = SERVER if leaves is CLIENT else CLIENT
    for steps in product([(side, step) for side in (leaves, other) for step in ("gap", "heard")], repeat=length):
        talk = opened()
        sent = {CLIENT: 0, SERVER: 0}

        def send(side: str, talk: Talk10 = talk, sent: dict[str, int] = sent) -> None:
            handle = 0 if side is CLIENT else 1
            talk.send(side, transfer(sent[side], _body(b"x"), handle=handle, settled=True))
            sent[side] += 1

        unheard = False
        for side, step in steps:
            if step == "gap":
                talk.gap(side, 100)
            else:
                # What comes first behind a gap is believed when another frame follows it.
                send(side)
                send(side)
            if side is other:
                unheard = step == "gap"
        handle = 0 if other is CLIENT else 1
        farewell = spec.Detach(handle, True) if what is spec.Detach else spec.End()
        talk.send(leaves, frame(farewell) + EMPTY)
        send(other)
        send(other)
        talk.finish()
        assert talk.messages[-1].address == (None if unheard else "q"), steps
        assert not talk.rules


def test_an_opening_of_which_anything_is_missing() -> None:
    whole = Talk10().login().open().session().sender().receiver().server(credit(0)).client(credit(1))
    for index in range(len(whole.arrivals)):
        talk = Talk10()
        for number, (sender, what) in enumerate(whole.arrivals):
            assert isinstance(what, bytes)
            if number == index:
                talk.gap(sender, len(what))
            else:
                talk.send(sender, what)
        talk.client(transfer(0, _body(b"x"))).server(settle(0, amqp.Accepted()))
        talk.client(spec.Close()).server(spec.Close()).finish()
        assert not talk.rules, (index, talk.rules)
        units = {told(event) for event in whole.observed} - {told(event) for event in talk.observed}
        assert len(units) <= 2


# Garbage.


def test_an_empty_frame_needs_what_follows_it() -> None:
    talk = opened().client(b"\0\0\0\7garbage" + EMPTY)
    before = len(talk.observed)
    talk.client(EMPTY[:7])
    assert len(talk.observed) == before
    talk.client(EMPTY[7:]).finish()
    assert [unit.event for unit in talk.observed[before:]] == ["heartbeat"] * 2


def test_a_transfer_needs_what_follows_it() -> None:
    talk = opened().client(b"\0\0\0\7garbage" + transfer(0, _body(b"x")))
    before = len(talk.observed)
    talk.client(b"\0\0\0\x0c\x02\0\0\0\0\x53\x18")
    assert len(talk.observed) == before
    talk.client(b"\x45").finish()
    assert [unit.event for unit in talk.observed[before:]] == ["transfer", "close"]


def test_a_transfer_that_can_not_be_proven_is_not_made_of_what_looks_like_one() -> None:
    lone = transfer(0, _body(b"x"))
    talk = opened().client(b"\0\0\0\7?" + lone + b"\0\0\0\x07" + frame(spec.Flow(None, 1, 1, 1))[:-1]).finish()
    assert talk.last().event == "flow"
    assert sum([each.octets for each in _skipped(talk)]) == 5 + len(lone) + 4 + len(frame(spec.Flow(None, 1, 1, 1))) - 1


def test_a_transfer_at_the_end_of_all_octets_is_proven() -> None:
    talk = opened().client(b"\0\0\0\7?" + transfer(0, _body(b"x")))
    before = len(talk.observed)
    talk.finish()
    assert [unit.body for unit in talk.observed[before:]] == [b"x"]


@pytest.mark.parametrize("size", [0x0080_0001, 0xFFFF_FFFF])
@pytest.mark.rule("1.0/transport/open/max-frame-size")
def test_a_size_that_nobody_means_is_not_waited_for(size: int) -> None:
    broken = size.to_bytes(4) + b"\x02\0\0\0"
    talk = opened().client(broken + transfer(0, _body(b"x"))).finish()
    assert talk.rules == ["1.0/transport/open/max-frame-size"]
    assert talk.last().body == b"x"


def test_a_frame_that_can_not_be_read_leaves_what_it_did_in_doubt() -> None:
    """An attach with a field of the wrong type: transfers of its handle are no second fault."""
    attach = bytearray(frame(spec.Attach("n", 5, False, initial_delivery_count=0)))
    attach[attach.index(b"\xa1\x01n")] = 0xA0
    talk = opened().client(bytes(attach), transfer(0, _body(b"x"), handle=5)).finish()
    assert len(talk.rules) == 1
    broken, sent = talk.observed[-2:]
    assert (broken.unit, broken.event, broken.content) == ("method", "attach", bytes(attach[8:]))
    assert sent.body == b"x"


# Whatever comes.


@given(st.lists(st.tuples(st.sampled_from((CLIENT, SERVER)), st.binary(max_size=200)), max_size=20))
def test_octets_of_any_kind_behind_a_header(pieces: list[tuple[str, bytes]]) -> None:
    for header in (AMQP, SASL, b"AMQP\x02\x01\0\0"):
        arrivals: Arrivals = [(CLIENT, header, 1), *[(sender, octets, 1) for sender, octets in pieces]]
        events = watch(Observer(client=CLIENT), arrivals)
        assert_accounted(events, arrivals)


_NUMBERS = st.integers(0, 3)
_RECORDS: Final[tuple[Callable[[int, bool], Any], ...]] = (
    lambda n, s: spec.Open("c", max_frame_size=512 << n, channel_max=n),
    lambda n, s: spec.Begin(n if s else None, next_outgoing_id=n, incoming_window=n, outgoing_window=n),
    lambda n, s: spec.Attach(f"l{n % 2}", n, s, initial_delivery_count=None if s else n),
    lambda n, s: spec.Attach("l", n, s, unsettled={b"t": None}, initial_delivery_count=n, incomplete_unsettled=s),
    lambda n, s: spec.Flow(n if s else None, n, n, n, n if s else None, n if s else None, n if s else None),
    lambda n, s: spec.Transfer(n, n if s else None, b"%d" % n, 0, more=s, settled=not s or None),
    lambda n, s: spec.Transfer(n, n, b"%d" % n, 0, aborted=s, resume=not s, state=amqp.Accepted()),
    lambda n, s: spec.Disposition(s, n, 3, n > 1, amqp.Accepted()),
    lambda n, s: spec.Detach(n, s),
    lambda n, s: spec.End(),
    lambda n, s: spec.Close(),
    lambda n, s: spec.SaslMechanisms((amqp.Symbol("PLAIN"),)),
    lambda n, s: spec.SaslInit(amqp.Symbol("PLAIN"), b"x"),
    lambda n, s: spec.SaslChallenge(b"x"),
    lambda n, s: spec.SaslResponse(b"x"),
    lambda n, s: spec.SaslOutcome(n),
)
_FRAMES: Final = st.lists(
    st.tuples(st.sampled_from((CLIENT, SERVER)), _NUMBERS, st.integers(0, len(_RECORDS) + 2), _NUMBERS, st.booleans()),
    max_size=80,
)


@given(_FRAMES, st.booleans())
def test_any_frames_in_any_order(frames: list[tuple[str, int, int, int, bool]], begun: bool) -> None:
    """Every frame body from either side on any channel, whatever came before."""
    talk = opened() if begun else Talk10().client(AMQP)
    for sender, channel, which, number, switch in frames:
        if which >= len(_RECORDS):
            octets = (EMPTY, AMQP, SASL)[which - len(_RECORDS)]
        else:
            record: spec.Composite = _RECORDS[which](number, switch)
            assert isinstance(record, spec.Composite)
            payload = _body(b"x") if isinstance(record, spec.Transfer) and switch else b""
            octets = frame(record, payload, channel)  # type: ignore[arg-type]
        talk.send(sender, octets)
    talk.finish()
    assert_accounted(talk.events, [(sender, what, 1) for sender, what in talk.arrivals])
    assert not [unit for unit in talk.observed if unit.unit == "unknown"]
