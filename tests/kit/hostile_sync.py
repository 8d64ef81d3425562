"""One hostile server against a client of the blocking adapter, over loopback.

`run(seed)` raises AssertionError for an exception that isn't documented, for a call that waits far beyond its timeout,
and for what is left behind. The client's timeouts are short, and the server's pauses shorter than its script says.
"""

from __future__ import annotations

import logging
import select
import socket
import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from time import monotonic
from typing import Any, Final, TypeVar

from amqp_sansio import AMQP_0_8, AMQP_0_10, AMQP_1_0, CodecError, EndpointClosed
from amqp_sansio.amqp_0_10 import QueueDeclare as TenQueueDeclare
from amqp_sansio_sync import connect
from tests.kit.hostile_servers import Act, Deafen, End, HostileServer, Send, Wait

_T = TypeVar("_T")

HANDSHAKE: Final = 0.25
CLOSE: Final = 0.05
CALL: Final = 0.05
"""Seconds that the client gives each call."""
HUNG: Final = 20.0
"""Seconds beyond a timeout after which a call hangs, however busy the machine is."""
PACE: Final = 0.01
"""How much of the script's pauses is kept."""
DOCUMENTED: Final[tuple[type[Exception], ...]] = (EndpointClosed, TimeoutError)
CONNECTING: Final = (EndpointClosed, OSError)
_RESET: Final = (1).to_bytes(4, "little") + bytes(4)


class _Served:
    """The server's end of one connection, in a thread of its own."""

    def __init__(self, server: HostileServer) -> None:
        self._server = server
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="hostile-server", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """End it, and wait until it's gone."""
        self._over.set()
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join(HUNG)
        assert not self._thread.is_alive()

    def _run(self) -> None:
        try:
            connected, _ = self._listener.accept()
        except OSError:
            return  # Nobody has come.
        with connected, suppress(OSError):  # The client may go at any time.
            connected.setblocking(False)
            self._serve(connected)

    def _serve(self, connected: socket.socket) -> None:
        acts: deque[Act] = deque(self._server.connected(monotonic()))
        unsent = b""
        deaf = False
        wakes = 0.0
        while not self._over.is_set():
            while not unsent and acts and monotonic() >= wakes:
                act = acts.popleft()
                if isinstance(act, Send):
                    unsent = act.octets
                elif isinstance(act, Wait):
                    wakes = monotonic() + act.seconds * PACE
                elif isinstance(act, Deafen):
                    deaf = True
                else:
                    self._end(connected, act)
                    return
            ready, writable, _ = select.select([] if deaf else [connected], [connected] if unsent else [], [], 0.002)
            if writable:
                unsent = unsent[connected.send(unsent) :]
            if ready:
                octets = connected.recv(65_536)
                if not octets:
                    return
                acts += self._server.received(octets, monotonic())

    def _end(self, connected: socket.socket, end: End) -> None:
        if end.reset:
            connected.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
            return
        connected.shutdown(socket.SHUT_WR)
        while not self._over.is_set():
            if select.select([connected], [], [], 0.002)[0] and not connected.recv(65_536):
                return


class Attempt:
    """One client program against one server; `notes` say how far it came."""

    def __init__(self, seed: int) -> None:
        self.server = HostileServer(seed)
        self.notes: list[str] = []

    def main(self) -> None:
        """Connect, use the connection, and close it."""
        served = _Served(self.server)
        begun = monotonic()
        try:
            connection: Any = connect(
                f"amqp://guest:guest@127.0.0.1:{served.port}",
                version=self.server.version,
                timeout=HANDSHAKE,
                close_timeout=CLOSE,
            )
        except CONNECTING as error:
            self.notes.append(f"connect: {type(error).__name__}")
        else:
            self._use(connection)
        finally:
            assert monotonic() - begun < HUNG * 2, "it takes too long"
            served.close()

    def step(self, what: str, call: Callable[[], _T], *more: type[Exception]) -> _T | None:
        """Do one thing."""
        begun = monotonic()
        result = None
        try:
            result = call()
        except (*DOCUMENTED, *more) as error:
            self.notes.append(f"{what}: {type(error).__name__}")
        else:
            self.notes.append(what)
        assert monotonic() - begun < HUNG, f"{what} takes too long"
        return result

    def _use(self, connection: Any) -> None:
        program = {AMQP_1_0: self._one, AMQP_0_10: self._ten}.get(self.server.version, self._classic)
        wire = connection.wire
        with suppress(EndpointClosed), connection:  # Who leaves the context hears what nobody has heard.
            program(connection)
        begun = monotonic()
        report = connection.close()
        assert monotonic() - begun < HUNG, "close takes too long"
        assert report == connection.report
        assert not connection.is_open
        assert wire.transport.socket.fileno() < 0, "the socket is left behind"
        assert not wire.busy, "the engine was given up"
        assert wire.failure is None, wire.failure
        keeper = wire.keeper._thread
        assert keeper is not None
        assert not keeper.is_alive(), "the keeper is left behind"

    def _settle(self, source: Any) -> None:
        for _ in range(3):
            delivery = self.step("next", lambda: next(source), StopIteration)
            if delivery is None:
                return
            try:
                repr((delivery, delivery.body, _headers(delivery)))
            except CodecError:
                self.notes.append("damaged")
            self.step("accept", delivery.accept)

    def _classic(self, connection: Any) -> None:
        old = self.server.version is AMQP_0_8
        channel: Any = self.step("open", lambda: connection.open_channel(confirm=not old, timeout=CALL))
        if channel is None:
            return
        declare = connection.core.dialect.named["queue.declare"](queue="jobs")
        self.step("declare", lambda: channel.call(declare, timeout=CALL))
        for body in (b"1", b"2" * 300):
            self.step("publish", partial(channel.publish, body, routing_key="jobs", timeout=CALL))
        consumer: Any = self.step("consume", lambda: channel.consume("jobs", prefetch=2, timeout=CALL))
        if consumer is not None:
            self._settle(consumer)
            self.step("cancel", lambda: consumer.close(CALL))
        self.step("get", lambda: channel.get("jobs", timeout=CALL))
        self.step("close", lambda: channel.close(timeout=CALL))

    def _ten(self, connection: Any) -> None:
        session: Any = self.step("open", lambda: connection.open_session("s", timeout=5, open_timeout=CALL))
        if session is None:
            return
        self.step("declare", lambda: session.call(TenQueueDeclare(queue="jobs"), timeout=CALL))
        for body in (b"1", b"2" * 300):
            self.step("publish", partial(session.publish, body, routing_key="jobs", timeout=CALL))
        subscription: Any = self.step("subscribe", lambda: session.subscribe("jobs", credit=2, timeout=CALL))
        if subscription is not None:
            self._settle(subscription)
            self.step("fetch", lambda: subscription.fetch(CALL))
            self.step("cancel", lambda: subscription.close(CALL))
        self.step("sync", lambda: session.sync(CALL))
        self.step("close", lambda: session.close(timeout=CALL))

    def _one(self, connection: Any) -> None:
        session: Any = self.step("open", lambda: connection.open_session(timeout=CALL))
        if session is None:
            return
        sender: Any = self.step("sender", lambda: session.open_sender("jobs", timeout=CALL))
        if sender is not None:
            for body in (b"1", b"2" * 300):
                self.step("send", partial(sender.send, body, timeout=CALL))
        receiver: Any = self.step("receiver", lambda: session.open_receiver("jobs", credit=2, timeout=CALL))
        if receiver is not None:
            self._settle(receiver)
            self.step("fetch", lambda: receiver.fetch(CALL))
            self.step("cancel", lambda: receiver.cancel(CALL))
            self.step("close", lambda: receiver.close(timeout=CALL))
        self.step("close", lambda: session.close(timeout=CALL))


def _headers(delivery: Any) -> object:
    for name in ("properties", "headers", "message"):
        found = getattr(delivery, name, None)
        if found is not None:
            return repr(found)
    return None


def run(seed: int) -> list[str]:
    """Play one script; how far the client came. Raises AssertionError."""
    attempt = Attempt(seed)
    problems: list[BaseException | None] = []
    logger = logging.getLogger("amqp_sansio_sync")
    before = threading.excepthook, logger.disabled
    threading.excepthook = lambda told: problems.append(told.exc_value)
    logger.disabled = True
    try:
        attempt.main()
        assert not problems, problems
    except BaseException as error:
        told = f"seed {seed}, {attempt.server.version.label}, {attempt.server.attacks}, {attempt.notes}"
        raise AssertionError(f"{told}: {error!r}") from error
    finally:
        threading.excepthook, logger.disabled = before
    return attempt.notes


__all__ = ["run"]
