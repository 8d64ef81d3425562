"""AzureNamespace: what Service Bus and Event Hubs share: tokens, rights, clocks, errors with tracking ids."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from amqp_sansio import AMQP_1_0
from amqp_sansio.amqp_1_0 import Config
from amqp_sansio.amqp_1_0.codec.conditions import (
    CONNECTION_FORCED,
    DETACH_FORCED,
    NOT_FOUND,
    RESOURCE_LIMIT_EXCEEDED,
    UNAUTHORIZED_ACCESS,
)
from amqp_sansio.amqp_1_0.spec import Coordinator
from amqp_sansio.broker import ANONYMOUS_USER, Settings
from amqp_sansio.broker.nodes import Attachment, Namespace, Node, NodeHub, Peer, Refusal

from .cbs import CBS, CbsNode
from .timers import Due, Timers
from .tokens import ALL_RIGHTS, LISTEN, MANAGE, SEND, AccessRule, Grant, check, path_of

if TYPE_CHECKING:
    from amqp_sansio.amqp_1_0.spec import Attach

DEFAULT_RULE: Final = AccessRule("RootManageSharedAccessKey", "SAS_KEY_VALUE")
"""The rule of the emulator's connection string."""
_USED: Final = "used"
_IDLE: Final = "idle"
_GRANTS: Final = 1000
"""Audiences that a connection may have tokens for."""


class Clocks(NamedTuple):
    """The service's clocks, in seconds; 0: never.

    `first_token`: without a token so long after its open, a connection is closed; `first_link` without a link (beside
    those to `$cbs`); `no_link` after its last link has gone. `idle` is for links without a message: they are detached.
    """

    first_token: float = 20.0
    first_link: float = 60.0
    no_link: float = 300.0
    idle: float = 600.0


class AzureNamespace(Namespace):
    """A namespace with its access rules. `Service Bus` and `Event Hubs` add their entities: see `node_at`.

    Without `checks_tokens` any token is taken, gives all rights, and doesn't expire; with it a shared access signature
    is held against `rules`. `name` is what the service calls the namespace in its errors.
    """

    links_idle_as: tuple[str, str] = ("AmqpMessagePublisher", "AmqpMessageConsumer")
    """What the service calls a client's sending and receiving link when it detaches them as idle."""

    def __init__(
        self,
        name: str = "sbemulatorns",
        *,
        rules: Iterable[AccessRule] = (DEFAULT_RULE,),
        checks_tokens: bool = False,
        clocks: Clocks | None = None,
    ) -> None:
        self.name = name
        self.rules: dict[str, AccessRule] = {each.name: each for each in rules}
        self.checks_tokens = checks_tokens
        self.clocks = clocks or Clocks()
        self.timers = Timers()
        """What is due later; keys are tuples that begin with a word for the kind."""
        self._hub: NodeHub | None = None
        self._cbs = CbsNode(self)
        self._grants: dict[int, dict[str, Grant]] = {}
        self._peers: dict[int, Peer] = {}
        self._tracked = 0

    # For what is made of it.

    def node_at(self, path: str, attach: Attach) -> Node | None:
        """Return the node at a path, None if there is none; a subclass has some, which call `joined` and `left`."""
        return None

    def entity_kind(self, path: str) -> str:
        """Return what the service calls the entity at a path in its errors, such as "Queue"."""
        return "Queue"

    @property
    def hub(self) -> NodeHub:
        """The hub that it belongs to. Raises RuntimeError before that begins."""
        if self._hub is None:
            raise RuntimeError("the namespace belongs to no hub yet: Hub(settings, namespace)")
        return self._hub

    @property
    def is_served(self) -> bool:
        """Whether it belongs to a hub."""
        return self._hub is not None

    @property
    def now(self) -> float:
        """Seconds of the broker's clock; 0 before there is a broker."""
        return 0.0 if self._hub is None else self._hub.now

    @property
    def unix_time(self) -> float:
        """The Unix time by the broker's clock."""
        return self.now if self._hub is None else self._hub.settings.epoch + self._hub.now

    @property
    def milliseconds(self) -> int:
        """The same in milliseconds, as timestamps have it."""
        return int(self.unix_time * 1000)

    def refusal(self, condition: str, text: str, path: str = "") -> Refusal:
        """Return the refusal with the service's trackers behind its text."""
        return Refusal(condition, f"{text} {self.trackers(path)}")

    def trackers(self, path: str = "") -> str:
        """Return the trackers that the service's texts end with: support asks for them."""
        self._tracked += 1
        seed = b"" if self._hub is None else self._hub.settings.octets("tracking", str(self._tracked))
        number = (seed or self._tracked.to_bytes(16, "big"))[:16].hex()
        when = datetime.fromtimestamp(self.unix_time, UTC).strftime("%Y-%m-%dT%H:%M:%S")
        system = f"{self.name}:{self.entity_kind(path)}:{path[:80]}" if path else self.name
        return f"TrackingId:{number}_G0, SystemTracker:{system}, Timestamp:{when}"

    def joined(self, link: Attachment, path: str) -> None:
        """Note that a link was accepted: the clocks of its connection and its own idle time begin."""
        link.notes["path"] = path
        if path != CBS:
            self.timers.clear(("link", link.peer.number))
        if self.clocks.idle and path != CBS:
            link.notes[_USED] = self.now
            self.timers.set((_IDLE, link.peer.number, link.place), self.now + self.clocks.idle, _Idle(self, link))

    def used(self, link: Attachment) -> None:
        """Note that a message went over a link, so that it isn't idle."""
        if self.clocks.idle:
            link.notes[_USED] = self.now

    def left(self, link: Attachment) -> None:
        """Note that a link has ended."""
        self.timers.clear((_IDLE, link.peer.number, link.place))
        peer = link.peer
        if peer.connection.is_open and not self._has_link(peer) and link.notes.get("path") != CBS:
            self._expect_link(peer, self.clocks.no_link)

    # Tokens and rights.

    def put_token(self, peer: Peer, audience: str, token: str) -> None:
        """Take a token of a client. Raises Refusal."""
        if self.checks_tokens:
            try:
                grant = check(token, audience, self.rules, self.unix_time)
            except Refusal as refusal:
                raise self.refusal(refusal.condition, refusal.text) from None
        else:
            grant = Grant(path_of(audience), ALL_RIGHTS, None)
        grants = self._grants.setdefault(peer.number, {})
        key = grant.path.lower()
        if key not in grants and len(grants) >= _GRANTS:
            raise self.refusal(RESOURCE_LIMIT_EXCEEDED, f"the connection has tokens for {_GRANTS} audiences already")
        grants[key] = grant
        self.timers.clear(("token", peer.number))
        if grant.expires is not None:
            when = self.now + grant.expires - self.unix_time
            self.timers.set(("expires", peer.number, key), when, _Expired(self, peer.number, key))

    def require(self, peer: Peer, right: str, path: str) -> None:
        """Raise Refusal (amqp:unauthorized-access) unless the client has a right at an entity.

        A client that has logged in with PLAIN has those of the rule in whose name it did.
        """
        if not self.allows(peer, right, path):
            raise self.refusal(
                UNAUTHORIZED_ACCESS,
                f"Unauthorized access. '{right}' claim(s) are required to perform this operation. "
                f"Resource: 'sb://{self.name}/{path[:100]}'.",
                path,
            )

    def allows(self, peer: Peer, right: str, path: str) -> bool:
        """Return whether a client has a right at an entity."""
        if peer.user != ANONYMOUS_USER and peer.user in self.rules:
            return right in self.rules[peer.user].rights
        grants = self._grants.get(peer.number, {})
        return any(right in each.rights and each.covers(path) for each in grants.values())

    def has_token(self, peer: Peer) -> bool:
        """Return whether a client has any right, by a token or by its login."""
        return peer.user in self.rules or bool(self._grants.get(peer.number))

    # As a namespace of the hub.

    def begin(self, hub: NodeHub) -> None:
        self._hub = hub

    def find(self, peer: Peer, attach: Attach) -> Node | None:
        terminus: Any = attach.source if attach.role else attach.target
        if isinstance(attach.target, Coordinator):
            if not self.has_token(peer):
                raise self.refusal(UNAUTHORIZED_ACCESS, "a token is put to $cbs before any transaction")
            return None
        address = str(getattr(terminus, "address", None) or "")
        path = path_of(address)
        if path.lower() == CBS:
            return self._cbs
        node = self.node_at(path, attach) if path else None
        if node is None:
            text = f"The messaging entity 'sb://{self.name}/{path[:100]}' could not be found."
            raise self.refusal(NOT_FOUND, text, path)
        return node

    def opened(self, peer: Peer) -> None:
        self._peers[peer.number] = peer
        if self.clocks.first_token and peer.user not in self.rules:
            self.timers.set(("token", peer.number), self.now + self.clocks.first_token, _NoToken(self, peer.number))
        self._expect_link(peer, self.clocks.first_link)

    def closed(self, peer: Peer) -> None:
        self._peers.pop(peer.number, None)
        for key in self._grants.pop(peer.number, {}):
            self.timers.clear(("expires", peer.number, key))
        self.timers.clear(("token", peer.number))
        self.timers.clear(("link", peer.number))

    @property
    def next_deadline(self) -> float | None:
        return self.timers.next_deadline

    def handle_timeout(self, now: float) -> None:
        self.timers.ring(now)

    # For its timers.

    def close(self, number: int, text: str) -> None:
        """Close a connection by force."""
        peer = self._peers.get(number)
        if peer is not None:
            peer.close(CONNECTION_FORCED, f"{text} {self.trackers()}")

    def expire(self, number: int, key: str) -> None:
        """Take back what an expired token gave: links that no other one allows are detached."""
        grants = self._grants.get(number, {})
        peer = self._peers.get(number)
        if grants.pop(key, None) is None or peer is None:
            return
        for link in list(peer.attachments.values()):
            path = str(link.notes.get("path", ""))
            if path == CBS:
                continue
            right = MANAGE if path.lower().endswith("$management") else LISTEN if link.is_sender else SEND
            if not self.allows(peer, right, path) and not (right == MANAGE and self._has_any(peer, path)):
                link.detach(UNAUTHORIZED_ACCESS, f"ExpiredToken: The token is expired. {self.trackers(path)}")

    def check_idle(self, link: Attachment) -> None:
        """Detach a link over which nothing went for so long; look again later at another."""
        if not link.is_open:
            return
        due = float(link.notes.get(_USED, 0.0)) + self.clocks.idle
        if due > self.now:
            self.timers.set((_IDLE, link.peer.number, link.place), due, _Idle(self, link))
            return
        kind = self.links_idle_as[link.is_sender]
        minutes, seconds = divmod(int(self.clocks.idle), 60)
        hours, minutes = divmod(minutes, 60)
        number = link.place[1]
        link.detach(
            DETACH_FORCED,
            f"The link '{link.name[:100]}' is force detached. Code: {'consumer' if link.is_sender else 'publisher'}"
            f"(link{number}). Details: {kind}.IdleTimerExpired: Idle timeout: {hours:02}:{minutes:02}:{seconds:02}. "
            + self.trackers(str(link.notes.get("path", ""))),
        )

    # Internals.

    def _has_any(self, peer: Peer, path: str) -> bool:
        return any(self.allows(peer, right, path) for right in (SEND, LISTEN))

    def _has_link(self, peer: Peer) -> bool:
        return any(each.notes.get("path") != CBS for each in peer.attachments.values())

    def _expect_link(self, peer: Peer, seconds: float) -> None:
        if seconds:
            self.timers.set(("link", peer.number), self.now + seconds, _NoLink(self, peer.number, seconds))


class _OfPeer(Due):
    """What is due for a connection."""

    __slots__ = ("namespace", "number")

    def __init__(self, namespace: AzureNamespace, number: int) -> None:
        self.namespace = namespace
        self.number = number


class _NoToken(_OfPeer):
    """A client has put no token in time."""

    __slots__ = ()

    def ring(self, now: float) -> None:
        self.namespace.close(self.number, "No token was put to $cbs in time.")


class _NoLink(_OfPeer):
    """A client has no link."""

    __slots__ = ("seconds",)

    def __init__(self, namespace: AzureNamespace, number: int, seconds: float) -> None:
        super().__init__(namespace, number)
        self.seconds = seconds

    def ring(self, now: float) -> None:
        self.namespace.close(
            self.number,
            f"The connection was inactive for more than the allowed {int(self.seconds * 1000)} milliseconds and is "
            "closed by container 'LinkTracker'.",
        )


class _Expired(_OfPeer):
    """A client's token has expired."""

    __slots__ = ("key",)

    def __init__(self, namespace: AzureNamespace, number: int, key: str) -> None:
        super().__init__(namespace, number)
        self.key = key

    def ring(self, now: float) -> None:
        self.namespace.expire(self.number, self.key)


class _Idle(Due):
    """A link may be idle."""

    __slots__ = ("link", "namespace")

    def __init__(self, namespace: AzureNamespace, link: Attachment) -> None:
        self.namespace = namespace
        self.link = link

    def ring(self, now: float) -> None:
        self.namespace.check_idle(self.link)


def settings_for(namespace: AzureNamespace, **changes: Any) -> Settings:
    """Return a broker's settings for a namespace: 1.0 alone, with the service's mechanisms and numbers.

    MSSBCBS and ANONYMOUS are for clients that put a token; with PLAIN a client logs in as an access rule, with its key.
    """
    mechanisms = "MSSBCBS", "PLAIN", "ANONYMOUS"
    config = Config(
        container_id=f"{namespace.name}_G0",
        mechanisms=mechanisms,
        idle_time_out=240.0,
        channel_max=4999,
        incoming_window=5000,
        initial_frame_size=8192,
        validate_content=False,
    )
    values: dict[str, Any] = {
        "users": {rule.name: rule.key for rule in namespace.rules.values()},
        "versions": (AMQP_1_0,),
        "mechanisms": mechanisms,
        "anonymous": True,
        "configs": {AMQP_1_0: config},
        **changes,
    }
    return Settings(**values)


__all__ = ["DEFAULT_RULE", "AzureNamespace", "Clocks", "settings_for"]
