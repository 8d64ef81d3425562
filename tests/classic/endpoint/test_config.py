"""Configuration: what can't work is refused at once; channels are used before their opening is answered."""

from typing import Any

import pytest

from amqp_sansio import AMQP_0_9_1, Abandoned, EndpointClosed, Limits, LocalProtocolError, Opened, Version
from amqp_sansio.amqp_0_9_1 import Config, Published
from amqp_sansio.endpoint import Side
from amqp_sansio.sasl import Plain
from tests.kit.pair_classic import Pair, client_config, connection_of, server_config


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"frame_max": 4095}, "frame_max"),
        ({"frame_max": 1 << 32}, "frame_max"),
        ({"channel_max": 65_536}, "channel_max"),
        ({"channel_max": -1}, "channel_max"),
        ({"heartbeat": 65_536.0}, "heartbeat"),
        ({"heartbeat": -1.0}, "heartbeat"),
        ({"vhost": "/" * 256}, "vhost"),
        ({"locale": "x" * 256}, "locale"),
        ({"known_hosts": "x" * 256}, "known_hosts"),
        ({"properties": {"set": {1, 2}}}, "Config"),
        ({"limits": Limits(unparsed=4000)}, "unparsed"),
        ({"limits": Limits(nesting=1000)}, "depth"),
    ],
)
def test_a_configuration_that_cannot_work_is_refused_at_once(side: Side, changes: dict[str, Any], text: str) -> None:
    made = client_config if side is Side.CLIENT else server_config
    with pytest.raises(ValueError, match=text):
        connection_of(AMQP_0_9_1, side, made(**changes))


def test_a_client_needs_a_mechanism_and_a_server_mechanisms_it_knows() -> None:
    with pytest.raises(ValueError, match=r"Config\.sasl"):
        connection_of(AMQP_0_9_1, Side.CLIENT, Config())
    with pytest.raises(ValueError, match="Config"):
        connection_of(AMQP_0_9_1, Side.SERVER, Config(mechanisms=("NONSENSE",)))


def test_a_channel_is_used_before_its_opening_is_answered(pair: Pair) -> None:
    channel = pair.client.open_channel()
    handle = channel.call(pair.method("queue.declare", queue="q"))
    channel.publish(b"early", routing_key="q")
    opening = channel.opening
    pair.pump()
    assert [event.pending for event in pair.take(Side.CLIENT, Opened) if event.channel] == [opening]
    assert handle.done
    assert len(pair.take(Side.SERVER, Published)) == 1


def test_a_close_beats_the_opening_of_a_channel(pair: Pair) -> None:
    channel = pair.client.open_channel()
    opening = channel.opening
    channel.close()
    pair.pump()
    (abandoned,) = pair.take(Side.CLIENT, Abandoned)
    assert abandoned.pendings == (opening,)
    assert pair.client.channels == pair.server.channels == ()


def test_calls_before_the_connection_is_open_are_misuse(version: Version) -> None:
    connection = connection_of(version, Side.CLIENT)
    with pytest.raises(LocalProtocolError, match="not open yet"):
        connection.open_channel()
    with pytest.raises(EndpointClosed):
        connection.channel(1)
    with pytest.raises(LocalProtocolError):
        connection_of(version, Side.CLIENT, client_config(sasl=Plain("a", "b"))).call(
            Pair(version).method("channel.flow")
        )
