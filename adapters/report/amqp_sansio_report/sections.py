"""The sections of the page."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING, Final

from amqp_sansio.recorded.ends import CAUSES

from .causes import CLOSES, cause_title
from .cells import amounts, cut_note, part_note, share_bar, table
from .charts import LATENCY_TITLES, QUANTILES, Chart
from .findings import plural
from .markup import Content, Markup, element, join
from .records import BAD
from .rules import rule_words
from .scales import clock, count, duration, moment, octets, share
from .svg import render

if TYPE_CHECKING:
    from .gather import Gather

_TOP: Final = 15
_MOST_REQUESTS: Final = 60


class Sections:
    """The sections of one report. `shown` are the connections with a sequence diagram."""

    def __init__(self, gather: Gather, charts: dict[str, Chart], shown: Collection[str]) -> None:
        self._gather = gather
        """The facts."""
        self._charts = charts
        """The plots, by name."""
        self._shown = frozenset(shown)
        """The connections with a sequence diagram."""
        self._known = {one.connection: one for one in gather.details}
        """By its id, each connection that links may lead to."""
        start, end = gather.first_ns or 0, gather.last_ns or 0
        self._one_day = start // 86_400_000_000_000 == end // 86_400_000_000_000
        """Whether times need no date."""

    def all(self) -> list[tuple[str, str, Markup]]:
        """Return id, title and body of every section; an empty section has no body."""
        makers: Sequence[tuple[str, str, Callable[[], Markup]]] = (
            ("overview", "Overview", self._overview),
            ("connections", "Connections", self._connections),
            ("errors", "Errors and closes", self._errors),
            ("violations", "Violations", self._violations),
            ("throughput", "Throughput", self._throughput),
            ("latency", "Latency", self._latency),
            ("requests", "Requests to services", self._requests),
            ("unsettled", "Unsettled and credit", self._unsettled),
            ("redeliveries", "Redeliveries", self._redeliveries),
            ("keys", "Keys, exchanges, addresses", self._keys),
            ("sizes", "Message sizes", self._sizes),
            ("heartbeats", "Heartbeats and blocked time", self._heartbeats),
            ("churn", "Churn", self._churn),
        )
        return [(name, title, make()) for name, title, make in makers]

    def link(self, connection: str, seq: int | None = None, text: str = "", at_ns: int | None = None) -> Markup:
        """Return a connection's name, with a link to its sequence diagram if there is one, at a unit or a time."""
        known = self._known.get(connection)
        shown = text or (connection[:8] if known is None else known.label)
        tip = connection if known is None or not known.product else f"{known.product}, {connection}"
        if connection not in self._shown:
            return element("span", shown, class_="conn", title=tip)
        target = f"#seq-{connection}"
        if seq is not None:
            target = f"{target}/{seq}"
        elif at_ns is not None:
            target = f"{target}/at/{at_ns - (0 if known is None else known.opened_ns)}"
        return element("a", shown, class_="conn", href=target, title=tip)

    def _chart(self, name: str) -> Markup:
        return render(self._charts[name], name)

    def _at(self, ts_ns: int) -> Markup:
        return element("span", clock(ts_ns) if self._one_day else moment(ts_ns), class_="at")

    def _when(self, ts_ns: int | None) -> Content:
        return None if ts_ns is None else self._at(ts_ns)

    def _overview(self) -> Markup:
        gather = self._gather
        files = [
            (name, count(one.packets), octets(one.octets), self._when(one.first_ns), self._when(one.last_ns))
            for name, one in sorted(gather.files.items())
        ]
        headings = ("file", "packets", "payload", "first packet (UTC)", "last packet (UTC)")
        parts: list[Markup] = []
        if files:
            note = f"The first {len(files)} files by name; the totals count all." if gather.files_cut else ""
            parts.append(
                table(headings, files, right={1, 2}, wide={0}, note=note, folded=len(files) > 8, title="Files")
            )
        figures = ("connections", "messages", "bad ends", "violations", "octets")
        versions = [
            (key[0] or "not recognised", key[1], count(times), *amounts(sums))
            for key, times, sums in gather.versions.ranks(_TOP)
        ]
        parts.append(table(("version", "dialect", *figures), versions, title="Versions", right={2, 3, 4, 5, 6}))
        products = [
            (key[0] or "(not told)", count(times), *amounts(sums)) for key, times, sums in gather.products.ranks(_TOP)
        ]
        note = cut_note(gather.products, _TOP, "products")
        parts.append(table(("client", *figures), products, title="Clients", right={1, 2, 3, 4, 5}, wide={0}, note=note))
        servers = [(key[0] or "(not told)", count(times)) for key, times, _ in gather.servers.ranks(_TOP)]
        users = [
            (user or "(none)", mechanism, count(times), *amounts(sums))
            for (user, mechanism), times, sums in gather.users.ranks(_TOP)
        ]
        parts.append(
            table(
                ("server", "connections"),
                servers,
                title="Servers",
                right={1},
                wide={0},
                note=cut_note(gather.servers, _TOP, "servers"),
            )
        )
        note = cut_note(gather.users, _TOP, "users")
        parts.append(table(("user", "mechanism", *figures), users, title="Users", right={2, 3, 4, 5, 6}, note=note))
        vhosts = [(key[0] or "(none)", count(times)) for key, times, _ in gather.vhosts.ranks(_TOP)]
        note = cut_note(gather.vhosts, _TOP, "virtual hosts")
        parts.append(
            table(
                ("virtual host, or host name of 1.0", "connections"),
                vhosts,
                title="Virtual hosts",
                right={1},
                wide={0},
                note=note,
            )
        )
        units = [(key[0], key[1], count(times), octets(sums[0])) for key, times, sums in gather.units.ranks(40)]
        note = cut_note(gather.units, 40, "kinds")
        parts.append(
            table(
                ("unit", "sender", "times", "octets"),
                units,
                right={2, 3},
                note=note,
                folded=True,
                title="What was said",
            )
        )
        return element("div", *[element("div", one) for one in parts if one], class_="tables")

    def _connections(self) -> Markup:
        counts = self._gather.causes
        whole = self._gather.connections
        chips = [
            element(
                "span",
                element("i", class_=f"key cause-{cause}"),
                f"{count(counts[cause])} {cause_title(cause)}",
                class_="chip",
            )
            for cause in CAUSES
            if counts.get(cause)
        ]
        if not whole:
            return Markup("")
        return join([element("p", *chips, class_="chips"), self._chart("connections"), self._chart("open")])

    def _errors(self) -> Markup:
        gather = self._gather
        ends = [
            (
                element("span", element("i", class_=f"key cause-{cause}"), cause_title(cause)),
                " ".join(part for part in (code if not text.startswith(code) else "", text) if part),
                hint,
                count(times),
            )
            for (cause, _, code, text, hint), times, _ in gather.ends.ranks(30)
            if cause in BAD
        ]
        faults = [
            (event, sender, " ".join(part for part in (code, text) if part), count(times))
            for (event, sender, code, text), times, _ in gather.faults.ranks(60)
            if event not in CLOSES
        ][:30]
        problems = [
            (self._at(one.ts_ns), self.link(one.connection, one.seq), one.sender, one.what, one.text)
            for one in gather.problems
        ]
        if not ends and not faults and not problems:
            return Markup("")
        note = cut_note(gather.faults, 30, "different ones")
        first = f"The first {len(problems)} of {count(gather.problems.count)}." if gather.problems.cut else ""
        parts = [
            self._chart("problems"),
            table(
                ("connections that ended badly", "why", "usual cause", "connections"),
                ends,
                title="Bad ends",
                right={3},
                text={1, 2},
            ),
            table(
                ("told by", "sender", "what went wrong", "times"),
                faults,
                title="Errors told",
                right={3},
                note=note,
                text={2},
            ),
            table(
                ("time (UTC)", "connection", "sender", "unit or rule", "text"),
                problems,
                note=first,
                text={4},
                title="One by one",
                folded=len(problems) > 12,
            ),
        ]
        return join(parts)

    def _violations(self) -> Markup:
        broken = sorted(self._gather.rules.values(), key=lambda rule: (-rule.errors, -rule.warnings, rule.rule))
        rows: list[Sequence[Content]] = []
        for rule in broken:
            ts_ns, connection, seq, text = rule.first
            where = self.link(connection, None if seq < 0 else seq) if connection else None
            level = "error" if rule.errors else "warning"
            name = element("a", rule.rule, href=f"#rule-{rule.rule}", id=f"rule-{rule.rule}", class_="rule")
            about = element("div", name, element("div", rule_words(rule.rule), class_="about"))
            badge = element("span", level, class_=f"badge {level}")
            rows.append((badge, about, count(rule.errors + rule.warnings), self._at(ts_ns), where, text))
        headings = ("severity", "rule", "times", "first (UTC)", "connection", "what happened first")
        note = "A rule's text stands in the specification under its id: version, class or part, name."
        return table(headings, rows, title="Broken rules and damage", right={2}, note=note if rows else "", text={1, 5})

    def _throughput(self) -> Markup:
        outcomes = sorted(self._gather.outcomes.items(), key=lambda item: (item[0][0], -item[1], item[0][1]))
        rows = [(kind, outcome, count(times)) for (kind, outcome), times in outcomes]
        parts = [self._chart("messages"), self._chart("octets")]
        if rows:
            parts.append(table(("messages", "outcome", "times"), rows, title="Outcomes", right={2}))
        return join(parts)

    def _latency(self) -> Markup:
        gather = self._gather
        rows: list[Sequence[Content]] = []
        for name, histogram in gather.latencies.items():
            if not histogram.count or histogram.most is None or histogram.least is None:
                continue
            quantiles = [duration(histogram.quantile(part) or 0) for part, _ in QUANTILES]
            rows.append(
                (
                    LATENCY_TITLES[name],
                    count(histogram.count),
                    duration(histogram.least),
                    *quantiles,
                    duration(histogram.most),
                )
            )
        if not rows:
            return Markup("")
        notes: list[str] = []
        if gather.unjoined:
            most = gather.bounds.joined
            notes.append(f"There are more than {most:,} messages: which delivery belongs to which publish isn't told.")
        if gather.unsure:
            unsure = plural(gather.unsure, "delivery", "deliveries")
            notes.append(f"{unsure} may belong to one of several publishes: not counted from publish to delivery.")
        headings = ("from → to", "times", "least", *[text for _, text in QUANTILES], "most")
        pictures = [self._chart(f"latency-{name}") for name in gather.latencies if gather.latencies[name].count]
        slow = [
            (
                LATENCY_TITLES[name],
                duration(one.amount),
                self._at(one.ts_ns),
                self.link(one.connection, one.seq),
                one.text,
            )
            for name in gather.latencies
            for one in list(gather.slowest[name])[:5]
        ]
        return join(
            [
                table(headings, rows, title="Quantiles", right={1, 2, 3, 4, 5, 6}, note=" ".join(notes)),
                self._chart("latency"),
                *pictures,
                table(
                    ("the slowest", "took", "at (UTC)", "connection", "of"),
                    slow,
                    right={1},
                    text={4},
                    folded=len(slow) > 12,
                    title="The slowest",
                ),
            ]
        )

    def _requests(self) -> Markup:
        requests = self._gather.requests
        rows = [
            (operation, entity, answer or "none was seen", count(times), duration(took // many) if many else "")
            for (operation, entity, answer), times, (took, many) in requests.ranks(_MOST_REQUESTS)
        ]
        headings = ("operation", "of", "answer", "times", "took on average")
        note = cut_note(requests, _MOST_REQUESTS, "requests")
        return table(headings, rows, title="Requests with their answers", right={3, 4}, text={1, 2}, note=note)

    def _unsettled(self) -> Markup:
        gather = self._gather
        holders = list(gather.holders)
        rows = [
            (
                holder.source,
                holder.name,
                self.link(holder.connection, at_ns=holder.oldest_ns),
                count(holder.deliveries),
                count(holder.peak),
                holder.limit and f"{holder.limit} {count(holder.could)}",
                duration(holder.full_ns) if holder.full_ns else "",
                count(holder.open) if holder.open else "",
                self._at(holder.oldest_ns) if holder.oldest_ns is not None else "",
            )
            for holder in holders
        ]
        small = [self._chart(f"holder-{number + 1}") for number in range(len(holders))]
        cells = [element("div", one, class_="cell") for one in small if one]
        note = ""
        if gather.holders.cut:
            note = f"{len(holders)} of {plural(gather.holders.count, 'consumer')} and links: those that hold most."
        queues = [self._chart(name) for name in self._charts if name.startswith("backlog-")]
        parts = [self._chart("unsettled"), *queues]
        if rows:
            headings = (
                "queue or address",
                "consumer or link",
                "connection",
                "deliveries",
                "held at most",
                "could hold",
                "no room for",
                "never settled",
                "oldest (UTC)",
            )
            parts.append(table(headings, rows, right={3, 4, 6, 7}, wide={0, 1}, note=note, title="Who holds most"))
        if cells:
            parts.append(element("div", *cells, class_="small"))
        oldest = [(self._at(one.ts_ns), self.link(one.connection, one.seq), one.text) for one in gather.oldest]
        if oldest:
            more = f"The oldest {len(oldest)} of {count(gather.oldest.count)}." if gather.oldest.cut else ""
            title = "Open at the end, oldest first"
            parts.append(
                table(
                    ("since (UTC)", "connection", "of"),
                    oldest,
                    wide={2},
                    note=more,
                    folded=len(oldest) > 8,
                    title=title,
                )
            )
        return join(parts)

    def _redeliveries(self) -> Markup:
        gather = self._gather
        again = gather.redelivered_over_time.total
        if not again:
            return Markup("")
        there = [one for one in gather.sources.ranks(gather.bounds.keys) if one[2][1]]
        there.sort(key=lambda one: (-one[2][1], one[0]))
        rows = [(key[0], count(sums[1]), count(times), share(sums[1], times)) for key, times, sums in there]
        deliveries = gather.sources.rows
        part = share(again, deliveries)
        words = f"{count(again)} of {count(deliveries)} deliveries had been delivered before ({part})."
        headings = ("queue or address", "redelivered", "deliveries", "share")
        body = table(
            headings,
            rows[:_TOP],
            title="Queues",
            right={1, 2, 3},
            wide={0},
            note=cut_note(gather.sources, _TOP, "queues", len(rows)),
        )
        return join([element("p", words), self._chart("redeliveries"), body])

    def _keys(self) -> Markup:
        gather = self._gather
        keys = [
            (place or "(default)", key, share_bar(times, gather.keys.rows), count(times), octets(sums[0]))
            for (place, key), times, sums in gather.keys.ranks(_TOP)
        ]
        sources = [
            (key[0], share_bar(times, gather.sources.rows), count(times), octets(sums[0]))
            for key, times, sums in gather.sources.ranks(_TOP)
        ]
        parts: list[Markup] = []
        if keys:
            headings = ("exchange or address", "routing key or subject", "share", "publishes", "octets")
            parts.append(
                table(
                    headings,
                    keys,
                    title="Destinations of publishes",
                    right={3, 4},
                    wide={0, 1},
                    note=cut_note(gather.keys, _TOP, "keys"),
                )
            )
        if sources:
            names = ("queue or address", "share", "deliveries", "octets")
            parts.append(
                table(
                    names,
                    sources,
                    title="Sources of deliveries",
                    right={2, 3},
                    wide={0},
                    note=cut_note(gather.sources, _TOP, "queues and addresses"),
                )
            )
        return join(parts)

    def _sizes(self) -> Markup:
        rows: list[Sequence[Content]] = []
        for kind, histogram in self._gather.sizes.items():
            if histogram.count and histogram.least is not None and histogram.most is not None:
                quantiles = [octets(histogram.quantile(part) or 0) for part, _ in QUANTILES]
                rows.append(
                    (
                        kind,
                        count(histogram.count),
                        octets(histogram.least),
                        *quantiles,
                        octets(histogram.most),
                        octets(histogram.total),
                    )
                )
        if not rows:
            return Markup("")
        headings = ("bodies", "messages", "least", *[text for _, text in QUANTILES], "most", "in all")
        return join([self._chart("sizes"), table(headings, rows, title="Sizes", right={1, 2, 3, 4, 5, 6, 7})])

    def _heartbeats(self) -> Markup:
        gather = self._gather
        parts = [self._chart("blocked")]
        blocked = [
            (self._at(one.ts_ns), duration(one.amount), self.link(one.connection, at_ns=one.ts_ns))
            for one in gather.blockings
        ]
        if blocked:
            note = f"The longest {len(blocked)} of {count(gather.blockings.count)}." if gather.blockings.cut else ""
            parts.append(
                table(
                    ("blocked from (UTC)", "for", "connection"),
                    blocked,
                    title="Blocked by the server",
                    right={1},
                    note=note,
                )
            )
        silences = [
            (
                self.link(one.connection, at_ns=one.ts_ns),
                one.sender,
                duration(int(one.what)),
                duration(one.amount),
                f"{one.amount / int(one.what):.1f} times",
                self._at(one.ts_ns),
            )
            for one in gather.silences
        ]
        if silences:
            note = (
                "Heartbeats are due when nothing else is sent; "
                "after two without a sign of life a side is taken for lost."
            )
            if gather.silences.cut:
                note = f"The {len(silences)} longest of {count(gather.silences.count)}. {note}"
            headings = ("connection", "silent side", "agreed", "longest silence", "that is", "from (UTC)")
            parts.append(
                table(
                    headings,
                    silences,
                    right={2, 3, 4},
                    note=note,
                    folded=len(silences) > 12,
                    title="Silent for longer than agreed",
                )
            )
        return join(parts)

    def _churn(self) -> Markup:
        gather = self._gather
        if not gather.connections:
            return Markup("")
        many = [one for one in gather.details if one.channels > 1]
        rows = [
            (self.link(one.connection), one.product, count(one.channels), duration(one.ended_ns - one.opened_ns))
            for one in sorted(many, key=lambda one: (-one.channels, one.connection))[:10]
        ]
        channels = plural(gather.channels, "channel or session", "channels and sessions")
        words = f"{plural(gather.connections, 'connection')}, {channels} opened."
        headings = ("connection", "client", "channels opened", "lived")
        note = part_note("connections", len(rows), len(many))
        parts = [element("p", words), self._chart("churn")]
        if rows:
            parts.append(table(headings, rows, right={2, 3}, note=note, title="Most channels"))
        return join(parts)


__all__ = ["Sections"]
