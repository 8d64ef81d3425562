"""A host name without an address is named, by each adapter: the resolver's own words leave it out."""

from __future__ import annotations

import asyncio
import socket

import pytest

import amqp_sansio_asyncio
import amqp_sansio_sync

URL = "amqp://guest:secret@broker.invalid/"
"""RFC 6761 section 6.4: it never resolves."""
TOLD = r"no connection to amqp://guest:\*\*\*@broker\.invalid\S*: the host name 'broker\.invalid' doesn't resolve: "


def test_asyncio_names_the_host() -> None:
    async def main() -> None:
        await amqp_sansio_asyncio.connect(URL)

    with pytest.raises(socket.gaierror, match=TOLD) as caught:
        asyncio.run(main())
    assert "\n" not in str(caught.value)
    assert "secret" not in str(caught.value)


def test_blocking_names_the_host() -> None:
    with pytest.raises(socket.gaierror, match=TOLD) as caught:
        amqp_sansio_sync.connect(URL)
    assert "\n" not in str(caught.value)
    assert "secret" not in str(caught.value)
