"""The management API of `serve_broker`, by HTTP, in a simulated world."""

from __future__ import annotations

import asyncio
import json
from typing import Any
from urllib.parse import quote, urlsplit

import pytest

from amqp_sansio import EndpointClosed
from amqp_sansio.amqp_0_9_1.spec import QueueDeclare
from amqp_sansio_asyncio import BrokerServer, connect, serve_broker
from tests.kit.asyncio_loops import run

LOGIN = "Authorization: Basic Z3Vlc3Q6Z3Vlc3Q=\r\n"


async def ask(broker: BrokerServer, method: str, target: str, body: Any = None, fields: str = LOGIN) -> tuple[str, Any]:
    """The head of the answer, and its content."""
    url = urlsplit(broker.management_url)
    reader, writer = await asyncio.open_connection(url.hostname, url.port)
    octets = b"" if body is None else json.dumps(body).encode()
    head = f"{method} {target} HTTP/1.1\r\nHost: {url.netloc}\r\n{fields}Content-Length: {len(octets)}\r\n\r\n"
    writer.write(head.encode() + octets)
    told, _, content = (await reader.read()).partition(b"\r\n\r\n")
    writer.close()
    return told.decode(), json.loads(content) if content else None


def test_queues_connections_and_a_close() -> None:
    async def main() -> None:
        async with serve_broker(management_port=0) as broker:
            head, _ = await ask(broker, "PUT", "/api/queues/%2F/jobs", {"durable": True})
            assert head.startswith("HTTP/1.1 201 ")
            async with connect(broker.url) as connection, connection.open_channel() as channel:
                assert (await channel.call(QueueDeclare(queue="jobs", passive=True))).queue == "jobs"
                await channel.publish(b"hello", routing_key="jobs")
                head, queue = await ask(broker, "GET", "/api/queues/%2F/jobs")
                assert "Content-Type: application/json" in head and queue["messages_ready"] == 1
                _, (row,) = await ask(broker, "GET", "/api/connections")
                assert (row["port"], row["host"]) == (broker.port, "127.0.0.1") and row["peer_port"] > 0
                assert row["name"] == f"{row['peer_host']}:{row['peer_port']} -> {row['host']}:{row['port']}"
                target = f"/api/connections/{quote(row['name'])}"
                head, _ = await ask(broker, "DELETE", target, fields=f"{LOGIN}X-Reason: enough\r\n")
                assert head.startswith("HTTP/1.1 204 ")
                with pytest.raises(EndpointClosed, match="320 CONNECTION_FORCED - enough"):
                    await channel.call(QueueDeclare(queue="jobs", passive=True))
            assert (await ask(broker, "GET", "/api/connections"))[1] == []
            url = broker.management_url
        assert url == broker.management_url

    run(main())


def test_who_is_not_let_in_and_what_is_not_there() -> None:
    async def main() -> None:
        async with serve_broker(management_port=0) as broker:
            head, _ = await ask(broker, "GET", "/api/whoami", fields="")
            assert head.startswith("HTTP/1.1 401 ") and 'www-authenticate: Basic realm="RabbitMQ Management"' in head
            head, content = await ask(broker, "GET", "/api/queues/%2F/none")
            assert head.startswith("HTTP/1.1 404 ") and content["error"] == "Object Not Found"
            head, content = await ask(broker, "HEAD", "/api/whoami")
            assert head.startswith("HTTP/1.1 200 ") and content is None and "Content-Length: 0" not in head

    run(main())


def test_it_is_served_only_when_asked_for() -> None:
    async def main() -> None:
        async with serve_broker() as broker:
            with pytest.raises(RuntimeError, match="give serve_broker a management_port"):
                _ = broker.management_url
            await broker.serve_management()
            url = broker.management_url
            await broker.serve_management()
            assert broker.management_url == url and (await ask(broker, "GET", "/api/whoami"))[1]["name"] == "guest"
            with pytest.raises(OSError):
                await serve_broker(management_port=urlsplit(url).port)
        with pytest.raises(RuntimeError, match="the broker is closed"):
            await broker.serve_management()

    run(main())
