"""The file and stream classes on a session: consumers, staging, delivery tags, acknowledgements, at both ends."""

from typing import Any

import pytest

from amqp_sansio import Closed, Failed, LocalProtocolError, Side
from amqp_sansio import amqp_0_10 as amqp
from amqp_sansio.amqp_0_10 import spec
from amqp_sansio.amqp_0_10.codec.violation import Violation
from amqp_sansio.amqp_0_10.model.file_rules import FileRules
from tests.kit.ends_0_10 import Ends


@pytest.fixture
def ends() -> Ends:
    """A client and a server with a session."""
    return Ends()


def staged(body: bytes) -> amqp.Message:
    """A file's content."""
    return amqp.Message(body, headers=amqp.Headers(b""))


@pytest.mark.rule("0-10/file/acks", "0-10/file.open-ok/staging")
def test_a_file_is_staged_published_delivered_and_acknowledged(ends: Ends) -> None:
    ends.session.call(spec.FileOpen("a", 5))
    ends.move()
    ends.served.call(spec.FileOpenOk(2))
    ends.move()
    ends.session.call(spec.FileStage(), staged(b"llo"))
    ends.session.call(spec.FilePublish("", "jobs", identifier="a"))
    ends.session.call(spec.FileConsume("jobs", "with acks"))
    ends.session.call(spec.FileConsume("jobs", "without", no_ack=True))
    ends.move()
    assert [command.NAME for command in ends.commands(ends.server)] == [
        "file.open",
        "file.stage",
        "file.publish",
        "file.consume",
        "file.consume",
    ]
    ends.served.call(spec.FileConsumeOk("with acks"))
    ends.served.call(spec.FileDeliver("with acks", 1, identifier="a"))
    ends.served.call(spec.FileDeliver("without", 2, identifier="a"))
    ends.move()
    ends.session.call(spec.FileAck(1))
    ends.move()
    assert ends.commands(ends.server)[-1] == spec.FileAck(1)
    # What needs no ack has none.
    with pytest.raises(LocalProtocolError, match="delivery tag 2, of which no file"):
        ends.session.call(spec.FileAck(2))


@pytest.mark.rule("0-10/stream/acks")
def test_streams_have_no_acks(ends: Ends) -> None:
    ends.session.call(spec.StreamConsume("jobs", "s"))
    ends.session.call(spec.StreamPublish("", "jobs"), amqp.Message(b"x"))
    ends.move()
    ends.served.call(spec.StreamDeliver("s", 1, queue="jobs"), amqp.Message(b"x"))
    ends.move()
    assert ends.commands(ends.client)[-1].NAME == "stream.deliver"
    with pytest.raises(LocalProtocolError):
        ends.session.call(spec.FileAck(1))


CONSUMING = [("queue-empty", "", "t"), ("tag-empty", "jobs", ""), ("tag-in-use", "jobs", "used")]


@pytest.mark.rule("0-10/file.consume/queue-empty -> not-allowed 530", "0-10/file.consume/tag-empty -> not-allowed 530")
@pytest.mark.rule("0-10/file.consume/tag-in-use -> not-allowed 530")
@pytest.mark.rule("0-10/stream.consume/queue-empty -> not-allowed 530")
@pytest.mark.rule("0-10/stream.consume/tag-empty -> not-allowed 530")
@pytest.mark.rule("0-10/stream.consume/tag-in-use -> not-allowed 530")
@pytest.mark.parametrize("kind", [spec.FileConsume, spec.StreamConsume])
@pytest.mark.parametrize(("rule", "queue", "tag"), CONSUMING)
def test_consumers_have_a_queue_and_a_tag_of_their_own(ends: Ends, rule: str, queue: str, tag: str, kind: Any) -> None:
    ends.session.call(kind("jobs", "used"))
    full = f"0-10/{kind.NAME}/{rule}"
    with pytest.raises(LocalProtocolError) as caught:
        ends.session.call(kind(queue, tag))
    assert caught.value.rule == full
    ends.forced(ends.session, kind(queue, tag))
    error = ends.failure(ends.server)
    assert (error.code, error.rule) == (530, full)
    assert ends.failure(ends.client).code == 530


def test_a_tag_can_be_used_again_behind_a_cancel(ends: Ends) -> None:
    ends.session.call(spec.FileConsume("jobs", "t"))
    ends.session.call(spec.FileCancel("t"))
    ends.session.call(spec.FileConsume("jobs", "t"))
    ends.session.call(spec.StreamConsume("jobs", "t"))
    ends.move()
    assert len(ends.commands(ends.server)) == 4


@pytest.mark.rule("0-10/file.consume/exclusive -> resource-locked 405")
@pytest.mark.rule("0-10/stream.consume/exclusive -> resource-locked 405")
@pytest.mark.parametrize("kind", [spec.FileConsume, spec.StreamConsume])
def test_a_server_refuses_an_exclusive_consumer(kind: Any) -> None:
    class Locked(Ends):
        def answer(self, here: amqp.Connection, event: Any) -> None:
            if isinstance(event, amqp.CommandReceived):
                session = here.session(event.channel)
                session.fail(amqp.ExecutionError(405, "jobs is in use"), event.command_id, field="exclusive")
            else:
                super().answer(here, event)

    ends = Locked()
    handle = ends.session.call(kind("jobs", "t", exclusive=True))
    ends.move()
    error = ends.failure(ends.client)
    assert (error.code, error.condition, str(error)) == (405, "resource-locked", "jobs is in use")
    assert (error.class_id, error.method_id) == (kind.CODE >> 8, kind.CODE & 0xFF)
    assert handle.error is error


@pytest.mark.rule("0-10/file.deliver/non-zero")
@pytest.mark.parametrize(
    ("command", "code"),
    [
        pytest.param(spec.FileDeliver("t", 0), 531, id="file with delivery tag 0"),
        pytest.param(spec.StreamDeliver("t", 0, queue="jobs"), 531, id="stream with delivery tag 0"),
        pytest.param(spec.FileQosOk(), 409, id="qos that nobody asked for"),
        pytest.param(spec.FileOpenOk(0), 409, id="open-ok without open"),
        pytest.param(spec.FileStage(), 409, id="stage without open"),
    ],
)
def test_a_server_sends_nothing_out_of_place(ends: Ends, command: Any, code: int) -> None:
    with pytest.raises(LocalProtocolError):
        ends.served.call(command)
    ends.forced(ends.served, command)
    assert ends.failure(ends.client).code == code


@pytest.mark.rule("0-10/file.qos/ceiling")
def test_no_more_files_than_the_prefetch_count_are_delivered(ends: Ends) -> None:
    ends.session.call(spec.FileQos(prefetch_count=2))
    ends.session.call(spec.FileConsume("jobs", "t"))
    ends.session.call(spec.FileConsume("jobs", "no acks", no_ack=True))
    ends.move()
    ends.served.call(spec.FileQosOk())
    ends.move()
    ends.served.call(spec.FileDeliver("t", 1))
    ends.served.call(spec.FileDeliver("t", 2))
    ends.served.call(spec.FileDeliver("no acks", 3))
    with pytest.raises(LocalProtocolError, match="prefetch-count") as caught:
        ends.served.call(spec.FileDeliver("t", 4))
    assert caught.value.rule == "0-10/file.qos/ceiling"
    ends.move()
    ends.session.call(spec.FileAck(1))
    ends.move()
    ends.served.call(spec.FileDeliver("t", 4))
    ends.forced(ends.served, spec.FileDeliver("t", 5))
    error = ends.failure(ends.client)
    assert (error.code, error.rule) == (530, "0-10/file.qos/ceiling")


@pytest.mark.rule("0-10/file.ack/validation -> (no code)", "0-10/file.ack/session-local")
@pytest.mark.rule("0-10/file.reject/session-local")
@pytest.mark.parametrize(
    "command",
    [spec.FileAck(7), spec.FileAck(7, multiple=True), spec.FileAck(0), spec.FileReject(7), spec.FileReject(0)],
)
def test_only_what_this_session_delivered_is_acknowledged(ends: Ends, command: Any) -> None:
    other = ends.client.open_session("other")
    for session in (ends.session, other):
        session.call(spec.FileConsume("jobs", "t"))
    ends.move()
    ends.served.call(spec.FileDeliver("t", 1))
    ends.server.session(1).call(spec.FileDeliver("t", 7))
    ends.move()
    with pytest.raises(LocalProtocolError):
        ends.session.call(command)
    ends.forced(ends.session, command)
    assert ends.failure(ends.server).code == 542
    # The other session, which has that tag, isn't concerned.
    other.call(spec.FileAck(7))
    ends.move()
    assert ends.commands(ends.server)[-1] == spec.FileAck(7)


@pytest.mark.rule("0-10/stream.deliver/session-local")
def test_streams_of_two_sessions_may_have_the_same_delivery_tag(ends: Ends) -> None:
    ends.client.open_session("other")
    ends.move()
    for channel in (0, 1):
        ends.server.session(channel).call(spec.StreamDeliver("s", 1, queue="jobs"))
    ends.move()
    told = [event for event in ends.told[ends.client] if isinstance(event, amqp.CommandReceived)]
    assert [(event.channel, event.command) for event in told] == [
        (0, spec.StreamDeliver("s", 1, queue="jobs")),
        (1, spec.StreamDeliver("s", 1, queue="jobs")),
    ]


def test_what_is_under_way_when_a_consumer_is_cancelled_is_acknowledged(ends: Ends) -> None:
    ends.session.call(spec.FileConsume("jobs", "t"))
    ends.move()
    ends.served.call(spec.FileDeliver("t", 1))
    ends.session.call(spec.FileCancel("t"))
    ends.move()
    ends.session.call(spec.FileAck(1))
    ends.move()
    assert ends.commands(ends.server)[-1] == spec.FileAck(1)


def test_several_files_are_acknowledged_at_once(ends: Ends) -> None:
    ends.session.call(spec.FileConsume("jobs", "t"))
    ends.move()
    for tag in (1, 2, 3, 4):
        ends.served.call(spec.FileDeliver("t", tag))
    ends.move()
    ends.session.call(spec.FileAck(2, multiple=True))
    with pytest.raises(LocalProtocolError):
        ends.session.call(spec.FileAck(1))
    ends.session.call(spec.FileReject(3, requeue=True))
    ends.session.call(spec.FileAck(0, multiple=True))
    ends.session.call(spec.FileAck(0, multiple=True))
    ends.move()
    assert not [event for event in ends.told[ends.server] if isinstance(event, (Failed, Closed))]


@pytest.mark.rule("0-10/file.open/content-size", "0-10/file.open-ok/behavior")
@pytest.mark.parametrize(("size", "already", "body"), [(5, 0, b"hell"), (5, 2, b"hello"), (0, 0, b"x")])
def test_a_file_has_the_size_it_was_opened_with(ends: Ends, size: int, already: int, body: bytes) -> None:
    with pytest.raises(LocalProtocolError, match=r"before file\.open-ok"):
        ends.session.call(spec.FileStage(), staged(b""))
    ends.session.call(spec.FileOpen("a", size))
    ends.move()
    ends.served.call(spec.FileOpenOk(already))
    ends.move()
    with pytest.raises(LocalProtocolError) as caught:
        ends.session.call(spec.FileStage(), staged(body))
    assert caught.value.rule == "0-10/file.open/content-size"
    ends.forced(ends.session, spec.FileStage(), staged(body))
    assert ends.failure(ends.server).code == 542


def test_an_empty_file_is_staged(ends: Ends) -> None:
    ends.session.call(spec.FileOpen("a", 0))
    ends.move()
    ends.served.call(spec.FileOpenOk(0))
    ends.move()
    ends.session.call(spec.FileStage(), staged(b""))
    ends.move()
    assert ends.commands(ends.server)[-1] == spec.FileStage()


def test_more_is_staged_already_than_there_is(ends: Ends) -> None:
    ends.session.call(spec.FileOpen("a", 5))
    ends.move()
    with pytest.raises(LocalProtocolError):
        ends.served.call(spec.FileOpenOk(6))
    ends.forced(ends.served, spec.FileOpenOk(6))
    assert ends.failure(ends.client).code == 531


def test_the_books_have_a_limit() -> None:
    rules = FileRules(2)
    rules.step(Side.CLIENT, spec.FileConsume("q", "a"), 0)
    rules.step(Side.CLIENT, spec.FileConsume("q", "b"), 0)
    rules.step(Side.SERVER, spec.FileDeliver("a", 1), 0)
    rules.step(Side.SERVER, spec.FileDeliver("a", 2), 0)
    rules.step(Side.CLIENT, spec.FileOpen("a", 1), 0)
    rules.step(Side.CLIENT, spec.FileOpen("b", 1), 0)
    for by, command in (
        (Side.CLIENT, spec.FileConsume("q", "c")),
        (Side.SERVER, spec.FileDeliver("a", 3)),
        (Side.CLIENT, spec.FileOpen("c", 1)),
    ):
        with pytest.raises(Violation, match="allows no more") as caught:
            rules.step(by, command, 0)
        assert caught.value.code == 506
