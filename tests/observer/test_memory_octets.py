"""What an observer keeps is no larger for values that are as large as a frame can hold them."""

import pickle
from collections.abc import Callable
from typing import Any

import pytest

from amqp_sansio import AMQP_0_8, AMQP_0_9_1, Limits
from amqp_sansio.amqp_0_10 import DeliveryProperties, MessageProperties
from amqp_sansio.amqp_0_10.codec.frames import BODY, COMMAND_TRACK, FRAME, LAST_FRAME, LAST_SEGMENT
from amqp_sansio.amqp_0_10.spec import ConnectionStart, MessageSubscribe, QueueDeclare, SessionAttach, SessionDetach
from amqp_sansio.amqp_1_0 import Described, Error, Message, Modified, Rejected, Source, Symbol, Target
from amqp_sansio.amqp_1_0.codec.values import encode
from amqp_sansio.amqp_1_0.spec import (
    Attach,
    Begin,
    Detach,
    Disposition,
    Open,
    Performative,
    SaslInit,
    SaslMechanisms,
    Transfer,
    UInt,
    ULong,
)
from tests.kit.observing import Talk, frame, header
from tests.kit.small import EIGHT
from tests.kit.talk_0_10 import Talk010
from tests.kit.talk_0_10 import transfer as message
from tests.kit.talk_1_0 import Talk10, opened
from tests.kit.talk_1_0 import frame as frame_1_0

LIMITS = Limits(unparsed=200_000, message=100_000, bodies=200_000, header=100_000, **EIGHT)
LARGE = 40_000
"""Octets of the large values: five of them are more than is held of messages."""
STEPS, SAMPLE = 30, 12
FEW_TIMES = 6
"""An entry takes so many times what it takes with the smallest values, at most."""


def kept(observer: Any) -> int:
    """Octets of everything that an observer keeps."""
    return len(pickle.dumps(observer))


def assert_no_larger(start: Callable[[], Any], step: Callable[[Any, int, int], Any], at_large: bool) -> None:
    """Steps with large values leave no more behind than steps with small ones, but for octets that count as held."""
    sizes: list[int] = []
    for size in (1, LARGE):
        talk = start()
        for at in range(STEPS if at_large else SAMPLE):
            step(talk, at, size)
        assert talk.observer.held <= LIMITS.unparsed + LIMITS.bodies + LIMITS.header
        sizes.append(kept(talk.observer) - 2 * talk.observer.held)
    small, large = sizes
    assert large <= FEW_TIMES * small


# 0-8 and 0-9-1.


def table(size: int) -> dict[str, str]:
    return {"x": "y" * size}


CLASSIC: dict[str, Callable[[Talk, int, int], Talk]] = {
    "arguments of requests": lambda talk, at, size: talk.client(
        talk.named("queue.declare", queue=f"q{at}", arguments=table(size)), channel=1
    ),
    "arguments of consumers": lambda talk, at, size: talk.client(
        talk.named(
            "basic.consume",
            queue="q",
            consumer_tag=f"{at}",
            **({} if talk.version is AMQP_0_8 else {"arguments": table(size)}),
        ),
        channel=1,
    ),
    "properties of messages that don't end": lambda talk, at, size: talk.client(
        talk.named("basic.publish", routing_key="k"), channel=at + 1
    ).client(header(at + 1, 10, _headers(size))),
    "methods that can't be read": lambda talk, at, size: talk.client(
        frame(1, at + 1, b"\0\x3c\0\x28" + b"\xff" * size)
    ),
    "bodies that don't end": lambda talk, at, size: talk.client(
        talk.named("basic.publish", routing_key="k"), channel=at + 1
    ).client(header(at + 1, 2 * size) + frame(3, at + 1, b"x" * size)),
    "frames without octets": lambda talk, at, size: talk.client(
        *([talk.named("basic.publish", routing_key="k")] if not at else []), channel=1
    ).client((header(1, 10) if not at else b"") + frame(3, 1, b"") * (1 + size // 100)),
    "properties of whole messages": lambda talk, at, size: talk.client(
        talk.named("basic.publish", routing_key="k", mandatory=True), channel=1
    ).client(header(1, 1, _headers(size)) + frame(3, 1, b"x")),
    "starts": lambda talk, at, size: talk.server(
        talk.named("connection.start", 0, 9, table(size), b"PLAIN " * (size // 6), b"en_US " * (size // 6))
    ),
    "responses": lambda talk, at, size: talk.server(talk.named("connection.secure", b"x" * size)).client(
        talk.named("connection.secure-ok", b"x" * size)
    ),
}


def _headers(size: int) -> bytes:
    """The properties of a content header that has one header of this size."""
    value = b"S" + size.to_bytes(4, "big") + b"y" * size
    return b"\x20\x00" + (len(value) + 2).to_bytes(4, "big") + b"\1x" + value


@pytest.mark.parametrize("version", [AMQP_0_8, AMQP_0_9_1], ids=str)
@pytest.mark.parametrize("kind", CLASSIC)
def test_0_8_and_0_9_1_keep_no_large_values(kind: str, version: Any, at_large: bool) -> None:
    assert_no_larger(lambda: Talk(version, limits=LIMITS).login().channel(), CLASSIC[kind], at_large)


def test_files_that_are_staged_keep_no_large_properties(at_large: bool) -> None:
    """0-8's file class (section 1.10): the message that names a file comes later, or never."""

    def step(talk: Talk, at: int, size: int) -> Talk:
        talk.client(talk.named("file.open", f"file {at}", 1), channel=1)
        talk.server(talk.named("file.open-ok", 0), channel=1)
        octets = header(1, 1, _headers(size), class_id=70) + frame(3, 1, b"x")
        return talk.client(talk.named("file.stage"), channel=1).client(octets)

    assert_no_larger(lambda: Talk(AMQP_0_8, limits=LIMITS).login().channel(), step, at_large)


def test_the_oldest_of_open_messages_with_large_headers_come_out() -> None:
    """There may be a million of them on each channel."""
    limits = Limits(bodies=200_000, header=100_000)
    talk = Talk(limits=limits).login().channel()
    talk.client(talk.named("confirm.select"), channel=1)
    for at in range(STEPS):
        talk.client(talk.named("basic.publish", routing_key=f"{at}"), channel=1)
        talk.client(header(1, 1, _headers(LARGE)) + frame(3, 1, b"x"))
        assert kept(talk.lifecycle) <= limits.bodies + 10_000
    assert 20 < len(talk.messages) < STEPS
    numbers = [message.routing_key for message in talk.messages]
    assert numbers == [str(at) for at in range(len(numbers))]
    assert {message.outcome for message in talk.messages} == {None}
    assert len(talk.finish().messages) == STEPS


# 1.0.


def attach(at: int, size: int, *, role: bool = False, **fields: Any) -> Attach:
    given: dict[str, Any] = {
        "source": Source(),
        "target": Target(),
        "initial_delivery_count": None if role else 0,
        **fields,
    }
    return Attach(f"link {at}", at + 9, role, **given)


def by_hand(kind: type[Performative], *fields: Any) -> bytes:
    """The frame of a performative with values that its fields mustn't have."""
    body = encode(Described(ULong(kind.CODE), list(fields)))
    return (len(body) + 8).to_bytes(4, "big") + b"\2\0\0\0" + body


def of_transaction(at: int, size: int) -> Described:
    """A transactional state, whose transaction has an id of this size."""
    return Described(ULong(0x34), [b"%d" % at * size])


AMQP_1_0: dict[str, Callable[[Talk10, int, int], Talk10]] = {
    "properties of links": lambda talk, at, size: talk.client(attach(at, size, properties={Symbol("x"): "y" * size})),
    "sources": lambda talk, at, size: talk.client(
        attach(at, size, source=Source("a" * size, dynamic_node_properties={Symbol("x"): "y" * size}))
    ),
    "default outcomes": lambda talk, at, size: talk.client(
        attach(at, size, source=Source("a", default_outcome=Modified(message_annotations={Symbol("x"): "y" * size})))
    ),
    "targets": lambda talk, at, size: talk.client(
        attach(at, size, target=Target("a" * size, capabilities=(Symbol("c" * size),)))
    ),
    "unsettled maps": lambda talk, at, size: talk.client(
        attach(at, size, unsettled={b"%d" % each: Rejected() for each in range(size // 20)})
    ),
    "names of links": lambda talk, at, size: talk.client(
        Attach(f"{at}" * size, at + 9, False, source=Source(), target=Target(), initial_delivery_count=0)
    ),
    "names of links that ended in an error": lambda talk, at, size: talk.client(
        Attach(f"{at}" * size, at + 9, False, source=Source(), target=Target(), initial_delivery_count=0),
        Detach(at + 9, error=Error(Symbol("amqp:internal-error"), "e" * size)),
    ),
    "properties of sessions": lambda talk, at, size: talk.client(
        Begin(None, 0, 9, 9, properties={Symbol("x"): "y" * size}), channel=at + 1
    ),
    "errors of deliveries": lambda talk, at, size: talk.client(
        Transfer(0, delivery_id=at, delivery_tag=b"%d" % at)
    ).server(Disposition(True, at, state=Rejected(Error(Symbol("amqp:not-found"), "e" * size)))),
    "annotations of deliveries": lambda talk, at, size: talk.client(
        Transfer(
            0, delivery_id=at, delivery_tag=b"%d" % at, state=Modified(message_annotations={Symbol("x"): "y" * size})
        )
    ),
    "transactions": lambda talk, at, size: talk.client(
        by_hand(Transfer, UInt(0), UInt(at), b"%d" % at, UInt(0), False, False, None, of_transaction(at, size))
    ),
    "declared transactions": lambda talk, at, size: talk.client(
        Transfer(0, delivery_id=at, delivery_tag=b"%d" % at)
    ).server(by_hand(Disposition, True, UInt(at), None, False, Described(ULong(0x33), [b"%d" % at * size]))),
    "tags": lambda talk, at, size: talk.client(by_hand(Transfer, UInt(0), UInt(at), b"%d" % at * size, UInt(0))),
    "tags of deliveries that don't end": lambda talk, at, size: talk.client(
        attach(at, size), by_hand(Transfer, UInt(at + 9), UInt(at), b"%d" % at * size, UInt(0), False, True)
    ),
    "payloads of deliveries that don't end": lambda talk, at, size: talk.client(attach(at, size)).client(
        frame_1_0(
            Transfer(at + 9, delivery_id=at, delivery_tag=b"%d" % at, more=True),
            Message(b"x", application_properties={"x": "y" * size}).encode(),
        )
    ),
    "transfers without octets": lambda talk, at, size: talk.client(
        *[Transfer(0, delivery_id=0, delivery_tag=b"t", more=True)] * (1 + size // 100)
    ),
    "opens": lambda talk, at, size: talk.client(Open("c" * size, "h" * size, properties={Symbol("x"): "y" * size})),
}


@pytest.mark.parametrize("body", ["keep", "size"])
@pytest.mark.parametrize("kind", AMQP_1_0)
def test_1_0_keeps_no_large_values(kind: str, body: str, at_large: bool) -> None:
    assert_no_larger(lambda: opened(limits=LIMITS, body=body), AMQP_1_0[kind], at_large)


def test_1_0_keeps_no_large_values_of_a_login(at_large: bool) -> None:
    def step(talk: Talk10, at: int, size: int) -> Talk10:
        names = tuple([Symbol(f"M{each}") for each in range(1 + size // 10)])
        return talk.server(SaslMechanisms(names)).client(SaslInit(Symbol("M0"), b"x" * size))

    assert_no_larger(lambda: Talk10(limits=LIMITS).client(b"AMQP\3\1\0\0"), step, at_large)


# 0-10.


AMQP_0_10: dict[str, Callable[[Talk010, int, int], Talk010]] = {
    "names of sessions": lambda talk, at, size: talk.client(SessionAttach(b"%d" % at * (size // 2)), channel=at + 1),
    "names of one session after the other": lambda talk, at, size: talk.client(
        SessionAttach(b"%d" % at * (size // 2)), SessionDetach(b"%d" % at), channel=1
    ),
    "arguments of commands": lambda talk, at, size: talk.client(QueueDeclare(f"q{at}", arguments={"x": "y" * size})),
    "arguments of subscriptions": lambda talk, at, size: talk.client(
        MessageSubscribe("q", f"d{at}", 0, 0, arguments={"x": "y" * size})
    ),
    "starts": lambda talk, at, size: talk.server(
        ConnectionStart({"x": "y" * size}, ["PLAIN"] * (1 + size // 10), ["en_US"] * (1 + size // 10))
    ),
    "properties of messages that don't end": lambda talk, at, size: talk.client(
        _without_end(
            message(
                "ex",
                None,
                DeliveryProperties(),
                MessageProperties(application_headers={"x": "y" * size}),
                channel=at + 1,
            )
        )
    ),
    "messages of many frames that don't end": lambda talk, at, size: talk.client(
        message("ex", b"x" * size, channel=at + 1)[:-40]
    ),
}


def _without_end(octets: bytes) -> bytes:
    """The frames of a message whose last segment goes on."""
    at = last = 0
    while at < len(octets):
        last = at
        at += int.from_bytes(octets[at + 2 : at + 4], "big")
    return octets[:last] + bytes((octets[last] & ~LAST_FRAME,)) + octets[last + 1 :]


@pytest.mark.parametrize("kind", AMQP_0_10)
def test_0_10_keeps_no_large_values(kind: str, at_large: bool) -> None:
    assert_no_larger(lambda: Talk010(limits=LIMITS).open().session(), AMQP_0_10[kind], at_large)


def test_0_10_keeps_few_faults_of_one_message() -> None:
    """Every frame above the agreed size is a fault of its message, which needn't ever end."""
    talk = Talk010(limits=LIMITS).open(max_frame_size=5000).session()
    frame = FRAME.pack(LAST_SEGMENT, BODY, 6000, 0, COMMAND_TRACK, 0, 0) + bytes(6000 - FRAME.size)
    talk.client(_without_end(message("ex", b"x")))
    for _ in range(50):
        talk.client(frame)
    before = kept(talk.observer) - talk.observer.held
    for _ in range(200):
        talk.client(frame)
    assert kept(talk.observer) - talk.observer.held <= before + 100
    assert talk.finish().rules.count("connection.tune-ok/max-frame-size") > 10
