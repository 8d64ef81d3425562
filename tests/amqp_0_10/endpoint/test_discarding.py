"""Behind its own connection.close an end drops everything but close and close-ok; behind its own session.detach it says
nothing, and no fault of what was on the way ends anything more.

Generated over all controls and commands, both sides, content, and octets that nothing reads; also where the peer's own
close or detach has crossed it. What comes behind a detach is still taken: a session that is attached again doesn't get
it twice (class 2, and part 1 section 3.6).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, cast

import pytest

from amqp_sansio import By, Failed, Side
from amqp_sansio import amqp_0_10 as amqp
from amqp_sansio.amqp_0_10 import SessionClosed, spec
from tests.kit import octets_0_10 as raw
from tests.kit import talk_0_10
from tests.kit.facing import BOTH_SIDES
from tests.kit.facing_0_10 import Facing

CONTROLS: Final[list[Any]] = spec.Control.__subclasses__()
COMMANDS: Final = cast("list[Any]", spec.Command.__subclasses__())
CROSSED: Final = pytest.mark.parametrize("crossed", [False, True], ids=["answered later", "crossed"])
UNREADABLE: Final = {
    "unknown control": raw.control(0x02FF),
    "unknown command": raw.command(0x6301),
    "short control": raw.frame(b"\x02"),
    "short command": raw.frame(b"\x04\x01", 1),
    "control that is cut off": raw.frame(b"\x02\x07\xff\xff\x00"),
    "command that is cut off": raw.frame(b"\x04\x01\x01\x00\xff\xff\xff", 1),
    "stray header": raw.frame(b"xx", 2),
    "stray body": raw.frame(b"x", 3),
}


def units(*but: str) -> Iterator[tuple[str, bytes]]:
    """Every control and command, whoever may send it, without the fields that it needs, and what is neither."""
    for kind in CONTROLS:
        if not kind.NAME.startswith(but):
            yield kind.NAME, talk_0_10.frames(kind())
    for kind in COMMANDS:
        command = kind()
        if command.HEADERS or command.HAS_BODY:
            structs = [amqp.DeliveryProperties()] if kind.__name__.startswith("Message") else []
            yield kind.NAME, talk_0_10.content(command, b"x", *structs)
        else:
            yield kind.NAME, talk_0_10.frames(command)
    yield from UNREADABLE.items()


def test_there_is_much_to_drop() -> None:
    assert len([*units()]) > 90


@BOTH_SIDES
@CROSSED
def test_a_closing_connection_drops_everything(side: Side, crossed: bool) -> None:
    facing = Facing.attached(side)
    facing.end.close(320, "that's all")
    facing.forget()
    if crossed:
        facing.feed(raw.close())
        assert facing.out == raw.CLOSE_OK
        facing.forget()
    for name, octets in units("connection.close"):
        assert facing.feed(octets) == [], name
        assert facing.out == b"", name
    facing.feed(raw.CLOSE_OK)
    report = facing.end.report
    assert report is not None
    assert (report.by, report.code) == (By.LOCAL, 320)


@BOTH_SIDES
def test_behind_a_detach_no_fault_ends_anything(side: Side) -> None:
    facing = Facing.attached(side)
    facing.session.detach()
    facing.forget()
    for name, octets in units("connection.", "session.attach", "session.detach"):
        facing.feed(octets)
        assert facing.of(Failed) == [], name
        assert facing.out == b"", name
        assert facing.end.is_open, name
    facing.feed(raw.detached())
    (closed,) = facing.of(SessionClosed)
    assert closed.report.by is By.LOCAL
    assert facing.end.sessions == ()


@BOTH_SIDES
@pytest.mark.rule("0-10/session/attachment")
def test_behind_detaches_that_have_crossed_everything_is_answered_as_not_attached(side: Side) -> None:
    facing = Facing.attached(side)
    facing.session.detach()
    facing.forget()
    facing.feed(raw.detach())
    assert facing.names() == ["session.detached"]
    for name, octets in units("connection.", "session.attach", "session.detach"):
        if name in UNREADABLE:
            continue
        facing.forget()
        assert facing.feed(octets) == [], name
        (sent,) = facing.records()
        assert (type(sent), sent.code) == (spec.SessionDetached, spec.DetachCode.NOT_ATTACHED.value), name
    assert facing.end.is_open
