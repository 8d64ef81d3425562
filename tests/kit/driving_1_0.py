"""Random but reproducible use of a Pair of AMQP 1.0: operations drawn by hypothesis, applied to both ends."""

from collections.abc import Callable
from typing import Any, Final

from amqp_sansio import AuthenticationRequested, Event, LocalProtocolError, OpenRequested, Pending
from amqp_sansio.amqp_1_0 import Accepted, Message, Properties, Source
from amqp_sansio.amqp_1_0.endpoint.config import Config
from amqp_sansio.amqp_1_0.endpoint.connection import Connection
from amqp_sansio.amqp_1_0.endpoint.events import Delivery, LinkRequested, SessionRequested
from amqp_sansio.amqp_1_0.spec import Coordinator, Received
from amqp_sansio.endpoint import Side
from amqp_sansio.sasl import Plain
from tests.kit import driving
from tests.kit.applications import Accepting, accept_link, listen
from tests.kit.driving import damage, pass_time, pump, some, turn
from tests.kit.pair import SIDES, Chunks, Observing
from tests.kit.pair_1_0 import Pair, client_config, server_config

_SIZES: Final = (0, 1, 7, 100, 480, 512, 1500, 6000)
_FRAME_SIZE: Final = 512


class Driver(driving.Driver[Pair]):
    """A Pair of 1.0, which begins with a session that has a link each way.

    `at_once` are the handles that were done already, which no event ends.
    """

    def __init__(
        self,
        *,
        client: Config | None = None,
        server: Config | None = None,
        chunks: Chunks | None = None,
        observer: Observing | None = None,
        **options: Any,
    ) -> None:
        common: dict[str, Any] = {
            "max_frame_size": _FRAME_SIZE,
            "channel_max": 3,
            "incoming_window": 6,
            "idle_time_out": 20.0,
        }
        pair = Pair(
            client=client or client_config(sasl=Plain("guest", "guest"), **common),
            server=server or server_config(mechanisms=("PLAIN",), **common),
            applications={Side.SERVER: listen, Side.CLIENT: listen},
            chunks=chunks,
            observer=observer,
        )
        self.at_once: dict[Side, list[Pending[Any]]] = {side: [] for side in SIDES}
        super().__init__(pair, **options)

    def prepare(self) -> None:
        pair = self.pair
        pair.applications = {side: Accepting(credit=20, deliveries=False) for side in SIDES}
        session = pair.open().session()
        session.open_sender("q")
        session.open_receiver("r", credit=20)
        pair.pump()
        pair.applications = {side: listen for side in SIDES}

    def side_of(self, act: Callable[..., Any], first: int) -> Side:
        """By the first number."""
        return SIDES[first & 1]

    def act(self, act: Callable[..., Any], side: Side, first: int, second: int) -> None:
        """Keep the handles that it gives."""
        for handle in _handles_of(act(self.pair, side, first >> 1, second)):
            (self.at_once if handle.done else self.handles)[side].append(handle)

    def finish(self) -> None:
        """Answer what waits, close, and let both sides come to an end."""
        pair = self.pair
        for side in SIDES:
            pair.applications[side] = Accepting()
            for _ in range(100):
                if not _answer(pair, side, 0, 0):
                    break
            else:
                raise AssertionError("questions without end")
        pair.pump()
        pair.client.close()
        pair.drive()

    def children(self, end: Connection) -> list[str]:
        """What its sessions and links show of themselves."""
        lines = [f"{end.sessions}"]
        for channel in end.sessions:
            session = end.session(channel)
            lines.append(f"{session!r} {session.outgoing_window}")
            for link in session.links:
                each: Any = link
                lines.append(f"{each!r} {each.credit} {each.delivery_count} {sorted(each.unsettled)}")
        return lines


def _handles_of(given: object) -> list[Pending[Any]]:
    """The handles that an operation gave."""
    several: Any = given
    found: tuple[Any, ...] = (getattr(given, "opening", given),)
    if given.__class__ is tuple:
        found = several
    return [each for each in found if isinstance(each, Pending)]


# What the operations do. Each gives something that is true when it found something to do.


def _session(end: Connection, which: int) -> Any:
    channels = end.sessions
    return end.session(channels[which % len(channels)] if channels else 0)


def _link(end: Connection, which: int, receives: bool) -> Any:
    """A link of the right kind, if there is one; else none, which is refused."""
    found: list[Any] = [
        link for channel in end.sessions for link in end.session(channel).links if link.ROLE is receives
    ]
    if not found:
        raise LocalProtocolError("no such link")
    return found[which % len(found)]


def _asked(pair: Pair, side: Side) -> Event | None:
    """The oldest question that may wait for an answer."""
    end = pair.ends[side]
    for event in pair.events[side]:
        match event:
            case AuthenticationRequested() if _waits_for(end) == "authentication":
                return event
            case OpenRequested() if _waits_for(end) == "open":
                return event
            case SessionRequested(channel):
                if end.is_open and channel in end.sessions and end.session(channel).requested:
                    return event
            case LinkRequested(channel, handle):
                session = end.session(channel) if channel in end.sessions else None
                if session is not None and session.is_open and handle in session.asked:
                    return event
            case _:
                pass
    return None


def _waits_for(end: Connection) -> str | None:
    inside: Any = end
    found: str | None = inside._waiting_for
    return None if inside._lost else found


def _answer(pair: Pair, side: Side, first: int, second: int) -> bool:
    end = pair.ends[side]
    refuses = second % 8 == 7
    match _asked(pair, side):
        case AuthenticationRequested():
            end.accept_authentication()
        case OpenRequested():
            if second % 64 == 63:
                end.refuse_open("amqp:not-found")
            else:
                end.accept_open()
        case SessionRequested(channel):
            session: Any = end.session(channel)
            if refuses:
                session.refuse("amqp:not-allowed", "no")
            else:
                session.accept()
        case LinkRequested(channel, handle):
            link: Any = end.session(channel).link(handle)
            if refuses:
                link.refuse_attach("amqp:not-found", "no")
            else:
                accept_link(link)
                if link.ROLE:
                    link.flow(second % 16)
        case _:
            return False
    return True


def _open_session(pair: Pair, side: Side, first: int, second: int) -> object:
    return pair.ends[side].open_session()


def _close_session(pair: Pair, side: Side, first: int, second: int) -> object:
    if second % 4 == 0:
        _session(pair.ends[side], first).close("amqp:internal-error" if second % 3 else "")
    return None


def _open_sender(pair: Pair, side: Side, first: int, second: int) -> object:
    session = _session(pair.ends[side], first)
    target = Coordinator() if second % 16 == 5 else f"q{second % 4}"
    name = f"name-{second % 5}" if second % 3 == 0 else None
    modes = {"snd_settle_mode": second % 3, "rcv_settle_mode": second % 2}
    return session.open_sender(target, name=name, **modes)


def _open_receiver(pair: Pair, side: Side, first: int, second: int) -> object:
    session = _session(pair.ends[side], first)
    source = Source(dynamic=True) if second % 8 == 3 else f"r{second % 4}"
    name = f"name-{second % 5}" if second % 3 == 0 else None
    return session.open_receiver(source, name=name, credit=second % 20, rcv_settle_mode=second % 2)


def _message(second: int) -> Message:
    properties = Properties(message_id=second) if second % 2 else None
    return Message(bytes(_SIZES[second % len(_SIZES)]), properties=properties)


def _send(pair: Pair, side: Side, first: int, second: int) -> object:
    link = _link(pair.ends[side], first, False)
    settled = {0: True, 1: False}.get(second % 5)
    tag = f"{second}".encode() * (second % 9) if second % 4 == 2 else None
    return link.send(_message(second), settled=settled, delivery_tag=tag)


def _begin(pair: Pair, side: Side, first: int, second: int) -> object:
    return _link(pair.ends[side], first, False).begin(_message(second).encode())


def _continue(pair: Pair, side: Side, first: int, second: int) -> object:
    link = _link(pair.ends[side], first, False)
    if second % 5 == 0:
        link.abort()
    else:
        link.continue_delivery(b"", more=second % 2 == 0)
    return None


def _drained(pair: Pair, side: Side, first: int, second: int) -> object:
    link = _link(pair.ends[side], first, False)
    if second % 2:
        link.drained()
    else:
        link.set_available(second)
    return None


def _flow(pair: Pair, side: Side, first: int, second: int) -> object:
    _link(pair.ends[side], first, True).flow(second % 30, drain=second % 7 == 0, echo=second % 5 == 0)
    return None


def _settle(pair: Pair, side: Side, first: int, second: int) -> object:
    link = _link(pair.ends[side], first, True)
    waiting = [
        event.delivery_id
        for event in pair.events[side]
        if isinstance(event, Delivery)
        and event.link == link.handle
        and event.channel == link.session.channel
        and event.delivery_tag in link.unsettled
    ]
    some = waiting[: second % 4 + 1] or [second]
    match second % 5:
        case 0 | 1:
            return link.accept(*some)
        case 2:
            return link.release(*some)
        case 3:
            return link.reject(*some)
        case _:
            return link.update(some, Received(0, second), settled=False)


def _sender_settles(pair: Pair, side: Side, first: int, second: int) -> object:
    link = _link(pair.ends[side], first, False)
    tags = sorted(link.unsettled)
    tag = tags[second % len(tags)] if tags else b"none"
    if second % 2:
        link.settle(tag, Accepted())
    else:
        link.update(tag, Received(0, 0))
    return None


def _detach(pair: Pair, side: Side, first: int, second: int) -> object:
    if second % 3:
        return None
    link = _link(pair.ends[side], first, second % 2 == 0)
    if second % 5:
        link.close("amqp:link:detach-forced" if second % 4 == 0 else "")
    else:
        link.detach()
    return None


def _close(pair: Pair, side: Side, first: int, second: int) -> object:
    if second % 16 == 0:
        pair.ends[side].close("amqp:connection:forced" if first % 2 else "")
    return None


def _misuse(pair: Pair, side: Side, first: int, second: int) -> object:
    end = pair.ends[side]
    calls: tuple[Callable[[], object], ...] = (
        lambda: end.session(99),
        lambda: end.close("", "no condition"),
        end.accept_open,
        end.accept_authentication,
        lambda: _session(end, first).link(99),
        lambda: _session(end, first).accept(),
        lambda: _link(end, first, False).send(b"x", delivery_tag=b"x" * 33),
        lambda: _link(end, first, True).flow(-1),
        lambda: _link(end, first, True).accept(4_000_000),
        lambda: _session(end, first).open_sender("q" * 1000),
    )
    calls[second % len(calls)]()
    return None


def _garbage(pair: Pair, side: Side, first: int, second: int) -> object:
    pair.flying[side] += bytes([0, 0, 0, 8 + second % 3, 2, first % 3, 0, second % 5])
    return None


Driver.acts = (
    *(pump, _answer, _answer, _answer, _open_session, _open_sender, _open_receiver),
    *(_send, _send, _send, _send, _settle, _settle, _settle, _sender_settles, _flow, _flow),
    *(turn, turn, some, some, pass_time, _begin, _continue, _drained, _misuse, pump, _answer),
    *(_detach, _close_session, _close),
)
Driver.damages = (damage, _garbage)
