"""Whatever two sides of 1.0 say, the lifecycle tells of every message once, and holds no more than it may."""

import pickle
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from amqp_sansio import Limits, Side
from amqp_sansio import amqp_1_0 as amqp
from amqp_sansio.amqp_1_0 import spec
from amqp_sansio.observer import Observer
from amqp_sansio.recorded.lifecycle import Lifecycle
from tests.kit.examples import sample
from tests.kit.observing import CLIENT, SECOND, SERVER, take
from tests.kit.talk_1_0 import Talk10, begin, frame, settle, transfer, within

LIMITS = Limits(unsettled=3, consumers=3, calls=2)

_small = st.integers(0, 2)
_channels = st.integers(0, 1)
_states = st.sampled_from(
    [
        None,
        amqp.Accepted(),
        amqp.Rejected(),
        amqp.spec.Received(0, 1),
        within(b"t", amqp.Accepted()),
        within(b"u"),
        spec.Declared(b"t"),
    ]
)
_targets = st.sampled_from([None, amqp.Target(address="q"), amqp.Target(), spec.Coordinator()])
_sources = st.sampled_from([None, amqp.Source(address="q"), amqp.Source(expiry_policy=amqp.Symbol("never"))])
_maps = st.sampled_from([None, {}, {b"0": None, b"1": amqp.Accepted()}])
_payloads = st.sampled_from(
    [
        b"",
        *[amqp.Message(b"x").encode()] * 4,
        amqp.Message(spec.Declare()).encode(),
        amqp.Message(spec.Discharge(b"t", False)).encode(),
        amqp.Message(spec.Discharge(b"t", True)).encode(),
        b"\x00\x53",
    ]
)
_seldom = st.sampled_from([False, False, False, True])


@st.composite
def _frames(draw: st.DrawFn) -> tuple[str, bytes]:
    """A frame that may stand anywhere, and who sends it."""
    sender = draw(st.sampled_from([CLIENT, SERVER]))
    channel = draw(_channels)
    kind = draw(st.sampled_from([*["transfer"] * 6, *["disposition"] * 4, *["attach", "detach"] * 2, "begin", "end"]))
    if kind == "transfer":
        number = draw(st.one_of(st.none(), _small, st.just((1 << 32) - 1)))
        fields: dict[str, Any] = {
            "settled": draw(_seldom),
            "more": draw(_seldom),
            "resume": draw(_seldom),
            "aborted": draw(_seldom),
            "state": draw(_states),
        }
        return sender, transfer(number, draw(_payloads), handle=draw(_small), channel=channel, **fields)
    what: Any
    if kind == "disposition":
        last = draw(st.one_of(st.none(), _small, st.just((1 << 31) - 1)))
        what = settle(draw(_small), draw(_states), last, role=draw(st.booleans()), settled=draw(st.booleans()))
    elif kind == "attach":
        what = spec.Attach(
            draw(st.sampled_from(["a", "b", "c", "d"])),
            draw(_small),
            draw(st.booleans()),
            source=draw(_sources),
            target=draw(_targets),
            unsettled=draw(_maps),
            initial_delivery_count=0,
        )
    elif kind == "detach":
        what = spec.Detach(draw(_small), draw(st.booleans()))
    elif kind == "begin":
        what = begin(draw(st.one_of(st.none(), _channels)))
    else:
        what = spec.End()
    return sender, frame(what, channel=channel)


def _begun() -> Talk10:
    """Two sessions, on one of them a link each way and one to a coordinator."""
    talk = Talk10(limits=LIMITS).open().session(1).session().sender("a").receiver("b")
    return talk.controller(2).declare(2, handle=2)


def _held(lifecycle: Lifecycle) -> int:
    """Records that a copy gives when nothing more comes."""
    copy: Lifecycle = pickle.loads(pickle.dumps(lifecycle))
    return len(copy.finish())


@settings(max_examples=300, deadline=None)
@given(st.lists(st.one_of(_frames(), st.just((CLIENT, b"")), st.just((SERVER, b""))), max_size=40))
def test_every_message_comes_out_once(script: list[tuple[str, bytes]]) -> None:
    talk = _begun()
    for sender, octets in script:
        if octets:
            talk.send(sender, octets)
        else:
            talk.gap(sender, 10)
    # Two sessions with two directions each, and what belongs to none.
    assert _held(talk.lifecycle) <= 4 * LIMITS.unsettled * 2 + LIMITS.unsettled
    talk.client(frame(spec.Close())).finish()
    told = [message.seq for message in talk.messages]
    assert len(set(told)) == len(told)
    contents = {event.seq: event for event in talk.observed if event.unit == "content"}
    assert set(told) <= set(contents)
    for message in talk.messages:
        settled = (message.settled_ns is None, message.settled_seq is None)
        assert settled in ((True, True), (False, False))
        assert message.outcome is not None or message.settled_seq is None
    # Only requests to a coordinator and resumed deliveries are no messages of their own.
    if any([b"\x00\x53\x30" in octets for _, octets in script]):
        return
    for seq, event in contents.items():
        request = event.sender is Side.CLIENT and (event.channel, event.content.handle) == (0, 2)
        # On a link whose attach wasn't seen, a request is for a coordinator.
        request |= event.context is None and _asks(event.body or b"")
        if not request and not event.content.resume and not _resumed(talk, seq):
            assert seq in told


def _asks(body: bytes) -> bool:
    """Whether an amqp-value is a request to a coordinator."""
    return any(amqp.Message(kind).encode().startswith(body[:6]) for kind in (spec.Declare(), spec.Discharge(b"t")))


def _resumed(talk: Talk10, seq: int) -> bool:
    """Whether an earlier frame of the delivery said that it's resumed."""
    last = next(event for event in talk.observed if event.seq == seq)
    earlier = [
        event for event in talk.observed if event.seq < seq and event.unit == "part" and event.sender is last.sender
    ]
    return any([event.content.resume for event in earlier])


@sample(20)
@settings(max_examples=100, deadline=None)
@given(st.lists(_frames(), max_size=30))
def test_a_copy_goes_on_as_the_original(script: list[tuple[str, bytes]]) -> None:
    talk = _begun()
    for sender, octets in script:
        talk.send(sender, octets)
    talk.finish()
    observer = Observer(client=CLIENT, limits=LIMITS)
    # Single octets never meet the shortcut.
    for at, (sender, what) in enumerate(talk.arrivals, 1):
        assert isinstance(what, bytes)
        for octet in what:
            observer.receive_data(bytes((octet,)), sender, at * SECOND)
    observer.finish(talk.now)
    assert take(observer) == talk.events
    lifecycle, messages = talk.relived(LIMITS)
    assert messages == talk.messages
    assert lifecycle.connection == talk.lifecycle.connection
