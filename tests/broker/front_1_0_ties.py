"""Connections, sessions and links of 1.0, in the naive model and at a whole broker.

A `Tie` is a link as both models see it: the client's engine at one end, and in the naive model an owner with, for a
`Tap` (a source of the broker), a consumer. It outlives its attachments as a terminus does (part 2 section 2.6.1).
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

from amqp_sansio import Event
from amqp_sansio import amqp_1_0 as amqp
from amqp_sansio.amqp_1_0 import LinkState, Released, Source, Symbol
from amqp_sansio.broker.contents.amqp_1_0 import Content_1_0
from amqp_sansio.broker.model.content import Content
from amqp_sansio.errors import Scope
from amqp_sansio.events import Closed, Failed
from amqp_sansio.sasl import Plain
from tests.broker.front_1_0_values import (
    ANONYMOUS,
    CONDITIONS,
    NO_LOCAL,
    Note_1_0,
    SourceTerms,
    Spot,
    TargetTerms,
    Wish,
    act_of,
    plain,
    spot_of,
)
from tests.broker.front_models import Actor, Error, Ground, Line, Place, Seen, same
from tests.broker.naive_values import Copy, NaiveConsumer, Note, Refusal, Room, fail

R = TypeVar("R")
LinkName = tuple[str, str, bool]
"""The container, the link's name, and whether the client sends."""


class Tie:
    """A link. `terminus` is the address that was asked for, or that of the dynamic node; `saved` is what the client
    keeps of it while it isn't attached, `deadline` when its terminus goes then."""

    engine: Any

    def __init__(self, actor: Actor, name: str, terms: SourceTerms | TargetTerms, owner: int, spot: Spot) -> None:
        line = actor.line
        assert isinstance(line, Line_1_0)
        self.line, self.actor, self.name, self.owner, self.spot = line, actor, name, owner, spot
        self.is_sender = isinstance(terms, TargetTerms)
        self.expiry = terms.expiry
        self.lasts = terms.expiry.lasts
        self.terminus = terms.address
        self.is_durable = terms.durable
        self.is_dynamic = terms.address is None
        self.is_attached = True
        self.saved: amqp.LinkState | None = None
        self.deadline: float | None = None
        self.place = (line, actor.core.channel)
        self.serial = 0

        self.node: object = None
        """What the naive model has of the node: another one of the same name is another node."""

    @property
    def key(self) -> LinkName:
        return self.line.container, self.name, self.is_sender

    @property
    def keeps_unsettled(self) -> bool:
        """Whether what is unsettled survives the link, without which rcv-settle-mode second is good for nothing."""
        return self.is_durable or self.expiry.lasts

    @property
    def wire(self) -> tuple[Line, int, int]:
        """Where its events come from."""
        return self.line, self.engine.session.channel, self.engine.handle

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name} to {self.spot}>"


class Spout(Tie):
    """A link on which a client sends; `outcomes` are those that it understands."""

    outcomes: tuple[str, ...]


class Tap(Tie):
    """A link on which a client receives. `deliveries` are those that aren't settled, by tag, as they came; `again` the
    tags of those that a new attachment still has to bring, `renewed` of those that it has brought, `decided` of those
    of which the client has said what becomes of them, and the broker hasn't heard it. `branch` is the transaction in
    which it acquires."""

    def __init__(self, actor: Actor, name: str, terms: SourceTerms, owner: int, spot: Spot) -> None:
        Tie.__init__(self, actor, name, terms, owner, spot)
        self.terms = terms
        self.moves = not terms.browses
        self.queue = spot.name
        self.room = Room(0, None, False)
        self.consumer: NaiveConsumer | None = None
        self.passed: dict[int, int] = {}
        self.deliveries: dict[bytes, amqp.Delivery] = {}
        self.again: list[bytes] = []
        self.renewed: set[bytes] = set()
        self.decided: dict[bytes, amqp.DeliveryState] = {}
        self.branch: int | None = None
        self.settled = terms.settled

    @property
    def seat(self) -> Place:
        """The place of its consumer."""
        return self.owner, self.name

    def handle(self, tag: bytes) -> tuple[int, int]:
        """A delivery of it."""
        return self.owner, int.from_bytes(tag, "big")


class Line_1_0(Line):
    """A connection. `leaving` are the channels of sessions that the client ends."""

    def __init__(self, stage: Ground, container: str) -> None:
        config = amqp.Config(container_id=container, sasl=Plain("guest", "guest"))
        Line.__init__(self, stage, amqp.Connection.client(config))
        self.container = container
        self.leaving: set[int] = set()
        self.responses: list[amqp.Delivery] = []
        self.asking: Any = None

    def lose(self) -> None:
        if not self.is_lost:
            self.leaving.update(range(1 << 16))
            Line.lose(self)


class Attaching(Ground):
    """See front_models.py. `ties` are all links, attached or kept."""

    def __init__(self, sizes: Sequence[int] = (1 << 16,)) -> None:
        Ground.__init__(self, sizes)
        self.ties: dict[LinkName, Tie] = {}
        self.failures: dict[tuple[Line, int, int], str] = {}
        self.closings: set[tuple[Line, int, int]] = set()
        self.serials = 0
        """How many links were attached."""
        self.drained: list[tuple[Line, int, int]] = []
        self.early: list[tuple[Line, amqp.Delivery]] = []
        """Deliveries on links that aren't known to be attached yet."""

    # What the ground asks.

    def connect(self, container: str = "") -> Line_1_0:
        line = Line_1_0(self, container or f"c{len(self.lines)}")
        self.lines.append(line)
        self.pump()
        if not line.engine.is_open:
            fail(f"{line.container} isn't let in")
        line.owner = self.naive.open_owner(None)
        return line

    def open(self, line: Line) -> Actor:
        """A session: what it does, the connection does."""
        session = line.engine.open_session()
        self.pump()
        if not session.is_open:
            fail("a session isn't let in")
        assert isinstance(line, Line_1_0)
        assert line.owner is not None
        line.leaving.discard(session.channel)
        actor = Actor(line, line.owner, session)
        self.actors.append(actor)
        return actor

    def observe(self, line: Line, event: Event) -> None:
        if isinstance(event, amqp.Delivery):
            self._deliver(line, event)
        elif isinstance(event, amqp.Drained):
            self.drained.append((line, event.channel, event.link))
        elif isinstance(event, amqp.LinkFailed):
            self.failures[(line, event.channel, event.link)] = str(getattr(event.error, "condition", event.error))
        elif isinstance(event, amqp.LinkClosed):
            self.closings.add((line, event.channel, event.link))
        elif isinstance(event, Failed) or (isinstance(event, Closed) and event.scope is not Scope.LINK):
            assert isinstance(line, Line_1_0)
            if event.channel not in line.leaving:
                fail(f"nobody asked for {event}")

    def error_of(self, action: str, kind: str) -> Error | None:
        return Error("link", CONDITIONS.get(kind))

    def body_of(self, content: Content) -> bytes:
        assert isinstance(content, Content_1_0)
        body: bytes = content.message.body
        return body

    def tells_end(self, place: Place) -> bool:
        # `_end_with_nodes` compares what clients were told of their links.
        return False

    def _deliver(self, line: Line, event: amqp.Delivery) -> None:
        tap = self.tap_at(line, event.channel, event.link)
        assert isinstance(line, Line_1_0)
        if line.asking is not None and event.channel == line.asking[0].session.channel:
            line.responses.append(event)
        elif tap is None:
            self.early.append((line, event))
        elif event.delivery_tag in tap.again:
            tap.again.remove(event.delivery_tag)
            tap.renewed.add(event.delivery_tag)
            old = tap.deliveries.get(event.delivery_tag)
            if old is not None:
                same(event.payload, old.payload, f"what {tap} brings again")
            tap.deliveries[event.delivery_tag] = event
        else:
            handle = None if event.settled or not tap.moves else tap.handle(event.delivery_tag)
            self.saw(Seen(line, tap.seat, handle, event.body, event=event))

    def tap_at(self, line: Line, channel: int, handle: int) -> Tap | None:
        """The tap whose deliveries come from there."""
        for tie in self.ties.values():
            if tie.is_attached and isinstance(tie, Tap) and tie.wire == (line, channel, handle):
                return tie
        return None

    def taps(self) -> list[Tap]:
        return [each for each in self.ties.values() if isinstance(each, Tap) and each.is_attached]

    def spouts(self) -> list[Spout]:
        return [each for each in self.ties.values() if isinstance(each, Spout) and each.is_attached]

    def check_delivery(self, seen: Seen, copy: Copy) -> None:
        (tap,) = [each for each in self.taps() if each.seat == seen.place]
        event: amqp.Delivery = seen.event
        note, message = copy.note, event.message
        assert isinstance(note, Note_1_0)
        same(event.settled, tap.settled, f"settled of {copy.note.body!r}")
        same((message.first_acquirer, message.delivery_count),
             (note.first and not copy.redelivered and not copy.count, note.failures + copy.count),
             f"first-acquirer and delivery-count of {note.body!r}")  # fmt: skip
        left = None if copy.expires is None else max(0, round((copy.expires - self.now) * 1000))
        ttl = None if note.ttl is None else min(int(note.ttl * 1000), left or 0)
        same((message.ttl, message.priority), (ttl, note.priority), f"ttl and priority of {note.body!r}")
        same((message.subject, plain(message.application_properties)), (note.subject, note.headers), "properties")
        notes = plain(message.message_annotations)
        deaths = notes.pop("x-opt-deaths", ())
        same(notes, note.notes, f"message-annotations of {note.body!r}")
        same(message.delivery_annotations.get("rejected"), note.error, f"why {note.body!r} was rejected")
        told = [
            (each["queue"], each["reason"], each["count"], each["exchange"], tuple(each["routing-keys"]),
             int(each["first-time"])) for each in deaths
        ]  # fmt: skip
        same(told, [(*each[:5], int(each.time * 1000)) for each in note.deaths], f"deaths of {note.body!r}")
        if not event.settled:
            if event.delivery_tag in tap.deliveries:
                fail(f"{tap} has two deliveries with one tag, {event.delivery_tag!r}")
            tap.deliveries[event.delivery_tag] = event

    def compare(self) -> None:
        self._expire_ties()
        self.end_with_nodes()
        Ground.compare(self)
        self.naive.events.clear()
        same(self.early, [], "deliveries on links that aren't attached")
        wrong = {each for each in self.closings if each[1] not in self._leaving(each[0])}
        if wrong:
            fail(f"nobody asked for the end of {[(each[1:], self.failures.get(each)) for each in wrong]}")
        self.closings.clear()
        self.failures.clear()

    def new_serial(self) -> int:
        """The number of a new attachment."""
        self.serials += 1
        return self.serials

    @staticmethod
    def _leaving(line: Line) -> set[int]:
        assert isinstance(line, Line_1_0)
        return line.leaving

    def check(self) -> None:
        Ground.check(self)
        for tap in self.taps():
            engine = tap.engine
            here = set(tap.deliveries) - set(tap.again) - set(tap.decided)
            same(sorted(engine.unsettled), sorted(here), f"unsettled of {tap}")
            if not tap.again and not tap.decided:
                same(engine.credit + engine.unused, tap.room.messages, f"credit of {tap}")
            if tap.moves:
                held = {tap.handle(each) for each in tap.deliveries}
                same({each for each in self.held if each[0] == tap.owner}, held, f"what {tap} has")

    # Asking the naive model.

    def ask(self, command: Callable[[], R]) -> tuple[R | None, tuple[str, ...]]:
        """What a command gives, and why it is refused."""
        try:
            return command(), ()
        except Refusal as refusal:
            return None, refusal.kinds

    def told(self, tie_or_wire: Any) -> str | None:
        """The condition with which a link has ended in this command; "" without one, None: it hasn't."""
        wire = tie_or_wire.wire if isinstance(tie_or_wire, Tie) else tie_or_wire
        if wire not in self.closings:
            return None
        self.closings.discard(wire)
        return self.failures.pop(wire, "")

    def node(self, tie: Tie) -> object:
        there: dict[str, Any] = {**self.naive.queues} if tie.spot.kind == "queue" else {**self.naive.exchanges}
        return None if tie.spot.kind == "anonymous" else there.get(tie.spot.name, "gone")

    # Leaving.

    def detach(self, tie: Tie, *, closed: bool = False) -> None:
        """A client leaves a link; its terminus stays unless it is closed."""
        if closed:
            tie.engine.close()
        else:
            tie.engine.detach()
        self.pump()
        same(self.told(tie), "", f"how {tie} ended")
        if closed:
            self.destroy(tie)
        else:
            self.suspend(tie)
            if tie.expiry.policy == "link-detach":
                self.begin_to_expire([tie])
        self.compare()

    def close(self, actor: Actor) -> None:
        """A client ends a session."""
        line = actor.line
        assert isinstance(line, Line_1_0)
        line.leaving.add(actor.core.channel)
        actor.core.close()
        self.pump()
        self._leave([actor])
        self.compare()

    def end(self, line: Line_1_0, *, lost: bool) -> None:
        """A connection is closed, or lost."""
        if lost:
            line.lose()
        else:
            line.leaving.update(range(1 << 16))
            line.engine.close()
        self.pump()
        same(line.is_lost, True, "the connection is over")
        self._leave([each for each in self.actors if each.line is line])
        kept = [each for each in self.ties.values() if each.place[0] is line]
        for each in kept:
            if not each.expiry.lasts:
                self.destroy(each)
        self.begin_to_expire([each for each in kept if each.expiry.policy == "connection-close"])
        assert line.owner is not None
        self.naive.close_owner(line.owner)
        self.compare()

    def _leave(self, actors: list[Actor]) -> None:
        """Sessions are over, and their links are detached; then what is to go with them goes."""
        here = [each for each in self.ties.values() if each.is_attached and each.actor in actors]
        for each in here:
            if isinstance(each, Tap) and each.consumer is not None:
                # All are over at once: what one of them leaves isn't for another.
                each.consumer.rooms = [Room(0, None, False)]
        for each in here:
            self.suspend(each)
        for actor in actors:
            # What follows from the end of each link, in the order in which they were attached.
            mine = [each for each in here if each.actor is actor]
            after = {each.serial: each for each in mine if each.expiry.policy == "link-detach"}
            for serial in sorted({*after, *self.controls_of(actor)}):
                if serial in after:
                    self.begin_to_expire([after[serial]])
                else:
                    self.end_control(actor, serial)
            actor.is_over = True
            self.actors.remove(actor)
            place = (actor.line, actor.core.channel)
            kept = [each for each in self.ties.values() if not each.is_attached and each.place == place]
            self.begin_to_expire([each for each in kept if each.expiry.policy == "session-end"])

    def controls_of(self, actor: Actor) -> list[int]:
        """The numbers of the control links of a session."""
        return []

    def end_control(self, actor: Actor, serial: int) -> None:
        """A control link has ended with its session."""

    def suspend(self, tie: Tie) -> None:
        """No link is attached any more."""
        tie.is_attached = False
        tie.saved = tie.engine.saved_state()
        if isinstance(tie, Tap):
            consumer = tie.consumer
            if consumer is not None and not consumer.ended:
                tie.passed = consumer.passed
                self.naive.cancel(consumer.number)
            tie.consumer, tie.branch = None, None
            self.forget_place(tie.seat)

    def begin_to_expire(self, ties: Iterable[Tie]) -> None:
        """The time begins after which a terminus goes (part 3 section 3.5.6)."""
        for each in ties:
            if self.ties.get(each.key) is not each or each.deadline is not None:
                continue
            if each.expiry.timeout:
                each.deadline = self.now + each.expiry.timeout
            else:
                self.destroy(each)

    def _expire_ties(self) -> None:
        over = [each for each in self.ties.values() if each.deadline is not None and each.deadline <= self.now]
        for each in sorted(over, key=lambda each: each.deadline or 0.0):
            self.destroy(each)

    def destroy(self, tie: Tie) -> None:
        """A terminus is gone: what was sent and isn't settled has the default outcome (part 3 section 3.5.3)."""
        if self.ties.get(tie.key) is tie:
            del self.ties[tie.key]
        if tie.is_attached:
            self.suspend(tie)
        if isinstance(tie, Tap):
            for tag in list(tie.deliveries):
                self.decide(tie, [tag], None)
            tie.deliveries.clear()
        if tie.spot.kind == "queue" or isinstance(tie, Tap):
            self.naive.unlink(tie.owner, tie.queue if isinstance(tie, Tap) else tie.spot.name)
        self.naive.close_owner(tie.owner)

    def end_with_nodes(self) -> None:
        """Links end with the nodes that they go to (part 2 section 2.8.15, resource-deleted)."""
        at = 0
        while at < len(self.naive.events):
            event = self.naive.events[at]
            at += 1
            if event.what != "deleted":
                continue
            for tie in [each for each in self.ties.values() if each.is_attached]:
                queue = tie.queue if isinstance(tie, Tap) else tie.spot.name if tie.spot.kind == "queue" else None
                exchange = tie.spot.name if tie.spot.kind == "exchange" else None
                if event.whom in (("queue", queue), ("exchange", exchange)):
                    same(self.told(tie), "amqp:resource-deleted", f"what the client of {tie} was told")
                    self.destroy(tie)
        self.naive.events = [each for each in self.naive.events if each.what != "deleted"]

    def decide(
        self, tap: Tap, tags: Sequence[bytes], state: amqp.DeliveryState | None, branch: int | None = None
    ) -> None:
        """Settle deliveries in the naive model, all of one frame; None is the default outcome."""
        copies: list[Copy] = []
        for tag in tags:
            tap.deliveries.pop(tag, None)
            copy = self.held.pop(tap.handle(tag), None)
            if copy is not None and copy.owner == tap.owner and copy.transaction is None:
                copies.append(copy)
        act, found = act_of(state, tap.terms.default)
        if isinstance(found, amqp.Released):
            # All are back before anybody gets one of them.
            self.naive.settle(tap.owner, copies, act.outcome, transaction=branch, redelivered=True)
            return
        for copy in copies:
            note = copy.note
            assert isinstance(note, Note_1_0)
            self.naive.settle(
                tap.owner, [copy], act.outcome, transaction=branch, redelivered=act.redelivered, failed=act.failed,
                excluded=act.excluded, rewritten=note.after(found, copy.count),
            )  # fmt: skip

    def attach_source(
        self, actor: Actor, name: str, terms: SourceTerms, credit: int = 0, *, state: LinkState | None = None
    ) -> Tap | None:
        """Receive from a node; None where both refuse. With `state` the link is resumed with what is unsettled."""
        session = actor.core
        self.pending: list[bytes] = []
        old = self.ties.get((actor.line.container, name, False))  # type: ignore[attr-defined]
        link = session.open_receiver(
            terms.source(), name=name, snd_settle_mode=int(terms.settled), rcv_settle_mode=int(terms.second),
            properties={Symbol("rabbitmq:priority"): terms.priority}, state=state, credit=credit,
        )  # fmt: skip
        self.pump()
        tap = self._find_known(old, terms, actor, link)
        if tap is None:
            tap, kinds = self._new_tap(actor, name, terms, link)
        else:
            assert isinstance(tap, Tap)
            # What is unsettled from before can't go on in a link that sends everything settled.
            tap.settled = terms.settled and not tap.deliveries
            tap.terms = terms._replace(browses=not tap.moves, default=tap.terms.default)
            kinds = ("bad-field",) if any(each.is_wrong for each in terms.wishes) else self._subscribe(tap)
            if not kinds and link.is_open:
                if state is None:
                    tap.decided.clear()
                self.pending = list(tap.deliveries)
                tap.again = [each for each in self.pending if each not in tap.decided]
        tap = self._attached(actor, tap, link, kinds)
        if isinstance(tap, Tap):
            self._check_source(tap, terms)
            early, self.early = self.early, []
            for line, event in early:
                self.observe(line, event)
            self._grant(tap, credit, drain=False)
            self.compare()
            return tap
        self.compare()
        return None

    def attach_target(
        self, actor: Actor, name: str, terms: TargetTerms, *, state: LinkState | None = None
    ) -> Spout | None:
        """Send to a node; None where both refuse."""
        old = self.ties.get((actor.line.container, name, True))  # type: ignore[attr-defined]
        outcomes = tuple([Symbol(f"amqp:{each}:list") for each in terms.outcomes])
        link = actor.core.open_sender(
            terms.target(), name=name, source=Source("here", outcomes=outcomes), snd_settle_mode=terms.settles,
            rcv_settle_mode=int(terms.second), state=state,
        )  # fmt: skip
        self.pump()
        spout = self._find_known(old, terms, actor, link)
        kinds: tuple[str, ...] = ()
        if spout is None:
            spout, kinds = self._new_spout(actor, name, terms, link)
        spout = self._attached(actor, spout, link, kinds)
        self.compare()
        if isinstance(spout, Spout):
            spout.outcomes = spout.outcomes if spout is old else terms.outcomes
            second = terms.second and spout.keeps_unsettled
            same(link.rcv_settle_mode, int(second), f"how the broker settles on {spout}")
            return spout
        return None

    def _find_known(self, old: Tie | None, terms: SourceTerms | TargetTerms, actor: Actor, link: Any) -> Tie | None:
        """The tie that a new attachment goes on with (part 2 section 2.6.1)."""
        if old is None:
            return None
        if old.is_attached:
            same(self.told(old), "amqp:link:stolen", f"what the former owner of {old} was told")
            self.suspend(old)
        line = actor.line
        moved = terms.address != old.terminus and not (terms.address is None and old.is_dynamic)
        if moved or old.node is not self.node(old) or (old.line is not line and not old.expiry.lasts):
            self.destroy(old)
            self.end_with_nodes()
            return None
        assert isinstance(line, Line_1_0)
        old.line, old.actor, old.place = line, actor, (line, actor.core.channel)
        old.engine, old.is_attached, old.deadline = link, True, None
        old.expiry = terms.expiry if old.lasts or not terms.expiry.lasts else old.expiry
        return old

    def _attached(self, actor: Actor, tie: Tie, link: Any, kinds: tuple[str, ...]) -> Tie | None:
        """Compare whether the link is attached, and keep what is."""
        wire = (actor.line, actor.core.channel, link.handle)
        if kinds:
            same(self.told(wire) in [CONDITIONS[each] for each in kinds], True, f"{tie} is refused, because of {kinds}")
            self.destroy(tie)
            return None
        same(link.is_open, True, f"{tie} is attached, not ended with {self.failures.get(wire)}")
        self.ties[tie.key] = tie
        tie.node, tie.serial = self.node(tie), self.new_serial()
        return tie

    def _new_tap(self, actor: Actor, name: str, terms: SourceTerms, link: Any) -> tuple[Tap, tuple[str, ...]]:
        naive = self.naive
        owner = naive.open_owner(None if terms.expiry.lasts else actor.owner)
        tap = Tap(actor, name, terms, owner, ANONYMOUS)
        tap.engine = link
        if any(each.is_wrong for each in terms.wishes):
            return tap, ("bad-field",)
        if terms.address is None:
            tap.spot = Spot("queue", link.address or "")
            tap.queue = tap.terminus = tap.spot.name
            naive.declare_queue(owner, tap.queue, lifetime=terms.lifetime)
            if terms.copies_only:
                naive.queues[tap.queue].arguments[MODES] = ["copy"]
        else:
            address = terms.address
            spot, kinds = self.ask(lambda: spot_of(naive, address))
            if spot is None:
                return tap, kinds
            tap.spot, tap.queue = spot, spot.name
            if spot.kind == "exchange":
                self._bind_own(tap)
            elif spot.name not in naive.queues:
                _, kinds = self.ask(lambda: naive.declare_queue(actor.owner, spot.name, durable=True))
                if kinds:
                    return tap, kinds
        _, kinds = self.ask(lambda: naive.link(owner, tap.queue))
        tap.moves = tap.moves and MODES not in naive.queues[tap.queue].arguments
        return tap, kinds or self._subscribe(tap)

    def _bind_own(self, tap: Tap) -> None:
        """A queue of the link's own, bound to the exchange; the broker made its name."""
        naive, spot = self.naive, tap.spot
        (tap.queue,) = set(self.hub.model.vhosts["/"].queues) - set(naive.queues)
        naive.declare_queue(tap.owner, tap.queue, exclusive=tap.owner, reserved=False)
        kind = naive.exchanges[spot.name].type
        key: str = spot.key or ""
        arguments: dict[str, Any] = {"x-match": "all"} if kind == "headers" else {}
        if kind == "topic" and not key:
            key = "#"
        wish = self._binding_wish(tap)
        if wish is not None and wish.binds is not None:
            _, key, arguments = wish.binds
        naive.bind("queue", tap.queue, spot.name, key, arguments, tap.owner, True)

    def _binding_wish(self, tap: Tap) -> Wish | None:
        """The filter that is the binding of the queue, if one is: the last one of those kinds counts."""
        if tap.spot.kind != "exchange" or tap.spot.key:
            return None
        found = [each for each in tap.terms.wishes if each.binds is not None]
        exchange = self.naive.exchanges.get(tap.spot.name)
        if not found or exchange is None or found[-1].binds is None or found[-1].binds[0] != exchange.type:
            return None
        return found[-1]

    def _subscribe(self, tap: Tap) -> tuple[str, ...]:
        wants = self._wants(tap)
        tap.room = Room(0, None, False)
        number, kinds = self.ask(
            lambda: self.naive.subscribe(
                tap.owner, tap.queue, tap.seat, [tap.room], acquires=tap.moves, settles=tap.settled,
                priority=tap.terms.priority, accepts=wants,
            )
        )  # fmt: skip
        if number is not None:
            self.places[tap.seat] = number
            tap.consumer = self.naive.consumers[number]
            tap.consumer.passed.update(tap.passed)
        return kinds

    def _wants(self, tap: Tap) -> Callable[[Note], bool]:
        bound = self._binding_wish(tap)
        legacy = [each for each in tap.terms.wishes if each.binds is not None]
        wishes = [each for each in tap.terms.wishes if each.binds is None or (each is legacy[-1] and each is not bound)]
        publisher = tap.line.owner

        def wants(note: Note) -> bool:
            assert isinstance(note, Note_1_0)
            local = note.publisher == publisher
            return all(not local if each.name == NO_LOCAL else each.wants(note) for each in wishes)

        return wants

    def _check_source(self, tap: Tap, terms: SourceTerms) -> None:
        source = tap.engine.source
        same(str(source.distribution_mode), "move" if tap.moves else "copy", f"distribution-mode of {tap}")
        same(source.default_outcome, tap.terms.default or Released(), f"default-outcome of {tap}")
        if tap.is_dynamic:
            same(source.address, tap.terminus, f"address of {tap}")

    def _new_spout(self, actor: Actor, name: str, terms: TargetTerms, link: Any) -> tuple[Spout, tuple[str, ...]]:
        naive = self.naive
        owner = naive.open_owner(None if terms.expiry.lasts else actor.owner)
        spout = Spout(actor, name, terms, owner, ANONYMOUS)
        spout.engine = link
        if terms.address is None:
            spout.spot = Spot("queue", link.address or "")
            spout.terminus = spout.spot.name
            naive.declare_queue(owner, spout.spot.name, lifetime=terms.lifetime)
        elif terms.address:
            address = terms.address
            spot, kinds = self.ask(lambda: spot_of(naive, address))
            if spot is None:
                return spout, kinds
            spout.spot = spot
            if spot.kind == "queue" and spot.name not in naive.queues:
                _, kinds = self.ask(lambda: naive.declare_queue(actor.owner, spot.name, durable=True))
                if kinds:
                    return spout, kinds
            if spot.kind == "exchange" and naive.exchanges[spot.name].internal:
                return spout, ("internal",)
        if spout.spot.kind == "queue" and naive.queues[spout.spot.name].exclusive is None:
            naive.link(owner, spout.spot.name)
        return spout, ()

    # Credit.

    def flow(self, tap: Tap, credit: int, *, drain: bool = False, properties: dict[Symbol, Any] | None = None) -> None:
        """Let the broker send so many; with `drain` at once or not at all."""
        self.pending = [each for each in tap.deliveries if each in tap.again or each in tap.decided]
        tap.engine.flow(credit, drain=drain, properties=properties)
        self.pump()
        self._grant(tap, credit, drain=drain)
        self.compare()

    def _grant(self, tap: Tap, credit: int, *, drain: bool) -> None:
        """What an earlier attachment had brought comes first; the rest of the credit is for others."""
        later = [each for each in self.pending if each not in tap.decided]
        for tag in self.pending if credit else ():
            if tag in tap.decided:
                # What the client has said before takes no credit.
                self.decide(tap, [tag], tap.decided.pop(tag))
                continue
            later.remove(tag)
            credit -= 1
            if not credit:
                break
        same(tap.again, later, f"what {tap} doesn't bring again so far")
        self.naive.change_room(tap.room, credit, None, add=False)
        if drain:
            same(self.drained, [tap.wire], f"ends of the drain of {tap}")
            self.naive.change_room(tap.room, 0, None, add=False)
        else:
            same(self.drained, [], "ends of drains")
        self.drained.clear()


MODES = "supported-dist-modes"
