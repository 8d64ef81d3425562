"""What a channel remembers of the methods that passed: open calls, consumers, deliveries, confirms.

One `ChannelState` describes both ends of a channel, so client, server and observer keep the same books.
Every function here checks first and changes afterwards: a refused method leaves no trace.
Sections of 0-9-1: 1.8 (basic), 1.9 (tx); RabbitMQ's confirms are its own extension.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

from ..errors import Scope
from .states import Channel as State
from .states import Content, Mode
from .violation import NOT_ALLOWED, RESOURCE_ERROR, Violation

if TYPE_CHECKING:
    from ..limits import Limits
    from .method import Method
    from .violation import Codes


class Pending:
    """A request without its reply; `token` is what the door keeps beside it (a handle, a row number)."""

    __slots__ = ("request", "token")

    def __init__(self, request: Method, token: Any) -> None:
        self.request = request
        self.token = token

    def __getstate__(self) -> tuple[object, ...]:
        return self.request, self.token

    def __setstate__(self, state: tuple[Method, Any]) -> None:
        self.request, self.token = state


class ContentState:
    """Content under way: what began it and how much of it came."""

    __slots__ = (
        "answered",
        "counted",
        "method",
        "parts",
        "properties",
        "received",
        "size",
        "state",
        "streaming",
        "token",
    )

    def __init__(self, method: Method, answered: Pending | None, token: Any) -> None:
        self.state = Content.HEADER
        self.method = method
        self.answered = answered
        self.token = token
        self.size = 0
        self.received = 0
        self.properties = b""
        self.parts: list[bytes] = []
        self.counted = 0
        self.streaming = False


class ChannelState:
    """Both ends of one channel.

    `client_calls`/`server_calls`: requests that this side sent and the other has not answered. `consumers`: consumer tag -> whether it
    consumes without acknowledgement. `unsettled`: delivery tag -> token. `unconfirmed`: publish number -> token.
    `assumed` marks a channel that was open before the observation began: what is unknown there is no error.
    """

    __slots__ = (
        "assumed",
        "client_calls",
        "client_content",
        "client_stopped",
        "consumers",
        "last_tag",
        "mode",
        "number",
        "publish_count",
        "server_calls",
        "server_content",
        "server_stopped",
        "state",
        "tx_settled",
        "unconfirmed",
        "unsettled",
    )

    def __init__(self, number: int) -> None:
        self.number = number
        self.state = State.CLOSED
        self.mode = Mode.NORMAL
        self.assumed = False
        self.client_calls: deque[Pending] | None = None
        self.server_calls: deque[Pending] | None = None
        self.client_content: ContentState | None = None
        self.server_content: ContentState | None = None
        self.client_stopped = False
        self.server_stopped = False
        self.consumers: dict[str, bool] = {}
        self.unsettled: dict[int, Any] = {}
        self.last_tag = 0
        self.tx_settled: dict[int, Any] | None = None
        self.publish_count = 0
        self.unconfirmed: dict[int, Any] = {}

    def calls(self, client: bool) -> deque[Pending] | None:
        """The open calls of the client, or of the server."""
        return self.client_calls if client else self.server_calls

    def find_call(
        self, client: bool, reply: Method, replies: Mapping[int, tuple[type[Method], ...]]
    ) -> Pending | None:
        """The oldest open call of that side which `reply` answers, by the dialect's `replies`."""
        calls = self.client_calls if client else self.server_calls
        if calls:
            kind = type(reply)
            for pending in calls:
                if kind in replies[pending.request.ID]:
                    return pending
        return None

    def end_call(self, client: bool, pending: Pending) -> None:
        """Forget an answered call."""
        calls = self.client_calls if client else self.server_calls
        if calls is None:
            return
        if calls[0] is pending:
            calls.popleft()
        else:
            calls.remove(pending)
        if not calls:
            if client:
                self.client_calls = None
            else:
                self.server_calls = None

    def add_call(self, client: bool, pending: Pending) -> None:
        """Remember a call that waits for its reply."""
        calls = self.client_calls if client else self.server_calls
        if calls is None:
            calls = deque()
            if client:
                self.client_calls = calls
            else:
                self.server_calls = calls
        calls.append(pending)


class Step:
    """One method on its way into a channel's books, and what came of it.

    `settled` has the (number, token) pairs that this method settled; `positive` whether they were accepted.
    """

    __slots__ = (
        "answered",
        "channel",
        "client",
        "codes",
        "limits",
        "method",
        "positive",
        "replied",
        "settled",
        "token",
    )

    def __init__(
        self,
        channel: ChannelState,
        client: bool,
        method: Method,
        answered: Pending | None,
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
        self.positive = True
        self.replied = False


def add_delivery(channel: ChannelState, tag: int, token: Any, limits: Limits, no_ack: bool) -> None:
    """Remember a delivery that the server sends. Raises Violation for tag 0, a tag still open, and above the limit."""
    if tag == 0:
        raise Violation(
            NOT_ALLOWED, "delivery tag 0 was assigned to a delivery", rule="domain/delivery-tag.nonzero"
        )
    unsettled = channel.unsettled
    if not no_ack:
        if tag in unsettled:
            raise Violation(
                NOT_ALLOWED,
                f"delivery tag {tag} is given again while it waits for settlement",
                rule="domain/delivery-tag.channel-scope",
            )
        if len(unsettled) >= limits.unsettled:
            raise Violation(
                RESOURCE_ERROR,
                f"{len(unsettled)} deliveries wait for settlement, Limits.unsettled allows no more",
                scope=Scope.CHANNEL,
            )
        unsettled[tag] = token
    channel.last_tag = tag


def _settle(step: Step, tag: int, multiple: bool) -> None:
    """Take deliveries out of the books: the one with `tag`, or all up to it (0: all)."""
    channel = step.channel
    unsettled = channel.unsettled
    if multiple:
        if tag and tag not in unsettled and not channel.assumed and tag > channel.last_tag:
            raise _unknown_tag(step, tag)
        settled = [item for item in unsettled.items() if not tag or item[0] <= tag]
        if not settled and tag and not channel.assumed:
            raise _unknown_tag(step, tag)
        for number, _ in settled:
            del unsettled[number]
    elif tag in unsettled:
        settled = [(tag, unsettled.pop(tag))]
    elif channel.assumed:
        settled = []
    else:
        raise _unknown_tag(step, tag)
    if channel.mode is Mode.TRANSACTED:
        channel.tx_settled = {**(channel.tx_settled or {}), **dict(settled)}
    step.settled = settled


def _unknown_tag(step: Step, tag: int) -> Violation:
    return Violation(
        step.codes.unknown_tag,
        f"{step.method.NAME}: no delivery with tag {tag} is open on channel {step.channel.number}; "
        "acknowledge once only, and on the channel of the delivery",
        rule="basic.ack/unknown-tag",
        scope=Scope.CHANNEL,
    )


def _confirm(step: Step, tag: int, multiple: bool) -> None:
    """Take publishes out of the books that the server confirms (RabbitMQ's publisher confirms)."""
    channel = step.channel
    unconfirmed = channel.unconfirmed
    if multiple:
        settled = []
        for item in unconfirmed.items():
            if tag and item[0] > tag:
                break
            settled.append(item)
        if not settled and tag > channel.publish_count and not channel.assumed:
            raise _unknown_confirm(step, tag)
        for number, _ in settled:
            del unconfirmed[number]
    elif tag in unconfirmed:
        settled = [(tag, unconfirmed.pop(tag))]
    elif channel.assumed:
        settled = []
    else:
        raise _unknown_confirm(step, tag)
    step.settled = settled


def _unknown_confirm(step: Step, tag: int) -> Violation:
    return Violation(
        step.codes.unknown_tag,
        f"{step.method.NAME}: publish {tag} is not waiting for a confirm on channel {step.channel.number}",
        rule="rabbitmq/basic.ack.exists",
        scope=Scope.CHANNEL,
    )


def _ack(step: Step) -> None:
    if step.client:
        _settle(step, step.method.delivery_tag, step.method.multiple)
    else:
        _confirm(step, step.method.delivery_tag, step.method.multiple)


def _nack(step: Step) -> None:
    _ack(step)
    step.positive = False


def _reject(step: Step) -> None:
    _settle(step, step.method.delivery_tag, False)
    step.positive = False


def _consume(step: Step) -> None:
    channel, tag = step.channel, step.method.consumer_tag
    pending = any(
        call.request.NAME == step.method.NAME and call.request.consumer_tag == tag  # type: ignore[attr-defined]
        for call in channel.client_calls or ()
    )
    if tag and (pending or tag in channel.consumers):
        raise Violation(
            NOT_ALLOWED,
            f"consumer tag {tag!r} is in use on channel {channel.number}; cancel it first or take another",
            rule="basic.consume/tag-in-use",
        )
    if len(channel.consumers) >= step.limits.consumers:
        raise Violation(
            RESOURCE_ERROR,
            f"channel {channel.number} has {len(channel.consumers)} consumers, Limits.consumers allows no more",
            scope=Scope.CHANNEL,
        )
    if step.method.no_wait:
        channel.consumers[tag] = _without_ack(step.method)


def _consume_ok(step: Step) -> None:
    step.channel.consumers[step.method.consumer_tag] = _without_ack(step.answered.request)


def _without_ack(request: Any) -> bool:
    """Whether a consumer gets deliveries that need no settlement; stream consumers (0-8) always do."""
    return bool(getattr(request, "no_ack", True))


def _cancel(step: Step) -> None:
    if not step.client:
        step.channel.consumers.pop(step.method.consumer_tag, None)


def _cancel_ok(step: Step) -> None:
    if not step.client:
        step.channel.consumers.pop(step.answered.request.consumer_tag, None)


def _deliver(step: Step) -> None:
    channel = step.channel
    no_ack = channel.consumers.get(step.method.consumer_tag)
    if no_ack is None:
        if not channel.assumed:
            raise Violation(
                NOT_ALLOWED,
                f"delivery for consumer tag {step.method.consumer_tag!r}, which channel {channel.number} doesn't have",
                rule="domain/consumer-tag.channel-scope",
            )
        no_ack = False
    add_delivery(channel, step.method.delivery_tag, step.token, step.limits, no_ack)


def _get_ok(step: Step) -> None:
    no_ack = step.answered.request.no_ack if step.answered is not None else False
    add_delivery(step.channel, step.method.delivery_tag, step.token, step.limits, no_ack)


def _publish(step: Step) -> None:
    channel = step.channel
    if channel.mode is Mode.CONFIRM:
        if len(channel.unconfirmed) >= step.limits.unconfirmed:
            raise Violation(
                RESOURCE_ERROR,
                f"{len(channel.unconfirmed)} publishes wait for a confirm, Limits.unconfirmed allows no more",
                scope=Scope.CHANNEL,
            )
        channel.publish_count += 1
        channel.unconfirmed[channel.publish_count] = step.token


def _forget_deliveries(step: Step) -> None:
    step.channel.unsettled.clear()


def _recover_async(step: Step) -> None:
    if not step.replied:
        step.channel.unsettled.clear()


def _committed(step: Step) -> None:
    step.channel.tx_settled = None


def _rolled_back(step: Step) -> None:
    channel = step.channel
    if channel.tx_settled:
        channel.unsettled = dict(sorted({**channel.unsettled, **channel.tx_settled}.items()))
        channel.tx_settled = None


def _flow_ok(step: Step) -> None:
    if step.client:
        step.channel.client_stopped = not step.method.active
    else:
        step.channel.server_stopped = not step.method.active


BOOKS: Final[dict[str, Callable[[Step], None]]] = {
    "file.ack": _ack,
    "file.reject": _reject,
    "file.consume": _consume,
    "file.consume-ok": _consume_ok,
    "file.cancel": _cancel,
    "file.cancel-ok": _cancel_ok,
    "file.deliver": _deliver,
    "stream.consume": _consume,
    "stream.consume-ok": _consume_ok,
    "stream.cancel": _cancel,
    "stream.cancel-ok": _cancel_ok,
    "stream.deliver": _deliver,
    "basic.ack": _ack,
    "basic.nack": _nack,
    "basic.reject": _reject,
    "basic.consume": _consume,
    "basic.consume-ok": _consume_ok,
    "basic.cancel": _cancel,
    "basic.cancel-ok": _cancel_ok,
    "basic.deliver": _deliver,
    "basic.get-ok": _get_ok,
    "basic.publish": _publish,
    "basic.recover": _recover_async,
    "basic.recover-async": _recover_async,
    "basic.recover-ok": _forget_deliveries,
    "tx.commit-ok": _committed,
    "tx.rollback-ok": _rolled_back,
    "channel.flow-ok": _flow_ok,
}
"""The bookkeeping of each method that has one."""
