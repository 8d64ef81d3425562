"""Cases of 0-9-1: channels."""

from __future__ import annotations

from typing import Final

from amqp_sansio.amqp_0_9_1 import spec

from ..case import Suite
from ..talk import Talk
from ..verdicts import Seen, Verdict, judged

SUITE: Final = Suite(Talk)


@SUITE.on_a_channel(
    "channel.open/already-open", "must", "An open channel isn't opened again: 504.", "connection.close 504"
)
def _open_twice(talk: Talk) -> Seen:
    talk.say(1, spec.ChannelOpen())
    return talk.connection_error(504)


@SUITE.on_a_channel(
    "method/sync-reply",
    "note",
    "Every request that has a reply is answered on its channel.",
    "channel.close-ok, then channel.open-ok again",
    variant="close-and-open-again",
)
def _reopen(talk: Talk) -> Seen:
    closed = talk.answers_to(spec.ChannelClose(200, "done"))
    if closed.verdict is not Verdict.CONFORMS:
        return closed
    return talk.answers_to(spec.ChannelOpen())


@SUITE.on_a_channel(
    "channel.close/discard",
    "must",
    "What comes after channel.close, but for its answer, is discarded.",
    "no queue is declared after the server's close",
)
def _discard(talk: Talk) -> Seen:
    talk.channel(2)
    name = talk.names.queue()
    talk.say(1, spec.QueueDeclare(talk.names.queue(), passive=True), spec.QueueDeclare(name, durable=True))
    seen = talk.channel_error(404)
    if seen.verdict is not Verdict.CONFORMS:
        return Seen(Verdict.INCONCLUSIVE, f"no close to discard after: {seen.text}")
    return talk.refuses(spec.QueueDeclare(name, passive=True), 404, channel=2)


for _variant, _active in (("stop", False), ("start", True)):

    @SUITE.on_a_channel(
        "channel.flow-ok/echo",
        "note",
        "channel.flow-ok has the state that channel.flow asked for.",
        f"channel.flow-ok with active={str(_active).lower()}",
        variant=_variant,
    )
    def _flow(talk: Talk, active: bool = _active) -> Seen:
        talk.say(1, spec.ChannelFlow(active))
        unit = talk.wait(("channel.flow-ok",), 1)
        if unit is None or unit.event != "channel.flow-ok":
            return talk.silence() if unit is None else Seen(Verdict.BREAKS, talk.described(unit))
        same = unit.content.active is active
        return judged(same, f"active={unit.content.active}")


@SUITE.on_a_channel(
    "channel/closed-requeue",
    "note",
    "Deliveries that a closed channel leaves unacknowledged return to their queue.",
    "the message, redelivered",
)
def _requeue(talk: Talk) -> Seen:
    talk.channel(2)
    queue = talk.filled()
    talk.get(queue, no_ack=False)
    talk.call(spec.ChannelClose(200, "done"))
    if not talk.counts(queue, 1, 2):
        return Seen(Verdict.BREAKS, "the message doesn't return")
    unit = talk.get(queue, 2)
    return judged(
        unit is not None and unit.content.redelivered,
        "gone" if unit is None else f"redelivered={unit.content.redelivered}",
    )


@SUITE.on_a_channel(
    "server/visibility",
    "must",
    "What a channel has been told to be done, every channel sees.",
    "a queue that is declared on one connection is there on another",
)
def _visible(talk: Talk) -> Seen:
    other = talk.another()
    queue = talk.declare(durable=True)
    return other.answers_to(spec.QueueDeclare(queue, passive=True))
