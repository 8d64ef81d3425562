"""The usual methods of a channel: each does what `ConnectionModel.step` does, or nothing at all."""

import pickle
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from random import Random
from typing import Any, Final

import pytest

from amqp_sansio import AMQP_0_8, AMQP_0_9_1, Limits, Version
from amqp_sansio._classic.codec.dialect import default_dialect
from amqp_sansio._classic.codec.violation import Violation
from amqp_sansio._classic.model.channel_state import UNUSUAL, ChannelState
from amqp_sansio._classic.model.connection import ConnectionModel
from amqp_sansio.endpoint import Side
from tests.kit.pair import structure

RUNS: Final = 40
STEPS: Final = 30
LIMITS: Final = Limits(unsettled=4, unconfirmed=3)
TAGS: Final = (0, 1, 1, 2, 2, 3, 4, 5, (1 << 64) - 1)

OTHERS: Final[tuple[tuple[Side, str, dict[str, Any]], ...]] = (
    (Side.CLIENT, "basic.reject", {"requeue": True}),
    (Side.CLIENT, "basic.recover", {}),
    (Side.SERVER, "basic.recover-ok", {}),
    (Side.CLIENT, "basic.cancel", {"consumer_tag": "c", "no_wait": True}),
    (Side.CLIENT, "basic.consume", {"queue": "q", "consumer_tag": "c", "no_wait": True}),
    (Side.CLIENT, "tx.rollback", {}),
    (Side.SERVER, "tx.rollback-ok", {}),
    (Side.CLIENT, "channel.close", {}),
)
"""Methods that have no usual way, with their fields but for a delivery tag."""

Move = tuple[Side, Any, Callable[[ChannelState], bool] | None]
"""Who sends which method, and the usual way of it with whether that took it; None where it has none."""


def _opened(version: Version, random: Random) -> ConnectionModel:
    """An open channel with a consumer of each kind, in any mode."""
    model = ConnectionModel(default_dialect(version), LIMITS)
    named = model.dialect.named
    model.assume_open()
    model.step(Side.CLIENT, 1, named["channel.open"]())
    model.step(Side.SERVER, 1, named["channel.open-ok"]())
    for consumer, no_ack in (("c", False), ("free", True)):
        model.step(
            Side.CLIENT, 1, named["basic.consume"](queue="q", consumer_tag=consumer, no_ack=no_ack, no_wait=True)
        )
    select = random.choice(("", "tx.select", "confirm.select"))
    if select in named:
        model.step(Side.CLIENT, 1, named[select]())
        model.step(Side.SERVER, 1, named[f"{select}-ok"]())
    return model


def _move(model: ConnectionModel, random: Random, token: int) -> Move:
    named = model.dialect.named
    tag, multiple = random.choice(TAGS), random.random() < 0.4
    match random.choice(("deliver",) * 4 + ("publish",) * 3 + ("ack",) * 3 + ("confirm",) * 3 + ("other",)):
        case "deliver":
            consumer = random.choice(("c", "c", "free", "gone"))
            method = named["basic.deliver"](consumer, tag, False, "e", "r")
            return Side.SERVER, method, lambda it: it.take_usual_delivery(tag, consumer, token, LIMITS.unsettled)
        case "publish":
            method = named["basic.publish"]("e", "r", False, False)
            return Side.CLIENT, method, lambda it: it.take_usual_publish(token, LIMITS.unconfirmed) is not None
        case "ack" if multiple:
            return Side.CLIENT, named["basic.ack"](tag, True), lambda it: it.take_usual_acks(tag) is not None
        case "ack":
            return Side.CLIENT, named["basic.ack"](tag, False), lambda it: it.take_usual_ack(tag) is not UNUSUAL
        case "confirm" if multiple:
            return Side.SERVER, named["basic.ack"](tag, True), lambda it: it.take_usual_confirms(tag) is not None
        case "confirm":
            return Side.SERVER, named["basic.ack"](tag, False), lambda it: it.take_usual_confirm(tag) is not UNUSUAL
        case _:
            pass
    side, name, fields = random.choice(OTHERS)
    if name == "basic.reject":
        fields = {**fields, "delivery_tag": tag}
    method = named[name](**fields) if name in named else named["basic.qos"]()
    return side if name in named else Side.CLIENT, method, None


@pytest.mark.parametrize("version", [AMQP_0_9_1, AMQP_0_8], ids=str)
def test_a_usual_method_is_the_step_or_nothing(version: Version) -> None:
    taken: Counter[str] = Counter()
    for seed in range(RUNS):
        random = Random(seed)
        model = _opened(version, random)
        for token in range(STEPS):
            side, method, usual = _move(model, random, token)
            stepped = _copy(model)
            try:
                stepped.step(side, 1, method, token)
            except Violation:
                legal = False
            else:
                legal = True
            if usual is not None and 1 in model.channels:
                tried = _copy(model)
                if usual(tried.channels[1]):
                    assert legal, (seed, token, method)
                    assert structure(tried) == structure(stepped), (seed, token, method)
                    many = " of many" if getattr(method, "multiple", False) else ""
                    taken[f"{method.NAME}{many} by the {side.value}"] += 1
                else:
                    assert structure(tried) == structure(model), (seed, token, method)
            if legal:
                model = stepped
            if 1 not in model.channels:
                break
    expected = {"basic.deliver by the server", "basic.publish by the client"}
    for side in (Side.CLIENT, Side.SERVER)[: 2 if version is AMQP_0_9_1 else 1]:
        expected |= {f"basic.ack by the {side.value}", f"basic.ack of many by the {side.value}"}
    assert set(taken) == expected


@pytest.mark.parametrize("version", [AMQP_0_9_1, AMQP_0_8], ids=str)
def test_usual_deliveries_are_taken_one_after_the_other(version: Version) -> None:
    """As many of them, with the same state, however many come together and in whatever state the channel is."""
    found: set[tuple[bool, bool]] = set()
    for seed in range(4 * RUNS):
        random = Random(seed)
        model = _opened(version, random)
        for token in range(random.randrange(8)):
            side, method, _ = _move(model, random, token)
            moved = _copy(model)
            with suppress(Violation):
                moved.step(side, 1, method, token)
                model = moved
        if 1 not in model.channels:
            continue
        single, together = _copy(model), _copy(model)
        first = random.randrange(7)
        tags = random.choice((list(range(first, first + 6)), random.sample(range(7), 4)))[: random.randint(1, 6)]
        consumer = random.choice(("c", "c", "free", "gone"))
        taken = 0
        for tag in tags:
            if not single.channels[1].take_usual_delivery(tag, consumer, "token", LIMITS.unsettled):
                break
            taken += 1
        count = together.channels[1].take_usual_deliveries(tags, consumer, "token", LIMITS.unsettled)
        assert (count, structure(together)) == (taken, structure(single)), (seed, tags)
        found.add((taken > 0, taken < len(tags)))
    assert found == {(True, True), (True, False), (False, True)}


def _copy(model: ConnectionModel) -> ConnectionModel:
    copy: ConnectionModel = pickle.loads(pickle.dumps(model))
    return copy
