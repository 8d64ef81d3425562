"""`amqp-sansio azure`: Azure Service Bus or Event Hubs on a port, with the entities of their emulators' files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from amqp_sansio_azure import AccessRule, AzureNamespace, settings_for
from amqp_sansio_azure.eventhubs import EventHubsNamespace
from amqp_sansio_azure.eventhubs import load_config as load_event_hubs
from amqp_sansio_azure.eventhubs.config import is_of_event_hubs
from amqp_sansio_azure.servicebus import ServiceBusNamespace
from amqp_sansio_azure.servicebus.config import ConfigError, load_config

from .broker import serve_settings
from .errors import CommandError

_EMULATOR: Final = "RootManageSharedAccessKey", "SAS_KEY_VALUE"


def azure_command(
    listen: Sequence[str],
    *,
    config: Path | None,
    keys: Sequence[str] = (),
    record: Path | None = None,
    record_secrets: bool = False,
    page: str | None = None,
    administration: str | None = None,
    origins: Sequence[str] = (),
    ready_file: Path | None = None,
    tls: tuple[Path | None, Path | None, Path | None] = (None, None, None),
    allow_remote: bool = False,
) -> int:
    """Serve until it is told to stop; return the exit status. Raises CommandError.

    `keys` are access rules, as NAME:KEY; with some, tokens are held against them.
    """
    rules = [_rule(each) for each in keys]
    try:
        namespace, count = _served(config, rules)
    except ConfigError as error:
        raise CommandError(f"--config {config}: {error}") from None
    if administration is not None and not isinstance(namespace, ServiceBusNamespace):
        raise CommandError("--administration is Service Bus's, and --config is a file of Event Hubs")
    rule = "NAME" if rules else _EMULATOR[0]
    key = "KEY" if rules else _EMULATOR[1]
    serve_settings(
        settings_for(namespace),
        listen,
        record=record,
        record_secrets=record_secrets,
        page=page,
        administration=administration,
        origins=origins,
        ready_file=ready_file,
        tls=tls,
        allow_remote=allow_remote,
        namespace=namespace,
        hint=f"{count} entities; Endpoint=sb://127.0.0.1:PORT;SharedAccessKeyName={rule};SharedAccessKey={key};"
        "UseDevelopmentEmulator=true;",
    )
    return 0


def _served(config: Path | None, rules: Sequence[AccessRule]) -> tuple[AzureNamespace, int]:
    """Return the service that a configuration is for, and how many entities it has. Raises ConfigError."""
    known = rules or (AccessRule(*_EMULATOR),)
    if config is not None and is_of_event_hubs(config):
        hubs = EventHubsNamespace(rules=known, checks_tokens=bool(rules))
        load_event_hubs(hubs, config)
        return hubs, len(hubs.hubs)
    bus = ServiceBusNamespace(rules=known, checks_tokens=bool(rules))
    if config is not None:
        load_config(bus, config)
    return bus, len(bus.queues) + len(bus.topics)


def _rule(text: str) -> AccessRule:
    name, colon, key = text.partition(":")
    if not name or not colon or not key:
        raise CommandError("--key: expected NAME:KEY")
    return AccessRule(name, key)
