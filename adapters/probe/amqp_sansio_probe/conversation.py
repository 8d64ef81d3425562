"""A conversation with a server, of any version: any octets out, what the server says in, and the judgement of it.

The server's octets are read by a reader of its own, which takes any: so nothing that the case sends, legal or not,
stands in the way of what comes back.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from contextlib import suppress
from random import Random
from typing import ClassVar, Generic, Literal, NamedTuple, Protocol, Self, TypeVar

from .transport import Transport
from .verdicts import Seen, Surprise, Verdict

_SHORTEST = 0.001


class Login(NamedTuple):
    """Who logs in, and where to."""

    user: str = "guest"
    password: str = "guest"
    vhost: str = "/"

    def __repr__(self) -> str:
        return f"Login(user={self.user!r}, password=..., vhost={self.vhost!r})"

    @property
    def plain(self) -> bytes:
        """The response of SASL's PLAIN."""
        return b"\0" + self.user.encode() + b"\0" + self.password.encode()


class Patience(NamedTuple):
    """How long to wait, in seconds: for an answer, to be sure that none comes, and for the end of a connection.

    A server that lost its place among the frames can't read the answer to its close: it may wait for some time.
    """

    answer: float = 5.0
    quiet: float = 0.3
    end: float = 12.0

    @property
    def soon(self) -> float:
        """How long a server that answers something else may still take for an answer."""
        return self.answer / 5


class Piece(NamedTuple):
    """Octets of one direction: by the client or the server, at nanoseconds since 1970."""

    sender: Literal["client", "server"]
    octets: bytes
    at_ns: int


class Names:
    """Draws the names of a case, and remembers them so that they can be deleted.

    `address` is for servers of 1.0 that have no dynamic nodes: the address of a queue that is made when it is named,
    with {} for its name.
    """

    def __init__(self, random: Random, address: str = "") -> None:
        self._random = random
        self.address = address
        self.queues: list[str] = []
        self.exchanges: list[str] = []

    def name(self) -> str:
        """Return a new name of something that needs no deleting."""
        return f"probe-{self._random.randbytes(6).hex()}"

    def queue(self, prefix: str = "") -> str:
        """Return a new name of a queue."""
        self.queues.append(prefix + self.name())
        return self.queues[-1]

    def exchange(self, prefix: str = "") -> str:
        """Return a new name of an exchange."""
        self.exchanges.append(prefix + self.name())
        return self.exchanges[-1]


class Unit(Protocol):
    """Anything that the server says at once: a header, a method, a control or performative, with its content."""

    @property
    def event(self) -> str: ...

    @property
    def channel(self) -> int: ...


U = TypeVar("U", bound=Unit)


class Conversation(ABC):
    """One connection to the server under test, of any version.

    `opened` opens another one of the same version, for a case that needs two.
    """

    VERSION: ClassVar[str]

    def __init__(
        self,
        transport: Transport,
        login: Login,
        names: Names,
        patience: Patience,
        opened: Callable[[], Conversation] | None = None,
    ) -> None:
        self.transport = transport
        self.login_as = login
        self.names = names
        self.patience = patience
        self.pieces: list[Piece] = []
        self.began_at = transport.now()
        """When the connection was there, by the transport's clock."""
        self.open_at: float | None = None
        """When the case had logged in, so that anything can be asked on the connection; None before."""
        self.has_ended = False
        self.is_over = False
        """Whether the connection ended, or is to be ended, by a close of either side."""
        self.said_goodbye = False
        """Whether the case closed the connection itself, and had its answer."""
        self.garbled = ""
        """The last thing that the server said and that can't be decoded."""
        self.is_judged = True
        """Whether the end of the connection counts; not where the case leaves the server in the middle of a frame."""
        self.answered_in = 0.0
        """The most seconds for the answer of a question that has nothing to do with the case."""
        self._opened = opened

    def send(self, octets: bytes) -> None:
        """Send any octets; the password is kept as asterisks."""
        told = octets.replace(self.login_as.plain, b"*" * len(self.login_as.plain))
        self.pieces.append(Piece("client", told, self.transport.wall()))
        self.transport.send(octets)

    @property
    def is_open(self) -> bool:
        """Whether the case has logged in."""
        return self.open_at is not None

    @property
    def said(self) -> bytes:
        """All octets of the server."""
        return b"".join([each.octets for each in self.pieces if each.sender == "server"])

    def opening_another(self) -> Self:
        """Return another connection, on which nothing was sent. Raises Surprise."""
        if self._opened is None:
            raise Surprise("no further connection can be opened")
        talk = self._opened()
        if not isinstance(talk, type(self)):
            raise TypeError(f"a connection of {talk.VERSION}, not of {self.VERSION}")
        return talk

    def another(self) -> Self:
        """Return another connection, logged in, with channel 1 open, or a session begun. Raises Surprise."""
        talk = self.opening_another()
        talk.begin()
        return talk

    @abstractmethod
    def ends(self, seconds: float | None = None) -> bool:
        """Read until the end of the connection; whether it came in time."""

    @abstractmethod
    def begin(self) -> None:
        """Log in, and open channel 1 or a session on it. Raises Surprise."""

    @abstractmethod
    def finish(self) -> str:
        """End the connection as the specification asks; return what is wrong with the server's part of it."""

    @abstractmethod
    def sweep(self, names: Names) -> None:
        """Log in, delete what has these names, and end the connection. Raises Surprise if it isn't served."""

    def close(self) -> None:
        """Drop the transport."""
        with suppress(OSError):
            self.transport.close()


class Reading(Conversation, Generic[U]):
    """A conversation whose server's octets are read as units of one kind."""

    def __init__(
        self,
        transport: Transport,
        login: Login,
        names: Names,
        patience: Patience,
        opened: Callable[[], Conversation] | None = None,
    ) -> None:
        super().__init__(transport, login, names, patience, opened)
        self._inbox: list[U] = []
        self.is_stuck = False
        """Whether nothing is answered any more, though the connection hasn't ended."""

    @abstractmethod
    def read(self, octets: bytes, at_ns: int) -> Iterable[U]:
        """Return the units that these octets of the server complete."""

    @abstractmethod
    def answers_still(self) -> bool:
        """Whether the connection is served: it answers a question that has nothing to do with the case."""

    def is_served(self) -> bool:
        """Whether the connection is served, as `answers_still` asks; notes how long the answer took."""
        began = self.transport.now()
        served = self.answers_still()
        if served:
            self.answered_in = max(self.answered_in, self.transport.now() - began)
        return served

    @abstractmethod
    def _part(self) -> str:
        """Say the close of the connection, and take the answer; return what is wrong with that."""

    @abstractmethod
    def described(self, unit: U | None) -> str:
        """Say what the peer did instead."""

    def _read(self, seconds: float) -> bool:
        """Read once; whether anything came."""
        octets = self.transport.receive(seconds)
        if octets is None:
            return False
        if not octets:
            self.has_ended = True
            return True
        at = self.transport.wall()
        self.pieces.append(Piece("server", octets, at))
        self._inbox += self.read(octets, at)
        return True

    def until(self, wanted: Callable[[U], bool], seconds: float | None = None) -> U | None:
        """Take the first unit that is wanted and leave the others; None at the end of the time or of the connection."""
        deadline = self.transport.now() + (self.patience.answer if seconds is None else seconds)
        while True:
            for place, each in enumerate(self._inbox):
                if wanted(each):
                    return self._inbox.pop(place)
            left = deadline - self.transport.now()
            if self.has_ended or left <= 0 or not self._read(max(left, _SHORTEST)):
                return None

    def rest(self, seconds: float | None = None) -> None:
        """Let the server go on for a while, and keep what it says."""
        self.until(lambda unit: False, self.patience.quiet if seconds is None else seconds)

    def forget(self) -> None:
        """Pass over what came so far, and wasn't taken."""
        self._inbox.clear()

    def ends(self, seconds: float | None = None) -> bool:
        self.until(lambda unit: False, seconds)
        return self.has_ended

    def finish(self) -> str:
        if not self.is_judged or self.has_ended:
            return ""
        if not self.is_over:
            self.is_over = True
            return self._part()
        if self.said_goodbye:
            return ""
        return "" if self.ends(self.patience.end) else "the end: the server leaves the connection half open"

    def reaction(self, take: Callable[[float], U | None]) -> U | None:
        """Take what the server does about something, by `take`, which gets seconds; None if it does nothing.

        A server that answers something else meanwhile gets less time: it has read the cause before.
        """
        soon = self.patience.soon
        unit = take(soon)
        if unit is not None or self.has_ended:
            return unit
        if not self.is_open:
            return take(self.patience.answer)
        # A question that isn't answered has taken all the time of an answer.
        self.is_stuck = not self.is_served()
        return take(soon)

    def ending(self) -> str:
        """Say that nothing came, or how the connection ended instead."""
        how = self.transport.how_it_ended
        said = f"the connection is {how}" if how else "nothing"
        return f"{said}, but for {self.garbled}" if self.garbled else said

    def silence(self) -> Seen:
        """Judge an answer that didn't come."""
        but = f" (but {self.garbled})" if self.garbled else ""
        if not self.is_stuck and self.is_served():
            return Seen(Verdict.BREAKS, f"silence: no answer{but}, and the connection is served as before")
        if self.has_ended:
            return Seen(Verdict.BREAKS, f"the connection is {self.transport.how_it_ended} without an answer{but}")
        # It answers no close either.
        self.is_judged = False
        return Seen(Verdict.BREAKS, f"stuck: no answer{but}, nor to anything else on the connection")
