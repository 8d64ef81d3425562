"""What the test suites of other projects' clients found out about the broker (0-8 and 0-9-1)."""

from typing import Any

import pytest

from amqp_sansio._classic.codec.frames import method_frame
from amqp_sansio._classic.codec.table import RABBIT as TABLES
from tests.kit.hub_classic import Talk, World

RABBIT = pytest.mark.parametrize("dialect", ["0-9-1-rabbit", "0-8-rabbit"])


@RABBIT
@pytest.mark.parametrize(
    "fields",
    [
        {"queue": "absent", "exchange": "e", "routing_key": "k"},
        {"queue": "q", "exchange": "absent", "routing_key": "k"},
        {"queue": "absent", "exchange": "absent", "routing_key": "k"},
    ],
    ids=["no-queue", "no-exchange", "neither"],
)
def test_rabbit_takes_a_binding_of_what_is_gone_for_undone(channel: Talk, dialect: str, fields: dict[str, Any]) -> None:
    if "queue.unbind" not in channel.user.end.dialect.named:
        pytest.skip("the dialect has no queue.unbind")
    channel.declare("q")
    channel.call("exchange.declare", exchange="e", type="direct")
    assert channel.call("queue.unbind", **fields) is not None


@pytest.mark.parametrize(
    "fields",
    [{"destination": "absent", "source": "amq.direct"}, {"destination": "amq.direct", "source": "absent"}],
    ids=["no-destination", "no-source"],
)
def test_rabbit_takes_an_exchanges_binding_of_what_is_gone_for_undone(fields: dict[str, Any]) -> None:
    channel = World("0-9-1-rabbit").channel()
    assert channel.call("exchange.unbind", routing_key="k", **fields) is not None


def test_the_specification_wants_the_queue_of_an_unbind_to_be_there() -> None:
    channel = World("0-9-1").channel()
    assert channel.call("queue.unbind", queue="absent", exchange="amq.direct", routing_key="k") is None
    assert channel.error[1] == 404


@pytest.mark.parametrize(
    ("dialect", "deletes"), [("0-9-1-rabbit", True), ("0-8-rabbit", True), ("0-9-1", False), ("0-8", False)]
)
def test_rabbit_counts_no_messages_that_clients_have_for_if_empty_the_specification_all(
    channel: Talk, deletes: bool
) -> None:
    channel.declare("q")
    channel.publish(b"x", "q")
    assert channel.get("q") is not None
    deleted = channel.call("queue.delete", queue="q", if_empty=True)
    assert deleted.message_count == 0 if deletes else deleted is None


@pytest.mark.parametrize("dialect", ["0-9-1-rabbit", "0-9-1"])
@pytest.mark.parametrize(
    ("name", "fields", "code", "words"),
    [
        ("basic.get", {"queue": ""}, 404, "NOT_FOUND - "),
        ("tx.commit", {}, 406, "PRECONDITION_FAILED - "),
        ("tx.rollback", {}, 406, "PRECONDITION_FAILED - "),
    ],
)
def test_what_the_engine_refuses_begins_with_the_codes_name(
    channel: Talk, name: str, fields: dict[str, Any], code: int, words: str
) -> None:
    # A client of this project refuses to send that.
    method = channel.make(name, **fields)
    channel.user.client.receive_data(method_frame(1, method.encode(TABLES)), 0.0)
    channel.world.pump()
    scope, found, text = channel.error
    assert (scope, found) == ("channel", code)
    assert text.startswith(words)
