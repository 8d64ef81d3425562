"""What the generator knows of a specification: what its XML says, and the facts that no XML has."""

from __future__ import annotations

import hashlib
import keyword
import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass, field, replace
from pathlib import Path

SOURCES = {
    "0-8": "amqp0-8.xml",
    "0-8-qpid": "stripped/0-8-qpid/amqp0-8-qpid.stripped.xml",
    "0-9-1": "amqp0-9-1.xml",
    "0-9-1-rabbit": "amqp0-9-1.extended.xml",
    "0-9-1-qpid": "stripped/0-9-1-qpid/amqp0-9-1.stripped.xml",
}
"""The XML of each dialect, relative to the folder of specifications."""


@dataclass(frozen=True)
class Field:
    """An argument or property: name in Python, "" when it's reserved, and elementary wire type."""

    name: str
    type: str


@dataclass(frozen=True)
class Method:
    """One method of one dialect. `sides` may send it; `replies` are names of methods."""

    name: str
    class_id: int
    method_id: int
    fields: tuple[Field, ...]
    sides: frozenset[str]
    replies: tuple[str, ...] = ()
    synchronous: bool = False
    content: bool = False

    @property
    def id(self) -> int:
        return self.class_id << 16 | self.method_id

    @property
    def python_name(self) -> str:
        return "".join([part.capitalize() for part in self.name.replace(".", "-").split("-")])

    @property
    def types(self) -> tuple[str, ...]:
        return tuple([item.type for item in self.fields])


@dataclass
class Spec:
    """The methods by name, the properties by class, and the reply codes of one dialect."""

    methods: dict[str, Method] = field(default_factory=dict[str, Method])
    properties: dict[str, tuple[int, tuple[Field, ...]]] = field(
        default_factory=dict[str, tuple[int, tuple[Field, ...]]]
    )
    codes: dict[int, tuple[str, bool]] = field(default_factory=dict[int, tuple[str, bool]])


def python_name(name: str) -> str:
    """A field's name in Python: `no local` and `no-local` become `no_local`, and nowait no_wait."""
    name = name.replace(" ", "_").replace("-", "_")
    if name == "nowait":
        return "no_wait"
    return name + "_" if keyword.iskeyword(name) else name


def digest(path: Path) -> str:
    """The sha256 of a file, in hex."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def read(path: Path) -> Spec:
    """Read one XML file."""
    root = ElementTree.parse(path).getroot()
    domains = {d.attrib["name"]: d.attrib["type"] for d in root.iter("domain")}
    # One file names a domain with a space where it defines it with a hyphen.
    domains |= {name.replace("-", " "): kind for name, kind in list(domains.items())}

    def fields_of(node: ElementTree.Element) -> tuple[Field, ...]:
        found: list[Field] = []
        for item in node.findall("field"):
            kind = item.get("type") or domains[item.attrib["domain"]]
            reserved = item.get("reserved") == "1" or item.attrib["name"] == "reserved"
            found.append(Field("" if reserved else python_name(item.attrib["name"]), kind))
        return tuple(found)

    spec = Spec()
    for node in root.iter("constant"):
        group = node.get("class")
        if group is not None:
            name = node.attrib["name"].replace(" ", "-")
            spec.codes[int(node.attrib["value"])] = (name, group.startswith("hard"))
    for part in root.iter("class"):
        prefix = part.attrib["name"]
        number = int(part.attrib["index"])
        spec.properties[prefix] = (number, fields_of(part))
        for node in part.findall("method"):
            method = Method(
                name=f"{prefix}.{node.attrib['name']}",
                class_id=number,
                method_id=int(node.attrib["index"]),
                fields=fields_of(node),
                # A chassis names the side that must take the method in.
                sides=frozenset(
                    {
                        "client" if item.attrib["name"] == "server" else "server"
                        for item in node.findall("chassis")
                    }
                ),
                replies=tuple(
                    [f"{prefix}.{item.attrib['name']}" for item in node.findall("response")]
                ),
                synchronous=node.get("synchronous") == "1",
                content=node.get("content") == "1",
            )
            spec.methods[method.name] = method
    return spec


CLIENT = frozenset({"client"})
SERVER = frozenset({"server"})

CREDIT = (
    Method(
        "basic.credit", 60, 200,
        (Field("consumer_tag", "shortstr"), Field("credit", "long"), Field("drain", "bit")),
        CLIENT, ("basic.credit-ok",), True,
    ),
    Method("basic.credit-ok", 60, 201, (Field("available", "long"),), SERVER, (), True),
    Method(
        "basic.credit-drained", 60, 202,
        (Field("consumer_tag", "shortstr"), Field("credit_drained", "long")),
        SERVER,
    ),
)  # fmt: skip
"""In no XML, but in RabbitMQ's codec of 0-9-1."""

RECOVER_SYNC = (
    Method(
        "basic.recover-sync", 60, 110, (Field("requeue", "bit"),), CLIENT,
        ("basic.recover-sync-ok",), True,
    ),
    Method("basic.recover-sync-ok", 60, 111, (), SERVER, (), True),
)  # fmt: skip
"""In no XML of 0-8, but in RabbitMQ's codec of 0-8; the names are Qpid's for 0-9-1."""


def named(method: Method, names: dict[int, str]) -> Method:
    """The method with names for some of its reserved fields, by their position."""
    fields = [
        replace(item, name=names.get(place, item.name)) for place, item in enumerate(method.fields)
    ]
    return replace(method, fields=tuple(fields))


def load(specs: Path) -> dict[str, Spec]:
    """Every dialect's whole set of methods, with the facts that no XML has."""
    found = {dialect: read(specs / name) for dialect, name in SOURCES.items()}
    standard_0_8, qpid_0_8 = found["0-8"], found["0-8-qpid"]
    standard, rabbit, qpid = found["0-9-1"], found["0-9-1-rabbit"], found["0-9-1-qpid"]

    # Qpid's file only renames what it shares with the standard, and lacks what Broker-J has of RabbitMQ's extensions.
    added = {name: qpid.methods[name] for name in ("exchange.bound", "exchange.bound-ok")}
    for name in ("confirm.select", "confirm.select-ok", "basic.ack", "basic.nack"):
        added[name] = rabbit.methods[name]
    found["0-9-1-qpid"] = Spec({**standard.methods, **added}, standard.properties, standard.codes)
    qpid_0_8.methods["exchange.bound"] = replace(
        qpid_0_8.methods["exchange.bound"], replies=("exchange.bound-ok",)
    )
    # Its basic.consume ends with a table; the record of 0-8 has it as an optional one.
    consume = standard_0_8.methods["basic.consume"]
    with_table = replace(
        consume, fields=(*consume.fields, Field("arguments", "optional-table"))
    )
    for spec in (standard_0_8, qpid_0_8):
        spec.methods["basic.consume"] = with_table

    # The answer to recover isn't declared as its response.
    for spec in (standard, rabbit, found["0-9-1-qpid"]):
        recover = spec.methods["basic.recover"]
        spec.methods["basic.recover"] = replace(
            recover, replies=("basic.recover-ok",), synchronous=True
        )

    # Its chassis entries are the wrong way round: the client renews its secret.
    for name, sides in (
        ("connection.update-secret", CLIENT), ("connection.update-secret-ok", SERVER),
    ):  # fmt: skip
        rabbit.methods[name] = replace(rabbit.methods[name], sides=sides)

    # The grammar of 0-8 has tunnel.request in both directions, its chassis entries in one.
    for spec in (standard_0_8, qpid_0_8):
        if "tunnel.request" in spec.methods:
            request = spec.methods["tunnel.request"]
            spec.methods["tunnel.request"] = replace(request, sides=CLIENT | SERVER)

    for name in ("access.request", "access.request-ok"):
        rabbit.methods[name] = standard_0_8.methods[name]
    for method in CREDIT:
        rabbit.methods[method.name] = method

    rabbit_0_8 = Spec(
        dict(standard_0_8.methods), standard_0_8.properties, dict(standard_0_8.codes)
    )
    for name in ("queue.unbind", "queue.unbind-ok"):
        rabbit_0_8.methods[name] = named(standard.methods[name], {0: "ticket"})
    for method in RECOVER_SYNC:
        rabbit_0_8.methods[method.name] = method
    # RabbitMQ has one list of codes for both versions; 0-8 adds not-delivered.
    rabbit_0_8.codes = {310: standard_0_8.codes[310], **rabbit.codes}
    found["0-8-rabbit"] = rabbit_0_8
    return found
