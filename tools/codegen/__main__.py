"""`python -m tools.codegen` writes the generated modules; `--check` compares them instead."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from types import ModuleType

from tools.trees import module_name

from . import (
    amqp_0_10,
    blocking,
    classic,
    composites,
    field_writers,
    initializers,
    layouts,
    restrictions,
    tellers,
    whole_lines,
)

ROOT = Path(__file__).resolve().parents[2]
TARGETS = (
    classic.generate,
    composites.generate,
    restrictions.generate,
    amqp_0_10.generate,
    blocking.generate,
    whole_lines.generate,
    tellers.generate,
    field_writers.generate,
    # Last, since they import the package, with what the others have written.
    initializers.generate,
    layouts.generate,
)


def stand_in() -> None:
    """Keep this process from reading the generated files that the package imports, and that are made of the package:
    they may be stale, damaged or missing. Without them its records make their `__init__` themselves."""
    if "amqp_sansio" in sys.modules:
        # Whoever imported the package has read them.
        return
    stands: dict[str, dict[str, object]] = {
        initializers.TARGET: {"INITIALIZERS": {}},
        whole_lines.TARGET: {"LINES": {}},
        layouts.TARGET: dict.fromkeys(layouts.ROOMS, 0),
    }
    for target, contents in stands.items():
        name = module_name(ROOT / target, ROOT)
        module = ModuleType(name)
        vars(module).update(contents)
        sys.modules[name] = module


def main(arguments: list[str] | None = None) -> int:
    """Write or compare; the exit status is 1 if a file on disk differs from the generated one."""
    parser = argparse.ArgumentParser(prog="python -m tools.codegen", description=__doc__)
    parser.add_argument("--check", action="store_true", help="compare, write nothing")
    options = parser.parse_args(arguments)
    stand_in()
    stale: list[str] = []
    for generate in TARGETS:
        for name, text in generate().items():
            path = ROOT / name
            if options.check:
                if not path.exists() or path.read_text(encoding="utf-8") != text:
                    stale.append(name)
            else:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, encoding="utf-8")
                print(name)
    for name in stale:
        print(f"codegen: {name} is stale; run python -m tools.codegen", file=sys.stderr)
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
