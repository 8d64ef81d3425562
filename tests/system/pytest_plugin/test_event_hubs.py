"""The fixture `event_hubs` on a real port: what it tells a test, and this project's own clients doing what the rows of
tests/interop/test_azure_eventhub.py do with the SDK."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import pytest

from amqp_sansio import AMQP_1_0
from amqp_sansio import amqp_1_0 as amqp
from amqp_sansio.client.amqp_1_0.batches import BATCH, batch_of, batches_of
from amqp_sansio.client.amqp_1_0.cbs import SharedAccessKey
from amqp_sansio.errors import LinkEnded, TokenRefused
from amqp_sansio_asyncio import connect as connect_asyncio
from amqp_sansio_azure import AccessRule
from amqp_sansio_azure.eventhubs import EventHubsNamespace, Retention
from amqp_sansio_azure.eventhubs.partition_keys import partition_of
from amqp_sansio_pytest import EventHubs
from amqp_sansio_sync import connect

pytest_plugins = ["pytester"]

GROUP = "clicks/ConsumerGroups/$Default/Partitions"
SELECTOR = amqp.Symbol("apache.org:selector-filter:string")
EPOCH = amqp.Symbol("com.microsoft:epoch")
METRICS = amqp.Symbol("com.microsoft:enable-receiver-runtime-metric")
KEY = amqp.Symbol("x-opt-partition-key")


def url(event_hubs: EventHubs, user: str = "") -> str:
    return f"amqp://{user}127.0.0.1:{event_hubs.port}/"


def tokens(name: str = "RootManageSharedAccessKey", key: str = "SAS_KEY_VALUE") -> SharedAccessKey:
    return SharedAccessKey(name, key)


def event(body: bytes, key: str = "") -> amqp.Message:
    return amqp.Message(body, message_annotations={KEY: key} if key else None)


def source(partition: str = "0", selector: str = "", group: str = GROUP) -> amqp.Source:
    filters: dict[Any, Any] = {SELECTOR: amqp.Described(SELECTOR, selector)} if selector else {}
    return amqp.Source(f"{group}/{partition}", filter=filters)


def bodies(messages: list[amqp.Message]) -> list[Any]:
    return [each.body for each in messages]


def test_events_are_sent_and_read(event_hubs: EventHubs) -> None:
    """To the hub, to a partition, by key, and in batches; then from every position."""
    hub = event_hubs.hub("clicks", partitions=2)
    with connect(url(event_hubs), version=AMQP_1_0, cbs=tokens()) as connection, connection.open_session() as session:
        with session.open_sender("clicks") as sender:
            assert sender.send(event(b"turn 0")) == sender.send(event(b"turn 1")) == amqp.Accepted()
            sender.send(event(b"by key", "alphabet"))
            batch = batch_of([event(b"batch 1", "alphabet"), event(b"batch 2")])
            assert sender.send(batch, message_format=BATCH) == amqp.Accepted()
            for each in batches_of([event(b"x" * 300_000) for _ in range(5)], sender.max_message_size):
                sender.send(each, message_format=BATCH)
        with session.open_sender("clicks/Partitions/1") as sender:
            sender.send(event(b"at 1"))
        where = str(partition_of("alphabet", 2))
        assert [each for each in bodies(hub.events(where)) if len(each) < 10][1:4] == [
            b"by key",
            b"batch 1",
            b"batch 2",
        ]
        assert hub.count == 11 and bodies(hub.events("1"))[-1] == b"at 1"
        wanted = bodies(hub.events("1"))
        with session.open_receiver(source("1"), credit=20, timeout=10) as receiver:
            found = [next(receiver) for _ in wanted]
        assert [each.body for each in found] == wanted
        last = found[-2].message.message_annotations
        for selector in (
            f"amqp.annotation.x-opt-offset > '{last['x-opt-offset']}'",
            f"amqp.annotation.x-opt-sequence-number > '{last['x-opt-sequence-number']}'",
        ):
            with session.open_receiver(source("1", selector), credit=1, timeout=10) as receiver:
                assert next(receiver).body == b"at 1"
        latest = source("1", "amqp.annotation.x-opt-offset > '@latest'")
        with session.open_receiver(latest, credit=5, timeout=10, desired_capabilities=(METRICS,)) as receiver:
            hub.send(b"new", partition_id="1")
            delivery = next(receiver)
            assert delivery.body == b"new"
            notes = delivery.message.delivery_annotations
            assert notes["last_enqueued_sequence_number"] == len(wanted)


def test_epochs_and_refusals_end_links_alone(event_hubs: EventHubs) -> None:
    hub = event_hubs.hub("clicks", partitions=2)
    hub.send(b"x", partition_id="0")
    with connect(url(event_hubs), version=AMQP_1_0, cbs=tokens()) as connection, connection.open_session() as session:
        first = session.open_receiver(source(), credit=5, timeout=10, properties={EPOCH: 1})
        assert next(first).body == b"x"
        with pytest.raises(LinkEnded, match="amqp:link:stolen"):
            session.open_receiver(source())
        second = session.open_receiver(source(), credit=5, timeout=10, properties={EPOCH: 2})
        with pytest.raises(LinkEnded, match=r"amqp:link:stolen.*higher epoch of '2'"):
            next(first)
        assert next(second).body == b"x"
        for address, said in (
            (source(group="clicks/ConsumerGroups/nobody/Partitions"), "amqp:not-found"),
            (source("7"), "argument-out-of-range"),
            (source("0", "amqp.annotation.x-opt-offset > '999'"), "argument-error"),
        ):
            with pytest.raises(LinkEnded, match=said):
                session.open_receiver(address)
        with pytest.raises(LinkEnded, match="amqp:not-found"):
            session.open_sender("nothing")
        session.open_sender("clicks/Partitions/0").send(event(b"y"))
        assert next(second).body == b"y"


@pytest.mark.event_hubs(
    namespace=EventHubsNamespace(rules=[AccessRule("sender", "a2V5", {"Send"})], checks_tokens=True)
)
def test_tokens_are_checked(event_hubs: EventHubs) -> None:
    event_hubs.hub("clicks")
    with connect(url(event_hubs), version=AMQP_1_0, cbs=tokens("sender", "a2V5")) as connection:
        session = connection.open_session()
        session.open_sender("clicks").send(event(b"x"))
        with pytest.raises(LinkEnded, match="unauthorized-access"):
            session.open_receiver(source())
    with (
        connect(url(event_hubs), version=AMQP_1_0, cbs=tokens("sender", "d3Jvbmc=")) as connection,
        pytest.raises(TokenRefused, match="InvalidSignature"),
    ):
        connection.open_session().open_sender("clicks")
    # A login by PLAIN needs no token.
    with connect(url(event_hubs, "sender:a2V5@"), version=AMQP_1_0) as connection:
        connection.open_session().open_sender("clicks").send(event(b"y"))
    assert event_hubs.hub("clicks").count == 2


def test_asyncio_reads_partitions_at_the_same_time(event_hubs: EventHubs) -> None:
    hub = event_hubs.hub("clicks", partitions=4)

    async def read(session: Any, partition: str, number: int) -> list[Any]:
        async with await session.open_receiver(source(partition), credit=10) as receiver:
            return [(await anext(receiver)).body for _ in range(number)]

    async def main() -> list[list[Any]]:
        async with connect_asyncio(url(event_hubs), version=AMQP_1_0, cbs=tokens()) as connection:
            session = await connection.open_session()
            sender = await session.open_sender("clicks")
            readers = [asyncio.create_task(read(session, each, 25)) for each in hub.partition_ids]
            for number in range(100):
                await sender.send(event(b"%d" % number))
            return await asyncio.wait_for(asyncio.gather(*readers), 30)

    found = asyncio.run(main())
    assert found == [[b"%d" % number for number in range(start, 100, 4)] for start in range(4)]


def test_what_a_test_sees_of_a_hub(event_hubs: EventHubs) -> None:
    hub = event_hubs.hub("clicks", partitions=2, consumer_groups=["audit"], retention=Retention(seconds=60))
    assert (hub.partition_ids, hub.count, hub.receivers, repr(hub)) == (["0", "1"], 0, 0, "<HubView clicks>")
    assert hub.connection_string.endswith(
        f":{event_hubs.port};SharedAccessKeyName=RootManageSharedAccessKey;"
        "SharedAccessKey=SAS_KEY_VALUE;UseDevelopmentEmulator=true;EntityPath=clicks;"
    )
    hub.send("text", b"octets", amqp.Message({"a": 1}))
    hub.send(b"x", partition_key="alphabet")
    hub.send(b"y", partition_id="1")
    assert hub.count == 5
    event_hubs.clock.advance(61)
    assert hub.count == 0 and hub.events() == []
    hub.add_consumer_group("later")
    with connect(url(event_hubs), version=AMQP_1_0, cbs=tokens()) as connection:
        session = connection.open_session()
        with session.open_receiver(source(group="clicks/ConsumerGroups/later/Partitions")):
            assert hub.receivers == 1
    for wrong in (lambda: hub.events("9"), lambda: hub.send(b"x", partition_id="9")):
        with pytest.raises(LookupError, match="no partition '9'"):
            wrong()
    with pytest.raises(ValueError, match="there already"):
        event_hubs.hub("clicks", partitions=3)
    event_hubs.delete("clicks")
    with pytest.raises(LookupError, match="no event hub"):
        _ = hub.count


def test_an_event_needs_a_time() -> None:
    event_hubs = EventHubs()
    hub = event_hubs.hub("clicks")
    assert hub.count == 0
    with pytest.raises(RuntimeError, match="no hub yet"):
        hub.send(b"x")


def test_it_is_ready_at_once() -> None:
    took: list[float] = []
    for _ in range(5):
        start = time.process_time()
        with EventHubs() as event_hubs:
            event_hubs.hub("clicks", partitions=2)
            took.append(time.process_time() - start)
    # The first one imports; a busy machine makes any single one slow.
    assert min(took) < 0.06


def test_the_mark_passes_arguments(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import pytest

        CONFIG = {"UserConfig": {"NamespaceConfig": [{"Entities": [{"Name": "a", "PartitionCount": 3}]}]}}

        @pytest.mark.event_hubs(config=CONFIG)
        def test_it(event_hubs):
            assert event_hubs.hub("a").partition_ids == ["0", "1", "2"]

        @pytest.mark.event_hubs("a")
        def test_wrong(event_hubs):
            pass
        """
    )
    pytester.runpytest().assert_outcomes(passed=1, errors=1)
