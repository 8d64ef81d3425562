"""Conversations of 1.0 under observation, written as records: what each side sends, and what the lifecycle says."""

from __future__ import annotations

from typing import Any

from amqp_sansio import Side
from amqp_sansio import amqp_1_0 as amqp
from amqp_sansio.amqp_1_0 import spec
from amqp_sansio.observer import Observed
from tests.kit.observing import Conversation

AMQP = b"AMQP\x00\x01\x00\x00"
SASL = b"AMQP\x03\x01\x00\x00"


def frame(record: spec.Performative | spec.SaslFrame, payload: bytes = b"", channel: int = 0) -> bytes:
    kind = 1 if isinstance(record, spec.SaslFrame) else 0
    body = record.encode() + payload
    return (len(body) + 8).to_bytes(4) + bytes((2, kind)) + channel.to_bytes(2) + body


class Talk10(Conversation):
    """A conversation of 1.0, written as frames."""

    def octets(self, what: spec.Performative | spec.SaslFrame | bytes, channel: int = 0) -> bytes:
        """A frame, or the octets themselves."""
        return what if isinstance(what, bytes) else frame(what, b"", channel)

    # What happens in most conversations.

    def login(self, mechanism: str = "PLAIN", response: bytes = b"\0ann\0pw") -> Talk10:
        """The SASL layer, to its good end."""
        self.client(SASL).server(SASL, spec.SaslMechanisms((amqp.Symbol(mechanism),)))
        self.client(spec.SaslInit(amqp.Symbol(mechanism), response)).server(spec.SaslOutcome(0))
        return self

    def open(self, **fields: Any) -> Talk10:
        """Both headers and opens; `fields` are the client's."""
        self.client(AMQP, spec.Open("c", **fields))
        return self.server(AMQP, spec.Open("s", max_frame_size=16_384, channel_max=255))

    def session(self, channel: int = 0, answer: int | None = None) -> Talk10:
        """A session that the client begins; the server answers on its channel `answer`, or on the same."""
        self.client(begin(), channel=channel)
        other = channel if answer is None else answer
        return self.server(begin(channel), channel=other)

    def sender(self, name: str = "out", address: str | None = "q", handle: int = 0, **fields: Any) -> Talk10:
        """A link on which the client sends."""
        source, target = amqp.Source(address="me"), amqp.Target(address=address)
        self.client(spec.Attach(name, handle, False, source=source, target=target, initial_delivery_count=0, **fields))
        return self.server(spec.Attach(name, handle, True, source=source, target=target))

    def receiver(self, name: str = "in", handle: int = 1, source: amqp.Source | None = None) -> Talk10:
        """A link on which the client receives; `source` is what the server says."""
        self.client(spec.Attach(name, handle, True, source=amqp.Source(address="q"), target=amqp.Target()))
        terminus = amqp.Source(address="q") if source is None else source
        answer = spec.Attach(name, handle, False, source=terminus, target=amqp.Target(), initial_delivery_count=0)
        return self.server(answer)

    def controller(self, handle: int = 9) -> Talk10:
        """A link to a coordinator."""
        self.client(
            spec.Attach("tx", handle, False, source=amqp.Source(), target=spec.Coordinator(), initial_delivery_count=0)
        )
        return self.server(spec.Attach("tx", handle, True, source=amqp.Source(), target=spec.Coordinator()))

    def declare(self, number: int, txn: bytes = b"t", handle: int = 9) -> Talk10:
        self.client(transfer(number, amqp.Message(spec.Declare()), handle=handle))
        return self.server(settle(number, spec.Declared(txn)))

    def discharge(self, number: int, txn: bytes = b"t", *, fail: bool = False, answer: Any = None) -> Talk10:
        """A transaction is discharged; accepted, unless there's another answer."""
        self.client(transfer(number, amqp.Message(spec.Discharge(txn, fail)), handle=9))
        return self.server(settle(number, amqp.Accepted() if answer is None else answer))

    def last(self, side: Side | None = None) -> Observed:
        """The last unit, of one side or of either."""
        return [event for event in self.observed if side in (None, event.sender)][-1]


HELLO = amqp.Message(b"hello")


def opened(**options: Any) -> Talk10:
    """A connection with a session, a link on which the client sends and one on which it receives."""
    talk = Talk10(**options).open().session().sender().receiver()
    return talk.server(credit(0)).client(credit(1))


def sent(*numbers: int, **options: Any) -> Talk10:
    """The client has sent messages with these delivery-ids."""
    talk = opened(**options)
    for number in numbers:
        talk.client(transfer(number, HELLO))
    return talk


def got(*numbers: int, **options: Any) -> Talk10:
    """The server has sent messages with these delivery-ids."""
    talk = opened(**options)
    for number in numbers:
        talk.server(transfer(number, HELLO, handle=1))
    return talk


def begin(remote_channel: int | None = None) -> spec.Begin:
    """A begin with wide windows."""
    return spec.Begin(remote_channel, next_outgoing_id=0, incoming_window=1000, outgoing_window=1000)


def credit(handle: int, count: int = 100) -> spec.Performative:
    """A flow that gives credit on a link."""
    from amqp_sansio.amqp_1_0.spec import Flow

    return Flow(
        next_incoming_id=0,
        incoming_window=1000,
        next_outgoing_id=0,
        outgoing_window=1000,
        handle=handle,
        delivery_count=0,
        link_credit=count,
    )


def transfer(
    number: int | None,
    message: amqp.Message | bytes = b"",
    *,
    handle: int = 0,
    channel: int = 0,
    tag: bytes | None = None,
    **fields: Any,
) -> bytes:
    """The frame of a transfer; its tag is made of its number."""
    if tag is None and number is not None:
        tag = b"%d" % number
    if isinstance(message, amqp.Message):
        message = message.encode()
    return frame(spec.Transfer(handle, number, tag, 0, **fields), message, channel)


def settle(
    first: int, state: Any = None, last: int | None = None, *, role: bool = True, settled: bool = True
) -> spec.Disposition:
    """A disposition; `role` is true for the receiver's."""
    return spec.Disposition(role, first, last, settled, state)


def within(txn: bytes, outcome: Any = None) -> spec.TransactionalState:
    """The state of a delivery in a transaction."""
    return spec.TransactionalState(txn, outcome)
