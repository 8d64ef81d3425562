"""Event Hubs at a hub with real clients of 1.0, joined in memory, in virtual time."""

from __future__ import annotations

from typing import Any

from amqp_sansio import amqp_1_0 as amqp
from amqp_sansio_azure.eventhubs import EventHub, EventHubsNamespace
from amqp_sansio_azure.eventhubs.events import BATCH
from amqp_sansio_azure.eventhubs.nodes import EPOCH, METRICS, RECEIVER_NAME
from tests.kit.azure import AzureWorld, Pair, User

SELECTOR = amqp.Symbol("apache.org:selector-filter:string")


class HubsWorld(AzureWorld):
    """A hub that is Event Hubs."""

    def __init__(self, namespace: EventHubsNamespace | None = None, **settings: Any) -> None:
        self.hubs = EventHubsNamespace() if namespace is None else namespace
        super().__init__(self.hubs, **settings)

    def event_hub(self, name: str = "clicks", partitions: int = 2, **options: Any) -> EventHub:
        """Make an event hub."""
        return self.hubs.add_hub(name, partitions, **options)

    def client(self, **changes: Any) -> User:
        """A client with a token for everything."""
        return self.connect("sb://host", **changes)


def source(path: str, selector: Any = None, *, descriptor: Any = SELECTOR) -> amqp.Source:
    """The source of a receiver, with an expression as its filter."""
    filters: dict[Any, Any] = {} if selector is None else {SELECTOR: amqp.Described(descriptor, selector)}
    return amqp.Source(path, filter=filters)


def asking(
    user: User,
    path: str = "clicks/ConsumerGroups/$Default/Partitions/0",
    selector: Any = None,
    *,
    epoch: Any = None,
    metrics: bool = False,
    name: str = "",
) -> amqp.Receiver:
    """A receiver whose attach isn't answered yet."""
    properties: dict[Any, Any] = {}
    if epoch is not None:
        properties[EPOCH] = epoch
    if name:
        properties[RECEIVER_NAME] = name
    return user.session().open_receiver(
        source(path, selector), properties=properties, desired_capabilities=(METRICS,) if metrics else ()
    )


def reading(user: User, *args: Any, credit: int = 100, **options: Any) -> amqp.Receiver:
    """A receiver with credit."""
    link = asking(user, *args, **options)
    user.world.pump()
    assert link.is_open, user.failures()
    return user.crediting(link, credit)


def batch(*bodies: Any, key: str = "", keys: tuple[str, ...] = ()) -> amqp.Message:
    """The envelope of a batch, with a key of its own or keys of its events."""
    each = [
        (body if isinstance(body, amqp.Message) else event(body, keys[number] if keys else "")).encode()
        for number, body in enumerate(bodies)
    ]
    annotations: dict[Any, Any] = {amqp.Symbol("x-opt-partition-key"): key} if key else {}
    return amqp.Message(amqp.Data(*each), message_annotations=annotations)


def event(body: Any, key: str = "", **annotations: Any) -> amqp.Message:
    """An event with a partition key and other annotations."""
    found: dict[Any, Any] = {amqp.Symbol(name.replace("_", "-")): value for name, value in annotations.items()}
    if key:
        found[amqp.Symbol("x-opt-partition-key")] = key
    return amqp.Message(body, message_annotations=found)


def bodies(hub: EventHub) -> list[list[Any]]:
    """The bodies of each partition's events."""
    found: list[list[Any]] = []
    for each in hub.partitions:
        at = each.first_sequence
        here: list[Any] = []
        while (one := each.at(at)) is not None:
            here.append(one.message.body)
            at = one.sequence + 1
        found.append(here)
    return found


def read(user: User, kind: str, hub: str = "clicks", **properties: Any) -> tuple[int, Any, str]:
    """Ask `$management`; return the status, the body, and the condition."""
    pair = Pair(user, "$management")
    reply = pair.ask("READ", name=hub, type=f"com.microsoft:{kind}", **properties)
    pair.sender.session.close()
    told: Any = reply.application_properties
    return int(told["status-code"]), reply.body, str(told.get("errorCondition", ""))


__all__ = ["BATCH", "EPOCH", "HubsWorld", "asking", "batch", "bodies", "event", "read", "reading", "source"]
