"""0-10: standard and distributed transactions of a session."""

from __future__ import annotations

from typing import Any

import pytest

from amqp_sansio import AMQP_0_10, Accepted
from amqp_sansio.amqp_0_10 import NONE, CommandReceived, Message, QueueDeclare, TxCommit, TxSelect, XaResult, Xid
from amqp_sansio.errors import LocalProtocolError, TransactionFailed
from amqp_sansio_sync import SessionEnded, connect
from amqp_sansio_sync.amqp_0_10 import Connection, Session
from tests.kit.sync_0_10 import WAIT, Server, running

XID = Xid(7, b"global", b"branch")


def test_a_commit_makes_it_happen(server: Server, session: Session) -> None:
    server.fill("jobs", b"1", b"2")
    server.fill("out")
    with session.subscribe("jobs", credit=1, timeout=WAIT) as subscription:
        with session.transaction(timeout=WAIT) as transaction:
            assert repr(transaction).endswith(", open>")
            delivery = next(subscription)
            message = Message(delivery.body, headers=delivery.headers)
            assert session.publish(message, routing_key="out") == Accepted()
            delivery.accept()
            assert server.bodies("out") == []
        assert server.bodies("out") == [b"1"]
        assert server.accepted == [b"1"]
        assert delivery.command_id not in session.unsettled
        assert repr(transaction).endswith(", ended>")
        with pytest.raises(LocalProtocolError, match="the transaction has ended"):
            transaction.commit()
        with pytest.raises(LocalProtocolError, match="has begun already"), transaction:
            pytest.fail("it can't begin")
        with pytest.raises(LocalProtocolError, match="hasn't begun"):
            session.transaction().rollback()
    kinds = [type(each) for each in server.executed]
    assert (kinds.count(TxSelect), kinds.count(TxCommit)) == (1, 1)


def test_an_exception_rolls_back_and_what_was_accepted_is_unsettled_again(server: Server, session: Session) -> None:
    server.fill("jobs", b"1")
    server.fill("out")
    with session.subscribe("jobs", timeout=WAIT) as subscription:
        delivery = next(subscription)
        with pytest.raises(RuntimeError, match="mine"), session.transaction():
            session.publish(b"x", routing_key="out")
            delivery.accept()
            raise RuntimeError("mine")
        assert server.bodies("out") == []
        assert session.unsettled == (delivery.command_id,)
        with session.transaction():
            delivery.accept()
        assert not session.unsettled
    kinds = [type(each) for each in server.executed]
    assert kinds.count(TxSelect) == 1


def test_commit_and_rollback_by_hand(server: Server, session: Session) -> None:
    server.fill("out")
    with session.transaction(timeout=WAIT) as transaction:
        session.publish(b"1", routing_key="out")
        transaction.rollback()
    transaction = session.transaction()
    transaction.begin()
    session.publish(b"2", routing_key="out")
    transaction.commit()
    assert server.bodies("out") == [b"2"]


def test_one_transaction_at_a_time(session: Session) -> None:
    with session.transaction():
        with pytest.raises(LocalProtocolError, match="has a transaction that is open"), session.transaction():
            pytest.fail("it can't begin")
        with pytest.raises(LocalProtocolError, match="selected for standard transactions"), session.branch(XID):
            pytest.fail("it can't begin")
    with session.transaction():
        pass


def test_a_transaction_needs_explicit_accepts(session: Session) -> None:
    with (
        session.subscribe("jobs", accept_mode=NONE),
        pytest.raises(LocalProtocolError, match="accept-mode is none"),
        session.transaction(),
    ):
        pytest.fail("it can't begin")
    with session.transaction():
        session.publish(b"x", routing_key="jobs")


def test_a_session_that_fails_rolls_back(server: Server, connection: Connection) -> None:
    session = connection.open_session()
    with pytest.raises(SessionEnded, match="no queue 'nope'"), session.transaction():
        session.publish(b"x", routing_key="jobs")
        session.call(QueueDeclare(queue="nope", passive=True))
    assert server.bodies("jobs") == []


def test_a_rollback_without_an_answer_is_noted() -> None:
    from amqp_sansio.amqp_0_10 import TxRollback

    def mute(session: Any, event: object) -> bool:
        return isinstance(event, CommandReceived) and isinstance(event.command, TxRollback)

    with running(script=mute) as server, connect(server.url, version=AMQP_0_10, close_timeout=0.2) as connection:
        session = connection.open_session()
        with pytest.raises(RuntimeError) as caught, session.transaction(timeout=0.05):
            raise RuntimeError("mine")
        (note,) = caught.value.__notes__
        assert note.startswith("the transaction could not be rolled back: the commit or rollback: not within")
        session.core.detach()


def test_a_branch_in_two_phases(server: Server, session: Session) -> None:
    server.fill("jobs", b"1")
    server.fill("out")
    with session.subscribe("jobs", timeout=WAIT) as subscription:
        with session.branch(XID, timeout=WAIT) as branch:
            session.publish(b"x", routing_key="out")
            delivery = next(subscription)
            delivery.accept()
            assert session.unsettled == ()
        assert server.bodies("out") == []
        assert branch.prepare()
        assert session.recover() == [XID]
        branch.commit()
        assert server.bodies("out") == [b"x"]
        assert server.accepted == [b"1"]
        assert session.recover() == []
        with pytest.raises(LocalProtocolError, match="works for none"):
            branch.end()


def test_a_branch_in_one_phase_and_one_without_work(server: Server, session: Session) -> None:
    with session.branch(XID) as branch:
        session.publish(b"x", routing_key="jobs")
    branch.commit(one_phase=True)
    assert server.bodies("jobs") == [b"x"]
    with session.branch(XID) as empty:
        pass
    assert not empty.prepare()


def test_an_exception_fails_a_branch(server: Server, session: Session) -> None:
    server.fill("jobs", b"1")
    with session.subscribe("jobs", timeout=WAIT) as subscription:
        delivery = next(subscription)
        branch = session.branch(XID)
        with pytest.raises(RuntimeError), branch:
            delivery.accept()
            session.publish(b"x", routing_key="jobs")
            raise RuntimeError("mine")
        with pytest.raises(TransactionFailed, match=r"dtx\.prepare of .*: xa-rbrollback") as caught:
            branch.prepare()
        assert isinstance(caught.value.error, XaResult)
        branch.rollback()
        assert session.unsettled == (delivery.command_id,)
        delivery.release()
    session.sync(WAIT)
    assert server.bodies("jobs") == [b"1"]


def test_a_branch_is_suspended_resumed_and_rolled_back(server: Server, session: Session) -> None:
    with session.branch(XID) as branch:
        session.publish(b"in", routing_key="jobs")
        branch.set_timeout(60)
        assert branch.get_timeout() == 60
        branch.end(suspend=True)
        session.publish(b"out", routing_key="jobs")
    assert server.bodies("jobs") == [b"out"]
    with session.branch(XID, resume=True) as branch:
        session.publish(b"in too", routing_key="jobs")
    branch.rollback()
    assert server.bodies("jobs") == [b"out"]


def test_two_sessions_work_for_a_branch(server: Server, connection: Connection) -> None:
    with connection.open_session() as one, connection.open_session() as two:
        with one.branch(XID), two.branch(XID, join=True):
            one.publish(b"1", routing_key="jobs")
            two.publish(b"2", routing_key="jobs")
        assert two.branch(XID).prepare()
        one.branch(XID).commit()
        assert server.bodies("jobs") == [b"1", b"2"]


def test_what_the_server_has_decided_itself_is_told_and_forgotten(server: Server, session: Session) -> None:
    with session.branch(XID) as branch:
        session.publish(b"x", routing_key="jobs")
    branch.prepare()
    with server.lock:
        server.branches.decide(XID, "rollback")
        server.branches.take_outcomes()
    with pytest.raises(TransactionFailed, match=r"dtx\.commit of .*: xa-heurrb"):
        branch.commit()
    branch.forget()
    assert session.recover() == []


def test_an_unknown_branch_ends_the_session(connection: Connection) -> None:
    session = connection.open_session()
    with pytest.raises(SessionEnded) as caught:
        session.branch(XID).commit()
    assert caught.value.code == 404
    session = connection.open_session()
    with pytest.raises(SessionEnded) as caught, session.branch(XID, resume=True):
        pytest.fail("it can't begin")
    assert caught.value.code == 530


def test_a_branch_that_is_to_be_rolled_back_cannot_be_joined(connection: Connection) -> None:
    with connection.open_session() as one, connection.open_session() as two:
        with one.branch(XID) as branch:
            one.publish(b"x", routing_key="jobs")
            with two.branch(XID, join=True) as other:
                other.end(fail=True)
            with pytest.raises(TransactionFailed, match=r"dtx\.start of .*: xa-rbrollback"), two.branch(XID, join=True):
                pytest.fail("it can't begin")
            with pytest.raises(TransactionFailed, match=r"dtx\.end of .*: xa-rbrollback"):
                branch.end()
        branch.rollback()
