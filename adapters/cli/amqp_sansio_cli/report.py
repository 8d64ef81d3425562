"""`amqp-sansio report`: a page about captures, for people."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from amqp_sansio.tables import skew_of
from amqp_sansio_report import Bounds, Report
from amqp_sansio_report.report import report_live, report_segments
from amqp_sansio_spark.clocks import parse_offsets

from .errors import CommandError, describe, say
from .inputs import STDIN, Encrypted, check_captures, find_inputs, read_inputs, read_pipe
from .output import write_lines
from .progress import Progress


def report_command(
    given: Sequence[str],
    *,
    output: Path | None,
    form: Literal["html", "md", "text"] = "html",
    connections: Sequence[str],
    frames: int | None,
    engine: str,
    clock_skew: float = 0.0,
    clock_offset: str = "",
) -> int:
    """Write the report on the captures; return the exit status. Raises CommandError."""
    if engine == "spark" and "-" in given:
        raise CommandError("--engine spark reads files, not standard input")
    if output is None and form == "html":
        raise CommandError("the page needs --output FILE.html; --format text prints")
    if output is not None and output.is_dir():
        raise CommandError(f"{output}: is a folder")
    if output is not None and not output.absolute().parent.is_dir():
        raise CommandError(f"{output}: there is no folder {output.parent}")
    bounds = Bounds() if frames is None else Bounds(frames=frames)
    files = find_inputs(given)
    encrypted = Encrypted()
    try:
        if engine == "spark":
            check_captures(files)
            from .spark import make_report

            paths = [file.path for file in files]
            report: Report = make_report(paths, bounds, connections, clock_skew=clock_skew, clock_offset=clock_offset)
        else:
            clocks, progress, live = parse_offsets(clock_offset), Progress(), files == [STDIN]
            items = read_pipe(progress, clocks) if live else read_inputs(files, progress, clocks)
            make = report_live if live else report_segments
            report = make(encrypted.watch(items), bounds, wanted=connections, skew_ns=skew_of(clock_skew))
    except ValueError as error:
        raise CommandError(str(error)) from None
    text = report.html if form == "html" else report.text(form)
    gather = report.gather
    if output is None:
        write_lines(text.splitlines())
    else:
        try:
            output.write_text(text, encoding="utf-8")
        except OSError as error:
            raise CommandError(describe(error, str(output))) from None
        say(f"{gather.connections:,} connections, {gather.messages:,} messages in {output}")
    if not gather.amqp:
        say(encrypted.nothing(given))
    return 0
