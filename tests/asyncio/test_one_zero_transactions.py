"""Transactions of 1.0: committed, rolled back, refused, and a coordinator that isn't there."""

from __future__ import annotations

import asyncio

import pytest

from amqp_sansio.amqp_1_0 import Error, TransactionRequested
from amqp_sansio.events import Event
from amqp_sansio_asyncio import TransactionFailed
from tests.kit.asyncio_broker import until
from tests.kit.asyncio_loops import run
from tests.kit.asyncio_nodes import Nodes, peer

ROLLBACK = "amqp:transaction:rollback"


def test_cancelling_rolls_back() -> None:
    async def main() -> None:
        async with peer() as (connection, made):
            session = await connection.open_session()
            sender = await session.open_sender("out")

            async def work() -> None:
                async with session.transaction() as transaction:
                    await sender.send(b"x", transaction=transaction)
                    await asyncio.sleep(60)

            task = asyncio.ensure_future(work())
            await until(lambda: any(each.commit for each in made.transactions.values()))
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert not made.transactions
            assert made.bodies("out") == []

    run(main())


def test_a_transaction_that_is_cancelled_while_it_is_declared() -> None:
    async def main() -> None:
        async with peer() as (connection, made):
            session = await connection.open_session()
            async with session.transaction():
                pass
            for _ in range(3):
                declaring = asyncio.ensure_future(session.transaction().declare())
                await asyncio.sleep(0)
                await asyncio.sleep(0)
                assert not declaring.done()
                declaring.cancel()
            # One declared and committed, three declared and rolled back.
            await until(lambda: len(_requests(made)) == 8)
            assert not made.transactions
            async with session.transaction() as transaction:
                assert transaction.txn_id

    run(main())


def _requests(made: Nodes) -> list[Event]:
    return [event for event in made.seen if isinstance(event, TransactionRequested)]


def test_a_commit_that_is_refused() -> None:
    async def main() -> None:
        async with peer() as (connection, made):
            session = await connection.open_session()
            sender = await session.open_sender("out")
            made.refuse_commit = Error(ROLLBACK, "disk full")
            with pytest.raises(TransactionFailed, match="disk full") as caught:
                async with session.transaction() as transaction:
                    await sender.send(b"x", transaction=transaction)
            assert caught.value.condition == ROLLBACK
            assert made.bodies("out") == []
            made.refuse_commit = None
            # The coordinator doesn't know it any more.
            async with session.transaction() as transaction:
                made.transactions.clear()
                with pytest.raises(TransactionFailed, match="no such transaction"):
                    await transaction.commit()

    run(main())
