"""Hypothesis state machines: worlds whose faults are rules, and ends or brokers under test that do weighted deeds.

A failing run is shrunk by Hypothesis to the shortest sequence of rules. `Drawn` makes it the source of a world's
choices, so that a schedule is shrunk too.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Final

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from .simulate import CALM, Fault, Promise, World

PLACE: Final = st.integers(0, 15)
"""Picks one of what there is, by its place, modulo their number."""


class Drawn:
    """Choices that Hypothesis makes: `data` is drawn from `hypothesis.strategies.data()`.

    >>> from hypothesis import given, strategies
    >>> from amqp_sansio.testing.simulate import Hazards, Process
    >>> @given(strategies.data())
    ... def test_a_program_that_takes_nothing_leaves_a_message(data: strategies.DataObject) -> None:
    ...     with World(Drawn(data), Hazards()) as world:
    ...         world.declare("jobs", b"1")
    ...         world.run()
    ...         assert [each.kind.value for each in world.findings()] == ["left"]
    >>> test_a_program_that_takes_nothing_leaves_a_message()
    """

    def __init__(self, data: st.DataObject) -> None:
        self._data = data

    def pick(self, count: int, odds: int = 0) -> int:
        picked = self._data.draw(st.integers(0, max(count, odds) - 1))
        return picked if picked < count else 0


class WorldMachine(RuleBasedStateMachine):
    """A world whose steps and faults are rules; at the end it comes to rest, and its promise is judged.

    A subclass writes `scene`, and adds rules of its own. `faults` are the kinds that may happen.
    """

    promise: Promise = Promise.AT_LEAST_ONCE
    faults: tuple[Fault, ...] = (Fault.CUT, Fault.STALL, Fault.CRASH, Fault.RESTART, Fault.PARTITION, Fault.JUMP)

    def __init__(self) -> None:
        super().__init__()
        self.world = World(promise=self.promise)

    def scene(self) -> None:
        """Set up `world`: declare queues, start programs."""
        raise NotImplementedError

    @initialize(data=st.data())
    def begin(self, data: st.DataObject) -> None:
        """Begin, with Hypothesis as the source of what the faults choose."""
        self.world.close()
        self.world = World(Drawn(data), CALM, promise=self.promise)
        self.world.trace = []
        self.scene()

    @rule(count=st.integers(1, 4))
    def take_steps(self, count: int) -> None:
        """Take some steps in their turn."""
        for _ in range(count):
            self.world.step()

    @rule()
    def go_on(self) -> None:
        """Take steps until something comes about: a message moves, or a program starts, works or ends."""
        before = self.world.progressed
        self.world.run(lambda: self.world.progressed != before)

    @rule(place=PLACE)
    def go_wrong(self, place: int) -> None:
        """Let one of the possible faults happen."""
        self.world.go_wrong(self.faults, place)

    def teardown(self) -> None:
        """Come to rest, and judge."""
        with self.world as world:
            world.run()
            found = world.findings()
            if found:
                lines = [*map(str, found), *(world.trace or ())]
                raise AssertionError("\n".join(lines))


class WeightedMachine(RuleBasedStateMachine):
    """A client, server or broker under test: it does the deeds that `weights` names, each as often as its weight says.

    A deed is a method that takes `data`, to draw from. `agree` is called after each. A subclass writes `begin` with
    Hypothesis's `initialize`, the deeds and `agree`.

    >>> class Counter(WeightedMachine):
    ...     weights = {"count": 3, "forget": 1}
    ...     counted = 0
    ...
    ...     def count(self, data: st.DataObject) -> None:
    ...         self.counted += data.draw(st.integers(1, 3))
    ...
    ...     def forget(self, data: st.DataObject) -> None:
    ...         self.counted = 0
    ...
    ...     def agree(self) -> None:
    ...         assert self.counted >= 0
    >>> from hypothesis.stateful import run_state_machine_as_test
    >>> run_state_machine_as_test(Counter)
    """

    weights: ClassVar[dict[str, int]]

    def needs(self) -> Mapping[str, object]:
        """Return what a deed needs, by its name: it isn't done while that is false."""
        return {}

    def agree(self) -> None:
        """Raise AssertionError if what is under test isn't as it should be."""

    @rule(data=st.data())
    def acts(self, data: st.DataObject) -> None:
        """Do a deed."""
        needs = self.needs()
        names = [name for name, weight in self.weights.items() for _ in range(weight) if needs.get(name, True)]
        getattr(self, data.draw(st.sampled_from(names)))(data)

    @invariant()
    def is_as_it_should_be(self) -> None:
        """Call `agree`."""
        self.agree()


__all__ = ["Drawn", "WeightedMachine", "WorldMachine"]
