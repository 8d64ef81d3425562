"""Limits of AMQP 1.0: whatever the peer sends, no endpoint holds more than its Limits allow."""

import pickle
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amqp_sansio import (
    PAUSED,
    Closed,
    EndpointClosed,
    Failed,
    LimitExceeded,
    Limits,
    RemoteProtocolError,
    Scope,
    SendPaused,
    SendResumed,
    Signal,
)
from amqp_sansio import amqp_1_0 as amqp
from amqp_sansio.amqp_1_0 import spec
from amqp_sansio.endpoint import Side
from amqp_sansio.sasl import Plain
from tests.kit.applications import Accepting
from tests.kit.driving import OPERATIONS, Operation
from tests.kit.driving_1_0 import Driver
from tests.kit.facing import BOTH_SIDES, CLIENT, SERVER
from tests.kit.facing_1_0 import Facing
from tests.kit.octets_1_0 import AMQP_HEADER, EMPTY, octets_of, their_open
from tests.kit.pair import SIDES
from tests.kit.pair_1_0 import Pair, client_config, held_octets, server_config
from tests.kit.small import small_limits

BEGIN = spec.Begin(next_outgoing_id=0, incoming_window=1, outgoing_window=1)
LIMITS = small_limits(unparsed=6000)
SLACK = 10_000
"""One unit more than the backlog's bound: what is queued as a whole when the bound isn't reached yet."""


def check_bounds(end: Any, limits: Limits) -> None:
    """Every gauge is within its limit."""
    assert held_octets(end) <= limits.unparsed + limits.bodies + limits.backlog_hard + SLACK
    assert end.receive_budget <= limits.unparsed
    # Those that the peer began beyond the limit are there until it has heard no.
    assert len(end.sessions) <= 2 * limits.channels
    for channel in end.sessions:
        session = end.session(channel)
        assert len(session.links) <= 2 * limits.consumers
        for link in session.links:
            assert len(link.unsettled) <= limits.unsettled


@given(OPERATIONS, st.booleans())
def test_bounds_hold_whatever_happens(operations: list[Operation], damage: bool) -> None:
    driver = Driver(
        client=client_config(limits=LIMITS, max_frame_size=4096, sasl=Plain("guest", "guest")),
        server=server_config(limits=LIMITS, max_frame_size=4096, mechanisms=("PLAIN",)),
        damage=damage,
    )
    for operation in operations:
        driver.apply(operation)
        for side in SIDES:
            check_bounds(driver.pair.ends[side], LIMITS)


@given(st.binary(max_size=400), st.sampled_from(SIDES), st.integers(0, 3))
def test_any_octets_do_no_harm(octets: bytes, side: Side, stage: int) -> None:
    """No exception leaves the read path, and what can't be kept isn't."""
    if stage == 0:
        facing = Facing(side, config_of(side))
    elif stage == 1:
        facing = Facing(side, config_of(side))
        facing.feed(AMQP_HEADER)
    else:
        facing = Facing.opened(side, config_of(side))
        facing.end.open_session()
        facing.settle()
    if stage == 3:
        octets = octets_of(octets)
    facing.feed(octets)
    check_bounds(facing.end, LIMITS)
    facing.end.receive_eof(0.0)
    facing.settle()
    closed = [event for event in facing.of(Closed) if event.scope is Scope.CONNECTION]
    asked = facing.end.next_event() is PAUSED
    assert len(closed) == 1 or asked


def config_of(side: Side, **changes: Any) -> Any:
    """A configuration with small limits."""
    made = client_config if side is CLIENT else server_config
    return made(**{"limits": LIMITS, "max_frame_size": 4096, **changes})


# Octets that come in.


@BOTH_SIDES
def test_no_more_is_taken_than_the_budget(side: Side) -> None:
    facing = Facing.opened(side, config_of(side))
    budget = facing.end.receive_budget
    assert budget == 6000
    before = pickle.dumps(facing.end)
    with pytest.raises(LimitExceeded, match="receive_budget is 6000"):
        facing.end.receive_data(bytes(6001), 0.0)
    assert pickle.dumps(facing.end) == before
    facing.end.receive_data(EMPTY * 750, 0.0)
    assert facing.end.receive_budget == 0
    with pytest.raises(LimitExceeded):
        facing.end.receive_data(b"x", 0.0)
    facing.settle()
    assert facing.end.receive_budget == 6000


@BOTH_SIDES
def test_the_budget_is_kept_while_a_question_waits(side: Side) -> None:
    facing = Facing(SERVER, config_of(SERVER))
    facing.feed(AMQP_HEADER + octets_of(their_open()))
    facing.end.receive_data(EMPTY * 750, 0.0)
    assert facing.end.next_event() is PAUSED
    assert facing.end.receive_budget == 0
    facing.end.accept_open()
    facing.settle()
    assert facing.end.receive_budget == 6000


@BOTH_SIDES
def test_a_frame_that_is_not_whole_is_waited_for_within_the_budget(side: Side) -> None:
    facing = Facing.opened(side, config_of(side, max_frame_size=60_000))
    assert facing.end.own_open is not None
    assert facing.end.own_open.max_frame_size == 6000
    facing.feed(octets_of(BEGIN, size=6000))
    assert facing.events == []
    facing.feed(octets_of(BEGIN.replace(properties={"long": bytes(5900)}))[:5000])
    assert not facing.of(Failed)


# Sessions.


@pytest.mark.rule("1.0/transport/open/channel-max")
@BOTH_SIDES
def test_no_more_sessions_than_channels(side: Side) -> None:
    facing = Facing.opened(side, config_of(side))
    assert facing.end.channel_max == 2
    for channel in range(3):
        facing.feed(octets_of(BEGIN, channel))
    assert len(facing.of(amqp.SessionRequested)) == 3
    facing.feed(octets_of(BEGIN, 3))
    facing.closes("amqp:connection:framing-error", "transport/open/channel-max")


@BOTH_SIDES
def test_a_session_that_can_have_no_channel_here_ends_the_connection(side: Side) -> None:
    """There's none left on which it could be answered, nor refused."""
    facing = Facing.opened(side, config_of(side), their_open(channel_max=2))
    for _ in range(3):
        facing.end.open_session()
    facing.forget()
    facing.feed(octets_of(BEGIN, 0))
    facing.closes("amqp:resource-limit-exceeded", "transport/open/channel-max")


@BOTH_SIDES
def test_a_session_above_the_own_limit_is_refused_alone(side: Side) -> None:
    facing = Facing.opened(side, config_of(side))
    for _ in range(3):
        facing.end.open_session()
    facing.forget()
    facing.feed(octets_of(BEGIN, 0))
    assert facing.names() == ["begin", "end"]
    assert facing.sent()[1].body.error.condition == "amqp:resource-limit-exceeded"
    assert facing.end.is_open


def attach(number: int) -> bytes:
    """A peer's attach of a link of its own, as its sender."""
    name = f"theirs-{number}"
    return octets_of(
        spec.Attach(name, number, False, source=amqp.Source(), target=amqp.Target("q"), initial_delivery_count=0)
    )


@pytest.mark.rule("1.0/transport/session/handle-max")
@BOTH_SIDES
def test_the_own_links_leave_room_for_the_peers(side: Side) -> None:
    facing = Facing.opened(side, config_of(side))
    session = facing.end.open_session()
    facing.settle()
    facing.feed(octets_of(BEGIN.replace(remote_channel=0)))
    for _ in range(4):
        session.open_sender("q")
    with pytest.raises(LimitExceeded, match="handle-max"):
        session.open_sender("q")
    for number in range(4):
        facing.feed(attach(number))
    assert [event.link for event in facing.of(amqp.LinkRequested)] == [4, 5, 6, 7]
    facing.forget().feed(attach(4))
    facing.closes("amqp:connection:framing-error", "transport/session/handle-max")


@pytest.mark.rule("1.0/transport/session/handle-max")
@BOTH_SIDES
def test_a_link_that_can_have_no_handle_here_ends_the_session(side: Side) -> None:
    facing = Facing.opened(side, config_of(side))
    session = facing.end.open_session()
    facing.settle()
    facing.feed(octets_of(BEGIN.replace(remote_channel=0, handle_max=0)))
    session.open_sender("q")
    facing.forget().feed(attach(0))
    assert facing.sent()[-1].name == "end"
    assert facing.sent()[-1].body.error.condition == "amqp:resource-limit-exceeded"
    assert facing.end.is_open


# Octets that go out.


def sending(**changes: Any) -> tuple[Pair, Any]:
    """A pair whose server takes nothing, and a client's sender with credit."""
    pair = Pair(
        client=client_config(limits=LIMITS, **changes),
        server=server_config(limits=LIMITS, incoming_window=1000, max_frame_size=4096),
        applications={SERVER: Accepting(deliveries=False, credit=100)},
    ).open()
    sender = pair.session().open_sender("q", snd_settle_mode=1)
    pair.pump()
    return pair, sender


def test_the_backlog_is_told() -> None:
    pair, sender = sending()
    pair.take(CLIENT)
    while pair.client.send_backlog <= 20_000:
        assert pair.client.next_event() is Signal.NEED_DATA
        sender.send(amqp.Message(bytes(1000)))
    paused = pair.client.next_event()
    assert paused == SendPaused(pair.client.send_backlog)
    assert pair.client.next_event() is Signal.NEED_DATA
    while pair.client.send_backlog > 5000:
        assert pair.client.next_event() is Signal.NEED_DATA
        assert len(pair.client.data_to_send(1.0, 3000)) == 3000
    resumed = pair.client.next_event()
    assert resumed == SendResumed(pair.client.send_backlog)


def test_a_full_backlog_refuses_commands_and_changes_nothing() -> None:
    pair, sender = sending()
    for _ in range(100):
        before = pickle.dumps(pair.client)
        try:
            sender.send(amqp.Message(bytes(1000)))
        except LimitExceeded as error:
            assert "backlog_hard allows 60000" in str(error)
            break
    else:
        raise AssertionError("nothing was refused")
    assert pickle.dumps(pair.client) == before
    assert 58_000 < pair.client.send_backlog <= 60_000
    pair.drive()
    assert pair.client.is_open


def test_a_close_goes_out_whatever_waits() -> None:
    pair, sender = sending()
    with pytest.raises(LimitExceeded):
        for _ in range(100):
            sender.send(amqp.Message(bytes(1000)))
    pair.client.close()
    with pytest.raises(EndpointClosed):
        sender.send(b"")
    pair.drive()
    for side in SIDES:
        assert pair.ends[side].report is not None


@pytest.mark.rule("1.0/transport/error/resource-limit")
@BOTH_SIDES
def test_a_peer_that_provokes_and_does_not_read_is_closed(side: Side) -> None:
    """Each echo asks for a flow; nobody takes them."""
    facing = Facing.opened(side, config_of(side), spec.Open("peer"))
    session = facing.end.open_session()
    facing.settle()
    facing.feed(octets_of(spec.Begin(remote_channel=0, next_outgoing_id=0, incoming_window=1, outgoing_window=1)))
    assert session.is_open
    echo = octets_of(spec.Flow(next_incoming_id=0, incoming_window=1, next_outgoing_id=0, outgoing_window=1, echo=True))
    facing.forget()
    for _ in range(10_000):
        facing.end.receive_data(echo * 10, 0.0)
        while not isinstance(event := facing.end.next_event(), Signal):
            facing.events.append(event)
        if facing.of(Failed):
            break
    (failed,) = facing.of(Failed)
    assert isinstance(failed.error, RemoteProtocolError)
    assert failed.error.condition == "amqp:resource-limit-exceeded"
    assert "backlog_hard" in str(failed.error)
    assert facing.end.send_backlog <= LIMITS.backlog_hard + 1000
    facing.settle()
    assert facing.sent()[-1].name == "close"
    facing.feed(octets_of(spec.Close()))
    assert [event for event in facing.of(Closed) if event.scope is Scope.CONNECTION]


def test_the_names_of_links_that_ended_in_an_error_are_kept_short() -> None:
    """They outlive their links: a name may be as long as a frame."""
    facing = Facing.opened(Side.SERVER)
    begin = spec.Begin(None, 0, 9, 9)
    facing.feed(octets_of(begin))
    facing.end.session(0).accept()
    facing.settle()
    for size in (10, 20_000):
        for number in range(20):
            name = f"{number} " + "n" * size
            attach = spec.Attach(name, 1, False, source=amqp.Source(), target=amqp.Target(), initial_delivery_count=0)
            (requested,) = facing.feed(octets_of(attach))
            assert isinstance(requested, amqp.LinkRequested)
            facing.end.session(0).link(requested.link).accept_attach()
            facing.settle()
            facing.feed(octets_of(spec.Detach(1, False, amqp.Error(amqp.Symbol("amqp:internal-error")))))
        facing.events.clear()
    assert len(pickle.dumps(facing.end)) < 20_000
