"""Where an embedded broker runs: in a thread with sockets, or in a simulated world."""

from __future__ import annotations

import asyncio
import concurrent.futures
import threading
import time
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar

from .waiting import STEP, is_in_event_loop

if TYPE_CHECKING:
    from amqp_sansio.testing.simulate import World
    from amqp_sansio_asyncio.simulated import SimulatedLoop

_T = TypeVar("_T")
_PATIENCE: Final = 30.0
"""Real seconds after which a call into the broker's thread fails; it takes well below a millisecond."""
_NOT_RUNNING: Final = "the broker isn't running: use it in a with statement, or call start()"
_ITSELF: Final = "the broker's own thread would wait for itself"
_BLOCKS: Final = (
    "waiting here would hold up the event loop, so what the loop is to do would never come true: "
    "use `await broker.wait_until(...)`, or `await broker.history.wait_until(...)`"
)

Begin = Callable[[asyncio.AbstractEventLoop], Coroutine[Any, Any, None]]
End = Callable[[], Coroutine[Any, Any, None]]
Failed = Callable[[asyncio.AbstractEventLoop, "dict[str, Any]"], None]


class Hosting(Protocol):
    """An event loop beside the test's own code."""

    @property
    def is_running(self) -> bool:
        """Whether it has been started, and not stopped."""
        ...

    def start(self, begin: Begin, failed: Failed) -> None:
        """Begin, in the new loop, whose exceptions that nobody takes go to `failed`. Raises what `begin` raises."""
        ...

    def run(self, make: Callable[[], Coroutine[Any, Any, _T]]) -> _T:
        """Run a coroutine in the loop, and return its result. Raises RuntimeError from within the loop."""
        ...

    def now(self) -> float:
        """Return the seconds of the clock that waits go by."""
        ...

    def wait(self, condition: Callable[[], object], seconds: float) -> bool:
        """Wait until something is so; return False if it isn't after that many seconds.

        Raises RuntimeError in an event loop that would be held up.
        """
        ...

    def stop(self, end: End) -> None:
        """End, and close the loop."""
        ...


class InThread:
    """In a thread of its own; seconds are real ones."""

    def __init__(self) -> None:
        self._thread: threading.Thread | None = None
        """Runs the broker's event loop; None while there is no broker."""
        self._loop: asyncio.AbstractEventLoop | None = None
        """What is called from the test's thread goes there."""
        self._stopping: asyncio.Event | None = None
        """Set to end the broker."""
        self._end: End | None = None
        """What is done behind it."""

    @property
    def is_running(self) -> bool:
        return self._thread is not None

    def start(self, begin: Begin, failed: Failed) -> None:
        ready: concurrent.futures.Future[None] = concurrent.futures.Future()
        arguments = begin, failed, ready
        self._thread = threading.Thread(target=self._run, args=arguments, name="amqp-embedded-broker", daemon=True)
        self._thread.start()
        ready.result()

    def run(self, make: Callable[[], Coroutine[Any, Any, _T]]) -> _T:
        loop, thread = self._loop, self._thread
        if loop is None or thread is None:
            raise RuntimeError(_NOT_RUNNING)
        if threading.current_thread() is thread:
            raise RuntimeError(_ITSELF)
        return asyncio.run_coroutine_threadsafe(make(), loop).result(_PATIENCE)

    def now(self) -> float:
        return time.monotonic()

    def wait(self, condition: Callable[[], object], seconds: float) -> bool:
        if is_in_event_loop():
            raise RuntimeError(_BLOCKS)
        deadline = time.monotonic() + seconds
        while not condition():
            if time.monotonic() >= deadline:
                return False
            time.sleep(STEP)
        return True

    def stop(self, end: End) -> None:
        thread, self._thread = self._thread, None
        if thread is None:
            return
        loop, stopping = self._loop, self._stopping
        self._end = end
        if loop is not None and stopping is not None and not loop.is_closed():
            loop.call_soon_threadsafe(stopping.set)
        thread.join()
        self._loop = None
        self._stopping = None

    def _run(self, begin: Begin, failed: Failed, ready: concurrent.futures.Future[None]) -> None:
        try:
            # Independent of the program's event loop policy: this needs sockets and a selector.
            loop = asyncio.SelectorEventLoop()
        except BaseException as error:
            ready.set_exception(error)
            return
        loop.set_exception_handler(failed)
        try:
            loop.run_until_complete(self._serve(loop, begin, ready))
        finally:
            loop.run_until_complete(loop.shutdown_asyncgens())
            # Its thread resolved the listening addresses, and close() wouldn't wait for it.
            loop.run_until_complete(loop.shutdown_default_executor())
            loop.close()

    async def _serve(
        self, loop: asyncio.AbstractEventLoop, begin: Begin, ready: concurrent.futures.Future[None]
    ) -> None:
        self._stopping = asyncio.Event()
        self._loop = loop
        try:
            await begin(loop)
        except BaseException as error:
            ready.set_exception(error)
            return
        ready.set_result(None)
        try:
            await self._stopping.wait()
        finally:
            if self._end is not None:
                await self._end()


class InWorld:
    """In a process of a world, whose steps it takes while a test waits; seconds are the world's."""

    def __init__(self, world: World) -> None:
        self._world = world
        """Whose steps are taken while a test waits."""
        self._loop: SimulatedLoop | None = None
        """The broker's, in a process of that world."""

    @property
    def is_running(self) -> bool:
        return self._loop is not None

    def start(self, begin: Begin, failed: Failed) -> None:
        # Brokers in threads start without the simulator.
        from amqp_sansio.testing.simulate import Process
        from amqp_sansio_asyncio.simulated import SimulatedLoop

        loop = self._loop = SimulatedLoop(Process(self._world, "embedded broker"), is_hosted=True)
        loop.set_exception_handler(failed)
        self.run(lambda: begin(loop))

    def run(self, make: Callable[[], Coroutine[Any, Any, _T]]) -> _T:
        loop = self._loop
        if loop is None:
            raise RuntimeError(_NOT_RUNNING)
        if loop.is_running():
            raise RuntimeError(_ITSELF)
        task = loop.create_task(make())
        while not task.done():
            if not self._world.step():
                task.cancel()
                raise RuntimeError("the broker waits for something that never comes")
        return task.result()

    def now(self) -> float:
        return self._world.now

    def wait(self, condition: Callable[[], object], seconds: float) -> bool:
        world = self._world
        deadline = world.now + seconds
        is_at_rest = False
        while not condition():
            # The look may have taken the last steps before time passes: then it is repeated first.
            if is_at_rest or world.is_busy:
                if (is_at_rest and world.now >= deadline) or not world.step():
                    return False
                is_at_rest = False
            else:
                is_at_rest = True
        return True

    def stop(self, end: End) -> None:
        loop = self._loop
        if loop is not None:
            try:
                self.run(end)
            finally:
                self._loop = None
                loop.process.end("the broker has stopped")


__all__ = ["Hosting", "InThread", "InWorld"]
