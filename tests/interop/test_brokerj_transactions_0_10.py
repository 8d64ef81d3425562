"""The client of AMQP 0-10 and Qpid Broker-J: tx and dtx."""

from collections.abc import Iterator
from itertools import count

import pytest

from amqp_sansio import LocalProtocolError, RemoteProtocolError
from amqp_sansio import amqp_0_10 as amqp
from amqp_sansio.amqp_0_10 import spec
from tests.interop.brokers.brokerj import BrokerJ
from tests.interop.brokers.facing_0_10 import Facing, facing, keyed
from tests.kit.wire_0_10 import Wire010

XA_OK, XA_RBTIMEOUT = 0, 2
_numbers = count(1)


@pytest.fixture
def peer(brokerj: BrokerJ) -> Iterator[Facing]:
    with facing(brokerj) as found:
        yield found


def new_xid() -> spec.Xid:
    return spec.Xid(7, b"global-%d" % next(_numbers), b"branch")


class Work:
    """A session for transactions, one without, and a queue."""

    def __init__(self, peer: Facing, select: spec.Command[None]) -> None:
        self.select = select
        self.wire, self.plain = peer.attach()
        self.queue = peer.queue(self.wire, self.plain)
        self.session = self.wire.session()
        self.wire.call(self.session, select)

    def renew(self) -> amqp.Session:
        """Another session, after an exception."""
        self.session = self.wire.session()
        self.wire.call(self.session, self.select)
        return self.session

    def send(self, *bodies: bytes) -> None:
        """Publish in the transaction."""
        for body in bodies:
            self.session.transfer("", keyed(self.queue, body))
        self.wire.sync(self.session)

    def inside(self) -> list[bytes]:
        """What others find in the queue, and take."""
        return self.wire.drain(self.plain, self.queue)

    def xa(self, command: spec.Command[spec.XaResult]) -> int | None:
        """The status that a command results in."""
        return self.wire.call(self.session, command).status

    def branch(self, *bodies: bytes) -> spec.Xid:
        """A branch that has published, and is ended."""
        xid = new_xid()
        assert self.xa(spec.DtxStart(xid)) == XA_OK
        self.send(*bodies)
        assert self.xa(spec.DtxEnd(xid)) == XA_OK
        return xid


@pytest.fixture
def local(peer: Facing) -> Work:
    return Work(peer, spec.TxSelect())


@pytest.fixture
def distributed(peer: Facing) -> Work:
    return Work(peer, spec.DtxSelect())


# tx.


def test_what_is_published_is_seen_after_the_commit(local: Work) -> None:
    local.send(b"one", b"two")
    assert local.inside() == []
    local.wire.call(local.session, spec.TxCommit())
    assert local.inside() == [b"one", b"two"]
    local.send(b"never")
    local.wire.call(local.session, spec.TxRollback())
    local.wire.call(local.session, spec.TxCommit())
    assert local.inside() == []
    local.wire.close()


def test_accepts_count_after_the_commit(local: Work) -> None:
    wire, session = local.wire, local.session
    for body in (b"one", b"two"):
        wire.publish(local.plain, "", keyed(local.queue, body))
    destination = wire.subscribe(session, local.queue, flow_mode=amqp.spec.CREDIT, credit=2)
    first, second = [wire.message(session, destination) for _ in range(2)]
    wire.result(session.accept(first.command_id, sync=True))
    wire.call(session, spec.TxCommit())
    assert session.unsettled == (second.command_id,)
    wire.result(session.release(second.command_id, sync=True))
    assert local.inside() == [b"two"]
    wire.close()


def test_after_a_rollback_broker_j_sends_messages_again(local: Work) -> None:
    """By the specification they stay acquired, and here they do: releasing them does nothing to Broker-J."""
    wire, session = local.wire, local.session
    wire.publish(local.plain, "", keyed(local.queue, b"one"))
    destination = wire.subscribe(session, local.queue, flow_mode=amqp.spec.CREDIT, credit=1)
    message = wire.message(session, destination)
    wire.result(session.accept(message.command_id, sync=True))
    assert list(session.unsettled) == []
    wire.call(session, spec.TxRollback())
    assert list(session.unsettled) == [message.command_id]
    session.top_up(destination, 1)
    again = wire.message(session, destination)
    assert again.body == b"one"
    assert again.message.delivery_properties.redelivered
    wire.result(session.release(message.command_id, sync=True))
    wire.result(session.accept(again.command_id, sync=True))
    wire.call(session, spec.TxCommit())
    assert session.unsettled == ()
    assert local.inside() == []
    wire.close()


def test_a_session_that_ends_is_rolled_back(local: Work) -> None:
    local.send(b"lost")
    local.session.close()
    local.wire.session_closed(local.session)
    assert local.inside() == []
    local.wire.close()


def test_what_selecting_demands(peer: Facing, wire: Wire010, session: amqp.Session) -> None:
    queue = peer.queue(wire, session)
    wire.subscribe(session, queue, accept_mode=amqp.spec.NONE)
    with pytest.raises(LocalProtocolError):
        session.call(spec.TxSelect())
    other = wire.session()
    wire.call(other, spec.TxSelect())
    with pytest.raises(LocalProtocolError):
        other.call(spec.TxSelect())


# dtx.


def test_two_phases(distributed: Work) -> None:
    xid = distributed.branch(b"one", b"two")
    assert distributed.inside() == []
    assert distributed.xa(spec.DtxPrepare(xid)) == XA_OK
    in_doubt = distributed.wire.call(distributed.session, spec.DtxRecover()).in_doubt
    assert in_doubt is not None
    assert xid in in_doubt
    assert distributed.inside() == []
    assert distributed.xa(spec.DtxCommit(xid)) == XA_OK
    assert distributed.inside() == [b"one", b"two"]
    assert xid not in (distributed.wire.call(distributed.session, spec.DtxRecover()).in_doubt or ())
    distributed.wire.close()


def test_one_phase(distributed: Work) -> None:
    xid = distributed.branch(b"one")
    assert distributed.xa(spec.DtxCommit(xid, one_phase=True)) == XA_OK
    assert distributed.inside() == [b"one"]
    distributed.wire.close()


@pytest.mark.parametrize("prepared", [False, True])
def test_rolling_back(distributed: Work, prepared: bool) -> None:
    xid = distributed.branch(b"never")
    if prepared:
        assert distributed.xa(spec.DtxPrepare(xid)) == XA_OK
    assert distributed.xa(spec.DtxRollback(xid)) == XA_OK
    assert distributed.inside() == []
    distributed.wire.close()


@pytest.mark.parametrize("committed", [False, True])
def test_consuming_in_a_branch(distributed: Work, committed: bool) -> None:
    wire, session = distributed.wire, distributed.session
    wire.publish(distributed.plain, "", keyed(distributed.queue, b"one"))
    destination = wire.subscribe(session, distributed.queue, flow_mode=amqp.spec.CREDIT, credit=1)
    message = wire.message(session, destination)
    xid = new_xid()
    assert distributed.xa(spec.DtxStart(xid)) == XA_OK
    wire.result(session.accept(message.command_id, sync=True))
    assert distributed.xa(spec.DtxEnd(xid)) == XA_OK
    assert distributed.xa(spec.DtxPrepare(xid)) == XA_OK
    if committed:
        assert distributed.xa(spec.DtxCommit(xid)) == XA_OK
        assert session.unsettled == ()
        assert distributed.inside() == []
    else:
        assert distributed.xa(spec.DtxRollback(xid)) == XA_OK
        assert session.unsettled == (message.command_id,)
        # As with tx: it's back in the queue, whoever has it.
        assert distributed.inside() == [b"one"]
    wire.close()


def test_a_branch_that_another_session_prepares_and_commits(distributed: Work) -> None:
    xid = distributed.branch(b"one")
    distributed.session.close()
    distributed.wire.session_closed(distributed.session)
    distributed.renew()
    assert distributed.xa(spec.DtxPrepare(xid)) == XA_OK
    distributed.renew()
    assert distributed.xa(spec.DtxCommit(xid)) == XA_OK
    assert distributed.inside() == [b"one"]
    distributed.wire.close()


def test_suspending_and_joining(distributed: Work) -> None:
    xid = new_xid()
    first = distributed.session
    assert distributed.xa(spec.DtxStart(xid)) == XA_OK
    distributed.send(b"one")
    assert distributed.xa(spec.DtxEnd(xid, suspend=True)) == XA_OK
    second = distributed.renew()
    assert distributed.xa(spec.DtxStart(xid, join=True)) == XA_OK
    distributed.send(b"two")
    assert distributed.xa(spec.DtxEnd(xid)) == XA_OK
    distributed.session = first
    assert distributed.xa(spec.DtxStart(xid, resume=True)) == XA_OK
    distributed.send(b"three")
    assert distributed.xa(spec.DtxEnd(xid)) == XA_OK
    assert distributed.wire.call(second, spec.DtxCommit(xid, one_phase=True)).status == XA_OK
    assert distributed.inside() == [b"one", b"two", b"three"]
    distributed.wire.close()


def test_timeouts(distributed: Work) -> None:
    wire, session = distributed.wire, distributed.session
    xid = new_xid()
    assert distributed.xa(spec.DtxStart(xid)) == XA_OK
    assert wire.call(session, spec.DtxGetTimeout(xid)).timeout == 0
    wire.call(session, spec.DtxSetTimeout(xid, 1))
    assert wire.call(session, spec.DtxGetTimeout(xid)).timeout == 1
    distributed.send(b"late")
    wire.idle(1.5)
    assert distributed.xa(spec.DtxEnd(xid)) == XA_RBTIMEOUT
    assert distributed.inside() == []
    xid = distributed.branch(b"late")
    wire.call(session, spec.DtxSetTimeout(xid, 1))
    wire.idle(1.5)
    assert distributed.xa(spec.DtxPrepare(xid)) == XA_RBTIMEOUT
    assert distributed.inside() == []
    wire.close()


def test_a_failed_association_is_prepared_all_the_same(distributed: Work) -> None:
    """The specification asks for xa-rbrollback."""
    xid = new_xid()
    assert distributed.xa(spec.DtxStart(xid)) == XA_OK
    distributed.send(b"failed")
    assert distributed.xa(spec.DtxEnd(xid, fail=True)) == XA_OK
    assert distributed.xa(spec.DtxPrepare(xid)) == XA_OK
    assert distributed.xa(spec.DtxRollback(xid)) == XA_OK
    assert distributed.inside() == []
    distributed.wire.close()


def test_branches_that_are_not_there(distributed: Work) -> None:
    for command, code in (
        (spec.DtxPrepare(new_xid()), 404),
        (spec.DtxCommit(new_xid()), 404),
        (spec.DtxRollback(new_xid()), 404),
        (spec.DtxForget(new_xid()), 404),
        (spec.DtxGetTimeout(new_xid()), 404),
        (spec.DtxSetTimeout(new_xid(), 1), 404),
        (spec.DtxStart(new_xid(), join=True), 530),
        (spec.DtxStart(new_xid(), resume=True), 530),
    ):
        with pytest.raises(RemoteProtocolError) as caught:
            distributed.wire.call(distributed.session, command)
        assert caught.value.code == code, command
        distributed.renew()
    distributed.wire.close()


def test_branches_in_another_state(distributed: Work) -> None:
    prepared = distributed.branch(b"one")
    assert distributed.xa(spec.DtxPrepare(prepared)) == XA_OK
    ended = distributed.branch(b"two")
    started = new_xid()
    assert distributed.xa(spec.DtxStart(started)) == XA_OK
    for command, code in (
        (spec.DtxPrepare(started), 409),
        (spec.DtxCommit(prepared, one_phase=True), 409),
        (spec.DtxCommit(ended), 409),
        (spec.DtxForget(ended), 409),
        (spec.DtxStart(ended), 530),
    ):
        with pytest.raises(RemoteProtocolError) as caught:
            distributed.wire.call(distributed.session, command)
        assert caught.value.code == code, command
        distributed.renew()
    for xid in (prepared, ended):
        assert distributed.xa(spec.DtxRollback(xid)) == XA_OK
    assert distributed.inside() == []
    distributed.wire.close()


def test_what_a_session_can_not_mean(distributed: Work) -> None:
    xid = new_xid()
    assert distributed.xa(spec.DtxStart(xid)) == XA_OK
    for command in (
        spec.DtxStart(new_xid()),
        spec.DtxStart(xid, join=True, resume=True),
        spec.DtxEnd(new_xid()),
        spec.DtxEnd(xid, fail=True, suspend=True),
        spec.TxSelect(),
    ):
        with pytest.raises(LocalProtocolError):
            distributed.session.call(command)
    assert distributed.xa(spec.DtxEnd(xid)) == XA_OK
    assert distributed.xa(spec.DtxRollback(xid)) == XA_OK
    distributed.wire.close()
