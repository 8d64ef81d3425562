"""Services: requests to nodes such as `$cbs` and `$management`, paired with their answers, and what their errors mean.

The nodes are those of OASIS AMQP Claims-Based Security and AMQP Management 1.0, and of Azure's services.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from .scales import clock

_MOST: Final = 256
"""Requests that wait for their answer, and entities with a token, of one connection."""
_PUT: Final = "put-token"
_OK: Final = 300
_MS: Final = 1_000_000

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


class Answer(NamedTuple):
    """The answer to a request that says it failed: what was asked, for what, the code or condition, and the text."""

    operation: str
    code: str
    text: str
    hint: str
    asked_seq: int | None


class _Asked(NamedTuple):
    operation: str
    entity: str
    expires_ns: int | None
    seq: int


class Services:
    """The requests of one connection, and when the tokens end that it put."""

    __slots__ = ("_asked", "_tokens")

    def __init__(self) -> None:
        self._asked: dict[str, _Asked] = {}
        self._tokens: dict[str, int | None] = {}

    def message(self, row: Any) -> Answer | None:
        """Take a row of messages; return the answer that it is, if that tells of a failure."""
        text: str | None = row.headers
        if text is None or row.protocol != "1.0":
            return None
        if row.kind == "publish" and '"operation"' in text and row.message_id is not None:
            self._ask(row, json.loads(text))
        elif row.kind == "deliver" and row.correlation_id is not None and '"status' in text:
            return self._answered(row, json.loads(text))
        return None

    def hint(self, code: str, text: str, address: str, ts_ns: int) -> str:
        """Return what an error of a service means, for a link to `address`; "" if nothing is known of it."""
        if code == _UNAUTHORIZED:
            return self._without_token(address, ts_ns)
        if code == _FORCED and "idle" in text.lower():
            return "the link moved no message for that time, and heartbeats don't count: clients attach it again"
        return _HINTS.get(code, "")

    @property
    def waiting(self) -> int:
        """The requests without an answer that are known."""
        return len(self._asked)

    # Internals.

    def _ask(self, row: Any, fields: Mapping[str, Any]) -> None:
        operation = str(fields.get("operation", ""))
        entity, expires = str(row.address or ""), None
        if operation == _PUT:
            entity = _path(str(fields.get("name", "")))
            found = fields.get("expiration")
            expires = found * _MS if isinstance(found, int) else None
        if len(self._asked) >= _MOST:
            del self._asked[next(iter(self._asked))]
        self._asked[str(row.message_id)] = _Asked(operation, entity, expires, row.seq)

    def _answered(self, row: Any, fields: Mapping[str, Any]) -> Answer | None:
        asked = self._asked.pop(str(row.correlation_id), None)
        status = fields.get("statusCode", fields.get("status-code"))
        if not isinstance(status, int):
            return None
        if asked is not None and asked.operation == _PUT and status < _OK:
            if len(self._tokens) >= _MOST:
                del self._tokens[next(iter(self._tokens))]
            self._tokens[asked.entity] = asked.expires_ns
        if status < _OK:
            return None
        condition = str(fields.get("errorCondition", fields.get("error-condition")) or "")
        said = str(fields.get("statusDescription", fields.get("status-description")) or "")
        entity = "" if asked is None else f" ({asked.entity})" if asked.entity else ""
        text = " ".join([each for each in (str(status) if condition else "", said) if each])
        return Answer(
            "a request" if asked is None else asked.operation,
            condition or str(status),
            f"{text}{entity}".strip(),
            self.hint(condition, said, asked.entity if asked is not None else "", row.ts_ns),
            None if asked is None else asked.seq,
        )

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


def _path(address: str) -> str:
    """Return the entity of an address or an audience: the path of a URI."""
    _, separator, rest = address.partition("://")
    return (rest.partition("/")[2] if separator else address).strip("/").removesuffix("/$management")


__all__ = ["Answer", "Services"]
