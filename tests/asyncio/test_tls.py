"""TLS: verified by default, with the names and files of the URL, and clear errors where there is none."""

from __future__ import annotations

import asyncio
import ssl
from pathlib import Path

import pytest

from amqp_sansio import EndpointClosed
from amqp_sansio.amqp_0_9_1 import Config
from amqp_sansio.amqp_0_9_1.spec import QueueDeclare
from amqp_sansio.sasl import Credentials
from amqp_sansio_asyncio import ServerConnection, connect
from tests.kit.asyncio_broker import broker, fill
from tests.kit.asyncio_loops import Problems, run
from tests.kit.certificates import Certificates, kept_certificates


@pytest.fixture(scope="module")
def certificates() -> Certificates:
    return kept_certificates()


def server_context(certificates: Certificates) -> ssl.SSLContext:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=str(certificates.ca))
    context.load_cert_chain(certificates.server, certificates.server_key)
    context.verify_mode = ssl.CERT_OPTIONAL
    return context


def test_verified_with_the_authority_of_the_url(certificates: Certificates) -> None:
    async def main() -> None:
        async with broker(ssl=server_context(certificates)) as (server, _):
            url = f"amqps://localhost:{server.port}/?cacertfile={certificates.ca}"
            async with connect(url) as connection:
                ch = await connection.open_channel()
                await ch.call(QueueDeclare(queue="q", durable=True))
                await fill(ch, "q", [bytes(200_000), b"small"])
                for size in (200_000, 5):
                    delivery = await ch.get("q", no_ack=True)
                    assert delivery is not None
                    assert len(delivery.body) == size

    run(main())


def test_an_unknown_authority_is_refused(certificates: Certificates) -> None:
    async def main() -> None:
        async with broker(ssl=server_context(certificates)) as (server, _):
            with pytest.raises(ssl.SSLCertVerificationError, match=r"no TLS with localhost:.* cacertfile is"):
                await connect(f"amqps://localhost:{server.port}")
            async with connect(f"amqps://localhost:{server.port}?verify=verify_none") as connection:
                assert connection.is_open

    run(main())


def test_the_name_is_checked_and_sent(certificates: Certificates) -> None:
    asked: list[str | None] = []

    def note(_: ssl.SSLObject, name: str | None, __: ssl.SSLContext) -> None:
        asked.append(name)

    async def main() -> None:
        context = server_context(certificates)
        context.sni_callback = note
        async with broker(ssl=context) as (server, _):
            url = f"amqps://localhost:{server.port}/?cacertfile={certificates.ca}"
            other = "&server_name_indication=example.org"
            with pytest.raises(ssl.SSLCertVerificationError, match=r"example\.org"):
                await connect(url + other)
            async with connect(url):
                pass
            async with connect(f"{url}&verify=verify_none{other}"):
                pass
            async with connect(f"{url}&verify=verify_none&server_name_indication=disable"):
                pass
        assert asked == ["example.org", "localhost", "example.org", None]

    run(main())


def test_a_client_certificate_logs_in(certificates: Certificates) -> None:
    def by_certificate(connection: ServerConnection, credentials: Credentials) -> bool:
        certificate = connection.peer_certificate
        if certificate is None:
            return False
        return credentials.mechanism == "EXTERNAL" and "guest" in str(certificate.get("subject"))

    async def main() -> None:
        options = {
            "ssl": server_context(certificates),
            "config": Config(mechanisms=("EXTERNAL",)),
            "authenticate": by_certificate,
        }
        async with broker(**options) as (server, _):
            url = f"amqps://localhost:{server.port}/?cacertfile={certificates.ca}&auth_mechanism=external"
            files = f"&certfile={certificates.client}&keyfile={certificates.client_key}"
            async with connect(url + files) as connection:
                assert connection.core.mechanism == "EXTERNAL"
            with pytest.raises(EndpointClosed, match="403"):
                await connect(url)

    run(main())


def test_a_context_of_ones_own(certificates: Certificates) -> None:
    async def main() -> None:
        async with broker(ssl=server_context(certificates)) as (server, _):
            context = ssl.create_default_context(cafile=str(certificates.ca))
            async with connect(f"amqps://localhost:{server.port}", ssl=context) as connection:
                assert connection.is_open

    run(main())


def test_tls_to_a_port_without_it() -> None:
    async def main() -> None:
        async with broker() as (server, _):
            with pytest.raises(ssl.SSLError, match="perhaps the port is one without TLS"):
                await connect(f"amqps://localhost:{server.port}")

    run(main())


def test_no_tls_to_a_port_with_it(certificates: Certificates) -> None:
    async def main() -> None:
        async with broker(ssl=server_context(certificates)) as (server, _):
            Problems().watch()
            with pytest.raises(EndpointClosed, match="TLS"):
                await connect(f"amqp://localhost:{server.port}")

    run(main())


def test_files_that_are_not_there(tmp_path: Path) -> None:
    async def main() -> None:
        with pytest.raises(FileNotFoundError, match=r"a file for TLS that isn't there: .*none\.pem"):
            await connect(f"amqps://localhost?cacertfile={tmp_path / 'none.pem'}")

    run(main())


def test_a_server_that_closes_over_tls(certificates: Certificates) -> None:
    async def main() -> None:
        async with broker(ssl=server_context(certificates)) as (server, _):
            url = f"amqps://localhost:{server.port}/?cacertfile={certificates.ca}"
            connection = await connect(url)
            ch = await connection.open_channel()
            consuming = asyncio.ensure_future(anext(ch.consume("q")))
            with pytest.raises(EndpointClosed, match="404"):
                await consuming
            await server.close()
            report = await connection.wait_closed()
            assert report.code == 320

    run(main())
