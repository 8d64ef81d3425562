"""Redirects of 1.0, over sockets, in both adapters: at the first connection and of one that is open."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any

import pytest

import amqp_sansio_sync
from amqp_sansio import AMQP_1_0, EndpointClosed, OpenRequested, Signal
from amqp_sansio.amqp_1_0 import Config, Connection, SessionRequested, Symbol
from amqp_sansio.client.recovery import RecoveryPolicy
from amqp_sansio_asyncio import connect

LIMIT = 20.0


class Server:
    """A server that lets clients in, or sends them to `elsewhere`, at their open or when they begin a session."""

    def __init__(self, elsewhere: int | None, *, late: bool = False) -> None:
        self.elsewhere = elsewhere
        self.late = late
        self.opens = 0
        self.port = 0

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        core = Connection.server(Config(container_id="server", mechanisms=("ANONYMOUS", "PLAIN"), sasl_required=True))
        try:
            while data := await reader.read(65_536):
                core.receive_data(data, 0.0)
                while not isinstance(event := core.next_event(), Signal):
                    self.on(core, event)
                writer.write(core.data_to_send(0.0))
                if core.close_hint.name != "KEEP":
                    break
        except ConnectionError:
            pass
        finally:
            writer.close()

    def on(self, core: Connection, event: object) -> None:
        info = {Symbol("network-host"): "127.0.0.1", Symbol("port"): self.elsewhere}
        if type(event).__name__ == "AuthenticationRequested":
            core.accept_authentication()
        elif isinstance(event, OpenRequested):
            self.opens += 1
            if self.elsewhere is not None and not self.late:
                core.refuse_open("amqp:connection:redirect", "there", info)
            else:
                core.accept_open()
        elif isinstance(event, SessionRequested):
            if self.elsewhere is not None:
                core.close("amqp:connection:redirect", "there", info)
            else:
                core.session(event.channel).accept()


@asynccontextmanager
async def listening(server: Server) -> AsyncGenerator[Server]:
    listener = await asyncio.start_server(server.handle, "127.0.0.1", 0)
    server.port = listener.sockets[0].getsockname()[1]
    async with listener:
        yield server


def url(server: Server) -> str:
    return f"amqp://guest:guest@127.0.0.1:{server.port}"


async def by_asyncio(server: Server, policy: RecoveryPolicy) -> int:
    async with connect(url(server), version=AMQP_1_0, recover=policy) as connection:
        await connection.open_session()
        return connection.uri.port


async def by_sync(server: Server, policy: RecoveryPolicy) -> int:
    def run() -> int:
        with amqp_sansio_sync.connect(url(server), version=AMQP_1_0, recover=policy) as connection:
            connection.open_session()
            return connection.uri.port

    return await asyncio.to_thread(run)


ADAPTERS: list[Callable[[Server, RecoveryPolicy], Coroutine[Any, Any, int]]] = [by_asyncio, by_sync]


@pytest.mark.parametrize("use", ADAPTERS)
@pytest.mark.parametrize("late", [False, True], ids=["at its open", "when it is open"])
def test_a_redirect_is_followed(use: Callable[[Server, RecoveryPolicy], Coroutine[Any, Any, int]], late: bool) -> None:
    async def main() -> None:
        async with (
            asyncio.timeout(LIMIT),
            listening(Server(None)) as there,
            listening(Server(there.port, late=late)) as here,
        ):
            await use(here, RecoveryPolicy(redirects=1, first_delay=0.05))
            assert (here.opens, there.opens) == (1, 1)

    asyncio.run(main())


@pytest.mark.parametrize("use", ADAPTERS)
@pytest.mark.parametrize("redirects", [0, 3])
def test_no_more_redirects_are_followed_than_the_policy_says(
    use: Callable[[Server, RecoveryPolicy], Coroutine[Any, Any, int]], redirects: int
) -> None:
    async def main() -> None:
        async with asyncio.timeout(LIMIT), listening(Server(1)) as here:
            here.elsewhere = here.port
            with pytest.raises(EndpointClosed, match=f"connect to 127.0.0.1, port {here.port}") as caught:
                await use(here, RecoveryPolicy(redirects=redirects, first_delay=0.05))
            assert caught.value.report is not None
            assert caught.value.report.info["port"] == here.port
            assert here.opens == 1 + redirects

    asyncio.run(main())
