"""The examples in the docstrings of the settings and of the package."""

from __future__ import annotations

import doctest
from importlib import import_module

import pytest


@pytest.mark.parametrize("name", ["", ".settings", ".users"])
def test_examples(name: str) -> None:
    failed, tried = doctest.testmod(import_module(f"amqp_sansio.broker{name}"))
    assert tried and not failed
