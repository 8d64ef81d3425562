"""Which files are read, and under which names."""

import os
from pathlib import Path

import pytest

from amqp_sansio_spark.files import CaptureFile, find_captures, name_files


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("a.pcap", "b.pcap", "deep/c.pcap", "deep/_temporary/d.pcap", ".hidden", "x,y.pcap"):
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


def test_equal_base_names_are_told_apart_by_the_path_below_the_common_folder(folder: Path) -> None:
    (folder / "deep" / "a.pcap").write_bytes(b"")
    files = find_captures([str(folder)])
    assert [file.name for file in files] == ["a.pcap", "b.pcap", "deep/a.pcap", "deep/c.pcap", "x,y.pcap"]


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


def test_folders_of_folders_and_names_are_chosen(folder: Path) -> None:
    (folder / "notes.txt").write_bytes(b"")

    def names(given: str, *, recursive: bool = True, pattern: str | None = None) -> list[str]:
        files = find_captures([str(folder / given)], recursive=recursive, pattern=pattern)
        return [file.name for file in files]

    assert names("", recursive=False) == ["a.pcap", "b.pcap", "notes.txt", "x,y.pcap"]
    assert names("", pattern="[ac].pcap*") == ["a.pcap", "c.pcap"]
    assert names("*", recursive=False, pattern="*.txt") == ["notes.txt"]
    # A file that is named itself is meant, whatever the pattern.
    assert names("a.pcap", pattern="*.txt") == ["a.pcap"]
    with pytest.raises(FileNotFoundError, match="no file in this folder"):
        names("", pattern="*.none")


def test_links_are_followed_once_and_name_a_file_in_one_way(tmp_path: Path) -> None:
    there = tmp_path / "there"
    there.mkdir()
    (there / "z.pcap").write_bytes(b"")
    here = tmp_path / "here"
    here.mkdir()
    (here / "days").symlink_to(there)
    (there / "back").symlink_to(here)
    (here / "m.pcap").symlink_to(there / "z.pcap")
    for given in ([str(here)], [str(there / "z.pcap"), str(here)], [str(here), str(there)]):
        assert [file.name for file in find_captures(given)] == ["m.pcap"]


def test_a_folder_elsewhere_gives_the_same_names(folder: Path, tmp_path: Path) -> None:
    import shutil

    (folder / "deep" / "a.pcap").write_bytes(b"")
    moved = tmp_path / "some" / "where" / "else"
    names = [file.name for file in find_captures([str(folder)])]
    shutil.copytree(folder, moved, ignore=shutil.ignore_patterns("some"))
    assert [file.name for file in find_captures([str(moved)])] == names


def test_names_are_those_of_the_set_in_any_order() -> None:
    paths = ["/s3/a/day1/x.pcap", "/s3/a/day2/x.pcap", "/s3/a/day2/y.pcap"]
    bases = [path.rpartition("/")[2] for path in paths]
    assert name_files(paths, bases) == ["day1/x.pcap", "day2/x.pcap", "day2/y.pcap"]
    assert name_files(paths[::-1], bases[::-1]) == ["day2/y.pcap", "day2/x.pcap", "day1/x.pcap"]
    assert name_files(paths[1:], bases[1:]) == ["x.pcap", "y.pcap"]
    assert name_files([], []) == []


@pytest.mark.skipif(os.geteuid() == 0, reason="root may list everything")
def test_a_folder_that_cant_be_listed_is_an_error(folder: Path) -> None:
    (folder / "deep").chmod(0)
    try:
        with pytest.raises(PermissionError):
            find_captures([str(folder)])
    finally:
        (folder / "deep").chmod(0o700)
