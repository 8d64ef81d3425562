"""Sessions of 0-10 that are attached again: what is sent again, and nothing executed twice (part 1 section 3.5)."""

import pickle

import pytest

from amqp_sansio import By, EndpointClosed, Event, Failed, Side
from amqp_sansio import amqp_0_10 as amqp
from amqp_sansio.amqp_0_10 import spec
from tests.kit import octets_0_10 as raw
from tests.kit.facing import CLIENT, SERVER
from tests.kit.facing_0_10 import Facing
from tests.kit.pair_0_10 import Pair

LAST = 0xFFFF_FFFF


def lost(facing: Facing) -> amqp.SessionState:
    """The connection is cut; what is left of its session, through pickle."""
    session = facing.session
    facing.end.connection_lost("cut", facing.now)
    facing.settle()
    found = pickle.loads(pickle.dumps(session.detached_state()))
    assert isinstance(found, amqp.SessionState)
    return found


@pytest.mark.rule("0-10/session/exactly-once")
def test_a_client_sends_again_what_the_server_has_not() -> None:
    before = Facing.attached(CLIENT, keep=60)
    handles = [before.session.call(spec.QueuePurge(name)) for name in "abcd"]
    before.feed(raw.completed(0))
    state = lost(before)
    assert state.pending == tuple(handles[1:])
    facing = Facing.opened(CLIENT)
    session = facing.end.resume_session(state)
    facing.settle()
    assert facing.out == raw.attach(b"s", force=True)
    facing.forget()
    # Command 1 came before the cut, 2 and 3 didn't.
    facing.feed(raw.attached() + raw.expected(2) + raw.completed((0, 1), timely=True))
    assert facing.names() == [
        "session.flush",
        "session.command-point",
        "queue.purge",
        "queue.purge",
        "session.completed",
        "session.known-completed",
    ]
    point = facing.records()[1]
    assert (point.command_id, point.command_offset) == (2, 0)
    (resumed,) = facing.of(amqp.Resumed)
    assert resumed.incomplete == ()
    assert session.is_attached
    pending = session.pending
    assert pending == tuple(handles[2:])
    facing.feed(raw.completed((0, 3)))
    assert list(session.pending) == []
    assert all([handle.done for handle in pending])


@pytest.mark.rule("0-10/session/exactly-once")
def test_a_server_executes_nothing_twice() -> None:
    before = Facing.attached(SERVER, keep=60)
    before.feed(raw.transfer("", b"a") + raw.transfer("", b"b") + raw.transfer("", b"c"))
    before.session.complete(1)
    state = lost(before)
    facing = Facing.opened(SERVER)
    facing.feed(raw.attach(b"s", force=True))
    session = facing.end.accept_session(0, state)
    facing.settle()
    assert facing.out == raw.attached() + raw.flush("expected", "confirmed", "completed")
    facing.forget()
    facing.feed(raw.flush("expected", "confirmed", "completed") + raw.expected(0))
    told = [each.octets for each in facing.sent()]
    assert told[:2] == [raw.expected(3), raw.confirmed(1)]
    assert sorted(told[2:]) == sorted([raw.command_point(0), raw.completed(1, timely=True)])
    (resumed,) = facing.of(amqp.Resumed)
    assert [event.body for event in resumed.incomplete] == [b"a", b"c"]
    facing.forget()
    facing.feed(raw.command_point(0) + raw.transfer("", b"a") + raw.transfer("", b"b") + raw.transfer("", b"c"))
    assert facing.events == []
    facing.feed(raw.transfer("", b"d"))
    assert [event.body for event in facing.of(amqp.MessageReceived)] == [b"d"]
    session.complete(0)
    session.complete(2)
    facing.feed(raw.flush("completed"))
    assert facing.sent()[-1].octets == raw.completed((0, 2))


@pytest.mark.rule("0-10/session/exactly-once")
def test_a_command_cut_in_the_middle_comes_again_as_a_whole() -> None:
    before = Facing.attached(SERVER, keep=60)
    octets = raw.content(raw.segment(0x0401), b"", b"body")
    before.feed(octets[:-3])
    assert before.session.incomplete == ()
    state = lost(before)
    facing = Facing.accepted(state=state)
    facing.feed(raw.flush("expected") + raw.expected(0) + raw.command_point(0) + octets)
    assert facing.sent()[0].octets == raw.expected(0)
    assert [event.body for event in facing.of(amqp.MessageReceived)] == [b"body"]


def test_a_session_the_server_has_forgotten_is_not_resumed() -> None:
    before = Facing.attached(CLIENT, keep=60)
    handle = before.session.transfer("", b"x").completion
    state = lost(before)
    facing = Facing.opened(CLIENT)
    session = facing.end.resume_session(state)
    (pending, _) = session.pending
    assert pending == handle
    facing.forget()
    facing.feed(raw.attached() + raw.expected())
    assert facing.names() == ["session.flush", "session.detach"]
    (failed,) = facing.of(Failed)
    assert pending in failed.pendings
    assert "forgotten" in str(pending.error)
    facing.feed(raw.detached())
    assert not facing.of(amqp.SessionClosed)[0].resumable
    assert list(state.pending) == []
    assert session.report is not None
    assert session.report.by is By.LOCAL
    assert "has forgotten session" in session.report.text


def test_a_server_that_expects_what_was_never_sent_has_lost_count() -> None:
    before = Facing.attached(CLIENT, keep=60)
    before.session.sync()
    state = lost(before)
    facing = Facing.opened(CLIENT)
    facing.end.resume_session(state)
    facing.forget()
    facing.feed(raw.attached() + raw.expected(9))
    assert facing.names() == ["session.flush", "session.detach"]
    assert "expects command 9" in str(facing.of(Failed)[0].error)


def test_a_session_goes_on_over_the_end_of_the_ids() -> None:
    before = Facing.attached(CLIENT, keep=60, point=raw.command_point(LAST))
    before.session._state.sending.next_id = LAST  # pyright: ignore[reportPrivateUsage]
    handles = [before.session.call(spec.ExecutionSync()) for _ in range(3)]
    before.feed(raw.completed(LAST))
    assert [handle.done for handle in handles] == [True, False, False]
    state = lost(before)
    facing = Facing.opened(CLIENT)
    session = facing.end.resume_session(state)
    facing.feed(raw.attached() + raw.expected(1) + raw.completed((LAST, 0)))
    assert facing.records()[2].command_id == 1
    assert len(session.pending) == 1
    facing.feed(raw.completed((LAST, 1)))
    assert list(session.pending) == []


def test_abandoning_a_state_ends_its_handles() -> None:
    before = Facing.attached(CLIENT, keep=60)
    before.session.sync()
    state = lost(before)
    report = before.of(amqp.SessionClosed)[0].report
    (handle,) = state.abandon(report)
    assert isinstance(handle.error, EndpointClosed)
    assert len(state.pending) == 0


def test_the_timeout_that_was_granted_comes_along() -> None:
    facing = Facing.attached(CLIENT, keep=60)
    assert facing.session.timeout == 60
    facing.feed(raw.timeout(20))
    assert facing.session.timeout == 20
    assert lost(facing).timeout == 20


@pytest.mark.parametrize("knows", [True, False], ids=["the server knows it", "the server has forgotten it"])
def test_a_client_that_is_cut_before_it_has_sent_a_command_point_goes_on(knows: bool) -> None:
    before = Facing.opened(CLIENT)
    before.end.open_session(b"s", timeout=60)
    handle = before.session.call(spec.ExecutionSync())
    # The timeout is confirmed; what the server expects, which the command waits for, isn't known yet.
    before.feed(raw.attached() + raw.timeout(60))
    assert "session.command-point" not in before.names()
    state = lost(before)
    assert before.of(amqp.SessionClosed)[0].resumable
    assert state.timeout == 60
    facing = Facing.opened(CLIENT)
    session = facing.end.resume_session(state)
    facing.forget()
    # No command has gone out, so that a server that knows of none can't have lost any.
    facing.feed(raw.attached() + (raw.expected(0) if knows else raw.expected()))
    assert facing.names() == [
        "session.flush",
        "session.request-timeout",
        "session.command-point",
        "execution.sync",
        "session.completed",
    ]
    assert len(facing.of(amqp.Resumed)) == 1
    (pending,) = session.pending
    assert pending == handle
    facing.feed(raw.timeout(60) + raw.completed(0))
    assert pending.done


def test_a_client_that_was_never_told_a_timeout_has_nothing_to_go_on_with() -> None:
    before = Facing.opened(CLIENT)
    session = before.end.open_session(b"s", timeout=60)
    before.feed(raw.attached())
    before.end.connection_lost("cut", before.now)
    before.settle()
    assert not before.of(amqp.SessionClosed)[0].resumable
    with pytest.raises(EndpointClosed):
        session.detached_state()


@pytest.mark.rule("0-10/session.expected/empty-iff-new")
def test_a_session_that_its_client_begins_anew_is_not_gone_on_with() -> None:
    """Though no command went either way: who expects nothing holds no state."""
    before = Facing.accepted()
    before.feed(raw.request_timeout(60))
    facing = Facing.accepted(state=lost(before))
    facing.feed(raw.flush("expected") + raw.expected())
    assert "forgotten" in str(facing.of(Failed)[0].error)
    facing.feed(raw.detached())
    assert not facing.of(amqp.SessionClosed)[0].resumable


@pytest.mark.rule("0-10/session.expected/empty-iff-new")
def test_a_server_tells_a_session_it_keeps_without_a_command_from_a_new_one() -> None:
    before = Facing.accepted()
    before.feed(raw.flush("expected"))
    assert before.sent()[-1].octets == raw.expected()
    before.feed(raw.request_timeout(60))
    state = lost(before)
    facing = Facing.accepted(state=state)
    facing.feed(raw.flush("expected"))
    assert facing.sent()[0].octets == raw.expected(0)
    # The first command may have any number.
    facing.feed(raw.expected(0) + raw.command_point(7) + raw.transfer("", b"a"))
    assert [each.command_id for each in facing.of(amqp.MessageReceived)] == [7]


def opening_cut_after(octets: int) -> tuple[Pair, list[amqp.Session], bool]:
    """A session is opened, and a message sent; so many octets arrive, and then the transport is gone at both ends.

    The client's end of the session and the server's, and whether all octets have arrived.
    """
    pair = Pair().open()
    served = accepting(pair)
    session = pair.client.open_session("s", timeout=60)
    session.transfer("", b"one")
    left, moved = octets, True
    while moved and left:
        moved = False
        for side in (CLIENT, SERVER):
            pair.write(side)
            flying = min(left, len(pair.flying[side]))
            left -= flying
            moved = pair.arrive(side.other, flying) or moved
    pair.cut(0, 0)
    return pair, [session, *served], left > 0


def accepting(pair: Pair, state: amqp.SessionState | None = None) -> list[amqp.Session]:
    """The server of a pair lets sessions in, which go on from `state`; those that it has let in."""
    served: list[amqp.Session] = []

    def hear(side: Side, event: Event) -> None:
        if isinstance(event, amqp.SessionRequested):
            served.append(pair.server.accept_session(event.channel, state))

    pair.tell(hear)
    return served


def test_wherever_an_opening_is_cut_what_both_ends_keep_goes_on() -> None:
    resumed = 0
    for octets in range(0, 1000, 5):
        before, ends, whole = opening_cut_after(octets)
        (closed,) = before.of(CLIENT, amqp.SessionClosed)
        if closed.resumable:
            resumed += 1
            after = Pair().open()
            mine, theirs = [each.detached_state() for each in ends]
            again = accepting(after, theirs)
            session = after.client.resume_session(mine)
            after.pump()
            assert session.is_attached
            assert again[0].is_attached
            bodies = [each.body for pair in (before, after) for each in pair.of(SERVER, amqp.MessageReceived)]
            assert bodies == [b"one"], octets
        if whole:
            break
    assert resumed > 5
