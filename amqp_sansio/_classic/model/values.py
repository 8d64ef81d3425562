"""Values: what fields may hold beyond their wire type, for every dialect and for those of the specifications.

Sources: the asserts and rules in the XML of both versions. Only strict dialects enforce the rules that brokers and
clients disregard in practice: names of any octets up to 255, the virtual host of any name, tickets and return texts
left out.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from ...errors import Scope
from ...versions import AMQP_0_8, Version
from ..codec.violation import ACCESS_REFUSED, NOT_IMPLEMENTED, SYNTAX_ERROR, Violation

if TYPE_CHECKING:
    from ..codec.dialect import Dialect
    from ..codec.method import Method

LONGEST_NAME: Final = 127
PRECONDITION_FAILED: Final = 406
OPERATIONS: Final = 3
"""The test class of 0-8 names three operations, add, min and max, and no numbers: 0, 1 and 2 here."""

_ALNUM: Final = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789")
_NAME: Final = _ALNUM | frozenset("-_.:")
_PATH_PART: Final = _ALNUM | frozenset(".-_+!=:")
# The assert of 0-8 has a range from the slash to the underscore, which leaves out the hyphen and the full stop.
_VHOST: Final = _ALNUM | frozenset(map(chr, range(ord("/"), ord("_") + 1)))


def check_values(dialect: Dialect, method: Method) -> None:
    """Refuse a method with a field that holds what it may not. Raises Violation."""
    always = _ALWAYS.get(method.NAME)
    if always is not None:
        always(method)
    if dialect.strict and method.NAME not in _CLOSES:
        for name, _ in method.FIELDS:
            check = _STRICT.get(name)
            if check is not None:
                check(dialect.version, method.NAME, getattr(method, name))


def check_vhost(version: Version, vhost: str) -> None:
    """Refuse a virtual host that the specification doesn't allow. Raises Violation."""
    if not vhost:
        raise _wrong("domain/path.notnull", "the virtual host is empty")
    _check_length("domain/path.length", "virtual host", vhost)
    if version is not AMQP_0_8 or vhost == "/":
        # "/" has no part, which 0-8 wants; it's the default of every broker all the same.
        return
    if not _is_path(vhost):
        raise _wrong("domain/path.syntax", f"virtual host {vhost!r} isn't made of /parts")
    if not _VHOST.issuperset(vhost):
        raise _wrong("connection.open/vhost-regexp", f"virtual host {vhost!r} has a character that 0-8 leaves out")


def _is_path(path: str) -> bool:
    parts = path.split("/")
    return not parts[0] and all(
        [_PATH_PART.issuperset(part) and not _ALNUM.isdisjoint(part) for part in parts[1:]]
    )


def _wrong(rule: str, text: str, code: int = SYNTAX_ERROR, scope: Scope = Scope.CONNECTION) -> Violation:
    return Violation(code, text, rule=rule, scope=scope)


def _check_length(rule: str, what: str, value: str) -> None:
    size = len(value.encode("utf-8", "surrogateescape"))
    if size > LONGEST_NAME:
        raise _wrong(rule, f"{what} of {size} octets, {LONGEST_NAME} are the most")


def _check_exchange(version: Version, method: str, name: str) -> None:
    _check_length("domain/exchange-name.length", "exchange name", name)
    if method in ("exchange.declare", "exchange.delete") and not name:
        rule = f"{method}/name-notnull"
        if version is AMQP_0_8 and method == "exchange.declare":
            rule = "exchange.declare/name-regexp"
        raise _name_fault(version, method, rule, "the exchange name is empty")
    if not _NAME.issuperset(name) and (version is not AMQP_0_8 or method == "exchange.declare"):
        rule = _syntax_rule(version, method, "exchange")
        raise _name_fault(version, method, rule, f"exchange name {name!r} has more than letters, digits and -_.:")


def _check_queue(version: Version, method: str, name: str) -> None:
    _check_length("domain/queue-name.length", "queue name", name)
    if not name and method == "queue.declare-ok":
        raise _wrong("queue.declare-ok/name-notnull", "the queue name is empty")
    if not _NAME.issuperset(name) and (version is not AMQP_0_8 or method == "queue.declare"):
        rule = _syntax_rule(version, method, "queue")
        raise _name_fault(version, method, rule, f"queue name {name!r} has more than letters, digits and -_.:")


def _syntax_rule(version: Version, method: str, kind: str) -> str:
    if method != f"{kind}.declare":
        return f"domain/{kind}-name.regexp"
    return f"{method}/{'name-regexp' if version is AMQP_0_8 else 'name-syntax'}"


def _name_fault(version: Version, method: str, rule: str, text: str) -> Violation:
    """0-9-1 ends only the channel for a bad name in declare; for others no code is given: a syntax error."""
    if version is not AMQP_0_8 and method in ("exchange.declare", "queue.declare"):
        return _wrong(rule, text, PRECONDITION_FAILED, Scope.CHANNEL)
    return _wrong(rule, text)


def _check_type(version: Version, method: str, value: str) -> None:
    if version is AMQP_0_8 and not (value and _NAME.issuperset(value)):
        raise _wrong("exchange.declare/type-regexp", f"exchange type {value!r} isn't letters, digits and -_.:")


def _check_vhost(version: Version, method: str, vhost: str) -> None:
    check_vhost(version, vhost)


def _check_reply_code(version: Version, method: str, code: int) -> None:
    if not code:
        raise _wrong("domain/reply-code.notnull", f"{method} without a reply code")


def _check_reply_text(version: Version, method: str, text: str) -> None:
    if not text:
        raise _wrong("domain/reply-text.notnull", f"{method} without a reply text")


def _check_ticket(version: Version, method: str, ticket: int) -> None:
    if version is AMQP_0_8 and not ticket:
        raise _wrong("domain/access-ticket.nonzero", f"{method} with the access ticket 0")


def _check_realm(version: Version, method: str, realm: str) -> None:
    if realm.partition("/")[0] or realm.split("/")[1:2] not in (["data"], ["admin"]):
        raise _wrong(
            "access.request/realm-prefix", f"realm {realm!r} doesn't begin with /data or /admin", ACCESS_REFUSED
        )


def _check_out_of_band(version: Version, method: str, value: str) -> None:
    if value:
        raise _wrong("channel.open/oob-null", "channel.open with out-of-band settings", NOT_IMPLEMENTED)


def _check_locale(version: Version, method: str, locale: str) -> None:
    if not locale:
        raise _wrong("connection.start-ok/locale-notnull", "connection.start-ok without a locale")


def _check_mechanisms(version: Version, method: str, mechanisms: bytes) -> None:
    if not mechanisms.strip():
        raise _wrong("connection.start/mechanisms-notnull", "connection.start without a mechanism")


def _check_locales(version: Version, method: str, locales: bytes) -> None:
    if not locales.strip():
        raise _wrong("connection.start/locales-notnull", "connection.start without a locale")


def _dtx_start(method: Any) -> None:
    if not method.dtx_identifier:
        raise _wrong("dtx.start/id-notnull", "dtx.start without an identifier")


def _stream_deliver(method: Any) -> None:
    if not method.queue:
        raise _wrong("stream.deliver/queue-notnull", "stream.deliver without a queue name")


def _redirect(method: Any) -> None:
    if not method.host:
        raise _wrong("connection.redirect/host-notnull", "connection.redirect without a host")


def _operation(method: Any) -> None:
    if method.operation >= OPERATIONS:
        raise _wrong(f"{method.NAME}/op-enum", f"{method.NAME} with operation {method.operation}, 2 is the highest")


def _table_operations(method: Any) -> None:
    for name in ("integer_op", "string_op"):
        if getattr(method, name) >= OPERATIONS:
            rule = f"test.table/{name.replace('_op', '-op-enum')}"
            raise _wrong(rule, f"test.table with {name} {getattr(method, name)}, 2 is the highest")


# A close is answered whatever it says.
_CLOSES: Final = ("connection.close", "channel.close")

_ALWAYS: Final[dict[str, Callable[[Any], None]]] = {
    "connection.redirect": _redirect,
    "dtx.start": _dtx_start,
    "stream.deliver": _stream_deliver,
    "test.integer": _operation,
    "test.string": _operation,
    "test.table": _table_operations,
}

_STRICT: Final[dict[str, Callable[[Version, str, Any], None]]] = {
    "exchange": _check_exchange,
    "locale": _check_locale,
    "locales": _check_locales,
    "mechanisms": _check_mechanisms,
    "out_of_band": _check_out_of_band,
    "queue": _check_queue,
    "realm": _check_realm,
    "reply_code": _check_reply_code,
    "reply_text": _check_reply_text,
    "ticket": _check_ticket,
    "type": _check_type,
    "virtual_host": _check_vhost,
}
