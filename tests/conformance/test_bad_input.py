"""Bad input: whatever a peer sends, an event and the reply that the specification wants, and never an exception.

The cases of each rule stand with the rule; here are the sweeps over all methods, and the rule ids themselves.
"""

import pickle
import random
import re
from pathlib import Path

import pytest

from amqp_sansio import Closed, CloseHint, Failed, LocalProtocolError, RemoteProtocolError, Version
from amqp_sansio._classic.codec.rule_ids import IN_0_8, IN_0_9_1, rule_id
from amqp_sansio.endpoint import Side
from amqp_sansio.versions import AMQP_0_8, AMQP_0_9_1
from tests.kit.facing import CLIENT, SERVER
from tests.kit.facing_classic import Facing
from tests.kit.octets_classic import METHOD, body, frame, header
from tools.conformance.rules import read_rules

RULES = read_rules()
SOURCES = Path(__file__).resolve().parents[2] / "amqp_sansio"


class Copies:
    """Fresh copies of one opened endpoint, which cost less than opening each."""

    def __init__(self, version: Version, side: Side) -> None:
        self.facing = Facing.opened(version, side)
        self.snapshot = pickle.dumps(self.facing.end)

    def fresh(self) -> Facing:
        """The endpoint as it was opened."""
        facing = self.facing
        facing.end = pickle.loads(self.snapshot)
        facing.events = []
        facing.out = b""
        return facing


def ended_well(facing: Facing) -> None:
    """Nothing was refused, or it was, with what must come of that."""
    failures = facing.of(Failed)
    if not failures:
        return
    assert len(failures) == 1, facing.events
    error = failures[0].error
    assert isinstance(error, RemoteProtocolError)
    if error.rule is not None:
        assert RULES.find(error.rule) is not None, error.rule
    if error.code:
        names = facing.names()
        assert names[-1] in ("connection.close", "channel.close")
        assert facing.sent()[-1].method.reply_code == error.code
        assert facing.hint() is CloseHint.KEEP
    else:
        assert isinstance(facing.events[-1], Closed)
        assert facing.hint() is not CloseHint.KEEP


@pytest.mark.rule("0-8/security/length-check", "0-9-1/security/length-check")
def test_every_method_cut_anywhere_is_refused(version: Version, side: Side) -> None:
    copies = Copies(version, side)
    for kind in copies.facing.dialect.methods.values():
        payload = copies.facing.make(kind.NAME).encode(copies.facing.dialect.tables)
        where = 0 if kind.CLASS_ID == 10 else 1
        for cut in {4, 5, len(payload) // 2 + 2, len(payload) - 1}:
            if 4 <= cut < len(payload):
                facing = copies.fresh()
                facing.feed(frame(METHOD, where, payload[:cut]))
                # The one argument of 0-8's basic.consume that may be left out is a table at its end.
                if facing.of(Failed):
                    assert facing.of(Failed)[0].error.code == 502, kind.NAME
                ended_well(facing)


def test_every_method_with_random_arguments_ends_well(version: Version, side: Side) -> None:
    copies = Copies(version, side)
    dice = random.Random(f"{version.label} {side.value}")
    for kind in copies.facing.dialect.methods.values():
        for _ in range(6):
            facing = copies.fresh()
            payload = kind.ID.to_bytes(4, "big") + dice.randbytes(dice.randrange(40))
            facing.feed(frame(METHOD, dice.choice((0, 1, 2)), payload))
            ended_well(facing)


def test_every_method_out_of_place_ends_well(version: Version, side: Side) -> None:
    """Every method of the version on channels 0, 1 and 2, alone and in the midst of content."""
    copies = Copies(version, side)
    for kind in copies.facing.dialect.methods.values():
        for channel in (0, 1, 2):
            for before in (b"", copies.facing.method("basic.publish") + header(1, 60, 3)):
                facing = copies.fresh()
                if before and side is CLIENT:
                    continue
                facing.feed(before, copies.facing.method(kind.NAME, channel))
                ended_well(facing)


def test_one_changed_octet_ends_well(version: Version, side: Side) -> None:
    copies = Copies(version, side)
    dice = random.Random(f"flips {version.label} {side.value}")
    stream = bytearray(
        copies.facing.message("basic.publish", b"some content", routing_key="key")
        if side is SERVER
        else copies.facing.message("basic.return", b"some content", reply_code=312, reply_text="x")
    )
    stream += copies.facing.method("channel.flow", active=False)
    for at in range(len(stream)):
        damaged = bytearray(stream)
        damaged[at] ^= 1 << dice.randrange(8)
        facing = copies.fresh()
        facing.feed(bytes(damaged))
        ended_well(facing)


# Rule ids.


def named_in_source() -> set[str]:
    """Every rule that the engine's source names as such."""
    found: set[str] = set()
    for path in [*SOURCES.rglob("_classic/**/*.py"), SOURCES / "observer.py"]:
        text = path.read_text(encoding="utf-8")
        found |= set(re.findall(r'rule="([^"{]+)"', text))
        found |= set(re.findall(r'_wrong\(\s*"([^"{]+)"', text))
        found |= set(re.findall(r'"((?:wire|domain|connection|channel|method|rabbitmq)/[^"{]+)"', text))
    return {name for name in found if "/" in name and " " not in name and not name.endswith("/")}


def test_every_rule_that_the_engine_names_is_a_rule() -> None:
    names = named_in_source()
    assert len(names) > 40
    unknown = [
        name
        for name in sorted(names)
        if not any(RULES.find(rule_id(version, name)) for version in (AMQP_0_8, AMQP_0_9_1))
    ]
    assert unknown == []


@pytest.mark.parametrize(("version", "names"), [(AMQP_0_8, IN_0_8), (AMQP_0_9_1, IN_0_9_1)], ids=["0-8", "0-9-1"])
def test_other_names_of_a_rule_lead_to_one_of_the_version(version: Version, names: dict[str, str]) -> None:
    for name, other in names.items():
        assert RULES.find(f"{version.label}/{name}") is None, f"{name} needs no other name"
        assert RULES.find(f"{version.label}/{other}") is not None, other
        assert rule_id(version, name) == f"{version.label}/{other}"


def test_misuse_names_rules_of_its_version(version: Version, side: Side) -> None:
    """All requests, replies and contents that this end may not send now: refused, for a known rule or none."""
    copies = Copies(version, side)
    refused = 0
    for kind in copies.facing.dialect.methods.values():
        facing = copies.fresh()
        target = facing.end.channel(0 if kind.CLASS_ID == 10 else 1)
        method = facing.make(kind.NAME)
        for call in (target.call, target.send, target.reply):
            before = pickle.dumps(facing.end)
            try:
                call(method)
            except LocalProtocolError as error:
                refused += 1
                assert error.rule is None or RULES.find(error.rule) is not None, error.rule
                assert pickle.dumps(facing.end) == before
    assert refused > 100


def test_units_of_a_message_in_one_piece_and_apart_are_refused_alike() -> None:
    for pieces in (1, 3):
        facing = Facing.opened(AMQP_0_9_1, SERVER)
        units = [facing.method("basic.publish"), header(1, 60, 3), body(1, b"abcd")]
        facing.feed(*(units if pieces == 3 else [b"".join(units)]))
        (failed,) = facing.of(Failed)
        assert (failed.error.code, failed.error.offset) == (505, facing.fed - len(units[-1]))
