"""An AMQP connection inside a WebSocket, for both ends: octets in, octets out (RFC 6455, OASIS AMQP WebSocket Binding).

The frames of a WebSocket and those of AMQP have nothing to do with each other: what the binary frames carry is a
stream. An adapter puts a `WebSocketStream` between its transport and the connection. The framing is that of the library
`websockets`, which the extra `amqp-sansio[websocket]` brings. A client's key and masks are random, and the library
draws them, so this is the one module of the package whose octets differ from run to run.
"""

from __future__ import annotations

from ipaddress import ip_address
from typing import TYPE_CHECKING, Any, Final

from .errors import AmqpError

if TYPE_CHECKING:
    from collections.abc import Collection

    from websockets.client import ClientProtocol
    from websockets.server import ServerProtocol

    from .uri import AmqpUri

SUBPROTOCOLS: Final = ("amqp", "AMQPWSB10")
"""The names of AMQP as a subprotocol: the binding's, and that of its draft, which Microsoft's clients ask for."""
LARGEST_FRAME: Final = 4 * 1024 * 1024
"""Most octets of one frame of a WebSocket that are taken: it is kept until it is whole."""
LARGEST_HEAD: Final = 64 * 1024
"""Most octets that are taken before the handshake is over."""
PIECE: Final = 64 * 1024
"""Most octets of the stream in one frame that is sent."""

_LEAST_RELEASE: Final = 16
"""The first release of the library that bounds a fragment apart from its message."""
_PONG: Final = 0x8A
"""The first octet of a pong."""
_NORMAL: Final = 1000
_NOT_BINARY: Final = 1003
_TOO_MUCH: Final = 1008
_SAID: Final = frozenset({_NORMAL, 1001, 1005})
"""The codes of a close that isn't an error: normal, going away, and none."""


class WebSocketError(AmqpError):
    """There is no WebSocket: the library is missing, or a URL can't be one's. The text says which."""


class WebSocketStream:
    """One end of a WebSocket that carries a stream. `client_stream` and `server_stream` make it.

    `receive_data` returns octets of the stream, `send` queues some, `data_to_send` gives out what is to be written to
    the transport. Pings are answered, the latest one if several wait (RFC 6455 section 5.5.3). All that is kept is one
    frame that isn't whole, of at most `LARGEST_FRAME` octets, and what nobody has taken by `data_to_send`.
    """

    __slots__ = (
        "_early",
        "_origins",
        "_out",
        "_pong",
        "_protocol",
        "failure",
        "is_open",
        "is_over",
        "path",
        "wants_close",
    )

    def __init__(self, protocol: ClientProtocol | ServerProtocol, origins: Collection[str] = ()) -> None:
        self._protocol: Any = protocol
        self._origins = frozenset([each.strip().lower() for each in origins])
        self._out = bytearray()
        self._pong = b""
        self._early = 0
        self.is_open = False
        """Whether the handshake is over, and this end has not said its end."""
        self.is_over = False
        """Whether no more octets of the stream come."""
        self.wants_close = False
        """Whether the transport is to be closed once everything is written."""
        self.failure = ""
        """Why there is no WebSocket, or why it ended in the middle; "" while it is well, and after a proper end."""
        self.path = ""
        """Server: the path that the client asks for."""

    @property
    def subprotocol(self) -> str:
        """The subprotocol that both ends have agreed on; "" before."""
        return self._protocol.subprotocol or ""

    def begin(self) -> None:
        """Client: ask for the WebSocket."""
        self._protocol.send_request(self._protocol.connect())
        self._take_writes()

    def receive_data(self, data: bytes) -> bytes:
        """Take octets of the transport; return those of the stream."""
        if self.is_over:
            return b""
        if not self.is_open:
            self._early += len(data)
        self._protocol.receive_data(data)
        octets: list[bytes] = []
        for event in self._protocol.events_received():
            if hasattr(event, "opcode"):
                if not self._take_frame(event, octets):
                    break
            elif hasattr(event, "status_code"):
                self._take_response(event)
            else:
                self._answer(event)
        self._look()
        if not self.is_open and not self.is_over and self._early > LARGEST_HEAD:
            self._fail(f"no handshake in {LARGEST_HEAD} octets")
            self.wants_close = True
        self._take_writes()
        return b"".join(octets)

    def receive_eof(self) -> None:
        """The transport has ended."""
        if not self.is_over:
            self._protocol.receive_eof()
            self._look()
            self._take_writes()
            self._fail("the transport ended without the WebSocket's close")

    def send(self, octets: bytes | memoryview) -> None:
        """Queue octets of the stream. After the end nothing is queued."""
        if not self.is_open:
            return
        view = memoryview(octets)
        for start in range(0, len(view), PIECE):
            self._protocol.send_binary(bytes(view[start : start + PIECE]))
        self._take_writes()

    def end(self) -> None:
        """Say that nothing more comes; the other side answers with its own end."""
        if self.is_open:
            self.is_open = False
            self._protocol.send_close(_NORMAL)
            self._take_writes()

    @property
    def has_data(self) -> bool:
        """Whether there is something to write to the transport."""
        return bool(self._out or self._pong)

    @property
    def only_answers(self) -> bool:
        """Whether all of it is the answer to a ping, which may wait."""
        return not self._out

    def data_to_send(self) -> bytes:
        """Return what is to be written to the transport."""
        data = bytes(self._out) + self._pong
        self._out.clear()
        self._pong = b""
        return data

    # Internals.

    def _take_frame(self, frame: Any, octets: list[bytes]) -> bool:
        """Take a frame; return whether those behind it count."""
        from websockets.frames import Opcode

        if frame.opcode in (Opcode.BINARY, Opcode.CONT):
            octets.append(bytes(frame.data))
        elif frame.opcode is Opcode.TEXT:
            self._protocol.fail(_NOT_BINARY, "AMQP is binary")
            self._fail("the other side sent a text, AMQP is binary")
            return False
        elif frame.opcode is Opcode.CLOSE:
            closed = self._protocol.close_rcvd
            if closed.code in _SAID:
                self.is_open = False
                self.is_over = True
            else:
                self._fail(f"the other side closed the WebSocket with {closed.code} {closed.reason}".rstrip())
        return True

    def _take_response(self, response: Any) -> None:
        """Client: the server's answer to the request."""
        refusal = self._protocol.handshake_exc
        if refusal is not None:
            body = bytes(response.body or b"")[:200].decode("utf-8", "replace").strip()
            text = (
                f"HTTP {response.status_code} {response.reason_phrase}".rstrip() if response.status_code != 101 else ""
            )
            self._fail("; ".join([each for each in (text, body or str(refusal)) if each]))
            self.wants_close = True
        elif not self._protocol.subprotocol:
            self._protocol.fail(1002, "no subprotocol")
            self._fail(f"the server selects no subprotocol, {' or '.join(SUBPROTOCOLS)} is needed")
            self.wants_close = True
        else:
            self.is_open = True

    def _answer(self, request: Any) -> None:
        """Server: answer the client's request."""
        protocol = self._protocol
        self.path = str(request.path)
        refused = _foreign_origin(request.headers, self._origins)
        if refused:
            response = protocol.reject(403, f"{refused}\n")
            protocol.send_response(response)
            self._fail(refused)
            return
        response = protocol.accept(request)
        protocol.send_response(response)
        if response.status_code == 101:
            self.is_open = True
        else:
            self._fail(str(protocol.handshake_exc))

    def _look(self) -> None:
        """Note what the library has found wrong."""
        for error in (self._protocol.parser_exc, self._protocol.handshake_exc):
            if error is not None and not self.is_over:
                self._fail(str(error))
                self.wants_close = True

    def _fail(self, text: str) -> None:
        self.failure = self.failure or text
        self.is_open = False
        self.is_over = True

    def _take_writes(self) -> None:
        for octets in self._protocol.data_to_send():
            if not octets:
                self.wants_close = True
            elif octets[0] == _PONG:
                # Those that aren't written yet are late: a client that only pings would fill the memory with them.
                self._pong = octets
            else:
                self._out += octets


def client_stream(uri: AmqpUri) -> WebSocketStream:
    """Return a client's end for a URL, with its request to be sent. Raises WebSocketError without the library, and for
    a URL that it can't read."""
    _check_library()
    from websockets.client import ClientProtocol
    from websockets.exceptions import InvalidURI
    from websockets.typing import Subprotocol
    from websockets.uri import parse_uri

    host = f"[{uri.host}]" if ":" in uri.host else uri.host
    try:
        place = parse_uri(f"{'wss' if uri.tls else 'ws'}://{host}:{uri.port}{uri.resource}")
    except InvalidURI as error:
        raise WebSocketError(f"no WebSocket has the URL {uri}: {error}") from None
    names = [Subprotocol(name) for name in SUBPROTOCOLS]
    stream = WebSocketStream(ClientProtocol(place, subprotocols=names, max_size=(None, LARGEST_FRAME)))
    stream.begin()
    return stream


def server_stream(origins: Collection[str] = ()) -> WebSocketStream:
    """Return a server's end, which waits for the client's request. Raises WebSocketError without the library.

    A request with an Origin comes from a page in somebody's browser, who may not know of it (RFC 6455 section 10.2). It
    is taken if `origins` has that Origin, such as "https://app.example", or if it is that of the Host, and this an
    address or localhost: any other name may be one that the page's owner has pointed at this server (DNS rebinding).
    """
    _check_library()
    from websockets.server import ServerProtocol
    from websockets.typing import Subprotocol

    names = [Subprotocol(name) for name in SUBPROTOCOLS]
    return WebSocketStream(ServerProtocol(subprotocols=names, max_size=(None, LARGEST_FRAME)), origins)


def asks_for_websocket(data: bytes) -> bool | None:
    """Return whether a client that begins with these octets wants a WebSocket; None: that can't be said yet.

    AMQP begins with "AMQP", TLS with another octet, so the first octet mostly tells.

    >>> asks_for_websocket(b"AMQP"), asks_for_websocket(b"GE"), asks_for_websocket(b"GET / HTTP/1.1\\r\\n\\r\\n")
    (False, None, False)
    >>> asks_for_websocket(b"GET / HTTP/1.1\\r\\nUpgrade: websocket\\r\\n\\r\\n")
    True
    """
    if not data.startswith(b"GET ") and not b"GET ".startswith(data):
        return False
    head, end, _ = data.partition(b"\r\n\r\n")
    if not end:
        return None if len(data) <= LARGEST_HEAD else False
    for line in head.split(b"\r\n")[1:]:
        name, _, value = line.partition(b":")
        if name.strip().lower() == b"upgrade" and b"websocket" in value.lower():
            return True
    return False


def _foreign_origin(headers: Any, origins: frozenset[str]) -> str:
    """Return why the Origin of a request is refused, "" if it isn't."""
    hosts = [str(each).strip().lower() for each in headers.get_all("Host")]
    for each in headers.get_all("Origin"):
        origin = str(each).strip().lower()
        if origin in origins:
            continue
        if [origin.partition("://")[2]] != hosts:
            return "a page of another origin may not connect"
        if not _is_own(hosts[0]):
            return f"a page of {origin[:100]!r} may not connect: the server's origins don't have it"
    return ""


def _is_own(host: str) -> bool:
    """Whether nobody but the machine's owner says where a Host leads: an address, or localhost.

    >>> [_is_own(host) for host in ("127.0.0.1:5672", "[::1]", "localhost:80", "mq.example", "127.0.0.1.example")]
    [True, True, True, False, False]
    """
    name = host[1:].partition("]")[0] if host.startswith("[") else host.partition(":")[0]
    if name == "localhost":
        return True
    try:
        ip_address(name)
    except ValueError:
        return False
    return True


def _check_library() -> None:
    try:
        from websockets.version import version
    except ImportError as error:
        raise WebSocketError("AMQP over WebSocket needs the extra: pip install amqp-sansio[websocket]") from error
    if int(version.partition(".")[0]) < _LEAST_RELEASE:
        raise WebSocketError(
            f"AMQP over WebSocket needs websockets {_LEAST_RELEASE} or newer: pip install amqp-sansio[websocket]"
        )


__all__ = [
    "PIECE",
    "SUBPROTOCOLS",
    "WebSocketError",
    "WebSocketStream",
    "asks_for_websocket",
    "client_stream",
    "server_stream",
]
