"""Lane: takes usual units straight from their octets, for those who want what they say, but no records and no state."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol, TypeAlias

Unpacked: TypeAlias = tuple[Any, ...]
"""What a struct gives."""

Plan: TypeAlias = tuple[
    tuple[Any, ...] | None,
    tuple[Any, ...] | None,
    tuple[Any, ...] | None,
    Callable[[tuple[Any, ...]], tuple[Any, ...]] | None,
    dict[bytes, str],
    Mapping[str, str],
    str,
]
"""The parts of the rows of one side's units, for the module in C; `_speedups.c` explains them."""


class Lane(Protocol):
    """Takes what an observer of one connection reads of usual units, each with its method.

    The first arguments of each say the unit's `seq` and `at_ns`, its channel, `size` and `offset`, as
    `observation.Observed` does; the next ones are the fields of its method, the last ones its message: what `message`
    has said of it, the octets of the body, and their number.
    """

    texts: dict[bytes, str]
    """What `message` has said of properties, by their octets; whoever reads the octets looks here first."""

    rows: list[tuple[str, tuple[Any, ...]]]
    """Where the methods below append what they make."""
    plans: tuple[Plan | None, Plan | None]
    """Where the module in C runs: how it makes the rows of the server's units, and of the client's. None leaves them to
    the methods."""

    def instant(self, at_ns: int) -> tuple[int, int, str]:
        """Return what `plans` need of a time: it in nanoseconds, in microseconds, and its part of a line."""
        ...

    def message(self, octets: bytes, properties: Any) -> str:
        """Return what `texts` has for the octets of properties that can be read; it is never empty."""
        ...

    def around(self, record: Any, names: tuple[str, ...]) -> tuple[str, str]:
        """Return what the fields of a performative say that stand before those with these names, and behind them."""
        ...

    def deliver(
        self,
        seq: int,
        at_ns: int,
        channel: int,
        size: int,
        offset: int,
        consumer_tag: str,
        delivery_tag: int,
        redelivered: bool,
        exchange: str,
        routing_key: str,
        message: str,
        body: bytes,
        body_size: int,
        /,
    ) -> None:
        """Take a basic.deliver of the server."""
        ...

    def publish(
        self,
        seq: int,
        at_ns: int,
        channel: int,
        size: int,
        offset: int,
        exchange: str,
        routing_key: str,
        mandatory: bool,
        immediate: bool,
        message: str,
        body: bytes,
        body_size: int,
        /,
    ) -> None:
        """Take a basic.publish of the client."""
        ...

    def ack(
        self,
        seq: int,
        at_ns: int,
        channel: int,
        size: int,
        offset: int,
        client: bool,
        delivery_tag: int,
        multiple: bool,
        /,
    ) -> None:
        """Take a basic.ack of the client, or of the server."""
        ...

    def transfer(
        self,
        seq: int,
        at_ns: int,
        channel: int,
        size: int,
        offset: int,
        client: bool,
        before: str,
        delivery_id: int,
        delivery_tag: bytes,
        after: str,
        message: str,
        body: bytes,
        body_size: int,
        /,
    ) -> None:
        """Take a transfer with a whole delivery; `around` has said what stands before its id and behind its tag."""
        ...

    def disposition(
        self,
        seq: int,
        at_ns: int,
        channel: int,
        size: int,
        offset: int,
        client: bool,
        before: str,
        first: int,
        last: int | None,
        after: str,
        /,
    ) -> None:
        """Take a disposition; `around` has said what stands before its first delivery and behind its last."""
        ...
