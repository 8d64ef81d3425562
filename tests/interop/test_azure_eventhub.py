"""azure-eventhub for Python, unmodified, with the stand-in for Event Hubs: what the SDK's samples do, row by row."""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
from __future__ import annotations

import gc
import re
import ssl
import warnings
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from azure.eventhub import EventData, TransportType
from azure.eventhub.amqp import AmqpAnnotatedMessage, AmqpMessageBodyType
from azure.eventhub.exceptions import AuthenticationError, ConnectError, ConnectionLostError

from amqp_sansio_azure import AccessRule
from amqp_sansio_azure.eventhubs import EventHubsNamespace, Retention
from amqp_sansio_azure.eventhubs.partition_keys import partition_of
from amqp_sansio_pytest import EventHubs, HubView
from tests.interop.azure_eventhub import BOTH, Heard, Sdk
from tests.kit.certificates import kept_certificates

KEY = "SAS_KEY_VALUE"
PAGE = Path(__file__).resolve().parents[2] / "docs" / "azure.md"


# The SDK's asyncio clients leave some of their transports open, which are closed when they are collected.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")


@pytest.fixture(params=list(BOTH))
def sdk(request: pytest.FixtureRequest) -> Iterator[Sdk]:
    yield BOTH[request.param]()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        gc.collect()


@pytest.fixture
def hub(event_hubs: EventHubs) -> HubView:
    return event_hubs.hub("clicks", partitions=2, consumer_groups=["audit"])


def bodies(hub: HubView, partition: str | None = None) -> list[Any]:
    return [each.body for each in hub.events(partition)]


def filled(hub: HubView, number: int = 5) -> None:
    """Put events into partition 0."""
    hub.send(*[b"%d" % each for each in range(number)], partition_id="0")


def count(number: int) -> Callable[[Heard], bool]:
    return lambda heard: len(heard.events) >= number


# send.py, send_async.py


def test_a_batch_for_any_partition(sdk: Sdk, hub: HubView) -> None:
    with sdk.producer(hub.connection_string) as producer:
        for _ in range(2):
            batch = producer.create_batch()
            batch.add(EventData("one"))
            batch.add(EventData("two"))
            producer.send_batch(batch)
    assert [bodies(hub, each) for each in ("0", "1")] == [[b"one", b"two"]] * 2


def test_a_batch_for_a_partition(sdk: Sdk, hub: HubView) -> None:
    with sdk.producer(hub.connection_string) as producer:
        batch = producer.create_batch(partition_id="1")
        batch.add(EventData("here"))
        producer.send_batch(batch)
    assert [bodies(hub, each) for each in ("0", "1")] == [[], [b"here"]]


def test_batches_by_key(sdk: Sdk, hub: HubView) -> None:
    keys = [f"key-{number}" for number in range(6)]
    with sdk.producer(hub.connection_string) as producer:
        for each in keys:
            batch = producer.create_batch(partition_key=each)
            batch.add(EventData(each))
            batch.add(EventData(each))
            producer.send_batch(batch)
    for number in (0, 1):
        assert bodies(hub, str(number)) == [
            key.encode() for key in keys if partition_of(key, 2) == number for _ in "12"
        ]
    with sdk.read(hub.connection_string) as reading:
        heard = reading.until(count(12))
    assert all(event.partition_key.decode() == event.body_as_str() for _, event in heard.events)


@pytest.mark.parametrize("where", [{}, {"partition_id": "1"}, {"partition_key": "key"}])
def test_a_list_of_events(sdk: Sdk, hub: HubView, where: dict[str, str]) -> None:
    sdk.send(hub.connection_string, EventData("a"), EventData("b"), EventData("c"), **where)
    expected = {"partition_id": "1", "partition_key": str(partition_of("key", 2))}
    partition = expected[next(iter(where))] if where else "0"
    assert bodies(hub, partition) == [b"a", b"b", b"c"] and hub.count == 3


@pytest.mark.parametrize("where", [{}, {"partition_id": "1"}, {"partition_key": "key"}])
def test_an_event_alone(sdk: Sdk, hub: HubView, where: dict[str, str]) -> None:
    with sdk.producer(hub.connection_string) as producer:
        producer.send_event(EventData("alone"), **where)
    assert bodies(hub) == [b"alone"]


def test_a_batch_that_is_full(sdk: Sdk, hub: HubView) -> None:
    with sdk.producer(hub.connection_string) as producer:
        batch = producer.create_batch()
        assert batch.max_size_in_bytes == 1024 * 1024
        added = 0
        with pytest.raises(ValueError, match="size"):
            while True:
                batch.add(EventData(b"x" * 100_000))
                added += 1
        producer.send_batch(batch)
    assert added == hub.count == 10


def test_an_event_that_is_too_large(sdk: Sdk, hub: HubView) -> None:
    with sdk.producer(hub.connection_string) as producer, pytest.raises(ConnectionLostError, match="size-exceeded"):
        producer.send_event(EventData(b"x" * 1_100_000))
    assert hub.count == 0


def test_properties_of_events(sdk: Sdk, hub: HubView) -> None:
    """send_amqp_annotated_message.py, and the system properties of an EventData."""
    event = EventData("body")
    event.properties = {"number": 5, "text": "x", b"octets": b"y"}
    event.message_id, event.correlation_id, event.content_type = "m-1", "c-1", "text/plain"
    value = AmqpAnnotatedMessage(value_body={"a": 1}, header={"durable": True}, annotations={"note": "n"})
    sequence = AmqpAnnotatedMessage(sequence_body=[1, 2], application_properties={"k": 2})
    with sdk.producer(hub.connection_string) as producer:
        batch = producer.create_batch(partition_id="0")
        for each in (event, value, sequence):
            batch.add(each)
        producer.send_batch(batch)
    with sdk.read(hub.connection_string) as reading:
        heard = reading.until(count(3))
    first, second, third = [each for _, each in heard.events]
    assert (first.body_as_str(), first.message_id, first.correlation_id) == ("body", "m-1", "c-1")
    assert first.content_type == "text/plain"
    assert first.properties == {b"number": 5, b"text": b"x", b"octets": b"y"}
    assert second.body_type == AmqpMessageBodyType.VALUE and second.body == {b"a": 1}
    assert second.raw_amqp_message.annotations[b"note"] == b"n"
    assert second.raw_amqp_message.header.durable is True
    assert third.body_type == AmqpMessageBodyType.SEQUENCE and list(third.body) == [[1, 2]]


@pytest.mark.parametrize("where", [{}, {"partition_id": "1"}, {"partition_key": "key"}])
def test_a_buffering_producer(sdk: Sdk, hub: HubView, where: dict[str, str]) -> None:
    """send_buffered_mode.py"""
    sent: list[Any] = []
    failed: list[Any] = []

    def on_success(events: list[Any], partition: str | None) -> None:
        sent.extend(events)

    def on_error(events: list[Any], partition: str | None, error: Exception) -> None:
        failed.append(error)

    callbacks = {"on_success": on_success, "on_error": on_error}
    with sdk.producer(hub.connection_string, buffered_mode=True, **callbacks) as producer:
        producer.send_batch([EventData("a"), EventData("b")], **where)
        producer.send_event(EventData("c"), **where)
        producer.flush()
    assert sorted(bodies(hub)) == [b"a", b"b", b"c"]
    assert len(sent) == 3 and not failed


# get_props.py


def test_properties_of_a_hub_and_its_partitions(sdk: Sdk, event_hubs: EventHubs, hub: HubView) -> None:
    with sdk.producer(hub.connection_string) as producer:
        found = producer.get_eventhub_properties()
        assert (found["eventhub_name"], found["partition_ids"]) == ("clicks", ["0", "1"])
        assert abs(found["created_at"] - datetime.now(UTC)) < timedelta(hours=1)
        assert producer.get_partition_ids() == ["0", "1"]
        empty = producer.get_partition_properties("0")
        assert empty == {
            "eventhub_name": "clicks",
            "id": "0",
            "beginning_sequence_number": 0,
            "last_enqueued_sequence_number": -1,
            "last_enqueued_offset": "-1",
            "is_empty": True,
            "last_enqueued_time_utc": datetime(1, 1, 1, tzinfo=UTC),
        }
        producer.send_event(EventData("x"), partition_id="0")
        event_hubs.clock.advance(60)
        producer.send_event(EventData("y"), partition_id="0")
        later = producer.get_partition_properties("0")
    assert (later["beginning_sequence_number"], later["last_enqueued_sequence_number"]) == (0, 1)
    assert later["is_empty"] is False
    assert timedelta(0) < later["last_enqueued_time_utc"] - found["created_at"] < timedelta(hours=1)


# recv.py, recv_async.py, recv_batch.py, recv_for_period.py


def test_events_of_all_partitions(sdk: Sdk, hub: HubView) -> None:
    for number in range(6):
        hub.send(str(number).encode())
    with sdk.read(hub.connection_string) as reading:
        heard = reading.until(count(6))
        hub.send(b"late", partition_id="1")
        reading.until(count(7))
    assert (heard.bodies("0"), heard.bodies("1")) == (["0", "2", "4"], ["1", "3", "5", "late"])
    assert not heard.errors
    event = heard.events[0][1]
    assert (event.sequence_number, event.offset) == (0, "0")
    assert abs(event.enqueued_time - datetime.now(UTC)) < timedelta(hours=1)


def test_events_in_batches(sdk: Sdk, hub: HubView) -> None:
    filled(hub, 25)
    with sdk.read(hub.connection_string, batch=True, partition_id="0", max_batch_size=10, max_wait_time=1) as reading:
        heard = reading.until(lambda heard: len(heard.events) >= 25 and heard.silences)
    assert heard.bodies() == [str(number) for number in range(25)]
    assert max([len(each) for each in heard.batches]) <= 10


def test_a_time_without_events(sdk: Sdk, hub: HubView) -> None:
    with sdk.read(hub.connection_string, partition_id="0", max_wait_time=0.1) as reading:
        heard = reading.until(lambda heard: heard.silences >= 2)
    assert heard.events == []


# recv_with_custom_starting_position.py


@pytest.mark.parametrize("inclusive", [False, True])
@pytest.mark.parametrize("kind", ["sequence number", "offset", "time"])
def test_a_starting_position(sdk: Sdk, event_hubs: EventHubs, hub: HubView, kind: str, inclusive: bool) -> None:
    for number in range(4):
        hub.send(b"%d" % number, partition_id="0")
        event_hubs.clock.advance(10)
    second = hub.events("0")[1].message_annotations
    position: Any = {
        "sequence number": 1,
        "offset": second["x-opt-offset"],
        "time": datetime.fromtimestamp(second["x-opt-enqueued-time"] / 1000, UTC),
    }[kind]
    options: dict[str, Any] = {"starting_position": position, "starting_position_inclusive": inclusive}
    with sdk.read(hub.connection_string, partition_id="0", **options) as reading:
        heard = reading.until(lambda heard: heard.bodies()[-1:] == ["3"])
    assert heard.bodies() == ["1", "2", "3"][not inclusive :]


def test_only_new_events(sdk: Sdk, hub: HubView) -> None:
    filled(hub)
    with sdk.read(hub.connection_string, partition_id="0", starting_position="@latest") as reading:
        reading.until(lambda heard: hub.receivers)
        hub.send(b"new", partition_id="0")
        heard = reading.until(count(1))
    assert heard.bodies() == ["new"]


def test_positions_by_partition(sdk: Sdk, hub: HubView) -> None:
    for partition in ("0", "1"):
        hub.send(b"a", b"b", b"c", partition_id=partition)
    with sdk.read(hub.connection_string, starting_position={"0": 0, "1": 1}) as reading:
        heard = reading.until(count(3))
    assert (heard.bodies("0"), heard.bodies("1")) == (["b", "c"], ["c"])


def test_a_position_that_is_not_there_is_an_error(sdk: Sdk, hub: HubView) -> None:
    filled(hub)
    sdk.refused("The supplied offset '99999999' is invalid", hub.connection_string, starting_position="99999999")


# recv_track_last_enqueued_event_prop.py


def test_the_last_event_of_the_partition(sdk: Sdk, hub: HubView) -> None:
    filled(hub)
    options: dict[str, Any] = {"track_last_enqueued_event_properties": True}
    with sdk.read(hub.connection_string, partition_id="0", **options) as reading:
        heard = reading.until(count(5))
    last = hub.events("0")[-1].message_annotations
    assert heard.metrics[0]["sequence_number"] == 4
    assert heard.metrics[0]["offset"] == last["x-opt-offset"]
    assert heard.metrics[0]["enqueued_time"] == heard.events[-1][1].enqueued_time
    assert isinstance(heard.metrics[0]["retrieval_time"], datetime)


# Consumer groups, owner levels


def test_each_group_gets_everything(sdk: Sdk, hub: HubView) -> None:
    filled(hub, 3)
    for group in ("$Default", "audit", "AUDIT"):
        with sdk.read(hub.connection_string, group) as reading:
            assert reading.until(count(3)).bodies() == ["0", "1", "2"]


def test_a_higher_owner_level_takes_the_partition(sdk: Sdk, hub: HubView) -> None:
    hub.send(b"x", partition_id="0")
    with sdk.read(hub.connection_string, partition_id="0", owner_level=1) as first:
        first.until(count(1))
        with sdk.read(hub.connection_string, partition_id="0", owner_level=2) as second:
            second.until(count(1))
            heard = first.until(lambda heard: heard.errors)
            assert isinstance(heard.errors[0], ConnectionLostError)
            assert "higher epoch of '2' is created" in str(heard.errors[0])
            hub.send(b"y", partition_id="0")
            assert second.until(count(2)).bodies() == ["x", "y"]
        assert first.stop().bodies() in (["x"], ["x", "x", "y"])


@pytest.mark.parametrize("level", [None, 0])
def test_a_lower_owner_level_does_not(sdk: Sdk, hub: HubView, level: int | None) -> None:
    hub.send(b"x", partition_id="0")
    lower: dict[str, Any] = {} if level is None else {"owner_level": level}
    with (
        sdk.read(hub.connection_string, partition_id="0", owner_level=1) as first,
        sdk.read(hub.connection_string, partition_id="0", **lower) as late,
    ):
        first.until(count(1))
        late_heard = late.until(lambda heard: heard.errors or heard.events)
        hub.send(b"y", partition_id="0")
        first.until(count(2))
        late_heard = late.until(lambda heard: heard.errors)
    assert isinstance(late_heard.errors[0], ConnectionLostError | ConnectError)
    assert "epoch" in str(late_heard.errors[0])


# Checkpoints and balancing: recv_with_checkpoint_store.py and its siblings


def test_receiving_goes_on_after_a_checkpoint(sdk: Sdk, hub: HubView) -> None:
    store = sdk.store()
    options: dict[str, Any] = {"checkpoint_store": store, "checkpoints": True, "load_balancing_interval": 0.2}
    filled(hub, 3)
    with sdk.read(hub.connection_string, **options) as reading:
        reading.until(count(3))
    hub.send(b"3", b"4", partition_id="0")
    # What the first one had is still its own until that expires.
    options["partition_ownership_expiration_interval"] = 1
    with sdk.read(hub.connection_string, **options) as reading:
        heard = reading.until(count(2))
    assert heard.bodies() == ["3", "4"]


def test_without_a_checkpoint_it_begins_again(sdk: Sdk, hub: HubView) -> None:
    filled(hub, 3)
    for _ in range(2):
        with sdk.read(hub.connection_string) as reading:
            assert reading.until(count(3)).bodies() == ["0", "1", "2"]


def test_two_clients_balance_the_partitions(sdk: Sdk, event_hubs: EventHubs) -> None:
    hub = event_hubs.hub("balanced", partitions=4)
    store = sdk.store()
    options: dict[str, Any] = {
        "checkpoint_store": store,
        "checkpoints": True,
        "load_balancing_interval": 0.3,
        "partition_ownership_expiration_interval": 2,
        "owner_level": 0,
    }
    with sdk.read(hub.connection_string, **options) as first:
        first.until(lambda heard: len(heard.has) == 4)
        with sdk.read(hub.connection_string, **options) as second:
            second.until(lambda heard: len(heard.has) == 2)
            first.until(lambda heard: len(heard.has) == 2)
            assert first.heard.has | second.heard.has == {"0", "1", "2", "3"}
            for partition in hub.partition_ids:
                hub.send(b"both " + partition.encode(), partition_id=partition)
            first.until(lambda heard: len(heard.bodies()) >= 2)
            second.until(lambda heard: len(heard.bodies()) >= 2)
            both = sorted(set(first.heard.bodies() + second.heard.bodies()))
            assert both == ["both 0", "both 1", "both 2", "both 3"]
            first.stop()
            second.until(lambda heard: len(heard.has) == 4)
        for partition in hub.partition_ids:
            hub.send(b"one " + partition.encode(), partition_id=partition)
    with sdk.read(hub.connection_string, **options) as third:
        heard = third.until(lambda heard: len([each for each in heard.bodies() if each.startswith("one")]) >= 4)
    assert sorted(each for each in heard.bodies() if each.startswith("one")) == ["one 0", "one 1", "one 2", "one 3"]


# Errors


def test_what_is_not_there(sdk: Sdk, event_hubs: EventHubs, hub: HubView) -> None:
    elsewhere = event_hubs.connection_string + "EntityPath=nothing;"
    with sdk.producer(elsewhere) as producer:
        with pytest.raises(ConnectError, match="404"):
            producer.get_eventhub_properties()
        # It asks for the partitions first.
        with pytest.raises(ConnectError, match="404"):
            producer.send_event(EventData("x"))
    with sdk.producer(hub.connection_string) as producer:
        # This the client knows by itself.
        with pytest.raises(ConnectError, match="Invalid partition 7"):
            producer.send_event(EventData("x"), partition_id="7")
        with pytest.raises(ConnectError, match="400"):
            producer.get_partition_properties("7")
        # The fault of one link is no fault of its connection.
        producer.send_event(EventData("y"), partition_id="1")
    assert bodies(hub) == [b"y"]
    sdk.refused("could not be found", hub.connection_string, "nobody")


@pytest.mark.event_hubs(
    namespace=EventHubsNamespace(
        rules=(AccessRule("sender", "c2VuZA==", {"Send"}), AccessRule("listener", "bGlzdGVu", {"Listen"})),
        checks_tokens=True,
    )
)
def test_keys_and_rights(sdk: Sdk, event_hubs: EventHubs) -> None:
    hub = event_hubs.hub("clicks")
    try:
        right = hub.connection_string
        with sdk.producer(right) as producer:
            producer.send_event(EventData("x"))
            assert producer.get_partition_ids() == ["0"]
        with sdk.producer(right.replace("c2VuZA==", "d3Jvbmc=")) as producer:
            with pytest.raises(AuthenticationError):
                producer.send_event(EventData("x"))
            with pytest.raises(AuthenticationError):
                producer.get_partition_ids()
        listener = right.replace("sender", "listener").replace("c2VuZA==", "bGlzdGVu")
        with sdk.read(listener) as reading:
            assert reading.until(count(1)).bodies() == ["x"]
        with sdk.producer(listener) as producer, pytest.raises(Exception, match="'Send' claim"):
            producer.send_event(EventData("x"))
        sdk.refused("'Listen' claim", right)
        # An hour later the token that the SDK made is over; what it makes next is by its own clock, which isn't moved.
        with sdk.read(listener, partition_id="0") as reading:
            reading.until(count(1))
            event_hubs.clock.advance(4000)
            heard = reading.until(lambda heard: heard.errors)
        assert "xpired" in str(heard.errors[0])
    finally:
        event_hubs.delete("clicks")


# Time


def test_an_idle_reader_comes_back(sdk: Sdk, event_hubs: EventHubs, hub: HubView) -> None:
    with sdk.read(hub.connection_string, partition_id="0", retry_total=3) as reading:
        reading.until(lambda heard: hub.receivers)
        event_hubs.clock.advance(1801)
        reading.until(lambda heard: hub.receivers)
        hub.send(b"after", partition_id="0")
        assert reading.until(count(1)).bodies() == ["after"]


def test_events_are_gone_when_their_time_is_over(sdk: Sdk, event_hubs: EventHubs) -> None:
    hub = event_hubs.hub("short", retention=Retention(seconds=60))
    sdk.send(hub.connection_string, EventData("old"))
    event_hubs.clock.advance(61)
    sdk.send(hub.connection_string, EventData("new"))
    with sdk.read(hub.connection_string) as reading:
        heard = reading.until(count(1))
    assert heard.bodies() == ["new"]
    assert heard.events[0][1].sequence_number == 1


# Transports: proxy.py, connection_to_custom_endpoint_address.py


@pytest.mark.parametrize("transport", [TransportType.Amqp, TransportType.AmqpOverWebsocket])
def test_by_tls_and_websocket(sdk: Sdk, transport: TransportType) -> None:
    certificates = kept_certificates()
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificates.server, certificates.server_key)
    with EventHubs(ssl=context) as event_hubs:
        event_hubs.hub("clicks")
        place = "Endpoint=sb://name.servicebus.windows.net/;SharedAccessKeyName=RootManageSharedAccessKey;"
        place += f"SharedAccessKey={KEY};EntityPath=clicks"
        options: dict[str, Any] = {
            "custom_endpoint_address": f"sb://localhost:{event_hubs.port}",
            "connection_verify": str(certificates.ca),
            "transport_type": transport,
        }
        with sdk.producer(place, **options) as producer:
            producer.send_event(EventData(b"x" * 300_000))
            assert producer.get_partition_ids() == ["0"]
        with sdk.read(place, **options) as reading:
            assert len(reading.until(count(1)).bodies()[0]) == 300_000


# A configuration of the emulator


@pytest.mark.event_hubs(
    config={
        "UserConfig": {
            "NamespaceConfig": [
                {
                    "Type": "EventHub",
                    "Name": "emulatorNs1",
                    "Entities": [{"Name": "eh1", "PartitionCount": "2", "ConsumerGroups": [{"Name": "cg1"}]}],
                }
            ],
            "LoggingConfig": {"Type": "File"},
        }
    }
)
def test_the_emulators_configuration(sdk: Sdk, event_hubs: EventHubs) -> None:
    place = event_hubs.connection_string + "EntityPath=eh1"
    sdk.send(place, EventData("x"))
    with sdk.read(place, "cg1") as reading:
        assert reading.until(count(1)).bodies() == ["x"]


def test_the_page_s_test(event_hubs: EventHubs) -> None:
    blocks = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    (block,) = [each for each in blocks if "def test_clicks" in each]
    names: dict[str, Any] = {"__name__": "azure"}
    exec(compile(block, "azure.md", "exec"), names)
    names["test_clicks"](event_hubs)
