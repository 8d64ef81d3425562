"""Commands of 0-10: executed, completed, with results, refused, and as they should not be (part 1 section 3.4.1)."""

import pickle

import pytest

from amqp_sansio import (
    By,
    CodecError,
    EndpointClosed,
    Failed,
    LocalProtocolError,
    RemoteProtocolError,
    Replied,
    Scope,
    Settled,
    Side,
)
from amqp_sansio import amqp_0_10 as amqp
from amqp_sansio.amqp_0_10 import spec
from tests.kit import octets_0_10 as raw
from tests.kit.facing import CLIENT, SERVER
from tests.kit.facing_0_10 import Facing, server_config

FOUND = raw.struct32(0x0801, raw.str8("q"), None, False, False, False, None, raw.u32(7), raw.u32(1))
"""queue.queue-query-result."""


# Sent.


def test_a_command_octet_by_octet(client: Facing) -> None:
    client.session.call(spec.QueuePurge("q"))
    client.session.call(spec.QueuePurge("q"), sync=False)
    client.settle()
    head = "0f0100140001000000000000"
    assert client.out == bytes.fromhex(head + "0803010101000171" + head + "0803010001000171")


def test_a_completed_command_settles_its_handle(facing: Facing) -> None:
    one, two = facing.session.call(spec.ExecutionSync()), facing.session.sync()
    assert facing.session.pending == (one, two)
    with pytest.raises(LocalProtocolError, match="no answer yet"):
        _ = one.result
    facing.feed(raw.completed((0, 1)))
    assert facing.events == [Settled((one, two), amqp.Completed())]
    assert one.done
    assert facing.pending() == 0


@pytest.mark.rule("0-10/execution.result/always")
def test_a_result_comes_before_the_completion_of_its_command(client: Facing) -> None:
    handle = client.session.call(spec.QueueQuery("q"))
    client.feed(raw.result(0, FOUND))
    assert not handle.done
    client.feed(raw.completed(0))
    assert client.events == [Replied(handle)]
    assert handle.result == spec.QueueQueryResult("q", message_count=7, subscriber_count=1)


def test_a_result_that_comes_late_is_taken_too(client: Facing) -> None:
    handle = client.session.call(spec.QueueQuery("q"))
    client.feed(raw.completed(0))
    assert not handle.done
    client.feed(raw.result(0, FOUND))
    assert handle.result.message_count == 7
    assert client.events == [Replied(handle)]


@pytest.mark.parametrize(
    "octets", [raw.result(0, raw.struct32(0x0404)), raw.result(5, FOUND), raw.result(0, FOUND) + raw.result(0, FOUND)]
)
def test_a_result_nobody_waits_for_is_an_illegal_state(facing: Facing, octets: bytes) -> None:
    if facing.side is CLIENT:
        facing.session.call(spec.QueueQuery("q"))
    facing.forget()
    facing.feed(octets)
    number = 1 if facing.side is CLIENT and len(octets) > 2 * len(raw.result(0, FOUND)) - 2 else 0
    facing.excepts(409, None, number, 0x0302)


@pytest.mark.parametrize(
    ("side", "call"),
    [
        (CLIENT, spec.ExecutionResult(0)),
        (CLIENT, spec.ExecutionException(541)),
        (CLIENT, spec.MessageTransfer("x")),
        (CLIENT, spec.StreamDeliver("tag")),
        (SERVER, spec.QueuePurge("q")),
        (SERVER, spec.MessageSubscribe("q", "d", 0, 0)),
    ],
    ids=lambda each: each.NAME if hasattr(each, "NAME") else each.value,
)
def test_a_command_that_is_not_to_be_sent_changes_nothing(side: Side, call: object) -> None:
    facing = Facing.attached(side)
    with pytest.raises(LocalProtocolError):
        facing.session.call(call)  # type: ignore[arg-type]
    with pytest.raises(LocalProtocolError, match="no message"):
        facing.session.call(spec.ExecutionSync(), amqp.Message(b"x"))
    with pytest.raises(CodecError):
        facing.session.call(spec.ExchangeBound(queue="x" * 300) if side is CLIENT else spec.MessageStop("x" * 300))
    assert facing.sent() == []
    assert facing.session.pending == ()


# Received.


@pytest.mark.rule("0-10/execution.result/always")
def test_a_server_gives_the_result_then_the_completion(server: Facing) -> None:
    server.feed(raw.command(0x0804, raw.str8("q"), sync=True))
    asked = server.asked()
    assert asked == amqp.CommandReceived(0, 0, asked.command, True, asked.headers)
    assert asked.command.queue == "q"
    server.session.complete(0, spec.QueueQueryResult("q", message_count=7, subscriber_count=1))
    server.settle()
    assert server.out == raw.result(0, FOUND) + raw.completed(0)


@pytest.mark.rule("0-10/execution.result/always")
def test_a_result_is_neither_left_out_nor_given_twice_nor_another(server: Facing) -> None:
    server.feed(raw.QUERY + raw.PURGE)
    session = server.session
    with pytest.raises(LocalProtocolError, match=r"has queue\.queue-query-result result") as caught:
        session.complete(0)
    assert caught.value.rule == "0-10/execution.result/always"
    with pytest.raises(LocalProtocolError):
        session.complete(1, spec.QueueQueryResult("q"))
    with pytest.raises(LocalProtocolError, match="command 2"):
        session.complete(2)
    assert server.sent() == []
    session.complete(0, spec.QueueQueryResult())
    with pytest.raises(LocalProtocolError, match="command 0"):
        session.complete(0, spec.QueueQueryResult())
    session.complete(1)
    assert server.names().count("execution.result") == 1


@pytest.mark.rule("0-10/execution.sync/complete")
def test_sync_is_complete_when_all_before_it_is(server: Facing) -> None:
    server.feed(raw.PURGE + raw.PURGE + raw.sync() + raw.PURGE + raw.sync())
    session = server.session
    assert server.out == b""
    session.complete(1)
    server.settle()
    assert server.out == b""
    session.complete(0)
    server.settle()
    # All of them at once, and nothing of what is behind.
    assert server.out == raw.completed((0, 2))
    server.forget()
    session.complete(3)
    server.settle()
    assert server.out == raw.completed((0, 4))


@pytest.mark.rule("0-10/execution.sync/complete")
def test_sync_with_nothing_before_it_is_complete_at_once(facing: Facing) -> None:
    facing.feed(raw.command(0x0301, sync=True))
    assert facing.out == raw.completed(0)


@pytest.mark.rule("0-10/wire/track-order")
def test_controls_come_between_the_frames_of_a_command(facing: Facing) -> None:
    handle = facing.session.sync()
    facing.forget()
    octets = raw.segment(0x0301, sync=True)
    facing.feed(
        raw.frame(octets[:3], 1, flags=0x0E)
        + raw.completed(0, timely=True)
        + raw.flush("completed")
        + raw.frame(octets[3:], 1, flags=0x0D)
    )
    assert handle.done
    assert facing.names() == ["session.known-completed", "session.completed", "session.completed"]
    assert facing.sent()[-1].octets == raw.completed(0)


def test_a_control_in_several_frames_comes_between_the_frames_of_a_command(facing: Facing) -> None:
    octets, asks = raw.segment(0x0301, sync=True), raw.completed()[12:]
    facing.feed(
        raw.frame(octets[:1], 1, flags=0x0E)
        + raw.frame(asks[:1], flags=0x0E)
        + raw.frame(octets[1:3], 1, flags=0x0C)
        + raw.frame(asks[1:], flags=0x0D)
        + raw.frame(octets[3:], 1, flags=0x0D)
    )
    assert facing.out == raw.completed(0)


# Refused by the application.


@pytest.mark.rule("0-10/session/exception-then-detach", "0-10/execution.exception/language")
def test_an_exception_octet_by_octet(server: Facing) -> None:
    server.feed(raw.PURGE)
    server.session.fail(amqp.ExecutionError(404, "no queue 'q'"), 0, field="queue")
    server.settle()
    assert server.out == (
        raw.frame(bytes.fromhex("030301003f00019400000000080300") + raw.str16("no queue 'q'"), 1)
        + raw.request_timeout(0)
        + raw.detach(b"s")
    )
    server.forget()
    session = server.session
    session.fail(amqp.ExecutionError(541, "again"))
    with pytest.raises(EndpointClosed, match="404"):
        session.complete(0)
    server.feed(raw.timeout(0) + raw.sync() + raw.flush("completed") + raw.detached())
    (closed,) = server.events
    assert isinstance(closed, amqp.SessionClosed)
    assert (closed.report.code, closed.report.condition) == (404, "not-found")
    assert (closed.report.by, closed.resumable) == (By.LOCAL, False)
    assert server.out == b""


@pytest.mark.rule("0-10/message.subscribe/queue-not-found", "0-10/message.subscribe/exclusive-in-use")
@pytest.mark.rule("0-10/message.subscribe/queue-deleted")
@pytest.mark.parametrize("code", [403, 404, 405, 530, 541])
def test_a_server_refuses_a_subscription_with_the_code_of_its_reason(server: Facing, code: int) -> None:
    server.feed(raw.subscribe("d", "missing"))
    (asked,) = server.of(amqp.CommandReceived)
    assert (asked.command.queue, asked.command.destination) == ("missing", "d")
    server.session.fail(amqp.ExecutionError(code, "not you"), 0, field="queue")
    server.gives_up(code, 0, 0x0407, field=0)


@pytest.mark.rule("0-10/message.subscribe/queue-deleted")
def test_a_queue_deleted_later_ends_the_session_of_its_subscriber() -> None:
    facing = Facing.subscribed(SERVER)
    facing.session.fail(amqp.ExecutionError(408, "queue 'q' was deleted"))
    facing.gives_up(408, None, None)
    client = Facing.subscribed(CLIENT)
    client.feed(raw.exception(408, text="queue 'q' was deleted"))
    (failed,) = client.of(Failed)
    assert (failed.error.code, failed.error.condition) == (408, "resource-deleted")


@pytest.mark.parametrize(
    ("field", "index"),
    [("queue", 0), ("alternate_exchange", 1), ("passive", 2), ("arguments", 6), ("colour", None), (None, None)],
)
def test_the_field_at_fault_is_told_by_its_place(server: Facing, field: str | None, index: int | None) -> None:
    server.feed(raw.command(0x0801, raw.str8("q")))
    assert isinstance(server.asked().command, spec.QueueDeclare)
    server.session.fail(amqp.ExecutionError(542, "no"), 0, field=field)
    server.gives_up(542, 0, 0x0801, field=index)


def test_a_command_that_does_not_wait_is_not_refused(server: Facing) -> None:
    with pytest.raises(LocalProtocolError, match="command 3"):
        server.session.fail(amqp.ExecutionError(404, "no"), 3)
    assert server.sent() == []
    assert server.session.is_attached


@pytest.mark.rule("0-10/execution.exception/language")
def test_the_core_speaks_the_language_that_is_always_offered() -> None:
    facing = Facing.started(SERVER, server_config(locales=("de_DE", "en_US")))
    facing.feed(raw.start_ok(locale="de_DE"))
    # Whose application speaks it: its own descriptions go out as they are.
    assert facing.end.locale == "de_DE"
    german = Facing.attached(SERVER)
    german.feed(raw.PURGE)
    german.session.fail(amqp.ExecutionError(404, "Schlange „q“ fehlt"), 0)
    assert german.records()[0].description == "Schlange „q“ fehlt"
    english = Facing.attached(SERVER)
    assert english.end.locale == "en_US"
    english.feed(raw.command(0x0B01))
    told = english.records()[0].description
    assert told.isascii()
    assert "unknown command" in told


def test_a_long_description_is_cut(facing: Facing) -> None:
    facing.session.fail(amqp.ExecutionError(541, "x" * 70_000))
    assert facing.records()[0].description == "x" * 2048


# Refused by the peer.


@pytest.mark.rule("0-10/session/exception-then-detach")
def test_an_exception_of_the_peer_ends_the_session(side: Side) -> None:
    facing = Facing.attached(side, keep=60)
    session = facing.session
    call, waiting = session.sync(), session.request_timeout(5)
    facing.forget()
    facing.feed(raw.exception(404, 0, 8, 3, 0, "no queue 'q'"))
    (failed,) = facing.events
    assert isinstance(failed, Failed)
    assert (failed.scope, failed.channel, failed.by) == (Scope.SESSION, 0, By.REMOTE)
    assert set(failed.pendings) == {call, waiting}
    error = failed.error
    assert isinstance(error, RemoteProtocolError)
    assert (error.code, error.condition, error.class_id, error.method_id) == (404, "not-found", 8, 3)
    assert call.error is error
    assert str(error).startswith("no queue 'q'")
    assert facing.out == b""
    with pytest.raises(EndpointClosed, match="no queue"):
        session.sync()
    # What has to follow it.
    facing.feed(raw.request_timeout(0), raw.detach())
    assert facing.out == raw.timeout(0) + raw.detached()
    closed = facing.events[-1]
    assert isinstance(closed, amqp.SessionClosed)
    assert (closed.report.by, closed.report.code, closed.resumable) == (By.REMOTE, 404, False)
    assert facing.end.is_open


def test_an_exception_without_words_is_told_by_its_code(facing: Facing) -> None:
    facing.feed(raw.exception(409))
    assert str(facing.of(Failed)[0].error).startswith("illegal-state")
    facing = Facing.attached(facing.side)
    facing.feed(raw.exception(599))
    assert facing.of(Failed)[0].error.condition == "599"


def test_nothing_is_heard_behind_an_exception(facing: Facing) -> None:
    facing.session.sync()
    facing.forget()
    facing.feed(
        raw.exception(404, 0) + raw.completed(0) + raw.transfer("d", b"x") + raw.flush("completed") + raw.sync()
    )
    assert [type(event) for event in facing.events] == [Failed]
    assert facing.out == b""
    # Both ends at once: each detach is answered.
    facing.feed(raw.detach())
    assert facing.out == raw.detached()


def test_both_ends_refuse_at_once(facing: Facing) -> None:
    facing.session.fail(amqp.ExecutionError(541, "mine"))
    facing.forget()
    facing.feed(
        raw.exception(404, text="yours") + raw.request_timeout(0) + raw.detach() + raw.timeout(0) + raw.detached()
    )
    assert [type(event) for event in facing.events] == [amqp.SessionClosed]
    assert facing.of(amqp.SessionClosed)[0].report.code == 541
    assert facing.end.sessions == ()
    assert facing.end.is_open


def test_only_a_message_that_has_come_is_accepted(client: Facing) -> None:
    with pytest.raises(LocalProtocolError, match="wait for it"):
        client.session.call(spec.MessageAccept(amqp.SequenceSet.of(4)))
    assert client.names() == []


# Commands of 0-10 as they should not be: undefined, unreadable, incomplete, for the other end (classes 3 and 4).


@pytest.mark.parametrize("code", [0x0100, 0x0304, 0x0400, 0x040D, 0x0B01, 0xFFFF])
def test_an_undefined_command_is_invalid(facing: Facing, code: int) -> None:
    facing.feed(raw.command(code))
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
    facing.feed(raw.frame(octets, 1))
    (failed,) = facing.of(Failed)
    assert (failed.scope, failed.error.code) == (Scope.SESSION, 503)
    facing.gives_up(503, 0, None)


@pytest.mark.rule("0-10/wire/struct-required")
@pytest.mark.parametrize(
    ("code", "values", "field"),
    [
        (0x0402, (), "transfers"),
        (0x0403, (None, raw.u16(0)), "transfers"),
        (0x0407, (None, raw.str8("d")), "queue"),
        (0x0409, (raw.str8("d"),), "flow-mode"),
        (0x040A, (raw.str8("d"), None, raw.u32(1)), "unit"),
        (0x0303, (None,), "error-code"),
        (0x0801, (), "queue"),
    ],
)
def test_a_command_without_a_field_that_must_be_there_is_invalid(
    server: Facing, code: int, values: tuple[bytes | None, ...], field: str
) -> None:
    server.feed(raw.command(code, *values))
    error = server.excepts(503, "wire/struct-required", 0, code)
    assert f"without {field}" in str(error)


@pytest.mark.parametrize(
    "octets", [raw.subscribe(), raw.PURGE, raw.QUERY, raw.command(0x0501), raw.command(0x0405, raw.u16(0))]
)
def test_a_client_gets_no_commands_for_servers(client: Facing, octets: bytes) -> None:
    client.feed(octets)
    code = int.from_bytes(octets[12:14])
    client.excepts(530, None, 0, code)


@pytest.mark.parametrize("code", [0x0902, 0x0904, 0x090A, 0x090B, 0x0A02, 0x0A04, 0x0A07, 0x0A08])
def test_a_server_gets_no_commands_for_clients(server: Facing, code: int) -> None:
    server.feed(raw.command(code))
    server.excepts(530, None, 0, code)


@pytest.mark.parametrize(("header", "body"), [(raw.routed(), b""), (b"", b"body"), (raw.routed(), b"body")])
def test_a_command_with_content_that_it_does_not_have_is_invalid(server: Facing, header: bytes, body: bytes) -> None:
    server.feed(raw.content(raw.segment(0x0803, raw.str8("q")), header, body))
    server.excepts(503, None, 0, 0x0803)


@pytest.mark.parametrize(
    "header",
    [
        b"\0",
        raw.u32(2),
        raw.u32(1) + b"\x04",
        raw.u32(9) + b"\x04\x01\x00\x00",
        raw.struct32(0x0401) * 2,
        raw.struct32(0x0401, *[None] * 9, b"\x09ab"),
    ],
)
def test_a_header_that_cannot_be_read_is_found_by_a_server_at_once(server: Facing, header: bytes) -> None:
    server.feed(raw.transfer("", b"x", header=header))
    (failed,) = server.of(Failed)
    assert (failed.scope, failed.error.code) == (Scope.SESSION, 503)
    server.gives_up(503, 0, 0x0401)


def test_a_client_finds_damage_in_a_header_when_it_reads_it() -> None:
    facing = Facing.subscribed(CLIENT)
    facing.session.call(spec.MessageFlow("d", 0, 5))
    facing.session.call(spec.MessageFlow("d", 1, None))
    facing.feed(raw.transfer("d", b"x", header=raw.struct32(0x0401) * 2))
    (message,) = facing.of(amqp.MessageReceived)
    with pytest.raises(CodecError):
        _ = message.headers.structs
    assert facing.session.is_attached


def test_commands_behind_a_fault_are_not_executed(server: Facing) -> None:
    server.feed(raw.PURGE + raw.command(0x0B01) + raw.PURGE + raw.transfer("", b"x"))
    assert [event.command_id for event in server.of(amqp.CommandReceived)] == [0]
    server.excepts(503, None, 1, None)
    assert [type(event) for event in server.events] == [amqp.CommandReceived, Failed, amqp.SessionClosed]


def test_a_session_ends_and_the_others_go_on(facing: Facing) -> None:
    if facing.side is CLIENT:
        other = facing.end.open_session("t")
        facing.feed(raw.control(0x0202, raw.u16(1) + b"t", channel=1) + raw.control(0x0208, raw.u16(0), channel=1))
    else:
        facing.feed(raw.control(0x0201, raw.u16(1) + b"t", channel=1))
        other = facing.end.accept_session(1)
    facing.forget()
    facing.feed(raw.command(0x0B01))
    facing.excepts(503, None, 0, None)
    assert other.is_attached
    assert facing.end.sessions == (1,)


def test_a_session_goes_on_from_a_snapshot(facing: Facing) -> None:
    facing.session.sync()
    octets = raw.segment(0x0301, sync=True)
    facing.forget()
    facing.feed(raw.frame(octets[:3], 1, flags=0x0E))
    facing.end = pickle.loads(pickle.dumps(facing.end))
    facing.feed(raw.frame(octets[3:], 1, flags=0x0D) + raw.completed(0, timely=True))
    (settled,) = facing.events
    assert isinstance(settled, Settled)
    assert facing.session.pending == ()
    assert facing.names() == ["session.completed", "session.known-completed"]
