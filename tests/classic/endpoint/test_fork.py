"""Fork: an endpoint that is pickled and restored at any step goes on exactly like the one that wasn't."""

from __future__ import annotations

import pickle
from typing import Any

import pytest
from hypothesis import given

from amqp_sansio import Version
from amqp_sansio.amqp_0_9_1 import Connection
from tests.kit.driving import OPERATIONS, VERSIONS, Driver, Operation
from tests.kit.pair import Pair


@given(VERSIONS, OPERATIONS)
def test_a_copy_goes_on_like_the_original(version: Version, operations: list[Operation]) -> None:
    original, copied = Driver(version, opened=False), Driver(version, opened=False)
    for operation in [(0, 0, 0), *operations]:
        original.apply(operation)
        copied.apply(operation)
        copied.pair.refork()
        assert copied.trace() == original.trace()
    original.finish()
    copied.finish()
    assert copied.trace() == original.trace()


def test_a_snapshot_of_another_layout_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    connection = Pair().open().client
    with monkeypatch.context() as patch:
        patch.setattr(Connection, "SCHEMA", 0)
        snapshot = pickle.dumps(connection)
    with pytest.raises(ValueError, match="layout 0"):
        pickle.loads(snapshot)


def test_channels_of_a_copy_belong_to_the_copy() -> None:
    pair = Pair().open()
    channel: Any = pair.channel()
    copy: Connection = pickle.loads(pickle.dumps(pair.client))
    copy.channel(channel.number).publish(b"only here")
    assert copy.send_backlog > 0
    assert pair.client.send_backlog == 0
