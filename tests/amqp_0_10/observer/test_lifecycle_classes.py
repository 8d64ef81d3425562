"""What becomes of messages of 0-10's file and stream classes, and of those in distributed transactions."""

import pickle
from typing import Any

import pytest

from amqp_sansio import Limits
from amqp_sansio import amqp_0_10 as amqp
from amqp_sansio.amqp_0_10 import spec
from amqp_sansio.recorded.lifecycle import MessageRecord
from tests.kit.talk_0_10 import Talk010, completed, content, stage, transfer

XID = spec.Xid(1, b"g", b"b")
OK, ROLLED_BACK, HAZARD, COMMITTED, HEURISTIC_ROLLBACK, READ_ONLY = 0, 1, 3, 4, 5, 7


def _talk(limits: Limits | None = None) -> Talk010:
    return Talk010(limits=limits).open().session()


def _stream(command: Any, body: bytes = b"s") -> bytes:
    return content(command, body, spec.StreamProperties(content_type="t/p"))


def _returned(command: Any, body: bytes) -> bytes:
    return content(command, body, spec.FileProperties())


def _by_tag(talk: Talk010) -> dict[int | None, MessageRecord]:
    return {message.tag: message for message in talk.messages if message.kind != "return"}


# Files.


def test_a_file_is_published_with_what_was_staged_under_its_name() -> None:
    talk = _talk().client(spec.FileOpen("a", 3), spec.FileOpen("b", 5)).server(spec.FileOpenOk(0), spec.FileOpenOk(0))
    talk.client(stage(b"aaa", content_type="x/y", message_id="m"), stage(b"bbbbb"))
    talk.client(spec.FilePublish("ex", "k2", identifier="b"), spec.FilePublish("ex", "k1", identifier="a"))
    assert not talk.messages
    talk.server(completed(4, 5)).finish()
    second, first = sorted(talk.messages, key=lambda message: message.seq)
    assert (first.kind, first.outcome, first.body_size) == ("publish", "accepted", 3)
    assert (first.exchange, first.routing_key, first.tag, first.link) == ("ex", "k1", 5, "s")
    assert (first.content_type, first.message_id) == ("x/y", "m")
    assert (second.body_size, second.latency_ns) == (5, 1_000_000_000)
    assert not talk.rules


def test_a_file_may_be_published_before_it_is_staged() -> None:
    talk = _talk().client(spec.FileOpen("a", 3), spec.FilePublish("ex", "k", identifier="a"))
    talk.server(spec.FileOpenOk(0)).client(stage(b"aaa", content_type="x/y")).server(completed(0, 1, 2))
    (message,) = talk.messages
    assert (message.body_size, message.content_type, message.outcome) == (3, "x/y", "accepted")


def test_a_file_that_is_delivered_before_it_is_staged() -> None:
    talk = _talk().client(spec.FileConsume("q", "t"), spec.FileConsume("q", "n", no_ack=True))
    talk.server(spec.FileOpen("a", 3), spec.FileOpen("b", 2))
    talk.server(spec.FileDeliver("t", 9, identifier="a"), spec.FileDeliver("n", 10, identifier="b"))
    talk.client(spec.FileOpenOk(0), spec.FileOpenOk(0)).server(stage(b"aaa"), stage(b"bb"))
    talk.client(spec.FileAck(9), completed(*range(6))).finish()
    assert [(message.tag, message.body_size, message.outcome) for message in talk.messages] == [
        (9, 3, "accepted"),
        (10, 2, "settled"),
    ]


@pytest.mark.rule("0-10/file/acks")
def test_files_are_settled_by_their_tags() -> None:
    talk = _talk().client(spec.FileConsume("q", "t"), spec.FileConsume("q2", "n", no_ack=True))
    talk.server(*[spec.FileDeliver("t", tag, True, "ex", "k") for tag in range(1, 8)])
    talk.server(spec.FileDeliver("n", 8)).client(spec.FileCancel("t"))
    talk.client(spec.FileAck(2), spec.FileAck(3, multiple=True), spec.FileReject(4), spec.FileReject(5, requeue=True))
    talk.client(spec.FileAck(9, multiple=True), completed(7))
    outcomes = {tag: message.outcome for tag, message in _by_tag(talk).items()}
    assert outcomes == {**dict.fromkeys((1, 2, 3, 6, 7), "accepted"), 4: "rejected", 5: "released", 8: "settled"}
    first = _by_tag(talk)[1]
    assert (first.queue, first.consumer_tag, first.redelivered) == ("q", "t", True)
    assert (first.exchange, first.routing_key, first.kind) == ("ex", "k", "deliver")
    assert first.latency_ns == 3_000_000_000
    assert _by_tag(talk)[8].queue == "q2"
    talk.server(spec.FileDeliver("t", 20), spec.FileDeliver("t", 11)).client(spec.FileAck(11, multiple=True))
    assert _by_tag(talk)[11].outcome == "accepted"
    assert 20 not in _by_tag(talk)
    talk.server(spec.FileDeliver("t", 21)).client(spec.FileAck(0, multiple=True))
    assert {_by_tag(talk)[tag].outcome for tag in (11, 20, 21)} == {"accepted"}


def test_files_that_are_returned_or_refused() -> None:
    talk = _talk().client(spec.FileOpen("a", 1), spec.FileOpen("b", 2)).server(spec.FileOpenOk(0), spec.FileOpenOk(0))
    talk.client(stage(b"a"), stage(b"bb"))
    for name in ("a", "b", "c"):
        talk.client(spec.FilePublish("ex", "k", mandatory=True, identifier=name))
    talk.server(_returned(spec.FileReturn(312, "no route", "ex", "k"), b"bb"))
    assert talk.outcomes() == [("publish", 5, "returned"), ("return", None, "settled")]
    assert (_by_tag(talk)[5].code, _by_tag(talk)[5].text) == (312, "no route")
    # What was never staged here is what fits else.
    talk.server(_returned(spec.FileReturn(312, "", "ex", "k"), b"other"))
    assert _by_tag(talk)[6].outcome == "returned"
    talk.server(_returned(spec.FileReturn(312, "", "ex", "k"), b"none")).server(
        spec.ExecutionException(404, 4, description="gone"), completed(4, 5, 6)
    )
    assert (_by_tag(talk)[4].outcome, _by_tag(talk)[4].text) == ("rejected", "gone")
    assert len([message for message in talk.messages if message.kind == "return"]) == 3


# Streams.


@pytest.mark.rule("0-10/stream/acks")
def test_nobody_settles_streams() -> None:
    talk = _talk().client(spec.StreamConsume("q", "t"), _stream(spec.StreamPublish("ex", "k")))
    talk.server(_stream(spec.StreamDeliver("t", 1, "ex", "q"), b"12"), _stream(spec.StreamDeliver("t", 2)))
    assert not talk.messages
    talk.server(completed(0, 1)).client(completed(0)).finish()
    published, first, second = sorted(talk.messages, key=lambda message: message.seq)
    assert (published.outcome, published.tag, published.content_type) == ("accepted", 1, "t/p")
    assert (first.outcome, first.tag, first.queue, first.body_size) == ("settled", 1, "q", 2)
    assert first.settled_seq == talk.observed[-1].seq
    assert (second.outcome, second.settled_seq, second.redelivered) == ("settled", None, None)


def test_a_stream_is_in_no_transaction_and_may_be_returned() -> None:
    talk = _talk().client(spec.TxSelect(), *[_stream(spec.StreamPublish("", "k", immediate=True))] * 2)
    talk.server(completed(0, 1), _stream(spec.StreamReturn(313, "none", None, "k")))
    assert talk.outcomes() == [("publish", 1, "accepted"), ("publish", 2, "returned"), ("return", None, "settled")]


def test_seen_from_the_middle_tags_still_tell() -> None:
    talk = Talk010(late=True).client(spec.FileConsume("q", "t")).server(spec.FileDeliver("t", 4))
    talk.client(spec.FilePublish("ex", "k"), spec.FileAck(4)).server(_stream(spec.StreamDeliver("s", 1)))
    assert [(message.kind, message.outcome) for message in talk.finish().messages] == [
        ("publish", None),
        ("deliver", "accepted"),
        ("deliver", "settled"),
    ]


# Transactions.


@pytest.mark.parametrize(("end", "committed"), [(spec.TxCommit(), True), (spec.TxRollback(), False)])
def test_files_in_a_transaction(end: Any, committed: bool) -> None:
    talk = _talk().client(spec.FileConsume("q", "t"), spec.TxSelect(), spec.FilePublish("ex", "k"))
    talk.server(*[spec.FileDeliver("t", tag) for tag in (1, 2, 3)], completed(0, 1, 2))
    talk.client(spec.FileAck(2, multiple=True), spec.FileReject(3))
    assert talk.outcomes() == [("deliver", 3, "rejected")]
    talk.client(end)
    talk.server(completed(*range(6))).client(spec.FileAck(1), spec.TxCommit(), spec.FileAck(0, multiple=True))
    talk.server(completed(*range(9))).finish()
    published = "accepted" if committed else "released"
    assert talk.outcomes() == [
        ("publish", 2, published),
        ("deliver", 1, "accepted"),
        ("deliver", 2, "accepted" if committed else None),
        ("deliver", 3, "rejected"),
    ]


def _branch(limits: Limits | None = None) -> Talk010:
    """A branch with one message of each kind, which has ended; its commands have the ids 0 to 8."""
    talk = _talk(limits).subscribe().client(spec.FileConsume("q", "t"), spec.DtxSelect(), transfer("out"))
    talk.server(transfer("d"), spec.FileDeliver("t", 7)).client(spec.DtxStart(XID), transfer("ex"))
    talk.client(spec.FilePublish("ex", "k"), spec.MessageAccept(amqp.SequenceSet.of(0)), spec.FileAck(7))
    talk.client(spec.DtxEnd(XID), transfer("out")).server(completed(*range(11)))
    assert talk.outcomes() == [("publish", 3, "accepted"), ("publish", 10, "accepted")]
    talk.messages.clear()
    return talk


_OUTCOMES: list[tuple[list[Any], list[int], str | None]] = [
    ([spec.DtxCommit(XID, one_phase=True)], [OK], "accepted"),
    ([spec.DtxPrepare(XID), spec.DtxCommit(XID)], [OK, OK], "accepted"),
    ([spec.DtxPrepare(XID)], [READ_ONLY], "accepted"),
    ([spec.DtxPrepare(XID)], [ROLLED_BACK], "released"),
    ([spec.DtxPrepare(XID)], [OK], None),
    ([spec.DtxRollback(XID)], [OK], "released"),
    ([spec.DtxRollback(XID)], [COMMITTED], "accepted"),
    ([spec.DtxCommit(XID)], [HEURISTIC_ROLLBACK], "released"),
    ([spec.DtxCommit(XID)], [HAZARD], None),
    ([spec.DtxCommit(spec.Xid(2, b"g", b"b"))], [OK], None),
    ([spec.DtxForget(XID)], [], None),
    ([], [], None),
]


@pytest.mark.parametrize(("commands", "results", "outcome"), _OUTCOMES)
@pytest.mark.parametrize("elsewhere", [False, True])
@pytest.mark.rule("0-10/dtx/transactionality")
def test_a_branch_is_settled_by_its_result(
    commands: list[Any], results: list[int], outcome: str | None, elsewhere: bool
) -> None:
    talk = _branch()
    channel, first = 0, 11
    if elsewhere:
        talk.session(1, b"coordinator").client(spec.DtxSelect(), channel=1)
        channel, first = 1, 1
    for place, (command, status) in enumerate(zip(commands, results, strict=False)):
        talk.client(command, channel=channel)
        talk.server(spec.ExecutionResult(first + place, spec.XaResult(status)), channel=channel)
    settled = talk.observed[-1].seq
    talk.finish()
    assert talk.outcomes() == [
        ("deliver", 0, outcome),
        ("deliver", 7, outcome),
        ("publish", 5, outcome),
        ("publish", 6, outcome),
    ]
    wanted = settled if outcome else None
    assert {message.settled_seq for message in talk.messages} == {wanted}


def test_a_branch_outlives_its_session_and_a_commit_that_is_refused() -> None:
    talk = _branch().client(spec.DtxCommit(XID))
    talk.server(spec.ExecutionException(409, 11), spec.SessionDetached(b"s", 0))
    assert not talk.messages
    talk.session(1, b"two").client(spec.DtxRollback(XID), channel=1)
    talk.server(spec.ExecutionResult(0, spec.XaResult(OK)), channel=1).finish()
    assert {outcome for _, _, outcome in talk.outcomes()} == {"released"}
    assert len(talk.messages) == 4


def test_a_branch_with_parts_in_two_sessions() -> None:
    talk = _branch().session(1, b"two").client(spec.DtxSelect(), spec.DtxStart(XID, join=True), channel=1)
    talk.client(transfer("ex", channel=1), spec.DtxEnd(XID), channel=1).client(spec.DtxCommit(XID, True))
    talk.server(spec.ExecutionResult(11, spec.XaResult(OK))).finish()
    assert [outcome for _, _, outcome in talk.outcomes()] == ["accepted"] * 5


def test_a_message_of_a_branch_that_fails_by_itself() -> None:
    talk = _branch().server(spec.MessageReject(amqp.SequenceSet.of(5), 1, "unroutable"))
    assert talk.outcomes() == [("publish", 5, "rejected")]
    talk.client(spec.DtxCommit(XID, True)).server(spec.ExecutionResult(11, spec.XaResult(OK))).finish()
    assert [outcome for _, _, outcome in talk.outcomes()] == ["accepted"] * 2 + ["rejected", "accepted"]


def test_files_are_in_their_order_again_after_a_rollback() -> None:
    talk = _talk().client(spec.TxSelect()).server(*[spec.FileDeliver("t", tag) for tag in (1, 2)])
    talk.client(spec.FileAck(1), spec.TxRollback()).server(completed(0, 1, 2))
    talk.client(spec.FileAck(1, multiple=True), spec.TxCommit()).server(completed(0, 1, 2, 3, 4))
    assert talk.outcomes() == [("deliver", 1, "accepted")]


def test_a_content_that_comes_later_belongs_to_what_names_it_then() -> None:
    talk = _talk().client(spec.FilePublish("ex", "old", identifier="a"), spec.FileOpen("a", 3))
    talk.server(spec.FileOpenOk(0)).client(stage(b"aaa"), spec.FilePublish("ex", "new", identifier="a"))
    talk.server(completed(0, 1, 2, 3))
    assert [message.body_size for message in talk.messages] == [0, 3]


def test_a_gap_makes_branches_unsure() -> None:
    talk = _branch().gap("client", 30)
    assert [outcome for _, _, outcome in talk.outcomes()] == [None] * 4
    talk.messages.clear()
    # Nobody knows whether a branch was begun in the gap.
    talk.server(spec.FileDeliver("t", 8), spec.FileDeliver("t", 9)).client(spec.FileAck(8))
    assert talk.outcomes() == [("deliver", 8, None)]
    talk.client(spec.SessionCommandPoint(50, 0), transfer("ex")).server(transfer("d"))
    talk.client(spec.MessageAccept(amqp.SequenceSet.of(4)))
    talk.client(spec.DtxEnd(XID), spec.FileAck(9))
    assert talk.outcomes() == [
        ("deliver", 8, None),
        ("deliver", 9, "accepted"),
        ("publish", 50, None),
        ("deliver", 4, None),
    ]


def test_branches_hold_no_more_than_the_limits_allow() -> None:
    talk = _talk(Limits(unconfirmed=5, calls=3)).client(spec.DtxSelect())
    for number in range(6):
        xid = spec.Xid(number, b"", b"")
        talk.client(spec.DtxStart(xid), transfer("ex"), transfer("ex"), spec.DtxEnd(xid))
    assert len(talk.messages) == 8
    talk.client(spec.DtxStart(XID), *[transfer("ex")] * 9)
    assert len(talk.messages) == 16
    assert len(talk.finish().messages) == 21
    assert len({message.seq for message in talk.messages}) == 21


def test_a_branch_goes_on_when_its_oldest_messages_are_let_go() -> None:
    talk = _talk(Limits(unconfirmed=5)).client(spec.DtxSelect(), spec.DtxStart(XID), *[transfer("ex")] * 3)
    talk.server(*[transfer("d")] * 3).client(spec.MessageAccept(amqp.SequenceSet.of(0, 1, 2)))
    assert [outcome for _, _, outcome in talk.outcomes()] == [None] * 6
    talk.client(transfer("ex"), spec.DtxEnd(XID), spec.DtxCommit(XID, True))
    talk.server(spec.ExecutionResult(8, spec.XaResult(OK)))
    assert talk.outcomes()[6:] == [("publish", 6, "accepted")]


def test_sessions_that_leave_their_branch_hold_nothing() -> None:
    talk = _talk(Limits(calls=3)).client(spec.DtxSelect())
    for number in range(60):
        talk.client(spec.DtxStart(spec.Xid(number, b"g", b"")), transfer("ex"))
        talk.server(spec.SessionDetached(b"s", 0)).session(0, b"%d" % number)
    assert len(talk.messages) >= 57
    assert len(pickle.dumps(talk.lifecycle)) < 20_000


def test_what_waits_for_nothing_is_bounded_too() -> None:
    talk = _talk(Limits(unsettled=2)).server(*[_stream(spec.StreamDeliver("t", n)) for n in range(5)])
    assert talk.outcomes() == [("deliver", n, "settled") for n in range(3)]


def test_publishes_that_nobody_returned_are_forgotten() -> None:
    talk = _talk()
    for number in range(1_000):
        talk.client(_stream(spec.StreamPublish("ex", "k", mandatory=True))).server(completed(number))
    assert len(talk.messages) == 1_000
    assert len(pickle.dumps(talk.lifecycle)) < 2_500


def test_staged_contents_are_bounded() -> None:
    talk = _talk(Limits(calls=3))
    for number in range(7):
        talk.client(spec.FileOpen(f"i{number}", 1)).server(spec.FileOpenOk(0)).client(stage(b"x"))
    for number in range(7):
        talk.client(spec.FilePublish("ex", f"k{number}", mandatory=True, identifier=f"i{number}"))
    talk.finish()
    assert [message.body_size for message in talk.messages] == [0, 0, 0, 0, 1, 1, 1]


def test_a_pickled_lifecycle_goes_on_alike() -> None:
    talk = _branch().client(spec.FileOpen("a", 1), spec.FilePublish("ex", "k", True, identifier="a"))
    talk.server(spec.FileOpenOk(0)).client(stage(b"x"), spec.DtxCommit(XID, True))
    talk.server(spec.ExecutionResult(14, spec.XaResult(OK)), _returned(spec.FileReturn(312, "", "ex", "k"), b"x"))
    talk.finish()
    _, messages = talk.relived()
    assert messages[2:] == talk.messages
    assert [message.outcome for message in talk.messages[:4]] == ["accepted"] * 4
    assert [message.outcome for message in talk.messages[4:]] == ["returned", "settled"]
