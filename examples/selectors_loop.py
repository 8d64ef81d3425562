"""A client on the core and nothing but `selectors`: the minimal loop of every integration.

Run it with `python examples/selectors_loop.py [HOST [PORT]]`: it sends itself three messages.
"""

from __future__ import annotations

import selectors
import socket
import sys
import time
from collections.abc import Callable

from amqp_sansio import Accepted, Closed, CloseHint, CloseReport, Event, Failed, Opened, Replied, Scope, Settled, Signal
from amqp_sansio.amqp_0_9_1 import Config, Connection, Delivery
from amqp_sansio.amqp_0_9_1.spec import BasicConsume, ConfirmSelect, QueueDeclare
from amqp_sansio.sasl import Plain

READ_SIZE = 65536


def drive(sock: socket.socket, connection: Connection, handle: Callable[[Event], None]) -> None:
    """Run a connection over a socket until it has ended; `handle` gets each event."""
    sock.setblocking(False)
    unsent = b""
    with selectors.DefaultSelector() as selector:
        while True:
            # 1. Take events until there are none.
            while not isinstance(event := connection.next_event(), Signal):
                handle(event)
            # 2. Write the queued octets before waiting.
            unsent += connection.data_to_send(time.monotonic())
            if unsent:
                unsent = unsent[_send(sock, unsent) :]
            # 3. Check whether the connection has ended.
            hint = connection.close_hint
            if hint is CloseHint.CLOSE_NOW or (hint is CloseHint.CLOSE_WHEN_SENT and not unsent):
                return
            # 4. Wait for octets, for room to write, or for the deadline.
            wanted = selectors.EVENT_READ if connection.receive_budget else 0
            wanted |= selectors.EVENT_WRITE if unsent else 0
            if wanted:
                selector.register(sock, wanted)
            ready = selector.select(_seconds_until(connection.next_deadline))
            if wanted:
                selector.unregister(sock)
            if ready and ready[0][1] & selectors.EVENT_READ:
                _receive(sock, connection)
            deadline = connection.next_deadline
            if deadline is not None and deadline <= time.monotonic():
                connection.handle_timeout(time.monotonic())


def _send(sock: socket.socket, data: bytes) -> int:
    try:
        return sock.send(data)
    except BlockingIOError:
        return 0
    except OSError:
        return len(data)  # The next read reports the error.


def _receive(sock: socket.socket, connection: Connection) -> None:
    try:
        data = sock.recv(min(READ_SIZE, connection.receive_budget))
    except OSError as error:
        connection.connection_lost(str(error), time.monotonic())
        return
    if data:
        connection.receive_data(data, time.monotonic())
    else:
        connection.receive_eof(time.monotonic())


def _seconds_until(deadline: float | None) -> float | None:
    return None if deadline is None else max(0.0, deadline - time.monotonic())


class Loopback:
    """Publishes messages to its own queue and receives them: an application in events."""

    def __init__(self, connection: Connection, bodies: list[bytes]) -> None:
        self.connection = connection
        self.bodies = bodies
        self.received: list[bytes] = []
        self.confirmed = 0
        self.report: CloseReport | None = None

    def handle(self, event: Event) -> None:
        """Continue after an event."""
        match event:
            case Opened(scope=Scope.CONNECTION):
                self.channel = self.connection.open_channel()
            case Opened():
                self.channel.call(ConfirmSelect())
                self.declaring = self.channel.call(QueueDeclare(exclusive=True))
            case Replied(pending=pending) if pending == self.declaring:
                queue = self.declaring.result.queue
                self.channel.call(BasicConsume(queue))
                for body in self.bodies:
                    self.channel.publish(body, routing_key=queue)
            case Settled(pendings=pendings, state=Accepted()):
                self.confirmed += len(pendings)
                self.close_when_done()
            case Delivery(body=body, delivery_tag=tag):
                self.received.append(body)
                self.channel.accept(tag)
                self.close_when_done()
            case Failed(error=error):
                print("failed:", error, file=sys.stderr)
            case Closed(scope=Scope.CONNECTION, report=report):
                self.report = report
            case _:
                pass

    def close_when_done(self) -> None:
        """Close once all messages are confirmed and received."""
        if self.confirmed == len(self.received) == len(self.bodies):
            self.connection.close()


def main(host: str = "localhost", port: int = 5672) -> Loopback:
    """Send three messages and receive them."""
    connection = Connection.client(Config(sasl=Plain("guest", "guest")))
    application = Loopback(connection, [b"one", b"two", b"three"])
    with socket.create_connection((host, port)) as sock:
        drive(sock, connection, application.handle)
    print("received", *application.received)
    print("connection", application.report)
    return application


if __name__ == "__main__":
    main(sys.argv[1] if sys.argv[1:] else "localhost", int(sys.argv[2]) if sys.argv[2:] else 5672)
