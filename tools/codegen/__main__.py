"""`python -m tools.codegen` writes the generated modules; `--check` compares them instead."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from . import classic, composites, zero_ten

ROOT = Path(__file__).resolve().parents[2]
TARGETS = (classic.generate, composites.generate, zero_ten.generate)


def main(arguments: list[str] | None = None) -> int:
    """Write or compare; the exit status is 1 when a file on disk isn't what would be written."""
    parser = argparse.ArgumentParser(prog="python -m tools.codegen", description=__doc__)
    parser.add_argument("--check", action="store_true", help="compare, write nothing")
    parser.add_argument(
        "--specs",
        type=Path,
        default=Path(os.environ.get("AMQP_SANSIO_SPECS", ROOT.parent / "shared" / "specs")),
        help="folder with the XML of the specifications (or AMQP_SANSIO_SPECS)",
    )
    options = parser.parse_args(arguments)
    specs: Path = options.specs
    if not specs.is_dir():
        print(f"codegen: the specifications aren't there: {specs}; nothing done", file=sys.stderr)
        return 0 if options.check else 2
    stale: list[str] = []
    for generate in TARGETS:
        for name, text in generate(specs).items():
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
