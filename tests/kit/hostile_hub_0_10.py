"""A hostile client of 0-10 at a hub: any control and command in any order, biased to names that there are."""

# pyright: reportPrivateUsage=false
from collections.abc import Callable, Mapping
from typing import Any

from amqp_sansio.amqp_0_10 import DeliveryProperties, MessageProperties
from amqp_sansio.amqp_0_10.codec.record import encode_headers
from amqp_sansio.amqp_0_10.model.dtx_states import Branch
from amqp_sansio.amqp_0_10.model.session_model import Mode
from amqp_sansio.amqp_0_10.spec import (
    Command,
    ConnectionClose,
    DtxCommit,
    DtxEnd,
    DtxForget,
    DtxPrepare,
    DtxRecover,
    DtxRollback,
    DtxSelect,
    DtxSetTimeout,
    DtxStart,
    ExchangeBind,
    ExchangeBound,
    ExchangeDeclare,
    ExchangeDelete,
    ExchangeUnbind,
    ExecutionException,
    ExecutionSync,
    FileAck,
    FileCancel,
    FileConsume,
    FileOpen,
    FileOpenOk,
    FileProperties,
    FilePublish,
    FileQos,
    FileReject,
    FileStage,
    MessageAccept,
    MessageAcquire,
    MessageCancel,
    MessageFlow,
    MessageFlush,
    MessageReject,
    MessageRelease,
    MessageResume,
    MessageSetFlowMode,
    MessageStop,
    MessageSubscribe,
    MessageTransfer,
    QueueDeclare,
    QueueDelete,
    QueuePurge,
    QueueQuery,
    SessionCompleted,
    SessionDetach,
    SessionDetached,
    SessionFlush,
    SessionKnownCompleted,
    SessionRequestTimeout,
    StreamConsume,
    StreamPublish,
    TxCommit,
    TxRollback,
    TxSelect,
)
from amqp_sansio.broker.frontends.amqp_0_10.sessions import Register, register_of
from amqp_sansio.broker.model.vhost import VirtualHost
from tests.kit.choices import Choices
from tests.kit.hostile_0_10 import DESTINATIONS, MAKERS, XIDS, Peer
from tests.kit.hostile_hub_classic import KEYS, NEW, OWN
from tests.kit.hub_hostile import Driver, Hostile, Words
from tests.kit.octets_0_10 import HEADER, Sent, open_, start_ok, tune_ok
from tests.kit.versions import KIT_0_10

FRAME_SIZE = 4096
ARGUMENTS: tuple[dict[str, Any], ...] = (
    {"x-max-length": 2},
    {"x-message-ttl": 1000},
    {"x-max-priority": 3},
    {"x-dead-letter-exchange": "amq.fanout"},
    {"qpid.max_count": 2},
    {"no-local": True},
    {"x-max-length": -1},
    {"unheard-of": 1},
)
USUAL: tuple[type[Any], ...] = (
    *(MessageTransfer, MessageTransfer, MessageTransfer, MessageTransfer, MessageTransfer, MessageTransfer),
    *(MessageSubscribe, MessageSubscribe, MessageSubscribe, MessageFlow, MessageFlow, MessageFlow, MessageFlow),
    *(MessageAccept, MessageAccept, MessageAccept, MessageReject, MessageRelease, MessageAcquire, MessageCancel),
    *(MessageSetFlowMode, MessageStop, MessageFlush, MessageResume, ExecutionSync, QueueQuery, QueuePurge),
    *(QueueDeclare, QueueDeclare, QueueDeclare, QueueDelete, ExchangeDeclare, ExchangeDelete, ExchangeBind),
    *(ExchangeBind, ExchangeUnbind, ExchangeBound, TxSelect, TxCommit, TxCommit, TxRollback, DtxSelect, DtxStart),
    *(DtxStart, DtxEnd, DtxPrepare, DtxCommit, DtxRollback, DtxRecover, DtxForget, DtxSetTimeout, FileOpen, FileStage),
    *(FilePublish, FileConsume, FileConsume, FileQos, FileAck, FileReject, FileCancel, FileOpenOk, StreamPublish),
    *(StreamConsume, SessionCompleted, SessionCompleted, SessionCompleted, SessionKnownCompleted, SessionFlush),
    *(SessionRequestTimeout, SessionRequestTimeout, SessionDetach, ConnectionClose),
)
_KNOWN = tuple([each for each in Branch if each is not Branch.NON_EXISTENT])


class HubPeer(Peer):
    """Makes commands up for a session at a hub, whose queues and exchanges it knows."""

    sizes = (300, FRAME_SIZE, FRAME_SIZE, FRAME_SIZE)

    def __init__(self, choices: Choices, driver: Driver) -> None:
        super().__init__(choices, None)  # type: ignore[arg-type]
        self.driver = driver
        self.serial = 0

    # What it sends.

    def fitting(self) -> tuple[type[Any], ...]:
        """What it mostly sends, as often as it stands there."""
        return USUAL

    def _record(self) -> Any:
        choices, session = self.choices, self.session
        if session is None:
            return super()._record()
        if session.report is not None and choices.below(8):
            # The hub has ended it.
            return SessionDetached(session.name, 0)
        if session._channel.ready and choices.below(4) == 3:
            known = tuple(session._state.peer.subscriptions)
            lacking = [each for each in known if 0 in session.credit(each)]
            if not known:
                return self._subscribe()
            if lacking:
                return MessageFlow(lacking[0], self._lacking(lacking[0]), 0xFFFFFFFF)
        return super()._record()

    def makers(self) -> Mapping[type[Any], Callable[[Any], Any]]:
        """How some of it is mostly made."""
        return _MAKERS

    def _header(self) -> bytes:
        choices = self.choices
        if choices.below(64) == 63:
            return super()._header()
        delivery: dict[str, Any] = {"routing_key": self.key()}
        match choices.below(16):
            case 0:
                delivery["ttl"] = choices.of((0, 1000))
            case 1:
                delivery["immediate"] = True
            case 2:
                delivery["discard_unroutable"] = True
            case 3:
                delivery["priority"] = 9
            case 4:
                return encode_headers((FileProperties(priority=7),))
            case 5:
                user = choices.of((b"other", b"guest"))
                return encode_headers((DeliveryProperties(**delivery), MessageProperties(user_id=user)))
            case 6:
                headers = {"a": 1, "x-death": choices.of(([], "none"))}
                return encode_headers((DeliveryProperties(**delivery), MessageProperties(application_headers=headers)))
            case _:
                pass
        return encode_headers((DeliveryProperties(**delivery),))

    # Names.

    def key(self) -> str:
        """A routing key, mostly of a queue."""
        choices = self.choices
        return choices.of((*self.queues(), *KEYS)) if choices.below(4) else choices.of(("shared", *NEW))

    def queues(self) -> list[str]:
        return [name for name, each in self._vhost.queues.items() if each.exclusive_to is None]

    @property
    def _register(self) -> Register:
        return register_of(self.driver.hub)

    @property
    def _vhost(self) -> VirtualHost:
        return self.driver.hub.model.vhosts["/"]

    def queue(self) -> str:
        """A queue's name, mostly of one that there is."""
        choices = self.choices
        if choices.below(64) == 63:
            return choices.of((*OWN, "nope", "amq.new", ""))
        return choices.of(self.queues() or NEW)

    def exchange(self) -> str:
        """An exchange's name, mostly of one that there is."""
        choices = self.choices
        if choices.below(64) == 63:
            return choices.of(("nope", "", "amq.system", "amq.failover", "amq.new"))
        kinds = ("direct", "fanout", "topic", "headers")
        names = [name for name, each in self._vhost.exchanges.items() if name and each.type in kinds]
        return choices.of(names)

    def _value(self, name: str, kind: str) -> Any:
        choices = self.choices
        match name:
            case "queue":
                return self.queue()
            case "exchange" | "alternate_exchange" | "name" if kind == "str8":
                return None if name[0] == "a" and choices.below(8) else self.exchange()
            case "binding_key" | "routing_key":
                return choices.of(KEYS)
            case "consumer_tag" | "identifier":
                return choices.of(("a", "b", "a"))
            case "arguments":
                return choices.of(ARGUMENTS) if choices.below(16) == 15 else None
            case "delivery_tag":
                state = None if self.session is None else self.session._state
                return 0 if state is None else choices.of((0, 1, 2, 3))
            case _ if kind == "bit":
                return choices.below(16) == 15
            case _:
                return super()._value(name, kind)

    # What is mostly sent.

    def declare(self) -> Command[Any]:
        choices = self.choices
        arguments = choices.of(ARGUMENTS) if choices.below(8) == 7 else None
        few = choices.below(8)
        return QueueDeclare(
            choices.of((*NEW, "shared")) if choices.below(64) != 63 else self.queue(),
            "amq.fanout" if few == 7 else None,
            durable=few == 1,
            exclusive=few == 2,
            auto_delete=few in (2, 3),
            arguments=arguments,
        )

    def declare_exchange(self) -> Command[Any]:
        choices = self.choices
        name = choices.of(NEW)
        known = self._vhost.exchanges.get(name)
        kind = choices.of(("direct", "fanout", "topic", "headers"))
        if known is not None and choices.below(8):
            kind = known.type
        return ExchangeDeclare(name, kind, auto_delete=choices.below(4) == 3)

    def bind(self) -> Command[Any]:
        return ExchangeBind(self.queue(), self.exchange(), self.choices.of(KEYS))

    def unbind(self) -> Command[Any]:
        """The end of a binding, mostly of one that there is."""
        found = [
            ExchangeUnbind(each.destination.name, name, each.routing_key)
            for name, exchange in self._vhost.exchanges.items()
            for each in exchange.bindings.values()
        ]
        if found and self.choices.below(32):
            return self.choices.of(found)
        return self.bind() if self.choices.below(32) else ExchangeUnbind(self.queue(), self.exchange(), "k")

    def send(self) -> Command[Any]:
        """A transfer, mostly to the default exchange."""
        choices = self.choices
        destination = "" if choices.below(4) else self.exchange()
        return MessageTransfer(destination, choices.below(2), 0 if choices.below(64) else 1)

    def _new_name(self) -> bytes:
        return b"h%d" % self.choices.below(16) if self.choices.below(8) else super()._new_name()

    def _subscribe(self) -> Command[Any]:
        choices = self.choices
        self.serial += 1
        destination = f"d{self.serial}" if choices.below(8) else choices.of(DESTINATIONS)
        exclusive = choices.below(32) == 31
        return MessageSubscribe(self.queue(), destination, choices.below(2), choices.below(3) == 2, exclusive)

    def flow(self) -> Command[Any]:
        """Credit, mostly enough."""
        choices = self.choices
        value = choices.of((3, 10, 5000, 0xFFFFFFFF)) if choices.below(8) else choices.of((0, 1, 2, 0x7FFFFFFF))
        return self._about(lambda name: MessageFlow(name, self._lacking(name), value))

    def _lacking(self, destination: str) -> int:
        """The unit of which a subscription has no credit."""
        session = self.session
        if session is None or not self.choices.below(8):
            return self.choices.below(2)
        messages, octets = session.credit(destination)
        return int(messages != 0) if octets == 0 else 0

    def branch(self, kind: type[Any]) -> Command[Any]:
        choices, session = self.choices, self.session
        mode = None if session is None else session._state.peer.mode
        if mode is not Mode.DTX and kind in (DtxStart, DtxEnd) and choices.below(64):
            return DtxSelect()
        book = None if session is None else self._register.books.get("/")
        known = [] if book is None else [xid for xid in XIDS if book.branches.state(xid) in _KNOWN]
        if kind is DtxStart or not choices.below(32):
            known = list(XIDS[:2])
        elif not known:
            return self.send()
        xid = choices.of(known)
        made: Command[Any] = kind(xid)
        if kind is DtxEnd:
            few = choices.below(4)
            made = DtxEnd(xid, few == 3, few == 2)
        elif kind is DtxCommit:
            made = DtxCommit(xid, choices.below(2) == 1)
        elif kind is DtxSetTimeout:
            made = DtxSetTimeout(xid, choices.of((0, 1, 60)))
        return made

    def opened(self, kind: type[Any]) -> Command[Any]:
        """What follows on something of the file class, if it can."""
        session, choices = self.session, self.choices
        desk = None
        if session is not None:
            known = [each for each in self._register.known.values() if each.core is session]
            desk = known[0].desk if known else None
        if desk is None or not choices.below(64):
            return ExecutionSync()
        if kind is FileStage:
            return FileStage() if desk.opened else FileOpen("a", len(b"x"))
        if kind is FilePublish:
            staged = (*desk.staged, *desk.opened)
            return FilePublish("", self.key(), identifier=choices.of(staged)) if staged else FileOpen("a", 1)
        if kind is FileOpenOk:
            return FileOpenOk(0) if desk.sending else FileConsume(self.queue(), f"c{self.serial}")
        tags = tuple(desk.unacked)
        if not tags:
            return FileConsume(self.queue(), f"c{self.serial}")
        return FileAck(choices.of(tags), choices.below(2) == 1) if kind is FileAck else FileReject(tags[0], True)


def _of(kind: type[Any]) -> Callable[[HubPeer], Command[Any]]:
    return lambda peer: peer.branch(kind)


def _file(kind: type[Any]) -> Callable[[HubPeer], Command[Any]]:
    return lambda peer: peer.opened(kind)


_MAKERS: dict[type[Any], Callable[[Any], Any]] = {
    **MAKERS,
    MessageTransfer: HubPeer.send,
    MessageSubscribe: lambda peer: peer._subscribe(),
    MessageFlow: HubPeer.flow,
    QueueDeclare: HubPeer.declare,
    QueueQuery: lambda peer: QueueQuery(peer.queue()),
    QueueDelete: lambda peer: QueueDelete(peer.queue(), if_unused=peer.choices.below(2) == 1),
    ExchangeDeclare: HubPeer.declare_exchange,
    ExchangeDelete: lambda peer: ExchangeDelete(peer.choices.of(NEW)),
    ExchangeBind: HubPeer.bind,
    ExchangeUnbind: HubPeer.unbind,
    **{kind: _of(kind) for kind in (DtxStart, DtxEnd, DtxPrepare, DtxCommit, DtxRollback, DtxForget, DtxSetTimeout)},
    **{kind: _file(kind) for kind in (FileStage, FilePublish, FileOpenOk, FileAck, FileReject)},
}


class Ten(Hostile):
    """A hostile 0-10 client. Its sessions have the names of those of other hostile ones."""

    header = HEADER

    def __init__(self, driver: Driver, choices: Choices) -> None:
        super().__init__(driver, choices)
        self.peer = HubPeer(choices, driver)

    def login(self) -> list[bytes]:
        """As the user "other"."""
        return [HEADER, start_ok("PLAIN", b"\0other\0other"), tune_ok(3, FRAME_SIZE, 0), open_("/")]

    def frames(self, engine: Any) -> bytes:
        """What its peer makes up."""
        self.peer.end = engine
        return self.peer.octets()


# What the hub said.

CLOSE_CODES = (200, 320, 402, 501)
"""The close-codes of class connection; 402 is invalid-path."""
DETACH_CODES = (0, 1, 2, 3, 4, 5)


ERROR_CODES = (403, 404, 405, 406, 408, 409, 503, 506, 530, 531, 540, 542)
"""The error-codes of class execution but for 541, internal-error."""


def _check_words(sent: Sent) -> None:
    if sent.name == "connection.close":
        assert sent.record.reply_code in CLOSE_CODES, sent.record
        assert sent.record.reply_text, sent.record
    elif isinstance(sent.record, ExecutionException):
        assert sent.record.error_code in ERROR_CODES, sent.record
        assert sent.record.description, sent.record
    elif sent.name == "session.detached":
        assert sent.record.code in DETACH_CODES, sent.record


WORDS = Words(
    KIT_0_10, opened="connection.open-ok", close="connection.close", close_ok="connection.close-ok", check=_check_words
)
