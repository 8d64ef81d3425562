"""The embedded broker, judged by py-amqp's own tests of RabbitMQ (0-9-1), plain and with TLS."""

from __future__ import annotations

from itertools import product

from tests.interop.brokers.suites import PY_AMQP, Report

# RabbitMQ refuses immediate (540); here it does what 0-9-1 says: without a consumer the message comes back (313).
IMMEDIATE = {
    f"test_rmq.test_rabbitmq_operations.test_publish_consume[{transport}-{method}-{mandatory}-True]": "NoConsumers"
    for transport, method, mandatory in product(
        ("plain", "tls"), ("basic_publish", "basic_publish_confirm"), (False, True)
    )
}

# They connect to a host of the internet, not to the broker.
INTERNET = frozenset({"test_rmq.test_tls_default_certs", "test_rmq.test_tls_no_default_certs_fails"})


def test_all_pass_but_those_that_want_immediate_refused(py_amqp_suite: Report) -> None:
    assert PY_AMQP.left_out == INTERNET
    py_amqp_suite.expect(passed=53, failed=IMMEDIATE, left_out=INTERNET)
