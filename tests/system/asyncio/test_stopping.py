"""`on_stop`: signals call it in the event loop, whatever the loop can, and do behind it what they did before."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
from collections.abc import Iterator

import pytest

from amqp_sansio.testing.simulate import World
from amqp_sansio_asyncio import on_stop, stopping
from amqp_sansio_asyncio.simulated import simulated_loop
from tests.kit.processes import LIMIT

BOTH = pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])


def lacks(*_: object) -> None:
    raise NotImplementedError


@pytest.fixture(autouse=True)
def handlers(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Handlers that nobody calls; they are there again behind each test. No loop has add_signal_handler."""
    monkeypatch.setattr(asyncio.SelectorEventLoop, "add_signal_handler", lacks)
    numbers = (signal.SIGINT, signal.SIGTERM)
    before = {number: signal.getsignal(number) for number in numbers}
    yield
    assert {number: signal.getsignal(number) for number in numbers} == before


async def stopped(stop: asyncio.Event) -> None:
    async with asyncio.timeout(LIMIT):
        await stop.wait()


@BOTH
def test_a_signal_wakes_a_loop_that_waits(number: signal.Signals) -> None:
    async def main() -> None:
        stop = asyncio.Event()
        with on_stop(stop.set):
            threading.Timer(0.05, os.kill, (os.getpid(), number)).start()
            await stopped(stop)

    asyncio.run(main())


@BOTH
def test_each_signal_calls_it_and_a_coroutine_runs(number: signal.Signals) -> None:
    async def main() -> None:
        calls: list[str] = []
        twice = asyncio.Event()

        async def note() -> None:
            await asyncio.sleep(0)
            calls.append("called")
            if len(calls) == 2:
                twice.set()

        with on_stop(note):
            signal.raise_signal(number)
            signal.raise_signal(number)
            await stopped(twice)
        assert calls == ["called"] * 2

    asyncio.run(main())


def test_behind_it_ctrl_c_interrupts_the_program() -> None:
    async def main() -> None:
        with on_stop(lambda: None):
            pass
        signal.raise_signal(signal.SIGINT)
        await asyncio.sleep(LIMIT)

    with pytest.raises(KeyboardInterrupt):
        asyncio.run(main())


def test_blocks_in_one_another_and_handlers_that_come_later() -> None:
    def other(*_: object) -> None:
        calls.append("other")

    calls: list[str] = []

    async def main() -> None:
        stop = asyncio.Event()
        with on_stop(stop.set):
            with on_stop(lambda: calls.append("inner")):
                signal.raise_signal(signal.SIGTERM)
                await asyncio.sleep(0)
            assert not stop.is_set()
            signal.raise_signal(signal.SIGTERM)
            await stopped(stop)
            outer = signal.signal(signal.SIGTERM, other)
            with on_stop(stop.clear):
                signal.signal(signal.SIGTERM, other)
            signal.raise_signal(signal.SIGTERM)
            assert stop.is_set()
            signal.signal(signal.SIGTERM, outer)

    asyncio.run(main())
    assert calls == ["inner", "other"]


def test_in_another_thread_it_does_nothing() -> None:
    async def main() -> None:
        with on_stop(lambda: None):
            ran.append(signal.getsignal(signal.SIGTERM))

    ran: list[object] = []
    thread = threading.Thread(target=lambda: asyncio.run(main()))
    thread.start()
    thread.join(LIMIT)
    assert ran == [signal.getsignal(signal.SIGTERM)]


def test_in_a_simulated_world_it_does_nothing() -> None:
    async def main() -> object:
        with on_stop(lambda: None):
            await asyncio.sleep(3600)
            return signal.getsignal(signal.SIGTERM)

    with World() as world, asyncio.Runner(loop_factory=lambda: simulated_loop(world)) as runner:
        assert runner.run(main()) == signal.getsignal(signal.SIGTERM)


def test_a_loop_that_signals_do_not_wake_looks_for_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """As the selector loop of Windows: the handler's wake-up is taken away, and each look is one."""
    monkeypatch.setattr(stopping, "_LOOKS", True)
    monkeypatch.setattr(stopping, "LOOK", 0.01)

    async def main() -> None:
        loop = asyncio.get_running_loop()
        looks: list[float] = []
        call_later = loop.call_later

        def counted(delay: float, callback: object, *arguments: object) -> asyncio.TimerHandle:
            if delay == 0.01:
                looks.append(delay)
            return call_later(delay, callback, *arguments)  # type: ignore[arg-type]

        monkeypatch.setattr(loop, "call_later", counted)
        stop = asyncio.Event()
        with on_stop(stop.set):
            while len(looks) < 3:
                await asyncio.sleep(0)
            signal.raise_signal(signal.SIGTERM)
            await stop.wait()
        count = len(looks)
        await asyncio.sleep(0.05)
        assert len(looks) == count

    asyncio.run(main())
