"""One program for all versions sends, receives, asks and works in transactions unchanged, on the embedded broker."""

from __future__ import annotations

from contextlib import nullcontext

import pytest

from amqp_sansio import AMQP_0_8, AMQP_0_9_1, AMQP_1_0, Accepted, EndpointClosed, NotAccepted, Released
from amqp_sansio.client.recovery import RecoveryPolicy
from amqp_sansio.errors import LocalProtocolError, Unsupported
from amqp_sansio.messaging import Connection, Message, Receiver
from tests.kit.messaging_programs import Runner

FIELDS = {
    "subject": "greeting",
    "correlation_id": "c",
    "message_id": "m",
    "reply_to": "rpc",
    "durable": True,
    "ttl": 60,
    "priority": 5,
    "content_type": "text/plain",
    "app_id": "tests",
    "headers": {"try": 1, "deep": {"a": [1, None, 2.5]}},
}


def outcome_in(runner: Runner, outcome: object, *, transaction: bool = False) -> object:
    """The outcome that a version tells: 0-8 none, 0-9-1 none within a transaction."""
    silent = runner.version is AMQP_0_8 or (transaction and runner.version is AMQP_0_9_1)
    return None if silent else outcome


async def take(receiver: Receiver, count: int) -> list[bytes]:
    """Accept so many messages, and return their bodies."""
    bodies: list[bytes] = []
    async for delivery in receiver:
        bodies.append(delivery.message.body)
        await delivery.accept()
        if len(bodies) == count:
            break
    return bodies


@pytest.mark.parametrize("address", ["/queues/jobs", "jobs"])
def test_a_message_with_all_its_fields(runner: Runner, address: str) -> None:
    async def program(connection: Connection) -> None:
        async with connection.sender(address) as sender:
            outcome = await sender.send(Message(b"hello", **FIELDS))  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
            assert outcome == outcome_in(runner, Accepted())
        async with connection.receiver(address, credit=10) as receiver:
            delivery = await anext(receiver)
            message = delivery.message
            assert not delivery.redelivered
            await delivery.accept()
            with pytest.raises(LocalProtocolError):
                await delivery.accept()
            expected = {**FIELDS, "ttl": message.ttl}
            assert {name: getattr(message, name) for name in FIELDS} == expected
            assert 50 < (message.ttl or 0) <= 60
            assert await receiver.fetch(timeout=0.01) is None

    runner(program)
    assert runner.bodies() == []


def test_what_is_sent_without_waiting(runner: Runner) -> None:
    async def program(connection: Connection) -> None:
        async with connection.sender("jobs") as sender:
            sent = [await sender.send(b"%d" % number, wait=False) for number in range(20)]
            assert [await each.result() for each in sent] == [outcome_in(runner, Accepted())] * 20
            assert all(each.done for each in sent)

    runner(program)
    assert runner.bodies() == [b"%d" % number for number in range(20)]


def test_outcomes_of_the_receiver(runner: Runner) -> None:
    runner.broker.publish(b"1", routing_key="jobs")

    async def program(connection: Connection) -> None:
        async with connection.receiver("jobs", credit=1) as receiver:
            first = await receiver.fetch(timeout=5)
            assert first is not None
            await first.release()
            again = await receiver.fetch(timeout=5)
            assert again is not None
            assert again.message.body == b"1"
            assert again.redelivered is (runner.version is not AMQP_1_0)
            await again.reject("not for us")
            runner.broker.publish(b"2", routing_key="jobs")
            second = await receiver.fetch(timeout=5)
            assert second is not None
            assert second.message.body == b"2"

    runner(program)
    assert runner.bodies() == [b"2"], "a message that isn't settled returns when the receiver is closed"


def test_credit_bounds_the_messages_that_wait(runner: Runner) -> None:
    for _ in range(5):
        runner.broker.publish(b"x", routing_key="jobs")

    async def program(connection: Connection) -> None:
        async with connection.receiver("jobs", credit=2) as receiver, connection.sender("jobs") as sender:
            await sender.send(b"y")  # Its outcome comes behind the deliveries.
            assert runner.broker.queue("jobs").unsettled <= 2
            assert len(await take(receiver, 6)) == 6

    runner(program)
    assert runner.bodies() == []


@pytest.mark.parametrize(("source", "target"), [("a.*", "/a.b"), ("a.*", ""), ("#", "/x")])
def test_an_exchange(runner: Runner, source: str, target: str) -> None:
    key = target.removeprefix("/") or "a.b"

    async def program(connection: Connection) -> None:
        async with (
            connection.receiver(f"/exchanges/amq.topic/{source.replace('#', '%23')}") as receiver,
            connection.sender(f"/exchanges/amq.topic{target}") as sender,
        ):
            assert await sender.send(Message(b"t", subject=key)) == outcome_in(runner, Accepted())
            assert await take(receiver, 1) == [b"t"]

    runner(program)


def test_a_message_that_no_queue_takes_comes_back(runner: Runner) -> None:
    async def program(connection: Connection) -> None:
        async with connection.sender("/exchanges/amq.direct/nobody") as sender:
            outcome = await sender.send(b"x")
            assert outcome is None if runner.version is AMQP_0_8 else isinstance(outcome, Released)

    runner(program)


@pytest.mark.parametrize("address", ["/queues/nowhere", "/exchanges/nowhere/k"])
def test_nodes_that_are_not_there(runner: Runner, address: str) -> None:
    async def program(connection: Connection) -> None:
        with pytest.raises(EndpointClosed, match="nowhere"):
            await connection.receiver(address)
        # 1.0 tells when the sender opens; earlier versions with a message.
        try:
            sender = await connection.sender(address)
            outcomes = [await sender.send(b"x") for _ in range(2)]
        except EndpointClosed as error:
            assert "nowhere" in str(error)
        else:
            released = [each for each in outcomes if isinstance(each, Released)]
            assert runner.version is AMQP_0_8 or len(released) == 2
        async with connection.sender("jobs") as other:
            await other.send(b"still open")

    # Without confirms it may be known after the last call only.
    late = runner.version is AMQP_0_8 and "exchanges" in address
    with pytest.raises(EndpointClosed, match="nowhere") if late else nullcontext():
        runner(program)
    assert runner.bodies() == [b"still open"]


@pytest.mark.usefixtures("echo")
def test_requests(runner: Runner) -> None:
    async def program(connection: Connection) -> None:
        for address, message in (("/queues/rpc", b"ping"), ("rpc", Message(b"ping", correlation_id="mine"))):
            reply = await connection.request(address, message, timeout=10)
            assert reply.body == b"pingping"
            if isinstance(message, Message):
                assert reply.correlation_id == "mine"

    runner(program)
    assert runner.bodies("rpc") == []


def test_a_request_that_nobody_answers(runner: Runner) -> None:
    async def program(connection: Connection) -> None:
        with pytest.raises(TimeoutError, match=r"(/queues/jobs within 1\.5 seconds|request.*1\.5)"):
            await connection.request("/queues/jobs", b"x", timeout=1.5)
        with pytest.raises((NotAccepted, EndpointClosed), match=r"nowhere|not accepted"):
            await connection.request("/queues/nowhere", b"x", timeout=5)

    runner(program)
    assert runner.bodies() == [b"x"]


def test_transactions(runner: Runner) -> None:
    async def program(connection: Connection) -> None:
        with pytest.raises(KeyError):
            async with connection.transaction() as transaction:
                sender = await transaction.sender("jobs")
                assert await sender.send(b"undone") == outcome_in(runner, Accepted(), transaction=True)
                raise KeyError
        assert runner.bodies() == []
        async with connection.transaction() as transaction, transaction.sender("jobs") as sender:
            await sender.send(b"1")
            assert runner.bodies() == []
            await transaction.commit()
            assert runner.bodies() == [b"1"]
            await sender.send(b"2")
        assert runner.bodies() == [b"1", b"2"]
        with pytest.raises(KeyError):
            async with connection.transaction() as transaction:
                receiver = await transaction.receiver("jobs")
                assert await take(receiver, 2) == [b"1", b"2"]
                raise KeyError
        assert sorted(runner.bodies()) == [b"1", b"2"]
        async with connection.transaction() as transaction:
            receiver = await transaction.receiver("jobs")
            sender = await transaction.sender("/queues/rpc")
            for body in await take(receiver, 2):
                await sender.send(body)

    runner(program)
    assert (runner.bodies(), sorted(runner.bodies("rpc"))) == ([], [b"1", b"2"])


def test_an_iteration_ends_with_ones_own_close_and_raises_for_any_other_end(runner: Runner) -> None:
    async def program(connection: Connection) -> None:
        receiver = await connection.receiver("jobs")
        await receiver.close()
        assert [delivery async for delivery in receiver] == []
        with pytest.raises(EndpointClosed, match="clos"):
            await receiver.fetch(timeout=5)
        if runner.version is AMQP_0_8:
            return  # Its servers can't tell of a queue that was deleted.
        receiver = await connection.receiver("rpc")
        runner.broker.queue("rpc").delete()
        with pytest.raises(EndpointClosed):
            await receiver.fetch(timeout=5)

    runner(program)


def test_a_version_says_what_it_has_not(runner: Runner) -> None:
    runner.broker.publish(b"x", routing_key="jobs")
    name = rf"AMQP {runner.version.label} has no"

    async def program(connection: Connection) -> None:
        async with connection.receiver("jobs") as receiver, connection.sender("rpc") as sender:
            delivery = await receiver.fetch(timeout=5)
            assert delivery is not None
            if runner.version in (AMQP_0_8, AMQP_0_9_1):
                with pytest.raises(Unsupported, match=f"{name} drain: call fetch"):
                    await receiver.drain()
            else:
                await receiver.drain()
                runner.broker.publish(b"y", routing_key="jobs")
                assert (await take(receiver, 1)) == [b"y"]
            if runner.version is AMQP_1_0:
                assert sender.saved_state().name
                assert receiver.saved_state().name
                await delivery.modify(delivery_failed=True)
                again = await receiver.fetch(timeout=5)
                assert again is not None
                assert again.redelivered
                await again.accept()
                return
            with pytest.raises(Unsupported, match=f"{name} modify: call release"):
                await delivery.modify(delivery_failed=True)
            for link in (sender, receiver):
                with pytest.raises(Unsupported, match=f"{name} saved_state: the state of a link"):
                    link.saved_state()
            for opens in (connection.sender, connection.receiver):
                with pytest.raises(Unsupported, match=f"{name} saved_state"):
                    await opens("jobs", state=object())  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
            await delivery.accept()

    runner(program)


def test_a_link_is_resumed_in_1_0(runner: Runner) -> None:
    if runner.version is not AMQP_1_0:
        return

    async def program(connection: Connection) -> None:
        sender = await connection.sender("jobs")
        await sender.send(b"1")
        state = sender.saved_state()
        await sender.close()
        async with connection.sender("jobs", state=state) as again:
            assert await again.send(b"2") == Accepted()

    runner(program)
    assert runner.bodies() == [b"1", b"2"]


def test_a_lost_connection_is_opened_again(runner: Runner) -> None:
    if runner.version is AMQP_0_8:
        return  # It has no confirms.

    async def program(connection: Connection) -> None:
        async with connection.receiver("/exchanges/amq.topic/a") as receiver, connection.sender("jobs") as sender:
            runner.broker.faults.close_connections()
            assert await sender.send(b"1") == Accepted()
            async with connection.sender("/exchanges/amq.topic/a") as other:
                await other.send(b"2")
            assert await take(receiver, 1) == [b"2"]

    runner(program, recover=RecoveryPolicy(first_delay=0.01))
    assert runner.bodies() == [b"1"]


def test_a_connection_tells_of_itself(runner: Runner) -> None:
    async def program(connection: Connection) -> None:
        assert connection.is_open
        assert connection.report is None
        assert connection.uri.port == runner.broker.port
        assert runner.version.label in repr(connection)
        with pytest.raises(ValueError, match="credit 0 is below 1"):
            await connection.receiver("jobs", credit=0)
        async with connection.sender("jobs") as sender, connection.receiver("jobs") as receiver:
            assert (sender.address, receiver.address) == ("jobs", "jobs")
            assert "jobs" in repr(sender) + repr(receiver)
        report = await connection.close()
        assert connection.report == report
        assert not connection.is_open
        assert await connection.wait_closed() == report

    runner(program)


def test_the_versions_own_connection_is_there(runner: Runner) -> None:
    async def program(connection: Connection) -> None:
        assert runner.version.name.lower() in type(connection.native.core).__module__

    runner(program)
