"""The embedded broker, judged by other clients' own tests of RabbitMQ (0-9-1)."""

from tests.interop.brokers.suites import PY_AMQP, Report

AMQPLIB_FAILS = {
    # A broker may confirm several publishes with one basic.ack; this one confirms each.
    "confirms > multiple confirms": "provoke the server into multi-acking",
    # The broker listens on 127.0.0.1.
    "Connect > Connect API > ipv6": "connect E[A-Z]+ ::1",
}
# They connect to a host of the internet, not to the broker.
INTERNET = frozenset({"test_rmq.test_tls_default_certs", "test_rmq.test_tls_no_default_certs_fails"})


def test_amqplibs_pass_but_two(amqplib_suite: Report) -> None:
    amqplib_suite.expect(passed=317, failed=AMQPLIB_FAILS)


def test_kombus_pass(kombu_suite: Report) -> None:
    kombu_suite.expect(passed=51, failed={})


def test_py_amqps_pass_plain_and_with_tls(py_amqp_suite: Report) -> None:
    assert PY_AMQP.left_out == INTERNET
    py_amqp_suite.expect(passed=61, failed={}, left_out=INTERNET)
