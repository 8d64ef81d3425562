"""What Qpid's brokers do otherwise than the specification has it, and what the client makes of it."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

from amqp_sansio import By, RemoteProtocolError, Side
from amqp_sansio.amqp_0_10 import (
    BYTE,
    CREDIT,
    INFINITE,
    MESSAGE,
    WINDOW,
    Command,
    CommandReceived,
    CreditChanged,
    Message,
    MessageFlow,
    MessageSetFlowMode,
    MessageStop,
    MessageSubscribe,
    NoCredit,
    SessionState,
)
from amqp_sansio.amqp_0_10.model.credit import Balance
from tests.kit.pair_0_10 import Pair
from tests.kit.talk_0_10 import frames

MANY = 2**31 - 1


def attached() -> tuple[Pair, Any, Any]:
    """A pair, and both ends of a session."""
    pair = Pair().open()
    client, server = pair.sessions()
    return pair, client, server


def changes(pair: Pair) -> list[tuple[str, int | None, int | None]]:
    """The credit that the client was told of."""
    told = [event for event in pair.events[Side.CLIENT] if isinstance(event, CreditChanged)]
    return [(event.destination, event.messages, event.octets) for event in told]


def said(pair: Pair, *commands: Command[Any]) -> None:
    """What a broker sends to the client's session, other than the server here would."""
    for command in commands:
        pair.client.receive_data(frames(command), pair.now)
    pair.drain(Side.CLIENT)


STOP = (MessageSetFlowMode("", CREDIT), MessageStop(""))
"""As Broker-J stops a publisher: with the mode every time, whatever credit there is."""


def test_credit_without_limit_is_written_as_a_number() -> None:
    """An absent value says the same, and is read as nothing at all."""
    pair, client, _ = attached()
    client.call(MessageSubscribe("queue", "d", 0, 0))
    client.top_up("d", 5)
    pair.pump()
    wire = bytes(pair.sent[Side.CLIENT])
    assert MessageFlow("d", BYTE, INFINITE).encode_segment(sync=False) in wire
    assert client.granted("d") == (5, None)


@pytest.mark.parametrize("exchange", ["", "amq.direct"])
def test_a_publisher_goes_on_with_messages_alone(exchange: str) -> None:
    pair, client, _ = attached()
    assert client.credit(exchange) == (None, None)
    for _ in range(2):
        said(pair, *STOP)
        assert client.credit(exchange) == (0, None)
        with pytest.raises(NoCredit):
            client.transfer(exchange, b"body")
        said(pair, MessageFlow("", MESSAGE, MANY))
        assert client.credit(exchange) == (MANY, None)
        client.transfer(exchange, b"body")
        assert client.credit(exchange) == (MANY - 1, None)
    assert client.report is None
    assert changes(pair)[-1] == ("", MANY, None)


def test_octets_count_once_they_are_granted() -> None:
    pair, client, _ = attached()
    message = Message(b"body")
    said(pair, *STOP, MessageFlow("", MESSAGE, 5), MessageFlow("", BYTE, 6))
    assert client.credit("") == (5, 6)
    client.transfer("", message)
    assert client.credit("") == (4, 2)
    with pytest.raises(NoCredit):
        client.transfer("", message)
    said(pair, *STOP)
    assert client.credit("") == (0, None)
    said(pair, MessageFlow("", MESSAGE, 1))
    client.transfer("", Message(bytes(100)))
    assert client.credit("") == (0, None)


def test_what_is_said_of_an_exchange_comes_before_what_is_said_of_all() -> None:
    pair, client, _ = attached()
    said(pair, MessageFlow("amq.direct", MESSAGE, 1), *STOP)
    assert client.credit("amq.direct") == (1, None)
    assert client.credit("amq.topic") == (0, None)
    client.transfer("amq.direct", b"body")
    with pytest.raises(NoCredit):
        client.transfer("amq.direct", b"body")


@pytest.mark.parametrize("mode", [CREDIT, WINDOW])
def test_octets_of_bodies_alone_are_no_breach(mode: int) -> None:
    balance = Balance()
    balance.flow_mode = mode
    balance.grant(MESSAGE, 100)
    balance.grant(BYTE, 30)
    for left in (15, 0, 0):
        assert balance.admits(10)
        balance.spend(15, 10)
        assert balance.octets == left
    assert not balance.admits(1)
    assert not balance.admits(0)
    assert balance.restore(0, 15, 10) is (mode == WINDOW)
    assert balance.admits(10) is (mode == WINDOW)
    assert not balance.admits(11)


def test_setting_the_same_mode_again_is_no_change() -> None:
    pair, client, server = attached()
    client.call(MessageSubscribe("queue", "d", 0, 0))
    client.top_up("d", 5)
    client.call(MessageSetFlowMode("d", WINDOW))
    pair.pump()
    subscribe = next(e for e in pair.events[Side.SERVER] if isinstance(e, CommandReceived))
    server.complete(subscribe.command_id)
    assert server.credit("d") == (5, None)
    assert client.report is server.report is None


def test_a_session_that_is_forgotten_has_nothing_pending() -> None:
    pair, client, _ = attached()
    sent = client.transfer("", b"body")
    pair.client.connection_lost("cut", pair.now)
    pair.drain(Side.CLIENT)
    state: SessionState = pickle.loads(pickle.dumps(client.detached_state()))
    assert list(state.pending) == [sent.completion, sent.outcome]
    other = Pair().open()
    resumed = other.client.resume_session(state)
    other.pump()
    other.server.accept_session(resumed.channel)
    other.pump()
    assert resumed.report is not None
    assert resumed.report.by is By.LOCAL
    assert "has forgotten session" in resumed.report.text
    assert list(state.pending) == []
    assert resumed.opening is None or isinstance(resumed.opening.error, RemoteProtocolError)
