"""A message node on python-qpid-proton, run as a program: `python proton_node.py PORT [MAX-FRAME]`.

Every address is a queue, made when it is first named, but for those that stand for a behaviour:

- absent: no such node, the attach is refused with amqp:not-found;
- rejecting, releasing, modifying: every message sent there has that outcome;
- ending, closing: naming it ends the session, or closes the connection, with an error.

A rejected message goes to "dead." and its queue's name; released and modified ones go back to the head.
"""

# proton's own types are partial.
# pyright: reportUnknownMemberType=false
import signal
import sys
from collections import deque
from typing import Any

from proton import Condition, Delivery, Link, Message, Receiver, Sender, Terminus, symbol
from proton.handlers import MessagingHandler
from proton.reactor import Container

OUTCOMES = {"rejecting": Delivery.REJECTED, "releasing": Delivery.RELEASED, "modifying": Delivery.MODIFIED}


class Node(MessagingHandler):
    """The queues, and what happens on every link."""

    def __init__(self, port: int, max_frame: int) -> None:
        super().__init__(prefetch=0, auto_accept=False, auto_settle=False)
        self.port = port
        self.max_frame = max_frame
        self.queues: dict[str, deque[Message]] = {}
        self.consumers: dict[str, list[Any]] = {}
        self.sent: dict[tuple[str, str], Message] = {}
        self.dynamic = 0

    def on_start(self, event: Any) -> None:
        event.container.listen(f"127.0.0.1:{self.port}")

    def on_connection_bound(self, event: Any) -> None:
        event.transport.max_frame_size = self.max_frame
        event.transport.idle_timeout = 30

    def on_link_opening(self, event: Any) -> None:
        link = event.link
        peer = link.remote_source if link.is_sender else link.remote_target
        address = peer.address or ""
        if address == "absent":
            link.condition = Condition("amqp:not-found", "no such node", {symbol("node"): "absent"})
            link.source.type = Terminus.UNSPECIFIED
            link.target.type = Terminus.UNSPECIFIED
            return
        if address == "ending":
            link.session.condition = Condition("amqp:internal-error", "the session ends here")
            link.session.close()
            return
        if address == "closing":
            event.connection.condition = Condition("amqp:connection:forced", "closed by intent")
            event.connection.close()
            return
        link.source.copy(link.remote_source)
        link.target.copy(link.remote_target)
        if peer.dynamic:
            self.dynamic += 1
            address = f"temporary.{self.dynamic}"
            (link.source if link.is_sender else link.target).address = address
        link.snd_settle_mode = link.remote_snd_settle_mode
        link.rcv_settle_mode = link.remote_rcv_settle_mode
        if isinstance(link, Sender):
            self.consumers.setdefault(address, []).append(link)
        elif isinstance(link, Receiver):
            link.flow(100)

    def on_link_local_open(self, event: Any) -> None:
        if event.link.condition is not None:
            event.link.close()

    def on_message(self, event: Any) -> None:
        delivery = event.delivery
        link = event.receiver
        address = link.target.address
        if link.target.type == Terminus.COORDINATOR:
            self.reject(delivery)
            return
        if not address:
            address = event.message.address
        outcome = OUTCOMES.get(address, Delivery.ACCEPTED)
        if outcome == Delivery.REJECTED:
            delivery.local.condition = Condition("amqp:not-allowed", "never here", {symbol("why"): "by intent"})
        elif outcome == Delivery.MODIFIED:
            delivery.local.failed = True
            delivery.local.undeliverable = True
            delivery.local.annotations = {symbol("x-opt-by"): "proton"}
        delivery.update(outcome)
        if link.rcv_settle_mode == Link.RCV_FIRST:
            delivery.settle()
        link.flow(1)
        if outcome == Delivery.ACCEPTED:
            self.queue(address).append(event.message)
            self.dispatch(address)

    def on_sendable(self, event: Any) -> None:
        self.dispatch(event.sender.source.address)

    def on_link_flow(self, event: Any) -> None:
        if isinstance(event.link, Sender) and event.link.source.address:
            self.dispatch(event.link.source.address)

    def on_accepted(self, event: Any) -> None:
        self.taken_back(event)

    def on_rejected(self, event: Any) -> None:
        address, message = self.taken_back(event)
        self.queue("dead." + address).append(message)
        self.dispatch("dead." + address)

    def on_released(self, event: Any) -> None:
        """Proton has no event of its own for modified."""
        address, message = self.taken_back(event)
        remote = event.delivery.remote
        if event.delivery.remote_state == Delivery.MODIFIED:
            if remote.failed:
                message.delivery_count += 1
            if remote.annotations:
                message.annotations = {**(message.annotations or {}), **remote.annotations}
        self.queue(address).appendleft(message)
        self.dispatch(address)

    def on_settled(self, event: Any) -> None:
        """In mode second the sender settles first."""
        event.delivery.settle()

    def on_link_closing(self, event: Any) -> None:
        self.forget(event.link)

    def on_link_remote_detach(self, event: Any) -> None:
        event.link.detach()
        self.forget(event.link)

    def on_disconnected(self, event: Any) -> None:
        for consumers in self.consumers.values():
            for link in [each for each in consumers if each.connection == event.connection]:
                self.forget(link)

    def forget(self, link: Any) -> None:
        """Take a consumer away; what it held goes back."""
        for address, consumers in self.consumers.items():
            if link in consumers:
                consumers.remove(link)
                for key in [key for key in self.sent if key[0] == self.key(link)]:
                    self.queue(address).appendleft(self.sent.pop(key))

    def key(self, link: Any) -> str:
        return f"{link.connection.remote_container}/{link.name}"

    def taken_back(self, event: Any) -> tuple[str, Message]:
        link = event.link
        event.delivery.settle()
        return link.source.address, self.sent.pop((self.key(link), event.delivery.tag))

    def queue(self, address: str) -> deque[Message]:
        return self.queues.setdefault(address, deque())

    def dispatch(self, address: str) -> None:
        """Give messages to consumers with credit; those that drain lose the rest of theirs."""
        queue = self.queue(address)
        for link in self.consumers.get(address, ()):
            while queue and link.credit > 0:
                message = queue.popleft()
                delivery = link.send(message)
                if link.snd_settle_mode != Link.SND_SETTLED:
                    self.sent[self.key(link), delivery.tag] = message
            if not queue and link.drain_mode:
                link.drained()


if __name__ == "__main__":
    # Python's own default would print a traceback.
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit())
    Container(Node(int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 65536)).run()
