"""What a report keeps of single connections, consumers and incidents, and the bounds on how many of each."""

from __future__ import annotations

from dataclasses import dataclass, field

from .measures import Series


@dataclass(frozen=True)
class Bounds:
    """How much a report keeps. Where one of these cuts, the page says so.

    | field | what is kept |
    |---|---|
    | `steps` | steps of a series over the whole time |
    | `cloud` | cells of the picture of latencies over time |
    | `keys` | different keys that are counted exactly, and rows in the sample that stands in beyond |
    | `connections` | connections that are told one by one |
    | `holders` | consumers and links with a chart of their own |
    | `incidents` | problems, silences, blocked times, slow and open messages that are told one by one, of each |
    | `joined` | messages among which deliveries are joined to publishes, in one process |
    | `files` | files that are told one by one |
    | `text` | characters of a name or a text |
    | `diagrams` | connections with a sequence diagram, when none are asked for |
    | `frames` | units of a sequence diagram |
    | `octets` | octets shown of a frame |
    | `diagram_octets` | characters that all sequence diagrams take on the page |
    """

    steps: int = 1024
    cloud: int = 2500
    keys: int = 4096
    connections: int = 200
    holders: int = 12
    incidents: int = 40
    joined: int = 200_000
    files: int = 100
    text: int = 240
    diagrams: int = 6
    frames: int = 400
    octets: int = 256
    diagram_octets: int = 1_400_000


CAUSES = ("normal", "client-error", "server-error", "refused", "transport", "open", "other")
"""How connections end: closed in order; closed with an error by the client, or by the server; refused by the server
before it was open; without the protocol's close; still open at the end; no AMQP.
"""


@dataclass
class Connection:
    """One connection, with what its rows said in sum. Times are nanoseconds since 1970, sizes octets."""

    connection: str
    flow: str
    client: str
    server: str
    protocol: str | None
    opened_ns: int
    ended_ns: int
    """The last that is known of it: its end, or the last unit."""
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
    errors: int = 0
    """Violations that are errors."""
    channels: int = 0
    """Channels, sessions that were opened."""
    problems: int = 0
    redelivered: int = 0
    unsettled: int = 0
    unconfirmed: int = 0
    blocked: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])
    """From when to when the server had blocked it, the first few times."""
    blocked_ns: int = 0
    marks: list[tuple[int, str]] = field(default_factory=list[tuple[int, str]])
    """When which problems were, the first few."""

    @property
    def bad(self) -> bool:
        """Whether it ended otherwise than people want."""
        return self.cause in ("client-error", "server-error", "refused", "transport")

    @property
    def score(self) -> int:
        """How much there is to tell of it."""
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
    """A consumer or link, with the deliveries that it held at what time and how many it could have held."""

    connection: str
    client: str
    name: str
    source: str
    """The queue or address."""
    channel: int | None
    limit: str
    """What the second series is: "prefetch", "credit" or ""."""
    held: Series
    window: Series
    deliveries: int = 0
    settled: int = 0
    open: int = 0
    """Deliveries that nobody settled before its end."""
    oldest_ns: int | None = None
    """When the oldest of those came."""
    peak: int = 0
    could: int = 0
    """Its prefetch or credit at the end."""
    full_ns: int = 0
    """How long there was no room for another one, as far as steps show it."""
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


@dataclass
class RuleCount:
    """How often a rule was broken, and the first time."""

    rule: str
    errors: int = 0
    warnings: int = 0
    first: tuple[int, str, int, str] = (1 << 63, "", 0, "")
    """Time, connection, number of the unit (-1: none) and text."""

    def merge(self, other: RuleCount) -> None:
        """Add what `other` has of the same rule."""
        self.errors += other.errors
        self.warnings += other.warnings
        self.first = min(self.first, other.first)


__all__ = ["CAUSES", "Bounds", "Connection", "Holder", "Incident", "RuleCount"]
