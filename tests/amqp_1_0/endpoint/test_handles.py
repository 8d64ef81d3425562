"""Handles of AMQP 1.0: whatever happens, each is ended by exactly one event."""

from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amqp_sansio import Abandoned, Closed, EndpointClosed, LocalProtocolError, Scope, Settled
from amqp_sansio.amqp_1_0 import Accepted, Message, Rejected
from amqp_sansio.amqp_1_0.endpoint.events import LinkClosed
from amqp_sansio.amqp_1_0.spec import Detach
from amqp_sansio.endpoint import Side
from tests.kit.applications import Accepting, listen
from tests.kit.driving import OPERATIONS, Operation
from tests.kit.driving_1_0 import Driver
from tests.kit.octets_1_0 import octets_of
from tests.kit.pair import SIDES
from tests.kit.pair_1_0 import Pair
from tests.kit.telling import ended_by


@given(OPERATIONS, st.booleans(), st.booleans())
def test_every_handle_ends_once(operations: list[Operation], cut: bool, damage: bool) -> None:
    driver = Driver(damage=damage)
    for operation in operations:
        driver.apply(operation)
    if cut:
        driver.pair.cut()
    driver.finish()
    for side in SIDES:
        # Not by key: a delivery-tag may be used again once its delivery is settled.
        ended = Counter([id(handle) for event in driver.pair.events[side] for handle in ended_by(event)])
        at_once = {id(handle) for handle in driver.at_once[side]}
        for handle in driver.handles[side]:
            assert handle.done, handle
            assert ended[id(handle)] + (id(handle) in at_once) == 1, handle
        assert max(ended.values(), default=1) == 1
        closed = [event for event in driver.pair.events[side] if isinstance(event, Closed)]
        assert [event.scope for event in closed].count(Scope.CONNECTION) == 1
        assert driver.pair.events[side][-1] is closed[-1]
        assert closed[-1].scope is Scope.CONNECTION
        assert driver.pair.ends[side].sessions == ()
        assert all(isinstance(event, LinkClosed) for event in closed if event.scope is Scope.LINK)


def sending() -> tuple[Pair, Any]:
    """A pair, and a sender that settles by itself."""
    pair = Pair().open()
    sender = pair.session().open_sender("q", snd_settle_mode=1)
    pair.pump()
    return pair, sender


def test_a_settled_delivery_in_parts_ends_with_its_last_octets() -> None:
    pair, sender = sending()
    handle = sender.begin(Message(b"x").encode())
    assert not handle.done
    pair.take(Side.CLIENT)
    sender.continue_delivery(b"", more=False)
    assert handle.done
    pair.pump()
    assert pair.take(Side.CLIENT, Settled) == [Settled((handle,), None)]


@pytest.mark.parametrize("how", ["close", "detach", "lost"])
def test_a_settled_delivery_in_parts_ends_with_its_link(how: str) -> None:
    pair, sender = sending()
    handle = sender.begin(Message(b"x").encode())
    if how == "lost":
        pair.cut()
    else:
        getattr(sender, how)()
        pair.pump()
    assert isinstance(handle.error, EndpointClosed)
    (abandoned,) = [event for event in pair.events[Side.CLIENT] if isinstance(event, Abandoned)]
    assert abandoned.pendings == (handle,)


@pytest.mark.rule("1.0/transport/link/name-unique")
def test_a_name_is_free_again_once_the_peer_has_closed_too() -> None:
    """A new link of that name would meet what the peer still says about the old one."""
    pair, sender = sending()
    session, name = sender.session, sender.name
    sender.close()
    with pytest.raises(LocalProtocolError, match="lives on session"):
        session.open_sender("q", name=name)
    pair.pump()
    assert session.open_sender("q", name=name).name == name
    pair.pump()
    assert session.links[0].is_open


def test_a_closing_detach_that_crosses_another_comes_to_rest() -> None:
    """Both ends use the name again at once; what was said about the old link is no new one (section 2.6.6)."""
    pair, sender = sending()
    name = sender.name
    receiver = pair.peer(sender)
    sender.detach()
    receiver.close()
    with pytest.raises(LocalProtocolError):
        receiver.session.open_receiver("r", name=name)
    pair.pump()
    assert [event.resumable for event in pair.events[Side.CLIENT] if isinstance(event, LinkClosed)] == [False]
    again = receiver.session.open_receiver("r", name=name)
    pair.pump()
    assert again.is_open


def test_a_name_that_is_used_while_the_peer_still_closes_comes_to_rest() -> None:
    """The peer attaches once more to close; this end takes it for the answer to its new link of that name."""
    pair, sender = sending()
    receiver = pair.peer(sender)
    pair.applications = {side: listen for side in SIDES}
    sender.detach()
    receiver.close()
    pair.write(Side.CLIENT)
    pair.write(Side.SERVER)
    pair.arrive(Side.SERVER)
    again = receiver.session.open_receiver("r", name=sender.name)
    pair.pump()
    assert again.opening.done
    assert again.report is not None
    pair.applications = {side: Accepting() for side in SIDES}
    other = receiver.session.open_receiver("r", name=sender.name)
    pair.pump()
    assert other.is_open


def test_a_plain_detach_may_answer_a_closing_one() -> None:
    """RabbitMQ 3 always answers so; the name can be used again."""
    pair, sender = sending()
    session, name, handle = sender.session, sender.name, sender.handle
    sender.close()
    pair.write(Side.CLIENT)
    pair.client.receive_data(octets_of(Detach(handle), 0), 0.0)
    pair.drain(Side.CLIENT)
    (closed,) = [event for event in pair.events[Side.CLIENT] if isinstance(event, LinkClosed)]
    assert not closed.resumable
    assert session.open_sender("q", name=name).name == name


def test_one_word_of_the_sender_ends_each_delivery_with_its_own_state() -> None:
    pair = Pair(applications={Side.SERVER: Accepting(deliveries=False)}).open()
    sender = pair.session().open_sender("q", rcv_settle_mode=1, auto_settle=False)
    pair.pump()
    for _ in range(3):
        sender.send(Message(b"x"))
    pair.pump()
    receiver = pair.peer(sender)
    (one,), (two,), (three,) = receiver.accept(0), receiver.reject(1), receiver.reject(2)
    pair.pump()
    pair.take(Side.SERVER)
    sender.session.disposition(False, [0, 1, 2], None, True)
    pair.pump()
    assert pair.take(Side.SERVER, Settled) == [Settled((one,), Accepted()), Settled((two, three), Rejected())]
    assert (one.result, two.result, three.result) == (Accepted(), Rejected(), Rejected())
