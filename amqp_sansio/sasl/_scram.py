"""The client's SCRAM-SHA-1 and SCRAM-SHA-256, without channel binding (RFC 5802, RFC 7677), and what a server's share.

The arithmetic is in `_scram_math`, imported when an exchange needs it: `hashlib` alone
costs as much as this package.
"""

from __future__ import annotations

from .._checking import TYPE_CHECKING
from .._ground.record import record
from ._base import (
    FINISHED,
    SCRAM_DIGESTS,
    ClientMechanism,
    MalformedError,
    SaslError,
    SaslState,
    decode_text,
    encode_text,
    escape_name,
)

if TYPE_CHECKING:
    from typing import ClassVar, Self


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
        bare = f"n={escape_name(prepared_user(self.user))},r={self.nonce}"
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
        nonce, salt_text, count = attributes(text, "r", "s", "i")
        if not nonce.startswith(self.nonce) or nonce == self.nonce or not is_visible(nonce):
            raise MalformedError("its nonce isn't the client's with its own appended")
        salt = from_base64(salt_text, "salt")
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
        without_proof = f"c={to_base64(self._header().encode())},r={nonce}"
        signed = f"{state.bare},{text},{without_proof}".encode()
        password = prepared_password(self.password)
        salted = _scram_math.salt_password(password, salt, iterations, digest)
        proof, signature = _scram_math.prove(salted, signed, digest)
        return _ProofSent(signature), f"{without_proof},p={to_base64(proof)}".encode()


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


def check_nonce(nonce: str, name: str) -> None:
    """Raise SaslError for an invalid nonce."""
    if not nonce:
        raise SaslError(
            f"{name} needs a nonce: visible ASCII, fresh for each connection, from the caller "
            f"(this library draws no random numbers)"
        )
    if not is_visible(nonce):
        raise SaslError(f"the {name} nonce isn't visible ASCII characters without a comma")


def is_visible(nonce: str) -> bool:
    printable = nonce.isascii() and nonce.isprintable() and " " not in nonce
    return bool(nonce) and printable and "," not in nonce


def _check_server(state: _ProofSent, text: str) -> None:
    from . import _scram_math

    _refuse_error(text)
    (signature,) = attributes(text, "v")
    if not _scram_math.same(from_base64(signature, "signature"), state.signature):
        raise MalformedError("its signature is wrong: it doesn't know the password")


def _refuse_error(text: str) -> None:
    if text.startswith("e="):
        raise MalformedError(f"it refuses ({text[2:].split(',')[0][:100]})")


def attributes(text: str, *letters: str) -> list[str]:
    """Return the values of the attributes at the start of a message, in their fixed order (section 5.1)."""
    if text.startswith("m="):
        raise MalformedError("a mandatory extension is asked for, and none is known")
    parts = text.split(",")
    if [part[:2] for part in parts[: len(letters)]] != [f"{letter}=" for letter in letters]:
        wanted = ",".join([f"{letter}=..." for letter in letters])
        raise MalformedError(f"the message hasn't the form '{wanted}'")
    return [part[2:] for part in parts[: len(letters)]]


def to_base64(octets: bytes) -> str:
    from . import _scram_math

    return _scram_math.to_base64(octets)


def from_base64(text: str, what: str) -> bytes:
    from . import _scram_math

    try:
        return _scram_math.from_base64(text)
    except ValueError:
        raise MalformedError(f"the {what} isn't base64") from None


def prepared_user(user: str) -> str:
    """Return the user name after SASLprep; unassigned code points are permitted (query string)."""
    prepared = _prepare(user, "user name", True)
    if not prepared:
        raise SaslError("the user name is empty")
    return prepared


def prepared_password(password: str) -> bytes:
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
