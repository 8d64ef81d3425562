"""Makers of the records of usual units, where the module in C is built; nobody else imports anything of this.

Each takes the fields that its unit has on the wire, and gives what the class itself would give.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ..._compiled import COMPILED
from .methods import BasicAck, BasicDeliver, BasicProperties, BasicPublish
from .table_rules import RABBIT

if TYPE_CHECKING or COMPILED:
    from ..._compiled import maker

    UNREAD: Final = maker(type(BasicProperties.from_wire(b"", RABBIT)), ("_raw", "_rules"), ())
    """Of octets and the rules of their tables, as `BasicProperties.from_wire`."""
    DELIVERS: Final = maker(BasicDeliver, (*BasicDeliver.__match_args__, "spare"), (None,))
    PUBLISHES: Final = maker(BasicPublish, (*BasicPublish.__match_args__, "spare"), (0, None))
    ACKS: Final = maker(BasicAck, (*BasicAck.__match_args__, "spare"), (None,))
