"""A peer of AMQP 0-10 that sends whatever can be encoded."""

# pyright: reportPrivateUsage=false
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from amqp_sansio import Side
from amqp_sansio.amqp_0_10 import Connection, DeliveryProperties, MessageProperties, SequenceSet, Session
from amqp_sansio.amqp_0_10.codec.frames import BODY, COMMAND, CONTROL, HEADER, encode_assembly
from amqp_sansio.amqp_0_10.codec.record import COMMANDS, CONTROLS, encode_headers
from amqp_sansio.amqp_0_10.model.session_model import Mode
from amqp_sansio.amqp_0_10.model.states import Attachment
from amqp_sansio.amqp_0_10.spec import (
    Acquired,
    Command,
    ConnectionClose,
    ConnectionHeartbeat,
    Control,
    ExecutionException,
    ExecutionResult,
    ExecutionSync,
    FileDeliver,
    FileStage,
    MessageAccept,
    MessageAcquire,
    MessageCancel,
    MessageFlow,
    MessageFlush,
    MessageReject,
    MessageRelease,
    MessageSetFlowMode,
    MessageStop,
    MessageSubscribe,
    MessageTransfer,
    QueueDelete,
    QueueQuery,
    QueueQueryResult,
    SessionAttach,
    SessionAttached,
    SessionCommandPoint,
    SessionCompleted,
    SessionConfirmed,
    SessionDetach,
    SessionDetached,
    SessionExpected,
    SessionFlush,
    SessionGap,
    SessionKnownCompleted,
    SessionRequestTimeout,
    SessionTimeout,
    StreamDeliver,
    Struct,
    Struct32,
    TxCommit,
    TxRollback,
    TxSelect,
    XaResult,
    Xid,
)
from tests.kit.choices import Choices
from tests.kit.hostile_1_0 import NUMBERS

CHANNELS = (0, 0, 0, 1, 1, 1, 2, 2, 2, 2, 2, 9)
NAMES = (b"s", b"s", b"t", b"u", b"", b"n" * 300)
DESTINATIONS = ("d", "d", "d", "e", "")
CODES = (0, 1, 2, 3, 4, 404, 409, 541, 65_535)
BODIES = (b"", b"x", b"y" * 300, b"z" * 5000)
XIDS = (Xid(1, b"g", b"1"), Xid(1, b"g", b"2"), Xid(1, b"g"))
SECONDS = (0, 0, 60, 60, None, 0xFFFF_FFFF)
STRUCTS: tuple[Any, ...] = (
    None,
    QueueQueryResult(queue="q"),
    QueueQueryResult(),
    Acquired(SequenceSet.of(0, 1, 2)),
    XaResult(0),
    Struct32(0x0999, b"abc"),
)
HEADERS: tuple[bytes, ...] = (
    b"",
    encode_headers((DeliveryProperties(routing_key="k"),)),
    encode_headers((DeliveryProperties(), MessageProperties(user_id=b"guest"))),
    encode_headers((MessageProperties(user_id=b"another"),)),
    b"\x00\x00\x00\x04\x04\x01\xff\xff",
    b"\x00\x00",
)
SIZES = (13, 20, 100, 4096, 4096)


class Peer:
    """Makes controls and commands up for one endpoint.

    It mostly sends what has a session to go to, which it looks up in the endpoint's books: else hardly a command would
    ever be looked at. What is in them is anything. Some come in pieces, between which there is other traffic.
    """

    sizes: Sequence[int] = SIZES

    def __init__(self, choices: Choices, end: Connection) -> None:
        self.choices = choices
        self.end = end
        self.rest: dict[tuple[int, bool], list[bytes]] = {}
        self.lasted: dict[int, Session | None] = {}
        self.serial: int = 0
        self.session: Session | None = None

    def octets(self) -> bytes:
        """A frame or some of them, well-formed, whatever they say."""
        choices = self.choices
        for channel in range(10):
            if self.lasted.get(channel) is not self.end._sessions.get(channel):
                self.lasted[channel] = self.end._sessions.get(channel)
                self.rest.pop((channel, True), None)
        if self.rest and choices.below(3):
            return self._next(*choices.of(tuple(self.rest)))
        channels = self.end.sessions
        channel = choices.of(channels or (0,)) if choices.below(32) else choices.of(CHANNELS)
        self.session = self.end._sessions.get(channel)
        record = self._record()
        is_command = isinstance(record, Command)
        if (channel, is_command) in self.rest and choices.below(64):
            return self._next(channel, is_command)
        segments = self._segments(record)
        octets = encode_assembly(channel, segments, choices.of(self.sizes))
        if choices.below(4 if is_command else 64) or (channel, is_command) in self.rest:
            return octets
        frames = split(octets)
        if len(frames) > 1:
            self.rest[channel, is_command] = frames[1:]
        return frames[0]

    def _next(self, channel: int, is_command: bool) -> bytes:
        frames = self.rest[channel, is_command]
        found = frames.pop(0)
        if not frames:
            del self.rest[channel, is_command]
        return found

    def _record(self) -> Any:
        choices, session = self.choices, self.session
        if session is None:
            if choices.below(8) and self.end.role is Side.SERVER:
                return SessionAttach(self._new_name(), choices.below(2) == 1)
        elif session._channel.state is Attachment.ATTACHING:
            if choices.below(8):
                return SessionAttached(session.name)
        elif not session._channel.ready and session.report is None and choices.below(4):
            return SessionExpected(self._expected(session))
        elif session._state.receiving.point is None and choices.below(64):
            return SessionCommandPoint(self._number(), 0)
        if choices.below(64) == 63:
            kinds = (*COMMANDS.values(), *CONTROLS.values())
            kind: type[Any] = kinds[choices.below(256) % len(kinds)]
        else:
            fitting = self.fitting()
            kind = fitting[choices.below(256) % len(fitting)]
            if kind in _RARE and choices.below(16):
                kind = MessageTransfer
        made = self.makers().get(kind)
        if made is not None and choices.below(16):
            return made(self)
        return kind(*[self._value(name, of) for name, of in kind.FIELDS])

    def _segments(self, record: Control | Command[Any]) -> list[tuple[int, bytes]]:
        choices = self.choices
        if isinstance(record, Control):
            return [(CONTROL, record.encode_assembly())]
        segments = [(COMMAND, record.encode_segment(sync=choices.rarely()))]
        if record.HAS_BODY or choices.below(256) == 255:
            header = self._header()
            body = choices.of(BODIES)
            segments += [(HEADER, header)] if header else []
            segments += [(BODY, body)] if body else []
        return segments

    def _expected(self, session: Session) -> SequenceSet:
        choices = self.choices
        if not choices.below(16):
            return SequenceSet.of(*[choices.of(NUMBERS) for _ in range(choices.below(3))])
        if session._channel.resuming:
            return SequenceSet.of((session._state.sending.next_id - choices.below(4)) & 0xFFFF_FFFF)
        return SequenceSet()

    # What another kind of peer may do in its own way.

    def fitting(self) -> tuple[type[Any], ...]:
        """What it mostly sends, as often as it stands there."""
        return _FITTING[self.end.role]

    def makers(self) -> Mapping[type[Any], Callable[[Any], Any]]:
        """How some of it is mostly made."""
        return MAKERS

    def _new_name(self) -> bytes:
        return self.choices.of(NAMES)

    def _header(self) -> bytes:
        choices = self.choices
        return choices.of(HEADERS[:3]) if choices.below(128) else choices.of(HEADERS)

    # Values.

    def _number(self) -> int:
        """A command id, mostly one that fits."""
        choices = self.choices
        if self.session is None or not choices.below(32):
            return choices.of(NUMBERS)
        receiving = self.session._state.receiving
        known = receiving.next_id or 0
        return known if choices.below(8) else (known - choices.below(4)) & 0xFFFF_FFFF

    def _ids(self) -> SequenceSet:
        """Ids of the endpoint's commands, mostly."""
        choices = self.choices
        if self.session is None or choices.below(64) == 63:
            low = choices.of(NUMBERS)
            return SequenceSet(((low, (low + choices.of((0, 1, 70_000, 0x7FFF_FFFF))) & 0xFFFF_FFFF),))
        state = self.session._state
        following = state.sending.next_id
        waiting = (*state.outgoing.unsettled, *state.calls)
        if not waiting:
            return SequenceSet()
        ids = [
            choices.of(waiting) if choices.below(32) else (following - choices.below(9)) & 0xFFFF_FFFF
            for _ in range(1 + choices.below(3))
        ]
        return SequenceSet.of(*ids)

    def _own_ids(self) -> SequenceSet:
        """Ids of this peer's commands, mostly."""
        choices = self.choices
        number = self._number()
        low = (number - choices.below(10)) & 0xFFFF_FFFF
        return SequenceSet(((low, (low + choices.below(4)) & 0xFFFF_FFFF),))

    def _value(self, name: str, kind: str) -> Any:
        """Any value of a type, or none."""
        choices = self.choices
        if kind == "bit":
            return choices.below(2) == 1
        if choices.rarely():
            return None
        return self._values(name)[kind]

    def _destination(self) -> str:
        """One that is known, mostly."""
        choices, session = self.choices, self.session
        if session is None or choices.below(64) == 63:
            return choices.of(DESTINATIONS)
        state = session._state
        known = tuple(state.granted) if state.side is Side.CLIENT else tuple(state.peer.subscriptions)
        return choices.of(known or DESTINATIONS)

    def _values(self, name: str) -> dict[str, Any]:
        choices = self.choices
        if name == "destination":
            text: Any = self._destination()
        else:
            text = choices.of(("q", "", "d", "tag"))
        octets = choices.of(NAMES)
        number = choices.of(NUMBERS)
        return {
            "str8": text,
            "str16": text,
            "vbin16": octets,
            "vbin32": octets,
            "uint8": number & 3,
            "uint16": number & 0xFFFF,
            "uint32": number,
            "uint64": number,
            "sequence-no": self._number(),
            "sequence-set": self._ids(),
            "map": {"a": 1},
            "array": [],
            "fragments": None,
            "struct32": choices.of(STRUCTS),
            "dtx.xid": choices.of(XIDS),
        }

    # What is mostly sent.

    def _transfer(self) -> Command[Any]:
        choices = self.choices
        destination = self._destination() if self.end.role is Side.CLIENT else choices.of(DESTINATIONS)
        if self.end.role is Side.CLIENT and not self._credit(destination):
            return ExecutionSync()
        return MessageTransfer(destination, choices.below(2), choices.of((0, 0, 0, 1)))

    def _credit(self, destination: str) -> bool:
        balance = None if self.session is None else self.session._state.granted.get(destination)
        return self.choices.below(64) == 63 or (balance is not None and balance.messages != 0)

    def _result(self) -> Command[Any]:
        session = self.session
        waiting = (
            []
            if session is None
            else [(number, each.result) for number, each in session._state.calls.items() if each.result]
        )
        if not waiting:
            return ExecutionSync()
        number, wanted = self.choices.of(waiting)
        fitting = [each for each in STRUCTS if each is not None and getattr(each, "NAME", "") == wanted]
        return ExecutionResult(number, self.choices.of(fitting or STRUCTS))

    def _about(self, made: Callable[[str], Command[Any]]) -> Command[Any]:
        """A command about a subscription, mostly one that there is."""
        session, destination = self.session, self._destination()
        if self.end.role is Side.SERVER and session is not None and self.choices.below(64):
            known = session._state.peer.subscriptions
            return made(destination) if destination in known else self._subscribe()
        return made(destination)

    def _work(self, kind: type[Command[Any]]) -> Command[Any]:
        """The end of a transaction, mostly of one that has begun."""
        session = self.session
        mode = Mode.TX if session is None else session._state.peer.mode
        if mode is Mode.TX or self.choices.below(64) == 63:
            return kind()
        return TxSelect() if self.choices.below(8) == 7 else ExecutionSync()

    def _flow(self) -> Command[Any]:
        choices = self.choices
        value = choices.of((1, 3, 10, 5000, None)) if choices.below(8) else choices.of(NUMBERS)
        return self._about(lambda destination: MessageFlow(destination, choices.below(2), value))

    def _subscribe(self) -> Command[Any]:
        self.serial += 1
        destination = f"d{self.serial}" if self.choices.below(4) else self.choices.of(DESTINATIONS)
        return MessageSubscribe("q", destination, self.choices.below(2), 0)

    def _close(self) -> Control:
        return ConnectionClose(320, "so") if self.choices.below(8) == 0 else ConnectionHeartbeat()

    def _of_name(self, kind: Callable[..., Control], *rest: object) -> Control:
        name = b"" if self.session is None else self.session.name
        return kind(name if self.choices.below(8) else self.choices.of(NAMES), *rest)


def split(octets: bytes) -> list[bytes]:
    found: list[bytes] = []
    while octets:
        size = int.from_bytes(octets[2:4], "big")
        found.append(octets[:size])
        octets = octets[size:]
    return found


_RARE = (ExecutionException, SessionDetach, SessionDetached, ConnectionClose, SessionAttach, SessionGap)
_USUAL: tuple[type[Struct], ...] = (
    *(MessageTransfer, MessageTransfer, MessageTransfer, MessageTransfer, MessageTransfer),
    *(MessageAccept, MessageAccept, MessageReject, MessageRelease, MessageAcquire, MessageFlow),
    *(MessageSubscribe, MessageSubscribe, MessageCancel, MessageFlow, MessageFlow, MessageFlow),
    *(MessageSetFlowMode, MessageStop, MessageFlush, ExecutionSync, ExecutionResult, ExecutionResult),
    *(QueueQuery, QueueDelete, TxSelect, TxCommit, TxRollback, FileStage, FileDeliver, StreamDeliver),
    *(SessionCompleted, SessionCompleted, SessionCompleted, SessionKnownCompleted, SessionConfirmed),
    *(SessionFlush, SessionRequestTimeout, SessionTimeout, SessionCommandPoint, SessionExpected),
    *_RARE,
)
_FITTING: dict[Side, tuple[type[Any], ...]] = {
    side: tuple([each for each in _USUAL if side.value in getattr(each, "HANDLERS", ())]) for side in Side
}
MAKERS: dict[type[Any], Callable[[Peer], Any]] = {
    MessageTransfer: Peer._transfer,
    ExecutionResult: Peer._result,
    MessageFlow: Peer._flow,
    MessageSubscribe: Peer._subscribe,
    ConnectionClose: Peer._close,
    SessionTimeout: lambda peer: SessionTimeout(peer.choices.of(SECONDS)),
    SessionRequestTimeout: lambda peer: SessionRequestTimeout(peer.choices.of(SECONDS)),
    SessionKnownCompleted: lambda peer: SessionKnownCompleted(peer._own_ids()),
    SessionGap: lambda peer: SessionGap(peer._own_ids()),
    SessionCompleted: lambda peer: SessionCompleted(peer._ids(), peer.choices.rarely()),
    SessionConfirmed: lambda peer: SessionConfirmed(peer._ids()),
    SessionCommandPoint: lambda peer: SessionCommandPoint(peer._number(), 0),
    SessionDetach: lambda peer: peer._of_name(SessionDetach),
    SessionDetached: lambda peer: peer._of_name(SessionDetached, peer.choices.below(5)),
    MessageSetFlowMode: lambda peer: peer._about(lambda name: MessageSetFlowMode(name, peer.choices.below(2))),
    MessageStop: lambda peer: peer._about(MessageStop),
    MessageFlush: lambda peer: peer._about(MessageFlush),
    MessageCancel: lambda peer: peer._about(MessageCancel),
    MessageAcquire: lambda peer: MessageAcquire(peer._ids()),
    MessageAccept: lambda peer: MessageAccept(peer._ids()),
    MessageReject: lambda peer: MessageReject(peer._ids(), 1, "no"),
    MessageRelease: lambda peer: MessageRelease(peer._ids(), True),
    TxSelect: lambda peer: peer._work(TxSelect),
    TxCommit: lambda peer: peer._work(TxCommit),
    TxRollback: lambda peer: peer._work(TxRollback),
    SessionExpected: lambda peer: SessionExpected(peer._ids()),
    QueueQuery: lambda peer: QueueQuery("q"),
    QueueDelete: lambda peer: QueueDelete("q"),
}


__all__ = ["BODIES", "DESTINATIONS", "MAKERS", "XIDS", "Choices", "Peer", "split"]
