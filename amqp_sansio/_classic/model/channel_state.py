"""A channel's memory of the methods that passed: open calls, consumers, deliveries, confirms.

One `ChannelState` describes both ends of a channel, so client, server and observer keep the same books. This module
owns what a channel remembers; nothing outside `model` assigns any of it. `ConnectionModel.step` leads a method here
when the state tables have taken it, and calls its function of `BOOKS`. Every function checks first and changes
afterwards: a refused method leaves no trace.

The methods `take_usual_...` of `ChannelState` are the same rules for the methods of which a busy channel has nearly
nothing but: basic.deliver, publish and ack (0-9-1 sections 1.8.3.3, 1.8.3.7 and 1.8.3.13). They may be called at any
time, without `step`, for a connection that is open. Either they do what `step` does, or they change nothing and say so;
then the caller goes by `step`, which alone says what is wrong.

Between two calls, as `check` of each class says:

- every key of `unsettled` is above `settled_to`, and every key of `unconfirmed` above `_confirmed_to` up to
  `publish_count`; `last_tag` may be below both, where a server counts anew;
- `tx_settled` has tags only in a transaction, and none of them is in `unsettled`, unless its number was given again;
- publishes wait for confirms only in confirm mode;
- content is under way (`client_content`, `server_content`) between a method that carries it and its last octet:
  `received` is below `size` then, and `parts` have no more than that;
- each call has one place, those of one method stand in the order of their places, and `_tags` counts who asks for each
  tag; a side without calls has no `Calls`;
- what `Limits` bounds is within them: calls, but for one whose reply was cut, and publishes that wait.

Sections of 0-9-1: 1.8 (basic), 1.9 (tx); RabbitMQ's confirms are its own extension.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from zlib import crc32

from ..._checking import TYPE_CHECKING, Any
from ..._ground.invariants import ensure
from ...errors import Scope
from ...events import Accepted, Rejected, Released
from ..codec.violation import FRAME_ERROR, NOT_ALLOWED, RESOURCE_ERROR, SYNTAX_ERROR, Violation, codes_of, too_many
from .states import CONTENT, Content, ContentInput, Mode
from .states import Channel as State

if TYPE_CHECKING:
    from typing import Final

    from ...limits import Limits
    from ...versions import Version
    from ..codec.method import Method

ACCEPTED: Final = Accepted()
REJECTED: Final = Rejected()
RELEASED: Final = Released()

Outcome = Accepted | Rejected | Released
Retired = dict[int, tuple[Any, Outcome]]
"""Deliveries that a transaction settles when it's committed: by tag, token and outcome."""

FREE: Final = 256
"""Deliveries that one method may settle in a transaction, whatever methods before have settled."""
EACH: Final = 8
"""Times that each delivery pays for being settled in a transaction that may be rolled back."""
_LOOKED_AT: Final = 64
"""Most channels that are looked at for a delivery tag which the named one doesn't have."""
_NONE: Final[Mapping[int, ChannelState]] = {}
_CANCELLED: Final = 1024
"""Consumers cancelled without waiting that are remembered, since deliveries for them may be on the way."""
_SMALL_PIECE: Final = 1024
"""Pieces of a body with fewer octets are collected."""
UNUSUAL: Final = object()
"""What `take_usual_ack` and `take_usual_confirm` return when they leave a method to `step`; never a token."""
# A member of an enumeration takes longer to get from its class than all else that a check of it does.
_OPEN: Final = State.OPEN
_CONFIRMING: Final = Mode.CONFIRM
_TRANSACTED: Final = Mode.TRANSACTED
_HEADER: Final = ContentInput.HEADER
_EMPTY_HEADER: Final = ContentInput.EMPTY_HEADER


class Call:
    """A request without its reply."""

    __slots__ = ("remaining", "request", "token")

    def __init__(self, request: Method, token: Any, remaining: int | None = None) -> None:
        # What was asked; its class says what may answer it. `keep` may replace it by a smaller one.
        self.request = request
        # What the caller keeps beside it: an endpoint its pending, an observer the number of the request's unit.
        # None until that is known (`Calls.name_newest`).
        self.token = token
        # The octets that the content of the reply must have (file.open-ok); None when that isn't settled.
        self.remaining = remaining

    def keep(self, request: Method) -> None:
        """Keep this instead of the request, whose large arguments aren't needed to judge its reply."""
        self.request = request


class Calls:
    """The open requests of one side of a channel, oldest first.

    They are found by what answers them, and by the consumer tag that they ask for, without looking at the others: a
    side may have thousands of them open. Iteration is in the order in which they were sent.
    """

    __slots__ = ("_by_request", "_next", "_numbers", "_previous", "_tags")

    def __init__(self) -> None:
        # The calls by the number of their method, oldest first.
        self._by_request: dict[int, deque[Call]] = {}
        # The place of each call in the order of all.
        self._numbers: dict[Call, int] = {}
        # The next place behind all others, and the next one before them.
        self._next = 0
        self._previous = -1
        # How often each consumer tag is asked for, by the method that asks.
        self._tags: dict[tuple[int, str], int] = {}

    def __len__(self) -> int:
        return len(self._numbers)

    def __iter__(self) -> Iterator[Call]:
        return iter(sorted(self._numbers, key=self._numbers.__getitem__))

    @property
    def oldest(self) -> Call:
        """The one that was sent first. Raises ValueError if there is none."""
        return min([waiting[0] for waiting in self._by_request.values()], key=self._numbers.__getitem__)

    @property
    def newest(self) -> Call:
        """The one that was sent last. Raises ValueError if there is none."""
        return max([waiting[-1] for waiting in self._by_request.values()], key=self._numbers.__getitem__)

    def name_newest(self, token: object) -> None:
        """Give the newest one its token, if it was sent before the token was known."""
        newest = self.newest
        if newest.token is None:
            newest.token = token

    def add(self, call: Call, *, first: bool = False) -> None:
        """Add the newest one; with `first` the oldest."""
        waiting = self._by_request.setdefault(call.request.ID, deque())
        if first:
            self._numbers[call] = self._previous
            self._previous -= 1
            waiting.appendleft(call)
        else:
            self._numbers[call] = self._next
            self._next += 1
            waiting.append(call)
        key = _asked_tag(call.request)
        if key is not None:
            self._tags[key] = self._tags.get(key, 0) + 1

    def remove(self, call: Call) -> None:
        """Remove one that is here; the oldest of its method is found at once."""
        method_id = call.request.ID
        waiting = self._by_request[method_id]
        if waiting[0] is call:
            waiting.popleft()
        else:
            waiting.remove(call)
        if not waiting:
            del self._by_request[method_id]
        del self._numbers[call]
        key = _asked_tag(call.request)
        if key is not None:
            left = self._tags[key] - 1
            if left:
                self._tags[key] = left
            else:
                del self._tags[key]

    def answered_by(self, kind: type[Method], replies: Mapping[int, tuple[type[Method], ...]]) -> Call | None:
        """Return the oldest one that a reply of this kind answers, by the dialect's `replies`."""
        heads = [waiting[0] for method_id, waiting in self._by_request.items() if kind in replies[method_id]]
        return min(heads, key=self._numbers.__getitem__) if heads else None

    def has(self, request: Method) -> bool:
        """Whether this very request is open; the newest is found at once."""
        return any(each.request is request for each in reversed(self._by_request.get(request.ID, ())))

    def has_tag(self, method_id: int, tag: str) -> bool:
        """Whether one of this method asks for a consumer tag."""
        return (method_id, tag) in self._tags

    def has_method(self, method_id: int) -> bool:
        """Whether one of this method is open."""
        return method_id in self._by_request

    def check(self, where: str) -> None:
        """Check the module's invariants of the calls of one side, which `where` names. Raises AssertionError."""
        tags: dict[tuple[int, str], int] = {}
        waiting: list[Call] = []
        for method_id, calls in self._by_request.items():
            ensure(calls, where, "no method is kept without a call")
            places = [self._numbers.get(each) for each in calls]
            for each in calls:
                ensure(method_id == each.request.ID, where, "each call is kept under its method", each.request)
                key = _asked_tag(each.request)
                if key is not None:
                    tags[key] = tags.get(key, 0) + 1
            known = [each for each in places if each is not None]
            ensure(known == sorted(set(known)), where, "calls of one method are in the order of their places", places)
            waiting += calls
        ensure(set(waiting) == set(self._numbers), where, "each call has one place", len(waiting), len(self._numbers))
        ends = self._previous, self._next
        ensure(all([ends[0] < each < ends[1] for each in self._numbers.values()]), where, "places are given once", ends)
        ensure(self._tags == tags, where, "`_tags` counts the calls that ask for each consumer tag", self._tags, tags)


def _asked_tag(request: Method) -> tuple[int, str] | None:
    """The consumer tag that a request asks for, with its method."""
    tag: str | None = getattr(request, "consumer_tag", None)
    return None if tag is None else (request.ID, tag)


class ContentState:
    """Content under way: what began it and how much of it came (0-9-1 section 4.2.6)."""

    __slots__ = (
        "answered",
        "counted",
        "crc",
        "method",
        "parts",
        "properties",
        "received",
        "size",
        "state",
        "streaming",
        "token",
    )

    def __init__(self, method: Method, answered: Call | None, token: Any) -> None:
        # What comes next: the header, or a body frame. It changes by the table CONTENT.
        self.state = Content.HEADER
        # The method that carries the content.
        self.method = method
        # The call that this content answers, which is open again if the content is cut.
        self.answered = answered
        # As `Call.token`, of a message.
        self.token = token
        # Octets of the whole body, as the header says; 0 before it.
        self.size = 0
        # Octets of the body whose frames have passed.
        self.received = 0
        # The property flags and list of the header, as they came.
        self.properties = b""
        # What an endpoint keeps of the body until it is whole.
        self.parts: list[bytes | bytearray] = []
        # Octets that count in `ConnectionModel.bodies`: the whole body from its header on, 0 when it streams.
        self.counted = 0
        # CRC-32 of the body so far, where this end sends it in pieces; a return is known by it.
        self.crc = 0
        # Whether the body is handed on in pieces as it comes, so that nothing of it is kept.
        self.streaming = False

    def announce(self, size: int, properties: bytes, streaming: bool) -> None:
        """The header says how many octets the body has."""
        self.size = size
        self.properties = properties
        self.streaming = streaming
        self.counted = 0 if streaming else size
        self.state = CONTENT[self.state][_HEADER if size else _EMPTY_HEADER]

    def keep(self, piece: bytes) -> None:
        """Keep a piece of the body until the rest has come."""
        parts = self.parts
        if len(piece) >= _SMALL_PIECE:
            parts.append(piece)
        elif parts and isinstance(parts[-1], bytearray):
            # Each object costs tens of octets beside its own: small pieces share one.
            parts[-1] += piece
        elif piece:
            parts.append(bytearray(piece))

    def checksum(self, octets: bytes) -> None:
        """The next octets of a body that this end sends in pieces."""
        self.crc = crc32(octets, self.crc)

    def check(self, where: str) -> None:
        """Check the module's invariants of content under way, which `where` names. Raises AssertionError."""
        where = f"{where}, content of {self.method.NAME}"
        ensure(self.state is not Content.IDLE, where, "content is under way until its last octet")
        if self.state is Content.HEADER:
            counts = self.size, self.received, self.counted
            ensure(not any(counts), where, "nothing of a body counts before its header", *counts)
        else:
            ensure(self.received < self.size, where, "a body isn't whole yet", self.received, self.size)
        counted = 0 if self.streaming else self.size
        ensure(self.counted == counted, where, "a body counts as a whole, or not at all", self.counted, counted)
        kept = sum(map(len, self.parts))
        ensure(kept <= self.received, where, "no more of a body is kept than has come", kept, self.received)


class ChannelState:
    """Both ends of one channel. The module says which of its attributes belong together, and when that holds."""

    __slots__ = (
        "_confirmed_to",
        "allowance",
        "assumed",
        "cancelled",
        "client_calls",
        "client_content",
        "client_stopped",
        "consumers",
        "counted",
        "declared",
        "last_tag",
        "mode",
        "number",
        "publish_count",
        "server_calls",
        "server_content",
        "server_stopped",
        "settled_to",
        "state",
        "tickets",
        "tx_settled",
        "unconfirmed",
        "unsettled",
    )

    def __init__(self, number: int, state: State = State.CLOSED) -> None:
        # Fixed; 0 is the connection's own channel.
        self.number = number
        # A row of the table CHANNEL; `ConnectionModel.step` moves it. Of channel 0 nobody asks.
        self.state = state
        # A row of the table MODE; transactions and confirms exclude each other.
        self.mode = Mode.NORMAL
        # Whether the channel was open before anybody saw it: what is unknown there is no error. Observers only.
        self.assumed = False
        # Whether a queue was declared here, which an empty queue name then means (queue.bind and others).
        self.declared = False
        # 0-8, strict dialects: the access tickets that were granted, each with its rights. None before the first.
        self.tickets: dict[int, tuple[str, ...]] | None = None
        # Requests that the client, or the server, has sent and the other side hasn't answered; None for none.
        self.client_calls: Calls | None = None
        self.server_calls: Calls | None = None
        # What the client, or the server, has begun to send (4.2.6); None between messages.
        self.client_content: ContentState | None = None
        self.server_content: ContentState | None = None
        # Whether this side has agreed to send no content until the next channel.flow (channel.flow-ok).
        self.client_stopped = False
        self.server_stopped = False
        # By consumer tag, whether it consumes without acknowledgement. "" is one whose tag the server makes up and
        # whose client wanted no reply.
        self.consumers: dict[str, bool] = {}
        # The same of those cancelled without waiting, the latest `_CANCELLED`; None before the first.
        self.cancelled: dict[str, bool] | None = None
        # By delivery tag, the token of each delivery that waits for its settlement, in the order of their opening:
        # those that a rollback has opened again come last.
        self.unsettled: dict[int, Any] = {}
        # The tag of the latest delivery; a server goes on with the next one.
        self.last_tag = 0
        # No tag up to this one waits for its settlement. It falls when a lower one is opened again.
        self.settled_to = 0
        # The tag up to which deliveries have earned `allowance`.
        self.counted = 0
        # Steps that may still be taken to settle deliveries in transactions that may be rolled back (`_check_paid`);
        # None where they aren't counted, which is everywhere but at a server.
        self.allowance: int | None = None
        # What the transaction settles when it commits: by tag, token and outcome. None for nothing.
        self.tx_settled: Retired | None = None
        # The number of the latest publish in confirm mode, counted from 1 at confirm.select.
        self.publish_count = 0
        # No publish up to this number waits for its confirm.
        self._confirmed_to = 0
        # By number, the token of each publish that waits for its confirm, in the order of the publishes.
        self.unconfirmed: dict[int, Any] = {}

    # The usual methods of a connection that is open. Each is the function of BOOKS that it names, with the tables that
    # stand before that, for what is nearly always so; a test compares them.

    def take_usual_delivery(self, tag: int, consumer: str, token: object, most: int) -> bool:
        """Basic.deliver to a consumer, with its content, as `_deliver`; at most `most` may wait for settlement."""
        no_ack = self.consumers.get(consumer)
        if no_ack is None or self.state is not _OPEN or self.server_content is not None:
            return False
        if no_ack:
            if not tag:
                return False
        else:
            unsettled = self.unsettled
            if tag <= self.settled_to or tag in unsettled or len(unsettled) >= most:
                return False
            unsettled[tag] = token
        self.last_tag = tag
        return True

    def take_usual_deliveries(self, tags: list[int], consumer: str, token: object, most: int) -> int:
        """As `take_usual_delivery` for each tag in turn, up to the first one that isn't taken: how many are."""
        no_ack = self.consumers.get(consumer)
        if no_ack is None or self.state is not _OPEN or self.server_content is not None:
            return 0
        if no_ack:
            taken = tags.index(0) if 0 in tags else len(tags)
        else:
            taken = 0
            unsettled, settled_to = self.unsettled, self.settled_to
            for tag in tags:
                if tag <= settled_to or tag in unsettled or len(unsettled) >= most:
                    break
                unsettled[tag] = token
                taken += 1
        if taken:
            self.last_tag = tags[taken - 1]
        return taken

    def take_usual_publish(self, token: object, most: int) -> int | None:
        """Basic.publish with its content, as `_publish`: its number in confirm mode, else 0; None when it isn't taken.

        At most `most` may wait for their confirms.
        """
        if self.state is not _OPEN or self.client_content is not None:
            return None
        if self.mode is not _CONFIRMING:
            return 0
        unconfirmed = self.unconfirmed
        if len(unconfirmed) >= most:
            return None
        # As `add_publish`, without a call.
        number = self.publish_count + 1
        self.publish_count = number
        unconfirmed[number] = token
        return number

    def take_usual_ack(self, tag: int) -> Any:
        """Basic.ack by the client of one delivery, as `_settle`: its token, or UNUSUAL when it isn't taken."""
        if self.state is not _OPEN or self.client_content is not None or self.mode is _TRANSACTED:
            return UNUSUAL
        return self.unsettled.pop(tag, UNUSUAL)

    def take_usual_single_acks(self, tags: Iterable[int]) -> list[int]:
        """As `take_usual_ack` for each tag in turn, up to the first that isn't taken or has a token: those taken."""
        taken = list[int]()
        if not self._takes_usual_acks:
            return taken
        unsettled = self.unsettled
        for tag in tags:
            if unsettled.get(tag, UNUSUAL) is not None:
                break
            del unsettled[tag]
            taken.append(tag)
        return taken

    def take_usual_acks(self, tag: int) -> list[tuple[int, Any]] | None:
        """Basic.ack by the client of all deliveries up to one that is open: tags and tokens, or None."""
        return self.settle_to(tag) if tag in self.unsettled and self._takes_usual_acks else None

    @property
    def _takes_usual_acks(self) -> bool:
        # `take_usual_ack` says it again: a call for each one costs as much as all else that is done for it.
        return self.state is _OPEN and self.client_content is None and self.mode is not _TRANSACTED

    def take_usual_confirm(self, number: int) -> Any:
        """Basic.ack by the server of one publish, as `_confirm`: its token, or UNUSUAL when it isn't taken."""
        if self.state is not _OPEN or self.server_content is not None or self.mode is not _CONFIRMING:
            return UNUSUAL
        return self.unconfirmed.pop(number, UNUSUAL)

    def take_usual_single_confirms(self, numbers: Iterable[int]) -> list[object]:
        """As `take_usual_confirm` for each number in turn, up to the first one that isn't taken or has no token: their
        tokens."""
        if not self._takes_usual_confirms:
            return []
        unconfirmed, tokens = self.unconfirmed, list[object]()
        for number in numbers:
            token = unconfirmed.get(number)
            if token is None:
                break
            del unconfirmed[number]
            tokens.append(token)
        return tokens

    def take_usual_confirms(self, number: int) -> list[tuple[int, Any]] | None:
        """Basic.ack by the server of all publishes up to one that is open: numbers and tokens, or None."""
        return self.confirm_to(number) if number in self.unconfirmed and self._takes_usual_confirms else None

    @property
    def _takes_usual_confirms(self) -> bool:
        # As `take_usual_confirm`, for those that come together.
        return self.state is _OPEN and self.server_content is None and self.mode is _CONFIRMING

    # What the functions below and those who hold a channel do to it.

    def add_publish(self, token: object) -> int:
        """A publish in confirm mode is sent: it waits for its confirm under the number that is returned."""
        number = self.publish_count + 1
        self.publish_count = number
        self.unconfirmed[number] = token
        return number

    def name_delivery(self, tag: int, token: object) -> None:
        """What waits for an open delivery is this."""
        self.unsettled[tag] = token

    def name_publish(self, number: int, token: object) -> None:
        """What waits for the confirm of an open publish is this."""
        self.unconfirmed[number] = token

    def forget_publish(self, number: int) -> None:
        """A publish won't be confirmed, as far as anybody can tell."""
        self.unconfirmed.pop(number, None)

    def settle_to(self, tag: int) -> list[tuple[int, Any]]:
        """Take out the deliveries up to `tag`, or all that have come (0); their tags and tokens, in order."""
        settled = take_up_to(self.unsettled, self.settled_to, tag)
        self.settled_up_to(tag)
        return settled

    def settled_up_to(self, tag: int) -> None:
        """No delivery up to `tag` waits any more, or none that has come so far (0)."""
        self.settled_to = max(tag, self.settled_to) if tag else self.last_tag

    def confirm_to(self, number: int) -> list[tuple[int, Any]]:
        """Take out the publishes up to `number`, or all (0); their numbers and tokens, in order."""
        confirmed = take_up_to(self.unconfirmed, self._confirmed_to, number)
        self._confirmed_to = max(number or self.publish_count, self._confirmed_to)
        return confirmed

    def take_retired(self) -> Retired | None:
        """Take what the transaction would settle."""
        retired = self.tx_settled
        self.tx_settled = None
        return retired

    def take_unsettled(self) -> list[Any]:
        """Take out all deliveries, of which nobody knows whether tags up to the latest are settled; their tokens."""
        tokens = [*self.unsettled.values()]
        self.unsettled = {}
        return tokens

    def retire(self, retired: Retired) -> None:
        """A transaction settles this when it commits."""
        if self.tx_settled is None:
            self.tx_settled = {}
        self.tx_settled.update(retired)

    def assume(self, assumed: bool = True) -> None:
        """Whether something of the channel wasn't seen, from now on."""
        self.assumed = assumed

    def assume_transacted(self) -> None:
        """The channel was in a transaction all the time, as is seen only now."""
        self.mode = Mode.TRANSACTED

    def _pay_for_rollbacks(self) -> None:
        """Count the steps that transactions take which are rolled back, from now on (`_check_paid`)."""
        self.allowance = 0

    def _rename_consumer(self, tag: str) -> None:
        """The tag that was made up for a consumer whose client named none and wanted no reply."""
        if "" in self.consumers:
            self.consumers[tag] = self.consumers.pop("")

    def _forget_publishes(self, numbers: Iterable[int]) -> None:
        """Nobody waits any more for what becomes of these publishes; they stay open."""
        self.unconfirmed.update(dict.fromkeys(numbers))

    def _forget_tokens(self) -> None:
        """Nobody waits any more for what becomes of the channel's messages; they stay open."""
        self.unconfirmed = dict.fromkeys(self.unconfirmed)
        self.unsettled = dict.fromkeys(self.unsettled)

    def _forget_calls(self) -> None:
        """Nobody knows which calls are open."""
        self.client_calls = None
        self.server_calls = None

    def forget(self) -> None:
        """The channel is over: it keeps nothing but its numbers."""
        self.state = State.CLOSED
        self.client_calls = None
        self.server_calls = None
        self.client_content = None
        self.server_content = None
        self.unsettled = {}
        self.unconfirmed = {}
        self.consumers = {}
        self.cancelled = None
        self.tx_settled = None

    def calls(self, client: bool) -> Calls | None:
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
        calls = self.calls(client)
        return None if calls is None else calls.answered_by(type(reply), replies)

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
        calls = self.calls(client)
        if calls is None:
            calls = Calls()
            if client:
                self.client_calls = calls
            else:
                self.server_calls = calls
        calls.add(pending, first=first)

    def check(self, limits: Limits) -> None:
        """Check the module's invariants between two calls. Raises AssertionError."""
        where = f"channel {self.number}"
        low = [tag for tag in self.unsettled if tag <= self.settled_to]
        ensure(not low, where, "deliveries wait above `settled_to`", self.settled_to, low)
        wrong = [each for each in self.unconfirmed if not self._confirmed_to < each <= self.publish_count]
        ensure(not wrong, where, "publishes wait from `_confirmed_to` to `publish_count`", wrong)
        ensure(self.mode is Mode.CONFIRM or not self.unconfirmed, where, "publishes wait only in confirm mode")
        ensure(self.mode is Mode.TRANSACTED or not self.tx_settled, where, "deliveries are retired in a transaction")
        ensure(self.allowance is None or self.allowance >= 0, where, "no step is taken that isn't paid", self.allowance)
        cancelled = len(self.cancelled or ())
        ensure(cancelled <= _CANCELLED, where, "few of the cancelled consumers are kept", cancelled)
        waiting = len(self.unconfirmed)
        ensure(waiting <= limits.unconfirmed, where, "`Limits.unconfirmed` bounds publishes that wait", waiting)
        for side, calls, content in (
            ("client", self.client_calls, self.client_content),
            ("server", self.server_calls, self.server_content),
        ):
            who = f"{where}, {side}"
            if calls is not None:
                ensure(len(calls) > 0, who, "a side without calls has no books of them")
                ensure(len(calls) <= limits.calls + 1, who, "`Limits.calls` bounds calls", len(calls))
                calls.check(who)
            if content is not None:
                content.check(who)


class Step:
    """One method on its way into a channel's books, and what came of it; it lasts for one call of `step`."""

    __slots__ = (
        "answered",
        "channel",
        "channels",
        "client",
        "committed",
        "exact",
        "limits",
        "method",
        "outcome",
        "remaining",
        "replied",
        "settled",
        "size",
        "token",
        "version",
    )

    def __init__(
        self,
        channel: ChannelState,
        client: bool,
        method: Method,
        answered: Call | None,
        token: Any,
        version: Version,
        limits: Limits,
    ) -> None:
        # The channel, who sends the method, and the method.
        self.channel = channel
        self.client = client
        self.method: Any = method
        # The open call that it answers, None for none.
        self.answered: Any = answered
        # As `Call.token`, of what the method opens.
        self.token = token
        # The version, by which reply codes differ, and the bounds.
        self.version = version
        self.limits = limits
        # All channels of the connection, where what is wrong with one may be right on another.
        self.channels: Mapping[int, ChannelState] = _NONE
        # What the method has settled, number and token, and how.
        self.settled: list[tuple[int, Any]] = []
        self.outcome: Outcome = ACCEPTED
        # What a transaction has settled by it, each with its own outcome.
        self.committed: list[tuple[int, Any, Outcome]] = []
        # Whether the method asks for a reply.
        self.replied = False
        # Octets of the content that comes with it; None where that isn't known yet.
        self.size: int | None = None
        # What `Call.remaining` is to be, once the method is taken.
        self.remaining: int | None = None
        # Whether what settles several names a delivery that is open itself.
        self.exact = False


def add_delivery(channel: ChannelState, tag: int, token: object, limits: Limits, no_ack: bool) -> None:
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
        open_delivery(channel, tag, token)
    channel.last_tag = tag


def open_delivery(channel: ChannelState, tag: int, token: object) -> None:
    """A delivery waits for its settlement; `settled_to` stays below all that do."""
    channel.unsettled[tag] = token
    if tag <= channel.settled_to:
        channel.settled_to = tag - 1


def _settle(step: Step, tag: int, multiple: bool, outcome: Outcome) -> None:
    """Take deliveries out of the books: the one with `tag`, or all up to it (0: all).

    In a transaction they are settled when it commits.
    """
    channel = step.channel
    unsettled = channel.unsettled
    if multiple:
        if tag and tag not in unsettled and not channel.assumed and (step.exact or tag > channel.last_tag):
            raise _unknown_tag(step, tag)
        if channel.allowance is not None and channel.mode is Mode.TRANSACTED:
            _check_paid(step, tag, channel.allowance)
        settled = take_up_to(unsettled, channel.settled_to, tag)
        if not settled and tag and not channel.assumed:
            raise _unknown_tag(step, tag)
        channel.settled_up_to(tag)
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
        channel.retire({number: (token, outcome) for number, token in settled})


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
    channel = step.channel
    others = islice(step.channels.items(), _LOOKED_AT)
    elsewhere = next((number for number, other in others if tag in other.unsettled), None)
    there = "" if elsewhere is None else f"; one is open on channel {elsewhere}"
    if tag > channel.last_tag:
        why = f"none has been delivered there{there}; acknowledge on the channel of the delivery"
    elif channel.consumers and all(channel.consumers.values()) and not channel.unsettled:
        why = "its consumers take without acknowledgement (no-ack); don't acknowledge, or consume without no-ack"
    else:
        why = f"it was settled before, or taken without acknowledgement{there}; acknowledge once only"
    text = (
        f"unknown delivery tag {tag}: {step.method.NAME}, but no delivery with tag {tag} is open on channel "
        f"{channel.number}: {why}"
    )
    return Violation(codes_of(step.version).unknown_tag, text, rule="basic.ack/unknown-tag", scope=Scope.CHANNEL)


def _confirm(step: Step, tag: int, multiple: bool, outcome: Outcome) -> None:
    """Take publishes out of the books that the server confirms (RabbitMQ's publisher confirms)."""
    channel = step.channel
    unconfirmed = channel.unconfirmed
    if multiple:
        if tag > channel.publish_count and not channel.assumed:
            raise _unknown_confirm(step, tag)
        step.settled = channel.confirm_to(tag)
    elif tag in unconfirmed:
        step.settled = [(tag, unconfirmed.pop(tag))]
    elif not channel.assumed:
        raise _unknown_confirm(step, tag)
    step.outcome = outcome


def _unknown_confirm(step: Step, tag: int) -> Violation:
    text = f"{step.method.NAME}: publish {tag} is not waiting for a confirm on channel {step.channel.number}"
    return Violation(codes_of(step.version).unknown_tag, text, rule="rabbitmq/basic.ack.exists", scope=Scope.CHANNEL)


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
    code = codes_of(step.version).no_queue
    scope = Scope.CHANNEL if code < 500 else Scope.CONNECTION
    raise Violation(code, text, rule=f"{name}/no-current-queue", scope=scope)


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
    channel, tag, calls = step.channel, step.method.consumer_tag, step.channel.client_calls
    if tag and (tag in channel.consumers or (calls is not None and calls.has_tag(step.method.ID, tag))):
        text = f"consumer tag {tag!r} is in use on channel {channel.number}; cancel it first or take another"
        raise Violation(NOT_ALLOWED, text, rule="basic.consume/tag-in-use")
    if len(channel.consumers) >= step.limits.consumers:
        raise too_many(f"channel {channel.number} has {len(channel.consumers)} consumers", "consumers")
    if step.method.no_wait:
        _add_consumer(channel, tag, step.method)


def _consume_ok(step: Step) -> None:
    _add_consumer(step.channel, step.method.consumer_tag, step.answered.request)


def _add_consumer(channel: ChannelState, tag: str, request: object) -> None:
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
        channel.add_publish(step.token)


def _recovered(step: Step) -> None:
    channel = step.channel
    step.settled = channel.settle_to(0)
    step.outcome = RELEASED


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


def reopen(channel: ChannelState, retired: Retired) -> None:
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
