"""Cases of 0-9-1: exchanges and where they route."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from amqp_sansio import amqp_0_9_1 as amqp
from amqp_sansio.amqp_0_9_1 import spec

from ..case import Suite
from ..talk import Talk
from ..verdicts import Seen, Verdict

SUITE: Final = Suite(Talk)


def _declares(talk: Talk, kind: str) -> Seen:
    return talk.answers_to(spec.ExchangeDeclare(talk.names.exchange(), kind))


for _kind in ("direct", "fanout"):

    @SUITE.on_a_channel(
        "exchange/required-types",
        "must",
        "A server has the exchange types direct and fanout.",
        "exchange.declare-ok",
        variant=_kind,
    )
    def _required_type(talk: Talk, kind: str = _kind) -> Seen:
        return _declares(talk, kind)


for _kind in ("topic", "headers"):

    @SUITE.on_a_channel(
        "exchange/recommended-types",
        "should",
        "A server has the exchange types topic and headers.",
        "exchange.declare-ok",
        variant=_kind,
    )
    def _recommended_type(talk: Talk, kind: str = _kind) -> Seen:
        return _declares(talk, kind)


for _name, _rule, _level in (
    ("amq.direct", "exchange/required-instances", "must"),
    ("amq.fanout", "exchange/required-instances", "must"),
    ("amq.topic", "exchange.topic/instance", "should"),
    ("amq.match", "exchange.headers/instance", "should"),
):

    @SUITE.on_a_channel(
        _rule,
        _level,
        "Each virtual host has an exchange of each type, named after it with amq. in front.",
        "exchange.declare-ok to a passive declare",
        variant=_name,
    )
    def _instance(talk: Talk, name: str = _name) -> Seen:
        kind = name.removeprefix("amq.").replace("match", "headers")
        return talk.answers_to(spec.ExchangeDeclare(name, kind, passive=True))


@SUITE.on_a_channel(
    "exchange/default-exchange",
    "must",
    "The exchange without a name routes to the queue that the routing key names.",
    "the message is in the queue",
)
def _default(talk: Talk) -> Seen:
    queue = talk.declare(exclusive=True)
    talk.publish(routing_key=queue)
    return Seen(*((Verdict.CONFORMS, "1 message") if talk.counts(queue, 1) else (Verdict.BREAKS, "no message")))


@SUITE.on_a_channel(
    "exchange.declare/reserved",
    "must",
    "Names that begin with amq. are the server's: declaring a new one is refused with 403.",
    "channel.close 403",
)
def _reserved(talk: Talk) -> Seen:
    return talk.refuses(spec.ExchangeDeclare(talk.names.exchange("amq."), "direct"), 403)


@SUITE.on_a_channel(
    "exchange.declare/type-unknown",
    "must",
    "A type of exchange that the server doesn't have is a command that is invalid: 503.",
    "connection.close 503",
)
def _unknown_type(talk: Talk) -> Seen:
    return talk.refuses(spec.ExchangeDeclare(talk.names.exchange(), "x-probe-none"), 503, by=("connection.close",))


@SUITE.on_a_channel(
    "exchange.declare/type-change",
    "must",
    "An exchange isn't declared again with another type: 530.",
    "connection.close 530",
)
def _type_change(talk: Talk) -> Seen:
    name = talk.exchange("direct")
    return talk.refuses(spec.ExchangeDeclare(name, "fanout"), 530, by=("connection.close",))


@SUITE.on_a_channel(
    "exchange.declare/equivalent",
    "must",
    "Declaring an exchange again with the same values is answered; with other values it is a channel's error.",
    "exchange.declare-ok",
    variant="same",
)
def _same(talk: Talk) -> Seen:
    name = talk.exchange("direct")
    return talk.answers_to(spec.ExchangeDeclare(name, "direct"))


@SUITE.on_a_channel(
    "exchange.declare/equivalent",
    "must",
    "Declaring an exchange again with the same values is answered; with other values it is a channel's error.",
    "channel.close, whatever the code",
    variant="other-durable",
)
def _other(talk: Talk) -> Seen:
    name = talk.exchange("direct")
    return talk.refuses(spec.ExchangeDeclare(name, "direct", durable=True), 406, 530)


@SUITE.on_a_channel(
    "exchange.declare/durable-both",
    "must",
    "A server has durable and transient exchanges.",
    "exchange.declare-ok for a durable one",
)
def _durable(talk: Talk) -> Seen:
    return talk.answers_to(spec.ExchangeDeclare(talk.names.exchange(), "direct", durable=True))


@SUITE.on_a_channel(
    "exchange.declare/passive-not-found",
    "must",
    "A passive declare of an exchange that isn't there is 404 on the channel.",
    "channel.close 404",
)
def _passive(talk: Talk) -> Seen:
    return talk.refuses(spec.ExchangeDeclare(talk.names.exchange(), "direct", passive=True), 404)


@SUITE.on_a_channel(
    "exchange.declare/no-wait",
    "note",
    "A declare with no-wait is done and not answered.",
    "no exchange.declare-ok, and the exchange is there",
)
def _no_wait(talk: Talk) -> Seen:
    name = talk.names.exchange()
    talk.say(1, spec.ExchangeDeclare(name, "direct", no_wait=True))
    unit = talk.quiet("exchange.declare-ok")
    if unit is not None:
        return Seen(Verdict.BREAKS, talk.described(unit))
    return talk.answers_to(spec.ExchangeDeclare(name, "direct", passive=True))


@SUITE.on_a_channel(
    "exchange.declare/min-16",
    "should",
    "A server has room for 16 exchanges in a virtual host.",
    "16 times exchange.declare-ok",
)
def _sixteen(talk: Talk) -> Seen:
    for count in range(16):
        seen = _declares(talk, "direct")
        if seen.verdict is not Verdict.CONFORMS:
            return Seen(seen.verdict, f"{count} exchanges, then {seen.text}")
    return Seen(Verdict.CONFORMS, "16 exchanges")


@SUITE.on_a_channel(
    "exchange.delete/not-found",
    "must",
    "Deleting an exchange that isn't there is 404 on the channel.",
    "channel.close 404",
)
def _delete_none(talk: Talk) -> Seen:
    return talk.refuses(spec.ExchangeDelete(talk.names.exchange()), 404)


@SUITE.on_a_channel(
    "exchange.delete/if-unused",
    "must",
    "An exchange with a queue isn't deleted if the client says if-unused: an error of the channel.",
    "channel.close 406",
)
def _used(talk: Talk) -> Seen:
    name = talk.exchange()
    queue = talk.declare(exclusive=True)
    talk.call(spec.QueueBind(queue, name, "k"))
    return talk.refuses(spec.ExchangeDelete(name, if_unused=True), 406)


def _routed(
    talk: Talk,
    kind: str,
    bindings: Sequence[tuple[str, Mapping[str, Any]]],
    sent: Sequence[tuple[str, Mapping[str, Any] | None, Sequence[int]]],
) -> Seen:
    """Judge routing: a queue for each binding, and for each message the bindings that it must come through."""
    exchange = talk.exchange(kind)
    queues = [talk.declare(exclusive=True) for _ in bindings]
    for queue, (key, arguments) in zip(queues, bindings, strict=True):
        talk.call(spec.QueueBind(queue, exchange, key, arguments=amqp.Table(arguments)))
    for number, (key, headers, _) in enumerate(sent):
        properties = amqp.BasicProperties(headers=None if headers is None else amqp.Table(headers))
        talk.publish(body=str(number).encode(), properties=properties, exchange=exchange, routing_key=key)
    wrong: list[str] = []
    for place, queue in enumerate(queues):
        wanted = [str(number) for number, (_, _, places) in enumerate(sent) if place in places]
        talk.counts(queue, len(wanted))
        found: list[str] = []
        while (unit := talk.get(queue)) is not None:
            found.append((unit.body or b"").decode())
        if found != wanted:
            what = bindings[place][0] or dict(bindings[place][1])
            wrong.append(f"binding {what!r}: messages {','.join(found) or 'none'}, not {','.join(wanted) or 'none'}")
    if wrong:
        return Seen(Verdict.BREAKS, "; ".join(wrong))
    return Seen(Verdict.CONFORMS, f"{len(sent)} messages through {len(bindings)} bindings as they should")


@SUITE.on_a_channel(
    "queue.bind/direct-key",
    "must",
    "A direct exchange routes to the queues whose binding key equals the routing key.",
    "messages only where the keys are equal",
)
def _direct(talk: Talk) -> Seen:
    return _routed(talk, "direct", [("a", {}), ("b", {})], [("a", None, [0]), ("b", None, [1]), ("c", None, [])])


@SUITE.on_a_channel(
    "exchange.fanout/required",
    "note",
    "A fanout exchange routes to every queue that is bound.",
    "messages everywhere, whatever the key",
)
def _fanout(talk: Talk) -> Seen:
    return _routed(talk, "fanout", [("a", {}), ("", {})], [("a", None, [0, 1]), ("z", None, [0, 1])])


@SUITE.on_a_channel(
    "exchange.topic/wildcards",
    "note",
    "In a topic's pattern * is one word, # any number of them, none included.",
    "messages only where the pattern matches",
)
def _topic(talk: Talk) -> Seen:
    patterns = ["*.stock.#", "#", "a.*", "#.a.#", "a.#.b", "*"]
    keys = {
        "usd.stock": [0, 1],
        "eur.stock.db": [0, 1],
        "stock.nasdaq": [1],
        "a": [1, 3, 5],
        "a.b": [1, 2, 3, 4],
        "a.x.y.b": [1, 3, 4],
        "x.a.y": [1, 3],
    }
    return _routed(talk, "topic", [(each, {}) for each in patterns], [(key, None, to) for key, to in keys.items()])


@SUITE.on_a_channel(
    "exchange.headers/x-match",
    "note",
    "A headers exchange compares the headers: x-match says whether all or any of them must match.",
    "messages only where they match",
)
def _headers(talk: Talk) -> Seen:
    pair = {"a": 1, "b": "two"}
    return _routed(
        talk,
        "headers",
        [("", {"x-match": "all", **pair}), ("", {"x-match": "any", **pair})],
        [("", pair, [0, 1]), ("", {"a": 1}, [1]), ("", {"a": 2, "b": "three"}, []), ("", {**pair, "c": 3}, [0, 1])],
    )


@SUITE.on_a_channel(
    "exchange.headers/void-matches-presence",
    "note",
    "A header that is bound without a value matches whatever its value is.",
    "messages only where the header is there",
)
def _void(talk: Talk) -> Seen:
    return _routed(talk, "headers", [("", {"x-match": "all", "a": None})], [("", {"a": 7}, [0]), ("", {"b": 7}, [])])
