"""Sessions of 0-10: attach, attached, detach, detached, timeouts, one session on one transport (class 2)."""

import pickle
from collections.abc import Callable
from functools import partial

import pytest

from amqp_sansio import (
    Abandoned,
    By,
    Closed,
    EndpointClosed,
    Failed,
    LimitExceeded,
    LocalProtocolError,
    Opened,
    RemoteProtocolError,
    Replied,
    Scope,
    Side,
)
from amqp_sansio import amqp_0_10 as amqp
from amqp_sansio.amqp_0_10 import spec
from tests.kit import octets_0_10 as raw
from tests.kit.facing import CLIENT, SERVER
from tests.kit.facing_0_10 import Facing, client_config, server_config

ALL = raw.flush("expected", "confirmed", "completed")


# Attaching.


def test_a_client_attaches_octet_by_octet() -> None:
    facing = Facing.opened(CLIENT)
    session = facing.end.open_session(b"\xff name", force=True)
    facing.settle()
    assert facing.out == raw.frame(bytes.fromhex("020103000006") + b"\xff name")
    assert not session.is_attached
    assert facing.end.sessions == (0,)
    facing.forget()
    facing.feed(raw.attached(b"\xff name"))
    # What does the peer know of it? Only then comes the first command-point.
    assert facing.out == raw.frame(bytes.fromhex("020c0700"))
    assert facing.events == []
    facing.forget()
    facing.feed(raw.expected())
    assert facing.out == raw.frame(bytes.fromhex("02070300") + raw.u32(0) + raw.u64(0))
    assert facing.events == [Opened(Scope.SESSION, 0, facing.of(Opened)[0].pending)]
    assert session.is_attached


def test_the_handle_of_the_attachment_gives_the_session() -> None:
    facing = Facing.opened(CLIENT)
    session = facing.end.open_session("s")
    opening = session.opening
    assert opening is not None
    facing.feed(raw.attached() + raw.expected())
    assert opening.result is session
    assert facing.of(Opened)[0].pending == opening


def test_a_server_attaches_octet_by_octet() -> None:
    facing = Facing.opened(SERVER)
    facing.feed(raw.attach(b"s", force=True, channel=3))
    assert facing.events == [amqp.SessionRequested(3, b"s", True)]
    assert facing.out == b""
    session = facing.end.accept_session(3)
    facing.settle()
    point = bytes.fromhex("02070300") + raw.u32(0) + raw.u64(0)
    assert facing.out == raw.frame(bytes.fromhex("020201000001") + b"s", channel=3) + raw.frame(point, channel=3)
    assert facing.events[1:] == [Opened(Scope.SESSION, 3, None)]
    assert (session.channel, session.name, session.timeout) == (3, b"s", 0)
    with pytest.raises(LocalProtocolError, match="no session waits"):
        facing.end.accept_session(3)


@pytest.mark.rule("0-10/wire/channel0", "0-10/wire/channels-many", "0-10/connection.tune-ok/available-channels")
def test_channels_are_taken_from_zero_on_up_to_the_number_agreed() -> None:
    facing = Facing.opened(CLIENT, client_config(channel_max=2))
    assert facing.end.channel_max == 2
    first, second = facing.end.open_session("a"), facing.end.open_session("b")
    assert (first.channel, second.channel) == (0, 1)
    with pytest.raises(LimitExceeded, match="2 channels") as caught:
        facing.end.open_session("c")
    assert caught.value.rule == "0-10/connection.tune-ok/available-channels"
    facing.feed(raw.detached(b"a", 1))
    assert facing.end.open_session("c").channel == 0


@pytest.mark.rule("0-10/wire/channel0")
def test_channel_zero_is_there_even_when_it_is_the_only_one() -> None:
    facing = Facing.opened(SERVER, server_config(channel_max=1), raw.tune_ok(1))
    facing.feed(raw.attach(channel=0))
    facing.end.accept_session(0)
    facing.feed(raw.command_point() + raw.transfer("", b"x"))
    assert facing.session.incomplete == (0,)


@pytest.mark.rule("0-10/connection.tune-ok/available-channels")
@pytest.mark.parametrize("what", ["attach", "transfer", "command-point"])
def test_a_channel_above_those_agreed_is_a_framing_error(side: Side, what: str) -> None:
    makers: dict[str, Callable[..., bytes]] = {
        "attach": raw.attach,
        "transfer": raw.transfer,
        "command-point": raw.command_point,
    }
    facing = Facing.opened(side)
    facing.feed(makers[what](channel=15))
    assert facing.end.is_open
    facing = Facing.opened(side)
    facing.feed(makers[what](channel=16))
    facing.closes(501, "connection.tune-ok/available-channels")


@pytest.mark.rule("0-10/session.attach/idempotence")
@pytest.mark.parametrize("force", [True, False])
def test_attaching_again_to_the_same_transport_succeeds(server: Facing, force: bool) -> None:
    server.feed(raw.transfer("", b"x"))
    server.forget()
    server.feed(raw.attach(b"s", force=force))
    assert server.out == raw.attached(b"s")
    assert server.events == []
    # Nothing of it has changed: the next command is the second one.
    server.feed(raw.transfer("", b"y"))
    assert server.session.incomplete == (0, 1)


def test_an_answer_to_attach_that_comes_again_changes_nothing(client: Facing) -> None:
    client.feed(raw.attached(b"s") + raw.expected(5))
    assert (client.events, client.out) == ([], b"")
    assert client.session.is_attached


@pytest.mark.rule("0-10/session.attach/one-session")
def test_a_second_session_on_the_same_transport_is_transport_busy(server: Facing) -> None:
    server.feed(raw.attach(b"other"))
    assert server.out == raw.frame(bytes.fromhex("020403000005") + b"other" + raw.u8(2))
    assert server.events == []
    assert server.session.name == b"s"


@pytest.mark.rule("0-10/session.attach/one-session")
@pytest.mark.parametrize("name", [b"s", b"other"])
@pytest.mark.parametrize("failed", [True, False])
def test_a_transport_that_is_being_detached_is_busy_until_it_is(server: Facing, name: bytes, failed: bool) -> None:
    if failed:
        server.session.fail(amqp.ExecutionError(541, "broken"))
    else:
        server.session.detach()
    server.forget()
    server.feed(raw.attach(name))
    assert server.out == raw.detached(name, 2)
    assert server.events == []
    server.feed(raw.detached(b"s"))
    assert [type(event) for event in server.events] == [amqp.SessionClosed]
    server.feed(raw.attach(name))
    assert server.requested() == amqp.SessionRequested(0, name, False)


@pytest.mark.rule("0-10/session.attach/one-transport")
def test_a_session_is_not_attached_on_two_channels(server: Facing) -> None:
    server.feed(raw.attach(b"s", channel=1))
    assert server.out == raw.detached(b"s", 1, channel=1)
    assert server.events == []
    client = Facing.opened(CLIENT)
    client.end.open_session("s")
    with pytest.raises(LocalProtocolError) as caught:
        client.end.open_session("s")
    assert caught.value.rule == "0-10/session.attach/one-transport"


@pytest.mark.rule("0-10/session.attach/one-transport", "0-10/session.attach/force")
def test_with_force_a_session_is_moved_once_it_is_detached_where_it_was() -> None:
    facing = Facing.attached(SERVER, keep=60)
    session = facing.session
    facing.feed(raw.transfer("", b"x"))
    facing.feed(raw.attach(b"s", force=True, channel=1))
    assert facing.requested() == amqp.SessionRequested(1, b"s", True)
    with pytest.raises(LocalProtocolError, match="detach it there") as caught:
        facing.end.accept_session(1)
    assert caught.value.rule == "0-10/session.attach/one-transport"
    facing.end.refuse_session(1)
    session.detach()
    facing.forget()
    facing.feed(raw.detached(b"s") + raw.attach(b"s", force=True, channel=1))
    moved = facing.end.accept_session(1, session.detached_state())
    facing.feed(raw.expected(0, channel=1))
    (resumed,) = facing.of(amqp.Resumed)
    assert [event.body for event in resumed.incomplete] == [b"x"]
    assert [event.channel for event in resumed.incomplete] == [1]
    assert moved.incomplete == (0,)
    assert facing.end.sessions == (1,)


@pytest.mark.rule("0-10/session.attach/one-transport")
@pytest.mark.parametrize("code", list(spec.DetachCode))
def test_a_server_refuses_a_session_with_a_code(code: spec.DetachCode) -> None:
    facing = Facing.opened(SERVER)
    facing.feed(raw.attach(b"busy"))
    facing.end.refuse_session(0, code)
    facing.settle()
    assert facing.out == raw.detached(b"busy", code.value)
    assert facing.end.sessions == ()
    with pytest.raises(LocalProtocolError):
        facing.end.refuse_session(0)


@pytest.mark.rule("0-10/session.attach/one-transport")
@pytest.mark.parametrize(("code", "name"), [(1, "session-busy"), (2, "transport-busy"), (9, "9")])
def test_a_refused_session_fails_with_the_peers_code(code: int, name: str) -> None:
    facing = Facing.opened(CLIENT)
    session = facing.end.open_session("s", timeout=60)
    opening, call = session.opening, session.call(spec.QueuePurge("q"))
    assert opening is not None
    facing.feed(raw.detached(b"s", code))
    (failed,) = facing.of(Failed)
    assert (failed.scope, failed.channel, failed.by) == (Scope.SESSION, 0, By.REMOTE)
    assert failed.pendings == (opening, call)
    assert isinstance(opening.error, RemoteProtocolError)
    assert (opening.error.code, opening.error.condition) == (code, name)
    (closed,) = facing.of(amqp.SessionClosed)
    assert (closed.report.code, closed.report.condition, closed.resumable) == (code, name, False)
    assert facing.end.is_open
    with pytest.raises(EndpointClosed, match=name):
        session.sync()


@pytest.mark.rule("0-10/session.attach/scoping")
def test_names_are_the_users_own_and_the_server_is_told_whose() -> None:
    facing = Facing.opened(SERVER)
    facing.feed(raw.attach(b"a", channel=0))
    assert (facing.end.user, facing.requested().name) == ("ann", b"a")
    facing.end.accept_session(0)
    other = Facing.opened(SERVER)
    other.feed(raw.attach(b"a", channel=0))
    assert other.end.accept_session(0).is_attached


def test_a_client_is_not_attached_to() -> None:
    facing = Facing.opened(CLIENT)
    facing.feed(raw.attach(b"yours"))
    assert facing.out == raw.detached(b"yours", 1)
    assert facing.events == []


def test_names_come_from_the_prefix() -> None:
    facing = Facing.opened(CLIENT, client_config(session_prefix="job-"))
    names = [facing.end.open_session().name for _ in range(3)]
    assert len(set(names)) == 3
    assert all([name.startswith(b"job-") for name in names])
    with pytest.raises(LocalProtocolError, match="session_prefix"):
        Facing.opened(CLIENT).end.open_session()


def test_a_state_belongs_to_its_side_and_its_name() -> None:
    facing = Facing.attached(CLIENT, keep=None)
    facing.session.detach()
    session = facing.session
    facing.feed(raw.detached())
    state = session.detached_state()
    server = Facing.opened(SERVER)
    server.feed(raw.attach(b"t"))
    with pytest.raises(LocalProtocolError, match="session b's'"):
        server.end.accept_session(0, state)
    server.end.refuse_session(0)
    server.feed(raw.attach(b"s"))
    with pytest.raises(LocalProtocolError, match="client"):
        server.end.accept_session(0, state)
    assert server.of(Opened) == []


# Controls on a transport that isn't attached.


CONTROLS: dict[str, Callable[..., bytes]] = {
    "command-point": raw.command_point,
    "expected": raw.expected,
    "confirmed": partial(raw.confirmed, 0),
    "completed": partial(raw.completed, 0),
    "known": partial(raw.known_completed, 0),
    "flush": partial(raw.flush, "completed"),
    "gap": partial(raw.gap, 0),
    "ask": partial(raw.request_timeout, 5),
    "timeout": partial(raw.timeout, 5),
}


@pytest.mark.rule("0-10/session/attachment")
@pytest.mark.parametrize("channel", [0, 5])
@pytest.mark.parametrize("what", CONTROLS)
def test_other_controls_need_a_session(side: Side, channel: int, what: str) -> None:
    facing = Facing.opened(side)
    facing.feed(CONTROLS[what](channel=channel))
    answer = "0f000013000000" + f"{channel:02x}" + "00000000" + "02040300000003"
    assert facing.out == bytes.fromhex(answer)
    assert facing.events == []
    assert facing.end.is_open


@pytest.mark.rule("0-10/session/attachment")
def test_commands_without_a_session_are_dropped_and_answered_once_each(opened: Facing) -> None:
    opened.feed(raw.transfer("q", b"body", header=b"", channel=2) + raw.sync(channel=2))
    assert opened.out == raw.detached(b"", 3, channel=2) * 2
    assert opened.events == []


@pytest.mark.rule("0-10/session/attachment")
def test_detach_and_detached_need_no_session(opened: Facing) -> None:
    opened.feed(raw.detached(b"old", 0) + raw.attached(b"old", channel=1)[:0])
    assert (opened.out, opened.events) == (b"", [])
    opened.feed(raw.detach(b"old"))
    assert opened.out == raw.detached(b"old", 3)
    assert opened.events == []


@pytest.mark.rule("0-10/wire/struct-required")
@pytest.mark.parametrize(
    "octets",
    [
        raw.control(0x0201),
        raw.control(0x0202),
        raw.control(0x0203),
        raw.control(0x0204, raw.vbin16(b"s")),
        raw.control(0x0204, None, raw.u8(0)),
        raw.control(0x0207, raw.u32(0), None),
        raw.control(0x0207, None, raw.u64(0)),
        raw.control(0x0208),
    ],
)
@pytest.mark.parametrize("dialect", [amqp.Dialect.SPECIFICATION, amqp.Dialect.ERRATA])
def test_a_control_without_a_field_that_must_be_there_is_a_framing_error(
    side: Side, octets: bytes, dialect: amqp.Dialect
) -> None:
    facing = Facing.attached(side, (client_config if side is CLIENT else server_config)(dialect=dialect))
    facing.feed(octets)
    facing.closes(501, "wire/struct-required")


# Detaching.


def test_detach_and_its_answer_octet_by_octet(facing: Facing) -> None:
    session = facing.session
    session.detach()
    session.detach()
    facing.settle()
    assert facing.out == raw.frame(bytes.fromhex("020301000001") + b"s")
    with pytest.raises(EndpointClosed, match="being detached"):
        session.sync()
    facing.forget()
    facing.feed(raw.detached(b"s", 0))
    (closed,) = facing.events
    assert isinstance(closed, amqp.SessionClosed)
    assert (closed.name, closed.channel, closed.resumable) == (b"s", 0, False)
    assert (closed.report.by, closed.report.code) == (By.LOCAL, 0)
    assert facing.out == b""
    with pytest.raises(EndpointClosed):
        session.detached_state()


def test_a_detach_of_the_peer_is_answered_octet_by_octet(facing: Facing) -> None:
    session = facing.session
    call = session.call(spec.ExecutionSync())
    facing.forget()
    facing.feed(raw.detach(b"s"))
    assert facing.out == raw.frame(bytes.fromhex("020403000001") + b"s" + raw.u8(0))
    abandoned, closed = facing.events
    assert isinstance(abandoned, Abandoned)
    assert abandoned.pendings == (call,)
    assert isinstance(closed, amqp.SessionClosed)
    assert (closed.report.by, closed.resumable) == (By.REMOTE, False)
    assert facing.end.sessions == ()


def test_a_detach_of_another_name_leaves_the_session_alone(facing: Facing) -> None:
    facing.feed(raw.detach(b"other"))
    assert facing.out == raw.detached(b"other", 3)
    facing.feed(raw.detached(b"other", 2))
    assert facing.events == []
    assert facing.session.is_attached


@pytest.mark.parametrize("late", [True, False])
def test_detaches_that_cross_end_the_session_once(facing: Facing, late: bool) -> None:
    facing.session.detach()
    facing.forget()
    facing.feed(raw.detach(b"s"))
    assert facing.names() in ([], ["session.detached"])
    facing.feed(raw.detached(b"s"))
    if late:
        facing.feed(raw.detached(b"s"))
    assert [type(event) for event in facing.events] == [amqp.SessionClosed]
    assert facing.end.sessions == ()
    assert facing.end.is_open


def test_a_session_the_peer_says_is_not_attached_is_over(side: Side) -> None:
    facing = Facing.attached(side, keep=60)
    session = facing.session
    call = session.call(spec.ExecutionSync())
    waiting = session.request_timeout(30)
    facing.forget()
    facing.feed(raw.detached(b"", 3))
    (failed,) = facing.of(Failed)
    assert failed.error.condition == "not-attached"
    (closed,) = facing.of(amqp.SessionClosed)
    assert closed.resumable
    assert not call.done
    assert waiting.done
    assert session.detached_state().pending == (call,)


def test_what_is_behind_attach_goes_on_from_where_the_peer_says() -> None:
    facing = Facing.opened(CLIENT)
    session = facing.end.open_session("s")
    handle = session.call(spec.QueuePurge("q"))
    second = session.transfer("x", b"body")
    facing.feed(raw.attached() + raw.expected())
    names = facing.names()
    assert names == ["session.attach", "session.flush", "session.command-point", "queue.purge", "message.transfer"]
    facing.feed(raw.completed((0, 1)))
    assert handle.done
    assert second.completion.done


def test_a_session_can_be_left_before_it_is_attached() -> None:
    facing = Facing.opened(CLIENT)
    session = facing.end.open_session("s")
    session.detach()
    assert facing.names() == ["session.attach", "session.detach"]
    facing.feed(raw.attached(b"s"))
    facing.feed(raw.detached(b"s"))
    assert [type(event) for event in facing.events] == [Abandoned, amqp.SessionClosed]
    assert facing.names() == ["session.attach", "session.detach"]


def test_a_session_that_fails_before_its_first_command_says_which_that_would_be() -> None:
    facing = Facing.opened(CLIENT)
    session = facing.end.open_session("s")
    facing.feed(raw.attached())
    session.fail(amqp.ExecutionError(541, "broken"))
    facing.settle()
    names = ["session.command-point", "execution.exception", "session.request-timeout", "session.detach"]
    assert facing.names()[-4:] == names


def test_close_forgets_the_session_before_it_leaves(side: Side) -> None:
    facing = Facing.attached(side, keep=60)
    session = facing.session
    session.close()
    session.close()
    assert facing.names() == ["session.request-timeout"]
    assert facing.records()[0].timeout == 0
    facing.feed(raw.timeout(0))
    assert facing.names() == ["session.request-timeout", "session.detach"]
    facing.feed(raw.detached())
    (closed,) = facing.of(amqp.SessionClosed)
    assert not closed.resumable
    with pytest.raises(EndpointClosed):
        session.detached_state()


# Sessions side by side.


@pytest.mark.rule("0-10/wire/channels-many", "0-10/wire/channel-order")
def test_sessions_go_on_side_by_side() -> None:
    facing = Facing.opened(SERVER)
    for channel, name in enumerate((b"a", b"b")):
        facing.feed(raw.attach(name, channel=channel))
        facing.end.accept_session(channel)
        facing.feed(raw.command_point(10 * channel, channel=channel))
    whole = {
        channel: raw.content(raw.segment(0x0401, b"\0", sync=False), b"", b"body %d" % channel, channel=channel)
        for channel in (0, 1)
    }
    cut = len(whole[0]) - 18
    # The frames of two commands one after the other, each on its channel.
    facing.feed(whole[0][:cut] + whole[1][:cut] + whole[1][cut:] + whole[0][cut:])
    bodies = [(event.channel, event.command_id, event.body) for event in facing.of(amqp.MessageReceived)]
    assert bodies == [(1, 10, b"body 1"), (0, 0, b"body 0")]
    facing.forget()
    facing.end.session(1).complete(10)
    facing.feed(raw.flush("completed", channel=1))
    assert facing.out == raw.completed(10, channel=1)
    facing.feed(raw.subscribe("d")[:6] + b"\x00\x01" + raw.subscribe("d")[8:])
    assert facing.asked().channel == 1


def test_a_session_shows_where_it_stands(facing: Facing) -> None:
    session = facing.session
    assert isinstance(session, amqp.Session)
    assert repr(session) == "<AMQP 0-10 session b's' on channel 0, attached>"
    with pytest.raises(EndpointClosed, match="channel 9"):
        facing.end.session(9)
    facing.feed(raw.detach())
    assert session.report is not None
    assert "detached" in repr(session)
    assert [type(event) for event in facing.events] == [amqp.SessionClosed]
    assert issubclass(amqp.SessionClosed, Closed)


# Timeouts of sessions of 0-10: asked, granted, and what is kept in the meantime (class 2, session.request-timeout).


@pytest.mark.rule("0-10/session.request-timeout/granted")
@pytest.mark.parametrize(
    ("most", "asked", "granted"),
    [
        (3600, 60, 60),
        (3600, 3600, 3600),
        (3600, 3601, 3600),
        (3600, None, 3600),
        (None, None, None),
        (None, 5, 5),
        (0, 60, 0),
        (0, None, 0),
        (3600, 0, 0),
    ],
)
def test_what_is_granted_is_at_most_what_is_asked(
    side: Side, most: int | None, asked: int | None, granted: int | None
) -> None:
    config = (client_config if side is CLIENT else server_config)(session_timeout_max=most)
    facing = Facing.attached(side, config)
    facing.feed(raw.request_timeout(asked))
    octets = "02060000" if granted is None else f"02060100{granted:08x}"
    assert facing.out == raw.frame(bytes.fromhex(octets))
    assert facing.session.timeout == granted


def test_asking_for_a_timeout(facing: Facing) -> None:
    first, second = facing.session.request_timeout(90), facing.session.request_timeout(None)
    facing.settle()
    assert facing.out == raw.frame(bytes.fromhex("020501000000005a")) + raw.frame(bytes.fromhex("02050000"))
    facing.feed(raw.timeout(30))
    assert facing.session.timeout == 30
    facing.feed(raw.timeout(None))
    assert (first.result, second.result) == (30, None)
    assert facing.events == [Replied(first), Replied(second)]
    assert facing.session.timeout is None


@pytest.mark.parametrize("wanted", [60, None])
def test_a_client_asks_for_the_timeout_when_it_has_attached(wanted: int | None) -> None:
    facing = Facing.opened(CLIENT)
    session = facing.end.open_session("s", timeout=wanted)
    facing.forget()
    facing.feed(raw.attached())
    assert facing.out == raw.flush("expected", "confirmed", "completed") + raw.request_timeout(wanted)
    facing.feed(raw.timeout(20) + raw.expected())
    assert session.timeout == 20


@pytest.mark.rule("0-10/session/state-kept")
@pytest.mark.parametrize("keep", [0, 60, None])
def test_the_state_is_kept_when_there_is_a_timeout(side: Side, keep: int | None) -> None:
    config = (client_config if side is CLIENT else server_config)(session_timeout_max=None)
    facing = Facing.attached(side, config, keep=keep)
    session = facing.session
    call = session.call(spec.ExecutionSync())
    with pytest.raises(LocalProtocolError, match="attached"):
        session.detached_state()
    facing.feed(raw.detach())
    (closed,) = facing.of(amqp.SessionClosed)
    assert closed.resumable is (keep != 0)
    assert call.done is (keep == 0)
    if keep == 0:
        with pytest.raises(EndpointClosed):
            session.detached_state()
    else:
        state = pickle.loads(pickle.dumps(session.detached_state()))
        assert isinstance(state, amqp.SessionState)
        assert (state.name, state.timeout, state.pending) == (b"s", keep, (call,))
