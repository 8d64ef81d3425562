"""Subscriptions of 0-10: destinations, message.resume, message.cancel, and what comes behind it (class 4)."""

from __future__ import annotations

import pytest

from amqp_sansio import Accepted, Failed, LocalProtocolError, Side
from amqp_sansio.amqp_0_10 import (
    NOT_ACQUIRED,
    CommandReceived,
    ExecutionError,
    MessageCancel,
    MessageReceived,
    MessageResume,
    MessageResumeResult,
    MessageSubscribe,
    Rejected,
    Released,
    Typed,
)
from tests.kit.octets_0_10 import (
    accept,
    cancel,
    command,
    completed,
    flush,
    ids,
    reject,
    release,
    result,
    resume,
    routed,
    str8,
    str16,
    struct32,
    subscribe,
    transfer,
    u8,
    u32,
    u64,
)
from tests.kit.wire_0_10 import CLIENT, SERVER, Facing, fed, sending

# resume.


@pytest.mark.rule("0-10/message.resume/destination")
def test_a_server_cannot_resume_to_an_unknown_destination() -> None:
    facing = fed(0)
    facing.feed(resume("nowhere", "r"))
    facing.excepts(404, "message.resume/destination", 0, 0x0406)


@pytest.mark.rule("0-10/message.resume/destination")
def test_a_client_cannot_resume_to_an_unknown_exchange(server: Facing) -> None:
    server.feed(resume("nowhere", "r"))
    (asked,) = server.of(CommandReceived)
    assert (asked.command.destination, asked.command.resume_id) == ("nowhere", "r")
    server.session.fail(ExecutionError(404, "no exchange 'nowhere'"), 0, field="destination")
    server.gives_up(404, 0, 0x0406, field=0)


@pytest.mark.rule("0-10/message.resume/unknown-id")
@pytest.mark.parametrize("side", [CLIENT, SERVER])
def test_what_nothing_is_known_of_is_resumed_from_its_begin(side: Side) -> None:
    facing = fed(0) if side is CLIENT else Facing.attached(SERVER)
    facing.feed(resume("d", "never heard"))
    with pytest.raises(LocalProtocolError, match="result"):
        facing.session.complete(0)
    facing.session.complete(0, MessageResumeResult(0))
    facing.feed(flush("completed"))
    assert facing.out == result(0, struct32(0x0405, u64(0))) + completed(0)
    client = Facing.attached(CLIENT)
    handle = client.session.call(MessageResume("e", "r"))
    client.feed(result(0, struct32(0x0405, u64(0))) + completed(0))
    assert handle.result.offset == 0


# subscribe and cancel.


@pytest.mark.rule("0-10/message.subscribe/unique-destination")
def test_a_destination_in_use_is_not_allowed() -> None:
    facing = Facing.subscribed(SERVER)
    facing.feed(subscribe("e") + subscribe("d", "other"))
    assert len(facing.of(CommandReceived)) == 1
    facing.excepts(530, "message.subscribe/unique-destination", 2, 0x0407)
    client = Facing.subscribed(CLIENT)
    with pytest.raises(LocalProtocolError) as caught:
        client.session.call(MessageSubscribe("other", "d", 0, 0))
    assert caught.value.rule == "0-10/message.subscribe/unique-destination"


def test_a_destination_is_free_again_when_its_subscription_is_cancelled() -> None:
    facing = Facing.subscribed(SERVER)
    facing.feed(cancel("d"))
    facing.complete_all()
    facing.feed(subscribe("d"))
    facing.complete_all()
    assert facing.of(Failed) == []
    client = Facing.subscribed(CLIENT)
    client.session.call(MessageCancel("d"))
    with pytest.raises(LocalProtocolError, match="isn't completed"):
        client.session.call(MessageSubscribe("q", "d", 0, 0))
    client.feed(completed((0, 1)))
    client.session.call(MessageSubscribe("q", "d", 0, 0))


@pytest.mark.rule("0-10/message.cancel/not-found")
def test_what_was_never_subscribed_is_not_cancelled() -> None:
    facing = Facing.subscribed(SERVER)
    facing.feed(cancel("other"))
    facing.excepts(404, "message.cancel/not-found", 1, 0x0408)
    facing = Facing.subscribed(SERVER)
    facing.feed(cancel("d") + cancel("d"))
    facing.excepts(404, "message.cancel/not-found", 2, 0x0408)
    client = Facing.subscribed(CLIENT)
    with pytest.raises(LocalProtocolError) as caught:
        client.session.call(MessageCancel("other"))
    assert caught.value.rule == "0-10/message.cancel/not-found"


@pytest.mark.rule("0-10/message.cancel/post-cancel")
def test_a_client_has_its_say_about_messages_after_the_cancel() -> None:
    facing = fed(4, acquire_mode=NOT_ACQUIRED)
    session = facing.session
    session.call(MessageCancel("d"))
    acquired = session.acquire(0, 1, 2)
    last = facing.last_id
    facing.feed(completed((0, last - 1)) + result(last, struct32(0x0404, ids((0, 2)))) + completed((0, last)))
    assert acquired.done
    session.accept(0)
    session.reject(1)
    session.release(2, 3)
    assert session.unsettled == ()
    assert [each for each in facing.names() if each.startswith("message.")] == [
        "message.cancel", "message.acquire", "message.accept", "message.reject", "message.release"
    ]  # fmt: skip


@pytest.mark.rule("0-10/message.cancel/post-cancel")
def test_a_server_hears_the_say_after_the_cancel() -> None:
    facing, sent = sending(3)
    facing.feed(cancel("d"))
    facing.complete_all()
    with pytest.raises(LocalProtocolError, match="no subscription"):
        facing.session.transfer("d", b"x")
    facing.feed(accept(0) + reject(1) + release(2))
    facing.complete_all()
    outcomes = [None if each.outcome is None else each.outcome.result for each in sent]
    assert outcomes == [Accepted(), Rejected(), Released()]


@pytest.mark.rule("0-10/message.cancel/post-cancel")
def test_what_was_under_way_when_it_was_cancelled_still_comes() -> None:
    facing = fed(0)
    cancelled = facing.session.call(MessageCancel("d"))
    facing.feed(transfer("d", b"late", header=routed()))
    (message,) = facing.of(MessageReceived)
    facing.session.release(message.command_id)
    facing.feed(completed((0, facing.last_id)))
    assert cancelled.done
    facing.forget()
    facing.feed(transfer("d", b"too late", header=routed()))
    facing.excepts(404, "message.subscribe/zero-credit", 1, 0x0401)


def test_a_subscription_octet_by_octet(client: Facing) -> None:
    client.session.call(MessageSubscribe("jobs", "d", 1, 1, True, arguments={"x": Typed("str16", "y")}), sync=False)
    client.settle()
    arguments = u32(1) + b"\x01x" + b"\x95" + str16("y")
    assert client.out == command(
        0x0407,
        str8("jobs"),
        str8("d"),
        u8(1),
        u8(1),
        True,
        None,
        None,
        u32(len(arguments)) + arguments,
    )
    record = client.records()[0]
    assert (record.queue, record.destination, record.accept_mode, record.acquire_mode) == ("jobs", "d", 1, 1)
    assert (record.exclusive, dict(record.arguments)) == (True, {"x": "y"})
