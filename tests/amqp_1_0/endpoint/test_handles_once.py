"""Two endpoints of this package, used at random over several connections: they keep each other's rules, every handle
is ended by exactly one event, and nothing is told of a link after its LinkClosed.

Below are the single cases that were found so.
"""

# pyright: reportPrivateUsage=false
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amqp_sansio import By, Failed, Settled, Side
from amqp_sansio.amqp_1_0 import (
    Accepted,
    Delivery,
    LinkState,
    Message,
    Modified,
    Rejected,
    Released,
    TransactionalState,
)
from tests.kit.hostile_1_0 import Choices
from tests.kit.pair import SIDES
from tests.kit.pair_1_0 import Accepting, Pair, client_config, listen, server_config
from tests.kit.small import small_limits
from tests.kit.using_1_0 import Using, check_books

CLIENT, SERVER = Side.CLIENT, Side.SERVER
LIMITS = small_limits(unsettled=30, consumers=6)
COMMON: dict[str, Any] = {"limits": LIMITS, "max_frame_size": 512, "incoming_window": 6, "channel_max": 2}
BOUNDS = {"1.0/transport/open/channel-max", "1.0/transport/session/handle-max"}
"""Both ends together may want more sessions or links than there are numbers."""
PAYLOADS = tuple([Message(bytes(size)).encode() for size in (1, 20, 300, 600, 2000)])
STATES = (None, Accepted(), Accepted(), Released(), Rejected(), Modified(True), TransactionalState(b"t", Accepted()))


class Two:
    """Both ends of one connection, with an application that does what octets say at each."""

    def __init__(self, choices: Choices, saved: dict[Side, list[LinkState]]) -> None:
        self.choices = choices
        self.pair = Pair(client=client_config(**COMMON), server=server_config(**COMMON)).open()
        self.pair.applications = {side: listen for side in SIDES}
        self.heard = {side: len(self.pair.events[side]) for side in SIDES}
        self.users = {side: Using(choices, self.pair.ends[side]) for side in SIDES}
        for side, user in self.users.items():
            user.payloads, user.states, user.saved = PAYLOADS, STATES, saved[side]

    def use(self) -> None:
        """Use the connection until the octets are at their end, or say that it ends."""
        choices, pair = self.choices, self.pair
        while choices:
            what, side = choices.below(16), choices.of(SIDES)
            if what < 9:
                self.users[side].act()
            elif what < 12:
                pair.turn(side)
            elif what < 14:
                pair.write(side, choices.below(200))
                pair.arrive(side.other, choices.below(200))
            elif what == 14:
                pair.pump()
            elif choices.below(6) == 0:
                break
            self.hear()
            for each in SIDES:
                check_books(pair.ends[each])

    def hear(self) -> None:
        """Take the events of both, none of which finds a fault of the other."""
        for side in SIDES:
            self.pair.drain(side)
            events = self.pair.events[side]
            for event in events[self.heard[side] :]:
                self.users[side].hear(event)
                if isinstance(event, Failed) and event.by is By.LOCAL:
                    assert getattr(event.error, "rule", None) in BOUNDS, event
            self.heard[side] = len(events)

    def end(self) -> None:
        """Close or cut, and check that everything has ended once."""
        pair = self.pair
        if self.choices.below(2):
            pair.pump()
            pair.client.close()
            pair.pump()
        else:
            pair.cut()
        self.hear()
        for user in self.users.values():
            user.saved += [link.saved_state() for link in user.links[-3:]]
            ended = user.telling.ended
            assert user.telling.closed
            for handle in user.handles:
                assert handle.done
                assert id(handle) in ended, handle
            for handle in user.at_once:
                assert id(handle) not in ended, handle


@given(st.binary(min_size=500, max_size=1500))
def test_two_ends_keep_the_rules_and_end_everything_once(octets: bytes) -> None:
    choices = Choices(octets)
    saved: dict[Side, list[LinkState]] = {side: [] for side in SIDES}
    while choices:
        two = Two(choices, saved)
        two.use()
        two.end()


# What was found.


def linked(**modes: Any) -> tuple[Pair, Any, Any]:
    """A pair whose applications only listen, with a sender that has credit, and its receiver."""
    pair = Pair(
        client=client_config(**COMMON),
        server=server_config(**COMMON),
        applications={SERVER: Accepting(deliveries=False)},
    ).open()
    sender = pair.session().open_sender("q", **modes)
    pair.pump()
    receiver = pair.peer(sender)
    pair.applications = {side: listen for side in SIDES}
    return pair, sender, receiver


@pytest.mark.parametrize("how", ["close", "detach"])
def test_what_waits_for_the_window_is_not_sent_on_a_link_that_was_left(how: str) -> None:
    """The window opens between the detach and the peer's answer."""
    pair, sender, _ = linked()
    handle = sender.send(Message(bytes(5000)))
    assert sender.waiting is not None
    getattr(sender, how)()
    pair.pump()
    assert not [event for event in pair.events[CLIENT] if isinstance(event, Failed)]
    assert pair.client.is_open
    assert sender.report is not None
    assert handle.error is not None
    other = sender.session.open_sender("q")
    pair.applications = {side: Accepting() for side in SIDES}
    pair.pump()
    assert other.is_open


def test_the_outcome_that_the_sender_told_first_stays() -> None:
    """The receiver's other outcome crosses it; the link isn't lost by that, and the sender's counts."""
    pair, sender, receiver = linked(rcv_settle_mode=1)
    handle = sender.send(Message(b"x"))
    pair.pump()
    (delivery,) = pair.take(SERVER, Delivery)
    sender.update(handle, Rejected())
    receiver.accept(delivery)
    pair.pump()
    assert pair.client.is_open
    assert handle.result == Rejected()
    assert pair.take(CLIENT, Settled) == [Settled((handle,), Rejected())]


def test_credit_that_was_taken_back_before_the_answer_may_have_been_used() -> None:
    """Both flows are under way while the sender's attach, and what it sent by the first one, comes."""
    pair = Pair(applications={SERVER: Accepting(credit=0)}).open()
    receiver = pair.session().open_receiver("q", name="n", credit=5)
    pair.write(CLIENT)
    receiver.flow(0)
    pair.arrive(SERVER)
    (channel,) = pair.server.sessions
    links: Any = pair.server.session(channel).links
    for _ in range(5):
        links[0].send(Message(b"x"))
    pair.pump()
    assert len(pair.take(CLIENT, Delivery)) == 5
    assert receiver.is_open


@pytest.mark.parametrize("whole", [False, True])
def test_the_octets_of_a_delivery_whose_session_was_left_are_given_back(whole: bool) -> None:
    pair, sender, receiver = linked()
    sender.begin(Message(bytes(200)).encode())
    pair.pump()
    receiver.session.close()
    assert pair.server._sessions.transport.bodies == 0
    if whole:
        sender.continue_delivery(b"", more=False)
    else:
        sender.abort()
    pair.pump()
    assert pair.server._sessions.transport.bodies == 0
    assert not receiver.session.is_open


@pytest.mark.parametrize("more", ["aborted", "whole", "cut"])
def test_the_octets_of_a_delivery_whose_receiver_left_are_given_back(more: str) -> None:
    pair, sender, receiver = linked()
    octets = Message(bytes(400)).encode()
    sender.begin(octets[:200])
    pair.pump()
    assert pair.server._sessions.transport.bodies == 200
    receiver.detach()
    assert pair.server._sessions.transport.bodies == 0
    if more == "aborted":
        sender.abort()
    elif more == "whole":
        sender.continue_delivery(octets[200:], more=False)
    pair.pump()
    assert pair.server._sessions.transport.bodies == 0
    saved = receiver.saved_state().unsettled
    assert [each.payload for each in saved] == ([octets[:200]] if more == "cut" else [])
    check_books(pair.server)
