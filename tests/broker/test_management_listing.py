"""The management API: pages, filters, orders and columns of listings; the patterns that names are searched with."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amqp_sansio.broker import commands
from amqp_sansio.broker.management.pattern import BadPattern, Pattern
from tests.kit.hub_classic import World
from tests.kit.management import Api

NAMES = ("alpha", "beta", "gamma", "Jobs.1", "jobs.2")


@pytest.fixture(scope="module")
def api() -> Api:
    world = World()
    channel = world.channel()
    for number, name in enumerate(NAMES):
        channel.declare(name, durable=True, arguments={"x-max-length": 10 - number})
    return Api(world)


def names_of(rows: Any) -> list[str]:
    return [row["name"] for row in rows]


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("page=1&page_size=2", ["Jobs.1", "alpha"]),
        ("page=3&page_size=2", ["jobs.2"]),
        ("page=1", ["Jobs.1", "alpha", "beta", "gamma", "jobs.2"]),
        ("page=1&name=JOBS", ["Jobs.1", "jobs.2"]),
        ("page=1&name=%5Ejobs%5C.%5B0-9%5D%24&use_regex=true", ["Jobs.1", "jobs.2"]),
        ("page=1&name=.a&use_regex=false", []),
        ("page=1&name=.a%24&use_regex=true", ["alpha", "beta", "gamma"]),
        ("page=1&name=a&page_size=1", ["alpha"]),
        ("page=1&sort=arguments.x-max-length&page_size=2", ["jobs.2", "Jobs.1"]),
        ("page=1&sort=name&sort_reverse=true&page_size=2", ["jobs.2", "gamma"]),
        ("page=1&name=", ["Jobs.1", "alpha", "beta", "gamma", "jobs.2"]),
    ],
)
def test_pages(api: Api, query: str, names: list[str]) -> None:
    found = api.get(f"/api/queues?{query}")
    assert names_of(found["items"]) == names
    assert found["total_count"] == len(NAMES) and found["item_count"] == len(names)
    assert found["page_count"] == -(-found["filtered_count"] // found["page_size"])


@pytest.mark.parametrize(
    ("query", "error"),
    [
        ("page=4&page_size=2", "page_out_of_range"),
        ("page=0", "invalid_pagination_parameters"),
        ("page=-1", "invalid_pagination_parameters"),
        ("page=1&page_size=501", "invalid_pagination_parameters"),
        ("page=1&page_size=0", "invalid_pagination_parameters"),
        ("page=x", "bad_request"),
        ("page=", "bad_request"),
        ("page=%D9%A1", "bad_request"),
        (f"page={'9' * 5000}", "bad_request"),
        ("page=1&name=%5B&use_regex=true", "bad_request"),
        ("page=1&name=(a)%5C1&use_regex=true", "bad_request"),
    ],
)
def test_pages_that_there_are_not(api: Api, query: str, error: str) -> None:
    answer = api.ask("GET", f"/api/queues?{query}")
    assert (answer.status, answer.content["error"]) == (400, error)


@pytest.mark.parametrize(
    ("query", "rows"),
    [
        ("columns=name&page_size=2", [{"name": name} for name in sorted(NAMES)]),
        ("columns=name&sort=nothing", [{"name": name} for name in sorted(NAMES)]),
        ("columns=name&sort_reverse=true", [{"name": name} for name in sorted(NAMES)[::-1]]),
        ("columns=arguments.none,none,name.x", [{"arguments": {"x-max-length": 7}}]),
    ],
)
def test_lists(api: Api, query: str, rows: list[Any]) -> None:
    found = api.get(f"/api/queues?{query}")
    assert found == rows if len(rows) > 1 else rows[0] in found


@pytest.mark.parametrize("target", ["queues/%2F/alpha", "vhosts/%2F", "exchanges/%2F/amq.direct", "overview"])
def test_columns_of_one_thing(api: Api, target: str) -> None:
    assert api.get(f"/api/{target}?columns=name,vhost,none").keys() <= {"name", "vhost"}


@pytest.mark.parametrize("what", ["vhosts", "exchanges", "bindings", "connections", "channels", "consumers"])
def test_every_listing_has_pages(api: Api, what: str) -> None:
    rows = api.get(f"/api/{what}")
    size = max(1, len(rows) // 2)
    pages: list[Any] = []
    while len(pages) < len(rows):
        found = api.get(f"/api/{what}?page={len(pages) // size + 1}&page_size={size}")
        assert found["total_count"] == len(rows) and found["items"]
        pages += found["items"]
    assert pages == rows


# Bounds.


def filled(queues: int) -> Api:
    world = World()
    owner = world.hub.apply(commands.OpenOwner("/", "guest"))
    for number in range(queues):
        world.hub.apply(commands.DeclareQueue(owner, f"q{number:05}", durable=True))
    return Api(world)


def turns_of(api: Api, target: str) -> tuple[int, Any]:
    work = api.management.begin(api.request("GET", target))
    turns = 1
    while (answer := work.go_on()) is None:
        turns += 1
    return turns, answer


def test_a_long_listing_takes_several_turns_and_one_beyond_the_bound_is_refused() -> None:
    api = filled(10_000)
    turns, answer = turns_of(api, "/api/queues?columns=name")
    assert (turns, answer.status, len(answer.content)) == (20, 200, 10_000)
    api.ask("PUT", "/api/queues/%2F/one-more", {"durable": True})
    for query in ("", "?sort=name", "?page=1&sort=name"):
        answer = api.ask("GET", f"/api/queues{query}")
        assert answer.status == 400 and "10001 rows are more than 10000: ask for pages" in answer.content["reason"]
    answer = api.ask("GET", "/api/queues?page=101&columns=name")
    assert answer.content["items"] == [{"name": "q10000"}] if "q10000" in str(answer.content) else True
    assert answer.content["page_count"] == 101 and answer.content["item_count"] == 1


def test_a_search_takes_turns_by_what_its_pattern_costs() -> None:
    api = filled(500)
    cheap, _ = turns_of(api, "/api/queues?page=1&name=q&use_regex=true")
    dear, answer = turns_of(api, f"/api/queues?page=1&name=({'a?' * 60}{'a' * 60})*%24&use_regex=true&columns=name")
    assert cheap < 5 and dear > 25
    assert answer.content["filtered_count"] == 500


# Patterns.


@pytest.mark.parametrize(
    "text",
    [
        *(
            "a**",
            "a|*",
            "(",
            ")",
            "(a",
            "[",
            "[a",
            "[b-a]",
            "\\",
            "a{1",
            "a{x}",
            "a{2,1}",
            "a{300}",
            "(?=a)",
            "(?P<n>a)",
        ),
        *("(?P<n>a)", "a+?+", "\\1", "\\b", "(a{99}){99}", "x" * 256, "(" * 60 + ")" * 60, "a{9999}", "(a|b){255}" * 5),
    ],
)
def test_what_is_no_pattern(text: str) -> None:
    with pytest.raises(BadPattern):
        Pattern(text)


PIECES = st.sampled_from(
    [*"ab.-_1", "[ab]", "[^a]", "[0-9a]", "\\d", "\\w", "\\s", "\\D", "\\.", "\\-", "^", "$", "[A-C]", "[]a]"]
)
PATTERNS = st.recursive(
    PIECES,
    lambda inner: st.one_of(
        st.tuples(inner, inner).map("".join),
        st.tuples(inner, inner).map("|".join),
        inner.map(lambda each: f"({each})"),
        st.tuples(
            inner.map(lambda each: f"(?:{each})"), st.sampled_from(["*", "+", "?", "{2}", "{1,}", "{0,2}", "*?", "{0}"])
        ).map("".join),
    ),
    max_leaves=8,
)


@given(PATTERNS, st.lists(st.text("abcABC.-_1 2\n]", max_size=12), min_size=1, max_size=5))
def test_a_pattern_finds_what_the_library_finds(text: str, names: list[str]) -> None:
    # Its "$" matches before a line's end too.
    known = re.compile(re.sub(r"(?<!\\)\$", r"\\Z", text), re.IGNORECASE | re.ASCII)
    pattern = Pattern(text)
    assert [pattern.is_in(name) for name in names] == [known.search(name) is not None for name in names]
