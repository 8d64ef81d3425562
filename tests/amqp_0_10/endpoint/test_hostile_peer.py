"""A hostile peer of AMQP 0-10: whatever well-formed controls and commands it sends, the endpoint keeps its promises.

Nothing is raised out of the read path, all that is kept stays bounded, every end is told once, and the endpoint sends
what can be read. Below are the single cases that random peers have found.
"""

# pyright: reportPrivateUsage=false
from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amqp_sansio import (
    AuthenticationRequested,
    Closed,
    CloseHint,
    EndpointClosed,
    Failed,
    LimitExceeded,
    Limits,
    LocalProtocolError,
    Opened,
    OpenRequested,
    Scope,
    ScramKeysRequested,
    Side,
)
from amqp_sansio.amqp_0_10 import (
    CommandReceived,
    FileDeliver,
    MessageAccept,
    MessageFlow,
    QueueQuery,
    SequenceSet,
    SessionClosed,
    SessionGap,
    SessionKnownCompleted,
    SessionRequested,
    TxSelect,
)
from amqp_sansio.amqp_0_10.codec.record import CONTROLS
from amqp_sansio.amqp_0_10.endpoint import session_controls
from tests.kit.facing_0_10 import LIMITS, Play, config_of, facing_of
from tests.kit.hostile_0_10 import Choices, Peer
from tests.kit.octets_0_10 import (
    HEADER,
    attach,
    attached,
    close,
    command,
    command_point,
    completed,
    detached,
    expected,
    frame,
    gap,
    known_completed,
    open_,
    open_ok,
    segment,
    start,
    start_ok,
    sync,
    transfer,
    tune,
    tune_ok,
)
from tests.kit.talk_0_10 import frames
from tests.kit.using_0_10 import check_books
from tests.kit.wire_0_10 import CLIENT, SERVER, Facing

PLAYS = st.binary(min_size=300, max_size=1200)
SIDES = st.sampled_from([CLIENT, SERVER])
BOTH = pytest.mark.parametrize("side", [CLIENT, SERVER], ids=lambda side: side.value)


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
        CLIENT: [HEADER, start("PLAIN"), tune(), open_ok()],
        SERVER: [HEADER, start_ok(), tune_ok(), open_()],
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
        check_books(facing.end)
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
        facing.feed(attached() + expected() + command_point())
    else:
        facing.feed(attach())
        facing.end.accept_session(0)
        facing.feed(command_point())
    assert facing.session.is_attached
    return facing.forget()


def test_a_close_before_start_ends_the_connection() -> None:
    """The grammar has no place for it, before anything was said."""
    facing = Facing(CLIENT)
    facing.feed(HEADER + close(320, "go away"))
    assert [event.scope for event in facing.of(Closed)] == [Scope.CONNECTION]
    assert facing.end.close_hint is not CloseHint.KEEP


def test_a_broken_rule_in_a_control_of_a_session_ends_the_session_only(side: Side) -> None:
    facing = begun(side)
    facing.feed(completed(70))
    (failed,) = facing.of(Failed)
    assert (failed.scope, failed.error.code) == (Scope.SESSION, 409)
    assert facing.end.is_open


def test_execution_syncs_that_wait_are_bounded(side: Side) -> None:
    facing = begun(side)
    facing.feed(transfer("", b"x") if side is SERVER else frames(FileDeliver("tag")))
    for _ in range(100):
        if facing.end.receive_budget > 100:
            facing.feed(sync())
        check_books(facing.end)
    if side is SERVER:
        facing.session.complete(0)
        facing.settle()
        assert facing.session.incomplete == ()


def test_a_client_keeps_no_more_commands_than_its_limits_allow() -> None:
    """Credit bounds messages; nothing bounds these."""
    facing = begun(CLIENT)
    for number in range(2 * LIMITS.unsettled):
        facing.feed(frames(FileDeliver("tag", number + 1)))
    (failed,) = facing.of(Failed)
    assert failed.error.code == 506
    assert len(facing.of(CommandReceived)) <= LIMITS.unsettled + 1


def test_destinations_that_a_server_throttles_are_bounded() -> None:
    facing = begun(CLIENT)
    for number in range(3 * LIMITS.consumers):
        facing.feed(frames(MessageFlow(f"exchange-{number}", 0, 1)))
    (failed,) = facing.of(Failed)
    assert failed.error.code == 506


def test_a_server_does_not_open_a_session_where_its_peer_waits_for_one() -> None:
    facing = facing_of(SERVER)
    facing.feed(attach(b"theirs"))
    own = facing.end.open_session(b"own")
    asked = facing.of(SessionRequested)[0]
    theirs = facing.end.accept_session(asked.channel)
    assert (own.channel, theirs.channel) == (1, 0)
    facing.feed(attached(b"own", channel=1) + expected(channel=1))
    assert own.is_attached


@pytest.mark.rule("0-10/session.attach/one-session -> detached(transport-busy)")
def test_a_channel_whose_session_is_ending_is_busy(side: Side) -> None:
    """Else the end of the first session would never be told."""
    facing = begun(side)
    facing.feed(completed(70) + attach(b"t"))
    assert not facing.of(SessionRequested)
    facing.feed(detached(b"s"))
    assert [event.name for event in facing.of(SessionClosed)] == [b"s"]


def test_a_detached_without_a_name_is_no_answer_to_attach(side: Side) -> None:
    """It answers what was sent on the channel before."""
    facing = facing_of(side)
    session = facing.end.open_session(b"s")
    facing.feed(detached(b"", 3) + attached() + expected())
    assert session.is_attached
    assert facing.of(Opened)


def test_holes_in_what_is_known_to_be_completed_are_bounded(side: Side, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each costs memory, and time with every command."""
    monkeypatch.setattr(session_controls, "_MOST_RANGES", 40)
    facing = begun(side)
    for number in range(200):
        facing.feed(sync())
        if number % 2:
            facing.feed(known_completed(number))
        assert len(facing.session._state.receiving.known.ranges) <= 41
        if facing.session.report is not None:
            break
    (failed,) = facing.of(Failed)
    assert (failed.scope, failed.error.code) == (Scope.SESSION, 506)


def test_a_command_point_half_the_numbers_away_leaves_out_commands(side: Side) -> None:
    """Whether it lies before or behind isn't defined (RFC 1982)."""
    facing = begun(side)
    facing.feed(command_point(0x8000_0000))
    (failed,) = facing.of(Failed)
    assert failed.error.code == 409
    facing.session._state.receiving.check()


@pytest.mark.rule("0-10/session.gap/confirm-complete")
def test_ids_that_are_given_up_ahead_are_left_out_in_their_turn(side: Side) -> None:
    facing = begun(side)
    state = facing.session._state.receiving
    facing.feed(sync() + gap((2, 3), 5))
    state.check()
    assert (state.next_id, state.point) == (1, 1)
    facing.feed(sync())
    assert (state.next_id, state.point) == (4, 4)
    facing.feed(command_point(4) + sync())
    assert (state.next_id, state.point) == (6, 6)
    state.check()
    assert not facing.of(Failed)
    assert state.completed == SequenceSet(((0, 5),))


def test_frames_without_octets_cost_nothing(side: Side) -> None:
    """And those with few cost what is in them."""
    facing = begun(side)
    first = frame(segment(0x0401, b"\x01d"), 1, flags=0x09 | 0x02)
    facing.feed(first + frame(b"ab", 2, flags=0x02))
    for _ in range(400):
        facing.feed(frame(b"", 2, flags=0), frame(b"xy", 2, flags=0))
    arriving = facing.session._incoming._arriving
    assert arriving is not None
    assert len(arriving.header) == 2 - 1
    assert arriving.held == 802 + len(segment(0x0401, b"\x01d"))


def test_pieces_of_controls_are_bounded_together(side: Side) -> None:
    facing = facing_of(side, limits=Limits(unparsed=20_000, channels=100, bodies=5000))
    for channel in range(100):
        facing.feed(frame(bytes(1000), 0, flags=0x0E, channel=channel))
        if not facing.end.is_open:
            break
    assert sum([each.size for each in facing.end._frames._partials.values()]) <= 5000
    assert facing.of(Failed)


def test_what_a_transaction_has_accepted_counts_as_unsettled() -> None:
    """Else the server's books would grow as long as the transaction lasts."""
    facing = begun(SERVER)
    facing.feed(frames(TxSelect()) + command(0x0407, b"\x01q", b"\x01d", b"\x00", b"\x00"))
    facing.feed(frames(MessageFlow("d", 0, None)) + frames(MessageFlow("d", 1, None)))
    for number in facing.session.incomplete:
        facing.session.complete(number)
    sent = 0
    for _ in range(LIMITS.unsettled):
        number = facing.session.transfer("d", b"x").command_id
        facing.settle()
        facing.feed(frames(MessageAccept(SequenceSet.of(number))))
        facing.session.complete(facing.session.incomplete[0])
        facing.feed(completed(number))
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
            session.call(QueueQuery("q"))
        except LimitExceeded:
            refused += 1
            continue
        facing.settle()
        facing.feed(completed(number))
        check_books(facing.end)
    assert refused == 2 * LIMITS.calls


def test_gaps_and_known_completions_of_anything_leave_the_books_right() -> None:
    facing = begun(SERVER)
    state = facing.session._state.receiving
    for number in (3, 1, 0, 0xFFFF_FFFF, 7, 2):
        facing.feed(frames(SessionGap(SequenceSet.of(number))))
        state.check()
        facing.feed(frames(SessionKnownCompleted(SequenceSet.of(number))))
        state.check()
    assert state.next_id == 4
