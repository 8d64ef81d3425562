"""Conversations of every version that a seed chooses, as the segments of a capture.

0-8, 0-9-1 and 1.0 are two ends that use everything at random; 0-10 is written by hand.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from random import Random
from typing import Any, Final

from amqp_sansio import AMQP_0_8, AMQP_0_9_1, AMQP_0_10, AMQP_1_0, Version
from amqp_sansio import amqp_0_10 as amqp
from amqp_sansio.amqp_0_10 import spec
from amqp_sansio.capture import Segment
from tests.kit import driving_1_0, driving_classic, talk_0_10
from tests.kit.driving import Driver, operations_of
from tests.kit.observing import CLIENT, SERVER, Recorder

Arrivals = Sequence[tuple[str, bytes]]
"""Sender, octets."""
ArrivalsWithGaps = Sequence[tuple[str, bytes | int]]
"""Sender, and octets or the number of those that are missing."""

SYN, ACK, FIN = 0x02, 0x10, 0x01
START: Final = 1_700_000_000_000_000_000
STEP: Final = 1_000_003
"""Nanoseconds between two segments."""
OCTETS: Final = 500
"""Octets of which each few choose an operation."""
SEGMENT: Final = 1400
"""Most octets of a segment."""
ENDS: Final = {CLIENT: ("10.0.0.1", 40_000), SERVER: ("10.0.0.2", 5672)}


def _driven(make: Callable[..., Driver[Any]], seed: int) -> Arrivals:
    recorder = Recorder()
    driver = make(observer=recorder, checked=False)
    for operation in operations_of(Random(seed).randbytes(OCTETS)):
        driver.apply(operation)
    driver.finish()
    return [(sender, what) for sender, what, _ in recorder.arrivals if isinstance(what, bytes) and what]


def _classic(version: Version, seed: int) -> Arrivals:
    return _driven(partial(driving_classic.Driver, version), seed)


def _talk_0_10(seed: int) -> Arrivals:
    """A session on which both sides send, ask, settle and complete."""
    chance = Random(seed)
    talk = talk_0_10.Talk010(twice=False).open().session()
    talk.subscribe(accept_mode=chance.choice((0, 1)))
    sent, given, asked = 1, 0, 0
    for _ in range(chance.randrange(10, 30)):
        way = chance.randrange(6)
        body = chance.randbytes(chance.choice((0, 5, 300, 3000)))
        if way < 2:
            talk.client(talk_0_10.transfer("amq.direct", body, accept_mode=chance.choice((0, 1))))
            sent += 1
        elif way == 2:
            talk.server(talk_0_10.transfer("d", body, accept_mode=0))
            given += 1
        elif way == 3 and given:
            talk.client(spec.MessageAccept(amqp.SequenceSet.of(chance.randrange(given))))
            sent += 1
        elif way == 4:
            talk.client(spec.QueueQuery("q"))
            talk.server(spec.ExecutionResult(sent, spec.QueueQueryResult("q")), talk_0_10.completed(sent))
            sent, given = sent + 1, given + 1
        elif sent > asked:
            talk.server(talk_0_10.completed(*range(asked, sent)))
            asked = sent
    talk.client(spec.SessionDetach(b"s")).server(spec.SessionDetached(b"s", 0))
    talk.client(spec.ConnectionClose(200, "done")).server(spec.ConnectionCloseOk())
    return [(sender, what) for sender, what in talk.arrivals if isinstance(what, bytes)]


CONVERSATIONS: Final[dict[Version, Callable[[int], Arrivals]]] = {
    AMQP_0_8: lambda seed: _classic(AMQP_0_8, seed),
    AMQP_0_9_1: lambda seed: _classic(AMQP_0_9_1, seed),
    AMQP_0_10: _talk_0_10,
    AMQP_1_0: lambda seed: _driven(driving_1_0.Driver, seed),
}
"""What both sides send, by a seed."""


def packets_of(
    arrivals: Arrivals | ArrivalsWithGaps, *, syn: bool = True, fin: bool = True, most: int = SEGMENT
) -> list[Segment]:
    """The segments of a connection: the handshake, what arrives in pieces of `most` octets, and the client's end."""
    numbers = {CLIENT: 1000, SERVER: 2000}
    made: list[Segment] = []

    def add(sender: str, flags: int, data: bytes = b"") -> None:
        other = SERVER if sender == CLIENT else CLIENT
        at = len(made)
        ack = numbers[other] if flags & ACK else 0
        ends = (*ENDS[sender], *ENDS[other])
        made.append(Segment(START + at * STEP, "f.pcap", at, *ends, numbers[sender], ack, flags, len(data), data))
        numbers[sender] += len(data) + bool(flags & (SYN | FIN))

    if syn:
        add(CLIENT, SYN)
        add(SERVER, SYN | ACK)
    for sender, octets in arrivals:
        if isinstance(octets, int):
            numbers[sender] += octets
            continue
        for at in range(0, len(octets), most):
            add(sender, ACK, octets[at : at + most])
    if fin:
        add(CLIENT, FIN | ACK)
        add(SERVER, FIN | ACK)
    return made
