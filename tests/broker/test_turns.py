"""Turns: what one client gives the hub to do is cut into turns of bounded work, everybody gets what he would without
them, and a client of another queue is served meanwhile."""

from __future__ import annotations

import pickle
from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import islice, product
from typing import Any, Final

import pytest

from amqp_sansio import AMQP_0_9_1, Signal
from amqp_sansio import amqp_1_0 as newer
from amqp_sansio.amqp_0_9_1 import Delivery
from amqp_sansio.broker import BrokerLimits, Client, Hub, Settings, commands
from amqp_sansio.broker.model.commands import Outcome
from amqp_sansio.broker.model.consumer import Window
from amqp_sansio.broker.model.content import Filter, Message
from amqp_sansio.broker.model.faults import Fault, FaultKind
from amqp_sansio.endpoint import CloseHint
from amqp_sansio.sasl import Plain
from tests.broker.test_hub_properties import SEED, URLS, Step
from tests.broker.test_hub_properties import steps as steps
from tests.kit.broker_model import Model, bodies, content
from tests.kit.hub_classic import Talk, User, World
from tests.kit.steps import count_steps

TURN: Final = 200
LINES: Final = 120
"""Lines of Python, and functions in C, that a step of the budget may take."""
ONE: Final = 15_000
"""Lines that the one command may take during which the budget is used up: of a route, a requeue of everything."""
MANY: Final = 1_200
"""So many that one command concerns."""
LISTED: Final = ONE + 12 * MANY
"""Such a command lists what it concerns at once."""
ROUNDS: Final = 40
"""Turns of everybody within which a healthy client is answered."""
SELECTOR: Final = newer.Symbol("apache.org:selector-filter:string")


# The same, whatever the budget.


def replayed(steps: list[Step], turn: int, every: int) -> dict[int, bytes]:
    """What a broker with this budget sends to each client; a snapshot is taken at every so many turns."""
    hub = Hub(Settings(seed=SEED, urls=URLS, epoch=1.0, limits=BrokerLimits(turn=turn)))
    sent: dict[int, bytes] = defaultdict(bytes)
    turns = 0
    for number, octets in steps:
        while number not in hub.clients and number > len(sent):
            sent[hub.connect().number] = b""
        client = hub.clients.get(number)
        if client is None:
            continue
        if octets is None:
            client.connection_lost("gone", 0.0)
        else:
            client.receive_data(octets, 0.0)
        client.next_event()
        sent[number] += client.data_to_send(0.0)
        while hub.is_dirty:
            turns += 1
            if turns % every == 0:
                hub = pickle.loads(pickle.dumps(hub))
            for other in hub.take_dirty():
                other.next_event()
                sent[other.number] += other.data_to_send(0.0)
    assert not hub.clients
    assert not hub.model.has_work
    return dict(sent)


@pytest.mark.parametrize("turn", [1, 3, 40])
def test_clients_are_sent_the_same_octets_whatever_the_budget(steps: list[Step], turn: int) -> None:
    assert replayed(steps, turn, every=100) == replayed(steps, 1_000_000, every=1_000_000)


# Hostile clients, and a healthy one.


class Rounds:
    """A world whose clients have one turn each in a round; what a turn of the hub costs is counted."""

    def __init__(self, turn: int = TURN, **settings: Any) -> None:
        self.world = World(limits=BrokerLimits(turn=turn), **settings)
        self.hub = self.world.hub
        self.others: list[Callable[[], bool]] = []
        self.dearest = 0
        self.counts = False

    def channel(self) -> Talk:
        user = User(self.world, AMQP_0_9_1)
        self.settle()
        number = user.end.open_channel().number
        self.settle()
        return Talk(user, number)

    def turn(self, work: Callable[[], object]) -> None:
        if self.counts:
            self.dearest = max(self.dearest, count_steps(work))
        else:
            work()

    def round(self) -> bool:
        """Everybody's turn; whether there is more to do."""
        moved = self.hub.is_dirty
        for user in self.world.users:
            moved |= self._user(user)
        for other in self.others:
            moved |= other()
        taken: list[Client] = []
        self.turn(lambda: taken.extend(self.hub.take_dirty()))
        for client in taken:
            self.turn(client.next_event)
        return moved

    def settle(self) -> None:
        for _ in range(20_000):
            if not self.round():
                return
        raise AssertionError("they never come to rest")

    def _user(self, user: User) -> bool:
        now = self.world.now
        while not isinstance(event := user.end.next_event(), Signal):
            user.events.append(event)
        octets = user.end.data_to_send(now)
        if octets:
            user.client.receive_data(octets, now)
        self.turn(user.client.next_event)
        back: list[bytes] = []
        self.turn(lambda: back.append(user.client.data_to_send(now)))
        if back[0]:
            user.end.receive_data(back[0], now)
        if user.client.close_hint is not CloseHint.KEEP and not back[0]:
            user.client.connection_lost("closed", now)
        return bool(octets or back[0])

    def do(self, talk: Talk, name: str, **fields: Any) -> None:
        """Give a client something to send, without waiting for the answer."""
        method = talk.make(name, **fields)
        if talk.user.end.dialect.replies[method.ID]:
            talk.core.call(method)
        else:
            talk.core.send(method)

    def publish(self, talk: Talk, key: str, exchange: str = "", body: bytes = b"x", count: int = 1) -> Any:
        """Publish without waiting; the handle of the last one."""
        handle: Any = None
        for _ in range(count):
            handle = talk.core.publish(body, exchange=exchange, routing_key=key)
        return handle


class Healthy:
    """A client of a queue of its own: each publish is confirmed and delivered, and it counts the rounds until then."""

    def __init__(self, rounds: Rounds) -> None:
        self.rounds = rounds
        self.talk = rounds.channel()
        for name, fields in (
            ("confirm.select", {}),
            ("queue.declare", {"queue": "healthy", "durable": True}),
            ("basic.consume", {"queue": "healthy", "no_ack": True}),
        ):
            rounds.do(self.talk, name, **fields)
            rounds.settle()
        self.talk.user.events.clear()

    def asks(self) -> int:
        """Publish one; return the rounds until it is confirmed and delivered."""
        confirm = self.rounds.publish(self.talk, "healthy")
        for number in range(1, ROUNDS + 1):
            self.rounds.round()
            if confirm.done and any(isinstance(event, Delivery) for event in self.talk.user.events):
                self.talk.user.events.clear()
                return number
        raise AssertionError(f"no answer within {ROUNDS} rounds: {self.talk.user.events}")


@dataclass(frozen=True)
class Attack:
    """What a hostile client prepares, and what it does then."""

    prepare: Callable[[Rounds, Talk], object]
    strike: Callable[[Rounds, Talk], object]
    one: int = ONE


def dead_letters(rounds: Rounds, talk: Talk) -> None:
    rounds.do(talk, "exchange.declare", exchange="x", type="fanout")
    for number in range(12):
        arguments = {"x-message-ttl": 0, "x-dead-letter-exchange": "x"}
        rounds.do(talk, "queue.declare", queue=f"q{number}", durable=True, arguments=arguments)
        rounds.do(talk, "queue.bind", queue=f"q{number}", exchange="x")
    rounds.settle()


def fanout(rounds: Rounds, talk: Talk, count: int = 300) -> None:
    rounds.do(talk, "exchange.declare", exchange="x", type="fanout")
    for number in range(count):
        rounds.do(talk, "queue.declare", queue=f"q{number}", durable=True)
        rounds.do(talk, "queue.bind", queue=f"q{number}", exchange="x")
    rounds.settle()


def topics(rounds: Rounds, talk: Talk) -> None:
    rounds.do(talk, "queue.declare", queue="q", durable=True)
    for words in islice(product("*a", repeat=9), 150):
        rounds.do(talk, "queue.bind", queue="q", exchange="amq.topic", routing_key=".".join(words) + ".#.z")
    rounds.settle()


def expiring(rounds: Rounds, talk: Talk) -> None:
    rounds.do(talk, "queue.declare", queue="z", durable=True)
    arguments = {"x-message-ttl": 3000, "x-dead-letter-exchange": "", "x-dead-letter-routing-key": "z"}
    rounds.do(talk, "queue.declare", queue="q", durable=True, arguments=arguments)
    rounds.publish(talk, "q", count=600)
    rounds.settle()


def pass_time(rounds: Rounds, talk: Talk) -> None:
    rounds.world.now += 3.0
    rounds.turn(lambda: rounds.hub.handle_timeout(rounds.world.now))


def waiting(rounds: Rounds, talk: Talk, count: int = 150) -> None:
    rounds.do(talk, "queue.declare", queue="q", durable=True)
    rounds.publish(talk, "q", count=count)
    rounds.settle()


def select(rounds: Rounds, talk: Talk) -> None:
    """Attach with a selector that takes long, and matches nothing."""
    end = rounds.hub.connect()
    core: Any = newer.Connection.client(newer.Config(sasl=Plain("guest", "guest")))

    def move() -> bool:
        while not isinstance(core.next_event(), Signal):
            pass
        octets = core.data_to_send(0.0)
        if octets:
            end.receive_data(octets, 0.0)
        rounds.turn(end.next_event)
        back = end.data_to_send(0.0)
        if back:
            core.receive_data(back, 0.0)
        return bool(octets or back)

    rounds.others.append(move)
    counts, rounds.counts = rounds.counts, False
    rounds.settle()
    session = core.open_session()
    rounds.settle()
    rounds.counts = counts
    text = " OR ".join(["a=1"] * 450)
    session.open_receiver(newer.Source(address="q", filter={SELECTOR: newer.Described(SELECTOR, text)}), credit=10)


def standing_by(rounds: Rounds, talk: Talk) -> None:
    rounds.do(talk, "queue.declare", queue="q", durable=True, arguments={"x-single-active-consumer": True})
    for number in range(300):
        rounds.do(talk, "basic.consume", queue="q", consumer_tag=f"c{number}")
    rounds.settle()


def held(rounds: Rounds, talk: Talk, count: int = 100) -> None:
    waiting(rounds, talk, count)
    rounds.do(talk, "basic.consume", queue="q")
    rounds.settle()


def bound(rounds: Rounds, talk: Talk) -> None:
    rounds.do(talk, "queue.declare", queue="q", durable=True)
    rounds.do(talk, "exchange.declare", exchange="x", type="topic")
    for number in range(MANY):
        rounds.do(talk, "queue.bind", queue="q", exchange="x", routing_key=f"k{number}")
    rounds.settle()


def deferred(rounds: Rounds, talk: Talk) -> None:
    rounds.do(talk, "queue.declare", queue="q", durable=True)
    rounds.do(talk, "tx.select")
    rounds.settle()
    rounds.publish(talk, "q", count=MANY)
    rounds.settle()


def cancel_all(rounds: Rounds, talk: Talk) -> None:
    for number in range(300):
        rounds.do(talk, "basic.cancel", consumer_tag=f"c{number}")


def nack_all(rounds: Rounds, talk: Talk) -> None:
    for _ in range(20):
        rounds.do(talk, "basic.recover", requeue=True)


ATTACKS: Final = {
    "dead letters in a circle": Attack(dead_letters, lambda rounds, talk: rounds.publish(talk, "", "x")),
    "publishes to a wide fanout": Attack(fanout, lambda rounds, talk: rounds.publish(talk, "", "x", b"", 20)),
    "a wide queue after the other deleted": Attack(
        partial(waiting, count=600), lambda rounds, talk: rounds.do(talk, "queue.delete", queue="q")
    ),
    "many topics": Attack(topics, lambda rounds, talk: rounds.publish(talk, ".".join("a" * 100), "amq.topic", b"", 20)),
    "messages that expire together": Attack(expiring, pass_time),
    "a long selector": Attack(waiting, select, 40_000),
    "consumers that end one by one": Attack(standing_by, cancel_all),
    "messages that go to and fro": Attack(held, nack_all, 40_000),
    "very many that return together": Attack(
        partial(held, count=MANY), lambda rounds, talk: rounds.do(talk, "basic.recover", requeue=True), LISTED
    ),
    "very many that a channel has which closes": Attack(
        partial(held, count=MANY), lambda rounds, talk: talk.core.close(), LISTED
    ),
    "very many that a connection has which is lost": Attack(
        partial(held, count=MANY), lambda rounds, talk: talk.user.client.connection_lost("cut", 0.0), LISTED
    ),
    "very many accepted together": Attack(
        partial(held, count=MANY),
        lambda rounds, talk: rounds.do(talk, "basic.ack", delivery_tag=MANY, multiple=True),
        LISTED,
    ),
    "a purge of very many": Attack(
        partial(waiting, count=MANY), lambda rounds, talk: rounds.do(talk, "queue.purge", queue="q"), LISTED
    ),
    "a commit of very many": Attack(deferred, lambda rounds, talk: rounds.do(talk, "tx.commit"), LISTED),
    "an exchange with very many bindings deleted": Attack(
        bound, lambda rounds, talk: rounds.do(talk, "exchange.delete", exchange="x"), LISTED
    ),
    "a queue with very many bindings deleted": Attack(
        bound, lambda rounds, talk: rounds.do(talk, "queue.delete", queue="q"), LISTED
    ),
}


@pytest.mark.parametrize("name", ATTACKS)
def test_a_healthy_client_is_answered_within_a_bounded_number_of_turns(name: str) -> None:
    """And no turn takes more than its budget, and one command."""
    rounds = Rounds()
    attacker = rounds.channel()
    attack = ATTACKS[name]
    attack.prepare(rounds, attacker)
    healthy = Healthy(rounds)
    assert healthy.asks() <= 4
    rounds.counts = True
    attack.strike(rounds, attacker)
    assert max(healthy.asks() for _ in range(3)) <= 4
    assert rounds.dearest <= LINES * TURN + attack.one, rounds.dearest
    rounds.counts = False
    rounds.settle()
    rounds.hub.check()


# The guarantees.


def test_a_confirm_comes_after_the_last_queue_has_the_message() -> None:
    rounds = Rounds(turn=20)
    talk = rounds.channel()
    fanout(rounds, talk, 100)
    rounds.do(talk, "confirm.select")
    rounds.settle()
    confirm = rounds.publish(talk, "", "x")
    queues = rounds.hub.model.vhosts["/"].queues
    seen: list[int] = []
    while not confirm.done:
        rounds.round()
        seen.append(sum([queue.ready for queue in queues.values()]))
        assert len(seen) < 50
    assert len(set(seen)) > 3, "it was done in one turn"
    assert seen[-1] == 100


def in_turn(count: int) -> list[bytes]:
    return [b"%s%d" % (kind, number) for number in range(count) for kind in (b"wide", b"narrow")]


def test_publishes_of_a_channel_stay_in_order_in_every_queue() -> None:
    """The wide one waits in its last queues when the next, to one of them, comes."""
    rounds = Rounds(turn=20)
    talk = rounds.channel()
    fanout(rounds, talk, 100)
    for number in range(5):
        rounds.publish(talk, "", "x", b"wide%d" % number)
        rounds.publish(talk, "q99", "", b"narrow%d" % number)
    rounds.settle()
    queue = rounds.hub.model.vhosts["/"].queues["q99"]
    contents: list[Any] = [entry.message.content for entry in queue.available()]
    assert [each.body for each in contents] == [
        b"%s%d" % (kind, each) for each in range(5) for kind in (b"wide", b"narrow")
    ]


def test_a_commit_is_carried_out_whole_and_in_order() -> None:
    rounds = Rounds(turn=20)
    talk = rounds.channel()
    fanout(rounds, talk, 30)
    rounds.do(talk, "tx.select")
    rounds.settle()
    for number in range(3):
        rounds.publish(talk, "", "x", b"wide%d" % number)
        rounds.publish(talk, "q29", "", b"narrow%d" % number)
    rounds.settle()
    rounds.do(talk, "tx.commit")
    rounds.settle()
    queues = rounds.hub.model.vhosts["/"].queues
    assert {queue.ready for name, queue in queues.items() if name != "q29"} == {3}
    contents: list[Any] = [entry.message.content for entry in queues["q29"].available()]
    assert [each.body for each in contents] == [
        b"%s%d" % (kind, each) for each in range(3) for kind in (b"wide", b"narrow")
    ]


def test_what_a_client_sent_before_its_transport_was_lost_is_done() -> None:
    """Nobody takes its events any more: the hub does, in turns."""
    rounds = Rounds(turn=20)
    talk = rounds.channel()
    fanout(rounds, talk, 60)
    rounds.do(talk, "queue.declare", queue="own", exclusive=True)
    rounds.do(talk, "basic.consume", queue="q0")
    rounds.settle()
    rounds.publish(talk, "", "x", count=10)
    user = talk.user
    user.client.receive_data(user.end.data_to_send(0.0), 0.0)
    user.client.next_event()
    user.client.connection_lost("cut", 0.0)
    user.client.next_event()
    rounds.world.users.remove(user)
    assert user.client.number not in rounds.hub.clients
    assert rounds.hub.is_dirty
    rounds.hub = pickle.loads(pickle.dumps(rounds.hub))
    rounds.settle()
    queues = rounds.hub.model.vhosts["/"].queues
    assert "own" not in queues
    assert {queue.ready for queue in queues.values()} == {10}
    assert not rounds.hub.model.owners
    rounds.hub.check()


def test_expired_messages_are_not_delivered_while_they_wait_to_be_removed() -> None:
    rounds = Rounds(turn=20)
    talk = rounds.channel()
    expiring(rounds, talk)
    pass_time(rounds, talk)
    queue = rounds.hub.model.vhosts["/"].queues["q"]
    assert 0 < queue.ready < 600
    rounds.do(talk, "basic.consume", queue="q", no_ack=True)
    talk.core.publish(b"new", routing_key="q")
    rounds.settle()
    assert talk.bodies() == [b"new"]
    assert rounds.hub.model.vhosts["/"].queues["z"].ready == 600


def test_work_between_turns_is_done_at_once() -> None:
    """A program that holds the hub applies a command and looks at what it did."""
    rounds = Rounds(turn=5)
    talk = rounds.channel()
    fanout(rounds, talk, 50)
    hub = rounds.hub
    owner = hub.apply(commands.OpenOwner("/", "me"))
    hub.apply(commands.Publish(owner, "x", "", content(b"x")))
    assert not hub.model.has_work
    assert all(queue.ready == 1 for queue in hub.model.vhosts["/"].queues.values())


def test_a_client_that_asks_what_has_expired_is_told_so() -> None:
    """A get, a count and a purge wait until what is due first is done."""
    rounds = Rounds(turn=20)
    talk = rounds.channel()
    expiring(rounds, talk)
    pass_time(rounds, talk)
    queue = rounds.hub.model.vhosts["/"].queues["q"]
    assert queue.ready
    reply = talk.core.call(talk.make("basic.get", queue="q"))
    rounds.round()
    assert queue.ready, "it was done in one turn"
    rounds.settle()
    assert not queue.ready
    assert type(reply.result).__name__ == "BasicGetEmpty"
    assert rounds.hub.model.vhosts["/"].queues["z"].ready == 600


def test_a_message_is_judged_once_by_each_selector() -> None:
    """Neither another publish nor more credit has it judged again; a message that came back is."""
    judged: list[int] = []

    class Counting(Filter):
        __slots__ = ()

        def accepts(self, message: Message) -> bool:
            judged.append(message.number)
            return message.routing_key == "b"

    model = Model()
    for name in ("a", "b"):
        model.apply(commands.Bind(model.owner, model.queue("jobs").name, "amq.direct", name))
    for _ in range(50):
        model.publish("x", "a", exchange="amq.direct")
    window = Window(1)
    consumer = model.consume(windows=(window,), filter=Counting())
    assert len(judged) == 50
    judged.clear()
    for number in range(10):
        model.publish("x", "a", exchange="amq.direct")
        model.apply(commands.Grant(window, messages=1))
        assert len(judged) == number + 1
    model.publish("y", "b", exchange="amq.direct")
    (entry,) = model.delivered()
    assert len(judged) == 11
    model.settle(Outcome.RELEASE, entry)
    assert len(judged) == 12
    assert consumer.passed


@pytest.mark.parametrize("rooms", [(1,), (0, 1), (1, 0, 1)], ids=str)
def test_what_comes_back_is_judged_once_more_by_each_consumer_with_or_without_room_then(rooms: tuple[int, ...]) -> None:
    """In any order of returns, among many that stay away; consumers that come meanwhile judge it once."""
    judged: Counter[tuple[int, int]] = Counter()

    class Counting(Filter):
        __slots__ = ("number",)

        def __init__(self, number: int) -> None:
            self.number = number

        def accepts(self, message: Message) -> bool:
            judged[self.number, message.number] += 1
            return False

    model = Model()
    windows = [Window(1) for _ in range(5)]
    model.queue()
    for number, window in enumerate(windows[:4]):
        model.consume(key=f"c{number}", windows=(window,), filter=Counting(number))
    for _ in range(30):
        model.publish("x")
    owner = model.connect()
    held = [model.apply(commands.Get(owner, "jobs")) for _ in range(30)]
    for index, at in enumerate((7, 3, 9, 4, 3, 8, 2, 7, 1, 9)):
        for window in windows[:4]:
            model.apply(commands.SetWindow(window, rooms[index % len(rooms)]))
        judged.clear()
        model.settle(Outcome.RELEASE, held[at])
        if index == 5:
            model.consume(key="c4", windows=(windows[4],), filter=Counting(4))
        for window in windows[:4]:
            model.apply(commands.SetWindow(window, 1))
        known = range(4) if index < 5 else range(5)
        expected = {(number, held[at].message.number): 1 for number in known}
        others = {each: count for each, count in judged.items() if each not in expected}
        assert {each: judged[each] for each in expected} == expected, index
        # The new one judges all that is there.
        assert not others or (index == 5 and {number for number, _ in others} == {4}), (index, others)
        again = model.apply(commands.Get(owner, "jobs"))
        while again is not None and again is not held[at]:
            again = model.apply(commands.Get(owner, "jobs"))
        assert again is held[at]


def test_one_message_reaches_each_queue_once_as_a_dead_letter() -> None:
    """There are n! ways through n queues that all lead to one another."""
    model = Model()
    model.apply(commands.DeclareExchange(model.owner, "x", "fanout"))
    count = 30
    for number in range(count):
        model.queue(f"q{number}", x_message_ttl=0, x_dead_letter_exchange="x")
        model.apply(commands.Bind(model.owner, f"q{number}", "x"))
    before = model.broker.publishing.messages
    model.publish("x", exchange="x", key="")
    # Each of the copies dies, and so does each dead letter that comes from it, in each of the other queues.
    assert model.broker.publishing.messages - before == 1 + count * count


@pytest.mark.parametrize("declare", ["queue", "exchange", "topic", "consumer"])
def test_topology_is_bounded_and_counted(declare: str) -> None:
    """What is refused names the limit, and what is deleted makes room."""
    model = Model(BrokerLimits(topology=20_000))
    model.queue()
    base = model.broker.ledger.topology

    def one(number: int) -> object:
        match declare:
            case "queue":
                return model.queue(f"q{number}", x_max_priority=255)
            case "exchange":
                return model.apply(commands.DeclareExchange(model.owner, f"x{number}", "topic"))
            case "topic":
                return model.apply(commands.Bind(model.owner, "jobs", "amq.topic", f"{number}" + ".a" * 10))
            case _:
                return model.consume(key=f"c{number}")

    made: list[Any] = []
    with pytest.raises(Fault, match=r"BrokerLimits\.topology allows 20000") as caught:
        for number in range(100):
            made.append(one(number))
    assert caught.value.kind is FaultKind.LIMIT
    assert made and base < model.broker.ledger.topology <= 20_000
    for number, each in enumerate(made):
        match declare:
            case "queue":
                model.apply(commands.DeleteQueue(model.owner, f"q{number}"))
            case "exchange":
                model.apply(commands.DeleteExchange(model.owner, f"x{number}"))
            case "topic":
                model.apply(commands.Unbind(model.owner, "jobs", "amq.topic", f"{number}" + ".a" * 10))
            case _:
                model.apply(commands.Cancel(each))
    assert model.broker.ledger.topology == base
    one(1)


def test_levels_of_priority_are_made_when_they_are_used() -> None:
    model = Model()
    queue = model.queue(x_max_priority=255)
    assert not queue.levels
    for priority in range(256):
        model.publish(str(priority), priority=priority)
    assert len(queue.levels) == 256
    taken = [model.apply(commands.Get(model.owner, "jobs", settles=True)) for _ in range(256)]
    assert bodies(taken) == [str(each) for each in range(255, -1, -1)]
    assert len(queue.levels) <= 4


def test_a_queue_that_expired_leaves_no_deadline() -> None:
    """A driver would call `handle_timeout` for it again and again."""
    rounds = Rounds()
    talk = rounds.channel()
    rounds.do(talk, "queue.declare", queue="q", durable=True, arguments={"x-expires": 3000})
    rounds.settle()
    due = rounds.hub.model.next_deadline
    assert due is not None
    rounds.hub.handle_timeout(due)
    assert rounds.hub.model.next_deadline is None
    assert "q" not in rounds.hub.model.vhosts["/"].queues
