"""The small 1.0 server with what clients of other libraries ask of a node.

Addresses that stand for a behaviour are those of tests/interop/peers/proton_node.py. PLAIN and SCRAM-SHA-256 take
guest with the password guest, ANONYMOUS takes anybody.
"""

from __future__ import annotations

import socket
from typing import Any

from amqp_sansio import Event
from amqp_sansio.amqp_1_0 import Config, Error, Header, LinkRequested, Message, Modified, Rejected, Released, Symbol
from tests.kit import server_1_0
from tests.kit.server_1_0 import Unsettled

OUTCOMES: dict[str, Any] = {
    "rejecting": Rejected(Error(Symbol("amqp:not-allowed"), "never here", {Symbol("why"): "by intent"})),
    "releasing": Released(),
    "modifying": Modified(True, True, {Symbol("x-opt-by"): "core"}),
}


class Session(server_1_0.Session):
    """One connection of the node."""

    server: ServerNode  # pyright: ignore[reportIncompatibleVariableOverride]

    def handle(self, event: Event) -> None:
        """Do what a node does about an event."""
        try:
            super().handle(event)
        except Exception as error:
            self.server.failure = error
            raise

    def _attach(self, event: LinkRequested) -> None:
        link = self.core.session(event.channel).link(event.link)
        address = getattr(event.attach.source if event.attach.role else event.attach.target, "address", None)
        if address == "absent":
            link.refuse_attach("amqp:not-found", "no such node", {Symbol("node"): "absent"})
        elif address == "ending":
            link.session.close("amqp:internal-error", "the session ends here")
        elif address == "closing":
            self.core.close("amqp:connection:forced", "closed by intent")
        else:
            super()._attach(event)

    def _ended(self, held: Unsettled, state: object) -> None:
        server = self.server
        if isinstance(state, Rejected):
            server.put(f"dead.{held.address}", held.payload)
        elif isinstance(state, Released):
            server.put(held.address, held.payload, first=True)
        elif isinstance(state, Modified):
            server.put(held.address, _changed(Message.from_wire(held.payload), state).encode(), first=True)


def _changed(message: Message, state: Modified) -> Message:
    header = message.header or Header()
    failures = message.delivery_count + bool(state.delivery_failed)
    changed = Header(header.durable, header.priority, header.ttl, False, failures)
    annotations = {**message.message_annotations, **(state.message_annotations or {})}
    return message.replace(header=changed, message_annotations=annotations)


class ServerNode(server_1_0.Server):
    """The node; `port` is where it listens until the block ends. `failure` is the last exception of its own.

    With `resumes` it keeps links that lose their connection.
    """

    def __init__(self, *, resumes: bool = False, **options: Any) -> None:
        values: dict[str, Any] = {"container_id": "core-node", "max_frame_size": 4096, "nonce": "n"}
        values["mechanisms"] = ("SCRAM-SHA-256", "PLAIN", "ANONYMOUS")
        self.failure: BaseException | None = None
        super().__init__(config=Config(**{**values, **options}))
        self.outcomes.update(OUTCOMES)
        self.keeping = resumes

    def __enter__(self) -> ServerNode:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def new_session(self, connected: socket.socket) -> Session:
        return Session(self, connected)


__all__ = ["ServerNode"]
