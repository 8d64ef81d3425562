"""User: a user's password and virtual hosts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from .._ground.record import record

if TYPE_CHECKING:
    from typing import ClassVar

ANONYMOUS_USER: Final = "anonymous"
"""The user name of clients that logged in by ANONYMOUS, or in 1.0 without SASL."""


@record
class User:
    """A user of the broker.

    `password` "" is none: such a user logs in only by EXTERNAL, with a certificate in its name. `vhosts` are those it
    may open, None for all. `tags` give rights in the management API only (docs/management.md): "administrator",
    "monitoring", "policymaker", "management"; without any a user may do everything there.

    >>> User("s3cret", vhosts=("/", "test"))
    User(vhosts=('/', 'test'), tags=())
    """

    password: str = ""
    vhosts: tuple[str, ...] | None = None
    tags: tuple[str, ...] = ()

    __record_hidden__: ClassVar[frozenset[str]] = frozenset({"password"})


__all__ = ["ANONYMOUS_USER", "User"]
