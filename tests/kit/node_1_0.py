"""The product's broker with what clients of other libraries ask of a node.

Addresses that stand for a behaviour are those of tests/interop/peers/proton_node.py. What a client rejects goes to the
queue "dead." and its address. Links to addresses that begin with "recovery." are kept beyond their connections.
"""

from __future__ import annotations

from collections import deque
from typing import Any

from amqp_sansio import Event
from amqp_sansio.amqp_1_0 import (
    CreditChanged,
    Delivery,
    Error,
    LinkClosed,
    LinkRequested,
    LinkState,
    Message,
    Modified,
    Rejected,
    Released,
    Symbol,
)
from amqp_sansio.amqp_1_0 import Receiver as CoreReceiver
from amqp_sansio.broker import Settings
from amqp_sansio_pytest.topology import preload
from tests.kit.scripted import Peer, ScriptedBroker

OUTCOMES: dict[str, Any] = {
    "rejecting": Rejected(Error(Symbol("amqp:not-allowed"), "never here", {Symbol("why"): "by intent"})),
    "releasing": Released(),
    "modifying": Modified(True, True, {Symbol("x-opt-by"): "core"}),
}


class ServerNode(ScriptedBroker):
    """The node. `suspended` are the kept links that aren't attached, `kept` the bodies at their addresses."""

    def __init__(self, **settings: Any) -> None:
        values: dict[str, Any] = {"auto_create": True, "anonymous": True, "heartbeat": 1.0, **settings}
        super().__init__(clock="real", settings=Settings(**values))
        self.suspended: dict[str, LinkState] = {}
        self.kept: dict[str, deque[bytes]] = {}
        self._links: dict[tuple[int, int, int], Any] = {}
        self.script = self._take

    def _take(self, peer: Peer, event: Event) -> bool:
        """Do what a broker doesn't."""
        key = (peer.number, getattr(event, "channel", -1), getattr(event, "link", -1))
        if isinstance(event, LinkRequested):
            return self._attach(peer, event, key)
        link = self._links.get(key)
        if link is None:
            return False
        kept = self.kept.get(_address(link))
        if isinstance(event, Delivery):
            if kept is not None:
                kept.append(event.body)
                link.accept(event)
            elif not event.settled:
                link.update([event], OUTCOMES[_address(link)])
            link.top_up(100)
        elif isinstance(event, CreditChanged) and kept is not None:
            while kept and link.credit:
                link.send(Message(kept.popleft()))
            if event.drain:
                link.drained()
        elif isinstance(event, LinkClosed):
            del self._links[key]
            if event.resumable and kept is not None:
                self.suspended[event.name] = link.saved_state()
        return True

    def _attach(self, peer: Peer, event: LinkRequested, key: tuple[int, int, int]) -> bool:
        session = peer.core.session(event.channel)
        link = session.link(event.link)
        state = self.suspended.pop(link.name, None)
        address = str(getattr(event.attach.source if event.attach.role else event.attach.target, "address", None) or "")
        if state is not None:
            address = _address(link) or address
        if address == "absent":
            link.refuse_attach("amqp:not-found", "no such node", {Symbol("node"): "absent"})
        elif address == "ending":
            session.close("amqp:internal-error", "the session ends here")
        elif address == "closing":
            peer.core.close("amqp:connection:forced", "closed by intent")
        elif address in OUTCOMES or address.startswith("recovery."):
            if address.startswith("recovery."):
                self.kept.setdefault(address, deque())
            link.accept_attach(state=state if event.attach.unsettled is not None else None)
            self._links[key] = link
            if isinstance(link, CoreReceiver):
                link.flow(100)
        else:
            if address and address not in self.service.vhost("/").queues:
                arguments = {"x-dead-letter-exchange": "", "x-dead-letter-routing-key": f"dead.{address}"}
                queues = [{"name": address, "arguments": arguments}, {"name": f"dead.{address}"}]
                preload(self.service, {"queues": queues}, "/")
            return False
        return True


def _address(link: Any) -> str:
    terminus = link.target if isinstance(link, CoreReceiver) else link.source
    return str(getattr(terminus, "address", None) or "")


__all__ = ["ServerNode"]
