"""Commands of AMQP 1.0 that take several frames, or change something first: they happen as a whole or not at all."""

# pyright: reportPrivateUsage=false
import pickle
from collections.abc import Callable
from typing import Any

import pytest

from amqp_sansio import CodecError, LimitExceeded, LocalProtocolError, Side
from amqp_sansio import amqp_1_0 as amqp
from amqp_sansio.amqp_1_0 import spec
from tests.kit.applications import Accepting, listen
from tests.kit.octets_1_0 import octets_of
from tests.kit.pair_1_0 import Pair, client_config, server_config

CLIENT, SERVER = Side.CLIENT, Side.SERVER
LONG = "x" * 600
"""Doesn't fit a frame of 512 octets."""


def unchanged(end: Any, command: Callable[[], object], error: type[Exception] = LocalProtocolError) -> None:
    """Check that a command raises and changes nothing."""
    before = pickle.dumps(end)
    with pytest.raises(error):
        command()
    assert pickle.dumps(end) == before


def asked(*, links: bool) -> tuple[Pair, Any]:
    """A pair whose server is asked for a session, or for a link, and the one that waits for the answer."""
    pair = Pair(
        client=client_config(max_frame_size=512), applications={SERVER: Accepting(links=False, sessions=links)}
    ).open()
    session = pair.client.open_session()
    if links:
        session.open_sender("q")
    pair.pump()
    if not links:
        (event,) = pair.take(SERVER, amqp.SessionRequested)
        return pair, pair.server.session(event.channel)
    (event,) = pair.take(SERVER, amqp.LinkRequested)
    return pair, pair.server.session(event.channel).link(event.link)


SESSION_ANSWERS: list[Callable[[Any], object]] = [
    lambda session: session.refuse("", "a text without a condition"),
    lambda session: session.refuse("amqp:not-allowed", LONG),
    lambda session: session.accept(properties={"a": LONG}),
    lambda session: session.accept(offered_capabilities=(LONG,)),
]


@pytest.mark.parametrize("refuse", SESSION_ANSWERS)
def test_a_session_can_still_be_answered(refuse: Callable[[Any], object]) -> None:
    pair, session = asked(links=False)
    unchanged(pair.server, lambda: refuse(session))
    session.accept()
    pair.pump()
    assert session.is_open


def saved_state() -> Any:
    """The state of a receiver with a delivery that it has accepted in mode second."""
    pair = Pair(applications={CLIENT: Accepting(deliveries=False)}).open()
    sender = pair.session().open_sender("q", name="n", rcv_settle_mode=1)
    pair.pump()
    sender.send(amqp.Message(b"x"))
    pair.pump()
    return pair.peer(sender).saved_state()


LINK_ANSWERS: list[Callable[[Any], object]] = [
    lambda link: link.refuse_attach("", "a text without a condition"),
    lambda link: link.refuse_attach("amqp:not-allowed", LONG),
    lambda link: link.close("amqp:not-allowed", LONG),
    lambda link: link.accept_attach(state=saved_state(), properties={"a": LONG}),
    lambda link: link.accept_attach(properties={"a": LONG}),
    lambda link: link.accept_attach(source=amqp.Source(LONG)),
    lambda link: link.accept_attach(snd_settle_mode=7),
]


@pytest.mark.parametrize("answer", LINK_ANSWERS)
def test_a_link_can_still_be_answered(answer: Callable[[Any], object]) -> None:
    pair, link = asked(links=True)
    unchanged(pair.server, lambda: answer(link))
    link.accept_attach()
    pair.pump()
    assert link.is_open


@pytest.mark.parametrize("credit", [-1, 1 << 31])
def test_no_link_is_opened_with_a_credit_that_cannot_be(credit: int) -> None:
    pair = Pair().open()
    session = pair.session()
    unchanged(pair.client, lambda: session.open_receiver("q", credit=credit))


def linked(**modes: Any) -> tuple[Pair, Any, Any]:
    """A pair whose applications only listen, with a sender and its receiver."""
    pair = Pair(
        client=client_config(max_frame_size=512),
        server=server_config(max_frame_size=512),
        applications={SERVER: Accepting(deliveries=False)},
    ).open()
    sender = pair.session().open_sender("q", auto_settle=False, **modes)
    pair.pump()
    receiver = pair.peer(sender)
    pair.applications = {CLIENT: listen, SERVER: listen}
    return pair, sender, receiver


def info_of(text: object) -> Any:
    """An error that tells something, which may be too long or no value at all."""
    return amqp.Error(amqp.Symbol("a:b"), info={amqp.Symbol("a"): text})


SENDS: list[Callable[[Any], object]] = [
    lambda sender: sender.send(b"x", state=amqp.spec.Received(0, 0)),
    lambda sender: sender.send(b"x" * 2000, state=amqp.spec.Received(0, 0)),
    lambda sender: sender.begin(b"x", state=amqp.spec.Received(0, 0)),
    lambda sender: sender.send(b"x", rcv_settle_mode=1),
    lambda sender: sender.send(b"x", state=spec.TransactionalState(b"t", amqp.Rejected(info_of(LONG)))),
    lambda sender: sender.continue_delivery(b"x"),
    lambda sender: sender.abort(),
]


@pytest.mark.parametrize("send", SENDS)
def test_what_is_not_sent_does_not_count(send: Callable[[Any], object]) -> None:
    pair, sender, _ = linked()
    unchanged(pair.client, lambda: send(sender))
    handle = sender.send(amqp.Message(b"x"))
    pair.pump()
    (delivery,) = pair.take(SERVER, amqp.Delivery)
    assert delivery.delivery_id == 0
    assert not handle.done


PARTS: list[Callable[[Any], object]] = [
    lambda sender: sender.continue_delivery(b"x", state=spec.TransactionalState(b"other")),
    lambda sender: sender.continue_delivery(b"x", state=amqp.spec.Received(0, 0)),
    lambda sender: sender.continue_delivery(b"x", state=amqp.Rejected(info_of(LONG))),
    lambda sender: sender.send(b"y"),
    lambda sender: sender.begin(b"y"),
    lambda sender: sender.settle(next(iter(sender.pending))),
]


@pytest.mark.parametrize("go_on", PARTS)
def test_a_delivery_in_parts_goes_on_after_a_wrong_part(go_on: Callable[[Any], object]) -> None:
    pair, sender, _ = linked()
    octets = amqp.Message(b"x" * 100).encode()
    sender.begin(octets[:50])
    unchanged(pair.client, lambda: go_on(sender))
    sender.continue_delivery(octets[50:], more=False)
    pair.pump()
    (delivery,) = pair.take(SERVER, amqp.Delivery)
    assert delivery.payload == octets


def test_deliveries_get_a_state_together_or_not_at_all() -> None:
    """The third has an outcome already, which is its last."""
    pair, sender, receiver = linked(rcv_settle_mode=1)
    for _ in range(3):
        sender.send(amqp.Message(b"x"))
    pair.pump()
    one, two, three = pair.take(SERVER, amqp.Delivery)
    receiver.release(three)
    unchanged(pair.server, lambda: receiver.accept(one, two, three))
    unchanged(pair.server, lambda: receiver.update([one, three], amqp.Accepted()))
    unchanged(pair.server, lambda: receiver.reject(one, three, error=info_of(LONG)))
    handles = receiver.accept(one, two)
    assert [handle.done for handle in handles] == [False, False]


def test_a_peer_that_says_two_outcomes_changes_none() -> None:
    pair, sender, receiver = linked(rcv_settle_mode=1)
    handles = [sender.send(amqp.Message(b"x")) for _ in range(2)]
    pair.pump()
    receiver.release(1)
    pair.pump()
    own = sender.session.own
    before = [list(each.states) for each in own.deliveries.values()]
    assert before[0] == [None, None]
    pair.client.receive_data(octets_of(spec.Disposition(True, 0, 1, state=amqp.Accepted())), 0.0)
    pair.drain(CLIENT)
    (failed,) = pair.take(CLIENT, amqp.LinkFailed)
    assert failed.pendings == tuple(handles)
    assert sender.unsettled[handles[0].key[2]].states == [None, None]


@pytest.mark.parametrize("which", ["drained", "set_available", "flow", "update"])
def test_a_full_backlog_changes_nothing(which: str) -> None:
    pair, sender, receiver = linked(rcv_settle_mode=1)
    sender.send(amqp.Message(b"x"))
    pair.pump()
    (delivery,) = pair.take(SERVER, amqp.Delivery)
    receiver.flow(7, drain=True)
    pair.pump()
    commands: dict[str, tuple[Any, Callable[[], object]]] = {
        "drained": (pair.client, sender.drained),
        "set_available": (pair.client, lambda: sender.set_available(7)),
        "flow": (pair.server, lambda: receiver.flow(9)),
        "update": (pair.server, lambda: receiver.accept(delivery)),
    }
    end, command = commands[which]
    out = end._sessions.transport.out
    hard, out.hard = out.hard, 0
    unchanged(end, command, LimitExceeded)
    out.hard = hard
    command()


def test_what_cannot_be_encoded_is_not_sent() -> None:
    pair, sender, receiver = linked()
    sender.send(amqp.Message(b"x"))
    pair.pump()
    (delivery,) = pair.take(SERVER, amqp.Delivery)
    state = amqp.Rejected(info_of(object()))
    unchanged(pair.server, lambda: receiver.update([delivery], state), CodecError)
    sender.begin(b"")
    unchanged(pair.client, lambda: sender.continue_delivery(b"x", state=state), CodecError)
    session = sender.session
    unchanged(pair.client, lambda: session.open_sender("q", properties={"a": object()}), CodecError)
