"""A broker's counters and gauges: those of messages come from the model, those of octets from its connections."""

from __future__ import annotations

import pickle

from amqp_sansio import AMQP_0_9_1, AMQP_1_0
from amqp_sansio.broker import Hub, Settings, commands
from amqp_sansio.metrics import snapshot
from tests.kit.broker_contents import classic_content


def test_messages_are_counted_by_what_became_of_them() -> None:
    hub = Hub(Settings(seed=b"1"))
    owner = hub.apply(commands.OpenOwner("/", "guest"))
    hub.apply(commands.DeclareQueue(owner, "jobs"))
    for _ in range(4):
        hub.apply(commands.Publish(owner, "", "jobs", classic_content()))
    for outcome in (commands.Outcome.ACCEPT, commands.Outcome.REJECT, commands.Outcome.RELEASE):
        entry = hub.apply(commands.Get(owner, "jobs", settles=False))
        hub.apply(commands.Settle(owner, (entry,), outcome))
    hub.apply(commands.Get(owner, "jobs", settles=False))
    before = snapshot(hub.metrics())
    assert before["amqp_broker_published_total"] == 4
    assert before["amqp_broker_delivered_total"] == 4
    outcomes = ("accepted", "rejected", "released")
    assert [before[f'amqp_broker_settled_total{{outcome="{each}"}}'] for each in outcomes] == [1, 1, 1]
    assert before['amqp_broker_messages{state="ready"}'] == before['amqp_broker_messages{state="unsettled"}'] == 1
    hub.apply(commands.DeleteQueue(owner, "jobs"))
    after = snapshot(pickle.loads(pickle.dumps(hub)).metrics())
    assert after["amqp_broker_delivered_total"] == 4
    assert after["amqp_broker_queues"] == 0


def test_octets_and_connections_are_counted() -> None:
    hub = Hub(Settings(seed=b"1"))
    for version in (AMQP_0_9_1, AMQP_1_0):
        client = hub.connect()
        client.receive_data(version.header, 0.0)
        client.next_event()
        sent = client.data_to_send(0.0)
        client.connection_lost("gone", 1.0)
        client.next_event()
        assert sent
    values = snapshot(hub.metrics())
    assert values["amqp_broker_connections_total"] == 2
    assert values["amqp_broker_connections"] == 0
    assert values["amqp_broker_received_octets_total"] == 16
    assert values["amqp_broker_sent_octets_total"] > 8
