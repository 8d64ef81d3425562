"""The client of AMQP 0-10 and Qpid Broker-J: subscriptions, credit, acquiring and accepting, sessions that are lost."""

import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from shutil import which

import pytest

from amqp_sansio import Accepted, By, EndpointClosed, LocalProtocolError, RemoteProtocolError, Settled
from amqp_sansio import amqp_0_10 as amqp
from amqp_sansio.amqp_0_10 import spec
from amqp_sansio_asyncio import Recorder
from tests.interop.brokers.brokerj import BrokerJ, run_brokerj
from tests.interop.brokers.facing_0_10 import Facing, facing, keyed
from tests.kit.wire_0_10 import Wire010, saved


@pytest.fixture
def peer(brokerj: BrokerJ) -> Iterator[Facing]:
    with facing(brokerj) as found:
        yield found


def filled(peer: Facing, wire: Wire010, session: amqp.Session, count: int, size: int = 1) -> str:
    """A queue with so many messages, whose bodies begin with their numbers."""
    queue = peer.queue(wire, session)
    for number in range(count):
        session.transfer("", keyed(queue, str(number).encode().ljust(size)))
    wire.sync(session)
    assert wire.call(session, spec.QueueQuery(queue)).message_count == count
    return queue


def bodies(messages: list[amqp.MessageReceived]) -> list[str]:
    return [message.body.decode().strip() for message in messages]


def count_of(wire: Wire010, session: amqp.Session, queue: str) -> int | None:
    return wire.call(session, spec.QueueQuery(queue)).message_count


# Credit.


def test_a_window_opens_again_by_completions(peer: Facing, wire: Wire010, session: amqp.Session) -> None:
    queue = filled(peer, wire, session, 10)
    destination = wire.subscribe(session, queue, credit=3)
    wire.idle(0.3)
    first = wire.arrived(session, destination)
    assert bodies(first) == ["0", "1", "2"]
    assert session.granted(destination) == (0, None)
    # An accept alone is no completion; session.accept does both.
    session.complete(first[0].command_id)
    session.flush()
    wire.until(lambda: len(wire.arrived(session, destination)) == 4)
    session.accept(first[1].command_id, first[2].command_id)
    wire.sync(session)
    wire.until(lambda: len(wire.arrived(session, destination)) == 6)
    wire.idle(0.2)
    assert bodies(wire.arrived(session, destination)) == list("012345")
    assert session.unsettled == tuple(
        event.command_id for event in wire.arrived(session, destination)[:1] + wire.arrived(session, destination)[3:]
    )


def test_credit_mode_grants_once(peer: Facing, wire: Wire010, session: amqp.Session) -> None:
    queue = filled(peer, wire, session, 10)
    destination = wire.subscribe(session, queue, flow_mode=spec.CREDIT, credit=3)
    for number in range(3):
        message = wire.message(session, destination)
        assert bodies([message]) == [str(number)]
        wire.result(session.accept(message.command_id, sync=True))
    wire.idle(0.3)
    assert wire.arrived(session, destination) == []
    session.top_up(destination, 2)
    assert bodies([wire.message(session, destination) for _ in range(2)]) == ["3", "4"]
    wire.idle(0.2)
    assert wire.arrived(session, destination) == []


@pytest.mark.parametrize("flow_mode", [spec.CREDIT, spec.WINDOW])
def test_credit_in_octets(peer: Facing, wire: Wire010, session: amqp.Session, flow_mode: int) -> None:
    queue = filled(peer, wire, session, 40, size=10)
    destination = wire.subscribe(session, queue, flow_mode=flow_mode, credit=100, octets=200)
    wire.idle(0.3)
    # Broker-J counts bodies alone, so more comes than the specification lets it send.
    assert len(wire.arrived(session, destination)) == 20
    assert session.report is None
    assert session.granted(destination) == (80, 0)
    session.accept(*[event.command_id for event in wire.arrived(session, destination)])
    wire.sync(session)
    wire.idle(0.3)
    assert len(wire.arrived(session, destination)) == (40 if flow_mode == spec.WINDOW else 20)
    assert session.report is None


def test_without_one_of_the_units_nothing_comes(peer: Facing, wire: Wire010, session: amqp.Session) -> None:
    queue = filled(peer, wire, session, 1)
    grants = {spec.MESSAGE: 1, spec.BYTE: 1000}
    for unit, other in ((spec.MESSAGE, spec.BYTE), (spec.BYTE, spec.MESSAGE)):
        destination = wire.subscribe(session, queue, flow_mode=spec.CREDIT)
        wire.call(session, spec.MessageFlow(destination, unit, grants[unit]))
        wire.idle(0.2)
        assert wire.arrived(session, destination) == []
        wire.call(session, spec.MessageFlow(destination, other, grants[other]))
        message = wire.message(session, destination)
        wire.result(session.release(message.command_id, sync=True))
        wire.call(session, spec.MessageCancel(destination))


def test_an_absent_value_is_no_credit(peer: Facing, wire: Wire010, session: amqp.Session) -> None:
    """The specification makes it infinite."""
    queue = filled(peer, wire, session, 1)
    destination = wire.subscribe(session, queue)
    for unit in (spec.MESSAGE, spec.BYTE):
        wire.call(session, spec.MessageFlow(destination, unit))
    wire.idle(0.3)
    assert wire.arrived(session, destination) == []


def test_stop_takes_all_credit(peer: Facing, wire: Wire010, session: amqp.Session) -> None:
    queue = filled(peer, wire, session, 2)
    destination = wire.subscribe(session, queue, credit=1)
    first = wire.message(session, destination)
    wire.call(session, spec.MessageStop(destination))
    assert session.granted(destination) == (0, 0)
    wire.result(session.accept(first.command_id, sync=True))
    wire.idle(0.3)
    assert wire.arrived(session, destination) == []
    wire.call(session, spec.MessageSetFlowMode(destination, spec.CREDIT))
    session.top_up(destination, 1)
    assert bodies([wire.message(session, destination)]) == ["1"]


def test_fetching(peer: Facing, wire: Wire010, session: amqp.Session) -> None:
    queue = filled(peer, wire, session, 5)
    destination = wire.subscribe(session, queue, flow_mode=spec.CREDIT)
    assert bodies(wire.fetch(session, destination, 2)) == ["0", "1"]
    assert session.granted(destination) == (0, 0)
    assert bodies(wire.fetch(session, destination, 100)) == ["2", "3", "4"]
    assert wire.fetch(session, destination, 100) == []
    wire.result(session.accept(*session.unsettled, sync=True))
    assert count_of(wire, session, queue) == 0


def test_a_flush_of_nothing(peer: Facing, wire: Wire010, session: amqp.Session) -> None:
    destination = wire.subscribe(session, peer.queue(wire, session), credit=10)
    wire.call(session, spec.MessageFlush(destination))
    assert session.granted(destination) == (0, 0)


def test_a_mode_is_not_changed_while_there_is_credit(peer: Facing, wire: Wire010, session: amqp.Session) -> None:
    destination = wire.subscribe(session, peer.queue(wire, session), credit=10)
    with pytest.raises(LocalProtocolError, match="still has credit"):
        session.call(spec.MessageSetFlowMode(destination, spec.CREDIT))
    wire.call(session, spec.MessageStop(destination))
    wire.call(session, spec.MessageSetFlowMode(destination, spec.CREDIT))


# Acquiring, accepting, rejecting, releasing.


def test_browsing(peer: Facing, wire: Wire010, session: amqp.Session) -> None:
    queue = filled(peer, wire, session, 3)
    browser = wire.subscribe(session, queue, accept_mode=spec.NONE, acquire_mode=spec.NOT_ACQUIRED, credit=100)
    seen = [wire.message(session, browser) for _ in range(3)]
    assert bodies(seen) == ["0", "1", "2"]
    assert not any(message.acquired or message.accepts for message in seen)
    for message in seen:
        session.complete(message.command_id)
    wire.call(session, spec.MessageCancel(browser))
    assert wire.drain(session, queue) == [b"0", b"1", b"2"]


def test_acquiring_what_was_only_shown(peer: Facing, wire: Wire010, session: amqp.Session) -> None:
    queue = filled(peer, wire, session, 3)
    browser = wire.subscribe(session, queue, acquire_mode=spec.NOT_ACQUIRED, credit=100)
    taker = wire.subscribe(session, queue, flow_mode=spec.CREDIT, credit=1)
    shown = [wire.message(session, browser) for _ in range(3)]
    taken = wire.message(session, taker)
    assert taken.body == b"0"
    acquired = wire.result(session.acquire(*[message.command_id for message in shown]))
    # The first one is somebody else's.
    assert list(acquired.transfers or ()) == [message.command_id for message in shown[1:]]
    wire.result(session.accept(shown[1].command_id, sync=True))
    wire.result(session.release(shown[2].command_id, sync=True))
    wire.result(session.accept(taken.command_id, sync=True))
    assert count_of(wire, session, queue) == 1


def test_accept_mode_none(peer: Facing, wire: Wire010, session: amqp.Session) -> None:
    queue = filled(peer, wire, session, 2)
    destination = wire.subscribe(session, queue, accept_mode=spec.NONE, credit=1)
    first = wire.message(session, destination)
    assert not first.accepts
    with pytest.raises(LocalProtocolError):
        session.accept(first.command_id)
    session.complete(first.command_id)
    session.flush()
    assert bodies([wire.message(session, destination)]) == ["1"]
    assert count_of(wire, session, queue) == 0


@pytest.mark.parametrize("set_redelivered", [False, True])
def test_released_messages_come_again(
    peer: Facing, wire: Wire010, session: amqp.Session, set_redelivered: bool
) -> None:
    queue = filled(peer, wire, session, 2)
    destination = wire.subscribe(session, queue, flow_mode=spec.CREDIT, credit=2)
    first = wire.message(session, destination)
    second = wire.message(session, destination)
    wire.result(session.release(first.command_id, set_redelivered=set_redelivered, sync=True))
    session.top_up(destination, 1)
    again = wire.message(session, destination)
    assert again.body == first.body
    properties = again.headers.delivery_properties
    assert properties is not None
    assert properties.redelivered is set_redelivered
    wire.result(session.accept(again.command_id, second.command_id, sync=True))
    assert count_of(wire, session, queue) == 0


def test_rejected_messages_are_gone(peer: Facing, wire: Wire010, session: amqp.Session) -> None:
    queue = filled(peer, wire, session, 1)
    destination = wire.subscribe(session, queue, credit=1)
    message = wire.message(session, destination)
    wire.result(session.reject(message.command_id, code=0, text="bad", sync=True))
    assert session.unsettled == ()
    assert count_of(wire, session, queue) == 0


def test_after_a_cancel_messages_are_still_accepted(peer: Facing, wire: Wire010, session: amqp.Session) -> None:
    queue = filled(peer, wire, session, 3)
    destination = wire.subscribe(session, queue, credit=2)
    first, second = [wire.message(session, destination) for _ in range(2)]
    wire.call(session, spec.MessageCancel(destination))
    wire.result(session.accept(first.command_id, sync=True))
    wire.result(session.release(second.command_id, sync=True))
    with pytest.raises(LocalProtocolError):
        session.top_up(destination, 1)
    assert wire.drain(session, queue) == [b"1", b"2"]


def test_what_is_not_accepted_comes_again_when_the_session_is_gone(peer: Facing) -> None:
    wire, session = peer.attach()
    other = wire.session()
    queue = filled(peer, wire, session, 2)
    destination = wire.subscribe(session, queue, credit=2)
    for _ in range(2):
        wire.message(session, destination)
    session.close()
    wire.session_closed(session)
    destination = wire.subscribe(other, queue, credit=2)
    again = [wire.message(other, destination) for _ in range(2)]
    assert bodies(again) == ["0", "1"]
    assert all(each.message.delivery_properties.redelivered for each in again)
    wire.close()


def test_a_queue_that_is_deleted_under_a_subscription(peer: Facing, wire: Wire010, session: amqp.Session) -> None:
    other = wire.session()
    queue = filled(peer, wire, session, 0)
    destination = wire.subscribe(session, queue, credit=2)
    wire.call(other, spec.QueueDelete(queue))
    wire.idle(0.3)
    # Broker-J says nothing; the subscription goes on without a queue.
    assert session.report is None
    wire.call(session, spec.MessageCancel(destination))


def test_many_messages_each_way(peer: Facing) -> None:
    count = 3000
    wire, session = peer.attach()
    queue = peer.queue(wire, session)
    consumer = peer.open()
    taking = consumer.session()
    destination = consumer.subscribe(taking, queue, credit=100)
    found: list[bytes] = []
    sent = [session.transfer("", keyed(queue, str(number).encode())) for number in range(count)]
    wire.sync(session)
    assert all(each.outcome and each.outcome.result == Accepted() for each in sent)
    while len(found) < count:
        consumer.until(lambda: bool(consumer.arrived(taking, destination)))
        messages = consumer.arrived(taking, destination)
        consumer.events.clear()
        found += [message.body for message in messages]
        taking.accept(*[message.command_id for message in messages])
    consumer.sync(taking)
    assert found == [str(number).encode() for number in range(count)]
    assert taking.unsettled == taking.incomplete == ()
    assert count_of(wire, session, queue) == 0
    assert len(session.pending) == 0
    wire.close()
    consumer.close()


# Recorded, and closed by the broker.


def test_a_recording_is_what_others_call_0_10(peer: Facing, tmp_path: Path) -> None:
    path = tmp_path / "conversation.pcapng"
    with Recorder(path) as recorder:
        wire = peer.open(recorder=recorder, max_frame_size=4096)
        session = wire.session()
        queue = peer.bound(wire, session, "amq.direct", "key")
        message = keyed("key", bytes(10_000), content_type="x", application_headers={"a": 1, "b": [True]})
        assert wire.publish(session, "amq.direct", message) == Accepted()
        assert wire.publish(session, "amq.direct", keyed("absent")) == amqp.Rejected(1, "Unroutable")
        assert wire.drain(session, queue) == [bytes(10_000)]
        session.close()
        wire.session_closed(session)
        wire.close()
    assert b"guest\x00guest" not in path.read_bytes()
    tshark = which("tshark")
    if tshark is None:
        pytest.skip("tshark isn't installed")
    fields = ("_ws.malformed", "_ws.expert.message", "_ws.col.Info")
    columns = [word for name in fields for word in ("-e", name)]
    run = subprocess.run(
        [tshark, "-r", str(path), "-Y", "amqp", "-T", "fields", "-E", "occurrence=a", *columns],
        capture_output=True,
        text=True,
        check=True,
    )
    rows = [line.split("\t") for line in run.stdout.splitlines()]
    assert len(rows) > 20
    faults = [info for malformed, expert, info in rows if malformed or expert]
    # Broker-J writes an array without elements as no octets at all.
    assert [fault.split()[0] for fault in faults] in ([], ["connection.open-ok"])
    told = " ".join(info for *_, info in rows)
    assert "Protocol-Header 0-10" in told
    for name in ("connection.tune-ok", "session.attach", "message.transfer", "message.accept", "exchange.bind"):
        assert name in told, told


def test_a_broker_that_shuts_down(tmp_path: Path) -> None:
    with ExitStack() as stack:
        peer = Facing(stack.enter_context(run_brokerj(tmp_path)))
        wire, session = peer.attach()
        waiting = session.transfer("", keyed("queue"))
        assert wire.publish(session, "", keyed("queue")) == amqp.Rejected(1, "Unroutable")
        stack.close()
        report = wire.end().report
    assert (report.by, report.code) == (By.REMOTE, 320)
    assert waiting.outcome is not None
    assert waiting.outcome.result == amqp.Rejected(1, "Unroutable")
    assert session.report == report
    with pytest.raises(EndpointClosed):
        session.sync()


# Sessions that are lost.


def test_broker_j_keeps_no_sessions(peer: Facing) -> None:
    wire = peer.open()
    session = wire.session(timeout=60)
    wire.sync(session)
    assert session.timeout == 0
    assert wire.result(session.request_timeout(None)) == 0
    wire.cut()
    closed = wire.session_closed_already(session)
    assert not closed.resumable
    assert closed.report.by is By.TRANSPORT


def test_a_session_that_broker_j_does_not_know(peer: Facing) -> None:
    """As when it has forgotten one: what is in doubt is told, and nothing is sent again without the application."""
    wire = peer.open()
    session = wire.connection.open_session(timeout=60)
    wire.until(lambda: session.is_attached)
    queue = peer.name("queue")
    declared = session.transfer("", keyed(queue))
    # Before the broker can say that it keeps nothing.
    session._state.timeout = 60  # pyright: ignore[reportPrivateUsage]
    wire.cut()
    state = saved(session)
    assert len(state.sending.replay) == 1
    again = peer.open()
    with pytest.raises(RemoteProtocolError, match="the peer has forgotten session"):
        again.resume(state)
    (failed,) = again.failures()
    assert failed.by is By.REMOTE
    assert state.pending == ()
    assert not any(isinstance(event, Settled) for event in again.events)
    assert declared.command_id == 0
    again.sync(again.session())
    again.close()


def test_message_resume_is_never_answered(peer: Facing) -> None:
    wire, session = peer.attach()
    queue = peer.queue(wire, session)
    wire.call(session, spec.MessageSubscribe(queue, "d"))
    resumed = session.call(spec.MessageResume("d", "resume"))
    later = session.call(spec.QueueQuery(queue))
    wire.until(lambda: later.done)
    assert not resumed.done
    wire.close()
    assert resumed.error is not None
