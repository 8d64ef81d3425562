"""Cases for clients: one rule each, what the program is told to do, and what the server says to it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, Generic, NamedTuple, TypeVar

from .host import Host
from .programs import Order
from .verdicts import Seen

H = TypeVar("H", bound=Host)


class ClientCase(NamedTuple):
    """A case for clients, as `Case` is one for servers.

    `order` is what the program is told. `run` gets a connection of which nothing was read, and judges.
    """

    rule: str
    variant: str
    level: str
    needs: tuple[str, ...]
    clause: str
    expected: str
    order: Order
    run: Callable[[Any], Seen]
    may_harm: bool = False

    @property
    def name(self) -> str:
        """The rule's id, "client", and the variant."""
        return f"{self.rule}/client/{self.variant}" if self.variant else f"{self.rule}/client"

    @property
    def version(self) -> str:
        """The version that the case speaks."""
        return self.rule.partition("/")[0]


class ClientSuite(Generic[H]):
    """Collects the cases of one version; its method decorates functions that run a case."""

    def __init__(self, version: str) -> None:
        self.version: Final = version
        self.cases: list[ClientCase] = []

    def case(
        self, rule: str, level: str, clause: str, expected: str, order: Order, *, variant: str = ""
    ) -> Callable[[Callable[[H], Seen]], Callable[[H], Seen]]:
        """Add a case whose function begins with a connection of which nothing was read."""

        def add(run: Callable[[H], Seen]) -> Callable[[H], Seen]:
            needs = (f"{self.version} {order.skill}",)
            self.cases.append(ClientCase(f"{self.version}/{rule}", variant, level, needs, clause, expected, order, run))
            return run

        return add
