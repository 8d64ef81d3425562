"""Cases: one rule each, what a server may do about it, and the steps that show what it does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Generic, NamedTuple, TypeAlias, TypeVar

from .conversation import Conversation
from .verdicts import Seen

LEVELS: Final = ("must", "should", "may", "note")
"""Levels of rules, as `docs/rules` has them."""

Run: TypeAlias = Callable[[Conversation], Seen]
C = TypeVar("C", bound=Conversation)


class Case(NamedTuple):
    """A case. `rule` is an id of `docs/rules`, `level` the rule's level there.

    `variant` tells the cases of a rule apart. `needs` names what the peer must be able to do. `clause` says the rule in
    our words, `expected` what the server may do. `run` gets a new connection on which nothing was sent, and judges.
    `may_harm`: it may hurt other users of the server, so it runs alone.
    """

    rule: str
    variant: str
    level: str
    needs: tuple[str, ...]
    clause: str
    expected: str
    run: Run
    may_harm: bool = False

    @property
    def name(self) -> str:
        """The rule's id, and the variant if there is one."""
        return f"{self.rule}/{self.variant}" if self.variant else self.rule

    @property
    def version(self) -> str:
        """The version that the case speaks."""
        return self.rule.partition("/")[0]


class Suite(Generic[C]):
    """Collects the cases of one version, which speak by `kind`; its methods decorate functions that run a case."""

    def __init__(self, kind: type[C]) -> None:
        self.kind = kind
        self.version = kind.VERSION
        self.cases: list[Case] = []

    def speaking(self, run: Callable[[C], Seen]) -> Run:
        """Return a function of any conversation. It raises TypeError for one of another version."""

        def narrowed(talk: Conversation) -> Seen:
            if not isinstance(talk, self.kind):
                raise TypeError(f"a case of {self.version} can't speak {talk.VERSION}")
            return run(talk)

        return narrowed

    def case(
        self,
        rule: str,
        level: str,
        clause: str,
        expected: str,
        *,
        variant: str = "",
        needs: tuple[str, ...] = (),
        may_harm: bool = False,
    ) -> Callable[[Callable[[C], Seen]], Callable[[C], Seen]]:
        """Add a case whose function begins with a connection on which nothing was sent."""

        def add(run: Callable[[C], Seen]) -> Callable[[C], Seen]:
            needed = (self.version, *needs)
            begun = self.speaking(run)
            self.cases.append(Case(f"{self.version}/{rule}", variant, level, needed, clause, expected, begun, may_harm))
            return run

        return add

    def on_a_channel(
        self,
        rule: str,
        level: str,
        clause: str,
        expected: str,
        *,
        variant: str = "",
        needs: tuple[str, ...] = (),
        may_harm: bool = False,
    ) -> Callable[[Callable[[C], Seen]], Callable[[C], Seen]]:
        """Add a case whose function begins on a connection that is logged in, with channel 1 open.

        In the versions that have sessions, one is on that channel.
        """

        def add(run: Callable[[C], Seen]) -> Callable[[C], Seen]:
            def opened(talk: C) -> Seen:
                talk.begin()
                return run(talk)

            self.case(rule, level, clause, expected, variant=variant, needs=needs, may_harm=may_harm)(opened)
            return run

        return add
