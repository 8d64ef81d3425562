"""Clients of 0-8 and 0-9-1 at the whole broker, against the naive model: what hypothesis has them do, both do."""

from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import Any, ClassVar, TypeAlias, TypeVar

from hypothesis import note, settings
from hypothesis import strategies as st
from hypothesis.stateful import initialize

from amqp_sansio.testing.stateful import WeightedMachine
from tests.broker.front_classic import ClassicStage
from tests.broker.front_models import Actor, Handle

Options: TypeAlias = Sequence[dict[str, Any]]
T = TypeVar("T")

SIZES = st.lists(st.sampled_from((1, 3, 7, 8, 20, 100, 1000, 100_000)), min_size=1, max_size=4).filter(
    # Octets one by one take a while.
    lambda sizes: sum(sizes) >= 20 * len(sizes)
)


@cache
def below(count: int) -> st.SearchStrategy[int]:
    """A number from 0 on; made once, which is most of what a draw takes."""
    return st.integers(0, count - 1)


def pick(data: st.DataObject, choices: Sequence[T]) -> T:
    found = choices[data.draw(below(len(choices)))]
    note(f"picked {found!r}")
    return found


def mostly(plain: T, *others: T) -> tuple[T, ...]:
    """`plain` three times out of four."""
    return (plain,) * 3 * len(others) + others


def rarely(*names: str) -> tuple[dict[str, Any], ...]:
    """Each of these is true now and then, and now and then all are."""
    never = dict.fromkeys(names, False)
    return (*mostly(never, *[{**never, name: True} for name in names]), dict.fromkeys(names, True))


ARGUMENTS = (
    ("x-message-ttl", 0), ("x-message-ttl", 1000), ("x-message-ttl", 5000), ("x-expires", 3000),
    ("x-expires", 10_000), ("x-max-length", 0), ("x-max-length", 2), ("x-max-length-bytes", 20),
    ("x-overflow", "drop-head"), ("x-overflow", "reject-publish"), ("x-overflow", "reject-publish-dlx"),
    ("x-dead-letter-exchange", ""), ("x-dead-letter-exchange", "amq.fanout"), ("x-dead-letter-exchange", "near"),
    ("x-dead-letter-exchange", "nowhere"), ("x-dead-letter-routing-key", "one"),
    ("x-dead-letter-routing-key", "a.b"), ("x-max-priority", 1), ("x-max-priority", 10),
    ("x-single-active-consumer", True), ("x-delivery-limit", 0), ("x-delivery-limit", 2),
)  # fmt: skip
DEAD = {"x-dead-letter-exchange": "", "x-dead-letter-routing-key": "one"}
PLAIN: dict[str, Any] = {}
NARROW = {"x-max-length": 1, "x-overflow": "reject-publish"}
QUEUE_ARGUMENTS: st.SearchStrategy[dict[str, Any]] = st.one_of(
    st.just(PLAIN),
    st.just(NARROW),
    st.lists(st.sampled_from(ARGUMENTS), max_size=4).map(dict),
    st.lists(st.sampled_from(ARGUMENTS), max_size=2).map(lambda more: {**DEAD, **dict(more)}),
)
HEADERS: Options = (PLAIN, {"h": "1"}, {"i": "2"}, {"h": "1", "i": "2"}, {"h": "2", "i": "1"})
PROPERTIES: tuple[dict[str, Any], ...] = mostly(
    PLAIN, {"size": 10}, {"size": 30, "priority": 4}, {"priority": 1}, {"priority": 9, "mandatory": True},
    {"priority": 5, "size": 30, "ttl": 4.0}, {"ttl": 0.0}, {"ttl": 1.0}, {"ttl": 4.0, "mandatory": True},
    {"mandatory": True}, {"immediate": True}, {"mandatory": True, "immediate": True, "ttl": 0.0},
)  # fmt: skip
WITHOUT_IMMEDIATE = tuple([each for each in PROPERTIES if "immediate" not in each])
"""What RabbitMQ's clients may ask for."""
TYPES = ("direct", "fanout", "topic", "headers")

WRONG: tuple[Callable[[ClassicStage, Actor], object], ...] = (
    lambda stage, actor: stage.declare_exchange(actor, "amq.x", type="direct"),
    lambda stage, actor: stage.declare_exchange(actor, "x", type="none"),
    lambda stage, actor: stage.delete_exchange(actor, "amq.direct"),
    lambda stage, actor: stage.declare_queue(actor, "amq.q"),
    lambda stage, actor: stage.bind(actor, "one", "", "k"),
    lambda stage, actor: stage.bind(actor, "absent", "amq.direct", "k"),
    lambda stage, actor: stage.subscribe(actor, "absent"),
    lambda stage, actor: stage.purge(actor, "absent"),
    lambda stage, actor: stage.publish(actor, "absent", "k"),
    # The specifications' dialects don't let clients ask for these.
    lambda stage, actor: stage.declare_exchange(actor, "", type="direct"),
    lambda stage, actor: stage.delete_exchange(actor, ""),
)
"""What is refused always, or almost."""

OFTEN = {
    "publishes": 8,
    "publishes_many": 4,
    "does_together": 5,
    "subscribes": 6,
    "settles": 7,
    "settles_many": 5,
    "gets": 4,
    "cancels": 2,
    "opens": 3,
    "declares_queue": 3,
    "declares_unnamed": 1,
    "looks_at_queue": 1,
    "declares_exchange": 2,
    "binds": 3,
    "unbinds": 2,
    "deletes_queue": 1,
    "deletes_exchange": 1,
    "purges": 1,
    "begins": 2,
    "ends_transaction": 2,
    "transacts": 5,
    "selects_confirms": 1,
    "sets_prefetch": 3,
    "sets_flow": 2,
    "recovers": 2,
    "changes_habits": 1,
    "passes_time": 3,
    "closes": 1,
    "closes_line": 1,
    "loses": 1,
    "does_wrong": 1,
    "is_pickled": 1,
}
"""How often each action is chosen."""


class ClassicMachine(WeightedMachine):
    """Clients do what hypothesis says; after every step both models have to be the same."""

    stage_type: ClassVar[type[ClassicStage]]
    weights: ClassVar[dict[str, int]] = OFTEN
    queues: ClassVar[tuple[str, ...]] = ("one", "two", "three")
    exchanges: ClassVar[tuple[str, ...]] = ("near", "far", "amq.direct", "amq.fanout", "amq.topic", "amq.match")
    keys: ClassVar[tuple[str, ...]] = ("one", "two", "a.b", "a.#", "*.b", "")
    most_lines: ClassVar[int] = 3
    most_actors: ClassVar[int] = 5

    queue_arguments: ClassVar[st.SearchStrategy[dict[str, Any]]] = QUEUE_ARGUMENTS
    exchange_options: ClassVar[Options] = rarely("durable")
    properties: ClassVar[tuple[dict[str, Any], ...]] = PROPERTIES
    binding_arguments: ClassVar[Options] = mostly(PLAIN, {"h": "1"}, {"x-match": "any", "h": "1", "i": "2"})
    subscribe_options: ClassVar[Options] = rarely("settles", "exclusive", "no_local", "unnamed")
    outcomes: ClassVar[tuple[str, ...]] = ("accept", "reject", "release")

    stage: ClassicStage

    @initialize(sizes=SIZES, lines=st.integers(1, 2), data=st.data())
    def begin(self, sizes: list[int], lines: int, data: st.DataObject) -> None:
        self.stage = stage = self.stage_type(sizes)
        for _ in range(lines):
            stage.open(stage.connect())
        actor = self.an_actor(data)
        stage.declare_queue(actor, "one")
        stage.bind(actor, "one", "amq.topic", "a.#")
        stage.declare_queue(actor, "two", arguments=data.draw(self.queue_arguments))
        if "two" in stage.naive.queues:
            stage.bind(actor, "two", "amq.fanout", "")

    def needs(self) -> dict[str, object]:
        stage = self.stage
        return {
            "cancels": stage.places,
            "settles": stage.held,
            "settles_many": stage.held,
            "ends_transaction": [each for each in stage.actors if each.branch is not None],
            "opens": len(stage.actors) < self.most_actors,
            "closes_line": stage.lines,
            "loses": stage.lines,
        }

    def agree(self) -> None:
        self.stage.check()

    # Drawing.

    def an_actor(self, data: st.DataObject) -> Actor:
        """One of those that there are; a new one when there is none."""
        stage = self.stage
        if not stage.actors:
            stage.open(stage.lines[0] if stage.lines else stage.connect())
        return pick(data, stage.actors)

    def a_holder(self, data: st.DataObject) -> tuple[Actor, list[Handle]]:
        """An actor that has something to settle, and what."""
        actor = pick(data, [each for each in self.stage.actors if self.stage.held_by(each)])
        return actor, self.stage.held_by(actor)

    def whose(self, name: tuple[Any, ...]) -> Actor:
        """The actor of a place or handle."""
        (actor,) = [each for each in self.stage.actors if each.owner == name[0]]
        return actor

    def a_queue(self, data: st.DataObject) -> str:
        """The name of a queue, mostly of one that there is."""
        there = sorted(self.stage.naive.queues)
        return pick(data, (*there * 6, *self.queues))

    def an_exchange(self, data: st.DataObject) -> str:
        """The name of an exchange, mostly of one that there is."""
        there = tuple(each for each in self.exchanges if each in self.stage.naive.exchanges)
        return pick(data, (*there * 6, *self.exchanges))

    # Exchanges, queues, bindings.

    def declares_queue(self, data: st.DataObject) -> None:
        told = {**pick(data, rarely("durable", "auto_delete", "exclusive"))}
        name = pick(data, self.queues)
        there = self.stage.naive.queues.get(name)
        arguments = data.draw(self.queue_arguments)
        if there is not None and pick(data, (False, True)):
            # What it is already.
            arguments, told["durable"], told["auto_delete"] = there.arguments, there.durable, there.auto_delete
            told["exclusive"] = there.exclusive is not None
        self.stage.declare_queue(self.an_actor(data), name, arguments=arguments, **told)

    def declares_unnamed(self, data: st.DataObject) -> None:
        self.stage.declare_queue(self.an_actor(data), "", **pick(data, rarely("auto_delete", "exclusive")))

    def looks_at_queue(self, data: st.DataObject) -> None:
        self.stage.declare_queue(self.an_actor(data), self.a_queue(data), passive=True)

    def declares_exchange(self, data: st.DataObject) -> None:
        name = pick(data, self.exchanges[:2] * 6 + self.exchanges)
        there = self.stage.naive.exchanges.get(name)
        told = {**pick(data, self.exchange_options)}
        type = pick(data, TYPES if there is None else (there.type,) * 8 + TYPES)
        if there is not None:
            told["durable"] = pick(data, mostly(there.durable, False, True))
        self.stage.declare_exchange(self.an_actor(data), name, type=type, **told)

    def binds(self, data: st.DataObject) -> None:
        key, arguments = pick(data, self.keys), pick(data, self.binding_arguments)
        self.stage.bind(self.an_actor(data), self.a_queue(data), self.an_exchange(data), key, arguments)

    def unbinds(self, data: st.DataObject) -> None:
        actor = self.an_actor(data)
        there = [each for each in self.stage.naive.bindings if each.kind == "queue"]
        chosen: bool = pick(data, mostly(True, False))
        if there and chosen:
            found = pick(data, there)
            arguments = {name: value for name, (_, value) in found.arguments}
            self.stage.unbind(actor, found.destination, found.source, found.key, arguments)
        else:
            self.stage.unbind(actor, self.a_queue(data), self.an_exchange(data), pick(data, self.keys))

    def binds_exchanges(self, data: st.DataObject) -> None:
        key = pick(data, self.keys)
        self.stage.bind_exchange(self.an_actor(data), self.an_exchange(data), self.an_exchange(data), key)

    def unbinds_exchanges(self, data: st.DataObject) -> None:
        actor = self.an_actor(data)
        there = [each for each in self.stage.naive.bindings if each.kind == "exchange"]
        chosen: bool = pick(data, mostly(True, False))
        if there and chosen:
            found = pick(data, there)
            self.stage.unbind_exchange(actor, found.destination, found.source, found.key)
        else:
            self.stage.unbind_exchange(actor, self.an_exchange(data), self.an_exchange(data), "one")

    def deletes_queue(self, data: st.DataObject) -> None:
        told = pick(data, rarely("if_unused", "if_empty"))
        self.stage.delete_queue(self.an_actor(data), self.a_queue(data), **told)

    def deletes_exchange(self, data: st.DataObject) -> None:
        name = pick(data, self.exchanges[:2])
        self.stage.delete_exchange(self.an_actor(data), name, **pick(data, rarely("if_unused")))

    def purges(self, data: st.DataObject) -> None:
        self.stage.purge(self.an_actor(data), self.a_queue(data))

    # Messages.

    def publishes(self, data: st.DataObject) -> None:
        actor = self.an_actor(data)
        exchange, key = "", self.a_queue(data)
        if pick(data, (False, True)):
            exchange, key = self.an_exchange(data), pick(data, self.keys)
        headers = pick(data, HEADERS) if exchange == "amq.match" else None
        self.stage.publish(actor, exchange, key, headers=headers, **pick(data, self.properties))

    def publishes_many(self, data: st.DataObject) -> None:
        actor, queue = self.an_actor(data), self.a_queue(data)
        for _ in range(pick(data, (2, 3, 4, 5))):
            if not actor.is_over:
                self.stage.publish(actor, "", queue)

    def does_together(self, data: st.DataObject) -> None:
        """Several clients publish, settle and cancel before the broker has seen any of it."""
        stage = self.stage
        held, places = list(stage.held), sorted(stage.places)
        commands: list[Callable[[], object]] = []
        for _ in range(pick(data, (2, 3, 4, 5, 6))):
            what = pick(data, ("publish", "publish", "settle", "settle", "settle", "cancel"))
            if what == "publish" and stage.naive.queues:
                queue = pick(data, sorted(stage.naive.queues))
                commands.append(partial(stage.publish, self.an_actor(data), "", queue))
            elif what == "settle" and held:
                handle = pick(data, held)
                held.remove(handle)
                outcome = pick(data, self.outcomes)
                commands.append(partial(stage.settle, self.whose(handle), [handle], outcome))
            elif what == "cancel" and places:
                place = pick(data, places)
                places.remove(place)
                commands.append(partial(stage.cancel, self.whose(place), place))
        stage.together(commands)

    def subscribes(self, data: st.DataObject) -> None:
        self.stage.subscribe(self.an_actor(data), self.a_queue(data), **pick(data, self.subscribe_options))

    def cancels(self, data: st.DataObject) -> None:
        place = pick(data, sorted(self.stage.places))
        self.stage.cancel(self.whose(place), place)

    def gets(self, data: st.DataObject) -> None:
        self.stage.get(self.an_actor(data), self.a_queue(data), settles=pick(data, (False, True)))

    def settles(self, data: st.DataObject) -> None:
        actor, handles = self.a_holder(data)
        self.stage.settle(actor, [pick(data, handles)], pick(data, self.outcomes))

    def settles_many(self, data: st.DataObject) -> None:
        actor, handles = self.a_holder(data)
        last = 1 + data.draw(below(len(handles)))
        outcomes = self.outcomes if "basic.nack" in self.stage.named else ("accept",)
        self.stage.settle(actor, handles[:last], pick(data, outcomes), multiple=True)

    def recovers(self, data: st.DataObject) -> None:
        actor = self.an_actor(data)
        if self.stage.dialect != "0-8" or actor.branch is None:
            # 0-8 has it for channels without transactions only (basic.recover).
            self.stage.recover(actor, pick(data, (False, True)))

    def sets_prefetch(self, data: st.DataObject) -> None:
        count, size = pick(data, (0, 1, 2, 3)), pick(data, mostly(0, 5, 20))
        self.stage.set_prefetch(self.an_actor(data), count, size, whole=pick(data, (False, True)))

    def sets_flow(self, data: st.DataObject) -> None:
        stopped = [each for each in self.stage.actors if self.stage.books[each.owner].is_stopped]
        if stopped:
            self.stage.set_flow(pick(data, stopped), True)
        else:
            self.stage.set_flow(self.an_actor(data), pick(data, (False, True)))

    # Transactions and confirms.

    def begins(self, data: st.DataObject) -> None:
        actor = self.an_actor(data)
        if actor.branch is None and not self.stage.books[actor.owner].confirms:
            self.stage.begin(actor)

    def ends_transaction(self, data: st.DataObject) -> None:
        actor = pick(data, [each for each in self.stage.actors if each.branch is not None])
        if pick(data, mostly(False, True)):
            self.stage.roll_back(actor)
        else:
            self.stage.commit(actor)

    def transacts(self, data: st.DataObject) -> None:
        """A whole transaction, or what is left of one, in one go."""
        stage, actor = self.stage, self.an_actor(data)
        if actor.branch is None and not stage.books[actor.owner].confirms:
            stage.begin(actor)
        for _ in range(pick(data, (1, 2, 3, 4))):
            handles = stage.held_by(actor)
            what = pick(data, ("settle", "settle", "publish", "prefetch"))
            if what == "settle" and handles:
                stage.settle(actor, [pick(data, handles)], pick(data, self.outcomes))
            elif what == "settle":
                stage.get(actor, self.a_queue(data))
                if actor.is_over:
                    return
            elif what == "publish":
                stage.publish(actor, "", pick(data, self.queues), mandatory=True)
            elif what == "prefetch":
                stage.set_prefetch(actor, pick(data, (0, 1, 2, 3)), whole=pick(data, (False, True)))
        end = pick(data, (stage.commit, stage.roll_back, None))
        if actor.branch is not None and end is not None:
            end(actor)
            handles = stage.held_by(actor)
            wanted: bool = pick(data, (False, True))
            if handles and wanted:
                stage.settle(actor, handles, "accept", multiple=True)

    def selects_confirms(self, data: st.DataObject) -> None:
        actor = self.an_actor(data)
        if "confirm.select" in self.stage.named and actor.branch is None:
            self.stage.select_confirms(actor)

    # Coming and going.

    def opens(self, data: st.DataObject) -> None:
        lines = self.stage.lines
        if not lines or (len(lines) < self.most_lines and pick(data, (False, True))):
            self.stage.open(self.stage.connect())
        else:
            self.stage.open(pick(data, lines))

    def closes(self, data: st.DataObject) -> None:
        self.stage.close(self.an_actor(data))

    def closes_line(self, data: st.DataObject) -> None:
        self.stage.close_line(pick(data, self.stage.lines))

    def loses(self, data: st.DataObject) -> None:
        self.stage.lose(pick(data, self.stage.lines))

    def passes_time(self, data: st.DataObject) -> None:
        self.stage.advance(pick(data, (0.5, 1.0, 3.0, 10.0)))

    def is_pickled(self, data: st.DataObject) -> None:
        self.stage.snapshot()

    def changes_habits(self, data: st.DataObject) -> None:
        self.stage.shortens, self.stage.hurries = pick(data, (False, True)), pick(data, (False, True))

    def does_wrong(self, data: st.DataObject) -> None:
        most = len(WRONG) if self.stage.is_rabbit else len(WRONG) - 2
        pick(data, WRONG[:most])(self.stage, self.an_actor(data))


LONG = settings(stateful_step_count=50)
"""What takes place only after other things have is found in long runs."""


class Rabbit091(ClassicStage):
    """0-9-1 as RabbitMQ has it."""

    dialect = "0-9-1-rabbit"


class Rabbit091Machine(ClassicMachine):
    """With what RabbitMQ added."""

    stage_type = Rabbit091
    properties = WITHOUT_IMMEDIATE
    weights: ClassVar[dict[str, int]] = {**OFTEN, "selects_confirms": 3, "binds_exchanges": 2, "unbinds_exchanges": 1}
    exchange_options: ClassVar[Options] = (
        *rarely("durable", "auto_delete", "internal"),
        {"alternate": "amq.fanout"},
        {"alternate": "amq.direct", "durable": True},
        {"alternate": "amq.topic", "auto_delete": True},
    )
    subscribe_options: ClassVar[Options] = (
        *rarely("settles", "exclusive", "no_local", "unnamed"),
        {"priority": 1},
        {"priority": -1, "settles": True},
    )


TestRabbit091 = Rabbit091Machine.TestCase
TestRabbit091.settings = LONG


class Rabbit08(ClassicStage):
    """0-8 as RabbitMQ had it."""

    dialect = "0-8-rabbit"


class Rabbit08Machine(ClassicMachine):
    """0-8 with RabbitMQ's habits."""

    stage_type = Rabbit08
    properties = WITHOUT_IMMEDIATE


TestRabbit08 = Rabbit08Machine.TestCase
TestRabbit08.settings = LONG


class SpecMachine(ClassicMachine):
    """Names in tables have no hyphens: there are none of RabbitMQ's arguments."""

    queue_arguments: ClassVar[st.SearchStrategy[dict[str, Any]]] = st.just(PLAIN)
    binding_arguments: ClassVar[Options] = mostly(PLAIN, {"h": "1"}, {"h": "1", "i": "2"})


class Spec091(ClassicStage):
    """0-9-1 as its specification has it."""

    dialect = "0-9-1"
    queue_compare = ("durable", "exclusive", "arguments")
    exchange_compare = ("type", "durable", "alternate")


class Spec091Machine(SpecMachine):
    """What the specification alone says."""

    stage_type = Spec091


TestSpec091 = Spec091Machine.TestCase
TestSpec091.settings = LONG


class Spec08(ClassicStage):
    """0-8 as its specification has it."""

    dialect = "0-8"
    queue_compare = ()
    exchange_compare = ("type",)


class Spec08Machine(SpecMachine):
    """What the specification of 0-8 alone says, which has no queue.unbind."""

    stage_type = Spec08
    weights: ClassVar[dict[str, int]] = {**OFTEN, "unbinds": 0}


TestSpec08 = Spec08Machine.TestCase
TestSpec08.settings = LONG
