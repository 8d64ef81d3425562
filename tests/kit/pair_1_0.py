"""Pair of 1.0: with sessions and links."""

from __future__ import annotations

from typing import Any, Final

from amqp_sansio import amqp_1_0 as amqp
from amqp_sansio.endpoint import Side
from tests.kit import pair
from tests.kit.versions import KIT_1_0

client_config: Final = KIT_1_0.client_config
server_config: Final = KIT_1_0.server_config


class Pair(pair.Pair[amqp.Connection]):
    """Endpoints of 1.0, which log in without SASL."""

    def __init__(self, **options: Any) -> None:
        """As any pair; `options` are those of the base."""
        super().__init__(KIT_1_0, **options)

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

    def reconnect(self, client: amqp.Config | None = None, server: amqp.Config | None = None) -> Pair:
        """A new pair of connections with the same applications, at the same time."""
        again = Pair(
            client=client or self.client.config,
            server=server or self.server.config,
            applications=self.applications,
            chunks=self.chunks,
            observer=self.observers,
        )
        again.now = self.now
        return again


def held_octets(connection: amqp.Connection) -> int:
    """Octets that an endpoint keeps: unparsed, of deliveries under way, waiting to be sent, in events not yet taken."""
    # The gauge of the memory bounds reads what no application needs to see.
    inside: Any = connection
    total: int = len(inside._buffer) + inside._out.size + inside._sessions.transport.bodies
    for event in inside._events:
        total += len(getattr(event, "payload", b""))
    return total
