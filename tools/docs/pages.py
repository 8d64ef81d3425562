"""The common part of generated pages: writing one, and comparing it with the code."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def run(name: str, page: Callable[[], str], arguments: list[str] | None = None, *, command: str = "") -> int:
    """Write docs/`name`, or with --check compare it; return the exit status."""
    parser = argparse.ArgumentParser(description=f"Writes docs/{name} from the code.")
    parser.add_argument("--check", action="store_true", help="compare instead of writing")
    options = parser.parse_args(arguments)
    path = ROOT / "docs" / name
    text = page()
    if not options.check:
        path.write_text(text, encoding="utf-8")
        return 0
    if path.is_file() and path.read_text(encoding="utf-8") == text:
        return 0
    print(f"{path.relative_to(ROOT)} isn't what the code says; run {_command(command or name)}", file=sys.stderr)
    return 1


def _command(name: str) -> str:
    return f"python -m tools.docs.{name.removesuffix('.md')}"


__all__ = ["ROOT", "run"]
