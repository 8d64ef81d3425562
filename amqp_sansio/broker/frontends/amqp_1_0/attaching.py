"""Answers attaches: with a node and terminus, or a refusal (part 2 section 2.6.3)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from ....amqp_1_0 import Receiver, Source, Symbol, Target
from ....amqp_1_0.codec.conditions import (
    COPY,
    INVALID_FIELD,
    NOT_ALLOWED,
    NOT_FOUND,
    NOT_IMPLEMENTED,
    STOLEN,
    ReceiverSettleMode,
)
from ....amqp_1_0.codec.performatives import Coordinator
from ....errors import LocalProtocolError
from ... import addresses
from ...addresses import BadAddress, Node, NodeKind
from ...model.commands import Bind, CloseOwner, DeclareQueue, LinkQueue, Unbind
from ...model.exchange import HeadersExchange, TopicExchange
from ...model.faults import Fault
from ...model.topology import LONGEST_NAME
from . import filters
from .coordination import CAPABILITIES
from .errors import Refusal, condition_of, fitting, refusal_of, short
from .filters import Filters, binding_arguments
from .links import Termini
from .sources import OutgoingLink
from .targets import CREDIT, IncomingLink
from .termini import (
    DIST_MODES_ARGUMENT,
    LIFETIME_POLICY,
    SUPPORTED_DIST_MODES,
    default_outcome_of,
    dist_modes_of,
    expiry_of,
    lifetime_of,
    mode_of,
    modes_of,
    node_capability,
    outcomes_of,
    receiving_mode,
    told_modes,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ....amqp_1_0 import LinkRequested, Sender
    from ....amqp_1_0.codec.performatives import Attach
    from ...model.owner import Owner
    from ..frontend import HubContext
    from .links import LinkFrontend, LinkKey, NodeLink
    from .management import Management
    from .own_nodes import OwnNodes
    from .sources import Binding
    from .termini import Expiry

_PRIORITY: Final = Symbol("rabbitmq:priority")
_ANONYMOUS: Final = Node(NodeKind.ANONYMOUS)


def answer(front: LinkFrontend, management: Management, own_nodes: OwnNodes, event: LinkRequested) -> None:
    """Accept or refuse a link."""
    link = front.connection.session(event.channel).link(event.link)
    attach = event.attach
    try:
        if (node := own_nodes.find(attach)) is not None:
            _give_back(_known(front, link))
            own_nodes.attach(node, link, attach)
        elif management.takes(attach):
            _give_back(_known(front, link))
            management.attach(link, attach)
        elif isinstance(attach.target, Coordinator):
            _give_back(_known(front, link))
            if not isinstance(link, Receiver):
                raise Refusal(INVALID_FIELD, f"link {link.name!r}: nothing can be received from a coordinator")
            # Unsettled state of this link isn't kept, so mode second would be of no use.
            link.accept_attach(target=Coordinator(CAPABILITIES), rcv_settle_mode=ReceiverSettleMode.FIRST)
            link.flow(CREDIT)
        elif isinstance(link, Receiver):
            _attach_target(front, link, attach)
        else:
            _attach_source(front, link, attach)
    except Refusal as refusal:
        link.refuse_attach(refusal.condition, fitting(refusal.text, front.connection))
    except LocalProtocolError as error:
        # The answer may exceed the client's frame size; a refusal is shorter.
        link.refuse_attach(condition_of(error), short(str(error)))


# Sources.


def _attach_source(front: LinkFrontend, link: Sender, attach: Attach) -> None:
    known = _known(front, link)
    source = attach.source
    if source is None and isinstance(known, OutgoingLink):
        source = known.source
    if not isinstance(source, Source):
        _give_back(known)
        if source is None:
            raise Refusal(NOT_FOUND, f"link {link.name!r} names no source, and none is known of an earlier attachment")
        raise Refusal(NOT_IMPLEMENTED, f"source {source!r} is of a type that isn't known")
    if isinstance(known, OutgoingLink) and _is_same(known.source, source):
        _resume_source(front, link, attach, known, source)
        return
    _give_back(known)
    expiry = expiry_of(source)
    owner = front.new_owner(expiry)
    try:
        made = _make_source(front, link, attach, source, owner)
    except (Refusal, Fault) as error:
        _close_owner(front.hub, owner)
        raise (refusal_of(error) if isinstance(error, Fault) else error) from None
    try:
        link.accept_attach(source=made.source)
    except BaseException:
        made.destroy()
        raise
    made.answered()
    front.add(made)


def _make_source(front: LinkFrontend, link: Sender, attach: Attach, asked: Source, owner: Owner) -> OutgoingLink:
    """Create a terminus, subscribed without credit. Raises Refusal, Fault."""
    wanted = Filters(asked.filter, front.connection_owner.connection, front.compiling)
    properties: Mapping[Any, Any] | None = None
    binding: Binding | None = None
    if asked.dynamic:
        node, properties = _dynamic(front, link.name, asked.dynamic_node_properties, owner)
        queue = node.name
        address = queue
    else:
        node = _find(front, asked.address)
        address = str(asked.address)
        if node.kind is NodeKind.EXCHANGE:
            queue = str(front.hub.apply(DeclareQueue(owner, "", exclusive_to=owner)).name)
            binding = _binding(front, node, wanted)
            if node.name:
                front.hub.apply(Bind(owner, queue, node.name, *binding))
        elif node.kind is NodeKind.QUEUE:
            queue = node.name
            if node.creates:
                front.make_queue(queue)
        else:
            raise Refusal(NOT_ALLOWED, f"nothing can be received from address {asked.address!r}")
    front.hub.apply(LinkQueue(owner, queue))
    mode = mode_of(asked.distribution_mode, modes_of(owner.vhost.queues[queue]))
    default = default_outcome_of(asked)
    answered = Source(
        address,
        asked.durable,
        asked.expiry_policy,
        asked.timeout,
        asked.dynamic,
        properties,
        mode,
        wanted.reported or None,
        default,
        outcomes_of(asked),
        (*node_capability(asked.capabilities, queue=node.kind is NodeKind.QUEUE), *filters.CAPABILITIES),
    )
    made = OutgoingLink(
        front,
        link,
        owner,
        node,
        expiry_of(asked),
        queue,
        answered,
        acquires=mode != COPY,
        filter=wanted.filter(bound=_binds(front, node, wanted)),
        default_outcome=default,
        priority=_priority_of(attach),
    )
    made.binding = binding
    made.subscribe()
    return made


def _resume_source(front: LinkFrontend, link: Sender, attach: Attach, known: OutgoingLink, asked: Source) -> None:
    """Attach to a known terminus (part 2 section 2.6.13)."""
    state = known.state
    assert state is not None
    known.take_over(front, link)
    try:
        known.expiry = _renewed(known, asked)
        wanted = Filters(asked.filter, front.connection_owner.connection, front.compiling)
        known.filter = wanted.filter(bound=_binds(front, known.node, wanted))
        known.source = known.source.replace(filter=wanted.reported or None)
        _move_binding(front, known, wanted)
        known.subscribe()
    except (Refusal, Fault) as error:
        known.destroy()
        raise (refusal_of(error) if isinstance(error, Fault) else error) from None
    unsettled = state.unsettled or attach.unsettled is not None
    known.state = None
    try:
        link.accept_attach(source=known.source, state=state if unsettled else None)
    except BaseException:
        known.destroy()
        raise
    known.answered()
    front.add(known)


def _binding(front: LinkFrontend, node: Node, wanted: Filters) -> Binding:
    """Return the key and arguments that bind a link's private queue to an exchange."""
    exchange = front.connection_owner.vhost.exchanges[node.name]
    key = node.key or ""
    if wanted.binding is not None and _binds(front, node, wanted):
        kind, value = wanted.binding
        return ("", binding_arguments(value)) if kind.exchange is HeadersExchange else (value, {})
    if isinstance(exchange, HeadersExchange):
        return key, {"x-match": "all"}
    return "#" if isinstance(exchange, TopicExchange) and not key else key, {}


def _move_binding(front: LinkFrontend, known: OutgoingLink, wanted: Filters) -> None:
    """Change the binding of a reattached link to an exchange, if it asks for that. Raises Fault."""
    name, before = known.node.name, known.binding
    if before is None or not name:
        return
    after = _binding(front, known.node, wanted)
    if after != before:
        front.hub.apply(Bind(known.owner, known.queue, name, *after))
        front.hub.apply(Unbind(known.owner, known.queue, name, *before))
        known.binding = after


def _binds(front: LinkFrontend, node: Node, wanted: Filters) -> bool:
    """Whether a legacy filter is a binding that the exchange supports."""
    if wanted.binding is None or node.key or node.kind is not NodeKind.EXCHANGE:
        return False
    exchange = front.connection_owner.vhost.exchanges.get(node.name)
    return isinstance(exchange, wanted.binding[0].exchange or ())


def _priority_of(attach: Attach) -> int:
    found = (attach.properties or {}).get(_PRIORITY, 0)
    return int(found) if isinstance(found, int) else 0


# Targets.


def _attach_target(front: LinkFrontend, link: Receiver, attach: Attach) -> None:
    known = _known(front, link)
    target = attach.target
    if target is None and isinstance(known, IncomingLink):
        target = known.target
    if not isinstance(target, Target):
        _give_back(known)
        if target is None:
            raise Refusal(NOT_FOUND, f"link {link.name!r} names no target, and none is known of an earlier attachment")
        raise Refusal(NOT_IMPLEMENTED, f"target {target!r} is of a type that isn't known")
    if isinstance(known, IncomingLink) and _is_same(known.target, target):
        state = known.state
        assert state is not None
        known.take_over(front, link)
        known.expiry = _renewed(known, target)
        known.state = None
        unsettled = state.unsettled or attach.unsettled is not None
        mode = receiving_mode(attach.rcv_settle_mode, known.target, known.expiry)
        try:
            link.accept_attach(target=known.target, rcv_settle_mode=mode, state=state if unsettled else None)
        except BaseException:
            known.destroy()
            raise
        front.add(known)
        known.give_credit()
        return
    _give_back(known)
    expiry = expiry_of(target)
    owner = front.new_owner(expiry)
    try:
        made = _make_target(front, link, attach, target, owner)
    except (Refusal, Fault) as error:
        _close_owner(front.hub, owner)
        raise (refusal_of(error) if isinstance(error, Fault) else error) from None
    try:
        mode = receiving_mode(attach.rcv_settle_mode, target, expiry)
        link.accept_attach(target=made.target, rcv_settle_mode=mode)
    except BaseException:
        made.destroy()
        raise
    front.add(made)
    made.give_credit()


def _make_target(front: LinkFrontend, link: Receiver, attach: Attach, asked: Target, owner: Owner) -> IncomingLink:
    """Create a terminus. Raises Refusal, Fault."""
    properties: Mapping[Any, Any] | None = None
    address: Any = asked.address
    if asked.dynamic:
        node, properties = _dynamic(front, link.name, asked.dynamic_node_properties, owner)
        address = node.name
    elif address is None or address == "":
        node, address = _ANONYMOUS, None
    else:
        node = _find(front, address)
    if node.kind is NodeKind.QUEUE:
        if node.creates:
            front.make_queue(node.name)
        if owner.vhost.queues[node.name].exclusive_to is None:
            front.hub.apply(LinkQueue(owner, node.name))
    elif node.kind is NodeKind.EXCHANGE and owner.vhost.exchanges[node.name].internal:
        raise Refusal(NOT_ALLOWED, f"exchange {node.name!r} in virtual host {front.vhost!r} is internal")
    answered = Target(
        address,
        asked.durable,
        asked.expiry_policy,
        asked.timeout,
        asked.dynamic,
        properties,
        node_capability(asked.capabilities, queue=node.kind is NodeKind.QUEUE),
    )
    return IncomingLink(front, link, owner, node, expiry_of(asked), answered, attach.source)


# Both.


def _find(front: LinkFrontend, address: object) -> Node:
    """Return the node of an address. Raises Refusal."""
    if not isinstance(address, str):
        raise Refusal(INVALID_FIELD, f"address {address!r} is no string")
    try:
        node = addresses.find(front.connection_owner.vhost, address, auto_create=front.auto_create)
    except BadAddress as error:
        raise Refusal(INVALID_FIELD, str(error)) from None
    if node is None:
        raise Refusal(NOT_FOUND, f"there is no node {address!r} in virtual host {front.vhost!r}")
    return node


def _dynamic(
    front: LinkFrontend, link_name: str, properties: Mapping[Any, Any] | None, owner: Owner
) -> tuple[Node, Mapping[Any, Any]]:
    """Create a node for a link; return it with its actual properties (part 3 section 3.5). Raises Refusal, Fault."""
    lifetime, policy = lifetime_of(properties)
    modes = dist_modes_of(properties)
    termini = Termini.of(front.hub)
    while True:
        termini.names += 1
        end = f".{termini.names}"
        begin = f"temporary.{front.container}.{link_name}".replace("/", "_").encode()
        name = begin[: LONGEST_NAME - len(end)].decode(errors="ignore") + end
        if name not in owner.vhost.queues:
            break
    front.hub.apply(
        DeclareQueue(owner, name, arguments={DIST_MODES_ARGUMENT: list(modes)}, reserved=False, lifetime=lifetime)
    )
    told = {LIFETIME_POLICY: policy, SUPPORTED_DIST_MODES: told_modes(modes)}
    return Node(NodeKind.QUEUE, name), told


def _known(front: LinkFrontend, link: Sender | Receiver) -> NodeLink | None:
    """Return the terminus of an earlier attachment of a link, detached from its connection (part 2 section 2.6.1).

    One that can't outlive its connection is useless to another, and one whose node is gone has ended: their messages
    are returned.
    """
    termini = Termini.of(front.hub)
    key: LinkKey = (front.vhost, front.container, link.name, not link.ROLE)
    found = termini.kept.pop(key, None)
    if found is not None:
        front.hub.clear_alarm(("1.0", key))
    else:
        found = _stolen(front, key)
        if found is None:
            return None
    elsewhere = found.place[0] != front.number
    if found.has_node and not (elsewhere and not found.expiry.outlives_connection):
        return found
    _give_back(found)
    return None


def _stolen(front: LinkFrontend, key: LinkKey) -> NodeLink | None:
    """Detach the link of a terminus, and return it."""
    attached = Termini.of(front.hub).attached.pop(key, None)
    if attached is None:
        return None
    other, old = attached.front, attached.link
    other.drop((old.session.channel, old.handle))
    attached.suspend()
    if other is not front:
        # Within one connection, the engine ends the old attachment itself.
        if old.is_attached:
            old.close(STOLEN, f"link {key[2]!r} was attached elsewhere")
        front.hub.touch(other.number)
    return attached


def _renewed(known: NodeLink, asked: Source | Target) -> Expiry:
    """Return the expiry of a reattached terminus. One bound to a connection ends with it, whatever is asked for."""
    expiry = expiry_of(asked)
    return known.expiry if expiry.outlives_connection and known.owner.parent is not None else expiry


def _give_back(known: NodeLink | None) -> None:
    """End the terminus of a link that changes its node."""
    if known is not None:
        known.destroy()
        # Links to a node deleted with it end before a node of the same name is created.
        known.hub.settle()


def _is_same(known: Any, asked: Source | Target) -> bool:
    """Whether the link still goes to the same node."""
    return known is asked or bool(known.dynamic if asked.dynamic else asked.address == known.address)


def _close_owner(hub: HubContext, owner: Owner) -> None:
    hub.apply(CloseOwner(owner))
    hub.disown(owner)
