"""What units say of messages, and the ledger that makes records of it."""

from __future__ import annotations

import pickle

import pytest

from amqp_sansio import Limits
from amqp_sansio._core.outcomes import OutcomeLedger
from amqp_sansio.lifecycle import Lifecycle, MessageRecord
from tests.support.observing import CLIENT, Talk


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
    talk.client(talk.named("channel.close"), channel=1).server(
        talk.named("channel.close-ok"), channel=1
    )
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
    talk.client(named("basic.ack", 1), named("tx.commit"), channel=1).server(
        named("tx.commit-ok"), channel=1
    )
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
