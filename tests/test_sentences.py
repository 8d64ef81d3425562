"""Docstrings and comments put the subject first: no statement begins with a free relative ("What a message takes.")."""

import io
import re
import tokenize
from collections.abc import Iterator

import pytest

from tests.test_layout import ADAPTERS, CORE, ROOT, python_files

FREE_RELATIVE = re.compile(r"(?:What|Who|Which)(?:ever)?\b|(?:Whom|Whose)\b")
HEADING = re.compile(rf"{FREE_RELATIVE.pattern}|How\b")
ENDS = re.compile(r"(?<=[.?!:])[\"')`]*\s+")
BREAK = re.compile(r"\n\s*\n|\n\s*(?=(?:[-*]|\d+\.) )")
"""Ends of paragraphs, and list items."""
BETWEEN = frozenset(
    {tokenize.NEWLINE, tokenize.NL, tokenize.INDENT, tokenize.DEDENT, tokenize.COMMENT, tokenize.ENCODING}
)


def test_no_statement_begins_with_a_free_relative() -> None:
    wrong = [
        f"{path.relative_to(ROOT)}: {it}"
        for path in python_files(CORE, ADAPTERS)
        for it in _free_relatives(path.read_text(encoding="utf-8"))
    ]
    assert not wrong, "put the subject first:\n" + "\n".join(wrong)


def test_no_heading_begins_with_a_free_relative() -> None:
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
    lines = [(page, line.strip("# ")) for page in pages for line in page.read_text().splitlines() if line[:1] == "#"]
    assert not [f"{page}: {line}" for page, line in lines if HEADING.match(line) and not line.endswith("?")]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ('"""What it takes."""', ["What it takes."]),
        ('"""A sum.\n\n    Who asks\n    gets it.\n"""', ["Who asks gets it."]),
        ("x = 1  # One\ny = 2  # Whatever comes.", ["Whatever comes."]),
        ("# It is so. Which one\n# is unknown.", ["Which one is unknown."]),
        ('"""Rules:\n\n- What is sent.\n2. Who sends.\n"""', ["What is sent.", "Who sends."]),
        ('class A:\n    x = 1\n    """Whose turn it is."""', ["Whose turn it is."]),
        ('"""Bounds: What holds."""', ["What holds."]),
        ('"""Which one is it? Whether it fits, see there. See x.What."""', []),
        ('say("What a caller passes.")\nx = "What is data."', []),
    ],
)
def test_sentences_are_found(source: str, expected: list[str]) -> None:
    assert list(_free_relatives(source)) == expected


def _free_relatives(source: str) -> Iterator[str]:
    for text in _texts(source):
        for part in BREAK.split(text):
            plain = re.sub(r"^\s*(?:[-*]|\d+\.) ", "", " ".join(part.split()))
            for sentence in ENDS.split(plain):
                if FREE_RELATIVE.match(sentence) and not sentence.endswith("?"):
                    yield sentence


def _texts(source: str) -> Iterator[str]:
    """Docstrings, and comments; those on lines that follow each other are one text."""
    starts_statement, comment, last = True, "", 0
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            alone = token.line.lstrip().startswith("#")
            if not alone or token.start[0] != last + 1:
                yield comment
                comment = ""
            comment, last = (f"{comment} {token.string.lstrip('#: ')}", token.start[0] if alone else 0)
        elif token.type == tokenize.STRING and starts_statement:
            yield token.string.lstrip("rbuRBU").strip("\"'")
        if token.type not in BETWEEN:
            starts_statement = False
        elif token.type == tokenize.NEWLINE:
            starts_statement = True
    yield comment
