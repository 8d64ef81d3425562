"""A report's records of single connections, consumers and incidents, and the bounds on their numbers."""

from __future__ import annotations

from dataclasses import dataclass, field

from .measures import Series


@dataclass(frozen=True)
class Bounds:
    """Bounds of a report. If one of these cuts, the page says so.

    | field | maximum of |
    |---|---|
    | `steps` | steps of a series over the whole time |
    | `cloud` | cells of the picture of latencies over time |
    | `keys` | different keys counted exactly, and rows in the sample used beyond that |
    | `connections` | connections listed individually |
    | `holders` | consumers and links with their own chart |
    | `queues` | queues whose backlog is followed; with more there is none |
    | `incidents` | problems, silences, blocked times, slow and open messages listed individually, of each |
    | `joined` | messages among which deliveries are joined to publishes, in one process |
    | `files` | files listed individually |
    | `text` | characters of a name or a text |
    | `diagrams` | connections with a sequence diagram, if none are requested |
    | `frames` | units of a sequence diagram |
    | `octets` | octets shown of a frame |
    | `diagram_octets` | characters of all sequence diagrams on the page |
    """

    steps: int = 1024
    cloud: int = 2500
    keys: int = 4096
    connections: int = 200
    holders: int = 12
    queues: int = 256
    incidents: int = 40
    joined: int = 200_000
    files: int = 100
    text: int = 240
    diagrams: int = 6
    frames: int = 400
    octets: int = 256
    diagram_octets: int = 1_400_000


BAD = ("client-error", "server-error", "heartbeat", "refused", "unreached", "transport")
"""Those that are abnormal."""


def is_meant(word: str, connection: str, client: str | None, name: str | None, product: str | None) -> bool:
    """Return whether a user's word means a connection: the begin of its id, its client's address, or in any case of
    letters a part of its name or of its client's product.

    >>> is_meant("worker", "2bfd56f6", "10.0.0.1:40000", "Worker-7", None)
    True
    """
    if connection.startswith(word) or word == client:
        return True
    return any([word.casefold() in text.casefold() for text in (name, product) if text])


@dataclass
class Connection:
    """A summary of one connection's rows. Times are nanoseconds since 1970, sizes octets."""

    connection: str
    flow: str
    client: str
    server: str
    protocol: str | None
    opened_ns: int
    ended_ns: int
    """The last known time: its end, or the last unit."""
    cause: str
    closed_by: str | None
    code: int | None
    condition: str | None
    text: str
    hint: str
    ended_by: str
    product: str
    user: str
    vhost: str
    octets_client: int
    octets_server: int
    events: int
    messages: int
    violations: int
    gaps: int
    complete: bool
    heartbeat: int | None
    name: str = ""
    """The client's own name for it."""
    errors: int = 0
    """Number of violations that are errors."""
    channels: int = 0
    """Number of channels or sessions opened."""
    problems: int = 0
    redelivered: int = 0
    unsettled: int = 0
    unconfirmed: int = 0
    blocked: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])
    """The first few periods in which the server blocked it."""
    blocked_ns: int = 0
    marks: list[tuple[int, str]] = field(default_factory=list[tuple[int, str]])
    """The first few problems, with their times."""

    @property
    def label(self) -> str:
        """Its name, if it has one, and the client's address."""
        return f"{self.name} · {self.client}" if self.name else self.client or self.connection[:8]

    def is_meant(self, word: str) -> bool:
        """Return whether a user's word means it."""
        return is_meant(word, self.connection, self.client, self.name, self.product)

    @property
    def bad(self) -> bool:
        """Whether it ended abnormally."""
        return self.cause in BAD

    @property
    def score(self) -> int:
        """Its priority for the report."""
        return (
            50 * (self.protocol is not None)
            + 1000 * (self.errors > 0)
            + 800 * self.bad
            + 400 * (self.problems > 0)
            + 300 * (self.blocked_ns > 0)
            + 200 * (self.unsettled > 0)
            + 100 * (self.violations > 0)
        )


@dataclass
class Holder:
    """A consumer or link, with the deliveries that it held over time and could have held."""

    connection: str
    client: str
    """The connection's label and product."""
    name: str
    source: str
    """The queue or address."""
    channel: int | None
    limit: str
    """The second series: "prefetch", "credit" or ""."""
    held: Series
    window: Series
    deliveries: int = 0
    settled: int = 0
    open: int = 0
    """Deliveries unsettled at its end."""
    oldest_ns: int | None = None
    """When the oldest of those arrived."""
    peak: int = 0
    could: int = 0
    """Its prefetch or credit at the end."""
    full_ns: int = 0
    """How long it had no room for another delivery, as far as the steps show."""
    first_ns: int = 0
    last_ns: int = 0


@dataclass
class Incident:
    """Something that happened at a time: a problem, a silence, a slow message."""

    connection: str
    ts_ns: int
    seq: int | None
    channel: int | None
    what: str
    """Its kind, or the unit's name."""
    text: str
    amount: int = 0
    """A duration in nanoseconds, or another amount."""
    sender: str = ""
    hint: str = ""
    """The usual cause."""


@dataclass
class RuleCount:
    """The number of violations of a rule, and the first one."""

    rule: str
    errors: int = 0
    warnings: int = 0
    first: tuple[int, str, int, str] = (1 << 63, "", 0, "")
    """Time, connection, number of the unit (-1: none) and text."""

    def merge(self, other: RuleCount) -> None:
        """Merge the violations of the same rule in `other`."""
        self.errors += other.errors
        self.warnings += other.warnings
        self.first = min(self.first, other.first)


__all__ = ["BAD", "Bounds", "Connection", "Holder", "Incident", "RuleCount", "is_meant"]
