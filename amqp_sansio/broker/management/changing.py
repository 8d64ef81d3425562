"""Changing: the requests that do something, as a client of 0-9-1 within the broker (`inside`)."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from ...amqp_0_9_1.spec import (
    BasicGet,
    BasicReject,
    ConfirmSelect,
    ExchangeBind,
    ExchangeDeclare,
    ExchangeDelete,
    ExchangeUnbind,
    QueueBind,
    QueueDeclare,
    QueueDelete,
    QueuePurge,
    QueueUnbind,
)
from ...errors import EndpointClosed
from ...events import Accepted, Rejected
from ..forcing import close_connection
from .call import Call, Steps
from .content import payload_of, properties_of, told_payload, told_properties
from .inside import refusal_of
from .listing import Row
from .reading import exchange_name, find_route
from .requests import (
    Answer,
    answered,
    arguments_of,
    bad_request,
    flag,
    json_of,
    no_access,
    quoted,
    refused,
    require,
    whole,
)
from .rows import properties_key

if TYPE_CHECKING:
    from ...amqp_0_9_1.spec import Method
    from ..client import Client
    from .inside import Inside

MOST_MESSAGES: Final = 1000
"""Messages that one get returns."""
MOST_OCTETS: Final = 16 << 20
"""Octets of their payloads, beside the last one's."""
_FORCED: Final = 320
_CLOSED: Final = "Closed via management plugin"
_LONGEST_REASON: Final = 200
_SETTLED: Final = {"ack_requeue_true": True, "reject_requeue_true": True}
_TAKEN: Final = ("ack_requeue_false", "reject_requeue_false")
_ENCODINGS: Final = ("auto", "base64")

CREATED: Final = Answer(201)
DONE: Final = Answer(204)


# Connections.


def close(call: Call, name: str) -> Answer:
    """DELETE /api/connections/NAME"""
    client = call.client(name)
    if client.front is None or (client.front.describe()[0] != call.user and not call.is_administrator):
        raise no_access()
    reason = call.request.headers.get("x-reason", "") or _CLOSED
    _end(client, reason)
    return DONE


def _end(client: Client, reason: str) -> None:
    # One that has just ended by itself needs no close.
    with suppress(EndpointClosed):
        close_connection(client, _FORCED, f"CONNECTION_FORCED - {reason[:_LONGEST_REASON]}")
    client.next_event()
    client.hub.touch(client.number)
    client.hub.settle()


# Virtual hosts.


def add_vhost(call: Call, name: str) -> Answer:
    """PUT /api/vhosts/NAME"""
    if not call.is_administrator:
        raise no_access()
    if name in call.hub.model.vhosts:
        return DONE
    if len(name.encode()) > 255:
        raise bad_request("a name has at most 255 octets")
    if len(call.hub.model.vhosts) >= call.hub.settings.limits.exchanges:
        raise bad_request("there are too many virtual hosts")
    call.hub.add_vhost(name)
    return CREATED


# Queues.


def declare_queue(call: Call, vhost: str, name: str) -> Steps:
    """PUT /api/queues/VHOST/NAME"""
    host = _vhost(call, vhost)
    values = json_of(call.request.body)
    method = QueueDeclare(
        queue=name,
        durable=flag(values, "durable"),
        auto_delete=flag(values, "auto_delete"),
        arguments=arguments_of(values),
    )
    is_new = name not in call.hub.model.vhosts[host].queues
    yield from _do(call, host, method)
    return CREATED if is_new else DONE


def delete_queue(call: Call, vhost: str, name: str) -> Steps:
    """DELETE /api/queues/VHOST/NAME"""
    call.queue(vhost, name)
    empty, unused = call.query.get("if-empty") == "true", call.query.get("if-unused") == "true"
    return (yield from _do(call, vhost, QueueDelete(queue=name, if_empty=empty, if_unused=unused)))


def purge_queue(call: Call, vhost: str, name: str) -> Steps:
    """DELETE /api/queues/VHOST/NAME/contents"""
    call.queue(vhost, name)
    return (yield from _do(call, vhost, QueuePurge(queue=name)))


def queue_actions(call: Call, vhost: str, name: str) -> Answer:
    """POST /api/queues/VHOST/NAME/actions"""
    call.queue(vhost, name)
    values = json_of(call.request.body)
    action = values.get("action")
    if action not in ("sync", "cancel_sync"):
        raise bad_request(["unknown", action])
    return DONE


def get(call: Call, vhost: str, name: str) -> Steps:
    """POST /api/queues/VHOST/NAME/get"""
    host = _vhost(call, vhost)
    values = json_of(call.request.body)
    mode, count, encoding = require(values, "ackmode", "count", "encoding")
    if encoding not in _ENCODINGS:
        raise bad_request("Unsupported encoding. Please use auto or base64.")
    if mode not in _SETTLED and mode not in _TAKEN:
        raise bad_request(["unknown_ackmode", mode])
    truncate = whole(values["truncate"]) if "truncate" in values else None
    wanted = min(whole(count), MOST_MESSAGES)
    if name not in call.hub.model.vhosts[host].queues:
        raise refused(404, "not_found", f"NOT_FOUND - no queue '{name}' in vhost '{host}'")
    rows: list[Row] = []
    with call.inside(host) as client:
        yield from client.open()
        try:
            yield from _fetch(client, name, mode, wanted, (encoding, truncate), rows)
        except EndpointClosed as error:
            raise refusal_of(error, by_code=True) from None
    return answered(rows)


def _fetch(
    client: Inside, name: str, mode: str, wanted: int, form: tuple[str, int | None], rows: list[Row]
) -> Generator[None, None, None]:
    """Get messages, and settle them when all are there: what returns isn't got twice."""
    octets = 0
    tags: list[int] = []
    encoding, truncate = form
    while len(rows) < wanted and octets < MOST_OCTETS:
        found: Any = yield from client.call(BasicGet(queue=name, no_ack=mode == "ack_requeue_false"))
        if not hasattr(found, "body"):
            break
        octets += len(found.body)
        tags.append(found.method.delivery_tag)
        rows.append(
            {
                "payload_bytes": len(found.body),
                "redelivered": found.method.redelivered,
                "exchange": found.method.exchange,
                "routing_key": found.method.routing_key,
                "message_count": found.method.message_count,
                "properties": told_properties(found.properties),
                **told_payload(found.body, encoding, truncate),
            }
        )
        yield
    if mode != "ack_requeue_false":
        for tag in tags:
            client.send(BasicReject(tag, mode in _SETTLED))


# Exchanges.


def declare_exchange(call: Call, vhost: str, name: str) -> Steps:
    """PUT /api/exchanges/VHOST/NAME"""
    host = _vhost(call, vhost)
    name = exchange_name(name)
    if not name:
        raise no_access()
    values = json_of(call.request.body)
    kind = values.get("type", "direct")
    if not isinstance(kind, str):
        raise bad_request(["not_string", kind])
    method = ExchangeDeclare(
        exchange=name,
        type=kind,
        durable=flag(values, "durable"),
        auto_delete=flag(values, "auto_delete"),
        internal=flag(values, "internal"),
        arguments=arguments_of(values),
    )
    is_new = name not in call.hub.model.vhosts[host].exchanges
    yield from _do(call, host, method)
    return CREATED if is_new else DONE


def delete_exchange(call: Call, vhost: str, name: str) -> Steps:
    """DELETE /api/exchanges/VHOST/NAME"""
    name = exchange_name(name)
    call.exchange(vhost, name)
    if not name:
        raise no_access()
    unused = call.query.get("if-unused") == "true"
    return (yield from _do(call, vhost, ExchangeDelete(exchange=name, if_unused=unused)))


def publish(call: Call, vhost: str, name: str) -> Steps:
    """POST /api/exchanges/VHOST/NAME/publish"""
    if vhost not in call.hub.model.vhosts:
        raise no_access()
    call.vhost(vhost)
    values = json_of(call.request.body)
    key, given, payload, encoding = require(values, "routing_key", "properties", "payload", "payload_encoding")
    if not isinstance(key, str):
        raise bad_request(["not_string", "routing_key"])
    body, properties = payload_of(payload, encoding), properties_of(given)
    if call.hub.is_blocked:
        # A publisher would be held until there is room.
        raise refused(503, "blocked", call.hub.is_blocked)
    with call.inside(vhost) as client:
        yield from client.open()
        try:
            yield from client.call(ConfirmSelect())
            outcome = yield from client.publish(body, exchange_name(name), key, properties)
        except EndpointClosed as error:
            raise refusal_of(error, by_code=True) from None
    if isinstance(outcome, Rejected):
        raise bad_request("rejected Unable to publish message. Check queue limits.")
    return answered({"routed": isinstance(outcome, Accepted)})


# Bindings.


def bind(call: Call, vhost: str, source: str, kind: str, name: str) -> Steps:
    """POST /api/bindings/VHOST/e/EXCHANGE/q/QUEUE and .../e/EXCHANGE"""
    host = _vhost(call, vhost)
    values = json_of(call.request.body)
    key = values.get("routing_key", "")
    if not isinstance(key, str):
        raise bad_request(["not_string", "routing_key"])
    arguments = arguments_of(values)
    source = exchange_name(source)
    if not source:
        raise no_access()
    method: Method
    if kind == "q":
        method = QueueBind(queue=name, exchange=source, routing_key=key, arguments=arguments)
    else:
        method = ExchangeBind(destination=exchange_name(name), source=source, routing_key=key, arguments=arguments)
    yield from _do(call, host, method)
    where = f"{quoted(name)}/{quoted(properties_key(key, arguments), '~')}"
    return Answer(201, headers={"location": where})


def unbind(call: Call, vhost: str, source: str, kind: str, name: str, key: str) -> Steps:
    """DELETE /api/bindings/VHOST/e/EXCHANGE/q/QUEUE/KEY and .../e/EXCHANGE/KEY"""
    route = find_route(call, vhost, source, kind, name, key)
    if route.binding is None:
        raise no_access()
    routing_key, arguments = route.binding.routing_key, route.binding.arguments
    method: Method
    if kind == "q":
        method = QueueUnbind(
            queue=name, exchange=route.exchange.name, routing_key=routing_key, arguments=dict(arguments)
        )
    else:
        method = ExchangeUnbind(
            destination=route.destination.name,
            source=route.exchange.name,
            routing_key=routing_key,
            arguments=dict(arguments),
        )
    return (yield from _do(call, vhost, method))


# Internals.


def _vhost(call: Call, name: str) -> str:
    """Return the name of a virtual host that there is. Raises Refused."""
    if name not in call.hub.model.vhosts:
        raise refused(404, "not_found", "vhost_not_found")
    return call.vhost(name).name


def _do(call: Call, vhost: str, method: Method) -> Steps:
    with call.inside(vhost) as client:
        yield from client.open()
        try:
            yield from client.call(method)
        except EndpointClosed as error:
            raise refusal_of(error) from None
    return DONE
