"""The state tables of AMQP 1.0: one for each sending half of a connection, session, link and delivery.

Both peers obey the same rows, each for what it sends; what a half may do because of the other one (windows, credit,
answers) is checked beside the tables, in `connection` and `link_state`. The named states of part 2 section 2.4.6
follow from the two halves of a connection (`connection_state`).
"""

from __future__ import annotations

from typing import Final

from ..._core.state_table import Table, TableEnum


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
