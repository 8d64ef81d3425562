"""Each broken rule is reported once, by its full id, and the observation goes on."""

from collections.abc import Callable
from pathlib import Path

import pytest

import amqp_sansio
from amqp_sansio import AMQP_0_8, AMQP_0_9_1, Side, Version
from amqp_sansio._classic.codec.rule_ids import rule_id
from amqp_sansio.observer import Violation
from tests.kit.observing import Talk, content, frame, header
from tools.conformance.rules import read_rules

VERSIONS = (AMQP_0_9_1, AMQP_0_8)
each_version = pytest.mark.parametrize("version", VERSIONS, ids=lambda version: version.label)


def _open(version: Version = AMQP_0_9_1, **options: int) -> Talk:
    return Talk(version).login(**options).channel()


def _broken(talk: Talk) -> list[tuple[Side, str]]:
    return [(violation.sender, violation.rule) for violation in talk.violations]


@each_version
def test_a_connection_without_faults_breaks_no_rule(version: Version) -> None:
    talk = _open(version).consumer()
    talk.client(talk.publish(b"hello", routing_key="q")).server(talk.deliver(1, b"hello"))
    talk.client(talk.named("basic.ack", 1), channel=1)
    talk.client(talk.named("channel.close"), channel=1)
    talk.server(talk.named("channel.close-ok"), channel=1)
    talk.client(talk.named("connection.close", 200)).server(talk.named("connection.close-ok"))
    talk.finish()
    assert not talk.violations
    assert not talk.skipped
    events = [unit.event for unit in talk.observed]
    assert events[0] == "protocol-header"
    assert events[-3:] == ["channel.close-ok", "connection.close", "connection.close-ok"]


@each_version
@pytest.mark.rule("0-9-1/wire/frame-type-unknown", "0-8/wire/frame-type-unknown")
def test_a_frame_of_unknown_type(version: Version) -> None:
    talk = _open(version).client(frame(9, 1, b"xy"))
    talk.client(talk.named("basic.qos"), channel=1).finish()
    assert _broken(talk) == [(Side.CLIENT, f"{version.label}/wire/frame-type-unknown")]
    assert [(each.octets, each.reason) for each in talk.skipped] == [(10, "resync")]
    assert talk.last.event == "basic.qos"


@each_version
@pytest.mark.rule("0-9-1/wire/frame-end-check", "0-9-1/wire/frame-end", "0-8/wire/frame-end-check")
def test_a_frame_without_its_end(version: Version) -> None:
    talk = _open(version)
    qos = bytearray(talk.octets(talk.named("basic.qos", prefetch_count=1), 1))
    qos[-1] = 0
    talk.client(bytes(qos)).client(talk.named("basic.qos", prefetch_count=2), channel=1).finish()
    assert _broken(talk) == [(Side.CLIENT, f"{version.label}/wire/frame-end-check")]
    assert talk.violations[0].offset == talk.skipped[0].offset
    assert [(each.octets, each.reason) for each in talk.skipped] == [(len(qos), "resync")]
    assert talk.last.content.prefetch_count == 2


@pytest.mark.rule("0-9-1/wire/frame-oversize-send", "0-8/wire/frame-oversize-send")
@each_version
def test_a_body_frame_above_frame_max(version: Version) -> None:
    talk = _open(version, frame_max=4096).consumer()
    method = talk.octets(talk.named("basic.deliver", "ct", 1), 1)
    talk.server(method + content(1, bytes(4097))).server(talk.deliver(2, b"x")).finish()
    assert _broken(talk) == [(Side.SERVER, f"{version.label}/wire/frame-oversize-send")]
    assert not talk.skipped
    assert [unit.body_size for unit in talk.observed[-2:]] == [4097, 1]


def test_rabbitmq_and_its_clients_may_fill_a_frame_eight_octets_over_frame_max() -> None:
    talk = _open(frame_max=4096)
    talk.client(talk.publish(bytes(4096))).finish()
    assert not talk.violations
    assert talk.last.body_size == 4096


@pytest.mark.rule("0-9-1/wire/heartbeat-invalid", "0-8/wire/heartbeat-invalid")
@each_version
def test_a_heartbeat_on_a_channel(version: Version) -> None:
    talk = _open(version).server(frame(8, 1, b"")).server(frame(8, 0, b"")).finish()
    assert _broken(talk) == [(Side.SERVER, f"{version.label}/wire/heartbeat-invalid")]
    assert [unit.event for unit in talk.observed[-2:]] == ["heartbeat", "heartbeat"]


@pytest.mark.rule("0-8/wire/trace-channel", "0-8/wire/frame-types")
def test_the_rare_frames_of_0_8_are_units() -> None:
    talk = _open(AMQP_0_8)
    talk.client(frame(7, 0, b"trace"), frame(7, 1, b""), frame(4, 1, b""), frame(5, 1, b"")).finish()
    assert _broken(talk) == [(Side.CLIENT, "0-8/wire/trace-channel")]
    assert [unit.event for unit in talk.observed[-4:]] == ["trace", "trace", "oob-method", "oob-header"]
    assert talk.observed[-4].content == b"trace"


@pytest.mark.rule("0-9-1/wire/content-class", "0-8/wire/content-class")
@each_version
def test_a_header_of_another_class(version: Version) -> None:
    talk = _open(version)
    method = talk.octets(talk.named("basic.publish"), 1)
    talk.client(method, header(1, 2, class_id=10), frame(3, 1, b"ab")).finish()
    assert _broken(talk) == [(Side.CLIENT, f"{version.label}/wire/content-class")]
    assert (talk.last.event, talk.last.body) == ("basic.publish", b"ab")


@pytest.mark.rule("0-9-1/wire/content-weight", "0-8/wire/structured-optional")
@each_version
def test_a_header_with_a_weight(version: Version) -> None:
    talk = _open(version)
    method = talk.octets(talk.named("basic.publish"), 1)
    talk.client(method, header(1, 2, weight=1), frame(3, 1, b"ab")).finish()
    rule = {AMQP_0_9_1: "0-9-1/wire/content-weight", AMQP_0_8: "0-8/wire/structured-optional"}[version]
    assert _broken(talk) == [(Side.CLIENT, rule)]
    assert talk.last.body == b"ab"


@pytest.mark.rule("0-9-1/wire/content-incomplete", "0-8/wire/content-incomplete")
@each_version
def test_a_method_within_a_message(version: Version) -> None:
    talk = _open(version)
    method = talk.octets(talk.named("basic.publish"), 1)
    talk.client(method, header(1, 10), frame(3, 1, b"abc"))
    talk.client(talk.named("basic.qos"), channel=1).finish()
    assert _broken(talk) == [(Side.CLIENT, f"{version.label}/wire/content-incomplete")]
    publish, qos = talk.observed[-2:]
    assert (publish.unit, publish.event, publish.missing) == ("partial", "basic.publish", 7)
    assert talk.violations[0].seq == publish.seq
    assert qos.event == "basic.qos"


@pytest.mark.rule("0-9-1/wire/content-parts", "0-9-1/wire/content-sequential")
def test_content_frames_that_belong_to_no_message_are_reported_once() -> None:
    talk = _open()
    talk.client(header(1, 4), frame(3, 1, b"ab"), frame(3, 1, b"cd"))
    talk.client(talk.publish(b"x")).finish()
    assert _broken(talk) == [(Side.CLIENT, "0-9-1/wire/content-incomplete")]
    units = [(unit.unit, unit.event) for unit in talk.observed[-4:]]
    assert units == [("frame", "content-header"), *[("frame", "content-body")] * 2, ("content", "basic.publish")]


def test_a_body_longer_than_announced() -> None:
    talk = _open()
    method = talk.octets(talk.named("basic.publish"), 1)
    talk.client(method, header(1, 2), frame(3, 1, b"abc")).client(talk.publish(b"x")).finish()
    assert _broken(talk) == [(Side.CLIENT, "0-9-1/wire/content-incomplete")]
    assert [unit.unit for unit in talk.observed[-3:]] == ["partial", "frame", "content"]


def test_an_empty_body_frame_behind_an_empty_message_is_tolerated() -> None:
    talk = _open()
    talk.client(talk.publish(b""), frame(3, 1, b"")).finish()
    assert not talk.violations


@pytest.mark.rule("0-9-1/wire/content-abort", "0-8/wire/content-abort")
@each_version
def test_closing_a_channel_within_a_message_is_allowed(version: Version) -> None:
    talk = _open(version)
    method = talk.octets(talk.named("basic.publish"), 1)
    talk.client(method, header(1, 10)).client(talk.named("channel.close"), channel=1).finish()
    assert not talk.violations
    assert [unit.event for unit in talk.observed[-2:]] == ["basic.publish", "channel.close"]
    assert talk.observed[-2].missing == 10


@pytest.mark.rule("0-9-1/wire/content-channel-zero", "0-8/wire/content-channel-zero")
@each_version
def test_content_on_channel_zero(version: Version) -> None:
    talk = _open(version).client(frame(3, 0, b"x")).finish()
    assert _broken(talk) == [(Side.CLIENT, f"{version.label}/wire/content-channel-zero")]


@pytest.mark.rule("0-9-1/wire/channel-zero", "0-8/wire/channel-range")
@each_version
def test_methods_on_the_wrong_kind_of_channel(version: Version) -> None:
    talk = _open(version).client(talk_qos(version), channel=0)
    talk.client(talk.named("connection.close", 200), channel=1).finish()
    rule = {AMQP_0_9_1: "0-9-1/wire/channel-zero", AMQP_0_8: "0-8/wire/channel-range"}[version]
    assert _broken(talk) == [(Side.CLIENT, rule)] * 2


def talk_qos(version: Version) -> bytes:
    """basic.qos on channel 0."""
    talk = Talk(version)
    return talk.octets(talk.named("basic.qos"), 0)


@pytest.mark.rule("0-9-1/channel/closed-when", "0-8/channel/grammar")
@each_version
def test_a_method_on_a_channel_that_is_not_open_is_reported_once(version: Version) -> None:
    talk = _open(version)
    talk.client(talk.publish(b"a", number=9), talk.publish(b"b", number=9)).finish()
    rule = {AMQP_0_9_1: "0-9-1/channel/closed-when", AMQP_0_8: "0-8/channel/grammar"}[version]
    assert _broken(talk) == [(Side.CLIENT, rule)]
    assert [unit.body for unit in talk.observed[-2:]] == [b"a", b"b"]


@pytest.mark.rule("0-9-1/channel.open/already-open", "0-8/channel.open/already-open")
@each_version
def test_opening_an_open_channel(version: Version) -> None:
    talk = _open(version).client(Talk(version).named("channel.open"), channel=1).finish()
    assert _broken(talk) == [(Side.CLIENT, f"{version.label}/channel.open/already-open")]


@pytest.mark.rule("0-9-1/connection.tune/channel-max-highest")
def test_a_channel_above_channel_max() -> None:
    talk = Talk().login(channel_max=5)
    talk.client(talk.named("channel.open"), channel=5).client(talk.named("channel.open"), channel=6)
    assert _broken(talk.finish()) == [(Side.CLIENT, "0-9-1/connection.tune/channel-max-highest")]


@pytest.mark.rule("0-9-1/method/sync-reply", "0-8/method/sync-wait")
@each_version
def test_a_reply_to_nothing(version: Version) -> None:
    talk = _open(version).server(Talk(version).named("queue.declare-ok", "q"), channel=1).finish()
    rule = {AMQP_0_9_1: "0-9-1/method/sync-reply", AMQP_0_8: "0-8/method/sync-wait"}[version]
    assert _broken(talk) == [(Side.SERVER, rule)]


@pytest.mark.rule("0-9-1/connection/life-cycle", "0-8/connection/grammar")
@each_version
def test_a_connection_method_out_of_order(version: Version) -> None:
    talk = Talk(version).header()
    talk.server(talk.named("connection.tune", 10, 4096, 0)).finish()
    rule = {AMQP_0_9_1: "0-9-1/connection/life-cycle", AMQP_0_8: "0-8/connection/grammar"}[version]
    assert _broken(talk) == [(Side.SERVER, rule)]


@pytest.mark.rule("0-9-1/basic.ack/unknown-tag", "0-8/basic.ack/unknown-tag")
@each_version
def test_acknowledging_twice(version: Version) -> None:
    talk = _open(version).consumer().server(Talk(version).deliver(1, b"x"))
    talk.client(talk.named("basic.ack", 1), talk.named("basic.ack", 1), channel=1).finish()
    assert _broken(talk) == [(Side.CLIENT, f"{version.label}/basic.ack/unknown-tag")]


@pytest.mark.rule("0-9-1/domain/delivery-tag.channel-scope", "0-8/domain/delivery-tag.channel-scope")
@each_version
def test_acknowledging_on_another_channel(version: Version) -> None:
    talk = _open(version).consumer().channel(2).server(Talk(version).deliver(1, b"x"))
    talk.client(talk.named("basic.ack", 1), channel=2).finish()
    assert _broken(talk) == [(Side.CLIENT, f"{version.label}/basic.ack/unknown-tag")]


@pytest.mark.rule("0-9-1/domain/delivery-tag.nonzero", "0-8/domain/delivery-tag.nonzero")
@each_version
def test_a_delivery_with_tag_zero(version: Version) -> None:
    talk = _open(version).consumer().server(Talk(version).deliver(0, b"x")).finish()
    assert _broken(talk) == [(Side.SERVER, f"{version.label}/domain/delivery-tag.nonzero")]
    assert talk.last.body == b"x"


@pytest.mark.rule("0-9-1/basic.consume/tag-in-use", "0-8/basic.consume/tag-in-use")
@each_version
def test_a_consumer_tag_in_use(version: Version) -> None:
    talk = _open(version).consumer()
    again = talk.named("basic.consume", queue="q", consumer_tag="ct")
    talk.client(again, channel=1).server(talk.named("basic.consume-ok", "ct"), channel=1).finish()
    assert _broken(talk) == [(Side.CLIENT, f"{version.label}/basic.consume/tag-in-use")]
    assert talk.last.answers == talk.last.seq - 1


@pytest.mark.rule("0-8/domain/consumer-tag.channel-scope", "0-9-1/basic.consume/tag-channel-scope")
@each_version
def test_a_delivery_for_nobody(version: Version) -> None:
    talk = _open(version).server(Talk(version).deliver(1, b"x")).finish()
    rule = {AMQP_0_9_1: "0-9-1/basic.consume/tag-channel-scope", AMQP_0_8: "0-8/domain/consumer-tag.channel-scope"}[
        version
    ]
    assert _broken(talk) == [(Side.SERVER, rule)]


@pytest.mark.rule("0-9-1/tx.commit/not-transacted", "0-9-1/tx.rollback/not-transacted")
def test_ending_a_transaction_that_was_never_begun() -> None:
    for name in ("tx.commit", "tx.rollback"):
        talk = _open()
        talk.client(talk.named(name), channel=1).server(talk.named(f"{name}-ok"), channel=1).finish()
        assert _broken(talk) == [(Side.CLIENT, f"0-9-1/{name}/not-transacted")]


@pytest.mark.rule("0-9-1/rabbitmq/confirm.select-not-tx")
def test_confirms_on_a_transacted_channel() -> None:
    talk = _open()
    talk.client(talk.named("tx.select"), channel=1).server(talk.named("tx.select-ok"), channel=1)
    talk.client(talk.named("confirm.select"), channel=1).finish()
    assert _broken(talk) == [(Side.CLIENT, "0-9-1/rabbitmq/confirm.select-not-tx")]


@pytest.mark.rule("0-9-1/rabbitmq/basic.ack.exists")
def test_confirming_what_was_not_published() -> None:
    talk = _open().client(Talk().named("confirm.select"), channel=1)
    talk.server(talk.named("confirm.select-ok"), channel=1).client(talk.publish(b"x"))
    talk.server(talk.named("basic.ack", 2), channel=1).finish()
    assert _broken(talk) == [(Side.SERVER, "0-9-1/rabbitmq/basic.ack.exists")]


def test_a_method_of_the_other_side() -> None:
    talk = _open().client(Talk().deliver(1, b"x")).finish()
    assert _broken(talk) == [(Side.CLIENT, "0-9-1/connection/error-scope")]


@pytest.mark.rule("0-9-1/wire/method-payload", "0-8/wire/method-payload")
@each_version
def test_methods_that_can_not_be_read(version: Version) -> None:
    talk = _open(version)
    qos = talk.octets(talk.named("basic.qos"), 1)
    talk.client(frame(1, 1, b"\0\x63\0\x01"), frame(1, 1, b"\0"), frame(1, 1, qos[7:-3])).finish()
    assert _broken(talk) == [(Side.CLIENT, f"{version.label}/wire/method-payload")] * 3
    units = [(unit.unit, unit.event, unit.content) for unit in talk.observed[-3:]]
    assert units == [
        ("unknown", "unknown", b"\0\x63\0\x01"),
        ("unknown", "unknown", b"\0"),
        ("method", "basic.qos", qos[7:-3]),
    ]


@pytest.mark.rule("0-9-1/wire/table-layout", "0-9-1/wire/table-tags")
def test_a_table_that_can_not_be_read() -> None:
    talk = _open()
    declare = talk.octets(talk.named("queue.declare", queue="q", arguments={"x": 1}), 1)
    talk.client(declare.replace(b"\x01xI", b"\x01x\xff")).finish()
    (violation,) = talk.violations
    assert violation.rule in ("0-9-1/wire/method-payload", "0-9-1/wire/table-tags", "0-9-1/wire/table-layout")
    assert (talk.last.event, type(talk.last.content)) == ("queue.declare", bytes)


@pytest.mark.rule("0-9-1/wire/content-flags")
def test_properties_that_can_not_be_read_leave_the_message() -> None:
    talk = _open()
    method = talk.octets(talk.named("basic.publish"), 1)
    talk.client(method, header(1, 1, b"\x80\0\xff"), frame(3, 1, b"x")).finish()
    assert _broken(talk) == [(Side.CLIENT, "0-9-1/wire/content-incomplete")]
    assert talk.last.body == b"x"
    assert talk.violations[0].seq == talk.last.seq


def _tuned(tune: tuple[int, int, int], tune_ok: tuple[int, int, int]) -> Callable[[Version], Talk]:
    def talk(version: Version) -> Talk:
        it = Talk(version).header()
        major, minor = it.dialect.version_major, it.dialect.version_minor
        it.server(it.named("connection.start", major, minor, {}, b"PLAIN", b"en_US"))
        it.client(it.named("connection.start-ok", {}, "PLAIN", b"\0a\0b", "en_US"))
        it.server(it.named("connection.tune", *tune))
        return it.client(it.named("connection.tune-ok", *tune_ok)).finish()

    return talk


@pytest.mark.rule("0-9-1/connection.tune-ok/channel-max-limit", "0-9-1/connection.tune-ok/channel-max-le")
@pytest.mark.rule("0-8/connection.tune-ok/channel-max<=tune")
def test_a_higher_channel_max_than_offered() -> None:
    for answer in (11, 0):
        broken = _broken(_tuned((10, 0, 0), (answer, 0, 0))(AMQP_0_9_1))
        assert broken == [(Side.CLIENT, "0-9-1/connection.tune-ok/channel-max-limit")]
        broken = _broken(_tuned((10, 0, 0), (answer, 0, 0))(AMQP_0_8))
        assert broken == [(Side.CLIENT, "0-8/connection.tune-ok/channel-max<=tune")]
    assert not _tuned((0, 0, 0), (9, 0, 0))(AMQP_0_9_1).violations


@pytest.mark.rule("0-9-1/connection.tune-ok/frame-max-limit", "0-8/connection.tune-ok/lower")
def test_a_higher_frame_max_than_offered() -> None:
    for answer in (5001, 0):
        broken = _broken(_tuned((0, 5000, 0), (0, answer, 0))(AMQP_0_9_1))
        assert broken == [(Side.CLIENT, "0-9-1/connection.tune-ok/frame-max-limit")]
    assert not _tuned((0, 5000, 0), (0, 4096, 0))(AMQP_0_8).violations


@pytest.mark.rule("0-9-1/connection.tune/frame-min", "0-9-1/connection.tune-ok/frame-min")
@pytest.mark.rule("0-8/connection.tune/accept-4096", "0-8/connection.tune-ok/accept-4096")
def test_a_frame_max_below_the_least() -> None:
    broken = _broken(_tuned((0, 4095, 0), (0, 4095, 0))(AMQP_0_9_1))
    assert broken == [
        (Side.SERVER, "0-9-1/connection.tune/frame-min"),
        (Side.CLIENT, "0-9-1/connection.tune-ok/frame-min"),
    ]
    broken = _broken(_tuned((0, 4095, 0), (0, 4095, 0))(AMQP_0_8))
    assert broken == [
        (Side.SERVER, "0-8/connection.tune/accept-4096"),
        (Side.CLIENT, "0-8/connection.tune-ok/accept-4096"),
    ]


@pytest.mark.rule("0-9-1/connection.start-ok/mechanism-not-offered", "0-8/connection.start-ok/mechanism-not-offered")
@each_version
def test_a_mechanism_that_was_not_offered(version: Version) -> None:
    talk = Talk(version).header()
    major, minor = talk.dialect.version_major, talk.dialect.version_minor
    talk.server(talk.named("connection.start", major, minor, {}, b"PLAIN EXTERNAL", b"en_US"))
    talk.client(talk.named("connection.start-ok", {}, "PLAI", b"", "en_US")).finish()
    rule = f"{version.label}/connection.start-ok/mechanism-not-offered"
    assert _broken(talk) == [(Side.CLIENT, rule)]


@pytest.mark.rule("0-9-1/wire/header-client-first", "0-8/wire/header-client-first")
@pytest.mark.parametrize("first", [b"GET / HTTP/1.1\r\n", b"amqp\0\0\x09\x01", b"\x16\x03\x01\x02\0\x01\0\x01"])
@pytest.mark.parametrize("answered", [True, False])
def test_a_client_that_begins_with_something_else(first: bytes, answered: bool) -> None:
    talk = Talk().client(first)
    if answered:
        talk.server(b"AMQP\0\0\x09\x01")
    talk.finish()
    (violation,) = talk.violations
    assert violation.rule == "0-9-1/wire/header-client-first"
    assert violation.severity == ("error" if answered else "warning")
    assert repr(first[:8]) in violation.text
    assert [(each.octets, each.reason) for each in talk.skipped] == [(len(first), "unrecognised")]


def test_every_rule_of_the_engine_is_one_of_the_specifications() -> None:
    rules = read_rules()
    folder = Path(amqp_sansio.__file__).parent / "_classic"
    names = {
        part.partition('"')[0] for path in sorted(folder.rglob("*.py")) for part in path.read_text().split('rule="')[1:]
    }
    assert len(names) > 20
    for name in sorted(names):
        ids = [rule_id(version, name) for version in VERSIONS]
        assert any([rules.find(each) is not None for each in ids]), ids


def test_violations_say_where_and_when() -> None:
    talk = _open()
    offset = sum([len(what) for sender, what in talk.arrivals if sender == "client" and isinstance(what, bytes)])
    talk.client(talk.publish(b"x"), talk.publish(b"a", number=3)).finish()
    (violation,) = talk.violations
    size = len(talk.publish(b"x"))
    assert violation == Violation(
        Side.CLIENT,
        "0-9-1/channel/closed-when",
        "error",
        "basic.publish on channel 3, which isn't open",
        offset + size,
        talk.last.at_ns,
        talk.last.seq,
        3,
    )


@each_version
@pytest.mark.rule("0-9-1/wire/content-split", "0-9-1/wire/content-join", "0-9-1/wire/channels-many")
@pytest.mark.rule("0-8/wire/content-split", "0-8/wire/content-join", "0-8/wire/channels-many")
def test_messages_in_pieces_on_several_channels_are_one_unit_each(version: Version) -> None:
    talk = _open(version).channel(2)
    for number in (1, 2):
        talk.client(talk.octets(talk.named("basic.publish"), number), header(number, 6))
    for piece in (b"ab", b"cd", b"ef"):
        talk.client(frame(3, 1, piece)).client(frame(3, 2, piece.upper()))
    first, second = talk.finish().observed[-2:]
    assert not talk.violations
    assert [(unit.channel, unit.body) for unit in (first, second)] == [(1, b"abcdef"), (2, b"ABCDEF")]
    assert first.size == len(talk.octets(talk.named("basic.publish"), 1)) + len(header(1, 6)) + 3 * 10


@each_version
@pytest.mark.rule("0-9-1/connection.close/discard", "0-9-1/wire/heartbeat-until-socket-close")
@pytest.mark.rule("0-9-1/channel.close/discard", "0-8/connection.close/discard", "0-8/channel.close/discard")
def test_what_crosses_a_close_is_no_fault(version: Version) -> None:
    talk = _open(version).consumer()
    named = talk.named
    talk.client(named("channel.close"), channel=1).server(talk.deliver(1, b"crossing"))
    talk.server(named("channel.close", 404), channel=1).client(named("channel.close-ok"), channel=1)
    talk.server(named("channel.close-ok"), channel=1).channel(2)
    talk.server(named("connection.close", 320)).client(talk.publish(b"crossing", 2))
    talk.client(named("connection.close", 200)).server(frame(8, 0, b"")).client(frame(8, 0, b""))
    talk.server(named("connection.close-ok")).client(named("connection.close-ok"), frame(8, 0, b""))
    assert not talk.finish().violations


def test_settling_everything_while_a_delivery_is_on_its_way_is_a_race() -> None:
    """The client's "all so far" doesn't know of the delivery that the server had sent by then."""
    talk = _open().consumer().server(Talk().deliver(1, b"on its way"))
    talk.client(talk.named("basic.ack", 0, True), talk.named("basic.ack", 1), channel=1)
    assert not talk.violations
    talk.client(talk.named("basic.ack", 2), channel=1).finish()
    assert talk.rules == ["0-9-1/basic.ack/unknown-tag"]


def test_a_delivery_that_was_recovered_before_the_client_knew_is_a_race() -> None:
    talk = _open().consumer().server(Talk().deliver(1, b"x"))
    talk.client(talk.named("basic.recover", True), channel=1)
    talk.server(talk.named("basic.recover-ok"), channel=1)
    talk.client(talk.named("basic.ack", 1), channel=1).finish()
    assert not talk.violations
