"""Fields of sources and targets: lifetimes of dynamic nodes, modes, outcomes, expiry (part 3 section 3.5)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from ....amqp_1_0 import Accepted, Described, Modified, Rejected, Released, Source, Symbol, Target
from ....amqp_1_0.codec.conditions import (
    COPY,
    INVALID_FIELD,
    MOVE,
    ReceiverSettleMode,
    TerminusDurability,
    TerminusExpiryPolicy,
)
from ....amqp_1_0.codec.performatives import (
    DeleteOnClose,
    DeleteOnNoLinks,
    DeleteOnNoLinksOrMessages,
    DeleteOnNoMessages,
)
from ....amqp_1_0.codec.values import Array
from ...model.commands import Lifetime
from .errors import Refusal

if TYPE_CHECKING:
    from ....amqp_1_0 import DeliveryState
    from ...model.queue import Queue

LIFETIME_POLICY: Final = Symbol("lifetime-policy")
SUPPORTED_DIST_MODES: Final = Symbol("supported-dist-modes")
DIST_MODES_ARGUMENT: Final = "supported-dist-modes"
"""The queue argument that stores the distribution modes of a dynamic node."""

NO_LOCAL: Final = Symbol("APACHE.ORG:NO_LOCAL")
SELECTOR: Final = Symbol("APACHE.ORG:SELECTOR")
LEGACY_FILTERS: Final = Symbol("APACHE.ORG:LEGACY_AMQP_EXCHANGE_FILTERS")
ANONYMOUS_RELAY: Final = Symbol("ANONYMOUS-RELAY")
LINK_PAIR: Final = Symbol("LINK_PAIR_V1_0")

OUTCOMES: Final = tuple([Symbol(each.SYMBOL) for each in (Accepted, Rejected, Released, Modified)])

_LIFETIMES: Final[Mapping[type[object], Lifetime]] = {
    DeleteOnClose: Lifetime.ON_CLOSE,
    DeleteOnNoLinks: Lifetime.ON_NO_LINKS,
    DeleteOnNoMessages: Lifetime.ON_NO_MESSAGES,
    DeleteOnNoLinksOrMessages: Lifetime.ON_NO_LINKS_OR_MESSAGES,
}


class Expiry:
    """When a detached terminus ends (part 3 section 3.5.6): `timeout` seconds after the event of `policy`."""

    __slots__ = ("policy", "timeout")

    def __init__(self, policy: str, timeout: float) -> None:
        self.policy = policy
        self.timeout = timeout

    @property
    def outlives_connection(self) -> bool:
        """Whether the terminus may exist without its connection."""
        return self.policy == TerminusExpiryPolicy.NEVER or self.timeout > 0


def expiry_of(terminus: Source | Target) -> Expiry:
    """Return the expiry that a terminus asks for."""
    return Expiry(str(terminus.expiry_policy), float(terminus.timeout))


def lifetime_of(properties: Mapping[Any, Any] | None) -> tuple[Lifetime, object]:
    """Return the lifetime in dynamic-node-properties, and its record; the default is delete-on-close.

    Raises Refusal for an unknown one.
    """
    policy: object = None if properties is None else properties.get(LIFETIME_POLICY)
    if policy is None:
        policy = DeleteOnClose()
    lifetime = _LIFETIMES.get(type(policy))
    if lifetime is None:
        raise Refusal(INVALID_FIELD, f"lifetime-policy {policy!r} is none of the four of part 3 section 3.5")
    return lifetime, policy


def dist_modes_of(properties: Mapping[Any, Any] | None) -> tuple[str, ...]:
    """Return the distribution modes requested for a dynamic node, by default both: a symbol or an array of them (part 3
    section 3.5.10); a list is accepted too. Raises Refusal.
    """
    asked = None if properties is None else properties.get(SUPPORTED_DIST_MODES)
    if asked is None:
        return (str(MOVE), str(COPY))
    modes: list[Any] = list(asked) if asked.__class__ in (list, Array) else [asked]
    wrong = [each for each in modes if each not in (MOVE, COPY)]
    if wrong or not modes:
        raise Refusal(INVALID_FIELD, f"supported-dist-modes {asked!r}; there are move and copy")
    return tuple([str(each) for each in modes])


def told_modes(modes: tuple[str, ...]) -> object:
    """Return the distribution modes of a dynamic node in the form of its properties."""
    symbols = [Symbol(each) for each in modes]
    return symbols[0] if len(symbols) == 1 else Array(symbols)


def modes_of(queue: Queue) -> tuple[str, ...]:
    """Return the distribution modes of a queue."""
    return tuple(queue.arguments.get(DIST_MODES_ARGUMENT, (str(MOVE), str(COPY))))


def mode_of(asked: str | None, modes: tuple[str, ...]) -> Symbol:
    """Return a link's distribution mode: the requested one if the node supports it, else one that it does."""
    return Symbol(asked if asked in modes else modes[0])


def default_outcome_of(source: Source) -> DeliveryState:
    """Return the outcome for deliveries the receiver is silent about; released if the source doesn't say."""
    found = source.default_outcome
    if found is None:
        return Released()
    if isinstance(found, Accepted | Rejected | Released | Modified):
        return found
    raise Refusal(INVALID_FIELD, f"default-outcome {found!r} is no outcome")


def outcomes_of(source: Source) -> tuple[Symbol, ...]:
    """Return the outcomes that a link may use: the supported ones of those requested; by default all."""
    if not source.outcomes:
        return OUTCOMES
    known = tuple([each for each in OUTCOMES if each in source.outcomes])
    if not known:
        raise Refusal(INVALID_FIELD, f"none of the outcomes {', '.join(source.outcomes)} is known")
    return known


def sending_outcomes(source: object) -> tuple[str, ...]:
    """Return the outcomes that a sending client understands (part 3 section 3.5.3): those of its source, or the default
    one, or accepted; all four if the source says nothing about outcomes."""
    if not isinstance(source, Source):
        return OUTCOMES
    if source.outcomes:
        return tuple([str(each) for each in source.outcomes])
    default = source.default_outcome
    if default is None or isinstance(default, Described):
        return OUTCOMES
    return tuple({str(default.SYMBOL): None, **dict.fromkeys([str(each) for each in OUTCOMES])})


def receiving_mode(asked: int, terminus: Source | Target, expiry: Expiry) -> int:
    """Return the rcv-settle-mode of a link's deliveries (part 2 section 2.8.3): second if requested and of use because
    unsettled state survives the link; else first. Azure's clients request second, and then wait for the broker to
    settle messages they send, and settle received ones themselves."""
    keeps = terminus.durable == TerminusDurability.UNSETTLED_STATE or expiry.outlives_connection
    return asked if keeps else ReceiverSettleMode.FIRST


def node_capability(capabilities: tuple[Symbol, ...], *, queue: bool) -> tuple[Symbol, ...]:
    """Return the node's kind, as one of the capabilities that a client asks for."""
    kinds = ("queue", "temporary-queue") if queue else ("topic", "temporary-topic")
    return tuple([each for each in capabilities if each in kinds])
