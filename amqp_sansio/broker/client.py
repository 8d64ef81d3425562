"""Client: the broker's end of one connection, which detects the client's version (an `Endpoint`)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from ..endpoint import CloseHint, Side
from ..events import NEED_DATA, Signal
from ..negotiation import Acceptor, Refused
from ..versions import HEADER_SIZE
from .frontends.registry import front_for
from .model.commands import SetWindow

if TYPE_CHECKING:
    from typing_extensions import Buffer

    from ..events import CloseReport
    from ..versions import Version
    from .frontends.frontend import Frontend, HubContext

_KEEP: Final = CloseHint.KEEP
_CLOSE_NOW: Final = CloseHint.CLOSE_NOW


class Client:
    """An `Endpoint` that handles its own events: `next_event()` does all pending work, and returns a Signal.

    `version` is None until the protocol header has arrived.
    """

    __slots__ = (
        "_acceptor",
        "_close_hint",
        "_early",
        "_patience",
        "_refusal",
        "_was_open",
        "front",
        "hub",
        "is_secure",
        "number",
        "peer_name",
        "version",
    )

    def __init__(self, hub: HubContext, number: int, *, is_secure: bool, peer_name: str) -> None:
        self.hub = hub
        self.number = number
        self.is_secure = is_secure
        self.peer_name = peer_name
        self.version: Version | None = None
        self.front: Frontend | None = None
        self._acceptor: Acceptor | None = Acceptor(hub.settings.configs_for(number, peer_name))
        self._refusal = b""
        self._close_hint = CloseHint.KEEP
        self._patience: float | None = None
        """Deadline for the protocol header, or for the client to read why its connection is closed."""
        self._was_open = False
        self._early = 0
        """Octets received before the login."""

    # The `Endpoint` methods.

    @property
    def role(self) -> Side:
        """The server's side."""
        return Side.SERVER

    def receive_data(self, data: Buffer, now: float) -> None:
        """Take octets received at `now` (seconds of the broker's clock)."""
        self.hub.now = max(now, self.hub.now)
        self.hub.counts.octets_in += memoryview(data).nbytes
        if not self._was_open:
            self._early += memoryview(data).nbytes
        if self.front is not None:
            self.front.connection.receive_data(data, now)
            return
        acceptor = self._acceptor
        if acceptor is None:
            return
        # The acceptor takes only the header's octets; the engine gets the rest.
        acceptor.receive_data(data, now)
        result = acceptor.result()
        if isinstance(result, Signal):
            return
        self._acceptor = None
        self._patience = None
        if isinstance(result, Refused):
            self._refusal = result.reply
            self._close_hint = CloseHint.CLOSE_WHEN_SENT
            return
        self.version = result.version
        self.front = front_for(self.hub, self.number, result.version, result.connection, self)
        self.hub.fronts[self.number] = self.front

    def receive_eof(self, now: float) -> None:
        """Handle the end of the client's octets."""
        self.hub.now = max(now, self.hub.now)
        if self.front is not None:
            self.front.connection.receive_eof(now)
        else:
            self._close_hint = CloseHint.CLOSE_NOW

    def connection_lost(self, reason: str, now: float) -> None:
        """Handle the loss of the transport."""
        self.hub.now = max(now, self.hub.now)
        self._acceptor = None
        self._patience = None
        if self.front is not None:
            self.front.connection.connection_lost(reason, now)
        self._close_hint = CloseHint.CLOSE_NOW

    def next_event(self) -> Signal:
        """Do the work that the received octets permit; what is over the budget of a turn is left to the hub's next."""
        front = self.front
        if front is not None:
            ledger = front.ledger
            was = ledger.in_turn, ledger.actor, ledger.room
            ledger.begin_turn(self.number)
            try:
                front.is_put_off = False
                front.take_events()
                if front.is_put_off:
                    self.hub.put_off(self)
                self._watch(front)
            finally:
                ledger.in_turn, ledger.actor, ledger.room = was
            self._wait(front)
            hint = self.close_hint
            if hint is _KEEP and not self._was_open and not self._room_for_login:
                reason = f"the client hasn't logged in with {self._early} octets"
                self.connection_lost(reason, self.hub.now)
                hint = _CLOSE_NOW
            if hint is _CLOSE_NOW:
                self.hub.forget(self.number)
        elif self._close_hint is CloseHint.CLOSE_NOW:
            self.hub.forget(self.number)
        return NEED_DATA

    def data_to_send(self, now: float, max_bytes: int | None = None) -> bytes:
        """Return the octets to write now."""
        self.hub.now = max(now, self.hub.now)
        front = self.front
        if front is None:
            if self._patience is None:
                self._patience = now + self.hub.settings.any_config.handshake_timeout
            data, self._refusal = self._refusal[:max_bytes], self._refusal[len(self._refusal[:max_bytes]) :]
            return data
        if self.number in front.ledger.busy:
            # Its answers are true once the work that its command has left is done.
            return b""
        octets: bytes = front.connection.data_to_send(now, max_bytes)
        self._watch(front)
        if octets:
            self.hub.counts.octets_out += len(octets)
            # The client reads.
            self._patience = None
            self._wait(front)
            if front.is_held_up and not front.is_behind:
                self.hub.touch(self.number)
        return octets

    def handle_timeout(self, now: float) -> None:
        """Handle heartbeats, silence, and slow opening and closing."""
        self.hub.now = max(now, self.hub.now)
        if self.front is not None:
            if self.hub.is_blocked and self.front.publishes:
                # Its octets are left unread, so its silence doesn't count.
                self.front.connection.receive_data(b"", now)
            self.front.connection.handle_timeout(now)
            if self._patience is not None and now >= self._patience:
                self._patience = None
                self.connection_lost("the client doesn't read why its connection is closed", now)
        elif self._patience is not None and now >= self._patience:
            self._acceptor = None
            self._close_hint = CloseHint.CLOSE_NOW

    @property
    def next_deadline(self) -> float | None:
        """When to call `handle_timeout`."""
        if self.front is None:
            return None if self._acceptor is None else self._patience
        deadline: float | None = self.front.connection.next_deadline
        patience = self._patience
        return patience if deadline is None or (patience is not None and patience < deadline) else deadline

    @property
    def receive_budget(self) -> int:
        """Octets that `receive_data` accepts now; 0 while the broker is full and this client publishes, and while the
        client doesn't read its answers."""
        front = self.front
        if front is None:
            return HEADER_SIZE if self._acceptor is not None else 0
        if (self.hub.is_blocked and front.publishes) or front.is_behind:
            return 0
        budget: int = front.connection.receive_budget
        return budget if self._was_open else min(budget, self._room_for_login)

    @property
    def close_hint(self) -> CloseHint:
        """Whether to close the transport."""
        if self.front is None or self._close_hint is _CLOSE_NOW:
            return self._close_hint
        hint: CloseHint = self.front.connection.close_hint
        return hint

    @property
    def send_backlog(self) -> int:
        """Octets waiting to be written."""
        if self.front is None:
            return len(self._refusal)
        backlog: int = self.front.connection.send_backlog
        return backlog

    def shut_down(self, text: str) -> None:
        """Close the connection, because the broker ends."""
        if self.front is None:
            self._acceptor = None
            self._close_hint = CloseHint.CLOSE_NOW
        else:
            self.front.shut_down(text)
        self.hub.touch(self.number)

    @property
    def is_behind(self) -> bool:
        """Whether its octets are left unread because it doesn't read. Its silence counts nevertheless."""
        return self.front is not None and self.front.is_behind

    # Properties that adapters read of every core.

    @property
    def report(self) -> CloseReport | None:
        """Why the connection ended, once it has; None if it never spoke a version."""
        report: CloseReport | None = None if self.front is None else self.front.connection.report
        return report

    @property
    def is_open(self) -> bool:
        """Whether the client has logged in, and neither end has closed the connection."""
        return self.front is not None and bool(self.front.connection.is_open)

    @property
    def config(self) -> Any:
        """Its engine's configuration, or before that of one of those possible."""
        return self.front.connection.config if self.front is not None else self.hub.settings.any_config

    # Internals.

    @property
    def _room_for_login(self) -> int:
        """Octets that may still arrive before the login; positive after it."""
        return 1 if self._was_open else max(0, self.hub.settings.limits.login - self._early)

    def _wait(self, front: Frontend) -> None:
        """Give the client `close_timeout` to read something once the connection is being closed; the engine's own
        timeout starts when the close has been sent."""
        connection = front.connection
        if connection.is_open:
            self._was_open = True
        elif self._was_open and self._patience is None and connection.send_backlog:
            self._patience = self.hub.now + connection.config.close_timeout

    def _watch(self, front: Frontend) -> None:
        """Refill the gate when the client has read most of its deliveries; until then, messages wait in queues."""
        left = front.gate.octets
        limits = self.hub.settings.limits
        if left is None or left > limits.backlog_high // 2:
            return
        backlog = front.connection.send_backlog
        if backlog <= limits.backlog_low:
            ledger = front.ledger
            was = ledger.in_turn, ledger.actor, ledger.room
            if not ledger.in_turn:
                ledger.begin_turn(self.number)
            try:
                self.hub.apply(SetWindow(front.gate, None, limits.backlog_high - backlog))
                self.hub.settle()
                front.caught_up()
            finally:
                if not was[0]:
                    ledger.end_turn()
            self.hub.touch(self.number)


__all__ = ["Client"]
