"""The oracles: properties of a target that every input must preserve."""

from __future__ import annotations

import pickle
import signal
import traceback
import tracemalloc
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from random import Random
from types import FrameType
from typing import Final

from tools.steps import count_steps

from .targets import Lines, Target, packed, pieces_of

SECONDS: Final = 10.0
"""Of processor time; inputs of these sizes take far less."""
GROWTH: Final = 1.1
"""Cost per size may grow by this factor: twice the octets, at most 2.2 times the steps."""
PER_OCTET: Final = 400
"""Most steps for one octet, in addition to `AT_ONCE`."""
AT_ONCE: Final = 50_000
PEAK_AT_ONCE: Final = 2_000_000
"""Octets of memory that an input may take while it is dealt with, in addition to `PEAK_PER_OCTET` for each of its own.

The bounds of `ends.LIMITS` are within it: an input that names more than it brings costs no more than they allow. So are
modules that are imported on the way.
"""
PEAK_PER_OCTET: Final = 500
KEPT_AT_ONCE: Final = 40_000
"""Octets of what is kept of an input, as a snapshot, in addition to `KEPT_PER_OCTET` for each of its own."""
KEPT_PER_OCTET: Final = 20
SLACK: Final = 300
"""Steps by which costs may differ for unrelated reasons, such as a full buffer."""


class TooLong(BaseException):
    """The processor time for an input is over. No exception handler in the tested code catches it."""


@dataclass(frozen=True)
class Failure:
    """A finding of an oracle. `kind` identifies it: failures of one kind are one finding."""

    target: str
    kind: str
    text: str
    octets: bytes


def check(target: Target, octets: bytes, random: Random) -> Failure | None:
    """Check that the target takes the input without an undocumented exception, and in the same way for other cuts."""
    try:
        with _bounded():
            whole = target.run(_pieces(target, octets, None))
            for step in _steps(target, octets, random):
                cut = target.run(_pieces(target, octets, step))
                if cut != whole:
                    return _differing(target, octets, step, whole, cut)
    except TooLong as error:
        text = f"more than {SECONDS:.0f} s of processor time for {len(octets)} octets"
        return Failure(target.name, f"too long in {_place(error)}", text, octets)
    except Exception as error:
        kind = f"{type(error).__name__} in {_place(error)}"
        return Failure(target.name, kind, "".join(traceback.format_exception(error)), octets)
    return None


def _steps(target: Target, octets: bytes, random: Random) -> list[int]:
    """Return the sizes of the pieces to try."""
    if not target.cuts or not octets:
        return []
    sizes = [random.choice((1, 2, 3, 7, 8, 9, 11, 13))]
    if len(octets) > 2000:
        sizes = [random.choice((7, 61, 500, 1021))]
    return sizes


def _pieces(target: Target, octets: bytes, step: int | None) -> Sequence[bytes]:
    """Return the input in pieces of `step` octets; None: whole. An observer's pieces are cut, not their container."""
    if step is None:
        return [octets]
    if not target.name.startswith("observer"):
        return [octets[at : at + step] for at in range(0, len(octets), step)]
    cut: list[tuple[int, bytes]] = []
    for kind, piece in pieces_of(octets):
        if kind & 2:
            cut.append((kind, piece))
        else:
            cut += [(kind, piece[at : at + step]) for at in range(0, len(piece), step)]
    return [packed(cut)]


def _differing(target: Target, octets: bytes, step: int, whole: Lines, cut: Lines) -> Failure:
    at = next((n for n, both in enumerate(zip(whole, cut, strict=False)) if both[0] != both[1]), None)
    if at is None:
        at = min(len(whole), len(cut))
    one = whole[at] if at < len(whole) else "(nothing)"
    other = cut[at] if at < len(cut) else "(nothing)"
    text = f"in pieces of {step} octets, line {at} is\n  {other[:1000]}\nand else\n  {one[:1000]}"
    names = [line.partition("(")[0].split()[0] if line.split() else "" for line in (one, other)]
    return Failure(target.name, f"cuts matter: {names[0]} or {names[1]}", text, octets)


def _place(error: BaseException) -> str:
    """Return the last line of the library in a traceback."""
    frames = traceback.extract_tb(error.__traceback__)
    inside = [frame for frame in frames if "/amqp_sansio/" in frame.filename] or frames[-1:]
    path = inside[-1].filename
    name = path.rpartition("/amqp_sansio/")[2] if "/amqp_sansio/" in path else Path(path).name
    return f"{name} {inside[-1].name}"


@contextmanager
def _bounded() -> Generator[None]:
    def stop(number: int, frame: FrameType | None) -> None:
        raise TooLong

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


# Cost.


def check_cost(target: Target, name: str, sizes: Sequence[bytes]) -> Failure | None:
    """Check that a bomb costs no more than its octets allow; `sizes` are three, each twice the one before.

    It compares the additional steps of each size, so that constant costs before the bomb don't count. A bomb whose
    octets stay the same must cost the same in every size.
    """
    octets = [len(each) for each in sizes]
    steps: list[int] = []
    try:
        target.run([sizes[0]])  # First-use imports aren't steps of the input.
        for each in sizes:
            bound = AT_ONCE + PER_OCTET * len(each)
            steps.append(count_steps(partial(target.run, [each]), bound))
            if steps[-1] > bound:
                text = f"more steps than {AT_ONCE} and {PER_OCTET} for each octet of {len(each)}"
                return Failure(target.name, f"bomb {name}", text, each)
    except Exception as error:
        kind = f"{type(error).__name__} in {_place(error)}"
        text = f"bomb {name}\n" + "".join(traceback.format_exception(error)[-12:])
        return Failure(target.name, kind, text, sizes[len(steps)] if len(steps) < 3 else sizes[-1])
    first, second = octets[1] - octets[0], octets[2] - octets[1]
    allowed = GROWTH * (second / first) * (steps[1] - steps[0]) if first > 0 else 0.0
    counts = ", ".join(f"{size} octets: {count}" for size, count in zip(octets, steps, strict=True))
    if steps[2] - steps[1] > allowed + SLACK:
        text = f"the steps grow faster than the octets ({counts})"
        return Failure(target.name, f"bomb {name}", text, sizes[-1])
    return None


# Memory.


def check_memory(target: Target, name: str, octets: bytes) -> Failure | None:
    """Check that an input takes no more memory than its size allows: at once, and of what is kept of it."""
    bound = PEAK_AT_ONCE + PEAK_PER_OCTET * len(octets)
    peak = _peak(partial(target.run, [octets]))
    if peak > bound:
        text = f"{len(octets)} octets take {peak} octets of memory at once, above {bound}"
        return Failure(target.name, f"peak {name}", text, octets)
    bound = KEPT_AT_ONCE + KEPT_PER_OCTET * len(octets)
    kept = _kept(target, octets)
    if kept > bound:
        text = f"of {len(octets)} octets {kept} are kept, above {bound}"
        return Failure(target.name, f"kept {name}", text, octets)
    return None


def check_bounded(target: Target, name: str, sizes: Sequence[bytes]) -> Failure | None:
    """Check that of more and more of the same no more is kept, but for octets that count as held."""
    keep = target.keep
    assert keep is not None
    kept = [len(pickle.dumps(found)) - held for found, held in map(keep, sizes)]
    if kept[-1] > GROWTH * kept[-2] + SLACK:
        counts = ", ".join([f"{len(each)} octets: {size}" for each, size in zip(sizes, kept, strict=True)])
        return Failure(target.name, f"bomb {name}", f"what is kept grows ({counts})", sizes[-1])
    return None


def _peak(work: Callable[[], object]) -> int:
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def _kept(target: Target, octets: bytes) -> int:
    return 0 if target.keep is None else len(pickle.dumps(target.keep(octets)[0]))


__all__ = ["Failure", "check", "check_bounded", "check_cost", "check_memory"]
