"""The checks of a configuration that every version makes."""

from __future__ import annotations

from .. import sasl
from .._checking import TYPE_CHECKING
from ..endpoint import Side
from ..errors import AmqpError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from ..endpoint import Role
    from .sasl_exchange import LoginConfig


def check_ranges(config: object, highest: Iterable[tuple[str, float]]) -> None:
    """Raise ValueError for a number that is below 0, or above the highest one of its field; None is none."""
    for name, most in highest:
        value = getattr(config, name)
        if value is not None and not 0 <= value <= most:
            raise ValueError(f"Config.{name} {value} is outside 0 to {most}")


def check_written(kind: Callable[..., object], *arguments: object, **named: object) -> None:
    """Raise ValueError for what can't be written, as making it of the arguments tells."""
    try:
        kind(*arguments, **named)
    except AmqpError as error:
        raise ValueError(f"Config: {error}") from error


def check_login(config: LoginConfig, role: Role, offered: Sequence[str], *, success_data: bool = False) -> None:
    """Raise ValueError for a server that offers no mechanism, or one that isn't known, and a client without one."""
    if role is Side.CLIENT:
        if not config.sasl:
            raise ValueError("Config.sasl is needed for a client, for instance Plain(user, password)")
        return
    if not offered:
        raise ValueError("Config.mechanisms is empty, a server offers at least one")
    for mechanism in offered:
        check_written(config.registry.server, mechanism, sasl.ServerTerms(config.nonce, success_data))
