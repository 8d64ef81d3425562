"""Single cases that hostile clients have found at a hub."""

# pyright: reportPrivateUsage=false
from typing import Any

import pytest

from amqp_sansio import AMQP_0_8, AMQP_0_9_1, AMQP_0_10, AMQP_1_0, CloseHint, Limits, Version
from amqp_sansio import amqp_1_0 as amqp
from amqp_sansio._classic.codec.dialect import get_dialect
from amqp_sansio.amqp_0_8.spec import FileProperties
from amqp_sansio.amqp_0_10 import Message as TenMessage
from amqp_sansio.amqp_0_10.spec import CREDIT, NOT_ACQUIRED, MessageSetFlowMode
from amqp_sansio.amqp_1_0 import spec
from amqp_sansio.broker import BrokerLimits, Hub, Settings
from amqp_sansio.broker.frontends.classic.channel import ClassicChannel
from amqp_sansio.endpoint import Side
from tests.kit import hub_0_10, hub_classic, octets_0_10
from tests.kit.choices import Choices
from tests.kit.hostile_hub_0_10 import Ten
from tests.kit.hostile_hub_1_0 import One
from tests.kit.hostile_hub_classic import Classic
from tests.kit.hub_hostile import Driver, Hostile, settings_of
from tests.kit.hub_lines import Line, pump
from tests.kit.hub_witness import witnesses_of
from tests.kit.octets_1_0 import octets_of, parse
from tests.kit.octets_classic import METHOD, frame, frames_of
from tests.kit.pair_classic import client_config, connection_of, server_config

# Settings.


def test_small_limits_are_no_reason_to_raise_when_a_client_comes() -> None:
    """0-10's frames fit into what may lie unparsed."""
    driver = Driver(Settings(connection_limits=Limits(unparsed=20_000)))
    for header in (b"AMQP\x01\x01\x00\x0a", AMQP_0_9_1.header, AMQP_1_0.header):
        number = driver.connect()
        driver.feed(number, header)
        assert driver.out[number]
    front: Any = driver.hub.fronts[1]
    assert front.connection.config.max_frame_size == 20_000


@pytest.mark.parametrize("limits", [Limits(unparsed=8191), Limits(channels=0)])
def test_limits_that_no_connection_can_have_are_refused_at_once(limits: Limits) -> None:
    with pytest.raises(ValueError, match=r"Settings\.connection_limits"):
        Settings(connection_limits=limits)


# Logging in.

_SASL = b"AMQP\x03\1\0\0" + b"\0\0\0\x23\x02\1\0\0\0\x53\x41\xc0\x16\x02\xa3\x05PLAIN\xa0\x0c\0guest\0guest"


@pytest.mark.parametrize(
    ("header", "more"),
    [
        (AMQP_0_8.header, b"\x08\0\0\0\0\0\0\xce"),
        (AMQP_0_9_1.header, b"\x08\0\0\0\0\0\0\xce"),
        (_SASL + AMQP_1_0.header, b"\0\0\0\x08\x02\0\0\0"),
    ],
    ids=["0-8", "0-9-1", "1.0"],
)
@pytest.mark.parametrize("size", [7, 1000, 300_000])
def test_who_does_not_log_in_is_not_read_for_long(header: bytes, more: bytes, size: int) -> None:
    limit = BrokerLimits().login
    hub = Hub(Settings())
    client = hub.connect()
    waiting, taken = header + more * (2 * limit // len(more)), 0
    while client.close_hint is CloseHint.KEEP:
        piece = waiting[taken : taken + min(size, client.receive_budget)]
        assert piece
        client.receive_data(piece, 0.0)
        taken += len(piece)
        client.next_event()
        client.data_to_send(0.0)
    assert taken == limit
    assert client.close_hint is CloseHint.CLOSE_NOW
    assert not hub.clients


def test_who_has_logged_in_may_send_as_much_as_it_likes() -> None:
    world = hub_classic.World("0-9-1", limits=BrokerLimits(login=1000))
    channel = world.channel()
    channel.declare("q")
    for _ in range(20):
        channel.publish(b"x" * 1000, "q")
    assert channel.count("q") == 20


# 0-8 and 0-9-1.


def _channel(world: hub_classic.World, number: int = 1) -> ClassicChannel:
    front: Any = next(iter(world.hub.fronts.values()))
    found: ClassicChannel = front.channels[number]
    return found


def test_consumers_without_a_tag_and_without_an_answer_are_told_apart() -> None:
    """The broker makes up a tag for each, which its engine has to know: who acknowledges, and how many there are."""
    world = hub_classic.World(configs={AMQP_0_9_1: server_config(limits=Limits(consumers=2))})
    talk, other = world.channel(), world.channel()
    talk.declare("q")
    for no_ack in (False, True):
        talk.core.call(talk.make("basic.consume", queue="q", no_ack=no_ack, no_wait=True))
        world.pump()
    channel = _channel(world)
    assert set(channel.own_consumers) == set(channel.engine.consumers)
    for body in (b"1", b"2"):
        other.publish(body, "q")
    acknowledged = [each for each in talk.deliveries() if each.delivery_tag in channel.engine.unsettled]
    assert len(acknowledged) == 1
    assert set(channel.entries) == set(channel.engine.unsettled)
    talk.core.call(talk.make("basic.consume", queue="q", no_wait=True))
    world.pump()
    assert talk.error[:2] == ("channel", 506)


@pytest.mark.parametrize("dialect", ["0-8", "0-9-1"])
def test_a_prefetch_of_the_connection_counts_again_what_a_closed_channel_gives_back(dialect: str) -> None:
    world = hub_classic.World(dialect)
    user = world.client()
    first, second = user.channel(), user.channel()
    first.declare("q")
    first.call("basic.qos", prefetch_count=2, global_=True)
    for talk in (first, second):
        talk.consume("q")
    for body in (b"1", b"2", b"3"):
        second.publish(body, "q")
    held = first.deliveries() + second.deliveries()
    assert len(held) == 2
    first.close()
    world.hub.check()
    again = second.deliveries()
    assert len(held) - len(again) <= 1
    front: Any = next(iter(world.hub.fronts.values()))
    assert front.window.messages == 2 - len(front.channels[2].owner.held) == 0


def test_a_message_that_comes_back_behind_an_expired_one_expires_too() -> None:
    """Both come back at once, when who had them goes."""
    world = hub_classic.World("0-9-1")
    gone, other = world.channel(), world.channel()
    other.declare("q")
    for body, milliseconds in ((b"long", "60000"), (b"short", "1000")):
        other.publish(body, "q", properties={"expiration": milliseconds})
        assert gone.get("q") is not None
    world.advance(2.0)
    gone.user.cut()
    assert other.count("q") == 1
    world.hub.check()
    world.advance(60.0)
    assert other.count("q") == 0


@pytest.mark.parametrize("dialect", ["0-8", "0-8-qpid", "0-9-1", "0-9-1-qpid"])
def test_direct_replies_are_only_for_clients_of_rabbitmq(dialect: str) -> None:
    error = hub_classic.refused(dialect, "basic.consume", queue="amq.rabbitmq.reply-to")
    assert error[:2] == ("channel", 404)
    error = hub_classic.refused(dialect, "queue.declare", queue="amq.rabbitmq.reply-to.x", passive=True)
    assert error[:2] == ("channel", 404)


@pytest.mark.parametrize(("dialect", "code"), [("0-8", 530), ("0-8-qpid", 530), ("0-9-1", 406)])
def test_no_code_is_said_that_the_version_does_not_have(dialect: str, code: int) -> None:
    """Its properties don't fit the frames of who gets it; 0-8 has no 406."""
    world = hub_classic.World(dialect)
    small, large = world.channel(frame_max=4096), world.channel()
    large.declare("q")
    large.publish(b"x", "q", properties={"headers": {"h": "x" * 8000}})
    small.call("basic.get", queue="q")
    assert small.error[:2] == ("channel", code)


def test_a_file_under_way_counts_when_the_prefetch_is_set_anew() -> None:
    world = hub_classic.World("0-8")
    reader, talk = world.channel(), world.channel()
    reader.declare("q")
    reader.call("file.qos", prefetch_count=1)
    reader.call("file.consume", queue="q")
    for _ in range(2):
        talk.call("file.open", identifier="f", content_size=1)
        talk.core.reply(talk.make("file.stage"), FileProperties(), b"x")
        talk.send("file.publish", routing_key="q", identifier="f")
    channel = _channel(world)
    assert channel.files is not None
    assert len(channel.files.leaving) == 1
    # The reader hasn't said yet that it takes the first one.
    reader.call("file.qos", prefetch_count=1)
    assert len(channel.files.leaving) == 1
    world.hub.check()


def test_what_is_fetched_from_behind_another_class_is_in_the_history() -> None:
    world = hub_classic.World("0-8", history=100)
    talk = world.channel()
    talk.declare("q")
    talk.send("stream.publish", None, b"s", routing_key="q")
    talk.publish(b"basic", "q")
    assert talk.get("q").body == b"basic"
    history = world.hub.model.history
    assert history is not None
    assert [(each.kind, each.number) for each in history.records][-1] == ("got", 2)


# 0-10.


def test_who_was_not_asked_can_not_have_a_session_kept_for_ever() -> None:
    """session.timeout is the answer to session.request-timeout."""
    driver = Driver(settings_of())
    wild = Ten(driver, Choices(b""))
    wild.open()
    driver.feed(wild.number, octets_0_10.attach(b"kept") + octets_0_10.command_point())
    driver.feed(wild.number, octets_0_10.request_timeout(60) + octets_0_10.timeout(None))
    driver.lose(wild.number)
    assert driver.hub.shared["0-10"].known
    driver.pass_time(61.0)
    assert not driver.hub.shared["0-10"].known
    assert not driver.hub.model.owners


def _full_session(acquire_mode: int) -> tuple[hub_0_10.World, hub_0_10.User, Any]:
    """A client that completes nothing, and has credit for everything: its engine takes ten messages."""
    limits = BrokerLimits(backlog_high=20_000, backlog_low=5000)
    world = hub_0_10.World(Settings(limits=limits, connection_limits=Limits(replay=10)))
    peer = world.connect()
    session = peer.session()
    peer.queue(session, "q")
    for number in range(40):
        session.transfer("", TenMessage(b"%02d" % number + bytes(1000), routing_key="q"))
        peer.result(session.sync())
    peer.subscribe(session, "q", acquire_mode=acquire_mode)
    peer.call(session, MessageSetFlowMode("d", CREDIT))
    session.top_up("d", 1000)
    world.pump()
    return world, peer, session


def test_a_session_that_takes_no_more_does_not_keep_the_hub_busy() -> None:
    """What couldn't be sent isn't among what the client has to read: else it would be tried again without end."""
    world, _, _ = _full_session(0)
    for _ in range(100):
        dirty = world.hub.take_dirty()
        for client in dirty:
            client.next_event()
            client.data_to_send(0.0)
        if not dirty:
            break
    else:
        raise AssertionError("somebody is dirty without end")
    front: Any = world.hub.fronts[1]
    assert front.full
    assert front.gate.octets > 0


def test_who_browses_misses_nothing_when_its_session_was_full() -> None:
    world, peer, session = _full_session(NOT_ACQUIRED)
    found: list[bytes] = []
    for _ in range(20):
        got = peer.got(session)
        found += [each.body[:2] for each in got]
        peer.result(session.release(*[each.command_id for each in got], sync=True))
    assert found == [b"%02d" % number for number in range(40)]
    world.hub.check()


# 1.0.

BEGIN = spec.Begin(next_outgoing_id=0, incoming_window=50, outgoing_window=50)


def _wild(driver: Driver, container: bytes = b"", begins: bool = True) -> One:
    wild = One(driver, Choices(container))
    wild.open()
    if begins:
        driver.feed(wild.number, octets_of(BEGIN))
    return wild


def _receiver(name: str, handle: int = 0, **changes: Any) -> spec.Attach:
    values: dict[str, Any] = {"source": amqp.Source("/queues/q"), "target": amqp.Target("here"), **changes}
    return spec.Attach(name, handle, True, **values)


def _credit(handle: int = 0, credit: int = 10) -> bytes:
    return octets_of(spec.Flow(0, 50, 0, 50, handle=handle, delivery_count=0, link_credit=credit))


def _with_messages(count: int) -> Driver:
    """A hub with a queue "q" and so many messages, of a witness that is client 1."""
    driver = Driver(settings_of())
    (witness,) = witnesses_of(driver, ["0-9-1"], "")
    driver.declare(witness.number, "q")
    for number in range(count):
        witness.publish("q", b"%d" % number)
        witness.shared_sent += 1
        while witness.pump():
            pass
    return driver


def _names(driver: Driver, number: int) -> list[tuple[str, str]]:
    """What a client was told: names of frames, with the conditions of errors."""
    found: list[tuple[str, str]] = []
    for sent in parse(bytes(driver.out[number])):
        error = getattr(sent.body, "error", None)
        found.append((sent.name, "" if error is None else str(error.condition)))
    return found


WRONG = {
    "link": octets_of(spec.Transfer(0, 0, b"t", 0)),
    "session": octets_of(spec.Transfer(7, 0, b"t", 0)),
    "connection": octets_of(spec.Transfer(0, 0, b"t", 0), 9),
}


@pytest.mark.parametrize("scope", WRONG)
def test_what_a_faulty_client_has_is_given_back_at_once(scope: str) -> None:
    """Not when it answers the detach, end or close, which it may never do."""
    driver = _with_messages(2)
    wild = _wild(driver)
    driver.feed(wild.number, octets_of(_receiver("in")) + _credit())
    queue = driver.hub.model.vhosts["/"].queues["q"]
    assert (queue.ready, queue.unsettled) == (0, 2)
    driver.feed(wild.number, WRONG[scope])
    assert driver.client(wild.number) is not None
    assert (queue.ready, queue.unsettled) == (2, 0)
    assert not queue.consumers
    driver.hub.check()


def test_a_wrong_flow_of_one_link_opens_the_session_for_the_others_all_the_same() -> None:
    """The sender's delivery-count is missing, and only that link is closed; the window it names is booked."""
    driver = _with_messages(2)
    wild = _wild(driver)
    own = spec.Attach("out", 1, False, target=amqp.Target("/queues/q"), initial_delivery_count=0)
    shut = spec.Flow(0, 0, 0, 50, handle=0, delivery_count=0, link_credit=10)
    driver.feed(wild.number, octets_of(_receiver("in")) + octets_of(own) + octets_of(shut))
    assert "transfer" not in [name for name, _ in _names(driver, wild.number)]
    driver.feed(wild.number, octets_of(spec.Flow(0, 50, 0, 50, handle=1)))
    names = _names(driver, wild.number)
    assert ("detach", "amqp:invalid-field") in names
    assert [name for name, _ in names].count("transfer") == 2


def test_a_receiver_that_named_a_count_far_from_the_senders_gets_what_it_asks_for_next() -> None:
    """Its credit was none then; it is no reason to end the link with amqp:internal-error."""
    driver = _with_messages(2)
    wild = _wild(driver)
    driver.feed(wild.number, octets_of(_receiver("in", snd_settle_mode=1)))
    for window, count in (0, 0), (50, 0x7FFF_FFFF), (50, 0):
        driver.feed(wild.number, octets_of(spec.Flow(0, window, 0, 50, handle=0, delivery_count=count, link_credit=5)))
    names = [name for name, _ in _names(driver, wild.number)]
    assert names[-2:] == ["transfer", "transfer"]


@pytest.mark.parametrize(
    ("changes", "last"),
    [
        ({"max_message_size": 50}, [("disposition", ""), ("detach", "amqp:link:message-size-exceeded")]),
        ({"incomplete_unsettled": True}, [("disposition", "")]),
        ({}, [("transfer", ""), ("disposition", "")]),
    ],
    ids=["too-large", "incomplete", "right"],
)
def test_a_response_that_the_link_does_not_take_is_no_fault_of_the_connection(
    changes: dict[str, Any], last: list[tuple[str, str]]
) -> None:
    driver = _with_messages(0)
    wild = _wild(driver)
    place, paired = "/management", {amqp.Symbol("paired"): True}
    source, target = amqp.Source(place), amqp.Target(place)
    into = spec.Attach("m", 0, True, source=source, target=target, properties=paired, **changes)
    out = spec.Attach("m", 1, False, source=source, target=target, properties=paired, initial_delivery_count=0)
    asked = amqp.Properties(message_id=spec.ULong(1), to="/queues/q", subject="GET", reply_to="$me")
    request = amqp.Message(amqp.AmqpValue(None), properties=asked).encode()
    driver.feed(wild.number, octets_of(into) + octets_of(out) + _credit())
    driver.feed(wild.number, octets_of(spec.Transfer(1, 0, b"t", 0), payload=request))
    assert sorted(_names(driver, wild.number)[-len(last) :]) == sorted(last)


def test_an_answer_that_does_not_fit_is_a_refusal_of_the_link() -> None:
    driver = _with_messages(0)
    wild = _wild(driver, b"\0\1")
    engine = wild.engine
    assert engine.max_frame_size == 512
    selector = amqp.Described(amqp.Symbol("apache.org:selector-filter:string"), " or ".join(["abc = 1"] * 25))
    source = amqp.Source("/queues/q", filter={amqp.Symbol("selector"): selector})
    driver.feed(wild.number, octets_of(_receiver("n" * 200, source=source)))
    told = _names(driver, wild.number)
    assert ("detach", "amqp:frame-size-too-small") in told
    driver.feed(wild.number, octets_of(spec.Detach(0, True)))
    assert engine.is_open


def test_an_answer_that_does_not_fit_at_all_ends_the_connection_with_the_reason() -> None:
    driver = _with_messages(0)
    wild = _wild(driver, b"\0\1")
    driver.feed(wild.number, octets_of(_receiver("n" * 600)))
    assert _names(driver, wild.number)[-1] == ("close", "amqp:frame-size-too-small")


def test_a_client_that_has_not_said_all_gets_nothing_new() -> None:
    """An incomplete unsettled map: no new deliveries (part 2 section 2.7.3), and nobody is to blame."""
    driver = _with_messages(3)
    wild = _wild(driver)
    attach = _receiver("in", unsettled={b"t": None}, incomplete_unsettled=True)
    driver.feed(wild.number, octets_of(attach) + _credit())
    names = [name for name, _ in _names(driver, wild.number)]
    assert "transfer" not in names
    assert wild.engine.is_open
    assert driver.hub.model.vhosts["/"].queues["q"].ready == 3
    driver.hub.check()


def test_what_is_unsettled_goes_on_as_it_was_sent_when_its_link_is_to_send_all_settled() -> None:
    driver = _with_messages(1)
    wild = _wild(driver)
    source = amqp.Source("/queues/q", durable=2, expiry_policy=amqp.Symbol("never"))
    driver.feed(wild.number, octets_of(_receiver("in", source=source)) + _credit())
    driver.feed(wild.number, octets_of(spec.Detach(0)))
    again = _receiver("in", source=source, snd_settle_mode=1, unsettled={})
    driver.feed(wild.number, octets_of(again) + _credit())
    told = _names(driver, wild.number)
    assert [name for name, _ in told].count("transfer") == 2
    assert not [condition for _, condition in told if condition]
    driver.hub.check()


@pytest.mark.parametrize("other", ["management", "coordinator"])
def test_a_link_that_is_another_one_now_gives_back_what_it_had(other: str) -> None:
    driver = _with_messages(2)
    wild = _wild(driver)
    driver.feed(wild.number, octets_of(BEGIN, 1))
    if other == "management":
        first, source = _receiver("l"), amqp.Source("/management")
        second = spec.Attach(
            "l", 0, True, source=source, target=amqp.Target("x"), properties={amqp.Symbol("paired"): True}
        )
    else:
        first = spec.Attach(
            "l", 0, False, source=amqp.Source("x"), target=amqp.Target("/queues/q"), initial_delivery_count=0
        )
        second = spec.Attach(
            "l", 0, False, source=amqp.Source("x"), target=spec.Coordinator(), initial_delivery_count=0
        )
    driver.feed(wild.number, octets_of(first) + (_credit() if first.role else b""))
    driver.feed(wild.number, octets_of(second, 1))
    queue = driver.hub.model.vhosts["/"].queues["q"]
    assert (queue.ready, queue.unsettled, queue.links) == (2, 0, 0)
    front: Any = driver.hub.fronts[wild.number]
    assert not front.links
    driver.hub.check()


# All of them.


@pytest.mark.parametrize("version", [AMQP_0_9_1, AMQP_0_10, AMQP_1_0], ids=lambda each: each.label)
def test_who_does_not_read_why_it_is_closed_is_dropped(version: Version) -> None:
    """The engine's time for the answer runs from when the close has left, which it never does."""
    driver = _with_messages(0)
    wild: Hostile
    if version is AMQP_1_0:
        wild, wrong = One(driver, Choices(b"")), WRONG["connection"]
    elif version is AMQP_0_10:
        wild, wrong = Ten(driver, Choices(b"")), octets_0_10.frame(b"", 0, channel=99)
    else:
        wild, wrong = Classic(driver, Choices(b""), "0-9-1"), frame(METHOD, 9, b"\0\x32\0\x0a")
    wild.open()
    assert wild.engine.is_open
    driver.deafen(wild.number, True)
    driver.feed(wild.number, wrong)
    assert not wild.engine.is_open
    driver.pass_time(4.0)
    assert driver.client(wild.number) is not None
    driver.pass_time(20.0)
    assert driver.client(wild.number) is None
    assert driver.ends[wild.number].report is not None


def test_who_reads_slowly_why_it_is_closed_has_its_time() -> None:
    driver = _with_messages(0)
    wild = Classic(driver, Choices(b""), "0-9-1")
    wild.open()
    driver.deafen(wild.number, True)
    driver.feed(wild.number, frame(METHOD, 9, b"\0\x32\0\x0a"))
    driver.pass_time(9.0)
    driver.deafen(wild.number, False)
    driver.pass_time(18.0)
    assert driver.client(wild.number) is not None
    names = [each.name for each in frames_of(get_dialect("0-9-1-rabbit"), bytes(driver.out[wild.number]))]
    assert names[-1] == "connection.close"


@pytest.mark.parametrize("settles", [True, False])
def test_messages_without_octets_are_counted_as_what_they_take(settles: bool) -> None:
    """A client that doesn't read gets no more than `BrokerLimits.backlog_high` of their frames either."""
    limits = BrokerLimits(backlog_high=20_000, backlog_low=5000)
    driver = Driver(settings_of(limits=limits, connection_limits=Limits()))
    lines = [Line(driver, connection_of(AMQP_0_9_1, Side.CLIENT, client_config())) for _ in range(2)]
    pump(*lines)
    out, into = [each.end.open_channel() for each in lines]
    named = lines[0].end.dialect.named
    for channel, method in (
        (out, named["queue.declare"](queue="q", durable=True)),
        (into, named["basic.consume"](queue="q", consumer_tag="c", no_ack=settles)),
    ):
        channel.call(method)
        pump(*lines)
    lines[1].stop()
    for _ in range(2000):
        out.publish(b"", routing_key="q")
    pump(*lines)
    client = driver.client(lines[1].number)
    assert client is not None
    assert client.send_backlog <= limits.backlog_high
    assert driver.hub.model.vhosts["/"].queues["q"].ready > 1500
