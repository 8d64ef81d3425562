"""Messages of 0-10 on their way, whole and in pieces: transfer, accept, reject, release, acquire, resume (class 4)."""

import pickle
from uuid import UUID

import pytest

from amqp_sansio import Abandoned, Accepted, Event, Failed, Limits, LocalProtocolError, Replied, Settled, Side
from amqp_sansio import amqp_0_10 as amqp
from amqp_sansio.amqp_0_10 import spec
from tests.kit import octets_0_10 as raw
from tests.kit.facing import CLIENT, SERVER
from tests.kit.facing_0_10 import Facing, client_config, fed, sending, server_config

# transfer.


def test_a_transfer_octet_by_octet(client: Facing) -> None:
    client.session.transfer("amq.direct", amqp.Message(b"body", routing_key="key"))
    client.settle()
    assert client.out == raw.content(
        bytes.fromhex("0401010007000a") + b"amq.direct" + bytes.fromhex("0000"),
        bytes.fromhex("000000080401000203") + b"key",
        b"body",
    )
    assert [octets[0] for octets in (client.out, client.out[len(client.out) - 16 :])] == [0x0B, 0x07]


@pytest.mark.parametrize(("header", "body"), [(b"", b""), (raw.routed(), b""), (b"", b"body"), (raw.routed(), b"body")])
def test_a_message_has_a_header_and_a_body_or_not(side: Side, header: bytes, body: bytes) -> None:
    facing = fed(0) if side is CLIENT else Facing.attached(SERVER)
    facing.feed(raw.transfer("d", body, header=header, sync=True))
    (message,) = facing.of(amqp.MessageReceived)
    assert (message.destination, message.body, message.sync) == ("d", body, True)
    # A client that says nothing of acceptance waits for none.
    assert (message.accepts, message.acquired) == (side is CLIENT, True)
    assert message.message.delivery_properties.routing_key == ("key" if header else None)
    assert message.message == amqp.Message(body, routing_key="key" if header else None)


@pytest.mark.rule("0-10/message.transfer/blank-destination")
@pytest.mark.parametrize("destination", ["", None])
def test_an_empty_destination_is_the_default_exchange(server: Facing, destination: str | None) -> None:
    server.feed(raw.transfer(destination, b"x", header=raw.routed("jobs")))
    (message,) = server.of(amqp.MessageReceived)
    assert (message.destination, message.message.delivery_properties.routing_key) == ("", "jobs")
    server.session.complete(0)
    client = Facing.attached(CLIENT)
    client.session.transfer("", amqp.Message(b"x", routing_key="jobs"))
    assert client.records()[0].destination == ""


@pytest.mark.rule("0-10/message.subscribe/zero-credit")
@pytest.mark.parametrize("destination", ["nowhere", "", None])
def test_a_client_has_no_such_destination(destination: str | None) -> None:
    facing = fed(0)
    facing.feed(raw.transfer(destination, b"x", header=raw.routed()))
    facing.excepts(404, "message.subscribe/zero-credit", 0, 0x0401)


@pytest.mark.rule("0-10/message.transfer/nonexistent-exchange")
def test_a_server_refuses_an_exchange_that_is_not_there(server: Facing) -> None:
    server.feed(raw.transfer("nowhere", b"x"))
    server.session.fail(amqp.ExecutionError(404, "no exchange 'nowhere'"), 0, field="destination")
    server.gives_up(404, 0, 0x0401, field=0)


def test_a_server_sends_to_subscriptions_only() -> None:
    facing, _ = sending()
    with pytest.raises(LocalProtocolError, match="no subscription"):
        facing.session.transfer("nowhere", b"x")
    assert facing.sent() == []


@pytest.mark.rule("0-10/message.message-properties/user-id")
@pytest.mark.parametrize("body", [b"", b"body"])
@pytest.mark.parametrize("name", [b"bob", b"", b"ann\0", b"\xff"])
def test_a_user_id_is_that_of_the_one_who_is_logged_in(server: Facing, name: bytes, body: bytes) -> None:
    server.feed(raw.transfer("", body, header=raw.user_id(b"ann")) + raw.transfer("", body, header=raw.user_id(name)))
    (message,) = server.of(amqp.MessageReceived)
    assert message.headers.message_properties.user_id == b"ann"
    server.excepts(403, "message.message-properties/user-id", 1, 0x0401)


@pytest.mark.rule("0-10/message.message-properties/user-id")
@pytest.mark.parametrize(("mechanism", "refused"), [("ANONYMOUS", True), ("EXTERNAL", False)])
def test_who_has_no_name_sends_none_and_whose_name_is_elsewhere_is_left_to_the_application(
    mechanism: str, refused: bool
) -> None:
    facing = Facing.started(SERVER, server_config(mechanisms=(mechanism,)))
    facing.feed(raw.start_ok(mechanism, b"ann"))
    facing.end.accept_authentication()
    facing.feed(raw.tune_ok() + raw.open_())
    facing.end.accept_open()
    facing.feed(raw.attach())
    facing.end.accept_session(0)
    assert facing.end.user == ""
    facing.feed(raw.command_point() + raw.transfer("", b"x") + raw.transfer("", b"x", header=raw.user_id(b"ann")))
    assert len(facing.of(amqp.MessageReceived)) == 2 - refused
    if refused:
        facing.excepts(403, "message.message-properties/user-id", 1, 0x0401)


def test_headers_go_on_octet_by_octet() -> None:
    header = (
        raw.struct32(0x4711, None, True) + raw.struct32(0x0403, *[None] * 4, raw.str8("text/plain")) + raw.routed("k")
    )
    facing = Facing.attached(SERVER)
    facing.feed(raw.transfer("", b"x", header=header))
    (message,) = facing.of(amqp.MessageReceived)
    assert message.headers.raw == header
    (other,) = message.headers.others
    assert isinstance(other, amqp.spec.Struct32)
    client = Facing.attached(CLIENT)
    client.session.transfer("", message.message)
    assert client.sent()[0].segments[2] == header


def test_every_property_of_a_message_octet_by_octet() -> None:
    message = amqp.Message(
        b"",
        delivery_properties=amqp.DeliveryProperties(
            discard_unroutable=True,
            immediate=True,
            redelivered=True,
            priority=9,
            delivery_mode=2,
            ttl=1000,
            exchange="e",
            routing_key="k",
        ),
        message_properties=amqp.MessageProperties(
            content_length=5, message_id=UUID(int=7), correlation_id=b"c", content_type="t", user_id=b"ann", app_id=b"a"
        ),
    )
    facing = Facing.attached(CLIENT)
    facing.session.transfer("", message)
    assert facing.sent()[0].segments[2] == raw.struct32(
        0x0401, True, True, True, raw.u8(9), raw.u8(2), raw.u64(1000), None, None, raw.str8("e"), raw.str8("k")
    ) + raw.struct32(
        0x0403,
        raw.u64(5),
        UUID(int=7).bytes,
        raw.str16("c"),
        None,
        raw.str8("t"),
        None,
        raw.str16("ann"),
        raw.str16("a"),
    )


@pytest.mark.rule("0-10/message.delivery-properties/redelivered-sticky")
def test_redelivered_goes_both_ways() -> None:
    facing = fed(0)
    facing.feed(raw.transfer("d", b"x", header=raw.struct32(0x0401, False, False, True)))
    assert facing.of(amqp.MessageReceived)[0].headers.delivery_properties.redelivered
    server, _ = sending()
    server.session.transfer("d", amqp.Message(b"x", delivery_properties=amqp.DeliveryProperties(redelivered=True)))
    assert server.sent()[0].headers.raw == raw.struct32(0x0401, False, False, True)


# The outcome.


def test_a_published_message_that_is_executed_is_taken(client: Facing) -> None:
    one = client.session.transfer("e", b"x")
    two = client.session.transfer("e", b"x", accept_mode=amqp.spec.NONE)
    assert one.outcome is not None
    assert two.outcome is None
    client.feed(raw.completed((0, 1)))
    assert client.events == [
        Settled((one.completion, two.completion), amqp.Completed()),
        Settled((one.outcome,), Accepted()),
    ]
    assert client.session.pending == ()


def test_a_published_message_that_is_unroutable_is_rejected(client: Facing) -> None:
    sent = client.session.transfer("e", b"x")
    assert sent.outcome is not None
    client.forget()
    client.feed(raw.reject(0, code=1, text="unroutable") + raw.completed(0))
    assert sent.outcome.result == amqp.Rejected(1, "unroutable")
    assert sent.completion.result is None
    assert client.of(Settled) == [
        Settled((sent.outcome,), amqp.Rejected(1, "unroutable")),
        Settled((sent.completion,), amqp.Completed()),
    ]
    # The reject is a command too.
    client.feed(raw.flush("completed"))
    assert client.sent()[-1].octets == raw.completed(0)


@pytest.mark.parametrize(
    ("octets", "state"),
    [
        (raw.accept(0), Accepted()),
        (raw.reject(0), amqp.Rejected()),
        (raw.release(0), amqp.Released()),
        (raw.release(0, set_redelivered=True), amqp.Released(True)),
    ],
)
@pytest.mark.parametrize("side", [CLIENT, SERVER])
def test_a_word_about_a_message_settles_it_once(side: Side, octets: bytes, state: object) -> None:
    if side is CLIENT:
        facing = Facing.attached(CLIENT)
        sent = facing.session.transfer("e", b"x")
    else:
        facing, (sent,) = sending()
    outcome = sent.outcome
    assert outcome is not None
    facing.forget()
    facing.feed(octets)
    if side is SERVER:
        (asked,) = facing.of(amqp.CommandReceived)
        assert asked.pendings == (outcome,)
        assert not outcome.done
        facing.session.complete(asked.command_id)
        facing.settle()
    assert outcome.result == state
    facing.feed(octets + raw.completed(0))
    if side is SERVER:
        facing.complete_all()
    assert facing.of(Settled) == [Settled((outcome,), state), Settled((sent.completion,), amqp.Completed())]


@pytest.mark.parametrize(
    ("say", "octets"),
    [
        ("accept", "04020100010000080000000000000001"),
        ("reject", "040301000300000800000000000000010000"),
        ("release", "04040100010000080000000000000001"),
    ],
)
def test_a_word_about_messages_octet_by_octet(say: str, octets: str) -> None:
    facing = fed(3)
    getattr(facing.session, say)(0, 1)
    facing.settle()
    assert facing.sent()[0].octets[12:] == bytes.fromhex(octets)
    assert facing.session.unsettled == (2,)
    # They are taken, too: nothing is left to be completed of them.
    assert facing.session.incomplete == (2,)
    facing.forget()
    facing.feed(raw.flush("completed"))
    assert facing.out == raw.completed((0, 1))
    with pytest.raises(LocalProtocolError, match="already settled"):
        getattr(facing.session, say)(0)


@pytest.mark.rule("0-10/message.release/set-redelivered")
def test_release_with_set_redelivered_octet_by_octet() -> None:
    facing = fed()
    facing.session.release(0, set_redelivered=True)
    facing.settle()
    assert facing.out == raw.release(0, set_redelivered=True)
    facing = fed()
    facing.session.reject(0, code=1, text="no")
    facing.settle()
    assert facing.out == raw.reject(0, code=1, text="no")


def test_a_message_of_accept_mode_none_wants_no_word() -> None:
    facing = fed(accept_mode=1)
    assert facing.session.unsettled == ()
    assert facing.session.incomplete == (0,)
    with pytest.raises(LocalProtocolError, match="accept-mode none"):
        facing.session.accept(0)
    facing.session.complete(0)
    facing.feed(raw.flush("completed"))
    assert facing.out == raw.completed(0)


def test_a_message_can_be_completed_before_it_is_accepted() -> None:
    facing = fed()
    facing.session.complete(0)
    assert facing.session.unsettled == (0,)
    handle = facing.session.accept(0, sync=True)
    (told,) = facing.sent()
    assert told.octets == raw.accept(0, sync=True)
    facing.feed(raw.completed((0, facing.last_id)))
    assert handle.done


def test_a_server_is_told_of_words_about_messages_it_never_sent() -> None:
    facing, _ = sending()
    facing.feed(raw.accept(7))
    facing.excepts(542, None, 3, 0x0402)


# acquire.


@pytest.mark.rule("0-10/message.accept/acquisition")
def test_only_what_is_acquired_is_accepted() -> None:
    facing = fed(2, acquire_mode=amqp.spec.NOT_ACQUIRED)
    with pytest.raises(LocalProtocolError) as caught:
        facing.session.accept(0)
    assert caught.value.rule == "0-10/message.accept/acquisition"
    assert facing.sent() == []
    assert facing.session.unsettled == (0, 1)
    server, _ = sending(acquire_mode=amqp.spec.NOT_ACQUIRED)
    server.feed(raw.accept(0))
    server.excepts(542, "message.accept/acquisition", 3, 0x0402)


@pytest.mark.rule("0-10/message.reject/acquisition")
def test_a_reject_of_what_is_not_acquired_is_ignored() -> None:
    facing, (sent,) = sending(acquire_mode=amqp.spec.NOT_ACQUIRED)
    outcome = sent.outcome
    assert outcome is not None
    facing.feed(raw.reject(0))
    (asked,) = facing.of(amqp.CommandReceived)
    # The application isn't told of a message that it would drop.
    assert asked.pendings == ()
    facing.session.complete(asked.command_id)
    facing.settle()
    assert not outcome.done
    assert facing.of(Failed) == []
    facing.feed(raw.acquire(0))
    facing.session.complete(4, spec.Acquired(amqp.SequenceSet.of(0)))
    facing.feed(raw.reject(0))
    assert facing.asked().pendings == (outcome,)
    facing.session.complete(5)
    assert outcome.result == amqp.Rejected()


@pytest.mark.rule("0-10/message.reject/acquisition")
def test_the_own_reject_of_what_is_not_acquired_changes_nothing() -> None:
    facing = fed(acquire_mode=amqp.spec.NOT_ACQUIRED)
    facing.session.reject(0)
    assert list(facing.session.unsettled) == [0]
    facing.session.release(0)
    assert list(facing.session.unsettled) == []


@pytest.mark.rule("0-10/message.acquire/one-to-one")
def test_every_acquire_has_one_result_with_what_was_acquired() -> None:
    facing, sent = sending(3, acquire_mode=amqp.spec.NOT_ACQUIRED)
    session = facing.session
    facing.feed(raw.acquire((0, 2)))
    (asked,) = facing.of(amqp.CommandReceived)
    assert asked.pendings == tuple([each.outcome for each in sent])
    last = asked.command_id
    with pytest.raises(LocalProtocolError, match=r"has message\.acquired result"):
        session.complete(last)
    session.complete(last, spec.Acquired(amqp.SequenceSet.of(0, 2)))
    with pytest.raises(LocalProtocolError):
        session.complete(last, spec.Acquired(amqp.SequenceSet.of(1)))
    facing.feed(raw.flush("completed"))
    assert facing.out == raw.result(last, raw.struct32(0x0404, raw.ids(0, 2))) + raw.completed((0, last))
    # Those that are acquired can be accepted.
    facing.forget()
    facing.feed(raw.accept(0, 2))
    session.complete(last + 1)
    assert [each.outcome.done for each in sent if each.outcome] == [True, False, True]
    facing.feed(raw.acquire(1))
    session.complete(last + 2, spec.Acquired(amqp.SequenceSet()))
    assert facing.names().count("execution.result") == 1
    facing.feed(raw.accept(1))
    facing.excepts(542, "message.accept/acquisition", last + 3, 0x0402)


@pytest.mark.rule("0-10/message.acquire/one-to-one")
def test_a_client_accepts_what_it_has_acquired() -> None:
    facing = fed(2, acquire_mode=amqp.spec.NOT_ACQUIRED)
    handle = facing.session.acquire(0, 1)
    assert facing.sent()[-1].octets[12:] == bytes.fromhex("04050101010000080000000000000001")
    last = facing.last_id
    facing.feed(raw.result(last, raw.struct32(0x0404, raw.ids(1))) + raw.completed((0, last)))
    assert handle.result == spec.Acquired(amqp.SequenceSet.of(1))
    assert Replied(handle) in facing.events
    facing.session.accept(1)
    with pytest.raises(LocalProtocolError, match="not acquired"):
        facing.session.accept(0)


# What ends with the session.


def test_what_a_lost_session_had_under_way_is_abandoned(side: Side) -> None:
    if side is CLIENT:
        facing = Facing.attached(CLIENT)
        sent = facing.session.transfer("e", b"x")
    else:
        facing, (sent,) = sending()
    facing.end.connection_lost("cut", 1.0)
    facing.now = 1.0
    facing.settle()
    (abandoned,) = facing.of(Abandoned)
    assert set(abandoned.pendings) == {sent.completion, sent.outcome}


def test_a_transfer_that_is_refused_fails_with_all_others(client: Facing) -> None:
    one, two = client.session.transfer("nowhere", b"x"), client.session.transfer("e", b"y")
    client.feed(raw.exception(404, 0, 4, 1, 0, "no exchange 'nowhere'"))
    (failed,) = client.of(Failed)
    assert set(failed.pendings) == {one.completion, one.outcome, two.completion, two.outcome}
    assert (failed.error.code, failed.error.class_id, failed.error.method_id) == (404, 4, 1)


def test_messages_of_two_subscriptions_are_told_apart() -> None:
    facing = fed(0)
    facing.session.call(spec.MessageSubscribe("q", "other", 0, 0))
    facing.session.call(spec.MessageFlow("other", 0, 1))
    facing.session.call(spec.MessageFlow("other", 1, None))
    facing.feed(
        raw.transfer("other", b"a", header=raw.routed()) + raw.transfer("d", b"b", header=raw.routed()) + raw.sync()
    )
    assert [(each.destination, each.body) for each in facing.of(amqp.MessageReceived)] == [("other", b"a"), ("d", b"b")]
    assert facing.session.granted("other") == (0, None)
    assert facing.session.granted("d")[0] == 99


def test_a_large_message_is_cut_into_frames_of_the_agreed_size() -> None:
    facing = Facing.attached(CLIENT, client_config(max_frame_size=4096))
    body = bytes(range(256)) * 50
    facing.session.transfer("e", amqp.Message(body, content_type="x" * 200))
    facing.session.transfer("e", amqp.Message(b"", application_headers={"k": "v" * 9000}))
    large, headed = facing.sent()
    assert large.body == body
    assert max(large.sizes) == 4096
    assert len(large.sizes) == 2 + 4
    assert max(headed.sizes) == 4096
    properties = headed.headers.message_properties
    assert properties is not None
    assert properties.application_headers == {"k": "v" * 9000}
    server = Facing.attached(SERVER, server_config(max_frame_size=65_535))
    server.feed(large.octets + headed.octets)
    assert [each.body for each in server.of(amqp.MessageReceived)] == [body, b""]


def test_a_command_segment_is_cut_into_frames_too() -> None:
    facing = Facing.attached(CLIENT, client_config(max_frame_size=4096))
    facing.session.call(spec.MessageSubscribe("q", "d", 0, 0, arguments={"k": "v" * 9000}))
    (told,) = facing.sent()
    assert len(told.sizes) == 3
    server = Facing.attached(SERVER)
    server.feed(told.octets)
    assert dict(server.asked().command.arguments) == {"k": "v" * 9000}
    assert told.octets[12 : 12 + 4] == raw.segment(0x0407, sync=True)[:4]


# Bodies of 0-10 that come in pieces (Config.stream_above): begun, received, aborted, completed, counted.


ABOVE = 10
HEAD = raw.frame(raw.segment(0x0401, raw.str8("d"), sync=True), 1, flags=0x0B)


def streaming(side: Side, credit: int = 100, octets: int | None = None, **changes: object) -> Facing:
    """An endpoint that takes bodies above ten octets in pieces; a client has the subscription "d"."""
    if side is SERVER:
        return Facing.attached(SERVER, server_config(stream_above=ABOVE, **changes), keep=60)
    facing = Facing.subscribed(CLIENT, client_config(stream_above=ABOVE, **changes), keep=60)
    facing.session.top_up("d", credit, octets)
    return facing.forget()


def pieces(*bodies: bytes, header: bytes = b"") -> bytes:
    """The frames of a message behind its command, one for each piece of its body."""
    last = len(bodies) - 1
    frames = [raw.frame(each, 3, flags=4 | (0 if n else 2) | (1 if n == last else 0)) for n, each in enumerate(bodies)]
    return (raw.frame(header, 2, flags=3) if header else b"") + b"".join(frames)


def told(events: list[Event]) -> list[object]:
    """The kinds of events, and the octets of bodies."""
    return [event.octets if isinstance(event, amqp.BodyReceived) else type(event) for event in events]


@pytest.mark.parametrize("size", [0, ABOVE - 1, ABOVE])
def test_a_body_up_to_the_bound_comes_as_a_whole(side: Side, size: int) -> None:
    facing = streaming(side)
    facing.feed(raw.transfer("d", b"x" * size, header=raw.routed()))
    (message,) = facing.events
    assert isinstance(message, amqp.MessageReceived)
    assert message.body == b"x" * size


def test_a_larger_body_comes_in_pieces(side: Side) -> None:
    facing = streaming(side)
    facing.feed(HEAD + pieces(b"12345", b"67890", b"abc", b"de", b"", b"fghij", header=raw.routed()))
    begun = facing.events[0]
    assert isinstance(begun, amqp.MessageBegun)
    mode = None if side is Side.CLIENT else amqp.spec.NONE
    assert begun == amqp.MessageBegun(0, 0, spec.MessageTransfer("d", mode), begun.headers, True)
    assert begun.headers.raw == raw.routed()
    # It's told to begin when it has become too large; what is there then comes together.
    assert told(facing.events) == [amqp.MessageBegun, b"1234567890abc", b"de", b"", b"fghij"]
    assert [event.last for event in facing.of(amqp.BodyReceived)] == [False, False, False, True]
    facing.session.complete(0)
    facing.settle()
    assert facing.out == raw.completed(0)


def test_a_large_body_in_one_frame_is_told_with_its_only_piece(side: Side) -> None:
    facing = streaming(side)
    facing.feed(HEAD + pieces(b"x" * 50))
    begun, body = facing.events
    assert isinstance(begun, amqp.MessageBegun)
    assert body == amqp.BodyReceived(0, 0, b"x" * 50, last=True)


def test_nothing_of_the_body_is_kept(side: Side) -> None:
    facing = streaming(side, limits=Limits(bodies=100, message=1 << 30, unparsed=1 << 20))
    facing.feed(HEAD + raw.frame(b"x" * 50, 3, flags=6))
    for _ in range(100):
        facing.feed(raw.frame(b"y" * 90, 3, flags=4))
    facing.feed(raw.frame(b"z", 3, flags=5))
    assert sum([len(event.octets) for event in facing.of(amqp.BodyReceived)]) == 50 + 9000 + 1
    assert len(pickle.dumps(facing.end)) < 20_000
    facing.session.complete(0)
    assert facing.session.incomplete == ()


def test_a_message_that_is_still_arriving_is_not_completed(side: Side) -> None:
    facing = streaming(side)
    facing.feed(HEAD + raw.frame(b"x" * 20, 3, flags=6))
    with pytest.raises(LocalProtocolError, match="still arriving"):
        facing.session.complete(0)
    facing.feed(raw.frame(b"y", 3, flags=5))
    facing.session.complete(0)


@pytest.mark.rule("0-10/session.gap/abort-partial")
def test_a_gap_aborts_the_rest(side: Side) -> None:
    facing = streaming(side)
    facing.feed(HEAD + raw.frame(b"x" * 20, 3, flags=6) + raw.gap(0))
    assert facing.events[-1] == amqp.BodyAborted(0, 0)
    assert facing.session.incomplete == ()
    assert facing.session.unsettled == ()
    facing.feed(raw.transfer("d", b"next"))
    assert facing.of(amqp.MessageReceived)[0].command_id == 1


def test_a_body_that_begins_again_is_aborted_first(side: Side) -> None:
    facing = streaming(side)
    facing.feed(HEAD + raw.frame(b"x" * 20, 3, flags=6) + raw.command_point(0) + HEAD + pieces(b"y" * 20, b"z"))
    assert told(facing.events) == [amqp.MessageBegun, b"x" * 20, amqp.BodyAborted, amqp.MessageBegun, b"y" * 20, b"z"]
    facing.session.complete(0)
    facing.settle()
    assert facing.out.endswith(raw.completed(0))


@pytest.mark.rule("0-10/session/exactly-once")
def test_a_lost_transport_aborts_the_rest_and_it_comes_again() -> None:
    before = streaming(SERVER)
    before.feed(HEAD + raw.frame(b"x" * 20, 3, flags=6))
    session = before.session
    before.end.connection_lost("cut", 0.0)
    before.settle()
    kinds = told(before.events)
    assert kinds[:3] == [amqp.MessageBegun, b"x" * 20, amqp.BodyAborted]
    assert amqp.SessionClosed in kinds
    state = pickle.loads(pickle.dumps(session.detached_state()))
    facing = Facing.accepted(server_config(stream_above=ABOVE), state)
    facing.feed(raw.flush("expected") + raw.expected(0) + raw.command_point(0) + HEAD + pieces(b"x" * 20, b"y" * 20))
    assert facing.sent()[0].octets == raw.expected(0)
    assert told(facing.events)[-3:] == [amqp.MessageBegun, b"x" * 20, b"y" * 20]
    assert facing.session.incomplete == (0,)


def test_a_streamed_message_counts_as_any_other() -> None:
    facing = streaming(CLIENT, 2, 100)
    session = facing.session
    facing.feed(HEAD + pieces(b"x" * 20, b"y" * 20, header=raw.routed()))
    size = 40 + len(raw.routed())
    assert session.granted("d") == (1, 100 - size)
    session.complete(0)
    assert session.granted("d") == (2, 100)
    session.accept(0)
    assert session.unsettled == ()


@pytest.mark.parametrize("body", [(b"x" * 60, b"y" * 60), (b"x" * 50, b"y" * 50, b"z")])
def test_a_streamed_message_above_the_credit_is_an_overrun(body: tuple[bytes, ...]) -> None:
    facing = streaming(CLIENT, 2, 100)
    facing.feed(HEAD + pieces(*body))
    (failed,) = facing.of(Failed)
    assert (failed.error.code, failed.error.rule) == (506, "0-10/message.set-flow-mode/byte-accounting")
    told_ = facing.records()[-3]
    assert (told_.NAME, told_.command_id) == ("execution.exception", 0)


def test_a_streamed_message_is_checked_when_it_begins() -> None:
    facing = streaming(SERVER)
    facing.feed(HEAD + pieces(b"x" * 60, b"y" * 60, header=raw.user_id(b"bob")))
    assert facing.of(amqp.MessageBegun) == []
    (failed,) = facing.of(Failed)
    assert failed.error.code == 403
    client = streaming(CLIENT)
    client.feed(raw.frame(raw.segment(0x0401, raw.str8("nowhere")), 1, flags=0x0B) + pieces(b"x" * 60, b"y"))
    assert client.of(amqp.MessageBegun) == []
    assert client.of(Failed)[0].error.code == 404


def test_only_messages_are_streamed() -> None:
    facing = streaming(SERVER)
    facing.feed(raw.frame(raw.segment(0x0A06, raw.str8(""), raw.str8("k")), 1, flags=0x0B) + pieces(b"x" * 60, b"y"))
    (asked,) = facing.events
    assert isinstance(asked, amqp.CommandReceived)
    assert (asked.command.NAME, asked.body) == ("stream.publish", b"x" * 60 + b"y")


def test_a_streamed_body_is_bounded_all_the_same(side: Side) -> None:
    facing = streaming(side, limits=Limits(message=100))
    facing.feed(HEAD + raw.frame(b"x" * 60, 3, flags=6) + raw.frame(b"y" * 41, 3, flags=4))
    assert told(facing.events)[:2] == [amqp.MessageBegun, b"x" * 60]
    assert amqp.BodyAborted in told(facing.events)
    facing.gives_up(506, 0, None)


def test_a_stream_goes_on_from_a_snapshot(side: Side) -> None:
    facing = streaming(side)
    facing.feed(HEAD + raw.frame(b"x" * 20, 3, flags=6))
    facing.end = pickle.loads(pickle.dumps(facing.end))
    facing.feed(raw.frame(b"y", 3, flags=5))
    facing.session.complete(0)
    facing.settle()
    assert told(facing.events) == [amqp.MessageBegun, b"x" * 20, b"y"]
    assert facing.out == raw.completed(0)


@pytest.mark.parametrize("name", ["accept", "reject", "release", "acquire"])
def test_ids_are_given_one_by_one(name: str) -> None:
    facing = fed(1)
    with pytest.raises(TypeError, match=r"one by one, as in accept\(\*command_ids\); got \(\[0\],\)"):
        getattr(facing.session, name)([0])
