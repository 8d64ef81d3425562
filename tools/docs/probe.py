"""docs/probe/amqp_*.md: every rule that the prober asks for, why it matters, how peers differ, how to ask by hand.

`python -m tools.docs.probe` writes the pages, and in docs/probe.md the blocks that count cases or verdicts; `--check`
compares them. With files of JSON lines, of `probe --json`, it
prints a table of the runs: the cases in which they differ, or don't conform.
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, partial
from itertools import groupby
from pathlib import Path
from typing import Final

from amqp_sansio.broker import Settings
from amqp_sansio_probe import (
    CASES,
    CLIENT_CASES,
    PROFILES,
    Case,
    ClientCase,
    Login,
    Patience,
    Runner,
    Verdict,
    find_capabilities,
)
from amqp_sansio_probe.memory import HubServer
from amqp_sansio_probe.page import diagram_of, runs_of
from amqp_sansio_probe.profiles import Deviation
from amqp_sansio_probe.records import read_records, record_of
from amqp_sansio_probe.reports import badge
from amqp_sansio_probe.running import Connection
from amqp_sansio_report import Diagram
from tools.docs.pages import ROOT, run

UNITS: Final = 24
"""Units of one side that a page names."""
ODD: Final = 24
"""Octets that form no unit, and that a page shows."""
VERSIONS: Final = tuple(dict.fromkeys([*[each.version for each in CASES], *[each.version for each in CLIENT_CASES]]))
OVERVIEW: Final = "probe.md"
"""The page with blocks, in docs."""
WHY: Final[Mapping[str, str]] = {
    "wire/header": "The header is all that peers of different versions have in common, and decides the rest.",
    "wire/heartbeat": "Without heartbeats a peer that is gone is noticed by the operating system alone, hours later.",
    "wire/table": "Arguments and headers carry what applications need; a misread value is silently wrong.",
    "wire/content": "Methods, headers and bodies come one after another: who loses count takes a body for a method.",
    "connection.close": "Both sides have to know that the connection ends in order, and what was lost if it doesn't.",
    "connection/error": "An error that ends more than it must takes the work of others with it.",
    "connection.tune": "What is agreed on here bounds every later frame, channel and silence.",
    "channel.close": "What concerns one channel ends one channel, and both sides have to agree when it is over.",
    "channel.flow": "A peer that can't be held floods the other.",
    "exchange": "Programs declare what they need whenever they start, and rely on being told if it is something else.",
    "queue": "Programs declare what they need whenever they start, and rely on being told if it is something else.",
    "basic.ack": "An acknowledgement of something else than what was delivered loses messages.",
    "basic.qos": "The bound on unsettled messages is what keeps a slow consumer alive.",
    "basic.publish": "A publisher has to learn that a message went nowhere.",
    "basic.recover": "Messages that a program can't finish come again, marked as such.",
    "basic.reject": "Messages that a program can't finish come again or go, but never both.",
    "rabbitmq/confirm": "Confirms are how a publisher knows that a message is safe.",
    "rabbitmq/basic.ack": "Confirms are how a publisher knows that a message is safe.",
    "rabbitmq/basic.nack": "A publisher has to learn that the server didn't take a message.",
    "rabbitmq/connection.blocked": "A program that doesn't know that it is held looks as if it hangs.",
    "rabbitmq/basic.cancel": "A consumer whose queue is gone waits for ever if nobody tells it.",
    "security": "Sizes that nobody checks let a stranger fill the memory before the login.",
    "transport/version": "The header is all that peers of different versions have in common, and decides the rest.",
    "transport/frame": "Who misreads one frame misreads all that follow.",
    "transport/open": "What both opens say bounds every later frame, channel and silence.",
    "transport/connection/idle": "A peer that is silent for too long is taken for dead, and its connection is ended.",
    "transport/close": "Both sides have to know that the connection ends in order, and what was lost if it doesn't.",
    "transport/flow": "Credit is what keeps a receiver alive; a sender that misreads it floods or starves it.",
    "transport/session.window": "The window bounds what is under way in a session; who overruns it may be cut off.",
    "transport/transfer": "Transfers are the pieces of messages: who joins them wrongly hands over what nobody sent.",
    "transport/disposition": "An outcome that reaches the wrong delivery loses a message, or sends it twice.",
    "transport/link": "Links begin, end and come again alone; an end without an answer leaves both sides apart.",
    "transport/resume": "After a loss both ends have to agree what became of each delivery.",
    "resume": "After a loss both ends have to agree what became of each delivery.",
    "transport/error": "The condition is all that a program learns of what went wrong.",
    "transactions": "All of a transaction happens, or none of it.",
}
"""Why rules matter, by how their ids begin behind the version: the longest counts."""
BY_LAYER: Final[Mapping[str, str]] = {
    "access": "Who may do what is decided here.",
    "conn": "Both sides have to agree on the state of the connection, or every later frame is an error to one of them.",
    "dtx": "A transaction over several resources ends in the same way in all of them.",
    "file": "What is transferred has to arrive whole.",
    "model": "Programs rely on what queues and exchanges do with their messages.",
    "rabbitmq": "Programs rely on this extension, with whichever server announces it.",
    "sess": "Both sides have to agree on the state of the session, or they lose or repeat commands.",
    "stream": "What is transferred has to arrive in order.",
    "test": "A peer tells what it understood.",
    "tunnel": "What is tunnelled has to arrive as it was sent.",
    "tx": "All of a transaction happens, or none of it.",
    "wire": "Who misreads octets takes them for something else, and acts on it.",
    "xfer": "A message is delivered, and settled once: neither lost nor handed over twice unnoticed.",
}
"""Why rules matter, by their layers."""


@cache
def layers() -> Mapping[str, str]:
    """Return the layer of each rule."""
    found: dict[str, str] = {}
    for path in sorted((ROOT / "docs" / "rules").glob("rules-*.csv")):
        with path.open(encoding="utf-8", newline="") as file:
            found |= {row["id"]: row["layer"] for row in csv.DictReader(file)}
            found |= {name.partition(" ->")[0]: layer for name, layer in found.items()}
    return found


def why(rule: str) -> str:
    """Return why a rule matters."""
    name = rule.partition("/")[2]
    fitting = [each for each in WHY if name.startswith(each)]
    return WHY[max(fitting, key=len)] if fitting else BY_LAYER[layers()[rule]]


def file_name(version: str) -> str:
    """Return the name of a version's page, in docs."""
    return f"probe/amqp_{version.replace('-', '_').replace('.', '_')}.md"


def page(version: str) -> str:
    """Return the page of a version."""
    servers = [each for each in CASES if each.version == version]
    clients = [each for each in CLIENT_CASES if each.version == version]
    lines = [
        f"# What the probe asks of {version}",
        "",
        "Written by `python -m tools.docs.probe` from the cases of [the probe](../probe.md); a test compares the two.",
        "",
        f"{len(servers)} cases for servers, {len(clients)} for clients. A rule's name is its id in "
        "[the rules' files](../rules/README.md), its text ours. What a case sends, and what the embedded broker says "
        "to it, is named by units, in their order. To see a case with all its fields and octets, run it alone: "
        "`amqp-sansio probe URL --only CASE --record recorded --html case.html`.",
    ]
    if servers:
        lines += ["", "## Servers", *_servers(servers)]
    if clients:
        lines += ["", "## Clients", "", _CLIENTS, *_clients(clients)]
    return "\n".join(lines) + "\n"


_CLIENTS: Final = (
    "The program under test is told one thing in each case; the server answers as the specification asks, but for what "
    "the rule is about. To see a case, run `amqp-sansio probe --client COMMAND --only CASE --record recorded`."
)


def _servers(cases: Sequence[Case]) -> Iterator[str]:
    wires = _wires(cases)
    for rule, some in groupby(cases, key=lambda case: case.rule):
        grouped = list(some)
        yield from _rule(rule, grouped)
        for case in grouped:
            needs = ", ".join([each for each in case.needs if each != case.version])
            yield ""
            harm = " It may harm other users: `--gentle` leaves it out." if case.may_harm else ""
            yield f"`{case.name}`{f' (needs {needs})' if needs else ''}: expected is {case.expected}.{harm}"
            yield from _differences(case.name)
            if case.name in wires:
                yield ""
                yield from wires[case.name]


def _clients(cases: Sequence[ClientCase]) -> Iterator[str]:
    for rule, some in groupby(sorted(cases, key=lambda case: case.rule), key=lambda case: case.rule):
        grouped = list(some)
        yield from _rule(rule, grouped)
        for case in grouped:
            size = f", bodies of {case.order.size:,} octets" if case.order.size > 100 else ""
            busy = f", {case.order.busy:g} seconds for each message" if case.order.busy else ""
            yield ""
            yield f"`{case.name}`: the program is told `{case.order.do}`{size}{busy}. Expected is {case.expected}."


def _rule(rule: str, cases: Sequence[Case] | Sequence[ClientCase]) -> Iterator[str]:
    clauses = dict.fromkeys([each.clause for each in cases])
    yield from ["", f"### {rule}", "", f"Level: {cases[0].level}. {' '.join(clauses)}", "", why(rule)]


def _differences(name: str) -> Iterator[str]:
    for profile, deviations in PROFILES.items():
        if (found := deviations.get(name)) is not None:
            yield f"{profile} documents a difference: {found.reason} ([page]({found.link}))."


def _wires(cases: Sequence[Case]) -> dict[str, list[str]]:
    """Run the cases against the embedded broker, in memory; return what both sides said in each."""
    runner = _runner(Settings(dialect="rabbitmq"), PROFILES["rabbitmq"])
    found: dict[str, list[str]] = {}
    for case, result in zip(cases, runner.run(cases), strict=True):
        lines: list[str] = []
        for number, connection in enumerate(result.connections, 1):
            diagram = diagram_of(connection)
            if diagram is None or not diagram.units:
                continue
            where = f", connection {number}" if len(result.connections) > 1 else ""
            for sender, words in (("client", "Sent"), ("server", "Answered")):
                names = _folded([each.event for each in diagram.units if each.sender == sender])
                names += _odd(connection, diagram, sender)
                lines.append(f"- {words}{where}: {', '.join(names) or 'nothing'}")
        if lines and result.verdict is not Verdict.NOT_RUN:
            found[case.name] = lines
    return found


def _odd(connection: Connection, diagram: Diagram, sender: str) -> list[str]:
    """Return the octets of a side behind its units, if all units are known."""
    if len(diagram.units) < diagram.total:
        return []
    octets = b"".join([each.octets for each in connection.pieces if each.sender == sender])
    rest = octets[sum(each.size for each in diagram.units if each.sender == sender) :]
    if not rest:
        return []
    return [f"`{rest[:ODD].hex(' ')}`{f' ... ({len(rest):,} octets)' if len(rest) > ODD else ''}"]


def _folded(names: Sequence[str]) -> list[str]:
    """Return names, those that follow on themselves as one."""
    folded: list[str] = []
    for name, some in groupby(names):
        count = len(list(some))
        folded.append(name if count == 1 else f"{count:,} x {name}")
    return folded if len(folded) <= UNITS else [*folded[:UNITS], "..."]


def overview() -> str:
    """Return docs/probe.md with its blocks as the cases and the embedded broker are now. Raises ValueError."""
    text = (ROOT / "docs" / OVERVIEW).read_text(encoding="utf-8")
    for name, block in (("cases", _counts), ("expect", _expectation), ("embedded", _embedded)):
        begin = f"<!-- {name}, by python -m tools.docs.probe -->\n"
        before, found, rest = text.partition(begin)
        _, ended, after = rest.partition(_END)
        if not found or not ended:
            raise ValueError(f"docs/{OVERVIEW} has no block {name}: put {begin.strip()} and {_END} there")
        text = f"{before}{begin}\n{block()}\n\n{_END}{after}"
    return text


_END: Final = "<!-- end -->"


def _counts() -> str:
    lines = ["| version | cases for servers | cases for clients |", "|---|---|---|"]
    for version in sorted(VERSIONS, key=_age):
        servers, clients = [sum(each.version == version for each in some) for some in (CASES, CLIENT_CASES)]
        lines.append(f"| {version} | {servers} | {clients} |")
    return "\n".join(lines)


def _age(version: str) -> list[int]:
    return [int(part) for part in version.replace("-", ".").split(".")]


def _expectation() -> str:
    count = sum(each.version == "0-9-1" for each in CASES)
    lines = ["```toml", f"cases = {count}", "", '["0-9-1/exchange.delete/not-found"]', 'verdict = "breaks"']
    return "\n".join([*lines, 'reason = "deleting what isn\'t there succeeds"', "```"])


def _embedded() -> str:
    lines = ["| version | with the dialect `rabbitmq` and the profile | with the dialect `specification` |"]
    lines.append("|---|---|---|")
    runs = [_runner(Settings(dialect="rabbitmq"), PROFILES["rabbitmq"]), _runner(Settings(dialect="specification"))]
    for version in sorted(VERSIONS, key=_age):
        cases = [each for each in CASES if each.version == version]
        words = [badge("", [record_of(each, "") for each in runner.run(cases)]).removeprefix(": ") for runner in runs]
        lines.append(f"| {version} | {' | '.join(words)} |")
    return "\n".join(lines)


def _runner(settings: Settings, profile: Mapping[str, Deviation] | None = None) -> Runner:
    """Return what runs cases against the embedded broker, in memory."""
    server = HubServer(settings)
    login, patience = Login(), Patience()
    return Runner(server, login, find_capabilities(server, login, patience), profile=profile)


def table(paths: Sequence[Path]) -> str:
    """Return a table of runs side by side: the cases in which not all conform."""
    runs = runs_of([(path.stem, read_records(path.read_text(encoding="utf-8").splitlines())) for path in paths])
    lines = [f"- {badge(each.peer, each.records)}" for each in runs]
    lines += ["", f"| case | level | {' | '.join([each.peer for each in runs])} |", "|---" * (len(runs) + 2) + "|"]
    found = [{each.case: each for each in one.records} for one in runs]
    for name in dict.fromkeys([each.case for one in runs for each in one.records]):
        records = [one.get(name) for one in found]
        ran = [each for each in records if each is not None and each.verdict is not Verdict.NOT_RUN]
        if all(each.verdict in (Verdict.CONFORMS, Verdict.INFORMATIONAL) for each in ran):
            continue
        words = ["" if each is None or each.verdict is Verdict.NOT_RUN else each.verdict.value for each in records]
        lines.append(f"| `{name}` | {ran[0].level} | {' | '.join(words)} |")
    return "\n".join(lines)


def main(arguments: list[str] | None = None) -> int:
    """Write or check the pages, or print a table of runs; return the exit status."""
    words = sys.argv[1:] if arguments is None else arguments
    files = [Path(word) for word in words if not word.startswith("-")]
    if files:
        print(table(files))
        return 0
    (ROOT / "docs" / "probe").mkdir(exist_ok=True)
    pages: dict[str, Callable[[], str]] = {OVERVIEW: overview}
    pages |= {**{file_name(version): partial(page, version) for version in VERSIONS}}
    return max([run(name, made, words, command="probe") for name, made in pages.items()])


if __name__ == "__main__":
    sys.exit(main())
