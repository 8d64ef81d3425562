"""Whatever an observer and its lifecycle are shown, what they keep stays within the limits."""

import pickle
import tracemalloc
from collections.abc import Callable
from typing import TypeAlias

import pytest

from amqp_sansio import AMQP_0_8, AMQP_0_9_1, NEED_DATA, Limits, Observer, Version, amqp_0_10, amqp_1_0
from tests.kit.observing import Talk, take
from tests.kit.small import EIGHT
from tests.kit.talk_0_10 import Talk010
from tests.kit.talk_0_10 import transfer as message
from tests.kit.talk_1_0 import Talk10, begin, opened

FEW = Limits(unparsed=65_536, message=65_536, bodies=65_536, header=4096, replay=8, replay_octets=65_536, **EIGHT)
SAMPLE, LARGE = (24, 36), (60, 120)
"""Steps after which nothing more is kept, and how many follow."""
AnyTalk: TypeAlias = "Talk | Talk010 | Talk10"
Step: TypeAlias = "Callable[[int], AnyTalk]"


def memory(talk: AnyTalk) -> int:
    """Octets of everything that is kept."""
    return len(pickle.dumps((talk.observer, talk.lifecycle)))


def assert_bounded(step: Step, at_large: bool, least: int = 0) -> None:
    """After the first steps, more of the same make it no larger; the numbers in it have more digits, though, and a
    dictionary of a few entries has room for more of them at one time than at another.
    """
    warm, more = LARGE if at_large else SAMPLE
    warm = max(warm, least)
    for at in range(warm):
        step(at)
    before = memory(step(warm))
    for at in range(warm + 1, warm + more):
        step(at)
    talk = step(warm + more)
    assert memory(talk) <= before * 1.05 + 1024
    talk.observer.check()
    assert talk.observer.held <= FEW.unparsed + FEW.bodies
    talk.events.clear()


def attach(at: int, *, role: bool = False) -> amqp_1_0.spec.Attach:
    count = None if role else 0
    return amqp_1_0.spec.Attach(
        f"link {at}", at + 9, role, source=amqp_1_0.Source(), target=amqp_1_0.Target(), initial_delivery_count=count
    )


def send(at: int, *, more: bool = False, handle: int = 0) -> amqp_1_0.spec.Transfer:
    return amqp_1_0.spec.Transfer(handle, delivery_id=at, delivery_tag=b"%d" % at, more=more)


AMQP_1_0: dict[str, Callable[[Talk10, int], Talk10]] = {
    "links that one side attaches": lambda talk, at: talk.client(attach(at)),
    "links that one side closes": lambda talk, at: talk.client(attach(at), amqp_1_0.spec.Detach(at + 9, closed=True)),
    "links that one side detaches": lambda talk, at: talk.client(attach(at, role=True), amqp_1_0.spec.Detach(at + 9)),
    "links that both sides detach": lambda talk, at: talk.client(attach(at), amqp_1_0.spec.Detach(at + 9)).server(
        attach(at, role=True), amqp_1_0.spec.Detach(at + 9)
    ),
    "handles that nobody attached": lambda talk, at: talk.client(send(at, handle=at + 500)),
    "sessions that one side begins": lambda talk, at: talk.client(begin(), channel=at + 1),
    "sessions that one side begins with links": lambda talk, at: talk.client(
        begin(), attach(1), send(0, handle=10), channel=at + 1
    ),
    "sessions that one side ends": lambda talk, at: talk.client(begin(), amqp_1_0.spec.End(), channel=at + 1),
    "sessions that nobody began": lambda talk, at: talk.client(send(at), channel=at + 1),
    "deliveries that nobody settles": lambda talk, at: talk.client(send(at)),
    "deliveries that never end": lambda talk, at: talk.client(send(at, more=True)),
    "deliveries that never end, of many links": lambda talk, at: talk.client(
        attach(at), send(at, more=True, handle=at + 9)
    ),
    "dispositions of nothing": lambda talk, at: talk.client(
        amqp_1_0.spec.Disposition(False, at + 500, state=amqp_1_0.Accepted())
    ),
    "flows that ask": lambda talk, at: talk.client(amqp_1_0.spec.Flow(0, 100, at, 100, echo=True)),
    "flows of unknown handles": lambda talk, at: talk.client(
        amqp_1_0.spec.Flow(0, 100, 0, 100, handle=at + 500, delivery_count=0, link_credit=1)
    ),
    "errors of links": lambda talk, at: talk.client(
        attach(at),
        amqp_1_0.spec.Detach(at + 9, closed=True, error=amqp_1_0.Error(amqp_1_0.Symbol("amqp:internal-error"))),
    ),
}


@pytest.mark.parametrize("seen", ["both", "the client"])
@pytest.mark.parametrize("kind", AMQP_1_0)
def test_1_0_keeps_no_more_than_its_limits(kind: str, seen: str, at_large: bool) -> None:
    talk = (
        opened(limits=FEW)
        if seen == "both"
        else Talk10(limits=FEW).client(b"AMQP\0\x01\0\0").client(begin(), attach(0))
    )
    assert_bounded(lambda at: AMQP_1_0[kind](talk, at), at_large)


@pytest.mark.parametrize(
    "detach", [amqp_1_0.spec.Detach(9), amqp_1_0.spec.Detach(9, closed=True)], ids=["detached", "closed"]
)
def test_links_that_only_one_side_was_seen_to_leave_wait_as_requests_do(
    detach: amqp_1_0.spec.Detach, at_large: bool
) -> None:
    """No answer ever comes when the other direction wasn't captured."""
    talk = Talk10(limits=Limits(requests=8)).client(b"AMQP\0\x01\0\0").client(begin())

    def step(at: int) -> Talk10:
        link = amqp_1_0.spec.Attach(
            f"link {at}", 9, False, source=amqp_1_0.Source(), target=amqp_1_0.Target(), initial_delivery_count=0
        )
        return talk.client(link, detach)

    assert_bounded(step, at_large)


def test_links_that_the_other_side_still_answers_are_known() -> None:
    """As many as requests may wait, whatever the server takes its time for."""
    talk = Talk10(limits=Limits(requests=8)).open().session()
    for at in range(8):
        talk.client(attach(at), amqp_1_0.spec.Detach(at + 9, closed=True))
    for at in range(8):
        talk.server(attach(at, role=True), amqp_1_0.spec.Detach(at + 9, closed=True))
    assert talk.finish().rules == []
    answers = [unit.answers for unit in talk.observed if unit.event in ("attach", "detach")]
    assert None not in answers[16:]


CLASSIC: dict[str, Callable[[Talk, int], Talk]] = {
    "channels": lambda talk, at: talk.client(talk.named("channel.open"), channel=at + 2),
    "channels of both sides": lambda talk, at: talk.channel(at + 2),
    "channels that nobody opened": lambda talk, at: talk.client(talk.named("basic.get", queue="q"), channel=at + 2),
    "channels with messages": lambda talk, at: talk.channel(at + 2).client(talk.named("tx.select"), channel=at + 2),
    "requests that nobody answers": lambda talk, at: talk.client(
        talk.named("queue.declare", queue=f"queue {at}"), channel=1
    ),
    "gets that nobody answers": lambda talk, at: talk.client(talk.named("basic.get", queue=f"queue {at}"), channel=1),
    "consumers that nobody answers": lambda talk, at: talk.client(
        talk.named("basic.consume", queue="q", consumer_tag=f"tag {at}"), channel=1
    ),
    "consumers that nobody cancels": lambda talk, at: talk.client(
        talk.named("basic.consume", queue="q", consumer_tag=f"tag {at}"), channel=1
    ).server(talk.named("basic.consume-ok", consumer_tag=f"tag {at}"), channel=1),
    "consumers of one tag": lambda talk, at: talk.client(
        talk.named("basic.consume", queue="q", consumer_tag="tag"), channel=1
    ),
    "consumers without an answer": lambda talk, at: talk.client(
        talk.named("basic.consume", queue="q", consumer_tag=f"tag {at}", no_wait=True), channel=1
    ),
    "consumers cancelled without an answer": lambda talk, at: talk.client(
        talk.named("basic.consume", queue="q", consumer_tag=f"tag {at}", no_wait=True),
        talk.named("basic.cancel", consumer_tag=f"tag {at}", no_wait=True),
        channel=1,
    ),
    "deliveries that nobody settles": lambda talk, at: talk.server(talk.deliver(at + 1, b"body")),
    "publishes that nobody confirms": lambda talk, at: talk.client(
        talk.publish(b"body", routing_key=f"key {at}", mandatory=True)
    ),
    "headers that never come": lambda talk, at: talk.client(
        talk.named("basic.publish", routing_key=f"key {at}"), channel=at + 2
    ),
}


@pytest.mark.parametrize(
    ("version", "mode"),
    [
        (version, mode)
        for version in (AMQP_0_8, AMQP_0_9_1)
        for mode in ("normal", "confirm", "tx")
        if version is AMQP_0_9_1 or mode != "confirm"
    ],
    ids=str,
)
@pytest.mark.parametrize("kind", CLASSIC)
def test_0_8_and_0_9_1_keep_no_more_than_their_limits(kind: str, version: Version, mode: str, at_large: bool) -> None:
    talk = Talk(version, limits=FEW).login().channel()
    if mode != "normal":
        talk.client(talk.named(f"{mode}.select"), channel=1).server(talk.named(f"{mode}.select-ok"), channel=1)
    # So many consumers that were cancelled without waiting are remembered, whatever the limits are.
    assert_bounded(lambda at: CLASSIC[kind](talk, at), at_large, 1100 if "cancelled" in kind else 0)


AMQP_0_10: dict[str, Callable[[Talk010, int], Talk010]] = {
    "sessions that one side attaches": lambda talk, at: talk.client(
        amqp_0_10.spec.SessionAttach(b"name %d" % at), channel=at + 1
    ),
    "sessions of one name after the other": lambda talk, at: talk.client(
        amqp_0_10.spec.SessionAttach(b"name %d" % at), amqp_0_10.spec.SessionDetach(b"name %d" % at), channel=1
    ),
    "sessions that nobody attached": lambda talk, at: talk.client(amqp_0_10.spec.ExecutionSync(), channel=at + 1),
    "commands that nobody completes": lambda talk, at: talk.client(amqp_0_10.spec.QueueQuery(f"queue {at}")),
    "subscriptions": lambda talk, at: talk.client(amqp_0_10.spec.MessageSubscribe("q", f"d{at}", 0, 0)),
    "wrong subscriptions": lambda talk, at: talk.client(
        *([amqp_0_10.spec.TxSelect()] if not at else []), amqp_0_10.spec.MessageSubscribe("q", f"d{at}", 1, 0)
    ),
    "suspended branches": lambda talk, at: talk.client(
        *([amqp_0_10.spec.DtxSelect()] if not at else []),
        amqp_0_10.spec.DtxStart(amqp_0_10.spec.Xid(at, b"g", b"b")),
        amqp_0_10.spec.DtxEnd(amqp_0_10.spec.Xid(at, b"g", b"b"), suspend=True),
    ),
    "branches left by another start": lambda talk, at: talk.client(
        *([amqp_0_10.spec.DtxSelect()] if not at else []), amqp_0_10.spec.DtxStart(amqp_0_10.spec.Xid(at, b"g", b"b"))
    ),
    "accepts that nobody commits": lambda talk, at: (
        talk.client(*([amqp_0_10.spec.TxSelect()] if not at else []))
        .server(message("d", b"body", accept_mode=0))
        .client(amqp_0_10.spec.MessageAccept(amqp_0_10.SequenceSet.of(at)))
    ),
    "accepts that nobody commits, and rejects behind them": lambda talk, at: (
        talk.client(*([amqp_0_10.spec.TxSelect()] if not at else []))
        .server(message("d", b"body", accept_mode=0))
        .client(
            *[
                kind(amqp_0_10.SequenceSet.of(at))
                for kind in (amqp_0_10.spec.MessageAccept, amqp_0_10.spec.MessageReject)
            ]
        )
    ),
    "messages that nobody completes": lambda talk, at: talk.client(message("ex", b"body")),
    "deliveries that nobody accepts": lambda talk, at: talk.server(message("d", b"body", accept_mode=0)),
    "deliveries to unknown destinations": lambda talk, at: talk.server(message(f"d{at}", b"body")),
    "messages on many channels": lambda talk, at: talk.client(message("ex", b"body", channel=at + 1)),
}


@pytest.mark.parametrize("kind", AMQP_0_10)
def test_0_10_keeps_no_more_than_its_limits(kind: str, at_large: bool) -> None:
    talk = Talk010(limits=FEW).open().session()
    assert_bounded(lambda at: AMQP_0_10[kind](talk, at), at_large)


@pytest.mark.parametrize("size", [1, 2])
@pytest.mark.parametrize("times", ["one time", "many times"])
@pytest.mark.parametrize("start", [True, False, None])
def test_what_isnt_recognised_takes_little_more_than_is_held(
    size: int, times: str, start: bool | None, at_large: bool
) -> None:
    """Single octets, of which nobody knows whether they begin a frame: real memory, by the octet."""
    limits = Limits(unparsed=100_000)
    count = 8000 if at_large else 3000
    step = 1 if times == "many times" else 0
    # Modules that are imported on the way are no memory of an observer.
    for first in Observer(limits=limits), Observer(client="c"):
        first.receive_data(b"\1" * 100, "c", 1)
        first.finish(2)
        take(first)
    tracemalloc.start()
    try:
        observer = Observer(client="c" if start else None, from_start=start, limits=limits)
        for at in range(count):
            observer.receive_data(b"\1" * size, "cs"[at % 2], 1000 + at * step)
            while observer.next_event() is not NEED_DATA:
                pass
            if at % 1000 == 0:
                held, _ = tracemalloc.get_traced_memory()
                assert held <= 100_000 + 2 * observer.held
                assert observer.held <= limits.unparsed + 1000
    finally:
        tracemalloc.stop()


def test_how_octets_are_cut_doesnt_change_when_they_are_given_up() -> None:
    """Those of one time count as one arrival, and few of them are kept apart."""
    limits = Limits(unparsed=5000)
    given_up: set[int] = set()
    for size in (1, 7, 1024):
        observer = Observer(limits=limits)
        octets = b"AMQ" * 2048
        for start in range(0, len(octets), size):
            observer.receive_data(octets[start : start + size], "c", 1)
            if observer.next_event() is not NEED_DATA:
                given_up.add(start // 1024)
                break
        else:
            raise AssertionError("it isn't given up")
    assert len(given_up) == 1
