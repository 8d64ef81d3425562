"""Fork: an endpoint that is pickled and restored at any step goes on exactly like the one that wasn't."""

from __future__ import annotations

import pickle
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amqp_sansio.amqp_1_0 import Message
from amqp_sansio.amqp_1_0.endpoint.connection import Connection
from tests.kit.driving_1_0 import OPERATIONS, Driver, Operation
from tests.kit.pair_1_0 import Pair


@given(OPERATIONS, st.booleans())
def test_a_copy_goes_on_like_the_original(operations: list[Operation], opened: bool) -> None:
    original, copied = Driver(opened=opened), Driver(opened=opened)
    for operation in operations:
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


def test_links_of_a_copy_belong_to_the_copy() -> None:
    pair = Pair().open()
    sender: Any = pair.session().open_sender("q")
    pair.pump()
    copy: Connection = pickle.loads(pickle.dumps(pair.client))
    session = copy.session(sender.session.channel)
    session.link(sender.handle).send(Message(b"only here"))  # type: ignore[union-attr]
    assert copy.send_backlog > 0
    assert pair.client.send_backlog == 0
    assert session.connection is copy
