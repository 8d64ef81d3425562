"""What a process with changed modules is asked, and what it answers: values that go through files."""

from __future__ import annotations

import ast
import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Final

from tools.mutants.mutations import mutated, probed

ROOT: Final = Path(__file__).resolve().parents[2]
VARIABLE: Final = "MUTANTS_JOB"
"""The environment variable with the path of the job."""


def name_of(path: str, number: int) -> str:
    """Return the name of a mutant."""
    return f"{path}:{number}"


@dataclass(frozen=True)
class Job:
    """One run of pytest."""

    answer: str
    """The path of the answer."""
    changes: dict[str, list[int]]
    """The numbers of the mutations, by the path of the module below the root."""
    probes: bool
    """Whether to note which tests reach the places, and to change nothing."""
    cpu: int
    """The most CPU seconds of the process."""
    tests: list[str] | None = None
    """The ids of the tests, in order; None: all."""
    limits: dict[str, float] = field(default_factory=dict[str, float])
    """The most CPU seconds of each test."""

    def write(self, path: Path) -> None:
        path.write_text(json.dumps(asdict(self)), encoding="utf-8")

    @classmethod
    def read(cls, path: Path) -> Job:
        return cls(**json.loads(path.read_text(encoding="utf-8")))

    def trees(self) -> dict[str, tuple[Path, ast.Module]]:
        """Return the changed modules by their names."""
        found: dict[str, tuple[Path, ast.Module]] = {}
        for path, numbers in self.changes.items():
            source = (ROOT / path).read_text(encoding="utf-8")
            if self.probes:
                tree = probed(source, {number: name_of(path, number) for number in numbers})
            else:
                [number] = numbers
                tree = mutated(source, number)
            found[path.removesuffix(".py").replace("/", ".")] = (ROOT / path, tree)
        return found


@dataclass
class Answer:
    """How the tests ended."""

    failed: list[str] = field(default_factory=list[str])
    ended: bool = False
    """Whether pytest came to its end, or the process was ended on purpose."""
    timed_out: bool = False
    """Whether the last failed test took more than its CPU seconds, which ended the process."""
    costs: dict[str, float] = field(default_factory=dict[str, float])
    """The CPU seconds of each test that ran."""
    reached: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    """The tests that reach a place, by the name of its mutant."""

    def write(self, path: Path) -> None:
        path.write_text(json.dumps(asdict(self)), encoding="utf-8")

    @classmethod
    def read(cls, path: Path) -> Answer:
        return cls(**json.loads(path.read_text(encoding="utf-8")))


__all__ = ["ROOT", "VARIABLE", "Answer", "Job", "name_of"]
