"""The tables of recorded AMQP traffic for DuckDB, Polars, pandas and everything else that reads Arrow or Parquet.

Needs the extra: `pip install amqp-sansio[arrow]`. `files` and `clocks`, which find captures and correct their times,
need nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .builders import arrow_schema
    from .readers import Tables, tables
    from .writing import write

_PLACES = {"Tables": "readers", "arrow_schema": "builders", "tables": "readers", "write": "writing"}


def __getattr__(name: str) -> object:
    place = _PLACES.get(name)
    if place is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        return getattr(import_module(f".{place}", __name__), name)
    except ModuleNotFoundError as error:
        if error.name != "pyarrow":
            raise
        raise ModuleNotFoundError(
            f"{__name__}.{name} needs pyarrow: pip install 'amqp-sansio[arrow]'", name="pyarrow"
        ) from None


__all__ = ["Tables", "arrow_schema", "tables", "write"]
