"""A hub with real clients of any version, joined in memory, and a clock that the test moves."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, Generic, Self, TypeVar

from amqp_sansio import CloseHint, Event, Signal
from amqp_sansio.broker import Client, Hub, Namespace, Settings
from amqp_sansio.broker.snapshot import dumps, loads
from tests.kit.versions import C

STEPS: Final = 100_000
"""More turns than any test needs: beyond it the ends are in a loop."""


class User(Generic[C]):
    """A client: `end` is its engine, `client` the hub's side, `events` what it was told and nobody took yet.

    `applications` hear each event. While it doesn't `reads`, what the hub has for it stays there.
    """

    def __init__(self, world: World[Any], end: C, **options: Any) -> None:
        self.world = world
        self.end = end
        self.client: Client = world.hub.connect(**options)
        self.events: list[Event] = []
        self.applications: list[Callable[[Event], object]] = []
        self.reads = True
        self.is_cut = False
        world.users.append(self)

    def turn(self) -> bool:
        """Exchange octets once, and hang up when either end wants that; whether anything moved."""
        moved = self.hear()
        if self.is_cut:
            return moved
        now, end, client = self.world.now, self.end, self.client
        budget = client.receive_budget
        out = end.data_to_send(now, budget) if budget else b""
        if out:
            client.receive_data(out, now)
        client.next_event()
        back = client.data_to_send(now) if self.reads else b""
        if back:
            end.receive_data(back, now)
            self.hear()
        if end.close_hint is not CloseHint.KEEP and not end.send_backlog:
            self._hang_up("hung up")
        elif client.close_hint is not CloseHint.KEEP and not client.send_backlog:
            end.receive_eof(now)
            self._hang_up("hung up")
        return moved or bool(out) or bool(back) or self.is_cut

    def hear(self) -> bool:
        """Take all events of the engine; whether there were any."""
        found = False
        while not isinstance(event := self.end.next_event(), Signal):
            found = True
            self.events.append(event)
            for application in self.applications:
                application(event)
        return found

    def cut(self, reason: str = "cut") -> None:
        """The transport vanishes for both ends, with what is on its way."""
        self._hang_up(reason)
        self.world.pump()

    def _hang_up(self, reason: str) -> None:
        self.is_cut = True
        self.client.connection_lost(reason, self.world.now)
        self.client.next_event()
        self.end.connection_lost(reason, self.world.now)
        self.hear()

    def of(self, kind: type[Any]) -> list[Any]:
        """The events of one class that nobody took yet."""
        return [each for each in self.events if isinstance(each, kind)]

    def pick(self, kind: type[Any], wanted: Callable[[Any], bool] = lambda event: True) -> list[Any]:
        """Take the events of one class that are wanted. By identity: equal ones may be there."""
        found = [each for each in self.of(kind) if wanted(each)]
        numbers = {id(each) for each in found}
        self.events = [each for each in self.events if id(each) not in numbers]
        return found


U = TypeVar("U", bound=User[Any])


class World(Generic[U]):
    """A hub and its users."""

    def __init__(self, settings: Settings, namespace: Namespace | None = None) -> None:
        self.hub = Hub(settings, namespace)
        self.now = 0.0
        self.users: list[U] = []

    def pump(self) -> None:
        """Let everything be exchanged; the clock stands still."""
        for _ in range(STEPS):
            moved = [each.turn() for each in self.users]
            for client in self.hub.take_dirty():
                client.next_event()
            if not any(moved):
                return
        raise AssertionError("the users never come to rest")

    def advance(self, seconds: float) -> None:
        """Let time pass, serving the deadlines of the hub and of both ends of each connection."""
        until = self.now + seconds
        for _ in range(STEPS):
            self.pump()
            ends = [each for user in self.users if not user.is_cut for each in (user.client, user.end)]
            deadlines = [self.hub.next_deadline, *[each.next_deadline for each in ends]]
            due = min([each for each in deadlines if each is not None], default=until + 1)
            self.now = max(self.now, min(due, until))
            self.hub.handle_timeout(self.now)
            for each in ends:
                each.handle_timeout(self.now)
            if due > until:
                self.pump()
                return
        raise AssertionError("deadlines come without end")

    def copied(self) -> Self:
        """The same world from its octets, hub and users."""
        copy: Self = loads(dumps(self))
        return copy
