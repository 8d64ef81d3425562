"""A broker's model in the hands of a test: one connection's owner, short calls, and what was delivered."""

from typing import Any

from amqp_sansio._classic.codec.dialect import default_dialect
from amqp_sansio.amqp_0_9_1 import BasicProperties
from amqp_sansio.broker import Broker, BrokerLimits
from amqp_sansio.broker.contents.classic import ClassicContent
from amqp_sansio.broker.model import commands
from amqp_sansio.broker.model.commands import Command, Outcome, Published
from amqp_sansio.broker.model.consumer import Consumer, Window
from amqp_sansio.broker.model.effects import Deliver, Effect
from amqp_sansio.broker.model.entry import Entry
from amqp_sansio.broker.model.owner import Owner
from amqp_sansio.broker.model.queue import Queue
from amqp_sansio.versions import AMQP_0_9_1

TABLES = default_dialect(AMQP_0_9_1).tables


def content(body: bytes | str, **properties: Any) -> ClassicContent:
    """A message of 0-9-1."""
    octets = body.encode() if isinstance(body, str) else body
    raw = BasicProperties(**properties).encode(TABLES)
    return ClassicContent(AMQP_0_9_1, raw, TABLES, octets)


class Model:
    """A broker, a clock that `wait` moves, and the owner of a connection."""

    def __init__(self, limits: BrokerLimits | None = None, history: int = 0) -> None:
        self.broker = Broker(limits, history=history)
        self.now = 0.0
        self.owner = self.connect()

    def connect(self, parent: Owner | None = None) -> Owner:
        owner: Owner = self.apply(commands.OpenOwner("/", "guest", parent))
        return owner

    def apply(self, command: Command) -> Any:
        return self.broker.apply(command, self.now)

    def wait(self, seconds: float) -> None:
        """Let time pass as an adapter would: every deadline is kept."""
        until = self.now + seconds
        while (deadline := self.broker.next_deadline) is not None and deadline <= until:
            self.now = max(self.now, deadline)
            self.broker.handle_timeout(self.now)
        self.now = until

    def queue(self, name: str = "jobs", *, owner: Owner | None = None, **arguments: Any) -> Queue:
        """Declare a queue; names with underscores are arguments: `x_max_length=3` is "x-max-length"."""
        given = {key.replace("_", "-"): value for key, value in arguments.items() if key.startswith("x_")}
        others = {key: value for key, value in arguments.items() if not key.startswith("x_")}
        queue: Queue = self.apply(commands.DeclareQueue(owner or self.owner, name, arguments=given, **others))
        return queue

    def publish(self, body: str, key: str = "jobs", *, exchange: str = "", **properties: Any) -> Published:
        published: Published = self.apply(commands.Publish(self.owner, exchange, key, content(body, **properties)))
        return published

    def consume(
        self,
        name: str = "jobs",
        key: str = "c",
        owner: Owner | None = None,
        windows: tuple[Window, ...] = (),
        **arguments: Any,
    ) -> Consumer:
        consumer: Consumer = self.apply(commands.Subscribe(owner or self.owner, name, key, windows, **arguments))
        return consumer

    def delivered(self) -> list[Entry]:
        """What was delivered since the last call."""
        return [effect.entry for effect in self.effects() if isinstance(effect, Deliver)]

    def effects(self) -> list[Effect]:
        effects = list(self.broker.effects)
        self.broker.effects.clear()
        return effects

    def settle(self, outcome: Outcome, *entries: Entry, **arguments: Any) -> None:
        owner = entries[0].owner
        assert owner is not None
        self.apply(commands.Settle(owner, entries, outcome, **arguments))

    def bodies(self, name: str = "jobs") -> list[str]:
        """The bodies of what is available, in order."""
        return bodies(self.broker.vhosts["/"].queues[name].available())


def bodies(entries: Any) -> list[str]:
    return [entry.message.content.body.decode() for entry in entries]
