"""Tables of the page, and their cells."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING

from .markup import Content, Markup, element, join
from .scales import count, octets, share

if TYPE_CHECKING:
    from .measures import Top


def table(
    headings: Sequence[str],
    rows: Iterable[Sequence[Content]],
    *,
    title: str,
    right: Collection[int] = (),
    wide: Collection[int] = (),
    text: Collection[int] = (),
    note: str = "",
    folded: bool = False,
) -> Markup:
    """Return a table below its title, or nothing without rows. On a narrow page the cells of a row with many, or with
    texts, stand below each other, each beside its heading.

    Columns in `right` are numbers; those in `wide`, and `text` more so, have room and break anywhere. A `folded` table
    shows its rows when it is opened.
    """
    names = [
        "num" if at in right else "text" if at in text else "wide" if at in wide else None
        for at in range(len(headings))
    ]
    stacks = len(headings) > 3 or bool(text) or (len(headings) > 2 and bool(wide))
    body = [
        element(
            "tr",
            *[
                element("td", cell, class_=name, data_h=words if stacks else None)
                for cell, name, words in zip(row, names, headings, strict=True)
            ],
        )
        for row in rows
    ]
    if not body:
        return Markup("")
    head = element(
        "tr", *[element("th", words, class_=name, scope="col") for words, name in zip(headings, names, strict=True)]
    )
    grid = element(
        "div",
        element("table", element("thead", head), element("tbody", *body)),
        class_="table stack" if stacks else "table",
        tabindex=0,
    )
    notes = element("p", note, class_="note") if note else None
    if folded:
        words = f"{title} ({len(body):,})"
        return element("details", element("summary", words), grid, notes)
    return join([element("h3", title), grid, notes])


def share_bar(part: int, whole: int) -> Markup:
    """Return a bar for a part of a whole."""
    width = 0 if not whole else 100 * part / whole
    return element("div", element("i", style=f"width:{width:.1f}%"), class_="share", title=share(part, whole))


def amounts(sums: Sequence[int]) -> tuple[str, ...]:
    """Return messages, bad ends, violations and octets of connections counted together."""
    messages, bad, violations, size = sums
    return count(messages), count(bad), count(violations), octets(size)


def cut_note(top: Top, most: int, what: str, there: int | None = None) -> str:
    """Return a note about keys left out of a list."""
    keys = top.keys if there is None else there
    if not top.exact or keys is None:
        return (
            f"There are too many different {what} to count each: "
            f"the figures are estimates from {top.limit:,} rows of {top.rows:,}."
        )
    return part_note(what, most, keys)


def part_note(what: str, most: int, there: int) -> str:
    """Return a note that only some items are shown."""
    return f"{most:,} of {there:,} {what}, the most frequent." if there > most else ""


__all__ = ["amounts", "cut_note", "part_note", "share_bar", "table"]
