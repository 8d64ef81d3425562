"""Headers exchanges: what matches, by each mode; what is the same value; headers of every version."""

import pickle
from collections.abc import Mapping
from decimal import Decimal
from typing import Any, cast
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amqp_sansio import amqp_0_10, amqp_1_0
from amqp_sansio._classic.codec.table import Table, Timestamp
from amqp_sansio._classic.codec.table_rules import RABBIT
from amqp_sansio.amqp_1_0 import spec
from amqp_sansio.amqp_1_0.codec.values import decode
from amqp_sansio.broker.model.content import Content
from amqp_sansio.broker.model.exchange import Binding, HeadersExchange, binding_key
from amqp_sansio.broker.model.faults import Fault, FaultKind
from amqp_sansio.broker.model.headers import MODES, HeadersIndex, comparable, match_mode
from tests.kit.broker_topology import Topology, classic, headers_0_10, headers_1_0
from tests.kit.steps import count_steps

NAN = float("nan")
VALUES: st.SearchStrategy[Any] = st.sampled_from(
    (1, True, 0, False, 1.0, "1", b"1", "", None, Decimal(1), NAN, [1], [True], {"a": 1})
)
NAMES = ("a", "b", "c", "x-a", "x-b")
HEADERS: st.SearchStrategy[dict[str, Any]] = st.dictionaries(st.sampled_from(NAMES), VALUES, max_size=4)


def arguments_of(headers: dict[str, Any], mode: str | None) -> dict[str, Any]:
    return headers if mode is None else {**headers, "x-match": mode}


ARGUMENTS = st.builds(arguments_of, HEADERS, st.sampled_from((None, *MODES)))


def same(wanted: Any, value: Any) -> bool:
    """Whether type and value are the same."""
    kind, other = [cast("type[object]", type(each)) for each in (wanted, value)]
    texts = (str, bytes)
    if kind in texts and other in texts:
        return _octets(wanted) == _octets(value)
    if kind is not other:
        return False
    if kind is list:
        return len(wanted) == len(value) and all(map(same, wanted, value))
    if kind is dict:
        return wanted.keys() == value.keys() and all(same(wanted[name], value[name]) for name in wanted)
    return bool(wanted == value or (wanted != wanted and value != value))


def _octets(text: str | bytes) -> bytes:
    return text if isinstance(text, bytes) else text.encode()


def matches(arguments: Mapping[str, Any], headers: Mapping[str, Any]) -> bool:
    """By the definition, pair for pair."""
    mode = arguments.get("x-match", "all")
    hits = [
        name in headers and (value is None or same(value, headers[name]))
        for name, value in arguments.items()
        if name != "x-match" and (mode.endswith("-with-x") or not name.startswith("x-"))
    ]
    return any(hits) if mode.startswith("any") else all(hits)


@given(st.lists(ARGUMENTS, max_size=8), st.lists(HEADERS, max_size=4))
def test_it_finds_what_the_definition_finds(bindings: list[dict[str, Any]], messages: list[dict[str, Any]]) -> None:
    index: HeadersIndex[int] = HeadersIndex()
    for number, arguments in enumerate(bindings):
        index.add(number, arguments, number)
    for headers in messages:
        expected = {number for number, each in enumerate(bindings) if matches(each, headers)}
        assert set(index.match(headers)) == expected


@given(st.lists(ARGUMENTS, max_size=10), st.data())
def test_what_is_added_and_removed_leaves_nothing_behind(bindings: list[dict[str, Any]], data: st.DataObject) -> None:
    index: HeadersIndex[int] = HeadersIndex()
    for number, arguments in enumerate(bindings):
        index.add(number, arguments, number)
    left = dict(enumerate(bindings))
    middle = data.draw(st.integers(0, len(bindings)))
    for count, number in enumerate(data.draw(st.permutations(list(left)))):
        if count == middle:
            again: HeadersIndex[int] = pickle.loads(pickle.dumps(index))
            headers = data.draw(HEADERS)
            assert list(again.match(headers)) == list(index.match(headers))
            index = again
        index.remove(number)
        del left[number]
        headers = data.draw(HEADERS)
        assert set(index.match(headers)) == {each for each in left if matches(left[each], headers)}
    assert index.is_empty


@pytest.mark.rule(
    "0-9-1/exchange.headers/x-match",
    "0-9-1/exchange.headers/void-matches-presence",
    "0-9-1/exchange.headers/x-ignored",
    "0-10/model/headers-all",
    "0-10/model/headers-any",
)
@pytest.mark.parametrize(
    ("arguments", "headers", "expected"),
    [
        ({"x-match": "all", "a": 1, "b": "x"}, {"a": 1, "b": "x", "c": 2}, True),
        ({"x-match": "all", "a": 1, "b": "x"}, {"a": 1}, False),
        ({"x-match": "all", "a": 1, "b": "x"}, {"a": 1, "b": "y"}, False),
        ({"x-match": "any", "a": 1, "b": "x"}, {"a": 2, "b": "x"}, True),
        ({"x-match": "any", "a": 1, "b": "x"}, {"a": 2, "b": "y"}, False),
        ({"x-match": "all", "a": None, "b": 1}, {"a": "whatever", "b": 1}, True),
        ({"x-match": "all", "a": None, "b": 1}, {"b": 1}, False),
        ({"x-match": "any", "a": None}, {"a": None}, True),
        ({"x-match": "any", "a": None}, {"b": 1}, False),
        ({"x-match": "all", "a": 1}, {"a": None}, False),
        ({"x-match": "all", "a": 1, "x-other": 5}, {"a": 1}, True),
        ({"x-match": "any", "x-other": 5}, {"x-other": 5}, False),
        ({"x-match": "all-with-x", "a": 1, "x-other": 5}, {"a": 1}, False),
        ({"x-match": "all-with-x", "a": 1, "x-other": 5}, {"a": 1, "x-other": 5}, True),
        ({"x-match": "any-with-x", "x-other": 5}, {"x-other": 5}, True),
        ({"x-match": "all"}, {}, True),
        ({"x-match": "any"}, {"a": 1}, False),
        ({"a": 1, "b": 2}, {"a": 1}, False),
        ({"x-match": b"any", "a": 1, "b": 2}, {"a": 1}, True),
    ],
)
@pytest.mark.parametrize("content", (classic, headers_0_10, headers_1_0))
def test_a_queue_gets_what_its_arguments_match(
    topology: Topology, content: Any, arguments: dict[str, Any], headers: dict[str, Any], expected: bool
) -> None:
    topology.bind("q", "amq.match", "not looked at", arguments)
    exchange = topology.vhost.exchanges["amq.match"]
    message: Content = content(headers)
    assert [each.name for each in exchange.match("", message)] == ["q"] * expected
    assert matches({**arguments, "x-match": _mode(arguments)}, headers) is expected


def _mode(arguments: Mapping[str, Any]) -> str:
    return match_mode(arguments, standard=False)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (True, 1),
        (1, 1.0),
        (0, False),
        (None, False),
        ("1", 1),
        (Decimal(1), 1),
        (Timestamp(1), 1),
        ([1], [True]),
        ([], {}),
        ({"a": 1}, {"a": True}),
        (UUID(int=1), "00000000-0000-0000-0000-000000000001"),
        (1.5, Decimal("1.5")),
        ("", None),
        (amqp_1_0.Timestamp(1), Timestamp(1)),
        ("a", ["a"]),
        (amqp_1_0.Described(amqp_1_0.Symbol("a"), 1), amqp_1_0.Described(amqp_1_0.Symbol("b"), 1)),
    ],
)
def test_values_of_different_type_or_value_are_not_the_same(one: Any, other: Any) -> None:
    assert comparable(one) != comparable(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("näh", "näh".encode()),
        ("a", amqp_1_0.Symbol("a")),
        (5, spec.UByte(5)),
        (b"\xff", "\udcff"),
        (1.5, spec.Float(1.5)),
        (Timestamp(2), amqp_0_10.spec.Datetime(2)),
        (Timestamp(2), amqp_1_0.Timestamp(2000)),
        (NAN, float("nan")),
        (0.0, -0.0),
        (Decimal("sNaN"), Decimal("sNaN")),
        (Decimal("1.0"), Decimal("1.00")),
        ([1, "a"], (1, b"a")),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
        ({"a": 1}, amqp_0_10.Map({"a": 1})),
        ({"a": 1}, Table({"a": 1})),
        ({"a": 1}, spec.Map({"a": 1})),
        (spec.Array([1, 2], int), [1, 2]),
        (spec.Decimal32.from_decimal(Decimal("1.5")), Decimal("1.5")),
        (UUID(int=1), UUID(int=1)),
        (amqp_0_10.spec.Struct32(1, b"a"), amqp_0_10.spec.Struct32(1, b"a")),
    ],
)
def test_the_same_value_in_other_words(one: Any, other: Any) -> None:
    assert comparable(one) == comparable(other)
    assert hash(comparable(one)) == hash(comparable(other))


def test_what_can_not_be_compared_is_like_nothing_else() -> None:
    deep: list[Any] = []
    for _ in range(2000):
        deep = [deep]
    long = spec.Array([None] * 70_000, type(None))
    for value in (deep, long):
        assert comparable(value) != comparable(value)


NUMBERS = [
    *(1, -(2**63), True, 1.5, 2.0**61, float("inf"), Decimal("1.50"), Decimal("-0"), Timestamp(5), UUID(int=2**61)),
    *(spec.ULong(2**64 - 1), spec.Float(1.5), spec.Decimal64.from_decimal("1.5"), amqp_0_10.spec.Datetime(5)),
    *([1, [2.5]], {"a": 1}, spec.Map({1: 2}), amqp_1_0.Described(amqp_1_0.Symbol("a"), 1)),
]


@pytest.mark.parametrize("value", NUMBERS, ids=repr)
def test_no_number_is_hashed(value: Any) -> None:
    """A peer can foresee the hash of a number, and choose the arguments of many bindings for it."""

    def leaves(part: Any) -> list[Any]:
        whole: Any = part
        return [leaf for each in whole for leaf in leaves(each)] if isinstance(part, tuple) else [part]

    assert all(isinstance(leaf, (str, bool)) for leaf in leaves(comparable(value)))


@pytest.mark.parametrize("count", [256, 257, 65_536])
def test_an_array_of_items_without_octets_is_compared_when_it_is_short(count: int) -> None:
    octets = b"\xf0\0\0\0\x05" + count.to_bytes(4, "big") + b"\x40"
    array, _ = decode(octets)
    assert len(array) == count
    same = comparable(array) == comparable([None] * count)
    assert same is (count <= 256)
    assert count_steps(lambda: comparable(array)) < 4000


def test_damaged_octets_within_headers_are_there_but_like_nothing() -> None:
    # The count promises an entry that isn't there.
    damaged = amqp_0_10.Map.from_wire(b"\x00\x00\x00\x01")
    index: HeadersIndex[str] = HeadersIndex()
    index.add(1, {"a": {"b": 1}}, "value")
    index.add(2, {"a": None}, "presence")
    index.add(3, {"b": 1, "a": None}, "both")
    index.add(4, {"b": 1, "a": 1}, "another")
    assert list(index.match({"a": damaged, "b": 1})) == ["presence", "both"]


@pytest.mark.parametrize("value", ("some", "", 1, True, None, ["all"], b"ANY"))
def test_an_unknown_x_match_is_refused(topology: Topology, value: Any) -> None:
    topology.queue("q")
    with pytest.raises(Fault, match="x-match") as caught:
        topology.bind("q", "amq.headers", "", {"x-match": value})
    assert (caught.value.kind, caught.value.field) == (FaultKind.BAD_ARGUMENT, "x-match")
    assert not topology.vhost.exchanges["amq.headers"].bindings


@pytest.mark.parametrize("arguments", ({}, {"a": 1}, {"x-match": "all-with-x"}, {"x-match": "any-with-x"}))
def test_in_0_10_x_match_has_to_be_all_or_any(topology: Topology, arguments: dict[str, Any]) -> None:
    topology.queue("q")
    with pytest.raises(Fault, match="x-match") as caught:
        topology.bind("q", "amq.match", "", arguments, by_arguments=False)
    assert (caught.value.kind, caught.value.field) == (FaultKind.BAD_ARGUMENT, "x-match")
    for mode in ("all", "any"):
        assert topology.bind("q", "amq.match", mode, {"x-match": mode}, by_arguments=False)


def test_damaged_arguments_are_refused(topology: Topology) -> None:
    queue = topology.queue("q")
    damaged = Table.from_wire(b"\x01", RABBIT)
    for exchange in ("amq.match", "amq.direct"):
        with pytest.raises(Fault, match="can't be read") as caught:
            topology.bind("q", exchange, "", damaged)
        assert caught.value.kind is FaultKind.BAD_ARGUMENT
    with pytest.raises(Fault, match="can't be read"):
        binding_key(queue, "", damaged, True)
    assert topology.vhost.bindings == 0


def test_bindings_that_do_not_match_are_not_looked_at(topology: Topology) -> None:
    """Of 10,000 bindings that share a header one is found by the header that it has for itself."""
    exchange = HeadersExchange("e")
    queue = topology.queue("q")
    for number in range(10_000):
        exchange.add(Binding(queue, "", {"x-match": "all", "kind": "order", "number": number}))
    looked_at: list[str] = []

    class Watched(dict[str, Any]):
        def __getitem__(self, name: str) -> Any:
            looked_at.append(name)
            return super().__getitem__(name)

    index = exchange._index  # pyright: ignore[reportPrivateUsage]
    headers = Watched(kind="order", number=7777)
    assert [each.name for each in index.match(headers)] == ["q"]
    assert len(looked_at) <= 4
    assert max(len(each) for each in index._by_name["number"].values()) == 1  # pyright: ignore[reportPrivateUsage]
