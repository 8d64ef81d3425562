"""Values of fields: names, reply codes, tables (domains and asserts of both versions, sections 4.2.5.3 and 4.2.5.5)."""

from collections.abc import Callable
from typing import Any

import pytest

from amqp_sansio import AMQP_0_8, AMQP_0_9_1, Failed, Scope, Version
from amqp_sansio.amqp_0_9_1 import Published, Request
from amqp_sansio.endpoint import Side
from tests.conformance.granting import RIGHTS, grant, strict, strictly_consuming, ticketed
from tests.kit.facing import CLIENT, SERVER
from tests.kit.facing_classic import STRICT, Facing, both_rules
from tests.kit.octets_classic import METHOD, frame, header

LONG = "x" * 128
LONG_IN_OCTETS = "é" * 64
ODD = "a name"


def call(facing: Facing, name: str, **fields: Any) -> Callable[[], object]:
    """A request that waits to be made."""
    return lambda: facing.channel.call(facing.make(name, **fields))


# Names of exchanges and queues.


@pytest.mark.parametrize("name", [LONG, LONG_IN_OCTETS], ids=["characters", "octets"])
@pytest.mark.parametrize(
    ("method", "field", "others"),
    [
        ("exchange.declare", "exchange", {"type": "direct"}),
        ("exchange.delete", "exchange", {}),
        ("queue.bind", "exchange", {"queue": "q"}),
        ("queue.declare", "queue", {}),
        ("queue.bind", "queue", {"exchange": "e"}),
        ("queue.purge", "queue", {}),
        ("basic.consume", "queue", {}),
        ("basic.get", "queue", {}),
    ],
)
@both_rules("domain/exchange-name.length", "domain/queue-name.length")
def test_strict_dialects_refuse_names_above_127_octets(
    version: Version, method: str, field: str, others: dict[str, str], name: str
) -> None:
    fields = {field: name, **others, **ticketed(version)}
    rule = f"domain/{field}-name.length"
    client = strict(version, CLIENT)
    client.misuse(call(client, method, **fields), rule)
    server = strict(version, SERVER)
    server.refuses(server.method(method, **fields), code=502, rule=rule)


@pytest.mark.parametrize("name", [LONG, LONG_IN_OCTETS], ids=["characters", "octets"])
@both_rules("domain/exchange-name.length")
def test_a_strict_client_publishes_to_no_name_above_127_octets(version: Version, name: str) -> None:
    client = strict(version, CLIENT)
    client.misuse(
        lambda: client.channel.publish(b"", exchange=name, routing_key="k", **ticketed(version)),
        "domain/exchange-name.length",
    )


@pytest.mark.parametrize("whole", [False, True], ids=["the method", "the message"])
@pytest.mark.parametrize("name", [LONG, LONG_IN_OCTETS], ids=["characters", "octets"])
@both_rules("domain/exchange-name.length")
def test_a_strict_server_takes_no_message_for_a_name_above_127_octets(version: Version, name: str, whole: bool) -> None:
    server = strict(version, SERVER)
    publish = server.message if whole else server.method
    server.refuses(
        publish("basic.publish", exchange=name, **ticketed(version)),
        code=502,
        rule="domain/exchange-name.length",
        blames="basic.publish",
    )


@both_rules("domain/exchange-name.length")
@pytest.mark.rule("0-9-1/domain/exchange-name.regexp")
def test_a_strict_server_sends_no_bad_names_and_a_strict_client_takes_none(version: Version) -> None:
    rules = {LONG: "length"} if version is AMQP_0_8 else {LONG: "length", ODD: "regexp"}
    for name, rule in rules.items():
        server = strictly_consuming(version, SERVER)
        server.misuse(
            lambda server=server, name=name: server.channel.deliver(b"", consumer_tag="t", exchange=name),  # type: ignore[misc]
            f"domain/exchange-name.{rule}",
        )
        for whole in (False, True):
            client = strictly_consuming(version, CLIENT)
            deliver = client.message if whole else client.method
            client.refuses(
                deliver("basic.deliver", consumer_tag="t", delivery_tag=1, exchange=name),
                code=502,
                rule=f"domain/exchange-name.{rule}",
                blames="basic.deliver",
            )


@pytest.mark.parametrize("name", [ODD, "a/b", "ä", "*", "a\tb"])
@pytest.mark.parametrize(
    ("method", "field", "others"),
    [
        ("exchange.delete", "exchange", {}),
        ("queue.bind", "exchange", {"queue": "q"}),
        ("queue.bind", "queue", {"exchange": "e"}),
        ("queue.delete", "queue", {}),
        ("basic.consume", "queue", {}),
    ],
)
@pytest.mark.rule("0-9-1/domain/exchange-name.regexp", "0-9-1/domain/queue-name.regexp")
def test_strict_0_9_1_refuses_other_characters_in_names(
    method: str, field: str, others: dict[str, str], name: str
) -> None:
    fields = {field: name, **others}
    rule = f"domain/{field}-name.regexp"
    client = strict(AMQP_0_9_1, CLIENT)
    client.misuse(call(client, method, **fields), rule)
    server = strict(AMQP_0_9_1, SERVER)
    server.refuses(server.method(method, **fields), code=502, rule=rule)


@pytest.mark.parametrize("name", [ODD, "a/b", "ä", "*", "a\tb"])
@pytest.mark.rule("0-9-1/domain/exchange-name.regexp")
def test_strict_0_9_1_publishes_to_no_name_with_other_characters(name: str) -> None:
    client = strict(AMQP_0_9_1, CLIENT)
    client.misuse(lambda: client.channel.publish(b"", exchange=name, routing_key="k"), "domain/exchange-name.regexp")
    server = strict(AMQP_0_9_1, SERVER)
    server.refuses(server.method("basic.publish", exchange=name), code=502, rule="domain/exchange-name.regexp")


@pytest.mark.parametrize(
    ("version", "method", "fields", "rule"),
    [
        (AMQP_0_9_1, "exchange.declare", {"exchange": ODD}, "exchange.declare/name-syntax"),
        (AMQP_0_9_1, "exchange.declare", {"exchange": ""}, "exchange.declare/name-notnull"),
        (AMQP_0_9_1, "queue.declare", {"queue": ODD}, "queue.declare/name-syntax"),
        (AMQP_0_8, "exchange.declare", {"exchange": ODD, "type": "direct"}, "exchange.declare/name-regexp"),
        (AMQP_0_8, "exchange.declare", {"exchange": "", "type": "direct"}, "exchange.declare/name-regexp"),
        (AMQP_0_8, "exchange.declare", {"exchange": "e", "type": ""}, "exchange.declare/type-regexp"),
        (AMQP_0_8, "exchange.declare", {"exchange": "e", "type": ODD}, "exchange.declare/type-regexp"),
        (AMQP_0_8, "queue.declare", {"queue": ODD}, "queue.declare/name-regexp"),
        (AMQP_0_8, "exchange.delete", {"exchange": ""}, "exchange.delete/name-notnull"),
    ],
)
@pytest.mark.rule("0-9-1/exchange.declare/name-syntax", "0-9-1/exchange.declare/name-notnull")
@pytest.mark.rule("0-9-1/queue.declare/name-syntax", "0-8/queue.declare/name-regexp")
@pytest.mark.rule("0-8/exchange.declare/name-regexp", "0-8/exchange.declare/type-regexp")
@pytest.mark.rule("0-8/exchange.delete/name-notnull")
def test_strict_dialects_check_names_where_they_are_declared(
    version: Version, method: str, fields: dict[str, str], rule: str
) -> None:
    """A bad one ends the channel in 0-9-1, the connection in 0-8."""
    client = strict(version, CLIENT)
    client.misuse(call(client, method, **fields, **ticketed(version)), rule)
    server = strict(version, SERVER)
    code, scope = (502, Scope.CONNECTION) if version is AMQP_0_8 else (406, Scope.CHANNEL)
    server.refuses(server.method(method, **fields, **ticketed(version)), code=code, rule=rule, scope=scope)


@both_rules("exchange.delete/name-notnull", "queue.declare-ok/name-notnull")
def test_strict_dialects_want_names_in_delete_and_declare_ok(version: Version) -> None:
    client = strict(version, CLIENT)
    client.misuse(call(client, "exchange.delete", exchange="", **ticketed(version)), "exchange.delete/name-notnull")
    server = strict(version, SERVER)
    server.feed(server.method("queue.declare", queue="", **ticketed(version)))
    server.misuse(lambda: server.channel.reply(server.make("queue.declare-ok")), "queue.declare-ok/name-notnull")
    client.channel.call(client.make("queue.declare", queue="", **ticketed(version)))
    client.settle()
    client.refuses(client.method("queue.declare-ok"), code=502, rule="queue.declare-ok/name-notnull")


def test_names_that_the_specification_allows_pass_in_strict_dialects(version: Version) -> None:
    extra = ticketed(version)
    for name in ("x" * 127, "aZ09-_.:", "amq.direct"):
        server = strict(version, SERVER)
        server.feed(
            server.method("exchange.declare", exchange=name, type="direct", **extra),
            server.method("queue.declare", queue=name, **extra),
            server.method("queue.declare", queue="", **extra),
            server.message("basic.publish", b"x", exchange=name, **extra),
            server.message("basic.publish", b"x", exchange="", **extra),
        )
        assert not server.of(Failed)
        assert len(server.of(Request)) == 3
        assert [event.exchange for event in server.of(Published)] == [name, ""]


def test_the_dialects_of_brokers_take_names_of_any_octets_up_to_255(version: Version) -> None:
    for name in ("x" * 255, ODD, "ä/ö", "\udcff"):
        server = Facing.opened(version, SERVER)
        server.feed(
            server.method("exchange.declare", exchange=name, type="direct"),
            server.method("queue.declare", queue=name),
            server.message("basic.publish", b"x", exchange=name),
        )
        assert not server.of(Failed)
        assert [event.exchange for event in server.of(Published)] == [name]


# Reply codes and texts.


@pytest.mark.rule("0-8/domain/reply-code.notnull", "0-9-1/domain/reply-code.notnull")
def test_no_close_goes_out_without_a_reply_code(facing: Facing) -> None:
    facing.misuse(lambda: facing.end.close(0, "x"), "domain/reply-code.notnull")
    facing.misuse(lambda: facing.channel.close(0, "x"), "domain/reply-code.notnull")


@pytest.mark.rule("0-8/domain/reply-text.notnull", "0-9-1/domain/reply-text.notnull")
def test_every_close_says_something(facing: Facing) -> None:
    """Whoever gives no text gets the name of the code."""
    facing.channel.close(404, "")
    facing.end.close(599, "")
    facing.settle()
    assert [each.method.reply_text for each in facing.sent()] == ["not-found", "closed"]


@pytest.mark.parametrize(
    ("fields", "rule"),
    [({"reply_text": "x"}, "domain/reply-code.notnull"), ({"reply_code": 404}, "domain/reply-text.notnull")],
)
@both_rules("domain/reply-code.notnull", "domain/reply-text.notnull")
def test_strict_dialects_want_a_code_and_a_text_in_returns(version: Version, fields: dict[str, Any], rule: str) -> None:
    server = strict(version, SERVER)
    server.misuse(lambda: server.channel.send(server.make("basic.return", **fields)), rule)
    client = strict(version, CLIENT)
    client.refuses(client.method("basic.return", **fields), code=502, rule=rule)


def test_a_close_without_code_and_text_is_answered_all_the_same(version: Version, side: Side) -> None:
    for dialect in (None, STRICT[version]):
        facing = Facing.opened(version, side, dialect=dialect)
        facing.feed(facing.method("channel.close"), facing.method("connection.close", 0))
        assert facing.names() == ["channel.close-ok", "connection.close-ok"]


# Strings.


@pytest.mark.rule("0-8/wire/shortstr", "0-9-1/wire/shortstr")
def test_short_strings_have_at_most_255_octets(client: Facing) -> None:
    client.misuse(call(client, "queue.declare", queue="x" * 256), None)
    client.misuse(call(client, "queue.declare", queue="é" * 128), None)
    client.misuse(lambda: client.channel.publish(b"", routing_key="x" * 256), None)
    client.channel.publish(b"", routing_key="x" * 255)


# Field tables.


NAMES = ["", "1st", "_x", "a b", "a-b", "x" * 129]


@pytest.mark.parametrize("name", NAMES)
@both_rules("wire/table-name-syntax", "wire/table-name-check")
def test_strict_dialects_refuse_bad_names_in_tables(version: Version, name: str) -> None:
    extra = ticketed(version)
    for table in ({name: "x"}, {"inner": {name: "x"}}):
        client = strict(version, CLIENT)
        client.misuse(call(client, "queue.declare", queue="q", arguments=table, **extra), "wire/table-name-syntax")
        properties = client.dialect.properties[60](headers=table)  # type: ignore[call-arg]
        client.misuse(
            lambda client=client, properties=properties: client.channel.publish(  # type: ignore[misc]
                b"", properties=properties, routing_key="q", **extra
            ),
            "wire/table-name-syntax",
        )
        server = strict(version, SERVER)
        server.refuses(
            server.method("queue.declare", queue="q", arguments=table, **extra), code=502, rule="wire/table-name-check"
        )


@pytest.mark.rule("0-8/wire/table-name-check", "0-9-1/wire/table-name-check")
def test_a_strict_server_checks_names_in_headers_too(version: Version) -> None:
    server = strict(version, SERVER)
    start = server.method("basic.publish", **ticketed(version))
    properties = b"\x20\x00\x00\x00\x00\x04\x021xV"
    server.refuses(start, header(1, 60, 0, properties), code=502, rule="wire/table-name-check")


@pytest.mark.parametrize("name", ["a", "$1", "#_", "x" * 128, "x-match"])
@pytest.mark.rule("0-8/wire/table-name-syntax", "0-9-1/wire/table-name-syntax")
def test_names_that_the_specification_allows_pass(version: Version, name: str) -> None:
    client = strict(version, CLIENT)
    client.channel.call(client.make("queue.declare", queue="q", arguments={name: "x"}, **ticketed(version)))
    client.settle()
    assert dict(client.sent()[0].method.arguments) == {name: "x"}


def twice(facing: Facing) -> bytes:
    """queue.declare whose arguments have one name twice."""
    arguments = b"\x01aI\x00\x00\x00\x01\x01aI\x00\x00\x00\x02"
    payload = facing.make("queue.declare", queue="q", **ticketed(facing.version)).encode(facing.dialect.tables)
    return frame(METHOD, 1, payload[:-4] + len(arguments).to_bytes(4, "big") + arguments)


@pytest.mark.parametrize("dialect", [None, STRICT[AMQP_0_8]])
@pytest.mark.rule("0-8/wire/table-duplicates")
def test_in_0_8_the_first_of_duplicate_names_counts(dialect: Any) -> None:
    server = Facing.opened(AMQP_0_8, SERVER, dialect=dialect)
    if dialect is not None:
        grant(server, 1, *RIGHTS)
    server.feed(twice(server))
    (request,) = server.of(Request)
    assert dict(request.method.arguments) == {"a": 1}


@pytest.mark.rule("0-9-1/wire/table-duplicates")
def test_in_0_9_1_duplicate_names_are_illegal_and_a_mapping_has_none() -> None:
    server = strict(AMQP_0_9_1, SERVER)
    server.refuses(twice(server), code=502, rule="wire/table-duplicates", blames="queue.declare")
    lenient = Facing.opened(AMQP_0_9_1, SERVER)
    lenient.feed(twice(lenient))
    (request,) = lenient.of(Request)
    assert dict(request.method.arguments) == {"a": 2}


@both_rules("security/length-check", "wire/method-payload")
def test_lengths_that_lie_are_a_syntax_error(version: Version) -> None:
    payload = Facing.opened(version, SERVER).make("queue.declare", queue="name").encode(STRICT[version].tables)
    for cut in range(4, len(payload)):
        server = Facing.opened(version, SERVER)
        server.refuses(frame(METHOD, 1, payload[:cut]), code=502, rule="wire/method-payload", blames="queue.declare")
    server = Facing.opened(version, SERVER)
    server.refuses(frame(METHOD, 1, payload + b"\0"), code=502, rule="wire/method-payload", blames="queue.declare")
