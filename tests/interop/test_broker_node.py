"""The embedded broker with clients on Node.js, unmodified: amqplib and @cloudamqp/amqp-client (0-9-1)."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.interop.brokers.embedded import Embedded
from tests.interop.brokers.node_clients import AMQPLIB, CLOUDAMQP, NodeClient


@pytest.fixture(params=(AMQPLIB, CLOUDAMQP), ids=lambda client: str(client.program))
def client(request: pytest.FixtureRequest) -> NodeClient:
    found: NodeClient = request.param
    return found


def test_publish_and_consume(client: NodeClient, embedded: Embedded) -> None:
    told = client.run(embedded.port, "basic")
    assert told == {
        "bodies": [f"m{n}" for n in range(20)],
        "headers": {"n": 0, "even": True, "nested": {"list": [1, "two", None]}},
        "id": "id0",
        "key": "a.0",
        "left": 0,
    }


def test_settling(client: NodeClient, embedded: Embedded) -> None:
    told = client.run(embedded.port, "settling")
    assert told == {"again": ["two", True], "letter": ["three", "rejected"]}


def test_confirms_and_returns(client: NodeClient, embedded: Embedded) -> None:
    told = client.run(embedded.port, "confirms")
    assert told == {"outcomes": [True, True, False], "returned": [[312, "nowhere"]]}


def test_a_large_message(client: NodeClient, embedded: Embedded) -> None:
    assert client.run(embedded.port, "large") == {"same": True, "empty": False}


def test_channels(client: NodeClient, embedded: Embedded) -> None:
    assert client.run(embedded.port, "channels") == list(range(30))


def test_errors(client: NodeClient, embedded: Embedded) -> None:
    told = client.run(embedded.port, "errors")
    assert told["codes"] == [404, 406, 403, 404, 406][: len(told["codes"])]
    assert "403" in told["refused"] or "ACCESS_REFUSED" in told["refused"]
    assert told["absent"] != "let in"


def test_heartbeats(embedded: Embedded) -> None:
    def run(client: NodeClient) -> object:
        return client.run(embedded.port, "heartbeat")

    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(run, (AMQPLIB, CLOUDAMQP))) == [{"failed": None}] * 2
