"""Windows, credit and counts are serial numbers: they wrap around, and the largest ones mean what they say."""

from typing import Any

import pytest

from amqp_sansio import amqp_1_0 as amqp
from amqp_sansio.amqp_1_0 import spec
from amqp_sansio.amqp_1_0.endpoint.config import Config
from tests.kit.facing import CLIENT
from tests.kit.facing_1_0 import Facing
from tests.kit.octets_1_0 import octets_of

TOP = 0xFFFF_FFFF
STARTS = (0, TOP - 2, TOP, 0x7FFF_FFFE, 0x8000_0000)


def sending(start: int, window: int, credit: int) -> tuple[Facing, Any]:
    """A client with a sender whose peer begins its own counts at `start`, and gives so much window and credit."""
    facing = Facing.opened(CLIENT)
    session = facing.end.open_session()
    facing.settle()
    begin = spec.Begin(remote_channel=0, next_outgoing_id=start, incoming_window=window, outgoing_window=TOP)
    facing.feed(octets_of(begin))
    sender = session.open_sender("q", name="n")
    facing.settle()
    facing.feed(
        octets_of(spec.Attach("n", 0, True, source=amqp.Source("client"), target=amqp.Target("q"))),
        octets_of(flow(0, window, start, handle=0, delivery_count=0, link_credit=credit)),
    )
    return facing.forget(), sender


def flow(next_incoming_id: int, window: int, next_outgoing_id: int, **of_link: Any) -> spec.Flow:
    return spec.Flow(
        next_incoming_id=next_incoming_id,
        incoming_window=window,
        next_outgoing_id=next_outgoing_id,
        outgoing_window=TOP,
        **of_link,
    )


@pytest.mark.parametrize("most", [1, 0x7FFF_FFFF, 0x8000_0000, TOP])
@pytest.mark.parametrize("start", STARTS)
def test_the_largest_windows_and_credits_let_send(most: int, start: int) -> None:
    """A window or credit of 4,294,967,295 is no limit; it isn't none."""
    facing, sender = sending(start, most, most)
    assert sender.credit >= 1
    assert sender.session.outgoing_window >= 1
    handle = sender.send(amqp.Message(b"x"))
    facing.settle()
    assert facing.names() == ["transfer"]
    facing.feed(octets_of(spec.Disposition(True, 0, settled=True, state=amqp.Accepted())))
    assert handle.result == amqp.Accepted()


def test_a_credit_that_is_given_again_stays_large() -> None:
    facing, sender = sending(0, TOP, TOP)
    for _ in range(3):
        sender.send(amqp.Message(b"x"))
    facing.feed(octets_of(flow(3, TOP, 0, handle=0, delivery_count=3, link_credit=TOP)))
    assert facing.of(amqp.CreditChanged)
    assert sender.credit >= 0x7FFF_FFFF - 3


def receiving(start: int, count: int, credit: int, window: int) -> tuple[Facing, Any]:
    """A client with a receiver; the peer's transfers count from `start`, its deliveries from `count`."""
    facing = Facing.opened(CLIENT, Config(container_id="client", incoming_window=window))
    session = facing.end.open_session()
    facing.settle()
    begin = spec.Begin(remote_channel=0, next_outgoing_id=start, incoming_window=100, outgoing_window=TOP)
    facing.feed(octets_of(begin))
    receiver = session.open_receiver("q", name="n", credit=credit)
    facing.settle()
    answer = spec.Attach(
        "n", 0, False, source=amqp.Source("q"), target=amqp.Target("client"), initial_delivery_count=count
    )
    facing.feed(octets_of(answer))
    return facing.forget(), receiver


@pytest.mark.parametrize("settled", [True, False])
@pytest.mark.parametrize("count", STARTS)
@pytest.mark.parametrize("start", STARTS)
def test_deliveries_go_on_over_the_end_of_the_numbers(start: int, count: int, settled: bool) -> None:
    """Ids, delivery-counts and windows all pass 4,294,967,295 in the middle."""
    facing, receiver = receiving(start, count, 5, 4)
    payload = amqp.Message(b"x").encode()
    for number in range(12):
        delivery_id = (start + number) & TOP
        facing.feed(octets_of(spec.Transfer(0, delivery_id, b"%d" % number, 0, settled=settled), payload=payload))
        (delivery,) = facing.of(amqp.Delivery)
        assert delivery.delivery_id == delivery_id
        assert receiver.credit == 4
        if not settled:
            receiver.accept(delivery)
        receiver.flow(5)
        facing.forget()
    assert receiver.delivery_count == (count + 12) & TOP
    assert not receiver.unsettled


@pytest.mark.parametrize("count", STARTS)
def test_deliveries_are_accepted_together_over_the_end_of_the_numbers(count: int) -> None:
    facing, receiver = receiving(TOP - 2, count, 10, 100)
    payload = amqp.Message(b"x").encode()
    for number in range(6):
        frame = spec.Transfer(0, (TOP - 2 + number) & TOP, b"%d" % number, 0)
        facing.feed(octets_of(frame, payload=payload))
    receiver.accept(*facing.of(amqp.Delivery))
    facing.settle()
    sent = [each.body for each in facing.sent() if each.name == "disposition"]
    assert [(each.first, each.last) for each in sent] == [(TOP - 2, 3 - 1)]
    assert not receiver.unsettled


@pytest.mark.parametrize("count", STARTS)
def test_a_drain_ends_over_the_end_of_the_numbers(count: int) -> None:
    facing, receiver = receiving(0, count, 5, 100)
    receiver.drain()
    facing.feed(octets_of(flow(0, 100, 0, handle=0, delivery_count=(count + 5) & TOP, link_credit=0, drain=True)))
    assert facing.of(amqp.Drained)
    assert receiver.credit == 0


@pytest.mark.parametrize("first", STARTS)
def test_dispositions_of_the_peer_reach_over_the_end_of_the_numbers(first: int) -> None:
    facing, sender = sending(0, 100, 100)
    sender.session.next_delivery_id = first
    handles = [sender.send(amqp.Message(b"x")) for _ in range(5)]
    last = (first + 4) & TOP
    facing.feed(octets_of(spec.Disposition(True, first, last, settled=True, state=amqp.Accepted())))
    assert [handle.result for handle in handles] == [amqp.Accepted()] * 5
