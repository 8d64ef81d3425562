"""azure-servicebus over WebSocket, unmodified: another library's framing, the draft's subprotocol, and its tokens; and
over TCP on the same port.
"""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
from __future__ import annotations

import asyncio
import time
from typing import Any

import pytest
from azure.servicebus import ServiceBusClient, TransportType

from amqp_sansio import AMQP_1_0
from amqp_sansio.amqp_1_0 import Config
from amqp_sansio_asyncio import serve
from tests.kit.cbs_peer import CbsPeer, anybody

SDK: Any = ServiceBusClient


@pytest.mark.parametrize("transport", [TransportType.AmqpOverWebsocket, TransportType.Amqp])
def test_its_sender_attaches_with_a_token(transport: TransportType) -> None:
    seen: list[Any] = []

    async def main() -> None:
        peer = CbsPeer(time.time)
        config = Config(container_id="peer", mechanisms=("MSSBCBS", "ANONYMOUS"))
        async with serve(peer.handle, version=AMQP_1_0, config=config, authenticate=anybody) as server:
            place = f"127.0.0.1:{server.port}"
            text = f"Endpoint=sb://{place};SharedAccessKeyName=rule;SharedAccessKey=a2V5;UseDevelopmentEmulator=true;"
            options: dict[str, Any] = {"retry_total": 0}
            if transport is TransportType.AmqpOverWebsocket:
                options |= {"transport_type": transport, "custom_endpoint_address": f"http://{place}"}

            def use() -> int:
                with SDK.from_connection_string(text, **options) as client, client.get_queue_sender("orders") as sender:
                    size: int = sender.create_message_batch().max_size_in_bytes
                    return size

            assert await asyncio.wait_for(asyncio.to_thread(use), 60) > 1000
            assert peer.seen == [(1, "put", "orders"), (1, "attach", "orders")]
            (connection,) = peer.connections
            seen.append((connection.websocket, connection.mechanism))

    asyncio.run(main())
    ((stream, mechanism),) = seen
    assert mechanism == "ANONYMOUS"
    if transport is TransportType.AmqpOverWebsocket:
        assert (stream.path, stream.subprotocol) == ("/$servicebus/websocket", "AMQPWSB10")
    else:
        assert stream is None
