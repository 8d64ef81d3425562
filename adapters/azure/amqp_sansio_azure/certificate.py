"""A certificate for the stand-ins: it signs itself, for localhost, with a key on the curve P-256 (RFC 5280, RFC 5915).

For tests alone: whoever connects trusts this one certificate, and its key is thrown away behind the test.
"""

from __future__ import annotations

from base64 import b64encode
from hashlib import sha1, sha256, sha512
from hmac import digest as keyed
from ipaddress import ip_address
from typing import Final, NamedTuple

_P: Final = 2**256 - 2**224 + 2**192 + 2**96 - 1
"""The field of P-256 (SEC 2, section 2.4.2); its curve is y^2 = x^3 - 3x + b."""
_N: Final = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551
"""The order of its base point."""
_Point = tuple[int, int]
_BASE: Final[_Point] = (
    0x6B17D1F2E12C4247F8BCE6E563A440F277037D812DEB33A0F4A13945D898C296,
    0x4FE342E2FE1A7F9B8EE7EB4A7C0F9E162BCE33576B315ECECBB6406837BF51F5,
)
_INTEGER, _BITS, _OCTETS, _SEQUENCE, _SET, _TEXT, _TIME = 0x02, 0x03, 0x04, 0x30, 0x31, 0x0C, 0x17
_OID: Final = {
    "common name": bytes.fromhex("0603550403"),
    "ecdsa with sha256": bytes.fromhex("06082a8648ce3d040302"),
    "ec public key": bytes.fromhex("06072a8648ce3d0201"),
    "p-256": bytes.fromhex("06082a8648ce3d030107"),
    "subject key identifier": bytes.fromhex("0603551d0e"),
    "key usage": bytes.fromhex("0603551d0f"),
    "subject alternative name": bytes.fromhex("0603551d11"),
    "basic constraints": bytes.fromhex("0603551d13"),
    "authority key identifier": bytes.fromhex("0603551d23"),
    "extended key usage": bytes.fromhex("0603551d25"),
    "server authentication": bytes.fromhex("06082b06010505070301"),
}
_TRUE: Final = b"\x01\x01\xff"
_SIGNS: Final = b"\x03\x02\x02\x84"
"""Key usage: digitalSignature and keyCertSign, the bits 0 and 5."""
_FROM, _UNTIL = b"200101000000Z", b"491231235959Z"
NAMES: Final = ("localhost", "127.0.0.1", "::1")
"""The names and addresses of a certificate, if no others are asked for."""


class Certificate(NamedTuple):
    """A certificate and its key, both as PEM."""

    certificate: str
    key: str


def self_signed(draw: bytes, names: tuple[str, ...] = NAMES) -> Certificate:
    """Return a certificate for names and addresses, valid from 2020 to 2049, whose key is made of what was drawn.

    `draw` are 32 octets or more that nobody can guess. Raises ValueError for fewer.

    >>> self_signed(bytes(32)).certificate.splitlines()[0]
    '-----BEGIN CERTIFICATE-----'
    """
    if len(draw) < 32:
        raise ValueError(f"a key is drawn from 32 octets at least, these are {len(draw)}")
    secret = _below(draw)
    x, y = _times(secret, _BASE)
    public = b"\x04" + _octets(x) + _octets(y)
    signing = _list(_OID["ecdsa with sha256"])
    issuer = _list(_der(_SET, _list(_OID["common name"], _der(_TEXT, b"amqp-sansio test"))))
    body = _list(
        _der(0xA0, _number(2)),
        _number(int.from_bytes(sha256(public).digest()[:15], "big")),
        signing,
        issuer,
        _list(_der(_TIME, _FROM), _der(_TIME, _UNTIL)),
        issuer,
        _list(_list(_OID["ec public key"], _OID["p-256"]), _bits(public)),
        _der(0xA3, _list(*_extensions(public, names))),
    )
    r, s = _signature(secret, body)
    signed = _list(body, signing, _bits(_list(_number(r), _number(s))))
    key = _list(_number(1), _der(_OCTETS, _octets(secret)), _der(0xA0, _OID["p-256"]), _der(0xA1, _bits(public)))
    return Certificate(_pem("CERTIFICATE", signed), _pem("EC PRIVATE KEY", key))


# Its parts.


def _extensions(public: bytes, names: tuple[str, ...]) -> list[bytes]:
    identifier = sha1(public, usedforsecurity=False).digest()
    return [
        _extension("basic constraints", _list(_TRUE), critical=True),
        _extension("key usage", _SIGNS, critical=True),
        _extension("extended key usage", _list(_OID["server authentication"])),
        _extension("subject alternative name", _list(*[_name(each) for each in names])),
        _extension("subject key identifier", _der(_OCTETS, identifier)),
        _extension("authority key identifier", _list(_der(0x80, identifier))),
    ]


def _extension(name: str, value: bytes, *, critical: bool = False) -> bytes:
    return _list(_OID[name], _TRUE if critical else b"", _der(_OCTETS, value))


def _name(text: str) -> bytes:
    """Return a GeneralName: an address, or the name of a host."""
    try:
        return _der(0x87, ip_address(text).packed)
    except ValueError:
        return _der(0x82, text.encode("ascii"))


# Signatures (SEC 1, section 4.1.3).


def _signature(secret: int, text: bytes) -> _Point:
    told = int.from_bytes(sha256(text).digest(), "big")
    # A number that is used for this text alone, and that nobody knows without the key.
    once = _below(keyed(_octets(secret), text, "sha512"))
    r = _times(once, _BASE)[0] % _N
    return r, pow(once, -1, _N) * (told + r * secret) % _N


def _below(draw: bytes) -> int:
    """Return a number of 1 to the order without 1, evenly spread."""
    return int.from_bytes(sha512(draw).digest(), "big") % (_N - 1) + 1


def _times(factor: int, point: _Point) -> _Point:
    found: _Point | None = None
    while factor:
        if factor & 1:
            found = point if found is None else _sum(found, point)
        point = _sum(point, point)
        factor >>= 1
    assert found is not None
    return found


def _sum(one: _Point, other: _Point) -> _Point:
    """Return the sum of two points, which isn't the point at infinity: multiples below the order never are."""
    (x, y), (u, v) = one, other
    slope = (3 * x * x - 3) * pow(2 * y, -1, _P) if one == other else (v - y) * pow(u - x, -1, _P)
    sum_x = (slope * slope - x - u) % _P
    return sum_x, (slope * (x - sum_x) - y) % _P


# DER (X.690).


def _der(tag: int, value: bytes) -> bytes:
    size = len(value)
    if size < 0x80:
        return bytes((tag, size)) + value
    octets = size.to_bytes((size.bit_length() + 7) // 8, "big")
    return bytes((tag, 0x80 | len(octets))) + octets + value


def _list(*values: bytes) -> bytes:
    return _der(_SEQUENCE, b"".join(values))


def _number(value: int) -> bytes:
    return _der(_INTEGER, value.to_bytes(value.bit_length() // 8 + 1, "big"))


def _bits(value: bytes) -> bytes:
    return _der(_BITS, b"\0" + value)


def _octets(value: int) -> bytes:
    return value.to_bytes(32, "big")


def _pem(what: str, octets: bytes) -> str:
    text = b64encode(octets).decode()
    lines = [text[at : at + 64] for at in range(0, len(text), 64)]
    return "\n".join([f"-----BEGIN {what}-----", *lines, f"-----END {what}-----", ""])


__all__ = ["NAMES", "Certificate", "self_signed"]
