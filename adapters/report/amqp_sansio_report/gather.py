"""`Gather`: collects a report's facts from rows of the tables, in memory independent of the capture's size."""

from __future__ import annotations

import json
from collections.abc import Sequence
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final

from amqp_sansio.capture import Clocks
from amqp_sansio.histories import HISTORY_COLUMNS
from amqp_sansio.histories.places import queue_at
from amqp_sansio.tables import COLUMNS

from .account import Account
from .backlog import Backlogs
from .causes import FAULTS, cause_of, fault
from .holding import WATCHED
from .measures import Clouds, Histogram, Largest, Series, Top, priority
from .records import Bounds, Connection, Holder, Incident, RuleCount

if TYPE_CHECKING:
    from amqp_sansio.capture import Segment

LATENCIES: Final = ("publish", "deliver", "path", "call")
"""From a publish to its confirm, from a delivery to its settlement, from a publish to its delivery on any connection,
and from a client's request to the server's answer.
"""
KINDS: Final = ("publish", "deliver", "get", "return")
SIDES: Final = ("client", "server")
_PARSED: Final = WATCHED | FAULTS | {"open"}


def _columns(table: str, *names: str) -> Any:
    places = {name: index for index, (name, _) in enumerate(COLUMNS[table])}
    return itemgetter(*[places[name] for name in names])


STEP: Final = (
    *("history", "what", "ts_ns", "connection", "seq", "exchange", "queue", "message_id", "body_size"),
    *("since_publish_ns", "certainty"),
)
"""The columns of a step of `histories` that are needed here; only deliveries and redeliveries are."""
_EVENT: Final = _columns(
    "events", "connection", "seq", "ts_ns", "sender", "channel", "event", "size", "fields", "answers"
)
_MESSAGE: Final = _columns(
    "messages",
    *("connection", "ts_ns", "channel", "kind", "exchange", "routing_key", "address", "redelivered", "body_size"),
    *("outcome", "settled_ns", "ended_ns", "latency_ns", "seq", "sender", "queue", "consumer_tag", "link"),
)
_STEP: Final = itemgetter(*[[name for name, _ in HISTORY_COLUMNS].index(name) for name in STEP])
_VIOLATION: Final = _columns(
    "violations", "connection", "seq", "ts_ns", "sender", "rule", "severity", "text", "channel"
)
_CONNECTION: Final = _columns(
    "connections",
    *("connection", "client", "server", "protocol", "opened_ns", "closed_ns", "closed_by", "close_code", "close_text"),
    *("client_product", "client_version", "server_product", "server_version", "mechanism", "user", "vhost"),
    *("bytes_client", "bytes_server", "gaps", "complete", "heartbeat", "events", "messages", "violations"),
    *("ended_by", "hint", "close_condition", "dialect", "connection_name"),
)


class FileCount:
    """Counts for one file."""

    __slots__ = ("first_ns", "last_ns", "octets", "packets")

    def __init__(self) -> None:
        self.packets = 0
        self.octets = 0
        self.first_ns: int | None = None
        self.last_ns: int | None = None

    def add(self, ts_ns: int, packets: int, octets: int) -> None:
        """Count packets with that many octets of payload on the wire, at a time."""
        self.packets += packets
        self.octets += octets
        self.first_ns = ts_ns if self.first_ns is None else min(self.first_ns, ts_ns)
        self.last_ns = ts_ns if self.last_ns is None else max(self.last_ns, ts_ns)


class Gather:
    """Collects a report's facts from rows, in bounded memory.

    Push the rows of the four tables; those of one connection go to the same `Gather`, in the order of
    `amqp_sansio.tables`: its row of `connections` is the last. Rows of `histories` may come from anywhere. The
    distribution of connections over several instances doesn't change the merged result. `wanted` are words for
    connections that are always kept (`records.is_meant`). Picklable at any point.

    >>> from amqp_sansio.tables import replay_segments
    >>> gather = Gather()
    >>> for table, row in replay_segments([]):
    ...     gather.add(table, row)
    >>> gather.connections
    0
    """

    def __init__(self, bounds: Bounds | None = None, *, wanted: Sequence[str] = ()) -> None:
        self.bounds = bounds = bounds or Bounds()
        self.wanted = tuple(wanted)
        self.files: dict[str, FileCount] = {}
        self.files_cut = False
        self.clocks = Clocks()
        """Differences between the clocks of files with common connections."""
        self.packets = self.payload = 0
        self.first_ns: int | None = None
        self.last_ns: int | None = None
        self.connections = self.amqp = 0
        self.events = self.messages = self.unconfirmed = self.unsettled = 0
        self.channels = 0
        self.gaps = self.incomplete = 0
        self.blocked_ns = self.missed = self.unsure = 0
        self.unjoined = False
        """Whether there were too many messages to join deliveries to publishes."""
        self.octets = dict.fromkeys(SIDES, 0)
        self.versions = Top(bounds.keys, 4)
        self.products = Top(bounds.keys, 4)
        self.servers = Top(bounds.keys)
        self.users = Top(bounds.keys, 4)
        self.vhosts = Top(bounds.keys)
        self.ends = Top(bounds.keys)
        self.causes: dict[str, int] = {}
        self.units = Top(bounds.keys, 1)
        self.open_connections = Series(bounds.steps)
        self.opened = Series(bounds.steps)
        self.lost = Series(bounds.steps)
        self.open_channels = Series(bounds.steps)
        self.octets_over_time = {side: Series(bounds.steps) for side in SIDES}
        self.messages_over_time = {kind: Series(bounds.steps) for kind in KINDS}
        self.redelivered_over_time = Series(bounds.steps)
        self.problems_over_time = Series(bounds.steps)
        self.unsettled_deliveries = Series(bounds.steps)
        self.unconfirmed_publishes = Series(bounds.steps)
        self.blocked_connections = Series(bounds.steps)
        self.latencies = {name: Histogram() for name in LATENCIES}
        self.latencies_over_time = {name: Clouds(bounds.cloud) for name in LATENCIES}
        self.sizes = {kind: Histogram() for kind in KINDS}
        self.outcomes: dict[tuple[str, str], int] = {}
        self.keys = Top(bounds.keys, 1)
        self.sources = Top(bounds.keys, 2)
        self.rules: dict[str, RuleCount] = {}
        self.faults = Top(bounds.keys)
        self.details = Largest[Connection](bounds.connections)
        self.holders = Largest[Holder](bounds.holders)
        self.slow = Largest[Holder](bounds.holders)
        """The consumers and links that were without room for longest."""
        self.backlogs = Backlogs(bounds.queues)
        self.loops = Top(bounds.keys, 0)
        """Redeliveries by the message's history, its queue, its id and the octets of its body."""
        self.again = Largest[Incident](bounds.incidents)
        self.takers = Largest[Incident](bounds.incidents)
        """The last redeliveries: as steps of their histories, and with the consumers that got them."""
        self.problems = Largest[Incident](bounds.incidents)
        self.silences = Largest[Incident](bounds.incidents)
        self.blockings = Largest[Incident](bounds.incidents)
        self.slowest = {name: Largest[Incident](10) for name in LATENCIES}
        self.oldest = Largest[Incident](bounds.incidents)
        self._accounts: dict[str, Account] = {}

    def segment(self, segment: Segment) -> None:
        """Count a packet; if there are several files, the packets of one flow must come in succession."""
        self.clocks.segment(segment)
        self._count(segment.file, segment.ts_ns, 1, segment.wire_len)

    def add(self, table: str, row: Sequence[Any], flow: str = "") -> None:
        """Take a row of a table, with the values of `amqp_sansio.tables.COLUMNS`, or a step of `histories`.

        `flow` names the 4-tuple of a row of `connections`.
        """
        if table == "events":
            self._event(row)
        elif table == "messages":
            self._message(row)
        elif table == "violations":
            self._violation(row)
        elif table == "histories":
            self._step(row)
        else:
            self._connection(row, flow)

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
        for name in ("packets", "payload", "connections", "amqp", "events", "messages", "unconfirmed", "unsettled",
                     "channels", "gaps", "incomplete", "blocked_ns", "missed", "unsure"):  # fmt: skip
            setattr(self, name, getattr(self, name) + getattr(other, name))
        for name in ("octets", "causes", "outcomes"):
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
        for name in ("octets_over_time", "messages_over_time", "latencies", "latencies_over_time", "sizes", "slowest"):
            for key, value in getattr(other, name).items():
                getattr(self, name)[key].merge(value)

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

    def _event(self, row: Sequence[Any]) -> None:
        connection, seq, ts_ns, sender, channel, event, size, text, answers = _EVENT(row)
        self.events += 1
        self._see(ts_ns)
        self.octets_over_time[sender].add(ts_ns, size)
        self.units.add((self._clip(event), sender), priority(connection, seq), (size,))
        account = self._account(connection)
        account.unit(seq, ts_ns, sender, channel, event)
        if answers is not None and sender == "server":
            asked = account.answered(answers)
            if asked is not None:
                self.latency("call", asked[0], ts_ns - asked[0], connection=connection, seq=answers, text=asked[1])
        if event not in _PARSED:
            return
        fields: dict[str, Any] = json.loads(text)
        if event == "open":
            account.announce(sender, fields.get("idle_time_out"))
        elif event in WATCHED:
            account.fields(event, sender, channel, ts_ns, fields)
        if event in FAULTS and (found := fault(event, sender, fields)) is not None:
            code, words = self._clip(found.code), self._clip(found.text)
            self.faults.add((event, sender, code, words), priority(connection, seq))
            self.problems_over_time.add(ts_ns)
            said = f"{code} {words}".strip()
            account.problem(ts_ns, f"{event} {said}")
            incident = Incident(connection, ts_ns, seq, channel, event, said, sender=sender)
            self.problems.add((ts_ns, connection, seq), incident)

    def _message(self, row: Sequence[Any]) -> None:
        (connection, ts_ns, channel, kind, exchange, routing_key, address, redelivered, body_size, outcome,
         settled_ns, ended_ns, latency_ns, seq, sender, queue, consumer_tag, link) = _MESSAGE(row)  # fmt: skip
        self.messages += 1
        account = self._account(connection)
        self.messages_over_time[kind].add(ts_ns)
        self.sizes[kind].add(body_size)
        told = (kind, outcome or "open")
        self.outcomes[told] = self.outcomes.get(told, 0) + 1
        row_priority = priority(connection, seq)
        place = self._clip(address if exchange is None else exchange)
        key = self._clip(routing_key)
        text = ""
        if kind in ("publish", "return"):
            if kind == "publish":
                self.keys.add((place, key), row_priority, (body_size,))
                open_ = account.publish(ts_ns, outcome, settled_ns, ended_ns)
                self.unconfirmed += open_
                if outcome != "returned":
                    self.backlogs.publish(self._queue(key if exchange == "" else None, address), ts_ns)
                text = " → ".join([part for part in (place, key) if part])
        else:
            source = self._clip(queue or address or key)
            self.sources.add((source,), row_priority, (body_size, bool(redelivered)))
            if redelivered:
                self.redelivered_over_time.add(ts_ns)
                account.redelivered += 1
            name = self._clip(consumer_tag or link) if kind == "deliver" else "basic.get"
            if redelivered:
                self.takers.add((-ts_ns, connection, seq), Incident(connection, ts_ns, seq, channel, name, source))
            account.holding.message(channel, name, source, ts_ns, outcome, settled_ns, ended_ns)
            open_ = settled_ns is None and outcome != "settled"
            gone_back = outcome in ("released", "modified") or (outcome is None and settled_ns is None)
            back_ns = (ended_ns if settled_ns is None else settled_ns) if gone_back else None
            self.backlogs.deliver(self._queue(queue, address), ts_ns, again=bool(redelivered), back_ns=back_ns)
            account.unsettled += open_
            self.unsettled += open_
            text = source
            if open_ and ended_ns is None:
                incident = Incident(connection, ts_ns, seq, channel, kind, f"{name}: {source}" if name else source)
                self.oldest.add((ts_ns, connection, seq), incident)
        if latency_ns is not None and kind != "return":
            name = "publish" if sender == "client" else "deliver"
            self.latency(name, ts_ns, latency_ns, connection=connection, seq=seq, text=text)

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

    def _violation(self, row: Sequence[Any]) -> None:
        connection, seq, ts_ns, sender, rule, severity, text, channel = _VIOLATION(row)
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
            incident = Incident(connection, ts_ns, seq, channel, rule, self._clip(text), sender=sender or "")
            self.problems.add((ts_ns, connection, -1 if seq is None else seq, rule), incident)

    def _connection(self, row: Sequence[Any], flow: str) -> None:
        (connection, client, server, protocol, opened_ns, closed_ns, closed_by, code, text, product, version,
         server_product, server_version, mechanism, user, vhost, octets_client, octets_server, gaps, complete,
         heartbeat, events, messages, violations, ended_by, hint, condition, dialect, name) = (
             _CONNECTION(row))  # fmt: skip
        account = self._accounts.pop(connection, None) or self._account(connection)
        self._accounts.pop(connection, None)
        clip = self._clip
        cause = cause_of(protocol, closed_by, code, condition, text, hint)
        end_ns = max(account.last_ns, closed_ns or opened_ns)
        closed = closed_ns is not None or closed_by is not None
        account.finish(end_ns, closed)
        found = Connection(
            connection, flow, client or "", server or "", protocol, opened_ns, end_ns, cause, closed_by, code,
            condition, clip(text), hint or "", ended_by or "",
            clip(" ".join(part for part in (product, version) if part)), clip(user), clip(vhost),
            octets_client, octets_server, events, messages, violations, gaps, complete, heartbeat,
            clip(name),
        )  # fmt: skip
        account.tell(found)
        row_priority = priority(connection, -1)
        amounts = (messages, int(found.bad), violations, octets_client + octets_server)
        self.connections += 1
        self.amqp += protocol is not None
        self.channels += found.channels
        self.gaps += gaps
        self.incomplete += not complete
        self.octets["client"] += octets_client
        self.octets["server"] += octets_server
        self._see(opened_ns)
        self._see(end_ns)
        self.causes[cause] = self.causes.get(cause, 0) + 1
        self.versions.add((protocol or "", dialect or ""), row_priority, amounts)
        if protocol is not None:
            self.products.add((found.product,), row_priority, amounts)
            self.users.add((found.user, clip(mechanism)), row_priority, amounts)
            self.vhosts.add((found.vhost,), row_priority)
            server_name = " ".join(part for part in (server_product, server_version) if part)
            self.servers.add((clip(server_name),), row_priority)
        said = condition if condition is not None else "" if code is None else str(code)
        # The figures in the hint of a heartbeat timeout are those of one connection.
        alike = "" if cause == "heartbeat" else found.hint
        self.ends.add((cause, closed_by or "", said, found.text, alike), row_priority)
        self.opened.add(opened_ns)
        self.open_connections.add(opened_ns)
        if closed:
            self.open_connections.add(end_ns, -1)
        if found.bad:
            self.lost.add(end_ns)
            self.problems_over_time.add(end_ns)
        wanted = any(found.is_meant(word) for word in self.wanted)
        self.details.add((0 if wanted else 1, -found.score, -messages, -events, connection), found)
        for holder in account.holders(found):
            rank = (-holder.open, -holder.full_ns, -holder.peak, -holder.deliveries, connection, holder.channel or 0)
            self.holders.add((*rank, holder.name), holder)
            if holder.full_ns:
                self.slow.add((-holder.full_ns, *rank, holder.name), holder)
        self.blocked_ns += found.blocked_ns
        for begin, end in found.blocked:
            self.blocked_connections.add(begin)
            self.blocked_connections.add(end, -1)
            incident = Incident(connection, begin, None, 0, "blocked", found.label, end - begin)
            self.blockings.add((begin - end, connection, begin), incident)
        for side, (quiet_ns, begin) in sorted(account.silence.items()):
            limit_ns = account.idle_limit(side, protocol, heartbeat)
            if limit_ns and quiet_ns > limit_ns:
                incident = Incident(connection, begin, None, None, str(limit_ns), found.label, quiet_ns, side)
                self.missed += quiet_ns >= 2 * limit_ns and cause != "heartbeat"
                self.silences.add((-(quiet_ns * 1000 // limit_ns), connection, side), incident)

    def _queue(self, queue: str | None, address: str | None) -> str:
        """Return the name of a queue, also of one that an address of 1.0 names."""
        return self._clip(queue or (queue_at(address) if address else None))

    def _clip(self, text: str | None) -> str:
        most = self.bounds.text
        if text is None:
            return ""
        return text if len(text) <= most else f"{text[: most - 1]}…"


__all__ = ["KINDS", "LATENCIES", "SIDES", "STEP", "FileCount", "Gather"]
