"""Addresses: the places that they name, and their forms for brokers of 1.0.

| address | meaning |
|---|---|
| `/queues/Q`, `Q` | the queue Q |
| `/exchanges/E/K` | the exchange E, with the routing key K |
| `/exchanges/E` | the exchange E; the subject of each message is its routing key |

In addresses that begin with a slash, names and keys are percent-encoded: `quoted` does that.
"""

from __future__ import annotations

from typing import Final, Literal, TypeAlias, get_args

from .._ground.record import record
from ..broker.addresses import BadAddress, NodeKind, encoded, parse
from ..errors import Unsupported
from ..versions import Version

Addresses: TypeAlias = Literal["rabbitmq4", "rabbitmq3", "qpid"]
"""Forms of addresses in 1.0: RabbitMQ 4 (its v2), RabbitMQ 3 (v1), Qpid, whose nodes have plain names."""
FORMS: Final[tuple[Addresses, ...]] = get_args(Addresses)


@record
class Place:
    """An exchange ("": the default one, whose routing keys are queues) with a routing key; None: each message's
    subject.
    """

    exchange: str
    key: str | None

    @property
    def is_queue(self) -> bool:
        """Whether it is a queue."""
        return not self.exchange

    def key_for(self, subject: str | None) -> str:
        """Return the routing key of a message with that subject."""
        return (subject or "") if self.key is None else self.key


def check_given(address: str) -> None:
    """Raise ValueError for no address: a message without a reply address has none."""
    if not address:
        what = "empty" if address == "" else repr(address)
        raise ValueError(f"an address is {what}: write /queues/NAME or /exchanges/NAME/KEY")


def place_of(address: str, version: Version) -> Place:
    """Return the place that an address names. Raises ValueError for a malformed one, Unsupported for another node.

    >>> place_of("/exchanges/amq.topic/a%2Fb", Version.AMQP_0_9_1)
    Place(exchange='amq.topic', key='a/b')
    """
    check_given(address)
    try:
        node = parse(address)
    except BadAddress as error:
        raise ValueError(str(error)) from None
    if node is None:
        return Place("", address)
    if node.kind is NodeKind.QUEUE:
        return Place("", node.name)
    if node.kind is NodeKind.EXCHANGE:
        return Place(node.name, node.key or None)
    raise Unsupported(f"AMQP {version.label} has no node {address}: connect with ?version=1.0")


def written(address: str, place: Place, form: Addresses | None) -> str:
    """Return an address in the broker's own form; None: as it is.

    >>> written("/queues/a%20b", Place("", "a b"), "qpid"), written("jobs", Place("", "jobs"), "rabbitmq4")
    ('a b', '/queues/jobs')
    """
    if form is None:
        return address
    exchange, key = place.exchange, place.key
    if form == "qpid":
        return str(key) if place.is_queue else exchange if key is None else f"{exchange}/{key}"
    if form == "rabbitmq4":
        queues, exchanges, quote = "/queues", "/exchanges", encoded
    else:
        queues, exchanges, quote = "/amq/queue", "/exchange", _with_slashes_encoded
    if place.is_queue:
        return f"{queues}/{quote(str(key))}"
    return f"{exchanges}/{quote(exchange)}" + ("" if key is None else f"/{quote(key)}")


def _with_slashes_encoded(text: str) -> str:
    """Encode as little as RabbitMQ 3 needs: it leaves the other characters of a binding key encoded."""
    return text.replace("%", "%25").replace("/", "%2F")


quoted: Final = encoded


__all__ = ["FORMS", "Addresses", "Place", "check_given", "place_of", "quoted", "written"]
