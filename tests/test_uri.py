"""AMQP URIs: what is accepted, what is refused and how, writing back, and what doesn't show."""

import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amqp_sansio.errors import AmqpError
from amqp_sansio.uri import AmqpUri, UriError, parse


@pytest.mark.parametrize(
    ("text", "uri"),
    [
        # The examples of RabbitMQ's specification.
        ("amqp://user:pass@host:10000/vhost", AmqpUri("amqp", "host", 10000, "user", "pass", "vhost")),
        ("amqp://user%61:%61pass@ho%61st:10000/v%2fhost", AmqpUri("amqp", "hoast", 10000, "usera", "apass", "v/host")),
        ("amqp://", AmqpUri("amqp", "localhost", 5672)),
        ("amqp://:@/", AmqpUri("amqp", "localhost", 5672, "", "")),
        ("amqp://user@", AmqpUri("amqp", "localhost", 5672, "user")),
        ("amqp://user:pass@", AmqpUri("amqp", "localhost", 5672, "user", "pass")),
        ("amqp://host", AmqpUri("amqp", "host", 5672)),
        ("amqp://:10000", AmqpUri("amqp", "localhost", 10000)),
        ("amqp:///vhost", AmqpUri("amqp", "localhost", 5672, vhost="vhost")),
        ("amqp://host/", AmqpUri("amqp", "host", 5672)),
        ("amqp://host/%2f", AmqpUri("amqp", "host", 5672)),
        ("amqp://[::1]", AmqpUri("amqp", "::1", 5672)),
        # Schemes and ports.
        ("amqps://host", AmqpUri("amqps", "host", 5671)),
        ("aMQpS://host:1", AmqpUri("amqps", "host", 1)),
        ("amqp://host:", AmqpUri("amqp", "host", 5672)),
        ("amqp://host:65535/", AmqpUri("amqp", "host", 65535)),
        # Hosts.
        ("amqp://127.0.0.1:1", AmqpUri("amqp", "127.0.0.1", 1)),
        ("amqp://u:p@[2001:db8::5]:1/v", AmqpUri("amqp", "2001:db8::5", 1, "u", "p", "v")),
        ("amqp://[::ffff:10.0.0.1]", AmqpUri("amqp", "::ffff:10.0.0.1", 5672)),
        ("amqp://[fe80::1%25eth0]/", AmqpUri("amqp", "fe80::1%eth0", 5672)),
        ("amqp://m\u00fcnchen.example", AmqpUri("amqp", "m\u00fcnchen.example", 5672)),
        ("amqp://a_b-c.d~", AmqpUri("amqp", "a_b-c.d~", 5672)),
        # Names with special characters.
        ("amqp://a%3Ab:p%40ss%2Fw%23o%3Frd%25@host", AmqpUri("amqp", "host", 5672, "a:b", "p@ss/w#o?rd%")),
        ("amqp://a:b:c@host", AmqpUri("amqp", "host", 5672, "a", "b:c")),
        ("amqp://a:b@c@host", AmqpUri("amqp", "host", 5672, "a", "b@c")),
        ("amqp://a:+!$&'()*,;=@host", AmqpUri("amqp", "host", 5672, "a", "+!$&'()*,;=")),
        ("amqp://@host", AmqpUri("amqp", "host", 5672, "")),
        ("amqp://jos%C3%A9:\u65e5@host", AmqpUri("amqp", "host", 5672, "jos\u00e9", "\u65e5")),
        ("amqp://host/%E6%97%A5%20x", AmqpUri("amqp", "host", 5672, vhost="\u65e5 x")),
        ("amqp://host/a:b+c", AmqpUri("amqp", "host", 5672, vhost="a:b+c")),
        ("amqp://host//", AmqpUri("amqp", "host", 5672)),
        # Parameters.
        ("amqp://host?heartbeat=5", AmqpUri("amqp", "host", 5672, heartbeat=5)),
        (
            "amqp://myhost?heartbeat=0&connection_timeout=10000",
            AmqpUri("amqp", "myhost", 5672, heartbeat=0, connection_timeout=10.0),
        ),
        (
            "amqp://host/v?channel_max=10&frame_max=8192&",
            AmqpUri("amqp", "host", 5672, vhost="v", channel_max=10, frame_max=8192),
        ),
        (
            "amqp://host/?auth_mechanism=plain&auth_mechanism=AMQPLAIN",
            AmqpUri("amqp", "host", 5672, auth_mechanism=("PLAIN", "AMQPLAIN")),
        ),
        (
            "amqps://myhost?cacertfile=/path/to/ca.pem&certfile=/a%20b&keyfile=c%26d=e"
            "&verify=verify_peer&server_name_indication=myhost",
            AmqpUri(
                "amqps",
                "myhost",
                5671,
                cacertfile="/path/to/ca.pem",
                certfile="/a b",
                keyfile="c&d=e",
                verify="verify_peer",
                server_name_indication="myhost",
            ),
        ),
        ("amqps://h?verify=verify_none", AmqpUri("amqps", "h", 5671, verify="verify_none")),
        (
            "amqp://h?name=a+b&x%3Dy=%26&name=",
            AmqpUri("amqp", "h", 5672, options=(("name", "a+b"), ("x=y", "&"), ("name", ""))),
        ),
        ("amqp://h?", AmqpUri("amqp", "h", 5672)),
        # WebSockets.
        ("amqp+ws://h", AmqpUri("amqp+ws", "h", 80, path="/")),
        ("amqps+ws://h:8443/v?path=/a/b", AmqpUri("amqps+ws", "h", 8443, vhost="v", path="/a/b")),
        ("AMQP+WS://u:p@[::1]:1/%2F", AmqpUri("amqp+ws", "::1", 1, "u", "p", path="/")),
        ("ws://h", AmqpUri("ws", "h", 80, path="/")),
        ("wss://h/$servicebus/websocket", AmqpUri("wss", "h", 443, path="/$servicebus/websocket")),
        ("wss://h/a%20b/?vhost=x%2Fy&heartbeat=5", AmqpUri("wss", "h", 443, vhost="x/y", heartbeat=5, path="/a b/")),
        ("ws://h/%25?name=a", AmqpUri("ws", "h", 80, path="/%", options=(("name", "a"),))),
        ("wss://h/?verify=verify_none", AmqpUri("wss", "h", 443, verify="verify_none", path="/")),
        ("amqp://h?path=/x&vhost=y", AmqpUri("amqp", "h", 5672, options=(("path", "/x"), ("vhost", "y")))),
        ("ws://h/?path=/x", AmqpUri("ws", "h", 80, options=(("path", "/x"),), path="/")),
    ],
)
def test_accepted(text: str, uri: AmqpUri) -> None:
    parsed = parse(text)
    assert parsed == uri
    assert parsed.tls == (uri.scheme in ("amqps", "amqps+ws", "wss"))
    assert parsed.websocket == (uri.scheme not in ("amqp", "amqps")) == bool(parsed.path)
    assert parse(parsed.format()) == uri
    assert pickle.loads(pickle.dumps(parsed)) == uri


@pytest.mark.parametrize(
    ("text", "part", "position", "says"),
    [
        ("", "scheme", 0, "begin with one of them"),
        ("localhost:5672", "scheme", 0, "neither amqp:// nor amqps://"),
        ("amqp:host", "scheme", 0, "neither"),
        ("http://host", "scheme", 0, "neither"),
        ("pyamqp://host", "scheme", 0, "neither"),
        ("amqp+ssl://host", "scheme", 0, "neither"),
        ("amqp+ws://host?path=x", "query", 15, "doesn't begin with '/'"),
        ("amqp+ws://host?path=", "query", 15, "doesn't begin with '/'"),
        ("ws://host/a?vhost=", "query", 12, "vhost is empty"),
        ("ws://host/a?cacertfile=x", "query", 12, "begin with wss://"),
        ("amqp+ws://host?verify=verify_peer", "query", 15, "begin with amqps+ws://"),
        ("ws://host/%zz", "path", 10, "two hex digits"),
        ("amqp://host\n", "URI", 11, "a file often ends in a newline"),
        (" amqp://host", "URI", 0, "a space or control character"),
        ("amqp://a b@host", "URI", 8, "percent-encode it"),
        ("amqp://host/a\x7f", "URI", 13, "control character"),
        ("amqp://host/v#x", "URI", 13, "fragment"),
        ("amqp://u:s3cret#x@host", "URI", 15, "%23 for '#'"),
        ("amqp://u:s3cret/x@host/v", "virtual host", 17, "%2F for '/'"),
        ("amqp://u:s3cret?x@host", "port", 9, "%3F for '?'"),
        ("amqp://s3cret:s3cret", "port", 14, "not a number from 1 to 65535"),
        ("amqp://u:%@host", "user info", 9, "write %25 for '%'"),
        ("amqp://u:s3cret%4@host", "user info", 15, "two hex digits"),
        ("amqp://%xyu@host", "user info", 7, "two hex digits"),
        ("amqp://u:%FFs3cret@host", "user info", 9, "not UTF-8"),
        ("amqp://u:\ud800@host", "user info", 9, "not UTF-8"),
        ("amqp://foo%1", "host", 10, "two hex digits"),
        ("amqp://foo%1x", "host", 10, "two hex digits"),
        ("amqp://h%FF", "host", 7, "not UTF-8"),
        ("amqp://h%2Fx", "host", 7, "no host name"),
        ("amqp://h%2Cx", "host", 7, "no host name"),
        ("amqp://h%20x", "host", 7, "no host name"),
        ("amqp://h%0Ax", "host", 7, "no host name"),
        ("amqp://a,b/", "host", 8, "several hosts are several URIs"),
        ("amqp://u:p@one:1,two:2/", "host", 16, "several hosts are several URIs"),
        ("amqp://one;amqp://two", "host", 10, "several hosts are several URIs"),
        ("amqp://::1/", "host", 7, "in brackets"),
        ("amqp://foo:bar:baz", "host", 10, "more than one ':'"),
        ("amqp://foo[::1]", "host", 11, "in brackets"),
        ("amqp://foo:[::1]", "host", 10, "in brackets"),
        ("amqp://[::1]foo", "host", 12, "only a port may follow"),
        ("amqp://[::1", "host", 7, "no IPv6 address"),
        ("amqp://[]", "host", 7, "no IPv6 address"),
        ("amqp://[host]", "host", 7, "no IPv6 address"),
        ("amqp://[127.0.0.1]", "host", 7, "no IPv6 address"),
        ("amqp://[1:2:3]", "host", 7, "no IPv6 address"),
        ("amqp://[1:2:3:4:5:6:7:8:9]", "host", 7, "no IPv6 address"),
        ("amqp://[1::2::3]", "host", 7, "no IPv6 address"),
        ("amqp://[::12345]", "host", 7, "no IPv6 address"),
        ("amqp://[::1.2.3]", "host", 7, "no IPv6 address"),
        ("amqp://[::1.2.3.256]", "host", 7, "no IPv6 address"),
        ("amqp://[::1%25]", "host", 7, "no IPv6 address"),
        ("amqp://[fe80::1%eth0]", "host", 15, "write %25"),
        ("amqp://host:x", "port", 12, "leave it and the ':' out for 5672"),
        ("amqps://host:0", "port", 13, "leave it and the ':' out for 5671"),
        ("amqp://host:65536", "port", 12, "from 1 to 65535"),
        ("amqp://host:1000xyz", "port", 12, "from 1 to 65535"),
        ("amqp://host:-1", "port", 12, "from 1 to 65535"),
        ("amqp://host:+1", "port", 12, "from 1 to 65535"),
        ("amqp://host:\u0661", "port", 12, "from 1 to 65535"),
        ("amqp://host:" + "9" * 5000, "port", 12, "from 1 to 65535"),
        ("amqp://[::1]:x", "port", 13, "from 1 to 65535"),
        ("amqp://host/a/b", "virtual host", 13, "write it as %2F"),
        ("amqp://host//vhost", "virtual host", 12, "write it as %2F"),
        ("amqp://host/%GG", "virtual host", 12, "two hex digits"),
        ("amqp://host/%ff", "virtual host", 12, "not UTF-8"),
        ("amqp://host?heartbeat", "query", 12, "no name=value"),
        ("amqp://host?a=b&=x", "query", 16, "no name=value"),
        ("amqp://host?heartbeat=", "query", 12, "heartbeat is empty"),
        ("amqp://host?heartbeat=x", "query", 12, "whole number from 0 to 65535"),
        ("amqp://host?heartbeat=1.5", "query", 12, "whole number from 0 to 65535"),
        ("amqp://host?heartbeat=-1", "query", 12, "whole number from 0 to 65535"),
        ("amqp://host?heartbeat=65536", "query", 12, "whole number from 0 to 65535"),
        ("amqp://host?a=b&heartbeat=1&heartbeat=1", "query", 28, "for the second time"),
        ("amqp://host?channel_max=65536", "query", 12, "whole number from 0 to 65535"),
        ("amqp://host?frame_max=4294967296", "query", 12, "from 0 to 4294967295"),
        ("amqp://host?connection_timeout=0", "query", 12, "from 1 to 4294967295"),
        ("amqp://host?Heartbeat=5", "query", 12, "write heartbeat"),
        ("amqp://host?channel-max=5", "query", 12, "write channel_max"),
        ("amqp://host?auth_mechanism=plain,external", "query", 12, "name of a SASL mechanism"),
        ("amqp://host?auth_mechanism=" + "x" * 21, "query", 12, "name of a SASL mechanism"),
        ("amqps://host?verify=yes", "query", 13, "neither verify_peer nor verify_none"),
        ("amqp://host?verify=verify_peer", "query", 12, "begin with amqps://"),
        ("amqp://host?cacertfile=x", "query", 12, "begin with amqps://"),
        ("amqp://host?a=%", "query", 14, "two hex digits"),
    ],
)
def test_refused(text: str, part: str, position: int, says: str) -> None:
    with pytest.raises(UriError) as caught:
        parse(text)
    error = caught.value
    assert (error.part, error.position) == (part, position)
    assert says in str(error)
    assert str(error).startswith(f"{part} at character {position}: ")
    assert "s3cret" not in str(error)
    assert isinstance(error, AmqpError) and isinstance(error, ValueError)
    copy = pickle.loads(pickle.dumps(error))
    assert (str(copy), copy.part, copy.position) == (str(error), part, position)


def test_secrets_do_not_show() -> None:
    text = "amqps://me:s3cret@host/v?password=s3cret&keyPassphrase=s3cret&access_token=s3cret&name=plainly"
    uri = parse(text)
    assert uri.password == "s3cret"
    assert uri.option("password") == ("s3cret",)
    for shown in (str(uri), repr(uri), f"{uri}", uri.redacted()):
        assert "s3cret" not in shown
        assert "me:***@host" in shown
        assert "access_token=***" in shown
        assert "name=plainly" in shown
    assert uri.format() == text
    assert "***" in str(parse("amqp://me:@host"))
    assert "***" not in str(parse("amqp://me@host"))


def test_what_is_written_is_read_alike_by_every_client() -> None:
    assert parse("AMQP://Host:5672//").format() == "amqp://Host/%2F"
    assert parse("amqps://h:5672/").format() == "amqps://h:5672/%2F"
    assert parse("amqp://[fe80::1%25a%2Fb]").host == "fe80::1%a/b"
    assert parse("amqp://[fe80::1%25e0]:1").format() == "amqp://[fe80::1%25e0]:1/%2F"
    assert (
        parse("amqp://h?auth_mechanism=PLAIN&connection_timeout=1").format()
        == "amqp://h/%2F?connection_timeout=1&auth_mechanism=plain"
    )


@pytest.mark.parametrize(
    "uri",
    [
        AmqpUri("amqp", "host", 5672, vhost=""),
        AmqpUri("amqp", "", 5672),
        AmqpUri("amqp", "a b", 5672),
        AmqpUri("amqp", "a:b", 5672),
        AmqpUri("http", "host", 5672),
        AmqpUri("amqp", "host", 0),
        AmqpUri("amqp", "host", 65536),
        AmqpUri("amqp", "host", 5672, None, "password"),
        AmqpUri("amqp", "host", 5672, "\ud800"),
        AmqpUri("amqp", "host", 5672, heartbeat=-1),
        AmqpUri("amqp", "host", 5672, connection_timeout=0.0001),
        AmqpUri("amqp", "host", 5672, connection_timeout=1.00001),
        AmqpUri("amqp", "host", 5672, auth_mechanism=("plain",)),
        AmqpUri("amqp", "host", 5672, cacertfile="x"),
        AmqpUri("amqps", "host", 5671, cacertfile=""),
        AmqpUri("amqp", "host", 5672, options=(("heartbeat", "1"),)),
        AmqpUri("amqp", "host", 5672, options=(("", "1"),)),
    ],
)
def test_what_no_uri_can_say_is_refused_on_writing(uri: AmqpUri) -> None:
    with pytest.raises(UriError, match="the record has no URI form"):
        uri.format()
    assert repr(uri).startswith("AmqpUri('")
    assert str(uri) == uri.redacted()


names = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=10)
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=10)
hosts = st.one_of(
    st.from_regex(r"[A-Za-z0-9_.\-]{1,12}", fullmatch=True),
    st.text(st.characters(categories=["L", "N"]), min_size=1, max_size=8),
    st.ip_addresses().map(str),
    st.ip_addresses(v=6).map(lambda address: address.exploded),
)
option_names = names.filter(lambda it: not hasattr(AmqpUri, it.lower().replace("-", "_")))


@st.composite
def uris(draw: st.DrawFn) -> AmqpUri:
    """Any record that a URI can say."""
    scheme = draw(st.sampled_from(["amqp", "amqps"]))
    user = draw(st.none() | texts)
    optional_name = st.none() if scheme == "amqp" else st.none() | names
    milliseconds = draw(st.none() | st.integers(1, 2**32 - 1))
    return AmqpUri(
        scheme,
        draw(hosts),
        draw(st.integers(1, 65535)),
        user,
        None if user is None else draw(st.none() | texts),
        draw(names),
        draw(st.none() | st.integers(0, 65535)),
        draw(st.none() | st.integers(0, 65535)),
        draw(st.none() | st.integers(0, 2**32 - 1)),
        None if milliseconds is None else milliseconds / 1000,
        tuple(draw(st.lists(st.from_regex(r"[A-Z0-9_\-]{1,20}", fullmatch=True), max_size=3))),
        draw(optional_name),
        draw(optional_name),
        draw(optional_name),
        draw(st.sampled_from([None, "verify_peer", "verify_none"])) if scheme == "amqps" else None,
        draw(optional_name),
        tuple(draw(st.lists(st.tuples(option_names, texts), max_size=3))),
    )


@given(uris())
def test_what_is_written_reads_back(uri: AmqpUri) -> None:
    text = uri.format()
    assert text.isascii()
    assert parse(text) == uri
    assert parse(text).format() == text


@given(uris())
def test_the_redacted_form_differs_in_secrets_only(uri: AmqpUri) -> None:
    assert (uri.redacted() == uri.format()) == (
        uri.password in (None, "***") and all(value == "***" for name, value in uri.options if name == "password")
    )
    assert parse(uri.redacted()).vhost == uri.vhost


@given(st.text(max_size=40))
def test_any_text_is_read_or_refused(text: str) -> None:
    for candidate in (text, "amqp://" + text, "amqps://" + text, "amqp://h?" + text):
        try:
            uri = parse(candidate)
        except UriError:
            continue
        assert parse(uri.format()) == uri


@given(st.text(st.sampled_from("amqps:/@[]%?#&=12.,;\u00e9x"), max_size=30))
def test_any_punctuation_is_read_or_refused(text: str) -> None:
    try:
        uri = parse("amqp://" + text)
    except UriError as error:
        assert error.position is not None
        assert 0 <= error.position <= len(text) + 7
    else:
        assert parse(uri.format()) == uri
