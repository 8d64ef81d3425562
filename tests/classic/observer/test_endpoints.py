"""Whatever two endpoints of this library exchange, their observer sees no broken rule, and all of it."""

import pytest
from hypothesis import given

from amqp_sansio import AMQP_0_8, AMQP_0_9_1, By, CloseReport, Side, Version
from amqp_sansio.observer import Observed, Observer, Skipped, Violation
from tests.kit.driving import OPERATIONS, Operation
from tests.kit.driving_classic import VERSIONS
from tests.kit.observing import CLIENT, accounted, driven, take
from tests.kit.pair import SIDES
from tests.kit.pair_classic import Pair


@given(VERSIONS, OPERATIONS)
@pytest.mark.rule("0-9-1/connection.close/answer", "0-9-1/connection.close/handshake")
def test_no_sequence_of_calls_breaks_a_rule(version: Version, operations: list[Operation]) -> None:
    observer = Observer(client=CLIENT)
    driver = driven(version, operations, observer)
    observer.finish(1 << 60)
    events = take(observer)
    broken = [event for event in events if isinstance(event, Violation | Skipped)]
    # Calls that RabbitMQ disregards are right by the specification.
    assert {getattr(event, "severity", "error") for event in broken} <= {"warning"}
    for side in SIDES:
        assert accounted(events, side) == len(driver.pair.sent[side])


@pytest.mark.parametrize("version", (AMQP_0_9_1, AMQP_0_8), ids=lambda version: version.label)
def test_a_call_and_its_answer_are_tied(version: Version) -> None:
    observer = Observer(client=CLIENT)
    pair = Pair(version, observer=observer).open()
    channel = pair.channel()
    channel.call(pair.method("queue.declare", queue="q"))
    channel.call(pair.method("exchange.declare", exchange="x", type="direct"))
    pair.pump()
    pair.client.close()
    pair.drive()
    units = [event for event in take(observer) if isinstance(event, Observed)]
    names = {unit.seq: unit.event for unit in units}
    answers = {unit.event: names[unit.answers] for unit in units if unit.answers is not None}
    assert answers == {
        "connection.start-ok": "connection.start",
        "connection.tune-ok": "connection.tune",
        "connection.open-ok": "connection.open",
        "channel.open-ok": "channel.open",
        "queue.declare-ok": "queue.declare",
        "exchange.declare-ok": "exchange.declare",
        "connection.close-ok": "connection.close",
    }
    assert [unit.seq for unit in units] == list(range(len(units)))


def test_a_reply_with_content_answers_too() -> None:
    observer = Observer(client=CLIENT)
    pair = Pair(AMQP_0_8, observer=observer).open()
    channel = pair.channel()
    channel.call(pair.method("test.content"), None, b"abc")
    pair.pump()
    units = [event for event in take(observer) if isinstance(event, Observed)]
    asked, answered = units[-2:]
    assert (asked.event, answered.event) == ("test.content", "test.content-ok")
    assert (asked.unit, asked.body) == ("content", b"abc")
    assert answered.answers == asked.seq


@pytest.mark.parametrize("version", (AMQP_0_9_1, AMQP_0_8), ids=lambda version: version.label)
def test_what_the_server_finds_wrong_the_observer_finds_wrong(version: Version) -> None:
    """A client that is made to break a rule: endpoint and observer name the same one."""
    observer = Observer(client=CLIENT)
    pair = Pair(version, observer=observer).open()
    pair.channel()
    wrong = b"\x01\0\x09" + b"\0\0\0\x0d" + b"\0\x3c\0\x50" + bytes(9) + b"\xce"
    observer.receive_data(wrong, CLIENT, 1)
    pair.server.receive_data(wrong, pair.now)
    pair.drain(Side.SERVER)
    (violation,) = [event for event in take(observer) if isinstance(event, Violation)]
    pair.client.connection_lost("gone", pair.now)
    pair.server.connection_lost("gone", pair.now)
    pair.drain(Side.SERVER)
    report = pair.server.report
    assert isinstance(report, CloseReport)
    assert report.by is By.LOCAL
    assert report.rule == violation.rule
