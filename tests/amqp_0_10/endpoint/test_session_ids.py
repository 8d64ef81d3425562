"""What both ends of a session know of its commands: points, expected, confirmed, completed, gaps, ids that wrap."""

# pyright: reportPrivateUsage=false
import pickle
from typing import Any

import pytest

from amqp_sansio import Abandoned, Accepted, EndpointClosed, Failed, Limits, LocalProtocolError, Scope, Side
from amqp_sansio import amqp_0_10 as amqp
from amqp_sansio.amqp_0_10 import spec
from amqp_sansio.amqp_0_10.model.command_ids import ReceiveState
from tests.kit import octets_0_10 as raw
from tests.kit.facing import CLIENT, SERVER
from tests.kit.facing_0_10 import Facing, client_config, server_config
from tests.kit.octets_0_10 import ids
from tests.kit.pair_0_10 import Pair
from tests.kit.steps import count_steps

LAST = 0xFFFF_FFFF
MOST_RANGES = 65_535 // 8
"""A sequence-set has a size of two octets, and eight octets for each range."""


def served(facing: Facing) -> Facing:
    """Complete what waits, as an application does."""
    facing.complete_all()
    return facing


# command-point.


@pytest.mark.rule("0-10/session.command-point/newly-attached")
def test_command_data_before_a_command_point_detaches_with_unknown_ids(opened: Facing) -> None:
    if opened.side is CLIENT:
        opened.end.open_session("s")
        opened.feed(raw.attached() + raw.expected())
    else:
        opened.feed(raw.attach())
        opened.end.accept_session(0)
    opened.forget()
    opened.feed(raw.sync())
    assert opened.out == bytes.fromhex("0f00001400000000000000000204030000017304")
    (failed,) = opened.of(Failed)
    assert failed.scope is Scope.SESSION
    assert failed.error.rule == "0-10/session.command-point/newly-attached"
    assert opened.end.sessions == ()
    assert opened.end.is_open
    # What was under way behind it isn't of a session any more.
    opened.feed(raw.sync())
    assert opened.out.endswith(raw.detached(b"", 3))


@pytest.mark.parametrize("first", [0, 7, 1 << 31, LAST])
def test_a_command_point_says_the_id_of_the_next_command(side: Side, first: int) -> None:
    facing = Facing.attached(side, point=raw.command_point(first))
    facing.feed(raw.sync() + raw.sync() + raw.sync())
    last = (first + 2) & LAST
    assert facing.out.endswith(raw.completed((first, last)))


@pytest.mark.rule("0-10/session.command-point/zero-offset")
@pytest.mark.parametrize("flags", [0x05, 0x07, 0x0D, 0x00])
def test_the_first_frame_behind_a_command_point_begins_a_command(facing: Facing, flags: int) -> None:
    facing.feed(raw.command_point(0) + raw.frame(raw.segment(0x0301), 1, flags=flags))
    facing.closes(501, "session.command-point/zero-offset")


@pytest.mark.rule("0-10/session.command-point/nonzero-offset")
def test_behind_a_nonzero_offset_the_command_goes_on(side: Side) -> None:
    octets = raw.segment(0x0301)
    facing = Facing.attached(side)
    facing.feed(raw.frame(octets[:2], 1, flags=0x0E) + raw.command_point(0, 2) + raw.frame(octets[2:], 1, flags=0x0D))
    assert facing.out == raw.completed(0)
    facing = Facing.attached(side)
    facing.feed(raw.frame(octets[:2], 1, flags=0x0E) + raw.command_point(0, 2) + raw.frame(octets, 1))
    facing.closes(501, "wire/frame-flags")


@pytest.mark.parametrize("begun", [True, False])
def test_the_middle_of_another_command_is_not_implemented(facing: Facing, begun: bool) -> None:
    facing.feed(raw.frame(raw.segment(0x0301)[:2], 1, flags=0x0E) if begun else b"")
    facing.feed(raw.command_point(3, 17))
    facing.gives_up(540, None, None)


def test_a_command_point_that_leaves_out_commands_is_an_illegal_state(facing: Facing) -> None:
    facing.feed(raw.sync() + raw.command_point(3))
    facing.gives_up(409, None, None)


@pytest.mark.rule("0-10/session.gap/abort-partial", "0-10/session.command-point/zero-offset")
def test_a_command_that_is_begun_again_is_executed_once(side: Side) -> None:
    octets = raw.segment(0x0301, sync=True)
    facing = Facing.attached(side)
    facing.feed(raw.frame(octets[:2], 1, flags=0x0E) + raw.command_point(0) + raw.frame(octets, 1))
    assert facing.out == raw.completed(0)


# expected.


@pytest.mark.rule("0-10/session.expected/only-on-flush", "0-10/session.expected/next-command")
@pytest.mark.rule("0-10/session.expected/no-overlaps", "0-10/session.expected/minimal-fragments")
def test_expected_is_the_next_command_whole_and_only_told_when_asked(side: Side) -> None:
    facing = Facing.attached(side, point=raw.command_point(5))
    served(facing).feed(raw.sync() + raw.sync())
    octets = raw.segment(0x0301)
    # The third has begun to come: as far as it matters it's still expected as a whole.
    facing.feed(raw.frame(octets[:2], 1, flags=0x0E))
    assert "session.expected" not in facing.names()
    facing.forget()
    facing.feed(raw.flush("expected"))
    # The field `commands` alone, no fragments.
    assert facing.out[:18] == bytes.fromhex("0f00001a0000000000000000020801000008")
    (told,) = facing.records()
    assert told.fragments is None
    assert told.commands.ranges[-1][1] in (7, 8)
    facing.forget()
    facing.feed(raw.command_point(7) + raw.frame(octets, 1))
    assert facing.end.sessions == (0,)


@pytest.mark.rule("0-10/session.expected/empty-iff-new")
def test_expected_is_empty_on_a_new_session_and_never_again() -> None:
    facing = Facing.accepted()
    facing.feed(raw.flush("expected"))
    assert facing.out == raw.frame(bytes.fromhex("020801000000"))
    facing.forget()
    facing.feed(raw.command_point(0) + raw.flush("expected"))
    assert facing.out == raw.expected(0)
    facing.forget()
    facing.feed(raw.sync() + raw.flush("expected"))
    assert facing.out.endswith(raw.expected(1))


@pytest.mark.rule("0-10/session.expected/only-on-flush")
def test_an_expected_nobody_asked_for_changes_nothing(client: Facing) -> None:
    client.feed(raw.expected(9))
    assert (client.out, client.events) == (b"", [])
    early = Facing.opened(CLIENT)
    early.end.open_session("s")
    early.forget()
    early.feed(raw.expected())
    assert (early.out, early.events) == (b"", [])


def test_a_new_session_whose_name_the_peer_knows_is_left() -> None:
    facing = Facing.opened(CLIENT)
    session = facing.end.open_session("s")
    handle = session.opening
    assert handle is not None
    facing.forget()
    facing.feed(raw.attached() + raw.expected(4))
    assert facing.names() == ["session.flush", "session.detach"]
    assert "another name" in str(handle.error)
    facing.feed(raw.detached())
    assert [type(event) for event in facing.events] == [Failed, amqp.SessionClosed]


# confirmed.


@pytest.mark.rule("0-10/session.confirmed/durability", "0-10/session.confirmed/on-flush")
@pytest.mark.rule("0-10/session.confirmed/no-overlaps", "0-10/session.confirmed/minimal-fragments")
def test_nothing_is_confirmed_before_the_application_has_it(server: Facing) -> None:
    server.feed(raw.transfer("", b"durable") + raw.transfer("", b"too"))
    server.feed(raw.flush("confirmed"))
    assert server.out == raw.frame(bytes.fromhex("020901000000"))
    server.session.complete(1)
    server.forget()
    server.feed(raw.flush("confirmed"))
    assert server.out == raw.confirmed(1)
    (told,) = server.records()
    assert told.fragments is None


@pytest.mark.rule("0-10/session.confirmed/exclude-known", "0-10/session.completed/exclude-known")
@pytest.mark.rule("0-10/session.known-completed/implies-known-confirmed")
def test_what_the_sender_knows_is_told_no_more(facing: Facing) -> None:
    facing.feed(raw.sync() + raw.sync() + raw.sync() + raw.known_completed((0, 1)))
    facing.forget()
    facing.feed(raw.flush("confirmed", "completed"))
    assert facing.out == raw.confirmed(2) + raw.completed(2)
    facing.forget()
    facing.feed(raw.known_completed(2) + raw.flush("confirmed", "completed"))
    assert facing.out == raw.confirmed() + raw.completed()


@pytest.mark.rule("0-10/session.confirmed/on-flush")
def test_a_confirmed_command_is_not_kept_and_not_done(side: Side) -> None:
    facing = Facing.attached(side, keep=60)
    session = facing.session
    handle = session.call(spec.ExecutionSync())
    session.call(spec.ExecutionSync())
    facing.feed(raw.confirmed(0))
    assert not handle.done
    facing.feed(raw.detach())
    state = session.detached_state()
    assert list(state.sending.replay) == [1]
    assert len(state.pending) == 2


# completed and known-completed.


@pytest.mark.rule("0-10/session.completed/known-completed-reply", "0-10/session.known-completed/stateless")
@pytest.mark.rule("0-10/session.completed/implies-confirmed")
def test_completed_that_asks_for_it_is_answered_with_an_echo(facing: Facing) -> None:
    handles = [facing.session.call(spec.ExecutionSync()) for _ in range(3)]
    facing.forget()
    facing.feed(raw.completed(0, 2, timely=True))
    assert facing.out == raw.frame(bytes.fromhex("020b0100") + ids(0, 2))
    assert [handle.done for handle in handles] == [True, False, True]
    facing.forget()
    facing.feed(raw.completed((0, 2), timely=True))
    assert facing.out == raw.known_completed((0, 2))
    assert handles[1].done


@pytest.mark.rule("0-10/session.completed/merged", "0-10/session.completed/known-completed-reply")
def test_completed_that_does_not_ask_is_answered_when_it_names_many(facing: Facing) -> None:
    """Qpid's Python clients have no ear for an answer to each; what is known is told at some time all the same."""
    handles = [facing.session.call(spec.ExecutionSync()) for _ in range(2)]
    facing.forget()
    facing.feed(raw.completed(0) + raw.completed((0, 1)))
    assert [handle.done for handle in handles] == [True, True]
    assert facing.out == b""
    facing.session._state.sending.next_id = 70_000  # pyright: ignore[reportPrivateUsage]
    facing.feed(raw.completed((0, 65_535)))
    assert facing.out == b""
    facing.feed(raw.completed((0, 65_536)))
    assert facing.out == raw.known_completed((0, 65_536))


@pytest.mark.rule("0-10/session.completed/known-completed-reply")
def test_even_nothing_is_known_to_be_completed_when_the_reply_is_timely(facing: Facing) -> None:
    facing.feed(raw.completed(timely=True))
    assert facing.out == raw.known_completed()
    facing.forget()
    facing.feed(raw.completed())
    assert facing.out == b""
    # A known-completed isn't completed itself: the exchange ends here.
    facing.feed(raw.known_completed())
    assert facing.out == b""


@pytest.mark.rule("0-10/session.completed/merged")
def test_one_reply_may_cover_several(facing: Facing) -> None:
    facing.feed(raw.sync())
    facing.feed(raw.flush("completed"))
    facing.feed(raw.sync() + raw.sync() + raw.flush("completed"))
    facing.forget()
    facing.feed(raw.known_completed((0, 2)) + raw.flush("completed"))
    assert facing.out == raw.completed()


@pytest.mark.rule("0-10/session.completed/delayed", "0-10/session/sync-bit")
def test_completions_may_wait_until_they_are_wanted(facing: Facing) -> None:
    facing.feed(raw.sync() * 3)
    assert facing.sent() == [] or facing.names() == ["session.completed"] * 3
    facing.forget()
    facing.feed(raw.sync() + raw.command(0x0301, sync=True))
    assert facing.sent()[-1].octets == raw.completed((0, 4))


@pytest.mark.rule("0-10/session/sync-bit")
def test_the_sync_bit_has_the_completion_told_at_once(server: Facing) -> None:
    server.feed(raw.transfer("", b"a") + raw.transfer("", b"b", sync=True))
    server.session.complete(0)
    server.settle()
    assert server.out == b""
    server.session.complete(1)
    server.settle()
    assert server.out == raw.completed((0, 1))


@pytest.mark.rule("0-10/session.completed/delayed")
def test_completions_that_nobody_waits_for_are_told_before_long(server: Facing) -> None:
    for number in range(200):
        server.feed(raw.transfer("", b""))
        server.session.complete(number)
    told = [each.record.commands for each in server.sent() if each.name == "session.completed"]
    assert 2 <= len(told) <= 20
    assert all([each.ranges[0][0] == 0 for each in told])


@pytest.mark.parametrize("what", [raw.completed(5), raw.confirmed((0, 1)), raw.completed((LAST, 0))])
def test_what_was_never_sent_is_not_completed(facing: Facing, what: bytes) -> None:
    facing.session.call(spec.ExecutionSync())
    facing.forget()
    facing.feed(what)
    if what == raw.completed((LAST, 0)):
        # What lies before the first command was another's life of the name.
        assert facing.session.is_attached
        return
    facing.gives_up(409, None, None)


def test_more_ranges_than_a_set_holds_are_told_in_several_sets() -> None:
    facing = Facing.attached(SERVER, server_config(limits=Limits(requests=20_000)))
    session = facing.session
    count = 2 * (MOST_RANGES + 9)
    facing.feed(raw.transfer("", b"") * count)
    for number in range(0, count, 2):
        session.complete(number)
    facing.forget()
    facing.feed(raw.flush("confirmed", "completed"))
    told = facing.records()
    assert [each.NAME for each in told] == ["session.confirmed"] * 2 + ["session.completed"] * 2
    for pair in (told[:2], told[2:]):
        assert [len(each.commands.ranges) for each in pair] == [MOST_RANGES, 9]
        found = [number for each in pair for number in each.commands]
        assert found == list(range(0, count, 2))
    facing.feed(raw.known_completed((0, 2 * MOST_RANGES - 1)))
    facing.forget()
    facing.feed(raw.flush("completed"))
    (told,) = facing.records()
    assert len(told.commands) == 9


def test_completions_told_in_several_sets_are_all_heard(client: Facing) -> None:
    handles = [client.session.call(spec.ExecutionSync(), sync=False) for _ in range(4)]
    client.feed(raw.completed(0, 2) + raw.completed(3))
    assert [handle.done for handle in handles] == [True, False, True, True]
    client.forget()
    client.feed(raw.completed((0, 3)))
    assert handles[1].done


# gap.


@pytest.mark.rule("0-10/session.gap/confirm-complete", "0-10/session.gap/keep-done")
def test_what_is_given_up_counts_as_completed_and_confirmed(facing: Facing) -> None:
    facing.feed(raw.sync() + raw.gap((0, 4)))
    facing.forget()
    facing.feed(raw.flush("confirmed", "completed", "expected"))
    assert facing.out == raw.expected(5) + raw.confirmed((0, 4)) + raw.completed((0, 4), timely=True)
    # The next one is behind the gap.
    facing.forget()
    facing.feed(raw.command_point(5) + raw.command(0x0301, sync=True))
    assert facing.out == raw.completed((0, 5))


@pytest.mark.rule("0-10/session.gap/abort-partial")
@pytest.mark.parametrize("streamed", [True, False])
def test_a_gap_aborts_the_command_that_is_arriving(streamed: bool) -> None:
    facing = Facing.attached(SERVER, server_config(stream_above=4 if streamed else None))
    facing.feed(raw.frame(raw.segment(0x0401), 1, flags=0x0B) + raw.frame(b"12345", 3, flags=0x06) + raw.gap(0))
    if streamed:
        begun, _, aborted = facing.events
        assert isinstance(begun, amqp.MessageBegun)
        assert aborted == amqp.BodyAborted(0, 0)
    else:
        assert facing.events == []
    assert facing.session.incomplete == ()
    facing.forget()
    facing.feed(raw.flush("completed") + raw.transfer("", b"next"))
    assert facing.out == raw.completed(0)
    (message,) = facing.of(amqp.MessageReceived)
    assert (message.command_id, message.body) == (1, b"next")


@pytest.mark.rule("0-10/session.gap/keep-done")
def test_what_is_being_executed_when_it_is_given_up_goes_on(server: Facing) -> None:
    server.feed(raw.transfer("", b"x") + raw.gap(0))
    server.session.complete(0)
    server.forget()
    server.feed(raw.flush("completed"))
    assert server.out == raw.completed(0)


def test_a_gap_of_half_of_all_ids_takes_no_time(facing: Facing) -> None:
    octets = raw.gap((0, 0x7FFF_FFFE)) + raw.flush("expected")
    assert count_steps(lambda: facing.feed(octets), 10_000) < 10_000
    assert facing.out == raw.expected(0x7FFF_FFFF)


def test_the_own_gap_fails_what_it_gives_up(client: Facing) -> None:
    session = client.session
    first, second = session.call(spec.QueuePurge("a")), session.transfer("", b"x")
    kept = session.call(spec.QueuePurge("c"))
    client.forget()
    session.gap(0, 1)
    client.settle()
    assert client.out == raw.frame(bytes.fromhex("020d0100") + ids((0, 1)))
    (abandoned,) = client.of(Abandoned)
    assert abandoned.pendings == (first, second.completion, second.outcome)
    assert isinstance(first.error, EndpointClosed)
    assert session.pending == (kept,)
    with pytest.raises(LocalProtocolError, match="command 0"):
        session.gap(0)
    client.feed(raw.completed((0, 2)))
    assert kept.done


@pytest.mark.parametrize("what", ["gap", "known"])
def test_a_peer_that_cuts_what_is_known_into_pieces_is_stopped(facing: Facing, what: str) -> None:
    if what == "known":
        facing.feed(raw.gap((0, 4 * MOST_RANGES)))
    half = MOST_RANGES // 2
    tell = raw.gap if what == "gap" else raw.known_completed
    facing.feed(tell(*range(1, 2 * half, 2)), tell(*range(2 * half + 1, 4 * half, 2)))
    assert facing.session.is_attached
    facing.forget()
    facing.feed(tell(*range(4 * half + 1, 4 * half + 9, 2)))
    facing.gives_up(506, None, None)


# Sets that are no sets.


@pytest.mark.parametrize(
    "octets",
    [
        raw.u16(4) + raw.u32(0),
        raw.u16(9) + bytes(9),
        raw.u16(8) + raw.u32(0),
        raw.u16(8) + raw.u32(5) + raw.u32(4),
        raw.u16(8) + raw.u32(0) + raw.u32(1 << 31),
        raw.u16(16) + raw.u64(1),
    ],
)
@pytest.mark.parametrize("code", [0x0208, 0x0209, 0x020A, 0x020B, 0x020D])
def test_a_control_with_a_malformed_set_is_a_framing_error(facing: Facing, octets: bytes, code: int) -> None:
    facing.feed(raw.control(code, octets))
    facing.closes(501, None)


@pytest.mark.parametrize(
    "octets",
    [
        raw.u16(4) + raw.u32(0),
        raw.u16(9) + bytes(9),
        raw.u16(8) + raw.u32(5) + raw.u32(4),
        raw.u16(8) + raw.u32(0) + raw.u32(1 << 31),
    ],
)
@pytest.mark.parametrize("code", [0x0402, 0x0403, 0x0404, 0x0405])
def test_a_command_with_a_malformed_set_is_invalid(server: Facing, octets: bytes, code: int) -> None:
    server.feed(raw.command(code, octets))
    server.gives_up(503, 0, None)


def test_sets_that_wrap_or_overlap_are_sets(side: Side) -> None:
    facing = Facing.attached(side, point=raw.command_point(LAST - 1))
    facing.feed(raw.sync() * 4 + raw.known_completed((LAST, 0), (0, 0)))
    facing.forget()
    facing.feed(raw.flush("completed"))
    (told,) = facing.records()
    assert told.commands == amqp.SequenceSet([(LAST - 1, LAST - 1), (1, 1)])


# Asking.


def test_flush_octet_by_octet(facing: Facing) -> None:
    facing.session.flush()
    facing.session.flush(expected=True, confirmed=True, completed=False)
    facing.session.flush(expected=True, confirmed=True)
    facing.settle()
    assert facing.out == b"".join([raw.frame(bytes.fromhex(f"020c{n}00")) for n in ("04", "03", "07")])


def test_what_a_new_client_keeps_is_numbered_from_its_command_point() -> None:
    facing = Facing.opened(CLIENT, client_config())
    session = facing.end.open_session("s")
    session.sync()
    facing.feed(raw.attached() + raw.expected())
    assert [each.name for each in facing.sent()][-2:] == ["session.command-point", "execution.sync"]
    facing.feed(raw.command_point() + raw.command(0x0301, sync=True))
    assert facing.out.endswith(raw.completed(0))
    assert facing.of(amqp.CommandReceived) == []


# Command ids are serial numbers: they wrap around, at both ends, with all that is said of them (section 3.2).


STARTS = (0, LAST - 7, LAST - 2, LAST, 0x7FFF_FFFE, 0x8000_0000)


def numbered(start: int) -> tuple[Pair, Any, Any]:
    """Both ends of a session whose first commands have such an id."""
    pair = Pair(watched=True).open()
    session = pair.client.open_session("s", timeout=60)
    session._state.sending.next_id = start
    pair.pump()
    state = amqp.SessionState(b"s", SERVER, Limits())
    state.sending.next_id = start
    other = pair.server.accept_session(session.channel, state)
    pair.pump()
    assert session.is_attached
    return pair, session, other


def check(pair: Pair, *sessions: Any) -> None:
    """Nothing was found wrong, and nothing is left."""
    for session in sessions:
        session._state.sending.check()
        session._state.receiving.check()
        assert not session.pending
        assert not session._state.sending.replay
    assert not pair.violations
    assert not [event for side in (CLIENT, SERVER) for event in pair.of(side, Failed)]


@pytest.mark.parametrize("start", STARTS)
def test_commands_and_their_results_pass_the_end_of_the_numbers(start: int) -> None:
    pair, session, other = numbered(start)
    for number in range(12):
        name = f"q{number}"
        plain, query = session.call(spec.QueueDeclare(name)), session.call(spec.QueueQuery(name))
        pair.pump()
        first, second = pair.of(SERVER, amqp.CommandReceived)[-2:]
        assert [first.command_id, second.command_id] == [(start + 2 * number + each) & LAST for each in (0, 1)]
        other.complete(second.command_id, spec.QueueQueryResult(queue=name))
        pair.pump()
        assert query.done
        other.complete(first.command_id)
        other.sync()
        session.flush()
        pair.pump()
        assert plain.done
        assert query.result.queue == name
    other.flush()
    pair.pump()
    check(pair, session, other)


@pytest.mark.parametrize("start", STARTS)
def test_messages_are_accepted_together_over_the_end_of_the_numbers(start: int) -> None:
    pair, session, other = numbered(start)
    session.call(spec.MessageSubscribe("q", "d", 0, 0))
    session.top_up("d", 10)
    pair.pump()
    sent = [other.transfer("d", b"%d" % number) for number in range(10)]
    pair.pump()
    ids = [event.command_id for event in pair.of(CLIENT, amqp.MessageReceived)]
    assert ids == [(start + number) & LAST for number in range(10)]
    session.accept(*ids[5:], *ids[:5])
    pair.pump()
    for number in other.incomplete:
        other.complete(number)
    for each in (session, other):
        each.flush()
    pair.pump()
    assert [each.outcome.result for each in sent] == [Accepted()] * 10
    assert session.granted("d") == other.credit("d") == (10, None)
    check(pair, session, other)


@pytest.mark.parametrize("start", STARTS)
@pytest.mark.parametrize("arriving", [0, 40, 100, 150])
def test_a_replay_passes_the_end_of_the_numbers(start: int, arriving: int) -> None:
    pair, session, other = numbered(start)
    for number in range(6):
        session.call(spec.QueueDeclare(f"q{number}"), sync=False)
    pair.write(CLIENT)
    pair.cut(0, arriving)
    heard = [event.command.queue for event in pair.of(SERVER, amqp.CommandReceived)]
    states = pickle.loads(pickle.dumps([each.detached_state() for each in (session, other)]))
    again = Pair(watched=True).open()
    session = again.client.resume_session(states[0])
    again.pump()
    other = again.server.accept_session(session.channel, states[1])
    again.pump()
    heard += [event.command.queue for event in again.of(SERVER, amqp.CommandReceived)]
    assert heard == [f"q{number}" for number in range(6)]
    for number in reversed(other.incomplete):
        other.complete(number)
    session.flush()
    again.pump()
    check(again, session, other)


@pytest.mark.parametrize("start", STARTS)
def test_ids_are_given_up_over_the_end_of_the_numbers(start: int) -> None:
    state = ReceiveState()
    assert state.command_point(start)
    state.gap(amqp.SequenceSet.of(*[(start + each) & LAST for each in (0, 1, 3, 4)]))
    assert state.next_id == (start + 2) & LAST
    assert state.arrive() == ((start + 2) & LAST, True)
    assert (state.next_id, state.point) == ((start + 5) & LAST,) * 2
    state.check()
    assert len(state.known.set) == 5
