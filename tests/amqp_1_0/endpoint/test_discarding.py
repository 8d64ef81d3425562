"""Behind its own close, end or detach an end says nothing more there; no fault of what was on the way ends anything.

Generated over the performatives, with right and wrong fields, content, and octets that nothing reads, for both sides,
with and without an error, and where the peer's own close or end has crossed it (part 2 sections 2.4.6, 2.5.4, 2.6.6).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import pytest

from amqp_sansio import By, Closed, Failed, Scope, Side
from amqp_sansio import amqp_1_0 as amqp
from amqp_sansio.amqp_1_0 import LinkClosed, spec
from amqp_sansio.amqp_1_0.model.connection import MOST_LEFT
from tests.kit.facing import BOTH_SIDES
from tests.kit.links_1_0 import BODY, Mapped, attach, begin, flow, transfer
from tests.kit.octets_1_0 import octets_of

ERRORS: Final = pytest.mark.parametrize("condition", ["", "amqp:internal-error"], ids=["quietly", "with an error"])
UNREADABLE: Final = {
    "cut off": b"\x00\x53\x14\xc0\x09\x01\x40",
    "no format code": b"\x00\x53\x14\xc0\x02\x01\xff",
    "an unknown type": b"\x00\x53\x55\x45",
    "no described type": b"\x45",
    "fields of other types": b"\x00\x53\x13\xc0\x03\x01\xa1\x00",
}


def of_links() -> Iterator[tuple[str, bytes]]:
    """Frames for the link with handle 0."""
    for number in (0, 1, 0):
        yield f"transfer {number}", octets_of(transfer(number), payload=BODY)
    yield "part of a delivery", octets_of(transfer(5, more=True), payload=BODY)
    yield "another delivery in between", octets_of(transfer(6), payload=BODY)
    yield "transfer without ids", octets_of(spec.Transfer(0), payload=BODY)
    yield "transfer with a bad message", octets_of(transfer(7), payload=b"\xff")
    yield "flow of a link", octets_of(flow(handle=0, delivery_count=0, link_credit=1))
    yield "drained flow", octets_of(flow(handle=0, delivery_count=9, link_credit=0, drain=True))


def of_sessions() -> Iterator[tuple[str, bytes]]:
    """Frames for the session on channel 0."""
    yield from of_links()
    yield "begin", octets_of(begin(0))
    yield "another begin", octets_of(begin(None))
    yield "attach", octets_of(attach("other", 1, True))
    yield "attach of a handle in use", octets_of(attach("in", 0, False))
    yield "flow", octets_of(flow())
    yield "flow of no link", octets_of(flow(handle=7, delivery_count=0, link_credit=1))
    yield "transfer of no link", octets_of(transfer(8, handle=9), payload=BODY)
    yield "disposition", octets_of(spec.Disposition(True, 0, 5, True, amqp.Accepted()))
    yield "disposition of a sender", octets_of(spec.Disposition(False, 0, 5, True, None))
    yield "detach of no link", octets_of(spec.Detach(9, True))
    for name, octets in UNREADABLE.items():
        yield name, octets_of(octets)


def of_connections() -> Iterator[tuple[str, bytes]]:
    """Any frames."""
    yield from of_sessions()
    yield "open", octets_of(spec.Open("c"))
    yield "flow without a session", octets_of(flow(), 44)
    yield "detach", octets_of(spec.Detach(0, True))
    yield "end", octets_of(spec.End())
    yield "a frame's header", octets_of(flow(), doff=1)
    yield "a frame of another type", octets_of(flow(), kind=9)


def passes_over(facing: Mapped, frames: Iterator[tuple[str, bytes]]) -> None:
    """None of the frames has an answer, or fails anything."""
    for name, octets in frames:
        facing.feed(octets)
        assert facing.of(Failed) == [], name
        assert facing.out == b"", name


@BOTH_SIDES
@ERRORS
def test_a_closing_connection_drops_everything(side: Side, condition: str) -> None:
    facing = Mapped.begun(side)
    facing.receiver()
    facing.end.close(condition)
    facing.forget()
    passes_over(facing, of_connections())
    facing.feed(octets_of(spec.Close()))
    assert facing.out == b""
    report = facing.end.report
    assert report is not None
    assert (report.by, report.condition) == (By.LOCAL, condition)


@BOTH_SIDES
@ERRORS
@pytest.mark.rule("1.0/transport/session.state/discarding", "1.0/transport/session.state/end-sent")
def test_a_session_that_ends_drops_faults(side: Side, condition: str) -> None:
    facing = Mapped.begun(side)
    facing.receiver()
    facing.session.close(condition)
    facing.forget()
    passes_over(facing, of_sessions())
    facing.feed(octets_of(spec.End()))
    assert facing.out == b""
    (closed,) = [each for each in facing.of(Closed) if each.scope is Scope.SESSION]
    assert closed.report.by is By.LOCAL
    assert facing.end.is_open


def behind_an_end() -> Iterator[tuple[str, bytes]]:
    """Frames for a session on channel 0 that is no more; a begin would be another one."""
    yield from of_sessions_but_begins()
    yield "detach", octets_of(spec.Detach(0, True))
    yield "end", octets_of(spec.End())
    yield "end with an error", octets_of(spec.End(amqp.Error(amqp.Symbol("amqp:internal-error"))))


def of_sessions_but_begins() -> Iterator[tuple[str, bytes]]:
    """Frames for the session on channel 0 that need it."""
    return (each for each in of_sessions() if "begin" not in each[0])


@BOTH_SIDES
@pytest.mark.parametrize("first", ["the peer", "this end", "this end with an error", "the peer, unanswered"])
@pytest.mark.rule("1.0/transport/session.state/unmapped")
def test_a_peer_that_goes_on_behind_its_end_harms_nothing(side: Side, first: str) -> None:
    """azure-servicebus for Python detaches links behind the end of their session."""
    facing = Mapped.begun(side)
    facing.receiver()
    if first == "the peer, unanswered":
        # Both on channel 1: its begin and its end, before this end has answered the begin.
        facing.feed(octets_of(begin(None), 1), octets_of(spec.End(), 1))
    elif first != "the peer":
        facing.session.close("amqp:internal-error" if "error" in first else "")
    facing.feed(octets_of(spec.End()))
    facing.forget()
    passes_over(facing, behind_an_end())
    assert facing.end.is_open
    # Another session on the same channel is judged as ever.
    facing.feed(octets_of(begin(None)))
    facing.forget()
    facing.feed(octets_of(spec.Detach(9, True)))
    (failed,) = facing.of(Failed)
    assert failed.scope is Scope.SESSION
    assert facing.end.is_open


@BOTH_SIDES
def test_the_ended_sessions_that_are_remembered_are_bounded(side: Side) -> None:
    facing = Mapped.begun(side)
    for channel in range(1, MOST_LEFT + 2):
        facing.feed(octets_of(begin(None), channel), octets_of(spec.End(), channel))
    facing.forget()
    passes_over(facing, iter([("the last", octets_of(spec.Detach(0), MOST_LEFT + 1))]))
    passes_over(facing, iter([("the oldest that is known", octets_of(spec.Detach(0), 2))]))
    facing.feed(octets_of(spec.Detach(0), 1))
    (failed,) = facing.of(Failed)
    assert failed.scope is Scope.CONNECTION


@BOTH_SIDES
@pytest.mark.parametrize("how", ["detach", "close", "close with an error"])
def test_a_link_that_detaches_drops_faults(side: Side, how: str) -> None:
    facing = Mapped.begun(side)
    link = facing.receiver()
    if how == "detach":
        link.detach()
    else:
        link.close("amqp:internal-error" if "error" in how else "")
    facing.forget()
    passes_over(facing, of_links())
    facing.feed(octets_of(spec.Detach(0, how != "detach")))
    assert facing.out == b""
    (closed,) = facing.of(LinkClosed)
    assert closed.report.by is By.LOCAL
    # The session goes on.
    again: Any = facing.session.open_receiver("source", name="again")
    facing.feed(octets_of(attach("again", 3, False)))
    assert again.is_open
