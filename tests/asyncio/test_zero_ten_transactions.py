"""Transactions of 0-10: of one session, and branches of distributed ones."""

from __future__ import annotations

import asyncio

import pytest

from amqp_sansio.amqp_0_10 import XA_HEURCOM, XA_RBTIMEOUT, CommandReceived, XaResult, Xid
from amqp_sansio.errors import TransactionFailed
from tests.kit.asyncio_broker import until
from tests.kit.asyncio_loops import run
from tests.kit.asyncio_node_0_10 import XID, Node, peer

ILLEGAL_STATE = 409


def commands(made: Node, name: str) -> int:
    """How often a command came."""
    found = [each for each in made.seen if isinstance(each, CommandReceived)]
    return sum(name == each.command.NAME for each in found)


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
