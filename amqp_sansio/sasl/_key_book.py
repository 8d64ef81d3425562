"""ScramKeyBook: a server's SCRAM keys, derived from passwords as logins need them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ._scram_server import decoy_scram_keys, scram_keys

if TYPE_CHECKING:
    from ._steps import ScramKeys

_MOST: Final = 1024


class ScramKeyBook:
    """Keys for users, known or not, whose derivation doesn't tell by its time who is known.

    The keys of a user take `iterations` hashes when they are asked for first, a millisecond or so, and none while they
    are kept. Unknown users have keys too, which no password proves: they take the same, are kept the same, and are
    forgotten the same when there are more than `most`. `secret` is the server's own: at least 16 octets that never
    change.

    >>> book = ScramKeyBook(b"0123456789abcdef")
    >>> book.keys("user", "pencil") == scram_keys("pencil", book.keys("user", "pencil").salt)
    True
    >>> book.keys("nobody", None).iterations
    4096
    """

    __slots__ = ("_iterations", "_kept", "_most", "_secret")

    def __init__(self, secret: bytes, iterations: int = 4096, most: int = _MOST) -> None:
        self._secret = secret
        self._iterations = iterations
        self._most = most
        self._kept: dict[tuple[bytes, str, str | None], ScramKeys] = {}
        """By salt, so that a long name takes no more than another; the one used last is at the end."""

    def keys(self, user: str, password: str | None, digest: str = "sha256") -> ScramKeys:
        """Return the keys of a user; None as the password: there is no such user, or it may not log in so.

        Raises SaslError as `scram_keys` does.
        """
        decoy = decoy_scram_keys(user, self._secret, self._iterations)
        at = decoy.salt, digest, password
        keys = self._kept.pop(at, None)
        if keys is None:
            secret = decoy.stored_key.hex() if password is None else password
            keys = scram_keys(secret, decoy.salt, self._iterations, digest)
            if len(self._kept) >= self._most:
                del self._kept[next(iter(self._kept))]
        self._kept[at] = keys
        return keys

    def __len__(self) -> int:
        return len(self._kept)


__all__ = ["ScramKeyBook"]
