"""Tokens in recordings of 1.0: the text of each put-token and each `security_token` is blank, and nothing else."""

from __future__ import annotations

import pickle
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amqp_sansio import Signal
from amqp_sansio.amqp_1_0 import AmqpValue, Config, Connection, Message, Properties, Source, Target
from amqp_sansio.capture.redact import Redactor
from amqp_sansio.testing import amqp_1_0 as strategies

TOKEN = "SharedAccessSignature sr=x&sig=s3cret"
STARS = "*" * len(TOKEN)


class Talk:
    """A client and a server of 1.0; `sent` are the client's octets."""

    def __init__(self, **options: Any) -> None:
        self.client = Connection.client(Config(container_id="c", **options))
        self.server = Connection.server(Config(container_id="s"))
        self.sent = b""
        self.turn()
        self.session = self.client.open_session()
        self.turn()

    def turn(self) -> None:
        """Exchange octets until there are no more; the server takes everything."""
        for _ in range(50):
            octets = self.client.data_to_send(0.0)
            self.sent += octets
            if octets:
                self.server.receive_data(octets, 0.0)
            while not isinstance(event := self.server.next_event(), Signal):
                self.answer(event)
            back = self.server.data_to_send(0.0)
            if back:
                self.client.receive_data(back, 0.0)
            while not isinstance(self.client.next_event(), Signal):
                continue
            if not octets and not back:
                return

    def answer(self, event: Any) -> None:
        name = type(event).__name__
        if name == "OpenRequested":
            self.server.accept_open()
        elif name == "SessionRequested":
            self.server.session(event.channel).accept()
        elif name == "LinkRequested":
            link: Any = self.server.session(event.channel).link(event.link)
            link.accept_attach()
            if not event.attach.role:
                link.flow(100)

    def sender(self, address: str) -> Any:
        """A link of the client's to an address."""
        link = self.session.open_sender(Target(address=address), source=Source(address=address))
        self.turn()
        return link

    def send(self, link: Any, message: Message) -> None:
        """Send a message, settled."""
        link.send(message, settled=True)
        self.turn()


def put(token: str, body: type[Any] = AmqpValue) -> Message:
    fields = {"operation": "put-token", "type": "jwt", "name": "amqps://host/q"}
    whole: Any = AmqpValue(token) if body is AmqpValue else token.encode()
    return Message(whole, properties=Properties(message_id="1", reply_to="r"), application_properties=fields)


def managed(token: str) -> Message:
    fields = {"operation": "READ", "name": "hub", "security_token": token, "type": "com.microsoft:eventhub", "n": 3}
    return Message(AmqpValue(TOKEN), application_properties=fields)


def conversation(token: str, **options: Any) -> bytes:
    """A client's octets with that token wherever a token is."""
    talk = Talk(**options)
    cbs, other, management = talk.sender("$cbs"), talk.sender("q"), talk.sender("hub/$management")
    talk.send(other, Message(TOKEN.encode(), application_properties={"security_token": TOKEN}))
    for _ in range(2):
        talk.send(cbs, put(token))
        talk.send(management, managed(token))
    talk.send(cbs, put(token, bytes))
    talk.send(other, Message(TOKEN.encode()))
    return talk.sent


@pytest.mark.parametrize("size", [512, 65_536])
def test_tokens_are_blank_and_nothing_else(size: int) -> None:
    """Also where a message takes several frames."""
    long = TOKEN * 40
    for token in (TOKEN, long):
        options = {"max_frame_size": size}
        assert Redactor().feed(conversation(token, **options)) == conversation("*" * len(token), **options)


@given(st.lists(st.integers(1, 60), min_size=1, max_size=20))
def test_chunking_makes_no_difference(sizes: list[int]) -> None:
    octets = _CONVERSATION
    redactor, out, pos, turn = Redactor(), b"", 0, 0
    while pos < len(octets):
        chunk = octets[pos : pos + sizes[turn % len(sizes)]]
        redacted = redactor.feed(chunk)
        assert len(redacted) == len(chunk)
        out, pos, turn = out + redacted, pos + len(chunk), turn + 1
        redactor = pickle.loads(pickle.dumps(redactor)) if turn % 40 == 0 else redactor
    assert out == _BLANK


_CONVERSATION = conversation(TOKEN)
_BLANK = conversation(STARS)


@given(strategies.messages())
def test_whatever_else_a_request_has_stays(message: Message) -> None:
    """Any sections around a token, and any application properties."""
    sent: list[bytes] = []
    for request in (put(TOKEN), put(STARS)):
        talk = Talk()
        talk.send(talk.sender("$cbs"), message.replace(properties=request.properties, body=AmqpValue(request.body)))
        sent.append(talk.sent)
    assert Redactor().feed(sent[0]) == sent[1]


@given(st.binary(max_size=300))
def test_any_octets_keep_their_length_and_show_no_token_behind_them(octets: bytes) -> None:
    head = _CONVERSATION[: len(_CONVERSATION) // 2]
    out = Redactor().feed(head + octets)
    assert len(out) == len(head + octets)
    redactor = Redactor()
    whole = head + octets
    assert b"".join([redactor.feed(whole[i : i + 1]) for i in range(len(whole))]) == out


def test_damage_hides_what_follows_where_tokens_are_sent() -> None:
    octets = _CONVERSATION + b"\0\0\0\1\0\0\0\0" + TOKEN.encode()
    assert Redactor().feed(octets).endswith(b"*" * len(TOKEN))
    plain = Talk()
    octets = plain.sent + b"\0\0\0\1\0\0\0\0" + TOKEN.encode()
    assert Redactor().feed(octets) == octets
