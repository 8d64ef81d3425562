"""The node of docs/broker.md, as it stands there, at a hub with a client."""

from __future__ import annotations

import re
from typing import Any

from amqp_sansio import amqp_1_0 as amqp
from amqp_sansio.broker import Namespace
from tests.kit.hub_1_0 import World
from tests.test_layout import ROOT

BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)


def stacks() -> Namespace:
    """The page's namespace."""
    page = (ROOT / "docs" / "broker.md").read_text(encoding="utf-8")
    (block,) = [each for each in BLOCK.findall(page) if "class Stacks(" in each]
    names: dict[str, Any] = {"__name__": "broker.md"}
    exec(compile(block, "broker.md", "exec"), names)
    made: Namespace = names["Stacks"]()
    return made


def test_the_newest_message_comes_first() -> None:
    world = World(stacks())
    user = world.connect()
    session = user.session()
    assert user.send(user.sender("stack/a", session), b"1", b"2") == [amqp.Accepted()] * 2
    receiver = user.receiver("stack/a", session)
    receiver.flow(1)
    (first,) = user.take(receiver)
    assert first.body == b"2"
    receiver.update([first], amqp.Released())
    receiver.flow(2)
    found = user.take(receiver)
    assert [each.body for each in found] == [b"2", b"1"]
    receiver.accept(*found)
    user.send(user.sender("stack/a", session), b"3")
    receiver.flow(1)
    assert user.bodies(receiver) == [b"3"]


def test_other_addresses_are_the_broker_s() -> None:
    world = World(stacks())
    world.queue("jobs")
    user = world.connect()
    user.send(user.sender("jobs"), b"1")
    assert world.ready("jobs") == [b"1"]
