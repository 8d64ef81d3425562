"""Which files are read, and under which names."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from amqp_sansio_spark.files import CaptureFile, find_captures


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in (
        "a.pcap",
        "b.pcap",
        "deep/c.pcap",
        "deep/_temporary/d.pcap",
        ".hidden",
        "x,y.pcap",
    ):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"")
    return tmp_path


@pytest.mark.parametrize(
    ("given", "names"),
    [
        ("a.pcap", ["a.pcap"]),
        ("", ["a.pcap", "b.pcap", "c.pcap", "x,y.pcap"]),
        ("*.pcap", ["a.pcap", "b.pcap", "x,y.pcap"]),
        ("**/[bc].pcap", ["b.pcap", "c.pcap"]),
        ("x,y.pcap", ["x,y.pcap"]),
    ],
)
def test_a_file_a_folder_and_a_pattern(folder: Path, given: str, names: list[str]) -> None:
    assert [file.name for file in find_captures([str(folder / given)])] == names


def test_commas_and_lists_give_each_file_once_in_the_order_of_names(folder: Path) -> None:
    a, b = str(folder / "a.pcap"), str(folder / "b.pcap")
    wanted = [CaptureFile(a, "a.pcap"), CaptureFile(b, "b.pcap")]
    assert find_captures([f"{b},{a}"]) == wanted
    assert find_captures([b, a, b, str(folder / "deep" / ".." / "a.pcap")]) == wanted
    assert find_captures([Path(a).as_uri(), f"file://localhost{b}"]) == wanted


def test_equal_base_names_are_told_apart_by_the_path_below_the_common_folder(
    folder: Path,
) -> None:
    (folder / "deep" / "a.pcap").write_bytes(b"")
    files = find_captures([str(folder)])
    assert [file.name for file in files] == [
        "a.pcap",
        "b.pcap",
        "deep/a.pcap",
        "deep/c.pcap",
        "x,y.pcap",
    ]


def test_a_name_that_is_no_utf8_becomes_text(tmp_path: Path) -> None:
    path = os.fsencode(tmp_path) + b"/\xff.pcap"
    with open(path, "wb"):
        pass
    (file,) = find_captures([str(tmp_path)])
    assert file.name == "\\xff.pcap"
    assert os.fsencode(file.path) == path


@pytest.mark.parametrize("given", ["none.pcap", "none*.pcap", "empty", "a.pcap,none.pcap"])
def test_what_isnt_there_is_named(folder: Path, given: str) -> None:
    (folder / "empty").mkdir()
    path = ",".join(str(folder / part) for part in given.split(","))
    with pytest.raises(FileNotFoundError, match=r"no (such )?file"):
        find_captures([path])


def test_other_file_systems_are_refused() -> None:
    with pytest.raises(ValueError, match=r"s3://bucket/a\.pcap: only files"):
        find_captures(["s3://bucket/a.pcap"])
