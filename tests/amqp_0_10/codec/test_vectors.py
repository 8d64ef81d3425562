"""The octets that qpid-python writes for every type, struct, control and command, read and written here."""

import json
import re
from typing import Any

import pytest

from amqp_sansio import amqp_0_10
from amqp_sansio.amqp_0_10 import spec
from amqp_sansio.amqp_0_10.codec.field_types import read_sequence_set
from amqp_sansio.amqp_0_10.codec.record import decode_command, decode_control
from amqp_sansio.amqp_0_10.codec.structs import decode_struct
from amqp_sansio.amqp_0_10.codec.types import Map, decode_value, encode_value
from amqp_sansio.amqp_0_10.codec.values import CODES
from tests.kit.captures import BIG

VECTORS = BIG / "vectors010" / "qpid_python_codec010.json"


def vectors(kind: str) -> list[Any]:
    """The vectors whose kind begins so."""
    if not VECTORS.exists():
        return [pytest.param({}, marks=pytest.mark.skip(reason=f"{VECTORS.name} isn't here"))]
    found = json.loads(VECTORS.read_text())
    return [pytest.param(each, id=each["kind"]) for each in found if each["kind"].startswith(kind)]


def frames_of(octets: bytes) -> list[tuple[int, bytes]]:
    """Segment type and payload of each frame."""
    found: list[tuple[int, bytes]] = []
    while octets:
        size = int.from_bytes(octets[2:4], "big")
        found.append((octets[1], octets[12:size]))
        octets = octets[size:]
    return found


@pytest.mark.parametrize("vector", vectors("type"))
def test_values(vector: dict[str, Any]) -> None:
    name = vector["kind"].removeprefix("type ").replace("_", "-")
    octets = bytes.fromhex(vector["hex"])
    if name == "sequence-set":
        found, end = read_sequence_set(octets, 0)
        assert (found, end) == (amqp_0_10.SequenceSet([(1, 3), (10, 10)]), len(octets))
        assert len(found.encode()).to_bytes(2, "big") + found.encode() == octets
        return
    if name == "sequence-no":
        assert int.from_bytes(octets, "big") == 7
        return
    code = CODES[name]
    value, end = decode_value(bytes((code,)) + octets)
    assert end == 1 + len(octets)
    written = encode_value(amqp_0_10.spec.Typed(name, value))
    assert written == bytes((code,)) + octets
    if name == "map":
        assert dict(Map.from_wire(octets[4:])) == value


@pytest.mark.parametrize("vector", vectors("struct32"))
def test_structs(vector: dict[str, Any]) -> None:
    name = re.sub(r" \(.*", "", vector["kind"].removeprefix("struct32 "))
    octets = bytes.fromhex(vector["hex"])
    if name in ("CommandFragment", "Header", "ReplyTo"):
        # Not coded, so they can only be looked at as a whole.
        assert octets
        return
    struct = decode_struct(octets, 4, len(octets))
    assert isinstance(struct, spec.Struct)
    assert type(struct).__name__ == name
    same(struct, vector["meaning"])
    assert struct.encode_sized() == octets
    struct.wire = None
    assert struct.encode_sized() == octets


@pytest.mark.parametrize("vector", vectors("frame"))
def test_controls_and_commands(vector: dict[str, Any]) -> None:
    frames = frames_of(bytes.fromhex(vector["hex"]))
    segment, payload = frames[0]
    unit: spec.Struct
    if segment == 0:
        control = decode_control(payload, 0, len(payload))
        assert isinstance(control, spec.Control)
        assert control.encode_assembly() == payload
        control.wire = None
        assert control.encode_assembly() == payload
        unit = control
    else:
        command, sync = decode_command(payload, 0, len(payload))
        assert isinstance(command, spec.Command)
        assert command.encode_segment(sync=sync) == payload
        command.wire = None
        assert command.encode_segment(sync=sync) == payload
        unit = command
    same(unit, vector["meaning"])


def same(struct: spec.Struct, meaning: dict[str, str]) -> None:
    """Which fields are there is as it should be, and their values where the text of both is the same."""
    for name, told in meaning.items():
        value = getattr(struct, name, None)
        if value is None:
            value = getattr(struct, f"{name}_", None)
        if told in ("None", "False"):
            assert value in (None, False), name
        elif told == "True" or told.isdigit():
            assert str(value) == told, name
        else:
            assert value is not None, name
