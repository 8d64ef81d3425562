"""Runs cases: each on its own connection, with a look at the server and a sweep after it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from random import Random
from typing import Final, Literal, NamedTuple, Protocol

from amqp_sansio import AmqpError

from .capabilities import Capabilities
from .case import Case
from .conversation import Conversation, Login, Names, Patience, Piece
from .profiles import Deviation
from .talks import TALKS
from .transport import Opener
from .verdicts import FAILURES, Seen, Surprise, Unusable, Verdict

ATTEMPTS: Final = 3
"""Times that a failing case runs."""


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
    """What a case came to. `strict` is the verdict without the profile, `note` the profile's reason or the attempts."""

    case: Described
    verdict: Verdict
    strict: Verdict
    seen: str
    note: str = ""
    connections: tuple[Connection, ...] = ()
    seconds: float = 0.0


class Attempt(NamedTuple):
    """One run of a case."""

    seen: Seen
    connections: tuple[Connection, ...]
    seconds: float


class Runner:
    """Runs cases against one peer.

    `seed` draws the names; with the same one they are the same.
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
    ) -> None:
        self.opener = opener
        self.login = login
        self.capabilities = capabilities
        self.seed = seed
        self.patience = patience or Patience()
        self.profile = profile or {}
        self.died = ""
        """Why the run ended before its last case; "" if it didn't."""

    def run(self, cases: Iterable[Case]) -> Iterator[Result]:
        """Run cases; ends early, with `died` set, when the peer no longer serves anybody."""
        for case in cases:
            lacking = self.capabilities.lacks(case.needs)
            if lacking:
                yield Result(case, Verdict.NOT_RUN, Verdict.NOT_RUN, f"needs {lacking}")
                continue
            result = self._judge(case)
            yield result
            if self.died:
                return

    def _judge(self, case: Case) -> Result:
        attempts: list[Attempt] = []
        while not attempts or (is_to_be_repeated(case, attempts) and not self.died):
            attempts.append(self._attempt(case, len(attempts)))
        return result_of(case, attempts, self.profile.get(case.name), died=bool(self.died))

    def _attempt(self, case: Case, number: int) -> Attempt:
        names = Names(Random(f"{self.seed}/{case.name}/{number}"), self.capabilities.address)
        kind = TALKS[case.version]
        talks: list[Conversation] = []

        def opened() -> Conversation:
            talk = kind(self.opener(), self.login, names, self.patience, opened)
            talks.append(talk)
            return talk

        began = 0.0
        seconds = 0.0
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
        harm = self._sweep(kind, names)
        if not harm and names.queues and names.address:
            # Queues that 1.0 made by naming them: 0-9-1 deletes them.
            harm = self._sweep(TALKS["0-9-1"], names)
        if harm:
            self.died = f"{case.name}: {harm}"
            seen = Seen(Verdict.HARMED, f"{seen.text}; afterwards {harm}")
        return Attempt(seen, connections, seconds)

    def _sweep(self, kind: type[Conversation], names: Names) -> str:
        """Delete what the case made, on a new connection; return what is wrong if the server doesn't take one."""
        talk: Conversation | None = None
        try:
            talk = kind(self.opener(), self.login, Names(Random(0)), self.patience)
            talk.sweep(names)
        except Unusable as error:
            return str(error)
        except Surprise as error:
            return f"a new connection isn't served: {error}"
        finally:
            if talk is not None:
                talk.close()
        return ""


def is_to_be_repeated(case: Described, attempts: Sequence[Attempt]) -> bool:
    """Whether a case that failed runs once more; one without a MUST only if it ended badly."""
    return _by_level(case, attempts[0].seen.verdict) in FAILURES and len(attempts) < ATTEMPTS


def result_of(case: Described, attempts: Sequence[Attempt], deviation: Deviation | None, *, died: bool) -> Result:
    """Return what a case came to, in all its runs; `died`: the last one ended everything."""
    verdicts = Counter([each.seen.verdict for each in attempts])
    shown = next((each for each in attempts if each.seen.verdict in FAILURES), attempts[0])
    strict, text = shown.seen
    note = ""
    if len(verdicts) > 1 and not died:
        strict = Verdict.UNSTABLE
        note = ", ".join([f"{number} of {len(attempts)}: {each.value}" for each, number in verdicts.items()])
    strict = _by_level(case, strict)
    verdict = strict
    if deviation is not None and strict in (Verdict.BREAKS, Verdict.NON_STRICT, Verdict.OTHER_CODE):
        verdict = Verdict.DOCUMENTED
        note = f"{deviation.reason}: {deviation.link}"
    return Result(case, verdict, strict, text, note, shown.connections, shown.seconds)


def _by_level(case: Described, verdict: Verdict) -> Verdict:
    """A case without a MUST doesn't fail a run by what it finds."""
    if case.level == "must" or verdict is not Verdict.BREAKS:
        return verdict
    return Verdict.INFORMATIONAL if case.level == "may" else Verdict.NON_STRICT
