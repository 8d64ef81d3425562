"""Bodies of 0-10 that come in pieces (Config.stream_above): begun, received, aborted, completed, counted."""

from __future__ import annotations

import pickle

import pytest

from amqp_sansio import Event, Failed, Limits, LocalProtocolError, Side
from amqp_sansio.amqp_0_10 import (
    NONE,
    BodyAborted,
    BodyReceived,
    CommandReceived,
    MessageBegun,
    MessageReceived,
    MessageTransfer,
    SessionClosed,
)
from tests.kit.octets_0_10 import (
    attach,
    command_point,
    completed,
    expected,
    flush,
    frame,
    gap,
    routed,
    segment,
    str8,
    transfer,
    user_id,
)
from tests.kit.wire_0_10 import CLIENT, SERVER, Facing, client_config, server_config

ABOVE = 10
HEAD = frame(segment(0x0401, str8("d"), sync=True), 1, flags=0x0B)


def streaming(side: Side, credit: int = 100, octets: int | None = None, **changes: object) -> Facing:
    """An endpoint that takes bodies above ten octets in pieces; a client has the subscription "d"."""
    if side is SERVER:
        return Facing.attached(SERVER, server_config(stream_above=ABOVE, **changes), keep=60)
    facing = Facing.subscribed(CLIENT, client_config(stream_above=ABOVE, **changes), keep=60)
    facing.session.top_up("d", credit, octets)
    return facing.forget()


def pieces(*bodies: bytes, header: bytes = b"") -> bytes:
    """The frames of a message behind its command, one for each piece of its body."""
    last = len(bodies) - 1
    frames = [frame(each, 3, flags=4 | (0 if n else 2) | (1 if n == last else 0)) for n, each in enumerate(bodies)]
    return (frame(header, 2, flags=3) if header else b"") + b"".join(frames)


def told(events: list[Event]) -> list[object]:
    """The kinds of events, and the octets of bodies."""
    return [event.octets if isinstance(event, BodyReceived) else type(event) for event in events]


@pytest.mark.parametrize("size", [0, ABOVE - 1, ABOVE])
def test_a_body_up_to_the_bound_comes_as_a_whole(side: Side, size: int) -> None:
    facing = streaming(side)
    facing.feed(transfer("d", b"x" * size, header=routed()))
    (message,) = facing.events
    assert isinstance(message, MessageReceived)
    assert message.body == b"x" * size


def test_a_larger_body_comes_in_pieces(side: Side) -> None:
    facing = streaming(side)
    facing.feed(HEAD + pieces(b"12345", b"67890", b"abc", b"de", b"", b"fghij", header=routed()))
    begun = facing.events[0]
    assert isinstance(begun, MessageBegun)
    mode = None if side is Side.CLIENT else NONE
    assert begun == MessageBegun(0, 0, MessageTransfer("d", mode), begun.headers, True)
    assert begun.headers.raw == routed()
    # It's told to begin when it has become too large; what is there then comes together.
    assert told(facing.events) == [MessageBegun, b"1234567890abc", b"de", b"", b"fghij"]
    assert [event.last for event in facing.of(BodyReceived)] == [False, False, False, True]
    facing.session.complete(0)
    facing.settle()
    assert facing.out == completed(0)


def test_a_large_body_in_one_frame_is_told_with_its_only_piece(side: Side) -> None:
    facing = streaming(side)
    facing.feed(HEAD + pieces(b"x" * 50))
    begun, body = facing.events
    assert isinstance(begun, MessageBegun)
    assert body == BodyReceived(0, 0, b"x" * 50, last=True)


def test_nothing_of_the_body_is_kept(side: Side) -> None:
    facing = streaming(side, limits=Limits(bodies=100, message=1 << 30, unparsed=1 << 20))
    facing.feed(HEAD + frame(b"x" * 50, 3, flags=6))
    for _ in range(100):
        facing.feed(frame(b"y" * 90, 3, flags=4))
    facing.feed(frame(b"z", 3, flags=5))
    assert sum([len(event.octets) for event in facing.of(BodyReceived)]) == 50 + 9000 + 1
    assert len(pickle.dumps(facing.end)) < 20_000
    facing.session.complete(0)
    assert facing.session.incomplete == ()


def test_a_message_that_is_still_arriving_is_not_completed(side: Side) -> None:
    facing = streaming(side)
    facing.feed(HEAD + frame(b"x" * 20, 3, flags=6))
    with pytest.raises(LocalProtocolError, match="still arriving"):
        facing.session.complete(0)
    facing.feed(frame(b"y", 3, flags=5))
    facing.session.complete(0)


@pytest.mark.rule("0-10/session.gap/abort-partial")
def test_a_gap_aborts_the_rest(side: Side) -> None:
    facing = streaming(side)
    facing.feed(HEAD + frame(b"x" * 20, 3, flags=6) + gap(0))
    assert facing.events[-1] == BodyAborted(0, 0)
    assert facing.session.incomplete == ()
    assert facing.session.unsettled == ()
    facing.feed(transfer("d", b"next"))
    assert facing.of(MessageReceived)[0].command_id == 1


def test_a_body_that_begins_again_is_aborted_first(side: Side) -> None:
    facing = streaming(side)
    facing.feed(HEAD + frame(b"x" * 20, 3, flags=6) + command_point(0) + HEAD + pieces(b"y" * 20, b"z"))
    assert told(facing.events) == [MessageBegun, b"x" * 20, BodyAborted, MessageBegun, b"y" * 20, b"z"]
    facing.session.complete(0)
    facing.settle()
    assert facing.out.endswith(completed(0))


@pytest.mark.rule("0-10/session/exactly-once")
def test_a_lost_transport_aborts_the_rest_and_it_comes_again() -> None:
    before = streaming(SERVER)
    before.feed(HEAD + frame(b"x" * 20, 3, flags=6))
    session = before.session
    before.end.connection_lost("cut", 0.0)
    before.settle()
    kinds = told(before.events)
    assert kinds[:3] == [MessageBegun, b"x" * 20, BodyAborted]
    assert SessionClosed in kinds
    state = pickle.loads(pickle.dumps(session.detached_state()))
    facing = Facing.opened(SERVER, server_config(stream_above=ABOVE))
    facing.feed(attach())
    facing.end.accept_session(0, state)
    facing.forget()
    facing.feed(flush("expected") + expected(0) + command_point(0) + HEAD + pieces(b"x" * 20, b"y" * 20))
    assert facing.sent()[0].octets == expected(0)
    assert told(facing.events)[-3:] == [MessageBegun, b"x" * 20, b"y" * 20]
    assert facing.session.incomplete == (0,)


def test_a_streamed_message_counts_as_any_other() -> None:
    facing = streaming(CLIENT, 2, 100)
    session = facing.session
    facing.feed(HEAD + pieces(b"x" * 20, b"y" * 20, header=routed()))
    size = 40 + len(routed())
    assert session.granted("d") == (1, 100 - size)
    session.complete(0)
    assert session.granted("d") == (2, 100)
    session.accept(0)
    assert session.unsettled == ()


@pytest.mark.parametrize("body", [(b"x" * 60, b"y" * 60), (b"x" * 50, b"y" * 50, b"z")])
def test_a_streamed_message_above_the_credit_is_an_overrun(body: tuple[bytes, ...]) -> None:
    facing = streaming(CLIENT, 2, 100)
    facing.feed(HEAD + pieces(*body))
    (failed,) = facing.of(Failed)
    assert (failed.error.code, failed.error.rule) == (506, "0-10/message.set-flow-mode/byte-accounting")
    told_ = facing.records()[-3]
    assert (told_.NAME, told_.command_id) == ("execution.exception", 0)


def test_a_streamed_message_is_checked_when_it_begins() -> None:
    facing = streaming(SERVER)
    facing.feed(HEAD + pieces(b"x" * 60, b"y" * 60, header=user_id(b"bob")))
    assert facing.of(MessageBegun) == []
    (failed,) = facing.of(Failed)
    assert failed.error.code == 403
    client = streaming(CLIENT)
    client.feed(frame(segment(0x0401, str8("nowhere")), 1, flags=0x0B) + pieces(b"x" * 60, b"y"))
    assert client.of(MessageBegun) == []
    assert client.of(Failed)[0].error.code == 404


def test_only_messages_are_streamed() -> None:
    facing = streaming(SERVER)
    facing.feed(frame(segment(0x0A06, str8(""), str8("k")), 1, flags=0x0B) + pieces(b"x" * 60, b"y"))
    (asked,) = facing.events
    assert isinstance(asked, CommandReceived)
    assert (asked.command.NAME, asked.body) == ("stream.publish", b"x" * 60 + b"y")


def test_a_streamed_body_is_bounded_all_the_same(side: Side) -> None:
    facing = streaming(side, limits=Limits(message=100))
    facing.feed(HEAD + frame(b"x" * 60, 3, flags=6) + frame(b"y" * 41, 3, flags=4))
    assert told(facing.events)[:2] == [MessageBegun, b"x" * 60]
    assert BodyAborted in told(facing.events)
    facing.gives_up(506, 0, None)


def test_a_stream_goes_on_from_a_snapshot(side: Side) -> None:
    facing = streaming(side)
    facing.feed(HEAD + frame(b"x" * 20, 3, flags=6))
    facing.end = pickle.loads(pickle.dumps(facing.end))
    facing.feed(frame(b"y", 3, flags=5))
    facing.session.complete(0)
    facing.settle()
    assert told(facing.events) == [MessageBegun, b"x" * 20, b"y"]
    assert facing.out == completed(0)
