"""Runs cases against a client: for each the program is started, and connects to a server that a case scripts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
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
from .running import Attempt, Connection, Result, is_to_be_repeated, result_of
from .verdicts import Seen, Surprise, Verdict

HOSTS: Final[Mapping[str, type[ClassicHost] | type[Host_1_0] | type[Host_0_10]]] = {
    "0-9-1": ClassicHost,
    "1.0": Host_1_0,
    "0-10": Host_0_10,
    "0-8": ClassicHost08,
}
"""The scripted servers of each version."""
ORDERS: Final = (Order("open"), Order("publish 1"), Order("consume 1 accept"), Order("consume 1 reject"), Order("rpc"))
"""What a program is asked for before any case."""
_LOOK: Final = 0.05
_LEAST: Final = 0.001


class Ability(NamedTuple):
    """What came of asking the program for something: `problem` is "" if it can."""

    version: str
    skill: str
    problem: str


class ClientRunner:
    """Runs cases against the program that `starter` starts, which connects to `listener`."""

    def __init__(
        self,
        listener: Listener,
        starter: Starter,
        *,
        patience: Patience | None = None,
        profile: Mapping[str, Deviation] | None = None,
    ) -> None:
        self.listener = listener
        self.starter = starter
        self.patience = patience or Patience()
        self.profile = profile or {}
        self.capabilities = Capabilities()

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

    def run(self, cases: Iterable[ClientCase]) -> Iterator[Result]:
        """Run cases; those for which the program lacks something aren't run. Raises Unusable if it can't be started."""
        for case in cases:
            lacking = self.capabilities.lacks(case.needs)
            if lacking:
                yield Result(case, Verdict.NOT_RUN, Verdict.NOT_RUN, f"needs {lacking}")
                continue
            attempts: list[Attempt] = []
            while not attempts or is_to_be_repeated(case, attempts):
                attempts.append(self._attempt(case))
            yield result_of(case, attempts, self.profile.get(case.name))

    def _start(self, version: str, order: Order) -> Program:
        return self.starter(order.environment(version, f"amqp://guest:guest@{self.listener.address}/"))

    def _join(self, program: Program) -> Accepted | None:
        """Return the program's connection; None if it ends, or doesn't come in time."""
        left = max(self.patience.answer * 4, 10.0)
        while left > 0:
            transport = self.listener.accept(_LOOK)
            if transport is not None:
                return transport
            if program.status() is not None:
                return self.listener.accept(_LEAST)
            left -= _LOOK
        return None

    def _try(self, version: str, order: Order) -> tuple[Host | None, str]:
        """Let the program do something with a server that does nothing odd; return what is wrong."""
        program = self._start(version, order)
        transport: Accepted | None = None
        try:
            transport = self._join(program)
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
            program.end()
            if transport is not None:
                transport.close()

    def _attempt(self, case: ClientCase) -> Attempt:
        program = self._start(case.version, case.order)
        try:
            transport = self._join(program)
            if transport is None:
                verdict = Verdict.NOT_RUN if program.status() == CANNOT else Verdict.INCONCLUSIVE
                return Attempt(Seen(verdict, _missing(program)), (), 0.0)
            began = transport.now()
            host = HOSTS[case.version](transport, program, self.patience)
            try:
                seen = self._judged(case, host)
            finally:
                program.end()
                host.close()
            connection = Connection(
                transport.local, transport.remote, tuple(host.pieces), transport.how_it_ended, "client"
            )
            return Attempt(seen, (connection,), transport.now() - began)
        finally:
            program.end()
            self.listener.drop()

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


def _missing(program: Program) -> str:
    """Say why a program doesn't connect, or fails."""
    status = program.status()
    if status is None:
        return "the program doesn't connect"
    if status == CANNOT:
        return "the program can't do this"
    return f"the program ends with {status}: {program.complaint() or 'without a word'}"


__all__ = ["HOSTS", "ORDERS", "Ability", "ClientRunner"]
