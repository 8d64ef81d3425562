"""A server's SCRAM-SHA-1 and SCRAM-SHA-256 without channel binding (RFC 5802, RFC 7677), and its records of users.

The arithmetic is in `_scram_math`, imported when an exchange needs it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._ground.record import record
from ._base import (
    FINISHED,
    SCRAM_DIGESTS,
    MalformedError,
    SaslError,
    SaslState,
    decode_text,
    encode_text,
    split_gs2,
    unescape_name,
)
from ._scram import attributes, from_base64, is_visible, prepared_password, prepared_user, to_base64
from ._steps import Challenge, Denied, NeedScramKeys, ScramKeys, Verified

if TYPE_CHECKING:
    from ._steps import ServerStep

_DIGEST_SIZES = {"sha256": 32, "sha1": 20}


def scram_keys(password: str, salt: bytes, iterations: int = 4096, digest: str = "sha256") -> ScramKeys:
    """Return a server's record of a user for SCRAM: salt, count and two keys, not the password.

    `salt` is at least 16 random octets, different for each user, `digest` "sha256" or "sha1". Raises SaslError for
    another digest, no salt, or a password that SASLprep forbids (RFC 4013).

    >>> keys = scram_keys("pencil", bytes.fromhex("5b6d99689d123512ae8e2bb6d1b1b0a5"))
    >>> keys
    ScramKeys(salt=b'[m\\x99h\\x9d\\x125\\x12\\xae\\x8e+\\xb6\\xd1\\xb1\\xb0\\xa5', iterations=4096)
    >>> len(keys.stored_key), len(keys.server_key)
    (32, 32)
    """
    from . import _scram_math

    if digest not in _DIGEST_SIZES:
        raise SaslError(f"digest {digest!r} isn't one of {', '.join(_DIGEST_SIZES)}")
    if not salt or iterations < 1:
        raise SaslError("SCRAM keys need a salt of at least one octet and at least one iteration")
    salted = _scram_math.salt_password(prepared_password(password), salt, iterations, digest)
    return ScramKeys(salt, iterations, *_scram_math.derive_keys(salted, digest))


def decoy_scram_keys(user: str, secret: bytes, iterations: int = 4096, digest: str = "sha256") -> ScramKeys:
    """Return keys that no password proves, always the same for a user.

    If these answer `NeedScramKeys` for an unknown user, the client sees a wrong password, and doesn't learn which users
    exist. `secret` is the server's own: at least 16 octets that never change.

    >>> secret = b"0123456789abcdef"
    >>> decoy_scram_keys("nobody", secret) == decoy_scram_keys("nobody", secret)
    True
    """
    from . import _scram_math

    if digest not in _DIGEST_SIZES:
        raise SaslError(f"digest {digest!r} isn't one of {', '.join(_DIGEST_SIZES)}")
    salt, stored, server = _scram_math.decoy(encode_text(user, "user name"), secret, digest)
    return ScramKeys(salt[:16], iterations, stored, server)


@record
class _AwaitFirst(SaslState):
    """Waiting for the client's first message."""


@record
class _AwaitKeys(SaslState):
    """Waiting for the user's keys from the application."""

    header: str
    bare: str
    client_nonce: str
    user: str
    authzid: str


@record
class _AwaitProof(SaslState):
    """Waiting for the client's proof."""

    header: str
    signed: str
    nonce: str
    user: str
    authzid: str
    keys: ScramKeys


@record
class _AwaitEnd(SaslState):
    """Waiting for the client to acknowledge the server's proof with an empty message."""

    user: str
    authzid: str


@record
class ServerScram:
    """The server's half of SCRAM; created by `server_mechanism`."""

    name: str
    nonce: str
    success_data: bool = False

    def start(self, response: bytes | None) -> tuple[SaslState, ServerStep]:
        if response is None:
            return _AwaitFirst(), Challenge(b"")
        return self.step(_AwaitFirst(), response)

    def step(self, state: SaslState, response: bytes) -> tuple[SaslState, ServerStep]:
        try:
            if isinstance(state, _AwaitFirst):
                return self._read_first(decode_text(response, "message"))
            if isinstance(state, _AwaitProof):
                return self._read_proof(state, decode_text(response, "message"))
            if isinstance(state, _AwaitEnd):
                if response:
                    raise MalformedError("the last response isn't empty")
                return FINISHED, Verified(self.name, state.user, state.authzid)
        except MalformedError as error:
            return FINISHED, Denied(f"malformed {self.name} response: {error}", True)
        raise SaslError(f"no {self.name} challenge waits for an answer")

    def keys(self, state: SaslState, keys: ScramKeys | None) -> tuple[SaslState, ServerStep]:
        if not isinstance(state, _AwaitKeys):
            raise SaslError(f"{self.name} doesn't wait for keys")
        if keys is None:
            return FINISHED, Denied(f"user {state.user!r} isn't known or may not act so")
        size = _DIGEST_SIZES[SCRAM_DIGESTS[self.name]]
        if len(keys.stored_key) != size or len(keys.server_key) != size:
            raise SaslError(f"the keys of {state.user!r} aren't keys for {self.name}")
        if not keys.salt or keys.iterations < 1:
            raise SaslError(f"the keys of {state.user!r} lack a salt or an iteration count")
        nonce = state.client_nonce + self.nonce
        first = f"r={nonce},s={to_base64(keys.salt)},i={keys.iterations}"
        signed = f"{state.bare},{first}"
        waiting = _AwaitProof(state.header, signed, nonce, state.user, state.authzid, keys)
        return waiting, Challenge(first.encode())

    def _read_first(self, text: str) -> tuple[SaslState, ServerStep]:
        header, authzid, bare = split_gs2(text)
        name, nonce = attributes(bare, "n", "r")
        user = unescape_name(name, "user name")
        try:
            user = prepared_user(user)
        except SaslError as error:
            raise MalformedError(str(error)) from None
        if not is_visible(nonce):
            raise MalformedError("the nonce isn't visible ASCII characters")
        waiting = _AwaitKeys(header, bare, nonce, user, authzid)
        return waiting, NeedScramKeys(self.name, user, authzid)

    def _read_proof(self, state: _AwaitProof, text: str) -> tuple[SaslState, ServerStep]:
        from . import _scram_math

        binding, nonce = attributes(text, "c", "r")
        without_proof, separator, proof_text = text.rpartition(",p=")
        if not separator or "," in proof_text:
            raise MalformedError("the proof isn't the last attribute")
        if from_base64(binding, "channel binding") != state.header.encode():
            raise MalformedError("the channel binding isn't the GS2 header sent before")
        if nonce != state.nonce:
            raise MalformedError("the nonce isn't the one of this exchange")
        proof = from_base64(proof_text, "proof")
        if len(proof) != len(state.keys.stored_key):
            raise MalformedError("the proof hasn't the digest's size")
        signed = f"{state.signed},{without_proof}".encode()
        keys, digest = state.keys, SCRAM_DIGESTS[self.name]
        if not _scram_math.verify(keys.stored_key, proof, signed, digest):
            return FINISHED, Denied(f"wrong password for user {state.user!r}")
        final = b"v=" + to_base64(_scram_math.sign(keys.server_key, signed, digest)).encode()
        if self.success_data:
            return FINISHED, Verified(self.name, state.user, state.authzid, final)
        return _AwaitEnd(state.user, state.authzid), Challenge(final)
