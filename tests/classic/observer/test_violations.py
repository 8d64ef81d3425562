"""Each broken rule is reported once, by its full id, and the observation goes on."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import amqp_sansio
from amqp_sansio import AMQP_0_8, AMQP_0_9_1, Side, Version
from amqp_sansio._classic.codec.rule_ids import rule_id
from amqp_sansio.observer import Violation
from tests.kit.observing import Talk, content, frame, header
from tests.kit.pair_classic import Pair
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


def _begin(talk: Talk) -> bytes:
    """The method of a message to come."""
    return talk.octets(talk.named("basic.publish"), 1)


def _delivered(talk: Talk, tag: int = 1) -> Talk:
    return talk.consumer().server(talk.deliver(tag, b"x"))


def _called(talk: Talk, name: str) -> Talk:
    return talk.client(talk.named(name), channel=1).server(talk.named(f"{name}-ok"), channel=1)


_IN_0_8 = {
    "wire/content-weight": "wire/structured-optional",
    "wire/channel-zero": "wire/channel-range",
    "channel/closed-when": "channel/grammar",
    "method/sync-reply": "method/sync-wait",
    "basic.consume/tag-channel-scope": "domain/consumer-tag.channel-scope",
}
"""Rules that 0-8 names differently."""
_CLIENT, _SERVER = Side.CLIENT, Side.SERVER
_Row = tuple[Side, str, tuple[str, bytes | None], Callable[[Talk], Talk]]
_IN_BOTH: list[_Row] = [
    (_SERVER, "wire/heartbeat-invalid", ("heartbeat", None), lambda talk: talk.server(frame(8, 1, b""))),
    (
        _CLIENT,
        "wire/content-class",
        ("basic.publish", b"ab"),
        lambda talk: talk.client(_begin(talk), header(1, 2, class_id=10), frame(3, 1, b"ab")),
    ),
    (
        _CLIENT,
        "wire/content-weight",
        ("basic.publish", b"ab"),
        lambda talk: talk.client(_begin(talk), header(1, 2, weight=1), frame(3, 1, b"ab")),
    ),
    (
        _CLIENT,
        "wire/content-incomplete",
        ("content-body", b"abc"),
        lambda talk: talk.client(_begin(talk), header(1, 2), frame(3, 1, b"abc")),
    ),
    (_CLIENT, "wire/content-channel-zero", ("content-body", b"x"), lambda talk: talk.client(frame(3, 0, b"x"))),
    (_CLIENT, "wire/channel-zero", ("basic.qos", None), lambda talk: talk.client(talk.named("basic.qos"), channel=0)),
    (
        _CLIENT,
        "wire/channel-zero",
        ("connection.close", None),
        lambda talk: talk.client(talk.named("connection.close", 200), channel=1),
    ),
    (
        _CLIENT,
        "channel/closed-when",
        ("basic.publish", b"b"),
        lambda talk: talk.client(talk.publish(b"a", number=9), talk.publish(b"b", number=9)),
    ),
    (
        _CLIENT,
        "channel.open/already-open",
        ("channel.open", None),
        lambda talk: talk.client(talk.named("channel.open"), channel=1),
    ),
    (
        _SERVER,
        "method/sync-reply",
        ("queue.declare-ok", None),
        lambda talk: talk.server(talk.named("queue.declare-ok", "q"), channel=1),
    ),
    (
        _CLIENT,
        "basic.ack/unknown-tag",
        ("basic.ack", None),
        lambda talk: _delivered(talk).client(*[talk.named("basic.ack", 1)] * 2, channel=1),
    ),
    (
        _CLIENT,
        "basic.ack/unknown-tag",
        ("basic.ack", None),
        lambda talk: _delivered(talk).channel(2).client(talk.named("basic.ack", 1), channel=2),
    ),
    (_SERVER, "domain/delivery-tag.nonzero", ("basic.deliver", b"x"), lambda talk: _delivered(talk, 0)),
    (
        _SERVER,
        "basic.consume/tag-channel-scope",
        ("basic.deliver", b"x"),
        lambda talk: talk.server(talk.deliver(1, b"x")),
    ),
]
_IN_0_9_1: list[_Row] = [
    (_CLIENT, "tx.commit/not-transacted", ("tx.commit-ok", None), lambda talk: _called(talk, "tx.commit")),
    (_CLIENT, "tx.rollback/not-transacted", ("tx.rollback-ok", None), lambda talk: _called(talk, "tx.rollback")),
    (
        _CLIENT,
        "rabbitmq/confirm.select-not-tx",
        ("confirm.select", None),
        lambda talk: _called(talk, "tx.select").client(talk.named("confirm.select"), channel=1),
    ),
    (
        _SERVER,
        "rabbitmq/basic.ack.exists",
        ("basic.ack", None),
        lambda talk: _called(talk, "confirm.select").server(talk.named("basic.ack", 2), channel=1),
    ),
    (_CLIENT, "connection/error-scope", ("basic.deliver", b"x"), lambda talk: talk.client(talk.deliver(1, b"x"))),
]


def _rows() -> Iterator[Any]:
    for version, rows in ((AMQP_0_9_1, [*_IN_BOTH, *_IN_0_9_1]), (AMQP_0_8, _IN_BOTH)):
        for sender, name, last, build in rows:
            rule = f"{version.label}/{_IN_0_8.get(name, name) if version is AMQP_0_8 else name}"
            yield pytest.param(version, sender, rule, last, build, id=f"{rule}-{last[0]}", marks=pytest.mark.rule(rule))


@pytest.mark.parametrize(("version", "sender", "rule", "last", "build"), [*_rows()])
@pytest.mark.rule("0-9-1/domain/delivery-tag.channel-scope", "0-8/domain/delivery-tag.channel-scope")
def test_a_broken_rule_is_reported_once(
    version: Version, sender: Side, rule: str, last: tuple[str, bytes | None], build: Callable[[Talk], Talk]
) -> None:
    talk = build(_open(version))
    assert _broken(talk) == [(sender, rule)]
    assert (talk.last.event, talk.last.body) == last
    # What comes then is read as before.
    talk.client(talk.named("basic.qos"), channel=1).finish()
    assert (talk.last.event, _broken(talk), talk.skipped) == ("basic.qos", [(sender, rule)], [])


@each_version
@pytest.mark.parametrize("rule", ["wire/frame-type-unknown", "wire/frame-end-check"])
@pytest.mark.rule("0-9-1/wire/frame-type-unknown", "0-8/wire/frame-type-unknown")
@pytest.mark.rule("0-9-1/wire/frame-end-check", "0-9-1/wire/frame-end", "0-8/wire/frame-end-check")
def test_what_is_no_frame_is_skipped(version: Version, rule: str) -> None:
    talk = _open(version)
    qos = talk.octets(talk.named("basic.qos", prefetch_count=1), 1)
    octets = frame(9, 1, b"xy") if rule == "wire/frame-type-unknown" else qos[:-1] + b"\0"
    talk.client(octets).client(talk.named("basic.qos", prefetch_count=2), channel=1).finish()
    assert _broken(talk) == [(Side.CLIENT, f"{version.label}/{rule}")]
    assert talk.violations[0].offset == talk.skipped[0].offset
    assert [(each.octets, each.reason) for each in talk.skipped] == [(len(octets), "resync")]
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


@pytest.mark.rule("0-8/wire/trace-channel", "0-8/wire/frame-types")
def test_the_rare_frames_of_0_8_are_units() -> None:
    talk = _open(AMQP_0_8)
    talk.client(frame(7, 0, b"trace"), frame(7, 1, b""), frame(4, 1, b""), frame(5, 1, b"")).finish()
    assert _broken(talk) == [(Side.CLIENT, "0-8/wire/trace-channel")]
    assert [unit.event for unit in talk.observed[-4:]] == ["trace", "trace", "oob-method", "oob-header"]
    assert talk.observed[-4].content == b"trace"


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


@pytest.mark.rule("0-9-1/connection.tune/channel-max-highest")
def test_a_channel_above_channel_max() -> None:
    talk = Talk().login(channel_max=5)
    talk.client(talk.named("channel.open"), channel=5).client(talk.named("channel.open"), channel=6)
    assert _broken(talk.finish()) == [(Side.CLIENT, "0-9-1/connection.tune/channel-max-highest")]


@pytest.mark.rule("0-9-1/connection/life-cycle", "0-8/connection/grammar")
@each_version
def test_a_connection_method_out_of_order(version: Version) -> None:
    talk = Talk(version).header()
    talk.server(talk.named("connection.tune", 10, 4096, 0)).finish()
    rule = {AMQP_0_9_1: "0-9-1/connection/life-cycle", AMQP_0_8: "0-8/connection/grammar"}[version]
    assert _broken(talk) == [(Side.SERVER, rule)]


@pytest.mark.rule("0-9-1/basic.consume/tag-in-use", "0-8/basic.consume/tag-in-use")
@each_version
def test_a_consumer_tag_in_use(version: Version) -> None:
    talk = _open(version).consumer()
    again = talk.named("basic.consume", queue="q", consumer_tag="ct")
    talk.client(again, channel=1).server(talk.named("basic.consume-ok", "ct"), channel=1).finish()
    assert _broken(talk) == [(Side.CLIENT, f"{version.label}/basic.consume/tag-in-use")]
    assert talk.last.answers == talk.last.seq - 1


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


# What RabbitMQ ignores or refuses breaks no rule of the specification: a warning.

_DISREGARDED: dict[str, Callable[[Talk], object]] = {
    "basic.qos.prefetch-size": lambda talk: talk.named("basic.qos", 4096, 1, False),
    "basic.publish.immediate": lambda talk: talk.publish(b"x", routing_key="q", immediate=True),
    "basic.consume.no-local": lambda talk: talk.named("basic.consume", queue="q", no_local=True),
    "recover-requeue-false": lambda talk: talk.named("basic.recover", requeue=False),
    "exchange.declare.type": lambda talk: talk.named("exchange.declare", exchange="e", type=""),
    "channel.flow.stop": lambda talk: talk.named("channel.flow", False),
}


@pytest.mark.rule("0-9-1/rabbitmq/basic.qos.prefetch-size")
@pytest.mark.rule("0-9-1/rabbitmq/basic.publish.immediate")
@pytest.mark.rule("0-9-1/rabbitmq/basic.consume.no-local")
@pytest.mark.rule("0-9-1/rabbitmq/exchange.declare.type")
@pytest.mark.rule("0-9-1/rabbitmq/channel.flow.stop")
@pytest.mark.parametrize("name", _DISREGARDED)
@each_version
def test_what_rabbitmq_disregards_is_a_warning(version: Version, name: str) -> None:
    talk = _open(version)
    talk.client(_DISREGARDED[name](talk), channel=1)
    ((sender, rule, severity, seq),) = [(each.sender, each.rule, each.severity, each.seq) for each in talk.violations]
    assert (sender, rule, severity) == (Side.CLIENT, f"0-9-1/rabbitmq/{name}", "warning")
    assert seq == talk.last.seq
    assert not talk.client(talk.named("queue.declare", queue="q"), channel=1).violations[1:]


@each_version
def test_a_server_of_another_make_may_honour_it(version: Version) -> None:
    talk = Talk(version).header()
    major, minor = talk.dialect.version_major, talk.dialect.version_minor
    properties = {"product": "qpid-java-broker"}
    talk.server(talk.named("connection.start", major, minor, properties, b"PLAIN", b"en_US"))
    talk.client(talk.named("connection.start-ok", {"product": "Y"}, "PLAIN", b"\0ann\0pw", "en_US"))
    talk.server(talk.named("connection.tune", 2047, 131_072, 60))
    talk.client(talk.named("connection.tune-ok", 2047, 131_072, 60), talk.named("connection.open", "/"))
    talk.server(talk.named("connection.open-ok")).channel()
    talk.client(talk.publish(b"x", routing_key="q", immediate=True))
    assert not talk.violations


@each_version
def test_a_server_takes_what_rabbitmq_disregards(version: Version) -> None:
    pair = Pair(version).open()
    channel = pair.channel()
    channel.publish(b"x", routing_key="q", immediate=True)
    pair.pump()
    assert pair.client.is_open and channel.is_open


@each_version
@pytest.mark.rule("0-9-1/domain/delivery-tag.channel-scope", "0-8/domain/delivery-tag.channel-scope")
def test_a_reply_that_breaks_a_rule_still_answers_its_request(version: Version) -> None:
    """Else each reply that follows would answer the request before its own."""
    talk = _open(version)
    asked: list[int] = []
    for tag in (1, 1, 2):
        asked.append(talk.client(talk.named("basic.get", queue="q"), channel=1).last.seq)
        talk.server(talk.message(talk.named("basic.get-ok", tag, exchange="ex", routing_key="key"), b"x"))
    replies = [unit for unit in talk.observed if unit.event == "basic.get-ok"]
    assert [unit.answers for unit in replies] == asked
    assert _broken(talk) == [(Side.SERVER, f"{version.label}/domain/delivery-tag.channel-scope")]
