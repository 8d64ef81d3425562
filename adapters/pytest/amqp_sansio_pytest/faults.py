"""Faults: failures between the broker and its clients, and actions of the broker against them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Final, Literal

from amqp_sansio.versions import Version

from .paths import DIRECTIONS, Direction, Obstacle
from .views import Connection

if TYPE_CHECKING:
    from amqp_sansio.broker import Client

    from .served import ServedBroker
    from .service import Service

On = Literal["all", "current", "next"]
Ways = Literal["from_client", "to_client", "both"]
_FORCED: Final = 320


class Who:
    """Selects connections by the time they come, their numbers, and their owners.

    `user` and `vhost` are known when a connection is open, `version` when its first octets have arrived: before, it
    isn't selected.
    """

    def __init__(
        self,
        on: On | Connection | Iterable[Connection],
        user: str | None,
        vhost: str | None,
        version: Version | None,
        current: Iterable[int],
    ) -> None:
        self.only: set[int] | None = None
        """Numbers of the connections; None: all."""
        self.only_next = on == "next"
        """Whether the next connection that comes is to be the only one."""
        if on == "current":
            self.only = set(current)
        elif on == "next":
            self.only = set()
        elif isinstance(on, Connection):
            self.only = {on.number}
        elif not isinstance(on, str):
            self.only = {each.number for each in on}
        elif on != "all":
            raise ValueError(f'on is "all", "current", "next" or connections, not {on!r}')
        self._user = user
        """Of whom; None: of anybody."""
        self._vhost = vhost
        """Which they have opened; None: any."""
        self._version = version
        """That they speak; None: any."""

    def met(self, number: int) -> None:
        """Note a new client."""
        if self.only_next and self.only is not None and not self.only:
            self.only.add(number)

    def means(self, client: Client) -> bool:
        """Whether a client is selected."""
        if self.only is not None and client.number not in self.only:
            return False
        if self._version is not None and client.version is not self._version:
            return False
        if self._user is None and self._vhost is None:
            return True
        user, vhost = ("", "") if client.front is None else client.front.describe()
        return self._user in (None, user) and self._vhost in (None, vhost)


class Fault(Obstacle):
    """A fault in effect until `remove`, or the end of its `with` block.

    >>> with broker.faults.stall("from_client"):
    ...     broker.clock.advance(600)
    """

    def __init__(
        self,
        owner: Faults,
        name: str,
        who: Who,
        directions: tuple[Direction, ...],
        *,
        is_wall: bool = False,
        loses: bool = False,
        delay: float = 0.0,
        room: int | None = None,
        turns_away: bool = False,
    ) -> None:
        self._owner = owner
        """Of all faults; `remove` takes it out of there."""
        self._name = name
        """The method that made it, for its text."""
        self._who = who
        """The connections that it affects."""
        self._directions = directions
        """Of their octets."""
        self.is_wall = is_wall
        """Whether nothing passes."""
        self.loses = loses
        """Whether octets are lost, rather than held back."""
        self.delay = delay
        """Seconds by which octets come later."""
        self.turns_away = turns_away
        """Whether new connections are closed at once."""
        self._room = room
        """Octets of each connection that pass before it acts; None: it acts at once."""
        self._left: dict[int, int] = {}
        """What is left of that, by connection."""
        self.hits = 0
        """How often it has acted."""
        self.octets = 0
        """That it has held back, lost or delayed."""

    def remove(self) -> None:
        """Remove it: octets it holds back continue. A second call does nothing."""
        self._owner.remove(self)

    def wait_hit(self, timeout: float = 5.0) -> None:
        """Wait until it has had an effect, at most `timeout` seconds, as `EmbeddedBroker.wait_for` counts them.

        Raises AssertionError otherwise, and RuntimeError in an event loop, which it would hold up: there use
        `await broker.wait_until(lambda _: fault.hits)`.
        """
        if not self._owner.wait(lambda: self.hits > 0, timeout):
            raise AssertionError(f"{self!r} has had no effect within {timeout} s")

    def __enter__(self) -> Fault:
        return self

    def __exit__(self, *_: object) -> None:
        self.remove()

    def __repr__(self) -> str:
        return f"<Fault {self._name}, {self.hits} hits>"

    # Called by the paths, in the broker's thread.

    def concerns(self, client: Client, direction: Direction) -> bool:
        return direction in self._directions and self._who.means(client)

    def met(self, number: int) -> None:
        self._who.met(number)

    def room(self, client: Client, size: int) -> int:
        if self._room is None:
            return size
        left = self._left.get(client.number, self._room)
        passes = min(left, size)
        self._left[client.number] = left - passes
        return passes

    def is_spent(self, client: Client) -> bool:
        return self._room is not None and self._left.get(client.number, self._room) == 0

    def struck(self, octets: int) -> None:
        self.hits += 1
        self.octets += octets


class Faults:
    """Injects faults: `broker.faults`.

    Faults on the path of octets (`cut_after`, `drop`, `delay`, `stall`, `refuse`) return a `Fault`, which lasts until
    it is removed. It affects the connections of `on`: "all" of now and later, the "current" ones, the "next" one, or
    some of `broker.connections`; and of these only those of `user`, `vhost` and `version`, if given. Directions are
    "from_client", "to_client" and "both".
    """

    def __init__(self, broker: ServedBroker) -> None:
        self._broker = broker

    # Faults on the path of octets.

    def cut_after(
        self,
        octets: int,
        direction: Direction = "to_client",
        *,
        on: On | Connection | Iterable[Connection] = "all",
        user: str | None = None,
        vhost: str | None = None,
        version: Version | None = None,
    ) -> Fault:
        """Reset a connection when that many more octets have passed in one direction; 0: at once.

        Raises ValueError for a negative number.
        """
        if octets < 0:
            raise ValueError(f"no connection is cut after {octets} octets")
        return self._add(f"cut after {octets} octets", direction, on, user, vhost, version, room=octets)

    def drop(
        self,
        direction: Ways = "both",
        *,
        on: On | Connection | Iterable[Connection] = "all",
        user: str | None = None,
        vhost: str | None = None,
        version: Version | None = None,
    ) -> Fault:
        """Lose all octets of a direction: the connection exists, but one side appears dead to the other."""
        return self._add(f"drop {direction}", direction, on, user, vhost, version, loses=True)

    def stall(
        self,
        direction: Ways = "both",
        *,
        on: On | Connection | Iterable[Connection] = "all",
        user: str | None = None,
        vhost: str | None = None,
        version: Version | None = None,
    ) -> Fault:
        """Hold back all octets of a direction until the fault is removed."""
        return self._add(f"stall {direction}", direction, on, user, vhost, version, is_wall=True)

    def delay(
        self,
        seconds: float,
        direction: Ways = "both",
        *,
        on: On | Connection | Iterable[Connection] = "all",
        user: str | None = None,
        vhost: str | None = None,
        version: Version | None = None,
    ) -> Fault:
        """Delay all octets of a direction by a number of seconds of the clients: real ones, or the simulated world's.

        Raises ValueError for a negative number.
        """
        if not seconds >= 0:
            raise ValueError(f"octets can't be delayed by {seconds} seconds")
        return self._add(f"delay by {seconds} s", direction, on, user, vhost, version, delay=seconds)

    def refuse(self) -> Fault:
        """Reset every new client's connection at once."""
        return self._add("refuse", "both", "all", None, None, None, turns_away=True)

    # Actions of the broker.

    def block(self, reason: str = "low on memory") -> None:
        """Hold publishers as if memory were full: those of 0-9-1 get connection.blocked."""
        self._broker.call(lambda: self._service.hold_publishers(reason))

    def unblock(self) -> None:
        """Let publishers continue."""
        self._broker.call(lambda: self._service.hold_publishers(""))

    def close_connections(
        self,
        code: int | str = _FORCED,
        text: str = "CONNECTION_FORCED - closed by the test",
        *,
        on: Literal["all"] | Connection | Iterable[Connection] = "all",
        user: str | None = None,
        vhost: str | None = None,
        version: Version | None = None,
    ) -> int:
        """Let the broker close open connections, and return how many.

        `code` is a reply code for 0-8, 0-9-1 and 0-10, an error condition for 1.0 ("amqp:connection:forced"); the other
        kind selects each version's own code for a forced close.
        """
        current: On | Connection | Iterable[Connection] = "current" if on == "all" else on
        return self._broker.call(
            lambda: self._service.close_connections(self._who(current, user, vhost, version).means, code, text)
        )

    def close_channels(
        self,
        code: int | str,
        text: str,
        *,
        channel: int | None = None,
        on: Literal["all"] | Connection | Iterable[Connection] = "all",
        user: str | None = None,
        vhost: str | None = None,
        version: Version | None = None,
    ) -> int:
        """Let the broker close open channels (0-8, 0-9-1) or end sessions (0-10, 1.0), and return how many.

        `channel` is the number of one; None: all. `code` is as in `close_connections`, in 0-10 that of an exception.
        """
        current: On | Connection | Iterable[Connection] = "current" if on == "all" else on
        return self._broker.call(
            lambda: self._service.close_channels(self._who(current, user, vhost, version).means, code, text, channel)
        )

    def clear(self) -> None:
        """Remove all faults and let publishers continue."""
        self._broker.call(self._clear)

    def remove(self, fault: Fault) -> None:
        """Do the same as `Fault.remove`."""
        if self._broker.is_running:
            self._broker.call(lambda: self._service.paths.take_out(fault))

    def wait(self, condition: Callable[[], object], timeout: float) -> bool:
        """Do the same as `ServedBroker.wait`."""
        return self._broker.wait(condition, timeout)

    # Internals.

    @property
    def _service(self) -> Service:
        return self._broker.service

    def _who(
        self, on: On | Connection | Iterable[Connection], user: str | None, vhost: str | None, version: Version | None
    ) -> Who:
        return Who(on, user, vhost, version, self._service.hub.clients)

    def _add(
        self,
        name: str,
        direction: Ways,
        on: On | Connection | Iterable[Connection],
        user: str | None,
        vhost: str | None,
        version: Version | None,
        **effects: Any,
    ) -> Fault:
        directions = DIRECTIONS if direction == "both" else (direction,)
        if not set(directions) <= set(DIRECTIONS):
            raise ValueError(f'a direction is "from_client", "to_client" or "both", not {direction!r}')

        def put() -> Fault:
            fault = Fault(self, name, self._who(on, user, vhost, version), directions, **effects)
            self._service.paths.put_in(fault)
            return fault

        return self._broker.call(put)

    def _clear(self) -> None:
        self._service.paths.clear()
        self._service.hold_publishers("")


__all__ = ["Fault", "Faults", "On", "Ways", "Who"]
