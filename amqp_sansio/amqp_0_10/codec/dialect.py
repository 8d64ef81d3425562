"""Dialect: in which form a dtx.xid is written, and which required fields a peer may leave out.

The specification's XML gives the xid a size of two octets and no code, the errata's one of four and the code 6.4. Only
the latter can stand in the array of dtx.recover-result, and real peers write it. Both are read, and a peer is answered
in the form it wrote itself.

Qpid's Python clients leave out fields that the XML calls required, and both Qpid brokers take them: this table has
those whose absence has a plain meaning. An end writes them itself, in every dialect.
"""

from __future__ import annotations

from enum import Enum

from ..._checking import TYPE_CHECKING, TypeVar
from .field_types import XID_FORMS
from .records import (
    ConnectionStartOk,
    ConnectionTuneOk,
    ExchangeBind,
    ExchangeDeclare,
    ExchangeUnbind,
    MessageTransfer,
    SessionCommandPoint,
    SessionDetached,
    Xid,
)

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import ClassVar, Final

    from .record import Command
    from .structs import Struct

_NONE: Final = 1
"""accept-mode none."""
_C = TypeVar("_C", bound="Command[object]")


class Dialect(Enum):
    """The 0-10 that a connection speaks. Each member reads what the ones above it read.

    `SPECIFICATION`: a dtx.xid is written as the specification's XML says. `ERRATA`: it's written as the errata says.
    `QPID`, the default: as `ERRATA`, and a peer may leave out the fields that Qpid's clients leave out; a client's
    message.transfer without an accept-mode asks for no word about its message, as if the mode were none.
    """

    SPECIFICATION = "0-10"
    ERRATA = "0-10-errata"
    QPID = "0-10-qpid"


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


XID_FORMS.update({True: Xid, False: PlainXid})


def adapt(command: _C, dialect: Dialect) -> _C:
    """The command as the dialect writes it: with its xid in that form. One without an xid, or right already, itself.

    >>> from amqp_sansio.amqp_0_10.spec import DtxPrepare
    >>> adapt(DtxPrepare(Xid(1, b"g", b"b")), Dialect.SPECIFICATION)
    DtxPrepare(xid=PlainXid(format=1, global_id=b'g', branch_id=b'b'))
    """
    xid: object = getattr(command, "xid", None)
    form = PlainXid if dialect is Dialect.SPECIFICATION else Xid
    if not isinstance(xid, Xid) or xid.__class__ is form:
        return command
    fields = {name: getattr(command, name) for name, _ in command.FIELDS}
    return command.__class__(**{**fields, "xid": _in_form(xid, form)})


_LEFT_OUT: Final[Mapping[type[Struct], tuple[str, ...]]] = {
    # Nothing to say at first; the offered maximum; detached for no reason; from a command's begin on.
    ConnectionStartOk: ("response",),
    ConnectionTuneOk: ("channel_max",),
    SessionDetached: ("code",),
    SessionCommandPoint: ("command_offset",),
    # The key without characters.
    ExchangeBind: ("binding_key",),
    ExchangeUnbind: ("binding_key",),
}


def missing(record: Struct, dialect: Dialect) -> str:
    """The name of the first field that a peer has to write and hasn't written, "" when all are there.

    >>> missing(SessionCommandPoint(0), Dialect.QPID), missing(SessionCommandPoint(0), Dialect.ERRATA)
    ('', 'command_offset')
    """
    found = record.missing()
    if not found or dialect is not Dialect.QPID:
        return found
    left_out = _LEFT_OUT.get(record.__class__, ())
    if isinstance(record, ExchangeDeclare) and record.passive:
        # A passive declare only asks for an exchange, so the server already knows its type.
        left_out = ("type",)
    for name in record.MANDATORY:
        if getattr(record, name) is None and name not in left_out:
            return name
    return ""


def understood(command: _C, dialect: Dialect) -> _C:
    """Return a client's command as a server takes it: a transfer without an accept-mode waits for no outcome."""
    if dialect is Dialect.QPID and isinstance(command, MessageTransfer) and command.accept_mode is None:
        return command.__class__(command.destination, _NONE, command.acquire_mode)
    return command


def _in_form(xid: Xid, form: type[Xid]) -> Xid:
    found = form(xid.format, xid.global_id, xid.branch_id)
    # From the packing flags on both forms have the same octets.
    found.wire = xid.wire
    return found
