"""Configurations of 0-10: what can't work is refused at once, and what is set is what goes on the wire."""

import pickle
from typing import Any

import pytest

from amqp_sansio import AMQP_0_10, Endpoint, Failed, Limits, Side
from amqp_sansio.amqp_0_10 import Config, Connection, Dialect, MessageReceived
from amqp_sansio.amqp_0_10.spec import DtxSelect, DtxStart, Xid
from tests.kit.facing import CLIENT, SERVER
from tests.kit.facing_0_10 import Facing, client_config, server_config
from tests.kit.octets_0_10 import HEADER, open_, start, start_ok, struct32, transfer, tune, tune_ok, u32, user_id

WRONG: list[tuple[Side, dict[str, Any], str]] = [
    (CLIENT, {"sasl": None}, "sasl is needed"),
    (CLIENT, {"sasl": ()}, "sasl is needed"),
    (CLIENT, {"vhost": "x" * 256}, "longer than 255"),
    (CLIENT, {"vhost": "ü" * 128}, "longer than 255"),
    (CLIENT, {"heartbeat": -1}, "heartbeat -1"),
    (CLIENT, {"heartbeat": 65_536}, "heartbeat 65536"),
    (CLIENT, {"channel_max": 0}, "no channel"),
    (CLIENT, {"channel_max": 65_536}, "channel_max 65536"),
    (CLIENT, {"max_frame_size": 4095}, "4096"),
    (CLIENT, {"max_frame_size": 65_536}, "max_frame_size 65536"),
    (CLIENT, {"limits": Limits(channels=0)}, "no channel"),
    (CLIENT, {"limits": Limits(unparsed=65_534)}, "largest frame"),
    (CLIENT, {"locales": ()}, "locales is empty"),
    (CLIENT, {"properties": {"x": object()}}, "Config"),
    (CLIENT, {"properties": {"x" * 256: 1}}, "Config"),
    (CLIENT, {"session_timeout_max": -1}, "session_timeout_max"),
    (SERVER, {"session_timeout_max": 1 << 32}, "session_timeout_max"),
    (SERVER, {"max_frame_size": 4095}, "4096"),
    (SERVER, {"mechanisms": ()}, "mechanisms is empty"),
    (SERVER, {"mechanisms": ("PLAIN", "KERBEROS")}, "KERBEROS"),
    (SERVER, {"mechanisms": ("SCRAM-SHA-256",)}, "nonce"),
    (SERVER, {"locales": ("de_DE",)}, "en_US"),
    (SERVER, {"heartbeat_min": None, "heartbeat_max": 5}, "heartbeat_max"),
    (SERVER, {"heartbeat_min": 6, "heartbeat_max": 5}, "heartbeat_max"),
    (SERVER, {"heartbeat_min": 65_536}, "heartbeat_min"),
    (SERVER, {"heartbeat_min": 0, "heartbeat_max": 65_536}, "heartbeat_max"),
]


@pytest.mark.rule("0-10/connection.tune/minimum", "0-10/connection.tune-ok/minimum")
@pytest.mark.rule("0-10/connection.tune/permitted-range", "0-10/connection.tune/no-heartbeat-min")
@pytest.mark.rule("0-10/connection.start/required-support")
@pytest.mark.parametrize(("side", "changes", "says"), WRONG)
def test_what_cannot_work_is_refused_at_once(side: Side, changes: dict[str, Any], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        Facing(side, (client_config if side is CLIENT else server_config)(**changes))


@pytest.mark.parametrize(
    ("side", "changes"),
    [
        (CLIENT, {"vhost": "x" * 255}),
        (CLIENT, {"heartbeat": 65_535, "channel_max": 65_535, "max_frame_size": 4096}),
        (CLIENT, {"limits": Limits(unparsed=65_535)}),
        (CLIENT, {"session_timeout_max": 0xFFFF_FFFF}),
        (SERVER, {"heartbeat_min": 5, "heartbeat_max": 5}),
        (SERVER, {"heartbeat_min": None, "heartbeat_max": None}),
        (SERVER, {"mechanisms": ("SCRAM-SHA-256",), "nonce": "x" * 24}),
    ],
)
def test_the_bounds_themselves_work(side: Side, changes: dict[str, Any]) -> None:
    facing = Facing(side, (client_config if side is CLIENT else server_config)(**changes))
    assert facing.end.config == facing.end.config
    assert isinstance(facing.end, Endpoint)
    assert facing.end.VERSION is AMQP_0_10
    assert facing.end.role is side


def test_a_configuration_is_a_value() -> None:
    config = client_config(vhost="v", capabilities=("a",))
    assert pickle.loads(pickle.dumps(config)) == config
    assert config != client_config()
    assert "pw" not in repr(config)
    assert Connection.server().config == Config()


def test_properties_are_merged_over_the_cores_own() -> None:
    facing = Facing(CLIENT, client_config(properties={"product": "mine", "extra": 5}))
    facing.forget()
    facing.feed(HEADER + start())
    told = dict(facing.records()[0].client_properties)
    assert (told["product"], told["extra"], told["platform"]) == ("mine", 5, "Python")


def test_a_server_knows_who_its_client_is() -> None:
    server = Facing.started(SERVER)
    server.feed(start_ok())
    assert server.end.peer_properties == {"product": "peer"}


def test_capabilities_are_told_and_heard() -> None:
    facing = Facing.started(CLIENT, client_config(capabilities=("one", "two")))
    facing.feed(tune())
    octets = facing.sent()[-1].octets
    server = Facing.tuned(SERVER)
    server.feed(tune_ok() + octets)
    assert server.end.capabilities == ("one", "two")
    plain = Facing.tuned(SERVER)
    plain.feed(tune_ok() + open_())
    assert plain.end.capabilities == ()


@pytest.mark.parametrize(
    ("side", "wanted", "looks"),
    [(CLIENT, None, False), (CLIENT, True, True), (SERVER, None, True), (SERVER, False, False)],
)
def test_headers_are_looked_through_as_configured(side: Side, wanted: bool | None, looks: bool) -> None:
    config = (client_config if side is CLIENT else server_config)(validate_content=wanted)
    facing = Facing.subscribed(side, config)
    if side is CLIENT:
        facing.session.top_up("d", 10)
    facing.forget()
    facing.feed(transfer("d", b"x", header=struct32(0x0401, *[None] * 9, b"\x09cut")))
    assert len(facing.of(MessageReceived)) == (not looks)
    assert [failed.error.code for failed in facing.of(Failed)] == [503] * looks


@pytest.mark.parametrize(("wanted", "refused"), [(None, True), (False, False)])
def test_a_server_that_does_not_look_leaves_user_ids_to_its_application(wanted: bool | None, refused: bool) -> None:
    facing = Facing.attached(SERVER, server_config(validate_content=wanted))
    facing.feed(transfer("", b"x", header=user_id(b"bob")))
    assert [failed.error.code for failed in facing.of(Failed)] == [403] * refused


@pytest.mark.parametrize(
    ("dialect", "head"),
    [(Dialect.ERRATA, "0000000c0604"), (Dialect.SPECIFICATION, "000a")],
    ids=["errata", "specification"],
)
def test_an_xid_is_written_in_the_dialect_that_is_set(dialect: Dialect, head: str) -> None:
    facing = Facing.attached(CLIENT, client_config(dialect=dialect))
    facing.session.call(DtxSelect())
    facing.forget()
    facing.session.call(DtxStart(Xid(7, b"g", b"b")))
    (told,) = facing.sent()
    assert bytes.fromhex(head) in told.octets
    assert u32(7) + b"\x01g\x01b" in told.octets


def test_one_configuration_serves_many_connections() -> None:
    config = client_config()
    ends = [Facing.opened(CLIENT, config) for _ in range(3)]
    ends[0].end.close()
    assert [each.end.is_open for each in ends] == [False, True, True]
    assert ends[1].end.config is config
