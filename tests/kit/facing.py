"""Facing: one real endpoint of any version that faces a peer whose octets the test makes up."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, Generic, Self

import pytest

from amqp_sansio import By, Closed, CloseHint, Event, Failed, RemoteProtocolError, Scope, Signal
from amqp_sansio.endpoint import Side
from tests.kit.pair import Pair
from tests.kit.versions import Application, C, VersionKit, is_said

CLIENT: Final = Side.CLIENT
SERVER: Final = Side.SERVER
BOTH_SIDES: Final = pytest.mark.parametrize("side", [CLIENT, SERVER], ids=lambda side: side.value)


class Facing(Generic[C]):
    """An endpoint of any version, and what came of the octets that it was fed; a version's own Facing adds its checks.

    Its peer has sent nothing yet, or was the other end of `pair` until now. `events` are all that were taken since
    `forget`, `out` the octets it wrote since then, `fed` how many octets it got from its peer in its life.
    """

    def __init__(
        self,
        kit: VersionKit[C],
        side: Side,
        config: Any = None,
        *,
        application: Application[C] | None = None,
        pair: Pair[C] | None = None,
    ) -> None:
        self.kit = kit
        self.side = side
        self.end = pair.ends[side] if pair else kit.end(side, config)
        self.now = pair.now if pair else 0.0
        self.fed = len(pair.sent[side.other]) if pair else 0
        self.events: list[Event] = []
        self.out = b""
        self.backlog_at_failure = -1
        self.application = application
        self.settle()

    def hint(self) -> CloseHint:
        """What the endpoint wants done with the transport."""
        return self.end.close_hint

    def feed(self, *pieces: bytes) -> list[Event]:
        """Let octets arrive, take all events, let the endpoint write; gives the new events."""
        known = len(self.events)
        for piece in pieces:
            self.fed += len(piece)
            self.end.receive_data(piece, self.now)
            self.settle()
        return self.events[known:]

    def settle(self) -> None:
        """Take what events there are, then let the endpoint write."""
        while not isinstance(event := self.end.next_event(), Signal):
            self.events.append(event)
            if isinstance(event, Failed):
                self.backlog_at_failure = self.end.send_backlog
            if self.application is not None:
                self.application(self.end, event)
        self.out += self.end.data_to_send(self.now)

    def wait(self, seconds: float) -> None:
        """Let time pass in which the peer is silent, serving the endpoint's deadlines."""
        until = self.now + seconds
        while (deadline := self.end.next_deadline) is not None and deadline <= until:
            self.now = max(self.now, deadline)
            self.end.handle_timeout(self.now)
            self.settle()
        self.now = until

    def forget(self) -> Self:
        """Begin anew with events and octets."""
        self.settle()
        self.events.clear()
        self.out = b""
        return self

    def sent(self) -> Sequence[Any]:
        """The headers and frames written since `forget`, each with a `name`."""
        return self.kit.parse(self.out)

    def names(self) -> list[str]:
        """What was written since `forget`, by name."""
        return [each.name for each in self.sent()]

    def of(self, kind: type[Any]) -> list[Any]:
        """The events of one class since `forget`."""
        return [event for event in self.events if isinstance(event, kind)]

    # What becomes of faults.

    def fault(self, scope: Scope, rule: str | None, kind: type[Any] = Failed, by: By = By.LOCAL) -> RemoteProtocolError:
        """Check that there was one fault, of that scope, which `by` found; `rule` is without the version."""
        (failed,) = self.of(kind)
        error = failed.error
        assert isinstance(error, RemoteProtocolError)
        assert (failed.by, failed.scope) == (by, scope), failed
        assert error.rule == (None if rule is None else self.kit.rule(rule)), error
        return error

    def ends(self, rule: str | None, by: By = By.LOCAL) -> RemoteProtocolError:
        """Check that there was a fault before any frame could say so, and that the transport is to be closed."""
        error = self.fault(Scope.CONNECTION, rule, by=by)
        assert isinstance(self.events[-1], Closed)
        assert self.end.close_hint is not CloseHint.KEEP
        return error

    def closes(self, said: int | str, rule: str | None) -> RemoteProtocolError:
        """Check that the endpoint found a fault, told it with a close, and ends at the peer's answer.

        `said` is the close's code, or its condition.
        """
        error = self.fault(Scope.CONNECTION, rule)
        assert is_said(error, said), error
        assert self.kit.read_close(self.sent()[-1]) == said
        assert self.hint() is CloseHint.KEEP
        assert not self.end.is_open
        self.forget()
        self.feed(self.kit.close_ok)
        closed = self.of(Closed)[-1]
        assert closed.scope is Scope.CONNECTION
        assert closed.report.by is By.LOCAL
        assert is_said(closed.report, said), closed
        assert self.hint() is CloseHint.CLOSE_WHEN_SENT
        assert self.out == b""
        return error
