"""Messages with odd fields that do no harm: the broker takes, keeps, changes and delivers them as others."""

from typing import Any

import pytest

from amqp_sansio import amqp_1_0 as amqp
from amqp_sansio.amqp_1_0.model.harm import Harm
from tests.kit.forms_1_0 import framed
from tests.kit.hub_1_0 import World
from tools.docs.forms import SECTIONS, Form, forms

ODD = [each for each in forms() if each.type in ("header", "properties", *SECTIONS)]


def payload_of(form: Form) -> bytes:
    return framed(form)[1]


@pytest.mark.parametrize("name", ["header", "properties", *SECTIONS])
def test_a_message_with_an_odd_field_goes_the_way_of_others_or_is_rejected(name: str) -> None:
    for form in [each for each in ODD if each.type == name]:
        world = World()
        world.queue("dead")
        world.queue("jobs", arguments={"x-dead-letter-exchange": "", "x-dead-letter-routing-key": "dead"})
        user = world.connect()
        sender, receiver = user.sender("jobs"), user.receiver("jobs", credit=10)
        pending = sender.send(payload_of(form))
        world.pump()
        assert sender.is_open, form.row
        if form.harm is Harm.MESSAGE:
            assert isinstance(pending.result, amqp.Rejected), form.row
            continue
        assert pending.result == amqp.Accepted(), form.row
        (first,) = user.take(receiver)
        assert first.body is True
        receiver.modify(first, delivery_failed=True, message_annotations={"x-opt-why": "again"})
        world.pump()
        (second,) = user.take(receiver)
        assert second.message.delivery_count >= 1, form.row
        assert second.message.message_annotations["x-opt-why"] == "again"
        receiver.reject(second, error=amqp.Error("a:b", "dead"))
        world.pump()
        dead = user.receiver("dead", credit=10)
        (third,) = user.take(dead)
        assert third.body is True, form.row
        third.message.encode()
        dead.accept(third)
        world.pump()
        assert user.end.is_open
        assert not [each for each in user.events if isinstance(each, amqp.LinkFailed)], form.row


def test_an_anonymous_sender_s_message_whose_address_is_a_symbol_finds_its_node() -> None:
    world = World()
    world.queue("jobs")
    user = world.connect()
    form = next(each for each in ODD if (each.type, each.field, each.form) == ("properties", "to", "symbol"))
    octets: Any = payload_of(form).replace(b"\xa3\x01q", b"\xa3\x04jobs")
    at = octets.index(b"\xc0")
    octets = octets[: at + 1] + bytes((octets[at + 1] + 3,)) + octets[at + 2 :]
    sender = user.sender(amqp.Target(address=None))
    pending = sender.send(octets)
    world.pump()
    assert pending.result == amqp.Accepted()
    assert world.state("jobs") == (1, 0)
