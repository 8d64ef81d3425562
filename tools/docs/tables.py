"""docs/tables.md and docs/histories.md: the meaning of each column, as in the comments of Spark's schemas."""

from __future__ import annotations

import re
import sys
from functools import partial
from itertools import groupby
from typing import Final

from amqp_sansio_spark.comments import COMMENTS
from tools.docs.pages import ROOT, run

PAGES: Final = {
    "tables.md": {name: name for name in ("connections", "events", "messages", "violations", "consumers")},
    "histories.md": {"A step": "histories", "Topology": "topology"},
}
"""The headings of each page, and the table whose columns stand below."""


def page(name: str) -> str:
    """Return the text of a page, its lists of columns made anew."""
    text = (ROOT / "docs" / name).read_text(encoding="utf-8")
    for heading, table in PAGES[name].items():
        section = re.compile(rf"(^## {heading}\n.*?^\|---\|---\|\n)(?:^\|.*?\n)+", re.MULTILINE | re.DOTALL)
        found = section.search(text)
        if found is None:
            raise ValueError(f"docs/{name} has no list of columns below {heading!r}")
        text = text[: found.start()] + found[1] + rows(table) + text[found.end() :]
    return text


def rows(table: str) -> str:
    """Return a line for each column, or for several in succession with the same meaning."""
    lines: list[str] = []
    for comment, columns in groupby(COMMENTS[table], key=COMMENTS[table].__getitem__):
        names = ", ".join([f"`{column}`" for column in columns])
        lines.append(f"| {names} | {comment} |\n")
    return "".join(lines)


def main(arguments: list[str] | None = None) -> int:
    """Write or check the pages; return the exit status."""
    return max([run(name, partial(page, name), arguments, command="tables") for name in PAGES])


if __name__ == "__main__":
    sys.exit(main())
