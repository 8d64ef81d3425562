"""WorldBroker: the product's broker with a script, inside a simulated world: no thread, no port, no real time."""

from __future__ import annotations

from typing import Any

from amqp_sansio.testing.simulate import World
from tests.kit.scripted import ScriptedBroker


class WorldBroker(ScriptedBroker):
    """A `ScriptedBroker` in a world, whose clock is the world's: programs of the world reach it by its `url`.

    Without a `world` it has one of its own, which is closed with it.

    What a test calls, such as `act` or `messages`, takes steps of the world until all octets under way are handled.
    """

    def __init__(self, world: World | None = None, **options: Any) -> None:
        self.world = world or World()
        self._is_own = world is None
        super().__init__(world=self.world, **options)

    def stop(self) -> None:
        super().stop()
        if self._is_own:
            self.world.close()

    def advance(self, seconds: float) -> None:
        """Let time pass for everybody in the world; `clock.advance` lets it pass for the broker alone."""
        self.world.pass_time(seconds)


__all__ = ["WorldBroker"]
