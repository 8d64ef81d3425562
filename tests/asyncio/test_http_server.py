"""HttpServer: which heads it reads, what it answers, and what it doesn't wait for, in a simulated world."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amqp_sansio_asyncio.http_server import (
    HttpAnswer,
    HttpBounds,
    HttpRefusal,
    HttpRequest,
    HttpServer,
    parse_head,
    written,
)
from tests.kit.asyncio_loops import run

BOUNDS = HttpBounds(head=1000, body=100, seconds=5.0, connections=4)
HOST = b"GET / HTTP/1.1\r\nHost: a\r\n"


async def echo(request: HttpRequest) -> HttpAnswer:
    """Answers with what came; /slow and /broken do otherwise."""
    if request.target == "/broken":
        raise ZeroDivisionError
    text = f"{request.method} {request.target} ".encode() + request.body
    return HttpAnswer(200, text, {"X-Fields": ",".join(sorted(request.headers))})


@asynccontextmanager
async def served() -> AsyncGenerator[int]:
    server = HttpServer(echo, BOUNDS, hint="speak HTTP", headers={"X-All": "yes"})
    yield await server.start("127.0.0.1", 0)
    await server.close()
    assert server.sockets == ()
    await server.close()


async def ask(port: int, *parts: bytes, ends: bool = False) -> bytes:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    for part in parts:
        writer.write(part)
        await asyncio.sleep(0.01)
    if ends:
        writer.write_eof()
    found = await reader.read()
    writer.close()
    return found


@pytest.mark.parametrize(
    ("octets", "status", "text"),
    [
        (HOST + b"\r\n", 200, b"GET / "),
        (b"GET / HTTP/1.0\r\n\r\n", 200, b"GET / "),
        (b"HEAD / HTTP/1.1\r\nHost: a\r\n\r\n", 200, b""),
        (b"PUT /q HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabcde", 200, b"PUT /q abc"),
        (b"PUT /q HTTP/1.1\r\nHost: a\r\nContent-Length: 101\r\n\r\n", 413, b"at most 100 octets"),
        (b"PUT /q HTTP/1.1\r\nHost: a\r\nContent-Length: 9999999999\r\n\r\n", 413, b"octets"),
        (b"GET /broken HTTP/1.1\r\nHost: a\r\n\r\n", 500, b"failed"),
        (b"GET / HTTP/1.1\r\n\r\n", 400, b"one Host header"),
        (HOST + b"Host: b\r\n\r\n", 400, b"one Host header"),
        (HOST + b"Content-Length: 1\r\nContent-Length: 1\r\n\r\n", 400, b"one Content-Length header"),
        (HOST + b"Content-Length: +1\r\n\r\n", 400, b"one number"),
        (HOST + b"Transfer-Encoding: chunked\r\n\r\n", 400, b"one number"),
        (HOST + b" folded\r\n\r\n", 400, b"isn't a field"),
        (HOST + b"no colon\r\n\r\n", 400, b"isn't a field"),
        (HOST + b"space : x\r\n\r\n", 400, b"isn't a field"),
        (b"AMQP\x00\x00\x09\x01\r\n\r\n", 400, b"speak HTTP"),
        (b"GET /two words HTTP/1.1\r\nHost: a\r\n\r\n", 400, b"speak HTTP"),
        (b"GET / HTTP/2\r\nHost: a\r\n\r\n", 400, b"speak HTTP"),
        (HOST + b"x" * 1100, 431, b"at most 1000 octets"),
    ],
)
def test_what_it_answers(octets: bytes, status: int, text: bytes) -> None:
    async def main() -> None:
        async with served() as port:
            head, _, body = (await ask(port, octets)).partition(b"\r\n\r\n")
            assert head.startswith(b"HTTP/1.1 %d " % status) and b"X-All: yes" in head
            assert b"Connection: close" in head
            assert text in body if text else not body

    run(main())


@pytest.mark.parametrize("size", [1, 2, 7])
def test_a_request_may_come_in_pieces(size: int) -> None:
    whole = b"POST /q HTTP/1.1\r\nhost: a\r\nContent-length: 5\r\n\r\nhello"

    async def main() -> None:
        async with served() as port:
            found = await ask(port, *[whole[at : at + size] for at in range(0, len(whole), size)])
            assert found.endswith(b"POST /q hello")

    run(main())


def test_who_waits_for_100_is_told_to_go_on() -> None:
    async def main() -> None:
        async with served() as port:
            head = b"PUT /q HTTP/1.1\r\nHost: a\r\nExpect: 100-Continue\r\nContent-Length: 2\r\n\r\n"
            found = await ask(port, head, b"ab")
            assert found.startswith(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 ")
            # A body that isn't taken isn't asked for.
            found = await ask(port, head.replace(b": 2", b": 200"))
            assert found.startswith(b"HTTP/1.1 413 ")

    run(main())


@pytest.mark.parametrize("octets", [b"", HOST, b"PUT /q HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nabc"])
@pytest.mark.parametrize("ends", [False, True])
def test_who_is_slow_or_gone_is_cut_off(octets: bytes, ends: bool) -> None:
    async def main() -> None:
        async with served() as port:
            loop = asyncio.get_running_loop()
            began = loop.time()
            try:
                assert await ask(port, octets, ends=ends) == b""
            except ConnectionError:
                assert octets
            assert loop.time() - began < (1 if ends else 6)
            assert (await ask(port, HOST + b"\r\n")).startswith(b"HTTP/1.1 200 ")

    run(main())


def test_only_so_many_are_served() -> None:
    async def main() -> None:
        async with served() as port:
            slow = [await asyncio.open_connection("127.0.0.1", port) for _ in range(4)]
            await asyncio.sleep(0.1)
            with suppress(ConnectionError):
                assert await ask(port, HOST + b"\r\n") == b""
            for _, writer in slow:
                writer.close()
            await asyncio.sleep(6)
            assert (await ask(port, HOST + b"\r\n")).startswith(b"HTTP/1.1 200 ")

    run(main())


@given(st.one_of(st.binary(max_size=200), st.text(max_size=200).map(str.encode)))
def test_every_head_is_read_or_refused(octets: bytes) -> None:
    for head in (octets, HOST + octets):
        try:
            request, length = parse_head(head + b"\r\n\r\n")
        except HttpRefusal as refusal:
            assert refusal.status in (400, 413) and str(refusal)
        else:
            assert length >= 0 and request.target and all(name == name.lower() for name in request.headers)


def test_what_is_written() -> None:
    assert written(HttpAnswer(204)) == b"HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n"
    assert written(HttpAnswer(299, b"x", {"A": "b"})).startswith(
        b"HTTP/1.1 299 Unknown\r\nA: b\r\nContent-Length: 1\r\n"
    )
