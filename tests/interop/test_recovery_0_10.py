"""Sessions of AMQP 0-10 that lose their TCP connection again and again, between two ends that both keep them."""

import pickle
import random
import time
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import count

import pytest

from amqp_sansio import Accepted, By, RemoteProtocolError, Signal
from amqp_sansio.amqp_0_10 import Config, Connection, MessageReceived, Resumed, Session
from amqp_sansio.amqp_0_10.spec import MessageSubscribe
from amqp_sansio.sasl import Plain
from amqp_sansio_pytest import EmbeddedBroker
from tests.interop.brokers.brokerj import BrokerJ
from tests.interop.brokers.facing_0_10 import facing, keyed
from tests.interop.brokers.wires import at_once
from tests.kit.wire_0_10 import Wire010, saved

CUTS = 60
numbers = count(1)


@pytest.fixture(scope="module")
def keeper() -> Iterator[EmbeddedBroker]:
    """The project's broker, which keeps sessions."""
    with EmbeddedBroker(clock="real") as broker:
        yield broker
        assert broker.errors == []


@pytest.fixture
def connect(keeper: EmbeddedBroker) -> Iterator[Callable[[], Wire010]]:
    """Opens connections to the node."""
    config = Config(sasl=Plain("guest", "guest"), max_frame_size=4096)
    wires: list[Wire010] = []

    def connect() -> Wire010:
        wires.append(at_once(Wire010(config, "127.0.0.1", keeper.port)))
        wires[-1].opened()
        return wires[-1]

    yield connect
    for wire in wires:
        wire.socket.close()


def body(number: int) -> bytes:
    """Every third message takes several frames."""
    return b"%d " % number + b"x" * (10_000 if number % 3 == 0 else 10)


def number_of(payload: bytes) -> int:
    return int(payload.split(b" ")[0])


class Cutting:
    """A session that goes on whatever happens to its connection; `incomplete` is what came before and isn't done."""

    def __init__(self, connect: Callable[[], Wire010], seed: int) -> None:
        self.connect = connect
        self.chance = random.Random(seed)
        self.cuts = 0
        self.wire = connect()
        self.session: Session = self.wire.session(f"cut-{next(numbers)}")
        self.incomplete: list[MessageReceived] = []
        # Until the node has promised to keep it, it may be gone with the first connection.
        assert self.wire.result(self.session.request_timeout(60)) == 60

    def cut(self) -> None:
        """Lose the connection somewhere in what is on its way, and attach the session again."""
        wire = self.wire
        if self.chance.random() < 0.5:
            octets = wire.connection.data_to_send(time.monotonic(), self.chance.randrange(1, 9000))
            wire.socket.sendall(octets)
            if self.chance.random() < 0.5:
                time.sleep(self.chance.random() / 100)
        wire.cut()
        self.cuts += 1
        state = saved(self.session)
        self.wire = self.connect()
        self.session = self.wire.connection.resume_session(state)
        if self.chance.random() < 0.3:
            # Within the resumption: the node may have stolen the session by then, or not.
            self.wire.step(0.001)
            if not any(isinstance(event, Resumed) for event in self.wire.events):
                self.cut()
                return
        resumed = self.wire.next(Resumed)
        found = [event for event in resumed.incomplete if isinstance(event, MessageReceived)]
        assert len(found) == len(resumed.incomplete)
        self.incomplete = found


@pytest.mark.parametrize("seed", range(3))
def test_a_publisher_that_is_cut_publishes_everything_once(
    keeper: EmbeddedBroker, connect: Callable[[], Wire010], seed: int
) -> None:
    cutting = Cutting(connect, seed)
    queue = f"queue-{cutting.session.name.decode()}"
    keeper.preload({"queues": [queue]})
    sent = 0
    while cutting.cuts < CUTS:
        for _ in range(cutting.chance.randrange(8)):
            cutting.session.transfer("", keyed(queue, body(sent)))
            sent += 1
            if cutting.chance.random() < 0.3:
                cutting.wire.step(0.001)
        if cutting.chance.random() < 0.2:
            cutting.session.flush()
        cutting.cut()
    pending = cutting.session.pending
    cutting.wire.sync(cutting.session)
    cutting.wire.until(lambda: not cutting.session.pending)
    assert all(handle.result in (None, Accepted()) for handle in pending)
    cutting.wire.close()
    # Not only everything once: in order, too.
    assert [number_of(message.body) for message in keeper.messages(queue)] == list(range(sent))
    assert sent > 2 * CUTS


@pytest.mark.parametrize("seed", range(3))
def test_a_consumer_that_is_cut_receives_everything_once(
    keeper: EmbeddedBroker, connect: Callable[[], Wire010], seed: int
) -> None:
    total = 4 * CUTS
    wire = connect()
    publishing = wire.session(f"publisher-{next(numbers)}")
    queue = f"queue-{publishing.name.decode()}"
    keeper.preload({"queues": [queue]})
    for number in range(total):
        publishing.transfer("", keyed(queue, body(number)))
    wire.sync(publishing)
    wire.close()
    cutting = Cutting(connect, seed)
    cutting.wire.call(cutting.session, MessageSubscribe(queue, "d"))
    cutting.session.top_up("d", 5)
    done: Counter[int] = Counter()
    order: list[int] = []
    while sum(done.values()) < total:
        wire, session = cutting.wire, cutting.session
        most = cutting.chance.randrange(1, 8) if cutting.cuts < CUTS else total
        for _ in range(most):
            if sum(done.values()) == total:
                break
            waiting = cutting.incomplete
            message = waiting.pop(0) if waiting else wire.message(session, "d")
            # Processed and said so in one step; what the peer learns of it is the session's business.
            done[number_of(message.body)] += 1
            order.append(number_of(message.body))
            session.accept(message.command_id)
            if cutting.chance.random() < 0.5:
                wire.step(0.001)
        if cutting.cuts < CUTS:
            cutting.cut()
    cutting.wire.sync(cutting.session)
    assert cutting.session.unsettled == cutting.session.incomplete == ()
    cutting.wire.close()
    assert cutting.cuts >= CUTS
    assert order == list(range(total))
    assert not keeper.messages(queue)


def test_a_session_is_taken_from_another_connection(connect: Callable[[], Wire010]) -> None:
    cutting = Cutting(connect, 0)
    first = cutting.wire
    # A client that has lost its connection, while the node still has it.
    connection: Connection = pickle.loads(pickle.dumps(first.connection))
    session = connection.session(cutting.session.channel)
    connection.connection_lost("lost here alone", time.monotonic())
    while not isinstance(connection.next_event(), Signal):
        pass
    state = saved(session)
    other = connect()
    with pytest.raises(RemoteProtocolError) as caught:
        other.resume(state, force=False)
    assert caught.value.condition == "session-busy"
    first.idle(0.1)
    assert first.closed is None
    resumed = other.resume(state)
    other.sync(resumed)
    # Its own connection stays, and is told that the session is another's.
    closed = first.session_closed(cutting.session)
    assert (closed.report.by, closed.report.condition, closed.resumable) == (By.REMOTE, "session-busy", True)
    other.close()


def test_broker_j_does_not_know_the_session(connect: Callable[[], Wire010], brokerj: BrokerJ) -> None:
    """A session that is kept, resumed where nobody knows it: what is in doubt is told, nothing is sent again."""
    cutting = Cutting(connect, 0)
    sent = cutting.session.transfer("", keyed("queue"))
    cutting.wire.cut()
    state = saved(cutting.session)
    completion, outcome = state.pending
    assert (completion, outcome) == (sent.completion, sent.outcome)
    with facing(brokerj) as peer:
        wire = peer.open()
        with pytest.raises(RemoteProtocolError, match="the peer has forgotten session"):
            wire.resume(state)
        (failed,) = wire.failures()
        assert {completion, outcome} < set(failed.pendings)
        for handle in (completion, outcome):
            assert isinstance(handle.error, RemoteProtocolError)
        assert state.pending == ()
        wire.sync(wire.session())
        wire.close()
