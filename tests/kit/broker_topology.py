"""A model with exchanges, queues and bindings, and contents of every version, for tests of where messages go."""

from collections.abc import Mapping
from typing import Any

from amqp_sansio import amqp_0_9_1, amqp_0_10, amqp_1_0
from amqp_sansio._classic.codec.table import RABBIT
from amqp_sansio.amqp_0_10.codec.message_fields import Headers
from amqp_sansio.amqp_0_10.codec.record import encode_headers
from amqp_sansio.broker.contents.amqp_0_10 import Content_0_10
from amqp_sansio.broker.contents.amqp_1_0 import Content_1_0
from amqp_sansio.broker.contents.classic import ClassicContent
from amqp_sansio.broker.model import commands
from amqp_sansio.broker.model.broker import Broker
from amqp_sansio.broker.model.content import Content
from amqp_sansio.broker.model.exchange import Exchange
from amqp_sansio.broker.model.owner import Owner
from amqp_sansio.broker.model.queue import Queue
from amqp_sansio.versions import AMQP_0_9_1

NO_ARGUMENTS: Mapping[str, Any] = {}


class Topology:
    """A broker with one owner in its virtual host."""

    def __init__(self) -> None:
        self.broker = Broker()
        owner: Owner = self.apply(commands.OpenOwner())
        self.owner = owner
        self.vhost = owner.vhost

    def apply(self, command: commands.Command) -> Any:
        return self.broker.apply(command, 0.0)

    def exchange(self, name: str, type: str = "direct", **options: Any) -> Exchange:
        """An exchange, declared."""
        made: Exchange = self.apply(commands.DeclareExchange(self.owner, name, type, **options))
        return made

    def queue(self, name: str, **options: Any) -> Queue:
        made: Queue = self.apply(commands.DeclareQueue(self.owner, name, **options))
        return made

    def bind(
        self,
        queue: str,
        exchange: str,
        key: str = "",
        arguments: Mapping[str, Any] = NO_ARGUMENTS,
        *,
        by_arguments: bool = True,
    ) -> bool:
        """Bind a queue, which is declared if it isn't there; whether the binding is new."""
        if queue not in self.vhost.queues:
            self.queue(queue)
        return bool(self.apply(commands.Bind(self.owner, queue, exchange, key, arguments, by_arguments)))

    def unbind(
        self,
        queue: str,
        exchange: str,
        key: str = "",
        arguments: Mapping[str, Any] = NO_ARGUMENTS,
        *,
        by_arguments: bool = True,
    ) -> None:
        """Undo `bind`."""
        self.apply(commands.Unbind(self.owner, queue, exchange, key, arguments, by_arguments))

    def bind_exchange(self, destination: str, source: str, key: str = "") -> bool:
        return bool(self.apply(commands.BindExchange(self.owner, destination, source, key)))

    def route(
        self, exchange: str, key: str = "", headers: Mapping[str, Any] = NO_ARGUMENTS, **options: bool
    ) -> list[str]:
        """The names of the queues that a message goes to."""
        source = self.vhost.exchanges[exchange]
        return [queue.name for queue in self.vhost.route(source, key, classic(headers), **options)]


def classic(headers: Mapping[str, Any] = NO_ARGUMENTS) -> Content:
    """A message of 0-9-1 with these headers."""
    properties = amqp_0_9_1.BasicProperties(headers=amqp_0_9_1.Table(dict(headers)))
    return ClassicContent(AMQP_0_9_1, properties.encode(RABBIT), RABBIT, b"")


def headers_0_10(headers: Mapping[str, Any]) -> Content:
    """A message of 0-10 with these application headers."""
    properties = amqp_0_10.MessageProperties(application_headers=amqp_0_10.Map(dict(headers)))
    return Content_0_10(Headers(encode_headers((properties,))), b"")


def headers_1_0(headers: Mapping[str, Any]) -> Content:
    """A message of 1.0 with these application properties."""
    message = amqp_1_0.Message(b"", application_properties=dict(headers))
    return Content_1_0(message.encode())
