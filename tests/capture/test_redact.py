"""The redactor: what it blanks, what it leaves alone, and that chunking makes no difference."""

from __future__ import annotations

import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amqp_sansio.capture.redact import Redactor

HEADER_0_9_1 = b"AMQP\x00\x00\x09\x01"
HEADER_0_8 = b"AMQP\x01\x01\x08\x00"
SECRET = b"\0guest\0open sesame"


def frame(payload: bytes, kind: int = 1, channel: int = 0) -> bytes:
    return bytes((kind,)) + channel.to_bytes(2) + len(payload).to_bytes(4) + payload + b"\xce"


def longstr(octets: bytes) -> bytes:
    return len(octets).to_bytes(4) + octets


def start_ok(secret: bytes, properties: bytes = b"\x07productS\0\0\0\x01x") -> bytes:
    arguments = longstr(properties) + b"\x05PLAIN" + longstr(secret) + b"\x05en_US"
    return frame(b"\x00\x0a\x00\x0b" + arguments)


def secure_ok(secret: bytes) -> bytes:
    return frame(b"\x00\x0a\x00\x15" + longstr(secret))


def update_secret(secret: bytes) -> bytes:
    return frame(b"\x00\x0a\x00\x46" + longstr(secret) + b"\x06expiry")


TUNE_OK = frame(b"\x00\x0a\x00\x1f" + bytes(8))
PUBLISH = frame(b"\x00\x3c\x00\x28\0\0\0\x01q\0", channel=1) + frame(SECRET, kind=3, channel=1)
HEARTBEAT = frame(b"", kind=8)


def session(header: bytes, secret: bytes) -> bytes:
    opening = header + start_ok(secret) + secure_ok(secret) + TUNE_OK + HEARTBEAT
    return opening + PUBLISH + update_secret(secret) + PUBLISH


@pytest.mark.parametrize("header", [HEADER_0_9_1, HEADER_0_8])
def test_secrets_are_blanked_and_nothing_else(header: bytes) -> None:
    stars = b"*" * len(SECRET)
    assert Redactor().feed(session(header, SECRET)) == session(header, stars)


def test_empty_responses_and_properties() -> None:
    octets = HEADER_0_9_1 + start_ok(b"", b"") + secure_ok(b"") + TUNE_OK
    assert Redactor().feed(octets) == octets


@given(st.lists(st.integers(1, 40), min_size=1))
def test_chunking_makes_no_difference(sizes: list[int]) -> None:
    octets = session(HEADER_0_9_1, SECRET)
    redactor, out, pos = Redactor(), b"", 0
    while pos < len(octets):
        size = sizes[pos % len(sizes)]
        chunk = octets[pos : pos + size]
        redacted = redactor.feed(chunk)
        assert len(redacted) == len(chunk)
        out += redacted
        pos += size
    assert out == session(HEADER_0_9_1, b"*" * len(SECRET))


@given(st.binary(max_size=200), st.booleans())
def test_any_octets_pass_with_their_length(octets: bytes, header: bool) -> None:
    octets = (HEADER_0_9_1 if header else b"") + octets
    whole = Redactor().feed(octets)
    redactor = Redactor()
    assert b"".join([redactor.feed(octets[i : i + 1]) for i in range(len(octets))]) == whole
    assert len(whole) == len(octets)


def test_a_method_of_the_same_number_on_another_channel_is_left_alone() -> None:
    octets = HEADER_0_9_1 + frame(b"\x00\x0a\x00\x15" + longstr(SECRET), channel=1)
    assert Redactor().feed(octets) == octets


def test_a_length_beyond_its_frame_hides_the_rest_of_the_frame() -> None:
    damaged = frame(b"\x00\x0a\x00\x15" + (1000).to_bytes(4) + SECRET)
    out = Redactor().feed(HEADER_0_9_1 + damaged + TUNE_OK)
    assert SECRET not in out
    assert out.endswith(b"\xce" + TUNE_OK)
    properties = frame(b"\x00\x0a\x00\x0b" + (1000).to_bytes(4) + SECRET)
    assert SECRET not in Redactor().feed(HEADER_0_9_1 + properties)


def test_other_protocols_come_out_as_they_are() -> None:
    for header in (b"AMQP\x00\x01\x00\x00", b"AMQP\x01\x01\x00\x0a", b"GET / HTTP/1.1\r\n"):
        octets = header + start_ok(SECRET)
        assert Redactor().feed(octets) == octets


def test_it_pickles_in_the_middle_of_a_secret() -> None:
    octets = session(HEADER_0_9_1, SECRET)
    cut = octets.index(SECRET) + 3
    redactor = Redactor()
    first = redactor.feed(octets[:cut])
    copy = pickle.loads(pickle.dumps(redactor))
    assert copy.feed(octets[cut:]) == redactor.feed(octets[cut:])
    assert SECRET[:3] not in first
