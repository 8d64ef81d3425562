"""The classes that only 0-8 has: content both ways, replies that are requests, requests of the server."""

from __future__ import annotations

import pytest

from amqp_sansio import AMQP_0_8, Closed, LocalProtocolError
from amqp_sansio.amqp_0_8 import StreamProperties
from amqp_sansio.amqp_0_9_1 import ContentReceived, Request
from amqp_sansio.endpoint import Side
from tests.kit.pair import asked


def test_a_request_with_content_and_a_reply_with_content() -> None:
    """test.content and test.content-ok: the sum of the octets goes back."""
    pair, channel, peer = asked(AMQP_0_8)
    properties = pair.client.dialect.properties[120]()
    handle = channel.call(pair.method("test.content"), properties, b"\1\2\3")
    pair.pump()
    (received,) = pair.take(Side.SERVER, ContentReceived)
    assert (received.method.NAME, received.body) == ("test.content", b"\1\2\3")
    peer.reply(pair.method("test.content-ok", content_checksum=6), properties, b"sum")
    pair.pump()
    assert handle.result.body == b"sum"
    assert handle.result.method.content_checksum == 6


def test_a_reply_that_is_a_request_itself() -> None:
    """file.open is answered by open-ok, which the client answers by staging the file."""
    pair, channel, peer = asked(AMQP_0_8)
    opened = channel.call(pair.method("file.open", identifier="id", content_size=3))
    pair.pump()
    staged = peer.call(pair.method("file.open-ok", staged_size=0))
    pair.pump()
    assert opened.result.NAME == "file.open-ok"
    channel.reply(pair.method("file.stage"), pair.client.dialect.properties[70](), b"abc")
    pair.pump()
    assert staged.result.body == b"abc"
    assert pair.client.unanswered == pair.server.unanswered == ()


def test_a_server_may_ask_a_client() -> None:
    """file.open goes both ways; a client's requests are answered like a server's."""
    pair, channel, peer = asked(AMQP_0_8)
    pair.applications[Side.CLIENT] = lambda connection, event: None
    handle = peer.call(pair.method("file.open", identifier="id"))
    pair.pump()
    (request,) = pair.take(Side.CLIENT, Request)
    channel.reply(pair.method("file.open-ok"))
    pair.pump()
    assert handle.done
    assert request.method.identifier == "id"
    peer.close()
    pair.pump()
    assert pair.take(Side.CLIENT, Closed)


def test_other_content_of_0_8_arrives_as_it_is() -> None:
    pair, channel, _ = asked(AMQP_0_8)
    properties = StreamProperties(content_type="video")
    channel.send(pair.method("stream.publish", exchange="e"), properties, b"frame")
    pair.pump()
    (received,) = pair.take(Side.SERVER, ContentReceived)
    assert (received.method.exchange, received.body) == ("e", b"frame")
    assert received.properties.content_type == "video"


def test_0_8_has_no_nack() -> None:
    pair, _, peer = asked(AMQP_0_8)
    with pytest.raises(LocalProtocolError, match=r"no basic\.nack"):
        peer.confirm(1, accepted=False)
    del pair


