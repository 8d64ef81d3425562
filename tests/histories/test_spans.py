"""Histories as spans: one trace for each message, whatever was recorded of it."""

import json
from collections import Counter
from typing import Any

import pytest

from amqp_sansio.recorded.histories import steps_of
from amqp_sansio.recorded.histories.spans import (
    CLIENT,
    CONSUMER,
    ERROR,
    INTERNAL,
    PRODUCER,
    Span,
    SpanLink,
    otlp_lines,
    spans_of,
    trace_id_of,
)
from amqp_sansio.recorded.tables import replay_segments
from tests.kit.captures import CARRIED, named
from tests.kit.tables import segments_of

REJECTS = "o091_pika_nack_reject_requeue.pcap"
CAPTURES = sorted([path.name for path in CARRIED.iterdir() if ".pcap" in path.name])


def spans_in(name: str) -> list[Span]:
    return list(spans_of(steps_of(replay_segments(segments_of([named(name)])))))


def of_trace(spans: list[Span], first: Span) -> list[Span]:
    return [each for each in spans if each.trace_id == first.trace_id]


def test_a_message_that_is_rejected_is_a_trace_up_to_its_dead_letter() -> None:
    spans = spans_in(REJECTS)
    trace = of_trace(spans, spans[0])
    assert [(each.name.split()[0], each.kind) for each in trace] == [
        ("publish", PRODUCER),
        ("get", CONSUMER),
        ("rejected", CLIENT),
        ("dead-letter", INTERNAL),
        ("get", CONSUMER),
    ]
    publish, got, settled, dead, again = trace
    assert publish.parent_span_id == ""
    assert got.parent_span_id == again.parent_span_id == publish.span_id
    assert settled.parent_span_id == dead.parent_span_id == got.span_id
    assert again.links == tuple([SpanLink(publish.trace_id, each.span_id) for each in (publish, got)])
    assert (got.start_ns, got.end_ns) == (got.start_ns, settled.start_ns)
    assert [each.error for each in trace] == [None, "rejected", "rejected", "rejected", None]
    assert got.attributes["messaging.operation.type"] == "receive"
    assert got.attributes["amqp.outcome"] == "rejected"
    assert got.attributes["error.type"] == "rejected"


def test_a_redelivery_has_a_link_to_the_delivery_before() -> None:
    spans = spans_in(REJECTS)
    again = next(each for each in spans if each.name.startswith("redeliver"))
    before = [each for each in of_trace(spans, again) if each.kind == CONSUMER and each.start_ns < again.start_ns]
    assert again.links[-1].span_id == before[-1].span_id


def test_a_publish_ends_with_its_confirm_or_return() -> None:
    returned = next(each for each in spans_in("o091_pyamqp_mandatory_return.pcap") if each.error)
    assert returned.kind == PRODUCER and returned.end_ns > returned.start_ns
    assert returned.attributes["error.type"] == "returned"
    assert "NO_ROUTE" in str(returned.error)


@pytest.mark.parametrize("name", CAPTURES)
def test_every_capture_gives_whole_traces(name: str) -> None:
    spans = spans_in(name)
    steps = steps_of(replay_segments(segments_of([named(name)])))
    kinds = Counter(step[2] for step in steps)
    shown = ("publish", "deliver", "get", "redeliver", "settle", "dead-letter")
    assert len(spans) == sum([kinds[what] for what in shown])
    ids = [(each.trace_id, each.span_id) for each in spans]
    assert len(ids) == len(set(ids))
    assert {each.trace_id for each in spans} <= {trace_id_of(step[0]) for step in steps}
    for each in spans:
        assert each.end_ns >= each.start_ns > 0
        assert not each.parent_span_id or (each.trace_id, each.parent_span_id) in ids
        assert all(link in ids for link in each.links if link.trace_id == each.trace_id)
    assert spans == spans_in(name)


def test_lines_are_requests_of_otlp() -> None:
    spans = spans_in(REJECTS)
    services = {spans[0].connection: "worker"}
    (line,) = otlp_lines(spans, services)
    (resource,) = json.loads(line)["resourceSpans"]
    assert resource["resource"] == {"attributes": [{"key": "service.name", "value": {"stringValue": "worker"}}]}
    (scope,) = resource["scopeSpans"]
    assert scope["scope"] == {"name": "amqp_sansio"}
    written: list[dict[str, Any]] = scope["spans"]
    assert len(written) == len(spans)
    publish, got = written[:2]
    assert set(publish) == {
        *("traceId", "spanId", "name", "kind", "startTimeUnixNano", "endTimeUnixNano", "attributes")
    }
    assert got["parentSpanId"] == publish["spanId"] and len(got["traceId"]) == 32 and len(got["spanId"]) == 16
    assert got["links"] == [{"traceId": publish["traceId"], "spanId": publish["spanId"]}]
    assert got["status"] == {"code": ERROR, "message": "rejected"}
    assert got["startTimeUnixNano"] == str(spans[1].start_ns)
    attributes = {each["key"]: each["value"] for each in got["attributes"]}
    assert attributes["messaging.message.body.size"] == {"intValue": "2"}
    assert attributes["messaging.system"] == {"stringValue": "amqp"}


def test_a_line_has_a_bounded_number_of_spans() -> None:
    (one, *_) = spans_in(REJECTS)
    sizes = [
        sum([len(scope["spans"]) for each in json.loads(line)["resourceSpans"] for scope in each["scopeSpans"]])
        for line in otlp_lines([one] * 1100)
    ]
    assert sizes == [512, 512, 76]
