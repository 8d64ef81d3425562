"""1.0 transactions on the broker: the coordinator, and work that is posted, retired and acquired (part 4)."""

from typing import Any

import pytest

from amqp_sansio import amqp_1_0 as amqp
from amqp_sansio.amqp_1_0 import spec
from amqp_sansio.amqp_1_0.codec.conditions import MULTI_SSNS_PER_TXN, MULTI_TXNS_PER_SSN
from amqp_sansio.broker.limits import BrokerLimits
from amqp_sansio.broker.model.commands import DeleteExchange, DeleteQueue
from tests.kit.hub_1_0 import User, World, browsing

TXN_ID = amqp.Symbol("txn-id")
ROLLBACK = "amqp:transaction:rollback"


class Talk:
    """A user with a session, a controller and a queue called jobs."""

    def __init__(self, **settings: Any) -> None:
        self.world = World(**settings)
        self.world.queue("jobs")
        self.user: User = self.world.connect()
        self.session = self.user.session()
        self.controller = self.user.controller(self.session)

    def declare(self) -> bytes:
        """Begin a transaction."""
        return self.user.declare(self.controller)

    def commit(self, txn_id: bytes) -> Any:
        """Commit; the outcome."""
        return self.user.discharge(self.controller, txn_id)

    def roll_back(self, txn_id: bytes) -> Any:
        """Roll back; the outcome."""
        return self.user.discharge(self.controller, txn_id, fail=True)

    def post(self, txn_id: bytes, *bodies: Any, link: Any = None, **options: Any) -> list[Any]:
        """Send in a transaction; the outcomes."""
        link = link or self.user.sender("jobs", self.session)
        return self.user.send(link, *bodies, state=spec.TransactionalState(txn_id), **options)

    def taken(self, *bodies: bytes, source: Any = "jobs", **options: Any) -> tuple[Any, list[amqp.Delivery]]:
        """Put messages into jobs and receive them; the link, and the deliveries."""
        self.world.put("jobs", *bodies)
        receiver = self.user.receiver(source, self.session, credit=len(bodies), **options)
        return receiver, self.user.take(receiver)

    def state(self) -> tuple[int, int]:
        """Messages of jobs that are available and acquired."""
        self.world.pump()
        return self.world.state("jobs")


@pytest.fixture
def talk() -> Talk:
    return Talk()


@pytest.fixture
def txn_id(talk: Talk) -> bytes:
    """A transaction that has begun."""
    return talk.declare()


def condition(outcome: Any) -> str:
    """What was wrong."""
    assert isinstance(outcome, amqp.Rejected)
    assert outcome.error is not None
    return str(outcome.error.condition)


@pytest.mark.rule("1.0/transactions/declare/declared", "1.0/transactions/txn-id-size")
@pytest.mark.rule("1.0/transactions/coordinator/capabilities")
@pytest.mark.rule("1.0/transactions/capability/multi-txns", "1.0/transactions/capability/multi-ssns")
def test_transactions_of_several_sessions_at_once(talk: Talk) -> None:
    target: Any = talk.controller.sender.target
    assert {MULTI_TXNS_PER_SSN, MULTI_SSNS_PER_TXN} <= set(target.capabilities)
    one, two = talk.declare(), talk.declare()
    assert one != two
    assert max(len(one), len(two)) <= 32
    other = talk.user.sender("jobs", talk.user.session())
    talk.post(one, b"one", link=other)
    talk.post(two, b"two")
    assert talk.roll_back(two) == amqp.Accepted()
    assert talk.commit(one) == amqp.Accepted()
    assert talk.world.ready("jobs") == [b"one"]
    assert not talk.world.hub.model.transactions


@pytest.mark.rule("1.0/transactions/posting/invisible", "1.0/transactions/posting/outcome-first")
@pytest.mark.rule("1.0/transactions/settled/resource-settles", "1.0/transactions/txn-work/resource-ids")
def test_what_is_posted_is_there_after_the_commit(txn_id: bytes, talk: Talk) -> None:
    receiver = talk.user.receiver("jobs", credit=10)
    assert talk.post(txn_id, b"one", b"two") == [spec.TransactionalState(txn_id, amqp.Accepted())] * 2
    assert talk.state() == (0, 0)
    assert talk.commit(txn_id) == amqp.Accepted()
    assert talk.user.bodies(receiver) == [b"one", b"two"]


@pytest.mark.rule("1.0/transactions/discharge/rollback-always", "1.0/transactions/settled/posting")
def test_what_is_posted_and_rolled_back_was_never_there(txn_id: bytes, talk: Talk) -> None:
    talk.post(txn_id, b"one")
    talk.post(txn_id, b"two", settled=True)
    assert talk.roll_back(txn_id) == amqp.Accepted()
    assert talk.state() == (0, 0)
    assert condition(talk.commit(txn_id)) == "amqp:transaction:unknown-id"


@pytest.mark.rule("1.0/transactions/error/unknown-id")
def test_an_unknown_transaction_is_told(talk: Talk) -> None:
    assert condition(talk.commit(b"nope")) == "amqp:transaction:unknown-id"
    sender = talk.user.sender("jobs", talk.session)
    sender.send(amqp.Message(b"x"), state=spec.TransactionalState(b"nope"))
    assert talk.user.refused(sender) == "amqp:transaction:unknown-id"
    receiver, (it,) = talk.taken(b"y")
    receiver.update([it], spec.TransactionalState(b"nope", amqp.Accepted()))
    assert talk.user.refused(receiver) == "amqp:transaction:unknown-id"
    assert talk.state() == (1, 0)
    receiver = talk.user.receiver("jobs", talk.session)
    receiver.flow(1, properties={TXN_ID: b"nope"})
    assert talk.user.refused(receiver) == "amqp:transaction:unknown-id"


@pytest.mark.rule("1.0/transactions/settled/posting")
def test_a_settled_posting_that_can_not_be_done_fails_the_commit(txn_id: bytes, talk: Talk) -> None:
    talk.post(txn_id, b"one")
    anonymous = talk.user.sender(amqp.Target(address=None), talk.session)
    nowhere = amqp.Message(b"x", properties=amqp.Properties(to="/queues/none"))
    talk.post(txn_id, nowhere, link=anonymous, settled=True)
    assert condition(talk.commit(txn_id)) == ROLLBACK
    assert talk.state() == (0, 0)
    assert not talk.world.hub.model.transactions


def test_an_unsettled_posting_that_can_not_be_done_is_told_and_the_rest_commits(txn_id: bytes, talk: Talk) -> None:
    anonymous = talk.user.sender(amqp.Target(address=None), talk.session)
    nowhere = amqp.Message(b"x", properties=amqp.Properties(to="/queues/none"))
    unbound = amqp.Message(b"x", properties=amqp.Properties(to="/exchanges/amq.direct/none"))
    rejected, released = talk.post(txn_id, nowhere, unbound, link=anonymous)
    assert condition(rejected.outcome) == "amqp:not-found"
    assert released.outcome == amqp.Released()
    talk.post(txn_id, b"one")
    assert talk.commit(txn_id) == amqp.Accepted()
    assert talk.world.ready("jobs") == [b"one"]


@pytest.mark.parametrize("settled", [False, True])
def test_a_posting_to_the_anonymous_terminus_ends_a_link_that_would_not_hear(
    txn_id: bytes, talk: Talk, settled: bool
) -> None:
    talk.post(txn_id, b"one")
    source = amqp.Source(outcomes=(amqp.Symbol("amqp:accepted:list"),))
    picky = talk.user.sender(amqp.Target(address=None), talk.session, source=source)
    nowhere = amqp.Message(b"x", properties=amqp.Properties(to="/queues/none"))
    picky.send(nowhere, state=spec.TransactionalState(txn_id), settled=settled)
    assert talk.user.refused(picky) == "amqp:not-found"
    assert condition(talk.commit(txn_id)) == ROLLBACK
    assert talk.state() == (0, 0)


@pytest.mark.rule("1.0/transactions/settled/outcome-broken", "1.0/transactions/error/rollback")
def test_an_outcome_that_became_impossible_fails_the_commit(txn_id: bytes, talk: Talk) -> None:
    talk.world.queue("other")
    talk.post(txn_id, b"one")
    other = talk.user.sender("other", talk.session)
    assert talk.post(txn_id, b"two", link=other)[0].outcome == amqp.Accepted()
    talk.world.hub.apply(DeleteQueue(talk.world.owner, "other"))
    talk.world.hub.settle()
    outcome = talk.commit(txn_id)
    assert condition(outcome) == ROLLBACK
    assert talk.state() == (0, 0)


@pytest.mark.rule("1.0/transactions/settled/outcome-broken", "1.0/transactions/error/rollback")
def test_a_message_to_an_exchange_that_is_gone_fails_the_commit(txn_id: bytes, talk: Talk) -> None:
    talk.world.exchange("ex", "fanout")
    talk.world.bind("jobs", "ex")
    talk.post(txn_id, b"one", link=talk.user.sender("/exchanges/ex", talk.session))
    talk.world.hub.apply(DeleteExchange(talk.world.owner, "ex"))
    talk.world.hub.settle()
    assert condition(talk.commit(txn_id)) == ROLLBACK


@pytest.mark.rule("1.0/transactions/settled/outcome-broken")
@pytest.mark.parametrize("settled", [False, True], ids=["unsettled", "settled"])
def test_what_a_full_queue_has_promised_to_take_it_takes(txn_id: bytes, talk: Talk, settled: bool) -> None:
    talk.world.queue("full", arguments={"x-max-length": 1, "x-overflow": "reject-publish"})
    sender = talk.user.sender("full", talk.session)
    talk.post(txn_id, b"one", link=sender)
    talk.world.put("full", b"zero")
    other = talk.declare()
    outcomes = talk.post(other, b"two", link=sender, settled=settled)
    if settled:
        assert condition(talk.commit(other)) == ROLLBACK
    else:
        assert condition(outcomes[0].outcome) == "amqp:resource-limit-exceeded"
        assert talk.commit(other) == amqp.Accepted()
    assert talk.world.ready("full") == [b"zero"]
    assert talk.commit(txn_id) == amqp.Accepted()
    assert talk.world.ready("full") == [b"zero", b"one"]


@pytest.mark.rule("1.0/transactions/discharge/failed")
def test_a_failed_commit_detaches_a_control_link_without_rejected(talk: Talk) -> None:
    talk.world.queue("other")
    source = amqp.Source(outcomes=(amqp.Symbol("amqp:accepted:list"), amqp.Symbol("amqp:declared:list")))
    control = talk.user.sender(spec.Coordinator(), talk.session, source=source)
    (declared,) = talk.user.send(control, amqp.Message(spec.Declare()))
    assert isinstance(declared, spec.Declared)
    other = talk.user.sender("other", talk.session)
    txn_id: Any = declared.txn_id
    talk.post(txn_id, b"two", link=other)
    talk.world.hub.apply(DeleteQueue(talk.world.owner, "other"))
    talk.world.hub.settle()
    control.send(amqp.Message(spec.Discharge(txn_id, False)))
    assert talk.user.refused(control) == ROLLBACK


@pytest.mark.rule("1.0/transactions/declare/failed")
def test_a_declare_beyond_the_bound_is_rejected() -> None:
    talk = Talk(limits=BrokerLimits(transactions=1))
    talk.declare()
    handle: Any = talk.controller.declare()
    talk.world.pump()
    assert condition(handle.result) == "amqp:resource-limit-exceeded"


@pytest.mark.rule("1.0/transport/attach/settle-modes")
def test_a_coordinator_settles_first_whatever_is_asked_for(talk: Talk) -> None:
    control = talk.user.sender(spec.Coordinator(), talk.session, rcv_settle_mode=1)
    assert control.rcv_settle_mode == 0
    (declared,) = talk.user.send(control, amqp.Message(spec.Declare()))
    assert isinstance(declared, spec.Declared)
    talk.post(declared.txn_id, b"one")  # type: ignore[arg-type]
    assert talk.user.send(control, amqp.Message(spec.Discharge(declared.txn_id, False))) == [amqp.Accepted()]
    assert talk.state() == (1, 0)
    assert not talk.user.failures()


@pytest.mark.rule("1.0/transactions/settled/resource-does-not-settle")
@pytest.mark.parametrize("fail", [False, True], ids=["commit", "rollback"])
def test_a_posting_that_its_sender_settles_first_shows_what_was_applied(txn_id: bytes, talk: Talk, fail: bool) -> None:
    target = amqp.Target("jobs", durable=2)
    sender = talk.user.sender(target, talk.session, rcv_settle_mode=1, auto_settle=False)
    handle = sender.send(amqp.Message(b"one"), state=spec.TransactionalState(txn_id))
    talk.world.pump()
    assert not handle.done
    (delivery,) = sender.unsettled.values()
    assert delivery.states[1] == spec.TransactionalState(txn_id, amqp.Accepted())
    assert talk.user.discharge(talk.controller, txn_id, fail=fail) == amqp.Accepted()
    if fail:
        assert not handle.done
        assert talk.state() == (0, 0)
    else:
        assert delivery.states[1] == amqp.Accepted()
        assert talk.state() == (1, 0)
    sender.settle(handle)
    talk.world.pump()
    assert handle.done


@pytest.mark.rule("1.0/transactions/retirement/rollback", "1.0/transactions/settled/retire-unsettled")
def test_what_is_retired_and_rolled_back_is_acquired_and_live(txn_id: bytes, talk: Talk) -> None:
    receiver, (it,) = talk.taken(b"one")
    (handle,) = receiver.update([it], spec.TransactionalState(txn_id, amqp.Accepted()), settled=False)
    assert talk.state() == (0, 1)
    assert talk.roll_back(txn_id) == amqp.Accepted()
    assert talk.state() == (0, 1)
    assert not handle.done
    receiver.accept(it)
    assert talk.state() == (0, 0)


def test_what_is_retired_and_committed_is_settled_by_the_broker(txn_id: bytes, talk: Talk) -> None:
    receiver, (one, two) = talk.taken(b"one", b"two")
    (first,) = receiver.update([one], spec.TransactionalState(txn_id, amqp.Accepted()), settled=False)
    (second,) = receiver.update([two], spec.TransactionalState(txn_id, amqp.Released()), settled=False)
    assert talk.commit(txn_id) == amqp.Accepted()
    assert (first.result, second.result) == (amqp.Accepted(), amqp.Released())
    assert talk.world.ready("jobs") == [b"two"]
    assert talk.state() == (1, 0)


@pytest.mark.rule("1.0/transactions/settled/retire-settled")
@pytest.mark.parametrize(
    ("default", "count"), [(None, 0), (amqp.Modified(delivery_failed=True), 1)], ids=["released", "modified"]
)
def test_what_the_controller_settles_has_the_default_outcome_after_a_rollback(
    txn_id: bytes, talk: Talk, default: Any, count: int
) -> None:
    receiver, (it,) = talk.taken(b"one", source=amqp.Source("jobs", default_outcome=default))
    receiver.update([it], spec.TransactionalState(txn_id, amqp.Accepted()), settled=True)
    assert talk.state() == (0, 1)
    assert talk.roll_back(txn_id) == amqp.Accepted()
    assert talk.state() == (1, 0)
    receiver.flow(1)
    (again,) = talk.user.take(receiver)
    assert again.message.delivery_count == count


@pytest.mark.rule("1.0/transactions/settled/retire-settled")
@pytest.mark.parametrize("ends", ["close", "detach", "session"])
@pytest.mark.parametrize("loses", [False, True], ids=["rollback", "lost"])
def test_that_outcome_holds_without_the_link_too(txn_id: bytes, talk: Talk, ends: str, loses: bool) -> None:
    talk.world.put("jobs", b"one")
    source = amqp.Source("jobs", default_outcome=amqp.Modified(delivery_failed=True))
    session = talk.user.session()
    receiver = talk.user.receiver(source, session, credit=1)
    (it,) = talk.user.take(receiver)
    receiver.update([it], spec.TransactionalState(txn_id, amqp.Accepted()), settled=True)
    {"close": receiver.close, "detach": receiver.detach, "session": session.close}[ends]()
    talk.world.pump()
    assert talk.state() == (0, 1)
    if loses:
        talk.user.cut()
    else:
        assert talk.roll_back(txn_id) == amqp.Accepted()
    assert talk.state() == (1, 0)
    other = talk.world.connect()
    (again,) = other.take(other.receiver("jobs", credit=1))
    assert again.message.delivery_count == 1


def test_what_the_controller_settles_has_its_outcome_after_a_commit(txn_id: bytes, talk: Talk) -> None:
    receiver, (it,) = talk.taken(b"one")
    receiver.update([it], spec.TransactionalState(txn_id, amqp.Accepted()), settled=True)
    receiver.close()
    talk.world.pump()
    assert talk.commit(txn_id) == amqp.Accepted()
    assert talk.state() == (0, 0)


@pytest.mark.rule("1.0/transactions/retirement/rollback", "1.0/transactions/settled/retire-unsettled")
@pytest.mark.parametrize("how", ["roll back", "close"])
def test_what_was_said_in_a_transaction_that_failed_is_forgotten(txn_id: bytes, talk: Talk, how: str) -> None:
    talk.world.put("jobs", b"one")
    receiver = talk.user.receiver(amqp.Source("jobs", default_outcome=amqp.Accepted()), talk.user.session(), credit=1)
    (it,) = talk.user.take(receiver)
    receiver.update([it], spec.TransactionalState(txn_id, amqp.Rejected()), settled=False)
    talk.world.pump()
    if how == "close":
        talk.controller.sender.close()
    else:
        talk.roll_back(txn_id)
    talk.world.pump()
    receiver.update([it], None, settled=True)
    assert talk.state() == (0, 0)
    assert receiver.is_open


@pytest.mark.rule("1.0/transactions/retirement/rollback", "1.0/source/copy")
@pytest.mark.parametrize("how", ["attached", "detached", "settled"])
def test_what_is_only_shown_is_retired_without_effect(txn_id: bytes, talk: Talk, how: str) -> None:
    receiver, (it,) = talk.taken(b"one", source=browsing("jobs"))
    (handle,) = receiver.update([it], spec.TransactionalState(txn_id, amqp.Accepted()), settled=how == "settled")
    talk.world.pump()
    if how == "detached":
        receiver.detach()
    assert talk.commit(txn_id) == amqp.Accepted()
    if how == "attached":
        assert handle.result == amqp.Accepted()
    assert talk.state() == (1, 0)


@pytest.mark.rule("1.0/transactions/retirement/other-txn")
def test_an_outcome_in_two_transactions_is_one_fault_for_all_deliveries_of_the_frame(talk: Talk) -> None:
    receiver, found = talk.taken(b"one", b"two")
    one, two = talk.declare(), talk.declare()
    receiver.update(found[:1], spec.TransactionalState(one, amqp.Accepted()), settled=False)
    talk.world.pump()
    receiver.update(found, spec.TransactionalState(two, amqp.Accepted()), settled=False)
    assert talk.user.refused(talk.controller.sender) == ROLLBACK
    assert receiver.is_open
    assert talk.state() == (0, 2)


@pytest.mark.rule("1.0/transactions/retirement/other-txn")
def test_an_outcome_in_two_transactions_ends_the_first_ones_control_link(talk: Talk) -> None:
    receiver, (it,) = talk.taken(b"one")
    one, two = talk.declare(), talk.declare()
    receiver.update([it], spec.TransactionalState(one, amqp.Accepted()), settled=False)
    talk.world.pump()
    receiver.update([it], spec.TransactionalState(two, amqp.Accepted()), settled=False)
    assert talk.user.refused(talk.controller.sender) == ROLLBACK
    assert not talk.world.hub.model.transactions
    assert talk.state() == (0, 1)


@pytest.mark.rule("1.0/transactions/acquisition/flow-txn-id", "1.0/transactions/settled/acquire-settled")
@pytest.mark.rule("1.0/transactions/settled/acquire-outcome")
@pytest.mark.parametrize("mode", [0, 1], ids=["unsettled", "settled"])
@pytest.mark.parametrize("fail", [False, True], ids=["commit", "rollback"])
def test_what_is_acquired_in_a_transaction(txn_id: bytes, talk: Talk, mode: int, fail: bool) -> None:
    talk.world.put("jobs", b"one", b"two")
    receiver = talk.user.receiver("jobs", talk.session, snd_settle_mode=mode)
    receiver.flow(2, drain=True, properties={TXN_ID: txn_id})
    one, two = talk.user.take(receiver)
    assert one.state == spec.TransactionalState(txn_id)
    assert one.settled is bool(mode)
    if not mode:
        receiver.update([one, two], spec.TransactionalState(txn_id, amqp.Accepted()), settled=False)
    assert talk.state() == (0, 2)
    assert talk.user.discharge(talk.controller, txn_id, fail=fail) == amqp.Accepted()
    assert talk.state() == ((2, 0) if fail else (0, 0))
    receiver.flow(2)
    assert [each.state for each in talk.user.take(receiver)] == ([None, None] if fail else [])


@pytest.mark.rule("1.0/transactions/settled/acquire-settled")
@pytest.mark.parametrize("fail", [False, True], ids=["commit", "rollback"])
def test_what_is_acquired_settled_stays_in_the_transaction_when_its_link_goes(
    txn_id: bytes, talk: Talk, fail: bool
) -> None:
    talk.world.put("jobs", b"one")
    receiver = talk.user.receiver("jobs", talk.session, snd_settle_mode=1)
    receiver.flow(1, properties={TXN_ID: txn_id})
    assert len(talk.user.take(receiver)) == 1
    receiver.close()
    assert talk.state() == (0, 1)
    assert talk.user.discharge(talk.controller, txn_id, fail=fail) == amqp.Accepted()
    assert talk.state() == ((1, 0) if fail else (0, 0))


@pytest.mark.rule("1.0/transactions/settled/acquire-settled", "1.0/transport/link/unsettled-on-attach")
def test_what_was_acquired_and_rolled_back_is_not_sent_again(txn_id: bytes, talk: Talk) -> None:
    talk.world.put("jobs", b"one")
    source = amqp.Source("jobs", expiry_policy=amqp.Symbol("never"))
    receiver = talk.user.receiver(source, talk.session, name="mine")
    receiver.flow(1, properties={TXN_ID: txn_id})
    assert talk.user.bodies(receiver) == [b"one"]
    receiver.detach()
    assert talk.roll_back(txn_id) == amqp.Accepted()
    assert talk.state() == (1, 0)
    receiver = talk.user.receiver(source, talk.session, name="mine", credit=10)
    assert talk.user.bodies(receiver) == [b"one"]


@pytest.mark.rule("1.0/transactions/settled/retire-unsettled")
def test_what_is_retired_is_no_delivery_of_another_link_of_the_same_name(txn_id: bytes, talk: Talk) -> None:
    talk.world.put("jobs", b"one", b"two")
    receiver = talk.user.receiver("jobs", talk.session, name="mine", credit=1)
    found = talk.user.take(receiver)
    receiver.update(found, spec.TransactionalState(txn_id, amqp.Accepted()), settled=False)
    receiver.close()
    talk.world.pump()
    receiver = talk.user.receiver("jobs", talk.session, name="mine", credit=1)
    assert [each.delivery_tag for each in talk.user.take(receiver)] == [found[0].delivery_tag]
    assert condition(talk.commit(txn_id)) == ROLLBACK
    assert talk.state() == (1, 1)


@pytest.mark.rule("1.0/source/no-resend-accepted", "1.0/transactions/settled/retire-unsettled")
@pytest.mark.parametrize("remembers", [False, True])
def test_what_was_retired_before_it_is_sent_again_is_not_sent_again(txn_id: bytes, talk: Talk, remembers: bool) -> None:
    talk.world.put("jobs", b"one", b"two")
    source = amqp.Source("jobs", expiry_policy=amqp.Symbol("never"))
    receiver = talk.user.receiver(source, talk.session, name="mine", credit=1)
    found = talk.user.take(receiver)
    receiver.update(found, spec.TransactionalState(txn_id, amqp.Accepted()), settled=False)
    talk.world.pump()
    receiver.detach()
    talk.world.pump()
    state = receiver.saved_state() if remembers else None
    receiver = talk.user.receiver(source, talk.session, name="mine", state=state)
    assert talk.commit(txn_id) == amqp.Accepted()
    receiver.flow(10)
    assert talk.user.bodies(receiver) == [b"two"]
    assert talk.state() == (0, 1)


@pytest.mark.rule("1.0/transactions/acquisition/partial")
def test_a_message_that_is_half_sent_is_completed_before_it_is_undone(talk: Talk) -> None:
    user = talk.world.connect(max_frame_size=512, incoming_window=2)
    session = user.session()
    controller = user.controller(session)
    talk.world.put("jobs", bytes(20_000))
    receiver = user.receiver("jobs", session)
    txn_id = user.declare(controller)
    receiver.flow(1, properties={TXN_ID: txn_id})
    user.reads = False
    for _ in range(3):
        user.turn()
    handle = controller.discharge(txn_id, fail=True)
    for _ in range(3):
        user.turn()
    assert talk.world.state("jobs") == (1, 0)
    user.reads = True
    talk.world.pump()
    assert handle.result == amqp.Accepted()
    assert [len(each.body) for each in user.take(receiver)] == [20_000]
    assert talk.world.state("jobs") == (1, 0)
    assert not receiver.unsettled


@pytest.mark.rule("1.0/transactions/control-link-closed")
@pytest.mark.parametrize("how", ["close", "detach", "end", "cut"])
def test_without_its_control_link_a_transaction_is_rolled_back(txn_id: bytes, talk: Talk, how: str) -> None:
    talk.world.put("jobs", b"old")
    session = talk.user.session()
    receiver = talk.user.receiver("jobs", session, credit=1)
    (it,) = talk.user.take(receiver)
    sender = talk.user.sender("jobs", session)
    talk.post(txn_id, b"new", link=sender)
    receiver.update([it], spec.TransactionalState(txn_id, amqp.Accepted()), settled=True)
    talk.world.pump()
    {
        "close": talk.controller.sender.close,
        "detach": talk.controller.sender.detach,
        "end": talk.session.close,
        "cut": talk.user.cut,
    }[how]()
    talk.world.pump()
    assert not talk.world.hub.model.transactions
    assert talk.state()[0] + talk.state()[1] == 1
    if how != "cut":
        sender.send(amqp.Message(b"late"), state=spec.TransactionalState(txn_id))
        assert talk.user.refused(sender) == "amqp:transaction:unknown-id"


@pytest.mark.rule("1.0/transactions/control-link-closed", "1.0/transactions/acquisition/flow-txn-id")
@pytest.mark.parametrize("how", ["close", "partial"])
def test_without_its_control_link_a_transaction_acquires_nothing_more(txn_id: bytes, talk: Talk, how: str) -> None:
    receiver = talk.user.receiver("jobs", talk.user.session())
    receiver.flow(1, properties={TXN_ID: txn_id})
    talk.world.pump()
    if how == "close":
        talk.controller.sender.close()
    else:
        sender = talk.user.sender("jobs", talk.session)
        sender.begin(amqp.Message(b"one").encode()[:3], state=spec.TransactionalState(txn_id))
        talk.controller.discharge(txn_id)
    talk.world.pump()
    talk.world.put("jobs", b"two")
    (found,) = talk.user.take(receiver)
    assert (found.body, found.state) == (b"two", None)
    receiver.accept(found)
    assert talk.state() == (0, 0)


@pytest.mark.rule("1.0/transactions/posting/partial-discharge")
def test_a_discharge_with_a_delivery_half_sent_ends_the_control_link(txn_id: bytes, talk: Talk) -> None:
    sender = talk.user.sender("jobs", talk.session)
    sender.begin(amqp.Message(b"one").encode()[:3], state=spec.TransactionalState(txn_id))
    talk.controller.discharge(txn_id)
    assert talk.user.refused(talk.controller.sender) == ROLLBACK
    assert not talk.world.hub.model.transactions


def test_the_broker_keeps_what_was_retired_when_a_client_vanishes(txn_id: bytes, talk: Talk) -> None:
    receiver, (one, two, three) = talk.taken(b"one", b"two", b"three")
    receiver.update([one], spec.TransactionalState(txn_id, amqp.Accepted()), settled=True)
    receiver.update([two], spec.TransactionalState(txn_id, amqp.Rejected()), settled=False)
    talk.world.pump()
    assert three.body == b"three"
    talk.user.cut()
    assert talk.world.ready("jobs") == [b"one", b"two", b"three"]


@pytest.mark.rule("1.0/transport/disposition/detached-links", "1.0/transactions/txn-work/kinds")
@pytest.mark.parametrize("commits", [False, True])
@pytest.mark.parametrize("settled", [False, True])
def test_what_is_retired_after_a_detach_is_work_of_the_transaction(
    txn_id: bytes, talk: Talk, settled: bool, commits: bool
) -> None:
    source = amqp.Source("jobs", expiry_policy=amqp.Symbol("never"), default_outcome=amqp.Released())
    receiver, (one, _) = talk.taken(b"one", b"two", source=source, name="mine")
    receiver.detach()
    talk.world.pump()
    state = spec.TransactionalState(txn_id, amqp.Accepted())
    talk.session.disposition(True, [one.delivery_id], state, settled)
    assert talk.state() == (0, 2)
    assert (talk.commit if commits else talk.roll_back)(txn_id) == amqp.Accepted()
    # Of what isn't committed, the delivery that is settled has the default outcome; the other is as it was.
    assert talk.state() == ((0, 1) if commits else (1, 1) if settled else (0, 2))


# Cases that a comparison with a naive model of the broker has brought to light.


def test_what_was_settled_for_a_transaction_that_is_over_goes_back_with_its_link(txn_id: bytes, talk: Talk) -> None:
    receiver, found = talk.taken(b"1", b"2", b"3")
    talk.commit(txn_id)
    receiver.update(found[2:], spec.TransactionalState(txn_id, amqp.Accepted()), settled=True)
    assert talk.user.refused(receiver) == "amqp:transaction:unknown-id"
    assert talk.state() == (3, 0)


def test_what_a_commit_brings_at_once_is_shown_to_one_browser_after_the_other(txn_id: bytes, talk: Talk) -> None:
    other = talk.world.connect()
    links = [
        talk.user.receiver("jobs", talk.session, credit=10),
        *[other.receiver(browsing("jobs"), snd_settle_mode=mode, credit=10) for mode in (1, 0)],
    ]
    talk.post(txn_id, b"1", b"2", settled=True)
    assert talk.commit(txn_id) == amqp.Accepted()
    assert [each.credit for each in links] == [8, 8, 8]


def test_what_goes_back_and_what_is_posted_take_turns_together_in_a_commit(txn_id: bytes, talk: Talk) -> None:
    """A message of the highest priority that was posted is delivered before one that went back earlier."""
    other = talk.world.connect()
    links = talk.user.receiver("jobs", talk.session, credit=10), other.receiver("jobs", credit=10)
    talk.world.put("jobs", b"back", b"gone")
    found = talk.user.take(links[0])
    assert other.bodies(links[1]) == [b"gone"]
    state = spec.TransactionalState(txn_id, amqp.Modified(delivery_failed=True, undeliverable_here=True))
    links[0].update(found, state, settled=True)
    for body, priority in ((b"1", 4), (b"2", 4), (b"first", 9)):
        talk.post(txn_id, amqp.Message(body, header=amqp.Header(priority=priority)), settled=True)
    assert talk.commit(txn_id) == amqp.Accepted()
    assert talk.user.bodies(links[0]) == [b"first", b"1"]
    assert other.bodies(links[1]) == [b"back", b"2"]


@pytest.mark.rule("1.0/transactions/settled/retire-unsettled")
@pytest.mark.parametrize("credit", [None, 0, 1, 10], ids=["detached", "waiting", "partly brought", "brought"])
@pytest.mark.parametrize("browses", [False, True], ids=["moves", "browses"])
def test_what_was_retired_before_a_detach_is_not_brought_again_after_the_commit(
    txn_id: bytes, talk: Talk, browses: bool, credit: int | None
) -> None:
    """Whatever the next attachment had brought of it again when the transaction was committed."""
    source = (browsing if browses else amqp.Source)("jobs", expiry_policy=amqp.Symbol("session-end"))
    receiver, found = talk.taken(b"1", b"2", b"3", source=source, name="again")
    receiver.update(found[:2], spec.TransactionalState(txn_id, amqp.Accepted()), settled=False)
    talk.world.pump()
    receiver.detach()
    talk.world.pump()
    state = receiver.saved_state()
    if credit is None:
        assert talk.commit(txn_id) == amqp.Accepted()
    receiver = talk.user.receiver(source, talk.session, name="again", state=state, credit=credit or 0)
    if credit is not None:
        assert talk.commit(txn_id) == amqp.Accepted()
    receiver.flow(10)
    talk.world.pump()
    assert list(receiver.unsettled) == [found[2].delivery_tag]


@pytest.mark.parametrize("closed", [True, False])
def test_transactions_that_are_rolled_back_together_get_nothing_of_each_other(
    txn_id: bytes, talk: Talk, closed: bool
) -> None:
    receiver, found = talk.taken(b"1", b"2", b"3")
    receiver.update(found[:1], spec.TransactionalState(txn_id, amqp.Accepted()), settled=True)
    other = talk.user.receiver("jobs", talk.session)
    other.flow(5, properties={TXN_ID: talk.declare()})
    talk.world.pump()
    (talk.controller.sender.close if closed else talk.controller.sender.detach)()
    assert [(each.body, each.state) for each in talk.user.take(other)] == [(b"1", None)]
    assert talk.state() == (0, 3)


@pytest.mark.parametrize("fail", [False, True], ids=["commit", "roll back"])
@pytest.mark.parametrize("settled", [False, True], ids=["unsettled", "settled"])
@pytest.mark.parametrize(
    ("state", "left"), [(amqp.Accepted(), 0), (amqp.Released(), 1), (amqp.Modified(), 1), (amqp.Rejected(), 0)]
)
def test_a_plain_outcome_behind_a_transactional_one_counts(
    txn_id: bytes, talk: Talk, state: Any, left: int, settled: bool, fail: bool
) -> None:
    """It is said without the transaction, which can't have its own outcome any more: it isn't committed."""
    receiver, (it,) = talk.taken(b"one")
    said = spec.TransactionalState(txn_id, amqp.Accepted())
    receiver.update([it], said, settled=False)
    receiver.update([it], state, settled=settled)
    talk.state()
    outcome = talk.roll_back(txn_id) if fail else talk.commit(txn_id)
    assert outcome == amqp.Accepted() if fail else condition(outcome) == ROLLBACK
    assert talk.state() == (left, 0)
    assert receiver.is_open
    assert talk.session.is_open
