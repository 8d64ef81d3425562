"""The page: a single self-contained HTML document."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping, Sequence
from hashlib import sha256
from importlib.resources import files
from typing import TYPE_CHECKING, Final

from .charts import charts
from .findings import Finding, findings, plural
from .markup import Content, Markup, data, element, join
from .records import BAD
from .scales import clock, count, day, duration, moment, octets
from .sections import Sections

if TYPE_CHECKING:
    from .gather import Gather
    from .sequence import Diagram

_NAMES: Final = 3
_SHORT: Final = {
    "errors": "Errors",
    "unsettled": "Unsettled",
    "keys": "Keys",
    "sizes": "Sizes",
    "heartbeats": "Heartbeats",
}
"""Short names of sections."""


def page(gather: Gather, diagrams: Sequence[Diagram] = ()) -> str:
    """Return the report as an HTML document, with the sequence diagrams of some connections.

    It loads nothing: styles, script and data are in it, and its content security policy forbids everything else. All
    text from the capture is escaped.
    """
    sections = Sections(gather, charts(gather), [one.connection for one in diagrams])
    told = [(name, title, body) for name, title, body in sections.all() if body]
    stands_out = findings(gather)
    parts = [
        _header(gather),
        _tiles(gather),
        _findings(stands_out, sections, {name for name, _, _ in told}),
        *[section(name, title, body) for name, title, body in told],
        _sequence(gather, diagrams),
        _footer(gather),
    ]
    links = [("findings", "What stands out"), *[(name, _SHORT.get(name, title)) for name, title, _ in told]]
    if diagrams:
        links.append(("sequence", "Diagrams"))
    return document(f"AMQP report: {_title(gather)}", links, parts, asset("report.js"))


def document(
    title: str,
    links: Sequence[tuple[str, str]],
    parts: Sequence[Content],
    script: str,
    *,
    seconds: int = 0,
    style: str = "",
) -> str:
    """Return an HTML document that loads nothing; `links` are places in it, and their names.

    `style` is added to the style of reports. With `seconds` its script may ask the server that it came from, and a
    browser without scripts loads it again after so many.
    """
    nav = element("nav", *[element("a", words, href=f"#{name}") for name, words in links], aria_label="sections")
    digest = b64encode(sha256(script.encode()).digest()).decode()
    allowed = f"style-src 'unsafe-inline'; script-src 'sha256-{digest}'"
    if seconds:
        allowed += "; connect-src 'self'"
    policy = f"default-src 'none'; {allowed}; base-uri 'none'; form-action 'none'"
    again = element("noscript", element("meta", http_equiv="refresh", content=str(seconds))) if seconds else None
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=policy),
        element("meta", name_="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name_="color-scheme", content="light dark"),
        again,
        element("title", title),
        element("style", Markup(asset("report.css") + style)),
    )
    body = element(
        "body",
        nav,
        element("main", *parts),
        element("div", id="tip", hidden=True, role="status"),
        element("script", Markup(script)),
    )
    return f"<!DOCTYPE html>\n{element('html', head, body, lang='en')}\n"


def asset(name: str) -> str:
    """Return the text of a file of this package's assets."""
    return files(__name__.rpartition(".")[0]).joinpath("assets", name).read_text(encoding="utf-8")


def _title(gather: Gather) -> str:
    names = sorted(gather.files)
    if not names:
        return "recorded connections"
    shown = ", ".join(names[:_NAMES])
    return shown if len(names) <= _NAMES else f"{shown} and {len(names) - _NAMES:,} more files"


def section(name: str, title: str, *content: Content) -> Markup:
    """Return a section of the page, with its heading."""
    return element("section", element("h2", title), *content, id=name)


def _header(gather: Gather) -> Markup:
    if gather.first_ns is None or gather.last_ns is None:
        when = "no packets"
    else:
        last = clock(gather.last_ns) if day(gather.first_ns) == day(gather.last_ns) else moment(gather.last_ns)
        when = f"{moment(gather.first_ns)} to {last} UTC · {duration(gather.span_ns)}"
    return element("header", element("h1", _title(gather)), element("p", when, class_="when"))


def _tiles(gather: Gather) -> Markup:
    confirm, settle = (gather.latencies["publish"].quantile(0.99), gather.latencies["deliver"].quantile(0.99))
    bad = sum(gather.causes.get(cause, 0) for cause in BAD)
    errors = sum(rule.errors for rule in gather.rules.values())
    left = gather.unsettled + gather.unconfirmed
    figures: list[tuple[str, str, str]] = [
        ("connections", count(gather.connections), ""),
        ("ended badly", count(bad), "bad" if bad else ""),
        ("messages", count(gather.messages), ""),
        ("units", count(gather.events), ""),
        ("packets", count(gather.packets), ""),
        ("AMQP octets", octets(gather.octets["client"] + gather.octets["server"]), ""),
        ("not settled", count(left), "warn" if left else ""),
        ("rules broken", count(errors), "bad" if errors else ""),
        ("p99 confirm", "-" if confirm is None else duration(confirm), ""),
        ("p99 settle", "-" if settle is None else duration(settle), ""),
    ]
    return tiles(figures)


def tiles(figures: Sequence[tuple[str, str, str]]) -> Markup:
    """Return figures side by side: name, value, and "bad", "warn" or ""."""
    return element(
        "dl",
        *[
            element("div", element("dt", name), element("dd", value), class_=f"tile {mood}".strip())
            for name, value, mood in figures
        ],
        class_="tiles",
    )


def _findings(found: Sequence[Finding], sections: Sections, there: set[str]) -> Markup:
    items: list[Markup] = []
    for one in found:
        link = f"#{one.section}" if one.section in there else None
        title = element("span" if link is None else "a", one.text, href=link)
        where = sections.link(one.connection, one.seq, f"connection {one.connection[:8]}") if one.connection else None
        more = element("div", join([one.more, where], " "), class_="more") if one.more or where else None
        items.append(
            element("li", element("span", one.level, class_=f"badge {one.level}"), element("div", title, more))
        )
    nothing = element("p", "Nothing: no errors, no bad ends, nothing left open.")
    body = element("ul", *items, class_="findings") if items else nothing
    return section("findings", "What stands out", body)


def _sequence(gather: Gather, diagrams: Sequence[Diagram]) -> Markup:
    if not diagrams:
        return Markup("")
    budget = gather.bounds.diagram_octets // len(diagrams)
    words = (
        f"Who sent what when. {plural(len(diagrams), 'connection')} of {count(gather.connections)}: "
        "those with the most to tell, or that were asked for. Choose a line to see its fields and octets."
    )
    return section("sequence", "Sequence diagrams", *ladder(words, [one.data(budget) for one in diagrams]))


def ladder(words: str, told: Sequence[Mapping[str, object]]) -> list[Markup]:
    """Return the sequence diagrams: a sentence about them, and the place in which the page's script draws them."""
    time = element("label", "state at (UTC)", element("input", type="text", id="seq-at", placeholder="hh:mm:ss.mmm"))
    field = element("label", "text", element("input", type="search", id="seq-text", placeholder="name, field, value"))
    selects = [
        element("label", title, element("select", id=f"seq-{name}"))
        for name, title in (("channel", "channel"), ("event", "unit"), ("sender", "sender"))
    ]
    choice = element("label", "connection", element("select", id="seq-connection"), class_="grow")
    controls = element(
        "form", choice, *selects, field, time, element("output", id="seq-count"), class_="controls", id="seq-form"
    )
    heads = element("div", element("span", id="seq-client"), element("span", id="seq-server"), class_="heads")
    lines = element("div", heads, element("ol", id="seq-units"), class_="ladder")
    split = element("div", lines, element("aside", id="seq-detail", hidden=True), class_="split")
    app = element("div", controls, element("ul", id="seq-state", hidden=True), split, id="seq-app", hidden=True)
    script = element("script", Markup(data(list(told))), type="application/json", id="seq-data")
    without = element("noscript", element("p", "The diagrams need JavaScript.", class_="note"))
    return [element("p", words, class_="note"), without, app, script]


def _footer(gather: Gather) -> Markup:
    bounds = gather.bounds
    widest = max([series.width for series in gather.messages_over_time.values()], default=1)
    words = (
        "All times are UTC. Figures come from the rows of the tables (events, messages, consumers, connections, "
        "violations). Quantiles are within 1.6 % of their value. "
        f"A line over time has at most {bounds.steps:,} steps, here of {duration(widest)}: "
        "a peak within one isn't seen."
    )
    return element("footer", element("p", words, class_="note"))


__all__ = ["asset", "document", "ladder", "page", "section", "tiles"]
