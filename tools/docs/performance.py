"""docs/performance.md: the results of the last `make bench`, as bars."""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from collections.abc import Sequence
from typing import Final

from benchmarks.measure import Case
from tools.docs.pages import ROOT, run

SECTIONS: Final = (
    ("Codecs and engines", r"(0-9-1|0-10|1\.0) (de|en)code|table (de|en)code|1\.0 engine|1\.0 observer|observer vs"),
    ("Clients", r"asyncio|sync"),
    ("The cost of options", r"(asyncio|sync) .* vs plain"),
    ("Broker", r"broker 0-9-1|broker with|broker topic|Service Bus"),
    ("Captures", r"replay of (0-9-1|1\.0|events)|spark|Spark"),
    ("Memory and import", r"idle|import"),
    (
        "As work grows",
        r"linear|observing|accepting|broker queue|a queue with|\w+ routing|replay of a pipe|memory of|16-octet"
        r"|0-9-1 decode fed|10,000 ",
    ),
    ("Fast paths", r"fast path, "),
    ("With the part in C", r"compiled, "),
    ("Against the code before", r".* vs before"),
)
"""The titles of the page, with the begins of their cases; the last that fits has a case."""
NOTES: Final = {
    "Clients": (
        "Of asyncio's client beside rabbitmq-c, with RabbitMQ on the same two cores:",
        "",
        "- The ratios tell of the machine as well: on two cores of AMD EPYC publish, consume, consume+ack, confirm and "
        "`later` were at 1.1, 0.37, 0.77, 0.29 and 0.81 with the code of some commits before. There rabbitmq-c took "
        "two to three and a half times as long as here, but for consuming.",
        "- While the machine does other work, the CPU seconds of one and the same step lie in two groups, the higher "
        "one 1.8 times the lower; why isn't known, for the processor is a virtual one. So seconds show a part of what "
        "instructions gain, and vary by half from run to run.",
        "- rabbitmq-c wakes for each 8 to 18 deliveries, which is most of its cost: the ratio tells of the broker's "
        "pace, too. `all of it sent at once` leaves the broker out; there rabbitmq-c takes 0.3 us for a delivery, ours "
        "1.4, and a step of any asynchronous iteration in Python 0.15.",
        "- `confirm` is `asyncio.gather` of publishes, which makes a task and a future for each: more than half of it. "
        "An awaitable with less than asyncio's future, woken together with the others, takes as long. `later` makes no "
        "tasks.",
    )
}
"""Lines behind a table, by its title: measured once, by sampling."""
CELLS: Final = 12
"""Of the longest bar of a section."""
UNKNOWN: Final = "a machine that wasn't noted"


def page() -> str:
    """Return the whole page."""
    results: list[Case] = json.loads((ROOT / "benchmarks" / "results.json").read_text(encoding="utf-8"))
    lines = [
        "# Performance",
        "",
        "Written by `make bench`, and by `python -m tools.docs.performance` from `benchmarks/results.json`; a test "
        "compares the two.",
        "",
        "A ratio is the peer's cost by ours in one run: above 1, ours is faster or smaller. The contenders of a case "
        "take turns, and its ratio is the median of the rounds. CPU is that of the process; of a broker, that of all "
        "its processes. Times differ between machines more than ratios do, and those differ too: by up to a tenth for "
        "the same code on other days of one machine. `make bench-check` compares yours with these.",
        "",
        "All cases run the pure text, but for those of [the part in C](compiled.md): there ours is with it, and the "
        "peer without it.",
    ]
    machines = machines_of(results)
    if len(machines) == 1:
        lines += ["", f"All cases were measured on one machine: {machines[0]}."]
    else:
        lines += ["", "The machines, by the letter in the column `on`:", ""]
        lines += [f"- {chr(ord('A') + place)}: {name}" for place, name in enumerate(machines)]
    for title, _ in SECTIONS:
        cases = [case for case in results if section_of(case) == title]
        if cases:
            lines += ["", f"## {title}", "", *_table(cases, machines)]
            if title in NOTES:
                lines += ["", *NOTES[title]]
    return "\n".join(lines) + "\n"


def machines_of(results: Sequence[Case]) -> list[str]:
    """Return the machines that have measured the cases, that of most of them first."""
    names = Counter([case.get("machine", UNKNOWN) for case in results])
    return [name for name, _ in names.most_common()]


def section_of(case: Case) -> str:
    """Return the title that a case stands under. Raises ValueError for a case that none fits."""
    found = [title for title, begins in SECTIONS if re.match(begins, case["case"])]
    if not found:
        raise ValueError(f"no section of docs/performance.md fits the case {case['case']!r}; add it to SECTIONS")
    return found[-1]


def _table(cases: list[Case], machines: list[str]) -> list[str]:
    longest = max(case["ratio"] for case in cases)
    several = len(machines) > 1
    lines = [
        "| case | ours | peer | unit | ratio | |" + (" on |" if several else ""),
        "|---|--:|--:|---|--:|---|" + ("---|" if several else ""),
    ]
    for case in cases:
        bar = "█" * max(1, round(case["ratio"] / longest * CELLS))
        values = f"{case['ours']:,g} | {case['peer']:,g} | {case['unit']} | {case['ratio']:g} | `{bar}`"
        letter = chr(ord("A") + machines.index(case.get("machine", UNKNOWN)))
        lines.append(f"| {case['case']} | {values} |" + (f" {letter} |" if several else ""))
    return lines


def main(arguments: list[str] | None = None) -> int:
    """Write or check the page; return the exit status."""
    return run("performance.md", page, arguments)


if __name__ == "__main__":
    sys.exit(main())
