"""Topic patterns: against a matcher that follows their definition, in any number, leaving nothing behind."""

import pickle
from functools import cache, partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amqp_sansio.broker.model.topic import TopicTrie
from tests.kit.steps import count_steps

PATTERN_WORDS = st.sampled_from(("a", "b", "", "*", "#"))
PATTERNS = st.lists(PATTERN_WORDS, max_size=6).map(".".join)
KEYS = st.lists(st.sampled_from(("a", "b", "c", "")), max_size=7).map(".".join)


def matches(pattern: str, key: str) -> bool:
    """By the definition: `*` is one word, `#` any number of them; the empty text has no word."""
    patterns = tuple(pattern.split(".")) if pattern else ()
    words = tuple(key.split(".")) if key else ()

    @cache
    def rest(at: int, word: int) -> bool:
        if at == len(patterns):
            return word == len(words)
        if patterns[at] == "#":
            return any(rest(at + 1, later) for later in range(word, len(words) + 1))
        return word < len(words) and patterns[at] in ("*", words[word]) and rest(at + 1, word + 1)

    return rest(0, 0)


def trie_of(*patterns: str) -> TopicTrie[str]:
    trie: TopicTrie[str] = TopicTrie()
    for pattern in patterns:
        trie.add(pattern, pattern)
    return trie


@pytest.mark.rule("0-8/exchange.topic/wildcards", "0-9-1/exchange.topic/wildcards", "0-10/model/topic-binding")
@pytest.mark.parametrize(
    ("pattern", "matching", "others"),
    [
        ("*.stock.#", ("usd.stock", "eur.stock.db"), ("stock.nasdaq", "stock", "a.b.stock")),
        ("a.#", ("a", "a.b", "a.b.c", "a."), ("", "b", "aa", "b.a")),
        ("#.a", ("a", "b.a", "a.a"), ("", "a.b")),
        ("#", ("", "a", "a.b.c", "..."), ()),
        ("*", ("a", "#"), ("", "a.b")),
        ("*.*", ("a.b", ".", "a."), ("a", "a.b.c")),
        ("#.#", ("", "a", "a.b"), ()),
        ("#.*", ("a", "a.b.c"), ("",)),
        ("*.#.*", ("a.b", "a.x.b"), ("", "a")),
        ("a.#.b.#.c", ("a.b.c", "a.x.b.y.z.c", "a.b.b.c.c"), ("a.c.b", "a.b", "b.c")),
        ("", ("",), ("a", ".")),
        ("a..b", ("a..b",), ("a.b", "a.x.b")),
        ("a*.b", ("a*.b",), ("ax.b",)),
    ],
    ids=lambda value: value if isinstance(value, str) else None,
)
def test_a_star_is_one_word_and_a_hash_any_number(
    pattern: str, matching: tuple[str, ...], others: tuple[str, ...]
) -> None:
    trie = trie_of(pattern)
    assert [key for key in matching + others if trie.match(key)] == list(matching)
    assert [key for key in matching + others if matches(pattern, key)] == list(matching)


@given(st.lists(PATTERNS, max_size=12), st.lists(KEYS, max_size=8))
def test_it_finds_what_the_definition_finds(patterns: list[str], keys: list[str]) -> None:
    trie = trie_of(*patterns)
    for key in keys:
        found = list(trie.match(key))
        assert len(found) == len(set(found))
        assert set(found) == {pattern for pattern in patterns if matches(pattern, key)}


@given(st.lists(st.tuples(PATTERNS, st.sampled_from("xyz")), max_size=16), st.data())
def test_what_is_added_and_removed_leaves_nothing_behind(bindings: list[tuple[str, str]], data: st.DataObject) -> None:
    trie: TopicTrie[str] = TopicTrie()
    for pattern, destination in bindings:
        trie.add(pattern, destination)
    left = list(bindings)
    removed = data.draw(st.permutations(bindings))
    middle = data.draw(st.integers(0, len(bindings)))
    for index, (pattern, destination) in enumerate(removed):
        if index == middle:
            trie = pickle.loads(pickle.dumps(trie))
        trie.remove(pattern, destination)
        left.remove((pattern, destination))
        for key in ("", "a", "a.b", "b..a.c"):
            assert set(trie.match(key)) == {each for pattern, each in left if matches(pattern, key)}
    assert trie.count_nodes() == 1


@given(st.lists(PATTERNS, max_size=12), KEYS)
def test_a_pickled_one_finds_the_same_in_the_same_order(patterns: list[str], key: str) -> None:
    trie = trie_of(*patterns)
    again: TopicTrie[str] = pickle.loads(pickle.dumps(trie))
    assert list(again.match(key)) == list(trie.match(key))
    assert again.count_nodes() == trie.count_nodes()


@pytest.mark.parametrize("pattern", ("." * 255, ".".join("a" * 128), ".".join("#a" * 64)))
def test_the_longest_patterns_pickle(pattern: str) -> None:
    trie = trie_of(pattern)
    assert pickle.loads(pickle.dumps(trie)).count_nodes() == trie.count_nodes()


@pytest.mark.parametrize(
    ("pattern", "destination"),
    [
        pytest.param("a", "a", id="the beginning of a pattern"),
        pytest.param("a.b.c", "a.b", id="a longer pattern"),
        pytest.param("a.b", "other", id="another destination"),
        pytest.param("*", "*", id="another pattern"),
    ],
)
def test_what_is_not_there_can_not_be_removed(pattern: str, destination: str) -> None:
    trie = trie_of("a.b", "#.a")
    with pytest.raises(KeyError):
        trie.remove(pattern, destination)
    assert list(trie.match("a.b")) == ["a.b"]


def test_many_hashes_in_one_pattern_are_not_tried_in_every_way() -> None:
    # Every way to spread 100 words over 40 hashes would take longer than there is time.
    trie = trie_of(".".join(["#", "a"] * 40 + ["b"]))
    key = ".".join("a" * 100)

    def match() -> None:
        assert not trie.match(key)
        assert trie.match(f"{key}.b")

    most = 100_000
    assert count_steps(match, most) < most


FORMS = ("{}.stock.price", "*.{}.#", "#.{}.z", "stock.{}.#", "stock.*.{}.#.x{}", "x.#.{}")


@pytest.mark.parametrize("form", FORMS)
def test_bindings_that_do_not_match_cost_nothing(form: str, number: int = 5000) -> None:
    """tests/system/broker/test_topics_at_large.py tries it with 100,000 of them."""
    few, many = (trie_of(*[form.replace("{}", f"k{n}") for n in range(count)]) for count in (100, number))
    keys = [form.replace("{}", f"k{n}").replace("*", "w").replace("#", "v.w") for n in range(0, 100, 3)]
    for key in keys:
        assert list(many.match(key)) == list(few.match(key))
        assert len(many.match(key)) == 1
        assert count_steps(partial(many.match, key)) == count_steps(partial(few.match, key))
