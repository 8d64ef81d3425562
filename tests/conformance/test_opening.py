"""The opening of a connection: header, start, secure, tune, open (0-9-1 sections 1.4.2, 2.2.4, 4.2.2; 0-8 the same)."""

from collections.abc import Callable, Iterator
from struct import unpack_from
from typing import Any, Final

import pytest

from amqp_sansio import (
    AMQP_0_8,
    AMQP_0_9_1,
    Acceptor,
    AuthenticationRequested,
    By,
    Closed,
    CloseHint,
    Failed,
    LocalProtocolError,
    Opened,
    OpenRequested,
    RemoteProtocolError,
    Scope,
    Version,
)
from amqp_sansio.amqp_0_9_1 import Config
from amqp_sansio.endpoint import Side
from amqp_sansio.limits import Limits
from amqp_sansio.negotiation import Accepted, Refused
from amqp_sansio.sasl import AmqPlain, External, Plain, ScramSha256, scram_keys
from tests.core.test_headers import HEADERS, NO_HEADERS
from tests.kit.applications import Server
from tests.kit.facing import CLIENT, SERVER
from tests.kit.facing_classic import STRICT, Facing, both_rules, start, start_ok, tune_ok, tuned_client, tuning_server
from tests.kit.octets_classic import HEARTBEAT, METHOD, body, frame, header
from tests.kit.pair_classic import Pair, client_config, server_config

UNKNOWN = {**NO_HEADERS, **{name: HEADERS[name] for name in ("1.0", "0-10", "nonsense")}}


@pytest.mark.parametrize("numbers", [b"\x01\x01\x08\x00", b"\x01\x01\x09\x01"])
@pytest.mark.rule("0-8/wire/header-class-instance", "0-8/wire/header-client-first")
@pytest.mark.rule("0-8/connection.start/version<=requested")
def test_a_server_of_0_8_takes_class_1_instance_1(numbers: bytes) -> None:
    facing = Facing(AMQP_0_8, SERVER)
    facing.feed(b"AMQP" + numbers)
    start = facing.sent()[0].method
    assert (start.NAME, start.version_major, start.version_minor) == ("connection.start", 8, 0)
    # 8-0 is not above what either header asks for.
    assert (start.version_major, start.version_minor) <= tuple(numbers[2:])


@pytest.mark.parametrize("numbers", [b"\x00\x00\x09\x01", b"\x01\x01\x00\x09"])
@pytest.mark.rule("0-9-1/connection.start/server-support")
def test_a_server_of_0_9_1_proposes_no_higher_version_than_asked_for(numbers: bytes) -> None:
    facing = Facing(AMQP_0_9_1, SERVER)
    facing.feed(b"AMQP" + numbers)
    start = facing.sent()[0].method
    assert (start.NAME, start.version_major, start.version_minor) == ("connection.start", 0, 9)


@pytest.mark.parametrize("offered", [(0, 10), (1, 0), (9, 1), (255, 255)])
@pytest.mark.rule("0-8/connection.start/client-cannot-do-version", "0-9-1/connection.start/client-support")
def test_a_client_hangs_up_on_a_version_it_cannot_do(version: Version, offered: tuple[int, int]) -> None:
    facing = Facing(version, CLIENT)
    start = facing.method(
        "connection.start", 0, version_major=offered[0], version_minor=offered[1], mechanisms=b"PLAIN", locales=b"en_US"
    )
    facing.refuses(start, code=0, rule="connection.start/client-support")


@pytest.mark.parametrize("octets", UNKNOWN.values(), ids=UNKNOWN.keys())
@pytest.mark.rule("0-8/wire/header-unsupported", "0-9-1/wire/header-unsupported", "0-9-1/wire/header-all-eight")
def test_the_acceptor_answers_unknown_headers_with_the_preferred_one(octets: bytes) -> None:
    acceptor = Acceptor({AMQP_0_9_1: Config(), AMQP_0_8: Config()})
    acceptor.receive_data(octets, 0.0)
    result = acceptor.result()
    assert isinstance(result, Refused)
    assert (result.reply, result.received) == (AMQP_0_9_1.header, octets)


@pytest.mark.parametrize(
    ("header", "version", "numbers"),
    [
        (b"AMQP\x00\x00\x09\x01", AMQP_0_9_1, (0, 9)),
        (b"AMQP\x01\x01\x00\x09", AMQP_0_9_1, (0, 9)),
        (b"AMQP\x01\x01\x08\x00", AMQP_0_8, (8, 0)),
        (b"AMQP\x01\x01\x09\x01", AMQP_0_8, (8, 0)),
    ],
)
@pytest.mark.rule("0-9-1/wire/header-all-eight", "0-8/wire/header-class-instance")
def test_the_acceptor_tells_the_versions_apart_by_all_eight_octets(
    header: bytes, version: Version, numbers: tuple[int, int]
) -> None:
    acceptor = Acceptor({AMQP_0_9_1: Config(), AMQP_0_8: Config()})
    for octet in header:
        acceptor.receive_data(bytes((octet,)), 0.0)
    result = acceptor.result()
    assert isinstance(result, Accepted)
    assert result.version is version
    connection: Any = result.connection
    connection.next_event()
    octets = connection.data_to_send(0.0)
    assert unpack_from(">HHBB", octets, 7) == (10, 10, *numbers)


# The opening of a connection: start, secure, tune, open (0-9-1 sections 1.4.2, 2.2.4; class connection of 0-8).


def stages(version: Version, side: Side) -> Iterator[tuple[str, Facing]]:
    """An endpoint in every state between the accepted header and open."""
    if side is CLIENT:
        facing = Facing(version, CLIENT).forget()
        yield "header sent", facing
        facing = Facing(version, CLIENT)
        facing.feed(start(facing))
        yield "start-ok sent", facing.forget()
        facing = Facing(version, CLIENT)
        facing.feed(start(facing), facing.method("connection.secure", 0, challenge=b""))
        return
    facing = Facing(version, SERVER)
    facing.feed(version.header)
    yield "start sent", facing.forget()
    facing = Facing(version, SERVER, server_config(mechanisms=("SCRAM-SHA-256",), nonce="x" * 24))
    facing.feed(version.header)
    facing.feed(start_ok(facing, mechanism="SCRAM-SHA-256", response=b"n,,n=guest,r=abcdefgh"))
    facing.end.provide_scram_keys(scram_keys("guest", b"salt" * 4))
    yield "secure sent", facing.forget()
    facing = Facing(version, SERVER)
    facing.feed(version.header, start_ok(facing))
    facing.end.accept_authentication()
    yield "tune sent", facing.forget()
    facing = Facing(version, SERVER)
    facing.feed(version.header, start_ok(facing))
    facing.end.accept_authentication()
    tuned = facing.method("connection.tune-ok", 0, channel_max=9, frame_max=4096, heartbeat=0)
    facing.feed(tuned)
    yield "tune-ok received", facing.forget()


@pytest.mark.parametrize(
    ("name", "unit"),
    [
        ("a method of the wrong moment", None),
        ("no such method", frame(METHOD, 0, b"\x00\x63\x00\x01")),
        ("a method that doesn't decode", frame(METHOD, 0, b"\x00\x0a\x00\x0a\x00")),
        ("too short a method", frame(METHOD, 0, b"\x00")),
        ("content", header(1, 60, 0)),
        ("a body", body(1, b"x")),
        ("a heartbeat on a channel", frame(HEARTBEAT, 1)),
        ("an unknown frame", frame(9, 0)),
        ("a bad end", frame(METHOD, 0, b"\x00\x0a\x00\x0a", end=0)),
        ("too large a frame", b"\x01\x00\x00\x00\x30\x00\x00"),
    ],
    ids=lambda value: value.replace(" ", "-") if isinstance(value, str) else "",
)
@pytest.mark.rule("0-9-1/connection/pre-open-error", "0-8/connection/grammar")
def test_before_open_an_error_closes_the_socket_without_a_word(
    version: Version, side: Side, name: str, unit: bytes | None
) -> None:
    for stage, facing in stages(version, side):
        facing.feed(unit if unit is not None else facing.method("connection.open-ok", 0))
        (failed,) = facing.of(Failed)
        error = failed.error
        assert isinstance(error, RemoteProtocolError), stage
        assert (error.scope, error.code) == (Scope.CONNECTION, 0), (stage, error)
        assert facing.out == b"", (stage, facing.names())
        assert facing.hint() is not CloseHint.KEEP
        assert isinstance(facing.events[-1], Closed)


@both_rules("connection.tune-ok/lower")
@pytest.mark.rule("0-8/connection/grammar", "0-9-1/connection/life-cycle", "0-8/connection.open/first")
def test_the_opening_goes_header_start_tune_open(pair: Pair) -> None:
    octets = bytes(pair.sent[CLIENT])
    assert octets.startswith(pair.version.header)
    reader = Facing(pair.version, CLIENT)
    reader.out = octets[8:]
    assert reader.names() == ["connection.start-ok", "connection.tune-ok", "connection.open"]
    reader.out = bytes(pair.sent[SERVER])
    assert reader.names() == ["connection.start", "connection.tune", "connection.open-ok"]


@pytest.mark.rule("0-8/connection/grammar", "0-9-1/connection/life-cycle")
def test_challenges_come_between_start_ok_and_tune(version: Version) -> None:
    keys = scram_keys("guest", b"salt" * 4)

    class Keyed(Server):
        def __call__(self, connection: Any, event: Any) -> None:
            if type(event).__name__ == "ScramKeysRequested":
                connection.provide_scram_keys(keys)
            else:
                super().__call__(connection, event)

    pair = Pair(
        version,
        client=client_config(sasl=ScramSha256("guest", "guest", nonce="c" * 24)),
        server=server_config(mechanisms=("SCRAM-SHA-256",), nonce="s" * 24),
        applications={SERVER: Keyed()},
    ).open()
    reader = Facing(version, CLIENT)
    reader.out = bytes(pair.sent[CLIENT])[8:]
    names = reader.names()
    assert names[0] == "connection.start-ok"
    assert set(names[1:-2]) == {"connection.secure-ok"}
    assert names[-2:] == ["connection.tune-ok", "connection.open"]


# What each side says of itself.


@pytest.mark.rule("0-8/domain/peer-properties.fields", "0-9-1/connection.start-ok/client-properties")
def test_both_sides_say_who_they_are(pair: Pair) -> None:
    for end in pair.ends.values():
        named = {"product", "version", "platform", "copyright", "information"}
        assert named <= set(end.peer_properties)
        assert all(isinstance(end.peer_properties[name], str) for name in named)
        assert all(end.peer_properties[name] for name in named)


@both_rules("connection.start/mechanisms-notnull", "connection.start/locales-notnull")
@pytest.mark.rule("0-8/connection.start/locale-en_US", "0-9-1/connection.start/locale-en_us")
def test_a_server_offers_mechanisms_and_the_locale_en_us(version: Version) -> None:
    facing = Facing(version, SERVER, server_config(locale="de_DE en_US", mechanisms=("PLAIN",)))
    facing.feed(version.header)
    sent = facing.sent()[0].method
    assert (sent.mechanisms, sent.locales) == (b"PLAIN", b"de_DE en_US")
    plain = Facing(version, SERVER)
    plain.feed(version.header)
    assert plain.sent()[0].method.locales == b"en_US"
    for wrong in ({"mechanisms": ()}, {"locale": "de_DE"}, {"locale": ""}):
        with pytest.raises(ValueError, match=r"mechanisms|en_US"):
            Facing(version, SERVER, server_config(**wrong))


@pytest.mark.parametrize("missing", ["mechanisms", "locales"])
@both_rules("connection.start/mechanisms-notnull", "connection.start/locales-notnull")
def test_a_strict_client_hangs_up_on_a_start_without_mechanisms_or_locales(version: Version, missing: str) -> None:
    facing = Facing(version, CLIENT, client_config(dialect=STRICT[version]))
    facing.refuses(start(facing, **{missing: b" "}), code=0, rule=f"connection.start/{missing}-notnull")


# Which mechanism and locale.


@pytest.mark.parametrize(
    ("offered", "chosen"),
    [
        (b"PLAIN AMQPLAIN EXTERNAL SCRAM-SHA-256", "EXTERNAL"),
        (b"AMQPLAIN PLAIN SCRAM-SHA-256", "SCRAM-SHA-256"),
        (b"AMQPLAIN PLAIN", "PLAIN"),
        (b"AMQPLAIN", "AMQPLAIN"),
    ],
)
@both_rules("connection.start-ok/best-mechanism", "connection.start-ok/mechanism-notnull")
def test_a_client_takes_the_strongest_mechanism_that_is_offered(version: Version, offered: bytes, chosen: str) -> None:
    every = (
        AmqPlain("guest", "guest"),
        Plain("guest", "guest"),
        ScramSha256("guest", "guest", nonce="n" * 24),
        External(),
    )
    facing = Facing(version, CLIENT, client_config(sasl=every)).forget()
    facing.feed(start(facing, mechanisms=offered))
    assert facing.sent()[0].method.mechanism == chosen


@pytest.mark.parametrize("offered", [b"", b"EXTERNAL", b"plain", b"PLAINER"])
@both_rules("connection.start-ok/mechanism-notnull")
@pytest.mark.rule("0-8/connection.start-ok/mechanism-not-offered")
def test_a_client_hangs_up_rather_than_use_a_mechanism_that_is_not_offered(version: Version, offered: bytes) -> None:
    facing = Facing(version, CLIENT).forget()
    facing.feed(start(facing, mechanisms=offered))
    (failed,) = facing.of(Failed)
    assert failed.by is By.LOCAL
    assert facing.out == b""
    assert facing.hint() is not CloseHint.KEEP


@pytest.mark.parametrize("mechanism", ["", "EXTERNAL", "plain", "GSSAPI", "PLAIN AMQPLAIN"])
@both_rules("connection.start-ok/mechanism-not-offered", "connection.start-ok/mechanism-notnull")
def test_a_server_hangs_up_on_a_mechanism_it_did_not_offer(version: Version, mechanism: str) -> None:
    facing = Facing(version, SERVER)
    facing.feed(version.header)
    facing.refuses(start_ok(facing, mechanism=mechanism), code=0, rule="connection.start-ok/mechanism-not-offered")


@pytest.mark.parametrize(
    ("wanted", "offered", "used"),
    [
        pytest.param("de_DE", b"en_US de_DE", "de_DE", id="offered"),
        pytest.param("de_DE", b"en_US", "en_US", id="not offered"),
        pytest.param("en_US", b"en_US", "en_US", id="the only one"),
        pytest.param("en_US", b"", "en_US", id="none offered"),
    ],
)
@both_rules("connection.start-ok/locale-notnull", "connection.start-ok/locale-offered")
def test_a_client_names_a_locale_that_is_offered(version: Version, wanted: str, offered: bytes, used: str) -> None:
    facing = Facing(version, CLIENT, client_config(locale=wanted)).forget()
    facing.feed(start(facing, locales=offered))
    assert facing.sent()[0].method.locale == used


@both_rules("connection.start-ok/locale-notnull")
def test_a_client_has_a_locale(version: Version) -> None:
    with pytest.raises(ValueError, match="locale"):
        Facing(version, CLIENT, client_config(locale=""))


@pytest.mark.rule("0-8/connection.start-ok/locale-notnull", "0-9-1/connection.start-ok/locale-notnull")
def test_a_strict_server_hangs_up_on_a_client_without_a_locale(version: Version) -> None:
    facing = Facing(version, SERVER, server_config(dialect=STRICT[version]))
    facing.feed(version.header)
    facing.refuses(start_ok(facing, locale=""), code=0, rule="connection.start-ok/locale-notnull")


# The virtual host.


@pytest.fixture
def asking(version: Version) -> Pair:
    """Two ends, whose server waits for the application to say whether the client may have its virtual host."""
    pair = Pair(version, client=client_config(vhost="v"), applications={SERVER: Server(vhost=False)})
    pair.pump()
    assert [event.vhost for event in pair.take(SERVER, OpenRequested)] == ["v"]
    assert not pair.client.is_open
    return pair


@pytest.mark.rule("0-8/connection.open/vhost-permission", "0-9-1/connection.open/vhost-permission")
def test_a_client_is_let_into_a_virtual_host_when_asked(asking: Pair) -> None:
    asking.server.accept_open()
    asking.pump()
    kinds: list[object] = [type(event) for event in asking.take(CLIENT)]
    assert Opened in kinds
    assert Failed not in kinds
    assert asking.ends[CLIENT].report is None
    assert asking.ends[SERVER].report is None


@pytest.mark.rule("0-8/connection.open/vhost-permission", "0-9-1/connection.open/vhost-permission")
def test_a_client_is_kept_out_of_a_virtual_host(asking: Pair) -> None:
    asking.server.refuse_open(403, "not for you")
    asking.pump()
    kinds: list[object] = [type(event) for event in asking.take(CLIENT)]
    assert Opened not in kinds
    assert Failed in kinds
    for side, by in ((CLIENT, By.REMOTE), (SERVER, By.LOCAL)):
        report = asking.ends[side].report
        assert report is not None
        assert (report.by, report.code, report.class_id) == (by, 403, 10)


@pytest.mark.rule("0-8/connection.open/one-vhost", "0-9-1/connection.open/one-vhost")
def test_a_connection_has_one_virtual_host(facing: Facing) -> None:
    if facing.side is SERVER:
        facing.refuses(
            facing.method("connection.open", 0, virtual_host="other"), code=503, rule="connection/life-cycle"
        )
        return
    again = facing.make("connection.open", virtual_host="other")
    facing.misuse(lambda: facing.end.call(again), None)
    facing.misuse(lambda: facing.channel.call(again), None)


BAD_VHOSTS_0_8 = {
    "nohost": "domain/path.syntax",
    "/": None,
    "//": "domain/path.syntax",
    "/a/": "domain/path.syntax",
    "/-": "domain/path.syntax",
    "/a b": "domain/path.syntax",
    "/a-b": "connection.open/vhost-regexp",
    "/a.b": "connection.open/vhost-regexp",
    "/a+b": "connection.open/vhost-regexp",
    "/data_1/part=2": None,
}


@pytest.mark.parametrize(("vhost", "rule"), BAD_VHOSTS_0_8.items())
@pytest.mark.rule("0-8/domain/path.syntax", "0-8/connection.open/vhost-regexp")
def test_strict_0_8_checks_the_path_of_a_virtual_host(vhost: str, rule: str | None) -> None:
    dialect = STRICT[AMQP_0_8]
    if rule is None:
        Facing.opened(AMQP_0_8, CLIENT, vhost=vhost, dialect=dialect)
        return
    with pytest.raises(ValueError, match="vhost"):
        Facing(AMQP_0_8, CLIENT, client_config(vhost=vhost, dialect=dialect))
    server_refuses_vhost(AMQP_0_8, vhost, rule)


@both_rules("domain/path.notnull", "domain/path.length")
def test_strict_dialects_want_a_virtual_host_of_1_to_127_octets(version: Version) -> None:
    for vhost, rule in (("", "notnull"), ("/" + "x" * 127, "length"), ("/" + "é" * 64, "length")):
        config: dict[str, Any] = {"vhost": vhost, "dialect": STRICT[version]}
        with pytest.raises(ValueError, match="vhost"):
            Facing(version, CLIENT, client_config(**config))
        server_refuses_vhost(version, vhost, f"domain/path.{rule}")
    Facing.opened(version, CLIENT, vhost="/" + "x" * 126, dialect=STRICT[version])


def test_other_dialects_take_any_virtual_host(version: Version) -> None:
    for vhost in ("", "x" * 255, "a vhost/with-anything"):
        assert Facing.opened(version, SERVER, vhost=vhost).end.vhost == vhost


def server_refuses_vhost(version: Version, vhost: str, rule: str) -> None:
    """A strict server hangs up on connection.open for `vhost`."""
    server = Facing(version, SERVER, server_config(dialect=STRICT[version]))
    server.feed(version.header, start_ok(server))
    server.end.accept_authentication()
    server.feed(server.method("connection.tune-ok", 0, channel_max=9, frame_max=4096))
    server.refuses(server.method("connection.open", 0, virtual_host=vhost), code=0, rule=rule)


# Redirect (0-8).


@pytest.mark.rule("0-8/connection.redirect/host-notnull")
def test_a_redirect_names_a_host() -> None:
    server = Facing(AMQP_0_8, SERVER)
    server.feed(AMQP_0_8.header, start_ok(server))
    server.end.accept_authentication()
    server.feed(
        server.method("connection.tune-ok", 0, channel_max=9, frame_max=4096),
        server.method("connection.open", 0, virtual_host="/"),
    )
    server.forget()
    server.misuse(lambda: server.end.redirect(""), "connection.redirect/host-notnull")
    server.misuse(lambda: server.end.redirect("x" * 300), None)
    server.end.redirect("other:5672", "third:5672")
    server.settle()
    assert server.sent()[0].method.host == "other:5672"
    assert server.hint() is CloseHint.CLOSE_WHEN_SENT


@pytest.mark.rule("0-8/connection.redirect/host-notnull", "0-8/connection/grammar")
def test_a_client_refuses_a_redirect_to_nowhere() -> None:
    client = opening_client(AMQP_0_8)
    client.refuses(client.method("connection.redirect", 0), code=502, rule="connection.redirect/host-notnull")


@pytest.mark.rule("0-8/connection/grammar")
def test_a_redirected_client_hangs_up_and_tells_where_to_go() -> None:
    client = opening_client(AMQP_0_8)
    client.feed(client.method("connection.redirect", 0, host="other:1", known_hosts="third:2"))
    redirected, closed = client.events
    assert (redirected.host, redirected.known_hosts) == ("other:1", "third:2")  # type: ignore[attr-defined]
    assert isinstance(closed, Closed)
    assert client.hint() is not CloseHint.KEEP


def opening_client(version: Version) -> Facing:
    """A client that has sent connection.open."""
    client = Facing(version, CLIENT)
    client.feed(start(client), client.method("connection.tune", 0, channel_max=9, frame_max=4096, heartbeat=0))
    return client.forget()


@pytest.mark.rule("0-8/domain/known-hosts.may-empty")
def test_known_hosts_may_be_empty() -> None:
    for hosts in ("", "a:1,b:2"):
        pair = Pair(AMQP_0_8, server=server_config(known_hosts=hosts)).open()
        reader = Facing(AMQP_0_8, CLIENT)
        reader.out = bytes(pair.sent[SERVER])
        assert reader.sent()[-1].method.known_hosts == hosts


# Answers of the server's application.


@pytest.mark.parametrize("mechanism", ["PLAIN", "AMQPLAIN", "SCRAM-SHA-256"])
def test_an_empty_response_is_refused_where_the_mechanism_has_something_to_say(
    version: Version, mechanism: str
) -> None:
    config = server_config(mechanisms=(mechanism,), nonce="x" * 24)
    facing = Facing(version, SERVER, config)
    facing.feed(version.header)
    facing.forget()
    facing.refuses(start_ok(facing, mechanism=mechanism, response=b""), code=0, rule=None)


def test_a_client_that_takes_a_close_then_is_told_that_its_login_failed(version: Version) -> None:
    facing = Facing(version, SERVER)
    facing.feed(version.header)
    told = {"capabilities": {"authentication_failure_close": True}}
    facing.forget()
    facing.feed(start_ok(facing, response=b"", client_properties=told))
    (failed,) = facing.of(Failed)
    assert failed.error.code == 403
    assert [(each.name, each.method.reply_code) for each in facing.sent()] == [("connection.close", 403)]


def test_an_empty_response_is_taken_where_the_mechanism_has_nothing_to_say(version: Version) -> None:
    facing = Facing(version, SERVER, server_config(mechanisms=("EXTERNAL",)))
    facing.feed(version.header, start_ok(facing, mechanism="EXTERNAL", response=b""))
    assert facing.of(AuthenticationRequested)


DECISIONS: Final[dict[str, Callable[[Any], None]]] = {
    "accept authentication": lambda end: end.accept_authentication(),
    "accept open": lambda end: end.accept_open(),
    "refuse open": lambda end: end.refuse_open(),
    "provide keys": lambda end: end.provide_scram_keys(None),
}


@pytest.mark.parametrize("decide", DECISIONS.values(), ids=DECISIONS)
def test_decisions_are_wanted_only_when_asked_for(version: Version, decide: Callable[[Any], None]) -> None:
    with pytest.raises(LocalProtocolError):
        decide(Facing(version, SERVER).end)


@pytest.mark.rule("0-8/connection.open/insist")
def test_a_client_that_insists_is_not_redirected() -> None:
    for insist in (False, True):
        pair = Pair(AMQP_0_8, client=client_config(insist=insist), applications={SERVER: Server(vhost=False)})
        pair.pump()
        assert pair.take(SERVER, OpenRequested) == [OpenRequested("/", insist)]
        if not insist:
            pair.server.redirect("other:5672")
            continue
        with pytest.raises(LocalProtocolError, match="insists"):
            pair.server.redirect("other:5672")
        pair.server.accept_open()
        pair.pump()
        assert pair.client.is_open


# Tuning: frame size, channels and heartbeat (methods tune and tune-ok; 0-9-1 and 0-8 section 2.3.3).


@pytest.mark.rule("0-8/connection.tune/propose", "0-9-1/connection.tune/propose")
def test_a_server_states_the_limits_it_proposes(version: Version) -> None:
    facing = tuning_server(version, channel_max=77, frame_max=5000, heartbeat=30)
    tune = facing.sent()[0].method
    assert (tune.channel_max, tune.frame_max, tune.heartbeat) == (77, 5000, 30)


@pytest.mark.parametrize(
    ("ours", "offered", "sent"),
    [
        ((0, 0), (0, 0), (2047, 8388600)),
        ((10, 8192), (0, 0), (10, 8192)),
        ((10, 8192), (20, 131072), (10, 8192)),
        ((10, 8192), (5, 4096), (5, 4096)),
        ((0, 0), (5, 4096), (5, 4096)),
        ((65535, 0), (65535, 4096), (2047, 4096)),
        ((1, 0), (0, 0), (1, 8388600)),
    ],
)
@both_rules("connection.tune-ok/channel-max-notnull", "connection.tune-ok/lower", "connection.tune/zero-means")
@pytest.mark.rule("0-8/connection.tune-ok/channel-max<=tune", "0-9-1/connection.tune-ok/channel-max-le")
def test_a_client_takes_the_lower_limits_and_never_says_0_channels(
    version: Version, ours: tuple[int, int], offered: tuple[int, int], sent: tuple[int, int]
) -> None:
    facing = tuned_client(version, offered, channel_max=ours[0], frame_max=ours[1])
    answer = facing.sent()[0].method
    assert (answer.NAME, answer.channel_max, answer.frame_max) == ("connection.tune-ok", *sent)
    assert (facing.end.channel_max, facing.end.frame_max) == sent


@pytest.mark.parametrize("frame_max", [1, 8, 4095])
@pytest.mark.rule("0-8/connection.tune/accept-4096", "0-9-1/connection.tune/frame-min")
@pytest.mark.rule("0-8/connection.tune-ok/accept-4096", "0-9-1/connection.tune-ok/frame-min")
def test_no_frame_size_below_4096_is_agreed(version: Version, frame_max: int) -> None:
    facing = tuned_client(version, (10, frame_max))
    (failed,) = facing.of(Failed)
    assert failed.error.rule == facing.full_id("connection.tune/frame-min")
    assert facing.out == b""
    server = tuning_server(version)
    server.refuses(tune_ok(server, 10, frame_max), code=0, rule="connection.tune-ok/frame-min")
    for config in (client_config, server_config):
        with pytest.raises(ValueError, match="4096"):
            Facing(version, CLIENT, config(frame_max=frame_max, sasl=client_config().sasl))


@pytest.mark.rule("0-8/connection.tune/accept-4096", "0-9-1/connection.tune/frame-min")
@pytest.mark.rule("0-8/connection.tune-ok/accept-4096", "0-9-1/connection.tune-ok/frame-min")
def test_frames_of_4096_octets_are_taken_before_tuning(version: Version, side: Side) -> None:
    """A frame whose payload is as large as it may be, made so by one long property."""
    facing = Facing(version, side)
    if side is SERVER:
        facing.feed(version.header)
    facing.forget()
    for fill in range(3900, 4096):
        if side is CLIENT:
            unit = start(facing, server_properties={"x": "x" * fill})
        else:
            unit = start_ok(facing, client_properties={"x": "x" * fill})
        if len(unit) == 4096:
            break
    else:
        raise AssertionError("no such frame")
    facing.feed(unit)
    assert not facing.of(Failed)
    assert len(facing.end.peer_properties["x"]) > 3900


@pytest.mark.parametrize(
    ("limit", "offered", "refused"),
    [("channel_max", 10, (11, 65_535, 0)), ("frame_max", 8192, (8193, 0)), ("frame_max", 4096, (131_072,))],
)
@pytest.mark.rule("0-9-1/connection.tune-ok/channel-max-limit", "0-8/connection.tune-ok/channel-max<=tune")
@pytest.mark.rule("0-9-1/connection.tune-ok/frame-max-limit", "0-8/connection.tune-ok/lower")
def test_a_server_hangs_up_on_more_than_it_offered(
    version: Version, limit: str, offered: int, refused: tuple[int, ...]
) -> None:
    for wanted in (*refused, offered):
        facing = tuning_server(version, **{limit: offered})
        answer = tune_ok(facing, **{"channel_max": 10, "frame_max": 4096, limit: wanted})
        if wanted == offered:
            facing.feed(answer)
            assert getattr(facing.end, limit) == offered
        else:
            facing.refuses(answer, code=0, rule=f"connection.tune-ok/{limit.replace('_', '-')}-limit")


@both_rules("connection/limits-exceeded", "wire/channels-many")
@pytest.mark.rule("0-9-1/connection.tune/channel-max-highest")
def test_channel_max_is_the_highest_number(version: Version, side: Side) -> None:
    facing = Facing.opened(version, side, channels=3, channel_max=4, dialect=STRICT[version])
    if side is SERVER:
        facing.feed(facing.method("channel.open", 4))
        assert [event.channel for event in facing.of(Opened)] == [4]
        facing.refuses(facing.method("channel.open", 5), code=504, rule="connection.tune/channel-max-highest")
        return
    facing.misuse(lambda: facing.end.open_channel(5), "connection.tune/channel-max-highest")
    facing.misuse(lambda: facing.end.open_channel(0), "connection.tune/channel-max-highest")
    facing.end.open_channel(4)
    facing.misuse(facing.end.open_channel, None)


@pytest.mark.parametrize(
    ("ours", "theirs", "agreed"),
    [
        pytest.param(0, 30, 0, id="this side wants none"),
        pytest.param(60, 30, 30, id="the other's is shorter"),
        pytest.param(10, 30, 10, id="this side's is shorter"),
        pytest.param(30, 0, 30, id="the other wants none"),
        pytest.param(0, 0, 0, id="nobody wants any"),
    ],
)
@pytest.mark.rule("0-8/connection.tune/zero-means", "0-9-1/connection.tune/zero-means")
def test_heartbeat_0_means_that_this_side_wants_none(version: Version, ours: int, theirs: int, agreed: int) -> None:
    facing = tuned_client(version, (10, 4096, theirs), heartbeat=ours)
    answer = facing.sent()[0].method
    assert answer.heartbeat == agreed
    assert facing.end.heartbeat == agreed


def test_what_is_above_the_limits_is_never_agreed(version: Version) -> None:
    limits = Limits(channels=5, unparsed=10_000)
    facing = tuned_client(version, (0, 0), channel_max=0, frame_max=0, limits=limits)
    answer = facing.sent()[0].method
    assert (answer.channel_max, answer.frame_max) == (5, 9992)
    server = tuning_server(version, channel_max=0, frame_max=0, limits=limits)
    tune = server.sent()[0].method
    assert (tune.channel_max, tune.frame_max) == (5, 9992)


def test_a_frame_above_what_is_taken_before_tuning_ends_the_opening(version: Version) -> None:
    facing = Facing(version, CLIENT).forget()
    facing.refuses(frame(METHOD, 0, b"x" * 65_537), code=0, rule="wire/frame-oversize-receive")
