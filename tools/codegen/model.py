"""The generator's model of 0-8 and 0-9-1: the facts of each dialect, and those that no XML has."""

from __future__ import annotations

import keyword
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from .facts import FACTS, read_rows

DIALECTS = ("0-8", "0-8-qpid", "0-9-1", "0-9-1-rabbit", "0-9-1-qpid")
"""The dialects with facts of their own."""


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
    """Return a field's name in Python: `no-local` becomes `no_local`, and nowait no_wait."""
    name = name.replace("-", "_")
    if name == "nowait":
        return "no_wait"
    return name + "_" if keyword.iskeyword(name) else name


def read(name: str, folder: Path = FACTS) -> Spec:
    """Read the facts of one dialect."""
    spec = Spec()
    for row in read_rows(name, folder):
        if "code" in row:
            spec.codes[row["code"]] = (row["name"], row["hard"])
        elif "class" in row:
            spec.properties[row["class"]] = (row["id"], _fields(row))
        else:
            class_id, method_id = row["id"]
            spec.methods[row["method"]] = Method(
                row["method"],
                class_id,
                method_id,
                _fields(row),
                frozenset(row["sides"]),
                tuple(row["replies"]),
                row["synchronous"],
                row["content"],
            )
    return spec


def _fields(row: dict[str, Any]) -> tuple[Field, ...]:
    return tuple([Field(python_name(name), kind) for name, kind in row["fields"]])


CLIENT = frozenset({"client"})
SERVER = frozenset({"server"})

CREDIT = (
    Method(
        "basic.credit",
        60,
        200,
        (Field("consumer_tag", "shortstr"), Field("credit", "long"), Field("drain", "bit")),
        CLIENT,
        ("basic.credit-ok",),
        True,
    ),
    Method("basic.credit-ok", 60, 201, (Field("available", "long"),), SERVER, (), True),
    Method(
        "basic.credit-drained", 60, 202, (Field("consumer_tag", "shortstr"), Field("credit_drained", "long")), SERVER
    ),
)
"""RabbitMQ's codec of 0-9-1 has it, but no XML."""

RECOVER_SYNC = (
    Method("basic.recover-sync", 60, 110, (Field("requeue", "bit"),), CLIENT, ("basic.recover-sync-ok",), True),
    Method("basic.recover-sync-ok", 60, 111, (), SERVER, (), True),
)
"""RabbitMQ's codec of 0-8 has it, but no XML of 0-8; the names are Qpid's for 0-9-1."""


def named(method: Method, names: dict[int, str]) -> Method:
    """Return the method with names for some of its reserved fields, by position."""
    fields = [replace(item, name=names.get(place, item.name)) for place, item in enumerate(method.fields)]
    return replace(method, fields=tuple(fields))


def load(folder: Path = FACTS) -> dict[str, Spec]:
    """Return every dialect's whole set of methods, with the facts that no XML has."""
    found = {dialect: read(dialect, folder) for dialect in DIALECTS}
    standard_0_8, qpid_0_8 = found["0-8"], found["0-8-qpid"]
    standard, rabbit, qpid = found["0-9-1"], found["0-9-1-rabbit"], found["0-9-1-qpid"]

    # Qpid's file only renames its common parts with the standard, and lacks Broker-J's support of RabbitMQ's
    # extensions.
    added = {name: qpid.methods[name] for name in ("exchange.bound", "exchange.bound-ok")}
    for name in ("confirm.select", "confirm.select-ok", "basic.ack", "basic.nack"):
        added[name] = rabbit.methods[name]
    found["0-9-1-qpid"] = Spec({**standard.methods, **added}, standard.properties, standard.codes)
    qpid_0_8.methods["exchange.bound"] = replace(qpid_0_8.methods["exchange.bound"], replies=("exchange.bound-ok",))
    # Its basic.consume ends with a table; the record of 0-8 has it as an optional one.
    consume = standard_0_8.methods["basic.consume"]
    with_table = replace(consume, fields=(*consume.fields, Field("arguments", "optional-table")))
    for spec in (standard_0_8, qpid_0_8):
        spec.methods["basic.consume"] = with_table

    # The answer to recover isn't declared as its response.
    for spec in (standard, rabbit, found["0-9-1-qpid"]):
        recover = spec.methods["basic.recover"]
        spec.methods["basic.recover"] = replace(recover, replies=("basic.recover-ok",), synchronous=True)

    # Its chassis entries are the wrong way round: the client renews its secret.
    for name, sides in (("connection.update-secret", CLIENT), ("connection.update-secret-ok", SERVER)):
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

    rabbit_0_8 = Spec(dict(standard_0_8.methods), standard_0_8.properties, dict(standard_0_8.codes))
    for name in ("queue.unbind", "queue.unbind-ok"):
        rabbit_0_8.methods[name] = named(standard.methods[name], {0: "ticket"})
    for method in RECOVER_SYNC:
        rabbit_0_8.methods[method.name] = method
    # RabbitMQ has one list of codes for both versions; 0-8 adds not-delivered.
    rabbit_0_8.codes = {310: standard_0_8.codes[310], **rabbit.codes}
    found["0-8-rabbit"] = rabbit_0_8
    for dialect, spec in found.items():
        check(dialect, spec)
    return found


def check(dialect: str, spec: Spec) -> None:
    """Raise ValueError for methods that no peer could tell apart, and for an answer that there isn't."""
    numbers: dict[int, str] = {}
    for name, method in spec.methods.items():
        other = numbers.setdefault(method.id, name)
        if other != name:
            number = f"{method.class_id}/{method.method_id}"
            raise ValueError(f"{dialect}: {other} and {name} have one number, {number}")
        for reply in method.replies:
            if reply not in spec.methods:
                raise ValueError(f"{dialect}: {name} is answered by {reply}, which is no method there")
