"""Links and sessions of 1.0 that the peer ends while their connection lives: which come back, how often, and where."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import pytest

from amqp_sansio import Limits
from amqp_sansio.amqp_1_0 import Accepted, LinkRequested, Message, SessionRequested, Source
from amqp_sansio.client.recovery import Recovered, RecoveryPolicy
from amqp_sansio.errors import EndpointClosed, LinkEnded, StaleDelivery, TransactionFailed
from amqp_sansio.events import Event
from tests.kit.scenarios import is_adapter, only
from tests.kit.scripted import Peer, ScriptedBroker
from tests.kit.worlds import World

each_adapter = only(is_adapter)
POLICY = RecoveryPolicy(first_delay=0.1, jitter=0.0, redirects=2)


def end_links(broker: ScriptedBroker, condition: str, info: dict[str, object] | None = None) -> None:
    """Let the broker end all links of its latest connection."""
    peer = broker.peer

    def end() -> None:
        for session in [peer.core.session(each) for each in peer.core.sessions]:
            for link in session.links:
                if link.is_open:
                    link.close(condition, "so the test says", info)
        peer.line.progress()

    broker.act(end)


def end_sessions(broker: ScriptedBroker, condition: str) -> None:
    """Let the broker end all sessions of its latest connection."""
    peer = broker.peer

    def end() -> None:
        for session in [peer.core.session(each) for each in peer.core.sessions]:
            session.close(condition, "so the test says")
        peer.line.progress()

    broker.act(end)


ENDS: tuple[tuple[str, Callable[[ScriptedBroker], None]], ...] = (
    ("link", lambda broker: end_links(broker, "amqp:link:detach-forced")),
    ("link of Service Bus", lambda broker: end_links(broker, "com.microsoft:timeout")),
    ("session of RabbitMQ", lambda broker: end_sessions(broker, "amqp:internal-error")),
)


@each_adapter
@pytest.mark.parametrize("end", [end for _, end in ENDS], ids=[name for name, _ in ENDS])
async def test_what_the_peer_ends_for_a_reason_that_passes_comes_back(
    world: World, broker: ScriptedBroker, end: Callable[[ScriptedBroker], None], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    broker.fill("jobs")
    async with world.connect_1_0(broker.url, recover=POLICY) as connection:
        session = await connection.open_session()
        sender = await session.open_sender("jobs")
        receiver = await session.open_receiver("jobs", credit=5)
        for number in range(3):
            assert await sender.send(str(number).encode()) == Accepted()
            delivery = await anext(receiver)
            await delivery.accept()
            end(broker)
            await world.pause(0.01)
            assert sender.report is None
        assert await sender.send(b"on") == Accepted()
        delivery = await anext(receiver)
        await delivery.accept()
        assert delivery.body == b"on"
        assert (sender.is_open, receiver.is_open, session.is_open) == (True, True, True)
        assert len(broker.peers) == 1
    assert broker.bodies("jobs") == []
    lines = [each.getMessage() for each in caplog.records if each.name.startswith("amqp_sansio_")]
    assert [each for each in lines if "opened again in 0.1 seconds" in each]
    assert [each for each in lines if each.endswith("is open again")]


@each_adapter
@pytest.mark.parametrize("most", [1, 2, 4])
@pytest.mark.parametrize("at", [1, 2], ids=["first link", "second link"])
async def test_a_session_that_ends_again_while_its_links_are_attached_comes_back(
    world: World, broker: ScriptedBroker, at: int, most: int
) -> None:
    """As often as the peer ends it: none of its links is lost, nor the connection."""
    broker.fill("jobs")
    attached: dict[object, int] = {}
    ended: list[object] = []

    def script(peer: Peer, event: Event) -> bool:
        if isinstance(event, LinkRequested):
            session = peer.core.session(event.channel)
            attached[session] = attached.get(session, 0) + 1
            if len(attached) > 1 and len(ended) < most and attached[session] == at:
                ended.append(session)
                session.close("amqp:internal-error", "so the test says")
                return True
        return False

    broker.script = script
    async with world.connect_1_0(broker.url, recover=POLICY) as connection:
        session = await connection.open_session()
        sender = await session.open_sender("jobs")
        receiver = await session.open_receiver("jobs", credit=5)
        end_sessions(broker, "amqp:internal-error")
        await world.until(lambda: len(ended) == most)
        assert await sender.send(b"on") == Accepted()
        delivery = await anext(receiver)
        await delivery.accept()
        assert (session.is_open, sender.is_open, receiver.is_open) == (True, True, True)
    assert (delivery.body, len(broker.peers), len(attached)) == (b"on", 1, 2 + most)


@each_adapter
@pytest.mark.parametrize("at", [1, 2], ids=["first link", "second link"])
async def test_a_session_that_ends_for_good_while_its_links_are_attached_ends_with_them(
    world: World, broker: ScriptedBroker, at: int
) -> None:
    broker.fill("jobs")
    asked: list[object] = []

    def script(peer: Peer, event: Event) -> bool:
        asked.extend([event] if isinstance(event, LinkRequested) else [])
        if isinstance(event, LinkRequested) and len(asked) == 2 + at:
            peer.core.session(event.channel).close("amqp:not-allowed", "so the test says")
            return True
        return False

    broker.script = script
    async with world.connect_1_0(broker.url, recover=POLICY) as connection:
        session = await connection.open_session()
        sender = await session.open_sender("jobs")
        receiver = await session.open_receiver("jobs", credit=5)
        end_sessions(broker, "amqp:internal-error")
        await world.until(lambda: session.report is not None)
        assert {getattr(each.report, "condition", None) for each in (session, sender, receiver)} == {"amqp:not-allowed"}
        async with connection.open_session() as another:
            assert another.is_open
    assert len(broker.peers) == 1


@each_adapter
async def test_links_that_a_session_has_no_more_room_for_end_alone(world: World, broker: ScriptedBroker) -> None:
    """It comes back with a smaller handle-max: what fits is attached, each other link ends with the reason."""
    broker.fill("jobs")
    begun: list[int] = []

    def script(peer: Peer, event: Event) -> bool:
        if isinstance(event, SessionRequested):
            begun.append(event.channel)
            if len(begun) == 2:
                narrow(peer, event.channel)
        return False

    broker.script = script
    async with world.connect_1_0(broker.url, recover=POLICY) as connection:
        session = await connection.open_session()
        senders = [await session.open_sender("jobs") for _ in range(4)]
        end_sessions(broker, "amqp:internal-error")
        await world.until(lambda: all([each.report is not None for each in senders[1:]]))
        assert await senders[0].send(b"on") == Accepted()
        assert ["handle-max" in str(each.report) for each in senders[1:]] == [True, True, True]
        assert session.is_open
    assert len(broker.peers) == 1


def narrow(peer: Peer, channel: int) -> None:
    """Let the broker's end of a session have one link at most."""
    sessions = peer.core.session(channel).transport
    sessions.limits = Limits(consumers=1)


@each_adapter
async def test_a_send_under_way_is_sent_again_on_a_link_that_comes_back(world: World, broker: ScriptedBroker) -> None:
    broker.fill("jobs")
    seen: list[object] = []

    def script(peer: Peer, event: Event) -> bool:
        if getattr(event, "payload", None) is not None:
            seen.append(event)
            if len(seen) == 1:
                for link in peer.core.session(getattr(event, "channel", 0)).links:
                    link.close("amqp:link:detach-forced", "idle")
                return True
        return False

    broker.script = script
    async with world.connect_1_0(broker.url, recover=POLICY) as connection:
        sender = await (await connection.open_session()).open_sender("jobs")
        assert await sender.send(b"once") == Accepted()
    assert (len(seen), broker.bodies("jobs")) == (2, [b"once"])


@each_adapter
async def test_a_send_under_way_is_reported_if_the_policy_says_so(
    world: World, broker: ScriptedBroker, caplog: pytest.LogCaptureFixture
) -> None:
    broker.fill("jobs")
    seen: list[object] = []

    def script(peer: Peer, event: Event) -> bool:
        if getattr(event, "payload", None) is not None and len(seen) < 3:
            seen.append(event)
            for link in peer.core.session(getattr(event, "channel", 0)).links:
                link.close("amqp:link:detach-forced", "idle")
            return True
        return False

    broker.script = script
    policy = RecoveryPolicy(first_delay=0.1, jitter=0.0, in_doubt="report", remembered=2)
    async with world.connect_1_0(broker.url, recover=policy) as connection:
        events = connection.events(Recovered)
        sender = await (await connection.open_session()).open_sender("jobs")
        for number in range(3):
            with pytest.raises(LinkEnded, match="detach-forced"):
                await sender.send(str(number).encode())
        assert await sender.send(b"good") == Accepted()
        assert "is open again; 1 messages are in doubt" in caplog.text
        broker.peer.cut()
        bodies: list[Any] = [each.body for each in (await anext(events)).in_doubt]
        assert [each.body for each in bodies] == [b"1", b"2"]
    assert broker.bodies("jobs") == [b"good"]


@each_adapter
@pytest.mark.parametrize("condition", ["amqp:link:stolen", "amqp:not-found", "amqp:unauthorized-access"])
async def test_what_the_peer_refuses_ends(world: World, broker: ScriptedBroker, condition: str) -> None:
    broker.fill("jobs")
    async with world.connect_1_0(broker.url, recover=POLICY) as connection:
        session = await connection.open_session()
        sender = await session.open_sender("jobs")
        end_links(broker, condition)
        await world.pause(1.0)
        with pytest.raises(LinkEnded, match=condition):
            await sender.send(b"x")
        assert session.is_open


@each_adapter
async def test_a_link_that_never_lives_long_is_given_up(world: World, broker: ScriptedBroker) -> None:
    broker.fill("jobs")
    attached: list[object] = []

    def script(peer: Peer, event: Event) -> bool:
        if isinstance(event, LinkRequested):
            attached.append(event)
            if len(attached) > 1:
                link: Any = peer.core.session(event.channel).link(event.link)
                link.refuse_attach("amqp:internal-error", "out of order")
                return True
        return False

    broker.script = script
    policy = RecoveryPolicy(first_delay=0.1, jitter=0.0, tries=3)
    async with world.connect_1_0(broker.url, recover=policy) as connection:
        session = await connection.open_session()
        sender = await session.open_sender("jobs")
        end_links(broker, "amqp:link:detach-forced")
        with pytest.raises(LinkEnded, match="out of order"):
            await sender.send(b"x")
        assert len(attached) == 4
        assert session.is_open


@each_adapter
@pytest.mark.parametrize(("seconds", "is_late"), [(0.5, False), (4.0, True)], ids=["for a moment", "for long"])
async def test_what_the_lost_connection_still_holds_is_tried_until_the_deadline(
    world: World, broker: ScriptedBroker, seconds: float, is_late: bool
) -> None:
    broker.fill("held")
    broker.fill("jobs")
    until = 0.0

    def script(peer: Peer, event: Event) -> bool:
        if not (isinstance(event, LinkRequested) and world.now() < until):
            return False
        link: Any = peer.core.session(event.channel).link(event.link)
        if type(link).__name__ != "Sender":
            return False
        link.refuse_attach("amqp:resource-locked", "another connection has it")
        return True

    broker.script = script
    policy = RecoveryPolicy(first_delay=0.1, ceiling=0.5, jitter=0.0, patience=1.0)
    async with world.connect_1_0(broker.url, recover=policy) as connection:
        session = await connection.open_session()
        receiver = await session.open_receiver("held")
        sender = await session.open_sender("jobs")
        events = connection.events(Recovered)
        until = world.now() + seconds
        broker.peer.cut()
        failed = (await anext(events)).failed
        assert ("tried again" in str(failed)) is is_late
        assert await sender.send(b"on") == Accepted()
        assert (world.now() < until) is is_late
        await world.pause(seconds + 1.5)
        assert receiver.is_open
        other = await session.open_sender("held")
        await other.send(b"x")
        assert (await anext(receiver)).body == b"x"
        assert world.now() > until


@each_adapter
async def test_a_loss_meanwhile_brings_it_back_with_the_connection(world: World, broker: ScriptedBroker) -> None:
    broker.fill("jobs")
    async with world.connect_1_0(broker.url, recover=POLICY) as connection:
        session = await connection.open_session()
        sender = await session.open_sender("jobs")
        for end in (end_links, end_sessions):
            end(broker, "amqp:link:detach-forced")
            broker.peer.cut()
            assert await sender.send(b"on") == Accepted()
        assert len(broker.peers) == 3
    assert broker.bodies("jobs") == [b"on", b"on"]


@each_adapter
async def test_it_can_be_closed_while_it_is_away(world: World, broker: ScriptedBroker) -> None:
    broker.fill("jobs")
    async with world.connect_1_0(broker.url, recover=POLICY) as connection:
        session = await connection.open_session()
        sender = await session.open_sender("jobs")
        receiver = await session.open_receiver("jobs")
        end_links(broker, "amqp:link:detach-forced")
        await world.pause(0.01)
        await sender.close()
        await world.pause(1.0)
        with pytest.raises(LinkEnded):
            await sender.send(b"x")
        end_sessions(broker, "amqp:internal-error")
        await world.pause(0.01)
        await session.close()
        await world.pause(1.0)
        assert not receiver.is_open
        with pytest.raises(EndpointClosed):
            await session.open_sender("jobs")
        await (await connection.open_session()).open_sender("jobs")


def redirecting(info: dict[str, object], count: int = 1) -> tuple[Callable[[Peer, Event], bool], list[str]]:
    """A script that redirects the first so many links, and the addresses that were asked for."""
    asked: list[str] = []

    def script(peer: Peer, event: Event) -> bool:
        if not isinstance(event, LinkRequested):
            return False
        link: Any = peer.core.session(event.channel).link(event.link)
        terminus: Any = link.remote.target if type(link).__name__ == "Receiver" else link.remote.source
        asked.append(terminus.address)
        if len(asked) <= count:
            link.refuse_attach("amqp:link:redirect", "there", info)
            return True
        return False

    return script, asked


@each_adapter
@pytest.mark.rule("1.0/transport/error/link-redirect")
@pytest.mark.parametrize("receives", [False, True], ids=["sender", "receiver"])
async def test_a_redirect_of_a_link_is_followed_on_the_same_host(
    world: World, broker: ScriptedBroker, receives: bool
) -> None:
    broker.fill("jobs")
    broker.fill("elsewhere", b"there")
    broker.script, asked = redirecting({"address": "elsewhere"})
    async with world.connect_1_0(broker.url, recover=POLICY) as connection:
        session = await connection.open_session()
        if receives:
            receiver = await session.open_receiver(Source("jobs"))
            assert (await anext(receiver)).body == b"there"
            assert receiver.address == "elsewhere"
        else:
            sender = await session.open_sender("jobs")
            assert await sender.send(b"x") == Accepted()
            assert sender.address == "elsewhere"
        assert asked == ["jobs", "elsewhere"]


@each_adapter
@pytest.mark.rule("1.0/transport/error/link-redirect")
async def test_a_redirect_is_followed_when_a_lost_connection_is_back(world: World, broker: ScriptedBroker) -> None:
    broker.fill("jobs")
    broker.fill("elsewhere")
    async with world.connect_1_0(broker.url, recover=POLICY) as connection:
        session = await connection.open_session()
        sender = await session.open_sender("jobs")
        broker.script, asked = redirecting({"address": "elsewhere"})
        broker.peer.cut()
        assert await sender.send(b"x") == Accepted()
        assert asked == ["jobs", "elsewhere"]
        assert sender.address == "elsewhere"
    assert broker.bodies("elsewhere") == [b"x"]


@each_adapter
@pytest.mark.rule("1.0/transport/error/link-redirect")
@pytest.mark.parametrize(
    ("policy", "info", "tried"),
    [
        (False, {"address": "elsewhere"}, 1),
        (RecoveryPolicy(), {"address": "elsewhere"}, 1),
        (POLICY, {"address": "elsewhere", "network-host": "other.example", "port": 5672}, 1),
        (POLICY, {"address": "elsewhere"}, 3),
    ],
    ids=["no recovery", "no word of the policy", "another host", "again and again"],
)
async def test_a_redirect_that_is_not_followed_says_where(
    world: World, broker: ScriptedBroker, policy: Any, info: dict[str, object], tried: int
) -> None:
    broker.fill("jobs")
    broker.fill("elsewhere")
    broker.script, asked = redirecting(info, 9)
    async with world.connect_1_0(broker.url, recover=policy) as connection:
        session = await connection.open_session()
        with pytest.raises(LinkEnded) as caught:
            await session.open_sender("jobs")
        report = caught.value.report
        assert report is not None
        assert {str(key): report.info[key] for key in report.info} == info
        assert len(asked) == tried


@each_adapter
@pytest.mark.parametrize("ends_session", [False, True], ids=["links", "session"])
async def test_all_that_a_session_has_goes_on_or_says_why_not(
    world: World, broker: ScriptedBroker, ends_session: bool
) -> None:
    """A delivery that was taken is stale, a transaction has failed, a request that waits has no reply any more."""
    broker.fill("jobs", b"first", b"second")
    broker.fill("rpc")
    async with world.connect_1_0(broker.url, recover=POLICY) as connection:
        session = await connection.open_session()
        sender = await session.open_sender("jobs")
        receiver = await session.open_receiver("jobs", credit=1)
        requester = await session.open_requester("rpc")
        taken = await anext(receiver)
        asked = world.start(requester.call(Message("ping")))
        with pytest.raises(TransactionFailed):
            async with session.transaction() as transaction:
                await sender.send(b"within", transaction=transaction)
                if ends_session:
                    end_sessions(broker, "amqp:internal-error")
                else:
                    end_links(broker, "amqp:link:detach-forced")
                await world.pause(0.01)
                await sender.send(b"within", transaction=transaction)
        with pytest.raises(StaleDelivery):
            await taken.accept()
        assert await sender.send(b"third") == Accepted()
        found = [(await anext(receiver)) for _ in range(1)]
        for _ in range(2):
            await found[-1].accept()
            found.append(await anext(receiver))
        await found[-1].accept()
        assert [each.body for each in found] == [b"first", b"second", b"third"]
        async with session.transaction() as transaction:
            assert await sender.send(b"fourth", transaction=transaction) == Accepted()
        with pytest.raises((EndpointClosed, TimeoutError)):
            await asked
        assert session.is_open
