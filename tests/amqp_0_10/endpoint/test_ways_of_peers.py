"""Where Qpid does otherwise than the specification has it: what is taken, unless a dialect is strict."""

from typing import Any

import pytest

from amqp_sansio import Accepted, Failed, LocalProtocolError, Settled, Side
from amqp_sansio import amqp_0_10 as amqp
from amqp_sansio.amqp_0_10 import spec
from amqp_sansio.amqp_0_10.codec.dialect import missing
from amqp_sansio.amqp_0_10.model.credit import Balance
from amqp_sansio.observer import Violation
from amqp_sansio.sasl import Anonymous
from tests.kit import octets_0_10 as raw
from tests.kit.facing import CLIENT, SERVER
from tests.kit.facing_0_10 import Facing, client_config, server_config
from tests.kit.pair_0_10 import Pair
from tests.kit.talk_0_10 import Talk010, frames

STRICT = pytest.mark.parametrize("dialect", [amqp.Dialect.SPECIFICATION, amqp.Dialect.ERRATA])
NO_RESPONSE = raw.control(0x0102, raw.table(), raw.str8("ANONYMOUS"), None, raw.str8("en_US"))
NO_CODE = raw.control(0x0204, raw.vbin16(b"s"))
NO_OFFSET = raw.control(0x0207, raw.u32(0), None)
BIND, UNBIND = 0x0704, 0x0705
COMMANDS = {
    "exchange.bind": raw.command(BIND, raw.str8("q"), raw.str8("amq.fanout")),
    "exchange.unbind": raw.command(UNBIND, raw.str8("q"), raw.str8("amq.fanout")),
    "exchange.declare": raw.command(0x0701, raw.str8("amq.fanout"), None, None, True),
}


def test_a_client_opens_without_a_response_and_without_a_number_of_channels() -> None:
    facing = Facing.started(SERVER, server_config(mechanisms=("ANONYMOUS",)))
    facing.feed(NO_RESPONSE)
    facing.end.accept_authentication()
    facing.feed(raw.tune_ok(None))
    assert facing.of(Failed) == []
    assert facing.end.channel_max == 16
    assert Anonymous().name == facing.end.mechanism


@STRICT
@pytest.mark.rule("0-10/wire/struct-required")
def test_a_strict_server_wants_both(dialect: amqp.Dialect) -> None:
    strict = server_config(dialect=dialect, mechanisms=("ANONYMOUS", "PLAIN"))
    facing = Facing.started(SERVER, strict)
    facing.feed(NO_RESPONSE)
    assert "without response" in str(facing.ends("wire/struct-required"))
    facing = Facing.started(SERVER, strict)
    facing.feed(raw.start_ok())
    facing.end.accept_authentication()
    facing.forget().feed(raw.tune_ok(None))
    assert "without channel_max" in str(facing.ends("wire/struct-required"))


def test_a_session_is_detached_for_no_reason_given(facing: Facing) -> None:
    facing.session.detach()
    facing.feed(NO_CODE)
    (closed,) = facing.of(amqp.SessionClosed)
    assert closed.report.code == 0
    assert facing.of(Failed) == []


def test_a_command_point_without_an_offset_is_one_at_a_commands_begin() -> None:
    facing = Facing.accepted()
    facing.feed(NO_OFFSET + raw.transfer("", b"x"))
    assert [each.command_id for each in facing.of(amqp.MessageReceived)] == [0]


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_without_a_key_or_a_type_is_told_as_it_came(server: Facing, name: str) -> None:
    server.feed(COMMANDS[name])
    (asked,) = server.of(amqp.CommandReceived)
    assert name == asked.command.NAME
    assert asked.command.encode_segment() == COMMANDS[name][12:]


@STRICT
@pytest.mark.parametrize("name", COMMANDS)
@pytest.mark.rule("0-10/wire/struct-required")
def test_a_strict_server_wants_all_fields_of_a_command(name: str, dialect: amqp.Dialect) -> None:
    facing = Facing.attached(SERVER, server_config(dialect=dialect))
    facing.feed(COMMANDS[name])
    facing.excepts(503, "wire/struct-required", 0, int.from_bytes(COMMANDS[name][12:14], "big"))


@pytest.mark.rule("0-10/wire/struct-required")
def test_what_is_to_be_made_needs_its_type_in_every_dialect(server: Facing) -> None:
    server.feed(raw.command(0x0701, raw.str8("new")))
    assert "without type" in str(server.excepts(503, "wire/struct-required", 0, 0x0701))


@pytest.mark.parametrize(
    ("record", "name"),
    [
        (spec.SessionCommandPoint(None, 0), "command_id"),
        (spec.SessionDetached(None, 0), "name"),
        (spec.ExchangeBind("q", None, "k"), "exchange"),
        (spec.ExchangeUnbind(None, "x"), "queue"),
        (spec.ExchangeDeclare(None, None, passive=True), "exchange"),
        (spec.SessionCommandPoint(0, None), ""),
    ],
)
def test_other_fields_stay_required(record: Any, name: str) -> None:
    assert missing(record, amqp.Dialect.QPID) == name


def test_an_end_writes_all_fields_itself(facing: Facing) -> None:
    if facing.side is CLIENT:
        with pytest.raises(LocalProtocolError):
            facing.session.call(spec.ExchangeBind("q", "amq.fanout"))
    facing.session.close()
    assert [each.missing() for each in facing.records()] == [""]


@pytest.mark.parametrize("count", [1, 3])
def test_a_client_that_says_nothing_of_acceptance_hears_nothing_of_it(server: Facing, count: int) -> None:
    """Also behind the first message, where the shortcut takes them."""
    server.feed(raw.transfer("", b"x", header=b"") * count)
    messages = server.of(amqp.MessageReceived)
    assert [each.accepts for each in messages] == [False] * count
    assert server.session.unsettled == ()
    with pytest.raises(LocalProtocolError):
        server.session.accept(0)


@STRICT
def test_for_a_strict_server_it_is_explicit(dialect: amqp.Dialect) -> None:
    facing = Facing.attached(SERVER, server_config(dialect=dialect))
    facing.feed(raw.transfer("", b"x"))
    (message,) = facing.of(amqp.MessageReceived)
    assert (message.accepts, message.transfer.accept_mode) == (True, None)
    assert facing.session.unsettled == (0,)


def test_what_a_server_leaves_out_is_explicit() -> None:
    facing = Facing.subscribed(CLIENT)
    facing.session.top_up("d", 1)
    facing.feed(raw.transfer("d", b"x"))
    (message,) = facing.of(amqp.MessageReceived)
    assert (message.accepts, facing.session.unsettled) == (True, (0,))


@pytest.mark.rule("0-10/wire/struct-required")
def test_an_observer_tells_of_each_field_that_was_left_out() -> None:
    talk = Talk010().client(raw.HEADER).client(NO_RESPONSE, raw.tune_ok(None))
    talk.client(raw.attach(), NO_OFFSET, COMMANDS["exchange.bind"], COMMANDS["exchange.unbind"])
    talk.client(COMMANDS["exchange.declare"], NO_CODE, raw.control(0x0207, raw.u32(0), raw.u64(0)), raw.command_point())
    found = [each for each in talk.events if isinstance(each, Violation) and each.rule.endswith("required")]
    assert [(each.rule, each.severity, each.text) for each in found] == [
        ("0-10/wire/struct-required", "warning", text)
        for text in (
            "connection.start-ok without response",
            "connection.tune-ok without channel-max",
            "session.command-point without command-offset",
            "exchange.bind without binding-key",
            "exchange.unbind without binding-key",
            "exchange.declare without type",
            "session.detached without code",
        )
    ]


# What Qpid's brokers do otherwise than the specification has it, and what the client makes of it.


MANY = 2**31 - 1


def attached() -> tuple[Pair, Any, Any]:
    """A pair, and both ends of a session."""
    pair = Pair().open()
    client, server = pair.sessions()
    return pair, client, server


def changes(pair: Pair) -> list[tuple[str, int | None, int | None]]:
    """The credit that the client was told of."""
    told = [event for event in pair.events[Side.CLIENT] if isinstance(event, amqp.CreditChanged)]
    return [(event.destination, event.messages, event.octets) for event in told]


def said(pair: Pair, *commands: spec.Command[Any]) -> None:
    """What a broker sends to the client's session, other than the server here would."""
    for each in commands:
        pair.client.receive_data(frames(each), pair.now)
    pair.drain(Side.CLIENT)


STOP = (spec.MessageSetFlowMode("", amqp.spec.CREDIT), spec.MessageStop(""))
"""As Broker-J stops a publisher: with the mode every time, whatever credit there is."""


def test_credit_without_limit_is_written_as_a_number() -> None:
    """An absent value says the same, and is read as nothing at all."""
    pair, client, _ = attached()
    client.call(spec.MessageSubscribe("queue", "d", 0, 0))
    client.top_up("d", 5)
    pair.pump()
    wire = bytes(pair.sent[Side.CLIENT])
    assert spec.MessageFlow("d", amqp.spec.BYTE, amqp.spec.INFINITE).encode_segment(sync=False) in wire
    assert client.granted("d") == (5, None)


@pytest.mark.parametrize("exchange", ["", "amq.direct"])
def test_a_publisher_goes_on_with_messages_alone(exchange: str) -> None:
    pair, client, _ = attached()
    assert client.credit(exchange) == (None, None)
    for _ in range(2):
        said(pair, *STOP)
        assert client.credit(exchange) == (0, None)
        with pytest.raises(amqp.NoCredit):
            client.transfer(exchange, b"body")
        said(pair, spec.MessageFlow("", amqp.spec.MESSAGE, MANY))
        assert client.credit(exchange) == (MANY, None)
        client.transfer(exchange, b"body")
        assert client.credit(exchange) == (MANY - 1, None)
    assert client.report is None
    assert changes(pair)[-1] == ("", MANY, None)


def test_octets_count_once_they_are_granted() -> None:
    pair, client, _ = attached()
    message = amqp.Message(b"body")
    said(pair, *STOP, spec.MessageFlow("", amqp.spec.MESSAGE, 5), spec.MessageFlow("", amqp.spec.BYTE, 6))
    assert client.credit("") == (5, 6)
    client.transfer("", message)
    assert client.credit("") == (4, 2)
    with pytest.raises(amqp.NoCredit):
        client.transfer("", message)
    said(pair, *STOP)
    assert client.credit("") == (0, None)
    said(pair, spec.MessageFlow("", amqp.spec.MESSAGE, 1))
    client.transfer("", amqp.Message(bytes(100)))
    assert client.credit("") == (0, None)


def test_a_server_that_grants_messages_alone_takes_them() -> None:
    pair, client, server = attached()
    for command in (spec.MessageStop(""), spec.MessageFlow("", amqp.spec.MESSAGE, 1)):
        server.call(command)
        pair.pump()
    client.transfer("", b"body")
    pair.pump()
    assert server.report is None
    assert server.granted("") == (0, None)
    # A client that goes by the letter needs octets too.
    server.top_up("", 2, 6)
    pair.pump()
    assert client.credit("") == server.granted("") == (2, 6)


def test_what_is_said_of_an_exchange_comes_before_what_is_said_of_all() -> None:
    pair, client, _ = attached()
    said(pair, spec.MessageFlow("amq.direct", amqp.spec.MESSAGE, 1), *STOP)
    assert client.credit("amq.direct") == (1, None)
    assert client.credit("amq.topic") == (0, None)
    client.transfer("amq.direct", b"body")
    with pytest.raises(amqp.NoCredit):
        client.transfer("amq.direct", b"body")


@pytest.mark.parametrize("mode", [amqp.spec.CREDIT, amqp.spec.WINDOW])
def test_octets_of_bodies_alone_are_no_breach(mode: int) -> None:
    balance = Balance()
    balance.flow_mode = mode
    balance.grant(amqp.spec.MESSAGE, 100)
    balance.grant(amqp.spec.BYTE, 30)
    for left in (15, 0, 0):
        assert balance.admits(10)
        balance.spend(15, 10)
        assert balance.octets == left
    assert not balance.admits(1)
    assert not balance.admits(0)
    assert balance.restore(0, 15, 10) is (mode == amqp.spec.WINDOW)
    assert balance.admits(10) is (mode == amqp.spec.WINDOW)
    assert not balance.admits(11)


def test_setting_the_same_mode_again_is_no_change() -> None:
    pair, client, server = attached()
    client.call(spec.MessageSubscribe("queue", "d", 0, 0))
    client.top_up("d", 5)
    client.call(spec.MessageSetFlowMode("d", amqp.spec.WINDOW))
    pair.pump()
    subscribe = next(e for e in pair.events[Side.SERVER] if isinstance(e, amqp.CommandReceived))
    server.complete(subscribe.command_id)
    assert server.credit("d") == (5, None)
    assert client.report is server.report is None


# A server that bears an accept of what isn't acquired, as clients send it for what they browse.


def browsed(count: int) -> Facing:
    """A lenient server that has let a client look at messages; their ids are 0 and on."""
    facing = Facing.subscribed(SERVER, server_config(lenient_accepts=True))
    facing.feed(raw.flow("d", 0, None) + raw.flow("d", 1, None))
    for _ in range(count):
        facing.session.transfer("d", b"x", acquire_mode=amqp.spec.NOT_ACQUIRED)
    return facing.forget()


def test_what_was_looked_at_and_accepted_is_released() -> None:
    facing = browsed(3)
    first, second, third = [each for each in facing.session.pending if each.key[-1] == "outcome"]
    facing.feed(raw.accept(0, 1))
    (settled,) = facing.of(Settled)
    assert settled == Settled((first, second), amqp.Released(False))
    asked = facing.asked()
    # The application hears of no message that it would drop.
    assert asked.pendings == ()
    facing.session.complete(asked.command_id)
    assert (first.done, second.done, third.done) == (True, True, False)
    # Nothing is kept of them: a second word about them is as of what is settled.
    facing.feed(raw.accept(0, 1))
    facing.session.complete(facing.asked().command_id)
    assert facing.of(Failed) == []


def test_what_was_acquired_is_accepted_all_the_same() -> None:
    facing = browsed(2)
    looked, taken = [each for each in facing.session.pending if each.key[-1] == "outcome"]
    facing.feed(raw.acquire(1))
    facing.session.complete(facing.asked().command_id, spec.Acquired(amqp.SequenceSet.of(1)))
    facing.feed(raw.accept(0, 1))
    asked = facing.asked()
    assert asked.pendings == (taken,)
    assert looked.result == amqp.Released(False)
    assert not taken.done
    facing.session.complete(asked.command_id)
    assert taken.result == Accepted()


def test_a_client_stays_strict_about_its_own_messages() -> None:
    facing = Facing.attached(CLIENT, client_config(lenient_accepts=True))
    facing.session.transfer("", b"x", acquire_mode=amqp.spec.NOT_ACQUIRED)
    facing.forget().feed(raw.accept(0))
    facing.excepts(542, "message.accept/acquisition", 0, 0x0402)
