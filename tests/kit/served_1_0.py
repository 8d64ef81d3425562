"""A client of 1.0 in a simulated world, whose server does as the test says."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from amqp_sansio import AMQP_1_0, Event
from amqp_sansio.amqp_1_0 import Config, LinkRequested, SessionRequested
from amqp_sansio.amqp_1_0 import Connection as Core
from amqp_sansio.events import OpenRequested
from amqp_sansio.testing.simulate import World
from tests.kit.served import ServerCore
from tests.kit.user import User

Answers = Callable[["Server", Event], bool]


class Server(ServerCore):
    """Does as the test says.

    It accepts the connection, sessions and links; receiving links get `credit`. `answers` is asked first.
    """

    def __init__(self, world: World, credit: int = 0, answers: Answers | None = None, **config: Any) -> None:
        self.credit = credit
        self.answers = answers
        super().__init__(world, Core.server(Config(container_id="server", **config)))

    def answer(self, event: Event) -> None:
        if self.answers is None or not self.answers(self, event):
            self._answer(event)

    def _answer(self, event: Event) -> None:
        core = self.core
        if isinstance(event, OpenRequested):
            core.accept_open()
        elif isinstance(event, SessionRequested):
            core.session(event.channel).accept()
        elif isinstance(event, LinkRequested):
            link: Any = core.session(event.channel).link(event.link)
            link.accept_attach()
            if link.role == "receiver" and self.credit:
                link.flow(self.credit)


def served(world: World, credit: int = 0, answers: Answers | None = None, **config: Any) -> tuple[User, Server]:
    """A user whose client is connecting to a Server."""
    server = Server(world, credit, answers, **config)
    return User(world, "amqp://server/", version=AMQP_1_0, sasl=None), server


def brokered(world: World) -> User:
    """A user whose client is connecting to the world's broker, which has the queue "q"."""
    world.declare("q")
    return User(world, version=AMQP_1_0)
