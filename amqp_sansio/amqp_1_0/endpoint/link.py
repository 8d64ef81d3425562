"""Link: what both ends of a link share: attaching, answering, detaching, saving (part 2 sections 2.6.3 to 2.6.6)."""

# The modules of this package share one engine; its private state is theirs, not the caller's.
# pyright: reportPrivateUsage=false
from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Final

from ...errors import EndpointClosed, LocalProtocolError, Scope
from ...events import Handle
from ..codec.conditions import SenderSettleMode
from ..codec.performatives import Attach, Detach, Source, Target
from ..model import states
from ..model.link_state import LinkModel
from ..model.resume import LinkState, check_rounds
from .events import LinkOpened
from .session import make_error, symbols

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from ...events import CloseReport
    from ..codec.performatives import Error
    from ..model.link_state import State
    from ..model.resume import SavedDelivery
    from .session import Session

_ATTACHED: Final = states.Link.ATTACHED
_FRAME_HEADER: Final = 8
_SMALL: Final = 256
"""Octets that a flow, and what an answering attach has more than the one it answers, surely have room in."""

More = tuple["Mapping[Any, Any] | None", "Iterable[str]", "Iterable[str]"]
"""Properties, offered and desired capabilities."""


class Link(LinkModel):
    """One end of a link: a `Sender` or a `Receiver`.

    Commands raise LocalProtocolError for misuse, EndpointClosed when the link, its session or the connection is gone.
    `opening` is the handle of `open_sender` and `open_receiver`, `report` says why the link ended, once it has.
    """

    ROLE: ClassVar[bool]

    __slots__ = (
        "closing",
        "doubt",
        "incomplete",
        "number",
        "opening",
        "report",
        "requested",
        "restored",
        "told",
    )

    session: Session

    def __init__(self, session: Session, name: str, sender: int) -> None:
        LinkModel.__init__(self, session, name, sender)
        self.session = session
        self.number = 0
        self.opening: Handle[None] | None = None
        self.report: CloseReport | None = None
        self.requested: Attach | None = None
        self.restored: dict[bytes, SavedDelivery] | None = None
        self.incomplete = False
        # Resumptions in a row of which nothing came, and how many deliveries this one began with.
        self.doubt = 0, 0
        self.closing: Error | None = None
        self.told = False

    # State.

    @property
    def handle(self) -> int:
        """The number that this end has given the link."""
        return self.number

    @property
    def role(self) -> str:
        """ "sender" or "receiver": what this end is."""
        return "receiver" if self.ROLE else "sender"

    @property
    def local(self) -> Attach | None:
        """This end's attach."""
        return self.halves[self.session.side].attach

    @property
    def remote(self) -> Attach | None:
        """The peer's attach."""
        return self.halves[1 - self.session.side].attach

    @property
    def is_open(self) -> bool:
        """Whether both ends are attached, and to a terminus."""
        return (
            self.is_attached
            and self.report is None
            and not self.is_refused
            and self.session.connection.is_open
        )

    @property
    def is_refused(self) -> bool:
        """Whether the peer has attached without the terminus it was asked for (part 2 section 2.6.3)."""
        remote, local = self.remote, self.local
        if remote is None or local is None:
            return False
        if self.ROLE:
            return remote.source is None and local.source is not None
        return remote.target is None and local.target is not None

    @property
    def address(self) -> str | None:
        """The address of the node at the peer: that of the source for a receiver, of the target for a sender."""
        terminus = self.source if self.ROLE else self.target
        address = getattr(terminus, "address", None)
        return None if address is None else str(address)

    @property
    def max_message_size(self) -> int:
        """The largest message the peer takes, in octets; 0: no limit."""
        remote = self.remote
        return 0 if remote is None else remote.max_message_size or 0

    # Commands.

    def accept_attach(
        self,
        *,
        source: Any = None,
        target: Any = None,
        snd_settle_mode: int | None = None,
        rcv_settle_mode: int | None = None,
        max_message_size: int = 0,
        properties: Mapping[Any, Any] | None = None,
        offered_capabilities: Iterable[str] = (),
        desired_capabilities: Iterable[str] = (),
        state: LinkState | None = None,
    ) -> None:
        """Answer `LinkRequested`. What isn't given is as the peer asked for (part 2 section 2.6.3).

        A dynamic node needs its own side's terminus, with the address that it was given. `state` resumes a
        link that is known here. A receiver gives credit with `flow` next.
        """
        asked = self._check_requested()
        own = self._own_source(asked, source), self._own_target(asked, target)
        if snd_settle_mode is None and state is not None and state.is_sender and state.unsettled:
            # What is unsettled from before can't go on in a link that sends everything settled.
            snd_settle_mode = state.snd_settle_mode if asked.snd_settle_mode == SenderSettleMode.SETTLED else None
        modes = (
            asked.snd_settle_mode if snd_settle_mode is None else snd_settle_mode,
            asked.rcv_settle_mode if rcv_settle_mode is None else rcv_settle_mode,
            max_message_size,
        )
        before = self.restored, self.incomplete, self.doubt, self.next_tag()
        if state is not None:
            self.restore(state)
        try:
            self._answer(*own, modes, (properties, offered_capabilities, desired_capabilities))
        except BaseException:
            self.restored, self.incomplete, self.doubt, tag = before
            self.number_tags(tag)
            raise
        self.session.connection._events.append(
            LinkOpened(Scope.LINK, self.session.channel, None, self.number, self.name)
        )
        self.compare()

    def refuse_attach(
        self, condition: str = "", description: str = "", info: Mapping[Any, Any] | None = None
    ) -> None:
        """Answer `LinkRequested` with an attach that has no terminus here, and a detach."""
        self._check_requested()
        error = make_error(condition, description, info)
        self._refuse(True, error)

    def close(
        self, condition: str = "", description: str = "", info: Mapping[Any, Any] | None = None
    ) -> None:
        """Detach for good, with an error where `condition` names one; `LinkClosed` comes with the peer's answer.

        Nothing happens when it is detached already.
        """
        self._leave(True, make_error(condition, description, info))

    def detach(self) -> None:
        """Detach without closing: the link is suspended, and `saved_state()` can be resumed."""
        self._leave(False, None)

    def saved_state(self) -> LinkState:
        """What is needed to resume the link, at any time, also after the connection is gone. Picklable."""
        source, target = self.source, self.target
        local = self.local
        unsettled = tuple(self.saved_deliveries())
        rounds, began = self.doubt
        if local is not None:
            source = local.source if source is None or self.is_refused else source
            target = local.target if target is None or self.is_refused else target
        return LinkState(
            self.name,
            not self.ROLE,
            source,  # type: ignore[arg-type]
            target,  # type: ignore[arg-type]
            2 if local is None else local.snd_settle_mode,
            0 if local is None else local.rcv_settle_mode,
            self.next_tag(),
            unsettled,
            0 if not unsettled or len(unsettled) < began else rounds,
        )

    # What the two kinds do in their own way.

    def next_tag(self) -> int:
        """The number of the next generated delivery-tag."""
        return 0

    def number_tags(self, tag: int) -> None:
        """What `next_tag` gives next."""

    def saved_deliveries(self) -> Iterable[SavedDelivery]:
        """The unsettled deliveries."""
        raise NotImplementedError

    def unsettled_states(self) -> dict[bytes, State | None]:
        """The map of an attach that resumes."""
        raise NotImplementedError

    def compare(self) -> None:
        """Both ends are attached: compare the unsettled maps."""
        raise NotImplementedError

    def ended(self) -> list[Handle[Any]]:
        """The link is over: its handles that nothing will end any more."""
        raise NotImplementedError

    def drop(self) -> None:
        """Let go of what won't be completed."""

    # For the engine.

    def restore(self, state: LinkState) -> None:
        """Take over what was saved of an earlier attachment."""
        check_rounds(state)
        self.restored = {each.delivery_tag: each for each in state.unsettled}
        self.doubt = state.rounds, len(state.unsettled)

    def count_round(self, incomplete: bool) -> None:
        """The maps were compared; another resumption follows where they are `incomplete`."""
        rounds, began = self.doubt
        self.doubt = (rounds + 1, began) if incomplete else (0, 0)

    def name_later(self, left: dict[bytes, SavedDelivery]) -> dict[bytes, SavedDelivery]:
        """Those of which nothing is proven, in the order for the next map: what the peer named, what this end didn't,
        and last what it named in vain."""
        remote, local = self.remote, self.local
        theirs = (remote and remote.unsettled) or {}
        ours = (local and local.unsettled) or {}
        return dict(sorted(left.items(), key=lambda each: (each[0] not in theirs, each[0] in ours)))

    def attach(self, number: int, source: Any, target: Any, modes: tuple[int, int, int], more: More) -> None:
        """Send this end's attach; the peer's comes later."""
        self.number = number
        self._send_attach(source, target, modes, more)
        connection = self.session.connection
        self.opening = Handle((self.name, "open", self.session.channel, connection._new_serial()))

    def ask(self, number: int, attach: Attach) -> None:
        """The peer has attached; handle `number` is kept for the answer."""
        self.number = number
        self.requested = attach
        self.session.asked[number] = self

    def answer_refusing(self) -> None:
        """Attach what the peer asked for without a terminus at this end."""
        asked = self.requested
        assert asked is not None
        source, target = asked.source, asked.target
        if self.ROLE:
            target = None
        else:
            source = None
        modes = (asked.snd_settle_mode, asked.rcv_settle_mode, 0)
        self._answer(source, target, modes, (None, (), ()))

    def _answer(self, source: Any, target: Any, modes: tuple[int, int, int], more: More) -> None:
        self._send_attach(source, target, modes, more)
        self.requested = None
        self.session.asked.pop(self.number, None)

    def _own_source(self, asked: Attach, source: Any) -> Any:
        """What this end says of the source; a sender that was asked for a dynamic one has to name it."""
        if isinstance(source, str):
            source = Source(address=source)
        found: Any = asked.source if source is None else source
        if not self.ROLE and getattr(found, "dynamic", False) and found.address is None:
            raise LocalProtocolError(
                f"link {self.name!r} wants a dynamic node; accept it with its source, address included",
                rule="1.0/source.address/dynamic-sender",
            )
        return found

    def _own_target(self, asked: Attach, target: Any) -> Any:
        """As `_own_source`, for the target of a receiver."""
        if isinstance(target, str):
            target = Target(address=target)
        found: Any = asked.target if target is None else target
        if self.ROLE and getattr(found, "dynamic", False) and found.address is None:
            raise LocalProtocolError(
                f"link {self.name!r} wants a dynamic node; accept it with its target, address included",
                rule="1.0/target.address/dynamic-receiver",
            )
        return found

    def _send_attach(self, source: Any, target: Any, modes: tuple[int, int, int], more: More) -> None:
        snd_settle_mode, rcv_settle_mode, max_message_size = modes
        properties, offered, desired = more
        if self.ROLE:
            limit = self.session.connection.config.limits.message
            max_message_size = min(max_message_size, limit) if max_message_size else limit
        unsettled = None if self.restored is None else self.unsettled_states()
        sender = 1 - self.session.side if self.ROLE else self.session.side
        if unsettled is None and self.session.failed.get((self.name, sender)) == 1 - self.session.side:
            # The peer's end went with an error: what isn't said to be resumed would be errant (section 2.6.5).
            unsettled = {}
        frame = Attach(
            self.name,
            self.number,
            self.ROLE,
            snd_settle_mode,
            rcv_settle_mode,
            source,
            target,
            unsettled=unsettled,
            incomplete_unsettled=False,
            initial_delivery_count=None if self.ROLE else 0,
            max_message_size=max_message_size or None,
            offered_capabilities=symbols(offered),
            desired_capabilities=symbols(desired),
            properties=properties,
        )
        self._check_modes(frame)
        if unsettled:
            frame = self._fitting(frame, unsettled)
        connection = self.session.connection
        # A flow with the first credit follows, and has to fit too.
        connection._check_frames(frame, spare=_SMALL)
        connection._send(self.session.channel, frame)

    def _check_modes(self, frame: Attach) -> None:
        if frame.snd_settle_mode not in (0, 1, 2) or frame.rcv_settle_mode not in (0, 1):
            raise LocalProtocolError(
                f"settle modes {frame.snd_settle_mode} and {frame.rcv_settle_mode} of link {self.name!r}; "
                "the sender's are 0 to 2, the receiver's 0 and 1"
            )

    def _fitting(self, frame: Attach, unsettled: dict[bytes, State | None]) -> Attach:
        """As much of the unsettled map as fits the peer's frames (part 2 section 2.7.3).

        What the peer has named comes first: only what both maps name can be settled for sure.
        """
        room = self.session.connection._max_frame - _FRAME_HEADER
        self.incomplete = len(frame.encode()) > room
        kept: dict[bytes, State | None] = unsettled
        if self.incomplete and self.requested is not None:
            theirs = self.requested.unsettled or {}
            kept = {**{tag: kept[tag] for tag in theirs if tag in kept}, **kept}
        while len(frame.encode()) > room and kept:
            fewer = min(len(kept) - 1, len(kept) * room // len(frame.encode()))
            kept = {tag: kept[tag] for tag in list(kept)[:fewer]}
            values = [getattr(frame, name) for name in frame.__match_args__]
            values[frame.__match_args__.index("unsettled")] = kept
            values[frame.__match_args__.index("incomplete_unsettled")] = True
            frame = Attach(*values)
        return frame

    def _leave(self, closed: bool, error: Error | None) -> None:
        session = self.session
        if self.requested is not None:
            session._check()
            self._refuse(closed, error)
            return
        if self.halves[session.side].state is not _ATTACHED or self.report is not None:
            return
        session._check()
        self._detach(closed, error)

    def _refuse(self, closed: bool, error: Error | None) -> None:
        """Attach without a terminus and detach, if both can be sent."""
        connection = self.session.connection
        spare = _SMALL if self.requested is None else len(self.requested.encode()) + _SMALL
        connection._check_frames(Detach(self.number, closed, error), spare=spare)
        self.answer_refusing()
        self._detach(closed, error)

    def _detach(self, closed: bool, error: Error | None) -> None:
        session = self.session
        session.connection._send(session.channel, Detach(self.number, closed, error))
        # Nobody takes what still comes of a delivery under way.
        self.drop()
        self.closing = error
        session.leaving[self.number] = self

    def _check(self) -> None:
        """Raise unless the link is attached by this end."""
        self.session._check()
        if self.halves[self.session.side].state is _ATTACHED and self.report is None:
            return
        if self.requested is not None:
            raise LocalProtocolError(
                f"link {self.name!r} is asked for by the peer; use accept_attach or refuse_attach first"
            )
        raise EndpointClosed(
            f"link {self.name!r} is detached: {self.report or 'by this end'}", self.report
        )

    def _check_requested(self) -> Attach:
        self.session._check()
        if self.requested is None:
            raise LocalProtocolError(f"link {self.name!r} isn't waiting for an answer")
        return self.requested

    def __repr__(self) -> str:
        state = "open" if self.is_open else f"ended: {self.report}" if self.report else "not open"
        return f"<{type(self).__name__} {self.name!r} to {self.address!r}, {state}>"
