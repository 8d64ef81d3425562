"""The text of a generated module, and the layout of its lines."""

from __future__ import annotations

from collections.abc import Iterable
from textwrap import wrap

WIDTH = 100


class Module:
    """Collects lines, and the names that they define and need; `package` leads to `_classic`."""

    def __init__(self, docstring: str, package: str) -> None:
        self._docstring = docstring
        self._package = package
        self._imports: dict[str, set[str]] = {}
        self._typing: set[str] = set()
        self._helpers: dict[str, str] = {}
        self.need_from(f"..{package}_checking", "TYPE_CHECKING")
        self._has_tables = False
        self._scans: tuple[str, ...] = ()
        self.lines: list[str] = []
        self.public: list[str] = []

    def block(self, indent: int, lines: Iterable[str]) -> None:
        """Append lines, indented."""
        self.lines += [" " * indent + line if line else "" for line in lines]

    def need(self, module: str, *names: str) -> None:
        """Import names from a module of `_classic`."""
        self._imports.setdefault(self._package + module, set()).update(names)

    def need_from(self, module: str, *names: str) -> None:
        """Import names from any module."""
        self._imports.setdefault(module, set()).update(names)

    def typing(self, *names: str) -> None:
        """Import names from typing."""
        self._typing.update(names)

    def tables(self) -> None:
        """Define the alias for the type of table arguments."""
        self._has_tables = True

    def scans(self, *names: str) -> None:
        """Import functions of the module in C, where it is built."""
        self._scans = names
        self.need_from(f"..{self._package}_compiled", "COMPILED")

    def new(self) -> str:
        """Return the name of the bare constructor."""
        return self._helper("_new", "object.__new__")

    def packer(self, form: str) -> str:
        """Return the name of the packer of a format."""
        return self._helper(f"_pack_{form}", f'Struct(">{form}").pack')

    def reader(self, form: str) -> str:
        """Return the name of the unpacker of a format."""
        return self._helper(f"_read_{form}", f'Struct(">{form}").unpack_from')

    def table(self) -> str:
        """Return the name of the function that makes a table of octets."""
        self.need("table", "Table")
        return self._helper("_table", "Table.from_wire")

    def _helper(self, name: str, value: str) -> str:
        self.typing("Final")
        self._helpers[name] = value
        return name

    def text(self) -> str:
        """Return the whole module."""
        out = [f'"""{self._docstring}"""', "", "# Generated; edit the generator (tools/codegen)."]
        out += ["", "from __future__ import annotations", ""]
        if any(value.startswith("Struct") for value in self._helpers.values()):
            out.append("from struct import Struct")
            out.append("")
        for module in sorted(self._imports, key=module_order):
            found = self._imports[module]
            plain = [name for name in found if " as " not in name]
            if plain:
                out += imported(module, plain)
            out += [f"from {module} import {name}" for name in sorted(found) if " as " in name]
        if self._scans:
            out += ["", "if TYPE_CHECKING or COMPILED:"]
            out.append(f"    from ..{self._package}_compiled import {', '.join(self._scans)}")
        out += ["", "if TYPE_CHECKING:"]
        typing = f"    from typing import {', '.join(sorted(self._typing, key=import_order))}"
        if self._has_tables:
            out += ["    from collections.abc import Mapping", typing, ""]
            out.append(f"    from {self._package}table import FieldValue, TableRules")
            out += ["", "    FieldTable = Mapping[str, FieldValue]"]
        else:
            out += [typing, "", f"    from {self._package}table import TableRules"]
        if self._helpers:
            out.append("")
            out += [f"{name}: Final = {value}" for name, value in sorted(self._helpers.items())]
        out += [*self.lines, "", "", "__all__ = ["]
        out += [f'    "{name}",' for name in sorted(self.public, key=import_order)]
        return "\n".join([*out, "]", ""])


def import_order(name: str) -> tuple[int, str]:
    """The order of names: constants, classes, functions."""
    return (0 if name.isupper() else 1 if name[0].isupper() else 2), name


def module_order(module: str) -> tuple[int, str]:
    """The order of relative imports: the farthest first."""
    return len(module.lstrip(".")) - len(module), module


def imported(module: str, names: Iterable[str]) -> list[str]:
    """Return an import statement within the width."""
    names = sorted(names, key=import_order)
    line = f"from {module} import {', '.join(names)}"
    if len(line) <= WIDTH:
        return [line]
    return [f"from {module} import (", *[f"    {name}," for name in names], ")"]


def assign(name: str, items: list[str]) -> list[str]:
    """Return a tuple as an attribute of a class, within the width; the lines aren't indented."""
    line = f"{name} = ({', '.join(items)}{',' if len(items) == 1 else ''})"
    if len(line) + 4 <= WIDTH:
        return [line]
    return [f"{name} = (", *[f"    {item}," for item in items], ")"]


def call(text: str, indent: int, prefix: str = "") -> list[str]:
    """Return a function call, with one argument to a line if it is too long; the lines aren't indented."""
    if len(text) + len(prefix) + indent <= WIDTH:
        return [prefix + text]
    name, _, rest = text.partition("(")
    return [f"{prefix}{name}(", *[f"    {item}," for item in rest[:-1].split(", ")], ")"]


def quoted(names: Iterable[str]) -> list[str]:
    """Return the names as string literals."""
    return [f'"{name}"' for name in names]


def docstring(first: str, told: list[str]) -> list[str]:
    """Return a docstring for a class: a sentence, then descriptions of its fields."""
    words = wrap(first, WIDTH - 8, break_long_words=False)
    if told:
        words += ["", *wrap("; ".join(told) + ".", WIDTH - 8, break_long_words=False)]
    if len(words) == 1 and len(words[0]) + 10 <= WIDTH:
        return [f'"""{words[0]}"""']
    return [f'"""{words[0]}', *words[1:], '"""']
