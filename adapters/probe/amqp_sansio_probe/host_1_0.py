"""A server of 1.0 for clients under test."""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from amqp_sansio import Observed
from amqp_sansio import amqp_1_0 as amqp
from amqp_sansio.amqp_1_0 import spec

from .host import Host, Patience
from .listening import Accepted
from .programs import Program
from .verdicts import Surprise

AMQP_HEADER: Final = b"AMQP\x00\x01\x00\x00"
SASL_HEADER: Final = b"AMQP\x03\x01\x00\x00"
CREDIT: Final = 100
"""What a client's senders get at first."""
WINDOW: Final = 2048
REPLIES: Final = "probe-replies"
"""The address of a source that the server names."""


def amqp_frame(channel: int, body: spec.Composite | bytes = b"", payload: bytes = b"", *, kind: int = 0) -> bytes:
    """Return the octets of a frame; without a body an empty one."""
    octets = (body if isinstance(body, bytes) else body.encode()) + payload
    return struct.pack(">IBBH", 8 + len(octets), 2, kind, channel) + octets


@dataclass
class _Session:
    next_incoming_id: int
    next_outgoing_id: int = 0
    next_delivery_id: int = 0


@dataclass
class Link:
    """A link of the client. `is_sender` says what the client is on it."""

    channel: int
    handle: int
    name: str
    is_sender: bool
    attach: spec.Attach
    delivery_count: int = 0
    credit: int = 0
    """What is left of it: that the client gave as a receiver, or that it has as a sender."""
    delivery_id: int = 0
    """The client's delivery that is under way, or was the last."""


class Host_1_0(Host):
    """Answers each performative with its answer, gives senders credit, and accepts what comes."""

    PUBLISH = "transfer"

    def __init__(self, transport: Accepted, program: Program, patience: Patience) -> None:
        super().__init__(transport, program, patience)
        self.mechanisms: tuple[str, ...] = ("PLAIN", "ANONYMOUS")
        self.code = 0
        """The outcome of SASL."""
        self.open = spec.Open("probe", max_frame_size=65_536, channel_max=255)
        """What the server says of itself."""
        self.credit = CREDIT
        """The first credit of a client's senders; with 0 no flow is sent."""
        self.window = WINDOW
        """What a client may send of transfers in a session, before the case gives it more."""
        self.opened_as: spec.Open | None = None
        """What the client says of itself."""
        self.links: dict[tuple[int, int], Link] = {}
        self._sessions: dict[int, _Session] = {}
        self._answers: Mapping[str, Callable[[Observed], None]] = {
            "sasl-init": self._logs_in,
            "open": self._opens,
            "begin": self._begins,
            "attach": self._attaches,
            "flow": self._flows,
            "transfer": self._transfers,
            "disposition": self._settles,
            "detach": self._detaches,
            "end": self._ends,
            "close": self._closes,
        }

    # Octets.

    def say(self, channel: int, *bodies: spec.Performative) -> None:
        """Send performatives."""
        self.send(b"".join([amqp_frame(channel, each) for each in bodies]))

    def flow(
        self, link: Link, credit: int, *, drain: bool = False, echo: bool = False, available: int | None = None
    ) -> None:
        """Give a sender credit, or tell a receiver the state of the link."""
        session = self._session(link.channel)
        link.credit = credit
        self.say(
            link.channel,
            spec.Flow(
                session.next_incoming_id,
                self.window,
                session.next_outgoing_id,
                WINDOW,
                link.handle,
                link.delivery_count,
                credit,
                available,
                drain=drain,
                echo=echo,
            ),
        )

    def deliver(
        self,
        link: Link,
        message: amqp.Message | bytes,
        *,
        pieces: int = 1,
        aborted: bool = False,
        settled: bool = False,
    ) -> int:
        """Send a message to a receiver, cut into so many transfers; return its delivery-id."""
        octets = amqp.Message(message).encode() if isinstance(message, bytes) else message.encode()
        session = self._session(link.channel)
        number = session.next_delivery_id
        session.next_delivery_id += 1
        size = max(-(-len(octets) // pieces), 1)
        cuts = list(range(0, len(octets), size))
        parts: list[bytes] = []
        for at in cuts:
            first, last = at == 0, at == cuts[-1]
            transfer = spec.Transfer(
                link.handle,
                number if first else None,
                struct.pack(">I", number) if first else None,
                0 if first else None,
                settled=settled if first else None,
                more=not last or aborted,
            )
            parts.append(amqp_frame(link.channel, transfer, octets[at : at + size]))
        if aborted:
            parts.append(amqp_frame(link.channel, spec.Transfer(link.handle, aborted=True)))
        session.next_outgoing_id += len(parts)
        link.delivery_count += 1
        link.credit -= 1
        self.send(b"".join(parts))
        return number

    def _session(self, channel: int) -> _Session:
        session = self._sessions.get(channel)
        if session is None:
            raise Surprise(f"the client's session on channel {channel} is over: {self.described()}")
        return session

    def settle(self, channel: int, first: int, last: int, state: amqp.DeliveryState) -> None:
        """Settle deliveries of the client."""
        self.say(channel, spec.Disposition(spec.RECEIVER, first, last, settled=True, state=state))

    # Answers.

    def answer(self, unit: Observed) -> None:
        if isinstance(unit.content, bytes):
            if unit.event == "protocol-header":
                self._greet(unit.content)
        elif (answer := self._answers.get(unit.event)) is not None:
            answer(unit)

    def _greet(self, header: bytes) -> None:
        if header == SASL_HEADER:
            self.send(SASL_HEADER + amqp_frame(0, spec.SaslMechanisms(self.mechanisms), kind=1))
        elif header == AMQP_HEADER:
            self.send(AMQP_HEADER)
        else:
            self.send(SASL_HEADER)
            raise Surprise(f"the client begins with {header!r}")

    def _logs_in(self, unit: Observed) -> None:
        self.send(amqp_frame(0, spec.SaslOutcome(self.code), kind=1))

    def _opens(self, unit: Observed) -> None:
        self.opened_as = unit.content
        self.say(0, self.open)

    def _begins(self, unit: Observed) -> None:
        self._sessions[unit.channel] = _Session(unit.content.next_outgoing_id)
        self.say(unit.channel, spec.Begin(unit.channel, 0, self.window, WINDOW))

    def _attaches(self, unit: Observed) -> None:
        theirs: spec.Attach = unit.content
        is_sender = theirs.role == spec.SENDER
        link = Link(unit.channel, theirs.handle, theirs.name, is_sender, theirs)
        link.delivery_count = (theirs.initial_delivery_count or 0) if is_sender else 0
        self.links[unit.channel, theirs.handle] = link
        if unit.channel not in self._sessions:
            return
        source, target = theirs.source, theirs.target
        if isinstance(source, amqp.Source) and source.dynamic:
            source = amqp.Source(REPLIES)
        self.say(unit.channel, self.attached(link, source=source, target=target))
        if is_sender and self.credit:
            self.flow(link, self.credit)

    def attached(self, link: Link, **termini: Any) -> spec.Attach:
        """Return the attach that answers the client's."""
        return spec.Attach(
            link.name,
            link.handle,
            not link.attach.role,
            snd_settle_mode=link.attach.snd_settle_mode,
            rcv_settle_mode=link.attach.rcv_settle_mode,
            initial_delivery_count=None if link.is_sender else 0,
            **termini,
        )

    def _flows(self, unit: Observed) -> None:
        flow: spec.Flow = unit.content
        link = None if flow.handle is None else self.links.get((unit.channel, flow.handle))
        if link is None or unit.channel not in self._sessions:
            return
        if link.is_sender:
            link.delivery_count = flow.delivery_count or 0
            return
        link.credit = ((flow.delivery_count or 0) + (flow.link_credit or 0) - link.delivery_count) & 0xFFFF_FFFF
        if flow.drain and link.credit:
            link.delivery_count += link.credit
            self.flow(link, 0, drain=True)
        elif flow.echo:
            self.flow(link, link.credit)

    def _transfers(self, unit: Observed) -> None:
        transfer: spec.Transfer = unit.content
        session = self._sessions.get(unit.channel)
        if session is None:
            # The observer has said that there is none.
            return
        session.next_incoming_id += 1
        link = self.links.get((unit.channel, transfer.handle))
        if link is None:
            return
        if transfer.delivery_id is not None:
            link.delivery_id = transfer.delivery_id
        if transfer.more:
            return
        link.delivery_count += 1
        link.credit -= 1
        if "settle" not in self.held and not transfer.settled:
            self.settle(unit.channel, link.delivery_id, link.delivery_id, amqp.Accepted())

    def _settles(self, unit: Observed) -> None:
        told: spec.Disposition = unit.content
        if told.role == spec.RECEIVER and not told.settled:
            self.say(unit.channel, spec.Disposition(spec.SENDER, told.first, told.last, settled=True, state=told.state))

    def _detaches(self, unit: Observed) -> None:
        if self.links.pop((unit.channel, unit.content.handle), None) is not None:
            self.say(unit.channel, spec.Detach(unit.content.handle, unit.content.closed))

    def _ends(self, unit: Observed) -> None:
        if self._sessions.pop(unit.channel, None) is not None:
            self.say(unit.channel, spec.End())

    def _closes(self, unit: Observed) -> None:
        if not self.asked_for_the_end:
            self.say(0, spec.Close())
        self.asked_for_the_end = True

    # Steps of cases.

    def opened(self) -> None:
        self.take("open")

    def link(self, *, sender: bool) -> Link:
        """Serve the client until it has a link as a sender or receiver. Raises Surprise."""

        def found() -> Link | None:
            return next((each for each in self.links.values() if each.is_sender is sender), None)

        self.until(lambda: found() is not None or self.has_ended)
        link = found()
        if link is None:
            raise Surprise(f"no link as a {'sender' if sender else 'receiver'}: {self.described()}")
        return link

    def receiver(self) -> Link:
        """Serve the client until it has given credit. Raises Surprise."""
        link = self.link(sender=False)
        if not self.until(lambda: link.credit > 0 or self.has_ended) or link.credit <= 0:
            raise Surprise(f"no credit: {self.described()}")
        return link

    def hang_up(self, condition: str, text: str) -> Observed | None:
        """Close the connection; return the client's close, None if it doesn't come."""
        self.asked_for_the_end = True
        self.say(0, spec.Close(amqp.Error(condition, text)))
        return self.wait("close")

    def end_in_order(self) -> None:
        if not self.has_ended and not any(each.event == "close" for each in self.seen):
            self.asked_for_the_end = True
            self.say(0, spec.Close())

    def deliver_one(self) -> None:
        self.deliver(self.receiver(), b"m")

    def answer_request(self) -> str:
        """Answer the client's request; return the address for it. Raises Surprise."""
        request = self.take("transfer")
        while request.content.more:
            request = self.take("transfer")
        given = request.properties.properties if isinstance(request.properties, amqp.Message) else None
        if given is None or not given.reply_to:
            raise Surprise("the request has no reply-to")
        correlation = given.correlation_id if given.correlation_id is not None else given.message_id
        about = amqp.Properties(correlation_id=correlation)
        self.deliver(self.receiver(), amqp.Message(b"answer", properties=about))
        return str(given.reply_to)

    def product(self) -> tuple[str, str]:
        given = {} if self.opened_as is None else dict(self.opened_as.properties or {})
        return str(given.get("product", "")), str(given.get("version", ""))

    # Judgements.

    def closes(self, seconds: float | None = None) -> Observed | None:
        return self.wait("close", seconds=seconds)

    def is_over(self) -> bool:
        return self.asked_for_the_end and any(each.event == "close" for each in self.seen)

    def wrong_end(self) -> str:
        names = [each.event for each in self.seen]
        if "close" in names:
            late = names[names.index("close") + 1 :]
            return f"the end: {late[0]} behind close" if late else ""
        if "open" not in names:
            return ""
        return (
            "the end: no close" if self.asked_for_the_end else "the end: the client drops the connection without close"
        )

    def frames(self) -> list[int]:
        """Return the size of each frame that the client sent."""
        octets = self.said
        found: list[int] = []
        at = 0
        while at + 8 <= len(octets):
            if octets[at : at + 4] == b"AMQP":
                at += 8
                continue
            (size,) = struct.unpack_from(">I", octets, at)
            found.append(size)
            at += max(size, 8)
        return found

    def transfers(self) -> list[spec.Transfer]:
        """Return the client's transfers so far."""
        return [each.content for each in self.seen if each.event == "transfer"]
