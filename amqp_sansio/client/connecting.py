"""new_connection: a client of any version, and what its user sees of it, from a URL and options.

It knows the versions, which the other modules of this package don't.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ..uri import AmqpUri
from ..versions import AMQP_0_8, AMQP_0_10, AMQP_1_0, Version
from .connection import AnyConnection
from .driving import BaseClient
from .settings import Draw, random_name, wait_limits

if TYPE_CHECKING:
    from .classic.settings import ConfigOptions as ConfigOptions


def __getattr__(name: str) -> object:
    # Only who names it loads the version that has it.
    if name != "ConfigOptions":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from .classic.settings import ConfigOptions as found

    return found


def new_connection(
    version: Version, uri: AmqpUri, options: Mapping[str, Any], draw: Draw
) -> tuple[BaseClient[Any], AnyConnection[Any]]:
    """Return a client for one connection, to be attached to a driver, and its user's view of it.

    `options` are the version's `ConfigOptions`. Raises TypeError for an unknown option, UriError for an unknown
    parameter of the URL, ValueError for values that no connection can have.
    """
    # Programs load the engines of the versions that they use.
    given: Any = options
    if version is AMQP_1_0:
        from ..amqp_1_0 import Connection as Core_1_0
        from .amqp_1_0.cbs import Claims, cbs_of
        from .amqp_1_0.client import Client as Client_1_0
        from .amqp_1_0.connection import Connection as Connection_1_0
        from .amqp_1_0.settings import client_config as config_1_0

        newer = Client_1_0(Core_1_0.client(config_1_0(uri, given, draw)), random_name(draw))
        newer.hooks = given.get("hooks")
        newer.on_metrics = given.get("on_metrics")
        newer.answer_timeout, newer.outcome_timeout = wait_limits(options)
        cbs = cbs_of(given.get("cbs"))
        if cbs is not None:
            newer.claims = Claims(newer, cbs, given.get("hostname") or uri.host)
        return newer, Connection_1_0(newer, uri)
    if version is AMQP_0_10:
        from ..amqp_0_10 import Connection as Core_0_10
        from .amqp_0_10.client import Client as Client_0_10
        from .amqp_0_10.connection import Connection as Connection_0_10
        from .amqp_0_10.settings import client_config as config_0_10

        ten = Client_0_10(Core_0_10.client(config_0_10(uri, given, draw)))
        ten.hooks = given.get("hooks")
        ten.on_metrics = given.get("on_metrics")
        ten.answer_timeout, ten.outcome_timeout = wait_limits(options)
        return ten, Connection_0_10(ten, uri)
    from .classic.client import ClassicClient
    from .classic.connection import Connection
    from .classic.settings import client_config

    config = client_config(version, uri, given, draw)
    if version is AMQP_0_8:
        from ..amqp_0_8 import Connection as Core_0_8

        older = ClassicClient(Core_0_8.client(config))
    else:
        from ..amqp_0_9_1 import Connection as Core_0_9_1

        older = ClassicClient(Core_0_9_1.client(config))
    older.hooks = given.get("hooks")
    older.on_metrics = given.get("on_metrics")
    older.answer_timeout, older.outcome_timeout = wait_limits(options)
    return older, Connection(older, uri)


__all__ = ["ConfigOptions", "new_connection"]
