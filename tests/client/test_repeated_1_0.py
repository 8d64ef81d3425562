"""A message of 1.0 that is sent again on a new connection, whose link ends before it has an outcome."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from amqp_sansio.errors import LinkEnded
from tests.client.test_recovery_1_0 import PLAIN, Recovers
from tests.kit.user import ClassicUser

BODY = b"sent twice"


def deaf(receive: Callable[[bytes], None]) -> Callable[[bytes], None]:
    """What a broker's end does with octets, unless they have a body of these tests."""

    def heard(octets: bytes) -> None:
        if BODY not in octets:
            receive(octets)

    return heard


def test_who_waits_for_a_message_that_is_sent_again_is_told_when_its_link_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    user = Recovers()
    sender = user.sender(user.session(), PLAIN["target"])
    sent = user.start(sender.send(BODY))
    user.cut()
    there = user.reconnect().up.target
    monkeypatch.setattr(there, "receive", deaf(there.receive))
    assert user.wait_back().resent == 1
    assert not sent.done
    other = ClassicUser(world=user.world)
    other.run(other.channel().delete_queue("q"))
    user.turn()
    with pytest.raises(LinkEnded, match="q"):
        assert sent.result
    assert not sender.is_open
