"""Purity of AMQP 0-10: no time, randomness or I/O is asked for, and nothing depends on how strings are hashed."""

from __future__ import annotations

from tests.core.test_purity import run
from tests.kit import purity_0_10


def test_all_output_is_the_same_under_every_hash_seed() -> None:
    digests = {purity_0_10.digest()}
    for seed in ("1", "2"):
        result = run("-m", "tests.kit.purity_0_10", seed=seed)
        assert result.returncode == 0, result.stderr
        digests.add(result.stdout.strip())
    (digest,) = digests
    assert len(digest) == 64
