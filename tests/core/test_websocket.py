"""AMQP inside a WebSocket: a stream however it is framed and cut, who is let in, what is bounded, and how it ends."""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from websockets.frames import Frame, Opcode

from amqp_sansio.uri import parse
from amqp_sansio.websocket import (
    LARGEST_FRAME,
    LARGEST_HEAD,
    PIECE,
    SUBPROTOCOLS,
    WebSocketError,
    WebSocketStream,
    asks_for_websocket,
    client_stream,
    server_stream,
)

URL = parse("wss://mq.example:443/$servicebus/websocket")
MASK = b"Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
KEY = b"Sec-WebSocket-Key: MDEyMzQ1Njc4OWFiY2RlZg==\r\n"


def pair() -> tuple[WebSocketStream, WebSocketStream]:
    """A client and a server whose handshake is over."""
    client, server = client_stream(URL), server_stream()
    assert server.receive_data(client.data_to_send()) == b""
    assert client.receive_data(server.data_to_send()) == b""
    assert client.is_open and server.is_open
    return client, server


def request(*lines: bytes, names: str = "amqp", path: bytes = b"/", host: bytes = b"mq") -> bytes:
    """A client's request."""
    offered = f"Sec-WebSocket-Protocol: {names}\r\n".encode() if names else b""
    return b"GET " + path + b" HTTP/1.1\r\nHost: " + host + b"\r\n" + MASK + KEY + offered + b"".join(lines) + b"\r\n"


def opened(names: str = "amqp") -> WebSocketStream:
    """A server's end that a client has opened."""
    server = server_stream()
    server.receive_data(request(names=names))
    assert server.is_open and server.data_to_send().startswith(b"HTTP/1.1 101")
    return server


def frame(opcode: Opcode, data: bytes, *, fin: bool = True) -> bytes:
    """A client's frame."""
    return bytes(Frame(opcode, data, fin).serialize(mask=True))


def cut(octets: bytes, places: Sequence[int]) -> list[bytes]:
    """The octets in pieces."""
    ends = sorted({each % (len(octets) + 1) for each in places} | {0, len(octets)})
    return [octets[start:end] for start, end in pairwise(ends)]


@given(st.lists(st.binary(max_size=300), max_size=8), st.lists(st.integers(0, 10_000), max_size=20), st.booleans())
def test_what_one_end_sends_the_other_gets(sent: list[bytes], places: list[int], from_client: bool) -> None:
    client, server = pair()
    one, other = (client, server) if from_client else (server, client)
    for octets in sent:
        one.send(octets)
    got = b"".join([other.receive_data(piece) for piece in cut(one.data_to_send(), places)])
    assert got == b"".join(sent)
    assert not other.failure and other.is_open


@given(
    st.lists(st.tuples(st.binary(max_size=40), st.booleans()), max_size=10), st.lists(st.integers(0, 999), max_size=9)
)
def test_borders_of_frames_mean_nothing(parts: list[tuple[bytes, bool]], places: list[int]) -> None:
    """A message in fragments, with pings between them, is the same stream as one frame, or many."""
    server = opened()
    octets, is_first = b"", True
    for data, fin in parts:
        octets += frame(Opcode.BINARY if is_first else Opcode.CONT, data, fin=fin) + frame(Opcode.PING, b"?")
        is_first = fin
    got = b"".join([server.receive_data(piece) for piece in cut(octets, places)])
    assert got == b"".join([data for data, _ in parts])
    assert server.only_answers


def test_long_octets_are_sent_in_pieces() -> None:
    client, server = pair()
    octets = bytes(range(256)) * 1024
    client.send(octets)
    written = client.data_to_send()
    assert server.receive_data(written) == octets
    assert len(written) - len(octets) == len(octets) // PIECE * (2 + 8 + 4)


@pytest.mark.parametrize("names", [*SUBPROTOCOLS, ", ".join(SUBPROTOCOLS), "mqtt, AMQPWSB10"])
def test_either_name_of_the_subprotocol_is_taken(names: str) -> None:
    server = opened(names)
    assert server.subprotocol in names.split(", ")


@pytest.mark.parametrize("names", ["", "mqtt", "AMQP"])
def test_another_subprotocol_is_refused(names: str) -> None:
    server = server_stream()
    server.receive_data(request(names=names))
    assert server.is_over and not server.is_open
    assert server.wants_close
    assert "subprotocol" in server.failure
    assert server.data_to_send().startswith(b"HTTP/1.1 400")


def test_the_path_is_known() -> None:
    server = server_stream()
    server.receive_data(request(path=b"/$servicebus/websocket"))
    assert server.path == "/$servicebus/websocket"
    assert b"GET /$servicebus/websocket HTTP/1.1\r\nHost: mq.example\r\n" in client_stream(URL).data_to_send()
    other = client_stream(parse("ws://[::1]:8080/a%20b")).data_to_send()
    assert other.startswith(b"GET /a%20b HTTP/1.1\r\nHost: [::1]:8080\r\n")


ADDRESSES = (b"127.0.0.1", b"127.0.0.1:5672", b"[::1]:5672", b"localhost", b"192.0.2.7:80")
NAMES = (b"mq", b"mq.example:5672", b"localhost.example", b"127.0.0.1.example", b"")
ORIGINS = [
    *[(host, b"http://" + host, True) for host in ADDRESSES],
    # What a name leads to is for the owner of the name to say, and that may be the page's own.
    *[(host, b"http://" + host, False) for host in NAMES],
    *[(host, origin, False) for host in ADDRESSES for origin in (b"http://evil.example", b"null", host, b"")],
    (b"localhost", b"http://LOCALHOST", True),
    *[(host, b"https://App.example", True) for host in (*ADDRESSES, *NAMES[:-1])],
]


@pytest.mark.parametrize(("host", "origin", "is_let_in"), ORIGINS)
def test_a_page_is_let_in_by_an_address_or_by_name(host: bytes, origin: bytes, is_let_in: bool) -> None:
    server = server_stream(["https://app.EXAMPLE"])
    server.receive_data(request(b"Origin: " + origin + b"\r\n", host=host))
    assert server.is_open is is_let_in
    if not is_let_in:
        assert server.data_to_send().startswith(b"HTTP/1.1 4")
        assert server.wants_close and server.failure


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (b"HTTP/1.1 404 Not Found\r\nContent-Length: 6\r\n\r\nno hub", "HTTP 404 Not Found; no hub"),
        (b"HTTP/1.1 302 Found\r\nLocation: ws://x/\r\nContent-Length: 0\r\n\r\n", "HTTP 302 Found"),
        (b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\nConnection: Upgrade\r\n\r\n", "Upgrade"),
        (b"AMQP\0\0\x09\x01 is no answer\r\n\r\n", "HTTP response"),
        (b"\x15\x03\x01\0\x02\x02\x50\r\n", "HTTP response"),
    ],
)
def test_a_server_that_says_no(answer: bytes, says: str) -> None:
    client = client_stream(URL)
    client.data_to_send()
    assert client.receive_data(answer) == b""
    assert client.is_over and not client.is_open
    assert says in client.failure
    assert client.wants_close


def test_a_server_that_selects_no_subprotocol_is_left() -> None:
    client = client_stream(URL)
    server = server_stream()
    server.receive_data(client.data_to_send())
    answer = server.data_to_send().replace(b"Sec-WebSocket-Protocol: amqp\r\n", b"")
    client.receive_data(answer)
    assert "selects no subprotocol" in client.failure and client.wants_close


@pytest.mark.parametrize(
    ("octets", "says"),
    [
        (frame(Opcode.TEXT, b"AMQP"), "a text"),
        (bytes(Frame(Opcode.BINARY, b"AMQP").serialize(mask=False)), "mask"),
        (b"\xf2\x80\0\0\0\0", "reserved"),
        (frame(Opcode.CONT, b"x"), "continuation"),
        (b"\x82\xff" + (LARGEST_FRAME + 1).to_bytes(8, "big") + bytes(4), "exceeds limit"),
        (frame(Opcode.CLOSE, (1011).to_bytes(2, "big") + b"overload"), "1011 overload"),
    ],
    ids=lambda each: each if isinstance(each, str) else "octets",
)
def test_what_breaks_the_rules_ends_it(octets: bytes, says: str) -> None:
    server = opened()
    assert server.receive_data(frame(Opcode.BINARY, b"before") + octets + frame(Opcode.BINARY, b"behind")) == b"before"
    assert says in server.failure
    assert server.is_over and not server.is_open and server.wants_close
    server.send(b"late")
    assert b"late" not in server.data_to_send()
    assert server.receive_data(b"more") == b""


def test_the_largest_frame_is_taken() -> None:
    server = opened()
    head = b"\x82\xff" + LARGEST_FRAME.to_bytes(8, "big") + bytes(4)
    got = server.receive_data(head) + server.receive_data(bytes(LARGEST_FRAME))
    assert len(got) == LARGEST_FRAME and server.is_open


def test_a_message_without_end_is_a_stream() -> None:
    """Fragments add up to more than a frame may have."""
    server = opened()
    kinds: list[Opcode] = [Opcode.BINARY, *[Opcode.CONT for _ in range(79)]]
    size = sum([len(server.receive_data(frame(each, bytes(PIECE), fin=False))) for each in kinds])
    assert size == 80 * PIECE > LARGEST_FRAME
    assert server.is_open


def test_a_head_without_end_ends_it() -> None:
    server = server_stream()
    line = b"X-Long: " + b"x" * 4000 + b"\r\n"
    server.receive_data(b"GET / HTTP/1.1\r\n")
    for _ in range(LARGEST_HEAD // len(line) + 1):
        server.receive_data(line)
    assert server.is_over and server.wants_close and "65536" in server.failure


def test_a_client_that_only_pings_fills_nothing() -> None:
    server = opened()
    for number in range(1000):
        server.receive_data(frame(Opcode.PING, b"%d" % number))
    assert server.data_to_send() == bytes(Frame(Opcode.PONG, b"999").serialize(mask=False))
    assert not server.has_data


@settings(max_examples=30)
@given(st.booleans(), st.binary(max_size=20))
def test_an_end_that_is_said(by_client: bool, last: bytes) -> None:
    client, server = pair()
    one, other = (client, server) if by_client else (server, client)
    one.send(last)
    one.end()
    one.end()
    assert other.receive_data(one.data_to_send()) == last
    assert other.is_over and not other.failure and not other.is_open
    assert one.receive_data(other.data_to_send()) == b""
    assert one.is_over and not one.failure
    assert server.wants_close
    for each in (client, server):
        each.receive_eof()
        assert not each.failure


def test_an_end_that_isnt_said() -> None:
    _, server = pair()
    server.receive_eof()
    assert "without the WebSocket's close" in server.failure or "unexpected end" in server.failure
    assert server.is_over


def test_who_asks_for_a_websocket() -> None:
    whole = request()
    for size in range(1, len(whole)):
        assert asks_for_websocket(whole[:size]) is None
    assert asks_for_websocket(whole) is True
    assert asks_for_websocket(whole + b"more") is True
    for octets in (b"A", b"AMQP\0\0\x09\x01", b"\x16", b"GETX", b"P", b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"):
        assert asks_for_websocket(octets) is False
    assert asks_for_websocket(b"GET /" + b"x" * LARGEST_HEAD) is False


def test_an_old_library_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("websockets.version.version", "15.0.1")
    with pytest.raises(WebSocketError, match="needs websockets 16 or newer"):
        server_stream()


@pytest.mark.parametrize("make", [lambda: client_stream(URL), server_stream])
def test_without_the_library_the_extra_is_named(make: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without(name: str, *arguments: Any) -> Any:
        if name.startswith("websockets"):
            raise ImportError(name)
        return real(name, *arguments)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(WebSocketError, match=r"pip install amqp-sansio\[websocket\]"):
        make()
