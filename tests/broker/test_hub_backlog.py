"""What a hub holds for a client that never reads, whatever it asks for; all of it comes when it reads again."""

from collections.abc import Callable
from typing import Any

import pytest

from amqp_sansio import AMQP_0_8, AMQP_0_9_1, Limits
from amqp_sansio import amqp_0_10 as ten
from amqp_sansio import amqp_1_0 as one
from amqp_sansio.amqp_0_9_1 import Delivery, MessageReturned
from amqp_sansio.amqp_0_10 import spec
from amqp_sansio.broker import BrokerLimits
from amqp_sansio.broker.snapshot import dumps
from amqp_sansio.endpoint import Side
from amqp_sansio.sasl import Plain
from tests.kit.hub_hostile import Driver, settings_of
from tests.kit.hub_lines import Line, pump, result
from tests.kit.pair_classic import client_config, connection_of

HIGH = 50_000
UNPARSED = 100_000
BODY = b"x" * 1000
COUNT = 1000
LIMITS = BrokerLimits(backlog_high=HIGH, backlog_low=HIGH // 5)
Asks = Callable[[Line], Callable[[], int]]
"""Has a client that doesn't read ask for `COUNT` answers; what that gives counts the answers that have come."""


def classic(line: Line) -> Any:
    channel = line.end.open_channel()
    pump(line)
    return channel


def returns(line: Line) -> Callable[[], int]:
    channel = classic(line)
    line.stop()
    for _ in range(COUNT):
        channel.publish(BODY, routing_key="nowhere", mandatory=True)
    return lambda: len(line.take(MessageReturned))


def refused_confirms(line: Line) -> Callable[[], int]:
    channel = classic(line)
    result(channel.call(line.end.dialect.named["confirm.select"]()), line)
    line.stop()
    handles = [channel.publish(BODY, routing_key="nowhere", mandatory=True) for _ in range(COUNT)]
    return lambda: sum([each.done for each in handles])


def gets(line: Line) -> Callable[[], int]:
    channel = classic(line)
    named = line.end.dialect.named
    result(channel.call(named["queue.declare"](queue="q", durable=True)), line)
    for _ in range(COUNT):
        channel.publish(BODY, routing_key="q")
    pump(line)
    line.stop()
    handles = [channel.call(named["basic.get"](queue="q", no_ack=True)) for _ in range(COUNT)]
    return lambda: sum([each.done for each in handles])


def declares(line: Line) -> Callable[[], int]:
    channel = classic(line)
    line.stop()
    declare = line.end.dialect.named["queue.declare"](queue="q" * 200, durable=True)
    handles = [channel.call(declare) for _ in range(COUNT)]
    return lambda: sum([each.done for each in handles])


def queries(line: Line) -> Callable[[], int]:
    session = line.end.open_session(b"s")
    pump(line)
    line.stop()
    handles = [session.call(ten.spec.QueueQuery("q" * 200)) for _ in range(COUNT)]
    return lambda: sum([each.done for each in handles])


def rejections(line: Line) -> Callable[[], int]:
    session = line.end.open_session(b"s")
    pump(line)
    line.stop()
    message = ten.Message(b"", routing_key="nowhere")
    sent = [session.transfer("", message, accept_mode=spec.EXPLICIT) for _ in range(3 * COUNT)]
    return lambda: sum([each.outcome.done for each in sent if each.outcome is not None]) // 3


def outcomes(line: Line) -> Callable[[], int]:
    session = line.end.open_session()
    sender = session.open_sender("/exchanges/amq.direct/nowhere")
    pump(line)
    handles: list[Any] = []

    def send(_: object = None) -> None:
        while sender.credit and len(handles) < COUNT:
            handles.append(sender.send(one.Message(BODY)))

    line.answers = send
    line.stop()
    send()
    return lambda: sum([each.done for each in handles])


def echoes(line: Line) -> Callable[[], int]:
    session = line.end.open_session()
    receiver = session.open_receiver("/exchanges/amq.direct/nowhere")
    pump(line)
    line.stop()
    for _ in range(10 * COUNT):
        receiver.flow(1, echo=True)
    return lambda: COUNT


def rpc(line: Line) -> Callable[[], int]:
    session = line.end.open_session()
    paired: Any = {"name": "management-link-pair", "properties": {one.Symbol("paired"): True}}
    receiver = session.open_receiver(
        one.Source("/management"), target=one.Target("/management"), credit=10 * COUNT, **paired
    )
    sender = session.open_sender(
        one.Target("/management"), source=one.Source("/management"), snd_settle_mode=1, **paired
    )
    pump(line)
    sent = 0

    def send(_: object = None) -> None:
        nonlocal sent
        while sender.credit and sent < COUNT:
            properties = one.Properties(
                message_id=one.spec.ULong(sent), to="/queues/none", subject="GET", reply_to="$me"
            )
            sender.send(one.Message(None, properties=properties))
            sent += 1

    line.answers = send
    line.stop()
    send()
    assert receiver.is_open
    return lambda: len(line.take(one.Delivery))


ATTACKS: dict[str, tuple[str, Asks]] = {
    "0-8 returns": ("0-8", returns),
    "0-8 gets": ("0-8", gets),
    "0-8 declares": ("0-8", declares),
    "0-9-1 returns": ("0-9-1", returns),
    "0-9-1 returns and confirms": ("0-9-1", refused_confirms),
    "0-9-1 gets": ("0-9-1", gets),
    "0-9-1 declares": ("0-9-1", declares),
    "0-10 queries": ("0-10", queries),
    "0-10 rejections": ("0-10", rejections),
    "1.0 outcomes": ("1.0", outcomes),
    "1.0 echoes": ("1.0", echoes),
    "1.0 management": ("1.0", rpc),
}


def client_of(label: str) -> Any:
    if label == "0-10":
        return ten.Connection.client(ten.Config(sasl=Plain("guest", "guest"), vhost="/", heartbeat=0))
    if label == "1.0":
        return one.Connection.client(one.Config("c", sasl=Plain("guest", "guest")))
    return connection_of(AMQP_0_8 if label == "0-8" else AMQP_0_9_1, Side.CLIENT, client_config(limits=Limits()))


BOUND_BY_CREDIT = ("1.0 outcomes", "1.0 management")
"""Who doesn't read gets no more credit, and can't ask for more."""


@pytest.mark.parametrize("name", ATTACKS)
def test_who_never_reads_what_it_asks_for_is_not_read_either(name: str) -> None:
    label, asks = ATTACKS[name]
    driver = Driver(settings_of(limits=LIMITS, connection_limits=Limits(unparsed=UNPARSED), history=0))
    line = Line(driver, client_of(label))
    pump(line)
    before = len(dumps(driver.hub))
    answered = asks(line)
    pump(line)
    client = driver.client(line.number)
    assert client is not None
    assert (client.receive_budget == 0) is (name not in BOUND_BY_CREDIT)
    assert (client.send_backlog > HIGH) is (name not in BOUND_BY_CREDIT)
    assert client.send_backlog < HIGH + 2 * len(BODY)
    held = driver.hub.model.ledger.octets
    # 0-10 keeps what it has sent until the client has confirmed it.
    assert len(dumps(driver.hub)) < before + 2 * held + 4 * HIGH + UNPARSED
    line.go_on()
    pump(line)
    assert answered() == COUNT
    assert client.send_backlog == 0
    assert client.receive_budget > 0


def test_deliveries_leave_room_for_answers() -> None:
    driver = Driver(settings_of(limits=LIMITS, connection_limits=Limits(unparsed=UNPARSED), history=0))
    line = Line(driver, client_of("0-9-1"))
    pump(line)
    channel = classic(line)
    named = line.end.dialect.named
    result(channel.call(named["queue.declare"](queue="q", durable=True)), line)
    result(channel.call(named["basic.consume"](queue="q", no_ack=True)), line)
    line.stop()
    for _ in range(COUNT):
        channel.publish(BODY, routing_key="q")
    pump(line)
    client = driver.client(line.number)
    assert client is not None
    assert not client.is_behind
    assert HIGH - 3 * len(BODY) < client.send_backlog < HIGH + 2 * len(BODY)
    for _ in range(COUNT):
        channel.publish(BODY, routing_key="nowhere", mandatory=True)
    pump(line)
    assert client.is_behind
    assert client.send_backlog < 2 * (HIGH + 2 * len(BODY))
    line.go_on()
    pump(line)
    assert len(line.take(Delivery)) == len(line.take(MessageReturned)) == COUNT


@pytest.mark.parametrize("how", ["lost", "eof", "shut down"])
@pytest.mark.parametrize("name", ["0-9-1 gets", "0-10 queries", "1.0 echoes"])
def test_who_is_behind_ends_like_any_other(name: str, how: str) -> None:
    label, asks = ATTACKS[name]
    driver = Driver(settings_of(limits=LIMITS, connection_limits=Limits(unparsed=UNPARSED), history=0))
    line = Line(driver, client_of(label))
    pump(line)
    asks(line)
    pump(line)
    client = driver.client(line.number)
    assert client is not None
    assert client.is_behind
    assert not driver.hub.fronts[line.number].connection.is_ending
    if how == "lost":
        driver.lose(line.number)
    elif how == "eof":
        driver.eof(line.number)
        assert not client.is_behind
    else:
        driver.hub.shut_down()
    driver.pass_time(1.0)
    driver.pass_time(60.0)
    assert driver.client(line.number) is None
    assert driver.hub.model.owners == {}
    assert client.send_backlog == 0
