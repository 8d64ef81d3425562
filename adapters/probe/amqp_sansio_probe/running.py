"""Runs cases: each on its own connection, with a look at the server and a sweep after it.

Most of a run is waiting, so cases run side by side. What a busy machine makes slow is no evidence: a run that was late
doesn't count.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import groupby
from random import Random
from typing import Final, Literal, NamedTuple, Protocol, TypeVar

from amqp_sansio import AmqpError

from .capabilities import Capabilities
from .case import Case
from .conversation import Conversation, Login, Names, Patience, Piece
from .profiles import Deviation
from .talks import TALKS
from .transport import OVERSLEPT, Opener, Watched
from .verdicts import ATTEMPTS, FAILURES, Seen, Surprise, Unusable, Verdict

WORKERS: Final = 8
"""Cases that run side by side where nothing else is said: they wait more than they work."""
MOST_WORKERS: Final = 32
"""Cases that may run side by side."""
_C = TypeVar("_C")
_R = TypeVar("_R")
_MORE: Final = 4
_DOUBTED: Final = FAILURES | {Verdict.NON_STRICT, Verdict.INCONCLUSIVE}
"""Verdicts that a late machine may be the cause of."""


class Connection(NamedTuple):
    """A connection of a case: its ends, its octets, and how the peer under test ended it.

    `local` is the client's address, `remote` the server's; `peer` is the side that is tested.
    """

    local: str
    remote: str
    pieces: tuple[Piece, ...]
    how_it_ended: str
    peer: Literal["client", "server"] = "server"


class Described(Protocol):
    """What reports say of a case, for servers or clients."""

    @property
    def name(self) -> str: ...

    @property
    def rule(self) -> str: ...

    @property
    def level(self) -> str: ...

    @property
    def clause(self) -> str: ...

    @property
    def expected(self) -> str: ...


class Result(NamedTuple):
    """What a case came to. `strict` is the verdict without the profile, `note` the profile's reason or the attempts.

    `is_late`: it is inconclusive because the machine, or the peer, was too slow in each of its runs.
    """

    case: Described
    verdict: Verdict
    strict: Verdict
    seen: str
    note: str = ""
    connections: tuple[Connection, ...] = ()
    seconds: float = 0.0
    is_late: bool = False


class Attempt(NamedTuple):
    """One run of a case.

    `late` says why its time is no evidence, "" if it is. `harm` says what is wrong with the server after it, "" if
    nothing is.
    """

    seen: Seen
    connections: tuple[Connection, ...]
    seconds: float
    late: str = ""
    harm: str = ""


class Runner:
    """Runs cases against one peer: up to `workers` side by side, each in a thread; those that may harm others, alone.

    With `is_gentle` those that may harm others aren't run.
    `seed` draws the names; with the same one they are the same. `opener` is called in several threads, unless `workers`
    is 1.
    """

    def __init__(
        self,
        opener: Opener,
        login: Login,
        capabilities: Capabilities,
        *,
        seed: int = 0,
        patience: Patience | None = None,
        profile: Mapping[str, Deviation] | None = None,
        workers: int = 1,
        is_gentle: bool = False,
    ) -> None:
        self.opener = opener
        self.login = login
        self.capabilities = capabilities
        self.seed = seed
        self.patience = patience or Patience()
        self.profile = profile or {}
        self.workers = workers
        self.is_gentle = is_gentle
        self.died = ""
        """Why the run ended before its last case; "" if it didn't. Set by a case that harms the server alone."""
        self._usual = self.patience.answer
        """The least seconds that a login took: a peer that is far away isn't late. Set by each look at the server."""
        self._is_stopped = False
        """Whether cases are to end now. Set when nobody takes further results."""
        self._suspects: dict[str, list[Attempt]] = {}
        """The cases, run beside others, behind which the server took no connection. Added to by workers."""

    def run(self, cases: Iterable[Case]) -> Generator[Result]:
        """Run cases, and yield their results in the same order.

        Ends early, with `died` set, when the peer no longer serves anybody. Closing it ends the cases that still run.
        """
        for alone, group in groupby(cases, lambda each: each.may_harm and not self.is_gentle):
            together = list(group)
            yield from self._one_by_one(together) if alone or self.workers == 1 else self._side_by_side(together)
            if self.died:
                return

    def _one_by_one(self, cases: Iterable[Case]) -> Iterator[Result]:
        for case in cases:
            yield self._judge(case)
            if self.died:
                return

    def _side_by_side(self, cases: Sequence[Case]) -> Iterator[Result]:
        """Run cases in threads; those that are late, or behind which the server is harmed, then run again alone."""
        self._suspects.clear()
        left = yield from side_by_side(self._judge_beside, cases, self.workers, self._stop)
        yield from self._settled(cases[len(cases) - len(left) :], left)

    def _stop(self) -> None:
        # The cases that still run end with their next wait.
        self._is_stopped = True

    def _settled(self, cases: Iterable[Case], results: Iterable[Result | None]) -> Iterator[Result]:
        """Yield results, and have a case without one run alone, unless the server is dead."""
        suspects = {name: self._suspects[name] for name in sorted(self._suspects)}
        harm = ""
        if suspects:
            harm = self._look(TALKS[next(iter(suspects)).partition("/")[0]], Names(Random(0)), f"{self.seed}/look").harm
        for case, result in zip(cases, results, strict=True):
            if result is not None:
                yield result
            elif not harm:
                yield self._judge(case)
                if self.died:
                    return
            elif case.name in suspects:
                yield result_of(case, suspects[case.name], None)
        if harm:
            self.died = f"{' or '.join(suspects)}: {harm}"

    def _judge_beside(self, case: Case) -> Result | None:
        """Run a case beside others; None if it is to run alone, for what it is worth."""
        if self._suspects:
            return None
        lacking = self._lacking(case)
        if lacking is not None:
            return lacking
        attempts = self._attempts_beside(case)
        if any(each.harm for each in attempts):
            self._suspects[case.name] = attempts
            return None
        return None if any(each.late for each in attempts) else result_of(case, attempts, self.profile.get(case.name))

    def _judge(self, case: Case) -> Result:
        """Run a case alone."""
        lacking = self._lacking(case)
        if lacking is not None:
            return lacking
        attempts = self._attempts(case)
        if attempts[-1].harm:
            self.died = f"{case.name}: {attempts[-1].harm}"
        return result_of(case, attempts, self.profile.get(case.name))

    def _lacking(self, case: Case) -> Result | None:
        """Return the result of a case that isn't to be run: the server lacks something, or it may be harmed."""
        if case.may_harm and self.is_gentle:
            return Result(case, Verdict.NOT_RUN, Verdict.NOT_RUN, "may harm (--gentle)")
        lacking = self.capabilities.lacks(case.needs)
        return Result(case, Verdict.NOT_RUN, Verdict.NOT_RUN, f"needs {lacking}") if lacking else None

    def _attempts(self, case: Case) -> list[Attempt]:
        """Run a case as often as it takes, one run after another."""
        attempts: list[Attempt] = []
        while not attempts or is_to_be_repeated(case, attempts):
            attempts.append(self._attempt(case, len(attempts)))
        return attempts

    def _attempts_beside(self, case: Case) -> list[Attempt]:
        """Run a case as often as it takes, but for what is late; its repetitions run side by side, too."""
        first = self._attempt(case, 0)
        if self._is_stopped or first.late or not is_to_be_repeated(case, [first]):
            return [first]
        with ThreadPoolExecutor(ATTEMPTS - 1) as pool:
            return [first, *pool.map(partial(self._attempt, case), range(1, ATTEMPTS))]

    def _attempt(self, case: Case, number: int) -> Attempt:
        names = Names(Random(f"{self.seed}/{case.name}/{number}"), self.capabilities.address)
        kind = TALKS[case.version]
        talks: list[Conversation] = []
        watched: list[Watched] = []

        def opened() -> Conversation:
            watched.append(Watched(self.opener(), lambda: self._is_stopped))
            talk = kind(watched[-1], self.login, names, self.patience, opened)
            talks.append(talk)
            return talk

        began = 0.0
        seconds = 0.0
        late = ""
        try:
            talk = opened()
            began = talk.transport.now()
            seen = case.run(talk)
            wrong = [each for each in [one.finish() for one in talks] if each]
            if wrong and seen.verdict in (Verdict.CONFORMS, Verdict.OTHER_CODE):
                seen = Seen(Verdict.UNCLEAN, f"{seen.text}; {wrong[0]}")
        except Surprise as error:
            seen = Seen(Verdict.INCONCLUSIVE, f"couldn't be prepared: {error}")
        except AmqpError as error:
            seen = Seen(Verdict.BREAKS, f"what it said can't be read: {error}")
        except Unusable as error:
            seen = Seen(Verdict.HARMED, str(error))
            # A case that harms nobody isn't to blame.
            late = "" if case.may_harm else "but a new connection is served afterwards"
        finally:
            for each in talks:
                each.close()
        if talks:
            seconds = talks[0].transport.now() - began
        connections = tuple(
            [
                Connection(each.transport.local, each.transport.remote, tuple(each.pieces), each.transport.how_it_ended)
                for each in talks
            ]
        )
        look = self._look(kind, names, f"{self.seed}/{case.name}/{number}/look")
        if look.harm:
            return Attempt(
                Seen(Verdict.HARMED, f"{seen.text}; afterwards {look.harm}"), connections, seconds, "", look.harm
            )
        if is_doubted(case, seen.verdict):
            late = late or self._late(watched, talks, look)
        return Attempt(seen, connections, seconds, late)

    def _late(self, watched: Sequence[Watched], talks: Sequence[Conversation], look: _Look) -> str:
        """Say why the times of a run are no evidence; "" if they are."""
        allowed = self.patience.soon + 2 * self._usual
        overslept = max([each.overslept for each in watched], default=0.0)
        answered = max([each.answered_in for each in talks], default=0.0)
        if overslept > OVERSLEPT:
            return f"the machine was late by {overslept:.1f} s"
        if answered > allowed:
            return f"a question on the same connection took {answered:.1f} s"
        return f"a login afterwards took {look.seconds:.1f} s" if look.seconds > allowed else ""

    def _look(self, kind: type[Conversation], names: Names, seed: str) -> _Look:
        """Look at the server on a new connection, and delete what the case made."""
        look = self._sweep(kind, names, seed, self.patience)
        if look.harm:
            # A server that is late isn't harmed.
            patience = self.patience._replace(answer=_MORE * self.patience.answer)
            again = self._sweep(kind, names, f"{seed}/again", patience)
            look = _Look(again.harm, look.seconds + again.seconds)
        if not look.harm and names.queues and names.address and kind is not TALKS["0-9-1"]:
            # Queues that 1.0 made by naming them: 0-9-1 deletes them.
            return self._look(TALKS["0-9-1"], names, seed)
        return look

    def _sweep(self, kind: type[Conversation], names: Names, seed: str, patience: Patience) -> _Look:
        """Delete what the case made, on a new connection; tell what is wrong if the server doesn't take one."""
        talk: Conversation | None = None
        harm = ""
        try:
            talk = kind(self.opener(), self.login, Names(Random(seed)), patience)
            talk.sweep(names)
        except Unusable as error:
            harm = str(error)
        except Surprise as error:
            harm = f"a new connection isn't served: {error}"
        finally:
            if talk is not None:
                talk.close()
        if talk is None or talk.open_at is None:
            return _Look(harm, patience.answer)
        seconds = talk.open_at - talk.began_at
        self._usual = min(self._usual, seconds)
        return _Look(harm, seconds)


class _Look(NamedTuple):
    """What a look at the server shows: what is wrong with it, "" if nothing is, and how long the login took."""

    harm: str
    seconds: float


def side_by_side(
    judge: Callable[[_C], _R | None], cases: Sequence[_C], workers: int, stop: Callable[[], None]
) -> Generator[_R, None, list[_R | None]]:
    """Judge cases in threads, and yield the results in the order of the cases until one has none.

    Returns the results from that one on, when all have ended. `stop` is called when nobody takes further results, or
    judging raises: what still runs is waited for, and has to end soon.
    """
    pool = ThreadPoolExecutor(workers)
    found = pool.map(judge, cases)
    try:
        for result in found:
            if result is None:
                return [None, *found]
            yield result
    except BaseException:
        stop()
        raise
    finally:
        pool.shutdown(cancel_futures=True)
    return []


def is_to_be_repeated(case: Described, attempts: Sequence[Attempt]) -> bool:
    """Whether a case that failed, or was late, runs once more; one without a MUST only if it ended badly."""
    on_time = [each for each in attempts if not each.late]
    if len(attempts) - len(on_time) >= ATTEMPTS or any(each.harm for each in attempts):
        return False
    return not on_time or (_by_level(case, on_time[0].seen.verdict) in FAILURES and len(on_time) < ATTEMPTS)


def result_of(case: Described, attempts: Sequence[Attempt], deviation: Deviation | None) -> Result:
    """Return what a case came to, in all its runs that were on time."""
    on_time = [each for each in attempts if not each.late]
    harmful = next((each for each in attempts if each.harm), None)
    if not on_time or (any(each.late for each in attempts) and is_to_be_repeated(case, on_time)):
        late = next(each for each in attempts if each.late)
        text = f"{late.seen.text}; {late.late}"
        verdict = Verdict.INCONCLUSIVE
        return Result(case, verdict, verdict, text, "", late.connections, late.seconds, is_late=True)
    verdicts = Counter([each.seen.verdict for each in on_time])
    shown = harmful or next((each for each in on_time if each.seen.verdict in FAILURES), on_time[0])
    strict, text = shown.seen
    note = ""
    if len(verdicts) > 1 and harmful is None:
        strict = Verdict.UNSTABLE
        note = ", ".join([f"{number} of {len(on_time)}: {each.value}" for each, number in verdicts.items()])
    strict = _by_level(case, strict)
    verdict = strict
    if deviation is not None and strict in (Verdict.BREAKS, Verdict.NON_STRICT, Verdict.OTHER_CODE):
        verdict = Verdict.DOCUMENTED
        note = f"{deviation.reason}: {deviation.link}"
    return Result(case, verdict, strict, text, note, shown.connections, shown.seconds)


def is_doubted(case: Described, verdict: Verdict) -> bool:
    """Whether a late machine may be the cause of a case's verdict."""
    return _by_level(case, verdict) in _DOUBTED


def _by_level(case: Described, verdict: Verdict) -> Verdict:
    """A case without a MUST doesn't fail a run by what it finds."""
    if case.level == "must" or verdict is not Verdict.BREAKS:
        return verdict
    return Verdict.INFORMATIONAL if case.level == "may" else Verdict.NON_STRICT
