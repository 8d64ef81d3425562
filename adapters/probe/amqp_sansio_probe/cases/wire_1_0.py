"""Cases of 1.0: protocol headers, SASL, frames and the encoding of types."""

from __future__ import annotations

import struct
from typing import Final

from amqp_sansio.amqp_1_0 import spec

from ..case import Suite
from ..talk_1_0 import EMPTY, HEADER, SASL, SASL_HEADER, SMALLEST, WINDOW, Talk10, frame
from ..verdicts import Seen, Verdict, judged
from .headers import HTTP, REFUSED, refuses_header

SUITE: Final = Suite(Talk10)

_FRAMING: Final = ("amqp:connection:framing-error",)
_DECODING: Final = ("amqp:decode-error", "amqp:invalid-field", "amqp:connection:framing-error", "amqp:not-implemented")
_CLOSED: Final = "a close with an error, or the end of the connection"
_INVALID: Final = f"{_CLOSED}; taking it, or passing over it, isn't strict"

# Protocol headers.

_UNSUPPORTED = "A server that doesn't take a protocol header answers with one that it takes, and ends the connection."


@SUITE.case("transport/version/unsupported", "must", _UNSUPPORTED, REFUSED)
def _version(talk: Talk10) -> Seen:
    return refuses_header(talk, b"AMQP\x00\x09\x09\x09")


@SUITE.case("transport/version/protocol-id", "must", _UNSUPPORTED, REFUSED)
def _protocol(talk: Talk10) -> Seen:
    return refuses_header(talk, b"AMQP\x09\x01\x00\x00")


@SUITE.case("transport/version/unparsable", "must", _UNSUPPORTED, REFUSED)
def _http(talk: Talk10) -> Seen:
    return refuses_header(talk, HTTP)


@SUITE.case(
    "transport/version/preferred",
    "must",
    "The header with which a server refuses names a version that it takes.",
    "a header that the server goes on with when a client sends it",
)
def _preferred(talk: Talk10) -> Seen:
    talk.send(b"AMQP\x00\x09\x09\x09")
    talk.ends()
    told = talk.said[:8]
    if not told.startswith(b"AMQP"):
        return Seen(Verdict.INCONCLUSIVE, f"it names none: {told.hex() or 'nothing'}")
    other = talk.opening_another()
    other.is_judged = False
    other.send(told)
    other.rest(talk.patience.soon)
    fine = bool(other.said) and not (other.said.startswith(b"AMQP") and other.said[:8] != told)
    return judged(fine, f"{told.hex()}, then {other.said[:8].hex() or 'nothing'}")


@SUITE.case(
    "transport/version/supported",
    "must",
    "A server that takes a protocol header answers with the same.",
    "the header of SASL, to that of SASL",
    variant="sasl",
)
def _same(talk: Talk10) -> Seen:
    talk.is_judged = False
    talk.send(SASL_HEADER)
    unit = talk.wait(("header",))
    fine = unit is not None and unit.content == SASL_HEADER
    return judged(fine, talk.described(unit))


@SUITE.case(
    "transport/version/header-first",
    "must",
    "The header comes before any frame, on each layer of the connection.",
    "the header of AMQP, behind the outcome of SASL and before open",
)
def _header_first(talk: Talk10) -> Seen:
    talk.login()
    octets = talk.said
    outcome = octets.find(HEADER)
    fine = octets.startswith(SASL_HEADER) and outcome > 0
    return judged(fine, f"{octets[:8].hex()}, then {octets[outcome:][:8].hex()}")


@SUITE.case(
    "transport/version/client-first",
    "must",
    "The client sends the first header; a server may also send its own before.",
    "connection as usual, when the header comes octet by octet",
)
def _octet_by_octet(talk: Talk10) -> Seen:
    for octet in SASL_HEADER:
        talk.send(bytes([octet]))
    talk.is_judged = False
    unit = talk.wait(("sasl-mechanisms",))
    return judged(unit is not None, talk.described(unit))


# SASL.


@SUITE.case(
    "security/sasl/header",
    "must",
    "A server that asks for a login answers the header of AMQP with that of SASL, and ends the connection.",
    "the header of SASL and the end; or that of AMQP, where no login is needed",
)
def _without(talk: Talk10) -> Seen:
    talk.is_judged = False
    talk.send(HEADER)
    unit = talk.wait(("header",))
    if unit is None:
        return Seen(Verdict.BREAKS, talk.described(None))
    if unit.content == HEADER:
        return Seen(Verdict.INFORMATIONAL, "it takes connections without SASL")
    fine = unit.content == SASL_HEADER and talk.ends()
    return judged(fine, f"{talk.described(unit)}; {talk.ending()}")


@SUITE.case(
    "security/sasl/mechanisms-first",
    "must",
    "The server begins SASL by the list of its mechanisms, with at least one.",
    "sasl-mechanisms",
)
def _mechanisms(talk: Talk10) -> Seen:
    talk.is_judged = False
    talk.send(SASL_HEADER)
    unit = talk.until(lambda each: each.event != "header")
    fine = unit is not None and unit.event == "sasl-mechanisms"
    return judged(fine, talk.described(unit))


@SUITE.case(
    "security/sasl/mechanisms-nonempty", "must", "The list of mechanisms isn't empty.", "a mechanism, at the least"
)
def _nonempty(talk: Talk10) -> Seen:
    talk.is_judged = False
    talk.greet()
    return judged(talk.mechanisms, ", ".join(talk.mechanisms) or "none")


def _refused(talk: Talk10) -> Seen:
    """Judge whether the login is refused: by an outcome, or by the end of the connection."""
    talk.is_judged = False
    unit = talk.wait(("sasl-outcome", "sasl-challenge"))
    if unit is None:
        if talk.has_ended:
            return Seen(Verdict.CONFORMS, talk.ending())
        return Seen(Verdict.BREAKS, f"stuck: {talk.ending()}")
    if unit.event != "sasl-outcome":
        return Seen(Verdict.BREAKS, talk.described(unit))
    code = unit.content.code
    return judged(code, f"the outcome {code}")


@SUITE.case(
    "security/sasl/mechanism-unsupported",
    "must",
    "A server refuses a mechanism that it doesn't offer.",
    "an outcome other than 0, or the end of the connection",
)
def _mechanism(talk: Talk10) -> Seen:
    talk.greet()
    talk.send(frame(spec.SaslInit("X-PROBE", b""), kind=SASL))
    return _refused(talk)


@SUITE.case(
    "security/sasl/outcome-codes",
    "note",
    "A login that fails because of who logs in has the outcome 1, auth.",
    "the outcome 1",
)
def _password(talk: Talk10) -> Seen:
    talk.greet()
    talk.send(frame(spec.SaslInit("PLAIN", b"\0nobody\0" + talk.names.name().encode()), kind=SASL))
    unit = talk.wait(("sasl-outcome",))
    talk.is_judged = False
    if unit is None:
        return Seen(Verdict.BREAKS, f"no outcome: {talk.ending()}")
    code = unit.content.code
    return Seen(
        Verdict.CONFORMS if code == 1 else Verdict.BREAKS if code == 0 else Verdict.OTHER_CODE, f"the outcome {code}"
    )


@SUITE.case(
    "security/sasl/roles",
    "must",
    "Only the server sends mechanisms, challenges and outcomes: a client that sends one has erred.",
    "the end of the connection, or an outcome other than 0",
)
def _roles(talk: Talk10) -> Seen:
    talk.greet()
    talk.send(frame(spec.SaslMechanisms(["PLAIN"]), kind=SASL))
    return _refused(talk)


@SUITE.case(
    "security/sasl/frame-type",
    "note",
    "Until the outcome, frames are of SASL's type.",
    "the end of the connection, or an outcome other than 0",
)
def _sasl_type(talk: Talk10) -> Seen:
    talk.greet()
    talk.send(frame(talk.opening()))
    return _refused(talk)


@SUITE.case(
    "security/sasl/frame-zero",
    "should",
    "Octets 6 and 7 of a SASL frame mean nothing, and are ignored.",
    "the outcome 0, though they aren't zero",
)
def _zero(talk: Talk10) -> Seen:
    talk.greet()
    talk.is_judged = False
    talk.send(frame(spec.SaslInit("PLAIN", talk.login_as.plain), 513, kind=SASL))
    unit = talk.wait(("sasl-outcome",))
    if unit is None:
        return Seen(Verdict.BREAKS, talk.described(None))
    code = unit.content.code
    return judged(code == 0, f"the outcome {code}")


@SUITE.case(
    "security/sasl/frame-empty",
    "note",
    "A SASL frame has a body: an empty one is an error.",
    "the end of the connection, or an outcome other than 0",
)
def _empty_sasl(talk: Talk10) -> Seen:
    talk.greet()
    talk.send(frame(b"", kind=SASL))
    return _refused(talk)


@SUITE.case(
    "security/sasl/frame-max",
    "note",
    "A SASL frame has no more than 512 octets.",
    "the end of the connection, or an outcome other than 0",
)
def _large_sasl(talk: Talk10) -> Seen:
    talk.greet()
    talk.send(frame(spec.SaslInit("PLAIN", bytes(SMALLEST)), kind=SASL))
    return _refused(talk)


@SUITE.case(
    "security/sasl/outcome",
    "note",
    "After the outcome 0 both begin the next layer by its header.",
    "the header of AMQP",
)
def _next_layer(talk: Talk10) -> Seen:
    talk.greet()
    talk.send(frame(spec.SaslInit("PLAIN", talk.login_as.plain), kind=SASL) + HEADER)
    talk.is_judged = False
    unit = talk.wait(("header",))
    fine = unit is not None and unit.content == HEADER
    return judged(fine, talk.described(unit))


# Frames.


@SUITE.on_a_channel("transport/frame/size", "must", "A frame of less than its own eight octets is malformed.", _CLOSED)
def _size(talk: Talk10) -> Seen:
    talk.send(frame(size=7))
    return talk.fails("close", *_FRAMING, silent=True)


for _variant, _doff in (("too-small", 1), ("beyond-the-frame", 9)):

    @SUITE.on_a_channel(
        "transport/frame/doff",
        "note",
        "The body of a frame begins behind its header, and within the frame.",
        _CLOSED,
        variant=_variant,
    )
    def _offset(talk: Talk10, doff: int = _doff) -> Seen:
        talk.send(frame(spec.End(), doff=doff))
        return talk.fails("close", *_FRAMING, silent=True)


@SUITE.on_a_channel("transport/frame/type", "note", "Frames are of AMQP's type behind the login.", _CLOSED)
def _type(talk: Talk10) -> Seen:
    talk.send(frame(spec.End(), kind=7))
    return talk.fails("close", *_FRAMING, silent=True)


@SUITE.case(
    "transport/frame/extended-ignored",
    "note",
    "Octets between the header and the body of a frame are ignored.",
    "begin, to a begin with such octets",
)
def _extended(talk: Talk10) -> Seen:
    talk.login()
    talk.send(frame(spec.Begin(None, 0, WINDOW, WINDOW), doff=4, extended=b"\xff" * 8))
    return _begins(talk)


def _begins(talk: Talk10) -> Seen:
    unit = talk.wait(("begin",))
    if unit is None:
        return talk.silence() if not talk.has_ended else Seen(Verdict.BREAKS, talk.ending())
    return judged(unit.event == "begin", talk.described(unit))


@SUITE.on_a_channel(
    "transport/frame/performative",
    "must",
    "The body of a frame is one of the nine performatives.",
    _INVALID,
    variant="unknown",
)
def _unknown(talk: Talk10) -> Seen:
    talk.send(frame(b"\x00\x53\x7f\x45"))
    return talk.fails("close", *_DECODING, silent=True, lenient=True)


@SUITE.on_a_channel(
    "transport/frame/performative",
    "must",
    "The body of a frame is one of the nine performatives.",
    _INVALID,
    variant="not-described",
)
def _not_described(talk: Talk10) -> Seen:
    talk.send(frame(b"\x45"))
    return talk.fails("close", *_DECODING, silent=True, lenient=True)


@SUITE.on_a_channel(
    "transport/frame/empty", "note", "A frame without a body is taken, and means nothing.", "an answer to what follows"
)
def _empty(talk: Talk10) -> Seen:
    talk.send(EMPTY * 3)
    fine = talk.answers_still()
    return judged(fine, "served as before" if fine else talk.ending())


@SUITE.case(
    "transport/open/max-frame-size",
    "must",
    "A peer takes frames up to the size that it announced, and none above it.",
    "a close with framing-error, or the end of the connection",
)
def _oversize(talk: Talk10) -> Seen:
    talk.login()
    most = talk.peer.max_frame_size
    if most > 1 << 20:
        return Seen(Verdict.INFORMATIONAL, f"it takes frames up to {most} octets: too large to try")
    body = spec.Begin(None, 0, WINDOW, WINDOW).encode()
    talk.send(frame(body, payload=bytes(most + 1 - 8 - len(body))))
    return talk.fails("close", *_FRAMING, silent=True)


# Types.


def _open_with(talk: Talk10, octets: bytes, *, lenient: bool = False) -> Seen:
    """Send these octets as the open; judge whether they are refused.

    `lenient`: the specification says only what is valid, not that a peer refuses what isn't.
    """
    talk.authenticate()
    talk.send(frame(octets))
    unit = talk.wait(("close",))
    if unit is None:
        if lenient and not talk.has_ended and talk.answers_still():
            return Seen(Verdict.NON_STRICT, "it is taken")
        return judged(talk.has_ended, talk.ending())
    error = unit.content.error
    if error is None:
        return Seen(Verdict.BREAKS, talk.described(unit))
    fine = str(error.condition) in _DECODING
    return Seen(Verdict.CONFORMS if fine else Verdict.OTHER_CODE, talk.described(unit))


def _open_of(*fields: bytes, descriptor: bytes = b"\x53\x10") -> bytes:
    """Return an open of these fields, each encoded already."""
    octets = b"".join(fields)
    return b"\0" + descriptor + b"\xd0" + struct.pack(">II", 4 + len(octets), len(fields)) + octets


_NAME: Final = b"\xa1\x05probe"
_NULL: Final = b"\x40"
_TO_PROPERTIES: Final = (_NAME, *[_NULL] * 8)


def _map(*pairs: bytes) -> bytes:
    octets = b"".join(pairs)
    return b"\xd1" + struct.pack(">II", 4 + len(octets), len(pairs)) + octets


@SUITE.case("types/map-even", "must", "A map has a value for each key.", _INVALID)
def _odd_map(talk: Talk10) -> Seen:
    return _open_with(talk, _open_of(*_TO_PROPERTIES, _map(b"\xa3\x01a", _NULL, b"\xa3\x01b")), lenient=True)


@SUITE.case("types/map-unique", "must", "A key stands in a map once.", _INVALID)
def _twice(talk: Talk10) -> Seen:
    return _open_with(talk, _open_of(*_TO_PROPERTIES, _map(b"\xa3\x01a", _NULL, b"\xa3\x01a", _NULL)), lenient=True)


for _variant, _octets in (("open-without-container-id", _open_of(_NULL)), ("open-of-nothing", b"\x00\x53\x10\x45")):

    @SUITE.case("types/field-mandatory", "must", "A mandatory field has a value.", _INVALID, variant=_variant)
    def _mandatory(talk: Talk10, octets: bytes = _octets) -> Seen:
        return _open_with(talk, octets, lenient=True)


@SUITE.on_a_channel(
    "types/field-mandatory",
    "must",
    "A mandatory field has a value.",
    "a close or an end with an error, or the end of the connection",
    variant="attach-without-handle",
)
def _no_handle(talk: Talk10) -> Seen:
    # attach of the name, null, and the role.
    octets = _NAME + _NULL + b"\x41"
    talk.send(frame(b"\0\x53\x12\xd0" + struct.pack(">II", 4 + len(octets), 3) + octets))
    return talk.fails("close", *_DECODING, silent=True, also=("end",))


@SUITE.case("types/format-code", "note", "A format code that no type has can't be read.", _CLOSED)
def _format_code(talk: Talk10) -> Seen:
    return _open_with(talk, _open_of(b"\x3f"))


@SUITE.case("types/variable-width", "note", "The length of a value lies within its frame.", _CLOSED)
def _too_long(talk: Talk10) -> Seen:
    return _open_with(talk, _open_of(b"\xa1\xffprobe"))


@SUITE.case("types/string", "note", "A string is of UTF-8.", _CLOSED)
def _not_utf_8(talk: Talk10) -> Seen:
    return _open_with(talk, _open_of(b"\xa1\x02\xc3\x28"))


@SUITE.case("types/array-layout", "note", "An array has the octets of each of its elements.", _INVALID)
def _array(talk: Talk10) -> Seen:
    # The locales: an array of five symbols in the octets of one.
    octets = b"\xa3\x05en-US"[1:]
    array = b"\xf0" + struct.pack(">II", 5 + len(octets), 5) + b"\xa3" + octets
    return _open_with(talk, _open_of(_NAME, *[_NULL] * 4, array), lenient=True)


@SUITE.case("types/compound-layout", "note", "A list has as many octets as it says.", _CLOSED)
def _list(talk: Talk10) -> Seen:
    return _open_with(talk, b"\0\x53\x10\xc0\x20\x02" + _NAME)


_TAKEN = "open, as to any other"


def _opens(talk: Talk10, octets: bytes) -> Seen:
    """Send these octets as the open; judge whether they are taken."""
    talk.authenticate()
    talk.send(frame(octets))
    unit = talk.wait(("open",))
    if unit is None or unit.event != "open":
        return Seen(Verdict.BREAKS, talk.described(unit))
    # One that refuses an open says so behind its own.
    closed = talk.wait(("close",), seconds=talk.patience.quiet)
    return Seen(Verdict.BREAKS if closed is not None else Verdict.CONFORMS, talk.described(closed or unit))


@SUITE.case("types/descriptor-symbolic", "note", "A type may be named by its symbol.", _TAKEN)
def _symbolic(talk: Talk10) -> Seen:
    return _opens(talk, _open_of(_NAME, descriptor=b"\xa3\x0eamqp:open:list"))


@SUITE.case("types/descriptor-domain", "note", "A type's number may come as a long ulong.", _TAKEN)
def _long_descriptor(talk: Talk10) -> Seen:
    return _opens(talk, _open_of(_NAME, descriptor=b"\x80" + struct.pack(">Q", 0x10)))


@SUITE.case("types/composite-trailing", "may", "Fields at the end that are null may be there, or left out.", _TAKEN)
def _trailing(talk: Talk10) -> Seen:
    return _opens(talk, _open_of(*_TO_PROPERTIES, _NULL))


@SUITE.case("types/small-forms", "note", "Values may come in their large forms, though they are small.", _TAKEN)
def _large(talk: Talk10) -> Seen:
    name = b"\xb1" + struct.pack(">I", 5) + b"probe"
    return _opens(talk, _open_of(name, _NULL, b"\x70" + struct.pack(">I", 4_096), b"\x60\x00\xff"))


@SUITE.case("types/field-multiple", "note", "A field of many values may hold one, without an array.", _TAKEN)
def _single(talk: Talk10) -> Seen:
    return _opens(talk, _open_of(_NAME, *[_NULL] * 4, b"\xa3\x05en-US"))


@SUITE.on_a_channel("types/boolean", "note", "A boolean may be of one octet or of two.", "attach, to both")
def _boolean(talk: Talk10) -> Seen:
    # flow with echo as 56 01 instead of 41.
    octets = struct.pack(">BBBBBBBB", 0x43, 0x52, 100, 0x43, 0x52, 100, 0x40, 0x40)
    octets += _NULL * 2 + b"\x56\x00\x56\x01"
    talk.send(frame(b"\0\x53\x13\xd0" + struct.pack(">II", 4 + len(octets), 10) + octets))
    unit = talk.wait(("flow",), 0)
    if unit is None:
        return talk.silence()
    return judged(unit.event == "flow", talk.described(unit))


# Robustness.

_BOUNDED = "Whatever a client claims, the server goes on serving others."
_ANY = "any answer, or none, and a new connection is served"


def _survived(talk: Talk10) -> Seen:
    """Tell what the server does; whether it harmed others, the look at it after each case finds."""
    talk.is_judged = False
    unit = talk.wait((), seconds=2.0)
    if unit is None and not talk.has_ended and talk.answers_still():
        return Seen(Verdict.INFORMATIONAL, "it is taken, and the connection is served as before")
    return Seen(Verdict.INFORMATIONAL, talk.described(unit))


def _begin_with(talk: Talk10, value: bytes) -> Seen:
    """Send a begin with this value among its properties; before the opens no frame may be so large."""
    talk.login()
    octets = _NULL + b"\x43\x52\x64\x52\x64" + _NULL * 3 + value
    talk.send(frame(b"\0\x53\x11\xd0" + struct.pack(">II", 4 + len(octets), 8) + octets))
    return _survived(talk)


@SUITE.case("types/map-unique", "must", _BOUNDED, _ANY, variant="keys-that-collide", may_harm=True)
def _collide(talk: Talk10) -> Seen:
    # Numbers that are alike modulo 2 ** 61 - 1 have one hash in Python; in other tables these fall together by halves.
    keys = [b"\x80" + struct.pack(">Q", (2**61 - 1) * (place % 7) + place // 7) for place in range(5_000)]
    return _begin_with(talk, _map(*[part for key in keys for part in (key, _NULL)]))


@SUITE.case("types/compound-layout", "note", _BOUNDED, _ANY, variant="lists-5000-deep", may_harm=True)
def _deep(talk: Talk10) -> Seen:
    value = b"\x45"
    for _ in range(5_000):
        value = b"\xd0" + struct.pack(">II", 4 + len(value), 1) + value
    return _begin_with(talk, _map(b"\xa3\x01a", value))


@SUITE.case("types/described", "note", _BOUNDED, _ANY, variant="descriptors-10000-deep", may_harm=True)
def _described(talk: Talk10) -> Seen:
    return _begin_with(talk, _map(b"\xa3\x01a", b"\0" * 10_000 + b"\x40" * 10_001))


@SUITE.case("types/array-layout", "note", _BOUNDED, _ANY, variant="array-of-2-to-the-31-nulls", may_harm=True)
def _many_nulls(talk: Talk10) -> Seen:
    return _begin_with(talk, _map(b"\xa3\x01a", b"\xf0" + struct.pack(">II", 5, 2**31 - 1) + b"\x40"))


@SUITE.on_a_channel("transport/frame/empty", "note", _BOUNDED, _ANY, variant="100000-of-them", may_harm=True)
def _empty_frames(talk: Talk10) -> Seen:
    for _ in range(100):
        talk.send(EMPTY * 1_000)
    return _survived(talk)


@SUITE.on_a_channel("transport/flow/echo", "note", _BOUNDED, _ANY, variant="10000-unread-answers", may_harm=True)
def _unread(talk: Talk10) -> Seen:
    asked = frame(talk.flow(echo=True))
    for _ in range(10):
        talk.send(asked * 1_000)
    return _survived(talk)


@SUITE.case("transport/version/header-first", "must", _BOUNDED, _ANY, variant="header-without-its-end", may_harm=True)
def _slow(talk: Talk10) -> Seen:
    talk.is_judged = False
    talk.send(SASL_HEADER[:7])
    talk.rest(2.0)
    other = talk.another()
    wrong = other.finish()
    return Seen(Verdict.INFORMATIONAL, wrong or f"another is served meanwhile; this one: {talk.ending()}")
