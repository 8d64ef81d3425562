"""Opens the user's inputs: captures, folders of them, standard input."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from amqp_sansio.capture import CaptureDamage, NotACapture, Segment, read_segments
from amqp_sansio.capture.gz import SLICE
from amqp_sansio.capture.inflating import LONGEST, compression_of
from amqp_sansio.capture.records import SYN
from amqp_sansio.capture.twice import Twice
from amqp_sansio_arrow.clocks import NO_OFFSETS, ClockOffsets, corrected
from amqp_sansio_arrow.compressed import installed
from amqp_sansio_arrow.files import READ_SIZE, CaptureFile, check_capture, find_captures, without_others

from .errors import CommandError, describe, say
from .progress import Progress

if TYPE_CHECKING:
    from types import FrameType

STDIN = CaptureFile("-", "stdin")
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
    waiting = [file for file in found if file.path not in given and _is_pipe(file)]
    if waiting:
        # Opening one would wait for whoever writes it.
        say(f"left out, pipes or devices: {', '.join(file.name for file in waiting[:3])}{_rest(waiting)}")
        found = [file for file in found if file not in waiting]
        if not found:
            raise CommandError("no file is left to read; name a pipe itself, or give - for standard input")
    files, others = without_others(found, given)
    if others:
        say(f"left out, not pcap or pcapng: {', '.join([file.name for file in others[:3]])}{_rest(others)}")
    return [*files, STDIN] if "-" in given else files


def _rest(files: Sequence[CaptureFile]) -> str:
    return f" and {len(files) - 3} more" if len(files) > 3 else ""


def _is_pipe(file: CaptureFile) -> bool:
    """Whether it is anything but a regular file; one that can't be asked is not."""
    try:
        return not stat.S_ISREG(os.stat(file.path).st_mode)
    except OSError:
        return False


class Encrypted:
    """The connections of TLS among the segments that pass, by their first octets (RFC 8446 section 5.1), and those that
    are there twice.
    """

    def __init__(self) -> None:
        self._flows: set[str] = set()
        """Those that begin as TLS does."""
        self._twice = Twice()
        """Finds connections that two points have captured."""

    def watch(self, items: Iterable[Segment | CaptureDamage]) -> Iterator[Segment | CaptureDamage]:
        """Hand the items on."""
        for item in items:
            if isinstance(item, Segment) and item.payload.startswith(_HANDSHAKE) and len(self._flows) < _MOST_FLOWS:
                self._flows.add(item.flow)
            if isinstance(item, Segment) and item.flags & SYN:
                self._twice.segment(item)
            yield item

    def twice(self) -> list[str]:
        """Return the sentence about connections that are in the captures twice, if there are any."""
        found = self._twice.found
        if not found:
            return []
        number = "1 connection is" if len(found) == 1 else f"{len(found):,} connections are"
        one, other = found[0]
        return [
            f"{number} in the captures twice, before and behind an address translation: {one} is {other}; everything "
            "of them counts twice, so capture at one of the points, or take the packets of one with a filter of tcpdump"
        ]

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
        """How often Ctrl-C was pressed: the first time is the writer's, the second ends the reading."""
        self._reading = False
        """Whether the program waits in `os.read`, which only an exception interrupts."""
        self._before: Any = None
        """The handler of SIGINT that is put back at the end; None: none was replaced, outside of the main thread."""

    def __enter__(self) -> _Interrupts:
        import signal
        import threading

        if threading.current_thread() is threading.main_thread():
            self._before = signal.signal(signal.SIGINT, self._interrupt)
        return self

    def __exit__(self, *_: object) -> None:
        if self._before is not None:
            import signal

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
            check_capture(file)
        except NotACapture as error:
            raise CommandError(_why(error, file)) from None
        except OSError as error:
            raise CommandError(describe(error, file.path)) from None


def read_inputs(
    files: Sequence[CaptureFile], progress: Progress, clocks: ClockOffsets = NO_OFFSETS
) -> Iterator[Segment | CaptureDamage]:
    """Yield everything in the files, in order, by corrected clocks. Raises CommandError for an unreadable one."""
    progress.start("reading", sum([_size(file) for file in files]))
    for file in files:
        try:
            rows = read_segments(_read(file, progress), file=file.name, inflaters=installed())
            offset_ns = clocks.of(file.name)
            yield from (corrected(row, offset_ns) for row in rows) if offset_ns else rows
        except NotACapture as error:
            raise CommandError(_why(error, file)) from None
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


def _why(error: NotACapture, file: CaptureFile) -> str:
    """Say why a file is no capture; of a compressed one that can't be inflated here, the pipe that can."""
    where = file.name if file is STDIN else file.path
    text = str(error).removeprefix(f"{file.name}: ").removeprefix(f"{file.path}: ")
    what, _, pipe = text.partition("; pipe it: ")
    if not pipe:
        return f"{where}: {text}"
    name = what.rpartition(" ")[2]
    library = {"zstd": "zstandard"}.get(name, name)
    return f"{where}: {what}; install {library}, or pipe it: {name} -dc {where} | amqp-sansio replay -"


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
        # Each compressed piece may inflate a thousandfold: small ones keep the progress exact.
        size = READ_SIZE if compression_of(opened.peek(LONGEST)) is None else SLICE
        while piece := opened.read(size):
            yield piece
            progress.step(len(piece))
