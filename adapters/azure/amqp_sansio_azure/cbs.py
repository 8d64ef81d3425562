"""The node `$cbs`: a client puts a token for each audience, which the namespace judges (OASIS amqp-cbs)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol

from amqp_sansio.amqp_1_0.codec.conditions import NOT_IMPLEMENTED

from .requests import HYPHENS, Host, Reply, Request, RequestNode

if TYPE_CHECKING:
    from amqp_sansio.broker.nodes import Peer, Refusal

CBS: Final = "$cbs"
_TOKEN: Final = 65_536
"""Characters of a token."""


class TokenHost(Host, Protocol):
    """The part of a namespace that judges tokens."""

    def put_token(self, peer: Peer, audience: str, token: str) -> None: ...

    def refusal(self, condition: str, text: str, path: str = "") -> Refusal: ...


class CbsNode(RequestNode):
    """Takes tokens: `put-token`, with the audience as `name`."""

    names = HYPHENS

    def __init__(self, host: TokenHost) -> None:
        super().__init__(host, CBS)
        self._tokens = host

    def answer(self, request: Request) -> Reply:
        host = self._tokens
        operation = request.operation
        if operation != "put-token":
            raise host.refusal(NOT_IMPLEMENTED, f"there is no operation {operation!r} at $cbs")
        audience, token = request.properties.get("name"), request.body
        if isinstance(token, bytes):
            token = token.decode("utf-8", "replace")
        if not isinstance(audience, str) or not isinstance(token, str) or len(token) > _TOKEN:
            return Reply(400, "put-token needs the application property name, and the token as the body's text")
        host.put_token(request.link.peer, audience, token)
        return Reply(202, "Accepted")


__all__ = ["CBS", "CbsNode"]
