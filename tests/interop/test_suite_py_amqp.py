"""The embedded broker, judged by py-amqp's own tests of RabbitMQ (0-9-1), plain and with TLS."""

from __future__ import annotations

from tests.interop.brokers.suites import PY_AMQP, Report

# They connect to a host of the internet, not to the broker.
INTERNET = frozenset({"test_rmq.test_tls_default_certs", "test_rmq.test_tls_no_default_certs_fails"})


def test_all_pass(py_amqp_suite: Report) -> None:
    assert PY_AMQP.left_out == INTERNET
    py_amqp_suite.expect(passed=61, failed={}, left_out=INTERNET)
