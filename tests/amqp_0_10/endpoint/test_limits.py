"""Every bound of a connection of 0-10, at the caller's hand and at the peer's, whatever a hostile peer sends.

Nothing is raised out of the read path, all that is kept stays bounded, every end is told once, and the endpoint sends
what can be read. The single cases that random peers have found are at the end.
"""

# pyright: reportPrivateUsage=false
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amqp_sansio import (
    PAUSED,
    AuthenticationRequested,
    Closed,
    CloseHint,
    EndpointClosed,
    Event,
    Failed,
    LimitExceeded,
    Limits,
    LocalProtocolError,
    Opened,
    OpenRequested,
    Scope,
    ScramKeysRequested,
    SendPaused,
    SendResumed,
    Settled,
    Side,
    Signal,
)
from amqp_sansio import amqp_0_10 as amqp
from amqp_sansio.amqp_0_10 import spec
from amqp_sansio.amqp_0_10.codec.record import CONTROLS, decode_command
from amqp_sansio.amqp_0_10.endpoint import incoming, session_controls
from amqp_sansio.amqp_0_10.spec import Command
from tests.kit import octets_0_10 as raw
from tests.kit.choices import Choices
from tests.kit.facing import CLIENT, SERVER
from tests.kit.facing_0_10 import Facing, client_config, server_config
from tests.kit.hostile_0_10 import Peer
from tests.kit.play_0_10 import LIMITS, Play, config_of, facing_of
from tests.kit.talk_0_10 import frames


def limited(side: Side, **limits: int) -> Facing:
    """An attached endpoint with these limits."""
    config = client_config if side is CLIENT else server_config
    return Facing.attached(side, config(limits=Limits(**limits)))


def receiving(side: Side, **limits: int) -> Facing:
    """The same, to which messages may come for the destination "d"."""
    facing = limited(side, **limits)
    if side is CLIENT:
        facing.session.call(spec.MessageSubscribe("q", "d", 0, 0))
        facing.session.top_up("d", 10)
    return facing.forget()


# What the peer sends.


def test_octets_that_are_not_parsed_are_bounded(side: Side) -> None:
    facing = limited(side, unparsed=65_535)
    end = facing.end
    assert end.receive_budget == 65_535
    end.receive_data(raw.sync()[:5], 0.0)
    assert end.receive_budget == 65_530
    with pytest.raises(LimitExceeded, match="receive_budget is 65530"):
        end.receive_data(bytes(65_531), 0.0)
    end.receive_data(raw.sync()[5:], 0.0)
    facing.settle()
    assert end.receive_budget == 65_535


def test_a_server_takes_no_more_than_so_many_requests_at_a_time() -> None:
    facing = limited(SERVER, requests=3)
    facing.feed(raw.PURGE * 3 + raw.transfer("", b"x") + raw.close(200))
    assert len(facing.of(amqp.CommandReceived)) == 3
    assert facing.of(amqp.MessageReceived) == []
    assert facing.end.next_event() is PAUSED
    # Its own controls go out all the same, and it may be closed.
    facing.session.complete(0)
    facing.settle()
    assert len(facing.of(amqp.MessageReceived)) == 1
    assert facing.end.next_event() is PAUSED
    facing.session.complete(3)
    facing.settle()
    assert facing.names()[-1] == "connection.close-ok"


def test_a_server_holds_no_more_than_so_many_octets_of_bodies() -> None:
    facing = limited(SERVER, bodies=100)
    facing.feed(raw.transfer("", b"x" * 60) + raw.transfer("", b"y" * 60) + raw.transfer("", b"z"))
    assert len(facing.of(amqp.MessageReceived)) == 2
    assert facing.end.next_event() is PAUSED
    facing.session.complete(0)
    facing.settle()
    assert len(facing.of(amqp.MessageReceived)) == 3


def test_bodies_that_arrive_side_by_side_are_bounded(side: Side) -> None:
    facing = receiving(side, bodies=100, message=1000)
    head = raw.segment(0x0401, raw.str8("d"))
    facing.feed(raw.frame(head, 1, flags=0x0B) + raw.frame(b"x" * 101, 3, flags=0x06))
    facing.gives_up(506, 0, None)
    facing.feed(raw.frame(b"x", 3, flags=0x05))
    assert facing.end.is_open


@pytest.mark.parametrize("frames", [1, 3])
def test_a_body_is_bounded(side: Side, frames: int) -> None:
    facing = receiving(side, message=90)
    head = raw.segment(0x0401, raw.str8("d"))
    facing.feed(raw.transfer("d", b"x" * 90, accept_mode=1))
    assert len(facing.of(amqp.MessageReceived)) == 1
    piece = 90 // frames
    facing.feed(
        raw.frame(head, 1, flags=0x0B)
        + b"".join([raw.frame(b"x" * piece, 3, flags=0x04 | (0 if n else 2)) for n in range(frames)])
    )
    assert facing.of(Failed) == []
    facing.feed(raw.frame(b"x", 3, flags=0x05))
    facing.excepts(506, None, 1, None)


def test_what_comes_before_a_body_is_bounded(side: Side) -> None:
    facing = limited(side, header=100)
    facing.feed(raw.frame(raw.segment(0x0401, raw.str8("d")), 1, flags=0x0B) + raw.frame(bytes(100), 2, flags=0x02))
    facing.excepts(506, None, 0, None)
    facing = limited(side, header=100)
    facing.feed(raw.frame(raw.segment(0x0401)[:4] + bytes(97), 1, flags=0x0A))
    facing.excepts(506, None, 0, None)


def test_a_control_in_many_frames_is_bounded(side: Side) -> None:
    facing = limited(side, header=100)
    facing.feed(raw.frame(b"\x02\x01" + bytes(60), flags=0x0E))
    assert facing.end.is_open
    facing.feed(raw.frame(bytes(60), flags=0x0C))
    facing.closes(501, None)


def test_controls_that_never_end_are_bounded(side: Side) -> None:
    facing = limited(side, channels=16)
    facing.feed(b"".join([raw.frame(b"\x02", flags=0x0E, channel=number) for number in range(16)]))
    assert facing.end.is_open
    facing.feed(raw.frame(b"\x02", flags=0x0E, channel=16))
    (failed,) = facing.of(Failed)
    assert (failed.scope, failed.error.code) == (Scope.CONNECTION, 501)


def test_transfers_without_an_outcome_are_bounded(side: Side) -> None:
    facing = receiving(side, unsettled=2)
    for mode in (1, 0, 0):
        facing.feed(raw.transfer("d", b"x", accept_mode=mode))
        facing.complete_all()
    assert facing.session.unsettled == (1, 2)
    # One that nobody settles needs no room.
    facing.feed(raw.transfer("d", b"x", accept_mode=1))
    facing.complete_all()
    facing.feed(raw.transfer("d", b"x", accept_mode=0))
    facing.excepts(506, None, 4, 0x0401)


def test_subscriptions_are_bounded() -> None:
    facing = limited(SERVER, consumers=2)
    facing.feed(raw.subscribe("a") + raw.subscribe("b") + raw.subscribe("c"))
    facing.excepts(506, None, 2, 0x0407)
    client = limited(CLIENT, consumers=2)
    for name in "ab":
        client.session.call(spec.MessageSubscribe("q", name, 0, 0))
        client.session.call(spec.StreamConsume("q", name))
    for wrong in (spec.MessageSubscribe("q", "c", 0, 0), spec.StreamConsume("q", "c")):
        with pytest.raises(LocalProtocolError, match=r"Limits\.consumers"):
            client.session.call(wrong)


def test_values_are_bounded_in_depth_and_number() -> None:
    deep = b""
    for _ in range(50):
        deep = len(deep + b"\0\0\0\0").to_bytes(4) + (b"\0\0\0\x01\x01k\xa8" if deep else b"\0\0\0\0") + deep
    facing = Facing.attached(SERVER)
    facing.feed(raw.command(0x0801, raw.str8("q"), None, False, False, False, False, deep))
    (failed,) = facing.of(Failed)
    assert failed.scope is Scope.SESSION
    assert failed.error.code in (503, 501)


# What the caller sends.


def test_a_caller_that_does_not_stop_is_stopped(side: Side) -> None:
    facing = limited(side, backlog_high=1000, backlog_low=500, backlog_hard=3000)
    if side is SERVER:
        facing.feed(raw.subscribe() + raw.flow("d", 0, None) + raw.flow("d", 1, None))
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
        end.receive_data(raw.flush("expected", "confirmed", "completed"), 0.0)
        while not isinstance(event := end.next_event(), Signal):
            events.append(event)
    assert not end.is_open
    assert [type(event) for event in events] == [SendPaused, Failed, amqp.SessionClosed]
    assert 1000 < end.send_backlog < 2500
    (told,) = [each for each in raw.parse(end.data_to_send(0.0)) if each.name == "connection.close"]
    assert told.record.reply_code == 320


def test_commands_that_are_not_confirmed_are_bounded(side: Side) -> None:
    facing = limited(side, replay=10)
    session = facing.session
    for _ in range(4):
        session.call(spec.ExecutionSync(), sync=False)
    assert facing.names() == ["execution.sync"] * 4
    # The fifth makes it half of all: in time, so that the answer comes before nothing more can be kept.
    session.call(spec.ExecutionSync(), sync=False)
    assert facing.sent()[-1].octets == raw.flush("completed")
    for _ in range(5):
        session.call(spec.ExecutionSync(), sync=False)
    assert facing.names().count("session.flush") == 1
    facing.forget()
    with pytest.raises(LimitExceeded, match=r"Limits\.replay allows 10"):
        session.call(spec.ExecutionSync())
    assert facing.sent() == []
    assert len(session.pending) == 10
    facing.feed(raw.completed((0, 7)))
    session.call(spec.ExecutionSync())
    assert len(session.pending) == 3


def test_a_confirmed_command_makes_room(side: Side) -> None:
    facing = limited(side, replay=4)
    session = facing.session
    for _ in range(4):
        session.call(spec.ExecutionSync())
    with pytest.raises(LimitExceeded):
        session.call(spec.ExecutionSync())
    facing.feed(raw.confirmed((0, 3)))
    session.call(spec.ExecutionSync())
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
    facing.feed(raw.completed((0, 1)))
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
    facing.feed(raw.completed((0, 2)))
    assert len(facing.of(Settled)) == 2
    facing.session.transfer("e", b"x")


def test_a_session_before_its_attachment_keeps_no_more_than_that() -> None:
    facing = Facing.opened(CLIENT, client_config(limits=Limits(replay=3)))
    session = facing.end.open_session("s")
    for _ in range(3):
        session.call(spec.QueuePurge("q"))
    with pytest.raises(LimitExceeded):
        session.call(spec.QueuePurge("q"))


def test_a_frame_that_is_not_wanted_is_not_kept(opened: Facing) -> None:
    opened.feed(raw.frame(size=65_535, kind=9)[:12])
    assert opened.names() == ["connection.close"]
    budget = opened.end.receive_budget
    for _ in range(10):
        opened.feed(bytes(6000))
        assert opened.end.receive_budget == budget
    opened.feed(bytes(65_535 - 12 - 60_000) + raw.CLOSE_OK)
    assert opened.end.state == "end"


def test_more_channels_than_the_limit_are_never_offered() -> None:
    facing = Facing.started(SERVER, server_config(channel_max=5000, limits=Limits(channels=7)))
    facing.feed(raw.control(0x0102, raw.table(product="x"), raw.str8("PLAIN"), b"\0\0\0\x07\0ann\0pw", None))
    facing.end.accept_authentication()
    assert facing.records()[0].channel_max == 7


def test_known_completions_and_heartbeats_leave_nothing_behind(facing: Facing) -> None:
    for number in range(1000):
        facing.feed(raw.sync() + raw.known_completed((0, number)) + raw.HEARTBEAT)
    receiving = facing.session._state.receiving  # pyright: ignore[reportPrivateUsage]
    assert len(receiving.known.ranges) <= 1
    assert len(receiving.done.ranges) <= 1
    assert raw.strings() == b"\0\0\0\x05\xf0\0\0\0\0"


def test_credit_is_granted_in_parts_that_a_control_holds() -> None:
    facing = Facing.subscribed(CLIENT)
    facing.session.top_up("d", 3 * 0xFFFF_FFFE)
    flows = [each for each in facing.records() if isinstance(each, spec.MessageFlow)]
    values = [each.value or 0 for each in flows if each.unit == 0]
    assert sum(values) == 3 * 0xFFFF_FFFE
    assert max(values) <= 0xFFFF_FFFE
    assert facing.session.granted("d")[0] == 3 * 0xFFFF_FFFE


# A hostile peer.


PLAYS = st.binary(min_size=300, max_size=1200)
SIDES = st.sampled_from([CLIENT, SERVER])


@given(PLAYS, SIDES, st.booleans(), st.booleans(), st.sampled_from([None, 0, 200]))
def test_nothing_breaks_whatever_the_peer_sends(
    octets: bytes, side: Side, reads: bool, cuts: bool, above: int | None
) -> None:
    play = Play(octets, side, reads=reads, cuts=cuts, above=above)
    application = play.run()
    assert application.telling.closed
    for handle in application.handles:
        assert handle.done
        assert id(handle) in application.telling.ended, handle


@given(st.binary(min_size=40, max_size=200), SIDES)
def test_nothing_breaks_while_the_connection_opens(octets: bytes, side: Side) -> None:
    """Any control at any place of the opening, between the right ones."""
    choices = Choices(octets)
    facing = Facing(side, config_of(side, mechanisms=("PLAIN", "SCRAM-SHA-256"), nonce="n"))
    peer = Peer(choices, facing.end)
    right = {
        CLIENT: [raw.HEADER, raw.start("PLAIN"), raw.tune(), raw.open_ok()],
        SERVER: [raw.HEADER, raw.start_ok(), raw.tune_ok(), raw.open_()],
    }[side]
    while choices:
        if right and choices.below(4):
            octets = right.pop(0)
        elif choices.below(8):
            kinds = tuple(CONTROLS.values())
            kind: Any = kinds[choices.below(256) % len(kinds)]
            octets = frames(kind(*[peer._value(name, of) for name, of in kind.FIELDS]))
        else:
            octets = peer.octets()
        if len(octets) <= facing.end.receive_budget:
            facing.feed(octets)
        for event in facing.events[-2:]:
            answer(facing, event, choices)
        facing.end.check()
    facing.end.connection_lost("over", facing.now)
    facing.settle()
    closed = [event for event in facing.of(Closed) if event.scope is Scope.CONNECTION]
    assert len(closed) == 1


def answer(facing: Facing, event: object, choices: Choices) -> None:
    """Do what an event of the opening asks for, which may be over."""
    end = facing.end
    try:
        if isinstance(event, AuthenticationRequested):
            (end.refuse_authentication if choices.rarely() else end.accept_authentication)()
        elif isinstance(event, ScramKeysRequested):
            end.provide_scram_keys(None)
        elif isinstance(event, OpenRequested):
            if choices.rarely():
                end.redirect("amqp:tcp:elsewhere")
            else:
                (end.refuse_open if choices.rarely() else end.accept_open)()
    except (LocalProtocolError, EndpointClosed):
        assert end._waiting_for is None or end._insists
    facing.settle()


# What was found.


def begun(side: Side, **changes: Any) -> Facing:
    """An endpoint with small limits and a session on channel 0, in step both ways."""
    facing = facing_of(side, **changes)
    if side is CLIENT:
        facing.end.open_session(b"s", timeout=60)
        facing.feed(raw.attached() + raw.expected() + raw.command_point())
    else:
        facing.feed(raw.attach())
        facing.end.accept_session(0)
        facing.feed(raw.command_point())
    assert facing.session.is_attached
    return facing.forget()


def test_a_close_before_start_ends_the_connection() -> None:
    """The grammar has no place for it, before anything was said."""
    facing = Facing(CLIENT)
    facing.feed(raw.HEADER + raw.close(320, "go away"))
    assert [event.scope for event in facing.of(Closed)] == [Scope.CONNECTION]
    assert facing.end.close_hint is not CloseHint.KEEP


def test_a_broken_rule_in_a_control_of_a_session_ends_the_session_only(side: Side) -> None:
    facing = begun(side)
    facing.feed(raw.completed(70))
    (failed,) = facing.of(Failed)
    assert (failed.scope, failed.error.code) == (Scope.SESSION, 409)
    assert facing.end.is_open


def test_execution_syncs_that_wait_are_bounded(side: Side) -> None:
    facing = begun(side)
    facing.feed(raw.transfer("", b"x") if side is SERVER else frames(spec.FileDeliver("tag")))
    for _ in range(100):
        if facing.end.receive_budget > 100:
            facing.feed(raw.sync())
        facing.end.check()
    if side is SERVER:
        facing.session.complete(0)
        facing.settle()
        assert facing.session.incomplete == ()


def test_a_client_keeps_no_more_commands_than_its_limits_allow() -> None:
    """Credit bounds messages; nothing bounds these."""
    facing = begun(CLIENT)
    for number in range(2 * LIMITS.unsettled):
        facing.feed(frames(spec.FileDeliver("tag", number + 1)))
    (failed,) = facing.of(Failed)
    assert failed.error.code == 506
    assert len(facing.of(amqp.CommandReceived)) <= LIMITS.unsettled + 1


def test_destinations_that_a_server_throttles_are_bounded() -> None:
    facing = begun(CLIENT)
    for number in range(3 * LIMITS.consumers):
        facing.feed(frames(spec.MessageFlow(f"exchange-{number}", 0, 1)))
    (failed,) = facing.of(Failed)
    assert failed.error.code == 506


def test_a_server_does_not_open_a_session_where_its_peer_waits_for_one() -> None:
    facing = facing_of(SERVER)
    facing.feed(raw.attach(b"theirs"))
    own = facing.end.open_session(b"own")
    asked = facing.of(amqp.SessionRequested)[0]
    theirs = facing.end.accept_session(asked.channel)
    assert (own.channel, theirs.channel) == (1, 0)
    facing.feed(raw.attached(b"own", channel=1) + raw.expected(channel=1))
    assert own.is_attached


@pytest.mark.rule("0-10/session.attach/one-session -> detached(transport-busy)")
def test_a_channel_whose_session_is_ending_is_busy(side: Side) -> None:
    """Else the end of the first session would never be told."""
    facing = begun(side)
    facing.feed(raw.completed(70) + raw.attach(b"t"))
    assert not facing.of(amqp.SessionRequested)
    facing.feed(raw.detached(b"s"))
    assert [event.name for event in facing.of(amqp.SessionClosed)] == [b"s"]


def test_a_detached_without_a_name_is_no_answer_to_attach(side: Side) -> None:
    """It answers what was sent on the channel before."""
    facing = facing_of(side)
    session = facing.end.open_session(b"s")
    facing.feed(raw.detached(b"", 3) + raw.attached() + raw.expected())
    assert session.is_attached
    assert facing.of(Opened)


def test_holes_in_what_is_known_to_be_completed_are_bounded(side: Side, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each costs memory, and time with every command."""
    monkeypatch.setattr(session_controls, "_MOST_RANGES", 40)
    facing = begun(side)
    for number in range(200):
        facing.feed(raw.sync())
        if number % 2:
            facing.feed(raw.known_completed(number))
        assert len(facing.session._state.receiving.known.ranges) <= 41
        if facing.session.report is not None:
            break
    (failed,) = facing.of(Failed)
    assert (failed.scope, failed.error.code) == (Scope.SESSION, 506)


def test_a_command_point_half_the_numbers_away_leaves_out_commands(side: Side) -> None:
    """Whether it lies before or behind isn't defined (RFC 1982)."""
    facing = begun(side)
    facing.feed(raw.command_point(0x8000_0000))
    (failed,) = facing.of(Failed)
    assert failed.error.code == 409
    facing.session._state.receiving.check()


@pytest.mark.rule("0-10/session.gap/confirm-complete")
def test_ids_that_are_given_up_ahead_are_left_out_in_their_turn(side: Side) -> None:
    facing = begun(side)
    state = facing.session._state.receiving
    facing.feed(raw.sync() + raw.gap((2, 3), 5))
    state.check()
    assert (state.next_id, state.point) == (1, 1)
    facing.feed(raw.sync())
    assert (state.next_id, state.point) == (4, 4)
    facing.feed(raw.command_point(4) + raw.sync())
    assert (state.next_id, state.point) == (6, 6)
    state.check()
    assert not facing.of(Failed)
    assert state.completed == amqp.SequenceSet(((0, 5),))


def test_frames_without_octets_cost_nothing(side: Side) -> None:
    """And those with few cost what is in them."""
    facing = begun(side)
    first = raw.frame(raw.segment(0x0401, b"\x01d"), 1, flags=0x09 | 0x02)
    facing.feed(first + raw.frame(b"ab", 2, flags=0x02))
    for _ in range(400):
        facing.feed(raw.frame(b"", 2, flags=0), raw.frame(b"xy", 2, flags=0))
    arriving = facing.session._incoming._arriving
    assert arriving is not None
    assert len(arriving.parts) == 1
    assert arriving.held == 802 + len(raw.segment(0x0401, b"\x01d"))


@pytest.mark.parametrize("what", [frames(spec.FileOpen("x", 1)), raw.sync()], ids=["call", "sync"])
def test_a_client_that_waits_to_be_detached_takes_no_more_than_before(what: bytes) -> None:
    """A broken limit can't end a session that is being detached: what comes then isn't taken."""
    facing = limited(CLIENT, unsettled=8)
    facing.feed(frames(spec.FileOpen("first", 1)))
    state = facing.session._state
    facing.session.detach()
    facing.settle()
    for _ in range(50):
        facing.feed(what)
    facing.end.check()
    assert state.receiving.next_id == state.waiting == 8 + 1


@pytest.mark.parametrize("code", [0x0401, 0x0803])
def test_a_command_whose_body_comes_in_many_frames_is_read_once(
    side: Side, code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else each frame without octets that follows a large command costs as much as that."""
    if side is CLIENT:
        facing = Facing.subscribed(CLIENT, client_config(stream_above=4))
        facing.session.top_up("d", 1)
    else:
        facing = Facing.attached(SERVER, server_config(stream_above=4))
    read: list[bytes] = []

    def decode(data: bytes, pos: int, end: int) -> tuple[Command[object], bool]:
        read.append(data[pos:end])
        return decode_command(data, pos, end)

    monkeypatch.setattr(incoming, "decode_command", decode)
    segment = raw.segment(code, raw.str8("d"))
    facing.feed(raw.frame(segment, 1, flags=0x0B), raw.frame(b"large", 3, flags=0x06))
    for _ in range(100):
        facing.feed(raw.frame(b"", 3, flags=0x04))
    facing.feed(raw.frame(b"", 3, flags=0x05))
    assert read == [segment]


def test_pieces_of_controls_are_bounded_together(side: Side) -> None:
    facing = facing_of(side, limits=Limits(unparsed=20_000, channels=100, bodies=5000))
    for channel in range(100):
        facing.feed(raw.frame(bytes(1000), 0, flags=0x0E, channel=channel))
        if not facing.end.is_open:
            break
    assert sum([each.size for each in facing.end._frames._partials.values()]) <= 5000
    assert facing.of(Failed)


def test_what_a_transaction_has_accepted_counts_as_unsettled() -> None:
    """Else the server's books would grow as long as the transaction lasts."""
    facing = begun(SERVER)
    facing.feed(frames(spec.TxSelect()) + raw.command(0x0407, b"\x01q", b"\x01d", b"\x00", b"\x00"))
    facing.feed(frames(spec.MessageFlow("d", 0, None)) + frames(spec.MessageFlow("d", 1, None)))
    for number in facing.session.incomplete:
        facing.session.complete(number)
    sent = 0
    for _ in range(LIMITS.unsettled):
        number = facing.session.transfer("d", b"x").command_id
        facing.settle()
        facing.feed(frames(spec.MessageAccept(amqp.SequenceSet.of(number))))
        facing.session.complete(facing.session.incomplete[0])
        facing.feed(raw.completed(number))
        sent += 1
    books = facing.session._state.outgoing
    assert (len(books.unsettled), books.put) == (0, sent)
    with pytest.raises(Exception, match=r"Limits\.unsettled allows no more"):
        facing.session.transfer("d", b"x")


def test_calls_that_wait_for_their_results_are_bounded() -> None:
    """A peer that completes calls without their results can't make the books grow for ever."""
    facing = begun(CLIENT)
    session = facing.session
    refused = 0
    for number in range(3 * LIMITS.calls):
        try:
            session.call(spec.QueueQuery("q"))
        except LimitExceeded:
            refused += 1
            continue
        facing.settle()
        facing.feed(raw.completed(number))
        facing.end.check()
    assert refused == 2 * LIMITS.calls


def test_gaps_and_known_completions_of_anything_leave_the_books_right() -> None:
    facing = begun(SERVER)
    state = facing.session._state.receiving
    for number in (3, 1, 0, 0xFFFF_FFFF, 7, 2):
        facing.feed(frames(spec.SessionGap(amqp.SequenceSet.of(number))))
        state.check()
        facing.feed(frames(spec.SessionKnownCompleted(amqp.SequenceSet.of(number))))
        state.check()
    assert state.next_id == 4
