"""What an observer of 1.0 keeps of messages, and what it only counts: within its limits, in one frame or in parts."""

from hashlib import sha256
from itertools import pairwise
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amqp_sansio import Limits
from amqp_sansio import amqp_1_0 as amqp
from amqp_sansio.amqp_1_0 import spec
from amqp_sansio.amqp_1_0.codec.values import encode
from tests.kit.talk_1_0 import Talk10, begin, credit, transfer


def _open(**options: Any) -> Talk10:
    """A connection with a session and a link on which the client sends."""
    return Talk10(**options).open().session().sender().server(credit(0))


def _body(octets: bytes) -> bytes:
    return amqp.Message(octets).encode()


def test_a_message_above_the_limit_is_counted_and_not_kept() -> None:
    for body in ("keep", "hash", "all", "size"):
        talk = _open(limits=Limits(message=20), body=body)
        for number, octets in enumerate((b"0123456789", b"0123456789" * 2)):
            payload = _body(octets)
            cut = len(payload) - 3
            talk.client(transfer(number, payload[:cut], more=True), transfer(None, payload[cut:]))
        within, above = [unit for unit in talk.observed if unit.unit == "content"]
        assert (within.body is not None) is (body in ("keep", "all"))
        assert (within.body_sha256 is not None) is (body in ("hash", "all"))
        assert (within.body_size, within.missing) == (10, 0)
        assert (above.body, above.body_sha256, above.body_size, above.missing) == (None, None, 20, 0)


def test_bodies_beyond_the_limit_of_all_are_counted_and_not_kept() -> None:
    talk = _open(limits=Limits(bodies=16)).sender("second", handle=2).server(credit(2))
    payload = _body(b"12345678")
    talk.client(transfer(0, payload[:8], more=True), transfer(1, payload[:9], more=True, handle=2))
    assert talk.observer.held == 8
    talk.client(transfer(None, payload[9:], handle=2), transfer(None, payload[8:]))
    assert talk.observer.held == 0
    units = [unit for unit in talk.observed if unit.unit == "content"]
    assert [(unit.body, unit.body_size) for unit in units] == [(None, 8), (b"12345678", 8)]


def test_deliveries_that_never_end_are_not_held_for_ever(at_large: bool) -> None:
    limits = Limits(consumers=50, bodies=1000, unsettled=60, channels=40)
    talk = _open(limits=limits)
    for handle in range(2000 if at_large else 400):
        talk.client(transfer(handle, _body(b"x" * 30), handle=handle, more=True))
        talk.client(spec.Attach(f"n{handle}", handle, True, source=amqp.Source(), target=amqp.Target()))
        talk.client(transfer(5000 + handle, _body(b"x"), handle=0))
        talk.client(begin(), channel=handle % 255 + 1)
    assert talk.observer.held <= limits.bodies
    # The books of the machine are what grows when nobody forgets.
    machine: Any = talk.observer._machine  # pyright: ignore[reportPrivateUsage]
    half = machine.model.halves[0]
    assert len(machine.directions[1].contents) <= limits.consumers
    assert len(half.channels) <= limits.channels + 1
    for session in half.channels.values():
        assert len(session.halves[0].handles) <= limits.consumers + 1
        assert len(session.halves[0].deliveries) <= limits.unsettled + 1
        assert len(session.names) <= 2 * limits.consumers + 1


def test_the_hash_is_that_of_the_data_of_all_sections() -> None:
    talk = _open(body="all")
    payload = amqp.Message(amqp.Data(b"one", b"two"), header=amqp.Header(priority=7)).encode()
    for cut in range(1, len(payload)):
        talk.client(transfer(cut, payload[:cut], more=True), transfer(None, payload[cut:]))
    units = [unit for unit in talk.observed if unit.unit == "content"]
    assert len(units) == len(payload) - 1
    assert {unit.body for unit in units} == {b"onetwo"}
    assert {unit.body_sha256 for unit in units} == {sha256(b"onetwo").hexdigest()}
    assert {unit.properties.priority for unit in units} == {7}


@pytest.mark.parametrize("body", ["text", 5, None, [1, b"x"], {"k": [1, 2]}, b""])
def test_bodies_that_are_no_data_are_their_encoded_sections(body: Any) -> None:
    message = amqp.Message(body, properties=amqp.Properties(subject="s"))
    payload = message.encode()
    encoded = b"" if body == b"" else payload[payload.rindex(b"\0\x53\x77") :]
    for treatment in ("keep", "size"):
        talk = _open(body=treatment).client(transfer(0, payload))
        talk.client(transfer(1, payload[:9], more=True), transfer(None, payload[9:]))
        units = [unit for unit in talk.observed if unit.unit == "content"]
        assert [unit.body_size for unit in units] == [len(encoded)] * 2
        assert [unit.body for unit in units] == [encoded if treatment == "keep" else None] * 2
        assert [unit.properties.subject for unit in units] == ["s"] * 2
        if treatment == "keep":
            assert units[1].properties == message


_NAMES: Final = {
    0x70: b"amqp:header:list",
    0x73: b"amqp:properties:list",
    0x74: b"amqp:application-properties:map",
    0x75: b"amqp:data:binary",
    0x76: b"amqp:amqp-sequence:list",
    0x77: b"amqp:amqp-value:*",
    0x78: b"amqp:footer:map",
}
_VALUES: Final = (
    1,
    "text",
    None,
    b"octets",
    1.5,
    [1, [2, b"x" * 300]],
    {"k": amqp.Described(amqp.Symbol("a:b"), amqp.Described(7, "inner"))},
    amqp.Described(amqp.Described(1, 2), [3]),
    spec.Array([1, 2, 3]),
)


def _descriptor(code: int, form: int) -> bytes:
    """The descriptor of a section in each of its four forms."""
    name = _NAMES[code]
    forms = (b"\x53%c" % code, b"\x80" + code.to_bytes(8), b"\xa3%c" % len(name) + name)
    return b"\0" + (*forms, b"\xb3" + len(name).to_bytes(4) + name)[form]


@given(
    st.tuples(*[st.integers(0, 3)] * 3),
    st.lists(st.binary(max_size=300), max_size=3),
    st.sampled_from(_VALUES),
    st.sampled_from((0x75, 0x76, 0x77)),
    st.booleans(),
    st.lists(st.integers(0, 900), max_size=4),
)
@pytest.mark.rule("1.0/types/descriptor-symbolic")
def test_a_message_that_is_only_counted_is_counted_right(
    forms: tuple[int, int, int], data: list[bytes], value: Any, kind: int, foot: bool, cuts: list[int]
) -> None:
    """Sections with descriptors of all forms, cut anywhere: their sizes are those of the message that was kept."""
    properties = amqp.Properties(message_id="m").encode()
    payload = _descriptor(0x73, forms[0]) + properties[3:]
    if kind == 0x75:
        sections = [_descriptor(kind, forms[1]) + encode(octets) for octets in data]
        size = sum(map(len, data))
    else:
        sections = [_descriptor(kind, forms[1]) + encode([value] if kind == 0x76 else value)]
        size = len(sections[0])
    payload += b"".join(sections)
    if foot:
        payload += _descriptor(0x78, forms[2]) + encode({amqp.Symbol("x-opt-f"): 1})
    ends = sorted({0, len(payload), *[min(cut, len(payload)) for cut in cuts]})
    for treatment in ("all", "size"):
        talk = _open(body=treatment)
        for begin_at, end_at in pairwise(ends):
            talk.client(transfer(None if begin_at else 0, payload[begin_at:end_at], more=end_at < len(payload)))
        unit = talk.last()
        assert not talk.rules
        assert (unit.unit, unit.body_size, unit.missing) == ("content", size, 0)
        assert unit.properties.message_id == "m"
        if treatment == "all":
            assert unit.body == (b"".join(data) if kind == 0x75 else sections[0])


def test_a_message_with_an_unknown_section_is_counted_up_to_there() -> None:
    """Whoever only counts bodies keeps no octets of it that could be checked."""
    payload = amqp.Properties(message_id="m").encode() + b"\0\x53\x79\x45"
    talk = _open(body="size").client(transfer(0, payload[:9], more=True)).client(transfer(None, payload[9:]))
    unit = talk.last()
    assert (unit.unit, unit.body_size, unit.properties.message_id, talk.rules) == ("content", 0, "m", [])
