"""`spans`: OTLP's JSON, or an exporter of OpenTelemetry's SDK."""

import gzip
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from amqp_sansio.recorded.histories import steps_of
from amqp_sansio.recorded.histories.spans import spans_of
from amqp_sansio.recorded.tables import replay_segments
from amqp_sansio_cli.spans import sdk_span
from tests.kit.captures import named
from tests.kit.tables import segments_of

Run = Callable[..., subprocess.CompletedProcess[str]]
REJECTS = "o091_pika_nack_reject_requeue.pcap"


def test_lines_are_printed_or_written(cli: Run, tmp_path: Path) -> None:
    printed = cli("spans", named(REJECTS))
    assert (printed.returncode, printed.stderr) == (0, "")
    (line,) = printed.stdout.splitlines()
    (resource,) = json.loads(line)["resourceSpans"]
    service = resource["resource"]["attributes"][0]["value"]["stringValue"]
    assert service == "Pika Python Client Library"
    for name in ("s.jsonl", "s.jsonl.gz"):
        done = cli("spans", named(REJECTS), "--output", tmp_path / name)
        assert (done.returncode, done.stdout) == (0, "")
        assert f"30 spans in {tmp_path / name}" in done.stderr
        octets = (tmp_path / name).read_bytes()
        assert (gzip.decompress(octets) if name.endswith(".gz") else octets).decode() == printed.stdout


def test_an_exporter_of_the_sdk_takes_them(cli: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    taken = InMemorySpanExporter()
    found = SimpleNamespace(name="memory", load=lambda: lambda: taken)

    def entry_points(group: str, name: str = "") -> list[SimpleNamespace]:
        assert group == "opentelemetry_traces_exporter"
        return [found] if name in ("", "memory") else []

    monkeypatch.setattr("importlib.metadata.entry_points", entry_points)
    done = cli("spans", named(REJECTS), "--exporter", "memory")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "amqp-sansio: 30 spans exported by memory\n")
    assert len(taken.get_finished_spans()) == 30
    wrong = cli("spans", named(REJECTS), "--exporter", "nowhere")
    assert (wrong.returncode, wrong.stderr.count("\n")) == (2, 1)
    assert "no exporter is called 'nowhere', only memory" in wrong.stderr


def test_spans_of_the_sdk_have_what_lines_have() -> None:
    for span in spans_of(steps_of(replay_segments(segments_of([named(REJECTS)])))):
        made = sdk_span(span, {})
        context = made.get_span_context()
        assert context is not None
        assert (f"{context.trace_id:032x}", f"{context.span_id:016x}") == (span.trace_id, span.span_id)
        assert (made.parent is None) == (span.parent_span_id == "")
        assert (made.name, made.start_time, made.end_time) == (span.name, span.start_ns, span.end_ns)
        assert made.kind.value + 1 == span.kind
        assert made.attributes == span.attributes
        assert [f"{each.context.span_id:016x}" for each in made.links] == [each.span_id for each in span.links]
        assert made.status.description == span.error


def test_what_cant_be_is_one_line(cli: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    capture = tmp_path / "c.pcap"
    capture.write_bytes(named(REJECTS).read_bytes())
    assert "is one of the captures" in cli("spans", capture, "--output", capture).stderr
    for name in [name for name in sys.modules if name.startswith("opentelemetry.sdk")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "opentelemetry.sdk", None)
    done = cli("spans", capture, "--exporter", "console")
    assert (done.returncode, done.stderr) == (
        2,
        "amqp-sansio: --exporter needs opentelemetry-sdk: pip install opentelemetry-sdk\n",
    )
