"""`amqp-sansio azure` as a process of its own: a configuration file of the emulator, keys, and a client."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from amqp_sansio import AMQP_1_0, EndpointClosed
from amqp_sansio.amqp_1_0 import Accepted
from amqp_sansio_sync import connect
from tests.system.cli.conftest import Running


def test_entities_of_a_file_are_served(start: Callable[..., Running], tmp_path: Path) -> None:
    path = tmp_path / "Config.json"
    path.write_text(json.dumps({"UserConfig": {"Namespaces": [{"Name": "ns", "Queues": [{"Name": "orders"}]}]}}))
    running = start("azure", "--listen", "127.0.0.1:0", "--config", str(path))
    url = f"amqp://RootManageSharedAccessKey:SAS_KEY_VALUE@127.0.0.1:{running.port}/"
    with connect(url, version=AMQP_1_0) as connection, connection.open_session() as session:
        assert session.open_sender("orders").send(b"1") == Accepted()
        with session.open_receiver("orders", credit=1, timeout=10) as receiver:
            next(receiver).accept()
    said = running.stop()
    assert "1 entities; Endpoint=sb://127.0.0.1:" in said and "UseDevelopmentEmulator=true" in said


def test_event_hubs_of_a_file_are_served(start: Callable[..., Running], tmp_path: Path) -> None:
    path = tmp_path / "Config.json"
    hubs = [{"Name": "eh1", "PartitionCount": "2"}, {"Name": "eh2"}]
    path.write_text(json.dumps({"UserConfig": {"NamespaceConfig": [{"Type": "EventHub", "Entities": hubs}]}}))
    running = start("azure", "--listen", "127.0.0.1:0", "--config", str(path))
    url = f"amqp://RootManageSharedAccessKey:SAS_KEY_VALUE@127.0.0.1:{running.port}/"
    with connect(url, version=AMQP_1_0) as connection, connection.open_session() as session:
        assert session.open_sender("eh1/Partitions/1").send(b"1") == Accepted()
        with session.open_receiver("eh1/ConsumerGroups/$Default/Partitions/1", credit=1, timeout=10) as receiver:
            assert next(receiver).body == b"1"
    assert "2 entities; Endpoint=sb://127.0.0.1:" in running.stop()


def test_keys_are_checked(start: Callable[..., Running]) -> None:
    running = start("azure", "--listen", "127.0.0.1:0", "--key", "sender:c2VjcmV0")
    with connect(f"amqp://sender:c2VjcmV0@127.0.0.1:{running.port}/", version=AMQP_1_0):
        pass
    with pytest.raises(EndpointClosed):
        connect(f"amqp://sender:wrong@127.0.0.1:{running.port}/", version=AMQP_1_0)
    assert "c2VjcmV0" not in running.stop()
