"""The small 0-10 broker with what Apache Qpid's JMS client asks of one beyond it.

Exchanges have types and answer queries, queues can be exclusive and end with their session, virtual hosts have names.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

from amqp_sansio import Event, OpenRequested
from amqp_sansio import amqp_0_10 as amqp
from tests.kit import sync_0_10
from tests.kit.sync_0_10 import Attached, Item

NOT_FOUND = 404
RESOURCE_LOCKED = 405
VHOSTS = ("", "/")


class Session(sync_0_10.Session):
    """One connection of the server."""

    server: Server  # pyright: ignore[reportIncompatibleVariableOverride]

    # What a broker does.

    def handle(self, event: Event) -> None:
        """Do what a broker does about an event."""
        if isinstance(event, OpenRequested):
            self.server.vhosts.append(event.vhost)
            if event.vhost in VHOSTS:
                self.core.accept_open()
            else:
                self.core.refuse_open(320, f"there is no virtual host {event.vhost!r}")
            return
        super().handle(event)

    def _forget(self, attached: Attached) -> None:
        super()._forget(attached)
        server = self.server
        for name, owner in list(server.exclusive.items()):
            if owner == attached.name:
                server.drop_queue(name)

    def _do(self, attached: Attached, command: amqp.Command[Any]) -> Any:
        server = self.server
        match command:
            case amqp.QueueDeclare(queue=name):
                self._check_exclusive(attached, name)
                super()._do(attached, command)
                if not command.passive:
                    server.declared.setdefault(name or "", command)
                    if command.exclusive:
                        server.exclusive[name or ""] = attached.name
            case amqp.QueueDelete(queue=name):
                self._check_exclusive(attached, name)
                if name not in server.queues:
                    raise amqp.ExecutionError(NOT_FOUND, f"no queue {name!r}")
                server.drop_queue(name or "")
            case amqp.QueueQuery(queue=name):
                return self._query_queue(name or "")
            case amqp.ExchangeDeclare(exchange=name):
                if command.passive and name not in server.exchanges:
                    raise amqp.ExecutionError(NOT_FOUND, f"no exchange {name!r}")
                server.exchanges.add(name or "")
                server.kinds.setdefault(name or "", command.type or "direct")
            case amqp.ExchangeQuery(name=name):
                if name and name not in server.exchanges:
                    return amqp.ExchangeQueryResult(not_found=True)
                return amqp.ExchangeQueryResult(server.kinds.get(name or "", "direct"))
            case amqp.ExchangeBound():
                return self._bound(command)
            case amqp.ExchangeBind(queue=queue):
                if queue not in server.queues:
                    raise amqp.ExecutionError(NOT_FOUND, f"no queue {queue!r}")
                super()._do(attached, command)
            case amqp.ExchangeUnbind(queue=queue, exchange=exchange, binding_key=key):
                bound = server.bindings.get((exchange or "", key or ""), [])
                if queue not in bound:
                    raise amqp.ExecutionError(NOT_FOUND, f"{queue!r} isn't bound to {exchange!r} with {key!r}")
                bound.remove(queue)
            case amqp.MessageSubscribe(queue=name):
                self._check_exclusive(attached, name)
                super()._do(attached, command)
            case _:
                return super()._do(attached, command)
        return None

    # Inside.

    def _check_exclusive(self, attached: Attached, queue: str | None) -> None:
        owner = self.server.exclusive.get(queue or "", attached.name)
        if owner != attached.name:
            raise amqp.ExecutionError(RESOURCE_LOCKED, f"queue {queue!r} is another session's")

    def _query_queue(self, name: str) -> amqp.QueueQueryResult:
        server = self.server
        waiting = server.queues.get(name)
        if waiting is None:
            return amqp.QueueQueryResult()
        declared = server.declared.get(name, amqp.QueueDeclare(name))
        users = [
            subscribe
            for attached in server.known.values()
            for subscribe in attached.subscriptions.values()
            if subscribe.queue == name
        ]
        return amqp.QueueQueryResult(
            name, durable=declared.durable, exclusive=declared.exclusive, auto_delete=declared.auto_delete,
            arguments=declared.arguments, message_count=len(waiting), subscriber_count=len(users),
        )  # fmt: skip

    def _bound(self, command: amqp.ExchangeBound) -> amqp.ExchangeBoundResult:
        server = self.server
        exchange, queue, key = command.exchange or "", command.queue or "", command.binding_key
        keys = [
            bound
            for (name, bound), queues in server.bindings.items()
            if name == exchange and (not queue or queue in queues)
        ]
        return amqp.ExchangeBoundResult(
            exchange_not_found=bool(exchange) and exchange not in server.exchanges,
            queue_not_found=bool(queue) and queue not in server.queues,
            queue_not_matched=bool(queue) and not keys,
            key_not_matched=key is not None and key not in keys,
        )


class Server(sync_0_10.Server):
    """`vhosts` are those that were asked for; `exclusive` has the sessions that queues belong to."""

    def __init__(self, **options: Any) -> None:
        self.vhosts: list[str] = []
        self.exclusive: dict[str, bytes] = {}
        self.declared: dict[str, amqp.QueueDeclare] = {}
        self.kinds = {"amq.direct": "direct", "amq.topic": "topic"}
        super().__init__(**options)
        self.exchanges.add("amq.topic")

    def new_session(self, connected: Any) -> Session:
        return Session(self, connected)

    def drop_queue(self, name: str) -> None:
        """Delete a queue and its bindings."""
        del self.queues[name]
        self.exclusive.pop(name, None)
        self.declared.pop(name, None)
        for queues in self.bindings.values():
            while name in queues:
                queues.remove(name)

    def fill_with(self, queue: str, *messages: amqp.Message) -> None:
        """Put these messages into a queue, made when it isn't there."""
        with self.lock:
            self.queues.setdefault(queue, deque()).extend([Item(each) for each in messages])
            self.changed(queue)

    def published(self, key: str) -> list[amqp.Message]:
        with self.lock:
            return [each.message for each in self.received if _key_of(each.message) == key]

    def commands(self, name: str) -> list[Any]:
        with self.lock:
            return [each for each in self.executed if name == each.NAME]

    def transfers(self, key: str) -> list[amqp.MessageTransfer]:
        """The transfers with which it was published with a routing key."""
        with self.lock:
            return [each.transfer for each in self.received if _key_of(each.message) == key]


def _key_of(message: amqp.Message) -> str | None:
    return message.delivery_properties.routing_key


@contextmanager
def running(**options: Any) -> Generator[Server]:
    server = Server(**options)
    try:
        yield server
    finally:
        server.close()
