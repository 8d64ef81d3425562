"""Clients of every version on one hub, hostile ones among them: nobody notices another one, and a snapshot goes on."""

from collections.abc import Sequence
from itertools import cycle
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from amqp_sansio.broker import Hub
from amqp_sansio.broker.model.commands import CloseOwner, DeleteExchange, DeleteQueue, OpenOwner
from amqp_sansio.broker.model.exchange import predeclared
from amqp_sansio.broker.snapshot import dumps
from tests.kit.hostiles import HOSTILES, check_words
from tests.kit.hub_hostile import Act, Driver, Stage, faults_found, replay, settings_of, snapshot
from tests.kit.hub_witness import witnesses_of

LABELS = ("0-9-1", "0-8", "0-10", "1.0")
ALL = tuple([HOSTILES[label] for label in LABELS])
PLAYS = st.binary(min_size=600, max_size=2000)
LEFT = 4000
"""Octets that the pickle of a hub may have grown by, when nobody is left: counters, and names."""


@settings(max_examples=20)
@given(octets=PLAYS)
def test_hostile_clients_of_all_versions_on_one_hub(octets: bytes) -> None:
    with faults_found():
        stage = Stage(octets, ALL)
        stage.run()
        stage.finish()
    check_words(stage.driver, len(LABELS))


@settings(max_examples=20)
@given(octets=PLAYS)
def test_others_are_sent_the_very_octets_that_they_would_be_sent_alone(octets: bytes) -> None:
    """Nobody's presence changes a single octet of what who has nothing to do with it gets."""
    stage = Stage(octets, ALL, shared=False, checks=False).run()
    numbers = {each.number for each in stage.witnesses}
    alone = [act for act in stage.driver.acts if act.number in numbers or act.kind == "time"]
    assert len(stage.driver.acts) > len(alone)
    sent = replay(alone, settings_of())
    assert sent == {number: bytes(stage.driver.out[number]) for number in numbers}
    stage.finish()


def _same(stage: Stage, sent: dict[int, bytes]) -> None:
    for number, octets in stage.driver.out.items():
        assert sent[number] == bytes(octets), number


SHORT = st.binary(min_size=500, max_size=1200)


@settings(max_examples=6)
@given(octets=SHORT, every=st.integers(20, 40))
def test_a_snapshot_at_any_time_goes_on_as_the_hub_would(octets: bytes, every: int) -> None:
    """tests/system/broker/test_every_snapshot.py takes them more often."""
    goes_on_from_snapshots(octets, every)


def goes_on_from_snapshots(octets: bytes, every: int) -> None:
    """A hub that is a copy of itself after each so many acts sends what it sends without."""
    stage = Stage(octets, ALL, checks=False).run()
    _same(stage, replay(stage.driver.acts, settings_of(history=0), snapshot, every))


@settings(max_examples=10)
@given(octets=PLAYS, sizes=st.lists(st.integers(1, 200), min_size=1, max_size=10))
def test_octets_in_other_pieces_have_the_same_answers(octets: bytes, sizes: Sequence[int]) -> None:
    stage = Stage(octets, ALL, checks=False).run()
    turns = cycle(sizes)

    def cut(act: Act) -> list[Act]:
        pieces: list[Act] = []
        rest = act.octets
        while rest:
            size = next(turns)
            pieces.append(act._replace(octets=rest[:size]))
            rest = rest[size:]
        return pieces

    acts = [piece for act in stage.driver.acts for piece in (cut(act) if act.kind == "data" else [act])]
    _same(stage, replay(acts, settings_of(history=0)))


# When all are gone.


def size_of(hub: Hub) -> int:
    """Octets of a hub's pickle, without its history and what clients may leave behind: queues and exchanges."""
    owner = hub.apply(OpenOwner("/", "guest"))
    vhost = hub.model.vhosts["/"]
    own = {each.name for each in predeclared()}
    for queue in list(vhost.queues.values()):
        if queue.name in vhost.queues and queue.exclusive_to is None:
            hub.apply(DeleteQueue(owner, queue.name))
    for name in [each for each in vhost.exchanges if each not in own]:
        if name in vhost.exchanges:
            hub.apply(DeleteExchange(owner, name))
    hub.apply(CloseOwner(owner))
    hub.settle()
    if hub.model.history is not None:
        hub.model.history.records.clear()
    return len(dumps(hub))


def stays(hub: Hub) -> bool:
    """Whether something may stay as long as its client likes: an expiry-policy never, a branch that is prepared."""
    register, termini = hub.shared.get("0-10"), hub.shared.get("1.0")
    branches: dict[str, Any] = {} if register is None else register.books
    return bool(termini is not None and termini.kept) or any([each.works for each in branches.values()])


@settings(max_examples=20)
@given(octets=PLAYS)
def test_nothing_is_kept_of_those_who_are_gone(octets: bytes) -> None:
    stage = Stage(octets, ALL, checks=False).run()
    stage.finish()
    if not stays(stage.hub):
        assert size_of(stage.hub) <= size_of(Hub(stage.settings)) + LEFT


@pytest.mark.parametrize("label", LABELS)
def test_nothing_grows_with_the_clients_that_were_there(label: str, clients: int = 60) -> None:
    """They come, work, and go without a word; the pickle is as big as after the first of them.

    tests/system/broker/test_clients_at_large.py tries it with two hundred."""
    driver = Driver(settings_of(history=0))
    sizes: list[int] = []
    for count in range(clients):
        (witness,) = witnesses_of(driver, [label], "")
        for _ in range(3):
            witness.publish(witness.own, witness.body("own", witness.sent))
            witness.sent += 1
            while witness.pump():
                pass
        driver.lose(witness.number)
        if count in (20, clients - 1):
            driver.pass_time(driver.now + 1e7)
            sizes.append(len(dumps(driver.hub)))
    assert sizes[1] <= sizes[0] + 100
