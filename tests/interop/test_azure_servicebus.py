"""The stand-in for Service Bus with Microsoft's client for Python, unmodified: each of its samples, sync and aio."""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportMissingTypeStubs=false, reportUnknownParameterType=false
import asyncio
import inspect
import re
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from threading import Event, Thread
from typing import Any, Final

import azure.servicebus as blocking
import azure.servicebus.aio as aio
import pytest
from azure.servicebus import (
    NEXT_AVAILABLE_SESSION,
    ServiceBusMessage,
    ServiceBusReceiveMode,
    ServiceBusSubQueue,
    exceptions,
)

from amqp_sansio_azure import AccessRule
from amqp_sansio_azure.servicebus import ServiceBusNamespace
from amqp_sansio_pytest import ServiceBus
from tests.test_layout import ROOT

Row = Callable[[ServiceBus, Any], Awaitable[None]]
ROWS: Final[dict[str, Row]] = {}
WAIT: Final = 5
"""Seconds that a receiver waits for a message that comes."""
SHORT: Final = 1
"""Seconds that it waits for one that doesn't come."""


def row(function: Row) -> Row:
    """A row of the table."""
    ROWS[function.__name__] = function
    return function


async def do(value: Any) -> Any:
    """The result of a call of either client."""
    return await value if inspect.isawaitable(value) else value


@asynccontextmanager
async def using(thing: Any) -> AsyncGenerator[Any]:
    """A client, sender or receiver, as a context."""
    if hasattr(thing, "__aenter__"):
        async with thing as found:
            yield found
    else:
        with thing as found:
            yield found


async def send(client: Any, name: str, *messages: ServiceBusMessage) -> None:
    async with using(client.get_queue_sender(name)) as sender:
        await do(sender.send_messages(list(messages)))


async def take(receiver: Any, count: int = 1, wait: float = WAIT) -> list[Any]:
    """So many messages, or those that come."""
    found: list[Any] = []
    while len(found) < count:
        more = await do(receiver.receive_messages(max_message_count=count - len(found), max_wait_time=wait))
        if not more:
            return found
        found += more
    return found


def text(body: object = "hello", **properties: Any) -> ServiceBusMessage:
    return ServiceBusMessage(str(body), **properties)


@row
async def send_a_message_and_complete_it(bus: ServiceBus, client: Any) -> None:
    queue = bus.queue("orders")
    async with using(client.get_queue_sender("orders")) as sender:
        message = text(
            message_id="m1",
            subject="s",
            correlation_id="c",
            content_type="text/plain",
            reply_to="r",
            to="t",
            partition_key="p",
            application_properties={"a": 1, "b": "two"},
            time_to_live=timedelta(minutes=5),
        )
        await do(sender.send_messages(message))
    async with using(client.get_queue_receiver("orders")) as receiver:
        (found,) = await take(receiver)
        assert str(found) == "hello" and found.message_id == "m1" and found.subject == "s"
        assert (found.correlation_id, found.content_type, found.reply_to, found.to) == ("c", "text/plain", "r", "t")
        assert found.partition_key == "p" and found.time_to_live == timedelta(minutes=5)
        assert found.application_properties == {b"a": 1, b"b": b"two"}
        assert found.delivery_count == 0 and found.sequence_number == 1 and found.enqueued_sequence_number == 1
        assert found.locked_until_utc - found.enqueued_time_utc == timedelta(seconds=60)
        assert found.expires_at_utc == found.enqueued_time_utc + timedelta(minutes=5)
        assert queue.locked == 1
        await do(receiver.complete_message(found))
    assert (queue.active, queue.locked) == (0, 0)


@row
async def send_a_list_and_a_batch(bus: ServiceBus, client: Any) -> None:
    queue = bus.queue("orders")
    async with using(client.get_queue_sender("orders")) as sender:
        await do(sender.send_messages([text(n) for n in range(3)]))
        batch = await do(sender.create_message_batch())
        for number in range(3, 6):
            batch.add_message(text(number))
        await do(sender.send_messages(batch))
    assert queue.active == 6
    async with using(client.get_queue_receiver("orders")) as receiver:
        assert [str(each) for each in await take(receiver, 6)] == ["0", "1", "2", "3", "4", "5"]


@row
async def a_batch_that_is_too_large(bus: ServiceBus, client: Any) -> None:
    bus.queue("orders", max_message_size=2000)
    async with using(client.get_queue_sender("orders")) as sender:
        batch = await do(sender.create_message_batch())
        with pytest.raises(ValueError, match="size"):
            for _ in range(100):
                batch.add_message(text("x" * 100))


@row
async def a_message_that_is_too_large(bus: ServiceBus, client: Any) -> None:
    queue = bus.queue("orders", max_message_size=2000)
    async with using(client.get_queue_sender("orders")) as sender:
        with pytest.raises(exceptions.ServiceBusError):
            await do(sender.send_messages(text("x" * 3000)))
        await do(sender.send_messages(text("small")))
    assert queue.active == 1


@row
async def a_large_message(bus: ServiceBus, client: Any) -> None:
    bus.queue("orders", max_message_size=1 << 20)
    await send(client, "orders", text("x" * 900_000))
    async with using(client.get_queue_receiver("orders")) as receiver:
        (found,) = await take(receiver)
        assert len(str(found)) == 900_000
        await do(receiver.complete_message(found))


@row
async def receive_and_delete(bus: ServiceBus, client: Any) -> None:
    queue = bus.queue("orders")
    await send(client, "orders", text(1), text(2))
    mode = ServiceBusReceiveMode.RECEIVE_AND_DELETE
    async with using(client.get_queue_receiver("orders", receive_mode=mode)) as receiver:
        assert [str(each) for each in await take(receiver, 2)] == ["1", "2"]
    assert queue.active == 0


@row
async def iterate_over_messages(bus: ServiceBus, client: Any) -> None:
    queue = bus.queue("orders")
    await send(client, "orders", *[text(number) for number in range(5)])
    found: list[str] = []
    async with using(client.get_queue_receiver("orders", max_wait_time=SHORT)) as receiver:
        if isinstance(receiver, blocking.ServiceBusReceiver):
            for each in receiver:
                found.append(str(each))
                receiver.complete_message(each)
        else:
            async for each in receiver:
                found.append(str(each))
                await receiver.complete_message(each)
    assert found == ["0", "1", "2", "3", "4"] and queue.active == 0


@row
async def abandon_until_it_is_dead(bus: ServiceBus, client: Any) -> None:
    queue = bus.queue("orders", max_delivery_count=3)
    await send(client, "orders", text())
    async with using(client.get_queue_receiver("orders")) as receiver:
        for count in range(3):
            (found,) = await take(receiver)
            assert found.delivery_count == count
            await do(receiver.abandon_message(found))
        assert await take(receiver, wait=SHORT) == []
    assert (queue.active, queue.dead_letters) == (0, 1)


@row
async def dead_letters_and_their_sub_queue(bus: ServiceBus, client: Any) -> None:
    queue = bus.queue("orders")
    await send(client, "orders", text())
    async with using(client.get_queue_receiver("orders")) as receiver:
        (found,) = await take(receiver)
        await do(receiver.dead_letter_message(found, reason="bad", error_description="why"))
    assert queue.dead_letters == 1
    sub_queue = ServiceBusSubQueue.DEAD_LETTER
    async with using(client.get_queue_receiver("orders", sub_queue=sub_queue)) as receiver:
        (found,) = await take(receiver)
        assert (found.dead_letter_reason, found.dead_letter_error_description) == ("bad", "why")
        assert found.dead_letter_source == "orders"
        await do(receiver.complete_message(found))
    assert queue.dead_letters == 0


@row
async def defer_and_receive_deferred(bus: ServiceBus, client: Any) -> None:
    queue = bus.queue("orders")
    await send(client, "orders", text())
    async with using(client.get_queue_receiver("orders")) as receiver:
        (found,) = await take(receiver)
        await do(receiver.defer_message(found))
        assert queue.deferred == 1
        (again,) = await do(receiver.receive_deferred_messages(found.sequence_number))
        assert str(again) == "hello"
        await do(receiver.complete_message(again))
    assert queue.deferred == 0


@row
async def settle_deferred_messages(bus: ServiceBus, client: Any) -> None:
    queue = bus.queue("orders")
    await send(client, "orders", *[text(number) for number in range(3)])
    async with using(client.get_queue_receiver("orders")) as receiver:
        found = await take(receiver, 3)
        for each in found:
            await do(receiver.defer_message(each))
        again = await do(receiver.receive_deferred_messages([each.sequence_number for each in found]))
        await do(receiver.abandon_message(again[0]))
        await do(receiver.dead_letter_message(again[1], reason="bad"))
        await do(receiver.renew_message_lock(again[2]))
        await do(receiver.defer_message(again[2]))
    assert (queue.deferred, queue.dead_letters) == (2, 1)


@row
async def peek(bus: ServiceBus, client: Any) -> None:
    queue = bus.queue("orders")
    await send(client, "orders", *[text(number) for number in range(5)])
    async with using(client.get_queue_receiver("orders")) as receiver:
        assert [str(each) for each in await do(receiver.peek_messages(3))] == ["0", "1", "2"]
        assert [str(each) for each in await do(receiver.peek_messages(5, sequence_number=4))] == ["3", "4"]
        assert await do(receiver.peek_messages(5, sequence_number=9)) == []
    assert (queue.active, queue.locked) == (5, 0)


@row
async def schedule_and_cancel(bus: ServiceBus, client: Any) -> None:
    queue = bus.queue("orders")
    async with using(client.get_queue_sender("orders")) as sender:
        when = datetime.now(UTC) + timedelta(hours=1)
        numbers = await do(sender.schedule_messages([text(1), text(2)], when))
        assert len(numbers) == 2 and queue.scheduled == 2
        await do(sender.cancel_scheduled_messages(numbers[0]))
        await do(sender.send_messages(text(3, scheduled_enqueue_time_utc=when)))
        with pytest.raises(exceptions.ServiceBusError):
            await do(sender.cancel_scheduled_messages(numbers[0]))
    bus.clock.advance(3700)
    async with using(client.get_queue_receiver("orders")) as receiver:
        assert [str(each) for each in await take(receiver, 2)] == ["2", "3"]


@row
async def locks_end_and_are_renewed(bus: ServiceBus, client: Any) -> None:
    bus.queue("orders", lock_duration=30)
    await send(client, "orders", text())
    async with using(client.get_queue_receiver("orders")) as receiver:
        (found,) = await take(receiver)
        bus.clock.advance(20)
        until = await do(receiver.renew_message_lock(found))
        assert until == found.locked_until_utc
        bus.clock.advance(20)
        assert bus.queue("orders").locked == 1
        bus.clock.advance(11)
        with pytest.raises(exceptions.MessageLockLostError):
            await do(receiver.renew_message_lock(found))
        (again,) = await take(receiver)
        assert again.delivery_count == 1
        with pytest.raises(exceptions.MessageLockLostError):
            await do(receiver.complete_message(found))
        await do(receiver.complete_message(again))


@row
async def messages_expire(bus: ServiceBus, client: Any) -> None:
    queue = bus.queue("orders", dead_letters_expired=True)
    await send(client, "orders", text(time_to_live=timedelta(seconds=30)))
    bus.clock.advance(31)
    assert (queue.active, queue.dead_letters) == (0, 1)
    sub_queue = ServiceBusSubQueue.DEAD_LETTER
    async with using(client.get_queue_receiver("orders", sub_queue=sub_queue)) as receiver:
        (found,) = await take(receiver)
        assert found.dead_letter_reason == "TTLExpiredException"


@row
async def duplicates_are_dropped(bus: ServiceBus, client: Any) -> None:
    queue = bus.queue("orders", duplicate_window=60)
    await send(client, "orders", text(message_id="a"), text(message_id="a"), text(message_id="b"))
    assert queue.active == 2


@row
async def messages_are_forwarded(bus: ServiceBus, client: Any) -> None:
    end = bus.queue("end")
    bus.queue("orders", forward_to="end")
    await send(client, "orders", text())
    assert end.active == 1


@row
async def a_session_by_name(bus: ServiceBus, client: Any) -> None:
    queue = bus.queue("orders", requires_session=True)
    await send(client, "orders", text(1, session_id="a"), text(2, session_id="b"), text(3, session_id="a"))
    async with using(client.get_queue_receiver("orders", session_id="a")) as receiver:
        found = await take(receiver, 2)
        assert [(str(each), each.session_id) for each in found] == [("1", "a"), ("3", "a")]
        session = receiver.session
        assert session.session_id == "a" and session.locked_until_utc > datetime.now(UTC)
        assert await do(session.get_state()) is None
        await do(session.set_state("half"))
        assert await do(session.get_state()) == b"half"
        bus.clock.advance(10)
        before = session.locked_until_utc
        assert timedelta(seconds=9) < await do(session.renew_lock()) - before < timedelta(seconds=11)
        for each in found:
            await do(receiver.complete_message(each))
    assert queue.active == 1


@row
async def the_next_session(bus: ServiceBus, client: Any) -> None:
    bus.queue("orders", requires_session=True)
    await send(client, "orders", text(1, session_id="a"), text(2, session_id="b"))
    found: list[str] = []
    for _ in range(2):
        async with using(client.get_queue_receiver("orders", session_id=NEXT_AVAILABLE_SESSION)) as receiver:
            (each,) = await take(receiver)
            found.append(receiver.session.session_id)
            await do(receiver.complete_message(each))
    assert sorted(found) == ["a", "b"]


@row
async def no_session_is_free(bus: ServiceBus, client: Any) -> None:
    bus.queue("orders", requires_session=True)
    wanted = {"session_id": NEXT_AVAILABLE_SESSION, "max_wait_time": 2}

    done = Event()

    def advance() -> None:
        # The client tries again once.
        while not done.wait(0.01):
            if bus.queue("orders").receivers:
                bus.clock.advance(66)

    thread = Thread(target=advance, daemon=True)
    thread.start()
    with pytest.raises(exceptions.OperationTimeoutError):
        async with using(client.get_queue_receiver("orders", **wanted)):
            pass
    done.set()
    thread.join(10)


@row
async def a_session_that_another_holds(bus: ServiceBus, client: Any) -> None:
    bus.queue("orders", requires_session=True)
    async with using(client.get_queue_receiver("orders", session_id="a")):
        with pytest.raises(exceptions.SessionCannotBeLockedError):
            async with using(client.get_queue_receiver("orders", session_id="a")):
                pass


@row
async def the_lock_of_a_session_is_lost(bus: ServiceBus, client: Any) -> None:
    bus.queue("orders", requires_session=True, lock_duration=30)
    await send(client, "orders", text(1, session_id="a"))
    async with using(client.get_queue_receiver("orders", session_id="a")) as receiver:
        (found,) = await take(receiver)
        bus.clock.advance(31)
        with pytest.raises(exceptions.SessionLockLostError):
            await do(receiver.complete_message(found))
    async with using(client.get_queue_receiver("orders", session_id="a")) as receiver:
        (found,) = await take(receiver)
        assert found.delivery_count == 1


@row
async def deferred_messages_of_a_session(bus: ServiceBus, client: Any) -> None:
    bus.queue("orders", requires_session=True)
    await send(client, "orders", text(1, session_id="a"))
    async with using(client.get_queue_receiver("orders", session_id="a")) as receiver:
        (found,) = await take(receiver)
        await do(receiver.defer_message(found))
        (again,) = await do(receiver.receive_deferred_messages([found.sequence_number]))
        await do(receiver.complete_message(again))


@row
async def sessions_are_listed(bus: ServiceBus, client: Any) -> None:
    bus.queue("orders", requires_session=True)
    await send(client, "orders", *[text(each, session_id=each) for each in "abc"])
    found = client.list_queue_sessions("orders")
    listed = list(found) if hasattr(found, "__iter__") else [each async for each in found]
    assert sorted(map(str, listed)) == ["a", "b", "c"]


@row
async def topics_and_subscriptions(bus: ServiceBus, client: Any) -> None:
    topic = bus.topic("news")
    every = topic.subscription("every")
    red = topic.subscription("red", sql="colour = 'red' AND sys.Label LIKE 's%'")
    async with using(client.get_topic_sender("news")) as sender:
        await do(sender.send_messages([text(1, subject="s1", application_properties={"colour": "red"}), text(2)]))
    assert (every.active, red.active) == (2, 1)
    async with using(client.get_subscription_receiver("news", "red")) as receiver:
        (found,) = await take(receiver)
        await do(receiver.dead_letter_message(found))
    sub_queue = ServiceBusSubQueue.DEAD_LETTER
    async with using(client.get_subscription_receiver("news", "red", sub_queue=sub_queue)) as receiver:
        (found,) = await take(receiver)
        assert str(found) == "1"


@row
async def messages_to_a_topic_are_scheduled(bus: ServiceBus, client: Any) -> None:
    topic = bus.topic("news")
    every = topic.subscription("every")
    async with using(client.get_topic_sender("news")) as sender:
        await do(sender.schedule_messages(text(), datetime.now(UTC) + timedelta(seconds=100)))
    assert (topic.scheduled, every.active) == (1, 0)
    bus.clock.advance(200)
    assert (topic.scheduled, every.active) == (0, 1)


@row
async def an_entity_that_is_not_there(bus: ServiceBus, client: Any) -> None:
    with pytest.raises(exceptions.MessagingEntityNotFoundError, match="TrackingId:"):
        await send(client, "nowhere", text())
    with pytest.raises(exceptions.MessagingEntityNotFoundError):
        async with using(client.get_queue_receiver("nowhere")):
            pass


@row
async def an_entity_that_is_disabled(bus: ServiceBus, client: Any) -> None:
    bus.queue("orders", status="SendDisabled")
    with pytest.raises(exceptions.MessagingEntityDisabledError):
        await send(client, "orders", text())


@row
async def an_entity_that_is_full(bus: ServiceBus, client: Any) -> None:
    bus.queue("orders", max_octets=300)
    with pytest.raises(exceptions.ServiceBusQuotaExceededError):
        await send(client, "orders", *[text("x" * 100)] * 5)


@row
async def an_idle_link_is_detached_and_opened_again(bus: ServiceBus, client: Any) -> None:
    queue = bus.queue("orders")
    async with using(client.get_queue_sender("orders")) as sender:
        await do(sender.send_messages(text(1)))
        bus.clock.advance(601)
        await do(sender.send_messages(text(2)))
    assert queue.active == 2


@pytest.fixture
def bus() -> Iterator[ServiceBus]:
    with ServiceBus() as found:
        yield found
    assert found.broker.errors == []


def clients(bus: ServiceBus, kind: str, **options: Any) -> Any:
    made = blocking.ServiceBusClient if kind == "sync" else aio.ServiceBusClient
    values: dict[str, Any] = {"retry_total": 1, "retry_backoff_factor": 0.01, **options}
    return made.from_connection_string(bus.connection_string, **values)


@pytest.mark.parametrize("kind", ["sync", "aio"])
@pytest.mark.parametrize("name", ROWS)
def test_sample(bus: ServiceBus, kind: str, name: str) -> None:
    async def run() -> None:
        async with using(clients(bus, kind)) as client:
            await ROWS[name](bus, client)

    asyncio.run(run())


KEYS: Final = {
    "right": ("sender", "c2VuZA==", None),
    "wrong": ("sender", "d3Jvbmc=", exceptions.ServiceBusAuthenticationError),
    "unknown": ("nobody", "c2VuZA==", exceptions.ServiceBusAuthenticationError),
}


@pytest.mark.parametrize("kind", ["sync", "aio"])
@pytest.mark.parametrize("which", KEYS)
def test_keys_are_checked(kind: str, which: str) -> None:
    name, key, error = KEYS[which]
    namespace = ServiceBusNamespace(rules=[AccessRule("sender", "c2VuZA==", {"Send"})], checks_tokens=True)
    with ServiceBus(namespace=namespace) as bus:
        bus.queue("orders")
        text_of = bus.connection_string.replace("c2VuZA==", key).replace("KeyName=sender", f"KeyName={name}")
        made: Any = blocking.ServiceBusClient if kind == "sync" else aio.ServiceBusClient

        async def run() -> None:
            async with using(made.from_connection_string(text_of, retry_total=0)) as client:
                if error is not None:
                    with pytest.raises(error):
                        await send(client, "orders", text())
                    return
                await send(client, "orders", text())
                with pytest.raises(exceptions.ServiceBusAuthorizationError):
                    async with using(client.get_queue_receiver("orders")):
                        pass

        asyncio.run(run())


@pytest.mark.filterwarnings("ignore:ssl=None is deprecated")
@pytest.mark.parametrize("kind", ["sync", "aio"])
def test_over_a_websocket(bus: ServiceBus, kind: str) -> None:
    options = {
        "transport_type": blocking.TransportType.AmqpOverWebsocket,
        "custom_endpoint_address": f"sb://127.0.0.1:{bus.port}",
    }

    async def run() -> None:
        async with using(clients(bus, kind, **options)) as client:
            await send_a_message_and_complete_it(bus, client)

    asyncio.run(run())


@pytest.mark.parametrize("consumer", [6, 7], ids=["to theirs", "to ours"])
@pytest.mark.parametrize("publisher", [4, 5], ids=["theirs", "ours"])
def test_programs_of_the_migration_page(bus: ServiceBus, publisher: int, consumer: int) -> None:
    queue = bus.queue("jobs")
    page = (ROOT / "docs" / "migrating" / "azure.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    names: dict[str, Any] = {"__name__": "azure"}
    for block in (publisher, consumer):
        exec(compile(blocks[block], "azure.md", "exec"), names)
    url = f"amqp://RootManageSharedAccessKey:SAS_KEY_VALUE@127.0.0.1:{bus.port}/"
    bodies = [b"", *[b"%d" % number for number in range(20)]]
    names["publish"](bus.connection_string if publisher == 4 else url, bodies)
    assert names["consume"](bus.connection_string if consumer == 6 else url, 20) == bodies[1:]
    assert (queue.active, queue.dead_letters) == (0, 1)


def test_what_the_migration_page_has_for_locks_sessions_and_transactions(bus: ServiceBus) -> None:
    jobs, sessions = bus.queue("jobs", lock_duration=30), bus.queue("sessions", requires_session=True)
    page = (ROOT / "docs" / "migrating" / "azure.md").read_text(encoding="utf-8")
    names: dict[str, Any] = {"__name__": "azure"}
    exec(compile(re.findall(r"^```python\n(.*?)^```", page, re.MULTILINE | re.DOTALL)[8], "azure.md", "exec"), names)
    url = f"amqp://RootManageSharedAccessKey:SAS_KEY_VALUE@127.0.0.1:{bus.port}/"
    client = blocking.ServiceBusClient.from_connection_string(bus.connection_string)
    with client, client.get_queue_sender("sessions") as sender:
        sender.send_messages([ServiceBusMessage(each, session_id="a") for each in ("1", "2")])
    names["forward_a_session"](url, 2)
    assert (sessions.active, jobs.active) == (0, 2)
    seen: list[bytes] = []
    names["renew_and_complete"](url, seen.append)
    assert (seen, jobs.active, jobs.locked) == ([b"1"], 1, 0)


@pytest.mark.parametrize("name", ["test_orders", "test_what_a_deployment_declares"])
def test_the_page_s_tests(bus: ServiceBus, name: str) -> None:
    page = (ROOT / "docs" / "azure.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    (block,) = [each for each in blocks if f"def {name}" in each]
    names: dict[str, Any] = {"__name__": "azure"}
    exec(compile(block, "azure.md", "exec"), names)
    names[name](bus)
