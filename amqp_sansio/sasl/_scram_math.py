"""The hashing of SCRAM (RFC 5802 section 3); imported when an exchange needs it."""

from __future__ import annotations

import hmac
from binascii import a2b_base64, b2a_base64
from hashlib import new as new_hash
from hashlib import pbkdf2_hmac


def salt_password(password: bytes, salt: bytes, iterations: int, digest: str) -> bytes:
    """Return SaltedPassword: the prepared password, hashed `iterations` times."""
    return pbkdf2_hmac(digest, password, salt, iterations)


def derive_keys(salted: bytes, digest: str) -> tuple[bytes, bytes]:
    """Return StoredKey and ServerKey."""
    client_key = hmac.digest(salted, b"Client Key", digest)
    return _hash(client_key, digest), hmac.digest(salted, b"Server Key", digest)


def prove(salted: bytes, signed: bytes, digest: str) -> tuple[bytes, bytes]:
    """Return the client's proof, and the server's signature to expect for it."""
    client_key = hmac.digest(salted, b"Client Key", digest)
    stored_key, server_key = derive_keys(salted, digest)
    proof = _xor(client_key, hmac.digest(stored_key, signed, digest))
    return proof, hmac.digest(server_key, signed, digest)


def verify(stored_key: bytes, proof: bytes, signed: bytes, digest: str) -> bool:
    """Whether the proof matches the password of `stored_key`; takes constant time."""
    client_key = _xor(proof, hmac.digest(stored_key, signed, digest))
    return hmac.compare_digest(_hash(client_key, digest), stored_key)


def sign(server_key: bytes, signed: bytes, digest: str) -> bytes:
    """Return the server's signature."""
    return hmac.digest(server_key, signed, digest)


def same(one: bytes, other: bytes) -> bool:
    """Whether two signatures are equal; takes constant time."""
    return hmac.compare_digest(one, other)


def decoy(user: bytes, secret: bytes, digest: str) -> tuple[bytes, bytes, bytes]:
    """Return a salt and two keys that only the holder of `secret` can tell from real ones."""
    salt, stored, server = [hmac.digest(secret, label + user, digest) for label in (b"salt:", b"stored:", b"server:")]
    return salt, stored, server


def to_base64(octets: bytes) -> str:
    """Return Base64 with padding and without line breaks (RFC 4648 section 4)."""
    return b2a_base64(octets, newline=False).decode("ascii")


def from_base64(text: str) -> bytes:
    """Decode such a text; ValueError if it contains anything else."""
    return a2b_base64(text, strict_mode=True)


def _hash(octets: bytes, digest: str) -> bytes:
    return new_hash(digest, octets).digest()


def _xor(one: bytes, other: bytes) -> bytes:
    size = len(one)
    return (int.from_bytes(one, "big") ^ int.from_bytes(other, "big")).to_bytes(size, "big")
