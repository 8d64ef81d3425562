"""Transactions of 1.0: committed, rolled back, refused, and a coordinator that isn't there."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

import pytest

from amqp_sansio.amqp_1_0 import Accepted, Error, LinkRequested, Message, TransactionRequested
from amqp_sansio.errors import LocalProtocolError
from amqp_sansio.events import Event
from amqp_sansio_asyncio import LinkEnded, TransactionFailed
from tests.kit.asyncio_broker import until
from tests.kit.asyncio_loops import run
from tests.kit.asyncio_nodes import Nodes, peer

ROLLBACK = "amqp:transaction:rollback"


def test_work_counts_when_the_transaction_commits() -> None:
    async def main() -> None:
        async with peer() as (connection, made):
            session = await connection.open_session()
            sender = await session.open_sender("out")
            feeder = await session.open_sender("in")
            await feeder.send(Message("question"))
            receiver = await session.open_receiver("in", credit=1)
            async with session.transaction() as transaction:
                delivery = await receiver.fetch(5)
                assert delivery is not None
                assert await sender.send(Message("answer"), transaction=transaction) == Accepted()
                await delivery.accept(transaction=transaction)
                assert transaction.txn_id
                assert made.bodies("out") == []
            assert transaction.ended
            assert made.bodies("out") == ["answer"]
            await receiver.close()
            assert made.bodies("in") == []
            # A second one uses the same link to the coordinator.
            async with session.transaction() as transaction:
                later = await sender.send(b"more", transaction=transaction, wait=False)
                assert await later == Accepted()
                await transaction.commit()
            assert len(made.bodies("out")) == 2
            links = [event for event in made.seen if isinstance(event, LinkRequested)]
            assert sum("Coordinator" in repr(event.attach.target) for event in links) == 1

    run(main())


def test_an_exception_rolls_back() -> None:
    async def main() -> None:
        async with peer() as (connection, made):
            session = await connection.open_session()
            sender = await session.open_sender("out")
            feeder = await session.open_sender("in")
            await feeder.send(Message("question"))
            receiver = await session.open_receiver("in", credit=1)
            failing = session.transaction()
            with pytest.raises(ZeroDivisionError):
                async with failing as transaction:
                    await sender.send(Message("answer"), transaction=transaction)
                    delivery = await receiver.fetch(5)
                    assert delivery is not None
                    await delivery.accept(transaction=transaction)
                    raise ZeroDivisionError
            assert failing.ended
            assert made.bodies("out") == []
            again = await receiver.fetch(5)
            assert again is not None
            assert again.body == "question"
            async with session.transaction() as transaction:
                await sender.send(Message("answer"), transaction=transaction)
                await transaction.rollback()
            assert made.bodies("out") == []
            assert not made.transactions

    run(main())


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


def test_mistakes() -> None:
    async def main() -> None:
        async with peer() as (connection, _):
            session = await connection.open_session()
            sender = await session.open_sender("out")
            transaction = session.transaction(global_id=None)
            with pytest.raises(LocalProtocolError, match="declared"):
                await sender.send(b"x", transaction=transaction)
            await transaction.declare()
            with pytest.raises(LocalProtocolError, match="already"):
                await transaction.declare()
            assert "open" in repr(transaction)
            await transaction.rollback()
            calls: list[Coroutine[Any, Any, object]] = [
                sender.send(b"x", transaction=transaction),
                transaction.commit(),
                transaction.rollback(),
            ]
            for call in calls:
                with pytest.raises(LocalProtocolError, match="ended"):
                    await call
            assert await sender.send(b"x") == Accepted()

    run(main())


def test_the_end_of_the_coordinator() -> None:
    async def main() -> None:
        async with peer() as (connection, made):
            session = await connection.open_session()
            sender = await session.open_sender("out")
            with pytest.raises(LinkEnded) as caught:
                async with session.transaction() as transaction:
                    await sender.send(b"x", transaction=transaction)
                    core = made.connections[0].core
                    links = [link for link in core.session(0).links if link.role == "receiver"]
                    links[-1].close(ROLLBACK, "no more")
                    made.connections[0].flush()
                    await asyncio.sleep(0.02)
            assert caught.value.condition == ROLLBACK
            # The next one opens another link.
            async with session.transaction() as transaction:
                await sender.send(b"y", transaction=transaction)
            assert made.bodies("out") == [b"y"]
            # An exception of the application's says more than the rollback that fails.
            with pytest.raises(ZeroDivisionError):
                async with session.transaction():
                    await connection.close()
                    raise ZeroDivisionError

    run(main())
