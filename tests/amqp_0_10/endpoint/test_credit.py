"""Subscriptions of 0-10 and their credit: both units and modes, windows, stop, flush, cancel, resume (class 4)."""

import pytest

from amqp_sansio import Accepted, Failed, LocalProtocolError, Settled, Side
from amqp_sansio import amqp_0_10 as amqp
from amqp_sansio.amqp_0_10 import spec
from tests.kit import octets_0_10 as raw
from tests.kit.facing import CLIENT, SERVER
from tests.kit.facing_0_10 import Facing, fed, sending

HEADER_SIZE = len(raw.routed())
BODY = b"0123456789"


def server(messages: int | None, octets: int | None, *, mode: int | None = None) -> Facing:
    """A server with the subscription "d", and what it may send to it."""
    facing = Facing.subscribed(SERVER)
    if mode is not None:
        facing.feed(raw.set_flow_mode("d", mode))
    facing.feed(raw.flow("d", spec.MESSAGE, messages) + raw.flow("d", spec.BYTE, octets))
    return facing.forget()


def client(messages: int, octets: int | None = None, *, mode: int = spec.WINDOW) -> Facing:
    """A client with the subscription "d", and what it has granted."""
    facing = Facing.subscribed(CLIENT)
    if mode == spec.CREDIT:
        facing.session.call(spec.MessageSetFlowMode("d", spec.CREDIT))
    facing.session.top_up("d", messages, octets)
    return facing.forget()


def arrived(facing: Facing) -> list[bytes]:
    return [event.body for event in facing.of(amqp.MessageReceived)]


# Both units.


@pytest.mark.rule("0-10/message.subscribe/zero-credit")
def test_a_new_subscription_has_no_credit_in_either_unit() -> None:
    facing = Facing.subscribed(SERVER)
    session = facing.session
    assert session.credit("d") == (0, 0)
    with pytest.raises(amqp.NoCredit) as caught:
        session.transfer("d", b"x")
    assert caught.value.rule == "0-10/message.set-flow-mode/no-partial"
    facing.feed(raw.flow("d", spec.MESSAGE, 5))
    assert session.credit("d") == (5, 0)
    with pytest.raises(amqp.NoCredit, match="0 octets"):
        session.transfer("d", b"")
    facing.feed(raw.flow("d", spec.BYTE, 5))
    assert facing.of(amqp.CreditChanged) == [amqp.CreditChanged(0, "d", 5, 0), amqp.CreditChanged(0, "d", 5, 5)]
    session.transfer("d", b"")
    assert session.credit("d") == (4, 5)


def test_credit_octet_by_octet() -> None:
    facing = Facing.subscribed(CLIENT)
    facing.session.top_up("d", 10, 1000)
    facing.session.top_up("d", 10, 1000)
    facing.session.top_up("d", 15)
    facing.session.call(spec.MessageStop("d"), sync=False)
    facing.settle()
    head = "0f0100190001000000000000"
    assert facing.out == b"".join(
        [
            bytes.fromhex(head + "040a010007000164000000000a"),
            bytes.fromhex(head + "040a01000700016401000003e8"),
            bytes.fromhex(head + "040a0100070001640000000005"),
            # Without limit: 0xFFFFFFFF.
            raw.flow("d", 1, spec.INFINITE),
            raw.command(0x040C, raw.str8("d")),
        ]
    )


def test_credit_adds_up() -> None:
    facing = server(5, 100)
    facing.feed(raw.flow("d", spec.MESSAGE, 3) + raw.flow("d", spec.BYTE, 50))
    assert facing.session.credit("d") == (8, 150)
    receiving = client(5, 100)
    receiving.session.call(spec.MessageFlow("d", spec.MESSAGE, 3))
    assert receiving.session.granted("d") == (8, 100)


@pytest.mark.rule("0-10/message.flow/infinite")
@pytest.mark.parametrize("value", [None, spec.INFINITE])
def test_infinite_credit_stays_until_it_is_taken(value: int | None) -> None:
    facing = server(value, value)
    session = facing.session
    assert session.credit("d") == (None, None)
    for _ in range(50):
        session.transfer("d", BODY)
    facing.feed(raw.flow("d", spec.MESSAGE, 3))
    assert session.credit("d") == (None, None)
    facing.feed(raw.stop())
    assert session.credit("d") == (0, 0)
    facing.feed(raw.flow("d", spec.MESSAGE, 3) + raw.flow("d", spec.BYTE, 7))
    assert session.credit("d") == (3, 7)


@pytest.mark.rule("0-10/message.set-flow-mode/byte-accounting")
@pytest.mark.parametrize("mode", [spec.CREDIT, spec.WINDOW])
def test_octets_are_those_of_header_and_body_only(mode: int) -> None:
    size = HEADER_SIZE + len(BODY)
    facing = server(10, 2 * size, mode=mode)
    session = facing.session
    session.transfer("d", amqp.Message(BODY, routing_key="key"))
    assert facing.sent()[0].segments[2] == raw.routed()
    assert session.credit("d") == (9, size)
    session.transfer("d", amqp.Message(BODY, routing_key="key"))
    assert session.credit("d") == (8, 0)
    with pytest.raises(amqp.NoCredit):
        session.transfer("d", b"")
    receiving = client(10, 2 * size)
    receiving.feed(raw.transfer("d", BODY, header=raw.routed()))
    assert receiving.session.granted("d") == (9, size)


@pytest.mark.rule("0-10/message.set-flow-mode/no-partial")
def test_what_does_not_fit_is_not_sent_in_part() -> None:
    facing = server(10, HEADER_SIZE + len(BODY) - 1)
    session = facing.session
    with pytest.raises(amqp.NoCredit, match=f"this one has {HEADER_SIZE + len(BODY)}"):
        session.transfer("d", amqp.Message(BODY, routing_key="key"))
    assert facing.sent() == []
    assert session.credit("d") == (10, HEADER_SIZE + len(BODY) - 1)
    assert session.pending == ()
    session.transfer("d", amqp.Message(BODY[1:], routing_key="key"))
    assert session.credit("d") == (9, 0)


# Modes.


@pytest.mark.rule("0-10/message.set-flow-mode/default", "0-10/message.subscribe/window-default")
def test_a_subscription_is_in_window_mode_until_told_otherwise() -> None:
    facing = server(1, 100)
    session = facing.session
    size = HEADER_SIZE + len(BODY)
    session.transfer("d", amqp.Message(BODY, routing_key="key"))
    assert session.credit("d") == (0, 100 - size)
    facing.forget()
    facing.feed(raw.completed(0))
    assert session.credit("d") == (1, 100)
    assert facing.of(amqp.CreditChanged) == [amqp.CreditChanged(0, "d", 1, 100)]
    receiving = client(1, 100)
    receiving.feed(raw.transfer("d", BODY, header=raw.routed()))
    assert receiving.session.granted("d") == (0, 100 - size)
    receiving.session.complete(0)
    assert receiving.session.granted("d") == (1, 100)


@pytest.mark.rule("0-10/message.set-flow-mode/default")
def test_in_credit_mode_nothing_comes_back() -> None:
    facing = server(2, 100, mode=spec.CREDIT)
    facing.session.transfer("d", BODY)
    facing.feed(raw.completed(0))
    assert facing.session.credit("d") == (1, 90)
    assert facing.of(amqp.CreditChanged) == []
    receiving = client(2, 100, mode=spec.CREDIT)
    assert receiving.session.granted("d") == (2, 100)
    receiving.feed(raw.transfer("d", BODY))
    receiving.session.complete(0)
    assert receiving.session.granted("d") == (1, 90)


def test_a_window_opens_by_completion_and_not_by_acceptance() -> None:
    facing = server(2, None)
    sent = facing.session.transfer("d", BODY)
    facing.session.transfer("d", BODY)
    facing.feed(raw.accept(0))
    facing.complete_all()
    assert sent.outcome is not None
    assert sent.outcome.done
    assert facing.session.credit("d") == (0, None)
    facing.feed(raw.completed((0, 1)))
    assert facing.session.credit("d") == (2, None)
    receiving = client(2)
    receiving.feed(raw.transfer("d", b"a"))
    receiving.session.complete(0)
    assert receiving.session.granted("d")[0] == 2
    receiving.session.accept(0)
    assert receiving.session.granted("d")[0] == 2


def test_a_window_that_is_used_up_is_told_in_time() -> None:
    receiving = client(4)
    for number in range(40):
        receiving.feed(raw.transfer("d", b"%d" % number, accept_mode=1))
        receiving.session.complete(number)
    told = [each for each in receiving.names() if each == "session.completed"]
    # Before the sender's window of four is closed, and not for each.
    assert len(told) >= 10
    assert receiving.of(Failed) == []


@pytest.mark.rule("0-10/message.set-flow-mode/mode-switching")
def test_the_mode_is_switched_without_credit_only() -> None:
    facing = server(1, 10)
    facing.feed(raw.set_flow_mode("d", spec.CREDIT))
    facing.excepts(409, "message.set-flow-mode/mode-switching", 3, 0x0409)
    facing = server(1, 10)
    facing.feed(
        raw.stop() + raw.set_flow_mode("d", spec.CREDIT) + raw.flow("d", spec.MESSAGE, 1) + raw.flow("d", spec.BYTE, 10)
    )
    facing.session.transfer("d", b"x")
    facing.feed(raw.completed(0))
    assert facing.session.credit("d") == (0, 9)
    receiving = client(1)
    with pytest.raises(LocalProtocolError) as caught:
        receiving.session.call(spec.MessageSetFlowMode("d", spec.CREDIT))
    assert caught.value.rule == "0-10/message.set-flow-mode/mode-switching"
    assert receiving.sent() == []


@pytest.mark.rule("0-10/message.set-flow-mode/mode-switching")
def test_after_a_flush_the_mode_may_be_switched() -> None:
    receiving = client(5)
    handle = receiving.session.call(spec.MessageFlush("d"))
    number = receiving.last_id
    receiving.feed(raw.completed((0, number)))
    assert handle.done
    receiving.session.call(spec.MessageSetFlowMode("d", spec.CREDIT))
    assert receiving.session.granted("d") == (0, 0)


@pytest.mark.parametrize("octets", [raw.set_flow_mode("d", 2), raw.flow("d", 2, 1)])
def test_modes_and_units_that_are_not_defined(octets: bytes) -> None:
    facing = Facing.subscribed(SERVER)
    facing.feed(octets)
    facing.excepts(531, None, 1, int.from_bytes(octets[12:14]))
    receiving = Facing.subscribed(CLIENT)
    wrong = spec.MessageSetFlowMode("d", 2) if octets[13] == 9 else spec.MessageFlow("d", 2, 1)
    with pytest.raises(LocalProtocolError, match="with the"):
        receiving.session.call(wrong)
    assert receiving.sent() == []


@pytest.mark.rule("0-10/message.cancel/not-found")
@pytest.mark.parametrize(
    "octets", [raw.set_flow_mode("x", 0), raw.flow("x", 0, 1), raw.stop("x"), raw.flush_messages("x")]
)
def test_credit_is_for_subscriptions_only(octets: bytes) -> None:
    facing = Facing.subscribed(SERVER)
    facing.feed(octets)
    facing.excepts(404, "message.cancel/not-found", 1, int.from_bytes(octets[12:14]))
    receiving = Facing.subscribed(CLIENT)
    for call in (
        spec.MessageSetFlowMode("x", 0),
        spec.MessageFlow("x", 0, 1),
        spec.MessageStop("x"),
        spec.MessageFlush("x"),
    ):
        with pytest.raises(LocalProtocolError, match="no subscription"):
            receiving.session.call(call)
    with pytest.raises(LocalProtocolError, match="no subscription"):
        receiving.session.top_up("x", 5)
    assert receiving.session.granted("x") == (0, 0)


# stop and flush.


@pytest.mark.rule("0-10/message.stop/zero", "0-10/message.flow/infinite")
@pytest.mark.parametrize("credit", [3, None])
def test_after_a_stop_nothing_is_sent_until_there_is_new_credit(credit: int | None) -> None:
    facing = server(credit, credit)
    facing.feed(raw.stop() + raw.flush("completed"))
    assert facing.session.credit("d") == (0, 0)
    assert facing.of(amqp.CreditChanged) == [amqp.CreditChanged(0, "d", 0, 0)]
    # The stop is completed.
    assert facing.sent()[-1].octets == raw.completed((0, 3))
    with pytest.raises(amqp.NoCredit):
        facing.session.transfer("d", b"")
    facing.feed(raw.flow("d", spec.MESSAGE, 1) + raw.flow("d", spec.BYTE, 1))
    facing.session.transfer("d", b"x")
    assert facing.session.credit("d") == (0, 0)


@pytest.mark.rule("0-10/message.stop/zero")
def test_what_is_completed_after_a_stop_gives_nothing_back() -> None:
    facing = server(2, None)
    facing.session.transfer("d", b"x")
    facing.feed(raw.stop() + raw.completed(0))
    assert facing.session.credit("d") == (0, 0)
    receiving = client(2)
    receiving.feed(raw.transfer("d", b"x"))
    handle = receiving.session.call(spec.MessageStop("d"))
    number = receiving.last_id
    receiving.feed(raw.completed((0, number)))
    assert handle.done
    receiving.session.complete(0)
    assert receiving.session.granted("d") == (0, 0)
    receiving.feed(raw.transfer("d", b"late"))
    receiving.excepts(506, "message.subscribe/zero-credit", 1, 0x0401)


@pytest.mark.rule("0-10/message.stop/zero")
def test_what_was_under_way_when_the_stop_was_sent_still_comes() -> None:
    receiving = client(2)
    receiving.session.call(spec.MessageStop("d"))
    receiving.feed(raw.transfer("d", b"a") + raw.transfer("d", b"b"))
    assert arrived(receiving) == [b"a", b"b"]
    with pytest.raises(LocalProtocolError, match="isn't completed"):
        receiving.session.top_up("d", 5)


@pytest.mark.rule("0-10/message.flush/zero")
def test_a_flush_is_complete_with_the_credit_at_zero() -> None:
    facing = server(5, None)
    facing.feed(raw.flush_messages())
    (asked,) = facing.of(amqp.CommandReceived)
    session = facing.session
    # What there is goes out first.
    session.transfer("d", b"one of five")
    assert session.credit("d") == (4, None)
    session.complete(asked.command_id)
    assert session.credit("d") == (0, 0)
    with pytest.raises(amqp.NoCredit):
        session.transfer("d", b"x")
    receiving = client(5)
    handle = receiving.session.call(spec.MessageFlush("d"))
    number = receiving.last_id
    receiving.feed(raw.transfer("d", b"one of five") + raw.completed((0, number)))
    assert handle.done
    assert receiving.session.granted("d") == (0, 0)
    receiving.session.top_up("d", 5)
    assert receiving.session.granted("d") == (5, None)


# Overruns.


@pytest.mark.parametrize(
    ("messages", "octets", "body", "rule"),
    [
        (1, None, b"b", "message.subscribe/zero-credit"),
        (5, len(BODY), b"b", "message.set-flow-mode/byte-accounting"),
        (5, len(BODY), b"", "message.set-flow-mode/byte-accounting"),
        (5, 2 * len(BODY) - 1, BODY, "message.set-flow-mode/byte-accounting"),
    ],
)
@pytest.mark.rule("0-10/message.set-flow-mode/byte-accounting", "0-10/message.subscribe/zero-credit")
def test_more_than_was_granted_is_a_resource_limit(messages: int, octets: int | None, body: bytes, rule: str) -> None:
    facing = client(messages, octets, mode=spec.CREDIT)
    facing.feed(raw.transfer("d", BODY))
    facing.feed(raw.transfer("d", body))
    assert arrived(facing) == [BODY]
    facing.excepts(506, rule, 1, 0x0401)


@pytest.mark.rule("0-10/message.subscribe/zero-credit")
def test_without_credit_nothing_may_come() -> None:
    facing = Facing.subscribed(CLIENT)
    facing.feed(raw.transfer("d", b"x"))
    facing.excepts(506, "message.subscribe/zero-credit", 0, 0x0401)
    facing = Facing.subscribed(CLIENT)
    facing.session.call(spec.MessageFlow("d", spec.MESSAGE, 5))
    facing.feed(raw.transfer("d", b"x"))
    facing.excepts(506, "message.set-flow-mode/byte-accounting", 0, 0x0401)


def test_a_message_in_many_frames_counts_once() -> None:
    facing = client(2, 1000)
    body = BODY * 30
    facing.feed(
        raw.frame(raw.segment(0x0401, raw.str8("d")), 1, flags=0x0B)
        + raw.frame(body[:100], 3, flags=0x06)
        + raw.frame(body[100:200], 3, flags=0x04)
        + raw.frame(body[200:], 3, flags=0x05)
    )
    assert arrived(facing) == [body]
    assert facing.session.granted("d") == (1, 700)


# The server throttles.


def test_a_server_throttles_what_a_client_publishes(client: Facing) -> None:
    session = client.session
    assert session.credit("e") == (None, None)
    client.feed(raw.stop("e"))
    assert client.of(amqp.CreditChanged)[-1].messages == 0
    with pytest.raises(amqp.NoCredit, match="'e'"):
        session.transfer("e", b"x")
    session.transfer("other", b"x")
    client.feed(raw.flow("e", spec.MESSAGE, 2) + raw.flow("e", spec.BYTE, 100))
    session.transfer("e", BODY)
    assert session.credit("e") == (1, 90)
    server_side = Facing.attached(SERVER)
    server_side.session.call(spec.MessageFlow("e", spec.MESSAGE, 1))
    server_side.session.call(spec.MessageFlow("e", spec.BYTE, None))
    assert [each.NAME for each in server_side.records()] == ["message.flow"] * 2
    server_side.feed(raw.transfer("e", b"x") + raw.transfer("e", b"y"))
    assert arrived(server_side) == [b"x"]
    server_side.excepts(506, "message.subscribe/zero-credit", 1, 0x0401)


# Many subscriptions.


@pytest.mark.rule("0-10/message.subscribe/zero-credit")
def test_every_subscription_has_its_own_credit() -> None:
    facing = Facing.subscribed(SERVER)
    facing.feed(
        raw.subscribe("e")
        + raw.flow("d", spec.MESSAGE, 1)
        + raw.flow("d", spec.BYTE, None)
        + raw.flow("e", spec.MESSAGE, 2)
        + raw.flow("e", spec.BYTE, 9)
    )
    facing.complete_all()
    session = facing.session
    session.transfer("d", b"x", accept_mode=spec.NONE)
    assert (session.credit("d"), session.credit("e")) == ((0, None), (2, 9))
    facing.feed(raw.stop("e"))
    assert (session.credit("d"), session.credit("e")) == ((0, None), (0, 0))
    facing.feed(raw.completed(0))
    assert session.credit("d") == (1, None)
    assert len(facing.of(Settled)) == 1


@pytest.mark.parametrize("side", [CLIENT, SERVER])
def test_a_subscription_begins_anew_with_no_credit(side: Side) -> None:
    if side is SERVER:
        facing = server(5, None)
        facing.feed(raw.command(0x0408, raw.str8("d")))
        facing.complete_all()
        facing.feed(raw.subscribe("d"))
        assert facing.session.credit("d") == (0, 0)
        return
    facing = Facing.subscribed(CLIENT)
    facing.session.call(spec.MessageSubscribe("q", "e", 0, 0))
    assert facing.session.granted("e") == (0, 0)
    assert facing.session.granted("never") == (0, 0)


# Subscriptions of 0-10: destinations, message.resume, message.cancel, and what comes behind it (class 4).


# resume.


@pytest.mark.rule("0-10/message.resume/destination")
def test_a_server_cannot_resume_to_an_unknown_destination() -> None:
    facing = fed(0)
    facing.feed(raw.resume("nowhere", "r"))
    facing.excepts(404, "message.resume/destination", 0, 0x0406)


@pytest.mark.rule("0-10/message.resume/destination")
def test_a_client_cannot_resume_to_an_unknown_exchange(server: Facing) -> None:
    server.feed(raw.resume("nowhere", "r"))
    (asked,) = server.of(amqp.CommandReceived)
    assert (asked.command.destination, asked.command.resume_id) == ("nowhere", "r")
    server.session.fail(amqp.ExecutionError(404, "no exchange 'nowhere'"), 0, field="destination")
    server.gives_up(404, 0, 0x0406, field=0)


@pytest.mark.rule("0-10/message.resume/unknown-id")
@pytest.mark.parametrize("side", [CLIENT, SERVER])
def test_what_nothing_is_known_of_is_resumed_from_its_begin(side: Side) -> None:
    facing = fed(0) if side is CLIENT else Facing.attached(SERVER)
    facing.feed(raw.resume("d", "never heard"))
    with pytest.raises(LocalProtocolError, match="result"):
        facing.session.complete(0)
    facing.session.complete(0, spec.MessageResumeResult(0))
    facing.feed(raw.flush("completed"))
    assert facing.out == raw.result(0, raw.struct32(0x0405, raw.u64(0))) + raw.completed(0)
    client = Facing.attached(CLIENT)
    handle = client.session.call(spec.MessageResume("e", "r"))
    client.feed(raw.result(0, raw.struct32(0x0405, raw.u64(0))) + raw.completed(0))
    assert handle.result.offset == 0


# subscribe and cancel.


@pytest.mark.rule("0-10/message.subscribe/unique-destination")
def test_a_destination_in_use_is_not_allowed() -> None:
    facing = Facing.subscribed(SERVER)
    facing.feed(raw.subscribe("e") + raw.subscribe("d", "other"))
    assert len(facing.of(amqp.CommandReceived)) == 1
    facing.excepts(530, "message.subscribe/unique-destination", 2, 0x0407)
    client = Facing.subscribed(CLIENT)
    with pytest.raises(LocalProtocolError, match="in use") as caught:
        client.session.call(spec.MessageSubscribe("other", "d", 0, 0))
    assert caught.value.rule == "0-10/message.subscribe/unique-destination"


def test_a_destination_is_free_again_when_its_subscription_is_cancelled() -> None:
    facing = Facing.subscribed(SERVER)
    facing.feed(raw.cancel("d"))
    facing.complete_all()
    facing.feed(raw.subscribe("d"))
    facing.complete_all()
    assert facing.of(Failed) == []
    client = Facing.subscribed(CLIENT)
    client.session.call(spec.MessageCancel("d"))
    with pytest.raises(LocalProtocolError, match="isn't completed"):
        client.session.call(spec.MessageSubscribe("q", "d", 0, 0))
    client.feed(raw.completed((0, 1)))
    client.session.call(spec.MessageSubscribe("q", "d", 0, 0))


@pytest.mark.rule("0-10/message.cancel/not-found")
def test_what_was_never_subscribed_is_not_cancelled() -> None:
    facing = Facing.subscribed(SERVER)
    facing.feed(raw.cancel("other"))
    facing.excepts(404, "message.cancel/not-found", 1, 0x0408)
    facing = Facing.subscribed(SERVER)
    facing.feed(raw.cancel("d") + raw.cancel("d"))
    facing.excepts(404, "message.cancel/not-found", 2, 0x0408)
    client = Facing.subscribed(CLIENT)
    with pytest.raises(LocalProtocolError) as caught:
        client.session.call(spec.MessageCancel("other"))
    assert caught.value.rule == "0-10/message.cancel/not-found"


@pytest.mark.rule("0-10/message.cancel/post-cancel")
def test_a_client_has_its_say_about_messages_after_the_cancel() -> None:
    facing = fed(4, acquire_mode=spec.NOT_ACQUIRED)
    session = facing.session
    session.call(spec.MessageCancel("d"))
    acquired = session.acquire(0, 1, 2)
    last = facing.last_id
    facing.feed(
        raw.completed((0, last - 1))
        + raw.result(last, raw.struct32(0x0404, raw.ids((0, 2))))
        + raw.completed((0, last))
    )
    assert acquired.done
    session.accept(0)
    session.reject(1)
    session.release(2, 3)
    assert session.unsettled == ()
    assert [each for each in facing.names() if each.startswith("message.")] == [
        "message.cancel",
        "message.acquire",
        "message.accept",
        "message.reject",
        "message.release",
    ]


@pytest.mark.rule("0-10/message.cancel/post-cancel")
def test_a_server_hears_the_say_after_the_cancel() -> None:
    facing, sent = sending(3)
    facing.feed(raw.cancel("d"))
    facing.complete_all()
    with pytest.raises(LocalProtocolError, match="no subscription"):
        facing.session.transfer("d", b"x")
    facing.feed(raw.accept(0) + raw.reject(1) + raw.release(2))
    facing.complete_all()
    outcomes = [None if each.outcome is None else each.outcome.result for each in sent]
    assert outcomes == [Accepted(), amqp.Rejected(), amqp.Released()]


@pytest.mark.rule("0-10/message.cancel/post-cancel")
def test_what_was_under_way_when_it_was_cancelled_still_comes() -> None:
    facing = fed(0)
    cancelled = facing.session.call(spec.MessageCancel("d"))
    facing.feed(raw.transfer("d", b"late", header=raw.routed()))
    (message,) = facing.of(amqp.MessageReceived)
    facing.session.release(message.command_id)
    facing.feed(raw.completed((0, facing.last_id)))
    assert cancelled.done
    facing.forget()
    facing.feed(raw.transfer("d", b"too late", header=raw.routed()))
    facing.excepts(404, "message.subscribe/zero-credit", 1, 0x0401)


def test_a_subscription_octet_by_octet(client: Facing) -> None:
    client.session.call(
        spec.MessageSubscribe("jobs", "d", 1, 1, True, arguments={"x": spec.Typed("str16", "y")}), sync=False
    )
    client.settle()
    arguments = raw.u32(1) + b"\x01x" + b"\x95" + raw.str16("y")
    assert client.out == raw.command(
        0x0407,
        raw.str8("jobs"),
        raw.str8("d"),
        raw.u8(1),
        raw.u8(1),
        True,
        None,
        None,
        raw.u32(len(arguments)) + arguments,
    )
    record = client.records()[0]
    assert (record.queue, record.destination, record.accept_mode, record.acquire_mode) == ("jobs", "d", 1, 1)
    assert (record.exclusive, dict(record.arguments)) == (True, {"x": "y"})
