"""Times of blocking calls: what a TimeoutError says, and contexts that are left although the server is silent."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from amqp_sansio import AMQP_0_9_1, AMQP_0_10, AMQP_1_0, Version
from amqp_sansio.amqp_0_9_1.spec import QueueDeclare
from amqp_sansio.amqp_0_10.spec import QueueQuery
from tests.kit.scripted import ScriptedBroker
from tests.kit.sync_user import WAIT, SyncUser, each_version

Call = Callable[[SyncUser], object]
TEXTS: dict[Version, dict[str, Call]] = {
    AMQP_0_9_1: {
        "the confirm": lambda user: user.publish(b"x", timeout=0.05),
        "channel.open": lambda user: user.open(0.05),
        "queue.declare": lambda user: user.channel.call(QueueDeclare("jobs", durable=True), timeout=0.05),
        "basic.get": lambda user: user.channel.get("jobs", timeout=0.05),
        "the confirms": lambda user: user.channel.wait_for_confirms(0.05),
        "a delivery from 'jobs'": lambda user: next(user.consumer),
    },
    AMQP_0_10: {
        "the outcome": lambda user: user.publish(b"x", timeout=0.05),
        "the begin": lambda user: user.open(0.05),
        r"queue\.query": lambda user: user.channel.call(QueueQuery(queue="jobs"), timeout=0.05),
        r"message\.subscribe": lambda user: user.channel.subscribe("jobs", timeout=0.05),
        "a message of 'subscription-1'": lambda user: next(user.consumer),
        "the end of the session": lambda user: user.channel.wait_closed(0.05),
    },
    AMQP_1_0: {
        "the outcome": lambda user: user.publish(b"x", timeout=0.05),
        "the begin": lambda user: user.open(0.05),
        "the attach": lambda user: user.channel.open_receiver("jobs", timeout=0.05),
        "the drain": lambda user: user.consumer.drain(0.05),
        "a delivery from 'jobs'": lambda user: next(user.consumer),
        "the declaration of the transaction": lambda user: user.channel.transaction(timeout=0.05).declare(),
        "the end of the link": lambda user: user.consumer.wait_closed(0.05),
        "the end of the connection": lambda user: user.connection.wait_closed(0.05),
    },
}


@each_version
def test_a_timeout_names_what_was_waited_for(broker: ScriptedBroker, version: Version) -> None:
    user = SyncUser(broker, version, close_timeout=0.05)
    assert user.publish(b"0") == user.accepted
    next(user.consume()).accept()
    user.consumer.timeout = 0.05
    with broker.faults.stall("to_client"):
        for text, call in TEXTS[version].items():
            with pytest.raises(TimeoutError, match=rf"^{text}: not within 0\.05 seconds"):
                call(user)
    assert user.publish(b"1", timeout=WAIT) == user.accepted
    user.close()


@each_version
def test_contexts_are_left_in_time(broker: ScriptedBroker, version: Version) -> None:
    user = SyncUser(broker, version, close_timeout=0.1)
    user.publish(b"0")
    user.sync()
    fault = broker.faults.stall("to_client")
    # The first error is the better reason.
    with pytest.raises(TimeoutError, match=r"the outcome|the confirm"), user.channel:
        user.publish(b"x", timeout=0.05)
    fault.remove()
    other = user.open()
    with broker.faults.stall("to_client"):
        with pytest.raises(TimeoutError, match=r"channel\.close|end of (the )?session|session\.detach"), other:
            pass
        assert user.close().by.value == "local"
    assert not user.connection.is_open


@pytest.mark.parametrize("version", [AMQP_0_10, AMQP_1_0], ids=lambda each: each.label)
def test_a_rollback_without_an_answer_is_noted(broker: ScriptedBroker, version: Version) -> None:
    user = SyncUser(broker, version, close_timeout=0.2)
    context: Any = user.channel.transaction(timeout=0.1)
    with pytest.raises(RuntimeError) as caught, context:
        broker.faults.stall("to_client")
        raise RuntimeError("mine")
    (note,) = caught.value.__notes__
    assert note.startswith("the transaction could not be rolled back: ")
    assert "within 0.1 seconds" in note
    user.close()
