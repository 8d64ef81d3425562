"""`amqp-sansio report`: a page about captures, for people."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Literal, TypeAlias

from amqp_sansio.recorded.tables import PORTS, skew_of
from amqp_sansio_arrow.clocks import parse_offsets
from amqp_sansio_report import Bounds, Report
from amqp_sansio_report.report import LiveReport, report_segments

from .errors import CommandError, describe, say
from .files import check_not_read, write_whole
from .inputs import STDIN, Encrypted, check_captures, find_inputs, read_inputs, read_pipe
from .output import write_lines
from .progress import Progress
from .rows import notes

ReportForm: TypeAlias = Literal["html", "md", "text"]


def report_command(
    given: Sequence[str],
    *,
    output: Path | None,
    form: ReportForm = "html",
    connections: Sequence[str],
    frames: int | None,
    engine: str,
    clock_skew: float = 0.0,
    clock_offset: str = "",
    every: float | None = None,
    ports: Sequence[int] = (),
) -> int:
    """Write the report on the captures, of a pipe alone each `every` seconds too; return the exit status.

    Raises CommandError.
    """
    if engine == "spark" and "-" in given:
        raise CommandError("--engine spark reads files, not standard input")
    if output is None and form == "html":
        raise CommandError("the page needs --output FILE.html; --format text prints")
    if output is not None and output.is_dir():
        raise CommandError(f"{output}: is a folder")
    if output is not None and not output.absolute().parent.is_dir():
        raise CommandError(f"{output}: there is no folder {output.parent}")
    if every is not None and (output is None or list(given) != ["-"]):
        raise CommandError("--every is for a live pipe alone, with --output: report - --output FILE --every SECONDS")
    bounds = Bounds() if frames is None else Bounds(frames=frames)
    files = find_inputs(given)
    if output is not None:
        check_not_read(output, [file.path for file in files if file is not STDIN], stdin=STDIN in files)
    encrypted = Encrypted()
    try:
        if engine == "spark":
            check_captures(files)
            from .spark import make_report

            paths = [file.path for file in files]
            report: Report = make_report(
                paths, bounds, connections, clock_skew=clock_skew, clock_offset=clock_offset, ports=ports
            )
        else:
            known = frozenset((*PORTS, *ports))
            clocks, progress, skew_ns = parse_offsets(clock_offset), Progress(), skew_of(clock_skew)
            if files == [STDIN]:
                live = LiveReport(bounds, wanted=connections, skew_ns=skew_ns, ports=known)
                written = 0.0 if every is None else time.monotonic()
                for item in encrypted.watch(read_pipe(progress, clocks)):
                    live.add(item)
                    if every is not None and time.monotonic() - written >= every:
                        _write_meanwhile(live, output, form)
                        written = time.monotonic()
                report = live.report()
            else:
                items = encrypted.watch(read_inputs(files, progress, clocks))
                report = report_segments(items, bounds, wanted=connections, skew_ns=skew_ns, ports=known)
    except ValueError as error:
        raise CommandError(str(error)) from None
    gather = report.gather
    _write(report, output, form)
    if output is not None:
        say(f"{gather.connections:,} connections, {gather.messages:,} messages in {output}")
    for sentence in notes(gather.passed, encrypted):
        say(sentence)
    if not gather.amqp:
        say(encrypted.nothing(given))
    return 0


def _write_meanwhile(live: LiveReport, output: Path | None, form: ReportForm) -> None:
    try:
        report = live.report()
    except ValueError:
        return  # a connection that --connection means may still come
    _write(report, output, form)


def _write(report: Report, output: Path | None, form: ReportForm) -> None:
    text = report.html if form == "html" else report.text(form)
    if output is None:
        write_lines(text.splitlines())
        return
    try:
        write_whole(output, text)
    except OSError as error:
        raise CommandError(describe(error)) from None
