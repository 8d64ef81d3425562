"""Cases of 0-9-1: transactions."""

from __future__ import annotations

from typing import Any, Final

from amqp_sansio.amqp_0_9_1 import spec

from ..case import Suite
from ..talk import Talk
from ..verdicts import Seen, Verdict, judged

SUITE: Final = Suite(Talk)


for _method, _what in ((spec.TxCommit(), "commit"), (spec.TxRollback(), "rollback")):

    @SUITE.on_a_channel(
        f"{_method.NAME}/not-transacted",
        "must",
        f"A {_what} on a channel without transactions is an error of the channel: 406.",
        "channel.close 406",
        needs=("tx",),
    )
    def _not_transacted(talk: Talk, method: spec.RequestMethod[Any] = _method) -> Seen:
        return talk.refuses(method, 406)


@SUITE.on_a_channel(
    "tx/scope",
    "note",
    "Publishes of a transaction are there after its commit, not before.",
    "no message, then one",
    variant="commit",
    needs=("tx",),
)
def _scope(talk: Talk) -> Seen:
    talk.channel(2)
    queue = talk.declare(exclusive=True)
    talk.call(spec.TxSelect())
    return _waits_for_a_commit(talk, queue)


def _waits_for_a_commit(talk: Talk, queue: str) -> Seen:
    talk.publish(routing_key=queue)
    talk.call(spec.BasicQos(0, 1))
    before = talk.ready(queue, 2)
    talk.call(spec.TxCommit())
    after = talk.counts(queue, 1, 2)
    text = f"{before} before, {'1' if after else 'none'} after"
    return judged(before == 0 and after, text)


@SUITE.on_a_channel(
    "tx/scope",
    "note",
    "Publishes of a transaction that is rolled back are undone.",
    "no message",
    variant="rollback",
    needs=("tx",),
)
def _undone(talk: Talk) -> Seen:
    talk.channel(2)
    queue = talk.declare(exclusive=True)
    talk.call(spec.TxSelect())
    talk.publish(routing_key=queue)
    talk.call(spec.TxRollback())
    talk.call(spec.TxCommit())
    count = talk.ready(queue, 2)
    return judged(count == 0, f"messages: {count}")


@SUITE.on_a_channel(
    "tx.commit/new-tx",
    "note",
    "A commit begins the next transaction.",
    "the second publish waits for the second commit",
    needs=("tx",),
)
def _next(talk: Talk) -> Seen:
    talk.channel(2)
    queue = talk.declare(exclusive=True)
    talk.call(spec.TxSelect())
    talk.call(spec.TxCommit())
    return _waits_for_a_commit(talk, queue)


@SUITE.on_a_channel(
    "tx.rollback/no-redelivery",
    "note",
    "A rollback undoes acknowledgements and sends no message again by itself.",
    "the message stays unacknowledged on its channel",
    needs=("tx",),
)
def _no_redelivery(talk: Talk) -> Seen:
    queue = talk.filled()
    talk.call(spec.TxSelect())
    unit = talk.get(queue, no_ack=False)
    if unit is None:
        return Seen(Verdict.BREAKS, "no message")
    talk.say(1, spec.BasicAck(unit.content.delivery_tag))
    talk.call(spec.TxRollback())
    count = talk.ready(queue)
    return judged(count == 0, f"messages ready: {count}")
