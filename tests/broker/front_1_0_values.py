"""What the 1.0 stage is made of: messages, outcomes, addresses, filters and termini, read from the specifications."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple
from urllib.parse import unquote

from amqp_sansio import amqp_1_0 as amqp
from tests.broker.naive_model import NaiveBroker
from tests.broker.naive_values import Dying, Note, Refusal, matches_headers, matches_topic

CONDITIONS = {
    "not-found": "amqp:not-found",
    "locked": "amqp:resource-locked",
    "exclusive": "amqp:resource-locked",
    "internal": "amqp:not-allowed",
    "not-allowed": "amqp:not-allowed",
    "reserved-name": "amqp:not-allowed",
    "bad-address": "amqp:invalid-field",
    "bad-field": "amqp:invalid-field",
    "no-address": "amqp:precondition-failed",
    "full": "amqp:resource-limit-exceeded",
}
"""Part 2 section 2.8.15 for what the naive model calls its refusals."""
STATUS = {
    "not-found": 404, "inequivalent": 409, "in-use": 409, "not-empty": 409, "reserved-name": 403, "locked": 403,
    "default-exchange": 403, "internal": 403, "type-unknown": 400, "bad-argument": 400, "name-missing": 400,
}  # fmt: skip
"""The status of a management response."""
LIFETIMES: dict[str, Any] = {
    "on-close": amqp.DeleteOnClose(),
    "on-no-links": amqp.DeleteOnNoLinks(),
    "on-no-messages": amqp.DeleteOnNoMessages(),
    "on-no-links-or-messages": amqp.DeleteOnNoLinksOrMessages(),
}
DEFAULT_PRIORITY = 4
"""Part 3 section 3.2.1."""
OUTCOMES: tuple[amqp.DeliveryState, ...] = (
    amqp.Accepted(),
    amqp.Rejected(),
    amqp.Rejected(amqp.Error(amqp.Symbol("x:bad"), "never here")),
    amqp.Released(),
    amqp.Modified(),
    amqp.Modified(delivery_failed=True),
    amqp.Modified(undeliverable_here=True),
    amqp.Modified(delivery_failed=True, undeliverable_here=True, message_annotations={amqp.Symbol("x-opt-seen"): 1}),
    amqp.Modified(message_annotations={amqp.Symbol("x-opt-seen"): 2, amqp.Symbol("x-opt-by"): "me"}),
)
DEFAULTS: tuple[amqp.DeliveryState | None, ...] = (
    None,
    amqp.Accepted(),
    amqp.Rejected(),
    amqp.Released(),
    amqp.Modified(delivery_failed=True),
)
"""Default outcomes of a source; without one a delivery is released."""


class Note_1_0(Note):
    """A message of 1.0. `first` is what its header says of first-acquirer, `failures` its delivery-count, `notes` are
    its message-annotations, `error` is why it was rejected."""

    def __init__(
        self,
        body: bytes,
        exchange: str = "",
        key: str = "",
        headers: dict[str, Any] | None = None,
        priority: int | None = None,
        ttl: float | None = None,
        *,
        to: str | None = None,
        subject: str | None = None,
        first: bool = False,
        failures: int = 0,
    ) -> None:
        Note.__init__(self, body, exchange, key, headers, DEFAULT_PRIORITY if priority is None else priority, ttl)
        self.to, self.subject, self.first, self.failures = to, subject, first, failures
        self.notes: dict[str, Any] = {}
        self.error: amqp.Error | None = None

    def message(self) -> amqp.Message:
        """As a client writes it."""
        ttl = None if self.ttl is None else int(self.ttl * 1000)
        header = amqp.Header(priority=self.priority, ttl=ttl, first_acquirer=self.first, delivery_count=self.failures)
        properties = amqp.Properties(to=self.to, subject=self.subject) if self.to or self.subject is not None else None
        return amqp.Message(
            self.body, header=header, properties=properties, application_properties=self.headers or None
        )

    def copied(self) -> Note_1_0:
        """The same, to be written on."""
        copy = Note_1_0.__new__(Note_1_0)
        copy.__dict__.update(self.__dict__)
        return copy

    def letter(self, exchange: str, key: str, deaths: tuple[Dying, ...]) -> Note_1_0:
        """A dead letter is the same message without its time to live."""
        copy = self.copied()
        copy.exchange, copy.key, copy.deaths, copy.ttl = exchange, key, deaths, None
        return copy

    def after(self, state: amqp.DeliveryState, count: int) -> Note_1_0 | None:
        """What an outcome makes of it (part 3 sections 3.4.3 and 3.4.5), None: nothing. `count`: the times that
        deliveries of it have failed in its queue."""
        if isinstance(state, amqp.Rejected):
            copy = self.copied()
            copy.failures += count + 1
            copy.first, copy.error = False, state.error
            return copy
        if isinstance(state, amqp.Modified) and state.message_annotations:
            copy = self.copied()
            copy.notes = {**self.notes, **state.message_annotations}
            return copy
        return None


class Act(NamedTuple):
    """An outcome as the naive model takes it."""

    outcome: str
    redelivered: bool = False
    failed: bool = False
    excluded: bool = False


def act_of(state: amqp.DeliveryState | None, default: amqp.DeliveryState | None) -> tuple[Act, amqp.DeliveryState]:
    """What an outcome does; `default` is the default outcome of the source."""
    known = (amqp.Accepted, amqp.Rejected, amqp.Released, amqp.Modified)
    found = state if isinstance(state, known) else default or amqp.Released()
    if isinstance(found, amqp.Accepted):
        return Act("accept"), found
    if isinstance(found, amqp.Rejected):
        return Act("reject"), found
    if isinstance(found, amqp.Modified):
        return Act("release", True, bool(found.delivery_failed), bool(found.undeliverable_here)), found
    return Act("release", True), found


class Spot(NamedTuple):
    """A node: a "queue", an "exchange" with a key (None: each message's subject), or "anonymous". `makes`: the queue is
    made if there is none."""

    kind: str
    name: str = ""
    key: str | None = None
    makes: bool = False


ANONYMOUS = Spot("anonymous")


def spot_of(naive: NaiveBroker, address: str) -> Spot:
    """The node that an address names, as docs/broker.md has it. Raises Refusal."""
    if not address.startswith("/"):
        return _plain(naive, address)
    kind, *names = address[1:].split("/")
    if (kind, *names[:1]) == ("amq", "queue"):
        kind, names = "queues", names[1:]
    names = [unquote(each, errors="strict") for each in names]
    if kind in ("queues", "queue") and len(names) == 1 and names[0]:
        spot = Spot("queue", names[0], makes=kind == "queue")
    elif kind in ("exchanges", "exchange") and len(names) in (1, 2) and names[0]:
        key = names[1] if len(names) == 2 else "" if kind == "exchanges" else None
        spot = Spot("exchange", names[0], key)
    elif kind == "topic" and len(names) == 1 and names[0]:
        spot = Spot("exchange", "amq.topic", names[0])
    else:
        raise Refusal("bad-address")
    there = naive.queues if spot.kind == "queue" else naive.exchanges
    if spot.name not in there and not spot.makes:
        raise Refusal("not-found")
    return spot


def _plain(naive: NaiveBroker, name: str) -> Spot:
    if name in naive.queues:
        return Spot("queue", name)
    if name and name in naive.exchanges:
        return Spot("exchange", name)
    exchange, slash, key = name.partition("/")
    if slash and exchange and exchange in naive.exchanges:
        return Spot("exchange", exchange, key)
    raise Refusal("not-found")


class Wish(NamedTuple):
    """A filter of a source. `wants` is what passes it, `binds` the exchange type and the binding's key and arguments
    that do the same for a queue of the link's own; `is_known`: the broker has it; `is_wrong`: its value is none."""

    name: str
    value: object
    wants: Callable[[Note_1_0], bool]
    binds: tuple[str, str, dict[str, Any]] | None = None
    is_known: bool = True
    is_wrong: bool = False

    @property
    def described(self) -> amqp.Described:
        """As it stands in a filter set (part 3 section 3.5.8)."""
        return amqp.Described(amqp.Symbol(self.name), self.value)


_SELECTOR = "apache.org:selector-filter:string"
_DIRECT = "apache.org:legacy-amqp-direct-binding:string"
_TOPIC = "apache.org:legacy-amqp-topic-binding:string"
_HEADERS = "apache.org:legacy-amqp-headers-binding:map"
NO_LOCAL = "apache.org:no-local-filter:list"
_ALL = {"x-match": "all", "h": "1"}
_ANY = {"x-match": "any", "h": "2", "i": "2"}


def _subject_like(pattern: str) -> Callable[[Note_1_0], bool]:
    def like(note: Note_1_0) -> bool:
        return pattern == "#" if note.subject is None else matches_topic(pattern, note.subject)

    return like


def _headers_like(arguments: dict[str, Any]) -> Callable[[Note_1_0], bool]:
    def like(note: Note_1_0) -> bool:
        return matches_headers(arguments, note.headers)

    return like


def _h_is_one(note: Note_1_0) -> bool:
    return note.headers.get("h") == "1"


def _h_is_another_or_i_is_there(note: Note_1_0) -> bool:
    return note.headers.get("h", "1") != "1" or "i" in note.headers


def _is_about_a_b(note: Note_1_0) -> bool:
    return note.subject == "a.b"


def _never(note: Note_1_0) -> bool:
    return False


def _always(note: Note_1_0) -> bool:
    return True


WISHES = (
    Wish(_SELECTOR, "h = '1'", _h_is_one),
    Wish(_SELECTOR, "h <> '1' OR i IS NOT NULL", _h_is_another_or_i_is_there),
    Wish(_SELECTOR, "h = ", _never, is_wrong=True),
    Wish(_DIRECT, "a.b", _is_about_a_b, ("direct", "a.b", {})),
    Wish(_TOPIC, "a.*", _subject_like("a.*"), ("topic", "a.*", {})),
    Wish(_TOPIC, "#", _subject_like("#"), ("topic", "#", {})),
    Wish(_HEADERS, _ALL, _headers_like(_ALL), ("headers", "", _ALL)),
    Wish(_HEADERS, _ANY, _headers_like(_ANY), ("headers", "", _ANY)),
    Wish(_HEADERS, {"h": "1"}, _never, is_wrong=True),
    Wish("x:nobody-knows", 7, _always, is_known=False),
    Wish(NO_LOCAL, [], _always),
)


class Expiry(NamedTuple):
    """When a terminus without a link goes (part 3 section 3.5.6)."""

    policy: str = "session-end"
    timeout: int = 0

    @property
    def lasts(self) -> bool:
        """Whether it may outlive its connection."""
        return self.policy == "never" or self.timeout > 0


class SourceTerms(NamedTuple):
    """What a client asks of a source; `address` None: a dynamic node with that `lifetime`."""

    address: str | None
    browses: bool = False
    settled: bool = False
    second: bool = False
    durable: bool = False
    default: amqp.DeliveryState | None = None
    wishes: tuple[Wish, ...] = ()
    expiry: Expiry = Expiry()
    priority: int = 0
    lifetime: str = "on-close"
    copies_only: bool = False

    def source(self) -> amqp.Source:
        """As it stands in an attach."""
        properties: dict[amqp.Symbol, Any] = {amqp.Symbol("lifetime-policy"): LIFETIMES[self.lifetime]}
        if self.copies_only:
            properties[amqp.Symbol("supported-dist-modes")] = [amqp.Symbol("copy")]
        return amqp.Source(
            self.address,
            durable=2 if self.durable else 0,
            expiry_policy=amqp.Symbol(self.expiry.policy),
            timeout=self.expiry.timeout,
            dynamic=self.address is None,
            dynamic_node_properties=properties if self.address is None else None,
            distribution_mode=amqp.Symbol("copy" if self.browses else "move"),
            filter={amqp.Symbol(f"f{at}"): wish.described for at, wish in enumerate(self.wishes)} or None,
            default_outcome=self.default,
        )


class TargetTerms(NamedTuple):
    """What a client asks of a target; `address` "": each message says where it goes, None: a dynamic node. `outcomes`
    are those that it understands, by their short names; none: all. `settles`: 0 unsettled, 1 settled, 2 mixed."""

    address: str | None
    settles: int = 2
    second: bool = False
    durable: bool = False
    outcomes: tuple[str, ...] = ()
    expiry: Expiry = Expiry()
    lifetime: str = "on-close"

    def target(self) -> amqp.Target:
        """As it stands in an attach."""
        properties = {amqp.Symbol("lifetime-policy"): LIFETIMES[self.lifetime]}
        return amqp.Target(
            self.address or None,
            durable=2 if self.durable else 0,
            expiry_policy=amqp.Symbol(self.expiry.policy),
            timeout=self.expiry.timeout,
            dynamic=self.address is None,
            dynamic_node_properties=properties if self.address is None else None,
        )


def plain(values: Mapping[Any, Any]) -> dict[Any, Any]:
    """A decoded map, to compare."""
    return dict(values.items())
