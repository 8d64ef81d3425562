"""The requests of the management node: queues, exchanges and bindings by path and method, as in RabbitMQ 4.

| request | body | response |
|---|---|---|
| PUT /queues/Q | durable, exclusive, auto_delete, arguments | 201 or 200, the queue |
| GET /queues/Q | | 200, the queue |
| DELETE /queues/Q | | 200, message_count |
| DELETE /queues/Q/messages | | 200, message_count |
| PUT /exchanges/E | type, durable, auto_delete, internal, arguments | 204 |
| DELETE /exchanges/E | | 204 |
| POST /bindings | source, destination_queue or destination_exchange, binding_key, arguments | 204 |
| DELETE /bindings/src=E;dstq=Q;key=K;args=A | | 204 |
| GET /bindings?src=E&dstq=Q&key=K | | 200, a list of bindings |
| PUT, POST /auth/tokens | the password, as octets | 204 |

Errors have a code of 400 or above, and a text as body.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from hashlib import sha256
from typing import TYPE_CHECKING, Any, ClassVar, Final

from ...._ground.record import record
from ....amqp_1_0.codec.values import UInt, ULong
from ....sasl import Credentials
from ...addresses import BadAddress, decoded, encoded
from ...model.commands import (
    Bind,
    BindExchange,
    DeclareExchange,
    DeclareQueue,
    DeleteExchange,
    DeleteQueue,
    PurgeQueue,
    Unbind,
    UnbindExchange,
)
from ...model.faults import Fault, FaultKind
from ...model.headers import comparable_items
from ...model.queue import Queue
from .value_types import is_list, is_map

if TYPE_CHECKING:
    from ...model.exchange import Binding, Exchange
    from .links import LinkFrontend

_STATUS: Final[Mapping[FaultKind, int]] = {
    FaultKind.NOT_FOUND: 404,
    FaultKind.BINDING_NOT_FOUND: 404,
    FaultKind.INEQUIVALENT: 409,
    FaultKind.IN_USE: 409,
    FaultKind.NOT_EMPTY: 409,
    FaultKind.USED_AS_ALTERNATE: 409,
    FaultKind.ILLEGAL_STATE: 409,
    FaultKind.RESERVED_NAME: 403,
    FaultKind.DEFAULT_EXCHANGE: 403,
    FaultKind.LOCKED: 403,
    FaultKind.EXCLUSIVE: 403,
    FaultKind.INTERNAL: 403,
    FaultKind.NOT_ALLOWED: 403,
    FaultKind.LIMIT: 403,
}
_OK, _CREATED, _NO_CONTENT, _BAD, _UNAUTHORIZED, _NOT_FOUND, _NO_METHOD = 200, 201, 204, 400, 401, 404, 405


@record
class Response:
    """An answer: an HTTP status code, and the value of the body."""

    status: int
    body: Any = None


class _Wrong(Exception):
    """A request that failed."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status


class Requests:
    """Carries out the management requests of one connection."""

    __slots__ = ("_front",)

    def __init__(self, front: LinkFrontend) -> None:
        self._front = front

    def respond(self, method: str, path: str, body: Any) -> Response:
        """Carry out a request."""
        where, _, query = path.partition("?")
        try:
            parts = tuple([decoded(each) for each in where.split("/")[1:]]) if where.startswith("/") else ()
            if parts[:1] == ("bindings",) and len(parts) > 1:
                # The rest of the path may contain slashes.
                return self._binding(method, where.removeprefix("/bindings/"))
            handler = self._HANDLERS.get((parts[0] if parts else "", len(parts)))
            if handler is None:
                raise _Wrong(_NOT_FOUND, f"there is nothing at {path!r}")
            return handler(self, method, parts, query, body)
        except BadAddress as error:
            return Response(_BAD, str(error))
        except _Wrong as wrong:
            return Response(wrong.status, str(wrong))
        except Fault as fault:
            return Response(_STATUS.get(fault.kind, _BAD), fault.text)

    def _queue(self, method: str, parts: tuple[str, ...], query: str, body: Any) -> Response:
        name = parts[1]
        owner = self._front.connection_owner
        apply = self._front.hub.apply
        if method == "PUT":
            told = _fields(body)
            is_new = name not in owner.vhost.queues
            queue = apply(
                DeclareQueue(
                    owner,
                    name,
                    durable=_flag(told, "durable", True),
                    auto_delete=_flag(told, "auto_delete", False),
                    exclusive_to=owner if _flag(told, "exclusive", False) else None,
                    arguments=_arguments(told),
                    compare=("durable", "exclusive", "auto_delete", "arguments"),
                )
            )
            return Response(_CREATED if is_new else _OK, _shown(queue))
        if method == "GET":
            return Response(_OK, _shown(apply(DeclareQueue(owner, name, passive=True))))
        if method == "DELETE":
            gone = name not in owner.vhost.queues
            count = 0 if gone else apply(DeleteQueue(owner, name))
            return Response(_OK, {"message_count": ULong(count)})
        raise _no_method(method, parts)

    def _messages(self, method: str, parts: tuple[str, ...], query: str, body: Any) -> Response:
        if parts[2] != "messages":
            raise _Wrong(_NOT_FOUND, f"a queue has no {parts[2]!r}")
        if method != "DELETE":
            raise _no_method(method, parts)
        count = self._front.hub.apply(PurgeQueue(self._front.connection_owner, parts[1]))
        return Response(_OK, {"message_count": ULong(count)})

    def _exchange(self, method: str, parts: tuple[str, ...], query: str, body: Any) -> Response:
        name = parts[1]
        owner = self._front.connection_owner
        if method == "PUT":
            told = _fields(body)
            kind = told.get("type", "direct")
            if not isinstance(kind, str):
                raise _Wrong(_BAD, f"type {kind!r} is no string")
            self._front.hub.apply(
                DeclareExchange(
                    owner,
                    name,
                    str(kind),
                    durable=_flag(told, "durable", True),
                    auto_delete=_flag(told, "auto_delete", False),
                    internal=_flag(told, "internal", False),
                    arguments=_arguments(told),
                )
            )
            return Response(_NO_CONTENT)
        if method == "DELETE":
            if not name or name in owner.vhost.exchanges:
                self._front.hub.apply(DeleteExchange(owner, name))
            return Response(_NO_CONTENT)
        raise _no_method(method, parts)

    def _bindings(self, method: str, parts: tuple[str, ...], query: str, body: Any) -> Response:
        if method == "POST":
            told = _fields(body)
            source, key = _text(told, "source"), _text(told, "binding_key")
            arguments = _arguments(told)
            owner = self._front.connection_owner
            if "destination_queue" in told:
                name = _text(told, "destination_queue")
                self._front.hub.apply(Bind(owner, name, source, key, arguments))
            else:
                name = _text(told, "destination_exchange")
                self._front.hub.apply(BindExchange(owner, name, source, key, arguments))
            return Response(_NO_CONTENT)
        if method == "GET":
            wanted = dict(_pairs(query, "&"))
            if "src" not in wanted or not ("dstq" in wanted or "dste" in wanted):
                text = "GET /bindings needs ?src=EXCHANGE and dstq=QUEUE or dste=EXCHANGE; key=KEY is optional"
                raise _Wrong(_BAD, text)
            exchange = self._found_exchange(wanted["src"])
            return Response(_OK, [self._shown_binding(exchange, each) for each in self._wanted(exchange, wanted)])
        raise _no_method(method, parts)

    def _binding(self, method: str, text: str) -> Response:
        if method != "DELETE":
            raise _no_method(method, ("bindings", text))
        wanted = dict(_pairs(text, ";"))
        if not {"src", "key", "args"} <= wanted.keys() or not ("dstq" in wanted or "dste" in wanted):
            raise _Wrong(_BAD, f"{text!r} names no binding: src=EXCHANGE;dstq=QUEUE;key=KEY;args=HASH does")
        exchange = self._found_exchange(wanted["src"])
        owner = self._front.connection_owner
        for each in self._wanted(exchange, wanted):
            if _hash(each.arguments) != wanted["args"]:
                continue
            destination = each.destination.name
            if isinstance(each.destination, Queue):
                command: Any = Unbind(owner, destination, exchange.name, each.routing_key, each.arguments)
            else:
                command = UnbindExchange(owner, destination, exchange.name, each.routing_key, each.arguments)
            self._front.hub.apply(command)
        return Response(_NO_CONTENT)

    def _tokens(self, method: str, parts: tuple[str, ...], query: str, body: Any) -> Response:
        if parts[1] != "tokens":
            raise _Wrong(_NOT_FOUND, f"there is nothing at /auth/{parts[1]}")
        if method not in ("PUT", "POST"):
            raise _no_method(method, parts)
        if not isinstance(body, bytes | str):
            raise _Wrong(_BAD, "the body of /auth/tokens is the password, as octets")
        password = body if isinstance(body, str) else body.decode("utf-8", "replace")
        client = self._front.client
        verdict = self._front.hub.settings.authenticate(
            Credentials("PLAIN", self._front.user, password=password),
            is_secure=client.is_secure,
            peer_name=client.peer_name,
        )
        if verdict.user != self._front.user:
            raise _Wrong(_UNAUTHORIZED, "the password isn't that of the connection's user")
        return Response(_NO_CONTENT)

    def _shown_binding(self, exchange: Exchange, binding: Binding) -> dict[str, Any]:
        kind = "queue" if isinstance(binding.destination, Queue) else "exchange"
        where = f"src={encoded(exchange.name)};dst{kind[0]}={encoded(binding.destination.name)}"
        return {
            "source": exchange.name,
            f"destination_{kind}": binding.destination.name,
            "vhost": self._front.vhost,
            "binding_key": binding.routing_key,
            "arguments": dict(binding.arguments),
            "location": f"/bindings/{where};key={encoded(binding.routing_key)};args={_hash(binding.arguments)}",
        }

    def _wanted(self, exchange: Exchange, wanted: Mapping[str, str]) -> list[Binding]:
        """Return the bindings of an exchange to the destinations that a query names, with its key if it has one."""
        vhost = self._front.connection_owner.vhost
        destinations = vhost.queues.get(wanted.get("dstq", "")), vhost.exchanges.get(wanted.get("dste", ""))
        found: list[Binding] = []
        for each in destinations:
            if each is not None:
                key = wanted.get("key")
                found += exchange.bindings_to(each) if key is None else exchange.bindings_of(each, key)
        return found

    def _found_exchange(self, name: str) -> Exchange:
        found = self._front.connection_owner.vhost.exchanges.get(name)
        if found is None:
            raise _Wrong(_NOT_FOUND, f"no exchange {name!r} in vhost {self._front.vhost!r}")
        return found

    _HANDLERS: ClassVar[Mapping[tuple[str, int], Callable[[Any, str, tuple[str, ...], str, Any], Response]]] = {
        ("queues", 2): _queue,
        ("queues", 3): _messages,
        ("exchanges", 2): _exchange,
        ("bindings", 1): _bindings,
        ("auth", 2): _tokens,
    }


def _no_method(method: str, parts: tuple[str, ...]) -> _Wrong:
    return _Wrong(_NO_METHOD, f"method {method!r} isn't one of /{'/'.join(parts)}")


def _fields(body: Any) -> dict[str, Any]:
    if body is None:
        return {}
    if not is_map(body):
        raise _Wrong(_BAD, f"the body must be a map, not {type(body).__name__}")
    return {str(name): value for name, value in body.items()}


def _flag(told: Mapping[str, Any], name: str, default: bool) -> bool:
    value = told.get(name)
    if value is None:
        return default
    if not isinstance(value, bool):
        raise _Wrong(_BAD, f"{name} {value!r} is no boolean")
    return value


def _text(told: Mapping[str, Any], name: str) -> str:
    value = told.get(name, "")
    if not isinstance(value, str):
        raise _Wrong(_BAD, f"{name} {value!r} is no string")
    return str(value)


def _arguments(told: Mapping[str, Any]) -> dict[str, Any]:
    value = told.get("arguments")
    if value is None:
        return {}
    if not is_map(value):
        raise _Wrong(_BAD, "arguments must be a map")
    return {str(name): _plain(each) for name, each in value.items()}


def _plain(value: Any) -> Any:
    """Return a value as the model stores it, independent of the version."""
    if isinstance(value, bool):
        return value
    if isinstance(value, int):
        return int(value)
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, float):
        return float(value)
    if is_map(value):
        return {str(name): _plain(each) for name, each in value.items()}
    if is_list(value):
        return [_plain(each) for each in value]
    return value


def _shown(queue: Queue) -> dict[str, Any]:
    return {
        "name": queue.name,
        "vhost": queue.vhost.name,
        "durable": queue.durable,
        "auto_delete": queue.auto_delete,
        "exclusive": queue.exclusive_to is not None,
        "type": str(queue.arguments.get("x-queue-type", "classic")),
        "arguments": dict(queue.arguments),
        "leader": "",
        "replicas": [],
        "message_count": ULong(queue.ready),
        "consumer_count": UInt(len(queue.consumers)),
    }


def _hash(arguments: Mapping[str, Any]) -> str:
    """Return the path segment for arguments: nothing for none, else a digest."""
    if not arguments:
        return ""
    return sha256(repr(comparable_items(arguments)).encode()).hexdigest()[:16]


def _pairs(text: str, between: str) -> list[tuple[str, str]]:
    """Return the names and decoded values of a query or path segment."""
    pairs: list[tuple[str, str]] = []
    for each in text.split(between):
        name, sign, value = each.partition("=")
        if sign:
            pairs.append((name, decoded(value)))
    return pairs
