"""Who comes into a served broker: every mechanism in every version, TLS, refusals with each version's code."""

from __future__ import annotations

import asyncio
import doctest
import logging
import ssl
from importlib import import_module
from typing import Any

import pytest

from amqp_sansio import AMQP_0_8, AMQP_0_9_1, AMQP_0_10, AMQP_1_0, EndpointClosed, Version
from amqp_sansio.broker import ANONYMOUS_USER, Settings, User
from amqp_sansio.sasl import AmqPlain, Anonymous, ClientMechanism, External, Plain, ScramSha1, ScramSha256, XOAuth2
from amqp_sansio_asyncio import BrokerServer, connect, serve_broker
from amqp_sansio_asyncio.broker_driver import certificate_name
from tests.kit.asyncio_broker import until
from tests.kit.asyncio_loops import run
from tests.kit.certificates import Certificates, kept_certificates

VERSIONS = (AMQP_0_8, AMQP_0_9_1, AMQP_0_10, AMQP_1_0)
CLASSIC = (AMQP_0_8, AMQP_0_9_1)
SETTINGS = Settings(
    users={"guest": "guest", "me": User("s3cret", vhosts=("test",)), "card": User(), "ü": "ö"}, vhosts=("/", "test")
)


@pytest.fixture(scope="module")
def certificates() -> Certificates:
    return kept_certificates("card")


def address(broker: BrokerServer, rest: str = "/") -> str:
    """The URL without a user."""
    return f"amqp://127.0.0.1:{broker.port}{rest}"


async def opened(broker: BrokerServer, url: str, version: Version, **options: Any) -> tuple[str, str]:
    """Connect; the user and virtual host as the broker has them."""
    async with connect(url, version=version, **options) as connection:
        assert connection.is_open
        (front,) = broker.hub.fronts.values()
        found = front.describe()
    await until(lambda: not broker.connections)
    return found


async def refused(url: str, version: Version, **options: Any) -> EndpointClosed:
    """What a client is told that isn't let in."""
    with pytest.raises(EndpointClosed) as caught:
        await connect(url, version=version, **options)
    return caught.value


@pytest.mark.parametrize(
    ("version", "mechanism"),
    [
        (version, mechanism)
        for version in VERSIONS
        for mechanism in (
            Plain("guest", "guest"),
            Plain("ü", "ö"),
            ScramSha256("guest", "guest"),
            ScramSha256("ü", "ö"),
            *([AmqPlain("guest", "guest")] if version in CLASSIC else []),
        )
    ],
)
def test_mechanisms_that_a_client_may_use(version: Version, mechanism: Any) -> None:
    async def main() -> None:
        user = mechanism.user
        async with serve_broker(SETTINGS) as broker:
            assert await opened(broker, address(broker), version, sasl=mechanism) == (user, "/")

    run(main())


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(
    "mechanism",
    [
        Plain("guest", "guess"),
        Plain("nobody", "guest"),
        Plain("guest", "guest", authzid="me"),
        Plain("card", "x"),
        ScramSha256("guest", "guess"),
        ScramSha256("nobody", "guest"),
        ScramSha256("card", "x"),
        ScramSha256("guest", "guest", authzid="me"),
    ],
    ids=[
        "wrong",
        "nobody",
        "for-another",
        "no-password",
        "scram-wrong",
        "scram-nobody",
        "scram-no-password",
        "scram-for-another",
    ],
)
def test_a_refused_login_has_the_versions_code(version: Version, mechanism: ClientMechanism) -> None:
    """0-9-1: 403 for who announces that it takes that; 0-8: the socket; 0-10: 320; 1.0: sasl-outcome auth."""

    async def main() -> None:
        async with serve_broker(SETTINGS) as broker:
            error = await refused(address(broker), version, sasl=mechanism)
            assert error.report is not None
            if version is AMQP_0_9_1:
                assert error.report.code == 403
                assert "nobody" not in error.report.text
            elif version is AMQP_0_10:
                assert error.report.code == 320
            elif version is AMQP_1_0:
                assert "auth" in error.report.text
            else:
                assert error.report.code == 0
            await until(lambda: not broker.hub.clients)

    run(main())


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(
    "mechanism",
    [External(), Anonymous(), ScramSha1("guest", "guest"), XOAuth2("guest", "token")],
    ids=lambda mechanism: mechanism.name.lower(),
)
def test_mechanisms_that_are_not_offered(version: Version, mechanism: ClientMechanism) -> None:
    async def main() -> None:
        async with serve_broker(SETTINGS) as broker:
            error = await refused(address(broker), version, sasl=mechanism)
            assert "no SASL mechanism in common" in str(error)

    run(main())


@pytest.mark.parametrize("version", VERSIONS)
def test_anonymous_clients_when_they_may(version: Version) -> None:
    async def main() -> None:
        async with serve_broker(SETTINGS.but(anonymous=True)) as broker:
            seen = await opened(broker, address(broker), version, sasl=Anonymous())
            assert seen == (ANONYMOUS_USER, "/")

    run(main())


def test_1_0_without_sasl_is_for_anonymous_clients() -> None:
    async def main() -> None:
        async with serve_broker(SETTINGS.but(anonymous=True)) as broker:
            seen = await opened(broker, address(broker), AMQP_1_0, sasl=None)
            assert seen == (ANONYMOUS_USER, "/")
        async with serve_broker(SETTINGS) as broker:
            await refused(address(broker), AMQP_1_0, sasl=None)

    run(main())


@pytest.mark.parametrize("version", VERSIONS)
def test_virtual_hosts(version: Version) -> None:
    unknown: dict[Version, object] = {AMQP_0_8: 530, AMQP_0_9_1: 530, AMQP_0_10: 402, AMQP_1_0: "amqp:not-found"}
    barred: dict[Version, object] = {
        AMQP_0_8: 530,
        AMQP_0_9_1: 530,
        AMQP_0_10: 320,
        AMQP_1_0: "amqp:unauthorized-access",
    }

    async def main() -> None:
        async with serve_broker(SETTINGS) as broker:
            me = Plain("me", "s3cret")
            assert await opened(broker, address(broker, "/test"), version, sasl=me) == ("me", "test")
            for rest, codes in (("/", barred), ("/nowhere", unknown)):
                error = await refused(address(broker, rest), version, sasl=me)
                assert error.report is not None
                code = error.report.condition if version is AMQP_1_0 else error.report.code
                assert code == codes[version]
            await until(lambda: not broker.hub.clients)

    run(main())


def tls_server(certificates: Certificates) -> ssl.SSLContext:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=str(certificates.ca))
    context.load_cert_chain(certificates.server, certificates.server_key)
    context.verify_mode = ssl.CERT_OPTIONAL
    return context


@pytest.mark.parametrize("version", VERSIONS)
def test_tls_and_external(certificates: Certificates, version: Version) -> None:
    async def main() -> None:
        async with serve_broker(SETTINGS, ssl=tls_server(certificates)) as broker:
            assert broker.url.startswith("amqps://guest:guest@127.0.0.1:")
            assert broker.settings.urls[0].startswith("amqp:tls:127.0.0.1:")
            base = f"amqps://localhost:{broker.port}/?cacertfile={certificates.ca}"
            card = f"{base}&certfile={certificates.client}&keyfile={certificates.client_key}"
            for url, mechanism, user in (
                (base, Plain("guest", "guest"), "guest"),
                (card, External(), "card"),
                (card, ScramSha256("guest", "guest"), "guest"),
                (card, External("card"), "card"),
            ):
                assert await opened(broker, url, version, sasl=mechanism) == (user, "/")
            assert "in common" in str(await refused(base, version, sasl=External()))
            await refused(card, version, sasl=External("guest"))
            await until(lambda: not broker.hub.clients)

    run(main())


def test_a_certificate_of_nobodys() -> None:
    certificates = kept_certificates("stranger")

    async def main() -> None:
        async with serve_broker(SETTINGS, ssl=tls_server(certificates)) as broker:
            url = f"amqps://localhost:{broker.port}/?cacertfile={certificates.ca}"
            url += f"&certfile={certificates.client}&keyfile={certificates.client_key}"
            error = await refused(url, AMQP_0_9_1, sasl=External())
            assert error.report is not None and error.report.code == 403

    run(main())


def test_no_tls_where_it_is_wanted(certificates: Certificates) -> None:
    async def main() -> None:
        async with serve_broker(SETTINGS, ssl=tls_server(certificates)) as broker:
            with pytest.raises((EndpointClosed, OSError)):
                await connect(address(broker))
            assert not broker.hub.clients

    run(main())


def test_a_handshake_that_ends_too_late(certificates: Certificates) -> None:
    async def main() -> None:
        broker = await serve_broker(SETTINGS, ssl=tls_server(certificates))
        reader, writer = await asyncio.open_connection("127.0.0.1", broker.port)
        await asyncio.sleep(0.05)
        await broker.close(timeout=0.2)
        context = ssl.create_default_context(cafile=str(certificates.ca))
        await writer.start_tls(context, server_hostname="localhost")
        assert await reader.read() == b""
        writer.close()
        assert not broker.connections and not broker.hub.clients

    run(main())


@pytest.mark.parametrize(
    ("certificate", "name"),
    [
        (None, ""),
        ({}, ""),
        ({"subject": ((("commonName", "me"),),)}, "me"),
        ({"subject": ((("countryName", "XX"),), (("organizationName", "us"), ("commonName", "me")))}, "me"),
        ({"subject": (), "subjectAltName": (("DNS", "host.example.org"), ("email", "x"))}, "host.example.org"),
        ({"subject": ((("commonName", ""),),), "subjectAltName": ()}, ""),
    ],
    ids=["none", "empty", "common-name", "of-two", "alternative", "nameless"],
)
def test_whom_a_certificate_names(certificate: object, name: str) -> None:
    assert certificate_name(certificate) == name


def test_who_is_turned_away_is_named_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    async def main() -> None:
        async with serve_broker(SETTINGS) as broker:
            await refused(address(broker), AMQP_0_9_1, sasl=Plain("guest", "guess"))
            await until(lambda: not broker.connections)
            async with connect(broker.url):
                pass

    with caplog.at_level(logging.WARNING, "amqp_sansio_asyncio"):
        run(main())
    (line,) = [record.getMessage() for record in caplog.records]
    assert "127.0.0.1" in line and "ACCESS_REFUSED" in line and "guess" not in line


def test_examples_of_the_service() -> None:
    for name in ("broker", "broker_driver", "clock", "faults"):
        failed, _ = doctest.testmod(import_module(f"amqp_sansio_asyncio.{name}"))
        assert not failed


@pytest.mark.parametrize("has_tls", [False, True], ids=["TCP", "TLS"])
def test_the_log_says_whose_connection_the_broker_closed(
    certificates: Certificates, has_tls: bool, caplog: pytest.LogCaptureFixture
) -> None:
    async def main() -> str:
        async with serve_broker(SETTINGS, ssl=tls_server(certificates) if has_tls else None) as broker:
            context = ssl.create_default_context(cafile=str(certificates.ca)) if has_tls else None
            name = "localhost" if has_tls else None
            reader, writer = await asyncio.open_connection("127.0.0.1", broker.port, ssl=context, server_hostname=name)
            writer.write(b"AMQP\x00\x00\x09\x01" + b"\xff" * 100)
            await reader.read()
            ours = writer.get_extra_info("sockname")
            writer.close()
            await until(lambda: not broker.connections)
            return f"the broker closed the connection of {ours}: "

    with caplog.at_level(logging.WARNING, "amqp_sansio_asyncio"):
        expected = run(main())
    (line,) = [each.getMessage() for each in caplog.records if "closed the connection" in each.getMessage()]
    assert line.startswith(expected)
