"""State tables of AMQP 0-10: the connection, the attachment of a session, and a transferred message.

The connection's table speaks of what the client (`C:`) and the server (`S:`) send, that of an attachment of its
initiator (`I:`, who sends session.attach) and its acceptor (`A:`): an end that sends and one that receives step the
same row of the same table. What is absent is illegal. Sources: the grammar of class 1 (connection), class 2 (session)
with part 1 section 3.6, the transfer states of class 4 (message).

Guards that don't fit a table: numbers of channels, sizes of frames and heartbeats must be those agreed (`opening`); a
session's first command needs a command-point, ids count from there (`session_states`, `receiving`); credit (`credit`).
"""

from __future__ import annotations

from typing import Final

from ..._core.state_table import Table, TableEnum


class Connection(TableEnum):
    """States of a connection, of both ends together."""

    START = "start"
    HEADER_SENT = "header sent"
    HEADERS = "headers exchanged"
    STARTED = "started"
    AUTHENTICATING = "authenticating"
    CHALLENGED = "challenged"
    TUNING = "tuning"
    TUNED = "tuned"
    OPENING = "opening"
    OPEN = "open"
    CLIENT_CLOSING = "client closing"
    SERVER_CLOSING = "server closing"
    BOTH_CLOSING = "both closing"
    END = "end"


class On(TableEnum):
    """Inputs of the connection's table. C: the client sends, S: the server sends."""

    C_HEADER = "C:header"
    S_HEADER = "S:header"
    S_START = "S:start"
    C_START_OK = "C:start-ok"
    S_SECURE = "S:secure"
    C_SECURE_OK = "C:secure-ok"
    S_TUNE = "S:tune"
    C_TUNE_OK = "C:tune-ok"
    C_OPEN = "C:open"
    S_OPEN_OK = "S:open-ok"
    S_REDIRECT = "S:redirect"
    C_HEARTBEAT = "C:heartbeat"
    S_HEARTBEAT = "S:heartbeat"
    C_OTHER = "C:other"
    S_OTHER = "S:other"
    C_CLOSE = "C:close"
    S_CLOSE = "S:close"
    C_CLOSE_OK = "C:close-ok"
    S_CLOSE_OK = "S:close-ok"


_C = Connection

CONNECTION: Final[Table[Connection, On]] = {
    _C.START: {On.C_HEADER: _C.HEADER_SENT},
    _C.HEADER_SENT: {On.S_HEADER: _C.HEADERS},
    _C.HEADERS: {On.S_START: _C.STARTED, On.S_CLOSE: _C.SERVER_CLOSING},
    _C.STARTED: {
        On.C_START_OK: _C.AUTHENTICATING,
        On.C_CLOSE: _C.CLIENT_CLOSING,
        On.S_CLOSE: _C.SERVER_CLOSING,
    },
    _C.AUTHENTICATING: {
        On.S_SECURE: _C.CHALLENGED,
        On.S_TUNE: _C.TUNING,
        On.C_CLOSE: _C.CLIENT_CLOSING,
        On.S_CLOSE: _C.SERVER_CLOSING,
    },
    _C.CHALLENGED: {
        On.C_SECURE_OK: _C.AUTHENTICATING,
        On.C_CLOSE: _C.CLIENT_CLOSING,
        On.S_CLOSE: _C.SERVER_CLOSING,
    },
    _C.TUNING: {
        On.C_TUNE_OK: _C.TUNED,
        On.C_CLOSE: _C.CLIENT_CLOSING,
        On.S_CLOSE: _C.SERVER_CLOSING,
    },
    _C.TUNED: {
        On.C_OPEN: _C.OPENING,
        On.C_HEARTBEAT: _C.TUNED,
        On.S_HEARTBEAT: _C.TUNED,
        On.C_CLOSE: _C.CLIENT_CLOSING,
        On.S_CLOSE: _C.SERVER_CLOSING,
    },
    _C.OPENING: {
        On.S_OPEN_OK: _C.OPEN,
        On.S_REDIRECT: _C.END,
        On.C_HEARTBEAT: _C.OPENING,
        On.S_HEARTBEAT: _C.OPENING,
        On.C_CLOSE: _C.CLIENT_CLOSING,
        On.S_CLOSE: _C.SERVER_CLOSING,
    },
    _C.OPEN: {
        On.C_OTHER: _C.OPEN,
        On.S_OTHER: _C.OPEN,
        On.C_HEARTBEAT: _C.OPEN,
        On.S_HEARTBEAT: _C.OPEN,
        On.C_CLOSE: _C.CLIENT_CLOSING,
        On.S_CLOSE: _C.SERVER_CLOSING,
    },
    _C.CLIENT_CLOSING: {On.S_CLOSE_OK: _C.END, On.S_CLOSE: _C.BOTH_CLOSING},
    _C.SERVER_CLOSING: {On.C_CLOSE_OK: _C.END, On.C_CLOSE: _C.BOTH_CLOSING},
    _C.BOTH_CLOSING: {On.C_CLOSE_OK: _C.END, On.S_CLOSE_OK: _C.END},
    _C.END: {},
}
"""Either end may close from the start on: peers tell a refused login so, though the grammar has no close there."""


class Attachment(TableEnum):
    """States of a session's attachment to a channel, of both ends together."""

    DETACHED = "detached"
    ATTACHING = "attaching"
    LEAVING = "detach sent behind attach"
    ATTACHED = "attached"
    INITIATOR_DETACHING = "initiator detaching"
    ACCEPTOR_DETACHING = "acceptor detaching"


class At(TableEnum):
    """Inputs of the attachment's table. I: the initiator sends, A: the acceptor sends."""

    I_ATTACH = "I:attach"
    A_ATTACHED = "A:attached"
    I_DETACH = "I:detach"
    A_DETACH = "A:detach"
    I_DETACHED = "I:detached"
    A_DETACHED = "A:detached"
    I_OTHER = "I:other"
    A_OTHER = "A:other"


_A = Attachment

ATTACHMENT: Final[Table[Attachment, At]] = {
    _A.DETACHED: {
        At.I_ATTACH: _A.ATTACHING,
        At.I_DETACHED: _A.DETACHED,
        At.A_DETACHED: _A.DETACHED,
    },
    _A.ATTACHING: {
        # Controls may follow attach at once: qpid-python sends its command-point so.
        At.I_OTHER: _A.ATTACHING,
        At.A_ATTACHED: _A.ATTACHED,
        At.A_DETACHED: _A.DETACHED,
        At.I_DETACH: _A.LEAVING,
    },
    _A.LEAVING: {At.A_ATTACHED: _A.INITIATOR_DETACHING, At.A_DETACHED: _A.DETACHED},
    _A.ATTACHED: {
        # Attaching again to where one is attached succeeds (rule idempotence).
        At.I_ATTACH: _A.ATTACHED,
        At.A_ATTACHED: _A.ATTACHED,
        At.I_OTHER: _A.ATTACHED,
        At.A_OTHER: _A.ATTACHED,
        At.I_DETACH: _A.INITIATOR_DETACHING,
        At.A_DETACH: _A.ACCEPTOR_DETACHING,
        At.I_DETACHED: _A.DETACHED,
        At.A_DETACHED: _A.DETACHED,
    },
    _A.INITIATOR_DETACHING: {
        At.A_OTHER: _A.INITIATOR_DETACHING,
        At.A_DETACHED: _A.DETACHED,
        # Both at once: neither need wait for the other any more.
        At.A_DETACH: _A.DETACHED,
    },
    _A.ACCEPTOR_DETACHING: {
        At.I_OTHER: _A.ACCEPTOR_DETACHING,
        At.I_DETACHED: _A.DETACHED,
        At.I_DETACH: _A.DETACHED,
    },
}


class Transfer(TableEnum):
    """States of a transferred message, as class 4 draws them."""

    START = "start"
    NOT_ACQUIRED = "not acquired"
    ACQUIRED = "acquired"
    END = "end"


class Move(TableEnum):
    """Inputs of the transfer's table. S: the sender of the message, R: its recipient."""

    S_TRANSFER_NONE = "S:transfer, accept-mode none"
    S_TRANSFER_PRE_ACQUIRED = "S:transfer, acquire-mode pre-acquired"
    S_TRANSFER_NOT_ACQUIRED = "S:transfer, acquire-mode not-acquired"
    R_ACQUIRE = "R:acquire, granted"
    R_ACQUIRE_IN_VAIN = "R:acquire, in vain"
    R_ACCEPT = "R:accept"
    R_REJECT = "R:reject"
    R_RELEASE = "R:release"


_T = Transfer

TRANSFER: Final[Table[Transfer, Move]] = {
    _T.START: {
        Move.S_TRANSFER_NONE: _T.END,
        Move.S_TRANSFER_PRE_ACQUIRED: _T.ACQUIRED,
        Move.S_TRANSFER_NOT_ACQUIRED: _T.NOT_ACQUIRED,
    },
    _T.NOT_ACQUIRED: {
        Move.R_ACQUIRE: _T.ACQUIRED,
        Move.R_ACQUIRE_IN_VAIN: _T.NOT_ACQUIRED,
        Move.R_RELEASE: _T.END,
        # A reject of what isn't acquired is ignored (rule message.reject.acquisition).
        Move.R_REJECT: _T.NOT_ACQUIRED,
    },
    _T.ACQUIRED: {
        Move.R_ACQUIRE: _T.ACQUIRED,
        Move.R_ACQUIRE_IN_VAIN: _T.ACQUIRED,
        Move.R_ACCEPT: _T.END,
        Move.R_REJECT: _T.END,
        Move.R_RELEASE: _T.END,
    },
    _T.END: {},
}


__all__ = [
    "ATTACHMENT",
    "CONNECTION",
    "TRANSFER",
    "At",
    "Attachment",
    "Connection",
    "Move",
    "On",
    "Transfer",
]
