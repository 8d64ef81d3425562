"""Rule ids: what the rules of this engine are called in each version, where 0-8 and 0-9-1 name them differently."""

from __future__ import annotations

from ..._checking import TYPE_CHECKING
from ...versions import AMQP_0_8, Version

if TYPE_CHECKING:
    from typing import Final

IN_0_8: Final = {
    "basic.consume/tag-channel-scope": "domain/consumer-tag.channel-scope",
    "queue.unbind/no-current-queue": "queue.declare/current-queue",
    "channel/closed-when": "channel/grammar",
    "connection.start/client-support": "connection.start/client-cannot-do-version",
    "connection.start/server-support": "connection.start/version<=requested",
    "connection.tune-ok/channel-max-limit": "connection.tune-ok/channel-max<=tune",
    "connection.tune-ok/channel-max-le": "connection.tune-ok/channel-max<=tune",
    "connection.tune-ok/frame-max-limit": "connection.tune-ok/lower",
    "connection.tune-ok/frame-min": "connection.tune-ok/accept-4096",
    "connection.tune/channel-max-highest": "connection/limits-exceeded",
    "connection.tune/frame-min": "connection.tune/accept-4096",
    "connection/life-cycle": "connection/grammar",
    "connection/pre-open-error": "connection/grammar",
    "method/sync-reply": "method/sync-wait",
    "tx.commit/not-transacted": "tx.select/required",
    "tx.rollback/not-transacted": "tx.select/required",
    "wire/channel-zero": "wire/channel-range",
    "wire/heartbeat-timeout": "wire/heartbeat-no-timing",
}
"""Names of the engine that aren't names of 0-8: what they stand for there."""
IN_0_9_1: Final = {
    "basic.consume/no-current-queue": "queue.declare/current-queue",
    "basic.get/no-current-queue": "queue.declare/current-queue",
    "domain/consumer-tag.channel-scope": "basic.consume/tag-channel-scope",
    "wire/trace-channel": "wire/frame-type-unknown",
}
"""Names of the engine that aren't names of 0-9-1: what they stand for there."""


def rule_id(version: Version, rule: str) -> str:
    """The full id of `rule` in a version. RabbitMQ's extensions are numbered with 0-9-1 only."""
    if rule.startswith("rabbitmq/"):
        return f"0-9-1/{rule}"
    names = IN_0_8 if version is AMQP_0_8 else IN_0_9_1
    return f"{version.label}/{names.get(rule, rule)}"
