"""Which front end a version has; each is imported when its first client comes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...versions import AMQP_0_10, AMQP_1_0, Version

if TYPE_CHECKING:
    from ..client import Client
    from ..hub import Hub
    from .frontend import Frontend


def front_for(hub: Hub, number: int, version: Version, connection: Any, client: Client) -> Frontend:
    """The front end for an engine's connection."""
    if version is AMQP_1_0:
        from .amqp_1_0 import OneZeroFrontend

        return OneZeroFrontend(hub, number, connection, client)
    if version is AMQP_0_10:
        from .amqp_0_10 import ZeroTenFrontend

        return ZeroTenFrontend(hub, number, connection, client)
    from .classic import ClassicFrontend

    return ClassicFrontend(hub, number, connection, client)
