"""Standard and distributed transactions (classes 5 and 6), by what clients see of them."""

from __future__ import annotations

from typing import Any

import pytest

from amqp_sansio import RemoteProtocolError
from amqp_sansio.amqp_0_10 import (
    NONE,
    XA_OK,
    XA_RBROLLBACK,
    XA_RBTIMEOUT,
    XA_RDONLY,
    DeliveryProperties,
    DtxCommit,
    DtxEnd,
    DtxForget,
    DtxGetTimeout,
    DtxPrepare,
    DtxRecover,
    DtxRollback,
    DtxSelect,
    DtxSetTimeout,
    DtxStart,
    ExchangeBind,
    ExchangeDeclare,
    Message,
    MessageCancel,
    MessageSubscribe,
    QueueDeclare,
    Rejected,
    Session,
    TxCommit,
    TxRollback,
    TxSelect,
    Xid,
)
from amqp_sansio.broker.frontends.amqp_0_10.sessions import register_of
from tests.kit.ends_0_10 import Lawless
from tests.kit.hub_0_10 import Peer, World

X = Xid(1, b"global", b"branch")
Y = Xid(1, b"global", b"other")


@pytest.fixture
def world() -> World:
    return World()


@pytest.fixture
def peer(world: World) -> Peer:
    return world.connect()


@pytest.fixture
def session(peer: Peer) -> Session:
    session = peer.session()
    peer.queue(session, "q")
    return session


@pytest.fixture
def second(peer: Peer) -> Session:
    return peer.session(b"second")


def forced(peer: Peer, session: Session, command: Any) -> int:
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
@pytest.mark.parametrize("accept_mode", [0, NONE])
def test_what_is_published_is_there_after_the_commit(
    peer: Peer, session: Session, second: Session, accept_mode: int
) -> None:
    peer.call(session, TxSelect())
    for body in (b"1", b"2"):
        peer.publish(session, "", Message(body, routing_key="q"), accept_mode=accept_mode)
    assert peer.depth(second, "q") == 0
    peer.call(session, TxCommit())
    assert peer.drain(second, "q") == [b"1", b"2"]
    peer.publish(session, "", Message(b"3", routing_key="q"))
    peer.call(session, TxRollback())
    assert peer.depth(second, "q") == 0
    peer.publish(session, "", Message(b"4", routing_key="q"))
    peer.call(session, TxCommit())
    assert peer.drain(second, "q") == [b"4"]


def test_what_is_accepted_is_gone_after_the_commit(peer: Peer, session: Session, world: World) -> None:
    peer.put(session, "q", b"1", b"2", b"3")
    peer.call(session, TxSelect())
    peer.subscribe(session, "q", credit=3)
    got = peer.got(session)
    queue = world.hub.model.vhosts["/"].queues["q"]
    peer.result(session.accept(got[0].command_id, sync=True))
    assert queue.messages == 3
    peer.call(session, TxCommit())
    assert queue.messages == 2
    peer.result(session.accept(got[1].command_id, sync=True))
    peer.call(session, TxRollback())
    assert (queue.ready, queue.unsettled) == (0, 2)
    # They're still the client's.
    peer.result(session.accept(got[1].command_id, sync=True))
    peer.call(session, MessageCancel("d"))
    peer.result(session.release(got[2].command_id, sync=True))
    peer.call(session, TxCommit())
    assert (queue.ready, queue.unsettled) == (1, 0)


def test_a_session_that_ends_rolls_back(peer: Peer, session: Session, second: Session) -> None:
    peer.put(second, "q", b"1")
    peer.call(session, TxSelect())
    peer.subscribe(session, "q", credit=3)
    (got,) = peer.got(session)
    peer.result(session.accept(got.command_id, sync=True))
    peer.put(session, "q", b"2")
    session.close()
    assert peer.drain(second, "q") == [b"1"]


def test_what_can_not_be_routed_is_told_before_the_commit(peer: Peer, session: Session) -> None:
    peer.call(session, TxSelect())
    outcome = peer.publish(session, "", Message(b"1", routing_key="nowhere"))
    assert isinstance(outcome, Rejected)
    assert outcome.code == 1
    properties = DeliveryProperties(routing_key="nowhere", discard_unroutable=True)
    peer.publish(session, "", Message(b"1", delivery_properties=properties))
    peer.call(session, TxCommit())


@pytest.mark.rule("0-10/tx/not-transactional")
def test_declarations_are_not_rolled_back(peer: Peer, session: Session, second: Session) -> None:
    peer.call(session, TxSelect())
    peer.call(session, QueueDeclare("mine"))
    peer.call(session, ExchangeDeclare("e", "fanout"))
    peer.call(session, ExchangeBind("mine", "e", ""))
    peer.call(session, TxRollback())
    peer.publish(second, "e", b"m")
    assert peer.drain(second, "mine") == [b"m"]


@pytest.mark.rule("0-10/tx.select/exactly-once", "0-10/tx.commit/select-required", "0-10/tx.rollback/select-required")
@pytest.mark.parametrize(
    ("before", "command"),
    [([TxSelect()], TxSelect()), ([], TxCommit()), ([], TxRollback()), ([DtxSelect()], TxSelect())],
    ids=["select twice", "commit", "rollback", "dtx"],
)
def test_tx_in_the_wrong_state(peer: Peer, session: Session, before: list[Any], command: Any) -> None:
    for each in before:
        peer.call(session, each)
    assert forced(peer, session, command) == 409


@pytest.mark.rule("0-10/tx.select/explicit-accepts")
@pytest.mark.parametrize("first", [True, False])
def test_tx_wants_explicit_accepts(peer: Peer, session: Session, first: bool) -> None:
    commands: list[Any] = [MessageSubscribe("q", "d", NONE, 0), TxSelect()]
    if first:
        commands.reverse()
    peer.call(session, commands[0])
    assert forced(peer, session, commands[1]) == 530


# Distributed transactions.


def begun(peer: Peer, session: Session, xid: Xid = X, **options: bool) -> int | None:
    """The status of dtx.start."""
    peer.call(session, DtxSelect())
    return peer.call(session, DtxStart(xid, **options)).status


@pytest.mark.rule(
    "0-10/dtx/transactionality", "0-10/dtx.end/success", "0-10/dtx.prepare/durable", "0-10/dtx.prepare/remember",
)
@pytest.mark.parametrize("phases", [1, 2])
def test_a_branch_is_committed(peer: Peer, session: Session, second: Session, phases: int, world: World) -> None:
    peer.put(session, "q", b"1")
    peer.call(session, DtxSelect())
    peer.subscribe(session, "q", credit=5)
    (got,) = peer.got(session)
    peer.call(session, MessageCancel("d"))
    peer.put(second, "q", b"before")
    assert begun(peer, session) == XA_OK
    peer.put(session, "q", b"2")
    peer.result(session.accept(got.command_id, sync=True))
    assert peer.call(session, DtxEnd(X)).status == XA_OK
    peer.put(session, "q", b"behind")
    queue = world.hub.model.vhosts["/"].queues["q"]
    assert (queue.ready, queue.unsettled) == (2, 1)
    if phases == 2:
        assert peer.call(session, DtxPrepare(X)).status == XA_OK
        assert list(peer.call(session, DtxRecover()).in_doubt or ()) == [X]
        assert (queue.ready, queue.unsettled) == (2, 1)
    assert peer.call(session, DtxCommit(X, one_phase=phases == 1)).status == XA_OK
    assert (queue.ready, queue.unsettled) == (3, 0)
    assert peer.drain(second, "q") == [b"before", b"behind", b"2"]


@pytest.mark.parametrize("prepared", [False, True])
def test_a_branch_is_rolled_back(peer: Peer, session: Session, second: Session, prepared: bool) -> None:
    """What it consumed is queued again, what it produced is gone (dtx.rollback)."""
    peer.put(session, "q", b"1")
    peer.subscribe(session, "q", credit=5)
    (got,) = peer.got(session)
    peer.call(session, MessageCancel("d"))
    begun(peer, session)
    peer.put(session, "q", b"2")
    peer.result(session.accept(got.command_id, sync=True))
    peer.call(session, DtxEnd(X))
    if prepared:
        peer.call(session, DtxPrepare(X))
    assert peer.call(session, DtxRollback(X)).status == XA_OK
    peer.subscribe(second, "q", credit=5)
    (again,) = peer.got(second)
    assert again.body == b"1"
    properties = again.headers.delivery_properties
    assert properties is not None
    assert properties.redelivered


@pytest.mark.rule("0-10/dtx.start/already-known", "0-10/dtx.start/unknown-xid(sic)")
def test_known_and_unknown_xids(peer: Peer, session: Session, second: Session) -> None:
    begun(peer, session)
    third = peer.session(b"third")
    peer.call(second, DtxSelect())
    peer.call(third, DtxSelect())
    assert peer.refused(second, DtxStart(X)) == 530
    assert peer.refused(third, DtxStart(Y, join=True)) == 530
    assert session.is_attached


def test_sessions_join_a_branch(peer: Peer, session: Session, second: Session) -> None:
    begun(peer, session)
    assert begun(peer, second, join=True) == XA_OK
    peer.put(session, "q", b"1")
    peer.put(second, "q", b"2")
    peer.call(session, DtxEnd(X))
    peer.call(second, DtxEnd(X))
    third = peer.session(b"third")
    assert peer.depth(third, "q") == 0
    assert peer.call(third, DtxCommit(X, one_phase=True)).status == XA_OK
    assert peer.drain(third, "q") == [b"1", b"2"]


@pytest.mark.rule("0-10/dtx.end/suspend")
def test_work_between_suspend_and_resume_is_not_the_branchs(peer: Peer, session: Session, second: Session) -> None:
    begun(peer, session)
    peer.put(session, "q", b"1")
    peer.call(session, DtxEnd(X, suspend=True))
    peer.put(session, "q", b"2")
    peer.call(session, DtxStart(X, resume=True))
    peer.put(session, "q", b"3")
    peer.call(session, DtxEnd(X))
    assert peer.drain(second, "q") == [b"2"]
    peer.call(session, DtxCommit(X, one_phase=True))
    assert peer.drain(second, "q") == [b"1", b"3"]


@pytest.mark.rule(
    "0-10/dtx.commit/unknown-xid", "0-10/dtx.prepare/unknown-xid", "0-10/dtx.rollback/unknown-xid",
    "0-10/dtx.forget/unknown-xid", "0-10/dtx.get-timeout/unknown-xid", "0-10/dtx.set-timeout/unknown-xid",
)
@pytest.mark.parametrize(
    "command",
    [DtxCommit(Y), DtxPrepare(Y), DtxRollback(Y), DtxForget(Y), DtxGetTimeout(Y), DtxSetTimeout(Y, 5)],
    ids=lambda command: command.NAME,
)
def test_an_unknown_branch(peer: Peer, session: Session, command: Any) -> None:
    peer.call(session, DtxSelect())
    assert peer.refused(session, command) == 404


@pytest.mark.rule(
    "0-10/dtx.commit/not-disassociated", "0-10/dtx.prepare/not-disassociated", "0-10/dtx.rollback/not-disassociated",
    "0-10/dtx.forget/not-disassociated",
)
@pytest.mark.parametrize(
    "command",
    [DtxCommit(X, one_phase=True), DtxPrepare(X), DtxRollback(X), DtxForget(X)],
    ids=lambda command: command.NAME,
)
def test_a_branch_that_is_worked_for(peer: Peer, session: Session, second: Session, command: Any) -> None:
    begun(peer, session)
    assert peer.refused(second, command) == 409


@pytest.mark.rule(
    "0-10/dtx.commit/illegal-state", "0-10/dtx.commit/one-phase", "0-10/dtx.commit/two-phase",
    "0-10/dtx.forget/illegal-state", "0-10/dtx.prepare/illegal-state", "0-10/dtx.rollback/illegal-state",
    "0-10/dtx.start/illegal-state",
)
@pytest.mark.parametrize(
    ("before", "command"),
    [
        ([DtxEnd(X)], DtxCommit(X)),
        ([DtxEnd(X), DtxPrepare(X)], DtxCommit(X, one_phase=True)),
        ([DtxEnd(X)], DtxForget(X)),
        ([DtxEnd(X), DtxPrepare(X)], DtxPrepare(X)),
        ([DtxEnd(X, suspend=True)], DtxPrepare(X)),
        ([DtxEnd(X, suspend=True)], DtxRollback(X)),
        ([DtxEnd(X, suspend=True)], DtxCommit(X, one_phase=True)),
    ],
    ids=["one-phase", "two-phase", "forget", "prepare twice", "prepare", "rollback", "commit"],
)
def test_commands_in_the_wrong_state(
    peer: Peer, session: Session, second: Session, before: list[Any], command: Any
) -> None:
    begun(peer, session)
    peer.put(session, "q", b"work")
    for each in before:
        peer.call(session, each)
    assert peer.refused(second, command) == 409


@pytest.mark.rule(
    "0-10/dtx.select/required", "0-10/dtx.start/illegal-state", "0-10/dtx.end/illegal-state",
    "0-10/dtx.end/not-associated",
)
@pytest.mark.parametrize(
    ("before", "command"),
    [
        ([], DtxStart(X)),
        ([], DtxEnd(X)),
        ([DtxSelect()], DtxEnd(X)),
        ([DtxSelect(), DtxStart(X)], DtxEnd(Y)),
        ([DtxSelect(), DtxStart(X)], DtxStart(Y)),
    ],
    ids=["start unselected", "end unselected", "end without", "end another", "start twice"],
)
def test_demarcation_in_the_wrong_state(peer: Peer, session: Session, before: list[Any], command: Any) -> None:
    for each in before:
        peer.call(session, each)
    assert forced(peer, session, command) == 409


@pytest.mark.rule("0-10/dtx.start/join-and-resume", "0-10/dtx.end/suspend-and-fail")
@pytest.mark.parametrize("ends", [False, True])
def test_flags_that_do_not_go_together(peer: Peer, session: Session, ends: bool) -> None:
    peer.call(session, DtxSelect())
    command: Any = DtxStart(X, join=True, resume=True)
    if ends:
        peer.call(session, DtxStart(X))
        command = DtxEnd(X, suspend=True, fail=True)
    assert forced(peer, session, command) == 530


@pytest.mark.rule("0-10/dtx.end/failure")
def test_failed_work_is_rolled_back(peer: Peer, session: Session, second: Session) -> None:
    begun(peer, session)
    peer.put(session, "q", b"1")
    assert peer.call(session, DtxEnd(X, fail=True)).status == XA_RBROLLBACK
    assert peer.call(second, DtxRollback(X)).status == XA_RBROLLBACK
    assert peer.depth(second, "q") == 0


@pytest.mark.rule("0-10/dtx.end/session-closed")
@pytest.mark.parametrize("how", ["associated", "suspended", "ended"])
def test_branches_of_a_session_that_ends(peer: Peer, session: Session, second: Session, how: str) -> None:
    peer.put(second, "q", b"1")
    peer.subscribe(session, "q", credit=1)
    (got,) = peer.got(session)
    begun(peer, session)
    peer.result(session.accept(got.command_id, sync=True))
    peer.put(session, "q", b"2")
    if how != "associated":
        peer.call(session, DtxEnd(X, suspend=how == "suspended"))
    session.close()
    peer.world.pump()
    if how == "ended":
        # It stays as it is, with what it has consumed.
        assert peer.depth(second, "q") == 0
        assert peer.call(second, DtxCommit(X, one_phase=True)).status == XA_OK
        assert peer.drain(second, "q") == [b"2"]
    else:
        assert peer.drain(second, "q") == [b"1"]
        assert peer.call(second, DtxCommit(X, one_phase=True)).status == XA_RBROLLBACK


@pytest.mark.rule("0-10/dtx.set-timeout/effective", "0-10/dtx.set-timeout/reset")
def test_branches_time_out(world: World, peer: Peer, session: Session, second: Session) -> None:
    begun(peer, session)
    peer.put(session, "q", b"1")
    assert peer.call(session, DtxGetTimeout(X)).timeout == 0
    peer.call(session, DtxSetTimeout(X, 30))
    assert peer.call(second, DtxGetTimeout(X)).timeout == 30
    assert world.hub.next_deadline == 30.0
    world.advance(29.0)
    peer.call(session, DtxSetTimeout(X, 0))
    assert world.hub.next_deadline is None
    peer.call(session, DtxSetTimeout(X, 30))
    peer.call(session, DtxEnd(X))
    world.advance(31.0)
    assert peer.call(second, DtxCommit(X, one_phase=True)).status == XA_RBTIMEOUT
    assert peer.depth(second, "q") == 0


@pytest.mark.rule("0-10/dtx.set-timeout/effective")
def test_a_session_that_hangs_in_a_branch_holds_nothing_when_its_time_is_up(
    world: World, peer: Peer, session: Session, second: Session
) -> None:
    peer.queue(session, "q")
    peer.put(session, "q", b"taken")
    peer.subscribe(session, "q", credit=1)
    (taken,) = peer.got(session)
    peer.call(session, MessageCancel("d"))
    begun(peer, session)
    peer.result(session.accept(taken.command_id, sync=True))
    peer.put(session, "q", b"before")
    peer.call(session, DtxSetTimeout(X, 5))
    world.advance(6.0)
    # It's still associated, and nothing that it had done for the branch is left of it.
    assert peer.drain(second, "q") == [b"taken"]
    assert peer.call(second, DtxRecover()).in_doubt == []
    peer.put(session, "q", b"behind")
    assert peer.depth(second, "q") == 0
    assert peer.call(session, DtxEnd(X)).status == XA_RBTIMEOUT
    for command in (DtxPrepare(X), DtxRollback(X)):
        assert peer.call(session, command).status == XA_RBTIMEOUT
    assert peer.depth(second, "q") == 0
    assert world.hub.model.transactions == {}


def test_a_branch_without_work_is_read_only(peer: Peer, session: Session) -> None:
    begun(peer, session)
    peer.call(session, DtxEnd(X))
    assert peer.call(session, DtxPrepare(X)).status == XA_RDONLY


@pytest.mark.parametrize("committed", [True, False])
def test_a_branch_is_decided_while_its_session_is_detached(world: World, peer: Peer, committed: bool) -> None:
    session = peer.session(b"lasting", timeout=60)
    peer.queue(session, "q")
    peer.put(session, "q", b"1", b"2")
    peer.subscribe(session, "q", credit=2)
    one, two = peer.got(session)
    peer.call(session, MessageCancel("d"))
    begun(peer, session)
    peer.result(session.accept(one.command_id, sync=True))
    peer.call(session, DtxEnd(X))
    peer.cut()
    other = world.connect()
    helper = other.session(b"helper")
    if committed:
        other.call(helper, DtxCommit(X, one_phase=True))
    else:
        other.call(helper, DtxRollback(X))
    again = other.resume(session.detached_state())
    assert other.drain(helper, "q") == ([] if committed else [b"1"])
    other.result(again.accept(two.command_id, sync=True))
    assert world.hub.model.vhosts["/"].queues["q"].messages == 0


def test_branches_are_of_a_virtual_host(world: World, peer: Peer, session: Session) -> None:
    world.hub.add_vhost("test")
    other = world.connect(vhost="test")
    there = other.session(b"there")
    begun(peer, session)
    begun(other, there)
    assert sorted(register_of(world.hub).books) == ["/", "test"]
    other.call(there, DtxEnd(X))
    with pytest.raises(RemoteProtocolError):
        peer.call(session, DtxCommit(X, one_phase=True))
