"""Whatever a client sends to Service Bus, it gets an answer or a rejected message, and keeps its connection."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amqp_sansio import amqp_1_0 as amqp
from amqp_sansio.amqp_1_0 import spec
from amqp_sansio_azure.servicebus import Options
from amqp_sansio_azure.servicebus.messages import BATCH
from tests.kit.azure import BusWorld, Pair, User, message

OPERATIONS = (
    *("renew-lock", "peek-message", "schedule-message", "cancel-scheduled-message", "receive-by-sequence-number"),
    *("update-disposition", "batch-delete-messages", "renew-session-lock", "get-session-state", "set-session-state"),
    *("get-message-sessions", "add-rule", "remove-rule", "enumerate-rules"),
)
KEYS = (
    *("lock-tokens", "from-sequence-number", "message-count", "session-id", "messages", "sequence-numbers", "skip"),
    *("receiver-settle-mode", "disposition-status", "deadletter-reason", "properties-to-modify", "session-state"),
    *("last-updated-time", "top", "rule-name", "rule-description", "enqueued-time-utc", "deadletter-description"),
)
INNER = (
    "message",
    "message-id",
    "sql-filter",
    "correlation-filter",
    "sql-rule-action",
    "expression",
    "properties",
    "to",
)


def numbers(found: list[int]) -> spec.Array:
    return spec.Array(found, int)


def tokens(found: list[UUID]) -> spec.Array:
    return spec.Array(found, UUID)


simple = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**63), 2**63 - 1),
    st.sampled_from([spec.Int(5), spec.UInt(1), spec.ULong(2**64 - 1), amqp.Timestamp(-1), amqp.Timestamp(2**62)]),
    st.floats(),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=8),
    st.sampled_from(["1=1", "SET a = 1", "completed", "abandoned", "suspended", "a", "x" * 2000]),
    st.binary(max_size=8),
    st.sampled_from([UUID(int=0), message(b"x").encode(), amqp.Symbol("a")]),
    st.builds(numbers, st.lists(st.integers(-5, 5), max_size=3)),
    st.builds(tokens, st.lists(st.uuids(), max_size=2)),
)
values = st.recursive(
    simple,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(st.sampled_from(INNER), inner, max_size=3),
        st.dictionaries(st.integers(0, 3), inner, max_size=2),
    ),
    max_leaves=6,
)
bodies = st.one_of(st.dictionaries(st.sampled_from(KEYS), values, max_size=5), values)


def served() -> tuple[BusWorld, User]:
    world = BusWorld()
    world.queue()
    world.queue("sessions", requires_session=True)
    world.bus.add_topic("news")
    world.bus.add_subscription("news", "all", Options(requires_session=False))
    user = world.client()
    user.send(user.sender("orders"), *[message(b"%d" % number) for number in range(3)])
    user.send(user.sender("sessions"), message(b"a", group_id="a"))
    return world, user


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["orders", "sessions", "news", "news/Subscriptions/all", "orders/$DeadLetterQueue"]),
            st.sampled_from(OPERATIONS),
            bodies,
        ),
        min_size=1,
        max_size=6,
    )
)
def test_each_request_is_answered(requests: list[tuple[str, str, Any]]) -> None:
    world, user = served()
    pairs: dict[str, Pair] = {}
    for entity, operation, body in requests:
        pair = pairs.get(entity)
        if pair is None:
            pair = pairs[entity] = Pair(user, f"{entity}/$management")
        reply = pair.ask(f"com.microsoft:{operation}", body)
        assert reply.application_properties["statusCode"] in (200, 204, 400, 403, 404, 409, 410)
    world.advance(100)
    assert user.end.is_open


@given(st.binary(max_size=60), st.sampled_from([0, BATCH, 7]))
def test_each_message_has_an_outcome(payload: bytes, form: int) -> None:
    world, user = served()
    for name in ("orders", "news"):
        pending = user.sender(name).send(payload, message_format=form)
        world.pump()
        assert pending.done and isinstance(pending.result, amqp.Accepted | amqp.Rejected)
    link = user.deleting("orders", credit=100)
    assert len(user.take(link)) >= 3
    assert user.end.is_open


@given(
    st.dictionaries(
        st.sampled_from(["x-opt-scheduled-enqueue-time", "x-opt-partition-key", "x-opt-sequence-number", "other"]),
        simple,
        max_size=3,
    )
)
def test_odd_annotations_do_no_harm(annotations: dict[str, Any]) -> None:
    world, user = served()
    told = {amqp.Symbol(key): value for key, value in annotations.items()}
    (outcome,) = user.send(user.sender("orders"), message(b"x", annotations=told))
    assert isinstance(outcome, amqp.Accepted | amqp.Rejected)
    world.advance(10)
    assert user.take(user.deleting("orders", credit=100))
    assert user.end.is_open


OUTCOMES: list[Any] = [
    amqp.Rejected(amqp.Error(amqp.Symbol("any"), None, {amqp.Symbol("DeadLetterReason"): 7})),
    amqp.Rejected(amqp.Error(amqp.Symbol("any"), "text", {amqp.Symbol("more"): [1, {"a": 2}]})),
    amqp.Rejected(),
    amqp.Modified(True, None, {amqp.Symbol("list"): [1]}),
    amqp.Modified(None, True, {amqp.Symbol("x"): "x" * 3000}),
    amqp.spec.Received(0, 0),
]


@pytest.mark.parametrize("outcome", OUTCOMES, ids=repr)
@pytest.mark.parametrize("transactional", [False, True])
def test_odd_outcomes_do_no_harm(outcome: Any, transactional: bool) -> None:
    world, user = served()
    link = user.crediting(user.receiver("orders", snd_settle_mode=0), 1)
    (delivery,) = user.take(link)
    if transactional and not isinstance(outcome, amqp.spec.Received):
        controller = user.controller(user.session())
        txn_id = user.declare(controller)
        link.update([delivery], spec.TransactionalState(txn_id, outcome))
        world.pump()
        assert isinstance(user.discharge(controller, txn_id), amqp.Accepted | amqp.Rejected)
    else:
        link.update([delivery], outcome, settled=getattr(outcome, "OUTCOME", False))
        world.pump()
    assert user.end.is_open
    world.advance(100)
    assert user.end.is_open


@given(values, values)
def test_odd_filters_and_properties_of_links_do_no_harm(wanted: Any, wait: Any) -> None:
    world, user = served()
    session = user.session()
    for name in ("orders", "sessions"):
        found: dict[Any, Any] = {amqp.Symbol("com.microsoft:session-filter"): wanted}
        told: dict[Any, Any] = {amqp.Symbol("com.microsoft:timeout"): wait}
        session.open_receiver(amqp.Source(name, filter=found), properties=told)
    via: dict[Any, Any] = {amqp.Symbol("com.microsoft:transfer-destination-address"): wanted}
    session.open_sender("orders", properties=via)
    world.pump()
    assert user.end.is_open
    world.advance(59)
    assert user.end.is_open
