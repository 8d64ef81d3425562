"""Finds capture files and names them, independently of the order in which they are given."""

from __future__ import annotations

import os
import posixpath
import stat
from collections.abc import Collection, Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from typing import Final, NamedTuple

from amqp_sansio.capture import NotACapture, read_segments

from .compressed import installed

READ_SIZE: Final = 262_144
"""Octets read from a file at a time."""
_HEAD: Final = 4096
"""Octets that show whether a file is a capture."""


class CaptureFile(NamedTuple):
    """A file and its name in rows."""

    path: str
    name: str


def find_captures(paths: Iterable[str], *, recursive: bool = True, pattern: str | None = None) -> list[CaptureFile]:
    """Return the files of `paths`, each once, in the order of their names.

    A path is a file, a folder (every file in it, with `recursive` also below it, except files and folders whose name
    begins with a dot or an underscore), a pattern (`*`, `?`, `[...]`, `**`), or several of them separated by commas.
    `file:` URIs are accepted. Of folders and patterns only files whose base name matches `pattern` are taken. For the
    files' names see `name_files`.

    Raises FileNotFoundError if nothing is found, PermissionError for an inaccessible folder, ValueError for the URI of
    another file system.
    """
    found: dict[str, set[str]] = {}
    for given in paths:
        for path in _expand(given, recursive, pattern):
            found.setdefault(os.path.realpath(path), set()).add(path)
    # A file found by several ways has the first of its names.
    chosen = [min(ways, key=lambda way: (os.path.basename(way), way)) for ways in found.values()]
    names = name_files([path.replace(os.sep, "/") for path in found], [os.path.basename(path) for path in chosen])
    files = [CaptureFile(path, name) for path, name in zip(chosen, names, strict=True)]
    return sorted(files, key=lambda file: file.name)


def without_others(found: Sequence[CaptureFile], named: Collection[str]) -> tuple[list[CaptureFile], list[CaptureFile]]:
    """Return the captures among the files that `find_captures` found, and the others.

    A file whose path is in `named` stays, and so does one that can't be read: whoever reads it says why. If no file is
    a capture, all stay.
    """
    kept = [file for file in found if file.path in named or _seems_capture(file)] or list(found)
    chosen = set(kept)
    return kept, [file for file in found if file not in chosen]


def check_capture(file: CaptureFile) -> None:
    """Look at the beginning of a file. Raises NotACapture, or OSError if it can't be read."""
    with open(file.path, "rb") as opened:
        head = opened.read(_HEAD)
    for _ in read_segments(head, file=file.path, inflaters=installed()):
        break


def _seems_capture(file: CaptureFile) -> bool:
    try:
        check_capture(file)
    except NotACapture:
        return False
    except OSError:
        return True
    return True


def name_files(paths: Sequence[str], base_names: Sequence[str]) -> list[str]:
    """Return the names of the files at `paths`, which are different and absolute, with slashes.

    A file's name is its base name; if two files share a base name, every file is named by its path below the folder
    that all have in common. So names depend only on the set of files, not on their order or the folder's location.
    """
    names = list(base_names)
    if len(set(names)) < len(names):
        root = posixpath.commonpath([posixpath.dirname(path) for path in paths])
        names = [posixpath.relpath(path, root) for path in paths]
    return [_text(name) for name in names]


def read_octets(path: str) -> Iterator[bytes]:
    """Yield the file's octets, piece by piece."""
    with open(path, "rb") as file:
        while piece := file.read(READ_SIZE):
            yield piece


def local_path(given: str) -> str:
    """Return the path of a `file:` URI; a path stays the same. Raises ValueError for the URI of another file system."""
    if ":" not in given:
        return given
    # The command's start doesn't wait for modules that most calls don't need.
    from urllib.parse import unquote, urlsplit

    try:
        parts = urlsplit(given)
    except ValueError:
        return given
    # A single letter is a Windows drive.
    if len(parts.scheme) < 2 or "/" not in given:
        return given
    if parts.scheme != "file" or parts.netloc not in ("", "localhost"):
        raise ValueError(f"{given}: only files that every worker can open by their path are read")
    return native_path(unquote(parts.path))


def native_path(path: str, system: str = os.name) -> str:
    """Return the path in a `file:` URI as the system writes it: on Windows no slash stands before a drive.

    >>> native_path("/C:/captures/a.pcap", "nt"), native_path("/C:/captures/a.pcap", "posix")
    ('C:/captures/a.pcap', '/C:/captures/a.pcap')
    """
    has_drive = system == "nt" and path[:1] == "/" and path[1:2].isalpha() and path[2:3] == ":"
    return path[1:] if has_drive else path


def why_not_a_file(path: str) -> str:
    """Return why a path can't be read as a file; an empty text if it seems readable."""
    try:
        mode = os.stat(path).st_mode
    except OSError as error:
        return error.strerror or type(error).__name__
    # Opening a pipe would wait for its writer.
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
    from glob import glob, has_magic

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
    """Whether the name exists, even as a dangling link. Raises PermissionError if that is unknown."""
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
        # Links may be circular.
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
    """Return a file name as UTF-8, as Spark's strings are; other octets become \\xNN."""
    return os.fsencode(name).decode("utf-8", "backslashreplace")
