"""`write`: files with the rows of the readers, whole or not there."""

import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import amqp_sansio_arrow
from amqp_sansio.capture import NotACapture
from amqp_sansio.recorded.tables import COLUMNS
from amqp_sansio_arrow import writing
from amqp_sansio_arrow.builders import arrow_schema
from tests.kit.captures import named

BASIC = "o091_pika_basic.pcap"
PQ: Any = pq
PA: Any = pa


def test_a_folder_has_a_file_of_each_table(tmp_path: Path) -> None:
    counts = amqp_sansio_arrow.write(named(BASIC), tmp_path / "out")
    assert sorted(os.listdir(tmp_path / "out")) == sorted([f"{table}.parquet" for table in COLUMNS])
    for table, reader in amqp_sansio_arrow.tables(named(BASIC)).items():
        if table in COLUMNS:
            read = PQ.read_table(tmp_path / "out" / f"{table}.parquet")
            assert read == reader.read_all()
            assert read.num_rows == counts[table]


def test_an_arrow_file_has_the_same_rows(tmp_path: Path) -> None:
    path = tmp_path / "messages.arrow"
    rows: Any = amqp_sansio_arrow.tables(named(BASIC))["messages"].read_all()
    assert amqp_sansio_arrow.write(named(BASIC), path, ["messages"]) == {"messages": rows.num_rows}
    with PA.ipc.open_file(path) as file:
        assert file.read_all() == rows


@pytest.mark.parametrize("bound", ["GROUP_ROWS", "GROUP_OCTETS"])
def test_row_groups_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bound: str) -> None:
    monkeypatch.setattr(writing, bound, 100)
    rows = [(None, None, at, None, "rule", "error", "text", None, None) for at in range(250)]
    path = tmp_path / "x.parquet"
    with open(path, "wb") as file:
        writer = writing.TableWriter(file, arrow_schema("violations"), "parquet")
        for at in range(0, 250, 50):
            writer.write_rows(rows[at : at + 50])
        writer.close()
    assert writer.rows == 250
    groups = PQ.read_metadata(path)
    sizes = [groups.row_group(at).num_rows for at in range(groups.num_row_groups)]
    assert sizes == ([100, 100, 50] if bound == "GROUP_ROWS" else [50] * 5)


def test_after_an_error_no_file_is_there(tmp_path: Path) -> None:
    broken = tmp_path / "broken.pcap"
    broken.write_text("nothing of the kind")
    out = tmp_path / "out"
    with pytest.raises(NotACapture, match=r"broken.pcap: begins with"):
        amqp_sansio_arrow.write([named(BASIC), broken], out)
    assert os.listdir(out) == []


def test_one_file_is_for_one_table(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"x.parquet: is one file, for one table, not messages, events; give"):
        amqp_sansio_arrow.write(named(BASIC), tmp_path / "x.parquet", ["messages", "events"])
    with pytest.raises(ValueError, match="no table is called 'x'"):
        amqp_sansio_arrow.write(named(BASIC), tmp_path / "x.parquet", ["x"])
    with pytest.raises(ValueError, match="a format is parquet or arrow, not 'csv'"), open(os.devnull, "wb") as file:
        writing.TableWriter(file, arrow_schema("messages"), "csv")
