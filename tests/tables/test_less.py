"""A capture with less in it says less: it accuses nobody else, and each of its rows is one of the whole's with nulls.

Metamorphic tests over recorded and generated traffic; `tests.kit.less` says what a part is, and how rows are compared.
"""

from pathlib import Path
from random import Random
from zlib import crc32

import pytest

from amqp_sansio import AMQP_1_0, Version
from amqp_sansio.amqp_1_0 import Accepted, Message
from amqp_sansio.capture import Segment
from tests.kit.captures import named, sampled
from tests.kit.conversations import CONVERSATIONS, packets_of
from tests.kit.less import accused, changed, inconsistent, made_up, parts, tables
from tests.kit.tables import segments_of
from tests.kit.talk_1_0 import sent, settle, transfer

LONG = 120
"""Segments of a capture of which the default suite takes fewer parts."""


def _segments(path: Path) -> list[Segment]:
    return [each for each in segments_of([path]) if isinstance(each, Segment)]


def _check(segments: list[Segment], seed: int, losses: int, most: int | None = None) -> None:
    whole = tables(segments)
    assert not inconsistent(whole)
    chosen = list(parts(segments, seed, losses))
    if most is not None:
        chosen = Random(seed).sample(chosen, min(most, len(chosen)))
    for what, part in chosen:
        found = tables(part)
        assert not inconsistent(found), what
        assert not made_up(whole, found), what


@pytest.mark.parametrize("path", sampled("*.pcap"))
def test_a_capture_with_less_in_it_makes_nothing_up(path: Path, at_large: bool) -> None:
    segments = _segments(path)
    few = 12 if len(segments) < LONG else 6
    _check(segments, crc32(path.name.encode()), 4 if at_large else 3, None if at_large else few)


@pytest.mark.parametrize("seed", [41, 70, 79, 82, 85, 118, 122, 161])
def test_sessions_and_links_whose_beginning_or_end_is_lost(seed: int) -> None:
    """1.0 whose channels and handles come again, the two sides' numbers apart, while both begin sessions and links."""
    segments = packets_of(CONVERSATIONS[AMQP_1_0](seed))
    whole = tables(segments)
    for what, part in parts(segments, seed):
        assert not made_up(whole, tables(part)), what


@pytest.mark.parametrize("version", CONVERSATIONS, ids=lambda version: version.label)
def test_traffic_of_every_version_with_less_in_it(version: Version, at_large: bool) -> None:
    for seed in range(12 if at_large else 2):
        _check(packets_of(CONVERSATIONS[version](seed)), seed, 4 if at_large else 2, None if at_large else 16)


@pytest.mark.parametrize("path", sampled("*.pcap"))
def test_roles_that_nothing_tells_are_null_and_ports_tell_them(path: Path) -> None:
    """From the middle, by ports that nobody registered: what the first sender is, is no evidence."""
    segments = _segments(path)
    whole = tables(segments)
    late = [each for each in segments if not each.flags & 0x02]
    late = late[len(late) // 3 :]
    unknown = tables(late)
    assert not inconsistent(unknown)
    assert not made_up(whole, unknown)
    servers = {int(row["server"].rpartition(":")[2]) for row in whole["connections"] if row["server"]}
    for row in tables(late, ports=servers)["connections"]:
        assert row["roles_by"] in ("header", "frame", "port") or row["protocol"] is None
        if row["roles_by"] == "port":
            assert int(row["server"].rpartition(":")[2]) in servers


def test_the_other_connections_of_a_capture_tell_the_roles() -> None:
    """A SYN to the same endpoint, in any file, tells which end is the server."""
    talk = packets_of(CONVERSATIONS[next(reversed(CONVERSATIONS))](1))
    late = [_by_port(each) for each in talk[len(talk) // 2 :]]
    (alone,) = tables(late, ports=())["connections"]
    assert (alone["client"], alone["roles_by"]) in ((None, None), ("10.0.0.1:40000", "frame"))
    syn = changed(_by_port(talk[0]), sport=40_777, file="other.pcap", flags=0x02)
    assert not talk[0].payload
    rows = {row["client"]: row["roles_by"] for row in tables([*late, syn], ports=())["connections"]}
    assert rows == {"10.0.0.1:40000": "capture", "10.0.0.1:40777": "syn"}


def _by_port(segment: Segment) -> Segment:
    """The segment to and from another port than AMQP's."""
    ports = {5672: 15_999}
    return changed(
        segment, sport=ports.get(segment.sport, segment.sport), dport=ports.get(segment.dport, segment.dport)
    )


def test_single_losses_in_a_large_message_give_no_body_that_was_not_sent() -> None:
    """1.0: a part of a message, whichever it is, never counts as the whole."""
    body = bytes(range(256)) * 40
    message = Message(body).encode()
    talk = sent()
    parts_of = [message[at : at + 900] for at in range(0, len(message), 900)]
    for number in (0, 1):
        for at, part in enumerate(parts_of):
            # Proton repeats the delivery's id and tag in each transfer.
            talk.client(transfer(number, part, more=at < len(parts_of) - 1))
        talk.server(settle(number, Accepted()))
    segments = packets_of([(sender, what) for sender, what in talk.arrivals if isinstance(what, bytes)])
    whole = {(row["body_size"], row["body_sha256"]) for row in tables(segments)["messages"]}
    assert len(whole) == 1
    for lost in [at for at, each in enumerate(segments) if each.payload]:
        found = tables([each for at, each in enumerate(segments) if at != lost])
        assert not accused(found)
        for row in found["messages"]:
            assert row["body_sha256"] is None or (row["body_size"], row["body_sha256"]) in whole, lost


def test_nobody_is_warned_of_where_nobody_knows_who_it_is() -> None:
    """RabbitMQ sends a flow behind its close, which every peer puts up with: a warning about the server."""
    segments = _segments(named("o10_proton_rabbit_basic.pcap"))
    behind = ("warning", "1.0/transport/close/nothing-after", "server")
    assert accused(tables(segments))[behind] == 1
    late = segments[len(segments) // 2 :]
    assert not tables(late)["violations"]
    assert accused(tables(late, ports={56720})) == {behind: 1}
