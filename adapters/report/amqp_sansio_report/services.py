"""Services: requests to nodes such as `$cbs` and `$management`, paired with their answers, and what their errors mean.

The nodes are those of OASIS AMQP Claims-Based Security and AMQP Management 1.0, and of Azure's services.
"""

from __future__ import annotations

import re
from base64 import b64decode
from collections.abc import Mapping
from typing import Any, Final, NamedTuple, TypeVar, cast
from uuid import UUID

from .scales import clock

_K = TypeVar("_K")
_V = TypeVar("_V")
_MOST: Final = 256
"""Requests that wait for their answer, entities with a token, and deliveries that are known, of one connection."""
_PUT: Final = "put-token"
_OK: Final = 300
_MS: Final = 1_000_000
_NODES: Final = ("$cbs", "$management")
_TRACKED: Final = re.compile(r"\s*TrackingId:\s*([^\s,]+)(?:,\s*SystemTracker:[^,]*)?(?:,\s*Timestamp:\s*\S+)?")
"""The end of the texts of Azure's services: every text is another one, and support asks for the id."""
_LOCK: Final = 16
"""Octets of a lock token, which is a delivery's tag (Azure Service Bus)."""

_HINTS: Final[Mapping[str, str]] = {
    "com.microsoft:server-busy": "the service throttles; its clients wait four seconds before they try again",
    "com.microsoft:message-lock-lost": (
        "the lock had ended before the message was settled, or it came on another link: renew it, or give the entity a "
        "longer one"
    ),
    "com.microsoft:session-lock-lost": "the lock of the session had ended: renew it, and accept the session again",
    "com.microsoft:session-cannot-be-locked": "another receiver has the session",
    "com.microsoft:timeout": "no session had a message in the time that the client gives",
    "com.microsoft:entity-disabled": "somebody has disabled the entity",
    "amqp:link:stolen": "a receiver with the same or a higher epoch has taken the partition",
}
_UNAUTHORIZED: Final = "amqp:unauthorized-access"
_FORCED: Final = "amqp:link:detach-forced"
_CLOSED: Final = "amqp:connection:forced"

Fields = Mapping[str, Any]


class Answered(NamedTuple):
    """A request with its answer: what was asked, for what entity, the status or condition, and how long it took."""

    operation: str
    entity: str
    status: str
    took_ns: int | None
    asked_ns: int
    asked_seq: int | None
    failure: Failure | None


class Failure(NamedTuple):
    """A failure that an answer tells of: the condition or the status, the text, and what it means."""

    code: str
    text: str
    hint: str


class _Asked(NamedTuple):
    operation: str
    entity: str
    expires_ns: int | None
    seq: int
    ts_ns: int


class Services:
    """The requests of one connection, when the tokens end that it put, and the deliveries of its service."""

    __slots__ = ("_asked", "_deliveries", "_detached", "_tokens")

    def __init__(self) -> None:
        self._asked: dict[str, _Asked] = {}
        """Requests without an answer, by their message-id."""
        self._tokens: dict[str, int | None] = {}
        """When the token of an entity ends, in nanoseconds; None: it doesn't say."""
        self._deliveries: dict[tuple[int, int], str] = {}
        """The last deliveries of the server in words, by channel and delivery-id."""
        self._detached: dict[int, tuple[str, str]] = {}
        """The error of the last detaches, by their unit."""

    def transfer(
        self, at: tuple[int, int, int], sender: str, fields: Fields, place: tuple[str, str] | None
    ) -> Answered | None:
        """Take the fields of a transfer of 1.0; return the answer that it is, if any.

        `at` are the transfer's time, its number and its channel, `place` the name and the address of its link.
        """
        ts_ns, seq, channel = at
        address = "" if place is None else place[1]
        told: Fields = fields.get("application_properties") or {}
        properties: Fields = fields.get("properties") or {}
        if sender == "server":
            self._deliver(channel, fields, place)
            correlation = properties.get("correlation_id")
            if correlation is not None and ("statusCode" in told or "status-code" in told):
                return self._answered(ts_ns, str(correlation), told)
        elif "operation" in told and properties.get("message_id") is not None:
            self._ask(str(properties["message_id"]), told, address, seq, ts_ns)
        return None

    def unanswered(self) -> list[Answered]:
        """Return the requests that no answer was seen for."""
        return [Answered(one.operation, one.entity, "", None, one.ts_ns, one.seq, None) for one in self._asked.values()]

    def delivery(self, channel: int, delivery_id: object) -> str:
        """Return words on a delivery of the server: its lock and its link; "" if it isn't known."""
        return self._deliveries.get((channel, delivery_id), "") if isinstance(delivery_id, int) else ""

    def echoes(self, seq: int, answers: int | None, code: str, text: str) -> bool:
        """Take the error of a detach; return whether it only repeats that of the one it answers, as SDKs do."""
        if answers is not None and self._detached.get(answers) == (code, text):
            return True
        _keep(self._detached, seq, (code, text))
        return False

    def hint(self, code: str, text: str, address: str, ts_ns: int) -> str:
        """Return what an error of a service means, for a link to `address`; "" if nothing is known of it."""
        if code == _UNAUTHORIZED:
            return self._without_token(address, ts_ns)
        return meaning(code, text)

    @property
    def waiting(self) -> int:
        """The requests without an answer that are known."""
        return len(self._asked)

    # Internals.

    def _deliver(self, channel: int, fields: Fields, place: tuple[str, str] | None) -> None:
        number = fields.get("delivery_id")
        if not isinstance(number, int) or place is None or is_node(place[1]):
            return
        lock = lock_of(fields.get("delivery_tag"))
        where = f"link {place[0]} of {place[1]}"
        _keep(self._deliveries, (channel, number), f"lock {lock}, {where}" if lock else where)

    def _ask(self, message_id: str, told: Fields, address: str, seq: int, ts_ns: int) -> None:
        operation = str(told.get("operation", ""))
        entity, expires = address, None
        if operation == _PUT:
            entity = _path(str(told.get("name", "")))
            found = told.get("expiration")
            expires = found * _MS if isinstance(found, int) else None
        _keep(self._asked, message_id, _Asked(operation, entity, expires, seq, ts_ns))

    def _answered(self, ts_ns: int, correlation: str, told: Fields) -> Answered | None:
        asked = self._asked.pop(correlation, None)
        status = told.get("statusCode", told.get("status-code"))
        if not isinstance(status, int):
            return None
        if asked is not None and asked.operation == _PUT and status < _OK:
            _keep(self._tokens, asked.entity, asked.expires_ns)
        condition = str(told.get("errorCondition", told.get("error-condition")) or "")
        operation = "a request" if asked is None else asked.operation
        entity = "" if asked is None else asked.entity
        failure: Failure | None = None
        if status >= _OK:
            said = str(told.get("statusDescription", told.get("status-description")) or "")
            text = beside(" ".join([each for each in (str(status) if condition else "", said) if each]), entity)
            failure = Failure(condition or str(status), text, self.hint(condition, said, entity, ts_ns))
        took = None if asked is None else ts_ns - asked.ts_ns
        asked_ns, seq = (ts_ns, None) if asked is None else (asked.ts_ns, asked.seq)
        return Answered(operation, entity, f"{status} {condition}".strip(), took, asked_ns, seq, failure)

    def _without_token(self, address: str, ts_ns: int) -> str:
        """Return why a link may have no right to its entity, as far as tokens tell."""
        entity = _path(address)
        if not self._tokens:
            return ""
        if entity not in self._tokens:
            return f"no token was put for {entity}" if entity else ""
        expires_ns = self._tokens[entity]
        if expires_ns is None or expires_ns > ts_ns:
            return ""
        return f"its token had expired at {clock(expires_ns)}, and no other was put"


def is_node(address: str) -> bool:
    """Whether an address is that of a node for requests, whose answers needn't be settled.

    >>> is_node("$cbs"), is_node("amqps://host/orders/$management"), is_node("orders/$DeadLetterQueue")
    (True, True, False)
    """
    return address.rpartition("/")[2].lower() in _NODES


def lock_of(tag: object) -> str:
    """Return the lock token that a delivery-tag is, as the SDKs write it; "" if it is none.

    >>> lock_of({"base64": "AQIDBAUGBwgJCgsMDQ4PEA=="})
    '04030201-0605-0807-090a-0b0c0d0e0f10'
    """
    if not isinstance(tag, Mapping):
        return ""
    octets = b64decode(str(cast("Fields", tag).get("base64", "")))
    return str(UUID(bytes_le=octets)) if len(octets) == _LOCK else ""


def tracked(text: str) -> tuple[str, str]:
    """Return an error's text without what makes it another one each time, and its tracking id, "" without one.

    >>> tracked("It is gone. TrackingId:9ab9_G0, SystemTracker:ns:Queue:orders, Timestamp:2026-11-29T01:23:02 (orders)")
    ('It is gone. (orders)', '9ab9_G0')
    """
    found = _TRACKED.search(text)
    return (text, "") if found is None else (text[: found.start()] + text[found.end() :], found[1])


def beside(text: str, words: str) -> str:
    """Return an error's text with words on what it is about.

    >>> beside("It is gone.", "orders"), beside("", "orders"), beside("It is gone.", "")
    ('It is gone. (orders)', '(orders)', 'It is gone.')
    """
    return f"{text} ({words})".strip() if words else text


def meaning(code: str, text: str) -> str:
    """Return what a condition of Azure's services means, with its text; "" if nothing is known of it."""
    if code == _FORCED and "idle" in text.lower():
        return "the link moved no message for that time, and heartbeats don't count: clients attach it again"
    if code == _CLOSED and "inactive" in text.lower():
        return "the connection had no link for that time: close what isn't used, and connect again when it is"
    return _HINTS.get(code, "")


def _keep(book: dict[_K, _V], key: _K, value: _V) -> None:
    """Keep a value, in place of the oldest one where there are `_MOST`."""
    if len(book) >= _MOST:
        del book[next(iter(book))]
    book[key] = value


def _path(address: str) -> str:
    """Return the entity of an address or an audience: the path of a URI."""
    _, separator, rest = address.partition("://")
    return (rest.partition("/")[2] if separator else address).strip("/").removesuffix("/$management")


__all__ = ["Answered", "Failure", "Services", "beside", "is_node", "lock_of", "meaning", "tracked"]
