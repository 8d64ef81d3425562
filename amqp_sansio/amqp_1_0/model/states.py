"""State tables of AMQP 1.0: one for each sending half of a connection, session, link and delivery.

Each peer has its own half of everything, opens and closes it by itself, and may send ahead of the other one's answer.
So a table speaks of one half only: a row lists the frames that a peer may send in a state of its own half, and the
other half doesn't matter to it. Both peers obey the same rows, and an endpoint steps one half for the frames it
sends, the other for those it receives; an observer steps both. Pipelined frames and crossing closes need no rows for
that reason. An absent input breaks a rule, and the half's owner is to blame.

How the tables work together. The halves of outer things admit those within:

1. `CONNECTION` (part 2 sections 2.4.1 to 2.4.6): the protocol header, open, any frames, close. `FRAME` stands for
   every performative from begin to end. The named states of section 2.4.6 follow from the two halves
   (`connection_state`).
2. `SASL` (part 5 section 5.3.2) is the exception: its exchange has strict turns, so one state describes both peers,
   and an input names the only side that may send it. It comes before `CONNECTION` and knows nothing of it.
3. `SESSION` (part 2 section 2.5.5), for each channel that a peer has begun: begin, frames of links, end.
4. `LINK` (part 2 sections 2.6.3 to 2.6.6), for each name and role in a session: attach, frames, one of three
   detaches. A link that was detached may be attached again; after an error only to resume it, after `CLOSE` not at
   all.
5. `DELIVERY` (part 2 section 2.6.14), for the sending peer only: transfers with more to come, the last one, or the
   one that aborts.

Guards that depend on the other half, on numbers or on fields stand beside the tables:

- `connection.py`: channel-max, and limits that hold before the other side's open (2.4.4); the begin that answers a
  begin (2.5.1); windows and the fields of flow (2.5.6);
- `link_state.py`: handles and handle-max (2.6.2), stealing of links (2.6.1), credit (2.6.7), delivery-ids and tags
  (2.6.12), settlement and the states that a peer may tell of a delivery (part 3 section 3.4);
- `resume.py`: the fate of each delivery when a link is resumed (2.6.13, part 3 section 3.4.6).

These judge a frame by what its sender may have known: what the other half has sent meanwhile may not have arrived, so
a credit or window counts up to the farthest limit that was ever granted.
"""

from __future__ import annotations

from ..._checking import TYPE_CHECKING
from ..._ground.state_table import Table, TableEnum
from ..codec.conditions import ReceiverSettleMode, SenderSettleMode

if TYPE_CHECKING:
    from typing import Final


class Connection(TableEnum):
    """The state of one peer's half of a connection, by what it has sent (part 2 section 2.4.6)."""

    START = "nothing sent"
    HEADER = "header sent"
    OPEN = "open sent"
    CLOSED = "close sent"


class ConnectionInput(TableEnum):
    """Inputs of a peer's half of a connection."""

    HEADER = "header"
    OPEN = "open"
    FRAME = "frame"
    EMPTY = "empty frame"
    CLOSE = "close"


CONNECTION: Final[Table[Connection, ConnectionInput]] = {
    Connection.START: {ConnectionInput.HEADER: Connection.HEADER},
    Connection.HEADER: {ConnectionInput.OPEN: Connection.OPEN},
    Connection.OPEN: {
        ConnectionInput.FRAME: Connection.OPEN,
        ConnectionInput.EMPTY: Connection.OPEN,
        ConnectionInput.CLOSE: Connection.CLOSED,
    },
    Connection.CLOSED: {},
}


class Sasl(TableEnum):
    """Where both peers are in the SASL exchange (part 5 section 5.3.2)."""

    START = "nothing sent"
    OFFERED = "mechanisms offered"
    CHOSEN = "server's turn"
    CHALLENGED = "client's turn"
    DONE = "outcome sent"


class SaslInput(TableEnum):
    """A SASL frame and the only side that may send it."""

    MECHANISMS = "server sends sasl-mechanisms"
    INIT = "client sends sasl-init"
    CHALLENGE = "server sends sasl-challenge"
    RESPONSE = "client sends sasl-response"
    OUTCOME = "server sends sasl-outcome"


SASL: Final[Table[Sasl, SaslInput]] = {
    Sasl.START: {SaslInput.MECHANISMS: Sasl.OFFERED},
    Sasl.OFFERED: {SaslInput.INIT: Sasl.CHOSEN},
    Sasl.CHOSEN: {SaslInput.CHALLENGE: Sasl.CHALLENGED, SaslInput.OUTCOME: Sasl.DONE},
    Sasl.CHALLENGED: {SaslInput.RESPONSE: Sasl.CHOSEN},
    Sasl.DONE: {},
}


class Session(TableEnum):
    """The state of one peer's half of a session, by what it has sent (part 2 section 2.5.5)."""

    UNMAPPED = "unmapped"
    MAPPED = "mapped"
    ENDED = "ended"


class SessionInput(TableEnum):
    """Inputs of a peer's half of a session."""

    BEGIN = "begin"
    FRAME = "attach, flow, transfer, disposition, detach"
    END = "end"


SESSION: Final[Table[Session, SessionInput]] = {
    Session.UNMAPPED: {SessionInput.BEGIN: Session.MAPPED},
    Session.MAPPED: {SessionInput.FRAME: Session.MAPPED, SessionInput.END: Session.ENDED},
    Session.ENDED: {},
}


class Link(TableEnum):
    """The state of one peer's half of a link, by what it has sent (part 2 sections 2.6.3 to 2.6.6)."""

    DETACHED = "detached"
    ATTACHED = "attached"
    FAILED = "detached with an error"
    CLOSED = "closed"


class LinkInput(TableEnum):
    """Inputs of a peer's half of a link."""

    ATTACH = "attach"
    RESUME = "attach with an unsettled map"
    FLOW = "flow"
    TRANSFER = "transfer"
    DETACH = "detach"
    FAIL = "detach with an error"
    CLOSE = "detach closed"


LINK: Final[Table[Link, LinkInput]] = {
    Link.DETACHED: {LinkInput.ATTACH: Link.ATTACHED, LinkInput.RESUME: Link.ATTACHED},
    Link.ATTACHED: {
        LinkInput.FLOW: Link.ATTACHED,
        LinkInput.TRANSFER: Link.ATTACHED,
        LinkInput.DETACH: Link.DETACHED,
        LinkInput.FAIL: Link.FAILED,
        LinkInput.CLOSE: Link.CLOSED,
    },
    Link.FAILED: {LinkInput.RESUME: Link.ATTACHED},
    Link.CLOSED: {},
}


class Delivery(TableEnum):
    """How much of a delivery its sender has sent (part 2 section 2.6.14)."""

    NOT_SENT = "not sent"
    SENDING = "sending"
    SENT = "sent"
    ABORTED = "aborted"


class DeliveryInput(TableEnum):
    """A transfer, by its flags."""

    MORE = "transfer more"
    LAST = "transfer"
    ABORT = "transfer aborted"


DELIVERY: Final[Table[Delivery, DeliveryInput]] = {
    Delivery.NOT_SENT: {
        DeliveryInput.MORE: Delivery.SENDING,
        DeliveryInput.LAST: Delivery.SENT,
        # A resumed delivery that can't go on is aborted by its first transfer (part 3 section 3.4.6, tag 7).
        DeliveryInput.ABORT: Delivery.ABORTED,
    },
    Delivery.SENDING: {
        DeliveryInput.MORE: Delivery.SENDING,
        DeliveryInput.LAST: Delivery.SENT,
        DeliveryInput.ABORT: Delivery.ABORTED,
    },
    Delivery.SENT: {},
    Delivery.ABORTED: {},
}

# The states and settle modes that most code asks for, as globals: those cost less than members of a class.
OPEN: Final = Connection.OPEN
MAPPED: Final = Session.MAPPED
UNMAPPED: Final = Session.UNMAPPED
ENDED: Final = Session.ENDED
ATTACHED: Final = Link.ATTACHED
DETACHED: Final = Link.DETACHED
NOT_SENT: Final = Delivery.NOT_SENT
SENDING: Final = Delivery.SENDING
SENT: Final = Delivery.SENT
ABORTED: Final = Delivery.ABORTED
SND_UNSETTLED: Final = SenderSettleMode.UNSETTLED
SND_SETTLED: Final = SenderSettleMode.SETTLED
RCV_FIRST: Final = ReceiverSettleMode.FIRST
RCV_SECOND: Final = ReceiverSettleMode.SECOND

_NAMES: Final = {
    (Connection.START, Connection.START): "START",
    (Connection.START, Connection.HEADER): "HDR_RCVD",
    (Connection.HEADER, Connection.START): "HDR_SENT",
    (Connection.HEADER, Connection.HEADER): "HDR_EXCH",
    (Connection.HEADER, Connection.OPEN): "OPEN_RCVD",
    (Connection.OPEN, Connection.START): "OPEN_PIPE",
    (Connection.OPEN, Connection.HEADER): "OPEN_SENT",
    (Connection.OPEN, Connection.OPEN): "OPENED",
    (Connection.OPEN, Connection.CLOSED): "CLOSE_RCVD",
    (Connection.CLOSED, Connection.START): "OC_PIPE",
    (Connection.CLOSED, Connection.HEADER): "CLOSE_PIPE",
    (Connection.CLOSED, Connection.OPEN): "CLOSE_SENT",
    (Connection.CLOSED, Connection.CLOSED): "END",
}


def connection_state(own: Connection, peer: Connection) -> str:
    """The state's name in part 2 section 2.4.6, seen by the peer whose half is `own`.

    The specification has no name where a peer pipelined its open or close while the other hadn't sent its own
    header or open; there the name of the last state on the way is given.

    >>> connection_state(Connection.OPEN, Connection.HEADER)
    'OPEN_SENT'
    """
    name = _NAMES.get((own, peer))
    if name is not None:
        return name
    return "HDR_RCVD" if own is Connection.START else "OPEN_RCVD"
