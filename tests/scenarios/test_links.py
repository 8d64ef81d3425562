"""1.0: sessions and links, credit, every outcome, transactions, requests, and how each of them ends."""

from __future__ import annotations

from typing import Any

import pytest

from amqp_sansio import By, EndpointClosed, Event, LocalProtocolError
from amqp_sansio.amqp_1_0 import (
    Accepted,
    CreditChanged,
    Delivery,
    Error,
    Header,
    LinkRequested,
    Message,
    Modified,
    Properties,
    Rejected,
    Released,
    SessionRequested,
    Source,
    Symbol,
    Target,
    TransactionRequested,
)
from amqp_sansio.amqp_1_0 import Receiver as CoreReceiver
from amqp_sansio.amqp_1_0 import Sender as CoreSender
from amqp_sansio.amqp_1_0.codec.conditions import DETACH_FORCED, FRAMING_ERROR, INTERNAL_ERROR, NOT_FOUND
from amqp_sansio.amqp_1_0.spec import Declare, Discharge, Received
from amqp_sansio.errors import LinkEnded, NotAccepted, RemoteProtocolError, TransactionFailed
from amqp_sansio.events import Opened
from tests.kit.held_1_0 import HeldNode, answer
from tests.kit.scripted import Peer, ScriptedBroker
from tests.kit.worlds import World


async def test_opening_and_closing(world: World, broker: ScriptedBroker) -> None:
    async with world.connect_1_0(broker.url) as connection:
        assert connection.is_open
        assert connection.report is None
        assert connection.remote.container_id
        assert "open" in repr(connection)
        async with connection.open_session() as session:
            assert session.is_open
            assert repr(session) == "<Session 0, open>"
            assert session.channel == 0
            other = await connection.open_session(properties={"s": 1})
            assert other.channel == 1
            assert [(await other.close()).by for _ in range(2)] == [By.LOCAL] * 2
        assert not session.is_open
        assert session.report is not None
    assert [(await connection.close()).by, connection.report and connection.report.by] == [By.LOCAL] * 2
    with pytest.raises(EndpointClosed):
        await connection.open_session()


async def test_every_outcome_reaches_its_sender(world: World, broker: ScriptedBroker) -> None:
    node = HeldNode(broker)
    async with world.connect_1_0(broker.url) as connection, connection.open_session() as session:
        sender = await session.open_sender("held", name="mine", properties={"l": 2}, max_message_size=1000)
        assert (sender.name, sender.target, sender.address) == ("mine", Target(address="held"), "held")
        assert sender.remote is not None
        outcomes = [Released(), Rejected(), Modified(True, False), Accepted()]
        sent = [await sender.send(Message(n), wait=False) for n in range(4)]
        assert [each.done for each in sent] == [False] * 4
        assert (sent[0].state, list(sender.pending)) == (None, [each.delivery_tag for each in sent])
        assert "pending" in repr(sent[0])
        await world.until(lambda: len(node.came) == 4)
        node.settle(1, Received(0, 3), settled=False)
        await world.until(lambda: sent[0].state == Received(0, 3))
        waiting = [world.start(sender.pending[sent[3].delivery_tag].result()) for _ in "ab"]
        await world.give_up(sent[3].result())
        for outcome in outcomes:
            node.settle(1, outcome)
        assert [await each for each in sent] == outcomes
        assert [await each for each in waiting] == [Accepted()] * 2
        assert sent[3].state == Accepted()
        assert not sender.pending
        assert await sender.send(b"5", settled=True) is None
        await world.until(lambda: node.bodies == [b"5"])


async def test_many_in_flight_and_messages_of_every_kind(world: World, broker: ScriptedBroker) -> None:
    broker.fill("jobs")
    async with world.connect_1_0(broker.url, max_frame_size=512) as connection, connection.open_session() as session:
        sender = await session.open_sender("jobs")
        assert await world.gather(*[sender.send(Message(n)) for n in range(50)]) == [Accepted()] * 50
        sent = [await sender.send(Message(n), wait=False) for n in range(50, 100)]
        assert [await each for each in sent] == [Accepted()] * 50
        assert all(each.done and each.state == Accepted() for each in sent)
        receiver = await session.open_receiver(Source(address="jobs"), name="other", credit=5)
        assert (receiver.source and receiver.source.address, receiver.address) == ("jobs", "jobs")
        assert "jobs" in repr(receiver)
        bodies: list[int] = []
        async for delivery in receiver:
            bodies.append(delivery.body)
            await delivery.accept()
            if len(bodies) == 100:
                break
        assert sorted(bodies) == list(range(100))
        assert bodies[-50:] == list(range(50, 100))
        whole = Message(
            {"a": [1, "x", None]},
            header=Header(durable=True),
            properties=Properties(message_id="m", subject="s"),
            application_properties={"n": 1},
        )
        for message in (whole, Message(bytes(100_000)), Message("text"), Message(b"")):
            assert await sender.send(message) == Accepted()
            got = await receiver.fetch(5)
            assert got is not None
            assert (got.message.body, got.message.properties) == (message.body, message.properties)
            assert (got.settled, got.resumed, got.message_format) == (False, False, 0)
            assert got.receiver.name == receiver.name
            assert (got.payload, got.state) == (got.message.encode(), None)
            assert (got.delivery_tag in receiver.pending, receiver.report) == (True, None)
            assert (receiver.core.rcv_settle_mode, f"{len(got.payload)} octets" in repr(got)) == (0, True)
            await got.update(Received(0, 0))
            await got.accept()


async def test_credit_is_topped_up_as_deliveries_are_taken(world: World, broker: ScriptedBroker) -> None:
    broker.fill("jobs", *[b"%d" % n for n in range(40)])
    async with world.connect_1_0(broker.url) as connection, connection.open_session() as session:
        for credit in (1, 3, 10):
            async with session.open_receiver("jobs", credit=credit) as receiver:
                await world.until(lambda: broker.queue("jobs").unsettled == credit)  # noqa: B023
                taken = 0
                async for delivery in receiver:
                    await delivery.accept()
                    taken += 1
                    if taken == 10:
                        break
        # What nobody took was given back when the receivers were closed.
        await world.until(lambda: broker.queue("jobs").ready == 10)


async def test_settling_in_every_way(world: World, broker: ScriptedBroker) -> None:
    broker.fill("jobs", *[b"%d" % n for n in range(6)])
    async with world.connect_1_0(broker.url) as connection, connection.open_session() as session:
        async with session.open_receiver("jobs", credit=6) as receiver:
            got = [await anext(receiver) for _ in range(6)]
            await got[0].accept()
            await got[1].reject("amqp:decode-error", "what is it?")
            await got[2].release()
            await got[3].modify(delivery_failed=True, message_annotations={"x-why": "no"})
            await receiver.accept(got[4], got[5])
            for twice in (got[4].accept(), got[2].release()):
                with pytest.raises(LocalProtocolError):
                    await twice
        # Released and modified ones are there again.
        await world.until(lambda: sorted(broker.bodies("jobs")) == [b"2", b"3"])
        seen = repr(broker.peer.events)
        assert "what is it?" in seen and "x-why" in seen
        # The receiver settles second.
        sender = await session.open_sender("jobs", rcv_settle_mode=1)
        assert await sender.send(b"both") == Accepted()
        receiver = await session.open_receiver("jobs", rcv_settle_mode=1)
        for _ in range(3):
            delivery = await receiver.fetch(5)
            assert delivery is not None
            await delivery.accept()
        assert not receiver.pending
        await world.until(lambda: broker.messages("jobs") == ())


async def test_dynamic_nodes_and_the_anonymous_terminus(world: World, broker: ScriptedBroker) -> None:
    async with world.connect_1_0(broker.url) as connection, connection.open_session() as session:
        receiver = await session.open_receiver(None, dynamic=True)
        relay = await session.open_sender(None)
        assert (relay.address, bool(receiver.address)) == ("", True)
        assert await relay.send(Message(b"hi", properties=Properties(to=receiver.address))) == Accepted()
        delivery = await receiver.fetch(5)
        assert delivery is not None
        assert delivery.body == b"hi"
        producer = await session.open_sender(None, dynamic=True)
        assert await producer.send(b"there") == Accepted()
        for make, address, options, words in (
            (session.open_sender, "name", {"dynamic": True}, "dynamic"),
            (session.open_receiver, "name", {"dynamic": True}, "dynamic"),
            (session.open_receiver, None, {}, "address"),
            (session.open_receiver, "x", {"credit": -1}, "credit"),
        ):
            wrong: Any = make
            with pytest.raises(ValueError, match=words):
                await wrong(address, **options)


async def test_answers_for_callers_that_gave_up_are_dealt_with(world: World, broker: ScriptedBroker) -> None:
    broker.fill("jobs", b"1")
    broker.fill("rpc")
    async with world.connect_1_0(broker.url) as connection, connection.open_session() as session:
        core = broker.peer.core
        requester = await session.open_requester("rpc")
        async with session.transaction():
            pass
        before = len(core.session(0).links)
        with broker.faults.stall("to_client"):
            for call in (
                session.open_receiver("jobs"),
                session.open_sender("jobs"),
                connection.open_session(),
                session.transaction().declare(),
                requester.call(b"nobody answers"),
            ):
                await world.give_up(call)
        await world.until(lambda: list(core.sessions) == [0] and len(core.session(0).links) == before)
        async with session.open_receiver("rpc") as service, session.open_sender(requester.address) as replies:
            asked = await anext(service)
            await asked.accept()
            for number in (asked.message.message_id, b"no request of anybody"):
                assert await replies.send(Message("late", properties=Properties(correlation_id=number))) == Accepted()
        async with session.transaction() as transaction, session.open_receiver("jobs") as receiver:
            await (await anext(receiver)).accept(transaction=transaction)
        # The one that was declared too late is rolled back.
        requests = [event.request for event in broker.peer.of(TransactionRequested)]
        declared = sum(isinstance(each, Declare) for each in requests)
        assert (declared, len(requests)) == (3, 6)
        answering = world.start(answer(connection, 1))
        assert (await requester.call(Message(2))).body == 4
        await answering


async def test_links_and_sessions_of_the_peer(world: World, broker: ScriptedBroker) -> None:
    """Refused, unless somebody listens."""
    async with world.connect_1_0(broker.url) as connection, connection.open_session() as session:
        broker.script = lambda peer, event: isinstance(event, (Opened, CreditChanged, Delivery))
        core = broker.peer.core
        refused: list[Any] = [broker.act(core.open_session)]
        refused.append(broker.act(lambda: core.session(0).open_receiver("here", credit=1)))
        await session.open_sender(None)
        await world.until(lambda: all(each.report for each in refused))
        assert [each.report.condition for each in refused] == ["amqp:not-implemented"] * 2
        async with connection.events(SessionRequested) as sessions, session.events(LinkRequested) as links:
            begun = broker.act(core.open_session)
            assert connection.accept_session(await anext(sessions)).is_open
            await world.until(lambda: begun.is_open)
            theirs = broker.act(lambda: core.session(0).open_sender("to you"))
            receiver: Any = session.accept_link(await anext(links))
            broker.act(lambda: core.session(0).open_receiver("from you", credit=5))
            sender: Any = session.accept_link(await anext(links))
        await world.until(lambda: theirs.credit)
        broker.act(lambda: theirs.send(Message("ping")))
        assert (await anext(receiver)).body == "ping"
        sent = await sender.send(b"pong", wait=False)
        await world.until(lambda: broker.peer.of(Delivery))
        (event,) = broker.peer.of(Delivery)
        broker.act(lambda: core.session(0).link(event.link).accept(event))
        assert await sent == Accepted()
        broker.script = None


@pytest.mark.parametrize("make", ["open_sender", "open_receiver"])
async def test_a_refused_link(world: World, broker: ScriptedBroker, make: str) -> None:
    broker.fill("somewhere")
    async with world.connect_1_0(broker.url) as connection, connection.open_session() as session:
        opening = getattr(session, make)
        with pytest.raises(LinkEnded, match="nowhere") as caught:
            await opening("nowhere", name="lost")
        assert (caught.value.condition, caught.value.link) == (NOT_FOUND, "lost")
        assert caught.value.report is not None
        assert caught.value.report.by is By.REMOTE
        # The session goes on, and the name is free; a name that isn't is a mistake.
        for _ in range(3):
            async with opening("somewhere", name="lost") as link:
                assert link.is_open
                with pytest.raises(LocalProtocolError):
                    await opening("somewhere", name="lost")
            assert not link.is_open


async def test_credit_by_hand_draining_and_fetching(world: World, broker: ScriptedBroker) -> None:
    broker.fill("jobs", *[b"%d" % n for n in range(10)])
    async with world.connect_1_0(broker.url, close_timeout=1.0) as connection, connection.open_session() as session:
        receiver = await session.open_receiver("jobs", credit=0)
        assert receiver.credit == 0
        await receiver.flow(3)
        assert [(await anext(receiver)).body for _ in range(3)] == [b"0", b"1", b"2"]
        fetched = await receiver.fetch(5)  # It asks for one by itself.
        assert (fetched and fetched.body, receiver.credit) == (b"3", 0)
        # Messages that use the credit up end a drain too.
        await receiver.flow(4)
        await receiver.drain()
        assert [(await anext(receiver)).body for _ in range(4)] == [b"4", b"5", b"6", b"7"]
        await receiver.flow(10)
        await receiver.drain()
        await receiver.drain()  # Nothing to give back.
        assert receiver.credit == 0
        assert [(await anext(receiver)).body for _ in range(2)] == [b"8", b"9"]
        assert await receiver.fetch(0.01) is None
        assert receiver.credit == 0  # It was taken back.
        fetches = [world.start(receiver.fetch(5)) for _ in range(3)]
        assert await receiver.fetch(0.01) is None
        sender = await session.open_sender("jobs")
        for n in range(3):
            await sender.send(Message(n))
        assert sorted([got.body for each in fetches if (got := await each)]) == [0, 1, 2]
        with pytest.raises(LocalProtocolError):
            await receiver.flow(-1)
        async with session.open_receiver("jobs", credit=5) as automatic:
            await automatic.drain()
            assert automatic.credit == 0
            assert await automatic.fetch(0.01) is None
            waiting = world.start(anext(automatic))
            await world.turn()
            await sender.send(Message("again"))
            assert (await waiting).body == "again"


async def test_senders_wait_for_credit_in_turn(world: World, broker: ScriptedBroker) -> None:
    node = HeldNode(broker, credit=0)
    async with world.connect_1_0(broker.url) as connection, connection.open_session() as session:
        sender = await session.open_sender("held")
        assert sender.credit == 0
        wrong = world.start(sender.send(b"x", delivery_tag=bytes(33)))
        await world.turn()
        sends = [world.start(sender.send(Message(number))) for number in range(3)]
        await world.turn()
        assert not any(each.done for each in sends)
        node.do(CoreReceiver, "flow", 1)
        # A mistake in the queue costs nobody a turn.
        with pytest.raises(LocalProtocolError, match="32"):
            await wrong
        await world.until(lambda: len(node.came) == 1)
        node.do(CoreReceiver, "flow", 3, drain=True)
        # What waits is sent, and what is left is given back.
        await world.until(lambda: len(node.came) == 3 and node.link(CoreReceiver).credit == 0)
        assert sorted(node.bodies) == [0, 1, 2]
        assert sender.credit == 0
        node.settle(3, Accepted())
        assert [await each for each in sends] == [Accepted()] * 3
        waiting = world.start(sender.wait_credit())
        await world.turn()
        assert not waiting.done
        node.do(CoreReceiver, "flow", 2)
        assert await waiting == 2


async def test_the_peer_ends_a_link(world: World, broker: ScriptedBroker) -> None:
    node = HeldNode(broker)
    async with world.connect_1_0(broker.url) as connection, connection.open_session() as session:
        sender, receiver = await session.open_sender("held"), await session.open_receiver("held", credit=0)
        sending = world.start(sender.send(b"lost"))
        later = await sender.send(b"lost too", wait=False)
        await world.until(lambda: len(node.came) == 2)
        node.do(CoreReceiver, "close", DETACH_FORCED, "the queue is gone")
        with pytest.raises(LinkEnded, match="the queue is gone") as caught:
            await sending
        assert (caught.value.condition, caught.value.link) == (DETACH_FORCED, sender.name)
        assert isinstance(caught.value.__cause__, RemoteProtocolError)
        for call in (later.result(), sender.send(b"more"), sender.wait_credit(), later.result()):
            with pytest.raises(LinkEnded, match="the queue is gone"):
                await call
        assert (await sender.close()).condition == DETACH_FORCED
        assert not sender.is_open
        waiting: list[Any] = [world.start(anext(receiver)), world.start(receiver.fetch())]
        await world.until(lambda: node.link(CoreSender).credit)
        node.do(CoreSender, "close", DETACH_FORCED, "an operator wants it")
        for call in (*waiting, anext(receiver), receiver.drain(), receiver.fetch(), receiver.flow(1)):
            with pytest.raises(LinkEnded, match="an operator wants it"):
                await call
        # Without a word.
        receiver = await session.open_receiver("held", credit=1)
        await world.until(lambda: node.link(CoreSender).credit)
        node.send("x")
        delivery = await anext(receiver)
        node.do(CoreSender, "close")
        with pytest.raises(LinkEnded, match="closed by the peer") as caught:
            await anext(receiver)
        assert caught.value.condition == ""
        with pytest.raises(LinkEnded):
            await delivery.accept()
        assert (await receiver.wait_closed()).by is By.REMOTE
        assert session.is_open


@pytest.mark.parametrize("scope", ["session", "connection", "transport", "violation"])
async def test_the_end_of_a_session_or_connection_reaches_everybody(
    world: World, broker: ScriptedBroker, scope: str
) -> None:
    broker.fill("empty")
    node = HeldNode(broker, credit=1)
    connection = await world.connect_1_0(broker.url)
    session = await connection.open_session()
    sender, receiver = await session.open_sender("held"), await session.open_receiver("held", credit=0)
    other = await session.open_receiver("empty")
    stream = session.events(CreditChanged)
    waiting: list[Any] = [world.start(sender.send(b"unsettled"))]
    await world.until(lambda: node.came)
    waiting += [world.start(each) for each in (sender.send(b"without credit"), receiver.fetch(), anext(other))]
    waiting.append(world.start(sender.wait_closed()))
    await world.until(lambda: node.link(CoreSender).credit)
    await world.pause(0.01)
    core = broker.peer.core
    condition: str = INTERNAL_ERROR
    words = "all over"
    if scope == "session":
        broker.act(lambda: core.session(0).close(INTERNAL_ERROR, words))
    elif scope == "connection":
        broker.act(lambda: core.close(INTERNAL_ERROR, words))
    elif scope == "transport":
        condition, words = "", "transport lost"
        broker.peer.cut()
    else:
        condition, words = FRAMING_ERROR, ""
        broker.peer.put(b"\0\0\0\4\2\0\0\0")
    for each in waiting[:4]:
        with pytest.raises(LinkEnded, match=words or None) as caught:
            await each
        assert caught.value.condition == condition
        if scope == "violation":
            cause = caught.value.__cause__
            assert isinstance(cause, RemoteProtocolError)
            assert cause.rule is not None
    assert (await waiting[4]).condition == condition
    with pytest.raises(EndpointClosed, match=words or None):
        async for _ in stream:
            pass
    with pytest.raises(EndpointClosed):
        await session.open_sender("held")
    assert not session.is_open
    assert (await session.close()).condition == condition
    state = sender.saved_state()
    assert (state.name, len(state.unsettled)) == (sender.name, 1)
    if scope == "session":
        assert (await connection.open_session()).is_open
        await connection.close()
    else:
        report = await connection.wait_closed()
        assert report.condition == condition
        assert report.by is {"connection": By.REMOTE, "transport": By.TRANSPORT}.get(scope, By.LOCAL)


async def test_closing_while_others_wait(world: World, broker: ScriptedBroker) -> None:
    HeldNode(broker, credit=0)
    broker.fill("jobs", *[b"%d" % n for n in range(4)])
    connection = await world.connect_1_0(broker.url)
    session = await connection.open_session()
    sender, receiver = await session.open_sender("held"), await session.open_receiver("held")
    sending, reading = world.start(sender.send(b"never")), world.start(anext(receiver))
    await world.turn()
    await world.pause(0.01)
    await world.gather(sender.close(), sender.close(), receiver.close())
    with pytest.raises(LinkEnded, match="closed by this side"):
        await sending
    with pytest.raises(StopAsyncIteration):
        await reading
    assert [delivery async for delivery in receiver] == []
    for call in (receiver.fetch(), sender.send(b"later")):
        with pytest.raises(LinkEnded, match="closed by this side"):
            await call
    # Settled deliveries are still taken after the end, others come again.
    settled = await session.open_receiver("jobs", credit=2, snd_settle_mode=1)
    unsettled = await session.open_receiver("jobs", credit=2)
    await world.until(lambda: broker.queue("jobs").ready == 0)
    await session.open_sender("held")  # Its answer comes behind the deliveries.
    await connection.close()
    got: list[object] = []
    async for delivery in settled:
        got.append(delivery.body)
        with pytest.raises(LinkEnded):
            await delivery.accept()
    assert len(got) == 2
    with pytest.raises(StopAsyncIteration):
        await anext(unsettled)


async def test_transactions(world: World, broker: ScriptedBroker) -> None:
    broker.fill("in", b"question")
    broker.fill("out")
    async with world.connect_1_0(broker.url) as connection, connection.open_session() as session:
        sender = await session.open_sender("out")
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
        assert broker.messages("out") == ()
        await receiver.close()
        receiver = await session.open_receiver("in", credit=1)
        async with session.transaction() as transaction:
            delivery = await receiver.fetch(5)
            assert delivery is not None
            later = await sender.send(b"answer", transaction=transaction, wait=False)
            assert await later == Accepted()
            await delivery.accept(transaction=transaction)
            assert transaction.txn_id
            assert broker.messages("out") == ()
        assert transaction.ended
        assert broker.bodies("out") == [b"answer"]
        await receiver.close()
        assert broker.messages("in") == ()
        async with session.transaction() as transaction:
            await sender.send(b"undone", transaction=transaction)
            await transaction.rollback()
        assert broker.bodies("out") == [b"answer"]
        # All of them used one link to the coordinator.
        assert repr(broker.peer.events).count("Coordinator(") == 1
        transaction = session.transaction(global_id=None)
        with pytest.raises(LocalProtocolError, match="declared"):
            await sender.send(b"x", transaction=transaction)
        await transaction.declare()
        with pytest.raises(LocalProtocolError, match="already"):
            await transaction.declare()
        assert "open" in repr(transaction)
        await transaction.rollback()
        for call in (sender.send(b"x", transaction=transaction), transaction.commit(), transaction.rollback()):
            with pytest.raises(LocalProtocolError, match="ended"):
                await call
        # Its declaration is given up: it is rolled back.
        with broker.faults.stall("to_client"):
            await world.give_up(session.transaction().declare())
        # The coordinator's link ends, and the next transaction opens another.
        with pytest.raises((LinkEnded, TransactionFailed)):
            async with session.transaction() as transaction:
                core = broker.peer.core
                broker.act(lambda: [*core.session(0).links][-1].close(DETACH_FORCED, "no more"))
                await world.pause(0.01)
        async with session.transaction() as transaction:
            await sender.send(b"y", transaction=transaction)
        assert broker.bodies("out") == [b"answer", b"y"]
        # An exception of the program's says more than the rollback that fails.
        with pytest.raises(ZeroDivisionError):
            async with session.transaction():
                await connection.close()
                raise ZeroDivisionError


@pytest.mark.rule("1.0/transactions/declare/global-id", "1.0/transactions/declare/rejected-outcome")
async def test_what_a_coordinator_refuses(world: World, broker: ScriptedBroker) -> None:
    refused: list[type[object]] = []

    def script(peer: Peer, event: Event) -> bool:
        if not (isinstance(event, TransactionRequested) and type(event.request) in refused):
            return False
        refused.remove(type(event.request))
        link = peer.core.session(event.channel).link(event.link)
        assert "amqp:rejected:list" in link.source.outcomes
        link.update([event.delivery], Rejected(Error(Symbol("amqp:transaction:rollback"), "disk full")), settled=True)
        link.flow(5)
        return True

    broker.fill("out")
    broker.script = script
    async with world.connect_1_0(broker.url) as connection, connection.open_session() as session:
        sender = await session.open_sender("out")
        with pytest.raises(LocalProtocolError, match="amqp:distributed-transactions") as wrong:
            await session.transaction(global_id=b"everybody's").declare()
        assert wrong.value.rule == "1.0/transactions/declare/global-id"
        refused += [Declare, Discharge]
        with pytest.raises(TransactionFailed, match="disk full"):
            await session.transaction().declare()
        with pytest.raises(TransactionFailed, match="disk full") as caught:
            async with session.transaction() as transaction:
                await sender.send(b"x", transaction=transaction)
        assert caught.value.condition == "amqp:transaction:rollback"
        assert broker.bodies("out") == []
        async with session.transaction() as one, session.transaction() as two:
            await sender.send(b"1", transaction=one)
            await sender.send(b"2", transaction=two)
            await one.rollback()
        assert broker.bodies("out") == [b"2"]
        async with session.open_receiver("out", credit=1) as receiver, session.transaction() as transaction:
            await (await anext(receiver)).reject("amqp:invalid-field", transaction=transaction)
        assert broker.messages("out") == ()


async def test_a_receiver_gives_back_what_is_under_way_when_it_closes(world: World, broker: ScriptedBroker) -> None:
    node = HeldNode(broker)
    async with world.connect_1_0(broker.url, close_timeout=0.2) as connection, connection.open_session() as session:
        async with session.open_receiver("held", credit=4) as receiver:
            node.send(0, 1, 2, 3)
            await (await anext(receiver)).accept()
        # RabbitMQ 3 puts nothing back by itself.
        await world.until(lambda: node.settled == 4)
        # It doesn't wait for a sender that answers no drain.
        node.answers = False
        receiver = await session.open_receiver("held", credit=0)
        assert await receiver.fetch(0.01) is None
        assert receiver.credit == 0
        with pytest.raises(TimeoutError):
            await world.within(0.02, receiver.wait_closed())


async def test_requests_and_replies(world: World, broker: ScriptedBroker) -> None:
    broker.fill("rpc")
    node = HeldNode(broker)
    async with world.connect_1_0(broker.url) as connection, connection.open_session() as session:
        answering = world.start(answer(connection, 10, backwards=True))
        async with session.open_requester("rpc", credit=5) as requester:
            assert requester.is_open
            assert repr(requester) == f"<Requester 'rpc', replies to {requester.address!r}>"
            replies = await world.gather(*[requester.call(Message(n)) for n in range(10)])
            assert [reply.body for reply in replies] == [2 * n for n in range(10)]
            await answering
        assert not requester.is_open
        with pytest.raises(LinkEnded):
            await requester.call(b"late")
        answering = world.start(answer(connection, 2))
        async with session.open_requester(None) as requester:
            properties = Properties(message_id=b"mine", to="rpc", subject="double")
            request = Message("ab", properties=properties, application_properties={"k": 1})
            for _ in range(2):
                reply = await requester.call(request)
                assert (reply.body, reply.correlation_id) == ("abab", b"mine")
            assert request.reply_to is None  # The caller's message isn't touched.
        await answering
        requester = await session.open_requester("held")
        bad = world.start(requester.call(b"bad"))
        await world.until(lambda: node.came)
        node.settle(1, Rejected())
        with pytest.raises(NotAccepted) as caught:
            await bad
        assert caught.value.outcome == Rejected()
        await world.give_up(requester.call(Message(21)))
        waiting = [world.start(requester.call(each)) for each in (request, Message(1), Message(2))]
        await world.until(lambda: len(node.came) == 4)
        with pytest.raises(ValueError, match="mine"):
            await requester.call(request)
        node.do(CoreReceiver, "close", DETACH_FORCED, "the node is gone")
        for each in waiting:
            with pytest.raises(LinkEnded, match="the node is gone"):
                await each
        with pytest.raises(LinkEnded, match="the node is gone"):
            await requester.call(b"more")
        with pytest.raises(LinkEnded, match="nowhere"):
            await session.open_requester("nowhere")
        requester = await session.open_requester("rpc")
        late = world.start(requester.call(b"x"))
        await world.until(lambda: broker.queue("rpc").ready == 1)
        await connection.close()
        with pytest.raises(EndpointClosed):
            await late
        await requester.close()
