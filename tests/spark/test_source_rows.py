"""Reading in bulk gives the rows of the general reader, in its order, whatever the capture and however it is cut."""

from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("pyspark", reason="needs the extra `spark`")

from amqp_sansio_spark.bulk import BulkReader
from amqp_sansio_spark.rows import RowMaker
from amqp_sansio_spark.segments import ARROW_SCHEMA
from amqp_sansio_spark.selection import Selection
from tests.kit.captures import BIG, carried
from tests.kit.packets import enhanced, ethernet, interface, ipv4, pcap, section, tcp
from tests.kit.traffic import LINKS, any_pcap, any_pcapng, as_rows, bulk_rows, frames, general_rows, pieces

SEEDS = st.integers(0, 2**32 - 1)
SIZES = st.sampled_from((30, 500, 100_000))


def same(data: bytes, seed: int, most: int) -> None:
    wanted = general_rows(data)
    assert bulk_rows([data]) == wanted
    assert bulk_rows(pieces(data, seed, most)) == wanted


@pytest.mark.parametrize("path", carried(), ids=lambda path: path.name)
def test_every_carried_capture(path: Path) -> None:
    same(path.read_bytes(), 1, 3000)


@pytest.mark.skipif(not BIG.is_dir(), reason=f"there is no {BIG}")
def test_every_capture_of_the_big_set() -> None:
    for path in sorted(BIG.glob("*.pcap*")):
        data = path.read_bytes()
        assert bulk_rows([data]) == general_rows(data), path.name


@pytest.mark.parametrize("link", LINKS)
def test_every_kind_of_packet_whole_and_cut_at_every_octet(link: int) -> None:
    kinds = frames(link)
    whole = pcap([(at, 0, frame) for at, frame in enumerate(kinds)], link=link)
    same(whole, link, 700)
    cut = [
        (1, 0, frame[:length], len(frame))
        for frame in kinds
        for length in range(0, min(len(frame), 110), 1 if link != 1 else 3)
    ]
    data = pcap(cut, link=link)
    assert bulk_rows([data]) == general_rows(data)


@given(SEEDS, SIZES)
def test_pcap_of_any_packets(seed: int, most: int) -> None:
    same(any_pcap(seed), seed, most)


@given(SEEDS, SIZES)
def test_pcapng_of_any_blocks(seed: int, most: int) -> None:
    same(any_pcapng(seed), seed, most)


@settings(max_examples=60)
@given(SEEDS, st.booleans(), SIZES)
def test_captures_with_octets_changed_missing_or_added(seed: int, plain: bool, most: int) -> None:
    chance = Random(seed)
    data = bytearray(any_pcap(seed, 30, 1) if plain else any_pcapng(seed, 30))
    for _ in range(chance.choice((1, 1, 2, 10))):
        if len(data) <= 24:
            break
        at = chance.randrange(24, len(data))
        way = chance.random()
        if way < 0.5:
            data[at] = chance.choice((0, 0xFF, chance.randrange(256)))
        elif way < 0.7:
            del data[at : at + chance.choice((1, 4, 50))]
        elif way < 0.9:
            data[at:at] = chance.choice((chance.randbytes(5), b"\n\r\r\n", section() + interface()))
        else:
            del data[at:]
    same(bytes(data), seed, most)


def test_a_large_record_comes_in_many_pieces() -> None:
    big = ethernet(ipv4(tcp(1, 1, bytes(range(256)) * 1000), total=0))
    data = pcap([(1, 0, big)] * 5 + [(2, 0, ethernet(ipv4(tcp(2, 2, b"x"))))])
    assert bulk_rows(data[at : at + 5000] for at in range(0, len(data), 5000)) == general_rows(data)


@pytest.mark.parametrize("position", range(40))
def test_what_looks_like_a_section_is_found_wherever_it_lies(position: int) -> None:
    """Then the parser decides; here, in large blocks, it says: octets of a packet."""
    filler = bytes(20_000 + position)
    frames = [ethernet(ipv4(tcp(1, 1, filler + b"\n\r\r\n" + filler), total=0))] * 3
    data = section() + interface() + b"".join(enhanced(frame, at) for at, frame in enumerate(frames))
    assert bulk_rows([data]) == general_rows(data)
    cut = data[: len(data) - 8]
    assert bulk_rows([cut + section() + interface()]) == general_rows(cut + section() + interface())


@pytest.mark.parametrize("octets", [1, 3000, 1 << 20])
def test_batches_are_bounded_and_have_the_schema(octets: int) -> None:
    data = carried("o091_pika_confirms.pcap")[0].read_bytes()
    reader = BulkReader("f", RowMaker("f", ARROW_SCHEMA.names, Selection(), octets))
    made = [*reader.feed(data), *reader.finish()]
    assert all(batch.schema.equals(ARROW_SCHEMA) for batch in made)
    largest = max(len(row["payload"] or b"") for row in as_rows(made))
    assert all(batch.num_rows == 1 or batch.nbytes <= octets + largest for batch in made)
    assert len(made) == {1: reader.counts.rows, 3000: len(made), 1 << 20: 1}[octets]


def test_only_the_columns_that_are_asked_for_are_made() -> None:
    data = carried("o091_pika_ipv6.pcapng")[0].read_bytes()
    for names in (("ts_ns",), ("dport", "flow", "damage"), tuple(reversed(ARROW_SCHEMA.names))):
        reader = BulkReader("f", RowMaker("f", names, Selection(), 1 << 20))
        made = [*reader.feed(data[:-5]), *reader.finish()]
        assert {tuple(batch.schema.names) for batch in made} == {names}
        found = [row for batch in made for row in batch.to_pylist()]
        wanted = general_rows(data[:-5])
        assert isinstance(wanted, list)
        assert found == [{name: row[name] for name in names} for row in wanted]


def test_many_flows_are_named_rightly(monkeypatch: pytest.MonkeyPatch) -> None:
    """More directions than are remembered at a time."""
    monkeypatch.setattr("amqp_sansio_spark.rows._MAX_DIRECTIONS", 1000)
    packets = [(at, 0, ethernet(ipv4(tcp(at, 0, b"", sport=at, dport=5672 + at % 3)))) for at in range(3000)]
    data = pcap(packets)
    assert bulk_rows(pieces(data, 3, 70_000)) == general_rows(data)
