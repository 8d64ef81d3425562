"""Behind its own close an end drops everything but close and close-ok, also where the peer's close has crossed it.

Generated over the methods of each dialect, both sides, content and octets that no method reads: 0-9-1's rules of
connection.close and channel.close (sections 1.4.2.10 and 1.5.2.5).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import pytest

from amqp_sansio import AMQP_0_8, AMQP_0_9_1, By, Closed, Scope, Version
from amqp_sansio.endpoint import Side
from tests.kit.facing import BOTH_SIDES
from tests.kit.facing_classic import BOTH_VERSIONS, Facing, both_rules
from tests.kit.octets_classic import body, frame, header

CHANNEL_CLOSES: Final = ("channel.close", "channel.close-ok")
CONNECTION_CLOSES: Final = ("connection.close", "connection.close-ok")


def units(facing: Facing, channel: int, closes: tuple[str, ...]) -> Iterator[tuple[str, bytes]]:
    """Every method of the dialect, whoever may send it, content, and what is no method."""
    for name, kind in facing.dialect.named.items():
        if name not in closes and (not name.startswith("connection.") or not channel):
            yield name, facing.message(name, b"x", channel) if kind.HAS_CONTENT else facing.method(name, channel)
    yield "header", header(channel, 60, 3)
    yield "body", body(channel, b"abc")
    yield "unknown method", frame(1, channel, b"\0\x63\0\x63")
    yield "unreadable method", frame(1, channel, b"\0\x32\0\x0a\0")
    yield "short method", frame(1, channel, b"\0")
    yield "short header", frame(2, channel, b"\0")


@BOTH_VERSIONS
@BOTH_SIDES
@pytest.mark.parametrize("crossed", [False, True], ids=["answered later", "crossed"])
@both_rules("channel.close/discard")
def test_a_closing_channel_drops_everything(version: Version, side: Side, crossed: bool) -> None:
    facing = Facing.opened(version, side, channels=2)
    facing.channel.close(404, "gone")
    facing.forget()
    if crossed:
        facing.feed(facing.method("channel.close", reply_code=200))
        assert facing.names() == ["channel.close-ok"]
        facing.forget()
    for name, octets in units(facing, 1, CHANNEL_CLOSES):
        assert facing.feed(octets) == [], name
        assert facing.out == b"", name
    facing.feed(facing.method("channel.close-ok"))
    (closed,) = facing.events
    assert isinstance(closed, Closed)
    assert (closed.scope, closed.channel, closed.report.by, closed.report.code) == (Scope.CHANNEL, 1, By.LOCAL, 404)
    assert facing.end.is_open
    assert facing.end.channel(2).is_open


@BOTH_VERSIONS
@BOTH_SIDES
@pytest.mark.parametrize("crossed", [False, True], ids=["answered later", "crossed"])
@both_rules("connection.close/discard")
def test_a_closing_connection_drops_everything(version: Version, side: Side, crossed: bool) -> None:
    facing = Facing.opened(version, side, channels=1)
    facing.end.close(320, "that's all")
    facing.forget()
    if crossed:
        facing.feed(facing.method("connection.close", 0, reply_code=200))
        assert facing.names() == ["connection.close-ok"]
        facing.forget()
    for channel in (0, 1, 7):
        for name, octets in units(facing, channel, CONNECTION_CLOSES):
            assert facing.feed(octets) == [], (channel, name)
            assert facing.out == b"", (channel, name)
    facing.feed(facing.method("connection.close-ok", 0))
    report = facing.end.report
    assert report is not None
    assert (report.by, report.code) == (By.LOCAL, 320)


def test_both_versions_have_methods_to_drop() -> None:
    for version in (AMQP_0_8, AMQP_0_9_1):
        facing = Facing.opened(version, Side.SERVER)
        assert len([*units(facing, 1, CHANNEL_CLOSES)]) > 40
