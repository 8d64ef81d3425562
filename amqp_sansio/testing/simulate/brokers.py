"""Node: a broker of a world, with the ends of its clients' lines; it can go down, with or without what is durable."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...broker import Client, Hub, Settings
from ...broker.snapshot import dumps, loads
from ...endpoint import CloseHint
from .network import CLOSED, Alarm, Call, Scheduler

if TYPE_CHECKING:
    from .network import Line

RESTARTED = "the broker restarts"


class BrokerEnd:
    """The broker's end of one line."""

    def __init__(self, node: Node, scheduler: Scheduler, core: Client) -> None:
        self.core = core
        self.line: Line | None = None
        self.is_over = False
        self._node = node
        self._scheduler = scheduler
        self._alarm = Alarm(scheduler, Call(self._on_alarm))

    def attach(self, line: Line) -> None:
        """Begin to listen on a line."""
        self.line = line
        self.look()

    @property
    def room(self) -> int:
        return self.core.receive_budget

    def receive(self, octets: bytes) -> None:
        self.core.receive_data(octets, self._scheduler.now)
        self.core.next_event()
        self._node.touch(self.core)

    def writable(self) -> None:
        self._node.touch(self.core)

    def ended(self, reason: str, *, is_reset: bool) -> None:
        if not self.is_over and not is_reset:
            self.core.receive_eof(self._scheduler.now)
            self.core.next_event()
        self.end(reason, is_reset=is_reset)

    def end(self, reason: str, *, is_reset: bool) -> None:
        """Leave the line."""
        if self.is_over:
            return
        assert self.line is not None
        self.is_over = True
        self._alarm.set(None)
        self.line.up.stop()
        self.line.down.finish(reason if is_reset else CLOSED, is_reset=is_reset)
        self.core.connection_lost(reason, self._scheduler.now)
        self.core.next_event()
        self._node.leave(self.core)

    def look(self) -> None:
        """Do what others, or the time, have made possible: write, and read on."""
        core, line = self.core, self.line
        if self.is_over or line is None:
            return
        core.next_event()
        if core.close_hint is not CloseHint.CLOSE_NOW and (room := line.down.room) > 0:
            line.down.send(core.data_to_send(self._scheduler.now, room))
        if core.close_hint is CloseHint.CLOSE_NOW:
            self.end("the broker cut the connection", is_reset=True)
        elif core.close_hint is CloseHint.CLOSE_WHEN_SENT and not core.send_backlog:
            self.end("the broker closed the connection", is_reset=False)
        else:
            self._alarm.set(core.next_deadline)
            line.up.wake()

    def _on_alarm(self) -> None:
        self.core.handle_timeout(self._scheduler.now)
        self._node.touch(self.core)


class Node:
    """A broker called `name`: its pure `hub`, and whether it is up."""

    def __init__(self, scheduler: Scheduler, name: str, settings: Settings) -> None:
        self.name = name
        self.settings = settings
        self.hub = Hub(settings)
        self.is_up = True
        self.unreachable_until = 0.0
        self._scheduler = scheduler
        self._ends: dict[int, BrokerEnd] = {}
        self._turn = Call(self._on_turn)
        self._start = Call(self._up)
        self._is_scheduled = False
        self._alarm = Alarm(scheduler, Call(self._on_alarm))

    @property
    def ends(self) -> list[BrokerEnd]:
        """The broker's ends of the lines of its clients."""
        return [*self._ends.values()]

    def admit(self) -> BrokerEnd:
        """Return the end of a new line."""
        core = self.hub.connect()
        end = self._ends[core.number] = BrokerEnd(self, self._scheduler, core)
        return end

    def touch(self, core: Client) -> None:
        """Note that a client may have something to write or to read."""
        self.hub.touch(core.number)
        self.turn_soon()

    def leave(self, core: Client) -> None:
        """Forget a client whose line is over."""
        self._ends.pop(core.number, None)
        self.hub.forget(core.number)
        self.turn_soon()

    def turn_soon(self) -> None:
        """Schedule a step for everything that has changed in the hub; after a change from outside, too."""
        if not self._is_scheduled:
            self._is_scheduled = True
            self._scheduler.soon(self._turn)

    def hold_publishers(self, reason: str) -> None:
        """Let publishers wait, until it is called without a reason."""
        self.hub.model.hold_publishers(reason)
        self.hub.settle()
        self.turn_soon()

    def restart(self, *, keep: bool, downtime: float) -> None:
        """Go down, with all lines, and come up after `downtime` seconds; with `keep` what is durable survives."""
        self._go_down(downtime)
        if keep:
            self.hub.restart(self._scheduler.now)
        else:
            self.hub = Hub(self.settings)
            self.hub.now = self._scheduler.now

    def suspend(self, *, downtime: float) -> None:
        """Go down, with all lines, and come up from a snapshot: everything survives but connections."""
        self._go_down(downtime)
        self.hub = loads(dumps(self.hub))

    def _go_down(self, downtime: float) -> None:
        self.is_up = False
        self._alarm.set(None)
        for end in list(self._ends.values()):
            end.end(RESTARTED, is_reset=True)
        self._ends.clear()
        self._scheduler.at(self._scheduler.now + downtime, self._start)

    def _up(self) -> None:
        self.is_up = True
        self.turn_soon()

    def _on_turn(self) -> None:
        self._is_scheduled = False
        for client in self.hub.take_dirty():
            end = self._ends.get(client.number)
            if end is not None:
                end.look()
        if self.hub.is_dirty:
            self.turn_soon()
        self._alarm.set(self.hub.next_deadline)

    def _on_alarm(self) -> None:
        self.hub.handle_timeout(self._scheduler.now)
        self.turn_soon()
