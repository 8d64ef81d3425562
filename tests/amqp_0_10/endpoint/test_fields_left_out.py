"""Fields that the XML calls required and that Qpid's Python clients leave out: taken, unless a dialect is strict."""

from __future__ import annotations

from typing import Any

import pytest

from amqp_sansio import Failed, LocalProtocolError, Side
from amqp_sansio.amqp_0_10 import (
    CommandReceived,
    Dialect,
    ExchangeBind,
    ExchangeDeclare,
    ExchangeUnbind,
    MessageReceived,
    SessionClosed,
    SessionCommandPoint,
    SessionDetached,
)
from amqp_sansio.amqp_0_10.codec.dialect import missing
from amqp_sansio.observer import Violation
from amqp_sansio.sasl import Anonymous
from tests.kit.octets_0_10 import (
    HEADER,
    attach,
    command,
    command_point,
    control,
    start_ok,
    str8,
    table,
    transfer,
    tune_ok,
    u32,
    u64,
    vbin16,
)
from tests.kit.talk_0_10 import Talk010
from tests.kit.wire_0_10 import CLIENT, SERVER, Facing, client_config, server_config

STRICT = pytest.mark.parametrize("dialect", [Dialect.SPECIFICATION, Dialect.ERRATA])
NO_RESPONSE = control(0x0102, table(), str8("ANONYMOUS"), None, str8("en_US"))
NO_CODE = control(0x0204, vbin16(b"s"))
NO_OFFSET = control(0x0207, u32(0), None)
BIND, UNBIND = 0x0704, 0x0705
COMMANDS = {
    "exchange.bind": command(BIND, str8("q"), str8("amq.fanout")),
    "exchange.unbind": command(UNBIND, str8("q"), str8("amq.fanout")),
    "exchange.declare": command(0x0701, str8("amq.fanout"), None, None, True),
}


def config(side: Side, **changes: Any) -> Any:
    """The configuration of one side."""
    return client_config(**changes) if side is CLIENT else server_config(**changes)


def test_a_client_opens_without_a_response_and_without_a_number_of_channels() -> None:
    facing = Facing.started(SERVER, server_config(mechanisms=("ANONYMOUS",)))
    facing.feed(NO_RESPONSE)
    facing.end.accept_authentication()
    facing.feed(tune_ok(None))
    assert facing.of(Failed) == []
    assert facing.end.channel_max == 16
    assert Anonymous().name == facing.end.mechanism


@STRICT
@pytest.mark.rule("0-10/wire/struct-required")
def test_a_strict_server_wants_both(dialect: Dialect) -> None:
    strict = server_config(dialect=dialect, mechanisms=("ANONYMOUS", "PLAIN"))
    facing = Facing.started(SERVER, strict)
    facing.feed(NO_RESPONSE)
    assert "without response" in str(facing.silently_ends("wire/struct-required"))
    facing = Facing.started(SERVER, strict)
    facing.feed(start_ok())
    facing.end.accept_authentication()
    facing.forget().feed(tune_ok(None))
    assert "without channel_max" in str(facing.silently_ends("wire/struct-required"))


def test_a_session_is_detached_for_no_reason_given(facing: Facing) -> None:
    facing.session.detach()
    facing.feed(NO_CODE)
    (closed,) = facing.of(SessionClosed)
    assert closed.report.code == 0
    assert facing.of(Failed) == []


def test_a_command_point_without_an_offset_is_one_at_a_commands_begin() -> None:
    facing = Facing.opened(SERVER)
    facing.feed(attach())
    facing.end.accept_session(0)
    facing.feed(NO_OFFSET + transfer("", b"x"))
    assert [each.command_id for each in facing.of(MessageReceived)] == [0]


@STRICT
@pytest.mark.parametrize("octets", [NO_CODE, NO_OFFSET], ids=["code", "offset"])
@pytest.mark.rule("0-10/wire/struct-required")
def test_a_strict_end_wants_all_fields_of_a_control(side: Side, octets: bytes, dialect: Dialect) -> None:
    facing = Facing.attached(side, config(side, dialect=dialect))
    facing.feed(octets)
    facing.closes(501, "wire/struct-required")


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_without_a_key_or_a_type_is_told_as_it_came(server: Facing, name: str) -> None:
    server.feed(COMMANDS[name])
    (asked,) = server.of(CommandReceived)
    assert name == asked.command.NAME
    assert asked.command.encode_segment() == COMMANDS[name][12:]


@STRICT
@pytest.mark.parametrize("name", COMMANDS)
@pytest.mark.rule("0-10/wire/struct-required")
def test_a_strict_server_wants_all_fields_of_a_command(name: str, dialect: Dialect) -> None:
    facing = Facing.attached(SERVER, server_config(dialect=dialect))
    facing.feed(COMMANDS[name])
    facing.excepts(503, "wire/struct-required", 0, int.from_bytes(COMMANDS[name][12:14], "big"))


@pytest.mark.rule("0-10/wire/struct-required")
def test_what_is_to_be_made_needs_its_type_in_every_dialect(server: Facing) -> None:
    server.feed(command(0x0701, str8("new")))
    assert "without type" in str(server.excepts(503, "wire/struct-required", 0, 0x0701))


@pytest.mark.parametrize(
    ("record", "name"),
    [
        (SessionCommandPoint(None, 0), "command_id"),
        (SessionDetached(None, 0), "name"),
        (ExchangeBind("q", None, "k"), "exchange"),
        (ExchangeUnbind(None, "x"), "queue"),
        (ExchangeDeclare(None, None, passive=True), "exchange"),
        (SessionCommandPoint(0, None), ""),
    ],
)
def test_other_fields_stay_required(record: Any, name: str) -> None:
    assert missing(record, Dialect.QPID) == name


def test_an_end_writes_all_fields_itself(facing: Facing) -> None:
    if facing.side is CLIENT:
        with pytest.raises(LocalProtocolError):
            facing.session.call(ExchangeBind("q", "amq.fanout"))
    facing.session.close()
    assert [each.missing() for each in facing.records()] == [""]


@pytest.mark.parametrize("count", [1, 3])
def test_a_client_that_says_nothing_of_acceptance_hears_nothing_of_it(server: Facing, count: int) -> None:
    """Also behind the first message, where the shortcut takes them."""
    server.feed(transfer("", b"x", header=b"") * count)
    messages = server.of(MessageReceived)
    assert [each.accepts for each in messages] == [False] * count
    assert server.session.unsettled == ()
    with pytest.raises(LocalProtocolError):
        server.session.accept(0)


@STRICT
def test_for_a_strict_server_it_is_explicit(dialect: Dialect) -> None:
    facing = Facing.attached(SERVER, server_config(dialect=dialect))
    facing.feed(transfer("", b"x"))
    (message,) = facing.of(MessageReceived)
    assert (message.accepts, message.transfer.accept_mode) == (True, None)
    assert facing.session.unsettled == (0,)


def test_what_a_server_leaves_out_is_explicit() -> None:
    facing = Facing.subscribed(CLIENT)
    facing.session.top_up("d", 1)
    facing.feed(transfer("d", b"x"))
    (message,) = facing.of(MessageReceived)
    assert (message.accepts, facing.session.unsettled) == (True, (0,))


@pytest.mark.rule("0-10/wire/struct-required")
def test_an_observer_tells_of_each_field_that_was_left_out() -> None:
    talk = Talk010().client(HEADER).client(NO_RESPONSE, tune_ok(None))
    talk.client(attach(), NO_OFFSET, COMMANDS["exchange.bind"], COMMANDS["exchange.unbind"])
    talk.client(COMMANDS["exchange.declare"], NO_CODE, control(0x0207, u32(0), u64(0)), command_point())
    found = [each for each in talk.events if isinstance(each, Violation) and each.rule.endswith("required")]
    assert [(each.rule, each.severity, each.text) for each in found] == [
        ("0-10/wire/struct-required", "warning", text)
        for text in (
            "connection.start-ok without response",
            "connection.tune-ok without channel-max",
            "session.command-point without command-offset",
            "exchange.bind without binding-key",
            "exchange.unbind without binding-key",
            "exchange.declare without type",
            "session.detached without code",
        )
    ]
