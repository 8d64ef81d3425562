"""The hostile clients of all versions at a hub, and how each is told of ends."""

from collections.abc import Sequence
from functools import partial
from typing import Final

from amqp_sansio._classic.codec.dialect import get_dialect
from tests.kit.hostile_hub_0_10 import WORDS as WORDS_0_10
from tests.kit.hostile_hub_0_10 import Ten
from tests.kit.hostile_hub_1_0 import WORDS as WORDS_1_0
from tests.kit.hostile_hub_1_0 import One
from tests.kit.hostile_hub_classic import Classic, words_of
from tests.kit.hub_hostile import Driver, Maker, Words

HOSTILES: Final[dict[str, Maker]] = {
    "0-9-1": partial(Classic, label="0-9-1"),
    "0-8": partial(Classic, label="0-8"),
    "0-10": Ten,
    "1.0": One,
}
_HEADERS: Final[Sequence[tuple[bytes, Words]]] = (
    (b"AMQP\x01\x01\x00\x0a", WORDS_0_10),
    (b"AMQP\x00", WORDS_1_0),
    (b"AMQP\x03", WORDS_1_0),
)


def words_for(octets: bytes) -> Words:
    """The words of the version that a hub spoke to a client."""
    for header, words in _HEADERS:
        if octets.startswith(header):
            return words
    return words_of(get_dialect("0-8-rabbit" if octets[11:13] == b"\x08\x00" else "0-9-1-rabbit"))


def check_words(driver: Driver, after: int, words: Words | None = None) -> None:
    """What all clients but the first ones were told, in the words of their version."""
    for number, octets in driver.out.items():
        if number > after and octets:
            spoken = words or words_for(bytes(octets))
            spoken.check_all(bytes(octets), driver.ends.get(number))
