"""Servers write the nulls at the end of lists too, since Microsoft's clients index fields; clients don't."""

from collections import Counter
from typing import Any

import pytest

from amqp_sansio import Side
from amqp_sansio import amqp_1_0 as amqp
from amqp_sansio.amqp_1_0 import spec
from amqp_sansio.amqp_1_0.codec.composite import Composite, encode_whole
from tests.kit.octets_1_0 import parse
from tests.kit.pair_1_0 import Pair, server_config


def lists(octets: bytes, record: Composite, pos: int = 0) -> list[tuple[str, int, int]]:
    """Of a record and those within it: how many fields its list has, and how many there are."""
    found: list[tuple[str, int, int]] = []
    at = pos + 3
    code = octets[at]
    count = 0 if code == 0x45 else octets[at + 2] if code == 0xC0 else int.from_bytes(octets[at + 5 : at + 9])
    found.append((record.NAME, count, len(record.WIRE)))
    for name, *_ in record.WIRE:
        value = getattr(record, name)
        if isinstance(value, Composite):
            assert value.wire is not None
            found += lists(value.wire, value)
    return found


def conversation(config: amqp.Config) -> Pair:
    """All performatives of both sides, errors and outcomes too."""
    pair = Pair(server=config).open()
    session = pair.session()
    for name in ("a", "b"):
        sender = session.open_sender(name, name=f"to {name}")
        receiver = session.open_receiver(
            amqp.Source(name, outcomes=("amqp:accepted:list",)), name=f"of {name}", credit=5
        )
        pair.pump()
        sender.send(amqp.Message(b"x").encode())
        other: Any = pair.peer(receiver)
        other.send(amqp.Message(b"y").encode())
        other.send(amqp.Message(b"y" * 300).encode(), delivery_tag=b"long", batchable=True)
        other.send(amqp.Message(b"y").encode(), settled=True)
        pair.pump()
        other.close("amqp:link:detach-forced", "idle")
        pair.peer(sender).flow(3)
        pair.pump()
    pair.server.session(0).close("amqp:not-allowed", "no")
    pair.pump()
    pair.server.close("amqp:connection:forced", "going down")
    pair.pump()
    return pair


def written(pair: Pair, side: Side) -> list[tuple[str, int, int]]:
    frames = [each for each in parse(bytes(pair.sent[side])) if each.body is not None]
    return [found for each in frames for found in lists(each.body.wire, each.body)]


def test_a_server_writes_every_field() -> None:
    found = written(conversation(server_config()), Side.SERVER)
    assert {name for name, _, _ in found} >= {
        *("open", "begin", "attach", "flow", "transfer", "disposition", "detach", "end", "close", "error"),
        *("source", "target", "accepted"),
    }
    assert [each for each in found if each[1] != each[2]] == []


@pytest.mark.parametrize("side", [Side.CLIENT, Side.SERVER])
def test_a_client_and_a_server_that_is_told_so_write_short_lists(side: Side) -> None:
    found = written(conversation(server_config(whole_lists=False)), side)
    shorter = Counter(name for name, count, total in found if count < total)
    assert shorter["begin"] and shorter["attach"]
    assert not [each for each in found if each[1] == each[2] and each[0] in ("begin", "attach")]


@pytest.mark.parametrize("size", [0, 200, 250, 254, 300])
def test_whole_lists_of_any_length_are_read_as_the_short_ones_are(size: int) -> None:
    records: list[Composite] = [
        spec.Open("c" * size),
        spec.Attach("l" * size, 0, True, source=amqp.Source("q" * size), target=amqp.Target("t")),
        spec.Close(amqp.Error("a:b", "d" * size)),
        spec.Disposition(True, 1, state=amqp.Rejected(amqp.Error("a:b", "d" * size))),
        spec.Transfer(0, 1, b"t" * (size % 32)),
        amqp.Accepted(),
    ]
    for record in records:
        octets = encode_whole(record)
        again, stop = type(record).decode(octets)
        assert (again, stop) == (record, len(octets))
        assert encode_whole(again) == octets
        assert [each for each in lists(octets, again) if each[1] != each[2]] == []
