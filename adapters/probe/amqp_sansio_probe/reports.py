"""Reports of a run: lines for the terminal, and JUnit's XML. The page is in `page`, JSON lines in `records`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Final
from xml.etree import ElementTree

from amqp_sansio.printing import printable

from .records import Record
from .verdicts import FAILURES, KEPT, Verdict

MARKS: Final[Mapping[Verdict, str]] = {
    Verdict.CONFORMS: "ok",
    Verdict.OTHER_CODE: "ok, other code",
    Verdict.NON_STRICT: "non-strict",
    Verdict.DOCUMENTED: "documented",
    Verdict.BREAKS: "BREAKS",
    Verdict.UNCLEAN: "UNCLEAN",
    Verdict.HARMED: "HARMED",
    Verdict.UNSTABLE: "UNSTABLE",
    Verdict.INCONCLUSIVE: "inconclusive",
    Verdict.NOT_RUN: "not run",
    Verdict.INFORMATIONAL: "info",
}
"""The short words of a tree and of a matrix."""


class Tree:
    """Writes results as a tree, each under its version and the part of its rule."""

    def __init__(self, total: int) -> None:
        self._total = total
        self._count = 0
        self._part = ""

    def lines(self, record: Record) -> Iterator[str]:
        """Return the lines of the next record."""
        self._count += 1
        version, _, rest = record.case.partition("/")
        part, _, name = rest.partition("/")
        heading = f"{version} {part}"
        if heading != self._part:
            self._part = heading
            yield heading
        width = len(str(self._total))
        yield f"  {self._count:>{width}}/{self._total}  {MARKS[record.verdict]:<14}  {name}"
        if record.verdict not in KEPT:
            indent = " " * (2 * width + 5)
            if record.verdict in FAILURES or record.verdict is Verdict.NON_STRICT:
                yield f"{indent}rule: {record.clause} ({record.level})"
                yield f"{indent}expected: {record.expected}"
            yield f"{indent}seen: {printable(record.seen)}"
            if record.note:
                yield f"{indent}{printable(record.note)}"


def badge(peer: str, records: Sequence[Record]) -> str:
    """Return the run in one line: "RabbitMQ 4.1: 46 of 48 MUST, 2 deviations, 1 unclean"."""
    done = [each for each in records if each.verdict not in (Verdict.NOT_RUN, Verdict.INFORMATIONAL)]
    musts = [each for each in done if each.level == "must"]
    kept = sum(each.verdict in KEPT for each in musts)
    counts = Counter([each.verdict for each in records])
    rest = [
        f"{counts[verdict]} {word}"
        for verdict, word in (
            (Verdict.BREAKS, "broken"),
            (Verdict.HARMED, "harmed"),
            (Verdict.UNCLEAN, "unclean"),
            (Verdict.UNSTABLE, "unstable"),
            (Verdict.DOCUMENTED, "documented deviations"),
            (Verdict.NON_STRICT, "non-strict"),
            (Verdict.INCONCLUSIVE, "inconclusive"),
            (Verdict.NOT_RUN, "not run"),
        )
        if counts[verdict]
    ]
    return printable(", ".join([f"{peer}: {kept} of {len(musts)} MUST", *rest]))


def junit(peer: str, records: Sequence[Record], ended: str = "") -> str:
    """Return the run as JUnit's XML: failures are what breaks a rule, or harms.

    `ended` says why the run couldn't begin, or didn't get to its end, "" if it did: that is an error, of a testcase of
    its own behind the others.
    """
    counts = Counter([each.verdict for each in records])
    suite = ElementTree.Element(
        "testsuite",
        {
            "name": _xml(f"amqp-sansio probe: {peer}"),
            "tests": str(len(records) + bool(ended)),
            "failures": str(sum(counts[each] for each in FAILURES)),
            "errors": str(int(bool(ended))),
            "skipped": str(counts[Verdict.NOT_RUN] + counts[Verdict.INCONCLUSIVE]),
            "time": f"{sum(each.seconds for each in records):.3f}",
        },
    )
    for each in records:
        case = ElementTree.SubElement(
            suite, "testcase", {"classname": each.rule, "name": each.case, "time": f"{each.seconds:.3f}"}
        )
        text = f"rule: {each.clause}\nexpected: {each.expected}\nseen: {each.seen}\n{each.note}".strip()
        if each.verdict in FAILURES:
            about = {"type": each.verdict.value, "message": _xml(each.seen)}
            ElementTree.SubElement(case, "failure", about).text = _xml(text)
        elif each.verdict in (Verdict.NOT_RUN, Verdict.INCONCLUSIVE):
            ElementTree.SubElement(case, "skipped", {"message": _xml(f"{each.verdict.value}: {each.seen}")})
        else:
            ElementTree.SubElement(case, "system-out").text = _xml(f"{each.verdict.value}\n{text}")
    if ended:
        case = ElementTree.SubElement(suite, "testcase", {"classname": "run", "name": "run", "time": "0.000"})
        ElementTree.SubElement(case, "error", {"type": "ended", "message": _xml(ended)}).text = _xml(ended)
    ElementTree.indent(suite)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + ElementTree.tostring(suite, encoding="unicode") + "\n"


def _xml(text: str) -> str:
    """Return a text with nothing that XML 1.0 can't carry."""
    return printable(text.replace("\n", "\u2028")).replace("\\u2028", "\n").replace("\u2028", "\n")
