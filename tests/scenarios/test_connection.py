"""Connections of 0-9-1 and 0-8: opening, what the URL says, refusals, loss, closing."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from amqp_sansio import (
    AMQP_0_8,
    By,
    CloseReport,
    EndpointClosed,
    Event,
    LimitExceeded,
    LocalProtocolError,
    OpenRequested,
)
from amqp_sansio.amqp_0_8 import spec
from amqp_sansio.amqp_0_9_1 import Config, Published
from amqp_sansio.amqp_0_9_1.spec import QueueDeclare
from amqp_sansio.broker import Settings
from amqp_sansio.sasl import AmqPlain, Anonymous, Plain, ScramSha256
from amqp_sansio.versions import AMQP_0_9_1, AMQP_0_10, AMQP_1_0, Version
from tests.kit.scripted import Peer, ScriptedBroker, holding, is_method
from tests.kit.worlds import World


async def failure(world: World, url: str, **options: Any) -> EndpointClosed:
    """The error of connecting to a server that refuses."""
    with pytest.raises(EndpointClosed) as caught:
        await world.connect(url, **options)
    assert caught.value.report is not None
    return caught.value


async def test_a_context_opens_and_closes(world: World, broker: ScriptedBroker) -> None:
    async with world.connect(broker.url, heartbeat=20.0, channel_max=7, frame_max=8192) as connection:
        assert connection.is_open
        assert connection.report is None
        core = connection.core
        assert (core.heartbeat, core.channel_max, core.frame_max) == (20, 7, 8192)
        assert connection.peer_properties["product"] == "amqp_sansio"
        assert repr(connection) == f"<Connection to {broker.url.replace('guest@', '***@')}, open>"
    assert not connection.is_open
    assert connection.report == CloseReport(By.LOCAL, 200, "Normal shutdown")
    assert "closed by this side: 200" in repr(connection)
    await world.until(lambda: not broker.connections)


async def test_close_says_how_it_ended_and_may_be_called_again(world: World, broker: ScriptedBroker) -> None:
    connection = await world.connect(broker.url)
    events = connection.events()
    reports = await world.gather(connection.close(302, "going home"), connection.close(302, "going home"))
    report = reports[0]
    assert (report.by, report.code, report.text) == (By.LOCAL, 302, "going home")
    assert [reports[1], await connection.close(), await connection.wait_closed()] == [report] * 3
    for call in (connection.open_channel(), anext(events), anext(connection.events())):
        with pytest.raises(EndpointClosed, match="closed by this side: 302 going home") as caught:
            await call
        assert caught.value.report == report


async def test_the_options_of_the_url_count_and_those_of_the_call_win(world: World, broker: ScriptedBroker) -> None:
    broker.act(lambda: broker.service.add_vhost("a/b"))
    url = f"amqp://127.0.0.1:{broker.port}/a%2Fb?heartbeat=7&channel_max=9&frame_max=8192"
    async with world.connect(url) as connection:
        core = connection.core
        assert (core.heartbeat, core.channel_max, core.frame_max) == (7.0, 9, 8192)
        assert broker.peer.front.describe() == ("guest", "a/b")
    async with world.connect(url, vhost="/", heartbeat=3.0, properties={"product": "a test"}) as connection:
        assert connection.core.heartbeat == 3.0
        assert broker.peer.front.describe() == ("guest", "/")
        assert broker.peer.core.peer_properties["product"] == "a test"


async def test_the_options_of_0_10(world: World, broker: ScriptedBroker) -> None:
    broker.act(lambda: broker.service.add_vhost("orders"))
    url = f"amqp://127.0.0.1:{broker.port}/orders?heartbeat=30&frame_max=5000&channel_max=2"
    async with world.connect_0_10(url) as connection:
        core = connection.core
        assert (core.heartbeat, core.max_frame_size, core.channel_max) == (30, 5000, 2)
        assert core.mechanism == "SCRAM-SHA-256"
        assert broker.peer.front.describe() == ("guest", "orders")
        assert connection.known_hosts == (f"amqp:tcp:127.0.0.1:{broker.port}",)
        for _ in range(2):
            await connection.open_session()
        with pytest.raises(LimitExceeded, match="channels"):
            await connection.open_session()
    async with world.connect_0_10(
        broker.url, vhost="/", sasl=Plain("guest", "guest"), heartbeat=0, session_prefix="mine-"
    ) as connection:
        assert (connection.core.heartbeat, connection.core.mechanism) == (0, "PLAIN")
        assert (await connection.open_session()).name == b"mine-1"


async def test_the_options_of_1_0(world: World, broker: ScriptedBroker) -> None:
    broker.act(lambda: broker.service.add_vhost("jobs"))
    cases: list[tuple[str, dict[str, Any], str]] = [
        ("?heartbeat=7&frame_max=4096&channel_max=3", {"container_id": "me"}, "127.0.0.1"),
        ("%2F?heartbeat=0", {"sasl": Plain("guest", "guest")}, "127.0.0.1"),
        ("jobs", {"idle_time_out": 5.0}, "vhost:jobs"),
        ("", {"hostname": "vhost:jobs", "idle_time_out": 0.0}, "vhost:jobs"),
        ("", {"hostname": None}, ""),
    ]
    limits: list[tuple[float, int, int]] = []
    mechanisms: list[str] = []
    for path, options, hostname in cases:
        async with world.connect_1_0(f"amqp://guest:guest@127.0.0.1:{broker.port}/{path}", **options) as connection:
            assert broker.peer.of(OpenRequested)[0].vhost == hostname
            assert broker.peer.front.describe() == ("guest", "jobs" if "jobs" in hostname else "/")
            config = connection.core.config
            limits.append((config.idle_time_out, config.max_frame_size, config.channel_max))
            mechanisms.append(connection.core.mechanism)
    assert limits[0] == (14.0, 4096, 3)
    assert [each[0] for each in limits] == [14.0, 0.0, 5.0, 0.0, 60.0]
    assert mechanisms == ["SCRAM-SHA-256", "PLAIN", *["SCRAM-SHA-256"] * 3]
    with pytest.raises(EndpointClosed, match="none") as caught:
        await world.connect_1_0(broker.url + "none")
    assert caught.value.report is not None
    assert caught.value.report.condition == "amqp:not-found"


@pytest.mark.parametrize(
    ("version", "kind", "options"),
    [
        (AMQP_0_10, TypeError, {"container_id": "x"}),
        (AMQP_0_10, ValueError, {"max_frame_size": 100}),
        (AMQP_0_10, ValueError, {"sasl": ()}),
        (AMQP_0_10, EndpointClosed, {"sasl": Anonymous()}),
        (AMQP_1_0, TypeError, {"vhost": "x"}),
        (AMQP_1_0, ValueError, {"max_frame_size": 100}),
        (AMQP_1_0, EndpointClosed, {"sasl": Anonymous()}),
        (AMQP_1_0, EndpointClosed, {"sasl": None}),
    ],
)
async def test_options_that_can_not_be_meant(
    world: World, broker: ScriptedBroker, version: Version, kind: type[Exception], options: dict[str, Any]
) -> None:
    with pytest.raises(kind):
        await world.connect(broker.url, version, **options)


@pytest.mark.rule("0-10/connection.open/insist")
async def test_a_redirection_is_told(world: World, broker: ScriptedBroker) -> None:
    def redirect(peer: Peer, event: Event) -> bool:
        if isinstance(event, OpenRequested):
            peer.core.redirect("amqp:tcp:elsewhere:5672", ("amqp:tcp:third:5672",))
        return isinstance(event, OpenRequested)

    broker.script = redirect
    with pytest.raises(EndpointClosed, match="redirected to amqp:tcp:elsewhere:5672"):
        await world.connect_0_10(broker.url)


async def test_what_is_refused_is_told_with_the_servers_reason(world: World, broker: ScriptedBroker) -> None:
    error = await failure(world, broker.url.replace("guest:guest", "guest:wr0ng"))
    assert error.report is not None
    assert (error.report.by, error.report.code) == (By.REMOTE, 403)
    assert "ACCESS_REFUSED" in str(error)
    assert "password is wrong" in error.report.hint
    assert "wr0ng" not in str(error)
    # A server tells nothing to clients that don't announce the capability (0-9-1 section 2.2.4).
    error = await failure(world, broker.url.replace("guest:guest", "guest:wrong"), properties={"capabilities": {}})
    assert error.report is not None
    assert error.report.by is By.TRANSPORT
    assert "wrong user, password" in str(error)
    error = await failure(world, broker.url, vhost="nowhere")
    assert error.report is not None
    assert error.report.code == 530
    assert "nowhere" in str(error)

    def hang_up(peer: Peer, event: Event) -> bool:
        if isinstance(event, OpenRequested):
            peer.line.cut()
        return isinstance(event, OpenRequested)

    broker.script = hang_up
    assert "virtual host is missing or forbidden" in str(await failure(world, broker.url))


async def test_mechanisms(world: World) -> None:
    settings = Settings(versions=(AMQP_0_9_1,), configs={AMQP_0_9_1: Config(mechanisms=("SCRAM-SHA-256", "AMQPLAIN"))})
    nonces: list[str] = []
    with world.broker(settings=settings) as broker:
        assert "no SASL mechanism in common" in str(await failure(world, broker.url, sasl=Plain("guest", "guest")))
        for _ in range(2):
            async with world.connect(broker.url) as connection:
                assert connection.core.mechanism == "SCRAM-SHA-256"
                nonces.append(connection.core.config.sasl[0].nonce)
        async with world.connect(broker.url, sasl=AmqPlain("guest", "guest")) as connection:
            assert connection.core.mechanism == "AMQPLAIN"
        async with world.connect(f"{broker.url}?auth_mechanism=amqplain") as connection:
            assert connection.core.mechanism == "AMQPLAIN"
        for wrong in (ScramSha256("guest", "wrong"), ScramSha256("nobody", "guest")):
            report = (await failure(world, broker.url, sasl=wrong)).report
            assert report is not None
            assert report.code == 403
    assert len(set(nonces)) == 2
    assert all(len(nonce) >= 24 for nonce in nonces)


async def test_0_8_is_spoken_too(world: World, broker: ScriptedBroker) -> None:
    broker.fill("jobs")
    async with world.connect(broker.url, AMQP_0_8) as connection:
        assert connection.core.dialect.name.startswith("0-8")
        channel = await connection.open_channel()
        assert isinstance(await channel.call(spec.AccessRequest(realm="/data")), spec.AccessRequestOk)
        assert isinstance(await channel.call(spec.QueueDeclare(queue="q", durable=True)), spec.QueueDeclareOk)
        await channel.publish(b"one", routing_key="q")
        delivery = await channel.get("q")
        assert delivery is not None
        await delivery.release()
        async with channel.consume("q", prefetch=5) as deliveries:
            delivery = await anext(deliveries)
            assert (delivery.body, delivery.redelivered) == (b"one", True)
            await delivery.accept()
        with pytest.raises(LocalProtocolError, match="no confirms"):
            await connection.open_channel(confirm=True)
        assert len(connection.core.channels) == 1


async def test_a_server_of_another_version_is_named(world: World) -> None:
    settings = Settings(versions=(AMQP_0_9_1,))
    with world.broker(settings=settings) as broker:
        error = await failure(world, broker.url, version=AMQP_0_8)
        assert "refused 0-8" in str(error)
        assert "0-0-9-1" in str(error)
        with pytest.raises(EndpointClosed, match="0-9-1"):
            await world.connect_0_10(broker.url)


@asynccontextmanager
async def answering(world: World, octets: bytes | None) -> AsyncGenerator[str]:
    """The URL of a listener that answers the protocol header with these octets and hangs up; None: it says nothing."""
    ports: list[int] = []
    writers: list[asyncio.StreamWriter] = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writers.append(writer)
        await reader.readexactly(8)
        if octets is not None:
            writer.write(octets)
            writer.close()

    async def serve() -> None:
        server = await asyncio.start_server(answer, "127.0.0.1", 0)
        ports.append(server.sockets[0].getsockname()[1])
        try:
            await asyncio.Event().wait()
        finally:
            server.close()
            for writer in writers:
                writer.transport.abort()

    with world.beside(serve):
        await world.until(lambda: ports)
        yield f"amqp://guest:guest@127.0.0.1:{ports[0]}/"


@pytest.mark.parametrize(
    ("octets", "text"),
    [
        (b"\x15\x03\x03\x00\x02\x02\x46", "TLS records on a connection without TLS"),
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", "HTTP"),
        (b"AMQP\x03\x01\x00\x00", "3-1-0-0"),
        (b"AMQP\x00\x01\x00\x00", "refused 0-9-1-rabbit .* and offers 0-1-0-0"),
        (b"", "hung up on the protocol header"),
        (b"\x01\x00\x00\x00\x00\x00\x05abcdefgh", "closed by this side"),
    ],
)
async def test_a_peer_that_is_no_broker_is_named(world: World, octets: bytes, text: str) -> None:
    async with answering(world, octets) as url:
        with pytest.raises(EndpointClosed, match=text):
            await world.connect(url)


async def test_nobody_answers_or_listens(world: World) -> None:
    async with answering(world, None) as url:
        with pytest.raises((EndpointClosed, TimeoutError), match=r"did not finish|within 0\.3"):
            await world.connect(url, handshake_timeout=0.3)
    with world.broker() as broker:
        port = broker.port
    with pytest.raises(Exception, match=r"refused|attempts to connect|Connect call failed"):
        await world.connect(f"amqp://127.0.0.1:{port}/")


async def test_an_opening_that_is_given_up_leaves_nothing_behind(world: World, broker: ScriptedBroker) -> None:
    if not world.has_threads:
        for seconds in (0.0, 0.0005, 0.001, 0.002):
            with broker.faults.stall("to_client"):
                await world.give_up(world.connect(broker.url), seconds)
        await world.until(lambda: not broker.connections)
    connection = await world.connect(broker.url)
    channel = await connection.open_channel()
    with broker.faults.stall("to_client"):
        await world.give_up(channel.call(QueueDeclare("q", durable=True)))
        if not world.has_threads:
            await world.give_up(connection.close())
    report = await (connection.wait_closed() if not world.has_threads else connection.close())
    assert report.code == 200


async def test_lost_in_the_middle_of_everything(world: World, broker: ScriptedBroker) -> None:
    broker.fill("q")
    connection = await world.connect(broker.url)
    channel, confirming = await connection.open_channel(), await connection.open_channel(confirm=True)
    broker.script = lambda peer, event: is_method(event, "queue.declare") or isinstance(event, Published)
    waiting: list[Any] = [world.start(anext(channel.consume("q")))]
    await world.until(lambda: broker.queue("q").consumers == 1)
    waiting += [
        world.start(each)
        for each in (
            anext(channel.events()),
            anext(connection.events()),
            channel.call(QueueDeclare("q", durable=True)),
            confirming.publish(b"x"),
        )
    ]
    await world.until(lambda: len(broker.peer.of(Published)) == 1)
    await world.until(lambda: any(is_method(event, "queue.declare") for event in broker.peer.events))
    await world.pause(0.01)
    broker.peer.cut()
    errors: list[EndpointClosed] = []
    for each in waiting:
        with pytest.raises(EndpointClosed, match="transport lost") as caught:
            await each
        errors.append(caught.value)
        assert caught.value.report is not None
        assert caught.value.report.by is By.TRANSPORT
    assert len({id(error) for error in errors}) == len(waiting)
    report = await connection.wait_closed()
    assert report.by is By.TRANSPORT
    assert await connection.close() == report
    for call in (connection.open_channel(), channel.publish(b""), channel.get("q")):
        with pytest.raises(EndpointClosed, match="transport lost"):
            await call
    assert (await channel.close()).by is By.TRANSPORT


@pytest.mark.parametrize("look", [False, True])
async def test_leaving_a_lost_connection_says_so_once(world: World, broker: ScriptedBroker, look: bool) -> None:

    async def use() -> None:
        async with world.connect(broker.url) as connection:
            broker.peer.cut()
            await world.until(lambda: not connection.is_open)
            if look:
                assert await connection.wait_closed() == connection.report

    if look:
        await use()
    else:
        with pytest.raises(EndpointClosed, match="transport lost"):
            await use()


async def test_an_end_of_the_stream_in_the_middle(world: World, broker: ScriptedBroker) -> None:
    async with world.connect(broker.url) as connection:
        channel = await connection.open_channel()
        broker.script, held = holding("queue.declare")
        waiting = world.start(channel.call(QueueDeclare("q", durable=True)))
        await world.until(lambda: held)
        broker.peer.put(b"\x01\0\x01")
        broker.act(lambda: broker.peer.line.transport.close())  # type: ignore[union-attr]
        with pytest.raises(EndpointClosed, match="transport lost: the peer ended the stream"):
            await waiting


async def test_the_server_closes_the_connection(world: World, broker: ScriptedBroker) -> None:
    with pytest.raises(EndpointClosed, match="320 CONNECTION_FORCED - shutdown") as caught:
        async with world.connect(broker.url) as connection:
            channel = await connection.open_channel()
            assert broker.faults.close_connections(320, "CONNECTION_FORCED - shutdown") == 1
            while True:
                await channel.call(QueueDeclare("q", durable=True))
    assert caught.value.report is not None
    assert caught.value.report.by is By.REMOTE
    await world.until(lambda: not broker.connections)


async def test_both_sides_close_at_once(world: World, broker: ScriptedBroker) -> None:
    def close(peer: Peer, event: Event) -> bool:
        if isinstance(event, Published):
            peer.core.close(320, "going down")
        return isinstance(event, Published)

    broker.script = close
    for turns in range(4):
        connection = await world.connect(broker.url)
        channel = await connection.open_channel()
        await channel.publish(b"")
        for _ in range(turns):
            await world.turn()
        assert (await connection.close()).by in (By.LOCAL, By.REMOTE)
    await world.until(lambda: not broker.connections)


async def test_a_close_that_nobody_answers_ends_in_time(world: World, broker: ScriptedBroker) -> None:
    connection = await world.connect(broker.url, heartbeat=0.0, close_timeout=0.05)
    with broker.faults.drop("from_client"):
        report = await world.within(10, connection.close())
    assert report.by is By.LOCAL
    assert not connection.is_open


@pytest.mark.parametrize("closed_by", [By.LOCAL, By.REMOTE])
async def test_a_close_in_time_while_the_socket_is_full(world: World, broker: ScriptedBroker, closed_by: By) -> None:
    """Nothing is read at the other end: neither the messages get through, nor the close or its answer."""
    connection = await world.connect(broker.url, heartbeat=0.0, close_timeout=0.1)
    channel = await connection.open_channel()
    broker.peer.hold()
    published = 0

    async def publish() -> None:
        nonlocal published
        while True:
            await channel.publish(bytes(500_000), routing_key="q")
            published += 1

    publishing = world.start(publish())
    before = -1
    while published != before:
        before = published
        await world.pause(0.05)
    if closed_by is By.LOCAL:
        report = await connection.close()
    else:
        assert broker.faults.close_connections(320, "CONNECTION_FORCED - shutdown") == 1
        report = await connection.wait_closed()
    assert report.by is closed_by
    with pytest.raises(EndpointClosed):
        await publishing
