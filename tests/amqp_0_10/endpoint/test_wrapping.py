"""Command ids are serial numbers: they wrap around, at both ends, with all that is said of them (section 3.2)."""

# pyright: reportPrivateUsage=false
from __future__ import annotations

import pickle
from typing import Any

import pytest

from amqp_sansio import Accepted, Failed, Limits, Side
from amqp_sansio.amqp_0_10 import (
    CommandReceived,
    MessageReceived,
    MessageSubscribe,
    QueueDeclare,
    QueueQuery,
    QueueQueryResult,
    SequenceSet,
    SessionState,
)
from amqp_sansio.amqp_0_10.model.command_ids import ReceiveState
from tests.kit.pair_0_10 import Pair

CLIENT, SERVER = Side.CLIENT, Side.SERVER
TOP = 0xFFFF_FFFF
STARTS = (0, TOP - 7, TOP - 2, TOP, 0x7FFF_FFFE, 0x8000_0000)


def attached(start: int) -> tuple[Pair, Any, Any]:
    """Both ends of a session whose first commands have such an id."""
    pair = Pair(watched=True).open()
    session = pair.client.open_session("s", timeout=60)
    session._state.sending.next_id = start
    pair.pump()
    state = SessionState(b"s", SERVER, Limits())
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
    pair, session, other = attached(start)
    for number in range(12):
        name = f"q{number}"
        plain, query = session.call(QueueDeclare(name)), session.call(QueueQuery(name))
        pair.pump()
        first, second = pair.of(SERVER, CommandReceived)[-2:]
        assert [first.command_id, second.command_id] == [(start + 2 * number + each) & TOP for each in (0, 1)]
        other.complete(second.command_id, QueueQueryResult(queue=name))
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
    pair, session, other = attached(start)
    session.call(MessageSubscribe("q", "d", 0, 0))
    session.top_up("d", 10)
    pair.pump()
    sent = [other.transfer("d", b"%d" % number) for number in range(10)]
    pair.pump()
    ids = [event.command_id for event in pair.of(CLIENT, MessageReceived)]
    assert ids == [(start + number) & TOP for number in range(10)]
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
    pair, session, other = attached(start)
    for number in range(6):
        session.call(QueueDeclare(f"q{number}"), sync=False)
    pair.write(CLIENT)
    pair.cut(0, arriving)
    heard = [event.command.queue for event in pair.of(SERVER, CommandReceived)]
    states = pickle.loads(pickle.dumps([each.detached_state() for each in (session, other)]))
    again = Pair(watched=True).open()
    session = again.client.resume_session(states[0])
    again.pump()
    other = again.server.accept_session(session.channel, states[1])
    again.pump()
    heard += [event.command.queue for event in again.of(SERVER, CommandReceived)]
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
    state.gap(SequenceSet.of(*[(start + each) & TOP for each in (0, 1, 3, 4)]))
    assert state.next_id == (start + 2) & TOP
    assert state.arrive() == ((start + 2) & TOP, True)
    assert (state.next_id, state.point) == ((start + 5) & TOP,) * 2
    state.check()
    assert len(state.received) == 5
