"""The embedded broker listens: a client reaches it on its port. The other tests of it are in tests/system."""

from __future__ import annotations

import pytest

from amqp_sansio import Accepted
from amqp_sansio_pytest import EmbeddedBroker
from amqp_sansio_sync import connect


@pytest.mark.real("a thread and a port")
def test_a_client_publishes_and_the_history_has_it() -> None:
    with EmbeddedBroker(definitions={"queues": ["jobs"]}) as broker:
        with connect(broker.url) as connection, connection.open_channel(confirm=True) as channel:
            assert channel.publish(b"hello", routing_key="jobs") == Accepted()
        broker.history.assert_published(queue="jobs", body="hello", count=1)
        assert broker.queue("jobs").ready == 1
