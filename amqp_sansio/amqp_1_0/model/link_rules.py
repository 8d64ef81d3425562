"""The rules of links: attach, flow, transfer and detach, for either side.

Part 2 sections 2.6 and 2.7. Called by `ConnectionModel`; each raises `Violation`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ..._core.serial import add, bound, distance
from ..codec import conditions
from ..codec.performatives import TransactionalState
from ..codec.violation import Violation, link_error, session_error
from . import states
from .link_state import DeliveryModel, LinkModel, SessionHalf, SessionModel
from .settlement import forget, tell

if TYPE_CHECKING:
    from ..codec.performatives import Attach, Detach, Flow, Transfer
    from .connection import ConnectionModel

_UNSETTLED: Final = 0
_SETTLED: Final = 1
_FIRST: Final = 0
_SECOND: Final = 1
_ATTACHED: Final = states.Link.ATTACHED
_NOT_SENT: Final = states.Delivery.NOT_SENT
_MORE: Final = states.DeliveryInput.MORE
_LAST: Final = states.DeliveryInput.LAST
_ABORT: Final = states.DeliveryInput.ABORT
_TAG_SIZE: Final = 32
_CROSSED: Final = {states.Link.CLOSED, states.Link.DETACHED}
"""Who detached while the other side closed attaches once more, to close too (part 2 section 2.6.6)."""
_FAILED_KEPT: Final = 1024
"""So many links that ended in an error are remembered in a session."""
_CROSSED_KEPT: Final = 64
"""So many links that one side closed and the other only detached are kept in a session."""


def attach(
    joint: ConnectionModel, side: int, channel: int, session: SessionModel, frame: Attach
) -> tuple[LinkModel, bool]:
    """A side attaches its end of a link (part 2 section 2.6.3); whether the other end was attached."""
    own, other = session.halves[side], session.halves[1 - side]
    handle_max = 0xFFFF_FFFF if other.begin is None else other.begin.handle_max
    if frame.handle > handle_max:
        raise Violation(
            conditions.FRAMING_ERROR,
            f"attach of {frame.name!r} with handle {frame.handle}, the handle-max is {handle_max}",
            rule="transport/session/handle-max",
            channel=channel,
        )
    if frame.handle in own.handles:
        raise session_error(
            conditions.HANDLE_IN_USE,
            f"attach of {frame.name!r} with handle {frame.handle}, "
            f"which {own.handles[frame.handle].name!r} has",
            "transport/link/handle-in-use",
            channel,
            session,
        )
    # role is True for a receiver (part 2 section 2.8.1).
    sender = 1 - side if frame.role else side
    if not frame.role and frame.initial_delivery_count is None:
        raise session_error(
            conditions.INVALID_FIELD,
            f"attach of the sender {frame.name!r} without initial-delivery-count",
            "transport/attach/initial-delivery-count",
            channel,
            session,
        )
    _check_unsettled(channel, session, frame)
    key = (frame.name, sender)
    if session.failed.get(key) == 1 - side:
        if frame.unsettled is None:
            raise session_error(
                conditions.ERRANT_LINK,
                f"attach of {frame.name!r}, which ended in an error and may only be resumed",
                "transport/link/errant-link",
                channel,
                session,
            )
        del session.failed[key]
    link = session.names.get(key)
    # Answers aren't counted: what they answer is.
    answering = link is not None and link.halves[1 - side].attaches > link.halves[side].attaches
    if not answering and len(own.handles) >= joint.limits.consumers:
        raise session_error(
            conditions.RESOURCE_LIMIT_EXCEEDED,
            f"more than {joint.limits.consumers} links in a session",
            "transport/error/resource-limit",
            channel,
            session,
        )
    given = states.LinkInput.ATTACH if frame.unsettled is None else states.LinkInput.RESUME
    if link is None or given not in states.LINK[link.halves[side].state]:
        # The same name once more while it is attached: the link is stolen (part 2 section 2.6.1).
        link = session.new_link(frame.name, sender)
        session.names[key] = link
    half = link.halves[side]
    half.state = states.LINK[half.state][given]
    half.attaches += 1
    # Whatever was detached meanwhile: who has attached less often than the other side answers it.
    answers = link.halves[1 - side].attaches >= half.attaches
    if answers:
        link.answered = side
        first = link.halves[1 - side].attach
        if frame.unsettled is not None or (first is not None and first.unsettled is not None):
            _forget_before(session.halves[sender], link)
    half.handle = frame.handle
    half.attach = frame
    link.quick = None
    own.handles[frame.handle] = link
    if side == sender:
        count = frame.initial_delivery_count or 0
        # Flows of the receiver that came before this attach meant this count (part 2 section 2.6.7).
        limit, known = link.credit_limit, link.credit_known
        before = link.delivery_count
        link.credit_limit = count if limit is None else add(count, max(0, distance(before, limit)))
        link.credit_known = count if known is None else add(count, max(0, distance(before, known)))
        link.delivery_count = count
    return link, answers


def _forget_before(half: SessionHalf, link: LinkModel) -> None:
    """What was unsettled when a link was detached is resumed under new delivery-ids, or was settled meanwhile."""
    old = [
        number
        for number, each in half.deliveries.items()
        if each.link is not link and each.link.name == link.name
    ]
    for number in old:
        del half.deliveries[number]


def _check_unsettled(channel: int, session: SessionModel, frame: Attach) -> None:
    if not frame.unsettled:
        return
    for tag in frame.unsettled:
        if not isinstance(tag, bytes):
            raise session_error(
                conditions.INVALID_FIELD,
                f"attach of {frame.name!r}: a key of the unsettled map is {tag!r}, no delivery-tag",
                "transport/attach/unsettled-keys",
                channel,
                session,
            )


def detach(
    joint: ConnectionModel, side: int, channel: int, session: SessionModel, frame: Detach
) -> tuple[LinkModel, bool]:
    """A side detaches its end (part 2 sections 2.6.4 to 2.6.6); whether the other end was detached."""
    own = session.halves[side]
    link = own.handles.get(frame.handle)
    if link is None:
        link = _unknown(joint, side, channel, session, frame.handle, "detach", side)
    half = link.halves[side]
    if frame.closed:
        given = states.LinkInput.CLOSE
    else:
        given = states.LinkInput.DETACH if frame.error is None else states.LinkInput.FAIL
    half.state = states.LINK[half.state][given]
    link.quick = None
    own.handles.pop(frame.handle, None)
    key = (link.name, link.sender)
    if half.state is states.Link.FAILED:
        session.failed[key] = side
        if len(session.failed) > _FAILED_KEPT:
            del session.failed[next(iter(session.failed))]
    _drop_current(link, side)
    peer = link.halves[1 - side].state
    if peer is _ATTACHED:
        return link, False
    ends = {half.state, peer}
    waits = half.attaches != link.halves[1 - side].attaches and ends != {states.Link.CLOSED}
    if session.names.get(key) is link and not waits:
        if ends == _CROSSED:
            _keep_crossed(session, key, link)
        else:
            del session.names[key]
            session.crossed.pop(key, None)
    gone = states.Link.CLOSED in ends or states.Link.FAILED in ends
    deliveries = session.halves[link.sender].deliveries
    for delivery in link.unsettled.values():
        # Else its deliveries are still known by their ids (part 2 section 2.6.4), but those that were cut.
        if gone or delivery.progress is states.Delivery.SENDING:
            deliveries.pop(delivery.delivery_id, None)
    return link, True


def _keep_crossed(session: SessionModel, key: tuple[str, int], link: LinkModel) -> None:
    """Wait for the attach that will close the link at its other end too; it may never come, as from RabbitMQ 3."""
    session.crossed.pop(key, None)
    session.crossed[key] = link
    if len(session.crossed) > _CROSSED_KEPT:
        oldest = next(iter(session.crossed))
        old = session.crossed.pop(oldest)
        if session.names.get(oldest) is old and all([half.state in _CROSSED for half in old.halves]):
            del session.names[oldest]


def _drop_current(link: LinkModel, side: int) -> None:
    """A delivery under way ends with its sender's end of the link."""
    delivery = link.current
    if delivery is not None and link.sender == side:
        link.current = None


def link_flow(
    joint: ConnectionModel, side: int, channel: int, session: SessionModel, frame: Flow
) -> LinkModel | None:
    """The flow state of a link (part 2 section 2.6.7)."""
    handle = frame.handle
    link = session.halves[side].handles.get(handle)  # type: ignore[arg-type]
    if link is None:
        if joint.halves[side].assumed:
            return None
        raise _unattached(channel, session, handle, "flow")
    if side == link.sender:
        if frame.delivery_count is None:
            raise link_error(
                conditions.INVALID_FIELD,
                f"flow of the sender {link.name!r} without delivery-count",
                "transport/flow/delivery-count-sender",
                channel,
                link,
            )
        link.delivery_count = frame.delivery_count
        if frame.available is not None:
            link.available = frame.available
        return link
    if frame.delivery_count is None and link.answered == side:
        # It had seen the sender's attach when it answered it. RabbitMQ 3 leaves the count out all the same.
        joint.tolerate(
            link_error(
                conditions.INVALID_FIELD,
                f"flow of the receiver {link.name!r} without delivery-count after the sender's attach",
                "transport/flow/delivery-count-receiver",
                channel,
                link,
            )
        )
    if frame.link_credit is not None:
        count = frame.delivery_count
        if count is None:
            sender = link.halves[link.sender].attach
            count = 0 if sender is None else sender.initial_delivery_count or 0
        limit = bound(count, frame.link_credit)
        link.credit_limit = limit
        link.granted = frame.link_credit
        known = link.credit_known
        here = link.delivery_count
        # A receiver may name a count that the sender is far from: farthest is as the sender sees it.
        if known is None or distance(here, limit) > distance(here, known):
            link.credit_known = limit
    link.drain_wanted = frame.drain
    return link


def transfer(
    joint: ConnectionModel, side: int, channel: int, session: SessionModel, frame: Transfer, size: int
) -> DeliveryModel | None:
    """A transfer frame (part 2 section 2.7.5). It counts in the session even when its link is in error."""
    own = session.halves[side]
    link = own.handles.get(frame.handle)
    if link is None:
        if not joint.halves[side].assumed:
            raise _unattached(channel, session, frame.handle, "transfer")
        link = _unknown(joint, side, channel, session, frame.handle, "transfer", side)
    window = own.window_known
    if window is not None and window == own.next_outgoing_id:
        raise session_error(
            conditions.WINDOW_VIOLATION,
            f"transfer {own.next_outgoing_id} of link {link.name!r} is beyond the session's incoming window",
            "transport/session.window/violation",
            channel,
            session,
        )
    own.next_outgoing_id = (own.next_outgoing_id + 1) & 0xFFFF_FFFF
    if link.sender != side:
        raise link_error(
            conditions.NOT_ALLOWED,
            f"transfer from the receiver of link {link.name!r}",
            "transport/transfer/delivery-id",
            channel,
            link,
        )
    delivery = link.current
    if delivery is None:
        delivery = _begin_delivery(joint, side, channel, link, frame)
    else:
        _check_continuation(channel, link, delivery, frame)
    if frame.settled and not delivery.settled:
        if link.snd_settle_mode == _UNSETTLED and not frame.aborted:
            raise link_error(
                conditions.NOT_ALLOWED,
                f"settled delivery {delivery.delivery_id} on link {link.name!r}, whose sender never settles",
                "transport/transfer/settled-mode-unsettled",
                channel,
                link,
            )
        delivery.settled = True
    if frame.state is not None:
        tell(channel, link, delivery, side, frame.state, first=delivery.progress is _NOT_SENT)
    delivery.size += size
    limit = _max_message_size(link)
    if limit and delivery.size > limit and not frame.aborted:
        raise link_error(
            conditions.MESSAGE_SIZE_EXCEEDED,
            f"delivery {delivery.delivery_id} of link {link.name!r} has more than {limit} octets",
            "transport/attach/max-message-size",
            channel,
            link,
        )
    _progress(channel, link, delivery, own.deliveries, frame)
    return delivery


def _progress(
    channel: int,
    link: LinkModel,
    delivery: DeliveryModel,
    deliveries: dict[int, DeliveryModel],
    frame: Transfer,
) -> None:
    """Step the delivery's table; what ended is kept until it's settled."""
    given = _ABORT if frame.aborted else _MORE if frame.more else _LAST
    if given is _LAST and link.snd_settle_mode == _SETTLED and not delivery.settled:
        raise link_error(
            conditions.NOT_ALLOWED,
            f"delivery {delivery.delivery_id} of link {link.name!r} ends unsettled, whose sender settles all",
            "transport/transfer/settled-mode-settled",
            channel,
            link,
        )
    delivery.progress = states.DELIVERY[delivery.progress][given]
    if given is _MORE:
        link.current = delivery
        if not delivery.settled and delivery.delivery_id not in deliveries:
            deliveries[delivery.delivery_id] = delivery
            link.unsettled[delivery.delivery_tag] = delivery
        return
    link.current = None
    if given is _ABORT or delivery.settled:
        # An aborted delivery is settled too (part 2 section 2.7.5).
        delivery.settled = True
        forget(delivery, deliveries)
    else:
        deliveries[delivery.delivery_id] = delivery
        link.unsettled[delivery.delivery_tag] = delivery


def _begin_delivery(
    joint: ConnectionModel, side: int, channel: int, link: LinkModel, frame: Transfer
) -> DeliveryModel:
    """The first transfer of a delivery."""
    delivery_id, tag = frame.delivery_id, frame.delivery_tag
    if delivery_id is None or tag is None:
        if joint.halves[side].assumed:
            delivery_id, tag = delivery_id or 0, tag or b""
        else:
            name = "delivery-tag" if tag is None else "delivery-id"
            if delivery_id is None:
                name = "delivery-id"
            raise link_error(
                conditions.INVALID_FIELD,
                f"the first transfer of a delivery on link {link.name!r} has no {name}",
                f"transport/transfer/{name}",
                channel,
                link,
            )
    if frame.message_format is None and not joint.halves[side].assumed:
        # Clients leave it out that post to a coordinator; 0 is the format of all that this library reads.
        joint.tolerate(
            link_error(
                conditions.INVALID_FIELD,
                f"the first transfer of delivery {delivery_id} on link {link.name!r} has no message-format; 0 is meant",
                "transport/transfer/message-format",
                channel,
                link,
            )
        )
    if len(tag) > _TAG_SIZE:
        raise link_error(
            conditions.INVALID_FIELD,
            f"a delivery-tag of {len(tag)} octets on link {link.name!r}, 32 is the most",
            "transport/delivery/tag-size",
            channel,
            link,
        )
    session = link.session
    deliveries = session.halves[side].deliveries
    if delivery_id in deliveries or tag in link.unsettled:
        what = "delivery-id" if delivery_id in deliveries else "delivery-tag"
        raise link_error(
            conditions.NOT_ALLOWED,
            f"the {what} of delivery {delivery_id} on link {link.name!r} belongs to one that isn't settled",
            "transport/delivery/tag-unique",
            channel,
            link,
        )
    credit = link.credit_known
    if credit is not None and distance(link.delivery_count, credit) <= 0:
        excess = link_error(
            conditions.TRANSFER_LIMIT_EXCEEDED,
            f"delivery {delivery_id} on link {link.name!r} is beyond its credit",
            "transport/error/transfer-limit",
            channel,
            link,
        )
        # RabbitMQ 3 counts a flow that crosses its transfers as credit in addition; so much more is taken.
        if distance(credit, link.delivery_count) >= link.granted:
            raise excess
        joint.tolerate(excess)
    if len(deliveries) >= joint.limits.unsettled:
        raise link_error(
            conditions.RESOURCE_LIMIT_EXCEEDED,
            f"{len(deliveries)} deliveries aren't settled, Limits.unsettled allows no more",
            "transport/error/resource-limit",
            channel,
            link,
        )
    if frame.resume:
        _check_resumed(channel, link, tag)
    elif _incomplete(link):
        raise link_error(
            conditions.NOT_ALLOWED,
            f"a new delivery on link {link.name!r} while the receiver's unsettled map is incomplete",
            "transport/attach/incomplete-no-new",
            channel,
            link,
        )
    elif frame.aborted:
        raise link_error(
            conditions.ILLEGAL_STATE,
            f"delivery {delivery_id} on link {link.name!r} is aborted before it began",
            "transport/transfer/aborted",
            channel,
            link,
        )
    if frame.rcv_settle_mode == _SECOND and link.rcv_settle_mode == _FIRST and not frame.settled:
        raise link_error(
            conditions.INVALID_FIELD,
            f"delivery {delivery_id} wants rcv-settle-mode second on link {link.name!r}, which has first",
            "transport/transfer/rcv-illegal",
            channel,
            link,
        )
    link.delivery_count = (link.delivery_count + 1) & 0xFFFF_FFFF
    if link.available:
        link.available -= 1
    delivery = link.new_delivery(delivery_id, tag)
    delivery.message_format = frame.message_format or 0
    delivery.rcv_settle_mode = frame.rcv_settle_mode
    delivery.resumed = frame.resume
    return delivery


def _check_resumed(channel: int, link: LinkModel, tag: bytes) -> None:
    """Only what the sender's own map has may be resumed (part 2 section 2.7.5).

    An incomplete one has more than it says: the sender resumes or settles whatever the receiver's map names (part 2
    section 2.6.13).
    """
    attached = link.halves[link.sender].attach
    if attached is None or attached.incomplete_unsettled:
        return
    if tag not in (attached.unsettled or {}):
        raise link_error(
            conditions.NOT_ALLOWED,
            f"resumed delivery-tag {tag!r} on link {link.name!r} isn't in the sender's unsettled map",
            "transport/transfer/resume-own-map",
            channel,
            link,
        )


def _incomplete(link: LinkModel) -> bool:
    attached = link.halves[1 - link.sender].attach
    return attached is not None and attached.incomplete_unsettled


def _check_continuation(
    channel: int, link: LinkModel, delivery: DeliveryModel, frame: Transfer
) -> None:
    """A further transfer may repeat what the first one said, but not change it."""
    if frame.delivery_id is not None and frame.delivery_id != delivery.delivery_id:
        raise link_error(
            conditions.INVALID_FIELD,
            f"delivery-id {frame.delivery_id} within delivery {delivery.delivery_id} of link {link.name!r}",
            "transport/transfer/delivery-id",
            channel,
            link,
        )
    if frame.delivery_tag is not None and frame.delivery_tag != delivery.delivery_tag:
        raise link_error(
            conditions.INVALID_FIELD,
            f"another delivery-tag within delivery {delivery.delivery_id} of link {link.name!r}",
            "transport/transfer/no-interleave",
            channel,
            link,
        )
    if frame.message_format is not None and frame.message_format != delivery.message_format:
        raise link_error(
            conditions.INVALID_FIELD,
            f"message-format {frame.message_format} within delivery {delivery.delivery_id} of link {link.name!r}, "
            f"whose first transfer says {delivery.message_format}",
            "transport/transfer/message-format",
            channel,
            link,
        )
    first = delivery.states[link.sender]
    state = frame.state
    if isinstance(state, TransactionalState) and not (
        isinstance(first, TransactionalState) and first.txn_id == state.txn_id
    ):
        raise link_error(
            conditions.ILLEGAL_STATE,
            f"a further transfer of delivery {delivery.delivery_id} on link {link.name!r} names another transaction",
            "transactions/posting/all-frames",
            channel,
            link,
        )


def _max_message_size(link: LinkModel) -> int:
    attached = link.halves[1 - link.sender].attach
    return 0 if attached is None else attached.max_message_size or 0


def _unknown(
    joint: ConnectionModel, side: int, channel: int, session: SessionModel, handle: int, what: str, sender: int
) -> LinkModel:
    """A link whose attach wasn't seen, where that is no wonder."""
    if not joint.halves[side].assumed:
        raise _unattached(channel, session, handle, what)
    link = session.new_link("", sender)
    link.halves[side].state = _ATTACHED
    link.halves[side].handle = handle
    link.credit_limit = link.credit_known = None
    session.halves[side].handles[handle] = link
    return link


def _unattached(channel: int, session: SessionModel, handle: int | None, what: str) -> Violation:
    return session_error(
        conditions.UNATTACHED_HANDLE,
        f"{what} on channel {channel} with handle {handle}, which no link has",
        "transport/link/unattached-handle",
        channel,
        session,
    )
