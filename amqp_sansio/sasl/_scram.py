"""SCRAM-SHA-1 and SCRAM-SHA-256, both sides, without channel binding (RFC 5802, RFC 7677).

The arithmetic is in `_scram_math`, imported when an exchange needs it: `hashlib` alone
costs as much as this package.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._ground.record import record
from ._base import (
    FINISHED,
    Challenge,
    ClientMechanism,
    Denied,
    MalformedError,
    NeedScramKeys,
    SaslError,
    SaslState,
    ScramKeys,
    ServerStep,
    Verified,
    decode_text,
    encode_text,
    escape_name,
    split_gs2,
    unescape_name,
)

if TYPE_CHECKING:
    from typing import ClassVar, Self

SCRAM_DIGESTS = {"SCRAM-SHA-256": "sha256", "SCRAM-SHA-1": "sha1"}
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
    salted = _scram_math.salt_password(_prepared_password(password), salt, iterations, digest)
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
class _FirstSent(SaslState):
    """The client's first message was sent; `bare` is its part to be signed."""

    bare: str


@record
class _ProofSent(SaslState):
    """The client's proof was sent; `signature` is the server's expected answer."""

    signature: bytes

    __record_hidden__: ClassVar[frozenset[str]] = frozenset({"signature"})


@record
class ScramClient(ClientMechanism):
    """The client's half of SCRAM; `ScramSha1` and `ScramSha256` set the digest.

    `nonce` is visible ASCII but the comma, from at least 18 random octets, fresh for each connection; if empty it must
    be set by `with_nonce`. A server that asks for fewer than `min_iterations` would get an answer that is cheap to
    guess from; one that asks for more than `max_iterations` would keep this side, and all else on its event loop, busy
    (100,000 take some hundredths of a second, a million some tenths): both are refused. Raise `max_iterations` for a
    server that is known to ask for more.
    """

    user: str
    password: str
    nonce: str = ""
    authzid: str = ""
    min_iterations: int = 4096
    max_iterations: int = 100_000

    __record_hidden__: ClassVar[frozenset[str]] = frozenset({"password"})

    def with_nonce(self, nonce: str) -> Self:
        """Return the same mechanism with another nonce."""
        return self.__class__(self.user, self.password, nonce, self.authzid, self.min_iterations, self.max_iterations)

    def initial(self) -> tuple[SaslState, bytes]:
        """Return GS2 header, prepared user name and nonce (client-first-message)."""
        check_nonce(self.nonce, self.name)
        bare = f"n={escape_name(_prepared_user(self.user))},r={self.nonce}"
        return _FirstSent(bare), encode_text(self._header() + bare, "user or authorization name")

    def step(self, state: SaslState, challenge: bytes) -> tuple[SaslState, bytes]:
        """Prove the password to the server, then check the server's own proof."""
        try:
            text = decode_text(challenge, "message")
            if isinstance(state, _FirstSent):
                return self._prove(state, text)
            if isinstance(state, _ProofSent):
                _check_server(state, text)
                return FINISHED, b""
        except MalformedError as error:
            raise SaslError(f"the server broke off {self.name}: {error}") from None
        raise SaslError(f"the server sent another {self.name} challenge after the last")

    def complete(self, state: SaslState, additional: bytes = b"") -> None:
        """Succeed only after the server's proof, which may be in `additional`."""
        if isinstance(state, _ProofSent) and additional:
            self.step(state, additional)
        elif state != FINISHED:
            raise SaslError(
                f"the server reports success without having proven that it knows the "
                f"password ({self.name}); it may be an impostor"
            )

    def _header(self) -> str:
        return f"n,a={escape_name(self.authzid)}," if self.authzid else "n,,"

    def _prove(self, state: _FirstSent, text: str) -> tuple[SaslState, bytes]:
        from . import _scram_math

        _refuse_error(text)
        nonce, salt_text, count = _attributes(text, "r", "s", "i")
        if not nonce.startswith(self.nonce) or nonce == self.nonce or not _is_visible(nonce):
            raise MalformedError("its nonce isn't the client's with its own appended")
        salt = _from_base64(salt_text, "salt")
        if not salt:
            raise MalformedError("the salt is empty")
        if not (count.isascii() and count.isdigit()) or count.startswith("0"):
            raise MalformedError("the iteration count isn't a positive number")
        # Count the digits first: converting very many of them is itself an attack.
        iterations = int(count) if len(count) <= 12 else self.max_iterations + 1
        if not self.min_iterations <= iterations <= self.max_iterations:
            raise MalformedError(
                f"it asks for {count[:12]} iterations, but only {self.min_iterations} to "
                f"{self.max_iterations} are allowed (min_iterations, max_iterations)"
            )
        digest = SCRAM_DIGESTS[self.name]
        without_proof = f"c={_to_base64(self._header().encode())},r={nonce}"
        signed = f"{state.bare},{text},{without_proof}".encode()
        password = _prepared_password(self.password)
        salted = _scram_math.salt_password(password, salt, iterations, digest)
        proof, signature = _scram_math.prove(salted, signed, digest)
        return _ProofSent(signature), f"{without_proof},p={_to_base64(proof)}".encode()


@record
class ScramSha1(ScramClient):
    """SCRAM-SHA-1 (RFC 5802): the password never crosses the wire, and the server proves itself.

    >>> mechanism = ScramSha1("user", "pencil", nonce="fyko+d2lbbFgONRv9qkxdawL")
    >>> state, response = mechanism.initial()
    >>> state, response = mechanism.step(state, b"r=fyko+d2lbbFgONRv9qkxdawL3rfcNHYJY1ZVvWVs7j,"
    ...                                         b"s=QSXCR+Q6sek8bf92,i=4096")
    >>> response.split(b",")[2]
    b'p=v0X8v3Bz2T0CJGbJQyF0X+HI4Ts='
    >>> mechanism.complete(state)
    Traceback (most recent call last):
    amqp_sansio.sasl.SaslError: the server reports success without having proven that it \
knows the password (SCRAM-SHA-1); it may be an impostor
    >>> state, response = mechanism.step(state, b"v=rmF9pqV8S7suAoZWja4dJRkFsKQ=")
    >>> mechanism.complete(state)
    """

    name: ClassVar[str] = "SCRAM-SHA-1"
    strength: ClassVar[int] = 60


@record
class ScramSha256(ScramClient):
    """SCRAM-SHA-256 (RFC 7677); otherwise as `ScramSha1`.

    >>> ScramSha256("user", "pencil", nonce="rOprNGfwEbeRWgbNEkqO").initial()[1]
    b'n,,n=user,r=rOprNGfwEbeRWgbNEkqO'
    """

    name: ClassVar[str] = "SCRAM-SHA-256"
    strength: ClassVar[int] = 70


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
        first = f"r={nonce},s={_to_base64(keys.salt)},i={keys.iterations}"
        signed = f"{state.bare},{first}"
        waiting = _AwaitProof(state.header, signed, nonce, state.user, state.authzid, keys)
        return waiting, Challenge(first.encode())

    def _read_first(self, text: str) -> tuple[SaslState, ServerStep]:
        header, authzid, bare = split_gs2(text)
        name, nonce = _attributes(bare, "n", "r")
        user = unescape_name(name, "user name")
        try:
            user = _prepared_user(user)
        except SaslError as error:
            raise MalformedError(str(error)) from None
        if not _is_visible(nonce):
            raise MalformedError("the nonce isn't visible ASCII characters")
        waiting = _AwaitKeys(header, bare, nonce, user, authzid)
        return waiting, NeedScramKeys(self.name, user, authzid)

    def _read_proof(self, state: _AwaitProof, text: str) -> tuple[SaslState, ServerStep]:
        from . import _scram_math

        binding, nonce = _attributes(text, "c", "r")
        without_proof, separator, proof_text = text.rpartition(",p=")
        if not separator or "," in proof_text:
            raise MalformedError("the proof isn't the last attribute")
        if _from_base64(binding, "channel binding") != state.header.encode():
            raise MalformedError("the channel binding isn't the GS2 header sent before")
        if nonce != state.nonce:
            raise MalformedError("the nonce isn't the one of this exchange")
        proof = _from_base64(proof_text, "proof")
        if len(proof) != len(state.keys.stored_key):
            raise MalformedError("the proof hasn't the digest's size")
        signed = f"{state.signed},{without_proof}".encode()
        keys, digest = state.keys, SCRAM_DIGESTS[self.name]
        if not _scram_math.verify(keys.stored_key, proof, signed, digest):
            return FINISHED, Denied(f"wrong password for user {state.user!r}")
        final = b"v=" + _to_base64(_scram_math.sign(keys.server_key, signed, digest)).encode()
        if self.success_data:
            return FINISHED, Verified(self.name, state.user, state.authzid, final)
        return _AwaitEnd(state.user, state.authzid), Challenge(final)


def check_nonce(nonce: str, name: str) -> None:
    """Raise SaslError for an invalid nonce."""
    if not nonce:
        raise SaslError(
            f"{name} needs a nonce: visible ASCII, fresh for each connection, from the caller "
            f"(this library draws no random numbers)"
        )
    if not _is_visible(nonce):
        raise SaslError(f"the {name} nonce isn't visible ASCII characters without a comma")


def _is_visible(nonce: str) -> bool:
    printable = nonce.isascii() and nonce.isprintable() and " " not in nonce
    return bool(nonce) and printable and "," not in nonce


def _check_server(state: _ProofSent, text: str) -> None:
    from . import _scram_math

    _refuse_error(text)
    (signature,) = _attributes(text, "v")
    if not _scram_math.same(_from_base64(signature, "signature"), state.signature):
        raise MalformedError("its signature is wrong: it doesn't know the password")


def _refuse_error(text: str) -> None:
    if text.startswith("e="):
        raise MalformedError(f"it refuses ({text[2:].split(',')[0][:100]})")


def _attributes(text: str, *letters: str) -> list[str]:
    """Return the values of the attributes at the start of a message, in their fixed order (section 5.1)."""
    if text.startswith("m="):
        raise MalformedError("a mandatory extension is asked for, and none is known")
    parts = text.split(",")
    if [part[:2] for part in parts[: len(letters)]] != [f"{letter}=" for letter in letters]:
        wanted = ",".join([f"{letter}=..." for letter in letters])
        raise MalformedError(f"the message hasn't the form '{wanted}'")
    return [part[2:] for part in parts[: len(letters)]]


def _to_base64(octets: bytes) -> str:
    from . import _scram_math

    return _scram_math.to_base64(octets)


def _from_base64(text: str, what: str) -> bytes:
    from . import _scram_math

    try:
        return _scram_math.from_base64(text)
    except ValueError:
        raise MalformedError(f"the {what} isn't base64") from None


def _prepared_user(user: str) -> str:
    """Return the user name after SASLprep; unassigned code points are permitted (query string)."""
    prepared = _prepare(user, "user name", True)
    if not prepared:
        raise SaslError("the user name is empty")
    return prepared


def _prepared_password(password: str) -> bytes:
    """Return the password's octets after SASLprep (stored string)."""
    return _prepare(password, "password", False).encode()


def _prepare(text: str, what: str, unassigned: bool) -> str:
    if text.isascii() and text.isprintable():
        return text
    encode_text(text, what)
    from . import _saslprep

    try:
        return _saslprep.prepare(text, allow_unassigned=unassigned)
    except ValueError as error:
        raise SaslError(f"SASLprep (RFC 4013) forbids the {what}: {error}") from None
