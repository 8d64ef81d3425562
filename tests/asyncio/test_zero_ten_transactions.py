"""Transactions of 0-10: of one session, and branches of distributed ones."""

from __future__ import annotations

import asyncio

import pytest

from amqp_sansio.amqp_0_10 import NONE, XA_HEURCOM, XA_RBROLLBACK, XA_RBTIMEOUT, CommandReceived, XaResult, Xid
from amqp_sansio.errors import LocalProtocolError, TransactionFailed
from amqp_sansio.events import Accepted
from amqp_sansio_asyncio import SessionEnded
from amqp_sansio_asyncio.amqp_0_10 import Session
from tests.kit.asyncio_broker import until
from tests.kit.asyncio_loops import run
from tests.kit.asyncio_node_0_10 import NOT_ALLOWED, NOT_FOUND, XID, Node, peer

ILLEGAL_STATE = 409


def commands(made: Node, name: str) -> int:
    """How often a command came."""
    found = [each for each in made.seen if isinstance(each, CommandReceived)]
    return sum(name == each.command.NAME for each in found)


@pytest.mark.rule("0-10/message.transfer/tx-publish", "0-10/tx.select/exactly-once")
def test_work_counts_when_the_transaction_commits() -> None:
    async def main() -> None:
        async with peer() as (connection, made):
            made.put("jobs", b"question")
            made.queues["answers"] = type(made.queues["jobs"])()
            session = await connection.open_session()
            subscription = await session.subscribe("jobs", credit=1)
            async with session.transaction() as transaction:
                received = await subscription.fetch(5)
                assert received is not None
                assert await session.publish(b"answer", routing_key="answers") == Accepted()
                await received.accept()
                await session.sync()
                assert made.bodies("answers") == []
                assert len(made.sent) == 1
                assert not transaction.ended
                assert "open" in repr(transaction)
            assert transaction.ended
            assert made.bodies("answers") == [b"answer"]
            assert not made.sent
            # The session is selected once.
            async with session.transaction() as transaction:
                later = await session.publish(b"more", "", "answers", wait=False)
                assert await later == Accepted()
                await transaction.commit()
            assert len(made.bodies("answers")) == 2
            assert commands(made, "tx.select") == 1
            assert commands(made, "tx.commit") == 2

    run(main())


@pytest.mark.rule("0-10/tx.rollback/keeps-acquired")
def test_an_exception_rolls_back() -> None:
    async def main() -> None:
        async with peer() as (connection, made):
            made.put("jobs", b"question")
            made.queues["answers"] = type(made.queues["jobs"])()
            session = await connection.open_session()
            subscription = await session.subscribe("jobs", credit=1)
            failing = session.transaction()
            received = None
            with pytest.raises(ZeroDivisionError):
                async with failing:
                    await session.publish(b"answer", routing_key="answers")
                    received = await subscription.fetch(5)
                    assert received is not None
                    await received.accept()
                    raise ZeroDivisionError
            assert failing.ended
            assert made.bodies("answers") == []
            # The message is still acquired; it may be accepted again.
            assert len(made.sent) == 1
            assert received is not None
            async with session.transaction():
                await received.accept()
            assert not made.sent
            async with session.transaction() as transaction:
                await session.publish(b"answer", routing_key="answers")
                await transaction.rollback()
            assert made.bodies("answers") == []
            assert commands(made, "tx.rollback") == 2

    run(main())


def test_cancelling_rolls_back() -> None:
    async def main() -> None:
        async with peer() as (connection, made):
            session = await connection.open_session()

            async def work() -> None:
                async with session.transaction():
                    await session.publish(b"x", "", "jobs")
                    await asyncio.sleep(60)

            task = asyncio.ensure_future(work())
            await until(lambda: len(made.executed) == 1)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert commands(made, "tx.rollback") == 1
            assert made.bodies("jobs") == []
            # While it's being selected.
            other = await connection.open_session()
            beginning = asyncio.ensure_future(other.transaction().begin())
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            beginning.cancel()
            with pytest.raises(asyncio.CancelledError):
                await beginning
            async with other.transaction():
                await other.publish(b"y", "", "jobs")
            assert made.bodies("jobs") == [b"y"]
            assert commands(made, "tx.select") == 2

    run(main())


@pytest.mark.rule("0-10/tx.select/explicit-accepts")
def test_mistakes() -> None:
    async def main() -> None:
        async with peer() as (connection, _):
            session = await connection.open_session()
            transaction = session.transaction()
            for call in (transaction.commit, transaction.rollback):
                with pytest.raises(LocalProtocolError, match="begun"):
                    await call()
            await transaction.begin()
            with pytest.raises(LocalProtocolError, match="already"):
                await transaction.begin()
            with pytest.raises(LocalProtocolError, match="open"):
                await session.transaction().begin()
            with pytest.raises(LocalProtocolError, match="accept-mode"):
                await session.subscribe("jobs", accept_mode=NONE)
            await transaction.rollback()
            for call in (transaction.commit, transaction.rollback):
                with pytest.raises(LocalProtocolError, match="ended"):
                    await call()
            await session.close()
            with pytest.raises(SessionEnded):
                await session.transaction().begin()
            # An exception of the application's says more than the rollback that fails.
            other = await connection.open_session()
            with pytest.raises(ZeroDivisionError):
                async with other.transaction():
                    await connection.close()
                    raise ZeroDivisionError

    run(main())


@pytest.mark.rule("0-10/dtx/transactionality", "0-10/dtx.end/success")
def test_a_branch_in_two_phases() -> None:
    async def main() -> None:
        async with peer() as (connection, made):
            session = await connection.open_session()
            other = await connection.open_session()
            subscription = await session.subscribe("jobs", credit=1)
            made.put("jobs", b"question")
            async with session.branch(XID) as branch:
                assert await session.publish(b"inside", "", "jobs") == Accepted()
                received = await subscription.fetch(5)
                assert received is not None
                await received.accept()
                await session.sync()
            await session.publish(b"outside", "", "jobs")
            assert made.bodies("jobs") == [b"outside"] or not made.bodies("jobs")
            assert len(made.executed) == 2
            assert await branch.prepare()
            assert await other.recover() == [XID]
            # Another session settles it.
            await other.branch(XID).commit()
            assert await other.recover() == []
            await session.sync()
            assert (b"inside" in made.bodies("jobs")) or len(made.sent) == 1
            assert "not started" in repr(branch)
            # One phase, and a branch without work.
            async with session.branch(XID) as branch:
                await session.publish(b"more", "", "jobs")
            await branch.commit(one_phase=True)
            async with session.branch(XID) as branch:
                pass
            assert not await branch.prepare()
            assert commands(made, "dtx.select") == 1

    run(main())


@pytest.mark.rule("0-10/dtx.end/failure", "0-10/dtx.end/suspend")
def test_branches_that_fail_suspend_and_join() -> None:
    async def main() -> None:
        async with peer() as (connection, made):
            session = await connection.open_session()
            other = await connection.open_session()
            branch = session.branch(XID)
            with pytest.raises(ZeroDivisionError):
                async with branch:
                    await session.publish(b"never", "", "jobs")
                    raise ZeroDivisionError
            # A session that joins what can only be rolled back isn't associated with it.
            for _ in range(2):
                with pytest.raises(TransactionFailed, match="xa-rbrollback") as caught:
                    await other.branch(XID, join=True).start()
                assert caught.value.error == XaResult(XA_RBROLLBACK)
            await branch.rollback()
            assert made.bodies("jobs") == []
            await branch.start()
            await branch.end(suspend=True)
            again = session.branch(XID, resume=True)
            await again.start()
            await session.publish(b"x", "", "jobs")
            async with other.branch(XID, join=True):
                await other.publish(b"y", "", "jobs")
            await again.end()
            assert await branch.prepare()
            await branch.rollback()
            assert made.bodies("jobs") == []

    run(main())


def test_timeouts_and_decisions_of_branches() -> None:
    async def main() -> None:
        async with peer() as (connection, made):
            session = await connection.open_session()
            branch = session.branch(XID)
            await branch.start()
            await branch.set_timeout(30)
            assert await branch.get_timeout() == 30
            made.ahead = 31.0
            with pytest.raises(TransactionFailed, match="xa-rbtimeout") as caught:
                await branch.end()
            assert caught.value.error == XaResult(XA_RBTIMEOUT)
            await branch.rollback()
            other = await connection.open_session()
            branch = other.branch(Xid(1, b"g", b"2"))
            await branch.start()
            await other.publish(b"x", "", "jobs")
            await branch.end()
            await branch.prepare()
            made.branches.decide(branch.xid, "commit")
            with pytest.raises(TransactionFailed, match="xa-heurcom") as caught:
                await branch.rollback()
            assert caught.value.error == XaResult(XA_HEURCOM)
            await branch.forget()
            assert await other.recover() == []
            assert made.bodies("jobs") == [b"x"]

    run(main())


@pytest.mark.rule("0-10/dtx.prepare/unknown-xid", "0-10/dtx.start/already-known")
def test_what_is_not_legal_ends_the_session() -> None:
    async def main() -> None:
        async with peer() as (connection, made):
            session = await connection.open_session()
            with pytest.raises(SessionEnded) as caught:
                await session.branch(XID).prepare()
            assert caught.value.code == NOT_FOUND
            session = await connection.open_session()
            await session.branch(XID).start()
            with pytest.raises(LocalProtocolError, match="works for"):
                await session.branch(Xid(1, b"o", b"o")).start()
            with pytest.raises(LocalProtocolError, match="join and resume"):
                await (await connection.open_session()).branch(XID, join=True, resume=True).start()
            other = await connection.open_session()
            with pytest.raises(SessionEnded) as caught:
                await other.branch(XID).start()
            assert caught.value.code == NOT_ALLOWED
            with pytest.raises(LocalProtocolError, match="selected"):
                await session.transaction().begin()
            # The session is lost while it works for a branch.
            with pytest.raises(ZeroDivisionError):
                async with (await begun(session)).branch(Xid(1, b"n", b"n")):
                    await connection.close()
                    raise ZeroDivisionError
            await until(lambda: made.branches.state(XID).value != "active")

    async def begun(session: Session) -> Session:
        await session.branch(XID).end()
        return session

    run(main())


def test_a_branch_that_is_cancelled_while_it_starts() -> None:
    async def main() -> None:
        async with peer() as (connection, made):
            session = await connection.open_session()
            async with session.branch(Xid(1, b"first", b"")):
                pass
            starting = asyncio.ensure_future(session.branch(XID).start())
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            assert not starting.done()
            starting.cancel()
            await until(lambda: commands(made, "dtx.end") == 2)
            await session.sync()
            await session.branch(XID).rollback()
            async with session.branch(XID) as branch:
                await session.publish(b"x", "", "jobs")
            await branch.commit(one_phase=True)
            assert made.bodies("jobs") == [b"x"]

    run(main())
