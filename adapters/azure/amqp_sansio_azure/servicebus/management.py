"""`ENTITY/$management`: requests about messages, sessions and rules."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final, Protocol
from uuid import UUID

from amqp_sansio.amqp_1_0 import Accepted, Described, Error, Modified, Rejected, Symbol, Timestamp
from amqp_sansio.amqp_1_0.codec.conditions import NOT_ALLOWED, NOT_IMPLEMENTED
from amqp_sansio.amqp_1_0.spec import Array, Int, ULong
from amqp_sansio.broker.nodes import ACCEPTED, Attachment, Refusal, Step

from ..conditions import ARGUMENT_ERROR, DEAD_LETTER, MESSAGE_NOT_FOUND, SESSION_NOT_FOUND
from ..requests import Reply, Request, RequestNode, map_of
from ..tokens import LISTEN, SEND
from .messages import Arrival
from .nodes import EntityHost, SettleStep
from .rules import Action, CorrelationFilter, FalseFilter, Filter, Rule, RuleError, SqlFilter, TrueFilter
from .stores import DESCRIPTION, REASON
from .topics import Subscription

if TYPE_CHECKING:
    from amqp_sansio.amqp_1_0 import Delivery, DeliveryState

    from .stores import Store

_PREFIX: Final = "com.microsoft:"
_PEEKED: Final = 250
_MOST: Final = 4000
"""Messages of one answer, and numbers or locks of one request."""
_ROOM: Final = 512
"""Octets of a reply around its messages."""
_NEVER: Final = 253_402_300_800_000
"""The first millisecond of the year 10000 asks for sessions with messages or a state, whenever it was set."""

_CORRELATION: Final[Mapping[str, str]] = {
    "correlation-id": "correlation_id",
    "message-id": "message_id",
    "to": "to",
    "reply-to": "reply_to",
    "label": "subject",
    "session-id": "group_id",
    "reply-to-session-id": "reply_to_group_id",
    "content-type": "content_type",
}
RULE: Final = Symbol("com.microsoft:rule-description:list")
_SQL_FILTER: Final = Symbol("com.microsoft:sql-filter:list")
_TRUE_FILTER: Final = Symbol("com.microsoft:true-filter:list")
_FALSE_FILTER: Final = Symbol("com.microsoft:false-filter:list")
_CORRELATION_FILTER: Final = Symbol("com.microsoft:correlation-filter:list")
_EMPTY_ACTION: Final = Symbol("com.microsoft:empty-rule-action:list")
_SQL_ACTION: Final = Symbol("com.microsoft:sql-rule-action:list")
_CODES: Final[Mapping[Symbol, int]] = {
    RULE: 0x13700000004,
    _SQL_FILTER: 0x1370000006,
    _TRUE_FILTER: 0x1370000007,
    _FALSE_FILTER: 0x1370000008,
    _CORRELATION_FILTER: 0x1370000009,
    _EMPTY_ACTION: 0x13700000005,
    _SQL_ACTION: 0x13700000006,
}
_COMPATIBILITY: Final = 20


class ManagementHost(EntityHost, Protocol):
    """The part of the namespace that management uses."""

    def has_claim(self, link: Attachment, path: str) -> None:
        """Raise Refusal unless the client has any right at an entity."""
        ...


class ManagementNode(RequestNode):
    """The management of an entity: `store` has its messages."""

    def __init__(self, host: ManagementHost, store: Store) -> None:
        super().__init__(host, f"{store.path}/$management")
        self.entities = host
        self.store = store

    def attach(self, link: Attachment) -> None:
        self.entities.has_claim(link, self.path)
        super().attach(link)

    def answer(self, request: Request) -> Reply:
        name = request.operation
        found = _OPERATIONS.get(name.removeprefix(_PREFIX)) if name.startswith(_PREFIX) else None
        if found is None:
            raise self.refusal(NOT_IMPLEMENTED, f"The operation '{name[:100]}' is not supported.")
        right, method = found
        self.entities.require(request.link.peer, right, self.path)
        associated = request.properties.get("associated-link-name")
        if isinstance(associated, str):
            for link in request.link.peer.attachments.values():
                if link.name == associated:
                    self.entities.used(link)
        return method(self, request)

    def post(self, link: Attachment, delivery: Delivery) -> tuple[DeliveryState, Step | None]:
        steps: list[Step] = []

        def prepare(request: Request) -> Reply:
            reply, step = self._prepare(request)
            steps.append(step)
            return reply

        where = self.reply_to(link, delivery, prepare)
        self.send(where)
        return ACCEPTED, steps[0] if steps else None

    def _prepare(self, request: Request) -> tuple[Reply, Step]:
        """Return the reply to a request of a transaction, and what is done when that ends."""
        name = request.operation.removeprefix(_PREFIX)
        if name == "schedule-message":
            self.entities.require(request.link.peer, SEND, self.path)
            return self._scheduling(request)
        if name == "update-disposition":
            self.entities.require(request.link.peer, LISTEN, self.path)
            return Reply(), self._disposition(request).bound()
        raise self.refusal(NOT_IMPLEMENTED, f"'{request.operation[:100]}' takes no part in transactions.")

    def refusal(self, condition: str, text: str) -> Refusal:
        """Return a refusal about the entity."""
        return self.entities.refusal(condition, text, self.store.path)

    # Messages.

    def renew_lock(self, request: Request) -> Reply:
        """Renew locks of messages."""
        until = [self.store.renew(each) for each in self._tokens(request)]
        return Reply(body={"expirations": Array([_timestamp(each) for each in until], Timestamp)})

    def peek(self, request: Request) -> Reply:
        """Return messages without locking them."""
        start, count = request.of("from-sequence-number", int, 0), request.of("message-count", int, 1)
        if count <= 0:
            raise self.refusal(ARGUMENT_ERROR, f"message-count {count} isn't positive.")
        session = request.of("session-id", str)
        room = request.link.peer.connection.config.limits.bodies
        told: list[dict[str, Any]] = []
        for each in self.store.peek(start, min(count, _PEEKED), session):
            octets = each.payload(says_state=True)
            room -= len(octets) + _ROOM
            if told and room < 0:
                break
            told.append({"message": octets})
        if not told:
            return Reply(204, "No messages.", condition=MESSAGE_NOT_FOUND)
        return Reply(body={"messages": told})

    def schedule(self, request: Request) -> Reply:
        """Take messages for later."""
        reply, step = self._scheduling(request)
        step.commit()
        return reply

    def _scheduling(self, request: Request) -> tuple[Reply, ScheduleStep]:
        """Check messages for later, and give them their numbers."""
        store = self.store
        arrivals: list[Arrival] = []
        for each in _list(request.of("messages", (list, Array))):
            octets: Any = map_of(each).get("message")
            if not isinstance(octets, bytes):
                raise self.refusal(ARGUMENT_ERROR, "each of the messages is a map with the octets of a message.")
            arrivals.append(Arrival(octets))
        if not 0 < len(arrivals) <= _MOST:
            raise self.refusal(ARGUMENT_ERROR, f"a request has 1 to {_MOST} messages.")
        store.check(arrivals)
        numbers = [store.reserve() for _ in arrivals]
        step = ScheduleStep(store, tuple(zip(arrivals, numbers, strict=True)))
        return Reply(body={"sequence-numbers": Array(numbers, int)}), step

    def cancel(self, request: Request) -> Reply:
        """Remove scheduled messages."""
        self.store.cancel(self._numbers(request))
        return Reply()

    def receive_deferred(self, request: Request) -> Reply:
        """Take deferred messages."""
        locks = request.of("receiver-settle-mode", int, 1) == 1
        session = request.of("session-id", str)
        found = self.store.receive_deferred(self._numbers(request), locks=locks, session=session)
        told: list[dict[str, Any]] = []
        for each in found:
            # The SDK for Go reads the token in the message, the others beside it.
            entry: dict[str, Any] = {"message": each.payload(says_lock=True)}
            if each.lock is not None:
                entry["lock-token"] = UUID(bytes_le=each.lock.token)
            told.append(entry)
        return Reply(body={"messages": told})

    def dispose(self, request: Request) -> Reply:
        """Settle messages by their locks."""
        self._disposition(request).commit()
        return Reply()

    def _disposition(self, request: Request) -> SettleStep:
        """Check what is to become of messages. Raises Refusal."""
        status = str(request.of("disposition-status", str, ""))
        tokens = self._tokens(request)
        found = map_of(request.of("properties-to-modify", Mapping))
        changes: dict[Any, Any] = {str(key): value for key, value in found.items()}
        store = self.store
        session = request.of("session-id", str)
        if session is not None and store.options.requires_session:
            # What became of the session's lock says more than what became of the message's.
            store.held_session(str(session))
        for token in tokens:
            store.held(token)
        outcome: DeliveryState
        if status == "completed":
            outcome = Accepted()
        elif status == "abandoned":
            outcome = Modified(True, False, changes)
        elif status in ("defered", "deferred"):
            outcome = Modified(True, True, changes)
        elif status == "suspended":
            reason, text = request.of("deadletter-reason", str), request.of("deadletter-description", str)
            told = {REASON: reason, DESCRIPTION: text}
            outcome = Rejected(Error(DEAD_LETTER, None, {**changes, **{name: it for name, it in told.items() if it}}))
        else:
            raise self.refusal(ARGUMENT_ERROR, f"disposition-status '{status[:60]}' isn't known.")
        step = SettleStep(store, tuple(tokens), outcome)
        problem = step.problem()
        if problem:
            raise self.refusal(NOT_ALLOWED, problem)
        return step

    def delete(self, request: Request) -> Reply:
        """Remove messages that came before a time."""
        count = request.of("message-count", int, 0)
        before = request.of("enqueued-time-utc", int)
        if not 0 < count <= _MOST:
            raise self.refusal(ARGUMENT_ERROR, f"message-count is 1 to {_MOST}.")
        done = self.store.delete(count, self.entities.unix_time if before is None else before / 1000)
        return Reply(body={"message-count": Int(done)})

    # Sessions.

    def renew_session_lock(self, request: Request) -> Reply:
        """Renew the lock of a session."""
        return Reply(body={"expiration": _timestamp(self.store.renew_session(self._session(request)))})

    def get_session_state(self, request: Request) -> Reply:
        """Return the state of a session."""
        return Reply(body={"session-state": self.store.held_session(self._session(request)).state})

    def set_session_state(self, request: Request) -> Reply:
        """Set the state of a session."""
        self.store.set_state(self._session(request), request.of("session-state", bytes))
        return Reply()

    def get_message_sessions(self, request: Request) -> Reply:
        """Return the ids of sessions."""
        updated = request.of("last-updated-time", int, _NEVER)
        skip, top = max(0, request.of("skip", int, 0)), max(0, request.of("top", int, 100))
        ids = self.store.session_ids(None if updated >= _NEVER else updated / 1000)[skip : skip + min(top, _MOST)]
        if not ids:
            return Reply(204, "No sessions.", condition=SESSION_NOT_FOUND)
        return Reply(body={"skip": Int(skip + len(ids)), "sessions-ids": Array(ids, str)})

    # Rules.

    def add_rule(self, request: Request) -> Reply:
        """Add a rule to a subscription."""
        name = str(request.of("rule-name", str, ""))
        try:
            rule = read_rule(name, request.of("rule-description", Mapping, {}), self.entities.unix_time)
        except RuleError as error:
            raise self.refusal(ARGUMENT_ERROR, f"{error}.") from None
        self._subscription().add_rule(rule)
        return Reply()

    def remove_rule(self, request: Request) -> Reply:
        """Remove a rule of a subscription."""
        self._subscription().remove_rule(str(request.of("rule-name", str, "")))
        return Reply()

    def enumerate_rules(self, request: Request) -> Reply:
        """Return the rules of a subscription."""
        skip, top = max(0, request.of("skip", int, 0)), max(0, request.of("top", int, 100))
        rules = list(self._subscription().rules.values())[skip : skip + top]
        if not rules:
            return Reply(204, "No rules.")
        return Reply(body={"rules": [{"rule-description": described_rule(each)} for each in rules]})

    # Internals.

    def _subscription(self) -> Subscription:
        if not isinstance(self.store, Subscription):
            raise self.refusal(NOT_ALLOWED, "only subscriptions have rules.")
        return self.store

    def _tokens(self, request: Request) -> list[bytes]:
        found = _list(request.of("lock-tokens", (list, Array)))
        tokens = [each.bytes_le for each in found if isinstance(each, UUID)]
        if not 0 < len(tokens) <= _MOST or len(tokens) != len(found):
            raise self.refusal(ARGUMENT_ERROR, f"lock-tokens are an array of 1 to {_MOST} uuids.")
        return tokens

    def _numbers(self, request: Request) -> list[int]:
        found = _list(request.of("sequence-numbers", (list, Array)))
        numbers = [each for each in found if isinstance(each, int) and not isinstance(each, bool)]
        if not 0 < len(numbers) <= _MOST or len(numbers) != len(found):
            raise self.refusal(ARGUMENT_ERROR, f"sequence-numbers are an array of 1 to {_MOST} longs.")
        return numbers

    def _session(self, request: Request) -> str:
        found = request.of("session-id", str)
        if found is None:
            raise self.refusal(ARGUMENT_ERROR, "the request names no session.")
        return str(found)


class ScheduleStep(Step):
    """Messages for later, with their numbers."""

    __slots__ = ("scheduled", "store")

    def __init__(self, store: Store, scheduled: tuple[tuple[Arrival, int], ...]) -> None:
        self.store = store
        self.scheduled = scheduled

    def problem(self) -> str:
        try:
            self.store.check([arrival for arrival, _ in self.scheduled])
        except Refusal as refusal:
            return refusal.text
        return ""

    def commit(self) -> None:
        for arrival, number in self.scheduled:
            self.store.schedule(arrival, arrival.scheduled or 0.0, number)


_OPERATIONS: Final[Mapping[str, tuple[str, Callable[[ManagementNode, Request], Reply]]]] = {
    "renew-lock": (LISTEN, ManagementNode.renew_lock),
    "peek-message": (LISTEN, ManagementNode.peek),
    "schedule-message": (SEND, ManagementNode.schedule),
    "cancel-scheduled-message": (SEND, ManagementNode.cancel),
    "receive-by-sequence-number": (LISTEN, ManagementNode.receive_deferred),
    "update-disposition": (LISTEN, ManagementNode.dispose),
    "batch-delete-messages": (LISTEN, ManagementNode.delete),
    "renew-session-lock": (LISTEN, ManagementNode.renew_session_lock),
    "get-session-state": (LISTEN, ManagementNode.get_session_state),
    "set-session-state": (LISTEN, ManagementNode.set_session_state),
    "get-message-sessions": (LISTEN, ManagementNode.get_message_sessions),
    "add-rule": (LISTEN, ManagementNode.add_rule),
    "remove-rule": (LISTEN, ManagementNode.remove_rule),
    "enumerate-rules": (LISTEN, ManagementNode.enumerate_rules),
}
"""Operations behind "com.microsoft:": the right that each needs, and what carries it out."""


def read_rule(name: str, description: Mapping[Any, Any], now: float) -> Rule:
    """Return the rule that a map describes. Raises RuleError.

    >>> read_rule("red", {"sql-filter": {"expression": "colour = 'red'"}}, 0.0).name
    'red'
    """
    expression = map_of(description.get("sql-rule-action")).get("expression")
    made = Action(expression) if isinstance(expression, str) and expression.strip() else None
    return Rule(name, _read_filter(description), made, now)


def _read_filter(description: Mapping[Any, Any]) -> Filter:
    if isinstance(description.get("correlation-filter"), Mapping):
        known = map_of(description.get("correlation-filter"))
        given = {field: known.get(name) for name, field in _CORRELATION.items()}
        found = {field: str(value) for field, value in given.items() if value is not None}
        properties = {str(key): value for key, value in map_of(known.get("properties")).items()}
        return CorrelationFilter(found, properties)
    if isinstance(description.get("sql-filter"), Mapping):
        return SqlFilter(str(map_of(description.get("sql-filter")).get("expression") or ""))
    if "true-filter" in description:
        return TrueFilter()
    if "false-filter" in description:
        return FalseFilter()
    raise RuleError("a rule's description has a sql-filter or a correlation-filter")


def described_rule(rule: Rule) -> Described:
    """Return the described list of a rule, as enumerate-rules has it."""
    action = (
        _described(_EMPTY_ACTION, [])
        if rule.action is None
        else _described(_SQL_ACTION, [rule.action.expression, Int(_COMPATIBILITY)])
    )
    return _described(RULE, [_described_filter(rule.filter), action, rule.name, _timestamp(rule.created)])


def _described_filter(found: Filter) -> Described:
    if isinstance(found, SqlFilter):
        return _described(_SQL_FILTER, [found.expression, Int(_COMPATIBILITY)])
    if isinstance(found, CorrelationFilter):
        fields: list[Any] = [found.fields.get(name) for name in _CORRELATION.values()]
        return _described(_CORRELATION_FILTER, [*fields, dict(found.properties)])
    return _described(_FALSE_FILTER if isinstance(found, FalseFilter) else _TRUE_FILTER, [])


def _described(symbol: Symbol, fields: list[Any]) -> Described:
    return Described(ULong(_CODES[symbol]), fields)


def _timestamp(seconds: float) -> Timestamp:
    return Timestamp(int(seconds * 1000))


def _list(value: Any) -> list[Any]:
    return [] if value is None else list(value)


__all__ = ["ManagementNode", "described_rule", "read_rule"]
