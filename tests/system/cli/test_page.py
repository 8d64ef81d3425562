"""The live page of `broker --page`: what its server answers, to whom, and how long it waits; every version on it."""

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import cast

import pytest

from amqp_sansio.broker import Settings, commands
from amqp_sansio.capture import Segment, read_segments
from amqp_sansio.messaging import Message
from amqp_sansio_asyncio import BrokerServer, serve_broker
from amqp_sansio_asyncio.messaging import connect
from amqp_sansio_cli.page import PageServer
from tests.kit.asyncio_loops import run_real as run
from tests.report.making import Outline


@asynccontextmanager
async def served(record: Path | None = None, **options: float) -> AsyncGenerator[tuple[BrokerServer, PageServer]]:
    page = PageServer(record, **options)
    async with serve_broker(page.with_history(Settings()), record=page.target) as broker:
        await page.start(broker, ("127.0.0.1", 0))
        yield broker, page
        await page.close()
    page.end_recording()


async def opened(page: PageServer) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    return await asyncio.open_connection("127.0.0.1", int(page.url.rstrip("/").rpartition(":")[2]))


async def ask(page: PageServer, target: str = "/", method: str = "GET", host: str = "127.0.0.1") -> tuple[str, bytes]:
    reader, writer = await opened(page)
    writer.write(f"{method} {target} HTTP/1.1\r\nhOST: {host}\r\nAccept: */*\r\n\r\n".encode())
    head, _, body = (await reader.read()).partition(b"\r\n\r\n")
    writer.close()
    return head.decode(), body


@pytest.mark.parametrize(
    ("asked", "status", "words"),
    [
        ({"method": "POST"}, 405, "GET and HEAD"),
        ({"target": "/queues"}, 404, "the page is http://127.0.0.1:"),
        ({"host": "attacker.example"}, 421, "open http://127.0.0.1:"),
        ({"host": "127.0.0.1\r\nHost: localhost"}, 400, "one Host header"),
        ({"target": "/ two"}, 400, "open it with a browser"),
        ({"target": "/" + "x" * 9000}, 431, "8192 octets"),
        ({"host": "[::1]", "target": "/?connection=unknown&changes=1e9"}, 200, "<!DOCTYPE html>"),
        ({"host": "localhost:1", "target": "/live?changes=-7"}, 200, '{"parts":{"live-figures":'),
        ({"method": "HEAD"}, 200, ""),
    ],
)
def test_what_it_answers(asked: dict[str, str], status: int, words: str) -> None:
    async def main() -> None:
        async with served() as (_, page):
            head, body = await ask(page, **asked)
            assert head.startswith(f"HTTP/1.1 {status} ") and "Cache-Control: no-store" in head
            assert ("Allow: GET, HEAD" in head) == (status == 405)
            if asked.get("method") == "HEAD":
                assert body == b"" and "Content-Length: 0" not in head
            else:
                assert words in body.decode() and f"Content-Length: {len(body)}" in head

    run(main())


def test_who_is_slow_is_cut_off_and_only_so_many_are_served() -> None:
    async def main() -> None:
        async with served(patience=0.5) as (_, page):
            slow = [await opened(page) for _ in range(32)]
            for _, writer in slow:
                writer.write(b"GET / HTTP/1.1\r\nHost: local")
            for reader, writer in (await opened(page), *slow):
                with pytest.raises((ConnectionResetError, asyncio.IncompleteReadError)):
                    await reader.readexactly(1)
                writer.close()
            assert (await ask(page))[0].startswith("HTTP/1.1 200 ")

    run(main())


def test_every_version_is_on_it_and_in_the_recording(tmp_path: Path) -> None:
    file, versions = tmp_path / "recorded.pcapng", ("0-8", "0-9-1", "0-10", "1.0")

    async def main() -> None:
        async with served(file) as (broker, page), AsyncExitStack() as stack:
            owner = broker.apply(commands.OpenOwner("/"))
            broker.apply(commands.DeclareQueue(owner, "jobs"))
            opened = [await stack.enter_async_context(connect(f"{broker.url}?version={each}")) for each in versions]
            for version, connection in zip(versions, opened, strict=True):
                sender = await stack.enter_async_context(connection.sender("/queues/jobs"))
                await sender.send(Message(f"from {version}".encode()))
            receiver = await stack.enter_async_context(opened[-1].receiver("/queues/jobs", credit=2))
            await (await anext(aiter(receiver))).accept()
            outline = Outline((await ask(page))[1].decode())
            tiles, text = outline.tiles(), outline.text()
            figures = {"connections": "4", "queues": "1", "consumers": "1", "ready": "1", "unsettled": "2"}
            assert tiles.items() >= figures.items() and "guest:guest" not in text
            assert {*versions, *[f"from {each}" for each in versions], "jobs: accepted"} <= set(text.splitlines())
            told = outline.data()
            assert len(told) == 4 and [bool(each.get("lazy")) for each in told].count(False) == 1
            for each in told:
                _, body = await ask(page, f"/live?connection={each['id']}")
                (diagram,) = [one for one in json.loads(body)["diagrams"] if not one.get("lazy")]
                assert diagram["id"] == each["id"] and diagram["total"] > 10
                assert any("publish" in unit[4] or "transfer" in unit[4] for unit in diagram["units"])
                seen = f"/live?connection={each['id']}&changes={diagram['changes']}"
                assert all([one["lazy"] for one in json.loads((await ask(page, seen))[1])["diagrams"]])

    run(main())
    recorded = cast("list[Segment]", list(read_segments(file.read_bytes())))
    assert len({each.flow for each in recorded}) == 4
