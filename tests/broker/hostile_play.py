"""What hostile clients of every version do at a hub, and what is looked at afterwards."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from amqp_sansio import RemoteProtocolError
from amqp_sansio.broker import Settings
from tests.kit.hostile_1_0 import Choices
from tests.kit.hub_hostile import Driver, Stage, faults_found, settings_of
from tests.kit.hub_witness import witnesses_of

CheckFaults = Callable[[list[RemoteProtocolError]], None]
CheckWords = Callable[[bytes, Any], object]
"""Takes the octets that a client was sent, and how its connection ended."""


def by_rule(asked: Mapping[tuple[str, Any], Sequence[str]]) -> dict[str, set[tuple[str, Any]]]:
    """The scopes and codes that each rule may be answered with, where each stands beside all its rules."""
    found: dict[str, set[tuple[str, Any]]] = {}
    for place, rules in asked.items():
        for rule in rules:
            found.setdefault(rule, set()).add(place)
    return found


def check_all_words(check_words: CheckWords, driver: Driver, after: int) -> None:
    """What all clients but the first ones were told."""
    for number, octets in driver.out.items():
        if number > after:
            check_words(bytes(octets), driver.ends.get(number))


def play(
    octets: bytes, hostile: Any, check_faults: CheckFaults, check_words: CheckWords, settings: Settings | None = None
) -> None:
    """Two hostile clients do what `octets` choose, among witnesses who get what is theirs."""
    with faults_found() as found:
        stage = Stage(octets, [hostile] * 2, settings=settings)
        stage.run()
        stage.finish()
    check_faults(found)
    check_all_words(check_words, stage.driver, len(stage.witnesses))


def feed(
    label: str,
    make: Callable[[Driver], Any],
    begin: Callable[[Driver, Any], None],
    units: Iterable[bytes],
    check_faults: CheckFaults,
    check_words: CheckWords,
    settings: Settings | None = None,
) -> None:
    """A client that is opened sends `units` one by one, and another one takes its place when it's gone; a witness gets
    what is its own. `begin` does what has to be done before a unit."""
    driver = Driver(settings or settings_of())
    (witness,) = witnesses_of(driver, [label], "")
    wild = make(driver)
    wild.open()
    with faults_found() as found:
        for octets in units:
            if wild.engine is None:
                wild = make(driver)
                wild.open()
            begin(driver, wild)
            driver.feed(wild.number, octets)
            witness.act(Choices(b"\0"))
            while witness.pump():
                pass
    check_faults(found)
    check_all_words(check_words, driver, 1)
    witness.finish()
    assert witness.got == witness.sent == len(witness.confirmed) > 0
