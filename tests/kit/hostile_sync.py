"""One hostile server against a client of the blocking adapter, in a simulated world or over loopback.

`run(seed)` raises AssertionError for an exception that isn't documented, for a call that waits beyond its timeout, and
for what is left behind. `run_on_loopback(seed)` does the same with sockets and threads: the client's timeouts are short
there, and the server's pauses shorter than its script says.
"""

from __future__ import annotations

import logging
import select
import socket
import threading
from collections import deque
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, contextmanager, suppress
from time import monotonic
from typing import Any, Final, Protocol

from amqp_sansio import EndpointClosed
from amqp_sansio.testing.simulate import World
from amqp_sansio_sync import connect
from amqp_sansio_sync.simulated import inside
from tests.kit.hostile_program import Program, Steps
from tests.kit.hostile_servers import Act, Deafen, End, HostileServer, Send, Wait
from tests.kit.hostile_world import WorldEnd
from tests.kit.inside import driver_of

PACE: Final = 0.01
"""How much of the script's pauses is kept over sockets."""
DOCUMENTED: Final[tuple[type[Exception], ...]] = (EndpointClosed, TimeoutError)
CONNECTING: Final = (EndpointClosed, OSError)
_RESET: Final = (1).to_bytes(4, "little") + bytes(4)


class Stage(Protocol):
    """Where a client meets a server. `call` and `close` are the seconds that the client gives each call and its close,
    `handshake` those for connecting, `hung` those after which something hangs."""

    handshake: float
    close: float
    call: float
    hung: float

    def enter(self, server: HostileServer) -> AbstractContextManager[int]:
        """Serve one connection; the port."""
        ...

    def now(self) -> float: ...
    def is_left(self, transport: Any) -> str:
        """What is left behind of a connection."""
        ...


class Virtual:
    """A simulated world."""

    handshake = 5.0
    close = 2.0
    call = 4.0
    hung = 6.1

    def __init__(self) -> None:
        self._world = World()

    @contextmanager
    def enter(self, server: HostileServer) -> Generator[int]:
        with self._world as world, inside(world):
            yield WorldEnd(world, server).port

    def now(self) -> float:
        return self._world.now

    def is_left(self, transport: Any) -> str:
        return "" if transport.stream.is_over else "the line is left behind"


class Loopback:
    """Sockets of the machine, and a server in a thread; `hung` allows for however busy the machine is."""

    handshake = 0.25
    close = 0.05
    call = 0.05
    hung = 20.0

    @contextmanager
    def enter(self, server: HostileServer) -> Generator[int]:
        served = _Served(server, self.hung)
        try:
            yield served.port
        finally:
            served.close()

    def now(self) -> float:
        return monotonic()

    def is_left(self, transport: Any) -> str:
        return "the socket is left behind" if transport.socket.fileno() >= 0 else ""


class _Served:
    """The server's end of one connection, in a thread of its own."""

    def __init__(self, server: HostileServer, patience: float) -> None:
        self._server = server
        self._patience = patience
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
        self._thread.join(self._patience)
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

    def __init__(self, seed: int, stage: Stage) -> None:
        self.seed = seed
        self.stage = stage
        self.server = HostileServer(seed)
        self.notes: list[str] = []

    def main(self) -> None:
        """Connect, use the connection, and close it."""
        stage = self.stage
        with stage.enter(self.server) as port:
            begun = stage.now()
            try:
                connection: Any = connect(
                    f"amqp://guest:guest@127.0.0.1:{port}",
                    version=self.server.version,
                    timeout=stage.handshake,
                    close_timeout=stage.close,
                )
            except CONNECTING as error:
                self.notes.append(f"connect: {type(error).__name__}")
            else:
                self._use(connection)
            # Twenty calls, each of which may take its time.
            assert stage.now() - begun < stage.hung * 20, "it takes too long"

    def step(self, what: str, call: Callable[[], Any]) -> Any:
        """Do one thing."""
        ended = (StopIteration,) if what == "next" else ()
        begun = self.stage.now()
        result = None
        try:
            result = call()
        except (*DOCUMENTED, *ended) as error:
            self.notes.append(f"{what}: {type(error).__name__}")
        else:
            self.notes.append(what)
        assert self.stage.now() - begun < self.stage.hung, f"{what} takes too long"
        return result

    def _use(self, connection: Any) -> None:
        steps = Program(self.server.version, self.notes, self.stage.call, timeout=self.stage.call).steps(connection)
        wire = driver_of(connection)
        with suppress(EndpointClosed), connection:  # Who leaves the context hears what nobody has heard.
            result: Any = None
            while (step := _following(steps, result)) is not None:
                result = self.step(*step)
        begun = self.stage.now()
        report = connection.close()
        assert self.stage.now() - begun < self.stage.hung, "close takes too long"
        assert report == connection.report
        assert not connection.is_open
        assert not getattr(wire, "_busy", False), "the engine was given up"
        failure = getattr(wire, "_failure", None)
        assert failure is None, failure
        keeper = wire.keeper._thread
        assert keeper is not None
        left = self.stage.is_left(wire.transport)
        assert not left, left
        assert not keeper.is_alive(), "the keeper is left behind"


def _following(steps: Steps, result: Any) -> tuple[str, Callable[[], Any]] | None:
    try:
        return steps.send(result)
    except StopIteration:
        return None


def run(seed: int) -> list[str]:
    """Play one script in a simulated world; how far the client came. Raises AssertionError."""
    return _play(Attempt(seed, Virtual()))


def run_on_loopback(seed: int) -> list[str]:
    """Play one script over sockets; how far the client came. Raises AssertionError."""
    return _play(Attempt(seed, Loopback()))


def _play(attempt: Attempt) -> list[str]:
    problems: list[BaseException | None] = []
    logger = logging.getLogger("amqp_sansio_sync")
    before = threading.excepthook, logger.disabled
    threading.excepthook = lambda told: problems.append(told.exc_value)
    logger.disabled = True
    try:
        attempt.main()
        assert not problems, problems
    except BaseException as error:
        told = f"seed {attempt.seed}, {attempt.server.version.label}, {attempt.server.attacks}, {attempt.notes}"
        raise AssertionError(f"{told}: {error!r}") from error
    finally:
        threading.excepthook, logger.disabled = before
    return attempt.notes


__all__ = ["run", "run_on_loopback"]
