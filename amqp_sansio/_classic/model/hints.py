"""Hints: what usually lies behind the classic ways in which connections end."""

from __future__ import annotations

from ..._checking import TYPE_CHECKING
from ..._core.hints import LOGIN_FAILED
from ..._core.hints import of_first_octets as of_first_octets
from ..._core.hints import of_state as of_state

if TYPE_CHECKING:
    from typing import Final

LOOKED_AT: Final = 5
"""How many first octets tell what a stream is."""

_BY_TEXT: Final = (
    ("PRECONDITION_FAILED - unknown delivery tag", "the delivery was settled before, or on another channel"),
    ("PRECONDITION_FAILED - inequivalent arg", "it exists with other arguments; compare them, also their wire types"),
    (
        "delivery acknowledgement on channel",
        "a delivery wasn't settled within the broker's consumer timeout; settle sooner, or raise consumer_timeout",
    ),
    ("invalid expiration", "a message's expiration is a text of decimal digits: milliseconds, below 2^32"),
    ("delivery_mode_unknown", "a message's delivery-mode is 1 (transient) or 2 (persistent)"),
    ("user_id property set to", "a message's user-id is that of the login; leave it out, or log in as that user"),
    ("global qos", "quorum queues and streams have no prefetch of a whole channel; basic.qos without global"),
    ("global_qos", "the broker has no prefetch of a whole channel any more; basic.qos without global"),
    (
        "transient_nonexcl_queues",
        "the broker takes no queue that is neither durable nor exclusive any more; declare it durable",
    ),
    ("of queue type", "the argument belongs to queues of another type; compare x-queue-type"),
    ("in exclusive use", "another consumer of the queue is exclusive, or this one is to be and isn't alone"),
    ("RESOURCE_LOCKED", "another connection holds it exclusively"),
    ("frame_too_large", "a frame was larger than the agreed frame-max"),
)
_LOGIN_METHODS: Final = (11, 21)
_BY_CODE: Final = {
    312: "no queue is bound for this routing key",
    320: "the server is shutting down or an operator closed the connection",
    403: "the user lacks the permission, or the password is wrong",
    404: "the queue or exchange does not exist in this virtual host",
    405: "another connection holds it exclusively",
    406: "it exists with other properties, or the state doesn't allow it",
    501: "the peer could not read a frame; two writers on one connection, or a frame above frame-max",
    504: "a channel was used that isn't open, often one the server closed before",
    505: "frames of two messages were mixed on one channel; publish from one place at a time",
    530: "the virtual host does not exist, or the operation is not allowed to this user",
}


def for_close(code: int, text: str, class_id: int, method_id: int) -> str:
    """The usual cause behind a peer's close that blames a method; class 0 for none."""
    if class_id == 10 and method_id in _LOGIN_METHODS:
        return LOGIN_FAILED
    for part, hint in _BY_TEXT:
        if part in text:
            return hint
    return _BY_CODE.get(code, "")
