"""Content: a message in the encoding in which it was published, with what the model reads of it.

The subclasses, one for each encoding, are in `contents`; `conversion` makes one of another.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from ...versions import Version
    from .death import Death

NO_HEADERS: Final[Mapping[str, Any]] = {}


class Content(ABC):
    """Properties and body of a message, as octets; immutable. What damaged octets would say is read as absent."""

    __slots__ = ()

    version: Version
    """The version in whose encoding it is (0-8 and 0-9-1 are two)."""

    size: int
    """Octets of the body, which length limits and 0-8 and 0-9-1 windows count."""

    is_plain: bool
    """Whether it has neither priority nor time to live; false also where that isn't known without decoding."""

    @property
    @abstractmethod
    def octets(self) -> int:
        """Octets of everything that is kept of it, for the bound on the broker's memory."""

    @property
    @abstractmethod
    def priority(self) -> int:
        """Its priority; where it has none 0, in 1.0 and 0-10 their default, 4."""

    @property
    @abstractmethod
    def ttl(self) -> float | None:
        """For how many seconds it may wait in a queue; None: for ever.

        0-8 and 0-9-1: `expiration`, a text of milliseconds; 0-10 and 1.0: `ttl`, milliseconds.
        """

    @property
    @abstractmethod
    def persistent(self) -> bool:
        """Whether it is meant to survive a restart."""

    @property
    @abstractmethod
    def headers(self) -> Mapping[str, Any]:
        """What a headers exchange matches: the headers, application headers, application properties."""

    @property
    @abstractmethod
    def deaths(self) -> tuple[Death, ...]:
        """Why it left queues before, the last one first, as `with_deaths` wrote them."""

    @abstractmethod
    def with_deaths(self, deaths: tuple[Death, ...]) -> Content:
        """The same message with these deaths in its headers ("x-death", as RabbitMQ writes them), and without
        a time to live, so that it doesn't die of that again."""
