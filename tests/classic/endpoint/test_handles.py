"""Handles: each is ended exactly once, by an event or at once, whatever happens to its connection."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amqp_sansio import Closed, EndpointClosed, Handle, LocalProtocolError, Version
from amqp_sansio.amqp_0_9_1 import BasicProperties
from amqp_sansio.endpoint import Side
from tests.kit.driving import OPERATIONS, VERSIONS, Driver, Operation, endings_of
from tests.kit.pair import SIDES, Pair, Server


@given(VERSIONS, OPERATIONS, st.booleans(), st.booleans())
def test_every_handle_ends_once(version: Version, operations: list[Operation], damage: bool, cut: bool) -> None:
    driver = Driver(version, damage=damage)
    for operation in operations:
        driver.apply(operation)
    if cut:
        driver.cut()
    driver.finish()
    check_ends(driver)


def check_ends(driver: Driver) -> None:
    """Every handle is done and was ended by one event, or by none when it needed no answer."""
    for side in SIDES:
        endings = endings_of(driver.pair.events[side])
        for handle in driver.handles[side]:
            assert handle.done, handle
            at_once = handle.error is None and handle.result is None
            assert endings[handle.key] == (0 if at_once else 1), handle
        assert max(endings.values(), default=1) == 1
        events = driver.pair.events[side]
        assert isinstance(events[-1], Closed)
        assert events[-1].channel == 0
        assert [event.channel for event in events if isinstance(event, Closed)].count(0) == 1


class Cutting(Pair):
    """A pair of which only so many octets arrive in all, before the transport vanishes."""

    def __init__(self, version: Version, left: int) -> None:
        super().__init__(version, applications={Side.SERVER: Server(confirm=False)})
        self.left = left

    def arrive(self, receiver: Side, count: int | None = None) -> bool:
        """As the base's, while octets are left."""
        before = len(self.flying[receiver.other])
        arrived = super().arrive(receiver, min(self.left, 1 << 20 if count is None else count))
        self.left -= before - len(self.flying[receiver.other])
        return arrived


def scenario(pair: Pair) -> list[Handle[Any]]:
    """Every kind of handle, on two channels; the server closes one of them with an error."""
    handles: list[Handle[Any]] = []
    try:
        for handle in _steps(pair):
            if handle is not None:
                handles.append(handle)
    except (EndpointClosed, LocalProtocolError):
        # What the cut kept away can't be answered.
        pass
    return handles


def _steps(pair: Pair) -> Iterator[Handle[Any] | None]:
    pair.pump()
    first, second = pair.client.open_channel(), pair.client.open_channel()
    yield first.opening
    yield second.opening
    yield first.call(pair.method("basic.consume", queue="q", consumer_tag="c"))
    if pair.has("confirm.select"):
        yield first.call(pair.method("confirm.select"))
    for size in (1, 0):
        yield first.publish(b"x" * size, mandatory=True)
    yield second.call(pair.method("basic.get", queue="q"))
    pair.pump()
    peer = pair.server.channel(1)
    for _ in range(3):
        yield peer.deliver(b"body", consumer_tag="c")
    peer.send(pair.method("basic.return", reply_code=312), BasicProperties(), b"x")
    pair.pump()
    if pair.has("confirm.select"):
        peer.confirm(1)
    first.accept(1)
    first.reject(2)
    yield second.call(pair.method("queue.declare", queue="w"))
    pair.server.channel(2).close(404, "NOT_FOUND", pair.method("queue.declare"))
    pair.pump()
    first.close()
    pair.pump()
    pair.client.close()
    pair.pump()


@pytest.mark.parametrize("part", range(8))
def test_a_cut_at_any_octet_ends_every_handle_once(version: Version, part: int) -> None:
    whole = Cutting(version, 1 << 20)
    scenario(whole)
    total = sum([len(octets) for octets in whole.sent.values()])
    for left in range(part, total, 8):
        pair = Cutting(version, left)
        handles = scenario(pair)
        pair.cut()
        endings = {side: endings_of(pair.events[side]) for side in SIDES}
        for handle in handles:
            assert handle.done, (left, handle)
        for side in SIDES:
            assert max(endings[side].values(), default=1) == 1, left
            closed = [event.channel for event in pair.events[side] if isinstance(event, Closed)]
            assert closed.count(0) == 1
            assert pair.ends[side].channels == ()
        assert sum([sum(each.values()) for each in endings.values()]) == len(handles), left
