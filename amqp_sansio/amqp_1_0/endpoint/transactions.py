"""Transactions: what goes to a coordinator, and what it is asked (part 4)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from ...errors import CodecError, LocalProtocolError
from ..codec import conditions
from ..codec.message import AmqpValue, Message
from ..codec.performatives import Coordinator, Declare, Discharge

if TYPE_CHECKING:
    from ...events import Handle
    from ..codec.performatives import Declared
    from .sender import Sender

_ID_SIZE: Final = 32
_DISTRIBUTED: Final = "amqp:distributed-transactions"


class Controller:
    """Declares and discharges transactions over a sender whose target is a coordinator.

    Transactional work names the txn-id that `declare` brought: `sender.send(..., state=TransactionalState(txn_id))`,
    `receiver.update(deliveries, TransactionalState(txn_id, Accepted()))`, `receiver.flow(..., properties={"txn-id":
    txn_id})`. None of it may be done on the control link itself (part 4 section 4.1).
    """

    __slots__ = ("sender",)

    def __init__(self, sender: Sender) -> None:
        local = sender.local
        if local is None or not isinstance(local.target, Coordinator):
            raise LocalProtocolError(
                f"link {sender.name!r} has no coordinator for its target; "
                "open it with session.open_sender(Coordinator(...))"
            )
        self.sender = sender

    def declare(self, global_id: Any = None) -> Handle[Declared]:
        """Begin a transaction. The handle ends with Declared, whose `txn_id` names it, or Rejected with the error.

        Raises as `Sender.send`: a coordinator gives credit like any receiver.
        """
        target = self.sender.target
        offered = target.capabilities if isinstance(target, Coordinator) else ()
        if global_id is not None and _DISTRIBUTED not in offered:
            raise LocalProtocolError(
                "a global-id is for coordinators with amqp:distributed-transactions, this one hasn't it",
                rule="1.0/transactions/declare/global-id",
            )
        handle: Any = self.sender.send(Message(body=AmqpValue(Declare(global_id))))
        return handle  # type: ignore[no-any-return]

    def discharge(self, txn_id: bytes, *, fail: bool = False) -> Handle[Any]:
        """Commit a transaction, or with `fail` roll it back. The handle ends with Accepted or Rejected."""
        if len(txn_id) > _ID_SIZE:
            raise LocalProtocolError(
                f"a txn-id of {len(txn_id)} octets, 32 is the most",
                rule="1.0/transactions/txn-id-size",
            )
        return self.sender.send(Message(body=AmqpValue(Discharge(txn_id, fail))))


def request_of(payload: bytes) -> Declare | Discharge:
    """What a message to a coordinator asks for; its other sections don't count. Raises CodecError."""
    message = Message.from_wire(payload)
    body = message.body
    if isinstance(body, (Declare, Discharge)):
        if isinstance(body, Discharge) and isinstance(body.txn_id, bytes) and len(body.txn_id) > _ID_SIZE:
            raise CodecError(
                f"a txn-id of {len(body.txn_id)} octets, 32 is the most",
                rule="1.0/transactions/txn-id-size",
                condition=conditions.INVALID_FIELD,
            )
        return body
    raise CodecError(
        f"a message to a coordinator holds {type(body).__name__}, not declare or discharge",
        rule="1.0/transactions/declare/body",
        condition=conditions.NOT_IMPLEMENTED,
    )
