"""Each broken rule of 1.0 is reported once, by its full id, and the observation goes on."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import amqp_sansio
from amqp_sansio import Side
from amqp_sansio.amqp_1_0 import Accepted, Data, Error, Message, Rejected, Source, Symbol, Target
from amqp_sansio.amqp_1_0.spec import (
    Attach,
    Begin,
    Close,
    Detach,
    Disposition,
    End,
    Flow,
    Open,
    SaslInit,
    SaslMechanisms,
    SaslOutcome,
    Transfer,
)
from amqp_sansio.observer import Skipped, Violation
from tests.kit.talk_1_0 import AMQP, SASL, Talk10, begin, credit, frame, opened, settle, transfer
from tools.conformance.rules import read_rules

EMPTY = b"\0\0\0\x08\x02\0\0\0"
X = Message(b"x").encode()


def _violations(talk: Talk10) -> list[Violation]:
    return [event for event in talk.events if isinstance(event, Violation)]


def _broken(talk: Talk10) -> list[tuple[Side, str]]:
    return [(violation.sender, violation.rule) for violation in _violations(talk)]


def test_a_connection_without_faults_breaks_no_rule() -> None:
    talk = Talk10().login().open().session().sender().receiver().server(credit(0)).client(credit(1))
    talk.client(transfer(0, X)).server(settle(0, Accepted()), transfer(0, X, handle=1), EMPTY)
    talk.client(settle(0, Accepted()), EMPTY, Detach(0, True)).server(Detach(0, True))
    talk.client(End()).server(End()).client(Close()).server(Close()).finish()
    assert not _violations(talk)
    assert not [event for event in talk.events if isinstance(event, Skipped)]
    assert [unit.event for unit in talk.observed][-2:] == ["close", "close"]


def _attach(name: str = "n", handle: int = 5, **fields: Any) -> Attach:
    return Attach(name, handle, False, source=Source(), target=Target(), initial_delivery_count=0, **fields)


def _credit(**fields: Any) -> Flow:
    return credit(0).replace(**fields)  # type: ignore[return-value]


def _settled_mode(mode: int) -> Talk10:
    talk = opened().sender("other", handle=2, snd_settle_mode=mode)
    return talk.server(credit(2))


_ONCE: list[tuple[str, Callable[[], Talk10]]] = [
    ("transport/connection/open-channel-0", lambda: Talk10().client(AMQP + frame(Open("c"), channel=1))),
    ("transport/connection/open-first", lambda: Talk10().client(AMQP, begin()).server(AMQP, Open("s"))),
    ("transport/connection/open-first", lambda: Talk10().client(AMQP, AMQP)),
    ("transport/version/header-first", lambda: Talk10().client(SASL, Open("c"))),
    ("transport/connection/idle-empty-when", lambda: Talk10().client(AMQP, EMPTY)),
    ("transport/close/nothing-after", lambda: opened().client(Close(), End(), Detach(0))),
    ("transport/open/channel-max", lambda: opened().client(begin(), channel=256)),
    ("transport/session.state/unmapped", lambda: opened().client(frame(End(), channel=9))),
    ("transport/session.state/mapped", lambda: opened().client(begin())),
    ("transport/session/remote-channel-answer", lambda: opened().client(begin(7), channel=9)),
    ("transport/link/handle-in-use", lambda: opened().client(_attach(handle=0))),
    ("transport/link/unattached-handle", lambda: opened().client(transfer(0, X, handle=9))),
    ("transport/link/unattached-handle", lambda: opened().client(Detach(9))),
    ("transport/link/unattached-handle", lambda: opened().client(_credit(handle=9))),
    (
        "transport/attach/initial-delivery-count",
        lambda: opened().client(Attach("n", 5, False, source=Source(), target=Target())),
    ),
    ("transport/attach/unsettled-keys", lambda: opened().client(_attach(unsettled={Symbol("k"): None}))),
    ("transport/flow/no-handle", lambda: opened().client(_credit(handle=None))),
    ("transport/flow/next-incoming-id", lambda: opened().server(_credit(next_incoming_id=None))),
    ("transport/flow/delivery-count-sender", lambda: opened().client(_credit(delivery_count=None))),
    ("transport/transfer/delivery-id", lambda: opened().client(transfer(None, X))),
    ("transport/transfer/delivery-tag", lambda: opened().client(frame(Transfer(0, 0, None, 0), X))),
    (
        "transport/transfer/message-format",
        lambda: opened().client(transfer(0, X, more=True), Transfer(0, message_format=1)),
    ),
    ("transport/delivery/tag-unique", lambda: opened().client(transfer(0, X), transfer(0, X))),
    ("transport/delivery/tag-unique", lambda: opened().client(transfer(0, X), transfer(1, X, tag=b"0"))),
    (
        "transport/transfer/settled-mode-unsettled",
        lambda: _settled_mode(0).client(transfer(0, X, handle=2, settled=True)),
    ),
    ("transport/transfer/settled-mode-settled", lambda: _settled_mode(1).client(transfer(0, X, handle=2))),
    ("transport/transfer/aborted", lambda: opened().client(transfer(0, b"", aborted=True))),
    ("transport/transfer/rcv-illegal", lambda: opened().client(transfer(0, X, rcv_settle_mode=1))),
    ("transport/transfer/resume-own-map", lambda: opened().client(transfer(0, X, resume=True))),
    ("transport/disposition/range", lambda: opened().client(transfer(0, X)).server(settle(5, Accepted(), 3))),
    (
        "delivery-state/terminal-final",
        lambda: opened().client(transfer(0, X)).server(settle(0, Accepted(), settled=False), settle(0, Rejected())),
    ),
    ("security/sasl/roles", lambda: Talk10().client(SASL, SaslOutcome(0))),
    ("security/sasl/mechanisms-first", lambda: Talk10().client(SASL).server(SASL, SaslOutcome(0))),
    (
        "security/sasl/mechanisms-first",
        lambda: (
            Talk10().client(SASL).server(SASL, SaslMechanisms((Symbol("PLAIN"),))).client(SaslInit(Symbol("ANONYMOUS")))
        ),
    ),
    ("security/sasl/frame-empty", lambda: Talk10().client(SASL, b"\0\0\0\x08\x02\1\0\0")),
    ("security/sasl/frame-max", lambda: Talk10().client(SASL).server(SASL, SaslMechanisms((Symbol("PLAIN" * 110),)))),
    ("transport/version/data-match", lambda: Talk10().client(AMQP, SASL)),
    ("transport/version/data-match", lambda: Talk10().client(AMQP, b"AMQP\0\0\x09\x01")),
    ("transport/frame/type", lambda: opened().client(SaslInit(Symbol("PLAIN")))),
    ("transport/frame/type", lambda: opened().client(b"\0\0\0\x08\x02\2\0\0")),
    ("transport/frame/doff", lambda: opened().client(b"\0\0\0\x08\x01\0\0\0")),
    ("transport/frame/doff", lambda: opened().client(b"\0\0\0\x0c\x04\0\0\0\0\0\0\0")),
    ("transport/frame/size", lambda: opened().client(b"\0\0\0\x04\x02\0\0\0")),
    ("transport/frame/performative", lambda: opened().client(b"\0\0\0\x0c\x02\0\0\0\0\x53\x70\x45")),
    ("transport/frame/performative", lambda: opened().client(frame(End()).replace(b"\x0c", b"\x0d") + b"?")),
    ("types/field-mandatory", lambda: opened().client(b"\0\0\0\x0c\x02\0\0\0\0\x53\x15\x45")),
    ("message/section-order", lambda: opened().client(transfer(0, X + Message(b"", header=None).encode()[:0] + b"?"))),
    ("message/body-choice", lambda: opened().client(transfer(0, Data(b"x").encode() + Message([1]).encode()))),
    ("application-properties/keys", lambda: opened().client(transfer(0, b"\0\x53\x74\xc1\x05\x02\xa0\x01a\x40" + X))),
]


@pytest.mark.parametrize(("rule", "build"), _ONCE, ids=[f"{rule}-{number}" for number, (rule, _) in enumerate(_ONCE)])
@pytest.mark.rule(*[f"1.0/{rule}" for rule in sorted({rule for rule, _ in _ONCE})])
def test_a_broken_rule_is_reported_once(rule: str, build: Callable[[], Talk10]) -> None:
    talk = build()
    assert [violation.rule for violation in _violations(talk)] == [f"1.0/{rule}"]
    (violation,) = _violations(talk)
    assert violation.severity == "error"
    assert violation.text
    if violation.seq is not None:
        unit = talk.observed[violation.seq]
        assert (unit.sender, unit.offset, unit.at_ns) == (violation.sender, violation.offset, violation.at_ns)
    # What comes then is read as before.
    talk.client(transfer(40, X, channel=50), credit(7)).finish()
    assert [unit.event for unit in talk.observed][-2:] == ["transfer", "flow"]


# The books go on.


@pytest.mark.rule("1.0/transport/error/transfer-limit", "1.0/transport/flow/no-credit")
def test_beyond_the_credit() -> None:
    talk = Talk10().open().session().sender().server(credit(0, 1))
    talk.client(transfer(0, X), transfer(1, X), transfer(2, X))
    first = len(_violations(talk))
    assert {rule for _, rule in _broken(talk)} == {"1.0/transport/error/transfer-limit"}
    assert first
    talk.server(settle(0, Accepted(), 2), _credit(delivery_count=3, link_credit=2, next_incoming_id=3))
    talk.client(transfer(3, X), transfer(4, X))
    assert len(_violations(talk)) == first
    talk.client(transfer(5, X), transfer(6, X), transfer(7, X), transfer(8, X)).finish()
    assert len(_violations(talk)) > first
    assert len([unit for unit in talk.observed if unit.body == b"x"]) == 9


@pytest.mark.rule("1.0/transport/session.window/violation", "1.0/transport/session.window/remote-incoming")
def test_beyond_the_window() -> None:
    narrow = Begin(next_outgoing_id=0, incoming_window=2, outgoing_window=2)
    talk = Talk10().open().client(narrow).server(narrow.replace(remote_channel=0)).sender()
    talk.server(Flow(0, 2, 0, 2, 0, 0, 50)).client(*[transfer(number, X) for number in range(4)])
    assert _broken(talk) == [(Side.CLIENT, "1.0/transport/session.window/violation")]
    talk.server(Flow(4, 2, 0, 2)).client(transfer(4, X), transfer(5, X))
    assert len(_violations(talk)) == 1
    talk.client(transfer(6, X))
    assert _broken(talk) == [(Side.CLIENT, "1.0/transport/session.window/violation")] * 2


@pytest.mark.rule("1.0/transport/open/max-frame-size")
def test_frames_above_the_max_frame_size_of_the_other_side() -> None:
    talk = Talk10().open(max_frame_size=600).session().receiver().client(credit(1))
    talk.server(transfer(0, Message(bytes(700)).encode(), handle=1), transfer(1, X, handle=1)).finish()
    assert _broken(talk) == [(Side.SERVER, "1.0/transport/open/max-frame-size")]
    assert [unit.body_size for unit in talk.observed[-2:]] == [700, 1]


@pytest.mark.rule("1.0/transport/connection/pre-open-limits", "1.0/transport/connection/pipelined")
def test_what_is_pipelined_must_fit_the_open_that_comes() -> None:
    big = Open("c", properties={"k": "v" * 200, "l": "w" * 200, "m": "x" * 200})
    fits = Talk10().client(AMQP, big, frame(begin(), channel=7)).server(AMQP, Open("s", channel_max=7))
    assert not _violations(fits)
    small = Open("s", max_frame_size=512, channel_max=6)
    talk = Talk10().client(AMQP, big, frame(begin(), channel=7)).server(AMQP, small).finish()
    assert _broken(talk) == [(Side.CLIENT, "1.0/transport/connection/pre-open-limits")] * 2
    assert [(violation.seq, violation.offset) for violation in _violations(talk)] == [(1, 8), (2, 8 + len(frame(big)))]


@pytest.mark.rule("1.0/transport/transfer/no-interleave", "1.0/transport/transfer/delivery-id")
def test_a_delivery_within_another_ends_it() -> None:
    talk = opened().client(transfer(0, X[:4], more=True), transfer(1, X), transfer(2, X)).finish()
    assert _broken(talk) == [(Side.CLIENT, "1.0/transport/transfer/delivery-id")]
    assert [unit.body for unit in talk.observed[-3:]] == [None, b"x", b"x"]


@pytest.mark.rule("1.0/transport/transfer/aborted", "1.0/transport/transfer/aborted-payload")
def test_an_aborted_delivery_is_partial_and_breaks_no_rule() -> None:
    talk = opened().client(transfer(0, X[:4], more=True), transfer(None, b"junk", aborted=True, more=True))
    talk.client(transfer(1, X)).finish()
    assert not _violations(talk)
    part, partial, content = talk.observed[-3:]
    assert (part.unit, partial.unit, content.unit) == ("part", "partial", "content")
    assert (partial.body, partial.content.aborted) == (None, True)


@pytest.mark.rule("1.0/transport/attach/max-message-size")
def test_a_message_above_the_max_message_size() -> None:
    talk = Talk10().open().session()
    talk.client(_attach("out", 0)).server(Attach("out", 0, True, source=Source(), target=Target(), max_message_size=20))
    talk.server(credit(0)).client(transfer(0, Message(bytes(30)).encode()), transfer(1, X)).finish()
    assert _broken(talk) == [(Side.CLIENT, "1.0/transport/attach/max-message-size")]
    assert [unit.body_size for unit in talk.observed[-2:]] == [30, 1]


@pytest.mark.rule("1.0/transport/session/handle-max")
def test_a_handle_above_the_handle_max() -> None:
    answer = Begin(0, next_outgoing_id=0, incoming_window=9, outgoing_window=9, handle_max=3)
    talk = Talk10().open().client(begin()).server(answer).client(_attach(handle=4))
    talk.client(Detach(4, True)).finish()
    assert _broken(talk) == [(Side.CLIENT, "1.0/transport/session/handle-max")]


@pytest.mark.rule("1.0/transport/link/errant-link", "1.0/transport/link/resume-unsettled-nonnull")
def test_a_link_that_failed_is_attached_anew() -> None:
    talk = opened().server(Detach(0, error=Error(Symbol("amqp:internal-error")))).client(Detach(0))
    talk.client(_attach("out", 0), _attach("more", 3)).finish()
    assert _broken(talk) == [(Side.CLIENT, "1.0/transport/link/errant-link")]


@pytest.mark.rule("1.0/transport/transfer/rcv-second")
def test_the_receiver_settles_first_in_mode_second() -> None:
    talk = Talk10().open().session()
    second = Attach("out", 0, True, source=Source(), target=Target(), rcv_settle_mode=1)
    talk.client(_attach("out", 0, rcv_settle_mode=1)).server(second).server(credit(0))
    talk.client(transfer(0, X), transfer(1, X)).server(settle(0, Accepted()))
    assert _broken(talk) == [(Side.SERVER, "1.0/transport/transfer/rcv-second")]
    talk.server(settle(1, Accepted(), settled=False)).client(settle(1, Accepted(), role=False)).finish()
    assert len(_violations(talk)) == 1


@pytest.mark.rule("1.0/security/sasl/outcome")
def test_the_server_goes_on_after_a_failed_login() -> None:
    talk = Talk10().client(SASL).server(SASL, SaslMechanisms((Symbol("PLAIN"),)))
    talk.client(SaslInit(Symbol("PLAIN"), b"\0a\0b")).server(SaslOutcome(1), AMQP).finish()
    assert _broken(talk) == [(Side.SERVER, "1.0/security/sasl/outcome")]


# What peers do, and everybody puts up with.


@pytest.mark.parametrize("late", [Flow(0, 9, 0, 9), Close()])
def test_a_flow_or_close_behind_the_close_is_a_warning(late: Any) -> None:
    talk = opened().client(Close()).server(Close(), late).finish()
    assert _broken(talk) == [(Side.SERVER, "1.0/transport/close/nothing-after")]
    assert _violations(talk)[0].severity == "warning"


@pytest.mark.parametrize("late", [Detach(0), End(), _credit(), transfer(0, X), Disposition(True, 0), _attach()])
@pytest.mark.parametrize("side", list(Side))
def test_what_comes_behind_the_end_of_its_session_is_a_warning(side: Side, late: Any) -> None:
    ended = opened().client(End()).server(End())
    talk = ended.client(late) if side is Side.CLIENT else ended.server(late)
    told = [(side, "1.0/transport/session.state/unmapped")]
    assert _broken(talk) == told
    assert [each.severity for each in _violations(talk)] == ["warning"]
    # Nothing is held to be open by it: the next session there is judged as ever.
    assert _broken(talk.client(begin()).server(begin(0))) == told


def test_a_flow_without_delivery_count_is_a_warning() -> None:
    talk = Talk10().open().session().sender().server(_credit(delivery_count=None))
    talk.client(transfer(0, X)).finish()
    assert _broken(talk) == [(Side.SERVER, "1.0/transport/flow/delivery-count-receiver")]
    assert _violations(talk)[0].severity == "warning"


def test_behind_a_gap_a_flow_without_delivery_count_is_no_warning() -> None:
    talk = Talk10().open().session().sender().gap("server", 100).server(_credit(delivery_count=None)).finish()
    assert not _violations(talk)


@pytest.mark.rule("1.0/transport/transfer/message-format")
def test_a_first_transfer_without_message_format_is_a_warning() -> None:
    talk = opened().client(frame(Transfer(0, 0, b"t"), X)).finish()
    assert talk.rules == ["1.0/transport/transfer/message-format"]
    assert _violations(talk)[0].severity == "warning"
    assert talk.last().body == b"x"


@pytest.mark.rule("1.0/application-properties/keys", "1.0/annotations/keys")
@pytest.mark.parametrize(
    ("rule", "section"),
    [
        ("application-properties/keys", b"\0\x53\x74\xc1\x05\x02\xa3\x01a\x40"),
        ("annotations/keys", b"\0\x53\x72\xc1\x05\x02\xa1\x01a\x40"),
    ],
)
def test_a_map_with_names_of_another_type_is_a_warning(rule: str, section: bytes) -> None:
    talk = opened().client(transfer(0, section + X)).finish()
    assert talk.rules == [f"1.0/{rule}"]
    assert _violations(talk)[0].severity == "warning"
    assert talk.last().body == b"x"


@pytest.mark.rule("1.0/transport/open/max-frame-size-min")
def test_a_max_frame_size_below_512_is_a_warning() -> None:
    talk = Talk10().client(AMQP, Open("c", max_frame_size=100)).server(AMQP, Open("s")).finish()
    assert _broken(talk) == [(Side.CLIENT, "1.0/transport/open/max-frame-size-min")]
    assert _violations(talk)[0].severity == "warning"


# Races: what a sender can't have known is no fault of it.


@pytest.mark.rule("1.0/transport/session.state/end-sent", "1.0/transport/link/detach")
def test_frames_that_cross_an_end_or_detach_are_no_fault() -> None:
    talk = opened().server(Detach(0, True)).client(transfer(0, X), credit(1)).server(credit(0))
    assert _broken(talk) == [(Side.SERVER, "1.0/transport/link/unattached-handle")]
    talk = opened().server(End()).client(transfer(0, X), credit(1), _attach("n", 7), Detach(0, True), End()).finish()
    assert not _violations(talk)


def test_credit_that_is_taken_back_may_have_been_used() -> None:
    talk = Talk10().open().session().sender().server(credit(0, 5), credit(0, 0))
    talk.client(*[transfer(number, X) for number in range(5)]).finish()
    assert not _violations(talk)


def test_deliveries_that_both_sides_settle_are_no_fault() -> None:
    talk = opened().client(transfer(0, X)).server(settle(0, Accepted())).client(settle(0, role=False))
    talk.server(settle(0, Accepted())).finish()
    assert not _violations(talk)


# The ids.


def test_every_rule_that_is_named_is_numbered() -> None:
    """The rules in the sources of 1.0 are those of the list."""
    known = {rule.short_id.removeprefix("1.0/") for rule in read_rules()}
    folder = Path(amqp_sansio.__file__).parent / "amqp_1_0"
    prefixes = ("transport/", "security/", "message/")
    found: set[str] = set()
    for path in (*folder.glob("observer/*.py"), *folder.glob("model/*.py")):
        for part in path.read_text().split('"')[1::2]:
            if part.startswith(prefixes) and not set(part) & set(" {"):
                found.add(part)
    assert len(found) > 20
    assert found <= known
