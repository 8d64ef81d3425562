"""State tables of AMQP 0-8 and 0-9-1: connection, channel, content and channel mode.

The tables speak of octets that the client sends (`C_...`) and that the server sends (`S_...`), never of "we" and
"they". One state describes both ends together, so a client, a server and an observer step the same row for the same
octets, and no rule can differ between them. A row lists its legal inputs; an input that is absent breaks a rule, and
its sender is to blame. Sources: 0-9-1 sections 2.2.4 (connection), 2.2.5 (channel), 2.3.7 (closing), 4.2.6 (content),
and the grammars in the XML of both versions.

How the tables work together. `ConnectionModel.step` leads each method through them from the outside in, and changes
nothing before all of them have taken it:

1. `CONNECTION` takes the methods of class connection as inputs of their own, and every method or content frame of a
   channel as `C_OTHER` or `S_OTHER`. So nothing passes on a channel before the connection allows it.
2. `CHANNEL` has one state for each channel number. A number whose channel is `CLOSED` may be opened again.
3. `CONTENT` has one state for each sender on each channel, and keeps a method with content, its header and its body
   together (4.2.6). A close or close-ok may cut it. Client and server may each have one content under way, and other
   channels go on between the frames.
4. `MODE` has one state for each channel: transactions, publisher confirms and distributed transactions exclude each
   other.

Both sides may close at the same time: then each close is answered, and the two answers may come in either order
(`BOTH_CLOSING` and the `..._CLOSE_LEFT` states). The side that has sent a close discards the frames of the other side
up to its close-ok (2.3.7, and the XML at connection.close and channel.close), so rows of closing states accept
`..._OTHER`; `ConnectionModel.discards` says so to the callers.

Guards that don't fit a table stand beside it, because they need numbers, names or the fields of a method:

- `connection.py`: the side that may send a method (the dialect's `senders`), channel 0 for the connection's own
  methods only (4.2.3), channel-max, a reply for an open request of the other side on its channel, sizes of content;
- `channel_state.py`: delivery tags, consumer tags and confirm numbers that must be known and open;
- `values.py` and `opening_rules.py`: the contents of fields, and mechanisms, locales and limits that the other side
  offered;
- `access.py`: the tickets of 0-8.

Lenient on purpose, because real peers do it: `S_CLOSE` before the connection is open (RabbitMQ answers a bad password
or virtual host so, though 2.2.4 forbids it), and the client's channel frames after `C_OPEN` and before `S_OPEN_OK`
(pipelining).
"""

from __future__ import annotations

from ..._checking import TYPE_CHECKING, TypeVar
from ..._ground.state_table import Table, TableEnum

if TYPE_CHECKING:
    from typing import Final


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


class ConnectionInput(TableEnum):
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


class ChannelInput(TableEnum):
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


class ContentInput(TableEnum):
    """Inputs of the content table."""

    METHOD = "method"
    CONTENT_METHOD = "method with content"
    EMPTY_HEADER = "header of an empty body"
    HEADER = "header"
    BODY = "body, more to come"
    LAST_BODY = "last body"
    CLOSE = "close or close-ok"


class Mode(TableEnum):
    """The mode that a channel was selected for."""

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
CONNECTION: Final[Table[Connection, ConnectionInput]] = {
    Connection.START:             {ConnectionInput.C_HEADER:    Connection.HEADER_SENT},
    Connection.HEADER_SENT:       {ConnectionInput.S_START:     Connection.STARTED,
                                   ConnectionInput.S_HEADER:    Connection.END},
    Connection.STARTED:           {ConnectionInput.C_START_OK:  Connection.AUTHENTICATING},
    Connection.AUTHENTICATING:    {ConnectionInput.S_SECURE:    Connection.CHALLENGED,
                                   ConnectionInput.S_TUNE:      Connection.TUNING,
                                   ConnectionInput.S_CLOSE:     Connection.SERVER_CLOSING},
    Connection.CHALLENGED:        {ConnectionInput.C_SECURE_OK: Connection.AUTHENTICATING},
    Connection.TUNING:            {ConnectionInput.C_TUNE_OK:   Connection.TUNED},
    Connection.TUNED:             {ConnectionInput.C_OPEN:      Connection.OPENING,
                                   ConnectionInput.S_CLOSE:     Connection.SERVER_CLOSING},
    Connection.OPENING:           {ConnectionInput.S_OPEN_OK:   Connection.OPEN,
                                   ConnectionInput.S_REDIRECT:  Connection.END,
                                   ConnectionInput.C_OTHER:     Connection.OPENING,
                                   ConnectionInput.C_CLOSE:     Connection.CLIENT_CLOSING,
                                   ConnectionInput.S_CLOSE:     Connection.SERVER_CLOSING},
    Connection.OPEN:              {ConnectionInput.C_OTHER:     Connection.OPEN,
                                   ConnectionInput.S_OTHER:     Connection.OPEN,
                                   ConnectionInput.C_CLOSE:     Connection.CLIENT_CLOSING,
                                   ConnectionInput.S_CLOSE:     Connection.SERVER_CLOSING},
    Connection.CLIENT_CLOSING:    {ConnectionInput.S_OTHER:     Connection.CLIENT_CLOSING,
                                   ConnectionInput.S_OPEN_OK:   Connection.CLIENT_CLOSING,
                                   ConnectionInput.S_CLOSE_OK:  Connection.END,
                                   ConnectionInput.S_CLOSE:     Connection.BOTH_CLOSING},
    Connection.SERVER_CLOSING:    {ConnectionInput.C_OTHER:     Connection.SERVER_CLOSING,
                                   ConnectionInput.C_OPEN:      Connection.SERVER_CLOSING,
                                   ConnectionInput.C_CLOSE_OK:  Connection.END,
                                   ConnectionInput.C_CLOSE:     Connection.BOTH_CLOSING},
    Connection.BOTH_CLOSING:      {ConnectionInput.C_CLOSE_OK:  Connection.CLIENT_CLOSE_LEFT,
                                   ConnectionInput.S_CLOSE_OK:  Connection.SERVER_CLOSE_LEFT},
    Connection.CLIENT_CLOSE_LEFT: {ConnectionInput.S_CLOSE_OK:  Connection.END},
    Connection.SERVER_CLOSE_LEFT: {ConnectionInput.C_CLOSE_OK:  Connection.END},
    Connection.END:               {},
}

CHANNEL: Final[Table[Channel, ChannelInput]] = {
    Channel.CLOSED:            {ChannelInput.C_OPEN:     Channel.OPENING},
    Channel.OPENING:           {ChannelInput.S_OPEN_OK:  Channel.OPEN,
                                ChannelInput.C_OTHER:    Channel.OPENING,
                                ChannelInput.C_CLOSE:    Channel.CLIENT_CLOSING,
                                ChannelInput.S_CLOSE:    Channel.SERVER_CLOSING},
    Channel.OPEN:              {ChannelInput.C_OTHER:    Channel.OPEN,
                                ChannelInput.S_OTHER:    Channel.OPEN,
                                ChannelInput.C_CLOSE:    Channel.CLIENT_CLOSING,
                                ChannelInput.S_CLOSE:    Channel.SERVER_CLOSING},
    Channel.CLIENT_CLOSING:    {ChannelInput.S_OTHER:    Channel.CLIENT_CLOSING,
                                ChannelInput.S_OPEN_OK:  Channel.CLIENT_CLOSING,
                                ChannelInput.S_CLOSE_OK: Channel.CLOSED,
                                ChannelInput.S_CLOSE:    Channel.BOTH_CLOSING},
    Channel.SERVER_CLOSING:    {ChannelInput.C_OTHER:    Channel.SERVER_CLOSING,
                                ChannelInput.C_CLOSE_OK: Channel.CLOSED,
                                ChannelInput.C_CLOSE:    Channel.BOTH_CLOSING},
    Channel.BOTH_CLOSING:      {ChannelInput.C_CLOSE_OK: Channel.CLIENT_CLOSE_LEFT,
                                ChannelInput.S_CLOSE_OK: Channel.SERVER_CLOSE_LEFT},
    Channel.CLIENT_CLOSE_LEFT: {ChannelInput.S_CLOSE_OK: Channel.CLOSED},
    Channel.SERVER_CLOSE_LEFT: {ChannelInput.C_CLOSE_OK: Channel.CLOSED},
}

CONTENT: Final[Table[Content, ContentInput]] = {
    Content.IDLE:   {ContentInput.METHOD:         Content.IDLE,
                     ContentInput.CLOSE:          Content.IDLE,
                     ContentInput.CONTENT_METHOD: Content.HEADER},
    Content.HEADER: {ContentInput.EMPTY_HEADER:   Content.IDLE,
                     ContentInput.HEADER:         Content.BODY,
                     ContentInput.CLOSE:          Content.IDLE},
    Content.BODY:   {ContentInput.BODY:           Content.BODY,
                     ContentInput.LAST_BODY:      Content.IDLE,
                     ContentInput.CLOSE:          Content.IDLE},
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


_I = TypeVar("_I", bound=TableEnum)


def _inputs(owner: str, kind: type[_I]) -> dict[str, tuple[_I | None, _I | None]]:
    """The inputs that methods of the class `owner` are, sent by the client and by the server, as their values say."""
    given = {each.value: each for each in kind}
    names = dict.fromkeys([value[2:] for value in given if not value.endswith(("header", "other"))])
    return {f"{owner}.{name}": (given.get(f"C:{name}"), given.get(f"S:{name}")) for name in names}


CONNECTION_DISCARDS: Final = {
    True: (Connection.SERVER_CLOSING, Connection.BOTH_CLOSING, Connection.SERVER_CLOSE_LEFT),
    False: (Connection.CLIENT_CLOSING, Connection.BOTH_CLOSING, Connection.CLIENT_CLOSE_LEFT),
}
CHANNEL_DISCARDS: Final = {
    True: (Channel.SERVER_CLOSING, Channel.BOTH_CLOSING, Channel.SERVER_CLOSE_LEFT),
    False: (Channel.CLIENT_CLOSING, Channel.BOTH_CLOSING, Channel.CLIENT_CLOSE_LEFT),
}
"""The states in which the receiver has sent a close that isn't answered, and drops what the client (True) or the server
sends."""
CONNECTION_INPUTS: Final = _inputs("connection", ConnectionInput)
CHANNEL_INPUTS: Final = _inputs("channel", ChannelInput)
"""The input that a connection or channel method is, sent by the client and by the server; others are OTHER."""
CONNECTION_OTHER: Final = {True: ConnectionInput.C_OTHER, False: ConnectionInput.S_OTHER}
CHANNEL_OTHER: Final = {True: ChannelInput.C_OTHER, False: ChannelInput.S_OTHER}
"""The input that any other method or content is, sent by the client (True) or by the server."""

MODE_INPUTS: Final[dict[str, Select]] = {each.value: each for each in Select}
"""The methods that need or change a channel's mode."""
