"""An application of AMQP 1.0 that does whatever it can, and what must be true of its endpoint all the time."""

# pyright: reportPrivateUsage=false
from collections.abc import Sequence
from typing import Any

from amqp_sansio import By, Closed, Event, Failed, LocalProtocolError, Pending, Scope, Side
from amqp_sansio.amqp_1_0 import (
    Accepted,
    Delivery,
    LinkClosed,
    LinkRequested,
    LinkState,
    Message,
    Modified,
    Rejected,
    Released,
    Session,
    SessionRequested,
    Source,
)
from amqp_sansio.amqp_1_0.endpoint.connection import Connection
from amqp_sansio.amqp_1_0.model.link_state import LinkModel
from amqp_sansio.amqp_1_0.spec import Coordinator, TransactionalState
from tests.kit import using
from tests.kit.applications import accept_link, listen
from tests.kit.choices import Choices
from tests.kit.hostile_1_0 import NAMES, PAYLOADS, STATES, TAGS
from tests.kit.pair import SIDES, Observing
from tests.kit.pair_1_0 import Pair, client_config, server_config
from tests.kit.small import small_limits
from tests.kit.telling import Telling


class Using(using.Using):
    """As any; `at_once` are the handles that were done at once, `saved` states of links."""

    end: Connection
    patience = 2

    def __init__(self, choices: Choices, end: Connection, *, check: bool = False) -> None:
        super().__init__(choices, end, check=check)
        self.payloads: Sequence[bytes] = PAYLOADS
        self.states: Sequence[Any] = STATES
        self.telling: LinkTelling = LinkTelling()
        self.at_once: list[Pending[Any]] = []
        self.saved: list[LinkState] = []
        self.asked: list[tuple[int, int | None]] = []
        self.deliveries: list[Delivery] = []
        self.links: list[Any] = []

    def hear(self, event: Event) -> None:
        """Remember what an event asks for, and what may be settled."""
        super().hear(event)
        if isinstance(event, SessionRequested):
            self.asked.append((event.channel, None))
        elif isinstance(event, LinkRequested):
            self.asked.append((event.channel, event.link))
        elif isinstance(event, Delivery):
            self.deliveries.append(event)

    @property
    def is_asked(self) -> bool:
        """Whether a session or a link is requested."""
        return bool(self.asked)

    def keep(self, given: Any) -> None:
        """Keep a handle, or the handle of an opening."""
        if isinstance(given, LinkModel):
            self.telling.opened(given)
        handle: Any = getattr(given, "opening", given)
        if handle.__class__ is Pending:
            (self.at_once if handle.done else self.handles).append(handle)

    def answer(self) -> object:
        """Answer the oldest question, or the newest."""
        if not self.asked:
            return None
        channel, number = self.asked.pop(0 if self.choices.below(2) else -1)
        if number is None:
            session = self.end.session(channel)
            if self.choices.rarely():
                session.refuse("amqp:not-allowed", "no")
            else:
                session.accept()
            return None
        link: Any = self.end.session(channel).link(number)
        if self.choices.rarely():
            link.refuse_attach("amqp:not-found", "no")
            return None
        if self.saved and self.choices.below(3) == 0:
            link.accept_attach(state=self.saved[-1])
        else:
            if link.requested is None:
                return None
            accept_link(link)
        self.links.append(link)
        return None

    def _session(self) -> Session:
        channels = self.end.sessions
        return self.end.session(self.choices.of(channels) if channels else 0)

    def _link(self, receives: bool) -> Any:
        found = [
            link for channel in self.end.sessions for link in self.end.session(channel).links if link.ROLE is receives
        ]
        if not found:
            raise LocalProtocolError("no such link")
        return self.choices.of(found)

    def _open_session(self) -> object:
        return self.end.open_session()

    def _open_sender(self) -> object:
        choices = self.choices
        name = choices.of((None, *NAMES))
        modes: Any = {"snd_settle_mode": choices.below(3), "rcv_settle_mode": choices.below(2)}
        target = Coordinator() if choices.rarely() else "q"
        return self._keep(self._session().open_sender(target, name=name, **modes))

    def _open_receiver(self) -> object:
        choices = self.choices
        name = choices.of((None, *NAMES))
        session, source = self._session(), Source(dynamic=True) if choices.rarely() else "q"
        return self._keep(
            session.open_receiver(source, name=name, credit=choices.of((5, 0)), rcv_settle_mode=choices.below(2))
        )

    def _keep(self, link: Any) -> Any:
        self.links.append(link)
        return link

    def _resume(self) -> object:
        if not self.saved:
            return None
        state = self.choices.of(self.saved)
        session = self._session()
        if state.is_sender:
            return self._keep(session.open_sender(None, state=state))
        return self._keep(session.open_receiver(None, state=state, credit=5))

    def _save(self) -> object:
        if self.links:
            self.saved.append(self.choices.of(self.links).saved_state())
        return None

    def _send(self) -> object:
        link, choices = self._link(False), self.choices
        settled = choices.of((None, None, True, False))
        tag = choices.of((None, None, *TAGS))
        state = choices.of(self.states) if choices.rarely() else None
        return link.send(choices.of(self.payloads), settled=settled, delivery_tag=tag, state=state)

    def _parts(self) -> object:
        link, choices = self._link(False), self.choices
        match choices.below(4):
            case 0:
                return link.begin(choices.of(self.payloads))
            case 1:
                link.abort()
            case _:
                link.continue_delivery(choices.of(self.payloads), more=choices.below(2) == 0)
        return None

    def _settle(self) -> object:
        link, choices = self._link(False), self.choices
        tags = tuple(link.pending) or (b"none",)
        if choices.below(2):
            link.settle(choices.of(tags), choices.of(self.states))
        else:
            link.update(choices.of(tags), choices.of(self.states[1:]))
        return None

    def _take(self) -> object:
        choices = self.choices
        if not self.deliveries:
            return None
        delivery = self.deliveries.pop(choices.below(len(self.deliveries)))
        link: Any = self.end.session(delivery.channel).link(delivery.link)
        if not link.ROLE:
            return None
        if choices.rarely():
            return link.update([delivery], choices.of(self.states), settled=choices.of((None, True, False)))
        return link.accept(delivery)

    def _flow(self) -> object:
        if self.choices.rarely():
            self._session().flow(echo=self.choices.below(2) == 1)
            return None
        link, choices = self._link(True), self.choices
        link.flow(choices.of((5, 0, 1, 0x7FFF_FFFF)), drain=choices.rarely(), echo=choices.rarely())
        return None

    def _leave(self) -> object:
        link, choices = self._link(self.choices.below(2) == 1), self.choices
        match choices.below(4):
            case 0:
                link.detach()
            case 1:
                link.close("amqp:internal-error", "so")
            case _:
                link.close()
        return None

    def _drained(self) -> object:
        link = self._link(False)
        if self.choices.below(2):
            link.drained()
        else:
            link.set_available(7)
        return None

    def _end(self) -> object:
        if self.choices.below(4) == 0:
            self._session().close()
        return None


Using.acts = (
    *(Using.answer, Using.answer, Using.answer, Using.answer, Using._open_session),
    *(Using._open_sender, Using._open_receiver, Using._send, Using._send, Using._send, Using._parts),
    *(Using._settle, Using._take, Using._take, Using._flow, Using._leave, Using._drained, Using._end),
    *(Using._save, Using._resume, Using._flow, Using._flow, Using._flow),
)


class LinkTelling(Telling):
    """Checks the ends of links, too: a link's is told before its session's, and nothing of the link after it."""

    def __init__(self) -> None:
        super().__init__()
        self.links: dict[tuple[int, int], bool] = {}

    def __call__(self, event: Event) -> None:
        super().__call__(event)
        channel, number = getattr(event, "channel", None), getattr(event, "link", None)
        if isinstance(event, Closed) and event.scope is Scope.SESSION:
            for each, ended in self.links.items():
                assert ended or each[0] != event.channel, (each, event)
        if channel is None or number is None:
            return
        key = channel, number
        if isinstance(event, LinkRequested):
            assert self.links.get(key, True), event
            self.links[key] = False
        assert not self.links.get(key, True), event
        if isinstance(event, LinkClosed):
            self.links[key] = True

    def opened(self, link: Any) -> None:
        """The application opened a link itself."""
        assert self.links.get((link.session.channel, link.handle), True), link
        self.links[link.session.channel, link.handle] = False


COMMON: dict[str, Any] = {
    "limits": small_limits(unsettled=30, consumers=6),
    "max_frame_size": 512,
    "incoming_window": 6,
    "channel_max": 2,
}
BOUNDS = {"1.0/transport/open/channel-max", "1.0/transport/session/handle-max"}
"""Both ends together may want more sessions or links than there are numbers."""
_PAYLOADS = tuple([Message(bytes(size)).encode() for size in (1, 20, 300, 600, 2000)])
_STATES = (None, Accepted(), Accepted(), Released(), Rejected(), Modified(True), TransactionalState(b"t", Accepted()))


class Two:
    """Both ends of one connection, with an application that does what octets say at each."""

    def __init__(self, choices: Choices, saved: dict[Side, list[LinkState]], observer: Observing | None = None) -> None:
        self.choices = choices
        self.pair = Pair(client=client_config(**COMMON), server=server_config(**COMMON), observer=observer).open()
        self.pair.applications = {side: listen for side in SIDES}
        self.heard = {side: len(self.pair.events[side]) for side in SIDES}
        self.users = {side: Using(choices, self.pair.ends[side]) for side in SIDES}
        for side, user in self.users.items():
            user.payloads, user.states, user.saved = _PAYLOADS, _STATES, saved[side]

    def use(self) -> None:
        """Use the connection until the octets are at their end, or say that it ends."""
        choices, pair = self.choices, self.pair
        while choices:
            what, side = choices.below(16), choices.of(SIDES)
            if what < 9:
                self.users[side].act()
            elif what < 12:
                pair.turn(side)
            elif what < 14:
                pair.write(side, choices.below(200))
                pair.arrive(side.other, choices.below(200))
            elif what == 14:
                pair.pump()
            elif choices.below(6) == 0:
                break
            self.hear()
            for each in SIDES:
                pair.ends[each].check()

    def hear(self) -> None:
        """Take the events of both, none of which finds a fault of the other."""
        for side in SIDES:
            self.pair.drain(side)
            events = self.pair.events[side]
            for event in events[self.heard[side] :]:
                self.users[side].hear(event)
                if isinstance(event, Failed) and event.by is By.LOCAL:
                    assert getattr(event.error, "rule", None) in BOUNDS, event
            self.heard[side] = len(events)

    def end(self) -> None:
        """Close or cut, and check that everything has ended once."""
        pair = self.pair
        if self.choices.below(2):
            pair.pump()
            pair.client.close()
            pair.pump()
        else:
            pair.cut()
        self.hear()
        for user in self.users.values():
            user.saved += [link.saved_state() for link in user.links[-3:]]
            ended = user.telling.ended
            assert user.telling.closed
            for handle in user.handles:
                assert handle.done
                assert id(handle) in ended, handle
            for handle in user.at_once:
                assert id(handle) not in ended, handle
