"""Play of 0-10: many connections in turn, and all that can be seen of them as text."""

# pyright: reportPrivateUsage=false
import pickle
from typing import Any

from amqp_sansio import Closed, Scope, Side
from tests.kit import play
from tests.kit.choices import Choices
from tests.kit.facing import CLIENT
from tests.kit.facing_0_10 import Facing
from tests.kit.hostile_0_10 import Peer
from tests.kit.octets_0_10 import parse, tune, tune_ok
from tests.kit.pair import told
from tests.kit.small import small_limits
from tests.kit.using_0_10 import Using
from tests.kit.versions import KIT_0_10

LIMITS = small_limits(header=2000, requests=6, calls=40, replay=30, replay_octets=30_000)
FRAME_SIZE = 4096


def config_of(side: Side, **changes: Any) -> Any:
    """A configuration with small limits."""
    return KIT_0_10.config(side, **{"limits": LIMITS, "max_frame_size": FRAME_SIZE, "heartbeat": 10, **changes})


def facing_of(side: Side, **changes: Any) -> Facing:
    """An endpoint of an open connection with small limits."""
    tuning = tune(3, FRAME_SIZE, 1, 120) if side is CLIENT else tune_ok(3, FRAME_SIZE, 10)
    return Facing.opened(side, config_of(side, **changes), tuning)


class Play(play.Play[Facing, Using]):
    """Over as many connections as it takes.

    `check`: a command that raises has to leave the endpoint as it was. `forks`: the endpoint is pickled and restored
    all the time, so that the application's handles are copies.
    """

    def __init__(
        self,
        octets: bytes,
        side: Side,
        *,
        check: bool = False,
        forks: bool = False,
        above: int | None = None,
        **options: Any,
    ) -> None:
        choices, facing = Choices(octets), facing_of(side, stream_above=above)
        super().__init__(choices, facing, Using(choices, facing.end, check=check), **options)
        self.side = side
        self.forks = forks
        self.above = above
        self.peer = Peer(choices, facing.end)
        self.trace: list[str] = []

    def run(self) -> Using:
        """As the base's; what is kept ends too."""
        super().run()
        if not self.forks:
            self.application.end_all()
        return self.application

    def choose(self) -> None:
        """The application or the peer does something, or time passes."""
        choices, facing = self.choices, self.facing
        match choices.below(32):
            case 0:
                facing.now += choices.below(8)
                facing.end.handle_timeout(facing.now)
            case 1 if choices.rarely():
                facing.end.connection_lost("cut", facing.now)
            case number if number < 17:
                self.application.act()
            case _:
                self.arrive(self.peer.octets())

    def check(self) -> None:
        """The books; then the next connection, if this one is over."""
        if self.forks:
            self.fork()
        self.show()
        self.facing.end.check()
        for state in self.application.kept:
            state.check(LIMITS)
        if self.application.telling.closed:
            self.connect()

    def hear(self) -> None:
        """Tell the application of the events, and note them."""
        for event in self.facing.events[self.heard :]:
            self.trace.append(told(event))
            if self.forks:
                self.application.telling.ended.clear()
            self.application.hear(event)
            if isinstance(event, Closed) and event.scope is Scope.CONNECTION:
                self.application.telling.closed = True
        self.heard = len(self.facing.events)

    def show(self) -> None:
        """All that can be seen of the endpoint."""
        end = self.facing.end
        self.trace.append(
            f"{end.state} {end.sessions} {end.next_deadline} {end.receive_budget} {end.close_hint} {end.send_backlog}"
        )
        for channel in end.sessions:
            session = end.session(channel)
            shown = (session, session.incomplete, session.unsettled, session.timeout, session.is_attached)
            self.trace.append(repr(shown))

    def fork(self) -> None:
        """What comes out of the pickle goes on."""
        peer, end = self.peer, self.facing.end
        before = {channel: end.session(channel) for channel in end.sessions}
        copied = pickle.loads(pickle.dumps((self.facing.end, self.application.kept)))
        self.facing.end, self.application.kept = copied
        for channel, session in peer.lasted.items():
            if session is before.get(channel):
                peer.lasted[channel] = self.facing.end._sessions.get(channel)
        self.application.end = self.facing.end
        self.peer.end = self.application.end
        sessions = self.application.sessions
        self.application.sessions = {
            channel: self.facing.end._sessions.get(channel) or each for channel, each in sessions.items()
        }

    def connect(self) -> None:
        """The next connection, where sessions may be resumed."""
        self.check_out()
        now = self.facing.now
        self.facing = facing_of(self.side, stream_above=self.above)
        self.facing.now = now
        self.application.end = self.facing.end
        self.application.asked = None
        self.application.telling.closed = False
        self.peer = Peer(self.choices, self.facing.end)
        self.heard = 0

    def check_out(self) -> None:
        """What was sent can be read."""
        out = self.facing.out
        self.trace.append(out.hex())
        if self.facing.end.close_hint.value == "close-now":
            return
        for sent in parse(out):
            assert max(sent.sizes, default=0) <= FRAME_SIZE
            assert sent.protocol_header or sent.record
