"""A pure client without an event loop: its coroutines are stepped, its octets moved and its time passed by the test."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any, Protocol, TypeVar

from amqp_sansio import CloseHint, Event, Signal
from amqp_sansio.amqp_1_0 import Config, LinkRequested, SessionRequested
from amqp_sansio.amqp_1_0 import Connection as Core
from amqp_sansio.client.amqp_1_0.client import Client
from amqp_sansio.client.amqp_1_0.connection import Connection
from amqp_sansio.events import OpenRequested
from amqp_sansio.uri import parse
from tests.kit.by_hand import STEPS, Call, HandDriver
from tests.kit.hub_1_0 import World

_T = TypeVar("_T")


class Far(Protocol):
    """The other end, and the clock: a World of `hub_1_0`, or a Server."""

    def pump(self) -> None: ...
    def advance(self, seconds: float) -> None: ...


class Hand(HandDriver):
    """The driver of one client."""

    def __init__(self, client: Client, far: Far) -> None:
        super().__init__(client)
        self.far = far

    def start(self, coroutine: Coroutine[Any, Any, Any], cancel_at: int = 0) -> Call[Any]:
        """Step a coroutine until nothing moves any more."""
        task = self.call(coroutine, cancel_at, at_once=True)
        self.settle()
        return task

    def run(self, coroutine: Coroutine[Any, Any, _T]) -> _T:
        """Return what a coroutine returns, which needs no time."""
        result: _T = self.start(coroutine).result
        return result

    def settle(self) -> None:
        """Move octets and step what goes on, until nothing moves."""
        client = self.client
        for _ in range(STEPS):
            self.far.pump()
            client.take_dropped()
            if client.core.report is not None and client.core.close_hint is not CloseHint.KEEP:
                client.transport_ended("the transport was closed")
            if not self.step():
                return
        raise AssertionError("they talk without end")

    def advance(self, seconds: float) -> None:
        """Let time pass."""
        self.settle()
        self.far.advance(seconds)
        self.settle()


class Server:
    """A server's core that does as the test says, and one client, joined in memory.

    It accepts the connection, sessions and links; receiving links get `credit`. `answers` is asked first.
    """

    def __init__(self, credit: int = 0, answers: Callable[[Server, Event], bool] | None = None) -> None:
        self.core = Core.server(Config(container_id="server"))
        self.client = Client(Core.client(Config(container_id="client")), "unique")
        self.now = 0.0
        self.credit = credit
        self.answers = answers
        self.events: list[Event] = []

    def pump(self) -> None:
        for _ in range(STEPS):
            while not isinstance(self.client.next_event(), Signal):
                pass
            while not isinstance(event := self.core.next_event(), Signal):
                self.events.append(event)
                if self.answers is None or not self.answers(self, event):
                    self._answer(event)
            there, back = self.client.data_to_send(self.now), self.core.data_to_send(self.now)
            if not there and not back:
                return
            if there and self.core.close_hint is CloseHint.KEEP:
                self.core.receive_data(there, self.now)
            if back and self.client.close_hint is CloseHint.KEEP:
                self.client.receive_data(back, self.now)
        raise AssertionError("they talk without end")

    def advance(self, seconds: float) -> None:
        end = self.now + seconds
        while (due := self.client.next_deadline) is not None and due <= end:
            self.now = max(self.now, due)
            self.client.handle_timeout(self.now)
            self.pump()
        self.now = end

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


def served(credit: int = 0, answers: Callable[[Server, Event], bool] | None = None) -> tuple[Hand, Connection, Server]:
    """A connection that is open to a Server."""
    server = Server(credit, answers)
    return *_opened(server.client, server), server


def brokered() -> tuple[Hand, Connection, World]:
    """A connection that is open to a broker with the queue "q"."""
    world = World()
    world.queue("q")
    user: Any = world.user()
    user.end = Client(user.end, "unique")
    return *_opened(user.end, world), world


def _opened(client: Client, far: Far) -> tuple[Hand, Connection]:
    hand = Hand(client, far)
    hand.settle()
    assert client.opened.done
    return hand, Connection(client, parse("amqp://guest:guest@nowhere/"))
