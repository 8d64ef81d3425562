"""Pair of 0-10: with sessions, and watched by an observer where a test asks for it."""

from typing import Any, Final

from amqp_sansio import Side, Signal
from amqp_sansio import amqp_0_10 as amqp
from amqp_sansio.observer import Observer, Violation
from tests.kit import pair
from tests.kit.versions import KIT_0_10

client_config: Final = KIT_0_10.client_config
server_config: Final = KIT_0_10.server_config


class Watch:
    """An observer beside a pair; `violations` are the broken rules that it has seen."""

    def __init__(self) -> None:
        self.violations: list[Violation] = []
        self._observer = Observer(client=Side.CLIENT.value)

    def receive_data(self, data: bytes, sender: str, at_ns: int) -> None:
        """Octets were sent."""
        self._observer.receive_data(data, sender, at_ns)
        self._take()

    def finish(self, at_ns: int) -> None:
        """No more will come."""
        self._observer.finish(at_ns)
        self._take()

    def _take(self) -> None:
        while not isinstance(event := self._observer.next_event(), Signal):
            if isinstance(event, Violation):
                self.violations.append(event)


class Pair(pair.Pair[amqp.Connection]):
    """Endpoints of 0-10. With `watched` an observer sees what is sent, and notes `violations`."""

    def __init__(self, *, watched: bool = False, **options: Any) -> None:
        """As any pair; `options` are those of the base."""
        self._watch = Watch() if watched else None
        super().__init__(KIT_0_10, observer=self._watch, **options)

    @property
    def violations(self) -> list[Violation]:
        """The rules that were seen broken."""
        assert self._watch is not None, "nobody watches"
        return self._watch.violations

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

    def cut(self, *arriving: int, lose: bool = True, reason: str = "reset") -> None:
        """As the base's, and the observer knows the end."""
        super().cut(*arriving, lose=lose, reason=reason)
        if self._watch is not None:
            self._watch.finish(round(self.now * 1_000_000_000))
