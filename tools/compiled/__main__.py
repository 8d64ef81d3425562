"""`python -m tools.compiled [--sanitize] [FOLDER] [-- ARGUMENTS]`: pytest with the module in C, built into FOLDER.

FOLDER is build/compiled where none is named. With --sanitize the module is built for the address sanitizer and the one
for undefined behaviour, which then watch it. Without ARGUMENTS it is built only.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tomllib
from pathlib import Path

from . import ROOT, SANITIZED, STRICT, NotBuilt, package_with


def main() -> int:
    """Build and test; return pytest's status."""
    parser = argparse.ArgumentParser(prog="python -m tools.compiled", description="Tests with the module in C.")
    parser.add_argument("--sanitize", action="store_true", help="build it for the address sanitizer")
    parser.add_argument("folder", nargs="?", type=Path, default=ROOT / "build" / "compiled")
    own, arguments = sys.argv[1:], list[str]()
    if "--" in own:
        own, arguments = own[: own.index("--")], own[own.index("--") + 1 :]
    options = parser.parse_args(own)
    try:
        folder = package_with(options.folder.resolve(), SANITIZED if options.sanitize else STRICT).parent
    except NotBuilt as error:
        print(f"compiled: {error}", file=sys.stderr)
        return 1
    if not arguments:
        print(f"built in {folder}; PYTHONPATH={folder} chooses it")
        return 0
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    path = [str(folder), *project["tool"]["pytest"]["ini_options"]["pythonpath"]]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(folder), os.environ.get("PYTHONPATH", "")])}
    environment.pop("AMQP_SANSIO_PURE", None)
    if options.sanitize:
        environment |= watched()
    command = [sys.executable, "-m", "pytest", "-o", f"pythonpath={' '.join(path)}", "-p", "tools.compiled.required"]
    return subprocess.run([*command, *arguments], cwd=ROOT, env=environment, check=False).returncode


def watched() -> dict[str, str]:
    """The environment of a Python that loads the sanitizers before all else: it isn't built for them itself."""
    libraries = [
        subprocess.run(["gcc", f"-print-file-name={name}"], capture_output=True, text=True, check=True).stdout.strip()
        for name in ("libasan.so", "libubsan.so")
    ]
    # Memory that the interpreter never frees is no leak of the module; the leak test counts those.
    return {
        "LD_PRELOAD": " ".join(libraries),
        "ASAN_OPTIONS": "detect_leaks=0",
        "UBSAN_OPTIONS": "halt_on_error=1:print_stacktrace=1",
        "PYTHONMALLOC": "malloc",
    }


if __name__ == "__main__":
    sys.exit(main())
