"""Protocol headers of 0-8, 0-9-1 and 0-10: who begins, what is answered to other versions and to what is no header.

Those of 1.0, which name a protocol too, are in tests/amqp_1_0/endpoint/test_header.py.
"""

from typing import Any, Final

import pytest

from amqp_sansio import AMQP_0_8, AMQP_0_9_1, AMQP_0_10, By, Closed, CloseHint, Failed, Side, Version
from tests.kit.facing import CLIENT, SERVER, Facing
from tests.kit.facing_classic import both_rules
from tests.kit.versions import KITS

HEADERS: Final = {
    "0-8": b"AMQP\x01\x01\x08\x00",
    "0-9": b"AMQP\x01\x01\x00\x09",
    "0-9-1": b"AMQP\x00\x00\x09\x01",
    "0-10": b"AMQP\x01\x01\x00\x0a",
    "1.0": b"AMQP\x00\x01\x00\x00",
    "0-10 over SCTP": b"AMQP\x01\x02\x00\x0a",
    "unheard of": b"AMQP\x01\x01\x07\x07",
    "nonsense": b"AMQP\xff\xff\xff\xff",
}
SPOKEN: Final = {AMQP_0_8: ("0-8",), AMQP_0_9_1: ("0-9", "0-9-1"), AMQP_0_10: ("0-10",)}
NO_HEADERS: Final = {
    "http": b"GET / HTTP/1.1\r\n\r\n",
    "short text": b"HTTP",
    "lower case": b"amqp\x00\x00\x09\x01",
    "tls": b"\x16\x03\x01\x02\x00\x01\x00\x01",
    "frame": b"\x01\x00\x00\x00\x00\x00\x04\x00\x0a\x00\x0b\xce",
    "zeros": b"\0\0\0\0",
    "nearly": b"AMQ!",
}
HINTS: Final = {NO_HEADERS["http"]: "HTTP", NO_HEADERS["tls"]: "TLS"}
OTHERS: Final = [
    pytest.param(version, header, id=f"{version.label}-{name}")
    for version, spoken in SPOKEN.items()
    for name, header in HEADERS.items()
    if name not in spoken
]
NONE: Final = [
    pytest.param(version, octets, id=f"{version.label}-{name}")
    for version in SPOKEN
    for name, octets in NO_HEADERS.items()
]


def fresh(version: Version, side: Side) -> Any:
    """An endpoint whose peer has sent nothing yet."""
    return Facing(KITS[version], side)


@pytest.mark.parametrize("version", SPOKEN, ids=lambda version: version.label)
@both_rules("wire/header-client-first")
@pytest.mark.rule("0-10/wire/header-client-first", "0-10/wire/header-each-peer")
def test_a_client_begins_with_its_header_and_waits(version: Version) -> None:
    assert fresh(version, CLIENT).out == HEADERS[version.label]
    assert fresh(version, SERVER).out == b""


@pytest.mark.parametrize(("version", "octets"), [*OTHERS, *NONE])
@pytest.mark.parametrize("cut", [1, 3, 1000])
@both_rules("wire/header-unsupported", "wire/header-client-first")
@pytest.mark.rule("0-8/connection.start/version<=requested", "0-9-1/connection.start/protocol-name")
@pytest.mark.rule("0-9-1/wire/header-all-eight", "0-10/wire/header-unsupported", "0-10/connection.start/protocol-name")
def test_a_server_answers_what_it_does_not_speak_with_its_header_and_hangs_up(
    version: Version, octets: bytes, cut: int
) -> None:
    server = fresh(version, SERVER)
    # Four octets are enough to see what is no header: who waits for the rest may wait for ever.
    needed = 8 if octets.startswith(b"AMQP") else 4
    for at in range(0, needed, cut):
        server.feed(octets[at : min(at + cut, needed)])
    assert server.out == version.header
    assert server.hint() is CloseHint.CLOSE_WHEN_SENT
    failed, closed = server.events
    assert isinstance(failed, Failed)
    assert (failed.error.rule, failed.error.offset) == (f"{version.label}/wire/header-unsupported", 0)  # type: ignore[attr-defined]
    assert isinstance(closed, Closed)
    assert closed.report.by is By.LOCAL
    assert HINTS.get(octets, "") in closed.report.hint
    assert server.feed(octets[needed:] + version.header + b"more") == []
    assert server.out == version.header


@pytest.mark.parametrize(("version", "header"), OTHERS)
@pytest.mark.rule("0-8/wire/header-retry", "0-9-1/wire/header-retry")
@pytest.mark.rule("0-10/connection.start/client-support")
def test_a_client_learns_what_the_server_offers_instead(version: Version, header: bytes) -> None:
    client = fresh(version, CLIENT).forget()
    client.feed(header)
    failed, closed = client.events
    assert isinstance(failed, Failed)
    assert failed.by is By.REMOTE
    assert isinstance(closed, Closed)
    assert closed.report.by is By.REMOTE
    assert "-".join(map(str, header[4:])) in closed.report.text
    assert client.out == b""
    assert client.hint() is not CloseHint.KEEP
    if version is AMQP_0_10:
        assert failed.error.rule == "0-10/connection.start/client-support"  # type: ignore[attr-defined]
        assert client.hint() is CloseHint.CLOSE_NOW
