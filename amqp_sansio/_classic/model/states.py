"""State tables of AMQP 0-8 and 0-9-1: connection, channel, content and channel mode.

The tables speak of what the client sends (`C_...`) and what the server sends (`S_...`), never of "we" and "they": an
endpoint that sends and an observer that watches step the same row. What is absent is illegal.
Sources: 0-9-1 section 2.2.4 (connection life-cycle), 2.3.7, 4.2.6 (content), and the grammars in the XML of
both versions.

Guards that don't fit a table, all in `joint.py` and `bookkeeping.py`:

- a reply must answer a request of the other side that is still open on its channel;
- a method must be one that its sender may send (`SENT_BY`);
- content on channel 0 and connection methods elsewhere;
- delivery tags, consumer tags and confirm numbers must be known and open.

Lenient on purpose, because real peers do it: `S_CLOSE` before the connection is open (RabbitMQ answers a bad
password or
virtual host so, though 2.2.4 forbids it), and the client's channel frames after `C_OPEN` and before
`S_OPEN_OK` (pipelining).
"""

from __future__ import annotations

from typing import Final

from ..._core.state_table import Table, TableEnum


class Connection(TableEnum):
    """States of a connection, of both ends together."""

    START = "start"
    HEADER_SENT = "header sent"
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
    CLIENT_CLOSE_LEFT = "client's close unanswered"
    SERVER_CLOSE_LEFT = "server's close unanswered"
    END = "end"


class On(TableEnum):
    """Inputs of the connection table. C: the client sends, S: the server sends."""

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
    C_OTHER = "C:other"
    S_OTHER = "S:other"
    C_CLOSE = "C:close"
    S_CLOSE = "S:close"
    C_CLOSE_OK = "C:close-ok"
    S_CLOSE_OK = "S:close-ok"


class Channel(TableEnum):
    """States of a channel, of both ends together."""

    CLOSED = "closed"
    OPENING = "opening"
    OPEN = "open"
    CLIENT_CLOSING = "client closing"
    SERVER_CLOSING = "server closing"
    BOTH_CLOSING = "both closing"
    CLIENT_CLOSE_LEFT = "client's close unanswered"
    SERVER_CLOSE_LEFT = "server's close unanswered"


class Ch(TableEnum):
    """Inputs of the channel table; OTHER is every method, header or body that isn't named."""

    C_OPEN = "C:open"
    S_OPEN_OK = "S:open-ok"
    C_OTHER = "C:other"
    S_OTHER = "S:other"
    C_CLOSE = "C:close"
    S_CLOSE = "S:close"
    C_CLOSE_OK = "C:close-ok"
    S_CLOSE_OK = "S:close-ok"


class Content(TableEnum):
    """States of the content that one side sends on one channel."""

    IDLE = "idle"
    HEADER = "header expected"
    BODY = "body expected"


class Piece(TableEnum):
    """Inputs of the content table."""

    METHOD = "method"
    CONTENT_METHOD = "method with content"
    EMPTY_HEADER = "header of an empty body"
    HEADER = "header"
    BODY = "body, more to come"
    LAST_BODY = "last body"
    CLOSE = "close or close-ok"


class Mode(TableEnum):
    """What a channel was selected for."""

    NORMAL = "normal"
    TRANSACTED = "transacted"
    CONFIRM = "confirm"
    DISTRIBUTED = "distributed transaction"


class Select(TableEnum):
    """Inputs of the mode table."""

    TX_SELECT = "tx.select"
    TX_COMMIT = "tx.commit"
    TX_ROLLBACK = "tx.rollback"
    CONFIRM_SELECT = "confirm.select"
    DTX_SELECT = "dtx.select"
    DTX_START = "dtx.start"


# fmt: off
CONNECTION: Final[Table[Connection, On]] = {
    Connection.START:             {On.C_HEADER:    Connection.HEADER_SENT},
    Connection.HEADER_SENT:       {On.S_START:     Connection.STARTED,
                                   On.S_HEADER:    Connection.END},
    Connection.STARTED:           {On.C_START_OK:  Connection.AUTHENTICATING},
    Connection.AUTHENTICATING:    {On.S_SECURE:    Connection.CHALLENGED,
                                   On.S_TUNE:      Connection.TUNING,
                                   On.S_CLOSE:     Connection.SERVER_CLOSING},
    Connection.CHALLENGED:        {On.C_SECURE_OK: Connection.AUTHENTICATING},
    Connection.TUNING:            {On.C_TUNE_OK:   Connection.TUNED},
    Connection.TUNED:             {On.C_OPEN:      Connection.OPENING,
                                   On.S_CLOSE:     Connection.SERVER_CLOSING},
    Connection.OPENING:           {On.S_OPEN_OK:   Connection.OPEN,
                                   On.S_REDIRECT:  Connection.END,
                                   On.C_OTHER:     Connection.OPENING,
                                   On.C_CLOSE:     Connection.CLIENT_CLOSING,
                                   On.S_CLOSE:     Connection.SERVER_CLOSING},
    Connection.OPEN:              {On.C_OTHER:     Connection.OPEN,
                                   On.S_OTHER:     Connection.OPEN,
                                   On.C_CLOSE:     Connection.CLIENT_CLOSING,
                                   On.S_CLOSE:     Connection.SERVER_CLOSING},
    Connection.CLIENT_CLOSING:    {On.S_OTHER:     Connection.CLIENT_CLOSING,
                                   On.S_OPEN_OK:   Connection.CLIENT_CLOSING,
                                   On.S_CLOSE_OK:  Connection.END,
                                   On.S_CLOSE:     Connection.BOTH_CLOSING},
    Connection.SERVER_CLOSING:    {On.C_OTHER:     Connection.SERVER_CLOSING,
                                   On.C_OPEN:      Connection.SERVER_CLOSING,
                                   On.C_CLOSE_OK:  Connection.END,
                                   On.C_CLOSE:     Connection.BOTH_CLOSING},
    Connection.BOTH_CLOSING:      {On.C_CLOSE_OK:  Connection.CLIENT_CLOSE_LEFT,
                                   On.S_CLOSE_OK:  Connection.SERVER_CLOSE_LEFT},
    Connection.CLIENT_CLOSE_LEFT: {On.S_CLOSE_OK:  Connection.END},
    Connection.SERVER_CLOSE_LEFT: {On.C_CLOSE_OK:  Connection.END},
    Connection.END:               {},
}

CHANNEL: Final[Table[Channel, Ch]] = {
    Channel.CLOSED:            {Ch.C_OPEN:     Channel.OPENING},
    Channel.OPENING:           {Ch.S_OPEN_OK:  Channel.OPEN,
                                Ch.C_OTHER:    Channel.OPENING,
                                Ch.C_CLOSE:    Channel.CLIENT_CLOSING,
                                Ch.S_CLOSE:    Channel.SERVER_CLOSING},
    Channel.OPEN:              {Ch.C_OTHER:    Channel.OPEN,
                                Ch.S_OTHER:    Channel.OPEN,
                                Ch.C_CLOSE:    Channel.CLIENT_CLOSING,
                                Ch.S_CLOSE:    Channel.SERVER_CLOSING},
    Channel.CLIENT_CLOSING:    {Ch.S_OTHER:    Channel.CLIENT_CLOSING,
                                Ch.S_OPEN_OK:  Channel.CLIENT_CLOSING,
                                Ch.S_CLOSE_OK: Channel.CLOSED,
                                Ch.S_CLOSE:    Channel.BOTH_CLOSING},
    Channel.SERVER_CLOSING:    {Ch.C_OTHER:    Channel.SERVER_CLOSING,
                                Ch.C_CLOSE_OK: Channel.CLOSED,
                                Ch.C_CLOSE:    Channel.BOTH_CLOSING},
    Channel.BOTH_CLOSING:      {Ch.C_CLOSE_OK: Channel.CLIENT_CLOSE_LEFT,
                                Ch.S_CLOSE_OK: Channel.SERVER_CLOSE_LEFT},
    Channel.CLIENT_CLOSE_LEFT: {Ch.S_CLOSE_OK: Channel.CLOSED},
    Channel.SERVER_CLOSE_LEFT: {Ch.C_CLOSE_OK: Channel.CLOSED},
}

CONTENT: Final[Table[Content, Piece]] = {
    Content.IDLE:   {Piece.METHOD:         Content.IDLE,
                     Piece.CLOSE:          Content.IDLE,
                     Piece.CONTENT_METHOD: Content.HEADER},
    Content.HEADER: {Piece.EMPTY_HEADER:   Content.IDLE,
                     Piece.HEADER:         Content.BODY,
                     Piece.CLOSE:          Content.IDLE},
    Content.BODY:   {Piece.BODY:           Content.BODY,
                     Piece.LAST_BODY:      Content.IDLE,
                     Piece.CLOSE:          Content.IDLE},
}

MODE: Final[Table[Mode, Select]] = {
    Mode.NORMAL:      {Select.TX_SELECT:      Mode.TRANSACTED,
                       Select.CONFIRM_SELECT: Mode.CONFIRM,
                       Select.DTX_SELECT:     Mode.DISTRIBUTED},
    Mode.TRANSACTED:  {Select.TX_SELECT:      Mode.TRANSACTED,
                       Select.TX_COMMIT:      Mode.TRANSACTED,
                       Select.TX_ROLLBACK:    Mode.TRANSACTED},
    Mode.CONFIRM:     {Select.CONFIRM_SELECT: Mode.CONFIRM},
    Mode.DISTRIBUTED: {Select.DTX_SELECT:     Mode.DISTRIBUTED,
                       Select.DTX_START:      Mode.DISTRIBUTED},
}
# fmt: on

CONNECTION_INPUTS: Final[dict[str, tuple[On | None, On | None]]] = {
    "connection.start": (None, On.S_START),
    "connection.start-ok": (On.C_START_OK, None),
    "connection.secure": (None, On.S_SECURE),
    "connection.secure-ok": (On.C_SECURE_OK, None),
    "connection.tune": (None, On.S_TUNE),
    "connection.tune-ok": (On.C_TUNE_OK, None),
    "connection.open": (On.C_OPEN, None),
    "connection.open-ok": (None, On.S_OPEN_OK),
    "connection.redirect": (None, On.S_REDIRECT),
    "connection.close": (On.C_CLOSE, On.S_CLOSE),
    "connection.close-ok": (On.C_CLOSE_OK, On.S_CLOSE_OK),
}
"""The input that a connection method is, sent by the client and by the server; others are OTHER."""

CHANNEL_INPUTS: Final[dict[str, tuple[Ch | None, Ch | None]]] = {
    "channel.open": (Ch.C_OPEN, None),
    "channel.open-ok": (None, Ch.S_OPEN_OK),
    "channel.close": (Ch.C_CLOSE, Ch.S_CLOSE),
    "channel.close-ok": (Ch.C_CLOSE_OK, Ch.S_CLOSE_OK),
}
"""The input that a channel method is, sent by the client and by the server; others are OTHER."""

MODE_INPUTS: Final[dict[str, Select]] = {
    "tx.select": Select.TX_SELECT,
    "tx.commit": Select.TX_COMMIT,
    "tx.rollback": Select.TX_ROLLBACK,
    "confirm.select": Select.CONFIRM_SELECT,
    "dtx.select": Select.DTX_SELECT,
    "dtx.start": Select.DTX_START,
}
"""The methods that need or change a channel's mode."""
