"""SASL mechanisms as pure step machines, for both sides of every version (RFC 4422).

A client mechanism is a configuration record. `choose` picks one from what the server offers,
`initial()` gives the first response and a state, `step(state, challenge)` each further one, and
`complete(state)` has to agree when the server reports success:

>>> mechanism = choose([Plain("guest", "guest"), Anonymous()], "PLAIN AMQPLAIN")
>>> state, response = mechanism.initial()
>>> mechanism.name, response
('PLAIN', b'\\x00guest\\x00guest')
>>> mechanism.complete(state)

A server mechanism comes from its name. Each of its steps is a `Challenge` to send, a decision
asked of the application (`Credentials`, `NeedScramKeys`), or the end (`Verified`, `Denied`):

>>> server = server_mechanism("PLAIN")
>>> state, step = server.start(response)
>>> step
Credentials(mechanism='PLAIN', user='guest', authzid='', trace='', host='', port=None, verified=False)
>>> step.password
'guest'

`MECHANISMS` is the registry that these two look names up in; a `MechanismRegistry` of one's own has
more of them.

Mechanisms and states are small immutable values: they pickle, compare, and never show a secret
in their repr. Nothing here draws randomness: SCRAM takes its nonces from the caller, a fresh one
for each connection.
"""

from __future__ import annotations

from .._checking import TYPE_CHECKING
from ._base import ClientMechanism, SaslError, SaslState
from ._client import AmqPlain, Anonymous, ClaimsBased, External, Plain, choose
from ._registry import MECHANISMS, MechanismRegistry, ServerTerms, client_mechanisms, server_mechanism

if TYPE_CHECKING:
    from ._key_book import ScramKeyBook
    from ._scram import ScramSha1, ScramSha256
    from ._scram_server import scram_keys
    from ._steps import Challenge, Credentials, Denied, NeedScramKeys, ScramKeys, ServerMechanism, ServerStep, Verified
    from ._tokens import OAuthBearer, XOAuth2

_STEPS = {
    *("Challenge", "Credentials", "Denied", "NeedScramKeys"),
    *("ScramKeys", "ServerMechanism", "ServerStep", "Verified"),
}
_SCRAM = {"ScramSha1", "ScramSha256"}
_SCRAM_SERVER = {"decoy_scram_keys", "scram_keys"}
_TOKENS = {"OAuthBearer", "XOAuth2"}


def __getattr__(name: str) -> object:
    # A client that says its password needs no token, no SCRAM and nothing of a server's.
    if name in _STEPS:
        from . import _steps

        return getattr(_steps, name)
    if name in _SCRAM:
        from . import _scram

        return getattr(_scram, name)
    if name in _SCRAM_SERVER:
        from . import _scram_server

        return getattr(_scram_server, name)
    if name in _TOKENS:
        from . import _tokens

        return getattr(_tokens, name)
    if name == "ScramKeyBook":
        from . import _key_book

        return getattr(_key_book, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__all__ = [
    "MECHANISMS",
    "AmqPlain",
    "Anonymous",
    "Challenge",
    "ClaimsBased",
    "ClientMechanism",
    "Credentials",
    "Denied",
    "External",
    "MechanismRegistry",
    "NeedScramKeys",
    "OAuthBearer",
    "Plain",
    "SaslError",
    "SaslState",
    "ScramKeyBook",
    "ScramKeys",
    "ScramSha1",
    "ScramSha256",
    "ServerMechanism",
    "ServerStep",
    "ServerTerms",
    "Verified",
    "XOAuth2",
    "choose",
    "client_mechanisms",
    "scram_keys",
    "server_mechanism",
]
