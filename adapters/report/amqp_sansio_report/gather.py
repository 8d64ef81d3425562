"""`Gather`: collects a report's facts from rows of the tables, in memory independent of the capture's size."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final, cast

from amqp_sansio.capture import Clocks
from amqp_sansio.recorded.ends import CAUSES
from amqp_sansio.recorded.histories import HISTORY_COLUMNS
from amqp_sansio.recorded.histories.places import queue_at
from amqp_sansio.recorded.tables import ROWS

from .account import Account
from .backlog import Backlogs
from .causes import FAULTS, Fault, fault
from .measures import Clouds, Histogram, Largest, Series, Top, priority
from .records import Bounds, Connection, Holder, Incident, RuleCount
from .services import beside, is_node, meaning, tracked
from .troubles import KINDS as TROUBLES
from .troubles import WATCHED as TROUBLING

if TYPE_CHECKING:
    from amqp_sansio.capture import Segment

    from .services import Answered

ANSWER: Final = "answer to "
"""Begins the kind of an incident that a service's answer to a request is."""
LATENCIES: Final = ("publish", "deliver", "path", "call")
"""From a publish to its confirm, from a delivery to its settlement, from a publish to its delivery on any connection,
and from a client's request to the server's answer.
"""
KINDS: Final = ("publish", "deliver", "get", "return")
SIDES: Final = ("client", "server")
_EMPTYING: Final = frozenset({"queue.purge", "queue.purge-ok", "queue.delete", "queue.delete-ok"})
_CONSUMING: Final = frozenset({"basic.consume", "basic.consume-ok"})
_PARSED: Final = TROUBLING | FAULTS | _EMPTYING | _CONSUMING | {"open", "queue.declare", "queue.bind"}
_QUEUES: Final = frozenset({"queue.declare", "queue.delete", "queue.bind", "basic.consume", "basic.get"})
"""Units that name a queue."""
_MICROSOFT: Final = '"com.microsoft:'
_SHORT_NS: Final = 5_000_000_000
"""Connections that live shorter may be churn."""


STEP: Final = (
    *("history", "what", "ts_ns", "connection", "seq", "exchange", "queue", "message_id", "body_size"),
    *("since_publish_ns", "certainty"),
)
"""The columns of a step of `histories` that are needed here; only deliveries and redeliveries are."""
_STEP: Final = itemgetter(*[[name for name, _ in HISTORY_COLUMNS].index(name) for name in STEP])


class FileCount:
    """Counts for one file."""

    __slots__ = ("first_ns", "last_ns", "octets", "packets")

    def __init__(self) -> None:
        self.packets = 0
        """TCP segments that were read of it."""
        self.octets = 0
        """Of the payloads of these."""
        self.first_ns: int | None = None
        """The earliest time; None without packets."""
        self.last_ns: int | None = None
        """The latest one."""

    def add(self, ts_ns: int, packets: int, octets: int) -> None:
        """Count packets with that many octets of payload on the wire, at a time."""
        self.packets += packets
        self.octets += octets
        self.first_ns = ts_ns if self.first_ns is None else min(self.first_ns, ts_ns)
        self.last_ns = ts_ns if self.last_ns is None else max(self.last_ns, ts_ns)


class Gather:
    """Collects a report's facts from rows, in bounded memory.

    Push the rows of all tables; those of one connection go to the same `Gather`, in the order of
    `amqp_sansio.recorded.tables`: its row of `connections` is the last. Rows of `histories` may come from anywhere. The
    distribution of connections over several instances doesn't change the merged result. Picklable at any point.

    >>> from amqp_sansio.recorded.tables import replay_segments
    >>> gather = Gather()
    >>> for table, row in replay_segments([]):
    ...     gather.add(table, row)
    >>> gather.connections
    0
    """

    def __init__(self, bounds: Bounds | None = None, *, wanted: Sequence[str] = ()) -> None:
        bounds = bounds or Bounds()
        self.bounds = bounds
        """Most items of each kind that are kept."""
        self.wanted = tuple(wanted)
        """Words for connections that are always kept (`records.is_meant`)."""
        self.files: dict[str, FileCount] = {}
        """By name; above the bound some are left out."""
        self.files_cut = False
        """Whether some were."""
        self.clocks = Clocks()
        """Differences between the clocks of files with common connections."""
        self.packets = 0
        """Of all files."""
        self.payload = 0
        """Octets of these packets' payloads."""
        self.first_ns: int | None = None
        """The earliest time of anything; None: nothing came."""
        self.last_ns: int | None = None
        """The latest one."""
        self.connections = 0
        """All, also those that aren't AMQP."""
        self.amqp = 0
        """Those whose version is known."""
        self.events = 0
        """Units of all connections."""
        self.messages = 0
        """Publishes, deliveries and returns."""
        self.unconfirmed = 0
        """Publishes in confirm mode whose outcome wasn't seen."""
        self.unmatched = 0
        """Publishes of which nobody can say whether they were to be confirmed."""
        self.unnamed = 0
        """AMQP connections of which nobody knows which side is the client."""
        self.passed: dict[str, int] = {}
        """Connections that aren't AMQP, by their protocols."""
        self.unsettled = 0
        """Deliveries without an outcome."""
        self.channels = 0
        """Channels and sessions that were opened."""
        self.gaps = 0
        """Places where octets are missing."""
        self.incomplete = 0
        """Connections whose beginning or end wasn't seen."""
        self.blocked_ns = 0
        """The time for which servers took no publishes, of all connections together."""
        self.missed = 0
        """Silences of twice what was announced that nobody ended the connection for."""
        self.unsure = 0
        """Deliveries with several publishes that they may come from: their way isn't measured."""
        self.unjoined = False
        """Whether there were too many messages to join deliveries to publishes."""
        self.octets = dict.fromkeys(SIDES, 0)
        """That each side sent, of all connections."""
        self.versions = Top(bounds.keys, 4)
        """Versions and dialects, each with messages, bad connections, violations and octets."""
        self.products = Top(bounds.keys, 4)
        """What clients name themselves, with the same sums."""
        self.servers = Top(bounds.keys)
        """What servers name themselves."""
        self.users = Top(bounds.keys, 4)
        """Users and mechanisms, with the same sums as versions."""
        self.vhosts = Top(bounds.keys)
        """Virtual hosts that were opened."""
        self.ends = Top(bounds.keys)
        """How connections ended: cause, side, code, text."""
        self.causes: dict[str, int] = {}
        """How many ended by each cause."""
        self.units = Top(bounds.keys, 1)
        """Kinds of units and their senders, with their octets."""
        self.open_connections = Series(bounds.steps)
        """Each opening adds one, each end takes it away."""
        self.opened = Series(bounds.steps)
        """Openings over time."""
        self.lost = Series(bounds.steps)
        """Ends over time that nobody asked for."""
        self.open_channels = Series(bounds.steps)
        """Each opening adds one, each end takes it away."""
        self.octets_over_time = {side: Series(bounds.steps) for side in SIDES}
        """By the side that sent them."""
        self.messages_over_time = {kind: Series(bounds.steps) for kind in KINDS}
        """By kind: publish, deliver, get, return."""
        self.redelivered_over_time = Series(bounds.steps)
        """Deliveries that weren't the first of their message."""
        self.problems_over_time = Series(bounds.steps)
        """Errors, broken rules and bad ends."""
        self.unsettled_deliveries = Series(bounds.steps)
        """Deliveries that wait for an outcome, at each time."""
        self.unconfirmed_publishes = Series(bounds.steps)
        """Publishes that wait for one."""
        self.blocked_connections = Series(bounds.steps)
        """Connections whose server took no publishes, at each time."""
        self.latencies = {name: Histogram() for name in LATENCIES}
        """Nanoseconds until a publish was confirmed, a delivery settled, and from one to the other."""
        self.latencies_over_time = {name: Clouds(bounds.cloud) for name in LATENCIES}
        """The same, with time."""
        self.sizes = {kind: Histogram() for kind in KINDS}
        """Octets of bodies, by kind of message."""
        self.outcomes: dict[tuple[str, str], int] = {}
        """Messages by kind and outcome; "open" without one."""
        self.keys = Top(bounds.keys, 1)
        """Exchanges and routing keys that were published to, with octets."""
        self.sources = Top(bounds.keys, 2)
        """Queues and addresses that deliveries came from, with octets and redeliveries."""
        self.rules: dict[str, RuleCount] = {}
        """Broken rules, each with its counts and its first place."""
        self.faults = Top(bounds.keys)
        """Errors that peers told: unit, side, code and text."""
        self.details = Largest[Connection](bounds.connections)
        """The connections that the page shows one by one: wanted ones, then those with most trouble."""
        self.holders = Largest[Holder](bounds.holders)
        """Consumers and links, those that held most first."""
        self.slow = Largest[Holder](bounds.holders)
        """The consumers and links that were without room for longest."""
        self.backlogs = Backlogs(bounds.queues)
        """Messages of queues over time."""
        self.loops = Top(bounds.keys, 0)
        """Redeliveries by the message's history, its queue, its id and the octets of its body."""
        self.again = Largest[Incident](bounds.incidents)
        """The last redeliveries, as steps of their histories."""
        self.takers = Largest[Incident](bounds.incidents)
        """The last redeliveries: as steps of their histories, and with the consumers that got them."""
        self.problems = Largest[Incident](bounds.incidents)
        """The first errors, with their place."""
        self.silences = Largest[Incident](bounds.incidents)
        """The longest, as parts of what was announced."""
        self.blockings = Largest[Incident](bounds.incidents)
        """The longest times in which a server took no publishes."""
        self.slowest = {name: Largest[Incident](10) for name in LATENCIES}
        """By kind of latency, the ten longest."""
        self.oldest = Largest[Incident](bounds.incidents)
        """Deliveries that wait for an outcome, the first ones."""
        self.left = Largest[Incident](bounds.incidents)
        """Deliveries that were unsettled when their channel, link or connection ended, the first ones."""
        self.troubles = {kind: Largest[Incident](bounds.incidents) for kind in TROUBLES}
        """The first of each kind that no error tells of."""
        self.deletes = Largest[Incident](bounds.incidents)
        """Queues that were deleted, the last ones."""
        self.named = Top(bounds.keys)
        """Queues that somebody declares, binds or takes from."""
        self.limits = Top(bounds.keys)
        """Queues declared with a maximum of messages: its name, the maximum, and what becomes of more."""
        self.rejects = Top(bounds.keys)
        """Rejected publishes, by where to and why."""
        self.rejected = Largest[Incident](bounds.incidents)
        """The first rejected publishes."""
        self.returned = 0
        """How many publishes came back."""
        self.requests = Top(bounds.keys, 2)
        """Requests to services by operation, entity and answer ("" without one), with the nanoseconds until the answer,
        and how many these are of."""
        self.short = Top(bounds.keys, 2)
        """Short connections by client and host, with their nanoseconds and messages."""
        self._accounts: dict[str, Account] = {}
        """Of connections whose row hasn't come: their facts so far."""

    def segment(self, segment: Segment) -> None:
        """Count a packet; if there are several files, the packets of one flow must come in succession."""
        self.clocks.segment(segment)
        self._count(segment.file, segment.ts_ns, 1, segment.wire_len)

    def add(self, table: str, row: Sequence[Any], flow: str = "") -> None:
        """Take a row of a table, with the values of `amqp_sansio.recorded.tables.COLUMNS`, or a step of `histories`.

        `flow` names the 4-tuple of a row of `connections`.
        """
        if table == "histories":
            self._step(row)
            return
        kind = ROWS[table]
        named: Any = row
        if row.__class__ is not kind:
            named = kind._make(row)
        if table == "events":
            self._event(named)
        elif table == "messages":
            self._message(named)
        elif table == "violations":
            self._violation(named)
        elif table == "consumers":
            self._account(named.connection).holding.consumer(named, self._clip(named.consumer), self._clip(named.queue))
        else:
            self._connection(named, flow)

    def latency(
        self, name: str, at_ns: int, latency_ns: int, *, connection: str = "", seq: int | None = None, text: str = ""
    ) -> None:
        """Count a latency of `LATENCIES` computed elsewhere, the only source of "path"."""
        self.latencies[name].add(latency_ns)
        self.latencies_over_time[name].add(at_ns, latency_ns)
        slowest = self.slowest[name]
        incident = Incident(connection, at_ns, seq, None, name, self._clip(text), latency_ns)
        slowest.add((-latency_ns, at_ns, connection, -1 if seq is None else seq), incident)

    def merge(self, other: Gather) -> None:
        """Merge `other`, which has the same bounds, and no connection in common."""
        for name, count in other.files.items():
            mine = self.files.setdefault(name, FileCount())
            for ts_ns in (count.first_ns, count.last_ns):
                if ts_ns is not None:
                    mine.add(ts_ns, 0, 0)
            mine.packets += count.packets
            mine.octets += count.octets
        self.files_cut = self.files_cut or other.files_cut
        self.unjoined = self.unjoined or other.unjoined
        self.clocks.merge(other.clocks)
        self._cut_files()
        for ts_ns in (other.first_ns, other.last_ns):
            if ts_ns is not None:
                self._see(ts_ns)
        for name in (
            "packets",
            "payload",
            "connections",
            "amqp",
            "events",
            "messages",
            "unconfirmed",
            "unmatched",
            "unnamed",
            "unsettled",
            "channels",
            "gaps",
            "incomplete",
            "blocked_ns",
            "missed",
            "unsure",
            "returned",
        ):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        for name in ("octets", "causes", "outcomes", "passed"):
            sums, more = getattr(self, name), getattr(other, name)
            for key, amount in more.items():
                sums[key] = sums.get(key, 0) + amount
        for rule, found in other.rules.items():
            self.rules.setdefault(rule, RuleCount(rule)).merge(found)
        for name, value in vars(other).items():
            mine = getattr(self, name)
            if isinstance(value, (Top, Series, Histogram, Clouds, Largest)):
                mine.merge(value)
        self.backlogs.merge(other.backlogs)
        for name in (
            *("octets_over_time", "messages_over_time", "latencies", "latencies_over_time", "sizes", "slowest"),
            "troubles",
        ):
            for key, value in getattr(other, name).items():
                getattr(self, name)[key].merge(value)

    def pass_over(self, passed: Mapping[str, int]) -> None:
        """Count connections that aren't AMQP, by their protocols."""
        for name, count in passed.items():
            self.passed[name] = self.passed.get(name, 0) + count

    @property
    def span_ns(self) -> int:
        """From the first packet or unit to the last one, in nanoseconds."""
        return 0 if self.first_ns is None or self.last_ns is None else self.last_ns - self.first_ns

    def _count(self, file: str, ts_ns: int, packets: int, octets: int) -> None:
        self.packets += packets
        self.payload += octets
        self._see(ts_ns)
        count = self.files.get(file)
        if count is None:
            count = self.files[file] = FileCount()
            count.add(ts_ns, packets, octets)
            self._cut_files()
            return
        count.add(ts_ns, packets, octets)

    def _cut_files(self) -> None:
        """Keep the first files by name, if there are too many."""
        while len(self.files) > self.bounds.files:
            del self.files[max(self.files)]
            self.files_cut = True

    def _see(self, ts_ns: int) -> None:
        if self.first_ns is None or ts_ns < self.first_ns:
            self.first_ns = ts_ns
        if self.last_ns is None or ts_ns > self.last_ns:
            self.last_ns = ts_ns

    def _account(self, connection: str) -> Account:
        account = self._accounts.get(connection)
        if account is None:
            account = self._accounts[connection] = Account(
                self.unsettled_deliveries, self.unconfirmed_publishes, self.open_channels
            )
        return account

    def _event(self, row: Any) -> None:
        connection, seq, ts_ns, sender, event = row.connection, row.seq, row.ts_ns, row.sender, row.event
        self.events += 1
        self._see(ts_ns)
        if sender is None:
            sender = ""  # Nobody knows who is the client.
        else:
            self.octets_over_time[sender].add(ts_ns, row.size)
        self.units.add((self._clip(event), sender), priority(connection, seq), (row.size,))
        account = self._account(connection)
        account.unit(seq, ts_ns, sender, row.channel, event)
        if row.answers is not None and sender == "server":
            asked = account.answered(row.answers)
            if asked is not None:
                took = ts_ns - asked[0]
                self.latency("call", asked[0], took, connection=connection, seq=row.answers, text=asked[1])
        if event not in _PARSED and not (event == "disposition" and _MICROSOFT in row.fields):
            return
        fields: dict[str, Any] = json.loads(row.fields)
        if event == "disposition" and sender == "server" and fields.get("role") is False:
            # A settlement that a service doesn't take, such as one whose lock is lost.
            state: dict[str, Any] = fields.get("state") or {}
            error: dict[str, Any] = state.get("error") or {}
            condition, text = str(error.get("condition", "")), str(error.get("description") or "")
            if condition.startswith("com.microsoft:"):
                text = beside(text, account.services.delivery(row.channel, fields.get("first")))
                refusal = Fault(condition, text, "", account.services.hint(condition, text, "", ts_ns))
                self._fault(connection, (ts_ns, seq, row.channel), "a settlement", refusal)
        if event == "open":
            account.announce(sender, fields.get("idle_time_out"))
        elif event == "basic.cancel" and sender == "client":
            account.cancel(row.channel, fields.get("consumer_tag", ""))
        if event in _EMPTYING:
            gone = account.emptied(seq, event, row.answers, fields.get("queue"), fields.get("message_count"))
            if gone is not None:
                self.backlogs.remove(self._clip(gone[0]), ts_ns, gone[1])
        elif event in _CONSUMING:
            account.queue_of(event, row.channel, fields)
        if sender and event in TROUBLING:
            account.troubles.fields(event, sender, row.channel, ts_ns, seq, fields)
        if event == "transfer":
            place = account.troubles.place_of(sender, row.channel, fields.get("handle"))
            answer = account.services.transfer((ts_ns, seq, row.channel), sender, fields, place)
            if answer is not None:
                self._answer(connection, (ts_ns, seq, row.channel), answer)
        if event in _QUEUES:
            self._name_queue(connection, seq, ts_ns, row.channel, event, fields)
        if event in FAULTS and (found := fault(event, sender, fields)) is not None:
            if found.name:
                # A consumer that the server cancels: its own client may have deleted the queue.
                queue = account.queues.get((row.channel, found.name), "")
                if queue in account.deleted:
                    return
                found = found._replace(text=f"{found.text} of {queue}" if queue else found.text, name=queue)
            if event == "detach":
                if account.services.echoes(seq, row.answers, found.code, found.text):
                    return
                place = account.troubles.place_of(sender, row.channel, fields.get("handle"))
                known = account.services.hint(found.code, found.text, place[1] if place is not None else "", ts_ns)
                if place is not None:
                    found = found._replace(text=beside(found.text, f"link {place[0]} of {place[1]}"))
                found = found._replace(hint=known or found.hint)
            self._fault(connection, (ts_ns, seq, row.channel), event, found, sender)

    def _fault(
        self, connection: str, at: tuple[int, int, int], event: str, found: Fault, sender: str = "server"
    ) -> None:
        """Count an error that a unit reports; `at` are its time, its number and its channel."""
        ts_ns, seq, channel = at
        # The tracking id makes every text another one; whoever asks support needs it.
        bare, tracking = tracked(found.text)
        code, words = self._clip(found.code), self._clip(bare)
        self.faults.add((event, sender, code, words), priority(connection, seq))
        self.problems_over_time.add(ts_ns)
        said = f"{code} {words}{f' TrackingId:{tracking}' if tracking else ''}".strip()
        self._account(connection).problem(ts_ns, f"{event} {said}")
        incident = Incident(connection, ts_ns, seq, channel, event, said, sender=sender, hint=found.hint)
        self.problems.add((ts_ns, connection, seq), incident)

    def _answer(self, connection: str, at: tuple[int, int, int], answer: Answered) -> None:
        """Count a request to a service with its answer; `at` are the answer's time, its number and its channel."""
        operation, entity = self._clip(answer.operation), self._clip(answer.entity)
        took = answer.took_ns
        if took is not None:
            text = f"{operation} of {entity}" if entity else operation
            self.latency("call", answer.asked_ns, took, connection=connection, seq=answer.asked_seq, text=text)
        key = (operation, entity, self._clip(answer.status))
        self.requests.add(key, priority(connection, at[1]), (took or 0, took is not None))
        failure = answer.failure
        if failure is not None:
            found = Fault(failure.code, failure.text, "", failure.hint)
            self._fault(connection, at, f"{ANSWER}{answer.operation}", found)

    def _message(self, row: Any) -> None:
        """Count a row of `messages`: a publish or a return, or a delivery or get.

        For both kinds: over time, sizes, outcomes, and at the end the latency. A publish counts by where it went and
        what became of it; a delivery by where it came from, who holds it, and whether it went back.
        """
        connection, seq, ts_ns, kind, body_size = row.connection, row.seq, row.ts_ns, row.kind, row.body_size
        outcome, settled_ns, redelivered = row.outcome, row.settled_ns, row.redelivered
        self.messages += 1
        if kind is None:
            return  # Nobody knows who is the client.
        account = self._account(connection)
        self.messages_over_time[kind].add(ts_ns)
        if body_size is None:
            body_size = 0
        else:
            self.sizes[kind].add(body_size)
        told = (kind, outcome or "open")
        self.outcomes[told] = self.outcomes.get(told, 0) + 1
        row_priority = priority(connection, seq)
        place = self._clip(row.address if row.exchange is None else row.exchange)
        key = self._clip(row.routing_key)
        # What a list of the slowest says of it.
        text = ""
        if kind in ("publish", "return"):
            self.returned += kind == "return"
            if kind == "publish":
                self.keys.add((place, key), row_priority, (body_size,))
                # Without a number nobody knows whether it was to be confirmed.
                unmatched = outcome is None and row.tag is None
                open_ = False if unmatched else account.publish(ts_ns, outcome, settled_ns, row.ended_ns)
                self.unmatched += unmatched
                self.unconfirmed += open_
                if outcome == "rejected":
                    why = self._clip(tracked(row.reply_text or "")[0])
                    self.rejects.add((key if row.exchange == "" else place, why), row_priority)
                    incident = Incident(connection, ts_ns, seq, row.channel, kind, why)
                    self.rejected.add((ts_ns, connection, seq), incident)
                elif outcome != "returned":
                    self.backlogs.publish(self._queue(key if row.exchange == "" else None, row.address), ts_ns)
                text = " → ".join([part for part in (place, key) if part])
        else:
            source = self._clip(row.queue or row.address or key)
            self.sources.add((source,), row_priority, (body_size, bool(redelivered)))
            if redelivered:
                self.redelivered_over_time.add(ts_ns)
                account.redelivered += 1
            name = self._clip(row.consumer_tag or row.link) if kind == "deliver" else "basic.get"
            if redelivered:
                taker = Incident(connection, ts_ns, seq, row.channel, name, source)
                self.takers.add((-ts_ns, connection, seq), taker)
            account.holding.message(row, name, source)
            # Answers of services are read and left, and never delivered again.
            open_ = settled_ns is None and outcome != "settled" and not is_node(row.address or "")
            # What wasn't settled until its channel or link ended is in the queue again, as what was given back.
            gone_back = outcome in ("released", "modified") or (outcome is None and settled_ns is None)
            back_ns = (row.ended_ns if settled_ns is None else settled_ns) if gone_back else None
            self.backlogs.deliver(self._queue(row.queue, row.address), ts_ns, again=bool(redelivered), back_ns=back_ns)
            account.unsettled += open_
            self.unsettled += open_
            text = source
            if open_:
                what = f"{name}: {source}" if name else source
                if (row.channel, name) in account.cancelled:
                    what = f"{what}, whose client cancelled the consumer before it settled them"
                incident = Incident(connection, ts_ns, seq, row.channel, kind, what)
                (self.oldest if row.ended_ns is None else self.left).add((ts_ns, connection, seq), incident)
        if row.latency_ns is not None and kind != "return":
            name = "publish" if row.sender == "client" else "deliver"
            self.latency(name, ts_ns, row.latency_ns, connection=connection, seq=seq, text=text)

    def _step(self, row: Sequence[Any]) -> None:
        history, what, ts_ns, connection, seq, exchange, queue, message_id, size, since_ns, certainty = _STEP(row)
        text = self._clip(queue)
        if what == "redeliver":
            self.loops.add((history, text, self._clip(message_id), str(size)), priority(connection, seq))
            self.again.add((-ts_ns, connection, seq), Incident(connection, ts_ns, seq, None, history, text))
        if what != "deliver" or since_ns is None:
            return
        if certainty == "possible":
            self.unsure += 1
            return
        if exchange:
            # A publish to the default exchange names its queue itself.
            self.backlogs.publish(text, ts_ns - since_ns)
        self.latency("path", ts_ns - since_ns, since_ns, connection=connection, seq=seq, text=text)

    def _violation(self, row: Any) -> None:
        connection, seq, ts_ns, rule = row.connection, row.seq, row.ts_ns, row.rule
        severity, text = row.severity, row.text
        count = self.rules.setdefault(rule, RuleCount(rule))
        if severity == "error":
            count.errors += 1
        else:
            count.warnings += 1
        first = (ts_ns or 0, connection or "", -1 if seq is None else seq, self._clip(text))
        count.first = min(count.first, first)
        if ts_ns:
            self.problems_over_time.add(ts_ns)
        if connection is None:
            return
        account = self._account(connection)
        if severity == "error":
            account.errors += 1
            account.problem(ts_ns, self._clip(f"{rule}: {text}"))
            incident = Incident(connection, ts_ns, seq, row.channel, rule, self._clip(text), sender=row.sender or "")
            self.problems.add((ts_ns, connection, -1 if seq is None else seq, rule), incident)

    def _connection(self, row: Any, flow: str) -> None:
        account = self._accounts.pop(row.connection, None) or self._account(row.connection)
        self._accounts.pop(row.connection, None)
        clip = self._clip
        # Null where nobody knows who is the client.
        octets_client = row.bytes_client or 0
        octets_server = row.bytes_server or 0
        cause = row.cause if row.cause in CAUSES else "other"
        end_ns = max(account.last_ns, row.closed_ns or row.opened_ns)
        closed = row.closed_ns is not None or row.closed_by is not None
        account.finish(end_ns, closed)
        for each in account.services.unanswered():
            key = (clip(each.operation), clip(each.entity), "")
            self.requests.add(key, priority(row.connection, each.asked_seq or 0), (0, 0))
        found = Connection(
            row.connection,
            flow,
            row.client or "",
            row.server or "",
            row.protocol,
            row.opened_ns,
            end_ns,
            cause,
            row.closed_by,
            row.close_code,
            row.close_condition,
            clip(row.close_text),
            meaning(row.close_condition or "", row.close_text or "") or row.hint or "",
            row.ended_by or "",
            clip(" ".join(part for part in (row.client_product, row.client_version) if part)),
            clip(row.user),
            clip(row.vhost),
            octets_client,
            octets_server,
            row.events,
            row.messages,
            row.violations,
            row.gaps,
            row.complete,
            row.heartbeat,
            clip(row.connection_name),
        )
        account.tell(found)
        row_priority = priority(row.connection, -1)
        amounts = (row.messages, int(found.bad), row.violations, octets_client + octets_server)
        self.connections += 1
        self.amqp += row.protocol is not None
        self.unnamed += row.protocol is not None and row.client is None
        self.channels += found.channels
        self.gaps += row.gaps
        self.incomplete += not row.complete
        self.octets["client"] += octets_client
        self.octets["server"] += octets_server
        self._see(row.opened_ns)
        self._see(end_ns)
        self.causes[cause] = self.causes.get(cause, 0) + 1
        self.versions.add((row.protocol or "", row.dialect or ""), row_priority, amounts)
        if row.protocol is not None:
            self.products.add((found.product,), row_priority, amounts)
            self.users.add((found.user, clip(row.mechanism)), row_priority, amounts)
            self.vhosts.add((found.vhost,), row_priority)
            server_name = " ".join(part for part in (row.server_product, row.server_version) if part)
            self.servers.add((clip(server_name),), row_priority)
        said = "" if row.close_code is None else str(row.close_code)
        if row.close_condition is not None:
            said = row.close_condition
        # The figures in the hint of a heartbeat timeout are those of one connection.
        alike = "" if cause == "heartbeat" else found.hint
        self.ends.add((cause, row.closed_by or "", said, found.text, alike), row_priority)
        self.opened.add(row.opened_ns)
        self.open_connections.add(row.opened_ns)
        if closed:
            self.open_connections.add(end_ns, -1)
        if found.bad:
            self.lost.add(end_ns)
            self.problems_over_time.add(end_ns)
        wanted = any(found.is_meant(word) for word in self.wanted)
        self.details.add((0 if wanted else 1, -found.score, -row.messages, -row.events, row.connection), found)
        for holder in account.holders(found):
            most = -holder.open, -holder.full_ns, -holder.peak, -holder.deliveries
            rank = (*most, row.connection, holder.channel or 0)
            self.holders.add((*rank, holder.name), holder)
            if holder.full_ns:
                self.slow.add((-holder.full_ns, *rank, holder.name), holder)
        for trouble in account.troubles.finish(
            end_ns, cause, row.channel_max, is_whole=not row.gaps and bool(octets_client and octets_server)
        ):
            incident = Incident(
                row.connection, trouble.ts_ns, trouble.seq, None, trouble.kind, self._clip(trouble.text), trouble.amount
            )
            self.troubles[trouble.kind].add((-trouble.amount, trouble.ts_ns, row.connection, trouble.text), incident)
        if row.protocol is not None and row.closed_ns is not None and end_ns - row.opened_ns < _SHORT_NS:
            host = (row.client or "").rpartition(":")[0]
            self.short.add(
                (clip(row.connection_name) or found.product, host), row_priority, (end_ns - row.opened_ns, row.messages)
            )
        self.blocked_ns += found.blocked_ns
        for begin, end in found.blocked:
            self.blocked_connections.add(begin)
            self.blocked_connections.add(end, -1)
            incident = Incident(row.connection, begin, None, 0, "blocked", found.label, end - begin)
            self.blockings.add((begin - end, row.connection, begin), incident)
        for side, (quiet_ns, begin) in sorted(account.silence.items()):
            limit_ns = account.idle_limit(side, row.protocol, row.heartbeat)
            if limit_ns and quiet_ns > limit_ns:
                incident = Incident(row.connection, begin, None, None, str(limit_ns), found.label, quiet_ns, side)
                self.missed += quiet_ns >= 2 * limit_ns and cause != "heartbeat"
                self.silences.add((-(quiet_ns * 1000 // limit_ns), row.connection, side), incident)

    def _name_queue(
        self, connection: str, seq: int, ts_ns: int, channel: int, event: str, fields: dict[str, Any]
    ) -> None:
        """Keep what a unit says of the queue that it names."""
        queue = self._clip(str(fields.get("queue", "")))
        if not queue:
            return
        if event == "queue.delete":
            deleted = self._account(connection).deleted
            if len(deleted) < self.bounds.keys:
                deleted.add(queue)
            self.deletes.add((-ts_ns, connection, seq), Incident(connection, ts_ns, seq, channel, event, queue))
            return
        self.named.add((queue,), priority(connection, seq))
        if event == "queue.declare":
            given = fields.get("arguments")
            arguments = cast("dict[str, Any]", given) if isinstance(given, dict) else {}
            most = arguments.get("x-max-length")
            if isinstance(most, int):
                more = self._clip(str(arguments.get("x-overflow", "drop-head")))
                self.limits.add((queue, str(most), more), priority(connection, seq))

    def _queue(self, queue: str | None, address: str | None) -> str:
        """Return the name of a queue, also of one that an address of 1.0 names."""
        return self._clip(queue or (queue_at(address) if address else None))

    def _clip(self, text: str | None) -> str:
        most = self.bounds.text
        if text is None:
            return ""
        return text if len(text) <= most else f"{text[: most - 1]}…"


__all__ = ["KINDS", "LATENCIES", "SIDES", "STEP", "FileCount", "Gather"]
