"""Finds capture files and names them, in a way that the order in which they are given can't change."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from glob import glob, has_magic
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

READ_SIZE = 262_144
"""Octets read from a file at a time."""


class CaptureFile(NamedTuple):
    """A file and the name that its rows carry."""

    path: str
    name: str


def find_captures(paths: Iterable[str]) -> list[CaptureFile]:
    """The files behind `paths`, each once, in the order of their names.

    A path is a file, a folder (every file below it, but none whose name, or whose folder's name,
    begins with a dot or an underscore), a pattern (`*`, `?`, `[...]`, `**`), or several of them
    with commas between. `file:` URIs are accepted. A file's name is its base name; where two files
    share a base name, every file is named by its path below the folder that all have in common,
    with slashes.

    Raises FileNotFoundError where nothing is found, ValueError for the URI of another file system.
    """
    found: dict[str, str] = {}
    for given in paths:
        for path in _expand(given):
            found.setdefault(os.path.realpath(path), path)
    real = list(found)
    names = [os.path.basename(path) for path in found.values()]
    if len(set(names)) < len(names):
        root = os.path.commonpath([os.path.dirname(path) for path in real])
        names = [os.path.relpath(path, root).replace(os.sep, "/") for path in real]
    files = [
        CaptureFile(path, _text(name)) for path, name in zip(found.values(), names, strict=True)
    ]
    return sorted(files, key=lambda file: file.name)


def read_octets(path: str) -> Iterator[bytes]:
    """The file's octets, piece by piece."""
    with open(path, "rb") as file:
        while piece := file.read(READ_SIZE):
            yield piece


def _expand(given: str) -> list[str]:
    path = _local(given)
    if os.path.isdir(path):
        files = list(_walk(path))
        if not files:
            raise FileNotFoundError(f"{given}: no file in this folder")
        return files
    if os.path.exists(path):
        return [path]
    if has_magic(path):
        matches = sorted(glob(path, recursive=True))
        if matches:
            return [
                file
                for match in matches
                for file in (_walk(match) if os.path.isdir(match) else [match])
            ]
    if "," in given:
        return [file for part in given.split(",") if part.strip() for file in _expand(part.strip())]
    raise FileNotFoundError(f"{given}: no such file")


def _local(given: str) -> str:
    parts = urlsplit(given)
    # A single letter is a drive of Windows.
    if len(parts.scheme) < 2 or "/" not in given:
        return given
    if parts.scheme != "file" or parts.netloc not in ("", "localhost"):
        raise ValueError(f"{given}: only files that every worker can open by their path are read")
    return unquote(parts.path)


def _walk(folder: str) -> Iterator[str]:
    for here, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith((".", "_")))
        for name in sorted(files):
            if not name.startswith((".", "_")):
                yield os.path.join(here, name)


def _text(name: str) -> str:
    """Spark's strings are UTF-8; other octets of a file's name become \\xNN."""
    return os.fsencode(name).decode("utf-8", "backslashreplace")
