"""What outlives its connection: links of 1.0 and sessions of 0-10; nothing is lost, and nothing happens twice."""

from __future__ import annotations

import pickle
import random
from collections.abc import Awaitable, Callable

import pytest

from amqp_sansio import Accepted, By, EndpointClosed, LocalProtocolError
from amqp_sansio.amqp_0_10 import MessageReceived
from amqp_sansio.amqp_0_10.spec import CREDIT, QueueQuery
from amqp_sansio.amqp_1_0 import Accepted as Accepted10
from amqp_sansio.amqp_1_0 import Message
from amqp_sansio.amqp_1_0 import Receiver as CoreReceiver
from amqp_sansio.amqp_1_0 import Sender as CoreSender
from amqp_sansio.client.amqp_0_10.publishing import SentMessage
from amqp_sansio.client.amqp_0_10.session import Session
from amqp_sansio.client.amqp_0_10.subscription import ReceivedMessage
from amqp_sansio.errors import LinkEnded, SessionEnded
from tests.kit.held_1_0 import HeldNode
from tests.kit.scripted import ScriptedBroker, is_command
from tests.kit.worlds import World


async def test_a_sender_resumes(world: World, broker: ScriptedBroker) -> None:
    node = HeldNode(broker)
    async with world.connect_1_0(broker.url) as connection:
        session = await connection.open_session()
        sender = await session.open_sender("held", name="outbox")
        sent = [await sender.send(Message(number), wait=False) for number in range(3)]
        await world.until(lambda: len(node.came) == 3)
        broker.peer.cut()
        for each in sent:
            with pytest.raises(LinkEnded):
                await each
        state = pickle.loads(pickle.dumps(sender.saved_state()))
        assert len(state.unsettled) == 3
        await world.until(lambda: "outbox" in node.states)
    for forgets in (False, True):
        node.came.clear()
        kept = dict(node.states)
        if forgets:
            node.states.clear()
        async with world.connect_1_0(broker.url) as connection:
            session = await connection.open_session()
            sender = await session.open_sender(state=state)
            assert (sender.name, sender.address, len(sender.pending)) == ("outbox", "held", 3)
            waiting = [world.start(each.result()) for each in sender.pending.values()]
            await world.until(lambda: len(node.came) == 3)
            node.settle(3, Accepted10())
            assert [await each for each in waiting] == [Accepted10()] * 3
            # One that this side suspends goes on in the same session.
            sent = [await sender.send(Message("new"), wait=False)]
            await world.until(lambda: node.came)
            suspended = await sender.detach()
            for call in (sent[0].result(), sender.send(b"no")):
                with pytest.raises(LinkEnded):
                    await call
            node.came.clear()
            again = await session.open_sender(state=suspended)
            await world.until(lambda: node.came)
            node.settle(1, Accepted10())
            assert [await each for each in again.pending.values()] in ([Accepted10()], [])
            await again.close()
        node.states.update(kept)


@pytest.mark.parametrize("mode", [0, 1])
async def test_a_receiver_resumes(world: World, broker: ScriptedBroker, mode: int) -> None:
    node = HeldNode(broker)
    async with world.connect_1_0(broker.url) as connection, connection.open_session() as session:
        receiver = await session.open_receiver("held", name="inbox", credit=4, rcv_settle_mode=mode)
        node.send(0, 1, 2, 3)
        first = await anext(receiver)
        await first.accept()
        held = await anext(receiver)
        await world.until(lambda: node.settled == 1)
        broker.peer.cut()
        await receiver.wait_closed()
        with pytest.raises(LinkEnded):
            while True:
                await anext(receiver)
        with pytest.raises(LinkEnded):
            await held.accept()
        state = pickle.loads(pickle.dumps(receiver.saved_state()))
        await world.until(lambda: "inbox" in node.states)
    async with world.connect_1_0(broker.url) as connection, connection.open_session() as session:
        receiver = await session.open_receiver(state=state, credit=4)
        await world.until(lambda: node.link(CoreSender).credit)
        node.send(4)
        bodies: list[int] = []
        while len(bodies) < 4:
            delivery = await anext(receiver)
            bodies.append(delivery.body)
            await delivery.accept()
        assert sorted(bodies) == [1, 2, 3, 4]
        await world.until(lambda: node.settled == 5)
        assert not receiver.pending


async def test_the_peer_suspends_a_link(world: World, broker: ScriptedBroker) -> None:
    node = HeldNode(broker)
    async with world.connect_1_0(broker.url) as connection, connection.open_session() as session:
        sender = await session.open_sender("held")
        sending = world.start(sender.send(Message(1)))
        await world.until(lambda: node.came)
        node.do(CoreReceiver, "detach")
        with pytest.raises(LinkEnded):
            await sending
        state = sender.saved_state()
        assert len(state.unsettled) == 1
        node.came.clear()
        again = await session.open_sender(state=state)
        assert again.name == sender.name
        # The broker kept nothing, so the message is sent anew.
        await world.until(lambda: node.came)
        pending = [*again.pending.values()]
        node.settle(1, Accepted10())
        assert [await each for each in pending] == [Accepted10()]


async def test_a_session_goes_on_after_its_transport(world: World, broker: ScriptedBroker) -> None:
    broker.fill("jobs")
    async with world.connect_0_10(broker.url) as connection:
        session = await connection.open_session("orders", timeout=300)
        broker.script = lambda peer, event: isinstance(event, MessageReceived)
        sent = await session.publish(b"in doubt", "", "jobs", wait=False)
        await world.until(lambda: broker.peer.of(MessageReceived))
        broker.peer.cut()
        with pytest.raises(SessionEnded) as caught:
            await sent
        assert caught.value.resumable
        await world.until(lambda: not broker.connections)
        state = session.detached_state()
        assert connection.report is not None
    broker.script = None
    async with world.connect_0_10(broker.url) as connection:
        session = await connection.resume_session(state)
        assert session.name == b"orders"
        await session.sync()
        assert not session.pending
        state = await session.detach()
        again = await connection.resume_session(state)
        assert await again.publish(b"more", "", "jobs") == Accepted()
        await again.close()


async def test_what_a_resumed_session_still_has(world: World, broker: ScriptedBroker) -> None:
    broker.fill("jobs", *[b"%d" % number for number in range(8)])
    broker.fill("out")
    connection = await world.connect_0_10(broker.url)
    session = await connection.open_session("orders", timeout=300)
    async with session.transaction():
        await session.publish(b"1", "", "out")
    subscription = await session.subscribe("jobs", destination="inbox", credit=4)
    one, two = await anext(subscription), await anext(subscription)
    await one.accept()
    await session.sync()
    broker.script = lambda peer, event: is_command(event, "queue.query") or isinstance(event, MessageReceived)
    sent = await session.publish(b"2", "", "out", wait=False)
    calling = world.start(session.call(QueueQuery("jobs")))
    events = broker.peer.events
    await world.until(lambda: isinstance(events[-2], MessageReceived) and is_command(events[-1], "queue.query"))
    broker.peer.cut()
    for each in (calling, sent, session.publish(b"no"), two.accept()):
        with pytest.raises(SessionEnded, match="can be resumed") as caught:
            await each
        assert (caught.value.resumable, caught.value.session) == (True, b"orders")
    with pytest.raises(SessionEnded, match="can be resumed"):
        while True:
            await anext(subscription)
    assert not subscription.is_open
    await world.until(lambda: not broker.connections)
    await connection.close()
    broker.script = None
    async with world.connect_0_10(broker.url) as connection:
        again = await connection.resume_session(session.detached_state())
        assert (again.timeout, again.name) == (300, b"orders")
        assert two.command_id in again.unsettled
        await again.accept(two)
        for each in again.pending.values():
            await each
        assert await sent == Accepted()
        bodies: list[bytes] = []
        async for received in again.subscriptions["inbox"]:
            bodies.append(received.body)
            await received.accept()
            if len(bodies) == 6:
                break
        assert sorted(bodies) == [b"%d" % number for number in range(2, 8)]
        async with again.subscribe("out", flow_mode=CREDIT):
            assert len(again.subscriptions) == 2
        async with again.transaction():
            await again.publish(b"3", "", "out")
        await again.sync()
        assert not again.unsettled
        assert broker.bodies("out") == [b"1", b"2", b"3"]
        assert broker.messages("jobs") == ()
        await again.close()
        with pytest.raises(EndpointClosed):
            again.detached_state()


@pytest.mark.rule("0-10/session.attach/force", "0-10/session.attach/one-transport", "0-10/session.attach/scoping")
async def test_a_session_that_can_not_be_resumed(world: World) -> None:
    with world.broker(users={"guest": "guest", "other": "x"}) as broker:
        broker.fill("jobs", b"1")
        one = await world.connect_0_10(broker.url)
        session = await one.open_session()
        subscription = await session.subscribe("jobs")
        assert (await anext(subscription)).body == b"1"
        with pytest.raises(LocalProtocolError, match="timeout 0"):
            await session.detach()
        broker.peer.cut()
        with pytest.raises(SessionEnded, match="transport lost") as caught:
            await session.sync()
        assert not caught.value.resumable
        with pytest.raises(EndpointClosed, match="is over"):
            session.detached_state()
        # The broker gives its message to others.
        await world.until(lambda: broker.queue("jobs").ready == 1)
        await one.close()
        url = broker.url_for("other")
        async with (
            world.connect_0_10(broker.url) as one,
            world.connect_0_10(broker.url) as two,
            world.connect_0_10(url) as foreign,
        ):
            session = await one.open_session("orders", timeout=300)
            with pytest.raises(LocalProtocolError, match="is attached"):
                session.detached_state()
            # Names are the user's own.
            assert (await foreign.open_session("orders")).is_open
            state = await session.detach()
            again = await one.resume_session(state)
            with pytest.raises(SessionEnded) as caught:
                await two.resume_session(pickle.loads(pickle.dumps(state)), force=False)
            assert (caught.value.condition, caught.value.resumable) == ("session-busy", True)
            assert again.is_open
            moved = await two.resume_session(pickle.loads(pickle.dumps(state)))
            with pytest.raises(SessionEnded):
                await again.sync()
            assert await moved.publish(b"2", "", "jobs") == Accepted()
            state = pickle.loads(pickle.dumps(await moved.detach()))
            with pytest.raises(SessionEnded, match="already knows"):
                await two.open_session("orders", force=True)
            broker.clock.advance(301)
            with pytest.raises(SessionEnded, match="forgotten") as caught:
                await two.resume_session(state)
            assert not caught.value.resumable


@pytest.mark.rule("0-10/session/exactly-once", "0-10/session/state-kept")
@pytest.mark.parametrize("seed", range(2))
async def test_nothing_is_lost_or_twice_however_often_the_connection_is_lost(
    world: World, broker: ScriptedBroker, seed: int
) -> None:
    """One session publishes, one consumes; their connections are cut at random in the middle of both."""
    broker.fill("jobs")
    count = 300
    taken: list[ReceivedMessage] = []
    sent: list[SentMessage] = []

    async def resuming(name: str, work: Callable[[Session], Awaitable[None]]) -> None:
        connection = await world.connect_0_10(broker.url)
        session = await connection.open_session(name, timeout=60)
        while True:
            try:
                await work(session)
                await session.close()
                await connection.close()
                return
            except EndpointClosed:
                report = await session.wait_closed()
                assert report.by is By.TRANSPORT
                await connection.close()
            state = pickle.loads(pickle.dumps(session.detached_state()))
            while True:
                try:
                    connection = await world.connect_0_10(broker.url)
                    session = await connection.resume_session(state)
                    break
                except (EndpointClosed, ConnectionError):
                    # It was cut before it was open.
                    await world.pause(0.001)

    async def publish(session: Session) -> None:
        for each in session.pending.values():
            assert await each in (Accepted(), None)
        while len(sent) < count:
            # Under way from here on: after a loss it's sent again by the session, not by this loop.
            sent.append(await session.publish(b"%d" % len(sent), "", "jobs", wait=False))
            if len(sent) % 5 == 0:
                await sent[-1]
        await session.sync()

    async def consume(session: Session) -> None:
        for subscription in session.subscriptions.values():
            await subscription.close()
        # What was taken before the loss and not accepted.
        await session.accept(*[each.command_id for each in taken[-1:] if each.command_id in session.unsettled])
        async with session.subscribe("jobs", credit=10) as subscription:
            while len(taken) < count:
                taken.append(await anext(subscription))
                await taken[-1].accept()
            await session.sync()

    works = [world.start(resuming("out", publish)), world.start(resuming("in", consume))]
    await world.until(lambda: taken)
    chance = random.Random(seed)
    cuts = 0
    while not all(each.done for each in works):
        wanted = len(taken) + chance.randrange(5, 40)
        await world.until(lambda: len(taken) >= wanted or all(each.done for each in works))  # noqa: B023
        if cuts < 12 and len(taken) < count - 30:
            cuts += 1
            broker.peers[-1 - chance.randrange(2)].cut()
    for each in works:
        await each
    assert cuts > 2
    assert sorted(int(each.body) for each in taken) == list(range(count))
    assert broker.messages("jobs") == ()
