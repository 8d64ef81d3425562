"""Pair: a client and a server of AMQP 0-10 joined in memory, whose transport can be cut at any octet."""

from collections.abc import Callable
from typing import Any

from amqp_sansio import AuthenticationRequested, Event, Observer, OpenRequested, Side, Signal
from amqp_sansio.amqp_0_10 import Config, Connection
from amqp_sansio.observer import Observed, Violation
from amqp_sansio.sasl import Plain
from tests.kit.pair import Chunks, Joined


def client_config(**changes: Any) -> Config:
    """A client's configuration, and what the test changes."""
    values: dict[str, Any] = {"sasl": Plain("guest", "guest"), "session_prefix": "s-", **changes}
    return Config(**values)


def server_config(**changes: Any) -> Config:
    """A server's configuration, and what the test changes."""
    return Config(**changes)


def connection_of(side: Side, config: Config | None = None) -> Connection:
    """A fresh endpoint."""
    if side is Side.CLIENT:
        return Connection.client(config or client_config())
    return Connection.server(config or server_config())


class Pair(Joined[Connection]):
    """Endpoints of 0-10, whose server lets everybody in.

    `application` hears each event. With `watched` an observer sees what is sent: `units` and `violations`.
    """

    def __init__(
        self,
        *,
        client: Config | None = None,
        server: Config | None = None,
        chunks: Chunks | None = None,
        watched: bool = False,
    ) -> None:
        self.application: Callable[[Side, Event], None] | None = None
        self.observer = Observer(client="client") if watched else None
        self.units: list[Observed] = []
        self.violations: list[Violation] = []
        ends = connection_of(Side.CLIENT, client), connection_of(Side.SERVER, server)
        super().__init__(*ends, {}, chunks, self.observer)

    def sessions(self, name: str = "s", *, timeout: int | None = 60, now: bool = True) -> tuple[Any, Any]:
        """Both ends of a new session; `now`: in step already."""
        session = self.client.open_session(name, timeout=timeout)
        self.pump()
        other = self.server.accept_session(session.channel)
        if now:
            self.pump()
            assert session.is_attached
            assert other.is_attached
        return session, other

    def hear(self, side: Side, event: Event) -> None:
        """Each event, before the next one is taken."""
        self.events[side].append(event)
        if isinstance(event, AuthenticationRequested):
            self.ends[side].accept_authentication()
        elif isinstance(event, OpenRequested):
            self.ends[side].accept_open()
        if self.application is not None:
            self.application(side, event)

    def write(self, side: Side, max_bytes: int | None = None) -> bool:
        """As the base's, and takes what the observer says."""
        wrote = super().write(side, max_bytes)
        self._watch()
        return wrote

    def _watch(self) -> None:
        if self.observer is None:
            return
        while not isinstance(event := self.observer.next_event(), Signal):
            if isinstance(event, Observed):
                self.units.append(event)
            elif isinstance(event, Violation):
                self.violations.append(event)

    def cut(self, *arriving: int, lose: bool = True, reason: str = "reset") -> None:
        """As the base's, and the observer knows the end."""
        super().cut(*arriving, lose=lose, reason=reason)
        if self.observer is not None:
            self.observer.finish(round(self.now * 1_000_000_000))
            self._watch()
