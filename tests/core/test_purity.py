"""Purity: no time, randomness or I/O is asked for. `tests/system` adds that no hash seed makes a difference."""

import os
import random
import secrets
import socket
import time
import uuid

import pytest

from tests.kit import purity
from tools.steps import uncollected


@pytest.mark.parametrize("version", purity.USES)
def test_a_run_asks_for_nothing_from_outside(version: str) -> None:
    """The same digest comes of two runs, in which all of it is forbidden."""
    # Hypothesis asks for the time whenever the collector runs.
    with pytest.MonkeyPatch.context() as patch, uncollected():
        purity.forbid(patch.setattr)
        digests = {purity.digest(version, most=3) for _ in range(2)}
    (digest,) = digests
    assert len(digest) == 64


MODULES = {module.__name__: module for module in (os, random, secrets, socket, time, uuid)}


@pytest.mark.parametrize("call", purity.CALLS)
def test_the_traps_catch(call: str) -> None:
    """What the run above forbids really raises."""
    with pytest.MonkeyPatch.context() as patch, uncollected():
        purity.forbid(patch.setattr)
        with pytest.raises(purity.Impure):
            eval(call, dict(MODULES))
