"""The version of Spark that these packages need, checked when they are imported."""

from __future__ import annotations

import sys
from importlib.machinery import PathFinder
from importlib.util import find_spec, module_from_spec
from typing import Any, Final

LEAST: Final = (4, 1)
STREAMS: Final = (4, 2)
"""The first version whose streams a reader in Python can bound."""


def check_spark(least: tuple[int, int] = LEAST, what: str = "amqp_sansio_spark") -> None:
    """Raise ImportError, in one line, if the installed pyspark is too old for something.

    Spark isn't imported for it, and needn't be there: readers of files and the command's local engine do without.
    """
    found = installed()
    if found is not None and _numbers(found) < least:
        wanted = ".".join(map(str, least))
        raise ImportError(
            f"{what} needs pyspark {wanted} or newer, and {found} is installed: pip install 'pyspark[sql]>={wanted},<5'"
        )


def installed() -> str | None:
    """Return the version of pyspark, imported or not; None if it isn't there."""
    module: Any = sys.modules.get("pyspark.version")
    if module is None:
        package = find_spec("pyspark")
        spec = None if package is None else PathFinder.find_spec("pyspark.version", package.submodule_search_locations)
        if spec is None or spec.loader is None:
            return None
        module = module_from_spec(spec)
        spec.loader.exec_module(module)
    return str(module.__version__)


def _numbers(version: str) -> tuple[int, ...]:
    return tuple([int(part) for part in version.split(".")[:2] if part.isdecimal()])


__all__ = ["LEAST", "STREAMS", "check_spark", "installed"]
