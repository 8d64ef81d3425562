"""User: a process of a simulated world with one client, whose calls a test starts, holds up and cancels."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any, TypeVar

from amqp_sansio import AMQP_0_9_1, Event, Version
from amqp_sansio.broker import Hub, Settings
from amqp_sansio.client.classic.channel import Channel
from amqp_sansio.client.recovery import Recovered, Recovering, RecoveryPolicy
from amqp_sansio.testing.simulate import CALM, Process, World
from amqp_sansio.testing.simulate.clients import ClientEnd
from amqp_sansio.testing.simulate.network import Line
from amqp_sansio.testing.simulate.tasks import Task

_T = TypeVar("_T")
URL = "amqp://broker/%2F"
CUT = "the cable is cut"
PIECES = ("whole", "octets", "halves")
"""The sizes in which a world hands octets over, by the number that it picks for each."""


class Always:
    """Choices that are the same each time."""

    def __init__(self, number: int) -> None:
        self._number = number

    def pick(self, count: int, odds: int = 0) -> int:
        return min(self._number, count - 1)


def world_of(pieces: str = "whole", settings: Settings | None = None) -> World:
    """Return a world without faults whose lines hand over octets in pieces."""
    chosen = settings or Settings(seed=b"user", heartbeat=0, consumer_timeout=None)
    return World(Always(PIECES.index(pieces)), CALM.but(pieces=pieces != "whole"), settings=chosen)


class Call(Task[_T]):
    """A task that goes no further than its wait number `last`, as a thread that is held up; 0: to its end."""

    last = 0

    def run(self) -> None:
        if not self.last or self.waits != self.last:
            super().run()

    def go_on(self) -> None:
        """Let it go to its end."""
        self.last = 0
        if self.is_due:
            self.resume()


class User:
    """A process with a client that connects to one of the hosts of a world.

    `start` begins a call, which has sent nothing when it returns; `turn` and `run` do all that needs no time.
    """

    def __init__(
        self,
        world: World,
        url: str = URL,
        *,
        version: Version = AMQP_0_9_1,
        recover: RecoveryPolicy | bool = False,
        name: str = "user",
        **options: Any,
    ) -> None:
        self.world = world
        self.process = Process(world, name)
        opening = self.process.connect(url, version=version, recover=recover, **options)
        self.connecting: Call[Any] = self.start(opened(opening))
        self.events: Any = None
        """Those of a client that recovers, about that."""
        self.turn()
        if recover:
            self.events = self.connection.events(Recovering, Recovered)

    @property
    def connection(self) -> Any:
        """What connecting has returned. Raises its error."""
        return self.connecting.result

    @property
    def client(self) -> Any:
        """The pure client."""
        (client,) = self.process.clients
        return client

    @property
    def end(self) -> ClientEnd:
        """The client's end of its line."""
        end = self.client.driver
        assert isinstance(end, ClientEnd)
        return end

    @property
    def line(self) -> Line:
        """The client's newest line."""
        line = self.end.line
        assert line is not None
        return line

    @property
    def now(self) -> float:
        return self.world.now

    @property
    def hub(self) -> Hub:
        return self.world.hub()

    # Calls.

    def start(self, coroutine: Coroutine[Any, Any, Any], last: int = 0) -> Call[Any]:
        """Begin a call, which stops at its wait number `last`."""
        call = Call(self.world, coroutine, self.process)
        call.last = last
        self.process.tasks.append(call)
        call.is_due = True
        call.run()
        return call

    def begin(self, coroutine: Coroutine[Any, Any, Any], last: int = 0) -> Call[Any]:
        """Begin a call, and do all that needs no time."""
        call = self.start(coroutine, last)
        self.turn()
        return call

    def run(self, coroutine: Coroutine[Any, Any, _T]) -> _T:
        """Return what a call returns, which needs no time."""
        result: _T = self.begin(coroutine).result
        return result

    def turn(self, seconds: float = 0.0) -> None:
        """Let time pass, and do all that happens meanwhile."""
        self.world.pass_time(seconds)

    # The line.

    def hold(self) -> None:
        """Let nothing arrive any more, in both directions, until `release` or `cut`."""
        self.line.up.hold()
        self.line.down.hold()

    def release(self) -> None:
        """Let everything arrive again."""
        self.line.up.release()
        self.line.down.release()
        self.turn()

    def send_and_lose(self, up: int | None = 0) -> None:
        """Let the client send what it has, and cut; the first `up` octets arrive, None: all, and no answer."""
        self.hold()
        self.turn()
        self.cut(up=up)

    def cut(self, reason: str = CUT, up: int | None = 0) -> None:
        """Lose the transport, at once for the client; of the octets under way to the server the first `up` arrive."""
        self.line.cut(reason, up, 0)
        self.end.ended(reason, is_reset=True)
        self.turn()

    # Recovery.

    def told(self) -> list[Event]:
        """Take the events of recovery that came."""
        found: list[Event] = []
        while (call := self.start(self.events.__anext__())).done:
            found.append(call.result)
        call.cancel()
        return found

    def reconnect(self) -> Line:
        """Let time pass until the client has a new line, on which nothing has arrived yet."""
        end = self.end
        self.world.run(lambda: self.end is not end and self.end.line is not None)
        return self.line

    def back(self) -> Recovered:
        """Cut, let time pass until all is back, and return the event."""
        self.cut()
        return self.wait_back()

    def wait_back(self) -> Recovered:
        """Let time pass until all is back, and return the event."""
        for _ in range(200):
            self.turn(0.25)
            for event in self.told():
                if isinstance(event, Recovered):
                    return event
        raise AssertionError("it never comes back")

    def stir(self) -> None:
        """Let the broker see what the test did to it, and do all that needs no time."""
        node = self.world.nodes["broker"]
        for end in node.ends:
            node.touch(end.core)
        self.turn()

    def replace_broker(self, settings: Settings) -> None:
        """Put another broker in the place of the one that is there, which nobody is connected to."""
        self.world.nodes["broker"].hub = Hub(settings)

    def refuse(self) -> None:
        """Let nobody listen any more."""
        for node in self.world.nodes.values():
            node.is_up = False


class ClassicUser(User):
    """A user of 0-8 or 0-9-1, in a world of its own unless it is given one."""

    def __init__(self, version: Version = AMQP_0_9_1, world: World | None = None, **options: Any) -> None:
        super().__init__(world or world_of(), version=version, **options)

    def channel(self, *, confirm: bool = False) -> Channel:
        """Open a channel."""
        return self.run(self.channel_opening(confirm))

    async def channel_opening(self, confirm: bool) -> Channel:
        """Return a new channel."""
        channel: Channel = await self.connection.open_channel(confirm=confirm)
        return channel


async def opened(opening: Any) -> Any:
    """Wait until something is open."""
    return await opening
