"""`EmbeddedBroker.management_url`: over sockets, with TLS beside it, in a simulated world, after a stop."""

from __future__ import annotations

import json
import ssl
import threading
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

import pytest

from amqp_sansio import EndpointClosed
from amqp_sansio.testing.simulate import World
from amqp_sansio_pytest import EmbeddedBroker
from amqp_sansio_sync import connect
from tests.kit.certificates import make_certificates

LOGIN = {"Authorization": "Basic Z3Vlc3Q6Z3Vlc3Q="}


def ask(broker: EmbeddedBroker, method: str, path: str, body: Any = None) -> tuple[int, Any]:
    url = urlsplit(broker.management_url)
    connection = HTTPConnection(str(url.hostname), url.port or 0, timeout=30)
    try:
        connection.request(method, f"/api/{path}", None if body is None else json.dumps(body), LOGIN)
        answer = connection.getresponse()
        content = answer.read()
    finally:
        connection.close()
    return answer.status, json.loads(content) if content else None


def test_a_client_and_the_api_see_the_same() -> None:
    with EmbeddedBroker(definitions={"queues": ["jobs"]}) as broker:
        assert broker.management_url == broker.management_url
        broker.publish(b"hello", routing_key="jobs")
        assert ask(broker, "GET", "queues/%2F/jobs")[1]["messages_ready"] == broker.queue("jobs").ready == 1
        assert ask(broker, "PUT", "queues/%2F/more", {"durable": True})[0] == 201
        assert broker.queues == ("jobs", "more")
        with connect(broker.url) as connection, connection.open_channel() as channel:
            (row,) = ask(broker, "GET", "connections")[1]
            assert ask(broker, "DELETE", f"connections/{quote(row['name'])}")[0] == 204
            with pytest.raises(EndpointClosed, match="320 CONNECTION_FORCED - Closed via management plugin"):
                while True:
                    channel.get("jobs", no_ack=True)
        broker.restart()
        assert [each["name"] for each in ask(broker, "GET", "queues")[1]] == ["jobs", "more"]
        url = urlsplit(broker.management_url)
    with pytest.raises(OSError):
        HTTPConnection(str(url.hostname), url.port or 0, timeout=30).connect()
    assert broker.errors == []


def test_many_ask_at_once() -> None:
    with EmbeddedBroker() as broker:
        statuses: list[int] = []

        def declare(number: int) -> None:
            for each in range(5):
                statuses.append(ask(broker, "PUT", f"queues/%2F/q{number}.{each}", {"durable": True})[0])

        threads = [threading.Thread(target=declare, args=(number,)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert statuses == [201] * 40 and len(broker.queues) == 40
        assert broker.errors == []


def test_beside_tls_it_is_plain(tmp_path: Path) -> None:
    made = make_certificates(tmp_path)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(made.server, made.server_key)
    with EmbeddedBroker(ssl=context) as broker:
        assert broker.url.startswith("amqps:") and broker.management_url.startswith("http:")
        assert ask(broker, "GET", "whoami")[0] == 200


def test_it_is_served_in_a_world_too() -> None:
    with EmbeddedBroker(world=World()) as broker:
        assert broker.management_url.startswith("http://")


def test_a_broker_that_does_not_run_has_none() -> None:
    with pytest.raises(RuntimeError, match="the broker isn't running"):
        _ = EmbeddedBroker().management_url
