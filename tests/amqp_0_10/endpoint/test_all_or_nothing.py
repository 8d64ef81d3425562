"""Commands of AMQP 0-10 that send several things, or change something first: they happen as a whole or not at all."""

# pyright: reportPrivateUsage=false
import pickle
from collections.abc import Callable
from typing import Any

import pytest

from amqp_sansio import CodecError, LimitExceeded, Limits, LocalProtocolError, Side
from amqp_sansio import amqp_0_10 as amqp
from amqp_sansio.amqp_0_10 import spec
from tests.kit.pair_0_10 import Pair, client_config

CLIENT, SERVER = Side.CLIENT, Side.SERVER
FULL = Limits(backlog_high=0, backlog_low=0, backlog_hard=0)
LONG = "x" * 300
"""Doesn't fit a str8."""


def configure(end: Any, config: amqp.Config) -> None:
    """Let an end go on with another configuration."""
    end.config = config
    end._transport.config = config
    end._transport.limits = config.limits
    end._out.hard = config.limits.backlog_hard


def unchanged(end: Any, command: Callable[[], object], error: type[Exception] = LocalProtocolError) -> None:
    """Check that a command raises and changes nothing."""
    before = pickle.dumps(end)
    with pytest.raises(error):
        command()
    assert pickle.dumps(end) == before


def busy() -> tuple[Pair, Any, Any]:
    """A pair with a session: the server has commands to complete, the client messages to settle."""
    pair = Pair().open()
    session, other = pair.sessions()
    session.call(spec.MessageSubscribe("q", "d", 0, 0))
    session.top_up("d", 10, 10_000)
    pair.pump()
    for _ in range(3):
        other.transfer("d", b"x")
    session.transfer("", b"x", sync=True)
    session.call(spec.QueueQuery("q"))
    pair.pump()
    return pair, session, other


CLIENTS: dict[str, Callable[[Any], object]] = {
    "call": lambda session: session.call(spec.QueueDeclare("q")),
    "subscribe": lambda session: session.call(spec.MessageSubscribe("q", "e", 0, 0)),
    "select": lambda session: session.call(spec.TxSelect()),
    "stop": lambda session: session.call(spec.MessageStop("d")),
    "transfer": lambda session: session.transfer("", b"x"),
    "sync": lambda session: session.sync(),
    "accept": lambda session: session.accept(0, 1, 2),
    "reject": lambda session: session.reject(1),
    "release": lambda session: session.release(2, 0),
    "complete": lambda session: session.complete(1),
    "top up": lambda session: session.top_up("d", 90, 90_000),
    "flush": lambda session: session.flush(),
    "timeout": lambda session: session.request_timeout(5),
    "detach": lambda session: session.detach(),
    "close": lambda session: session.close(),
    "gap": lambda session: session.gap(*session._state.sending.replay),
    "fail": lambda session: session.fail(amqp.ExecutionError(541, "no")),
}


SERVERS: dict[str, Callable[[Any], object]] = {
    "complete": lambda session: session.complete(session.incomplete[-2]),
    "result": lambda session: session.complete(session.incomplete[-1], spec.QueueQueryResult()),
    "fail": lambda session: session.fail(amqp.ExecutionError(404, "no"), session.incomplete[-1]),
    "transfer": lambda session: session.transfer("d", b"x"),
    "accept": lambda session: session.accept(session.unsettled[0]),
}
COMMANDS = [(side, each) for side, commands in ((CLIENT, CLIENTS), (SERVER, SERVERS)) for each in commands.items()]


@pytest.mark.parametrize(
    ("side", "command"), [pytest.param(side, command, id=f"{side.value}-{name}") for side, (name, command) in COMMANDS]
)
def test_a_full_backlog_changes_nothing(side: Side, command: Callable[[Any], object]) -> None:
    pair, *sessions = busy()
    session, end = sessions[side is SERVER], pair.ends[side]
    config = end.config
    configure(end, client_config(limits=FULL))
    unchanged(end, lambda: command(session), LimitExceeded)
    configure(end, config)
    command(session)


@pytest.mark.parametrize("backlog", range(0, 400, 7))
def test_a_backlog_that_holds_a_part_takes_nothing(backlog: int) -> None:
    """What a command brings with it, a result before a completion, an accept and completions, goes together."""
    pair, session, other = busy()
    limits = Limits(backlog_high=0, backlog_low=0, backlog_hard=backlog)
    commands: tuple[tuple[Side, Callable[[], object]], ...] = (
        (CLIENT, lambda: session.top_up("d", 90, 90_000)),
        (CLIENT, lambda: session.accept(0, 1, 2)),
        (SERVER, lambda: other.complete(other.incomplete[-1], spec.QueueQueryResult(queue="q"))),
        (SERVER, lambda: other.fail(amqp.ExecutionError(404, "no"), other.incomplete[-1])),
    )
    for side, command in commands:
        end = pair.ends[side]
        configure(end, client_config(limits=limits))
        before = pickle.dumps(end)
        try:
            command()
        except LimitExceeded:
            assert pickle.dumps(end) == before


@pytest.mark.parametrize("which", ["open", "resume", "accept", "refuse"])
def test_a_full_backlog_attaches_nothing(which: str) -> None:
    pair = Pair().open()
    session, _ = pair.sessions()
    state = None
    if which == "resume":
        pair.cut()
        state = session.detached_state()
        pair = Pair().open()
    elif which != "open":
        asking = pair.client.open_session("t")
        pair.pump()
        assert pair.of(SERVER, amqp.SessionRequested)[-1].channel == asking.channel
    commands: dict[str, tuple[Side, Callable[[], object]]] = {
        "open": (CLIENT, lambda: pair.client.open_session()),
        "resume": (CLIENT, lambda: pair.client.resume_session(state)),  # type: ignore[arg-type]
        "accept": (SERVER, lambda: pair.server.accept_session(1)),
        "refuse": (SERVER, lambda: pair.server.refuse_session(1, spec.DetachCode.SESSION_BUSY)),
    }
    side, command = commands[which]
    end = pair.ends[side]
    config = end.config
    configure(end, client_config(limits=FULL))
    unchanged(end, command, LimitExceeded)
    configure(end, config)
    command()


WRONG: list[Callable[[Any], object]] = [
    lambda session: session.call(spec.QueueDeclare(LONG)),
    lambda session: session.transfer(LONG, b"x"),
    lambda session: session.reject(0, text=LONG),
    lambda session: session.request_timeout(-1),
    lambda session: session.top_up("d", 20, 1 << 70),
    lambda session: session.call(spec.MessageFlow("d", 0, 1 << 32)),
]


@pytest.mark.parametrize("command", WRONG)
def test_what_cannot_be_written_is_not_sent(command: Callable[[Any], object]) -> None:
    pair, session, _ = busy()
    unchanged(pair.client, lambda: command(session), Exception)
    session.accept(0, 1, 2)


def test_messages_are_settled_together_or_not_at_all() -> None:
    """The last one isn't known, or was settled before."""
    pair, session, _ = busy()
    session.accept(1)
    unchanged(pair.client, lambda: session.accept(0, 1))
    unchanged(pair.client, lambda: session.release(0, 2, 9))
    session.accept(0, 2)


def test_a_message_that_is_still_arriving_is_not_settled() -> None:
    pair = Pair(client=client_config(stream_above=0, max_frame_size=4096)).open()
    session, other = pair.sessions()
    session.call(spec.MessageSubscribe("q", "d", 0, 0))
    session.top_up("d", 10)
    pair.pump()
    other.transfer("d", bytes(9000))
    pair.write(SERVER)
    pair.arrive(CLIENT, 5000)
    assert session.incomplete == (0,)
    unchanged(pair.client, lambda: session.accept(0))
    unchanged(pair.client, lambda: session.complete(0))
    pair.pump()
    session.accept(0)


def test_commands_are_given_up_once() -> None:
    pair, session, _ = busy()
    handle = session.call(spec.QueueDeclare("q"), sync=False)
    number = session._state.sending.next_id - 1
    session.gap(number, number)
    assert handle.error is not None
    unchanged(pair.client, lambda: session.gap(number))


def test_a_session_can_be_refused_when_nothing_more_is_kept() -> None:
    """The exception ends it: nobody will send that again."""
    pair = Pair(server=client_config(limits=Limits(replay=1), sasl=None)).open()
    session, other = pair.sessions()
    session.call(spec.MessageSubscribe("q", "d", 0, 0))
    session.call(spec.MessageFlow("d", 0, 9))
    session.call(spec.MessageFlow("d", 1, 900))
    pair.pump()
    other.transfer("d", b"x")
    with pytest.raises(LimitExceeded):
        other.transfer("d", b"x")
    other.fail(amqp.ExecutionError(404, "no"), 0)
    pair.pump()
    assert session.report is not None
    assert session.report.code == 404


def test_a_name_that_does_not_fit_opens_no_session() -> None:
    pair = Pair().open()
    unchanged(pair.client, lambda: pair.client.open_session("n" * 70_000), CodecError)
    assert pair.client.open_session().channel == 0


def test_where_no_channel_is_free_no_name_is_used_up() -> None:
    pair = Pair(client=client_config(channel_max=1)).open()
    pair.sessions()
    unchanged(pair.client, lambda: pair.client.open_session(), LimitExceeded)
