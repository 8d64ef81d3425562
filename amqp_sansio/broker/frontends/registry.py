"""The front end of each version; imported when its first client connects."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...versions import AMQP_0_10, AMQP_1_0, Version

if TYPE_CHECKING:
    from .frontend import ClientContext, Frontend, HubContext


def front_for(hub: HubContext, number: int, version: Version, connection: Any, client: ClientContext) -> Frontend:
    """Create the front end for an engine's connection."""
    if version is AMQP_1_0:
        from .amqp_1_0 import Frontend_1_0

        return Frontend_1_0(hub, number, connection, client)
    if version is AMQP_0_10:
        from .amqp_0_10 import Frontend_0_10

        return Frontend_0_10(hub, number, connection, client)
    from .classic import ClassicFrontend

    return ClassicFrontend(hub, number, connection, client)
