"""Dialect: in which form a dtx.xid is written, the only difference between the specification and its errata.

The specification's XML gives the xid a size of two octets and no code, the errata's one of four and the code 6.4. Only
the latter can stand in the array of dtx.recover-result, and real peers write it. Both are read, and a peer is answered
in the form it wrote itself.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from ._records import Xid

if TYPE_CHECKING:
    from .records import Command

_C = TypeVar("_C", bound="Command[Any]")


class Dialect(Enum):
    """How a dtx.xid is written: as the specification says, or as its errata says, which is the default."""

    SPECIFICATION = "0-10"
    ERRATA = "0-10-errata"


class PlainXid(Xid):
    """A dtx.xid without a code, behind two octets of size. It equals an Xid with the same fields.

    >>> PlainXid(1, b"g", b"b").encode_sized().hex()
    '000a07000000000101670162'
    >>> PlainXid(1, b"g", b"b") == Xid(1, b"g", b"b")
    True
    """

    __slots__ = ()

    CODE: ClassVar[int] = 0
    SIZE: ClassVar[int] = 2

    def encode_struct32(self) -> bytes:
        """As a value, which needs a code: what an Xid with the same fields gives. Raises CodecError."""
        return _in_form(self, Xid).encode_struct32()

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Xid):
            return NotImplemented
        mine = (self.format, self.global_id, self.branch_id)
        return mine == (other.format, other.global_id, other.branch_id)

    __hash__ = Xid.__hash__


def adapt(command: _C, dialect: Dialect) -> _C:
    """The command as the dialect writes it: with its xid in that form. One without an xid, or right already, itself.

    >>> from amqp_sansio.amqp_0_10 import DtxPrepare
    >>> adapt(DtxPrepare(Xid(1, b"g", b"b")), Dialect.SPECIFICATION)
    DtxPrepare(xid=PlainXid(format=1, global_id=b'g', branch_id=b'b'))
    """
    xid: object = getattr(command, "xid", None)
    form = PlainXid if dialect is Dialect.SPECIFICATION else Xid
    if not isinstance(xid, Xid) or xid.__class__ is form:
        return command
    fields = {name: getattr(command, name) for name, _ in command.FIELDS}
    return command.__class__(**{**fields, "xid": _in_form(xid, form)})


def _in_form(xid: Xid, form: type[Xid]) -> Xid:
    found = form(xid.format, xid.global_id, xid.branch_id)
    # From the packing flags on both forms have the same octets.
    found.wire = xid.wire
    return found


__all__ = ["Dialect", "PlainXid", "adapt"]
