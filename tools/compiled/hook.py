"""Hatchling's build hook: with AMQP_SANSIO_COMPILE=1 a wheel has the module in C, and is for this system and Python.

Without the variable, for an sdist, and where it can't be compiled, nothing changes: the wheel is for every system.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class CompiledHook(BuildHookInterface[Any]):
    """Adds the module to a wheel."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile it, if this is a wheel that wants it; `version` is "editable" for an editable install."""
        if self.target_name != "wheel" or version != "standard" or os.environ.get("AMQP_SANSIO_COMPILE") != "1":
            return
        sys.path.insert(0, self.root)
        from tools.compiled import STRICT, NotBuilt, build

        # Another compiler may warn of more; that is a matter of this project's tests.
        flags = [flag for flag in STRICT if flag != "-Werror"]
        try:
            built = build(Path(self.root) / "build" / "compiled-module", flags)
        except NotBuilt as error:
            self.app.display_warning(f"amqp_sansio is pure in this wheel: {error}")
            return
        build_data["pure_python"] = False
        build_data["infer_tag"] = True
        build_data["force_include"][str(built)] = f"amqp_sansio/{built.name}"
