"""The 1.0 stage: messages, credit, outcomes and the management node, in the naive model and at a whole broker."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeVar
from urllib.parse import quote

from amqp_sansio import amqp_1_0 as amqp
from amqp_sansio.broker.snapshot import dumps, loads
from tests.broker.front_1_0_attaching import Attaching
from tests.broker.front_1_0_ties import Line_1_0, Spout, Tap
from tests.broker.front_1_0_values import CONDITIONS, STATUS, Note_1_0, spot_of
from tests.broker.front_stage import same
from tests.broker.naive_values import Binding, Refusal

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
            line.asking = session.open_sender(
                amqp.Target(MANAGEMENT), source=amqp.Source(MANAGEMENT), snd_settle_mode=1, **there
            ), receiver
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
        """Ask for a queue."""
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


__all__ = ["Response", "Stage_1_0", "frames"]
