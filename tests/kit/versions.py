"""One `VersionKit` for each version: what makes its ends, what opens them, how a frame of it looks.

Tests of every version take theirs by the mark `EVERY`. `Pair`, `Facing` and the drivers are made with a kit.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final, Generic, Protocol, TypeVar

import pytest

from amqp_sansio import (
    AMQP_0_8,
    AMQP_0_9_1,
    AMQP_0_10,
    AMQP_1_0,
    Event,
    RemoteProtocolError,
    Version,
    amqp_0_8,
    amqp_0_9_1,
    amqp_0_10,
    amqp_1_0,
)
from amqp_sansio._classic.codec.dialect import default_dialect
from amqp_sansio._classic.codec.rule_ids import rule_id
from amqp_sansio._classic.endpoint.connection import Connection as Classic
from amqp_sansio.endpoint import Endpoint, Side
from amqp_sansio.events import CloseReport
from amqp_sansio.sasl import Plain
from tests.kit import octets_0_10, octets_1_0, octets_classic
from tests.kit.applications import Accepting, Client, Server, let_in


class End(Endpoint, Protocol):
    """A connection of any version."""

    @property
    def is_open(self) -> bool: ...

    @property
    def report(self) -> CloseReport | None: ...


C = TypeVar("C", bound=End)

Application = Callable[[C, Event], object]
"""Hears each event of an end before the next one is taken."""


class VersionKit(Generic[C]):
    """A version: `connection` and `config` are its classes.

    `of_client` and `of_server` are what each configuration has unless the test changes it. `applications` open a
    connection, and answer what nobody else answers. `parse` takes octets apart into what has a `name`; `read_close`
    checks that this is the connection's close, and gives its code or condition. `beat` is a frame that a peer may send
    at any time, `close_ok` its answer to a close.
    """

    def __init__(
        self,
        version: Version,
        *,
        connection: type[C],
        config: Callable[..., Any],
        of_client: Mapping[str, Any],
        of_server: Mapping[str, Any],
        applications: Mapping[Side, Callable[[], Application[Any]]],
        parse: Callable[[bytes], Sequence[Any]],
        read_close: Callable[[Any], int | str],
        beat: bytes,
        close_ok: bytes,
    ) -> None:
        self.version = version
        self.label = version.label
        self.connection: Any = connection
        self.parse = parse
        self.read_close = read_close
        self.beat = beat
        self.close_ok = close_ok
        self._config = config
        self._defaults = {Side.CLIENT: of_client, Side.SERVER: of_server}
        self._applications = applications

    def config(self, side: Side, **changes: Any) -> Any:
        """A configuration of one side, and what the test changes."""
        return self._config(**{**self._defaults[side], **changes})

    def client_config(self, **changes: Any) -> Any:
        """A client's configuration, and what the test changes."""
        return self.config(Side.CLIENT, **changes)

    def server_config(self, **changes: Any) -> Any:
        """A server's configuration, and what the test changes."""
        return self.config(Side.SERVER, **changes)

    def end(self, side: Side, config: Any = None) -> C:
        """A fresh endpoint."""
        make = self.connection.client if side is Side.CLIENT else self.connection.server
        made: C = make(self.config(side) if config is None else config)
        return made

    def applications(self) -> dict[Side, Application[C]]:
        """What both ends do with their events."""
        return {side: make() for side, make in self._applications.items()}

    def rule(self, name: str) -> str:
        """The id of one of its rules."""
        return f"{self.label}/{name}"


def is_said(found: RemoteProtocolError | CloseReport, said: int | str) -> bool:
    """Whether an error or a report has the code or the condition that a close said."""
    return said == (found.code if isinstance(said, int) else found.condition)


_GUEST: Final = Plain("guest", "guest")


class ClassicKit(VersionKit[Classic]):
    """0-8 or 0-9-1."""

    def __init__(self, version: Version, connection: type[Classic]) -> None:
        dialect = default_dialect(version)
        close_ok = dialect.named["connection.close-ok"]().encode(dialect.tables)
        super().__init__(
            version,
            connection=connection,
            config=amqp_0_9_1.Config,
            of_client={"sasl": _GUEST, "heartbeat": 0.0},
            of_server={"heartbeat": 0.0},
            applications={Side.CLIENT: Client, Side.SERVER: Server},
            parse=partial(octets_classic.frames_of, dialect),
            read_close=octets_classic.read_close,
            beat=octets_classic.frame(octets_classic.HEARTBEAT, 0),
            close_ok=octets_classic.frame(octets_classic.METHOD, 0, close_ok),
        )

    def rule(self, name: str) -> str:
        """As the base's, by the name that the version has for it."""
        return rule_id(self.version, name)


KIT_0_8: Final = ClassicKit(AMQP_0_8, amqp_0_8.Connection)
KIT_0_9_1: Final = ClassicKit(AMQP_0_9_1, amqp_0_9_1.Connection)
KIT_0_10: Final = VersionKit(
    AMQP_0_10,
    connection=amqp_0_10.Connection,
    config=amqp_0_10.Config,
    of_client={"sasl": _GUEST, "session_prefix": "s-"},
    of_server={},
    applications={Side.CLIENT: lambda: let_in, Side.SERVER: lambda: let_in},
    parse=octets_0_10.parse,
    read_close=octets_0_10.read_close,
    beat=octets_0_10.HEARTBEAT,
    close_ok=octets_0_10.CLOSE_OK,
)
KIT_1_0: Final = VersionKit(
    AMQP_1_0,
    connection=amqp_1_0.Connection,
    config=amqp_1_0.Config,
    of_client={"container_id": "client"},
    of_server={"container_id": "server"},
    applications={Side.CLIENT: Accepting, Side.SERVER: Accepting},
    parse=octets_1_0.parse,
    read_close=octets_1_0.read_close,
    beat=octets_1_0.EMPTY,
    close_ok=octets_1_0.CLOSE_OK,
)
CLASSIC: Final[dict[Version, ClassicKit]] = {AMQP_0_8: KIT_0_8, AMQP_0_9_1: KIT_0_9_1}
KITS: Final[dict[Version, VersionKit[Any]]] = {**CLASSIC, AMQP_0_10: KIT_0_10, AMQP_1_0: KIT_1_0}
EVERY: Final = pytest.mark.parametrize("version", KITS, ids=lambda version: version.label)
"""The mark of a test of every version, whose kit is `KITS[version]`."""
