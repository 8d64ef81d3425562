"""Wire for AMQP 0-10: a client's connection over TCP that opens sessions, asks and waits, is recorded and cut."""

from __future__ import annotations

import pickle
import socket
from typing import TYPE_CHECKING, Any, TypeVar

from amqp_sansio import Failed
from amqp_sansio import amqp_0_10 as amqp
from amqp_sansio_asyncio import Recorder
from tests.kit.wire import Wire

if TYPE_CHECKING:
    from typing_extensions import Buffer

R = TypeVar("R")


class Wire010(Wire[amqp.Connection]):
    """A client's connection over TCP."""

    def __init__(self, config: amqp.Config, host: str, port: int, recorder: Recorder | None = None) -> None:
        super().__init__(amqp.Connection.client(config), host, port)
        if recorder is not None:
            self.socket = _RecordedSocket(self.socket, recorder)
        self._serial = 0

    def session(self, name: bytes | str | None = None, **options: Any) -> amqp.Session:
        """A session that is attached and in step. Raises what the attach failed with."""
        session = self.connection.open_session(name, **options)
        assert session.opening is not None
        found: amqp.Session = self.result(session.opening)
        return found

    def resume(self, state: amqp.SessionState, *, force: bool = True) -> amqp.Session:
        """A session that goes on. Raises what it failed with."""
        session = self.connection.resume_session(state, force=force)
        assert session.opening is not None
        found: amqp.Session = self.result(session.opening)
        return found

    def call(self, session: amqp.Session, command: amqp.Command[R], **options: Any) -> R:
        """Send a command and wait for it; its result. Raises what it failed with."""
        found: R = self.result(session.call(command, **options))
        return found

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
        accept_mode: int = amqp.EXPLICIT,
        acquire_mode: int = amqp.PRE_ACQUIRED,
        flow_mode: int = amqp.WINDOW,
        credit: int = 0,
        octets: int | None = None,
        **options: Any,
    ) -> str:
        """A subscription, with credit when some is given; its destination."""
        self._serial += 1
        destination = destination or f"subscription-{self._serial}"
        self.call(session, amqp.MessageSubscribe(queue, destination, accept_mode, acquire_mode, **options))
        if flow_mode != amqp.WINDOW:
            self.call(session, amqp.MessageSetFlowMode(destination, flow_mode))
        if credit:
            session.top_up(destination, credit, octets)
            self.sync(session)
        return destination

    def message(self, session: amqp.Session, destination: str, timeout: float = 20.0) -> amqp.MessageReceived:
        """Take the oldest message of a subscription, waiting for it."""
        self.flush()
        self.until(lambda: bool(self.arrived(session, destination)) or session.report is not None, timeout)
        assert session.report is None, session.report
        found = self.arrived(session, destination)[0]
        # By identity: equal ones may follow.
        self.events = [event for event in self.events if event is not found]
        return found

    def arrived(self, session: amqp.Session, destination: str) -> list[amqp.MessageReceived]:
        """The messages of a subscription that were seen, and not taken by `message`."""
        messages = [event for event in self.events if isinstance(event, amqp.MessageReceived)]
        place = (session.channel, destination)
        return [event for event in messages if (event.channel, event.destination) == place]

    def fetch(self, session: amqp.Session, destination: str, most: int = 1000) -> list[amqp.MessageReceived]:
        """What there is for a subscription now, at most so many: credit, then message.flush, which takes it back."""
        session.top_up(destination, most)
        self.call(session, amqp.MessageFlush(destination))
        found = self.arrived(session, destination)
        self.events = [event for event in self.events if not any(event is each for each in found)]
        return found

    def streamed(self) -> tuple[amqp.MessageBegun, bytes]:
        """The next message that comes in pieces, and its body."""
        begun = self.next(amqp.MessageBegun)
        body = b""
        while True:
            piece = self.next(amqp.BodyReceived)
            assert piece.command_id == begun.command_id
            body += piece.octets
            if piece.last:
                return begun, body

    def drain(self, session: amqp.Session, queue: str) -> list[bytes]:
        """What is in a queue, taken out of it."""
        destination = self.subscribe(session, queue)
        found = self.fetch(session, destination)
        if found:
            self.result(session.accept(*[event.command_id for event in found], sync=True))
        self.call(session, amqp.MessageCancel(destination))
        return [event.body for event in found]

    def session_closed(self, session: amqp.Session) -> amqp.SessionClosed:
        """Wait for the session's last event."""
        self.flush()
        self.until(lambda: bool(self._closed(session)))
        return self._closed(session)[-1]

    def session_closed_already(self, session: amqp.Session) -> amqp.SessionClosed:
        """The session's last event, which was told."""
        return self._closed(session)[-1]

    def _closed(self, session: amqp.Session) -> list[amqp.SessionClosed]:
        closed = [event for event in self.events if isinstance(event, amqp.SessionClosed)]
        return [event for event in closed if event.name == session.name]

    def failures(self) -> list[Failed]:
        """The failures that were told so far."""
        return [event for event in self.events if isinstance(event, Failed)]


class _RecordedSocket(socket.socket):
    """A connected socket that tells a recorder what passes."""

    def __init__(self, connected: socket.socket, recorder: Recorder) -> None:
        # With the port of AMQP, so that analysers know the protocol.
        names = connected.getsockname(), (connected.getpeername()[0], 5672)
        family, kind, protocol = connected.family, connected.type, connected.proto
        super().__init__(family, kind, protocol, connected.detach())
        self.recorded = recorder.open(*names)

    def recv(self, size: int, flags: int = 0, /) -> bytes:
        data = super().recv(size, flags)
        self.recorded.server_sent(data)
        return data

    def sendall(self, data: Buffer, flags: int = 0, /) -> None:
        super().sendall(data, flags)
        self.recorded.client_sent(bytes(data))

    def close(self) -> None:
        super().close()
        self.recorded.close("client")


def saved(session: amqp.Session) -> amqp.SessionState:
    """What is known of a session, as another process would find it."""
    state = pickle.loads(pickle.dumps(session.detached_state()))
    assert isinstance(state, amqp.SessionState)
    return state
