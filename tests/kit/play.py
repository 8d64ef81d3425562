"""Play: an endpoint of any version between a made-up peer and an application, both of which do what octets say."""

from abc import ABC, abstractmethod
from typing import Any, Generic, TypeVar

from amqp_sansio import Signal
from tests.kit.choices import Choices
from tests.kit.facing import Facing
from tests.kit.pair import Chunks
from tests.kit.using import Using

F = TypeVar("F", bound=Facing[Any])
U = TypeVar("U", bound=Using)


class Play(ABC, Generic[F, U]):
    """`reads`: the peer takes what is sent. `cuts`: its octets come in two pieces, `chunks` cuts them further."""

    def __init__(
        self,
        choices: Choices,
        facing: F,
        application: U,
        *,
        reads: bool = True,
        cuts: bool = False,
        chunks: Chunks | None = None,
    ) -> None:
        self.choices = choices
        self.facing = facing
        self.application = application
        self.reads = reads
        self.cuts = cuts
        self.chunks = chunks
        self.heard = 0

    def run(self) -> U:
        """To the end of the octets, and of the connection."""
        while self.choices:
            self.choose()
            self.take()
            self.hear()
            self.check()
        self.facing.end.connection_lost("over", self.facing.now)
        self.facing.settle()
        self.hear()
        return self.application

    @abstractmethod
    def choose(self) -> None:
        """The application or the peer does something."""

    @abstractmethod
    def check(self) -> None:
        """What must be true all the time."""

    def arrive(self, octets: bytes) -> None:
        """Octets of the peer."""
        end = self.facing.end
        at = self.choices.below(len(octets)) if self.cuts else 0
        for part in (octets[:at], octets[at:]):
            if len(part) > end.receive_budget:
                continue
            for piece in self.chunks(part) if self.chunks is not None else (part,):
                end.receive_data(piece, self.facing.now)
                self.take()

    def take(self) -> None:
        """Take events; octets only from an endpoint whose peer reads."""
        if self.reads:
            self.facing.settle()
            return
        while not isinstance(event := self.facing.end.next_event(), Signal):
            self.facing.events.append(event)

    def hear(self) -> None:
        """Tell the application of the events."""
        for event in self.facing.events[self.heard :]:
            self.application.hear(event)
        self.heard = len(self.facing.events)
