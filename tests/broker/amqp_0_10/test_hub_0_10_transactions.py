"""Standard and distributed transactions (classes 5 and 6), by what clients see of them."""

from typing import Any

import pytest

from amqp_sansio import RemoteProtocolError
from amqp_sansio import amqp_0_10 as amqp
from amqp_sansio.amqp_0_10 import Session, spec
from amqp_sansio.broker.frontends.amqp_0_10.sessions import register_of
from tests.kit.ends_0_10 import Lawless
from tests.kit.hub_0_10 import User, World

X = spec.Xid(1, b"global", b"branch")
Y = spec.Xid(1, b"global", b"other")
QUIET = spec.MessageSubscribe("q", "d", amqp.spec.NONE, 0)
BOTH_FLAGS = spec.DtxEnd(X, fail=True, suspend=True)


@pytest.fixture
def session(peer: User, session: Session) -> Session:
    """It has declared the queue "q"."""
    peer.queue(session, "q")
    return session


def forced(peer: User, session: Session, command: Any) -> int:
    """The code that a command gets which the sender's own engine wouldn't send."""
    # The client's books are taken away, so that it's the broker who answers.
    state = session._state  # pyright: ignore[reportPrivateUsage]
    own = state.own
    state.own = Lawless(state.side, 1)
    session.call(command)
    state.own = own
    return peer.code_of(session)


# Standard transactions.


@pytest.mark.rule("0-10/message.transfer/tx-publish")
@pytest.mark.parametrize("accept_mode", [0, amqp.spec.NONE])
def test_what_is_published_is_there_after_the_commit(
    peer: User, session: Session, second: Session, accept_mode: int
) -> None:
    peer.call(session, spec.TxSelect())
    for body in (b"1", b"2"):
        peer.publish(session, "", amqp.Message(body, routing_key="q"), accept_mode=accept_mode)
    assert peer.depth(second, "q") == 0
    peer.call(session, spec.TxCommit())
    assert peer.drain(second, "q") == [b"1", b"2"]
    peer.publish(session, "", amqp.Message(b"3", routing_key="q"))
    peer.call(session, spec.TxRollback())
    assert peer.depth(second, "q") == 0
    peer.publish(session, "", amqp.Message(b"4", routing_key="q"))
    peer.call(session, spec.TxCommit())
    assert peer.drain(second, "q") == [b"4"]


def test_what_is_accepted_is_gone_after_the_commit(peer: User, session: Session, world: World) -> None:
    peer.put(session, "q", b"1", b"2", b"3")
    peer.call(session, spec.TxSelect())
    peer.subscribe(session, "q", credit=3)
    got = peer.got(session)
    queue = world.hub.model.vhosts["/"].queues["q"]
    peer.result(session.accept(got[0].command_id, sync=True))
    assert queue.messages == 3
    peer.call(session, spec.TxCommit())
    assert queue.messages == 2
    peer.result(session.accept(got[1].command_id, sync=True))
    peer.call(session, spec.TxRollback())
    assert (queue.ready, queue.unsettled) == (0, 2)
    # They're still the client's.
    peer.result(session.accept(got[1].command_id, sync=True))
    peer.call(session, spec.MessageCancel("d"))
    peer.result(session.release(got[2].command_id, sync=True))
    peer.call(session, spec.TxCommit())
    assert (queue.ready, queue.unsettled) == (1, 0)


def test_a_session_that_ends_rolls_back(peer: User, session: Session, second: Session) -> None:
    peer.put(second, "q", b"1")
    peer.call(session, spec.TxSelect())
    peer.subscribe(session, "q", credit=3)
    (got,) = peer.got(session)
    peer.result(session.accept(got.command_id, sync=True))
    peer.put(session, "q", b"2")
    session.close()
    assert peer.drain(second, "q") == [b"1"]


def test_what_can_not_be_routed_is_told_before_the_commit(peer: User, session: Session) -> None:
    peer.call(session, spec.TxSelect())
    outcome = peer.publish(session, "", amqp.Message(b"1", routing_key="nowhere"))
    assert isinstance(outcome, amqp.Rejected)
    assert outcome.code == 1
    properties = amqp.DeliveryProperties(routing_key="nowhere", discard_unroutable=True)
    peer.publish(session, "", amqp.Message(b"1", delivery_properties=properties))
    peer.call(session, spec.TxCommit())


@pytest.mark.rule("0-10/tx/not-transactional")
def test_declarations_are_not_rolled_back(peer: User, session: Session, second: Session) -> None:
    peer.call(session, spec.TxSelect())
    peer.call(session, spec.QueueDeclare("mine"))
    peer.call(session, spec.ExchangeDeclare("e", "fanout"))
    peer.call(session, spec.ExchangeBind("mine", "e", ""))
    peer.call(session, spec.TxRollback())
    peer.publish(second, "e", b"m")
    assert peer.drain(second, "mine") == [b"m"]


# Distributed transactions.


def begun(peer: User, session: Session, xid: spec.Xid = X, **options: bool) -> int | None:
    """The status of dtx.start."""
    peer.call(session, spec.DtxSelect())
    return peer.call(session, spec.DtxStart(xid, **options)).status


@pytest.mark.rule(
    "0-10/dtx/transactionality", "0-10/dtx.end/success", "0-10/dtx.prepare/durable", "0-10/dtx.prepare/remember"
)
@pytest.mark.parametrize("phases", [1, 2])
def test_a_branch_is_committed(peer: User, session: Session, second: Session, phases: int, world: World) -> None:
    peer.put(session, "q", b"1")
    peer.call(session, spec.DtxSelect())
    peer.subscribe(session, "q", credit=5)
    (got,) = peer.got(session)
    peer.call(session, spec.MessageCancel("d"))
    peer.put(second, "q", b"before")
    assert begun(peer, session) == amqp.spec.XA_OK
    peer.put(session, "q", b"2")
    peer.result(session.accept(got.command_id, sync=True))
    assert peer.call(session, spec.DtxEnd(X)).status == amqp.spec.XA_OK
    peer.put(session, "q", b"behind")
    queue = world.hub.model.vhosts["/"].queues["q"]
    assert (queue.ready, queue.unsettled) == (2, 1)
    if phases == 2:
        assert peer.call(session, spec.DtxPrepare(X)).status == amqp.spec.XA_OK
        assert list(peer.call(session, spec.DtxRecover()).in_doubt or ()) == [X]
        assert (queue.ready, queue.unsettled) == (2, 1)
    assert peer.call(session, spec.DtxCommit(X, one_phase=phases == 1)).status == amqp.spec.XA_OK
    assert (queue.ready, queue.unsettled) == (3, 0)
    assert peer.drain(second, "q") == [b"before", b"behind", b"2"]


@pytest.mark.parametrize("prepared", [False, True])
def test_a_branch_is_rolled_back(peer: User, session: Session, second: Session, prepared: bool) -> None:
    """What it consumed is session again, what it produced is gone (dtx.rollback)."""
    peer.put(session, "q", b"1")
    peer.subscribe(session, "q", credit=5)
    (got,) = peer.got(session)
    peer.call(session, spec.MessageCancel("d"))
    begun(peer, session)
    peer.put(session, "q", b"2")
    peer.result(session.accept(got.command_id, sync=True))
    peer.call(session, spec.DtxEnd(X))
    if prepared:
        peer.call(session, spec.DtxPrepare(X))
    assert peer.call(session, spec.DtxRollback(X)).status == amqp.spec.XA_OK
    peer.subscribe(second, "q", credit=5)
    (again,) = peer.got(second)
    assert again.body == b"1"
    properties = again.headers.delivery_properties
    assert properties is not None
    assert properties.redelivered


@pytest.mark.rule("0-10/dtx.start/already-known", "0-10/dtx.start/unknown-xid(sic)")
def test_known_and_unknown_xids(peer: User, session: Session, second: Session) -> None:
    begun(peer, session)
    third = peer.session(b"third")
    peer.call(second, spec.DtxSelect())
    peer.call(third, spec.DtxSelect())
    assert peer.refused(second, spec.DtxStart(X)) == 530
    assert peer.refused(third, spec.DtxStart(Y, join=True)) == 530
    assert session.is_attached


def test_sessions_join_a_branch(peer: User, session: Session, second: Session) -> None:
    begun(peer, session)
    assert begun(peer, second, join=True) == amqp.spec.XA_OK
    peer.put(session, "q", b"1")
    peer.put(second, "q", b"2")
    peer.call(session, spec.DtxEnd(X))
    peer.call(second, spec.DtxEnd(X))
    third = peer.session(b"third")
    assert peer.depth(third, "q") == 0
    assert peer.call(third, spec.DtxCommit(X, one_phase=True)).status == amqp.spec.XA_OK
    assert peer.drain(third, "q") == [b"1", b"2"]


@pytest.mark.rule("0-10/dtx.end/suspend")
def test_work_between_suspend_and_resume_is_not_the_branchs(peer: User, session: Session, second: Session) -> None:
    begun(peer, session)
    peer.put(session, "q", b"1")
    peer.call(session, spec.DtxEnd(X, suspend=True))
    peer.put(session, "q", b"2")
    peer.call(session, spec.DtxStart(X, resume=True))
    peer.put(session, "q", b"3")
    peer.call(session, spec.DtxEnd(X))
    assert peer.drain(second, "q") == [b"2"]
    peer.call(session, spec.DtxCommit(X, one_phase=True))
    assert peer.drain(second, "q") == [b"1", b"3"]


@pytest.mark.parametrize(
    ("before", "command", "code"),
    [
        pytest.param(before, command, code, marks=pytest.mark.rule(f"0-10/{rule}"), id=f"{rule} {name}")
        for rule, name, code, command, *before in (
            ("tx.select/exactly-once", "twice", 409, spec.TxSelect(), spec.TxSelect()),
            ("tx.select/exactly-once", "beside dtx", 409, spec.TxSelect(), spec.DtxSelect()),
            ("tx.commit/select-required", "commit", 409, spec.TxCommit()),
            ("tx.rollback/select-required", "rollback", 409, spec.TxRollback()),
            ("tx.select/explicit-accepts", "subscribed first", 530, spec.TxSelect(), QUIET),
            ("tx.select/explicit-accepts", "selected first", 530, QUIET, spec.TxSelect()),
            ("dtx.select/required", "start", 409, spec.DtxStart(X)),
            ("dtx.select/required", "end", 409, spec.DtxEnd(X)),
            ("dtx.end/not-associated", "without", 409, spec.DtxEnd(X), spec.DtxSelect()),
            ("dtx.end/illegal-state", "another", 409, spec.DtxEnd(Y), spec.DtxSelect(), spec.DtxStart(X)),
            ("dtx.start/illegal-state", "twice", 409, spec.DtxStart(Y), spec.DtxSelect(), spec.DtxStart(X)),
            ("dtx.start/join-and-resume", "", 530, spec.DtxStart(X, join=True, resume=True), spec.DtxSelect()),
            ("dtx.end/suspend-and-fail", "", 530, BOTH_FLAGS, spec.DtxSelect(), spec.DtxStart(X)),
        )
    ],
)
def test_the_broker_refuses_what_a_client_would_not_send(
    peer: User, session: Session, before: list[Any], command: Any, code: int
) -> None:
    for each in before:
        peer.call(session, each)
    assert forced(peer, session, command) == code


@pytest.mark.rule("0-10/dtx.end/failure")
def test_failed_work_is_rolled_back(peer: User, session: Session, second: Session) -> None:
    begun(peer, session)
    peer.put(session, "q", b"1")
    assert peer.call(session, spec.DtxEnd(X, fail=True)).status == amqp.spec.XA_RBROLLBACK
    assert peer.call(second, spec.DtxRollback(X)).status == amqp.spec.XA_RBROLLBACK
    assert peer.depth(second, "q") == 0


@pytest.mark.rule("0-10/dtx.end/session-closed")
@pytest.mark.parametrize("how", ["associated", "suspended", "ended"])
def test_branches_of_a_session_that_ends(peer: User, session: Session, second: Session, how: str) -> None:
    peer.put(second, "q", b"1")
    peer.subscribe(session, "q", credit=1)
    (got,) = peer.got(session)
    begun(peer, session)
    peer.result(session.accept(got.command_id, sync=True))
    peer.put(session, "q", b"2")
    if how != "associated":
        peer.call(session, spec.DtxEnd(X, suspend=how == "suspended"))
    session.close()
    peer.world.pump()
    if how == "ended":
        # It stays as it is, with what it has consumed.
        assert peer.depth(second, "q") == 0
        assert peer.call(second, spec.DtxCommit(X, one_phase=True)).status == amqp.spec.XA_OK
        assert peer.drain(second, "q") == [b"2"]
    else:
        assert peer.drain(second, "q") == [b"1"]
        assert peer.call(second, spec.DtxCommit(X, one_phase=True)).status == amqp.spec.XA_RBROLLBACK


@pytest.mark.rule("0-10/dtx.set-timeout/effective", "0-10/dtx.set-timeout/reset")
def test_branches_time_out(world: World, peer: User, session: Session, second: Session) -> None:
    begun(peer, session)
    peer.put(session, "q", b"1")
    assert peer.call(session, spec.DtxGetTimeout(X)).timeout == 0
    peer.call(session, spec.DtxSetTimeout(X, 30))
    assert peer.call(second, spec.DtxGetTimeout(X)).timeout == 30
    assert world.hub.next_deadline == 30.0
    world.advance(29.0)
    peer.call(session, spec.DtxSetTimeout(X, 0))
    assert world.hub.next_deadline is None
    peer.call(session, spec.DtxSetTimeout(X, 30))
    peer.call(session, spec.DtxEnd(X))
    world.advance(31.0)
    assert peer.call(second, spec.DtxCommit(X, one_phase=True)).status == amqp.spec.XA_RBTIMEOUT
    assert peer.depth(second, "q") == 0


@pytest.mark.rule("0-10/dtx.set-timeout/effective")
def test_a_session_that_hangs_in_a_branch_holds_nothing_when_its_time_is_up(
    world: World, peer: User, session: Session, second: Session
) -> None:
    peer.put(session, "q", b"taken")
    peer.subscribe(session, "q", credit=1)
    (taken,) = peer.got(session)
    peer.call(session, spec.MessageCancel("d"))
    begun(peer, session)
    peer.result(session.accept(taken.command_id, sync=True))
    peer.put(session, "q", b"before")
    peer.call(session, spec.DtxSetTimeout(X, 5))
    world.advance(6.0)
    # It's still associated, and nothing that it had done for the branch is left of it.
    assert peer.drain(second, "q") == [b"taken"]
    assert peer.call(second, spec.DtxRecover()).in_doubt == []
    peer.put(session, "q", b"behind")
    assert peer.depth(second, "q") == 0
    assert peer.call(session, spec.DtxEnd(X)).status == amqp.spec.XA_RBTIMEOUT
    for command in (spec.DtxPrepare(X), spec.DtxRollback(X)):
        assert peer.call(session, command).status == amqp.spec.XA_RBTIMEOUT
    assert peer.depth(second, "q") == 0
    assert world.hub.model.transactions == {}


def test_a_branch_without_work_is_read_only(peer: User, session: Session) -> None:
    begun(peer, session)
    peer.call(session, spec.DtxEnd(X))
    assert peer.call(session, spec.DtxPrepare(X)).status == amqp.spec.XA_RDONLY


@pytest.mark.parametrize("committed", [True, False])
def test_a_branch_is_decided_while_its_session_is_detached(world: World, peer: User, committed: bool) -> None:
    session = peer.session(b"lasting", timeout=60)
    peer.queue(session, "q")
    peer.put(session, "q", b"1", b"2")
    peer.subscribe(session, "q", credit=2)
    one, two = peer.got(session)
    peer.call(session, spec.MessageCancel("d"))
    begun(peer, session)
    peer.result(session.accept(one.command_id, sync=True))
    peer.call(session, spec.DtxEnd(X))
    peer.cut()
    other = world.connect()
    helper = other.session(b"helper")
    if committed:
        other.call(helper, spec.DtxCommit(X, one_phase=True))
    else:
        other.call(helper, spec.DtxRollback(X))
    again = other.resume(session.detached_state())
    assert other.drain(helper, "q") == ([] if committed else [b"1"])
    # The broker's engine has settled what was accepted, or waits for its outcome again.
    (core,) = [each.core for each in register_of(world.hub).known.values() if each.key[2] == b"lasting"]
    assert core is not None
    outcome = (b"lasting", "server", one.command_id, "outcome")
    assert (outcome in [each.key for each in core.pending]) is not committed
    other.result(again.accept(two.command_id, sync=True))
    assert world.hub.model.vhosts["/"].queues["q"].messages == 0


def test_branches_are_of_a_virtual_host(world: World, peer: User, session: Session) -> None:
    world.hub.add_vhost("test")
    other = world.connect(vhost="test")
    there = other.session(b"there")
    begun(peer, session)
    begun(other, there)
    assert sorted(register_of(world.hub).books) == ["/", "test"]
    other.call(there, spec.DtxEnd(X))
    with pytest.raises(RemoteProtocolError):
        peer.call(session, spec.DtxCommit(X, one_phase=True))


# A second settlement in a transaction: clients release all that they have before they roll back.

AGAIN = {"release": spec.MessageRelease, "reject": spec.MessageReject}


@pytest.mark.parametrize("kind", ["tx", "dtx"])
@pytest.mark.parametrize("committed", [True, False], ids=["commit", "rollback"])
@pytest.mark.parametrize("again", AGAIN)
def test_what_is_settled_again_in_a_transaction_has_that_outcome_after_a_rollback(
    peer: User, session: Session, second: Session, world: World, again: str, committed: bool, kind: str
) -> None:
    peer.call(second, spec.QueueDeclare("dead"))
    peer.call(second, spec.ExchangeDeclare("dlx", "fanout"))
    peer.call(second, spec.ExchangeBind("dead", "dlx", ""))
    peer.call(second, spec.QueueDeclare("w", "dlx"))
    peer.put(second, "w", b"1", b"2")
    peer.call(session, spec.TxSelect() if kind == "tx" else spec.DtxSelect())
    peer.subscribe(session, "w", credit=2)
    ids = [each.command_id for each in peer.got(session)]
    if kind == "dtx":
        peer.call(session, spec.DtxStart(X))
    # The second one is only accepted.
    peer.call(session, spec.MessageAccept(amqp.SequenceSet.of(*ids)))
    peer.call(session, AGAIN[again](amqp.SequenceSet.of(ids[0])))
    queue = world.hub.model.vhosts["/"].queues["w"]
    assert (queue.ready, queue.unsettled) == (0, 2)
    peer.call(session, spec.MessageCancel("d"))
    if kind == "dtx":
        peer.call(session, spec.DtxEnd(X))
        peer.call(session, spec.DtxCommit(X, True) if committed else spec.DtxRollback(X))
    else:
        peer.call(session, spec.TxCommit() if committed else spec.TxRollback())
    back = not committed and again == "release"
    kept = not committed and kind == "tx"
    assert (queue.ready, queue.unsettled) == (back + (not committed and not kept), int(kept))
    assert peer.drain(second, "dead") == ([b"1"] if again == "reject" and not committed else [])
    if kept:
        # It's acquired as before, and can be settled once more.
        assert [*session.unsettled] == [ids[1]]
        peer.call(session, spec.MessageRelease(amqp.SequenceSet.of(ids[1])))
        assert queue.ready == 1 + back
        assert [*session.unsettled] == []


def test_a_session_that_ends_does_not_carry_out_a_second_settlement_twice(
    peer: User, session: Session, second: Session, world: World
) -> None:
    peer.put(second, "q", b"1")
    peer.call(session, spec.TxSelect())
    peer.subscribe(session, "q", credit=2)
    (got,) = peer.got(session)
    ids = amqp.SequenceSet.of(got.command_id)
    peer.call(session, spec.MessageAccept(ids))
    peer.call(session, spec.MessageRelease(ids))
    session.close()
    assert peer.drain(second, "q") == [b"1"]
