"""What clients of 1.0 do on a stage: messages, outcomes, the management node, and transactions."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeVar
from urllib.parse import quote

from amqp_sansio import amqp_1_0 as amqp
from amqp_sansio.broker.snapshot import dumps, loads
from amqp_sansio.events import Pending
from tests.broker.front_1_0_ties import Attaching, Line_1_0, Spout, Tap
from tests.broker.front_1_0_values import CONDITIONS, STATUS, Note_1_0, act_of, spot_of
from tests.broker.front_models import Actor, Seen, same
from tests.broker.naive_values import Binding, Copy, NaiveQueue, Refusal

R = TypeVar("R")
MANAGEMENT = "/management"
PAIRED = {amqp.Symbol("paired"): True}
QUEUE_COMPARE = ("durable", "exclusive", "auto_delete", "arguments")
EXCHANGE_COMPARE = ("type", "durable", "auto_delete", "internal", "alternate")


class Response(NamedTuple):
    """What the management node answers."""

    status: int
    body: Any


class Stage_1_0(Attaching):
    """All that clients of 1.0 do without transactions."""

    # Messages.

    def send(self, spout: Spout, notes: Sequence[Note_1_0], *, settled: bool | None = None) -> None:
        """Send messages, one behind the other; `settled` only where the link's mode is mixed."""
        link = spout.engine
        handles = [link.send(each.message(), settled=settled) for each in notes[: link.credit]]
        is_settled = settled or link.snd_settle_mode == 1
        self.pump()
        end = self.told(spout)
        for note, handle in zip(notes, handles, strict=False):
            kinds, routed = self._publish(spout, note)
            if not kinds and not routed and self.hears_nothing(spout):
                same(end, "amqp:not-found", f"{spout} ends, because no queue takes what is sent")
                self.destroy(spout)
                break
            if is_settled and kinds in ((), ("full",)):
                continue
            if kinds and (is_settled or not self.knows(spout, "rejected")):
                same(end in [CONDITIONS[each] for each in kinds], True, f"{spout} ends, because of {kinds}: {end}")
                self.destroy(spout)
                break
            self.check_outcome(spout, handle.result if handle.done else "nothing", kinds, routed)
        else:
            same(end, None, f"how {spout} ended")
        self.compare()

    def _publish(self, spout: Spout, note: Note_1_0) -> tuple[tuple[str, ...], bool]:
        """Why a message is refused, and whether it was routed."""
        owner = spout.line.owner
        assert owner is not None
        _, kinds = self.ask(lambda: self.address(spout, note))
        if kinds:
            return kinds, False
        result, kinds = self.ask(lambda: self.naive.publish(owner, note))
        if result is None:
            return kinds, False
        routed, _, refused = result
        return ("full",) if refused else (), routed

    def address(self, spout: Spout, note: Note_1_0) -> None:
        """Find out where a message goes. Raises Refusal."""
        spot = spout.spot
        if spot.kind == "anonymous":
            if not note.to:
                raise Refusal("no-address")
            spot = spot_of(self.naive, note.to)
        if spot.kind == "exchange":
            note.exchange, note.key = spot.name, (note.subject or "") if spot.key is None else spot.key
            return
        note.exchange, note.key = "", spot.name
        if spot.makes and spot.name not in self.naive.queues:
            assert spout.line.owner is not None
            self.naive.declare_queue(spout.line.owner, spot.name, durable=True)

    @staticmethod
    def knows(spout: Spout, outcome: str) -> bool:
        """Whether the client of a spout understands an outcome."""
        return not spout.outcomes or outcome in spout.outcomes

    def hears_nothing(self, spout: Spout) -> bool:
        """Whether only the end of a link to the anonymous terminus can tell that no queue takes a message."""
        known = any(self.knows(spout, each) for each in ("released", "modified", "rejected"))
        return spout.spot.kind == "anonymous" and not known

    def check_outcome(self, spout: Spout, told: object, kinds: tuple[str, ...], routed: bool) -> None:
        """Compare what a client was told of a message with what became of it."""
        if kinds:
            right = [CONDITIONS[each] for each in kinds]
        elif routed:
            same(told, amqp.Accepted(), f"the outcome on {spout}")
            return
        elif self.knows(spout, "released"):
            same(told, amqp.Released(), f"the outcome of what no queue takes on {spout}")
            return
        elif self.knows(spout, "modified"):
            same(told, amqp.Modified(), f"the outcome of what no queue takes on {spout}")
            return
        elif self.knows(spout, "rejected"):
            right = ["amqp:not-found"]
        else:
            same(told, amqp.Accepted(), f"the outcome of what no queue takes on {spout}")
            return
        error = told.error if isinstance(told, amqp.Rejected) else None
        same(error is not None and str(error.condition) in right, True, f"{told} on {spout}, because of {right}")

    # Outcomes.

    def settle(
        self, tap: Tap, tags: Sequence[bytes], state: amqp.DeliveryState | None, *, settled: bool = True
    ) -> None:
        """Say what becomes of deliveries. `settled` false: the broker is to settle, as in rcv-settle-mode second."""
        seconds = [self.is_second(tap, each) for each in tags]
        if any(seconds) and not all(seconds):
            for mode in (False, True):
                self.settle(tap, [tag for tag, each in zip(tags, seconds, strict=True) if each is mode], state)
            return
        ids = [tap.deliveries[tag].delivery_id for tag in tags]
        waits = not settled or seconds[0]
        handles = tap.engine.update(ids, state, settled=not waits)
        if not waits:
            same([each.done for each in handles], [True] * len(tags), f"settled on {tap}")
        self.pump()
        for each in handles:
            same((each.done, each.result if each.done else None), (True, state), f"what became of {tap}'s delivery")
        for group in frames(tags, ids):
            self.decide(tap, group, state)
        self.compare()

    def settle_and_lose(self, tap: Tap, tags: Sequence[bytes], state: amqp.DeliveryState) -> None:
        """Say what becomes of deliveries in rcv-settle-mode second, while the connection is lost: the broker hears it
        when the link is resumed (part 2 section 2.6.13)."""
        tap.engine.update([tap.deliveries[tag].delivery_id for tag in tags], state)
        tap.decided.update(dict.fromkeys(tags, state))
        self.end(tap.line, lost=True)

    def is_second(self, tap: Tap, tag: bytes) -> bool:
        """Whether the broker is to settle a delivery first (part 2 section 2.8.3). Where it keeps nothing it says so of
        each delivery, but not of one that it sends again (section 2.7.5, rcv-settle-mode)."""
        return bool(tap.engine.rcv_settle_mode) and (tap.keeps_unsettled or tag in tap.renewed)

    # The management node.

    def request(self, line: Line_1_0, method: str, path: str, body: Any = None) -> Response:
        """Ask the management node of a connection."""
        if line.asking is None:
            session = line.engine.open_session()
            self.pump()
            there: dict[str, Any] = {"name": "management-link-pair", "properties": PAIRED}
            receiver = session.open_receiver(
                amqp.Source(MANAGEMENT), target=amqp.Target(MANAGEMENT), credit=1000, **there
            )
            line.asking = (
                session.open_sender(
                    amqp.Target(MANAGEMENT), source=amqp.Source(MANAGEMENT), snd_settle_mode=1, **there
                ),
                receiver,
            )
            self.pump()
        sender, receiver = line.asking
        properties = amqp.Properties(message_id=amqp.ULong(self.bodies), to=path, subject=method, reply_to="$me")
        self.bodies += 1
        sender.send(amqp.Message(body, properties=properties))
        self.pump()
        (response,) = line.responses
        line.responses.clear()
        receiver.top_up(1000)
        receiver.accept(response)
        message = response.message
        same(message.correlation_id, properties.message_id, "correlation-id of a response")
        return Response(int(str(message.subject)), message.body)

    def manage(
        self, line: Line_1_0, method: str, path: str, body: Any, command: Callable[[int], R]
    ) -> tuple[R | None, Response]:
        """A request that the naive model carries out with `command`; its result, None if both refuse."""
        response = self.request(line, method, path, body)
        owner = line.owner
        assert owner is not None
        result, kinds = self.ask(lambda: command(owner))
        if kinds:
            right = [STATUS[each] for each in kinds]
            same(response.status in right, True, f"{method} {path} is {response}, because of {kinds}")
        else:
            same(response.status < 300, True, f"{method} {path} is {response}")
        self.compare()
        return result, response

    def declare_queue(self, line: Line_1_0, name: str, **options: Any) -> None:
        """`options`: durable, auto_delete, exclusive, arguments."""
        is_new = name not in self.naive.queues
        told: dict[str, Any] = {**options, "exclusive": line.owner if options.get("exclusive") else None}
        told.setdefault("durable", True)
        result, response = self.manage(
            line, "PUT", f"/queues/{_quoted(name)}", options,
            lambda owner: self.naive.declare_queue(owner, name, compare=QUEUE_COMPARE, **told),
        )  # fmt: skip
        if result is not None:
            same(response.status, 201 if is_new else 200, f"declaring {name}")
            self._check_shown(response, result)

    def inspect_queue(self, line: Line_1_0, name: str) -> None:
        result, response = self.manage(
            line, "GET", f"/queues/{_quoted(name)}", None,
            lambda owner: self.naive.declare_queue(owner, name, passive=True),
        )  # fmt: skip
        if result is not None:
            self._check_shown(response, result)

    def _check_shown(self, response: Response, result: tuple[str, int, int]) -> None:
        body = response.body
        same((body["name"], body["message_count"], body["consumer_count"]), result, "what is shown of a queue")
        queue = self.naive.queues[result[0]]
        shown = (body["durable"], body["auto_delete"], body["exclusive"])
        same(shown, (queue.durable, queue.auto_delete, queue.exclusive is not None), f"kind of {queue.name}")

    def delete_queue(self, line: Line_1_0, name: str) -> None:
        """Delete a queue; one that isn't there counts as deleted."""
        is_there = name in self.naive.queues
        result, response = self.manage(
            line, "DELETE", f"/queues/{_quoted(name)}", None,
            lambda owner: self.naive.delete_queue(owner, name) if is_there else 0,
        )  # fmt: skip
        if result is not None:
            same(response.body["message_count"], result, f"deleted with {name}")

    def purge(self, line: Line_1_0, name: str) -> None:
        """Empty a queue."""
        path = f"/queues/{_quoted(name)}/messages"
        result, response = self.manage(line, "DELETE", path, None, lambda owner: self.naive.purge(owner, name))
        if result is not None:
            same(response.body["message_count"], result, f"purged of {name}")

    def declare_exchange(self, line: Line_1_0, name: str, **options: Any) -> None:
        """`options`: type, durable, auto_delete, internal, alternate."""
        told: dict[str, Any] = {"type": "direct", "durable": True, **options}
        alternate = options.get("alternate")
        body = {each: value for each, value in options.items() if each != "alternate"}
        if alternate is not None:
            body["arguments"] = {"alternate-exchange": alternate}
        self.manage(
            line, "PUT", f"/exchanges/{_quoted(name)}", body,
            lambda _: self.naive.declare_exchange(name, compare=EXCHANGE_COMPARE, **told),
        )  # fmt: skip

    def delete_exchange(self, line: Line_1_0, name: str) -> None:
        """Delete an exchange; one that isn't there counts as deleted."""
        is_there = name in self.naive.exchanges
        self.manage(
            line, "DELETE", f"/exchanges/{_quoted(name)}", None,
            lambda _: self.naive.delete_exchange(name) if is_there else None,
        )  # fmt: skip

    def bind(
        self, line: Line_1_0, kind: str, destination: str, source: str, key: str, arguments: dict[str, Any]
    ) -> None:
        """Bind a "queue" or "exchange"."""
        body = {"source": source, f"destination_{kind}": destination, "binding_key": key, "arguments": arguments}
        self.manage(
            line, "POST", "/bindings", body,
            lambda owner: self.naive.bind(kind, destination, source, key, arguments, owner, True),
        )  # fmt: skip

    def unbind(self, line: Line_1_0, binding: Binding) -> None:
        """Look a binding up, and undo it."""
        kind, destination, source, key = binding.kind, binding.destination, binding.source, binding.key
        there = [each for each in self.naive.bindings if each[:3] == binding[:3]]
        found = self.request(line, "GET", f"/bindings?src={_quoted(source)}&dst{kind[0]}={_quoted(destination)}").body
        to = f"destination_{kind}"
        shown = [(each["source"], each[to], each["binding_key"], each["arguments"]) for each in found]
        arguments = [{name: value for name, (_, value) in each.arguments} for each in there]
        expected = [
            (each.source, each.destination, each.key, told) for each, told in zip(there, arguments, strict=True)
        ]
        same(sorted(shown, key=repr), sorted(expected, key=repr), f"bindings of {destination} to {source}")
        mine = arguments[there.index(binding)]
        (path,) = [each["location"] for each in found if (each["binding_key"], each["arguments"]) == (key, mine)]
        self.manage(
            line, "DELETE", path, None,
            lambda owner: self.naive.unbind(kind, destination, source, key, mine, owner, True),
        )  # fmt: skip

    # The broker.

    def save(self) -> None:
        """What goes on is what comes out of the broker's pickle."""
        self.hub = loads(dumps(self.hub))
        for line in self.lines:
            line.end = self.hub.clients[line.end.number]


def _quoted(name: str) -> str:
    return quote(name, safe="")


def frames(tags: Sequence[bytes], ids: Sequence[int]) -> list[list[bytes]]:
    """Deliveries by the dispositions that tell of them: those with consecutive ids together."""
    groups: list[list[bytes]] = []
    for at, tag in enumerate(tags):
        if at and ids[at] == ids[at - 1] + 1:
            groups[-1].append(tag)
        else:
            groups.append([tag])
    return groups


ROLLBACK = "amqp:transaction:rollback"
UNKNOWN = "amqp:transaction:unknown-id"


class Had(NamedTuple):
    """A delivery that a transaction has to do with."""

    tap: Tap
    tag: bytes
    copy: Copy


class Control:
    """A control link."""

    def __init__(self, actor: Actor, engine: Any, serial: int) -> None:
        self.serial = serial
        assert isinstance(actor.line, Line_1_0)
        self.actor, self.line = actor, actor.line
        self.controller = amqp.Controller(engine)
        self.wire = (actor.line, actor.core.channel, engine.handle)


class Work:
    """A transaction. `branch` is the naive model's number, `fails`: it can't be committed. `promised` is what was
    posted, `settled` what was retired settled, `retired` what was retired unsettled, with its outcome, `acquired` what
    was delivered in it, `posted` what the client has to settle."""

    def __init__(self, control: Control, txn_id: bytes, branch: int) -> None:
        self.control, self.txn_id, self.branch = control, txn_id, branch
        self.fails = False
        self.promised: list[Note_1_0] = []
        self.settled: list[Had] = []
        self.retired: dict[tuple[Tap, bytes], tuple[Had, amqp.DeliveryState, Pending[Any]]] = {}
        self.acquired: list[Had] = []
        self.shown: dict[tuple[Tap, bytes], tuple[amqp.DeliveryState, Pending[Any]]] = {}
        self.posted: list[tuple[Spout, Pending[Any], amqp.DeliveryState]] = []

    def has(self, tap: Tap, tag: bytes) -> bool:
        """Whether the outcome of a delivery is bound to it."""
        return (tap, tag) in self.retired or (tap, tag) in self.shown


class TransactedStage(Stage_1_0):
    """All that clients of 1.0 do. `controls` are the control links, `works` the transactions that aren't over."""

    def __init__(self, sizes: Sequence[int] = (1 << 16,)) -> None:
        Stage_1_0.__init__(self, sizes)
        self.controls: list[Control] = []
        self.works: list[Work] = []
        self.taken: list[tuple[int, Copy, int]] = []
        """What was sent settled in a transaction and isn't part of it in the naive model yet."""

    # Control links.

    def control(self, actor: Actor) -> Control:
        """Attach to the coordinator."""
        engine = actor.core.open_sender(amqp.Coordinator())
        self.pump()
        same(engine.is_open, True, "a coordinator is there")
        control = Control(actor, engine, self.new_serial())
        self.controls.append(control)
        return control

    def controls_of(self, actor: Actor) -> list[int]:
        return [each.serial for each in self.controls if each.actor is actor]

    def end_control(self, actor: Actor, serial: int) -> None:
        (control,) = [each for each in self.controls if each.serial == serial]
        self._drop(control)

    def close_control(self, control: Control, *, closed: bool) -> None:
        """A client leaves a control link: what it has begun is rolled back."""
        if closed:
            control.controller.sender.close()
        else:
            control.controller.sender.detach()
        self.pump()
        same(self.told(control.wire), "", "how a control link ended")
        self._drop(control)
        self.compare()

    def _drop(self, control: Control) -> None:
        self.controls.remove(control)
        gone = [each for each in self.works if each.control is control]
        for work in gone:
            # All are over at once: what one of them gives back isn't delivered for another.
            self._is_over(work)
        for work in gone:
            self._roll_back(work)

    # Work.

    def declare(self, control: Control) -> Work:
        """Begin a transaction."""
        handle: Pending[Any] = control.controller.declare()
        self.pump()
        told = handle.result if handle.done else None
        if not isinstance(told, amqp.Declared):
            raise AssertionError(f"declaring gave {told}")
        assert isinstance(told.txn_id, bytes)
        work = Work(control, told.txn_id, self.naive.begin(control.line.owner))
        self.works.append(work)
        self.compare()
        return work

    def post(self, spout: Spout, note: Note_1_0, work: Work, *, settled: bool | None = None) -> None:
        """Send a message in a transaction (part 4 section 4.4.1)."""
        link = spout.engine
        if not link.credit:
            return
        handle = link.send(note.message(), settled=settled, state=amqp.TransactionalState(work.txn_id))
        is_settled = settled or link.snd_settle_mode == 1
        self.pump()
        if work not in self.works:
            same(self.told(spout), UNKNOWN, f"what {spout} was told of a transaction that is over")
            self.destroy(spout)
            self.compare()
            return
        owner = spout.line.owner
        assert owner is not None
        _, kinds = self.ask(lambda: self.address(spout, note))
        queues = self._takers(note) if not kinds else []
        routed = bool(queues)
        if any(self.naive.refuses(each, note) for each in queues):
            kinds = ("full",)
        elif routed:
            _, kinds = self.ask(lambda: self.naive.publish(owner, note, transaction=work.branch, promised=True))
        if is_settled or (kinds and not self.knows(spout, "rejected")):
            work.fails = work.fails or bool(kinds) or not routed
        unheard = is_settled or not self.knows(spout, "rejected")
        if (kinds and unheard and spout.spot.kind == "anonymous") or (
            not kinds and not routed and self.hears_nothing(spout)
        ):
            work.fails = True
            right = [CONDITIONS[each] for each in kinds] or ["amqp:not-found"]
            same(self.told(spout) in right, True, f"{spout} ends, because of {right}")
            self.destroy(spout)
            self.compare()
            return
        if not kinds and routed:
            work.promised.append(note)
        if not is_settled:
            told = handle.result if handle.done else link.unsettled[handle.key[2]].states[1]
            same((told.txn_id, handle.done), (work.txn_id, not link.rcv_settle_mode), f"what was told on {spout}")
            if kinds and not self.knows(spout, "rejected"):
                same(isinstance(told.outcome, amqp.Rejected), True, f"what was told on {spout}")
            else:
                self.check_outcome(spout, told.outcome, kinds, routed)
            if not handle.done:
                work.posted.append((spout, handle, told.outcome))
        self.compare()

    def retire(self, tap: Tap, tags: Sequence[bytes], state: amqp.DeliveryState, work: Work, *, settled: bool) -> None:
        """Bind outcomes to a transaction (part 4 section 4.4.2)."""
        settled = settled and not any(self.is_second(tap, each) for each in tags)
        ids = [tap.deliveries[tag].delivery_id for tag in tags]
        handles = tap.engine.update(ids, amqp.TransactionalState(work.txn_id, state), settled=settled)
        told = dict(zip(tags, handles, strict=True))
        self.pump()
        for group in frames(tags, ids):
            if work not in self.works:
                same(self.told(tap), UNKNOWN, f"what {tap} was told of a transaction that is over")
                # What is settled goes back when the link is there no more: to others only.
                self.suspend(tap)
                for tag in group if settled else ():
                    self.decide(tap, [tag], None)
                self.destroy(tap)
                break
            bound = [other for other in self.works if other is not work and any(other.has(tap, tag) for tag in group)]
            if bound:
                control = bound[0].control
                same(self.told(control.wire), ROLLBACK, "the control link of the transaction with the first outcome")
                self._drop(control)
                for tag in group if settled else ():
                    self.decide(tap, [tag], None)
            else:
                self._bind(tap, {tag: told[tag] for tag in group}, state, work, settled=settled)
        self.compare()

    def _bind(
        self, tap: Tap, handles: dict[bytes, Pending[Any]], state: amqp.DeliveryState, work: Work, *, settled: bool
    ) -> None:
        for tag, handle in handles.items():
            copy = self.held.get(tap.handle(tag))
            if copy is None:
                # An outcome of what a browser was shown has no effect.
                work.shown[tap, tag] = state, handle
                if settled:
                    tap.deliveries.pop(tag)
                continue
            had = Had(tap, tag, copy)
            work.retired.pop((tap, tag), None)
            if settled:
                work.settled.append(had)
                self.decide(tap, [tag], state, work.branch)
            else:
                work.retired[tap, tag] = had, state, handle

    def acquire(self, tap: Tap, credit: int, work: Work, *, drain: bool = False) -> None:
        """Let what is delivered belong to a transaction (part 4 section 4.4.3)."""
        properties = {amqp.Symbol("txn-id"): work.txn_id}
        if work not in self.works:
            tap.engine.flow(credit, properties=properties)
            self.pump()
            same(self.told(tap), UNKNOWN, f"what {tap} was told of a transaction that is over")
            self.destroy(tap)
            self.compare()
            return
        tap.branch = work.branch
        if tap.consumer is not None:
            tap.consumer.settles = False
        self.flow(tap, credit, drain=drain, properties=properties)

    def check_delivery(self, seen: Seen, copy: Copy) -> None:
        Stage_1_0.check_delivery(self, seen, copy)
        (tap,) = [each for each in self.taps() if each.seat == seen.place]
        event: amqp.Delivery = seen.event
        if tap.branch is None:
            same(event.state, None, f"the state of {event}")
            return
        (work,) = [each for each in self.works if each.branch == tap.branch]
        same(event.state, amqp.TransactionalState(work.txn_id), f"the state of {event}")
        if tap.moves:
            work.acquired.append(Had(tap, event.delivery_tag, copy))
            if event.settled:
                self.taken.append((tap.owner, copy, work.branch))

    def compare(self) -> None:
        # Nobody says any more what becomes of what was sent settled.
        for owner, copy, branch in self.taken:
            self.naive.settle(owner, [copy], "accept", transaction=branch)
        self.taken.clear()
        Stage_1_0.compare(self)

    # The end.

    def discharge(self, work: Work, *, fail: bool) -> None:
        """Commit or roll back (part 4 section 4.3)."""
        handle: Pending[Any] = work.control.controller.discharge(work.txn_id, fail=fail)
        self.pump()
        told = handle.result if handle.done else None
        if work not in self.works:
            self._is_rejected(told, UNKNOWN)
            return
        if fail or not self._can_commit(work):
            if fail:
                same(told, amqp.Accepted(), "rolling back")
            else:
                self._is_rejected(told, ROLLBACK)
            self._roll_back(work)
        else:
            same(told, amqp.Accepted(), "committing")
            self._commit(work)
        self.compare()

    @staticmethod
    def _is_rejected(told: object, condition: str) -> None:
        error = told.error if isinstance(told, amqp.Rejected) else None
        same(None if error is None else str(error.condition), condition, f"discharging gave {told}")

    def _can_commit(self, work: Work) -> bool:
        if work.fails:
            return False
        for note in work.promised:
            if not self._takers(note):
                return False
        for tap, tag in work.retired:
            copy = self.held.get(tap.handle(tag))
            if copy is None or copy.owner != tap.owner or copy.transaction is not None:
                return False
        return True

    def _takers(self, note: Note_1_0) -> list[NaiveQueue]:
        """The queues to which a message would go now."""
        naive = self.naive
        return naive.route(note, note.exchange) if note.exchange in naive.exchanges else []

    def _commit(self, work: Work) -> None:
        self._is_over(work)
        for had, state, handle in work.retired.values():
            self._ends(had.tap, had.tag, state, handle)
            self.decide(had.tap, [had.tag], state, work.branch)
        for (tap, tag), (state, handle) in work.shown.items():
            if tag in tap.deliveries:
                self._ends(tap, tag, state, handle)
                del tap.deliveries[tag]
        self.naive.commit(work.branch)
        for spout, handle, outcome in work.posted:
            if spout.is_attached:
                same(handle.result if handle.done else None, outcome, f"what became of a posting on {spout}")

    @staticmethod
    def _ends(tap: Tap, tag: bytes, state: amqp.DeliveryState, handle: Pending[Any]) -> None:
        """A commit settles a delivery, whether a link is attached or not: no later attachment brings it again. The
        client is told on the link on which it has retired it."""
        if tag in tap.again:
            tap.again.remove(tag)
        elif handle.error is None:
            same((handle.done, handle.result if handle.done else None), (True, state), f"what {tap} was told")

    def _roll_back(self, work: Work) -> None:
        """What was posted was never there, what was retired is as before or has the default outcome where the client
        can't decide any more, what was acquired is available (part 4 section 4.4.4)."""
        if work in self.works:
            self._is_over(work)
        line = work.control.line
        acquired = {(each.tap, each.tag) for each in work.acquired}
        ours = [each for each in work.acquired if self._has_still(work, each)]
        for each in [*work.settled, *work.acquired]:
            if each.copy.owner is not None or each.copy.transaction != work.branch:
                continue
            # Its link isn't there any more; the default outcome holds all the same.
            each.copy.owner = line.owner
        self.naive.roll_back(work.branch)
        for had in work.acquired:
            had.tap.deliveries.pop(had.tag, None)
            if had.tag in had.tap.again:
                had.tap.again.remove(had.tag)
            self.held.pop(had.tap.handle(had.tag), None)
            if had in ours:
                assert had.copy.owner is not None
                self.naive.settle(had.copy.owner, [had.copy], "release", redelivered=True)
        for had in work.settled:
            if (had.tap, had.tag) not in acquired:
                self._default(had)
        if not line.is_lost:
            for spout, handle, _ in work.posted:
                if spout.is_attached and not handle.done:
                    # A disposition without a state takes back none that was told: that one is provisional.
                    state = spout.engine.unsettled[handle.key[2]].states[1]
                    same(isinstance(state, amqp.TransactionalState), True, f"the state of a posting on {spout}")
                    spout.engine.settle(handle)
            self.pump()

    def _has_still(self, work: Work, had: Had) -> bool:
        """Whether a message that was acquired in a transaction is still with it, or with its link."""
        return had.copy.transaction == work.branch or self.held.get(had.tap.handle(had.tag)) is had.copy

    def _default(self, had: Had) -> None:
        act, found = act_of(None, had.tap.terms.default)
        note, owner = had.copy.note, had.copy.owner
        assert isinstance(note, Note_1_0)
        assert owner is not None
        self.naive.settle(
            owner, [had.copy], act.outcome, redelivered=act.redelivered, failed=act.failed, excluded=act.excluded,
            rewritten=note.after(found, had.copy.count),
        )  # fmt: skip

    def _is_over(self, work: Work) -> None:
        self.works.remove(work)
        for tap in self.taps():
            if tap.branch == work.branch:
                tap.branch = None
                if tap.consumer is not None:
                    tap.consumer.settles = tap.settled
