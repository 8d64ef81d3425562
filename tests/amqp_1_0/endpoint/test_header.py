"""Protocol headers of AMQP 1.0: who begins, what is answered, and what a wrong one comes to."""

from typing import Any

import pytest

from amqp_sansio import (
    AMQP_0_9_1,
    AMQP_1_0,
    Acceptor,
    By,
    CloseHint,
    Failed,
    OpenRequested,
    RemoteProtocolError,
    Version,
    amqp_0_9_1,
)
from amqp_sansio.amqp_1_0.endpoint.config import Config
from amqp_sansio.negotiation import Accepted, Refused
from amqp_sansio.sasl import Plain
from tests.kit.facing import CLIENT, SERVER
from tests.kit.facing_1_0 import Facing
from tests.kit.octets_1_0 import AMQP_HEADER, SASL_HEADER, TLS_HEADER, octets_of, their_open
from tests.kit.pair_1_0 import client_config, server_config

LOGIN = Plain("guest", "guest")
SASL_ONLY = server_config(mechanisms=("PLAIN",))


@pytest.mark.rule("1.0/transport/version/client-first", "1.0/transport/version/preferred")
@pytest.mark.rule("1.0/transport/version/header-first", "1.0/transport/connection/pipelined")
def test_a_client_begins_at_once_with_header_and_open() -> None:
    facing = Facing(CLIENT)
    assert facing.names() == ["header 0", "open"]
    assert facing.out[:8] == AMQP_HEADER


@pytest.mark.rule("1.0/security/sasl/header")
def test_a_client_with_a_mechanism_begins_with_the_sasl_header_alone() -> None:
    facing = Facing(CLIENT, client_config(sasl=LOGIN))
    assert facing.out == SASL_HEADER


@pytest.mark.rule("1.0/transport/version/server-may-wait", "1.0/transport/version/supported")
def test_a_server_waits_for_the_header_and_answers_with_the_same() -> None:
    facing = Facing(SERVER)
    assert facing.out == b""
    facing.feed(AMQP_HEADER)
    assert facing.out == AMQP_HEADER
    facing.feed(octets_of(their_open()))
    assert facing.of(OpenRequested)


@pytest.mark.parametrize("size", [1, 3, 5])
def test_a_header_may_come_in_pieces(size: int) -> None:
    facing = Facing(SERVER)
    octets = AMQP_HEADER + octets_of(their_open())
    for at in range(0, len(octets), size):
        facing.feed(octets[at : at + size])
    assert facing.of(OpenRequested)


REFUSED = {
    "version above": (b"AMQP\x00\x01\x01\x00", "unsupported", "0-1-1-0"),
    "major above": (b"AMQP\x00\x02\x00\x00", "unsupported", "0-2-0-0"),
    "version below": (b"AMQP\x00\x00\x09\x01", "unsupported", "0-9-1"),
    "0-8": (b"AMQP\x01\x01\x08\x00", "unsupported", "0-8"),
    "HTTP": (b"GET / HTTP/1.1\r\n", "unparsable", "HTTP"),
    "TLS records": (bytes.fromhex("16030100a5010000"), "unparsable", "without TLS"),
    "TLS layer": (TLS_HEADER, "protocol-id", "TLS"),
    "unknown id": (b"AMQP\x07\x01\x00\x00", "protocol-id", "7-1-0-0"),
    "nonsense": (b"\x00\x01\x02\x03\x04\x05\x06\x07", "unparsable", ""),
}


@pytest.mark.rule("1.0/transport/version/unsupported", "1.0/transport/version/unparsable")
@pytest.mark.rule("1.0/transport/version/protocol-id", "1.0/transport/version/data-match")
@pytest.mark.rule("1.0/transport/version/drain-input", "1.0/security/tls/header")
@pytest.mark.parametrize("case", REFUSED)
@pytest.mark.parametrize("size", [1, 100])
def test_a_server_answers_a_wrong_header_with_a_right_one_and_closes(case: str, size: int) -> None:
    octets, rule, hint = REFUSED[case]
    facing = Facing(SERVER)
    for at in range(0, len(octets), size):
        if facing.end.close_hint is CloseHint.KEEP:
            facing.feed(octets[at : at + size])
    assert facing.out == AMQP_HEADER
    error = facing.ends(f"transport/version/{rule}")
    assert error.offset == 0
    report = facing.end.report
    assert report is not None
    assert (report.by, report.text) == (By.LOCAL, str(error))
    assert hint in report.hint
    # What the client still sends is dropped until its end.
    assert facing.feed(b"more" * 100) == []


@pytest.mark.rule("1.0/transport/version/protocol-id")
def test_a_server_that_wants_sasl_says_so() -> None:
    facing = Facing(SERVER, SASL_ONLY)
    facing.feed(AMQP_HEADER)
    assert facing.out == SASL_HEADER
    facing.ends("transport/version/protocol-id")
    assert facing.end.report is not None
    assert "SASL" in facing.end.report.hint


def test_a_server_may_let_in_clients_without_sasl() -> None:
    config = server_config(mechanisms=("PLAIN",), sasl_required=False)
    for header in (AMQP_HEADER, SASL_HEADER):
        facing = Facing(SERVER, config)
        facing.feed(header)
        assert facing.out[:8] == header
        assert facing.end.close_hint is CloseHint.KEEP


@pytest.mark.rule("1.0/transport/version/choice")
@pytest.mark.parametrize(
    ("header", "reply"), [(b"AMQP\x03\x02\x00\x00", SASL_HEADER), (b"AMQP\x00\x02\x00\x00", AMQP_HEADER)]
)
def test_the_version_is_refused_and_the_protocol_id_kept(header: bytes, reply: bytes) -> None:
    facing = Facing(SERVER, server_config(mechanisms=("PLAIN",), sasl_required=False))
    facing.feed(header)
    assert facing.out == reply


OFFERED = {
    "SASL": (None, SASL_HEADER, "wants SASL", "Config.sasl"),
    "TLS": (None, TLS_HEADER, "wants TLS", "amqps"),
    "no SASL": (LOGIN, AMQP_HEADER, "wants no SASL", "leave Config.sasl out"),
    "0-9-1": (LOGIN, b"AMQP\x00\x00\x09\x01", "speaks 0-9-1", "rabbitmq_amqp1_0"),
    "0-10": (None, b"AMQP\x01\x01\x00\x0a", "speaks 0-10", "version"),
    "other": (None, b"AMQP\x00\x01\x02\x03", "0-1-2-3", "version"),
}


@pytest.mark.rule("1.0/transport/version/data-match", "1.0/transport/version/drain-input")
@pytest.mark.parametrize("case", OFFERED)
def test_a_client_says_what_the_server_wants(case: str) -> None:
    mechanism, header, text, hint = OFFERED[case]
    facing = Facing(CLIENT, client_config(sasl=mechanism)).forget()
    facing.feed(header)
    (failed,) = facing.of(Failed)
    assert failed.by is By.REMOTE
    assert text in str(failed.error)
    report = facing.end.report
    assert report is not None
    assert hint in report.hint
    assert facing.end.close_hint is CloseHint.CLOSE_WHEN_SENT
    assert facing.out == b""
    assert facing.end.state == "END"


@pytest.mark.rule("1.0/transport/connection.state/end")
@pytest.mark.parametrize(
    ("octets", "hint"),
    [(b"HTTP/1.1 400 Bad Request", "HTTP"), (bytes.fromhex("15030300020228"), "without TLS"), (b"\0" * 8, "")],
)
def test_a_client_says_what_is_no_header(octets: bytes, hint: str) -> None:
    facing = Facing(CLIENT).forget()
    facing.feed(octets)
    error = facing.ends("transport/version/unparsable")
    report = facing.end.report
    assert report is not None
    assert report.by is By.LOCAL
    assert hint in report.hint
    assert isinstance(error, RemoteProtocolError)


@pytest.mark.rule("1.0/transport/connection/open-first")
def test_frames_before_a_header_are_no_header() -> None:
    facing = Facing(SERVER)
    facing.feed(octets_of(their_open()))
    facing.ends("transport/version/unparsable")


@pytest.mark.rule("1.0/security/sasl/outcome", "1.0/security/tls/inner-header")
def test_behind_sasl_only_the_amqp_header_follows() -> None:
    for header in (SASL_HEADER, TLS_HEADER, b"AMQP\x00\x00\x09\x01"):
        facing = _logged_in()
        facing.feed(header)
        assert facing.out == AMQP_HEADER
        assert facing.of(Failed)
        assert facing.end.close_hint is CloseHint.CLOSE_WHEN_SENT


def _logged_in() -> Facing:
    from amqp_sansio.amqp_1_0.spec import SaslInit

    facing = Facing.in_sasl(SERVER, SASL_ONLY)
    facing.feed(octets_of(SaslInit("PLAIN", b"\0me\0secret"), kind=1))
    facing.end.accept_authentication()
    return facing.forget()


# The acceptor, which serves several versions on one port.


def accepted(configs: dict[Version, Any], octets: bytes) -> Accepted | Refused:
    """What an acceptor makes of the first octets."""
    acceptor = Acceptor(configs)
    for octet in octets:
        if isinstance(result := acceptor.result(), Accepted | Refused):
            return result
        acceptor.receive_data(bytes((octet,)), 0.0)
    result = acceptor.result()
    assert isinstance(result, Accepted | Refused)
    return result


def test_an_acceptor_takes_both_kinds_of_clients() -> None:
    configs: dict[Version, Any] = {AMQP_0_9_1: amqp_0_9_1.Config(), AMQP_1_0: SASL_ONLY}
    for header, version in ((AMQP_HEADER, AMQP_1_0), (SASL_HEADER, AMQP_1_0), (AMQP_0_9_1.header, AMQP_0_9_1)):
        result = accepted(configs, header)
        assert isinstance(result, Accepted)
        assert result.version is version
    result = accepted(configs, SASL_HEADER)
    assert isinstance(result, Accepted)
    result.connection.next_event()
    assert result.connection.data_to_send(0.0)[:8] == SASL_HEADER


@pytest.mark.rule("1.0/transport/version/choice", "1.0/security/tls/header")
@pytest.mark.parametrize(
    ("header", "plain", "secured"),
    [
        (TLS_HEADER, AMQP_HEADER, SASL_HEADER),
        (b"AMQP\x00\x01\x01\x00", AMQP_HEADER, SASL_HEADER),
        (b"AMQP\x00\x03\x00\x00", AMQP_HEADER, SASL_HEADER),
        (b"AMQP\x00\x00\x0a\x00", AMQP_0_9_1.header, AMQP_0_9_1.header),
        (b"AMQP\x00\x00\x08\x00", AMQP_HEADER, SASL_HEADER),
        (b"AMQP\x01\x01\x00\x0a", AMQP_0_9_1.header, AMQP_0_9_1.header),
        (b"HTTP", AMQP_0_9_1.header, AMQP_0_9_1.header),
    ],
)
def test_an_acceptor_offers_the_best_it_has(header: bytes, plain: bytes, secured: bytes) -> None:
    for config, reply in ((Config(), plain), (Config(mechanisms=("PLAIN",)), secured)):
        configs: dict[Version, Any] = {AMQP_0_9_1: amqp_0_9_1.Config(), AMQP_1_0: config}
        result = accepted(configs, header)
        assert isinstance(result, Refused)
        assert result.reply == reply
