"""Which files are read, and under which names."""

from functools import partial
from pathlib import Path

import pytest

from amqp_sansio_arrow import files
from amqp_sansio_arrow.files import CaptureFile, find_captures, name_files, native_path


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


@pytest.mark.parametrize(
    ("path", "windows"),
    [
        ("/C:/captures/a.pcap", "C:/captures/a.pcap"),
        ("/c:/", "c:/"),
        ("/captures/a.pcap", "/captures/a.pcap"),
        ("/1:/a", "/1:/a"),
        ("/", "/"),
        ("C:/a", "C:/a"),
    ],
)
def test_a_uri_with_a_drive(path: str, windows: str) -> None:
    assert native_path(path, "nt") == windows
    assert native_path(path, "posix") == path


def test_a_uri_of_windows_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "native_path", partial(native_path, system="nt"))
    assert files.local_path("file:///C:/my%20captures/a.pcap") == "C:/my captures/a.pcap"
    assert files.local_path("C:/captures/a.pcap") == "C:/captures/a.pcap"


def test_files_on_two_drives_are_named() -> None:
    assert name_files(["C:/x/a.pcap", "D:/x/a.pcap"], ["a.pcap"] * 2) == ["C:/x/a.pcap", "D:/x/a.pcap"]
    assert name_files(["C:/x/a.pcap", "C:/y/a.pcap"], ["a.pcap"] * 2) == ["x/a.pcap", "y/a.pcap"]
