"""`amqp-sansio azure` as a process of its own: a configuration file of the emulator, keys, and a client."""

import json
import ssl
from collections.abc import Callable
from pathlib import Path
from urllib.request import Request, urlopen

import pytest

from amqp_sansio import AMQP_1_0, EndpointClosed
from amqp_sansio.amqp_1_0 import Accepted
from amqp_sansio_cli.main import main
from amqp_sansio_sync import connect
from tests.kit.certificates import kept_certificates
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


@pytest.mark.parametrize("tls", [False, True], ids=["http", "https"])
def test_the_administration_is_served(start: Callable[..., Running], tls: bool) -> None:
    files = kept_certificates()
    more = ["--tls-cert", str(files.server), "--tls-key", str(files.server_key)] if tls else []
    running = start("azure", "--listen", "127.0.0.1:0", "--administration", "127.0.0.1:0", *more)
    scheme = "https" if tls else "http"
    assert running.process.stderr is not None
    url = running.process.stderr.readline().decode().strip().removeprefix("amqp-sansio: administration at ")
    assert url.startswith(f"{scheme}://127.0.0.1:")
    entry = b'<entry xmlns="http://www.w3.org/2005/Atom"><content type="application/xml"><QueueDescription '
    entry += b'xmlns="http://schemas.microsoft.com/netservices/2010/10/servicebus/connect"/></content></entry>'
    context = ssl.create_default_context(cafile=files.ca) if tls else None
    with urlopen(Request(f"{url}/orders", entry, method="PUT"), timeout=30, context=context) as answer:
        assert answer.status == 201
    user = "RootManageSharedAccessKey:SAS_KEY_VALUE"
    address = (
        f"{'amqps' if tls else 'amqp'}://{user}@localhost:{running.port}/{f'?cacertfile={files.ca}' if tls else ''}"
    )
    with connect(address, version=AMQP_1_0) as connection, connection.open_session() as session:
        assert session.open_sender("orders").send(b"1") == Accepted()
    running.stop()


def test_the_administration_is_not_for_other_machines(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["azure", "--listen", "127.0.0.1:0", "--administration", "192.0.2.1:0"]) == 2
    said = capsys.readouterr().err
    assert "--administration 192.0.2.1 can be reached from other machines" in said and "--allow-remote" in said


def test_event_hubs_have_no_administration(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "Config.json"
    path.write_text(json.dumps({"UserConfig": {"NamespaceConfig": [{"Type": "EventHub", "Entities": []}]}}))
    assert main(["azure", "--config", str(path), "--administration", "127.0.0.1:0"]) != 0
    assert "--administration is Service Bus's" in capsys.readouterr().err


def test_keys_are_checked(start: Callable[..., Running]) -> None:
    running = start("azure", "--listen", "127.0.0.1:0", "--key", "sender:c2VjcmV0")
    with connect(f"amqp://sender:c2VjcmV0@127.0.0.1:{running.port}/", version=AMQP_1_0):
        pass
    with pytest.raises(EndpointClosed):
        connect(f"amqp://sender:wrong@127.0.0.1:{running.port}/", version=AMQP_1_0)
    assert "c2VjcmV0" not in running.stop()


@pytest.mark.parametrize("command", ["azure", "broker"])
@pytest.mark.parametrize(("origin", "status"), [("https://app.example", b"101"), ("https://evil.example", b"403")])
def test_pages_of_named_origins_may_connect(
    start: Callable[..., Running], command: str, origin: str, status: bytes
) -> None:
    running = start(command, "--listen", "127.0.0.1:0", "--origin", "https://app.example")
    with running.connect() as client:
        client.sendall(upgrade(running.port, origin))
        assert client.recv(100).startswith(b"HTTP/1.1 " + status)
    running.stop()


def upgrade(port: int, origin: str) -> bytes:
    """The request of a browser."""
    lines = [
        "GET / HTTP/1.1",
        f"Host: 127.0.0.1:{port}",
        f"Origin: {origin}",
        "Upgrade: websocket",
        "Connection: Upgrade",
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
        "Sec-WebSocket-Version: 13",
        "Sec-WebSocket-Protocol: amqp",
    ]
    return "\r\n".join([*lines, "", ""]).encode()
