"""EventHubs: an embedded broker that is a namespace of Azure Event Hubs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeVar

from amqp_sansio.amqp_1_0 import Message
from amqp_sansio_azure.eventhubs import EventHub, EventHubsNamespace, Partition, Retention, load_config
from amqp_sansio_azure.eventhubs.events import arrivals_of

from .azure import Azure

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Mapping

_T = TypeVar("_T")


class EventHubs(Azure):
    """Event Hubs for a test: hubs are made with it or from a file.

    `config` is a configuration file of Microsoft's emulator, or what one contains. With `checks_tokens` in the
    namespace shared access signatures are held against its rules, otherwise any token is taken. Further arguments are
    those of `EmbeddedBroker`.

    >>> with EventHubs() as event_hubs:
    ...     event_hubs.hub("clicks", partitions=2).partition_ids
    ['0', '1']
    """

    def __init__(
        self,
        *,
        config: str | os.PathLike[str] | Mapping[str, Any] | None = None,
        namespace: EventHubsNamespace | None = None,
        **arguments: Any,
    ) -> None:
        self.namespace: Final = EventHubsNamespace() if namespace is None else namespace
        """Its hubs, which belong to the broker's thread while it runs: see `call`."""
        super().__init__(self.namespace, **arguments)
        if config is not None:
            load_config(self.namespace, config)

    def hub(self, name: str, **options: Any) -> HubView:
        """Return an event hub, made with these options if it isn't there: `partitions`, `consumer_groups`, `retention`.

        Without `partitions` a hub has one. Raises ValueError for options of a hub that is there, and for bad ones.
        """

        def find() -> None:
            if self.namespace.hub_named(name) is None:
                self.namespace.add_hub(name, **options)
            elif options:
                raise ValueError(f"event hub {name!r} is there already")

        self.do(find)
        return HubView(self, name)

    def delete(self, name: str) -> None:
        """Delete an event hub; links to it are detached. Raises LookupError if it isn't there."""
        self.do(lambda: self.namespace.remove_hub(name))

    def do(self, function: Callable[[], _T]) -> _T:
        """Call a function where the namespace belongs to: in the broker's thread, if that runs."""
        return self.call(function) if self.broker.is_running else function()


class HubView:
    """An event hub, as a test sees it."""

    def __init__(self, event_hubs: EventHubs, name: str) -> None:
        self._event_hubs = event_hubs
        self.name = name
        """Its name."""

    @property
    def connection_string(self) -> str:
        """The connection string of its namespace, with the hub as its entity path."""
        return f"{self._event_hubs.connection_string}EntityPath={self.name};"

    @property
    def partition_ids(self) -> list[str]:
        """The ids of its partitions."""
        return self._look(lambda hub: [each.id for each in hub.partitions])

    @property
    def count(self) -> int:
        """Events that it keeps."""
        return self._look(lambda hub: sum([len(each) for each in hub.partitions]))

    @property
    def receivers(self) -> int:
        """Links that receive from it."""
        return self._look(
            lambda hub: sum([len(group.readers(each)) for group in hub.groups.values() for each in hub.partitions])
        )

    def events(self, partition_id: str | None = None) -> list[Message]:
        """Return the events of a partition, or of all, one partition after the other, as receivers get them."""

        def read(hub: EventHub) -> list[Message]:
            wanted = hub.partitions if partition_id is None else (_partition(hub, partition_id),)
            found: list[Message] = []
            for each in wanted:
                at = each.first_sequence
                while (event := each.at(at)) is not None:
                    found.append(event.message)
                    at = event.sequence + 1
            return found

        return self._look(read)

    def send(self, *bodies: Any, partition_id: str | None = None, partition_key: str = "") -> None:
        """Put events into it: bodies, or `amqp_sansio.amqp_1_0.Message`s. Raises LookupError for a partition that
        isn't there, RuntimeError before the broker runs: an event has a time."""
        namespace = self._event_hubs.namespace

        def publish(hub: EventHub) -> None:
            _ = namespace.hub
            for body in bodies:
                message = body if isinstance(body, Message) else Message(body)
                (arrival,) = arrivals_of(message.encode(), 0)
                arrival.key = partition_key or arrival.key
                where = hub.choose(arrival.key) if partition_id is None else _partition(hub, partition_id)
                for reader in hub.publish([arrival], namespace.milliseconds, where):
                    reader.link.go_on()
            namespace.grown(hub)

        self._look(publish)

    def add_consumer_group(self, name: str) -> None:
        """Add a consumer group, unless there is one of that name."""
        self._look(lambda hub: hub.add_consumer_group(name))

    def _look(self, function: Callable[[EventHub], _T]) -> _T:
        event_hubs = self._event_hubs

        def look() -> _T:
            found = event_hubs.namespace.hub_named(self.name)
            if found is None:
                raise LookupError(f"there is no event hub {self.name!r}")
            found.trim(event_hubs.namespace.milliseconds)
            return function(found)

        return event_hubs.do(look)

    def __repr__(self) -> str:
        return f"<HubView {self.name}>"


def _partition(hub: EventHub, id: str) -> Partition:
    found = hub.partition(id)
    if found is None:
        raise LookupError(f"event hub {hub.name!r} has no partition {id!r}")
    return found


__all__ = ["EventHubs", "HubView", "Retention"]
