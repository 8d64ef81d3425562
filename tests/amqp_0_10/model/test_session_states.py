"""What both ends of a session know: exactly once, whatever is lost, in any number of attachments."""

from __future__ import annotations

import pickle
from collections import deque
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amqp_sansio import LimitExceeded
from amqp_sansio.amqp_0_10 import SequenceSet
from amqp_sansio.amqp_0_10.model.command_ids import ReceiveState, SendState


class Ends:
    """Both ends of one direction, and what lies between them: commands one way, controls the other."""

    def __init__(self, first_id: int, count: int) -> None:
        self.sender: SendState[int] = SendState(next_id=first_id)
        self.receiver = ReceiveState()
        self.count = count
        self.sent = 0
        self.done: list[int] = []
        self.forth: deque[tuple[str, Any]] = deque()
        self.back: deque[tuple[str, Any]] = deque()
        self.attach()

    def attach(self) -> None:
        """A new attachment: the receiver tells what it has, the sender goes on from there."""
        self.forth.clear()
        self.back.clear()
        self.receiver.detached()
        self.sender, self.receiver = pickle.loads(pickle.dumps((self.sender, self.receiver)))
        expected, completed = self.receiver.expected, self.receiver.completed
        # As session.flush asks for it: expected, confirmed and completed.
        self.sender.told_completed(completed)
        again = self.sender.to_replay(expected)
        start = again[0][0] if again else self.sender.next_id
        self.forth.append(("point", start))
        self.forth += [("command", command) for _, command in again]
        self.forth.append(("known", self.sender.completed))

    def step(self, what: int) -> None:
        """One of the things that can happen."""
        if what == 0 and self.sent < self.count:
            self.sender.send(self.sent)
            self.forth.append(("command", self.sent))
            self.sent += 1
        elif what == 1 and self.forth:
            self.deliver(*self.forth.popleft())
        elif what == 2 and self.back:
            self.sender.told_completed(self.back.popleft()[1])
            self.forth.append(("known", self.sender.completed))
        elif what == 3:
            self.back.append(("completed", self.receiver.completed))
        elif what == 4:
            self.attach()
        self.sender.check()
        self.receiver.check()

    def deliver(self, kind: str, value: Any) -> None:
        if kind == "point":
            assert self.receiver.command_point(value)
        elif kind == "known":
            self.receiver.known_completed(value)
        else:
            number, new = self.receiver.arrive()
            if new:
                self.done.append(value)
                self.receiver.complete([number])


@pytest.mark.rule("0-10/session/exactly-once", "0-10/session.completed/implies-confirmed")
@pytest.mark.rule("0-10/session.expected/next-command")
@given(steps=st.lists(st.integers(0, 4), max_size=200), first_id=st.sampled_from([0, 7, 0xFFFF_FFFE, 0xFFFF_FFFF]))
def test_every_command_is_executed_once_and_in_order(steps: list[int], first_id: int) -> None:
    ends = Ends(first_id, 30)
    for what in steps:
        ends.step(what)
    while ends.sent < ends.count:
        ends.step(0)
    for _ in range(3):
        while ends.forth or ends.back:
            ends.step(1)
            ends.step(2)
        ends.step(3)
    assert ends.done == list(range(ends.count))
    assert not ends.sender.replay


def test_what_is_kept_for_a_replay_is_bounded() -> None:
    state: SendState[str] = SendState(limit=2)
    state.send("a")
    state.send("b")
    with pytest.raises(LimitExceeded, match="2 commands wait"):
        state.send("c")
    state.confirmed(SequenceSet.of(0))
    assert state.send("c") == 2
