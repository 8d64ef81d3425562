"""Opens the user's inputs: captures, folders of them, standard input."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Sequence

from amqp_sansio.capture import CaptureDamage, NotACapture, Segment, read_segments
from amqp_sansio.capture.gz import MAGIC as GZIP
from amqp_sansio.capture.gz import SLICE
from amqp_sansio_spark.files import READ_SIZE, CaptureFile, find_captures

from .errors import CommandError, describe
from .progress import Progress

STDIN = CaptureFile("-", "stdin")
_HEAD = 4096
_HANDSHAKE = b"\x16\x03"


def find_inputs(given: Sequence[str]) -> list[CaptureFile]:
    """Return the capture files of the arguments; `-` is standard input.

    Raises CommandError if there are none.
    """
    try:
        files = find_captures([path for path in given if path != "-"])
    except (OSError, ValueError) as error:
        raise CommandError(describe(error)) from None
    return [*files, STDIN] if "-" in given else files


class Encrypted:
    """The connections of TLS among the segments that pass, by their first octets (RFC 8446 section 5.1)."""

    def __init__(self) -> None:
        self._flows: set[str] = set()

    def watch(self, items: Iterable[Segment | CaptureDamage]) -> Iterator[Segment | CaptureDamage]:
        """Hand the items on."""
        for item in items:
            if isinstance(item, Segment) and item.payload[:2] == _HANDSHAKE:
                self._flows.add(item.flow)
            yield item

    def nothing(self, given: Sequence[str]) -> str:
        """Return the sentence about captures without AMQP."""
        number = len(self._flows)
        where = ", ".join(given)
        if not number:
            return f"no AMQP in {where}"
        what = "1 connection is TLS" if number == 1 else f"{number} connections are TLS"
        return (
            f"no AMQP in {where} that can be read: {what}; record above it with amqp-sansio record, or with record= "
            "in a client, or decrypt the capture first (tshark reads key logs)"
        )


def check_captures(files: Sequence[CaptureFile]) -> None:
    """Check the beginning of every file. Raises CommandError for an unreadable one."""
    for file in files:
        try:
            with open(file.path, "rb") as opened:
                head = opened.read(_HEAD)
            for _ in read_segments(head, file=file.path):
                break
        except (OSError, NotACapture) as error:
            raise CommandError(describe(error, file.path)) from None


def read_inputs(files: Sequence[CaptureFile], progress: Progress) -> Iterator[Segment | CaptureDamage]:
    """Yield everything in the files, in order. Raises CommandError for an unreadable one."""
    progress.start("reading", sum([_size(file) for file in files]))
    for file in files:
        try:
            yield from read_segments(_read(file, progress), file=file.name)
        except NotACapture as error:
            text = str(error).removeprefix(f"{file.name}: ")
            where = file.name if file is STDIN else file.path
            raise CommandError(f"{where}: {text}") from None
        except OSError as error:
            raise CommandError(describe(error, file.path)) from None
    progress.stop()


def _size(file: CaptureFile) -> int:
    if file is STDIN:
        return 0
    try:
        return os.path.getsize(file.path)
    except OSError as error:
        linked = f" (a link to {os.readlink(file.path)})" if os.path.islink(file.path) else ""
        raise CommandError(f"{describe(error)}{linked}") from None


def _read(file: CaptureFile, progress: Progress) -> Iterator[bytes]:
    if file is STDIN:
        if sys.stdin is None:
            raise CommandError("standard input is closed")
        while piece := os.read(sys.stdin.fileno(), READ_SIZE):
            yield piece
        return
    with open(file.path, "rb") as opened:
        # Each piece of gzip may inflate a thousandfold: small ones keep the progress exact.
        size = SLICE if opened.peek(len(GZIP))[: len(GZIP)] == GZIP else READ_SIZE
        while piece := opened.read(size):
            yield piece
            progress.step(len(piece))
