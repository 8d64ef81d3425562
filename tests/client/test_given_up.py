"""Parts of a connection that are over: those that the next connection has no room for, and all when the client is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import pytest

from amqp_sansio import AMQP_0_8, AMQP_0_9_1, AMQP_0_10, AMQP_1_0, By, EndpointClosed, Limits, Version
from amqp_sansio.broker import Settings
from amqp_sansio.client.recovery import RecoveryPolicy
from tests.kit.user import User, opened, world_of

VERSIONS: Final = (AMQP_0_8, AMQP_0_9_1, AMQP_0_10, AMQP_1_0)
EACH: Final = pytest.mark.parametrize("version", VERSIONS, ids=lambda version: version.label)
COUNT: Final = 4


def connected(version: Version, **options: Any) -> User:
    """A user that is connected to a broker."""
    return User(world_of(), version=version, **options)


def part(user: User, version: Version) -> Any:
    """A channel or a session that is open."""
    is_classic = version in (AMQP_0_8, AMQP_0_9_1)
    return user.run(opened(user.connection.open_channel() if is_classic else user.connection.open_session()))


def parts_of(client: Any) -> list[object]:
    """All channels and sessions that a client has."""
    if hasattr(client, "channels"):
        return [*client.channels.values()]
    return [*client.sessions.values(), *client.lost_sessions]


@EACH
@pytest.mark.parametrize("room", [1, 2, COUNT])
def test_what_the_next_connection_has_no_room_for_is_given_up(version: Version, room: int) -> None:
    """The others go on; whoever uses one that is given up hears why."""
    user = connected(version, recover=RecoveryPolicy(jitter=0.0))
    parts = [part(user, version) for _ in range(COUNT)]
    user.cut()
    user.replace_broker(Settings(seed=b"user", heartbeat=0, connection_limits=Limits(channels=room)))
    recovered = user.wait_back()
    assert [each.is_open for each in parts] == [True] * room + [False] * (COUNT - room)
    assert len(recovered.failed) == COUNT - room
    assert len(parts_of(user.client)) == room
    for each in parts[room:]:
        with pytest.raises(EndpointClosed, match="again") as caught:
            user.run(opened(each.open_sender("q")) if version is AMQP_1_0 else each.declare_queue("q"))
        report = caught.value.report
        if version is not AMQP_1_0:
            with pytest.raises(EndpointClosed, match="again"):
                user.run(each.publish(b"x", routing_key="q"))
        assert report is not None
        assert (report.by, report.code) == (By.TRANSPORT, 0)
        assert each.report == report


def own_close(user: User) -> None:
    user.run(user.connection.close())


def close_of_the_peer(user: User) -> None:
    (served,) = user.hub.clients.values()
    served.shut_down("over")
    user.stir()


def loss(user: User) -> None:
    user.cut()


@EACH
@pytest.mark.parametrize("end", [own_close, close_of_the_peer, loss])
@pytest.mark.parametrize("recovers", [False, True])
def test_a_client_that_is_over_has_no_parts(version: Version, end: Callable[[User], None], recovers: bool) -> None:
    """However it ends: a channel or session that nobody has any more costs nothing."""
    user = connected(version, recover=RecoveryPolicy(jitter=0.0, attempts=1) if recovers else False)
    parts = [part(user, version) for _ in range(COUNT)]
    if recovers:
        user.refuse()
    end(user)
    user.turn(60.0)
    assert not [each for each in parts if each.is_open]
    assert parts_of(user.client) == []


@EACH
def test_a_client_whose_core_has_failed_has_no_parts(version: Version) -> None:
    """The core ends nothing then: the client ends all of it when its transport is closed."""
    user = connected(version)
    waiting = [part(user, version) for _ in range(COUNT)]
    user.client.transport_ended("the core has failed")
    assert parts_of(user.client) == []
    assert {each._state.error.report.text for each in waiting} == {"the core has failed"}


@EACH
def test_who_waits_for_a_core_that_has_failed_hears_why(version: Version) -> None:
    """The core ends no call then; who waits for the end of the connection is told that it has ended."""
    user = connected(version)
    found = part(user, version)
    user.hold()
    ended = user.begin(user.connection.wait_closed())
    asked = user.begin(opened(found.open_sender("q")) if version is AMQP_1_0 else found.declare_queue("q"))
    beginning = user.begin(
        opened(user.connection.open_session() if version in (AMQP_0_10, AMQP_1_0) else user.connection.open_channel())
    )
    user.client.transport_ended("the core has failed")
    user.client.nudge()
    user.turn()
    for call in (asked, beginning):
        with pytest.raises(EndpointClosed, match="the core has failed"):
            _ = call.result
    assert ended.done
