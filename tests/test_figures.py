"""Figures that may only fall: writes to the models' state from outside, uses of `Any`.

`python -m tools.figures` prints them, and `--places` where they are. What is counted, and what escapes the count, is
in the docstrings of `tools/figures/model_writes.py` and `tools/figures/any_uses.py`.
"""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Final

import pytest

from tools.figures import ANY, ENGINES, HELD_CHANGES, INHERITED_WRITES, KINDS, MODEL_WRITES, figure, places
from tools.figures.any_uses import lines_with_any
from tools.figures.model_writes import FOREIGN, HELD, INHERITED, writes

CEILINGS: Final = {
    MODEL_WRITES: {"_classic": 0, "amqp_0_10": 0, "amqp_1_0": 0},
    INHERITED_WRITES: {"_classic": 0, "amqp_0_10": 0, "amqp_1_0": 0},
    HELD_CHANGES: {"_classic": 0, "amqp_0_10": 0, "amqp_1_0": 0},
    ANY: {"_classic": 53, "amqp_0_10": 41, "amqp_1_0": 103},
}
"""The figures of today. The last one counts decoded values too, which can be of any type."""
SHOWN: Final = 10
"""Places in a failure's text."""


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("kind", KINDS)
def test_figures_do_not_rise(kind: str, engine: str) -> None:
    found = figure(kind, engine)
    ceiling = CEILINGS[kind][engine]
    if found > ceiling:
        listed = "\n".join(f"{place.where} {place.what}" for place in [*places(kind, engine)][:SHOWN])
        more = "`python -m tools.figures --places` has all of them, also of the commit before"
        pytest.fail(f"{kind}, {engine}: {found}, and may be {ceiling}; {more}. The first are:\n{listed}")
    if found < ceiling:
        row = ", ".join(f'"{name}": {found if name == engine else CEILINGS[kind][name]}' for name in ENGINES)
        names = {MODEL_WRITES: "MODEL_WRITES", INHERITED_WRITES: "INHERITED_WRITES", HELD_CHANGES: "HELD_CHANGES"}
        name = names.get(kind, "ANY")
        pytest.fail(f"{kind}, {engine}: {found}, fewer than before. Write into CEILINGS:\n    {name}: {{{row}}},")


MODEL = """
class State:
    __slots__ = ("count", "name", "seen")

    def __init__(self) -> None:
        self.count = 0

class Book(dict[int, int]):
    def add(self, number: int) -> None: ...

class Owner:
    def __init__(self) -> None:
        self.book = Book()
        self.state = State()
        self.states: dict[int, State] = {}

    def named(self, name: str) -> State | None: ...
"""

IMPORTS = """
from typing import Any
from ..model.state import Owner, State

class Other:
    def __init__(self) -> None:
        self.count = 0
        self.name = ""
"""


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        pytest.param("def f(state: State):\n    state.count = 1", ["state.count"], id="an assignment"),
        pytest.param("def f(state: State | None):\n    state.count += 1", ["state.count"], id="of a union with None"),
        pytest.param("def f(state: State):\n    state.count: int = 1", ["state.count"], id="with an annotation"),
        pytest.param("def f(state: State):\n    state.count: int", [], id="an annotation without a value"),
        pytest.param("def f(state: State):\n    del state.count", ["state.count"], id="del"),
        pytest.param("def f(state: State):\n    state.count, x = 1, 2", ["state.count"], id="unpacked"),
        pytest.param(
            "def f(state: State):\n    state.count = state.seen = 1", ["state.count", "state.seen"], id="chained"
        ),
        pytest.param("def f(state: State):\n    for state.count in (): ...", ["state.count"], id="a loop's variable"),
        pytest.param(
            "def f(one: Other, state: State):\n    first, second = one, state\n    first.count = second.count = 1",
            ["second.count"],
            id="variables that are unpacked",
        ),
        pytest.param("def f(state: State):\n    state.elsewhere = 2", [], id="a name that the model hasn't got"),
        pytest.param("def f(other: Other):\n    other.count = 1", [], id="of a class outside the model"),
        pytest.param("def f(other: int):\n    other.count = 1", [], id="of a class from elsewhere"),
        pytest.param(
            "def f(owner: Owner):\n    owner.state.count = 1", ["owner.state.count"], id="an attribute's attribute"
        ),
        pytest.param(
            "def f(owner: Owner):\n    owner.states[1].count = 1", ["owner.states[1].count"], id="an entry of a mapping"
        ),
        pytest.param(
            "def f(owner: Owner):\n    for one in owner.states.values():\n        one.count = 1",
            ["one.count"],
            id="each value of a mapping",
        ),
        pytest.param(
            "def f(owner: Owner):\n    for _, one in owner.states.items():\n        one.count = 1",
            ["one.count"],
            id="each item of a mapping",
        ),
        pytest.param(
            "def f(owner: Owner):\n    one = owner.named('')\n    one.count = 1", ["one.count"], id="a method's result"
        ),
        pytest.param(
            "def f(owner: Owner):\n    if one := owner.states.get(1):\n        one.count = 1",
            ["one.count"],
            id="an assignment expression",
        ),
        pytest.param("def f():\n    one = State()\n    one.count = 1", ["one.count"], id="made by its constructor"),
        pytest.param("def f():\n    one = NEW(State)\n    one.count = 1", [], id="made without its constructor"),
        pytest.param(
            "def f():\n    one = NEW(State)\n    slot: Any = one\n    slot.count = 1",
            [],
            id="made without its constructor, under another name",
        ),
        pytest.param("def f(one: Any):\n    one.count = 1", ["one.count"], id="any type"),
        pytest.param("def f(one):\n    one.count = 1", ["one.count"], id="no type"),
        pytest.param("def f(one: Any):\n    one.elsewhere = 1", [], id="any type, a name that the model hasn't got"),
        pytest.param(
            "class Door(Owner):\n    def f(self):\n        self.state.count = 1",
            ["self.state.count"],
            id="an attribute of self",
        ),
        pytest.param("class Door:\n    def f(self):\n        self.count = 1", [], id="on self, of no model's class"),
    ],
)
def test_writes_on_other_objects(tmp_path: Path, code: str, expected: list[str]) -> None:
    assert _writes(tmp_path, code) == [(FOREIGN, target) for target in expected]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        pytest.param("state.seen[1] = 2", ["state.seen"], id="an entry"),
        pytest.param("state.seen[1] += 2", ["state.seen"], id="an augmented entry"),
        pytest.param("state.seen[1][2] = 3", ["state.seen"], id="an entry of an entry"),
        pytest.param("del state.seen[1]", ["state.seen"], id="a deleted entry"),
        pytest.param("state.seen.append(1)", ["state.seen"], id="a method that changes it"),
        pytest.param("x = state.seen.pop()", ["state.seen"], id="a method that changes it and returns"),
        pytest.param("x = state.seen.get(1), state.seen[1]", [], id="what only reads"),
        pytest.param("x = state.seen\n    x[1] = 2", ["state.seen"], id="through a variable"),
        pytest.param("x, y = state.seen, 1\n    del x[1]", ["state.seen"], id="through one that is unpacked"),
        pytest.param("x = state.seen\n    x = []\n    x[1] = 2", [], id="a variable of several values"),
        pytest.param("state.elsewhere.append(1)", [], id="a name that the model hasn't got"),
        pytest.param("owner.states.pop(1)", ["owner.states"], id="of a model object's mapping"),
        pytest.param("owner.book.add(1)", [], id="a method of the package's own class"),
        pytest.param("owner.book.update({})", ["owner.book"], id="a method that such a class inherits"),
        pytest.param("new = NEW(State)\n    new.seen[1] = 2", [], id="made without its constructor"),
    ],
)
def test_changes_to_what_model_objects_hold(tmp_path: Path, line: str, expected: list[str]) -> None:
    code = f"def f(state: State, owner: Owner):\n    {line}"
    assert _writes(tmp_path, code) == [(HELD, target) for target in expected]


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        pytest.param(
            "class Door(State):\n    def f(self):\n        self.count = 1", ["self.count"], id="a base's attribute"
        ),
        pytest.param("class Door(State):\n    def f(self):\n        self.own = 1", [], id="an attribute of its own"),
        pytest.param(
            "class Near(State): ...\nclass Door(Near):\n    def f(self):\n        self.count = 1",
            ["self.count"],
            id="through two bases",
        ),
    ],
)
def test_writes_on_what_self_inherits(tmp_path: Path, code: str, expected: list[str]) -> None:
    assert _writes(tmp_path, code) == [(INHERITED, target) for target in expected]


def _writes(folder: Path, code: str) -> list[tuple[str, str]]:
    root = folder / "package"
    for name, text in {"model/state.py": MODEL, "endpoint/door.py": IMPORTS + code}.items():
        path = root / "engine" / name
        path.parent.mkdir(parents=True)
        path.write_text(text, encoding="utf-8")
    return [(each.figure, each.target) for each in writes(root, "engine")]


@pytest.mark.parametrize(
    ("code", "uses"),
    [
        pytest.param("from typing import Any", 0, id="an import"),
        pytest.param("def f(x: Any) -> Any: ...", 2, id="a parameter and a result"),
        pytest.param("x: dict[str, Any] = {}", 1, id="an argument of a generic"),
        pytest.param("x: 'dict[Any, Any]' = {}", 2, id="a quoted annotation"),
        pytest.param("x = cast('Any', y)", 1, id="a quoted cast"),
        pytest.param("x = cast(Any, y)", 1, id="a cast"),
        pytest.param("x: Literal['Any'] = 'Any'", 0, id="a Literal"),
        pytest.param("x = 'Any'", 0, id="a text"),
        pytest.param("Alias = Callable[[Any], None]", 1, id="an alias"),
        pytest.param("class A(B[Any], C['Any']): ...", 2, id="bases"),
        pytest.param("x: typing.Any", 1, id="through its module"),
        pytest.param("'''Any'''  # Any", 0, id="docstring and comment"),
    ],
)
def test_uses_of_any(code: str, uses: int) -> None:
    assert len(list(lines_with_any(ast.parse(code)))) == uses
