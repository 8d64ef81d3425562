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
from time import monotonic
from typing import Any, Final

from amqp_sansio import EndpointClosed
from amqp_sansio_sync import connect
from tests.kit.hostile_program import Program, Steps
from tests.kit.hostile_servers import Act, Deafen, End, HostileServer, Send, Wait
from tests.kit.inside import driver_of

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
                f"amqp://guest:guest@127.0.0.1:{served.port}", version=self.server.version, timeout=HANDSHAKE,
                close_timeout=CLOSE,
            )  # fmt: skip
        except CONNECTING as error:
            self.notes.append(f"connect: {type(error).__name__}")
        else:
            self._use(connection)
        finally:
            assert monotonic() - begun < HUNG * 2, "it takes too long"
            served.close()

    def step(self, what: str, call: Callable[[], Any]) -> Any:
        """Do one thing."""
        ended = (StopIteration,) if what == "next" else ()
        begun = monotonic()
        result = None
        try:
            result = call()
        except (*DOCUMENTED, *ended) as error:
            self.notes.append(f"{what}: {type(error).__name__}")
        else:
            self.notes.append(what)
        assert monotonic() - begun < HUNG, f"{what} takes too long"
        return result

    def _use(self, connection: Any) -> None:
        steps = Program(self.server.version, self.notes, CALL, timeout=CALL).steps(connection)
        wire = driver_of(connection)
        with suppress(EndpointClosed), connection:  # Who leaves the context hears what nobody has heard.
            result: Any = None
            while (step := _following(steps, result)) is not None:
                result = self.step(*step)
        begun = monotonic()
        report = connection.close()
        assert monotonic() - begun < HUNG, "close takes too long"
        assert report == connection.report
        assert not connection.is_open
        assert wire.transport.socket.fileno() < 0, "the socket is left behind"
        assert not getattr(wire, "_busy", False), "the engine was given up"
        failure = getattr(wire, "_failure", None)
        assert failure is None, failure
        keeper = wire.keeper._thread
        assert keeper is not None
        assert not keeper.is_alive(), "the keeper is left behind"


def _following(steps: Steps, result: Any) -> tuple[str, Callable[[], Any]] | None:
    try:
        return steps.send(result)
    except StopIteration:
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
