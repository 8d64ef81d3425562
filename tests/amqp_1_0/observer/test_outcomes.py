"""What units of 1.0 say of messages: which they settle, what they state, and which nothing settles any more."""

import pickle
from typing import Any

import pytest

from amqp_sansio import Limits
from amqp_sansio.amqp_1_0 import Accepted, Error, Modified, Rejected, Source, Symbol, Target
from amqp_sansio.amqp_1_0.spec import Attach, Detach, End
from amqp_sansio.observer import Skipped
from tests.kit.observing import CLIENT, SERVER
from tests.kit.talk_1_0 import HELLO, credit, frame, got, opened, sent, settle, transfer, within

WRONG = Rejected(Error(Symbol("x:y"), "no"))


def _attach(role: bool, **fields: Any) -> Attach:
    count = None if role else 0
    return Attach("out", 0, role, source=Source(), target=Target(), initial_delivery_count=count, **fields)


def test_a_unit_says_which_messages_it_settles() -> None:
    talk = sent(0, 1, 2)
    units = [unit.seq for unit in talk.observed[-3:]]
    assert [unit.settles for unit in talk.observed[-3:]] == [()] * 3
    talk.server(settle(0, Accepted(), 1))
    assert talk.last().settles == tuple([(unit, "accepted", "settled") for unit in units[:2]])
    talk.server(settle(2, Modified()))
    assert talk.last().settles == ((units[2], "modified", "settled"),)
    talk.server(settle(2, Accepted()))
    assert talk.last().settles == ()


def test_what_was_sent_settled_needs_no_settlement() -> None:
    talk = opened().client(transfer(0, HELLO, settled=True))
    assert talk.last().settles == ((None, "settled", "ended"),)


def test_the_context_is_where_a_message_comes_from() -> None:
    talk = sent(0)
    assert talk.last().context == (("publish", "q", False, "out"), 0, None)
    talk.controller().server(credit(9)).declare(7)
    requests = [unit for unit in talk.observed if unit.unit == "content"][1:]
    assert [unit.context for unit in requests] == [None]


def test_an_outcome_that_settles_nothing_is_told() -> None:
    talk = got(0)
    unit = talk.last().seq
    talk.client(settle(0, WRONG, settled=False))
    assert talk.last().settles == ((unit, "rejected", "told"),)
    assert talk.last().context == {unit: "x:y: no"}
    talk.client(Detach(1, True)).server(Detach(1, True))
    assert talk.last().settles == ((unit, None, "ended"),)
    (message,) = talk.messages
    assert (message.outcome, message.text, message.ended_ns) == ("rejected", "x:y: no", None)


@pytest.mark.parametrize(
    ("last", "outcome", "text"),
    [(None, "rejected", "x:y: no"), (Accepted(), "accepted", None), (Rejected(), "rejected", None)],
)
def test_the_error_is_that_of_the_outcome_that_holds(last: Any, outcome: str, text: str | None) -> None:
    talk = got(0).client(settle(0, WRONG, settled=False)).server(settle(0, last, role=False))
    (message,) = talk.messages
    assert (message.outcome, message.text, message.settled_seq) == (outcome, text, talk.last().seq)


def test_the_sender_may_reject_its_own_message() -> None:
    talk = opened().client(transfer(0, HELLO, state=WRONG)).server(settle(0))
    (message,) = talk.messages
    assert (message.outcome, message.text) == ("rejected", "x:y: no")


def test_a_message_is_not_settled_before_it_is_complete() -> None:
    payload = HELLO.encode()
    talk = opened().client(transfer(0, payload[:3], more=True)).server(settle(0, WRONG))
    assert talk.last().settles == ()
    talk.client(transfer(None, payload[3:]))
    (message,) = talk.messages
    assert (message.outcome, message.text, message.latency_ns) == ("rejected", "x:y: no", 0)


@pytest.mark.parametrize("side", ["client", "server"])
def test_a_disposition_before_the_last_transfer_settles_without_a_word(side: str) -> None:
    payload = HELLO.encode()
    talk = opened().client(transfer(0, payload[:3], more=True))
    talk.send(side, frame(settle(0, role=side == "server")))
    talk.client(transfer(None, payload[3:]))
    (message,) = talk.messages
    assert (message.outcome, message.settled_seq) == ("settled", talk.last().seq)


def test_an_outcome_that_was_stated_holds_for_what_is_sent_settled_in_the_end() -> None:
    payload = HELLO.encode()
    talk = opened().client(transfer(0, payload[:3], more=True))
    talk.server(settle(0, Accepted(), settled=False)).client(transfer(None, payload[3:], settled=True))
    (message,) = talk.messages
    assert (message.outcome, message.settled_seq) == ("accepted", None)


def test_a_gap_of_the_receiver_leaves_a_delivery_under_way() -> None:
    payload = HELLO.encode()
    talk = opened().client(transfer(0, payload[:3], more=True)).gap(SERVER, 10)
    talk.client(transfer(None, payload[3:])).server(settle(0, Accepted()))
    assert talk.outcomes() == [("publish", 0, "accepted")]


def test_a_gap_says_which_messages_of_transactions_stay_open() -> None:
    talk = opened().controller().server(credit(9)).declare(0)
    talk.client(transfer(1, HELLO, state=within(b"t"), settled=True))
    unit = talk.last().seq
    talk.client(transfer(2, HELLO, state=within(b"t"))).gap(CLIENT, 10)
    (skipped,) = [event for event in talk.events if isinstance(event, Skipped)]
    assert skipped.settles == ((unit, None, "ended"),)
    talk.discharge(3).finish()
    assert talk.outcomes() == [("publish", 1, None), ("publish", 2, None)]


def test_a_handle_means_its_link_though_another_session_attaches_the_name() -> None:
    """Until it's detached (part 2 section 2.6.2): who steals a link detaches it at the old place."""
    talk = opened().session(1).client(_attach(False), channel=1).client(transfer(0, HELLO))
    talk.server(settle(0, Accepted()))
    (message,) = talk.messages
    assert (message.address, message.link) == ("q", "out")


def test_a_link_that_ended_in_an_error_is_suspended() -> None:
    talk = sent(0).server(Detach(0, False, Error(Symbol("x:y")))).client(Detach(0))
    tags: dict[bytes, Any] = {b"0": None}
    talk.client(_attach(False, unsettled=tags)).server(_attach(True, unsettled=tags), credit(0))
    talk.client(transfer(5, tag=b"0", resume=True)).server(settle(5, Accepted()))
    assert not talk.rules
    assert talk.outcomes() == [("publish", 0, "accepted")]
    assert len(talk.messages) == 1


def test_what_is_suspended_comes_out_beyond_the_limit() -> None:
    talk = opened(limits=Limits(unsettled=2))
    for first in (0, 2, 4):
        talk.client(transfer(first, HELLO), transfer(first + 1, HELLO))
        talk.client(Detach(0, False, Error(Symbol("x:y")))).server(Detach(0))
        talk.client(_attach(False, unsettled={})).server(_attach(True, unsettled=None), credit(0))
    # The sender's map has none of them: it has settled all.
    assert [outcome for _, _, outcome in talk.outcomes()] == ["settled"] * 6
    talk = opened(limits=Limits(unsettled=2))
    for number in range(4):
        talk.client(transfer(number, HELLO), Detach(0, False, Error(Symbol("x:y"))))
        talk.server(Detach(0)).client(_attach(False)).server(_attach(True), credit(0))
    assert [outcome for _, _, outcome in talk.outcomes()] == [None] * 2
    assert len(talk.finish().messages) == 4


def test_a_range_that_breaks_a_rule_is_taken_as_told() -> None:
    talk = sent(0, 1, 2).server(settle(1, Accepted(), settled=False))
    talk.server(settle(0, Modified(), 2))
    assert talk.rules == ["1.0/delivery-state/terminal-final"]
    assert [outcome for _, _, outcome in talk.outcomes()] == ["modified"] * 3


def test_the_error_of_a_suspended_delivery_that_is_aborted_is_known() -> None:
    tags: dict[bytes, Any] = {b"0": None}
    talk = sent(0).server(settle(0, WRONG, settled=False)).client(Detach(0)).server(Detach(0))
    talk.client(_attach(False, unsettled=tags)).server(_attach(True, unsettled=tags), credit(0))
    talk.client(transfer(5, tag=b"0", resume=True, aborted=True))
    (message,) = talk.messages
    assert (message.outcome, message.text) == ("rejected", "x:y: no")


def test_links_of_sessions_that_are_over_are_not_held() -> None:
    talk = opened()
    sizes: list[int] = []
    for at in range(40):
        talk.session(7)
        name = f"link {at}"
        for side, role in ((talk.client, False), (talk.server, True)):
            count = None if role else 0
            side(Attach(name, 0, role, source=Source(), target=Target(), initial_delivery_count=count), channel=7)
        talk.client(End(), channel=7).server(End(), channel=7)
        sizes.append(len(pickle.dumps(talk.observer)))
    assert not talk.rules
    assert sizes[-1] <= sizes[10] + 64
