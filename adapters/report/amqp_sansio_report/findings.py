"""Findings: the few sentences to read first after an outage."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from math import ceil
from typing import TYPE_CHECKING, Final, NamedTuple

from amqp_sansio.capture.tcp import DEFAULT_GRACE_NS
from amqp_sansio.histories.places import queue_at

from .causes import CLOSES, usual
from .charts import LATENCY_TITLES
from .scales import clock, count, duration, octets, share

if TYPE_CHECKING:
    from amqp_sansio.capture import ClockDifference

    from .gather import Gather
    from .records import Connection, Holder, Incident

_SECOND: Final = 1_000_000_000
_MANY: Final = 0.05
_FULL: Final = 0.5
_STRAGGLER: Final = 20
_APART: Final = 1_000_000
_CLOCKS: Final = 3
_LOOP: Final = 3
"""So many redeliveries of one message are a loop."""


class Finding(NamedTuple):
    """A sentence, its severity ("error", "warning" or "note"), and the section with details."""

    level: str
    text: str
    section: str
    more: str = ""
    """A second sentence: the cause, or an example."""
    connection: str = ""
    seq: int | None = None


def findings(gather: Gather) -> list[Finding]:
    """Return the findings: the worst first, and of equally bad ones causes before what follows from them."""
    found = [*_ends(gather), *_loops(gather), *_faults(gather), *_rules(gather), *_blocked(gather), *_waiting(gather),
             *_holding(gather), *_quiet(gather), *_slow(gather), *_clocks(gather), *_damage(gather)]  # fmt: skip
    order = {"error": 0, "warning": 1, "note": 2}
    return sorted(found, key=lambda one: order[one.level])


def plural(amount: int, one: str, many: str = "") -> str:
    """A number with its noun.

    >>> plural(1, "connection"), plural(2, "reply", "replies")
    ('1 connection', '2 replies')
    """
    return f"{count(amount)} {one if amount == 1 else many or one + 's'}"


def worst(differences: Iterable[ClockDifference]) -> list[ClockDifference]:
    """Return the few largest differences."""
    return sorted(differences, key=lambda one: -one.skew_ns)[:_CLOCKS]


def apart(clocks: ClockDifference) -> str:
    """Return a sentence on the difference between two clocks."""
    bounds = sorted([abs(each) for each in (clocks.at_least_ns, clocks.at_most_ns) if each is not None])
    by = " to ".join(dict.fromkeys([duration(each) for each in bounds])) + " or more" * (len(bounds) < 2)
    return f"the clocks of {clocks.file} and {clocks.other} differ by {by}"


def remedy(clocks: ClockDifference) -> str:
    """Return advice that prevents octets from being given up for that difference."""
    return f"use --clock-skew {ceil(clocks.skew_ns / 1e8) / 10:g}"


def _ends(gather: Gather) -> Iterator[Finding]:
    words = {
        "heartbeat": "{} lost to a heartbeat timeout",
        "transport": "{} lost: TCP ended without a close",
        "server-error": "{} closed by the server with an error",
        "refused": "{} refused by the server",
        "client-error": "{} closed by the client with an error",
    }
    for cause, text in words.items():
        amount = gather.causes.get(cause, 0)
        if not amount:
            continue
        alike = [one for one in gather.details if one.cause == cause]
        if cause == "heartbeat":
            first = min(alike, key=lambda one: (one.ended_ns, one.connection), default=None)
            more = usual(cause) if first is None else f"{_who(first)}: {first.hint}"
            where = "" if first is None else first.connection
            yield Finding("error", text.format(plural(amount, "connection")), "errors", more, where)
            continue
        told = [(key, times) for key, times, _ in gather.ends.ranks(gather.bounds.keys) if key[0] == cause]
        more = ""
        if told:
            (_, _, code, why, hint), _ = told[0]
            more = " ".join(part for part in (code if not why.startswith(code) else "", why) if part)
            more = f"{more} — {hint}" if more and hint else more or hint or usual(cause)
            alike = [one for one in alike if (one.text, one.hint) == (why, hint)]
        example = alike[0] if alike else None
        if example is not None:
            more = f"{_who(example)}: {more}"
        yield Finding(
            "error", text.format(plural(amount, "connection")), "errors", more, example.connection if example else ""
        )


def _faults(gather: Gather) -> Iterator[Finding]:
    """Yield one finding for each kind of unit that reported errors, with its most frequent error."""
    told: dict[tuple[str, str], list[tuple[int, str]]] = {}
    examples: dict[tuple[str, str], Incident] = {}
    for incident in gather.problems:
        examples.setdefault((incident.what, incident.sender), incident)
    for (event, sender, code, text), times, _ in gather.faults.ranks(gather.bounds.keys):
        if event not in CLOSES:
            told.setdefault((event, sender), []).append((times, f"{code} {text}".strip()))
    for (event, sender), each in told.items():
        level = "warning" if event in ("basic.return", "channel.flow") else "error"
        times, text = each[0]
        more = f"{text} ({count(times)})" if len(each) > 1 else text
        total = sum(amount for amount, _ in each)
        example = next((one for one in gather.problems if (one.what, one.sender, one.text) == (event, sender, text)),
                       examples.get((event, sender)))  # fmt: skip
        if example is not None:
            more = f"{_whose(gather, example.connection)}{more}"
        yield Finding(
            level, f"{event} of the {sender}, {plural(total, 'time')}", "errors", more,
            example.connection if example else "", example.seq if example else None,
        )  # fmt: skip


def _rules(gather: Gather) -> Iterator[Finding]:
    broken = sorted((rule for rule in gather.rules.values() if rule.errors), key=lambda rule: (-rule.errors, rule.rule))
    if not broken:
        return
    total = sum(rule.errors for rule in broken)
    ts_ns, connection, seq, text = broken[0].first
    where = f"{_whose(gather, connection)}{broken[0].rule} at {clock(ts_ns)}: {text}"
    yield Finding(
        "error",
        f"{plural(len(broken), 'rule')} of the specifications broken, {plural(total, 'time')}",
        "violations",
        where,
        connection,
        None if seq < 0 else seq,
    )


def _holding(gather: Gather) -> Iterator[Finding]:
    if gather.unsettled:
        oldest = next(iter(gather.oldest), None)
        more = ""
        if oldest is not None:
            more = f"{_whose(gather, oldest.connection)}the oldest since {clock(oldest.ts_ns)}: {oldest.text}"
        words = "deliveries nobody settled" if gather.unsettled > 1 else "delivery nobody settled"
        yield Finding(
            "warning", f"{count(gather.unsettled)} {words}", "unsettled", more,
            oldest.connection if oldest else "", oldest.seq if oldest else None,
        )  # fmt: skip
    if gather.unconfirmed:
        words = "publishes" if gather.unconfirmed > 1 else "publish"
        most = max(gather.details, key=lambda one: (one.unconfirmed, one.connection), default=None)
        shown = most is not None and most.unconfirmed
        yield Finding(
            "warning", f"{count(gather.unconfirmed)} {words} without a confirm", "unsettled",
            f"{count(most.unconfirmed)} of them by {_who(most)}" if most and shown else "",
            most.connection if most and shown else "",
        )  # fmt: skip


def _loops(gather: Gather) -> Iterator[Finding]:
    """Yield a finding about messages that come again and again."""
    ranks = [one for one in gather.loops.ranks(gather.bounds.keys) if one[1] >= _LOOP]
    if not ranks:
        return
    (history, queue, message_id, size), times, _ = ranks[0]
    last = next((one for one in gather.again if one.what == history), None)
    name = f"message {message_id}" if message_id else f"a message of {octets(int(size))}"
    more = f"{name} of queue {queue}"
    connection, _, number = history.rpartition("/")
    seq = int(number) if number.isdecimal() else None
    if last is not None:
        connection, seq = last.connection, last.seq
        taken = [one.what for one in gather.takers if (one.connection, one.seq) == (connection, seq)]
        # A broker of 1.0 needn't say that a delivery is another one of its message.
        taken += [one.name for one in gather.holders if (one.connection, queue_at(one.source)) == (connection, queue)]
        to = f" to consumer {taken[0]}" if taken and taken[0] else ""
        more = f"{_whose(gather, connection)}{more}, at last{to} at {clock(last.ts_ns)}"
    if len(ranks) > 1:
        more = f"{more}; {plural(len(ranks) - 1, 'more message')} alike"
    yield Finding("error", f"a poison loop: the same message was delivered {count(times + 1)} times", "redeliveries",
                  more, connection, seq)  # fmt: skip


def _waiting(gather: Gather) -> Iterator[Finding]:
    """Yield a finding about the consumer that was without room for longest."""
    for holder in gather.slow:
        lived = holder.last_ns - holder.first_ns
        if holder.full_ns > _SECOND and lived and holder.full_ns / lived >= _FULL:
            yield Finding(
                "warning",
                f"a consumer had no room for {duration(holder.full_ns)} ({share(holder.full_ns, lived)} of its time)",
                "unsettled",
                f"{holder.source}, consumer {holder.name} on {holder.client}: {_used_up(holder)}"
                f"{backlog_words(gather, holder.source)}",
                holder.connection,
            )
            break


def _used_up(holder: Holder) -> str:
    much = f" of {count(holder.could)}" if holder.limit == "prefetch" and holder.could else ""
    still = f", {count(holder.open)} of {count(holder.deliveries)} deliveries never settled" if holder.open else ""
    return f"its {holder.limit}{much} was used up{still}"


def backlog_words(gather: Gather, source: str) -> str:
    """Return words on the backlog of a queue or address; empty if its publishes weren't seen."""
    backlog = gather.backlogs.get(queue_at(source) if source else "")
    if backlog is None:
        return ""
    levels = [level for _, level in backlog.levels()]
    return (
        f"; {count(backlog.published.total)} published to it, {count(backlog.delivered.total)} delivered, "
        f"{count(levels[-1])} ready at the end, {count(max(levels))} at most"
    )


def _who(one: Connection) -> str:
    """Return a connection's label and product."""
    return f"{one.label} ({one.product})" if one.product else one.label


def _whose(gather: Gather, connection: str) -> str:
    """Return a connection's label and product with a colon; empty if it isn't kept."""
    found = next((one for one in gather.details if one.connection == connection), None)
    return "" if found is None else f"{_who(found)}: "


def _blocked(gather: Gather) -> Iterator[Finding]:
    blocked = list(gather.blockings)
    if blocked:
        times = plural(gather.blockings.count, "time")
        yield Finding(
            "warning", f"publishers blocked by the server, {times}, {duration(gather.blocked_ns)} in all", "heartbeats",
            f"{_whose(gather, blocked[0].connection)}connection.blocked: the server was short of memory or disk",
            blocked[0].connection,
        )  # fmt: skip


def _quiet(gather: Gather) -> Iterator[Finding]:
    if gather.missed:
        worst = next(iter(gather.silences))
        yield Finding(
            "warning", f"{plural(gather.missed, 'time')} a side was silent for two heartbeats or more", "heartbeats",
            f"the {worst.sender} of {worst.text} for {duration(worst.amount)}, agreed were {duration(int(worst.what))}",
            worst.connection,
        )  # fmt: skip


def _slow(gather: Gather) -> Iterator[Finding]:
    deliveries = sum(times for (kind, _), times in gather.outcomes.items() if kind in ("deliver", "get"))
    again = gather.redelivered_over_time.total
    if deliveries and again / deliveries >= _MANY:
        ranks = [one for one in gather.sources.ranks(gather.bounds.keys) if one[2][1]]
        queue = max(ranks, key=lambda one: (one[2][1], one[0]), default=None)
        mostly = f", {count(queue[2][1])} of them from {queue[0][0]}" if queue is not None else ""
        last = next(iter(gather.takers), None)
        yield Finding("warning", f"{share(again, deliveries)} of all deliveries came again", "redeliveries",
                      f"{_whose(gather, last.connection) if last else ''}{count(again)} of {count(deliveries)}{mostly}",
                      last.connection if last else "", last.seq if last else None)  # fmt: skip
    rejected = sum(times for (kind, outcome), times in gather.outcomes.items()
                   if kind == "publish" and outcome == "rejected")  # fmt: skip
    if rejected:
        yield Finding("warning", f"{plural(rejected, 'publish', 'publishes')} rejected by the server", "throughput")
    for name, histogram in gather.latencies.items():
        middle, most = histogram.quantile(0.5), histogram.most
        if middle is None or most is None or most < _SECOND or most < _STRAGGLER * middle or name == "call":
            continue
        worst = next(iter(gather.slowest[name]))
        yield Finding(
            "note", f"{LATENCY_TITLES[name]} took up to {duration(most)}; half of them took {duration(middle)} at most",
            "latency", f"{_whose(gather, worst.connection)}{worst.text}", worst.connection, worst.seq,
        )  # fmt: skip


def _clocks(gather: Gather) -> Iterator[Finding]:
    for one in worst([one for one in gather.clocks.differences() if one.skew_ns >= _APART]):
        fast = one.other if one.at_least_ns is not None and one.at_least_ns > 0 else one.file
        lost = gather.gaps and one.skew_ns > DEFAULT_GRACE_NS
        advice = "times from one to the other are off by that"
        if lost:
            advice = f"octets may be missing for that: {remedy(one)}"
        yield Finding("warning" if lost else "note", apart(one), "overview", f"{fast} is ahead; {advice}")


def _damage(gather: Gather) -> Iterator[Finding]:
    damaged = sum(rule.errors + rule.warnings for name, rule in gather.rules.items() if name.startswith("capture/"))
    if damaged:
        yield Finding(
            "note",
            f"the capture has damage in {plural(damaged, 'place')}",
            "violations",
            "what is missing isn't guessed: figures say what was seen" if gather.gaps else "",
        )
    if gather.connections and gather.connections > gather.amqp:
        other = gather.connections - gather.amqp
        yield Finding("note", f"{plural(other, 'connection')} without AMQP that could be recognised", "overview")


__all__ = ["Finding", "apart", "backlog_words", "findings", "plural", "remedy", "worst"]
