"""Cases of 0-9-1: publishing, consuming, and the end of deliveries."""

from __future__ import annotations

from typing import Final

from amqp_sansio import Observed
from amqp_sansio.amqp_0_9_1 import spec

from ..case import Suite
from ..talk import Talk
from ..verdicts import Seen, Verdict, judged

SUITE: Final = Suite(Talk)


def _deliveries(talk: Talk, count: int, channel: int = 1) -> list[Observed]:
    """Take deliveries: as many, or fewer if no more come."""
    found: list[Observed] = []
    while len(found) < count:
        unit = talk.wait(("basic.deliver",), channel)
        if unit is None or unit.event != "basic.deliver":
            break
        found.append(unit)
    return found


@SUITE.on_a_channel("domain/delivery-tag.nonzero", "must", "A server gives no delivery the tag 0.", "tags from 1 on")
def _nonzero(talk: Talk) -> Seen:
    queue = talk.filled()
    unit = talk.get(queue)
    tag = 0 if unit is None else unit.content.delivery_tag
    return judged(tag, f"tag {tag}")


@SUITE.on_a_channel(
    "method/sync-reply",
    "note",
    "Every request that has a reply is answered on its channel.",
    "basic.get-empty",
    variant="get-empty",
)
def _get_empty(talk: Talk) -> Seen:
    talk.say(1, spec.BasicGet(talk.declare(exclusive=True)))
    return talk.answers("basic.get-empty")


@SUITE.on_a_channel(
    "content/path-order",
    "must",
    "Messages of one channel through one exchange to one queue and one consumer keep their order.",
    "100 messages in order",
)
def _order(talk: Talk) -> Seen:
    queue = talk.declare(exclusive=True)
    talk.call(spec.BasicConsume(queue, no_ack=True))
    for number in range(100):
        talk.publish(body=str(number).encode(), routing_key=queue)
    found = [int(each.body or b"-1") for each in _deliveries(talk, 100)]
    if found == list(range(100)):
        return Seen(Verdict.CONFORMS, "100 messages in order")
    return Seen(Verdict.BREAKS, f"{len(found)} messages: {', '.join(map(str, found[:20]))} ...")


@SUITE.on_a_channel(
    "basic.qos/window-ceiling",
    "must",
    "No more messages are on their way than the prefetch count allows.",
    "2 of 5 messages until one is acknowledged",
)
def _window(talk: Talk) -> Seen:
    queue = talk.filled(5)
    talk.call(spec.BasicQos(0, 2))
    talk.call(spec.BasicConsume(queue))
    first = _deliveries(talk, 2)
    if len(first) < 2:
        return Seen(Verdict.BREAKS, f"{len(first)} of the 2 messages that are allowed")
    if talk.quiet("basic.deliver") is not None:
        return Seen(Verdict.BREAKS, "a third message before an acknowledgement")
    talk.say(1, spec.BasicAck(first[0].content.delivery_tag))
    more = len(_deliveries(talk, 1))
    return judged(more, f"2, and {more} after an acknowledgement")


@SUITE.on_a_channel(
    "basic.qos/no-ack-ignores", "note", "The prefetch count doesn't hold back consumers with no-ack.", "5 of 5 messages"
)
def _no_ack_window(talk: Talk) -> Seen:
    queue = talk.declare(exclusive=True)
    talk.call(spec.BasicQos(0, 1))
    talk.call(spec.BasicConsume(queue, no_ack=True))
    for _ in range(5):
        talk.publish(routing_key=queue)
    count = len(_deliveries(talk, 5))
    return judged(count == 5, f"{count} of 5 messages")


@SUITE.on_a_channel(
    "basic.consume/tag-in-use", "must", "A consumer's tag that is in use isn't used again: 530.", "connection.close 530"
)
def _tag_in_use(talk: Talk) -> Seen:
    queue = talk.declare(exclusive=True)
    talk.call(spec.BasicConsume(queue, "mine"))
    return talk.refuses(spec.BasicConsume(queue, "mine"), 530, by=("connection.close",))


@SUITE.on_a_channel(
    "basic.consume/tag-channel-scope",
    "must",
    "A consumer's tag is its channel's; another channel may use the same.",
    "basic.consume-ok on both channels",
)
def _tag_scope(talk: Talk) -> Seen:
    talk.channel(2)
    queue = talk.declare(exclusive=True)
    talk.call(spec.BasicConsume(queue, "mine"))
    return talk.answers_to(spec.BasicConsume(queue, "mine"), 2)


@SUITE.on_a_channel(
    "basic.consume/server-tag", "note", "A consumer without a tag gets one from the server.", "two tags, both different"
)
def _server_tag(talk: Talk) -> Seen:
    queue = talk.declare(exclusive=True)
    tags = [talk.call(spec.BasicConsume(queue)).consumer_tag for _ in range(2)]
    return judged(all(tags) and tags[0] != tags[1], ", ".join(tags))


@SUITE.on_a_channel(
    "basic.consume/exclusive-busy",
    "must",
    "Exclusive access to a queue that has a consumer is refused: 403.",
    "channel.close 403",
)
def _exclusive_busy(talk: Talk) -> Seen:
    talk.channel(2)
    queue = talk.declare(exclusive=True)
    talk.call(spec.BasicConsume(queue))
    return talk.refuses(spec.BasicConsume(queue, exclusive=True), 403, channel=2)


@SUITE.on_a_channel(
    "basic.consume/min-16", "should", "A queue takes at least 16 consumers.", "16 times basic.consume-ok"
)
def _sixteen(talk: Talk) -> Seen:
    queue = talk.declare(exclusive=True)
    for count in range(16):
        seen = talk.answers_to(spec.BasicConsume(queue))
        if seen.verdict is not Verdict.CONFORMS:
            return Seen(seen.verdict, f"{count} consumers, then {seen.text}")
    return Seen(Verdict.CONFORMS, "16 consumers")


@SUITE.on_a_channel(
    "basic.publish/exchange-not-found",
    "must",
    "Publishing to an exchange that isn't there is 404 on the channel.",
    "channel.close 404",
)
def _no_exchange(talk: Talk) -> Seen:
    talk.publish(exchange=talk.names.exchange(), routing_key="k")
    return talk.channel_error(404)


@SUITE.on_a_channel(
    "basic.publish/default-exchange",
    "must",
    "A publish without an exchange's name goes to the default exchange.",
    "the message is in the queue that the routing key names",
)
def _to_default(talk: Talk) -> Seen:
    queue = talk.declare(exclusive=True)
    talk.publish(exchange="", routing_key=queue)
    there = talk.counts(queue, 1)
    return judged(there, "1 message" if there else "no message")


@SUITE.on_a_channel(
    "basic.publish/mandatory",
    "should",
    "A mandatory message that no queue gets is returned.",
    "basic.return with the message",
)
def _mandatory(talk: Talk) -> Seen:
    talk.publish(body=b"back", routing_key=talk.names.queue(), mandatory=True)
    unit = talk.wait(("basic.return",), 1)
    if unit is None or unit.event != "basic.return":
        return talk.silence() if unit is None else Seen(Verdict.BREAKS, talk.described(unit))
    return judged(unit.body == b"back", f"basic.return with {unit.body!r}")


@SUITE.on_a_channel(
    "basic.return/reason", "note", "basic.return says why: 312 is the code of no route.", "reply-code 312"
)
def _reason(talk: Talk) -> Seen:
    talk.publish(routing_key=talk.names.queue(), mandatory=True)
    code = talk.take("basic.return", 1).content.reply_code
    return Seen(Verdict.CONFORMS if code == 312 else Verdict.OTHER_CODE, f"reply-code {code}")


@SUITE.on_a_channel(
    "basic.publish/immediate",
    "should",
    "An immediate message that no consumer takes at once is returned.",
    "basic.return 313",
)
def _immediate(talk: Talk) -> Seen:
    queue = talk.declare(exclusive=True)
    talk.publish(routing_key=queue, immediate=True)
    return talk.answers("basic.return")


@SUITE.on_a_channel(
    "basic/ack-mode",
    "must",
    "A message that waits for its acknowledgement isn't given to anybody else, and is gone with it.",
    "the queue is empty, also after the channel's close",
)
def _ack_mode(talk: Talk) -> Seen:
    talk.channel(2)
    queue = talk.filled()
    unit = talk.get(queue, no_ack=False)
    if unit is None:
        return Seen(Verdict.BREAKS, "no message")
    if talk.get(queue, 2) is not None:
        return Seen(Verdict.BREAKS, "the message is given a second time")
    talk.say(1, spec.BasicAck(unit.content.delivery_tag))
    talk.call(spec.ChannelClose(200, "done"))
    gone = talk.get(queue, 2) is None
    return judged(gone, "gone" if gone else "it returns after its acknowledgement")


@SUITE.on_a_channel(
    "basic/no-ack-mode",
    "must",
    "With no-ack a message counts as acknowledged when it is sent.",
    "the queue is empty after the channel's close",
)
def _no_ack_mode(talk: Talk) -> Seen:
    talk.channel(2)
    queue = talk.filled()
    if talk.get(queue, no_ack=True) is None:
        return Seen(Verdict.BREAKS, "no message")
    talk.call(spec.ChannelClose(200, "done"))
    gone = talk.get(queue, 2) is None
    return judged(gone, "gone" if gone else "it returns")


for _tag in (1, 0, 2**63):

    @SUITE.on_a_channel(
        "basic.ack/unknown-tag",
        "must",
        "A tag that isn't one of the channel's deliveries is an error of the channel: 406.",
        "channel.close 406",
        variant=f"tag-{_tag}",
    )
    def _unknown_tag(talk: Talk, tag: int = _tag) -> Seen:
        talk.say(1, spec.BasicAck(tag))
        seen = talk.channel_error(406)
        # The server has to validate a tag that isn't zero.
        return Seen(Verdict.NON_STRICT, seen.text) if not tag and seen.verdict is Verdict.BREAKS else seen


@SUITE.on_a_channel(
    "basic.ack/unknown-tag",
    "must",
    "A tag that isn't one of the channel's deliveries is an error of the channel: 406.",
    "channel.close 406",
    variant="twice",
)
def _ack_twice(talk: Talk) -> Seen:
    queue = talk.filled()
    talk.get(queue, no_ack=False)
    talk.say(1, spec.BasicAck(1), spec.BasicAck(1))
    return talk.channel_error(406)


@SUITE.on_a_channel(
    "basic.ack/multiple",
    "note",
    "With multiple, an acknowledgement is for all deliveries up to its tag.",
    "one of three messages returns",
)
def _multiple(talk: Talk) -> Seen:
    talk.channel(2)
    queue = talk.filled(3)
    tags = [unit.content.delivery_tag for _ in range(3) if (unit := talk.get(queue, no_ack=False)) is not None]
    if len(tags) < 3:
        return Seen(Verdict.BREAKS, f"{len(tags)} of 3 messages")
    talk.say(1, spec.BasicAck(tags[1], multiple=True))
    talk.call(spec.ChannelClose(200, "done"))
    back = talk.counts(queue, 1, 2)
    return judged(back, "1 returns" if back else "another number returns")


@SUITE.on_a_channel(
    "basic.reject/requeue",
    "note",
    "A rejected message returns to its queue with requeue, and is discarded without.",
    "the message, redelivered; then none",
)
def _reject(talk: Talk) -> Seen:
    queue = talk.filled()
    first = talk.get(queue, no_ack=False)
    if first is None:
        return Seen(Verdict.BREAKS, "no message")
    talk.say(1, spec.BasicReject(first.content.delivery_tag, True))
    if not talk.counts(queue, 1):
        return Seen(Verdict.BREAKS, "it doesn't return")
    again = talk.get(queue, no_ack=False)
    if again is None or not again.content.redelivered:
        return Seen(Verdict.BREAKS, "it returns and isn't marked as redelivered")
    talk.say(1, spec.BasicReject(again.content.delivery_tag, False))
    left = talk.get(queue)
    return judged(left is None, "gone" if left is None else "it stays")


@SUITE.on_a_channel(
    "domain/redelivered.signal",
    "should",
    "A message that was delivered before is marked as redelivered.",
    "redelivered=false, then true",
)
def _redelivered(talk: Talk) -> Seen:
    queue = talk.filled()
    first = talk.get(queue, no_ack=False)
    if first is None:
        return Seen(Verdict.BREAKS, "no message")
    talk.say(1, spec.BasicReject(first.content.delivery_tag, True))
    talk.counts(queue, 1)
    again = talk.get(queue)
    flags = (first.content.redelivered, None if again is None else again.content.redelivered)
    return judged(flags == (False, True), f"{flags[0]}, then {flags[1]}")


@SUITE.on_a_channel(
    "basic.recover/redelivered",
    "must",
    "Recovered messages are marked as redelivered.",
    "basic.recover-ok, and the message again",
)
def _recover(talk: Talk) -> Seen:
    queue = talk.declare(exclusive=True)
    talk.publish(routing_key=queue)
    talk.call(spec.BasicConsume(queue))
    if not _deliveries(talk, 1):
        return Seen(Verdict.BREAKS, "no message")
    answer = talk.answers_to(spec.BasicRecover(True))
    if answer.verdict is not Verdict.CONFORMS:
        return answer
    again = _deliveries(talk, 1)
    fine = bool(again) and again[0].content.redelivered
    return judged(fine, "redelivered" if fine else "not redelivered, or no message")


@SUITE.on_a_channel(
    "basic.recover/requeue",
    "note",
    "Without requeue, recovered messages go to their original recipient.",
    "basic.recover-ok, and the message again",
    variant="to-the-same",
)
def _recover_same(talk: Talk) -> Seen:
    queue = talk.declare(exclusive=True)
    talk.publish(routing_key=queue)
    talk.call(spec.BasicConsume(queue))
    if not _deliveries(talk, 1):
        return Seen(Verdict.BREAKS, "no message")
    talk.say(1, spec.BasicRecover(False))
    unit = talk.wait(("basic.recover-ok", "basic.deliver"), 1)
    if unit is None or unit.event.endswith(".close"):
        return talk.silence() if unit is None else Seen(Verdict.BREAKS, talk.described(unit))
    return Seen(Verdict.CONFORMS, talk.described(unit))


@SUITE.on_a_channel(
    "basic.cancel/in-flight",
    "note",
    "Deliveries may be on their way when a consumer is cancelled; basic.cancel-ok ends them.",
    "no delivery after basic.cancel-ok",
)
def _cancel(talk: Talk) -> Seen:
    queue = talk.declare(exclusive=True)
    tag = talk.call(spec.BasicConsume(queue, no_ack=True)).consumer_tag
    talk.call(spec.BasicCancel(tag))
    talk.publish(routing_key=queue)
    late = talk.quiet("basic.deliver")
    return judged(late is None, "none" if late is None else "a delivery")


@SUITE.on_a_channel(
    "rabbitmq/basic.cancel.notify",
    "note",
    "A client that can be told is told when the queue of its consumer is deleted.",
    "basic.cancel",
    needs=("consumer-cancel-notify",),
)
def _notify(talk: Talk) -> Seen:
    talk.channel(2)
    queue = talk.declare(exclusive=True)
    talk.call(spec.BasicConsume(queue))
    talk.call(spec.QueueDelete(queue), 2)
    return talk.answers("basic.cancel")
