"""A hostile client of 0-8 or 0-9-1 at a hub: any method with any values in any order, biased to names there are."""

# pyright: reportPrivateUsage=false
from collections.abc import Mapping
from functools import partial
from typing import Any

from amqp_sansio import AMQP_0_8, AMQP_0_9_1, CodecError, Version
from amqp_sansio._classic.codec.dialect import Dialect, default_dialect
from amqp_sansio._classic.model.states import Channel as ChannelStates
from amqp_sansio._classic.model.states import Mode
from amqp_sansio.amqp_0_9_1 import BasicProperties
from tests.kit.applications import plausible_reply
from tests.kit.choices import Choices
from tests.kit.hub_hostile import Driver, Hostile, Words
from tests.kit.octets_classic import BODY, HEADER, HEARTBEAT, METHOD, Sent, frame, frames_of, header
from tests.kit.versions import CLASSIC

VERSIONS: dict[str, Version] = {"0-8": AMQP_0_8, "0-9-1": AMQP_0_9_1}
FRAME_MAX = 4096
NUMBERS = (0, 1, 2, 3, 7, 255, 256, 65_535, 65_536, (1 << 31) - 1, (1 << 32) - 1, (1 << 63) - 1, (1 << 64) - 1)
NEW = ("h1", "h2", "h3")
OWN = ("own-0-9-1", "own-0-8", "own-0-10", "own-1.0")
"""The queues that are the witnesses' alone. Nothing is published to them: that may anybody."""
KEYS = ("", "shared", "h1", "h2", "h3", "k", "a.b", "a.*", "#", "*.b.#", "amq.rabbitmq.reply-to")
TYPES = ("direct", "fanout", "topic", "headers", "system", "failover", "x-own", "")
TAGS = ("", "", "a", "b", "t" * 255)
WORDS = ("", "x", "guest", "/data", "/", "PLAIN", "en_US", "\x00guest\x00guest", "\udc80\udcff")
BODIES = (b"", b"x", b"x", b"y" * 300, b"y" * 300, b"z" * 5000, b"x", b"w" * 11_000)
ARGUMENTS: tuple[dict[str, Any], ...] = (
    *({}, {}, {}, {}),
    {"x-max-length": 2},
    {"x-max-length-bytes": 400},
    {"x-max-length": 1, "x-overflow": "reject-publish"},
    {"x-max-length": 1, "x-overflow": "reject-publish-dlx", "x-dead-letter-exchange": "amq.fanout"},
    {"x-message-ttl": 0},
    {"x-message-ttl": 2000, "x-dead-letter-exchange": "", "x-dead-letter-routing-key": "shared"},
    {"x-expires": 5000},
    {"x-dead-letter-exchange": "", "x-dead-letter-routing-key": "h1"},
    {"x-dead-letter-exchange": "nope"},
    {"x-max-priority": 3},
    {"x-single-active-consumer": True},
    {"x-delivery-limit": 1, "x-dead-letter-exchange": "amq.fanout"},
    {"x-priority": 5},
    {"x-match": "any", "a": 1},
    {"x-match": "all"},
    {"alternate-exchange": "amq.fanout"},
    {"x-max-length": -1},
    {"x-dead-letter-routing-key": "k"},
    {"x-overflow": 7},
    {"x-queue-type": "stream"},
    {"x-max-priority": 1000},
    {"x-priority": "high"},
    {"x-match": "none"},
    {"nested": {"a": [1, {"b": None}]}},
)
PROPERTIES: tuple[dict[str, Any], ...] = (
    *({}, {}),
    {"priority": 9},
    {"expiration": "0"},
    {"expiration": "1000", "delivery_mode": 2},
    {"headers": {"a": 1}, "message_id": "m" * 200, "user_id": "guest"},
    {"expiration": "soon"},
    {"user_id": "somebody"},
    {"reply_to": "amq.rabbitmq.reply-to"},
    {"headers": {"x-death": [{"queue": "h1", "reason": "rejected", "count": 1 << 40}, 5], "CC": ["h2"]}},
    {"headers": {"x-death": "no list"}},
)
_GOOD = 16
"""So many of the arguments are right."""
USUAL = (
    *("basic.publish", "basic.publish", "basic.publish", "basic.publish", "basic.publish", "basic.publish"),
    *("basic.consume", "basic.consume", "basic.consume", "basic.get", "basic.get", "basic.cancel"),
    *("basic.ack", "basic.ack", "basic.ack", "basic.reject", "basic.reject", "basic.nack", "basic.nack"),
    *("basic.qos", "basic.recover", "queue.declare", "queue.declare", "queue.declare", "queue.bind", "queue.bind"),
    *("queue.unbind", "queue.purge", "queue.delete", "exchange.declare", "exchange.declare", "exchange.delete"),
    *("exchange.bind", "exchange.unbind", "exchange.bound", "tx.select", "tx.commit", "tx.rollback"),
    *("confirm.select", "channel.flow", "channel.open", "access.request", "access.request", "access.request"),
    *("file.open", "file.open", "file.publish", "file.publish", "file.consume", "file.consume", "file.ack"),
    *("file.reject", "file.qos", "file.cancel", "stream.consume", "stream.publish", "stream.publish", "stream.qos"),
    *("dtx.select", "dtx.start", "tunnel.request", "test.content", "test.table", "basic.recover-sync"),
)
_LIVE = (ChannelStates.OPENING, ChannelStates.OPEN)


class Classic(Hostile):
    """Sends what its own books at the hub make likely to get deep. `dialect` is the hub's for the version."""

    def __init__(self, driver: Driver, choices: Choices, label: str) -> None:
        super().__init__(driver, choices)
        self.version = VERSIONS[label]
        self.header = self.version.header
        self.dialect: Dialect = driver.hub.settings.shared_config(self.version).dialect or default_dialect(self.version)
        self.user = "guest"
        self.rest: list[bytes] = []
        self.tickets: dict[int, int] = {}

    # Logging in.

    def login(self) -> list[bytes]:
        """With the capabilities that change what a server sends, or without."""
        known = ("consumer_cancel_notify", "connection.blocked", "authentication_failure_close")
        properties: dict[str, Any] = {}
        if not self.is_old and self.choices.below(2):
            properties = {"capabilities": dict.fromkeys(known, True)}
        start_ok = {"mechanism": "PLAIN", "response": b"\0guest\0guest", "locale": "en_US"}
        return [
            self.version.header,
            self._method(0, "connection.start-ok", client_properties=properties, **start_ok),
            self._method(0, "connection.tune-ok", channel_max=4, frame_max=FRAME_MAX, heartbeat=0),
            self._method(0, "connection.open", virtual_host="/"),
        ]

    @property
    def is_old(self) -> bool:
        """Whether it's 0-8."""
        return self.version is AMQP_0_8

    # What it sends.

    def octets(self) -> bytes:
        """As the base's; it goes on with what it has begun, and now and then begins with another header."""
        choices = self.choices
        if self.rest and choices.below(64):
            return self.rest.pop(0)
        if self.engine is None:
            return choices.of((self.header, self.header, b"AMQP\x09\x09\x09\x09", b"GET /", b"\xff" * 8))
        return super().octets()

    def frames(self, engine: Any) -> bytes:
        """Mostly a frame that fits where a channel is."""
        choices = self.choices
        match choices.below(256):
            case 0:
                return frame(HEARTBEAT, 0)
            case 1:
                return frame(choices.of((METHOD, HEADER, BODY, 4, 7, 8, 9)), choices.below(6), choices.of(BODIES[:4]))
            case 2 | 3:
                number = choices.of(tuple(self.dialect.methods))
                return self._send(choices.below(5), self.dialect.methods[number].NAME)
            case 4:
                return self._method(0, "connection.close", reply_code=320)
            case _:
                return self._likely(engine)

    def _likely(self, engine: Any) -> bytes:
        """A frame that fits where a channel is."""
        choices = self.choices
        channels = dict(engine._channels)
        if not channels or (len(channels) < 3 and choices.below(16) == 15):
            self.rest.clear()
            number = next(each for each in range(1, 6) if each not in channels)
            self.tickets.pop(number, None)
            return self._method(number, "channel.open")
        number = choices.of(tuple(channels))
        channel = channels[number]
        if channel.state not in _LIVE:
            return self._method(number, "channel.close-ok") if choices.below(8) else self._send(number, "basic.publish")
        waiting = channel.server_calls
        if waiting and choices.below(4):
            return self._reply(number, engine, waiting.oldest)
        if choices.below(64) == 63:
            return self._method(number, "channel.close", reply_code=choices.of((200, 404, 541)))
        if self.dialect.strict and self.is_old and number not in self.tickets:
            self.tickets[number] = 1
            rights = dict.fromkeys(("passive", "active", "write", "read"), True)
            return self._method(number, "access.request", realm="/data", **rights)
        name = choices.of(USUAL)
        if name not in self.dialect.named or (choices.below(64) and not self._fits(channel, name)):
            name = choices.of(("basic.publish", "basic.publish", "basic.publish", "basic.consume", "basic.get"))
        return self._send(number, name)

    def _fits(self, channel: Any, name: str) -> bool:
        """Whether a method isn't wrong from the first, by the state of its channel."""
        if name in ("basic.ack", "basic.reject", "basic.nack", "file.ack", "file.reject"):
            return bool(channel.unsettled)
        if name in ("tx.commit", "tx.rollback"):
            return bool(channel.mode is Mode.TRANSACTED)
        if name in ("tx.select", "confirm.select", "dtx.select"):
            return bool(channel.mode is Mode.NORMAL)
        if name == "dtx.start":
            return bool(channel.mode is Mode.DISTRIBUTED)
        if name == "file.publish":
            return bool(self._staged(channel.number))
        if name == "channel.open":
            return False
        if name == "access.request":
            return self.is_old
        if name in ("basic.cancel", "file.cancel"):
            return bool(channel.consumers)
        return True

    def _reply(self, number: int, engine: Any, waiting: Any) -> bytes:
        reply: Any = plausible_reply(engine, waiting.request)
        if reply.HAS_CONTENT:
            exact = waiting.remaining if self.choices.below(16) else None
            return self._content(number, reply, exact)
        return self._frame(number, reply)

    def _send(self, number: int, name: str) -> bytes:
        kind: Any = self.dialect.named[name]
        fields = {field: self._value(number, name, field, wire) for field, wire in kind.FIELDS}
        if name.endswith(".declare") and self.choices.below(8):
            fields.update(self._as_it_is(name, fields))
        made = kind(**fields)
        if kind.HAS_CONTENT:
            return self._content(number, made)
        return self._frame(number, made)

    def _content(self, number: int, made: Any, exact: int | None = None) -> bytes:
        """A method with its content, of `exact` octets; sometimes in pieces, or not as announced."""
        choices = self.choices
        body = choices.of(BODIES) if exact is None else bytes(exact)
        kind: Any = self.dialect.properties[made.CLASS_ID]
        raw = b"\0\0"
        given = choices.of(PROPERTIES[: None if choices.below(16) == 15 else 6])
        if kind is BasicProperties or made.CLASS_ID == 60:
            try:
                raw = kind(**given).encode(self.dialect.tables)
            except (CodecError, TypeError):
                raw = b"\0\0"
        elif "headers" in kind.__match_args__ and choices.below(2):
            raw = kind(headers={"a": 1}).encode(self.dialect.tables)
        size = len(body) if choices.below(64) else choices.of((0, 1, len(body) + 1, 13_000, 1 << 40))
        class_id = made.CLASS_ID if choices.below(128) else choices.below(100)
        parts = [self._frame(number, made), header(number, class_id, size, raw)]
        parts += [frame(BODY, number, body[at : at + FRAME_MAX - 8]) for at in range(0, len(body), FRAME_MAX - 8)]
        if choices.below(8):
            return b"".join(parts)
        self.rest += parts[1:]
        return parts[0]

    # Values.

    def _value(self, number: int, method: str, field: str, wire: str) -> Any:
        choices = self.choices
        if wire == "bit":
            if field == "durable" and method == "queue.declare":
                # RabbitMQ's newest refuses a queue that is neither durable nor exclusive.
                return choices.below(16) != 15
            if field in ("exclusive", "passive") and choices.below(2):
                return False
            if field in ("passive", "exclusive", "internal", "durable", "auto_delete", "mandatory", "immediate"):
                return choices.below(16) == 15
            return choices.below(4) == 3 if field != "requeue" else choices.below(2) == 1
        if wire in ("table", "optional-table"):
            return self._table(method)
        picked = self._picked(number, method, field)
        if picked is not None:
            return picked
        if wire == "longstr":
            return choices.of(WORDS).encode("utf-8", "surrogateescape")
        if wire == "shortstr":
            return choices.of(WORDS)
        bits = {"octet": 8, "short": 16, "long": 32}.get(wire, 64)
        return choices.of(NUMBERS) & ((1 << bits) - 1)

    def _picked(self, number: int, method: str, field: str) -> Any:
        """A value that there is, mostly; None for a field whose values don't depend on anything."""
        choices = self.choices
        vhost = self.driver.hub.model.vhosts["/"]
        match field:
            case "queue" if method == "queue.declare" and choices.below(4):
                return choices.of((*NEW, "shared"))
            case "queue":
                if choices.below(32) == 31:
                    return choices.of((*OWN, "nope", "amq.new", "amq.rabbitmq.reply-to", ""))
                return choices.of(self._open_queues() or NEW)
            case "exchange" if method == "basic.publish" and choices.below(2):
                return ""
            case "exchange" if method in ("exchange.declare", "exchange.delete") and choices.below(32):
                return choices.of(NEW)
            case "exchange" | "source" | "destination":
                if choices.below(32) == 31:
                    return choices.of(("nope", "amq.new", "amq.failover", "amq.system", *NEW, ""))
                return choices.of([name for name, each in vhost.exchanges.items() if name and each.type in TYPES[:4]])
            case "routing_key":
                return choices.of((*self._open_queues(), *KEYS))
            case "type":
                return choices.of(TYPES if choices.below(32) == 31 else TYPES[:4])
            case "ticket":
                return self.tickets.get(number, 0) if choices.below(128) else choices.of((0, 1, 9))
            case "consumer_tag":
                channel = self.engine._channels.get(number)
                tags = () if channel is None else tuple(channel.consumers)
                if method.endswith("consume"):
                    tags = TAGS[-1:] if choices.below(32) == 31 else ("", f"c{choices.below(256)}")
                return choices.of(tags or TAGS)
            case "delivery_tag":
                channel = self.engine._channels.get(number)
                tags = () if channel is None else tuple(channel.unsettled)
                if tags and choices.below(64):
                    return choices.of(tags)
                return choices.of(NUMBERS)
            case "identifier":
                staged = self._staged(number) if method == "file.publish" else ()
                return choices.of(staged or ("f", "f", "g"))
            case "content_size":
                return choices.of((0, 1, 1, 300, 300, 5000, 20_000))
            case "operation" | "integer_op" | "string_op":
                return choices.below(3) if choices.below(16) else 3
            case "realm":
                return "/data" if choices.below(16) else choices.of(("/nope", "/data/x", ""))
            case "prefetch_count":
                return choices.of((0, 1, 2, 5, 65_535))
            case "prefetch_size":
                return choices.of((0, 0, 0, 100, 6000))
            case "reply_code":
                return choices.of((0, 200, 404, 541))
            case _:
                return None

    def _as_it_is(self, method: str, fields: Mapping[str, Any]) -> dict[str, Any]:
        """What to say of a queue or exchange that exists."""
        vhost = self.driver.hub.model.vhosts["/"]
        if method == "queue.declare":
            queue = vhost.queues.get(fields["queue"])
            if queue is None:
                return {}
            arguments = dict(queue.arguments)
            told = {"durable": queue.durable, "auto_delete": queue.auto_delete, "arguments": arguments}
            return {**told, "exclusive": queue.exclusive_to is not None}
        exchange = vhost.exchanges.get(fields["exchange"])
        if exchange is None:
            return {}
        told = {"type": exchange.type, "durable": exchange.durable, "auto_delete": exchange.auto_delete}
        return {**told, "internal": exchange.internal, "arguments": dict(exchange.arguments)}

    def _staged(self, number: int) -> tuple[str, ...]:
        """The files that are staged on a channel."""
        front: Any = self.driver.hub.clients[self.number].front
        channel = front.channels.get(number)
        return () if channel is None or channel.files is None else tuple(channel.files.staged)

    def _open_queues(self) -> list[str]:
        """The queues that it may use."""
        owner = self.driver.hub.clients[self.number].front
        mine = getattr(owner, "owner", None)
        queues = self.driver.hub.model.vhosts["/"].queues
        names = [name for name, each in queues.items() if each.exclusive_to in (None, mine)]
        # A name of 1.0 may be longer than a short string.
        return [name for name in names if len(name.encode()) < 256]

    def _table(self, method: str) -> Mapping[str, Any]:
        choices = self.choices
        if choices.below(32) == 31:
            return choices.of(ARGUMENTS)
        if method == "queue.declare":
            return choices.of(ARGUMENTS[:_GOOD]) if choices.below(2) else {}
        return choices.of(({}, {}, {"x-match": "any", "a": 1}, {"x-priority": 5}, {"alternate-exchange": "amq.fanout"}))

    # Octets.

    def _method(self, number: int, name: str, /, **fields: Any) -> bytes:
        return self._frame(number, self.dialect.named[name](**fields))

    def _frame(self, number: int, made: Any) -> bytes:
        tables = self.dialect.tables
        try:
            payload: bytes = made.encode(tables)
        except CodecError:
            # The dialect has no type for that value, or no table there.
            bare: dict[str, Any] = {
                name: {} if wire == "table" else None
                for name, wire in made.FIELDS
                if wire in ("table", "optional-table")
            }
            kept = {name: getattr(made, name) for name in made.__match_args__}
            payload = type(made)(**{**kept, **bare}).encode(tables)
        return frame(METHOD, number, payload)


# What the hub said.

SOFT_AND_HARD: dict[str, frozenset[int]] = {"0-8": frozenset({402, 503, 506, 530}), "0-9-1": frozenset({506})}
"""Hard codes that close a channel: a bound of it is reached (`Limits.consumers`, `unsettled`); 0-8 has no 406, names no
code for a commit without a transaction, and asks for channel exceptions all the same, also with its 402."""
SILENT = tuple([f"{label}/wire/frame-{what}" for label in VERSIONS for what in ("end-check", "type-unknown")])
HARD_TOO = (404, 405, 403)
"""Soft codes with which the rules of a method ask to close the connection."""


def words_of(dialect: Dialect) -> Words:
    """How a hub that speaks a dialect tells its clients of ends."""
    return Words(
        CLASSIC[dialect.version],
        opened="connection.open-ok",
        close="connection.close",
        close_ok="connection.close-ok",
        check=partial(_check_words, dialect),
        parse=partial(frames_of, dialect),
        silent=SILENT,
        answers_header=False,
    )


def _check_words(dialect: Dialect, sent: Sent) -> None:
    if sent.name not in ("channel.close", "connection.close"):
        return
    code = sent.method.reply_code
    assert code in dialect.codes, sent.method
    assert sent.method.reply_text
    if sent.name == "channel.close":
        assert not dialect.is_hard(code) or code in SOFT_AND_HARD[dialect.version.label], sent.method
    else:
        assert dialect.is_hard(code) or code in HARD_TOO, sent.method
        assert code != 541, sent.method
