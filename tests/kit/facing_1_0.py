"""Facing of 1.0: an open connection, and one in the SASL layer; `octets_1_0` writes what it gets."""

from __future__ import annotations

from typing import TYPE_CHECKING

from amqp_sansio import By, CloseHint, RemoteProtocolError
from amqp_sansio._core.sasl_exchange import configured_mechanisms
from amqp_sansio.amqp_1_0 import Config, Connection, Symbol
from amqp_sansio.amqp_1_0.spec import Open, SaslMechanisms
from amqp_sansio.endpoint import Side
from tests.kit import facing
from tests.kit.facing import CLIENT, SERVER
from tests.kit.octets_1_0 import AMQP_HEADER, SASL_HEADER, octets_of, sasl, their_open
from tests.kit.versions import KIT_1_0, Application

if TYPE_CHECKING:
    from typing import Self


class Facing(facing.Facing[Connection]):
    """An endpoint of 1.0."""

    def __init__(
        self, side: Side, config: Config | None = None, *, application: Application[Connection] | None = None
    ) -> None:
        """An endpoint whose peer has sent nothing yet."""
        super().__init__(KIT_1_0, side, config, application=application)

    @classmethod
    def opened(cls, side: Side, config: Config | None = None, peer: Open | None = None) -> Self:
        """An endpoint of an open connection without SASL; `peer` is the open that it got."""
        facing = cls(side, config)
        facing.feed(AMQP_HEADER + octets_of(peer or their_open()))
        if side is SERVER:
            facing.end.accept_open()
            facing.settle()
        assert facing.end.is_open, facing.events
        return facing.forget()

    @classmethod
    def in_sasl(cls, side: Side, config: Config) -> Facing:
        """An endpoint in the SASL layer; a client has got the mechanisms that it knows itself."""
        facing = cls(side, config)
        facing.feed(SASL_HEADER)
        if side is CLIENT:
            names = tuple([Symbol(each.name) for each in configured_mechanisms(config)])
            facing.feed(sasl(SaslMechanisms(names)))
        return facing

    def ends(self, rule: str | None, by: By = By.LOCAL) -> RemoteProtocolError:
        """As the base's, and what is queued is still written."""
        error = super().ends(rule, by)
        assert self.end.close_hint is CloseHint.CLOSE_WHEN_SENT
        return error
