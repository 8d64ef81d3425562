"""1.0: transactions over the links of a session, and requests with their replies."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from amqp_sansio import AMQP_1_0, EndpointClosed, Event, LocalProtocolError
from amqp_sansio.amqp_1_0 import (
    Accepted,
    Error,
    Message,
    Properties,
    Rejected,
    TransactionalState,
    TransactionRequested,
)
from amqp_sansio.amqp_1_0.codec.conditions import TRANSACTION_ROLLBACK
from amqp_sansio_sync import LinkEnded, NotAccepted, Session, TransactionFailed, connect
from tests.kit.server_1_0 import WAIT, Server, running, wait_until
from tests.kit.sync_1_0 import look


def test_a_commit_makes_it_happen(server: Server, session: Session) -> None:
    server.fill("in", b"1", b"2")
    with session.open_receiver("in", timeout=WAIT) as receiver, session.open_sender("out") as sender:
        with session.transaction() as transaction:
            assert transaction.txn_id == b"txn-1"
            delivery = next(receiver)
            assert sender.send(delivery.message, transaction=transaction) == Accepted()
            delivery.accept(transaction=transaction)
            assert server.bodies("out") == []
            assert "open" in repr(transaction)
        assert server.bodies("out") == [b"1"]
        assert not server.transactions
        states = [each.state for each in server.received]
        assert states == [TransactionalState(b"txn-1")]
        with pytest.raises(LocalProtocolError, match="has ended"):
            sender.send(b"x", transaction=transaction)
        with pytest.raises(LocalProtocolError, match="declared already"), transaction:
            pass
    assert server.bodies("in") == [b"2"]


def test_an_exception_rolls_back(server: Server, session: Session) -> None:
    server.fill("in", b"1")
    with session.open_receiver("in", credit=1, timeout=WAIT) as receiver, session.open_sender("out") as sender:
        with pytest.raises(RuntimeError, match="mine"), session.transaction() as transaction:
            sender.send(b"x", transaction=transaction)
            next(receiver).accept(transaction=transaction)
            raise RuntimeError("mine")
        assert next(receiver).body == b"1"
        assert server.bodies("out") == []


def test_commit_and_rollback_by_hand(server: Server, session: Session) -> None:
    with session.open_sender("out") as sender:
        with session.transaction(timeout=WAIT) as transaction:
            sender.send(b"1", transaction=transaction)
            transaction.rollback()
        with session.transaction(timeout=WAIT) as transaction:
            sender.send(b"2", transaction=transaction)
            transaction.commit()
            assert server.bodies("out") == [b"2"]
        with pytest.raises(LocalProtocolError, match="isn't declared"):
            session.transaction().commit()
    control = [link for link in server.session().links.values()]
    assert len(control) == 1  # one link for all transactions


def test_two_transactions_at_a_time(server: Server, session: Session) -> None:
    with session.open_sender("out") as sender, session.transaction() as one, session.transaction() as two:
        sender.send(b"1", transaction=one)
        sender.send(b"2", transaction=two)
        one.rollback()
        two.commit()
    assert server.bodies("out") == [b"2"]


def test_each_outcome_in_a_transaction(server: Server, session: Session) -> None:
    server.fill("in", b"0", b"1", b"2", b"3")
    with session.open_receiver("in", credit=4, timeout=WAIT) as receiver:
        taken = [next(receiver) for _ in range(4)]
        with session.transaction() as transaction:
            taken[0].reject("amqp:invalid-field", transaction=transaction)
            taken[1].release(transaction=transaction)
            taken[2].modify(undeliverable_here=True, transaction=transaction)
            receiver.accept(taken[3], transaction=transaction)
            assert not server.dead
        assert len(server.dead) == 2
        assert next(receiver).body == b"1"


def test_a_commit_that_is_refused_is_told(server: Server, session: Session) -> None:
    server.refuse_commit = Error(TRANSACTION_ROLLBACK, "it was rolled back")
    with session.open_sender("out") as sender:
        with (
            pytest.raises(TransactionFailed, match="amqp:transaction:rollback it was") as caught,
            session.transaction() as transaction,
        ):
            sender.send(b"x", transaction=transaction)
        assert caught.value.condition == "amqp:transaction:rollback"
        assert server.bodies("out") == []
        assert sender.send(b"y") == Accepted()


@pytest.mark.rule("1.0/transactions/declare/global-id")
def test_a_global_transaction_needs_a_coordinator_that_offers_it(server: Server, session: Session) -> None:
    with (
        pytest.raises(LocalProtocolError, match="amqp:distributed-transactions") as caught,
        session.transaction(global_id=b"everybody's"),
    ):
        pytest.fail("it isn't declared")
    assert caught.value.rule == "1.0/transactions/declare/global-id"
    assert not server.transactions


@pytest.mark.rule("1.0/transactions/declare/rejected-outcome")
def test_the_control_link_takes_rejections(server: Server, session: Session) -> None:
    with session.transaction():
        (control,) = server.session().links.values()
    assert "amqp:rejected:list" in control.source.outcomes
    assert control.target.capabilities == ("amqp:local-transactions",)


def test_a_declaration_that_is_refused_is_told(server: Server, session: Session) -> None:
    server.refuse_transactions = True
    with pytest.raises(TransactionFailed, match="no transactions today"), session.transaction():
        pytest.fail("it isn't declared")
    server.refuse_transactions = False
    with session.transaction() as transaction:
        assert transaction.txn_id


def test_a_coordinator_that_leaves_ends_the_transaction(server: Server, session: Session) -> None:
    with session.open_sender("out") as sender:
        with (
            pytest.raises(LinkEnded, match="amqp:transaction:timeout too long") as caught,
            session.transaction() as transaction,
        ):
            sender.send(b"x", transaction=transaction)
            served = server.session()
            control = next(link for link in served.links.values() if link.target.NAME == "coordinator")
            served.do(lambda: control.close("amqp:transaction:timeout", "too long"))
            wait_until(lambda: look(session) and control.report is not None)
        assert caught.value.condition == "amqp:transaction:timeout"
        with session.transaction() as another:
            assert sender.send(b"y", transaction=another) == Accepted()
    assert b"y" in server.bodies("out")


def test_a_transaction_declared_too_late_is_rolled_back() -> None:
    held: list[Event] = []

    def hold(session: Any, event: Event) -> bool:
        if isinstance(event, TransactionRequested) and not held:
            held.append(event)
            return True
        return False

    with (
        running(script=hold) as server,
        connect(server.url, version=AMQP_1_0) as connection,
        connection.open_session() as session,
    ):
        with pytest.raises(TimeoutError, match="the declaration of the transaction"), session.transaction(timeout=0.05):
            pytest.fail("it isn't declared")
        served = server.session()
        served.do(lambda: served.handle(held[0]))
        wait_until(lambda: look(session) and not server.transactions)
        with session.transaction(timeout=WAIT) as transaction:
            assert transaction.txn_id == b"txn-2"


def test_requests_have_their_replies(server: Server, session: Session) -> None:
    server.services["upper"] = lambda request: Message(str(request.body).upper())
    with session.open_requester("upper", timeout=WAIT) as requester:
        assert requester.address == "temporary.1"
        assert requester.call(Message("hello"), timeout=WAIT).body == "HELLO"
        reply = requester.call(Message("mine", properties=Properties(message_id=7)), timeout=WAIT)
        assert (reply.body, reply.correlation_id) == ("MINE", 7)
        assert requester.call("text", timeout=WAIT).body == "TEXT"
        assert repr(requester) == "<Requester 'upper', replies to 'temporary.1'>"
        answers: dict[int, object] = {}

        def ask(number: int) -> None:
            answers[number] = requester.call(f"n{number}", timeout=WAIT).body

        threads = [threading.Thread(target=ask, args=(number,)) for number in range(20)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(WAIT)
        assert answers == {number: f"N{number}" for number in range(20)}
    wait_until(lambda: not server.session().links)


def test_a_request_without_a_reply_times_out_and_a_late_one_is_dropped(server: Server, session: Session) -> None:
    with session.open_requester("lazy", timeout=WAIT) as requester:
        with pytest.raises(TimeoutError, match=r"the reply: not within 0\.05 seconds"):
            requester.call("x", timeout=0.05)
        asked = server.received[-1].message
        late = Message("late", properties=Properties(correlation_id=asked.message_id))
        with session.open_sender(requester.address) as sender:
            sender.send(late)
            sender.send(Message("no reply at all"))
        wait_until(lambda: look(session) and not server.bodies(requester.address))
        server.services["lazy"] = lambda request: Message("now")
        assert requester.call("y", timeout=WAIT).body == "now"


def test_a_request_that_is_not_accepted_is_told(server: Server, session: Session) -> None:
    server.outcomes["no"] = Rejected()
    with (
        session.open_requester("no", timeout=WAIT) as requester,
        pytest.raises(NotAccepted, match="Rejected") as caught,
    ):
        requester.call("x", timeout=WAIT)
    assert caught.value.outcome == Rejected()


def test_calls_end_with_the_link_of_their_replies(server: Server, session: Session) -> None:
    requester = session.open_requester("lazy", timeout=WAIT)
    served = server.session()
    link = next(link for link in served.links.values() if link.role == "sender")
    timer = threading.Timer(0.05, lambda: served.do(lambda: link.close("amqp:resource-deleted", "gone")))
    timer.start()
    with pytest.raises(LinkEnded, match="amqp:resource-deleted gone"):
        requester.call("x", timeout=WAIT)
    timer.join()
    requester.close()


def test_a_requester_of_a_missing_service_leaves_nothing(server: Server, session: Session) -> None:
    server.refused.add("missing")
    with pytest.raises(EndpointClosed, match="no node 'missing'"):
        session.open_requester("missing")
    wait_until(lambda: look(session) and not server.session().links)
