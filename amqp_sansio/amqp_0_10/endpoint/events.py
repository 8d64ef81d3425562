"""The events of AMQP 0-10 that other versions don't have, and its outcomes.

`channel` is the number of the session's channel, `connection.session(channel)` the session while it is attached.
"""

from __future__ import annotations

from ..._checking import TYPE_CHECKING
from ..._ground.record import record
from ...events import Closed, DeliveryReceived, Event, Opened, Pending
from ..codec.message import Headers, Message

if TYPE_CHECKING:
    from ..codec.record import Command
    from ..codec.records import MessageTransfer


@record
class Redirected(Event):
    """The server sends the client to `host` ("amqp:tcp:name:port" or "name:port"); `known_hosts` would do as well.

    The connection is over (class 1, connection.redirect).
    """

    host: str
    known_hosts: tuple[str, ...]


@record
class SessionRequested(Event):
    """The peer wants to attach the session `name`; answer with `connection.accept_session(channel, ...)` or
    `refuse_session(channel, ...)`.

    `force`: it may be taken from another connection that it is attached to. Names are the user's own: the same name
    of another user is another session (class 2, rule scoping).
    """

    channel: int
    name: bytes
    force: bool = False


@record
class Resumed(Opened):
    """A session that was detached goes on: everything in doubt is sent again, nothing is executed twice.

    `incomplete` are the commands of the peer that the application has got before and hasn't completed yet.
    """

    incomplete: tuple[Event, ...] = ()


@record
class SessionClosed(Closed):
    """The last event of an attachment. `resumable`: `session.detached_state()` can be attached again."""

    name: bytes = b""
    resumable: bool = False


@record
class CommandReceived(Event):
    """The peer wants a command executed; answer with `session.complete(command_id, result)`, or `session.fail(...)`.

    `command_id` is its number in the session, `sync`: the peer waits for the completion. `headers` and `body` are what
    came with it (file.stage, stream.publish...). `pendings` are the own transfers that it is about: those that
    message.accept, reject, release and acquire name, and those that tx.commit and tx.rollback decide.
    """

    channel: int
    command_id: int
    command: Command[object]
    sync: bool = False
    headers: Headers | None = None
    body: bytes = b""
    pendings: tuple[Pending[object], ...] = ()


class MessageReceived(DeliveryReceived):
    """A message has arrived (message.transfer); say `session.complete(command_id)` when it is taken.

    In window mode the completion gives the credit back. A message whose `accept_mode` is explicit waits for
    `session.accept`, `reject` or `release` too. `headers` are the structs of its header segment, decoded on first
    access, `body` its octets. `has_body`: it came with a body segment, which may be empty.
    """

    __slots__ = ("_headers", "body", "channel", "command_id", "has_body", "sync", "transfer")
    __match_args__ = ("channel", "command_id", "transfer", "headers", "body", "sync", "has_body")

    def __init__(
        self,
        channel: int,
        command_id: int,
        transfer: MessageTransfer,
        headers: Headers | bytes,
        body: bytes,
        sync: bool = False,
        has_body: bool = False,
    ) -> None:
        # The number of the session's channel.
        self.channel = channel
        # What `complete` and `accept` name it by.
        self.command_id = command_id
        # The command, with destination and modes.
        self.transfer = transfer
        # The header segment: its octets, and once it is read what they say.
        self._headers = headers
        # Octets of the body segment.
        self.body = body
        # Whether the sender waits for its completion.
        self.sync = sync
        # Whether it came with a body segment, which may be empty.
        self.has_body = has_body or bool(body)

    @property
    def headers(self) -> Headers:
        """The structs of its header segment, decoded when they're read."""
        found = self._headers
        if isinstance(found, bytes):
            found = Headers(found)
            self._headers = found
        return found

    @property
    def size(self) -> int:
        """The octets that credit counts: those of its header and its body segment."""
        found = self._headers
        return len(found if isinstance(found, bytes) else found.raw) + len(self.body)

    @property
    def destination(self) -> str:
        """The subscription it belongs to; on a server the exchange it goes to."""
        return self.transfer.destination or ""

    @property
    def accepts(self) -> bool:
        """Whether the sender waits for accept, reject or release (accept-mode explicit)."""
        return not self.transfer.accept_mode

    @property
    def acquired(self) -> bool:
        """Whether it was acquired when it came (acquire-mode pre-acquired)."""
        return not self.transfer.acquire_mode

    @property
    def message(self) -> Message:
        """The message as a value that can be sent on."""
        return Message(self.body, headers=self.headers, has_body=self.has_body)

    def _values(self) -> tuple[object, ...]:
        return tuple([getattr(self, name) for name in self.__match_args__])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, MessageReceived) and self._values() == other._values()

    def __hash__(self) -> int:
        return hash((self.channel, self.command_id, self.body))

    def __repr__(self) -> str:
        shown = [f"{name}={getattr(self, name)!r}" for name in self.__match_args__]
        return f"MessageReceived({', '.join(shown)})"

    def __reduce__(self) -> tuple[object, ...]:
        return MessageReceived, self._values()


@record
class MessageBegun(DeliveryReceived):
    """A message above `Config.stream_above` is arriving: `BodyReceived` events follow, the last one has `last`."""

    channel: int
    command_id: int
    transfer: MessageTransfer
    headers: Headers
    sync: bool = False


@record
class BodyReceived(Event):
    """A piece of the body that `MessageBegun` announced, in order. Behind the last one comes its completion's turn."""

    channel: int
    command_id: int
    octets: bytes
    last: bool = False


@record
class BodyAborted(Event):
    """The rest of a body won't come: its sender began the command again, or gave it up with session.gap."""

    channel: int
    command_id: int


@record
class CreditChanged(Event):
    """The recipient gave or took credit for `destination` (message.flow, stop, set-flow-mode, a completion).

    `messages` and `octets` are what may be sent now, None without limit; both must be there.
    """

    channel: int
    destination: str
    messages: int | None
    octets: int | None


@record
class Completed:
    """An outcome: the peer has executed the command."""


@record
class Rejected:
    """An outcome: the message was refused for good; `code` 1 is unroutable, 2 immediate (message.reject-code)."""

    code: int = 0
    text: str = ""


@record
class Released:
    """An outcome: the message was given back; `set_redelivered`: it is to be marked as such when it is sent again."""

    set_redelivered: bool = False
