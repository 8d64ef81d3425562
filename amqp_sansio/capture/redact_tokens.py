"""Blanks the tokens that a client of 1.0 sends behind its login: on `$cbs` (OASIS AMQP Claims-Based Security 1.0), and
in requests to nodes of management.
"""

from __future__ import annotations

from typing import Final

_ATTACH: Final = 0x12
_TRANSFER: Final = 0x14
_NAMES: Final = {b"amqp:attach:list": _ATTACH, b"amqp:transfer:list": _TRANSFER}
_CBS: Final = b"$cbs"
_MANAGEMENT: Final = b"$management"
_SECRET_KEY: Final = b"security_token"
_APPLICATION_PROPERTIES: Final = 0x74
_BODIES: Final = frozenset({0x75, 0x76, 0x77})
_KEPT: Final = 16_384
"""Most octets of an attach that are looked at."""
_FIELDS: Final = 512
"""Most octets of a transfer's fields that are looked at."""
_LINKS: Final = 1024
"""Most links that are known; behind that the oldest is forgotten."""
_MORE: Final = 5
"""The place of `more` among the fields of a transfer."""
_FIXED: Final = {4: 0, 5: 1, 6: 2, 7: 4, 8: 8, 9: 16}
"""Octets of a value by the first half of its constructor (1.0 part 1 section 1.2.2)."""
_FOREVER: Final = 1 << 62


class TokenBlanker:
    """A filter for the octets of one client of 1.0, from the header of its AMQP layer on.

    On links that the client sends on and whose attach names `$cbs`, the texts in the bodies of messages come out as
    `*`; on those that name a node of management, the application property `security_token`. Every other octet stays,
    all lengths included. A frame whose size makes no sense hides everything behind it where such links are open.

    The result doesn't depend on how the stream is cut; `_KEPT` octets are held at most, none of them back.
    """

    __slots__ = ("_channel", "_got", "_hides", "_is_last", "_left", "_links", "_need", "_payload", "_skip", "_state")

    def __init__(self) -> None:
        self._state = "frame"
        self._need = 8
        self._got = b""
        self._skip = 0
        self._left = 0
        """Octets of the frame that are neither taken nor to be skipped."""
        self._channel = b""
        self._links: dict[tuple[bytes, int], _Payload] = {}
        self._payload: _Payload | None = None
        self._is_last = True
        self._hides = False

    def feed(self, data: bytes) -> bytes:
        """Return the same number of octets, without tokens."""
        out: bytearray | None = None
        pos, end = 0, len(data)
        while pos < end:
            if self._hides:
                return bytes(data[:pos] if out is None else out[:pos]) + b"*" * (end - pos)
            if self._skip:
                taken = min(self._skip, end - pos)
                self._skip -= taken
            elif self._payload is not None:
                taken = min(self._left, end - pos)
                self._left -= taken
                blanked = self._payload.feed(data[pos : pos + taken])
                out = bytearray(data) if out is None else out
                out[pos : pos + taken] = blanked
                if not self._left:
                    self._end_payload()
            else:
                taken = min(self._need - len(self._got), end - pos)
                self._got += data[pos : pos + taken]
                if len(self._got) == self._need:
                    got, self._got = self._got, b""
                    self._step(got)
            pos += taken
        return data if out is None else bytes(out)

    # Internals.

    def _step(self, got: bytes) -> None:
        """Go on with the octets that were needed."""
        state = self._state
        if state == "frame":
            self._frame(got)
        elif state == "descriptor":
            if got[:2] == b"\0\x53":
                self._described(got[2])
            elif got[:2] == b"\0\x80":
                self._expect("number", 7)
            elif got[:2] == b"\0\xa3":
                self._expect("name", got[2])
            else:
                self._end_frame()
        elif state == "number":
            self._described(got[-1] if not any(got[:-1]) else 0)
        elif state == "name":
            self._described(_NAMES.get(got, 0))
        elif state == "attach":
            self._attach(got)
            self._end_frame()
        elif state == "constructor":
            if got[0] in (0xC0, 0xD0):
                self._expect("size", 1 if got[0] == 0xC0 else 4)
            else:
                self._end_frame()
        elif state == "size":
            # The count is one of these octets, and of the length of the size.
            size = int.from_bytes(got)
            self._skip = max(0, min(size, self._left) - _FIELDS)
            self._expect("fields-1" if len(got) == 1 else "fields-4", min(size, self._left, _FIELDS))
            self._left -= self._skip
        else:
            self._transfer(got[int(state[-1]) :])

    def _frame(self, got: bytes) -> None:
        if got[:4] == b"AMQP":
            return  # The header of another layer.
        size, begin = int.from_bytes(got[:4]), 4 * got[4]
        if size < 8 or not 8 <= begin <= size:
            # The start of the next frame is unknown, so links can't be recognised any more.
            self._hides = bool(self._links)
            self._skip = _FOREVER
            return
        self._channel = got[6:8]
        self._skip = begin - 8
        self._left = size - begin
        if got[5] or self._left < 3:
            self._end_frame()
        else:
            self._expect("descriptor", 3)

    def _described(self, code: int) -> None:
        if code == _ATTACH:
            self._expect("attach", min(self._left, _KEPT))
        elif code == _TRANSFER and self._links:
            self._expect("constructor", 1)
        else:
            self._end_frame()

    def _expect(self, state: str, need: int) -> None:
        if not 0 < need <= self._left:
            self._end_frame()
            return
        self._left -= need
        self._state = state
        self._need = need

    def _end_frame(self) -> None:
        """Leave the rest of the frame as it is."""
        self._skip += self._left
        self._left = 0
        self._state = "frame"
        self._need = 8

    def _attach(self, octets: bytes) -> None:
        fields = _values(octets[3:] if octets[:1] == b"\xc0" else octets[9:], 3)
        if len(fields) < 3:
            return
        link = self._channel, _number(fields[1])
        self._links.pop(link, None)
        is_sender = fields[2] in (b"\x42", b"\x56\x00")
        is_cbs = _CBS in octets
        if is_sender and (is_cbs or _MANAGEMENT in octets):
            if len(self._links) >= _LINKS:
                del self._links[next(iter(self._links))]
            self._links[link] = _Payload(is_cbs)

    def _transfer(self, octets: bytes) -> None:
        fields = _values(octets, _MORE + 1)
        payload = self._links.get((self._channel, _number(fields[0]))) if fields else None
        self._is_last = not (len(fields) > _MORE and fields[_MORE] in (b"\x41", b"\x56\x01"))
        if payload is None:
            self._end_frame()
        elif self._left:
            self._payload = payload
        else:
            self._payload = payload
            self._end_payload()

    def _end_payload(self) -> None:
        assert self._payload is not None
        if self._is_last:
            self._payload.begin()
        self._payload = None
        self._end_frame()


class _Payload:
    """The octets of one message after the other on a link. `is_cbs`: their bodies are tokens."""

    __slots__ = ("_blank", "_code", "_got", "_is_key", "_is_secret", "_left", "_need", "_skip", "_state", "is_cbs")

    def __init__(self, is_cbs: bool) -> None:
        self.is_cbs = is_cbs
        self.begin()

    def begin(self) -> None:
        """Expect a message."""
        self._state = "descriptor"
        self._need = 3
        self._got = b""
        self._skip = 0
        self._blank = 0
        self._code = 0
        self._left = 0
        """Octets of the application properties that are left."""
        self._is_key = True
        self._is_secret = False

    def feed(self, data: bytes) -> bytes:
        """Return the same number of octets, without tokens."""
        out = bytearray(data)
        pos, end = 0, len(data)
        while pos < end:
            if self._blank:
                taken = min(self._blank, end - pos)
                out[pos : pos + taken] = b"*" * taken
                self._blank -= taken
            elif self._skip:
                taken = min(self._skip, end - pos)
                self._skip -= taken
            else:
                taken = min(self._need - len(self._got), end - pos)
                self._got += data[pos : pos + taken]
                if len(self._got) == self._need:
                    got, self._got = self._got, b""
                    self._step(got)
            pos += taken
        return bytes(out)

    def _step(self, got: bytes) -> None:
        state = self._state
        if state == "descriptor":
            if got[:2] == b"\0\x53":
                self._code = got[2]
                self._expect("constructor", 1)
            elif got[:2] == b"\0\x80":
                self._expect("number", 7)
            else:
                self._blank = _FOREVER  # What isn't understood may be a token.
        elif state == "number":
            self._code = got[-1]
            self._expect("constructor", 1)
        elif state == "constructor":
            self._value(got[0])
        elif state == "size":
            size = int.from_bytes(got)
            if self._code == _APPLICATION_PROPERTIES and not self.is_cbs:
                # The count has as many octets as the size.
                self._left = size - len(got)
                self._is_key = True
                self._skip = len(got)
                self._next_entry()
                return
            if self._code in _BODIES and self.is_cbs:
                self._blank = size
            else:
                self._skip = size
            self._next_section()
        elif state == "entry":
            self._entry(got[0])
        elif state == "entry-size":
            self._sized(int.from_bytes(got))
        else:
            self._is_secret = got == _SECRET_KEY
            self._is_key = False
            self._next_entry()

    def _expect(self, state: str, need: int) -> None:
        self._state = state
        self._need = need

    def _next_section(self) -> None:
        self._expect("descriptor", 3)

    def _value(self, constructor: int) -> None:
        fixed = _FIXED.get(constructor >> 4)
        if fixed is not None:
            self._skip = fixed
            self._next_section()
        elif constructor >> 4 >= 0xA:
            self._expect("size", 4 if constructor >> 4 & 1 else 1)
        else:
            self._blank = _FOREVER

    # Application properties.

    def _next_entry(self) -> None:
        if self._left > 0:
            self._left -= 1
            self._expect("entry", 1)
        else:
            self._next_section()

    def _entry(self, constructor: int) -> None:
        fixed = _FIXED.get(constructor >> 4)
        if fixed is not None:
            self._skip = fixed
            self._left -= fixed
            self._is_key = not self._is_key
            self._is_secret = False
            self._next_entry()
        elif constructor >> 4 >= 0xA:
            width = 4 if constructor >> 4 & 1 else 1
            self._left -= width
            self._expect("entry-size", width)
        else:
            self._blank = _FOREVER

    def _sized(self, size: int) -> None:
        self._left -= size
        if self._is_key and size == len(_SECRET_KEY):
            self._expect("key", size)
            return
        if self._is_secret and not self._is_key:
            self._blank = size
        else:
            self._skip = size
        self._is_key = not self._is_key
        self._is_secret = False
        self._next_entry()


def _values(octets: bytes, most: int) -> list[bytes]:
    """Return the first values of a list, each with its constructor, as far as they are there."""
    found: list[bytes] = []
    pos = 0
    while pos < len(octets) and len(found) < most:
        kind = octets[pos] >> 4
        size = _FIXED.get(kind, -1)
        end = pos + 1 + size
        if size < 0:
            if kind < 0xA:
                break
            width = 4 if kind & 1 else 1
            end = pos + 1 + width + int.from_bytes(octets[pos + 1 : pos + 1 + width])
        if end > len(octets):
            break
        found.append(octets[pos:end])
        pos = end
    return found


def _number(value: bytes) -> int:
    """Return an unsigned number: a handle."""
    return int.from_bytes(value[1:])


__all__ = ["TokenBlanker"]
