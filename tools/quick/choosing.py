"""Which test modules are nearest to what changed, and which of them fit into the time there is.

First come test modules that changed themselves. Then those that import a changed file: in the folder of tests that
mirrors its own, then in the folders beside that, then all others; in each of them those that have its name first, then
by the number of imports between, then by how often their text has its name. A file that no module imports, such as a
page, is near to the tests in its folder and to those that name it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import PurePosixPath
from typing import Final, NamedTuple

from tools.quick.costs import cost_of
from tools.quick.imports import Near

ELSEWHERE: Final = ("tests/interop/", "tests/system/")
"""Tests that need more than this process: real brokers, sockets, processes."""
FOLDERS: Final = {"pytest": "pytest_plugin"}
"""Folders of tests whose name isn't that of the adapter."""


class Chosen(NamedTuple):
    """A test module, why it is near, and what it costs in seconds."""

    name: str
    why: str
    cost: float


class Choice(NamedTuple):
    """The test modules to run, in order; those that there is no time for; and those that other targets run."""

    run: list[Chosen]
    left_out: list[Chosen]
    elsewhere: list[str]


class _Rank(NamedTuple):
    """What sorts test modules, nearest first."""

    folders: int
    """Between its folder and the one that mirrors the changed file's; -1 for what changed itself."""
    is_other_name: bool
    distance: int
    silence: int
    """Less for each time that its text has the changed file's name."""
    name: str


class _Candidate(NamedTuple):
    rank: _Rank
    why: str


ROOMS: Final = {"ground": "core", "watching": "core"}
"""Rooms of the core whose tests stand in another's folder."""
INSIDE: Final = frozenset({"frontends", "recorded"})
"""Rooms whose parts have folders of tests of their own."""


def mirrors(changed: str) -> tuple[str, str]:
    """Return the folder of tests that mirrors a file's own, and the beginning of the names of its tests."""
    path = PurePosixPath(changed)
    parts = [part.lstrip("_") for part in path.parts[:-1]]
    match parts:
        case ["amqp_sansio", *inner]:
            folder = [ROOMS.get(part, part) for part in inner if part not in INSIDE]
        case ["adapters", name, _, *inner]:
            folder = [FOLDERS.get(name, name), *inner]
        case ["tools", *inner]:
            stem = (inner or [path.stem])[0]
            return "tests/tools", f"test_{stem}"
        case [("docs" | "examples") as name, *_]:
            folder = [name]
        case _:
            folder = []
    stem = path.parent.name if path.stem == "__init__" else path.stem
    return "/".join(["tests", *folder]), f"test_{stem.lstrip('_')}"


def choose(
    changed: Iterable[str],
    near: Mapping[str, Near],
    texts: Mapping[str, str],
    costs: Mapping[str, float],
    seconds: float,
) -> Choice:
    """Choose among the test modules of `texts`, which has what stands in each; `near` is the import map's answer."""
    found: dict[str, _Candidate] = {}
    for name, candidate in _candidates(sorted(changed), near, texts):
        if name not in found or candidate.rank < found[name].rank:
            found[name] = candidate
    run: list[Chosen] = []
    left_out: list[Chosen] = []
    elsewhere: list[str] = []
    spent = 0.0
    for name, candidate in sorted(found.items(), key=lambda item: item[1].rank):
        if name.startswith(ELSEWHERE):
            elsewhere.append(name)
            continue
        chosen = Chosen(name, candidate.why, cost_of(name, costs, texts[name]))
        # The nearest one runs, whatever it costs.
        if run and spent + chosen.cost > seconds:
            left_out.append(chosen)
        else:
            run.append(chosen)
            spent += chosen.cost
    # One that takes most of the time goes last, so that the others are run before the time is over.
    run.sort(key=lambda chosen: chosen.cost > seconds / 2)
    return Choice(run, left_out, elsewhere)


def _candidates(
    changed: list[str], near: Mapping[str, Near], texts: Mapping[str, str]
) -> Iterator[tuple[str, _Candidate]]:
    for name, (distance, origin) in near.items():
        if name not in texts:
            continue
        if distance == 0:
            yield name, _Candidate(_Rank(-1, False, 0, 0, name), "changed itself")
        else:
            many = "import" if distance == 1 else "imports"
            yield name, _Candidate(_rank(name, origin, distance, texts[name]), f"{distance} {many} from {origin}")
    for file in changed:
        yield from _without_imports(file, near, texts)


def _without_imports(file: str, near: Mapping[str, Near], texts: Mapping[str, str]) -> Iterator[tuple[str, _Candidate]]:
    """Tests that something else than an import binds to a file: a name, or the folder."""
    title = PurePosixPath(file).name
    for name, text in texts.items():
        rank = _rank(name, file, 0, text)
        if rank.folders == 0 and not rank.is_other_name:
            yield name, _Candidate(rank, f"has the name of {file}")
        elif file in near:
            continue
        elif title in text:
            yield name, _Candidate(rank, f"names {file}")
        elif rank.folders == 0 and mirrors(file)[0] != "tests":
            yield name, _Candidate(rank, f"in the folder of tests of {file}")


def _rank(name: str, origin: str, distance: int, text: str) -> _Rank:
    folder, beginning = mirrors(origin)
    own, mirrored = name.split("/")[:-1], folder.split("/")
    common = next((i for i, pair in enumerate(zip(own, mirrored, strict=False)) if pair[0] != pair[1]), len(mirrored))
    folders = len(mirrored) - min(common, len(own))
    is_other_name = not name.rpartition("/")[2].startswith(beginning)
    word = beginning.removeprefix("test_").removesuffix("s")
    return _Rank(folders, is_other_name, distance, -text.lower().count(word), name)
