"""Bounds of the stand-in: answers that wait, numbers in a request, messages in a peek, replies that are too large."""

from __future__ import annotations

import pytest

from amqp_sansio import amqp_1_0 as amqp
from amqp_sansio.amqp_1_0 import spec
from amqp_sansio.amqp_1_0.codec.conditions import INTERNAL_ERROR, RESOURCE_LIMIT_EXCEEDED
from amqp_sansio_azure.conditions import ARGUMENT_ERROR
from tests.kit.azure import BusWorld, Pair, message


@pytest.fixture
def world() -> BusWorld:
    made = BusWorld()
    made.queue()
    return made


def request(number: int) -> amqp.Message:
    names = amqp.Properties(message_id=str(number), reply_to="orders/$management")
    told = {"operation": "com.microsoft:peek-message"}
    return amqp.Message(amqp.AmqpValue({"message-count": spec.Int(1)}), properties=names, application_properties=told)


def test_a_thousand_answers_wait_for_credit(world: BusWorld) -> None:
    user = world.client()
    session = user.session()
    sender = user.sender("orders/$management", session)
    receiver = user.receiver("orders/$management", session, target=amqp.Target("orders/$management"))
    outcomes = [user.send(sender, request(number))[0] for number in range(1001)]
    assert [type(each) for each in outcomes] == [amqp.Accepted] * 1000 + [amqp.Rejected]
    assert outcomes[-1].error.condition == RESOURCE_LIMIT_EXCEEDED
    receiver.flow(2000)
    found = user.take(receiver)
    assert [each.message.properties.correlation_id for each in found if each.message.properties] == [
        str(number) for number in range(1000)
    ]


def test_a_request_whose_answer_nobody_receives_is_rejected(world: BusWorld) -> None:
    user = world.client()
    (outcome,) = user.send(user.sender("orders/$management"), request(1))
    assert outcome.error.condition == INTERNAL_ERROR and user.end.is_open


def test_answers_go_to_the_link_that_the_request_names(world: BusWorld) -> None:
    user = world.client()
    one, other = user.session(), user.session()
    sender = user.sender("orders/$management", one)
    near = user.receiver("orders/$management", one, target=amqp.Target("elsewhere"))
    far = user.receiver("orders/$management", other, target=amqp.Target("orders/$management"))
    for each in (near, far):
        each.flow(5)
    user.send(sender, request(1))
    assert (len(user.take(near)), len(user.take(far))) == (0, 1)


def test_a_request_has_four_thousand_numbers_at_most(world: BusWorld) -> None:
    user = world.client()
    for count, condition in ((4000, "com.microsoft:message-not-found"), (4001, ARGUMENT_ERROR)):
        body = {"sequence-numbers": spec.Array(list(range(1, count + 1)), int)}
        assert user.manage("orders", "cancel-scheduled-message", body)[2] == condition


def test_a_peek_has_250_messages_at_most(world: BusWorld) -> None:
    user = world.client()
    sender = user.sender("orders")
    for _ in range(3):
        user.send(sender, *[b"x"] * 100)
    body = {"from-sequence-number": 0, "message-count": spec.Int(1000)}
    assert len(user.manage("orders", "peek-message", body)[1]["messages"]) == 250


def test_an_answer_that_is_too_large_for_the_client_says_so(world: BusWorld) -> None:
    user = world.client()
    user.send(user.sender("orders"), message(b"x" * 5000))
    pair = Pair(user, "orders/$management", max_message_size=1000)
    reply = pair.ask("com.microsoft:peek-message", {"message-count": spec.Int(1)})
    assert reply.application_properties["statusCode"] == 500 and reply.body is None


def test_a_message_that_is_too_large_for_a_receiver_waits_for_others(world: BusWorld) -> None:
    user = world.client()
    user.send(user.sender("orders"), message(b"x" * 5000))
    small = user.locking("orders", max_message_size=1000)
    assert user.take(small) == []
    large = user.locking("orders")
    assert len(user.take(large)) == 1 and small.is_open
    for _ in range(4):
        user.send(user.sender("orders"), message(b"x" * 5000))
    assert len(user.take(large)) == 4
    user.send(user.sender("orders"), b"1", b"2")
    assert len(user.bodies(small)) == len(user.bodies(large)) == 1
