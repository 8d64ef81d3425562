"""Cases side by side: in the order of the list, those that may harm alone, and each with its own verdict."""

import threading
from collections.abc import Callable

import pytest

from amqp_sansio.broker import Settings
from amqp_sansio_probe import Capabilities, Case, Login, Patience, Runner, Transport, Verdict, find_capabilities
from amqp_sansio_probe.case import Suite
from amqp_sansio_probe.talk import Talk
from amqp_sansio_probe.verdicts import Seen, Unusable
from tests.kit.probing import HubServer
from tests.kit.processes import LIMIT

WORKERS = 4


def capabilities() -> Capabilities:
    return find_capabilities(HubServer(Settings()), Login(), Patience())


def own_hub() -> Transport:
    """A connection to a hub of its own: no thread shares it."""
    return HubServer(Settings())()


def case(name: str, run: Callable[[Talk], Seen], *, may_harm: bool = False) -> Case:
    return Case(f"0-9-1/{name}", "", "must", ("0-9-1",), "A rule.", "fine", Suite(Talk).speaking(run), may_harm)


def fine(talk: Talk) -> Seen:
    return Seen(Verdict.CONFORMS, "fine")


def runner(opener: Callable[[], Transport] = own_hub) -> Runner:
    return Runner(opener, Login(), capabilities(), workers=WORKERS)


def test_as_many_as_workers_run_at_a_time_and_no_more() -> None:
    together = threading.Barrier(WORKERS)
    running: list[int] = []
    count = 0
    lock = threading.Lock()

    def meets(talk: Talk) -> Seen:
        nonlocal count
        with lock:
            count += 1
            running.append(count)
        # It breaks, and the case fails by an exception, unless as many are here.
        together.wait(LIMIT)
        with lock:
            count -= 1
        return fine(talk)

    cases = [case(str(number), meets) for number in range(3 * WORKERS)]
    assert [each.case for each in runner().run(cases)] == cases
    assert max(running) == WORKERS


def test_the_first_to_end_is_not_the_first_to_be_told() -> None:
    last = threading.Event()

    def waits(talk: Talk) -> Seen:
        assert last.wait(LIMIT)
        return fine(talk)

    def ends(talk: Talk) -> Seen:
        last.set()
        return fine(talk)

    cases = [case("first", waits), case("second", fine), case("third", ends)]
    assert [each.case.name for each in runner().run(cases)] == ["0-9-1/first", "0-9-1/second", "0-9-1/third"]


def test_what_may_harm_runs_alone() -> None:
    inside: set[str] = set()
    beside: list[set[str]] = []

    def noting(name: str, *, alone: bool) -> Case:
        def run(talk: Talk) -> Seen:
            inside.add(name)
            talk.login()
            if alone:
                beside.append({*inside})
            inside.discard(name)
            return fine(talk)

        return case(name, run, may_harm=alone)

    cases = [noting(str(number), alone=number % 5 == 2) for number in range(20)]
    assert [each.case for each in runner().run(cases)] == cases
    assert beside == [{"2"}, {"7"}, {"12"}, {"17"}]


def test_what_is_left_out_holds_nobody_up() -> None:
    later = threading.Event()

    def waits(talk: Talk) -> Seen:
        assert later.wait(LIMIT)
        return fine(talk)

    def ends(talk: Talk) -> Seen:
        later.set()
        return fine(talk)

    cases = [case("first", waits), case("harmful", fine, may_harm=True), case("last", ends)]
    gentle = Runner(own_hub, Login(), capabilities(), workers=WORKERS, is_gentle=True)
    assert [each.verdict for each in gentle.run(cases)] == [Verdict.CONFORMS, Verdict.NOT_RUN, Verdict.CONFORMS]


class Mortal:
    """A server that refuses as many connections as `refuses` says: any number when it isn't `up`."""

    def __init__(self) -> None:
        self.up = True
        self.refuses = 0

    def __call__(self) -> Transport:
        self.refuses -= 1
        if not self.up or self.refuses >= 0:
            raise Unusable("can't connect to 127.0.0.1:5672: connection refused")
        return own_hub()


def test_a_server_that_dies_while_several_run_ends_the_run_and_names_them() -> None:
    server = Mortal()
    together = threading.Barrier(2)

    def kills(talk: Talk) -> Seen:
        together.wait(LIMIT)
        server.up = False
        return fine(talk)

    def beside(talk: Talk) -> Seen:
        together.wait(LIMIT)
        return fine(talk)

    cases = [
        case("before", fine),
        case("kills", kills),
        case("beside", beside),
        *[case(str(n), fine) for n in range(9)],
    ]
    probing = runner(server)
    results = {each.case.name: each for each in probing.run(cases)}
    assert probing.died.endswith(": can't connect to 127.0.0.1:5672: connection refused")
    assert "0-9-1/kills" in probing.died
    assert results["0-9-1/kills"].verdict is Verdict.HARMED
    assert [name for name in results] == [each.name for each in cases if each.name in results]


def test_a_server_that_is_up_again_shows_which_case_harms() -> None:
    """The first look finds nobody; alone, the innocent ones conform, and the one that harms ends the run."""
    server = Mortal()
    together = threading.Barrier(2)
    times = {"kills": 0, "beside": 0}

    def kills(talk: Talk) -> Seen:
        times["kills"] += 1
        if times["kills"] == 1:
            together.wait(LIMIT)
        server.refuses = 2 if times["kills"] == 1 else 99
        return fine(talk)

    def beside(talk: Talk) -> Seen:
        times["beside"] += 1
        if times["beside"] == 1:
            together.wait(LIMIT)
        return fine(talk)

    cases = [case("beside", beside), case("kills", kills), case("later", fine)]
    probing = runner(server)
    results = [(each.case.name, each.verdict) for each in probing.run(cases)]
    assert results == [("0-9-1/beside", Verdict.CONFORMS), ("0-9-1/kills", Verdict.HARMED)]
    assert probing.died == "0-9-1/kills: can't connect to 127.0.0.1:5672: connection refused"


def test_who_takes_no_more_results_ends_the_cases_that_run() -> None:
    began = threading.Event()

    def first(talk: Talk) -> Seen:
        assert began.wait(LIMIT)
        return fine(talk)

    def for_ever(talk: Talk) -> Seen:
        began.set()
        while True:
            talk.transport.receive(1.0)

    results = runner().run([case("first", first), case("for-ever", for_ever), case("later", fine)])
    assert next(results).case.name == "0-9-1/first"
    ending = threading.Thread(target=results.close)
    ending.start()
    ending.join(LIMIT)
    assert not ending.is_alive()


def test_an_error_of_a_case_is_not_lost() -> None:
    def wrong(talk: Talk) -> Seen:
        raise ZeroDivisionError("the case's own fault")

    with pytest.raises(ZeroDivisionError, match="own fault"):
        list(runner().run([case("wrong", wrong), case("fine", fine)]))
