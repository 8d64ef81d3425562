"""State tables of AMQP 0-10: the connection, the attachment of a session, and a transferred message.

The connection's table speaks of what the client (`C:`) and the server (`S:`) send, that of an attachment of its
initiator (`I:`, the end that sends session.attach) and its acceptor (`A:`), that of a transfer of the message's
sender (`S:`) and its recipient (`R:`). An end that sends and one that receives step the same row of the same table. A
row lists its legal inputs; an absent input is illegal. Sources: the grammar of class 1 (connection), class 2
(session) with part 1 sections 3.5 and 3.6, the transfer states of class 4 (message).

How the tables work together. A frame passes three layers, and each has its own table:

1. `CONNECTION` takes controls of the connection as inputs of their own; controls of sessions and frames of commands
   pass when it is `OPEN`. An end that has sent its close discards everything else until the answer, so the closing
   rows list only closes and their answers.
2. `ATTACHMENT` has one state for each channel, while a session uses it (part 1 section 3.5.1). Commands and the other
   controls are `I_OTHER` and `A_OTHER`. Attachments come and go while the session stays: its state is no row here but
   two sets of command ids for each direction, those completed and those to send again (sections 3.2 and 3.5.2).
3. `TRANSFER` has one state for each message that its recipient must still settle. The accept-mode and acquire-mode of
   message.transfer choose the first row; message.acquire, accept, reject and release choose the next.

Two tables more stand where their rules are: `MODE` in `session_model` (transactions of class 5 or 6, which exclude
each other), and `BRANCH` and `ASSOCIATION` in `dtx_states` (the branches of class 6).

Endpoints step `CONNECTION` and `ATTACHMENT`, for both ends and in the order in which frames pass them. An observer
sees two streams without the order between them, so `observer/observed_model.py` keeps the controls of each side by
itself; it steps `TRANSFER` and `MODE` through the same `SessionHalf` as endpoints.

Guards that don't fit a table stand beside it, because they need numbers or the fields of a control or command:

- `opening_rules`: mechanisms, locales, channel-max, frame sizes and heartbeats (class 1);
- `command_ids`: a command-point before a session's first command, ids that count from there, completions of ids that
  were sent (part 1 sections 3.2 and 3.6);
- `session_model`: subscriptions and their destinations, requests of controls that must be answered (classes 2 and 4);
- `transfers`: the ids of accept, reject, release and acquire, and work that a transaction puts aside (classes 4 and
  5);
- `credit`: credit of messages and octets, by destination (class 4);
- `file_rules`: the file and stream classes (classes 9 and 10).
"""

from __future__ import annotations

from ..._checking import TYPE_CHECKING
from ..._ground.state_table import Table, TableEnum

if TYPE_CHECKING:
    from typing import Final


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


class ConnectionInput(TableEnum):
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
_I = ConnectionInput

_CLOSES: Final = {_I.C_CLOSE: _C.CLIENT_CLOSING, _I.S_CLOSE: _C.SERVER_CLOSING}
_BEATS: Final = (_I.C_HEARTBEAT, _I.S_HEARTBEAT)

CONNECTION: Final[Table[Connection, ConnectionInput]] = {
    _C.START: {_I.C_HEADER: _C.HEADER_SENT},
    _C.HEADER_SENT: {_I.S_HEADER: _C.HEADERS},
    _C.HEADERS: {_I.S_START: _C.STARTED, _I.S_CLOSE: _C.SERVER_CLOSING},
    _C.STARTED: {_I.C_START_OK: _C.AUTHENTICATING, **_CLOSES},
    _C.AUTHENTICATING: {_I.S_SECURE: _C.CHALLENGED, _I.S_TUNE: _C.TUNING, **_CLOSES},
    _C.CHALLENGED: {_I.C_SECURE_OK: _C.AUTHENTICATING, **_CLOSES},
    _C.TUNING: {_I.C_TUNE_OK: _C.TUNED, **_CLOSES},
    _C.TUNED: {_I.C_OPEN: _C.OPENING, **dict.fromkeys(_BEATS, _C.TUNED), **_CLOSES},
    _C.OPENING: {_I.S_OPEN_OK: _C.OPEN, _I.S_REDIRECT: _C.END, **dict.fromkeys(_BEATS, _C.OPENING), **_CLOSES},
    _C.OPEN: {**dict.fromkeys((_I.C_OTHER, _I.S_OTHER, *_BEATS), _C.OPEN), **_CLOSES},
    _C.CLIENT_CLOSING: {_I.S_CLOSE_OK: _C.END, _I.S_CLOSE: _C.BOTH_CLOSING},
    _C.SERVER_CLOSING: {_I.C_CLOSE_OK: _C.END, _I.C_CLOSE: _C.BOTH_CLOSING},
    _C.BOTH_CLOSING: {_I.C_CLOSE_OK: _C.END, _I.S_CLOSE_OK: _C.END},
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


class AttachmentInput(TableEnum):
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
_N = AttachmentInput
_GONE: Final = dict.fromkeys((_N.I_DETACHED, _N.A_DETACHED), _A.DETACHED)

ATTACHMENT: Final[Table[Attachment, AttachmentInput]] = {
    _A.DETACHED: {_N.I_ATTACH: _A.ATTACHING, **_GONE},
    _A.ATTACHING: {
        # Controls may follow attach at once: qpid-python sends its command-point so.
        _N.I_OTHER: _A.ATTACHING,
        _N.A_ATTACHED: _A.ATTACHED,
        _N.A_DETACHED: _A.DETACHED,
        _N.I_DETACH: _A.LEAVING,
    },
    _A.LEAVING: {_N.A_ATTACHED: _A.INITIATOR_DETACHING, _N.A_DETACHED: _A.DETACHED},
    _A.ATTACHED: {
        # Attaching again to where one is attached succeeds (rule idempotence).
        **dict.fromkeys((_N.I_ATTACH, _N.A_ATTACHED, _N.I_OTHER, _N.A_OTHER), _A.ATTACHED),
        _N.I_DETACH: _A.INITIATOR_DETACHING,
        _N.A_DETACH: _A.ACCEPTOR_DETACHING,
        **_GONE,
    },
    _A.INITIATOR_DETACHING: {
        _N.A_OTHER: _A.INITIATOR_DETACHING,
        _N.A_DETACHED: _A.DETACHED,
        # Both at once: neither need wait for the other any more.
        _N.A_DETACH: _A.DETACHED,
    },
    _A.ACCEPTOR_DETACHING: {_N.I_OTHER: _A.ACCEPTOR_DETACHING, _N.I_DETACHED: _A.DETACHED, _N.I_DETACH: _A.DETACHED},
}


class Transfer(TableEnum):
    """States of a transferred message, as class 4 draws them."""

    START = "start"
    NOT_ACQUIRED = "not acquired"
    ACQUIRED = "acquired"
    END = "end"


class TransferInput(TableEnum):
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

TRANSFER: Final[Table[Transfer, TransferInput]] = {
    _T.START: {
        TransferInput.S_TRANSFER_NONE: _T.END,
        TransferInput.S_TRANSFER_PRE_ACQUIRED: _T.ACQUIRED,
        TransferInput.S_TRANSFER_NOT_ACQUIRED: _T.NOT_ACQUIRED,
    },
    _T.NOT_ACQUIRED: {
        TransferInput.R_ACQUIRE: _T.ACQUIRED,
        TransferInput.R_ACQUIRE_IN_VAIN: _T.NOT_ACQUIRED,
        TransferInput.R_RELEASE: _T.END,
        # A reject of what isn't acquired is ignored (rule message.reject.acquisition).
        TransferInput.R_REJECT: _T.NOT_ACQUIRED,
    },
    _T.ACQUIRED: {
        TransferInput.R_ACQUIRE: _T.ACQUIRED,
        TransferInput.R_ACQUIRE_IN_VAIN: _T.ACQUIRED,
        TransferInput.R_ACCEPT: _T.END,
        TransferInput.R_REJECT: _T.END,
        TransferInput.R_RELEASE: _T.END,
    },
    _T.END: {},
}
