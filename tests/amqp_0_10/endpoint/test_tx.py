"""Standard transactions of 0-10, both ends: what is illegal, what is provisional, what stays acquired (class 5)."""

from __future__ import annotations

import pytest

from amqp_sansio import Accepted, LocalProtocolError, Settled, Side
from amqp_sansio.amqp_0_10 import (
    NONE,
    CommandReceived,
    Completed,
    DtxSelect,
    MessageReceived,
    MessageSubscribe,
    Rejected,
    Released,
    TxCommit,
    TxRollback,
    TxSelect,
)
from tests.kit.octets_0_10 import (
    DTX_SELECT,
    TX_COMMIT,
    TX_ROLLBACK,
    TX_SELECT,
    accept,
    completed,
    flow,
    flush,
    reject,
    release,
    routed,
    subscribe,
    transfer,
)
from tests.kit.wire_0_10 import CLIENT, SERVER, Facing


def in_tx() -> Facing:
    """A server whose client has selected transactions."""
    facing = Facing.subscribed(SERVER)
    facing.feed(TX_SELECT + flow("d", 0, None) + flow("d", 1, None))
    facing.complete_all()
    return facing.forget()


def selecting(count: int = 0) -> Facing:
    """A client that has selected transactions, and got messages; everything is completed."""
    facing = Facing.subscribed(CLIENT)
    facing.session.top_up("d", 100)
    facing.session.call(TxSelect())
    done(facing)
    for number in range(count):
        facing.feed(transfer("d", b"%d" % number, header=routed()))
    return facing.forget()


def done(facing: Facing) -> None:
    """The peer completes all commands."""
    facing.settle()
    facing.feed(completed((0, facing.last_id)))


# The rules.


@pytest.mark.rule("0-10/tx.select/exactly-once")
def test_a_second_select_is_an_illegal_state(server: Facing) -> None:
    server.feed(TX_SELECT + TX_SELECT)
    assert [event.command for event in server.of(CommandReceived)] == [TxSelect()]
    server.excepts(409, "tx.select/exactly-once", 1, 0x0501)
    client = Facing.attached(CLIENT)
    client.session.call(TxSelect())
    with pytest.raises(LocalProtocolError) as caught:
        client.session.call(TxSelect())
    assert caught.value.rule == "0-10/tx.select/exactly-once"
    assert client.names() == ["tx.select"]


@pytest.mark.rule("0-10/tx.select/no-dtx")
def test_a_session_is_for_one_kind_of_transactions(server: Facing) -> None:
    server.feed(DTX_SELECT + TX_SELECT)
    server.excepts(409, "tx.select/no-dtx", 1, 0x0501)
    server = Facing.attached(SERVER)
    server.feed(TX_SELECT + DTX_SELECT)
    server.excepts(409, None, 1, 0x0601)
    client = Facing.attached(CLIENT)
    client.session.call(DtxSelect())
    with pytest.raises(LocalProtocolError) as caught:
        client.session.call(TxSelect())
    assert caught.value.rule == "0-10/tx.select/no-dtx"


@pytest.mark.rule("0-10/tx.select/explicit-accepts")
def test_a_session_with_transactions_accepts_explicitly(server: Facing) -> None:
    server.feed(subscribe("d", accept_mode=NONE) + TX_SELECT)
    server.excepts(530, "tx.select/explicit-accepts", 1, 0x0501)
    server = Facing.attached(SERVER)
    server.feed(subscribe("c") + TX_SELECT + subscribe("d", accept_mode=NONE))
    assert len(server.of(CommandReceived)) == 2
    server.excepts(530, "tx.select/explicit-accepts", 2, 0x0407)
    for first, second in (
        (TxSelect(), MessageSubscribe("q", "d", NONE, 0)),
        (MessageSubscribe("q", "d", NONE, 0), TxSelect()),
    ):
        client = Facing.attached(CLIENT)
        client.session.call(first)
        with pytest.raises(LocalProtocolError) as caught:
            client.session.call(second)
        assert caught.value.rule == "0-10/tx.select/explicit-accepts"
        assert len(client.names()) == 1


@pytest.mark.rule("0-10/tx.commit/select-required", "0-10/tx.rollback/select-required")
@pytest.mark.parametrize("distributed", [True, False])
@pytest.mark.parametrize(
    ("octets", "command", "rule"),
    [(TX_COMMIT, TxCommit(), "tx.commit/select-required"), (TX_ROLLBACK, TxRollback(), "tx.rollback/select-required")],
)
def test_a_transaction_has_to_be_selected(
    server: Facing, octets: bytes, command: TxCommit | TxRollback, rule: str, distributed: bool
) -> None:
    if distributed:
        server.feed(DTX_SELECT)
    server.feed(octets)
    server.excepts(409, rule, int(distributed), command.CODE)
    client = Facing.attached(CLIENT)
    if distributed:
        client.session.call(DtxSelect())
    with pytest.raises(LocalProtocolError) as caught:
        client.session.call(command)
    assert caught.value.rule == f"0-10/{rule}"


def test_transactions_octet_by_octet(client: Facing) -> None:
    for command in (TxSelect(), TxCommit(), TxRollback()):
        client.session.call(command, sync=False)
    client.settle()
    assert client.out == TX_SELECT + TX_COMMIT + TX_ROLLBACK


# The server.


@pytest.mark.rule("0-10/tx.commit/order")
@pytest.mark.parametrize("end", [TX_COMMIT, TX_ROLLBACK])
def test_what_is_accepted_in_a_transaction_waits_for_its_end(end: bytes) -> None:
    facing = in_tx()
    session = facing.session
    one, two = session.transfer("d", b"a"), session.transfer("d", b"b")
    assert one.outcome is not None
    assert two.outcome is not None
    facing.feed(accept(0))
    assert facing.asked().handles == (one.outcome,)
    facing.complete_all()
    assert not one.outcome.done
    assert facing.of(Settled) == []
    facing.feed(end)
    asked = facing.asked()
    assert isinstance(asked.command, (TxCommit, TxRollback))
    assert asked.handles == (one.outcome,)
    session.complete(asked.command_id)
    facing.settle()
    assert one.outcome.done is (end == TX_COMMIT)
    assert not two.outcome.done
    if end == TX_COMMIT:
        assert facing.of(Settled) == [Settled((one.outcome,), Accepted())]
    else:
        # Still acquired, so it can be accepted once more (or released).
        facing.feed(accept(0) + TX_COMMIT)
        facing.complete_all()
        assert one.outcome.result == Accepted()


@pytest.mark.rule("0-10/tx.commit/order")
def test_a_commit_covers_what_came_before_it_and_nothing_behind() -> None:
    facing = in_tx()
    session = facing.session
    sent = [session.transfer("d", b"x") for _ in range(3)]
    facing.feed(accept(0) + TX_COMMIT + accept(1) + TX_ROLLBACK + accept((1, 2)) + TX_COMMIT)
    asked = facing.of(CommandReceived)
    handles = [each.outcome for each in sent]
    assert [event.handles for event in asked if isinstance(event.command, (TxCommit, TxRollback))] == [
        (handles[0],), (handles[1],), (handles[1], handles[2])
    ]  # fmt: skip
    for event in asked:
        session.complete(event.command_id)
    assert [each.result for each in handles if each] == [Accepted()] * 3


def test_reject_and_release_are_not_part_of_it() -> None:
    facing = in_tx()
    session = facing.session
    sent = [session.transfer("d", b"x") for _ in range(2)]
    facing.feed(reject(0) + release(1))
    facing.complete_all()
    assert [each.outcome.result for each in sent if each.outcome] == [Rejected(), Released()]


@pytest.mark.rule("0-10/message.transfer/tx-publish")
def test_what_is_published_in_a_transaction_is_told_with_its_place() -> None:
    facing = in_tx()
    facing.feed(transfer("e", b"a") + transfer("e", b"b") + TX_COMMIT + transfer("e", b"c") + TX_ROLLBACK)
    told: list[object] = []
    for event in facing.events:
        if isinstance(event, MessageReceived):
            told.append(event.body)
        elif isinstance(event, CommandReceived):
            told.append(event.command.NAME)
    assert told == [b"a", b"b", "tx.commit", b"c", "tx.rollback"]


@pytest.mark.rule("0-10/tx.commit/order")
def test_a_commit_is_told_completed_at_once_when_its_client_waits() -> None:
    facing = in_tx()
    facing.feed(transfer("e", b"a") + TX_COMMIT)
    one, two = facing.session.incomplete
    facing.session.complete(one)
    facing.session.complete(two)
    facing.feed(flush("completed"))
    assert facing.sent()[-1].octets == completed((0, two))


# The client.


@pytest.mark.rule("0-10/tx.rollback/keeps-acquired")
def test_after_a_rollback_the_messages_are_still_the_clients() -> None:
    facing = selecting(3)
    session = facing.session
    session.accept(0, 1)
    assert session.unsettled == (2,)
    handle = session.call(TxRollback())
    assert session.unsettled == (2,)
    done(facing)
    assert handle.done
    assert set(session.unsettled) == {0, 1, 2}
    session.release(0)
    session.accept(1)
    session.call(TxCommit())
    done(facing)
    assert session.unsettled == (2,)
    with pytest.raises(LocalProtocolError, match="already settled"):
        session.accept(1)


def test_a_commit_ends_what_was_accepted() -> None:
    facing = selecting(2)
    session = facing.session
    session.accept(0)
    handle = session.call(TxCommit())
    facing.forget()
    done(facing)
    assert handle.result is None
    assert any([isinstance(event.state, Completed) and handle in event.handles for event in facing.of(Settled)])
    session.call(TxRollback())
    done(facing)
    assert session.unsettled == (1,)


@pytest.mark.rule("0-10/tx.rollback/keeps-acquired")
def test_what_is_accepted_behind_a_commit_belongs_to_the_next_transaction() -> None:
    facing = selecting(2)
    session = facing.session
    session.accept(0)
    session.call(TxCommit())
    session.accept(1)
    session.call(TxRollback())
    done(facing)
    assert session.unsettled == (1,)


@pytest.mark.rule("0-10/message.transfer/tx-publish")
def test_what_is_published_is_sent_before_the_commit() -> None:
    facing = selecting()
    session = facing.session
    sent = session.transfer("e", b"a")
    session.call(TxCommit())
    assert facing.names() == ["message.transfer", "tx.commit"]
    done(facing)
    assert sent.outcome is not None
    assert sent.outcome.result == Accepted()


@pytest.mark.parametrize("side", [CLIENT, SERVER])
def test_a_server_has_no_transactions_with_its_client(side: Side) -> None:
    facing = Facing.attached(side)
    if side is SERVER:
        with pytest.raises(LocalProtocolError, match="isn't for a client"):
            facing.session.call(TxSelect())
    else:
        facing.feed(TX_SELECT)
        facing.excepts(530, None, 0, 0x0501)
