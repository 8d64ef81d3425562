"""An embedded broker without its thread and its port: views, definitions, history and clock, in the test's hand."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, TypeVar, cast

from amqp_sansio.broker import Hub, Settings
from amqp_sansio_pytest import EmbeddedBroker
from amqp_sansio_pytest.service import Service

if TYPE_CHECKING:
    import asyncio
    from typing import Self

T = TypeVar("T")


class HeldService(Service):
    """A hub that no client can reach. It has no event loop: whatever needs one fails."""

    def __init__(self, settings: Settings) -> None:
        super().__init__(cast("asyncio.AbstractEventLoop", None), virtual=True)
        self._held = Hub(settings)

    @property
    def hub(self) -> Hub:
        return self._held

    async def quiet(self) -> None:
        """Nothing is in transit."""

    async def advance(self, seconds: float, *, silent: bool) -> float:
        until = self.clock.time() + seconds
        while (due := self.hub.next_deadline) is not None and due <= until:
            self._pass(due)
        self._pass(until)
        return self.clock.time()

    def _pass(self, now: float) -> None:
        self.clock.move_to(now)
        self.hub.handle_timeout(now)
        self.hub.settle()

    def settle(self) -> None:
        self.hub.settle()


class HeldBroker(EmbeddedBroker):
    """What a test has of an embedded broker, on a hub of its own, in the test's own thread."""

    def start(self) -> Self:
        self._service = HeldService(self._settings)
        if self._definitions is not None:
            self.preload(self._definitions)
        return self

    def stop(self) -> None:
        self._service = None

    def call(self, function: Callable[[], T]) -> T:
        assert self._service is not None
        return function()

    def run(self, make: Callable[[], Coroutine[Any, Any, T]]) -> T:
        running = make()
        try:
            running.send(None)
        except StopIteration as ended:
            result: T = ended.value
            return result
        raise AssertionError("it waits for an event loop, and there is none")
