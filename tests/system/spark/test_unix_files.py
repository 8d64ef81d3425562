"""Files that only Unix has, or that a user there may not read: links, pipes, permissions, any octets as a name."""

import os
from pathlib import Path

import pytest

pytest.importorskip("pyspark", reason="needs the extra `spark`")

from amqp_sansio_arrow.files import find_captures
from tests.spark.test_source_pieces import PLAIN, is_refused, problems


def test_a_name_that_is_no_utf8_becomes_text(tmp_path: Path) -> None:
    path = os.fsencode(tmp_path) + b"/\xff.pcap"
    with open(path, "wb"):
        pass
    (file,) = find_captures([str(tmp_path)])
    assert file.name == "\\xff.pcap"
    assert os.fsencode(file.path) == path


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


@pytest.mark.skipif(os.geteuid() == 0, reason="root may list everything")
def test_a_folder_that_cant_be_listed_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep").chmod(0)
    try:
        with pytest.raises(PermissionError):
            find_captures([str(tmp_path)])
    finally:
        (tmp_path / "deep").chmod(0o700)


def test_a_pipe_and_a_link_to_nothing_are_rows(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "nowhere").symlink_to(tmp_path / "nothing")
    is_refused(tmp_path / "pipe", "not a regular file")
    is_refused(tmp_path / "nowhere", "No such file")
    is_refused(tmp_path / "gone", "No such file")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_without_permission_is_a_row(tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_bytes(PLAIN)
    path.chmod(0)
    assert problems(path) == [("unreadable", 0)]
