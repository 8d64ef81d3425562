"""The examples in the docstrings of the report's modules."""

import doctest
import importlib
import pkgutil

import pytest

import amqp_sansio_report

MODULES = [
    "amqp_sansio_report",
    *(f"amqp_sansio_report.{module.name}" for module in pkgutil.iter_modules(amqp_sansio_report.__path__)),
]


@pytest.mark.parametrize("name", MODULES)
def test_examples(name: str) -> None:
    assert doctest.testmod(importlib.import_module(name)).failed == 0
