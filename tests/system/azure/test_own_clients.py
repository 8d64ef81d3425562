"""This project's own clients at the stand-in for Service Bus: tokens by `cbs=`, checked against keys and rights."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from amqp_sansio import AMQP_1_0
from amqp_sansio.amqp_1_0 import Accepted
from amqp_sansio.client.amqp_1_0.cbs import SharedAccessKey
from amqp_sansio.errors import AmqpError
from amqp_sansio_azure import AccessRule
from amqp_sansio_azure.servicebus import ServiceBusNamespace
from amqp_sansio_pytest import ServiceBus
from amqp_sansio_sync import connect


@pytest.fixture
def bus() -> Iterator[ServiceBus]:
    rules = [AccessRule("all", "a2V5"), AccessRule("sender", "c2VuZA==", {"Send"})]
    with ServiceBus(namespace=ServiceBusNamespace(rules=rules, checks_tokens=True)) as found:
        found.queue("orders")
        yield found


def test_a_key_opens_its_entity(bus: ServiceBus) -> None:
    url = f"amqp://127.0.0.1:{bus.port}/"
    tokens = SharedAccessKey("all", "a2V5")
    with connect(url, version=AMQP_1_0, cbs=tokens) as connection, connection.open_session() as session:
        assert session.open_sender("orders").send(b"hello") == Accepted()
        with session.open_receiver("orders", credit=1, timeout=30, rcv_settle_mode=1) as receiver:
            delivery = next(receiver)
            assert delivery.body == b"hello"
            delivery.accept()
    assert bus.queue("orders").active == 0


@pytest.mark.parametrize("key", [("sender", "c2VuZA=="), ("all", "b3RoZXI="), ("nobody", "a2V5")])
def test_other_keys_do_not(bus: ServiceBus, key: tuple[str, str]) -> None:
    url = f"amqp://127.0.0.1:{bus.port}/"
    with connect(url, version=AMQP_1_0, cbs=SharedAccessKey(*key)) as connection, connection.open_session() as session:
        with pytest.raises(AmqpError):
            session.open_receiver("orders", credit=1, timeout=30)
        assert connection.report is None
