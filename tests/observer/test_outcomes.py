"""What units say of messages, and the ledger that makes records of it."""

import pickle

import pytest

from amqp_sansio import Limits
from amqp_sansio import amqp_0_10 as amqp
from amqp_sansio._watching.outcomes import OutcomeLedger
from amqp_sansio.amqp_0_10 import spec
from amqp_sansio.observer import Skipped
from amqp_sansio.recorded.lifecycle import Lifecycle, MessageRecord
from tests.kit.observing import CLIENT, Talk
from tests.kit.talk_0_10 import Talk010, completed, stage, transfer


def test_a_unit_says_which_messages_it_settles() -> None:
    talk = Talk().login().channel().consumer()
    talk.server(talk.deliver(1, b"a"), talk.deliver(2, b"b"))
    first, second = talk.observed[-2:]
    assert (first.settles, second.settles) == ((), ())
    talk.client(talk.named("basic.ack", 1), channel=1)
    assert talk.last.settles == ((first.seq, "accepted", "settled"),)
    talk.client(talk.named("basic.nack", 2, False, True), channel=1)
    assert talk.last.settles == ((second.seq, "released", "settled"),)


def test_what_nothing_settles_is_told_or_ended() -> None:
    talk = Talk().login().channel()
    talk.client(talk.publish(b"x"), talk.publish(b"x", mandatory=True))
    plain, published = talk.observed[-2:]
    assert plain.settles == ((None, "settled", "ended"),)
    assert published.settles == ((None, "settled", "told"),)
    talk.client(talk.named("channel.close"), channel=1).server(talk.named("channel.close-ok"), channel=1)
    assert talk.last.settles == ((published.seq, None, "ended"),)
    assert talk.outcomes() == [("publish", None, "settled")] * 2


def test_a_gap_says_which_transactions_are_lost() -> None:
    talk = Talk().login().channel()
    talk.client(talk.named("tx.select"), talk.publish(b"x"), channel=1)
    published = talk.last
    talk.gap(CLIENT, 10)
    assert talk.skipped[-1].settles == ((published.seq, None, "ended"),)
    assert talk.outcomes() == [("publish", None, None)]


def test_the_context_is_the_number_of_a_publish_and_the_queue_of_a_delivery() -> None:
    talk = Talk().login().channel().consumer()
    talk.server(talk.deliver(1))
    assert talk.last.context == "q"
    talk.client(talk.named("confirm.select"), talk.publish(), talk.publish(), channel=1)
    assert [unit.context for unit in talk.observed[-2:]] == [1, 2]


def test_what_is_settled_behind_a_commit_belongs_to_the_next_transaction() -> None:
    talk = Talk().login().channel().consumer()
    talk.client(talk.named("tx.select"), channel=1).server(talk.deliver(1), talk.deliver(2))
    named = talk.named
    talk.client(named("basic.ack", 1), named("tx.rollback"), named("basic.ack", 2), channel=1)
    talk.server(named("tx.rollback-ok"), channel=1)
    talk.client(named("basic.ack", 2), channel=1)
    assert talk.rules == ["0-9-1/basic.ack/unknown-tag"]
    talk.client(named("basic.ack", 1), named("tx.commit"), channel=1).server(named("tx.commit-ok"), channel=1)
    assert talk.outcomes() == [("deliver", 1, "accepted"), ("deliver", 2, "accepted")]


@pytest.mark.parametrize("size", [1, 5000])
def test_a_record_is_the_same_before_and_after_its_columns_are_read(size: int) -> None:
    talk = Talk().login().channel().consumer()
    talk.server(talk.deliver(1, bytes(size))).client(talk.named("basic.ack", 1), channel=1)
    (record,) = talk.messages
    copy: MessageRecord = pickle.loads(pickle.dumps(record))
    assert copy == record
    assert (copy.kind, copy.tag, copy.queue, copy.body_size) == ("deliver", 1, "q", size)
    assert (copy.settled_seq, copy.ended_ns) == (talk.last.seq, None)
    with pytest.raises(AttributeError):
        _ = record.colour  # type: ignore[attr-defined]


def test_the_ledger_holds_no_more_than_its_limits() -> None:
    """An observer with the same limits forgets before; this one has others."""
    few = Limits(channels=1, unsettled=2, unconfirmed=2)
    talk = Talk().login().channel().consumer()
    lifecycle = Lifecycle(few)
    for event in talk.events:
        lifecycle.observe(event)
    talk.server(*[talk.deliver(tag) for tag in range(1, 7)])
    done = [message for event in talk.observed[-6:] for message in lifecycle.observe(event)]
    assert [(message.tag, message.outcome) for message in done] == [(1, None), (2, None)]
    assert [message.tag for message in lifecycle.finish()] == [3, 4, 5, 6]
    assert OutcomeLedger(few).held == 0


def _talk_0_10(limits: Limits | None = None) -> Talk010:
    return Talk010(limits=limits).open().session()


def test_commands_of_0_10_say_which_messages_they_settle() -> None:
    talk = _talk_0_10().subscribe().server(transfer("d"), transfer("d")).client(transfer("ex"))
    first, second, published = talk.observed[-3:]
    assert [unit.settles for unit in (first, second, published)] == [(), (), ()]
    talk.client(spec.MessageAccept(amqp.SequenceSet.of(0)), spec.MessageRelease(amqp.SequenceSet.of(1)))
    assert [unit.settles for unit in talk.observed[-2:]] == [
        ((first.seq, "accepted", "settled"),),
        ((second.seq, "released", "settled"),),
    ]
    talk.server(completed(0, 1))
    assert talk.observed[-1].settles == ((published.seq, "accepted", "settled"),)
    assert [unit.context for unit in (first, published)] == [("s", "q", None), ("s", None, None)]


def test_a_delivery_of_0_10_that_wants_no_accept_is_told_to_be_settled() -> None:
    """Beyond the limits it's settled too, as on a stream."""
    talk = _talk_0_10(Limits(unsettled=1)).server(*[transfer("d", accept_mode=1)] * 2)
    first, second = talk.observed[-2:]
    assert first.settles == ((None, "settled", "told"),)
    assert second.settles == ((None, "settled", "told"), (first.seq, None, "ended"))
    assert talk.outcomes() == [("deliver", 0, "settled")]


@pytest.mark.parametrize("sender", ["client", "server"])
def test_a_gap_of_the_client_loses_the_transactions_of_0_10(sender: str) -> None:
    talk = _talk_0_10().client(spec.TxSelect(), transfer("ex"))
    published = talk.observed[-1]
    talk.gap(sender, 10)
    (skipped,) = [event for event in talk.events if isinstance(event, Skipped)]
    lost = ((published.seq, None, "ended"),)
    assert skipped.settles == (lost if sender == "client" else ())


def test_a_file_takes_its_content_while_a_transaction_holds_it() -> None:
    talk = _talk_0_10().client(spec.TxSelect())
    talk.server(spec.FileOpen("a", 3), spec.FileDeliver("t", 5, identifier="a"))
    delivered = talk.observed[-1]
    talk.client(spec.FileOpenOk(0), spec.FileAck(5)).server(stage(b"abc", message_id="m"))
    assert talk.observed[-1].settles == ((delivered.seq, None, "staged"),)
    talk.client(spec.TxCommit()).server(completed(0, 1, 2, 3))
    (message,) = talk.messages
    assert (message.body_size, message.message_id, message.outcome) == (3, "m", "accepted")


def test_a_rollback_of_0_10_opens_no_more_than_the_limits_allow() -> None:
    talk = _talk_0_10(Limits(unsettled=2)).client(spec.TxSelect()).server(*[transfer("d")] * 2)
    talk.client(spec.MessageAccept(amqp.SequenceSet.of(0, 1)), spec.TxRollback()).server(transfer("d"))
    assert not talk.messages
    talk.server(completed(0, 1, 2))
    assert talk.outcomes() == [("deliver", 0, None)]
    assert len(talk.finish().messages) == 3


def test_a_tag_that_another_file_has_meanwhile_is_that_one() -> None:
    talk = _talk_0_10().client(spec.TxSelect()).server(spec.FileDeliver("t", 5)).client(spec.FileAck(5))
    talk.server(spec.FileDeliver("t", 5)).client(spec.TxRollback()).server(completed(0, 1, 2))
    assert talk.outcomes() == [("deliver", 5, None)]
    talk.client(spec.FileAck(5), spec.TxCommit()).server(completed(0, 1, 2, 3, 4))
    assert talk.outcomes() == [("deliver", 5, None), ("deliver", 5, "accepted")]


def test_a_transaction_whose_end_has_its_id_again_is_lost() -> None:
    talk = _talk_0_10().client(spec.TxSelect(), transfer("ex"), spec.TxCommit())
    talk.session().client(spec.TxSelect(), transfer("ex"), spec.TxCommit())
    assert talk.outcomes() == [("publish", 1, None)]
    talk.server(completed(0, 1, 2))
    assert talk.outcomes() == [("publish", 1, None), ("publish", 1, "accepted")]
