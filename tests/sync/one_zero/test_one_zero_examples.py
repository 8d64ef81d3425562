"""The examples in the documentation of 1.0's blocking adapter do what they say."""

from __future__ import annotations

import doctest
import threading
from collections.abc import Callable, Generator
from typing import Any

import pytest

import amqp_sansio
from amqp_sansio import AMQP_1_0, EndpointClosed, amqp_1_0
from amqp_sansio.amqp_1_0 import Accepted, LinkRequested, Message
from amqp_sansio_sync import (
    OneZeroConnection,
    ReceivedDelivery,
    Receiver,
    Requester,
    Sender,
    SentDelivery,
    Session,
    Transaction,
    connect,
)
from amqp_sansio_sync import amqp_1_0 as one_zero
from amqp_sansio_sync.amqp_1_0.link import Link
from tests.kit.server_1_0 import Server, running, wait_until
from tests.sync.test_examples import examples

SNIPPET = """
with connect("amqp://guest:guest@localhost/", version=AMQP_1_0) as connection:
    session = connection.open_session()
    with session.open_sender("jobs") as sender:
        outcome = sender.send(Message(body=b"hello"))
    with session.open_receiver("jobs", credit=10) as receiver:
        for delivery in receiver:
            delivery.accept()
"""


@pytest.fixture
def server() -> Generator[Server]:
    """A server with three messages at "jobs"."""
    with running() as server:
        server.fill("jobs", b"0", b"1", b"2")
        yield server


def example(of: object) -> Callable[..., Any]:
    """The function that the example in a docstring defines."""
    names = {**vars(amqp_sansio), **vars(amqp_1_0), **vars(one_zero)}
    names.update({name: getattr(one_zero, name) for name in one_zero.__all__})
    found: Callable[..., Any] = examples(of, names)["example"]
    return found


def test_the_snippet_runs_as_it_stands(server: Server) -> None:
    text = SNIPPET.replace("guest@localhost", f"guest@127.0.0.1:{server.port}")
    names: dict[str, Any] = {"connect": connect, "AMQP_1_0": AMQP_1_0, "Message": Message}
    errors: list[EndpointClosed] = []

    def run() -> None:
        try:
            exec(text, names)
        except EndpointClosed as error:
            errors.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    wait_until(lambda: bool(server.received) and not server.bodies("jobs"))
    wait_until(lambda: not server.session().unsettled)
    served = server.session()
    served.do(lambda: served.core.close("amqp:connection:forced", "enough"))
    thread.join(20)
    assert names["outcome"] == Accepted()
    assert names["delivery"].body == b"hello"
    assert "enough" in str(errors[0])


def test_connect(server: Server) -> None:
    names = examples(connect, {"connect": connect, "AMQP_1_0": AMQP_1_0})
    assert names["example_1_0"](server.url) == Accepted()


def test_connections(server: Server, connection: OneZeroConnection) -> None:
    assert example(OneZeroConnection.open_session)(connection) == 0
    served = server.session()
    opened: list[Any] = []
    thread = threading.Thread(target=lambda: opened.append(example(OneZeroConnection.accept_session)(connection)))
    thread.start()
    wait_until(lambda: bool(connection.streams))
    served.do(lambda: opened.append(served.core.open_session()))
    thread.join(20)
    assert isinstance(opened[1], Session)
    assert opened[1].is_open
    assert example(OneZeroConnection.close)(connection).text == "maintenance"
    assert "maintenance" in example(OneZeroConnection.wait_closed)(connection)


def test_sessions(server: Server, session: Session) -> None:
    assert example(Session.open_sender)(session, [b"3", b"4"]) == 2
    assert example(Session.open_receiver)(session) == [b"0", b"1", b"2", b"3", b"4"]
    server.services["service"] = lambda request: Message(f"{request.body}!")
    assert example(Session.open_requester)(session).body == "ping!"
    server.fill("jobs", b"5")
    with session.open_receiver("jobs") as receiver, session.open_sender("out") as sender:
        example(Session.transaction)(session, receiver, sender)
    assert server.bodies("out") == [b"5"]
    assert example(Session.events)(session) == 100
    assert example(Session.close)(session)


def test_links_that_the_peer_asks_for(server: Server, session: Session) -> None:
    served = server.session()
    accepted: list[Any] = []
    thread = threading.Thread(target=lambda: accepted.append(example(Session.accept_link)(session)))
    thread.start()
    wait_until(lambda: bool(session.streams))
    opened: list[Any] = []
    inside = served.core.session(served.core.sessions[0])
    served.do(lambda: opened.append(inside.open_sender("here")))
    wait_until(lambda: opened[0].credit == 10)
    thread.join(20)
    assert isinstance(accepted[0], Receiver)
    assert accepted[0].address == "test-server"


def test_links_of_the_peer_carry_messages(server: Server, connection: OneZeroConnection) -> None:
    served = server.session()
    opened: list[Any] = []
    with connection.events(amqp_1_0.SessionRequested) as requests:

        def begin() -> None:
            asked = served.core.open_session()
            opened.append(asked)
            opened.append(asked.open_sender("here"))
            opened.append(asked.open_receiver("there"))

        served.do(begin)
        request = next(requests)
    session = connection.accept_session(request)
    links: list[Sender | Receiver] = []
    with session.events(LinkRequested, timeout=20) as asked:
        links += [session.accept_link(next(asked)) for _ in range(2)]
    (receiver,) = [link for link in links if isinstance(link, Receiver)]
    (sender,) = [link for link in links if isinstance(link, Sender)]
    wait_until(lambda: opened[1].credit == 10)
    served.do(lambda: opened[1].send(Message(b"pushed")))
    delivery = next(receiver)
    assert delivery.body == b"pushed"
    delivery.accept()
    served.do(lambda: served.links.update({(opened[0].channel, opened[2].handle): opened[2]}))
    served.do(lambda: opened[2].flow(1))
    assert sender.send(b"taken", timeout=20) == Accepted()


def test_senders(server: Server, connection: OneZeroConnection, session: Session) -> None:
    with session.open_sender("new") as sender:
        assert example(Sender.send)(sender)
        assert example(SentDelivery.result)(sender) == Accepted()
        assert example(Sender.wait_credit)(sender) == 98
        again = example(Sender.detach)(sender)
    assert again.send(b"again") == Accepted()
    server.holding.add("new")
    again.send(b"pending", wait=False)
    wait_until(lambda: len(server.received) == 4)
    again.detach()
    server.holding.clear()
    assert example(Sender.saved_state)(again, connection.open_session()) == [Accepted()]
    assert server.bodies("new") == [b"hello", b"hello", b"again", b"pending"]
    assert example(Sender.wait_closed)(sender) == sender.report


def test_receivers(server: Server, session: Session) -> None:
    assert example(Receiver.flow)(session) == [b"0", b"1"]
    wait_until(lambda: len(server.bodies("jobs")) == 3)
    assert example(Receiver.fetch)(session).body == b"0"
    wait_until(lambda: len(server.bodies("jobs")) == 3)
    with session.open_receiver("jobs", credit=2) as receiver:
        example(Receiver.settle)(receiver)
        example(ReceivedDelivery.release)(receiver)
        example(ReceivedDelivery.update)(receiver)
        assert example(Receiver.drain)(receiver) == 0
    wait_until(lambda: len(server.bodies("jobs")) == 3)
    with session.open_receiver("jobs", credit=2) as receiver:
        example(Receiver.accept)(receiver)
        server.fill("jobs", b"3", b"4")
        example(ReceivedDelivery.reject)(receiver)
        example(ReceivedDelivery.modify)(receiver)
        example(ReceivedDelivery.accept)(receiver)
        wait_until(lambda: len(server.dead) == 2 and not server.session().unsettled)
        assert example(Receiver.close)(receiver).condition == "amqp:link:detach-forced"


def test_transactions_and_requests(server: Server, session: Session) -> None:
    with session.open_sender("out") as sender:
        example(Transaction.commit)(session, sender)
        example(Transaction.rollback)(session, sender)
    assert server.bodies("out") == [b"hello"]
    server.services["service"] = lambda request: Message(f"{request.body}!")
    with session.open_requester("service") as requester:
        assert example(Requester.call)(requester) == "ping!"
        assert requester.is_open
    assert not requester.is_open


def test_each_public_operation_has_an_example() -> None:
    finder = doctest.DocTestFinder()
    missing: list[str] = []
    kinds = (OneZeroConnection, Session, Link, Sender, SentDelivery, Receiver, ReceivedDelivery)
    for kind in (*kinds, Transaction, Requester):
        for name, method in vars(kind).items():
            if name.startswith("_") or not callable(method):
                continue
            found = finder.find(method, name)
            if not any(each.examples for each in found):
                missing.append(f"{kind.__name__}.{name}")
    inner = ["Session.controlled", "Session.deliver", "Session.end", "Session.end_of"]
    inner += ["Session.fails", "Session.finish", "Session.gone", "Session.link_ended", "Session.open_replies"]
    inner += ["Session.take", "Session.told", "Sender.ask", "Sender.settled", "Sender.state_of"]
    inner += ["Receiver.tell", "Link.abandon", "Link.finish", "Link.gone", "Link.post"]
    inner += ["Requester.close"]
    assert sorted(missing) == sorted(inner)
