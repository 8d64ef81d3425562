"""A message node on the core as an AMQP 0-10 server: real sockets, one thread, queues made when they are named.

What is published goes to the queue that its routing key names. Sessions with a timeout are kept when their connection
is lost, and go on where they were. Anybody is let in.
"""

from __future__ import annotations

import selectors
import socket
import threading
import time
from collections import defaultdict, deque
from contextlib import suppress
from typing import Any

from amqp_sansio import (
    Abandoned,
    Accepted,
    AuthenticationRequested,
    CloseHint,
    EndpointClosed,
    Event,
    Failed,
    Handle,
    OpenRequested,
    Settled,
    Signal,
)
from amqp_sansio.amqp_0_10 import (
    CommandReceived,
    Config,
    Connection,
    DetachCode,
    Message,
    MessageCancel,
    MessageFlush,
    MessageReceived,
    MessageSubscribe,
    Rejected,
    Session,
    SessionClosed,
    SessionRequested,
    SessionState,
)


class _Peer:
    """One connection: the core's end, the socket, and its sessions by their names."""

    def __init__(self, node: ServerNode010, transport: socket.socket, config: Config) -> None:
        self.node = node
        self.transport = transport
        self.connection = Connection.server(config)
        self.sessions: dict[bytes, Session] = {}
        self.out = b""
        self.is_gone = False

    def read(self) -> None:
        connection = self.connection
        try:
            octets = self.transport.recv(min(connection.receive_budget, 65_536))
        except BlockingIOError:
            return
        except OSError as error:
            connection.connection_lost(str(error), time.monotonic())
            return
        if octets:
            connection.receive_data(octets, time.monotonic())
        else:
            connection.receive_eof(time.monotonic())

    def pump(self) -> None:
        """Take all events, deliver what there is, write what can be written."""
        self.take_events()
        for session in list(self.sessions.values()):
            self.node.deliver(session)
        try:
            self.write()
        except BlockingIOError:
            return
        except OSError as error:
            self.connection.connection_lost(str(error), time.monotonic())
            self.take_events()
        self.is_gone = self.connection.close_hint is not CloseHint.KEEP

    def take_events(self) -> None:
        while not isinstance(event := self.connection.next_event(), Signal):
            self.handle(event)

    def write(self) -> None:
        connection = self.connection
        while self.out or connection.send_backlog:
            self.out = self.out or connection.data_to_send(time.monotonic(), 65_536)
            self.out = self.out[self.transport.send(self.out) :]

    def steal(self) -> None:
        """Another connection wants a session of this one."""
        self.connection.connection_lost("stolen", time.monotonic())
        self.pump()
        self.is_gone = True

    def handle(self, event: Event) -> None:
        connection = self.connection
        match event:
            case AuthenticationRequested():
                connection.accept_authentication()
            case OpenRequested():
                connection.accept_open()
            case SessionRequested(channel, name, force):
                self.attach(channel, name, force)
            case SessionClosed():
                session = self.sessions.pop(event.name, None)
                if session is not None and event.resumable:
                    self.node.kept[event.name] = session.detached_state()
            case MessageReceived():
                self.keep(connection.session(event.channel), event)
            case CommandReceived(channel):
                self.execute(connection.session(channel), event)
            case Settled(handles, state):
                for handle in handles:
                    self.node.settled(handle, state)
            case Abandoned(handles, _):
                for handle in handles:
                    self.node.settled(handle, None)
            case Failed():
                self.node.failures.append(event)
                for handle in event.handles:
                    self.node.settled(handle, None)
            case _:
                pass

    def attach(self, channel: int, name: bytes, force: bool) -> None:
        owner = self.node.owner(name)
        if owner is not None and owner is not self:
            if not force:
                self.connection.refuse_session(channel, DetachCode.SESSION_BUSY)
                return
            owner.steal()
        with suppress(
            EndpointClosed
        ):  # Its connection was lost behind the request; the state stays kept.
            session = self.connection.accept_session(channel, self.node.kept.get(name))
            self.node.kept.pop(name, None)
            self.sessions[name] = session

    def keep(self, session: Session, event: MessageReceived) -> None:
        properties = event.message.delivery_properties
        self.node.queues[properties.routing_key or ""].append(event.message)
        if event.accepts:
            session.accept(event.command_id)
        else:
            session.complete(event.command_id)

    def execute(self, session: Session, event: CommandReceived) -> None:
        command: Any = event.command
        subscriptions = self.node.subscriptions[session.name]
        if isinstance(command, MessageSubscribe):
            subscriptions[command.destination or ""] = command.queue or ""
        elif isinstance(command, MessageCancel):
            del subscriptions[command.destination or ""]
        elif isinstance(command, MessageFlush):
            self.node.deliver(session)
        session.complete(event.command_id)


class ServerNode010:
    """Runs in a thread while the block lasts; `queues` holds what was published and isn't taken."""

    def __init__(self, config: Config | None = None) -> None:
        self.config = config or Config()
        self.queues: defaultdict[str, deque[Message]] = defaultdict(deque)
        self.subscriptions: defaultdict[bytes, dict[str, str]] = defaultdict(dict)
        self.delivered: dict[Handle[Any], tuple[str, Message]] = {}
        self.kept: dict[bytes, SessionState] = {}
        self.failures: list[Failed] = []
        self.failure: BaseException | None = None
        self._peers: list[_Peer] = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._listener.setblocking(False)
        self.port: int = self._listener.getsockname()[1]
        self._stopping = False
        self._thread = threading.Thread(target=self._guard, name="node of AMQP 0-10")

    def __enter__(self) -> ServerNode010:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopping = True
        self._thread.join()
        for peer in self._peers:
            peer.transport.close()
        self._listener.close()

    def owner(self, name: bytes) -> _Peer | None:
        """The connection that a session is attached to."""
        return next((peer for peer in self._peers if name in peer.sessions), None)

    def deliver(self, session: Session) -> None:
        """Send what a session's subscriptions take."""
        if not session.is_attached:
            return
        for destination, queue in self.subscriptions[session.name].items():
            messages = self.queues[queue]
            while messages and takes(session, destination, messages[0]):
                message = messages.popleft()
                sent = session.transfer(destination, message)
                if sent.outcome is not None:
                    self.delivered[sent.outcome] = (queue, message)

    def settled(self, handle: Handle[Any], state: object) -> None:
        """What became of a message: what isn't accepted or rejected goes back to its queue."""
        found = self.delivered.pop(handle, None)
        if found is not None and not isinstance(state, (Accepted, Rejected)):
            queue, message = found
            self.queues[queue].appendleft(message)

    def _guard(self) -> None:
        try:
            self._run()
        except BaseException as error:
            self.failure = error
            raise

    def _run(self) -> None:
        while not self._stopping:
            with selectors.DefaultSelector() as selector:
                selector.register(self._listener, selectors.EVENT_READ)
                for peer in self._peers:
                    wanted = selectors.EVENT_READ if peer.connection.receive_budget else 0
                    if peer.out or peer.connection.send_backlog:
                        wanted |= selectors.EVENT_WRITE
                    if wanted:
                        selector.register(peer.transport, wanted, peer)
                ready = selector.select(0.02)
            for key, what in ready:
                if key.data is None:
                    transport, _ = self._listener.accept()
                    transport.setblocking(False)
                    self._peers.append(_Peer(self, transport, self.config))
                elif what & selectors.EVENT_READ:
                    key.data.read()
            for peer in list(self._peers):
                peer.connection.handle_timeout(time.monotonic())
                peer.pump()
            for peer in [peer for peer in self._peers if peer.is_gone]:
                self._peers.remove(peer)
                peer.transport.close()


def takes(session: Session, destination: str, message: Message) -> bool:
    """Whether there's credit for a message."""
    messages, octets = session.credit(destination)
    size = len(message.headers.raw) + len(message.body)
    return messages != 0 and (octets is None or octets >= size > 0)


__all__ = ["ServerNode010"]
