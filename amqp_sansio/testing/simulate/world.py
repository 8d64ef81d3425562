"""World: brokers, programs with their clients, one network and one clock, moved one step at a time."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Coroutine, Iterable, Iterator
from contextlib import suppress
from enum import Enum
from errno import EADDRINUSE, ECONNREFUSED
from functools import partial
from heapq import heappop, heappush
from itertools import count
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar, cast

from ..._ground.record import record
from ...amqp_0_9_1 import BasicProperties, get_dialect
from ...broker import Settings, commands, forcing
from ...broker.contents.classic import ClassicContent
from ...errors import EndpointClosed, StaleDelivery
from ...versions import AMQP_0_8, AMQP_0_9_1, AMQP_0_10, AMQP_1_0
from .brokers import Node
from .choices import Choices, Schedule
from .judging import Finding, Kind, Ledger, Promise, shown
from .memory import excess_of_broker, excess_of_client
from .network import CAPACITY, Address, Call, End, Job, Line, Listener, ServerEnd, Timer
from .outside import Outside
from .programs import Process, Program
from .tasks import Task

if TYPE_CHECKING:
    from ...broker import Client, Hub
    from .tasks import Owner

_T = TypeVar("_T")
HISTORY: Final = 1_000_000
"""Records that a broker keeps until the world has taken them, after each step."""
AGAIN: Final = (1.0, 2.0, 4.0, 8.0, 16.0, 32.0)
"""Seconds after which a program that has failed or crashed is started again, by the failures since it last did
something."""
PATIENCE: Final = 300.0
MOST_STEPS: Final = 200_000
FAILURES: Final = 20
"""A program that fails so often more than faults happen is no more started again."""
SPANS: Final = (1.0, 10.0, 100.0)
"""Seconds for which something is held up."""
JUMPS: Final = (1.0, 60.0, 3600.0)
CUT: Final = "the connection was reset"
LOOPBACK: Final = "127.0.0.1"
LOOPBACKS: Final = (LOOPBACK, "::1")
FIRST_PORT: Final = 32_768
"""The first of the ports that a world gives."""
_EVERY: Final = ("", "0.0.0.0", "::")
"""What a program names to listen on every address."""
LOTS: Final = 4
"""Ways in which the delays of one recovery are drawn."""
TOLD: Final = 8
"""Lines of a trace that are kept for who makes a schedule shorter."""
MEASURED: Final = 1000
"""Steps between two looks at what everybody keeps in memory."""


class Fault(Enum):
    """The things that go wrong in a world."""

    CUT = "cut"
    """A line is reset; of the octets under way none arrive, or all, or half of them."""
    STALL = "stall"
    """A line hands over nothing for 1, 10 or 100 seconds."""
    CRASH = "crash"
    """A program's process ends at once, and is started again a second later."""
    RESTART = "restart"
    """A broker goes down for 1, 10 or 100 seconds; durable queues with their persistent messages survive."""
    WIPE = "wipe"
    """A broker goes down, and nothing survives."""
    SUSPEND = "suspend"
    """A broker goes down, and comes back from a snapshot: sessions and links that it keeps survive too."""
    PARTITION = "partition"
    """All lines of a broker hand over nothing for 1, 10 or 100 seconds, and nobody can connect to it."""
    BLOCK = "block"
    """A broker takes no publishes for 1, 10 or 100 seconds, as if its memory were full (connection.blocked)."""
    CLOSE = "close"
    """A broker closes a connection, as an operator does (320, amqp:connection:forced)."""
    CHANNEL = "channel"
    """A broker closes a channel of 0-8 or 0-9-1 (406)."""
    SESSION = "session"
    """A broker ends a session of 0-10 or 1.0."""
    LINK = "link"
    """A broker detaches a link of 1.0 (amqp:link:detach-forced)."""
    CANCEL = "cancel"
    """A broker cancels a consumer of 0-9-1 (basic.cancel)."""
    NACK = "nack"
    """Queues refuse the next publish of a client of 0-9-1 (basic.nack)."""
    REJECT = "reject"
    """Queues refuse the next publish of a client of 0-10 or 1.0 (message.reject, the outcome rejected)."""
    SLOW = "slow"
    """A program does nothing for 1, 10 or 100 seconds, while everything else goes on."""
    JUMP = "jump"
    """The clock jumps forward, by a second, a minute or an hour unless `Hazards.jumps` says otherwise."""


@record
class Hazards:
    """The ways in which a world leaves the plain course.

    | field | meaning |
    |---|---|
    | `faults` | the kinds of faults |
    | `most` | the number of faults in a run |
    | `odds` | a random source lets one happen once in so many steps |
    | `order` | the next step is any that is possible, not the one that became possible first |
    | `pieces` | octets are cut: one at a time, or half of them |
    | `jumps` | the seconds by which the clock may jump |
    """

    faults: tuple[Fault, ...] = (Fault.CUT, Fault.CRASH, Fault.RESTART)
    most: int = 2
    odds: int = 40
    order: bool = True
    pieces: bool = False
    jumps: tuple[float, ...] = JUMPS

    def but(self, **changes: Any) -> Hazards:
        """Return the same with other values of some fields."""
        return Hazards(**({name: getattr(self, name) for name in self.__match_args__} | changes))


CALM: Final = Hazards(faults=(), most=0, order=False)
"""No fault, and every step in its turn."""


class _Running:
    """A program that was started: its current process and what becomes of it."""

    def __init__(self, program: Program, name: str, ends: bool, restarts: bool, process: Process) -> None:
        self.program = program
        self.name = name
        self.ends = ends
        self.restarts = restarts
        self.process = process
        self.failures = 0
        self.in_vain = 0
        self.counted = -1
        self.is_over = False
        self.error: BaseException | None = None
        self.stale: StaleDelivery | None = None
        """The error of recovery that it has died of, although it was started again."""


class _Chance(NamedTuple):
    """A fault that could happen now."""

    kind: Fault
    target: Any

    @property
    def label(self) -> str:
        """What it is, by the names of what it is done to: lines differ in their numbers from run to run."""
        target = self.target
        if isinstance(target, _Part):
            return f"{self.kind.value} {target.line.client[0]} {target.name}"
        if isinstance(target, Line):
            return f"{self.kind.value} {target.client[0]} {target.server[0]}"
        return f"{self.kind.value} {getattr(target, 'name', '')}"


class _Part(NamedTuple):
    """A connection at its broker, or a part of it, and what the broker can do to it."""

    node: Node
    line: Line
    name: str
    act: Callable[[], object]


class Told(NamedTuple):
    """A line about what came about, its time and the step of the world."""

    text: str
    now: float
    step: int


class World:
    """A small world: `start` programs in it and `run` it; `findings` says what its promise doesn't allow.

    `choices` decide everything; without them, and with the hazards `CALM`, a run takes its plain course. The time,
    `now`, is in seconds from 0. The broker called "broker" is there from the beginning. A connection has `capacity`
    octets under way in each direction at most; above it the sender waits.

    >>> world = World()
    >>> world.declare("jobs", b"1", b"2")
    >>> async def consumer(process: Process) -> None:
    ...     async with process.connect() as connection, connection.open_channel() as channel:
    ...         async for delivery in channel.consume("jobs"):
    ...             world.worked(delivery.body)
    ...             await delivery.accept()
    >>> with world:
    ...     process = world.start(consumer)
    ...     world.run()
    ...     print(world.findings(), world.ledger.worked)
    [] {b'1': 1, b'2': 1}
    """

    def __init__(
        self,
        choices: Choices | None = None,
        hazards: Hazards = CALM,
        *,
        promise: Promise = Promise.AT_LEAST_ONCE,
        settings: Settings | None = None,
        capacity: int = CAPACITY,
    ) -> None:
        self.choices: Choices = choices or Schedule()
        self.hazards = hazards
        self.now = 0.0
        self.steps = 0
        self.ledger = Ledger(promise)
        self.faults: list[str] = []
        self.trace: list[str] | None = None
        """Lines about what happens; None: nobody wants them."""
        self.told: deque[Told] = deque(maxlen=TOLD)
        """The last lines of a trace, whether or not anybody wants one; without faults."""
        self.noted = 0
        """Lines that were told."""
        self.is_going_wrong = False
        """Whether what is picked now belongs to a fault."""
        self.nodes: dict[str, Node] = {}
        self.lines: list[Line] = []
        self.programs: list[_Running] = []
        self.running: Task[Any] | None = None
        self._capacity = capacity
        self._listeners: dict[Address, Listener] = {}
        self._names = {*LOOPBACKS}
        self._ports = count(FIRST_PORT)
        self._ready: deque[Job] = deque()
        self._timers: list[tuple[float, int, Timer]] = []
        self._serial = 0
        self._current: Owner | None = None
        self.progressed = 0.0, 0
        """The time and the step at which something came about last."""
        self._counted = 0
        self._tasks: list[Task[Any]] = []
        self._endless = ""
        self._excess = ""
        self._outside = Outside(self)
        self.add_broker("broker", settings)

    # For users.

    def add_broker(self, name: str, settings: Settings | None = None) -> Node:
        """Add a broker; programs reach it by a URL with its name as the host. Its users are guest, unless `settings`
        say otherwise."""
        chosen = settings or Settings(seed=name.encode(), heartbeat=0, auto_create=True, consumer_timeout=None)
        node = self.nodes[name] = Node(self, name, chosen if chosen.history else chosen.but(history=HISTORY))
        return node

    def hub(self, name: str = "broker") -> Hub:
        """Return a broker as it is now; a restart may replace it."""
        return self.nodes[name].hub

    def declare(self, queue: str, *bodies: bytes, broker: str = "broker") -> None:
        """Create a durable queue, which is watched, with these persistent messages."""
        self.watch(queue)
        hub = self.hub(broker)
        owner = hub.apply(commands.OpenOwner("/", "guest"))
        hub.apply(commands.DeclareQueue(owner, queue, durable=True))
        tables = get_dialect("0-9-1-rabbit").tables
        properties = BasicProperties(delivery_mode=2).encode(tables)
        for body in bodies:
            hub.apply(commands.Publish(owner, "", queue, ClassicContent(AMQP_0_9_1, properties, tables, body)))
        hub.apply(commands.CloseOwner(owner))
        hub.settle()
        self._watch()

    def watch(self, *queues: str) -> None:
        """Account for the messages of these queues, now and later."""
        self.ledger.queues.update(queues)

    def start(self, program: Program, *, name: str = "", ends: bool = False, restarts: bool = True) -> Process:
        """Run a program. With `ends`, it is a fault if it waits for ever; with `restarts` it is started again a second
        after it failed or crashed."""
        called = name or getattr(program, "__name__", "program")
        running = _Running(program, called, ends, restarts, Process(self, called))
        self.programs.append(running)
        self._launch(running)
        return running.process

    def task(self, coroutine: Coroutine[Any, Any, _T], *, cancel_at: int = 0) -> Task[_T]:
        """Run a coroutine without a process, to be cancelled at its wait number `cancel_at`."""
        task = Task(self, coroutine, None, cancel_at)
        self._tasks = [each for each in self._tasks if not each.done]
        self._tasks.append(task)
        task.resume()
        return task

    def complete(self, coroutine: Coroutine[Any, Any, _T]) -> _T:
        """Run a coroutine, and everything else meanwhile, and return its result."""
        task = self.task(coroutine)
        self.run(lambda: task.done)
        return task.result

    def worked(self, body: bytes) -> None:
        """Note that a program has done the work of a message: the row is written, the mail is sent."""
        self._count(self.ledger.worked, body, "works on")

    def sent(self, body: bytes) -> None:
        """Note that a program has been told that the broker has a message."""
        self._count(self.ledger.sent, body, "knows to be sent")

    def run(
        self, until: Callable[[], bool] | None = None, *, patience: float = PATIENCE, steps: int = MOST_STEPS
    ) -> None:
        """Take steps until `until()` is true, or until rest: nothing is left to do, or for `patience` seconds no
        message has moved, no work was done and no program started or ended. `steps` without any of these are a fault.
        """
        self._outside.begin()
        try:
            while until is None or not until():
                when, step = self.progressed
                if self.now > when + patience and not self._ready:
                    return
                if self.steps > step + steps:
                    self._endless = f"the world has taken {steps} steps in which nothing came about"
                    return
                if not self.step():
                    return
        finally:
            self._outside.end()

    def go_wrong(self, kinds: Iterable[Fault], place: int) -> bool:
        """Let one of the faults of these kinds that are possible now happen, by its place, modulo their number; return
        whether there was any."""
        chances = list(self._chances(kinds))
        if chances:
            self._happen(chances[place % len(chances)])
        return bool(chances)

    def possible(self) -> list[str]:
        """Return a name for each fault of its hazards that is possible now, in the order of their numbers; several may
        have the same."""
        return [each.label for each in self._chances(self.hazards.faults)]

    def pass_time(self, seconds: float) -> None:
        """Take all steps of the next `seconds`."""
        end = self.now + seconds
        self._outside.begin()
        try:
            while self._ready or ((when := self._next_time()) is not None and when <= end):
                self.step()
        finally:
            self._outside.end()
        self.now = max(self.now, end)

    @property
    def is_busy(self) -> bool:
        """Whether there is a step to take before time passes."""
        return bool(self._ready)

    def step(self) -> bool:
        """Take one step; return False if there is none to take."""
        if len(self.faults) < self.hazards.most and self._go_wrong():
            return True
        ready = self._ready
        if ready:
            place = self.pick(len(ready)) if self.hazards.order and len(ready) > 1 else 0
            job = ready[place]
            del ready[place]
        else:
            if self._next_time() is None:
                return False
            when, _, timer = heappop(self._timers)
            self.now = max(self.now, when)
            job = timer.job
        self.steps += 1
        job.run()
        self._watch()
        if self.steps % MEASURED == 0:
            self._measure()
        return True

    def forget(self) -> None:
        """Forget the programs that have ended, and every message: for runs that have times of rest."""
        self.programs = [each for each in self.programs if not each.is_over]
        self.ledger.clear()

    def findings(self) -> list[Finding]:
        """Return what the promise doesn't allow, at rest, and who has kept more in memory than its limits allow."""
        found = list(self.ledger.findings([node.hub.model for node in self.nodes.values()]))
        self._measure()
        if self._excess:
            found.append(Finding(Kind.MEMORY, b"", self._excess))
        if self._endless:
            found.append(Finding(Kind.STUCK, b"", self._endless))
        for each in self.programs:
            if each.stale is not None:
                text = f"{each.name} has ended with {each.stale!r}, although its connection recovers"
                found.append(Finding(Kind.FAILED, b"", text))
            if each.error is not None:
                error = each.error
                text = f"{each.name} has failed {each.failures} times, at last with {type(error).__name__}: {error}"
                found.append(Finding(Kind.FAILED, b"", text))
            elif each.ends and not each.is_over:
                found.append(Finding(Kind.STUCK, b"", f"{each.name} waits for something that never comes"))
        return found

    def __enter__(self) -> World:
        self._outside.begin()
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self.close()
        finally:
            self._outside.end()

    def close(self) -> None:
        """End all programs and tasks; leaving the world's context does it too."""
        for task in self._tasks:
            task.close()
        for each in self.programs:
            if each.process.is_alive:
                each.process.end("the world ends")

    # Scheduler, Machine, Surroundings: for its parts.

    @property
    def acting(self) -> Process | None:
        """The process whose code runs now."""
        return self._current if isinstance(self._current, Process) else None

    def soon(self, job: Job) -> None:
        """Do a job in a step of its own."""
        self._ready.append(job)

    def at(self, when: float, job: Job) -> Timer:
        """Do a job at a time."""
        self._serial += 1
        timer = Timer(job)
        heappush(self._timers, (when, self._serial, timer))
        return timer

    def pick(self, count: int, odds: int = 0) -> int:
        """Choose a number below `count`."""
        return self.choices.pick(count, odds) if count > 1 else 0

    def piece(self, most: int) -> int:
        """Choose how many octets a line hands over, at most `most`."""
        if not self.hazards.pieces or most == 1:
            return most
        return (most, 1, (most + 1) // 2)[self.pick(3)]

    def enter(self, process: Owner | None) -> Owner | None:
        """Note whose code runs now; return whose ran before."""
        before, self._current = self._current, process
        return before

    def number(self) -> int:
        """Return a number that is unique in this world."""
        self._serial += 1
        return self._serial

    def lot(self) -> int:
        """Return what delays of a recovery are drawn with: the same in each run, unless it leaves the plain course."""
        number = self.number()
        return number + (self.pick(LOTS) << 32 if self.hazards.order else 0)

    def is_reachable(self, host: str, port: int = 0) -> bool:
        """Whether octets reach a broker, by its name, or the program that listens on a port.

        Raises ConnectionRefusedError while the broker is down and where nobody listens, OSError for an unknown host.
        """
        node = self.nodes.get(host)
        if node is None:
            self._listener(host, port)
            return True
        if not node.is_up:
            raise ConnectionRefusedError(f"broker {host!r} is down")
        return node.unreachable_until <= self.now

    def listen(self, host: str, port: int, admit: Callable[[], ServerEnd]) -> Listener:
        """Let programs connect to a host's name or address, "" for every one, and a port; 0 takes a free one.

        `admit` is called for each that does, and returns the other end of its line. "localhost" is 127.0.0.1. Raises
        OSError if somebody listens there already.
        """
        name = self.address_of(host)
        address = name, port or next(self._ports)
        if address in self._listeners or ("", address[1]) in self._listeners:
            raise OSError(
                EADDRINUSE, f"Address already in use: somebody listens on {host or 'every address'}, port {port}"
            )
        self._names.add(name)
        listener = self._listeners[address] = Listener(address, admit, self._forget_listener)
        return listener

    def address_of(self, host: str) -> str:
        """Return the address of a name; names that aren't local ones are addresses themselves."""
        if host in _EVERY:
            return ""
        return LOOPBACK if host == "localhost" else host

    def is_known(self, host: str) -> bool:
        """Whether it is a broker's name, or one on which a program has listened."""
        return host in self.nodes or self.address_of(host) in self._names

    def open_line(self, host: str, port: int, end: End, client: str = "") -> Line:
        """Connect an end, of the host called `client`, to a broker or to a program. Raises as `is_reachable`."""
        self.is_reachable(host, port)
        node = self.nodes.get(host)
        if node is not None:
            there: ServerEnd = node.admit()
            server = host, port
        else:
            listener = self._listener(host, port)
            there = listener.admit()
            server = self.address_of(host) or LOOPBACK, port
        addresses = (server[0] if server[0] in LOOPBACKS else client, next(self._ports)), server
        line = Line(self, self.number(), (end, there), addresses, self._capacity)
        self.lines.append(line)
        there.attach(line)
        return line

    def note(self, text: str, process: Owner | None = None) -> None:
        """Add a line to the trace."""
        who = f"{process.name}: " if isinstance(process, Process) else ""
        self.noted += 1
        self.told.append(Told(who + text, self.now, self.steps))
        if self.trace is not None:
            self.trace.append(f"{self.now:9.3f}  {who}{text}")

    # Internals.

    def _count(self, counts: dict[bytes, int], body: bytes, verb: str) -> None:
        process = self._current
        if process is None or process.is_alive:
            counts[body] = counts.get(body, 0) + 1
            self._counted += 1
            self._progress()
            self.note(f"{verb} {shown(body)}", process)

    def _listener(self, host: str, port: int) -> Listener:
        name = self.address_of(host) or LOOPBACK
        found = self._listeners.get((name, port)) or self._listeners.get(("", port))
        if found is None or not found.is_open:
            if found is not None or self.is_known(host):
                raise ConnectionRefusedError(ECONNREFUSED, f"Connection refused: nobody listens on {host}, port {port}")
            raise OSError(f"no broker is called {host!r} in this world; it has {', '.join(sorted(self.nodes))}")
        return found

    def _forget_listener(self, listener: Listener) -> None:
        if self._listeners.get(listener.address) is listener:
            del self._listeners[listener.address]

    def _progress(self) -> None:
        self.progressed = self.now, self.steps

    def _next_time(self) -> float | None:
        timers = self._timers
        while timers and timers[0][2].is_cancelled:
            heappop(timers)
        return timers[0][0] if timers else None

    def _watch(self) -> None:
        """Take what has happened to messages."""
        for node in self.nodes.values():
            history = node.hub.model.history
            if history is not None and history.records:
                while history.records:
                    line = self.ledger.take(history.records.popleft())
                    if line:
                        self._progress()
                        self.note(line)

    def _measure(self) -> None:
        """Note the first excess of memory over what limits allow."""
        texts = [excess_of_broker(node.hub) for node in self.nodes.values()]
        texts += [excess_of_client(client) for each in self.programs for client in each.process.clients]
        self._excess = self._excess or next((f"at step {self.steps} {text}" for text in texts if text), "")

    def _launch(self, running: _Running) -> None:
        process = running.process
        self._progress()
        again = "" if process.number == 1 else " again"
        self.note(f"starts{again}", process)
        process.start(running.program(process)).when_done(lambda task: self._ended(running, task))

    def _ended(self, running: _Running, task: Task[Any]) -> None:
        process, error = running.process, task.error
        self._progress()
        if error is None:
            running.is_over = True
            self.note("ends", process)
        else:
            running.stale = running.stale or _stale(error)
            running.failures += 1
            self.note(f"fails with {type(error).__name__}: {error}", process)
            if not running.restarts or running.failures > FAILURES + len(self.faults):
                running.error = error
        process.end("the program has ended")
        if error is not None and running.error is None:
            self._launch_later(running)

    def _launch_later(self, running: _Running) -> None:
        running.process = Process(self, running.name, running.process.number + 1)
        running.in_vain = running.in_vain + 1 if running.counted == self._counted else 0
        running.counted = self._counted
        seconds = AGAIN[min(running.in_vain, len(AGAIN) - 1)]
        self.at(self.now + seconds, Call(lambda: self._launch(running)))

    # Faults.

    def _go_wrong(self) -> bool:
        chances = list(self._chances(self.hazards.faults))
        picked = self.pick(1 + len(chances), self.hazards.odds)
        if picked:
            self._happen(chances[picked - 1])
        return picked > 0

    def _happen(self, chance: _Chance) -> None:
        self.is_going_wrong = True
        try:
            text = _FAULTS[chance.kind](self, chance.target)
        finally:
            self.is_going_wrong = False
        self.faults.append(text)
        self._progress()
        if self.trace is not None:
            self.trace.append(f"{self.now:9.3f}  FAULT: {text}")

    def _chances(self, kinds: Iterable[Fault]) -> Iterator[_Chance]:
        self.lines = [each for each in self.lines if not each.is_over]
        up = [each for each in self.nodes.values() if each.is_up]
        running = [each for each in self.programs if each.process.tasks and not each.is_over and each.error is None]
        targets: dict[Fault, Iterable[object]] = {
            Fault.CUT: self.lines,
            Fault.STALL: self.lines,
            Fault.CRASH: running,
            Fault.RESTART: up,
            Fault.WIPE: up,
            Fault.SUSPEND: up,
            Fault.PARTITION: up,
            Fault.BLOCK: up,
            Fault.SLOW: running,
            Fault.JUMP: (self,),
        }
        for kind in kinds:
            for target in targets[kind] if kind in targets else self._open_parts(kind, up):
                yield _Chance(kind, target)

    def _open_parts(self, kind: Fault, up: Iterable[Node]) -> Iterator[_Part]:
        """Yield what brokers can end or refuse by themselves, by the version of each client."""
        versions = _OF_CONNECTIONS.get(kind)
        for node in up:
            for end in node.ends:
                core = end.core
                if end.line is None or core.front is None or not core.is_open:
                    continue
                if versions is None:
                    parts = [each for each in forcing.parts(core) if each.kind == _PARTS.get(kind)]
                    yield from [_Part(node, end.line, f"{each.kind} {each.name}", each.end) for each in parts]
                elif core.version in versions:
                    yield _Part(node, end.line, "", partial(_DONE_BY[kind], core))

    def cut(self, line: Line) -> str:
        """Reset a line; return a text about it."""
        how = self.pick(3)
        up, down = ((0, 0), (None, None), (len(line.up) // 2, len(line.down) // 2))[how]
        line.cut(CUT, up, down)
        arrive = ("none", "all", "half")[how]
        return f"connection {line.number} is cut; of the octets under way {arrive} arrive"

    def stall(self, line: Line) -> str:
        """Hold a line up; return a text about it."""
        seconds = SPANS[self.pick(len(SPANS))]
        line.hold(self.now + seconds)
        return f"connection {line.number} hands over nothing for {seconds:g} seconds"

    def crash(self, running: _Running) -> str:
        """End a program's process, and start it again later; return a text about it."""
        running.process.end("the process crashed")
        self._launch_later(running)
        return f"{running.name} crashes"

    def restart(self, node: Node) -> str:
        """Restart a broker with what is durable; return a text about it."""
        seconds = SPANS[self.pick(len(SPANS))]
        node.restart(keep=True, downtime=seconds)
        return f"broker {node.name!r} is down for {seconds:g} seconds"

    def wipe(self, node: Node) -> str:
        """Restart a broker without its state; return a text about it."""
        seconds = SPANS[self.pick(len(SPANS))]
        node.restart(keep=False, downtime=seconds)
        return f"broker {node.name!r} is down for {seconds:g} seconds, and has lost everything"

    def suspend(self, node: Node) -> str:
        """Restart a broker from a snapshot; return a text about it."""
        seconds = SPANS[self.pick(len(SPANS))]
        node.suspend(downtime=seconds)
        return f"broker {node.name!r} is down for {seconds:g} seconds, and comes back from a snapshot"

    def partition(self, node: Node) -> str:
        """Let no octet reach a broker for a time, or come from it; return a text about it."""
        seconds = SPANS[self.pick(len(SPANS))]
        node.unreachable_until = self.now + seconds
        for line in self.lines:
            if line.server[0] == node.name:
                line.hold(node.unreachable_until)
        return f"nobody reaches broker {node.name!r} for {seconds:g} seconds"

    def block(self, node: Node) -> str:
        """Let a broker take no publishes for a time; return a text about it."""
        seconds = SPANS[self.pick(len(SPANS))]
        node.hold_publishers("low on memory")
        self.at(self.now + seconds, Call(lambda: node.hold_publishers("")))
        return f"broker {node.name!r} takes no publishes for {seconds:g} seconds"

    def slow(self, running: _Running) -> str:
        """Let a program do nothing for a time; return a text about it."""
        seconds = SPANS[self.pick(len(SPANS))]
        running.process.held_until = self.now + seconds
        return f"{running.name} does nothing for {seconds:g} seconds"

    def _end_part(self, part: _Part) -> str:
        """Let a broker end a part of a connection."""
        part.act()
        part.node.turn_soon()
        return f"broker {part.node.name!r} ends {part.name} of connection {part.line.number}"

    def _close(self, part: _Part) -> str:
        part.act()
        part.node.turn_soon()
        return f"broker {part.node.name!r} closes connection {part.line.number}"

    def _refuse(self, part: _Part) -> str:
        part.act()
        return f"queues refuse the next publish of connection {part.line.number}"

    def jump(self, _: object = None) -> str:
        """Let the clock jump; return a text about it."""
        jumps = self.hazards.jumps
        seconds = jumps[self.pick(len(jumps))]
        self.now += seconds
        return f"the clock jumps by {seconds:g} seconds"


def _stale(error: BaseException) -> StaleDelivery | None:
    """Return the first StaleDelivery that a program has died of: the delivery comes again, so nothing was wrong."""
    if isinstance(error, BaseExceptionGroup):
        inner = cast("BaseExceptionGroup[BaseException]", error).exceptions
        return next((found for each in inner if (found := _stale(each)) is not None), None)
    if isinstance(error, StaleDelivery):
        return error
    return None if error.__cause__ is None else _stale(error.__cause__)


def _force(core: Client) -> None:
    """Let a broker close a client's connection."""
    with suppress(EndpointClosed):
        forcing.close_connection(core, 320, "CONNECTION_FORCED - the broker closes this connection")
    core.next_event()
    core.hub.touch(core.number)


_PARTS: Final = {Fault.CHANNEL: "channel", Fault.SESSION: "session", Fault.LINK: "link", Fault.CANCEL: "consumer"}
_OF_CONNECTIONS: Final = {
    Fault.CLOSE: (AMQP_0_8, AMQP_0_9_1, AMQP_0_10, AMQP_1_0),
    Fault.NACK: (AMQP_0_9_1,),
    Fault.REJECT: (AMQP_0_10, AMQP_1_0),
}
"""The versions of the clients to which a broker does these."""
_DONE_BY: Final[dict[Fault, Callable[[Client], object]]] = {
    Fault.CLOSE: _force,
    Fault.NACK: forcing.refuse_next,
    Fault.REJECT: forcing.refuse_next,
}
_FAULTS: Final[dict[Fault, Callable[[World, Any], str]]] = {
    Fault.CUT: World.cut,
    Fault.STALL: World.stall,
    Fault.CRASH: World.crash,
    Fault.RESTART: World.restart,
    Fault.WIPE: World.wipe,
    Fault.SUSPEND: World.suspend,
    Fault.PARTITION: World.partition,
    Fault.BLOCK: World.block,
    Fault.CLOSE: World._close,  # pyright: ignore[reportPrivateUsage]
    Fault.CHANNEL: World._end_part,  # pyright: ignore[reportPrivateUsage]
    Fault.SESSION: World._end_part,  # pyright: ignore[reportPrivateUsage]
    Fault.LINK: World._end_part,  # pyright: ignore[reportPrivateUsage]
    Fault.CANCEL: World._end_part,  # pyright: ignore[reportPrivateUsage]
    Fault.NACK: World._refuse,  # pyright: ignore[reportPrivateUsage]
    Fault.REJECT: World._refuse,  # pyright: ignore[reportPrivateUsage]
    Fault.SLOW: World.slow,
    Fault.JUMP: World.jump,
}
