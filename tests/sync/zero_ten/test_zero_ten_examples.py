"""The examples in the documentation of 0-10's blocking adapter do what they say."""

from __future__ import annotations

import doctest
import threading
from collections.abc import Callable
from typing import Any

import amqp_sansio
from amqp_sansio import AMQP_0_10, Accepted, amqp_0_10
from amqp_sansio.amqp_0_10 import MESSAGE, NOT_ACQUIRED, MessageFlow, QueueQuery, Xid
from amqp_sansio_sync import (
    Branch,
    ReceivedMessage,
    SentMessage,
    Subscription,
    ZeroTenConnection,
    ZeroTenSession,
    ZeroTenTransaction,
    connect,
)
from amqp_sansio_sync import amqp_0_10 as zero_ten
from amqp_sansio_sync.amqp_0_10.attachment import Attachment
from tests.kit.sync_0_10 import WAIT, Server, wait_until
from tests.sync.test_examples import examples

XID = Xid(7, b"global", b"branch")


def example(of: object) -> Callable[..., Any]:
    """The function that the example in a docstring defines."""
    names = {**vars(amqp_sansio), **vars(amqp_0_10), **vars(zero_ten)}
    names.update({name: getattr(zero_ten, name) for name in zero_ten.__all__})
    found: Callable[..., Any] = examples(of, names)["example"]
    return found


def bound(server: Server) -> None:
    """Have what is published to amq.direct with the key "jobs" go to the queue."""
    with server.lock:
        server.bindings["amq.direct", "jobs"] = ["jobs"]


def test_the_snippet_with_a_lost_connection(server: Server) -> None:
    bound(server)
    connection = connect(server.url, version=AMQP_0_10)
    session = connection.open_session("orders", timeout=300)  # seconds
    assert session.call(QueueQuery(queue="jobs")).queue == "jobs"
    session.publish(b"hello", exchange="amq.direct", routing_key="jobs")
    server.session().drop()
    session.wait_closed(WAIT)
    state = session.detached_state()
    with connect(server.url, version=AMQP_0_10) as other_connection:
        session = other_connection.resume_session(state)
        assert session.publish(b"hello", "amq.direct", "jobs") == Accepted()
        session.close()
    assert server.bodies("jobs") == [b"hello", b"hello"]
    connection.close()


def test_connections(server: Server, connection: ZeroTenConnection) -> None:
    assert example(ZeroTenConnection.open_session)(connection) == b"orders"
    with connect(server.url, version=AMQP_0_10) as other:
        session = connection.open_session("mine", timeout=60)
        server.holding.add("jobs")
        sent = session.publish(b"x", routing_key="jobs", wait=False)
        wait_until(lambda: len(server.received) == 1)
        event = server.received[0]

        def answer() -> None:
            again = server.attached(b"mine").peer
            assert again is not None
            again.handle_all([event])

        server.holding.clear()
        timer = threading.Timer(0.2, answer)
        timer.start()
        results = example(ZeroTenConnection.resume_session)(session, other)
        assert Accepted() in results
        assert sent.result() == Accepted()
        timer.join()
        assert example(ZeroTenConnection.close)(other).text == "maintenance"
        assert "maintenance" in example(ZeroTenConnection.wait_closed)(other)


def test_sessions(server: Server, session: ZeroTenSession) -> None:
    bound(server)
    server.fill("done")
    assert example(ZeroTenSession.call)(session) == 0
    assert example(ZeroTenSession.publish)(session, [b"1", b"2"]) == 3
    assert example(SentMessage.result)(session) == Accepted()
    wanted = [b"hello", b"1", b"2", b"hello"]
    assert example(ZeroTenSession.subscribe)(session) == wanted
    session.sync()
    server.fill("jobs", *[b"%d" % n for n in range(7)])
    with session.subscribe("jobs", credit=7) as subscription:
        example(ZeroTenSession.accept)(session, subscription)
        example(ZeroTenSession.reject)(session, subscription)
        example(ZeroTenSession.sync)(session, subscription)
        assert len(server.dead) == 2
        assert server.accepted[4:] == [b"0", b"1", b"4"]
        example(ZeroTenSession.transaction)(session, subscription)
        assert server.bodies("done") == [b"5"]
        next(subscription)
        example(ZeroTenSession.release)(session)
    session.sync()
    assert server.bodies("jobs") == [b"6"]
    assert example(ZeroTenSession.request_timeout)(session) == 300
    assert example(ZeroTenSession.close)(session)
    assert example(ZeroTenSession.wait_closed)(session) == session.report


def test_sessions_that_go_on(server: Server, connection: ZeroTenConnection) -> None:
    with connect(server.url, version=AMQP_0_10) as other:
        session = connection.open_session("one", timeout=60)
        again = example(ZeroTenSession.detach)(session, other)
        assert again.publish(b"x", routing_key="jobs") == Accepted()
        subscription = again.subscribe("jobs", destination="jobs", credit=1)
        wait_until(lambda: not server.bodies("jobs"))
        state = again.detach()
        assert example(ZeroTenSession.subscription)(connection, state) == b"x"
        assert subscription
        lost = connect(server.url, version=AMQP_0_10)
        session = lost.open_session("two", timeout=60)
        server.session().drop()
        again = example(ZeroTenSession.detached_state)(session, other)
        assert again.is_open
        lost.close()


def test_events(server: Server, session: ZeroTenSession) -> None:
    found: list[object] = []
    thread = threading.Thread(target=lambda: found.append(example(Attachment.events)(session)), daemon=True)
    thread.start()
    core = server.attached(session.name).core
    served = server.session()
    end = threading.Event()
    while thread.is_alive() and not end.wait(0.01):
        served.do(lambda: core.call(MessageFlow("", MESSAGE, 1)))
    assert found
    assert found[0]


def test_subscriptions(server: Server, session: ZeroTenSession) -> None:
    server.fill("jobs", *[b"%d" % n for n in range(9)])
    assert example(Subscription.grant)(session) == [b"0", b"1"]
    assert example(Subscription.fetch)(session).body == b"2"
    assert example(ReceivedMessage.acquire)(session)
    example(Subscription.close)(session)
    session.release(*session.unsettled)
    session.sync()
    assert len(server.bodies("jobs")) == 9
    with session.subscribe("jobs", credit=3) as subscription:
        example(ReceivedMessage.accept)(subscription)
        example(ReceivedMessage.reject)(subscription)
        example(ReceivedMessage.release)(subscription)
        assert example(Subscription.flush)(subscription) == (0, 0)
        example(Subscription.stop)(subscription)
    session.sync()
    assert server.accepted == [b"0"]
    assert len(server.dead) == 1
    with session.subscribe("jobs", acquire_mode=NOT_ACQUIRED) as subscription:
        assert example(ZeroTenSession.acquire)(session, subscription) == 2


def test_transactions(server: Server, session: ZeroTenSession) -> None:
    example(ZeroTenTransaction.commit)(session)
    example(ZeroTenTransaction.rollback)(session)
    assert server.bodies("jobs") == [b"hello"]


def test_branches(server: Server, session: ZeroTenSession) -> None:
    for of in (Branch.prepare, Branch.commit, ZeroTenSession.branch):
        example(of)(session, XID)
    assert server.bodies("jobs") == [b"hello"] * 3
    example(Branch.rollback)(session, XID)
    example(Branch.end)(session, Xid(7, b"other", b""))
    assert server.bodies("jobs") == [b"hello"] * 3
    assert example(Branch.get_timeout)(session, Xid(7, b"third", b"")) == 0
    example(Branch.set_timeout)(session, Xid(7, b"fourth", b""))
    with session.branch(XID) as branch:
        session.publish(b"x", routing_key="jobs")
    branch.prepare()
    assert example(ZeroTenSession.recover)(session) == [XID]
    with server.lock:
        server.branches.decide(XID, "commit")
    example(Branch.forget)(session, XID)
    assert session.recover() == []


def test_each_public_operation_has_an_example() -> None:
    finder = doctest.DocTestFinder()
    missing: list[str] = []
    kinds = (ZeroTenConnection, Attachment, ZeroTenSession, SentMessage, ReceivedMessage)
    for kind in (*kinds, Subscription, ZeroTenTransaction, Branch):
        for name, method in vars(kind).items():
            if name.startswith("_") or not callable(method):
                continue
            found = finder.find(method, name)
            if not any(each.examples for each in found):
                missing.append(f"{kind.__name__}.{name}")
    inner = [
        "Attachment.closed",
        "Attachment.deliver",
        "Attachment.end",
        "Attachment.expect_cancel",
        "Attachment.expect_stop",
    ]
    inner += ["Attachment.finish", "Attachment.gone", "Attachment.post", "Attachment.resumed"]
    inner += ["Attachment.no_more", "Attachment.take", "Attachment.complete", "Attachment.fail"]
    inner += ["ZeroTenConnection.answer", "ZeroTenSession.answer_to", "ZeroTenSession.begin_work"]
    inner += ["ZeroTenSession.end_work", "Branch.start", "ZeroTenTransaction.begin"]
    assert sorted(missing) == sorted(inner)
