"""Where an observation begins: protocol headers, connections seen from the middle, other protocols, no AMQP at all."""

import pickle

import pytest

from amqp_sansio import AMQP_0_8, AMQP_0_9_1, AMQP_0_10, AMQP_1_0, LocalProtocolError, Side, Version
from amqp_sansio.observer import Identified, Observer
from tests.kit.observing import CLIENT, SERVER, Talk, frame, take

VERSIONS = (AMQP_0_9_1, AMQP_0_8)
each_version = pytest.mark.parametrize("version", VERSIONS, ids=lambda version: version.label)


def _identified(talk: Talk) -> list[Identified]:
    return [event for event in talk.events if isinstance(event, Identified)]


@each_version
@pytest.mark.rule("0-9-1/wire/header-all-eight")
def test_the_header_says_version_and_sides(version: Version) -> None:
    for late in (False, True):
        talk = Talk(version, late=late).login().finish()
        (event,) = _identified(talk)
        assert (event.version, event.client) == (version, CLIENT)
        assert event.by == ("header" if late else "told")
        first = talk.observed[0]
        assert (first.unit, first.event, first.content) == ("header", "protocol-header", version.header)
        assert (first.sender, first.offset, first.size) == (Side.CLIENT, 0, 8)


@pytest.mark.parametrize(
    ("octets", "version"),
    [
        (b"AMQP\x01\x01\x00\x09", AMQP_0_9_1),
        (b"AMQP\x01\x01\x09\x01", AMQP_0_8),
        (b"AMQP\x01\x01\x00\x0a", AMQP_0_10),
        (b"AMQP\x00\x01\x00\x00", AMQP_1_0),
        (b"AMQP\x03\x01\x00\x00", AMQP_1_0),
    ],
)
def test_other_headers_of_the_same_versions(octets: bytes, version: Version) -> None:
    talk = Talk().client(octets).finish()
    assert [event.version for event in _identified(talk)] == [version]
    assert talk.last.content == octets


@pytest.mark.rule("0-9-1/wire/header-unsupported", "0-9-1/connection.start/protocol-name")
def test_a_server_that_refuses_the_version() -> None:
    talk = Talk().header().server(b"AMQP\0\0\x09\x01").finish()
    assert not talk.violations
    assert [unit.event for unit in talk.observed] == ["protocol-header"] * 2
    record = talk.lifecycle.connection
    assert (record.closed_by, record.close_text) == (
        "server",
        "the server answered with its own protocol header, 0-0-9-1",
    )


def test_an_unknown_version_waits_for_the_servers_answer() -> None:
    refused = Talk().client(b"AMQP\0\0\x09\x09")
    assert not refused.events
    refused.server(b"AMQP\0\0\x09\x01").finish()
    assert [event.version for event in _identified(refused)] == [None]
    assert [unit.event for unit in refused.observed] == ["protocol-header"] * 2
    assert refused.lifecycle.connection.closed_by == "server"

    taken = Talk().client(b"AMQP\0\0\x09\x09")
    taken.server(taken.named("connection.start", 0, 9, {}, b"PLAIN", b"en_US")).finish()
    assert [event.version for event in _identified(taken)] == [AMQP_0_9_1]
    assert [unit.event for unit in taken.observed] == ["protocol-header", "connection.start"]


def test_a_version_that_nobody_knows_is_counted() -> None:
    header = b"AMQP\0\0\x09\x09"
    talk = Talk().client(header + b"abc").server(header).server(b"defg").client(b"h")
    talk.gap(SERVER, 100).server(b"ijk").finish()
    assert not talk.violations
    assert [unit.content for unit in talk.observed] == [header] * 2
    assert [(each.sender, each.offset, each.octets, each.reason) for each in talk.skipped] == [
        (Side.SERVER, 8, 4, "unrecognised"),
        (Side.SERVER, 12, 100, "gap"),
        (Side.CLIENT, 8, 4, "unrecognised"),
        (Side.SERVER, 112, 3, "unrecognised"),
    ]
    assert talk.lifecycle.connection.version is None


def test_what_is_no_amqp_seen_from_the_middle_is_skipped() -> None:
    talk = Talk(late=True).client(b"GET / HTTP/1.1\r\n").server(b"HTTP/1.1 200 OK\r\n").finish()
    assert not talk.violations
    assert not talk.observed
    assert [(each.octets, each.reason) for each in talk.skipped] == [(16, "unrecognised"), (17, "unrecognised")]
    (event,) = _identified(talk)
    assert (event.version, event.by) == (None, "guess")


def test_a_connection_without_octets() -> None:
    for late in (False, True):
        talk = Talk(late=late).finish()
        assert not talk.observed
        assert not talk.skipped


# From the middle.


@each_version
def test_the_first_unit_that_only_one_side_may_send_tells_the_sides(version: Version) -> None:
    talk = Talk(version, late=True)
    ack = talk.octets(talk.named("basic.ack", 1), 3)
    talk.send("x", ack).send("y", ack)
    assert not talk.events
    talk.send("y", talk.deliver(7, b"hi", 3)).finish()
    (event,) = _identified(talk)
    assert (event.version, event.client, event.by) == (AMQP_0_9_1, "x", "frame")
    assert [(unit.sender, unit.event) for unit in talk.observed] == [
        (Side.CLIENT, "basic.ack"),
        (Side.SERVER, "basic.ack"),
        (Side.SERVER, "basic.deliver"),
    ]
    assert [unit.at_ns for unit in talk.observed] == [1_000_000_000, 2_000_000_000, 3_000_000_000]
    assert not talk.violations


def test_the_server_may_be_the_only_one_that_speaks() -> None:
    talk = Talk(late=True).send("s", Talk().deliver(7, b"hi", 3)).send("c", b"")
    talk.send("c", talk.octets(talk.named("basic.ack", 7), 3)).finish()
    assert [(unit.sender, unit.event) for unit in talk.observed] == [
        (Side.SERVER, "basic.deliver"),
        (Side.CLIENT, "basic.ack"),
    ]


def test_without_such_a_unit_the_first_sender_is_taken_for_the_client() -> None:
    talk = Talk(late=True).send("x", frame(8, 0, b"") * 2).send("y", frame(8, 0, b"") * 2)
    assert not talk.events
    talk.finish()
    (event,) = _identified(talk)
    assert (event.client, event.by) == ("x", "guess")
    assert [unit.event for unit in talk.observed] == ["heartbeat"] * 4


def test_what_was_opened_before_is_no_fault() -> None:
    """Channels, consumers, deliveries, requests and confirms of before the observation."""
    talk = Talk(late=True)
    named = talk.named
    talk.server(named("queue.declare-ok", "q"), channel=4).client(named("basic.ack", 12), channel=5)
    talk.server(talk.deliver(8, b"x", 6)).server(named("basic.ack", 99, True), channel=7)
    talk.client(named("basic.reject", 3), channel=8).server(named("basic.get-empty"), channel=9)
    talk.client(named("tx.commit"), channel=10).server(named("tx.commit-ok"), channel=10)
    talk.client(named("channel.close-ok"), channel=11).client(named("channel.open"), channel=6)
    talk.server(named("channel.open-ok"), channel=6).client(named("connection.close", 200))
    talk.server(named("connection.close-ok")).finish()
    assert not talk.violations
    assert not talk.skipped


def test_a_channel_that_is_opened_later_is_known_again() -> None:
    talk = Talk(late=True).server(Talk().deliver(8, b"x", 6))
    talk.channel(6).client(talk.named("basic.ack", 8), channel=6).finish()
    assert talk.rules == ["0-9-1/basic.ack/unknown-tag"]


def test_a_message_whose_method_was_sent_before_leaves_its_frames() -> None:
    talk = Talk(late=True)
    whole = talk.publish(b"0123456789", 2)
    method = len(talk.octets(talk.named("basic.publish"), 2))
    talk.client(whole[method:] + talk.publish(b"next", 2)).finish()
    assert [(unit.unit, unit.event) for unit in talk.observed] == [
        ("frame", "content-header"),
        ("frame", "content-body"),
        ("content", "basic.publish"),
    ]
    assert not talk.violations


@pytest.mark.parametrize(
    ("sender", "name", "arguments"),
    [
        (CLIENT, "channel.open", ()),
        (SERVER, "channel.open-ok", ()),
        (CLIENT, "basic.consume", ("q", "tag")),
        (CLIENT, "connection.close", (200, "bye")),
    ],
)
def test_octets_that_only_one_version_knows_decide_the_version(
    sender: str, name: str, arguments: tuple[object, ...]
) -> None:
    for version in VERSIONS:
        talk = Talk(version, late=True)
        talk.client(talk.publish(b"x")).server(talk.deliver(1, b"x"))
        method = talk.named(name, *arguments)
        talk.send(sender, talk.octets(method, 0 if name.startswith("connection") else 1)).finish()
        assert talk.last.event == name
        decided = _identified(talk)[-1].version
        assert decided is version or talk.octets(method) == Talk(_other(version)).octets(method)
        assert not talk.violations


def _other(version: Version) -> Version:
    return AMQP_0_8 if version is AMQP_0_9_1 else AMQP_0_9_1


def test_a_connection_start_in_the_middle_says_the_version() -> None:
    talk = Talk(AMQP_0_8, late=True)
    talk.server(talk.named("connection.start", 8, 0, {"product": "p"}, b"PLAIN", b"en_US")).finish()
    assert _identified(talk)[-1].version is AMQP_0_8


@pytest.mark.parametrize("version", VERSIONS, ids=lambda version: version.label)
@pytest.mark.parametrize(
    "properties",
    [
        pytest.param({"product": "Apache Qpid"}, id="by its name"),
        pytest.param({"qpid.build": "1"}, id="by a property that only it has"),
    ],
)
def test_qpid_is_known_by_its_properties(version: Version, properties: dict[str, str]) -> None:
    talk = Talk(version).header()
    major, minor = talk.dialect.version_major, talk.dialect.version_minor
    talk.server(talk.named("connection.start", major, minor, properties, b"PLAIN", b"en_US"))
    assert _identified(talk)[-1].dialect == f"{version.label}-qpid"


def test_a_lost_header_is_a_late_start() -> None:
    talk = Talk().client(b"AM").gap(CLIENT, 6)
    talk.server(talk.named("connection.start", 0, 9, {}, b"PLAIN", b"en_US"))
    talk.client(talk.named("connection.start-ok", {}, "PLAIN", b"", "en_US")).finish()
    assert [unit.event for unit in talk.observed] == ["connection.start", "connection.start-ok"]
    assert [(each.octets, each.reason) for each in talk.skipped] == [(2, "resync"), (6, "gap")]
    assert not talk.violations


# The observer's own edge.


def test_a_third_sender_and_late_octets_are_refused() -> None:
    observer = Observer(client="a")
    observer.receive_data(b"", "b", 1)
    with pytest.raises(LocalProtocolError, match="two senders"):
        observer.receive_data(b"x", "c", 1)
    with pytest.raises(LocalProtocolError, match="two senders"):
        observer.receive_gap("", 1, 1)
    observer.finish(1)
    observer.finish(2)
    with pytest.raises(LocalProtocolError, match="finished"):
        observer.receive_data(b"x", "a", 1)
    assert [type(event) for event in take(observer)] == [Identified]


def test_an_unknown_way_to_treat_bodies_is_refused() -> None:
    with pytest.raises(ValueError, match="keep, hash, all, size"):
        Observer(body="drop")


def test_another_release_s_state_is_refused() -> None:
    observer = Observer()
    _, *values = observer.__getstate__()
    with pytest.raises(LocalProtocolError, match="layout 99"):
        observer.__setstate__((99, *values))
    assert pickle.loads(pickle.dumps(observer)).body == "keep"
