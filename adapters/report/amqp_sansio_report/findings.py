"""Findings: the few sentences to read first after an outage."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from math import ceil
from typing import TYPE_CHECKING, Final, NamedTuple

from amqp_sansio.capture.tcp import DEFAULT_GRACE_NS
from amqp_sansio.recorded.histories.places import queue_at

from .causes import CLOSES
from .charts import LATENCY_TITLES
from .scales import clock, count, duration, octets, share
from .services import meaning

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
_AT_ONCE: Final = 5_000_000_000
"""So soon behind its cause comes what a server does because of it."""
_PORTS: Final = ("5671", "5672")
_DELETED: Final = "amqp:resource-deleted"
_NAMED: Final = 3
"""Most other connections that a finding names."""
_SHORT: Final = 20
"""So many short connections of one client are churn."""
_TROUBLES: Final = {
    "behind": ("error", "{amount} behind a close", "publish", "errors"),
    "drain": ("warning", "a drain that the other side didn't answer for {time}", "", "unsettled"),
    "credit": ("warning", "a link had no credit for {time}", "", "unsettled"),
    "window": ("warning", "a session's window was closed for {time}", "", "unsettled"),
    "leak": ("warning", "a connection has {amount} open", "channel", "overview"),
    "channels": ("warning", "{amount} opened and closed on one connection", "channel", "overview"),
    "polling": ("warning", "basic.get found no message, {amount}", "time", "throughput"),
    "aborted": ("warning", "{amount} aborted by the sender", "transfer", "throughput"),
    "doubt": ("warning", "{amount} without confirms on a lost connection", "publish", "unsettled"),
}
"""The words for troubles of single connections: severity, text, what is counted, section."""
_CAUSING: Final = ("leak", "credit", "window", "drain")
"""Troubles that may end in the loss of their connection."""
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
    met: tuple[tuple[str, int], ...] = ()
    """The connections that met what may be the cause of their loss, and when it began."""
    lost: tuple[tuple[str, int], ...] = ()
    """The connections that were lost without a word, and when."""
    first_ns: int = 0
    """When the first of what it tells happened."""


def findings(gather: Gather) -> list[Finding]:
    """Return the findings: the worst first, and of equally bad ones causes before what follows from them."""
    rejects = list(_rejects(gather))
    told = [*_unreached(gather), *_ends(gather), *_faults(gather), *[one for one in rejects if one.level == "error"]]
    found = [
        # What began first, in whichever connection, may be the cause of the others.
        *sorted(told, key=lambda one: one.first_ns),
        *_loops(gather),
        *_rules(gather),
        *_blocked(gather),
        *_waiting(gather),
        *_troubles(gather),
        *_drops(gather),
        *[one for one in rejects if one.level != "error"],
        *_holding(gather),
        *_unmatched(gather),
        *_quiet(gather),
        *_slow(gather),
        *_churn(gather),
        *_nobody(gather),
        *_clocks(gather),
        *_damage(gather),
    ]
    order = {"error": 0, "warning": 1, "note": 2}
    return _causes_first(sorted(found, key=lambda one: order[one.level]))


def _causes_first(found: list[Finding]) -> list[Finding]:
    """Put what connections met before they were lost without a word in front of that loss, if all of them met it."""
    ordered = list(found)
    for loss in [one for one in found if one.lost]:
        place = ordered.index(loss)
        lost = dict(loss.lost)
        causes: list[Finding] = []
        explained: set[str] = set()
        for one in ordered[place + 1 :]:
            before = {connection for connection, began_ns in one.met if began_ns < lost.get(connection, 0)}
            if before:
                causes.append(one)
                explained |= before
        if explained == lost.keys():
            rest = [one for one in ordered[place:] if one not in causes]
            ordered[place:] = [*causes, *rest]
    return ordered


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
        first = min(alike, key=lambda one: (one.ended_ns, one.connection), default=None)
        told = [(key, times) for key, times, _ in gather.ends.ranks(gather.bounds.keys) if key[0] == cause]
        more = ""
        if cause == "heartbeat":
            # Its figures are those of one connection.
            more = "" if first is None else first.hint
        elif told:
            (_, _, code, why, hint), _ = told[0]
            more = " ".join(part for part in (code if not why.startswith(code) else "", why) if part)
            more = f"{more} — {hint}" if more and hint else more or hint
            same = [one for one in alike if (one.text, one.hint) == (why, hint)]
            first = min(same, key=lambda one: (one.ended_ns, one.connection), default=None)
        if first is not None:
            ended = f"{first.ended_by}: " if cause == "transport" and first.ended_by else ""
            more = f"{_who(first)}: {ended}{more}{_hit(first, alike)}"
        lost = [(one.connection, one.ended_ns) for one in alike if cause == "transport" and len(alike) == amount]
        yield Finding(
            "error",
            text.format(plural(amount, "connection")),
            "errors",
            more,
            first.connection if first else "",
            lost=tuple(lost),
            first_ns=min([one.ended_ns for one in alike], default=0),
        )


def _hit(first: Connection, alike: Sequence[Connection]) -> str:
    """Return words on the other connections that ended alike, in the order of time."""
    others = sorted([one for one in alike if one is not first], key=lambda one: (one.ended_ns, one.connection))
    if not others:
        return ""
    names = ", ".join(one.label for one in others[:_NAMED])
    rest = f" and {count(len(others) - _NAMED)} more" if len(others) > _NAMED else ""
    return f"; then {names}{rest}"


def _unreached(gather: Gather) -> Iterator[Finding]:
    """Yield a finding about connections whose SYN was refused, or never answered."""
    amount = gather.causes.get("unreached", 0)
    if not amount:
        return
    alike = [one for one in gather.details if one.cause == "unreached"]
    spoken = {one.server for one in gather.details if one.protocol is not None}
    meant = [one for one in alike if one.server in spoken or one.server.rpartition(":")[2] in _PORTS]
    others = gather.connections - gather.amqp - amount
    example = next(iter(meant or alike), None)
    # Attempts to reach something else are no matter of AMQP.
    level = "error" if meant or not others else "note"
    more = "" if example is None else f"{example.label} to {example.server}: {example.hint}"
    yield Finding(
        level,
        f"{plural(amount, 'connection')} not made: the server wasn't reached",
        "overview",
        more,
        example.connection if example else "",
        first_ns=min([one.opened_ns for one in alike], default=0),
    )


def _faults(gather: Gather) -> Iterator[Finding]:
    """Yield one finding for each kind of unit that reported errors, in 1.0 for each of its conditions, with its most
    frequent error."""
    told: dict[tuple[str, str, str], list[tuple[int, str]]] = {}
    examples: dict[tuple[str, str, str], Incident] = {}
    for incident in gather.problems:
        examples.setdefault(_kind(incident.what, incident.sender, incident.text), incident)
    for (event, sender, code, text), times, _ in gather.faults.ranks(gather.bounds.keys):
        if event not in CLOSES:
            said = f"{code} {text}".strip()
            told.setdefault(_kind(event, sender, said), []).append((times, said))
    for kind, each in told.items():
        event, sender, _ = kind
        level = "warning" if event in ("basic.return", "channel.flow") else "error"
        times, text = each[0]
        more = f"{text} ({count(times)})" if len(each) > 1 else text
        total = sum(amount for amount, _ in each)
        example = next(
            (one for one in gather.problems if (one.what, one.sender) == (event, sender) and one.text.startswith(text)),
            examples.get(kind),
        )
        if example is not None:
            if example.text.startswith(text):
                # With the tracking id of this one.
                more = more.replace(text, example.text, 1)
            more = f"{_whose(gather, example.connection)}{_explained(gather, example, more)}"
        yield Finding(
            level,
            f"{event} of the {sender}, {plural(total, 'time')}",
            "errors",
            more,
            example.connection if example else "",
            example.seq if example else None,
            met=tuple(
                [
                    (one.connection, one.ts_ns)
                    for one in gather.problems
                    if level == "error" and _kind(one.what, one.sender, one.text) == kind
                ]
            ),
            first_ns=examples[kind].ts_ns if kind in examples else 0,
        )


def _kind(event: str, sender: str, said: str) -> tuple[str, str, str]:
    """Return what makes two errors one finding: their unit and its sender, and in 1.0 the condition."""
    code = said.partition(" ")[0]
    return event, sender, code if ":" in code else ""


def _explained(gather: Gather, fault: Incident, more: str) -> str:
    """Return the text of an error with what the traffic shows of its cause, else with the usual one."""
    if fault.what == "basic.cancel" or _DELETED in fault.text:
        queue = queue_at(fault.text.rpartition(" of ")[2].removesuffix(")"))
        delete = next(
            (one for one in gather.deletes if one.text == queue and 0 <= fault.ts_ns - one.ts_ns <= _AT_ONCE), None
        )
        if delete is not None:
            who = _whose(gather, delete.connection).removesuffix(": ") or "another connection"
            return f"{more}: {who} had deleted that queue"
    if fault.what == "basic.cancel":
        return f"{more}; usually the queue was deleted, or its leader moved"
    broken = [
        one
        for one in gather.problems
        if (one.connection, one.channel, one.sender) == (fault.connection, fault.channel, "client")
        and "/" in one.what
        # A fault of the login is no cause of a later error.
        and "/security/" not in one.what
        and 0 <= fault.ts_ns - one.ts_ns <= _AT_ONCE
    ]
    is_explained = bool(meaning(fault.text.partition(" ")[0], fault.text))
    if broken and fault.sender == "server" and not is_explained:
        return more if broken[-1].text in more else f"{more} — {broken[-1].text}"
    return f"{more} — {fault.hint}" if fault.hint else more


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


def _troubles(gather: Gather) -> Iterator[Finding]:
    """Yield a finding for each kind of trouble, with the connection that has most of it."""
    for kind, (level, text, counted, section) in _TROUBLES.items():
        worst = next(iter(gather.troubles[kind]), None)
        if worst is None:
            continue
        many = gather.troubles[kind].count
        amount = plural(worst.amount, counted, "publishes" if counted == "publish" else "") if counted else ""
        others = f"; {plural(many - 1, 'more connection')} alike" if many > 1 and counted else ""
        yield Finding(
            level,
            text.format(amount=amount, time=duration(worst.amount)),
            section,
            f"{_whose(gather, worst.connection)}{worst.text}{others}",
            worst.connection,
            worst.seq,
            met=tuple([(one.connection, one.ts_ns) for one in gather.troubles[kind] if kind in _CAUSING]),
        )


def _drops(gather: Gather) -> Iterator[Finding]:
    """Yield a finding about queues that drop messages since they are full."""
    if gather.gaps or not all(gather.octets.values()):
        # A delivery that isn't there would be taken for a drop.
        return
    for (queue, most, overflow), _, _ in gather.limits.ranks(gather.bounds.keys):
        backlog = gather.backlogs.get(queue)
        if backlog is None or overflow != "drop-head":
            continue
        dropped = max([level for _, level in backlog.levels()], default=0) - int(most)
        if dropped > 0:
            yield Finding(
                "warning",
                f"a queue dropped {plural(dropped, 'message')} or so: it keeps {most} at most",
                "unsettled",
                f"queue {queue}, x-max-length {most}{backlog_words(gather, queue)}; the oldest go first, without a "
                "word to their publishers: raise x-max-length, take faster, or declare x-overflow reject-publish",
            )


def _rejects(gather: Gather) -> Iterator[Finding]:
    """Yield a finding about publishes that the server rejected, and why."""
    ranks = gather.rejects.ranks(gather.bounds.keys)
    if not ranks:
        return
    (place, why), times, _ = ranks[0]
    first = next((one for one in gather.rejected if one.text == why), None)
    full = [key for key, _, _ in gather.limits.ranks(gather.bounds.keys) if key[0] == place and "reject" in key[2]]
    if not why and full:
        why = f"the queue was full (x-max-length {full[0][1]}, x-overflow {full[0][2]}); publish again later"
    hint = meaning(why.partition(": ")[0], why)
    more = f"{count(times)} to {place}: {why or 'the server gave no reason'}{f' — {hint}' if hint else ''}"
    yield Finding(
        # A condition of the service itself, such as throttling, is no matter of one message.
        "error" if hint else "warning",
        f"{plural(gather.rejects.rows, 'publish', 'publishes')} rejected by the server",
        "throughput",
        f"{_whose(gather, first.connection) if first else ''}{more}",
        first.connection if first else "",
        first.seq if first else None,
        first_ns=first.ts_ns if first else 0,
    )


def _churn(gather: Gather) -> Iterator[Finding]:
    """Yield a finding about the client with most short connections."""
    ranks = [one for one in gather.short.ranks(gather.bounds.keys) if one[1] >= _SHORT]
    if not ranks:
        return
    (name, host), times, (lived_ns, messages) = ranks[0]
    example = next((one for one in gather.details if host and one.client.startswith(f"{host}:")), None)
    yield Finding(
        "warning",
        f"{plural(times, 'connection')} of one client that lived for {duration(lived_ns // times)} on average",
        "overview",
        f"{name or 'a client'} on {host}: {plural(messages, 'message')} on all of them; keep one connection open, its "
        "opening takes several round trips",
        example.connection if example else "",
    )


def _nobody(gather: Gather) -> Iterator[Finding]:
    """Yield a note about publishes to a queue that nobody in the capture names."""
    if not gather.named.exact or not gather.sources.exact or not gather.keys.exact:
        return
    named = {key[0] for key, _, _ in gather.named.ranks(gather.bounds.keys)}
    named |= {queue_at(key[0]) for key, _, _ in gather.sources.ranks(gather.bounds.keys) if key[0]}
    lost = [
        (key, times)
        for (place, key), times, _ in gather.keys.ranks(gather.bounds.keys)
        if not place and key and key not in named and not key.startswith("amq.")
    ]
    if lost and gather.returned < sum(times for _, times in lost):
        key, times = lost[0]
        yield Finding(
            "note",
            f"{plural(times, 'publish', 'publishes')} to a queue that nobody in the capture declares or reads",
            "throughput",
            f"queue {key}: if it doesn't exist, the server drops them without a word; publish with mandatory, and it "
            "returns them",
        )


def _holding(gather: Gather) -> Iterator[Finding]:
    if gather.unsettled:
        oldest = next(iter(gather.oldest), None)
        more = ""
        if oldest is not None:
            more = f"{_whose(gather, oldest.connection)}the oldest since {clock(oldest.ts_ns)}: {oldest.text}"
        else:
            oldest = next(iter(gather.left), None)
            if oldest is not None:
                more = (
                    f"{_whose(gather, oldest.connection)}{oldest.text}, from {clock(oldest.ts_ns)} on; they were still "
                    "unsettled when their channel or connection ended, so the server delivers them again"
                )
        words = "deliveries nobody settled" if gather.unsettled > 1 else "delivery nobody settled"
        yield Finding(
            "warning",
            f"{count(gather.unsettled)} {words}",
            "unsettled",
            more,
            oldest.connection if oldest else "",
            oldest.seq if oldest else None,
        )
    if gather.unconfirmed:
        words = "publishes" if gather.unconfirmed > 1 else "publish"
        most = max(gather.details, key=lambda one: (one.unconfirmed, one.connection), default=None)
        shown = most is not None and most.unconfirmed
        yield Finding(
            "warning",
            f"{count(gather.unconfirmed)} {words} without a confirm",
            "unsettled",
            f"{count(most.unconfirmed)} of them by {_who(most)}" if most and shown else "",
            most.connection if most and shown else "",
        )


def _unmatched(gather: Gather) -> Iterator[Finding]:
    if gather.unmatched:
        yield Finding(
            "note",
            f"the outcome of {plural(gather.unmatched, 'publish', 'publishes')} can't be told",
            "unsettled",
            "confirms count the publishes of a channel, and its beginning, or a part of it, isn't in the capture",
        )


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
    yield Finding(
        "error",
        f"a poison loop: the same message was delivered {count(times + 1)} times",
        "redeliveries",
        more,
        connection,
        seq,
    )


def _waiting(gather: Gather) -> Iterator[Finding]:
    """Yield a finding about the consumer that was without room for longest."""
    for holder in gather.slow:
        lived = holder.last_ns - holder.first_ns
        if _wants_nothing(gather, holder):
            continue
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


def _wants_nothing(gather: Gather, holder: Holder) -> bool:
    """Whether a link without credit kept nobody waiting: it settled all that it got, and its queue is empty."""
    backlog = gather.backlogs.get(queue_at(holder.source) if holder.source else "")
    if holder.limit != "credit" or holder.open or backlog is None:
        return False
    return backlog.levels()[-1][1] == 0


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
            "warning",
            f"publishers blocked by the server, {times}, {duration(gather.blocked_ns)} in all",
            "heartbeats",
            f"{_whose(gather, blocked[0].connection)}connection.blocked: the server was short of memory or disk",
            blocked[0].connection,
            met=tuple([(one.connection, one.ts_ns) for one in blocked]),
        )


def _quiet(gather: Gather) -> Iterator[Finding]:
    if gather.missed:
        worst = next(iter(gather.silences))
        yield Finding(
            "warning",
            f"{plural(gather.missed, 'time')} a side was silent for two heartbeats or more",
            "heartbeats",
            f"the {worst.sender} of {worst.text} for {duration(worst.amount)}, agreed were {duration(int(worst.what))}",
            worst.connection,
        )


def _slow(gather: Gather) -> Iterator[Finding]:
    deliveries = sum(times for (kind, _), times in gather.outcomes.items() if kind in ("deliver", "get"))
    again = gather.redelivered_over_time.total
    if deliveries and again / deliveries >= _MANY:
        ranks = [one for one in gather.sources.ranks(gather.bounds.keys) if one[2][1]]
        queue = max(ranks, key=lambda one: (one[2][1], one[0]), default=None)
        mostly = f", {count(queue[2][1])} of them from {queue[0][0]}" if queue is not None else ""
        last = next(iter(gather.takers), None)
        yield Finding(
            "warning",
            f"{share(again, deliveries)} of all deliveries came again",
            "redeliveries",
            f"{_whose(gather, last.connection) if last else ''}{count(again)} of {count(deliveries)}{mostly}",
            last.connection if last else "",
            last.seq if last else None,
        )
    for name, histogram in gather.latencies.items():
        middle, most = histogram.quantile(0.5), histogram.most
        if middle is None or most is None or most < _SECOND or most < _STRAGGLER * middle or name == "call":
            continue
        worst = next(iter(gather.slowest[name]))
        yield Finding(
            "note",
            f"{LATENCY_TITLES[name]} took up to {duration(most)}; half of them took {duration(middle)} at most",
            "latency",
            f"{_whose(gather, worst.connection)}{worst.text}",
            worst.connection,
            worst.seq,
        )


def _clocks(gather: Gather) -> Iterator[Finding]:
    for one in worst([one for one in gather.clocks.differences() if one.skew_ns >= _APART]):
        fast = one.other if one.at_least_ns is not None and one.at_least_ns > 0 else one.file
        lost = gather.gaps and one.skew_ns > DEFAULT_GRACE_NS
        advice = "times from one to the other are off by that"
        if lost:
            advice = f"octets may be missing for that: {remedy(one)}"
        yield Finding("warning" if lost else "note", apart(one), "overview", f"{fast} is ahead; {advice}")


def _damage(gather: Gather) -> Iterator[Finding]:
    other = gather.connections - gather.amqp - gather.causes.get("unreached", 0)
    if other > 0:
        told = next((one for one in gather.details if one.cause == "other" and one.hint), None)
        yield Finding(
            "note",
            f"{plural(other, 'connection')} without AMQP that could be recognised",
            "overview",
            "" if told is None else f"{told.label} to {told.server}: {told.hint}",
            "" if told is None else told.connection,
        )
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
    if gather.unnamed:
        yield Finding(
            "note",
            f"nothing tells the client of {plural(gather.unnamed, 'connection')}",
            "overview",
            "its beginning isn't in the capture; --port names the port of the server",
        )
    if gather.passed:
        kinds = ", ".join(f"{count(many)} {name}" for name, many in sorted(gather.passed.items()))
        what = f"passed over {plural(sum(gather.passed.values()), 'connection')} without AMQP"
        yield Finding("note", what, "overview", kinds)


__all__ = ["Finding", "apart", "backlog_words", "findings", "plural", "remedy", "worst"]
