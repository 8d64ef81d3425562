"""The page as Markdown or plain text: the same findings and tables, for a ticket or a terminal. Charts are left out."""

from __future__ import annotations

from html.parser import HTMLParser
from typing import Final, Literal, TypeAlias

Form: TypeAlias = Literal["md", "text"]

_LEFT_OUT: Final = frozenset({"head", "nav", "figure", "svg", "script", "noscript", "form", "aside"})
_LINES: Final = {"h1": "# ", "h2": "## ", "h3": "### ", "summary": "### ", "p": "", "li": "- "}
"""Elements that are a line of their own, with its mark in Markdown."""
_DIAGRAMS: Final = "sequence"
_VOID: Final = frozenset({"br", "hr", "img", "input", "meta"})


def as_text(html: str, form: Form) -> str:
    """Return the text of a report's page: Markdown with tables, or plain text with aligned columns."""
    reader = _Page(form)
    reader.feed(html)
    reader.close()
    return "\n".join(reader.lines).strip("\n") + "\n"


class _Page(HTMLParser):
    """Lines of the page: headings, paragraphs, items, tables, and the tiles as a table of two columns."""

    def __init__(self, form: Form) -> None:
        super().__init__()
        self.lines: list[str] = []
        """What was written so far."""
        self._form = form
        """Markdown, or plain text."""
        self._skipped = 0
        """How many elements that are left out are open."""
        self._section: str | None = None
        """The kind of section that is open."""
        self._is_badge = False
        """Whether the text at hand is a badge's."""
        self._pieces: list[str] = []
        """The text of the element at hand."""
        self._rows: list[list[str]] = []
        """Of the table at hand."""
        self._right: list[bool] = []
        """Which of its columns are numbers."""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if self._skipped or tag in _LEFT_OUT or given.get("id") == _DIAGRAMS:
            self._skipped += tag not in _VOID
        elif tag in _LINES or tag in ("td", "th", "dt", "dd"):
            self._pieces = []
        elif tag == "tr":
            self._rows.append([])
        elif tag in ("table", "dl"):
            self._rows = []
            self._right = []
        elif given.get("class") == "more":
            self._pieces.append(": ")
        else:
            self._is_badge = (given.get("class") or "").startswith("badge")
            self._pieces.append(" ")
        if tag == "th" and not self._skipped:
            self._right.append("num" in (given.get("class") or ""))

    def handle_endtag(self, tag: str) -> None:
        if self._skipped:
            self._skipped -= 1
            return
        text = " ".join("".join(self._pieces).split()).replace(" :", ":").removesuffix(":")
        if tag in _LINES:
            if text:
                self._add(tag, text)
            self._pieces = []
        elif tag in ("td", "th", "dd"):
            self._rows[-1].append(text)
        elif tag == "dt":
            self._rows.append([text])
        elif tag == "table":
            self._table(self._rows)
        elif tag == "dl":
            self._right = [False, True]
            self._table([["", ""], *self._rows] if self._form == "md" else self._rows)

    def handle_data(self, data: str) -> None:
        if not self._skipped:
            self._pieces.append(f"{data}:" if self._is_badge else data)
            self._is_badge = False

    def _add(self, tag: str, text: str) -> None:
        mark = _LINES[tag] if self._form == "md" or tag == "li" else ""
        if tag == "h2":
            # A section that has only charts has no lines.
            self._section = f"{mark}{text}" if mark else text.upper()
            return
        self._begin(tag != "li")
        self.lines.append(mark + text)

    def _begin(self, apart: bool) -> None:
        """Begin a paragraph, with the heading of its section before the first."""
        if self._section is not None:
            self.lines += ["", self._section, ""]
            self._section = None
        elif apart:
            self.lines.append("")

    def _table(self, rows: list[list[str]]) -> None:
        self._begin(True)
        if self._form == "md":
            cells = [" | ".join(cell.replace("|", "\\|") for cell in row) for row in rows]
            marks = " | ".join("---:" if right else "---" for right in self._right)
            self.lines += [f"| {line} |" for line in (cells[0], marks, *cells[1:])]
            return
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        for row in rows:
            cells = [
                cell.rjust(width) if right else cell.ljust(width)
                for cell, width, right in zip(row, widths, self._right, strict=True)
            ]
            self.lines.append("  ".join(cells).rstrip())


__all__ = ["Form", "as_text"]
