"""How much an odd field ends (part 2 section 2.8.14): nothing, the message, the link, the session, or the connection.

The codec tells what is odd and what it means where that is plain; see `codec.odd`. What is plain is taken, and reported
by observers. Of the rest a field ends what it is about: what only informs ends nothing. `docs/forms-1.0.csv` has every
field in every form, with what may end by it.
"""

from __future__ import annotations

from enum import Enum

from ..._checking import TYPE_CHECKING
from ...errors import CodecError
from ..codec import conditions
from ..codec.message import odd_fields
from ..codec.violation import Violation

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Final

    from ..codec.odd import Odd, OddRecord


class Harm(Enum):
    """What may end by an odd field, from the least to the most."""

    NONE = 0
    MESSAGE = 1
    LINK = 2
    SESSION = 3
    CONNECTION = 4


_INFORMS: Final = ("properties", "offered_capabilities", "desired_capabilities", "capabilities")
_OF_OWNER: Final = {
    "open": Harm.CONNECTION,
    "begin": Harm.SESSION,
    "attach": Harm.LINK,
    "flow": Harm.SESSION,
    "transfer": Harm.LINK,
    "disposition": Harm.SESSION,
    "detach": Harm.SESSION,
    "source": Harm.LINK,
    "target": Harm.LINK,
    "coordinator": Harm.LINK,
    "error": Harm.NONE,
    "end": Harm.NONE,
    "close": Harm.NONE,
    "rejected": Harm.NONE,
    "modified": Harm.NONE,
}
"""What a field ends that `_OF_FIELD` doesn't name. Of states, sections and requests that is the message, of SASL's
frames the connection."""
_OF_FIELD: Final = {
    **dict.fromkeys([("open", name) for name in ("outgoing_locales", "incoming_locales")], Harm.NONE),
    # Nobody could say which of the sessions it answers.
    ("begin", "remote_channel"): Harm.CONNECTION,
    ("begin", "outgoing_window"): Harm.NONE,
    # Without them there is no link to end.
    **dict.fromkeys([("attach", name) for name in ("name", "handle", "role")], Harm.SESSION),
    **dict.fromkeys([("flow", name) for name in ("delivery_count", "link_credit", "drain")], Harm.LINK),
    **dict.fromkeys([("flow", name) for name in ("outgoing_window", "available", "echo")], Harm.NONE),
    ("transfer", "handle"): Harm.SESSION,
    **dict.fromkeys([("transfer", name) for name in ("message_format", "rcv_settle_mode", "state")], Harm.MESSAGE),
    ("transfer", "batchable"): Harm.NONE,
    ("disposition", "state"): Harm.MESSAGE,
    ("disposition", "batchable"): Harm.NONE,
    # It ends anyway.
    ("detach", "closed"): Harm.NONE,
    ("detach", "error"): Harm.NONE,
    **dict.fromkeys([("header", name) for name in ("first_acquirer", "delivery_count")], Harm.NONE),
    **dict.fromkeys([("properties", name) for name in ("content_type", "creation_time")], Harm.NONE),
}


def harm_of(odd: Odd) -> Harm:
    """What may end by one odd field."""
    owner, field = odd.owner, odd.field
    if odd.read or field in _INFORMS:
        return Harm.NONE
    otherwise = Harm.CONNECTION if owner.startswith("sasl-") else Harm.MESSAGE
    return _OF_FIELD.get((owner, field), _OF_OWNER.get(owner, otherwise))


def worst(odds: Iterable[Odd]) -> tuple[Harm, Violation]:
    """What ends by several odd fields, and the violation that says so."""
    harm, odd = max([(harm_of(each), each) for each in odds], key=lambda each: each[0].value)
    return harm, violation_of(odd.error)


def violation_of(error: CodecError) -> Violation:
    """The violation of octets that aren't as they must be."""
    rule = (error.rule or "transport/error/decode-error").removeprefix("1.0/")
    return Violation(error.condition or conditions.DECODE_ERROR, str(error), rule=rule)


def message_fault(payload: bytes, *, strict: bool = False) -> CodecError | None:
    """What makes a message with something odd in its sections unfit; None where it does no harm."""
    try:
        odds = odd_fields(payload)
    except CodecError as error:
        return error
    faults = [each.error for each in odds if strict or harm_of(each) is not Harm.NONE]
    return faults[0] if faults else None


def decoded(error: OddRecord, *, strict: bool) -> tuple[object, int]:
    """The body of a frame that ends nothing by what is odd in it, and where it ends. Raises the error where it does, or
    where `strict`."""
    if strict or worst(error.odds)[0] is not Harm.NONE:
        raise error
    return error.record, error.stop
