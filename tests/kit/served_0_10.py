"""A server's core of 0-10 in a simulated world, whose application does as the test says."""

from __future__ import annotations

from amqp_sansio import Event
from amqp_sansio.amqp_0_10 import Connection, MessageReceived
from amqp_sansio.testing.simulate import World
from tests.kit.ends_0_10 import agree
from tests.kit.served import ServerCore


class Server(ServerCore):
    """Agrees to everything; while it is `lazy` it completes and settles no message."""

    def __init__(self, world: World) -> None:
        self.is_lazy = False
        super().__init__(world, Connection.server())

    @property
    def bodies(self) -> list[bytes]:
        """The bodies of the messages that came."""
        return [each.body for each in self.events if isinstance(each, MessageReceived)]

    def answer(self, event: Event) -> None:
        if not self.is_lazy or not isinstance(event, MessageReceived):
            agree(self.core, event)
