"""Protocol headers of 0-10: who sends first, what the server answers, what is none (part 1 section 4.3)."""

from __future__ import annotations

import pytest

from amqp_sansio import By, Closed, CloseHint, Failed
from tests.kit.octets_0_10 import HEADER, start_ok
from tests.kit.wire_0_10 import CLIENT, SERVER, Facing

OTHERS = {
    "0-8": b"AMQP\x01\x01\x08\x00",
    "0-9": b"AMQP\x01\x01\x00\x09",
    "0-9-1": b"AMQP\x00\x00\x09\x01",
    "1.0": b"AMQP\x00\x01\x00\x00",
    "0-10 over SCTP": b"AMQP\x01\x02\x00\x0a",
    "unheard of": b"AMQP\x01\x01\x07\x07",
}


@pytest.mark.rule("0-10/wire/header-client-first", "0-10/wire/header-each-peer")
def test_the_client_sends_its_header_before_anything_has_come_and_nothing_else() -> None:
    facing = Facing(CLIENT)
    assert facing.out == bytes.fromhex("414d51500101000a")
    facing.forget()
    facing.feed(HEADER)
    assert facing.out == b""
    assert facing.end.state == "headers exchanged"


@pytest.mark.rule("0-10/wire/header-supported", "0-10/wire/header-1-1", "0-10/wire/header-each-peer")
@pytest.mark.parametrize("pieces", [1, 3, 8])
def test_the_server_echoes_the_header_and_goes_on_with_start(pieces: int) -> None:
    facing = Facing(SERVER)
    assert facing.out == b""
    facing.feed(*[HEADER[n : n + pieces] for n in range(0, 8, pieces)])
    assert facing.out.startswith(HEADER)
    assert facing.names() == ["header", "connection.start"]
    assert facing.events == []


@pytest.mark.rule("0-10/wire/header-unsupported", "0-10/connection.start/protocol-name")
@pytest.mark.parametrize("header", OTHERS.values(), ids=OTHERS)
def test_the_server_answers_other_versions_with_its_header_and_closes(header: bytes) -> None:
    facing = Facing(SERVER)
    facing.feed(header)
    assert facing.out == HEADER
    assert facing.end.close_hint is CloseHint.CLOSE_WHEN_SENT
    failed, closed = facing.events
    assert isinstance(failed, Failed)
    assert isinstance(closed, Closed)
    assert failed.error.rule == "0-10/wire/header-unsupported"  # type: ignore[attr-defined]
    assert facing.feed(HEADER + start_ok()) == []
    assert facing.out == HEADER


@pytest.mark.rule("0-10/wire/header-unsupported")
@pytest.mark.parametrize(
    ("octets", "hint"),
    [
        (b"GET / HTTP/1.1\r\n", "HTTP"),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01", "TLS"),
        (b"\0\0\0\0", ""),
        (b"AMQ!", ""),
    ],
)
def test_the_server_answers_what_is_no_header_at_once(octets: bytes, hint: str) -> None:
    facing = Facing(SERVER)
    # Four octets are enough to see it: who waits for the rest may wait for ever.
    facing.feed(octets[:4])
    assert facing.out == HEADER
    assert facing.end.close_hint is CloseHint.CLOSE_WHEN_SENT
    assert hint in facing.of(Closed)[0].report.hint


@pytest.mark.rule("0-10/connection.start/client-support")
@pytest.mark.parametrize("header", OTHERS.values(), ids=OTHERS)
def test_the_client_closes_the_socket_when_the_server_speaks_another_version(header: bytes) -> None:
    facing = Facing(CLIENT).forget()
    facing.feed(header)
    (failed,) = facing.of(Failed)
    assert (failed.by, failed.error.rule) == (By.REMOTE, "0-10/connection.start/client-support")
    assert "-".join(map(str, header[4:])) in facing.of(Closed)[0].report.text
    assert (facing.out, facing.end.close_hint) == (b"", CloseHint.CLOSE_NOW)


def test_the_client_closes_the_socket_at_octets_that_are_no_amqp() -> None:
    facing = Facing(CLIENT).forget()
    facing.feed(b"SSH-2.0-OpenSSH")
    assert facing.of(Failed)[0].error.rule == "0-10/wire/header-each-peer"
    assert (facing.out, facing.end.close_hint) == (b"", CloseHint.CLOSE_NOW)
