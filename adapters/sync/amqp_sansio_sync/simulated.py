"""Blocking programs in a simulated world: its clock, its network, and threads of which exactly one runs at a time.

Each thread of a program is a greenlet. It runs until it waits: for octets, for another thread, for a time. Then the
world goes on, and decides who runs next; so a run repeats exactly, and no thread of the machine, no socket and no
second is needed. Where steps change their order (`Hazards.order`), a thread may also be held up at each lock.
"""

from __future__ import annotations

import ssl
import threading
from collections import deque
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from contextvars import copy_context
from errno import ECONNREFUSED, EHOSTUNREACH
from hashlib import sha256
from typing import TYPE_CHECKING, Final, TypeAlias

try:
    from greenlet import getcurrent, greenlet
except ModuleNotFoundError as error:
    if error.name != "greenlet":
        raise
    text = "blocking programs are simulated with greenlet: pip install greenlet"
    raise ModuleNotFoundError(text, name="greenlet") from None

from amqp_sansio.testing.simulate import Process, Program, World

from .system import use
from .tls import tls_error
from .transport import Nowhere, Transport, shown
from .websocket import Inside

if TYPE_CHECKING:
    from types import TracebackType

    from amqp_sansio.testing.simulate.network import Line
    from amqp_sansio.uri import AmqpUri

    from .transport import Recording, Records

BUFFER: Final = 64 * 1024
"""Octets that arrive before a program reads them; the rest waits on the line."""
LEAVING: Final = 100
"""Waits on the way out of a thread whose process has ended; one that goes on waiting is left where it is."""
MOST_STEPS: Final = 200_000
"""Steps of the world in one wait of a program that drives it."""
_CLOSED: Final = "the peer closed the transport"
_RESET: Final = "the connection was reset"


class ProcessEnded(BaseException):
    """Raised in a thread where it waits, when its process has crashed or ended."""


def simulated(main: Callable[[], object], *, name: str = "") -> Program:
    """Return a program for a world that runs a blocking program, unchanged, in threads of the world.

    Its `connect` reaches the broker that the URL's host names. It takes its pauses and other threads from
    `amqp_sansio_sync.system.current()`; `time.sleep` and the clocks of `time` are the world's too, what it asks of
    `threading` is the machine's. When the process crashes, `ProcessEnded` is raised where its threads wait.

    >>> from amqp_sansio.testing.simulate import World
    >>> from amqp_sansio_sync import connect
    >>> def consume(work: Callable[[bytes], object]) -> None:
    ...     with connect("amqp://broker/") as connection, connection.open_channel() as channel:
    ...         for delivery in channel.consume("jobs"):
    ...             work(delivery.body)
    ...             delivery.accept()
    >>> with World() as world:
    ...     world.declare("jobs", b"1")
    ...     process = world.start(simulated(lambda: consume(world.worked), name="consumer"))
    ...     world.run()
    ...     print(world.ledger.worked)
    {b'1': 1}
    """
    called = name or getattr(main, "__name__", "program")

    async def program(process: Process) -> object:
        thread = SimulatedSystem(process, is_host=False).start(main, called)
        thread.is_watched = True
        done = process.event()
        thread.when_done(done.wake)
        await done
        return thread.result

    program.__name__ = called
    return program


@contextmanager
def inside(world: World, name: str = "program") -> Generator[SimulatedSystem]:
    """Let the code of this context run in a world, which takes its steps whenever the code waits.

    What is opened here belongs to a process that ends with the context.

    >>> from amqp_sansio_sync import connect
    >>> with World() as world, inside(world) as system:
    ...     with connect("amqp://broker/", heartbeat=10) as connection:
    ...         system.sleep(3600.0)
    ...         print(connection.is_open, system.now() >= 3600.0)
    True True
    """
    process = Process(world, name)
    system = SimulatedSystem(process, is_host=True)
    before = world.enter(process)
    try:
        with use(system):
            yield system
    finally:
        process.end("the program has ended")
        world.enter(before)


class SimulatedSystem:
    """The system of a process in a world.

    With `is_host`, code that isn't in a thread of its own may wait too, and takes the world's steps meanwhile.
    """

    def __init__(self, process: Process, *, is_host: bool) -> None:
        assert isinstance(process.world, World)
        self.process = process
        """Of the world, whose end ends the threads."""
        self.world = process.world
        """Has the clock and the network."""
        self.threads: list[SimulatedThread] = []
        """Those that haven't ended."""
        self.is_host = is_host
        """Whether code outside of its threads may wait too, and takes the world's steps meanwhile."""
        process.at_end(self._end)
        process.pause = self.sleep

    # System.

    def now(self) -> float:
        return self.world.now

    def time_ns(self) -> int:
        return round(self.world.now * 1_000_000_000)

    def sleep(self, seconds: float, /) -> None:
        _Wait(self).rest(seconds)

    def lock(self) -> SimulatedLock:
        return SimulatedLock(self)

    def bell(self) -> SimulatedBell:
        return SimulatedBell(self)

    def start(self, target: Callable[[], object], name: str) -> SimulatedThread:
        thread = SimulatedThread(self, target, name)
        self.threads.append(thread)
        self.process.call_soon(thread.go_on)
        return thread

    def open_transport(
        self,
        uri: AmqpUri,
        context: ssl.SSLContext | None,
        server_name: str | None,
        deadline: float,
        recorder: Records | None,
    ) -> LineTransport:
        """Connect to the broker called as the URL's host, or to who listens on its port. Raises OSError:
        ConnectionRefusedError while the broker is down, and where nobody listens."""
        try:
            while not self.world.is_reachable(uri.host, uri.port):
                left = deadline - self.world.now
                if left <= 0.0:
                    raise TimeoutError(f"no connection to {uri}: nothing answers in time")
                self.sleep(min(1.0, left))
            stream = SimulatedStream(self, uri.host, uri.port)
        except TimeoutError:
            raise
        except OSError as error:
            number = error.errno or (ECONNREFUSED if isinstance(error, ConnectionRefusedError) else EHOSTUNREACH)
            raise OSError(number, f"no connection to {uri}: {error.strerror or error}") from error
        client, server = stream.line.client, stream.line.server
        below: SimulatedStream | SimulatedTls = stream
        if context is not None:
            below = secure = SimulatedTls(stream, context, server_name)
            try:
                secure.shake_hands(self, deadline)
            except BaseException as error:
                stream.close()
                told = tls_error(uri, error)
                if told is error:
                    raise
                raise told from error
        used: AnySimulated = below
        if uri.websocket:
            try:
                used = inside = SimulatedInside(below, uri)
                inside.shake_hands(lambda: self._until_received(below, deadline))
            except BaseException:
                stream.close()
                raise
        recording = None
        if recorder is not None:
            # A recording has addresses in place of names.
            recording = recorder.open(_addressed(client), _addressed(server))
        return LineTransport(self, used, f"{shown(client)}-{shown(server)}", recording)

    def nowhere(self) -> NowhereSimulated:
        return NowhereSimulated(self)

    def draw(self, octets: int, /) -> str:
        return sha256(f"{self.process.name} {self.world.number()}".encode()).hexdigest()[: 2 * octets]

    def seed(self) -> int:
        return self.world.lot()

    def _until_received(self, stream: SimulatedStream | SimulatedTls, deadline: float) -> None:
        """Wait until a stream has octets, an end or an error. Raises TimeoutError."""
        while not stream.can_receive:
            left = deadline - self.now()
            if left <= 0.0:
                raise TimeoutError
            stream.bell.wait(left)

    # For its parts.

    def current(self) -> SimulatedThread | None:
        """Return the thread that runs, None for the code that drives the world. Raises RuntimeError for any other."""
        running = getcurrent()
        if isinstance(running, SimulatedThread) and running.system is self:
            return running
        if not self.is_host:
            raise RuntimeError(f"only threads of {self.process!r} may wait for it")
        return None

    def let_others_go_on(self) -> None:
        """Hold the current thread up, if the world decides so."""
        world, process = self.world, self.process
        if world.hazards.order and process.is_alive and world.pick(2):
            wait = _Wait(self)
            wait.wake()
            wait.rest(None)

    def _end(self) -> None:
        for thread in list(self.threads):
            thread.end()


class SimulatedThread(greenlet):
    """A thread of a program: it runs until it waits."""

    def __init__(self, system: SimulatedSystem, target: Callable[[], object], name: str) -> None:
        super().__init__(self._main)
        self.gr_context = copy_context()
        """greenlet's name for the context variables: a thread begins with those of who starts it."""
        self.system = system
        """What the program has for a machine: its clock, its locks, and the list of threads that this one is in."""
        self.name = name
        """For errors and the world's notes."""
        self.failure: BaseException | None = None
        """The exception that ended it; None: there was none."""
        self.is_watched = False
        """Whether somebody takes its error."""
        self.waits_after_end = 0
        """How often it has waited although its process has ended: it is cut off after some."""
        self._target = target
        """What it runs."""
        self._result: object = None
        """What that returned."""
        self._is_over = False
        """Whether it has ended."""
        self._callbacks: list[Callable[[], object]] = []
        """Called at its end."""
        self._driving: greenlet | None = None
        """The greenlet that goes on while this thread waits."""

    def is_alive(self) -> bool:
        return not self._is_over

    def join(self, timeout: float | None = None) -> None:
        """Wait for its end, or for so many seconds."""
        if not self._is_over:
            wait = _Wait(self.system)
            self._callbacks.append(wait.wake)
            wait.rest(timeout)

    @property
    def result(self) -> object:
        """What its function has returned. Raises its error, RuntimeError while it runs."""
        if not self._is_over:
            raise RuntimeError(f"the thread {self.name!r} still runs")
        if self.failure is not None:
            raise self.failure
        return self._result

    def when_done(self, callback: Callable[[], object]) -> None:
        """Call `callback` at its end."""
        self._callbacks.append(callback)

    # For the world.

    def go_on(self) -> None:
        """Run it to its next wait."""
        if not self._is_over:
            self.parent = self._driving = getcurrent()
            self.switch()

    def park(self) -> None:
        """Let those go on who let this thread go on."""
        assert self._driving is not None
        self._driving.switch()

    def end(self) -> None:
        """End it, as its process has ended."""
        if self is getcurrent():
            return  # Its next wait raises it.
        if self:
            self.parent = self._driving = getcurrent()
            self.waits_after_end = 1
            self.throw(ProcessEnded)
        else:
            self._finish()

    def _main(self) -> None:
        try:
            with use(self.system):
                self._result = self._target()
        except ProcessEnded as error:
            self.failure = error
        except Exception as error:
            self.failure = error
            if self.system.process.is_alive and not self.is_watched:
                self._tell(error)
        finally:
            self._finish()

    def _tell(self, error: Exception) -> None:
        self.system.world.note(f"{self.name}: {error!r}", self.system.process)
        if self.system.is_host:
            threading.excepthook(threading.ExceptHookArgs((type(error), error, error.__traceback__, None)))

    def _finish(self) -> None:
        self._is_over = True
        if self in self.system.threads:
            self.system.threads.remove(self)
        for callback in self._callbacks:
            callback()
        self._callbacks.clear()


class _Wait:
    """One wait of the current thread, which ends when `wake` is called."""

    __slots__ = ("_is_over", "_is_woken", "_system", "_thread")

    def __init__(self, system: SimulatedSystem) -> None:
        self._system = system
        """Whose threads go on meanwhile."""
        self._thread = system.current()
        """The one that waits; None: the host's own code."""
        self._is_woken = False
        """Whether it ends, or has ended."""
        self._is_over = False
        """Whether the thread goes on already."""

    def wake(self) -> None:
        """Let the thread go on, in a step of its own."""
        if not self._is_woken:
            self._is_woken = True
            self._system.process.call_soon(self._go)

    def rest(self, seconds: float | None) -> None:
        """Wait, for at most so many seconds. Raises ProcessEnded."""
        process = self._system.process
        timer = None
        if process.is_alive and seconds is not None:
            timer = process.call_at(process.now + max(0.0, seconds), self.wake)
        try:
            if process.is_alive:
                if self._thread is not None:
                    self._thread.park()
                else:
                    self._drive()
            if not process.is_alive:
                self._leave()
        finally:
            self._is_woken = True
            if timer is not None:
                timer.cancel()

    def _go(self) -> None:
        self._is_over = True
        if self._thread is not None:
            self._thread.go_on()

    def _drive(self) -> None:
        world = self._system.world
        last = world.steps + MOST_STEPS
        while not self._is_over:
            if not world.step() or world.steps > last:
                raise RuntimeError("the program waits for something that never comes")

    def _leave(self) -> None:
        thread = self._thread
        if thread is not None:
            thread.waits_after_end += 1
            while thread.waits_after_end > LEAVING:
                thread.park()
        raise ProcessEnded("the process has ended")


class SimulatedBell:
    """A bell of a world; see `system.Bell`."""

    __slots__ = ("_is_ringing", "_system", "_wait")

    def __init__(self, system: SimulatedSystem) -> None:
        self._system = system
        """Makes its waits."""
        self._is_ringing = False
        """Whether a ring wasn't heard."""
        self._wait: _Wait | None = None
        """The one under way; one thread waits at a time."""

    def ring(self) -> None:
        self._is_ringing = True
        if self._wait is not None:
            self._wait.wake()

    def wait(self, seconds: float | None) -> None:
        if not self._is_ringing:
            self._wait = _Wait(self._system)
            try:
                self._wait.rest(seconds)
            finally:
                self._wait = None
        self._is_ringing = False


class SimulatedLock:
    """A lock of a world; see `system.Lock`. A thread that enters or leaves it may be held up."""

    __slots__ = ("_is_held", "_system", "_waits")

    def __init__(self, system: SimulatedSystem) -> None:
        self._system = system
        """Makes its waits, and holds threads up."""
        self._is_held = False
        """Whether a thread has it."""
        self._waits: deque[_Wait] = deque()
        """Of threads that want it, the first one first."""

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
        deadline = None if timeout < 0 else self._system.now() + timeout
        while self._is_held:
            left = None if deadline is None else deadline - self._system.now()
            if not blocking or (left is not None and left <= 0.0):
                return False
            wait = _Wait(self._system)
            self._waits.append(wait)
            try:
                wait.rest(left)
            finally:
                if wait in self._waits:
                    self._waits.remove(wait)
        self._is_held = True
        return True

    def release(self) -> None:
        if not self._is_held:
            raise RuntimeError("release unlocked lock")
        self._is_held = False
        if self._waits:
            self._waits.popleft().wake()

    def locked(self) -> bool:
        return self._is_held

    def __enter__(self) -> bool:
        self._system.let_others_go_on()
        return self.acquire()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /
    ) -> None:
        self.release()
        self._system.let_others_go_on()


class SimulatedStream:
    """A client's end of a line, as a socket that doesn't block."""

    def __init__(self, system: SimulatedSystem, host: str, port: int) -> None:
        self.bell = system.bell()
        """Rings when octets come, when there is room, and at the end."""
        self.is_over = False
        """Whether this end was closed."""
        self.is_shut = False
        """Whether nothing more comes."""
        self.error: ConnectionResetError | None = None
        """Why the line was cut; None while it wasn't."""
        self._received = bytearray()
        """Octets that weren't read."""
        self.line: Line = system.process.open_line(host, port, self)
        """Both directions, of which this is the client's end."""

    @property
    def can_receive(self) -> bool:
        """Whether `recv` has octets, an end or an error."""
        return bool(self._received) or self.is_shut or self.error is not None

    @property
    def can_send(self) -> bool:
        """Whether `send` takes octets, or has an error."""
        return self.line.up.room > 0 or self.error is not None

    # The part of a socket.

    def recv(self, size: int, /) -> bytes:
        if self._received:
            octets = bytes(self._received[:size])
            del self._received[:size]
            self.line.down.wake()
            return octets
        if self.error is not None:
            raise self.error
        if self.is_shut:
            return b""
        raise BlockingIOError

    def send(self, octets: bytes | memoryview, /) -> int:
        if self.error is not None:
            raise self.error
        if self.is_over:
            raise BrokenPipeError(_CLOSED)
        taken = bytes(octets[: max(0, self.line.up.room)])
        if not taken:
            raise BlockingIOError
        self.line.up.send(taken)
        return len(taken)

    def close(self) -> None:
        """End both directions; what has come can still be read. A second call does nothing."""
        self._leave(_CLOSED, is_reset=False)

    # End: for the line and its process.

    @property
    def room(self) -> int:
        return BUFFER - len(self._received)

    def receive(self, octets: bytes) -> None:
        self._received += octets
        self.bell.ring()

    def writable(self) -> None:
        self.bell.ring()

    def ended(self, reason: str, *, is_reset: bool) -> None:
        if is_reset:
            self.abort(reason)
        else:
            self.is_shut = True
            self.bell.ring()

    def abort(self, reason: str) -> None:
        if not self.is_over:
            self.error = ConnectionResetError(reason)
            self._leave(_RESET, is_reset=True)

    def _leave(self, reason: str, *, is_reset: bool) -> None:
        if not self.is_over:
            self.is_over = True
            self.is_shut = True
            self.line.down.stop()
            self.line.up.finish(reason, is_reset=is_reset)
            self.bell.ring()


class SimulatedTls:
    """TLS over a stream of a world, as a socket that doesn't block."""

    def __init__(self, stream: SimulatedStream, context: ssl.SSLContext, server_name: str | None) -> None:
        self.bell = stream.bell
        """The stream's own."""
        self._stream = stream
        """Carries the encrypted octets."""
        self._incoming = ssl.MemoryBIO()
        """Encrypted octets that came."""
        self._outgoing = ssl.MemoryBIO()
        """Encrypted octets to be sent."""
        self._tls = context.wrap_bio(self._incoming, self._outgoing, server_hostname=server_name)
        """Between these two and plain octets."""
        self._has_more = False
        """Whether octets that came may not have been read."""

    def shake_hands(self, system: SimulatedSystem, deadline: float) -> None:
        """Do the handshake. Raises OSError."""
        while True:
            try:
                self._tls.do_handshake()
                return
            except ssl.SSLWantReadError:
                left = deadline - system.now()
            finally:
                self._flush()
            if left <= 0.0:
                raise TimeoutError
            if not self._stream.can_receive:
                self.bell.wait(left)
            self._pull()

    @property
    def is_over(self) -> bool:
        return self._stream.is_over

    @property
    def can_receive(self) -> bool:
        return self._has_more or self._stream.can_receive

    @property
    def can_send(self) -> bool:
        return self._stream.error is not None or self._room > 0

    def recv(self, size: int, /) -> bytes:
        self._pull()
        self._has_more = False
        try:
            octets = self._tls.read(size)
        except (ssl.SSLZeroReturnError, ssl.SSLEOFError):
            return b""
        finally:
            self._flush()
        self._has_more = True
        return octets

    def send(self, octets: bytes | memoryview, /) -> int:
        if self._stream.error is not None:
            raise self._stream.error
        taken = octets[: self._room]
        if not taken:
            raise BlockingIOError
        count = self._tls.write(taken)
        self._flush()
        return count

    def close(self) -> None:
        self._stream.close()

    @property
    def _room(self) -> int:
        """Octets whose records the line takes, with what TLS adds."""
        room = self._stream.line.up.room
        return max(0, room - room // 64 - 1024)

    def _pull(self) -> None:
        with suppress(BlockingIOError):
            while self._stream.can_receive:
                octets = self._stream.recv(BUFFER)
                if not octets:
                    self._incoming.write_eof()
                    return
                self._incoming.write(octets)

    def _flush(self) -> None:
        octets = self._outgoing.read()
        if octets and not self._stream.is_over:
            self._stream.line.up.send(octets)


class SimulatedInside(Inside):
    """A WebSocket over a stream of a world."""

    __slots__ = ("_stream_below", "bell")

    def __init__(self, below: SimulatedStream | SimulatedTls, uri: AmqpUri) -> None:
        super().__init__(below, uri)
        self.bell = below.bell
        """Rings when the stream below has octets or room: the same one, so that who waits for it is woken."""
        self._stream_below = below
        """The stream again, under its own type: the base class knows of `recv` and `send` only."""

    @property
    def is_over(self) -> bool:
        return self._stream_below.is_over

    @property
    def can_receive(self) -> bool:
        return super().can_receive or self._stream_below.can_receive

    @property
    def can_send(self) -> bool:
        return self._stream_below.can_send

    def close(self) -> None:
        if not self._stream_below.is_over:
            self.end()
        self._stream_below.close()


AnySimulated: TypeAlias = SimulatedStream | SimulatedTls | SimulatedInside
"""A stream of a world, with what is around it."""


class LineTransport(Transport):
    """The transport of a line in a world."""

    __slots__ = ("_is_woken", "_system", "stream")

    def __init__(self, system: SimulatedSystem, stream: AnySimulated, label: str, recording: Recording | None) -> None:
        super().__init__(stream, label, recording)
        self.stream = stream
        """Plain, or TLS."""
        self._system = system
        """Whose threads wait on it."""
        self._is_woken = False
        """Whether a `wake` ends the next wait."""

    def wait(self, read: bool, seconds: float | None) -> None:
        write, self.write_wanted = self.write_wanted, False
        stream, system = self.stream, self._system
        deadline = None if seconds is None else system.now() + seconds
        while not (self._is_woken or (read and stream.can_receive) or (write and stream.can_send)):
            left = None if deadline is None else deadline - system.now()
            if left is not None and left <= 0.0:
                break
            stream.bell.wait(left)
        self._is_woken = False

    def wake(self) -> None:
        self._is_woken = True
        self.stream.bell.ring()

    def shut(self) -> None:
        self.stream.close()
        self.wake()

    def close(self) -> None:
        super().close()
        self.stream.close()

    def __del__(self) -> None:
        # As a socket that nobody holds.
        self.stream.close()


def _addressed(address: tuple[str, int]) -> tuple[str, int]:
    host, port = address
    return (host if host[:1].isdigit() or ":" in host else "127.0.0.1"), port


class _NoStream:
    """The stream of no line."""

    def recv(self, size: int, /) -> bytes:
        raise BlockingIOError

    def send(self, octets: bytes | memoryview, /) -> int:
        raise BlockingIOError


class NowhereSimulated(Nowhere):
    """The transport of a connection in a world while there is no line."""

    __slots__ = ("_bell",)

    def __init__(self, system: SimulatedSystem) -> None:
        super().__init__(_NoStream(), "?-?", None)
        self._bell = system.bell()
        """Ends a wait: nothing else happens here."""

    def wait(self, read: bool, seconds: float | None) -> None:
        self.write_wanted = False
        self._bell.wait(seconds)

    def wake(self) -> None:
        self._bell.ring()

    def shut(self) -> None:
        self._bell.ring()


__all__ = ["ProcessEnded", "inside", "simulated"]
