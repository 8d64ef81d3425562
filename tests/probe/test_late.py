"""A late machine, or a late server, makes a case inconclusive, and never a failure."""

from collections.abc import Callable, Iterator

import pytest

from amqp_sansio.amqp_0_9_1 import spec
from amqp_sansio.broker import Settings
from amqp_sansio_probe import Capabilities, Case, Login, Patience, Result, Runner, Transport, Verdict, find_capabilities
from amqp_sansio_probe.expecting import Expectations, unexpected
from amqp_sansio_probe.talk import Talk
from amqp_sansio_probe.transport import Watched
from amqp_sansio_probe.verdicts import Seen, Unusable
from tests.kit.probing import HubServer, Scripted
from tests.probe.test_verdicts import CAN, ERROR, Liar, asks, case

SILENT: dict[str, bytes | None] = {}
LATE = 2.0
CONNECTIONS = 25
"""Those that are opened to ask what the embedded broker can do."""


class Sleepy(Scripted):
    """A connection whose waits take longer than they are to."""

    def receive(self, seconds: float) -> bytes | None:
        octets = super().receive(seconds)
        if octets is None:
            self.pass_time(LATE)
        return octets


class Slow(Scripted):
    """A connection whose every answer comes after a while."""

    def receive(self, seconds: float) -> bytes | None:
        octets = super().receive(0.0)
        self.pass_time(LATE if octets else seconds)
        return octets


def judged(transports: Iterator[Transport], one: Case | None = None) -> Result:
    """What a case comes to with these connections, one after another; behind each one of the case is a look's."""
    [result] = Runner(lambda: next(transports), Login(), CAN).run([one or case(asks)])
    return result


def in_turn(*kinds: type[Scripted], answers: dict[str, bytes | None] = SILENT) -> Iterator[Transport]:
    """Connections of these kinds, the last one for ever."""
    for kind in kinds:
        yield kind(Liar(answers))
    while True:
        yield kinds[-1](Liar(answers))


def test_a_machine_that_is_late_proves_no_silence() -> None:
    result = judged(in_turn(Sleepy))
    assert (result.verdict, result.is_late) == (Verdict.INCONCLUSIVE, True)
    assert result.seen.endswith("; the machine was late by 2.0 s")


def test_a_login_that_is_late_afterwards_proves_no_silence() -> None:
    # The first look shows what is usual.
    one = case(lambda talk: Seen(Verdict.BREAKS if len(looked) > 2 else Verdict.CONFORMS, "as it is"))
    looked: list[Transport] = []

    def opened() -> Transport:
        looked.append(Scripted(Liar(SILENT)) if len(looked) < 3 else Slow(Liar(SILENT)))
        return looked[-1]

    first, second = Runner(opened, Login(), CAN).run([one, one])
    assert (first.verdict, second.verdict) == (Verdict.CONFORMS, Verdict.INCONCLUSIVE)
    assert second.seen == "as it is; a login afterwards took 6.0 s"


def test_a_server_that_is_far_away_is_not_late() -> None:
    """Each of its answers takes as long: that is the way to it."""
    result = judged(in_turn(Slow))
    assert (result.verdict, result.is_late) == (Verdict.BREAKS, False)
    assert result.seen.startswith("silence")


def test_what_is_on_time_counts() -> None:
    late = (Sleepy, Scripted)
    result = judged(in_turn(*late))
    assert (result.verdict, result.note) == (Verdict.BREAKS, ""), "the three runs after the late one"
    conforming = judged(in_turn(*late, answers={"basic.qos 1": ERROR}))
    assert conforming.verdict is Verdict.CONFORMS


def test_a_failure_needs_three_runs_on_time() -> None:
    """Two runs that fail, and three that are late: nothing is proven."""
    seconds = iter([0.0, LATE, 0.0, LATE, LATE])
    runs = 0

    def fails(talk: Talk) -> Seen:
        nonlocal runs
        runs += 1
        talk.answered_in = 2 * next(seconds)
        return Seen(Verdict.BREAKS, "it fails")

    result = judged(in_turn(Scripted), case(fails))
    assert (runs, result.verdict, result.is_late) == (5, Verdict.INCONCLUSIVE, True)
    assert result.seen == "it fails; a question on the same connection took 4.0 s"


@pytest.mark.parametrize("verdict", [Verdict.CONFORMS, Verdict.OTHER_CODE, Verdict.INFORMATIONAL])
def test_what_a_late_machine_cannot_cause_stands(verdict: Verdict) -> None:
    def told(talk: Talk) -> Seen:
        talk.rest(1.0)
        return Seen(verdict, "so it is")

    result = judged(in_turn(Sleepy), case(told))
    assert (result.verdict, result.is_late) == (verdict, False)


def refusing(*refused: int) -> Callable[[], Transport]:
    """An opener whose connections with these numbers can't be opened."""
    count = 0

    def opened() -> Transport:
        nonlocal count
        count += 1
        if count in refused:
            raise Unusable("can't connect")
        return Scripted(Liar({"basic.qos 1": ERROR}))

    return opened


def test_a_connection_that_is_refused_once_is_no_harm() -> None:
    runner = Runner(refusing(2), Login(), CAN)
    [result] = runner.run([case(asks)])
    assert (result.verdict, runner.died) == (Verdict.CONFORMS, "")


def test_a_case_that_cannot_begin_is_no_harm_if_a_new_connection_is_served() -> None:
    runner = Runner(refusing(1, 3, 5), Login(), CAN)
    [result] = runner.run([case(asks)])
    assert (result.verdict, result.is_late, runner.died) == (Verdict.INCONCLUSIVE, True, "")
    assert result.seen == "can't connect; but a new connection is served afterwards"


def test_a_list_expects_nothing_of_what_is_late() -> None:
    one = case(asks)
    known = Expectations(1, {one.name: Verdict.BREAKS})
    late = Result(one, Verdict.INCONCLUSIVE, Verdict.INCONCLUSIVE, "", is_late=True)
    assert unexpected(known, [late]) == []
    assert len(unexpected(known, [late._replace(is_late=False)])) == 1


def test_the_unit_that_is_asked_for_is_still_read() -> None:
    """A wait longer than one turn gets what comes in a later one."""

    class Later(Scripted):
        def receive(self, seconds: float) -> bytes | None:
            if self.now() < 3.0:
                self.pass_time(seconds)
                return None
            return super().receive(seconds)

    def greets(talk: Talk) -> Seen:
        talk.is_judged = False
        start: spec.ConnectionStart = talk.greet()
        return Seen(Verdict.CONFORMS, f"{start.version_major}-{start.version_minor} at {talk.transport.now():g} s")

    assert judged(in_turn(Later, Scripted), case(greets)).seen == "0-9 at 3 s"


def test_a_wait_in_which_no_time_passes_ends() -> None:
    """A simulated connection that is over has nothing to wait for, and takes no time."""

    class Over(Scripted):
        def receive(self, seconds: float) -> bytes | None:
            self.asked = getattr(self, "asked", 0) + 1
            assert self.asked == 1, "it is asked for ever"
            return None

    assert Watched(Over(Liar(SILENT)), lambda: False).receive(3.0) is None


class Tardy(Watched):
    """A connection whose first wait takes a minute, and finds nothing."""

    def __init__(self, transport: Transport) -> None:
        super().__init__(transport, lambda: False)
        self.late = 0.0

    def receive(self, seconds: float) -> bytes | None:
        if self.late:
            return super().receive(seconds)
        self.late = 60.0
        return None

    def now(self) -> float:
        return super().now() + self.late


class Tardily:
    """Opens connections to the embedded broker, of which some are late."""

    def __init__(self, is_late: Callable[[int], bool]) -> None:
        self.opened = 0
        self._server = HubServer(Settings())
        self._is_late = is_late

    def __call__(self) -> Transport:
        self.opened += 1
        transport = self._server()
        return Tardy(transport) if self._is_late(self.opened) else transport


def asked(is_late: Callable[[int], bool] = lambda number: False) -> tuple[Capabilities, int]:
    """Return the abilities of the embedded broker, and the number of connections it took to know them."""
    opener = Tardily(is_late)
    return find_capabilities(opener, Login(), Patience()), opener.opened


@pytest.fixture(scope="module")
def usual() -> tuple[Capabilities, int]:
    return asked()


@pytest.mark.parametrize("late", range(1, CONNECTIONS + 1))
def test_a_question_that_a_late_machine_spoils_is_asked_again(usual: tuple[Capabilities, int], late: int) -> None:
    known, opened = usual
    assert opened == CONNECTIONS
    found, more = asked(lambda number: number == late)
    assert found == known
    assert more > opened


def test_a_machine_that_is_always_late_is_asked_three_times() -> None:
    with pytest.raises(Unusable, match="no version"):
        asked(lambda number: True)
