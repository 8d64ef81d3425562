"""A channel's memory of the methods that passed: open calls, consumers, deliveries, confirms.

One `ChannelState` describes both ends of a channel, so client, server and observer keep the same books.
Every function here checks first and changes afterwards: a refused method leaves no trace.
Sections of 0-9-1: 1.8 (basic), 1.9 (tx); RabbitMQ's confirms are its own extension.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

from ...errors import Scope
from ...events import Accepted, Rejected, Released
from ..codec.violation import FRAME_ERROR, NOT_ALLOWED, RESOURCE_ERROR, SYNTAX_ERROR, Violation, too_many
from .states import Channel as State
from .states import Content, Mode

if TYPE_CHECKING:
    from ...limits import Limits
    from ..codec.method import Method
    from ..codec.violation import Codes

ACCEPTED: Final = Accepted()
REJECTED: Final = Rejected()
RELEASED: Final = Released()

Outcome = Accepted | Rejected | Released

FREE: Final = 256
"""Deliveries that one method may settle in a transaction, whatever methods before have settled."""
EACH: Final = 8
"""Times that each delivery pays for being settled in a transaction that may be rolled back."""
_CANCELLED: Final = 1024
"""Consumers cancelled without waiting that are remembered, since deliveries for them may be on the way."""


class Call:
    """A request without its reply; `token` is what the door keeps beside it (a pending, a row number).

    `remaining` is how many octets the content of the reply must have, None when that isn't settled.
    """

    __slots__ = ("remaining", "request", "token")

    def __init__(self, request: Method, token: Any, remaining: int | None = None) -> None:
        self.request = request
        self.token = token
        self.remaining = remaining


class ContentState:
    """Content under way: what began it and how much of it came. `crc` is the checksum of a body sent in pieces."""

    __slots__ = (
        "answered", "counted", "crc", "method", "parts", "properties", "received", "size", "state", "streaming",
        "token",
    )  # fmt: skip

    def __init__(self, method: Method, answered: Call | None, token: Any) -> None:
        self.state = Content.HEADER
        self.method = method
        self.answered = answered
        self.token = token
        self.size = 0
        self.received = 0
        self.properties = b""
        self.parts: list[bytes | bytearray] = []
        self.counted = self.crc = 0
        self.streaming = False


class ChannelState:
    """Both ends of one channel.

    `client_calls`/`server_calls`: requests that this side sent and the other has not answered. `consumers`: consumer
    tag -> whether it consumes without acknowledgement; `cancelled`: those cancelled without waiting. `unsettled`:
    delivery tag -> token, those that a rollback has opened again last, and every tag up to `settled_to` is settled;
    `tx_settled`: what a transaction settles when it commits, delivery tag -> (token, outcome). `unconfirmed`: publish
    number -> token, and every number up to `confirmed_to` is confirmed. `declared`: whether a queue was declared,
    which an empty queue name then means. `tickets`: access tickets granted (0-8), with their rights. `assumed` marks a
    channel that was open before the observation began: what is unknown there is no error. `allowance`: steps that the
    deliveries up to tag `counted` still pay for, in transactions that may be rolled back; None where they aren't
    counted.
    """

    __slots__ = (
        "allowance", "assumed", "cancelled", "client_calls", "client_content", "client_stopped", "confirmed_to",
        "consumers", "counted", "declared", "last_tag", "mode", "number", "publish_count", "server_calls",
        "server_content", "server_stopped", "settled_to", "state", "tickets", "tx_settled", "unconfirmed",
        "unsettled",
    )  # fmt: skip

    def __init__(self, number: int) -> None:
        self.number = number
        self.state = State.CLOSED
        self.mode = Mode.NORMAL
        self.assumed = False
        self.declared = False
        self.tickets: dict[int, tuple[str, ...]] | None = None
        self.client_calls: deque[Call] | None = None
        self.server_calls: deque[Call] | None = None
        self.client_content: ContentState | None = None
        self.server_content: ContentState | None = None
        self.client_stopped = False
        self.server_stopped = False
        self.consumers: dict[str, bool] = {}
        self.cancelled: dict[str, bool] | None = None
        self.unsettled: dict[int, Any] = {}
        self.last_tag = self.settled_to = self.counted = 0
        self.allowance: int | None = None
        self.tx_settled: dict[int, tuple[Any, Outcome]] | None = None
        self.publish_count = self.confirmed_to = 0
        self.unconfirmed: dict[int, Any] = {}

    def calls(self, client: bool) -> deque[Call] | None:
        """The open calls of the client, or of the server."""
        return self.client_calls if client else self.server_calls

    def content(self, client: bool) -> ContentState | None:
        """The content that the client, or the server, has under way."""
        return self.client_content if client else self.server_content

    def set_content(self, client: bool, content: ContentState | None) -> None:
        """Set the content that the client, or the server, has under way."""
        if client:
            self.client_content = content
        else:
            self.server_content = content

    def find_call(self, client: bool, reply: Method, replies: Mapping[int, tuple[type[Method], ...]]) -> Call | None:
        """The oldest open call of that side which `reply` answers, by the dialect's `replies`."""
        kind = type(reply)
        for pending in self.calls(client) or ():
            if kind in replies[pending.request.ID]:
                return pending
        return None

    def end_call(self, client: bool, pending: Call) -> None:
        """Forget an answered call."""
        calls = self.calls(client)
        if calls is None:
            return
        calls.remove(pending)
        if not calls:
            if client:
                self.client_calls = None
            else:
                self.server_calls = None

    def add_call(self, client: bool, pending: Call, *, first: bool = False) -> None:
        """Remember a call that waits for its reply; `first`, when its reply came but was cut short."""
        calls: deque[Call] | None = self.calls(client)
        if calls is None:
            calls = deque()
            if client:
                self.client_calls = calls
            else:
                self.server_calls = calls
        if first:
            calls.appendleft(pending)
        else:
            calls.append(pending)


class Step:
    """One method on its way into a channel's books, and what came of it.

    `settled` has the (number, token) pairs that this method settled, and `outcome` how. `committed` has the
    (number, token, outcome) triples that a transaction settled.
    """

    __slots__ = (
        "answered", "channel", "client", "codes", "committed", "limits", "method", "outcome", "remaining", "replied",
        "settled", "size", "token",
    )  # fmt: skip

    def __init__(
        self,
        channel: ChannelState,
        client: bool,
        method: Method,
        answered: Call | None,
        token: Any,
        codes: Codes,
        limits: Limits,
    ) -> None:
        self.channel = channel
        self.client = client
        self.method: Any = method
        self.answered: Any = answered
        self.token = token
        self.codes = codes
        self.limits = limits
        self.settled: list[tuple[int, Any]] = []
        self.committed: list[tuple[int, Any, Outcome]] = []
        self.outcome: Outcome = ACCEPTED
        self.replied = False
        self.size: int | None = None
        self.remaining: int | None = None


def add_delivery(channel: ChannelState, tag: int, token: Any, limits: Limits, no_ack: bool) -> None:
    """Remember a delivery that the server sends. Raises Violation for tag 0, a tag still open, and above the limit."""
    if tag == 0:
        raise Violation(NOT_ALLOWED, "delivery tag 0 was assigned to a delivery", rule="domain/delivery-tag.nonzero")
    unsettled = channel.unsettled
    if not no_ack:
        if tag in unsettled:
            text = f"delivery tag {tag} is given again while it waits for settlement"
            raise Violation(NOT_ALLOWED, text, rule="domain/delivery-tag.channel-scope")
        if len(unsettled) >= limits.unsettled:
            raise too_many(f"{len(unsettled)} deliveries wait for settlement", "unsettled")
        unsettled[tag] = token
        if tag <= channel.settled_to:
            channel.settled_to = tag - 1
    channel.last_tag = tag


def _settle(step: Step, tag: int, multiple: bool, outcome: Outcome) -> None:
    """Take deliveries out of the books: the one with `tag`, or all up to it (0: all).

    In a transaction they are settled when it commits.
    """
    channel = step.channel
    unsettled = channel.unsettled
    if multiple:
        if tag and tag not in unsettled and not channel.assumed and tag > channel.last_tag:
            raise _unknown_tag(step, tag)
        if channel.allowance is not None and channel.mode is Mode.TRANSACTED:
            _check_paid(step, tag, channel.allowance)
        settled = take_up_to(unsettled, channel.settled_to, tag)
        if not settled and tag and not channel.assumed:
            raise _unknown_tag(step, tag)
        channel.settled_to = max(tag, channel.settled_to) if tag else channel.last_tag
    elif tag in unsettled:
        settled = [(tag, unsettled.pop(tag))]
    elif channel.assumed:
        settled = []
    else:
        raise _unknown_tag(step, tag)
    step.outcome = outcome
    if channel.mode is not Mode.TRANSACTED:
        step.settled = settled
    elif settled:
        if channel.tx_settled is None:
            channel.tx_settled = {}
        channel.tx_settled.update([(number, (token, outcome)) for number, token in settled])


def _check_paid(step: Step, tag: int, allowance: int) -> None:
    """Raise Violation when nothing is left that pays for settling deliveries up to `tag` once more.

    A rollback opens what a transaction has settled again (0-9-1 section 1.9), so a client could have a step for each
    delivery for the octets of two methods, again and again.
    """
    channel = step.channel
    open_now = len(channel.unsettled)
    steps = min(tag - channel.settled_to, open_now) if tag else open_now
    if steps <= FREE:
        return
    earned = EACH * (channel.last_tag - channel.counted)
    # Deliveries that stay open can't need more, so it isn't saved for later.
    allowance = min(allowance + earned, EACH * (open_now + len(channel.tx_settled or ())))
    channel.counted = channel.last_tag
    channel.allowance = allowance
    if allowance < steps:
        text = (
            f"{step.method.NAME} of {steps} deliveries, settled in transactions and rolled back {EACH} times before; "
            f"commit or recover them, or settle at most {FREE} at a time"
        )
        raise Violation(RESOURCE_ERROR, text, scope=Scope.CHANNEL)
    channel.allowance = allowance - steps


def take_up_to(entries: dict[int, Any], after: int, last: int) -> list[tuple[int, Any]]:
    """Remove and return the entries up to number `last` (0: all); there are none up to `after`.

    They are returned in order. Numbers without gaps, as every broker gives them, cost time once each, however many
    entries stay.
    """
    if not last:
        taken = sorted(entries.items())
        entries.clear()
        return taken
    if last - after <= 2 * len(entries):
        return [(number, entries.pop(number)) for number in range(after + 1, last + 1) if number in entries]
    taken = sorted([item for item in entries.items() if item[0] <= last])
    for number, _ in taken:
        del entries[number]
    return taken


def _unknown_tag(step: Step, tag: int) -> Violation:
    text = (
        f"{step.method.NAME}: no delivery with tag {tag} is open on channel {step.channel.number}; "
        "acknowledge once only, and on the channel of the delivery"
    )
    return Violation(step.codes.unknown_tag, text, rule="basic.ack/unknown-tag", scope=Scope.CHANNEL)


def _confirm(step: Step, tag: int, multiple: bool, outcome: Outcome) -> None:
    """Take publishes out of the books that the server confirms (RabbitMQ's publisher confirms)."""
    channel = step.channel
    unconfirmed = channel.unconfirmed
    if multiple:
        if tag > channel.publish_count and not channel.assumed:
            raise _unknown_confirm(step, tag)
        step.settled = take_up_to(unconfirmed, channel.confirmed_to, tag)
        channel.confirmed_to = max(tag or channel.publish_count, channel.confirmed_to)
    elif tag in unconfirmed:
        step.settled = [(tag, unconfirmed.pop(tag))]
    elif not channel.assumed:
        raise _unknown_confirm(step, tag)
    step.outcome = outcome


def _unknown_confirm(step: Step, tag: int) -> Violation:
    text = f"{step.method.NAME}: publish {tag} is not waiting for a confirm on channel {step.channel.number}"
    return Violation(step.codes.unknown_tag, text, rule="rabbitmq/basic.ack.exists", scope=Scope.CHANNEL)


def _ack(step: Step) -> None:
    settle = _settle if step.client else _confirm
    settle(step, step.method.delivery_tag, step.method.multiple, ACCEPTED)


def _nack(step: Step) -> None:
    """basic.nack, and reject, which is one without `multiple`."""
    method, multiple = step.method, getattr(step.method, "multiple", False)
    if step.client:
        _settle(step, method.delivery_tag, multiple, RELEASED if method.requeue else REJECTED)
    else:
        _confirm(step, method.delivery_tag, multiple, REJECTED)


def _declare(step: Step) -> None:
    step.channel.declared = True


def _current_queue(step: Step) -> None:
    """An empty queue name means the last queue declared on the channel."""
    if step.method.queue or step.channel.declared or step.channel.assumed:
        return
    name, number = step.method.NAME, step.channel.number
    text = f"{name} without a queue name on channel {number}, where no queue was declared"
    scope = Scope.CHANNEL if step.codes.no_queue < 500 else Scope.CONNECTION
    raise Violation(step.codes.no_queue, text, rule=f"{name}/no-current-queue", scope=scope)


def _open_ok(step: Step) -> None:
    """file.open-ok: the rest of the content, from the octet that is staged already, is to come."""
    total, staged = step.answered.request.content_size, step.method.staged_size
    if staged > total:
        text = f"file.open-ok: {staged} octets are staged of a content of {total}"
        raise Violation(SYNTAX_ERROR, text, rule="file.open-ok/offset")
    step.remaining = total - staged


def _stage(step: Step) -> None:
    if step.size is not None:
        check_staged(step.answered, step.size)


def check_staged(answered: Call | None, size: int) -> None:
    """Refuse content of another size than what it answers has settled. Raises Violation."""
    if answered is None or answered.remaining is None or answered.remaining == size:
        return
    staged: int = answered.request.staged_size  # type: ignore[attr-defined]
    text = f"file.stage with {size} octets, announced were {answered.remaining + staged} of which {staged} were staged"
    raise Violation(FRAME_ERROR, text, rule="file.open-ok/offset" if staged else "file.open/content-size")


def _consume(step: Step) -> None:
    _current_queue(step)
    channel, tag = step.channel, step.method.consumer_tag
    requests: list[Any] = [call.request for call in channel.client_calls or ()]
    asked_for = [each.consumer_tag for each in requests if each.NAME == step.method.NAME]
    if tag and (tag in channel.consumers or tag in asked_for):
        text = f"consumer tag {tag!r} is in use on channel {channel.number}; cancel it first or take another"
        raise Violation(NOT_ALLOWED, text, rule="basic.consume/tag-in-use")
    if len(channel.consumers) >= step.limits.consumers:
        raise too_many(f"channel {channel.number} has {len(channel.consumers)} consumers", "consumers")
    if step.method.no_wait:
        _add_consumer(channel, tag, step.method)


def _consume_ok(step: Step) -> None:
    _add_consumer(step.channel, step.method.consumer_tag, step.answered.request)


def _add_consumer(channel: ChannelState, tag: str, request: Any) -> None:
    # Stream consumers (0-8) get deliveries that need no settlement, always.
    channel.consumers[tag] = bool(getattr(request, "no_ack", True))
    if channel.cancelled is not None:
        channel.cancelled.pop(tag, None)


def _cancel(step: Step) -> None:
    channel, tag = step.channel, step.method.consumer_tag
    if not step.client:
        channel.consumers.pop(tag, None)
    elif step.method.no_wait and tag in channel.consumers:
        if channel.cancelled is None:
            channel.cancelled = {}
        elif len(channel.cancelled) >= _CANCELLED:
            del channel.cancelled[next(iter(channel.cancelled))]
        channel.cancelled[tag] = channel.consumers.pop(tag)


def _cancel_ok(step: Step) -> None:
    if not step.client:
        step.channel.consumers.pop(step.answered.request.consumer_tag, None)


def _deliver(step: Step) -> None:
    channel = step.channel
    no_ack = _consumes_without_ack(channel, step.method.consumer_tag)
    if no_ack is None:
        if not channel.assumed:
            tag: str = step.method.consumer_tag
            text = f"delivery for consumer tag {tag!r}, which channel {channel.number} doesn't have"
            raise Violation(NOT_ALLOWED, text, rule="domain/consumer-tag.channel-scope")
        no_ack = False
    add_delivery(channel, step.method.delivery_tag, step.token, step.limits, no_ack)


def _consumes_without_ack(channel: ChannelState, tag: str) -> bool | None:
    """Whether a consumer needs no acknowledgement; None when there is no such consumer."""
    found = channel.consumers.get(tag)
    if found is None and channel.cancelled is not None:
        found = channel.cancelled.get(tag)
    # A client that leaves the tag to the server and wants no reply learns the tag from the deliveries.
    return channel.consumers.get("") if found is None else found


def _get_ok(step: Step) -> None:
    no_ack = step.answered.request.no_ack if step.answered is not None else False
    add_delivery(step.channel, step.method.delivery_tag, step.token, step.limits, no_ack)


def _publish(step: Step) -> None:
    channel = step.channel
    if channel.mode is Mode.CONFIRM:
        if len(channel.unconfirmed) >= step.limits.unconfirmed:
            raise too_many(f"{len(channel.unconfirmed)} publishes wait for a confirm", "unconfirmed")
        channel.publish_count += 1
        channel.unconfirmed[channel.publish_count] = step.token


def _recovered(step: Step) -> None:
    channel = step.channel
    step.settled = take_up_to(channel.unsettled, channel.settled_to, 0)
    step.outcome = RELEASED
    channel.settled_to = channel.last_tag


def _recover(step: Step) -> None:
    if not step.replied:
        _recovered(step)


def _committed(step: Step) -> None:
    channel = step.channel
    if channel.tx_settled:
        step.committed = [(tag, *settled) for tag, settled in channel.tx_settled.items()]
        channel.tx_settled = None


def _rolled_back(step: Step) -> None:
    channel = step.channel
    if channel.tx_settled:
        reopen(channel, channel.tx_settled)
        channel.tx_settled = None


def reopen(channel: ChannelState, retired: Mapping[int, tuple[Any, Outcome]]) -> None:
    """Deliveries that a transaction was to settle are open again."""
    channel.unsettled.update({tag: token for tag, (token, _) in retired.items()})
    channel.settled_to = min(channel.settled_to, min(retired) - 1)


def _flow_ok(step: Step) -> None:
    if step.client:
        step.channel.client_stopped = not step.method.active
    else:
        step.channel.server_stopped = not step.method.active


BOOKS: Final[dict[str, Callable[[Step], None]]] = {
    "queue.declare": _declare,
    **dict.fromkeys(("queue.bind", "queue.unbind", "queue.purge", "queue.delete", "basic.get"), _current_queue),
    **{
        f"{name}.{verb}": books
        for name in ("basic", "file", "stream")
        for verb, books in (
            ("consume", _consume),
            ("consume-ok", _consume_ok),
            ("cancel", _cancel),
            ("cancel-ok", _cancel_ok),
            ("deliver", _deliver),
        )
    },
    "file.open-ok": _open_ok,
    "file.stage": _stage,
    "file.ack": _ack,
    "file.reject": _nack,
    "basic.ack": _ack,
    "basic.nack": _nack,
    "basic.reject": _nack,
    "basic.get-ok": _get_ok,
    "basic.publish": _publish,
    "basic.recover": _recover,
    "basic.recover-async": _recover,
    "basic.recover-ok": _recovered,
    "tx.commit-ok": _committed,
    "tx.rollback-ok": _rolled_back,
    "channel.flow-ok": _flow_ok,
}
"""The bookkeeping of each method that has one."""
