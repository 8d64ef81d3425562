"""Frontend: one client's connection, between the engine of its version and the model."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

from ...events import PAUSED
from ..model.consumer import Window

if TYPE_CHECKING:
    from ...endpoint import Endpoint
    from ...events import Event, Signal
    from ..hub import Hub
    from ..model.effects import Effect


class Frontend(ABC):
    """What each version's front end does; `Hub` and `Client` call it.

    `connection` is the engine's server end. `gate` is a window that every consumer of the connection has among its
    windows: it lets through what a client may leave unread, and `Client` gives more when the client has read.
    `publishes`: the client has published, so that it's held up while the broker is full. `is_held_up`: the client's
    events wait until it has read more.
    """

    __slots__ = ("connection", "gate", "hub", "is_held_up", "number", "publishes")

    connection: Any

    def __init__(self, hub: Hub, number: int, connection: Endpoint) -> None:
        self.hub = hub
        self.number = number
        self.connection = connection
        self.gate = Window(octets=hub.settings.limits.backlog_high, overdraws=True)
        self.publishes = False
        self.is_held_up = False

    @property
    def is_behind(self) -> bool:
        """Whether answers, returns and confirms that the client hasn't read are more than `backlog_high`, beside what
        `gate` has let through."""
        connection, room = self.connection, self.gate.octets
        high = self.hub.settings.limits.backlog_high
        allowed = 2 * high - (high if room is None else room)
        return connection.send_backlog > allowed and not connection.is_ending

    def next_event(self) -> Event | Signal:
        """The engine's next event; none for a client that is behind, whatever it has sent."""
        self.is_held_up = self.is_behind
        if self.is_held_up:
            return PAUSED
        event: Event | Signal = self.connection.next_event()
        return event

    @abstractmethod
    def take_events(self) -> None:
        """Take the engine's events until there is none, and do what each asks for.

        After every event `hub.settle()` is called, which has all effects performed: what an answer is to precede is
        answered before.
        """

    @abstractmethod
    def perform(self, effect: Effect) -> None:
        """Do what the model says of one of this front's consumers or entries: send a delivery, a cancel."""

    @abstractmethod
    def block(self, reason: str) -> None:
        """The broker is full: tell the client so, if its version has a word for it."""

    @abstractmethod
    def unblock(self) -> None:
        """The broker isn't full any more."""

    @abstractmethod
    def caught_up(self) -> None:
        """The client has read most of what it got: `gate` is open again, and what the model had for it is delivered."""

    @abstractmethod
    def node_deleted(self, kind: str, name: str) -> None:
        """A queue or exchange of its virtual host is gone."""

    @abstractmethod
    def shut_down(self, text: str) -> None:
        """The broker ends: close the connection (320, amqp:connection:forced)."""

    @abstractmethod
    def describe(self) -> tuple[str, str]:
        """The user and virtual host, "" before they are known."""
