"""Namespaces of Azure at a hub with real clients of 1.0, joined in memory, in virtual time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from amqp_sansio import amqp_1_0 as amqp
from amqp_sansio.amqp_1_0 import spec
from amqp_sansio.sasl import Anonymous
from amqp_sansio_azure import AzureNamespace, settings_for
from amqp_sansio_azure.servicebus import Options, Queue, ServiceBusNamespace
from tests.kit import hub
from tests.kit.hub_1_0 import User as PlainUser

EPOCH: Final = 1_700_000_000.0
"""The Unix time at which the world begins."""
MANAGEMENT: Final = "com.microsoft:"


class Pair:
    """A request-response pair of links, by which a client asks a node."""

    def __init__(self, user: User, node: str, **options: Any) -> None:
        session = user.session()
        self.user = user
        self.node = node
        self.sender = user.sender(amqp.Target(node), session)
        self.receiver = user.receiver(amqp.Source(node), session, target=amqp.Target(node), **options)
        self.receiver.flow(5000)

    def ask(
        self, operation: str, body: Any = None, message_id: Any = "1", *, state: Any = None, **properties: Any
    ) -> amqp.Message:
        """Send a request, in the transaction of `state`; return the reply."""
        told = {"operation": operation, **properties}
        names = amqp.Properties(message_id=message_id, reply_to=self.node)
        message = amqp.Message(amqp.AmqpValue(body), properties=names, application_properties=told)
        pending = self.sender.send(message, state=state)
        (reply,) = self.user.take(self.receiver)
        outcome: Any = pending.result
        assert isinstance(outcome if state is None else outcome.outcome, amqp.Accepted), outcome
        if not reply.settled:
            self.receiver.accept(reply)
        assert reply.message.properties is not None
        assert reply.message.properties.correlation_id == message_id
        return reply.message


class User(PlainUser):
    """A client of an Azure service."""

    def put_token(self, audience: str, token: str = "any", **properties: Any) -> amqp.Message:
        """Put a token; return the reply."""
        pair = Pair(self, "$cbs")
        return pair.ask("put-token", token, type="servicebus.windows.net:sastoken", name=audience, **properties)

    def manage(self, entity: str, operation: str, body: Any = None, **properties: Any) -> tuple[int, Any, str]:
        """Ask an entity's management; return the status, the body, and the condition."""
        pair = Pair(self, f"{entity}/$management")
        name = operation if ":" in operation else MANAGEMENT + operation
        reply = pair.ask(name, body, **{"com.microsoft:server-timeout": spec.UInt(60_000), **properties})
        pair.sender.session.close()
        told: Mapping[str, Any] = reply.application_properties
        return int(told["statusCode"]), reply.body, str(told.get("errorCondition", ""))

    def locking(self, entity: str, credit: int = 10, **options: Any) -> amqp.Receiver:
        """A receiver that settles after the service, as the SDKs' receivers do."""
        return self.crediting(self.receiver(entity, snd_settle_mode=0, rcv_settle_mode=1, **options), credit)

    def deleting(self, entity: str, credit: int = 10, **options: Any) -> amqp.Receiver:
        """A receiver whose messages are gone as they are sent."""
        return self.crediting(self.receiver(entity, snd_settle_mode=1, rcv_settle_mode=0, **options), credit)

    def crediting(self, link: amqp.Receiver, credit: int) -> amqp.Receiver:
        if credit:
            link.flow(credit)
        self.world.pump()
        return link

    def settle(self, link: amqp.Receiver, delivery: amqp.Delivery, outcome: amqp.DeliveryState) -> Any:
        """Tell an outcome, and return the one that the service settled the delivery with."""
        (pending,) = link.update([delivery], outcome)
        self.world.pump()
        assert pending.done
        return pending.result


class AzureWorld(hub.World[User]):
    """A hub with a namespace."""

    def __init__(self, namespace: AzureNamespace, **settings: Any) -> None:
        super().__init__(settings_for(namespace, epoch=EPOCH, seed=b"azure", **settings), namespace)

    def user(self, **changes: Any) -> User:
        """A client that isn't pumped yet."""
        login = changes.pop("sasl", Anonymous())
        values: dict[str, Any] = {"container_id": f"c{len(self.users)}", "sasl": login, **changes}
        return User(self, amqp.Config(**values))

    def connect(self, *audiences: str, **changes: Any) -> User:
        """A client with tokens for some entities."""
        user = self.user(**changes)
        self.pump()
        assert user.end.is_open, user.events
        for each in audiences:
            user.put_token(each)
        return user


class BusWorld(AzureWorld):
    """A hub that is Service Bus."""

    def __init__(self, namespace: ServiceBusNamespace | None = None, **settings: Any) -> None:
        self.bus = ServiceBusNamespace() if namespace is None else namespace
        super().__init__(self.bus, **settings)

    def queue(self, name: str = "orders", **options: Any) -> Queue:
        """Make a queue."""
        return self.bus.add_queue(name, Options(**options))

    def client(self, **changes: Any) -> User:
        """A client with a token for everything."""
        return self.connect("sb://host", **changes)


def message(body: Any = b"hello", **properties: Any) -> amqp.Message:
    """A message with properties; `annotations` and `application_properties` are sections."""
    annotations = properties.pop("annotations", None)
    application = properties.pop("application_properties", None)
    header = properties.pop("header", None)
    names = amqp.Properties(**properties) if properties else None
    return amqp.Message(
        body, properties=names, header=header, message_annotations=annotations, application_properties=application
    )
