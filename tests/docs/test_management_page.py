"""docs/management.md names each path that the management API answers, with its methods, and no other."""

import re
from pathlib import Path

from amqp_sansio.broker.management.api import ROUTES

PAGE = Path(__file__).resolve().parents[2] / "docs" / "management.md"


def paths_of_the_page() -> set[tuple[str, str]]:
    """Each path of the table, with a method."""
    found: set[tuple[str, str]] = set()
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        cells = line.split("|")
        if len(cells) == 6 and re.search(r"GET|PUT|POST|DELETE", cells[2]):
            for path in re.findall(r"`([^`]+)`", cells[1]):
                parts = ["*" if len(part) == 1 and part.isupper() else part for part in path.split("/")]
                found |= {("/".join(parts), method.strip()) for method in cells[2].split(",")}
    return found


def paths_of_the_api() -> set[tuple[str, str]]:
    found: set[tuple[str, str]] = set()
    for pattern, handlers in ROUTES:
        ways = [pattern.replace("{q,e}", kind) for kind in ("q", "e")] if "{" in pattern else [pattern]
        found |= {(way, method) for way in ways for method in handlers}
    return found


def test_the_page_has_every_path() -> None:
    assert paths_of_the_page() == paths_of_the_api()
