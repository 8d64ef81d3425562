"""Config files of Microsoft's Event Hubs emulator: a namespace with its event hubs and their consumer groups."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

from ..requests import map_of
from ..servicebus.config import ConfigError

if TYPE_CHECKING:
    from .namespace import EventHubsNamespace


def load_config(namespace: EventHubsNamespace, source: str | os.PathLike[str] | Mapping[str, Any]) -> None:
    """Make the event hubs of a configuration: the path of a file, or what it contains.

    The first of its namespaces counts; what it says of logging is of no use here. Raises ConfigError, OSError.
    """
    namespaces = _items(_user_config(source), "NamespaceConfig", "UserConfig")
    if not namespaces:
        raise ConfigError("UserConfig.NamespaceConfig has no namespace")
    name = namespaces[0].get("Name")
    if isinstance(name, str) and name:
        namespace.name = name
    for entity in _items(namespaces[0], "Entities", "the namespace"):
        _add(namespace, entity)


def is_of_event_hubs(source: str | os.PathLike[str] | Mapping[str, Any]) -> bool:
    """Return whether a configuration is one of the Event Hubs emulator, and not of Service Bus's. Raises ConfigError,
    OSError."""
    return "NamespaceConfig" in _user_config(source)


def _user_config(source: str | os.PathLike[str] | Mapping[str, Any]) -> Mapping[str, Any]:
    found: object = source
    if not isinstance(source, Mapping):
        with open(source, encoding="utf-8-sig") as file:
            try:
                found = json.load(file)
            except ValueError as error:
                raise ConfigError(f"{os.fspath(source)} is no JSON: {error}") from None
    return map_of(map_of(found).get("UserConfig"))


def _add(namespace: EventHubsNamespace, entity: Mapping[str, Any]) -> None:
    name = _name(entity, "an event hub")
    count = entity.get("PartitionCount", 1)
    # The emulator's own example has it as a text.
    if isinstance(count, str) and count.isascii() and count.isdecimal() and len(count) < 6:
        count = int(count)
    if not isinstance(count, int) or isinstance(count, bool):
        raise ConfigError(f"event hub {name!r}: PartitionCount {count!r} is no number")
    groups = [_name(each, "a consumer group") for each in _items(entity, "ConsumerGroups", f"event hub {name!r}")]
    try:
        namespace.add_hub(name, count, consumer_groups=groups)
    except ValueError as error:
        raise ConfigError(f"event hub {name!r}: {error}") from None


def _name(found: Mapping[str, Any], kind: str) -> str:
    name = found.get("Name")
    if not isinstance(name, str):
        raise ConfigError(f"{kind} has no Name: {str(dict(found))[:100]}")
    return name


def _items(found: Mapping[str, Any], name: str, where: str) -> list[Mapping[str, Any]]:
    items: object = found.get(name) or []
    if not isinstance(items, list):
        raise ConfigError(f"{where}: {name} is no array")
    return [map_of(each) for each in cast("list[object]", items)]


__all__ = ["ConfigError", "is_of_event_hubs", "load_config"]
