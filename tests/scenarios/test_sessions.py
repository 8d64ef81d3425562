"""0-10: sessions, commands, publishing, subscriptions, credit, transactions and branches, and how each of them ends."""

from __future__ import annotations

from typing import Any

import pytest

from amqp_sansio import Accepted, By, EndpointClosed, Event, LimitExceeded, Limits, LocalProtocolError
from amqp_sansio.amqp_0_10 import (
    CommandReceived,
    CreditChanged,
    DeliveryProperties,
    ExecutionError,
    Message,
    MessageProperties,
    MessageReceived,
    Rejected,
    Released,
)
from amqp_sansio.amqp_0_10 import Session as CoreSession
from amqp_sansio.amqp_0_10.spec import (
    CREDIT,
    NONE,
    NOT_ACQUIRED,
    WINDOW,
    XA_RBROLLBACK,
    ExchangeBind,
    ExchangeBound,
    ExchangeDeclare,
    ExchangeDelete,
    ExchangeQuery,
    ExchangeUnbind,
    MessageFlow,
    MessageStop,
    MessageTransfer,
    QueueDeclare,
    QueueDelete,
    QueuePurge,
    QueueQuery,
    StreamDeliver,
    XaResult,
    Xid,
)
from amqp_sansio.client import inbox
from amqp_sansio.client.amqp_0_10.subscription import Subscription
from amqp_sansio.errors import RemoteProtocolError, SessionEnded, TransactionFailed
from tests.kit.scripted import Peer, ScriptedBroker
from tests.kit.worlds import World

NOT_FOUND = 404
XID = Xid(1, b"global", b"branch")


def numbers(count: int, size: int = 2) -> list[bytes]:
    """Bodies that are told apart."""
    return [n.to_bytes(2).ljust(size) for n in range(count)]


async def take(subscription: Subscription, count: int) -> list[int]:
    """The numbers of the next messages, which are accepted."""
    taken: list[int] = []
    for _ in range(count):
        received = await anext(subscription)
        taken.append(int.from_bytes(received.body[:2]))
        if received.accepts:
            await received.accept()
    return taken


def commands(broker: ScriptedBroker, name: str) -> int:
    """How often a command came."""
    return sum(name == each.command.NAME for each in broker.peer.of(CommandReceived))


def core_of(broker: ScriptedBroker) -> CoreSession:
    """The broker's end of the newest client's first session."""
    core: CoreSession = broker.peer.core.session(0)
    return core


async def test_opening_and_closing(world: World, broker: ScriptedBroker) -> None:
    async with world.connect_0_10(broker.url) as connection:
        assert connection.is_open
        assert connection.report is None
        assert connection.peer_properties["product"] == "amqp_sansio"
        assert "open" in repr(connection)
        async with connection.open_session() as session:
            assert (session.is_open, session.channel, session.timeout) == (True, 0, 0)
            assert "open" in repr(session)
            other = await connection.open_session()
            assert other.channel == 1
            assert other.name != session.name
            ends = [await other.close(), await other.close(), await other.wait_closed()]
            assert [report.by for report in ends] == [By.LOCAL] * 3
        assert not session.is_open
        assert session.report is not None
        assert "closed" in repr(session)
        with pytest.raises(SessionEnded, match="closed by this side") as caught:
            await session.sync()
        error = caught.value
        assert (error.code, error.condition, error.session, error.resumable) == (0, "", session.name, False)
        with pytest.raises(EndpointClosed):
            session.detached_state()
    assert [(await connection.close()).by, connection.report and connection.report.by] == [By.LOCAL] * 2
    with pytest.raises(EndpointClosed):
        await connection.open_session()


@pytest.mark.rule("0-10/message.transfer/blank-destination")
async def test_every_outcome_reaches_its_publisher(world: World, broker: ScriptedBroker) -> None:
    broker.fill("jobs")
    async with world.connect_0_10(broker.url) as connection, connection.open_session() as session:
        assert await session.publish(b"1", routing_key="jobs") == Accepted()
        assert type(await session.publish(b"2", routing_key="nowhere")) is Rejected
        none: object = await session.publish(b"3", "", "jobs", accept_mode=NONE)
        assert none is None
        assert await world.gather(*[session.publish(b"x", "", "jobs") for _ in range(50)]) == [Accepted()] * 50
        sent = [await session.publish(b"y", "", "jobs", wait=False) for _ in range(50)]
        # The peer tells lazily what nobody has asked for; awaiting one asks for all.
        assert await sent[-1] == Accepted()
        assert [await each for each in sent] == [Accepted()] * 50
        assert broker.queue("jobs").ready == 102
        broker.script = lambda peer, event: isinstance(event, MessageReceived)
        last = await session.publish(b"4", "", "jobs", wait=False)
        await world.until(lambda: broker.peer.of(MessageReceived)[-1].body == b"4")
        broker.act(lambda: core_of(broker).release(last.command_id))
        assert type(await last) is Released
        assert last.done
        assert "done" in repr(last)
        await session.sync()
        assert not session.pending


async def test_publishes_that_nobody_awaits_are_bounded(world: World, broker: ScriptedBroker) -> None:
    broker.fill("jobs")
    limits = Limits(replay=40, replay_octets=100_000)
    async with world.connect_0_10(broker.url, limits=limits) as connection, connection.open_session() as session:
        most = 0
        for number in range(300):
            await session.publish(b"%d" % number, "", "jobs", accept_mode=NONE, wait=False)
            most = max(most, len(session.pending))
        for _ in range(20):
            await session.publish(bytes(20_000), "", "jobs", accept_mode=NONE, wait=False)
        with pytest.raises(LimitExceeded):
            await session.publish(bytes(200_000), "", "jobs")
        await session.sync()
        assert broker.queue("jobs").ready == 320
        assert 10 <= most <= 20


async def test_messages_keep_what_they_say(world: World, broker: ScriptedBroker) -> None:
    broker.fill("jobs")
    message = Message(
        b"body",
        delivery_properties=DeliveryProperties(routing_key="old", priority=7),
        message_properties=MessageProperties(content_type="text/plain"),
    )
    async with (
        world.connect_0_10(broker.url, max_frame_size=4096) as connection,
        connection.open_session() as session,
        session.subscribe("jobs") as subscription,
    ):
        await session.publish(message, routing_key="jobs")
        await session.publish(bytes(100_000), routing_key="jobs")
        received = await subscription.fetch(5)
        assert received is not None
        assert (received.delivery_properties.priority, received.message_properties.content_type) == (7, "text/plain")
        assert received.destination == subscription.destination
        assert (received.routing_key, received.headers) == ("jobs", received.message.headers)
        assert (received.accepts, received.acquired, received.redelivered) == (True, True, False)
        assert "4 octets" in repr(received)
        # Sent on as it is.
        await session.publish(received.message)
        large = await subscription.fetch(5)
        assert large is not None
        assert large.body == bytes(100_000)
        passed = await subscription.fetch(5)
        assert passed is not None
        assert passed.body == b"body"


async def test_calls_of_every_kind(world: World, broker: ScriptedBroker) -> None:
    async with world.connect_0_10(broker.url) as connection, connection.open_session() as session:
        await session.call(QueueDeclare("other", durable=True))
        await session.call(ExchangeDeclare("x", "direct"))
        assert (await session.call(ExchangeQuery("x"))).type == "direct"
        assert (await session.call(ExchangeQuery("y"))).not_found
        await session.call(ExchangeBind("other", "x", "k"))
        assert not (await session.call(ExchangeBound("x", "other", "k"))).key_not_matched
        assert await session.publish(b"1", "x", "k") == Accepted()
        assert (await session.call(QueueQuery("other"))).message_count == 1
        await session.call(QueuePurge("other"))
        assert (await session.call(QueueQuery("other"))).message_count == 0
        await session.call(ExchangeUnbind("other", "x", "k"))
        await session.call(ExchangeDelete("x"))
        await session.call(QueueDelete("other"))
        assert (await session.call(QueueQuery("other"))).queue is None
        with pytest.raises(LocalProtocolError, match="transfer"):
            await session.call(MessageTransfer(""))
        with pytest.raises(LocalProtocolError, match="no message"):
            await session.call(QueueDeclare("x"), Message(b"x"))


@pytest.mark.rule("0-10/message.transfer/nonexistent-exchange", "0-10/session.attach/one-transport")
async def test_a_command_that_can_not_be_executed_ends_the_session(world: World, broker: ScriptedBroker) -> None:
    broker.fill("jobs")
    broker.fill("empty")

    def script(peer: Peer, event: Event) -> bool:
        return isinstance(event, MessageReceived) and event.body in (b"1", b"2")

    broker.script = script
    async with world.connect_0_10(broker.url) as connection:
        session = await connection.open_session("mine", timeout=100)
        with pytest.raises(LocalProtocolError, match="attached on this connection"):
            await connection.open_session("mine")
        async with world.connect_0_10(broker.url) as other:
            with pytest.raises(SessionEnded) as caught:
                await other.open_session("mine")
            assert (caught.value.condition, caught.value.code) == ("session-busy", 1)
        later = await session.publish(b"1", "", "jobs", wait=False)
        subscription = await session.subscribe("empty")
        stream = session.events()
        waiting: list[Any] = [world.start(session.publish(b"2", "", "jobs")), world.start(anext(subscription))]
        await world.until(lambda: len(broker.peers[0].of(MessageReceived)) == 2)
        with pytest.raises(SessionEnded, match="nix") as caught:
            await session.call(QueueDelete("nix"))
        error = caught.value
        assert (error.code, error.condition, error.resumable) == (NOT_FOUND, "not-found", False)
        assert error.report is not None
        assert (error.report.class_id, error.report.method_id) == (8, 2)
        assert isinstance(error.__cause__, RemoteProtocolError)
        waiting += [later, later, anext(stream), session.sync(), session.publish(b"3")]
        waiting += [subscription.fetch(), subscription.grant(1)]
        for each in waiting:
            with pytest.raises(SessionEnded, match="nix") as caught:
                await each
            assert caught.value.code == NOT_FOUND
        assert (await session.close()).code == NOT_FOUND
        with pytest.raises(EndpointClosed):
            session.detached_state()
        # The name is free again, and the connection goes on.
        again = await connection.open_session("mine")
        with pytest.raises(SessionEnded, match="nix") as caught:
            await again.publish(b"x", "nix")
        assert caught.value.code == NOT_FOUND
        assert connection.is_open


async def test_answers_for_callers_that_gave_up_are_dealt_with(world: World, broker: ScriptedBroker) -> None:
    broker.fill("jobs", b"1")
    async with world.connect_0_10(broker.url) as connection, connection.open_session("mine", timeout=60) as session:
        core = broker.peer.core
        assert await session.request_timeout(50) == session.timeout == 50
        await session.sync()
        with broker.faults.stall("to_client"):
            for call in (
                session.subscribe("jobs"),
                session.call(QueueQuery("jobs")),
                session.publish(b"2", "", "jobs"),
                connection.open_session("late", timeout=60),
                session.transaction().begin(),
            ):
                await world.give_up(call)
            pending = [*session.pending.values()]
        await session.sync()
        assert Accepted() in [await each for each in pending]
        await world.until(lambda: list(core.sessions) == [0] and broker.queue("jobs").consumers == 0)
        await session.sync()
        assert not session.pending
        assert session.subscriptions == {}
        async with session.transaction():
            assert await session.publish(b"3", "", "jobs") == Accepted()
        assert sorted(broker.bodies("jobs")) == [b"1", b"2", b"3"]
        async with world.connect_0_10(broker.url) as other, other.open_session("late") as late:
            assert late.is_open


@pytest.mark.parametrize("flow_mode", [WINDOW, CREDIT])
@pytest.mark.parametrize("credit", [1, 3, 100])
async def test_credit_is_kept_full_as_messages_are_taken(
    world: World, broker: ScriptedBroker, credit: int, flow_mode: int
) -> None:
    broker.fill("jobs", *numbers(60))
    async with world.connect_0_10(broker.url) as connection, connection.open_session() as session:
        async with session.subscribe("jobs", credit=credit, flow_mode=flow_mode) as subscription:
            # Nothing more comes before something is taken.
            await world.until(lambda: broker.queue("jobs").unsettled == min(credit, 60))
            assert await take(subscription, 40) == list(range(40))
            assert "open" in repr(subscription)
        assert "closed" in repr(subscription)
        # What nobody took was given back when the subscription was closed.
        await world.until(lambda: broker.queue("jobs").ready == 20)
        assert sorted(broker.bodies("jobs")) == numbers(60)[40:]


@pytest.mark.rule("0-10/message.set-flow-mode/byte-accounting")
@pytest.mark.parametrize("flow_mode", [WINDOW, CREDIT])
async def test_credit_in_octets(world: World, broker: ScriptedBroker, flow_mode: int) -> None:
    broker.fill("jobs", *numbers(20, 100))
    async with (
        world.connect_0_10(broker.url) as connection,
        connection.open_session() as session,
        session.subscribe("jobs", credit=100, octets=350, flow_mode=flow_mode) as subscription,
    ):
        await world.until(lambda: broker.queue("jobs").unsettled in (2, 3))
        assert await take(subscription, 20) == list(range(20))


@pytest.mark.rule("0-10/message.subscribe/zero-credit", "0-10/message.flush/zero", "0-10/message.stop/zero")
async def test_credit_by_hand_and_fetching(world: World, broker: ScriptedBroker) -> None:
    broker.fill("jobs", *numbers(12))
    async with world.connect_0_10(broker.url) as connection, connection.open_session() as session:
        async with session.subscribe("jobs", credit=0, flow_mode=CREDIT) as subscription:
            await session.sync()
            assert broker.queue("jobs").ready == 12
            await subscription.grant(3)
            assert await take(subscription, 3) == [0, 1, 2]
            await subscription.grant(2)
            await subscription.stop()
            await subscription.grant(5)
            await subscription.flush()
            await subscription.grant(None)
            assert await take(subscription, 9) == list(range(3, 12))
            await subscription.stop()
            assert await subscription.fetch(0.01) is None
            fetches = [world.start(subscription.fetch(5)) for _ in range(3)]
            await world.turn()
            for body in numbers(3):
                broker.publish(body, routing_key="jobs")
            found = [got for each in fetches if (got := await each)]
            assert sorted(int.from_bytes(each.body) for each in found) == [0, 1, 2]
            await session.accept(*found)
        async with session.subscribe("jobs", credit=5) as subscription:
            broker.publish(b"one", routing_key="jobs")
            one = await subscription.fetch(5)
            assert one is not None
            await one.accept()
            assert await subscription.fetch(0.01) is None


@pytest.mark.rule("0-10/message.cancel/post-cancel")
async def test_settling_in_every_way(world: World, broker: ScriptedBroker) -> None:
    broker.fill("jobs", *numbers(8))
    async with world.connect_0_10(broker.url) as connection, connection.open_session() as session:
        subscription = await session.subscribe("jobs", destination="mine", credit=8)
        assert subscription.destination == "mine"
        got = [await anext(subscription) for _ in range(8)]
        assert session.unsettled == tuple(each.command_id for each in got)
        await got[0].accept()
        await session.reject(got[1], code=2, text="not this")
        await subscription.stop()
        await got[2].release()
        await got[3].release(set_redelivered=True)
        await session.accept(got[4], got[5].command_id)
        for again in (got[0].accept(), got[1].reject(), got[4].accept(), got[5].release()):
            with pytest.raises(LocalProtocolError):
                await again
        # They can be settled after the subscription is closed.
        await world.gather(subscription.close(), subscription.close())
        assert not subscription.is_open
        assert [each async for each in subscription] == []
        for call in (subscription.stop(), subscription.flush(), subscription.fetch()):
            with pytest.raises(SessionEnded, match="is closed"):
                await call
        # Two accepts of one turn are one command; of a thread that waits for nothing they are two.
        await session.sync()
        before = commands(broker, "message.accept")
        await got[6].accept()
        await got[7].accept()
        await session.sync()
        assert commands(broker, "message.accept") == before + (2 if world.has_threads else 1)
        assert session.unsettled == ()
        assert sorted(broker.bodies("jobs")) == [b"\0\2", b"\0\3"]
        async with session.subscribe("jobs", destination="mine") as subscription:
            redelivered = [received.redelivered for received in [await anext(subscription) for _ in range(2)]]
            assert True in redelivered


@pytest.mark.rule("0-10/message.acquire/one-to-one", "0-10/message.accept/acquisition")
async def test_without_accepting_and_without_acquiring(world: World, broker: ScriptedBroker) -> None:
    broker.fill("jobs", *numbers(5))
    async with world.connect_0_10(broker.url) as connection:
        session = await connection.open_session()
        async with session.subscribe("jobs", accept_mode=NONE, credit=2) as subscription:
            received = await anext(subscription)
            assert not received.accepts
            with pytest.raises(LocalProtocolError):
                await received.accept()
            assert await take(subscription, 4) == [1, 2, 3, 4]
        assert broker.messages("jobs") == ()
        for body in numbers(3):
            broker.publish(body, routing_key="jobs")
        async with session.subscribe("jobs", acquire_mode=NOT_ACQUIRED, credit=5) as subscription:
            got = [await anext(subscription) for _ in range(3)]
            assert not any(each.acquired for each in got)
            assert broker.queue("jobs").ready == 3
            with pytest.raises(LocalProtocolError, match="not acquired"):
                await got[0].accept()
            assert await got[0].acquire()
            await got[0].accept()
            await session.sync()
            assert broker.get("jobs") is not None
            assert not await got[1].acquire()
            assert list(await session.acquire(*got[1:])) == [got[2].command_id]
            assert not await session.acquire()
            await session.release(got[2])
            await session.sync()
            assert broker.bodies("jobs") == [b"\0\2"]
        broker.publish(b"\0\3", routing_key="jobs")
        subscription = await session.subscribe("jobs", accept_mode=NONE, credit=2)
        await world.until(lambda: broker.messages("jobs") == ())
        await session.sync()
        await session.close()
        # They are nobody else's any more, so they can still be taken.
        assert [int.from_bytes((await anext(subscription)).body) for _ in range(2)] == [2, 3]
        with pytest.raises(StopAsyncIteration):
            await anext(subscription)
        with pytest.raises(SessionEnded):
            await subscription.fetch()


@pytest.mark.rule("0-10/message.subscribe/queue-not-found")
async def test_a_subscription_that_is_refused(world: World, broker: ScriptedBroker) -> None:
    broker.fill("jobs")
    async with world.connect_0_10(broker.url) as connection:
        session = await connection.open_session()
        with pytest.raises(SessionEnded, match="nowhere") as caught:
            async with session.subscribe("nowhere"):
                pass
        assert caught.value.code == NOT_FOUND
        session = await connection.open_session()
        first = await session.subscribe("jobs", destination="d")
        with pytest.raises(LocalProtocolError, match="in use"):
            await session.subscribe("jobs", destination="d")
        with pytest.raises(ValueError, match="flow mode 7"):
            await session.subscribe("jobs", flow_mode=7)
        with pytest.raises(ValueError, match="credit -1"):
            await session.subscribe("jobs", credit=-1)
        assert session.subscriptions == {"d": first}
        with pytest.raises(SessionEnded):
            await session.subscribe("jobs", exclusive=True)
        with pytest.raises(SessionEnded):
            await anext(first)


@pytest.mark.rule("0-10/message/throttling")
async def test_a_publisher_waits_for_credit(world: World, broker: ScriptedBroker) -> None:
    broker.fill("jobs")
    async with world.connect_0_10(broker.url) as connection:
        session = await connection.open_session()
        await session.publish(b"first", routing_key="jobs")
        core, stream = core_of(broker), session.events(CreditChanged)
        broker.act(lambda: core.call(MessageStop("")))
        assert (await anext(stream)).messages == 0
        await world.give_up(session.publish(b"given up", "", "jobs"))
        sends = [world.start(session.publish(b"%d" % number, "", "jobs")) for number in range(3)]
        await world.turn()
        # What is said of the default exchange counts for all that have no credit of their own.
        assert not any(each.done for each in sends)
        # Octets first: a client that was granted messages alone counts no octets.
        broker.act(lambda: core.call(MessageFlow("", 1, None)))
        broker.act(lambda: core.call(MessageFlow("", 0, 2)))
        await world.until(lambda: sum(each.done for each in sends) >= 2)  # The broker grants more itself.
        broker.act(lambda: core.call(MessageFlow("", 0, None)))
        assert [await each for each in sends] == [Accepted()] * 3
        assert sorted(broker.bodies("jobs")) == [b"0", b"1", b"2", b"first"]
        broker.act(lambda: core.call(MessageStop("")))
        await world.until(lambda: session.core.credit("")[0] == 0)
        last = world.start(session.publish(b"never", "", "jobs"))
        await world.turn()
        await session.close()
        with pytest.raises(SessionEnded):
            await last


@pytest.mark.rule("0-10/message.transfer/tx-publish", "0-10/tx.select/exactly-once", "0-10/tx.rollback/keeps-acquired")
@pytest.mark.rule("0-10/tx.select/explicit-accepts")
async def test_transactions(world: World, broker: ScriptedBroker) -> None:
    broker.fill("jobs", b"question")
    broker.fill("answers")
    async with world.connect_0_10(broker.url) as connection:
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
        assert broker.messages("answers") == ()
        # The message is still acquired; it may be accepted again.
        assert received is not None
        async with session.transaction() as transaction:
            assert await session.publish(b"answer", routing_key="answers") == Accepted()
            await received.accept()
            await session.sync()
            assert broker.bodies("answers") == []
            assert broker.queue("jobs").unsettled == 1
            assert not transaction.ended
            assert "open" in repr(transaction)
        assert transaction.ended
        assert (broker.bodies("answers"), broker.messages("jobs")) == ([b"answer"], ())
        async with session.transaction() as transaction:
            later = await session.publish(b"more", "", "answers", wait=False)
            assert await later == Accepted()
            await transaction.commit()
        async with session.transaction() as transaction:
            await session.publish(b"undone", routing_key="answers")
            await transaction.rollback()
        assert broker.bodies("answers") == [b"answer", b"more"]
        assert [commands(broker, f"tx.{name}") for name in ("select", "commit", "rollback")] == [1, 2, 2]
        transaction = session.transaction()
        for call in (transaction.commit(), transaction.rollback()):
            with pytest.raises(LocalProtocolError, match="begun"):
                await call
        await transaction.begin()
        for call, words in (
            (transaction.begin(), "already"),
            (session.transaction().begin(), "open"),
            (session.subscribe("jobs", accept_mode=NONE), "accept-mode"),
        ):
            with pytest.raises(LocalProtocolError, match=words):
                await call
        await transaction.rollback()
        for call in (transaction.commit(), transaction.rollback()):
            with pytest.raises(LocalProtocolError, match="ended"):
                await call
        await session.close()
        with pytest.raises(SessionEnded):
            await session.transaction().begin()
        # An exception of the program's says more than the rollback that fails.
        other = await connection.open_session()
        with pytest.raises(ZeroDivisionError):
            async with other.transaction():
                await connection.close()
                raise ZeroDivisionError


@pytest.mark.rule("0-10/dtx/transactionality", "0-10/dtx.end/success", "0-10/dtx.end/failure", "0-10/dtx.end/suspend")
async def test_branches(world: World, broker: ScriptedBroker) -> None:
    broker.fill("jobs")
    async with world.connect_0_10(broker.url) as connection:
        session, other = await connection.open_session(), await connection.open_session()
        async with session.branch(XID) as branch:
            assert await session.publish(b"inside", "", "jobs") == Accepted()
        assert broker.messages("jobs") == ()
        assert await branch.prepare()
        assert await other.recover() == [XID]
        # Another session settles it.
        await other.branch(XID).commit()
        assert await other.recover() == []
        assert broker.bodies("jobs") == [b"inside"]
        assert "not started" in repr(branch)
        # One phase, and a branch without work.
        async with session.branch(XID) as branch:
            await session.publish(b"more", "", "jobs")
        await branch.commit(one_phase=True)
        async with session.branch(XID) as branch:
            pass
        assert not await branch.prepare()
        assert commands(broker, "dtx.select") == 1
        async with session.branch(XID) as branch:
            await branch.end()
        await branch.rollback()
        branch = session.branch(XID)
        with pytest.raises(ZeroDivisionError):
            async with branch:
                await session.publish(b"never", "", "jobs")
                raise ZeroDivisionError
        # A session that joins what can only be rolled back isn't associated with it.
        with pytest.raises(TransactionFailed, match="xa-rbrollback") as caught:
            await other.branch(XID, join=True).start()
        assert caught.value.error == XaResult(XA_RBROLLBACK)
        await branch.rollback()
        await branch.start()
        await branch.end(suspend=True)
        again = session.branch(XID, resume=True)
        await again.start()
        await session.publish(b"x", "", "jobs")
        async with other.branch(XID, join=True):
            await other.publish(b"y", "", "jobs")
        await again.end()
        await branch.set_timeout(30)
        assert await branch.get_timeout() == 30
        assert await branch.prepare()
        await branch.rollback()
        assert broker.bodies("jobs") == [b"inside", b"more"]


@pytest.mark.rule("0-10/dtx.prepare/unknown-xid", "0-10/dtx.start/already-known")
async def test_a_branch_that_is_not_legal_ends_the_session(world: World, broker: ScriptedBroker) -> None:
    async with world.connect_0_10(broker.url) as connection:
        session = await connection.open_session()
        with pytest.raises(SessionEnded) as caught:
            await session.branch(XID).prepare()
        assert caught.value.code == NOT_FOUND
        session = await connection.open_session()
        await session.branch(XID).start()
        with pytest.raises(LocalProtocolError, match="works for"):
            await session.branch(Xid(1, b"o", b"o")).start()
        other = await connection.open_session()
        with pytest.raises(LocalProtocolError, match="join and resume"):
            await other.branch(XID, join=True, resume=True).start()
        with pytest.raises(SessionEnded) as caught:
            await other.branch(XID).start()
        assert caught.value.code == 530
        with pytest.raises(LocalProtocolError, match="selected"):
            await session.transaction().begin()
        await session.branch(XID).end()
        # The session is lost while it works for a branch.
        with pytest.raises(ZeroDivisionError):
            async with session.branch(Xid(1, b"n", b"n")):
                await connection.close()
                raise ZeroDivisionError


async def test_timeouts_and_decisions_of_branches(world: World, broker: ScriptedBroker) -> None:
    broker.fill("jobs")
    async with world.connect_0_10(broker.url) as connection:
        session = await connection.open_session()
        branch = session.branch(XID)
        await branch.start()
        await branch.set_timeout(30)
        assert await branch.get_timeout() == 30
        broker.clock.advance(31)
        with pytest.raises(TransactionFailed, match="xa-rbtimeout"):
            await branch.end()
        await branch.rollback()
        async with session.branch(XID) as branch:
            await session.publish(b"x", "", "jobs")
        await branch.prepare()
        register = broker.peer.front.register
        book = register.book("/")
        broker.act(lambda: (book.branches.decide(XID, "commit"), register.decide(book)))
        with pytest.raises(TransactionFailed, match="xa-heurcom"):
            await branch.rollback()
        await branch.forget()
        assert await session.recover() == []
        assert broker.bodies("jobs") == [b"x"]


async def test_commands_of_the_server(world: World, broker: ScriptedBroker) -> None:
    async with world.connect_0_10(broker.url) as connection:
        session = await connection.open_session()
        await session.sync()
        core = core_of(broker)
        stream = session.events(CommandReceived)
        streamed = StreamDeliver("tag", 1, "amq.direct", "jobs")
        handle = broker.act(lambda: core.call(streamed, Message(b"streamed")))
        event = await anext(stream)
        assert (event.command, event.body) == (streamed, b"streamed")
        await world.turn()
        with pytest.raises(LocalProtocolError):
            session.complete(1000)
        session.complete(event.command_id)
        await session.sync()
        await world.until(lambda: handle.done)
        refused = broker.act(lambda: core.call(streamed, Message(b"refused")))
        event = await anext(stream)
        session.fail(ExecutionError(403, "not for me"), event.command_id)
        assert (await session.wait_closed()).text == "not for me"
        await world.until(lambda: refused.done)
        assert "not for me" in str(refused.error)
        # Nobody reads such events here, so they're refused.
        other = await connection.open_session()
        await other.sync()
        core = core_of(broker)
        broker.act(lambda: core.call(streamed, Message(b"x")))
        assert (await other.wait_closed()).code == 540
        with pytest.raises(SessionEnded, match="takes commands"):
            await other.sync()


@pytest.mark.parametrize("flow_mode", [WINDOW, CREDIT])
@pytest.mark.parametrize("how", ["stop", "flush"])
async def test_messages_are_taken_while_the_credit_is_being_taken_back(
    world: World, broker: ScriptedBroker, flow_mode: int, how: str
) -> None:
    broker.fill("jobs", *numbers(4))
    async with (
        world.connect_0_10(broker.url) as connection,
        connection.open_session() as session,
        session.subscribe("jobs", credit=4, flow_mode=flow_mode) as subscription,
    ):
        await world.until(lambda: broker.queue("jobs").unsettled == 4)
        await session.sync()
        with broker.faults.stall("to_client"):
            ending = world.start(getattr(subscription, how)())
            await world.until(lambda: session.core.is_stopping(subscription.destination))
            # New credit can't be granted now, and isn't.
            assert await take(subscription, 4) == [0, 1, 2, 3]
        await ending
        assert not session.core.is_stopping(subscription.destination)
        assert subscription.granted[0] == 0


@pytest.mark.parametrize("how", ["fetch", "grant"])
async def test_a_window_that_a_fetch_left_open_is_closed_before_the_next_credit(
    world: World, broker: ScriptedBroker, how: str
) -> None:
    """The server learns of the completion and of the stop in one go: nothing comes that the completion had room for."""

    def hold(peer: Peer, event: Event) -> bool:
        if isinstance(event, CreditChanged) and event.messages == 1:
            broker.script = None
            peer.line.hold(True)
        return False

    broker.fill("jobs", *numbers(1))
    async with (
        world.connect_0_10(broker.url) as connection,
        connection.open_session() as session,
        session.subscribe("jobs", credit=0, flow_mode=WINDOW) as subscription,
    ):
        broker.script = hold
        first = await subscription.fetch(5)
        assert first is not None
        broker.peer.hold(False)
        broker.publish(b"2", routing_key="jobs")
        if how == "grant":
            # Also while the stop is on its way, whatever has come before it.
            await subscription.grant(1)
            assert (await anext(subscription)).body == b"2"
            return
        for seconds in (5, 0.5):
            broker.publish(b"3", routing_key="jobs")
            assert await subscription.fetch(seconds) is not None
        await session.sync()
        assert subscription.granted[0] == 0
        assert await subscription.fetch(0) is not None


async def test_a_subscription_that_nobody_reads_falls_behind(
    world: World, broker: ScriptedBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inbox, "OVERRUN", 2)
    broker.fill("jobs", *numbers(200))
    async with world.connect_0_10(broker.url) as connection:
        session, other = await connection.open_session(), await connection.open_session()
        subscription = await session.subscribe("jobs", credit=0)
        with pytest.raises(EndpointClosed, match="fell behind"):
            await subscription.grant(None)
            for turn in range(100):
                await other.sync()
                broker.fill("jobs", *[b"x"] * 200 * (turn % 2))
            async for message in subscription:
                await message.accept()
