"""Tuning: frame size, channels and heartbeat (methods tune and tune-ok; 0-9-1 and 0-8 section 2.3.3)."""

from __future__ import annotations

import pytest

from amqp_sansio import AMQP_0_9_1, Failed, Opened, Version
from amqp_sansio.endpoint import Side
from amqp_sansio.limits import Limits
from tests.kit.facing import (
    CLIENT,
    METHOD,
    SERVER,
    STRICT,
    Facing,
    both_rules,
    frame,
    start,
    start_ok,
    tune_ok,
    tuned_client,
    tuning_server,
)
from tests.kit.pair import Pair, client_config, server_config


@pytest.mark.rule("0-8/connection.tune/propose", "0-9-1/connection.tune/propose")
def test_a_server_states_the_limits_it_proposes(version: Version) -> None:
    facing = tuning_server(version, channel_max=77, frame_max=5000, heartbeat=30)
    tune = facing.sent()[0].method
    assert (tune.channel_max, tune.frame_max, tune.heartbeat) == (77, 5000, 30)


@pytest.mark.parametrize(
    ("ours", "offered", "sent"),
    [
        ((0, 0), (0, 0), (2047, 8388600)),
        ((10, 8192), (0, 0), (10, 8192)),
        ((10, 8192), (20, 131072), (10, 8192)),
        ((10, 8192), (5, 4096), (5, 4096)),
        ((0, 0), (5, 4096), (5, 4096)),
        ((65535, 0), (65535, 4096), (2047, 4096)),
    ],
)
@both_rules("connection.tune-ok/channel-max-notnull", "connection.tune-ok/lower", "connection.tune/zero-means")
@pytest.mark.rule("0-8/connection.tune-ok/channel-max<=tune", "0-9-1/connection.tune-ok/channel-max-le")
def test_a_client_takes_the_lower_limits_and_never_says_0_channels(
    version: Version, ours: tuple[int, int], offered: tuple[int, int], sent: tuple[int, int]
) -> None:
    facing = tuned_client(version, offered, channel_max=ours[0], frame_max=ours[1])
    answer = facing.sent()[0].method
    assert (answer.NAME, answer.channel_max, answer.frame_max) == ("connection.tune-ok", *sent)
    assert (facing.end.channel_max, facing.end.frame_max) == sent


@pytest.mark.parametrize("frame_max", [1, 8, 4095])
@pytest.mark.rule("0-8/connection.tune/accept-4096", "0-9-1/connection.tune/frame-min")
@pytest.mark.rule("0-8/connection.tune-ok/accept-4096", "0-9-1/connection.tune-ok/frame-min")
def test_no_frame_size_below_4096_is_agreed(version: Version, frame_max: int) -> None:
    facing = tuned_client(version, (10, frame_max))
    (failed,) = facing.of(Failed)
    assert failed.error.rule == facing.full_id("connection.tune/frame-min")
    assert facing.out == b""
    server = tuning_server(version)
    server.refuses(tune_ok(server, 10, frame_max), code=0, rule="connection.tune-ok/frame-min")
    for config in (client_config, server_config):
        with pytest.raises(ValueError, match="4096"):
            Facing(version, CLIENT, config(frame_max=frame_max, sasl=client_config().sasl))


@pytest.mark.rule("0-8/connection.tune/accept-4096", "0-9-1/connection.tune/frame-min")
@pytest.mark.rule("0-8/connection.tune-ok/accept-4096", "0-9-1/connection.tune-ok/frame-min")
def test_frames_of_4096_octets_are_taken_before_tuning(version: Version, side: Side) -> None:
    """A frame whose payload is as large as it may be, made so by one long property."""
    facing = Facing(version, side)
    if side is SERVER:
        facing.feed(version.header)
    facing.forget()
    for fill in range(3900, 4096):
        if side is CLIENT:
            unit = start(facing, server_properties={"x": "x" * fill})
        else:
            unit = start_ok(facing, client_properties={"x": "x" * fill})
        if len(unit) == 4096:
            break
    else:
        raise AssertionError("no such frame")
    facing.feed(unit)
    assert not facing.of(Failed)
    assert len(facing.end.peer_properties["x"]) > 3900


@pytest.mark.rule("0-9-1/connection.tune-ok/channel-max-limit", "0-8/connection.tune-ok/channel-max<=tune")
def test_a_server_hangs_up_on_more_channels_than_offered(version: Version) -> None:
    for offered, wanted in ((10, 11), (10, 65535), (10, 0)):
        facing = tuning_server(version, channel_max=offered)
        facing.refuses(tune_ok(facing, wanted, 4096), code=0, rule="connection.tune-ok/channel-max-limit")
    facing = tuning_server(version, channel_max=10)
    facing.feed(tune_ok(facing, 10, 4096))
    assert facing.end.channel_max == 10


@pytest.mark.rule("0-9-1/connection.tune-ok/frame-max-limit", "0-8/connection.tune-ok/lower")
def test_a_server_hangs_up_on_larger_frames_than_offered(version: Version) -> None:
    for offered, wanted in ((8192, 8193), (8192, 0), (4096, 131072)):
        facing = tuning_server(version, frame_max=offered)
        facing.refuses(tune_ok(facing, 10, wanted), code=0, rule="connection.tune-ok/frame-max-limit")
    facing = tuning_server(version, frame_max=8192)
    facing.feed(tune_ok(facing, 10, 8192))
    assert facing.end.frame_max == 8192


@both_rules("connection/limits-exceeded", "wire/channels-many")
@pytest.mark.rule("0-9-1/connection.tune/channel-max-highest")
def test_channel_max_is_the_highest_number(version: Version, side: Side) -> None:
    facing = Facing.opened(version, side, channels=3, channel_max=4, dialect=STRICT[version])
    if side is SERVER:
        facing.feed(facing.method("channel.open", 4))
        assert [event.channel for event in facing.of(Opened)] == [4]
        facing.refuses(facing.method("channel.open", 5), code=504, rule="connection.tune/channel-max-highest")
        return
    facing.misuse(lambda: facing.end.open_channel(5), "connection.tune/channel-max-highest")
    facing.misuse(lambda: facing.end.open_channel(0), "connection.tune/channel-max-highest")
    facing.end.open_channel(4)
    facing.misuse(facing.end.open_channel, None)


@pytest.mark.rule("0-9-1/wire/channels-many", "0-8/wire/channels-many")
def test_a_connection_may_be_tuned_to_one_channel(version: Version) -> None:
    pair = Pair(version, client=client_config(channel_max=1)).open()
    pair.channel()
    assert (pair.client.channel_max, pair.server.channel_max) == (1, 1)


@pytest.mark.rule("0-9-1/connection.tune/frame-max-counts")
def test_frame_max_counts_the_whole_frame() -> None:
    facing = Facing.opened(AMQP_0_9_1, CLIENT, frame_max=4096)
    facing.channel.publish(b"x" * 5000, routing_key="q")
    facing.settle()
    assert [len(each.payload) + 8 for each in facing.sent()[2:]] == [4096, 5000 - 4088 + 8]


@pytest.mark.rule("0-8/connection.tune/zero-means", "0-9-1/connection.tune/zero-means")
def test_heartbeat_0_means_that_this_side_wants_none(version: Version) -> None:
    for ours, theirs, agreed in ((0, 30, 0), (60, 30, 30), (10, 30, 10), (30, 0, 30), (0, 0, 0)):
        facing = tuned_client(version, (10, 4096, theirs), heartbeat=ours)
        answer = facing.sent()[0].method
        assert (answer.heartbeat, facing.end.heartbeat) == (agreed, agreed)


def test_what_is_above_the_limits_is_never_agreed(version: Version) -> None:
    limits = Limits(channels=5, unparsed=10_000)
    facing = tuned_client(version, (0, 0), channel_max=0, frame_max=0, limits=limits)
    answer = facing.sent()[0].method
    assert (answer.channel_max, answer.frame_max) == (5, 9992)
    server = tuning_server(version, channel_max=0, frame_max=0, limits=limits)
    tune = server.sent()[0].method
    assert (tune.channel_max, tune.frame_max) == (5, 9992)


def test_a_frame_above_what_is_taken_before_tuning_ends_the_opening(version: Version) -> None:
    facing = Facing(version, CLIENT).forget()
    facing.refuses(frame(METHOD, 0, b"x" * 65_537), code=0, rule="wire/frame-oversize-receive")
