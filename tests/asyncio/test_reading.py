"""Octets that arrive: both ways in which transports hand them over, and the space that connections share for them."""

from __future__ import annotations

import asyncio
import weakref
from collections.abc import Callable
from random import Random

import pytest

from amqp_sansio_asyncio import connect, serve
from amqp_sansio_asyncio.reading import READ_OCTETS, SPARE, Reading
from tests.kit.asyncio_broker import driver_of, scripted, url_of
from tests.kit.asyncio_loops import run


class Noted(Reading):
    """Notes what it is given."""

    def __init__(self) -> None:
        self.octets: list[bytes] = []

    def data_received(self, data: bytes) -> None:
        self.octets.append(data)


class Fails(Reading):
    """Can't take what it is given."""

    def data_received(self, data: bytes) -> None:
        raise ZeroDivisionError("a bug")


def read(reader: Reading, octets: bytes) -> None:
    """Hand octets over as asyncio's transports do."""
    reader.get_buffer(-1)[: len(octets)] = octets
    reader.buffer_updated(len(octets))


@pytest.mark.parametrize("seed", range(20))
def test_each_connection_gets_its_own_octets_though_reads_overlap(seed: int) -> None:
    """Of connections that share space, some have begun a read when others end theirs, and some read nothing."""
    random = Random(seed)
    readers = [Noted() for _ in range(6)]
    sent: dict[Noted, list[bytes]] = {reader: [] for reader in readers}
    begun: dict[Noted, bytes] = {}
    for _ in range(200):
        reader = random.choice(readers)
        step = random.choice(("begin", "end", "nothing"))
        if step == "begin" and reader not in begun:
            octets = random.randbytes(random.randint(1, 40))
            reader.get_buffer(-1)[: len(octets)] = octets
            begun[reader] = octets
        elif step == "end" and reader in begun:
            octets = begun.pop(reader)
            reader.buffer_updated(len(octets))
            sent[reader].append(octets)
        elif reader not in begun:
            assert len(reader.get_buffer(-1)) == READ_OCTETS
            if random.random() < 0.5:
                reader.leave_space()
    assert {reader: reader.octets for reader in readers} == sent
    for reader in readers:
        reader.leave_space()


def test_what_was_read_stays_as_it_is_when_the_space_is_used_again() -> None:
    one, two = Noted(), Noted()
    read(one, b"first")
    read(two, b"other")
    assert (one.octets, two.octets) == ([b"first"], [b"other"])


def test_many_reads_at_once_leave_few_spaces() -> None:
    many = [Noted() for _ in range(5 * SPARE)]
    spaces = [weakref.ref(each.get_buffer(-1)) for each in many]
    assert len({id(each()) for each in spaces}) == len(many)
    for each in many:
        each.leave_space()
    assert sum(each() is not None for each in spaces) == SPARE


def read_one(reader: Reading) -> None:
    """Read one octet."""
    read(reader, b"x")


@pytest.mark.parametrize("leave", [Reading.leave_space, read_one])
def test_a_connection_has_no_space_between_reads(leave: Callable[[Reading], None]) -> None:
    reader = Noted()
    space = reader.get_buffer(-1)
    assert reader.get_buffer(-1) is space, "where nothing was read it stays"
    leave(reader)
    assert Noted().get_buffer(-1) is space


def test_a_connection_that_fails_has_no_space_left() -> None:
    reader = Fails()
    space = reader.get_buffer(-1)
    with pytest.raises(ZeroDivisionError):
        reader.buffer_updated(1)
    assert Noted().get_buffer(-1) is space


def test_asyncio_takes_it_for_a_protocol_with_a_buffer() -> None:
    assert isinstance(Noted(), asyncio.BufferedProtocol)
    assert isinstance(Noted(), asyncio.Protocol)


@pytest.mark.parametrize("how", ["its peer ends the stream", "its transport is lost"])
def test_a_connection_that_reads_no_more_has_no_space(how: str) -> None:
    async def main() -> None:
        async with serve(scripted(lambda _connection, _event: None)) as server:
            connection = await connect(url_of(server))
            driver = driver_of(connection)
            space = driver.get_buffer(-1)
            if how == "its peer ends the stream":
                driver.eof_received()
            else:
                driver.connection_lost(None)
            assert Noted().get_buffer(-1) is space
            await connection.close()

    run(main())
