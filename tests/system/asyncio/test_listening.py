"""Listening at names and at several addresses: one port in each family, and what a system lacks is left out."""

from __future__ import annotations

import asyncio
import errno
import os
import socket
from collections.abc import Sequence

import pytest

from amqp_sansio.amqp_0_9_1.spec import QueueDeclare
from amqp_sansio_asyncio import connect, listening, serve_broker
from amqp_sansio_asyncio.listening import bind_sockets, close_all
from tests.kit.asyncio_loops import run

V4 = (socket.AF_INET, socket.SOCK_STREAM, 6, "")
V6 = (socket.AF_INET6, socket.SOCK_STREAM, 6, "")


@pytest.fixture(autouse=True)
def names(monkeypatch: pytest.MonkeyPatch) -> None:
    """The name both.test has an address in each family, away.test one more, which no machine has."""
    real = socket.getaddrinfo

    def look_up(host: str | None, port: int, *more: object, **named: object) -> Sequence[object]:
        if host not in ("both.test", "away.test"):
            return real(host, port, *more, **named)  # type: ignore[arg-type]
        found: list[object] = [(*V4, ("127.0.0.1", port)), (*V6, ("::1", port, 0, 0))]
        if host == "away.test":
            found.insert(0, (*V6, ("2001:db8::1", port, 0, 0)))
            found.insert(0, (*V4, ("192.0.2.1", port)))
        return found

    monkeypatch.setattr(socket, "getaddrinfo", look_up)


def shown(sockets: Sequence[socket.socket]) -> list[str]:
    return [each.getsockname()[0] for each in sockets]


def test_a_name_has_one_free_port_in_each_family() -> None:
    async def main() -> None:
        sockets = await bind_sockets("both.test")
        assert shown(sockets) == ["127.0.0.1", "::1"]
        assert len({each.getsockname()[1] for each in sockets}) == 1
        close_all(sockets)

    run(main())


def test_a_port_that_is_taken_in_the_other_family_is_not_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("::1", 0), family=socket.AF_INET6) as taken:
        port = taken.getsockname()[1]
        real = listening.listen_at
        tried: list[int] = []

        def first_the_taken_one(numbers: tuple[str, int], wanted: int) -> socket.socket:
            tried.append(wanted)
            return real(numbers, port if len(tried) == 1 else wanted)

        monkeypatch.setattr(listening, "listen_at", first_the_taken_one)

        async def main() -> None:
            sockets = await bind_sockets("both.test")
            assert tried[:3] == [0, port, 0]
            assert shown(sockets) == ["127.0.0.1", "::1"]
            close_all(sockets)

        run(main())


def test_a_taken_port_is_an_error_and_nothing_stays_open() -> None:
    async def main() -> None:
        with socket.create_server(("::1", 0), family=socket.AF_INET6) as taken:
            port = taken.getsockname()[1]
            with pytest.raises(OSError, match=f"both.test:{port}: address already in use") as raised:
                await bind_sockets("both.test", port)
            assert raised.value.errno == errno.EADDRINUSE
            # The other family's socket is closed.
            close_all(await bind_sockets("127.0.0.1", port))

    run(main())


def test_addresses_that_this_system_lacks_are_left_out() -> None:
    async def main() -> None:
        sockets = await bind_sockets("away.test", allow_remote=True)
        assert shown(sockets) == ["127.0.0.1", "::1"]
        close_all(sockets)
        with pytest.raises(OSError, match=r"192.0.2.1:5672: cannot assign requested address"):
            await bind_sockets("192.0.2.1", 5672, allow_remote=True)
        with pytest.raises(ValueError, match=r"away.test can be reached from other machines"):
            await bind_sockets("away.test")
        with pytest.raises(socket.gaierror, match=r"none.invalid:1: "):
            await bind_sockets("none.invalid", 1)

    run(main())


def test_a_broker_serves_all_its_sockets_and_closes_them() -> None:
    async def main() -> None:
        other = await bind_sockets("127.0.0.1")
        async with serve_broker(sockets=[*await bind_sockets("both.test"), *other]) as broker:
            ports = [broker.port, broker.port, other[0].getsockname()[1]]
            hosts = ["127.0.0.1", "[::1]", "127.0.0.1"]
            wanted = [f"{host}:{port}" for host, port in zip(hosts, ports, strict=True)]
            assert list(broker.settings.urls) == [f"amqp:tcp:{each}" for each in wanted]
            assert len(broker.sockets) == 3
            for where in wanted:
                async with connect(f"amqp://guest:guest@{where}/") as connection, connection.open_channel() as channel:
                    await channel.call(QueueDeclare(queue="q", durable=True))
            forever = asyncio.ensure_future(broker.serve_forever())
            await asyncio.sleep(0)
        await forever
        assert not broker.sockets
        assert [each.fileno() for each in other] == [-1]

    run(main())


def test_a_socket_of_a_supervisor_is_served() -> None:
    """As systemd hands it over: an open descriptor of a socket that listens and may block."""

    async def main() -> None:
        with socket.create_server(("127.0.0.1", 0)) as given:
            port = given.getsockname()[1]
            inherited = socket.socket(fileno=os.dup(given.fileno()))
        async with serve_broker(sockets=[inherited]) as broker:
            assert broker.port == port
            async with connect(broker.url):
                pass

    run(main())


def test_a_name_is_served_in_both_families() -> None:
    async def main() -> None:
        async with serve_broker(host="both.test") as broker:
            for host in ("127.0.0.1", "[::1]"):
                async with connect(f"amqp://guest:guest@{host}:{broker.port}/"):
                    pass

    run(main())


def test_a_recording_that_cannot_be_opened_closes_the_sockets() -> None:
    async def main() -> None:
        sockets = await bind_sockets("127.0.0.1")
        with pytest.raises(FileNotFoundError):
            await serve_broker(sockets=sockets, record="no/such/folder/x.pcapng")
        assert [each.fileno() for each in sockets] == [-1]

    run(main())
