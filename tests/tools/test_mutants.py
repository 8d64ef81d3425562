"""Mutants: which changes are made and which aren't, how a changed module is imported, what is said of a sample."""

from __future__ import annotations

import ast
import sys
from collections import Counter
from importlib import import_module
from pathlib import Path
from textwrap import dedent

import pytest

from tools.mutants import running
from tools.mutants.__main__ import main
from tools.mutants.job import Answer, Job
from tools.mutants.loading import Finder
from tools.mutants.mutations import REACHED, Mutation, mutated, mutations, probed
from tools.mutants.report import Sample, line_of, shortened
from tools.mutants.running import PARTS, Mutant, Reach, Result, all_mutants, first_of, in_order, run, sample

ROOT = Path(__file__).resolve().parents[2]


def changes(source: str) -> list[tuple[str, str, str]]:
    """Return the kind of each mutation, the line before and after it."""
    return [(each.kind, each.before, each.after) for each in mutations(dedent(source))]


def in_function(statement: str) -> list[tuple[str, str, str]]:
    """Return the mutations of one statement of a function."""
    return changes(f"def f(self, a, b):\n    {statement}\n")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("a < b", "a <= b"),
        ("a <= b", "a < b"),
        ("a > b", "a >= b"),
        ("a >= b", "a > b"),
        ("a == b", "a != b"),
        ("a != b", "a == b"),
        ("a is b", "a is not b"),
        ("a is not b", "a is b"),
        ("a in b", "a not in b"),
        ("a not in b", "a in b"),
    ],
)
def test_comparisons(before: str, after: str) -> None:
    assert in_function(f"x = {before}") == [("comparison", f"x = {before}", f"x = {after}")]


@pytest.mark.parametrize(
    ("kind", "before", "after"),
    [
        ("number", "x = 16", "x = 17"),
        ("number", "x = a[0]", "x = a[1]"),
        ("truth", "x = True", "x = False"),
        ("truth", "x = False", "x = True"),
        ("and, or", "x = a and b", "x = a or b"),
        ("and, or", "x = a or b", "x = a and b"),
        ("not", "x = not a", "x = a"),
        ("sum", "x = a + b", "x = a - b"),
        ("sum", "x = a - b", "x = a + b"),
        ("return value", "return a", "return None"),
        ("dropped statement", "a.append(b)", "pass"),
        ("dropped statement", "self.a = b", "pass"),
        ("dropped statement", "a[b] = b", "pass"),
    ],
)
def test_every_other_kind(kind: str, before: str, after: str) -> None:
    assert in_function(before) == [(kind, before, after)]


def test_a_sum_that_is_assigned_may_turn_or_go() -> None:
    assert in_function("self.a += b") == [
        ("sum", "self.a += b", "self.a -= b"),
        ("dropped statement", "self.a += b", "pass"),
    ]


def test_each_part_of_a_chain_is_changed_alone() -> None:
    assert in_function("x = 0 < a < b") == [
        ("comparison", "x = 0 < a < b", "x = 0 <= a < b"),
        ("comparison", "x = 0 < a < b", "x = 0 < a <= b"),
        ("number", "x = 0 < a < b", "x = 1 < a < b"),
    ]


@pytest.mark.parametrize(
    "source",
    [
        '"""Text of 3 < 4."""\nx = y',
        "from typing import Literal\nKind = Literal[1, 2]",
        "x: Literal[True]",
        "def f(a: Literal[1]) -> Literal[2]:\n    x = a",
        "def f(self):\n    return",
        "def f(self):\n    return None",
        "def f(self):\n    x = self.y",
        "def f(self):\n    assert 1 < 2 and not self.x",
        "def f(self):\n    raise ValueError(f'{1 + 2} of {self.x}')",
        "def __repr__(self):\n    return self.name + 'x'",
        "class A:\n    __slots__ = ('a',) + ('b',)",
        "class A(Protocol):\n    def f(self): return 1",
        "class A(IntEnum):\n    ONE = 1",
        "class A:\n    def __init__(self, x):\n        self.x = x",
        "@dataclass(frozen=True)\nclass A:\n    x: int",
        "@overload\ndef f(a=1): return 2",
        "if TYPE_CHECKING:\n    x = 1",
        "_T = TypeVar('_T', covariant=True)",
        "def f(a, b):\n    x = zip(a, b, strict=True)",
        "def f(a):\n    assert_never(a)",
    ],
)
def test_what_decides_nothing_stays(source: str) -> None:
    assert changes(source) == []


def test_code_beside_what_stays_is_changed() -> None:
    assert changes("if TYPE_CHECKING:\n    x = 1\nelse:\n    x = 2") == [("number", "x = 2", "x = 3")]
    assert changes("class A(Enum):\n    X = 1\n    def f(self):\n        return self.x") == [
        ("return value", "return self.x", "return None")
    ]
    assert in_function("x = cast('A', a + b)") == [("sum", "x = cast('A', a + b)", "x = cast('A', a - b)")]


def test_a_mutation_says_where_it_is() -> None:
    source = dedent(
        """
        MOST = 4

        class Queue:
            def put(self, entry):
                if self.entries or entry:
                    pass
                elif len(self.entries) < MOST:
                    self.entries.append(entry)
        """
    )
    assert mutations(source) == [
        Mutation(0, "number", 2, "", "MOST = 4", "MOST = 5"),
        Mutation(1, "and, or", 6, "Queue.put", "if self.entries or entry:", "if self.entries and entry:"),
        Mutation(2, "comparison", 8, "Queue.put", "if len(self.entries) < MOST:", "if len(self.entries) <= MOST:"),
        Mutation(3, "dropped statement", 9, "Queue.put", "self.entries.append(entry)", "pass"),
    ]


BOUNDED = """
def put(entries, entry, most=2):
    if entry is None:
        return 'nothing'
    elif len(entries) < most:
        entries.append(entry)
    return len(entries)
"""


def loaded(tree: ast.Module) -> dict[str, object]:
    """Return the names of a module that is run."""
    names: dict[str, object] = {}
    exec(compile(tree, "bounded", "exec"), names)
    return names


def number_of(text: str, source: str = BOUNDED) -> int:
    """Return the number of the only mutation that makes this line."""
    [number] = [each.number for each in mutations(source) if each.after == text]
    return number


def test_one_change_is_made_and_no_other() -> None:
    tree = mutated(BOUNDED, number_of("if len(entries) <= most:"))
    assert ast.unparse(tree) == ast.unparse(ast.parse(BOUNDED.replace("<", "<=")))
    assert [ast.unparse(mutated(BOUNDED, each.number)) for each in mutations(BOUNDED)].count(ast.unparse(tree)) == 1


def test_probes_tell_what_is_reached_and_change_nothing() -> None:
    source = f"LOW = 1\n{BOUNDED}"
    names = [f"m:{each.number}" for each in mutations(source)]
    put = loaded(probed(source, dict(enumerate(names))))
    seen: set[str] = set()
    put[REACHED] = seen.add
    call = put["put"]
    assert callable(call)
    assert call([], None) == "nothing"
    texts = {each.before for each in mutations(source) if f"m:{each.number}" in seen}
    assert texts == {"if entry is None:", "return 'nothing'"}
    seen.clear()
    entries: list[int] = [1, 1]
    assert call(entries, 3) == 2
    assert {each.before for each in mutations(source) if f"m:{each.number}" in seen} == {
        "if entry is None:",
        "if len(entries) < most:",
        "return len(entries)",
    }


def test_a_changed_module_is_imported_and_the_file_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "a_bounded_module.py"
    file.write_text(BOUNDED)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    monkeypatch.setattr(sys, "meta_path", list(sys.meta_path))
    tree = mutated(BOUNDED, number_of("if len(entries) <= most:"))
    seen: list[str] = []
    finder = Finder({"a_bounded_module": (file, tree)}, seen.append)
    finder.install()
    try:
        module = import_module("a_bounded_module")
        assert module.put([1, 1], 1) == 3
        assert module.__file__ == str(file)
        assert getattr(module, REACHED) == seen.append
        with pytest.raises(RuntimeError, match="already imported: a_bounded_module"):
            finder.install()
    finally:
        sys.modules.pop("a_bounded_module", None)
    assert file.read_text() == BOUNDED
    assert [path.name for path in tmp_path.iterdir()] == ["a_bounded_module.py"]


# The sample.


def test_every_part_and_its_tests_are_there() -> None:
    for part, folders in PARTS.items():
        assert (ROOT / part).is_dir()
        assert folders
        assert all((ROOT / folder).exists() for folder in folders)
    models = {path.parent.relative_to(ROOT).as_posix() for path in (ROOT / "amqp_sansio").rglob("model/__init__.py")}
    assert models == {part for part in PARTS if part.endswith("/model")}


def test_a_sample_comes_out_of_its_seed() -> None:
    mutants = [Mutant("amqp_sansio/client/x.py", Mutation(n, "not", n, "f", "not a", "a")) for n in range(50)]
    assert sample(mutants, 1, 10) == sample(mutants, 1, 10)
    assert sample(mutants, 1, 10) != sample(mutants, 2, 10)
    assert len(set(sample(mutants, 1, 10))) == 10
    assert sample(mutants, 3, 60) == mutants


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("gone", [range(1), range(25, 50), range(0, 50, 2)])
def test_a_sample_changes_only_where_the_code_does(gone: range, seed: int) -> None:
    """Also where the numbers of the others and their lines are new, and where several mutations look the same."""
    path = "amqp_sansio/client/x.py"
    texts = [str(n // 2) for n in range(50)]
    before = [Mutant(path, Mutation(n, "not", n, "f", f"not {text}", text)) for n, text in enumerate(texts)]
    left = [text for n, text in enumerate(texts) if n not in gone]
    after = [Mutant(path, Mutation(n, "not", n + 7, "f", f"not {text}", text)) for n, text in enumerate(left)]
    first = Counter(each.mutation.after for each in sample(before, seed, 10))
    second = Counter(each.mutation.after for each in sample(after, seed, 10))
    assert not {text for text in first - second if left.count(text) == 2}
    assert sum(second.values()) == 10


def test_the_mutants_of_a_module() -> None:
    path = "amqp_sansio/amqp_0_10/model/session_model.py"
    found = all_mutants(path)
    assert {mutant.path for mutant in found} == {path}
    assert {mutant.part for mutant in found} == {"amqp_sansio/amqp_0_10/model"}
    lines = [mutant.mutation.before for mutant in found if mutant.mutation.after == "pass"]
    assert "trim(self.prepared, self.most)" in lines
    assert len({mutant.name for mutant in found}) == len(found)


def test_the_nearest_tests_come_first_then_the_cheapest() -> None:
    costs = {
        "tests/x/test_frames.py::dear": 2.0,
        "tests/x/test_frames.py::cheap": 0.1,
        "tests/x/test_session_ids.py::b": 3.0,
        "tests/x/test_credit.py::c": 0.2,
    }
    order = in_order(costs, "amqp_sansio/x/model/session_model.py", costs)
    assert order == [
        "tests/x/test_session_ids.py::b",
        "tests/x/test_credit.py::c",
        "tests/x/test_frames.py::cheap",
        "tests/x/test_frames.py::dear",
    ]


def test_few_files_and_seconds_are_tried_first() -> None:
    cheap = {f"{file}.py::{n}": 0.01 for file in "abcdef" for n in range(3)}
    assert first_of(list(cheap), cheap) == 9
    assert first_of(list(cheap)[:7], cheap) == 7
    dear = {f"a.py::{n}": 3.0 for n in range(3)}
    assert first_of(list(dear), dear) == 1
    assert first_of(["a.py::x"], {"a.py::x": 99.0}) == 1


MUTANT = Mutant("amqp_sansio/client/inbox.py", Mutation(3, "not", 7, "Inbox.take", "if not a:", "if a:"))
OTHER = Mutant("amqp_sansio/broker/model/queue.py", Mutation(4, "sum", 9, "", "A = b + c", "A = b - c"))


def test_a_mutant_that_no_test_reaches_needs_no_process() -> None:
    assert running.tried(MUTANT, Reach({}, {MUTANT.name: []})) == Result(MUTANT, "not reached")


def test_jobs_and_answers_go_through_files(tmp_path: Path) -> None:
    path = "amqp_sansio/client/inbox.py"
    job = Job(str(tmp_path / "answer"), {path: [0]}, False, 9, ["t.py::a"], {"t.py::a": 1.5})
    job.write(tmp_path / "job")
    assert Job.read(tmp_path / "job") == job
    [(name, (file, tree))] = job.trees().items()
    assert (name, file) == ("amqp_sansio.client.inbox", ROOT / path)
    assert ast.unparse(tree) != ast.unparse(ast.parse(file.read_text(encoding="utf-8")))
    answer = Answer(["t.py::a"], True, True, {"t.py::a": 0.5}, {f"{path}:0": ["t.py::a"]})
    answer.write(tmp_path / "answer")
    assert Answer.read(tmp_path / "answer") == answer


# What is said.


def test_a_line_of_each_outcome() -> None:
    begin = "amqp_sansio/client/inbox.py:7 [3] if not a:  ->  if a:  "
    assert line_of(Result(MUTANT, "killed", "t.py::a")) == f"{begin}killed by t.py::a"
    assert line_of(Result(MUTANT, "timed out", "t.py::a")) == f"{begin}timed out in t.py::a"
    assert line_of(Result(MUTANT, "lives")) == f"{begin}LIVES"
    assert line_of(Result(MUTANT, "not reached")) == f"{begin}NOT REACHED"


def test_long_lines_are_cut_around_the_change() -> None:
    before, after = shortened("a" * 200 + "<" + "b" * 200, "a" * 200 + ">" + "b" * 200)
    assert before == "..." + "a" * 50 + "<" + "b" * 49 + "..."
    assert after == "..." + "a" * 50 + ">" + "b" * 49 + "..."
    assert shortened("short", "texts") == ("short", "texts")


def test_the_page_counts_and_names_what_lives() -> None:
    whole = Sample([1, 2], 2, 900, [Result(MUTANT, "killed", "t"), Result(OTHER, "lives")])
    page = whole.page()
    assert "The sample has 2 of 900 mutants, of seed 1 and 2. The tests kill 1 of 2 (50 %)." in page
    tests = ", ".join(f"`{folder}`" for folder in PARTS["amqp_sansio/client"])
    assert f"| `amqp_sansio/client` | {tests} | 1 | 1 | 0 | 0 | 0 |" in page
    assert "| `broker/model/queue.py`, `module` | `A = b + c` | `A = b - c` | lives |" in page
    assert "inbox.py" not in page
    assert "Those that live" not in Sample([1], 1, 900, [Result(MUTANT, "timed out", "t")]).page()


def test_results_are_read_again(tmp_path: Path) -> None:
    whole = Sample([1], 2, 900, [Result(MUTANT, "killed", "t"), Result(OTHER, "not reached")])
    whole.write(tmp_path / "new" / "mutants.json")
    assert Sample.read(tmp_path / "new" / "mutants.json") == whole


# The command.

UNDER = "--under=amqp_sansio/client/inbox.py"


def test_only_what_lives_is_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    first, second, third = all_mutants("amqp_sansio/client/inbox.py")[:3]
    path = tmp_path / "mutants.json"
    Sample([5], 3, 9, [Result(first, "killed", "t"), Result(second, "lives"), Result(third, "not reached")]).write(path)
    tried: list[Mutant] = []

    def killing(mutants: list[Mutant], say: object, dearest: float) -> list[Result]:
        tried.extend(mutants)
        return [Result(mutant, "killed", "new") for mutant in mutants]

    monkeypatch.setattr("tools.mutants.__main__.run", killing)
    assert main([UNDER, "--again", str(path), "--json", str(path), "--write", str(tmp_path)]) == 0
    assert tried == [second, third]
    assert "mutants: killed 3 of 3 (100 %)" in capsys.readouterr().out
    again = Sample.read(path)
    assert [result.test for result in again.results] == ["t", "new", "new"]
    assert (again.seeds, again.count) == ([5], 3)
    assert (tmp_path / "mutants.md").read_text(encoding="utf-8") == again.page()


def test_results_of_other_code_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "mutants.json"
    Sample([5], 1, 9, [Result(MUTANT, "lives")]).write(path)
    assert main([UNDER, "--again", str(path)]) == 2
    assert "the code isn't that of" in capsys.readouterr().err


def test_a_sample_can_be_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--list", "--count=4", UNDER]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 4
    assert all(line.startswith("amqp_sansio/client/inbox.py:") and "  ->  " in line for line in lines)


def test_mutants_run_part_by_part(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, ...]] = []

    def found(mutants: list[Mutant], folders: tuple[str, ...], dearest: float) -> Reach:
        asked.append(folders)
        return Reach({"a": 1.0}, {mutant.name: [] for mutant in mutants}, ["unsteady"])

    monkeypatch.setattr(running, "reached", found)
    said: list[str] = []
    assert list(run([MUTANT, OTHER], said.append)) == [Result(OTHER, "not reached"), Result(MUTANT, "not reached")]
    assert asked == [PARTS["amqp_sansio/broker/model"], PARTS["amqp_sansio/client"]]
    assert "amqp_sansio/client: left out, since they fail without a change: unsteady" in said
