"""Play: an endpoint of AMQP 0-10 between a made-up peer and an application, both of which do what octets say."""

# pyright: reportPrivateUsage=false
import pickle
from typing import Any

from amqp_sansio import Closed, Scope, Side, Signal
from tests.kit.facing import CLIENT
from tests.kit.hostile_0_10 import Choices, Peer
from tests.kit.octets_0_10 import parse, tune, tune_ok
from tests.kit.pair import Chunks, told
from tests.kit.pair_0_10 import client_config, server_config
from tests.kit.small import small_limits
from tests.kit.using_0_10 import Using, check_books, check_state
from tests.kit.wire_0_10 import Facing

LIMITS = small_limits(header=2000, requests=6, calls=40, replay=30, replay_octets=30_000)
FRAME_SIZE = 4096


def config_of(side: Side, **changes: Any) -> Any:
    """A configuration with small limits."""
    made = client_config if side is CLIENT else server_config
    return made(**{"limits": LIMITS, "max_frame_size": FRAME_SIZE, "heartbeat": 10, **changes})


def facing_of(side: Side, **changes: Any) -> Facing:
    """An endpoint of an open connection with small limits."""
    tuning = tune(3, FRAME_SIZE, 1, 120) if side is CLIENT else tune_ok(3, FRAME_SIZE, 10)
    return Facing.opened(side, config_of(side, **changes), tuning)


class Play:
    """Octets choose what the peer sends and what the application does, over as many connections as it takes.

    `reads`: the peer takes what is sent. `cuts`: its octets come in two pieces, `chunks` cuts them further. `check`:
    a command that raises has to leave the endpoint as it was. `forks`: the endpoint is pickled and restored all the
    time, so that the application's handles are copies.
    """

    def __init__(
        self,
        octets: bytes,
        side: Side,
        *,
        reads: bool = True,
        cuts: bool = False,
        check: bool = False,
        forks: bool = False,
        above: int | None = None,
        chunks: Chunks | None = None,
    ) -> None:
        self.choices = Choices(octets)
        self.side = side
        self.reads = reads
        self.cuts = cuts
        self.forks = forks
        self.above = above
        self.chunks = chunks
        self.facing = facing_of(side, stream_above=above)
        self.application = Using(self.choices, self.facing.end, check=check)
        self.peer = Peer(self.choices, self.facing.end)
        self.heard = 0
        self.all_events: list[Any] = []
        self.trace: list[str] = []

    def run(self) -> Using:
        """To the end of the octets, and of the connection."""
        while self.choices:
            self.step()
        self.facing.end.connection_lost("over", self.facing.now)
        self.facing.settle()
        self.hear()
        if not self.forks:
            self.application.end_all()
        return self.application

    def step(self) -> None:
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
        self.take()
        self.hear()
        if self.forks:
            self.fork()
        self.show()
        check_books(facing.end)
        for state in self.application.kept:
            check_state(state, LIMITS)
        if self.application.telling.closed:
            self.connect()

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
            self.trace.append(told(event))
            self.all_events.append(event)
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
        self.application.end = self.peer.end = self.facing.end
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
