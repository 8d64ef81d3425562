"""Every await of every public class of the client: it ends, whatever the peer doesn't answer, and can be cancelled.

The peer is the product's broker that reads nothing any more, while its heartbeats go on. A public awaitable without a
row in the tables fails `test_each_awaitable_has_a_row`.
"""

from __future__ import annotations

import asyncio
import importlib
import inspect
import pkgutil
import re
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from enum import Enum
from typing import Any, Final, NamedTuple

import pytest

from amqp_sansio import AMQP_0_9_1, AMQP_0_10, AMQP_1_0, AnswerTimeout, By, Version, client, messaging
from amqp_sansio.amqp_0_9_1.spec import (
    BasicRecoverAsync,
    ChannelFlowOk,
    ConnectionBlocked,
    ConnectionUpdateSecret,
    QueueDeclare,
)
from amqp_sansio.amqp_0_10.spec import CREDIT, NOT_ACQUIRED, QueueQuery, Xid
from amqp_sansio.amqp_1_0 import Accepted, Message
from amqp_sansio.amqp_1_0.spec import Received
from amqp_sansio.client.amqp_1_0.cbs import Cbs, Claims, SharedAccessKey
from amqp_sansio.client.amqp_1_0.links import LinkRoutes
from amqp_sansio.client.driving import BaseClient
from amqp_sansio.client.inbox import Inbox
from amqp_sansio.errors import LocalProtocolError
from amqp_sansio.events import Accepted as Confirmed
from amqp_sansio_asyncio import connect
from amqp_sansio_asyncio.messaging import connect as connect_any
from tests.kit.asyncio_loops import Problems, run
from tests.kit.asyncio_stepping import Suspend, at_once, cancelled_at
from tests.kit.world_broker import WorldBroker

ANSWER_TIMEOUT: Final = 7.0
OUTCOME_TIMEOUT: Final = 5.0
CLOSE_TIMEOUT: Final = 3.0
LONG: Final = 50.0
"""Seconds after which something counts as waiting for what a peer need not do."""
HEARTBEATS: Final = {
    "0-9-1": bytes.fromhex("08 0000 00000000 ce"),
    "0-10": bytes.fromhex("0f00 0010 0000 0000 0000 0000 010a 0000"),
    "1.0": bytes.fromhex("00000008 02000000"),
}
XID: Final = Xid(1, b"global", b"branch")


class Ends(Enum):
    """What ends a wait whose answer doesn't come."""

    ANSWER = "answer_timeout"
    OUTCOME = "outcome_timeout"
    EXIT = "close_timeout, with an error"
    CLOSE = "close_timeout, with a report: the transport is cut"
    EVENT = "an event that the peer need not cause: a delivery, an end"
    NOW = "nothing: it doesn't wait"


LIMITS: Final = {Ends.ANSWER: ANSWER_TIMEOUT, Ends.OUTCOME: OUTCOME_TIMEOUT, Ends.EXIT: CLOSE_TIMEOUT}

Act = Callable[[], Awaitable[object]]


class Row(NamedTuple):
    """One awaitable: what ends it, what its error names, and what makes it from a bed before the peer falls silent."""

    ends: Ends
    names: str
    prepare: Callable[[Any], Awaitable[Act]]


class Bed:
    """A connection to a broker, and something of everything that its version has."""

    def __init__(self, broker: WorldBroker, connection: Any) -> None:
        self.broker = broker
        self.connection = connection
        self.client: Any = vars(connection)["_client"]
        self.peer = broker.peers[-1]
        self.beating: asyncio.Task[None] | None = None
        self.before = asyncio.all_tasks()

    @classmethod
    async def opened(cls, broker: WorldBroker) -> Bed:
        """Open everything."""
        raise NotImplementedError

    async def works(self) -> None:
        """Show that the connection is usable."""
        raise NotImplementedError

    async def silence(self) -> None:
        """Let the peer read nothing any more, and send heartbeats."""
        await asyncio.sleep(0.1)
        self.peer.hold()

        async def beat() -> None:
            while True:
                self.peer.put(HEARTBEATS[self.client.version.label])
                await asyncio.sleep(1)

        self.beating = asyncio.ensure_future(beat())

    async def speak(self) -> None:
        """Let the peer answer all that it owes."""
        if self.beating is not None:
            self.beating.cancel()
            self.peer.hold(False)
        await asyncio.sleep(0.1)

    def left(self) -> list[object]:
        """What ended waits have left behind: nothing, if all is well."""
        client, tasks = self.client, asyncio.all_tasks() - self.before - {self.beating}
        return [
            *client._waiting.values(),
            *client._limited.values(),
            *client._bounded.values(),
            *client._gate,
            *client._terms.values(),
            *[each for _, each in client._starting if not each.done],
            *[each for _, _, each in client._deadlines if not each.done],
            *tasks,
        ]


OPTIONS: Final[dict[str, Any]] = {
    "answer_timeout": ANSWER_TIMEOUT,
    "outcome_timeout": OUTCOME_TIMEOUT,
    "close_timeout": CLOSE_TIMEOUT,
}


class Classic(Bed):
    """0-9-1: a channel with confirms, one without, a delivery and a consumer that has none."""

    channel: Any
    plain: Any
    delivery: Any
    consumer: Any

    @classmethod
    async def opened(cls, broker: WorldBroker) -> Classic:
        bed = cls(broker, await connect(broker.url, version=AMQP_0_9_1, **OPTIONS))
        bed.channel = await bed.connection.open_channel(confirm=True)
        bed.plain = await bed.connection.open_channel()
        bed.delivery = await bed.channel.get("q")
        bed.consumer = bed.plain.consume("empty")
        await bed.consumer.start()
        return bed

    async def works(self) -> None:
        async with self.connection.open_channel(confirm=True) as channel:
            assert await channel.publish(b"works", routing_key="check")


class Older(Bed):
    """0-10: a session, a message that waits to be settled, and a subscription without any."""

    session: Any
    message: Any
    subscription: Any

    @classmethod
    async def opened(cls, broker: WorldBroker) -> Older:
        bed = cls(broker, await connect(broker.url, version=AMQP_0_10, **OPTIONS))
        bed.session = await bed.connection.open_session("s", timeout=60, force=True)
        bed.message = await bed.session.get("q")
        bed.subscription = await bed.session.subscribe("empty", credit=0, flow_mode=CREDIT)
        return bed

    async def works(self) -> None:
        async with self.connection.open_session() as session:
            assert await session.publish(b"works", "", "check")


class Newer(Bed):
    """1.0: a session, a sender, a receiver with a delivery, and one without."""

    session: Any
    sender: Any
    receiver: Any
    empty: Any
    delivery: Any
    requester: Any

    @classmethod
    async def opened(cls, broker: WorldBroker) -> Newer:
        bed = cls(broker, await connect(broker.url, version=AMQP_1_0, **OPTIONS))
        bed.session = await bed.connection.open_session()
        bed.sender = await bed.session.open_sender("q")
        bed.receiver = await bed.session.open_receiver("q", credit=0)
        bed.delivery = await bed.receiver.fetch()
        bed.empty = await bed.session.open_receiver("empty", credit=0)
        await bed.empty.flow(3)
        bed.requester = await bed.session.open_requester("q")
        return bed

    async def works(self) -> None:
        async with self.connection.open_session() as session, session.open_sender("check") as sender:
            assert await sender.send(Message(b"works")) == Accepted()


class Neutral(Bed):
    """The neutral client: a sender, a receiver with a delivery, and one without."""

    version = AMQP_0_9_1
    sender: Any
    receiver: Any
    empty: Any
    delivery: Any

    def __init__(self, broker: WorldBroker, connection: Any) -> None:
        super().__init__(broker, connection.native)
        self.neutral = connection

    @classmethod
    async def opened(cls, broker: WorldBroker) -> Neutral:
        bed = cls(broker, await connect_any(broker.url, version=cls.version, **OPTIONS))
        bed.sender = await bed.neutral.sender("other")
        bed.receiver = await bed.neutral.receiver("q", credit=1)
        bed.delivery = await bed.receiver.fetch()
        bed.empty = await bed.neutral.receiver("empty")
        return bed

    async def works(self) -> None:
        async with self.neutral.sender("check") as sender:
            assert await sender.send(b"works")


class Neutral010(Neutral):
    version = AMQP_0_10


class Neutral10(Neutral):
    version = AMQP_1_0


def call(act: Callable[[Any], Awaitable[object]]) -> Callable[[Any], Awaitable[Act]]:
    """Prepare a call for which nothing has to be there."""

    async def prepare(bed: Any) -> Act:
        return lambda: act(bed)

    return prepare


def enter(make: Callable[[Any], Any]) -> Callable[[Any], Awaitable[Act]]:
    """Prepare the beginning of a context."""
    return call(lambda bed: make(bed).__aenter__())


def leave(make: Callable[[Any], Any], error: BaseException | None = None) -> Callable[[Any], Awaitable[Act]]:
    """Enter a context, and prepare its end."""

    async def prepare(bed: Any) -> Act:
        context = make(bed)
        await context.__aenter__()
        return lambda: context.__aexit__(None if error is None else type(error), error, None)

    return prepare


async def awaited(sending: Awaitable[Any]) -> object:
    """Wait for a message's outcome, which the result of a send stands for."""
    return await (await sending)


async def result_of(sending: Awaitable[Any]) -> object:
    """Do the same by its method."""
    return await (await sending).result()


async def spent(bed: Newer) -> Act:
    """A sender whose credit is used up as soon as the peer is silent."""

    async def act() -> None:
        while bed.sender.credit:
            await bed.sender.send(b"x", settled=True)
        await bed.sender.wait_credit()

    return act


async def with_tokens(bed: Any) -> Act:
    """The put of a token on a connection that has a provider."""

    async def put() -> None:
        bed.client.claims = Claims(bed.client, Cbs(SharedAccessKey("rule", "a2V5")), "host")
        try:
            await bed.connection.put_token("q")
        finally:
            bed.client.claims = None

    return put


async def second_transaction(bed: Newer) -> Act:
    """A transaction whose coordinator is there."""
    first = bed.session.transaction()
    await first.declare()
    await first.rollback()
    return bed.session.transaction().declare  # type: ignore[no-any-return]


def begun(act: Callable[[Any], Awaitable[object]]) -> Callable[[Any], Awaitable[Act]]:
    """Prepare a call of a transaction of 1.0 that was declared, or of 0-10 that has begun."""

    async def prepare(bed: Any) -> Act:
        transaction = bed.session.transaction()
        await transaction.__aenter__()
        return lambda: act(transaction)

    return prepare


def branch(act: Callable[[Any], Awaitable[object]]) -> Callable[[Any], Awaitable[Act]]:
    """Prepare a call of a branch that was started."""

    async def prepare(bed: Older) -> Act:
        made = bed.session.branch(XID)
        await made.start()
        return lambda: act(made)

    return prepare


async def resumable(bed: Older) -> Act:
    """A session that was detached."""
    state = await bed.session.detach()
    return lambda: awaiting(bed.connection.resume_session(state))


async def awaiting(opening: Awaitable[object]) -> object:
    """Wait for something being opened."""
    return await opening


async def unacquired(bed: Older) -> Act:
    """A message that came without being acquired."""
    subscription = await bed.session.subscribe("q", acquire_mode=NOT_ACQUIRED)
    message = await anext(subscription)
    return message.acquire  # type: ignore[no-any-return]


async def confirms(channel: Any) -> None:
    """Wait for the confirm of a publish that nobody has waited for."""
    await channel.publish(b"x", routing_key="q", wait=False)
    await channel.wait_for_confirms()


async def unasked(answer: Awaitable[object]) -> None:
    """Answer what the peer hasn't asked."""
    with pytest.raises(LocalProtocolError):
        await answer


def streams(make: Callable[[Any], Any]) -> dict[str, Row]:
    """The rows of a stream of events."""
    return {
        "EventStream.__anext__": Row(Ends.EVENT, "", call(lambda bed: make(bed).__anext__())),
        "EventStream.__aenter__": Row(Ends.NOW, "", enter(make)),
        "EventStream.__aexit__": Row(Ends.NOW, "", leave(make)),
    }


A, M, X, N, E = Ends.ANSWER, Ends.OUTCOME, Ends.EXIT, Ends.NOW, Ends.EVENT

CLASSIC: Final[dict[str, Row]] = {
    "Connection.__aenter__": Row(N, "", enter(lambda b: b.connection)),
    "Connection.__aexit__": Row(Ends.CLOSE, "", leave(lambda b: b.connection)),
    "Connection.close": Row(Ends.CLOSE, "", call(lambda b: b.connection.close())),
    "Connection.call": Row(
        A, "connection.update-secret", call(lambda b: b.connection.call(ConnectionUpdateSecret(b"x", "y")))
    ),
    "Connection.open_channel": Row(A, "channel.open", call(lambda b: awaiting(b.connection.open_channel()))),
    "Connection.wait_closed": Row(E, "", call(lambda b: b.connection.wait_closed())),
    "Opening.__aenter__": Row(A, "confirm.select", enter(lambda b: b.connection.open_channel(confirm=True))),
    "Opening.__aexit__": Row(X, "channel.close", leave(lambda b: b.connection.open_channel())),
    "Opening.__await__": Row(A, "channel.open", call(lambda b: awaiting(b.connection.open_channel()))),
    "Channel.__aenter__": Row(N, "", enter(lambda b: b.channel)),
    "Channel.__aexit__": Row(X, "channel.close", leave(lambda b: b.channel)),
    "Channel.close": Row(X, "channel.close", call(lambda b: b.channel.close())),
    "Channel.batch": Row(N, "", leave(lambda b: b.channel.batch())),
    "Channel.bind_exchange": Row(
        A, "exchange.bind", call(lambda b: b.channel.bind_exchange("amq.topic", "amq.fanout"))
    ),
    "Channel.bind_queue": Row(A, "queue.bind", call(lambda b: b.channel.bind_queue("q", "amq.topic"))),
    "Channel.call": Row(A, "queue.declare", call(lambda b: b.channel.call(QueueDeclare("q2", durable=True)))),
    "Channel.declare_exchange": Row(A, "exchange.declare", call(lambda b: b.channel.declare_exchange("e"))),
    "Channel.declare_queue": Row(A, "queue.declare", call(lambda b: b.channel.declare_queue("d", durable=True))),
    "Channel.delete_exchange": Row(A, "exchange.delete", call(lambda b: b.channel.delete_exchange("e"))),
    "Channel.delete_queue": Row(A, "queue.delete", call(lambda b: b.channel.delete_queue("other"))),
    "Channel.get": Row(A, "basic.get", call(lambda b: b.channel.get("q"))),
    "Channel.publish": Row(M, "confirm of a publish", call(lambda b: b.channel.publish(b"x", routing_key="q"))),
    "Channel.publish_json": Row(M, "confirm of a publish", call(lambda b: b.channel.publish_json(1, routing_key="q"))),
    "Channel.publish_text": Row(M, "confirm of a publish", call(lambda b: b.channel.publish_text("", routing_key="q"))),
    "Channel.purge_queue": Row(A, "queue.purge", call(lambda b: b.channel.purge_queue("other"))),
    "Channel.reply": Row(N, "", call(lambda b: unasked(b.channel.reply(ChannelFlowOk(True))))),
    "Channel.request": Row(A, "of the replies", call(lambda b: b.plain.request(b"x", routing_key="q"))),
    "Channel.send": Row(N, "", call(lambda b: b.channel.send(BasicRecoverAsync(True)))),
    "Channel.set_prefetch": Row(A, "basic.qos", call(lambda b: b.channel.set_prefetch(3))),
    "Channel.transaction": Row(A, "tx.commit", leave(lambda b: b.plain.transaction())),
    "Channel.unbind_exchange": Row(
        A, "exchange.unbind", call(lambda b: b.channel.unbind_exchange("amq.topic", "amq.fanout"))
    ),
    "Channel.unbind_queue": Row(A, "queue.unbind", call(lambda b: b.channel.unbind_queue("q", "amq.topic"))),
    "Channel.wait_for_confirms": Row(M, "confirm of a publish", call(lambda b: confirms(b.channel))),
    "Consumer.__aenter__": Row(A, "basic.consume", enter(lambda b: b.plain.consume("q"))),
    "Consumer.__aexit__": Row(X, "basic.cancel", leave(lambda b: b.consumer)),
    "Consumer.__anext__": Row(E, "", call(lambda b: b.consumer.__anext__())),
    "Consumer.cancel": Row(A, "basic.cancel", call(lambda b: b.consumer.cancel())),
    "Consumer.close": Row(X, "basic.cancel", call(lambda b: b.consumer.close())),
    "Consumer.start": Row(A, "basic.consume", call(lambda b: b.plain.consume("q").start())),
    "Confirmation.__await__": Row(
        M, "confirm of a publish", call(lambda b: awaited(b.channel.publish(b"x", routing_key="q", wait=False)))
    ),
    "Confirmation.result": Row(
        M, "confirm of a publish", call(lambda b: result_of(b.channel.publish(b"x", routing_key="q", wait=False)))
    ),
    "Delivery.accept": Row(N, "", call(lambda b: b.delivery.accept())),
    "Delivery.reject": Row(N, "", call(lambda b: b.delivery.reject())),
    "Delivery.release": Row(N, "", call(lambda b: b.delivery.release())),
    **streams(lambda b: b.channel.events()),
}

OLDER: Final[dict[str, Row]] = {
    "Connection.__aenter__": Row(N, "", enter(lambda b: b.connection)),
    "Connection.__aexit__": Row(Ends.CLOSE, "", leave(lambda b: b.connection)),
    "Connection.close": Row(Ends.CLOSE, "", call(lambda b: b.connection.close())),
    "Connection.open_session": Row(A, "session.attach", call(lambda b: awaiting(b.connection.open_session()))),
    "Connection.resume_session": Row(A, "session.attach", resumable),
    "Connection.wait_closed": Row(E, "", call(lambda b: b.connection.wait_closed())),
    "Session.__aenter__": Row(N, "", enter(lambda b: b.session)),
    "Session.__aexit__": Row(X, "session.detach", leave(lambda b: b.session)),
    "Session.accept": Row(N, "", call(lambda b: b.session.accept(b.message))),
    "Session.acquire": Row(A, "message.acquire", unacquired),
    "Session.bind_queue": Row(A, "exchange.bind", call(lambda b: b.session.bind_queue("q", "amq.topic"))),
    "Session.call": Row(A, "queue.query", call(lambda b: b.session.call(QueueQuery("q")))),
    "Session.close": Row(X, "session.detach", call(lambda b: b.session.close())),
    "Session.declare_exchange": Row(A, "exchange.declare", call(lambda b: b.session.declare_exchange("e"))),
    "Session.declare_queue": Row(A, "queue.query", call(lambda b: b.session.declare_queue("d"))),
    "Session.delete_exchange": Row(A, "exchange.delete", call(lambda b: b.session.delete_exchange("amq.fanout"))),
    "Session.delete_queue": Row(A, "queue.delete", call(lambda b: b.session.delete_queue("other"))),
    "Session.detach": Row(X, "session.detach", call(lambda b: b.session.detach())),
    "Session.get": Row(A, "message.subscribe", call(lambda b: b.session.get("q"))),
    "Session.publish": Row(M, "message.transfer", call(lambda b: b.session.publish(b"x", "", "q"))),
    "Session.publish_json": Row(M, "message.transfer", call(lambda b: b.session.publish_json(1, "", "q"))),
    "Session.publish_text": Row(M, "message.transfer", call(lambda b: b.session.publish_text("x", "", "q"))),
    "Session.purge_queue": Row(A, "queue.purge", call(lambda b: b.session.purge_queue("other"))),
    "Session.recover": Row(A, "dtx.recover", call(lambda b: b.session.recover())),
    "Session.reject": Row(N, "", call(lambda b: b.session.reject(b.message))),
    "Session.release": Row(N, "", call(lambda b: b.session.release(b.message))),
    "Session.request": Row(A, "message.subscribe", call(lambda b: b.session.request(b"x", "", "q"))),
    "Session.request_timeout": Row(A, "request-timeout", call(lambda b: b.session.request_timeout(9))),
    "Session.subscribe": Row(A, "message.subscribe", call(lambda b: awaiting(b.session.subscribe("q")))),
    "Session.sync": Row(A, "execution.sync", call(lambda b: b.session.sync())),
    "Session.unbind_queue": Row(A, "exchange.unbind", call(lambda b: b.session.unbind_queue("q", "amq.topic"))),
    "Session.wait_closed": Row(E, "", call(lambda b: b.session.wait_closed())),
    "SentMessage.__await__": Row(
        M, "message.transfer", call(lambda b: awaited(b.session.publish(b"x", "", "q", wait=False)))
    ),
    "SentMessage.result": Row(
        M, "message.transfer", call(lambda b: result_of(b.session.publish(b"x", "", "q", wait=False)))
    ),
    "ReceivedMessage.accept": Row(N, "", call(lambda b: b.message.accept())),
    "ReceivedMessage.acquire": Row(A, "message.acquire", unacquired),
    "ReceivedMessage.reject": Row(N, "", call(lambda b: b.message.reject())),
    "ReceivedMessage.release": Row(N, "", call(lambda b: b.message.release())),
    "Subscription.__aenter__": Row(N, "", enter(lambda b: b.subscription)),
    "Subscription.__aexit__": Row(X, "message.cancel", leave(lambda b: b.subscription)),
    "Subscription.__anext__": Row(E, "", call(lambda b: b.subscription.__anext__())),
    "Subscription.close": Row(X, "message.cancel", call(lambda b: b.subscription.close())),
    "Subscription.fetch": Row(E, "", call(lambda b: b.subscription.fetch())),
    "Subscription.flush": Row(A, "message.flush", call(lambda b: b.subscription.flush())),
    "Subscription.grant": Row(N, "", call(lambda b: b.subscription.grant(1))),
    "Subscription.stop": Row(A, "message.stop", call(lambda b: b.subscription.stop())),
    "Transaction.__aenter__": Row(A, "tx.select", enter(lambda b: b.session.transaction())),
    "Transaction.__aexit__": Row(A, "tx.commit", leave(lambda b: b.session.transaction())),
    "Transaction.begin": Row(A, "tx.select", call(lambda b: b.session.transaction().begin())),
    "Transaction.commit": Row(A, "tx.commit", begun(lambda t: t.commit())),
    "Transaction.rollback": Row(A, "tx.rollback", begun(lambda t: t.rollback())),
    "Branch.__aenter__": Row(A, "dtx.select", enter(lambda b: b.session.branch(XID))),
    "Branch.__aexit__": Row(A, "dtx.end", leave(lambda b: b.session.branch(XID))),
    "Branch.commit": Row(A, "dtx.commit", branch(lambda b: b.commit())),
    "Branch.end": Row(A, "dtx.end", branch(lambda b: b.end())),
    "Branch.forget": Row(A, "dtx.forget", branch(lambda b: b.forget())),
    "Branch.get_timeout": Row(A, "dtx.get-timeout", branch(lambda b: b.get_timeout())),
    "Branch.prepare": Row(A, "dtx.prepare", branch(lambda b: b.prepare())),
    "Branch.rollback": Row(A, "dtx.rollback", branch(lambda b: b.rollback())),
    "Branch.set_timeout": Row(A, "dtx.set-timeout", branch(lambda b: b.set_timeout(9))),
    "Branch.start": Row(A, "dtx.select", call(lambda b: b.session.branch(XID).start())),
}

NEWER: Final[dict[str, Row]] = {
    "Connection.__aenter__": Row(N, "", enter(lambda b: b.connection)),
    "Connection.__aexit__": Row(Ends.CLOSE, "", leave(lambda b: b.connection)),
    "Connection.close": Row(Ends.CLOSE, "", call(lambda b: b.connection.close())),
    "Connection.open_session": Row(A, "begin of session", call(lambda b: awaiting(b.connection.open_session()))),
    "Connection.put_token": Row(A, "begin of the session for tokens", with_tokens),
    "Connection.wait_closed": Row(E, "", call(lambda b: b.connection.wait_closed())),
    "Session.__aenter__": Row(N, "", enter(lambda b: b.session)),
    "Session.__aexit__": Row(X, "end of session", leave(lambda b: b.session)),
    "Session.close": Row(X, "end of session", call(lambda b: b.session.close())),
    "Session.open_receiver": Row(A, "attach of link", call(lambda b: awaiting(b.session.open_receiver("q")))),
    "Session.open_requester": Row(A, "attach of link", call(lambda b: awaiting(b.session.open_requester("q")))),
    "Session.open_sender": Row(A, "attach of link", call(lambda b: awaiting(b.session.open_sender("q")))),
    "Link.__aexit__": Row(X, "detach of link", leave(lambda b: b.sender)),
    "Link.close": Row(X, "detach of link", call(lambda b: b.sender.close())),
    "Link.detach": Row(X, "detach of link", call(lambda b: b.sender.detach())),
    "Link.wait_closed": Row(E, "", call(lambda b: b.sender.wait_closed())),
    "Sender.__aenter__": Row(N, "", enter(lambda b: b.sender)),
    "Sender.send": Row(M, "outcome of a message", call(lambda b: b.sender.send(b"x"))),
    "Sender.send_json": Row(M, "outcome of a message", call(lambda b: b.sender.send_json(1))),
    "Sender.send_text": Row(M, "outcome of a message", call(lambda b: b.sender.send_text("x"))),
    "Sender.wait_credit": Row(M, "credit for link", spent),
    "SentDelivery.__await__": Row(M, "outcome of a message", call(lambda b: awaited(b.sender.send(b"x", wait=False)))),
    "SentDelivery.result": Row(M, "outcome of a message", call(lambda b: result_of(b.sender.send(b"x", wait=False)))),
    "Receiver.__aenter__": Row(N, "", enter(lambda b: b.empty)),
    "Receiver.__anext__": Row(E, "", call(lambda b: b.empty.__anext__())),
    "Receiver.accept": Row(N, "", call(lambda b: b.receiver.accept(b.delivery))),
    "Receiver.cancel": Row(A, "drain of link", call(lambda b: b.empty.cancel())),
    "Receiver.drain": Row(A, "drain of link", call(lambda b: b.empty.drain())),
    "Receiver.fetch": Row(E, "", call(lambda b: b.empty.fetch())),
    "Receiver.flow": Row(N, "", call(lambda b: b.empty.flow(4))),
    "Receiver.settle": Row(N, "", call(lambda b: b.receiver.settle(Accepted(), b.delivery))),
    "ReceivedDelivery.accept": Row(N, "", call(lambda b: b.delivery.accept())),
    "ReceivedDelivery.modify": Row(N, "", call(lambda b: b.delivery.modify())),
    "ReceivedDelivery.reject": Row(N, "", call(lambda b: b.delivery.reject())),
    "ReceivedDelivery.release": Row(N, "", call(lambda b: b.delivery.release())),
    "ReceivedDelivery.update": Row(N, "", call(lambda b: b.delivery.update(Received(0, 0)))),
    "Requester.__aenter__": Row(N, "", enter(lambda b: b.requester)),
    "Requester.__aexit__": Row(X, "detach of the requester's links", leave(lambda b: b.requester)),
    "Requester.call": Row(M, "outcome of a message", call(lambda b: b.requester.call("x"))),
    "Requester.close": Row(X, "detach of the requester's links", call(lambda b: b.requester.close())),
    "Transaction.__aenter__": Row(A, "attach of the link to the coordinator", enter(lambda b: b.session.transaction())),
    "Transaction.__aexit__": Row(A, "discharge of transaction", leave(lambda b: b.session.transaction())),
    "Transaction.commit": Row(A, "discharge of transaction", begun(lambda t: t.commit())),
    "Transaction.declare": Row(A, "declare of a transaction", second_transaction),
    "Transaction.rollback": Row(A, "discharge of transaction", begun(lambda t: t.rollback())),
}


async def left_late(bed: Neutral) -> Act:
    """The end of a transaction in which a message was sent."""
    transaction = bed.neutral.transaction()
    entered = await transaction.__aenter__()
    await (await entered.sender("other")).send(b"x")
    return lambda: transaction.__aexit__(None, None, None)


async def committed(bed: Neutral) -> Act:
    """The commit of a transaction that goes on."""
    transaction = await bed.neutral.transaction()
    return transaction.commit  # type: ignore[no-any-return]


def within_one(act: Callable[[Any], Awaitable[object]]) -> Callable[[Any], Awaitable[Act]]:
    """Prepare a call of a transaction of the neutral client."""

    async def prepare(bed: Neutral) -> Act:
        transaction = await bed.neutral.transaction()
        return lambda: act(transaction)

    return prepare


NEUTRAL: Final[dict[str, Row]] = {
    "Connection.__aenter__": Row(N, "", enter(lambda b: b.neutral)),
    "Connection.__aexit__": Row(Ends.CLOSE, "", leave(lambda b: b.neutral)),
    "Connection.close": Row(Ends.CLOSE, "", call(lambda b: b.neutral.close())),
    "Connection.receiver": Row(A, "no answer", call(lambda b: awaiting(b.neutral.receiver("q")))),
    "Connection.sender": Row(A, "no answer", call(lambda b: awaiting(b.neutral.sender("q")))),
    "Connection.transaction": Row(A, "no answer", call(lambda b: awaiting(b.neutral.transaction()))),
    "Connection.request": Row(A, "no answer", call(lambda b: b.neutral.request("q", b"x"))),
    "Connection.wait_closed": Row(E, "", call(lambda b: b.neutral.wait_closed())),
    "Sender.__aenter__": Row(N, "", enter(lambda b: b.sender)),
    "Sender.__aexit__": Row(X, "no answer", leave(lambda b: b.sender)),
    "Sender.close": Row(X, "no answer", call(lambda b: b.sender.close())),
    "Sender.send": Row(M, "no answer", call(lambda b: b.sender.send(b"x"))),
    "Sending.__await__": Row(M, "no answer", call(lambda b: awaited(b.sender.send(b"x", wait=False)))),
    "Sending.result": Row(M, "no answer", call(lambda b: result_of(b.sender.send(b"x", wait=False)))),
    "Receiver.__aenter__": Row(N, "", enter(lambda b: b.empty)),
    "Receiver.__aexit__": Row(X, "no answer", leave(lambda b: b.empty)),
    "Receiver.__anext__": Row(E, "", call(lambda b: b.empty.__anext__())),
    "Receiver.close": Row(X, "no answer", call(lambda b: b.empty.close())),
    "Receiver.fetch": Row(E, "", call(lambda b: b.empty.fetch())),
    "Delivery.accept": Row(N, "", call(lambda b: b.delivery.accept())),
    "Delivery.reject": Row(N, "", call(lambda b: b.delivery.reject())),
    "Delivery.release": Row(N, "", call(lambda b: b.delivery.release())),
    "Transaction.__aenter__": Row(A, "no answer", enter(lambda b: b.neutral.transaction())),
    "Transaction.__aexit__": Row(A, "no answer", left_late),
    "Transaction.commit": Row(A, "no answer", committed),
    "Transaction.receiver": Row(A, "no answer", within_one(lambda t: awaiting(t.receiver("q")))),
}
ONLY_1_0: Final[dict[str, Row]] = {
    "Delivery.modify": Row(N, "", call(lambda b: b.delivery.modify())),
    "Receiver.drain": Row(A, "drain of link", call(lambda b: b.empty.drain())),
    "Transaction.sender": Row(A, "attach of link", within_one(lambda t: awaiting(t.sender("q")))),
}
"""What needs an answer in 1.0, and is Unsupported, or needs none, in earlier versions."""


TABLES: Final[dict[str, tuple[type[Bed], dict[str, Row]]]] = {
    "classic": (Classic, CLASSIC),
    "amqp_0_10": (Older, OLDER),
    "amqp_1_0": (Newer, NEWER),
    "messaging-0-9-1": (Neutral, NEUTRAL),
    "messaging-0-10": (Neutral010, NEUTRAL),
    "messaging-1.0": (Neutral10, NEUTRAL | ONLY_1_0),
}
ROWS: Final = [(kind, row) for kind, rows in TABLES.values() for row in rows.values()]
NAMES: Final = [f"{version}-{name}" for version, (_, rows) in TABLES.items() for name in rows]
INTERNAL: Final = {
    "Claims",
    "EntraCredential",
    "SharedAccessKey",
    "Tokens",
    "BaseClient",
    "BaseDriver",
    "Waiting",
    "SessionState",
    "Inbox",
    "SessionRoutes",
    "Turns",
    "Publisher",
    "Requests",
    "Late",
    "NoDriver",
} | {
    *("ChannelState", "LinkRoutes", "SenderState", "ReceiverState", "AnyConnection", "Settling", "Calling", "Part"),
    *("Closable", "Driver", "Offer", "Processing", "Settled"),
}
"""Classes whose coroutines no user calls: those of the classes with rows do, and `connect`; `process` accepts or
releases a delivery, which have rows."""
ABSTRACT: Final = (
    messaging.Connection,
    messaging.Delivery,
    messaging.Receiver,
    messaging.Sender,
    messaging.Transaction,
)
"""What the neutral client of each version fills: their rows run in every version."""


def awaitables(kind: type[Any]) -> list[str]:
    """The names of the public awaitables that a class defines."""
    found: list[str] = []
    for name, member in vars(kind).items():
        if name.startswith("_") and name not in ("__aenter__", "__aexit__", "__anext__", "__await__"):
            continue
        wrapped = inspect.unwrap(member) if callable(member) else member
        returns = str(getattr(member, "__annotations__", {}).get("return", ""))
        is_coroutine = inspect.iscoroutinefunction(wrapped) or inspect.isasyncgenfunction(wrapped)
        if is_coroutine or name == "__await__" or returns.startswith("Opening["):
            found.append(name)
    return found


def test_each_awaitable_has_a_row() -> None:
    everywhere = {name for _, rows in TABLES.values() for name in rows}
    packages = [client, messaging]
    found = 0
    for package in packages:
        for each in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            module = importlib.import_module(each.name)
            version = next((one for one in TABLES if f".client.{one}." in each.name), "")
            rows: Any = TABLES[version][1] if version else everywhere
            if package is messaging:
                rows = NEUTRAL | ONLY_1_0
            for kind in [one for one in vars(module).values() if inspect.isclass(one)]:
                is_own = kind.__module__ == each.name and kind.__name__ not in INTERNAL
                is_filled = kind not in ABSTRACT and issubclass(kind, ABSTRACT)
                if not is_own or is_filled or issubclass(kind, (Inbox, BaseClient, LinkRoutes)):
                    continue
                for name in awaitables(kind):
                    found += 1
                    assert f"{kind.__name__}.{name}" in rows, f"{each.name}.{kind.__name__}.{name} has no row"
    assert found > len(everywhere)


@pytest.mark.parametrize(("kind", "row"), ROWS, ids=NAMES)
def test_it_ends_whatever_the_peer_does_not_answer(kind: type[Bed], row: Row) -> None:
    async def ends(bed: Bed) -> None:
        act = await row.prepare(bed)
        await bed.silence()
        loop = asyncio.get_running_loop()
        began = loop.time()
        if row.ends is Ends.EVENT:
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(act(), LONG)
        elif row.ends in LIMITS:
            with pytest.raises(AnswerTimeout, match=re.escape(row.names)):
                await act()
            assert loop.time() - began == pytest.approx(LIMITS[row.ends], abs=0.1)
        else:
            await act()
            assert loop.time() - began <= (CLOSE_TIMEOUT + 0.1 if row.ends is Ends.CLOSE else 0)
        await usable(bed, is_closed=row.ends is Ends.CLOSE)

    in_world(kind, ends)


@pytest.mark.parametrize(("kind", "row"), ROWS, ids=NAMES)
def test_it_can_be_cancelled_at_each_step(kind: type[Bed], row: Row) -> None:
    cancelled_at_each_step(kind, row, at_once, is_silent=True)


@pytest.mark.parametrize("name", ["Connection.transaction", "Transaction.__aenter__", "Transaction.commit"])
def test_a_transaction_can_be_cancelled_while_the_peer_answers(name: str) -> None:
    """The answer to its declaration comes when its session has ended."""
    cancelled_at_each_step(Neutral10, NEUTRAL[name], at_once, is_silent=False)


def cancelled_at_each_step(kind: type[Bed], row: Row, cancel: Suspend, is_silent: bool) -> None:
    """Cancel an await at each of its suspensions, with a peer that is silent, or answers."""
    number, finished = 0, False

    async def cancelled(bed: Bed) -> None:
        nonlocal finished
        act = await row.prepare(bed)
        if is_silent:
            await bed.silence()
        began = asyncio.get_running_loop().time()

        async def main() -> None:
            await act()

        task = asyncio.ensure_future(cancelled_at(main(), number, cancel))
        await asyncio.wait([task], timeout=LONG)
        if not task.done():
            assert row.ends is Ends.EVENT
            task.cancel()
            finished = True
            return
        if not task.cancelled():
            # Each error is looked at: one that nobody looks at is a problem of the loop, once it is collected.
            failed = task.exception() is not None
            finished = is_silent or failed or task.result() < number
        assert finished or asyncio.get_running_loop().time() == pytest.approx(began, abs=LIMITS[Ends.ANSWER])
        if not finished:
            await usable(bed, is_closed=row.ends is Ends.CLOSE)

    while not finished:
        number += 1
        assert number < 20
        in_world(kind, cancelled)


async def usable(bed: Bed, is_closed: bool) -> None:
    """Show that an ended wait has left nothing behind, and that the connection is as good as before."""
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert bed.left() == []
    await bed.speak()
    if is_closed:
        assert not bed.connection.is_open
    else:
        await bed.works()
        assert not bed.client.is_overdue
    report = await bed.connection.close()
    assert report.by is By.LOCAL
    assert is_closed or not report.hint


def in_world(kind: type[Bed], scenario: Callable[[Bed], Awaitable[None]]) -> None:
    """Run a scenario with a new bed in a new world."""
    problems = Problems()

    async def main() -> None:
        problems.watch()
        bed = await kind.opened(broker)
        try:
            await scenario(bed)
        finally:
            if bed.beating is not None:
                bed.beating.cancel()

    with WorldBroker() as broker:
        for name in ("q", "empty", "other", "check"):
            broker.fill(name)
        for body in (b"1", b"2", b"3"):
            broker.publish(body, routing_key="q")
        run(main(), world=broker.world)
        assert problems.contexts == []


def test_the_error_says_that_the_server_has_blocked_the_connection() -> None:
    async def asks(bed: Bed) -> None:
        assert isinstance(bed, Classic)
        bed.peer.do(lambda: bed.peer.core.send(ConnectionBlocked("low on memory")))
        await bed.silence()
        with pytest.raises(
            AnswerTimeout, match=r"queue\.purge: no answer within 7 seconds; .* blocked .*: low on memory"
        ):
            await bed.channel.purge_queue("q")

    in_world(Classic, asks)


@pytest.mark.parametrize("version", [AMQP_0_9_1, AMQP_0_10, AMQP_1_0], ids=lambda each: each.label)
def test_an_outcome_that_never_comes_is_waited_for_without_any_option(version: Version) -> None:
    """As long as `outcome_timeout` says by itself: five minutes, and then the error says what wasn't answered."""

    async def main() -> float:
        async with connect(broker.url, version=version) as connection:
            part: Any
            if version is AMQP_1_0:
                part = await (await connection.open_session()).open_sender("q")
                publish = part.send(b"x")
            else:
                part = await (
                    connection.open_session() if version is AMQP_0_10 else connection.open_channel(confirm=True)
                )
                publish = part.publish(b"x", routing_key="q")
            broker.peers[-1].hold()

            async def beat() -> None:
                while True:
                    broker.peers[-1].put(HEARTBEATS[version.label])
                    await asyncio.sleep(10)

            beating = asyncio.ensure_future(beat())
            began = asyncio.get_running_loop().time()
            with pytest.raises(
                AnswerTimeout, match=r"(confirm|outcome) of .*: no answer within 300 seconds; .* in doubt"
            ):
                await publish
            took = asyncio.get_running_loop().time() - began
            beating.cancel()
            broker.peers[-1].hold(False)
            return took

    with WorldBroker() as broker:
        broker.fill("q")
        assert run(main(), 1000, world=broker.world) == pytest.approx(300, abs=0.5)


def test_publishes_that_wait_together_have_one_timer_and_ends_of_their_own() -> None:
    """Confirmed, interrupted, late, and awaited twice: each ends by itself, and the last one leaves nothing."""

    async def waits(bed: Bed) -> None:
        assert isinstance(bed, Classic)
        channel = bed.channel
        began = asyncio.get_running_loop().time()
        bodies = [channel.publish(b"%d" % number, routing_key="q") for number in range(20)]
        assert await asyncio.gather(*bodies) == [Confirmed()] * 20
        assert not bed.left()
        await bed.silence()
        sent = await channel.publish(b"a", routing_key="q", wait=False)
        tasks = [asyncio.ensure_future(channel.publish(b"b", routing_key="q")) for _ in range(20)]
        twice = [asyncio.ensure_future(awaiting(sent)) for _ in range(3)]
        await asyncio.sleep(1)
        timers = [each for _, _, each in bed.client._deadlines if not each.done]
        assert len(timers) == 3, "one for those who wait together, and one for each who waits for the same once more"
        for each in (tasks[0], twice[0], twice[1]):
            each.cancel()
        ended = await asyncio.gather(*tasks, *twice, return_exceptions=True)
        assert [type(each) for each in ended[:1] + ended[20:22]] == [asyncio.CancelledError] * 3
        assert {type(each) for each in (*ended[1:20], ended[22])} == {AnswerTimeout}
        assert asyncio.get_running_loop().time() - began == pytest.approx(OUTCOME_TIMEOUT, abs=1)
        assert not [each for each in bed.left() if not isinstance(each, asyncio.Task)]
        await bed.speak()

    in_world(Classic, waits)


def test_limits_are_above_zero() -> None:
    for name in ("answer_timeout", "outcome_timeout"):
        for seconds in (0, -1.0):
            options: Any = {name: seconds}
            with pytest.raises(ValueError, match=f"{name} is in seconds, above 0"):
                run(awaiting(connect("amqp://localhost", version="0-9-1", **options)))


def contexts(connection: Any, version: Version) -> list[Callable[[list[Any]], Any]]:
    """What makes the contexts within each other that a connection of a version has, from those around each."""
    if isinstance(connection, messaging.Connection):
        return [lambda _: connection.sender("q"), lambda _: connection.receiver("empty")]
    if version is AMQP_0_9_1:
        return [lambda _: connection.open_channel(), lambda outer: outer[-1].consume("empty")]
    if version is AMQP_0_10:
        return [lambda _: connection.open_session(), lambda outer: outer[-1].subscribe("empty")]
    return [
        lambda _: connection.open_session(),
        lambda outer: outer[-1].open_receiver("empty"),
        lambda outer: outer[-2].open_sender("q"),
        lambda outer: outer[-3].transaction(),
    ]


NESTED: Final = [(make, version) for make in (connect, connect_any) for version in (AMQP_0_9_1, AMQP_0_10, AMQP_1_0)]


async def within(broker: WorldBroker, make: Callable[..., Any], version: Version, body: Callable[[], Any]) -> None:
    """Do something in the innermost of all contexts, whose ends the peer doesn't answer."""
    async with AsyncExitStack() as stack:
        connection = await stack.enter_async_context(make(broker.url, version=version, **OPTIONS))
        entered: list[Any] = []
        for context in contexts(connection, version):
            entered.append(await stack.enter_async_context(context(entered)))
        await asyncio.sleep(0.1)
        broker.peers[-1].hold()
        await body()


def timed(make: Callable[..., Any], version: Version, end: Callable[[asyncio.Task[None]], Any], body: Any) -> float:
    """How long a program takes after its peer has fallen silent; `end` does something to its task."""
    silent = 0.0

    async def silence() -> None:
        nonlocal silent
        silent = asyncio.get_running_loop().time()
        await body()

    async def main() -> float:
        task = asyncio.ensure_future(within(broker, make, version, silence))
        await asyncio.sleep(1)
        end(task)
        with pytest.raises(asyncio.CancelledError) if body is forever else pytest.raises((TimeoutError, ValueError)):
            await task
        took = asyncio.get_running_loop().time() - silent
        assert asyncio.all_tasks() == {asyncio.current_task()} | before
        return took

    async def watched() -> float:
        before.update(asyncio.all_tasks())
        return await main()

    before: set[Any] = set()
    with WorldBroker() as broker:
        broker.fill("q")
        broker.fill("empty")
        return run(watched(), world=broker.world)


async def nothing() -> None:
    """Leave at once."""


async def forever() -> None:
    """Stay until it is cancelled."""
    await asyncio.sleep(LONG)


async def fails() -> None:
    """Leave with an error."""
    raise ValueError("mine")


@pytest.mark.parametrize(("make", "version"), NESTED)
def test_nested_contexts_end_together(make: Callable[..., Any], version: Version) -> None:
    limit = ANSWER_TIMEOUT if make is connect and version is AMQP_1_0 else CLOSE_TIMEOUT  # The transaction commits.
    assert timed(make, version, lambda task: None, nothing) == pytest.approx(limit, abs=0.2)
    assert timed(make, version, lambda task: None, fails) == pytest.approx(CLOSE_TIMEOUT, abs=0.2)


@pytest.mark.parametrize(("make", "version"), NESTED)
def test_one_cancellation_gets_out_of_nested_contexts(make: Callable[..., Any], version: Version) -> None:
    def twice(task: asyncio.Task[None]) -> None:
        task.cancel()
        asyncio.get_running_loop().call_later(0.5, task.cancel)

    # The first ends the body, the second the end of the innermost context, whose peer is silent.
    assert timed(make, version, twice, forever) == pytest.approx(1.4, abs=0.11)


def test_an_error_goes_on_with_a_note_of_what_was_not_answered() -> None:
    async def main() -> None:
        with pytest.raises(ValueError, match="mine") as caught:
            await within(broker, connect, AMQP_0_9_1, fails)
        (note,) = caught.value.__notes__
        assert note.startswith("basic.cancel of consumer")

    with WorldBroker() as broker:
        broker.fill("empty")
        run(main(), world=broker.world)
