"""`make quick`: its import map, its choice and its costs, on small trees that the tests write."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest

from tools.quick.choosing import choose, mirrors
from tools.quick.costs import DEFAULT, DEFAULT_SPARK, LOADING, cost_of, read_costs, write_costs
from tools.quick.imports import Imported, ImportMap, Near, read_imports
from tools.quick.running import Limit

Tree = Callable[[dict[str, str]], ImportMap]


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    """Writes files and returns the map of them."""

    def made(files: dict[str, str]) -> ImportMap:
        return _map(tmp_path, files)

    return made


def _map(root: Path, files: dict[str, str], kept: Path | None = None) -> ImportMap:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    bases = [root, *(path for path in (root / "adapters").glob("*"))]
    return ImportMap(root, [root / name for name in files], bases, kept)


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        pytest.param("import a.b", [("a.b", "")], id="import"),
        pytest.param("import a.b as c", [("a.b", "")], id="import under another name"),
        pytest.param("from a import b, c", [("a", "b"), ("a", "c")], id="from"),
        pytest.param("from . import b", [("package.inner", "b")], id="relative"),
        pytest.param("from ..a import b", [("package.a", "b")], id="relative, above"),
        pytest.param("def f():\n    import a", [("a", "")], id="in a function"),
        pytest.param("names = ['tests.kit.rules']", [("tests.kit.rules", "")], id="by name"),
        pytest.param("x = 'a.b c'\ny = '.'\nz = 'a'", [], id="texts that are no names"),
        pytest.param("if TYPE_CHECKING:\n    from a import b", [], id="for type checkers"),
    ],
)
def test_what_a_file_imports(tmp_path: Path, code: str, expected: list[tuple[str, str]]) -> None:
    path = tmp_path / "module.py"
    path.write_text(code, encoding="utf-8")
    assert read_imports(path, "package.inner.module") == [Imported(*each) for each in expected]


def test_imports_for_type_checkers_count_in_a_package(tmp_path: Path) -> None:
    path = tmp_path / "__init__.py"
    path.write_text("if TYPE_CHECKING:\n    from .later import Late", encoding="utf-8")
    assert read_imports(path, "package") == [Imported("package.later", "Late")]


CHAIN: Final = {
    "product/deep.py": "",
    "product/middle.py": "from . import deep",
    "product/top.py": "from product.middle import thing",
    "tests/test_top.py": "import product.top",
    "tests/test_middle.py": "from product import middle",
    "tests/test_other.py": "import json",
}


def test_distances_are_the_imports_between(tree: Tree) -> None:
    near = tree(CHAIN).near(["product/deep.py"])
    assert {name: each.distance for name, each in near.items()} == {
        "product/deep.py": 0,
        "product/middle.py": 1,
        "product/top.py": 2,
        "tests/test_middle.py": 2,
        "tests/test_top.py": 3,
    }


def test_the_nearest_of_several_changed_files_counts(tree: Tree) -> None:
    near = tree(CHAIN).near(["product/deep.py", "product/top.py"])
    assert near["tests/test_top.py"] == Near(1, "product/top.py")
    assert near["tests/test_middle.py"] == Near(2, "product/deep.py")


def test_a_circle_of_imports_ends(tree: Tree) -> None:
    near = tree({"a.py": "import b", "b.py": "import a"}).near(["a.py"])
    assert near == {"a.py": Near(0, "a.py"), "b.py": Near(1, "a.py")}


def test_a_file_outside_the_map_is_near_to_nothing(tree: Tree) -> None:
    assert tree(CHAIN).near(["docs/page.md", "product/deleted.py"]) == {}


def test_a_name_counts_for_the_module_it_comes_from(tree: Tree) -> None:
    files = {
        "product/__init__.py": "from .inner import Thing\nfrom .other import Else",
        "product/inner.py": "",
        "product/other.py": "",
        "tests/test_thing.py": "from product import Thing",
    }
    imported = tree(files).imported_by("tests/test_thing.py")
    assert imported == {"product/__init__.py", "product/inner.py"}


def test_a_package_of_an_adapter_is_found_in_its_folder(tree: Tree) -> None:
    files = {"adapters/sync/its_sync/driver.py": "", "tests/sync/test_driver.py": "from its_sync.driver import run"}
    assert tree(files).imported_by("tests/sync/test_driver.py") == {"adapters/sync/its_sync/driver.py"}


def test_a_test_module_imports_the_conftests_above_it(tree: Tree) -> None:
    files = {
        "tests/conftest.py": "",
        "tests/a/conftest.py": "from tests.kit import pair",
        "tests/b/conftest.py": "",
        "tests/kit/pair.py": "",
        "tests/a/test_one.py": "",
    }
    made = tree(files)
    assert made.imported_by("tests/a/test_one.py") == {"tests/conftest.py", "tests/a/conftest.py"}
    assert made.near(["tests/kit/pair.py"])["tests/a/test_one.py"].distance == 2


def test_a_file_that_is_no_python_imports_nothing(tree: Tree) -> None:
    assert tree({"a.py": "import b; def", "b.py": ""}).imported_by("a.py") == frozenset()


def test_the_kept_map_is_read_again_where_files_changed(tmp_path: Path) -> None:
    kept = tmp_path / "build" / "imports.json"
    files = {"a.py": "import b", "b.py": "", "c.py": ""}
    _map(tmp_path, files, kept)
    rows = json.loads(kept.read_text(encoding="utf-8"))
    # What is kept is believed for as long as the file's size and time are the same.
    rows["files"]["b.py"][1] = [["c", ""]]
    kept.write_text(json.dumps(rows), encoding="utf-8")
    (tmp_path / "a.py").write_text("import b, c", encoding="utf-8")
    again = ImportMap(tmp_path, [tmp_path / name for name in files], [tmp_path], kept)
    assert again.imported_by("a.py") == {"b.py", "c.py"}
    assert again.imported_by("b.py") == {"c.py"}


@pytest.mark.parametrize("damage", ["", "[]", "{}", '{"version": 0, "files": {}}', "null", '{"version": 1'])
def test_a_damaged_kept_map_is_written_anew(tmp_path: Path, damage: str) -> None:
    kept = tmp_path / "imports.json"
    kept.write_text(damage, encoding="utf-8")
    made = _map(tmp_path, {"a.py": "import b", "b.py": ""}, kept)
    assert made.imported_by("a.py") == {"b.py"}
    assert "a.py" in json.loads(kept.read_text(encoding="utf-8"))["files"]


@pytest.mark.parametrize(
    ("changed", "folder", "beginning"),
    [
        ("amqp_sansio/_classic/model/states.py", "tests/classic/model", "test_states"),
        ("amqp_sansio/_ground/timers.py", "tests/core", "test_timers"),
        ("amqp_sansio/uri.py", "tests", "test_uri"),
        ("amqp_sansio/broker/frontends/amqp_1_0/filters.py", "tests/broker/amqp_1_0", "test_filters"),
        ("amqp_sansio/recorded/histories/__init__.py", "tests/histories", "test_histories"),
        ("adapters/sync/amqp_sansio_sync/keeper.py", "tests/sync", "test_keeper"),
        ("adapters/pytest/amqp_sansio_pytest/plugin.py", "tests/pytest_plugin", "test_plugin"),
        ("tools/fuzz/cases.py", "tests/tools", "test_fuzz"),
        ("tools/steps.py", "tests/tools", "test_steps"),
        ("docs/migrating/pika.md", "tests/docs", "test_pika"),
        ("examples/echo.py", "tests/examples", "test_echo"),
        ("pyproject.toml", "tests", "test_pyproject"),
    ],
)
def test_the_folder_of_tests_that_mirrors_a_file(changed: str, folder: str, beginning: str) -> None:
    assert mirrors(changed) == (folder, beginning)


SENDER: Final = "amqp_sansio/amqp_1_0/endpoint/sender.py"


def _order(changed: list[str], near: dict[str, Near], texts: dict[str, str]) -> list[str]:
    return [chosen.name for chosen in choose(changed, near, texts, {}, 1000).run]


def test_the_nearest_come_first() -> None:
    expected = {
        "tests/far/test_changed.py": 0,
        "tests/amqp_1_0/endpoint/test_sender.py": 4,
        "tests/amqp_1_0/endpoint/test_links.py": 1,
        "tests/amqp_1_0/endpoint/test_deep.py": 3,
        "tests/amqp_1_0/observer/test_near.py": 1,
        "tests/other/test_sender.py": 5,
        "tests/other/test_far.py": 2,
        "tests/other/test_farther.py": 3,
    }
    near = {name: Near(distance, SENDER) for name, distance in {SENDER: 0, **expected}.items()}
    assert _order([SENDER, "tests/far/test_changed.py"], near, dict.fromkeys(reversed(expected), "")) == list(expected)


def test_equally_near_ones_are_sorted_by_how_often_they_name_it() -> None:
    texts = {"tests/a/test_a.py": "", "tests/a/test_b.py": "a sender", "tests/a/test_c.py": "Sender, sender"}
    near = {name: Near(2, SENDER) for name in texts}
    assert _order([SENDER], near, texts) == ["tests/a/test_c.py", "tests/a/test_b.py", "tests/a/test_a.py"]


def test_a_page_is_near_to_the_tests_of_its_folder_and_to_those_that_name_it() -> None:
    texts = {"tests/docs/test_pages.py": "", "tests/a/test_a.py": "docs/limits.md", "tests/a/test_b.py": ""}
    choice = choose(["docs/limits.md"], {}, texts, {}, 100)
    assert [(chosen.name, chosen.why) for chosen in choice.run] == [
        ("tests/docs/test_pages.py", "in the folder of tests of docs/limits.md"),
        ("tests/a/test_a.py", "names docs/limits.md"),
    ]


def test_a_test_of_the_same_name_is_near_without_an_import() -> None:
    texts = {"tests/core/test_timers.py": "", "tests/core/test_spine.py": ""}
    timers = "amqp_sansio/_ground/timers.py"
    choice = choose([timers], {timers: Near(0, timers)}, texts, {}, 100)
    assert [chosen.name for chosen in choice.run] == ["tests/core/test_timers.py"]
    assert choice.run[0].why == f"has the name of {timers}"


def test_what_there_is_no_time_for_is_left_out_and_cheaper_ones_take_its_place() -> None:
    costs = {"tests/a/test_a.py": 2.0, "tests/a/test_b.py": 50.0, "tests/a/test_c.py": 1.0}
    near = {name: Near(distance, SENDER) for distance, name in enumerate(costs, 1)}
    choice = choose([SENDER], near, dict.fromkeys(costs, ""), costs, 10)
    assert [chosen.name for chosen in choice.run] == ["tests/a/test_a.py", "tests/a/test_c.py"]
    assert [chosen.name for chosen in choice.left_out] == ["tests/a/test_b.py"]


def test_the_nearest_one_runs_whatever_it_costs() -> None:
    near = {"tests/a/test_a.py": Near(1, SENDER)}
    choice = choose([SENDER], near, {"tests/a/test_a.py": ""}, {"tests/a/test_a.py": 99.0}, 10)
    assert [chosen.name for chosen in choice.run] == ["tests/a/test_a.py"]


def test_one_that_takes_most_of_the_time_runs_last() -> None:
    costs = {"tests/a/test_a.py": 6.0, "tests/a/test_b.py": 1.0, "tests/a/test_c.py": 1.0}
    near = {name: Near(distance, SENDER) for distance, name in enumerate(costs, 1)}
    choice = choose([SENDER], near, dict.fromkeys(costs, ""), costs, 10)
    assert [chosen.name[-4] for chosen in choice.run] == ["b", "c", "a"]


@pytest.mark.parametrize("folder", ["interop", "system/sync"])
def test_what_needs_more_than_this_process_is_named_only(folder: str) -> None:
    name = f"tests/{folder}/test_a.py"
    choice = choose([SENDER], {name: Near(1, SENDER)}, {name: ""}, {}, 10)
    assert choice.run == []
    assert choice.elsewhere == [name]


# The scheduler of `make test` looks for this text in test modules.
STARTS_SPARK: Final = "pytestmark = pytest.mark" + ".spark"


@pytest.mark.parametrize(
    ("text", "costs", "expected"),
    [
        pytest.param("", {"a.py": 3.0}, 3.0, id="known"),
        pytest.param("", {}, DEFAULT, id="unknown"),
        pytest.param(STARTS_SPARK, {}, DEFAULT_SPARK, id="unknown, with Spark"),
        pytest.param(STARTS_SPARK, {"a.py": 3.0}, 3.0, id="known, with Spark"),
    ],
)
def test_the_cost_of_a_module(text: str, costs: dict[str, float], expected: float) -> None:
    assert cost_of("a.py", costs, text) == pytest.approx(LOADING + expected)


@pytest.mark.parametrize("text", ["", "[1]", "{", '{"a.py": "much"}'])
def test_a_damaged_file_of_costs_knows_none(tmp_path: Path, text: str) -> None:
    path = tmp_path / "costs.json"
    path.write_text(text, encoding="utf-8")
    assert read_costs(path) == {}


def test_there_may_be_no_file_of_costs(tmp_path: Path) -> None:
    assert read_costs(tmp_path / "costs.json") == {}


def test_costs_of_modules_that_did_not_run_are_kept(tmp_path: Path) -> None:
    for name in ("a.py", "b.py"):
        (tmp_path / name).touch()
    path = tmp_path / "costs.json"
    path.write_text('{"a.py": 1.0, "b.py": 2.0, "gone.py": 3.0}', encoding="utf-8")
    write_costs(path, {"b.py": 2.5004}, tmp_path)
    assert read_costs(path) == {"a.py": 1.0, "b.py": 2.5}


def test_no_test_begins_when_the_time_is_over() -> None:
    now = iter([9.9, 10.0, 11.0])
    limit = Limit(10.0, lambda: next(now))
    assert limit.pytest_runtest_protocol() is None
    assert limit.pytest_runtest_protocol() is True
    assert limit.pytest_runtest_protocol() is True
    assert limit.left_out == 2
