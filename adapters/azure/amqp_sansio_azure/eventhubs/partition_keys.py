"""The partition of a partition key: Jenkins' lookup3 of the key's UTF-8, folded to 16 bits, modulo the partitions.

Microsoft's SDKs for .NET, JavaScript, Java and Python compute it alike in their buffering producers; that of .NET says
that its hash is a port of the service's code, so a buffering and a plain producer find the same partition.
"""

from __future__ import annotations

from typing import Final

_MASK: Final = 0xFFFF_FFFF
_SEED: Final = 0xDEAD_BEEF
_MIX: Final = (4, 6, 8, 16, 19, 4)
"""By how much each of the six steps turns its word."""
_FINAL: Final = (14, 11, 25, 16, 4, 14, 24)
"""The same for the seven steps at the end."""


def lookup3(data: bytes) -> tuple[int, int]:
    """Return the two words of Bob Jenkins' hashlittle2, with the seeds 0.

    >>> [f"{each:08x}" for each in lookup3(b"Four score and seven years ago")]
    ['17770551', 'ce7226e6']
    """
    words = [(_SEED + len(data)) & _MASK] * 3
    at = 0
    while len(data) - at > 12:
        _add(words, data[at : at + 12])
        at += 12
        for step, turn in enumerate(_MIX):
            # One word takes another one, turned; a third is added to that.
            one, other, third = step % 3, (step + 2) % 3, (step + 1) % 3
            words[one] = ((words[one] - words[other]) & _MASK) ^ _turned(words[other], turn)
            words[other] = (words[other] + words[third]) & _MASK
    if len(data) > at:
        _add(words, data[at:])
        for step, turn in enumerate(_FINAL):
            one, other = (step + 2) % 3, (step + 1) % 3
            words[one] = ((words[one] ^ words[other]) - _turned(words[other], turn)) & _MASK
    return words[2], words[1]


def hash_of(key: str) -> int:
    """Return the hash of a partition key, from -32,768 to 32,767."""
    one, other = lookup3(key.encode("utf-8", "surrogatepass"))
    folded = (one ^ other) & 0xFFFF
    return folded - 0x1_0000 if folded & 0x8000 else folded


def partition_of(key: str, partitions: int) -> int:
    """Return the number of a key's partition.

    A negative hash is divided as .NET and JavaScript divide: the remainder has its sign, which is then left out.

    >>> partition_of("alphabet", 3), partition_of("TheBestParitionEver", 4)
    (0, 2)
    """
    return abs(hash_of(key)) % partitions


def _add(words: list[int], data: bytes) -> None:
    """Add up to 12 octets to the three words."""
    for number in range(3):
        words[number] = (words[number] + int.from_bytes(data[4 * number : 4 * number + 4], "little")) & _MASK


def _turned(word: int, bits: int) -> int:
    return ((word << bits) | (word >> (32 - bits))) & _MASK


__all__ = ["hash_of", "lookup3", "partition_of"]
