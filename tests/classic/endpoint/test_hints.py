"""Hints: what a report says of the classic ways in which connections end."""

from __future__ import annotations

import pytest

from amqp_sansio import AMQP_0_9_1, By, CloseHint, Limits, Version
from amqp_sansio.endpoint import Side
from tests.kit.facing import Facing
from tests.kit.pair import Pair, Server, client_config, server_config

TLS_ALERT = bytes.fromhex("15030300020228")
TLS_HELLO = bytes.fromhex("160301020001000122")


def report_of(facing: Facing, octets: bytes, *, ends: bool = False) -> tuple[By, str, str]:
    """Who ended the connection after these octets, why, and the hint."""
    for at in range(len(octets)):
        facing.feed(octets[at : at + 1])
    if ends:
        facing.end.receive_eof(facing.now)
        facing.settle()
    report = facing.end.report
    assert report is not None
    return report.by, report.text, report.hint


@pytest.mark.parametrize(
    ("side", "octets", "hint"),
    [
        (Side.CLIENT, TLS_ALERT, "without TLS"),
        (Side.SERVER, TLS_HELLO, "without TLS"),
        (Side.CLIENT, b"HTTP/1.1 400 Bad Request\r\n", "HTTP"),
        (Side.SERVER, b"GET / HTTP/1.1\r\n", "HTTP"),
        (Side.SERVER, b"AMQP\x00\x01\x00\x00", "0-1-0-0"),
    ],
)
def test_octets_that_are_something_else(version: Version, side: Side, octets: bytes, hint: str) -> None:
    by, _, found = report_of(Facing(version, side), octets)
    assert by is By.LOCAL
    assert hint in found


def test_a_server_of_another_version_names_its_own(version: Version) -> None:
    facing = Facing(version, Side.CLIENT)
    by, text, hint = report_of(facing, b"AMQP\x00\x01\x00\x00")
    assert by is By.REMOTE
    assert "0-1-0-0" in text
    assert "version" in hint


@pytest.mark.parametrize(
    ("steps", "hint"),
    [(0, "hung up on the protocol header"), (1, "login"), (2, "virtual host"), (3, "")],
)
def test_a_stream_that_ends_in_the_opening(version: Version, steps: int, hint: str) -> None:
    pair = Pair(version, applications={Side.SERVER: Server(vhost=steps > 2)})
    for _ in range(steps):
        pair.write(Side.CLIENT)
        pair.arrive(Side.SERVER)
        pair.write(Side.SERVER)
        pair.arrive(Side.CLIENT)
    pair.client.receive_eof(0.0)
    pair.drain(Side.CLIENT)
    report = pair.client.report
    assert report is not None
    assert report.by is By.TRANSPORT
    assert hint in report.hint
    assert bool(report.hint) == bool(hint)


@pytest.mark.parametrize("announced", [True, False])
def test_a_refused_login(version: Version, announced: bool) -> None:
    """Who announced it gets 403, the others a closed socket (RabbitMQ's extension)."""

    class Refuses(Server):
        def __call__(self, connection: object, event: object) -> None:
            if type(event).__name__ == "AuthenticationRequested":
                pair.server.refuse_authentication("ACCESS_REFUSED - wrong password")

    properties = {"capabilities": {"authentication_failure_close": announced}}
    pair = Pair(version, client=client_config(properties=properties), applications={Side.SERVER: Refuses()})
    pair.drive()
    report = pair.client.report
    assert report is not None
    if announced:
        assert (report.by, report.code) == (By.REMOTE, 403)
        assert "password" in report.hint
    else:
        assert report.by is By.TRANSPORT
        assert "password" in report.hint
    assert pair.server.report is not None
    assert pair.server.report.by is By.LOCAL


def test_damaged_client_properties_do_not_break_a_refusal(version: Version) -> None:
    facing = Facing(version, Side.SERVER, server_config(validate_content=False))
    facing.feed(facing.dialect.header)
    good = facing.method(
        "connection.start-ok",
        0,
        client_properties={"capabilities": {"k": 1}},
        mechanism="PLAIN",
        response=b"\0a\0b",
        locale="en_US",
    )
    facing.feed(good.replace(b"\x01kI", b"\x01k?"))
    facing.end.refuse_authentication("no")
    facing.settle()
    assert facing.end.close_hint is CloseHint.CLOSE_WHEN_SENT


@pytest.mark.parametrize(
    ("code", "text", "hint"),
    [
        (404, "NOT_FOUND - no queue 'q'", "does not exist"),
        (406, "PRECONDITION_FAILED - unknown delivery tag 3", "settled before"),
        (406, "PRECONDITION_FAILED - inequivalent arg 'durable'", "other arguments"),
        (999, "something new", ""),
    ],
)
def test_closes_of_the_peer(client: Facing, code: int, text: str, hint: str) -> None:
    channel = client.channel
    client.feed(client.method("channel.close", reply_code=code, reply_text=text))
    assert hint in channel.report.hint
    assert bool(channel.report.hint) == bool(hint)
    assert text in str(channel.report)
    assert "closed by the peer" in str(channel.report)


def test_bounds_of_tables_are_those_of_the_limits() -> None:
    limits = Limits(nesting=2, entries=8)
    for table, fine in (
        ({"a": {"b": 1}}, True),
        ({"a": {"b": {"c": 1}}}, False),
        (dict.fromkeys("abcdefghi", 1), False),
    ):
        facing = Facing.opened(AMQP_0_9_1, Side.SERVER, limits=limits)
        facing.feed(facing.method("queue.declare", queue="q", arguments=table))
        assert facing.end.is_open == fine
        if not fine:
            assert facing.sent()[-1].method.reply_code == 502
