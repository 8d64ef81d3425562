"""Damage of any kind, in 0-8, 0-9-1 and 1.0: nothing raises, nothing is invented, no octet is lost silently.

Damage in 0-10 stands in `tests/amqp_0_10/observer/test_damage.py`.
"""

import random
from collections.abc import Sequence
from functools import cache
from itertools import groupby

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from amqp_sansio import AMQP_0_8, AMQP_0_9_1, AMQP_1_0, Limits, Side, Version
from amqp_sansio.amqp_0_9_1.spec import Method
from amqp_sansio.amqp_1_0 import Accepted, Header, Message, Properties
from amqp_sansio.amqp_1_0.spec import Close, Detach, End
from amqp_sansio.observer import Observed, Observer, ObserverEvent, Violation
from tests.kit.examples import sample
from tests.kit.observing import CLIENT, Talk, frame, header, take, watch
from tests.kit.talk_1_0 import Talk10, credit, settle, transfer
from tests.observer.arrivals import (
    DAMAGE,
    Arrivals,
    Damage,
    assert_accounted,
    cut,
    damaged,
    last_identified,
    take_held,
    told,
    units,
)

each_version = pytest.mark.parametrize("version", [AMQP_0_9_1, AMQP_0_8, AMQP_1_0], ids=lambda version: version.label)


def _classic(version: Version) -> list[tuple[str, bytes | int]]:
    """A connection with all kinds of frames; every message differs."""
    talk = Talk(version).login(frame_max=4096).channel().consumer().channel(2)
    named = talk.named
    talk.client(named("queue.declare", queue="q", arguments={"x-max-length": 10}), channel=2)
    talk.server(named("queue.declare-ok", "q", 1, 2), channel=2)
    for number in range(1, 13):
        body = bytes([number]) * (number * number * 40)
        cut = [body[at : at + 4088] for at in range(0, len(body), 4088)]
        method = talk.octets(named("basic.publish", routing_key=f"key-{number}"), 2)
        pieces = [frame(3, 2, piece) for piece in cut]
        talk.client(method + header(2, len(body)), *pieces)
        talk.server(talk.deliver(number, f"body {number}".encode()))
        talk.client(named("basic.ack", number), channel=1)
        if number % 4 == 0:
            talk.server(frame(8, 0, b"")).client(frame(8, 0, b""))
    talk.client(named("connection.close", 200, "bye")).server(named("connection.close-ok"))
    return talk.arrivals


def _amqp_1_0() -> list[tuple[str, bytes | int]]:
    """A connection with all kinds of frames; every message differs."""
    talk = Talk10().login().open().session().session(2).sender().receiver().controller()
    talk.server(credit(0)).client(credit(1)).server(credit(9)).declare(0)
    for number in range(1, 13):
        message = Message(
            bytes([number]) * (number * number * 40),
            header=Header(durable=True),
            properties=Properties(message_id=f"message-{number}"),
            application_properties={"number": number},
        ).encode()
        for begun in range(0, len(message), 500):
            first = not begun
            talk.client(
                transfer(number if first else None, message[begun : begun + 500], more=begun + 500 < len(message))
            )
        talk.server(settle(number, Accepted()), transfer(number, Message([number]), handle=1))
        talk.client(settle(number, Accepted()), credit(1, 100 + number))
        if number % 4 == 0:
            talk.server(b"\0\0\0\x08\x02\0\0\0").client(b"\0\0\0\x08\x02\0\0\0")
    talk.discharge(20).client(Detach(0, True)).server(Detach(0, True))
    talk.client(End(), channel=2).server(End(), channel=2).client(Close()).server(Close())
    assert not talk.rules
    return talk.arrivals


@cache
def _traffic(version: Version) -> tuple[tuple[str, bytes], ...]:
    arrivals = _amqp_1_0() if version is AMQP_1_0 else _classic(version)
    return tuple([(sender, what) for sender, what in arrivals if isinstance(what, bytes)])


def _real(version: Version, events: list[ObserverEvent]) -> list[Observed]:
    """The units that damage may not invent; frames of a message whose method is lost are units too in 0-8 and 0-9-1."""
    return [event for event in units(events) if version is AMQP_1_0 or isinstance(event.content, Method)]


@cache
def _sent(version: Version) -> frozenset[tuple[object, ...]]:
    arrivals: Arrivals = [(sender, what, 1) for sender, what in _traffic(version)]
    return frozenset([told(event) for event in _real(version, watch(Observer(client=CLIENT), arrivals))])


@each_version
@example([("cut", 0, 0, bytes(8))], False, "keep")
@given(DAMAGE, st.booleans(), st.sampled_from(("keep", "size")))
def test_damage_of_any_kind(version: Version, damage: Damage, begun: bool, body: str) -> None:
    arrivals = damaged(_traffic(version), damage)
    assert_accounted(watch(Observer(client=CLIENT if begun else None, from_start=begun, body=body), arrivals), arrivals)


@each_version
@sample(6)
@given(DAMAGE, st.booleans(), st.integers(0, 1000))
def test_where_damaged_arrivals_are_cut_makes_no_difference(
    version: Version, damage: Damage, begun: bool, seed: int
) -> None:
    arrivals = damaged(_traffic(version), damage)
    most = random.Random(seed).choice((3, 30, 300))
    client = CLIENT if begun else None
    whole = watch(Observer(client=client, body="all"), arrivals)
    cuts = cut(arrivals, seed, range(1, most + 1))
    assert watch(Observer(client=client, body="all"), cuts) == whole
    # Pieces that come together, each with its own time, make the events of each.
    pieces = [(sender, what, at) for at, (sender, what, _) in enumerate(cuts) if what]
    assert _by_run(Observer(client=client), pieces) == watch(Observer(client=client), pieces)


def _by_run(observer: Observer, pieces: Sequence[tuple[str, bytes | int, int]]) -> list[ObserverEvent]:
    """The events of arrivals and gaps, where all that a sender sends before something else comes is given together."""
    events: list[ObserverEvent] = []
    for (sender, is_gap), run in groupby(pieces, lambda piece: (piece[0], isinstance(piece[1], int))):
        held = [*run]
        if is_gap:
            for _, octets, at_ns in held:
                assert isinstance(octets, int)
                observer.receive_gap(sender, octets, at_ns)
        else:
            octets_of = [octets for _, octets, _ in held if isinstance(octets, bytes)]
            observer.receive_pieces(octets_of, [at_ns for _, _, at_ns in held], sender)
        events += take(observer)
    observer.finish(pieces[-1][2])
    return events + take(observer)


@pytest.mark.parametrize("size", [1, 10, 40, 10_000])
@pytest.mark.parametrize("lost", [0, 1, 5, 9])
@pytest.mark.parametrize("loser", [CLIENT, "server"])
def test_requests_beside_damage_are_answered_the_same_however_they_come(loser: str, lost: int, size: int) -> None:
    """A side's octets can't be read for a while; then it sends more, one piece behind the other."""
    talk = Talk(AMQP_0_9_1).login().channel()
    named = talk.named
    begun = len(talk.arrivals)
    for batch in range(3):
        for number in range(4):
            talk.client(named("queue.declare", queue=f"q{batch}{number}"), channel=1)
            talk.client(named("basic.consume", queue=f"q{batch}{number}", consumer_tag=f"t{batch}{number}"), channel=1)
        for number in range(4):
            talk.server(named("queue.declare-ok", f"q{batch}{number}", 0, 0), channel=1)
            talk.server(named("basic.consume-ok", f"t{batch}{number}"), channel=1)
    candidates = [at for at, (sender, _) in enumerate(talk.arrivals) if at >= begun and sender == loser]
    arrivals: list[tuple[str, bytes | int, int]] = []
    for at, (sender, what) in enumerate(talk.arrivals):
        assert isinstance(what, bytes)
        if at == candidates[lost]:
            arrivals.append((sender, len(what), 1000 * at))
            continue
        cuts = [what[begin : begin + size] for begin in range(0, len(what), size)]
        arrivals += [(sender, piece, 1000 * at + place) for place, piece in enumerate(cuts)]
    alone = watch(Observer(client=CLIENT), arrivals)
    assert _by_run(Observer(client=CLIENT), arrivals) == alone
    # Nothing is lost any more when the last four are asked for.
    assert None not in [event.answers for event in units(alone)[-8:] if event.sender is Side.SERVER]


@each_version
@given(DAMAGE, st.booleans())
def test_gaps_invent_nothing_and_break_no_rule(version: Version, damage: Damage, begun: bool) -> None:
    gaps = [("gap", which, where, octets) for _, which, where, octets in damage]
    events = watch(Observer(client=CLIENT if begun else None, from_start=begun), damaged(_traffic(version), gaps))
    assert not [event for event in events if isinstance(event, Violation)]
    if version is not AMQP_1_0 or last_identified(events).client in (CLIENT, None):
        assert {told(event) for event in _real(version, events)} <= _sent(version)


@each_version
@given(st.integers(0, 10_000), st.binary(min_size=1, max_size=40))
def test_units_away_from_garbage_are_real(version: Version, where: int, garbage: bytes) -> None:
    """Garbage between two arrivals spoils at most the units it touches."""
    traffic = _traffic(version)
    index = where % len(traffic)
    spoiled = traffic[index][0]
    begin = sum([len(what) for sender, what in traffic[:index] if sender == spoiled])
    arrivals: Arrivals = [(sender, what, 1) for sender, what in traffic]
    arrivals.insert(index, (spoiled, garbage, 1))
    for event in _real(version, watch(Observer(client=CLIENT), arrivals)):
        if told(event) not in _sent(version):
            assert event.offset < begin + len(garbage)
            assert event.offset + event.size > begin


@each_version
@given(DAMAGE)
def test_no_more_is_held_than_the_limits_allow(version: Version, damage: Damage) -> None:
    limits = Limits(unparsed=20_000, message=4000, bodies=5000, header=4000)
    observer = Observer(client=CLIENT, limits=limits)
    take_held(observer, damaged(_traffic(version), damage), 2 * limits.unparsed + limits.bodies)
