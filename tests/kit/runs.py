"""Runs: random use of any version that octets steer, and all that can be seen of it as text."""

from collections.abc import Callable
from functools import partial
from typing import Any, Final

from hypothesis import strategies as st

from amqp_sansio import AMQP_0_8, AMQP_0_9_1, AMQP_0_10, AMQP_1_0, Version
from tests.kit import driving_1_0, driving_classic
from tests.kit.driving import OCTETS, Driver, operations_of
from tests.kit.pair import SIDES, Chunks
from tests.kit.play_0_10 import Play


class Run:
    """Random use of a version: by octets that `octets` draws, in the ways that `options` draws."""

    def __init__(
        self, trace: Callable[..., list[str]], octets: st.SearchStrategy[bytes], **options: st.SearchStrategy[Any]
    ) -> None:
        self.octets = octets
        self.options = st.fixed_dictionaries(options)
        self._trace = trace

    def trace(
        self, octets: bytes, *, chunks: Chunks | None = None, forks: bool = False, check: bool = False, **options: Any
    ) -> list[str]:
        """What is seen. `chunks` cuts what arrives; with `forks` the ends are pickled and restored all the time; with
        `check`, a command that raises has to leave its end as it was."""
        return self._trace(octets, chunks=chunks, forks=forks, check=check, **options)


def _drive(make: Callable[..., Driver[Any]], octets: bytes, *, forks: bool, check: bool, **options: Any) -> list[str]:
    driver = make(check_misuse=check, **options)
    seen: list[str] = []
    for operation in operations_of(octets):
        driver.apply(operation)
        if forks:
            driver.pair.refork()
        seen += driver.trace()
    driver.finish()
    return seen + driver.trace()


def _play(octets: bytes, **options: Any) -> list[str]:
    play = Play(octets, **options)
    play.run()
    return play.trace


def _drives(make: Callable[..., Driver[Any]]) -> Run:
    return Run(partial(_drive, make), OCTETS, opened=st.booleans(), damage=st.booleans())


RUNS: Final[dict[Version, Run]] = {
    AMQP_0_8: _drives(partial(driving_classic.Driver, AMQP_0_8)),
    AMQP_0_9_1: _drives(partial(driving_classic.Driver, AMQP_0_9_1)),
    AMQP_0_10: Run(
        _play,
        st.binary(min_size=300, max_size=900),
        side=st.sampled_from(SIDES),
        reads=st.booleans(),
        cuts=st.booleans(),
        above=st.sampled_from([None, 0, 200]),
    ),
    AMQP_1_0: _drives(driving_1_0.Driver),
}
"""0-8, 0-9-1 and 1.0 between two ends, 0-10 between an end and a peer that keeps no rules."""
