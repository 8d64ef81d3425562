"""Generates 0-8 and 0-9-1: the shared records once, those of each version, and their dialects."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from .facts import FACTS
from .methods import SIDES, emit_methods, python_class
from .model import Field, Method, Spec, load
from .module import Module, import_order
from .properties import emit_properties

PACKAGE = "amqp_sansio"
SHARED = f"{PACKAGE}/_classic/codec/methods.py"
OLD = f"{PACKAGE}/_classic/codec/methods_0_8.py"
NEW = f"{PACKAGE}/_classic/codec/methods_0_9_1.py"

DIALECTS_0_8 = ("0-8", "0-8-rabbit", "0-8-qpid")
DIALECTS_0_9_1 = ("0-9-1", "0-9-1-rabbit", "0-9-1-qpid")
RULES = {
    "0-8": "SPEC_0_8",
    "0-8-rabbit": "RABBIT_0_8",
    "0-8-qpid": "QPID_0_8",
    "0-9-1": "SPEC_0_9_1",
    "0-9-1-rabbit": "RABBIT",
    "0-9-1-qpid": "QPID",
}


def generate(folder: Path = FACTS) -> dict[str, str]:
    """Return the text of each generated file, by its path from the root of the repository."""
    dialects = load(folder)
    old = union(dialects, DIALECTS_0_8)
    new = union(dialects, DIALECTS_0_9_1)
    shared = {
        name: merged(method, new[name]) for name, method in old.items() if name in new and alike(method, new[name])
    }
    # A record names its answers, so it can only be shared together with them.
    while apart := [name for name, method in shared.items() if not shared.keys() >= set(method.replies)]:
        for name in apart:
            del shared[name]
    properties = dialects["0-8"].properties
    out = Module("Methods and properties that 0-8 and 0-9-1 have alike on the wire.", ".")
    emit_methods(out, shared)
    emit_properties(out, "basic", *properties["basic"])
    files = {SHARED: out.text()}
    for path, version, names, methods, classes in (
        (OLD, "0-8", DIALECTS_0_8, old, ("file", "stream", "tunnel", "test")),
        (NEW, "0-9-1", DIALECTS_0_9_1, new, ()),
    ):
        own = {name: method for name, method in methods.items() if name not in shared}
        out = Module(f"The methods, properties and dialects of AMQP {version}.", ".")
        common = [*[python_class(name) for name in shared], "BasicProperties"]
        out.need("methods", *common)
        out.public += common
        emit_methods(out, own)
        for name in classes:
            emit_properties(out, name, *properties[name])
        emit_dialects(out, {name: dialects[name] for name in names}, {**shared, **own})
        files[path] = out.text()
    return files


def union(dialects: dict[str, Spec], names: tuple[str, ...]) -> dict[str, Method]:
    """Return one version's methods: a field has the first name it has anywhere, and any sender counts."""
    found: dict[str, Method] = {}
    for dialect in names:
        for name, method in dialects[dialect].methods.items():
            known = found.get(name, method)
            found[name] = replace(known, fields=_names(known, method), sides=known.sides | method.sides)
    return found


def alike(old: Method, new: Method) -> bool:
    """Whether a method is the same on the wire in two versions."""
    return old.id == new.id and old.types == new.types


def merged(old: Method, new: Method) -> Method:
    """Return the method of both versions."""
    return replace(
        old,
        fields=_names(old, new),
        sides=old.sides | new.sides,
        replies=tuple(dict.fromkeys(old.replies + new.replies)),
        synchronous=old.synchronous or new.synchronous,
    )


def _names(first: Method, second: Method) -> tuple[Field, ...]:
    pairs = zip(first.fields, second.fields, strict=True)
    return tuple([Field(a.name or b.name, a.type) for a, b in pairs])


def emit_dialects(out: Module, dialects: dict[str, Spec], methods: dict[str, Method]) -> None:
    """Emit the dialects of one version, over the records of its module."""
    version = next(iter(dialects))
    label = "AMQP_" + version.replace("-", "_")
    everywhere = set(methods)
    for spec in dialects.values():
        everywhere &= set(spec.methods)

    def listed(names: set[str], indent: int) -> list[str]:
        ordered = sorted(names, key=lambda name: methods[name].id)
        return [f"{' ' * indent}{python_class(name)}," for name in ordered]

    out.typing("Final")
    out.need("dialect_record", "Dialect")
    out.need("method", "Method")
    out.need("properties", "Properties")
    out.need_from("...versions", label)
    lines = ["", "", "_EVERYWHERE: Final[tuple[type[Method], ...]] = ("]
    lines += [*listed(everywhere, 4), ")"]
    kinds = sorted([name for name in out.public if name.endswith("Properties")])
    lines += ["_PROPERTIES: Final[tuple[type[Properties], ...]] = ("]
    lines += [*[f"    {kind}," for kind in kinds], ")"]
    lines += ["", "", "def dialect_named(name: str) -> Dialect:"]
    lines += [f'    """The dialect of AMQP {version} with that name."""', "    return DIALECTS[name]", ""]
    symbols: list[str] = []
    for name, spec in dialects.items():
        symbol = "SPEC" if name == version else name.rpartition("-")[2].upper()
        symbols.append(symbol)
        out.need("table", f"{RULES[name]} as {RULES[name]}_TABLES")
        lines += ["", f"{symbol}: Final = Dialect(", f'    "{name}",', f"    {label},"]
        extra = set(spec.methods) - everywhere
        if extra:
            lines += ["    (", "        *_EVERYWHERE,", *listed(extra, 8), "    ),"]
        else:
            lines.append("    _EVERYWHERE,")
        lines += ["    _PROPERTIES,", f"    {RULES[name]}_TABLES,", "    {"]
        for code, (text, hard) in sorted(spec.codes.items()):
            lines.append(f'        {code}: ("{text}", {hard}),')
        lines += ["    },", "    {"]
        for item, method in spec.methods.items():
            if method.sides != methods[item].sides:
                sides = SIDES[method.sides]
                out.need("method", sides)
                lines.append(f"        {python_class(item)}.ID: {sides},")
        lines += ["    },", "    {"]
        for item, method in spec.methods.items():
            if method.replies != methods[item].replies:
                texts = " ".join([python_class(reply) + "," for reply in method.replies])
                lines.append(f"        {python_class(item)}.ID: ({texts}),")
        lines += ["    },", "    dialect_named,", ")"]
        lines.append(f'"""The dialect {name}."""')
    lines += ["", "DIALECTS: Final[Mapping[str, Dialect]] = {"]
    lines += [f'    "{name}": {symbol},' for name, symbol in zip(dialects, symbols, strict=True)]
    lines += ["}", f'"""The dialects of AMQP {version}, by name."""']
    out.lines += lines
    out.public += sorted([*symbols, "DIALECTS"], key=import_order)
