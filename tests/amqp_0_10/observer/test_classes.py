"""The observer on commands of 0-10's classes 4 to 10: what their sender did wrong, and what isn't held against it."""

import pickle
from typing import Any

import pytest

from amqp_sansio import Limits
from amqp_sansio import amqp_0_10 as amqp
from amqp_sansio.amqp_0_10 import spec
from amqp_sansio.amqp_0_10.codec.record import encode_headers
from tests.kit.observing import CLIENT, SERVER, take
from tests.kit.talk_0_10 import Talk010, completed, frames, stage, transfer
from tools.conformance.rules import read_rules

XID = spec.Xid(1, b"g", b"b")
OTHER = spec.Xid(1, b"g", b"c")


def _talk(**options: Any) -> Talk010:
    return Talk010(**options).open().session()


def _ids(*ids: int) -> amqp.SequenceSet:
    return amqp.SequenceSet.of(*ids)


def _flow(messages: int | None = None, octets: int | None = None) -> list[spec.MessageFlow]:
    return [spec.MessageFlow("d", 0, messages), spec.MessageFlow("d", 1, octets)]


def _open(messages: int | None = None, octets: int | None = None, **options: Any) -> Talk010:
    """A subscription with credit; its commands have the ids 0 to 2."""
    return _talk(**options).subscribe().client(*_flow(messages, octets))


def _client(*what: Any) -> Talk010:
    return _talk().client(*what)


def _dtx(*what: Any) -> Talk010:
    return _client(spec.DtxSelect(), *what)


SIZE = len(encode_headers((amqp.DeliveryProperties(routing_key="key"), amqp.MessageProperties())))
"""The octets of the header segment that `transfer` makes."""

_RULES: list[tuple[str, Any]] = [
    (
        "message.set-flow-mode/mode-switching",
        lambda: (
            _open()
            .client(spec.MessageCancel("d"))
            .subscribe()
            .server(completed(0, 1, 2, 3, 4))
            .client(*_flow(1), spec.MessageSetFlowMode("d", 0))
        ),
    ),
    ("tx.select/exactly-once", lambda: _client(spec.TxSelect(), spec.TxSelect())),
    ("tx.select/no-dtx", lambda: _client(spec.DtxSelect(), spec.TxSelect())),
    ("tx.select/explicit-accepts", lambda: _talk().subscribe(accept_mode=1).client(spec.TxSelect())),
    ("tx.select/explicit-accepts", lambda: _client(spec.TxSelect()).subscribe(accept_mode=1)),
    ("tx.commit/select-required", lambda: _client(spec.TxCommit())),
    ("tx.rollback/select-required", lambda: _client(spec.TxRollback())),
    ("dtx.select/required", lambda: _client(spec.DtxStart(XID))),
    ("dtx.start/join-and-resume", lambda: _dtx(spec.DtxStart(XID, True, True))),
    # The context is looked at before the xid, as a server does.
    ("dtx.start/illegal-state", lambda: _dtx(spec.DtxStart(XID), spec.DtxStart(XID))),
    ("dtx.start/illegal-state", lambda: _dtx(spec.DtxStart(XID), spec.DtxStart(OTHER))),
    (
        "dtx.end/suspend",
        lambda: _dtx(spec.DtxStart(XID), spec.DtxEnd(XID, suspend=True), spec.DtxStart(XID, join=True)),
    ),
    ("dtx.end/suspend-and-fail", lambda: _dtx(spec.DtxStart(XID), spec.DtxEnd(XID, True, True))),
    ("dtx.end/not-associated", lambda: _dtx(spec.DtxStart(XID), spec.DtxEnd(OTHER))),
    ("dtx.end/not-associated", lambda: _dtx(spec.DtxStart(XID), spec.DtxEnd(XID), spec.DtxEnd(XID))),
    # Unlike XA, 0-10 wants a suspended branch to be resumed before it ends.
    ("dtx.end/not-associated", lambda: _dtx(spec.DtxStart(XID), spec.DtxEnd(XID, suspend=True), spec.DtxEnd(XID))),
    ("dtx.commit/not-disassociated", lambda: _dtx(spec.DtxStart(XID), spec.DtxCommit(XID))),
    ("dtx.prepare/not-disassociated", lambda: _dtx(spec.DtxStart(XID), spec.DtxPrepare(XID))),
    ("dtx.rollback/not-disassociated", lambda: _dtx(spec.DtxStart(XID), spec.DtxRollback(XID))),
    ("dtx.forget/not-disassociated", lambda: _dtx(spec.DtxStart(XID), spec.DtxForget(XID))),
    ("dtx.commit/two-phase", lambda: _client(spec.DtxPrepare(XID), spec.DtxCommit(XID, one_phase=True))),
    ("file.consume/queue-empty", lambda: _client(spec.FileConsume("", "t"))),
    ("file.consume/tag-empty", lambda: _client(spec.FileConsume("q", " "))),
    ("file.consume/tag-in-use", lambda: _client(spec.FileConsume("q", "t"), spec.FileConsume("q", "t"))),
    ("stream.consume/queue-empty", lambda: _client(spec.StreamConsume(None, "t"))),
    ("stream.consume/tag-empty", lambda: _client(spec.StreamConsume("q"))),
    ("stream.consume/tag-in-use", lambda: _client(*[spec.StreamConsume("q", "t")] * 2)),
    ("file.deliver/non-zero", lambda: _talk().server(spec.FileDeliver("t", 0))),
    ("file.ack/session-local", lambda: _talk().server(spec.FileDeliver("t", 1)).client(spec.FileAck(2))),
    (
        "file.reject/session-local",
        lambda: _talk().session(1, b"two").server(spec.FileDeliver("t", 7), channel=1).client(spec.FileReject(7)),
    ),
    (
        "file.open/content-size",
        lambda: _client(spec.FileOpen("i", 9)).server(spec.FileOpenOk(4)).client(stage(b"sixoct")),
    ),
    ("file.open-ok/behavior", lambda: _client(spec.FileOpen("i", 1)).client(stage(b"x")).server(spec.FileOpenOk(0))),
    ("message.accept/acquisition", lambda: _open().server(transfer("d")).client(_accept(1))),
    ("message.accept/acquisition", lambda: _open().server(transfer("d"), spec.ExecutionSync()).client(_accept(1))),
    ("message.accept/acquisition", lambda: _given().client(_accept(0), _accept(0))),
    ("message.accept/acquisition", lambda: _given().client(_accept(0), spec.MessageRelease(_ids(0)))),
    ("message.reject/acquisition", lambda: _given().client(_accept(0), spec.MessageReject(_ids(0), 0))),
    ("message.accept/acquisition", lambda: _given(acquire_mode=1).client(_accept(0))),
    ("message.accept/acquisition", lambda: _client(transfer("x")).server(*[_accept(0)] * 2)),
    ("message.cancel/not-found", lambda: _client(spec.MessageCancel("d"))),
    ("message.cancel/not-found", lambda: _client(spec.MessageStop("d"))),
    ("message.cancel/not-found", lambda: _open().client(spec.MessageCancel("d"), _flow(1)[0])),
    ("message.set-flow-mode/mode-switching", lambda: _open(1).client(spec.MessageSetFlowMode("d", 0))),
    (
        "message.set-flow-mode/mode-switching",
        lambda: _open(1, SIZE).server(_bare()).client(completed(0), spec.MessageSetFlowMode("d", 0)),
    ),
    ("message.subscribe/zero-credit", lambda: _talk().server(transfer("d"))),
    ("message.subscribe/zero-credit", lambda: _talk().subscribe().server(transfer("d"))),
    ("message.subscribe/zero-credit", lambda: _open(2).server(*[transfer("d")] * 3)),
    (
        "message.subscribe/zero-credit",
        lambda: _open().client(spec.MessageCancel("d")).server(completed(0, 1, 2, 3), transfer("d")),
    ),
    (
        "message.subscribe/zero-credit",
        lambda: (
            _talk()
            .subscribe()
            .client(spec.MessageSetFlowMode("d", 0), *_flow(1))
            .server(transfer("d"))
            .client(completed(0))
            .server(transfer("d"))
        ),
    ),
    ("message.set-flow-mode/byte-accounting", lambda: _open(None, SIZE).server(transfer("d", b"x"))),
    ("message.stop/zero", lambda: _open().client(spec.MessageStop("d")).server(completed(3), transfer("d"))),
    ("message.flush/zero", lambda: _open().client(spec.MessageFlush("d")).server(completed(3), transfer("d"))),
    ("session/exactly-once", lambda: _client(spec.ExecutionSync()).server(completed(0, 1))),
]


def _accept(*ids: int) -> spec.MessageAccept:
    return spec.MessageAccept(_ids(*ids))


def _given(**fields: Any) -> Talk010:
    return _open().server(transfer("d", **fields))


def _bare() -> bytes:
    return transfer("d", None)


@pytest.mark.parametrize(("rule", "make"), _RULES, ids=[f"{n}-{rule}" for n, (rule, _) in enumerate(_RULES)])
@pytest.mark.rule(*{f"0-10/{rule}" for rule, _ in _RULES})
def test_a_broken_rule_is_told_once(rule: str, make: Any) -> None:
    talk = make()
    assert talk.rules == [rule]
    talk.finish()
    assert talk.rules == [rule]


@pytest.mark.parametrize("make", [make for _, make in _RULES], ids=[f"{n}" for n in range(len(_RULES))])
def test_a_session_that_may_go_on_is_not_judged(make: Any) -> None:
    """The same octets, behind a session.attach that takes the session from elsewhere."""
    told = make()
    attach, forced = frames(spec.SessionAttach(b"s")), frames(spec.SessionAttach(b"s", force=True))
    talk = Talk010()
    for sender, what in told.arrivals:
        assert isinstance(what, bytes)
        talk.send(sender, what.replace(attach, forced))
    assert not talk.finish().rules


@pytest.mark.parametrize("make", [make for _, make in _RULES])
def test_what_a_gap_hides_is_not_held_against_anybody(make: Any) -> None:
    told = make()
    for cut in (CLIENT, SERVER):
        for place in range(9, len(told.arrivals)):
            talk = Talk010()
            for number, (sender, what) in enumerate(told.arrivals):
                assert isinstance(what, bytes)
                if number == place:
                    talk.gap(cut, 40)
                if number >= place and sender == cut:
                    continue
                talk.send(sender, what)
            assert set(talk.finish().rules) <= set(told.rules)


@pytest.mark.parametrize("make", [make for _, make in _RULES])
def test_a_pickled_observer_judges_alike_wherever_arrivals_are_cut(make: Any) -> None:
    told = make().finish()
    observer = Talk010().observer
    events: list[Any] = []
    now = 0
    for sender, what in told.arrivals:
        assert isinstance(what, bytes)
        now += 1_000_000_000
        for begin in range(0, len(what), 5):
            observer.receive_data(what[begin : begin + 5], sender, now)
            observer = pickle.loads(pickle.dumps(observer))
            events += take(observer)
    observer.finish(now + 1_000_000_000)
    events += take(observer)
    assert events == told.events


# What isn't held against anybody.

_ALLOWED: list[Any] = [
    lambda: _client(spec.FileOpen("i", 9)).server(spec.FileOpenOk(4)).client(stage(b"fiveo")),
    lambda: _client(spec.FileOpen("i", 3)).server(spec.FileOpenOk(4)).client(stage(b"fiveo")),
    lambda: _dtx(
        spec.DtxPrepare(XID),
        spec.DtxCommit(XID),
        spec.DtxCommit(XID, True),
        spec.DtxPrepare(XID),
        spec.DtxStart(XID),
        spec.DtxEnd(XID),
        spec.DtxCommit(XID, True),
    ),
    lambda: _open(1, SIZE).server(_bare()).client(spec.MessageSetFlowMode("d", 0), completed(0)).server(_bare()),
    lambda: (
        _open(1).client(spec.MessageStop("d"), *_flow(1, SIZE)).server(_bare()).client(spec.MessageSetFlowMode("d", 0))
    ),
    lambda: (
        _open(1)
        .client(spec.MessageStop("d"), *_flow(1), spec.MessageCancel("d"))
        .server(completed(0, 1, 2, 3, 4, 5), transfer("d"))
    ),
    lambda: _client(spec.DtxSelect(), spec.DtxSelect()),
    lambda: _dtx(spec.DtxStart(XID), spec.DtxEnd(XID, suspend=True), spec.DtxStart(XID, resume=True), spec.DtxEnd(XID)),
    lambda: _dtx(spec.DtxStart(XID), spec.DtxEnd(XID), spec.DtxPrepare(XID), spec.DtxCommit(XID)),
    lambda: (
        _dtx(spec.DtxStart(XID))
        .server(spec.ExecutionResult(1, spec.XaResult(1)))
        .client(spec.DtxStart(OTHER), spec.DtxEnd(OTHER), spec.DtxEnd(XID))
    ),
    lambda: _talk().subscribe(accept_mode=1).client(spec.MessageCancel("d"), spec.TxSelect()),
    lambda: _client(spec.FileConsume("q", "t"), spec.FileCancel("t"), spec.FileConsume("q", "t")),
    lambda: _client(spec.FileConsume("q", "t"), spec.StreamConsume("q", "t"), spec.StreamCancel("t")),
    lambda: (
        _talk()
        .server(*[spec.FileDeliver("t", tag) for tag in (9, 1, 2)])
        .client(spec.FileAck(9), spec.FileAck(2, multiple=True), spec.FileAck(0, multiple=True), spec.FileReject(1))
    ),
    # After a rollback the client holds what it had accepted.
    lambda: (
        _open()
        .client(spec.TxSelect())
        .server(*[transfer("d")] * 2)
        .client(_accept(0, 1), spec.TxRollback(), _accept(1), spec.MessageRelease(_ids(0)), spec.TxCommit())
    ),
    lambda: _given(acquire_mode=1).client(spec.MessageAcquire(_ids(0)), _accept(0)),
    lambda: _given(acquire_mode=1).client(spec.MessageRelease(_ids(0))),
    # Credit that is taken back counts until the server has heard of it.
    lambda: _open(1).client(spec.MessageStop("d"), *_flow(1)).server(*[transfer("d")] * 2),
    lambda: _open().client(spec.MessageCancel("d")).server(transfer("d"), completed(0, 1, 2, 3)),
    lambda: _open().client(spec.MessageCancel("d")).subscribe().server(transfer("d")),
    lambda: _open(1).server(transfer("d")).client(completed(0)).server(transfer("d")),
    lambda: _open(None, SIZE).server(_bare()).client(completed(0)).server(_bare()),
    lambda: _open(1, SIZE).server(_bare()).client(spec.MessageSetFlowMode("d", 0)),
    lambda: _open().client(spec.MessageStop("d"), spec.MessageSetFlowMode("d", 0)),
    lambda: (
        _open().client(spec.MessageStop("d")).server(completed(3)).client(spec.MessageSetFlowMode("d", 0), *_flow(1))
    ),
    lambda: _talk().server(spec.MessageFlow("amq.direct", 0, 5), spec.MessageStop("")),
    lambda: _client(spec.ExecutionSync(), spec.SessionGap(_ids(1, 2))).server(completed(0, 1, 2)),
]


@pytest.mark.parametrize("make", _ALLOWED)
@pytest.mark.rule(
    "0-10/tx.rollback/keeps-acquired",
    "0-10/message.flow/infinite",
    "0-10/message.set-flow-mode/default",
    "0-10/message.subscribe/window-default",
    "0-10/dtx.end/success",
)
def test_what_the_sender_may_do(make: Any) -> None:
    assert not make().finish().rules


def test_a_session_that_is_attached_again_is_not_judged() -> None:
    talk = _open().server(transfer("d")).client(_accept(0), spec.SessionDetach(b"s"))
    talk.server(spec.SessionDetached(b"s", 0)).client(spec.SessionAttach(b"s"), spec.SessionCommandPoint(0, 0))
    talk.server(spec.SessionAttached(b"s"), completed(0, 1, 2, 3), spec.SessionCommandPoint(0, 0))
    talk.client(_accept(0), spec.TxCommit())
    assert not talk.finish().rules


@pytest.mark.parametrize("number", [0, 5])
def test_a_session_that_the_other_side_knows_is_not_new(number: int) -> None:
    talk = Talk010().open().client(spec.SessionAttach(b"s"), spec.SessionFlush(expected=True))
    expected = spec.SessionExpected(_ids(5))
    talk.server(spec.SessionAttached(b"s"), expected).client(spec.SessionCommandPoint(number, 0))
    talk.server(completed(0, 1, 2, 3, 4)).client(spec.TxCommit(), spec.MessageStop("d"))
    assert not talk.finish().rules


def test_a_command_point_that_goes_back_ends_the_judging() -> None:
    talk = _client(spec.TxSelect(), spec.SessionCommandPoint(1, 0), spec.TxCommit())
    talk.client(spec.SessionCommandPoint(0, 0), spec.TxSelect(), spec.TxCommit())
    assert not talk.finish().rules


def test_a_command_that_cannot_be_read_ends_the_judging() -> None:
    talk = _client(b"\x0f\x01\x00\x12\x00\x01\x00\x00\x00\x00\x00\x00\x05\x01\x01\x00\x00\x00")
    assert not talk.rules
    damaged = b"\x0f\x01\x00\x12\x00\x01\x00\x00\x00\x00\x00\x00\x05\x63\x01\x00\x00\x00"
    talk = _client(damaged, spec.TxCommit())
    assert talk.rules == ["wire/struct-code"]


# What answers what.


def test_commands_that_answer_commands() -> None:
    talk = _client(spec.FileConsume("q", "t", nowait=True), spec.FileConsume("q", "u"), spec.FileOpen("a", 1))
    talk.client(spec.FileOpen("b", 2)).server(spec.FileConsumeOk("u"), spec.FileOpenOk(0), spec.FileOpenOk(0))
    talk.client(stage(b"x"), stage(b"yy")).finish()
    by_seq = {unit.seq: unit for unit in talk.observed}
    answered = [
        (unit.event, by_seq[unit.answers].event, by_seq[unit.answers].content)
        for unit in talk.observed[-5:]
        if unit.answers is not None
    ]
    assert [(event, asked) for event, asked, _ in answered] == [
        ("file.consume-ok", "file.consume"),
        ("file.open-ok", "file.open"),
        ("file.open-ok", "file.open"),
        ("file.stage", "file.open-ok"),
        ("file.stage", "file.open-ok"),
    ]
    assert answered[0][2] == spec.FileConsume("q", "u")
    assert [content for _, _, content in answered[1:3]] == [spec.FileOpen("a", 1), spec.FileOpen("b", 2)]
    assert not talk.rules


def test_behind_a_gap_nothing_is_answered_that_may_have_been() -> None:
    talk = _client(spec.FileConsume("q", "t")).gap("server", 40).client(spec.FileConsume("q", "u"))
    asked = talk.observed[-1]
    talk.server(spec.FileConsumeOk("u"))
    assert talk.finish().observed[-1].answers == asked.seq


# Limits.


def test_beyond_the_limits_nothing_is_judged() -> None:
    limits = Limits(calls=4, consumers=4)
    names = [spec.MessageSubscribe("q", f"d{n}", 0, 0) for n in range(9)]
    talk = _talk(limits=limits).client(*names, spec.MessageCancel("x")).server(transfer("x"))
    talk.client(*[spec.FileConsume("q", f"t{n}") for n in range(9)], spec.FileConsume("q", "t8"))
    talk.server(*[spec.FileDeliver("t", tag) for tag in range(1, 90, 3)]).client(spec.FileAck(2))
    talk.client(spec.DtxSelect(), *[each for n in range(9) for each in _branch(n)])
    talk.client(*[spec.FileOpen("i", 1)] * 9)
    talk.server(*[spec.FileOpenOk(0)] * 9).client(*[stage(b"xyz")] * 9)
    assert not talk.finish().rules


def _branch(number: int) -> list[Any]:
    xid = spec.Xid(number, b"g", b"")
    return [spec.DtxStart(xid), spec.DtxEnd(xid, suspend=True)]


def test_messages_beyond_the_limit_are_forgotten() -> None:
    talk = _open(limits=Limits(calls=4)).client(spec.TxSelect()).server(*[transfer("d")] * 9)
    talk.client(_accept(0), _accept(8), _accept(7, 6), _accept(5))
    assert not talk.rules
    assert talk.client(_accept(8)).rules == ["message.accept/acquisition"]
    talk.server(*[transfer("d")] * 4).client(_accept(9, 10, 11, 12), spec.TxRollback())
    # More than can be known was accepted: what the rollback gives back is anything before it.
    talk.client(_accept(6, 9))
    assert len(talk.finish().rules) == 1


def test_stops_without_end_hold_little() -> None:
    talk = _open(3).client(*[spec.MessageStop("d")] * 400).server(*[transfer("d")] * 3)
    assert not talk.rules
    assert len(pickle.dumps(talk.observer)) < 60_000
    talk.server(transfer("d"))
    assert talk.finish().rules == ["message.subscribe/zero-credit"]


def test_every_rule_that_is_told_is_one_of_the_specification() -> None:
    rules = read_rules()
    assert all([rules.find(f"0-10/{rule}") is not None for rule, _ in _RULES])
