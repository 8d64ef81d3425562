"""Topology: exchanges, queues and bindings to declare, in short form or as exported by RabbitMQ."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias, cast

from amqp_sansio.broker.model import commands
from amqp_sansio.broker.rabbitmq import RELEASES
from amqp_sansio.client.settings import nearest

if TYPE_CHECKING:
    from .service import Service

Definitions: TypeAlias = "Mapping[str, Any] | str | os.PathLike[str]"
"""A mapping, or the path of a JSON file."""

_USED: Final = ("vhosts", "exchanges", "queues", "bindings")
_EXPORTED: Final = {
    *("rabbit_version", "rabbitmq_version", "rabbitmq_definition_format", "product_name", "product_version"),
    *("original_vhost_name", "original_cluster_name", "explanation", "metadata", "users", "permissions"),
    *("topic_permissions", "parameters", "global_parameters", "policies"),
}
"""Parts of RabbitMQ's definitions without meaning for this broker."""
_QUEUE: Final = {"name", "vhost", "durable", "auto_delete", "arguments", "type"}
_EXCHANGE: Final = {"name", "vhost", "type", "durable", "auto_delete", "internal", "arguments", "alternate"}
_BINDING: Final = {"source", "vhost", "destination", "destination_type", "routing_key", "arguments"}


class Preloaded:
    """The numbers of declared objects, and `ignored`: the parts of the definitions without meaning for this broker."""

    def __init__(self) -> None:
        self.vhosts = 0
        self.exchanges = 0
        self.queues = 0
        self.bindings = 0
        self.ignored: tuple[str, ...] = ()

    def __repr__(self) -> str:
        counts = [
            (self.vhosts, "virtual host"),
            (self.exchanges, "exchange"),
            (self.queues, "queue"),
            (self.bindings, "binding"),
        ]
        parts = [f"{count} {name}{'s' if count > 1 else ''}" for count, name in counts if count]
        ignored = f"; ignored: {', '.join(self.ignored)}" if self.ignored else ""
        return f"<Preloaded: {', '.join(parts) or 'nothing'}{ignored}>"


def preload(service: Service, definitions: Definitions, vhost: str) -> Preloaded:
    """Declare everything in the definitions; entries without a virtual host belong to `vhost`.

    Raises ValueError for invalid definitions or those that the broker refuses, OSError for an unreadable file.
    """
    loaded = _read(definitions)
    done = Preloaded()
    for name in loaded:
        if name not in _EXPORTED and name not in _USED:
            raise ValueError(f"definitions have no part {name!r}{nearest(name, _USED)}")
    for each in _items(loaded, "vhosts"):
        service.add_vhost(_text(each, "name", "a virtual host"))
        done.vhosts += 1
    for each in _items(loaded, "exchanges"):
        _declare_exchange(service, each, vhost)
        done.exchanges += 1
    for each in _items(loaded, "queues"):
        _declare_queue(service, each, vhost)
        done.queues += 1
    for each in _bindings(loaded):
        _bind(service, each, vhost)
        done.bindings += 1
    done.ignored = tuple([name for name, value in loaded.items() if name not in _USED and value])
    return done


def _read(definitions: Definitions) -> Mapping[str, Any]:
    if isinstance(definitions, Mapping):
        return definitions
    path = Path(definitions)
    try:
        found: object = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"{path} is no JSON: {error}") from error
    if not isinstance(found, dict):
        raise ValueError(f"{path} holds no definitions: expected a JSON object")
    return cast("dict[str, Any]", found)


def _items(loaded: Mapping[str, Any], part: str) -> list[Mapping[str, Any]]:
    """Return the members of a part, each as a mapping with its name: from a list, or from a mapping by name."""
    value: Any = loaded.get(part) or ()
    found: list[Mapping[str, Any]] = []
    if isinstance(value, Mapping):
        for name, more in cast("Mapping[str, Any]", value).items():
            found.append({"name": name, **_more(part, name, more)})
        return found
    if isinstance(value, str) or not isinstance(value, Iterable):
        raise ValueError(f"{part} are a list or a mapping by names, not {value!r}")
    for each in _members(loaded, part):
        if isinstance(each, str):
            found.append({"name": each})
        elif isinstance(each, Mapping):
            found.append(cast("Mapping[str, Any]", each))
        else:
            raise ValueError(f"of {part}: expected a name or a mapping, not {each!r}")
    return found


def _members(loaded: Mapping[str, Any], part: str) -> Iterable[Any]:
    return loaded.get(part) or ()


def _more(part: str, name: str, more: Any) -> Mapping[str, Any]:
    if more is None:
        return {}
    if isinstance(more, str) and part == "exchanges":
        return {"type": more}
    if isinstance(more, Mapping):
        return cast("Mapping[str, Any]", more)
    raise ValueError(f"of {part}: {name!r} has {more!r} where a mapping is wanted")


def _bindings(loaded: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    found: list[Mapping[str, Any]] = []
    for each in _members(loaded, "bindings"):
        if isinstance(each, Mapping):
            found.append(cast("Mapping[str, Any]", each))
        elif isinstance(each, (tuple, list)) and 2 <= len(cast("tuple[Any, ...]", each)) <= 3:
            names = ("source", "destination", "routing_key")
            found.append(dict(zip(names, cast("tuple[Any, ...]", each), strict=False)))
        else:
            raise ValueError(
                f"a binding is (exchange, queue), (exchange, queue, routing key) or a mapping, not {each!r}"
            )
    return found


def _declare_exchange(service: Service, each: Mapping[str, Any], vhost: str) -> None:
    _known(each, _EXCHANGE, "an exchange")
    name = _text(each, "name", "an exchange")
    arguments = dict(each.get("arguments") or {})
    alternate = each.get("alternate", arguments.pop("alternate-exchange", None))
    service.apply(
        commands.DeclareExchange(
            service.owner(each.get("vhost", vhost)),
            name,
            each.get("type", "direct"),
            durable=each.get("durable", True),
            auto_delete=each.get("auto_delete", False),
            internal=each.get("internal", False),
            alternate=alternate,
            arguments=arguments,
            reserved=not name.startswith("amq."),
        )
    )


def _declare_queue(service: Service, each: Mapping[str, Any], vhost: str) -> None:
    _known(each, _QUEUE, "a queue")
    service.apply(
        commands.DeclareQueue(
            service.owner(each.get("vhost", vhost)),
            _text(each, "name", "a queue"),
            durable=each.get("durable", True),
            auto_delete=each.get("auto_delete", False),
            arguments=dict(each.get("arguments") or {}),
            expires_at_head=True,
            delivery_limit=_delivery_limit(service),
        )
    )


def _delivery_limit(service: Service) -> int | None:
    """The delivery limit of a quorum queue that names none: the release's, where the broker is a RabbitMQ."""
    settings = service.hub.settings
    return RELEASES[settings.rabbitmq].delivery_limit if settings.dialect in ("", "rabbitmq") else None


def _bind(service: Service, each: Mapping[str, Any], vhost: str) -> None:
    _known(each, _BINDING, "a binding")
    owner = service.owner(each.get("vhost", vhost))
    source, destination = _text(each, "source", "a binding"), _text(each, "destination", "a binding")
    kind = each.get("destination_type", "queue")
    key, arguments = each.get("routing_key", ""), dict(each.get("arguments") or {})
    if kind == "queue":
        service.apply(commands.Bind(owner, destination, source, key, arguments))
    elif kind == "exchange":
        service.apply(commands.BindExchange(owner, destination, source, key, arguments))
    else:
        raise ValueError(f'the destination of a binding is a "queue" or an "exchange", not {kind!r}')


def _text(each: Mapping[str, Any], name: str, what: str) -> str:
    value = each.get(name)
    if not isinstance(value, str):
        raise ValueError(f"{what} needs {name!r}, a text: {dict(each)!r}")
    return value


def _known(each: Mapping[str, Any], known: set[str], what: str) -> None:
    for name in each:
        if name not in known:
            raise ValueError(f"{what} has no {name!r}{nearest(name, known)}: {dict(each)!r}")


__all__ = ["Definitions", "Preloaded", "preload"]
