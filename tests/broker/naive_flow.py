"""How messages flow in the naive model: through exchanges into queues, to consumers, and to where dead letters go."""

from collections.abc import Iterable, Sequence

from tests.broker.naive_values import (
    MODES,
    PREDECLARED,
    Binding,
    Branch,
    Copy,
    Dying,
    Event,
    NaiveConsumer,
    NaiveExchange,
    NaiveOwner,
    NaiveQueue,
    Note,
    Refusal,
    Witness,
    fail,
    matches_headers,
    matches_topic,
)

FRAMES = 128
"""Octets that the frames of a delivery are reckoned with, where a client's unread ones are counted."""
PATIENCE = 6
"""Turns that a consumer may miss for each that there is: where many share a window some lose theirs for a while."""


class NaiveFlow:
    """One virtual host. `events` has what else was brought about than deliveries; `every` is all that was queued;
    `history` is what happened to which message in which queue; `limits` are those of `BrokerLimits` that count."""

    def __init__(self, witness: Witness, limits: dict[str, int] | None = None) -> None:
        self.witness = witness
        self.limits = limits or {}
        self.history: list[tuple[str, str, bytes]] = []
        self.former: dict[int, NaiveConsumer] = {}
        self.now = 0.0
        self.numbers = 0
        self.exchanges = {name: NaiveExchange(name, kind) for name, kind in PREDECLARED.items()}
        self.queues: dict[str, NaiveQueue] = {}
        self.bindings: list[Binding] = []
        self.owners: dict[int, NaiveOwner] = {}
        self.consumers: dict[int, NaiveConsumer] = {}
        self.branches: dict[int, Branch] = {}
        self.events: list[Event] = []
        self.letters: list[tuple[NaiveQueue, Note, str]] = []
        self.every: list[Copy] = []

    def next_number(self) -> int:
        self.numbers += 1
        return self.numbers

    def is_within(self, number: int, other: int) -> bool:
        each: int | None = number
        while each is not None:
            if each == other:
                return True
            each = self.owners[each].parent
        return False

    def _is_limit(self, name: str, count: int, more: int = 1) -> bool:
        return name in self.limits and count + more > self.limits[name]

    def _happened(self, what: str, queue: NaiveQueue | None, note: Note) -> None:
        self.history.append((what, "" if queue is None else queue.name, note.body))

    def _queue(self, owner: int, name: str) -> NaiveQueue:
        if name == "":
            raise Refusal("name-missing", "not-found")
        queue = self.queues.get(name)
        if queue is None:
            raise Refusal("not-found")
        if self._is_locked(queue, owner):
            raise Refusal("locked")
        return queue

    def _is_locked(self, queue: NaiveQueue, owner: int) -> bool:
        return queue.exclusive is not None and not self.is_within(owner, queue.exclusive)

    def _check_ends(self, kind: str, destination: str, source: str, owner: int) -> None:
        faults: list[str] = []
        if kind == "queue":
            queue = self.queues.get(destination)
            if destination == "":
                faults.append("name-missing")
            if queue is None:
                faults.append("not-found")
            elif self._is_locked(queue, owner):
                faults.append("locked")
        elif destination == "":
            faults.append("default-exchange")
        elif destination not in self.exchanges:
            faults.append("not-found")
        if source == "":
            faults.append("default-exchange")
        elif source not in self.exchanges:
            faults.append("not-found")
        if faults:
            raise Refusal(*faults)

    def _check_binding(self, source: str, arguments: dict[str, object], by_arguments: bool) -> None:
        kind = self.exchanges[source].type
        if kind == "system":
            raise Refusal("not-allowed")
        if kind == "headers":
            if not by_arguments and arguments.get("x-match") not in MODES[:2]:
                # 0-10 section 11.1.2.1: it has to say.
                raise Refusal("bad-argument")
            if arguments.get("x-match", "all") not in MODES:
                raise Refusal("bad-argument")

    def _same(self, binding: Binding, by_arguments: bool) -> list[Binding]:
        return [
            each
            for each in self.bindings
            if each[:4] == binding[:4] and (not by_arguments or each.arguments == binding.arguments)
        ]

    def _remove_bindings(self, gone: Iterable[Binding]) -> None:
        """An exchange that deletes itself goes with its last binding."""
        for each in list(gone):
            if each in self.bindings:
                self.bindings.remove(each)
                source = self.exchanges.get(each.source)
                is_bound = any(other.source == each.source for other in self.bindings)
                if source is not None and source.auto_delete and not is_bound:
                    self._delete_exchange(source.name)

    def _delete_exchange(self, name: str) -> None:
        del self.exchanges[name]
        self.events.append(Event("deleted", ("exchange", name)))
        self.bindings = [each for each in self.bindings if each.source != name]
        self._remove_bindings(each for each in self.bindings if (each.kind, each.destination) == ("exchange", name))

    def _delete_queue(self, queue: NaiveQueue) -> None:
        if queue.gone:
            return
        queue.gone = True
        del self.queues[queue.name]
        self.events.append(Event("deleted", ("queue", queue.name)))
        for consumer in queue.consumers:
            consumer.ended = True
            self.former[consumer.number] = self.consumers.pop(consumer.number)
            self.events.append(Event("cancelled", consumer.number))
        queue.consumers = []
        self._remove_bindings(each for each in self.bindings if (each.kind, each.destination) == ("queue", queue.name))
        for each in queue.ordered():
            self._die(each, "orphaned")

    def _end_consumer(self, consumer: NaiveConsumer) -> None:
        queue = consumer.queue
        consumer.ended = True
        self.former[consumer.number] = self.consumers.pop(consumer.number)
        queue.consumers.remove(consumer)
        queue.used = self.now
        if queue.active is consumer:
            waiting = sorted((each for each in queue.consumers if each.acquires), key=lambda each: -each.priority)
            queue.active = waiting[0] if waiting else None

    def _leave_if_unused(self, queue: NaiveQueue) -> None:
        if queue.auto_delete and not queue.consumers and not (queue.outlives and queue.exclusive is not None):
            self._delete_queue(queue)

    def _roll_back(self, branch: Branch) -> None:
        branch.is_over = True
        for each in branch.copies:
            each.transaction = None
            if each.owner is None and each.state == "acquired":
                each.redelivered = True
                self._happened("released", each.queue, each.note)
                self._put_back(each)
                self._expire(each.queue)
        self._enforce_all([each.queue for each in branch.copies])

    def _archive(self, copy: Copy) -> None:
        copy.state = "archived"
        copy.queue.copies.remove(copy)

    def _put_back(self, copy: Copy) -> None:
        if copy.queue.gone:
            self._die(copy, "orphaned")
        else:
            copy.state = "available"
            copy.owner = None
        self._give_back(copy)

    def _give_back(self, copy: Copy) -> None:
        if copy.consumer is not None:
            for room in copy.consumer.rooms:
                if room.refills:
                    room.move(1, copy.consumer.size_of(copy.note))
            copy.consumer = None

    def _settle(
        self,
        copies: Sequence[Copy],
        outcome: str,
        redelivered: bool,
        failed: bool,
        excluded: bool,
        unsaid: bool = False,
        rewritten: Note | None = None,
    ) -> None:
        for each in copies:
            each.transaction = None
            self._happened(outcome.removesuffix("e") + "ed", each.queue, each.note)
        for each in copies:
            consumer = each.consumer
            if rewritten is not None and outcome != "accept":
                self._give_back(each)
                each.note = rewritten
            if outcome == "release":
                if excluded and consumer is not None:
                    each.excluded.append(consumer.key)
                each.redelivered = each.redelivered or redelivered or failed
                each.count += failed
                limit = each.queue.arguments.get("x-delivery-limit")
                if failed and limit is not None and each.count > limit and not each.queue.gone:
                    self._give_back(each)
                    self._die(each, "delivery_limit")
                else:
                    self._put_back(each)
                    self._expire(each.queue)
            else:
                self._give_back(each)
                if outcome == "accept":
                    self._archive(each)
                elif each.queue.gone:
                    self._die(each, "orphaned")
                else:
                    self._die(each, "delivery_limit" if unsaid else "rejected")
        if outcome != "accept":
            self._enforce_all([each.queue for each in copies])

    def _die(self, copy: Copy, reason: str) -> None:
        self._archive(copy)
        queue = copy.queue
        if reason == "expired":
            self._happened("expired", queue, copy.note)
        by_argument = "x-dead-letter-exchange" in queue.arguments and reason != "orphaned"
        if by_argument or (queue.alternate is not None and reason in ("rejected", "orphaned")):
            self._write_letter(queue, copy.note, reason)
        elif reason != "expired":
            self._happened("dropped", queue, copy.note)

    def _write_letter(self, queue: NaiveQueue, note: Note, reason: str) -> None:
        self.letters.append((queue, note, reason))
        self._happened("dead-lettered", queue, note)

    # Routing.

    def route(self, note: Note, name: str, alternates: bool = True, chained: bool = False) -> list[NaiveQueue]:
        """Through bindings between exchanges first; what then matched nothing goes to the alternate, once (0-10
        exchange.declare, rule double-failure), or with `chained` as often as there is one (RabbitMQ)."""
        if name == "":
            return [self.queues[note.key]] if note.key in self.queues else []
        found: list[NaiveQueue] = []
        seen = [name]
        unmatched = self._follow(note, [name], seen, found)
        while alternates and unmatched:
            others: list[str] = []
            for each in unmatched:
                alternate = self.exchanges[each].alternate
                if alternate is not None and alternate in self.exchanges and alternate not in seen:
                    seen.append(alternate)
                    others.append(alternate)
            unmatched = self._follow(note, others, seen, found)
            alternates = chained
        return found

    def _follow(self, note: Note, names: list[str], seen: list[str], found: list[NaiveQueue]) -> list[str]:
        """Returns the exchanges of which nothing matched."""
        unmatched: list[str] = []
        for name in names:
            matched = [
                each
                for each in self.bindings
                if each.source == name and self._matches(self.exchanges[name], each, note)
            ]
            if not matched:
                unmatched.append(name)
            for each in matched:
                if each.kind == "queue":
                    if self.queues[each.destination] not in found:
                        found.append(self.queues[each.destination])
                elif each.destination not in seen:
                    seen.append(each.destination)
                    names.append(each.destination)
        return unmatched

    def _matches(self, exchange: NaiveExchange, binding: Binding, note: Note) -> bool:
        if exchange.type == "fanout":
            return True
        if exchange.type == "direct":
            return binding.key == note.key
        if exchange.type == "topic":
            return matches_topic(binding.key, note.key)
        if exchange.type == "headers":
            return matches_headers({name: value for name, (_, value) in binding.arguments}, note.headers)
        return False

    def _publish(
        self,
        note: Note,
        immediate: bool,
        mandatory: bool,
        alternates: bool = True,
        chained: bool = False,
        rerouted: bool = False,
        promised: bool = False,
    ) -> tuple[tuple[bool, bool, bool], bool]:
        self._happened("published", None, note)
        queues: list[NaiveQueue] = []
        name: str | None = note.exchange
        if rerouted and name in self.exchanges:
            # As if nothing matched.
            name, alternates = self.exchanges[name].alternate, False
        if name in self.exchanges:
            queues = self.route(note, name, alternates, chained)
        if not queues:
            self._happened("unroutable", None, note)
        consumed = refused = False
        for queue in queues:
            copy = self._enqueue(queue, note, immediate, promised)
            if copy is None:
                refused = True
            elif copy.consumer is not None or copy.state == "archived":
                consumed = consumed or bool(copy.takers)
        if refused:
            consumed = False
        returns = (mandatory and not queues) or (immediate and not consumed)
        return (bool(queues), consumed, refused), returns

    def _enqueue(self, queue: NaiveQueue, note: Note, immediate: bool = False, promised: bool = False) -> Copy | None:
        overflow = queue.arguments.get("x-overflow", "drop-head")
        if overflow != "drop-head" and not promised and self._is_beyond(queue, 1, len(note.body)):
            self._happened("refused", queue, note)
            if overflow == "reject-publish-dlx" and "x-dead-letter-exchange" in queue.arguments:
                self._write_letter(queue, note, "maxlen")
            return None
        lives: list[float] = [] if note.ttl is None else [note.ttl]
        if "x-message-ttl" in queue.arguments:
            lives.append(queue.arguments["x-message-ttl"] / 1000)
        queue.positions += 1
        copy = Copy(note, queue, queue.positions, self.now + min(lives) if lives else None)
        queue.copies.append(copy)
        self.every.append(copy)
        self._dispatch(queue)
        if immediate and copy.state == "available":
            # It never was there.
            self._archive(copy)
            return copy
        self._happened("routed", queue, note)
        if not immediate:
            self._enforce(queue)
        self._expire(queue)
        return copy

    def _is_beyond(self, queue: NaiveQueue, more: int, octets: int) -> bool:
        waiting = queue.ordered()
        longest = queue.arguments.get("x-max-length")
        largest = queue.arguments.get("x-max-length-bytes")
        if longest is not None and len(waiting) + more > longest:
            return True
        return largest is not None and sum(len(each.note.body) for each in waiting) + octets > largest

    def _enforce(self, queue: NaiveQueue) -> None:
        """At a limit those of the lowest priority go, the oldest first."""
        if queue.arguments.get("x-overflow", "drop-head") != "drop-head":
            return
        while queue.ordered() and self._is_beyond(queue, 0, 0):
            self._die(min(queue.ordered(), key=lambda each: (each.level, each.position)), "maxlen")

    def _enforce_all(self, queues: Iterable[NaiveQueue]) -> None:
        """The limits hold for what has come back, too."""
        for queue in queues:
            if not queue.gone:
                self._enforce(queue)

    def _expire(self, queue: NaiveQueue) -> None:
        over = [each for each in queue.ordered() if each.expires is not None and each.expires <= self.now]
        for each in sorted(over, key=lambda each: (each.expires or 0.0, each.position)):
            self._die(each, "expired")

    # What follows from a command.

    def _finish(self) -> None:
        """Dead letters, all deliveries that can be made, queues that have outlived their purpose."""
        while self.letters:
            firsts = [each for each in self.letters if not any(other[0] is each[0] for other in self._before(each))]
            letter = firsts[self.witness.choose_letter(firsts)]
            self.letters.remove(letter)
            self._send_letter(*letter)
        while any([self._dispatch(queue) for queue in self.queues.values()]):
            # What one queue delivers and is settled at once may make room for another's.
            pass
        for queue in self.queues.values():
            for consumer, copy in self._legal(queue):
                fail(f"consumer {consumer.number} waits for {copy.note.body!r} of {queue.name}, which isn't delivered")
        for queue in list(self.queues.values()):
            if self._has_outlived(queue):
                self._delete_queue(queue)
                self._finish()

    def _before(self, letter: tuple[NaiveQueue, Note, str]) -> list[tuple[NaiveQueue, Note, str]]:
        return self.letters[: self.letters.index(letter)]

    def _has_outlived(self, queue: NaiveQueue) -> bool:
        created = queue.creator in self.owners
        return (
            (queue.lifetime == "on-close" and not created)
            or (queue.lifetime == "on-no-links" and not queue.links and not created)
            or (queue.lifetime == "on-no-messages" and not created and not queue.copies)
            or (queue.lifetime == "on-no-links-or-messages" and not queue.links and not queue.copies and not created)
        )

    def _send_letter(self, queue: NaiveQueue, note: Note, reason: str) -> None:
        name: str | None = queue.arguments.get("x-dead-letter-exchange")
        key = queue.arguments.get("x-dead-letter-routing-key", note.key)
        if reason == "orphaned" or (name is None and reason == "rejected"):
            # What goes to the alternate goes as it is, and not on from there (0-10 exchange.declare, double-failure).
            for target in self.route(note, queue.alternate, False) if queue.alternate in self.exchanges else []:
                self._enqueue(target, note)
            return
        if name is None or name not in self.exchanges:
            return
        same = [each for each in note.deaths if (each.queue, each.reason) == (queue.name, reason)]
        rest = tuple(each for each in note.deaths if each not in same)
        if same:
            death = same[0]._replace(times=same[0].times + 1)
        else:
            death = Dying(queue.name, reason, 1, note.exchange, (note.key,), self.now)
        letter = note.letter(name, key, (death, *rest))
        targets = self.route(letter, name)
        walk = letter.walk = [] if reason == "rejected" else [queue.name] if note.walk is None else note.walk
        for target in targets:
            if target.name not in walk and not self._is_cycle(letter.deaths, target.name):
                walk.append(target.name)
                self._enqueue(target, letter)

    @staticmethod
    def _is_cycle(deaths: tuple[Dying, ...], target: str) -> bool:
        """It was in this queue before, and nobody rejected it since: it would go round for ever."""
        for index, each in enumerate(deaths):
            if each.queue == target:
                return all(other.reason != "rejected" for other in deaths[: index + 1])
        return False

    # Delivering.

    def _dispatch(self, queue: NaiveQueue) -> bool:
        """Deliver what can be; which is next among what may be, the witness knows. Whether anything was."""
        count = len(self.history)
        while legal := self._legal(queue):
            chosen = self.witness.choose(queue, legal)
            if chosen is None:
                break
            consumer, copy = chosen
            self._take_turn(consumer, copy)
            copy.takers.append(consumer)
            self._happened("delivered", queue, copy.note)
            for room in consumer.rooms:
                room.move(-1, -(copy.note.kept + FRAMES if room.overdraws else consumer.size_of(copy.note)))
            self._forgive_turns()
            if not consumer.acquires:
                consumer.passed[copy.level] = max(copy.position, consumer.passed.get(copy.level, 0))
                continue
            copy.state = "acquired"
            copy.owner = consumer.owner
            copy.consumer = consumer
            if consumer.settles:
                self._happened("accepted", queue, copy.note)
                self._archive(copy)
                self._give_back(copy)
        for consumer in queue.consumers:
            if not consumer.acquires:
                self._look_on(consumer, queue)
        return len(self.history) > count

    def _look_on(self, browser: NaiveConsumer, queue: NaiveQueue) -> None:
        """A browser passes what it doesn't want, too: what is released behind that isn't shown to it."""
        for copy in queue.ordered():
            if copy.position > browser.passed.get(copy.level, 0):
                if self._wants(browser, copy):
                    return
                browser.passed[copy.level] = copy.position

    def _legal(self, queue: NaiveQueue) -> list[tuple[NaiveConsumer, Copy]]:
        waiting = queue.ordered()
        pairs: list[tuple[NaiveConsumer, Copy]] = []
        following: dict[NaiveConsumer, Copy] = {}
        for consumer in self._ready(queue):
            wanted = [each for each in waiting if self._wants(consumer, each)]
            if wanted and consumer.has_room(wanted[0].note):
                if consumer.acquires:
                    following[consumer] = wanted[0]
                else:
                    pairs.append((consumer, wanted[0]))
        for consumer, copy in following.items():
            better = [each for each in following if each.priority > consumer.priority and self._wants(each, copy)]
            if not better:
                pairs.append((consumer, copy))
        return pairs

    def _ready(self, queue: NaiveQueue) -> list[NaiveConsumer]:
        if not queue.arguments.get("x-single-active-consumer"):
            return queue.consumers
        return [each for each in queue.consumers if each is queue.active or not each.acquires]

    def _wants(self, consumer: NaiveConsumer, copy: Copy) -> bool:
        if consumer.no_local and copy.note.publisher == self.owners[consumer.owner].connection:
            return False
        if consumer.key in copy.excluded:
            return False
        if not consumer.acquires and copy.position <= consumer.passed.get(copy.level, 0):
            return False
        return consumer.accepts is None or consumer.accepts(copy.note)

    def _forgive_turns(self) -> None:
        """Who has no room for a moment may have lost its turn."""
        for consumer in self.consumers.values():
            if not all(room.fits(1) for room in consumer.rooms):
                consumer.overtaken.clear()

    def _take_turn(self, taker: NaiveConsumer, copy: Copy) -> None:
        """Among equals nobody gets two messages while another waits for one (0-9-1 section 3.1.4, round-robin)."""
        taker.overtaken.clear()
        taker.starved = 0
        if not taker.acquires:
            return
        for other in self._ready(copy.queue):
            if other is taker or not other.acquires or other.priority != taker.priority:
                continue
            first = next((each for each in copy.queue.ordered() if self._wants(other, each)), None)
            if first is None or not other.has_room(first.note):
                other.overtaken.clear()
            if first is not copy or not other.has_room(copy.note):
                continue
            other.overtaken[taker.number] = other.overtaken.get(taker.number, 0) + 1
            other.starved += 1
            if other.starved > PATIENCE * len(copy.queue.consumers):
                fail(f"consumer {other.number} of {copy.queue.name} could have got {other.starved} messages")
            if other.overtaken[taker.number] > 1:
                fail(f"consumer {taker.number} of {copy.queue.name} had two turns while {other.number} waited")
