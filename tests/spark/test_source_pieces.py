"""Files in pieces: boundaries that are proven, the rows of the whole file, and files that can't be read."""

import gzip
import pickle
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("pyspark", reason="needs the extra `spark`")

import pyarrow as pa

from amqp_sansio_arrow.files import CaptureFile
from amqp_sansio_spark.complaints import CaptureProblem
from amqp_sansio_spark.options import parse_options
from amqp_sansio_spark.pieces import check_beginning, read_piece, split, tasks_of, whole
from amqp_sansio_spark.plans import Piece
from amqp_sansio_spark.segments import ARROW_SCHEMA
from tests.kit.captures import carried, named
from tests.kit.packets import enhanced, ethernet, interface, ipv4, pcap, section, tcp
from tests.kit.steps import peak_of
from tests.kit.traffic import Rows, any_pcap, any_pcapng, as_rows, general_rows

pytestmark = pytest.mark.usefixtures("reading_clock")
PLAIN = carried("o_mixed_4_protocols.pcap")[0].read_bytes()
NG = carried("o_mixed_4_protocols.pcapng")[0].read_bytes()


def pieces_of(path: Path, **options: str) -> list[Piece]:
    given = {name.rstrip("_"): value for name, value in options.items()}
    return split(CaptureFile(str(path), "f"), path.stat().st_size, parse_options(given))


def read(pieces: list[Piece], **options: str) -> Rows:
    given = {name.rstrip("_"): value for name, value in options.items()}
    checked = parse_options(given)
    return as_rows(batch for piece in pieces for batch in read_piece(piece, checked, ARROW_SCHEMA.names))


def problems(path: Path, **options: str) -> list[tuple[str, int]]:
    found = [row["damage"] for row in read(pieces_of(path, **options), **options)]
    return [(damage["kind"], damage["offset"]) for damage in found if damage]


@pytest.mark.parametrize("size", ["100", "3000", "10k", "1m"])
@pytest.mark.parametrize("data", [PLAIN, NG], ids=["pcap", "pcapng"])
def test_pieces_have_the_rows_of_the_whole(tmp_path: Path, data: bytes, size: str) -> None:
    path = tmp_path / "f"
    path.write_bytes(data)
    pieces = pieces_of(path, splitBytes=size)
    assert [piece.start for piece in pieces[1:]] == [piece.stop for piece in pieces[:-1]]
    assert (pieces[0].start, pieces[-1].stop, pieces[-1].last) == (0, len(data), True)
    assert [(piece.number, piece.of) for piece in pieces] == [(number, len(pieces)) for number in range(len(pieces))]
    assert (len(pieces) > 1) is (size != "1m")
    octets = int(size.replace("k", "000").replace("m", "000000"))
    assert len(pieces) <= len(data) // octets + 1
    assert all(octets <= piece.stop - piece.start for piece in pieces[:-1])
    wanted = general_rows(data)
    assert read(pieces) == wanted
    # In any order, on other machines.
    rows: dict[int, Rows] = {}
    for piece in reversed(pieces):
        rows[piece.number] = read([pickle.loads(pickle.dumps(piece))])
    assert [row for number in sorted(rows) for row in rows[number]] == wanted


@given(st.integers(0, 2**32 - 1), st.booleans(), st.sampled_from((40, 400, 4000)))
def test_pieces_of_any_capture(tmp_path_factory: pytest.TempPathFactory, seed: int, plain: bool, size: int) -> None:
    """Fragments, cut packets, sections and damage, wherever the boundaries are."""
    chance = Random(seed)
    data = bytearray(any_pcap(seed, 50) if plain else any_pcapng(seed, 50))
    for _ in range(chance.choice((0, 0, 1, 3))):
        data[chance.randrange(24, len(data))] ^= 1 << chance.randrange(8)
    path = tmp_path_factory.mktemp("any") / "f"
    path.write_bytes(data)
    assert read(pieces_of(path, splitBytes=str(size))) == general_rows(bytes(data))


def test_damages_in_succession_are_two_rows_across_pieces(tmp_path: Path) -> None:
    whole = ethernet(ipv4(tcp(5, 6, b"abc", window=0)))
    sizes = [1] * 300 + [len(whole), *[1] * 300, len(whole), len(whole), *[1] * 3]
    packets = [(at, 0, whole[:size], len(whole)) for at, size in enumerate(sizes)]
    path = tmp_path / "cut.pcap"
    path.write_bytes(pcap(packets))
    pieces = pieces_of(path, splitBytes="1000")
    assert len(pieces) > 5
    rows = read(pieces)
    assert rows == general_rows(path.read_bytes())
    assert len(rows) == 9


def test_payloads_that_are_captures_lead_no_boundary_astray(tmp_path: Path) -> None:
    """Nothing is guessed: plausible records inside of packets are octets of packets."""
    inner = (PLAIN + NG)[:60_000]
    for data in (
        pcap([(1, 0, ethernet(ipv4(tcp(1, 1, inner), total=0)))] * 20, snaplen=262_144),
        section() + interface() + enhanced(ethernet(ipv4(tcp(1, 1, inner), total=0))) * 20,
    ):
        path = tmp_path / "f"
        path.write_bytes(data)
        pieces = pieces_of(path, splitBytes="1000")
        assert read(pieces) == general_rows(data)
        # What looks like a section is judged by what follows it: no boundary there.
        assert len(pieces) == (20 if data[:4] != section()[:4] else 1)


def test_fragments_come_together_across_pieces(tmp_path: Path) -> None:
    body = tcp(5, 6, bytes(range(200)))
    parts = [
        ethernet(ipv4(body[:64], more=True)),
        ethernet(ipv4(body[64:128], offset=64, more=True)),
        ethernet(ipv4(body[128:], offset=128)),
    ]
    other = ethernet(ipv4(tcp(1, 1, bytes(500))))
    frames = [parts[0], other, other, parts[1], other, other, parts[2], other]
    data = pcap([(at, 0, frame) for at, frame in enumerate(frames)])
    path = tmp_path / "f"
    path.write_bytes(data)
    pieces = pieces_of(path, splitBytes="300")
    assert len(pieces) >= 5
    assert read(pieces) == general_rows(data)


def test_pieces_outside_of_the_times_are_not_read(tmp_path: Path) -> None:
    frame = ethernet(ipv4(tcp(1, 1, bytes(500))))
    data = pcap([(1000 + at, 0, frame) for at in range(100)])
    path = tmp_path / "f"
    path.write_bytes(data)
    times = {"from_": "1970-01-01T00:17:20Z", "to": str(1060 * 10**9)}
    every = pieces_of(path, splitBytes="3000")
    some = pieces_of(path, splitBytes="3000", **times)
    assert len(every) >= 10 and 4 < len(some) < 8
    # Of what precedes the first packet nobody knows the time.
    assert some[0].number == 0 and {piece.of for piece in some} == {len(some)}
    found = read(some, **times)
    assert [row["packet"] for row in found] == list(range(40, 60))
    assert read(every, **times) == found


@pytest.mark.parametrize("data", [PLAIN, NG], ids=["pcap", "pcapng"])
def test_compressed_files_are_one_piece(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "f.gz"
    path.write_bytes(gzip.compress(data))
    (piece,) = pieces_of(path, splitBytes="1000")
    assert read([piece]) == general_rows(gzip.compress(data)) == general_rows(data)
    for cut in (2, 15, 2000, 9000):
        path.write_bytes(gzip.compress(data)[:cut])
        assert read(pieces_of(path), maxBytesPerBatch="1k") == general_rows(path.read_bytes())
    wrong = bytearray(gzip.compress(data))
    wrong[-5] ^= 1
    path.write_bytes(wrong + b"more")
    assert read(pieces_of(path)) == general_rows(bytes(wrong + b"more"))


def test_the_progress_of_a_compressed_file_counts_its_own_octets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("amqp_sansio_spark.pieces._TOLD", 20_000)
    chance = Random(1)
    packets = [(at, 0, ethernet(ipv4(tcp(at * 1000, 6, chance.randbytes(1000))))) for at in range(2000)]
    path = tmp_path / "a.pcap.gz"
    path.write_bytes(gzip.compress(pcap(packets)))
    caplog.set_level("INFO", "amqp_sansio_spark.progress")
    (piece,) = pieces_of(path)
    assert len(read([piece], maxBytesPerBatch="64k")) == 2000
    told: list[dict[str, str]] = [record.__dict__["context"] for record in caplog.records]
    octets = [int(each["octets"]) for each in told]
    assert len(octets) > 2 and octets == sorted(octets)
    assert [each["done"] for each in told] == [*["0"] * (len(told) - 1), "1"]
    assert octets[-1] == path.stat().st_size


def test_a_large_compressed_file_takes_little_memory(tmp_path: Path) -> None:
    frame = ethernet(ipv4(tcp(1, 1, bytes(60_000))))
    path = tmp_path / "f.gz"
    with gzip.open(path, "wb", compresslevel=1) as file:
        file.write(pcap([]))
        for _ in range(100):
            file.write(pcap([(1, 0, frame)] * 10)[24:])
    (piece,) = pieces_of(path)
    options = parse_options({"columns": "ts_ns"})
    # The first array of a process makes pyarrow import pandas, which isn't what is measured.
    pa.array([1])
    rows: list[int] = []
    assert peak_of(lambda: rows.extend(batch.num_rows for batch in read_piece(piece, options, ("ts_ns",)))) < 30 << 20
    assert sum(rows) == 1000


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (b"", "empty-file"),
        (b"not a capture, but a text", "not-a-capture"),
        (b"PK", "not-a-capture"),
        (gzip.compress(b"a text" * 99, mtime=0), "not-a-capture"),
        (gzip.compress(b"", mtime=0), "not-a-capture"),
        (PLAIN[:7], "truncated-file"),
        (PLAIN[:20], "truncated-file"),
        (PLAIN[:-3], "truncated-file"),
        (gzip.compress(PLAIN, mtime=0)[:-9], "truncated-file"),
        (NG[:-3], "truncated-file"),
    ],
)
def test_a_file_that_cant_be_read_is_a_row(tmp_path: Path, content: bytes, kind: str) -> None:
    path = tmp_path / "f"
    path.write_bytes(content)
    for size in ("10", "1g"):
        ((found, offset),) = problems(path, splitBytes=size)
        assert found == kind
        assert (offset > 0) is (kind == "truncated-file" and len(content) > 100)


def test_what_isnt_there_or_no_file_is_a_row(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    for name in ("folder", "gone"):
        is_refused(tmp_path / name, "")


def is_refused(path: Path, text: str) -> None:
    """Check that a path is an unreadable file: one row, whose text begins so, and a problem of the first look at it."""
    file = CaptureFile(str(path), "f")
    (row,) = read([whole(file, 100)])
    assert row["damage"]["kind"] == "unreadable"
    assert row["damage"]["text"].startswith(text)
    with pytest.raises(CaptureProblem, match=f"^f, offset 0: unreadable: {text}"):
        check_beginning(file)


def test_a_file_that_grows_is_read_as_it_was_planned(tmp_path: Path) -> None:
    """The rows are those of the octets that were there then, whenever the task runs, and again."""
    path = tmp_path / "f"
    path.write_bytes(PLAIN[:30_000])
    for size in ("2000", "1g"):
        pieces = pieces_of(path, splitBytes=size)
        path.write_bytes(PLAIN)
        assert read(pieces) == general_rows(PLAIN[:30_000])
        path.write_bytes(PLAIN[:30_000])


def test_a_file_that_shrank_or_became_another_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_bytes(PLAIN)
    pieces = pieces_of(path, splitBytes="8000")
    path.write_bytes(PLAIN[: pieces[1].stop - 10])
    kinds = [row["damage"]["kind"] for row in read(pieces) if row["damage"]]
    assert kinds == ["changed-file"] * (len(pieces) - 1)
    path.write_bytes(PLAIN[:24] + bytes(16) + PLAIN[24:])
    kinds = [row["damage"]["kind"] for row in read(pieces) if row["damage"]]
    assert "changed-file" in kinds


@pytest.mark.parametrize("size", ["1000", "1g"])
def test_fail_fast_stops_at_the_first_problem_in_one_line(
    tmp_path: Path, size: str, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "f"
    path.write_bytes(PLAIN[:-3])
    pieces = pieces_of(path, splitBytes=size)
    with pytest.raises(CaptureProblem) as caught:
        read(pieces, failFast="true")
    line = str(caught.value)
    assert line.startswith("f, offset ") and ": truncated-file: " in line and "\n" not in line
    errors = [found for found in caplog.records if found.levelname == "ERROR"]
    assert [found.getMessage() for found in errors] == [f"amqp-capture: {line}"]
    for content, text in ((b"", "empty-file: the file is empty"), (b"x" * 20, "begins with 78787878")):
        path.write_bytes(content)
        with pytest.raises(CaptureProblem, match=text):
            check_beginning(CaptureFile(str(path), "f"))
    path.write_bytes(gzip.compress(PLAIN))
    check_beginning(CaptureFile(str(path), "f"))


def test_small_files_share_tasks() -> None:
    sizes = (10, 10, 5_000_000, 900_000, 900_000)
    pieces = [whole(CaptureFile("f", "f"), size) for size in sizes]
    tasks = tasks_of(pieces, parse_options({"maxBytesPerTask": "4m"}))
    assert [[piece.stop for piece in task] for task in tasks] == [[10, 10], [5_000_000], [900_000] * 2]
    assert len(tasks_of(pieces, parse_options({"maxBytesPerTask": "1"}))) == 5
    assert tasks_of([], parse_options({})) == []


def test_an_empty_capture_has_no_rows_and_no_problems(tmp_path: Path) -> None:
    path = tmp_path / "f"
    for content in (pcap([]), section(), section() + interface(), gzip.compress(pcap([]))):
        path.write_bytes(content)
        assert read(pieces_of(path)) == read(pieces_of(path, splitBytes="10")) == []


def test_captures_of_the_big_set_in_pieces() -> None:
    for name in ("o010_messaging_1MB.pcap", "o091_pika_garagemq_lossy_tun_serverside.pcapng"):
        path = named(name)
        pieces = pieces_of(path, splitBytes="32k")
        assert len(pieces) > 5
        assert read(pieces) == general_rows(path.read_bytes())
