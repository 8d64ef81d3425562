"""Wire for AMQP 0-10: a client's connection over TCP that opens sessions, asks and waits, is recorded and cut."""

from __future__ import annotations

import pickle
import socket
from typing import TYPE_CHECKING, TypeVar

from amqp_sansio import Failed
from amqp_sansio import amqp_0_10 as amqp
from amqp_sansio_asyncio import Recorder
from tests.kit.sessions_0_10 import Sessions
from tests.kit.wire import Wire

if TYPE_CHECKING:
    from typing_extensions import Buffer

R = TypeVar("R")


class Wire010(Wire[amqp.Connection], Sessions):
    """A client's connection over TCP."""

    def __init__(self, config: amqp.Config, host: str, port: int, recorder: Recorder | None = None) -> None:
        super().__init__(amqp.Connection.client(config), host, port)
        if recorder is not None:
            self.socket = _RecordedSocket(self.socket, recorder)
        self._serial = 0

    def new_destination(self) -> str:
        self._serial += 1
        return f"subscription-{self._serial}"

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

    def got(self, session: amqp.Session, destination: str) -> list[amqp.MessageReceived]:
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
