"""The embedded broker, judged by kombu's own tests of RabbitMQ (0-9-1)."""

from __future__ import annotations

from tests.interop.brokers.suites import Report


def test_all_pass(kombu_suite: Report) -> None:
    kombu_suite.expect(passed=51, failed={})
