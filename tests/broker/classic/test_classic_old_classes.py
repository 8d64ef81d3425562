"""The broker's side of the classes that only 0-8 has: access, file, stream, dtx, tunnel and test."""

from typing import Any

import pytest

from amqp_sansio import Closed
from amqp_sansio.amqp_0_8 import spec
from amqp_sansio.amqp_0_8.spec import FileProperties, StreamProperties, TunnelProperties
from amqp_sansio.amqp_0_9_1 import MethodReceived, Request
from amqp_sansio.broker.snapshot import dumps, loads
from tests.kit.hub_classic import Talk, World

OLD = pytest.mark.parametrize("dialect", ["0-8", "0-8-rabbit"])


class FileTalk(Talk):
    """A channel whose client stages files, and takes those that the broker stages."""

    def __init__(self, world: World, offset: int = 0) -> None:
        user = world.client()
        number = user.end.open_channel().number
        world.pump()
        super().__init__(user, number)
        self.offset = offset
        self.taken: dict[str, bytes] = {}
        self.files: list[tuple[str, int, bool, bytes, Any]] = []
        self.stages: list[tuple[str, Any]] = []
        user.applications.append(self.answer)

    def answer(self, event: Any) -> None:
        """Take a file that the broker opens, from `offset` on, and note what is delivered of it."""
        if isinstance(event, Request) and event.method.NAME == "file.open":
            request: Any = event.method
            offset = min(self.offset, request.content_size)
            handle = self.core.call(self.make("file.open-ok", staged_size=offset))
            self.stages.append((request.identifier, handle))
        elif isinstance(event, MethodReceived) and event.method.NAME == "file.deliver":
            method: Any = event.method
            found = dict(self.stages)[method.identifier].result
            self.files.append(
                (method.consumer_tag, method.delivery_tag, method.redelivered, found.body, found.properties)
            )

    def stage(self, body: bytes, identifier: str = "id", properties: FileProperties | None = None) -> None:
        """Stage a file."""
        ok = self.call("file.open", identifier=identifier, content_size=len(body))
        assert ok.staged_size == 0
        self.core.reply(self.make("file.stage"), properties or FileProperties(), body)
        self.world.pump()

    def publish_file(
        self, body: bytes, routing_key: str, properties: FileProperties | None = None, **fields: Any
    ) -> None:
        self.stage(body, properties=properties)
        self.send("file.publish", routing_key=routing_key, identifier="id", **fields)

    def bodies_of_files(self) -> list[bytes]:
        """What was delivered since the last time."""
        files, self.files = self.files, []
        return [each[3] for each in files]


# Files.


@OLD
@pytest.mark.rule(
    "0-8/file/grammar",
    "0-8/file/storage",
    "0-8/file.publish/staged-first",
    "0-8/file.publish/blank-default",
    "0-8/file.open/content-size",
    "0-8/file.open-ok/staging",
)
@pytest.mark.parametrize("size", [0, 1, 1000, 300_000])
def test_a_file_goes_through(world: World, size: int) -> None:
    channel, reader = FileTalk(world), FileTalk(world)
    channel.declare("q")
    properties = FileProperties(filename="name.txt", content_type="text/plain", headers={"a": "b"}, priority=3)
    channel.publish_file(bytes(size), "q", properties)
    assert reader.count("q") == 1
    assert reader.call("file.consume", queue="q", consumer_tag="c").consumer_tag == "c"
    ((tag, number, redelivered, body, got),) = reader.files
    assert (tag, number, redelivered, body) == ("c", 1, False, bytes(size))
    assert got == properties
    reader.send("file.ack", delivery_tag=1)
    assert world.hub.model.vhosts["/"].queues["q"].messages == 0


@OLD
@pytest.mark.rule("0-8/file.open-ok/offset", "0-8/file.open/stable-identifier")
def test_a_client_that_has_a_part_gets_the_rest(world: World) -> None:
    channel, reader = FileTalk(world), FileTalk(world, offset=4)
    channel.declare("q")
    reader.call("file.consume", queue="q")
    channel.publish_file(b"0123456789", "q")
    channel.publish_file(b"01", "q")
    assert reader.bodies_of_files() == [b"456789", b""]


@OLD
@pytest.mark.rule("0-8/file/ack-modes", "0-8/file.reject/not-same-client", "0-8/file.reject/means-unable")
@pytest.mark.rule("0-8/file.deliver/poison")
def test_files_are_settled(world: World, dialect: str) -> None:
    channel, other = FileTalk(world), FileTalk(world)
    channel.declare("q", arguments={"x-queue-type": "quorum", "x-delivery-limit": 20} if dialect != "0-8" else {})
    channel.call("file.consume", queue="q", consumer_tag="c")
    for body in (b"1", b"2", b"3", b"4"):
        channel.publish_file(body, "q")
    assert channel.bodies_of_files() == [b"1", b"2", b"3", b"4"]
    channel.send("file.ack", delivery_tag=2, multiple=True)
    other.call("file.consume", queue="q", consumer_tag="c")
    channel.send("file.reject", delivery_tag=3, requeue=True)
    channel.send("file.reject", delivery_tag=4)
    found = [(each[3], each[2]) for each in (*channel.files, *other.files)]
    assert found == [(b"3", True)]
    if dialect == "0-8":
        assert len(other.files) == 1
    free = FileTalk(world)
    free.declare("free")
    free.call("file.consume", queue="free", no_ack=True)
    free.publish_file(b"x", "free")
    assert free.bodies_of_files() == [b"x"]
    assert world.hub.model.vhosts["/"].queues["free"].messages == 0


@pytest.mark.rule("0-8/file/priority-2", "0-8/file.qos/window-ceiling", "0-8/file.consume/min-16")
@OLD
def test_windows_and_priorities_of_files(world: World) -> None:
    channel = FileTalk(world)
    channel.declare("q")
    for priority in (0, 9, 4, 5):
        channel.publish_file(b"%d" % priority, "q", FileProperties(priority=priority))
    assert channel.call("file.qos", prefetch_count=2) is not None
    for _ in range(16):
        assert channel.call("file.consume", queue="q") is not None
    assert channel.bodies_of_files() == [b"9", b"5"]
    channel.send("file.ack", delivery_tag=1)
    assert channel.bodies_of_files() == [b"0"]


@OLD
@pytest.mark.rule("0-8/file.publish/mandatory", "0-8/file.publish/immediate", "0-8/file.publish/internal")
def test_files_that_nobody_gets_come_back(dialect: str) -> None:
    channel = FileTalk(World(dialect))
    channel.declare("q")
    properties = FileProperties(filename="f")
    channel.publish_file(b"m", "absent", properties, mandatory=True)
    channel.publish_file(b"i", "q", properties, immediate=True)
    returned: list[Any] = channel.contents()
    assert [(each.method.reply_code, each.body, each.properties.filename) for each in returned] == [
        (312, b"m", "f"),
        (313, b"i", "f"),
    ]
    channel.call("exchange.declare", exchange="e", type="fanout", internal=True)
    channel.publish_file(b"x", "", exchange="e")
    assert channel.error[:2] == ("channel", 403)


@OLD
def test_only_what_was_staged_is_published(dialect: str) -> None:
    channel = FileTalk(World(dialect))
    channel.send("file.publish", identifier="never")
    assert channel.error == ("channel", 404, "NOT_FOUND - no file 'never' is staged on channel 1")


@OLD
@pytest.mark.rule("0-8/file.consume/exclusive-busy", "0-8/stream.consume/exclusive-busy")
@pytest.mark.parametrize("name", ["file.consume", "stream.consume"])
def test_an_exclusive_consumer_of_files_is_alone(world: World, dialect: str, name: str) -> None:
    channel, other = world.channel(), world.channel()
    channel.declare("q")
    channel.call(name, queue="q")
    other.call(name, queue="q", exclusive=True)
    assert other.error[:2] == ("channel", 405 if dialect == "0-8" else 403)


@OLD
@pytest.mark.rule("0-8/file.consume/no-current-queue", "0-8/stream.consume/no-current-queue")
@pytest.mark.parametrize("name", ["file.consume", "stream.consume"])
def test_consuming_without_a_queue(channel: Talk, name: str) -> None:
    channel.core.declared = True
    channel.call(name)
    assert channel.error[:2] == ("connection", 530)


@OLD
def test_a_file_consumer_that_was_cancelled_on_the_way(world: World, channel: Talk) -> None:
    channel.declare("q")
    channel.call("file.consume", queue="q", consumer_tag="c")
    staging = FileTalk(world)
    staging.publish_file(b"x", "q")
    (opened,) = channel.requests()
    assert opened.NAME == "file.open"
    channel.call("file.cancel", consumer_tag="c")
    channel.core.call(channel.make("file.open-ok", staged_size=0))
    world.pump()
    assert channel.methods() == []
    assert channel.count("q") == 1


# Streams.


@OLD
@pytest.mark.rule(
    "0-8/stream/grammar",
    "0-8/stream/auto-ack",
    "0-8/stream.publish/blank-default",
    "0-8/stream.deliver/queue-notnull",
    "0-8/stream.qos/may-ignore",
    "0-8/stream.consume/min-16",
    "0-8/stream/priority-2",
)
def test_streams_go_through_and_need_no_acknowledgement(world: World, channel: Talk) -> None:
    channel.declare("q")
    for priority in (0, 9, 4):
        channel.send("stream.publish", StreamProperties(priority=priority), b"%d" % priority, routing_key="q")
    assert channel.call("stream.qos", prefetch_count=1, consume_rate=100) is not None
    tags = [channel.call("stream.consume", queue="q").consumer_tag for _ in range(16)]
    received: list[Any] = channel.contents()
    assert [each.body for each in received] == [b"9", b"0", b"4"]
    assert {each.method.consumer_tag for each in received} <= set(tags)
    assert [(each.method.queue, each.properties.priority) for each in received] == [("q", 9), ("q", 0), ("q", 4)]
    assert [each.method.delivery_tag for each in received] == [1, 2, 3]
    assert world.hub.model.vhosts["/"].queues["q"].messages == 0


@OLD
@pytest.mark.rule("0-8/stream.publish/mandatory", "0-8/stream.publish/immediate", "0-8/stream.publish/internal")
def test_streams_that_nobody_gets_come_back(channel: Talk) -> None:
    channel.declare("q")
    channel.send("stream.publish", StreamProperties(timestamp=5), b"m", routing_key="absent", mandatory=True)
    channel.send("stream.publish", StreamProperties(timestamp=5), b"i", routing_key="q", immediate=True)
    returned: list[Any] = channel.contents()
    assert [(each.method.NAME, each.method.reply_code, each.body, each.properties.timestamp) for each in returned] == [
        ("stream.return", 312, b"m", 5),
        ("stream.return", 313, b"i", 5),
    ]
    channel.call("exchange.declare", exchange="e", type="fanout", internal=True)
    channel.send("stream.publish", StreamProperties(), b"x", exchange="e")
    assert channel.error[:2] == ("channel", 403)


# All of them in one queue.


@OLD
@pytest.mark.rule("0-8/queue/any-content")
def test_a_queue_has_content_of_every_class_and_each_is_fetched_by_its_own_methods(world: World) -> None:
    channel = FileTalk(world)
    channel.declare("q")
    channel.publish_file(b"file 1", "q")
    channel.send("stream.publish", StreamProperties(), b"stream 1", routing_key="q")
    channel.publish(b"basic 1", "q")
    channel.publish(b"basic 2", "q")
    channel.publish_file(b"file 2", "q")
    assert channel.count("q") == 5
    assert channel.get("q").body == b"basic 1"
    assert channel.get("q", no_ack=True).body == b"basic 2"
    assert channel.get("q") is None
    channel.release(1)
    channel.consume("q", "b")
    assert channel.bodies() == [b"basic 1"]
    channel.call("stream.consume", queue="q", consumer_tag="s")
    assert [each.body for each in channel.contents()] == [b"stream 1"]
    channel.call("file.consume", queue="q", consumer_tag="f")
    assert channel.bodies_of_files() == [b"file 1", b"file 2"]


def test_files_die_as_files() -> None:
    world = World("0-8-rabbit")
    channel = FileTalk(world)
    channel.declare("q", arguments={"x-dead-letter-exchange": "", "x-dead-letter-routing-key": "dead"})
    channel.declare("dead")
    channel.publish_file(b"x", "q", FileProperties(filename="f", headers={"a": 1}))
    channel.call("file.consume", queue="q")
    channel.send("file.reject", delivery_tag=1)
    channel.files.clear()
    copy: World = loads(dumps(world))
    for each in (world, copy):
        reader = FileTalk(each)
        reader.call("file.consume", queue="dead")
        ((_, _, _, body, properties),) = reader.files
        assert (body, properties.filename, properties.headers["a"]) == (b"x", "f", 1)
        assert properties.headers["x-death"][0]["reason"] == "rejected"


# Access.


@pytest.mark.rule("0-8/access/grammar", "0-8/access.request/data-realm", "0-8/access.request/unknown-realm")
def test_tickets_for_realms() -> None:
    world = World("0-8")
    channel = world.channel()
    assert channel.ticket == 1
    assert channel.call("access.request", realm="/data", read=True).ticket == 2
    channel.call("access.request", realm="/data/absent", read=True)
    assert channel.error[:2] == ("channel", 402)


@pytest.mark.rule("0-8/access.request/exclusive-busy")
def test_a_realm_is_somebodys_alone() -> None:
    world = World("0-8")
    first, second = world.channel(), world.client()
    first.call("access.request", realm="/data", exclusive=True, read=True)
    number = second.end.open_channel().number
    world.pump()
    waiting = second.end.channel(number)
    waiting.call(second.make("access.request", realm="/data", read=True))
    world.pump()
    (closed,) = second.take(Closed)
    assert (closed.channel, closed.report.code) == (1, 405)
    first.close()
    assert second.channel().ticket == 1


def test_rabbit_grants_every_ticket() -> None:
    for dialect in ("0-8-rabbit", "0-9-1-rabbit"):
        channel = World(dialect).channel()
        assert channel.call("access.request", realm="/anything").ticket == 1


# Distributed transactions.


@OLD
@pytest.mark.rule("0-8/dtx/grammar", "0-8/dtx.select/required", "0-8/dtx.start/first", "0-8/dtx.start/fail")
def test_work_of_a_distributed_transaction_waits_for_its_end(world: World) -> None:
    channel, other = world.channel(), world.channel()
    channel.declare("q")
    assert channel.call("dtx.select") is not None
    assert channel.call("dtx.start", dtx_identifier="one") is not None
    channel.publish(b"x", "q")
    assert other.count("q") == 0
    channel.call("dtx.start", dtx_identifier="two")
    assert channel.error[:2] == ("channel", 405)
    assert other.count("q") == 0


def test_a_recover_in_a_transaction_of_rabbits_0_8() -> None:
    """The specification's own dialect refuses that."""
    channel = World("0-8-rabbit").channel()
    channel.declare("q")
    channel.consume("q")
    channel.publish(b"x", "q")
    channel.deliveries()
    channel.call("tx.select")
    channel.send("basic.recover", requeue=True)
    assert [each.redelivered for each in channel.deliveries()] == [True]


# Tunnel and test.


@OLD
@pytest.mark.rule("0-8/tunnel/grammar", "0-8/tunnel.request/opaque")
def test_a_tunnelled_message_has_no_answer(channel: Talk) -> None:
    channel.send("tunnel.request", TunnelProperties(data_name="x"), b"anything", meta_data={"a": 1})
    assert channel.contents() == []
    assert channel.declare("q") == "q"


@OLD
@pytest.mark.rule("0-8/test/grammar", "0-8/test.integer/op-enum", "0-8/test.string/op-enum", "0-8/test.content/echo")
@pytest.mark.rule("0-8/test.table/integer-op-enum", "0-8/test.table/string-op-enum")
@pytest.mark.parametrize(
    ("operation", "integer", "text"), [(0, 60, b"abcd"), (1, 3, b"ab"), (2, 40, b"cd")], ids=["add", "min", "max"]
)
def test_the_class_that_tests(channel: Talk, operation: int, integer: int, text: bytes) -> None:
    numbers = {"integer_1": 3, "integer_2": 7, "integer_3": 10, "integer_4": 40}
    assert channel.call("test.integer", **numbers, operation=operation).result == integer
    assert channel.call("test.string", string_1="ab", string_2=b"cd", operation=operation).result == text
    table = {"a": 3, "b": "ab", "c": 40, "d": "cd", "e": 17}
    reply = channel.call("test.table", table=table, integer_op=operation, string_op=operation)
    assert (reply.integer_result, reply.string_result) == (integer, text)
    empty = channel.call("test.table", table={}, integer_op=operation, string_op=operation)
    assert (empty.integer_result, empty.string_result) == (0, b"")
    echo: Any = channel.call("test.content", spec.TestProperties(), b"\1\2\xff")
    assert (echo.body, echo.method.content_checksum) == (b"\1\2\xff", 258)
