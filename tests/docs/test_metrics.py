"""The programs of docs/metrics.md, over metrics of two connections."""

from __future__ import annotations

from typing import Any

import pytest

from amqp_sansio.client.metrics import Metrics
from tests.docs.test_pages import BLOCK, DOCS


def blocks() -> list[str]:
    found: list[str] = BLOCK.findall((DOCS / "metrics.md").read_text(encoding="utf-8"))
    return found


def names_of(block: str) -> dict[str, Any]:
    names: dict[str, Any] = {"__name__": "page"}
    exec(compile(block, "metrics.md", "exec"), names)
    return names


def used() -> Metrics:
    metrics = Metrics()
    metrics.settled("accepted", 3)
    metrics.settled("rejected", 1)
    metrics.octets_in = 100
    return metrics


def test_the_text_for_prometheus() -> None:
    exposition = names_of(blocks()[0])["exposition"]
    lines = exposition([*used().samples(), *used().samples()]).splitlines()
    assert lines.count("# TYPE amqp_client_settled_total counter") == 1
    assert lines.count("# TYPE amqp_client_connections gauge") == 1
    assert 'amqp_client_settled_total{outcome="accepted"} 6' in lines
    assert 'amqp_client_settled_total{outcome="rejected"} 2' in lines
    assert "amqp_client_received_octets_total 200" in lines
    names = [each.partition(" ")[0] for each in lines if not each.startswith("#")]
    assert len(names) == len(set(names))


def test_the_instruments_of_opentelemetry() -> None:
    sdk = pytest.importorskip("opentelemetry.sdk.metrics", reason="the recipe is for programs with OpenTelemetry")
    export = pytest.importorskip("opentelemetry.sdk.metrics.export")
    resources = pytest.importorskip("opentelemetry.sdk.resources")
    reader = export.InMemoryMetricReader()
    # The default resource is looked for by threads.
    provider = sdk.MeterProvider([reader], resource=resources.Resource({}), shutdown_on_exit=False)
    names_of(blocks()[1])["observe"](provider.get_meter("test"), used())
    data = reader.get_metrics_data()
    (scope,) = data.resource_metrics[0].scope_metrics
    points = {each.name: list(each.data.data_points) for each in scope.metrics}
    found = {point.attributes["outcome"]: point.value for point in points["amqp_client_settled_total"]}
    assert found == {"accepted": 3, "rejected": 1, "released": 0, "modified": 0}
    assert [point.value for point in points["amqp_client_received_octets_total"]] == [100]
