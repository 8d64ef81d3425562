"""Cases of 0-10: exchanges, queues, messages and transactions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeAlias
from uuid import UUID

from amqp_sansio import amqp_0_10 as amqp
from amqp_sansio.amqp_0_10 import spec

from ..case import Suite
from ..talk_0_10 import MANY, Talk010
from ..verdicts import Seen, Verdict, judged

SUITE: Final = Suite(Talk010)

_DECLARE: Final = ("0-10/declare",)
_TX: Final = ("0-10/declare", "0-10/tx")
_DTX: Final = ("0-10/declare", "0-10/dtx")
_XID: Final = spec.Xid(1, b"probe", b"1")

Making: TypeAlias = Callable[[Talk010], spec.Command[Any]]
Of: TypeAlias = Callable[[spec.Xid], spec.Command[Any]]


def _unknown_queue(talk: Talk010) -> str:
    return talk.names.queue()


# What is refused, each by an exception: the rule, its clause, the command, and the code.

_REFUSALS: Final[tuple[tuple[str, str, str, Making, tuple[int, ...]], ...]] = (
    (
        "exchange.declare/reserved-names",
        "must",
        "Names that begin with amq. are the server's.",
        lambda talk: spec.ExchangeDeclare(talk.names.exchange("amq."), "direct"),
        (530,),
    ),
    (
        "exchange.declare/name-required",
        "must",
        "An exchange has a name.",
        lambda talk: spec.ExchangeDeclare("", "direct"),
        (542,),
    ),
    (
        "exchange.declare/typed",
        "must",
        "An exchange can't be declared again with another type.",
        lambda talk: spec.ExchangeDeclare(talk.exchange("direct"), "fanout"),
        (530,),
    ),
    (
        "exchange.declare/type-not-found",
        "must",
        "A type that the server hasn't is refused.",
        lambda talk: spec.ExchangeDeclare(talk.names.exchange(), "x-none"),
        (404,),
    ),
    (
        "exchange.declare/passive",
        "must",
        "A passive declare of an exchange that isn't there is refused.",
        lambda talk: spec.ExchangeDeclare(talk.names.exchange(), "direct", passive=True),
        (404,),
    ),
    (
        "exchange.declare/alt-pre-existing",
        "must",
        "An exchange can't be declared again with another alternate exchange.",
        lambda talk: spec.ExchangeDeclare(talk.exchange("direct"), "direct", alternate_exchange="amq.direct"),
        (530,),
    ),
    (
        "exchange.declare/unknown-argument",
        "must",
        "An argument that the server doesn't know is refused.",
        lambda talk: spec.ExchangeDeclare(talk.names.exchange(), "direct", arguments={"x-probe-unknown": 1}),
        (540,),
    ),
    (
        "exchange.delete/exists",
        "must",
        "An exchange that isn't there can't be deleted.",
        lambda talk: spec.ExchangeDelete(talk.names.exchange()),
        (404,),
    ),
    (
        "exchange.delete/name-required",
        "must",
        "Deleting an exchange needs its name.",
        lambda talk: spec.ExchangeDelete(""),
        (542,),
    ),
    (
        "exchange.delete/in-use",
        "must",
        "With if-unused, an exchange that has bindings stays.",
        lambda talk: spec.ExchangeDelete(_bound(talk)[1], True),
        (406,),
    ),
    (
        "exchange.delete/used-as-alternate",
        "must",
        "An exchange that is another's alternate can't be deleted.",
        lambda talk: _alternate(talk),
        (530,),
    ),
    (
        "exchange.bind/empty-queue",
        "must",
        "A binding needs the name of a queue.",
        lambda talk: spec.ExchangeBind("", "amq.direct", "k"),
        (542,),
    ),
    (
        "exchange.bind/queue-existence",
        "must",
        "A queue that isn't there can't be bound.",
        lambda talk: spec.ExchangeBind(_unknown_queue(talk), "amq.direct", "k"),
        (404,),
    ),
    (
        "exchange.bind/exchange-existence",
        "must",
        "Nothing can be bound to an exchange that isn't there.",
        lambda talk: spec.ExchangeBind(talk.declare(), talk.names.exchange(), "k"),
        (404,),
    ),
    (
        "exchange.bind/name-required",
        "must",
        "Nothing can be bound to the default exchange.",
        lambda talk: spec.ExchangeBind(talk.declare(), "", "k"),
        (542,),
    ),
    (
        "exchange.bind/unknown-argument",
        "must",
        "An argument that the exchange doesn't know is refused.",
        lambda talk: spec.ExchangeBind(talk.declare(), "amq.direct", "k", {"x-probe-unknown": 1}),
        (540,),
    ),
    (
        "exchange.unbind/queue",
        "must",
        "A queue that isn't there can't be unbound.",
        lambda talk: spec.ExchangeUnbind(_unknown_queue(talk), "amq.direct", "k"),
        (404,),
    ),
    (
        "exchange.unbind/exchange",
        "must",
        "Nothing can be unbound from an exchange that isn't there.",
        lambda talk: spec.ExchangeUnbind(talk.declare(), talk.names.exchange(), "k"),
        (404,),
    ),
    (
        "exchange.unbind/name-required",
        "must",
        "Nothing can be unbound from the default exchange.",
        lambda talk: spec.ExchangeUnbind(talk.declare(), "", "k"),
        (542,),
    ),
    (
        "exchange.unbind/binding-key",
        "must",
        "A binding that isn't there can't be taken away.",
        lambda talk: spec.ExchangeUnbind(talk.declare(), "amq.direct", talk.names.name()),
        (404,),
    ),
    (
        "queue.declare/reserved-prefix",
        "must",
        "Names that begin with amq. are the server's.",
        lambda talk: spec.QueueDeclare(talk.names.queue("amq.")),
        (530,),
    ),
    (
        "queue.declare/alt-unknown",
        "must",
        "A queue's alternate exchange is there.",
        lambda talk: spec.QueueDeclare(talk.names.queue(), talk.names.exchange()),
        (404,),
    ),
    (
        "queue.declare/alt-pre-existing",
        "must",
        "A queue can't be declared again with another alternate exchange.",
        lambda talk: spec.QueueDeclare(talk.declare(), "amq.direct"),
        (530,),
    ),
    (
        "queue.declare/passive",
        "must",
        "A passive declare of a queue that isn't there is refused.",
        lambda talk: spec.QueueDeclare(_unknown_queue(talk), passive=True),
        (404,),
    ),
    (
        "queue.declare/unknown-argument",
        "must",
        "An argument that the server doesn't know is refused.",
        lambda talk: spec.QueueDeclare(talk.names.queue(), arguments={"x-probe-unknown": 1}),
        (540,),
    ),
    ("queue.delete/empty-name", "must", "Deleting a queue needs its name.", lambda talk: spec.QueueDelete(""), (542,)),
    (
        "queue.delete/exists",
        "must",
        "A queue that isn't there can't be deleted.",
        lambda talk: spec.QueueDelete(_unknown_queue(talk)),
        (404,),
    ),
    (
        "queue.delete/if-unused",
        "must",
        "With if-unused, a queue that has a subscriber stays.",
        lambda talk: spec.QueueDelete(_subscribed(talk), if_unused=True),
        (406,),
    ),
    (
        "queue.delete/not-empty",
        "must",
        "With if-empty, a queue that has messages stays.",
        lambda talk: spec.QueueDelete(talk.filled(b"hello"), if_empty=True),
        (406,),
    ),
    ("queue.purge/empty-name", "must", "Purging a queue needs its name.", lambda talk: spec.QueuePurge(""), (542,)),
    (
        "queue.purge/exists",
        "must",
        "A queue that isn't there can't be purged.",
        lambda talk: spec.QueuePurge(_unknown_queue(talk)),
        (404,),
    ),
    (
        "message.subscribe/queue-not-found",
        "must",
        "A queue that isn't there can't be subscribed to.",
        lambda talk: spec.MessageSubscribe(_unknown_queue(talk), "d", 0, 0),
        (404,),
    ),
    (
        "message.subscribe/unique-destination",
        "must",
        "A session has one subscription for a destination.",
        lambda talk: spec.MessageSubscribe(_subscribed(talk), "d", 0, 0),
        (530,),
    ),
    (
        "message.cancel/not-found",
        "must",
        "A subscription that isn't there can't be cancelled.",
        lambda talk: spec.MessageCancel("nobody"),
        (404,),
    ),
    (
        "message.resume/destination",
        "must",
        "A destination that isn't there can't be resumed.",
        lambda talk: spec.MessageResume("nobody", "id"),
        (404,),
    ),
    (
        "tx.commit/select-required",
        "must",
        "Nothing can be committed on a session that isn't transactional.",
        lambda talk: spec.TxCommit(),
        (409,),
    ),
    (
        "tx.rollback/select-required",
        "must",
        "Nothing can be rolled back on a session that isn't transactional.",
        lambda talk: spec.TxRollback(),
        (409,),
    ),
)


def _bound(talk: Talk010) -> tuple[str, str]:
    queue, exchange = talk.declare(), talk.exchange("direct")
    talk.call(spec.ExchangeBind(queue, exchange, "k"))
    return queue, exchange


def _alternate(talk: Talk010) -> spec.Command[Any]:
    alternate = talk.exchange("fanout")
    talk.exchange("direct", alternate_exchange=alternate)
    return spec.ExchangeDelete(alternate)


def _subscribed(talk: Talk010) -> str:
    queue = talk.declare()
    talk.subscribe(queue)
    return queue


for _rule, _level, _clause, _making, _codes in _REFUSALS:

    @SUITE.on_a_channel(
        _rule,
        _level,
        _clause,
        f"execution.exception {' or '.join([str(each) for each in _codes])}",
        needs=_TX if _rule.startswith("tx.") else _DECLARE,
    )
    def _refuses(talk: Talk010, making: Making = _making, codes: tuple[int, ...] = _codes) -> Seen:
        return talk.refuses(making(talk), *codes)


# Exchanges.


for _kind in ("direct", "fanout"):

    @SUITE.on_a_channel(
        "exchange/required-types",
        "must",
        "A server has exchanges of the types direct and fanout.",
        "it is declared",
        variant=_kind,
        needs=_DECLARE,
    )
    def _has_type(talk: Talk010, kind: str = _kind) -> Seen:
        return talk.does(spec.ExchangeDeclare(talk.names.exchange(), kind))


for _kind in ("topic", "headers"):

    @SUITE.on_a_channel(
        "exchange/recommended-types",
        "should",
        "A server has exchanges of the types topic and headers.",
        "it is declared",
        variant=_kind,
        needs=_DECLARE,
    )
    def _has_other(talk: Talk010, kind: str = _kind) -> Seen:
        return talk.does(spec.ExchangeDeclare(talk.names.exchange(), kind))


for _name, _kind in (
    ("amq.direct", "direct"),
    ("amq.fanout", "fanout"),
    ("amq.topic", "topic"),
    ("amq.match", "headers"),
):

    @SUITE.on_a_channel(
        f"model/{_name}", "must", f"There is an exchange {_name}.", f"exchange.query says {_kind}", needs=_DECLARE
    )
    def _instance(talk: Talk010, name: str = _name, kind: str = _kind) -> Seen:
        found = talk.call(spec.ExchangeQuery(name))
        told = found.type if isinstance(found, spec.ExchangeQueryResult) and not found.not_found else None
        return judged(told == kind, f"type {told}")


@SUITE.on_a_channel(
    "exchange.query/not-found", "note", "A query tells that an exchange isn't there.", "not-found", needs=_DECLARE
)
def _absent(talk: Talk010) -> Seen:
    found = talk.call(spec.ExchangeQuery(talk.names.name()))
    fine = isinstance(found, spec.ExchangeQueryResult) and found.not_found
    return judged(fine, str(found))


@SUITE.on_a_channel(
    "exchange.bound/unset-ignored",
    "note",
    "exchange.bound asks only about what is given.",
    "all is matched",
    needs=_DECLARE,
)
def _asked(talk: Talk010) -> Seen:
    queue, exchange = _bound(talk)
    found = talk.call(spec.ExchangeBound(exchange, queue))
    wrong = not isinstance(found, spec.ExchangeBoundResult) or any(
        (found.exchange_not_found, found.queue_not_found, found.queue_not_matched, found.key_not_matched)
    )
    return Seen(Verdict.BREAKS if wrong else Verdict.CONFORMS, str(found))


@SUITE.on_a_channel(
    "exchange.bind/duplicates",
    "must",
    "A binding that is there already is taken, and changes nothing.",
    "one message",
    needs=_DECLARE,
)
def _twice(talk: Talk010) -> Seen:
    queue, exchange = _bound(talk)
    talk.call(spec.ExchangeBind(queue, exchange, "k"))
    talk.store("k", exchange=exchange)
    return talk.holds(queue, b"hello")


@SUITE.on_a_channel(
    "model/direct-binding", "must", "A direct exchange routes by the same key.", "one message of two", needs=_DECLARE
)
def _direct(talk: Talk010) -> Seen:
    queue, exchange = _bound(talk)
    talk.store("other", b"other", exchange)
    talk.store("k", b"mine", exchange)
    return talk.holds(queue, b"mine")


@SUITE.on_a_channel(
    "model/fanout-binding", "must", "A fanout exchange routes to every queue.", "a message in both", needs=_DECLARE
)
def _fanout(talk: Talk010) -> Seen:
    exchange = talk.exchange("fanout")
    queues = [talk.declare() for _ in range(2)]
    for each in queues:
        talk.call(spec.ExchangeBind(each, exchange, ""))
    talk.store("whatever", exchange=exchange)
    counts = [talk.ready(each) for each in queues]
    return judged(counts == [1, 1], f"messages: {counts}")


@SUITE.on_a_channel(
    "model/topic-binding",
    "must",
    "A topic exchange routes by words: * is one, # any number.",
    "the messages whose keys fit",
    needs=_DECLARE,
)
def _topic(talk: Talk010) -> Seen:
    exchange = talk.exchange("topic")
    cases = {"a.*.c": ("a.b.c",), "a.#": ("a", "a.b", "a.b.c"), "#.c": ("a.b.c", "c"), "*": ("a", "c")}
    keys = ("a", "c", "a.b", "a.b.c", "b.a")
    wrong: list[str] = []
    queues = {pattern: talk.declare() for pattern in cases}
    for pattern, queue in queues.items():
        talk.call(spec.ExchangeBind(queue, exchange, pattern))
    for key in keys:
        talk.store(key, key.encode(), exchange)
    for pattern, queue in queues.items():
        count = talk.ready(queue)
        wanted = len([key for key in keys if key in cases[pattern]])
        if count != wanted:
            wrong.append(f"{pattern} has {count}, not {wanted}")
    return Seen(Verdict.BREAKS if wrong else Verdict.CONFORMS, "; ".join(wrong) or "as the patterns say")


for _rule, _match, _fits in (("headers-all", "all", 1), ("headers-any", "any", 2)):

    @SUITE.on_a_channel(
        f"model/{_rule}",
        "must",
        "A headers exchange routes by the headers of a binding: all of them, or any.",
        f"{_fits} of 3 messages",
        needs=_DECLARE,
    )
    def _headers(talk: Talk010, match: str = _match, fits: int = _fits) -> Seen:
        exchange, queue = talk.exchange("headers"), talk.declare()
        talk.call(spec.ExchangeBind(queue, exchange, "k", {"x-match": match, "a": "1", "b": "2"}))
        for headers in ({"a": "1", "b": "2"}, {"a": "1"}, {"c": "3"}):
            talk.store("", exchange=exchange, about=amqp.MessageProperties(application_headers=headers))
        count = talk.ready(queue)
        return judged(count == fits, f"messages: {count}")


# Queues.


@SUITE.on_a_channel(
    "queue.declare/default-binding",
    "must",
    "A queue is bound to the default exchange by its name.",
    "the message",
    needs=_DECLARE,
)
def _default(talk: Talk010) -> Seen:
    return talk.holds(talk.filled(b"hello"), b"hello")


@SUITE.on_a_channel(
    "queue.declare/in-use",
    "must",
    "Another session may not use an exclusive queue.",
    "execution.exception 405",
    needs=_DECLARE,
)
def _exclusive(talk: Talk010) -> Seen:
    queue = talk.declare(exclusive=True)
    other = talk.another()
    return other.refuses(spec.QueueDeclare(queue, exclusive=True), 405)


@SUITE.on_a_channel(
    "queue.declare/exclusive-auto-delete",
    "must",
    "An exclusive queue that is auto-delete goes with its session.",
    "the queue isn't there",
    needs=_DECLARE,
)
def _goes(talk: Talk010) -> Seen:
    other = talk.another()
    queue = other.declare(exclusive=True, auto_delete=True)
    other.finish()
    if told := talk.query(queue).queue:
        # The answer to the close may come before the queue has gone.
        talk.rest()
        told = talk.query(queue).queue
    return Seen(Verdict.BREAKS if told else Verdict.CONFORMS, "it is there" if told else "it is gone")


@SUITE.on_a_channel(
    "queue.declare/durable-types",
    "must",
    "A server has durable and transient queues.",
    "it is declared",
    needs=_DECLARE,
)
def _durable(talk: Talk010) -> Seen:
    return talk.does(spec.QueueDeclare(talk.names.queue(), durable=True))


@SUITE.on_a_channel(
    "queue.query/absent", "note", "The query of a queue that isn't there has no name.", "no name", needs=_DECLARE
)
def _no_queue(talk: Talk010) -> Seen:
    told = talk.query(_unknown_queue(talk)).queue
    return Seen(Verdict.BREAKS if told else Verdict.CONFORMS, told or "no name")


@SUITE.on_a_channel("queue.purge/empty", "must", "Purging empties a queue.", "no message", needs=_DECLARE)
def _purged(talk: Talk010) -> Seen:
    queue = talk.filled(b"1", b"2")
    talk.call(spec.QueuePurge(queue))
    count = talk.ready(queue)
    return Seen(Verdict.BREAKS if count else Verdict.CONFORMS, f"messages: {count}")


@SUITE.on_a_channel(
    "queue.purge/pending",
    "must",
    "Purging doesn't take what is delivered and not accepted.",
    "the message that is released after the purge",
    needs=_DECLARE,
)
def _pending(talk: Talk010) -> Seen:
    queue = talk.filled(b"1", b"2")
    talk.subscribe(queue, credit=1)
    unit = talk.arrives()
    talk.call(spec.QueuePurge(queue))
    talk.call(spec.MessageCancel("d"))
    talk.call(spec.MessageRelease(amqp.SequenceSet.of(unit.number)))
    return talk.holds(queue, b"1")


@SUITE.on_a_channel(
    "queue.declare/alt-orphans",
    "must",
    "When a queue is deleted, its messages go to its alternate exchange.",
    "the message in the other queue",
    needs=_DECLARE,
)
def _orphans(talk: Talk010) -> Seen:
    other, exchange = talk.declare(), talk.exchange("fanout")
    talk.call(spec.ExchangeBind(other, exchange, ""))
    queue = talk.names.queue()
    talk.call(spec.QueueDeclare(queue, exchange))
    talk.store(queue)
    talk.call(spec.QueueDelete(queue))
    return talk.holds(other, b"hello")


# Messages.


@SUITE.on_a_channel(
    "message.transfer/blank-destination",
    "must",
    "No destination is the default exchange.",
    "the message",
    needs=_DECLARE,
)
def _blank(talk: Talk010) -> Seen:
    queue = talk.declare()
    headers = (amqp.DeliveryProperties(routing_key=queue),)
    talk.command(spec.MessageTransfer(None, 1, 0), headers=headers, body=b"hello")
    return talk.holds(queue, b"hello")


@SUITE.on_a_channel(
    "message.transfer/nonexistent-exchange",
    "must",
    "A message to an exchange that isn't there is refused.",
    "execution.exception 404",
    needs=_DECLARE,
)
def _nowhere(talk: Talk010) -> Seen:
    return talk.exception(talk.publish("k", exchange=talk.names.name()), 404)


@SUITE.on_a_channel(
    "message/priority-order",
    "must",
    "Messages of one priority keep their order, whether they are persistent or not.",
    "20 messages in order",
    needs=_DECLARE,
)
def _order(talk: Talk010) -> Seen:
    bodies = [b"%d" % place for place in range(20)]
    queue = talk.declare()
    for place, each in enumerate(bodies):
        talk.store(queue, each, delivery_mode=1 + place % 2)
    return talk.holds(queue, *bodies)


@SUITE.on_a_channel(
    "message.delivery-properties/exchange-set",
    "must",
    "A delivery tells by which exchange the message came.",
    "the name of the exchange",
    needs=_DECLARE,
)
def _exchange_set(talk: Talk010) -> Seen:
    queue, exchange = _bound(talk)
    talk.store("k", exchange=exchange)
    talk.subscribe(queue, credit=1)
    about = talk.arrives().headers.delivery_properties
    told = about.exchange if about is not None else None
    return judged(told == exchange, f"exchange {told}")


@SUITE.on_a_channel(
    "message.delivery-properties/redelivered",
    "must",
    "A message that is delivered again says so.",
    "redelivered, behind the loss of a connection",
    needs=_DECLARE,
)
def _redelivered(talk: Talk010) -> Seen:
    queue = talk.filled(b"hello")
    other = talk.another()
    other.subscribe(queue, credit=1)
    other.arrives()
    other.finish()
    other.close()
    talk.subscribe(queue, credit=1)
    about = talk.arrives().headers.delivery_properties
    fine = about is not None and about.redelivered
    return judged(fine, f"redelivered {fine}".lower())


@SUITE.on_a_channel(
    "message.delivery-properties/discard-unroutable",
    "note",
    "A message that can't be routed is dropped if it says so, and rejected if it doesn't.",
    "message.reject for the second of two",
    needs=_DECLARE,
)
def _unroutable(talk: Talk010) -> Seen:
    exchange = talk.exchange("direct")
    talk.store("nowhere", exchange=exchange, discard_unroutable=True)
    headers = (amqp.DeliveryProperties(routing_key="nowhere"),)
    number = talk.command(spec.MessageTransfer(exchange, 0, 0), headers=headers, body=b"x")
    unit = talk.wait(("message.reject",))
    if unit is None:
        return talk.silence()
    fine = unit.event == "message.reject" and number in (unit.content.transfers or ())
    return judged(fine, talk.described(unit))


@SUITE.on_a_channel(
    "message.message-properties/user-id",
    "must",
    "The user-id of a message is the one who is logged in.",
    "execution.exception 403",
    needs=_DECLARE,
)
def _user(talk: Talk010) -> Seen:
    queue = talk.declare()
    number = talk.publish(queue, about=amqp.MessageProperties(user_id=b"probe-somebody"))
    return talk.exception(number, 403)


@SUITE.on_a_channel(
    "message.accept/acquisition",
    "must",
    "Accepting what isn't acquired changes nothing.",
    "the message is still there",
    needs=_DECLARE,
)
def _accept(talk: Talk010) -> Seen:
    queue = talk.filled(b"hello")
    talk.subscribe(queue, credit=1, acquire_mode=1)
    unit = talk.arrives()
    talk.call(spec.MessageAccept(amqp.SequenceSet.of(unit.number)))
    talk.call(spec.MessageCancel("d"))
    return talk.holds(queue, b"hello")


@SUITE.on_a_channel(
    "message.acquire/one-to-one",
    "must",
    "A message is acquired by one only.",
    "message.acquire has it for the first, and not for the second",
    needs=_DECLARE,
)
def _acquire(talk: Talk010) -> Seen:
    queue = talk.filled(b"hello")
    talk.subscribe(queue, credit=1, acquire_mode=1)
    first = talk.call(spec.MessageAcquire(amqp.SequenceSet.of(talk.arrives().number)))
    talk.attach(2)
    talk.subscribe(queue, 2, credit=1, acquire_mode=1)
    second = talk.next(channel=2, seconds=0.5)
    got = bool(isinstance(first, spec.Acquired) and first.transfers)
    if second is None:
        return judged(got, "only the first has seen it")
    again = talk.call(spec.MessageAcquire(amqp.SequenceSet.of(second.number)), 2)
    both = bool(isinstance(again, spec.Acquired) and again.transfers)
    fine = got and not both
    return judged(fine, f"first {got}, second {both}".lower())


@SUITE.on_a_channel(
    "message.reject/alternate",
    "must",
    "A rejected message goes to the queue's alternate exchange.",
    "the message in the other queue",
    needs=_DECLARE,
)
def _reject(talk: Talk010) -> Seen:
    other, exchange = talk.declare(), talk.exchange("fanout")
    talk.call(spec.ExchangeBind(other, exchange, ""))
    queue = talk.names.queue()
    talk.call(spec.QueueDeclare(queue, exchange))
    talk.store(queue)
    talk.subscribe(queue, credit=1)
    talk.call(spec.MessageReject(amqp.SequenceSet.of(talk.arrives().number), 0, ""))
    return talk.holds(other, b"hello")


@SUITE.on_a_channel(
    "message.release/ordering",
    "should",
    "Released messages have their place again.",
    "the three messages in order",
    needs=_DECLARE,
)
def _release(talk: Talk010) -> Seen:
    queue = talk.filled(b"1", b"2", b"3")
    talk.subscribe(queue, credit=2)
    found = [talk.arrives().number for _ in range(2)]
    talk.call(spec.MessageCancel("d"))
    talk.call(spec.MessageRelease(amqp.SequenceSet.of(*found)))
    return talk.holds(queue, b"1", b"2", b"3")


@SUITE.on_a_channel(
    "message.release/set-redelivered",
    "note",
    "A release says whether the message is redelivered then.",
    "redelivered",
    needs=_DECLARE,
)
def _set(talk: Talk010) -> Seen:
    talk.subscribe(talk.filled(b"hello"), credit=2)
    talk.call(spec.MessageRelease(amqp.SequenceSet.of(talk.arrives().number), True))
    about = talk.arrives().headers.delivery_properties
    fine = about is not None and about.redelivered
    return judged(fine, f"redelivered {fine}".lower())


@SUITE.on_a_channel(
    "message.subscribe/zero-credit", "note", "A subscription begins without credit.", "no message", needs=_DECLARE
)
def _no_credit(talk: Talk010) -> Seen:
    talk.subscribe(talk.filled(b"hello"))
    return talk.no_more("no message")


@SUITE.on_a_channel(
    "message.subscribe/exclusive-in-use",
    "must",
    "A queue with a subscriber has no exclusive one beside it.",
    "execution.exception 405",
    needs=_DECLARE,
)
def _in_use(talk: Talk010) -> Seen:
    queue = _subscribed(talk)
    other = talk.another()
    return other.refuses(spec.MessageSubscribe(queue, "d", 0, 0, True), 405)


@SUITE.on_a_channel(
    "message.subscribe/queue-deleted",
    "must",
    "A subscriber learns that its queue is deleted: resource-deleted.",
    "execution.exception 408",
    needs=_DECLARE,
)
def _deleted(talk: Talk010) -> Seen:
    queue = _subscribed(talk)
    other = talk.another()
    other.call(spec.QueueDelete(queue))
    unit = talk.wait(())
    if unit is None:
        return talk.silence()
    fine = unit.event == "execution.exception" and unit.content.error_code == 408
    return Seen(Verdict.CONFORMS if fine else Verdict.OTHER_CODE, talk.described(unit))


@SUITE.on_a_channel(
    "message.cancel/post-cancel", "must", "Behind a cancel no message comes.", "no message", needs=_DECLARE
)
def _cancelled(talk: Talk010) -> Seen:
    queue = talk.declare()
    talk.subscribe(queue, credit=MANY)
    talk.call(spec.MessageCancel("d"))
    talk.store(queue)
    return talk.no_more("no message")


@SUITE.on_a_channel("message.stop/zero", "must", "A stop takes all credit.", "no message", needs=_DECLARE)
def _stopped(talk: Talk010) -> Seen:
    queue = talk.declare()
    talk.subscribe(queue, credit=MANY)
    talk.call(spec.MessageStop("d"))
    talk.store(queue)
    return talk.no_more("no message")


@SUITE.on_a_channel(
    "message.flush/zero",
    "note",
    "A flush sends what there is, and takes the credit that is left.",
    "the one message, and none that comes later",
    needs=_DECLARE,
)
def _flushed(talk: Talk010) -> Seen:
    queue = talk.filled(b"hello")
    talk.subscribe(queue, credit=MANY)
    talk.call(spec.MessageFlush("d"))
    talk.arrives()
    talk.store(queue)
    return talk.no_more("one message")


@SUITE.on_a_channel(
    "message.set-flow-mode/byte-accounting",
    "note",
    "Credit is of messages and of octets: both are needed.",
    "no message of 1,000 octets for a credit of 10",
    needs=_DECLARE,
)
def _octets(talk: Talk010) -> Seen:
    queue = talk.filled(bytes(1_000))
    talk.subscribe(queue)
    talk.call(spec.MessageFlow("d", 1, 10))
    talk.call(spec.MessageFlow("d", 0, MANY))
    return talk.no_more("no message")


@SUITE.on_a_channel(
    "message.flow/infinite",
    "note",
    "A credit of 2 to the 32 less 1 is without a bound.",
    "all of 20 messages",
    needs=_DECLARE,
)
def _infinite(talk: Talk010) -> Seen:
    queue = talk.filled(*[b"hello"] * 20)
    talk.subscribe(queue, credit=0xFFFFFFFF)
    count = len(talk.messages(20))
    return judged(count == 20, f"messages: {count}")


@SUITE.on_a_channel(
    "message.set-flow-mode/default",
    "must",
    "Credit of messages is used up by what is sent.",
    "2 of 5 messages",
    needs=_DECLARE,
)
def _used(talk: Talk010) -> Seen:
    queue = talk.filled(b"1", b"2", b"3", b"4", b"5")
    talk.subscribe(queue, credit=2)
    for _ in range(2):
        talk.arrives()
    return talk.no_more("2 messages")


# Transactions.


@SUITE.on_a_channel("tx.select/exactly-once", "must", "tx.select comes once.", "execution.exception 409", needs=_TX)
def _selected(talk: Talk010) -> Seen:
    talk.call(spec.TxSelect())
    return talk.refuses(spec.TxSelect(), 409)


@SUITE.on_a_channel(
    "tx.select/no-dtx",
    "must",
    "A session has one kind of transactions.",
    "execution.exception 409",
    needs=(*_TX, "0-10/dtx"),
)
def _kinds(talk: Talk010) -> Seen:
    talk.call(spec.DtxSelect())
    return talk.refuses(spec.TxSelect(), 409)


@SUITE.on_a_channel(
    "message.transfer/tx-publish",
    "note",
    "What is sent in a transaction is there behind its commit.",
    "no message before the commit, and the message after",
    needs=_TX,
)
def _committed(talk: Talk010) -> Seen:
    queue = talk.declare()
    talk.call(spec.TxSelect())
    talk.store(queue)
    other = talk.another()
    early = other.ready(queue)
    talk.call(spec.TxCommit())
    late = other.ready(queue)
    fine = (early, late) == (0, 1)
    return judged(fine, f"messages: {early} before, {late} after")


@SUITE.on_a_channel(
    "tx.rollback/keeps-acquired",
    "note",
    "Behind a rollback the session still has what it acquired.",
    "no message for another, though its accept was rolled back",
    needs=_TX,
)
def _kept(talk: Talk010) -> Seen:
    queue = talk.filled(b"hello")
    talk.call(spec.TxSelect())
    talk.subscribe(queue, credit=1)
    unit = talk.arrives()
    talk.call(spec.MessageAccept(amqp.SequenceSet.of(unit.number)))
    talk.call(spec.TxRollback())
    other = talk.another()
    other.subscribe(queue, credit=1)
    return other.no_more("no message for another")


def _dtx(talk: Talk010, name: bytes = b"1") -> spec.Xid:
    """Select distributed transactions, and return an xid of the case's own. Raises Surprise."""
    talk.call(spec.DtxSelect())
    return spec.Xid(1, talk.names.name().encode(), name)


_OF_BRANCHES: Final[tuple[tuple[str, Of], ...]] = (
    ("commit", lambda xid: spec.DtxCommit(xid, True)),
    ("prepare", lambda xid: spec.DtxPrepare(xid)),
    ("rollback", lambda xid: spec.DtxRollback(xid)),
    ("forget", lambda xid: spec.DtxForget(xid)),
    ("get-timeout", lambda xid: spec.DtxGetTimeout(xid)),
    ("set-timeout", lambda xid: spec.DtxSetTimeout(xid, 10)),
)

for _name, _making_of in _OF_BRANCHES:

    @SUITE.on_a_channel(
        f"dtx.{_name}/unknown-xid",
        "must",
        "A branch that isn't there is refused.",
        "execution.exception 404",
        needs=_DTX,
    )
    def _unknown(talk: Talk010, making: Of = _making_of) -> Seen:
        return talk.refuses(making(_dtx(talk)), 404)


for _name, _making_of in _OF_BRANCHES[:4]:

    @SUITE.on_a_channel(
        f"dtx.{_name}/not-disassociated",
        "must",
        "A branch that a session still works for is refused.",
        "execution.exception 409",
        needs=_DTX,
    )
    def _associated(talk: Talk010, making: Of = _making_of) -> Seen:
        xid = _dtx(talk)
        talk.call(spec.DtxStart(xid))
        return talk.refuses(making(xid), 409)


@SUITE.on_a_channel(
    "dtx.start/already-known",
    "must",
    "A branch that is there isn't started again, but with join or resume.",
    "execution.exception 530",
    needs=_DTX,
)
def _known(talk: Talk010) -> Seen:
    xid = _dtx(talk)
    talk.call(spec.DtxStart(xid))
    talk.call(spec.DtxEnd(xid))
    return talk.refuses(spec.DtxStart(xid), 530)


@SUITE.on_a_channel(
    "dtx.start/join-and-resume",
    "must",
    "A start doesn't join and resume at once.",
    "execution.exception 530",
    needs=_DTX,
)
def _both(talk: Talk010) -> Seen:
    return talk.refuses(spec.DtxStart(_dtx(talk), True, True), 530)


@SUITE.on_a_channel(
    "dtx.end/suspend-and-fail",
    "must",
    "An end doesn't suspend and fail at once.",
    "execution.exception 530",
    needs=_DTX,
)
def _end_both(talk: Talk010) -> Seen:
    xid = _dtx(talk)
    talk.call(spec.DtxStart(xid))
    return talk.refuses(spec.DtxEnd(xid, True, True), 530)


@SUITE.on_a_channel(
    "dtx.end/not-associated",
    "must",
    "A session ends what it works for, and nothing else.",
    "execution.exception 409",
    needs=_DTX,
)
def _end_nothing(talk: Talk010) -> Seen:
    return talk.refuses(spec.DtxEnd(_dtx(talk)), 409, 404)


@SUITE.on_a_channel(
    "dtx.commit/two-phase",
    "must",
    "A branch that isn't prepared is committed in one phase only.",
    "execution.exception 409",
    needs=_DTX,
)
def _two(talk: Talk010) -> Seen:
    xid = _dtx(talk)
    talk.call(spec.DtxStart(xid))
    talk.call(spec.DtxEnd(xid))
    return talk.refuses(spec.DtxCommit(xid, False), 409)


@SUITE.on_a_channel(
    "dtx.commit/one-phase",
    "must",
    "A branch that is prepared isn't committed in one phase.",
    "execution.exception 409",
    needs=_DTX,
)
def _one(talk: Talk010) -> Seen:
    # With some work: a branch that has none may be forgotten when it is prepared.
    queue = talk.declare()
    xid = _dtx(talk)
    talk.call(spec.DtxStart(xid))
    talk.store(queue)
    talk.call(spec.DtxEnd(xid))
    talk.call(spec.DtxPrepare(xid))
    return talk.refuses(spec.DtxCommit(xid, True), 409)


@SUITE.on_a_channel(
    "dtx.prepare/remember",
    "must",
    "A prepared branch stays until it is committed or rolled back.",
    "dtx.recover has it, behind the end of its session",
    needs=_DTX,
)
def _remember(talk: Talk010) -> Seen:
    other = talk.another()
    queue = talk.declare()
    xid = _dtx(other)
    other.call(spec.DtxStart(xid))
    other.store(queue)
    other.call(spec.DtxEnd(xid))
    other.call(spec.DtxPrepare(xid))
    other.finish()
    other.close()
    talk.call(spec.DtxSelect())
    found = talk.call(spec.DtxRecover())
    known = [*(found.in_doubt or ())] if isinstance(found, spec.RecoverResult) else []
    talk.call(spec.DtxRollback(xid))
    text = f"{len(known)} branches in doubt"
    if xid not in known:
        return Seen(Verdict.BREAKS, f"{text}, without that of the case")
    return Seen(Verdict.CONFORMS, text)


@SUITE.on_a_channel(
    "dtx/transactionality",
    "must",
    "What is sent for a branch is there behind its commit.",
    "no message before the commit, and the message after",
    needs=_DTX,
)
def _branch(talk: Talk010) -> Seen:
    queue = talk.declare()
    xid = _dtx(talk)
    talk.call(spec.DtxStart(xid))
    talk.store(queue)
    talk.call(spec.DtxEnd(xid))
    other = talk.another()
    early = other.ready(queue)
    talk.call(spec.DtxCommit(xid, True))
    late = other.ready(queue)
    fine = (early, late) == (0, 1)
    return judged(fine, f"messages: {early} before, {late} after")


@SUITE.on_a_channel(
    "dtx.set-timeout/reset",
    "note",
    "The time-out of a branch is what was set last.",
    "dtx.get-timeout says 60",
    needs=_DTX,
)
def _timeout(talk: Talk010) -> Seen:
    xid = _dtx(talk)
    talk.call(spec.DtxStart(xid))
    talk.call(spec.DtxSetTimeout(xid, 30))
    talk.call(spec.DtxSetTimeout(xid, 60))
    found = talk.call(spec.DtxGetTimeout(xid))
    told = found.timeout if isinstance(found, spec.GetTimeoutResult) else None
    return judged(told == 60, f"time-out {told}")


@SUITE.on_a_channel(
    "dtx.select/required",
    "note",
    "Branches are started on a session that selected dtx.",
    "execution.exception 409 or 503",
    needs=_DTX,
)
def _not_selected(talk: Talk010) -> Seen:
    return talk.refuses(spec.DtxStart(_XID), 409, 503)


# What is done, though something else could be thought.

_DONE: Final[tuple[tuple[str, str, str, Making], ...]] = (
    (
        "exchange.declare/durable-support",
        "must",
        "A server has durable and transient exchanges.",
        lambda talk: spec.ExchangeDeclare(talk.names.exchange(), "direct", durable=True),
    ),
    (
        "exchange.bind/multiple-bindings",
        "should",
        "A queue may have several bindings.",
        lambda talk: spec.ExchangeBind(*_bound(talk), "another"),
    ),
    (
        "queue.declare/exclusive-types",
        "must",
        "A server has exclusive and shared queues.",
        lambda talk: spec.QueueDeclare(talk.names.queue(), exclusive=True),
    ),
)

for _rule, _level, _clause, _making in _DONE:

    @SUITE.on_a_channel(_rule, _level, _clause, "it is done", needs=_DECLARE)
    def _does(talk: Talk010, making: Making = _making) -> Seen:
        return talk.does(making(talk))


@SUITE.on_a_channel(
    "exchange.declare/minimum",
    "should",
    "A server takes 16 exchanges, at the least.",
    "16 are declared",
    needs=_DECLARE,
)
def _sixteen(talk: Talk010) -> Seen:
    for _ in range(16):
        talk.exchange("direct")
    return Seen(Verdict.CONFORMS, "16 exchanges")


@SUITE.on_a_channel(
    "message.subscribe/min-16",
    "should",
    "A queue has 16 subscribers, at the least.",
    "16 subscriptions",
    needs=_DECLARE,
)
def _subscribers(talk: Talk010) -> Seen:
    queue = talk.declare()
    for place in range(16):
        talk.call(spec.MessageSubscribe(queue, f"d{place}", 0, 0))
    count = talk.query(queue).subscriber_count
    return judged(count == 16, f"{count} subscribers")


@SUITE.on_a_channel(
    "exchange.declare/durable-sticky",
    "must",
    "Durable is what it was when an exchange is declared again.",
    "exchange.query says that it isn't durable",
    needs=_DECLARE,
)
def _sticky(talk: Talk010) -> Seen:
    exchange = talk.exchange("direct")
    unit = talk.done(talk.command(spec.ExchangeDeclare(exchange, "direct", durable=True)))
    if unit is not None and unit.event != "session.completed":
        return Seen(Verdict.OTHER_CODE, f"{talk.described(unit)}: it is refused")
    found = talk.call(spec.ExchangeQuery(exchange))
    durable = isinstance(found, spec.ExchangeQueryResult) and found.durable
    return Seen(Verdict.BREAKS if durable else Verdict.CONFORMS, f"durable {durable}".lower())


for _rule, _again in (
    ("queue.declare/durable-pre-existence", {"durable": True}),
    ("queue.declare/auto-delete-pre-existence", {"auto_delete": True}),
):

    @SUITE.on_a_channel(
        _rule,
        "must",
        "What a queue was declared as stays when it is declared again otherwise.",
        "queue.query says as before",
        needs=_DECLARE,
    )
    def _stays(talk: Talk010, again: dict[str, Any] = _again) -> Seen:
        queue = talk.declare()
        unit = talk.done(talk.command(spec.QueueDeclare(queue, **again)))
        if unit is not None and unit.event != "session.completed":
            return Seen(Verdict.OTHER_CODE, f"{talk.described(unit)}: it is refused")
        found = talk.query(queue)
        changed = found.durable or found.auto_delete
        return Seen(Verdict.BREAKS if changed else Verdict.CONFORMS, "changed" if changed else "as before")


@SUITE.on_a_channel(
    "model/headers-x-match",
    "must",
    "A binding of a headers exchange has x-match; without it there is an exception.",
    "execution.exception 542",
    variant="without",
    needs=_DECLARE,
)
def _no_x_match(talk: Talk010) -> Seen:
    queue, exchange = talk.declare(), talk.exchange("headers")
    return talk.refuses(spec.ExchangeBind(queue, exchange, "k", {"a": "1"}), 542)


@SUITE.on_a_channel(
    "model/headers-x-match",
    "must",
    "The x-match of a binding of a headers exchange is all or any.",
    "execution.exception 542",
    variant="other-value",
    needs=_DECLARE,
)
def _x_match(talk: Talk010) -> Seen:
    queue, exchange = talk.declare(), talk.exchange("headers")
    seen = talk.refuses(spec.ExchangeBind(queue, exchange, "k", {"x-match": "probe", "a": "1"}), 542)
    # The exception is demanded where the argument lacks.
    return Seen(Verdict.NON_STRICT, seen.text) if seen.verdict is Verdict.BREAKS else seen


@SUITE.on_a_channel(
    "message.message-properties/dup-accept",
    "must",
    "Messages of one id are both taken.",
    "two messages",
    needs=_DECLARE,
)
def _same_id(talk: Talk010) -> Seen:
    queue = talk.declare()
    for _ in range(2):
        talk.store(queue, about=amqp.MessageProperties(message_id=UUID(int=7)))
    count = talk.ready(queue)
    return judged(count == 2, f"messages: {count}")


@SUITE.on_a_channel(
    "message.message-properties/id-immutable", "must", "Nobody changes the id of a message.", "the id", needs=_DECLARE
)
def _id(talk: Talk010) -> Seen:
    queue = talk.declare()
    talk.store(queue, about=amqp.MessageProperties(message_id=UUID(int=7)))
    talk.subscribe(queue, credit=1)
    came = talk.arrives().headers.message_id
    return judged(came == UUID(int=7), f"message-id {came}")


@SUITE.on_a_channel(
    "message.reject/acquisition",
    "must",
    "Rejecting what isn't acquired changes nothing.",
    "the message is still there",
    needs=_DECLARE,
)
def _reject_unacquired(talk: Talk010) -> Seen:
    queue = talk.filled(b"hello")
    talk.subscribe(queue, credit=1, acquire_mode=1)
    talk.call(spec.MessageReject(amqp.SequenceSet.of(talk.arrives().number), 0, ""))
    talk.call(spec.MessageCancel("d"))
    return talk.holds(queue, b"hello")


@SUITE.on_a_channel(
    "tx.select/explicit-accepts",
    "must",
    "A transactional session accepts its messages itself.",
    "execution.exception 530",
    needs=_TX,
)
def _explicit(talk: Talk010) -> Seen:
    queue = talk.declare()
    talk.call(spec.TxSelect())
    return talk.refuses(spec.MessageSubscribe(queue, "d", 1, 0), 530)


@SUITE.on_a_channel(
    "dtx.start/unknown-xid(sic)",
    "must",
    "A branch that is joined or resumed is there.",
    "execution.exception 530 or 404",
    needs=_DTX,
)
def _unknown_start(talk: Talk010) -> Seen:
    return talk.refuses(spec.DtxStart(_dtx(talk), True), 530, 404)
