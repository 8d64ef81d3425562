"""What tests do on sessions of 0-10, over a hub in memory and over a socket: they send commands, and wait for each."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, TypeVar

from amqp_sansio import Pending
from amqp_sansio import amqp_0_10 as amqp
from amqp_sansio.amqp_0_10 import spec

R = TypeVar("R")


class Sessions(ABC):
    """A client that waits: `result` is the answer of a call, `got` takes the messages of a subscription that came."""

    connection: amqp.Connection

    @abstractmethod
    def result(self, handle: Pending[R]) -> R:
        """What a handle ends with. Raises its error."""

    @abstractmethod
    def got(self, session: amqp.Session, destination: str) -> list[amqp.MessageReceived]:
        """Take the messages of a subscription that have come."""

    @abstractmethod
    def new_destination(self) -> str:
        """The name of a subscription that the test doesn't name."""

    def session(self, name: bytes | str | None = None, **options: Any) -> amqp.Session:
        """A session that is attached and in step. Raises what the attach failed with."""
        return self._opened(self.connection.open_session(name, **options))

    def resume(self, state: amqp.SessionState, *, force: bool = True) -> amqp.Session:
        """A session that goes on. Raises what it failed with."""
        return self._opened(self.connection.resume_session(state, force=force))

    def _opened(self, session: amqp.Session) -> amqp.Session:
        assert session.opening is not None
        self.result(session.opening)
        return session

    def call(self, session: amqp.Session, command: spec.Command[R], message: amqp.Message | None = None) -> R:
        """Send a command and wait for it; its result. Raises what it failed with."""
        return self.result(session.call(command, message))

    def sync(self, session: amqp.Session) -> None:
        """Wait until everything that was sent before is executed."""
        self.result(session.sync())

    def publish(self, session: amqp.Session, destination: str, message: amqp.Message | bytes, **options: Any) -> Any:
        """Send a message and wait; its outcome, None with accept-mode none."""
        sent = session.transfer(destination, message, sync=True, **options)
        self.result(sent.completion)
        return None if sent.outcome is None else self.result(sent.outcome)

    def subscribe(
        self,
        session: amqp.Session,
        queue: str,
        destination: str = "",
        *,
        accept_mode: int = amqp.spec.EXPLICIT,
        acquire_mode: int = amqp.spec.PRE_ACQUIRED,
        flow_mode: int = amqp.spec.WINDOW,
        credit: int = 0,
        octets: int | None = None,
        **options: Any,
    ) -> str:
        """A subscription, with credit when some is given; its destination."""
        destination = destination or self.new_destination()
        self.call(session, spec.MessageSubscribe(queue, destination, accept_mode, acquire_mode, **options))
        if flow_mode != amqp.spec.WINDOW:
            self.call(session, spec.MessageSetFlowMode(destination, flow_mode))
        if credit:
            session.top_up(destination, credit, octets)
            self.sync(session)
        return destination

    def fetch(self, session: amqp.Session, destination: str, most: int = 1000) -> list[amqp.MessageReceived]:
        """What there is for a subscription now, at most so many: credit, then message.flush, which takes it back."""
        session.top_up(destination, most)
        self.call(session, spec.MessageFlush(destination))
        return self.got(session, destination)

    def drain(self, session: amqp.Session, queue: str) -> list[bytes]:
        """What is available in a queue, taken out of it."""
        destination = self.subscribe(session, queue, f"drain of {queue}")
        found = self.fetch(session, destination, 1_000_000)
        if found:
            self.result(session.accept(*[each.command_id for each in found], sync=True))
        self.call(session, spec.MessageCancel(destination))
        return [each.body for each in found]
