"""Listeners of a world without asyncio: ends of lines, their addresses and capacity."""

from __future__ import annotations

import pytest

from amqp_sansio.testing.simulate import Process, World
from amqp_sansio.testing.simulate.network import Line


class Plain:
    """An end of a line: `got` are the octets that came, `ends` how it ended; `room` is what it takes."""

    def __init__(self) -> None:
        self.got = b""
        self.ends: list[tuple[str, bool]] = []
        self.room = 1_000_000
        self.told = 0
        self.is_over = False
        self.line: Line | None = None

    def attach(self, line: Line) -> None:
        self.line = line

    def receive(self, octets: bytes) -> None:
        self.got += octets

    def writable(self) -> None:
        self.told += 1

    def ended(self, reason: str, *, is_reset: bool) -> None:
        self.ends.append((reason, is_reset))

    def abort(self, reason: str) -> None:
        self.is_over = True
        assert self.line is not None
        self.line.down.finish(reason, is_reset=True)


def opened(world: World, port: int = 0) -> tuple[Plain, Plain, Line]:
    """A server's end, a client's, and the line between them."""
    server, client = Plain(), Plain()
    listener = world.listen("there", port, lambda: server)
    return server, client, world.open_line("there", listener.address[1], client, "here")


def test_octets_pass_in_both_directions_and_lines_have_addresses() -> None:
    with World() as world:
        server, client, line = opened(world, 9)
        assert line.server == ("there", 9)
        assert line.client[0] == "here"
        assert server.line is line
        line.up.send(b"to the server")
        line.down.send(b"to the client")
        world.run()
        assert (server.got, client.got) == (b"to the server", b"to the client")
        line.down.finish("enough")
        world.run()
        assert client.ends == [("enough", False)]
        # The other direction is open still.
        line.up.send(b"!")
        world.run()
        assert server.got == b"to the server!"


def test_a_full_line_tells_its_sender_when_there_is_room() -> None:
    with World(capacity=100) as world:
        server, client, line = opened(world)
        server.room = 0
        assert line.up.room == 100
        line.up.send(bytes(100))
        world.run()
        assert (line.up.room, client.told, server.got) == (0, 0, b"")
        server.room = 49
        line.up.wake()
        world.step()
        assert (line.up.room, client.told) == (49, 0)
        world.run()
        assert (len(server.got), client.told) == (100, 1)


def test_a_line_is_held_at_an_octet_and_released() -> None:
    with World() as world:
        server, client, line = opened(world)
        line.up.hold(3)
        line.down.hold()
        line.up.send(b"abcde")
        line.up.finish("enough")
        line.down.send(b"answer")
        world.run()
        assert (server.got, server.ends, client.got) == (b"abc", [], b"")
        line.down.release()
        world.run()
        assert (server.got, client.got) == (b"abc", b"answer")
        line.up.release()
        world.run()
        assert (server.got, server.ends) == (b"abcde", [("enough", False)])


def test_a_reset_ends_a_hold() -> None:
    with World() as world:
        server, client, line = opened(world)
        line.up.hold()
        line.down.hold()
        line.up.send(b"abcde")
        line.down.send(b"answer")
        world.run()
        line.cut("cut", up=2, down=0)
        world.run()
        assert (server.got, client.got) == (b"ab", b"")
        assert server.ends == client.ends == [("cut", True)]


def test_a_sender_that_waits_for_a_peer_that_leaves_goes_on_and_learns_of_a_reset() -> None:
    with World(capacity=100) as world:
        server, client, line = opened(world)
        server.room = 0
        line.up.send(bytes(100))
        line.up.stop()
        line.down.finish("gone")
        world.run()
        assert client.told == 1
        line.up.send(b"more")
        world.run()
        assert [is_reset for _, is_reset in client.ends] == [False, True]


def test_who_may_listen_where() -> None:
    with World() as world:
        listener = world.listen("one", 5, Plain)
        with pytest.raises(OSError, match="in use"):
            world.listen("one", 5, Plain)
        world.listen("two", 5, Plain)
        assert world.is_reachable("one", 5)
        listener.is_open = False
        with pytest.raises(ConnectionRefusedError):
            world.is_reachable("one", 5)
        listener.is_open = True
        listener.close()
        listener.close()
        with pytest.raises(ConnectionRefusedError, match="nobody listens on one, port 5"):
            world.open_line("one", 5, Plain())
        world.listen("", 6, Plain)
        assert world.is_reachable("anything", 6)
        with pytest.raises(OSError, match="in use"):
            world.listen("one", 6, Plain)
        with pytest.raises(OSError, match="no broker is called 'three'"):
            world.is_reachable("three", 5)
        assert [world.is_known(each) for each in ("broker", "two", "three", "localhost")] == [True, True, False, True]


def test_the_end_of_a_process_ends_its_listeners_and_lines() -> None:
    with World() as world:
        process, server, client = Process(world, "server"), Plain(), Plain()
        process.listen("there", 5, lambda: server)
        world.open_line("there", 5, client)
        process.end("the process crashed")
        world.run()
        assert server.is_over
        assert client.ends == [("the process crashed", True)]
        with pytest.raises(ConnectionRefusedError):
            world.is_reachable("there", 5)


def test_a_broker_is_reached_by_its_name_whatever_the_port() -> None:
    with World() as world:
        world.add_broker("second")
        for host, port in (("broker", 5672), ("broker", 1), ("second", 5671)):
            line = world.open_line(host, port, Plain(), "here")
            assert (line.server, line.client[0]) == ((host, port), "here")
        assert len({line.client for line in world.lines}) == 3
