"""README's server serves README's clients, word for word, and says what it doesn't serve."""

from __future__ import annotations

import asyncio
import logging
import re
from pathlib import Path
from typing import Any, Final

import pytest

from amqp_sansio import EndpointClosed
from amqp_sansio_asyncio import connect, serve
from tests.kit.asyncio_broker import url_of
from tests.kit.asyncio_loops import run

README: Final = Path(__file__).resolve().parents[2] / "README.md"
BLOCKS: Final = re.findall(r"^```python\n(.*?)^```", README.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


def names_of(needle: str) -> dict[str, Any]:
    """The names that the one block with `needle` defines; what it runs at its end is left out."""
    (found,) = [text for text in BLOCKS if needle in text]
    names: dict[str, Any] = {"__name__": "readme"}
    exec(compile(re.sub(r"^asyncio\.run\(.*\n", "", found, flags=re.MULTILINE), "README.md", "exec"), names)
    return names


def test_the_server_serves_the_first_client(capsys: pytest.CaptureFixture[str]) -> None:
    async def main() -> None:
        async with serve(names_of("serve(handle")["handle"]) as server:
            await names_of("recover=True) as connection, connection.open_channel(confirm=True)")["main"](url_of(server))

    run(main())
    assert capsys.readouterr().out.splitlines() == ["b'hello'", "Accepted()", "b'hello' {}"]


def test_what_the_server_does_not_serve_is_refused_and_logged(caplog: pytest.LogCaptureFixture) -> None:
    async def main() -> None:
        async with serve(names_of("serve(handle")["handle"]) as server, connect(url_of(server)) as connection:
            channel = await connection.open_channel()
            with pytest.raises(EndpointClosed, match=r"540 NOT_IMPLEMENTED - this server has no answer to queue\.bind"):
                await asyncio.wait_for(channel.bind_queue("q", "amq.topic", "k"), 60)

    with caplog.at_level(logging.WARNING):
        run(main())
    assert "queue.bind on channel 1 isn't answered by the handler" in caplog.text
