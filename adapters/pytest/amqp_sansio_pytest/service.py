"""Service: the serving broker for the test's side; everything here runs in the broker's thread."""

from __future__ import annotations

import asyncio
import ssl as ssl_module
from collections.abc import Callable, Collection
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from amqp_sansio.broker import Fault, Settings
from amqp_sansio.broker.forcing import close_channels, close_connection
from amqp_sansio.broker.model import commands
from amqp_sansio.errors import EndpointClosed
from amqp_sansio_asyncio.broker import BrokerServer, serve_broker
from amqp_sansio_asyncio.recording import RecordTarget

from .broker_clock import BrokerClock
from .paths import Paths

if TYPE_CHECKING:
    from amqp_sansio.broker import Client, Hub, Namespace, VirtualHost
    from amqp_sansio.broker.model.owner import Owner

TEST_USER: Final = "(test)"
"""The test's user name in the history, for publishes and declarations."""
_QUIET_TURNS: Final = 3
"""Turns of the event loop without octets after which none are in transit."""
_MOST_TURNS: Final = 10_000
_FAREWELL: Final = 0.05
"""Seconds that clients have to answer the broker's close at its end."""


class Service:
    """A broker on a port of 127.0.0.1, with its clock and faults."""

    def __init__(self, loop: asyncio.AbstractEventLoop, *, virtual: bool) -> None:
        self.clock = BrokerClock(loop, virtual=virtual)
        """Of the broker, which a test may move."""
        self.paths = Paths(loop)
        """Of its octets, with the faults."""
        self._server: BrokerServer | None = None
        """None before it serves."""
        self._owners: dict[str, Owner] = {}
        """By virtual host: who does what the test itself does."""

    # Start and stop.

    async def start(
        self,
        settings: Settings,
        port: int,
        ssl: ssl_module.SSLContext | None,
        record: RecordTarget | None,
        record_secrets: bool,
        namespace: Namespace | None,
        origins: Collection[str],
    ) -> None:
        """Listen. Raises OSError."""
        self._server = await serve_broker(
            settings,
            "127.0.0.1",
            port,
            ssl=ssl,
            record=record,
            record_secrets=record_secrets,
            clock=self.clock,
            faults=self.paths,
            namespace=namespace,
            origins=origins,
        )
        self.paths.hub = self._server.hub

    async def stop(self) -> None:
        """Close all connections, and stop listening."""
        if self._server is not None:
            await self._server.close(timeout=_FAREWELL)
        self.clock.stop()

    @property
    def server(self) -> BrokerServer:
        """The server. Raises RuntimeError before the start."""
        if self._server is None:
            raise RuntimeError("the broker isn't running")
        return self._server

    @property
    def hub(self) -> Hub:
        """The broker itself."""
        return self.server.hub

    # Time and quiet.

    async def quiet(self) -> None:
        """Wait until all received octets are handled: no octet has moved for a few turns of the event loop."""
        seen = self.paths.activity
        still = 0
        for _ in range(_MOST_TURNS):
            await asyncio.sleep(0)
            now = self.paths.activity
            still = still + 1 if now == seen else 0
            if still >= _QUIET_TURNS:
                return
            seen = now

    async def advance(self, seconds: float, *, silent: bool) -> float:
        """Let time pass, from one due call to the next."""
        clock = self.clock
        await self.quiet()
        until = clock.time() + seconds
        while (when := clock.next_timer()) is not None and when <= until:
            self._reach(when, silent)
            await asyncio.sleep(0)
        self._reach(until, silent)
        await self.quiet()
        return clock.time()

    def _reach(self, when: float, silent: bool) -> None:
        clock = self.clock
        clock.move_to(when)
        now = clock.time()
        if not silent:
            for client in list(self.hub.clients.values()):
                # Clients live in real time, in which they aren't silent.
                if client.front is not None and not self.paths.is_mute(client):
                    client.receive_data(b"", now)
        clock.run_due()

    # The model.

    def vhost(self, name: str) -> VirtualHost:
        """Return a virtual host. Raises LookupError."""
        found = self.hub.model.vhosts.get(name)
        if found is None:
            there = ", ".join(map(repr, self.hub.model.vhosts))
            raise LookupError(f"there is no virtual host {name!r}; there are {there}")
        return found

    def owner(self, vhost: str) -> Owner:
        """Return the test's owner in a virtual host. Raises LookupError."""
        found = self._owners.get(vhost)
        if found is None or found.is_closed:
            self.vhost(vhost)
            found = self._owners[vhost] = self.apply(commands.OpenOwner(vhost, TEST_USER))
        return found

    def apply(self, command: commands.Command) -> Any:
        """Carry out a command, with all its effects. Raises ValueError if the broker refuses it."""
        hub = self.hub
        hub.now = max(hub.now, self.clock.time())
        try:
            return hub.apply(command)
        except Fault as fault:
            raise ValueError(f"the broker refuses it: {fault}") from fault
        finally:
            self.settle()

    def settle(self) -> None:
        """Send clients the effects of a change."""
        self.server.settle()

    def hold_publishers(self, reason: str) -> None:
        """Hold publishers; "": let them continue."""
        self.hub.model.hold_publishers(reason)
        self.settle()

    def add_vhost(self, name: str) -> None:
        """Add a virtual host, open to every user who isn't restricted to certain ones."""
        self.hub.add_vhost(name)

    # Actions of the broker against its clients.

    def close_connections(self, meant: Callable[[Client], bool], code: int | str, text: str) -> int:
        """Close the selected open connections; return how many."""
        return self._each(meant, lambda client: _closed(client, code, text))

    def close_channels(self, meant: Callable[[Client], bool], code: int | str, text: str, channel: int | None) -> int:
        """Close open channels and sessions of the selected connections; return how many."""
        return self._each(meant, lambda client: close_channels(client, code, text, channel))

    def _each(self, meant: Callable[[Client], bool], act: Callable[[Client], int]) -> int:
        done = 0
        for client in [each for each in self.hub.clients.values() if meant(each)]:
            if client.front is not None and client.front.describe()[1]:
                # One that has just ended by itself needs no close.
                with suppress(EndpointClosed):
                    done += act(client)
                client.next_event()
                self.hub.touch(client.number)
        self.settle()
        return done


def _closed(client: Client, code: int | str, text: str) -> int:
    close_connection(client, code, text)
    return 1


__all__ = ["TEST_USER", "Service"]
