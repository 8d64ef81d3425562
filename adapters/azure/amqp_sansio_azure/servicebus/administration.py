"""The administration of a namespace over HTTP: entities as Atom entries, made, read, listed and deleted.

`Administration.answer` is pure: a request's method, target and body in, a status and a body out.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import parse_qs, unquote, urlsplit
from xml.etree import ElementTree
from xml.sax.saxutils import escape

from amqp_sansio.broker.nodes import Refusal

from ..conditions import status_of
from ..tokens import MANAGE, check
from .config import PROPERTIES, ConfigError, duration_text, options_of
from .messages import ACTIVE, SCHEDULED
from .rules import FIELDS, Action, CorrelationFilter, FalseFilter, Filter, Rule, RuleError, SqlFilter, TrueFilter
from .topics import Subscription, Topic

if TYPE_CHECKING:
    from .namespace import Queue, ServiceBusNamespace
    from .stores import Options

LARGEST: Final = 65_536
"""Octets of a request's body."""
_PAGE: Final = 100
_ATOM: Final = "http://www.w3.org/2005/Atom"
_SERVICE: Final = "http://schemas.microsoft.com/netservices/2010/10/servicebus/connect"
_COUNTS: Final = "http://schemas.microsoft.com/netservices/2011/06/servicebus"
_TYPE: Final = "{http://www.w3.org/2001/XMLSchema-instance}type"
_FOREVER: Final = "P10675199DT2H48M5.4775807S"
_NAMES: Final[Mapping[str, str]] = {
    "CorrelationId": "correlation_id",
    "MessageId": "message_id",
    "To": "to",
    "ReplyTo": "reply_to",
    "Label": "subject",
    "SessionId": "group_id",
    "ReplyToSessionId": "reply_to_group_id",
    "ContentType": "content_type",
}
_OF_TOPICS: Final = (
    *("MaxSizeInMegabytes", "RequiresDuplicateDetection", "DefaultMessageTimeToLive", "Status"),
    *("DuplicateDetectionHistoryTimeWindow", "EnableBatchedOperations"),
)
assert set(_NAMES.values()) == set(FIELDS.values())


class BadRequest(ValueError):
    """A request that can't be carried out: `status` is that of the answer."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status

    def __reduce__(self) -> tuple[object, ...]:
        return BadRequest, (self.status, str(self))


class Administration:
    """Answers requests about the entities of a namespace."""

    def __init__(self, namespace: ServiceBusNamespace) -> None:
        self.namespace = namespace

    def answer(
        self, method: str, target: str, body: bytes = b"", authorization: str = "", *, updates: bool = False
    ) -> tuple[int, bytes]:
        """Return the status and the body (XML) for a request; `authorization` is its header, a token.

        A PUT that `updates` (it has the header If-Match) is for what is there, any other for what isn't.
        """
        try:
            self._authorize(target, authorization)
            return self._answer("UPDATE" if updates and method == "PUT" else method, target, body)
        except BadRequest as error:
            return error.status, _error(error.status, str(error))
        except Refusal as refusal:
            status = status_of(refusal.condition)
            return status, _error(status, refusal.text)
        except (ConfigError, RuleError, ValueError) as error:
            return 400, _error(400, str(error))

    # Internals.

    def _authorize(self, target: str, authorization: str) -> None:
        space = self.namespace
        if not space.checks_tokens:
            return
        path = unquote(urlsplit(target).path).strip("/")
        try:
            grant = check(authorization, f"http:///{path}", space.rules, space.unix_time)
        except Refusal as refusal:
            raise BadRequest(401, refusal.text) from None
        if MANAGE not in grant.rights:
            raise BadRequest(401, "Manage,EntityRead claims required for this operation.")

    def _answer(self, method: str, target: str, body: bytes) -> tuple[int, bytes]:
        parts = urlsplit(target)
        path = unquote(parts.path).strip("/")
        lower = path.lower()
        if method == "GET" and lower in ("$resources/queues", "$resources/topics", "$resources/subscriptions"):
            return 200, self._listed(lower.rpartition("/")[2], parts.query)
        topic, found, rest = _split(path, "/subscriptions")
        if not found:
            return self._entity(method, path, body)
        if not rest:
            return 200, _feed("Subscriptions", _page(self._subscriptions(topic), parts.query))
        name, has_rules, rule = _split(rest, "/rules")
        if not has_rules:
            return self._subscription(method, topic, name, body)
        if not rule:
            rules = self._rules_of(topic, name)
            return 200, _feed("Rules", _page([_rule_entry(each) for each in rules.rules.values()], parts.query))
        return self._rule(method, self._rules_of(topic, name), rule, body)

    def _listed(self, kind: str, query: str) -> bytes:
        space = self.namespace
        if kind == "topics":
            return _feed("Topics", _page([_topic_entry(each) for each in space.topics.values()], query))
        queues = [each for each in space.queues.values() if not isinstance(each.store, Subscription)]
        return _feed("Queues", _page([_queue_entry(each) for each in queues], query))

    def _entity(self, method: str, path: str, body: bytes) -> tuple[int, bytes]:
        space = self.namespace
        if method == "GET":
            queue, topic = space.queues.get(path.lower()), space.topics.get(path.lower())
            if queue is not None:
                return 200, _queue_entry(queue)
            if topic is not None:
                return 200, _topic_entry(topic)
            raise BadRequest(404, f"Entity '{path}' was not found.")
        if method == "DELETE":
            space.delete(path)
            return 200, b""
        if method not in ("PUT", "UPDATE"):
            raise BadRequest(405, f"method {method} isn't allowed here")
        description = _description(body)
        options = _options(description)
        if method == "UPDATE" and _local(description) == "QueueDescription":
            return 200, _queue_entry(space.update_queue(path, options))
        if method == "UPDATE" and _local(description) == "TopicDescription":
            return 200, _topic_entry(space.update_topic(path, options))
        if _local(description) == "QueueDescription":
            return 201, _queue_entry(space.add_queue(path, options))
        if _local(description) == "TopicDescription":
            return 201, _topic_entry(space.add_topic(path, options))
        raise BadRequest(400, f"a {_local(description)} describes no queue or topic")

    def _subscription(self, method: str, topic: str, name: str, body: bytes) -> tuple[int, bytes]:
        space = self.namespace
        path = f"{topic}/Subscriptions/{name}"
        if method == "GET":
            found = space.queues.get(path.lower())
            if found is None:
                raise BadRequest(404, f"Entity '{path}' was not found.")
            return 200, _queue_entry(found)
        if method == "DELETE":
            space.delete(path)
            return 200, b""
        if method == "UPDATE":
            return 200, _queue_entry(space.update_queue(path, _options(_description(body))))
        if method != "PUT":
            raise BadRequest(405, f"method {method} isn't allowed here")
        description = _description(body)
        rule = _child(description, "DefaultRuleDescription")
        rules = None if rule is None else (_read_rule(_text(rule, "Name") or "$Default", rule, space.unix_time),)
        return 201, _queue_entry(space.add_subscription(topic, name, _options(description), rules))

    def _subscriptions(self, topic: str) -> list[bytes]:
        space = self.namespace
        found = space.topics.get(topic.lower())
        if found is None:
            raise BadRequest(404, f"Entity '{topic}' was not found.")
        return [_queue_entry(space.queues[each.path.lower()]) for each in found.subscriptions.values()]

    def _rules_of(self, topic: str, name: str) -> Subscription:
        found = self.namespace.queues.get(f"{topic}/subscriptions/{name}".lower())
        if found is None or not isinstance(found.store, Subscription):
            raise BadRequest(404, f"Entity '{topic}/Subscriptions/{name}' was not found.")
        return found.store

    def _rule(self, method: str, store: Subscription, name: str, body: bytes) -> tuple[int, bytes]:
        if method == "GET":
            if name not in store.rules:
                raise BadRequest(404, f"Entity '{store.path}/Rules/{name}' was not found.")
            return 200, _rule_entry(store.rules[name])
        if method == "DELETE":
            store.remove_rule(name)
            return 200, b""
        if method not in ("PUT", "UPDATE"):
            raise BadRequest(405, f"method {method} isn't allowed here")
        rule = _read_rule(name, _description(body), self.namespace.unix_time)
        if method == "UPDATE":
            store.replace_rule(rule)
            return 200, _rule_entry(rule)
        store.add_rule(rule)
        return 201, _rule_entry(rule)


# Requests.


def _split(path: str, word: str) -> tuple[str, bool, str]:
    """Return what stands before a word that is a whole part of a path, whether it's there, and what stands behind."""
    at = f"{path}/".lower().find(f"{word}/")
    return (path, False, "") if at < 1 else (path[:at], True, path[at + len(word) + 1 :])


def _description(body: bytes) -> ElementTree.Element:
    """Return the description in an Atom entry. Raises BadRequest."""
    if len(body) > LARGEST:
        raise BadRequest(413, f"a body has at most {LARGEST} octets")
    try:
        text = body.decode("utf-8-sig")
        if "<!" in text:
            raise BadRequest(400, "the body has a document type, a comment or a section of characters")
        entry = ElementTree.fromstring(text)
    except (ValueError, ElementTree.ParseError) as error:
        raise BadRequest(400, f"the body is no XML: {error}") from None
    content = _child(entry, "content")
    if content is None or len(content) != 1:
        raise BadRequest(400, "the body is no Atom entry whose content is one description")
    return content[0]


def _options(description: ElementTree.Element) -> Options:
    found: dict[str, Any] = {}
    for name, (_, kind) in PROPERTIES.items():
        text = _text(description, name)
        if text:
            found[name] = text == "true" if kind is bool else int(text) if kind is int else text
    duplicates = _text(description, "RequiresDuplicateDetection")
    options = options_of({**found, "RequiresDuplicateDetection": duplicates == "true"})
    changes: dict[str, Any] = {}
    for name, field, unit in (
        ("MaxSizeInMegabytes", "max_octets", 1 << 20),
        ("MaxMessageSizeInKilobytes", "max_message_size", 1 << 10),
    ):
        text = _text(description, name)
        if text and int(text) > 0:
            changes[field] = int(text) * unit
    for name in ("forward_to", "forward_dead_letters_to"):
        where: str = getattr(options, name)
        if "://" in where:
            changes[name] = unquote(urlsplit(where).path).strip("/")
    status = _text(description, "Status")
    if status in ("Active", "Disabled", "SendDisabled", "ReceiveDisabled"):
        changes["status"] = status
    return options._replace(**changes)


def _read_rule(name: str, description: ElementTree.Element, now: float) -> Rule:
    action = _child(description, "Action")
    expression = None if action is None else _text(action, "SqlExpression")
    made = Action(expression) if expression else None
    return Rule(name, _read_filter(_child(description, "Filter")), made, now)


def _read_filter(found: ElementTree.Element | None) -> Filter:
    kind = "TrueFilter" if found is None else found.get(_TYPE, "").rpartition(":")[2]
    if found is None or kind == "TrueFilter":
        return TrueFilter()
    if kind == "FalseFilter":
        return FalseFilter()
    if kind == "SqlFilter":
        return SqlFilter(_text(found, "SqlExpression") or "")
    if kind != "CorrelationFilter":
        raise RuleError(f"filter {kind!r} isn't known")
    fields = {field: text for name, field in _NAMES.items() if (text := _text(found, name))}
    properties: dict[str, Any] = {}
    given = _child(found, "Properties")
    for each in () if given is None else given:
        key, value = _text(each, "Key"), _child(each, "Value")
        if key and value is not None:
            properties[key] = _value(value.get(_TYPE, "").rpartition(":")[2], value.text or "")
    return CorrelationFilter(fields, properties)


def _value(kind: str, text: str) -> Any:
    if kind in ("int", "long"):
        return int(text)
    if kind == "double":
        return float(text)
    return text.lower() == "true" if kind == "boolean" else text


def _local(element: ElementTree.Element) -> str:
    return element.tag.rpartition("}")[2]


def _child(element: ElementTree.Element, name: str) -> ElementTree.Element | None:
    return next((each for each in element if _local(each) == name), None)


def _text(element: ElementTree.Element, name: str) -> str:
    found = _child(element, name)
    return "" if found is None else (found.text or "").strip()


# Answers.


def _entry(name: str, kind: str, fields: Iterable[tuple[str, str]], more: str = "") -> bytes:
    """Return an entry with a description: its fields by name, and further elements."""
    inside = "".join([f"<{field}>{escape(value)}</{field}>" for field, value in fields])
    return (
        f'<entry xmlns="{_ATOM}"><title type="text">{escape(name)}</title><content type="application/xml">'
        f'<{kind} xmlns="{_SERVICE}" xmlns:i="http://www.w3.org/2001/XMLSchema-instance">{inside}{more}</{kind}>'
        "</content></entry>"
    ).encode()


def _feed(title: str, entries: Iterable[bytes]) -> bytes:
    return b"".join((f'<feed xmlns="{_ATOM}"><title type="text">{title}</title>'.encode(), *entries, b"</feed>"))


def _page(entries: list[bytes], query: str) -> list[bytes]:
    """Return the entries that a query asks for: $skip and $top."""
    asked = parse_qs(query)
    skip, top = [int(asked.get(name, [default])[0]) for name, default in (("$skip", "0"), ("$top", str(_PAGE)))]
    return entries[max(0, skip) :][: min(max(0, top), _PAGE)]


def _fields_of(options: Options) -> list[tuple[str, str]]:
    """Return the fields of a description that stand for options."""
    window = options.duplicate_window
    found = [
        ("LockDuration", duration_text(options.lock_duration)),
        ("MaxSizeInMegabytes", str(max(1, options.max_octets >> 20))),
        ("RequiresDuplicateDetection", _truth(bool(window))),
        ("RequiresSession", _truth(options.requires_session)),
        ("DefaultMessageTimeToLive", _FOREVER if options.default_ttl is None else duration_text(options.default_ttl)),
        ("DeadLetteringOnMessageExpiration", _truth(options.dead_letters_expired)),
        ("DuplicateDetectionHistoryTimeWindow", duration_text(window or 600.0)),
        ("MaxDeliveryCount", str(options.max_delivery_count)),
        ("EnableBatchedOperations", "true"),
        ("Status", options.status),
    ]
    for name, value in (
        ("ForwardTo", options.forward_to),
        ("ForwardDeadLetteredMessagesTo", options.forward_dead_letters_to),
    ):
        if value:
            found.append((name, value))
    return found


def _queue_entry(queue: Queue) -> bytes:
    store = queue.store
    counts = {
        "ActiveMessageCount": store.count(ACTIVE),
        "DeadLetterMessageCount": len(queue.dead_letters.messages),
        "ScheduledMessageCount": store.count(SCHEDULED),
        "TransferMessageCount": 0,
        "TransferDeadLetterMessageCount": len(queue.transfer_dead_letters.messages),
    }
    inside = "".join([f"<c:{name}>{count}</c:{name}>" for name, count in counts.items()])
    total = str(len(store.messages) + len(queue.dead_letters.messages))
    is_subscription = isinstance(store, Subscription)
    fields = [*_fields_of(store.options), ("MessageCount", total)]
    if is_subscription:
        # These are the topic's.
        fields = [each for each in fields if each[0] not in ("MaxSizeInMegabytes", "RequiresDuplicateDetection")]
    else:
        fields.append(("SizeInBytes", str(store.octets)))
    name = queue.name.rpartition("/")[2] if is_subscription else queue.name
    kind = "SubscriptionDescription" if is_subscription else "QueueDescription"
    return _entry(name, kind, fields, f'<CountDetails xmlns:c="{_COUNTS}">{inside}</CountDetails>')


def _topic_entry(topic: Topic) -> bytes:
    fields = [each for each in _fields_of(topic.options) if each[0] in _OF_TOPICS]
    fields += [("SizeInBytes", str(topic.octets)), ("SubscriptionCount", str(len(topic.subscriptions)))]
    return _entry(topic.path, "TopicDescription", fields)


def _rule_entry(rule: Rule) -> bytes:
    if rule.action is None:
        action = '<Action i:type="EmptyRuleAction"/>'
    else:
        text = escape(rule.action.expression)
        action = f'<Action i:type="SqlRuleAction"><SqlExpression>{text}</SqlExpression></Action>'
    created = datetime.fromtimestamp(rule.created, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    more = f"{_filter_text(rule.filter)}{action}<CreatedAt>{created}</CreatedAt><Name>{escape(rule.name)}</Name>"
    return _entry(rule.name, "RuleDescription", (), more)


def _filter_text(found: Filter) -> str:
    if isinstance(found, SqlFilter):
        return f'<Filter i:type="SqlFilter"><SqlExpression>{escape(found.expression)}</SqlExpression></Filter>'
    if isinstance(found, CorrelationFilter):
        names = {field: name for name, field in _NAMES.items()}
        inside = "".join([f"<{names[field]}>{escape(value)}</{names[field]}>" for field, value in found.fields.items()])
        pairs = "".join([_pair_text(key, value) for key, value in found.properties.items()])
        return f'<Filter i:type="CorrelationFilter">{inside}<Properties>{pairs}</Properties></Filter>'
    kind, text = ("FalseFilter", "1=0") if isinstance(found, FalseFilter) else ("TrueFilter", "1=1")
    return f'<Filter i:type="{kind}"><SqlExpression>{text}</SqlExpression></Filter>'


def _pair_text(key: str, value: Any) -> str:
    kind = "string"
    if isinstance(value, bool):
        kind = "boolean"
    elif isinstance(value, int):
        kind = "int"
    elif isinstance(value, float):
        kind = "double"
    text = _truth(value) if isinstance(value, bool) else str(value)
    return (
        f"<KeyValueOfstringanyType><Key>{escape(key)}</Key>"
        f'<Value xmlns:l="http://www.w3.org/2001/XMLSchema" i:type="l:{kind}">{escape(text)}</Value>'
        "</KeyValueOfstringanyType>"
    )


def _truth(value: bool) -> str:
    return "true" if value else "false"


def _error(status: int, text: str) -> bytes:
    return f"<Error><Code>{status}</Code><Detail>{escape(text)}</Detail></Error>".encode()


__all__ = ["LARGEST", "Administration"]
