"""Sessions: begin, end, windows, errors (1.0 part 2 section 2.5)."""

from typing import Any

import pytest

from amqp_sansio import (
    Abandoned,
    By,
    Closed,
    EndpointClosed,
    Failed,
    LimitExceeded,
    Limits,
    LocalProtocolError,
    Opened,
    Scope,
    Side,
)
from amqp_sansio import amqp_1_0 as amqp
from amqp_sansio.amqp_1_0 import spec
from tests.kit.facing import BOTH_SIDES
from tests.kit.facing_1_0 import Facing
from tests.kit.links_1_0 import BODY, Mapped, attach, begin, flow, transfer
from tests.kit.octets_1_0 import octets_of, their_open

CLIENT, SERVER = Side.CLIENT, Side.SERVER


@pytest.mark.rule("1.0/transport/session/remote-channel-initiator", "1.0/transport/session/lowest-channel")
@BOTH_SIDES
def test_the_initiator_begins_without_remote_channel_on_the_lowest_free_channel(side: Side) -> None:
    facing = Facing.opened(side)
    first, second = facing.end.open_session(), facing.end.open_session()
    facing.settle()
    begins = [(each.channel, each.body) for each in facing.sent()]
    assert [channel for channel, _ in begins] == [0, 1]
    assert all([isinstance(frame, spec.Begin) and frame.remote_channel is None for _, frame in begins])
    facing.feed(octets_of(begin(1), 5), octets_of(begin(0), 9))
    opened = facing.of(Opened)
    assert [(each.scope, each.channel, each.pending) for each in opened] == [
        (Scope.SESSION, 1, second.opening),
        (Scope.SESSION, 0, first.opening),
    ]
    first.close()
    facing.feed(octets_of(spec.End(), 9))
    assert facing.end.open_session().channel == 0


@pytest.mark.rule("1.0/transport/session/remote-channel-answer")
@BOTH_SIDES
def test_the_answer_names_the_channel_of_the_begin(side: Side) -> None:
    facing = Facing.opened(side)
    facing.feed(octets_of(begin(None), 7))
    (asked,) = facing.of(amqp.SessionRequested)
    facing.end.session(asked.channel).accept(properties={"a": 1})
    facing.settle()
    (answer,) = facing.sent()
    assert (answer.channel, answer.body.remote_channel) == (asked.channel, 7)
    assert answer.body.properties == {"a": 1}
    assert facing.of(Opened)[0].scope is Scope.SESSION


@pytest.mark.rule("1.0/transport/session/remote-channel-answer")
@pytest.mark.parametrize("remote_channel", [0, 3])
def test_an_answer_to_nothing_closes_the_connection(facing: Mapped, remote_channel: int) -> None:
    facing.feed(octets_of(begin(remote_channel), 1))
    facing.closes("amqp:invalid-field", "transport/session/remote-channel-answer")


def test_a_refused_session_is_begun_and_ended_with_the_error() -> None:
    facing = Facing.opened(SERVER)
    facing.feed(octets_of(begin(None), 0))
    facing.end.session(0).refuse("amqp:not-allowed", "no sessions today")
    facing.settle()
    first, second = facing.sent()
    assert (first.name, second.name) == ("begin", "end")
    assert second.body.error == amqp.Error(amqp.Symbol("amqp:not-allowed"), "no sessions today")
    facing.feed(octets_of(spec.End()))
    assert [event.scope for event in facing.of(Closed)] == [Scope.SESSION]
    assert facing.end.sessions == ()


def test_what_a_refused_session_waited_for_fails_with_the_peers_words() -> None:
    facing = Facing.opened(CLIENT)
    session = facing.end.open_session()
    facing.feed(
        octets_of(begin()), octets_of(spec.End(amqp.Error(amqp.Symbol("amqp:unauthorized-access"), "who are you")))
    )
    assert facing.of(Opened)[0].pending == session.opening
    (failed,) = facing.of(Failed)
    assert (failed.by, failed.error.condition) == (By.REMOTE, "amqp:unauthorized-access")
    assert [event.report.condition for event in facing.of(Closed)] == ["amqp:unauthorized-access"]
    assert facing.names()[-1] == "end"
    with pytest.raises(EndpointClosed, match="unauthorized-access"):
        session.open_sender("x")


@pytest.mark.rule("1.0/transport/session/end-pair")
@BOTH_SIDES
def test_end_is_answered_by_end_and_both_channels_are_free(side: Side) -> None:
    facing = Mapped.begun(side, channel=3)
    facing.get(spec.End())
    assert facing.names() == ["end"]
    assert [(event.scope, event.report.by) for event in facing.of(Closed)] == [(Scope.SESSION, By.REMOTE)]
    facing.forget()
    facing.end.open_session()
    facing.feed(octets_of(begin(0), 3))
    assert facing.of(Opened)


@pytest.mark.rule("1.0/transport/session/simultaneous-end")
def test_both_may_end_at_once(facing: Mapped) -> None:
    facing.session.close()
    facing.settle()
    facing.get(spec.End(amqp.Error(amqp.Symbol("amqp:internal-error"))))
    assert facing.names() == ["end"]
    (closed,) = facing.of(Closed)
    assert (closed.report.by, closed.report.condition) == (By.REMOTE, "amqp:internal-error")


@pytest.mark.rule("1.0/transport/session.state/end-sent")
def test_a_session_that_this_end_left_takes_the_rest_of_the_peer(facing: Mapped) -> None:
    facing.receiver()
    facing.session.close()
    facing.settle()
    facing.forget()
    facing.get(transfer(0), BODY)
    assert not facing.frames()
    facing.get(spec.End())
    assert [type(event) for event in facing.events] == [amqp.LinkClosed, Closed]
    assert facing.events[0].resumable  # type: ignore[attr-defined]
    with pytest.raises(EndpointClosed):
        facing.session.flow()


@pytest.mark.rule("1.0/transport/session/ends-with-connection")
def test_sessions_end_with_their_connection(facing: Mapped) -> None:
    link = facing.sender()
    handle = link.send(amqp.Message("m"))
    facing.end.connection_lost("reset", facing.now)
    facing.settle()
    (abandoned,) = facing.of(Abandoned)
    assert (abandoned.pendings, abandoned.resumable) == ((handle,), True)
    closed = [event.scope for event in facing.of(Closed)]
    assert closed == [Scope.LINK, Scope.SESSION, Scope.CONNECTION]
    with pytest.raises(EndpointClosed):
        _ = handle.result


INVALID, UNATTACHED = "amqp:invalid-field", "amqp:session:unattached-handle"
WRONG: list[tuple[str, str, Any]] = [
    ("1.0/transport/link/unattached-handle", UNATTACHED, flow(handle=9, delivery_count=0)),
    ("1.0/transport/link/unattached-handle", UNATTACHED, transfer(0, handle=9)),
    ("1.0/transport/link/handle-in-use", "amqp:session:handle-in-use", attach("another", 0, True)),
    ("1.0/transport/session.state/mapped", "amqp:illegal-state", begin(None)),
    ("1.0/transport/attach/initial-delivery-count", INVALID, attach("x", 1, False, initial_delivery_count=None)),
    # The peer's begin answered this one, so it had come.
    ("1.0/transport/flow/next-incoming-id", INVALID, flow(next_incoming_id=None)),
    ("1.0/transport/flow/no-handle", INVALID, flow(delivery_count=0)),
    ("1.0/transport/flow/no-handle", INVALID, flow(link_credit=1)),
    ("1.0/transport/flow/no-handle", INVALID, flow(available=0)),
    ("1.0/transport/flow/no-handle", INVALID, flow(drain=True)),
    ("1.0/transport/disposition/range", INVALID, spec.Disposition(True, 5, 3, True, amqp.Accepted())),
]


@pytest.mark.parametrize(
    ("rule", "condition", "frame"),
    [pytest.param(*row, marks=pytest.mark.rule(row[0]), id=f"{row[0]}-{number}") for number, row in enumerate(WRONG)],
)
@pytest.mark.rule("1.0/transport/session/error", "1.0/transport/session.state/discarding")
def test_a_frame_that_breaks_a_rule_ends_the_session(facing: Mapped, rule: str, condition: str, frame: Any) -> None:
    facing.receiver()
    facing.get(frame)
    facing.fails_session(condition, rule.removeprefix("1.0/"))


@pytest.mark.rule("1.0/transport/session/handle-max")
def test_a_handle_above_handle_max_closes_the_connection() -> None:
    facing = Mapped.begun(config=amqp.Config(container_id="x", limits=Limits(consumers=4)))
    assert facing.session.own.begin is not None
    assert facing.session.own.begin.handle_max == 3
    facing.get(attach("big", 4, True))
    facing.closes("amqp:connection:framing-error", "transport/session/handle-max")


@pytest.mark.rule("1.0/transport/session/handle-max", "1.0/transport/link/lowest-handle")
def test_own_handles_are_the_lowest_and_stay_within_handle_max() -> None:
    facing = Mapped.begun(handle_max=1)
    links = [facing.session.open_receiver("a"), facing.session.open_receiver("b")]
    assert [link.handle for link in links] == [0, 1]
    with pytest.raises(LimitExceeded, match="handle-max"):
        facing.session.open_receiver("c")
    assert [each.name for each in facing.session.links] == [link.name for link in links]


@pytest.mark.rule("1.0/transport/session.window/remote-incoming", "1.0/transport/session.window/on-send")
@pytest.mark.rule("1.0/transport/session.window/transfer-id", "1.0/transport/session.window/next-outgoing-id")
def test_no_transfer_beyond_the_peers_incoming_window() -> None:
    facing = Mapped.begun(incoming_window=2)
    link = facing.session.open_sender("target", name="out")
    facing.settle()
    facing.get(attach("out", 0, True))
    facing.get(flow(handle=0, delivery_count=0, link_credit=10, incoming_window=2))
    facing.forget()
    for _ in range(2):
        link.send(amqp.Message("m"))
    assert facing.session.outgoing_window == 0
    assert link.credit == 0
    with pytest.raises(amqp.NoCredit, match="window"):
        link.send(amqp.Message("m"))
    assert len(facing.frames()) == 2
    facing.get(flow(next_incoming_id=2, incoming_window=2))
    assert [event.credit for event in facing.of(amqp.CreditChanged)] == [8]
    link.send(amqp.Message("m"))


@pytest.mark.rule("1.0/transport/session.window/on-flow", "1.0/transport/session.window/on-flow-compute")
@pytest.mark.parametrize(
    ("next_incoming_id", "expected"), [(0, 3), (1, 4), (2, 5)], ids=["behind", "one behind", "even"]
)
def test_the_window_is_recomputed_from_each_flow(facing: Mapped, next_incoming_id: int, expected: int) -> None:
    link = facing.sender()
    link.send(amqp.Message("m"), settled=True)
    link.send(amqp.Message("m"), settled=True)
    facing.get(flow(next_incoming_id=next_incoming_id, incoming_window=5))
    assert facing.session.outgoing_window == expected


@pytest.mark.rule("1.0/transport/session.window/on-flow-compute")
def test_without_next_incoming_id_the_window_counts_from_the_own_initial_id() -> None:
    """The peer began the session and hasn't seen the answer yet when it sends its flow."""
    facing = Facing.opened(SERVER)
    facing.feed(octets_of(begin(None)))
    session = facing.end.session(0)
    session.accept()
    facing.settle()
    facing.feed(octets_of(flow(next_incoming_id=None, incoming_window=7)))
    assert session.outgoing_window == 7
    assert not facing.of(Failed)


@pytest.mark.rule("1.0/transport/session.window/remote-outgoing", "1.0/transport/session.window/on-receive")
@pytest.mark.rule("1.0/transport/session.window/on-flow")
def test_the_peers_next_outgoing_id_and_window_are_followed() -> None:
    facing = Mapped.begun(next_outgoing_id=0xFFFF_FFFF)
    facing.receiver()
    assert facing.session.peer.next_outgoing_id == 0xFFFF_FFFF
    facing.get(transfer(0, settled=True), BODY)
    assert facing.session.peer.next_outgoing_id == 0
    facing.get(flow(next_outgoing_id=5))
    assert facing.session.peer.next_outgoing_id == 5
    facing.forget()
    facing.session.flow()
    (told,) = facing.frames()
    assert told.next_incoming_id == 5


@pytest.mark.rule("1.0/transport/session.window/incoming")
def test_the_own_window_is_told_again_when_half_of_it_is_used() -> None:
    facing = Mapped.begun(config=amqp.Config(container_id="x", incoming_window=4))
    facing.receiver()
    facing.get(transfer(0, settled=True), BODY)
    assert not facing.frames()
    facing.get(transfer(1, settled=True), BODY)
    (told,) = facing.frames()
    assert (told.NAME, told.handle, told.next_incoming_id, told.incoming_window) == ("flow", None, 2, 4)
    assert len(facing.of(amqp.Delivery)) == 2


@pytest.mark.rule("1.0/transport/session.window/violation")
def test_a_transfer_beyond_the_own_window_ends_the_session() -> None:
    facing = Facing.opened(SERVER, amqp.Config(container_id="x", incoming_window=2))
    facing.feed(octets_of(begin(None)))
    session: Any = facing.end.session(0)
    session.accept()
    facing.settle()
    session.open_receiver("source", name="in", credit=100)
    facing.feed(octets_of(attach("in", 0, False)))
    session.window = 0  # Nothing is told again.
    facing.forget()
    for number in range(3):
        facing.feed(octets_of(transfer(number, settled=True), 0, BODY))
    (failed,) = facing.of(Failed)
    assert failed.error.condition == "amqp:session:window-violation"
    assert facing.names()[-1] == "end"


@pytest.mark.rule("1.0/transport/flow/next-incoming-id")
def test_a_flow_with_next_incoming_id_before_the_begin_ends_the_session() -> None:
    facing = Facing.opened(SERVER)
    facing.feed(octets_of(begin(None)), octets_of(flow()))
    (failed,) = facing.of(Failed)
    assert failed.error.rule == "1.0/transport/flow/next-incoming-id"
    assert facing.names() == ["begin", "end"]


@pytest.mark.rule("1.0/transport/flow/next-incoming-id")
def test_own_flows_name_next_incoming_id_once_the_begin_came() -> None:
    facing = Facing.opened(CLIENT)
    session = facing.end.open_session()
    session.flow()
    facing.feed(octets_of(begin(next_outgoing_id=4)))
    session.flow()
    facing.settle()
    flows = [each.body for each in facing.sent() if each.name == "flow"]
    assert [each.next_incoming_id for each in flows] == [None, 4]


@pytest.mark.rule("1.0/transport/flow/no-handle", "1.0/transport/flow/echo")
def test_an_echo_is_answered_with_the_state_of_the_session(facing: Mapped) -> None:
    facing.get(flow(echo=True))
    (told,) = facing.frames()
    assert (told.NAME, told.handle, told.echo) == ("flow", None, False)
    assert (told.delivery_count, told.link_credit, told.available, told.drain) == (None, None, None, False)


def test_more_sessions_than_limits_allow() -> None:
    config = amqp.Config(container_id="x", limits=Limits(channels=2))
    facing = Facing.opened(CLIENT, config, their_open(channel_max=9))
    facing.end.open_session()
    facing.end.open_session()
    with pytest.raises(LimitExceeded, match="channel-max"):
        facing.end.open_session()


def test_what_waits_for_an_answer_can_not_be_used() -> None:
    facing = Facing.opened(SERVER)
    facing.feed(octets_of(begin(None)))
    session = facing.end.session(0)
    with pytest.raises(LocalProtocolError, match="accept or refuse"):
        session.open_sender("x")
    session.accept()
    with pytest.raises(LocalProtocolError, match="isn't waiting"):
        session.accept()
    with pytest.raises(EndpointClosed, match="no session on channel 5"):
        facing.end.session(5)


def test_a_late_answer_is_refused_with_the_reason() -> None:
    facing = Facing.opened(SERVER)
    facing.feed(octets_of(begin(None)))
    session = facing.end.session(0)
    facing.feed(octets_of(spec.End()))
    assert facing.names() == ["begin", "end"]
    with pytest.raises(LocalProtocolError):
        session.accept()
