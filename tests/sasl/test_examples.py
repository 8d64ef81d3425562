"""The examples in the docstrings of the SASL package and of the URI module."""

import doctest
import importlib

import pytest


@pytest.mark.parametrize(
    "name",
    [
        "amqp_sansio.sasl",
        "amqp_sansio.sasl._client",
        "amqp_sansio.sasl._saslprep",
        "amqp_sansio.sasl._scram",
        "amqp_sansio.sasl._scram_server",
        "amqp_sansio.sasl._tokens",
        "amqp_sansio.sasl._registry",
        "amqp_sansio.uri",
    ],
)
def test_docstring_examples(name: str) -> None:
    results = doctest.testmod(importlib.import_module(name))
    assert results.attempted > 0
    assert results.failed == 0
