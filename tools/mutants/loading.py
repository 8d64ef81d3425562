"""Imports a changed module in place of the one on the disk, which stays as it is."""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.util import spec_from_file_location
from pathlib import Path
from types import CodeType, ModuleType

from tools.mutants.mutations import REACHED


class Changed(SourceFileLoader):
    """Runs a tree as a module. No compiled file is read or written."""

    def __init__(self, name: str, path: Path, tree: ast.Module, reached: Callable[[str], object]) -> None:
        super().__init__(name, str(path))
        self._tree = tree
        self._reached = reached

    def get_code(self, fullname: str) -> CodeType:
        return compile(self._tree, self.path, "exec", dont_inherit=True)

    def exec_module(self, module: ModuleType) -> None:
        setattr(module, REACHED, self._reached)
        super().exec_module(module)


class Finder(MetaPathFinder):
    """Finds the changed modules, by name, before anything else does."""

    def __init__(self, trees: Mapping[str, tuple[Path, ast.Module]], reached: Callable[[str], object]) -> None:
        self._trees = trees
        self._reached = reached

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname not in self._trees:
            return None
        file, tree = self._trees[fullname]
        return spec_from_file_location(fullname, file, loader=Changed(fullname, file, tree, self._reached))

    def install(self) -> None:
        """Find modules from here on; RuntimeError if one of them has been imported before."""
        early = [name for name in self._trees if name in sys.modules]
        if early:
            raise RuntimeError(f"already imported: {', '.join(early)}")
        sys.meta_path.insert(0, self)


__all__ = ["Changed", "Finder"]
