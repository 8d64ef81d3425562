"""World: brokers, programs with their clients, one network and one clock, moved one step at a time."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Coroutine, Iterable, Iterator
from enum import Enum
from heapq import heappop, heappush
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar

from ..._core.record import record
from ...amqp_0_9_1 import BasicProperties, get_dialect
from ...broker import Settings, commands
from ...broker.contents.classic import ClassicContent
from ...versions import AMQP_0_9_1
from .brokers import Node
from .choices import Choices, Schedule
from .judging import Finding, Kind, Ledger, Promise, shown
from .memory import excess_of_broker, excess_of_client
from .network import Call, End, Job, Line, Timer
from .programs import Process, Program
from .tasks import Task

if TYPE_CHECKING:
    from ...broker import Hub
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


class _Chance(NamedTuple):
    """A fault that could happen now."""

    kind: Fault
    target: Any


class World:
    """A small world: `start` programs in it and `run` it; `findings` says what its promise doesn't allow.

    `choices` decide everything; without them, and with the hazards `CALM`, a run takes its plain course. The time,
    `now`, is in seconds from 0. The broker called "broker" is there from the beginning.

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
    ) -> None:
        self.choices: Choices = choices or Schedule()
        self.hazards = hazards
        self.now = 0.0
        self.steps = 0
        self.ledger = Ledger(promise)
        self.faults: list[str] = []
        self.trace: list[str] | None = None
        """Lines about what happens; None: nobody wants them."""
        self.nodes: dict[str, Node] = {}
        self.lines: list[Line] = []
        self.programs: list[_Running] = []
        self.running: Task[Any] | None = None
        self._hosts: dict[int, Node] = {}
        self._ready: deque[Job] = deque()
        self._timers: list[tuple[float, int, Timer]] = []
        self._serial = 0
        self._current: Owner | None = None
        self.progressed = 0.0, 0
        """The time and the step at which something came about last."""
        self._counted = 0
        self._tasks: list[Task[Any]] = []
        self._endless = self._excess = ""
        self.add_broker("broker", settings)

    # For users.

    def add_broker(self, name: str, settings: Settings | None = None) -> Node:
        """Add a broker; programs reach it by a URL with its name as the host. Its users are guest, unless `settings`
        say otherwise."""
        chosen = settings or Settings(seed=name.encode(), heartbeat=0, auto_create=True)
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
        while until is None or not until():
            when, step = self.progressed
            if self.now > when + patience and not self._ready:
                return
            if self.steps > step + steps:
                self._endless = f"the world has taken {steps} steps in which nothing came about"
                return
            if not self.step():
                return

    def go_wrong(self, kinds: Iterable[Fault], place: int) -> bool:
        """Let one of the faults of these kinds that are possible now happen, by its place, modulo their number; return
        whether there was any."""
        chances = list(self._chances(kinds))
        if chances:
            self._happen(chances[place % len(chances)])
        return bool(chances)

    def pass_time(self, seconds: float) -> None:
        """Take all steps of the next `seconds`."""
        end = self.now + seconds
        while self._ready or (self._next_time() or end + 1.0) <= end:
            self.step()
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
            if each.error is not None:
                error = each.error
                text = f"{each.name} has failed {each.failures} times, at last with {type(error).__name__}: {error}"
                found.append(Finding(Kind.FAILED, b"", text))
            elif each.ends and not each.is_over:
                found.append(Finding(Kind.STUCK, b"", f"{each.name} waits for something that never comes"))
        return found

    def __enter__(self) -> World:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End all programs and tasks; leaving the world's context does it too."""
        for task in self._tasks:
            task.close()
        for each in self.programs:
            if each.process.is_alive:
                each.process.end("the world ends")

    # Scheduler, Machine, Surroundings: for its parts.

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

    def is_reachable(self, host: str) -> bool:
        """Whether octets reach a broker. Raises OSError if there is none of that name, ConnectionRefusedError while it
        is down."""
        node = self.nodes.get(host)
        if node is None:
            raise OSError(f"no broker is called {host!r} in this world; it has {', '.join(sorted(self.nodes))}")
        if not node.is_up:
            raise ConnectionRefusedError(f"broker {host!r} is down")
        return node.unreachable_until <= self.now

    def open_line(self, host: str, end: End) -> Line:
        """Connect an end to a broker. Raises as `is_reachable`."""
        self.is_reachable(host)
        node = self.nodes[host]
        there = node.admit()
        line = Line(self, self.number(), end, there)
        self.lines.append(line)
        self._hosts[line.number] = node
        there.attach(line)
        return line

    def note(self, text: str, process: Owner | None = None) -> None:
        """Add a line to the trace."""
        if self.trace is not None:
            who = f"{process.name}: " if isinstance(process, Process) else ""
            self.trace.append(f"{self.now:9.3f}  {who}{text}")

    # Internals.

    def _count(self, counts: dict[bytes, int], body: bytes, verb: str) -> None:
        process = self._current
        if process is None or process.is_alive:
            counts[body] = counts.get(body, 0) + 1
            self._counted += 1
            self._progress()
            self.note(f"{verb} {shown(body)}", process)

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
        text = _FAULTS[chance.kind](self, chance.target)
        self.faults.append(text)
        self._progress()
        self.note(f"FAULT: {text}")

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
            Fault.JUMP: (self,),
        }
        for kind in kinds:
            for target in targets[kind]:
                yield _Chance(kind, target)

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
            if self._hosts[line.number] is node:
                line.hold(node.unreachable_until)
        return f"nobody reaches broker {node.name!r} for {seconds:g} seconds"

    def jump(self, _: object = None) -> str:
        """Let the clock jump; return a text about it."""
        jumps = self.hazards.jumps
        seconds = jumps[self.pick(len(jumps))]
        self.now += seconds
        return f"the clock jumps by {seconds:g} seconds"


_FAULTS: Final[dict[Fault, Callable[[World, Any], str]]] = {
    Fault.CUT: World.cut,
    Fault.STALL: World.stall,
    Fault.CRASH: World.crash,
    Fault.RESTART: World.restart,
    Fault.WIPE: World.wipe,
    Fault.SUSPEND: World.suspend,
    Fault.PARTITION: World.partition,
    Fault.JUMP: World.jump,
}
