"""Finds capture files and names them, in a way that the order in which they are given can't change."""

from __future__ import annotations

import os
import posixpath
import stat
from collections.abc import Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from glob import glob, has_magic
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

READ_SIZE = 262_144
"""Octets read from a file at a time."""


class CaptureFile(NamedTuple):
    """A file and the name that its rows carry."""

    path: str
    name: str


def find_captures(
    paths: Iterable[str], *, recursive: bool = True, pattern: str | None = None
) -> list[CaptureFile]:
    """The files behind `paths`, each once, in the order of their names.

    A path is a file, a folder (every file in it, with `recursive` also below it, but none whose name, or whose folder's
    name, begins with a dot or an underscore), a pattern (`*`, `?`, `[...]`, `**`), or several of them with commas
    between. `file:` URIs are accepted. Of folders and patterns only files whose base name matches `pattern` are taken.
    For the files' names see `name_files`.

    Raises FileNotFoundError where nothing is found, PermissionError for a folder that can't be listed or entered,
    ValueError for the URI of another file system.
    """
    found: dict[str, set[str]] = {}
    for given in paths:
        for path in _expand(given, recursive, pattern):
            found.setdefault(os.path.realpath(path), set()).add(path)
    # A file that is found by several ways has the first of its names.
    chosen = [min(ways, key=lambda way: (os.path.basename(way), way)) for ways in found.values()]
    names = name_files(
        [path.replace(os.sep, "/") for path in found],
        [os.path.basename(path) for path in chosen],
    )
    files = [CaptureFile(path, name) for path, name in zip(chosen, names, strict=True)]
    return sorted(files, key=lambda file: file.name)


def name_files(paths: Sequence[str], base_names: Sequence[str]) -> list[str]:
    """The names of the files at `paths`, which are different and absolute, with slashes.

    A file's name is its base name; where two files share a base name, every file is named by its path below the folder
    that all have in common. So names depend on the set of files alone, not on their order, and not on where the folder
    is.
    """
    names = list(base_names)
    if len(set(names)) < len(names):
        root = posixpath.commonpath([posixpath.dirname(path) for path in paths])
        names = [posixpath.relpath(path, root) for path in paths]
    return [_text(name) for name in names]


def read_octets(path: str) -> Iterator[bytes]:
    """The file's octets, piece by piece."""
    with open(path, "rb") as file:
        while piece := file.read(READ_SIZE):
            yield piece


def local_path(given: str) -> str:
    """The path of a `file:` URI; a path stays. Raises ValueError for the URI of another file system."""
    try:
        parts = urlsplit(given)
    except ValueError:
        return given
    # A single letter is a drive of Windows.
    if len(parts.scheme) < 2 or "/" not in given:
        return given
    if parts.scheme != "file" or parts.netloc not in ("", "localhost"):
        raise ValueError(f"{given}: only files that every worker can open by their path are read")
    return unquote(parts.path)


def why_not_a_file(path: str) -> str:
    """Why a path can't be read as a file; an empty text when nothing speaks against it."""
    try:
        mode = os.stat(path).st_mode
    except OSError as error:
        return error.strerror or type(error).__name__
    # To open a pipe would wait for its writer.
    return "" if stat.S_ISREG(mode) else "not a regular file"


def _expand(given: str, recursive: bool, pattern: str | None) -> list[str]:
    path = local_path(given)
    if os.path.isdir(path):
        files = list(_walk(path, recursive, pattern))
        if not files:
            raise FileNotFoundError(f"{given}: no file in this folder")
        return files
    if _is_there(path):
        return [path]
    if has_magic(path):
        matches = [
            file
            for match in sorted(glob(path, recursive=True))
            for file in (
                _walk(match, recursive, pattern)
                if os.path.isdir(match)
                else [match] * _matches(os.path.basename(match), pattern)
            )
        ]
        if matches:
            return matches
    if "," in given:
        parts = [part.strip() for part in given.split(",") if part.strip()]
        if parts:
            return [file for part in parts for file in _expand(part, recursive, pattern)]
    raise FileNotFoundError(f"{given}: no such file")


def _is_there(path: str) -> bool:
    """Whether there is such a name, a dangling link too. Raises PermissionError where that can't be found out."""
    try:
        os.lstat(path)
    except PermissionError:
        raise
    except (OSError, ValueError):
        return False
    return True


def _walk(folder: str, recursive: bool, pattern: str | None) -> Iterator[str]:
    seen: set[str] = set()
    for here, folders, files in os.walk(folder, onerror=_raise, followlinks=True):
        # Links may lead in a circle.
        real = os.path.realpath(here)
        if real in seen:
            folders.clear()
            continue
        seen.add(real)
        folders[:] = sorted(name for name in folders if recursive and not _hidden(name))
        for name in sorted(files):
            if not _hidden(name) and _matches(name, pattern):
                yield os.path.join(here, name)


def _raise(error: OSError) -> None:
    raise error


def _hidden(name: str) -> bool:
    return name.startswith((".", "_"))


def _matches(name: str, pattern: str | None) -> bool:
    return pattern is None or fnmatchcase(name, pattern)


def _text(name: str) -> str:
    """Spark's strings are UTF-8; other octets of a file's name become \\xNN."""
    return os.fsencode(name).decode("utf-8", "backslashreplace")
