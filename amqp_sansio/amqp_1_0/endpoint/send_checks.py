"""What a sender checks before it sends: credit, sizes, tags and settle modes (part 2 sections 2.6.7 and 2.7.5)."""

# The modules of this package share one engine; its private state is theirs, not the caller's.
# pyright: reportPrivateUsage=false
from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ..._core.serial import distance
from ...errors import LocalProtocolError
from ..codec.performatives import Coordinator

if TYPE_CHECKING:
    from .sender import Sender

_UNSETTLED: Final = 0
_SETTLED: Final = 1
_TAG_SIZE: Final = 32


class NoCredit(LocalProtocolError):
    """The receiver takes nothing at the moment; `CreditChanged` says when it does again."""


def check_sendable(sender: Sender, size: int) -> None:
    """Raise unless a message of `size` octets can be sent now: NoCredit, LocalProtocolError, EndpointClosed."""
    sender._check()
    if not sender.credit:
        if sender.current is not None and sender.waiting is None:
            raise LocalProtocolError(
                f"a delivery on link {sender.name!r} is under way; deliveries of one link don't mix",
                rule="1.0/transport/transfer/no-interleave",
            )
        why = "the session's window is full" if _credit_alone(sender) else "the receiver gave none"
        if sender.waiting is not None or sender.resending:
            why = "an earlier delivery isn't sent yet"
        if not sender.is_open:
            why = "it isn't attached by the peer"
        raise NoCredit(
            f"link {sender.name!r} has no credit, {why}; wait for CreditChanged",
            rule="1.0/transport/flow/no-credit",
        )
    limit = sender.max_message_size
    if limit and size > limit:
        raise LocalProtocolError(
            f"a message of {size} octets, the peer takes {limit} on link {sender.name!r}",
            rule="1.0/transport/attach/max-message-size",
        )
    remote = sender.remote
    if remote is not None and remote.incomplete_unsettled:
        raise LocalProtocolError(
            f"the receiver's unsettled map of link {sender.name!r} was incomplete: settle what it names, "
            "detach and resume the link before sending anything new",
            rule="1.0/transport/attach/incomplete-no-new",
        )


def _credit_alone(sender: Sender) -> bool:
    limit = sender.credit_limit
    return limit is not None and distance(sender.delivery_count, limit) > 0


def check_mode(sender: Sender, rcv_settle_mode: int | None, settled: bool) -> None:
    """Raise for a delivery in mode second on a link that has first."""
    if rcv_settle_mode == 1 and not settled and sender.rcv_settle_mode == 0:
        raise LocalProtocolError(
            f"link {sender.name!r} has rcv-settle-mode first, a delivery can't have second",
            rule="1.0/transport/transfer/rcv-illegal",
        )


def delivery_tag_of(sender: Sender, delivery_tag: bytes | None) -> bytes:
    """The tag for a new delivery: as given, or the next generated one. Raises LocalProtocolError."""
    if delivery_tag is None:
        number = sender._tags
        delivery_tag = number.to_bytes(8 if number >> 32 else 4, "big")
        while delivery_tag in sender.unsettled:
            number += 1
            delivery_tag = number.to_bytes(8 if number >> 32 else 4, "big")
        return delivery_tag
    if len(delivery_tag) > _TAG_SIZE:
        raise LocalProtocolError(
            f"a delivery-tag of {len(delivery_tag)} octets, 32 is the most",
            rule="1.0/transport/delivery/tag-size",
        )
    if delivery_tag in sender.unsettled:
        raise LocalProtocolError(
            f"delivery-tag {delivery_tag!r} belongs to an unsettled delivery of link {sender.name!r}",
            rule="1.0/transport/delivery/tag-unique",
        )
    return delivery_tag


def settledness(sender: Sender, settled: bool | None) -> bool:
    """Whether a delivery is sent settled, as given or as the link says. Raises LocalProtocolError."""
    mode = sender.snd_settle_mode
    if isinstance(sender.target, Coordinator) and (settled or mode == _SETTLED):
        raise LocalProtocolError(
            "what goes to a coordinator isn't sent settled: its outcome is the answer",
            rule="1.0/transactions/declare/unsettled",
        )
    if settled is None:
        return mode == _SETTLED
    if settled and mode == _UNSETTLED:
        raise LocalProtocolError(
            f"link {sender.name!r} was attached with snd-settle-mode unsettled",
            rule="1.0/transport/transfer/settled-mode-unsettled",
        )
    if not settled and mode == _SETTLED:
        raise LocalProtocolError(
            f"link {sender.name!r} was attached with snd-settle-mode settled",
            rule="1.0/transport/transfer/settled-mode-settled",
        )
    return settled
