"""Links of AMQP 1.0 that lose their TCP connection again and again, between two ends that both can resume them."""

import pickle
import random
import time
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import count
from typing import Any

import pytest

from amqp_sansio import NEED_DATA
from amqp_sansio.amqp_1_0 import Accepted, Config, Delivery, LinkState, Message, Receiver, Sender
from amqp_sansio.sasl import Plain
from tests.interop.brokers.wires import at_once
from tests.kit.node_1_0 import ServerNode
from tests.kit.wire_1_0 import Wire10

COUNT = 40
numbers = count(1)


@pytest.fixture(scope="module")
def keeper() -> Iterator[ServerNode]:
    """A node that keeps links."""
    with ServerNode() as node:
        yield node
        assert node.errors == []


@pytest.fixture
def connect(keeper: ServerNode) -> Iterator[Callable[[], Wire10]]:
    """Opens connections to the node."""
    config = Config(container_id="recovering", sasl=Plain("guest", "guest"), max_frame_size=4096)
    wires: list[Wire10] = []

    def connect() -> Wire10:
        wires.append(at_once(Wire10(config, "127.0.0.1", keeper.port)))
        wires[-1].opened()
        return wires[-1]

    yield connect
    for wire in wires:
        wire.socket.close()


def saved(link: Sender | Receiver) -> LinkState:
    """The state of a link as another process would find it."""
    state = pickle.loads(pickle.dumps(link.saved_state()))
    assert isinstance(state, LinkState)
    return state


def wait_for(node: ServerNode, name: str) -> None:
    """Until the node has noticed the cut."""
    end = time.monotonic() + 10
    while name not in node.suspended:
        assert time.monotonic() < end
        time.sleep(0.005)


def body(number: int) -> bytes:
    """Every third message takes several frames."""
    return b"%d " % number + b"x" * (10_000 if number % 3 == 0 else 10)


def number_of(payload: bytes) -> int:
    return int(payload.split(b" ")[0])


def next_of(wire: Wire10, receiver: Receiver) -> Delivery:
    """The next delivery; those that are only settled after a resumption use up credit too."""
    end = time.monotonic() + 10
    while not any(isinstance(event, Delivery) for event in wire.events):
        assert time.monotonic() < end
        receiver.top_up(5)
        wire.step(0.02)
    return wire.delivery(receiver)


@pytest.mark.parametrize("seed", range(6))
def test_a_sender_that_is_cut_sends_everything_once(
    keeper: ServerNode, connect: Callable[[], Wire10], seed: int
) -> None:
    chance = random.Random(seed)
    name = f"sender-{next(numbers)}"
    address = f"recovery.{name}"
    state: LinkState | None = None
    outcomes: list[Any] = []
    sent = 0
    cuts = 0
    while True:
        wire = connect()
        session = wire.session()
        # Exactly once: the receiver settles when it knows that the sender has.
        sender = wire.attached_sender(
            session, address if state is None else None, name=None if state else name, state=state, rcv_settle_mode=1
        )
        if cuts < 6:
            for _ in range(chance.randrange(1, 8)):
                if sent < COUNT and sender.credit:
                    sender.send(Message(body(sent)))
                    sent += 1
                if chance.random() < 0.5:
                    wire.step(0.01)
            wire.flush()
            if chance.random() < 0.5:
                wire.idle(0.02)
            wire.cut()
            cuts += 1
            state = saved(sender)
            wait_for(keeper, name)
            continue
        while sent < COUNT:
            wire.credit(sender)
            outcomes.append(sender.send(Message(body(sent))))
            sent += 1
        wire.until(lambda sender=sender: not sender.pending)  # type: ignore[misc]
        assert [wire.result(handle) for handle in outcomes] == [Accepted()] * len(outcomes)
        wire.close_link(sender)
        wire.close()
        break
    found = Counter(map(number_of, keeper.kept[address]))
    assert found == Counter(range(COUNT))


@pytest.mark.parametrize("seed", range(6))
def test_a_receiver_that_is_cut_receives_everything_once(
    keeper: ServerNode, connect: Callable[[], Wire10], seed: int
) -> None:
    chance = random.Random(seed)
    name = f"receiver-{next(numbers)}"
    address = f"recovery.{name}"
    wire = connect()
    sender = wire.sender(wire.session(), address)
    for number in range(COUNT):
        assert wire.send(sender, Message(body(number))) == Accepted()
    wire.close()
    state: LinkState | None = None
    processed: Counter[int] = Counter()
    cuts = 0
    while True:
        wire = connect()
        session = wire.session()
        receiver = wire.receiver(
            session,
            address if state is None else None,
            name=None if state else name,
            state=state,
            rcv_settle_mode=1,
            credit=5,
        )
        for _ in range(chance.randrange(2, 9) if cuts < 6 else COUNT):
            if sum(processed.values()) == COUNT:
                break
            delivery = next_of(wire, receiver)
            # Processed and said so in one step; what the peer learns of it is the link's business.
            processed[number_of(delivery.body)] += 1
            receiver.accept(delivery)
            if chance.random() < 0.5:
                wire.step(0.01)
        wire.flush()
        if cuts == 6:
            break
        wire.cut()
        cuts += 1
        state = saved(receiver)
        wait_for(keeper, name)
    wire.until(lambda: not receiver.unsettled)
    receiver.flow(10, drain=True)
    wire.until(lambda: receiver.credit == 0)
    assert wire.connection.next_event() is NEED_DATA
    wire.close()
    assert processed == Counter(range(COUNT))
    assert not keeper.kept[address]
