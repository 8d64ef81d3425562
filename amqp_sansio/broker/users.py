"""User: who may come in, with what proof, and into which virtual hosts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from .._core.record import record

if TYPE_CHECKING:
    from typing import ClassVar

ANONYMOUS_USER: Final = "anonymous"
"""The name under which clients go that came in by ANONYMOUS, or in 1.0 without SASL."""


@record
class User:
    """Somebody whom the broker knows.

    `password` "" is none: such a user comes in by EXTERNAL only, with a certificate in its name. `vhosts` are those it
    may open, None for all. `tags` are for people and for `properties` of tools; the broker gives no rights for them.

    >>> User("s3cret", vhosts=("/", "test"))
    User(vhosts=('/', 'test'), tags=())
    """

    password: str = ""
    vhosts: tuple[str, ...] | None = None
    tags: tuple[str, ...] = ()

    __record_hidden__: ClassVar[frozenset[str]] = frozenset({"password"})


__all__ = ["ANONYMOUS_USER", "User"]
