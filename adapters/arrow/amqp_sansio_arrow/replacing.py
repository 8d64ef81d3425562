"""Files that are whole or not there, whoever looks."""

from __future__ import annotations

import os
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO


@contextmanager
def whole_file(path: Path) -> Generator[IO[bytes]]:
    """Open a file to write under the name `NAME.part`: it gets its own when the block ends, and is removed if it fails.

    The file behind a link is replaced, not the link. Anything but a regular file (a pipe, a terminal) is written to,
    and not replaced. Raises OSError.
    """
    where = path.resolve()
    part = where.with_name(where.name + ".part") if not where.exists() or where.is_file() else where
    try:
        file = open(part, "wb")  # noqa: SIM115
    except OSError as error:
        # In the user's words.
        raise OSError(error.errno, error.strerror, str(path)) from None
    try:
        with file:
            yield file
        if part is not where:
            os.replace(part, where)
    except BaseException:
        if part is not where:
            with suppress(OSError):
                part.unlink()
        raise


__all__ = ["whole_file"]
