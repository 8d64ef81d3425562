"""The client of AMQP 0-10 and Qpid Broker-J: what the broker refuses, and how."""

from collections.abc import Iterator
from typing import Any

import pytest

from amqp_sansio import Accepted, By, EndpointClosed, LocalProtocolError, RemoteProtocolError, Scope
from amqp_sansio import amqp_0_10 as amqp
from amqp_sansio.amqp_0_10 import spec
from tests.interop.brokers.brokerj import BrokerJ
from tests.interop.brokers.facing_0_10 import Facing, facing, keyed
from tests.kit.wire_0_10 import Wire010


@pytest.fixture
def peer(brokerj: BrokerJ) -> Iterator[Facing]:
    with facing(brokerj) as found:
        yield found


@pytest.mark.parametrize(
    ("code", "condition", "command"),
    [
        (404, "not-found", spec.QueuePurge("absent")),
        (404, "not-found", spec.QueueDelete("absent")),
        (404, "not-found", spec.QueueDeclare("absent", passive=True)),
        (404, "not-found", spec.MessageSubscribe("absent", "d")),
        (404, "not-found", spec.ExchangeBind("absent", "amq.direct", "k")),
        (404, "not-found", spec.ExchangeDeclare("absent", "no type")),
        (404, "not-found", spec.ExchangeDeclare("absent", "direct", passive=True)),
        (404, "not-found", spec.ExchangeDelete("absent")),
        (530, "not-allowed", spec.ExchangeDeclare("amq.own", "direct")),
        (530, "not-allowed", spec.ExchangeDeclare("amq.direct", "topic")),
        (530, "not-allowed", spec.ExchangeDelete("amq.direct")),
        (542, "invalid-argument", spec.ExchangeDelete("")),
    ],
)
def test_what_ends_a_session(
    wire: Wire010, session: amqp.Session, code: int, condition: str, command: spec.Command[Any]
) -> None:
    other = wire.session()
    with pytest.raises(RemoteProtocolError) as caught:
        wire.call(session, command)
    assert (caught.value.code, caught.value.condition) == (code, condition)
    assert caught.value.scope is Scope.SESSION
    report = wire.session_closed(session).report
    assert (report.by, report.code, report.condition) == (By.REMOTE, code, condition)
    with pytest.raises(EndpointClosed):
        session.sync()
    with pytest.raises(EndpointClosed):
        session.detached_state()
    wire.sync(other)


def test_queues_in_use(peer: Facing, wire: Wire010, session: amqp.Session) -> None:
    queue = peer.queue(wire, session)
    assert wire.publish(session, "", keyed(queue)) == Accepted()
    wire.subscribe(session, queue)
    for command, code in (
        (spec.MessageSubscribe(queue, "d", exclusive=True), 405),
        (spec.QueueDelete(queue, if_unused=True), 406),
        (spec.QueueDelete(queue, if_empty=True), 406),
    ):
        failing = wire.session()
        with pytest.raises(RemoteProtocolError) as caught:
            wire.call(failing, command)
        assert caught.value.code == code


def test_codes_that_are_not_those_of_the_specification(peer: Facing, wire: Wire010, session: amqp.Session) -> None:
    queue = peer.queue(wire, session)
    # 542 is wanted: a headers exchange needs x-match.
    with pytest.raises(RemoteProtocolError) as caught:
        wire.call(session, spec.ExchangeBind(queue, "amq.match", "k", {"a": 1}))
    assert (caught.value.code, caught.value.condition) == (541, "internal-error")
    session = wire.session()
    # 542 is wanted: an x-match that isn't defined.
    wire.call(session, spec.ExchangeBind(queue, "amq.match", "k", {"x-match": "some"}))
    # 404 is wanted: there's no such binding.
    wire.call(session, spec.ExchangeUnbind(queue, "amq.direct", "absent"))
    # 542 is wanted: a queue's name can't be empty. It goes with its session, or others could bind it.
    wire.call(session, spec.QueueDeclare("", exclusive=True, auto_delete=True))
    wire.call(session, spec.QueueDelete(queue))


def test_commands_that_broker_j_does_not_have_end_the_connection(peer: Facing) -> None:
    wire, session = peer.attach()
    handle = session.call(spec.FileQos(1, 1))
    report = wire.end().report
    assert report.by is By.TRANSPORT
    with pytest.raises(EndpointClosed):
        _ = handle.result


def test_what_is_refused_here_never_leaves(wire: Wire010, session: amqp.Session) -> None:
    for command in (spec.MessageCancel("absent"), spec.TxCommit(), spec.DtxStart(spec.Xid(1, b"g", b"b"))):
        with pytest.raises(LocalProtocolError):
            session.call(command)
    wire.sync(session)


def test_names_of_sessions_that_are_in_use(peer: Facing) -> None:
    wire = peer.open()
    name = peer.name("session")
    session = wire.session(name)
    other = peer.open()
    for force in (False, True):
        # Broker-J doesn't look at force.
        with pytest.raises(RemoteProtocolError) as caught:
            other.session(name, force=force)
        assert caught.value.condition == "session-busy"
    with pytest.raises(LocalProtocolError):
        wire.connection.open_session(name)
    session.close()
    wire.session_closed(session)
    assert other.session(name).name == name.encode()
    for each in (wire, other):
        each.close()
