"""amqp:// and amqps:// URIs, and those of WebSockets: one string with the address and options of a connection.

The form is RabbitMQ's URI specification with its query parameters; percent-encoding is RFC 3986 section 2.1.

| URI | meaning |
|---|---|
| `amqp://user:pass@host:10000/vhost` | everything |
| `amqp://` | localhost, port 5672, no user, virtual host "/" |
| `amqps://host` | port 5671, over TLS |
| `amqp://host`, `amqp://host/`, `amqp://host/%2F`, `amqp://host//` | virtual host "/" |
| `amqp://host/a%2Fb` | virtual host "a/b" |
| `amqp://[::1]:5672/` | an IPv6 address |
| `amqp://user:p%40ss%2Fword@host` | password "p@ss/word" |
| `amqps://host/?cacertfile=/etc/ca.pem&verify=verify_peer` | with options |
| `amqp+ws://host/vhost` | inside a WebSocket, port 80, with the path "/"; `?path=/chat` for another one |
| `amqps+ws://host/vhost` | the same over TLS, port 443 |
| `ws://host/chat`, `wss://host/chat` | inside a WebSocket with this path; `?vhost=jobs` for a virtual host |

By the letter of the specification `amqp://host/` is the virtual host with the empty name, which hardly any server has.
pika and aio-pika treat it as the default, so it is the default here, as is `//`, the form of Celery and Kombu. `format`
always writes `/%2F`, which every client reads alike.
"""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

from ._ground.record import record
from .errors import AmqpError

Verify: TypeAlias = Literal["verify_peer", "verify_none"]
FIELDS: Final = (
    "heartbeat",
    "channel_max",
    "frame_max",
    "connection_timeout",
    "auth_mechanism",
    "cacertfile",
    "certfile",
    "keyfile",
    "verify",
    "server_name_indication",
)
"""The parameters of a query that are fields of `AmqpUri`."""


class UriError(AmqpError, ValueError):
    """A text that isn't an AMQP URI, or a record that no URI can express.

    The message says what is wrong and what to do, and never quotes what may be a secret. `part` is the part at fault
    ("scheme", "user info", "host", "port", "virtual host", "path", "query", "URI"), `position` its index in the text,
    None for a record.
    """

    def __init__(self, text: str, part: str = "URI", position: int | None = None) -> None:
        super().__init__(text)
        self.part = part
        self.position = position

    def __reduce__(self) -> tuple[object, ...]:
        return UriError, (str(self), self.part, self.position)


@record
class AmqpUri:
    """The parts of a URI. None: the URI doesn't have it, and the caller's default applies.

    `scheme` is "amqp", "amqps", "amqp+ws", "amqps+ws", "ws" or "wss", `host` a name or an address without brackets,
    `heartbeat` and `connection_timeout` are seconds (the URI has milliseconds for the latter, as in RabbitMQ),
    `frame_max` is octets, `auth_mechanism` the SASL mechanisms to allow, in upper case. The certificate files, `verify`
    and `server_name_indication` are for TLS only. `options` are the other query parameters, names and values decoded,
    in the order of the URI. `path` is that of a WebSocket, decoded; "" without one.

    `str` and `repr` hide the password and every option with a name that suggests a secret.

    >>> uri = AmqpUri("amqps", "mq.example.org", 5671, "me", "s3cret", "jobs", heartbeat=30)
    >>> uri
    AmqpUri('amqps://me:***@mq.example.org/jobs?heartbeat=30')
    >>> uri.format()
    'amqps://me:s3cret@mq.example.org/jobs?heartbeat=30'
    """

    scheme: str
    host: str
    port: int
    user: str | None = None
    password: str | None = None
    vhost: str = "/"
    heartbeat: int | None = None
    channel_max: int | None = None
    frame_max: int | None = None
    connection_timeout: float | None = None
    auth_mechanism: tuple[str, ...] = ()
    cacertfile: str | None = None
    certfile: str | None = None
    keyfile: str | None = None
    verify: Verify | None = None
    server_name_indication: str | None = None
    options: tuple[tuple[str, str], ...] = ()
    path: str = ""

    @property
    def tls(self) -> bool:
        """Whether TLS is wanted."""
        return self.scheme in _SECURE

    @property
    def websocket(self) -> bool:
        """Whether the connection is to be inside a WebSocket."""
        return self.scheme in _WEBSOCKETS

    @property
    def resource(self) -> str:
        """The path of a WebSocket as HTTP writes it.

        >>> parse("wss://host/$servicebus/a%20b").resource
        '/$servicebus/a%20b'
        """
        return _quote(self.path, _IN_PATH) or "/"

    def option(self, name: str) -> tuple[str, ...]:
        """Return the values of one of the `options`.

        >>> parse("amqp://host/?name=a&name=b").option("name")
        ('a', 'b')
        """
        return tuple([value for key, value in self.options if key == name])

    def format(self) -> str:
        """Return the URI with all its secrets; `parse` reads the same record back.

        Raises UriError for a record that no URI can express, such as one with an empty virtual host or with a password
        and no user.

        >>> parse("AMQP://host:5672").format()
        'amqp://host/%2F'
        """
        text = self._write(secrets=True)
        try:
            same = parse(text) == self
        except UriError as error:
            raise UriError(f"the record has no URI form: {error}", error.part) from None
        if not same:
            raise UriError("the record has no URI form: what is written reads back differently")
        return text

    def redacted(self) -> str:
        """Return the URI with *** for every secret, for logs and messages.

        >>> parse("amqp://me:s3cret@host/").redacted()
        'amqp://me:***@host/%2F'
        """
        return self._write(secrets=False)

    def __str__(self) -> str:
        return self.redacted()

    def __repr__(self) -> str:
        return f"AmqpUri({self.redacted()!r})"

    def _write(self, *, secrets: bool) -> str:
        text = f"{self.scheme}://"
        if self.user is not None or self.password is not None:
            text += _quote(self.user or "")
            if self.password is not None:
                text += ":" + (_quote(self.password) if secrets else "***")
            text += "@"
        text += f"[{_quote(self.host, ':')}]" if ":" in self.host else _quote(self.host)
        if self.port != _PORTS.get(self.scheme):
            text += f":{self.port}"
        bare = self.scheme in _BARE
        text += self.resource if bare else "/" + _quote(self.vhost)
        milliseconds = None
        if self.connection_timeout is not None:
            milliseconds = round(self.connection_timeout * 1000)
        pairs: list[tuple[str, str | int | None]] = [
            ("heartbeat", self.heartbeat),
            ("channel_max", self.channel_max),
            ("frame_max", self.frame_max),
            ("connection_timeout", milliseconds),
            *[("auth_mechanism", name.lower()) for name in self.auth_mechanism],
            ("cacertfile", self.cacertfile),
            ("certfile", self.certfile),
            ("keyfile", self.keyfile),
            ("verify", self.verify),
            ("server_name_indication", self.server_name_indication),
            ("vhost", self.vhost if bare and self.vhost != "/" else None),
            ("path", self.path if self.websocket and not bare and self.path != "/" else None),
            *[(name, value if secrets or not _is_secret(name) else "***") for name, value in self.options],
        ]
        written = [f"{_quote(name)}={_quote(str(value), '/:*')}" for name, value in pairs if value is not None]
        return text + ("?" + "&".join(written) if written else "")


def parse(uri: str) -> AmqpUri:
    """Read an AMQP URI; see the module's table. Raises UriError.

    Parameters RabbitMQ doesn't define end up in `options`, for the caller to use or to refuse.
    A plus sign is a plus sign, never a space.

    >>> uri = parse("amqp://me:pa%2Fss@mq.example.org/jobs?heartbeat=30&connection_timeout=2500")
    >>> uri.host, uri.port, uri.user, uri.password, uri.vhost
    ('mq.example.org', 5672, 'me', 'pa/ss', 'jobs')
    >>> uri.heartbeat, uri.connection_timeout
    (30, 2.5)
    >>> parse("amqp://one,two/")
    Traceback (most recent call last):
    amqp_sansio.uri.UriError: host at character 10: a ',' in it; a URI names one host, so several \
hosts are several URIs
    """
    for position, character in enumerate(uri):
        if character <= " " or character == "\x7f":
            raise _fault("URI", position, "a space or control character", _STRAY_SPACE)
    scheme, separator, rest = uri.partition("://")
    scheme = scheme.lower()
    if not separator or scheme not in _PORTS:
        raise _fault("scheme", 0, "neither amqp:// nor amqps://, nor one of a WebSocket", "begin with one of them")
    start = len(scheme) + 3
    if "#" in rest:
        position = start + rest.index("#")
        raise _fault("URI", position, "a '#' begins a fragment, which has no use here", _ENCODE)
    before, question, query_text = rest.partition("?")
    authority, slash, path = before.partition("/")
    user_info, at, host_port = authority.rpartition("@")
    if "@" in path:
        position = start + len(authority) + 1 + path.index("@")
        raise _fault("virtual host", position, "an '@' in it", _ENCODE)
    user = password = None
    if at:
        name, colon, secret = user_info.partition(":")
        user = _unquote(name, start, "user info")
        if colon:
            password = _unquote(secret, start + len(name) + 1, "user info")
    host, port = _read_host(host_port, start + len(user_info) + len(at), scheme)
    query = _Query(query_text, start + len(before) + len(question), scheme)
    timeout = query.integer("connection_timeout", 1, 0xFFFFFFFF)
    place = start + len(authority) + len(slash)
    if scheme in _BARE:
        vhost, inner = query.websocket_text("vhost") or "/", f"/{_unquote(path, place, 'path')}"
    else:
        vhost = _read_vhost(path, place)
        inner = (query.websocket_text("path") or "/") if scheme in _WEBSOCKETS else ""
    return AmqpUri(
        scheme,
        host,
        port,
        user,
        password,
        vhost,
        query.integer("heartbeat", 0, 0xFFFF),
        query.integer("channel_max", 0, 0xFFFF),
        query.integer("frame_max", 0, 0xFFFFFFFF),
        None if timeout is None else timeout / 1000,
        query.mechanisms(),
        query.tls_text("cacertfile"),
        query.tls_text("certfile"),
        query.tls_text("keyfile"),
        query.verify(),
        query.tls_text("server_name_indication"),
        query.others(),
        inner,
    )


def secured(scheme: str) -> str:
    """Return the scheme that is the same over TLS as one without.

    >>> [secured(each) for each in ("amqp", "amqp+ws", "ws")]
    ['amqps', 'amqps+ws', 'wss']
    """
    return "wss" if scheme == "ws" else scheme.replace("amqp", "amqps")


_PORTS = {"amqp": 5672, "amqps": 5671, "amqp+ws": 80, "amqps+ws": 443, "ws": 80, "wss": 443}
_SECURE = frozenset({"amqps", "amqps+ws", "wss"})
_WEBSOCKETS = frozenset({"amqp+ws", "amqps+ws", "ws", "wss"})
_BARE = frozenset({"ws", "wss"})
"""The schemes whose path is the WebSocket's."""
_IN_PATH = "/$:*+,;=!&'()"
"""What stands in a WebSocket's path as it is."""
_SECRET_WORDS = ("password", "passphrase", "passwd", "secret", "token")
_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_UNRESERVED = frozenset(_LETTERS + _LETTERS.lower() + "0123456789-._~")
_MECHANISM = frozenset(_LETTERS + "0123456789-_")
_HEX = frozenset("0123456789ABCDEFabcdef")
_NOT_IN_HOST = frozenset("/@:?#[]\\,;")
_STRAY_SPACE = "percent-encode it, or strip the text (a file often ends in a newline)"
_ENCODE = (
    "in a user name, password or virtual host write %2F for '/', %3F for '?', %23 for '#', %40 for '@' and %25 for '%'"
)


class _Query:
    """The query's parameters, taken one by one."""

    def __init__(self, text: str, start: int, scheme: str) -> None:
        self._scheme = scheme
        self._pairs: list[tuple[str, str, int]] = []
        self._taken: set[str] = set()
        for piece in text.split("&") if text else ():
            name, equals, value = piece.partition("=")
            if piece and not (name and equals):
                raise _fault("query", start, "no name=value", "write one, or take it out")
            if piece:
                key = _unquote(name, start, "query")
                self._add(key, _unquote(value, start + len(name) + 1, "query"), start)
            start += len(piece) + 1

    def _add(self, name: str, value: str, position: int) -> None:
        likeness = name.lower().replace("-", "_")
        if likeness in FIELDS and name not in FIELDS:
            raise _fault("query", position, "a misspelt parameter", f"write {likeness}")
        if name in FIELDS and not value:
            raise _fault("query", position, f"{name} is empty", "give a value, or take it out")
        self._pairs.append((name, value, position))

    def _one(self, name: str) -> tuple[str, int] | None:
        found = [(value, position) for key, value, position in self._pairs if key == name]
        if len(found) > 1:
            raise _fault("query", found[1][1], f"{name} for the second time", "keep one")
        return found[0] if found else None

    def integer(self, name: str, lowest: int, highest: int) -> int | None:
        found = self._one(name)
        if found is None:
            return None
        value, position = found
        number = int(value) if _is_number(value, 10) else -1
        if not lowest <= number <= highest:
            what = f"{name} isn't a whole number from {lowest} to {highest}"
            raise _fault("query", position, what, "correct it, or take it out")
        return number

    def tls_text(self, name: str) -> str | None:
        found = self._one(name)
        if found is None:
            return None
        if self._scheme not in _SECURE:
            begin = f"begin with {secured(self._scheme)}://"
            raise _fault("query", found[1], f"{name} has no use without TLS", begin)
        return found[0]

    def websocket_text(self, name: str) -> str | None:
        """Take the virtual host or the path of a WebSocket, which for other schemes is one of the others."""
        found = self._one(name)
        self._taken.add(name)
        if found is None:
            return None
        if name == "path" and not found[0].startswith("/"):
            raise _fault("query", found[1], "a path that doesn't begin with '/'", "write one such as /chat")
        if not found[0]:
            raise _fault("query", found[1], f"{name} is empty", "give a value, or take it out")
        return found[0]

    def verify(self) -> Verify | None:
        value = self.tls_text("verify")
        if value is None:
            return None
        if value == "verify_peer":
            return "verify_peer"
        if value == "verify_none":
            return "verify_none"
        position = next(position for name, _, position in self._pairs if name == "verify")
        what = "verify is neither verify_peer nor verify_none"
        raise _fault("query", position, what, "write one of them")

    def mechanisms(self) -> tuple[str, ...]:
        names: list[str] = []
        for name, value, position in self._pairs:
            if name == "auth_mechanism":
                if len(value) > 20 or not _MECHANISM.issuperset(value.upper()):
                    what = "auth_mechanism isn't the name of a SASL mechanism"
                    raise _fault("query", position, what, "write one, such as plain or external")
                names.append(value.upper())
        return tuple(names)

    def others(self) -> tuple[tuple[str, str], ...]:
        return tuple(
            [(name, value) for name, value, _ in self._pairs if name not in FIELDS and name not in self._taken]
        )


def _read_host(text: str, start: int, scheme: str) -> tuple[str, int]:
    if text.startswith("["):
        inside, bracket, after = text[1:].partition("]")
        host = _unquote(inside, start + 1, "host")
        if not bracket or not _is_ipv6(host):
            raise _fault("host", start, "no IPv6 address in the brackets", "write such as [::1]")
        if after and not after.startswith(":"):
            position = start + len(inside) + 2
            raise _fault("host", position, "something after the bracket", "only a port may follow")
        port, port_start = after[1:], start + len(inside) + 3
    else:
        for position, character in enumerate(text, start):
            if character in ",;":
                what = f"a '{character}' in it"
                remedy = "a URI names one host, so several hosts are several URIs"
                raise _fault("host", position, what, remedy)
        name, _, port = text.partition(":")
        port_start = start + len(name) + 1
        if ":" in port:
            what = "more than one ':'"
            raise _fault("host", port_start - 1, what, "write an IPv6 address in brackets: [::1]")
        host = _unquote(name, start, "host") or "localhost"
        if not (_NOT_IN_HOST.isdisjoint(host) and host.isprintable()) or " " in host:
            raise _fault("host", start, "a character that no host name has", _ENCODE)
    if not port:
        return host, _PORTS[scheme]
    number = int(port) if _is_number(port, 5) else 0
    if not 1 <= number <= 65535:
        what = "not a number from 1 to 65535"
        remedy = f"leave it and the ':' out for {_PORTS[scheme]}; {_ENCODE}"
        raise _fault("port", port_start, what, remedy)
    return host, number


def _read_vhost(path: str, start: int) -> str:
    if path in ("", "/"):
        return "/"
    if "/" in path:
        what = "a '/' in it"
        raise _fault("virtual host", start + path.index("/"), what, "write it as %2F")
    return _unquote(path, start, "virtual host")


def _is_ipv6(text: str) -> bool:
    """Whether this is an IPv6 address, with or without a zone (RFC 4291 section 2.2, RFC 4007)."""
    address, percent, zone = text.partition("%")
    head, gap, tail = address.partition("::")
    groups = [*(head.split(":") if head else ()), *(tail.split(":") if tail else ())]
    if groups and "." in groups[-1]:
        numbers = groups.pop().split(".")
        if len(numbers) != 4 or not all(_is_number(it, 3) and int(it) < 256 for it in numbers):
            return False
        groups += ["0", "0"]
    if not (len(groups) < 8 if gap else len(groups) == 8) or (percent and not zone):
        return False
    return all(0 < len(group) <= 4 and _HEX.issuperset(group) for group in groups)


def _is_number(text: str, digits: int) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= digits


def _is_secret(name: str) -> bool:
    return any(word in name.lower() for word in _SECRET_WORDS)


def _unquote(text: str, start: int, part: str) -> str:
    """Decode percent-encoded UTF-8."""
    try:
        first, *pieces = text.split("%")
        octets = first.encode()
        position = start + len(first)
        for piece in pieces:
            if len(piece) < 2 or not _HEX.issuperset(piece[:2]):
                raise _fault(part, position, "a '%' without two hex digits", "write %25 for '%'")
            octets += bytes.fromhex(piece[:2]) + piece[2:].encode()
            position += len(piece) + 1
        return octets.decode()
    except UnicodeError:
        raise _fault(part, start, "not UTF-8", "percent-encode the UTF-8 octets") from None


def _quote(text: str, safe: str = "") -> str:
    """Percent-encode all but unreserved characters and those in `safe`.

    A lone surrogate becomes octets that `_unquote` refuses.
    """
    return "".join(
        [
            chr(octet) if chr(octet) in _UNRESERVED or chr(octet) in safe else f"%{octet:02X}"
            for octet in text.encode("utf-8", "surrogatepass")
        ]
    )


def _fault(part: str, position: int, what: str, remedy: str) -> UriError:
    return UriError(f"{part} at character {position}: {what}; {remedy}", part, position)


__all__ = ["AmqpUri", "UriError", "Verify", "parse"]
