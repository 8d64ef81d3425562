"""Call: one request on its way, with who makes it and what it may see."""

from __future__ import annotations

from base64 import b64decode
from binascii import Error
from collections.abc import Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from ...sasl import Credentials
from ..users import User
from .inside import Inside
from .requests import Answer, Request, no_access, no_login, not_found, refused

if TYPE_CHECKING:
    from ..client import Client
    from ..hub import Hub
    from ..model.exchange import Exchange
    from ..model.queue import Queue
    from ..model.vhost import VirtualHost
    from .rows import Rows

_TAGS: Final = frozenset({"administrator", "monitoring", "policymaker", "management"})
"""Those that let a user in."""
_SEE_ALL: Final = frozenset({"administrator", "monitoring"})
_ADMINISTRATOR: Final = "administrator"

Steps = Generator[None, None, Answer]


class Call:
    """A request with its user. Raises Refused for who isn't let in."""

    def __init__(self, hub: Hub, rows: Rows, request: Request, query: dict[str, str], number: int) -> None:
        self.hub = hub
        """The broker that it is about."""
        self.rows = rows
        """Makes what is told."""
        self.request = request
        """As it came."""
        self.query = query
        """The parameters behind the path."""
        self._number = number
        """For the client within the broker."""
        self.user, self.tags = _login(hub, request)
        """The user who asks, with the tags that give rights."""

    @property
    def is_administrator(self) -> bool:
        """Whether the user may do everything."""
        return _ADMINISTRATOR in self.tags

    def may_see(self, client: Client) -> bool:
        """Whether the user may see a client's connection: its own, or as monitoring every one."""
        if client.front is None or not client.is_open:
            return False
        user, _ = client.front.describe()
        return user == self.user or not _SEE_ALL.isdisjoint(self.tags)

    # Finding.

    def vhosts(self) -> list[VirtualHost]:
        """Return the virtual hosts that the user may open, by name."""
        there = self.hub.model.vhosts
        settings = self.hub.settings
        return [there[name] for name in sorted(there) if not settings.may_open(self.user, name)]

    def vhost(self, name: str) -> VirtualHost:
        """Return a virtual host. Raises Refused."""
        found = self.hub.model.vhosts.get(name)
        if found is None:
            raise not_found()
        if self.hub.settings.may_open(self.user, name):
            raise no_access()
        return found

    def queue(self, vhost: str, name: str) -> Queue:
        """Return a queue. Raises Refused."""
        found = self.vhost(vhost).queues.get(name)
        if found is None:
            raise not_found()
        return found

    def exchange(self, vhost: str, name: str) -> Exchange:
        """Return an exchange. Raises Refused."""
        found = self.vhost(vhost).exchanges.get(name)
        if found is None:
            raise not_found()
        return found

    def clients(self) -> list[Client]:
        """Return the clients that the user may see, by the name of their connections."""
        found = [each for each in self.hub.clients.values() if self.may_see(each)]
        return sorted(found, key=self.rows.name_of)

    def client(self, name: str) -> Client:
        """Return the client of a connection. Raises Refused."""
        for each in self.hub.clients.values():
            if each.is_open and self.rows.name_of(each) == name:
                if not self.may_see(each):
                    raise no_access()
                return each
        raise not_found()

    # Doing.

    @contextmanager
    def inside(self, vhost: str) -> Generator[Inside]:
        """Give a client within the broker, in the name of the user, that leaves in the end. Raises Refused."""
        if self.hub.is_closing:
            raise refused(503, "service_unavailable", "the broker is shutting down")
        client = Inside(self.hub, self._number, self.user, vhost)
        try:
            yield client
        finally:
            client.leave()


def _login(hub: Hub, request: Request) -> tuple[str, frozenset[str]]:
    """Return who makes a request, and the tags. Raises Refused."""
    given = request.headers.get("authorization", "")
    if not given:
        raise no_login(was_tried=False)
    name, password = _basic(given)
    credentials = Credentials("PLAIN", name, password=password)
    user = hub.settings.authenticate(credentials, is_secure=False, peer_name="").user
    if not user:
        raise no_login(was_tried=True)
    known: Any = hub.settings.users[user]
    # A user of whom nothing is said may do everything, as guest does in RabbitMQ.
    tags = frozenset(known.tags if isinstance(known, User) else ()) or frozenset({_ADMINISTRATOR})
    if _TAGS.isdisjoint(tags):
        raise refused(401, "not_authorised", "Not management user")
    return user, tags


def _basic(given: str) -> tuple[str, str]:
    """Return the name and password of basic authentication (RFC 7617). Raises Refused."""
    scheme, _, token = given.strip().partition(" ")
    if scheme.lower() != "basic":
        raise no_login(was_tried=True)
    try:
        text = b64decode(token.strip().encode("ascii"), validate=True).decode()
    except (Error, UnicodeError):
        raise no_login(was_tried=True) from None
    name, colon, password = text.partition(":")
    if not colon:
        raise no_login(was_tried=True)
    return name, password


__all__ = ["Call", "Steps"]
