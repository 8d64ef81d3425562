"""Transactions: declare, discharge, and the work of each, at both ends (1.0 part 4)."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from amqp_sansio import EndpointClosed, LocalProtocolError, Settled, Side
from amqp_sansio import amqp_1_0 as amqp
from amqp_sansio.amqp_1_0 import spec
from tests.kit.links_1_0 import BODY, Mapped, attach, transfer
from tests.kit.links_1_0 import flow as session_flow
from tests.kit.steps import count_steps

LOCAL = spec.Coordinator(("amqp:local-transactions",))
CONTROL, WORK = 7, 8
"""The controller's handles."""


class Controlling(Mapped):
    """A client with a control link, facing a coordinator that the test makes up."""

    controller: amqp.Controller

    @classmethod
    def ready(cls, **changes: Any) -> Controlling:
        """The control link attached, with credit."""
        facing: Any = cls.begun(Side.CLIENT)
        link = facing.session.open_sender(LOCAL, name="control")
        facing.settle()
        facing.get(attach("control", 0, True, target=spec.Coordinator(**changes)))
        facing.get(session_flow(handle=0, delivery_count=0, link_credit=10))
        facing.controller = amqp.Controller(link)
        facing.forget()
        return facing  # type: ignore[no-any-return]


@pytest.mark.rule("1.0/transactions/declare/body", "1.0/transactions/declare/unsettled")
@pytest.mark.rule("1.0/transactions/declare/declared")
def test_declare_is_alone_in_an_amqp_value_and_brings_the_txn_id() -> None:
    facing = Controlling.ready()
    handle = facing.controller.declare()
    facing.settle()
    (sent,) = facing.sent()
    message = amqp.Message.from_wire(sent.payload)
    assert [name for name, _, _ in message.sections] == ["amqp-value"]
    assert message.body == spec.Declare()
    assert not sent.body.settled
    facing.get(spec.Disposition(True, 0, None, True, spec.Declared(b"\x01")))
    assert handle.result.txn_id == b"\x01"


@pytest.mark.rule("1.0/transactions/discharge/body")
@pytest.mark.parametrize("fail", [False, True])
def test_discharge_names_the_transaction(fail: bool) -> None:
    facing = Controlling.ready()
    handle = facing.controller.discharge(b"\x01", fail=fail)
    facing.settle()
    (sent,) = facing.sent()
    assert amqp.Message.from_wire(sent.payload).body == spec.Discharge(b"\x01", fail)
    assert not sent.body.settled
    facing.get(spec.Disposition(True, 0, None, True, amqp.Accepted()))
    assert handle.result == amqp.Accepted()


@pytest.mark.rule("1.0/transactions/declare/unsettled", "1.0/transactions/control-link-no-work")
@pytest.mark.rule("1.0/transactions/declare/global-id", "1.0/transactions/txn-id-size")
def test_what_does_not_go_over_a_control_link() -> None:
    facing = Controlling.ready()
    sender = facing.controller.sender
    with pytest.raises(LocalProtocolError, match="settled") as raised:
        sender.send(amqp.Message(amqp.AmqpValue(spec.Declare())), settled=True)
    assert raised.value.rule == "1.0/transactions/declare/unsettled"
    with pytest.raises(LocalProtocolError, match="coordinator") as raised:
        sender.send(amqp.Message("work"), state=spec.TransactionalState(b"\x01"))
    assert raised.value.rule == "1.0/transactions/control-link-no-work"
    for send in (sender.send, sender.begin):
        with pytest.raises(LocalProtocolError, match="coordinator") as raised:
            send(amqp.Message("work").encode())
        assert raised.value.rule == "1.0/transactions/declare/body"
    assert sender.pending == {}
    with pytest.raises(LocalProtocolError, match="distributed"):
        facing.controller.declare(b"global")
    with pytest.raises(LocalProtocolError, match="32"):
        facing.controller.discharge(b"t" * 33)
    assert not facing.frames()
    with pytest.raises(LocalProtocolError, match="no coordinator"):
        amqp.Controller(Mapped.begun().sender())


@pytest.mark.rule("1.0/transactions/declare/global-id", "1.0/transactions/coordinator/capabilities")
def test_a_coordinator_of_distributed_transactions_takes_a_global_id() -> None:
    facing = Controlling.ready(capabilities=("amqp:distributed-transactions",))
    facing.controller.declare(b"global")
    facing.settle()
    assert amqp.Message.from_wire(facing.sent()[0].payload).body == spec.Declare(b"global")


@pytest.mark.rule("1.0/transactions/posting/all-frames", "1.0/transactions/txn-work/state")
def test_every_frame_of_a_posting_names_the_transaction() -> None:
    facing = Mapped.begun()
    link = facing.sender()
    facing.peer_takes(512)
    state = spec.TransactionalState(b"\x01")
    link.send(amqp.Message(b"x" * 1500), state=state)
    frames = facing.frames()
    assert len(frames) > 2
    assert all([frame.state == state for frame in frames])
    handle = link.send(amqp.Message("m"), state=state)
    told = spec.TransactionalState(b"\x01", amqp.Accepted())
    facing.get(spec.Disposition(True, 1, None, False, told))
    assert [(event.pendings, event.state) for event in facing.of(amqp.Updated)] == [((handle,), told)]
    facing.get(spec.Disposition(True, 1, None, True, told))
    assert handle.result == told


class Coordinating(Mapped):
    """A server with a Resource, facing a controller that the test makes up: a control link and one that posts."""

    resource: amqp.Resource

    @classmethod
    def ready(cls, *, outcomes: tuple[str, ...] = (), acquisition: bool = False) -> Coordinating:
        """Both links attached, with credit."""
        facing: Any = cls.begun(Side.SERVER)
        facing.resource = amqp.Resource(facing.end, acquisition=acquisition)
        facing.get(attach("control", CONTROL, False, source=amqp.Source(outcomes=outcomes), target=LOCAL))
        facing.get(attach("work", WORK, False))
        for request in facing.of(amqp.LinkRequested):
            link = facing.session.link(request.link)
            link.accept_attach()
            link.flow(10)
        facing.settle()
        facing.forget()
        return facing  # type: ignore[no-any-return]

    def ask(self, number: int, body: Any, **changes: Any) -> amqp.TransactionRequested:
        """The controller's message to the coordinator."""
        self.get(transfer(number, handle=CONTROL, **changes), amqp.Message(amqp.AmqpValue(body)).encode())
        found: amqp.TransactionRequested = self.of(amqp.TransactionRequested)[-1]
        return found

    def declared(self, number: int = 0) -> amqp.Transaction:
        """A transaction that is open."""
        transaction = self.resource.declare(self.ask(number, spec.Declare()))
        self.settle()
        self.forget()
        return transaction

    def posted(self, number: int, txn_id: bytes, **changes: Any) -> amqp.Delivery:
        """A delivery that names a transaction."""
        self.get(transfer(number, handle=WORK, state=spec.TransactionalState(txn_id), **changes), BODY)
        found: amqp.Delivery = self.of(amqp.Delivery)[-1]
        return found


@pytest.mark.rule("1.0/transactions/declare/declared", "1.0/transactions/declare/other-sections")
def test_a_declare_is_answered_with_a_new_txn_id() -> None:
    facing = Coordinating.ready()
    facing.get(
        transfer(0, handle=CONTROL),
        amqp.Message(amqp.AmqpValue(spec.Declare()), application_properties={"ignored": 1}).encode(),
    )
    (request,) = facing.of(amqp.TransactionRequested)
    first = facing.resource.declare(request)
    second = facing.resource.declare(facing.ask(1, spec.Declare()))
    assert first.txn_id != second.txn_id
    answers = facing.frames()
    assert [(each.state, each.settled) for each in answers] == [
        (spec.Declared(first.txn_id), True),
        (spec.Declared(second.txn_id), True),
    ]
    with pytest.raises(LocalProtocolError):
        facing.resource.discharge(request)


@pytest.mark.rule("1.0/transactions/declare/failed", "1.0/transactions/discharge/failed")
@pytest.mark.parametrize(
    "asked", [spec.Declare(), spec.Discharge(b"\x00\x00\x00\x00", False)], ids=lambda each: each.NAME
)
@pytest.mark.parametrize(
    ("outcomes", "rejects"),
    [((), True), (("amqp:rejected:list",), True), (("amqp:accepted:list",), False)],
    ids=["any", "rejected", "accepted only"],
)
def test_what_fails_is_rejected_or_detaches_the_control_link(
    asked: Any, outcomes: tuple[str, ...], rejects: bool
) -> None:
    facing = Coordinating.ready(outcomes=outcomes)
    facing.declared()
    request = facing.ask(1, asked)
    facing.forget()
    facing.resource.refuse(request, "amqp:transaction:timeout", "too slow")
    (answer,) = facing.frames()
    if rejects:
        assert isinstance(answer.state, amqp.Rejected)
        assert answer.state.error is not None
        assert answer.state.error.condition == "amqp:transaction:timeout"
        assert answer.settled
    else:
        assert isinstance(answer, spec.Detach)
        assert answer.error is not None
        assert answer.error.condition == "amqp:transaction:timeout"


@pytest.mark.rule("1.0/transactions/discharge/rollback-always")
def test_a_rollback_can_not_be_refused() -> None:
    facing = Coordinating.ready()
    transaction = facing.declared()
    request = facing.ask(1, spec.Discharge(transaction.txn_id, True))
    with pytest.raises(LocalProtocolError, match="rollback can't fail"):
        facing.resource.refuse(request, "amqp:internal-error")
    assert facing.resource.discharge(request) is transaction
    facing.forget()
    facing.resource.complete(request)
    assert facing.frames() == [spec.Disposition(True, 1, None, True, amqp.Accepted())]
    assert not facing.resource.transactions


@pytest.mark.rule("1.0/transactions/error/unknown-id")
def test_an_unknown_txn_id_is_said_to_be_one() -> None:
    facing = Coordinating.ready()
    request = facing.ask(0, spec.Discharge(b"none", True))
    facing.forget()
    assert facing.resource.discharge(request) is None
    (answer,) = facing.frames()
    assert answer.state.error.condition == "amqp:transaction:unknown-id"
    facing.forget()
    assert facing.resource.post(facing.posted(1, b"none"), amqp.Accepted()) is None
    (detach,) = facing.frames()
    assert detach.error.condition == "amqp:transaction:unknown-id"


@pytest.mark.rule("1.0/transactions/declare/settled-detach")
def test_a_settled_declare_detaches_the_control_link() -> None:
    facing = Coordinating.ready()
    facing.get(transfer(0, handle=CONTROL, settled=True), amqp.Message(amqp.AmqpValue(spec.Declare())).encode())
    assert not facing.of(amqp.TransactionRequested)
    (detach,) = facing.frames()
    assert detach.error.condition == "amqp:not-allowed"


@pytest.mark.rule("1.0/transactions/declare/body")
@pytest.mark.parametrize("payload", [BODY, amqp.Message(b"data").encode(), b"\xff"], ids=["true", "data", "junk"])
def test_a_coordinator_takes_nothing_else(payload: bytes) -> None:
    facing = Coordinating.ready()
    facing.get(transfer(0, handle=CONTROL), payload)
    assert not facing.of(amqp.TransactionRequested)
    (detach,) = facing.frames()
    assert isinstance(detach, spec.Detach)
    assert detach.error is not None


@pytest.mark.rule("1.0/transactions/posting/outcome-first", "1.0/transactions/settled/resource-settles")
@pytest.mark.rule("1.0/transactions/txn-work/resource-ids")
def test_the_controller_is_told_the_outcome_before_the_discharge() -> None:
    facing = Coordinating.ready()
    transaction = facing.declared()
    delivery = facing.posted(1, transaction.txn_id)
    facing.forget()
    assert facing.resource.post(delivery, amqp.Accepted()) is transaction
    told = spec.TransactionalState(transaction.txn_id, amqp.Accepted())
    assert facing.frames() == [spec.Disposition(True, 1, None, False, told)]
    request = facing.ask(2, spec.Discharge(transaction.txn_id, False))
    assert facing.resource.discharge(request) is transaction
    assert transaction.posted == [(delivery, amqp.Accepted())]
    with pytest.raises(LocalProtocolError, match="names no transaction"):
        facing.get(transfer(3, handle=WORK), BODY)
        facing.resource.post(facing.of(amqp.Delivery)[-1], amqp.Accepted())


@pytest.mark.rule("1.0/transactions/settled/posting")
def test_a_settled_posting_belongs_to_the_transaction_without_an_answer() -> None:
    facing = Coordinating.ready()
    transaction = facing.declared()
    delivery = facing.posted(1, transaction.txn_id, settled=True)
    facing.forget()
    facing.resource.post(delivery, amqp.Rejected())
    assert not facing.frames()
    assert transaction.posted == [(delivery, amqp.Rejected())]
    # It can't be applied, so the discharge must not succeed.
    request = facing.ask(2, spec.Discharge(transaction.txn_id, False))
    facing.resource.discharge(request)
    facing.forget()
    facing.resource.refuse(request, "amqp:transaction:rollback", "the posting was refused")
    (answer,) = facing.frames()
    assert answer.state.error.condition == "amqp:transaction:rollback"


@pytest.mark.rule("1.0/transactions/posting/partial-discharge")
def test_a_discharge_with_a_delivery_half_sent_ends_the_control_link() -> None:
    facing = Coordinating.ready()
    transaction = facing.declared()
    state = spec.TransactionalState(transaction.txn_id)
    facing.get(transfer(1, handle=WORK, state=state, more=True), BODY[:2])
    request = facing.ask(2, spec.Discharge(transaction.txn_id, False))
    facing.forget()
    assert facing.resource.discharge(request) is None
    (detach,) = facing.frames()
    assert (detach.closed, detach.error.condition) == (True, "amqp:transaction:rollback")


@pytest.mark.rule("1.0/transactions/posting/all-frames")
def test_a_further_frame_that_names_another_transaction_detaches_the_link() -> None:
    facing = Coordinating.ready()
    first, second = facing.declared(0), facing.declared(1)
    facing.get(transfer(2, handle=WORK, state=spec.TransactionalState(first.txn_id), more=True), BODY[:2])
    facing.forget()
    facing.get(spec.Transfer(WORK, state=spec.TransactionalState(second.txn_id)), BODY[2:])
    (detach,) = facing.frames()
    assert detach.error.condition == "amqp:illegal-state"


@pytest.mark.rule("1.0/transactions/control-link-closed")
def test_transactions_end_with_their_control_link() -> None:
    facing = Coordinating.ready()
    transaction = facing.declared()
    facing.get(spec.Detach(CONTROL, True))
    lost = facing.resource.control_link_closed(transaction.channel, transaction.link)
    assert lost == (transaction,)
    facing.forget()
    assert facing.resource.post(facing.posted(1, transaction.txn_id), amqp.Accepted()) is None


def serving(facing: Coordinating) -> Any:
    """A sender of the server, with two deliveries on their way."""
    facing.get(attach("reading", 9, True))
    link = facing.session.link(facing.of(amqp.LinkRequested)[-1].link)
    link.accept_attach()
    facing.get(session_flow(handle=9, delivery_count=0, link_credit=10))
    return link


@pytest.mark.rule("1.0/transactions/retirement/other-txn", "1.0/transactions/txn-work/kinds")
def test_an_outcome_is_bound_to_one_transaction() -> None:
    facing = Coordinating.ready()
    first, second = facing.declared(0), facing.declared(1)
    link = serving(facing)
    handles = (link.send(amqp.Message("1")), link.send(amqp.Message("2")))
    state = spec.TransactionalState(first.txn_id, amqp.Accepted())
    facing.get(spec.Disposition(True, 0, 1, False, state))
    (updated,) = facing.of(amqp.Updated)
    assert facing.resource.retire(link, updated.pendings, state) is first
    assert first.retired == [(handles[0], amqp.Accepted()), (handles[1], amqp.Accepted())]
    other = spec.TransactionalState(second.txn_id, amqp.Accepted())
    facing.get(spec.Disposition(True, 1, None, False, other))
    facing.forget()
    assert facing.resource.retire(link, handles[1:], other) is None
    (detach,) = facing.frames()
    assert detach.error.condition == "amqp:transaction:rollback"


def test_outcomes_settled_by_the_controller_come_with_their_transaction() -> None:
    facing = Coordinating.ready()
    transaction = facing.declared()
    link = serving(facing)
    handle = link.send(amqp.Message("1"))
    state = spec.TransactionalState(transaction.txn_id, amqp.Accepted())
    facing.get(spec.Disposition(True, 0, None, True, state))
    (settled,) = facing.of(Settled)
    assert (settled.pendings, settled.state) == ((handle,), state)
    assert facing.resource.retire(link, settled.pendings, state) is transaction
    assert facing.resource.retire(link, settled.pendings, spec.TransactionalState(b"none", amqp.Accepted())) is None


@pytest.mark.rule("1.0/transactions/acquisition/unsupported", "1.0/transactions/acquisition/flow-txn-id")
@pytest.mark.parametrize("supported", [False, True])
def test_a_flow_may_bind_what_will_be_acquired(supported: bool) -> None:
    facing = Coordinating.ready(acquisition=supported)
    transaction = facing.declared()
    link = serving(facing)
    facing.settle()
    facing.forget()
    properties = {amqp.Symbol("txn-id"): transaction.txn_id}
    facing.get(session_flow(handle=9, delivery_count=0, link_credit=5, properties=properties))
    (event,) = facing.of(amqp.CreditChanged)
    found = facing.resource.acquire(link, event)
    if supported:
        assert found is transaction
        state = spec.TransactionalState(transaction.txn_id)
        link.send(amqp.Message("m"), state=state)
        assert facing.frames()[-1].state == state
    else:
        assert found is None
        (detach,) = facing.frames()
        assert detach.error.condition == "amqp:not-implemented"
        with pytest.raises(EndpointClosed):
            link._check()


@pytest.mark.parametrize("txn_id", [b"nobody's", "text", [1]])
def test_a_flow_that_names_no_open_transaction_detaches_its_link(txn_id: object) -> None:
    facing = Coordinating.ready(acquisition=True)
    link = serving(facing)
    facing.settle()
    facing.forget()
    facing.get(session_flow(handle=9, delivery_count=0, link_credit=5, properties={amqp.Symbol("txn-id"): txn_id}))
    (event,) = facing.of(amqp.CreditChanged)
    assert facing.resource.acquire(link, event) is None
    assert facing.frames()[-1].error.condition == "amqp:transaction:unknown-id"


def test_retiring_and_undoing_cost_what_is_retired() -> None:
    """Neither all that the transaction has retired before, nor all that its links have unsettled."""
    costs: list[int] = []
    for count in (100, 200):
        facing = Coordinating.ready()
        transaction = facing.declared(0)
        link = serving(facing)
        facing.get(session_flow(handle=9, delivery_count=0, link_credit=2 * count))
        state = spec.TransactionalState(transaction.txn_id, amqp.Accepted())
        handles = [link.send(amqp.Message("m")) for _ in range(2 * count)][:count]

        retire = partial(facing.resource.retire, link, state=state)
        costs.append(sum([count_steps(partial(retire, (each,))) for each in handles]))
        assert len(transaction.retired) == count
        other = facing.declared(1)
        assert count_steps(partial(facing.resource.undo, other)) < 20
    assert costs[1] <= 2.2 * costs[0]
