"""The redactor: what it blanks, what it leaves alone, and that chunking makes no difference."""

import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amqp_sansio.amqp_0_10.codec.frames import CONTROL, encode_assembly
from amqp_sansio.amqp_0_10.spec import ConnectionSecureOk, ConnectionStartOk, Control, MessageTransfer, SessionAttach
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
    for header in (b"AMQP\x02\x01\x00\x00", b"AMQP\x00\x01\x00\x00", b"GET / HTTP/1.1\r\n"):
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


# The SASL layer of 1.0.

SASL = b"AMQP\x03\x01\x00\x00"
PLAIN_1_0 = b"AMQP\x00\x01\x00\x00"
NUMBERS = (b"\x00\x53%c", b"\x00\x80\0\0\0\0\0\0\0%c")


def sasl_frame(body: bytes, kind: int = 1, extended: bytes = b"") -> bytes:
    head = bytes((2 + len(extended) // 4, kind, 0, 0)) + extended
    return (4 + len(head) + len(body)).to_bytes(4) + head + body


def list8(*items: bytes) -> bytes:
    body = b"".join(items)
    return b"\xc0" + bytes((len(body) + 1, len(items))) + body


def list32(*items: bytes) -> bytes:
    body = b"".join(items)
    return b"\xd0" + (len(body) + 4).to_bytes(4) + len(items).to_bytes(4) + body


def short(code: int, octets: bytes) -> bytes:
    return bytes((code, len(octets))) + octets


def long(code: int, octets: bytes) -> bytes:
    return bytes((code,)) + len(octets).to_bytes(4) + octets


def sasl_session(secret: bytes) -> bytes:
    """Every form in which the two frames can be written."""
    inits = [
        list8(short(0xA3, b"PLAIN"), short(0xA0, secret), short(0xA1, b"host")),
        list32(long(0xB3, b"PLAIN"), long(0xB0, secret), b"\x40"),
        list8(short(0xA3, b"PLAIN"), b"\x40", short(0xA1, b"host")),
        list8(short(0xA3, b"ANONYMOUS")),
    ]
    heads = [form % 0x41 for form in NUMBERS]
    heads += [b"\x00\xa3\x13amqp:sasl-init:list", b"\x00\xb3\0\0\0\x13amqp:sasl-init:list"]
    frames = [sasl_frame(head + init) for head in heads for init in inits]
    heads = [form % 0x43 for form in NUMBERS] + [b"\x00\xa3\x17amqp:sasl-response:list"]
    responses = [list8(short(0xA0, secret)), list32(long(0xB0, secret)), b"\x45"]
    frames += [sasl_frame(head + each) for head in heads for each in responses]
    frames.append(sasl_frame(heads[0] + responses[0], extended=b"ext!"))
    after = PLAIN_1_0 + sasl_frame(b"\x00\x53\x43" + list8(short(0xA0, SECRET)), kind=0)
    return SASL + b"".join(frames) + after


def test_sasl_responses_are_blanked_and_nothing_else() -> None:
    assert Redactor().feed(sasl_session(SECRET)) == sasl_session(b"*" * len(SECRET))


def test_empty_sasl_frames_and_responses() -> None:
    octets = SASL + sasl_frame(b"") + sasl_frame(b"\x00\x53\x43" + list8(short(0xA0, b"")))
    assert Redactor().feed(octets) == octets


@given(st.lists(st.integers(1, 40), min_size=1))
def test_chunking_makes_no_difference_to_sasl(sizes: list[int]) -> None:
    octets = sasl_session(SECRET)
    redactor, out, pos = Redactor(), b"", 0
    while pos < len(octets):
        chunk = octets[pos : pos + sizes[pos % len(sizes)]]
        redacted = redactor.feed(chunk)
        assert len(redacted) == len(chunk)
        out += redacted
        pos += len(chunk)
    assert out == sasl_session(b"*" * len(SECRET))


@given(st.binary(max_size=200))
def test_any_octets_of_a_sasl_layer_keep_their_length(octets: bytes) -> None:
    octets = SASL + octets
    whole = Redactor().feed(octets)
    redactor = Redactor()
    assert b"".join([redactor.feed(octets[i : i + 1]) for i in range(len(octets))]) == whole
    assert len(whole) == len(octets)


@pytest.mark.parametrize(
    "body",
    [
        b"\x00\x53\x44" + list8(short(0xA0, SECRET)),
        b"\x00\x53\x43\x45"[:3] + b"\x99" + SECRET,
        b"\x00\x53\x43" + list8(short(0xA8, SECRET)),
        b"\x00\x53\x43\xc0\xff\x01\xa0\xff" + SECRET,
        b"\x00\x54\x43" + list8(short(0xA0, SECRET)),
        b"\x00\xa3\xff" + SECRET,
        b"\x00\xa3\x06secret" + list8(short(0xA0, SECRET)),
        b"\x00",
        SECRET,
    ],
)
def test_what_can_not_be_read_in_a_sasl_layer_is_hidden(body: bytes) -> None:
    after = sasl_frame(b"\x00\x53\x41" + list8(short(0xA3, b"ANONYMOUS"))) + PLAIN_1_0
    out = Redactor().feed(SASL + sasl_frame(body) + after)
    assert SECRET not in out
    assert out.endswith(after)


def test_frames_of_another_kind_in_a_sasl_layer_are_hidden() -> None:
    body = b"\x00\x53\x43" + list8(short(0xA0, SECRET))
    assert SECRET not in Redactor().feed(SASL + sasl_frame(body, kind=0))
    assert SECRET not in Redactor().feed(SASL + b"\0\0\0\x07" + SECRET + SECRET)
    beyond = bytearray(sasl_frame(body))
    beyond[4] = 200
    assert SECRET not in Redactor().feed(SASL + bytes(beyond))


def test_without_a_sasl_layer_nothing_is_a_secret() -> None:
    octets = PLAIN_1_0 + sasl_frame(b"\x00\x53\x41" + list8(short(0xA3, b"X"), short(0xA0, SECRET)))
    assert Redactor().feed(octets) == octets


def test_it_pickles_in_the_middle_of_a_sasl_response() -> None:
    octets = sasl_session(SECRET)
    cut = octets.index(SECRET) + 3
    redactor = Redactor()
    first = redactor.feed(octets[:cut])
    copy = pickle.loads(pickle.dumps(redactor))
    assert first + copy.feed(octets[cut:]) == sasl_session(b"*" * len(SECRET))


HEADER_0_10 = b"AMQP\x01\x01\x00\x0a"


def ten(record: Control, largest: int = 65_535) -> bytes:
    return encode_assembly(0, [(CONTROL, record.encode_assembly())], largest)


def ten_start_ok(secret: bytes | None) -> Control:
    return ConnectionStartOk({"product": "x"}, "PLAIN", secret, "en_US")


@pytest.mark.parametrize("mechanism", [None, "PLAIN"])
@pytest.mark.parametrize("properties", [None, {"product": "x"}])
def test_responses_of_0_10_are_blanked_and_nothing_else(
    properties: dict[str, str] | None, mechanism: str | None
) -> None:
    body = [(1, MessageTransfer("").encode_segment()), (3, SECRET)]
    rest = ten(SessionAttach(b"s")) + encode_assembly(0, body)

    def told(secret: bytes) -> bytes:
        first = ten(ConnectionStartOk(properties, mechanism, secret, "en_US"))
        return HEADER_0_10 + first + ten(ConnectionSecureOk(secret)) + rest

    stars = told(b"*" * len(SECRET))
    assert Redactor().feed(told(SECRET)) == stars
    redactor = Redactor()
    octets = told(SECRET)
    assert b"".join([redactor.feed(octets[i : i + 1]) for i in range(len(octets))]) == stars


def test_a_start_ok_of_0_10_without_a_response_stays() -> None:
    octets = HEADER_0_10 + ten(ten_start_ok(None)) + ten(SessionAttach(SECRET))
    assert Redactor().feed(octets) == octets


@pytest.mark.parametrize("largest", range(13, 80))
def test_a_response_of_0_10_that_is_split_shows_nothing(largest: int) -> None:
    tail = ten(SessionAttach(b"s"))
    octets = HEADER_0_10 + ten(ten_start_ok(b"0123456789" * 3), largest) + tail
    redacted = Redactor().feed(octets)
    assert len(redacted) == len(octets)
    assert redacted.endswith(tail)
    shown = redacted[: -len(tail)]
    assert not any([b"%d%d" % (digit, digit + 1) in shown for digit in range(9)])
    assert b"0" * 2 not in shown


def test_a_frame_size_of_0_10_that_makes_no_sense_hides_what_follows() -> None:
    octets = HEADER_0_10 + bytes((15, 0, 0, 3)) + bytes(8) + ten(ten_start_ok(SECRET))
    assert SECRET not in Redactor().feed(octets)


@given(st.binary(max_size=200))
def test_any_octets_of_0_10_pass_with_their_length(octets: bytes) -> None:
    octets = HEADER_0_10 + octets
    whole = Redactor().feed(octets)
    redactor = Redactor()
    assert b"".join([redactor.feed(octets[i : i + 1]) for i in range(len(octets))]) == whole
    assert len(whole) == len(octets)
