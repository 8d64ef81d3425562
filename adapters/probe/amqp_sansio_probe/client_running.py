"""Runs cases against a client: for each the program is started, and connects to a server that a case scripts.

Cases run side by side, each with a port and a program of its own.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from queue import SimpleQueue
from typing import Final, NamedTuple

from amqp_sansio import AmqpError

from .capabilities import Capabilities
from .client_case import ClientCase
from .conversation import Patience
from .host import Host
from .host_0_9_1 import ClassicHost, ClassicHost08
from .host_0_10 import Host_0_10
from .host_1_0 import Host_1_0
from .listening import Accepted, Listener
from .profiles import Deviation
from .programs import CANNOT, Order, Program, Starter
from .running import Attempt, Connection, Result, is_doubted, is_to_be_repeated, result_of, side_by_side
from .transport import OVERSLEPT
from .verdicts import Seen, Surprise, Unusable, Verdict

HOSTS: Final[Mapping[str, type[ClassicHost] | type[Host_1_0] | type[Host_0_10]]] = {
    "0-9-1": ClassicHost,
    "1.0": Host_1_0,
    "0-10": Host_0_10,
    "0-8": ClassicHost08,
}
"""The scripted servers of each version."""
ORDERS: Final = (Order("open"), Order("publish 1"), Order("consume 1 accept"), Order("consume 1 reject"), Order("rpc"))
"""What a program is asked for before any case."""
CLIENT_WORKERS: Final = 4
"""Cases that run side by side where nothing else is said: each starts a program, which is work for the machine."""
_LOOK: Final = 0.05
_LEAST: Final = 0.001


class Ability(NamedTuple):
    """What came of asking the program for something: `problem` is "" if it can."""

    version: str
    skill: str
    problem: str


class ClientRunner:
    """Runs cases against the program that `starter` starts: as many side by side, each in a thread, as `listeners`.

    A program connects to one of them, which nobody else uses then.
    """

    def __init__(
        self,
        listeners: Sequence[Listener],
        starter: Starter,
        *,
        patience: Patience | None = None,
        profile: Mapping[str, Deviation] | None = None,
    ) -> None:
        self.listeners = tuple(listeners)
        self.starter = starter
        self.patience = patience or Patience()
        self.profile = profile or {}
        self.capabilities = Capabilities()
        self._free: SimpleQueue[Listener] = SimpleQueue()
        """The listeners that no program connects to now. Taken and given back by workers."""
        for each in self.listeners:
            self._free.put(each)
        self._usual = self.patience.answer
        """The least seconds from a program's start to its connection. Set whenever one connects."""
        self._is_stopped = False
        """Whether no more programs are to be started. Set when nobody takes further results."""
        self._started: set[Program] = set()
        """The programs that run. Added to and taken from by workers."""

    def ask(self, versions: Sequence[str] = tuple(HOSTS)) -> Iterator[Ability]:
        """Ask the program for everything once, in these versions; its `capabilities` are known at the end."""
        product, number = "", ""
        can: list[str] = []
        for version in versions:
            for order in ORDERS:
                host, problem = self._try(version, order)
                yield Ability(version, order.skill, problem)
                if not problem and host is not None:
                    can.append(f"{version} {order.skill}")
                    product, number = host.product() if not product else (product, number)
        able = tuple([each for each in versions if any(one.startswith(f"{each} ") for one in can)])
        self.capabilities = Capabilities(product, number, able, (), frozenset(can))

    def run(self, cases: Iterable[ClientCase]) -> Generator[Result]:
        """Run cases, and yield their results in the same order.

        Those for which the program lacks something aren't run. Closing it ends the programs that still run. Raises
        Unusable if the program can't be started.
        """
        if len(self.listeners) == 1:
            for case in cases:
                yield self._judge(case)
            return
        listed = list(cases)
        left = yield from side_by_side(self._judge_beside, listed, len(self.listeners), self._stop)
        for case, result in zip(listed[len(listed) - len(left) :], left, strict=True):
            yield result or self._judge(case)

    def _stop(self) -> None:
        # A wait of a case ends with the program's connection.
        self._is_stopped = True
        for each in tuple(self._started):
            each.end()

    def _judge(self, case: ClientCase) -> Result:
        """Run a case as often as it takes, alone."""
        lacking = self._lacking(case)
        if lacking is not None:
            return lacking
        attempts: list[Attempt] = []
        while not attempts or is_to_be_repeated(case, attempts):
            attempts.append(self._attempt(case))
        return result_of(case, attempts, self.profile.get(case.name))

    def _judge_beside(self, case: ClientCase) -> Result | None:
        """Run a case beside others; None if it is to run alone: it was late, or its runs differ."""
        lacking = self._lacking(case)
        if lacking is not None:
            return lacking
        attempts: list[Attempt] = []
        while not attempts or is_to_be_repeated(case, attempts):
            attempts.append(self._attempt(case, is_alone=False))
            if attempts[-1].late or attempts[-1].seen.verdict is not attempts[0].seen.verdict:
                return None
        return result_of(case, attempts, self.profile.get(case.name))

    def _lacking(self, case: ClientCase) -> Result | None:
        """Return the result of a case that the program lacks something for."""
        lacking = self.capabilities.lacks(case.needs)
        return Result(case, Verdict.NOT_RUN, Verdict.NOT_RUN, f"needs {lacking}") if lacking else None

    def _start(self, listener: Listener, version: str, order: Order) -> Program:
        program = self.starter(order.environment(version, f"amqp://guest:guest@{listener.address}/"))
        self._started.add(program)
        if self._is_stopped:
            self._end(program)
            raise Unusable("the run is stopped")
        return program

    def _end(self, program: Program) -> None:
        program.end()
        self._started.discard(program)

    def _join(self, listener: Listener, program: Program) -> _Joined:
        """Return the program's connection; None if it ends, or doesn't come in time."""
        began = listener.now()
        longest = max(self.patience.answer * 4, 10.0)
        transport: Accepted | None = None
        while transport is None and listener.now() - began < longest:
            has_ended = program.status() is not None
            transport = listener.accept(_LEAST if has_ended else _LOOK)
            if has_ended:
                break
        seconds = listener.now() - began
        if transport is not None:
            self._usual = min(self._usual, seconds)
        return _Joined(transport, seconds)

    def _try(self, version: str, order: Order) -> tuple[Host | None, str]:
        """Let the program do something with a server that does nothing odd; return what is wrong."""
        [listener, *_] = self.listeners
        program = self._start(listener, version, order)
        transport: Accepted | None = None
        try:
            transport, _ = self._join(listener, program)
            if transport is None:
                return None, _missing(program)
            host = HOSTS[version](transport, program, self.patience)
            try:
                host.plain(order)
                status = host.exits()
            except (Surprise, AmqpError) as error:
                return None, str(error)
            if status == 0:
                return host, ""
            return None, _missing(program) if status is not None else "the program doesn't end"
        finally:
            self._end(program)
            if transport is not None:
                transport.close()

    def _attempt(self, case: ClientCase, *, is_alone: bool = True) -> Attempt:
        listener = self._free.get()
        try:
            return self._attempt_at(listener, case, is_alone=is_alone)
        finally:
            listener.drop()
            self._free.put(listener)

    def _attempt_at(self, listener: Listener, case: ClientCase, *, is_alone: bool) -> Attempt:
        program = self._start(listener, case.version, case.order)
        try:
            transport, joining = self._join(listener, program)
            if transport is None:
                if program.status() == CANNOT:
                    return Attempt(Seen(Verdict.NOT_RUN, _missing(program)), (), 0.0)
                late = "" if is_alone else self._late(0.0, joining, self.patience.answer)
                return Attempt(Seen(Verdict.INCONCLUSIVE, _missing(program)), (), 0.0, late)
            began = transport.now()
            host = HOSTS[case.version](transport, program, self.patience)
            try:
                seen = self._judged(case, host)
            finally:
                self._end(program)
                host.close()
            connection = Connection(
                transport.local, transport.remote, tuple(host.pieces), transport.how_it_ended, "client"
            )
            late = ""
            if host.relies_on_silence and not is_alone:
                # A unit that is late because others use the machine isn't silence.
                late = self._late(host.overslept, joining, self.patience.soon)
            elif is_doubted(case, seen.verdict):
                late = self._late(host.overslept, joining, self.patience.answer / 2)
            return Attempt(seen, (connection,), transport.now() - began, late)
        finally:
            self._end(program)

    def _late(self, overslept: float, joining: float, allowed: float) -> str:
        """Say why the times of a run are no evidence; "" if they are.

        A program works more until it connects than for any answer, so that time, which may be `allowed` seconds more
        than twice the usual, shows how busy the machine is.
        """
        if overslept > OVERSLEPT:
            return f"the machine was late by {overslept:.1f} s"
        return f"the program took {joining:.1f} s to connect" if joining > allowed + 2 * self._usual else ""

    def _judged(self, case: ClientCase, host: Host) -> Seen:
        try:
            seen = case.run(host)
            wrong = host.finish()
        except Surprise as error:
            if host.program.status() == CANNOT:
                return Seen(Verdict.NOT_RUN, "the program can't do this")
            return Seen(Verdict.INCONCLUSIVE, f"couldn't be prepared: {error}")
        except AmqpError as error:
            return Seen(Verdict.BREAKS, f"what it said can't be read: {error}")
        if seen.verdict not in (Verdict.CONFORMS, Verdict.OTHER_CODE):
            return seen
        if host.is_judged and host.broken:
            first = host.broken[0]
            return Seen(Verdict.BREAKS, f"{seen.text}; besides, {first.rule}: {first.text}")
        return Seen(Verdict.UNCLEAN, f"{seen.text}; {wrong}") if wrong else seen


class _Joined(NamedTuple):
    """The connection of a program, None if it made none, and how many seconds that took."""

    transport: Accepted | None
    seconds: float


def _missing(program: Program) -> str:
    """Say why a program doesn't connect, or fails."""
    status = program.status()
    if status is None:
        return "the program doesn't connect"
    if status == CANNOT:
        return "the program can't do this"
    return f"the program ends with {status}: {program.complaint() or 'without a word'}"


__all__ = ["CLIENT_WORKERS", "HOSTS", "ORDERS", "Ability", "ClientRunner"]
