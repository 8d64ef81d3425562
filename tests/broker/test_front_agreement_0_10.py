"""Clients of 0-10 at the whole broker, against the naive model: what hypothesis has them do, both do.

What is done is drawn by weight, and not rule by rule: a session that is gone, and a queue, take all with them that a
test of messages needs, so that this is to happen now and then only.
"""

from collections.abc import Iterable
from typing import Any, ClassVar, TypeAlias, TypeVar

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import initialize

from amqp_sansio import amqp_0_10 as amqp
from amqp_sansio.testing.stateful import WeightedMachine
from tests.broker.front_0_10 import Cut, Stage_0_10
from tests.broker.front_models import Actor, Handle, Line, Place

V = TypeVar("V")
Options: TypeAlias = st.SearchStrategy[dict[str, Any]]

QUEUES = ("one", "two", "three", "four")
EXCHANGES = ("near", "far", "amq.direct", "amq.fanout", "amq.topic", "amq.match")
KEYS = ("one", "two", "a.b", "a.#", "*.b", "")
MOST_LINES = 3
MOST_ACTORS = 5
DATA = st.data()
SIZES = st.lists(st.sampled_from((1, 7, 20, 100, 1000, 100_000)), min_size=1, max_size=4).map(
    lambda sizes: [*sizes, 100]
)
HEADERS: Options = st.fixed_dictionaries({}, optional=dict.fromkeys(("h", "i"), st.sampled_from(("1", "2"))))
ARGUMENTS: Options = st.fixed_dictionaries(
    {},
    optional={
        **{"x-message-ttl": st.sampled_from((0, 1000, 5000)), "x-expires": st.sampled_from((3000, 10_000))},
        **{"x-max-length": st.integers(0, 3), "x-max-length-bytes": st.integers(0, 60)},
        "x-overflow": st.sampled_from(("drop-head", "reject-publish", "reject-publish-dlx")),
        "x-dead-letter-exchange": st.sampled_from(("", "amq.fanout", "near", "nowhere")),
        "x-dead-letter-routing-key": st.sampled_from(("one", "two", "a.b")),
        "x-max-priority": st.sampled_from((1, 10)),
        "x-single-active-consumer": st.booleans(),
        "x-unknown": st.none(),
    },
)
LIKELY: st.SearchStrategy[bool] = st.sampled_from((True, True, True, False))
COUNTS = st.sampled_from((None, 1, 2, 3, 5))
OCTETS = st.sampled_from((None, 1, 20, 40, 60, 100, 200))
NO_LETTERS: Options = ARGUMENTS.map(
    # What a dead letter takes of a credit of octets, only its writer knows.
    lambda found: {name: value for name, value in found.items() if not name.startswith("x-dead")}
)
UP = st.one_of(st.integers(0, 60), st.integers(0, 250), st.just(10_000))
CUTS = st.builds(Cut, UP, st.one_of(st.integers(0, 60), st.just(10_000)), st.booleans(), st.booleans())
XIDS = tuple([amqp.Xid(number, b"g", b"b") for number in range(3)])
WRONG: tuple[Any, ...] = (
    amqp.MessageCancel("nobody"), amqp.MessageFlow(
        "nobody", 0, 1
    ), amqp.MessageStop("nobody"), amqp.MessageFlush("nobody"),
    amqp.MessageSetFlowMode("nobody", 1),
)  # fmt: skip


def mostly(plain: V, *others: V) -> st.SearchStrategy[V]:
    """`plain` in three cases of four."""
    return st.sampled_from((*[plain] * 3 * len(others), *others))


def flags(*names: str) -> Options:
    """Some of these are true."""
    return st.fixed_dictionaries({}, optional=dict.fromkeys(names, st.just(True)))


class Machine_0_10(WeightedMachine):
    """Sessions publish, subscribe with credit, browse and settle; nothing is transactional."""

    weights: ClassVar[dict[str, int]] = {
        "settles": 20, "publishes": 10, "publishes_many": 6, "subscribes": 6, "completes": 8, "grants": 6,
        "stops": 4, "sets_flow_mode": 2, "acquires": 6, "settles_seen": 3, "cancels": 2, "asks": 3, "errs": 1,
        "subscribes_twice": 1, "declares_queue": 6, "declares_exchange": 2, "binds": 4, "unbinds": 2, "purges": 1,
        "deletes_queue": 2, "deletes_exchange": 1, "opens": 3, "closes": 1, "loses": 1, "passes_time": 4,
    }  # fmt: skip
    timeouts: ClassVar[tuple[int, ...]] = (0,)
    sizes: ClassVar[st.SearchStrategy[int]] = mostly(0, 10, 30)
    octets: ClassVar[st.SearchStrategy[int | None]] = st.none()
    arguments: ClassVar[Options] = ARGUMENTS
    acquires_at_once: ClassVar[st.SearchStrategy[bool]] = mostly(True, False)
    outcomes: ClassVar[tuple[str, ...]] = ("accept", "accept", "reject", "release", "release")

    stage: Stage_0_10

    @initialize(sizes=SIZES, data=DATA)
    def begin(self, sizes: list[int], data: st.DataObject) -> None:
        """Two connections with sessions, queues, somebody who consumes, and perhaps a browser."""
        self.stage = stage = Stage_0_10(sizes)
        first = stage.open(stage.connect(), max(self.timeouts))
        second = stage.open(stage.connect(), max(self.timeouts))
        stage.declare_exchange(first, "far", type="fanout")
        stage.declare_exchange(first, "near", type="direct", alternate="far")
        stage.declare_queue(first, "one")
        stage.declare_queue(second, "three", exclusive=True, auto_delete=data.draw(st.booleans()))
        stage.bind(first, "one", "amq.topic", "a.#")
        stage.bind(first, "one", "far", "")
        third = stage.open(first.line)
        stage.declare_queue(third, "two", alternate="near", arguments=data.draw(self.arguments))
        if not third.is_over:
            stage.bind(third, "two", "near", "two")
            stage.close(third)
        for actor, acquires in ((first, True), (second, data.draw(st.booleans()))):
            place = stage.subscribe(actor, "one", acquires=acquires)
            assert place is not None
            self.give(data, actor, place)
        self.prepare(data)

    def prepare(self, data: st.DataObject) -> None:
        """What else there is."""

    def agree(self) -> None:
        self.stage.check()

    # Drawing.

    def an_actor(self, data: st.DataObject) -> Actor:
        """One of the sessions that are attached; a new one when there is none."""
        if not self.stage.actors:
            self.opens(data)
        return data.draw(st.sampled_from(self.stage.actors))

    def a_line(self, data: st.DataObject) -> Line:
        """One of the connections, or a new one."""
        lines = self.stage.lines
        if not lines or (len(lines) < MOST_LINES and data.draw(st.booleans())):
            return self.stage.connect()
        return data.draw(st.sampled_from(lines))

    def a_queue(self, data: st.DataObject) -> str:
        """The name of a queue, mostly of one that there is; one is made when there is none."""
        if not self.stage.naive.queues:
            self.stage.declare_queue(self.an_actor(data), "one")
        there = sorted(self.stage.naive.queues)
        return data.draw(st.sampled_from((*there * 5, *QUEUES)))

    def an_exchange(self, data: st.DataObject) -> str:
        """The name of an exchange, mostly of one that there is."""
        there = tuple([each for each in EXCHANGES if each in self.stage.naive.exchanges])
        return data.draw(st.sampled_from((*there * 5, *EXCHANGES)))

    def attached(self, tuples: Iterable[V]) -> list[V]:
        """Those of the places or handles that belong to sessions which are attached."""
        owners = {each.owner for each in self.stage.actors}
        return sorted([each for each in tuples if each[0] in owners])  # type: ignore[index, type-var]

    def a_place(self, data: st.DataObject) -> tuple[Actor, Place]:
        """A subscription of a session that is attached; a new one when there is none."""
        while not (places := self.attached(self.stage.places)):
            self.subscribes(data)
        place = data.draw(st.sampled_from(places))
        (actor,) = [each for each in self.stage.actors if each.owner == place[0]]
        return actor, place

    def some_of(self, data: st.DataObject, handles: Iterable[Handle]) -> tuple[Actor, list[Handle]] | None:
        """Some of the transfers that one session has; something is published when there is none."""
        found = self.attached(handles)
        if not found:
            self.publishes_many(data)
            return None
        owner = data.draw(st.sampled_from(found))[0]
        (actor,) = [each for each in self.stage.actors if each.owner == owner]
        theirs = [each for each in found if each[0] == owner]
        return actor, data.draw(st.lists(st.sampled_from(theirs), min_size=1, max_size=3, unique=True))

    # Exchanges, queues and bindings.

    def declares_queue(self, data: st.DataObject) -> None:
        """One with a chance of each property."""
        more: dict[str, Any] = data.draw(flags("durable"))
        for name in ("auto_delete", "exclusive", "passive"):
            more[name] = data.draw(mostly(False, True))
        alternate = data.draw(mostly(None, "near", "amq.fanout", "nowhere"))
        name = data.draw(st.sampled_from((*QUEUES * 5, "amq.mine", "")))
        arguments = data.draw(mostly({}, data.draw(self.arguments)))
        self.stage.declare_queue(self.an_actor(data), name, alternate=alternate, arguments=arguments, **more)

    def declares_exchange(self, data: st.DataObject) -> None:
        """One with a chance of each property."""
        more: dict[str, Any] = data.draw(flags("durable", "auto_delete"))
        more["passive"] = data.draw(mostly(False, True))
        more["alternate"] = data.draw(mostly(None, "near", "far", "nowhere"))
        more["type"] = data.draw(st.sampled_from(("direct", "fanout", "topic", "headers", "no-type")))
        self.stage.declare_exchange(self.an_actor(data), data.draw(st.sampled_from(EXCHANGES[:3])), **more)

    def binds(self, data: st.DataObject) -> None:
        """Mostly with arguments where there have to be some."""
        exchange = self.an_exchange(data)
        there = self.stage.naive.exchanges.get(exchange)
        arguments = data.draw(mostly({}, {"h": "1"}))
        if there is not None and there.type == "headers":
            arguments = data.draw(mostly({"x-match": "all", "h": "1"}, {"x-match": "any", "h": "1", "i": "2"}, {}))
        self.stage.bind(self.an_actor(data), self.a_queue(data), exchange, data.draw(st.sampled_from(KEYS)), arguments)

    def unbinds(self, data: st.DataObject) -> None:
        """Mostly what is bound."""
        queue, exchange, key = self.a_queue(data), self.an_exchange(data), data.draw(st.sampled_from(KEYS))
        there = self.stage.naive.bindings
        likely: bool = data.draw(LIKELY)
        if there and likely:
            found = data.draw(st.sampled_from(there))
            queue, exchange, key = found.destination, found.source, found.key
        self.stage.unbind(self.an_actor(data), queue, exchange, key)

    def deletes_queue(self, data: st.DataObject) -> None:
        """Perhaps only if it's unused or empty."""
        told = {name: data.draw(mostly(False, True)) for name in ("if_unused", "if_empty")}
        self.stage.delete_queue(self.an_actor(data), self.a_queue(data), **told)

    def deletes_exchange(self, data: st.DataObject) -> None:
        """Perhaps only if it's unused."""
        name = data.draw(st.sampled_from(EXCHANGES[:3]))
        self.stage.delete_exchange(self.an_actor(data), name, **data.draw(flags("if_unused")))

    def purges(self, data: st.DataObject) -> None:
        """A queue loses its messages."""
        self.stage.purge(self.an_actor(data), self.a_queue(data))

    def asks(self, data: st.DataObject) -> None:
        actor, stage = self.an_actor(data), self.stage
        stage.query(actor, self.a_queue(data))
        stage.query_exchange(actor, self.an_exchange(data))
        stage.synchronize(actor)
        key = data.draw(st.sampled_from((None, *KEYS)))
        queue = data.draw(st.sampled_from(("", *QUEUES)))
        stage.query_binding(actor, data.draw(st.sampled_from(("", *EXCHANGES))), queue, key)

    # Messages.

    def publishes(self, data: st.DataObject) -> None:
        """A message with a chance of each property."""
        exchange, key = "", self.a_queue(data)
        if data.draw(st.booleans()):
            exchange, key = self.an_exchange(data), data.draw(st.sampled_from(KEYS))
        names = ("discards", "immediate", "redelivered", "persistent")
        self.stage.publish(
            self.an_actor(data),
            exchange,
            key,
            size=data.draw(self.sizes),
            headers=data.draw(HEADERS) if exchange == "amq.match" else None,
            priority=data.draw(mostly(None, 0, 1, 4, 5, 9)),
            ttl=data.draw(mostly(None, 0.0, 1.0, 4.0)),
            explicit=data.draw(st.booleans()),
            **{name: data.draw(mostly(False, True)) for name in names},
        )

    def publishes_many(self, data: st.DataObject) -> None:
        """Some messages for one queue."""
        actor, queue = self.an_actor(data), self.a_queue(data)
        for _ in range(data.draw(st.integers(1, 4))):
            if not actor.is_over:
                self.stage.publish(actor, "", queue, size=data.draw(self.sizes))

    # Subscriptions and credit.

    def subscribes(self, data: st.DataObject) -> None:
        """Mostly with credit."""
        actor = self.an_actor(data)
        place = self.stage.subscribe(
            actor,
            self.a_queue(data),
            accepts=data.draw(LIKELY),
            acquires=data.draw(self.acquires_at_once),
            exclusive=data.draw(mostly(False, False, False, True)),
            priority=data.draw(mostly(0, 1, -1)),
        )
        if place is None or not data.draw(LIKELY):
            return
        if data.draw(mostly(False, True)):
            self.stage.set_flow_mode(actor, place, window=False)
        self.give(data, actor, place)

    def give(self, data: st.DataObject, actor: Actor, place: Place) -> None:
        """Credit in both units."""
        self.stage.grant(actor, place, octets=False, value=data.draw(COUNTS))
        if place in self.stage.places:
            self.stage.grant(actor, place, octets=True, value=data.draw(self.octets))

    def subscribes_twice(self, data: st.DataObject) -> None:
        """With the name of a subscription that there is."""
        actor, place = self.a_place(data)
        self.stage.subscribe(actor, self.a_queue(data), name=place[1])

    def cancels(self, data: st.DataObject) -> None:
        """What was transferred stays with the session."""
        self.stage.cancel(*self.a_place(data))

    def grants(self, data: st.DataObject) -> None:
        """Credit in one unit."""
        actor, place = self.a_place(data)
        octets = data.draw(mostly(False, True))
        self.stage.grant(actor, place, octets=octets, value=data.draw(self.octets if octets else COUNTS))

    def stops(self, data: st.DataObject) -> None:
        """Behind a stop or flush the flow mode may be changed, and there is credit again, mostly."""
        actor, place = self.a_place(data)
        self.stage.stop(actor, place, flush=data.draw(st.booleans()))
        if data.draw(st.booleans()):
            self.stage.set_flow_mode(actor, place, window=data.draw(st.booleans()))
        if data.draw(LIKELY):
            self.give(data, actor, place)

    def sets_flow_mode(self, data: st.DataObject) -> None:
        """Which is only legal without credit."""
        actor, place = self.a_place(data)
        self.stage.set_flow_mode(actor, place, window=data.draw(st.booleans()))

    def errs(self, data: st.DataObject) -> None:
        """A command for a subscription that there isn't."""
        self.stage.ask_for_nobody(self.an_actor(data), data.draw(st.sampled_from(WRONG)))

    # What came.

    def settles(self, data: st.DataObject) -> None:
        """Accept, reject or release."""
        found = self.some_of(data, self.stage.held)
        if found is not None:
            outcome = data.draw(st.sampled_from(self.outcomes))
            marks = data.draw(st.booleans())
            self.stage.settle(*found, outcome, completes=data.draw(st.booleans()), set_redelivered=marks)

    def completes(self, data: st.DataObject) -> None:
        """Windows open again."""
        found = self.some_of(data, self.stage.untold)
        if found is not None:
            self.stage.complete(*found)

    def acquires(self, data: st.DataObject) -> None:
        """What was seen, and may be gone."""
        found = self.some_of(data, self.stage.looked)
        if found is not None:
            self.stage.acquire(*found)

    def settles_seen(self, data: st.DataObject) -> None:
        """What was seen and isn't acquired."""
        found = self.some_of(data, self.stage.looked)
        if found is not None:
            self.stage.settle_looked(*found, data.draw(st.sampled_from(("accept", "reject", "release"))))

    # Coming and going.

    def opens(self, data: st.DataObject) -> None:
        """A session more, if there aren't too many."""
        if len(self.stage.actors) < MOST_ACTORS:
            self.stage.open(self.a_line(data), data.draw(st.sampled_from(self.timeouts)))

    def closes(self, data: st.DataObject) -> None:
        """A session ends."""
        self.stage.close(self.an_actor(data))

    def loses(self, data: st.DataObject) -> None:
        """A connection is lost."""
        self.stage.lose(self.a_line(data))

    def passes_time(self, data: st.DataObject) -> None:
        """Nothing else happens for a while."""
        self.stage.advance(data.draw(st.sampled_from((0.5, 1.0, 3.0, 10.0))))


class OctetsMachine(Machine_0_10):
    """Credit of octets counts, for many who only look too."""

    weights: ClassVar[dict[str, int]] = {
        "settles": 16, "publishes": 12, "publishes_many": 8, "subscribes": 8, "completes": 12, "grants": 16,
        "stops": 5, "acquires": 6, "settles_seen": 3, "cancels": 3, "purges": 2, "declares_queue": 2, "opens": 2,
        "closes": 1, "passes_time": 2,
    }  # fmt: skip
    acquires_at_once = st.booleans()
    sizes = st.sampled_from((0, 10, 30, 100))
    octets = OCTETS
    arguments = NO_LETTERS


class KeptMachine(Machine_0_10):
    """Sessions outlive their connections, which are lost in the middle of what they do."""

    weights: ClassVar[dict[str, int]] = {**Machine_0_10.weights, "detaches": 5, "loses": 4, "resumes": 12, "is_cut": 16}
    timeouts = (0, 2, 5, 5, 5)
    octets = st.one_of(st.none(), OCTETS)
    arguments = NO_LETTERS
    cut_deeds: ClassVar[tuple[str, ...]] = ("publishes", "settles", "grants", "asks", "acquires", "binds")

    def is_cut(self, data: st.DataObject) -> None:
        """A connection is lost in the middle of a command, and the session goes on elsewhere."""
        self.stage.cuts = data.draw(CUTS)
        getattr(self, data.draw(st.sampled_from(self.cut_deeds)))(data)
        self.stage.cuts = None

    def detaches(self, data: st.DataObject) -> None:
        """A session leaves its connection."""
        self.stage.detach(self.an_actor(data))

    def resumes(self, data: st.DataObject) -> None:
        """A session goes on."""
        kept = list(self.stage.kept)
        if kept:
            line = self.a_line(data)
            self.stage.resume(data.draw(st.sampled_from(kept)), line)
        else:
            self.publishes_many(data)


class TxMachine(KeptMachine):
    """Standard transactions."""

    weights: ClassVar[dict[str, int]] = {
        "settles": 24, "ends": 20, "publishes": 8, "publishes_many": 8, "subscribes": 4, "completes": 5,
        "grants": 6, "selects": 3, "ends_nothing": 1, "is_cut": 8, "resumes": 6, "detaches": 1, "loses": 1,
        "acquires": 2, "cancels": 1, "asks": 1, "declares_queue": 1, "deletes_queue": 1, "binds": 1, "opens": 2,
        "closes": 1, "passes_time": 1,
    }  # fmt: skip
    outcomes = ("accept", "accept", "accept", "accept", "reject", "release")
    cut_deeds = (*KeptMachine.cut_deeds, "ends", "ends", "selects")

    def prepare(self, data: st.DataObject) -> None:
        self.publishes_many(data)
        self.stage.begin(data.draw(st.sampled_from(self.stage.actors)))

    def settles(self, data: st.DataObject) -> None:
        """Mostly accepts in transactions."""
        working = [each.owner for each in self.stage.actors if each.branch is not None]
        theirs = [each for each in self.stage.held if each[0] in working]
        found = self.some_of(data, theirs) if theirs else None
        if found is None:
            super().settles(data)
        else:
            self.stage.settle(*found, data.draw(st.sampled_from(self.outcomes)))

    def selects(self, data: st.DataObject) -> None:
        """Mostly a session that isn't transactional yet."""
        stage = self.stage
        fresh = [each for each in stage.actors if each.owner not in stage.modes]
        likely: bool = data.draw(LIKELY)
        if fresh and likely:
            stage.begin(data.draw(st.sampled_from(fresh)))
        else:
            stage.begin(self.an_actor(data))

    def ends(self, data: st.DataObject) -> None:
        """A commit or a rollback."""
        working = [each for each in self.stage.actors if each.branch is not None]
        if not working:
            self.selects(data)
        elif data.draw(st.booleans()):
            self.stage.commit(data.draw(st.sampled_from(working)))
        else:
            self.stage.roll_back(data.draw(st.sampled_from(working)))

    def ends_nothing(self, data: st.DataObject) -> None:
        """On a session that isn't selected for it."""
        actor = self.an_actor(data)
        if self.stage.modes.get(actor.owner) != "tx":
            if data.draw(st.booleans()):
                self.stage.coordinate(actor, amqp.DtxSelect())
            self.stage.end_nothing(actor, rolls_back=data.draw(st.booleans()))


class DtxMachine(TxMachine):
    """Distributed transactions: sessions work for branches, any session decides of them."""

    weights: ClassVar[dict[str, int]] = {
        "settles": 22, "starts": 12, "starts_anyhow": 1, "ends": 14, "ends_anyhow": 1, "decides": 16,
        "decides_anyhow": 2, "limits_time": 6, "passes_time": 6, "selects": 1, "publishes": 8, "publishes_many": 8,
        "subscribes": 4, "completes": 4, "grants": 6, "is_cut": 5, "resumes": 4, "detaches": 1, "loses": 1,
        "cancels": 1, "deletes_queue": 1, "declares_queue": 1, "opens": 3, "closes": 2,
    }  # fmt: skip
    cut_deeds = (*KeptMachine.cut_deeds, "starts", "ends", "decides")

    def prepare(self, data: st.DataObject) -> None:
        for actor in list(self.stage.actors):
            self.stage.coordinate(actor, amqp.DtxSelect())
        for _ in range(3):
            self.stage.publish(self.stage.actors[0], "", "one")
        for actor, xid in zip(list(self.stage.actors), XIDS, strict=False):
            self.stage.coordinate(actor, amqp.DtxStart(xid))

    def opens(self, data: st.DataObject) -> None:
        super().opens(data)
        self.stage.coordinate(self.stage.actors[-1], amqp.DtxSelect())

    def selects(self, data: st.DataObject) -> None:
        """Also once more."""
        self.stage.coordinate(self.an_actor(data), amqp.DtxSelect())

    def starts(self, data: st.DataObject) -> None:
        """As it fits."""
        stage, xid = self.stage, data.draw(st.sampled_from(XIDS))
        free = [each for each in stage.actors if stage.modes.get(each.owner) == "dtx" and each.branch is None]
        if not free:
            self.opens(data)
            return
        actor, work = data.draw(st.sampled_from(free)), stage.dtx.model.works.get(xid)
        resume = work is not None and actor.owner in work.waiting
        stage.coordinate(actor, amqp.DtxStart(xid, work is not None and not resume, resume))

    def starts_anyhow(self, data: st.DataObject) -> None:
        """Whether it fits or not."""
        xid, how = data.draw(st.sampled_from(XIDS)), data.draw(st.tuples(st.booleans(), st.booleans()))
        self.stage.coordinate(self.an_actor(data), amqp.DtxStart(xid, *how))

    def ends(self, data: st.DataObject) -> None:
        """What a session works for."""
        working = [each for each in self.stage.actors if each.branch is not None]
        if not working:
            self.starts(data)
            return
        actor = data.draw(st.sampled_from(working))
        fail, suspend = data.draw(mostly((False, False), (False, False), (False, True), (True, False)))
        self.stage.coordinate(actor, amqp.DtxEnd(self.stage.dtx.model.current(actor.owner), fail, suspend))

    def ends_anyhow(self, data: st.DataObject) -> None:
        xid, how = data.draw(st.sampled_from(XIDS)), data.draw(st.tuples(st.booleans(), st.booleans()))
        self.stage.coordinate(self.an_actor(data), amqp.DtxEnd(xid, *how))

    def decides(self, data: st.DataObject) -> None:
        """Of a branch that nobody works for."""
        works = {xid: each for xid, each in self.stage.dtx.model.works.items() if each.free}
        if not works:
            self.ends(data)
            return
        xid = data.draw(st.sampled_from(list(works)))
        is_open = works[xid].fate != "prepared"
        commands: list[Any] = [amqp.DtxCommit(xid, is_open), amqp.DtxRollback(xid), *[amqp.DtxPrepare(xid)] * is_open]
        self.stage.coordinate(self.an_actor(data), data.draw(st.sampled_from(commands)))

    def decides_anyhow(self, data: st.DataObject) -> None:
        xid = data.draw(st.sampled_from(XIDS))
        commands: list[Any] = [
            amqp.DtxPrepare(xid),
            amqp.DtxCommit(xid),
            amqp.DtxCommit(xid, True),
            amqp.DtxRollback(xid),
            amqp.DtxForget(xid),
        ]
        self.stage.coordinate(self.an_actor(data), data.draw(st.sampled_from(commands)))

    def limits_time(self, data: st.DataObject) -> None:
        """Of a branch that there is, mostly."""
        xid = data.draw(st.sampled_from((*list(self.stage.dtx.model.works) * 5, XIDS[0])))
        self.stage.coordinate(self.an_actor(data), amqp.DtxSetTimeout(xid, data.draw(st.integers(0, 6))))
        self.stage.coordinate(self.an_actor(data), amqp.DtxGetTimeout(xid))
        self.stage.coordinate(self.an_actor(data), amqp.DtxRecover())


def bounded(case: Any) -> Any:
    """Each takes as long as several other tests do."""
    case.settings = settings(case.settings, max_examples=max(1, case.settings.max_examples * 3 // 4))
    return case


TestMessages = bounded(Machine_0_10.TestCase)
TestOctets = bounded(OctetsMachine.TestCase)
TestKeptSessions = bounded(KeptMachine.TestCase)
TestTransactions = bounded(TxMachine.TestCase)
TestDistributedTransactions = bounded(DtxMachine.TestCase)
