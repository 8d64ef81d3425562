"""Messages for the user, one line each: errors and results."""

from __future__ import annotations

import errno
import os
import sys
from typing import Final, TextIO

from amqp_sansio.printing import printable

PROGRAM = "amqp-sansio"


SYSTEM: Final = os.name


class CommandError(Exception):
    """Wrong usage, or unusable input or output: its text is printed as one line, and the exit status is 2."""


def say(text: str) -> None:
    """Print one line on standard error, for any text; without a reader it is dropped."""
    try:
        print(f"{PROGRAM}: {printable(text)}", file=sys.stderr, flush=True)
    except OSError:
        give_up(sys.stderr)


def give_up(stream: TextIO) -> None:
    """Discard everything buffered and written later: the stream is broken."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def is_broken_pipe(error: OSError) -> bool:
    """Return whether nobody reads what was written: Windows says EINVAL for it."""
    return isinstance(error, BrokenPipeError) or (SYSTEM == "nt" and error.errno == errno.EINVAL)


def describe(error: Exception, name: str = "") -> str:
    """Return a system error's text, without its number; `name` is the file's, if the error has none."""
    if isinstance(error, OSError) and error.strerror:
        about = name if error.filename is None else _file_name(error.filename)
        return f"{about}: {error.strerror.lower()}" if about else error.strerror.lower()
    return str(error) or type(error).__name__


def describe_fault(error: Exception) -> str:
    """Return a text about an unexpected error: its type, where it was raised, and what to do."""
    where = error.__traceback__
    while where is not None and where.tb_next is not None:
        where = where.tb_next
    place = "" if where is None else f" at {'/'.join(where.tb_frame.f_code.co_filename.split(os.sep)[-2:])}"
    line = "" if where is None else f":{where.tb_lineno}"
    return (
        f"a fault of {PROGRAM} itself: {type(error).__name__}: {error}{place}{line}; "
        "python -X dev -m amqp_sansio_cli shows where it comes from"
    )


def _file_name(name: object) -> str:
    return os.fsdecode(name) if isinstance(name, (str, bytes)) else str(name)
