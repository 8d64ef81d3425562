"""The optional module in C: how it is compiled, and the tests that run with it."""

from __future__ import annotations

import shlex
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Sequence
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]
SOURCE: Final = ROOT / "amqp_sansio" / "_speedups.c"
STRICT: Final = ("-std=c11", "-Wall", "-Wextra", "-Werror", "-O3")
SANITIZED: Final = (*STRICT[:-1], "-O1", "-g", "-fno-omit-frame-pointer", "-fsanitize=address,undefined")


class NotBuilt(Exception):
    """The module can't be built here; its text says why. Everything runs without it."""


def build(folder: Path, flags: Sequence[str] = STRICT, source: Path = SOURCE) -> Path:
    """Compile the module into a folder, with the compiler that this Python was built with; return its file.

    Raises NotBuilt.
    """
    if sys.implementation.name != "cpython":
        raise NotBuilt(f"{sys.implementation.name} compiles the pure text itself; the module is for CPython")
    linker, shared, suffix = sysconfig.get_config_vars("LDSHARED", "CCSHARED", "EXT_SUFFIX")
    if not linker or not suffix:
        raise NotBuilt(f"Python on {sys.platform} doesn't say how its modules are linked")
    header = Path(sysconfig.get_path("include")) / "Python.h"
    if not header.is_file():
        raise NotBuilt(f"{header} isn't there; on Debian: apt-get install python3-dev")
    folder.mkdir(parents=True, exist_ok=True)
    target = folder / f"_speedups{suffix}"
    includes = [f"-I{path}" for path in {sysconfig.get_path("include"), sysconfig.get_path("platinclude")}]
    linked = shlex.split(str(linker))
    command = [*linked, "-DNDEBUG", *shlex.split(str(shared or "")), *includes, *flags, str(source), "-o", str(target)]
    if shutil.which(linked[0]) is None:
        raise NotBuilt(f"the compiler {linked[0]} isn't there; on Debian: apt-get install gcc")
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise NotBuilt(f"{shlex.join(command)} ended with {done.returncode}:\n{done.stderr}")
    return target


def package_with(folder: Path, flags: Sequence[str] = STRICT) -> Path:
    """A copy of the package with the module in it, in `folder`, which stands before the source tree on a path: a module
    in the source tree would be found by every other run."""
    package = folder / "amqp_sansio"
    shutil.rmtree(package, ignore_errors=True)
    shutil.copytree(ROOT / "amqp_sansio", package, ignore=shutil.ignore_patterns("__pycache__", "*.c"))
    build(package, flags)
    return package
