"""Cases of 0-9-1: queues and bindings."""

from __future__ import annotations

from typing import Any, Final

from amqp_sansio.amqp_0_9_1 import spec

from ..case import Suite
from ..talk import Talk
from ..verdicts import Seen, Verdict, judged

SUITE: Final = Suite(Talk)


@SUITE.on_a_channel(
    "queue.declare/server-named",
    "must",
    "A queue declared without a name gets a unique one, which the answer tells.",
    "queue.declare-ok with two different names",
)
def _server_named(talk: Talk) -> Seen:
    names = [talk.call(spec.QueueDeclare(exclusive=True)).queue for _ in range(2)]
    fine = all(names) and names[0] != names[1]
    return judged(fine, ", ".join(names))


@SUITE.on_a_channel(
    "queue.declare-ok/name-notnull", "must", "queue.declare-ok names the queue.", "the name that was declared"
)
def _named(talk: Talk) -> Seen:
    name = talk.names.queue()
    answer = talk.call(spec.QueueDeclare(name, exclusive=True)).queue
    return judged(answer == name, answer or "no name")


@SUITE.on_a_channel(
    "queue.declare/reserved",
    "must",
    "Names that begin with amq. are the server's: declaring a new one is refused with 403.",
    "channel.close 403",
)
def _reserved(talk: Talk) -> Seen:
    return talk.refuses(spec.QueueDeclare(talk.names.queue("amq."), exclusive=True), 403)


@SUITE.on_a_channel(
    "queue.declare/passive-not-found",
    "must",
    "A passive declare of a queue that isn't there is 404 on the channel.",
    "channel.close 404",
)
def _passive(talk: Talk) -> Seen:
    return talk.refuses(spec.QueueDeclare(talk.names.queue(), passive=True), 404)


@SUITE.on_a_channel(
    "queue.declare/passive-ignores",
    "note",
    "A passive declare compares nothing but the name.",
    "queue.declare-ok, though durable is another",
)
def _passive_ignores(talk: Talk) -> Seen:
    queue = talk.declare(exclusive=True)
    return talk.answers_to(spec.QueueDeclare(queue, passive=True, durable=True))


_EQUIVALENT = "Declaring a queue again with the same values is answered; with other values it is a channel's error."


@SUITE.on_a_channel("queue.declare/equivalent", "must", _EQUIVALENT, "queue.declare-ok", variant="same")
def _same(talk: Talk) -> Seen:
    queue = talk.declare(exclusive=True)
    return talk.answers_to(spec.QueueDeclare(queue, exclusive=True))


@SUITE.on_a_channel(
    "queue.declare/equivalent", "must", _EQUIVALENT, "channel.close, whatever the code", variant="other-durable"
)
def _other(talk: Talk) -> Seen:
    queue = talk.declare(durable=True)
    return talk.refuses(spec.QueueDeclare(queue), 406, 530)


@SUITE.on_a_channel(
    "queue.declare/durable-both", "must", "A server has durable and transient queues.", "queue.declare-ok"
)
def _durable(talk: Talk) -> Seen:
    return talk.answers_to(spec.QueueDeclare(talk.names.queue(), durable=True))


@SUITE.on_a_channel(
    "queue.declare/exclusive-both", "must", "A server has exclusive and shared queues.", "queue.declare-ok"
)
def _exclusive(talk: Talk) -> Seen:
    return talk.answers_to(spec.QueueDeclare(talk.names.queue(), exclusive=True))


for _what in ("declare", "consume", "purge", "delete"):

    @SUITE.on_a_channel(
        "queue.declare/exclusive-other-owner",
        "must",
        "Another connection may not use an exclusive queue: 405.",
        "channel.close 405",
        variant=_what,
    )
    def _foreign(talk: Talk, what: str = _what) -> Seen:
        queue = talk.declare(exclusive=True)
        other = talk.another()
        method: spec.RequestMethod[Any] = {
            "declare": spec.QueueDeclare(queue, passive=True),
            "consume": spec.BasicConsume(queue),
            "purge": spec.QueuePurge(queue),
            "delete": spec.QueueDelete(queue),
        }[what]
        return other.refuses(method, 405)


@SUITE.on_a_channel(
    "queue.declare/exclusive-lifetime",
    "note",
    "An exclusive queue is deleted when its connection closes.",
    "channel.close 404 to a passive declare",
)
def _lifetime(talk: Talk) -> Seen:
    other = talk.another()
    queue = other.declare(exclusive=True)
    wrong = other.finish()
    if wrong:
        return Seen(Verdict.INCONCLUSIVE, wrong)
    other.close()
    # The server may need a moment for it.
    deadline = talk.transport.now() + talk.patience.soon
    while True:
        seen = talk.refuses(spec.QueueDeclare(queue, passive=True), 404)
        if seen.verdict is not Verdict.BREAKS or talk.transport.now() >= deadline:
            return seen
        talk.rest(0.02)


@SUITE.on_a_channel(
    "queue.declare/auto-delete-when",
    "note",
    "An auto-delete queue goes with its last consumer, and not before it had one.",
    "the queue is there before, and gone after",
)
def _auto_delete(talk: Talk) -> Seen:
    talk.channel(2)
    queue = talk.declare(auto_delete=True, durable=True)
    talk.call(spec.QueueDeclare(queue, passive=True))
    tag = talk.call(spec.BasicConsume(queue)).consumer_tag
    talk.call(spec.BasicCancel(tag))
    talk.rest()
    return talk.refuses(spec.QueueDeclare(queue, passive=True), 404, channel=2)


@SUITE.on_a_channel(
    "queue.declare/current-queue",
    "note",
    "A method without a queue's name means the queue that was last declared on the channel.",
    "queue.purge-ok with the number of its messages",
)
def _current(talk: Talk) -> Seen:
    talk.filled()
    talk.say(1, spec.QueuePurge(""))
    unit = talk.wait(("queue.purge-ok",), 1)
    if unit is None or unit.event != "queue.purge-ok":
        return Seen(Verdict.BREAKS, talk.described(unit))
    count = unit.content.message_count
    return judged(count == 1, f"{count} purged")


@SUITE.on_a_channel(
    "queue.declare-ok/consumer-count", "note", "queue.declare-ok counts the active consumers of the queue.", "0, then 1"
)
def _consumer_count(talk: Talk) -> Seen:
    queue = talk.declare(exclusive=True)
    before = talk.call(spec.QueueDeclare(queue, passive=True)).consumer_count
    talk.call(spec.BasicConsume(queue))
    after = talk.call(spec.QueueDeclare(queue, passive=True)).consumer_count
    return judged((before, after) == (0, 1), f"{before}, then {after}")


@SUITE.on_a_channel(
    "queue.declare/default-binding",
    "must",
    "A new queue is bound to the default exchange by its name.",
    "the message is in the queue",
)
def _default_binding(talk: Talk) -> Seen:
    queue = talk.declare(exclusive=True)
    talk.publish(routing_key=queue, mandatory=True)
    there = talk.counts(queue, 1)
    return judged(there, "1 message" if there else "no message")


@SUITE.on_a_channel(
    "queue.bind/duplicate-ok", "must", "Binding twice in the same way is no error.", "queue.bind-ok, twice"
)
def _bind_twice(talk: Talk) -> Seen:
    queue = talk.declare(exclusive=True)
    talk.call(spec.QueueBind(queue, "amq.direct", queue))
    return talk.answers_to(spec.QueueBind(queue, "amq.direct", queue))


@SUITE.on_a_channel(
    "queue.bind/deliver-once",
    "must",
    "A message comes once into a queue, however many of its bindings match.",
    "one message",
)
def _once(talk: Talk) -> Seen:
    queue = talk.declare(exclusive=True)
    exchange = talk.exchange("topic")
    for key in ("#", "*", "a", "a"):
        talk.call(spec.QueueBind(queue, exchange, key))
    talk.publish(exchange=exchange, routing_key="a")
    return talk.holds_one(queue)


@SUITE.on_a_channel(
    "queue.bind/queue-not-found", "must", "Binding a queue that isn't there is 404.", "channel.close 404"
)
def _bind_no_queue(talk: Talk) -> Seen:
    return talk.refuses(spec.QueueBind(talk.names.queue(), "amq.direct", "k"), 404)


@SUITE.on_a_channel(
    "queue.bind/exchange-not-found", "must", "Binding to an exchange that isn't there is 404.", "channel.close 404"
)
def _bind_no_exchange(talk: Talk) -> Seen:
    queue = talk.declare(exclusive=True)
    return talk.refuses(spec.QueueBind(queue, talk.names.exchange(), "k"), 404)


@SUITE.on_a_channel(
    "queue.bind/default-exchange", "must", "A client may not bind to the default exchange: 403.", "channel.close 403"
)
def _bind_default(talk: Talk) -> Seen:
    queue = talk.declare(exclusive=True)
    return talk.refuses(spec.QueueBind(queue, "", "k"), 403)


@SUITE.on_a_channel(
    "queue.unbind/queue-not-found", "must", "Unbinding a queue that isn't there is 404.", "channel.close 404"
)
def _unbind_no_queue(talk: Talk) -> Seen:
    return talk.refuses(spec.QueueUnbind(talk.names.queue(), "amq.direct", "k"), 404)


@SUITE.on_a_channel(
    "queue.unbind/exchange-not-found",
    "must",
    "Unbinding from an exchange that isn't there is 404.",
    "channel.close 404",
)
def _unbind_no_exchange(talk: Talk) -> Seen:
    queue = talk.declare(exclusive=True)
    return talk.refuses(spec.QueueUnbind(queue, talk.names.exchange(), "k"), 404)


@SUITE.on_a_channel(
    "queue.purge/unacked-kept",
    "must",
    "Purging leaves the messages that wait for an acknowledgement.",
    "1 purged, and the other returns when its channel closes",
)
def _purge_unacked(talk: Talk) -> Seen:
    talk.channel(2)
    queue = talk.filled(2)
    talk.get(queue, 2, no_ack=False)
    purged = talk.call(spec.QueuePurge(queue)).message_count
    talk.call(spec.ChannelClose(200, "done"), 2)
    kept = talk.counts(queue, 1)
    text = f"{purged} purged, {'1' if kept else 'none'} kept"
    return judged(kept and purged == 1, text)


@SUITE.on_a_channel(
    "queue.purge/queue-not-found", "must", "Purging a queue that isn't there is 404.", "channel.close 404"
)
def _purge_none(talk: Talk) -> Seen:
    return talk.refuses(spec.QueuePurge(talk.names.queue()), 404)


@SUITE.on_a_channel(
    "queue.delete/queue-not-found", "must", "Deleting a queue that isn't there is 404.", "channel.close 404"
)
def _delete_none(talk: Talk) -> Seen:
    return talk.refuses(spec.QueueDelete(talk.names.queue()), 404)


@SUITE.on_a_channel(
    "queue.delete/if-unused",
    "must",
    "A queue with consumers isn't deleted if the client says if-unused: 406.",
    "channel.close 406",
)
def _if_unused(talk: Talk) -> Seen:
    queue = talk.declare(exclusive=True)
    talk.call(spec.BasicConsume(queue))
    return talk.refuses(spec.QueueDelete(queue, if_unused=True), 406)


@SUITE.on_a_channel(
    "queue.delete/if-empty",
    "must",
    "A queue with messages isn't deleted if the client says if-empty: 406.",
    "channel.close 406",
)
def _if_empty(talk: Talk) -> Seen:
    queue = talk.filled()
    return talk.refuses(spec.QueueDelete(queue, if_empty=True), 406)


for _method in (spec.QueueBind("", "amq.direct", "k"), spec.QueuePurge(""), spec.QueueDelete("")):

    @SUITE.on_a_channel(
        f"{_method.NAME}/no-current-queue",
        "must",
        "A method without a queue's name on a channel that declared none is a syntax error: 502.",
        "channel.close or connection.close 502",
    )
    def _no_queue(talk: Talk, method: spec.RequestMethod[Any] = _method) -> Seen:
        return talk.refuses(method, 502, by=("channel.close", "connection.close"))
