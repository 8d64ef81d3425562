"""Endpoints of AMQP 1.0 with a session, and with a link, facing a peer whose frames the test makes up."""

from __future__ import annotations

from typing import Any

from amqp_sansio import By, Closed, RemoteProtocolError, Scope, Side
from amqp_sansio import amqp_1_0 as amqp
from amqp_sansio.amqp_1_0 import spec
from tests.kit.facing_1_0 import Facing
from tests.kit.octets_1_0 import octets_of

WINDOW = 2048


def begin(remote_channel: int | None = 0, **changes: Any) -> spec.Begin:
    """The peer's begin, as an answer to channel 0."""
    fields: dict[str, Any] = {"next_outgoing_id": 0, "incoming_window": WINDOW, "outgoing_window": WINDOW}
    return spec.Begin(remote_channel, **{**fields, **changes})


def flow(**changes: Any) -> spec.Flow:
    fields: dict[str, Any] = {
        "next_incoming_id": 0,
        "incoming_window": WINDOW,
        "next_outgoing_id": 0,
        "outgoing_window": WINDOW,
    }
    return spec.Flow(**{**fields, **changes})


def link_flow(credit: int, count: int | None = 0, **changes: Any) -> spec.Flow:
    """The peer's flow for the link with handle 0, as its receiver."""
    return flow(handle=0, delivery_count=count, link_credit=credit, **changes)


def attach(name: str, handle: int, role: bool, **changes: Any) -> spec.Attach:
    """The peer's attach: a receiver when `role`, with termini."""
    fields: dict[str, Any] = {
        "source": amqp.Source(address="source"),
        "target": amqp.Target(address="target"),
        "initial_delivery_count": None if role else 0,
    }
    return spec.Attach(name, handle, role, **{**fields, **changes})


def transfer(number: int, *, handle: int = 0, **changes: Any) -> spec.Transfer:
    """The first transfer of the peer's delivery `number`."""
    fields: dict[str, Any] = {"delivery_id": number, "delivery_tag": bytes([number]), "message_format": 0}
    return spec.Transfer(handle, **{**fields, **changes})


BODY = b"\x00\x53\x77\x41"
"""A message: the value true."""


class Mapped(Facing):
    """An endpoint with one session, `session`, that it began on channel 0 and the peer answered on `channel`."""

    session: amqp.Session
    channel: int

    @classmethod
    def begun(
        cls,
        side: Side = Side.CLIENT,
        *,
        config: amqp.Config | None = None,
        channel: int = 0,
        peer: spec.Open | None = None,
        **changes: Any,
    ) -> Mapped:
        """Begin the session; `peer` is the peer's open, `changes` are for its begin."""
        facing: Any = cls.opened(side, config, peer)
        facing.channel = channel
        facing.session = facing.end.open_session()
        facing.feed(octets_of(begin(**changes), channel))
        assert facing.session.is_open
        facing.forget()
        return facing  # type: ignore[no-any-return]

    @property
    def inside(self) -> Any:
        """The endpoint, with what no application needs to see."""
        return self.end

    @property
    def held(self) -> int:
        """Octets of deliveries under way."""
        held: int = self.inside._sessions.transport.bodies
        return held

    def peer_takes(self, octets: int) -> None:
        """As if the peer's max-frame-size were this."""
        self.inside._sessions.transport.max_frame = octets

    def get(self, frame: spec.Composite, payload: bytes = b"") -> list[Any]:
        """A frame of the peer on the session's channel; gives the new events."""
        return list(self.feed(octets_of(frame, self.channel, payload)))

    def frames(self) -> list[Any]:
        """The performatives that were sent since `forget`."""
        self.settle()
        return [each.body for each in self.sent()]

    def sender(self, *, credit: int = 10, theirs: dict[str, Any] | None = None, **options: Any) -> amqp.Sender:
        """A sender that the peer attached with handle 0 and gave credit."""
        link = self.session.open_sender("target", name="out", **options)
        self.settle()
        self.get(attach("out", 0, True, **(theirs or {})))
        assert link.is_open
        if credit:
            self.get(flow(handle=0, delivery_count=0, link_credit=credit))
            assert link.credit == credit
        self.forget()
        return link

    def receiver(self, *, credit: int = 10, theirs: dict[str, Any] | None = None, **options: Any) -> amqp.Receiver:
        """A receiver that the peer attached with handle 0."""
        link = self.session.open_receiver("source", name="in", **options)
        self.settle()
        self.get(attach("in", 0, False, **(theirs or {})))
        assert link.is_open
        if credit:
            link.flow(credit)
        self.settle()
        self.forget()
        return link

    def fails_link(self, condition: str, rule: str) -> RemoteProtocolError:
        """Check that a fault of the peer ended the link, and nothing but the link."""
        error = self.fault(Scope.LINK, rule, amqp.LinkFailed)
        assert error.condition == condition, error
        detach = self.frames()[-1]
        assert isinstance(detach, spec.Detach)
        assert detach.closed
        assert detach.error is not None
        assert detach.error.condition == condition
        self.forget()
        self.get(spec.Detach(0, True))
        (closed,) = self.of(amqp.LinkClosed)
        assert (closed.report.by, closed.report.condition) == (By.LOCAL, condition)
        assert self.session.is_open
        assert self.end.is_open
        assert not self.frames()
        return error

    def fails_session(self, condition: str, rule: str) -> RemoteProtocolError:
        """Check that a fault of the peer ended the session, and nothing but the session."""
        error = self.fault(Scope.SESSION, rule)
        assert error.condition == condition, error
        end = self.frames()[-1]
        assert isinstance(end, spec.End)
        assert end.error is not None
        assert end.error.condition == condition
        self.forget()
        # Until its end comes, nothing of the peer counts (part 2 section 2.5.4).
        self.get(flow(next_incoming_id=None))
        assert not self.events
        self.get(spec.End())
        closed = self.of(Closed)[-1]
        assert (closed.scope, closed.report.by, closed.report.condition) == (Scope.SESSION, By.LOCAL, condition)
        assert self.end.is_open
        assert not self.frames()
        return error
