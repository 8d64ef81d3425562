"""`amqp-sansio spans`: the histories of messages as OpenTelemetry spans."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from amqp_sansio.recorded.histories import steps_of
from amqp_sansio.recorded.histories.spans import Span, otlp_lines, spans_of
from amqp_sansio.recorded.tables import COLUMNS, skew_of

from .errors import CommandError, say
from .files import check_not_read
from .output import write_lines
from .rows import LocalRows
from .writing import Target, many, open_file

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import ReadableSpan

_NAMES: Final = [name for name, _ in COLUMNS["connections"]]
_TOGETHER: Final = 512
"""Spans that are exported at a time."""


def spans_command(
    given: Sequence[str], *, output: Path | None, exporter: str | None, clock_skew: float = 0.0, clock_offset: str = ""
) -> int:
    """Print, write or export the spans; return the exit status. Raises CommandError."""
    rows = LocalRows(given, ("messages", "events", "connections"), "none", clock_skew, clock_offset)
    if output is not None:
        check_not_read(output, [file.path for file in rows.files], stdin="-" in given)
    export = None if exporter is None else _exporter(exporter)
    services: dict[str, str] = {}
    spans = list(spans_of(steps_of(_without_connections(rows, services), skew_ns=skew_of(clock_skew))))
    if export is not None:
        for some in many(spans, _TOGETHER):
            if not export.export([sdk_span(each, services) for each in some]).name == "SUCCESS":
                raise CommandError(f"the exporter {exporter} has failed")
        export.shutdown()
        say(f"{len(spans):,} spans exported by {exporter}")
    elif output is not None:
        packed = output.suffix if output.suffix in (".gz", ".zst") else ""
        with open_file(Target(output, "jsonl", packed)) as file:
            for line in otlp_lines(spans, services):
                file.write(f"{line}\n".encode())
        say(f"{len(spans):,} spans in {output}")
    else:
        write_lines(otlp_lines(spans, services), escape=False)
    if not rows.found:
        say(rows.encrypted.nothing(given))
    return 0


def _without_connections(
    rows: Iterable[tuple[str, tuple[Any, ...]]], services: dict[str, str]
) -> Iterator[tuple[str, tuple[Any, ...]]]:
    """Yield the rows of the other tables, and note what the connections' programs are called."""
    for table, values in rows:
        if table != "connections":
            yield table, values
            continue
        row = dict(zip(_NAMES, values, strict=True))
        name = row["connection_name"] or row["client_product"]
        if name:
            services[row["connection"]] = name


def _exporter(name: str) -> Any:
    """Return an exporter of OpenTelemetry by its name, which its own environment variables configure."""
    from importlib import import_module
    from importlib.metadata import entry_points

    try:
        import_module("opentelemetry.sdk.trace")
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] != "opentelemetry":
            raise
        raise CommandError("--exporter needs opentelemetry-sdk: pip install opentelemetry-sdk") from None

    found = list(entry_points(group="opentelemetry_traces_exporter", name=name))
    if not found:
        known = sorted({each.name for each in entry_points(group="opentelemetry_traces_exporter")})
        raise CommandError(
            f"no exporter is called {name!r}, only {', '.join(known) or 'none'}: "
            "pip install opentelemetry-exporter-otlp has otlp"
        )
    return found[0].load()()


def sdk_span(span: Span, services: Mapping[str, str]) -> ReadableSpan:
    """Return a span as those of OpenTelemetry's SDK are."""
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import ReadableSpan
    from opentelemetry.sdk.util.instrumentation import InstrumentationScope
    from opentelemetry.trace import Link, SpanContext, SpanKind, Status, StatusCode, TraceFlags

    def context(trace_id: str, span_id: str) -> SpanContext:
        return SpanContext(int(trace_id, 16), int(span_id, 16), is_remote=False, trace_flags=TraceFlags(1))

    kinds = (SpanKind.INTERNAL, SpanKind.SERVER, SpanKind.CLIENT, SpanKind.PRODUCER, SpanKind.CONSUMER)
    return ReadableSpan(
        name=span.name,
        context=context(span.trace_id, span.span_id),
        parent=context(span.trace_id, span.parent_span_id) if span.parent_span_id else None,
        resource=Resource({"service.name": services.get(span.connection) or span.connection}),
        attributes=dict(span.attributes),
        links=[Link(context(each.trace_id, each.span_id)) for each in span.links],
        kind=kinds[span.kind - 1],
        status=Status(StatusCode.UNSET) if span.error is None else Status(StatusCode.ERROR, span.error),
        start_time=span.start_ns,
        end_time=span.end_ns,
        instrumentation_scope=InstrumentationScope("amqp_sansio"),
    )
