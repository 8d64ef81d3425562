"""The releases of RabbitMQ that a broker can stand for, and what they refuse (`Settings.rabbitmq`).

The texts are RabbitMQ's; docs/broker.md says which of them are known only in part.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

OLDEST_LIMITED: Final = (4, 0)
"""The first release with a delivery limit on each quorum queue."""
FIRST_STRICT: Final = (4, 3)
"""The first release that permits no transient queues for several connections, and no global prefetch, by default."""
DELIVERY_LIMIT: Final = 20


class Release(NamedTuple):
    """What a release of RabbitMQ does by default.

    `transient_queues`: it takes queues that are neither durable nor exclusive. `global_qos`: basic.qos with global.
    `storage_arguments`: x-queue-mode and version 1 of x-queue-version. `delivery_limit` is that of a quorum queue
    without x-delivery-limit, None for any number.
    """

    name: str
    transient_queues: bool
    global_qos: bool
    storage_arguments: bool
    delivery_limit: int | None


def _release(name: str) -> Release:
    major, _, minor = name.partition(".")
    number = int(major), int(minor)
    is_old = number < FIRST_STRICT
    return Release(name, is_old, is_old, is_old, None if number < OLDEST_LIMITED else DELIVERY_LIMIT)


RELEASES: Final[Mapping[str, Release]] = {name: _release(name) for name in ("3.13", "4.0", "4.1", "4.2", "4.3")}
"""The releases, the oldest first."""


DEFAULT_RELEASE: Final = [*RELEASES][-1]
"""The release that a broker is without `Settings.rabbitmq`: the newest known, as `rabbitmq:latest` is."""


def deprecated(feature: str) -> str:
    """Return RabbitMQ's text about a feature that a release doesn't permit any more."""
    return (
        f"Feature `{feature}` is deprecated.\n"
        "By default, this feature is not permitted anymore.\n"
        "The feature will be removed from a future major RabbitMQ version, regardless of the configuration; actual "
        "version to be determined.\n"
        "To continue using this feature when it is not permitted by default, set the following parameter in your "
        f'configuration:\n    "deprecated_features.permit.{feature} = true"'
    )


def advice(release: str, what: str, instead: str) -> str:
    """Return what the broker's own side is told when a release refuses what an earlier one takes."""
    earlier = "let the broker be an earlier one (Settings.rabbitmq, --rabbitmq)"
    return f"RabbitMQ {release} refuses {what}: {instead}, or {earlier}"


__all__ = ["DEFAULT_RELEASE", "DELIVERY_LIMIT", "RELEASES", "Release", "advice", "deprecated"]
