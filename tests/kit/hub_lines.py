"""Lines: real clients at a hub, which write no more than the hub takes, and may stop to read; for slow consumers."""

from collections.abc import Callable
from typing import Any

from amqp_sansio import CloseHint, Event, Pending, Signal
from amqp_sansio.broker import BrokerLimits, Hub
from amqp_sansio.broker.snapshot import dumps
from tests.kit.hub_hostile import Driver

TURNS = 100_000
BODY = bytes(1000)


class Line:
    """A client's engine; `events` are all that it took, `answers` what the application does with them at once."""

    def __init__(self, driver: Driver, end: Any) -> None:
        self.driver = driver
        self.end = end
        self.number = driver.connect()
        self.events: list[Event] = []
        self.answers: Callable[[Event], object] | None = None
        self.reads = True
        self._read = 0

    def stop(self) -> None:
        """Read no more."""
        self.reads = False
        self.driver.deafen(self.number, True)

    def go_on(self) -> None:
        """Read again."""
        self.reads = True
        self.driver.deafen(self.number, False)

    def turn(self) -> bool:
        """Exchange octets once; whether any moved."""
        moved = False
        while not isinstance(event := self.end.next_event(), Signal):
            moved = True
            self.events.append(event)
            if self.answers is not None:
                self.answers(event)
        client = self.driver.client(self.number)
        if client is None or self.end.close_hint is not CloseHint.KEEP:
            return moved
        budget = client.receive_budget
        octets = self.end.data_to_send(self.driver.now, budget) if budget else b""
        if octets:
            assert self.driver.feed(self.number, octets)
        out = self.driver.out[self.number]
        if self.reads and len(out) > self._read:
            fresh = bytes(out[self._read :])
            self._read = len(out)
            self.end.receive_data(fresh, self.driver.now)
            moved = True
        return moved or bool(octets)

    def take(self, kind: type[Any]) -> list[Any]:
        found = [each for each in self.events if isinstance(each, kind)]
        self.events = [each for each in self.events if not isinstance(each, kind)]
        return found


def pump(*lines: Line) -> None:
    """Exchange octets until none move."""
    for _ in range(TURNS):
        if not any([each.turn() for each in lines]):
            return
    raise AssertionError("they talk without end")


def result(handle: Pending[Any], *lines: Line) -> Any:
    """What a call ends with."""
    pump(*lines)
    assert handle.done, handle
    return handle.result


def check_held(hub: Hub, most: int) -> None:
    """The hub holds no more octets of messages than `most`, and its pickle isn't much bigger than that."""
    limits: BrokerLimits = hub.settings.limits
    held = hub.model.ledger.octets + hub.model.pending_octets
    assert held <= most, (held, most)
    backlog = sum([each.send_backlog for each in hub.clients.values()])
    assert backlog <= len(hub.clients) * (limits.backlog_high + 2 * len(BODY)), backlog
    assert len(dumps(hub)) <= 2 * most + backlog + 100_000
