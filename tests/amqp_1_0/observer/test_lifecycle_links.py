"""What transactions, resumed deliveries and links that end mean to the messages of 1.0."""

from typing import Any

import pytest

from amqp_sansio import amqp_1_0 as amqp
from amqp_sansio.amqp_1_0 import spec
from tests.kit.observing import CLIENT
from tests.kit.talk_1_0 import HELLO, Talk10, begin, credit, got, opened, sent, settle, transfer, within

# Transactions.


def _transacted(**options: Any) -> Talk10:
    return opened(**options).controller().server(credit(9)).declare(0)


def test_what_a_controller_asks_for_is_no_message() -> None:
    talk = _transacted().discharge(1).finish()
    assert not talk.messages


def test_posts_are_what_they_were_promised_when_the_transaction_is_discharged() -> None:
    talk = _transacted()
    talk.client(*[transfer(number, HELLO, state=within(b"t")) for number in (1, 2, 3)])
    talk.server(settle(1, within(b"t", amqp.Accepted()), 2), settle(3, within(b"t", amqp.Rejected())))
    assert not talk.messages
    talk.discharge(4)
    assert [outcome for _, _, outcome in talk.outcomes()] == ["accepted", "accepted", "rejected"]
    assert {message.settled_seq for message in talk.messages} == {talk.last().seq}


@pytest.mark.parametrize("settled", [True, False])
@pytest.mark.parametrize(
    ("fail", "answer", "outcome"),
    [(False, amqp.Accepted(), "accepted"), (True, amqp.Accepted(), "released"), (False, amqp.Rejected(), "released")],
)
def test_posts_of_a_transaction_that_ends(settled: bool, fail: bool, answer: Any, outcome: str) -> None:
    talk = _transacted().client(transfer(1, HELLO, state=within(b"t"), settled=settled))
    if not settled:
        talk.server(settle(1, within(b"t", amqp.Accepted()), settled=False))
    talk.discharge(2, fail=fail, answer=answer).finish()
    assert talk.outcomes() == [("publish", 1, outcome)]


def test_why_a_post_was_rejected_holds_only_when_it_was() -> None:
    rejected = amqp.Rejected(amqp.Error(amqp.Symbol("x:y"), "no"))
    for fail, outcome, text in ((False, "rejected", "x:y: no"), (True, "released", None)):
        talk = _transacted().client(transfer(1, HELLO, state=within(b"t")))
        talk.server(settle(1, within(b"t", rejected))).discharge(2, fail=fail)
        (message,) = talk.messages
        assert (message.outcome, message.text) == (outcome, text)


def test_deliveries_are_retired_when_the_transaction_is_discharged() -> None:
    talk = _transacted().server(*[transfer(number, HELLO, handle=1) for number in (0, 1)])
    talk.client(settle(0, within(b"t", amqp.Accepted()), 1))
    assert not talk.messages
    talk.discharge(1)
    assert talk.outcomes() == [("deliver", 0, "accepted"), ("deliver", 1, "accepted")]


@pytest.mark.rule("1.0/transactions/retirement/rollback", "1.0/transactions/settled/retire-unsettled")
def test_a_retirement_that_is_rolled_back_leaves_the_delivery_open() -> None:
    talk = _transacted().server(*[transfer(number, HELLO, handle=1) for number in (0, 1)])
    talk.client(settle(0, within(b"t", amqp.Accepted()), 1, settled=False)).discharge(1, fail=True)
    assert not talk.messages
    talk.client(settle(0, amqp.Released())).finish()
    assert talk.outcomes() == [("deliver", 0, "released"), ("deliver", 1, None)]


def test_a_settled_retirement_that_is_rolled_back_gives_the_message_back() -> None:
    talk = _transacted().server(transfer(0, HELLO, handle=1))
    talk.client(settle(0, within(b"t", amqp.Accepted()))).discharge(1, fail=True)
    assert talk.outcomes() == [("deliver", 0, "released")]
    source = amqp.Source(address="q", default_outcome=amqp.Modified())
    talk = Talk10().open().session().receiver(source=source).controller().server(credit(9))
    talk.client(credit(1)).declare(0).server(transfer(0, HELLO, handle=1))
    talk.client(settle(0, within(b"t", amqp.Accepted()))).discharge(1, fail=True)
    assert talk.outcomes() == [("deliver", 0, "modified")]


@pytest.mark.rule("1.0/transactions/settled/acquire-settled")
@pytest.mark.parametrize(("fail", "outcome"), [(False, "accepted"), (True, "released")])
def test_messages_that_were_acquired_in_a_transaction(fail: bool, outcome: str) -> None:
    talk = _transacted()
    talk.server(transfer(0, HELLO, handle=1, state=within(b"t")))
    talk.server(transfer(1, HELLO, handle=1, state=within(b"t"), settled=True))
    talk.client(settle(0, within(b"t", amqp.Accepted()), settled=False)).discharge(1, fail=fail)
    assert talk.outcomes() == [("deliver", 0, outcome), ("deliver", 1, outcome)]


def test_an_acquired_message_without_an_outcome_stays_open_when_committed() -> None:
    talk = _transacted().server(transfer(0, HELLO, handle=1, state=within(b"t"))).discharge(1)
    assert not talk.messages
    talk.client(settle(0, amqp.Accepted()))
    assert talk.outcomes() == [("deliver", 0, "accepted")]


@pytest.mark.rule("1.0/transactions/capability/multi-txns")
@pytest.mark.parametrize("body", ["keep", "hash", "all", "size"])
def test_transactions_are_told_apart_by_their_ids(body: str) -> None:
    talk = _transacted(body=body).declare(1, b"u")
    talk.client(transfer(2, HELLO, state=within(b"t")), transfer(3, HELLO, state=within(b"u")))
    talk.server(settle(2, within(b"t", amqp.Accepted())), settle(3, within(b"u", amqp.Accepted())))
    talk.discharge(4, b"u", fail=True).discharge(5, b"t")
    assert talk.outcomes() == [("publish", 2, "accepted"), ("publish", 3, "released")]


def test_an_id_that_is_declared_again_is_another_transaction() -> None:
    talk = _transacted().client(transfer(1, HELLO, state=within(b"t"), settled=True)).discharge(2)
    talk.declare(3).client(transfer(4, HELLO, state=within(b"t"), settled=True))
    talk.discharge(5, fail=True)
    assert talk.outcomes() == [("publish", 1, "accepted"), ("publish", 4, "released")]


def test_a_delivery_belongs_to_the_transaction_that_was_named_last() -> None:
    talk = _transacted().declare(1, b"u").client(transfer(2, HELLO, state=within(b"t")))
    talk.server(settle(2, within(b"u", amqp.Accepted()), settled=False)).discharge(3, fail=True)
    assert not talk.messages
    talk.discharge(4, b"u")
    assert talk.outcomes() == [("publish", 2, "accepted")]


@pytest.mark.rule("1.0/transactions/control-link-closed")
@pytest.mark.parametrize("error", [None, amqp.Error(amqp.Symbol("amqp:transaction:timeout"))])
def test_a_coordinator_that_detaches_rolls_back(error: amqp.Error | None) -> None:
    talk = _transacted().client(transfer(1, HELLO, state=within(b"t"), settled=True))
    talk.server(spec.Detach(9, True, error))
    assert talk.outcomes() == [("publish", 1, "released")]


def test_a_discharge_without_an_answer_leaves_it_open() -> None:
    from amqp_sansio.amqp_1_0.spec import Discharge

    talk = _transacted().client(transfer(1, HELLO, state=within(b"t"), settled=True))
    talk.client(transfer(2, amqp.Message(Discharge(b"t", False)), handle=9)).client(spec.Detach(9, True))
    talk.server(spec.Detach(9, True)).finish()
    assert talk.outcomes() == [("publish", 1, None)]


def test_a_transaction_that_was_not_seen_declared() -> None:
    talk = opened().controller().server(credit(9))
    talk.client(transfer(1, HELLO, state=within(b"z"), settled=True)).discharge(2, b"z")
    assert talk.outcomes() == [("publish", 1, "accepted")]


# Links, sessions and connections that end.


def test_a_closed_link_leaves_its_deliveries_open() -> None:
    talk = got(0).client(spec.Detach(1, True))
    assert not talk.messages
    talk.server(spec.Detach(1, True))
    assert talk.outcomes() == [("deliver", 0, None)]
    talk.finish()
    assert len(talk.messages) == 1


def test_an_outcome_that_crosses_the_close_of_its_link_counts() -> None:
    talk = sent(0).client(spec.Detach(0, True)).server(settle(0, amqp.Accepted()), spec.Detach(0, True))
    assert talk.outcomes() == [("publish", 0, "accepted")]


def test_an_ended_session_leaves_its_deliveries_open() -> None:
    talk = got(0).client(spec.End()).server(spec.End())
    assert talk.outcomes() == [("deliver", 0, None)]


def test_a_session_that_only_the_server_ends() -> None:
    talk = got(0).server(spec.End(amqp.Error(amqp.Symbol("amqp:not-found"))))
    assert not talk.messages
    talk.client(settle(0, amqp.Accepted())).finish()
    assert talk.outcomes() == [("deliver", 0, "accepted")]


def test_channels_handles_and_delivery_ids_are_used_again() -> None:
    talk = sent(0).client(spec.End()).server(spec.End()).session().sender("new", "other").server(credit(0))
    talk.client(transfer(0, HELLO)).server(settle(0, amqp.Accepted())).finish()
    assert talk.outcomes() == [("publish", 0, None), ("publish", 0, "accepted")]
    assert [message.address for message in talk.messages] == ["q", "other"]


def test_a_session_that_is_begun_again_without_an_end() -> None:
    talk = _got_and_ended().server(begin(0), channel=3).finish()
    assert talk.outcomes() == [("deliver", 0, None)]
    talk = _got_and_ended().client(begin(), channel=0).server(begin(0)).finish()
    assert talk.outcomes() == [("deliver", 0, None)]


def _got_and_ended() -> Talk10:
    return got(0).server(spec.End())


def test_a_link_of_the_same_name_right_behind_its_close() -> None:
    talk = sent(0).client(spec.Detach(0, True))
    source, target = amqp.Source(address="me"), amqp.Target(address="q2")
    talk.client(spec.Attach("out", 0, False, source=source, target=target, initial_delivery_count=0))
    talk.server(spec.Detach(0, True), spec.Attach("out", 0, True, source=source, target=target), credit(0))
    talk.client(transfer(1, HELLO)).server(settle(1, amqp.Accepted())).finish()
    assert talk.outcomes() == [("publish", 0, None), ("publish", 1, "accepted")]
    assert [message.address for message in talk.messages] == ["q", "q2"]


@pytest.mark.rule("1.0/transport/link/detached-deliveries")
def test_a_detached_link_is_still_spoken_of() -> None:
    talk = sent(0).client(spec.Detach(0)).server(spec.Detach(0)).server(settle(0, amqp.Accepted()))
    assert talk.outcomes() == [("publish", 0, "accepted")]


def test_links_of_one_name_in_both_directions_are_two() -> None:
    talk = Talk10().open().session().sender("x").receiver("x").server(credit(0)).client(credit(1))
    talk.client(transfer(0, HELLO)).server(transfer(0, HELLO, handle=1))
    talk.client(spec.Detach(1, True)).server(spec.Detach(1, True)).server(settle(0, amqp.Accepted()))
    assert talk.outcomes() == [("publish", 0, "accepted"), ("deliver", 0, None)]


# Resuming.

UNSETTLED = "unsettled"


def _suspended(receiver: dict[bytes, Any], sender: dict[bytes, Any], *numbers: int) -> Talk10:
    """A link whose deliveries 0 to 3 are unsettled, attached again on another session with these maps."""
    talk = sent(0, 1, 2, 3).client(spec.Detach(0)).server(spec.Detach(0))
    talk.client(begin(), channel=1).server(begin(1), channel=1)
    source, target = amqp.Source(address="me"), amqp.Target(address="q")
    fields: dict[str, Any] = {"source": source, "target": target}
    talk.client(spec.Attach("out", 0, False, unsettled=sender, initial_delivery_count=4, **fields), channel=1)
    return talk.server(spec.Attach("out", 0, True, unsettled=receiver, **fields), credit(0), channel=1)


@pytest.mark.rule("1.0/transport/resume/new-delivery-id")
def test_a_resumed_delivery_is_the_same_message() -> None:
    tags: dict[bytes, Any] = {b"%d" % number: None for number in range(4)}
    talk = _suspended(tags, tags)
    assert not talk.messages
    talk.client(transfer(70, HELLO, tag=b"2", resume=True, channel=1))
    talk.server(settle(70, amqp.Accepted()), channel=1).finish()
    assert talk.outcomes() == [
        ("publish", 0, None),
        ("publish", 1, None),
        ("publish", 2, "accepted"),
        ("publish", 3, None),
    ]


def test_a_resumed_delivery_stays_in_its_transaction() -> None:
    talk = _transacted().client(transfer(0, HELLO, state=within(b"t"))).client(spec.Detach(0)).server(spec.Detach(0))
    source, target = amqp.Source(address="me"), amqp.Target(address="q")
    fields: dict[str, Any] = {"source": source, "target": target, UNSETTLED: {b"0": None}}
    talk.client(spec.Attach("out", 0, False, initial_delivery_count=1, **fields))
    talk.server(spec.Attach("out", 0, True, **fields), credit(0)).client(transfer(1, tag=b"0", resume=True))
    talk.server(settle(1, within(b"t", amqp.Accepted()), settled=False)).discharge(2)
    assert talk.outcomes() == [("publish", 0, "accepted")]


def test_a_resumed_delivery_that_only_tells_its_end() -> None:
    tags: dict[bytes, Any] = {b"%d" % number: None for number in range(4)}
    talk = _suspended({**tags, b"1": amqp.Released()}, tags)
    talk.client(transfer(70, tag=b"1", resume=True, settled=True, channel=1))
    talk.client(transfer(71, tag=b"2", resume=True, settled=True, state=amqp.Accepted(), channel=1))
    talk.client(transfer(72, tag=b"3", resume=True, aborted=True, channel=1))
    assert talk.outcomes() == [("publish", 1, "released"), ("publish", 2, "accepted"), ("publish", 3, "settled")]


def test_what_the_sender_has_forgotten_is_settled() -> None:
    left: dict[bytes, Any] = {b"2": None, b"3": amqp.Accepted()}
    talk = _suspended({b"1": amqp.Rejected(), b"2": amqp.Accepted(), b"3": amqp.Released()}, left)
    assert talk.outcomes() == [("publish", 0, "settled"), ("publish", 1, "rejected")]
    talk.finish()
    assert talk.outcomes()[2:] == [("publish", 2, "accepted"), ("publish", 3, "accepted")]
    assert talk.messages[-1].settled_ns is None


def test_a_delivery_of_another_connection_is_a_message_when_it_has_octets() -> None:
    talk = opened().client(transfer(0, HELLO, resume=True)).client(transfer(1, resume=True, settled=True))
    talk.server(settle(0, amqp.Accepted()))
    assert talk.outcomes() == [("publish", 0, "accepted")]


@pytest.mark.rule("1.0/terminus/expiry-policy")
def test_a_terminus_that_outlives_its_session_keeps_its_deliveries() -> None:
    source = amqp.Source(address="q", expiry_policy=amqp.Symbol("never"))
    talk = Talk10().open().session().receiver(source=source).client(credit(1))
    talk.server(transfer(0, HELLO, handle=1)).client(spec.End()).server(spec.End())
    assert not talk.messages
    talk.session()
    fields: dict[str, Any] = {"source": source, "target": amqp.Target(), UNSETTLED: {b"0": None}}
    talk.client(spec.Attach("in", 1, True, **fields))
    talk.server(spec.Attach("in", 1, False, initial_delivery_count=1, **fields))
    talk.client(credit(1)).server(transfer(0, tag=b"0", handle=1, resume=True))
    talk.client(settle(0, amqp.Accepted()))
    assert talk.outcomes() == [("deliver", 0, "accepted")]


def test_a_link_that_another_session_takes_over() -> None:
    talk = sent(0).session(1)
    source, target = amqp.Source(address="me"), amqp.Target(address="q")
    talk.client(spec.Attach("out", 0, False, source=source, target=target, initial_delivery_count=1), channel=1)
    talk.server(spec.Detach(0, True, amqp.Error(amqp.Symbol("amqp:link:stolen"))))
    talk.server(spec.Attach("out", 0, True, source=source, target=target), credit(0), channel=1)
    talk.client(transfer(0, HELLO, channel=1)).server(settle(0, amqp.Accepted()), channel=1).finish()
    assert talk.outcomes() == [("publish", 0, None), ("publish", 0, "accepted")]


# What both hold over time.


def test_a_gap_leaves_deliveries_that_nobody_settled_to_be_settled() -> None:
    talk = _transacted().server(transfer(0, HELLO, handle=1))
    talk.client(settle(0, within(b"t", amqp.Accepted()), settled=False)).gap(CLIENT, 100).discharge(1)
    assert not talk.messages
    talk.client(settle(0, amqp.Released())).finish()
    assert talk.outcomes() == [("deliver", 0, "released")]
