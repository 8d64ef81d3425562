"""What a half of a session that an observer sees keeps: each list ends at its bound, and at no other number."""

from __future__ import annotations

from typing import Any

import pytest

from amqp_sansio import amqp_0_10 as amqp
from amqp_sansio.amqp_0_10 import spec
from amqp_sansio.amqp_0_10.codec.choices import MESSAGE
from amqp_sansio.amqp_0_10.model.credit import Balance
from amqp_sansio.amqp_0_10.model.session_model import WholeHalf
from amqp_sansio.amqp_0_10.model.transfers import SeenTransfers
from tests.kit.facing import CLIENT, SERVER

MOST = 3
"""Far below 64: one entry is forgotten at once."""


def xid(number: int) -> spec.Xid:
    """Return one of many branches."""
    return spec.Xid(1, b"g", b"%d" % number)


class Half(WholeHalf):
    """A client's half that takes commands one after the other."""

    def __init__(self, limit: int = 100) -> None:
        super().__init__(CLIENT, limit, MOST)

    def rules(self, *commands: Any) -> list[str | None]:
        """Take commands, and return the rules that they break."""
        found: list[str | None] = []
        for command in commands:
            found += [each.rule for each in self.take(self.next_id, command, (0, 0))]
        return found


def commits(*numbers: int) -> list[spec.DtxCommit]:
    """Return commits that are right only for branches that weren't prepared."""
    return [spec.DtxCommit(xid(number), one_phase=True) for number in numbers]


@pytest.mark.parametrize(
    ("prepared", "forgotten"), [(MOST - 1, 0), (MOST, 0), (MOST + 1, 1), (MOST + 2, 2)], ids="{}".format
)
def test_the_branches_that_were_prepared_last_are_known(prepared: int, forgotten: int) -> None:
    half = Half()
    assert half.rules(*[spec.DtxPrepare(xid(number)) for number in range(prepared)]) == []
    assert list(half.prepared) == [xid(number) for number in range(forgotten, prepared)]
    assert half.rules(*commits(*range(prepared))) == ["dtx.commit/two-phase"] * (prepared - forgotten)
    assert not half.prepared


def test_a_branch_that_is_started_anew_is_not_prepared_any_more() -> None:
    half = Half()
    assert half.rules(spec.DtxSelect(), spec.DtxPrepare(xid(1))) == []
    assert half.rules(spec.DtxStart(xid(1)), spec.DtxEnd(xid(1)), *commits(1)) == []


@pytest.mark.parametrize(("started", "kept"), [(MOST, [0, 1, 2]), (MOST + 1, [1, 2, 3])])
def test_the_starts_without_a_result_that_are_kept(started: int, kept: list[int]) -> None:
    half = Half()
    half.rules(spec.DtxSelect())
    for number in range(started):
        assert half.rules(spec.DtxStart(xid(number)), spec.DtxEnd(xid(number))) == []
    assert [command.xid for command in half.starting.values()] == [xid(number) for number in kept]


@pytest.mark.parametrize(("suspended", "told"), [(MOST, True), (MOST + 1, False)])
def test_the_branches_to_resume_that_are_kept(suspended: int, told: bool) -> None:
    """The bound of what a half must know is the other one: `limit`."""
    half = Half(limit=MOST)
    half.rules(spec.DtxSelect())
    for number in range(suspended):
        assert half.rules(spec.DtxStart(xid(number)), spec.DtxEnd(xid(number), suspend=True)) == []
    assert half.rules(spec.DtxStart(xid(0))) == (["dtx.end/suspend"] if told else [])


@pytest.mark.parametrize(("left", "known"), [(MOST, True), (MOST + 1, False)])
def test_a_half_forgets_which_branches_it_may_have_left_when_there_are_many(left: int, known: bool) -> None:
    half = Half()
    peer = WholeHalf(SERVER, 100, MOST)
    half.join(peer)
    half.rules(spec.DtxSelect())
    for number in range(left):
        start = half.next_id
        assert half.rules(spec.DtxStart(xid(number))) == []
        assert not peer.take(number, spec.ExecutionResult(start, spec.XaResult(1)), (0, 0))
        assert half.current is None
    assert (half.left is not None) is known
    assert half.rules(spec.DtxEnd(xid(left))) == (["dtx.end/not-associated"] if known else [])


def test_illegal_subscriptions_are_kept_up_to_the_limit() -> None:
    """Their sender took them for legal: what comes for them isn't held against the other side."""
    half = Half(limit=2)
    half.rules(spec.TxSelect())

    def subscribe(name: str) -> list[str | None]:
        return half.rules(spec.MessageSubscribe("q", name, accept_mode=1))

    assert subscribe("a") == ["tx.select/explicit-accepts"]
    assert subscribe("b") == ["tx.select/explicit-accepts"]
    assert half.subscriptions == {"a": 1, "b": 1}
    assert half.credit.known
    assert subscribe("c") == ["tx.select/explicit-accepts"]
    assert half.subscriptions == {"a": 1, "b": 1}
    assert not half.credit.known


def test_a_legal_subscription_beyond_the_limit_is_not_judged() -> None:
    half = Half(limit=1)
    assert half.rules(spec.MessageSubscribe("q", "a")) == []
    assert half.credit.known
    assert half.rules(spec.MessageSubscribe("q", "b")) == []
    assert list(half.subscriptions) == ["a"]
    assert not half.credit.known
    assert half.rules(spec.MessageCancel("b"), spec.MessageCancel("nothing")) == []


# Transfers.


@pytest.mark.parametrize(("accepted", "known"), [(MOST, True), (MOST + 1, False)])
def test_what_a_transaction_has_accepted_is_kept_up_to_the_bound(accepted: int, known: bool) -> None:
    """A rollback opens it again; of more, nobody knows what is open."""
    sent = SeenTransfers(MOST)
    for number in range(accepted):
        sent.transfer(number, spec.MessageTransfer("d"))
        accept = spec.MessageAccept(amqp.SequenceSet.of(number))
        assert sent.settle(accept, number + 1, aside=True) is None
    sent.end_work(accepted, committed=False)
    assert list(sent.unsettled) == (list(range(accepted)) if known else [])
    assert sent.floor == (0 if known else accepted)
    # Each may be settled once more where it's open, and none is held against anybody where nothing is known.
    first = spec.MessageAccept(amqp.SequenceSet.of(0))
    assert sent.settle(first, accepted, aside=False) is None
    assert (sent.settle(first, accepted, aside=False) is not None) is known


@pytest.mark.parametrize(("sent", "first"), [(MOST, 0), (MOST + 1, 1)])
def test_the_last_transfers_are_known(sent: int, first: int) -> None:
    seen = SeenTransfers(MOST)
    for number in range(sent):
        seen.transfer(number, spec.MessageTransfer("d"))
    assert list(seen.unsettled) == list(range(first, sent))
    assert seen.floor == first


# Credit.


@pytest.mark.parametrize(("behind", "granted"), [((), 0), ((2,), 2), ((2, 3), 5), ((0xFFFFFFFF,), None)])
def test_what_was_granted_behind_a_stop_counts_from_there(behind: tuple[int, ...], granted: int | None) -> None:
    balance = Balance()
    balance.grant(MESSAGE, 7)
    balance.take(4)
    for value in behind:
        balance.grant(MESSAGE, value)
    assert balance.granted == (None if granted is None else 7 + granted)
    balance.zero(4, ())
    assert (balance.granted, balance.messages) == (granted, granted)
