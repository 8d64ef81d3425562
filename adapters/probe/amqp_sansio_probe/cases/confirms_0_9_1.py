"""Cases of 0-9-1 with RabbitMQ's extensions: publisher confirms, basic.nack, and bindings between exchanges."""

from __future__ import annotations

from typing import Final

from amqp_sansio.amqp_0_9_1 import spec

from ..case import Suite
from ..talk import Talk
from ..verdicts import Seen, Verdict, judged

SUITE: Final = Suite(Talk)


@SUITE.on_a_channel(
    "rabbitmq/confirm.all-messages",
    "must",
    "On a channel with confirms every message is confirmed.",
    "acknowledgements of all 10 messages",
    needs=("confirms",),
)
def _all(talk: Talk) -> Seen:
    queue = talk.declare(exclusive=True)
    talk.call(spec.ConfirmSelect())
    for _ in range(10):
        talk.publish(routing_key=queue)
    done: set[int] = set()
    while len(done) < 10:
        unit = talk.wait(("basic.ack", "basic.nack"), 1)
        if unit is None or unit.event not in ("basic.ack", "basic.nack"):
            return Seen(Verdict.BREAKS, f"{len(done)} of 10, then {talk.described(unit)}")
        tag = unit.content.delivery_tag
        done |= set(range(1, tag + 1)) if unit.content.multiple else {tag}
    fine = done == set(range(1, 11))
    return judged(fine, f"confirmed: {', '.join(map(str, sorted(done)))}")


@SUITE.on_a_channel(
    "rabbitmq/confirm.return-first",
    "must",
    "A message that can't be routed is returned before it is confirmed.",
    "basic.return, then basic.ack",
    needs=("confirms",),
)
def _return_first(talk: Talk) -> Seen:
    talk.call(spec.ConfirmSelect())
    talk.publish(routing_key=talk.names.queue(), mandatory=True)
    order: list[str] = []
    for _ in range(2):
        unit = talk.wait(("basic.return", "basic.ack", "basic.nack"), 1)
        order.append(talk.described(unit) if unit is None else unit.event)
    fine = order == ["basic.return", "basic.ack"]
    return judged(fine, ", then ".join(order))


@SUITE.on_a_channel(
    "rabbitmq/confirm.select-not-tx",
    "note",
    "A channel has confirms or transactions, not both.",
    "channel.close 406",
    needs=("confirms", "tx"),
)
def _not_both(talk: Talk) -> Seen:
    talk.call(spec.TxSelect())
    return talk.refuses(spec.ConfirmSelect(), 406)


@SUITE.on_a_channel(
    "rabbitmq/basic.nack.exists",
    "must",
    "basic.nack of a tag that isn't one of the channel's deliveries is 406.",
    "channel.close 406",
    needs=("nack",),
)
def _nack(talk: Talk) -> Seen:
    talk.say(1, spec.BasicNack(7))
    return talk.channel_error(406)


@SUITE.on_a_channel(
    "rabbitmq/exchange.bind.duplicate-ok",
    "must",
    "Binding two exchanges twice in the same way is no error.",
    "exchange.bind-ok, twice",
    needs=("exchange-bindings",),
)
def _bind_twice(talk: Talk) -> Seen:
    one, other = talk.exchange(), talk.exchange()
    talk.call(spec.ExchangeBind(one, other, "k"))
    return talk.answers_to(spec.ExchangeBind(one, other, "k"))


@SUITE.on_a_channel(
    "rabbitmq/exchange.bind.cycles",
    "must",
    "Exchanges may be bound in a circle; a message comes once into each queue.",
    "one message",
    needs=("exchange-bindings",),
)
def _circle(talk: Talk) -> Seen:
    one, other, queue = talk.exchange("fanout"), talk.exchange("fanout"), talk.declare(exclusive=True)
    talk.call(spec.ExchangeBind(one, other))
    talk.call(spec.ExchangeBind(other, one))
    talk.call(spec.QueueBind(queue, other))
    talk.publish(exchange=one)
    return talk.holds_one(queue)


@SUITE.on_a_channel(
    "rabbitmq/exchange.bind.source-not-found",
    "must",
    "Binding to an exchange that isn't there is 404.",
    "channel.close 404",
    needs=("exchange-bindings",),
)
def _bind_none(talk: Talk) -> Seen:
    return talk.refuses(spec.ExchangeBind(talk.exchange(), talk.names.exchange(), "k"), 404)


@SUITE.on_a_channel(
    "rabbitmq/exchange.declare.internal",
    "note",
    "Clients may not publish to an internal exchange.",
    "channel.close 403",
    needs=("exchange-bindings",),
)
def _internal(talk: Talk) -> Seen:
    talk.publish(exchange=talk.exchange("fanout", internal=True))
    return talk.channel_error(403)
