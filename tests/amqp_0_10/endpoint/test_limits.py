"""Every bound of a connection of 0-10: what happens when it's reached, at the peer's hand and at the caller's."""

from __future__ import annotations

import pytest

from amqp_sansio import (
    PAUSED,
    Event,
    Failed,
    LimitExceeded,
    Limits,
    LocalProtocolError,
    Scope,
    SendPaused,
    SendResumed,
    Settled,
    Side,
    Signal,
)
from amqp_sansio.amqp_0_10 import (
    CommandReceived,
    ExecutionSync,
    MessageFlow,
    MessageReceived,
    MessageSubscribe,
    QueuePurge,
    SessionClosed,
    StreamConsume,
)
from tests.kit.octets_0_10 import (
    CLOSE_OK,
    HEARTBEAT,
    PURGE,
    close,
    command,
    completed,
    confirmed,
    control,
    flow,
    flush,
    frame,
    known_completed,
    parse,
    segment,
    str8,
    strings,
    subscribe,
    sync,
    table,
    transfer,
)
from tests.kit.wire_0_10 import CLIENT, SERVER, Facing, client_config, server_config


def limited(side: Side, **limits: int) -> Facing:
    """An attached endpoint with these limits."""
    config = client_config if side is CLIENT else server_config
    return Facing.attached(side, config(limits=Limits(**limits)))


def receiving(side: Side, **limits: int) -> Facing:
    """The same, to which messages may come for the destination "d"."""
    facing = limited(side, **limits)
    if side is CLIENT:
        facing.session.call(MessageSubscribe("q", "d", 0, 0))
        facing.session.top_up("d", 10)
    return facing.forget()


# What the peer sends.


def test_octets_that_are_not_parsed_are_bounded(side: Side) -> None:
    facing = limited(side, unparsed=65_535)
    end = facing.end
    assert end.receive_budget == 65_535
    end.receive_data(sync()[:5], 0.0)
    assert end.receive_budget == 65_530
    with pytest.raises(LimitExceeded, match="receive_budget is 65530"):
        end.receive_data(bytes(65_531), 0.0)
    end.receive_data(sync()[5:], 0.0)
    facing.settle()
    assert end.receive_budget == 65_535


def test_a_server_takes_no_more_than_so_many_requests_at_a_time() -> None:
    facing = limited(SERVER, requests=3)
    facing.feed(PURGE * 3 + transfer("", b"x") + close(200))
    assert len(facing.of(CommandReceived)) == 3
    assert facing.of(MessageReceived) == []
    assert facing.end.next_event() is PAUSED
    # Its own controls go out all the same, and it may be closed.
    facing.session.complete(0)
    facing.settle()
    assert len(facing.of(MessageReceived)) == 1
    assert facing.end.next_event() is PAUSED
    facing.session.complete(3)
    facing.settle()
    assert facing.names()[-1] == "connection.close-ok"


def test_a_server_holds_no_more_than_so_many_octets_of_bodies() -> None:
    facing = limited(SERVER, bodies=100)
    facing.feed(transfer("", b"x" * 60) + transfer("", b"y" * 60) + transfer("", b"z"))
    assert len(facing.of(MessageReceived)) == 2
    assert facing.end.next_event() is PAUSED
    facing.session.complete(0)
    facing.settle()
    assert len(facing.of(MessageReceived)) == 3


def test_bodies_that_arrive_side_by_side_are_bounded(side: Side) -> None:
    facing = receiving(side, bodies=100, message=1000)
    head = segment(0x0401, str8("d"))
    facing.feed(frame(head, 1, flags=0x0B) + frame(b"x" * 101, 3, flags=0x06))
    facing.gives_up(506, 0, None)
    facing.feed(frame(b"x", 3, flags=0x05))
    assert facing.end.is_open


@pytest.mark.parametrize("frames", [1, 3])
def test_a_body_is_bounded(side: Side, frames: int) -> None:
    facing = receiving(side, message=90)
    head = segment(0x0401, str8("d"))
    facing.feed(transfer("d", b"x" * 90, accept_mode=1))
    assert len(facing.of(MessageReceived)) == 1
    piece = 90 // frames
    facing.feed(
        frame(head, 1, flags=0x0B)
        + b"".join([frame(b"x" * piece, 3, flags=0x04 | (0 if n else 2)) for n in range(frames)])
    )
    assert facing.of(Failed) == []
    facing.feed(frame(b"x", 3, flags=0x05))
    facing.excepts(506, None, 1, None)


def test_what_comes_before_a_body_is_bounded(side: Side) -> None:
    facing = limited(side, header=100)
    facing.feed(frame(segment(0x0401, str8("d")), 1, flags=0x0B) + frame(bytes(100), 2, flags=0x02))
    facing.excepts(506, None, 0, None)
    facing = limited(side, header=100)
    facing.feed(frame(segment(0x0401)[:4] + bytes(97), 1, flags=0x0A))
    facing.excepts(506, None, 0, None)


def test_a_control_in_many_frames_is_bounded(side: Side) -> None:
    facing = limited(side, header=100)
    facing.feed(frame(b"\x02\x01" + bytes(60), flags=0x0E))
    assert facing.end.is_open
    facing.feed(frame(bytes(60), flags=0x0C))
    facing.closes(501, None)


def test_controls_that_never_end_are_bounded(side: Side) -> None:
    facing = limited(side, channels=16)
    facing.feed(b"".join([frame(b"\x02", flags=0x0E, channel=number) for number in range(16)]))
    assert facing.end.is_open
    facing.feed(frame(b"\x02", flags=0x0E, channel=16))
    (failed,) = facing.of(Failed)
    assert (failed.scope, failed.error.code) == (Scope.CONNECTION, 501)


def test_transfers_without_an_outcome_are_bounded(side: Side) -> None:
    facing = receiving(side, unsettled=2)
    for mode in (1, 0, 0):
        facing.feed(transfer("d", b"x", accept_mode=mode))
        facing.complete_all()
    assert facing.session.unsettled == (1, 2)
    facing.feed(transfer("d", b"x"))
    facing.excepts(506, None, 3, 0x0401)


def test_subscriptions_are_bounded() -> None:
    facing = limited(SERVER, consumers=2)
    facing.feed(subscribe("a") + subscribe("b") + subscribe("c"))
    facing.excepts(506, None, 2, 0x0407)
    client = limited(CLIENT, consumers=2)
    for name in "ab":
        client.session.call(MessageSubscribe("q", name, 0, 0))
        client.session.call(StreamConsume("q", name))
    for wrong in (MessageSubscribe("q", "c", 0, 0), StreamConsume("q", "c")):
        with pytest.raises(LocalProtocolError, match=r"Limits\.consumers"):
            client.session.call(wrong)


def test_values_are_bounded_in_depth_and_number() -> None:
    deep = b""
    for _ in range(50):
        deep = len(deep + b"\0\0\0\0").to_bytes(4) + (b"\0\0\0\x01\x01k\xa8" if deep else b"\0\0\0\0") + deep
    facing = Facing.attached(SERVER)
    facing.feed(command(0x0801, str8("q"), None, False, False, False, False, deep))
    (failed,) = facing.of(Failed)
    assert failed.scope is Scope.SESSION
    assert failed.error.code in (503, 501)


# What the caller sends.


def test_a_caller_that_does_not_stop_is_stopped(side: Side) -> None:
    facing = limited(side, backlog_high=1000, backlog_low=500, backlog_hard=3000)
    if side is SERVER:
        facing.feed(subscribe() + flow("d", 0, None) + flow("d", 1, None))
        facing.complete_all()
        facing.forget()
    session, end = facing.session, facing.end
    for _ in range(5):
        session.transfer("d", b"x" * 200)
    event = end.next_event()
    assert isinstance(event, SendPaused)
    assert event.backlog == end.send_backlog > 1000
    with pytest.raises(LimitExceeded, match=r"Limits\.backlog_hard"):
        for _ in range(20):
            session.transfer("d", b"x" * 200)
    before = end.send_backlog
    assert before <= 3000
    with pytest.raises(LimitExceeded):
        session.transfer("d", b"x" * 3000)
    assert end.send_backlog == before
    end.data_to_send(0.0, before - 400)
    event = end.next_event()
    assert isinstance(event, SendResumed)
    session.transfer("d", b"x" * 200)


def test_a_peer_that_does_not_read_its_answers_is_cut_off(side: Side) -> None:
    facing = limited(side, backlog_high=1000, backlog_low=500, backlog_hard=2000)
    end, events = facing.end, list[Event]()
    # Nothing is written: the answers pile up.
    for _ in range(50):
        end.receive_data(flush("expected", "confirmed", "completed"), 0.0)
        while not isinstance(event := end.next_event(), Signal):
            events.append(event)
    assert not end.is_open
    assert [type(event) for event in events] == [SendPaused, Failed, SessionClosed]
    assert 1000 < end.send_backlog < 2500
    (told,) = [each for each in parse(end.data_to_send(0.0)) if each.name == "connection.close"]
    assert told.record.reply_code == 320


def test_commands_that_are_not_confirmed_are_bounded(side: Side) -> None:
    facing = limited(side, replay=10)
    session = facing.session
    for _ in range(4):
        session.call(ExecutionSync(), sync=False)
    assert facing.names() == ["execution.sync"] * 4
    # The fifth makes it half of all: in time, so that the answer comes before nothing more can be kept.
    session.call(ExecutionSync(), sync=False)
    assert facing.sent()[-1].octets == flush("completed")
    for _ in range(5):
        session.call(ExecutionSync(), sync=False)
    assert facing.names().count("session.flush") == 1
    facing.forget()
    with pytest.raises(LimitExceeded, match=r"Limits\.replay allows 10"):
        session.call(ExecutionSync())
    assert facing.sent() == []
    assert len(session.pending) == 10
    facing.feed(completed((0, 7)))
    session.call(ExecutionSync())
    assert len(session.pending) == 3


def test_a_confirmed_command_makes_room(side: Side) -> None:
    facing = limited(side, replay=4)
    session = facing.session
    for _ in range(4):
        session.call(ExecutionSync())
    with pytest.raises(LimitExceeded):
        session.call(ExecutionSync())
    facing.feed(confirmed((0, 3)))
    session.call(ExecutionSync())
    assert len(session.pending) == 5


def test_the_octets_of_what_is_not_confirmed_are_bounded() -> None:
    facing = limited(CLIENT, replay_octets=1000)
    session = facing.session
    session.transfer("e", b"x" * 300)
    assert "session.flush" not in facing.names()
    session.transfer("e", b"x" * 300)
    assert facing.names()[-1] == "session.flush"
    with pytest.raises(LimitExceeded, match=r"Limits\.replay_octets 1000"):
        session.transfer("e", b"x" * 500)
    facing.feed(completed((0, 1)))
    session.transfer("e", b"x" * 500)
    # Asked again when it's half full again.
    assert facing.names().count("session.flush") == 2


def test_the_own_transfers_without_an_outcome_are_bounded() -> None:
    facing = limited(CLIENT, unsettled=2)
    for _ in range(2):
        facing.session.transfer("e", b"x")
    with pytest.raises(LocalProtocolError, match=r"Limits\.unsettled"):
        facing.session.transfer("e", b"x")
    facing.session.transfer("e", b"x", accept_mode=1)
    facing.feed(completed((0, 2)))
    assert len(facing.of(Settled)) == 2
    facing.session.transfer("e", b"x")


def test_a_session_before_its_attachment_keeps_no_more_than_that() -> None:
    facing = Facing.opened(CLIENT, client_config(limits=Limits(replay=3)))
    session = facing.end.open_session("s")
    for _ in range(3):
        session.call(QueuePurge("q"))
    with pytest.raises(LimitExceeded):
        session.call(QueuePurge("q"))


def test_a_frame_that_is_not_wanted_is_not_kept(opened: Facing) -> None:
    opened.feed(frame(size=65_535, kind=9)[:12])
    assert opened.names() == ["connection.close"]
    budget = opened.end.receive_budget
    for _ in range(10):
        opened.feed(bytes(6000))
        assert opened.end.receive_budget == budget
    opened.feed(bytes(65_535 - 12 - 60_000) + CLOSE_OK)
    assert opened.end.state == "end"


def test_more_channels_than_the_limit_are_never_offered() -> None:
    facing = Facing.started(SERVER, server_config(channel_max=5000, limits=Limits(channels=7)))
    facing.feed(control(0x0102, table(product="x"), str8("PLAIN"), b"\0\0\0\x07\0ann\0pw", None))
    facing.end.accept_authentication()
    assert facing.records()[0].channel_max == 7


def test_known_completions_and_heartbeats_leave_nothing_behind(facing: Facing) -> None:
    for number in range(1000):
        facing.feed(sync() + known_completed((0, number)) + HEARTBEAT)
    receiving = facing.session._state.receiving  # pyright: ignore[reportPrivateUsage]
    assert len(receiving.known.ranges) <= 1
    assert len(receiving.done.ranges) <= 1
    assert strings() == b"\0\0\0\x05\xf0\0\0\0\0"


def test_credit_is_granted_in_parts_that_a_control_holds() -> None:
    facing = Facing.subscribed(CLIENT)
    facing.session.top_up("d", 3 * 0xFFFF_FFFE)
    flows = [each for each in facing.records() if isinstance(each, MessageFlow)]
    values = [each.value or 0 for each in flows if each.unit == 0]
    assert sum(values) == 3 * 0xFFFF_FFFE
    assert max(values) <= 0xFFFF_FFFE
    assert facing.session.granted("d")[0] == 3 * 0xFFFF_FFFE
