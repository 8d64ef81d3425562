"""Nodes of one's own for clients of 1.0: `Namespace` finds them, `Node` says what a link to one of them means.

`Hub(settings, namespace)` asks its namespace at each attach before it looks among queues and exchanges. A node answers
the attach, and decides from then on what a message, credit and an outcome mean; frames, windows, settlement and the
order of answers stay the hub's. docs/broker.md has a node of thirty lines.

All of it are values that pickle with the hub. They do no I/O and read no clock: `Peer.now` is the broker's time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Protocol

from ..amqp_1_0 import Accepted, Receiver, Sender
from ..amqp_1_0.codec.conditions import NOT_ALLOWED, NOT_IMPLEMENTED
from ..errors import CodecError, EndpointClosed, LocalProtocolError
from .frontends.amqp_1_0.errors import Refusal, fitting
from .model.commands import Grant

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from ..amqp_1_0 import Connection, Delivery, DeliveryState, Message
    from ..amqp_1_0.codec.performatives import Attach
    from .model.commands import Command
    from .model.consumer import Window
    from .model.ledger import Ledger
    from .settings import Settings

CREDIT: Final = 100
"""Credit of a client that sends, renewed when half of it is used."""


class NodeHub(Protocol):
    """The part of `Hub` that nodes use; see there."""

    settings: Settings
    now: float

    def apply(self, command: Command) -> Any: ...

    def touch(self, number: int) -> None: ...


class NodeClient(Protocol):
    """The part of the hub's side of a transport that nodes use."""

    is_secure: bool


class NodeFront(Protocol):
    """The part of a 1.0 client's front end that nodes use."""

    @property
    def hub(self) -> NodeHub: ...

    @property
    def client(self) -> NodeClient: ...

    number: int
    connection: Connection
    user: str
    container: str
    gate: Window
    ledger: Ledger


class Peer:
    """A client whose connection is open, as nodes see it."""

    __slots__ = ("_front", "attachments")

    def __init__(self, front: NodeFront) -> None:
        self._front = front
        self.attachments: dict[tuple[int, int], Attachment] = {}
        """Its links to nodes of the namespace, by channel and handle."""

    @property
    def number(self) -> int:
        """The hub's number of the client."""
        return self._front.number

    @property
    def hub(self) -> NodeHub:
        """The hub."""
        return self._front.hub

    @property
    def connection(self) -> Connection:
        """The broker's end of its connection."""
        return self._front.connection

    @property
    def user(self) -> str:
        """The user who logged in, `ANONYMOUS_USER` for ANONYMOUS."""
        return self._front.user

    @property
    def container(self) -> str:
        """The client's container-id."""
        return self._front.container

    @property
    def hostname(self) -> str:
        """The host that the client's open asks for, "" if it names none."""
        peer = self.connection.peer_open
        return "" if peer is None else peer.hostname or ""

    @property
    def now(self) -> float:
        """Seconds of the hub's clock."""
        return self._front.hub.now

    @property
    def is_secure(self) -> bool:
        """Whether the client came through TLS."""
        return self._front.client.is_secure

    def close(self, condition: str, text: str) -> None:
        """Close the connection with an error."""
        if self.connection.is_open:
            self.connection.close(condition, fitting(text, self.connection))
            self.touch()

    def touch(self) -> None:
        """Have its octets written: needed after what was done at its connection without `Attachment`."""
        self.hub.touch(self.number)

    # For `Attachment`.

    @property
    def front(self) -> NodeFront:
        """The hub's side of the client."""
        return self._front

    @property
    def octets(self) -> int:
        """Octets that may still be sent to the client before it has to read."""
        octets = self._front.gate.octets
        return 0 if octets is None else octets


class Attachment:
    """A link of a client to a node: `is_sender` says that the broker sends on it.

    Whatever is done on it after its end has no effect: a node may act on the links of any client.
    """

    __slots__ = ("attach", "is_draining", "link", "node", "notes", "peer", "undecided")

    def __init__(self, peer: Peer, link: Sender | Receiver, attach: Attach) -> None:
        self.peer = peer
        self.link = link
        self.attach = attach
        self.node: Node | None = None
        self.is_draining = False
        self.notes: dict[str, Any] = {}
        """What the node keeps for the link."""
        self.undecided: dict[bytes, None] = {}
        """Delivery-tags of what was sent unsettled, and has no outcome that holds."""

    @property
    def is_sender(self) -> bool:
        """Whether the broker sends on it: the client's role is receiver."""
        return not self.link.ROLE

    @property
    def name(self) -> str:
        """The link's name."""
        return self.link.name

    @property
    def place(self) -> tuple[int, int]:
        """Channel and handle."""
        return self.link.session.channel, self.link.handle

    @property
    def is_open(self) -> bool:
        """Whether both ends are attached."""
        return self.link.is_open

    # Answers to the attach.

    def accept(self, **answer: Any) -> None:
        """Answer the attach; the arguments are those of `accept_attach` of the 1.0 links. A client that sends gets
        credit."""
        self.link.accept_attach(**answer)
        if isinstance(self.link, Sender):
            # The node decides what an outcome comes to.
            self.link.auto_settle = False
        else:
            self.link.flow(CREDIT)

    def refuse(self, condition: str, text: str) -> None:
        """Refuse an attach that wasn't answered at once."""
        if self.link.requested is not None and self.link.session.connection.is_open:
            self.link.refuse_attach(condition, fitting(text, self.peer.connection))
            self.peer.touch()

    def detach(self, condition: str = "", text: str = "", info: Mapping[Any, Any] | None = None) -> None:
        """Close the link, with an error where `condition` names one."""
        if self.link.is_attached and self.link.session.connection.is_open:
            self.link.close(condition, fitting(text, self.peer.connection), info)
            self.peer.touch()

    # Links on which the broker sends.

    @property
    def credit(self) -> int:
        """Messages that may be sent now: 0 without credit, while the client doesn't read, and while it leaves too much
        unsettled."""
        link = self.link
        if not isinstance(link, Sender) or not link.is_open or self.peer.octets <= 0:
            return 0
        limits = link.session.connection.config.limits
        unsettled = limits.unsettled - len(link.session.own.deliveries)
        if unsettled <= 0 or link.kept_octets >= limits.bodies:
            return 0
        return min(link.credit, unsettled)

    @property
    def largest(self) -> int:
        """The octets of the largest message that the link takes."""
        bodies = self.link.session.connection.config.limits.bodies
        return min(self.link.max_message_size or bodies, bodies)

    def send(
        self,
        message: Message | bytes,
        *,
        delivery_tag: bytes | None = None,
        settled: bool | None = None,
        state: DeliveryState | None = None,
        message_format: int = 0,
    ) -> bytes | None:
        """Send a message; return its delivery-tag. None if it can't be sent now: without `credit`, or above
        `largest`."""
        link = self.link
        if not isinstance(link, Sender) or self.peer.octets <= 0:
            return None
        octets = message if isinstance(message, bytes) else message.encode()
        try:
            pending = link.send(
                octets, delivery_tag=delivery_tag, settled=settled, state=state, message_format=message_format
            )
        except (LocalProtocolError, CodecError, EndpointClosed):
            return None
        front = self.peer.front
        front.hub.apply(Grant(front.gate, 0, -len(octets)))
        front.ledger.room -= 1
        self.peer.touch()
        tag: Any = pending.key[2]
        if tag in link.unsettled:
            self.undecided[tag] = None
        return bytes(tag)

    def settle(self, tags: Iterable[bytes], state: DeliveryState | None) -> None:
        """Settle deliveries with an outcome; those that are settled already are left out."""
        link = self.link
        if not isinstance(link, Sender) or not link.is_attached or not link.session.connection.is_open:
            return
        for tag in tags:
            self.undecided.pop(tag, None)
            if tag in link.unsettled:
                link.settle(tag, state)
        self.peer.touch()

    def go_on(self) -> None:
        """Let the node send, and give up the rest of the credit if the client drains (part 2 section 2.6.7)."""
        link = self.link
        node = self.node
        if node is None or not isinstance(link, Sender) or not link.is_open:
            return
        node.send(self)
        if self.is_draining and link.is_open and link.current is None and self.peer.octets > 0:
            self.is_draining = False
            if link.drain_wanted:
                link.drained()
        self.peer.touch()

    # Links on which the client sends.

    def give_credit(self, credit: int = CREDIT) -> None:
        """Renew the credit of a client that sends."""
        if isinstance(self.link, Receiver) and self.link.is_open:
            self.link.top_up(credit)

    def answer(self, delivery: Delivery, outcome: DeliveryState) -> None:
        """Tell the outcome of a message, unless the client has settled it."""
        if isinstance(self.link, Receiver) and self.link.is_attached and not delivery.settled:
            if outcome is ACCEPTED:
                self.link.accept(delivery)
            else:
                self.link.update([delivery], outcome)
            self.peer.touch()


class Step:
    """What a node does for a client's transaction when that ends, and not before."""

    __slots__ = ()

    def problem(self) -> str:
        """Return why it can't be done, "" if it can. The transaction is rolled back if any step has a problem."""
        return ""

    def commit(self) -> None:
        """Do it: the transaction has succeeded."""

    def roll_back(self) -> None:
        """Leave it: the transaction has failed, or was given up."""


class Node:
    """What links to one address mean. The methods' defaults are those of a node that nobody may do anything with.

    Each may raise `Refusal` with a condition and a text: it refuses the attach, or rejects the message. Any other
    exception is an error of the node, and the adapter ends the client's connection.
    """

    settles_retired: bool = False
    """Whether a delivery whose outcome belongs to a transaction is settled at once, with the transactional state that
    has the outcome, for clients that wait for that: then the node's books say what is held until the transaction ends.
    Else it is settled with the transaction (part 4 section 4.4.2)."""

    def attach(self, link: Attachment) -> None:
        """Answer an attach: `link.accept(...)`, or raise Refusal. `link.attach` is what the client asks for.

        The answer may also come later, by `link.accept(...)` or `link.refuse(...)`; `closed` tells that the client
        doesn't wait any more.
        """
        link.accept()

    def closed(self, link: Attachment) -> None:
        """A link has ended: the client has detached it or is gone, or the node has closed it."""

    # The client sends.

    def receive(self, link: Attachment, delivery: Delivery) -> DeliveryState | None:
        """Take a message; return its outcome, None to answer later with `link.answer`."""
        raise Refusal(NOT_ALLOWED, f"nothing can be sent to {link.link.address!r}")

    def post(self, link: Attachment, delivery: Delivery) -> tuple[DeliveryState, Step | None]:
        """Take a message in a transaction; return the outcome that it will have, and what to do when the transaction
        ends (part 4 section 4.4.1)."""
        raise Refusal(NOT_IMPLEMENTED, f"{link.link.address!r} takes no part in transactions")

    # The client receives.

    def send(self, link: Attachment) -> None:
        """Send what there is, as long as `link.credit` allows: there is new credit, or room."""

    def decide(self, link: Attachment, tags: tuple[bytes, ...], outcome: DeliveryState | None) -> DeliveryState | None:
        """Carry out the client's outcome of deliveries; return the one that holds, which the client is told if it
        waits for it."""
        return outcome

    def retire(self, link: Attachment, tags: tuple[bytes, ...], outcome: DeliveryState | None) -> Step | None:
        """Return what to do with deliveries when the transaction ends that their outcome belongs to (part 4 section
        4.4.2)."""
        raise Refusal(NOT_IMPLEMENTED, f"{link.link.address!r} takes no part in transactions")


class Namespace:
    """The nodes of a hub that are one's own. The base has none.

    A namespace belongs to one hub.
    """

    def begin(self, hub: NodeHub) -> None:
        """The hub begins: `hub.now` is its time, `hub.settings` are its settings."""

    def find(self, peer: Peer, attach: Attach) -> Node | None:
        """Return the node that an attach is for; None: one of the broker's own, or nobody's. Raises Refusal."""
        return None

    def opened(self, peer: Peer) -> None:
        """A client has opened its connection."""

    def closed(self, peer: Peer) -> None:
        """A client's connection has ended, and all of its links before."""

    @property
    def next_deadline(self) -> float | None:
        """When to call `handle_timeout`, in seconds of the hub's clock; None: never."""
        return None

    def handle_timeout(self, now: float) -> None:
        """Do what is due."""

    def restart(self, now: float) -> None:
        """Keep what survives a restart of the broker: all clients are gone."""


ACCEPTED: Final = Accepted()
"""The outcome of a message that was taken."""

__all__ = ["ACCEPTED", "CREDIT", "Attachment", "Namespace", "Node", "NodeHub", "Peer", "Refusal", "Step"]
