"""1.0 with a small broker: connections, sessions, sending, receiving, and what the URL and the options say."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from amqp_sansio import AMQP_0_9_1, AMQP_1_0, By, Version
from amqp_sansio.amqp_0_9_1 import Config as ClassicConfig
from amqp_sansio.amqp_1_0 import (
    Accepted,
    Config,
    Header,
    Message,
    Modified,
    Properties,
    Rejected,
    Released,
    Source,
    Target,
)
from amqp_sansio.amqp_1_0.codec.conditions import NOT_FOUND
from amqp_sansio.errors import EndpointClosed, LocalProtocolError
from amqp_sansio.sasl import Anonymous, Plain, ScramSha256
from amqp_sansio_asyncio import LinkEnded, ServerConnection, connect, serve
from amqp_sansio_asyncio.amqp_1_0 import Connection
from amqp_sansio_asyncio.amqp_1_0 import ServerConnection as ServerConnection_1_0
from tests.kit.asyncio_broker import until, url_of, waiting_in
from tests.kit.asyncio_loops import run
from tests.kit.asyncio_nodes import nodes, peer


def test_what_the_readme_shows(capsys: pytest.CaptureFixture[str]) -> None:
    async def main() -> None:
        async with nodes() as (server, _), connect(url_of(server), version=AMQP_1_0) as connection:
            session = await connection.open_session()
            async with session.open_sender("jobs") as sender:
                outcome = await sender.send(Message(body=b"hello"))
                assert outcome == Accepted()
            async with session.open_receiver("jobs", credit=10) as receiver:
                async for delivery in receiver:
                    print(delivery.body)
                    await delivery.accept()
                    break

    run(main())
    assert "hello" in capsys.readouterr().out


def test_opening_and_closing() -> None:
    async def main() -> None:
        async with nodes() as (server, made):
            async with connect(url_of(server), version=AMQP_1_0) as connection:
                assert connection.is_open
                assert connection.report is None
                assert connection.remote.container_id.startswith("amqp-sansio-")
                assert "open" in repr(connection)
                async with connection.open_session() as session:
                    assert session.is_open
                    assert session.channel == 0
                    other = await connection.open_session()
                    assert other.channel == 1
                    assert (await other.close()).by is By.LOCAL
                    assert (await other.close()).by is By.LOCAL
                assert not session.is_open
                assert session.report is not None
            assert connection.report is not None
            assert connection.report.by is By.LOCAL
            assert (await connection.close()).by is By.LOCAL
            await until(lambda: made.connections[0].report is not None)
            with pytest.raises(EndpointClosed):
                await connection.open_session()

    run(main())


def test_every_outcome_reaches_who_sent() -> None:
    async def main() -> None:
        async with peer() as (connection, made):
            session = await connection.open_session()
            async with session.open_sender("jobs") as sender:
                made.coming.extend([Released(), Rejected(), Modified(True, False), Accepted()])
                assert await sender.send(b"1") == Released()
                assert await sender.send(b"2") == Rejected()
                assert await sender.send(b"3") == Modified(True, False)
                assert await sender.send(b"4") == Accepted()
                assert await sender.send(b"5", settled=True) is None
                await until(lambda: made.bodies("jobs") == [b"4", b"5"])
                assert not sender.pending

    run(main())


def test_many_in_flight_from_many_tasks() -> None:
    async def main() -> None:
        async with peer(credit=7) as (connection, made):
            session = await connection.open_session()
            sender = await session.open_sender("jobs")

            async def send(number: int) -> object:
                return await sender.send(Message(number))

            outcomes = await asyncio.gather(*[send(number) for number in range(200)])
            assert outcomes == [Accepted()] * 200
            sent = [await sender.send(Message(number), wait=False) for number in range(200)]
            assert [await each for each in sent] == [Accepted()] * 200
            assert all(each.done and each.state == Accepted() for each in sent)
            assert sorted(made.bodies("jobs")) == sorted([*range(200), *range(200)])
            # What one task sends stays in order.
            assert made.bodies("jobs")[-200:] == list(range(200))

    run(main())


def test_messages_of_every_kind_and_size() -> None:
    async def main() -> None:
        async with peer(max_frame_size=512) as (connection, _):
            session = await connection.open_session()
            sender = await session.open_sender("jobs")
            receiver = await session.open_receiver("jobs")
            whole = Message(
                {"a": [1, "x", None]},
                header=Header(durable=True),
                properties=Properties(message_id="m", subject="s"),
                application_properties={"n": 1},
            )
            for message in (whole, Message(bytes(100_000)), Message("text"), Message(b"")):
                assert await sender.send(message) == Accepted()
                delivery = await receiver.fetch(5)
                assert delivery is not None
                assert delivery.message.body == message.body
                assert delivery.message.properties == message.properties
                assert not delivery.settled and not delivery.resumed
                assert delivery.message_format == 0
                assert delivery.receiver is receiver
                await delivery.accept()
            assert whole.application_properties == {"n": 1}

    run(main())


def test_credit_is_topped_up_as_deliveries_are_taken() -> None:
    async def main() -> None:
        async with peer() as (connection, made):
            session = await connection.open_session()
            sender = await session.open_sender("jobs")
            for number in range(100):
                await sender.send(Message(number), settled=True)
            for credit in (1, 2, 3, 10):
                async with session.open_receiver("jobs", credit=credit) as receiver:
                    await until(lambda: not receiver.credit)
                    await asyncio.sleep(0.02)
                    # Nothing more comes before something is taken.
                    assert waiting_in(receiver) == credit
                    taken: list[int] = []
                    async for delivery in receiver:
                        taken.append(delivery.body)
                        await delivery.accept()
                        assert waiting_in(receiver) <= credit
                        if len(taken) == 20:
                            break
                assert len(set(taken)) == 20
            # What nobody took was given back when the receivers were closed.
            await until(lambda: len(made.bodies("jobs")) == 20)
            assert sorted(made.bodies("jobs")) == list(range(80, 100))

    run(main())


def test_settling_in_every_way() -> None:
    async def main() -> None:
        async with peer() as (connection, made):
            session = await connection.open_session()
            sender = await session.open_sender("jobs")
            for number in range(5):
                await sender.send(Message(number))
            receiver = await session.open_receiver("jobs", credit=5)
            got = [await receiver.__anext__() for _ in range(5)]
            await got[0].accept()
            await got[1].reject("amqp:decode-error", "what is it?")
            await got[2].release()
            await got[3].modify(delivery_failed=True, message_annotations={"x-why": "no"})
            await receiver.accept(got[4])
            with pytest.raises(LocalProtocolError):
                await got[4].accept()
            await receiver.close()
            # Released and modified ones are there again.
            await until(lambda: sorted(made.bodies("jobs")) == [2, 3])
            states = [repr(event) for event in made.seen]
            assert any("what is it?" in state for state in states)
            assert any("x-why" in state for state in states)

    run(main())


def test_the_receiver_settles_second() -> None:
    async def main() -> None:
        async with peer() as (connection, made):
            session = await connection.open_session()
            sender = await session.open_sender("jobs", rcv_settle_mode=1)
            assert await sender.send(b"both") == Accepted()
            receiver = await session.open_receiver("jobs", rcv_settle_mode=1)
            delivery = await receiver.fetch(5)
            assert delivery is not None
            await delivery.accept()
            assert not receiver.pending
            assert not made.sent

    run(main())


def test_dynamic_nodes_and_the_anonymous_terminus() -> None:
    async def main() -> None:
        async with peer() as (connection, made):
            session = await connection.open_session()
            receiver = await session.open_receiver(None, dynamic=True)
            assert receiver.address.startswith("temporary.")
            relay = await session.open_sender(None)
            assert relay.address == ""
            message = Message(b"hi", properties=Properties(to=receiver.address))
            assert await relay.send(message) == Accepted()
            delivery = await receiver.fetch(5)
            assert delivery is not None
            assert delivery.body == b"hi"
            producer = await session.open_sender(None, dynamic=True)
            assert producer.address == "temporary.2"
            await producer.send(b"there")
            assert made.bodies("temporary.2") == [b"there"]
            with pytest.raises(ValueError, match="dynamic"):
                session.open_sender("name", dynamic=True)
            with pytest.raises(ValueError, match="dynamic"):
                session.open_receiver("name", dynamic=True)
            with pytest.raises(ValueError, match="address"):
                session.open_receiver(None)
            with pytest.raises(ValueError, match="credit"):
                session.open_receiver("x", credit=-1)

    run(main())


def test_termini_and_link_properties() -> None:
    async def main() -> None:
        async with peer() as (connection, made):
            session = await connection.open_session(properties={"s": 1})
            sender = await session.open_sender(
                Target(address="jobs"), name="mine", properties={"l": 2}, max_message_size=1000
            )
            assert sender.name == "mine"
            assert sender.target == Target(address="jobs")
            assert sender.remote is not None
            receiver = await session.open_receiver(Source(address="jobs"), name="other")
            assert receiver.source == Source(address="jobs")
            assert receiver.is_open
            assert receiver.address == "jobs"
            assert "jobs" in repr(receiver)
            assert any("'l': 2" in repr(event).replace("Symbol('l')", "'l'") for event in made.seen)

    run(main())


@pytest.mark.parametrize("make", ["open_sender", "open_receiver"])
def test_a_refused_link(make: str) -> None:
    async def main() -> None:
        async with peer() as (connection, _):
            session = await connection.open_session()
            with pytest.raises(LinkEnded, match="there is no node 'nowhere'") as caught:
                await getattr(session, make)("nowhere", name="lost")
            assert caught.value.condition == NOT_FOUND
            assert caught.value.link == "lost"
            assert caught.value.report is not None
            assert caught.value.report.by is By.REMOTE
            # The session goes on, and the name is free.
            link = await getattr(session, make)("somewhere", name="lost")
            assert link.is_open

    run(main())


def test_hosts_and_virtual_hosts() -> None:
    async def main() -> None:
        async with nodes(vhosts=("/", "jobs")) as (server, made):
            cases: list[tuple[str, dict[str, Any], str]] = [
                ("", {}, "127.0.0.1"),
                ("/%2F", {}, "127.0.0.1"),
                ("/jobs", {}, "vhost:jobs"),
                ("", {"hostname": "vhost:jobs"}, "vhost:jobs"),
                ("", {"hostname": None}, ""),
            ]
            for path, options, hostname in cases:
                opening: Any = connect(url_of(server, path), version=AMQP_1_0, **options)
                async with opening:
                    assert made.connections[-1].hostname == hostname
                    expected = "jobs" if "jobs" in hostname else "/"
                    assert made.connections[-1].vhost == expected
            with pytest.raises(EndpointClosed, match="no virtual host 'none'") as caught:
                await connect(url_of(server, "/none"), version=AMQP_1_0)
            assert caught.value.report is not None
            assert caught.value.report.condition == NOT_FOUND

    run(main())


def test_what_the_url_and_the_options_say() -> None:
    async def main() -> None:
        async with nodes() as (server, made):
            url = url_of(server, "?heartbeat=7&frame_max=4096&channel_max=3")
            async with connect(url, version=AMQP_1_0, container_id="me") as connection:
                config = connection.core.config
                assert (config.idle_time_out, config.max_frame_size) == (14.0, 4096)
                remote = made.connections[0].remote
                assert remote is not None
                assert remote.container_id == "me"
                assert remote.max_frame_size == 4096
                assert remote.channel_max == 3
                assert remote.idle_time_out == 7000
            async with connect(url_of(server), version=AMQP_1_0) as connection:
                assert connection.core.config.idle_time_out == 60.0
            async with connect(url_of(server), version=AMQP_1_0, idle_time_out=0.0) as connection:
                assert connection.core.config.idle_time_out == 0
            with pytest.raises(ValueError, match="max_frame_size"):
                await connect(url_of(server), version=AMQP_1_0, max_frame_size=100)
            with pytest.raises(TypeError):
                await connect(url_of(server), version=AMQP_1_0, vhost="x")  # pyright: ignore

    run(main())


def test_logging_in() -> None:
    async def main() -> None:
        config = Config(mechanisms=("SCRAM-SHA-256", "PLAIN"), container_id="server")
        users = {"me": "secret"}
        async with nodes(config=config, authenticate=users) as (server, made):
            for sasl in (None, Plain("me", "secret"), ScramSha256("me", "secret")):
                options: Any = {} if sasl is None else {"sasl": sasl}
                url = url_of(server, user="me:secret@")
                async with connect(url, version=AMQP_1_0, **options) as connection:
                    assert made.connections[-1].user == "me"
                    name = "PLAIN" if isinstance(sasl, Plain) else "SCRAM-SHA-256"
                    assert connection.core.mechanism == name
                    assert made.connections[-1].mechanism == name
            for user in ("me:wrong@", "you:secret@"):
                with pytest.raises(EndpointClosed) as caught:
                    await connect(url_of(server, user=user), version=AMQP_1_0)
                assert "secret" not in str(caught.value)
            with pytest.raises(EndpointClosed):
                await connect(url_of(server), version=AMQP_1_0, sasl=None)
            with pytest.raises(EndpointClosed):
                await connect(url_of(server), version=AMQP_1_0, sasl=Anonymous())

    run(main())


def test_without_sasl() -> None:
    async def main() -> None:
        async with (
            nodes(config=Config(container_id="open to all")) as (server, made),
            connect(url_of(server), version=AMQP_1_0, sasl=None) as connection,
        ):
            assert connection.is_open
            assert made.connections[0].user == ""

    run(main())


def test_versions_on_one_port() -> None:
    async def main() -> None:
        seen: list[type[object]] = []

        async def handle(connection: ServerConnection | ServerConnection_1_0) -> None:
            seen.append(type(connection))
            async for _ in connection:
                pass

        configs: dict[Version, ClassicConfig | Config] = {
            AMQP_0_9_1: ClassicConfig(),
            AMQP_1_0: Config(mechanisms=("PLAIN",)),
        }
        async with serve(handle, configs=configs) as server:
            async with connect(url_of(server)) as classic:
                assert classic.is_open
            async with connect(url_of(server), version=AMQP_1_0) as newer:
                assert newer.is_open
        assert seen == [ServerConnection, ServerConnection_1_0]
        # Who doesn't speak it offers its own version.
        async with serve(handle) as server:
            with pytest.raises(EndpointClosed, match="0-9-1"):
                await connect(url_of(server), version=AMQP_1_0)

    run(main())


def test_a_broker_that_is_not_there() -> None:
    async def main() -> None:
        with pytest.raises(OSError):
            await connect("amqp://127.0.0.1:1/", version=AMQP_1_0)

    run(main())


def test_types_are_told_by_the_version() -> None:
    """`mypy` reads these too."""

    async def main() -> None:
        async with nodes() as (server, _):
            connection: Connection = await connect(url_of(server), version=AMQP_1_0)
            await connection.close()

    run(main())
