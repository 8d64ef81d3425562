"""The embedded broker's clock, the history of its messages, and the texts of assertions about it."""

import re

import pytest

from amqp_sansio_pytest import NotAsExpected
from tests.kit.definitions import TOPOLOGY
from tests.kit.held_broker import HeldBroker


def test_messages_expire_and_die_without_sleeping(amqp_broker: HeldBroker) -> None:
    amqp_broker.preload(TOPOLOGY)
    amqp_broker.publish(b"1", routing_key="jobs")
    assert amqp_broker.clock.advance(0.999) == 0.999
    assert amqp_broker.queue("jobs").ready == 1
    amqp_broker.clock.advance(0.001)
    assert (amqp_broker.queue("jobs").ready, amqp_broker.queue("graves").ready) == (0, 1)
    (expired,) = amqp_broker.history.assert_expired(queue="jobs", body="1", count=1)
    assert expired.at == 1.0
    amqp_broker.history.assert_dead_lettered(queue="jobs", reason="expired", count=1)
    assert "virtual" in repr(amqp_broker.clock)


def test_queues_expire(amqp_broker: HeldBroker) -> None:
    amqp_broker.preload({"queues": {"brief": {"arguments": {"x-expires": 60_000}}}})
    amqp_broker.clock.advance(59)
    assert amqp_broker.queue("brief").exists
    amqp_broker.clock.advance(1)
    assert not amqp_broker.queue("brief").exists


@pytest.mark.parametrize("seconds", [-1, float("inf"), float("nan")])
def test_time_does_not_run_backwards(amqp_broker: HeldBroker, seconds: float) -> None:
    with pytest.raises(ValueError, match="can't advance"):
        amqp_broker.clock.advance(seconds)


def test_asking_the_history(amqp_broker: HeldBroker) -> None:
    amqp_broker.preload(TOPOLOGY)
    amqp_broker.publish(b"17", exchange="orders", routing_key="order.paid", headers={"kind": "a", "x": 1})
    amqp_broker.publish(b"18", exchange="orders", routing_key="nothing")
    history = amqp_broker.history
    assert history.published(headers={"kind": "a"}).bodies == [b"17"]
    assert history.published(body=re.compile(rb"^\d+$")).bodies == [b"17", b"18"]
    assert history.published(body=b"17".__lt__).bodies == [b"18"]
    assert history.published(queue="jobs", user="(test)")[0].exchange == "orders"
    assert history.unroutable().bodies == [b"18"]
    assert [each.kind for each in history] == ["published", "routed", "published", "unroutable"]
    assert len(history.published()[1:]) == 1
    assert history.routed(queue="jobs", redelivered=False, vhost="/")
    assert "<Happenings: 2>\n" in repr(history.published())
    assert repr(history.expired()) == "<Happenings: none>"
    assert repr(history) == "<HistoryView, 4 records>"
    with pytest.raises(TypeError, match="colour"):
        history.published(colour="red")
    history.clear()
    assert len(history) == 0


def test_assertions_explain_themselves(amqp_broker: HeldBroker) -> None:
    history = amqp_broker.history
    with pytest.raises(NotAsExpected, match="at least one published expected, none found\nnothing has happened"):
        history.assert_published()
    amqp_broker.preload(TOPOLOGY)
    amqp_broker.publish(b"17", exchange="orders", routing_key="order.paid", headers={"kind": "a"})
    with pytest.raises(NotAsExpected) as caught:
        history.assert_published(queue="mails", body="18", headers={"kind": "b"})
    for part in (
        "at least one published expected with queue='mails', body='18', headers={'kind': 'b'}, none found",
        "it came into 'jobs', not 'mails'; body is b'17'; of its headers are other: {'kind': 'a'}",
    ):
        assert part in str(caught.value)
    with pytest.raises(NotAsExpected, match="2 published expected with queue='jobs', 1 found"):
        history.assert_published(queue="jobs", count=2)
    with pytest.raises(NotAsExpected, match="0 published expected, 1 found"):
        history.assert_not_published()
    with pytest.raises(NotAsExpected, match=r"nothing was accepted; all that happened:\n.*published"):
        history.assert_accepted()
    with pytest.raises(NotAsExpected, match="nothing was accepted or rejected or released"):
        history.assert_settled()


def test_a_broker_without_history() -> None:
    with HeldBroker(history=0) as broker, pytest.raises(RuntimeError, match="keeps no history"):
        broker.history.published()
