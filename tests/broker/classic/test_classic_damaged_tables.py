"""Damaged tables in what clients of 0-8 and 0-9-1 send: answered with 502, whichever field of whichever method."""

from typing import Any

import pytest

from amqp_sansio import Side
from amqp_sansio._classic.codec.dialect import DIALECTS, get_dialect
from amqp_sansio.broker import Hub, Settings
from tests.kit.hub_classic import World, version_of
from tests.kit.observing import frame, header
from tests.kit.pair_classic import server_config

DAMAGED = {b"\x01xI\0\0\0\x01": b"\x01x\xff\0\0\0\x01", b"\x01xI\0\0\0\x02": b"\x01xA\0\0\0\x09"}
"""A table's entry, by what it is replaced: a tag that there isn't, and an array that goes beyond the table."""

FIELDS = [
    (name, kind, field)
    for name in DIALECTS
    for kind in get_dialect(name).methods.values()
    for field, wire_type in kind.FIELDS
    if "table" in wire_type and Side.CLIENT in get_dialect(name).senders[kind.ID] and kind.NAME != "connection.start-ok"
]
"""All there are on an open connection."""


def _payload(name: str, kind: type[Any], field: str, entry: bytes) -> bytes:
    """A method with a table of one entry."""
    tables = get_dialect(name).tables
    if kind.NAME == "basic.consume" and not tables.consume_arguments and name.startswith("0-8"):
        # The dialect has no such field, and reads it where clients send it all the same.
        tables = get_dialect("0-8-qpid").tables
    payload: bytes = kind(**{field: {"x": entry[6]}}).encode(tables)
    assert entry in payload
    return payload


@pytest.mark.rule("0-9-1/wire/table-layout")
@pytest.mark.parametrize("entry", DAMAGED, ids=("tag", "length"))
@pytest.mark.parametrize(("name", "kind", "field"), FIELDS, ids=lambda each: getattr(each, "NAME", each))
def test_a_damaged_table_in_any_method(name: str, kind: type[Any], field: str, entry: bytes) -> None:
    world = World(name)
    talk, other = world.channel(), world.channel()
    damaged = _payload(name, kind, field, entry).replace(entry, DAMAGED[entry])
    octets = frame(1, 0 if kind.CLASS_ID == 10 else talk.number, damaged)
    talk.user.client.receive_data(octets, world.now)
    world.pump()
    assert talk.error[:2] == ("connection", 502)
    assert other.declare("q") == "q"


@pytest.mark.parametrize("validate", [None, False])
@pytest.mark.parametrize("name", DIALECTS)
def test_damaged_client_properties(name: str, validate: bool | None) -> None:
    """Before the connection is open the socket is closed without a word, or the login goes on."""
    dialect, version = get_dialect(name), version_of(name)
    config = server_config(dialect=dialect, validate_content=validate)
    hub = Hub(Settings(configs={version: config}))
    end = hub.connect()
    kind = dialect.named["connection.start-ok"]
    start_ok = kind({"x": 1}, "PLAIN", b"\0guest\0guest", "en_US").encode(dialect.tables)
    (entry, damaged), _ = DAMAGED.items()
    end.receive_data(dialect.header + frame(1, 0, start_ok.replace(entry, damaged)), 0.0)
    end.next_event()
    assert (end.close_hint.name == "KEEP") is (validate is False)


@pytest.mark.parametrize("name", DIALECTS)
@pytest.mark.parametrize("entry", DAMAGED, ids=("tag", "length"))
def test_tables_that_nobody_checked_beforehand_are_answered_when_they_are_read(name: str, entry: bytes) -> None:
    """An engine's configuration may leave them to the front end, which reads the arguments of a queue."""
    config = server_config(dialect=get_dialect(name), validate_content=False)
    world = World(None, configs={version_of(name): config})
    talk, other = [world.client(version=version_of(name), dialect=get_dialect(name)).channel() for _ in range(2)]
    declare = _payload(name, get_dialect(name).named["queue.declare"], "arguments", entry)
    octets = frame(1, talk.number, declare.replace(entry, DAMAGED[entry]))
    talk.user.client.receive_data(octets, world.now)
    world.pump()
    assert talk.error[:2] == ("connection", 502)
    assert other.declare("q") == "q"


@pytest.mark.parametrize("validate", [None, False])
@pytest.mark.parametrize("name", DIALECTS)
def test_damaged_headers_of_a_message(name: str, validate: bool | None) -> None:
    """Headers that nobody checked match no binding; they are their reader's to judge."""
    dialect = get_dialect(name)
    config = server_config(dialect=dialect, validate_content=validate)
    world = World(None, configs={version_of(name): config})
    talk, other = [world.client(version=version_of(name), dialect=dialect).channel() for _ in range(2)]
    talk.declare("q")
    talk.call("queue.bind", queue="q", exchange="amq.headers", arguments={"x": 1})
    publish = talk.make("basic.publish", exchange="amq.headers").encode(dialect.tables)
    raw = b"\x20\0\0\0\0\x07\x01x\xff\0\0\0\x01"
    octets = frame(1, talk.number, publish) + header(talk.number, 0, raw)
    talk.user.client.receive_data(octets, world.now)
    world.pump()
    if validate is None:
        assert talk.error[:2] == ("connection", 502)
    else:
        assert talk.count("q") == 0
    assert other.declare("r") == "r"
