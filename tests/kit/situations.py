"""Situations of public reports, each as a small program against the broker of a recorded world, or as a conversation
with a peer that the broker can't be; `SITUATIONS` says what the first finding about each has to be.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterable, Sequence
from contextlib import suppress
from typing import Any, Final, Literal, NamedTuple

from amqp_sansio import AmqpError
from amqp_sansio import amqp_1_0 as amqp
from amqp_sansio.amqp_0_9_1.spec import BasicCancel, BasicConsume, BasicGet, BasicQos, QueueDeclare
from amqp_sansio.amqp_1_0 import spec
from amqp_sansio.broker import Settings
from amqp_sansio.capture import PcapngWriter, Segment, read_segments
from amqp_sansio.messaging import Message
from amqp_sansio.testing.simulate import Process
from amqp_sansio.testing.simulate.network import Line
from tests.kit.observing import Conversation, Talk
from tests.kit.recorded_world import START, RecordedWorld
from tests.kit.talk_1_0 import HELLO, Talk10, begin, credit, settle, transfer
from tests.kit.tcp import CLIENT, SERVER, Wire
from tests.kit.tcp import RST as RST
from tests.kit.tcp import SYN as SYN

Program = Callable[[Process], Coroutine[Any, Any, None]]
Recording = Callable[[], list[Segment]]
_ACK: Final = 16
_SECOND: Final = 1_000_000_000


class Situation(NamedTuple):
    """What happened, and what the first finding says: its text begins so, and its details contain these words."""

    name: str
    record: Recording
    text: str
    words: Sequence[str]


def world(*programs: Program, seconds: float = 30, prepare: Callable[[RecordedWorld], None] | None = None) -> Recording:
    """Programs at a broker, for a time; `prepare` is called with their world first."""

    def record() -> list[Segment]:
        made = RecordedWorld(settings=Settings(seed=b"broker", heartbeat=5, vhosts=("/",)))
        with made:
            if prepare is not None:
                prepare(made)
            for program in programs:
                made.start(program, restarts=False)
            made.pass_time(seconds)
        return made.segments()

    return record


class _Raw:
    """A client that says what it's told to, and reads nothing."""

    room = 1 << 20

    def __init__(self) -> None:
        self.line: Line | None = None

    def receive(self, octets: bytes) -> None:
        """Drop what the broker says."""

    def writable(self) -> None:
        """Nothing waits."""

    def ended(self, reason: str, *, is_reset: bool) -> None:
        """End this side too, as a socket of a program that ends."""
        if self.line is not None:
            self.line.up.finish("closed", is_reset=is_reset)


def raw(*octets: bytes, leaves: bool = False, seconds: float = 30) -> Recording:
    """A client that writes octets, in the pieces given, a tenth of a second apart; with `leaves` it then ends TCP."""

    def record() -> list[Segment]:
        made = RecordedWorld(settings=Settings(seed=b"broker", heartbeat=5, users={"ann": "pw"}))
        with made:
            end = _Raw()
            end.line = made.open_line("broker", 5672, end, "10.0.0.1")
            for piece in octets:
                end.line.up.send(piece)
                made.pass_time(0.1)
            if leaves:
                end.line.up.finish("the program ended")
            made.pass_time(seconds)
        return made.segments()

    return record


def scripted(talk: Conversation, by: Literal["client", "server"] | None = "client", *, after: float = 0.1) -> Recording:
    """A conversation, each of whose arrivals comes a tenth of a second behind the last; after a time a side leaves."""

    def record() -> list[Segment]:
        writer = PcapngWriter()
        pieces = [writer.header()]
        number, octets = writer.open("10.0.0.1:40000", "10.0.0.2:5672", START)
        pieces.append(octets)
        at_ns = START
        for sender, what in talk.arrivals:
            assert isinstance(what, bytes)
            at_ns += _SECOND // 10
            pieces.append(writer.data(number, "client" if sender == "client" else "server", what, at_ns))
        pieces.append(writer.close(number, by, at_ns + round(after * _SECOND)))
        return [each for each in read_segments(b"".join(pieces), file="f") if isinstance(each, Segment)]

    return record


def spoken(*said: tuple[str, bytes], by: Literal["client", "server"] = "server") -> Recording:
    """Octets of both sides, of any kind."""

    def record() -> list[Segment]:
        writer = PcapngWriter()
        number, octets = writer.open("10.0.0.1:40000", "10.0.0.2:5672", START)
        pieces = [writer.header(), octets]
        for place, (sender, what) in enumerate(said, 1):
            side: Literal["client", "server"] = "client" if sender == "client" else "server"
            pieces.append(writer.data(number, side, what, START + place * _SECOND))
        pieces.append(writer.close(number, by, START + (len(said) + 1) * _SECOND))
        return [each for each in read_segments(b"".join(pieces), file="f") if isinstance(each, Segment)]

    return record


# Of 0-9-1.


def sent_by_client(talk: Conversation) -> list[bytes]:
    """What the client of a conversation says, to be said to a broker."""
    return [what for sender, what in talk.arrivals if sender == "client" and isinstance(what, bytes)]


def stuck(prefetch: int, seconds: float | None) -> Program:
    """A consumer that takes so long for each delivery, None: it settles none."""

    async def run(process: Process) -> None:
        async with (
            process.connect(connection_name="worker-7", heartbeat=0) as connection,
            connection.open_channel() as channel,
        ):
            await channel.call(QueueDeclare(queue="jobs", durable=True))
            for number in range(40):
                await channel.publish(b"%d" % number, routing_key="jobs")
            async with channel.consume("jobs", prefetch=prefetch) as consumer:
                for _ in range(20):
                    if seconds is None:
                        await process.sleep(1)
                        continue
                    delivery = await anext(consumer)
                    await process.sleep(seconds)
                    await delivery.accept()

    return run


async def poison(process: Process) -> None:
    async with (
        process.connect(connection_name="parser", heartbeat=0) as connection,
        connection.open_channel() as channel,
    ):
        await channel.call(QueueDeclare(queue="jobs", durable=True))
        await channel.publish(b"poison", routing_key="jobs")
        async with channel.consume("jobs") as consumer:
            async for delivery in consumer:
                await process.sleep(0.5)
                await delivery.release()


async def takes_and_dies(process: Process) -> None:
    for _ in range(5):
        connection = await process.connect(connection_name="worker-7", heartbeat=0)
        channel = await connection.open_channel()
        await channel.call(QueueDeclare(queue="jobs", durable=True))
        if not process.now:
            for number in range(10):
                await channel.publish(b"%d" % number, routing_key="jobs")
        await channel.call(BasicConsume(queue="jobs"))
        await process.sleep(1)
        await connection.close()


def fails(*calls: Callable[[Any], Coroutine[Any, Any, Any]], name: str = "worker-7", after: float = 0) -> Program:
    """A program whose last call fails, and which then goes on for a while."""

    async def run(process: Process) -> None:
        await process.sleep(after)
        async with process.connect(connection_name=name, heartbeat=0) as connection:
            channel = await connection.open_channel()
            with suppress(AmqpError):
                for call in calls:
                    await call(channel)
            await process.sleep(1)

    return run


def declares(queue: str, **fields: Any) -> Callable[[Any], Coroutine[Any, Any, Any]]:
    async def call(channel: Any) -> None:
        await channel.call(QueueDeclare(queue=queue, **fields))

    return call


async def leaks(process: Process) -> None:
    async with process.connect(connection_name="web", heartbeat=0) as connection:
        for _ in range(120):
            channel = await connection.open_channel()
            await channel.publish(b"x", exchange="amq.fanout")
        await process.sleep(100)


async def all_channels(process: Process) -> None:
    async with process.connect(connection_name="web", heartbeat=0, channel_max=10) as connection:
        for _ in range(10):
            await connection.open_channel()
        await process.sleep(5)


async def opens_and_closes_channels(process: Process) -> None:
    async with process.connect(connection_name="web", heartbeat=0) as connection:
        for _ in range(80):
            async with connection.open_channel() as channel:
                await channel.publish(b"x", exchange="amq.fanout")


async def opens_and_closes(process: Process) -> None:
    for _ in range(40):
        async with (
            process.connect(connection_name="churner", heartbeat=0) as connection,
            connection.open_channel() as channel,
        ):
            await channel.publish(b"x", exchange="amq.fanout")
        await process.sleep(0.1)


async def polls(process: Process) -> None:
    async with (
        process.connect(connection_name="poller", heartbeat=0) as connection,
        connection.open_channel() as channel,
    ):
        await channel.call(QueueDeclare(queue="jobs", durable=True))
        for _ in range(60):
            await channel.call(BasicGet(queue="jobs", no_ack=True))
            await process.sleep(0.1)


def publishes(
    routing_key: str, count: int = 20, *, mandatory: bool = False, confirm: bool = False, **arguments: Any
) -> Program:
    """A program that publishes, to a queue declared with these arguments if there are any."""

    async def run(process: Process) -> None:
        async with (
            process.connect(connection_name="producer", heartbeat=0) as connection,
            connection.open_channel(confirm=confirm) as channel,
        ):
            if arguments:
                given = {name.replace("_", "-"): value for name, value in arguments.items()}
                await channel.declare_queue(routing_key, arguments=given, durable=True)
            for number in range(count):
                with suppress(AmqpError):
                    await channel.publish(b"%d" % number, routing_key=routing_key, mandatory=mandatory)
            await process.sleep(1)
            if arguments:
                while await channel.get(routing_key, no_ack=True) is not None:
                    pass

    return run


async def is_blocked(process: Process) -> None:
    connection = await process.connect(connection_name="publisher", heartbeat=0)
    channel = await connection.open_channel()
    await channel.publish(b"x", exchange="amq.fanout")
    await process.sleep(5)
    await connection.abort()


def blocks(made: RecordedWorld) -> None:
    node = made.nodes["broker"]
    node.hold_publishers("low on memory")


def consumes(name: str, queue: str, *, exclusive: bool = False, after: float = 0) -> Program:
    async def run(process: Process) -> None:
        await process.sleep(after)
        connection = await process.connect(connection_name=name, heartbeat=0)
        channel = await connection.open_channel()
        with suppress(AmqpError):
            await channel.call(QueueDeclare(queue=queue, durable=True))
            await channel.call(BasicConsume(queue=queue, exclusive=exclusive, consumer_tag="ct"))
        await process.sleep(20)
        with suppress(AmqpError):
            await connection.close()

    return run


async def deletes(process: Process) -> None:
    await process.sleep(2)
    async with (
        process.connect(connection_name="admin", heartbeat=0) as connection,
        connection.open_channel() as channel,
    ):
        await channel.delete_queue("jobs")


async def owns(process: Process) -> None:
    async with (
        process.connect(connection_name="first", heartbeat=0) as connection,
        connection.open_channel() as channel,
    ):
        await channel.call(QueueDeclare(queue="mine", exclusive=True))
        await process.sleep(10)


async def cancels_without_settling(process: Process) -> None:
    async with (
        process.connect(connection_name="worker-7", heartbeat=0) as connection,
        connection.open_channel() as channel,
    ):
        await channel.call(QueueDeclare(queue="jobs", durable=True))
        for number in range(4):
            await channel.publish(b"%d" % number, routing_key="jobs")
        await channel.call(BasicConsume(queue="jobs", consumer_tag="ct"))
        await process.sleep(1)
        await channel.call(BasicCancel("ct"))
        await process.sleep(1)


async def same_tags(process: Process) -> None:
    async with process.connect(connection_name="worker-7", heartbeat=0) as connection:
        channels = [await connection.open_channel() for _ in range(3)]
        await channels[0].call(QueueDeclare(queue="jobs", durable=True))
        for number in range(60):
            await channels[0].publish(b"%d" % number, routing_key="jobs")
        for channel, prefetch in zip(channels, (5, 10, 20), strict=True):
            await channel.call(BasicQos(prefetch_count=prefetch))
            await channel.call(BasicConsume(queue="jobs", consumer_tag="worker"))
        await process.sleep(10)


def cannot_log_in(url: str, **options: Any) -> Program:
    async def run(process: Process) -> None:
        with suppress(AmqpError, OSError):
            await process.connect(url, **options)

    return run


async def waits(process: Process) -> None:
    with suppress(AmqpError):
        async with process.connect(connection_name="worker-7", heartbeat=0) as connection:
            await connection.open_channel()
            await process.sleep(20)


def shuts_down(made: RecordedWorld) -> None:
    async def stop(process: Process) -> None:
        await process.sleep(3)
        made.hub().shut_down()
        made.nodes["broker"].turn_soon()

    made.start(stop, restarts=False)


def cuts(by: Literal["client", "server"]) -> Callable[[RecordedWorld], None]:
    """Something resets the connection, after some seconds."""

    def prepare(made: RecordedWorld) -> None:
        async def cut(process: Process) -> None:
            await process.sleep(3)
            (line,) = made.lines
            (line.up if by == "client" else line.down).finish("killed", is_reset=True)

        made.start(cut, restarts=False)

    return prepare


async def publishes_on(process: Process) -> None:
    with suppress(AmqpError):
        async with (
            process.connect(connection_name="producer", heartbeat=0) as connection,
            connection.open_channel() as channel,
        ):
            for number in range(100):
                await channel.publish(b"%d" % number, exchange="amq.fanout")
                await process.sleep(0.1)


def _acks(*methods: Callable[[Talk], bytes], no_ack: bool = False, channels: int = 1) -> Recording:
    """A client that settles what it must not, at a broker."""
    talk = Talk().login()
    for number in range(1, channels + 1):
        talk.channel(number)
    talk.client(talk.named("queue.declare", queue="jobs", durable=True), channel=1)
    talk.client(talk.publish(b"x", 1, routing_key="jobs"))
    talk.client(talk.named("basic.consume", queue="jobs", consumer_tag="ct", no_ack=no_ack), channel=1)
    for method in methods:
        talk.client(method(talk))
    return raw(*sent_by_client(talk), seconds=1, leaves=True)


def _ack(channel: int = 1) -> Callable[[Talk], bytes]:
    return lambda talk: talk.octets(talk.named("basic.ack", 1), channel)


def _closed_with(code: int, text: str, class_id: int = 0, method_id: int = 0) -> Recording:
    """A server that closes the channel, and a program that dies of it."""
    talk = Talk().login().channel()
    talk.server(talk.named("channel.close", code, text, class_id, method_id), channel=1)
    talk.client(talk.named("channel.close-ok"), channel=1)
    return scripted(talk)


def _behind() -> Recording:
    talk = Talk().login().channel()
    talk.client(talk.publish(b"x", exchange="ordres"))
    talk.server(talk.named("channel.close", 404, "NOT_FOUND - no exchange 'ordres' in vhost '/'", 60, 40), channel=1)
    for _ in range(5):
        talk.client(talk.publish(b"x", exchange="ordres"))
    talk.client(talk.named("channel.close-ok"), channel=1)
    return scripted(talk)


def _two_threads() -> Recording:
    talk = Talk().login().channel()
    publish = talk.octets(talk.named("basic.publish", routing_key="jobs"), 1)
    return raw(*sent_by_client(talk.client(publish + publish)), seconds=1)


def _silent() -> Recording:
    talk = Talk().login()
    tune = talk.octets(talk.named("connection.tune-ok", 2047, 131_072, 5))
    pieces = [tune if b"\x00\x0a\x00\x1f" in what[:12] else what for what in sent_by_client(talk)]
    return raw(*pieces, seconds=60)


def _attempts(*, refused: bool) -> Recording:
    def record() -> list[Segment]:
        wire = Wire()
        found = [wire.segment(CLIENT, seq=1000, flags=SYN)]
        if refused:
            return [*found, wire.segment(SERVER, seq=0, flags=RST | _ACK)]
        later = [wire.segment(CLIENT, seq=1000, flags=SYN, at_ns=each * _SECOND) for each in (1, 3, 7)]
        return found + later

    return record


# Of 1.0.


def talk_10() -> Talk10:
    """A connection with a session and a link on which the client sends."""
    return Talk10().open().session().sender("to-jobs", "jobs")


def closed(talk: Talk10) -> Talk10:
    """The same, closed in order."""
    return talk.client(spec.Close()).server(spec.Close())


def _error(condition: str, description: str) -> Any:
    return amqp.Error(amqp.Symbol(condition), description)


def _used_up() -> Talk10:
    talk = talk_10().server(credit(0, 3))
    for number in range(3):
        talk.client(transfer(number, HELLO)).server(settle(number, amqp.Accepted()))
    return talk


def _detached(condition: str, text: str) -> Talk10:
    talk = talk_10().server(credit(0, 10)).client(transfer(0, HELLO))
    return talk.server(spec.Detach(0, True, _error(condition, text))).client(spec.Detach(0, True))


def _ended() -> Talk10:
    talk = talk_10().server(credit(0, 10)).client(transfer(0, HELLO))
    return talk.server(spec.End(_error("amqp:session:window-violation", "too many transfers"))).client(spec.End())


def _window() -> Talk10:
    talk = Talk10().open()
    talk.client(spec.Begin(None, next_outgoing_id=0, incoming_window=2, outgoing_window=1000)).server(begin(0))
    talk.receiver("from-jobs", 0).client(spec.Flow(0, 2, 0, 1000, handle=0, delivery_count=0, link_credit=40))
    return talk.server(transfer(0, HELLO)).server(transfer(1, HELLO))


def _drain() -> Talk10:
    talk = Talk10().open().session().receiver("from-jobs", 0)
    return talk.client(spec.Flow(0, 1000, 0, 1000, handle=0, delivery_count=0, link_credit=10, drain=True))


def _aborted() -> Talk10:
    talk = talk_10().server(credit(0, 10))
    talk.client(transfer(0, b"\0Sw\xa1\xff" + b"z" * 30, more=True))
    return talk.client(transfer(None, b"", aborted=True))


def _rejected() -> Talk10:
    talk = talk_10().server(credit(0, 10))
    for number in range(5):
        talk.client(transfer(number, HELLO))
        talk.server(settle(number, amqp.Rejected(_error("app:bad-order", "no such customer"))))
    return talk


def _given_back(version: str) -> Program:
    async def run(process: Process) -> None:
        async with (
            process.messaging("amqp://broker/", version=version, connection_name="parser") as connection,
            connection.sender("/queues/jobs") as sender,
            connection.receiver("/queues/jobs", credit=1) as receiver,
        ):
            await sender.send(Message(b"job"))
            async for delivery in receiver:
                await process.sleep(1)
                await delivery.release()

    return run


async def receives_10(process: Process) -> None:
    with suppress(AmqpError):
        async with (
            process.messaging("amqp://broker/", version="1.0", connection_name="reader") as connection,
            connection.receiver("/queues/jobs", credit=1) as receiver,
        ):
            async for _ in receiver:
                pass


def _wrong_address(process: Process) -> Coroutine[Any, Any, None]:
    async def run() -> None:
        async with process.messaging("amqp://broker/", version="1.0", connection_name="shop") as connection:
            with suppress(AmqpError):
                async with connection.sender("/queues/no-such-queue"):
                    pass
            await process.sleep(1)

    return run()


def jobs(made: RecordedWorld) -> None:
    made.declare("jobs")


NO_ROOM: Final = "a consumer had no room for "
CHANNEL: Final = "channel.close of the server, 1 time"
OPENED: Final = sent_by_client(Talk().login().channel())
REFUSED: Final = "1 connection refused by the server"
LOST: Final = "1 connection lost: TCP ended without a close"
_WORLDS: Final[Iterable[Situation]] = (
    Situation("a consumer that settles nothing", world(stuck(5, None)), NO_ROOM, ["worker-7", "jobs", "prefetch of 5"]),
    Situation("a slow consumer", world(stuck(1, 1)), NO_ROOM, ["worker-7", "jobs", "prefetch of 1"]),
    Situation("the same tag on three channels", world(same_tags), NO_ROOM, ["worker-7", "consumer worker"]),
    Situation("a message that nobody can work on", world(poison), "a poison loop", ["parser", "queue jobs"]),
    Situation("a consumer that takes all and leaves", world(takes_and_dies), "a poison loop", ["worker-7", "jobs"]),
    Situation(
        "a consumer cancelled before it settled",
        world(cancels_without_settling),
        "4 deliveries nobody settled",
        ["worker-7", "ct: jobs, whose client cancelled the consumer before", "delivers them again"],
    ),
    Situation(
        "a queue declared anew with other arguments",
        world(fails(declares("jobs", durable=True), declares("jobs", durable=True, arguments={"x-max-length": 5}))),
        CHANNEL,
        ["worker-7", "inequivalent arg 'x-max-length' for queue 'jobs'", "compare them"],
    ),
    Situation(
        "a queue neither durable nor exclusive",
        world(fails(declares("jobs"))),
        "1 connection closed by the server with an error",
        ["worker-7", "transient_nonexcl_queues", "declare it durable"],
    ),
    Situation(
        "an exclusive consumer beside another",
        world(consumes("first", "jobs", exclusive=True), consumes("second", "jobs", exclusive=True, after=1)),
        CHANNEL,
        ["second", "queue 'jobs'", "in exclusive use"],
    ),
    Situation(
        "an exclusive queue of another connection",
        world(owns, fails(declares("mine", passive=True), name="second", after=1)),
        CHANNEL,
        ["second", "405", "another connection holds it exclusively"],
    ),
    Situation(
        "a queue deleted under its consumer",
        world(consumes("worker-7", "jobs"), deletes),
        "basic.cancel of the server, 1 time",
        ["worker-7", "consumer ct of jobs", "admin", "had deleted that queue"],
    ),
    Situation(
        "publishes that reach nobody",
        world(publishes("no-such-queue")),
        "20 publishes to a queue that nobody in the capture declares or reads",
        ["queue no-such-queue", "mandatory"],
    ),
    Situation(
        "mandatory publishes that reach nobody",
        world(publishes("no-such-queue", 3, mandatory=True)),
        "basic.return of the server, 3 times",
        ["producer", "no-such-queue", "NO_ROUTE"],
    ),
    Situation(
        "a queue that drops its oldest",
        world(publishes("jobs", 50, x_max_length=5)),
        "a queue dropped 45 messages",
        ["queue jobs", "x-max-length 5", "raise x-max-length"],
    ),
    Situation(
        "a full queue that rejects",
        world(publishes("jobs", 30, confirm=True, x_max_length=5, x_overflow="reject-publish")),
        "25 publishes rejected by the server",
        ["producer", "25 to jobs", "the queue was full"],
    ),
    Situation(
        "a publisher that the server blocks",
        world(is_blocked, prepare=blocks),
        "publishers blocked by the server, 1 time",
        ["publisher", "short of memory or disk"],
    ),
    Situation("channels that leak", world(leaks), "a connection has 120 channels open", ["web", "120 at once"]),
    Situation("all channels in use", world(all_channels), "a connection has 10 channels", ["web", "channel-max"]),
    Situation(
        "channels opened for each message",
        world(opens_and_closes_channels),
        "80 channels opened and closed on one connection",
        ["web", "open a channel once"],
    ),
    Situation(
        "connections opened for each message",
        world(opens_and_closes),
        "40 connections of one client that lived for",
        ["churner", "keep one connection open"],
    ),
    Situation(
        "polling", world(polls), "basic.get found no message, 60 times", ["poller", "queue jobs", "basic.consume"]
    ),
    Situation(
        "a wrong password",
        world(cannot_log_in("amqp://guest:nope@broker")),
        REFUSED,
        ["403 ACCESS_REFUSED", "password is wrong"],
    ),
    Situation(
        "a wrong virtual host", world(cannot_log_in("amqp://broker/prod")), REFUSED, ["530", "prod", "does not exist"]
    ),
    Situation(
        "a server that shuts down",
        world(waits, prepare=shuts_down),
        "1 connection closed by the server with an error",
        ["worker-7", "320", "shutting down"],
    ),
    Situation(
        "a server that is killed",
        world(publishes_on, prepare=cuts("server")),
        LOST,
        ["producer", "the server was killed"],
    ),
    Situation(
        "a proxy that cuts the connection",
        world(waits, prepare=cuts("client")),
        LOST,
        ["worker-7", "rst of the client", "a proxy or a firewall"],
    ),
    Situation(
        "1.0: a message that nobody can work on",
        world(_given_back("1.0"), prepare=jobs),
        "a poison loop",
        ["parser", "queue jobs"],
    ),
    Situation(
        "1.0: a queue deleted under its link",
        world(receives_10, deletes, prepare=jobs),
        "detach of the server, 1 time",
        ["reader", "amqp:resource-deleted", "jobs)", "admin", "had deleted that queue"],
    ),
    Situation(
        "1.0: an address that isn't there",
        world(_wrong_address, prepare=jobs),
        "detach of the server, 1 time",
        ["shop", "not-found", "no-such-queue"],
    ),
    Situation(
        "1.0: a wrong password",
        world(cannot_log_in("amqp://guest:nope@broker", version="1.0")),
        REFUSED,
        ["the credentials were refused", "password is wrong"],
    ),
)
_CLIENTS: Final[Iterable[Situation]] = (
    Situation("a delivery settled twice", _acks(_ack(), _ack()), CHANNEL, ["406", "it was settled before"]),
    Situation("a delivery of no-ack settled", _acks(_ack(), no_ack=True), CHANNEL, ["406", "(no-ack)"]),
    Situation(
        "a delivery settled on another channel",
        _acks(_ack(2), channels=2),
        CHANNEL,
        ["406", "one is open on channel 1", "on the channel of the delivery"],
    ),
    Situation(
        "two threads on one channel", _two_threads(), "1 connection closed by the server", ["505", "mixed on one"]
    ),
    Situation(
        "a client without heartbeats",
        _silent(),
        "1 connection lost to a heartbeat timeout",
        ["the client sent nothing", "5 s were agreed", "the server ended the connection by"],
    ),
    Situation("a client that crashes", raw(*OPENED, leaves=True, seconds=1), LOST, ["fin of the client"]),
    Situation(
        "a client that only looks",
        raw(*sent_by_client(Talk().login())[:1], leaves=True, seconds=1),
        LOST,
        ["the client left during the login"],
    ),
    Situation(
        "an oversized frame before the login",
        raw(*sent_by_client(Talk().login())[:1], b"\x01\0\0\x7f\xff\xff\xff" + b"x" * 100, seconds=1),
        LOST,
        ["the server hung up on the client, which broke a rule: frame of 2147483655 octets"],
    ),
    Situation("HTTP", raw(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", seconds=1), REFUSED, ["this is HTTP"]),
    Situation(
        "TLS on the plain port", raw(b"\x16\x03\x01\x02\0\x01\0\x01\xfc\x03\x03" + b"x" * 200), REFUSED, ["TLS records"]
    ),
    Situation("nobody listens", _attempts(refused=True), "1 connection not made", ["nobody listens there"]),
    Situation("nothing answers", _attempts(refused=False), "1 connection not made", ["a firewall drops the packets"]),
)
_SERVERS: Final[Iterable[Situation]] = (
    Situation(
        "a consumer timeout",
        _closed_with(406, "PRECONDITION_FAILED - delivery acknowledgement on channel 1 timed out"),
        CHANNEL,
        ["settle sooner"],
    ),
    Situation(
        "no permission",
        _closed_with(403, "ACCESS_REFUSED - access to queue 'np' in vhost '/' refused for user 'ro'", 50, 10),
        CHANNEL,
        ["queue 'np'", "in answer to queue.declare", "lacks the permission"],
    ),
    Situation("an exchange that isn't there", _behind(), CHANNEL, ["no exchange 'ordres'", "does not exist"]),
    Situation(
        "1.0: no credit", scripted(talk_10(), after=4), "a link had no credit for 4", ["to-jobs", "never granted"]
    ),
    Situation(
        "1.0: credit used up",
        scripted(_used_up(), after=4),
        "a link had no credit for 4",
        ["to-jobs to jobs", "used up"],
    ),
    Situation(
        "1.0: a deleted node",
        scripted(_detached("amqp:link:detach-forced", "the queue was deleted")),
        "detach of the server, 1 time",
        ["detach-forced the queue was deleted"],
    ),
    Situation(
        "1.0: a stolen link",
        scripted(_detached("amqp:link:stolen", "another link has this name")),
        "detach of the server, 1 time",
        ["stolen another link"],
    ),
    Situation("1.0: a session's end", scripted(_ended()), "end of the server, 1 time", ["window-violation"]),
    Situation(
        "1.0: a closed window",
        scripted(_window(), after=4),
        "a session's window was closed for 4",
        ["the client's incoming-window of 2", "reads too slowly"],
    ),
    Situation(
        "1.0: a drain without an answer",
        scripted(_drain(), after=4),
        "a drain that the other side didn't answer for 4",
        ["from-jobs", "has to answer drain"],
    ),
    Situation(
        "1.0: an aborted transfer", scripted(closed(_aborted())), "1 transfer aborted by the sender", ["gave it up"]
    ),
    Situation(
        "1.0: rejected with a reason",
        scripted(closed(_rejected())),
        "5 publishes rejected by the server",
        ["app:bad-order: no such customer"],
    ),
)
_HEADER: Final = ("client", b"AMQP\0\0\x09\x01")
_OTHERS: Final[Iterable[Situation]] = (
    Situation(
        "TLS to a server that hangs up on it",
        spoken(("client", b"\x16\x03\x01\x02\0\x01" + b"x" * 200)),
        "1 connection without AMQP that could be recognised",
        ["10.0.0.1:40000", "these are TLS records", "use amqps"],
    ),
    Situation(
        "a look at the port",
        spoken(by="client"),
        "1 connection without AMQP that could be recognised",
        ["10.0.0.1:40000", "only looked whether the port is open"],
    ),
    Situation(
        "AMQP to a port of TLS",
        spoken(_HEADER, ("server", b"\x15\x03\x03\0\x02\x02\x16")),
        LOST,
        ["of what the server sent: these are TLS records"],
    ),
    Situation(
        "AMQP to a port of HTTP",
        spoken(_HEADER, ("server", b"HTTP/1.1 400 Bad Request\r\n\r\n")),
        LOST,
        ["of what the server sent: this is HTTP"],
    ),
)
SITUATIONS: Final[Sequence[Situation]] = (*_WORLDS, *_CLIENTS, *_SERVERS, *_OTHERS)
