"""Authentication: answers the opening of a server's connections in every version."""

from __future__ import annotations

import hmac
import inspect
import secrets
from collections.abc import Awaitable, Callable, Container, Mapping
from typing import TYPE_CHECKING, Any, Protocol

from amqp_sansio.errors import EndpointClosed
from amqp_sansio.events import AuthenticationRequested, Opened, OpenRequested, ScramKeysRequested
from amqp_sansio.sasl import Credentials, ScramKeyBook, ScramKeys

if TYPE_CHECKING:
    from .serving import ServingDriver


class Client(Protocol):
    """The application's view of a client, whose user is set here."""

    user: str


class Login:
    """Decides on logins and virtual hosts."""

    def __init__(
        self,
        authenticate: Mapping[str, str] | Callable[[Any, Credentials], bool | Awaitable[bool]],
        vhosts: Container[str] | None,
    ) -> None:
        self._authenticate = authenticate
        """Passwords by user, or a function that decides."""
        self._vhosts = vhosts
        """Those that may be opened; None: all."""
        self._keys = ScramKeyBook(secrets.token_bytes(16))
        """SCRAM keys, made once for each user of the mapping."""

    async def open(self, connection: Client, driver: ServingDriver[Any]) -> bool:
        """Answer a client's opening; return whether it succeeded."""
        core = driver.core
        while True:
            event = await driver.next()
            if event is None:
                return False
            if isinstance(event, ScramKeysRequested):
                core.provide_scram_keys(self._scram_keys(event.mechanism, event.user))
            elif isinstance(event, AuthenticationRequested):
                connection.user = event.credentials.user or event.credentials.authzid
                try:
                    if await self._may_enter(connection, event.credentials):
                        core.accept_authentication()
                    else:
                        core.refuse_authentication("ACCESS_REFUSED - login was refused")
                except EndpointClosed:
                    return False
            elif isinstance(event, OpenRequested):
                name = driver.vhost_of(event.vhost)
                if self._vhosts is None or name in self._vhosts:
                    core.accept_open()
                else:
                    driver.refuse_vhost(name)
            elif isinstance(event, Opened):
                driver.log(f"open, user {connection.user!r}")
                driver.schedule_flush()
                return True

    async def _may_enter(self, connection: Client, credentials: Credentials) -> bool:
        if callable(self._authenticate):
            answer = self._authenticate(connection, credentials)
            return bool(await answer if inspect.isawaitable(answer) else answer)
        if credentials.authzid not in ("", credentials.user):
            return False
        if credentials.verified:
            return credentials.user in self._authenticate  # The mechanism has judged the proof.
        password = self._authenticate.get(credentials.user)
        if password is None or credentials.password is None:
            return False
        return hmac.compare_digest(password.encode(), credentials.password.encode())

    def _scram_keys(self, mechanism: str, user: str) -> ScramKeys | None:
        digest = "sha1" if mechanism == "SCRAM-SHA-1" else "sha256"
        if callable(self._authenticate):
            return None
        return self._keys.keys(user, self._authenticate.get(user), digest)


__all__ = ["Client", "Login"]
