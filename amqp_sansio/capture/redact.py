"""Blanks the secrets that a client sends, for recordings (0-9-1 sections 1.4.2.2, 1.4.2.4 and 4.2.3; 0-10 part 1
sections 4.4 and 9.1; 1.0 part 5 section 5.3).
"""

from __future__ import annotations

from typing import Final

from .redact_tokens import TokenBlanker

_CLASSIC_HEADERS: Final = (
    b"AMQP\x00\x00\x09\x01",
    b"AMQP\x01\x01\x00\x09",
    b"AMQP\x01\x01\x08\x00",
    b"AMQP\x01\x01\x09\x01",
)
_AMQP_0_10_HEADER: Final = b"AMQP\x01\x01\x00\x0a"
_AMQP_1_0_HEADER: Final = b"AMQP\x00\x01\x00\x00"
_SASL_HEADER: Final = b"AMQP\x03\x01\x00\x00"

_TABLE: Final = 4
_SHORT: Final = 1
_SECRET: Final = 0
_METHOD: Final = 1

_FIELDS: Final = {
    b"\x00\x0a\x00\x0b": (_TABLE, _SHORT, _SECRET),  # start-ok: properties, mechanism, response
    b"\x00\x0a\x00\x15": (_SECRET,),  # secure-ok: response
    b"\x00\x0a\x00\x46": (_SECRET,),  # update-secret: the new secret
}
"""For methods with a secret, the arguments before it: the size of a length, or 0 for the secret itself."""

_CONTROL: Final = 0
_FIRST_FRAME: Final = 2
_CONTROL_FIELDS: Final = {
    b"\x01\x02": (_TABLE, _SHORT, _SECRET),  # start-ok: properties, mechanism, response
    b"\x01\x04": (_SECRET,),  # secure-ok: response
}
"""For 0-10's controls with a secret, the fields before it; the lowest bits of the flags tell which are present."""

_SASL_FRAME: Final = 1
_SASL_FIELDS: Final = {
    b"\x41": (_SHORT, _SECRET),  # sasl-init: mechanism, initial response
    b"amqp:sasl-init:list": (_SHORT, _SECRET),
    b"\x43": (_SECRET,),  # sasl-response: response
    b"amqp:sasl-response:list": (_SECRET,),
}
"""For a client's SASL frames, the fields before the secret, by descriptor."""

_DESCRIPTORS: Final = {0x53: 1, 0x80: 8}
_WIDTHS: Final = {0xA0: 1, 0xA1: 1, 0xA3: 1, 0xB0: 4, 0xB1: 4, 0xB3: 4}
"""Octets of the length in the constructors of binary, string and symbol."""
_LISTS: Final = {0x45: 0, 0xC0: 2, 0xD0: 8}
_NULL: Final = 0x40
_LONGEST_NAME: Final = 32


class Redactor:
    """A filter for the octets of one client, from its protocol header on: secrets come out as `*`.

    0-8 and 0-9-1: the responses in connection.start-ok and connection.secure-ok and the secret in
    connection.update-secret are blanked; every other octet, all lengths included, stays. 0-10: likewise the responses
    in controls of the same names, and all frames of such a control after its first one. 1.0: the responses in sasl-init
    and sasl-response, and everything unreadable in a frame of the SASL layer; after that layer the tokens that
    `TokenBlanker` names, and no other octet.

    The result doesn't depend on how the stream is cut; at most 32 octets are held, in 1.0 those of an attach. A stream
    that doesn't begin with one of their protocol headers comes out unchanged.

    >>> redactor = Redactor()
    >>> redactor.feed(b"AMQP" + bytes((0, 0, 9, 1)))
    b'AMQP\\x00\\x00\\t\\x01'
    >>> secure_ok = bytes((0, 10, 0, 21, 0, 0, 0, 6)) + b"secret"
    >>> redactor.feed(bytes((1, 0, 0, 0, 0, 0, 14)) + secure_ok + b"\\xce")
    b'\\x01\\x00\\x00\\x00\\x00\\x00\\x0e\\x00\\n\\x00\\x15\\x00\\x00\\x00\\x06******\\xce'
    """

    __slots__ = ("_blank", "_fields", "_got", "_left", "_need", "_skip", "_state", "_tokens")

    def __init__(self) -> None:
        self._state = "header"
        self._need = 8
        self._got = b""
        self._skip = 0
        self._blank = 0
        # Of the current frame: octets of payload left, and arguments left.
        self._left = 0
        self._fields: tuple[int, ...] = ()
        self._tokens: TokenBlanker | None = None

    def feed(self, data: bytes) -> bytes:
        """Return the same number of octets, without secrets."""
        if self._state == "pass":
            return data if self._tokens is None else self._tokens.feed(data)
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
                if self._tokens is not None:
                    out = bytearray(data) if out is None else out
                    out[pos:] = self._tokens.feed(data[pos:])
                break
            else:
                taken = min(self._need - len(self._got), end - pos)
                self._got += data[pos : pos + taken]
                if len(self._got) == self._need:
                    got, self._got = self._got, b""
                    if self._state.startswith("sasl"):
                        self._sasl_step(got)
                    elif self._state.startswith("ten"):
                        self._ten_step(got)
                    else:
                        self._step(got)
            pos += taken
        return data if out is None else bytes(out)

    def _step(self, got: bytes) -> None:
        """Continue with the octets that were needed."""
        if self._state == "frame":
            size = int.from_bytes(got[3:])
            if got[0] == _METHOD and got[1:3] == b"\0\0" and size >= 4:
                self._left = size - 4
                self._state = "method"
                self._need = 4
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
                # A length that exceeds the frame is damage; hide everything after it.
                self._blank = min(size, self._left)
                self._left -= self._blank
            else:
                self._skip = size
                self._left -= size
            self._next_field()
        elif got in _CLASSIC_HEADERS:
            self._next_frame()
        elif got == _AMQP_0_10_HEADER:
            self._ten_frame()
        elif got == _SASL_HEADER:
            self._state = "sasl-frame"
            self._need = 8
        else:
            self._state = "pass"
            if got == _AMQP_1_0_HEADER:
                self._tokens = TokenBlanker()

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
        self._state = "frame"
        self._need = 7

    # 0-10.

    def _ten_frame(self) -> None:
        self._state = "ten-frame"
        self._need = 12

    def _ten_step(self, got: bytes) -> None:
        """Continue with octets of a 0-10 frame: the control's octets after its header."""
        state = self._state
        if state == "ten-frame":
            size = int.from_bytes(got[2:4])
            self._left = size - 12
            if size < 12:
                # The start of the next frame is unknown, so secrets can't be recognised any more.
                self._left = 1 << 62
                self._ten_hide()
            elif got[1] != _CONTROL or not self._left:
                self._ten_end()
            elif not got[0] & _FIRST_FRAME:
                self._ten_hide()
            else:
                self._ten_expect("ten-control", min(4, self._left))
        elif state == "ten-control":
            fields = _CONTROL_FIELDS.get(got[:2], ())
            flags = got[2] if len(got) > 2 else 0
            self._fields = tuple([kind for bit, kind in enumerate(fields) if flags >> bit & 1])
            self._ten_next()
        else:
            kind, *rest = self._fields
            size = int.from_bytes(got)
            if size > self._left:
                # The field continues in the next frame, or the length is damage.
                self._ten_hide()
                return
            self._fields = tuple(rest)
            self._left -= size
            if kind == _SECRET:
                self._blank = size
            else:
                self._skip = size
            self._ten_next()

    def _ten_next(self) -> None:
        """Go to the next field before the secret; without one the rest of the frame stays unchanged."""
        if not self._fields:
            self._ten_end()
        elif self._left < (self._fields[0] or 4):
            self._ten_hide()
        else:
            self._ten_expect("ten-length", self._fields[0] or 4)

    def _ten_expect(self, state: str, need: int) -> None:
        self._left -= need
        self._state = state
        self._need = need

    def _ten_hide(self) -> None:
        """Blank the rest of the frame, including a field before it."""
        self._blank, self._left = self._skip + self._left, 0
        self._skip = 0
        self._ten_frame()

    def _ten_end(self) -> None:
        """Leave the rest of the frame unchanged."""
        self._skip += self._left
        self._left = 0
        self._ten_frame()

    # The SASL layer of 1.0.

    def _sasl_step(self, got: bytes) -> None:
        """Continue with octets of the SASL layer, up to the protocol header that follows it."""
        state = self._state
        if state == "sasl-frame":
            if got[:4] == b"AMQP":
                self._state = "header"
                self._step(got)
            else:
                self._sasl_frame(got)
        elif state == "sasl-descriptor":
            if got[0] == 0 and got[1] in _DESCRIPTORS:
                self._sasl_expect("sasl-number", _DESCRIPTORS[got[1]])
            elif got[0] == 0 and got[1] in (0xA3, 0xB3):
                self._sasl_expect("sasl-name-length", _WIDTHS[got[1]])
            else:
                self._sasl_hide()
        elif state == "sasl-name-length":
            size = int.from_bytes(got)
            if 0 < size <= _LONGEST_NAME:
                self._sasl_expect("sasl-name", size)
            else:
                self._sasl_hide()
        elif state in ("sasl-number", "sasl-name"):
            key = got.lstrip(b"\0") if state == "sasl-number" else got
            self._fields = _SASL_FIELDS.get(key, ())
            if self._fields:
                self._sasl_expect("sasl-list", 1)
            else:
                self._sasl_hide()
        elif state == "sasl-list":
            if got[0] in _LISTS:
                self._sasl_expect("sasl-sizes", _LISTS[got[0]])
            else:
                self._sasl_hide()
        elif state == "sasl-sizes":
            self._sasl_next()
        elif state == "sasl-value":
            if got[0] == _NULL:
                self._fields = self._fields[1:]
                self._sasl_next()
            elif got[0] in _WIDTHS:
                self._sasl_expect("sasl-length", _WIDTHS[got[0]])
            else:
                self._sasl_hide()
        else:
            self._sasl_field(int.from_bytes(got))

    def _sasl_frame(self, got: bytes) -> None:
        size, begin = int.from_bytes(got[:4]), 4 * got[4]
        self._left = size - 8
        if size < 8:
            # The start of the next frame is unknown, so secrets can't be recognised any more.
            self._left = 1 << 62
            self._sasl_hide()
        elif got[5] != _SASL_FRAME or begin < 8 or begin > size:
            self._sasl_hide()
        else:
            self._skip = begin - 8
            self._left -= self._skip
            if self._left:
                self._sasl_expect("sasl-descriptor", 2)

    def _sasl_expect(self, state: str, need: int) -> None:
        if need > self._left:
            self._sasl_hide()
        else:
            self._left -= need
            self._state = state
            self._need = need
            if not need:
                self._sasl_step(b"")

    def _sasl_field(self, size: int) -> None:
        kind, *rest = self._fields
        if size > self._left:
            self._sasl_hide()
            return
        self._left -= size
        self._fields = tuple(rest)
        if kind == _SECRET:
            self._blank = size
        else:
            self._skip = size
        self._sasl_next()

    def _sasl_next(self) -> None:
        """Go to the next field; without one the rest of the frame stays unchanged."""
        if self._fields and self._left:
            self._sasl_expect("sasl-value", 1)
        else:
            self._skip += self._left
            self._left = 0
            self._state = "sasl-frame"
            self._need = 8

    def _sasl_hide(self) -> None:
        """Blank the rest of the frame."""
        self._blank, self._left = self._left, 0
        self._state = "sasl-frame"
        self._need = 8


__all__ = ["Redactor"]
