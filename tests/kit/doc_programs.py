"""The client programs of README and of the guides, as they stand there, each in a simulated world with one hazard.

`PROGRAMS` has every piece of code that connects to a broker, `ELSEWHERE` those that can't run here, with the reason.
"""

from __future__ import annotations

import logging
import re
import signal
from collections.abc import Callable, Generator, Mapping
from contextlib import AbstractContextManager, contextmanager
from typing import Any, Final, NamedTuple

from amqp_sansio.amqp_0_9_1 import BasicProperties, get_dialect
from amqp_sansio.broker import commands, forcing
from amqp_sansio.broker.contents.classic import ClassicContent
from amqp_sansio.errors import AmqpError, StaleDelivery
from amqp_sansio.testing.simulate import Program, World
from amqp_sansio.versions import AMQP_0_9_1
from amqp_sansio_asyncio.simulated import simulated
from amqp_sansio_sync.simulated import simulated as simulated_blocking
from amqp_sansio_sync.system import current
from tests.test_layout import ROOT

BLOCK: Final = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
_RUN: Final = re.compile(r"^(?:print\()?asyncio\.run\(.*\n", re.MULTILINE)
NO_ARGUMENTS: Final[Mapping[str, object]] = {}
URL: Final = "amqp://guest:guest@broker/"


class Sent(NamedTuple):
    """A message for a program."""

    body: bytes
    properties: BasicProperties = BasicProperties()


BARE: Final = Sent(b"")
"""A message with nothing in it."""
DEAD_REPLY: Final = {
    "a queue that is gone": BasicProperties(reply_to="gone", correlation_id="1"),
    "the direct reply of a client that is gone": BasicProperties(reply_to="amq.rabbitmq.reply-to.gone"),
    "an exchange that isn't there": BasicProperties(reply_to="/exchanges/nope/key"),
    "no address": BasicProperties(reply_to="/queues/%"),
}


def calls(name: str, *arguments: object) -> Callable[[dict[str, Any]], Any]:
    """A function that calls one of a program's names."""

    def call(names: dict[str, Any]) -> Any:
        return names[name](*arguments)

    return call


class DocProgram(NamedTuple):
    """A program: the piece of code `number` of a page, from 0. `run` gets its names; None: the code is the program.

    `takes` is the queue that it consumes from, `good` are messages that it knows what to do with, and `replies` says
    whether it answers them. `publishes`: something of it may be refused. `goes_on`: it never ends by itself.
    `declares`: the queues that must be there, the first with these `arguments`. `with_others`: other pieces of the page
    define names for it. `beside` is the program that answers it.
    """

    page: str
    number: int
    run: Callable[[dict[str, Any]], Any] | None = None
    is_blocking: bool = False
    takes: str = ""
    good: tuple[Sent, ...] = ()
    replies: bool = False
    publishes: bool = False
    goes_on: bool = False
    recovers: bool = False
    declares: tuple[str, ...] = ()
    with_others: tuple[int, ...] = ()
    arguments: Mapping[str, object] = NO_ARGUMENTS
    beside: str = ""

    @property
    def feeds_itself(self) -> bool:
        """Whether it consumes what it has published."""
        return self.publishes and bool(self.takes) and not self.replies

    @property
    def name(self) -> str:
        return f"{self.page.removeprefix('docs/').removesuffix('.md')}-{self.number}"


HELLO: Final = Sent(b"hello")
JSON: Final = Sent(b'{"number": 1}', BasicProperties(content_type="application/json"))
TEXT: Final = Sent(b'{"text": "1"}')
JOB: Final = Sent(b"[1, 2]", BasicProperties(reply_to="answers", correlation_id="7"))
BODIES: Final = [b"1", b"2"]


PROGRAMS: Final = (
    DocProgram("README.md", 0, calls("main", URL), takes="jobs", good=(HELLO,), publishes=True, recovers=True),
    DocProgram("README.md", 1, is_blocking=True, takes="jobs", good=(HELLO,), publishes=True, recovers=True),
    DocProgram("README.md", 2, calls("greet", URL), takes="jobs", good=(HELLO,), publishes=True, declares=("jobs",)),
    DocProgram("docs/connecting.md", 1, is_blocking=True),
    DocProgram("docs/connecting.md", 2, is_blocking=True, publishes=True),
    DocProgram("docs/connecting.md", 3, is_blocking=True),
    DocProgram("docs/index.md", 0, calls("main"), takes="jobs", good=(JSON,), publishes=True),
    DocProgram("docs/index.md", 1, is_blocking=True, takes="jobs", good=(JSON,), publishes=True),
    DocProgram("docs/index.md", 2, is_blocking=True, publishes=True),
    DocProgram("docs/logging.md", 0, calls("main"), publishes=True),
    DocProgram(
        "docs/messaging.md", 0, calls("main", URL), takes="jobs", good=(HELLO,), publishes=True, declares=("jobs",)
    ),
    DocProgram(
        "docs/messaging.md", 1, is_blocking=True, takes="jobs", good=(JSON,), publishes=True, declares=("jobs",)
    ),
    DocProgram("docs/messaging.md", 2, calls("main", URL), publishes=True, declares=("jobs", "rpc")),
    DocProgram("docs/migrating/aio-pika.md", 1, calls("publish", URL, BODIES), publishes=True, recovers=True),
    DocProgram(
        "docs/migrating/aio-pika.md",
        3,
        calls("consume", URL, 2),
        takes="jobs",
        good=(HELLO, HELLO),
        recovers=True,
        declares=("jobs",),
    ),
    DocProgram("docs/migrating/kombu.md", 1, calls("publish", URL, BODIES), True, publishes=True),
    DocProgram(
        "docs/migrating/kombu.md",
        3,
        calls("consume", URL, 2),
        True,
        takes="jobs",
        good=(TEXT, TEXT),
        declares=("jobs",),
    ),
    DocProgram("docs/migrating/pika.md", 1, calls("publish", URL, BODIES), True, publishes=True),
    DocProgram(
        "docs/migrating/pika.md",
        3,
        calls("consume", URL, 2),
        True,
        takes="jobs",
        good=(HELLO, HELLO),
        declares=("jobs",),
    ),
    *[
        program
        for page in ("docs/migrating/azure.md", "docs/migrating/proton.md")
        for program in (
            DocProgram(page, 1, calls("publish", URL, BODIES), True, publishes=True, declares=("jobs",)),
            DocProgram(
                page, 3, calls("consume", URL, 2), True, takes="jobs", good=(HELLO, HELLO, HELLO), declares=("jobs",)
            ),
        )
    ],
    DocProgram("docs/recovery.md", 0, calls("publish_all", URL, BODIES), publishes=True, recovers=True),
    DocProgram(
        "docs/recovery.md",
        1,
        calls("take_all", URL, 2),
        True,
        takes="jobs",
        good=(HELLO, HELLO),
        recovers=True,
        declares=("jobs",),
    ),
    DocProgram(
        "docs/recovery.md",
        4,
        calls("move_exactly_once", URL, BODIES),
        takes="jobs",
        good=(HELLO, HELLO),
        publishes=True,
        recovers=True,
        declares=("jobs",),
        with_others=(0,),
    ),
    DocProgram(
        "docs/recovery.md",
        5,
        calls("move_in_sessions", URL, BODIES),
        takes="jobs",
        good=(HELLO, HELLO),
        publishes=True,
        recovers=True,
        declares=("jobs",),
        with_others=(0,),
    ),
    DocProgram("docs/shutdown.md", 0, calls("main", URL), publishes=True),
    DocProgram("docs/shutdown.md", 1, calls("work", URL, 25), takes="jobs", good=(HELLO,)),
    DocProgram("docs/versions.md", 0, is_blocking=True, takes="jobs", good=(HELLO,), publishes=True),
    DocProgram(
        "docs/versions.md", 1, is_blocking=True, takes="letters", good=(HELLO,), publishes=True, declares=("letters",)
    ),
    DocProgram(
        "docs/workers.md",
        0,
        calls("main", URL),
        takes="jobs",
        good=(JOB,),
        replies=True,
        publishes=True,
        goes_on=True,
        recovers=True,
        declares=("jobs", "answers"),
        arguments={"x-dead-letter-exchange": "failed"},
    ),
    DocProgram(
        "docs/workers.md",
        1,
        calls("main", URL),
        True,
        takes="jobs",
        good=(JOB,),
        replies=True,
        publishes=True,
        goes_on=True,
        recovers=True,
        declares=("jobs", "answers"),
        arguments={"x-dead-letter-exchange": "failed"},
    ),
    DocProgram(
        "docs/workers.md",
        2,
        calls("ask", URL, [1, 2]),
        True,
        publishes=True,
        declares=("jobs",),
        arguments={"x-dead-letter-exchange": "failed"},
        beside="workers-0",
    ),
    DocProgram("docs/workers.md", 3, calls("declare_retries", URL, 1000), True),
)
ELSEWHERE: Final = {
    ("docs/broker.md", 1): "a connection without a transport, in one piece of code with its broker",
    ("docs/connecting.md", 0): "its URL is refused before anything is connected",
    ("docs/connecting.md", 4): "it needs a peer that wants tokens; tests/asyncio/test_cbs.py has one",
    ("docs/driver.md", 1): "a connection without a transport; tests/docs/test_driver.py runs it",
    ("docs/integrating.md", 4): "Twisted's reactor; tests/system/examples runs it",
    ("docs/migrating/azure.md", 5): "it talks to Service Bus; tests/interop/test_azure_servicebus.py runs it",
    ("docs/migrating/azure.md", 7): "it talks to Service Bus; tests/interop/test_azure_servicebus.py runs it",
    ("docs/migrating/azure.md", 8): "it talks to Service Bus; tests/interop/test_azure_servicebus.py runs it",
    ("docs/simulate.md", 0): "a world of its own, which the page puts under hazards",
    ("docs/simulate.md", 1): "a world of its own, which the page puts under hazards",
    ("docs/simulate.md", 2): "a world of its own, which the page puts under hazards",
    ("docs/simulate.md", 3): "a world of its own; it shows a relay that delays octets",
    ("docs/simulate.md", 4): "a world of its own, which the page puts under hazards",
    ("docs/simulate.md", 5): "a world of its own; it shows that time passes",
    ("docs/simulate.md", 6): "a world of its own, which Hypothesis puts under hazards",
    ("docs/testing.md", 4): "a test of a lost confirm itself",
    ("docs/testing.md", 6): "a world of its own; it shows a stalled connection",
    **{
        ("docs/tutorials.md", number): "publishes and consumes on one connection, once; test_tutorials runs it"
        for number in range(1, 10)
    },
}
"""Pieces of code that connect, and why they aren't run here."""


def blocks_of(page: str) -> list[str]:
    return BLOCK.findall((ROOT / page).read_text(encoding="utf-8"))


class Pool:
    """In the place of ThreadPoolExecutor: threads of the world that a program runs in."""

    def __init__(self, workers: int) -> None:
        self._system = current()
        self._left = workers
        self._bell = self._system.bell()
        self._threads: list[Any] = []

    def __enter__(self) -> Pool:
        return self

    def __exit__(self, *_: object) -> None:
        for thread in self._threads:
            thread.join()

    def submit(self, function: Callable[..., object], *arguments: object) -> None:
        """Call a function in a thread. Nobody sees an error of the library, as with a future that nobody asks; another
        one is told in the trace."""
        while not self._left:
            self._bell.wait(None)
        self._left -= 1

        def run() -> None:
            try:
                function(*arguments)
            except (AmqpError, OSError):
                pass
            finally:
                self._left += 1
                self._bell.ring()

        self._threads.append(self._system.start(run, "worker"))


def program_of(given: DocProgram) -> Program:
    """A page's program for a world."""
    blocks = blocks_of(given.page)
    code = "".join(_RUN.sub("", blocks[number]) for number in (*given.with_others, given.number))
    code = code.replace("@localhost/", "@broker/")
    # The orchestrator's signal would end the tests.
    code = code.replace("loop.call_later(0.2, signal.raise_signal, signal.SIGTERM)", "loop.call_later(0.2, stop.set)")
    compiled = compile(code, given.page, "exec")
    names: dict[str, Any] = {"__name__": "page"}

    def loaded() -> dict[str, Any]:
        exec(compiled, names)
        if "ThreadPoolExecutor" in names:
            names["ThreadPoolExecutor"] = Pool
        return names

    run = given.run
    if run is None:
        return simulated_blocking(loaded, name=given.name)
    if given.is_blocking:
        return simulated_blocking(lambda: run(loaded()), name=given.name)

    async def main() -> object:
        return await run(loaded())

    return simulated(main, name=given.name)


def put(world: World, queue: str, *messages: Sent) -> None:
    """Publish messages to a queue, as another client would."""
    hub = world.hub()
    owner = hub.apply(commands.OpenOwner("/", "guest"))
    tables = get_dialect("0-9-1-rabbit").tables
    for each in messages:
        properties = each.properties.replace(delivery_mode=2).encode(tables)
        hub.apply(commands.Publish(owner, "", queue, ClassicContent(AMQP_0_9_1, properties, tables, each.body)))
    hub.apply(commands.CloseOwner(owner))
    hub.settle()
    world.nodes["broker"].turn_soon()


class Stage:
    """A program in a world, from its start."""

    def __init__(self, given: DocProgram, *messages: Sent) -> None:
        self.given = given
        self.world = World()
        self.world.trace = []
        owner = self.world.hub().apply(commands.OpenOwner("/", "guest"))
        for queue in given.declares:
            arguments = given.arguments if queue == given.declares[0] else NO_ARGUMENTS
            self.world.hub().apply(commands.DeclareQueue(owner, queue, durable=True, arguments=arguments))
        self.world.hub().apply(commands.CloseOwner(owner))
        if messages and self.is_ready:
            put(self.world, given.takes, *messages)
            messages = ()
        if given.beside:
            (other,) = [each for each in PROGRAMS if each.name == given.beside]
            self.world.start(program_of(other), name=other.name)
            self.world.run()
        self.world.start(program_of(given), name=given.name, restarts=False)
        self.running = self.world.programs[-1]
        if messages:
            self.feed(*messages)

    @property
    def is_over(self) -> bool:
        return self.running.is_over or self.running.error is not None

    @property
    def is_ready(self) -> bool:
        """Whether the queue that it takes from is there."""
        return self.given.takes in self.world.hub().model.vhosts["/"].queues

    def feed(self, *messages: Sent) -> None:
        """Give it messages, as soon as its queue is there."""
        if self.given.takes:
            self.world.run(lambda: self.is_over or self.is_ready)
            if self.is_ready:
                put(self.world, self.given.takes, *messages)

    def finish(self) -> None:
        """Run it to its end; what waits for a message gets good ones. Raises AssertionError if it doesn't survive."""
        given = self.given
        # What was done to it by hand may come about only later.
        self.world.progressed = self.world.now, self.world.steps
        self.world.run()
        for _ in range(3):
            if self.is_over or not given.takes:
                break
            self.feed(*given.good)
            self.world.run()
        assert not [line for line in self.world.trace or () if " worker: " in line]
        error = self.running.error
        if error is not None:
            told = "\n".join(self.world.trace or ())
            assert not (given.recovers and isinstance(error, StaleDelivery)), told
            assert isinstance(error, (AmqpError, OSError, TimeoutError)), f"{error!r}\n{told}"
            # What recovers does so from its first connection on.
            assert not given.goes_on or str(error).startswith("no connection to"), f"{error!r}\n{told}"
        elif given.goes_on:
            left = self.world.hub().model.vhosts["/"].queues[given.takes].messages
            assert not self.running.is_over
            assert left == 0, f"{left} messages are left"
        else:
            assert self.running.is_over, "it waits for something that never comes\n" + "\n".join(self.world.trace or ())


@contextmanager
def staged(given: DocProgram, *messages: Sent) -> Generator[Stage]:
    """A program in its world; handlers of signals and of logging are as before at the end."""
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    logger = logging.getLogger("amqp_sansio_asyncio")
    level, told = logger.level, [*logger.handlers]
    stage = Stage(given, *messages)
    try:
        with stage.world:
            yield stage
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
        logger.setLevel(level)
        logger.handlers[:] = told


def usual(given: DocProgram) -> AbstractContextManager[Stage]:
    """A program with the messages that it waits for."""
    return staged(given, *(() if given.feeds_itself else given.good))


def plain(given: DocProgram) -> int:
    """Run a program without a hazard; return the steps that it takes."""
    with usual(given) as stage:
        stage.finish()
        assert stage.running.error is None, repr(stage.running.error)
        return stage.world.steps


def bare(given: DocProgram) -> None:
    """It gets a message without properties and body, before the good ones and between them."""
    with staged(given, BARE, *given.good, BARE) as stage:
        stage.finish()


def dead_reply(given: DocProgram, properties: BasicProperties) -> None:
    """It gets a message whose answer nobody takes, and goes on with the next."""
    with staged(given, Sent(given.good[0].body, properties), *given.good) as stage:
        stage.finish()


def lost(given: DocProgram, step: int) -> bool:
    """Its connection is cut at a step; return whether there was one."""
    with usual(given) as stage:
        for _ in range(step):
            stage.world.step()
        lines = [each for each in stage.world.lines if each.client[0] == given.name and not each.is_over]
        for line in lines:
            stage.world.cut(line)
        stage.finish()
        return bool(lines)


def refused(given: DocProgram) -> BaseException | None:
    """Queues refuse its first publish; return the error that it ends with, if any."""
    with usual(given) as stage:
        world = stage.world
        world.run(lambda: stage.is_over or _refuses(world, given.name))
        stage.finish()
        history = "\n".join(world.trace or ())
        assert stage.world.hub().model.publishing.refusing == set(), history
        return stage.running.error


def _refuses(world: World, client: str) -> bool:
    """Let the next publish of a program be refused, once it is connected."""
    for end in world.nodes["broker"].ends:
        if end.line is not None and end.line.client[0] == client and end.core.is_open:
            forcing.refuse_next(end.core)
            return bool(world.hub().model.publishing.refusing)
    return False


__all__ = [
    "BLOCK",
    "DEAD_REPLY",
    "ELSEWHERE",
    "PROGRAMS",
    "DocProgram",
    "bare",
    "blocks_of",
    "dead_reply",
    "lost",
    "plain",
    "refused",
]
