"""Play of 1.0: one connection, whose peer sends whatever frames can be written."""

from typing import Any, Final

from amqp_sansio.endpoint import Side
from tests.kit import play
from tests.kit.choices import Choices
from tests.kit.facing_1_0 import Facing
from tests.kit.hostile_1_0 import Peer
from tests.kit.octets_1_0 import their_open
from tests.kit.small import small_limits
from tests.kit.using_1_0 import Using
from tests.kit.versions import KIT_1_0

LIMITS: Final = small_limits()


def facing_of(side: Side, **changes: Any) -> Facing:
    """An open connection with small limits; `changes` are those of the peer's open."""
    config = KIT_1_0.config(side, limits=LIMITS, max_frame_size=4096, incoming_window=20)
    return Facing.opened(side, config, their_open(**changes))


class Play(play.Play[Facing, Using]):
    """As any; `check`: a command that raises has to leave the endpoint as it was."""

    def __init__(self, octets: bytes, facing: Facing, *, check: bool = False, **options: Any) -> None:
        choices = Choices(octets)
        super().__init__(choices, facing, Using(choices, facing.end, check=check), **options)
        self.peer = Peer(choices, facing.end)

    def choose(self) -> None:
        """The application or the peer does something."""
        if self.choices.below(2):
            self.application.act()
        else:
            self.arrive(self.peer.octets())

    def check(self) -> None:
        """The books."""
        self.facing.end.check()
