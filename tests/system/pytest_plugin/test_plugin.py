"""The pytest plug-in as a user has it: fixtures, mark, options, what a failed test shows."""

import time
from collections.abc import Callable

import pytest

from amqp_sansio.amqp_0_9_1.spec import QueueDeclare
from amqp_sansio_pytest import EmbeddedBroker
from amqp_sansio_sync import connect
from tests.kit.rule_runs import ALONE

pytest_plugins = ["pytester"]

START = 0.05
"""Seconds of the processor that a fresh broker may take."""


def run_my_service(url: str) -> None:
    """Publish two jobs and do them."""
    with connect(url) as connection:
        channel = connection.open_channel()
        channel.call(QueueDeclare(queue="jobs", durable=True))
        for body in (b"1", b"2"):
            channel.publish(body, routing_key="jobs")
        with channel.consume("jobs") as consumer:
            for _ in range(2):
                next(consumer).accept()


# As it stands in the design and the README.


def test_orders(amqp_broker: EmbeddedBroker, amqp_broker_url: str) -> None:
    run_my_service(amqp_broker_url)
    assert amqp_broker.queue("jobs").ready == 0
    amqp_broker.clock.advance(60)  # TTLs and heartbeats, no sleeping


def test_the_history_of_the_service(amqp_broker: EmbeddedBroker, amqp_broker_url: str) -> None:
    run_my_service(amqp_broker_url)
    history = amqp_broker.history
    assert history.assert_published(queue="jobs", count=2).bodies == [b"1", b"2"]
    history.assert_accepted(queue="jobs", body="2", count=1)
    history.assert_delivered(queue="jobs", count=2, redelivered=False)
    assert [each.kind for each in history.all(number=1)] == ["published", "routed", "delivered", "accepted"]


@pytest.mark.amqp_broker(
    users={"me": "s3cret", "you": "too"}, vhosts=("test", "other"), definitions={"queues": ["jobs"]}
)
def test_a_mark_says_what_the_broker_is(amqp_broker: EmbeddedBroker, amqp_broker_url: str) -> None:
    assert amqp_broker_url == f"amqp://me:s3cret@127.0.0.1:{amqp_broker.port}/test"
    with connect(amqp_broker_url) as connection:
        connection.open_channel().call(QueueDeclare("jobs", passive=True))
        (seen,) = amqp_broker.connections
        assert (seen.user, seen.vhost) == ("me", "test")
    with connect(amqp_broker.url_for("you", "other")):
        (seen,) = amqp_broker.connections
        assert (seen.user, seen.vhost) == ("you", "other")
    with pytest.raises(LookupError, match="nobody"):
        amqp_broker.url_for("nobody")


@pytest.mark.amqp_broker(clock="real")
class TestRealTime:
    """A mark of a class is its tests'."""

    def test_the_clock_runs(self, amqp_broker: EmbeddedBroker) -> None:
        clock = amqp_broker.clock
        assert not clock.is_virtual
        before = clock.now
        time.sleep(0.01)
        assert before < clock.now < before + 60
        assert clock.advance(60) > before + 60

    @pytest.mark.amqp_broker(clock="virtual")
    def test_the_nearest_mark_counts(self, amqp_broker: EmbeddedBroker) -> None:
        assert amqp_broker.clock.is_virtual
        assert amqp_broker.clock.now == 0


def test_each_test_has_a_broker_of_its_own_and_may_have_more(
    amqp_broker: EmbeddedBroker, amqp_broker_factory: Callable[..., EmbeddedBroker]
) -> None:
    other = amqp_broker_factory()
    assert other.port != amqp_broker.port
    assert amqp_broker.queues == other.queues == ()
    other.preload({"queues": ["jobs"]})
    assert amqp_broker.queues == ()


def test_a_fresh_broker_takes_less_than_fifty_milliseconds(amqp_broker_factory: Callable[..., EmbeddedBroker]) -> None:
    taken: list[float] = []
    for _ in range(5):
        before = time.process_time()
        broker = amqp_broker_factory()
        taken.append(time.process_time() - before)
        assert broker.port
    # The quickest of some, in the processor's time: the machine does other work, too.
    assert min(taken) < START


def test_what_a_test_that_failed_shows(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        def test_it(amqp_broker):
            amqp_broker.preload({"queues": ["jobs"]})
            amqp_broker.publish(b"hello", routing_key="jobs")
            amqp_broker.history.assert_published(body="world")
        """
    )
    result = pytester.runpytest_inprocess(*ALONE)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "E * at least one published expected with body='world', none found",
            "E *the nearest published:",
            "E *but body is b'hello'",
            "*AMQP broker on port *",
            "queue 'jobs': 1 ready, 0 unsettled, 0 consumers",
            "*published*b'hello'*",
        ]
    )


def test_options_name_the_clock_and_record(pytester: pytest.Pytester) -> None:
    pytester.makeini("[pytest]\namqp_broker_clock = real\n")
    pytester.makepyfile(
        """
        import socket

        def test_clock(amqp_broker):
            assert not amqp_broker.clock.is_virtual
            with socket.create_connection(("127.0.0.1", amqp_broker.port)) as client:
                client.sendall(b"HELLO WORLD")
                assert client.recv(100).startswith(b"AMQP")
        """
    )
    pytester.runpytest_inprocess(*ALONE, "--amqp-broker-record=wire").assert_outcomes(passed=1)
    (recording,) = (pytester.path / "wire").iterdir()
    assert recording.suffix == ".pcapng"
    assert b"HELLO WORLD"[:8] in recording.read_bytes()
    result = pytester.runpytest_inprocess(*ALONE, "--amqp-broker-clock=virtual")
    result.assert_outcomes(failed=1)
