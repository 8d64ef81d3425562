"""The usual frames of links: each does what `SessionModel.step_transfer` or `step_disposition` does, or nothing."""

import pickle
from collections import Counter
from random import Random
from typing import Final

import pytest

from amqp_sansio import Limits
from amqp_sansio import amqp_1_0 as amqp
from amqp_sansio.amqp_1_0 import spec
from amqp_sansio.amqp_1_0.codec.violation import Violation
from amqp_sansio.amqp_1_0.model.connection import ConnectionModel
from amqp_sansio.amqp_1_0.model.link_state import CLIENT, SERVER, SessionModel
from amqp_sansio.amqp_1_0.model.states import SENT
from tests.kit.pair import structure

RUNS: Final = 25
STEPS: Final = 30
UNSETTLED: Final = 2
LAST: Final = (1 << 32) - 1
SERIALS: Final = (LAST - 1, LAST, 0, 1, 2)
TAGS: Final = (b"a", b"b", b"c", b"d", bytes(33))
MOST: Final = 100
"""Octets of the largest message."""


def _begun(random: Random) -> ConnectionModel:
    """A session with a link each way, in any settle modes, with little credit and window."""
    model = ConnectionModel(Limits(unsettled=UNSETTLED))
    for half in model.halves:
        half.assume_open()
    for side, remote in ((CLIENT, None), (SERVER, 0)):
        window = random.choice((1, 2))
        model.begin(side, 0, spec.Begin(remote, random.choice(SERIALS), incoming_window=window, outgoing_window=1000))
    for handle, sender in enumerate((CLIENT, SERVER)):
        _attach(model, handle, sender, random)
    return model


def _attach(model: ConnectionModel, handle: int, sender: int, random: Random) -> None:
    snd, rcv = random.choice((0, 1, 2, 2)), random.choice((0, 0, 0, 1))
    for side in (CLIENT, SERVER):
        sends = side == sender
        attach = spec.Attach(
            f"link {handle}",
            handle,
            not sends,
            snd_settle_mode=snd,
            rcv_settle_mode=rcv,
            initial_delivery_count=random.choice((0, LAST)) if sends else None,
            max_message_size=MOST,
        )
        model.attach(side, 0, attach)
    _credit(model, handle, sender, random)


def _credit(model: ConnectionModel, handle: int, sender: int, random: Random) -> None:
    session = model.halves[CLIENT].channels[0]
    link = session.halves[sender].handles[handle]
    flow = spec.Flow(
        session.halves[sender].next_outgoing_id,
        random.choice((1, 2, 3)),
        session.halves[1 - sender].next_outgoing_id,
        1000,
        handle=handle,
        delivery_count=link.delivery_count,
        link_credit=random.choice((0, 1, 3)),
    )
    model.flow(1 - sender, 0, flow)


def _transfer(side: int, random: Random) -> tuple[spec.Transfer, int]:
    handle = side if random.random() < 0.9 else 1 - side
    more = random.random() < 0.1
    number, tag = random.choice(SERIALS), random.choice(TAGS)
    frame = spec.Transfer(handle, number, tag, 0, random.choice((None, None, True)), more)
    return frame, random.choice((1, 1, 1, MOST + 1))


def _take_transfer(session: SessionModel, side: int, frame: spec.Transfer, size: int) -> bool:
    link = session.halves[side].handles.get(frame.handle)
    if link is None or link.sender != side or frame.more:
        return False
    number, tag = frame.delivery_id or 0, frame.delivery_tag or b""
    if frame.settled:
        return link.take_usual_transfer(number, tag, size, UNSETTLED, None)
    delivery = link.DELIVERY(link, number, tag)
    delivery.progress = SENT
    delivery.size = size
    return link.take_usual_transfer(number, tag, size, UNSETTLED, delivery)


def _disposition(random: Random) -> spec.Disposition:
    first = random.choice(SERIALS)
    last = (first + random.randrange(1, 3)) & LAST if random.random() < 0.3 else None
    state = random.choice((amqp.Accepted(), amqp.Accepted(), None))
    return spec.Disposition(random.random() < 0.8, first, last, random.random() < 0.8, state)


def _take_disposition(session: SessionModel, side: int, frame: spec.Disposition) -> bool:
    last = frame.first if frame.last is None else frame.last
    if not frame.settled:
        return False
    return session.take_usual_disposition(side, frame.role, frame.first, last, frame.state) is not None


def test_a_usual_frame_is_the_step_or_nothing() -> None:
    taken: Counter[str] = Counter()
    for seed in range(RUNS):
        random = Random(seed)
        model = _begun(random)
        octets, before = pickle.dumps(model), structure(model)
        for step in range(STEPS):
            side = random.choice((CLIENT, SERVER))
            stepped, tried = _copy(octets), _copy(octets)
            session = tried.halves[side].channels[0]
            name, usual, legal = "flow or attach", False, True
            try:
                if random.random() < 0.5:
                    name = "transfer"
                    transfer, size = _transfer(side, random)
                    usual = _take_transfer(session, side, transfer, size)
                    stepped.transfer(side, 0, transfer, size)
                elif random.random() < 0.8:
                    disposition = _disposition(random)
                    name = f"disposition by the {'receiver' if disposition.role else 'sender'}"
                    usual = _take_disposition(session, side, disposition)
                    stepped.disposition(side, 0, disposition)
                elif random.random() < 0.7:
                    _credit(stepped, side, side, random)
                else:
                    for each in (CLIENT, SERVER):
                        stepped.detach(each, 0, spec.Detach(side, random.random() < 0.5))
                    _attach(stepped, side, side, random)
            except Violation:
                legal = False
            if usual:
                assert legal, (seed, step, name)
                taken[name] += 1
            if legal:
                octets, after = pickle.dumps(stepped), structure(stepped)
            else:
                after = before
            assert structure(tried) == (after if usual else before), (seed, step, name)
            before = after
    assert set(taken) == {"transfer", "disposition by the receiver", "disposition by the sender"}


@pytest.mark.parametrize("again", range(3))
def test_what_the_attaches_say_is_found_anew_after_each(again: int) -> None:
    """Also for a delivery that is open since before: as `step_disposition`, which nothing here needs."""
    model = ConnectionModel(Limits())
    for half in model.halves:
        half.assume_open()
    for side, remote in ((CLIENT, None), (SERVER, 0)):
        model.begin(side, 0, spec.Begin(remote, 0, incoming_window=9, outgoing_window=9))

    def attach() -> None:
        for side in (CLIENT, SERVER):
            model.attach(side, 0, spec.Attach("link", 0, side == SERVER, initial_delivery_count=0))

    attach()
    model.flow(SERVER, 0, spec.Flow(0, 9, 0, 9, handle=0, delivery_count=0, link_credit=9))
    model.transfer(CLIENT, 0, spec.Transfer(0, 0, b"a", 0), 1)
    for _ in range(again):
        for side in (CLIENT, SERVER):
            model.detach(side, 0, spec.Detach(0))
        attach()
    stepped = _copy(pickle.dumps(model))
    accepted = spec.Disposition(True, 0, settled=True, state=amqp.Accepted())
    stepped.disposition(SERVER, 0, accepted)
    session = model.halves[CLIENT].channels[0]
    assert session.take_usual_disposition(SERVER, True, 0, 0, accepted.state) is not None
    assert session.halves[CLIENT].deliveries == {}
    assert structure(model.halves[CLIENT].channels[0].halves) == structure(stepped.halves[CLIENT].channels[0].halves)


def _copy(octets: bytes) -> ConnectionModel:
    copy: ConnectionModel = pickle.loads(octets)
    return copy
