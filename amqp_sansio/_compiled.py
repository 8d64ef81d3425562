"""COMPILED: whether the optional module in C (`_speedups.c`) is built and wanted; everything runs without it.

Its functions are here only where it is built. Who calls one imports it under `if TYPE_CHECKING or COMPILED`, and has
the pure text beside the call.
"""

from __future__ import annotations

__all__ = ["COMPILED"]

try:
    from ._speedups import maker as maker  # pyright: ignore[reportMissingModuleSource]
    from ._speedups import scan_content as scan_content  # pyright: ignore[reportMissingModuleSource]
    from ._speedups import scan_frames as scan_frames  # pyright: ignore[reportMissingModuleSource]
    from ._speedups import scan_list as scan_list  # pyright: ignore[reportMissingModuleSource]
    from ._speedups import scan_map as scan_map  # pyright: ignore[reportMissingModuleSource]
    from ._speedups import scan_properties as scan_properties  # pyright: ignore[reportMissingModuleSource]
    from ._speedups import scan_rows as scan_rows  # pyright: ignore[reportMissingModuleSource]
    from ._speedups import scan_table as scan_table  # pyright: ignore[reportMissingModuleSource]
except ImportError:
    # It isn't built, as in a clone and in the wheel for every system: the pure text runs.
    _wanted = False
else:
    # The one look at the environment in the core: once for each process, and only where the module is there.
    import os

    _wanted = os.environ.get("AMQP_SANSIO_PURE", "") != "1"

COMPILED: bool = _wanted
"""Whether functions in C stand in for the pure text of the same steps. `AMQP_SANSIO_PURE=1`, set before the package is
imported, chooses the pure text. Nothing but the time depends on it."""
