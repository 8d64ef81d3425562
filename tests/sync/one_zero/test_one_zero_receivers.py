"""1.0: receivers: credit, deliveries and what becomes of each."""

from __future__ import annotations

from time import monotonic

import pytest

from amqp_sansio import LocalProtocolError
from amqp_sansio.amqp_1_0 import Accepted, Received, Source, Symbol, Target
from amqp_sansio_sync import LinkEnded, Session
from tests.kit.server_1_0 import WAIT, Server, wait_until
from tests.kit.sync_1_0 import look


def test_each_settlement_reaches_the_sender(server: Server, session: Session) -> None:
    server.fill("jobs", b"0", b"1", b"2", b"3", b"4", b"5")
    with session.open_receiver("jobs", credit=6, timeout=WAIT) as receiver:
        taken = [next(receiver) for _ in range(6)]
        assert [each.body for each in taken] == [b"%d" % n for n in range(6)]
        assert set(receiver.pending) == {each.delivery_tag for each in taken}
        receiver.accept(*taken[:2])
        taken[2].reject("amqp:invalid-field", "bad")
        taken[3].modify(undeliverable_here=True)
        wait_until(lambda: len(server.dead) == 2)
        assert not server.bodies("jobs")
        taken[4].release()
        assert next(receiver).body == b"4"
        taken[5].modify(delivery_failed=True)
        again = next(receiver)
        assert again.body == b"5"
        with pytest.raises(LocalProtocolError, match="isn't unsettled"):
            taken[0].accept()
        again.update(Received(0, 0))
        assert "2 octets" not in repr(again)
        assert not again.settled
        assert again.receiver is receiver
        assert (again.message_format, again.resumed, again.state) == (0, False, None)
        assert again.payload == again.message.encode()


def test_where_the_link_says_so_settling_waits_for_the_sender(server: Server, session: Session) -> None:
    server.fill("jobs", b"0", b"1")
    with session.open_receiver("jobs", rcv_settle_mode=1, timeout=WAIT) as receiver:
        delivery = next(receiver)
        delivery.accept(timeout=WAIT)
        assert delivery.delivery_tag not in receiver.pending
        other = next(receiver)
        served = server.session()
        served.writing = False
        with pytest.raises(TimeoutError, match="the sender's settlement"):
            other.accept(timeout=0.05)
        served.writing = True
        served.do(lambda: None)
        wait_until(lambda: look(session) and not receiver.pending)


def test_no_more_than_the_credit_is_under_way(server: Server, session: Session) -> None:
    server.fill("jobs", *[b"%d" % n for n in range(40)])
    most = 0
    with session.open_receiver("jobs", credit=10, timeout=WAIT) as receiver:
        for n, delivery in enumerate(receiver):
            most = max(most, len(server.session().unsettled))
            assert delivery.body == b"%d" % n
            delivery.accept()
            if n == 39:
                break
            assert 40 - n - 1 - len(server.bodies("jobs")) <= 10
        receiver.timeout = 0.05
        with pytest.raises(TimeoutError, match=r"a delivery from 'jobs': not within 0\.05"):
            next(receiver)
    assert most <= 11


def test_leaving_gives_back_what_was_not_taken(server: Server, session: Session) -> None:
    server.fill("jobs", *[b"%d" % n for n in range(10)])
    with session.open_receiver("jobs", credit=5, timeout=WAIT) as receiver:
        next(receiver).accept()
    assert list(receiver) == []
    wait_until(lambda: len(server.bodies("jobs")) == 9)
    assert sorted(server.bodies("jobs")) == [b"%d" % n for n in range(1, 10)]
    assert receiver.close() == receiver.report


def test_dropping_a_receiver_closes_it_and_gives_back(server: Server, session: Session) -> None:
    server.fill("jobs", *[b"%d" % n for n in range(10)])
    next(session.open_receiver("jobs", credit=5, timeout=WAIT)).accept()
    wait_until(lambda: not server.session().links)
    wait_until(lambda: len(server.bodies("jobs")) == 9)


def test_fetch_without_credit_takes_one_at_a_time(server: Server, session: Session) -> None:
    with session.open_receiver("jobs", credit=0) as receiver:
        begun = monotonic()
        assert receiver.fetch(timeout=0.1) is None
        assert monotonic() - begun >= 0.1
        assert receiver.credit == 0
        server.fill("jobs", b"0", b"1", b"2")
        first = receiver.fetch(WAIT)
        assert first is not None
        assert first.body == b"0"
        assert len(server.bodies("jobs")) == 2
        second = receiver.fetch(timeout=0)
        assert second is not None
        assert second.body == b"1"
        assert server.bodies("jobs") == [b"2"]
        receiver.flow(5)
        third = receiver.fetch()
        assert third is not None
        assert third.body == b"2"
        assert receiver.fetch(timeout=0) is None
        assert receiver.credit == 0


def test_credit_given_by_hand_is_all_there_is(server: Server, session: Session) -> None:
    server.fill("jobs", b"0", b"1", b"2")
    with session.open_receiver("jobs", credit=0, timeout=0.05) as receiver:
        with pytest.raises(TimeoutError):
            next(receiver)
        receiver.flow(2)
        receiver.timeout = WAIT
        assert [next(receiver).body for _ in range(2)] == [b"0", b"1"]
        receiver.timeout = 0.05
        with pytest.raises(TimeoutError):
            next(receiver)
        assert server.bodies("jobs") == [b"2"]
    with pytest.raises(LinkEnded, match="closed by this side"):
        receiver.fetch()


def test_fetch_with_credit_waits_so_long(server: Server, session: Session) -> None:
    with session.open_receiver("jobs", credit=3) as receiver:
        assert receiver.fetch(timeout=0.05) is None
        assert receiver.credit == 3
        server.fill("jobs", b"0")
        found = receiver.fetch(timeout=WAIT)
        assert found is not None
        assert found.body == b"0"


def test_a_drain_ends_the_credit_until_somebody_waits(server: Server, session: Session) -> None:
    server.fill("jobs", b"0", b"1")
    with session.open_receiver("jobs", credit=5, timeout=WAIT) as receiver:
        assert next(receiver).body == b"0"
        receiver.drain(WAIT)
        assert receiver.credit == 0
        server.fill("jobs", b"2")
        assert next(receiver).body == b"1"
        assert server.bodies("jobs") == [b"2"]
        assert next(receiver).body == b"2"


def test_dynamic_nodes(server: Server, session: Session) -> None:
    with session.open_receiver(dynamic=True, timeout=WAIT) as receiver:
        assert receiver.address == "temporary.1"
        with session.open_sender(receiver.address) as sender:
            assert sender.send(b"x") == Accepted()
        assert next(receiver).body == b"x"
    with session.open_sender(dynamic=True) as sender:
        assert sender.address == "temporary.2"
        assert sender.send(b"y") == Accepted()
    assert server.bodies("temporary.2") == [b"y"]
    with pytest.raises(ValueError, match="has no address before"):
        session.open_receiver("jobs", dynamic=True)
    with pytest.raises(ValueError, match="has no address before"):
        session.open_sender("jobs", dynamic=True)


def test_a_terminus_says_more_than_an_address(server: Server, session: Session) -> None:
    source = Source(address="jobs", capabilities=(Symbol("queue"),))
    with session.open_receiver(source, name="mine", target=Target(address="here")) as receiver:
        assert receiver.name == "mine"
        assert receiver.source == source
        assert receiver.target == Target(address="here")
        assert receiver.remote is not None
        assert "Receiver 'mine', address 'jobs', open" in repr(receiver)
        link = next(iter(server.session().links.values()))
        assert link.source == source
