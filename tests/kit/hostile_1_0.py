"""A peer of AMQP 1.0 that sends whatever can be encoded."""

# pyright: reportPrivateUsage=false
from collections.abc import Callable, Sequence
from typing import Any

from amqp_sansio import amqp_1_0 as amqp
from amqp_sansio.amqp_1_0 import spec
from amqp_sansio.amqp_1_0.codec.message import AmqpValue
from amqp_sansio.amqp_1_0.endpoint.connection import Connection
from amqp_sansio.amqp_1_0.model import states
from tests.kit.choices import Choices
from tests.kit.octets_1_0 import octets_of

NUMBERS = (0, 1, 2, 3, 5, 9, 0x7FFF_FFFF, 0x8000_0000, 0xFFFF_FFFE, 0xFFFF_FFFF)
HANDLES = (0, 0, 1, 2, 3)
CHANNELS = (0, 0, 0, 1, 2)
NAMES = ("a", "b", "c", "", "ü" * 120)
TAGS = (b"", b"a", b"b", b"c", b"x" * 32)
STATES: tuple[Any, ...] = (
    None,
    amqp.Accepted(),
    amqp.Accepted(),
    amqp.Released(),
    amqp.Rejected(amqp.Error(amqp.Symbol("x:no"), "why")),
    amqp.Modified(True, False, {amqp.Symbol("a"): 1}),
    amqp.spec.Received(0, 0),
    amqp.spec.Received(2, 5),
    amqp.spec.Received(0xFFFF_FFFF, 0xFFFF_FFFF),
    spec.Declared(b"t"),
    spec.TransactionalState(b"t"),
    spec.TransactionalState(b"t", amqp.Accepted()),
    amqp.Described(amqp.Symbol("x:own"), [1]),
)
TERMINI: tuple[Any, ...] = (None, "q", "q", "q", "dynamic", "coordinator", "other")
PAYLOADS = (
    b"",
    amqp.Message(b"x").encode(),
    amqp.Message(b"y" * 300).encode(),
    amqp.Message("text").encode(),
    amqp.Message(AmqpValue(spec.Discharge(b"t"))).encode(),
    b"\x00\x53\x75\xa0\x05ab",
    b"\xff",
)
ERRORS: tuple[Any, ...] = (
    None,
    None,
    amqp.Error(amqp.Symbol("amqp:internal-error"), "ü" * 300),
    amqp.Error(amqp.Symbol("x:y")),
)


class Peer:
    """Makes frames up for one endpoint.

    It mostly sends what has a session and a link to go to, which it looks up in the endpoint's books: else the
    connection would end with the first frame. What the frames say is anything.
    """

    states: Sequence[Any] = STATES
    payloads: Sequence[bytes] = PAYLOADS

    def __init__(self, choices: Choices, end: Connection) -> None:
        self.choices = choices
        self.names = 0
        self.delivery_id = 0
        self.face(end)

    def face(self, end: Connection) -> None:
        """Look at the books of an endpoint from now on."""
        joint = end._sessions
        self.own, self.other = joint.halves[1 - end._side], joint.halves[end._side]
        self.side = 1 - end._side
        self.session: Any = None
        self.handle = 0

    def octets(self) -> bytes:
        """A frame, well-formed, whatever it says."""
        choices = self.choices
        make = choices.of(_FRAMES)
        mapped = [
            number
            for number, each in self.own.channels.items()
            if each.halves[self.side].state is states.Session.MAPPED
        ]
        wild = choices.below(64) == 63
        if not mapped and not wild:
            make = Peer._begin
        if make is Peer._begin and not wild:
            free = [number for number in range(3) if number not in self.own.channels]
            if not free:
                make = Peer._attach
            else:
                mapped = free
        channel = choices.of(CHANNELS if wild else mapped)
        self.session = None if wild else self.own.channels.get(channel)
        if self.session is not None and make in _OF_LINKS and not self._used():
            make = Peer._attach
        if make is Peer._transfer and not wild and not self._with_credit():
            make = choices.of((Peer._attach, Peer._flow, Peer._disposition))
        body, payload = make(self)
        return octets_of(body, channel, payload)

    def _with_credit(self) -> tuple[int, ...]:
        """The handles of its links that may send."""
        if self.session is None:
            return ()
        handles = self.session.halves[self.side].handles
        found = [each for each in self._used(sends=True) if _may_send(handles[each])]
        return tuple(found if self.choices.below(32) else self._used())

    def _used(self, sends: bool | None = None) -> tuple[int, ...]:
        """The handles of its links, of those that send, or of those that receive."""
        if self.session is None:
            return ()
        handles = self.session.halves[self.side].handles
        return tuple([each for each, link in handles.items() if sends in (None, link.sender == self.side)])

    def _handle(self, sends: bool | None = None) -> int:
        used = self._used(sends) or self._used()
        return self.choices.of(used) if used and self.choices.below(64) != 63 else self.choices.of(HANDLES)

    def _count(self, handle: int | None) -> int | None:
        """A delivery-count, mostly the right one."""
        link = None if self.session is None else self.session.halves[self.side].handles.get(handle)
        return self._perhaps() if link is None or self.choices.rarely() else link.delivery_count

    def _free_handle(self) -> int:
        used = self.session.halves[self.side].handles if self.session is not None else ()
        free = [number for number in range(4) if number not in used]
        return free[0] if free and self.choices.below(64) != 63 else self.choices.of(HANDLES)

    def _incoming_id(self) -> int | None:
        """What is right, or anything."""
        if self.session is None or self.choices.rarely():
            return self._perhaps()
        other = self.session.halves[1 - self.side]
        return None if other.begin is None else int(other.next_outgoing_id)

    def _number(self) -> int:
        return self.choices.of(NUMBERS)

    def _perhaps(self) -> int | None:
        return None if self.choices.below(3) == 0 else self._number()

    def _name(self) -> str:
        if self.choices.below(3) == 0:
            self.names += 1
            return f"name-{self.names}"
        return self.choices.of(NAMES)

    def _begin(self) -> tuple[Any, bytes]:
        choices = self.choices
        waiting = [
            number
            for number, each in self.other.channels.items()
            if each.halves[self.side].state is states.Session.UNMAPPED
        ]
        remote = choices.of(waiting) if waiting and choices.below(4) else None
        if choices.below(64) == 63:
            remote = choices.of(CHANNELS)
        window, handle_max = choices.of((50, 50, 50, 50, 0, 1, 0xFFFF_FFFF)), choices.of((0xFFFF_FFFF, 1, 7))
        return (
            spec.Begin(
                remote_channel=remote,
                next_outgoing_id=self._number(),
                incoming_window=window,
                outgoing_window=self._number(),
                handle_max=handle_max,
            ),
            b"",
        )

    def _payload(self) -> bytes:
        return self.choices.of(self.payloads)

    def _terminus(self, kind: type[amqp.Source] | type[amqp.Target]) -> Any:
        match self.choices.of(TERMINI):
            case None:
                return None
            case "dynamic":
                return kind(dynamic=True)
            case "coordinator" if kind is amqp.Target:
                return spec.Coordinator()
            case address:
                return kind(address)

    def _attach(self) -> tuple[Any, bytes]:
        choices = self.choices
        unsettled: dict[bytes, Any] | None = None
        if choices.below(3) == 0:
            unsettled = {choices.of(TAGS): choices.of(self.states) for _ in range(choices.below(4))}
        receives = choices.below(2) == 1
        return (
            spec.Attach(
                self._name(),
                self._free_handle(),
                receives,
                snd_settle_mode=choices.of((2, 2, 0, 1)),
                rcv_settle_mode=choices.of((0, 0, 1)),
                source=self._terminus(amqp.Source),
                target=self._terminus(amqp.Target),
                unsettled=unsettled,
                incomplete_unsettled=choices.rarely(),
                initial_delivery_count=None if receives or choices.below(64) == 63 else self._number(),
                max_message_size=choices.of((None, None, 100)),
            ),
            b"",
        )

    def _flow(self) -> tuple[Any, bytes]:
        choices = self.choices
        handle = None if choices.below(4) == 0 else self._handle()
        of_link = handle is not None or choices.below(64) == 63
        return (
            spec.Flow(
                next_incoming_id=self._incoming_id(),
                incoming_window=choices.of((50, 1, *NUMBERS)),
                next_outgoing_id=self._number(),
                outgoing_window=self._number(),
                handle=handle,
                delivery_count=self._count(handle) if of_link else None,
                link_credit=choices.of((5, 0, 1, None, *NUMBERS)) if of_link else None,
                available=self._perhaps() if of_link else None,
                drain=of_link and choices.rarely(),
                echo=choices.rarely(),
            ),
            b"",
        )

    def _transfer(self) -> tuple[Any, bytes]:
        choices = self.choices
        if choices.below(16):
            delivery_id: int | None = self.delivery_id
            tag: bytes | None = b"%d" % self.delivery_id
            self.delivery_id += 1
        else:
            delivery_id = self._perhaps()
            tag = choices.of((None, *TAGS))
        self.handle = choices.of(self._with_credit() or HANDLES)
        return (
            spec.Transfer(
                self.handle,
                delivery_id,
                tag,
                5 if choices.rarely() else 0,
                choices.of((None, False, True)),
                choices.below(4) == 0,
                choices.of((None, None, None, 0, 1)),
                choices.of(self.states) if choices.rarely() else None,
                choices.rarely(),
                choices.rarely(),
                choices.rarely(),
            ),
            self._payload(),
        )

    def _disposition(self) -> tuple[Any, bytes]:
        choices = self.choices
        role, first = choices.below(3) != 0, choices.below(6) if choices.below(4) else self._number()
        last = choices.of((None, None, first, (first + 2) & 0xFFFF_FFFF))
        if choices.rarely():
            last = self._number()
        return spec.Disposition(role, first, last, choices.below(2) == 1, choices.of(self.states)), b""

    def _detach(self) -> tuple[Any, bytes]:
        choices = self.choices
        return spec.Detach(self._handle(), choices.below(2) == 1, choices.of(ERRORS)), b""

    def _end(self) -> tuple[Any, bytes]:
        return spec.End(self.choices.of(ERRORS)), b""

    def _close(self) -> tuple[Any, bytes]:
        if self.choices.below(16):
            return self._attach()
        return spec.Close(self.choices.of(ERRORS)), b""


def _may_send(link: Any) -> bool:
    limit = link.credit_known
    return link.current is not None or 0 < ((limit or 0) - link.delivery_count) & 0xFFFF_FFFF < 0x8000_0000


_FRAMES: tuple[Callable[[Peer], tuple[Any, bytes]], ...] = (
    *(Peer._begin, Peer._begin, Peer._attach, Peer._attach, Peer._attach, Peer._attach),
    *(Peer._flow, Peer._flow, Peer._flow, Peer._transfer, Peer._transfer, Peer._transfer),
    *(Peer._transfer, Peer._disposition, Peer._disposition, Peer._disposition),
    *(Peer._detach, Peer._detach, Peer._end, Peer._close),
)

_OF_LINKS = (Peer._flow, Peer._transfer, Peer._detach)
