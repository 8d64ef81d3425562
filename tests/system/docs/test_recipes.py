"""Each recipe of docs/recipes.md is a test file of its own, and passes as it stands."""

from __future__ import annotations

import re
import sys
from importlib.util import find_spec
from typing import Final

import pytest

from tests.docs.test_pages import DOCS
from tests.kit.rule_runs import ALONE

pytest_plugins = ["pytester"]

SECTION: Final = re.compile(r"^## ([^\n]+)\n\n```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
RECIPES: Final = dict(SECTION.findall((DOCS / "recipes.md").read_text(encoding="utf-8")))
IMPORTED: Final = re.compile(r"^ *(?:import|from) (\w+)", re.MULTILINE)


def test_every_framework_has_its_section() -> None:
    frameworks = "Celery", "kombu", "FastStream", "taskiq", "dramatiq", "aio-pika with FastAPI", "pika in Django"
    assert list(RECIPES) == [*frameworks, "proton (1.0)"]


@pytest.mark.parametrize("name", RECIPES)
def test_a_recipe_passes_as_it_stands(pytester: pytest.Pytester, name: str) -> None:
    code = RECIPES[name]
    assert re.match(r"def test_\w+\(amqp_broker\):\n", code), "the first line is the fixture"
    for module in IMPORTED.findall(code):
        # A module that is loaded may have no spec: kombu's has a class of its own.
        if module not in sys.modules and find_spec(module) is None:
            pytest.skip(f"the recipe needs {module}; the group recipes installs it")
    pytester.makepyfile(code)
    # Frameworks keep state in their modules.
    result = pytester.runpytest_subprocess(*ALONE, timeout=60)
    result.assert_outcomes(passed=1)
