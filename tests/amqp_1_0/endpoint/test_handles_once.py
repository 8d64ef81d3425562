"""Two endpoints of this package, used at random over several connections: they keep each other's rules, every handle
is ended by exactly one event, and nothing is told of a link after its LinkClosed.

Below are the single cases that were found so.
"""

# pyright: reportPrivateUsage=false
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amqp_sansio import Failed, Settled, Side
from amqp_sansio.amqp_1_0 import Delivery, LinkState, Message, Rejected
from tests.kit.applications import Accepting, listen
from tests.kit.choices import Choices
from tests.kit.pair import SIDES
from tests.kit.pair_1_0 import Pair, client_config, server_config
from tests.kit.using_1_0 import COMMON, Two

CLIENT, SERVER = Side.CLIENT, Side.SERVER


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
    pair.server.check()
