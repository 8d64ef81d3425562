"""Cases for clients side by side: each with a port and a program of its own; what others may have disturbed, alone."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import pytest

from amqp_sansio_probe import Capabilities, ClientCase, ClientRunner, Verdict
from amqp_sansio_probe.host import Host
from amqp_sansio_probe.listening import Accepted
from amqp_sansio_probe.programs import Order
from amqp_sansio_probe.verdicts import Seen, Unusable
from tests.kit.probing import ScriptedClient
from tests.kit.processes import LIMIT

WORKERS = 4
OPEN = Order("open")
LATE = 0.6


def silent(heard: bytes) -> tuple[bytes, bool]:
    return b"", False


class Waiting(ScriptedClient):
    """A program that ends when it is ended, with a connection on the machine's clock."""

    def __init__(self) -> None:
        super().__init__(silent)
        self.ended = threading.Event()

    def status(self) -> int | None:
        return 0 if self.ended.is_set() else None

    def end(self) -> None:
        self.ended.set()

    def receive(self, seconds: float) -> bytes | None:
        if self.ended.wait(seconds):
            self._how = "closed"
            return b""
        return None

    def now(self) -> float:
        return time.monotonic()


class Port:
    """A listener whose next connection is that of the program that was told its address."""

    def __init__(self, number: int) -> None:
        self.address = f"127.0.0.1:{number}"
        self.waits: Accepted | None = None

    def accept(self, seconds: float) -> Accepted | None:
        return self.waits

    def drop(self) -> None:
        self.waits = None

    def now(self) -> float:
        return time.monotonic()


class Ports(NamedTuple):
    """Starts programs, each with the port that it was told."""

    ports: dict[str, Port]
    started: list[Waiting]

    def __call__(self, environment: Mapping[str, str]) -> Waiting:
        port = self.ports[environment["AMQP_URL"].split("@")[1].strip("/")]
        assert port.waits is None, "two programs at one port"
        program = Waiting()
        self.started.append(program)
        port.waits = program
        return program


def runner(count: int = WORKERS) -> tuple[ClientRunner, Ports]:
    """A runner with as many ports, for a program that can open."""
    ports = Ports({port.address: port for port in map(Port, range(40_000, 40_000 + count))}, [])
    found = ClientRunner(list(ports.ports.values()), ports)
    found.capabilities = Capabilities(can=frozenset({"0-9-1 open"}))
    return found, ports


def case(name: str, run: Callable[[Any], Seen], needs: str = "0-9-1 open") -> ClientCase:
    return ClientCase(f"0-9-1/{name}", "", "must", (needs,), "A rule.", "fine", OPEN, run)


def fine(host: Host) -> Seen:
    host.is_judged = False
    return Seen(Verdict.CONFORMS, "fine")


def test_as_many_as_ports_run_at_a_time_and_no_more() -> None:
    together = threading.Barrier(WORKERS)
    running: list[int] = []
    count = 0
    lock = threading.Lock()

    def meets(host: Host) -> Seen:
        nonlocal count
        with lock:
            count += 1
            running.append(count)
        # It breaks, and the run ends by an exception, unless as many are here.
        together.wait(LIMIT)
        with lock:
            count -= 1
        return fine(host)

    cases = [case(str(number), meets) for number in range(3 * WORKERS)]
    probing, ports = runner()
    assert [each.case for each in probing.run(cases)] == cases
    assert max(running) == WORKERS
    assert len(ports.started) == len(cases) and all(each.ended.is_set() for each in ports.started)


def test_the_first_to_end_is_not_the_first_to_be_told_and_what_lacks_something_is_not_run() -> None:
    last = threading.Event()

    def waits(host: Host) -> Seen:
        assert last.wait(LIMIT)
        return fine(host)

    def ends(host: Host) -> Seen:
        last.set()
        return fine(host)

    cases = [case("first", waits), case("lacks", fine, "0-9-1 rpc"), case("third", ends)]
    told = [(each.case.rule, each.verdict) for each in runner()[0].run(cases)]
    assert told == [
        ("0-9-1/first", Verdict.CONFORMS),
        ("0-9-1/lacks", Verdict.NOT_RUN),
        ("0-9-1/third", Verdict.CONFORMS),
    ]


class Noted:
    """A case that notes how many others run while it does; `judge` is what it comes to."""

    def __init__(self, judge: Callable[[Host, int], Seen]) -> None:
        self.judge = judge
        self.times = 0

    def __call__(self, host: Host) -> Seen:
        self.times += 1
        host.is_judged = False
        return self.judge(host, self.times)


def test_silence_on_a_machine_that_is_late_is_asked_for_again_alone() -> None:
    """A case that conforms by what doesn't come says nothing when its waits took longer than they were to."""

    def listens(host: Host, times: int) -> Seen:
        host.serve(0.01)
        host.overslept = LATE if times == 1 else 0.0
        return Seen(Verdict.CONFORMS, f"run {times}")

    def hears(host: Host, times: int) -> Seen:
        host.overslept = LATE
        return Seen(Verdict.CONFORMS, f"run {times}")

    silence, other = Noted(listens), Noted(hears)
    results = list(runner()[0].run([case("silence", silence), case("other", other)]))
    assert [(each.verdict, each.seen) for each in results] == [(Verdict.CONFORMS, "run 2"), (Verdict.CONFORMS, "run 1")]


def test_a_failure_on_a_machine_that_is_late_is_asked_for_again_alone() -> None:
    def fails(host: Host, times: int) -> Seen:
        host.overslept = LATE if times == 1 else 0.0
        return Seen(Verdict.BREAKS if times == 1 else Verdict.CONFORMS, f"run {times}")

    [result] = runner()[0].run([case("fails", Noted(fails))])
    assert (result.verdict, result.seen) == (Verdict.CONFORMS, "run 2")


def test_runs_that_differ_count_only_alone() -> None:
    def differs(host: Host, times: int) -> Seen:
        return Seen(Verdict.BREAKS if times in (1, 3) else Verdict.CONFORMS, f"run {times}")

    noted = Noted(differs)
    [result] = runner()[0].run([case("differs", noted)])
    assert (result.verdict, result.note, noted.times) == (Verdict.UNSTABLE, "1 of 3: breaks, 2 of 3: conforms", 5)


def test_a_failure_that_is_the_same_three_times_stands() -> None:
    def fails(host: Host, times: int) -> Seen:
        return Seen(Verdict.BREAKS, "it fails")

    noted = Noted(fails)
    [result] = runner()[0].run([case("fails", noted)])
    assert (result.verdict, noted.times) == (Verdict.BREAKS, 3)


def test_who_takes_no_more_results_ends_the_programs_that_run() -> None:
    began = threading.Event()

    def first(host: Host) -> Seen:
        assert began.wait(LIMIT)
        return fine(host)

    def for_ever(host: Host) -> Seen:
        began.set()
        host.ends(100 * LIMIT)
        return fine(host)

    probing, ports = runner()
    results = probing.run([case("first", first), case("for-ever", for_ever), case("later", fine)])
    assert next(results).case.rule == "0-9-1/first"
    ending = threading.Thread(target=results.close)
    ending.start()
    ending.join(LIMIT)
    assert not ending.is_alive()
    assert all(each.ended.is_set() for each in ports.started)


def test_a_program_that_cannot_be_started_ends_the_run() -> None:
    def missing(environment: Mapping[str, str]) -> Waiting:
        raise Unusable("can't start it: no such file or directory")

    probing, _ = runner()
    probing.starter = missing
    with pytest.raises(Unusable, match="no such file"):
        list(probing.run([case("one", fine), case("two", fine)]))
