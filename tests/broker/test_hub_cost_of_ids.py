"""A frame costs a hub what it does, not a step for each message that its client holds.

0-10 class 4; 0-9-1 sections 1.8 and 1.9. Steps are counted: twice the messages and twice the frames may cost twice the
steps. tests/system/broker/test_costs_at_large.py counts with more messages.
"""

from collections.abc import Callable
from struct import pack
from typing import Any

import pytest

from amqp_sansio import Signal, amqp_0_9_1
from amqp_sansio import amqp_0_10 as amqp
from amqp_sansio._classic.model.channel_state import EACH, FREE
from amqp_sansio.amqp_0_10 import spec
from amqp_sansio.broker import Hub, Settings
from amqp_sansio.broker.client import Client
from amqp_sansio.sasl import Plain
from tests.kit.steps import assert_linear, count_steps
from tests.kit.talk_0_10 import frames

SIZE = 60
LARGE = 200


def carry(hub: Hub, there: Client, client: Any) -> list[Any]:
    """Carry octets until neither end has any; the client's events."""
    events: list[Any] = []
    while octets := client.data_to_send(0.0):
        there.receive_data(octets, 0.0)
        there.next_event()
        hub.take_dirty()
        client.receive_data(there.data_to_send(0.0), 0.0)
        while not isinstance(event := client.next_event(), Signal):
            events.append(event)
    return events


def say(there: Client, octets: bytes, times: int) -> None:
    """The client sends the same again and again, without a look at the answers."""
    for _ in range(times):
        there.receive_data(octets, 0.0)
        there.next_event()
        there.data_to_send(0.0)
    assert there.is_open


def holding(count: int, acquire_mode: int) -> tuple[Client, Any, list[int]]:
    """A 0-10 client that holds messages, and their ids."""
    hub = Hub(Settings(users={"guest": "guest"}, heartbeat=0.0, seed=b"cost"))
    there, client = hub.connect(), amqp.Connection.client(amqp.Config(sasl=Plain("guest", "guest"), heartbeat=0))
    carry(hub, there, client)
    session = client.open_session(b"s")
    carry(hub, there, client)
    session.call(amqp.spec.QueueDeclare("q"))
    session.call(amqp.spec.MessageSubscribe("q", "d", 0, acquire_mode))
    session.top_up("d", count)
    for _ in range(count):
        session.transfer("", amqp.Message(b"m", routing_key="q"))
    events = carry(hub, there, client)
    ids = [each.command_id for each in events if isinstance(each, amqp.MessageReceived)]
    assert len(ids) == count
    return there, session, ids


KINDS = pytest.mark.parametrize(
    "kind", [amqp.spec.MessageAccept, amqp.spec.MessageReject, amqp.spec.MessageRelease, amqp.spec.MessageAcquire]
)
MODES = pytest.mark.parametrize("acquire_mode", [spec.PRE_ACQUIRED, spec.NOT_ACQUIRED])
TRANSACTED = pytest.mark.parametrize("transacted", [False, True])


@KINDS
@MODES
@TRANSACTED
def test_words_about_what_is_settled(
    kind: Callable[[amqp.SequenceSet], amqp.spec.Command[Any]], acquire_mode: int, transacted: bool, most: int = SIZE
) -> None:
    """A third in the middle is released; then the client says the same of it in each frame."""

    def work(size: int) -> Callable[[], object]:
        there, _, ids = holding(3 * size, acquire_mode)
        middle = amqp.SequenceSet([(ids[size], ids[2 * size - 1])])
        say(there, frames(amqp.spec.MessageRelease(middle)), 1)
        if transacted:
            say(there, frames(amqp.spec.TxSelect()), 1)
        octets = frames(kind(middle))
        say(there, octets, 1)
        return lambda: say(there, octets, size // 5)

    assert_linear(work, most)


def test_accepting_the_same_again_in_a_transaction(most: int = SIZE) -> None:
    def work(size: int) -> Callable[[], object]:
        there, _, ids = holding(size, spec.PRE_ACQUIRED)
        octets = frames(amqp.spec.MessageAccept(amqp.SequenceSet([(ids[0], ids[-1])])))
        say(there, frames(amqp.spec.TxSelect()) + octets, 1)
        return lambda: say(there, octets, size // 5)

    assert_linear(work, most)


# 0-9-1.


def method(method_id: int, octets: bytes = b"", class_id: int = 60) -> bytes:
    """A method's frame on channel 1."""
    payload = pack(">HH", class_id, method_id) + octets
    return pack(">BHI", 1, 1, len(payload)) + payload + b"\xce"


def settle(method_id: int, tag: int, bits: int) -> bytes:
    """basic.ack, or basic.nack."""
    return method(method_id, pack(">QB", tag, bits))


ACK, NACK, RECOVER = 80, 120, 110
COMMIT, ROLLBACK = method(20, class_id=90), method(30, class_id=90)
CLOSE = pack(">HHH", 20, 40, 506)
"""channel.close with resource-error."""


def consuming(count: int) -> Client:
    """A 0-9-1 client with unacknowledged deliveries, tags 1 and on, whose channel has transactions."""
    hub = Hub(Settings(users={"guest": "guest"}, heartbeat=0.0, seed=b"cost"))
    config = amqp_0_9_1.Config(sasl=Plain("guest", "guest"), heartbeat=0)
    there, client = hub.connect(), amqp_0_9_1.Connection.client(config)
    carry(hub, there, client)
    channel = client.open_channel()
    carry(hub, there, client)
    for each in (
        amqp_0_9_1.spec.QueueDeclare(queue="q", durable=True),
        amqp_0_9_1.spec.BasicConsume(queue="q"),
        amqp_0_9_1.spec.TxSelect(),
    ):
        channel.call(each)
        carry(hub, there, client)
    for _ in range(count):
        channel.publish(b"m", routing_key="q")
    channel.call(amqp_0_9_1.spec.TxCommit())
    events = carry(hub, there, client)
    assert len([each for each in events if isinstance(each, amqp_0_9_1.Delivery)]) == count
    return there


def closed_after(there: Client, *pieces: bytes) -> int:
    """How many pieces come until the broker closes the channel for want of what pays for them."""
    for place, octets in enumerate(pieces):
        there.receive_data(octets, 0.0)
        there.next_event()
        answer = there.data_to_send(0.0)
        if CLOSE in answer:
            return place
        assert there.is_open
    return len(pieces)


@pytest.mark.parametrize("said", [settle(ACK, 0, 1), settle(NACK, 0, 1), settle(NACK, 0, 3)])
def test_settling_and_rolling_back_is_bounded(said: bytes) -> None:
    """Section 1.9: after a rollback deliveries are unacknowledged, as before."""
    there = consuming(FREE + 10)
    assert closed_after(there, *[said + ROLLBACK] * 40) == EACH


def test_what_is_committed_is_paid_for() -> None:
    there = consuming(FREE + 10)
    assert closed_after(there, *[settle(ACK, 0, 1) + ROLLBACK] * (EACH - 1), settle(ACK, 0, 1) + COMMIT) == EACH


def test_a_few_at_a_time_are_free() -> None:
    there = consuming(FREE)
    assert closed_after(there, *[settle(ACK, 0, 1) + ROLLBACK] * 40) == 40


FEW = pytest.mark.parametrize("said", [settle(ACK, 5, 0), settle(ACK, 3, 1), settle(NACK, 2, 1)])


@FEW
def test_rolling_back_a_little_costs_a_little(said: bytes, most: int = SIZE) -> None:
    """Before, a rollback took a step for each delivery that the client held."""

    def work(size: int) -> Callable[[], object]:
        there = consuming(size)
        return lambda: say(there, said + ROLLBACK, size // 5)

    assert_linear(work, most)


RECOVERS = pytest.mark.parametrize("said", [method(RECOVER, b"\0"), method(RECOVER, b"\1")])


@RECOVERS
def test_delivering_again_costs_what_the_client_reads(said: bytes, count: int = SIZE) -> None:
    """Each delivery is sent anew, so that n deliveries are n times work, and n times octets that the client must read:
    the broker takes nothing more of it while these are unread (`Client.receive_budget`)."""
    there = consuming(count)
    sent: list[int] = []

    def recover() -> None:
        there.receive_data(said, 0.0)
        there.next_event()
        sent.append(len(there.data_to_send(0.0)))

    once = count_steps(recover)
    again = [count_steps(recover) for _ in range(20)]
    assert min(sent) > 40 * count
    assert max(again) < 1.1 * once
    assert max(again) < 10 * min(sent)
