"""When a client of 0-10 grants credit by itself."""

from __future__ import annotations

import pytest

from amqp_sansio.amqp_0_10.spec import CREDIT
from amqp_sansio.client.amqp_0_10.subscription import Subscription, inbox_of
from tests.client.test_amqp_0_10 import session_of, to_hub
from tests.kit.user import opened


@pytest.mark.parametrize("credit", [6, 7, 1])
def test_new_credit_is_granted_when_half_of_it_is_used(credit: int) -> None:
    """What was taken counts, not what lies in the inbox: the peer never sends more than `credit` ahead."""
    user, connection = to_hub()
    session = session_of(user, connection)
    for number in range(3 * credit):
        user.run(session.publish(b"%d" % number, "", "jobs"))
    subscription: Subscription = user.run(opened(session.subscribe("jobs", credit=credit, flow_mode=CREDIT)))
    ahead: list[int] = []
    for _ in range(credit):
        ahead.append(len(inbox_of(subscription).items))
        user.run(subscription.__anext__())
        user.turn()
    half = credit - credit // 2
    expected = [credit - taken for taken in range(half)]
    assert ahead == (expected * 3)[:credit]
