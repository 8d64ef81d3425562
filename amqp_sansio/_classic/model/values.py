"""Values: what fields may hold beyond their wire type, for every dialect and for those of the specifications.

Sources: the asserts and rules in the XML of both versions. Only strict dialects enforce the rules that brokers and
clients disregard in practice: names of any octets up to 255, the virtual host of any name, tickets and return texts
left out.
"""

from __future__ import annotations

from collections.abc import Callable

from ..._checking import TYPE_CHECKING
from ...errors import Scope
from ...versions import AMQP_0_8, Version
from ..codec.violation import ACCESS_REFUSED, NOT_IMPLEMENTED, SYNTAX_ERROR, Violation

if TYPE_CHECKING:
    from typing import Any, Final

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
                check(dialect.version, method.NAME, name, getattr(method, name))


def disregarded(method: Method) -> Violation | None:
    """What a client asks for that the specification has, and RabbitMQ ignores or refuses; None: nothing.

    It does no harm to the connection's state, so an endpoint takes it, and an observer reports it.
    """
    found = _DISREGARDED.get(method.NAME)
    if found is None:
        return None
    field, wanted, code, rule, text = found
    # A passive declare says nothing of what it looks for.
    if bool(getattr(method, field)) is not wanted or getattr(method, "passive", False):
        return None
    return Violation(code, text, rule=rule)


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
    return not parts[0] and all([_PATH_PART.issuperset(part) and not _ALNUM.isdisjoint(part) for part in parts[1:]])


def _wrong(rule: str, text: str, code: int = SYNTAX_ERROR, scope: Scope = Scope.CONNECTION) -> Violation:
    return Violation(code, text, rule=rule, scope=scope)


def _check_length(rule: str, what: str, value: str) -> None:
    size = len(value.encode("utf-8", "surrogateescape"))
    if size > LONGEST_NAME:
        raise _wrong(rule, f"{what} of {size} octets, {LONGEST_NAME} are the most")


def _check_name(version: Version, method: str, kind: str, name: str) -> None:
    """Refuse the name of an exchange or queue. 0-8 binds only the methods that declare."""
    old = version is AMQP_0_8
    declares = method == f"{kind}.declare"
    _check_length(f"domain/{kind}-name.length", f"{kind} name", name)
    syntax = f"domain/{kind}-name.regexp"
    if declares:
        syntax = f"{method}/{'name-regexp' if old else 'name-syntax'}"
    rule = text = ""
    if not name and method in _NAMES_NEEDED:
        rule = syntax if old and declares else f"{method}/name-notnull"
        text = f"the {kind} name is empty"
    elif not _NAME.issuperset(name) and (declares or not old):
        rule = syntax
        text = f"{kind} name {name!r} has more than letters, digits and -_.:"
    if rule and declares and not old:
        # 0-9-1 ends only the channel for a bad name in declare; for others no code is given: a syntax error.
        raise _wrong(rule, text, PRECONDITION_FAILED, Scope.CHANNEL)
    if rule:
        raise _wrong(rule, text)


def _check_filled(version: Version, method: str, field: str, value: object) -> None:
    if not (value.strip() if isinstance(value, bytes) else value):
        rule, what = _FILLED[field]
        raise _wrong(rule, f"{method} without {what}")


def _check_type(version: Version, method: str, field: str, value: str) -> None:
    if version is AMQP_0_8 and not (value and _NAME.issuperset(value)):
        raise _wrong("exchange.declare/type-regexp", f"exchange type {value!r} isn't letters, digits and -_.:")


def _check_vhost(version: Version, method: str, field: str, vhost: str) -> None:
    check_vhost(version, vhost)


def _check_ticket(version: Version, method: str, field: str, ticket: int) -> None:
    if version is AMQP_0_8 and not ticket:
        raise _wrong("domain/access-ticket.nonzero", f"{method} with the access ticket 0")


def _check_realm(version: Version, method: str, field: str, realm: str) -> None:
    if realm.partition("/")[0] or realm.split("/")[1:2] not in (["data"], ["admin"]):
        raise _wrong(
            "access.request/realm-prefix", f"realm {realm!r} doesn't begin with /data or /admin", ACCESS_REFUSED
        )


def _check_out_of_band(version: Version, method: str, field: str, value: str) -> None:
    if value:
        raise _wrong("channel.open/oob-null", "channel.open with out-of-band settings", NOT_IMPLEMENTED)


def _needed(method: Method) -> None:
    field, rule, what = _NEEDED[method.NAME]
    if not getattr(method, field):
        raise _wrong(rule, f"{method.NAME} without {what}")


def _operations(method: Method) -> None:
    for name in ("operation", "integer_op", "string_op"):
        if getattr(method, name, 0) >= OPERATIONS:
            rule = f"{method.NAME}/{name.replace('operation', 'op').replace('_', '-')}-enum"
            raise _wrong(rule, f"{method.NAME} with {name} {getattr(method, name)}, 2 is the highest")


# A close is answered whatever it says.
_CLOSES: Final = ("connection.close", "channel.close")
_NAMES_NEEDED: Final = ("exchange.declare", "exchange.delete", "queue.declare-ok")

_NEEDED: Final = {
    "connection.redirect": ("host", "connection.redirect/host-notnull", "a host"),
    "dtx.start": ("dtx_identifier", "dtx.start/id-notnull", "an identifier"),
    "stream.deliver": ("queue", "stream.deliver/queue-notnull", "a queue name"),
}
"""The field that a method can't do without in any dialect, its rule, and its name."""
_FILLED: Final = {
    "locale": ("connection.start-ok/locale-notnull", "a locale"),
    "locales": ("connection.start/locales-notnull", "a locale"),
    "mechanisms": ("connection.start/mechanisms-notnull", "a mechanism"),
    "reply_code": ("domain/reply-code.notnull", "a reply code"),
    "reply_text": ("domain/reply-text.notnull", "a reply text"),
}
"""Fields that a strict dialect wants filled, with their rules and names."""

_DISREGARDED: Final[dict[str, tuple[str, bool, int, str, str]]] = {
    "basic.qos": (
        "prefetch_size",
        True,
        NOT_IMPLEMENTED,
        "rabbitmq/basic.qos.prefetch-size",
        "basic.qos with a prefetch-size, which RabbitMQ refuses; it limits deliveries by prefetch-count",
    ),
    "basic.publish": (
        "immediate",
        True,
        NOT_IMPLEMENTED,
        "rabbitmq/basic.publish.immediate",
        "basic.publish with immediate, which RabbitMQ refuses; an expiration of 0 comes near it",
    ),
    "basic.consume": (
        "no_local",
        True,
        NOT_IMPLEMENTED,
        "rabbitmq/basic.consume.no-local",
        "basic.consume with no-local, which RabbitMQ ignores; the consumer gets its own connection's messages too",
    ),
    "basic.recover": (
        "requeue",
        False,
        NOT_IMPLEMENTED,
        "rabbitmq/recover-requeue-false",
        "basic.recover without requeue, which RabbitMQ refuses",
    ),
    "exchange.declare": (
        "type",
        False,
        SYNTAX_ERROR,
        "rabbitmq/exchange.declare.type",
        "exchange.declare with an empty type, which RabbitMQ refuses; it has direct, fanout, topic and headers",
    ),
    "channel.flow": (
        "active",
        False,
        NOT_IMPLEMENTED,
        "rabbitmq/channel.flow.stop",
        "channel.flow that stops the server, which RabbitMQ refuses; use a prefetch",
    ),
}
"""What RabbitMQ disregards, by the method: a field, whether it is set, the code that refuses it, the rule, the text."""
_ALWAYS: Final[dict[str, Callable[[Method], None]]] = {
    **dict.fromkeys(_NEEDED, _needed),
    **dict.fromkeys(("test.integer", "test.string", "test.table"), _operations),
}

_STRICT: Final[dict[str, Callable[[Version, str, str, Any], None]]] = {
    **dict.fromkeys(_FILLED, _check_filled),
    "exchange": _check_name,
    "out_of_band": _check_out_of_band,
    "queue": _check_name,
    "realm": _check_realm,
    "ticket": _check_ticket,
    "type": _check_type,
    "virtual_host": _check_vhost,
}
