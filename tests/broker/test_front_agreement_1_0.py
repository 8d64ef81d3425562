"""A whole broker that clients of 1.0 use does what the naive model says, whatever they do in whatever order."""

from typing import Any, TypeVar

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from tests.broker.front_1_0 import TransactedStage, Work
from tests.broker.front_1_0_ties import Line_1_0, Spout, Tap, Tie
from tests.broker.front_1_0_values import (
    DEFAULTS,
    LIFETIMES,
    OUTCOMES,
    WISHES,
    Expiry,
    Note_1_0,
    SourceTerms,
    TargetTerms,
)
from tests.broker.front_models import Actor

T = TypeVar("T")


def mostly(plain: Any, *others: Any) -> st.SearchStrategy[Any]:
    """`plain` most of the time."""
    return st.sampled_from((plain, plain, plain, *others))


DATA = st.data()
SIZES = st.lists(st.sampled_from((1, 3, 7, 8, 20, 100, 1000, 100_000)), min_size=1, max_size=4).filter(
    # Octets one by one take a while.
    lambda sizes: sum(sizes) >= 20 * len(sizes)
)
CONTAINERS = ("alice", "bob")
QUEUES = ("one", "two", "three")
EXCHANGES = ("near", "far", "amq.direct", "amq.fanout", "amq.topic", "amq.match")
KEYS = ("one", "two", "a.b", "a.c", "")
PATTERNS = (*KEYS, "a.#", "*.b", "#")
WRONG = ("/nothing/here", "nowhere", "/queues/nowhere", "/exchanges/nowhere/a", "/queue/amq.x", "/queues/a/b")
NAMES = ("x", "y", "z")
"""Names of links that come again; others have each a name of its own."""
TYPES = ("direct", "fanout", "topic", "headers", "none")
EXPIRIES = (
    *[Expiry()] * 4,
    *[Expiry(policy, timeout) for policy in ("link-detach", "session-end", "connection-close") for timeout in (0, 2)],
    Expiry("never"),
)
SECONDS = st.sampled_from((0.5, 1.0, 3.0, 10.0))
FEW = st.integers(1, 5)
STEPS = ("post", "post", "retire", "retire", "acquire", "detach", "attach", "delete")
COIN = st.booleans()
SELDOM = mostly(False, True)
FEATURES: tuple[tuple[str, Any], ...] = (
    *[("headers", each) for each in ({"h": "1"}, {"h": "2", "i": "2"}, {})],
    *[("priority", each) for each in (0, 5, 9)],
    *[("ttl", each) for each in (0.0, 1.0, 4.0)],
    *[("subject", each) for each in ("a.b", "a.b", "a.c", "one")],
    *[("first", True)] * 3,
    ("failures", 1),
)
UNDERSTOOD = mostly((), ("accepted", "rejected"), ("accepted",), ("accepted", "modified"), ("accepted", "released"))
_KINDS: tuple[tuple[dict[str, Any], ...], ...] = (
    (
        {"x-dead-letter-exchange": "", "x-dead-letter-routing-key": "one"},
        {"x-dead-letter-exchange": "", "x-dead-letter-routing-key": "two"},
        {"x-dead-letter-exchange": "amq.fanout"},
        {"x-dead-letter-exchange": "near"},
    ),
    ({"x-delivery-limit": 0}, {"x-delivery-limit": 1}),
    ({"x-message-ttl": 0}, {"x-message-ttl": 2000}, {"x-expires": 3000}),
    (
        {"x-max-length": 2},
        {"x-max-length-bytes": 60},
        {"x-max-length": 1, "x-overflow": "reject-publish"},
        {"x-max-length": 2, "x-overflow": "reject-publish-dlx"},
    ),
    ({"x-max-priority": 9}, {"x-single-active-consumer": True}, {"x-dead-letter-routing-key": "one"}),
)


@st.composite
def queue_arguments(draw: st.DrawFn) -> dict[str, Any]:
    """Arguments of a queue, of up to three kinds."""
    merged: dict[str, Any] = {}
    for kind in draw(st.lists(st.sampled_from((_KINDS[0], *_KINDS)), max_size=3)):
        merged.update(draw(st.sampled_from(kind)))
    return merged


BINDING_ARGUMENTS = mostly({}, {"h": "1"}, {"x-match": "any", "h": "1", "i": "2"})


class Clients(RuleBasedStateMachine):
    """Clients, their sessions and links, and what goes over them."""

    stage: TransactedStage

    @initialize(sizes=SIZES, two=queue_arguments(), three=queue_arguments(), data=DATA)
    def begin(self, sizes: list[int], two: dict[str, Any], three: dict[str, Any], data: st.DataObject) -> None:
        stage = self.stage = TransactedStage(sizes)
        self.names = 0
        lines = [stage.connect(each) for each in CONTAINERS]
        stage.declare_queue(lines[0], "one")
        stage.declare_queue(lines[0], "two", arguments=two)
        stage.declare_queue(lines[1], "three", arguments=three)
        stage.bind(lines[0], "queue", "two", "amq.fanout", "", {})
        stage.bind(lines[0], "queue", "one", "amq.topic", "a.#", {})
        if "three" in stage.naive.queues:
            stage.bind(lines[0], "queue", "three", "amq.direct", "a.b", {})
        self.prepare(data, [stage.open(each) for each in (lines[0], lines[0], lines[1])])

    def prepare(self, data: st.DataObject, actors: list[Actor]) -> None:
        """Links that there are from the start, so that most of what is done afterwards has an effect."""
        lasting = data.draw(COIN)
        for address, actor in (("one", actors[0]), ("two", actors[1]), ("/queues/one", actors[2])):
            terms = self.source_terms(data, address)._replace(wishes=())
            if lasting:
                terms = terms._replace(browses=False, settled=False, second=True, expiry=Expiry("never"))
            self.stage.attach_source(actor, self.a_name(data, actor, sends=False), terms, 10)
        self.stage.attach_target(actors[0], "x", TargetTerms("one"))
        self.stage.attach_target(actors[2], "x", TargetTerms("two", outcomes=data.draw(UNDERSTOOD)))
        self.stage.attach_target(actors[1], "y", TargetTerms(""))
        for spout in self.stage.spouts()[:2]:
            self.stage.send(spout, [self.a_note(data) for _ in range(3)])

    # Drawing.

    def is_ready(self) -> bool:
        return hasattr(self, "stage")

    def a_line(self, data: st.DataObject) -> Line_1_0:
        lines = [each for each in self.stage.lines if isinstance(each, Line_1_0)]
        return data.draw(st.sampled_from(lines)) if lines else self.stage.connect(CONTAINERS[0])

    def an_actor(self, data: st.DataObject) -> Actor:
        if not self.stage.actors:
            self.stage.open(self.a_line(data))
        return data.draw(st.sampled_from(self.stage.actors))

    def a_name(self, data: st.DataObject, actor: Actor, *, sends: bool) -> str:
        """A name for a link, perhaps one that another connection has, or that is kept."""
        line = actor.line
        assert isinstance(line, Line_1_0)
        ties = self.stage.ties
        known = [(name, ties.get((line.container, name, sends))) for name in NAMES]
        free = [name for name, tie in known if tie is None or not tie.is_attached or tie.line is not line]
        self.names += 1
        return data.draw(st.sampled_from((f"n{self.names}", f"n{self.names}", *free)))

    def a_queue(self, data: st.DataObject) -> str:
        """The name of a queue, mostly of one that there is."""
        return data.draw(st.sampled_from(("one", "one", "two", "two", "three", *self.stage.naive.queues)))

    def an_address(self, data: st.DataObject) -> str:
        """An address of a node that there mostly is, in one of its forms."""
        kind = data.draw(st.sampled_from(("", "", "/queues/", "/queues/", "/amq/queue/", "/queue/", "e", "e", "w")))
        if kind == "w":
            return data.draw(st.sampled_from(WRONG))
        if kind != "e":
            return kind + self.a_queue(data)
        exchange, key = data.draw(st.sampled_from(EXCHANGES)), data.draw(st.sampled_from(KEYS[:-1]))
        form = data.draw(st.sampled_from(("/exchanges/E/K", "/exchanges/E", "/exchange/E/K", "/exchange/E", "/topic/K",
                                          "E", "E/K")))  # fmt: skip
        return form.replace("E", exchange).replace("K", key)

    def a_note(self, data: st.DataObject) -> Note_1_0:
        note = Note_1_0(self.stage.new_body())
        for name, value in data.draw(st.lists(st.sampled_from(FEATURES), max_size=3)):
            setattr(note, name, value)
        return note

    def some(self, data: st.DataObject, found: list[T], most: int = 3) -> list[T]:
        return data.draw(st.lists(st.sampled_from(found), min_size=1, max_size=most, unique=True))

    # Connections, sessions and time.

    @precondition(lambda self: self.is_ready() and len(self.stage.actors) < 5)
    @rule(data=DATA, container=st.sampled_from(CONTAINERS), fresh=COIN)
    def opens(self, data: st.DataObject, container: str, fresh: bool) -> None:
        is_new = fresh and len(self.stage.lines) < 3
        self.stage.open(self.stage.connect(container) if is_new else self.a_line(data))

    @precondition(lambda self: self.is_ready() and self.stage.actors)
    @rule(data=DATA, how=st.sampled_from(("end", "end", "close", "lose")))
    def leaves(self, data: st.DataObject, how: str) -> None:
        if data.draw(st.integers(0, 2)):
            # Not too often: it costs much of what there is.
            return
        if how == "end":
            self.stage.close(self.an_actor(data))
        else:
            self.stage.end(self.a_line(data), lost=how == "lose")

    @rule(seconds=SECONDS)
    def passes_time(self, seconds: float) -> None:
        self.stage.advance(seconds)

    @rule(at=st.integers(0, 3))
    def saves(self, at: int) -> None:
        # It takes a while.
        if not at:
            self.stage.save()

    # Links.

    @precondition(lambda self: self.is_ready() and len(self.stage.taps()) < 6)
    @rule(data=DATA, credit=st.sampled_from((0, 1, 2, 10, 10)))
    def receives(self, data: st.DataObject, credit: int) -> None:
        actor = self.an_actor(data)
        terms = self.source_terms(data, self.an_address(data) if data.draw(st.integers(0, 9)) else None)
        self.stage.attach_source(actor, self.a_name(data, actor, sends=False), terms, credit)

    receives_more = receives

    def source_terms(self, data: st.DataObject, address: str | None) -> SourceTerms:
        """What a client asks of a source."""
        second = data.draw(SELDOM)
        return SourceTerms(
            address,
            browses=data.draw(SELDOM),
            settled=data.draw(SELDOM),
            second=second,
            durable=second and data.draw(COIN),
            default=data.draw(mostly(*DEFAULTS)),
            wishes=tuple(data.draw(st.lists(st.sampled_from(WISHES), max_size=2))) if data.draw(SELDOM) else (),
            expiry=data.draw(st.sampled_from(EXPIRIES)),
            priority=data.draw(mostly(0, 1)),
            lifetime=data.draw(st.sampled_from(tuple(LIFETIMES))) if address is None else "on-close",
            copies_only=address is None and data.draw(SELDOM),
        )

    @precondition(lambda self: self.is_ready() and len(self.stage.spouts()) < 6)
    @rule(data=DATA)
    def sends_to(self, data: st.DataObject) -> None:
        actor = self.an_actor(data)
        second = data.draw(SELDOM)
        terms = TargetTerms(
            data.draw(mostly(self.an_address(data), self.an_address(data), "", None)),
            settles=data.draw(mostly(2, 0, 1)),
            second=second,
            durable=second and data.draw(COIN),
            outcomes=data.draw(UNDERSTOOD),
            expiry=data.draw(st.sampled_from(EXPIRIES)),
            lifetime=data.draw(st.sampled_from(tuple(LIFETIMES))),
        )
        self.stage.attach_target(actor, self.a_name(data, actor, sends=True), terms)

    @precondition(lambda self: self.is_ready() and self.resumable())
    @rule(data=DATA, credit=st.sampled_from((0, 1, 10)), remembers=COIN)
    def attaches_again(self, data: st.DataObject, credit: int, remembers: bool) -> None:
        tie, actor = data.draw(st.sampled_from(self.resumable()))
        state = tie.saved if remembers else None
        address = tie.terminus
        if isinstance(tie, Tap):
            terms = tie.terms._replace(address=address, expiry=data.draw(st.sampled_from((tie.expiry, *EXPIRIES))))
            self.stage.attach_source(actor, tie.name, terms, credit, state=state)
        else:
            target = TargetTerms(
                address, durable=tie.is_durable, second=tie.is_durable, expiry=tie.expiry, outcomes=tie.outcomes
            )
            self.stage.attach_target(actor, tie.name, target, state=state)

    def resumable(self) -> list[tuple[Any, Actor]]:
        """Links that are kept, with the sessions where they may be attached."""
        stage = self.stage
        return [
            (tie, actor)
            for tie in stage.ties.values()
            for actor in stage.actors
            if not tie.is_attached and tie.key[0] == actor.line.container  # type: ignore[attr-defined]
        ]

    def attached(self) -> list[Tie]:
        return [*self.stage.taps(), *self.stage.spouts()]

    @precondition(lambda self: self.is_ready() and self.attached())
    @rule(data=DATA, closed=COIN)
    def detaches(self, data: st.DataObject, closed: bool) -> None:
        self.stage.detach(data.draw(st.sampled_from(self.attached())), closed=closed)

    # Messages.

    @precondition(lambda self: self.is_ready() and self.stage.spouts())
    @rule(data=DATA, count=FEW)
    def sends(self, data: st.DataObject, count: int) -> None:
        spout: Spout = data.draw(st.sampled_from(self.stage.spouts()))
        notes = [self.a_note(data) for _ in range(count)]
        if spout.spot.kind == "anonymous":
            for each in notes:
                each.to = data.draw(mostly(self.an_address(data), None))
        mixed = spout.engine.snd_settle_mode == 2
        self.stage.send(spout, notes, settled=data.draw(COIN) if mixed else None)

    sends_more, sends_again = sends, sends

    @precondition(lambda self: self.is_ready() and self.stage.taps())
    @rule(data=DATA, credit=st.sampled_from((0, 1, 2, 5, 20)), drain=SELDOM)
    def grants(self, data: st.DataObject, credit: int, drain: bool) -> None:
        self.stage.flow(data.draw(st.sampled_from(self.stage.taps())), credit, drain=drain)

    def holders(self) -> list[Tap]:
        return [each for each in self.stage.taps() if set(each.deliveries) - {*each.again, *each.decided}]

    def settleable(self, tap: Tap) -> list[bytes]:
        """What a client may decide of."""
        works = self.stage.works
        return [each for each in self.retireable(tap) if not any(work.has(tap, each) for work in works)]

    def retireable(self, tap: Tap) -> list[bytes]:
        """What isn't acquired in a transaction."""
        acquired = {had.tag for work in self.stage.works for had in work.acquired if had.tap is tap}
        return [each for each in tap.deliveries if each not in (*tap.again, *tap.decided, *acquired)]

    @precondition(lambda self: self.is_ready() and self.holders())
    @rule(data=DATA, states=st.lists(st.sampled_from((*OUTCOMES, None)), min_size=1, max_size=4), settled=COIN)
    def settles(self, data: st.DataObject, states: list[Any], settled: bool) -> None:
        for state in states:
            taps = [each for each in self.holders() if self.settleable(each)]
            if taps:
                tap = data.draw(st.sampled_from(taps))
                chosen = self.some(data, self.settleable(tap))
                is_default = state is None and not any(self.stage.is_second(tap, each) for each in chosen)
                told = state if state or is_default else OUTCOMES[0]
                self.stage.settle(tap, chosen, told, settled=settled or is_default)

    settles_more = settles

    @precondition(lambda self: self.is_ready() and len(self.stage.lines) > 1)
    @rule(data=DATA, state=st.sampled_from(OUTCOMES))
    def loses_what_it_settles(self, data: st.DataObject, state: Any) -> None:
        taps = [each for each in self.stage.taps() if each.expiry.lasts and each.moves and self.settleable(each)]
        found = [(tap, [tag for tag in self.settleable(tap) if self.stage.is_second(tap, tag)]) for tap in taps]
        found = [each for each in found if each[1]]
        if found:
            tap, tags = data.draw(st.sampled_from(found))
            self.stage.settle_and_lose(tap, self.some(data, tags), state)

    @invariant()
    def is_the_same(self) -> None:
        if self.is_ready():
            self.stage.check()


class Nodes(Clients):
    """And the management node."""

    @rule(data=DATA)
    def declares(self, data: st.DataObject) -> None:
        line, kind = self.a_line(data), data.draw(st.sampled_from(("queue", "exchange", "binding", "binding")))
        options: dict[str, Any] = {name: True for name in ("durable", "auto_delete") if data.draw(SELDOM)}
        if kind == "queue":
            options = {**options, "arguments": data.draw(queue_arguments()), "exclusive": data.draw(SELDOM)}
            self.stage.declare_queue(line, data.draw(st.sampled_from((*QUEUES, "four", "amq.mine"))), **options)
        elif kind == "exchange":
            options = {**options, "type": data.draw(st.sampled_from(TYPES)), "internal": data.draw(SELDOM)}
            if data.draw(SELDOM):
                options["alternate"] = data.draw(st.sampled_from(("amq.fanout", "amq.topic")))
            self.stage.declare_exchange(line, data.draw(st.sampled_from(EXCHANGES[:3])), **options)
        else:
            to_exchange = data.draw(SELDOM)
            self.stage.bind(
                line,
                "exchange" if to_exchange else "queue",
                data.draw(st.sampled_from(EXCHANGES)) if to_exchange else self.a_queue(data),
                data.draw(st.sampled_from((*EXCHANGES, "nowhere"))),
                data.draw(st.sampled_from(PATTERNS)),
                data.draw(BINDING_ARGUMENTS),
            )

    @rule(data=DATA, how=st.sampled_from(("delete", "purge", "inspect", "exchange", "unbind", "unbind")))
    def removes(self, data: st.DataObject, how: str) -> None:
        line, stage = self.a_line(data), self.stage
        if how == "unbind":
            if stage.naive.bindings:
                stage.unbind(line, data.draw(st.sampled_from(stage.naive.bindings)))
        elif how == "exchange":
            stage.delete_exchange(line, data.draw(st.sampled_from(EXCHANGES[:3])))
        else:
            {"delete": stage.delete_queue, "purge": stage.purge, "inspect": stage.inspect_queue}[how](
                line, self.a_queue(data)
            )


class Transacted(Clients):
    """And transactions."""

    def prepare(self, data: st.DataObject, actors: list[Actor]) -> None:
        Clients.prepare(self, data, actors)
        self.binds_near(data)
        self.last = self.stage.declare(self.stage.control(actors[0]))

    @precondition(lambda self: self.is_ready() and len(self.stage.works) < 3)
    @rule(data=DATA, fresh=SELDOM)
    def declares(self, data: st.DataObject, fresh: bool) -> None:
        controls = self.stage.controls
        if not controls or (fresh and len(controls) < 3):
            control = self.stage.control(self.an_actor(data))
        else:
            control = data.draw(st.sampled_from(controls))
        self.last = self.stage.declare(control)

    @precondition(lambda self: self.is_ready() and self.stage.works and len(self.stage.actors) > 1)
    @rule(data=DATA)
    def deletes_node(self, data: st.DataObject) -> None:
        if data.draw(COIN):
            self.stage.delete_queue(self.a_line(data), data.draw(st.sampled_from(QUEUES[1:])))
        elif "near" in self.stage.naive.exchanges:
            self.stage.delete_exchange(self.a_line(data), "near")
        else:
            self.binds_near(data)

    def binds_near(self, data: st.DataObject) -> None:
        """An exchange that goes later."""
        line = self.a_line(data)
        self.stage.declare_exchange(line, "near", type="fanout")
        self.stage.bind(line, "queue", self.a_queue(data), "near", "", {})

    def a_work(self, data: st.DataObject | None, line: Line_1_0) -> Work | None:
        """A transaction of a connection, seldom one that is over; without `data` whether there is one."""
        works = [each for each in self.stage.works if each.control.line is line]
        if data is None:
            return works[0] if works else None
        if self.last.control.line is line and data.draw(st.integers(0, 19)) == 0:
            works = [self.last]
        return data.draw(st.sampled_from(works)) if works else None

    @precondition(lambda self: self.is_ready() and self.stage.works and self.stage.spouts())
    @rule(data=DATA)
    def posts(self, data: st.DataObject) -> None:
        if not self.stage.spouts():
            return
        spout: Spout = data.draw(st.sampled_from(self.stage.spouts()))
        work = self.a_work(data, spout.line)
        if work is not None:
            note = self.a_note(data)
            note.to = data.draw(mostly(self.an_address(data), None)) if spout.spot.kind == "anonymous" else None
            mixed = spout.engine.snd_settle_mode == 2
            self.stage.post(spout, note, work, settled=data.draw(COIN) if mixed else None)

    posts_more = posts

    @precondition(lambda self: self.is_ready() and self.stage.works and self.holders())
    @rule(data=DATA, states=st.lists(st.sampled_from(OUTCOMES), min_size=1, max_size=3), settled=COIN)
    def retires(self, data: st.DataObject, states: list[Any], settled: bool) -> None:
        again = data.draw(SELDOM)
        for state in states:
            taps = [each for each in self.holders() if self.retireable(each) if self.a_work(None, each.line)]
            if taps and self.stage.works:
                tap = data.draw(st.sampled_from(taps))
                work = self.a_work(data, tap.line)
                tags = self.retireable(tap) if again else self.settleable(tap)
                if work is not None and tags:
                    self.stage.retire(tap, self.some(data, tags), state, work, settled=settled)

    retires_more = retires

    @precondition(lambda self: self.is_ready() and self.stage.works and self.holders())
    @rule(data=DATA, state=st.sampled_from(OUTCOMES), settled=COIN)
    def retires_acquired(self, data: st.DataObject, state: Any, settled: bool) -> None:
        work: Work = data.draw(st.sampled_from(self.stage.works))
        there = [each for each in work.acquired if each.tag in each.tap.deliveries and each.tap.is_attached]
        if there:
            had = data.draw(st.sampled_from(there))
            self.stage.retire(had.tap, [had.tag], state, work, settled=settled)

    @precondition(lambda self: self.is_ready() and self.stage.works and self.stage.taps())
    @rule(data=DATA, credit=st.sampled_from((0, 1, 3)), drain=COIN)
    def acquires(self, data: st.DataObject, credit: int, drain: bool) -> None:
        if not self.stage.taps():
            return
        tap = data.draw(st.sampled_from(self.stage.taps()))
        work = self.a_work(data, tap.line)
        if work is not None:
            self.stage.acquire(tap, credit, work, drain=drain)

    @precondition(lambda self: self.is_ready() and self.stage.controls and self.stage.spouts() and self.holders())
    @rule(
        data=DATA, steps=st.lists(st.sampled_from(STEPS), min_size=1, max_size=4),
        states=st.lists(st.sampled_from(OUTCOMES), min_size=1, max_size=2), settled=COIN, fail=SELDOM,
    )  # fmt: skip
    def transacts(self, data: st.DataObject, steps: list[str], states: list[Any], settled: bool, fail: bool) -> None:
        """A whole transaction, with something else in the middle of it perhaps."""
        control = data.draw(st.sampled_from(self.stage.controls))
        work = self.last = self.stage.declare(control)
        for step in steps:
            if step == "post":
                self.posts(data)
            elif step == "retire":
                self.retires(data, states, settled)
            elif step == "acquire":
                self.acquires(data, 2, settled)
            elif step == "detach" and self.attached():
                self.detaches(data, settled)
            elif step == "attach" and self.resumable():
                self.attaches_again(data, 1, settled)
            elif step == "delete":
                self.deletes_node(data)
        if work in self.stage.works:
            self.stage.discharge(work, fail=fail)

    transacts_more = transacts

    @precondition(lambda self: self.is_ready() and self.stage.works)
    @rule(data=DATA, fail=SELDOM)
    def discharges(self, data: st.DataObject, fail: bool) -> None:
        self.stage.discharge(data.draw(st.sampled_from(self.stage.works)), fail=fail)

    @precondition(lambda self: self.is_ready() and self.stage.controls)
    @rule(data=DATA, closed=COIN)
    def leaves_control(self, data: st.DataObject, closed: bool) -> None:
        self.stage.close_control(data.draw(st.sampled_from(self.stage.controls)), closed=closed)


TestClients = Nodes.TestCase
TestTransacted = Transacted.TestCase
TestClients.settings = settings(stateful_step_count=40)
TestTransacted.settings = settings(stateful_step_count=40)
