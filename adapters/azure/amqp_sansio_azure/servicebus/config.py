"""Config files of Microsoft's Service Bus emulator: namespaces with their queues, topics, subscriptions and rules."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, cast

from amqp_sansio.broker.nodes import Refusal

from .rules import Action, CorrelationFilter, Filter, Rule, SqlFilter
from .stores import Options

if TYPE_CHECKING:
    from .namespace import ServiceBusNamespace

_DURATION: Final = re.compile(
    r"P(?:(?P<days>\d+(?:\.\d+)?)D)?(?:T(?:(?P<hours>\d+)H)?(?:(?P<minutes>\d+)M)?(?:(?P<seconds>\d+(?:\.\d+)?)S)?)?"
)
_FOREVER: Final = 10_000 * 365 * 86_400.0
"""Seconds from which on a time to live is none: the service's default is the longest of .NET."""
_CORRELATION: Final[Mapping[str, str]] = {
    "ContentType": "content_type",
    "CorrelationId": "correlation_id",
    "Label": "subject",
    "MessageId": "message_id",
    "ReplyTo": "reply_to",
    "ReplyToSessionId": "reply_to_group_id",
    "SessionId": "group_id",
    "To": "to",
}


class ConfigError(ValueError):
    """A configuration that can't be used; the text says where."""


def duration(text: str) -> float:
    """Return the seconds of an ISO 8601 duration of days and less.

    >>> duration("PT1M"), duration("P1DT2H30.5S")
    (60.0, 93630.5)
    """
    found = _DURATION.fullmatch(text) if len(text) < 64 else None
    if found is None or text in ("P", "PT") or text.endswith("T"):
        raise ConfigError(f"{text[:64]!r} is no duration, such as PT1M")
    days, hours, minutes, seconds = [float(each or 0) for each in found.groups()]
    return days * 86_400 + hours * 3600 + minutes * 60 + seconds


def duration_text(seconds: float) -> str:
    """Return seconds as an ISO 8601 duration.

    >>> duration_text(93630.5), duration_text(60)
    ('P1DT2H30.5S', 'PT1M')
    """
    days, rest = divmod(seconds, 86_400)
    hours, rest = divmod(rest, 3600)
    minutes, rest = divmod(rest, 60)
    parts = [f"{value:.0f}{sign}" for value, sign in ((hours, "H"), (minutes, "M")) if value]
    if rest or not (parts or days):
        parts.append(f"{rest:.7f}".rstrip("0").rstrip(".") + "S")
    return ("P" + (f"{days:.0f}D" if days else "")) + ("T" + "".join(parts) if parts else "")


def options_of(properties: Mapping[str, Any]) -> Options:
    """Return the options for the `Properties` of a queue, topic or subscription. Raises ConfigError."""
    values: dict[str, Any] = {}
    for name, (field, kind) in PROPERTIES.items():
        value = properties.get(name)
        if value is None or value == "":
            continue
        if kind is float:
            if not isinstance(value, str):
                raise ConfigError(f"{name}: {value!r} is no duration, such as PT1M")
            value = duration(value)
        elif not isinstance(value, kind) or isinstance(value, bool) != (kind is bool):
            raise ConfigError(f"{name}: {value!r} is no {kind.__name__}")
        values[field] = value
    if values.get("default_ttl", 0.0) >= _FOREVER:
        del values["default_ttl"]
    window = values.pop("duplicate_window", 600.0)
    if properties.get("RequiresDuplicateDetection") is True:
        values["duplicate_window"] = window
    return Options(**values)


PROPERTIES: Final[Mapping[str, tuple[str, type[Any]]]] = {
    "LockDuration": ("lock_duration", float),
    "MaxDeliveryCount": ("max_delivery_count", int),
    "DefaultMessageTimeToLive": ("default_ttl", float),
    "DeadLetteringOnMessageExpiration": ("dead_letters_expired", bool),
    "RequiresSession": ("requires_session", bool),
    "DuplicateDetectionHistoryTimeWindow": ("duplicate_window", float),
    "ForwardTo": ("forward_to", str),
    "ForwardDeadLetteredMessagesTo": ("forward_dead_letters_to", str),
}


def load_config(namespace: ServiceBusNamespace, source: str | os.PathLike[str] | Mapping[str, Any]) -> None:
    """Make the entities of a configuration: the path of a file, or what it contains.

    The first of its namespaces counts; what it says of logging is of no use here. Raises ConfigError, OSError.
    """
    found: Any
    if isinstance(source, Mapping):
        found = source
    else:
        with open(source, encoding="utf-8-sig") as file:
            try:
                found = json.load(file)
            except ValueError as error:
                raise ConfigError(f"{os.fspath(source)} is no JSON: {error}") from None
    namespaces = _items(_map(_map(found, "the file").get("UserConfig"), "UserConfig"), "Namespaces", "UserConfig")
    if not namespaces:
        raise ConfigError("UserConfig.Namespaces has no namespace")
    entities = namespaces[0]
    name = entities.get("Name")
    if isinstance(name, str) and name:
        namespace.name = name
    for queue in _items(entities, "Queues"):
        with _place(f"queue {_name(queue)!r}"):
            namespace.add_queue(_name(queue), options_of(_properties(queue)))
    for topic in _items(entities, "Topics"):
        with _place(f"topic {_name(topic)!r}"):
            namespace.add_topic(_name(topic), options_of(_properties(topic)))
            for each in _items(topic, "Subscriptions"):
                with _place(f"subscription {_name(each)!r}"):
                    rules = tuple([_rule(rule) for rule in _items(each, "Rules")])
                    options = options_of(_properties(each))
                    namespace.add_subscription(_name(topic), _name(each), options, rules or None)


@contextmanager
def _place(where: str) -> Generator[None]:
    """Say where what is wrong was found."""
    try:
        yield
    except (Refusal, ValueError) as error:
        raise ConfigError(f"{where}: {error}") from None


def _rule(found: Mapping[str, Any]) -> Rule:
    properties = _properties(found)
    with _place(f"rule {_name(found)!r}"):
        action = _map(properties.get("Action") or {}, "Action").get("SqlExpression")
        made = Action(action) if isinstance(action, str) and action else None
        return Rule(_name(found), _filter(properties), made)


def _filter(properties: Mapping[str, Any]) -> Filter:
    kind = str(properties.get("FilterType", "")).lower()
    if kind == "correlation" or (not kind and "CorrelationFilter" in properties):
        given = _map(properties.get("CorrelationFilter"), "CorrelationFilter")
        fields = {field: str(given[name]) for name, field in _CORRELATION.items() if given.get(name) is not None}
        return CorrelationFilter(fields, _map(given.get("Properties") or {}, "Properties"))
    if kind in ("sql", ""):
        return SqlFilter(str(_map(properties.get("SqlFilter") or {}, "SqlFilter").get("SqlExpression") or ""))
    raise ConfigError(f"FilterType {kind!r} is neither Sql nor Correlation")


def _name(found: Mapping[str, Any]) -> str:
    name = found.get("Name")
    if not isinstance(name, str):
        raise ConfigError(f"an entity has no Name: {str(dict(found))[:100]}")
    return name


def _properties(found: Mapping[str, Any]) -> Mapping[str, Any]:
    return _map(found.get("Properties") or {}, "Properties")


def _map(found: object, where: str) -> Mapping[str, Any]:
    if not isinstance(found, Mapping):
        raise ConfigError(f"{where} is no object")
    return cast("Mapping[str, Any]", found)


def _items(found: Mapping[str, Any], name: str, where: str = "the namespace") -> list[Mapping[str, Any]]:
    items: object = found.get(name) or []
    if not isinstance(items, list):
        raise ConfigError(f"{where}: {name} is no array")
    return [_map(each, f"an entry of {name}") for each in cast("list[object]", items)]


__all__ = ["PROPERTIES", "ConfigError", "duration", "duration_text", "load_config", "options_of"]
