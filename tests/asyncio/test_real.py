"""The real thing, once: a server and a client of asyncio on the machine's sockets, with TLS and a recording."""

from __future__ import annotations

import io
import ssl

import pytest

from amqp_sansio import Accepted
from amqp_sansio.capture import Segment, read_segments
from amqp_sansio_asyncio import connect, serve_broker
from tests.kit.asyncio_loops import run_real
from tests.kit.certificates import kept_certificates


@pytest.mark.real("a proof that asyncio's adapter works on sockets, whose tests run in a simulated world otherwise")
def test_a_message_over_sockets_with_tls_and_a_recording() -> None:
    certificates = kept_certificates()
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificates.server, certificates.server_key)
    recording = io.BytesIO()

    async def main() -> None:
        async with serve_broker(ssl=context, record=recording) as broker:
            url = f"amqps://guest:guest@localhost:{broker.port}/?cacertfile={certificates.ca}"
            async with connect(url) as connection, connection.open_channel(confirm=True) as channel:
                await channel.declare_queue("jobs", durable=True)
                assert await channel.publish(bytes(300_000), routing_key="jobs") == Accepted()
                async with channel.consume("jobs") as consumer:
                    delivery = await anext(consumer)
                    await delivery.accept()
                assert delivery.body == bytes(300_000)

    run_real(main())
    segments = [each for each in read_segments(recording.getvalue()) if isinstance(each, Segment)]
    assert sum(len(each.payload) for each in segments) > 600_000
