"""The inputs of a run: each has a number, and depends only on the seed and that number."""

from __future__ import annotations

from functools import partial
from random import Random

from .mutations import mutate, mutate_pieces, mutate_stream, mutate_text
from .oracles import Failure, check, check_memory
from .seeds import Seeds
from .targets import TARGETS, Target, version_of

_MEASURED = 10
"""Memory is measured of one input in so many."""
_TRIES = 300
"""Most shorter inputs tried for a finding."""


class Cases:
    """Makes the inputs of one seed, and checks them."""

    def __init__(self, seed: int, targets: list[str], *, drawn_each: int = 60) -> None:
        self.seeds = Seeds(seed, drawn_each)
        self._seed = seed
        self._targets = targets

    def check(self, number: int) -> Failure | None:
        """Make the input with this number, and apply the oracles."""
        random = Random(f"{self._seed} {number}")
        # Decoders take far less time than connections: they run in every round.
        target = TARGETS[self._targets[number % len(self._targets)]]
        octets = self.octets(target, random)
        failure = check(target, octets, random)
        if failure is None and random.randrange(_MEASURED) == 0:
            failure = check_memory(target, "input", octets)
        return failure

    def octets(self, target: Target, random: Random) -> bytes:
        """Return an input for a target: a seed with changes."""
        seeds = self.seeds.of(target.name)
        begin = random.choice(seeds)
        kind = target.name.partition("-")[0]
        if kind == "selector":
            return mutate_text(random, begin, seeds)
        if kind not in ("client", "server", "hub", "observer"):
            return mutate(random, begin, seeds)
        version = version_of(target.name)
        # Clients are attacked with octets that servers send.
        sides = {"client": ("server",), "observer": ("client", "server")}.get(kind, ("client",))
        frames = [frame for side in sides for frame in self.seeds.of(f"frames-{version.label}-{side}")]
        if kind != "observer":
            return mutate_stream(random, begin, seeds, frames, version)
        change = partial(_change, random, frames, version)
        return mutate_pieces(random, begin, seeds, change)


def _change(random: Random, frames: list[bytes], version: object, octets: bytes) -> bytes:
    return mutate_stream(random, octets, frames, frames, version)  # type: ignore[arg-type]


def shorter(failure: Failure) -> Failure:
    """Return the finding with a shorter input that reproduces it, by leaving out parts repeatedly."""
    target = TARGETS[failure.target]
    if failure.kind.startswith(("bomb", "too long", "peak", "kept")):
        return failure
    best = failure
    tries = 0
    size = len(failure.octets) // 2
    while size and tries < _TRIES:
        at = 0
        while at < len(best.octets) and tries < _TRIES:
            tries += 1
            found = check(target, best.octets[:at] + best.octets[at + size :], Random(0))
            if found is not None and found.kind == best.kind:
                best = found
            else:
                at += size
        size //= 2
    return best


__all__ = ["Cases", "shorter"]
