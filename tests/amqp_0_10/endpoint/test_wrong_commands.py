"""Commands of 0-10 as they should not be: undefined, unreadable, incomplete, for the other end (classes 3 and 4)."""

from __future__ import annotations

import pickle

import pytest

from amqp_sansio import CodecError, Failed, Scope, Settled
from amqp_sansio.amqp_0_10 import CommandReceived, MessageFlow, MessageReceived, SessionClosed
from tests.kit.octets_0_10 import (
    PURGE,
    QUERY,
    command,
    completed,
    content,
    control,
    frame,
    routed,
    segment,
    str8,
    struct32,
    subscribe,
    transfer,
    u16,
    u32,
)
from tests.kit.wire_0_10 import CLIENT, Facing


@pytest.mark.parametrize("code", [0x0100, 0x0304, 0x0400, 0x040D, 0x0B01, 0xFFFF])
def test_an_undefined_command_is_invalid(facing: Facing, code: int) -> None:
    facing.feed(command(code))
    facing.excepts(503, None, 0, None)


@pytest.mark.parametrize(
    "octets",
    [
        b"",
        b"\x03",
        b"\x03\x01",
        b"\x03\x01\x01",
        b"\x03\x01\x00",
        b"\x03\x01\x01\x00",
        b"\x03\x01\x01\x00\x00",
        b"\x03\x01\x01\x00\x00\x00\x00",
        b"\x03\x01\x09\x00\x00\x00",
        b"\x04\x01\x01\x00\x01\x00\x05abc",
        b"\x04\x01\x01\x00\x00\x80\x00",
        b"\x04\x02\x01\x00\x01\x00\x00\x04\x00\x00\x00\x00",
        b"\x03\x03\x01\x00\x40\x00\x00\x00\x00\x04abc",
    ],
    ids=lambda each: each.hex() or "nothing",
)
def test_a_command_that_cannot_be_read_is_invalid(facing: Facing, octets: bytes) -> None:
    facing.feed(frame(octets, 1))
    (failed,) = facing.of(Failed)
    assert (failed.scope, failed.error.code) == (Scope.SESSION, 503)
    facing.gives_up(503, 0, None)


@pytest.mark.rule("0-10/wire/struct-required")
@pytest.mark.parametrize(
    ("code", "values", "field"),
    [
        (0x0402, (), "transfers"),
        (0x0403, (None, u16(0)), "transfers"),
        (0x0407, (None, str8("d")), "queue"),
        (0x0409, (str8("d"),), "flow-mode"),
        (0x040A, (str8("d"), None, u32(1)), "unit"),
        (0x0303, (None,), "error-code"),
        (0x0801, (), "queue"),
    ],
)
def test_a_command_without_a_field_that_must_be_there_is_invalid(
    server: Facing, code: int, values: tuple[bytes | None, ...], field: str
) -> None:
    server.feed(command(code, *values))
    error = server.excepts(503, "wire/struct-required", 0, code)
    assert f"without {field}" in str(error)


@pytest.mark.parametrize("octets", [subscribe(), PURGE, QUERY, command(0x0501), command(0x0405, u16(0))])
def test_a_client_gets_no_commands_for_servers(client: Facing, octets: bytes) -> None:
    client.feed(octets)
    code = int.from_bytes(octets[12:14])
    client.excepts(530, None, 0, code)


@pytest.mark.parametrize("code", [0x0902, 0x0904, 0x090A, 0x090B, 0x0A02, 0x0A04, 0x0A07, 0x0A08])
def test_a_server_gets_no_commands_for_clients(server: Facing, code: int) -> None:
    server.feed(command(code))
    server.excepts(530, None, 0, code)


@pytest.mark.parametrize(("header", "body"), [(routed(), b""), (b"", b"body"), (routed(), b"body")])
def test_a_command_with_content_that_it_does_not_have_is_invalid(server: Facing, header: bytes, body: bytes) -> None:
    server.feed(content(segment(0x0803, str8("q")), header, body))
    server.excepts(503, None, 0, 0x0803)


@pytest.mark.parametrize(
    "header",
    [
        b"\0",
        u32(2),
        u32(1) + b"\x04",
        u32(9) + b"\x04\x01\x00\x00",
        struct32(0x0401) * 2,
        struct32(0x0401, *[None] * 9, b"\x09ab"),
    ],
)
def test_a_header_that_cannot_be_read_is_found_by_a_server_at_once(server: Facing, header: bytes) -> None:
    server.feed(transfer("", b"x", header=header))
    (failed,) = server.of(Failed)
    assert (failed.scope, failed.error.code) == (Scope.SESSION, 503)
    server.gives_up(503, 0, 0x0401)


def test_a_client_finds_damage_in_a_header_when_it_reads_it() -> None:
    facing = Facing.subscribed(CLIENT)
    facing.session.call(MessageFlow("d", 0, 5))
    facing.session.call(MessageFlow("d", 1, None))
    facing.feed(transfer("d", b"x", header=struct32(0x0401) * 2))
    (message,) = facing.of(MessageReceived)
    with pytest.raises(CodecError):
        _ = message.headers.structs
    assert facing.session.is_attached


def test_commands_behind_a_fault_are_not_executed(server: Facing) -> None:
    server.feed(PURGE + command(0x0B01) + PURGE + transfer("", b"x"))
    assert [event.command_id for event in server.of(CommandReceived)] == [0]
    server.excepts(503, None, 1, None)
    assert [type(event) for event in server.events] == [CommandReceived, Failed, SessionClosed]


def test_a_session_ends_and_the_others_go_on(facing: Facing) -> None:
    if facing.side is CLIENT:
        other = facing.end.open_session("t")
        facing.feed(control(0x0202, u16(1) + b"t", channel=1) + control(0x0208, u16(0), channel=1))
    else:
        facing.feed(control(0x0201, u16(1) + b"t", channel=1))
        other = facing.end.accept_session(1)
    facing.forget()
    facing.feed(command(0x0B01))
    facing.excepts(503, None, 0, None)
    assert other.is_attached
    assert facing.end.sessions == (1,)


def test_a_session_goes_on_from_a_snapshot(facing: Facing) -> None:
    facing.session.sync()
    octets = segment(0x0301, sync=True)
    facing.forget()
    facing.feed(frame(octets[:3], 1, flags=0x0E))
    facing.end = pickle.loads(pickle.dumps(facing.end))
    facing.feed(frame(octets[3:], 1, flags=0x0D) + completed(0, timely=True))
    (settled,) = facing.events
    assert isinstance(settled, Settled)
    assert facing.session.pending == ()
    assert facing.names() == ["session.completed", "session.known-completed"]
