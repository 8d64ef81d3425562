"""MessageColumns: what a version says of a message, each as its methods have it."""

# Generated; edit the generator (tools/codegen).

from __future__ import annotations


class MessageColumns:
    """Attributes of a message that are a version's own matter; `MessageRecord` explains them."""

    __slots__ = (
        "address",
        "code",
        "consumer_tag",
        "exchange",
        "kind",
        "link",
        "mandatory",
        "queue",
        "redelivered",
        "routing_key",
        "tag",
        "text",
    )

    kind: str
    exchange: str | None
    routing_key: str | None
    address: str | None
    tag: int | None
    redelivered: bool | None
    queue: str | None
    consumer_tag: str | None
    mandatory: bool | None
    code: int | None
    text: str | None
    link: str | None

    def fill(
        self,
        kind: str,
        *,
        exchange: str | None = None,
        routing_key: str | None = None,
        address: str | None = None,
        tag: int | None = None,
        redelivered: bool | None = None,
        queue: str | None = None,
        consumer_tag: str | None = None,
        mandatory: bool | None = None,
        code: int | None = None,
        text: str | None = None,
        link: str | None = None,
    ) -> None:
        """Set all of them; for this package's own use."""
        self.kind = kind
        self.exchange = exchange
        self.routing_key = routing_key
        self.address = address
        self.tag = tag
        self.redelivered = redelivered
        self.queue = queue
        self.consumer_tag = consumer_tag
        self.mandatory = mandatory
        self.code = code
        self.text = text
        self.link = link


__all__ = ["MessageColumns"]
