"""Facing of 0-10: with sessions, subscriptions, and what must come of a fault; `octets_0_10` writes what it gets."""

# The id of a command isn't on the wire, and no handle shows it.
# pyright: reportPrivateUsage=false
from __future__ import annotations

from typing import TYPE_CHECKING, Any

from amqp_sansio import By, Failed, RemoteProtocolError, Scope
from amqp_sansio import amqp_0_10 as amqp
from amqp_sansio.amqp_0_10 import spec
from amqp_sansio.endpoint import Side
from amqp_sansio.sasl import Plain
from tests.kit import facing
from tests.kit.facing import CLIENT, SERVER
from tests.kit.octets_0_10 import (
    HEADER,
    Sent,
    attach,
    attached,
    command_point,
    completed,
    detached,
    expected,
    flow,
    open_,
    open_ok,
    parse,
    request_timeout,
    routed,
    start,
    start_ok,
    subscribe,
    timeout,
    transfer,
    tune,
    tune_ok,
)
from tests.kit.versions import KIT_0_10

if TYPE_CHECKING:
    from typing import Self


class Facing(facing.Facing[amqp.Connection]):
    """An endpoint of 0-10."""

    def __init__(self, side: Side, config: amqp.Config | None = None) -> None:
        """An endpoint whose peer has sent nothing yet."""
        super().__init__(KIT_0_10, side, config or (client_config() if side is CLIENT else server_config()))

    @classmethod
    def started(cls, side: Side, config: amqp.Config | None = None) -> Self:
        """An endpoint that has its peer's header; a client has start too."""
        facing = cls(side, config)
        facing.feed(HEADER + start() if side is CLIENT else HEADER)
        return facing.forget()

    @classmethod
    def tuned(cls, side: Side, config: amqp.Config | None = None) -> Self:
        """An endpoint that waits for connection.tune or tune-ok."""
        facing = cls.started(side, config)
        if side is SERVER:
            facing.feed(start_ok())
            facing.end.accept_authentication()
        return facing.forget()

    @classmethod
    def opened(cls, side: Side, config: amqp.Config | None = None, tuning: bytes | None = None) -> Self:
        """An endpoint of an open connection; `tuning` is the tune or tune-ok that it got."""
        facing = cls.tuned(side, config)
        if side is CLIENT:
            facing.feed((tune() if tuning is None else tuning) + open_ok())
        else:
            facing.feed((tune_ok() if tuning is None else tuning) + open_())
            facing.end.accept_open()
            facing.settle()
        assert facing.end.is_open, facing.events
        return facing.forget()

    @classmethod
    def attached(
        cls,
        side: Side,
        config: amqp.Config | None = None,
        *,
        name: bytes = b"s",
        keep: int | None = 0,
        point: bytes = b"",
    ) -> Self:
        """An endpoint with a session on channel 0, in step both ways; `keep` is its timeout.

        `point` stands instead of the peer's command-point.
        """
        facing = cls.opened(side, config)
        if side is CLIENT:
            facing.end.open_session(name, timeout=keep)
            facing.feed(attached(name) + expected() + (point or command_point()))
            if keep != 0:
                facing.feed(timeout(keep))
        else:
            facing.feed(attach(name))
            facing.end.accept_session(0)
            facing.feed(request_timeout(keep) + (point or command_point()))
        assert facing.session.is_attached, facing.events
        return facing.forget()

    @classmethod
    def accepted(cls, config: amqp.Config | None = None, state: amqp.SessionState | None = None) -> Self:
        """A server that has let a client attach a session, which has sent nothing on it yet."""
        facing = cls.opened(SERVER, config)
        facing.feed(attach())
        facing.end.accept_session(0, state)
        return facing.forget()

    @classmethod
    def subscribed(cls, side: Side = CLIENT, config: amqp.Config | None = None, **options: Any) -> Self:
        """An attached endpoint with the subscription "d", whose id is 0; a client has granted no credit yet."""
        facing = cls.attached(side, config, **options)
        if side is CLIENT:
            facing.session.call(spec.MessageSubscribe("q", "d", 0, 0))
            facing.feed(completed(0))
        else:
            facing.feed(subscribe())
            facing.session.complete(0)
        return facing.forget()

    @property
    def session(self) -> amqp.Session:
        """The session on channel 0."""
        return self.end.session(0)

    def pending(self) -> int:
        """How many handles of the session on channel 0 aren't done."""
        return len(self.session.pending)

    def sent(self) -> list[Sent]:
        """What was written since `forget`."""
        self.settle()
        return parse(self.out)

    def records(self) -> list[Any]:
        """The controls and commands written since `forget`."""
        return [each.record for each in self.sent()]

    @property
    def last_id(self) -> int:
        """The id of the last command that the session on channel 0 has sent."""
        return self.session._state.sending.next_id - 1

    def complete_all(self) -> None:
        """Complete all commands of the peer that have no result."""
        for number in self.session.incomplete:
            self.session.complete(number)
        self.settle()

    # What becomes of faults.

    def ends(self, rule: str | None, by: By = By.LOCAL) -> RemoteProtocolError:
        """As the base's, without a word."""
        error = super().ends(rule, by)
        assert (error.code, self.out) == (0, b"")
        return error

    def excepts(self, code: int, rule: str | None, number: int | None, command_code: int | None) -> RemoteProtocolError:
        """Check that the endpoint found a fault in a command, and ended the session with an exception."""
        error = self.fault(Scope.SESSION, rule)
        assert (error.code, self.of(Failed)[0].channel) == (code, 0), error
        assert self.end.is_open
        self.gives_up(code, number, command_code)
        return error

    def gives_up(self, code: int, number: int | None, command_code: int | None, field: int | None = None) -> None:
        """Check that the endpoint sent an exception, and what has to follow it; then let the peer answer."""
        told, forgets, leaves = self.sent()[-3:]
        names = [each.name for each in (told, forgets, leaves)]
        assert names == ["execution.exception", "session.request-timeout", "session.detach"]
        found = told.record
        assert (found.error_code, found.command_id, found.field_index) == (code, number, field)
        class_code = None if command_code is None else command_code >> 8
        assert found.class_code == class_code
        assert found.command_code == (None if command_code is None else command_code & 0xFF)
        assert found.description
        assert forgets.record.timeout == 0
        name = self.session.name
        assert leaves.record.name == name
        self.feed(timeout(0) + detached(name))
        closed = self.of(amqp.SessionClosed)[-1]
        assert (closed.name, closed.report.code, closed.resumable) == (name, code, False)
        assert closed.report.by is By.LOCAL
        assert 0 not in self.end.sessions

    def asked(self) -> Any:
        """The last command that waits for its completion."""
        return self.of(amqp.CommandReceived)[-1]

    def requested(self) -> amqp.SessionRequested:
        """The last session that the peer wants attached."""
        found: amqp.SessionRequested = self.of(amqp.SessionRequested)[-1]
        return found


def fed(count: int = 1, *, accept_mode: int = 0, acquire_mode: int = 0, **options: Any) -> Facing:
    """A client with the subscription "d", credit for it, and messages that have come; their ids are 0 and on."""
    facing = Facing.subscribed(CLIENT, **options)
    facing.session.top_up("d", 100)
    for place in range(count):
        facing.feed(transfer("d", b"%d" % place, accept_mode=accept_mode, acquire_mode=acquire_mode, header=routed()))
    assert len(facing.of(amqp.MessageReceived)) == count
    return facing.forget()


def sending(count: int = 1, *, acquire_mode: int = 0, accept_mode: int = 0) -> tuple[Facing, list[amqp.Transferred]]:
    """A strict server that has sent messages to the subscription "d"; their ids are 0 and on."""
    facing = Facing.subscribed(SERVER, server_config(lenient_accepts=False))
    facing.feed(flow("d", 0, None) + flow("d", 1, None))
    sent = [
        facing.session.transfer("d", b"x", acquire_mode=acquire_mode, accept_mode=accept_mode) for _ in range(count)
    ]
    return facing.forget(), sent


def client_config(**changes: Any) -> amqp.Config:
    """A client's configuration: PLAIN, and what the test changes."""
    values: dict[str, Any] = {"sasl": Plain("ann", "pw"), "vhost": "/", "heartbeat": 0, **changes}
    return amqp.Config(**values)


def server_config(**changes: Any) -> amqp.Config:
    """A server's configuration: PLAIN, 16 channels, and what the test changes."""
    values: dict[str, Any] = {"channel_max": 16, **changes}
    return amqp.Config(**values)
