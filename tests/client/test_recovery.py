"""The machine of recovery alone: its table, its times and its addresses."""

from __future__ import annotations

import pickle

import pytest

from amqp_sansio import By, CloseReport, LocalProtocolError
from amqp_sansio._core.state_table import unreachable
from amqp_sansio.client.recovery import RECOVERY, Recovery, RecoveryPolicy, State, is_temporary, policy_of

CUT = CloseReport(By.TRANSPORT, 0, "cut")


def delays(policy: RecoveryPolicy, count: int, seed: int = 0, addresses: tuple[str, ...] = ("a",)) -> list[float]:
    """The waits before so many attempts, each of which fails at once."""
    recovery, now, found = Recovery(policy, addresses, seed), 100.0, list[float]()
    for _ in range(count):
        assert recovery.keeps(CUT)
        event = recovery.wait(now)
        assert event is not None
        now += event.seconds
        found.append(round(event.seconds, 6))
        assert not recovery.handle_timeout(now)
    return found


def test_every_state_is_reached_and_only_the_end_has_no_way_out() -> None:
    assert unreachable(RECOVERY, State.CONNECTED) == set()
    assert [state for state, row in RECOVERY.items() if not row] == [State.ENDED]


def test_the_waits_grow_to_the_ceiling_and_a_round_begins_after_all_addresses() -> None:
    policy = RecoveryPolicy(first_delay=1.0, ceiling=5.0, jitter=0.0)
    assert delays(policy, 5) == [1.0, 2.0, 4.0, 5.0, 5.0]
    assert delays(policy, 5, addresses=("a", "b")) == [1.0, 0.0, 2.0, 0.0, 4.0]


def test_jitter_and_order_follow_from_the_number_given() -> None:
    policy = RecoveryPolicy(jitter=0.5, shuffle=True)
    assert delays(policy, 6, 1) == delays(policy, 6, 1) != delays(policy, 6, 2)
    assert all(0.25 <= first <= 0.5 for first in (delays(policy, 1, seed)[0] for seed in range(50)))
    orders = {tuple(places(policy, seed)) for seed in range(50)}
    assert len(orders) == 6
    assert all(set(order) == {0, 1, 2} for order in orders)


def places(policy: RecoveryPolicy, seed: int) -> list[int | None]:
    """The places of the addresses of the first round."""
    recovery, found = Recovery(policy, ("a", "b", "c"), seed), list[int | None]()
    for _ in range(3):
        recovery.keeps(CUT)
        recovery.wait(0.0)
        recovery = pickle.loads(pickle.dumps(recovery))
        recovery.handle_timeout(1.0)
        found.append(recovery.take_wanted())
    return found


@pytest.mark.parametrize(
    ("report", "again"),
    [
        (CUT, True),
        (CloseReport(By.REMOTE, 320, "CONNECTION_FORCED"), True),
        (CloseReport(By.REMOTE, 403, "ACCESS_REFUSED"), False),
        (CloseReport(By.REMOTE, 530, "NOT_ALLOWED"), False),
        (CloseReport(By.LOCAL, 501, "frame error"), True),
        (CloseReport(By.LOCAL, 200, "bye"), False),
        (CloseReport(By.REMOTE, condition="amqp:unauthorized-access"), False),
    ],
)
def test_which_ends_are_tried_again(report: CloseReport, again: bool) -> None:
    assert is_temporary(report) or not again
    assert Recovery(RecoveryPolicy(), ("a",)).keeps(report) is again


def test_it_gives_up_after_its_attempts_or_when_the_policy_says_so() -> None:
    recovery = Recovery(RecoveryPolicy(attempts=1), ("a",))
    assert recovery.keeps(CUT)
    assert recovery.wait(0.0) is not None
    recovery.handle_timeout(1.0)
    assert recovery.keeps(CUT)
    assert recovery.wait(2.0) is None
    assert "given up after 1 attempts in 2 s (a after 2 s: transport lost: cut)" in str(recovery.report)
    assert not recovery.keeps(CUT)
    assert not Recovery(RecoveryPolicy(retry=lambda _: False), ("a",)).keeps(CUT)
    with pytest.raises(LocalProtocolError, match="recovery is connected: done can't happen now"):
        Recovery(RecoveryPolicy(), ("a",)).done()


def test_the_argument_of_connect() -> None:
    assert policy_of(False) is None
    assert policy_of(True) == RecoveryPolicy()
    with pytest.raises(TypeError, match="recover is True, False or a RecoveryPolicy, not int"):
        policy_of(1)
