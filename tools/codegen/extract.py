"""`python -m tools.codegen.extract` writes the facts that the generator reads, from the XML of the specifications.

`--check` compares them instead. The facts are names, numbers, types and flags, one record to a line; they are
committed, so that the generator runs without the XML.
"""

from __future__ import annotations

import argparse
import os
import sys
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, Final

from .facts import FACTS, to_text

ROOT: Final = Path(__file__).resolve().parents[2]
Row = dict[str, Any]

_NS: Final = "{http://www.amqp.org/schema/amqp.xsd}"
_BOTH: Final = ["client", "server"]


def classic_rows(root: ElementTree.Element) -> Iterator[Row]:
    """Yield the reply codes, classes and methods of a 0-8 or 0-9-1 dialect."""
    domains = {d.attrib["name"]: d.attrib["type"] for d in root.iter("domain")}
    # One file names a domain with a space where it defines it with a hyphen.
    domains |= {name.replace("-", " "): kind for name, kind in list(domains.items())}

    def fields_of(node: ElementTree.Element) -> list[list[str]]:
        found: list[list[str]] = []
        for item in node.findall("field"):
            name = item.attrib["name"]
            kind = item.get("type") or domains[item.attrib["domain"]]
            reserved = item.get("reserved") == "1" or name == "reserved"
            found.append(["" if reserved else name.replace(" ", "-"), kind])
        return found

    for node in root.iter("constant"):
        group = node.get("class")
        if group is not None:
            name = node.attrib["name"].replace(" ", "-")
            yield {"code": int(node.attrib["value"]), "name": name, "hard": group.startswith("hard")}
    for part in root.iter("class"):
        prefix = part.attrib["name"]
        number = int(part.attrib["index"])
        yield {"class": prefix, "id": number, "fields": fields_of(part)}
        for node in part.findall("method"):
            # A chassis names the side that must take the method in.
            takes = [item.attrib["name"] for item in node.findall("chassis")]
            yield {
                "method": f"{prefix}.{node.attrib['name']}",
                "id": [number, int(node.attrib["index"])],
                "sides": sorted({"client" if each == "server" else "server" for each in takes}),
                "replies": [f"{prefix}.{item.attrib['name']}" for item in node.findall("response")],
                "synchronous": node.get("synchronous") == "1",
                "content": node.get("content") == "1",
                "fields": fields_of(node),
            }


def amqp_0_10_rows(root: ElementTree.Element) -> Iterator[Row]:
    """Yield the structs, controls and commands of 0-10."""
    domains = {each.get("name", ""): each.get("type", "") for each in root if each.tag == f"{_NS}domain"}
    structs: set[str] = set()
    for group in root.iter(f"{_NS}class"):
        for each in group:
            if each.tag == f"{_NS}domain":
                domains[f"{group.get('name')}.{each.get('name')}"] = each.get("type", "")
            elif each.tag == f"{_NS}struct":
                structs.add(f"{group.get('name')}.{each.get('name')}")
    for group in root.iter(f"{_NS}class"):
        owner = group.get("name", "")
        number = int(group.get("code", "0"), 16)
        resolve = _Resolver(owner, domains, structs)
        for each in group:
            kind = each.tag.removeprefix(_NS)
            if kind == "struct":
                yield _struct(each, owner, number, resolve)
            elif kind in ("control", "command"):
                yield from _message(each, kind, owner, number, resolve)


class _Resolver:
    """Follows domains to a type of the wire, or to a struct's name."""

    def __init__(self, owner: str, domains: dict[str, str], structs: set[str]) -> None:
        self.owner = owner
        self.domains = domains
        self.structs = structs

    def __call__(self, name: str) -> str:
        owner = self.owner
        while True:
            full = name if "." in name else f"{owner}.{name}"
            if full in self.structs:
                return f"struct:{full}"
            if full == "session.command-fragments":
                # An array of structs without a code, which can't be written (nobody sends any).
                return "fragments"
            if full in self.domains:
                owner, name = full.partition(".")[0], self.domains[full]
            elif name in self.domains:
                name = self.domains[name]
            else:
                return name


def _fields(element: ElementTree.Element, resolve: _Resolver) -> list[list[Any]]:
    return [
        [each.get("name") or "", resolve(each.get("type", "")), each.get("required") == "true"]
        for each in element
        if each.tag == f"{_NS}field"
    ]


def _struct(element: ElementTree.Element, owner: str, number: int, resolve: _Resolver) -> Row:
    code = element.get("code")
    return {
        "struct": f"{owner}.{element.get('name')}",
        "code": 0 if code is None else number << 8 | int(code, 16),
        "size": int(element.get("size", "0")),
        "pack": int(element.get("pack", "0")),
        "fields": _fields(element, resolve),
    }


def _message(element: ElementTree.Element, kind: str, owner: str, number: int, resolve: _Resolver) -> Iterator[Row]:
    result = ""
    headers: list[str] = []
    body = False
    for each in element:
        tag = each.tag.removeprefix(_NS)
        if tag == "result":
            inner = each.find(f"{_NS}struct")
            if inner is None:
                result = f"{owner}.{each.get('type')}"
            else:
                row = _struct(inner, owner, number, resolve)
                yield row
                result = row["struct"]
        elif tag == "segments":
            headers = [f"{owner}.{entry.get('type')}" for entry in each.iter(f"{_NS}entry")]
            body = each.find(f"{_NS}body") is not None
    responses = [f"{owner}.{each.get('name')}" for each in element if each.tag == f"{_NS}response"]
    yield {
        kind: f"{owner}.{element.get('name')}",
        "code": number << 8 | int(element.get("code", "0"), 16),
        "handlers": _handlers(element),
        "responses": responses,
        "result": result,
        "headers": headers,
        "body": body,
        "fields": _fields(element, resolve),
    }


def _handlers(element: ElementTree.Element) -> list[str]:
    """Return the roles that handle a control or command; a session's sender and receiver can be on either side."""
    roles = {each.get("role", "") for each in element if each.tag == f"{_NS}implement"}
    if not roles or roles & {"sender", "receiver"}:
        return _BOTH
    if not roles <= set(_BOTH):
        raise ValueError(f"{element.get('name')}: nobody has one of the roles {sorted(roles)}")
    return [each for each in _BOTH if each in roles]


def composite_rows(root: ElementTree.Element) -> Iterator[Row]:
    """Yield the composite and the restricted types of one part of 1.0."""
    for element in root.iter():
        kind = element.get("class") if _tag(element) == "type" else None
        if kind not in ("composite", "restricted"):
            continue
        row: Row = {kind: element.attrib["name"], "code": None, "symbol": None}
        for descriptor in element:
            if _tag(descriptor) == "descriptor":
                high, _, low = descriptor.attrib["code"].partition(":")
                row |= {"code": int(high, 16) << 32 | int(low, 16), "symbol": descriptor.attrib["name"]}
        row["provides"] = [word.strip() for word in element.get("provides", "").split(",") if word]
        if kind == "composite":
            row["fields"] = [_item(child) for child in element if _tag(child) == "field"]
        else:
            choices = [child.attrib for child in element if _tag(child) == "choice"]
            row |= {"source": element.attrib["source"], "choices": {each["name"]: each["value"] for each in choices}}
        yield row


def _tag(element: ElementTree.Element) -> str:
    return element.tag.rpartition("}")[2]


def _item(element: ElementTree.Element) -> Row:
    """Return a field, without unset flags and absent attributes."""
    item: Row = {"name": element.attrib["name"], "type": element.attrib["type"]}
    item |= {name: element.attrib[name] for name in ("requires", "default") if name in element.attrib}
    item |= {name: True for name in ("multiple", "mandatory") if element.get(name) == "true"}
    return item


SOURCES: Final[dict[str, tuple[Callable[[ElementTree.Element], Iterable[Row]], tuple[str, ...]]]] = {
    "0-8": (classic_rows, ("amqp0-8.xml",)),
    "0-8-qpid": (classic_rows, ("stripped/0-8-qpid/amqp0-8-qpid.stripped.xml",)),
    "0-9-1": (classic_rows, ("amqp0-9-1.xml",)),
    "0-9-1-rabbit": (classic_rows, ("amqp0-9-1.extended.xml",)),
    "0-9-1-qpid": (classic_rows, ("stripped/0-9-1-qpid/amqp0-9-1.stripped.xml",)),
    # The errata: where they differ from the printed specification (dtx.xid's size and code), real peers follow them.
    "0-10": (amqp_0_10_rows, ("amqp0-10-alt.xml",)),
    "1.0-part-2": (composite_rows, ("amqp1-0-transport.xml",)),
    "1.0-part-3": (composite_rows, ("amqp1-0-messaging.xml",)),
    "1.0-part-4": (composite_rows, ("amqp1-0-transactions.xml",)),
    "1.0-part-5": (composite_rows, ("amqp1-0-security.xml",)),
}
"""The reader and the XML files for each file of facts."""


def extract(specs: Path, name: str) -> str:
    """Return the text of one file of facts."""
    rows_of, sources = SOURCES[name]
    return to_text([row for each in sources for row in rows_of(ElementTree.parse(specs / each).getroot())])


def main(arguments: list[str] | None = None) -> int:
    """Write or compare; the exit status is 1 if the committed facts differ from the XML's."""
    parser = argparse.ArgumentParser(prog="python -m tools.codegen.extract", description=__doc__)
    parser.add_argument("--check", action="store_true", help="compare, write nothing")
    parser.add_argument(
        "--specs",
        type=Path,
        default=Path(os.environ.get("AMQP_SANSIO_SPECS", ROOT.parent / "shared" / "specs")),
        help="folder with the XML of the specifications (or AMQP_SANSIO_SPECS)",
    )
    options = parser.parse_args(arguments)
    specs: Path = options.specs
    if not specs.is_dir():
        print(f"extract: the specifications aren't there: {specs}", file=sys.stderr)
        return 2
    status = 0
    for name in SOURCES:
        text = extract(specs, name)
        path = FACTS / f"{name}.jsonl"
        if not options.check:
            path.write_text(text, encoding="utf-8")
        elif path.read_text(encoding="utf-8") != text:
            print(f"extract: {path.name} differs from the XML", file=sys.stderr)
            status = 1
    return status


if __name__ == "__main__":
    sys.exit(main())
