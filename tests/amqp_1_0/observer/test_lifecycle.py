"""What becomes of the messages of 1.0, by what settles them, and what their records say."""

import pickle
from typing import Any
from uuid import UUID

import pytest

from amqp_sansio import Limits
from amqp_sansio import amqp_1_0 as amqp
from amqp_sansio.amqp_1_0 import spec
from tests.kit.observing import SECOND, SERVER
from tests.kit.talk_1_0 import HELLO, Talk10, credit, got, opened, sent, settle, transfer, within

# Outcomes.


@pytest.mark.parametrize(
    ("state", "outcome"),
    [
        (amqp.Accepted(), "accepted"),
        (amqp.Rejected(), "rejected"),
        (amqp.Released(), "released"),
        (amqp.Modified(delivery_failed=True), "modified"),
    ],
)
def test_each_outcome_of_what_either_side_sends(state: Any, outcome: str) -> None:
    talk = sent(0).server(settle(0, state))
    talk.server(transfer(7, HELLO, handle=1)).client(settle(7, state))
    assert talk.outcomes() == [("publish", 0, outcome), ("deliver", 7, outcome)]
    publish, deliver = talk.messages
    assert publish.latency_ns == deliver.latency_ns == SECOND
    assert (deliver.settled_seq, deliver.settled_ns) == (talk.last().seq, talk.last().at_ns)
    assert (publish.address, deliver.address) == ("q", "q")
    assert (publish.link, deliver.link) == ("out", "in")
    assert (publish.exchange, publish.queue, publish.consumer_tag, publish.mandatory) == (None,) * 4
    assert not talk.rules


def test_what_a_rejection_says_is_in_the_text() -> None:
    error = amqp.Error(amqp.Symbol("amqp:not-allowed"), "no")
    talk = sent(0, 1, 2)
    talk.server(
        settle(0, amqp.Rejected(error)),
        settle(1, amqp.Rejected(amqp.Error(amqp.Symbol("x:y")))),
        settle(2, amqp.Rejected()),
    )
    assert [message.text for message in talk.messages] == ["amqp:not-allowed: no", "x:y", None]


@pytest.mark.rule("1.0/transport/disposition/range")
def test_ranges_reach_over_links_and_leave_out_what_is_settled() -> None:
    talk = opened().receiver("other", 2).client(credit(2))
    for number, handle in ((0, 1), (1, 2), (2, 1), (3, 2), (4, 1)):
        talk.server(transfer(number, HELLO, handle=handle))
    talk.client(settle(2, amqp.Released())).client(settle(1, amqp.Accepted(), 3)).finish()
    assert [outcome for _, _, outcome in talk.outcomes()] == [None, "accepted", "released", "accepted", None]


@pytest.mark.rule("1.0/transport/sequence-no")
def test_delivery_ids_are_serial_numbers() -> None:
    talk = opened()
    last = (1 << 32) - 1
    for number in (last - 1, last, 0, 1):
        talk.client(transfer(number, HELLO))
    talk.server(settle(last, amqp.Accepted(), 0)).finish()
    assert [outcome for _, _, outcome in talk.outcomes()] == [None, "accepted", "accepted", None]


def test_a_range_of_all_numbers_costs_what_is_open() -> None:
    talk = sent(0, 1, 2).server(settle(0, amqp.Accepted(), (1 << 31) - 1))
    assert [outcome for _, _, outcome in talk.outcomes()] == ["accepted"] * 3


@pytest.mark.rule("1.0/transport/disposition/role")
def test_sides_refer_to_deliveries_by_their_role() -> None:
    talk = sent(0).server(transfer(0, HELLO, handle=1))
    talk.client(settle(0, amqp.Released())).server(settle(0, amqp.Accepted()))
    assert talk.outcomes() == [("publish", 0, "accepted"), ("deliver", 0, "released")]


@pytest.mark.rule("1.0/transport/connection/channels-unidirectional", "1.0/transport/link/handles")
def test_channels_that_differ_by_side_are_one_session() -> None:
    talk = Talk10().open().session(3, 8)
    source, target = amqp.Source(address="me"), amqp.Target(address="q")
    attach = spec.Attach("out", 5, False, source=source, target=target, initial_delivery_count=0)
    talk.client(attach, channel=3).server(spec.Attach("out", 6, True, source=source, target=target), channel=8)
    talk.client(transfer(0, HELLO, handle=5, channel=3)).server(settle(0, amqp.Accepted()), channel=8)
    assert talk.outcomes() == [("publish", 0, "accepted")]
    assert talk.messages[0].channel == 3


# Who settles, and when.


def test_sent_settled() -> None:
    talk = sent().client(transfer(0, HELLO, settled=True))
    (message,) = talk.messages
    assert (message.outcome, message.settled_ns, message.settled_seq) == ("settled", None, None)


@pytest.mark.rule("1.0/transport/transfer/settled-default")
def test_settled_by_any_of_its_frames() -> None:
    payload = HELLO.encode()
    talk = opened().client(transfer(0, payload[:3], more=True, settled=True))
    talk.client(transfer(None, payload[3:]))
    assert talk.outcomes() == [("publish", 0, "settled")]


@pytest.mark.rule("1.0/transport/disposition/settled")
def test_a_receiver_that_waits_for_the_sender_has_settled_nothing() -> None:
    talk = sent(0).server(settle(0, amqp.Accepted(), settled=False))
    assert not talk.messages
    talk.client(settle(0, amqp.Accepted(), role=False))
    (message,) = talk.messages
    assert (message.outcome, message.settled_seq) == ("accepted", talk.last().seq)
    assert message.latency_ns == 2 * SECOND


@pytest.mark.rule("1.0/delivery-state/terminal-final")
def test_the_senders_word_is_the_last_one() -> None:
    talk = got(0, 1)
    talk.client(settle(0, amqp.Accepted(), settled=False)).server(settle(0, amqp.Released(), role=False))
    talk.server(settle(1, amqp.Modified(), role=False, settled=False)).client(settle(1, amqp.Accepted()))
    assert [outcome for _, _, outcome in talk.outcomes()] == ["released", "modified"]


def test_states_that_are_no_outcome_change_nothing() -> None:
    talk = sent(0).server(settle(0, amqp.spec.Received(0, 3), settled=False))
    talk.server(settle(0, amqp.Described(amqp.Symbol("x:other"), [1]), settled=False)).finish()
    assert talk.outcomes() == [("publish", 0, None)]


def test_settled_without_a_word() -> None:
    talk = got(0).client(settle(0))
    (message,) = talk.messages
    assert (message.outcome, message.settled_seq) == ("settled", talk.last().seq)


@pytest.mark.rule("1.0/node/default-outcome")
def test_settled_without_a_word_where_the_source_has_a_default() -> None:
    source = amqp.Source(address="q", default_outcome=amqp.Modified(delivery_failed=True))
    talk = Talk10().open().session().receiver(source=source).client(credit(1))
    talk.server(transfer(0, HELLO, handle=1)).client(settle(0))
    assert talk.outcomes() == [("deliver", 0, "modified")]


def test_a_message_of_many_frames_is_one_record() -> None:
    payload = amqp.Message(b"x" * 100).encode()
    talk = opened()
    for begin_at in range(0, len(payload), 10):
        more = begin_at + 10 < len(payload)
        first = begin_at == 0
        octets = payload[begin_at : begin_at + 10]
        talk.client(transfer(4 if first else None, octets, more=more))
    talk.server(settle(4, amqp.Accepted()))
    (message,) = talk.messages
    assert (message.tag, message.body_size, message.outcome) == (4, 100, "accepted")
    assert talk.observed[message.seq].unit == "content"


def test_aborted_deliveries_are_no_messages() -> None:
    payload = HELLO.encode()
    talk = opened().client(transfer(0, payload[:3], more=True)).client(transfer(0, aborted=True))
    talk.client(transfer(1, HELLO)).server(settle(0, amqp.Accepted(), 1)).finish()
    assert talk.outcomes() == [("publish", 1, "accepted")]


def test_a_delivery_that_another_one_cuts_off() -> None:
    talk = opened().client(transfer(0, HELLO.encode()[:3], more=True)).client(transfer(1, HELLO))
    talk.server(settle(0, amqp.Rejected()), settle(1, amqp.Accepted())).finish()
    assert talk.outcomes() == [("publish", 1, "accepted")]


# Addresses.


@pytest.mark.rule("1.0/transport/link/authority")
def test_the_address_is_what_the_side_says_that_has_the_node() -> None:
    talk = Talk10().open().session()
    wish, granted = amqp.Target(dynamic=True), amqp.Target(address="made-up", dynamic=True)
    talk.client(spec.Attach("a", 0, False, source=amqp.Source(address="me"), target=wish, initial_delivery_count=0))
    talk.server(spec.Attach("a", 0, True, source=amqp.Source(address="me"), target=granted), credit(0))
    talk.client(spec.Attach("b", 1, True, source=amqp.Source(dynamic=True), target=amqp.Target(address="me")))
    answer = amqp.Source(address="reply", dynamic=True)
    talk.server(spec.Attach("b", 1, False, source=answer, target=amqp.Target(), initial_delivery_count=0))
    talk.client(transfer(0, HELLO, settled=True)).client(credit(1))
    talk.server(transfer(0, HELLO, handle=1, settled=True))
    assert [message.address for message in talk.messages] == ["made-up", "reply"]


def test_an_anonymous_target_leaves_it_to_each_message() -> None:
    talk = Talk10().open().session().sender(address=None).server(credit(0))
    talk.client(transfer(0, amqp.Message(b"x", properties=amqp.Properties(to="there")), settled=True))
    talk.client(transfer(1, HELLO, settled=True))
    assert [message.address for message in talk.messages] == ["there", None]


def test_to_is_no_address_where_the_target_has_one() -> None:
    talk = opened().client(transfer(0, amqp.Message(b"x", properties=amqp.Properties(to="there")), settled=True))
    assert talk.messages[0].address == "q"


# What a message says of itself.


def _one(message: amqp.Message, **options: Any) -> Any:
    return opened(**options).client(transfer(0, message, settled=True)).messages[0]


@pytest.mark.parametrize("body", ["keep", "hash", "size"])
def test_properties(body: str) -> None:
    message = amqp.Message(
        amqp.Data(b"x" * 2000, b"y"),
        header=amqp.Header(delivery_count=2),
        properties=amqp.Properties(
            message_id=7, correlation_id="c", subject="s", content_type=amqp.Symbol("text/plain")
        ),
        application_properties={"a": 1},
    )
    found = _one(message, body=body)
    assert (found.message_id, found.correlation_id, found.content_type) == ("7", "c", "text/plain")
    assert (found.routing_key, found.redelivered, dict(found.headers)) == ("s", True, {"a": 1})
    assert found.body_size == 2001
    assert len(pickle.dumps(found)) < 1000, "the body isn't held"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (2**64 - 1, "18446744073709551615"),
        (UUID(int=1), "00000000-0000-0000-0000-000000000001"),
        (b"order 1", "order 1"),
        (b"\x00\xff", "0x00ff"),
        (b"\x01", "0x01"),
        (b"", "0x"),
        ("\N{EURO SIGN}", "\N{EURO SIGN}"),
        (None, None),
    ],
)
def test_ids_of_each_type_are_text(value: Any, text: str | None) -> None:
    found = _one(amqp.Message(b"x", properties=amqp.Properties(message_id=value, correlation_id=value)))
    assert (found.message_id, found.correlation_id) == (text, text)


def test_a_message_with_nothing_but_a_body() -> None:
    found = _one(HELLO)
    assert (found.message_id, found.headers, found.routing_key, found.redelivered) == (None, None, None, False)


def test_a_message_that_can_not_be_read() -> None:
    talk = opened().client(transfer(0, b"\x00\x53\x73\xc0\x02\x01\x99", settled=True))
    (found,) = talk.messages
    assert (found.message_id, found.headers, found.address) == (None, None, "q")
    talk = opened().client(transfer(0, b"\x01\x02\x03", settled=True))
    assert talk.messages[0].message_id is None


# What wasn't seen.


def test_a_late_start_knows_deliveries_and_their_outcomes() -> None:
    talk = Talk10(late=True)
    talk.server(*[transfer(number, HELLO, handle=1, channel=2) for number in range(3)])
    talk.client(*[settle(number, amqp.Accepted()) for number in range(2)], channel=2)
    talk.finish()
    assert [outcome for _, _, outcome in talk.outcomes()] == ["accepted", "accepted", None]
    assert [(message.address, message.link) for message in talk.messages] == [(None, None)] * 3


def test_outcomes_are_known_across_a_gap() -> None:
    talk = got(0, 1).gap(SERVER, 100).client(settle(1, amqp.Accepted())).finish()
    assert talk.outcomes() == [("deliver", 0, None), ("deliver", 1, "accepted")]


# Limits and state.


def test_no_more_is_held_than_the_limits_allow() -> None:
    limits = Limits(unsettled=3)
    talk = sent(*range(5), limits=limits)
    assert talk.outcomes() == [("publish", 0, None), ("publish", 1, None)]
    talk.server(settle(0, amqp.Accepted(), 4))
    assert [outcome for _, _, outcome in talk.outcomes()] == [None, None, *["accepted"] * 3]


def test_the_limit_holds_for_what_transactions_hold() -> None:
    talk = opened(limits=Limits(unsettled=3)).controller().server(credit(9)).declare(0)
    talk.client(*[transfer(number, HELLO, state=within(b"t"), settled=True) for number in range(1, 6)])
    assert talk.outcomes() == [("publish", 1, None), ("publish", 2, None)]
    talk.discharge(6)
    assert [outcome for _, _, outcome in talk.outcomes()] == [None, None, *["accepted"] * 3]


def test_a_delivery_id_that_is_used_twice() -> None:
    talk = sent(0, 0).server(settle(0, amqp.Accepted())).finish()
    assert talk.outcomes() == [("publish", 0, None), ("publish", 0, "accepted")]
