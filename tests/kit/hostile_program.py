"""The program that a client of either adapter runs against a hostile server, step by step."""

from collections.abc import Callable, Generator
from functools import partial
from typing import Any

from amqp_sansio import AMQP_0_8, AMQP_0_10, AMQP_1_0, CodecError, Version
from amqp_sansio.amqp_0_10.spec import QueueDeclare

Steps = Generator[tuple[str, Callable[[], Any]], Any, None]
"""Gives the name and the call of each step, and takes the call's result, None for one that failed."""
BODIES = (b"1", b"2" * 300)


class Program:
    """A client's steps. `limit` is the timeout that each call is given, as its named argument; none in asyncio.

    `notes` get "damaged" for a delivery whose values can't be read.
    """

    def __init__(self, version: Version, notes: list[str], patience: float, **limit: float) -> None:
        self.version = version
        self.notes = notes
        self.patience = patience
        self.limit = limit

    def steps(self, connection: Any) -> Steps:
        return {AMQP_1_0: self._one, AMQP_0_10: self._ten}.get(self.version, self._classic)(connection)

    def _settle(self, source: Any) -> Steps:
        following = anext if hasattr(source, "__anext__") else next
        for _ in range(3):
            delivery = yield "next", lambda: following(source)
            if delivery is None:
                return
            try:
                repr((delivery, delivery.body, _headers(delivery)))
            except CodecError:
                self.notes.append("damaged")
            yield "accept", delivery.accept

    def _classic(self, connection: Any) -> Steps:
        confirm, limit = self.version is not AMQP_0_8, self.limit
        channel = yield "open", lambda: connection.open_channel(confirm=confirm, **limit)
        if channel is None:
            return
        declare = connection.core.dialect.named["queue.declare"](queue="jobs", durable=True)
        yield "declare", lambda: channel.call(declare, **limit)
        for body in BODIES:
            yield "publish", partial(channel.publish, body, routing_key="jobs", mandatory=True, **limit)
        consumer = yield "consume", lambda: channel.consume("jobs", prefetch=2, **limit)
        if consumer is not None:
            yield from self._settle(consumer)
            yield "cancel", lambda: consumer.close(**limit)
        yield "get", lambda: channel.get("jobs", **limit)
        yield "close", lambda: channel.close(**limit)

    def _ten(self, connection: Any) -> Steps:
        limit = self.limit
        opening = {f"open_{name}": value for name, value in limit.items()}
        session = yield "open", lambda: connection.open_session("s", timeout=5, **opening)
        if session is None:
            return
        yield "declare", lambda: session.call(QueueDeclare(queue="jobs"), **limit)
        for body in BODIES:
            yield "publish", partial(session.publish, body, routing_key="jobs", **limit)
        subscription = yield "subscribe", lambda: session.subscribe("jobs", credit=2, **limit)
        if subscription is not None:
            yield from self._settle(subscription)
            yield "fetch", lambda: subscription.fetch(timeout=self.patience)
            yield "cancel", lambda: subscription.close(**limit)
        yield "sync", lambda: session.sync(**limit)
        yield "close", lambda: session.close(**limit)

    def _one(self, connection: Any) -> Steps:
        limit = self.limit
        session = yield "open", lambda: connection.open_session(**limit)
        if session is None:
            return
        sender = yield "sender", lambda: session.open_sender("jobs", **limit)
        if sender is not None:
            for body in BODIES:
                yield "send", partial(sender.send, body, **limit)
        receiver = yield "receiver", lambda: session.open_receiver("jobs", credit=2, **limit)
        if receiver is not None:
            yield from self._settle(receiver)
            yield "fetch", lambda: receiver.fetch(timeout=self.patience)
            if hasattr(receiver, "cancel"):
                yield "cancel", lambda: receiver.cancel(**limit)
            yield "close", lambda: receiver.close(**limit)
        yield "close", lambda: session.close(**limit)


def _headers(delivery: Any) -> object:
    for name in ("properties", "headers", "message"):
        found = getattr(delivery, name, None)
        if found is not None:
            return repr(found)
    return None
