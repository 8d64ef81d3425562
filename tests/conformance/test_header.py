"""The protocol header: 0-9-1 and 0-8 section 4.2.2, and rules of connection.start that hang on it."""

from __future__ import annotations

from struct import unpack_from
from typing import Any

import pytest

from amqp_sansio import (
    AMQP_0_8,
    AMQP_0_9_1,
    Acceptor,
    By,
    Closed,
    CloseHint,
    Failed,
    RemoteProtocolError,
    Version,
)
from amqp_sansio.amqp_0_9_1 import Config
from amqp_sansio.negotiation import Accepted, Refused
from tests.kit.facing import CLIENT, SERVER, Facing, both_rules
from tests.kit.pair import client_config

UNKNOWN = {
    "http": b"GET / HTTP/1.1\r\n\r\n",
    "short text": b"HTTP",
    "lower case": b"amqp\x00\x00\x09\x01",
    "tls": b"\x16\x03\x01\x02\x00\x01\x00\x01",
    "1-0": b"AMQP\x00\x01\x00\x00",
    "0-10": b"AMQP\x01\x01\x00\x0a",
    "nonsense": b"AMQP\xff\xff\xff\xff",
    "frame": b"\x01\x00\x00\x00\x00\x00\x04\x00\x0a\x00\x0b\xce",
}


@pytest.mark.rule("0-8/wire/header-client-first", "0-9-1/wire/header-client-first")
def test_a_client_begins_with_its_header_and_waits(version: Version) -> None:
    facing = Facing(version, CLIENT)
    numbers = {AMQP_0_8: b"\x01\x01\x08\x00", AMQP_0_9_1: b"\x00\x00\x09\x01"}[version]
    assert facing.out == b"AMQP" + numbers


@pytest.mark.parametrize("octets", UNKNOWN.values(), ids=UNKNOWN.keys())
@pytest.mark.parametrize("cut", [1, 3, 1000])
@both_rules("wire/header-unsupported", "wire/header-client-first")
@pytest.mark.rule("0-9-1/connection.start/protocol-name", "0-9-1/wire/header-all-eight")
def test_a_server_answers_what_it_does_not_speak_with_its_header_and_hangs_up(
    version: Version, octets: bytes, cut: int
) -> None:
    facing = Facing(version, SERVER)
    for start in range(0, len(octets), cut):
        facing.feed(octets[start : start + cut])
    assert facing.out == version.header
    assert facing.hint() is CloseHint.CLOSE_WHEN_SENT
    failed, closed = facing.events
    assert isinstance(failed, Failed)
    assert isinstance(failed.error, RemoteProtocolError)
    assert failed.error.rule == facing.full_id("wire/header-unsupported")
    assert failed.error.offset == 0
    assert isinstance(closed, Closed)
    assert closed.report.by is By.LOCAL


@pytest.mark.rule("0-8/connection.start/version<=requested", "0-8/wire/header-unsupported")
def test_a_server_of_0_8_sends_no_start_to_another_version() -> None:
    facing = Facing(AMQP_0_8, SERVER)
    facing.feed(AMQP_0_9_1.header)
    assert facing.out == AMQP_0_8.header
    assert facing.hint() is CloseHint.CLOSE_WHEN_SENT


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


@pytest.mark.rule("0-8/wire/header-retry", "0-9-1/wire/header-retry")
def test_a_client_learns_what_the_server_offers_instead(version: Version) -> None:
    other = AMQP_0_9_1 if version is AMQP_0_8 else AMQP_0_8
    facing = Facing(version, CLIENT).forget()
    facing.feed(other.header)
    failed, closed = facing.events
    assert isinstance(failed, Failed)
    assert isinstance(closed, Closed)
    assert closed.report.by is By.REMOTE
    assert "-".join(map(str, other.header[4:])) in closed.report.text
    assert facing.out == b""
    assert facing.hint() is not CloseHint.KEEP


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


@pytest.mark.rule("0-8/wire/header-retry", "0-9-1/wire/header-retry")
def test_a_client_goes_down_from_0_9_1_to_0_8() -> None:
    """A server of 0-8 only tells a 0-9-1 client so, and takes it when it comes back."""
    for version in (AMQP_0_9_1, AMQP_0_8):
        client = Facing(version, CLIENT, client_config())
        server = Facing(AMQP_0_8, SERVER)
        server.feed(client.out)
        client.feed(server.out)
        if version is AMQP_0_8:
            assert client.names == client.names
            assert client.end.report is None
        else:
            assert client.end.report is not None
            assert "1-1-8-0" in client.end.report.text
