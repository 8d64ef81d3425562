"""Closing an AMQP 1.0 connection: by either side, by both at once, without an answer, and by a lost transport."""

import pickle
from typing import Any

import pytest

from amqp_sansio import (
    Abandoned,
    By,
    Closed,
    CloseHint,
    CloseReport,
    EndpointClosed,
    Failed,
    LocalProtocolError,
    RemoteProtocolError,
    Scope,
)
from amqp_sansio.amqp_1_0 import Error, Message, Symbol
from amqp_sansio.amqp_1_0.codec.composite import encode_whole
from amqp_sansio.amqp_1_0.endpoint.events import LinkClosed
from amqp_sansio.amqp_1_0.spec import Begin, Close
from amqp_sansio.endpoint import Side
from amqp_sansio.events import Info
from tests.kit.applications import Accepting
from tests.kit.facing import BOTH_SIDES, CLIENT, SERVER
from tests.kit.facing_1_0 import Facing
from tests.kit.octets_1_0 import EMPTY, octets_of
from tests.kit.pair import SIDES
from tests.kit.pair_1_0 import Pair

CLOSES = octets_of(Close()), octets_of(encode_whole(Close()))
"""A close as clients write it, and as servers do."""
BEGIN = Begin(next_outgoing_id=0, incoming_window=1, outgoing_window=1)


@pytest.mark.rule("1.0/transport/connection/close-written", "1.0/transport/connection/close-read-on")
@pytest.mark.rule("1.0/transport/close/nothing-after", "1.0/transport/connection/close-channel")
@BOTH_SIDES
def test_a_close_is_the_last_frame_and_is_answered(side: Side) -> None:
    pair = Pair().open()
    before = {each: len(pair.sent[each]) for each in SIDES}
    pair.ends[side].close()
    pair.drive()
    for each in SIDES:
        assert bytes(pair.sent[each][before[each] :]) in CLOSES
        (closed,) = pair.take(each, Closed)
        assert closed == Closed(Scope.CONNECTION, 0, CloseReport(By.LOCAL if each is side else By.REMOTE))
        assert pair.ends[each].close_hint is CloseHint.CLOSE_WHEN_SENT
        assert pair.ends[each].report == closed.report
    assert not [event for each in SIDES for event in pair.events[each] if isinstance(event, Failed)]


@BOTH_SIDES
def test_an_error_is_told(side: Side) -> None:
    pair = Pair().open()
    pair.ends[side].close("amqp:connection:forced", "maintenance", {Symbol("until"): "noon"})
    pair.drive()
    own, other = pair.ends[side], pair.ends[side.other]
    info = Info({"until": "noon"})
    assert own.report == CloseReport(By.LOCAL, 0, "maintenance", condition="amqp:connection:forced", info=info)
    assert other.report is not None
    assert other.report.info == info
    assert (other.report.by, other.report.condition) == (By.REMOTE, "amqp:connection:forced")
    assert "operator" in other.report.hint
    (failed,) = [event for event in pair.events[side.other] if isinstance(event, Failed)]
    assert isinstance(failed.error, RemoteProtocolError)
    assert (failed.by, failed.error.condition) == (By.REMOTE, "amqp:connection:forced")
    assert other.peer_close is not None
    assert other.peer_close.error == Error("amqp:connection:forced", "maintenance", {Symbol("until"): "noon"})
    assert not [event for event in pair.events[side] if isinstance(event, Failed)]


@pytest.mark.rule("1.0/transport/connection/simultaneous-close")
@pytest.mark.parametrize("client", ["", "amqp:internal-error"])
@pytest.mark.parametrize("server", ["", "amqp:connection:forced"])
def test_both_may_close_at_once(client: str, server: str) -> None:
    pair = Pair().open()
    pair.client.close(client)
    pair.server.close(server)
    pair.drive()
    for side, own, other in ((CLIENT, client, server), (SERVER, server, client)):
        report = pair.ends[side].report
        assert report is not None
        # Who had an error to tell keeps its own, else the other's is told.
        assert report.condition == (own or other)
        assert report.by is (By.LOCAL if own or not other else By.REMOTE)
        assert len([event for event in pair.events[side] if isinstance(event, Closed)]) == 1


@pytest.mark.rule("1.0/transport/connection/close-channel")
@pytest.mark.parametrize("channel", [0, 1, 2046])
@BOTH_SIDES
def test_a_close_is_taken_on_any_channel(side: Side, channel: int) -> None:
    facing = Facing.opened(side)
    facing.feed(octets_of(Close(), channel))
    assert facing.out in CLOSES
    assert facing.end.report == CloseReport(By.REMOTE)


@pytest.mark.rule("1.0/transport/connection/no-read-after-close", "1.0/transport/close/nothing-after")
@pytest.mark.rule("1.0/transport/connection/no-reuse")
@BOTH_SIDES
def test_what_follows_the_peers_close_is_not_read(side: Side) -> None:
    facing = Facing.opened(side)
    facing.feed(octets_of(Close()) + octets_of(BEGIN) + octets_of(Close()))
    assert [type(event) for event in facing.events] == [Closed]
    assert facing.feed(octets_of(BEGIN), b"AMQP\x00\x01\x00\x00") == []
    assert facing.out in CLOSES
    assert facing.end.receive_budget == 0


@BOTH_SIDES
def test_a_second_close_does_nothing(side: Side) -> None:
    facing = Facing.opened(side)
    facing.end.close("amqp:internal-error", "one")
    facing.end.close("amqp:not-found", "two")
    facing.settle()
    facing.end.close()
    facing.settle()
    assert len(facing.sent()) == 1
    facing.feed(octets_of(Close()))
    facing.end.close()
    assert facing.end.report is not None
    assert facing.end.report.text == "one"


@BOTH_SIDES
def test_a_text_needs_a_condition(side: Side) -> None:
    facing = Facing.opened(side)
    before = pickle.dumps(facing.end)
    with pytest.raises(LocalProtocolError, match="condition"):
        facing.end.close("", "only text")
    assert pickle.dumps(facing.end) == before


@BOTH_SIDES
def test_behind_a_close_nothing_is_begun(side: Side) -> None:
    facing = Facing.opened(side)
    facing.end.close()
    for call in (facing.end.open_session, facing.end.accept_open if side is SERVER else facing.end.open_session):
        with pytest.raises(EndpointClosed, match="closing"):
            call()
    facing.feed(octets_of(BEGIN))
    assert facing.events == []
    facing.feed(octets_of(Close()))
    with pytest.raises(EndpointClosed, match="closed"):
        facing.end.open_session()
    with pytest.raises(EndpointClosed):
        facing.end.session(0)


@BOTH_SIDES
def test_a_lost_transport_takes_no_commands(side: Side) -> None:
    facing = Facing.opened(side)
    session = facing.end.open_session()
    facing.end.connection_lost("reset", 0.0)
    facing.end.close()
    for call in (facing.end.open_session, session.flow):
        with pytest.raises(EndpointClosed, match="reset"):
            call()
    assert facing.end.send_backlog == 0


def test_an_end_tells_of_everything_that_was_open() -> None:
    pair = Pair(applications={SERVER: Accepting(deliveries=False)}).open()
    session = pair.session()
    sender = session.open_sender("q")
    pair.pump()
    handles = [sender.send(Message(b"x")) for _ in range(3)]
    waiting = session.open_receiver("r")
    pair.pump()
    waiting = session.open_receiver("s")
    beginning: Any = pair.client.open_session()
    pair.take(CLIENT)
    pair.client.connection_lost("gone", 1.0)
    pair.drain(CLIENT)
    events = pair.take(CLIENT)
    abandoned = [handle for event in events if isinstance(event, Abandoned) for handle in event.pendings]
    assert {handle.key for handle in abandoned} == {
        handle.key for handle in (*handles, waiting.opening, beginning.opening)
    }
    assert all(handle.done for handle in abandoned)
    for handle in abandoned:
        assert isinstance(handle.error, EndpointClosed)
    assert [event.scope for event in events if isinstance(event, Closed)][-1] is Scope.CONNECTION
    assert len([event for event in events if isinstance(event, LinkClosed)]) == 3
    assert pair.client.sessions == ()


@pytest.mark.rule("1.0/transport/connection/idle-empty-when")
@BOTH_SIDES
def test_no_empty_frames_behind_a_close(side: Side) -> None:
    from tests.kit.octets_1_0 import their_open

    facing = Facing.opened(side, None, their_open(idle_time_out=1000))
    facing.end.close()
    facing.settle()
    facing.forget()
    facing.wait(3.0)
    assert facing.out == b""
    assert EMPTY not in facing.out
