"""Reading: the requests that change nothing."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator
from itertools import chain
from typing import TYPE_CHECKING, Any, Final

from ..model.exchange import TYPES, Destination
from .call import Call, Steps
from .listing import STEP, Row, chosen, listed
from .requests import Answer, answered, not_found
from .rows import DEFAULT_EXCHANGE, Route, channels_of, route_row, routes_from, routes_to

if TYPE_CHECKING:
    from ..client import Client
    from ..model.exchange import Exchange
    from ..model.queue import Queue
    from ..model.vhost import VirtualHost
    from .rows import Told

_OK: Final = {"status": "ok"}


# The broker.


def overview(call: Call) -> Steps:
    """GET /api/overview"""
    settings = call.hub.settings
    ready = unsettled = queues = consumers = exchanges = 0
    for vhost in call.vhosts():
        exchanges += len(vhost.exchanges)
        queues += len(vhost.queues)
        for number, queue in enumerate(list(vhost.queues.values())):
            ready += queue.ready
            unsettled += queue.unsettled
            consumers += len(queue.consumers)
            if number % STEP == STEP - 1:
                yield
    clients = call.clients()
    version = f"{settings.rabbitmq}.0"
    return answered(
        chosen(
            {
                "management_version": version,
                "rabbitmq_version": version,
                "product_name": settings.product,
                "product_version": settings.product_version,
                "cluster_name": settings.name,
                "node": call.rows.node,
                "rates_mode": "none",
                "disable_stats": False,
                "enable_queue_totals": False,
                "exchange_types": [{"name": name, "description": "", "enabled": True} for name in sorted(TYPES)],
                "queue_totals": {
                    "messages": ready + unsettled,
                    "messages_ready": ready,
                    "messages_unacknowledged": unsettled,
                },
                "object_totals": {
                    "channels": sum([call.rows.connection(each)["channels"] for each in clients]),
                    "connections": len(clients),
                    "consumers": consumers,
                    "exchanges": exchanges,
                    "queues": queues,
                },
                "listeners": [_listener(call, url) for url in settings.urls],
                "contexts": [{"node": call.rows.node, "description": "RabbitMQ Management", "path": "/"}],
            },
            call.query,
        )
    )


def _listener(call: Call, url: str) -> Row:
    host, _, port = url.split(":", 2)[-1].rpartition(":")
    secure = url.split(":")[1] == "tls"
    return {
        "node": call.rows.node,
        "protocol": "amqp/ssl" if secure else "amqp",
        "ip_address": host.strip("[]"),
        "port": int(port) if port.isdecimal() else 0,
    }


def whoami(call: Call) -> Answer:
    """GET /api/whoami"""
    return answered({"name": call.user, "tags": sorted(call.tags)})


def cluster_name(call: Call) -> Answer:
    """GET /api/cluster-name"""
    return answered({"name": call.hub.settings.name})


def _node(call: Call) -> Row:
    blocked = bool(call.hub.is_blocked)
    return {
        "name": call.rows.node,
        "type": "disc",
        "running": True,
        "mem_used": call.hub.model.ledger.octets,
        "mem_limit": call.hub.model.limits.memory_high,
        "mem_alarm": blocked,
        "disk_free_alarm": False,
        "uptime": int(call.hub.now * 1000),
        "exchange_types": [{"name": name, "description": "", "enabled": True} for name in sorted(TYPES)],
        "auth_mechanisms": [
            {"name": name, "description": "", "enabled": True} for name in call.hub.settings.mechanisms
        ],
        "partitions": [],
        "rates_mode": "none",
    }


def nodes(call: Call) -> Answer:
    """GET /api/nodes"""
    return answered([chosen(_node(call), call.query)])


def node(call: Call, name: str) -> Answer:
    """GET /api/nodes/NAME"""
    if name != call.rows.node:
        raise not_found()
    return answered(chosen(_node(call), call.query))


# Health.


def alarms(call: Call) -> Answer:
    """GET /api/health/checks/alarms and local-alarms"""
    reason = call.hub.is_blocked
    if not reason:
        return answered(_OK)
    alarm = {"node": call.rows.node, "resource": "memory"}
    text = "There are alarms in effect in the cluster"
    if call.request.target.partition("?")[0].endswith("local-alarms"):
        text = "There are alarms in effect on the node"
    return answered({"status": "failed", "reason": text, "alarms": [alarm]}, 503)


def healthy(call: Call) -> Answer:
    """GET /api/health/checks/virtual-hosts and /api/healthchecks/node"""
    return answered(_OK)


def healthy_node(call: Call, name: str) -> Answer:
    """GET /api/healthchecks/node/NAME"""
    if name != call.rows.node:
        raise not_found()
    return answered(_OK)


def single_node(call: Call) -> Answer:
    """GET /api/health/checks/node-is-quorum-critical and node-is-mirror-sync-critical"""
    return answered({"status": "ok", "reason": "single node cluster"})


def port_listener(call: Call, port: str) -> Answer:
    """GET /api/health/checks/port-listener/PORT"""
    ports = [_listener(call, url)["port"] for url in call.hub.settings.urls]
    if not port.isdecimal() or not port.isascii() or len(port) > 5:
        raise not_found()
    if int(port) in ports:
        return answered({"status": "ok", "port": int(port)})
    told = {"status": "failed", "reason": "No active listener", "missing": int(port), "ports": ports}
    return answered(told, 503)


def protocol_listener(call: Call, protocol: str) -> Answer:
    """GET /api/health/checks/protocol-listener/PROTOCOL"""
    there = sorted({str(_listener(call, url)["protocol"]) for url in call.hub.settings.urls})
    if protocol in there:
        return answered({"status": "ok", "protocol": protocol})
    told = {"status": "failed", "reason": "No active listener", "missing": protocol, "protocols": there}
    return answered(told, 503)


def aliveness(call: Call, vhost: str) -> Answer:
    """GET /api/aliveness-test/VHOST"""
    call.vhost(vhost)
    return answered(_OK)


# Virtual hosts.


def _vhost_row(call: Call, vhost: VirtualHost) -> Generator[None, None, Row]:
    ready = unsettled = 0
    for number, queue in enumerate(list(vhost.queues.values())):
        ready += queue.ready
        unsettled += queue.unsettled
        if number % STEP == STEP - 1:
            yield
    return {
        "name": vhost.name,
        "description": "",
        "tags": [],
        "metadata": {"description": "", "tags": []},
        "tracing": False,
        "cluster_state": {call.rows.node: "running"},
        "messages": ready + unsettled,
        "messages_ready": ready,
        "messages_unacknowledged": unsettled,
    }


def vhosts(call: Call) -> Steps:
    """GET /api/vhosts"""
    rows: list[Row] = []
    for each in call.vhosts():
        rows.append((yield from _vhost_row(call, each)))
    return (yield from listed(call.query, rows, _name_of_row, _same))


def vhost(call: Call, name: str) -> Steps:
    """GET /api/vhosts/NAME"""
    row = yield from _vhost_row(call, call.vhost(name))
    return answered(chosen(row, call.query))


# Connections, channels and consumers.


def connections(call: Call, vhost: str | None = None) -> Steps:
    """GET /api/connections and /api/vhosts/NAME/connections"""
    found = _clients(call, vhost)
    return (yield from listed(call.query, found, call.rows.name_of, call.rows.connection))


def _clients(call: Call, vhost: str | None) -> list[Client]:
    found = call.clients()
    if vhost is None:
        return found
    name = call.vhost(vhost).name
    return [each for each in found if each.front is not None and each.front.describe()[1] == name]


def connection(call: Call, name: str) -> Answer:
    """GET /api/connections/NAME"""
    return answered(chosen(call.rows.connection(call.client(name)), call.query))


def channels(call: Call, vhost: str | None = None) -> Steps:
    """GET /api/channels and /api/vhosts/NAME/channels"""
    return (yield from _channels(call, _clients(call, vhost)))


def channels_of_connection(call: Call, name: str) -> Steps:
    """GET /api/connections/NAME/channels"""
    return (yield from _channels(call, [call.client(name)]))


def _channels(call: Call, clients: Iterable[Client]) -> Steps:
    found = ((client, each) for client in clients for each in channels_of(client))
    rows = call.rows
    return (
        yield from listed(
            call.query, found, lambda it: f"{rows.name_of(it[0])} ({it[1].number})", lambda it: rows.channel(*it)
        )
    )


def channel(call: Call, name: str) -> Answer:
    """GET /api/channels/NAME"""
    start, space, end = name.rpartition(" (")
    if not space or not end.endswith(")"):
        raise not_found()
    client = call.client(start)
    for each in channels_of(client):
        if f"{each.number})" == end:
            held = [told for told in call.rows.told_of(_queues_of(each)) if told.consumer.owner is each.owner]
            row = {**call.rows.channel(client, each), "consumer_details": [call.rows.consumer(it) for it in held]}
            return answered(chosen(row, call.query))
    raise not_found()


def _queues_of(channel: Any) -> list[Queue]:
    return list({id(each.queue): each.queue for each in channel.owner.consumers.values()}.values())


def consumers(call: Call, vhost: str | None = None) -> Steps:
    """GET /api/consumers and /api/consumers/VHOST"""
    hosts = call.vhosts() if vhost is None else [call.vhost(vhost)]
    queues = [queue for host in hosts for queue in host.queues.values() if queue.consumers]
    return (yield from listed(call.query, call.rows.told_of(queues), _tag_of, call.rows.consumer))


def _tag_of(told: Told) -> str:
    return str(told.consumer.key)


# Queues, exchanges and bindings.


def queues(call: Call, vhost: str | None = None) -> Steps:
    """GET /api/queues and /api/queues/VHOST"""
    hosts = call.vhosts() if vhost is None else [call.vhost(vhost)]
    found = chain.from_iterable([[host.queues[name] for name in sorted(host.queues)] for host in hosts])
    return (yield from listed(call.query, found, _name_of, call.rows.queue))


def queue(call: Call, vhost: str, name: str) -> Answer:
    """GET /api/queues/VHOST/NAME"""
    return answered(chosen(call.rows.whole_queue(call.queue(vhost, name)), call.query))


def exchanges(call: Call, vhost: str | None = None) -> Steps:
    """GET /api/exchanges and /api/exchanges/VHOST"""
    hosts = call.vhosts() if vhost is None else [call.vhost(vhost)]
    found = ((host, host.exchanges[name]) for host in hosts for name in sorted(host.exchanges))
    make = call.rows.exchange
    return (yield from listed(call.query, found, lambda it: it[1].name, lambda it: make(it[1], it[0])))


def exchange(call: Call, vhost: str, name: str) -> Answer:
    """GET /api/exchanges/VHOST/NAME"""
    found = call.exchange(vhost, exchange_name(name))
    return answered(chosen(call.rows.exchange(found, call.vhost(vhost)), call.query))


def bindings(call: Call, vhost: str | None = None) -> Steps:
    """GET /api/bindings and /api/bindings/VHOST"""
    hosts = call.vhosts() if vhost is None else [call.vhost(vhost)]
    found = (route for host in hosts for each in list(host.exchanges.values()) for route in routes_from(host, each))
    return (yield from _routes(call, found))


def bindings_of_queue(call: Call, vhost: str, name: str) -> Steps:
    """GET /api/queues/VHOST/NAME/bindings"""
    return (yield from _routes(call, routes_to(call.vhost(vhost), call.queue(vhost, name))))


def bindings_from(call: Call, vhost: str, name: str) -> Steps:
    """GET /api/exchanges/VHOST/NAME/bindings/source"""
    found = call.exchange(vhost, exchange_name(name))
    return (yield from _routes(call, routes_from(call.vhost(vhost), found)))


def bindings_to(call: Call, vhost: str, name: str) -> Steps:
    """GET /api/exchanges/VHOST/NAME/bindings/destination"""
    found = call.exchange(vhost, exchange_name(name))
    return (yield from _routes(call, routes_to(call.vhost(vhost), found)))


def bindings_between(call: Call, vhost: str, source: str, kind: str, name: str) -> Steps:
    """GET /api/bindings/VHOST/e/EXCHANGE/q/QUEUE and .../e/EXCHANGE"""
    return (yield from _routes(call, between(call, vhost, source, kind, name)))


def binding(call: Call, vhost: str, source: str, kind: str, name: str, key: str) -> Answer:
    """GET /api/bindings/VHOST/e/EXCHANGE/q/QUEUE/KEY and .../e/EXCHANGE/KEY"""
    return answered(chosen(route_row(find_route(call, vhost, source, kind, name, key)), call.query))


def find_route(call: Call, vhost: str, source: str, kind: str, name: str, key: str) -> Route:
    """Return the binding with this key. Raises Refused."""
    for route in between(call, vhost, source, kind, name):
        if route.key == key:
            return route
    raise not_found()


def between(call: Call, vhost: str, source: str, kind: str, name: str) -> Iterator[Route]:
    """Yield the bindings between two ends; none where an end isn't there. Raises Refused."""
    host = call.vhost(vhost)
    exchange = host.exchanges.get(exchange_name(source))
    destination: Destination | None = host.queues.get(name)
    if kind != "q":
        destination = host.exchanges.get(exchange_name(name))
    if exchange is None or destination is None:
        return
    if not exchange.name:
        if kind == "q":
            yield Route(host, exchange, destination, None)
        return
    for binding in exchange.bindings_to(destination):
        yield Route(host, exchange, destination, binding)


def exchange_name(name: str) -> str:
    """Return the name of an exchange that a path names."""
    return "" if name == DEFAULT_EXCHANGE else name


def _routes(call: Call, found: Iterable[Route]) -> Steps:
    return (yield from listed(call.query, found, lambda route: route.exchange.name, route_row))


def _name_of(node: Queue | Exchange) -> str:
    return node.name


def _name_of_row(row: Row) -> str:
    return str(row["name"])


def _same(row: Row) -> Row:
    return row
