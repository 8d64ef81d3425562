"""Exceptions: each tells who did what and where, which rule that breaks, and what to do."""

from __future__ import annotations

from enum import Enum

from ._checking import TYPE_CHECKING
from .printing import printable

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from ._ground.close_report import CloseReport


class Scope(Enum):
    """How much an error ends: one message, a link, a session, a channel, or the connection."""

    MESSAGE = "message"
    LINK = "link"
    SESSION = "session"
    CHANNEL = "channel"
    CONNECTION = "connection"


class AmqpError(Exception):
    """The base of every exception of this library. Its text may quote the peer, and is `printing.printable`."""

    def __init__(self, *arguments: object) -> None:
        super().__init__(*[printable(each) if isinstance(each, str) else each for each in arguments])


class LocalProtocolError(AmqpError):
    """The caller's request is forbidden by the protocol now; nothing was changed or queued.

    `rule` is the full identifier of the broken rule, such as "0-9-1/channel.flow/react", if there is one.
    """

    def __init__(self, text: str, *, rule: str | None = None) -> None:
        super().__init__(text)
        self.rule = rule

    def __reduce__(self) -> tuple[object, ...]:
        return _rebuild_local, (self.__class__, str(self), self.rule)


class LimitExceeded(LocalProtocolError):
    """The call would exceed a bound of `Limits`; the text names the field and its value."""


class Unsupported(LocalProtocolError):
    """The connection's version has nothing for this call; the text names the version and says what to do instead."""


class EndpointClosed(AmqpError):
    """The call was valid, but the channel or connection has ended; `report` says who closed it and why."""

    def __init__(self, text: str, report: CloseReport | None = None) -> None:
        super().__init__(text)
        self.report = report

    def __reduce__(self) -> tuple[object, ...]:
        return self.__class__, (str(self), self.report)


class AnswerTimeout(AmqpError, TimeoutError):
    """The peer lives, but hasn't answered in time; the text names what it owes.

    A call that raises it has been sent, and may have been executed: its late answer is dropped, and what the call was
    made on stays usable. An end that raises it has given up what it ends: this side takes it as over.
    """


class StaleDelivery(EndpointClosed):
    """A delivery can't be settled any more, because its connection is gone; the broker delivers it again.

    Nothing was sent. Raised by connections that recover.
    """


class VersionRefused(EndpointClosed):
    """The server refused the version of a new connection; `header` is the protocol header that it offers instead."""

    def __init__(self, text: str, report: CloseReport | None = None, header: bytes = b"") -> None:
        super().__init__(text, report)
        self.header = header

    def __reduce__(self) -> tuple[object, ...]:
        return self.__class__, (str(self), self.report, self.header)


class ConsumerEnded(EndpointClosed):
    """A consumer has ended although its channel continues: the server ended it, or this side because it fell behind.

    `consumer_tag` names it; `report` says who ended it and why.
    """

    def __init__(self, text: str, report: CloseReport | None = None, consumer_tag: str = "") -> None:
        super().__init__(text, report)
        self.consumer_tag = consumer_tag

    def __reduce__(self) -> tuple[object, ...]:
        return self.__class__, (str(self), self.report, self.consumer_tag)


class LinkEnded(EndpointClosed):
    """A link of 1.0 has ended although its session continues; `link` names it, `report` says who ended it and why."""

    def __init__(self, text: str, report: CloseReport | None = None, link: str = "") -> None:
        super().__init__(text, report)
        self.link = link

    @property
    def condition(self) -> str:
        """The error's condition ("amqp:not-found"), "" if there was none."""
        return "" if self.report is None else self.report.condition

    def __reduce__(self) -> tuple[object, ...]:
        return self.__class__, (str(self), self.report, self.link)


class SessionEnded(EndpointClosed):
    """A session of 0-10 is no longer attached; `session` is its name, `report` says who ended it and why.

    `resumable`: both ends still know it, so `resume_session` with its `detached_state()` continues it and completes
    pending calls.
    """

    def __init__(
        self, text: str, report: CloseReport | None = None, session: bytes = b"", resumable: bool = False
    ) -> None:
        super().__init__(text, report)
        self.session = session
        self.resumable = resumable

    @property
    def code(self) -> int:
        """The error's code, such as 404 (execution.error-code), or why the peer detached it (session.detach-code).

        0 if there was no error.
        """
        return 0 if self.report is None else self.report.code

    @property
    def condition(self) -> str:
        """The name of the code ("not-found", "session-busy"); "" if there was no error."""
        return "" if self.report is None else self.report.condition

    def __reduce__(self) -> tuple[object, ...]:
        return self.__class__, (str(self), self.report, self.session, self.resumable)


class NotAccepted(AmqpError):
    """A message that had to be accepted wasn't; `outcome` is the receiver's."""

    def __init__(self, text: str, outcome: object) -> None:
        super().__init__(text)
        self.outcome = outcome

    def __reduce__(self) -> tuple[object, ...]:
        return self.__class__, (str(self), self.outcome)


class TokenRefused(AmqpError):
    """The peer doesn't take a token for an entity (1.0, `$cbs`).

    `status` is its number, such as 401, 0 without one, and `description` its text.
    """

    def __init__(self, text: str, status: int = 0, description: str = "") -> None:
        super().__init__(text)
        self.status = status
        self.description = description

    def __reduce__(self) -> tuple[object, ...]:
        return self.__class__, (str(self), self.status, self.description)


class TransactionFailed(AmqpError):
    """A transaction could not be declared or committed; `error` is the coordinator's error record, if it gave one."""

    def __init__(self, text: str, error: object = None) -> None:
        super().__init__(text)
        self.error = error

    @property
    def condition(self) -> str:
        """The error's condition ("amqp:transaction:rollback"), "" if there was none."""
        return str(getattr(self.error, "condition", ""))

    def __reduce__(self) -> tuple[object, ...]:
        return self.__class__, (str(self), self.error)


class RemoteProtocolError(AmqpError):
    """The peer broke a rule. Carried by an event, never raised while reading.

    `scope` is what it ends, `code` the reply code sent to the peer (0: closed without a reply), `channel` the channel
    at fault (0: the connection), `class_id` and `method_id` the method at fault or 0, `offset` the start of the faulty
    unit in the peer's stream, `rule` the rule's identifier or None. 1.0 has no codes and no methods: `condition` is the
    symbol sent to the peer ("amqp:not-allowed"), "" elsewhere. `info` is what else the peer said of its error.
    """

    def __init__(
        self,
        text: str,
        *,
        scope: Scope = Scope.CONNECTION,
        code: int = 0,
        channel: int = 0,
        class_id: int = 0,
        method_id: int = 0,
        offset: int | None = None,
        rule: str | None = None,
        condition: str = "",
        info: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(text)
        self.info: Mapping[str, Any] = {} if info is None else info
        self.scope = scope
        self.code = code
        self.channel = channel
        self.class_id = class_id
        self.method_id = method_id
        self.offset = offset
        self.rule = rule
        self.condition = condition

    def _state(self) -> dict[str, object]:
        return dict(self.__dict__)

    def __reduce__(self) -> tuple[object, ...]:
        return _rebuild_remote, (str(self), self._state())

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, RemoteProtocolError):
            return NotImplemented
        return str(self) == str(other) and self._state() == other._state()

    def __hash__(self) -> int:
        return hash((str(self), self.code, self.channel))


class CodecError(AmqpError, ValueError):
    """Octets that can't be decoded, or a value that can't be encoded.

    `offset` is the position in the given octets, `code` the reply code that the specification requires, `condition` the
    error condition that 1.0 requires ("amqp:decode-error").
    """

    def __init__(
        self,
        text: str,
        *,
        offset: int | None = None,
        code: int | None = None,
        rule: str | None = None,
        condition: str = "",
    ) -> None:
        super().__init__(text)
        self.offset = offset
        self.code = code
        self.rule = rule
        self.condition = condition

    def __reduce__(self) -> tuple[object, ...]:
        return _rebuild_codec, (str(self), self.offset, self.code, self.rule, self.condition)


def _rebuild_local(cls: type[LocalProtocolError], text: str, rule: str | None) -> LocalProtocolError:
    return cls(text, rule=rule)


def _rebuild_remote(text: str, state: dict[str, object]) -> RemoteProtocolError:
    error = RemoteProtocolError(text)
    error.__dict__.update(state)
    return error


def _rebuild_codec(text: str, offset: int | None, code: int | None, rule: str | None, condition: str) -> CodecError:
    return CodecError(text, offset=offset, code=code, rule=rule, condition=condition)


__all__ = [
    "AmqpError",
    "AnswerTimeout",
    "CodecError",
    "ConsumerEnded",
    "EndpointClosed",
    "LimitExceeded",
    "LinkEnded",
    "LocalProtocolError",
    "NotAccepted",
    "RemoteProtocolError",
    "Scope",
    "SessionEnded",
    "StaleDelivery",
    "TokenRefused",
    "TransactionFailed",
    "Unsupported",
    "VersionRefused",
]
