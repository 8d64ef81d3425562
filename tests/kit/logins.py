"""Every SASL mechanism of a client, and a server's application that judges them."""

from typing import Any, Final

from amqp_sansio import AuthenticationRequested, Event, ScramKeysRequested
from amqp_sansio.sasl import (
    Anonymous,
    ClientMechanism,
    External,
    OAuthBearer,
    Plain,
    ScramSha1,
    ScramSha256,
    XOAuth2,
    scram_keys,
)

NAMES: Final = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-1", "EXTERNAL", "ANONYMOUS", "OAUTHBEARER", "XOAUTH2")
NONCE: Final = "clients+nonce+of+this+connection"
MECHANISMS: Final[tuple[ClientMechanism, ...]] = (
    Plain("user", "secret"),
    ScramSha256("user", "secret", nonce=NONCE),
    ScramSha1("user", "secret", nonce=NONCE),
    External("user"),
    Anonymous("trace"),
    OAuthBearer("token", authzid="user"),
    XOAuth2("user", "token"),
)
OFFER: Final[dict[str, Any]] = {"mechanisms": NAMES, "nonce": "servers+nonce+of+this+connection"}
"""What a server's configuration needs to take them all."""
_DIGESTS: Final = {"SCRAM-SHA-256": "sha256", "SCRAM-SHA-1": "sha1"}


class Judge:
    """Lets in one user, by the password or by the keys made of it; `asked` are the questions."""

    def __init__(self, password: str = "secret", user: str = "user") -> None:
        self.password = password
        self.user = user
        self.asked: list[Any] = []

    def __call__(self, connection: Any, event: Event) -> bool:
        """Answer an event that asks; whether it did."""
        match event:
            case ScramKeysRequested(mechanism, user):
                keys = scram_keys(self.password, b"sixteen octets..", digest=_DIGESTS[mechanism])
                connection.provide_scram_keys(keys if user == self.user else None)
            case AuthenticationRequested(_, credentials):
                if credentials.password in (None, self.password):
                    connection.accept_authentication()
                else:
                    connection.refuse_authentication("wrong password")
            case _:
                return False
        self.asked.append(event)
        return True
