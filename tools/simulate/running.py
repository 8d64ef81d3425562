"""Runs a mode: many messages and faults in one world, in parts with a time of rest after each."""

from __future__ import annotations

from typing import Final, NamedTuple

from amqp_sansio.testing.simulate import Fault, Finding, Hazards, Seeded, World

from .modes import MODES, QUEUE, SETTINGS

PART: Final = 20_000
"""Messages between two times of rest."""
KINDS: Final = (Fault.CUT, Fault.STALL, Fault.RESTART, Fault.PARTITION, Fault.JUMP)
ODDS: Final = 50


class Result(NamedTuple):
    """The figures of a run."""

    messages: int
    faults: int
    steps: int
    seconds: float
    missed: int
    doubled: int
    findings: tuple[Finding, ...]

    def __str__(self) -> str:
        return (
            f"{self.messages} messages, {self.faults} faults, {self.steps} steps, {self.seconds:.0f} simulated seconds:"
            f" {self.missed} never worked on, {self.doubled} more than once; {len(self.findings)} broken promises"
        )


def run(version: str, mode: str, messages: int, faults: int, seed: int) -> Result:
    """Simulate a version's mode, until the end or the first part in which the promise is broken."""
    chosen = MODES[version, mode]
    # A crash would take what a publisher knows with it, unless its program keeps that.
    kinds: tuple[Fault, ...] = (*KINDS, Fault.CRASH) if mode in ("again", "once") else KINDS
    hazards = Hazards(faults=kinds, most=0, odds=ODDS, pieces=True)
    if mode == "exactly":
        # Only a snapshot has the broker's state of links and sessions, and it keeps none for an hour.
        kinds = tuple(Fault.SUSPEND if each is Fault.RESTART else each for each in KINDS)
        hazards = hazards.but(faults=kinds, jumps=(1.0, 60.0))
    missed = doubled = done = 0
    found: list[Finding] = []
    with World(Seeded(seed), hazards, promise=chosen.promise, settings=SETTINGS) as world:
        world.declare(QUEUE)
        world.start(chosen.consumer(world), name="consumer")

        def may_go_wrong() -> bool:
            """Let faults happen in step with the messages."""
            most = faults * world.ledger.seen // messages
            if most > world.hazards.most:
                world.hazards = hazards.but(most=min(faults, most))
            return False

        while done < messages and not found:
            bodies = [b"%d" % number for number in range(done, min(messages, done + PART))]
            done += len(bodies)
            world.start(chosen.publisher(world, bodies), name="publisher", ends=True)
            world.run(may_go_wrong)
            found = world.findings()
            counts = [world.ledger.worked.get(body, 0) for body in bodies]
            missed += counts.count(0)
            doubled += sum(count > 1 for count in counts)
            world.forget()
        return Result(done, len(world.faults), world.steps, world.now, missed, doubled, tuple(found))
