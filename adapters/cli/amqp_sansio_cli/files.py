"""Files that commands write: whole or not at all, and never one that they read."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path

from .errors import CommandError


def write_whole(path: Path, text: str) -> None:
    """Write a file, so that whoever reads it sees all of it; if that fails, the file stays as it was.

    Anything but a regular file (a pipe, a terminal) is written to, and not replaced, and so is a file that may not be
    replaced, for the rights of its folder, or on Windows because somebody has it open. Raises OSError.
    """
    octets = text.encode()
    try:
        where = path.resolve()
        if where.exists() and not where.is_file():
            where.write_bytes(octets)
            return
        part = where.with_name(where.name + ".part")
        try:
            part.write_bytes(octets)
            os.replace(part, where)
        except OSError as error:
            with suppress(OSError):
                part.unlink()
            if not (isinstance(error, PermissionError) and where.exists()):
                raise
            where.write_bytes(octets)
    except OSError as error:
        # In the user's words.
        raise OSError(error.errno, error.strerror, str(path)) from None


def check_not_read(output: Path, inputs: Iterable[str], *, stdin: bool = False) -> None:
    """Raise CommandError if the output is one of the inputs, or with `stdin` what standard input is redirected from:
    writing it would destroy a capture.
    """
    if any([_is_same(output, Path(each)) for each in inputs]) or (stdin and _is_stdin(output)):
        raise CommandError(f"{output}: is one of the captures; give --output another name")


def check_outputs(outputs: Mapping[str, Path | None], inputs: Mapping[str, Path | None]) -> None:
    """Raise CommandError if a file that is written is also read, or written for another option; keys are options."""
    known = [(option, path) for option, path in inputs.items() if path is not None]
    for option, path in outputs.items():
        if path is None:
            continue
        for other, its in known:
            if _is_same(path, its):
                raise CommandError(f"{path}: {other} and {option} are the same file")
        known.append((option, path))


def _is_same(one: Path, other: Path) -> bool:
    try:
        return os.path.samefile(one, other)
    except (OSError, ValueError):
        # One isn't there: the names decide.
        return one.absolute() == other.absolute()


def _is_stdin(path: Path) -> bool:
    try:
        return sys.stdin is not None and os.path.samestat(os.fstat(sys.stdin.fileno()), os.stat(path))
    except (OSError, ValueError):
        return False  # It isn't there, or standard input is no file.
