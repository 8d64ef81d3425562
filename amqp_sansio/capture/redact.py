"""Blanks secrets in what a 0-8 or 0-9-1 client sends, for recordings (0-9-1 sections 1.4.2.2,
1.4.2.4 and 4.2.3).
"""

from __future__ import annotations

from typing import Final

_CLASSIC_HEADERS: Final = (
    b"AMQP\x00\x00\x09\x01",
    b"AMQP\x01\x01\x00\x09",
    b"AMQP\x01\x01\x08\x00",
    b"AMQP\x01\x01\x09\x01",
)

_TABLE: Final = 4
_SHORT: Final = 1
_SECRET: Final = 0
_METHOD: Final = 1

_FIELDS: Final = {
    b"\x00\x0a\x00\x0b": (_TABLE, _SHORT, _SECRET),  # start-ok: properties, mechanism, response
    b"\x00\x0a\x00\x15": (_SECRET,),  # secure-ok: response
    b"\x00\x0a\x00\x46": (_SECRET,),  # update-secret: the new secret
}
"""The arguments of the methods that carry a secret, up to it: the size of a length, or 0 for the
secret itself.
"""


class Redactor:
    """A filter for the octets of one client, from its protocol header on: secrets come out as `*`.

    The responses in connection.start-ok and connection.secure-ok and the secret in
    connection.update-secret are blanked; every other octet, all lengths included, stays. How the
    stream is cut makes no difference, and no more than eight octets are held. A stream that doesn't
    begin with a protocol header of 0-8 or 0-9-1 comes out as it is.

    >>> redactor = Redactor()
    >>> redactor.feed(b"AMQP" + bytes((0, 0, 9, 1)))
    b'AMQP\\x00\\x00\\t\\x01'
    >>> secure_ok = bytes((0, 10, 0, 21, 0, 0, 0, 6)) + b"secret"
    >>> redactor.feed(bytes((1, 0, 0, 0, 0, 0, 14)) + secure_ok + b"\\xce")
    b'\\x01\\x00\\x00\\x00\\x00\\x00\\x0e\\x00\\n\\x00\\x15\\x00\\x00\\x00\\x06******\\xce'
    """

    __slots__ = ("_blank", "_fields", "_got", "_left", "_need", "_skip", "_state")

    def __init__(self) -> None:
        self._state = "header"
        self._need = 8
        self._got = b""
        self._skip = 0
        self._blank = 0
        # Of the frame under way: octets of payload not accounted for, and arguments to come.
        self._left = 0
        self._fields: tuple[int, ...] = ()

    def feed(self, data: bytes) -> bytes:
        """The same number of octets, without secrets."""
        if self._state == "pass":
            return data
        out: bytearray | None = None
        pos, end = 0, len(data)
        while pos < end:
            if self._blank:
                taken = min(self._blank, end - pos)
                self._blank -= taken
                out = bytearray(data) if out is None else out
                out[pos : pos + taken] = b"*" * taken
            elif self._skip:
                taken = min(self._skip, end - pos)
                self._skip -= taken
            elif self._state == "pass":
                break
            else:
                taken = min(self._need - len(self._got), end - pos)
                self._got += data[pos : pos + taken]
                if len(self._got) == self._need:
                    got, self._got = self._got, b""
                    self._step(got)
            pos += taken
        return data if out is None else bytes(out)

    def _step(self, got: bytes) -> None:
        """Go on after the octets that were waited for."""
        if self._state == "frame":
            size = int.from_bytes(got[3:])
            if got[0] == _METHOD and got[1:3] == b"\0\0" and size >= 4:
                self._left = size - 4
                self._state, self._need = "method", 4
            else:
                self._skip = size + 1
        elif self._state == "method":
            self._fields = _FIELDS.get(got, ())
            self._next_field()
        elif self._state == "length":
            kind, *rest = self._fields
            self._fields = tuple(rest)
            size = int.from_bytes(got)
            if kind == _SECRET or size > self._left:
                # A length that goes beyond the frame is damage; nothing behind it is shown.
                self._blank = min(size, self._left)
                self._left -= self._blank
            else:
                self._skip = size
                self._left -= size
            self._next_field()
        elif got in _CLASSIC_HEADERS:
            self._next_frame()
        else:
            self._state = "pass"

    def _next_field(self) -> None:
        if self._fields and not self._blank:
            self._need = self._fields[0] or 4
            if self._need <= self._left:
                self._left -= self._need
                self._state = "length"
                return
        self._skip += self._left + 1
        self._next_frame()

    def _next_frame(self) -> None:
        self._state, self._need = "frame", 7


__all__ = ["Redactor"]
