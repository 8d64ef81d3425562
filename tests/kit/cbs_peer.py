"""A server with claims-based security: it takes tokens on `$cbs`, and links of entities that have a good one."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from typing import Any, Final

from amqp_sansio.amqp_1_0 import Delivery, LinkClosed, LinkRequested, Message, Properties, Receiver, SessionRequested
from amqp_sansio.amqp_1_0.spec import Int
from amqp_sansio.client.amqp_1_0.cbs import Audience, Token, entity_of

MARK: Final = "t0ken-text"
"""Part of the text of each token of `Provider`."""


def anybody(connection: object, credentials: object) -> bool:
    """Let everybody in."""
    return True


class Provider:
    """Gives tokens that live for `lifetime` seconds; counts those it gave."""

    def __init__(self, lifetime: float | None = 100.0) -> None:
        self.lifetime = lifetime
        self.given: list[str] = []

    async def token(self, audience: Audience, /) -> Token:
        self.given.append(str(audience))
        expires = None if self.lifetime is None else audience.now + self.lifetime
        return Token(f"{MARK} {len(self.given)}", "test", expires)


class PlainProvider(Provider):
    """The same without a coroutine, for blocking programs."""

    def token(self, audience: Audience, /) -> Token:  # type: ignore[override]
        work = super().token(audience)
        try:
            work.send(None)
        except StopIteration as end:
            token: Token = end.value
            return token
        raise AssertionError("it never waits")


class CbsPeer:
    """What the server saw, as (connection, what, entity): "put", "attach", "refused"; and how it behaves.

    `refused` are the entities whose tokens it doesn't take, `is_silent` keeps its replies back. A token that expires
    ends the links of its entity, which `expired` counts. `forgets_links` detaches `$cbs` after each reply.
    """

    def __init__(self, now: Callable[[], float], refused: Iterable[str] = ()) -> None:
        self.now = now
        self.seen: list[tuple[int, str, str]] = []
        self.refused = set(refused)
        self.is_silent = False
        self.forgets_links = False
        self.expired = 0
        self.connections: list[Any] = []
        self.requests: list[Message] = []
        self.kept: list[Any] = []
        """Links of the test's, which close when nobody has them."""

    def of(self, what: str) -> list[str]:
        """The entities of what it saw."""
        return [entity for _, each, entity in self.seen if each == what]

    async def handle(self, connection: Any) -> None:
        """Serve a client."""
        self.connections.append(connection)
        state = _Served(self, connection, len(self.connections))
        expiring = asyncio.get_running_loop().create_task(state.expire())
        try:
            async for event in connection:
                state.take(event)
        finally:
            expiring.cancel()


class _Served:
    """One client."""

    def __init__(self, peer: CbsPeer, connection: Any, number: int) -> None:
        self.peer = peer
        self.connection = connection
        self.number = number
        self.tokens: dict[str, float] = {}
        self.links: dict[tuple[int, int], str] = {}
        self.replies: Any = None
        self.requests: Any = None

    def take(self, event: Any) -> None:
        connection = self.connection
        if isinstance(event, SessionRequested):
            connection.session(event.channel).accept()
        elif isinstance(event, LinkRequested):
            self._attach(event)
        elif isinstance(event, LinkClosed):
            self.links.pop((event.channel, event.link), None)
        elif isinstance(event, Delivery):
            link = connection.link(event.channel, event.link)
            link.accept(event)
            link.flow(100)
            if link is self.requests:
                self._put(event.message)

    def _attach(self, event: LinkRequested) -> None:
        link = self.connection.link(event.channel, event.link)
        attach = event.attach
        entity = entity_of(attach.source if attach.role else attach.target)
        if not entity:
            link.accept_attach()
            if isinstance(link, Receiver):
                self.requests = link
                link.flow(10)
            else:
                self.replies = link
            return
        if self.tokens.get(entity, 0.0) <= self.peer.now():
            self.peer.seen.append((self.number, "refused", entity))
            link.refuse_attach("amqp:unauthorized-access", f"no token for {entity}")
            return
        self.peer.seen.append((self.number, "attach", entity))
        self.links[event.channel, event.link] = entity
        link.accept_attach()
        if isinstance(link, Receiver):
            link.flow(100)

    def _put(self, request: Message) -> None:
        peer, fields = self.peer, request.application_properties
        peer.requests.append(request)
        entity = entity_of(fields["name"])
        peer.seen.append((self.number, "put", entity))
        if peer.is_silent:
            return
        status, text = (401, f"who are you for {entity}") if entity in peer.refused else (202, "Accepted")
        if status == 202:
            expires = fields.get("expiration")
            self.tokens[entity] = float("inf") if expires is None else int(expires) / 1000
        assert request.properties is not None
        reply = Message(
            None,
            properties=Properties(correlation_id=request.properties.message_id),
            application_properties={"status-code": Int(status), "status-description": text},
        )
        self.replies.send(reply)
        if peer.forgets_links:
            for link in (self.replies, self.requests):
                link.close("amqp:link:detach-forced", "idle for too long")

    async def expire(self) -> None:
        """End the links of entities whose token has expired."""
        while True:
            ends = [self.tokens.get(each, 0.0) - self.peer.now() for each in self.links.values()]
            await asyncio.sleep(min([5.0, *[max(0.1, each) for each in ends]]))
            if not self.connection.is_open:
                return
            for (channel, handle), entity in list(self.links.items()):
                if self.tokens.get(entity, 0.0) <= self.peer.now():
                    self.peer.expired += 1
                    self.links.pop((channel, handle))
                    self.connection.link(channel, handle).close("amqp:unauthorized-access", "the token has expired")
                    self.connection.flush()
