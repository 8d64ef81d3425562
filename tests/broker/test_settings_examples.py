"""The examples in the docstrings of the settings and of the package."""

from __future__ import annotations

import doctest
from importlib import import_module

import pytest


@pytest.mark.parametrize("name", ["", ".settings", ".users"])
def test_examples(name: str) -> None:
    failed, tried = doctest.testmod(import_module(f"amqp_sansio.broker{name}"))
    assert tried and not failed


def test_every_name_of_the_package_can_be_imported() -> None:
    """Most are looked up in their modules when they are first asked for."""
    package = import_module("amqp_sansio.broker")
    for name in package.__all__:
        assert getattr(package, name) is not None
