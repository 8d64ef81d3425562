"""Hooks: functions of the application that see each message published, delivered and settled, as tracing needs it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple, TypeAlias

from ..errors import CodecError
from .bodies import plain


class Publishing(NamedTuple):
    """A message that is about to be sent.

    `destination` is the exchange, in 1.0 the link's address; `routing_key` is "" in 1.0. `headers` are the
    application's own fields, as plain values; `size` is that of the body, in octets (in 1.0: 0).
    """

    destination: str
    routing_key: str
    headers: Mapping[str, Any]
    size: int


class Delivering(NamedTuple):
    """A message that is handed to the application.

    `source` is the consumer's tag or the subscription's destination, in 1.0 the link's address; "" for a single message
    fetched in 0-8 and 0-9-1. `exchange` and `routing_key` are "" in 1.0. `headers` are the application's own fields, as
    plain values; `delivery` is the object that the application gets, or in blocking 1.0 the one inside.
    """

    source: str
    exchange: str
    routing_key: str
    headers: Mapping[str, Any]
    delivery: Any


class Settling(NamedTuple):
    """A delivery that the application has settled.

    `outcome` is "accepted", "rejected", "released" or "modified", `context` what `on_deliver` returned for it.
    `multiple` says that all deliveries before it on the channel have the same outcome.
    """

    outcome: str
    context: Any
    multiple: bool = False


OnPublish: TypeAlias = Callable[[Publishing], "Mapping[str, Any] | None"]
"""Returns headers to add to the message: to the headers, application-headers or application-properties."""
OnDeliver: TypeAlias = Callable[[Delivering], object]
"""Returns anything; the delivery has it as `context`, and `on_settle` gets it."""
OnSettle: TypeAlias = Callable[[Settling], object]


class Hooks:
    """Functions that a connection calls for each message: `connect(url, hooks=Hooks(on_publish=...))`.

    They are called in the task that publishes, takes or settles, before a message is sent and after an outcome is
    queued. An exception of a hook is raised there.
    """

    __slots__ = ("on_deliver", "on_publish", "on_settle")

    def __init__(
        self,
        *,
        on_publish: OnPublish | None = None,
        on_deliver: OnDeliver | None = None,
        on_settle: OnSettle | None = None,
    ) -> None:
        # Gets exchange or address, routing key and headers, and may add headers, before the message is encoded.
        self.on_publish = on_publish
        # Gets each delivery when the application takes it.
        self.on_deliver = on_deliver
        # Gets the outcome of a delivery when that is queued, with what `on_deliver` returned.
        self.on_settle = on_settle

    # For the parts of the client.

    def published(self, destination: str, routing_key: str, headers: Any, size: int) -> dict[str, Any] | None:
        """Return the headers of a message with those that `on_publish` adds; None if they stay the same."""
        if self.on_publish is None:
            return None
        given: Any = headers or {}
        added = self.on_publish(Publishing(destination, routing_key, plain(given), size))
        return {**given, **added} if added else None

    def delivered(
        self, delivery: Any, source: str, exchange: str, routing_key: str, headers: Callable[[], Mapping[str, Any]]
    ) -> None:
        """Tell of a delivery, and keep its context with it. Headers that can't be decoded are none."""
        if self.on_deliver is None:
            return
        try:
            found = headers()
        except CodecError:
            found = {}
        delivery.context = self.on_deliver(Delivering(source, exchange, routing_key, found, delivery))

    def settled(self, outcome: str, deliveries: Iterable[object], multiple: bool = False) -> None:
        """Tell of deliveries that are settled; those that the application names by number only aren't told."""
        if self.on_settle is not None:
            for each in deliveries:
                if not isinstance(each, int):
                    self.on_settle(Settling(outcome, getattr(each, "context", None), multiple))


__all__ = ["Delivering", "Hooks", "OnDeliver", "OnPublish", "OnSettle", "Publishing", "Settling"]
