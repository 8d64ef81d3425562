"""Claims-based security in the blocking client, in a world: tokens before links, renewed by a thread, and put again."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any

import pytest

from amqp_sansio import AMQP_1_0
from amqp_sansio.amqp_1_0 import Config
from amqp_sansio.client.amqp_1_0.cbs import Audience, SharedAccessKey, Token
from amqp_sansio.client.recovery import RecoveryPolicy
from amqp_sansio.errors import TokenRefused
from amqp_sansio.testing.simulate import World
from amqp_sansio_asyncio import serve
from amqp_sansio_asyncio.simulated import simulated
from amqp_sansio_sync import connect
from amqp_sansio_sync.simulated import inside
from tests.kit.cbs_peer import CbsPeer, PlainProvider, Provider, anybody

PORT = 5672
URL = f"amqp://127.0.0.1:{PORT}"


@contextmanager
def meeting() -> Generator[tuple[CbsPeer, Any]]:
    """The peer, which listens in a world, and the system of a blocking program there."""
    with World() as world, inside(world) as system:
        peer = CbsPeer(system_time(system))

        @simulated
        async def listen() -> None:
            config = Config(container_id="peer")
            async with serve(peer.handle, port=PORT, version=AMQP_1_0, config=config, authenticate=anybody):
                await asyncio.Event().wait()

        world.start(listen)
        system.sleep(0.1)
        yield peer, system


def opened(**options: Any) -> Any:
    """A connection to the peer."""
    return connect(URL, version=AMQP_1_0, **options)


def system_time(system: Any) -> Callable[[], float]:
    return lambda: system.time_ns() / 1e9


@pytest.mark.parametrize("provider", [PlainProvider(), Provider(), SharedAccessKey("rule", "a2V5", 100.0)])
def test_it_is_put_before_the_first_link_and_renewed(provider: Any) -> None:
    with meeting() as (peer, system), opened(cbs=provider) as connection:
        session = connection.open_session()
        sender = session.open_sender("orders")
        assert peer.seen == [(1, "put", "orders"), (1, "attach", "orders")]
        system.sleep(500)
        sender.send(b"x")
        assert peer.of("put") == ["orders"] * 6
        assert peer.expired == 0


def test_a_refusal_has_its_description() -> None:
    with meeting() as (peer, _), opened(cbs=PlainProvider()) as connection:
        peer.refused.add("orders")
        session = connection.open_session()
        with pytest.raises(TokenRefused, match="401 who are you for orders"):
            session.open_sender("orders")
        assert session.open_sender("bills").is_open


def test_all_are_put_again_after_a_loss() -> None:
    policy = RecoveryPolicy(first_delay=0.1)
    with meeting() as (peer, system), opened(cbs=PlainProvider(), recover=policy) as connection:
        session = connection.open_session()
        sender, receiver = session.open_sender("orders"), session.open_receiver("bills")
        connection._driver.transport.shut()
        system.sleep(5)
        sender.send(b"x")
        seen = [each[1:] for each in peer.seen if each[0] == 2]
        assert sorted(seen[:2]) == [("put", "bills"), ("put", "orders")]
        assert sorted(seen[2:]) == [("attach", "bills"), ("attach", "orders")]
        assert receiver.is_open
        system.sleep(500)
        assert peer.expired == 0


class Bare:
    """An awaitable that waits."""

    def __await__(self) -> Generator[None]:
        yield


class Waits:
    async def token(self, audience: Audience, /) -> Token:
        await Bare()
        raise AssertionError


def test_a_coroutine_that_waits_is_refused() -> None:
    with meeting() as (_, _), opened(cbs=Waits()) as connection:
        with pytest.raises(RuntimeError, match="blocking connection can't wait for a coroutine"):
            connection.open_session().open_sender("orders")
        assert connection.is_open


class Slow:
    def __init__(self, system: Any) -> None:
        self.system = system

    def token(self, audience: Audience, /) -> Token:
        self.system.sleep(200)
        return Token("slow", "test", audience.now + 1000)


def test_a_slow_provider_holds_nobody_else_up() -> None:
    """It is called without the connection's lock: heartbeats and other threads go on."""
    done: list[float] = []
    with meeting() as (_, system), opened(cbs=Slow(system), idle_time_out=20.0) as connection:
        session = connection.open_session()

        def other() -> None:
            connection.open_session().close()
            done.append(system.now())

        begun = system.now()
        thread = system.start(other, "other")
        session.open_sender("orders")
        thread.join()
        assert done[0] - begun < 10
        assert system.now() - begun >= 200
        assert connection.is_open
