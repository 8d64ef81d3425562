"""The examples in the documentation of the capture package run and show what they say."""

import doctest
import importlib

import pytest


@pytest.mark.parametrize("name", ["amqp_sansio.capture", "amqp_sansio.capture.bulk", "amqp_sansio.capture.redact"])
def test_examples_of_the_documentation(name: str) -> None:
    results = doctest.testmod(importlib.import_module(name))
    assert results.attempted >= 4
    assert results.failed == 0
