"""Pair: a client and a server of AMQP 1.0 joined in memory, with a clock that jumps to the next deadline."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from amqp_sansio import AuthenticationRequested, Event, OpenRequested
from amqp_sansio.amqp_1_0 import Source, Target
from amqp_sansio.amqp_1_0.endpoint.config import Config
from amqp_sansio.amqp_1_0.endpoint.connection import Connection
from amqp_sansio.amqp_1_0.endpoint.events import Delivery, LinkRequested, SessionRequested
from amqp_sansio.endpoint import Side
from tests.kit.pair import Chunks, Joined, Observing

Application = Callable[[Connection, Event], None]


def client_config(**changes: Any) -> Config:
    """A client's configuration: no SASL, and what the test changes."""
    values: dict[str, Any] = {"container_id": "client", **changes}
    return Config(**values)


def server_config(**changes: Any) -> Config:
    """A server's configuration: no SASL, and what the test changes."""
    values: dict[str, Any] = {"container_id": "server", **changes}
    return Config(**values)


def connection_of(side: Side, config: Config | None = None) -> Connection:
    """A fresh endpoint."""
    if side is Side.CLIENT:
        return Connection.client(config or client_config())
    return Connection.server(config or server_config())


class Accepting:
    """An application that accepts everything: the client, its sessions and links, and every delivery.

    Each switch turns one habit off. `credit` is what an accepted receiving link is granted, again and again.
    """

    def __init__(
        self,
        *,
        login: bool = True,
        opening: bool = True,
        sessions: bool = True,
        links: bool = True,
        deliveries: bool = True,
        credit: int = 100,
    ) -> None:
        self.login = login
        self.opening = opening
        self.sessions = sessions
        self.links = links
        self.deliveries = deliveries
        self.credit = credit

    def __call__(self, connection: Connection, event: Event) -> None:
        match event:
            case AuthenticationRequested() if self.login:
                connection.accept_authentication()
            case OpenRequested() if self.opening:
                connection.accept_open()
            case SessionRequested(channel) if self.sessions:
                connection.session(channel).accept()
            case LinkRequested(channel, handle) if self.links:
                link: Any = connection.session(channel).link(handle)
                accept_link(link)
                if link.ROLE and self.credit:
                    link.flow(self.credit)
            case Delivery(channel, handle) if self.deliveries:
                receiver: Any = connection.session(channel).link(handle)
                if not event.settled:
                    receiver.accept(event)
                if self.credit:
                    receiver.top_up(self.credit)
            case _:
                pass


def accept_link(link: Any) -> None:
    """Answer a peer's attach; a dynamic node gets the link's name as its address."""
    asked = link.requested
    termini: dict[str, Any] = {}
    for name in ("source", "target"):
        terminus = getattr(asked, name)
        if isinstance(terminus, Source | Target) and terminus.dynamic:
            termini[name] = terminus.replace(address=f"dynamic-{link.name}")
    link.accept_attach(**termini)


def listen(connection: Connection, event: Event) -> None:
    """An application that only listens."""


class Pair(Joined[Connection]):
    """Endpoints of 1.0."""

    def __init__(
        self,
        *,
        client: Config | None = None,
        server: Config | None = None,
        applications: dict[Side, Application] | None = None,
        chunks: Chunks | None = None,
        observer: Observing | Iterable[Observing] | None = None,
    ) -> None:
        ends = connection_of(Side.CLIENT, client), connection_of(Side.SERVER, server)
        told: dict[Side, Application] = {Side.CLIENT: Accepting(), Side.SERVER: Accepting()}
        super().__init__(*ends, {**told, **(applications or {})}, chunks, observer)

    def session(self, side: Side = Side.CLIENT) -> Any:
        """A new session of one side, open at both ends."""
        session = self.ends[side].open_session()
        self.pump()
        assert session.is_open, self.events
        return session

    def peer(self, link: Any) -> Any:
        """The other end of a link that is attached on both."""
        session = link.session
        end = self.ends[session.connection.role.other]
        for channel in end.sessions:
            for other in end.session(channel).links:
                if other.name == link.name and other.ROLE != link.ROLE:
                    return other
        raise AssertionError(f"link {link.name} has no other end")

    def reconnect(self, client: Config | None = None, server: Config | None = None) -> Pair:
        """A new pair of connections with the same applications, at the same time."""
        again = Pair(
            client=client or self.client.config, server=server or self.server.config, applications=self.applications,
            chunks=self.chunks, observer=self.observers,
        )  # fmt: skip
        again.now = self.now
        return again


def held_octets(connection: Connection) -> int:
    """Octets that an endpoint keeps: unparsed, of deliveries under way, waiting to be sent, in events not yet taken."""
    # The gauge of the memory bounds reads what no application needs to see.
    inside: Any = connection
    total: int = len(inside._buffer) + inside._out.size + inside._sessions.transport.bodies
    for event in inside._events:
        total += len(getattr(event, "payload", b""))
    return total
