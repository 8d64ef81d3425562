"""TLS that begins inside the connection, behind a header of its own (1.0 part 5 section 5.2)."""

import ssl

import pytest

from amqp_sansio import (
    AMQP_1_0,
    PAUSED,
    Acceptor,
    AuthenticationRequested,
    By,
    CloseHint,
    LocalProtocolError,
    Opened,
    OpenRequested,
    Side,
)
from amqp_sansio.amqp_1_0 import Config, Connection, TlsStarted
from amqp_sansio.negotiation import Accepted, Refused
from amqp_sansio.sasl import Plain
from tests.kit.certificates import kept_certificates
from tests.kit.facing import BOTH_SIDES
from tests.kit.facing_1_0 import Facing
from tests.kit.octets_1_0 import AMQP_HEADER, SASL_HEADER, TLS_HEADER, octets_of, their_open

CLIENT_TLS = Config("client", tls=True)
SERVER_TLS = Config("server", tls=True)


def facing(side: Side) -> Facing:
    """An endpoint that has sent or got its peer's TLS header."""
    found = Facing(side, CLIENT_TLS if side is Side.CLIENT else SERVER_TLS)
    found.feed(TLS_HEADER)
    assert found.out == TLS_HEADER
    assert len(found.of(TlsStarted)) == 1
    return found.forget()


@pytest.mark.rule("1.0/security/tls/header", "1.0/security/tls/inner-header")
@BOTH_SIDES
def test_both_send_the_header_and_begin_anew_in_the_tunnel(side: Side) -> None:
    here = facing(side)
    assert here.end.next_event() is PAUSED
    assert here.end.tls_octets() == b""
    here.end.tls_established()
    here.settle()
    assert here.out[:8] == (AMQP_HEADER if side is Side.CLIENT else b"")
    here.feed(AMQP_HEADER + octets_of(their_open()))
    if side is Side.SERVER:
        assert here.of(OpenRequested)
        here.end.accept_open()
        here.settle()
    assert here.of(Opened)


@BOTH_SIDES
def test_what_comes_behind_the_header_is_handed_over(side: Side) -> None:
    here = Facing(side, CLIENT_TLS if side is Side.CLIENT else SERVER_TLS)
    here.feed(TLS_HEADER + b"\x16\x03\x01")
    here.feed(b"\x00\x05" + b"hello" * 300)
    with pytest.raises(LocalProtocolError, match="1505 octets"):
        here.end.tls_established()
    assert here.end.tls_octets() == b"\x16\x03\x01\x00\x05" + b"hello" * 300
    assert here.end.tls_octets() == b""
    here.end.tls_established()
    with pytest.raises(LocalProtocolError, match="no TLS layer"):
        here.end.tls_established()
    with pytest.raises(LocalProtocolError, match="no TLS layer"):
        here.end.tls_octets()


@BOTH_SIDES
def test_there_is_no_second_tls_layer(side: Side) -> None:
    here = facing(side)
    here.end.tls_established()
    here.forget()
    here.feed(TLS_HEADER)
    here.ends("transport/version/protocol-id", By.LOCAL if side is Side.SERVER else By.REMOTE)


def test_a_server_may_insist_on_tls() -> None:
    config = Config("server", tls=True, tls_required=True, mechanisms=("PLAIN",))
    for header in (AMQP_HEADER, SASL_HEADER):
        here = Facing(Side.SERVER, config)
        here.feed(header)
        assert here.out == TLS_HEADER
        here.ends("transport/version/protocol-id")
        assert here.end.report is not None
        assert "without TLS" in here.end.report.hint
    here = Facing(Side.SERVER, config)
    here.feed(TLS_HEADER)
    here.end.tls_established()
    here.forget()
    here.feed(AMQP_HEADER)
    assert here.out == SASL_HEADER


def test_a_server_that_offers_tls_takes_clients_without_it() -> None:
    here = Facing(Side.SERVER, SERVER_TLS)
    here.feed(AMQP_HEADER + octets_of(their_open()))
    assert here.of(OpenRequested)


@pytest.mark.parametrize("answer", [SASL_HEADER, AMQP_HEADER])
def test_a_client_does_not_go_on_without_tls(answer: bytes) -> None:
    here = Facing(Side.CLIENT, CLIENT_TLS)
    here.feed(answer)
    here.ends("transport/version/protocol-id", By.REMOTE)


def test_who_waits_for_ever_is_given_up() -> None:
    here = facing(Side.SERVER)
    deadline = here.end.next_deadline
    assert deadline is not None
    here.now = deadline
    here.end.handle_timeout(deadline)
    here.settle()
    assert here.end.report is not None
    assert here.end.close_hint is not CloseHint.KEEP


def test_an_acceptor_takes_clients_that_ask_for_tls() -> None:
    for config, kind in ((Config(tls=True), Accepted), (Config(), Refused)):
        acceptor = Acceptor({AMQP_1_0: config})
        acceptor.receive_data(TLS_HEADER, 0.0)
        assert isinstance(acceptor.result(), kind)


def test_requiring_without_offering_is_refused() -> None:
    with pytest.raises(ValueError, match="tls_required"):
        Connection.server(Config(tls_required=True))


class Tunnel:
    """One end: a connection, and Python's TLS in memory once it has begun."""

    def __init__(self, end: Connection, context: ssl.SSLContext) -> None:
        self.end = end
        self.incoming, self.outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        server = end.role is Side.SERVER
        self.tls = context.wrap_bio(
            self.incoming, self.outgoing, server_side=server, server_hostname=None if server else "localhost"
        )
        self.begun = False
        self.established = False
        self.seen: list[object] = []

    def turn(self, octets: bytes) -> bytes:
        """Take the peer's octets, and give what is to be sent."""
        if self.begun:
            self.incoming.write(octets)
        else:
            self.end.receive_data(octets, 0.0)
            self.take()
        plain = b"" if self.established else self.end.data_to_send(0.0)
        if self.begun and not self.established:
            try:
                self.tls.do_handshake()
            except ssl.SSLWantReadError:
                return plain + self.outgoing.read()
            self.established = True
            self.end.tls_established()
        if self.established:
            while True:
                try:
                    inner = self.tls.read()
                except ssl.SSLWantReadError:
                    break
                self.end.receive_data(inner, 0.0)
            self.take()
            sent = self.end.data_to_send(0.0)
            if sent:
                self.tls.write(sent)
        return plain + self.outgoing.read()

    def take(self) -> None:
        while not isinstance(event := self.end.next_event(), type(PAUSED)):
            self.seen.append(event)
            if isinstance(event, TlsStarted):
                self.begun = True
                self.incoming.write(self.end.tls_octets())
            elif isinstance(event, AuthenticationRequested):
                self.end.accept_authentication()
            elif isinstance(event, OpenRequested):
                self.end.accept_open()


@pytest.mark.rule("1.0/security/tls/roles", "1.0/security/tls/inner-header")
def test_a_login_in_a_real_tunnel() -> None:
    made = kept_certificates()
    theirs = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    theirs.load_cert_chain(made.server, made.server_key)
    client = Tunnel(
        Connection.client(Config("c", sasl=Plain("me", "secret"), tls=True)),
        ssl.create_default_context(cafile=str(made.ca)),
    )
    server = Tunnel(Connection.server(Config("s", mechanisms=("PLAIN",), tls=True, tls_required=True)), theirs)
    wire = b""
    for _ in range(20):
        there = client.turn(wire)
        wire = server.turn(there)
        assert b"secret" not in there
    for tunnel in (client, server):
        assert tunnel.end.is_open
        assert [type(each) for each in tunnel.seen if isinstance(each, (TlsStarted, Opened))] == [TlsStarted, Opened]
