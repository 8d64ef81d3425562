"""Endings: what channels and connections report when they end, in which order, closes that cross, and hints."""

from typing import Any

import pytest

from amqp_sansio import (
    AMQP_0_8,
    AMQP_0_9_1,
    Abandoned,
    By,
    Closed,
    CloseHint,
    EndpointClosed,
    Failed,
    Limits,
    LocalProtocolError,
    RemoteProtocolError,
    Scope,
    Version,
)
from amqp_sansio.amqp_0_9_1 import BasicProperties, ContentAborted, Delivery, Published
from amqp_sansio.endpoint import Side
from tests.kit.applications import Server
from tests.kit.facing_classic import Facing
from tests.kit.octets_classic import body, frame, header
from tests.kit.pair_classic import Pair, client_config, server_config


def busy(version: Version, side: Side) -> Facing:
    """An end with two channels, of which the first has a call, deliveries and publishes open."""
    facing = Facing.opened(version, side, 2)
    if side is Side.CLIENT:
        channel = facing.channel
        channel.call(facing.make("basic.consume", queue="q", consumer_tag="c", no_wait=True))
        if "confirm.select" in facing.dialect.named:
            channel.call(facing.make("confirm.select", no_wait=True))
        channel.publish(b"1")
        channel.call(facing.make("queue.declare", queue="q"))
        for tag in (1, 2):
            facing.feed(facing.message("basic.deliver", consumer_tag="c", delivery_tag=tag))
    else:
        facing.feed(
            facing.method("basic.consume", queue="q", consumer_tag="c", no_wait=True),
            facing.method("queue.declare", queue="q"),
        )
        for _ in range(2):
            facing.channel.deliver(b"", consumer_tag="c")
    return facing.forget()


def test_a_lost_transport_ends_every_channel_and_then_the_connection(version: Version, side: Side) -> None:
    facing = busy(version, side)
    first = facing.channel
    facing.end.connection_lost("reset by peer", facing.now)
    assert facing.end.close_hint is CloseHint.CLOSE_NOW
    facing.settle()
    names = [type(event).__name__ for event in facing.events]
    assert names == ["Abandoned", "Closed", "Closed", "Closed"]
    assert [event.channel for event in facing.of(Closed)] == [1, 2, 0]
    reports = [event.report for event in facing.of(Closed)]
    assert {(report.by, report.text) for report in reports} == {(By.TRANSPORT, "reset by peer")}
    assert [report.unsettled for report in reports] == [(1, 2), (), ()]
    (abandoned,) = facing.of(Abandoned)
    assert abandoned.report == reports[0]
    for handle in abandoned.pendings:
        assert isinstance(handle.error, EndpointClosed)
        with pytest.raises(EndpointClosed, match="reset by peer"):
            _ = handle.result
    with pytest.raises(EndpointClosed, match="reset by peer"):
        first.call(facing.make("basic.qos"))
    assert first.report == reports[0]
    assert facing.end.data_to_send(facing.now) == b""


@pytest.mark.parametrize("code", [200, 320])
def test_a_close_of_the_connection_is_told_once(version: Version, side: Side, code: int) -> None:
    """A normal one is no failure."""
    facing = busy(version, side)
    facing.feed(facing.method("connection.close", 0, reply_code=code, reply_text="going", class_id=50))
    names = [type(event).__name__ for event in facing.events]
    assert names == [*["Failed"] * (code == 320), "Abandoned", "Closed", "Closed", "Closed"]
    for failed in facing.of(Failed):
        assert (failed.scope, failed.by, failed.channel) == (Scope.CONNECTION, By.REMOTE, 0)
        assert isinstance(failed.error, EndpointClosed)
    for closed in facing.of(Closed):
        assert (closed.report.by, closed.report.code, closed.report.class_id) == (By.REMOTE, code, 50)
        assert closed.report.hint or code == 200
    assert facing.names() == ["connection.close-ok"]
    assert facing.end.close_hint is CloseHint.CLOSE_WHEN_SENT


def test_a_channel_that_was_refused_fails_the_blamed_call(client: Facing) -> None:
    channel = client.channel
    declares = [channel.call(client.make("queue.declare", queue=name)) for name in "ab"]
    other = channel.call(client.make("basic.qos"))
    blamed = client.make("queue.declare")
    client.feed(
        client.method(
            "channel.close",
            reply_code=404,
            reply_text="NOT_FOUND",
            class_id=blamed.CLASS_ID,
            method_id=blamed.METHOD_ID,
        )
    )
    (failed,) = client.of(Failed)
    (abandoned,) = client.of(Abandoned)
    assert failed.pendings == (declares[0],)
    assert abandoned.pendings == (declares[1], other)
    assert [type(event) for event in client.events] == [Failed, Abandoned, Closed]
    assert "404 NOT_FOUND" in str(declares[0].error)


def test_a_refused_opening_of_a_channel_fails_its_handle(version: Version) -> None:
    facing = Facing.opened(version, Side.CLIENT, 0)
    channel = facing.end.open_channel()
    handle = channel.opening
    facing.feed(facing.method("channel.close", reply_code=504, reply_text="no", class_id=20, method_id=10))
    (failed,) = facing.of(Failed)
    assert failed.pendings == (handle,)
    assert facing.end.channels == ()


@pytest.mark.rule("0-9-1/channel.close/discard", "0-9-1/connection.close/answer")
@pytest.mark.parametrize(("own", "theirs", "wins"), [(200, 404, 404), (406, 404, 406), (200, 200, 200)])
def test_crossing_closes_of_a_channel_report_the_error(
    version: Version, side: Side, own: int, theirs: int, wins: int
) -> None:
    facing = busy(version, side)
    facing.channel.close(own, "own")
    facing.feed(facing.method("channel.close", reply_code=theirs, reply_text="theirs"))
    assert not facing.of(Closed)
    assert facing.names() == ["channel.close", "channel.close-ok"]
    facing.feed(facing.method("channel.close-ok"))
    (closed,) = facing.of(Closed)
    assert (closed.channel, closed.report.code) == (1, wins)
    assert closed.report.by is (By.REMOTE if wins == 404 else By.LOCAL)
    assert closed.report.unsettled == (1, 2)
    assert len(facing.of(Failed)) == (1 if wins == 404 else 0)
    assert facing.end.channels == (2,)


@pytest.mark.parametrize(("own", "theirs", "wins"), [(200, 320, 320), (320, 541, 320), (200, 200, 200)])
@pytest.mark.rule("0-9-1/connection.close/answer", "0-9-1/connection.close/discard")
@pytest.mark.rule("0-8/connection.close/handshake", "0-9-1/connection.close/handshake")
def test_crossing_closes_of_a_connection_report_the_error(
    version: Version, side: Side, own: int, theirs: int, wins: int
) -> None:
    facing = busy(version, side)
    facing.end.close(own, "own")
    facing.feed(facing.method("connection.close", 0, reply_code=theirs, reply_text="theirs"))
    assert not facing.of(Closed)
    assert facing.hint() is CloseHint.KEEP
    facing.feed(facing.method("connection.close-ok", 0))
    assert [event.report.code for event in facing.of(Closed)] == [wins] * 3
    assert facing.end.close_hint is CloseHint.CLOSE_WHEN_SENT
    assert facing.names() == ["connection.close", "connection.close-ok"]


def test_octets_that_are_no_frames_after_an_own_close_end_it(facing: Facing) -> None:
    facing.end.close(200, "bye")
    facing.feed(b"these are no frames")
    assert [type(event) for event in facing.events] == [Closed, Closed]
    assert facing.end.report is not None
    assert (facing.end.report.by, facing.end.report.code) == (By.LOCAL, 200)
    assert facing.names() == ["connection.close"]
    assert facing.end.close_hint is CloseHint.CLOSE_WHEN_SENT


def test_a_violation_and_all_that_follows_it_in_one_read(facing: Facing) -> None:
    facing.feed(body(1, b"x") * 3 + facing.method("basic.qos-ok") + b"\xff" * 50)
    (failed,) = facing.of(Failed)
    assert isinstance(failed.error, RemoteProtocolError)
    assert [type(event) for event in facing.events] == [Failed, Closed, Closed]
    assert facing.names() == ["connection.close"]


def test_a_server_that_never_decides_is_timed_out_too(version: Version) -> None:
    pair = Pair(version, applications={Side.SERVER: Server(vhost=False)})
    pair.drive()
    for end in pair.ends.values():
        assert end.report is not None
        assert end.next_deadline is None


def test_replies_still_go_out_after_the_peer_has_ended_its_stream(pair: Pair) -> None:
    pair.channel()
    pair.client.channel(1).call(pair.method("queue.declare", queue="q"))
    pair.write(Side.CLIENT)
    pair.server.receive_data(bytes(pair.flying[Side.CLIENT]), 0.0)
    pair.server.receive_eof(0.0)
    pair.drain(Side.SERVER)
    assert pair.server.close_hint is CloseHint.CLOSE_WHEN_SENT
    assert pair.server.send_backlog > 0


def test_commands_after_a_lost_transport_say_so(version: Version, side: Side) -> None:
    """Also for what was received before the cut and is answered after it."""
    facing = busy(version, side)
    channel = facing.channel
    facing.end.connection_lost("reset", facing.now)
    commands: list[Any] = [lambda: channel.call(facing.make("basic.qos"))]
    if side is Side.CLIENT:
        commands += [
            lambda: channel.publish(b"late"),
            lambda: channel.accept(1),
            lambda: channel.accept(0, multiple=True),
            lambda: channel.begin(facing.make("basic.publish"), BasicProperties(), 1),
            facing.end.open_channel,
        ]
    else:
        commands += [
            lambda: channel.reply(facing.make("queue.declare-ok")),
            lambda: channel.deliver(b"", consumer_tag="c"),
            lambda: facing.end.accept_open(),
        ]
    for command in commands:
        with pytest.raises(EndpointClosed, match="transport lost") as caught:
            command()
        assert caught.value.report is not None
    channel.close()
    facing.end.close()
    assert facing.end.send_backlog == 0
    facing.settle()
    assert facing.end.report is not None
    assert facing.end.report.by is By.TRANSPORT


def test_work_received_before_a_cut_and_answered_after_it(client: Facing) -> None:
    channel = client.channel
    channel.call(client.make("basic.consume", queue="q", consumer_tag="c", no_wait=True))
    client.settle()
    client.end.receive_data(client.message("basic.deliver", consumer_tag="c", delivery_tag=1), 0.0)
    client.end.connection_lost("reset", 0.0)
    delivery = client.end.next_event()
    assert isinstance(delivery, Delivery)
    with pytest.raises(EndpointClosed):
        channel.accept(delivery.delivery_tag)
    client.settle()
    assert client.of(Closed)[0].report.unsettled == (1,)


def test_an_old_channel_stays_closed_when_its_number_is_used_again(pair: Pair) -> None:
    old = pair.channel()
    old_peer = pair.peer(old)
    old.close()
    pair.pump()
    new = pair.channel()
    assert new.number == old.number
    with pytest.raises(EndpointClosed, match="closed by this side"):
        old.publish(b"x")
    with pytest.raises(EndpointClosed, match="closed by the peer"):
        old_peer.call(pair.method("channel.flow", active=True))
    old.close()
    assert new.is_open
    assert not old.is_open


def test_numbers_are_used_again_lowest_first(pair: Pair) -> None:
    channels = [pair.channel() for _ in range(5)]
    for number in (2, 4):
        channels[number - 1].close()
    pair.pump()
    assert [pair.channel().number for _ in range(3)] == [2, 4, 6]
    assert pair.client.open_channel(9).number == 9
    with pytest.raises(LocalProtocolError):
        pair.client.open_channel(9)
    assert pair.client.open_channel().number == 7


@pytest.mark.parametrize("by", ["channel", "own channel", "connection", "lost"])
def test_content_in_pieces_is_aborted_with_its_channel(version: Version, side: Side, by: str) -> None:
    facing = Facing.opened(version, side, stream_above=10)
    if side is Side.CLIENT:
        facing.channel.call(facing.make("basic.consume", queue="q", consumer_tag="c", no_wait=True))
        facing.feed(facing.method("basic.deliver", consumer_tag="c", delivery_tag=1))
    else:
        facing.feed(facing.method("basic.publish"))
    facing.feed(header(1, 60, 100), body(1, b"half"))
    facing.forget()
    match by:
        case "channel":
            facing.feed(facing.method("channel.close", reply_code=200))
        case "own channel":
            facing.channel.close()
            facing.feed(body(1, b"more"), facing.method("channel.close-ok"))
        case "connection":
            facing.feed(facing.method("connection.close", 0, reply_code=200))
        case _:
            facing.end.connection_lost("reset", facing.now)
            facing.settle()
    assert isinstance(facing.events[0], ContentAborted)
    assert len(facing.of(ContentAborted)) == 1
    assert facing.of(Closed)


def test_an_unfinished_transaction_is_unsettled_in_the_report(client: Facing) -> None:
    channel = client.channel
    channel.call(client.make("basic.consume", queue="q", consumer_tag="c", no_wait=True))
    for tag in (1, 2):
        client.feed(client.message("basic.deliver", consumer_tag="c", delivery_tag=tag))
    channel.call(client.make("tx.select"))
    channel.accept(1)
    client.settle()
    client.end.connection_lost("reset", client.now)
    client.settle()
    assert client.of(Closed)[0].report.unsettled == (1, 2)


def test_a_close_before_the_opening_is_without_a_word(version: Version, side: Side) -> None:
    facing = Facing(version, side)
    facing.forget()
    facing.end.close(541, "changed my mind")
    facing.settle()
    assert facing.out == b""
    assert facing.end.close_hint is CloseHint.CLOSE_NOW
    assert [type(event) for event in facing.events] == [Closed]
    facing.end.close()
    facing.settle()
    assert len(facing.events) == 1


def test_a_server_may_close_instead_of_opening(version: Version) -> None:
    pair = Pair(version, applications={Side.SERVER: Server(vhost=False)})
    pair.pump()
    pair.server.close(320, "shutting down")
    pair.drive()
    assert pair.client.report is not None
    assert (pair.client.report.by, pair.client.report.code) == (By.REMOTE, 320)
    with pytest.raises(EndpointClosed):
        pair.server.accept_open()


def test_a_late_decision_is_told(version: Version) -> None:
    pair = Pair(version, applications={Side.SERVER: Server(login=False)})
    pair.pump()
    pair.cut()
    with pytest.raises(EndpointClosed):
        pair.server.accept_authentication()


def test_closing_codes_and_texts_are_checked_first(server: Facing) -> None:
    server.misuse(lambda: server.end.close(70_000), None)
    server.misuse(lambda: server.channel.close(-1), None)
    server.channel.close(404, "ä" * 200)
    server.settle()
    (sent,) = server.sent()
    assert len(sent.method.reply_text.encode()) <= 255
    assert sent.method.reply_text.endswith("...")


def test_a_message_that_was_under_way_is_gone_with_its_channel(version: Version) -> None:
    facing = Facing.opened(version, Side.SERVER, 2)
    facing.feed(facing.method("basic.publish"), header(1, 60, 100), body(1, b"half"))
    facing.channel.close(406, "no")
    facing.feed(body(1, bytes(96)), facing.method("channel.close-ok"))
    facing.feed(facing.message("basic.publish", b"whole", 2))
    assert [event.body for event in facing.of(Published)] == [b"whole"]


def test_a_fault_ends_all_that_is_on_the_connection_before_the_peer_answers(version: Version, side: Side) -> None:
    facing = busy(version, side)
    assert facing.end.failure is None
    handles: list[Any] = [each for each in facing.channel.unconfirmed.values() if each is not None]
    facing.feed(frame(1, 0, b"\0\x63\0\1"))
    assert facing.end.failure is not None
    assert facing.end.failure.code == 503
    assert all(handle.done for handle in handles)
    assert facing.of(Failed)
    assert [(event.scope, event.report.code) for event in facing.of(Closed)] == [(Scope.CHANNEL, 503)] * 2
    assert all(handle.done for event in facing.of(Abandoned) for handle in event.pendings)
    assert (facing.end.report, facing.end.channels) == (None, ())
    facing.forget()
    facing.feed(facing.message("basic.deliver", consumer_tag="c", delivery_tag=3))
    assert facing.events == []
    facing.feed(facing.method("connection.close-ok", 0))
    (closed,) = facing.events
    assert isinstance(closed, Closed)
    assert (closed.scope, closed.report) == (Scope.CONNECTION, facing.end.report)


def test_a_fault_of_a_channel_ends_its_calls_before_the_peer_answers(version: Version) -> None:
    facing = Facing.opened(version, Side.CLIENT, limits=Limits(unsettled=1))
    channel = facing.channel
    channel.call(facing.make("basic.consume", queue="q", consumer_tag="c", no_wait=True))
    call = channel.call(facing.make("queue.declare", queue="q"))
    for tag in (1, 2):
        facing.feed(facing.message("basic.deliver", consumer_tag="c", delivery_tag=tag))
    (abandoned,) = facing.of(Abandoned)
    assert call in abandoned.pendings
    assert (abandoned.report.code, abandoned.report.unsettled) == (506, (1,))
    assert isinstance(call.error, EndpointClosed)
    assert (facing.end.failure, facing.of(Closed)) == (None, [])
    facing.forget()
    facing.feed(facing.method("channel.close-ok"))
    (closed,) = facing.events
    assert isinstance(closed, Closed)
    assert closed.report == abandoned.report


@pytest.mark.parametrize(("code", "fails"), [(200, False), (541, True)])
def test_an_own_close_says_whether_it_is_for_an_error(code: int, fails: bool) -> None:
    facing = Facing.opened(AMQP_0_8, Side.CLIENT)
    facing.end.close(code, "own")
    assert (facing.end.failure is not None) is fails


# Hints: what a report says of the classic ways in which connections end.


@pytest.mark.parametrize(
    ("octets", "hint"), [(bytes.fromhex("15030300020228"), "without TLS"), (b"HTTP/1.1 400 Bad Request\r\n", "HTTP")]
)
def test_a_client_says_what_is_no_header(version: Version, octets: bytes, hint: str) -> None:
    facing = Facing(version, Side.CLIENT)
    for at in range(len(octets)):
        facing.feed(octets[at : at + 1])
    assert facing.end.report is not None
    assert facing.end.report.by is By.LOCAL
    assert hint in facing.end.report.hint


@pytest.mark.parametrize(
    ("steps", "hint"), [(0, "hung up on the protocol header"), (1, "login"), (2, "virtual host"), (3, "")]
)
def test_a_stream_that_ends_in_the_opening(version: Version, steps: int, hint: str) -> None:
    pair = Pair(version, applications={Side.SERVER: Server(vhost=steps > 2)})
    for _ in range(steps):
        pair.write(Side.CLIENT)
        pair.arrive(Side.SERVER)
        pair.write(Side.SERVER)
        pair.arrive(Side.CLIENT)
    pair.client.receive_eof(0.0)
    pair.drain(Side.CLIENT)
    report = pair.client.report
    assert report is not None
    assert report.by is By.TRANSPORT
    assert hint in report.hint
    assert bool(report.hint) == bool(hint)


@pytest.mark.parametrize("announced", [True, False])
def test_a_refused_login(version: Version, announced: bool) -> None:
    """Who announced it gets 403, the others a closed socket (RabbitMQ's extension)."""

    class Refuses(Server):
        def __call__(self, connection: object, event: object) -> None:
            if type(event).__name__ == "AuthenticationRequested":
                pair.server.refuse_authentication("ACCESS_REFUSED - wrong password")

    properties = {"capabilities": {"authentication_failure_close": announced}}
    pair = Pair(version, client=client_config(properties=properties), applications={Side.SERVER: Refuses()})
    pair.drive()
    report = pair.client.report
    assert report is not None
    if announced:
        assert (report.by, report.code) == (By.REMOTE, 403)
        assert "password" in report.hint
    else:
        assert report.by is By.TRANSPORT
        assert "password" in report.hint
    assert pair.server.report is not None
    assert pair.server.report.by is By.LOCAL


def test_damaged_client_properties_do_not_break_a_refusal(version: Version) -> None:
    facing = Facing(version, Side.SERVER, server_config(validate_content=False))
    facing.feed(facing.dialect.header)
    good = facing.method(
        "connection.start-ok",
        0,
        client_properties={"capabilities": {"k": 1}},
        mechanism="PLAIN",
        response=b"\0a\0b",
        locale="en_US",
    )
    facing.feed(good.replace(b"\x01kI", b"\x01k?"))
    facing.end.refuse_authentication("no")
    facing.settle()
    assert facing.end.close_hint is CloseHint.CLOSE_WHEN_SENT


@pytest.mark.parametrize(
    ("code", "text", "hint"),
    [
        (404, "NOT_FOUND - no queue 'q'", "does not exist"),
        (406, "PRECONDITION_FAILED - unknown delivery tag 3", "settled before"),
        (406, "PRECONDITION_FAILED - inequivalent arg 'durable'", "other arguments"),
        (
            406,
            "PRECONDITION_FAILED - delivery acknowledgement on channel 1 timed out. Timeout value used: 1800000 ms.",
            "consumer timeout",
        ),
        (406, "PRECONDITION_FAILED - invalid expiration 'soon': no_integer", "milliseconds"),
        (406, "PRECONDITION_FAILED - invalid message: {delivery_mode_unknown,3}", "persistent"),
        (406, "PRECONDITION_FAILED - user_id property set to 'a' but authenticated user was 'b'", "user-id"),
        (540, "NOT_IMPLEMENTED - queue 'q' in vhost '/' does not support global qos", "without global"),
        (406, "PRECONDITION_FAILED - invalid arg 'x-max-age' for queue 'q' of queue type rabbit_classic_queue", "type"),
        (403, "ACCESS_REFUSED - queue 'q' in vhost '/' in exclusive use", "exclusive"),
        (999, "something new", ""),
    ],
)
def test_closes_of_the_peer(client: Facing, code: int, text: str, hint: str) -> None:
    channel = client.channel
    client.feed(client.method("channel.close", reply_code=code, reply_text=text))
    assert hint in channel.report.hint
    assert bool(channel.report.hint) == bool(hint)
    assert text in str(channel.report)
    assert "closed by the peer" in str(channel.report)


def test_bounds_of_tables_are_those_of_the_limits() -> None:
    limits = Limits(nesting=2, entries=8)
    for table, fine in (
        ({"a": {"b": 1}}, True),
        ({"a": {"b": {"c": 1}}}, False),
        (dict.fromkeys("abcdefghi", 1), False),
    ):
        facing = Facing.opened(AMQP_0_9_1, Side.SERVER, limits=limits)
        facing.feed(facing.method("queue.declare", queue="q", arguments=table))
        assert facing.end.is_open == fine
        if not fine:
            assert facing.sent()[-1].method.reply_code == 502
