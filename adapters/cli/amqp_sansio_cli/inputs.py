"""Opens the user's inputs: captures, folders of them, standard input."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterable, Iterator, Sequence
from types import FrameType
from typing import Any

from amqp_sansio.capture import CaptureDamage, NotACapture, Segment, read_segments
from amqp_sansio.capture.gz import MAGIC as GZIP
from amqp_sansio.capture.gz import SLICE
from amqp_sansio_spark.clocks import NO_OFFSETS, ClockOffsets, corrected
from amqp_sansio_spark.files import READ_SIZE, CaptureFile, find_captures

from .errors import CommandError, describe, say
from .progress import Progress

STDIN = CaptureFile("-", "stdin")
_HEAD = 4096
_HANDSHAKE = b"\x16\x03"
_MOST_FLOWS = 100_000


def find_inputs(given: Sequence[str]) -> list[CaptureFile]:
    """Return the capture files of the arguments; `-` is standard input.

    Other files in folders and patterns are left out, with a line on standard error; a file that is named stays. Raises
    CommandError if there are none.
    """
    try:
        found = find_captures([path for path in given if path != "-"])
    except (OSError, ValueError) as error:
        raise CommandError(describe(error)) from None
    files = [file for file in found if file.path in given or _is_readable(file)] or found
    if len(files) < len(found):
        kept = set(files)
        others = [file.name for file in found if file not in kept]
        rest = f" and {len(others) - 3} more" if len(others) > 3 else ""
        say(f"left out, not pcap or pcapng: {', '.join(others[:3])}{rest}")
    return [*files, STDIN] if "-" in given else files


class Encrypted:
    """The connections of TLS among the segments that pass, by their first octets (RFC 8446 section 5.1)."""

    def __init__(self) -> None:
        self._flows: set[str] = set()

    def watch(self, items: Iterable[Segment | CaptureDamage]) -> Iterator[Segment | CaptureDamage]:
        """Hand the items on."""
        for item in items:
            handshake = isinstance(item, Segment) and item.payload[:2] == _HANDSHAKE
            if isinstance(item, Segment) and handshake and len(self._flows) < _MOST_FLOWS:
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


class _Interrupts:
    """Reads a pipe. The first Ctrl-C leaves its end to its writer, which it stops too; the second one is its end."""

    def __init__(self) -> None:
        self._count = 0
        self._reading = False
        self._before: Any = None

    def __enter__(self) -> _Interrupts:
        if threading.current_thread() is threading.main_thread():
            self._before = signal.signal(signal.SIGINT, self._interrupt)
        return self

    def __exit__(self, *_: object) -> None:
        if self._before is not None:
            signal.signal(signal.SIGINT, self._before)

    def read(self, descriptor: int) -> bytes:
        """Return the octets that are there, waiting for some; none at the end."""
        if self._count > 1:
            return b""
        self._reading = True
        try:
            return os.read(descriptor, READ_SIZE)
        except KeyboardInterrupt:
            return b""
        finally:
            self._reading = False

    def _interrupt(self, number: int, frame: FrameType | None) -> None:
        self._count += 1
        if self._count == 1:
            say("waiting for the end of the pipe; Ctrl-C once more ends it here")
        elif self._reading:
            raise KeyboardInterrupt


def check_captures(files: Sequence[CaptureFile]) -> None:
    """Check the beginning of every file. Raises CommandError for an unreadable one."""
    for file in files:
        try:
            _check(file)
        except (OSError, NotACapture) as error:
            raise CommandError(describe(error, file.path)) from None


def read_inputs(
    files: Sequence[CaptureFile], progress: Progress, clocks: ClockOffsets = NO_OFFSETS
) -> Iterator[Segment | CaptureDamage]:
    """Yield everything in the files, in order, by corrected clocks. Raises CommandError for an unreadable one."""
    progress.start("reading", sum([_size(file) for file in files]))
    for file in files:
        try:
            rows = read_segments(_read(file, progress), file=file.name)
            offset_ns = clocks.of(file.name)
            yield from (corrected(row, offset_ns) for row in rows) if offset_ns else rows
        except NotACapture as error:
            text = str(error).removeprefix(f"{file.name}: ")
            where = file.name if file is STDIN else file.path
            raise CommandError(f"{where}: {text}") from None
        except OSError as error:
            raise CommandError(describe(error, file.path)) from None
    progress.stop()


def read_pipe(progress: Progress, clocks: ClockOffsets) -> Iterator[Segment | CaptureDamage]:
    """Yield everything that comes through standard input, as soon as it is there.

    A pipe that ends inside of a packet is no damage: its writer was stopped. The first Ctrl-C, which stops a writer on
    the same terminal too, waits for the end of the pipe, the second one ends the reading. Raises CommandError for
    octets that are no capture.
    """
    for item in read_inputs([STDIN], progress, clocks):
        if not isinstance(item, CaptureDamage) or item.kind != "truncated-file":
            yield item


def _check(file: CaptureFile) -> None:
    with open(file.path, "rb") as opened:
        head = opened.read(_HEAD)
    for _ in read_segments(head, file=file.path):
        break


def _is_readable(file: CaptureFile) -> bool:
    try:
        _check(file)
    except NotACapture:
        return False
    except OSError:
        return True  # whoever reads it says why it can't be read
    return True


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
        with _Interrupts() as interrupts:
            while piece := interrupts.read(sys.stdin.fileno()):
                yield piece
                progress.step(len(piece))
        return
    with open(file.path, "rb") as opened:
        # Each piece of gzip may inflate a thousandfold: small ones keep the progress exact.
        size = SLICE if opened.peek(len(GZIP))[: len(GZIP)] == GZIP else READ_SIZE
        while piece := opened.read(size):
            yield piece
            progress.step(len(piece))
