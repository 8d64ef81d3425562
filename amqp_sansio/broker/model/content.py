"""Message: a published message; Content: its properties and body, in the encoding in which it was published; filters.

The subclasses of Content, one for each encoding, are in `contents`; `conversion` translates between them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Mapping
from typing import TYPE_CHECKING, Any, Final

from ..._ground.record import record

if TYPE_CHECKING:
    from ...versions import Version

NO_HEADERS: Final[Mapping[str, Any]] = {}
MESSAGE_OCTETS: Final = 256
"""Octets counted for a message on top of its content, so that an empty one counts too."""
PLACE_OCTETS: Final = 256
"""Octets counted for each of its places in queues."""
FRAMES_OCTETS: Final = 128
"""Approximate octets of a delivery's frames, counted with its content as unread by the client."""


@record
class Death:
    """Counts the times (`count`) a message left `queue` for `reason`.

    `reason` is "rejected", "expired", "maxlen", "delivery_limit" or "orphaned" (its queue was deleted). `exchange` and
    `routing_keys` are those it was published with, `time` is the Unix time of the first death, by the model's clock.
    """

    queue: str
    reason: str
    count: int
    exchange: str
    routing_keys: tuple[str, ...]
    time: float


class Content(ABC):
    """Properties and body of a message, as octets; immutable. Properties in damaged octets read as absent."""

    __slots__ = ()

    version: Version
    """The version of its encoding (0-8 and 0-9-1 are two)."""

    size: int
    """Octets of the body, as counted by length limits and by 0-8 and 0-9-1 windows."""

    is_plain: bool
    """Whether it has neither priority nor time to live; false also if only decoding could tell."""

    @property
    @abstractmethod
    def octets(self) -> int:
        """Octets of everything stored for it, for the bound on the broker's memory."""

    @property
    @abstractmethod
    def priority(self) -> int:
        """Its priority; the default is 0, in 1.0 and 0-10 it is 4."""

    @property
    @abstractmethod
    def ttl(self) -> float | None:
        """Seconds it may wait in a queue; None: forever.

        0-8 and 0-9-1: `expiration`, milliseconds as text; 0-10 and 1.0: `ttl`, milliseconds.
        """

    @property
    @abstractmethod
    def persistent(self) -> bool:
        """Whether it should survive a restart."""

    @property
    @abstractmethod
    def headers(self) -> Mapping[str, Any]:
        """The headers, application headers or application properties, which a headers exchange matches."""

    @property
    @abstractmethod
    def deaths(self) -> tuple[Death, ...]:
        """Its earlier dead-letterings, the latest first, as `with_deaths` wrote them."""

    @abstractmethod
    def with_deaths(self, deaths: tuple[Death, ...]) -> Content:
        """Return the message with these deaths in its headers ("x-death", as RabbitMQ writes them), and without its
        time to live, so that it doesn't expire again."""


class Message:
    """A published message: its content and destination. `number` counts the publishes of a broker."""

    __slots__ = (
        "content",
        "converted",
        "copies",
        "exchange",
        "immediate",
        "mandatory",
        "number",
        "octets",
        "publisher",
        "routing_key",
        "walk",
    )

    def __init__(
        self,
        content: Content,
        exchange: str,
        routing_key: str,
        number: int,
        publisher: int = 0,
        mandatory: bool = False,
        immediate: bool = False,
    ) -> None:
        self.content = content
        """Its properties and body; several messages may share one."""
        self.exchange = exchange
        """Where it was published to; a dead letter has the one it was sent to last."""
        self.routing_key = routing_key
        """What the exchange routes it by."""
        self.number = number
        """Counts the publishes of the broker; copies in several queues have one."""
        self.publisher = publisher
        """The number of the publishing connection's owner, for no-local."""
        self.mandatory = mandatory
        """Whether it goes back to its publisher when no queue takes it."""
        self.immediate = immediate
        """Whether it goes back when no consumer can have it at once (0-8, 0-9-1)."""
        self.octets = content.octets
        """Octets stored for it."""
        self.converted: tuple[Hashable, Content] | None = None
        """The last result of `conversion` and its recipient's version, kept while several queues hold the message."""
        self.copies = 0
        """The number of queues that hold it."""
        self.walk: dict[str, None] | None = None
        """The queues that this dead letter and those it comes from have reached since the last rejection; all copies
        share it."""

    def __repr__(self) -> str:
        return f"<Message {self.number} to {self.exchange!r} with {self.routing_key!r}>"


class Filter(ABC):
    """Selects the messages for a consumer; a value that pickles."""

    __slots__ = ()

    @property
    def cost(self) -> int:
        """Steps that it takes to judge a message, for `BrokerLimits.turn`."""
        return 1

    @property
    def octets(self) -> int:
        """Octets that it takes, for `BrokerLimits.topology`."""
        return 1024

    @abstractmethod
    def accepts(self, message: Message) -> bool:
        """Whether the consumer wants it."""


class Measure(ABC):
    """Computes the octets by which messages count in windows, if not by `Content.size`; a value that pickles."""

    __slots__ = ()

    @abstractmethod
    def octets_of(self, message: Message) -> int:
        """Return the octets by which a message counts."""
