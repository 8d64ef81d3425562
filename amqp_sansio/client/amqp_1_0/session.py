"""Sessions of a 1.0 client, which open links (1.0 part 2 section 2.5)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar, overload

from ...amqp_1_0 import LinkRequested, Source, Target
from ...amqp_1_0 import Receiver as CoreReceiver
from ...errors import EndpointClosed
from ...events import CloseReport, Event
from ..connection import open_stream
from ..inbox import EventStream
from ..opening import Opening
from .links import WHILE_LOST, ReceiverState, SenderState, SessionState
from .receiver import Receiver
from .requester import ReplyInbox, ReplyRoutes, Requester
from .sender import Sender
from .transaction import Transaction

if TYPE_CHECKING:
    from ...amqp_1_0 import LinkState
    from ...amqp_1_0 import Session as CoreSession
    from ...amqp_1_0.codec.performatives import Coordinator

_E = TypeVar("_E", bound=Event)


class Session:
    """One session, returned by `connection.open_session()`. `close` it, or leave its context; its links end with it.

    What the peer doesn't answer within `answer_timeout` seconds raises AnswerTimeout: a link, a drain, a transaction.
    """

    def __init__(self, state: SessionState) -> None:
        # The routes, which go on through recovery.
        self._state = state

    @property
    def core(self) -> CoreSession:
        """The session of the core, for its properties. Don't call its commands."""
        return self._state.core

    @property
    def channel(self) -> int:
        """The channel on which this end sends."""
        return self._state.core.channel

    @property
    def is_open(self) -> bool:
        """Whether links can be opened on it, as far as is known."""
        return self._state.core.is_open

    @property
    def report(self) -> CloseReport | None:
        """Why it ended, once it has."""
        report = self._state.report
        self._state.client.seen(report)
        return report

    def open_sender(
        self,
        address: str | Target | Coordinator | None = None,
        *,
        name: str | None = None,
        source: Source | str | None = None,
        dynamic: bool = False,
        snd_settle_mode: int | None = None,
        rcv_settle_mode: int | None = None,
        max_message_size: int = 0,
        properties: Mapping[Any, Any] | None = None,
        offered_capabilities: Iterable[str] = (),
        desired_capabilities: Iterable[str] = (),
        state: LinkState | None = None,
    ) -> Opening[Sender]:
        """Open a link to send on: `await` it, or use it as an async context that closes the link.

        `address` is a node's, or a whole `Target`; None is the anonymous terminus, to which each message brings its own
        address, or with `dynamic` a node that the peer creates: see `Sender.address`. The default settle modes are 2
        (mixed) and 0 (first). `state` resumes a link and has all of these: unsettled deliveries continue, see
        `Sender.pending`. Raises LinkEnded with the peer's condition if it refuses.

        >>> async def example(session: Session) -> None:
        ...     async with session.open_sender("jobs") as sender:
        ...         outcome = await sender.send(b"hello")
        """
        target: str | Target | Coordinator | None = address
        if dynamic:
            if address is not None:
                raise ValueError("a dynamic node has no address before it's made: give None")
            target = Target(dynamic=True)
        elif address is None and state is None:
            target = Target()

        asked = {
            "target": target,
            "source": source,
            "snd_settle_mode": snd_settle_mode,
            "rcv_settle_mode": rcv_settle_mode,
            "max_message_size": max_message_size,
            "properties": properties,
            "offered_capabilities": offered_capabilities,
            "desired_capabilities": desired_capabilities,
            "state": state,
        }
        return Opening(lambda: self._open_sender(name, asked))

    def open_receiver(
        self,
        address: str | Source | None = None,
        *,
        credit: int = 10,
        name: str | None = None,
        target: Target | str | None = None,
        dynamic: bool = False,
        snd_settle_mode: int | None = None,
        rcv_settle_mode: int | None = None,
        max_message_size: int = 0,
        properties: Mapping[Any, Any] | None = None,
        offered_capabilities: Iterable[str] = (),
        desired_capabilities: Iterable[str] = (),
        state: LinkState | None = None,
    ) -> Opening[Receiver]:
        """Open a link to receive on: `await` it, or use it as an async context that closes the link.

        `address` is a node's, or a whole `Source`, which may have filters; None with `dynamic` is a node that the peer
        creates: see `Receiver.address`. At most `credit` deliveries wait here; with 0 you manage the credit. `state`
        resumes a link, with its address and modes. Raises LinkEnded with the peer's condition if it refuses.

        >>> async def example(session: Session) -> None:
        ...     async with session.open_receiver("jobs", credit=100) as receiver:
        ...         async for delivery in receiver:
        ...             print(delivery.body)
        ...             await delivery.accept()
        """
        if credit < 0:
            raise ValueError(f"credit {credit} is below 0")
        source: str | Source | None = address
        if dynamic:
            if address is not None:
                raise ValueError("a dynamic node has no address before it's made: give None")
            source = Source(dynamic=True)
        elif address is None and state is None:
            raise ValueError("a receiver needs an address, or dynamic=True, or a saved state")

        asked = {
            "source": source,
            "target": target,
            "snd_settle_mode": snd_settle_mode,
            "rcv_settle_mode": rcv_settle_mode,
            "max_message_size": max_message_size,
            "properties": properties,
            "offered_capabilities": offered_capabilities,
            "desired_capabilities": desired_capabilities,
            "state": state,
        }
        return Opening(lambda: self._open_receiver(name, asked, credit))

    def open_requester(
        self, address: str | None, *, credit: int = 100, replies: str | None = None
    ) -> Opening[Requester]:
        """Open a requester for `address`: a sender there and a receiver on a dynamic node for the replies, or at the
        address `replies`. None: each request names its destination in `to`.

        >>> from amqp_sansio.amqp_1_0 import Message
        >>> async def example(session: Session) -> None:
        ...     async with session.open_requester("rpc") as requester:
        ...         reply = await requester.call(Message("ping"))
        """
        return Opening(lambda: self._open_requester(address, credit, replies))

    def transaction(self, *, global_id: bytes | None = None) -> Transaction:
        """Return a transaction, as an async context: declared on entering, committed at its end, rolled back if an
        exception leaves it (1.0 part 4).

        >>> async def example(session: Session, sender: Sender, receiver: Receiver) -> None:
        ...     async with session.transaction() as transaction:
        ...         delivery = await receiver.fetch()
        ...         if delivery is not None:
        ...             await sender.send(delivery.message, transaction=transaction)
        ...             await delivery.accept(transaction=transaction)
        """
        return Transaction(self._state, global_id)

    @overload
    def events(self, *, limit: int = 1000) -> EventStream[Event]: ...
    @overload
    def events(self, *kinds: type[_E], limit: int = 1000) -> EventStream[_E]: ...
    def events(self, *kinds: type[Any], limit: int = 1000) -> EventStream[Any]:
        """Return the session's other events: LinkRequested (answer it with `accept_link`), CreditChanged,
        DeliveryUpdated and so on; only `kinds`, if given.
        """
        state = self._state
        report = self.report
        ended = None if report is None else EndpointClosed(f"session {self.channel}: {report}", report)
        return open_stream(state.client, state.streams, kinds, limit, ended)

    def accept_link(self, event: LinkRequested, *, credit: int = 10) -> Sender | Receiver:
        """Accept a link that the peer attaches, on its terms. `credit` is for receivers.

        Without a reader for `events(LinkRequested)`, such links are refused.

        >>> async def example(session: Session) -> None:
        ...     async for event in session.events(LinkRequested):
        ...         link = session.accept_link(event)
        """
        state = self._state
        core = state.core.link(event.link)
        core.accept_attach()
        link: Sender | Receiver
        if isinstance(core, CoreReceiver):
            link = Receiver(ReceiverState(state, core, credit))
            if credit:
                core.flow(credit)
        else:
            link = Sender(SenderState(state, core))
        state.client.route_now()
        return link

    async def close(self, condition: str = "", description: str = "") -> CloseReport:
        """End the session and wait for the answer; return how it ended. On an ended session this does nothing.

        Raises AnswerTimeout after `close_timeout` seconds: the session is given up, with its links.
        """
        await self._leave(condition, description)
        report = self.report
        assert report is not None
        return report

    async def __aenter__(self) -> Session:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        # A caller that only leaves the context hasn't seen why the session had ended before.
        await self._leave("", "", error)

    def __repr__(self) -> str:
        report = self._state.report
        state = "open" if self.is_open else f"closed: {report}" if report else "opening"
        return f"<Session {self.channel}, {state}>"

    # Internals.

    async def _leave(self, condition: str, description: str, error: BaseException | None = None) -> None:
        state, what = self._state, f"end of session {self.channel}"
        await state.client.leave(state, what, lambda: self._close(condition, description), error)

    async def _close(self, condition: str, description: str) -> None:
        state, client = self._state, self._state.client
        client.say_accepted()
        if state.is_dead:
            state.close(WHILE_LOST, None)
            return
        state.closing = True
        with suppress(EndpointClosed):  # It ends with its connection.
            state.core.close(condition, description)
        if not state.closed.done and client.sessions.get(state.core.channel) is state:
            client.driver.flush_soon()
            await client.until(state.closed)

    async def _open_sender(self, name: str | None, asked: dict[str, Any], *, once: bool = False) -> Sender:
        state = self._state
        entity = await self._ready(asked["target"], asked.get("state"))
        link = SenderState(state, state.core.open_sender(name=name, **asked), self._again(asked))
        link.once = once
        link.entity = entity
        await link.opened()
        return Sender(link)

    async def _open_receiver(
        self, name: str | None, asked: dict[str, Any], credit: int, inbox: ReplyInbox | None = None
    ) -> Receiver:
        state = self._state
        entity = await self._ready(asked["source"], asked.get("state"))
        core = state.core.open_receiver(name=name, credit=credit, **asked)
        link: ReceiverState
        if inbox is None:
            link = ReceiverState(state, core, credit, None, self._again(asked))
        else:
            link = ReplyRoutes(state, core, credit, inbox, self._again(asked))
            inbox.link = link
        link.entity = entity
        await link.opened()
        return Receiver(link)

    async def _ready(self, terminus: object, saved: LinkState | None) -> str:
        """Wait until a link may be attached, with a token for its entity if that needs one; return the entity."""
        state, claims = self._state, self._state.client.claims
        entity = ""
        await state.client.until_restored()
        if claims is not None:
            if terminus is None and saved is not None:
                terminus = saved.target if saved.is_sender else saved.source
            entity = await claims.admit(terminus)
            await state.client.until_restored()
        await state.until_back()
        return entity

    def _again(self, asked: dict[str, Any]) -> dict[str, Any] | None:
        return None if self._state.client.recovery is None else asked

    async def _open_requester(self, address: str | None, credit: int, replies: str | None) -> Requester:
        """Open both links; if one fails, close the other."""
        inbox = ReplyInbox(self._state.client)
        source = Source(dynamic=True) if replies is None else Source(address=replies)
        receiver = await self._open_receiver(None, {"source": source}, credit, inbox)
        try:
            sender = await self._open_sender(None, {"target": Target() if address is None else address}, once=True)
        except BaseException as error:
            await receiver.__aexit__(type(error), error, None)
            raise
        return Requester(sender, receiver, inbox)


__all__ = ["Session"]
