"""Former names: they are found for one release, and warn."""

from __future__ import annotations

import pytest

import amqp_sansio_asyncio


@pytest.mark.parametrize(
    ("old", "package", "new"),
    [
        ("OneZeroConnection", "amqp_1_0", "Connection"),
        ("OneZeroHandler", "amqp_1_0", "Handler"),
        ("ZeroTenOptions", "amqp_0_10", "ConfigOptions"),
        ("ZeroTenServerConnection", "amqp_0_10", "ServerConnection"),
    ],
)
def test_former_names_warn(old: str, package: str, new: str) -> None:
    with pytest.warns(DeprecationWarning, match=rf"{old} is called {package}\.{new} now"):
        found = getattr(amqp_sansio_asyncio, old)
    assert found is getattr(getattr(amqp_sansio_asyncio, package), new)


@pytest.mark.parametrize("name", ["OneZeroNothing", "nothing"])
def test_unknown_names_are_unknown(name: str) -> None:
    with pytest.raises(AttributeError, match=name):
        getattr(amqp_sansio_asyncio, name)
