"""Which version is spoken: named by the URL, or the newest that the server doesn't refuse."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Awaitable, Callable
from typing import Any, cast

import pytest

from amqp_sansio import AMQP_0_8, AMQP_0_9_1, AMQP_0_10, AMQP_1_0, EndpointClosed, Version
from amqp_sansio.broker import Settings
from amqp_sansio.client.amqp_1_0.settings import client_config
from amqp_sansio.errors import VersionRefused
from amqp_sansio.messaging import Offer
from amqp_sansio.uri import UriError
from tests.kit.certificates import kept_certificates
from tests.kit.worlds import World

Answer = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


def against(
    world: World, answer: Answer, use: Callable[[str], Awaitable[object]], context: ssl.SSLContext | None = None
) -> None:
    """Use a server that treats each connection that way."""
    ports: list[int] = []

    async def serve() -> None:
        server = await asyncio.start_server(answer, "127.0.0.1", 0, ssl=context)
        ports.append(server.sockets[0].getsockname()[1])
        try:
            await asyncio.Event().wait()
        finally:
            server.close()

    async def main() -> None:
        await world.until(lambda: ports)
        await use(f"amqp://127.0.0.1:{ports[0]}/")

    with world.beside(serve):
        world.run(main())


def offers(header: bytes, seen: list[bytes]) -> Answer:
    """Answer every header with that one, and hang up."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        seen.append(await reader.read(8))
        writer.write(header)
        writer.close()

    return answer


@pytest.mark.parametrize(
    "spoken",
    [*[(each,) for each in Version], (AMQP_0_8, AMQP_0_9_1), tuple(Version)],
    ids=lambda versions: " ".join(each.label for each in versions),
)
def test_the_newest_that_the_server_speaks(world: World, spoken: tuple[Version, ...]) -> None:
    async def use(port: int) -> None:
        async with world.connect_any(f"amqp://127.0.0.1:{port}/") as connection:
            newest = next(each for each in (AMQP_1_0, AMQP_0_10, AMQP_0_9_1, AMQP_0_8) if each in spoken)
            assert connection.version is newest

    with world.broker(settings=Settings(versions=spoken)) as broker:
        world.run(use(broker.port))


@pytest.mark.parametrize("version", [AMQP_0_8, AMQP_0_9_1, AMQP_0_10], ids=lambda each: each.label)
def test_the_header_that_a_server_answers_is_what_it_is_asked_for_next(world: World, version: Version) -> None:
    seen: list[bytes] = []

    async def use(url: str) -> None:
        with pytest.raises(EndpointClosed):
            await world.connect_any(url, handshake_timeout=5)

    against(world, offers(version.header, seen), use)
    assert seen == [b"AMQP\x03\x01\x00\x00", version.header]


@pytest.mark.parametrize(
    ("header", "text"),
    [
        (b"AMQP\x09\x09\x09\x09", r"9-9-9-9.*AMQP 1\.0 was tried, and 0-8, 0-9-1, 0-10, 1\.0 are spoken here"),
        (AMQP_1_0.header, r"the server wants no SASL"),
        (b"", r"it may want TLS.*name it: \?version=0-9-1"),
        (b"HTTP/1.1 400 Bad Request\r\n", "this is HTTP, perhaps the management port"),
    ],
)
def test_a_server_that_offers_nothing_known(world: World, header: bytes, text: str) -> None:
    seen: list[bytes] = []

    async def use(url: str) -> None:
        with pytest.raises(EndpointClosed, match=text):
            await world.connect_any(url, handshake_timeout=5)

    against(world, offers(header, seen), use)
    assert len(seen) == 1


def test_a_version_that_was_named_is_the_only_one(world: World) -> None:
    seen: list[bytes] = []

    async def use(url: str) -> None:
        with pytest.raises(VersionRefused, match="offers 0-0-9-1") as caught:
            await world.connect_any(f"{url}?version=0-10")
        assert caught.value.header == AMQP_0_9_1.header

    against(world, offers(AMQP_0_9_1.header, seen), use)
    assert seen == [AMQP_0_10.header]


def test_a_port_with_tls(world: World) -> None:
    certificates = kept_certificates()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificates.server, certificates.server_key)

    async def use(url: str) -> None:
        with pytest.raises(EndpointClosed, match=r"TLS.*amqps"):
            await world.connect_any(url, handshake_timeout=5)

    against(world, offers(b"", []), use, context)


def test_a_port_that_never_answers(world: World) -> None:
    async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        writer.close()

    async def use(url: str) -> None:
        with pytest.raises((EndpointClosed, TimeoutError), match=r"no connection to .*name it: \?version=0-9-1"):
            await world.connect_any(url, handshake_timeout=0.1)

    against(world, silent, use)


@pytest.mark.parametrize(
    ("url", "version", "error", "text"),
    [
        ("amqp://h/?version=2.0", None, UriError, "no version '2.0'"),
        ("amqp://h/?version=1.0&version=0-8", None, UriError, "version for the second time"),
        ("amqp://h/?version=1.0", AMQP_0_8, ValueError, "give one of them"),
        ("amqp://h/?addresses=rabbit", None, UriError, "write one of rabbitmq4, rabbitmq3, qpid"),
    ],
)
def test_urls_that_contradict_themselves(url: str, version: Version | None, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        Offer(url, version, None)


def test_an_offer_reads_the_url() -> None:
    offer = Offer("amqp://h/?version=1.0&addresses=qpid&connection_name=me", "1.0", None)
    assert (offer.version, offer.addresses, offer.is_told) == (AMQP_1_0, "qpid", True)
    assert offer.uris[0].options == (("connection_name", "me"),)
    assert Offer(offer.uris, None, "rabbitmq3").addresses == "rabbitmq3"
    assert [uri.host for uri in Offer(["amqp://a/?version=1.0", "amqp://b/"], None, None).uris] == ["a", "b"]
    with pytest.raises(ValueError, match="at least one URL"):
        Offer([], None, None)


@pytest.mark.parametrize(
    ("url", "options", "hostname"),
    [
        ("amqp://h/jobs?version=1.0&addresses=qpid", {}, "jobs"),
        ("amqp://h/jobs?version=1.0&addresses=qpid", {"hostname": "mine"}, "mine"),
        ("amqp://h/?version=1.0&addresses=qpid", {}, None),
        ("amqp://h/jobs?version=1.0&addresses=rabbitmq4", {}, None),
        ("amqp://h/jobs?version=1.0", {}, None),
        ("amqp://h/jobs?version=0-9-1&addresses=qpid", {}, None),
    ],
)
def test_a_virtual_host_of_qpid_has_no_prefix(url: str, options: dict[str, str], hostname: str | None) -> None:
    """Else the 1.0 client makes "vhost:NAME" of the path, which is RabbitMQ's form."""
    offer = Offer(url, None, None)
    assert offer.options(options).get("hostname") == hostname
    if offer.version is AMQP_1_0:
        drawn = client_config(offer.uris[0], cast("Any", offer.options(options)), lambda size: "x" * size).hostname
        vhost = "h" if offer.uris[0].vhost == "/" else "vhost:jobs"
        assert drawn == (vhost if hostname is None else hostname)
