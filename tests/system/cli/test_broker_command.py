"""`amqp-sansio broker` as a process of its own: clients, recordings, signals, and what can't be used."""

import json
import signal
import socket
import subprocess
import threading
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path

import pytest

from amqp_sansio import EndpointClosed, Version, amqp_1_0
from amqp_sansio.amqp_0_9_1.spec import ConfirmSelect, QueueDeclare
from amqp_sansio.errors import LinkEnded
from amqp_sansio_sync import connect
from tests.kit.certificates import Certificates, make_certificates
from tests.kit.processes import LIMIT
from tests.system.cli.conftest import Running

Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return make_certificates(tmp_path_factory.mktemp("certificates"), user="card")


def pass_a_message(url: str) -> None:
    with connect(url) as connection, connection.open_channel() as channel:
        channel.call(QueueDeclare(queue="jobs", durable=True))
        channel.publish(b"hello", routing_key="jobs", mandatory=True)
        delivery = channel.get("jobs", no_ack=True)
        assert delivery is not None and delivery.body == b"hello"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_serves_until_a_signal_and_says_goodbye_with_320(
    start: Callable[..., Running], number: signal.Signals
) -> None:
    broker = start("broker", "--listen", "127.0.0.1:0")
    assert broker.address == f"127.0.0.1:{broker.port}"
    pass_a_message(broker.url())
    channel = connect(broker.url()).open_channel()
    said: list[str] = []
    stopping = threading.Thread(target=lambda: said.append(broker.stop(number)))
    stopping.start()
    deadline = time.monotonic() + LIMIT
    code = 0
    while not code and time.monotonic() < deadline:
        try:
            channel.call(QueueDeclare(queue="jobs", durable=True))
        except EndpointClosed as error:
            assert error.report is not None
            code = error.report.code
    assert code == 320
    stopping.join()
    assert said[0].count("\n") == 2
    assert f"listening on {broker.address}" in said[0] and "1 connection closed" in said[0]
    assert not broker.ready.exists()
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", broker.port))


def test_users_and_virtual_hosts(start: Callable[..., Running]) -> None:
    broker = start("broker", "--listen", "127.0.0.1:0", "--user", "me:pass:word", "--user", "you:s", "--vhost", "test")
    pass_a_message(broker.url("me:pass%3Aword"))
    pass_a_message(broker.url("you:s", "test"))
    with pytest.raises(EndpointClosed, match=r"ACCESS_REFUSED|403"):
        connect(broker.url())
    with pytest.raises(EndpointClosed, match="530"):
        connect(broker.url("you:s", "nowhere"))
    broker.stop()


def test_the_dialect_of_the_older_versions(start: Callable[..., Running]) -> None:
    broker = start("broker", "--listen", "127.0.0.1:0", "--dialect", "specification")
    with connect(broker.url()) as connection, connection.open_channel() as channel:
        assert "capabilities" not in connection.peer_properties
        with pytest.raises(EndpointClosed) as error:
            channel.call(ConfirmSelect())
    assert error.value.report is not None
    assert error.value.report.code == 503
    broker.stop()


def test_the_release_of_rabbitmq(start: Callable[..., Running], cli: Run) -> None:
    newest = start("broker", "--listen", "127.0.0.1:0")
    with connect(newest.url()) as connection, connection.open_channel() as channel:
        assert channel.declare_queue("jobs", durable=True).queue == "jobs"
        with pytest.raises(EndpointClosed, match="541"):
            channel.declare_queue("transient", durable=False)
    said = newest.stop()
    assert "RabbitMQ 4.3 refuses queue 'transient'" in said and "--rabbitmq" in said
    older = start("broker", "--listen", "127.0.0.1:0", "--rabbitmq", "3.13")
    with connect(older.url()) as connection, connection.open_channel() as channel:
        assert channel.declare_queue("transient", durable=False).queue == "transient"
    older.stop()
    wrong = cli("broker", "--listen", "127.0.0.1:0", "--rabbitmq", "2.0")
    assert wrong.returncode == 2
    assert "--rabbitmq '2.0' is none of 3.13, 4.0, 4.1, 4.2, 4.3" in wrong.stderr


def test_what_it_records_can_be_replayed(start: Callable[..., Running], cli: Run, tmp_path: Path) -> None:
    output = tmp_path / "recorded.pcapng"
    broker = start("broker", "--listen", "127.0.0.1:0", "--record", output)
    pass_a_message(broker.url())
    broker.stop()
    assert_recorded(cli, output)
    assert b"guest\0guest" not in output.read_bytes()


def test_the_recording_proxy_in_front_of_it(start: Callable[..., Running], cli: Run, tmp_path: Path) -> None:
    output = tmp_path / "recorded.pcapng"
    broker = start("broker", "--listen", "127.0.0.1:0")
    proxy = start("record", "--listen", "127.0.0.1:0", "--upstream", broker.address, "--output", output)
    pass_a_message(proxy.url())
    assert "1 connections" in proxy.stop()
    broker.stop()
    assert_recorded(cli, output)


def assert_recorded(cli: Run, output: Path) -> None:
    """One message was published and got, and nobody broke a rule."""
    done = cli("replay", output, "--table", "messages")
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert sorted((row["kind"], row["routing_key"], row["body_size"]) for row in rows) == [
        ("get", "jobs", 5),
        ("publish", "jobs", 5),
    ]
    done = cli("lint", output)
    assert (done.returncode, done.stdout) == (0, "")


def test_tls_and_logging_in_with_a_certificate(start: Callable[..., Running], certificates: Certificates) -> None:
    broker = start(
        "broker",
        "--listen",
        "127.0.0.1:0",
        "--user",
        "card",
        "--user",
        "me:pw",
        "--tls-cert",
        certificates.server,
        "--tls-key",
        certificates.server_key,
        "--tls-ca",
        certificates.ca,
    )
    url = f"amqps://me:pw@localhost:{broker.port}/?cacertfile={certificates.ca}"
    pass_a_message(url)
    card = f"&certfile={certificates.client}&keyfile={certificates.client_key}"
    pass_a_message(url.replace("me:pw@", "") + card + "&auth_mechanism=external")
    with pytest.raises(Exception, match="EXTERNAL"):
        connect(url + "&auth_mechanism=external")
    broker.stop()


def test_an_ipv6_address_and_a_ready_file_that_is_gone(start: Callable[..., Running]) -> None:
    broker = start("broker", "--listen", "[::1]:0")
    assert broker.address == f"[::1]:{broker.port}"
    pass_a_message(broker.url())
    broker.ready.unlink()
    broker.stop()


def test_several_addresses_and_a_name(start: Callable[..., Running]) -> None:
    broker = start("broker", "--listen", "localhost:0", "--listen", "127.0.0.2:0", "--listen", "[::1]:0")
    assert [each.rpartition(":")[0] for each in broker.addresses][1:] == ["127.0.0.2", "[::1]"]
    for address in broker.addresses:
        pass_a_message(f"amqp://guest:guest@{address}/")
    said = broker.stop()
    assert all(address in said.splitlines()[0] for address in broker.addresses)


def test_plain_addresses_make_queues_if_that_is_wanted(start: Callable[..., Running]) -> None:
    for options in ((), ("--auto-create",)):
        broker = start("broker", "--listen", "127.0.0.1:0", *options)
        with connect(broker.url(), version=Version.AMQP_1_0) as connection, connection.open_session() as session:
            if options:
                with session.open_sender("new") as sender:
                    assert isinstance(sender.send(b"hello"), amqp_1_0.Accepted)
            else:
                with pytest.raises(LinkEnded, match="not-found"):
                    session.open_sender("new")
        broker.stop()


def test_the_management_api_is_served_beside_the_broker(start: Callable[..., Running]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    broker = start("broker", "--listen", "127.0.0.1:0", "--management", f"127.0.0.1:{port}")
    pass_a_message(broker.url())
    request = urllib.request.Request(f"http://127.0.0.1:{port}/api/queues/%2F/jobs")
    request.add_header("Authorization", "Basic Z3Vlc3Q6Z3Vlc3Q=")
    with urllib.request.urlopen(request, timeout=LIMIT) as answer:
        assert json.load(answer)["name"] == "jobs"
    assert f"management API at http://127.0.0.1:{port}/api\n" in broker.stop()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("--listen HERE", "HERE: address already in use"),
        ("--listen 127.0.0.1:0 --page HERE", "--page HERE: address already in use; port 0 takes a free one"),
        ("--listen 127.0.0.1:0 --management HERE", "--management HERE: address already in use; port 0 takes a free"),
        ("--listen HERE --management HERE", "--management HERE: the broker or its page listens there; give"),
        ("--listen HERE --page HERE", "--page HERE: the broker listens there; give the page another port, or 0"),
    ],
)
def test_an_address_in_use_is_one_line(cli: Run, arguments: str, words: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        where = f"127.0.0.1:{taken.getsockname()[1]}"
        done = cli("broker", *arguments.replace("HERE", where).split())
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert done.stderr.startswith(f"amqp-sansio: {words.replace('HERE', where)}")


def test_an_address_that_others_reach_is_refused_unless_it_is_wanted(start: Callable[..., Running]) -> None:
    broker = start("broker", "--listen", "0.0.0.0:0", "--allow-remote")
    assert broker.address == f"0.0.0.0:{broker.port}"
    pass_a_message(f"amqp://127.0.0.1:{broker.port}")
    broker.stop()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--listen", "0.0.0.0:0"], "--allow-remote"),
        (["--listen", "[::]:0"], "--allow-remote"),
        (["--listen", "192.0.2.1:0"], "--allow-remote"),
        (["--page", "0.0.0.0:0"], "could read the messages on the page: --allow-remote"),
        (["--management", "0.0.0.0:0"], "can be reached from other machines, which isn't allowed: --allow-remote"),
        (["--record", "no-such-folder/x.pcapng"], "no-such-folder/x.pcapng: no such file"),
        (["--ready-file", "no-such-folder/ready"], "no-such-folder"),
    ],
)
def test_what_cant_be_used_when_it_begins_to_listen_is_one_line(cli: Run, arguments: list[str], words: str) -> None:
    done = cli("broker", "--listen", "127.0.0.1:0", *arguments)
    assert done.returncode == 2, done.stderr
    last = done.stderr.splitlines()[-1]
    assert last.startswith("amqp-sansio: ") and words in last
    assert "Traceback" not in done.stderr
