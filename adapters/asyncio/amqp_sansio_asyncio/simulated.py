"""simulated_loop: an event loop whose time is a simulated world's and whose transports are its network's."""

from __future__ import annotations

import asyncio
import socket
import struct
from asyncio import (
    _get_running_loop,  # pyright: ignore[reportPrivateUsage] - they are for event loops, as asyncio's page says.
    _set_running_loop,  # pyright: ignore[reportPrivateUsage]
    sslproto,
)
from collections.abc import AsyncGenerator, Callable, Coroutine, Sequence
from errno import ENOTCONN
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any, Final, TypeVarTuple, cast

from amqp_sansio.testing.simulate import Process, Program, World, discard
from amqp_sansio.testing.simulate.outside import EPOCH

if TYPE_CHECKING:
    import ssl as ssl_module
    from contextvars import Context

    from amqp_sansio.testing.simulate import Direction
    from amqp_sansio.testing.simulate.network import Line, Listener, Timer

_Ts = TypeVarTuple("_Ts")
_HIGH_WATER: Final = 64 * 1024
_CLOSED: Final = "the peer closed the transport"
_RESOLUTION: Final = 1e-6
"""Seconds within which a timer counts as due; the world's time may be large."""


def simulated(main: Callable[[], Coroutine[Any, Any, object]], *, name: str = "") -> Program:
    """Return a program for a world that runs an asyncio program, unchanged, in an event loop of its own.

    Its `connect` reaches the broker that the URL's host names. When the process crashes, its tasks are dropped with it.

    >>> from amqp_sansio.testing.simulate import World
    >>> from amqp_sansio_asyncio import connect
    >>> async def consume(work: Callable[[bytes], object]) -> None:
    ...     async with connect("amqp://broker/") as connection, connection.open_channel() as channel:
    ...         async for delivery in channel.consume("jobs"):
    ...             work(delivery.body)
    ...             await delivery.accept()
    >>> with World() as world:
    ...     world.declare("jobs", b"1")
    ...     process = world.start(simulated(lambda: consume(world.worked), name="consumer"))
    ...     world.run()
    ...     print(world.ledger.worked)
    {b'1': 1}
    """

    async def program(process: Process) -> object:
        loop = SimulatedLoop(process, is_hosted=True)
        task, done = loop.create_task(main()), process.event()
        task.add_done_callback(lambda _: done.wake())
        await done
        return task.result()

    program.__name__ = name or getattr(main, "__name__", "program")
    return program


def simulated_loop(world: World) -> SimulatedLoop:
    """Return an event loop that steps a world whenever it would wait; run one program at a time with it.

    >>> async def sleep() -> float:
    ...     await asyncio.sleep(3600)
    ...     return asyncio.get_running_loop().time()
    >>> with World() as world, asyncio.Runner(loop_factory=lambda: simulated_loop(world)) as runner:
    ...     runner.run(sleep())
    3600.0
    """
    return SimulatedLoop(Process(world, "asyncio"), is_hosted=False)


class SimulatedLoop(asyncio.BaseEventLoop):
    """An event loop of a process in a world. Its clients and servers talk on the world's network, with TLS too; it has
    no threads, signals, files and subprocesses.

    `is_hosted`: the world takes the loop's turns; else the loop the world's steps.
    """

    has_signals: Final = False
    """Asked by `on_stop`: the machine's signals aren't the world's."""

    def __init__(self, process: Process, *, is_hosted: bool) -> None:
        super().__init__()
        self.process = process
        """Whose time and network these are."""
        self._is_hosted = is_hosted
        """Whether the world takes the loop's turns; else the loop the world's steps."""
        self._is_woken = False
        """Whether something is ready, so that the loop needn't wait."""
        self._is_late = False
        """Whether its turn came while it ran, so that it takes another one behind this."""
        self._world_timers: dict[asyncio.TimerHandle, Timer] = {}
        """The world's timer of each of the loop's."""
        # asyncio's base class asks it for what is ready.
        self._selector = self
        self._clock_resolution = _RESOLUTION
        """Seconds by which asyncio's base class lets a timer ring early; it reads this name."""
        process.at_end(self._end)

    # asyncio.

    def time(self) -> float:
        return self.process.now

    def time_of_day(self) -> float:
        """Return the seconds since 1970; the world begins in 2023."""
        return EPOCH + self.process.now

    def draw_name(self, octets: int) -> str:
        """Return a name that no other program of the world has, the same in each run, as long as one of so many random
        octets."""
        return f"{self.process.name}-{self.process.world.number()}".ljust(octets * 4 // 3, "-")

    def draw_bits(self, count: int) -> int:
        """Return a number for the delays of a recovery; the world's choices decide it."""
        return self.process.world.lot() % (1 << count)

    def call_soon(
        self, callback: Callable[[*_Ts], object], *args: *_Ts, context: Context | None = None
    ) -> asyncio.Handle:
        if self.is_closed() and not self.process.is_alive:
            # Objects of a process that has ended may still be destroyed.
            handle = asyncio.Handle(callback, args, self, context)
            handle.cancel()
            return handle
        self._wake()
        return super().call_soon(callback, *args, context=context)

    def call_soon_threadsafe(
        self, callback: Callable[[*_Ts], object], *args: *_Ts, context: Context | None = None
    ) -> asyncio.Handle:
        return self.call_soon(callback, *args, context=context)

    def call_at(
        self, when: float, callback: Callable[[*_Ts], object], *args: *_Ts, context: Context | None = None
    ) -> asyncio.TimerHandle:
        handle = super().call_at(when, callback, *args, context=context)
        self._world_timers[handle] = self.process.call_at(when, lambda: self._due(handle))
        return handle

    async def create_connection(  # type: ignore[override]
        self,
        protocol_factory: Callable[[], asyncio.Protocol],
        host: str = "",
        port: int = 0,
        *,
        ssl: ssl_module.SSLContext | None = None,
        server_hostname: str | None = None,
        ssl_handshake_timeout: float | None = None,
        ssl_shutdown_timeout: float | None = None,
        **_: object,
    ) -> tuple[asyncio.Transport, asyncio.Protocol]:
        """Connect to the broker called `host`, or to the program that listens there.

        Raises OSError: ConnectionRefusedError while the broker is down, and where nobody listens.
        """
        while not self.process.world.is_reachable(host, port):
            await asyncio.sleep(1.0)
        transport = SimulatedTransport(self)
        transport.connect(self.process.open_line(host, port, transport))
        protocol = protocol_factory()
        waiter = self.create_future()
        if ssl is None:
            transport.start(protocol, waiter)
            await waiter
            return transport, protocol
        arrival = _Arrival(protocol)
        timeouts = ssl_handshake_timeout, ssl_shutdown_timeout
        name = host if server_hostname is None else server_hostname
        transport.start(self._secured(arrival, ssl, waiter, timeouts, name))
        try:
            await waiter
        except BaseException:
            transport.close()
            raise
        assert arrival.transport is not None
        return arrival.transport, protocol

    async def create_server(  # type: ignore[override]
        self,
        protocol_factory: Callable[[], asyncio.BaseProtocol],
        host: str | Sequence[str] | None = None,
        port: int = 0,
        *,
        ssl: ssl_module.SSLContext | None = None,
        ssl_handshake_timeout: float | None = None,
        ssl_shutdown_timeout: float | None = None,
        start_serving: bool = True,
        **_: object,
    ) -> SimulatedServer:
        """Listen in the world, at these names or addresses, by default at every one; port 0 takes a free one.

        Raises OSError if somebody listens there already.
        """

        def accepting() -> asyncio.BaseProtocol:
            protocol = protocol_factory()
            if ssl is None:
                return protocol
            waiter = self.create_future()
            waiter.add_done_callback(_seen)
            return self._secured(protocol, ssl, waiter, (ssl_handshake_timeout, ssl_shutdown_timeout))

        hosts = [host or ""] if host is None or isinstance(host, str) else [*host]
        server = SimulatedServer(self, accepting)
        try:
            for each in dict.fromkeys([self.process.world.address_of(name) for name in hosts]):
                server.listen(each, port)
        except BaseException:
            server.close()
            raise
        if start_serving:
            await server.start_serving()
        return server

    async def getaddrinfo(  # type: ignore[override]
        self, host: str | bytes | None, port: int | None, *, type: int = 0, flags: int = 0, **_: object
    ) -> list[tuple[socket.AddressFamily, socket.SocketKind, int, str, tuple[str, int] | tuple[str, int, int, int]]]:
        """Return the address of a name of the world; that of a broker is its name. Raises socket.gaierror."""
        name = host.decode() if isinstance(host, bytes) else host
        address = self.process.world.address_of(name or "") if name else ""
        if not address:
            address = "0.0.0.0" if flags & socket.AI_PASSIVE else "127.0.0.1"
        if not _is_numeric(address) and not self.process.world.is_known(address):
            raise socket.gaierror(socket.EAI_NONAME, f"nobody is called {name!r} in this world")
        kind = socket.SocketKind(type or socket.SOCK_STREAM)
        if ":" in address:
            return [(socket.AF_INET6, kind, socket.IPPROTO_TCP, "", (address, port or 0, 0, 0))]
        return [(socket.AF_INET, kind, socket.IPPROTO_TCP, "", (address, port or 0))]

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        """Note an error that nobody takes in the world's trace, and tell the loop's handler if it has one."""
        if not self.is_closed():
            error = context.get("exception")
            self.process.world.note(f"{context.get('message')}{f': {error!r}' if error else ''}", self.process)
            if self.get_exception_handler() is not None:
                super().call_exception_handler(context)

    async def shutdown_default_executor(self, timeout: float | None = None) -> None:
        """There is none: the loop has no threads."""

    def close(self) -> None:
        """Close the loop, and reset its connections."""
        super().close()
        if self.process.is_alive:
            self.process.end("the event loop was closed")

    # For the base class.

    def select(self, timeout: float | None) -> list[Any]:
        """Let the world go on if this loop drives it, until there is something to do."""
        if not self._is_hosted:
            world = self.process.world
            if timeout == 0 and world.is_busy:
                world.step()
            while not self._is_woken and timeout != 0:
                if not world.step():
                    raise RuntimeError("the program waits for something that never comes")
            self._is_woken = False
        return []

    def _process_events(self, event_list: list[Any]) -> None:
        """There are none: `select` returns nothing."""

    def _timer_handle_cancelled(self, handle: asyncio.TimerHandle) -> None:
        timer = self._world_timers.pop(handle, None)
        if timer is not None:
            timer.cancel()

    def _asyncgen_finalizer_hook(self, agen: AsyncGenerator[Any, Any]) -> None:
        if self.process.is_alive:
            super()._asyncgen_finalizer_hook(agen)  # type: ignore[misc]
        # Else nobody would await its end; Python 3.13 warns of that.

    # Internals.

    def _due(self, handle: asyncio.TimerHandle) -> None:
        self._world_timers.pop(handle, None)
        self._wake()

    def _wake(self) -> None:
        if not self._is_woken and not self.is_closed():
            self._is_woken = True
            if self._is_hosted:
                self.process.call_soon(self._turn)

    def _secured(
        self,
        protocol: asyncio.BaseProtocol,
        context: ssl_module.SSLContext,
        waiter: asyncio.Future[Any],
        timeouts: tuple[Any, Any],
        server_hostname: str | None = None,
    ) -> sslproto.SSLProtocol:
        """Return asyncio's own TLS below a protocol; a server's has no `server_hostname`."""
        return sslproto.SSLProtocol(
            self,
            cast("asyncio.Protocol", protocol),
            context,
            waiter,
            server_side=server_hostname is None,
            server_hostname=server_hostname,
            ssl_handshake_timeout=timeouts[0],
            ssl_shutdown_timeout=timeouts[1],
        )

    def _turn(self) -> None:
        """Run everything that is ready, once."""
        if self.is_closed():
            return
        if self.is_running():
            # A callback of this loop takes steps of the world.
            self._is_late = True
            return
        super().call_soon(self.stop)
        self._is_woken = False
        # The step may be one of another loop, which waits, or whose task steps the world.
        outer = _get_running_loop()
        task = None if outer is None else asyncio.current_task(outer)
        if task is not None and _swap_task is not None:
            _swap_task(outer, None)
        _set_running_loop(None)
        try:
            self.run_forever()
        finally:
            _set_running_loop(outer)
            if task is not None and _swap_task is not None:
                _swap_task(outer, task)
            if self._is_late:
                self._is_late = False
                self.process.call_soon(self._turn)

    def _end(self) -> None:
        if not self.is_closed():
            for task in asyncio.all_tasks(self):
                coroutine = task.get_coro()
                assert isinstance(coroutine, Coroutine)
                discard(coroutine)
            self.close()


_swap_task: Final[Callable[[Any, Any], Any] | None] = getattr(asyncio.tasks, "_swap_current_task", None)
"""Since Python 3.12: sets a loop's current task, and returns the one before."""


class _Arrival(asyncio.Protocol):
    """A client's protocol until the end of the TLS handshake, which gives it its transport."""

    def __init__(self, protocol: asyncio.Protocol) -> None:
        self.transport: asyncio.Transport | None = None
        """The encrypted one, once the handshake has ended."""
        self._protocol = protocol
        """The client's, which gets it."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        transport.set_protocol(self._protocol)
        self._protocol.connection_made(transport)


def _is_numeric(host: str) -> bool:
    try:
        ip_address(host.partition("%")[0])
    except ValueError:
        return False
    return True


class SimulatedSocket:
    """A socket of a world: it has addresses, and its option SO_LINGER says whether a close is a reset."""

    type = socket.SOCK_STREAM

    def __init__(self, address: tuple[str, int], peer: tuple[str, int] | None = None) -> None:
        self.family = socket.AF_INET6 if ":" in address[0] else socket.AF_INET
        """By the form of the address."""
        self.resets = False
        """Whether a close is a reset (SO_LINGER with 0 seconds)."""
        self._address = address
        """Host and port of this end."""
        self._peer = peer
        """Those of the other one; None: it listens."""

    def getsockname(self) -> tuple[Any, ...]:
        """Return its address."""
        return _shown(self._address)

    def getpeername(self) -> tuple[Any, ...]:
        """Return its peer's address. Raises OSError if it has none."""
        if self._peer is None:
            raise OSError(ENOTCONN, "the socket has no peer")
        return _shown(self._peer)

    def setsockopt(self, level: int, name: int, value: int | bytes) -> None:
        """Take SO_LINGER: with 0 seconds a close is a reset. Other options change nothing."""
        if (level, name) == (socket.SOL_SOCKET, socket.SO_LINGER) and isinstance(value, bytes):
            self.resets = struct.unpack("ii", value) == (1, 0)


def _shown(address: tuple[str, int]) -> tuple[Any, ...]:
    host, port = address
    return (host, port, 0, 0) if ":" in host else (host or "0.0.0.0", port)


class SimulatedServer(asyncio.AbstractServer):
    """A server of a simulated loop, as asyncio.Server is one of others."""

    def __init__(self, loop: SimulatedLoop, factory: Callable[[], asyncio.BaseProtocol]) -> None:
        self._loop = loop
        """Of the process that serves."""
        self._factory = factory
        """Makes a protocol for each client."""
        self._listeners: list[Listener] = []
        """One for each address."""
        self._transports: set[SimulatedTransport] = set()
        """Those of clients that are connected."""
        self._is_serving = False
        """Whether clients are taken."""
        self._is_closed = False
        """Set once, by `close`."""
        self._waiters: list[asyncio.Future[None]] = []
        """Those who wait until the last client has gone."""
        self._forever: asyncio.Future[None] | None = None
        """Of `serve_forever`, which `close` cancels."""

    @property
    def sockets(self) -> tuple[SimulatedSocket, ...]:
        """The listening sockets; none once it is closed."""
        return tuple([SimulatedSocket(each.address) for each in self._listeners])

    def listen(self, host: str, port: int) -> None:
        """Take an address, and refuse clients until it serves. Raises OSError."""
        listener = self._loop.process.listen(host, port, self._admit)
        listener.is_open = self._is_serving
        self._listeners.append(listener)

    def get_loop(self) -> asyncio.AbstractEventLoop:
        return self._loop

    def is_serving(self) -> bool:
        return self._is_serving

    async def start_serving(self) -> None:
        self._is_serving = True
        for each in self._listeners:
            each.is_open = True

    async def serve_forever(self) -> None:
        if self._forever is not None:
            raise RuntimeError("serve_forever() is being awaited already")
        if self._is_closed:
            raise RuntimeError("the server is closed")
        await self.start_serving()
        self._forever = self._loop.create_future()
        try:
            await self._forever
        except asyncio.CancelledError:
            try:
                self.close()
                await self.wait_closed()
            finally:
                raise
        finally:
            self._forever = None

    def close(self) -> None:
        listeners, self._listeners = self._listeners, []
        for each in listeners:
            each.close()
        self._is_serving = False
        self._is_closed = True
        if self._forever is not None and not self._forever.done():
            self._forever.cancel()
        self._wake()

    def close_clients(self) -> None:
        """Close the connections."""
        for each in list(self._transports):
            each.close()

    def abort_clients(self) -> None:
        """Reset the connections."""
        for each in list(self._transports):
            each.abort()

    async def wait_closed(self) -> None:
        """Wait until it is closed, and its connections have ended."""
        while not self._is_closed or self._transports:
            waiter = self._loop.create_future()
            self._waiters.append(waiter)
            await waiter

    def forget(self, transport: SimulatedTransport) -> None:
        """Note that a connection has ended."""
        self._transports.discard(transport)
        self._wake()

    # Internals.

    def _admit(self) -> SimulatedTransport:
        transport = SimulatedTransport(self._loop, self)
        self._transports.add(transport)
        self._loop.call_soon(self._accept, transport)
        return transport

    def _accept(self, transport: SimulatedTransport) -> None:
        if not transport.is_over:
            transport.start(self._factory())

    def _wake(self) -> None:
        if self._is_closed and not self._transports:
            waiters, self._waiters = self._waiters, []
            for each in waiters:
                if not each.done():
                    each.set_result(None)


class SimulatedTransport(asyncio.Transport):
    """One end of a line, as a transport of asyncio.

    Like a socket, it hears of a reset when it reads or writes; and a close with unread octets resets the line.
    """

    _start_tls_compatible = True

    def __init__(self, loop: SimulatedLoop, server: SimulatedServer | None = None) -> None:
        super().__init__()
        self.is_over = False
        """Whether nothing comes or goes any more."""
        self._loop = loop
        """Calls the protocol."""
        self._server = server
        """The one that took the client; None: it is the client's own end."""
        self._protocol: asyncio.BaseProtocol | None = None
        """The one that gets the octets; TLS may put another in its place."""
        self._names: dict[str, Any] = {}
        """What `get_extra_info` knows."""
        self._socket: SimulatedSocket
        """Has the addresses, and says how a close goes."""
        self._incoming: Direction
        """The direction of the line to this end."""
        self._outgoing: Direction
        """The line's half that takes what this end writes."""
        self._is_closing = False
        """Whether it was closed: what is unsent still goes."""
        self._is_paused = False
        """Whether the protocol wants to read nothing."""
        self._is_held_up = False
        """Whether the protocol was told to pause its writing."""
        self._has_ended = False
        """Whether no more octets are written."""
        self._high = _HIGH_WATER
        """Unsent octets above which it is told."""
        self._low = _HIGH_WATER // 4
        """Those at which it may go on."""
        self._received = b""
        """Octets that came while it was paused."""
        self._ending: tuple[str, bool] | None = None
        """The peer's end that was not handed over yet."""
        self._unsent = bytearray()
        """Octets that the line has no room for."""

    # For its loop and server.

    def connect(self, line: Line) -> None:
        """Talk on a line as its client."""
        self._incoming = line.down
        self._outgoing = line.up
        self._set_names(line.client, line.server)

    def attach(self, line: Line) -> None:
        """Talk on a line as its server."""
        self._incoming = line.up
        self._outgoing = line.down
        self._set_names(line.server, line.client)

    def start(self, protocol: asyncio.BaseProtocol, waiter: asyncio.Future[None] | None = None) -> None:
        """Give the protocol its transport, then what has arrived; `waiter` is done after the first of these."""
        self._protocol = protocol
        self._loop.call_soon(protocol.connection_made, self)
        self._loop.call_soon(self._hand_over)
        if waiter is not None:
            self._loop.call_soon(_done, waiter)

    # asyncio.

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return self._names.get(name, default)

    def get_protocol(self) -> asyncio.BaseProtocol:
        assert self._protocol is not None
        return self._protocol

    def set_protocol(self, protocol: asyncio.BaseProtocol) -> None:
        self._protocol = protocol

    def is_closing(self) -> bool:
        return self._is_closing

    def is_reading(self) -> bool:
        return not self._is_paused and not self._is_closing

    def pause_reading(self) -> None:
        self._is_paused = True

    def resume_reading(self) -> None:
        if self._is_paused:
            self._is_paused = False
            self._loop.call_soon(self._hand_over)

    def write(self, data: bytes | bytearray | memoryview) -> None:
        if self._has_ended:
            raise RuntimeError("nothing can be written after write_eof()")
        if self._is_closing:
            return
        if self._ending is not None and self._ending[1]:
            # At once: who writes on without a pause learns of it by `is_closing`.
            self._take_end()
            return
        self._unsent += data
        self._send()
        self._hold_up()

    def can_write_eof(self) -> bool:
        return True

    def write_eof(self) -> None:
        if not self._is_closing and not self._has_ended:
            self._has_ended = True
            self._send()

    def get_write_buffer_size(self) -> int:
        return len(self._unsent)

    def get_write_buffer_limits(self) -> tuple[int, int]:
        return self._low, self._high

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        if high is None:
            high = _HIGH_WATER if low is None else 4 * low
        if low is None:
            low = high // 4
        if not high >= low >= 0:
            raise ValueError(f"high ({high}) must be at least low ({low}), and that at least 0")
        self._high = high
        self._low = low
        self._hold_up()

    def close(self) -> None:
        if not self._is_closing:
            self._is_closing = True
            self._send()

    def abort(self, reason: str = "") -> None:
        """Close at once; with a reason, which a process's end gives, with a reset."""
        if not self.is_over:
            self._leave(None, is_reset=bool(reason))

    # End: for the line.

    @property
    def room(self) -> int:
        return 0 if self._is_paused or self._received or self._protocol is None else _HIGH_WATER

    def receive(self, octets: bytes) -> None:
        self._received += octets
        self._loop.call_soon(self._hand_over)

    def writable(self) -> None:
        self._send()

    def ended(self, reason: str, *, is_reset: bool) -> None:
        self._ending = reason, is_reset
        self._loop.call_soon(self._hand_over)

    # Internals.

    def _set_names(self, own: tuple[str, int], peer: tuple[str, int]) -> None:
        self._socket = SimulatedSocket(own, peer)
        names = {"sockname": self._socket.getsockname(), "peername": self._socket.getpeername()}
        self._names = {**names, "socket": self._socket}

    def _hand_over(self) -> None:
        """Give the protocol what has arrived, unless it reads nothing now, and then the end."""
        if self.is_over or self._protocol is None:
            return
        if self._is_closing:
            # Only a reset ends the wait for what is still to be written.
            if self._ending is not None and self._ending[1]:
                self._take_end()
            return
        while self._received and not self._is_paused and not self._is_closing:
            self._feed(self._protocol)
        if self._ending is not None and not self._received and not self._is_paused and not self._is_closing:
            self._take_end()
        elif not self.is_over:
            self._incoming.wake()

    def _feed(self, protocol: asyncio.BaseProtocol) -> None:
        octets = self._received
        try:
            if isinstance(protocol, asyncio.BufferedProtocol):
                buffer = memoryview(protocol.get_buffer(len(octets)))
                size = min(len(buffer), len(octets))
                if not size:
                    raise RuntimeError("get_buffer() returned an empty buffer")
                buffer[:size] = octets[:size]
                self._received = octets[size:]
                protocol.buffer_updated(size)
            else:
                assert isinstance(protocol, asyncio.Protocol)
                self._received = b""
                protocol.data_received(octets)
        except Exception as error:
            self._fail(error, "the protocol has failed with received octets")

    def _take_end(self) -> None:
        if self.is_over or self._ending is None:
            return
        (reason, is_reset), self._ending = self._ending, None
        if is_reset:
            self._leave(ConnectionResetError(reason))
            return
        protocol = self._protocol
        assert isinstance(protocol, asyncio.Protocol | asyncio.BufferedProtocol)
        try:
            stays = protocol.eof_received()
        except Exception as error:
            self._fail(error, "the protocol has failed with the end of the stream")
            return
        if not stays:
            self.close()

    def _send(self) -> None:
        if self.is_over:
            return
        room = self._outgoing.room
        if room > 0 and self._unsent:
            self._outgoing.send(bytes(self._unsent[:room]))
            del self._unsent[:room]
        if not self._unsent:
            if self._is_closing:
                self._leave(None)
                return
            if self._has_ended:
                self._outgoing.finish(_CLOSED)
        if self._is_held_up and len(self._unsent) <= self._low:
            self._loop.call_soon(self._go_on)

    def _hold_up(self) -> None:
        if len(self._unsent) > self._high and not self._is_held_up and not self.is_over:
            self._is_held_up = True
            if self._protocol is not None:
                self._protocol.pause_writing()

    def _go_on(self) -> None:
        if self._is_held_up and len(self._unsent) <= self._low and not self.is_over and self._protocol is not None:
            self._is_held_up = False
            self._protocol.resume_writing()

    def _fail(self, error: Exception, message: str) -> None:
        if not isinstance(error, OSError):
            context = {"message": message, "exception": error, "transport": self, "protocol": self._protocol}
            self._loop.call_exception_handler(context)
        self._force_close(error)

    def _force_close(self, error: Exception | None) -> None:
        """End at once, because of an error; asyncio's TLS calls it too."""
        if not self.is_over:
            self._leave(error)

    def _leave(self, error: Exception | None, *, is_reset: bool = False) -> None:
        self.is_over = True
        self._is_closing = True
        is_coming = len(self._incoming) > 0
        is_reset = is_reset or self._socket.resets or bool(self._received) or (self._is_paused and is_coming)
        self._received = b""
        self._unsent.clear()
        self._incoming.stop()
        self._outgoing.finish("the connection was reset" if is_reset else _CLOSED, is_reset=is_reset)
        if is_coming:
            self._outgoing.refuse()
        if not self._loop.is_closed():
            self._loop.call_soon(self._lost, error)

    def _lost(self, error: Exception | None) -> None:
        try:
            if self._protocol is not None:
                self._protocol.connection_lost(error)
        finally:
            if self._server is not None:
                self._server.forget(self)


def _seen(waiter: asyncio.Future[Any]) -> None:
    """Take a handshake's error, which the transport's protocol has dealt with."""
    if not waiter.cancelled():
        waiter.exception()


def _done(waiter: asyncio.Future[None]) -> None:
    if not waiter.done():
        waiter.set_result(None)


__all__ = ["SimulatedLoop", "simulated", "simulated_loop"]
