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

from ._base import (
    Challenge,
    ClientMechanism,
    Credentials,
    Denied,
    NeedScramKeys,
    SaslError,
    SaslState,
    ScramKeys,
    ServerMechanism,
    ServerStep,
    Verified,
)
from ._client import AmqPlain, Anonymous, ClaimsBased, External, OAuthBearer, Plain, XOAuth2, choose, with_nonce
from ._key_book import ScramKeyBook
from ._registry import MECHANISMS, ClientMaker, MechanismRegistry, ServerMaker, client_mechanisms, server_mechanism
from ._scram import ScramSha1, ScramSha256, decoy_scram_keys, scram_keys
from ._server import SERVER_MECHANISMS, ServerTerms

__all__ = [
    "MECHANISMS",
    "SERVER_MECHANISMS",
    "AmqPlain",
    "Anonymous",
    "Challenge",
    "ClaimsBased",
    "ClientMaker",
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
    "ServerMaker",
    "ServerMechanism",
    "ServerStep",
    "ServerTerms",
    "Verified",
    "XOAuth2",
    "choose",
    "client_mechanisms",
    "decoy_scram_keys",
    "scram_keys",
    "server_mechanism",
    "with_nonce",
]
