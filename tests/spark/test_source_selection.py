"""Which rows are wanted: options, and filters of Spark; what is dropped early is what Spark would drop."""

import operator
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("pyspark", reason="needs the extra `spark`")

from pyspark.sql.datasource import (
    EqualNullSafe,
    EqualTo,
    Filter,
    GreaterThan,
    GreaterThanOrEqual,
    In,
    IsNotNull,
    IsNull,
    LessThan,
    LessThanOrEqual,
    Not,
    StringContains,
    StringStartsWith,
)

from amqp_sansio_spark.bulk import BulkReader
from amqp_sansio_spark.options import Options, parse_options
from amqp_sansio_spark.rows import RowMaker
from amqp_sansio_spark.segments import ARROW_SCHEMA
from amqp_sansio_spark.selection import Selection
from tests.kit.captures import carried
from tests.kit.packets import ethernet, ipv4, ipv6, pcap, tcp
from tests.kit.traffic import Rows, any_pcap, any_pcapng, bulk_rows

PLAIN = carried("o_mixed_4_protocols.pcap")[0].read_bytes()
SECOND = 10**9


def selected(data: bytes, selection: Selection) -> Rows:
    reader = BulkReader("f", RowMaker("f", ARROW_SCHEMA.names, selection, 1 << 20))
    batches = [*reader.feed(data), *reader.finish()]
    return [row for batch in batches for row in batch.to_pylist()]


def every(data: bytes) -> Rows:
    rows = bulk_rows([data])
    assert isinstance(rows, list)
    return rows


def options(**given: str) -> Options:
    return parse_options({name.rstrip("_"): value for name, value in given.items()})


def wanted(data: bytes, keep: Callable[[dict[str, Any]], bool]) -> Rows:
    return [row for row in every(data) if row["damage"] or keep(row)]


@pytest.mark.parametrize("seed", range(4))
def test_ports_hosts_and_times(seed: int) -> None:
    data = any_pcap(seed, 200, 1) if seed % 2 else any_pcapng(seed, 200)
    ports = options(port="5672, 5671")
    assert selected(data, ports.selection) == wanted(
        data, lambda row: bool({row["sport"], row["dport"]} & {5671, 5672})
    )
    hosts = options(host="192.0.2.7,::1")
    assert selected(data, hosts.selection) == wanted(
        data, lambda row: bool({row["src"], row["dst"]} & {"192.0.2.7", "::1"})
    )
    neither = options(port="40000", host="2001:db8::1")
    assert selected(data, neither.selection) == wanted(
        data, lambda row: 40_000 in (row["sport"], row["dport"]) and "2001:db8::1" in (row["src"], row["dst"])
    )


def test_times_are_from_the_one_to_before_the_other() -> None:
    frame = ethernet(ipv4(tcp(1, 1, b"x")))
    bad = ethernet(ipv4(tcp(1, 1, b"x"))[:25])
    data = pcap([(at, 0, bad if at % 3 == 0 else frame) for at in range(10)])
    chosen = options(from_="1970-01-01T00:00:03Z", to=str(7 * SECOND))
    found = [(row["ts_ns"] // SECOND, row["flow"] is None) for row in selected(data, chosen.selection)]
    # A damage without a time, as of the first packet here, may be of any time.
    assert found == [(0, True), (3, True), (4, False), (5, False), (6, True)]


@pytest.mark.parametrize(
    ("text", "ns"),
    [
        ("1970-01-01T00:00:01Z", SECOND),
        ("1970-01-01 00:00:01", SECOND),
        ("1970-01-01T01:00:01.5+01:00", 1_500_000_000),
        ("1970-01-02", 86_400 * SECOND),
        ("1700000000123456789", 1_700_000_000_123_456_789),
        ("-5", -5),
    ],
)
def test_times_are_iso_or_nanoseconds(text: str, ns: int) -> None:
    assert options(from_=text).selection.since_ns == ns
    assert options(to=text).selection.until_ns == ns


def test_hosts_are_named_as_in_the_rows() -> None:
    chosen = options(host="2001:DB8:0:0::1, [::ffff:10.0.0.1],10.0.0.1").selection
    assert chosen.hosts == {"2001:db8::1", "::ffff:10.0.0.1", "10.0.0.1"}


@pytest.mark.parametrize(
    ("given_", "match"),
    [
        ({"port": "amqp"}, "port is a number up to 65535"),
        ({"port": "65536"}, "port is a number up to 65535"),
        ({"host": "localhost"}, "host is an IP address"),
        ({"from": "yesterday"}, "from is a time like"),
        ({"to": "5e9"}, "to is a time like"),
        ({"columns": "flow,color"}, "columns are some of flow, ts_ns"),
        ({"columns": "flow,flow"}, "columns are some of flow, ts_ns"),
        ({"columns": " "}, "columns are some of flow, ts_ns"),
        ({"table": "events"}, "table is segments or problems, not 'events'"),
        ({"splitBytes": "0"}, "splitBytes is 1 to 1024t, not '0'"),
        ({"failFast": "yes"}, "failFast is true or false, not 'yes'"),
        ({"splitBites": "1"}, "there is no option 'splitbites'; there are "),
    ],
)
def test_wrong_options_are_named(given_: dict[str, str], match: str) -> None:
    with pytest.raises(ValueError, match=f"^amqp-capture: {match}"):
        parse_options(given_)


def test_the_case_of_an_options_name_makes_no_difference() -> None:
    assert parse_options({"SPLITBYTES": "2GB", "failfast": "TRUE"})[2:4] == (2 << 30, True)


_OPERATORS: dict[type[Filter], Callable[[Any, Any], Any]] = {
    EqualTo: operator.eq,
    LessThan: operator.lt,
    LessThanOrEqual: operator.le,
    GreaterThan: operator.gt,
    GreaterThanOrEqual: operator.ge,
    StringStartsWith: str.startswith,
    StringContains: operator.contains,
}


def attribute(given: Filter, name: str) -> Any:
    """Not every filter has every attribute, and their base has none."""
    return getattr(given, name)


def value_of(path: tuple[str, ...], row: dict[str, Any]) -> Any:
    value: Any = row
    for name in path:
        value = None if value is None else value[name]
    return value


def truth(given: Filter, row: dict[str, Any]) -> bool | None:
    """What SQL says of a filter: true, false or null."""
    if isinstance(given, Not):
        inner = truth(given.child, row)
        return None if inner is None else not inner
    value = value_of(attribute(given, "attribute"), row)
    if isinstance(given, (IsNull, IsNotNull)):
        return (value is None) is isinstance(given, IsNull)
    other = attribute(given, "value")
    if isinstance(given, EqualNullSafe):
        return bool(operator.eq(value, other))
    if value is None:
        return None
    if isinstance(given, In):
        return True if value in other else (None if None in other else False)
    return bool(_OPERATORS[type(given)](value, other))


NUMBERS = {
    "ts_ns": st.integers(1000, 1061).map(lambda seconds: seconds * SECOND),
    "packet": st.integers(0, 60),
    "sport": st.sampled_from((1000, 5672, 5671, 7)),
    "dport": st.sampled_from((5672, 40_000, 7)),
    "seq": st.sampled_from((1, 5, 9, 2**32 - 1)),
    "ack": st.sampled_from((0, 2, 6, 8)),
    "flags": st.sampled_from((16, 2)),
    "wire_len": st.sampled_from((0, 31, 300, 1400)),
    "damage.offset": st.integers(0, 5000),
}
TEXTS = {
    "src": st.sampled_from(("10.0.0.1", "192.0.2.7", "::1", "2001:db8::1", "x")),
    "dst": st.sampled_from(("10.0.0.2", "::ffff:10.0.0.1", "x")),
    "flow": st.sampled_from(("10.0.0.1:1000-10.0.0.2:5672", "10.0.0.1:1000-10.0.0.2:5672/vlan10")),
    "point": st.sampled_from(("", "vlan10", "vlan3.4")),
    "file": st.sampled_from(("f", "g")),
    "damage.kind": st.sampled_from(("bad-packet", "truncated-packet", "bad-block")),
}
OTHERS = ("payload", "damage", "damage.text")


def filters() -> st.SearchStrategy[Filter]:
    def of(column: str) -> st.SearchStrategy[Filter]:
        path = tuple(column.split("."))
        made: list[st.SearchStrategy[Filter]] = [st.just(IsNull(path)), st.just(IsNotNull(path))]
        values: st.SearchStrategy[Any] | None = NUMBERS.get(column, TEXTS.get(column))
        if values is not None:
            kinds = [EqualTo, LessThan, LessThanOrEqual, GreaterThan, GreaterThanOrEqual]
            kinds += [EqualNullSafe] + [StringStartsWith, StringContains] * (column in TEXTS)
            made += [st.builds(kind, st.just(path), values) for kind in kinds]
            several = st.lists(values | st.none(), min_size=1, max_size=3).map(tuple)
            made.append(st.builds(In, st.just(path), several))
        plain = st.one_of(made)
        return plain | plain.map(Not)

    return st.sampled_from([*NUMBERS, *TEXTS, *OTHERS]).flatmap(of)


@given(st.integers(0, 50), st.lists(filters(), min_size=1, max_size=3))
def test_what_filters_drop_is_what_spark_would_drop(seed: int, given_: list[Filter]) -> None:
    """Never a row that Spark would keep."""
    data = any_pcap(seed, 60)
    selection = Selection().with_filters(given_)
    kept = [row for row in selected(data, selection) if all(truth(it, row) for it in given_)]
    rows = every(data)
    assert kept == [row for row in rows if all(truth(it, row) for it in given_)]
    if not selection.takes_file("f"):
        assert kept == []
    for first, last in ((0, 1010 * SECOND), (1020 * SECOND, 1030 * SECOND)):
        if not selection.takes_times(first, last):
            assert not [row for row in kept if first <= row["ts_ns"] <= last]


@pytest.mark.parametrize(
    "given_",
    [
        EqualTo(("dport",), 5672),
        In(("src",), ("10.0.0.1", "10.9.9.9")),
        Not(EqualTo(("flow",), "x")),
        GreaterThan(("wire_len",), 100),
        IsNotNull(("damage",)),
        EqualTo(("damage", "kind"), "bad-packet"),
        IsNull(("damage",)),
    ],
)
def test_these_filters_are_judged_exactly(given_: Filter) -> None:
    data = any_pcap(3, 200, 1)
    found = selected(data, Selection().with_filters([given_]))
    assert found == [row for row in every(data) if truth(given_, row)]
    assert 0 < len(found) < len(every(data))


def test_with_a_filter_for_damage_no_segment_is_made() -> None:
    assert not Selection().with_filters([IsNotNull(("damage",))]).segments
    assert not Selection().with_filters([EqualTo(("damage", "kind"), "x")]).segments
    assert Selection().with_filters([IsNull(("damage",)), EqualTo(("dport",), 1)]).segments


def test_a_filter_for_ipv6_and_vlan_rows() -> None:
    six = ipv6(tcp(1, 1, b"x"), src="::1", dst="::2")
    frames = [ethernet(six, kind=0x86DD), ethernet(six, kind=0x86DD, tags=[(0x8100, 9)])]
    data = pcap([(at, 0, frames[at % 2]) for at in range(6)])
    found = selected(data, Selection().with_filters([EqualTo(("point",), "vlan9")]))
    assert [row["packet"] for row in found] == [1, 3, 5]
