"""Attaching links of 1.0: which node each gets or why it is refused, and credit (part 2 sections 2.6.3, 2.6.7)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from amqp_sansio.amqp_1_0 import LinkState, Released, Source, Symbol
from tests.broker.front_1_0_ties import Line_1_0, Spout, Tap, Tie, Ties
from tests.broker.front_1_0_values import (
    ANONYMOUS,
    CONDITIONS,
    NO_LOCAL,
    Note_1_0,
    SourceTerms,
    Spot,
    TargetTerms,
    Wish,
    spot_of,
)
from tests.broker.front_stage import Actor, same
from tests.broker.naive_values import Note, Room

MODES = "supported-dist-modes"


class Attaching(Ties):
    """Attaches sources and targets."""

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


__all__ = ["Attaching"]
